"""The only ``fit`` of the library: from rows and graphs to a problem, its map, its solution and what is kept of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, get_annotations, signature
from numbers import Integral
from typing import Any, ClassVar, dataclass_transform

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import auto
from .._documented import Documented
from .._extras import VERBOSE
from .._validation import caller_stacklevel, check_count, class_codes, is_foreign, label_array
from ..data import ClassSums, Data, total, validated
from ..graphs import KNN, Graph, Precomputed, Repulsion, SameClass
from ..operators import Structured
from ..problem import ORTHOGONAL, Problem, Term, degree_sum, laplacian_sum
from ..solvers import RankError

# What scikit-learn, umap-learn, metric-learn and the papers' own code call our parameters, and what to write here.
SPELLINGS = {
    **dict.fromkeys(("dim", "dims", "n_dim", "n_dims", "num_dims", "n_features"), "n_components={!r}"),
    **dict.fromkeys(("reg", "regularization", "regularizer", "shrinkage"), "ridge={!r}"),
    **dict.fromkeys(("k", "knn", "n_neighbors", "n_neighbours", "num_neighbors"), "graph={!r}"),
    **dict.fromkeys(("eps", "epsilon", "radius"), "graph=Radius({!r})"),
    **dict.fromkeys(("weights", "weight_mode"), "graph=KNN(5, weights={!r})"),
    **{word: f"graph=KNN(5, {word}={{!r}})" for word in ("metric", "metric_params", "t")},
    "affinity": "graph=W, a matrix of weights",
}

# Default graphs of more rows than this search for the neighbours of a sample of so many rows. The objective and the accuracy
# are as those of the whole graph (docs/measured-large.md).
MANY_ROWS, SAMPLED_ROWS = 100_000, 20_000
TIED = 1e-12  # eigenvalues count as equal where they differ by less than this share of the largest one that was kept
# Graphs that a user may give by name. "semi" is one more, and a method adds "propagate".
WORDS: dict[str, Callable[[], Graph]] = {"supervised": SameClass}
FOR_AUTHORS = ("about", "default_graph", "default_penalty", "n_neighbors")  # of methods, which ``dir`` does not list


@dataclass_transform(eq_default=False)
class Reducer(Documented, TransformerMixin, BaseEstimator):
    """Base of all estimators, with the only ``fit`` of the library.

    A method is a subclass of one of the maps (:class:`LinearReducer`, :class:`KernelReducer`, :class:`FreeReducer`,
    :class:`MultilinearReducer`, :class:`FeatureSelector`), and writes

    - ``_problem(data, graphs)``: the :class:`~lapwing.problem.Problem`, of the terms ``self._terms(data, graphs)`` of ``graph=``;
    - ``default_graph(n_neighbors)``, the graph that ``graph=None`` and ``graph=7`` stand for, or a class of graphs, as in
      ``default_graph = KNN``;
    - parameters, by lines with a type such as ``alpha: float = 1.0``, as in a dataclass. Constants are ``ClassVar`` or have no
      type. Those of the map are there as well; ``class Mine(LinearReducer, without=("pca",))`` has all but some;
    - where it needs them, ``default_penalty``, its own numbers behind ``"auto"`` (``_rules``), and ``_store``, which adds
      attributes to the map's own. It never writes ``fit`` or ``transform``.

    Examples
    --------
    A method of your own, with the problem of LPP, which is that of every method that has none of its own:

    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import KNN
    >>> from lapwing.reducers import KernelReducer, Reducer
    >>> class Smooth(KernelReducer):
    ...     default_graph = KNN
    >>> Smooth(2, graph=7).fit_transform(load_iris().data).shape, issubclass(Smooth, Reducer)
    ((150, 2), True)
    """

    verbose: bool | None = None  #: Whether progress is shown, where a method of your own has no such parameter.
    preset: str = "measured"  #: What "auto" stands for, where a method of your own has no such parameter.
    n_neighbors: ClassVar[int] = 5  #: How many neighbours the default graph has.
    default_penalty: ClassVar[Any] = Repulsion  #: The graph that ``penalty=7`` stands for.
    _needs_penalty: ClassVar[bool] = False  # whether ``penalty=None`` stands for that graph as well
    _rules: ClassVar[auto.Rules] = auto.Rules()  # what "auto" stands for
    _choices: ClassVar[dict[str, tuple]] = {}  # values of parameters, where they are not those of every method
    _orthogonal: ClassVar[bool] = False
    _bound: ClassVar[float | None] = None  # what no eigenvalue exceeds, where that is known
    _takes_sparse: ClassVar[bool] = True
    _takes_weights: ClassVar[bool] = False  # whether ``sample_weight`` acts, where graphs are of classes alone
    # Whether sums over the rows of each class are enough for graphs of classes, and default graphs of many rows are sampled.
    _takes_sums: ClassVar[bool] = False
    _takes_tensors: ClassVar[bool] = False  # whether it takes arrays of other libraries and devices
    _takes_blocks: ClassVar[bool] = False  # whether it takes rows on disk or on a cluster
    _beside: ClassVar[str] = "removed"  # or "kept" or "refused": what becomes of columns that only graphs read

    # Every map writes what F is, what is solved, and what a fitted estimator keeps.
    _map: ClassVar[Any]
    _solve: ClassVar[Any]
    _store: ClassVar[Any]
    _data = validated  # from X, y and weights to rows; maps of images and of kernels have more to ask about X

    def __init__(self) -> None:
        """A map has parameters, and stores them."""

    def __init_subclass__(cls, without: tuple[str, ...] = (), **options: Any):
        store_parameters(cls, without)
        super().__init_subclass__(**options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a model, perhaps of an earlier version: parameters that it did not have are at their defaults."""
        super().__setstate__({name: one.default for name, one in signature(type(self)).parameters.items()} | state)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in FOR_AUTHORS]

    def fit(self, X: Any, y: Any = None, **weights: Any) -> Any:
        """Learn the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples; of ``TSA`` images, of shape (n_samples, n1, n2, ...). Most linear methods, and the scores, also take
            rows on disk or on a cluster: a numpy.memmap larger than scikit-learn's ``working_memory``, a Zarr array, or a dask
            array.
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown, which only graphs such as ``SameClass()`` use. The graph ``Target`` takes numbers, or
            a matrix of targets, NaN where unknown.
        **weights : dict
            ``sample_weight``, an array of shape (n_samples,): how many samples each row stands for. A weight of 2 is the row
            twice, a weight of 0 is no such row, and fractions are in between. It acts only where graphs are of classes alone
            (``SameClass()``, ``OtherClass()``, ``Complete()``): graphs of neighbours count rows.

        Returns
        -------
        self
        """
        parameters = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        self.__dict__, before = dict(parameters), VERBOSE.set(self.verbose)
        try:
            if weights.get("sample_weight") is not None and (why := self._why_unweighted()):
                raise ValueError(f"sample_weight does not act on {self!r}: {why}")
            if hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray) and not self._takes_tensors:
                what = f"X is an array of {type(X).__module__.partition('.')[0]}; pass X.cpu().numpy() or the like"
                raise TypeError(f"{self!r} takes NumPy arrays, and {what}")
            with auto.as_printed(self) if str(self.preset) == "paper" else nullcontext():
                data = self._data(X, y, in_blocks=self._takes_blocks, **weights)
                return self._fit(data if data.is_ready else with_requests(self, data))
        except BaseException:
            self.__dict__ = parameters  # a fit that fails leaves no attributes behind, nor those of an earlier one
            raise
        finally:
            VERBOSE.reset(before)

    def _fit(self, data: Data, graphs: auto.GraphFacts | None = None) -> Any:
        """The spine. ``data`` are rows of any kind: in memory, on a device, or a summary of rows that are elsewhere."""
        data, graphs, chosen, scale, problem = self._pose(data, graphs)  # A and B
        F = self._map(data, problem, graphs, chosen)  # F
        found = self._solve(F, data, problem, graphs, chosen)  # FᵀAF v = lambda FᵀBF v
        normalize = "degree" if graphs.equal_say else "trace" if getattr(self, "normalize", None) == "trace" else None
        self.settings_: dict[str, Any] = {"normalize": normalize, "standardize": scale is not None}
        self.scale_, self.graph_ = scale, graphs.graph
        # Where nothing attracts, the terms that repel are counted.
        terms = problem.graph_terms or problem.minimise
        first, *rest = [t.laplacian for t in terms if t.coefficient > 0] or [t.laplacian for t in terms]
        whole = None if graphs.is_sampled else sum(rest, start=first)
        self.n_connected_components_ = whole and whole.n_connected_components(data.weights)
        self._store(data, F, problem, graphs, found)
        gap = getattr(vars(self).get("certificate_"), "gap", None)
        if gap is not None and (graphs.of_classes or gap < TIED * np.abs(self.eigenvalues_).max()):
            warn_of_ties(self, data, problem, graphs)
        self.settings_ = {name: self.settings_[name] for name in vars(self) if name in self.settings_}
        self.n_features_in_ = data.n_columns
        if hasattr(data.given, "__dataframe__") or hasattr(data.given, "columns"):
            validate_data(self, data.given, skip_check_array=True)  # stores the names of the columns
        return data.to_caller(self)

    def _pose(self, data: Data, graphs: auto.GraphFacts | None = None) -> tuple[Any, ...]:
        """The rows as they are linked, what was decided about them, what columns were divided by, and the problem."""
        graphs = graphs or self._graphs(data)
        summable = data.class_sums is not None and self._takes_sums and not data.is_wide
        if summable and not graphs.requests and not rows_counted(graphs):  # one row per class
            data = data.class_sums(graphs.reads_labels)
        if graphs.beside and self._beside == "refused":
            what = f"{type(self).__name__} represents all columns of X"
            raise ValueError(f"graph={self.graph!r} has columns beside the features, and {what}; use beside=False")
        data = data.without(graphs.beside) if graphs.beside and self._beside == "removed" else data
        chosen = auto.settings(self, graphs, data)  # n_components=, pca= and ridge=
        scale = auto.units(self, graphs, chosen, data)
        data = data if scale is None else data.divided(scale)
        data = data if data.with_neighbors is None else data.with_neighbors(graphs.requests)
        return data, graphs, chosen, scale, self._problem(data, graphs)

    def _graphs(self, data: Data, learn: bool = True) -> auto.GraphFacts:
        """``graph=`` and ``penalty=`` as graphs, which ``learn`` from the rows. Later changes by the user do not reach them."""
        n, given, penalty = int(data.size), getattr(self, "graph", None), getattr(self, "penalty", None)
        many = self._takes_sums and (data.in_blocks or n > max(MANY_ROWS, data.exact_rows))
        chosen = isinstance(given, Graph | str)
        graph = resolve_graph("graph", given, self.default_graph, min(self.n_neighbors, n - 1), many)
        if graph is given:
            graph = sized(clone(graph), getattr(self, "n_components", None))
        if penalty is not None or self._needs_penalty:
            penalty = resolve_graph("penalty", penalty, self.default_penalty, None, many)
        if learn:
            graph, penalty = graph.fitted(data) if chosen else graph, penalty and penalty.fitted(data)
        return auto.facts(graph, penalty, n, getattr(self, "normalize", None), chosen)

    @available_if(lambda estimator: estimator._takes_sums and estimator._why_unweighted() is None)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from more rows: the model is that of :meth:`fit` on all rows so far.

        It is exact, and there only where all graphs are of classes alone (``SameClass()``, ``OtherClass()``, ``Complete()``).
        No row is kept, only the number, the mean and the scatter of the rows of each class, as ``moments_``. Batches may be of
        any size, and classes may appear at any time. Where the rows so far are not enough, as those of one class, a warning
        says so, and the model cannot transform until more rows come. :meth:`fit` forgets all of it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A batch of samples.
        y : array-like of shape (n_samples,), default=None
            Their class labels, -1 where unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            How many samples each row stands for.

        Returns
        -------
        self
        """
        if is_foreign(X):
            raise TypeError("partial_fit takes NumPy and SciPy arrays, and X is another library's; use fit")
        so_far = getattr(self, "moments_", None)
        with auto.as_printed(self) if str(self.preset) == "paper" else nullcontext():
            data = self._data(X, y, sample_weight=sample_weight, fitting=so_far is None, least=1)
            graphs = self._graphs(data)
        by_class = graphs.reads_labels and any(leaf.weighs_classes for leaf in graphs.leaves)
        sums = ClassSums(data.d, by_class, data.dtype)
        vars(sums).update(so_far or {})
        if by_class and not sums.by_class:
            raise ValueError("the graph was changed: it weighs classes, whose scatters were not kept; use a clone")
        sums = sums.add(data.X, label_array(data.y, data.n) if graphs.reads_labels else None, data.weights)
        before = dict(vars(self))
        try:
            if graphs.reads_labels and np.count_nonzero(sums.counts[:-1]) < 2:
                raise RankError("y has one class only so far")
            summary = sums.summary(graphs.reads_labels)
            summary.given, summary.n_columns = data.given, data.n_columns
            summary.learnt, summary.has_features = data.learnt, data.has_features
            with auto.as_printed(self) if str(self.preset) == "paper" else nullcontext():
                self._fit(summary, graphs)
        except RankError as error:
            kept = {name: before[name] for name in before if name[-1] != "_" or name == "feature_names_in_"}
            self.__dict__ = kept | (data.learnt or {}) | {"n_features_in_": data.n_columns}
            message = f"{type(self).__name__} is not fitted yet, and will be when partial_fit gets more rows: {error}"
            warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())
        except BaseException:
            self.__dict__ = before  # the model stays that of the rows before
            raise
        self.moments_, self.n_samples_seen_ = vars(sums), float(sums.counts.sum())
        return self

    def problem(self, X: Any, y: Any = None) -> Problem:
        """The matrices A and B that :meth:`fit` would work with on these samples; the estimator stays as it is.

        Parameters
        ----------
        X, y
            As :meth:`fit` takes them.

        Returns
        -------
        Problem
            ``minimise``, the terms that add up to A, and ``subject_to``, which is B or ``ORTHOGONAL``. Matrices are n x n.
        """
        with auto.as_printed(self) if str(self.preset) == "paper" else nullcontext():
            data = self._data(X, y, in_blocks=self._takes_blocks)
            return self._pose(data if data.is_ready else with_requests(self, data))[-1]

    def default_graph(self, n_neighbors: int) -> Graph:
        """The graph that ``graph=None`` and ``graph=7`` stand for, with this many neighbours. A method writes it."""
        raise NotImplementedError(f"{type(self).__name__} has no default graph; give graph=")

    def _problem(self, data: Data, graphs: auto.GraphFacts) -> Problem:
        """What is minimised, subject to what. As here it is LPP's: L over D, or over I, or over the Laplacian of ``penalty``."""
        terms = build_terms("graph", graphs.graph, data, graphs.equal_say)
        constraint, penalty = getattr(self, "constraint", "matrix"), graphs.penalty
        if constraint == "orthogonal" or self._orthogonal:
            if penalty is not None:
                remedy = 'use "trace-ratio", or subtract it from graph='
                raise ValueError(f'penalty={penalty!r} has no part in constraint="orthogonal"; {remedy}')
            return Problem(terms, ORTHOGONAL)
        B = degree_sum(terms) if penalty is None else laplacian_sum(build_terms("penalty", penalty, data))
        B = Structured(B.n, diag=1.0 * (np.asarray(B.diag) > 0)) if constraint == "identity" else B
        return Problem(terms, B, ratio=constraint == "trace-ratio")

    def _terms(self, data: Data, graphs: auto.GraphFacts) -> list[Term]:
        """The terms of ``graph=``, at least one of which links samples."""
        return build_terms("graph", graphs.graph, data, graphs.equal_say)

    def _why_unweighted(self) -> str | None:
        """The reason why ``sample_weight`` and sums over rows cannot act, as a sentence; None where they can."""
        if not self._takes_weights:
            return f"{type(self).__name__} has a place for each row, or reads rows one by one; repeat rows instead"
        for leaf in rows_counted(self._graphs(Data(np.zeros((2, 1))), learn=False)):
            return f'{type(leaf).__name__} counts rows; use a graph of classes, as graph="supervised", or repeat rows'
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "graph_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse, tags.array_api_support = self._takes_sparse, self._takes_tensors
        graph, penalty = getattr(self, "graph", None), getattr(self, "penalty", None)
        by_word = isinstance(graph, str) and graph in {*WORDS, "semi"}
        by_size = isinstance(getattr(self, "n_components", 0), str) and hasattr(self, "pca")  # the number of classes
        by_graph = any(isinstance(g, Graph) and g.reads_labels for g in (graph, penalty))
        tags.target_tags.required = by_word or by_size or by_graph or isinstance(penalty, Integral)  # a Repulsion
        return tags


