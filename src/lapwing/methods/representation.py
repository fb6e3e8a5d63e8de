"""Methods that represent X with few numbers, as PCA does, and follow a graph or leave out a background."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._validation import Array, caller_stacklevel, check_count, check_not_negative, check_positive, row_blocks
from ..auto import GraphFacts, Rules, Settings
from ..data import FLOATS, Data, SparseData
from ..graphs import KNN, Complete, Empty, Graph
from ..maps import Free
from ..operators import Structured, identity
from ..problem import ORTHOGONAL, Problem, Term, degree_sum, laplacian_sum
from ..reducers import FreeReducer, LinearReducer, build_terms, takes_tensors
from ..solvers import Solution, estimate_norm, fix_signs, inverse, largest_value, solve
from .discriminant import BINARY, Supervised, covariance
from .locality import About

NEAR_POLE = 0.05  # below this share of the fitted rows' median factor, the equation of a new row is near a pole
RHO = 1.02  # rho="auto" of the robust methods; eigenvectors cannot follow a faster growth from step to step
ROOM = 30  # dimensions that the basis of a robust step leaves free, to be taken where products give no new directions


class _Representing(FreeReducer, without=("extension", "normalize")):
    """Free maps that also represent X, as ``embedding_ @ components_ + mean_``."""

    n_neighbors: ClassVar[int] = 5
    _beside: ClassVar[str] = "refused"
    _crowded: ClassVar[bool] = False
    default_graph: ClassVar[Any] = KNN

    @takes_tensors
    def inverse_transform(self, X: Any) -> np.ndarray:
        """``X @ components_ + mean_``; of the fitted coordinates, the denoised data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            The coordinates, as :meth:`transform` gives them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=FLOATS)
        if X.shape[1] != len(self.components_):
            raise ValueError(f"X has {X.shape[1]} columns, but there are {len(self.components_)} components")
        return X @ self.components_ + self.mean_

    def _extended(self, X: np.ndarray) -> np.ndarray:
        W = self._links(X) if self.alpha_ else sparse.csr_array((X.shape[0], self.X_fit_.shape[0]))
        return self._by_links(X, W)


@dataclass(frozen=True)
class Representation(Problem):
    """The problem of :class:`GLPCA`, and what its matrix is made of."""

    X: Any  # X less its mean, divided by the root of lambda
    L: sparse.csr_array
    scales: tuple[float, float]  # lambda and xi
    beta: float


