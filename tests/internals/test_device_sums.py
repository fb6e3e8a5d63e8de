"""Sums over rows on a device are those of the dense rows, whatever is read at a time; and bounds of distances are bounds."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from scipy.spatial.distance import cdist

from lapwing.devices import host
from lapwing.maps import DenseMap, DeviceMap, _device
from lapwing.neighbors import DeviceClassRows, DeviceRows, Search, _device_rows, _screen, find
from lapwing.neighbors._device import Finder, equal_rows
from lapwing.operators import Structured, diagonal, identity, laplacian
from lapwing.rows import Rows

rng = np.random.RandomState(0)
N, D = 40, 6
X = rng.standard_normal((N, D)) * rng.uniform(0.5, 2, D) + 3
SCALE = rng.uniform(0.5, 2, D)
W = sparse.random(N, N, density=0.2, random_state=1)
W = sparse.csr_array(W + W.T)
U = rng.standard_normal((N, 2))
MATRICES = {
    "Laplacian": laplacian(W)[0],
    "weights alone": Structured(N, sparse=W),
    "weights and another diagonal": Structured(N, sparse=W, diag=rng.uniform(1, 2, N)),
    "nearly a Laplacian": laplacian(W)[0] + diagonal(np.where(np.arange(N) == 7, 1e-6, 0.0)),
    "diagonal": diagonal(rng.uniform(1, 2, N)),
    "identity": identity(N),
    "twice the identity": 2 * identity(N),
    "nothing": diagonal(np.zeros(N)),
    "factor": Structured(N, factors=((U, np.array([1.0, -0.5])),)),
    "sparse factor": Structured(N, factors=((sparse.csr_array(U * (U > 0)), np.array([1.0, -0.5])),)),
    "operator": Structured(N, factors=((aslinearoperator(U), np.array([1.0, -0.5])),)),
    "all": laplacian(W)[0] + identity(N) + Structured(N, factors=((U, np.array([2.0, 1.0])),)),
}


@pytest.fixture(params=[1 << 20, 50], ids=["at once", "few rows at a time"])
def entries(request, monkeypatch):
    monkeypatch.setitem(_device.ENTRIES, "cpu", request.param)
    monkeypatch.setattr(_device, "MANY_ENTRIES", request.param)
    monkeypatch.setattr(_device_rows, "PAIRS", request.param)


@pytest.fixture(params=[None, SCALE], ids=["as given", "scaled"])
def maps(request, there, entries):
    """On the device, and the dense rows that it stands for."""
    scale = request.param
    return DeviceMap(there(X), scale), X if scale is None else X / scale


def same(found, expected, tol=1e-12):
    np.testing.assert_allclose(host(found), expected, rtol=tol, atol=tol * np.abs(expected).max())


@pytest.mark.parametrize("shift", [None, X.mean(axis=0), np.zeros(D)], ids=["as they are", "centred", "by nothing"])
def test_forms(maps, shift):
    F, dense = maps
    about = dense if shift is None else dense - shift
    found = F.forms(list(MATRICES.values()), shift)
    for (name, M), form in zip(MATRICES.items(), found, strict=True):
        expected = about.T @ M.toarray() @ about
        size = np.abs(about).T @ np.abs(M.toarray()) @ np.abs(about)
        np.testing.assert_allclose(form, expected, rtol=0, atol=1e-12 * size.max() + 1e-300, err_msg=name)
        if shift is not None:
            same(F.form_diagonal(M, shift), np.diag(form))


def test_sums(maps):
    F, dense = maps
    weights, mean = rng.uniform(1, 2, N), dense.mean(axis=0)
    C = rng.standard_normal((N, 3))
    same(F.mean(), mean)
    same(F.mean(weights), weights @ dense / weights.sum())
    same(F.spread(mean, weights), weights @ (dense - mean) ** 2)
    same(F.deviations().values, dense.std(axis=0))
    same(F.scatter(mean), (dense - mean).T @ (dense - mean))
    same(F.gram_about(mean), (dense - mean) @ (dense - mean).T)
    same(F.combined(mean, C), C.T @ (dense - mean))
    same(F.weighted_scatter(mean, F._there(weights)), (dense - mean).T @ (weights[:, None] * (dense - mean)))
    same(F.block(slice(3, 9)), dense[3:9])
    same(F.block(slice(3, 9), mean), dense[3:9] - mean)
    same(F.columns(np.array([4, 1])), dense[:, [4, 1]])
    same(F.columns(slice(1, 3), mean[1:3]), dense[:, 1:3] - mean[1:3])
    same(F.taken(np.array([5, 2])).block(slice(None)), dense[[5, 2]])
    assert not F.is_constant


def test_products(maps):
    F, dense = maps
    V, C, mean = rng.standard_normal((D, 2)), rng.standard_normal((N, 3)), dense.mean(axis=0)
    operator = F.centred(mean, 0.5)
    same(operator @ V, 0.5 * (dense - mean) @ V)
    same(operator @ V[:, 0], 0.5 * (dense - mean) @ V[:, 0])
    same(operator.T @ C, 0.5 * (dense - mean).T @ C)
    same(operator.T @ C[:, 0], 0.5 * (dense - mean).T @ C[:, 0])


@pytest.mark.parametrize("offset", [0.0, 1e9], ids=["near", "far"])
def test_projections(offset, there, entries):
    """Rows far from the origin are moved before they are multiplied, and keep the digits that they have."""
    V, rows = rng.standard_normal((2, D)), X + offset
    mean = rows.mean(axis=0)
    exact = (rows - mean) @ V.T
    found = host(DeviceMap(there(rows)).projected(mean, V))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12 * np.abs(exact).max() + 1e-15 * offset)


def test_forms_of_weights_alone_see_the_origin(there):
    """Row sums that are no rounding count, though they are small beside the degrees."""
    L, far = laplacian(W)[0], X + 1e3
    M = L + diagonal(np.full(N, 1e-9))
    expected = DenseMap(far).forms([M])[0] - DenseMap(far).forms([L])[0]
    found = DeviceMap(there(far)).forms([M])[0] - DeviceMap(there(far)).forms([L])[0]
    np.testing.assert_allclose(found, 1e-9 * far.T @ far, rtol=1e-4)
    np.testing.assert_allclose(expected, found, rtol=0.1)


def test_rows(there, entries):
    """Lengths, products and distances of rows, about the mean where it says so."""
    data = DeviceRows(there(X))
    some, others = np.array([3, 17, 3, 8]), np.array([5, 1, 3, 30])
    same(data.norms, np.linalg.norm(X, axis=1))
    same(data.mean, X.mean(axis=0))
    same(data.squared_norms, ((X - X.mean(axis=0)) ** 2).sum(axis=1))
    same(data.squared_distances(some), cdist(X[some], X[some], "sqeuclidean"))
    same(data.dots(some, others), np.sum(X[some] * X[others], axis=1))


@pytest.mark.parametrize("kind", [np.asarray, list, "tensor"], ids=["array", "list", "tensor"])
@pytest.mark.parametrize(
    ("names", "expected"),
    [([4, 2, -1], [1, 0, -1]), ([0.5, -1.0, 0.25], None), ([2.0, -1.0, 1.0], [1, -1, 0]), (["b", "a", "c"], [1, 0, 2])],
    ids=["whole numbers", "fractions", "floats", "text"],
)
def test_labels_of_all_kinds(names, expected, kind, there):
    """Numbered by their order, -1 where unknown; quantities are no labels, on a device or not."""
    given = np.array(names)[np.arange(N) % 3]
    if kind == "tensor" and given.dtype.kind == "U":
        pytest.skip("a tensor holds no text")
    given = there(given) if kind == "tensor" else kind(given)
    if expected is None:
        with pytest.raises(ValueError, match=r"Unknown label type|classes|labels"):
            _device_rows.device_labels(given, N, there(X))
        return
    found = _device_rows.device_labels(given, N, there(X))
    assert host(found).tolist() == np.array(expected)[np.arange(N) % 3].tolist()
    with pytest.raises(ValueError, match=str(N + 1)):
        _device_rows.device_labels(given, N + 1, there(X))


@pytest.mark.parametrize("given", [None, np.zeros((N, 1), dtype=int), np.zeros((N, 2), dtype=int), np.array(3)])
@pytest.mark.parametrize("tensor", [False, True])
def test_what_is_wrong_with_labels_is_said_as_on_the_cpu(given, tensor, there):
    with pytest.raises(ValueError, match=r".") as here:
        Rows(X, given).classes  # noqa: B018
    if tensor and given is not None:
        given = there(given)
    with pytest.raises(ValueError, match=re.escape(str(here.value))):
        _device_rows.device_labels(given, N, there(X))


def test_variance_along_directions(maps):
    F, dense = maps
    Q = np.linalg.qr(rng.standard_normal((D, 3)))[0]
    moved = dense - dense.mean(axis=0)
    same(F.variance_along(Q), ((moved @ Q) ** 2).sum(axis=0) / (moved**2).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_share_a_number(dtype, there):
    places = np.array([3, 0, 3, 2, 0, 0, 1])
    rows = X[places].astype(dtype)
    rows[0, 0] = rows[2, 0] = 0
    rows[2, 0] = -0.0
    found = equal_rows(there(rows))
    np.testing.assert_array_equal(found[:, None] == found, places[:, None] == places)
    assert sorted(set(found.tolist())) == [0, 1, 2, 3]
    assert equal_rows(there(X.astype(dtype))) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_among_rows_that_differ_by_a_place(dtype, there):
    """Rows that hold the same numbers in different columns have different digests, so that their copies are found."""
    found = equal_rows(there(np.tile(np.eye(300, dtype=dtype), (2, 1))))
    np.testing.assert_array_equal(found[:300], found[300:])
    assert np.unique(found).size == 300


@pytest.mark.parametrize("labels", [None, np.arange(N) % 3, np.where(np.arange(N) < 25, np.arange(N) % 3, -1)])
def test_moments_of_classes(labels, there, entries):
    torch = pytest.importorskip("torch")
    moments = _device_rows.moments_of(torch, there(X), None if labels is None else there(labels))
    known = np.zeros(N, dtype=bool) if labels is None else labels >= 0
    places = np.where(known, 0 if labels is None else labels, moments.sums.shape[0] - 1)
    about = X - moments.pilot
    sums = [about[places == c].sum(axis=0) for c in range(len(moments.sums))]
    np.testing.assert_allclose(moments.sums, sums, rtol=0, atol=1e-11)
    same(moments.counts, np.bincount(places, minlength=len(moments.sums)))
    expected = [about[known].T @ about[known], about[~known].T @ about[~known]]
    same(moments.products, np.array(expected), 1e-11)


@pytest.mark.parametrize("scaled", [False, True], ids=["as given", "scaled"])
def test_forms_with_a_weight_per_class(scaled, there, entries):
    """Classes alone are seen: equal weights by their moments, others by a pass over the rows."""
    labels = np.where(np.arange(N) < 25, np.arange(N) % 3, -1)
    data = DeviceClassRows(there(X), labels, (lambda deviations: SCALE) if scaled else None)
    dense, weights = X / SCALE if scaled else X, np.array([1.0, 3.0, -2.0, 0.5])
    assert data.classes.tolist() == [0, 1, 2, -1]
    for g in (np.ones(4), weights):
        expected = dense.T @ (g[labels][:, None] * dense)
        same(data.F.forms([diagonal(g)])[0], expected, 1e-11)
    same(data.mean, dense.mean(axis=0))
    assert data.n_samples == N


@pytest.mark.parametrize("size", [5, 64, 65, 90])
def test_sums_of_few_and_of_many_classes(size, there):
    torch = pytest.importorskip("torch")
    places = rng.randint(0, size, N)
    expected = np.array([X[places == c].sum(axis=0) for c in range(size)])
    same(_device_rows.class_sums(torch, there(X), there(places), size), expected, 1e-13)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("d", [3, 40, 400])
def test_bounds_of_distances_are_bounds(metric, d, there, monkeypatch):
    """Nothing is nearer than the screen says, by the formula of its docstring in float64 and by the products as they are made."""
    monkeypatch.setattr(_screen, "ENTRIES", 5 * d)
    rows = rng.standard_normal((300, d)) * rng.uniform(0.1, 3, (300, 1))
    frame = _screen.Frame(there(rows), metric)
    screen = _screen.Screen(frame, None)
    assert screen.error >= d * 2.0**-22
    exact = host(frame.read(frame.X, frame.part(slice(None))))
    distances = cdist(exact, exact)
    Y, own, e, fits = screen.rounded(frame.X, frame.of_queries(frame.X))
    assert bool(fits.all())
    y, e = host(Y.double()), host(e)
    np.testing.assert_array_less(np.linalg.norm(exact - y, axis=1), e)
    same(own, (1 - screen.error) * (y**2).sum(axis=1))
    r = host(screen._multiplied(Y).double())[:, :300]
    written_out = (1 - screen.error) / 2 * (y**2).sum(axis=1) - screen.reach * e - e**2 / 2 - y @ y.T
    np.testing.assert_allclose(r, written_out, rtol=0, atol=1e-4 * np.abs(written_out).max())
    bound = np.sqrt(np.maximum(2 * r + host(own)[:, None], 0)) - e[:, None]
    near = distances <= screen.reach
    assert near.mean() > 0.2
    assert (bound <= distances)[near].all()
    assert (distances - bound)[near].mean() < 0.1 * distances[near].mean()  # and close enough to be of use


def test_groups_hold_the_smallest_bounds(there):
    """Every column is in one group; the next bound is that of all others."""
    rows = rng.standard_normal((2000, 8))
    frame = _screen.Frame(there(rows), "euclidean")
    screen = _screen.Screen(frame, None)
    Y = screen.rounded(frame.X[:50], None)[0]
    groups, rest = screen.groups(Y, 7)
    values, cols = screen.members(Y, groups)
    r = host(screen._multiplied(Y))
    np.testing.assert_array_equal(host(values), np.take_along_axis(r, host(cols), axis=1))
    assert cols.shape == (50, 7 * screen.steps)
    for i in range(50):
        others = np.delete(r[i], host(cols[i]))
        assert len(others) == r.shape[1] - cols.shape[1]
        assert others.min() == rest[i]
    every, none = screen.groups(Y, screen.n_groups)
    assert np.sort(host(screen.members(Y, every)[1]), axis=1).tolist() == [list(range(r.shape[1]))] * 50
    assert np.isinf(host(none)).all()


def test_rows_beyond_half_precision_are_outside(there):
    rows = np.r_[rng.standard_normal((300, 5)), 1e6 * np.eye(5)]
    frame = _screen.Frame(there(rows), "euclidean")
    screen = _screen.Screen(frame, None)
    lengths = np.linalg.norm(host(frame.read(frame.X, None)), axis=1)
    assert screen.outside == pytest.approx(lengths[300:].min())
    assert np.isinf(host(screen.bounds)[300:]).all()
    assert np.isfinite(host(screen.bounds)[:300]).all()
    assert screen.rounded(frame.X, None)[3].tolist() == [True] * 300 + [False] * 5


def test_deviations_of_a_few_rows(there, monkeypatch):
    monkeypatch.setattr(_device, "FEW_ROWS", 15)
    F = DeviceMap(there(X), SCALE)
    same(F.deviations().values, (X / SCALE).std(axis=0))
    same(F.deviations(few=True).values, (X / SCALE)[::3].std(axis=0))


@pytest.mark.parametrize("among", ["all", "same_class", "other_class"])
def test_angles_on_a_device_are_those_of_numpy(among, there, screened):
    """Of rows of many lengths, so that the nearest by angle are not the nearest."""
    rows, y = rng.standard_normal((300, 20)) * 10.0 ** rng.uniform(-2, 2, (300, 1)), rng.randint(0, 3, 300)
    search = Search(4, "cosine", among=among)
    wanted = find(Rows(rows, y), search)
    for data, asked in ((DeviceRows(there(rows), y), search), (Rows(rows, y), search._replace(search="torch"))):
        found = find(data, asked)
        np.testing.assert_array_equal(found.cols, wanted.cols)
        np.testing.assert_allclose(found.distances, wanted.distances, rtol=1e-9)
    if among == "all":
        cols = _device_rows.nearest_there(DeviceRows(there(rows)), search)[0]
        np.testing.assert_array_equal(host(cols).ravel(), wanted.cols)
        zero = np.r_[rows, np.zeros((1, 20))]
        with pytest.raises(ValueError, match="cosine"):
            _device_rows.nearest_there(DeviceRows(there(zero)), search)


def test_products_are_at_most_distances(there):
    """``squares (1 - rounding) - 2 q'x``, whatever rows are read at a time."""
    finder = Finder(there(X))
    queries = finder.frame.read(finder.X[:5], None)
    low, squares = finder._products(queries, 3, 20, 0.25)
    exact = host(finder.frame.read(finder.X, None))
    same(squares, (exact[3:20] ** 2).sum(axis=1))
    same(low, 0.75 * (exact[3:20] ** 2).sum(axis=1) - 2 * exact[:5] @ exact[3:20].T)
    assert finder.doubtful == 0
