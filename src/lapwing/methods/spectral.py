"""Methods that find coordinates of the samples of a graph, and may regress them on the features: of documents, too."""

from __future__ import annotations

import warnings
from copy import copy
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.linear_model import ElasticNet

from .._validation import caller_stacklevel, check_below_one, check_count, check_not_negative
from ..auto import GraphFacts, Rules, Settings
from ..data import Data
from ..graphs import KNN
from ..maps import Coordinates, Free
from ..operators import diagonal, identity, laplacian
from ..problem import Problem, Term, degree_sum, laplacian_sum
from ..reducers import Found, FreeReducer, LinearReducer
from ..solvers import Solution, fix_signs, single_blas_thread, solve
from .locality import NEIGHBORS, About

TOLERANCE = 1e-12  # conjugate gradients stop at this share of the right-hand side
MOST_STEPS = 2000  # or fail after so many steps
EXPRESSED = 1e-5  # terms express the eigenvectors of the graph where a regression without a ridge misses them by less
TIED = 1e-9  # eigenvalues of a graph, which are at most 2, count as equal where they differ by no more than this


class LaplacianEigenmaps(FreeReducer):
    r"""Laplacian eigenmaps: coordinates that vary least along the edges of a graph.

    .. math:: \min_Y \operatorname{tr}(Y^\top L Y) \quad\text{subject to}\quad Y^\top B Y = I,\ Y^\top B 1 = 0     \tag{1}

    L is the Laplacian of the graph, and B is either D, its degrees [1]_ (the relaxed normalised cut), or I (the ratio cut).
    Only the constant is left out, so that on a graph in several pieces the first coordinates tell the pieces apart.

    Parameters
    ----------
    n_components : int, default=2
        How many coordinates each sample gets.
    constraint : {"degree", "identity"}, default="degree"
        What B of (1) is: the degrees of the graph, which gives samples with many links a larger say, or the identity.
    extension : {"nystrom", "barycentric", "affine"}, default="nystrom"
        How :meth:`transform` places a new sample. ``"barycentric"`` takes the weights that best reconstruct it from its nearest
        fitted samples, and ``"affine"`` the affine map from the tangent coordinates of these to their embedding.

        ``"nystrom"`` links it to the fitted samples by the graph, and places it where its own row of the eigenproblem holds.
    normalize : {"auto", None, "degree"}, default="auto"
        How much each graph counts where ``graph=`` adds up several, as in :class:`LPP`.
    ... : As in :class:`LPP`

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the fitted samples. In each column, the entry of largest absolute value is positive.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The fitted samples, which :meth:`transform` searches for neighbours.
    graph_ : Graph
        The graph that was used, with the values that it took from the data, such as the heat width, written out.
    eigenvalues_, n_connected_components_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.

    References
    ----------
    .. [1] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation", Neural
       Computation 15, 2003. https://doi.org/10.1162/089976603321780317
    """

    constraint: str = "degree"
    extension: str = "nystrom"

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN
    n_neighbors: ClassVar[int] = 5
    _choices: ClassVar[dict] = FreeReducer._choices | {"extension": ("nystrom", "barycentric", "affine")}
    _choices |= {"constraint": ("degree", "identity")}
    _crowded: ClassVar[bool] = False
    _takes_tensors: ClassVar[bool] = True

    # Equation (1) is the problem of every estimator that has none of its own: Reducer._problem.

    def _extended(self, X: np.ndarray) -> np.ndarray:
        """Solve for the coordinates y of a new row of weights w and degree d, given those of the fitted rows, Y.

        For an eigenvalue l it is d y - w'Y = l d y, with l y on the right under B = I, and no d on the left for similarities.
        """
        if self.extension != "nystrom":
            return super()._extended(X)
        W = self._links(X)
        if self.graph_.is_laplacian:
            return self._by_links(X, W)
        priced = [c * leaf for c, leaf in self.graph_.signed() if c > 0 and leaf.is_laplacian]
        return self._by_links(X, W, self._links(X, sum(priced[1:], start=priced[0])) if priced else None)

    def _by_links(self, X: np.ndarray, W: sparse.csr_array, laplacian: sparse.csr_array | None = None) -> np.ndarray:
        """Place new rows by all their links W, and by the part of these links that belongs to Laplacians."""
        degrees = np.asarray(W.sum(axis=1)).ravel()
        own = degrees if self.graph_.is_laplacian else np.zeros(degrees.size)
        own = own if laplacian is None else np.asarray(laplacian.sum(axis=1)).ravel()
        means = (W @ self.embedding_.astype(np.float64)) / np.where(degrees > 0, degrees, 1.0)[:, None]
        share = np.divide(own, degrees, out=np.ones_like(own), where=degrees > 0)[:, None]
        per = 1.0 if self.constraint == "degree" else np.where(degrees > 0, degrees, np.inf)[:, None]
        share = share - self.eigenvalues_ / per
        return means / np.where(share > 1e-6, share, 1.0)  # near its pole, the mean of the linked samples


