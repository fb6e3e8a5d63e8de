"""Graphs that are built on some columns of X, or on what a transformer makes of X, and not on X itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags

from ..devices import host, is_foreign
from ..neighbors import Search
from ..problem import Term
from ..rows import Rows
from ._base import Graph, Signed
from ._columns import places, taken


class On(Graph):
    r"""Builds a graph on some columns of X, or on what a transformer makes of X, while the map is still one of X.

    .. math:: W_{ij} = W(\phi(x_i), \phi(x_j)),

    with W the weights of the graph and :math:`\phi` the choice of columns, or the transformer. It is fitted to the rows that
    the estimator is fitted to, without y. For example, ``LPP(graph=On(PCA(0.98), KNN(5)), pca=0.98)`` is Laplacianfaces as X.
    He's thesis has them: neighbours are found after PCA has taken away the noise. The rows are those that were passed to
    ``fit``, so that dividing columns (``standardize=``) changes nothing here.

    Parameters
    ----------
    what : columns, function or transformer
        What the graph looks at. Columns are given by place, or by name in a data frame: one or a list of them, a slice or a
        mask. A function of X returns columns, as :func:`sklearn.compose.make_column_selector` does. A transformer may be any
        of scikit-learn that needs no y; it is given the data frame, if X is one. The transformer that you pass stays as it
        is: the fitted one is ``graph_.what`` of the estimator.
    graph : Graph
        The graph that is built on these columns. With ``metric="precomputed"`` they hold the distances of the rows.
    beside : bool, default=False
        Whether the columns stand beside the features, for the graph alone, as coordinates in space, times and the names of rows
        do. The map is then one of the other columns, and ``components_`` are 0 at these.

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

    what: Any  # one of many types, which are told apart by what they can do

    def __init__(
        self, what: Hashable | slice | ArrayLike | Callable | BaseEstimator, graph: Graph, *, beside: bool = False
    ):
        self.what = what
        self.graph = graph
        self.beside = beside

    reads_labels = property(lambda self: self._inner.reads_labels)
    reads_targets = property(lambda self: self._inner.reads_targets)
    counts_pairs = property(lambda self: self._inner.counts_pairs)
    indexes_rows = property(lambda self: self._inner.indexes_rows)
    is_laplacian = property(lambda self: self._inner.is_laplacian)
    is_semidefinite = property(lambda self: self._inner.is_semidefinite)
    learns = True
    _unnamed = 2

    def _parts(self) -> Signed | None:
        """The graphs of a sum, each on the same columns; None where the graph is not a sum."""
        signed = self._inner.signed()
        if signed == [(1.0, self.graph)]:
            return None
        return [(c, On(self.what, leaf, beside=self.beside)) for c, leaf in signed]

    @property
    def _inner(self) -> Graph:
        if not isinstance(self.graph, Graph):
            raise ValueError(f"graph={self.graph!r} must be a graph, such as KNN(5)")
        return self.graph

    @property
    def _is_learnt(self) -> bool:
        return hasattr(self.what, "fit") and hasattr(self.what, "transform")

    def view(self, data: Rows) -> Rows:
        """The rows that the graph is built on. All graphs on the same columns share one object."""
        return data.once(("on", id(self.what)), lambda: self._viewed(data))[0]

    def _viewed(self, data: Rows) -> tuple[Rows, Any, Any]:
        """The rows that the graph sees, what made them, and what was asked for.

        The last is kept so that Python does not give its id to another object.
        """
        if not data.has_features:
            raise ValueError('On reads features, and with kernel="precomputed" X has none; use the graph alone')
        if self._is_learnt:
            learnt = self.what if data.is_learnt or data.n_fitted < data.n else _fitted(self.what, data)
            made = learnt.transform(_as_fitted(learnt, data))
            X = check_array(made, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=f"{learnt!r}")
            if X.shape[0] != data.n:
                raise ValueError(f"{learnt!r} made {X.shape[0]} rows of {data.n}; On needs one per row")
        else:
            learnt = places(data, "what", self.what)
            X = taken(data, learnt)
        view = Rows(X, host(data.y) if is_foreign(data.y) else data.y, n_fitted=data.n_fitted)
        view.ids = data.ids
        view.is_learnt = data.is_learnt
        if not self._is_learnt and data.frame is not None:
            view.frame = data.frame.iloc[:, learnt]
        if not self._is_learnt and learnt.size == 1:
            view.ids = np.asarray(X.toarray() if sparse.issparse(X) else X).ravel()
        return view, learnt, self.what

    def fitted(self, data: Rows) -> Graph:
        """The same graph with the fitted transformer, or with the places of its columns."""
        view, learnt, _ = data.once(("on", id(self.what)), lambda: self._viewed(data))
        what = learnt if self._is_learnt else [int(place) for place in learnt]
        data.once(("on", id(what)), lambda: (view, learnt, what))
        return On(what, self.graph.fitted(view), beside=self.beside)

    def beside_columns(self, data: Rows) -> np.ndarray:
        parts = [self, *self._inner.get_params().values(), self._inner]
        if not any(isinstance(part, On) and part.beside for part in parts):
            return super().beside_columns(data)
        if self._is_learnt:
            raise ValueError(
                f"beside=True is for columns of X, and {self.what!r} is a transformer of all of them; leave it out"
            )
        chosen = places(data, "what", self.what)
        return chosen if self.beside else chosen[self._inner.beside_columns(self.view(data))]

    def terms(self, data: Rows) -> list[Term]:
        return super().terms(data) if self._parts() is not None else self.graph.terms(self.view(data))

    def adjacency(self, data: Rows) -> Any:
        return self.graph.adjacency(self.view(data))

    def weights_at(self, data: Rows, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self.graph.weights_at(self.view(data), rows, cols)

    def term(self, W: sparse.csr_array) -> Term:
        return self.graph.term(W)

    def searches(self) -> list[Search]:
        return self.graph.searches()

    def require_blocks(self, n: int) -> None:
        raise ValueError(
            "On builds its graph on other rows than those of X, and X is read in blocks; pass X as an array, or leave On out"
        )

    def resolved(self, data: Rows) -> Graph:
        return On(self.what, self.graph.resolved(self.view(data)), beside=self.beside)

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        return self.graph.new_links(self.view(both))


def _fitted(transformer: Any, data: Rows) -> Any:
    """A copy of the transformer, fitted to the rows as they were passed: a ColumnTransformer may ask for the names of columns."""
    steps = [step for _, step in transformer.steps] if isinstance(transformer, Pipeline) else [transformer]
    if any(get_tags(step).target_tags.required for step in steps if hasattr(step, "__sklearn_tags__")):
        raise ValueError(
            f"what={transformer!r} learns from y, and On fits transformers without it; use one that needs no y, such as PCA, or "
            "put this one before the estimator in a pipeline"
        )
    try:
        return clone(transformer).fit(data.given if data.frame is None else data.frame)
    except (ArithmeticError, RuntimeError) as error:  # as ARPACK's, where X is constant
        raise ValueError(f"what={transformer!r} cannot be fitted to X: {error}") from error


def _as_fitted(transformer: Any, data: Rows) -> Any:
    """The rows in the form that the transformer was fitted to: with names where it knows some."""
    names = getattr(transformer, "feature_names_in_", None)
    if data.frame is not None:
        return data.frame
    if names is None or find_spec("pandas") is None:
        return data.given
    frames: Any = import_module("pandas").DataFrame
    return (frames.sparse.from_spmatrix if sparse.issparse(data.given) else frames)(data.given, columns=names)
