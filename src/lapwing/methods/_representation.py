"""Methods that represent X and follow a graph at once."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..graphs import KNN, Graph, Sample
from ..operators import centred, identity
from ..problem import Problem, laplacian_sum
from ..reducers import FreeReducer
from ..solvers import Solution, solve_free, solve_operator


class GLPCA(FreeReducer):
    r"""Graph-Laplacian PCA: a low-rank representation of X whose coordinates follow a graph.

    .. math::
        \min_{U, Q} \|X - Q U^\top\|_F^2 + \alpha \operatorname{tr}(Q^\top L Q)
        \quad\text{subject to}\quad Q^\top Q = I                                                \tag{1}

    for the centred X. Q are the eigenvectors of the smallest eigenvalues of

    .. math:: G = (1 - \beta)\left(I - \frac{X X^\top}{\lambda}\right) + \beta \frac{L}{\xi}     \tag{2}

    with :math:`\lambda` and :math:`\xi` the largest eigenvalues of :math:`X X^\top` and L, and :math:`U = X^\top Q`
    [1]_. ``beta=0`` is PCA, ``beta=1`` is ``LaplacianEigenmaps(constraint="identity")``. The n x n matrix is never formed.

    Parameters
    ----------
    n_components : int, default=2
    beta : float, default=0.5
        Between 0 and 1: how much the graph counts.
    alpha : float, default=None
        The weight in (1); it takes the place of ``beta``.
    graph : None, int, graph or matrix, default=None
        None is ``KNN(5)``, an integer k is ``KNN(k)``, a matrix W is ``Precomputed(W)``: vectors X and a graph W of their own.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Q. In each column the entry of largest absolute value is positive.
    components_ : ndarray of shape (n_components, n_features)
        U, transposed.
    mean_ : ndarray of shape (n_features,)
    beta_, alpha_ : float
        Both weights; ``alpha_`` is infinite for ``beta=1``.
    eigenvalues_ : ndarray of shape (n_components,)
        Of G, ascending.
    reconstruction_error_ : float
        :math:`\|X - Q U^\top\| / \|X\|`, of the centred X.
    X_fit_, graph_, n_connected_components_, solver_, n_features_in_, feature_names_in_
        As in :class:`LaplacianEigenmaps`.

    References
    ----------
    .. [1] B. Jiang, C. Ding, B. Luo and J. Tang, "Graph-Laplacian PCA: closed-form solution and robustness", CVPR 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import GLPCA
    >>> X = load_digits().data
    >>> model = GLPCA(10, beta=0.5).fit(X)
    >>> model.inverse_transform(model.embedding_).shape
    (1797, 64)
    """

    _n_neighbors: ClassVar[int] = 5

    def __init__(self, n_components: int = 2, *, beta: float = 0.5, alpha: float | None = None, graph: Any = None):
        self.n_components = n_components
        self.beta = beta
        self.alpha = alpha
        self.graph = graph

    # New samples have one equation, (2), and so one place.
    extension: str = "nystrom"
    _extensions: ClassVar[tuple[str, ...]] = ("nystrom",)

    def _default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors)

    def _problem(self, sample: Sample) -> Problem:
        return Problem(self._terms(sample), identity(sample.n))  # (1)

    def _solution(self, sample: Sample, problem: Problem, graph: Graph, k: int) -> Solution:
        L = laplacian_sum(problem.minimise).tosparse()
        X = centred(sample.X, sample.mean)
        lam, xi = _largest_square(X), _largest(L)
        beta = self._resolved_beta(lam, xi)
        self._scales = (beta, lam, xi)
        if beta == 1:  # no longer a matter of X, and the eigenvalues crowd at 0
            found = solve_free(L, np.ones(sample.n), k, crowded=sample.X.shape[1] <= 3)
            return found._replace(values=found.values / xi)

        def apply(v: np.ndarray) -> np.ndarray:  # I - G
            return beta * v + (1 - beta) / lam * (X @ (X.T @ v)) - beta / xi * (L @ v)

        return solve_operator(apply, sample.n, k)

    def _resolved_beta(self, lam: float, xi: float) -> float:
        if self.alpha is None:
            if isinstance(self.beta, bool) or not isinstance(self.beta, Real) or not 0 <= float(self.beta) <= 1:
                raise ValueError(f"beta={self.beta!r} must be a number from 0 (PCA) to 1 (Laplacian eigenmaps)")
            return float(self.beta)
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real) or not 0 <= float(self.alpha) < np.inf:
            raise ValueError(f"alpha={self.alpha!r} must be None or a finite number, 0 or more")
        return float(self.alpha) * xi / (lam + float(self.alpha) * xi)

    def _store(self, sample: Sample) -> None:
        X, Q = centred(sample.X, sample.mean), self.embedding_.astype(np.float64)
        beta, lam, xi = self._scales
        self.beta_, self.alpha_ = beta, np.inf if beta == 1 else beta / (1 - beta) * lam / xi
        self._xi, self._lam = xi, lam
        self.mean_ = sample.mean.astype(sample.X.dtype)
        U = np.asarray(X.T @ Q)
        self.components_ = U.T.astype(sample.X.dtype)
        total = np.sum(sample.norms**2) - sample.n * (sample.mean @ sample.mean)
        self.reconstruction_error_ = float(np.sqrt(max(total - np.sum(U**2), 0.0) / total))
        own = (1 - beta) + beta / xi * self._degrees(sample) if beta else np.full(sample.n, 1.0)
        self._safe = 0.05 * np.median(own[:, None] - self.eigenvalues_, axis=0)

    def _degrees(self, sample: Sample) -> np.ndarray:
        return np.sum([t.coefficient * t.laplacian.diagonal() for t in self._terms(sample)], axis=0)

    def _extended(self, X: np.ndarray) -> np.ndarray:
        if self.beta_ == 0:
            return self._by_links(X, sparse.csr_array((len(X), len(self.X_fit_))))
        return self._by_links(X, self.graph_.links(self._both(X)))

    def _by_links(self, X: np.ndarray, W: sparse.csr_array) -> np.ndarray:
        """A new row of (2): ``((1 - b) + b d / xi - g) q = (1 - b) / lambda U'x + b / xi sum_j w_j q_j`` for eigenvalue g.

        Where the factor on the left is near 0 the equation has a pole, and q is the mean of the neighbours'.
        """
        beta, Q = self.beta_, self.embedding_.astype(np.float64)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        pulled = W @ Q
        by_x = (X - self.mean_).astype(np.float64) @ self.components_.T.astype(np.float64)
        left = (1 - beta) + beta / self._xi * degrees[:, None] - self.eigenvalues_
        safe = left > self._safe
        placed = ((1 - beta) / self._lam * by_x + beta / self._xi * pulled) / np.where(safe, left, 1.0)
        means = pulled / np.where(degrees > 0, degrees, 1.0)[:, None]
        return np.where(safe, placed, means)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """``X @ components_ + mean_``; of the fitted coordinates, the denoised data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.components_):
            raise ValueError(f"X has {X.shape[1]} columns, but there are {len(self.components_)} components")
        return X @ self.components_ + self.mean_


def _largest_square(X: LinearOperator) -> float:
    """The largest eigenvalue of XᵀX."""
    gram = X.T @ X if X.shape[1] <= X.shape[0] else X @ X.T
    return _largest(gram)


def _largest(A: Any) -> float:
    n = A.shape[0]
    if n <= 2:
        return float(np.linalg.eigvalsh(A @ np.eye(n)).max())
    start = np.random.RandomState(0).standard_normal(n)
    return float(eigsh(A, k=1, which="LA", v0=start, tol=1e-12, return_eigenvectors=False)[0])