class DiffusionMaps(LaplacianEigenmaps, without=("constraint",)):
    r"""Diffusion maps: coordinates whose distances are those of a random walk, whatever the density of the samples.

    .. math:: K_{ij} = \frac{W_{ij}}{(q_i q_j)^\alpha}, \quad q_i = \sum_j W_{ij}, \qquad
        P = D^{-1} K, \quad P \psi = \lambda \psi \tag{1}

    with W the weights of a graph, and 1 for i = j, and D the row sums of K [1]_. Sample i is placed at
    :math:`(\lambda_1^t \psi_1(i), \lambda_2^t \psi_2(i), \dots)`, so that distances say how much walks of t steps differ in
    where they end. What is solved is

    .. math:: \min_Y \operatorname{tr}(Y^\top (D - K) Y) / s \quad\text{subject to}\quad
              Y^\top D Y / s = I,\ Y^\top D 1 = 0, \qquad s = \textstyle\sum_i D_{ii}                        \tag{2}

    whose eigenvalues are :math:`1 - \lambda`.

    Parameters
    ----------
    graph
        As in :class:`LPP`. None is ``KNN(15)``, and an integer k is ``KNN(k)``.
    alpha : float, default=1.0
        As in :class:`DensityCorrected`.
    n_steps : int, default=1
        How many steps the random walk takes, t. The more steps, the less differences on a small scale count.
    ... : As in :class:`LaplacianEigenmaps`

    Attributes
    ----------
    density_ : ndarray of shape (n_samples,)
        The density q of (1) at each fitted sample.

    References
    ----------
    .. [1] R. R. Coifman and S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis 21, 2006.
       https://doi.org/10.1016/j.acha.2006.04.006
    """

    alpha: float = 1.0
    n_steps: int = 1

    about = About("neighbours", "L of a neighbour graph, the density divided out", "its D, links to oneself included")
    n_neighbors: ClassVar[int] = 15
    constraint = "degree"

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        alpha = check_not_negative("alpha", self.alpha)
        check_count("n_steps", self.n_steps, 0)
        W = self._steps(data, graphs)
        density = np.asarray(W.sum(axis=1)).ravel()
        thinned = sparse.diags_array(density**-alpha)
        L, D = laplacian(sparse.csr_array(thinned @ W @ thinned))
        degrees = D.diagonal()
        if not np.isfinite(degrees).all() or (degrees[density > 0] == 0).any():
            raise ValueError(f"alpha={self.alpha!r} is too large: densities to this power leave the range of numbers")
        share = 1 / degrees.sum()
        return Problem([Term(1.0, L * share, D * share)], D * share)  # (2)

    def _steps(self, data: Data, graphs: GraphFacts) -> sparse.csr_array:
        """The weights of the steps of a random walk, which may also stay where it is."""
        terms = self._terms(data, graphs)
        if not graphs.graph.is_laplacian or any(term.coefficient < 0 for term in terms):
            raise ValueError(f"graph={graphs.graph!r} repels, or has no weights for a random walk; leave that part out")
        D = degree_sum(terms)
        return (D - laplacian_sum(terms) + identity(D.n)).tosparse()

    def _store(self, data: Data, F: Free, problem: Problem, graphs: GraphFacts, found: Solution) -> None:
        super()._store(data, F, problem, graphs, found)
        placed = (1 - found.values) ** self.n_steps * found.vectors  # (1)
        self.embedding_ = fix_signs(placed.T).T.astype(data.X.dtype)
        self.density_ = np.asarray(self._steps(data, graphs).sum(axis=1)).ravel()

    def _by_links(self, X: np.ndarray, W: sparse.csr_array, laplacian: sparse.csr_array | None = None) -> np.ndarray:
        """Divide the density out of the links. The density at the new row is the same for all its links, so that it cancels."""
        return super()._by_links(X, sparse.csr_array(W @ sparse.diags_array(self.density_ ** -float(self.alpha))))


