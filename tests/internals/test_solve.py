"""One ``solve`` for all kinds of A and B, beside a dense solution from the definition."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, null_space, subspace_angles
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, aslinearoperator

from lapwing.operators import Structured
from lapwing.solvers import RankError, _lanczos, _solve, fix_signs, largest_value, solve


def graph_laplacian(n, seed=0, links=4):
    """Of a connected random graph: a ring and some chords."""
    rng, rows = np.random.RandomState(seed), np.arange(n)
    ends = np.concatenate([(rows + 1) % n, *(rng.permutation(n) for _ in range(links))])
    W = sparse.csr_array((rng.uniform(0.5, 1, ends.size), (np.tile(rows, links + 1), ends)), shape=(n, n))
    W = W + W.T
    W.setdiag(0)
    return sparse.csr_array(sparse.diags_array(np.asarray(W.sum(axis=1)).ravel()) - W)


def as_operator(A, dtype=np.float64):
    typed = A.astype(dtype)
    return LinearOperator(A.shape, matvec=typed.__matmul__, matmat=typed.__matmul__, dtype=dtype)


KINDS = {
    "array": lambda A: A.toarray(),
    "sparse": lambda A: A,
    "operator": as_operator,
    "structured": lambda A: Structured(A.shape[0], sparse=A),
    "single": lambda A: as_operator(A, np.float32),
}


@cache
def constraints(n):
    rng = np.random.RandomState(3)
    F = rng.standard_normal((n, n))
    b = rng.uniform(0.5, 2, n)
    return {
        "None": None,
        "ones": np.ones(n),
        "diagonal": b,
        "diagonal with zeros": np.where(np.arange(n) % 10 == 0, 0, b),
        "matrix": F @ F.T / n + np.eye(n),
        "matrix of low rank": F[:, : 3 * n // 4] @ F[:, : 3 * n // 4].T / n,
    }


def whole(B, n):
    return np.eye(n) if B is None else np.diag(B) if B.ndim == 1 else B


SOLVED = {}  # what is left and its eigenvalues, by the bytes of the pencil: the same for all kinds of A


def dense_solution(left, right, b, deflate):
    key = tuple(None if M is None else M.tobytes() for M in (left, right, b, deflate))
    if key not in SOLVED:
        w, S = np.linalg.eigh(b)
        S = S[:, w > 1e-10 * w.max()]
        if deflate is not None:
            S = S @ null_space((b @ deflate).T @ S)
        SOLVED.clear()  # the kinds of one pencil follow each other
        SOLVED[key] = S, eigh(S.T @ left @ S, S.T @ right @ S, eigvals_only=True)
    return SOLVED[key]


def check(found, A, B, k, deflate=None, ridge=0.0, per=None, shift=0.0, rtol=1e-9):
    """The constraint holds, nothing that was kept out is there, and the eigenpairs are those of the pencil on what is left."""
    n, b = len(A), whole(B, len(A))
    rho = ridge * np.trace(b) / (per or np.linalg.matrix_rank(b, tol=1e-10 * np.abs(b).max())) if ridge else 0.0
    left, right = A - shift * b, b + rho * np.eye(n)
    S, expected = dense_solution(left, right, b, deflate)
    expected = expected + shift
    size, V = np.abs(expected).max(), found.vectors.astype(float)
    assert found.rank in (S.shape[1], None)
    assert V.shape == (n, k)
    np.testing.assert_allclose(found.values, expected[:k], atol=rtol * size)
    np.testing.assert_allclose(V.T @ right @ V, np.eye(k), atol=rtol)
    np.testing.assert_allclose(V, S @ (S.T @ V), atol=rtol * np.abs(V).max())
    residual = S.T @ (left @ V - right @ V * (found.values - shift))
    assert np.linalg.norm(residual, axis=0).max() <= 10 * rtol * size


@pytest.mark.parametrize("n", [60, 480])
@pytest.mark.parametrize("out", [0, 1, 3])
@pytest.mark.parametrize("constraint", constraints(4))
def test_beside_a_dense_solution(constraint, out, n):
    A, B = graph_laplacian(n), constraints(n)[constraint]
    A = sparse.csr_array(A - 0.3 * sparse.eye_array(n))  # not semidefinite
    deflate = np.c_[np.ones(n), np.random.RandomState(1).standard_normal((n, 2))][:, :out] if out else None
    before = [None if M is None else M.copy() for M in (A.data, B, deflate)]
    for kind, make in KINDS.items():
        found = solve(make(A), B, 5, deflate=deflate)
        check(found, A.toarray(), B, 5, deflate, rtol=1e-4 if kind == "single" else 1e-9)
        for part, copy in zip((A.data, B, deflate), before, strict=True):
            np.testing.assert_array_equal(part, copy, err_msg=kind)


def test_entries_of_a_sparse_matrix_stay_in_their_order():
    A = graph_laplacian(480)
    A = A[:, ::-1][::-1]  # the columns of each row descend
    for part in (A, -A):  # semidefinite or not
        before = part.data.copy(), part.indices.copy()
        assert not sparse.csr_array((part.data, part.indices, part.indptr)).has_sorted_indices
        solve(part, None, 5, semidefinite=part is A)
        np.testing.assert_array_equal((part.data, part.indices), before)


@pytest.mark.parametrize("constraint", ["diagonal", "diagonal with zeros", "matrix", "matrix of low rank"])
@pytest.mark.parametrize("kind", ["array", "sparse", "operator"])
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_ridge(kind, constraint, shift):
    n = 90
    A, B = graph_laplacian(n), constraints(n)[constraint]
    check(solve(KINDS[kind](A), B, 4, ridge=0.7, shift=shift), A.toarray(), B, 4, ridge=0.7, shift=shift)


def test_a_shift_needs_a_ridge():
    A, B = graph_laplacian(50).toarray(), np.full(50, 2.0)
    np.testing.assert_allclose(solve(A, B, 3, shift=5.0).values, solve(A, B, 3).values)


@pytest.mark.parametrize("kind", ["array", "sparse", "operator"])
def test_a_shift_needs_a_constraint(kind):
    """A ridge is a share of B: where that is the identity, there is none, and nothing to shift."""
    A = graph_laplacian(50)
    found, expected = solve(KINDS[kind](A), None, 3, ridge=0.5, shift=5.0), np.linalg.eigvalsh(A.toarray())
    np.testing.assert_allclose(found.values, expected[:3], atol=1e-12)


@pytest.mark.parametrize("B", [np.diag([3.0, 1e-5, 1, 2]), np.array([3.0, 1e-5, 1, 2])], ids=["matrix", "diagonal"])
def test_eigenvalues_of_b_up_to_the_floor_are_zero(B):
    A = np.diag([3.0, -9, 4, 2])
    assert solve(A, B, 1).rank == 4
    found = solve(A, B, None, floor=1e-4)
    assert found.rank == 3
    np.testing.assert_allclose(found.values, [1, 1, 4])


@pytest.mark.parametrize("kind", ["sparse", "operator", "single"])
@pytest.mark.parametrize("flags", [{}, {"semidefinite": True}, {"semidefinite": True, "crowded": True}], ids=str)
@pytest.mark.parametrize("constraint", ["None", "diagonal"])
def test_what_is_deflated_need_not_be_eigenvectors(kind, constraint, flags):
    n = 480
    A, B = graph_laplacian(n), constraints(n)[constraint]
    deflate = np.random.RandomState(1).standard_normal((n, 3))
    found = solve(KINDS[kind](A), B, 5, deflate=deflate, **flags)
    assert found.solver == ("block-lanczos" if kind == "single" else "lanczos")
    check(found, A.toarray(), B, 5, deflate, rtol=1e-4 if kind == "single" else 1e-9)


def test_all_of_them():
    A = graph_laplacian(40)
    for kind in KINDS.values():
        found = solve(kind(A), None, None, deflate=np.ones((40, 1)))
        assert (found.rank, found.vectors.shape, found.solver) == (39, (40, 39), "dense")


def test_dependent_vectors_are_deflated_once():
    A, ones = graph_laplacian(50), np.ones((50, 1))
    twice = solve(A, None, 3, deflate=np.hstack([ones, 2 * ones]))
    assert twice.rank == 49
    np.testing.assert_allclose(twice.values, solve(A, None, 3, deflate=ones).values)


# Which solver

TABLE = [  # kind of A, flags, names with few, more and many rows
    ("array", {}, ["dense", "dense", "dense"]),
    ("sparse", {"semidefinite": True, "crowded": True}, ["dense", "shift-invert", "shift-invert"]),
    ("sparse", {"semidefinite": True}, ["dense", "lanczos", "lanczos"]),
    ("sparse", {"crowded": True}, ["dense", "lanczos", "lanczos"]),
    ("operator", {}, ["dense", "lanczos", "lanczos"]),
    ("single", {}, ["dense", "block-lanczos", "block-lanczos"]),
]


def failing(*args, **options):
    raise ArpackNoConvergence("No convergence (%s)", np.empty(0), np.empty((0, 0)))


@pytest.mark.parametrize(("kind", "flags", "names"), TABLE)
@pytest.mark.parametrize("size", range(3))
def test_table(kind, flags, names, size, monkeypatch):
    n = [300, 450, 520][size]
    monkeypatch.setattr(_solve, "MANY", 500)
    A, ones = graph_laplacian(n), np.ones((n, 1))
    found = solve(KINDS[kind](A), None, 4, deflate=ones, **flags)
    assert found.solver == names[size]
    rtol = 1e-4 if kind == "single" else 1e-9
    check(found, A.toarray(), None, 4, ones, rtol=rtol)
    monkeypatch.setattr(_lanczos, "eigsh", failing)
    found = solve(KINDS[kind](A), None, 4, deflate=ones, bound=float(largest_value(A)), **flags)
    last = names[0] if size < 2 or kind == "array" else "block-lanczos"
    assert found.solver == ("block-lanczos" if kind == "single" and size else last)
    check(found, A.toarray(), None, 4, ones, rtol=rtol)
    assert solve(KINDS[kind](A), None, n // 3 + 1, deflate=ones, **flags).solver == "dense"


def test_a_matrix_without_factors():
    """All eigenvalues are 0, and so is the shift by which a factorisation steps aside."""
    found = solve(sparse.csr_array((500, 500)), None, 3, deflate=np.ones((500, 1)), semidefinite=True, crowded=True)
    assert found.solver == "dense"
    np.testing.assert_array_equal(found.values, 0)


@pytest.mark.parametrize("bound", [None, 30.0, 300.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_bound_gives_the_same(bound, dtype):
    A = graph_laplacian(600)
    found = solve(as_operator(A, dtype), None, 4, bound=bound)
    check(found, A.toarray(), None, 4, rtol=1e-9 if dtype == np.float64 else 3e-4)


# Eigenvalues that repeat


def ring(n):
    rows = np.arange(n)
    W = sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n))
    return sparse.csr_array(2 * sparse.eye_array(n) - W - W.T), 2 - 2 * np.cos(2 * np.pi * rows / n)


def torus():
    (L, values), eye = ring(24), sparse.eye_array(24)
    return sparse.csr_array(sparse.kron(L, eye) + sparse.kron(eye, L)), np.add.outer(values, values).ravel()


def pieces():
    """Twelve random graphs of 50 rows that nothing links."""
    parts = [graph_laplacian(50, seed) for seed in range(12)]
    return sparse.block_diag(parts, format="csr"), np.concatenate([np.linalg.eigvalsh(L.toarray()) for L in parts])


def complete():
    """Four complete graphs: only two eigenvalues."""
    y = np.arange(600) % 4
    return sparse.csr_array(150 * np.eye(600) - (y[:, None] == y)), np.r_[np.zeros(4), np.full(596, 150.0)]


REPEATED = {"ring": lambda: ring(450), "torus": torus, "pieces": pieces, "complete": complete}


@pytest.mark.parametrize("many", [500, 2000])
@pytest.mark.parametrize(
    ("kind", "flags", "fine", "rough"),
    [
        ("sparse", {}, 1e-10, 1e-9),
        ("sparse", {"semidefinite": True}, 1e-10, 1e-9),
        ("sparse", {"semidefinite": True, "crowded": True}, 1e-9, 1e-7),  # the inverse is huge along the null space
        ("operator", {}, 1e-10, 1e-9),
        ("single", {}, 3e-5, 1e-4),
    ],
)
@pytest.mark.parametrize("case", REPEATED)
def test_eigenvalues_as_often_as_they_are(case, kind, flags, fine, rough, many, monkeypatch):
    monkeypatch.setattr(_solve, "MANY", many)
    A, known = REPEATED[case]()
    n = len(known)
    found = solve(KINDS[kind](A), None, 15, deflate=np.ones((n, 1)), **flags)
    np.testing.assert_allclose(found.values, np.sort(known)[1:16], atol=fine * known.max())
    V = np.c_[np.full(n, n**-0.5), found.vectors]
    np.testing.assert_allclose(V.T @ V, np.eye(16), atol=fine)
    assert np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0).max() <= rough * known.max()


def test_pieces_come_first():
    """Beside the constant: what is constant on each piece."""
    A, _ = pieces()
    b = np.random.RandomState(0).uniform(1, 2, 600)
    found = solve(A, b, 12, deflate=np.ones((600, 1)), semidefinite=True, crowded=True)
    np.testing.assert_allclose(found.values[:11], 0, atol=1e-10)
    assert found.values[11] > 0.01
    indicators = np.repeat(np.eye(12), 50, axis=0)
    assert subspace_angles(np.c_[np.ones(600), found.vectors[:, :11]], indicators).max() < 1e-8
    np.testing.assert_allclose(b @ found.vectors, 0, atol=1e-7)


# Too much, and what cannot be


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_there_are(kind):
    A = KINDS[kind](graph_laplacian(30))
    b = np.r_[np.zeros(10), np.ones(20)]
    with pytest.raises(RankError, match=r"n_components=20 is more than the 19 directions.*n_components=19 or less"):
        solve(A, b, 20, deflate=np.ones((30, 1)))
    assert solve(A, b, 19, deflate=np.ones((30, 1))).rank == 19
    with pytest.raises(RankError, match="no direction is left"):
        solve(A, np.zeros(30), 1)


def pencil(n=80, d=40):
    """Operators FᵀLF and FᵀDF, their matrices, and the diagonal of the second."""
    F, L = np.random.RandomState(0).standard_normal((n, d)), graph_laplacian(n)
    D = L.diagonal()
    A, B = F.T @ (L @ F), F.T @ (D[:, None] * F)
    return aslinearoperator(A), aslinearoperator(B), A, B


def test_operators_on_both_sides():
    A, B, left, right = pencil()
    options = {"ridge": 0.5, "per": 40, "shift": 3.0}
    found = solve(A, B, 4, diagonal=np.diagonal(right), **options)
    assert (found.rank, found.solver) == (None, "lanczos")
    check(found, left, right, 4, **options, rtol=1e-7)
    check(solve(left, right, 4, **options), left, right, 4, **options)


def test_more_than_the_graph_tells_from_noise():
    """B sees 6 directions only; what it does not see goes to the shift."""
    _, _, left, right = pencil()
    N = np.linalg.eigh(right)[1][:, :6]
    A, B = N @ N.T @ left @ N @ N.T, N @ N.T @ right @ N @ N.T
    options = {"ridge": 1.0, "per": len(B), "shift": 100.0, "diagonal": np.diagonal(B)}
    assert solve(aslinearoperator(A), aslinearoperator(B), 6, **options).values.max() < 100
    with pytest.raises(RankError, match=r"n_components=8 is more than the 6 directions"):
        solve(aslinearoperator(A), aslinearoperator(B), 8, **options)


@pytest.mark.parametrize(
    ("k", "options", "message"),
    [
        (None, {"ridge": 1.0}, "n_components=None.*give n_components"),
        (39, {"ridge": 1.0}, "n_components=39"),
        (3, {}, "ridge > 0"),
        (3, {"ridge": 1.0, "deflate": np.ones((40, 1))}, "deflate= needs a B that is an array"),
    ],
)
def test_operators_that_cannot_be(k, options, message):
    A, B, _, right = pencil()
    with pytest.raises(ValueError, match=message):
        solve(A, B, k, per=40, shift=3.0, diagonal=np.diagonal(right), **options)


def test_a_constraint_that_cannot_be_inverted(monkeypatch):
    monkeypatch.setattr(_solve, "cg", lambda A, b, **options: (b, 1))
    A, B, _, right = pencil()
    with pytest.raises(ValueError, match="use a larger ridge"):
        solve(A, B, 3, ridge=1.0, per=40, shift=3.0, diagonal=np.diagonal(right))


def test_operators_on_both_sides_that_do_not_converge(monkeypatch):
    monkeypatch.setattr(_lanczos, "eigsh", failing)
    A, B, _, right = pencil()
    with pytest.raises(
        ValueError, match=r"found no 3 eigenvectors of 40 rows: .*No convergence.*; use a smaller n_components"
    ):
        solve(A, B, 3, ridge=1.0, per=40, shift=3.0, diagonal=np.diagonal(right))


# Bits, values and signs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", REPEATED)
def test_same_bits_again(kind, case):
    A, _ = REPEATED[case]()
    first, again = (solve(KINDS[kind](A), None, 8, deflate=np.ones((A.shape[0], 1))) for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)
    np.testing.assert_array_equal(first.vectors, again.vectors)


@pytest.mark.parametrize("n", [50, 600])
@pytest.mark.parametrize("kind", KINDS)
def test_largest_value(kind, n):
    A = graph_laplacian(n)
    expected = np.linalg.eigvalsh(A.toarray())[-1]
    assert largest_value(KINDS[kind](A)) == pytest.approx(expected, rel=1e-6 if kind == "single" else 1e-11)
    assert largest_value(KINDS[kind](0 * A)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("width", [1e-4, 1e-6, 1e-8])
def test_largest_of_values_that_crowd(width):
    """The residual of a vector far from the right one may be small there, and so may not be the error of its value."""
    crowd = 1 - width * np.linspace(0, 1, 600) ** 2
    assert largest_value(sparse.diags_array(crowd).tocsr()) == pytest.approx(1, rel=1e-9)


def test_largest_value_where_lanczos_fails(monkeypatch):
    A = graph_laplacian(600)
    expected = largest_value(A)
    monkeypatch.setattr(_lanczos, "eigsh", failing)
    assert largest_value(A) == pytest.approx(expected, rel=1e-9)


def test_signs():
    nearly = -1 + 1e-9
    rows = np.array([[0.1, -2.0, 0.3], [0.1, -1.0, -nearly], [3.0, -1.0, 2.0]])
    np.testing.assert_array_equal(fix_signs(rows), rows * [[-1], [-1], [1]])


def test_an_operator_needs_its_diagonal_and_takes_no_deflation():
    A, B = (aslinearoperator(np.eye(50)) for _ in range(2))
    for lacking in ({"per": 50}, {"diagonal": np.ones(50)}):
        with pytest.raises(ValueError, match="needs its diagonal= and per="):
            solve(A, B, 2, ridge=1.0, **lacking)
    with pytest.raises(ValueError, match="deflate= needs a B that is an array"):
        solve(A, B, 2, ridge=1.0, per=50, diagonal=np.ones(50), deflate=np.ones((50, 1)))


def test_an_operator_that_sees_nothing_leaves_no_direction():
    zero = aslinearoperator(np.zeros((50, 50)))
    with pytest.raises(RankError, match="no direction is left"):
        solve(aslinearoperator(np.eye(50)), zero, 2, ridge=1.0, per=50, diagonal=np.zeros(50))


@pytest.mark.parametrize("ridge", [0.05, 0.5, 3.0])
def test_operators_with_ridges_of_any_size(ridge):
    """(A - s B) v = (lambda - s) (B + ridge I) v, as a dense solution has it."""
    rng = np.random.RandomState(0)
    F = rng.standard_normal((80, 30))
    A, B, shift = F.T @ graph_laplacian(80) @ F / 80, F.T @ F / 80, 40.0
    per, trace = 30, np.trace(B)
    found = solve(
        *(aslinearoperator(M) for M in (A, B)), 3, ridge=ridge, per=per, shift=shift, diagonal=np.diag(B), tol=1e-10
    )
    values = eigh(A - shift * B, B + ridge * trace / per * np.eye(30), eigvals_only=True)[:3] + shift
    np.testing.assert_allclose(found.values, values, rtol=1e-7)
    assert found.rank is None


@pytest.mark.parametrize("tol", [1e-6, 1e-8, 1e-10])
def test_operators_leave_residuals_of_at_most_tol(tol):
    """As a share of the largest eigenvalue, in the unit of the constraint."""
    A, B, left, right = pencil()
    found = solve(A, B, 4, ridge=0.5, per=40, shift=3.0, diagonal=np.diagonal(right), tol=tol)
    M, K = left - 3.0 * right, right + 0.5 * np.trace(right) / 40 * np.eye(40)
    seen = K @ found.vectors
    residuals = np.linalg.norm(M @ found.vectors - seen * (found.values - 3.0), axis=0) / np.linalg.norm(seen, axis=0)
    assert residuals.max() <= tol * np.abs(eigh(M, K, eigvals_only=True)).max()
