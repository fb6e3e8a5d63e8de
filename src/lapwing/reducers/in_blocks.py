"""Rows that are read in blocks: whether a fit can take them so, or needs all of them in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags

from .. import data as memory
from .._labels import class_codes
from ..data import Data, validated


class AllRowsError(ValueError):
    """Raised where a graph needs all rows in memory."""


def in_blocks(estimator: Any, data: Any) -> Data:
    """Rows in blocks that know what will be asked of them, or all rows in memory where blocks are not enough and rows fit.

    A memory map is then the array that it is.
    """
    blocks = data.X
    if blocks.is_sparse and data.n <= memory.LARGE_SIDE:
        return all_rows(estimator, data)
    try:
        graphs = _graphs_in_blocks(estimator, data)
        ready = data.having(requests=graphs.requests)
        _require_links(estimator, graphs) if ready.is_large else ready.require_room()
    except ValueError as error:
        if isinstance(error, AllRowsError) and blocks.array is not None:
            return _as_array(estimator, data)
        if not data.fits:
            raise
        return all_rows(estimator, data)
    if data.weights is not None and data.fits:
        return all_rows(estimator, data)
    given = [graphs.graph] if graphs.penalty is None else [graphs.graph, graphs.penalty]
    if get_tags(estimator).target_tags.required or any(graph.reads_labels for graph in given):
        codes = class_codes(blocks.labels(data.y), data.n)[0]
        codes = codes.astype(np.min_scalar_type(-int(codes.max()) - 1))
        # A row of weight 0 counts as absent and has no class.
        ready = ready.having(codes=codes if data.weights is None else np.where(data.weights > 0, codes, -1))
    return ready


def all_rows(estimator: Any, data: Any) -> Data:
    """All rows, loaded."""
    loaded = validated(estimator, data.X.load(), data.X.labels(data.y), data.weights)
    loaded.given = data.given
    return loaded


def rows_of_kernel(estimator: Any, data: Any) -> Data:
    """All rows, where they fit. A kernel needs them all."""
    if data.X.array is not None:
        return _as_array(estimator, data)
    data.require_memory(type(estimator).__name__)
    return all_rows(estimator, data)


def _as_array(estimator: Any, data: Any) -> Data:
    return validated(estimator, data.X.array, data.y, data.weights)


def _graphs_in_blocks(estimator: Any, data: Any) -> Any:
    """The graphs of the estimator. Raise where one needs all rows, and name the parameter that the graph belongs to."""
    given = {name: getattr(estimator, name, None) for name in ("graph", "penalty")}
    for name, graph in given.items():  # before anything is learnt from the rows
        if hasattr(graph, "why_all_rows"):
            _require_blocks(estimator, name, graph)
    graphs = estimator._graphs(data)
    _require_blocks(estimator, "graph", graphs.graph)
    if graphs.penalty is not None:
        _require_blocks(estimator, "penalty", graphs.penalty)
    return graphs


def _require_blocks(estimator: Any, name: str, graph: Any) -> None:
    why = graph.why_all_rows()
    if why is not None:
        raise AllRowsError(f"{name}={graph!r} of {type(estimator).__name__} cannot be built: {why}")


def _require_links(estimator: Any, graphs: Any) -> None:
    """Raise where rows without links matter. Of sparse rows with many features only those with links are held."""
    given, graph = estimator.get_params(deep=False), graphs.graph
    unlinked = [leaf for _, leaf in graph.signed() if not leaf.requests()]
    truncated = not isinstance(given.get("pca"), str | None) or given.get("normalize") == "trace"
    if not estimator._reads_links_alone or unlinked or truncated or graphs.penalty is not None:
        raise ValueError(
            f"X has sparse rows in blocks, of more than {memory.LARGE_SIDE:,} features; LPP, LPI and LaplacianScore take them, "
            f'with graphs of neighbours and without pca=, penalty= and normalize="trace", and {estimator!r} is something else; '
            "use one of these, or X in memory"
        )