def takes_tensors(method: Callable) -> Callable:
    """Let a method of a fitted model take arrays of other libraries, which it computes with as NumPy arrays."""

    @wraps(method)
    def call(self: Any, X: Any, *more: Any, **named: Any) -> Any:
        if is_foreign(X, *vars(self).values()):
            check_is_fitted(self)
            return import_module("..device", __package__).computed_on_host(method, self, X, *more, **named)
        return method(self, X, *more, **named)

    return call


def rows_counted(graphs: auto.GraphFacts) -> list[Graph]:
    """The graphs that tell rows of a class apart, so that sums over classes are not enough for them."""
    return [g for g in graphs.leaves if g.reads_features or g.reads_targets or g.indexes_rows or g.requests()]


def resolve_graph(name: str, graph: Any, default: Any, size: int | None, many: bool = False) -> Graph:
    """The graph that the user means by None, a size, a name, a graph or a matrix. With ``many`` rows a default is sampled."""
    if isinstance(graph, Graph):
        return graph
    if name == "graph" and isinstance(graph, str) and graph in WORDS:
        return WORDS[graph]()
    semi = name == "graph" and isinstance(graph, str) and graph == "semi"
    if graph is None or semi:
        found = default() if size is None else default(size)
    elif isinstance(graph, Integral) and not isinstance(graph, bool):
        found = default(check_count(name, graph))
    elif sparse.issparse(graph) or (hasattr(graph, "ndim") and graph.ndim == 2):
        return Precomputed(graph)
    else:
        what = 'None, a number of neighbours, "supervised", "semi", "propagate", a lapwing graph, or a matrix'
        raise ValueError(f"{name}={repr(graph)[:97]} must be {what}")
    if semi and found.reads_labels:
        found = KNN(size or 5)
    if many:
        places = [place for place in found.get_params() if place == "queries" or place.endswith("__queries")]
        found.set_params(**dict.fromkeys(places, SAMPLED_ROWS))
    return found + SameClass() if semi else found


