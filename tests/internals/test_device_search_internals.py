"""Neighbours on a device are those of brute force, ties included, on every kind of rows."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lapwing.neighbors import DeviceRows, Search, choose, find
from lapwing.neighbors import _streamed as streaming
from lapwing.rows import Rows

torch = pytest.importorskip("torch")
rs = np.random.RandomState(0)
GAUSS = rs.randn(420, 20)
KINDS = {
    "gauss": GAUSS,
    "columns first": np.asfortranarray(GAUSS),
    "every other column": rs.randn(420, 40)[:, ::2],
    "few whole numbers": rs.randint(0, 3, (420, 17)) * 1.0,
    "whole numbers": rs.randint(0, 256, (420, 30)) * 1.0,
    "far from the origin": GAUSS + 1e4,
    "outliers": np.r_[GAUSS, 1e5 * rs.randn(3, 20)],
    "far outliers": np.r_[GAUSS, 1e12 * rs.randn(3, 20)],
    "large": GAUSS * 1e15,
    "small": GAUSS * 1e-25,
    "copies": np.repeat(rs.randn(21, 20), 20, axis=0),
    "two rows": np.repeat(rs.randn(2, 20), 210, axis=0),
    "constant": np.ones((420, 20)),
    "nearly constant": np.ones((420, 20)) + 1e-6 * GAUSS,
    "wide": rs.randn(200, 300),
    "all lengths": GAUSS * 10.0 ** rs.uniform(-6, 6, (420, 1)),
    "one column varies": np.c_[GAUSS[:, :1], np.zeros((420, 19))],
    "mostly zero": GAUSS * (rs.rand(420, 20) < 0.1),
    "no more than float32 can": np.float32(1e-42) * GAUSS,
}
BEYOND_FLOAT32 = {"tiny": GAUSS * 1e-100, "huge": GAUSS * 1e100}
CASES = [(name, X, dtype) for name, X in KINDS.items() for dtype in (np.float32, np.float64)]
CASES += [(name, X, np.float64) for name, X in BEYOND_FLOAT32.items()]
each_kind = pytest.mark.parametrize(
    ("X", "dtype"), [case[1:] for case in CASES], ids=[f"{name}, {dtype.__name__}" for name, _, dtype in CASES]
)


def brute(X, k, metric):
    """By all differences, in more than float64 where there is more."""
    X = X.astype(np.longdouble) / np.abs(X).max()
    if metric == "cosine":
        X = X / np.sqrt((X**2).sum(axis=1, keepdims=True))
    squares = np.stack([((X - x) ** 2).sum(axis=1) for x in X])
    D = (squares / 2 if metric == "cosine" else np.sqrt(squares)).astype(np.float64)
    if metric == "cosine":
        D[D <= 1e-13] = 0
    rows, cols = np.nonzero(~np.eye(len(X), dtype=bool))
    return cols[choose(rows, cols, D[rows, cols], k)].reshape(-1, k)


def same(edges, expected):
    k = expected.shape[1]
    np.testing.assert_array_equal(edges.rows, np.repeat(np.arange(len(expected)), k))
    np.testing.assert_array_equal(np.sort(edges.cols.reshape(-1, k), axis=1), np.sort(expected, axis=1))


def rows_of(X, dtype):
    return np.array(X, dtype=dtype, order="K")


@each_kind
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_tensors(X, dtype, metric, there, screened):
    X = rows_of(X, dtype)
    if metric == "cosine" and not X.any(axis=1).all():
        pytest.skip("rows of length 0 have no angles")
    same(find(DeviceRows(there(X)), Search(7, metric)), brute(X, 7, metric))


@each_kind
def test_numpy_rows_on_the_cpu(X, dtype):
    """The same rows by the search for NumPy arrays: float32 too, whose distances scikit-learn rounds to float32."""
    X = rows_of(X, dtype)
    same(find(Rows(X), Search(7)), brute(X, 7, "euclidean"))


@each_kind
def test_streamed(X, dtype, screened, monkeypatch):
    """``search="torch"``: NumPy rows, that do not fit onto the device at once."""
    X = rows_of(X, dtype)
    monkeypatch.setattr(streaming, "room", lambda where: 150 * X[0].nbytes)
    monkeypatch.setattr(streaming, "QUERIES", 130)
    same(find(Rows(X), Search(7, search="torch")), brute(X, 7, "euclidean"))


@pytest.mark.parametrize("k", [1, 417, 419])
def test_few_and_nearly_all_neighbors(k, there, screened, monkeypatch):
    expected = brute(GAUSS, k, "euclidean")
    same(find(DeviceRows(there(GAUSS)), Search(k)), expected)
    monkeypatch.setattr(streaming, "room", lambda where: 90 * GAUSS[0].nbytes)
    same(find(Rows(GAUSS), Search(k, search="torch")), expected)


@pytest.mark.parametrize("among", ["same_class", "other_class"])
@pytest.mark.parametrize("n_classes", [3, 100])
def test_among_classes(among, n_classes, there, screened, monkeypatch):
    y = rs.randint(0, n_classes, len(GAUSS))
    wanted = find(Rows(GAUSS, y), Search(3, among=among))
    monkeypatch.setattr(streaming, "room", lambda where: 100 * GAUSS[0].nbytes)
    for data, search in ((DeviceRows(there(GAUSS), there(y)), None), (Rows(GAUSS, y), "torch")):
        found = find(data, Search(3, among=among, search=search))
        np.testing.assert_array_equal(found.rows, wanted.rows)
        np.testing.assert_array_equal(found.cols, wanted.cols)


@pytest.mark.parametrize("d", [20, 256, 300])
@pytest.mark.parametrize("order", ["C", "F"])
def test_thousands_of_rows(d, order, there):
    """Enough rows for the screen as it is, so on a GPU for its kernels."""
    X = np.array(np.random.RandomState(1).randint(0, 256, (5000, d)), dtype=np.float32, order=order)
    same(find(DeviceRows(there(X)), Search(10)), find(Rows(X), Search(10)).cols.reshape(-1, 10))


def test_distances_are_of_float64(there):
    X = GAUSS.astype(np.float32)
    wanted = find(Rows(X.astype(np.float64)), Search(5)).distances
    np.testing.assert_allclose(find(DeviceRows(there(X)), Search(5)).distances, wanted, rtol=1e-13)
    np.testing.assert_allclose(find(Rows(X), Search(5)).distances, wanted, rtol=1e-13)


def test_memory_is_given_back(there):
    """Nothing holds itself: the copy in half precision goes when the rows go, not when the garbage is collected."""
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:
        data = DeviceRows(there(rs.randn(5000, 20)))
        find(data, Search(3))
        screen = weakref.ref(data.finder.screen)
        assert screen() is not None
        del data
        assert screen() is None
    finally:
        gc.enable()


def test_few_columns_by_a_tree():
    X = GAUSS[:, :5]
    same(find(Rows(X), Search(5, search="torch")), brute(X, 5, "euclidean"))


def test_the_rounding_of_queries_counts(there, monkeypatch):
    """Rows that float16 holds, and queries that it rounds onto them."""
    from lapwing.neighbors import _device, _screen

    for name, value in (("FEW", 10), ("MORE", 0), ("MORE_GROUPS", 0)):
        monkeypatch.setattr(_device, name, value)
    monkeypatch.setattr(_screen, "GROUP", ((1 << 60, 2),))
    rs = np.random.RandomState(0)
    X = rs.choice([-1.0, 1.0], (1500, 20))
    Q = X[:200] * (1 - 2e-4 * rs.randint(0, 2, (200, 20)))
    finder = _device.Finder(there(X))
    finder.frame.centre.zero_()
    cols = finder.nearest(there(Q), None, 3)[0].cpu().numpy()
    D = np.array([((q - X) ** 2).sum(axis=1) for q in Q])
    np.testing.assert_allclose(np.sort(np.take_along_axis(D, cols, 1), 1), np.sort(D, 1)[:, :3], rtol=1e-9)
    assert finder.doubtful


def test_close_rows_far_from_the_others(there):
    rs = np.random.RandomState(0)
    X = np.r_[rs.randn(300, 20), 1e6 * rs.randn(20) + 1e-4 * rs.randn(60, 20)]
    same(find(DeviceRows(there(X)), Search(7)), brute(X, 7, "euclidean"))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_candidates_are_chosen_as_on_the_cpu(k, seed):
    """Of equally distant rows the first ones are taken, also where all of the k nearest are equally distant."""
    from lapwing.neighbors._device import chosen

    rs = np.random.RandomState(seed)
    cols = np.array([rs.permutation(20)[:6] for _ in range(50)])
    d = np.sort(rs.randint(1, 4, (50, 6)) * 1.0, axis=1)
    rows = np.repeat(np.arange(50), 6)
    places = choose(rows, cols.ravel(), d.ravel(), k)
    expected = cols.ravel()[places].reshape(50, k), d.ravel()[places].reshape(50, k)
    order = np.lexsort(expected)
    for found, each in zip(chosen(torch, torch.from_numpy(cols), torch.from_numpy(d), k), expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), np.take_along_axis(each, order, axis=1))


class Kernels:
    """Stands in for the kernels of a GPU: what they compute, by definition, for rows of 32 columns."""

    @staticmethod
    def lanes(n_features):
        return 4

    @staticmethod
    def padded(n_features):
        return 32

    @staticmethod
    def columns(groups, steps):
        """A group has one column of every four, beginning in its own strip of columns."""
        return ((groups // 4) * (4 * steps) + groups % 4)[..., None] + 4 * torch.arange(steps)

    @staticmethod
    def minima(Q, B, H, out, steps):
        assert Q.shape[1] == B.shape[1] == 32
        out.copy_((H - Q.float() @ B.float().T)[:, Kernels.columns(torch.arange(out.shape[1]), steps)].amin(2))

    @staticmethod
    def members(Q, B, H, groups, out, steps, lanes):
        assert lanes == 4
        out.copy_((H - Q.float() @ B.float().T).gather(1, Kernels.columns(groups, steps).flatten(1)))

    @staticmethod
    def differences(Q, X, cols, squares, lengths, scale):
        if lengths is not None:
            Q, X, scale = Q / lengths[0][:, None], X / lengths[1][:, None], 1.0
        squares.copy_(((X[cols] - Q[:, None]) * scale).square().sum(2))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_by_kernels(metric):
    from lapwing.neighbors import _device

    X = torch.from_numpy(GAUSS)
    finder, cols = _device.Finder(X, metric), torch.arange(420).expand(30, -1)
    finder.kernels = Kernels
    found = finder.distances(X[:30], cols, finder.frame.of_queries(X[:30]))
    expected = cdist(GAUSS[:30], GAUSS, metric)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.usefixtures("screened")
def test_a_search_by_kernels(metric, monkeypatch):
    """Rows of 20 columns are padded to the 32 that the kernels take."""
    from lapwing.neighbors import _device

    monkeypatch.setattr(_device, "_kernels", lambda device: Kernels)
    X = torch.from_numpy(GAUSS)
    finder = _device.Finder(X, metric)
    cols, d = finder.nearest(X, torch.arange(420), 7)
    expected = brute(GAUSS, 7, metric)
    np.testing.assert_array_equal(np.sort(cols.numpy(), axis=1), np.sort(expected, axis=1))
    np.testing.assert_allclose(d.numpy(), np.take_along_axis(cdist(GAUSS, GAUSS, metric), cols.numpy(), 1), rtol=1e-9)
    assert finder.doubtful < 100


@pytest.mark.parametrize(("power", "are_used"), [(0, True), (60, True), (-60, True), (200, False), (-200, False)])
def test_kernels_are_used_where_single_precision_holds_the_scale(power, are_used, monkeypatch):
    from lapwing.neighbors import _device

    monkeypatch.setattr(_device, "_kernels", lambda device: Kernels)
    finder = _device.Finder(torch.from_numpy(GAUSS * 2.0**power))
    with np.errstate(over="ignore"):
        assert (0 < np.float32(finder.frame.scale) < np.inf) == are_used
    assert (finder.kernels is Kernels) == are_used


@pytest.mark.usefixtures("screened")
def test_the_nearest_row_is_beyond_what_half_precision_holds(there):
    """The row before it is held, and so is another one that is a little farther away."""
    from lapwing.neighbors import _screen

    scale = _screen.Frame(torch.from_numpy(GAUSS), "euclidean").scale
    far = np.zeros((3, 20))
    far[:, 0] = np.array([64400.0, 65300.0, 65800.0]) / scale
    X = np.r_[GAUSS, far]
    frame = _screen.Frame(torch.from_numpy(X), "euclidean")
    held = frame.read(torch.from_numpy(far), None).half().isfinite().all(1)
    assert held.tolist() == [True, True, False]
    edges = find(DeviceRows(there(X)), Search(1))
    same(edges, brute(X, 1, "euclidean"))
    assert edges.cols[-2] == 422