class SpectralRegression(LinearReducer, without=("pca", "center")):
    r"""Spectral regression: the coordinates that a graph gives, as functions of few features or of all.

    .. math:: L y = \lambda D y, \qquad \min_v \sum_i D_{ii} (v^\top x_i - y_i)^2 + \rho \|v\|^2 + 2 \mu \|v\|_1 \tag{1}

    First the eigenvectors y of the graph are found, as in :class:`LaplacianEigenmaps`. Then each of them is regressed on the
    centred features [1]_, where a lasso makes directions of few features [2]_. Without penalties it is :class:`LPP` where the
    features can express y exactly, as where there are more of them than samples.

    Parameters
    ----------
    n_components : As in :class:`LPI`
    ridge : float, default=0.01
        How strongly the regression is kept from overfitting: :math:`\rho` of (1), in units of the mean eigenvalue of
        :math:`X^\top D X`. It must be above 0.
    lasso : float, default=0.0
        How few features the directions have, from 0 (all of them) to less than 1: :math:`\mu` of (1) for each y, as a share of
        the smallest one that leaves no feature at all. Eigenvectors of equal eigenvalues, as those of ``"supervised"``, are
        turned so that the first rows that they tell apart lie along axes.
    standardize
        As in :class:`LPP`. A lasso treats all features alike, so columns in different units should be standardised.
    ... : As in :class:`LPP`, without ``n_samples_seen_`` and ``moments_``

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, v of (1), one per row. With a lasso, most entries are 0.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the graph, in ascending order.
    rank_, n_pca_ : None
        Always None: no matrix of features is decomposed, or projected on principal directions.

    References
    ----------
    .. [1] D. Cai, X. He and J. Han, "Spectral regression for efficient regularized subspace learning", ICCV, 2007.
       https://doi.org/10.1109/ICCV.2007.4408855
    .. [2] D. Cai, X. He and J. Han, "Spectral regression: a unified approach for sparse subspace learning", ICDM, 2007.
       https://doi.org/10.1109/ICDM.2007.89

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import SpectralRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SpectralRegression(9, graph="supervised", lasso=0.3).fit(X, y)
    >>> bool((model.components_ != 0).mean() < 0.5)
    True
    """

    n_components: int = 2
    ridge: float = 0.01
    lasso: float = 0.0

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN
    _takes_tensors = _takes_weights = _takes_blocks = _takes_sums = False  # the method reads rows one by one
    # The graph has the matrices of every estimator that has none of its own: Reducer._problem.

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Coordinates:
        check_count("n_components", self.n_components)
        if check_not_negative("ridge", self.ridge) == 0:
            raise ValueError("ridge=0 leaves the regression without an answer of dependent features; use ridge > 0")
        check_below_one("lasso", self.lasso)
        if graphs.is_sampled:
            raise ValueError(f"graph={graphs.graph!r} samples the rows; leave queries out, or use LPP")
        mean = data.mean(problem.degrees)
        return Coordinates(data, mean, np.transpose, mean)

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
        """Find the eigenvectors y of the graph. The way back from them to features is the regression of (1)."""
        d = np.asarray(problem.degrees)
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


def _elastic_net(F: Coordinates, d: np.ndarray, Y: np.ndarray, rho: float, share: float) -> np.ndarray:
    """One regression per column of Y, in which rows count by their degrees."""
    X, total, found = F.data.X.astype(np.float64), d.sum(), []
    # With this lasso, or a larger one, no feature is left.
    largest = np.abs(F.data.centred(F.mean).T @ (d[:, None] * Y)).max(axis=0) / total
    for y, most in zip(Y.T, largest, strict=True):
        lasso, ridge = share * most, rho / total
        model = ElasticNet(alpha=lasso + ridge, l1_ratio=lasso / (lasso + ridge), tol=1e-8, max_iter=100_000)
        found.append(model.fit(X, y, sample_weight=d).coef_)
    return np.array(found).T


