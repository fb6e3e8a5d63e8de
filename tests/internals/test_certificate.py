"""Certificates beside their definitions, by dense matrices; the bound on the angle beside the angle."""

from math import inf, pi

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, null_space
from scipy.sparse.linalg import aslinearoperator
from test_solve import KINDS, constraints, graph_laplacian, pencil, whole

from lapwing.solvers import Certificate, _lanczos, _solve, certify, estimate_norm, solve

N, K = 60, 5


class Dense:
    """The problem on what the constraint sees and what is not kept out: an orthonormal basis S, and the matrices there."""

    def __init__(self, A, B, deflate=None, ridge=0.0, shift=0.0):
        n, b = len(A), whole(B, len(A))
        w, S = np.linalg.eigh(b)
        self.range = S = S[:, w > 1e-10 * w.max()]
        rho = ridge * np.trace(b) / S.shape[1]
        self.left, self.right, self.shift = A - shift * b, b + rho * np.eye(n), shift if ridge else 0.0
        self.out = None if deflate is None else b @ deflate
        if deflate is not None:
            S = S @ null_space(self.out.T @ S)
        self.S = S
        self.values, Y = eigh(S.T @ self.left @ S, S.T @ self.right @ S)
        self.values, self.vectors = self.values + self.shift, S @ Y

    def residual(self, values, V):
        """By the definition: the largest share of A and B."""
        mu = values - self.shift
        R = self.S.T @ (self.left @ V - self.right @ V * mu) if self.out is None else self._inside(V, mu)
        inner = self.range.T @ self.left @ self.range
        sizes = np.linalg.norm(inner, 2) + np.abs(mu) * np.linalg.eigvalsh(self.range.T @ self.right @ self.range)[-1]
        return (np.linalg.norm(R, axis=0) / (sizes * np.linalg.norm(V, axis=0))).max()

    def _inside(self, V, mu):
        """Without what the constraint keeps out, which is a direction of its own in the norm of B."""
        R, right = self.range.T @ (self.left @ V - self.right @ V * mu), self.range.T @ self.right @ self.range
        D = self.range.T @ self.out
        return R - D @ np.linalg.solve(D.T @ np.linalg.solve(right, D), D.T @ np.linalg.solve(right, R))

    def angle(self, V):
        """The largest angle between V and the first eigenvectors, in the inner product of B."""
        root = np.linalg.cholesky(self.range.T @ self.right @ self.range).T @ self.range.T
        one, other = (np.linalg.qr(root @ U)[0] for U in (V, self.vectors[:, : V.shape[1]]))
        return np.arcsin(min(1.0, np.linalg.norm(one - other @ (other.T @ one), 2)))


def perturbed(found, size, seed=0):
    """Something near a solution, in the range of its pencil."""
    rng, V, T = np.random.RandomState(seed), found.vectors, found.T
    noise = rng.standard_normal(V.shape) if T is None else T @ rng.standard_normal((T.shape[1], V.shape[1]))
    return V + size * noise * np.linalg.norm(V) / np.linalg.norm(noise)


RIDGED = [c for c in constraints(4) if c not in ("None", "ones")]  # no ridge without a constraint
CASES = [(c, out, 0.0) for c in constraints(4) for out in (0, 1, 3)] + [(c, 0, 0.6) for c in RIDGED]


@pytest.mark.parametrize(("constraint", "out", "ridge"), CASES)
def test_beside_the_definitions(constraint, out, ridge):
    A, B = graph_laplacian(N), constraints(N)[constraint]
    A = sparse.csr_array(A - 0.3 * sparse.eye_array(N))
    deflate = np.c_[np.ones(N), np.random.RandomState(1).standard_normal((N, 2))][:, :out] if out else None
    options = {"ridge": ridge, "shift": 2.0 if ridge else 0.0}
    expected = Dense(A.toarray(), B, deflate, **options)
    for kind, make in KINDS.items():
        found = solve(make(A), B, K, deflate=deflate, **options)
        fine = 1e-5 if kind == "single" else 1e-13
        certificate = certify(found)
        assert max(certificate.residual, certificate.constraint_error) < 10 * fine
        assert certificate.rank == found.rank == expected.values.size
        assert certificate.gap == pytest.approx(expected.values[K] - expected.values[K - 1], abs=1e3 * fine)
        eigenvalues = np.linalg.eigvalsh(expected.range.T @ expected.right @ expected.range)
        assert certificate.condition == pytest.approx(eigenvalues[-1] / eigenvalues[0], rel=1e-8)
        if kind == "single":
            continue
        for amount in (1e-6, 1e-2):
            V = perturbed(found, amount)
            again = certify(found._replace(vectors=V))
            # A norm by a few steps of the power method is rarely too small by more than a fifth, and never too large.
            assert 0.999 <= again.residual / expected.residual(found.values, V) <= 1.4
            gram = [V.T @ expected.right @ V - np.eye(K)]
            if deflate is not None:
                D = expected.range.T @ expected.out
                inverse = np.linalg.inv(expected.range.T @ expected.right @ expected.range)
                root = np.linalg.cholesky(D.T @ inverse @ D)
                gram.append(np.linalg.solve(root, expected.out.T @ V))
            error = np.linalg.norm(np.vstack(gram))
            assert again.constraint_error == pytest.approx(error, rel=1e-3)


