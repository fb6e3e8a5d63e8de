"""Kernels: their widths, values and features, beside their formulas; and rows far from the origin."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels

from lapwing.maps import Centre, Kernel, KernelMap, Preprojection
from lapwing.operators import identity

rng = np.random.RandomState(0)
X, Z = rng.standard_normal((25, 4)), rng.standard_normal((9, 4))
FORMULAS = {
    "rbf": lambda A, B: np.exp(-0.3 * cdist(A, B, "sqeuclidean")),
    "laplacian": lambda A, B: np.exp(-0.3 * cdist(A, B, "cityblock")),
    "linear": lambda A, B: A @ B.T,
    "poly": lambda A, B: (0.3 * A @ B.T + 2) ** 3,
    "polynomial": lambda A, B: (0.3 * A @ B.T + 2) ** 3,
    "sigmoid": lambda A, B: np.tanh(0.3 * A @ B.T + 2),
    "cosine": lambda A, B: 1 - cdist(A, B, "cosine"),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values(name):
    kernel = Kernel(name, 0.3, 3, 2)
    np.testing.assert_allclose(kernel(X, Z), FORMULAS[name](X, Z), rtol=1e-10)
    np.testing.assert_allclose(kernel(X), FORMULAS[name](X, X), rtol=1e-10)


@pytest.mark.parametrize("name", FORMULAS)
def test_values_of_tensors(name):
    torch = pytest.importorskip("torch")
    A, B = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(Z)
    found = Kernel(name, 0.3, 3, 2).of_tensors(A, B).numpy()
    np.testing.assert_allclose(found, FORMULAS[name](A.double().numpy(), Z), rtol=1e-10)
    if name in ("rbf", "laplacian", "poly", "sigmoid"):  # without a width, one over the number of features
        expected = pairwise_kernels(
            X, Z, metric=name, **({"coef0": 1, "degree": 3} if name == "poly" else {}), filter_params=True
        )
        np.testing.assert_allclose(Kernel(name).of_tensors(torch.from_numpy(X), B).numpy(), expected, rtol=1e-10)


def test_defaults_and_errors():
    given = Kernel()
    assert (given.kernel, given.gamma, given.degree, given.coef0, given.params) == ("rbf", None, 3, 1, None)
    K = X @ X.T
    assert Kernel("precomputed")(K) is K
    assert Kernel("precomputed").is_precomputed
    assert not given.is_precomputed
    with pytest.raises(ValueError, match="kernel='no' cannot be evaluated"):
        Kernel("no")(X)
    with pytest.raises(ValueError, match="gives NaN or infinity"), np.errstate(over="ignore"):
        Kernel("poly", 1e300, 3)(X)
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="on NumPy arrays alone"):
        Kernel("chi2").of_tensors(torch.from_numpy(X), torch.from_numpy(X))


@pytest.mark.parametrize("name", [*FORMULAS, "chi2", "additive_chi2"])
def test_rows_that_are_read_only(name):
    """Processes that share X, as a search of parameters has them, read it only."""
    A, B = np.abs(X), np.abs(Z)
    expected = Kernel(name, 0.3)(A, B), Kernel(name, 0.3)(A)
    A.flags.writeable = B.flags.writeable = False
    np.testing.assert_array_equal(Kernel(name, 0.3)(A, B), expected[0])
    np.testing.assert_array_equal(Kernel(name, 0.3)(A), expected[1])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1e100])
def test_angles_of_rows_of_any_length(scale, kind):
    """Angles do not depend on the unit of X. Rows of zeros have the value 0."""
    A, B = X.copy(), Z.copy()
    A[3] = B[4] = 0.0
    expected = Kernel("cosine")(A, B)
    assert not expected[3].any()
    np.testing.assert_allclose(Kernel("cosine")(kind(scale * A), kind(B)), expected, atol=1e-14)
    np.testing.assert_allclose(Kernel("cosine")(kind(scale * A)), Kernel("cosine")(A), atol=1e-14)


def test_callables_take_parameters_of_their_own():
    def scaled(a, b, factor=1.0):
        return factor * (a @ b)

    np.testing.assert_allclose(Kernel(scaled, params={"factor": 3.0})(X, Z), 3 * X @ Z.T, rtol=1e-12)
    np.testing.assert_allclose(Kernel(scaled)(X, Z), X @ Z.T, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_widths(kind):
    A = kind(X * (rng.rand(*X.shape) < 0.6))
    scale = 1 / (4 * (A.toarray() if sparse.issparse(A) else A).var())
    assert Kernel("rbf", "scale").width(A) == pytest.approx(scale)
    assert Kernel("rbf", "scale").width(A, 0.25) == pytest.approx(scale)
    assert Kernel("rbf", "auto").width(A, 0.25) == pytest.approx(scale / 4)
    assert Kernel("rbf", "scale").width(A, variance=2.0) == pytest.approx(1 / 8)
    assert Kernel("rbf", "scale").width(0 * A) == 1.0
    assert Kernel("rbf", 0.7).width(A) == 0.7
    assert Kernel("rbf").width(A) is None
    assert Kernel("precomputed", "scale").width(A) is None
    assert Kernel(len, "auto").width(A) is None
    for wrong in ("no", -1.0, 0.0):
        with pytest.raises(ValueError, match="gamma"):
            Kernel("rbf", wrong).width(A)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_far_from_the_origin(offset, kind):
    """Where only some columns are full, these alone are moved; all digits that rows have are those of the kernel."""
    A, B = X.copy(), Z.copy()
    if kind is sparse.csr_array:
        A[::3, 1], B[::2, 2] = 0.0, 0.0
    A[:, 0], B[:, 0] = A[:, 0] + offset, B[:, 0] + offset
    exact = np.exp(-0.3 * np.array([[((a - b) ** 2).sum() for b in B] for a in A]))
    np.testing.assert_allclose(Kernel("rbf", 0.3)(kind(A), kind(B)), exact, atol=1e-9)
    itself = np.exp(-0.3 * np.array([[((a - b) ** 2).sum() for b in A] for a in A]))
    np.testing.assert_allclose(Kernel("rbf", 0.3)(kind(A)), itself, atol=1e-9)


def far_apart(kind):
    """Rows far from the origin, and others that are near each other and far from these."""
    A = X + 1e7
    A[[3, 8]], A[12] = -2e9 * X[3], 3e11
    A[8] += 0.25 * X[8]
    if kind == "sparse":
        A[:, 2:] = np.where(A[:, 2:] > 1e7, 0.0, A[:, 2:])
    return A


@pytest.mark.parametrize("gamma", [0.3, None, 50.0])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_far_from_each_other(kind, gamma):
    """No digits of short distances are lost, wherever the rows are; those of new rows are the same."""
    A, as_kind = far_apart(kind), sparse.csr_array if kind == "sparse" else np.asarray
    exact = np.exp(-(1 / A.shape[1] if gamma is None else gamma) * cdist(A, A, "sqeuclidean"))
    np.testing.assert_allclose(Kernel("rbf", gamma)(as_kind(A)), exact, atol=1e-9)
    np.testing.assert_allclose(Kernel("rbf", gamma)(as_kind(A), as_kind(A.copy())), exact, atol=1e-9)


def two_clusters():
    """Rows near the origin, and more rows far from it, near which the medians are."""
    A = X.copy()
    A[9:] += 1e11
    return A


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_near_the_origin_and_far_medians(kind):
    """Rows near the origin keep the digits that the difference from a far median would not have."""
    A = two_clusters()
    exact = np.exp(-0.3 * cdist(A, A, "sqeuclidean"))
    np.testing.assert_allclose(Kernel("rbf", 0.3)(kind(A)), exact, atol=1e-12)
    np.testing.assert_allclose(Kernel("rbf", 0.3)(kind(A), kind(A.copy())), exact, atol=1e-12)


def test_tensors_near_the_origin_and_far_medians():
    torch = pytest.importorskip("torch")
    A = torch.asarray(two_clusters())
    exact = np.exp(-0.3 * cdist(A, A, "sqeuclidean"))
    np.testing.assert_allclose(Kernel("rbf", 0.3).of_tensors(A, A.clone()), exact, atol=1e-12)


def test_tensors_far_from_each_other():
    torch = pytest.importorskip("torch")
    A = torch.asarray(far_apart("dense"))
    exact = np.exp(-0.3 * cdist(A, A, "sqeuclidean"))
    np.testing.assert_allclose(Kernel("rbf", 0.3).of_tensors(A, A.clone()), exact, atol=1e-9)


@pytest.mark.parametrize("weights", [None, rng.uniform(1, 2, 25)])
@pytest.mark.parametrize("at_origin", [False, True])
def test_features_are_those_of_the_gram_matrix(weights, at_origin):
    """Coordinates about the mean, wherever forms are centred; the dual directions give them from rows of the kernel."""
    K = Kernel("rbf", 0.3)(X)
    F = KernelMap(K, "rbf", np.float64)
    found = F.coordinates([identity(25)], Centre(weights, at_origin), Preprojection())
    w = np.ones(25) / 25 if weights is None else weights / weights.sum()
    C = np.eye(25) if at_origin else np.eye(25) - w
    gram = C @ K @ C.T
    assert np.trace(found.forms[0]) == pytest.approx(np.trace(gram))
    np.testing.assert_allclose(
        np.sort(np.linalg.eigvalsh(found.forms[0])), np.sort(np.linalg.eigvalsh(gram))[-found.n_pca :], atol=1e-10
    )
    dual = found.back(np.eye(found.n_pca))  # rows of the kernel, centred by its means, times this are coordinates
    coordinates = (K - found.kernel_means) @ dual.T
    centred = coordinates - coordinates.mean(axis=0)
    about = (np.eye(25) - 1 / 25) @ K @ (np.eye(25) - 1 / 25)
    np.testing.assert_allclose(centred @ centred.T, about, atol=1e-8)


def test_spread_of_features():
    K, weights = Kernel("rbf", 0.3)(X), rng.uniform(1, 2, 25)
    C = np.eye(25) - 1 / 25
    expected = weights @ np.diag(C @ K @ C)
    np.testing.assert_allclose(KernelMap(K, "rbf", np.float64).spread(np.zeros(3), weights), [expected])


def test_features_below_the_rounding_of_single_precision_are_none():
    K = (X @ X.T).astype(np.float32)
    for dtype, at_most in ((np.float32, 4), (np.float64, 25)):
        kept = KernelMap(K, "linear", dtype).coordinates([identity(25)], Centre(), Preprojection()).n_pca
        assert 4 <= kept <= at_most
    assert KernelMap(K, "linear", np.float32).coordinates([identity(25)], Centre(), Preprojection()).n_pca == 4


@pytest.mark.parametrize("scale", [1e-1, 1e-2, 1e-3])
def test_rounding_gives_no_direction(scale):
    """Where all entries are near 1, centring leaves small differences of them; n rows about their mean have n - 1 directions."""
    for rows in np.array_split(np.random.RandomState(1).standard_normal((300, 4)), 60):
        F = KernelMap(Kernel("rbf", 0.1)(scale * rows), "rbf", np.float64)
        assert F.coordinates([identity(len(rows))], Centre(), Preprojection()).n_pca < len(rows)