def sized(graph: Graph, n_components: Any) -> Graph:
    """The graph with the ``n_components`` of the estimator, in those parts that leave it to the estimator."""
    k = int(n_components) if isinstance(n_components, Integral) else None
    for part in (graph, *graph.get_params().values()):
        if isinstance(part, Graph) and getattr(part, "n_components", 0) is None:
            part.set_params(n_components=k)
    return graph


def build_terms(name: str, graph: Graph, data: Data, equal_say: bool = False) -> list[Term]:
    """The terms of a graph that link samples. Raise if nothing attracts; warn if the repulsion graph has no edge.

    With ``equal_say``, graphs that attract are scaled to a total degree of n.
    """
    terms: list[Term] = []
    for coefficient, leaf in graph.signed():
        own = leaf.terms(data)
        coefficient = equal_coefficient(coefficient, leaf, own, data) if equal_say else coefficient
        terms += own if coefficient == 1 else [term.scaled(coefficient) for term in own]
    empty = [not term.laplacian.links_samples(data.weights) for term in terms]
    pulling = [term.coefficient > 0 for term in terms]
    if all(e for e, p in zip(empty, pulling, strict=True) if p or not any(pulling)):
        remedy = "use more neighbours, a larger radius, or classes of two samples or more"
        raise RankError(f"{name} is empty: it links no two samples; {remedy}")
    if any(e and not p for e, p in zip(empty, pulling, strict=True)):
        message = "the repulsion graph is empty: no near sample is of another class; use more neighbours"
        warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())
    # An empty graph may still have degrees, which belong to the constraint. Its Laplacian is exactly 0, without rounding.
    nothing = Structured(terms[0].laplacian.n)
    return [term._replace(laplacian=nothing) if e else term for term, e in zip(terms, empty, strict=True)]