def test_operators_on_both_sides():
    A, B, left, right = pencil()
    options = {"ridge": 0.5, "per": 40, "shift": 3.0}
    found = solve(A, B, 4, diagonal=np.diagonal(right), **options)
    certificate = certify(found)
    assert certificate.residual < 1e-8
    assert certificate.constraint_error < 1e-8
    assert (certificate.rank, certificate.condition, certificate.gap, certificate.angle) == (None,) * 4
    expected = Dense(left, right, ridge=0.5, shift=3.0)
    V = found.vectors + 1e-3 * np.random.RandomState(0).standard_normal(found.vectors.shape)
    again = certify(found._replace(vectors=V))
    assert 0.999 <= again.residual / expected.residual(found.values, V) <= 1.4
    assert again.constraint_error == pytest.approx(np.linalg.norm(V.T @ expected.right @ V - np.eye(4)), rel=1e-6)


SOLVERS = [
    ("sparse", {}, 300, "dense"),
    ("sparse", {}, 480, "lanczos"),
    ("operator", {}, 480, "lanczos"),
    ("sparse", {"semidefinite": True, "crowded": True}, 480, "shift-invert"),
    ("single", {}, 480, "block-lanczos"),
]


@pytest.mark.parametrize(("kind", "flags", "n", "solver"), SOLVERS)
def test_the_next_eigenvalue_of_every_solver(kind, flags, n, solver):
    A, b, ones = graph_laplacian(n), np.random.RandomState(0).uniform(1, 2, n), np.ones((n, 1))
    values = eigh(A.toarray(), np.diag(b), eigvals_only=True)
    found = solve(KINDS[kind](A), b, 4, deflate=ones, **flags)
    assert found.solver == solver
    gap = certify(found).gap
    assert gap <= values[5] - values[4] + 1e-5  # the constant is none of them
    assert gap == pytest.approx(values[5] - values[4], rel=0.1 if kind == "single" else 1e-4)


def test_blocks_that_look_again(monkeypatch):
    """Twelve pieces: the eigenvalue 0 as often as a block is wide, so that another search is needed to be sure."""
    monkeypatch.setattr(_solve, "MANY", 400)
    monkeypatch.setattr(_lanczos, "eigsh", failing)
    A = sparse.block_diag([graph_laplacian(50, seed) for seed in range(12)], format="csr")
    found = solve(A, None, 11, deflate=np.ones((600, 1)))
    assert found.solver == "block-lanczos"
    assert certify(found).gap == pytest.approx(np.sort(np.linalg.eigvalsh(A.toarray()))[12], rel=1e-6)
    assert certify(solve(A, None, 8, deflate=np.ones((600, 1)))).gap == pytest.approx(0, abs=1e-9)


def failing(*args, **options):
    from scipy.sparse.linalg import ArpackNoConvergence

    raise ArpackNoConvergence("No convergence (%s)", np.empty(0), np.empty((0, 0)))


def test_all_directions_have_no_next():
    A = graph_laplacian(30).toarray()
    for k in (30, None):
        certificate = certify(solve(A, None, k))
        assert (certificate.gap, certificate.angle) == (inf, 0.0)
    assert certify(solve(A, None, 29)).gap < inf


def test_a_dense_solver_of_few_of_many_does_not_know_the_next():
    A = np.diag(np.arange(600.0))
    certificate = certify(solve(A, None, 3))
    assert (certificate.gap, certificate.angle) == (None, None)


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_is_not_below_the_angle(seed):
    """Pencils by chance, solutions disturbed by any amount, constraints of any condition; the eigenvalues disturbed as well."""
    rng = np.random.RandomState(seed)
    n, k = rng.randint(4, 30), rng.randint(1, 4)
    A, F = rng.standard_normal((n, n)), rng.standard_normal((n, n)) * np.geomspace(1, 10.0 ** -rng.randint(0, 4), n)
    A, B = A + A.T, F.T @ F
    if seed % 4 == 0:
        B = None
    found, expected = (
        solve(A, B, k, ridge=0.3 * (seed % 3 == 0)),
        Dense(A, B, ridge=0.3 * (seed % 3 == 0 and seed % 4 > 0)),
    )
    informative = 0
    for amount in 10.0 ** np.arange(-12, 0):
        V = perturbed(found, amount, seed)
        values = found.values + amount * rng.standard_normal(k) * np.abs(found.values)
        bound = certify(found._replace(values=values, vectors=V)).angle
        assert expected.angle(V) <= bound + 1e-8  # what the oracle itself rounds
        informative += bound < 0.1
    assert informative >= 2