class GLPCA(_Representing):
    r"""Graph-Laplacian PCA: a low-rank representation of X whose coordinates follow a graph.

    .. math:: \min_{U, Q} \|X - Q U^\top\|_F^2 + \alpha \operatorname{tr}(Q^\top L Q)
        \quad\text{subject to}\quad Q^\top Q = I \tag{1}

    for the centred X, where L is the Laplacian of the graph. The columns of Q are the eigenvectors of the smallest
    eigenvalues of

    .. math:: G = (1 - \beta)\left(I - \frac{X X^\top}{\lambda}\right) + \beta \frac{L}{\xi}     \tag{2}

    with :math:`\lambda` and :math:`\xi` the largest eigenvalues of :math:`X X^\top` and L, and :math:`U = X^\top Q` [1]_.
    ``beta=0`` is PCA, and ``beta=1`` is ``LaplacianEigenmaps(constraint="identity")``. The n x n matrix G is never formed.

    Parameters
    ----------
    graph : None, int, graph or matrix, default=None
        Which samples should have similar coordinates. None is ``KNN(5)``, an integer k ``KNN(k)``, and a matrix of weights is
        another. For corrupted samples take ``KNN(5, weights="binary")``: heat weights leave a far one next to no links.
    beta : float, default=0.5
        How much the graph counts, from 0 (PCA) to 1 (the graph alone). :math:`\alpha` of (1) is ``alpha_``.
    ... : As in :class:`LaplacianEigenmaps`

    Attributes
    ----------
    embedding_
        As in :class:`LaplacianEigenmaps`. It is Q, and ``fit_transform`` gives the same, except for the mean of equal rows.
    components_ : ndarray of shape (n_components, n_features)
        U, transposed: what each coordinate adds to a sample.
    mean_ : ndarray of shape (n_features,)
        What is subtracted from the samples.
    beta_, alpha_ : float
        The weight of the graph that was used, in (2) and in (1), where it is infinite for ``beta=1``.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of G, in ascending order.
    scales_ : tuple of two floats
        :math:`\lambda` and :math:`\xi` of (2).
    reconstruction_error_ : float
        The share of the centred X that the representation misses, :math:`\|X - Q U^\top\| / \|X\|`.

    References
    ----------
    .. [1] B. Jiang, C. Ding, B. Luo and J. Tang, "Graph-Laplacian PCA: closed-form solution and robustness", CVPR 2013.
    """

    beta: float = 0.5

    about = About("representation", "(1 − β)(I − XXᵀ/λ) + β L/ξ: PCA whose coordinates follow a graph", "I")

    _takes_tensors: ClassVar[bool] = True

    def _problem(self, data: Data, graphs: GraphFacts) -> Representation:
        terms = build_terms("graph", graphs.graph, data)
        L, (X, lam) = laplacian_sum(terms).tosparse(), of_unit_norm(data)
        beta, xi = graph_weight(self.beta, L)
        own = [Term(beta / xi * t.coefficient, t.laplacian, t.degrees) for t in terms]
        ones = np.ones(data.n)
        eye = Structured(data.n, diag=ones)
        misfit = Structured(data.n, factors=((X, np.full(data.d, -1.0)),), diag=ones)
        A = own if beta == 1 else [*own, Term(1 - beta, misfit, eye)]
        return Representation(A, eye, X, L, (lam, xi), beta, graph_terms=own)  # (2)

    def _solve(self, F: Free, data: Data, problem: Any, graphs: GraphFacts, chosen: Settings) -> Solution:
        X, beta, dtype = problem.X, problem.beta, data.X.dtype
        if beta == 1:  # X takes no part, so that the eigenvalues crowd at 0
            return super()._solve(F, data, problem, graphs, chosen)
        L = (beta / problem.scales[1] * problem.L).astype(dtype)
        share = dtype.type(1 - beta)  # a number in the precision of X, so that products stay in it
        G = symmetric(data.n, lambda V: share * (V - X @ (X.T @ V)) + L @ V, dtype)
        # The terms of (2) have the largest eigenvalues 1 - beta and beta.
        found = solve(G, None, self.n_components, deflate=np.ones((data.n, 1)), bound=1.0)
        return found._replace(scale=1.0)

    def _store(self, data: Data, F: Free, problem: Any, graphs: GraphFacts, found: Solution) -> None:
        super()._store(data, F, problem, graphs, found)
        (lam, xi), beta = self.scales_, self.beta_ = problem.scales, problem.beta
        self.alpha_ = np.inf if beta == 1 else beta / (1 - beta) * lam / xi
        self._median_degree = float(np.median(problem.L.diagonal()))
        mean, Q = data.mean(), self.embedding_.astype(np.float64)
        blocks = [np.arange(rows.start, rows.stop) for rows in row_blocks(data.n, data.d)]
        U = sum(Q[rows].T @ (data.rows_at(rows) - mean) for rows in blocks)
        self.mean_, self.components_ = mean.astype(data.X.dtype), U.astype(data.X.dtype)
        left = sum(np.sum((data.rows_at(rows) - mean - Q[rows] @ U) ** 2) for rows in blocks)
        self.reconstruction_error_ = float(np.sqrt(left / (data.n * np.sum(data.deviations**2))))

    def _by_links(self, X: np.ndarray, W: sparse.csr_array) -> np.ndarray:
        """A new row of (2): ``((1 - b) + b d / xi - g) q = (1 - b) / lambda U'x + b / xi sum_j w_j q_j`` for eigenvalue g.

        Near and beyond the pole, where the factor on the left is near 0, q is the mean of those of the neighbours.
        """
        beta, (lam, xi), Q = self.beta_, self.scales_, self.embedding_.astype(np.float64)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        pulled = W @ Q
        rows = (SparseData if sparse.issparse(X) else Data)(X.astype(np.float64))
        by_x = rows.project(self.mean_, self.components_)
        left = (1 - beta) + beta / xi * degrees[:, None] - self.eigenvalues_
        typical = (1 - beta) + beta / xi * self._median_degree - self.eigenvalues_
        safe = (typical > 0) & (left > NEAR_POLE * typical)
        placed = ((1 - beta) / lam * by_x + beta / xi * pulled) / np.where(safe, left, 1.0)
        means = pulled / np.where(degrees > 0, degrees, 1.0)[:, None]
        return np.where(safe, placed, means)