def _turned(Y: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Eigenvectors of equal eigenvalues, turned so that the first rows that tell them apart lie along axes.

    A lasso, unlike a ridge, sees how they are turned. Classes give vectors as by orthogonalising their indicators [2]_.
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


class LPI(LinearReducer, without=("pca", "center", "standardize")):
    r"""Locality Preserving Indexing: :class:`LPP` for documents.

    Documents are rows of term counts or weights, such as tf-idf, scaled to unit length. A graph links each document to the
    nearest ones by the cosine, which is the weight of the link [1]_. Two problems are solved one after the other:

    .. math:: L y = \lambda D y, \qquad (X^\top D X + \rho I)\, a = X^\top D y                             \tag{1}

    The first finds one coordinate y per document: an eigenvector of the graph of Laplacian L and degrees D. The second is a ridge
    regression of y on the terms X, centred by their mean weighted by D, whose coefficients a place new documents. With
    ``ridge=0``, or ``preset="paper"``, it is the problem that the thesis prints (5.1), :class:`LPP` of these documents,

    .. math:: X^\top L X a = \lambda X^\top D X a                                                     \tag{2}

    For linearly independent documents both are the same without a ridge (Proposition 2 of the thesis). A document without a
    term has no links and is placed at 0, with a warning. With a sampled graph, ``KNN(..., queries=20_000)``, the directions are
    those of :class:`LPP` with its ridge, found from the documents that have links.

    Parameters
    ----------
    n_components : int, default=2
        How many directions to find.
    graph
        As in :class:`LPP`. None is ``KNN(15, metric="cosine", weights="dot")``, and an integer k is the same with k neighbours.
    ridge : "auto" or float, default="auto"
        How strongly the regression is kept from overfitting: :math:`\rho` of (1), in units of
        :math:`\operatorname{tr}(X^\top D X) / \min(n, d)`. 0 solves (2). ``"auto"`` is 10, chosen on held-out
        documents, and 0 with ``preset="paper"``.
    scaling : {"auto", "unit", "constraint"}, default="auto"
        How long the directions are: unit vectors, or as (1) gives them. ``"auto"`` is ``"unit"``.
    normalize : As in :class:`LaplacianEigenmaps`
    ... : As in :class:`LPP`, without ``n_samples_seen_`` and ``moments_``

    Attributes
    ----------
    scale_ : None
        Always None: the columns of documents are taken as they are.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the graph, or those of (2) without a ridge, in ascending order.

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, chapter 5.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from lapwing import LPI
    >>> texts = ["the lapwing calls", "a lapwing calls at dusk", "rain at dusk", "rain and wind", "wind in the reeds"]
    >>> make_pipeline(TfidfVectorizer(), LPI(2, graph=2)).fit_transform(texts).shape
    (5, 2)
    """

    n_components: int = 2
    ridge: float | str = "auto"
    scaling: str = "auto"

    about = About("neighbours", "L of cosine neighbours of documents", "D", ("counts",))
    n_neighbors: ClassVar[int] = 15
    _takes_tensors = _takes_blocks = _takes_weights = False  # the regression reads documents one by one, and in memory
    _rules: ClassVar[Rules] = Rules(ridge=10.0, unit_length=True)  # the ridge is from validation splits
    _choices: ClassVar[dict] = {"normalize": ("auto", None, "degree"), "scaling": ("auto", "unit", "constraint")}
    default_graph: ClassVar[Any] = staticmethod(partial(KNN, metric="cosine", weights="dot"))

    def _pose(self, data: Data, graphs: GraphFacts | None = None) -> Any:
        """The problem of the documents that have a term, scaled to unit length."""
        check_count("n_components", self.n_components)
        empty = data.squares == 0
        data = self._without_empty(data, empty) if empty.any() else data
        if data.X.min() < 0:
            message = f"Negative values in data passed to LPI: the least weight of a term is {data.X.min():.3g}"
            raise ValueError(f"{message}; use LPP for other features")
        data.unit.given = data.given
        return super()._pose(data.unit, graphs)

    def _without_empty(self, data: Data, empty: np.ndarray) -> Data:
        """The documents that have a term. An empty document has no direction, and so no neighbours."""
        count, first = int(empty.sum()), int(np.argmax(empty))
        if data.n - count < 2:
            raise ValueError(f"X has {data.n - count} documents with a term (n_features={data.d}), but 2 is the least")
        if (graph := self._graphs(data).graph).indexes_rows:
            empty_ones = f"X has {count} empty documents (the first is row {first})"
            raise ValueError(f"{empty_ones}, and graph={graph!r} knows documents by their row; remove them from both")
        message = f"documents without a term: {count} (the first is row {first}); they are not linked, and placed at 0"
        warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())
        return data.some(~empty)

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Coordinates:
        if graphs.is_sampled or (chosen.ridge == 0 and not data.is_large):
            return super()._map(data, problem, graphs, chosen)
        mean = data.mean(problem.degrees)
        return Coordinates(data, mean, np.transpose, mean)

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
        # Without a ridge, the pencil (2) is solved, or the regression where the pencil is large and both are equal.
        if graphs.is_sampled or (chosen.ridge == 0 and not data.is_large):
            return super()._solve(F, data, problem, graphs, chosen)
        D, pulling = np.asarray(problem.degrees), all(term.coefficient > 0 for term in problem.minimise)
        graph = graph_vectors(problem, self.n_components, pulling)  # the first of (1)
        trace, ridge = float(D.sum() * (1 - F.mean @ F.mean)), chosen.ridge or 0.0  # rows have unit length
        if trace <= 1e-12 * D.sum():
            raise ValueError(f"all documents are the same up to their length (n_features={data.d})")
        rho = ridge * trace / min(data.n, data.d)
        try:
            a = ridge_regression(F, D, graph.vectors, rho)  # the second of (1)
            missed = np.abs(data.centred(F.mean) @ a - graph.vectors).max() if ridge == 0 else 0.0
        except ValueError:
            if ridge:
                raise
            missed = np.inf
        if missed > EXPRESSED * np.abs(graph.vectors).max():
            (data := copy(data)).is_large = False
            return super()._solve(super()._map(data, problem, graphs, chosen), data, problem, graphs, chosen)
        a = a / np.linalg.norm(a, axis=0) if self.scaling != "constraint" else a
        return Found(F._replace(back=lambda _: a.T), (None, None), graph, chosen)

    def _coordinates(self, data: Data) -> Any:
        return data.apply(self._placed, len(self.components_))

    def _placed(self, data: Data) -> np.ndarray:
        """The coordinates of documents, 0 for an empty one."""
        placed = data.unit.project(self.mean_, self.components_)
        placed[data.squares == 0] = 0.0
        return placed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def graph_vectors(problem: Problem, k: int, semidefinite: bool) -> Solution:
    """The eigenvectors of the graph itself, without the constant."""
    L = laplacian_sum(problem.minimise)
    A = L.operator() if L.factors else L.tosparse()
    return solve(A, problem.degrees, k, deflate=np.ones((L.n, 1)), semidefinite=semidefinite)


