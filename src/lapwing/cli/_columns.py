"""Columns that a graph reads, by the names that the file has for them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from ._console import say


def placed(estimator: Any, prepared: Any) -> Any:
    """Give the graphs of the estimator their columns by place, so that the model takes rows without names.

    Returns
    -------
    Prepared
        With the columns beside the features, such as coordinates in space, in the units of the file.
    """
    from ..graphs import Graph

    columns = Columns(prepared.table)
    given = estimator.get_params(deep=False)
    for name in ("graph", "penalty"):
        if isinstance(given.get(name), Graph):
            estimator.set_params(**{name: columns.placed(given[name])})
    if not prepared.is_scaled:
        return prepared
    if columns.scaled:
        say("the graph reads standardised columns (--standardize no leaves them as they are, beside=True those of On)")
    return prepared.unscaled(sorted(columns.beside)) if columns.beside else prepared


class Columns:
    """The columns of a table, and which of them graphs read."""

    def __init__(self, table: Any):
        self._names = table.feature_names
        self._n = table.X.shape[1]
        self.beside = set[int]()  # columns that only graphs read
        self.scaled = False  # whether a graph is built on columns that the map reads too

    def placed(self, graph: Any) -> Any:
        """The graph, with its columns given by place."""
        return self._placed(graph, list(range(self._n)))

    def _placed(self, graph: Any, columns: list[int] | None) -> Any:
        """The same for a part of a graph, which sees ``columns``; None where a transformer made other columns of them."""
        from ..graphs import Chain, Graph, On

        given = graph.get_params(deep=False)
        if isinstance(graph, On) and hasattr(graph.what, "fit"):
            columns = None
        elif isinstance(graph, On):
            given["what"], columns = self._chosen(graph, columns)
        elif isinstance(graph, Chain):
            given |= {name: self._place(name, given[name], columns) for name in ("time", "series")}
        inner = {name: self._placed(part, columns) for name, part in given.items() if isinstance(part, Graph)}
        return type(graph)(**given | inner)

    def _chosen(self, graph: Any, columns: list[int] | None) -> tuple[Any, list[int] | None]:
        """The columns of an On by place, and their places in the table."""
        import numpy as np

        many = isinstance(graph.what, list | tuple)
        what = [self._place("what", one, columns) for one in (graph.what if many else [graph.what])]
        if columns is None:
            return what, None
        try:
            found = np.array(columns)[what].tolist()
        except IndexError:
            return what, None  # the graph itself raises, and says what is wrong
        if graph.beside:
            self.beside.update(found)
        else:
            self.scaled = True
        return what, found

    def _place(self, what: str, column: Any, columns: list[int] | None) -> Any:
        if not isinstance(column, str):
            return column
        if columns is None or self._names is None:
            raise ValueError(
                f"{what}={column!r} is the name of a column, and these have no names; give its place, from 0"
            )
        names = [self._names[j] for j in columns]
        if column not in names:
            close = get_close_matches(column, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(map(repr, names[:10]))}"
            raise ValueError(f"{what}={column!r} is no column that the graph sees; {hint}")
        return names.index(column)