def graph_weight(beta: Any, L: sparse.csr_array) -> tuple[float, float]:
    """``beta=`` as a number, and xi, which is 1 where the graph does not attract."""
    if isinstance(beta, bool) or not isinstance(beta, Real) or not 0 <= float(beta) <= 1:
        raise ValueError(f"beta={beta!r} must be a number from 0 (PCA) to 1 (Laplacian eigenmaps)")
    xi = largest_value(L) if L.nnz else 0.0
    if xi > 1e-12 * abs(L).max():
        return float(beta), xi
    if beta:
        raise ValueError("the graph draws no samples together; add one that does, such as KNN(5), or use beta=0")
    return 0.0, 1.0


def symmetric(n: int, apply: Callable[[Any], Any], dtype: Any = np.float64) -> LinearOperator:
    """A symmetric matrix of n rows, by its products."""
    return LinearOperator((n, n), matvec=apply, matmat=apply, dtype=dtype)


def of_unit_norm(data: Data) -> tuple[Array, float]:
    """X less its mean, divided by its largest singular value, and the square of that value, lambda."""
    entries = data.X.data if sparse.issparse(data.X) else data.X
    # X is scaled first, since its squares may leave the range of its precision.
    scale = 1 / (float(max(entries.max(initial=0.0), -entries.min(initial=0.0))) or 1.0)
    mean, dtype = data.mean(), data.X.dtype
    X = scale * data.centred(mean) if sparse.issparse(data.X) else ((data.X - mean) * scale).astype(dtype)
    A, n = (X, data.n) if data.n < data.d else (X.T, data.d)
    value = largest_value(symmetric(n, lambda V: A @ (A.T @ V), dtype))
    if not value > 0:
        raise ValueError("X is constant: all samples are equal, so there is nothing to unfold")
    return X * dtype.type(value**-0.5), value / scale**2