def warn_of_ties(model: Any, data: Data, problem: Problem, graphs: auto.GraphFacts) -> None:
    """Warn where eigenvalues that were kept equal others that were not, so that rounding decides which directions are kept."""
    k, by_classes = len(model.eigenvalues_), graphs.of_classes and graphs.only_attracts and not problem.ratio
    # With its own degrees as the constraint, a graph of c classes has c - 1 eigenvalues that tell classes apart.
    most = data.class_sizes.size - 1 if by_classes and problem.degrees is not None else k
    is_tied = model.certificate_.gap < TIED * np.abs(model.eigenvalues_).max()
    if k > most and isinstance(model.n_components, Integral):
        what = f"n_components={k} is more than the {most} directions that tell {most + 1} classes apart"
        message = f"{what}; the others are arbitrary: use n_components={most}, or add a graph of neighbours"
    # Those of a graph in more pieces than directions are equal as well, and n_connected_components_ says so.
    elif is_tied and (model.n_connected_components_ or 1) <= k + 1:
        message = f"eigenvalues {k} and {k + 1} are equal, so that rounding chooses a direction; change n_components"
    else:
        return
    warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())


def equal_coefficient(coefficient: float, leaf: Graph, terms: list[Term], data: Data) -> float:
    """The coefficient with which a graph that attracts has a total degree of n."""
    if coefficient < 0 or leaf.counts_pairs:
        return coefficient
    degree = sum(term.coefficient * total(data, term.degrees.diagonal()) for term in terms)
    return coefficient * (data.size / degree if degree > 0 else 1.0)