def ridge_regression(F: Coordinates, D: np.ndarray, Y: np.ndarray, rho: float) -> np.ndarray:
    """The a that solves (Zᵀ D Z + rho) a = Zᵀ D y, with Z centred, by conjugate gradients on the smaller side of X.

    Threads share the columns of Y, each of which has steps of its own.
    """
    Z, roots = F.data.centred(F.mean), np.sqrt(D)[:, None]

    def regressed(Y: np.ndarray) -> np.ndarray:
        if Z.shape[0] > Z.shape[1]:
            return conjugate_gradients(lambda V: Z.T @ (roots**2 * (Z @ V)) + rho * V, Z.T @ (roots**2 * Y))
        # a = Zᵀ r u with (r Z Zᵀ r + rho) u = r y
        return Z.T @ (roots * conjugate_gradients(lambda U: roots * (Z @ (Z.T @ (roots * U))) + rho * U, roots * Y))

    groups = np.array_split(Y, min(effective_n_jobs(-1), Y.shape[1]), axis=1)
    with single_blas_thread():
        return np.hstack(Parallel(len(groups), prefer="threads")(delayed(regressed)(group) for group in groups))


def conjugate_gradients(apply: Any, B: np.ndarray) -> np.ndarray:
    """The solution of ``apply(V) = B``, all columns at once. A column that has converged stays as it is."""
    tiny = np.finfo(np.float64).tiny
    solution, residual, direction = np.zeros_like(B), B.copy(), B.copy()
    squares = np.sum(B**2, axis=0)
    target = TOLERANCE**2 * np.maximum(squares, tiny)
    for _ in range(MOST_STEPS):
        if (squares <= target).all():
            return solution
        image = apply(direction)
        step = np.where(squares > target, squares / np.maximum(np.sum(direction * image, axis=0), tiny), 0.0)
        solution += step * direction
        residual -= step * image
        before, squares = squares, np.sum(residual**2, axis=0)
        direction = residual + squares / np.maximum(before, tiny) * direction
    raise ValueError("the regression did not converge; use a larger ridge")