class RobustGLPCA(_Representing):
    r"""Robust graph-Laplacian PCA: :class:`GLPCA` that grossly corrupted samples do not turn.

    .. math:: \min_{U, Q} \sum_i \|x_i - U q_i\| + \alpha \operatorname{tr}(Q^\top L Q)
        \quad\text{subject to}\quad Q^\top Q = I \tag{1}

    for the centred X. The norms of the errors are added up, and not their squares, so that grossly corrupted samples keep
    their corruption as an error. Each step of the augmented Lagrange multipliers is a :class:`GLPCA` of X less the errors
    found so far, and a shrinkage of the errors [1]_. Up to ``rho=1.02`` it only improves the last eigenvectors.

    Parameters
    ----------
    graph
        As in :class:`GLPCA`. The graph is built on X as given, with its corruption.
    beta : float, default=0.5
        How much the graph counts, from 0 to below 1: by the alpha with which the first step is ``GLPCA(beta)``.
    center : {"auto", "mean", "median"}, default="auto"
        What is subtracted from the samples: their mean, which follows corruption to one side, or a centre c that begins with
        the median and is fitted with the rest, by :math:`\|x_i - c - U q_i\|` in (1). ``"auto"`` is ``"median"``, and with
        ``preset="paper"`` ``"mean"``.
    rho : "auto" or float, default="auto"
        The factor by which the penalty of the multipliers grows per step. From about 1.1 on it stops above the optimum, close
        to PCA. ``"auto"`` is 1.02, and with ``preset="paper"`` 1.2.
    max_iter : int, default=1000
        How many steps are taken at most. A warning says where they were not enough.
    tol : float, default=1e-6
        Stop when the errors and the residuals of the representation differ by this share of X.
    ... : As in :class:`GLPCA`

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        The centre, which is subtracted from the samples; with ``center="median"``, the fitted one.
    alpha_ : float
        The weight of the graph in (1) that was used.
    errors_ : ndarray of shape (n_samples, n_features)
        What the representation leaves of each sample. Corrupted samples have long rows.
    objective_, violation_ : float
        The value of (1) at the end, and how much errors and residuals differ there, as a share of X.
    n_iter_ : int
        How many steps were taken. ``eigenvalues_`` and ``certificate_`` are those of the last one, as exact as ``tol`` is.
    ... : As in :class:`GLPCA`, without ``beta_`` and ``scales_``

    References
    ----------
    .. [1] B. Jiang and others, "Graph-Laplacian PCA", CVPR 2013, with the multiplier that its eq. 18 leaves out.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import RobustGLPCA
    >>> rng = np.random.RandomState(0)
    >>> X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 20))
    >>> X[:10] += 10 * rng.standard_normal((10, 20))
    >>> model = RobustGLPCA(2, beta=0.1).fit(X)
    >>> bool((np.linalg.norm(model.errors_[:10], axis=1) > 10).all())
    True
    """

    beta: float = 0.5
    center: str = "auto"
    rho: float | str = "auto"
    max_iter: int = 1000
    tol: float = 1e-6

    about = About("representation", "GLPCA's, with norms in the place of squares", "I")
    _takes_sparse: ClassVar[bool] = False  # errors are dense
    _choices: ClassVar[dict[str, tuple]] = {"center": ("auto", "mean", "median")}
    _rules: ClassVar[Rules] = Rules(paper={"center": "mean", "rho": 1.2})

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(self._terms(data, graphs), identity(data.n))

    def _solve(self, F: Free, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Any:
        k = self.n_components
        check_count("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        rho = RHO if isinstance(self.rho, str) and self.rho == "auto" else check_positive("rho", self.rho)
        if rho <= 1:
            raise ValueError(f"rho={self.rho!r} must be above 1, such as {RHO}")
        if k >= data.n:
            raise ValueError(f"n_components={k} is more than {data.n} samples leave, {data.n - 1}; use fewer")
        L = laplacian_sum(problem.minimise).tosparse()
        centre = data.mean() if self.center == "mean" else np.median(data.X, axis=0).astype(np.float64)
        X = data.X.astype(np.float64) - centre
        mu = 1 / float(np.mean(np.linalg.norm(X, axis=1)))
        beta, xi = graph_weight(self.beta, L)
        if beta == 1:
            raise ValueError(f"beta={beta} leaves nothing of X to represent robustly; use LaplacianEigenmaps, or less")
        alpha = mu / 2 * beta / (1 - beta) * of_unit_norm(Data(X))[1] / xi  # with it the first step is GLPCA(beta)
        state = _Multipliers(X, L, k, alpha, mu, rho, centre, moves=self.center != "mean")
        while not state.violation <= self.tol and state.n_steps < self.max_iter:
            state.step(state.mu * rho if state.n_steps else mu)
        if not state.violation <= self.tol:
            stopped = f"{type(self).__name__} stopped after max_iter={self.max_iter} steps"
            message = f"{stopped} with a violation of {state.violation:.2g}, above tol={self.tol}; raise max_iter"
            warnings.warn(message, ConvergenceWarning, stacklevel=caller_stacklevel())
        return state

    def _store(self, data: Data, F: Free, problem: Problem, graphs: GraphFacts, found: Any) -> None:
        # The steps stop before their eigenvectors are exact, so the certificate holds to the accuracy that they reached.
        reached = max(float(self.tol), found.violation)
        super()._store(data, F, problem, graphs, found.solution._replace(accuracy=reached))
        self.settings_ |= {"center": "mean" if self.center == "mean" else "median", "rho": found.rho}
        dtype, signs = data.X.dtype, np.sign(np.sum(found.Q * fix_signs(found.Q.T).T, axis=0))
        self.mean_, self.alpha_ = (found.centre + found.offset).astype(dtype), found.alpha
        self.components_, self.errors_ = (found.U * signs).T.astype(dtype), found.errors.astype(dtype)
        self.n_iter_, self.violation_, left = found.n_steps, found.violation, found.residual
        pulled = found.alpha * np.sum(found.Q * (found.L @ found.Q))
        self.objective_ = float(np.linalg.norm(left, axis=1).sum() + pulled)
        self.reconstruction_error_ = float(np.linalg.norm(left) / np.linalg.norm(found.X - found.offset))

    def _by_links(self, X: np.ndarray, W: sparse.csr_array) -> np.ndarray:
        """A new row minimises its own part of (1), by reweighting: ``|x - U q| + alpha sum_j w_j |q - q_j|^2``."""
        U, Q = self.components_.astype(np.float64), self.embedding_.astype(np.float64)
        x, degrees = X.astype(np.float64) - self.mean_, np.asarray(W.sum(axis=1)).ravel()
        pulled, gram, k = 2 * self.alpha_ * (W @ Q), U @ U.T, len(U)
        ridge = (2 * self.alpha_ * degrees + 1e-12 * np.trace(gram))[:, None, None] * np.eye(k)
        least = 1e-9 * np.maximum(np.linalg.norm(x, axis=1), np.sqrt(np.trace(gram) / len(Q)))
        weight = 1 / np.maximum(np.linalg.norm(x, axis=1), least)
        for _ in range(50):
            left = weight[:, None, None] * gram + ridge
            q = np.linalg.solve(left, (weight[:, None] * (x @ U.T) + pulled)[..., None])[..., 0]
            weight = 1 / np.maximum(np.linalg.norm(x - q @ U, axis=1), least)
        return q


class _Multipliers:
    """The state of the augmented Lagrangian: rows of X = offset + Q Uᵀ + E, multipliers C, and the last eigenvectors.

    E and C are multiples of the same rows a: eq. 21 is ``E = s a``, and with it eq. 22 is ``C = -mu (1 - s) a``. Where the
    centre ``moves``, the offset is fitted together with U, as the coefficient of the constant vector.
    """

    def __init__(self, X: Any, L: Any, k: int, alpha: float, mu: float, rho: float, centre: Any, moves: bool):
        self.X, self.L, self.alpha, self.rho, self.centre, self.moves = X, L, alpha, rho, centre, moves
        self.offset = np.zeros(X.shape[1])
        self.a, self.s, self.mu = np.zeros_like(X), np.ones((len(X), 1)), mu
        self.Q = solve(self._minimised(X, mu), None, k, deflate=np.ones((len(X), 1)), bound=0.0).vectors
        self.size = np.linalg.norm(X)
        self.violation, self.n_steps = np.inf, 0

    def step(self, mu: float) -> None:
        multiplier = -self.mu / mu * (1 - self.s)  # C / mu = multiplier a
        A = self.X - (self.s + multiplier) * self.a  # eq. 18, with the multiplier
        if self.moves:
            self.offset = A.mean(axis=0)
            A -= self.offset
        self.represented = A
        self._rotate(self._minimised(A, mu))
        self.U = A.T @ self.Q
        self.residual = self.X - self.offset - self.Q @ self.U.T
        self.a = self.residual - multiplier * self.a
        lengths = np.sqrt(np.einsum("ij,ij->i", self.a, self.a))[:, None]
        self.s = np.maximum(1 - 1 / (mu * np.maximum(lengths, 1e-300)), 0)  # eq. 21
        self.errors = self.s * self.a
        self.violation = float(np.linalg.norm(self.errors - self.residual) / self.size)
        self.mu = mu
        self.n_steps += 1

    def _minimised(self, A: np.ndarray, mu: float) -> LinearOperator:
        """The matrix ``2 alpha / mu L - A Aᵀ``."""
        return symmetric(len(A), lambda V: 2 * self.alpha / mu * (self.L @ V) - A @ (A.T @ V))

    @property
    def solution(self) -> Solution:
        """The eigenvectors, and the problem of the last step."""
        n, A = len(self.X), self.represented
        matrix = self._minimised(A, self.mu)
        scale = max(estimate_norm(lambda V: A @ (A.T @ V), n), estimate_norm(matrix.__matmul__, n))
        constant = np.full((n, 1), n**-0.5)
        return Solution(self.values, self.Q, n - 1, "alm", matrix, deflated=constant, scale=scale)

    def _rotate(self, matrix: LinearOperator) -> None:
        """Improve the eigenvectors within the space that they span together with two more products, without the constant."""
        n, k = self.Q.shape
        if self.rho > RHO or 3 * k + ROOM > n:  # in the second case that space would be nearly the whole space
            found = solve(matrix, None, k, deflate=np.ones((n, 1)), bound=0.0)
            self.Q, self.values = found.vectors, found.values
            return
        basis, image = self.Q, matrix @ self.Q
        for _ in range(2):
            new = image[:, -k:]
            for _ in range(2):  # one pass leaves rounding, which matters near the end
                new = new - basis @ (basis.T @ new)
                new = np.linalg.qr(new - new.mean(axis=0))[0]
            basis, image = np.hstack([basis, new]), np.hstack([image, matrix @ new])
        values, vectors = np.linalg.eigh(basis.T @ image)
        self.Q, self.values = basis @ vectors[:, :k], values[:k]


class L21PCA(RobustGLPCA, without=("graph", "beta")):
    r"""PCA that grossly corrupted samples do not turn: :class:`RobustGLPCA` without a graph.

    .. math:: \min_{U, Q} \sum_i \|x_i - U q_i\| \quad\text{subject to}\quad Q^\top Q = I                 \tag{1}

    The norms of the errors are added up, and not their squares, as PCA does [1]_.

    Parameters
    ----------
    ... : As in :class:`RobustGLPCA`

    Attributes
    ----------
    alpha_ : float
        Always 0: there is no graph.
    graph_ : Graph
        Always ``Empty()``: there is no graph.
    n_connected_components_ : int
        The number of samples, none of which is linked to another.

    References
    ----------
    .. [1] B. Jiang, C. Ding, B. Luo and J. Tang, "Graph-Laplacian PCA: closed-form solution and robustness", CVPR 2013.
    """

    about = About("representation", "PCA's, with norms in the place of squares", "I")
    beta = 0.0

    def default_graph(self, n_neighbors: int) -> Graph:
        return Empty()

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(graphs.graph.terms(data), identity(data.n))


class _Variance(LinearReducer):
    """Base of methods that maximise a variance. Directions of little variance do no harm, so none are left out."""

    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energy=1.0, small_energy=1.0, by_form=True)
    _takes_tensors = _takes_weights = _takes_blocks = _takes_sums = False  # the method reads rows one by one

    default_graph: ClassVar[Any] = BINARY

    def _whole_terms(self, data: Data, graphs: GraphFacts) -> list[Term]:
        """The terms of the graph, which must be built on all rows and must not repel."""
        graph = graphs.graph
        if graphs.is_sampled or graphs.repels or not (graph.is_laplacian and graph.is_semidefinite):
            what = f"{type(self).__name__} needs all of a graph that attracts; leave that part out"
            raise ValueError(f"graph={graph!r} repels, has no Laplacian, or samples the rows, and {what}")
        return self._terms(data, graphs)


class GraphPCA(_Variance):
    r"""Principal components of data that are smoothed over a graph, such as spots of a tissue that resemble their neighbours.

    .. math:: \min_{Z, V} \|X - Z V^\top\|^2 + \lambda \operatorname{tr}(Z^\top L Z)
        \quad\text{subject to}\quad V^\top V = I \tag{1}

    for centred X and the Laplacian L of a graph [1]_. Given V, the best coordinates are :math:`Z = (I + \lambda L)^{-1} X V`:

    .. math:: \max_V \operatorname{tr}(V^\top X^\top (I + \lambda L)^{-1} X V) \quad\text{subject to}\quad V^\top V = I \tag{2}

    Parameters
    ----------
    graph : None, int, graph or matrix, default=None
        Which samples should be alike. None is ``KNN(5, weights="binary")`` on X, and an integer k is the same with k neighbours.
        Where samples have places, give a graph of these: a matrix W, or a graph of other columns.
    alpha : float, default=1.0
        How much alike the coordinates of linked samples become, :math:`\lambda` of (1). 0 is PCA.
    pca : As in :class:`LPCA`
    ... : As in :class:`OLPP`, without ``n_samples_seen_`` and ``moments_``

    References
    ----------
    .. [1] J. Yang, L. Wang, L. Liu and X. Zheng, "GraphPCA: a fast and interpretable dimension reduction algorithm for spatial
       transcriptomics data", Genome Biology 25, 2024. https://doi.org/10.1186/s13059-024-03429-x
    """

    alpha: float = 1.0

    about = About("representation", "−(I + αL)⁻¹: PCA of data smoothed over a graph", "orthogonal")
    _bound: ClassVar[float | None] = 0.0

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = self._whole_terms(data, graphs)
        smoothing = identity(data.n) + laplacian_sum(terms) * check_not_negative("alpha", self.alpha)
        R = Structured(data.n, rest=inverse(smoothing.tosparse()))
        return Problem([Term(-1.0, R, identity(data.n))], ORTHOGONAL, graph_terms=terms)  # (2)

    def smoothed(self, X: Any, y: Any = None) -> np.ndarray:
        """The coordinates Z of (1): those of :meth:`transform`, smoothed over the graph of these samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Those of ``fit``, or others, which get a graph of their own.
        y : array-like of shape (n_samples,), default=None
            Labels, where the graph uses them.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        Z = self.transform(X)
        (term,) = self.problem(X, y).minimise
        return (term.laplacian @ Z).astype(Z.dtype)


class MULTISPATI(_Variance):
    r"""Spatial principal components: directions of much variance along which neighbours are alike.

    .. math:: \max_V \frac1n \operatorname{tr}\left(V^\top X^\top \tfrac12 (W + W^\top) X V\right)
        \quad\text{subject to}\quad V^\top V = I \tag{1}

    for centred X and the weights W of a graph, whose rows are scaled to add up to 1 [1]_. Along each direction, the variance
    times the spatial autocorrelation (Moran's I) is maximised: the mean product of a sample and its neighbours.

    Parameters
    ----------
    graph, pca : As in :class:`GraphPCA`
    ... : As in :class:`OLPP`, without ``n_samples_seen_`` and ``moments_``

    References
    ----------
    .. [1] S. Dray, S. Saïd and F. Débias, "Spatial ordination of vegetation data using a generalization of Wartenberg's
       multivariate spatial correlation", Journal of Vegetation Science 19, 2008. https://doi.org/10.3170/2007-8-18312
    """

    about = About(
        "representation", "−(W + Wᵀ)/2n, rows of W adding up to 1: variance that neighbours share", "orthogonal"
    )

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = self._whole_terms(data, graphs)
        degrees = degree_sum(terms)
        d = degrees.diagonal()
        W = (degrees - laplacian_sum(terms)).tosparse()
        W = sparse.diags_array(np.divide(1.0, d, out=np.zeros(data.n), where=d > 0)) @ W
        A = Structured(data.n, sparse=sparse.csr_array(-(W + W.T) / (2 * data.n)))
        return Problem([Term(1.0, A, degrees)], ORTHOGONAL, graph_terms=terms)  # (1)


class ContrastivePCA(Supervised, _Variance, without=("graph", "normalize")):
    r"""Contrastive principal components: what varies in the samples of interest, and not in a background.

    .. math:: \max_V \operatorname{tr}(V^\top (C - \alpha C_b) V) \quad\text{subject to}\quad V^\top V = I           \tag{1}

    with the covariances C of the samples of interest and :math:`C_b` of the background, each about its own mean [1]_.

    Parameters
    ----------
    alpha : float, default=1.0
        How much the background counts. 0 is PCA of the samples of interest.
    background : label, default=None
        The label in y of the background samples; all other known labels are of interest. None is the first in sorted order.
    pca : As in :class:`GraphPCA`
    ... : As in :class:`OLPP`, without ``n_samples_seen_`` and ``moments_``

    References
    ----------
    .. [1] A. Abid, M. J. Zhang, V. K. Bagaria and J. Zou, "Exploring patterns enriched in a dataset with contrastive principal
       component analysis", Nature Communications 9, 2018. https://doi.org/10.1038/s41467-018-04608-8
    """

    alpha: float = 1.0
    background: Hashable | None = None

    about = About("representation", "α C_b − C: variance that is not in a background", "orthogonal")

    def default_graph(self, n_neighbors: int) -> Graph:
        return Complete(among="labelled")

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        alpha, classes = check_not_negative("alpha", self.alpha), data.classes
        labels, known = np.asarray(data.y).ravel().tolist(), classes >= 0
        name: Any = labels[np.argmax(classes == 0)] if self.background is None else self.background
        behind = known & [np.ndim(name) == 0 and bool(label == name) for label in labels]
        if not behind.any():
            found = ", ".join(sorted({str(labels[row]) for row in np.flatnonzero(known)})[:9])
            raise ValueError(f"background={self.background!r} is no label in y, which has {found}")
        interest, background = covariance(known & ~behind), covariance(behind)
        return Problem([interest.scaled(-1.0), background.scaled(alpha)], ORTHOGONAL)  # (1)