def test_the_bound_is_sharp_in_the_plane():
    """Two eigenvalues, one direction turned by a known angle: the bound is its tangent or so, and no multiple of it."""
    found = solve(np.diag([1.0, 3.0]), None, 1)
    for angle in (1e-8, 1e-4, 1e-2):
        V = np.array([[np.cos(angle)], [np.sin(angle)]])
        value = np.array([np.cos(angle) ** 2 + 3 * np.sin(angle) ** 2])
        bound = certify(found._replace(values=value, vectors=V)).angle
        assert angle <= bound <= 1.1 * angle


def test_the_bound_where_it_says_nothing():
    """The gap is 0, the gap is smaller than the residual, the constraint does not hold; and there is no residual."""
    exact = solve(np.diag([1.0, 1.0, 3.0]), None, 1)
    assert certify(exact).angle == pi / 2
    found = solve(np.diag([1.0, 3.0]), None, 1)
    assert certify(found).angle == 0.0
    turned = np.array([[np.cos(1.5)], [np.sin(1.5)]])
    assert certify(found._replace(vectors=turned)).angle == pi / 2
    assert certify(found._replace(vectors=2 * found.vectors)).angle == pi / 2


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140, 1e290])
def test_any_scale(scale):
    A, B = graph_laplacian(40).toarray(), constraints(40)["matrix"]
    with np.errstate(over="raise"):
        certificate = certify(solve(scale * A, B, 3))
        other = certify(solve(scale * A, scale * B, 3))
    plain = certify(solve(A, B, 3))
    assert certificate.gap == pytest.approx(scale * plain.gap)
    assert other.gap == pytest.approx(plain.gap)
    assert max(certificate.residual, other.residual, certificate.constraint_error, other.constraint_error) < 1e-12
    assert certificate.condition == pytest.approx(plain.condition)


def test_nothing_at_all():
    certificate = certify(solve(np.zeros((4, 4)), np.eye(4), 2))
    assert (certificate.residual, certificate.gap, certificate.angle) == (0.0, 0.0, pi / 2)
    assert certificate.holds


def test_rows_without_links_must_stay_at_zero():
    b = np.r_[np.zeros(5), np.ones(35)]
    found = solve(graph_laplacian(40), b, 3)
    V = found.vectors.copy()
    V[0, 0] += 0.01
    assert certify(found).holds
    assert certify(found._replace(vectors=V)).constraint_error == pytest.approx(0.01 / np.linalg.norm(V), rel=1e-6)


def test_every_column_is_checked():
    """As many as are looked at together, and more; an error in any of them, and between any two, is seen."""
    A = graph_laplacian(50)
    found = solve(A, None, 20)
    for j in range(20):
        V = found.vectors.copy()
        V[:, j] *= 1.001
        certificate = certify(found._replace(vectors=V))
        assert certificate.constraint_error == pytest.approx(1.001**2 - 1)
        V[:, j] = found.vectors[:, (j + 9) % 20]
        certificate = certify(found._replace(vectors=V))
        assert certificate.constraint_error == pytest.approx(2**0.5)
        assert certificate.residual > 1e-4


def test_the_estimate_of_a_norm():
    rng = np.random.RandomState(0)
    for _ in range(20):
        A = rng.standard_normal((30, 30))
        A = A @ A.T
        exact = np.linalg.norm(A, 2)
        assert 0.7 * exact <= estimate_norm(A.__matmul__, 30) <= exact * (1 + 1e-12)
    assert estimate_norm(aslinearoperator(np.zeros((3, 3))).__matmul__, 3) == 0.0


def test_words():
    text = str(Certificate(1e-15, 2e-14, 10, 1e3, 0.1, 1e-8))
    for part in ("residual 1.0e-15", "constraint error 2.0e-14", "condition 1.0e+03", "gap 0.1", "5.7e-07 degrees"):
        assert part in text
    unknown = str(Certificate(1e-15, 2e-14))
    assert unknown == "residual 1.0e-15, constraint error 2.0e-14"
    assert "all directions kept" in str(Certificate(1e-15, 2e-14, gap=inf, angle=0.0))
    assert "solves its problem" in Certificate(1e-15, 2e-14)._repr_html_()
    assert "exceeds the tolerance of 1e-06" in Certificate(1e-5, 2e-14)._repr_html_()
