"""Semi-nonnegative factorisation, which the tables of graph-Laplacian PCA compare with."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear, nnls
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validation import check_choice, check_clusters, check_count, check_not_negative

__all__ = ["SemiNMF"]


class SemiNMF(ClusterMixin, BaseEstimator):
    r"""Semi-nonnegative matrix factorisation: a soft k-means for data of either sign.

    .. math:: \min_{F, G} \|X - G F^\top\|_F^2 \quad\text{subject to}\quad G \ge 0                      \tag{1}

    with F free. In turn F is the least-squares solution, and

    .. math::
        G_{ik} \leftarrow G_{ik}
        \sqrt{\frac{(X F)^+_{ik} + [G (F^\top F)^-]_{ik}}{(X F)^-_{ik} + [G (F^\top F)^+]_{ik}}}        \tag{2}

    where :math:`A^\pm = (|A| \pm A) / 2`; neither step raises (1) [1]_. In the end G is solved for exactly. X is not centred.

    Parameters
    ----------
    n_clusters : int, default=8
    max_iter : int, default=1000
    tol : float, default=1e-5
        Stop when a step lowers (1) by no more than this share of :math:`\|X\|^2`.
    init : {"kmeans", "random"} or array-like of shape (n_samples, n_clusters), default="kmeans"
        The first G: the clusters of k-means as 0 and 1, plus 0.2 [1]_; uniform numbers; or a matrix, not negative. An entry that
        begins at 0 stays there until the last step.
    n_init : int, default=1
        Starts, of which the one with the smallest (1) is kept. A matrix is one start.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The column of the largest weight of each sample.
    weights_ : ndarray of shape (n_samples, n_clusters)
        G, each column of length 1. (1) leaves that scale open, and :attr:`labels_` depend on it.
    components_ : ndarray of shape (n_clusters, n_features)
        F, transposed.
    reconstruction_err_ : float
        :math:`\|X - G F^\top\|_F`.
    loss_curve_ : ndarray of shape (n_iter,)
        (1) after each step; never rising.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] C. Ding, T. Li and M. I. Jordan, "Convex and semi-nonnegative matrix factorizations", IEEE Transactions on Pattern
       Analysis and Machine Intelligence 32, 2010. https://doi.org/10.1109/TPAMI.2008.277

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing_papers.factorisation import SemiNMF
    >>> from lapwing.metrics import clustering_accuracy
    >>> X, y = make_blobs(200, 10, centers=4, random_state=0)
    >>> clustering_accuracy(y, SemiNMF(4, random_state=0).fit_predict(X))
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_iter: int = 1000,
        tol: float = 1e-5,
        init: Any = "kmeans",
        n_init: int = 1,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SemiNMF:
        """Factorise X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self
        """
        self.__dict__.pop("labels_", None)  # bad input leaves it unfitted
        X = validate_data(self, X, dtype=np.float64)
        with np.errstate(over="ignore"):
            if X.any() and not 1e-280 < np.vdot(X, X) < np.inf:
                raise ValueError(
                    "X has values so large or so small that their squares leave the range of floating point; scale X first"
                )
        check_count("max_iter", self.max_iter)
        check_not_negative("tol", self.tol)
        found = [self._factorised(X, G) for G in self._starts(X)]
        F, losses, converged = min(found, key=lambda one: one[1][-1])
        if not converged:
            warnings.warn(
                f"SemiNMF stopped after max_iter={self.max_iter} steps, the last of which lowered the objective by more than "
                f"tol={self.tol} of the squares of X; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.loss_curve_, self.n_iter_ = np.array(losses), len(losses)
        G = _best_weights(X, F)
        lengths = np.linalg.norm(G, axis=0)
        lengths[lengths == 0] = 1.0  # a component that no sample has
        self.weights_, self.components_ = G / lengths, (F * lengths).T
        self.reconstruction_err_ = float(np.linalg.norm(X - self.weights_ @ self.components_))
        self.labels_ = self.weights_.argmax(axis=1)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each row: the largest of its weights by nonnegative least squares on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return _best_weights(X, self.components_.T).argmax(axis=1)

    def _starts(self, X: np.ndarray) -> list[np.ndarray]:
        n, k = len(X), check_clusters(self.n_clusters, len(X))
        n_init = check_count("n_init", self.n_init)
        if np.iterable(self.init) and not isinstance(self.init, str):
            return [self._given(n, k)]
        check_choice("init", self.init, ("kmeans", "random"))
        random = check_random_state(self.random_state)
        if self.init == "random":
            return [random.uniform(size=(n, k)) for _ in range(n_init)]
        clusters = [KMeans(k, n_init=1, random_state=random).fit_predict(X) for _ in range(n_init)]
        return [np.eye(k)[labels] + 0.2 for labels in clusters]

    def _given(self, n: int, k: int) -> np.ndarray:
        G = check_array(self.init, dtype=np.float64, input_name="init")
        if G.shape != (n, k) or G.min() < 0:
            raise ValueError(
                f"init of shape {G.shape} with smallest entry {G.min():.3g} must be of shape {(n, k)}, samples by clusters, and "
                'not negative; or use init="kmeans"'
            )
        return G

    def _factorised(self, X: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, list[float], bool]:
        """F, (1) after each step, and whether the last step was small enough."""
        F, losses = _best_components(X, G), [np.inf]
        enough = self.tol * np.sum(X**2)
        while len(losses) <= self.max_iter:
            G = _stepped(X, F, G)
            F = _best_components(X, G)
            losses.append(float(np.sum((X - G @ F.T) ** 2)))
            if losses[-2] - losses[-1] <= enough:
                return F, losses[1:], True
        return F, losses[1:], False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")


def _best_components(X: np.ndarray, G: np.ndarray) -> np.ndarray:
    """F of (1) for a given G."""
    return np.linalg.lstsq(G, X, rcond=None)[0].T


def _stepped(X: np.ndarray, F: np.ndarray, G: np.ndarray) -> np.ndarray:
    """(2); a weight on which nothing pulls keeps its value."""
    XF, FF = X @ F, F.T @ F
    above = np.maximum(XF, 0) + G @ np.maximum(-FF, 0)
    below = np.maximum(-XF, 0) + G @ np.maximum(FF, 0)
    return G * np.sqrt(np.divide(above, below, out=np.ones_like(G), where=below > 0))


def _best_weights(X: np.ndarray, F: np.ndarray) -> np.ndarray:
    """G of (1) for a given F: a small problem a row, in coordinates of the space that F spans."""
    Q, R = np.linalg.qr(F)
    return np.array([_not_negative(R, x) for x in X @ Q])


def _not_negative(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    try:
        return nnls(R, x)[0]
    except RuntimeError:  # SciPy 1.13 goes round in circles where R is wide
        return lsq_linear(R, x, bounds=(0, np.inf), method="bvls").x
