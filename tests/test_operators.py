"""Structured matrices against dense ones, and the problem made of them."""

import pickle
from dataclasses import FrozenInstanceError
from functools import cache

import numpy as np
import pytest
from helpers import each, form
from limits import BLOCK_BYTES, block_bytes
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import aslinearoperator

from lapwing import operators
from lapwing._validation import row_blocks
from lapwing.data import canonical
from lapwing.graphs import KNN
from lapwing.operators import Structured, diagonal, identity, laplacian
from lapwing.problem import ORTHOGONAL, Problem, Term, degree_sum, laplacian_sum

N = 23


def symmetric(seed, density=0.15):
    weights = np.random.RandomState(seed).rand(N, N)
    weights[weights > density] = 0
    return sparse.csr_array(weights + weights.T)


def normal(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape)


def holes(seed, rank):
    """A sparse factor, some of its rows empty."""
    return sparse.csr_array(normal(seed, N, rank) * (np.random.RandomState(seed).rand(N, rank) < 0.3))


FACTORS = {
    "dense": (normal(1, N, 3), normal(2, 3)),
    "one": (np.ones((N, 1)), np.array([-1 / N])),
    "float32": (normal(3, N, 2).astype(np.float32), normal(4, 2)),
    "sparse": (holes(5, 4), normal(6, 4)),
    "sparse-matrix": (sparse.csr_matrix(holes(7, 4)), normal(8, 4)),
    "tall-dense": (normal(9, N, N), normal(10, N)),
    "tall-sparse": (holes(11, N + 9), normal(12, N + 9)),
    "half": (holes(13, N // 2), normal(14, N // 2)),
    "half-and-one": (holes(15, N // 2 + 1), normal(16, N // 2 + 1)),
}
PARTS = {
    "zero": {},
    "sparse": {"sparse": symmetric(17)},
    "diagonal": {"diag": normal(18, N)},
    "laplacian": {"sparse": -symmetric(19), "diag": symmetric(19).sum(axis=1)},
    **{f"factor-{name}": {"factors": (factor,)} for name, factor in FACTORS.items()},
    "all": {"sparse": symmetric(20), "diag": normal(21, N), "factors": tuple(FACTORS.values())},
}


def to_dense(parts):
    dense = np.diag(parts.get("diag", np.zeros(N)))
    dense = dense + (parts["sparse"].toarray() if "sparse" in parts else 0)
    for U, c in parts.get("factors", ()):
        U = (U.toarray() if sparse.issparse(U) else U).astype(np.float64)
        for r in range(len(c)):
            dense = dense + c[r] * np.outer(U[:, r], U[:, r])
    return dense


def close(actual, expected, tol=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))


every_part = pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)


@pytest.fixture(params=[1 << 24, 200], ids=["one-block", "many-blocks"])
def _blocks(request, monkeypatch):
    block_bytes(monkeypatch, request.param)


@every_part
def test_same_matrix(parts):
    A, dense = Structured(N, **parts), to_dense(parts)
    assert A.shape == dense.shape
    close(A.toarray(), dense)
    close(A.diagonal(), np.diag(dense))
    assert A.is_diagonal == (not (dense - np.diag(np.diag(dense))).any())
    for Y in (normal(0, N), normal(0, N, 1), normal(0, N, 4), normal(0, N, 4).astype(np.float32), np.eye(N, dtype=int)):
        assert (A @ Y).dtype == np.float64
        assert (A @ Y).shape == Y.shape
        close(A @ Y, dense @ Y.astype(np.float64))
    close(pickle.loads(pickle.dumps(A)).toarray(), dense)


@each("other", PARTS.values())
@every_part
def test_sums_and_multiples(parts, other):
    A, B, a, b = Structured(N, **parts), Structured(N, **other), to_dense(parts), to_dense(other)
    before = A.toarray(), B.toarray()
    close((A + B).toarray(), a + b)
    close((A - B).toarray(), a - b)
    close((2.5 * A - B * np.float64(0.5)).toarray(), 2.5 * a - 0.5 * b)
    close((np.float32(3) * A + np.int64(2) * -B).toarray(), 3 * a - 2 * b)
    close((A.toarray(), B.toarray()), before, 0)  # the operands are as they were
    close((A - A).toarray(), 0 * a, 1e-10)
    assert not (0 * A).toarray().any()


@pytest.mark.parametrize("shift", [None, normal(30, 5)], ids=["plain", "shifted"])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, np.float32, sparse.csr_array, sparse.csr_matrix])
@every_part
@pytest.mark.usefixtures("_blocks")
def test_quadratic(parts, kind, shift):
    given = kind(normal(31, N, 5) * (np.random.RandomState(32).rand(N, 5) < 0.7))
    before = given.copy()
    F = (given.toarray() if sparse.issparse(given) else given).astype(np.float64)
    F = F if shift is None else F - shift
    result = form(Structured(N, **parts), given, shift)
    assert result.dtype == np.float64
    close(result, F.T @ to_dense(parts) @ F, 1e-6 if kind is np.float32 else 1e-12)
    close(result, result.T, 0)
    assert abs(given - before).max() == 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_quadratic_of_integers(kind):
    """Counts of words are integers; the matrix between them is not."""
    F = np.random.RandomState(33).randint(0, 5, (N, 5))
    parts = PARTS["all"]
    close(form(Structured(N, **parts), kind(F)), F.T @ to_dense(parts) @ F)


