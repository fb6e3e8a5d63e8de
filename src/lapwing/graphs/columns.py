"""Graphs on some columns of X, or on what a transformer makes of X."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags

from ..data import FLOATS, Data, as_data
from ..problem import Term
from .base import Graph, OfOne

# Places, names, a slice, a mask, a function or a transformer, which are told apart by what they can do.
Columns = Any


@dataclass(eq=False, repr=False)
class On(OfOne):
    r"""Builds a graph on some columns of X, or on what a transformer makes of X, while the map is still one of X.

    .. math:: W_{ij} = W(\phi(x_i), \phi(x_j)),

    with W the weights of the graph and :math:`\phi` the choice of columns, or the transformer. For example,
    ``LPP(graph=On(PCA(0.98), KNN(5)), pca=0.98)`` is Laplacianfaces as X. He's thesis has them. Rows are taken as they were
    passed to ``fit``: dividing columns (``standardize=``) changes nothing.

    Parameters
    ----------
    what : columns, function, transformer, or array of shape (n_samples, n_values)
        What the graph looks at: columns by place, or by name in a data frame (one, a list, a slice, a mask, or a function of X,
        as :func:`sklearn.compose.make_column_selector`).

        A transformer of scikit-learn that needs no y is fitted to X, and kept as ``graph_.what``. An array has values of its own
        for each row; it fits one data set, unless both it and X are data frames, whose rows then go by their names.
    graph : Graph
        The graph that is built on these columns. With ``metric="precomputed"`` they hold the distances of the rows.
    beside : bool, default=False
        Whether the columns are for the graph alone, as coordinates in space, times and the names of rows are. The map is then
        one of the other columns, and ``components_`` are 0 at these.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, On
    >>> model = LPP(10, graph=On(PCA(0.9), KNN(7))).fit(load_digits().data)
    >>> int(model.graph_.what.n_components_)
    21
    """

    what: Columns
    graph: Graph
    _: KW_ONLY
    beside: bool = False

    reads_features, _unnamed = True, 2
    _transforms = property(lambda self: hasattr(self.what, "fit") and hasattr(self.what, "transform"))
    _is_given = property(lambda self: hasattr(self.what, "shape") and len(self.what.shape) == 2)
    indexes_rows = property(
        lambda self: self.graph.indexes_rows or (self._is_given and not hasattr(self.what, "reindex"))
    )

    @property
    def beside_columns(self) -> list[int]:
        """As in :class:`Graph`. The columns must be given by their places, as those of :meth:`fitted` are."""
        inner = super().beside_columns
        if (self._transforms or self._is_given) and (self.beside or inner):
            kind = "an array of its own" if self._is_given else f"{self.what!r}, which is a transformer of all of them"
            raise ValueError(f"beside=True is for columns of X, and the graph looks at {kind}; leave it out")
        if self._is_given:
            return []
        return self.what if self.beside else [self.what[place] for place in inner]

    def fitted(self, data: Data) -> Graph:
        """The same graph with the fitted transformer, or with the places of its columns."""
        what = self.what
        if not (self._is_given or data.has_features):
            raise ValueError('On reads features, and with kernel="precomputed" X has none; use the graph alone')
        if not self._is_given:
            what = _fitted(what, data) if self._transforms else column_places(data, "what", what).tolist()
        return On(what, self._operands()[0].fitted(On(what, self.graph).view(data)), beside=self.beside)

    def view(self, data: Data) -> Data:
        """The rows that the graph is built on. All graphs on the same columns share one object."""
        key = id(self.what)
        if key not in data.views:  # with what it is made by, so that Python gives its id to no other object
            by_columns = not (self._transforms or self._is_given)
            data.views[key] = self.what, self._chosen(data) if by_columns else self._made(data)
        return data.views[key][1]

    def _made(self, data: Data) -> Data:
        """The rows that a transformer makes, or that are given beside X."""
        made, frame = self.what if self._is_given else self.what.transform(_as_fitted(self.what, data)), _frame(data)
        if self._is_given and hasattr(made, "reindex") and frame is not None:
            made = made.reindex(frame.index)  # NaN for rows that it does not know
        name = "what of On" if self._is_given else f"{self.what!r}"
        X = check_array(made, accept_sparse="csr", dtype=FLOATS, input_name=name)
        if X.shape[0] != data.n:
            has = "has" if self._is_given else "made"
            raise ValueError(f"{name} {has} {X.shape[0]} rows of {data.n}; On needs one per row of X")
        view = as_data(X, data.y)
        view.names, view.given = data.names, made if self._is_given else None
        return view

    def _chosen(self, data: Data) -> Data:
        chosen, frame = column_places(data, "what", self.what), _frame(data)
        view = as_data(columns_as_given(data, chosen), data.y)
        view.given = None if frame is None else frame.iloc[:, chosen]
        view.names = data.names if chosen.size > 1 else one_column(data, "what", chosen)
        return view

    def terms(self, data: Data) -> list[Term]:
        return super().terms(data) if self.signed() != [(1.0, self)] else self.graph.terms(self.view(data))

    def why_all_rows(self) -> str | None:
        return "On builds its graph on other rows than those of X, and X is read in blocks; pass X as an array"


def _fitted(transformer: Any, data: Data) -> Any:
    """A copy of the transformer, fitted to the rows as they were passed: a ColumnTransformer may ask for the names of columns."""
    steps = [step for _, step in transformer.steps] if isinstance(transformer, Pipeline) else [transformer]
    if any(get_tags(step).target_tags.required for step in steps if hasattr(step, "__sklearn_tags__")):
        remedy = "use one that needs no y, such as PCA, or put this one before the estimator in a pipeline"
        raise ValueError(f"what={transformer!r} learns from y, and On fits transformers without it; {remedy}")
    try:
        return clone(transformer).fit(_as_passed(data))
    except (ArithmeticError, RuntimeError) as error:  # as ARPACK's, where X is constant
        raise ValueError(f"what={transformer!r} cannot be fitted to X: {error}") from error


def _as_fitted(transformer: Any, data: Data) -> Any:
    """The rows in the form that the transformer was fitted to: with names where it knows some."""
    names, X = getattr(transformer, "feature_names_in_", None), _as_passed(data)
    if _frame(data) is not None or names is None or find_spec("pandas") is None:
        return X
    frames: Any = import_module("pandas").DataFrame
    return (frames.sparse.from_spmatrix if sparse.issparse(X) else frames)(X, columns=names)


def _frame(data: Data) -> Any:
    """X as it was passed, where that was a data frame; None otherwise."""
    given = data.given
    return given if hasattr(given, "iloc") and hasattr(given, "columns") and len(given) == data.n else None


def _as_passed(data: Data) -> Any:
    """The rows as a data frame where they were passed as one, and otherwise before their columns were divided."""
    frame = _frame(data)
    return frame if frame is not None else (data.source or data).X


def column_places(data: Data, what: str, chosen: Any) -> np.ndarray:
    """The places of the columns that ``what=chosen`` means: places, names of a data frame, or a function that chooses them."""
    frame, given = _frame(data), chosen
    chosen = chosen(_as_passed(data)) if callable(chosen) else chosen
    if not isinstance(chosen, slice) and (isinstance(chosen, str) or np.ndim(chosen) == 0):
        chosen = [chosen]
    numbers: Any = np.arange(data.d)[None]
    if frame is not None:
        numbers = type(frame)(numbers, columns=[str(name) for name in frame.columns])
    try:  # scikit-learn knows all ways to choose columns; here it chooses among their numbers
        choice = ColumnTransformer([("what", "passthrough", chosen)]).set_output(transform="default")
        places = np.asarray(choice.fit_transform(numbers), dtype=np.intp).ravel()
    except (ValueError, IndexError, TypeError, NotImplementedError) as error:
        names = "no names" if frame is None else f"the names {', '.join(map(str, frame.columns[:10]))}"
        raise ValueError(
            f"{what}={given!r} does not choose columns of X, which has the places 0 to {data.d - 1} and {names}: {error}; choose "
            'by name from a pandas data frame, in pipelines by set_output(transform="pandas")'
        ) from error
    if not places.size:
        raise ValueError(f"{what}={chosen!r} chooses no column of X; choose one or more")
    return places


def columns_as_given(data: Data, columns: np.ndarray) -> Any:
    """The columns as they were passed, before an estimator divides them."""
    if not data.has_features:
        raise ValueError('columns are read from X, and with kernel="precomputed" X has none; use a kernel of features')
    return (data.source or data).X[:, columns]


def one_column(data: Data, what: str, chosen: Any) -> np.ndarray:
    """One column, as a dense array."""
    found = column_places(data, what, chosen)
    if found.size != 1:
        raise ValueError(f"{what}={chosen!r} must be one column of X, and is {found.size}")
    X = columns_as_given(data, found)
    return np.asarray(X.toarray() if sparse.issparse(X) else X).ravel()
