"""The method for documents, which are sparse rows of term weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._validation import check_choice, check_count
from ..blocks import Blocks, HeldBlocks
from ..graphs import KNN, Graph
from ..maps import Coordinates, Map, Preprojection, SparseMap, SummaryMap
from ..neighbors import BlockRows, Threads
from ..operators import Array, canonical
from ..problem import Problem, laplacian_sum
from ..reducers import LARGE_RIDGE, Decided, Graphs, LinearReducer, Options, Rules, Solved, fits_in_memory, outside
from ..rows import Rows, lengths, unit_rows
from ..solvers import Solution, solve
from ._locality import locality
from .about import About

# The value of ridge="auto", in units of the constraint's mean eigenvalue: chosen on validation splits (docs/documents.md).
RIDGE = 10.0


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

    Attributes
    ----------
    components_, mean_, explained_ratio_
        As in :class:`LPP`.
    scale_ : None
        Always None: the columns of documents are taken as they are.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the graph, in ascending order.
    rank_, n_pca_, n_connected_components_, graph_, solver_, certificate_, n_features_in_, feature_names_in_
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
    n_neighbors: ClassVar[int] = 15
    _takes_sparse_blocks: ClassVar[bool] = True
    may_weigh: ClassVar[bool] = False  # the regression reads documents one by one
    _rules: ClassVar[Rules] = Rules(ridge=LARGE_RIDGE)
    _takes_tensors: ClassVar[bool] = False
    why_not_elsewhere: ClassVar[str] = "documents are sparse, and LPP takes dense rows on a device."

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        ridge: float | str = "auto",
        scaling: str = "unit",
        normalize: str | None = "auto",
    ):
        self.n_components = n_components
        self.graph = graph
        self.ridge = ridge
        self.scaling = scaling
        self.normalize = normalize

    @property
    def is_nested(self) -> bool:
        """Always False, since eigenvectors of equal eigenvalues depend on how many are asked for."""
        return False

    def default_graph(self, n_neighbors: int) -> Graph:
        """``KNN(n_neighbors, metric="cosine", weights="dot")``."""
        return KNN(n_neighbors, metric="cosine", weights="dot")

    def _check_parameters(self) -> None:
        check_choice("normalize", self.normalize, ("auto", None, "degree"))
        check_choice("scaling", self.scaling, ("unit", "constraint"))
        check_count("n_components", self.n_components)
        if isinstance(self.ridge, Real) and not isinstance(self.ridge, bool) and self.ridge == 0:
            raise ValueError(
                "ridge=0 leaves the regression without an answer where documents are dependent; use ridge > 0"
            )
        super()._check_parameters()

    def _prepared(self, X: Any, y: Any, weights: Any = None) -> tuple[Rows, Graphs]:
        """As for other methods, but a default graph asks for at most as many neighbours as there are documents with a term."""
        data, graphs = super()._prepared(X, y)
        few = any(search.n_neighbors >= data.n_samples for search in graphs.graph.searches())
        return data, self._graphs(data.n_samples) if few else graphs

    def _rows(self, X: Array, y: Any, graphs: Graphs) -> Rows:
        X, y = _with_terms(X, y, graphs.graph)
        documents, (n, d) = _documents(X), X.shape
        signed = graphs.graph.signed() if graphs.queries is not None else [(1.0, Graph())]
        alone = all(any(search.is_sampled(n) for search in leaf.searches()) for _, leaf in signed)
        if alone and sparse.issparse(X) and d > SparseMap.limit:  # documents without links take no part
            labels = y if graphs.graph.reads_labels else None
            return BlockRows(HeldBlocks(documents), labels, graphs.graph.searches())
        return super()._rows(documents, y, graphs)

    def _block_rows(self, blocks: Blocks, y: Any, graphs: Graphs, weights: np.ndarray | None = None) -> Rows:
        if graphs.queries is None and fits_in_memory(blocks):  # the regression reads documents one by one
            return self._rows(blocks.load(), blocks.labels(y), graphs)
        blocks, linked = blocks.chosen(lambda block: lengths(block) > 0, "looking for empty documents")
        _without(~linked, blocks.shape[1], graphs.graph)
        return super()._block_rows(blocks.map(_documents), y, graphs)

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return locality(data, graphs)

    def _solve(self, F: Map, data: Rows, problem: Problem, graphs: Graphs) -> Solved:
        if graphs.queries is not None or isinstance(F, SummaryMap):
            # The eigenvectors of a graph of a few documents say nothing of the others, and a summary does not hold all
            # documents. So the directions are found without them.
            return super()._solve(F, data, problem, graphs)
        degrees = problem.degrees
        assert degrees is not None
        assert self.n_components is not None
        pulling = all(term.coefficient > 0 for term in problem.minimise)
        graph = graph_vectors(problem, data, self.n_components, semidefinite=pulling)
        mean = F.mean(degrees)
        trace = float(degrees.sum() * (1 - mean @ mean))  # this uses that rows have unit length
        if trace <= 1e-12 * degrees.sum():
            raise ValueError(
                f"all documents are the same up to their length (n_features={F.shape[1]}), so there is nothing to tell apart"
            )
        ridge = (RIDGE if isinstance(self.ridge, str) else float(self.ridge)) * trace / min(F.shape)
        directions = ridge_regression(F, mean, degrees, graph.vectors, ridge)
        return as_solved(self, mean, graph, directions, ridge)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _projected(self, X: Array) -> np.ndarray:
        """``(X /

        X

        - mean_) @ components_.T``. An empty document is placed at 0.
        """
        norms = lengths(X)
        projected = super()._projected(unit_rows(X, norms))
        projected[norms == 0] = 0.0
        return projected


def _with_terms(X: Array, y: Any, graph: Graph) -> tuple[Array, Any]:
    """The documents that have a term, and their labels. An empty document has no direction, and so no neighbours."""
    empty = lengths(X) == 0
    if not _without(empty, X.shape[1], graph):
        return X, y
    labelled = y is not None and np.ndim(y) > 0 and len(y) == empty.size
    return X[np.flatnonzero(~empty)], np.asarray(y)[~empty] if labelled else y


def _without(empty: np.ndarray, n_features: int, graph: Graph) -> bool:
    """Warn where documents are left out. Raise where too few are left, or where a graph knows documents by their rows."""
    if not empty.any():
        return False
    count, first = int(empty.sum()), int(np.argmax(empty))
    if empty.size - count < 2:
        raise ValueError(
            f"X has {empty.size - count} documents with a term (n_features={n_features}), but 2 is the least; pass more"
        )
    if graph.indexes_rows:
        raise ValueError(
            f"X has {count} empty documents (the first is row {first}), and graph={graph!r} knows documents by their row, so "
            "that they cannot be left out; remove them from both"
        )
    warnings.warn(
        f"documents without a term: {count} (the first is row {first}); they are not linked, and placed at 0",
        UserWarning,
        stacklevel=outside(),
    )
    return True


def _documents(X: Array, first: int = 0) -> Array:  # first: the number of the first row of a block
    """The documents, scaled to unit length."""
    X = canonical(X)
    if X.min() < 0:
        raise ValueError(
            f"Negative values in data passed to LPI: X must hold weights of terms, and the least is {X.min():.3g}; "
            "use LPP for other features"
        )
    return unit_rows(X)


def graph_vectors(problem: Problem, data: Rows, k: int, semidefinite: bool) -> Solution:
    """The eigenvectors of the graph itself, without the constant."""
    L = laplacian_sum(problem.minimise)
    A = L.operator() if L.factors else L.tosparse()
    return solve(A, problem.degrees, k, deflate=np.ones((data.n, 1)), semidefinite=semidefinite)


def as_solved(estimator: Any, mean: np.ndarray, graph: Solution, directions: np.ndarray, ridge: float) -> Solved:
    """The solution as the map stores it, for directions that regression found. How many there could be is not known."""
    decided = Decided(Options.of(estimator), estimator.n_components, ridge, Preprojection())
    found = graph._replace(vectors=directions, rank=None)
    return Solved(Coordinates([], mean, np.transpose, None), (None, None), found, decided, graph)


def ridge_regression(F: Map, mean: np.ndarray, d: np.ndarray, Y: np.ndarray, ridge: float) -> np.ndarray:
    """The a that solves (Zᵀ D Z + ridge) a = Zᵀ D y, with Z centred.

    Conjugate gradients solve for all columns at once, on the smaller side of X.
    """
    roots, threads = np.sqrt(d)[:, None], Threads()
    with threads.running():
        if sparse.issparse(F.X):
            Z, Zt = _shared_out(F.X, mean, threads)
        else:
            centred = F.centred(mean)
            Z, Zt = centred.__matmul__, centred.T.__matmul__
        if F.shape[0] <= F.shape[1]:  # a = Zᵀ r u with (r Z Zᵀ r + ridge) u = r y
            u = _conjugate_gradients(lambda U: roots * Z(Zt(roots * U)) + ridge * U, roots * Y)
            return np.asarray(Zt(roots * u))
        return _conjugate_gradients(lambda A: Zt(roots**2 * Z(A)) + ridge * A, np.asarray(Zt(roots**2 * Y)))


Product = Callable[[np.ndarray], np.ndarray]


def _shared_out(X: sparse.csr_array, mean: np.ndarray, threads: Threads) -> tuple[Product, Product]:
    """Products with the centred X and with its transpose. Threads share the rows of X."""

    def product(M: sparse.csr_array) -> Product:
        cuts = np.searchsorted(M.indptr, np.linspace(0, M.nnz, 2 * threads.count + 1)[1:-1])
        ends = [0, *cuts.tolist(), M.shape[0]]
        parts = [(slice(a, b), M[a:b]) for a, b in pairwise(ends) if b > a]

        def times(V: np.ndarray) -> np.ndarray:
            out = np.empty((M.shape[0], V.shape[1]))

            def fill(part: tuple[slice, sparse.csr_array]) -> None:
                out[part[0]] = part[1] @ V

            threads.each(fill, parts)
            return out

        return times

    Z, Zt = product(X), product(sparse.csr_array(X.T))
    return lambda V: Z(V) - mean @ V, lambda U: Zt(U) - np.outer(mean, U.sum(axis=0))


def _conjugate_gradients(apply: Any, B: np.ndarray, tol: float = 1e-8, most: int = 2000) -> np.ndarray:
    solution, residual = np.zeros_like(B), B.copy()
    direction, squares = B.copy(), np.sum(B**2, axis=0)
    target = tol**2 * np.maximum(squares, np.finfo(np.float64).tiny)
    for _ in range(most):
        if (squares <= target).all():
            return solution
        image = apply(direction)
        step = squares / np.maximum(np.sum(direction * image, axis=0), np.finfo(np.float64).tiny)
        solution += step * direction
        residual -= step * image
        before, squares = squares, np.sum(residual**2, axis=0)
        direction = residual + squares / np.maximum(before, np.finfo(np.float64).tiny) * direction
    raise ValueError("the regression did not converge; use a larger ridge")
