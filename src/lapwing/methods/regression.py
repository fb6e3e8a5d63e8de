"""The method that finds the coordinates of a graph first, and then regresses them on the features."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.linear_model import ElasticNet

from .._validation import check_count, check_not_negative
from ..auto import GraphFacts, Settings
from ..data import Data
from ..graphs import KNN, Graph
from ..maps import Coordinates
from ..operators import diagonal
from ..problem import Problem
from ..reducers import Found, LinearReducer
from .about import About
from .documents import graph_vectors, ridge_regression
from .locality import NEIGHBORS

TIED = 1e-9  # eigenvalues of a graph, which are at most 2, count as equal where they differ by no more than this


class SpectralRegression(LinearReducer):
    r"""Spectral regression: the coordinates that a graph gives, as functions of few features or of all.

    .. math::
        L y = \lambda D y, \qquad
        \min_v \sum_i D_{ii} (v^\top x_i - y_i)^2 + \rho \|v\|^2 + 2 \mu \|v\|_1                            \tag{1}

    First the eigenvectors y of the graph are found, as in :class:`LaplacianEigenmaps`. Then each of them is regressed on the
    centred features [1]_. No matrix of features is decomposed, and a lasso makes directions of few features [2]_. Without
    penalties it is :class:`LPP` where the features can express y exactly, as where there are more of them than samples.

    Parameters
    ----------
    n_components : int, default=2
        How many directions to find.
    graph
        As in :class:`LPP`. None is ``KNN(5)``, and an integer k is ``KNN(k)``. ``"supervised"`` is ``SameClass()``, and
        ``"semi"`` adds ``SameClass()`` to the graph of None.
    ridge : float, default=0.01
        How strongly the regression is kept from overfitting: :math:`\rho` of (1), in units of the mean eigenvalue of
        :math:`X^\top D X`. It must be above 0.
    lasso : float, default=0.0
        How few features the directions have, from 0 (all of them) to less than 1: :math:`\mu` of (1) for each y, as a share
        of the smallest one that leaves no feature at all. Where eigenvalues are equal, as all those of ``graph="supervised"``
        are, y is known only up to a rotation, and which features are left depends on the rotation that the solver has found.
    normalize : {"auto", None, "degree", "trace"}, default="auto"
        As in :class:`LPP`.
    standardize
        As in :class:`LPP`. A lasso treats all features alike, so columns in different units should be standardised.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, v of (1), one per row. With a lasso, most entries are 0.
    mean_, scale_, explained_ratio_
        As in :class:`LPP`.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the graph, in ascending order.
    rank_ : None
        Always None: no matrix of features is decomposed.
    n_pca_ : None
        Always None: there is no projection on principal directions.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.

    See Also
    --------
    LPI : The same for documents, with a graph of cosines.

    References
    ----------
    .. [1] D. Cai, X. He and J. Han, "Spectral regression for efficient regularized subspace learning", International Conference
       on Computer Vision, 2007. https://doi.org/10.1109/ICCV.2007.4408855
    .. [2] D. Cai, X. He and J. Han, "Spectral regression: a unified approach for sparse subspace learning", International
       Conference on Data Mining, 2007. https://doi.org/10.1109/ICDM.2007.89

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import SpectralRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SpectralRegression(9, graph="supervised", lasso=0.3).fit(X, y)
    >>> bool((model.components_ != 0).mean() < 0.5)
    True
    """

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN
    _takes_tensors: ClassVar[bool] = False
    _takes_weights: ClassVar[bool] = False  # the method reads rows one by one
    _takes_blocks: ClassVar[bool] = False
    _samples_rows: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        ridge: float = 0.01,
        lasso: float = 0.0,
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        self.n_components = n_components
        self.graph = graph
        self.ridge = ridge
        self.lasso = lasso
        self.normalize = normalize
        self.standardize = standardize
        self.verbose = verbose

    # The graph has the matrices of every estimator that has none of its own: Reducer._problem.

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Coordinates:
        check_count("n_components", self.n_components)
        if check_not_negative("ridge", self.ridge) == 0:
            raise ValueError(
                "ridge=0 leaves the regression without an answer where features are dependent; use ridge > 0"
            )
        if isinstance(self.lasso, bool) or not (isinstance(self.lasso, Real) and 0 <= float(self.lasso) < 1):
            raise ValueError(f"lasso={self.lasso!r} must be a number from 0 to less than 1")
        if graphs.is_sampled:
            raise ValueError(
                f"graph={graphs.graph!r} searches for a sample of the rows, whose eigenvectors say nothing of the others; leave "
                "queries out, or use LPP"
            )
        mean = data.mean(problem.degrees)
        return Coordinates(data, mean, np.transpose, mean)

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
        """Find the eigenvectors y of the graph. The way back from them to features is the regression of (1)."""
        d = problem.degrees
        assert d is not None
        graph = graph_vectors(problem, self.n_components, graphs.graph.is_semidefinite)
        trace = float(np.sum(F.form_diagonal(diagonal(d))))
        if trace <= 0:
            raise ValueError("X is constant: all samples are equal, so there is nothing to regress on")
        rho = float(self.ridge) * trace / min(data.n, data.d)
        if self.lasso:
            V = _elastic_net(F, d, _turned(graph.vectors, graph.values), rho, float(self.lasso))
        else:
            V = ridge_regression(F, d, graph.vectors, rho)
        return Found(F._replace(back=lambda _: V.T), (None, None), graph, chosen)

    def _store(self, data: Data, F: Coordinates, problem: Problem, graphs: GraphFacts, found: Found) -> None:
        super()._store(data, F, problem, graphs, found)
        self.rank_ = None  # that of the graph says nothing of the features


def _elastic_net(F: Coordinates, d: np.ndarray, Y: np.ndarray, rho: float, share: float) -> np.ndarray:
    """One regression per column of Y, on the rows that have a degree above 0."""
    rows = np.flatnonzero(d)
    X, weights, total = F.data.X[rows], d[rows], d.sum()
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    # With this lasso, or a larger one, no feature is left.
    largest = np.abs(F.data.centred(F.mean).T @ (d[:, None] * Y)).max(axis=0) / total
    found = []
    for y, most in zip(Y[rows].T, largest, strict=True):
        lasso, ridge = share * most, rho / total
        model = ElasticNet(alpha=lasso + ridge, l1_ratio=lasso / (lasso + ridge), tol=1e-8, max_iter=100_000)
        found.append(model.fit(X, y, sample_weight=weights).coef_)
    return np.array(found).T


def _turned(Y: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Eigenvectors of equal eigenvalues, turned so that the first rows that tell them apart lie along axes.

    Any rotation of these is as good, and solvers on other machines find another one. A lasso, unlike a ridge, sees the
    difference. Classes give vectors as by orthogonalising their indicators in the order of the rows [2]_.
    """
    Y = Y.copy()
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > TIED)
    for tied in map(slice, starts, [*starts[1:], values.size]):
        rest, axes = Y[:, tied].copy(), []
        for _ in range(rest.shape[1]):
            lengths = np.linalg.norm(rest, axis=1)
            axis = rest[np.argmax(lengths > lengths.max() / 2)]
            axes.append(axis / np.linalg.norm(axis))
            rest -= np.outer(rest @ axes[-1], axes[-1])
        Y[:, tied] = Y[:, tied] @ np.array(axes).T
    return Y