def with_requests(estimator: Any, data: Any) -> Data:
    """Rows in blocks that know what will be asked of them. A memory map is an array to graphs that need all rows."""
    graphs = estimator._graphs(data, learn=False)
    for name, graph in (("graph", graphs.graph), ("penalty", graphs.penalty)):
        if graph is None or (why := graph.why_all_rows()) is None:
            continue
        if data.X.array is not None:
            return validated(estimator, data.X.array, data.y, data.weights)
        raise ValueError(f"{name}={graph!r} of {type(estimator).__name__} cannot be built: {why}")
    graphs = estimator._graphs(data)
    data.require_room(graphs.requests)
    codes = None
    if get_tags(estimator).target_tags.required or graphs.reads_labels:
        codes = class_codes(data.y, data.n)[0]
        codes = codes.astype(np.min_scalar_type(-int(codes.max()) - 1))
        codes = codes if data.weights is None else np.where(data.weights > 0, codes, -1)  # a weight of 0 is no such row
    weighs = any(leaf.weighs_classes for leaf in graphs.leaves if leaf.reads_labels and not leaf.requests())
    return type(data)(data.X, codes, data.weights, graphs.requests, codes is not None and weighs)


def store_parameters(cls: type, without: Sequence[str] = ()) -> None:
    """Write ``__init__``, which stores the parameters of the base, except some, and those that the class declares.

    A class declares a parameter by a line such as ``alpha: float = 1.0``. New ones stand after ``graph``, or after the first
    parameter, which is the only one that may be given by its place.
    """
    kinds = get_annotations(cls).items()
    own = {name: kind for name, kind in kinds if name in vars(cls) and name[0] != "_" and "ClassVar" not in str(kind)}
    if "__init__" in vars(cls) or not (own or without):
        return
    found = {name: p for name, p in signature(cls.__init__).parameters.items() if name not in without}  # type: ignore[misc]
    names = list(found)
    place = names.index("graph") + 1 if "graph" in names else 2
    new = [name for name in own if name not in names]
    for name, kind in own.items():
        placed = found[name].kind if name in found else Parameter.KEYWORD_ONLY
        placed = Parameter.POSITIONAL_OR_KEYWORD if len(names) == 1 and name == new[0] else placed
        found[name] = Parameter(name, placed, default=vars(cls)[name], annotation=kind)
        delattr(cls, name)
    layout = Signature([found[name] for name in (*names[:place], *new, *names[place:])])

    def store(self: Any, *values: Any, **named: Any) -> None:
        try:
            given = layout.bind(self, *values, **named)
        except TypeError as error:
            raise TypeError(own_spelling(type(self), named) or f"{type(self).__name__}: {error}") from None
        given.apply_defaults()
        vars(self).update(list(given.arguments.items())[1:])

    store.__signature__ = layout  # type: ignore[attr-defined]
    store.__name__, store.__qualname__, store.__module__ = "__init__", f"{cls.__qualname__}.__init__", cls.__module__
    cls.__init__ = store  # type: ignore[misc]


def own_spelling(estimator: type, given: dict[str, Any]) -> str | None:
    """What to write in the place of parameters that the estimator does not have and spells otherwise; None where it does not."""
    own, answers = signature(estimator.__init__).parameters, {}  # type: ignore[misc]
    for word in sorted(given.keys() & (SPELLINGS.keys() - own.keys())):
        answer = SPELLINGS[word].format(given[word])
        if "KNN" in answer and word in (graph := estimator().default_graph(5)).get_params() and word != "weights":
            answer = answer.replace("KNN", type(graph).__name__)  # as Reconstruction has metric=
        if answer.partition("=")[0] in own:
            answers[word] = answer
    asked = ", ".join(f"{word}=" for word in answers)
    return f"{estimator.__name__} has no parameter {asked}; write {', '.join(answers.values())}" if answers else None
