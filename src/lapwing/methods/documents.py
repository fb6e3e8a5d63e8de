"""The method for documents, which are sparse rows of term weights."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._extras import verbosity
from .._validation import caller_stacklevel, check_count
from ..auto import LARGE_RIDGE, GraphFacts, Rules, Settings
from ..data import Data, validated
from ..graphs import KNN, Graph
from ..maps import Coordinates
from ..problem import Problem, laplacian_sum
from ..reducers import Found, LinearReducer
from ..solvers import Solution, single_blas_thread, solve
from .about import About

# The value of ridge="auto", in units of the constraint's mean eigenvalue: chosen on validation splits (docs/documents.md).
RIDGE = 10.0
TOLERANCE, MOST_STEPS = (
    1e-8,
    2000,
)  # conjugate gradients stop at this share of the right-hand side, or fail after so many steps


class LPI(LinearReducer):
    r"""Locality Preserving Indexing: :class:`LPP` for documents.

    Documents are rows of term counts or weights, such as tf-idf: many columns, most of them zero. The method describes each
    document by a few numbers, so that documents on the same subject are close. Rows are scaled to unit length. A graph links
    each document to the nearest ones by the cosine, and the cosine is the weight of the link [1]_. Then two problems are solved
    one after the other:

    .. math::
        L y = \lambda D y, \qquad (X^\top D X + \rho I)\, a = X^\top D y                             \tag{1}

    L is the Laplacian of the graph and D the diagonal matrix of its degrees. The first problem finds coordinates y, one per
    document, in which linked documents are close: the eigenvectors of the smallest eigenvalues :math:`\lambda`. The second is a
    ridge regression, of strength :math:`\rho`, from the terms X to these coordinates. Its coefficients a, one per term, are a
    direction, by which new documents are placed as well. X is centred by its mean weighted by D.

    For linearly independent documents and without a ridge this is LPP itself (Proposition 2 of the thesis), and it never
    decomposes X. A document without a term has no links and is placed at 0, with a warning.

    With a sampled graph, ``KNN(15, metric="cosine", weights="dot", queries=20_000)``, and on documents in blocks that do not
    fit in memory, the directions are those of :class:`LPP` with its ridge, found from the documents that have links.

    Parameters
    ----------
    n_components : int, default=2
        How many directions to find.
    graph
        As in :class:`LPP`. None is ``KNN(15, metric="cosine", weights="dot")``, and an integer k is the same with k neighbours.
        ``"supervised"`` is ``SameClass()``, and ``"semi"`` is the sum of both.
    ridge : "auto" or float, default="auto"
        How strongly the regression is kept from overfitting: :math:`\rho` of (1), in units of
        :math:`\operatorname{tr}(X^\top D X) / \min(n, d)`. It must be above 0. ``"auto"`` is 10, chosen on held-out
        documents.
    scaling : {"unit", "constraint"}, default="unit"
        How long the directions are: unit vectors, or as (1) gives them.
    normalize
        As in :class:`LaplacianEigenmaps`.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_, mean_, explained_ratio_
        As in :class:`LPP`.
    scale_ : None
        Always None: the columns of documents are taken as they are.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the graph, in ascending order.
    rank_, n_pca_, n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.

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

    about = About("neighbours", "L of cosine neighbours of documents", "D", ("counts",))
    _reads_links_alone: ClassVar[bool] = True
    n_neighbors: ClassVar[int] = 15
    _takes_tensors: ClassVar[bool] = False
    _why_not_on_devices: ClassVar[str] = "documents are sparse, and LPP takes dense rows on a device."
    _takes_weights: ClassVar[bool] = False  # the regression reads documents one by one
    _rules: ClassVar[Rules] = Rules(ridge=LARGE_RIDGE)
    _choices: ClassVar[dict[str, tuple]] = {
        "normalize": ("auto", None, "degree"),
        "scaling": ("unit", "constraint"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        ridge: float | str = "auto",
        scaling: str = "unit",
        normalize: str | None = "auto",
        verbose: bool | None = None,
    ):
        self.n_components = n_components
        self.graph = graph
        self.ridge = ridge
        self.scaling = scaling
        self.normalize = normalize
        self.verbose = verbose

    def default_graph(self, n_neighbors: int) -> Graph:
        """``KNN(n_neighbors, metric="cosine", weights="dot")``."""
        return KNN(n_neighbors, metric="cosine", weights="dot")

    def _posed(self, data: Data, graphs: GraphFacts | None = None) -> Any:
        """The problem of the documents that have a term, scaled to unit length."""
        check_count("n_components", self.n_components)
        if isinstance(self.ridge, Real) and self.ridge == 0:
            raise ValueError(
                "ridge=0 leaves the regression without an answer where documents are dependent; use ridge > 0"
            )
        empty = data.squares == 0
        data = self._without_empty(data, empty) if empty.any() else data
        if data.X.min() < 0:
            raise ValueError(
                f"Negative values in data passed to LPI: X must hold weights of terms, and the least is {data.X.min():.3g}; "
                "use LPP for other features"
            )
        data.unit.given = data.given
        return super()._posed(data.unit, graphs)

    def _without_empty(self, data: Data, empty: np.ndarray) -> Data:
        """The documents that have a term. An empty document has no direction, and so no neighbours."""
        count, first = int(empty.sum()), int(np.argmax(empty))
        if data.n - count < 2:
            raise ValueError(
                f"X has {data.n - count} documents with a term (n_features={data.d}), but 2 is the least; pass more"
            )
        graph = self._graphs(data).graph
        if graph.indexes_rows:
            raise ValueError(
                f"X has {count} empty documents (the first is row {first}), and graph={graph!r} knows documents by their row, so "
                "that they cannot be left out; remove them from both"
            )
        warnings.warn(
            f"documents without a term: {count} (the first is row {first}); they are not linked, and placed at 0",
            UserWarning,
            stacklevel=caller_stacklevel(),
        )
        return data.some(~empty)

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Coordinates:
        if graphs.is_sampled:
            return super()._map(data, problem, graphs, chosen)
        mean = data.mean(problem.degrees)
        return Coordinates(data, mean, np.transpose, mean)

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
        if graphs.is_sampled:  # the eigenvectors of a graph of a few documents say nothing of the others
            return super()._solve(F, data, problem, graphs, chosen)
        D, pulling = problem.degrees, all(term.coefficient > 0 for term in problem.minimise)
        assert D is not None
        graph = graph_vectors(problem, self.n_components, pulling)  # the first of (1)
        trace = float(D.sum() * (1 - F.mean @ F.mean))  # rows have unit length
        if trace <= 1e-12 * D.sum():
            raise ValueError(
                f"all documents are the same up to their length (n_features={data.d}), so there is nothing to tell apart"
            )
        ridge = RIDGE if isinstance(self.ridge, str) else float(self.ridge)
        rho = ridge * trace / min(data.n, data.d)
        a = ridge_regression(F, D, graph.vectors, rho)  # the second of (1)
        a = a / np.linalg.norm(a, axis=0) if self.scaling == "unit" else a
        return Found(F._replace(back=lambda _: a.T), (None, None), graph, chosen._replace(ridge=ridge))

    def _store(self, data: Data, F: Coordinates, problem: Problem, graphs: GraphFacts, found: Found) -> None:
        super()._store(data, F, problem, graphs, found)
        self.rank_ = found.solution.rank if graphs.is_sampled else None  # of the regression it is not known

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates of documents, one column per component. An empty document is placed at 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The documents.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        with verbosity(self.verbose):
            return validated(self, X, fitting=False, in_blocks=True).mapped(self._placed, len(self.components_))

    def _placed(self, data: Data) -> np.ndarray:
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