@cache
def big(n=50_000):
    points = np.random.RandomState(0).rand(n, 2)
    return KNN(5).build(points)[0].laplacian, points


@each("make", [np.asarray, sparse.csr_array])
@each("offset", [0.0, 100.0])
@each("name", ["identity", "laplacian", "rank-one", "smooth"])
def test_float32_accumulates_in_float64(name, offset, make):
    """float32 rows give what the same numbers give in float64.

    Also where F is smooth on the graph, as the directions are that LPP looks for: FᵀLF is then the small difference of
    FᵀDF and FᵀWF.
    """
    L, points = big()
    F = points if name == "smooth" else normal(1, len(points), 3)
    ones = (np.ones((L.n, 1)), np.array([-1 / L.n]))
    A = {"identity": identity(L.n), "rank-one": Structured(L.n, factors=(ones,), diag=np.ones(L.n))}.get(name, L)
    single = (F + offset).astype(np.float32)
    double = single.astype(np.float64)
    shift = double.mean(axis=0)
    expected = (double - shift).T @ (A @ (double - shift))
    assert np.abs(form(A, make(single), shift) - expected).max() < 1e-6 * np.abs(expected).max()


@each(
    "parts",
    [
        *PARTS.values(),
        {"sparse": symmetric(40, 0.02)},
        {"sparse": symmetric(41, 0.02), "factors": ((holes(42, 2), np.ones(2)),)},
        {"factors": ((holes(43, 1), np.ones(1)), (holes(44, 1), np.ones(1)))},
        {"factors": ((np.eye(N)[:, :3] + np.eye(N)[:, 3:6], np.ones(3)),)},
        {"diag": np.ones(N), "sparse": sparse.csr_array((N, N))},
        {"sparse": sparse.csr_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(N, N))},
        {"factors": ((np.ones((N, 1)), np.zeros(1)),)},
        {"factors": ((holes(45, 2), np.array([0.0, 1.0])),)},
    ],
)
def test_connected_components(parts):
    expected = connected_components(sparse.csr_array(to_dense(parts)), directed=False)[0]
    assert Structured(N, **parts).n_connected_components() == expected


def test_components_of_a_multiple_of_zero():
    assert (0.0 * Structured(N, sparse=symmetric(0, 0.9))).n_connected_components() == N


def test_frozen_and_typed():
    A = identity(N)
    with pytest.raises(FrozenInstanceError):
        A.diag = np.zeros(N)
    with pytest.raises(ValueError, match=f"cannot add a 4 x 4 matrix to a {N} x {N} one"):
        A + identity(4)
    for operation in (
        lambda: A + 1,
        lambda: 1 + A,
        lambda: A - np.eye(N),
        lambda: A * "a",
        lambda: A * A,
        lambda: "a" * A,
    ):
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(ValueError, match=r"reshape|shape|size"):
        A @ np.ones(N + 1)


def test_laplacian_of_weights():
    W = symmetric(50)
    L, D = laplacian(W)
    close(L.toarray(), np.diag(W.toarray().sum(axis=1)) - W.toarray())
    close(D.toarray(), np.diag(W.toarray().sum(axis=1)))
    close(diagonal([1, 2]).toarray(), [[1.0, 0], [0, 2]])
    assert D.is_diagonal
    assert not L.is_diagonal


@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 3), (1, 1), (1000, 1), (1000, 700), (5, 10**8), (7, 0)])
def test_row_blocks_cover_all_rows_once(n_rows, n_columns):
    rows = [i for block in row_blocks(n_rows, n_columns) for i in range(n_rows)[block]]
    assert rows == list(range(n_rows))
    for block in row_blocks(n_rows, n_columns):
        height = block.stop - block.start
        assert height == 1 or 8 * height * n_columns <= BLOCK_BYTES


def test_problem_sums_its_terms():
    terms = [Term(c, *laplacian(symmetric(60 + i))) for i, c in enumerate((1.0, -0.5, 2.0))]
    W = [symmetric(60 + i).toarray() for i in range(3)]
    L, D = [np.diag(w.sum(axis=1)) - w for w in W], [np.diag(w.sum(axis=1)) for w in W]
    close(laplacian_sum(terms).toarray(), L[0] - 0.5 * L[1] + 2 * L[2])
    close(degree_sum(terms).toarray(), D[0] + 2 * D[2])
    assert terms[1].scaled(-3).coefficient == 1.5
    close(Problem(terms, degree_sum(terms)).degrees, np.diag(D[0] + 2 * D[2]))
    assert Problem(terms, ORTHOGONAL).degrees is None
    assert Problem(terms, laplacian_sum(terms)).degrees is None
    with pytest.raises(ValueError, match=r"graph has no attraction.*penalty="):
        degree_sum(terms[1:2])


