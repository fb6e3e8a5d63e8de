"""The only ``fit`` of the library, and what all maps share."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from .._docstrings import Documented, page_of_a_class
from .._validation import check_in_memory, check_squares, of_numbers
from ..blocks import Blocks, DenseBlocks, as_blocks, working_memory
from ..devices import is_tensor
from ..graphs import Graph, Repulsion
from ..maps import SparseMap
from ..neighbors import BlockRows, DeviceClassRows, DeviceRows, require_room
from ..operators import Array
from ..problem import Problem, Term, attraction
from ..rows import Rows, RowsWithout, Units, encode_labels
from ..solvers import TOLERANCES, CertificateWarning, Solution, certify
from ._graphs import NAMES, QUERIES, Graphs, as_graph, linked, outside, sized
from ._places import EXACT_ROWS, checked, entered, settle
from ._weights import TakesWeights, checked_weights, counting_rows, labels_of, present

DTYPES = [np.float64, np.float32]
# Up to this many rows in memory, an exact search takes at most a few times as long as a sampled one.
MANY_ROWS = 100_000


class Reducer(Documented, TransformerMixin, BaseEstimator):
    """Base of all estimators, with the only ``fit`` of the library.

    A method is a subclass of one of the maps (:class:`LinearReducer`, :class:`KernelReducer`, :class:`FreeReducer`,
    :class:`MultilinearReducer`, :class:`FeatureSelector`).

    It **must** write ``_problem(data, graphs)``, which returns the :class:`~lapwing.problem.Problem`: what is minimised,
    subject to what. ``self._terms(data, graphs)`` gives the terms of ``graph=``.

    It **may** write ``default_graph(n_neighbors)``, the graph that ``graph=None`` and ``graph=7`` stand for, or name a class
    of graphs, as in ``default_graph = KNN``. It may also write ``__init__`` where its parameters differ from those of its map,
    ``_rules``, its own numbers behind ``"auto"`` (``Rules``), and ``_report(...)``, which stores attributes beside the map's
    own.

    It **must not** write ``fit`` or ``transform``: what differs between maps is ``_map`` (F), ``_solve`` and ``_store``.

    Examples
    --------
    Every estimator of lapwing is one:

    >>> from lapwing import LPP
    >>> from lapwing.reducers import Reducer
    >>> issubclass(LPP, Reducer)
    True
    """

    n_neighbors: ClassVar[int] = 5  #: How many neighbours the default graph has.
    _takes_sparse: ClassVar[bool] = True
    _takes_blocks: ClassVar[bool] = False
    _takes_sparse_blocks: ClassVar[bool] = False  # whether rows without links matter only through their mean
    # Whether default graphs of many rows search for neighbours of a sample of the rows only.
    _samples_rows: ClassVar[bool] = False
    _penalty: ClassVar[tuple[Any, int]] = (Repulsion, 15)  # the graph that ``penalty=7`` stands for, and its usual size
    _needs_penalty: ClassVar[bool] = False  # whether ``penalty=None`` stands for that graph as well

    _takes_tensors: ClassVar[bool] = False  # whether the method computes with arrays of other libraries and devices
    why_not_elsewhere: ClassVar[str] = "this method runs on the CPU alone."
    may_weigh: ClassVar[bool] = False  # whether ``sample_weight`` acts with some graphs
    _doc_link_module: ClassVar[str] = "lapwing"  # notebooks link to the documentation of classes of this package

    @property
    def _doc_link_template(self) -> str:
        return page_of_a_class()

    @TakesWeights
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples. ``TSA`` takes images or tensors, of shape (n_samples, n1, n2, ...). Most linear methods, and the scores,
            also take rows on disk or on a cluster: a numpy.memmap larger than scikit-learn's ``working_memory``, a
            Parquet data set of pyarrow, a Zarr array, or a dask array.
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown. They are used only if the graph uses them: ``SameClass()`` does, ``KNN(5)`` does
            not. The graph ``Target`` takes numbers, or a matrix of several targets, NaN where unknown. For a Parquet data set
            it may also be the name of the column of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How many samples each row stands for: a weight of 2 is the row twice, a weight of 0 is no such row, and fractions
            are in between. It acts only where graphs are of classes alone (``SameClass()``, ``OtherClass()``,
            ``Complete()``), as those of ``MMC`` and ``FisherScore`` are. Graphs of neighbours count rows, and equal rows are
            each other's neighbours.

        Returns
        -------
        self
        """
        self._forget()
        try:
            place, X, y = entered(self, X, y)
            if sample_weight is not None:
                self._require_weighable(X)
            # The validated rows, and the graphs, which are resolved once.
            data, graphs = self._prepared(X, y, sample_weight)
            graphs = graphs.fitted(data)
            problem = self._problem(data, graphs)  # the matrices A and B
            F = self._map(data, graphs)  # the map F
            solution = self._solve(F, data, problem, graphs)  # the forms FᵀAF and FᵀBF, and their eigenvectors
            self._store(F, data, problem, graphs, solution)
            self._certify(data, solution)
            if place is not None:
                settle(self, place)
        except BaseException:
            self._forget()  # a fit that fails leaves no attributes behind
            raise
        return self

    def problem(self, X: Any, y: Any = None) -> Problem:
        """The matrices A and B that :meth:`fit` would work with on these samples; the estimator stays as it is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their labels, where the graph uses them.

        Returns
        -------
        Problem
            ``minimise``, a list of terms (coefficient, laplacian, degrees) that add up to A, and ``subject_to``, which is B or
            ``ORTHOGONAL``. Matrices are n x n; their ``toarray()`` makes them dense.
        """
        other = clone(self)
        _, X, y = entered(self, X, y)
        data, graphs = other._prepared(X, y)
        return other._problem(data, graphs.fitted(data))

    def rows(self, X: Any, y: Any = None) -> Rows:
        """The rows that the graphs of this estimator are built on: X and y, validated and, for documents, scaled.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their labels, where the graph uses them.
        """
        _, X, y = entered(self, X, y)
        return clone(self)._prepared(X, y)[0]

    def samples_rows(self, n: int, most: int | None = None) -> bool:
        """Whether the default graph of n rows in memory searches for the neighbours of a sample of the rows, and not of all.

        Parameters
        ----------
        n : int
            How many rows there are.
        most : int, default=None
            Up to how many it searches for all; None is 100,000.
        """
        return self._samples_rows and n > (MANY_ROWS if most is None else most)

    def default_graph(self, n_neighbors: int) -> Graph:
        """The graph that ``graph=None`` stands for, with this many neighbours. A method with a default graph writes it.

        Parameters
        ----------
        n_neighbors : int
            How many neighbours it has: what ``graph=7`` gives, or else ``n_neighbors`` of the class.
        """
        raise NotImplementedError(f"{type(self).__name__} has no default graph; give graph=")

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        raise NotImplementedError

    def _map(self, data: Rows, graphs: Graphs) -> Any:
        return data.F

    def _solve(self, F: Any, data: Rows, problem: Problem, graphs: Graphs) -> Any:
        raise NotImplementedError

    def _store(self, F: Any, data: Rows, problem: Problem, graphs: Graphs, solution: Any) -> None:
        """Store what the fitted estimator keeps; every map adds its own attributes."""
        self.graph_ = graphs.graph
        terms = getattr(problem, "graph_terms", problem.minimise)
        # Where nothing attracts, the terms that repel.
        first, *rest = [term.laplacian for term in attraction(terms) or terms]
        whole = None if graphs.queries else sum(rest, start=first)
        self.n_connected_components_ = None if whole is None else whole.n_connected_components(data.counts)

    def _solved_problems(self, solution: Any) -> Solution | list[Solution] | None:
        """The eigenproblems that were solved last, and their solutions; None where there was none."""
        return None

    def _certify(self, data: Rows, solution: Any) -> None:
        """Check the solution, and warn where the certificate does not hold."""
        solved = self._solved_problems(solution)
        if solved is None:
            return
        certificates = [certify(s, self._tolerance(data)) for s in (solved if isinstance(solved, list) else [solved])]
        self.certificate_: Any = certificates if isinstance(solved, list) else certificates[0]
        for certificate in certificates:
            if not certificate.holds:
                warnings.warn(
                    f"{type(self).__name__} solved its problem less well than to {certificate.tolerance:.1g} ({certificate}); "
                    "ask for fewer components, or leave out what is near rounding, by pca= or ridge= where there is one",
                    CertificateWarning,
                    stacklevel=outside(),
                )

    def _tolerance(self, data: Rows) -> float:
        """The largest residual and constraint error with which the certificate holds."""
        return TOLERANCES[np.dtype(data.F.dtype).name]

    def _terms(self, data: Rows, graphs: Graphs) -> list[Term]:
        """The terms of ``graph=``, at least one of which links samples."""
        return linked("graph", graphs.graph, data, graphs.equal_say)

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _check_parameters(self) -> None:
        """Raise where a parameter is wrong for any X."""

    def why_unweighted(self) -> str | None:
        """The reason why ``sample_weight`` cannot act with these parameters, as a sentence; None where it can act."""
        if not self.may_weigh:
            return f"{type(self).__name__} has a place for each row, or reads rows one by one; repeat rows instead"
        try:
            given = [as_graph("graph", getattr(self, "graph", None), self.default_graph, self.n_neighbors)]
            if getattr(self, "penalty", None) is not None or self._needs_penalty:
                given.append(as_graph("penalty", getattr(self, "penalty", None), *self._penalty))
            counting = counting_rows(given)
        except (ValueError, NotImplementedError) as error:
            return str(error)
        if counting is None:
            return None
        return (
            f"{type(counting).__name__} counts rows: rows that are repeated are each other's neighbours, so that no weight "
            'equals repetition. Use graph="supervised" or another graph of classes alone, or repeat rows'
        )

    def _require_weighable(self, X: Any) -> None:
        why = self.why_unweighted()
        if why is None and (isinstance(X, Rows) or is_tensor(X)):
            why = "it takes rows in NumPy arrays, sparse arrays or blocks, and X is something else"
        if why is not None:
            raise ValueError(f"sample_weight does not act on {self!r}: {why}")

    def _prepared(self, X: Any, y: Any, weights: Any = None) -> tuple[Rows, Graphs]:
        """The rows, as graphs and maps look at them, and the graphs."""
        if is_tensor(X):
            return self._prepared_there(checked(self, X, fitting=True), y)
        is_rows, given = isinstance(X, Rows), X
        in_memory = is_rows or type(X) is np.ndarray
        blocks = self._as_blocks(X, y) if self._takes_blocks and not in_memory else None
        if blocks is not None:
            announce(self, blocks)
        elif is_rows:
            validate_data(self, X.X, skip_check_array=True)  # stores how many features there are
        else:
            accept = "csr" if self._takes_sparse else False
            if not in_memory and not self._takes_blocks:
                check_in_memory(X, type(self).__name__)
            with of_numbers():
                X = validate_data(self, X, accept_sparse=accept, dtype=DTYPES, ensure_min_samples=2)
            check_squares(X)
        self._check_parameters()
        if weights is not None:
            weights = checked_weights(weights, X.shape[0] if blocks is None else blocks.shape[0])
            if blocks is not None and fits_in_memory(blocks):
                X, y, blocks = blocks.load(), blocks.labels(y), None
        if blocks is not None:
            graphs = self._graphs(blocks.shape[0], in_blocks=True)
            data = self._block_rows(blocks, y, graphs, weights)
        elif is_rows:
            graphs = self._graphs(X.n)
            data = X
        else:
            graphs = self._graphs(X.shape[0])
            kept = None if weights is None else present(weights)
            if kept is not None:
                X, y, weights = self._taken(X, kept), labels_of(y, kept, weights.size), weights[kept]
            data = self._rows(X, y, graphs)
            if given is not X:
                data.named(given)
            data = data if weights is None else data.weighted(weights, kept)
        data = data if data.in_blocks else self._for_map(data, graphs)  # blocks are divided as they are read
        return data, graphs

    def _prepared_there(self, X: Any, y: Any) -> tuple[Rows, Graphs]:
        """The same for a tensor. Where graphs read only classes, the rows are summed by class at once."""
        self._check_parameters()
        n = X.shape[0]
        graphs = self._graphs(n, most=None if X.device.type == "cpu" else EXACT_ROWS)
        if self._takes_blocks and self._reads_classes_alone(graphs.given):
            return DeviceClassRows(X, self._labels(y, graphs), self._units(graphs)), graphs
        data = self._rows_there(X, y, graphs)
        if graphs.beside_columns(data).size:
            raise ValueError(f"graph={graphs.graph!r} has columns beside the features, which takes X as a NumPy array")
        return self._for_map(data, graphs), graphs

    def _reads_classes_alone(self, graphs: list[Graph]) -> bool:
        leaves = [leaf for graph in graphs for _, leaf in graph.signed()]
        return not any(leaf.reads_features or leaf.reads_targets or leaf.indexes_rows for leaf in leaves)

    def _rows_there(self, X: Any, y: Any, graphs: Graphs) -> Rows:
        """The validated rows on a device."""
        return DeviceRows(X, y)

    def _graphs(self, n: int, in_blocks: bool = False, most: int | None = None) -> Graphs:
        """Copies of ``graph=`` and ``penalty=`` as graphs. Later changes by the user do not reach these copies."""
        given, penalty = getattr(self, "graph", None), getattr(self, "penalty", None)
        many = in_blocks or self.samples_rows(n, most)
        graph = as_graph("graph", given, self.default_graph, min(self.n_neighbors, n - 1), many)
        if graph is given:
            graph = sized(clone(graph), self._n_components)
        if penalty is not None or self._needs_penalty:
            penalty = as_graph("penalty", penalty, *self._penalty, many)
        return Graphs.of(graph, penalty, n, getattr(self, "normalize", None), isinstance(given, Graph | str))

    def _units(self, graphs: Graphs) -> Units | None:
        """A function from the deviations of the columns of X to what they are divided by; None where columns stay as they are."""
        return None

    def _rows(self, X: Array, y: Any, graphs: Graphs) -> Rows:
        """Validated rows in memory."""
        return Rows(X, y)

    def _taken(self, X: Array, rows: np.ndarray) -> Array:
        """Some of the rows."""
        return X[rows]

    def _for_map(self, data: Rows, graphs: Graphs) -> Rows:
        """The rows without the columns that only graphs read, and with columns in common units, where that is asked for."""
        beside, units = graphs.beside_columns(data), self._units(graphs)
        if beside.size:
            data = RowsWithout(data, beside)
        if units is None:
            return data
        scale = units(lambda few: data.once(("deviations", few), lambda: data.F.deviations(few)))
        return data if scale is None else data.once("divided", lambda: data.divided(scale))

    @property
    def _n_components(self) -> int | None:
        k = getattr(self, "n_components", None)
        return int(k) if isinstance(k, Integral) else None

    def _as_blocks(self, X: Any, y: Any) -> Blocks | None:
        """X as rows in blocks; None where it is an array, or a memory map whose graph asks for all rows."""
        blocks = as_blocks(X, y)
        if blocks is None or not blocks.is_array:
            return blocks
        try:
            for graph in self._graphs(blocks.shape[0]).given:
                graph.require_blocks(blocks.shape[0])
        except ValueError:
            return None
        return blocks

    def _block_rows(self, blocks: Blocks, y: Any, graphs: Graphs, weights: np.ndarray | None = None) -> Rows:
        """Rows in blocks, which are read in passes. Where a graph needs all rows and these fit in memory, they are loaded."""
        n, d = blocks.shape
        if blocks.is_sparse and n <= SparseMap.limit:
            return self._rows(blocks.load(), blocks.labels(y), graphs)
        if blocks.is_sparse and d <= SparseMap.limit:
            blocks = DenseBlocks(blocks)
        searches = [search for graph in graphs.given for search in graph.searches()]
        try:
            self._require_blocks(graphs, n)
            if blocks.is_sparse:
                self._require_links(graphs.given)
            require_room(blocks, [search.checked(n) for search in searches])
        except ValueError:
            if not fits_in_memory(blocks):
                raise
            return self._rows(blocks.load(), blocks.labels(y), graphs)
        return BlockRows(blocks, self._labels(y, graphs), searches, self._units(graphs), weights)

    def _require_blocks(self, graphs: Graphs, n: int) -> None:
        """Raise where a graph needs all rows in memory, and name the parameter that the graph belongs to."""
        for name, graph in zip(("graph", "penalty"), graphs.given, strict=False):
            try:
                graph.require_blocks(n)
            except ValueError as error:
                raise ValueError(f"{name}={graph!r} of {type(self).__name__} cannot be built: {error}") from error

    def _is_labelled(self, graphs: Graphs) -> bool:
        """Whether the method or one of its graphs reads labels."""
        return get_tags(self).target_tags.required or any(graph.reads_labels for graph in graphs.given)

    def _labels(self, y: Any, graphs: Graphs) -> Any:
        """The labels where they are read, and None elsewhere. Raise where they are read and there are none."""
        if not self._is_labelled(graphs):
            return None
        return encode_labels(None, 0) if y is None else y  # without labels, it raises and says what is missing

    def _require_links(self, graphs: list[Graph]) -> None:
        """Raise where rows without links matter. Of sparse rows with many features only those with links are held."""
        unlinked = [leaf for graph in graphs for _, leaf in graph.signed() if not leaf.searches()]
        given = self.get_params(deep=False)
        truncated = (
            not isinstance(given.get("pca"), str | None)
            or given.get("penalty") is not None
            or given.get("normalize") == "trace"
        )
        if not self._takes_sparse_blocks or unlinked or truncated:
            raise ValueError(
                f"X has sparse rows in blocks, of more than {SparseMap.limit:,} features; LPP, LPI and LaplacianScore take them, "
                f'with graphs of neighbours and without pca=, penalty= and normalize="trace", and {self!r} is something else; '
                "use one of these, or X in memory"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self._takes_sparse
        tags.array_api_support = self._takes_tensors
        graph, penalty = getattr(self, "graph", None), getattr(self, "penalty", None)
        given = [graph for graph in (graph, penalty) if isinstance(graph, Graph)]
        by_size = isinstance(penalty, Integral)  # an integer is the size of a Repulsion or a ClosestPairs graph
        by_name = isinstance(graph, str) and graph in NAMES
        tags.target_tags.required = by_size or by_name or any(graph.reads_labels for graph in given)
        return tags


def fits_in_memory(blocks: Blocks) -> bool:
    """Whether rows in blocks are few and small enough to be loaded, where a method needs all of them."""
    n, d = blocks.shape
    return n <= QUERIES and n * d * blocks.dtype.itemsize <= working_memory()


def announce(reducer: Any, blocks: Blocks) -> None:
    """Store the number of features and their names, as scikit-learn does."""
    if blocks.shape[0] < 2:
        raise ValueError(f"X has {blocks.shape[0]} samples, but 2 is the least; pass more rows")
    reducer.n_features_in_ = blocks.shape[1]
    if blocks.feature_names is not None:
        reducer.feature_names_in_ = np.asarray(blocks.feature_names, dtype=object)