@every_part
def test_as_an_operator(parts):
    A, V = Structured(N, **parts).operator(), normal(60, N, 3)
    close(A @ V, to_dense(parts) @ V)
    close(A @ V[:, 0], to_dense(parts) @ V[:, 0])


@every_part
def test_rows_that_occur_often(parts):
    """A form of repeated rows is that of the rows written out, but for the sparse part, whose links are of single rows."""
    counts = np.random.RandomState(0).randint(1, 4, N).astype(float)
    others = {name: part for name, part in parts.items() if name != "sparse"}
    F, place = normal(61, N, 2), np.repeat(np.arange(N), counts.astype(int))
    A = np.zeros((place.size, place.size))
    if "diag" in others:
        A += np.diag(others["diag"][place])
    for U, c in others.get("factors", ()):
        U = (U.toarray() if sparse.issparse(U) else U).astype(np.float64)[place]
        A += (U * c) @ U.T
    close(F.T @ (Structured(N, **others).repeated(counts) @ F), F[place].T @ A @ F[place], 1e-10)
    assert Structured(N, **parts).repeated(counts).sparse is parts.get("sparse")


@every_part
def test_rows_and_columns_rescaled(parts):
    scale, others = normal(64, N), {name: part for name, part in parts.items() if name != "rest"}
    found = Structured(N, **others).rescaled(scale)
    close(found.toarray(), scale[:, None] * to_dense(others) * scale, 1e-10)


@every_part
def test_sparse_form(parts, monkeypatch):
    found = Structured(N, **parts).tosparse()
    assert isinstance(found, sparse.csr_array)
    close(found.toarray(), to_dense(parts))
    largest = max([np.square((U != 0).sum(axis=0).astype(float)).sum() for U, _ in parts.get("factors", ())], default=0)
    monkeypatch.setattr(operators, "MOST_ENTRIES", largest)
    Structured(N, **parts).tosparse()
    if largest:
        monkeypatch.setattr(operators, "MOST_ENTRIES", largest - 1)
        with pytest.raises(ValueError, match="too many for a map without a formula"):
            Structured(N, **parts).tosparse()


def test_factors_that_are_operators():
    U, c = normal(64, N, 3), normal(65, 3)
    A = Structured(N, factors=((aslinearoperator(U), c),), diag=np.ones(N))
    close(A.diagonal(), np.diag((U * c) @ U.T) + 1)
    close(A.toarray(), (U * c) @ U.T + np.eye(N))


def test_components_of_rows_that_occur_often():
    """Each occurrence is a vertex; a factor joins those of a row that it sees."""
    counts, U = np.ones(N), np.zeros((N, 2))
    counts[[2, 5, 7]] = 3, 2, 4
    U[[2, 3], 0], U[7, 1] = 1.0, 1.0
    W = symmetric(68, 0.9)
    assert Structured(N, sparse=W).n_connected_components(np.ones(N)) == 1
    assert Structured(N, sparse=W).n_connected_components(counts) == 1 + 2 + 1 + 3
    assert Structured(N, sparse=W, factors=((U, np.array([1.0, 0.0])),)).n_connected_components(counts) == 1 + 1 + 3
    assert (
        Structured(N, sparse=W, factors=((sparse.csr_array(U), np.array([1.0, -1.0])),)).n_connected_components(counts)
        == 2
    )


def test_canonical_rows():
    """Sparse rows have each entry once, and indices of 32 bits; what they are made of stays as it is."""
    assert canonical(N) == N
    twice = sparse.csr_array((np.ones(4), np.array([1, 1, 0, 2]), np.array([0, 3, 4])), shape=(2, 3))
    long = sparse.csr_array((np.ones(2), np.array([0, 2], np.int64), np.array([0, 1, 2], np.int64)), shape=(2, 3))
    wide = sparse.csr_array((np.ones(2), np.array([0, 99], np.int64), np.array([0, 1, 2], np.int64)), shape=(2, 100))
    for given in (twice, long, wide, sparse.csc_matrix(twice.toarray()), sparse.coo_array(twice.toarray())):
        dense, entries = given.toarray(), given.data.copy()
        found = canonical(given)
        assert isinstance(found, sparse.csr_array)
        assert found.has_canonical_format
        assert found.indices.dtype == found.indptr.dtype == np.int32
        np.testing.assert_array_equal(found.toarray(), dense)
        np.testing.assert_array_equal(given.data, entries)
    good = symmetric(69)
    assert canonical(good) is good
