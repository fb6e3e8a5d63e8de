"""Rows that are read in blocks: whether a fit can take them so, or needs all of them in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags

from .._labels import class_codes
from ..data import Data, validated
from ..graphs import Graph


class AllRowsError(ValueError):
    """Raised where a graph needs all rows in memory."""


def in_blocks(estimator: Any, data: Any) -> Data:
    """Rows in blocks that know what will be asked of them, or all rows where blocks are not enough and rows fit."""
    array = data.X.array
    if data.weights is not None and data.fits:
        return all_rows(estimator, data)
    try:
        _require_blocks(estimator, getattr(estimator, "graph", None), getattr(estimator, "penalty", None))
        graphs = estimator._graphs(data)
        _require_blocks(estimator, graphs.graph, graphs.penalty)
        data.require_room(graphs.requests)
    except ValueError as error:
        if data.fits or (isinstance(error, AllRowsError) and array is not None):
            return all_rows(estimator, data, None if data.fits else array)
        raise
    codes = None
    if get_tags(estimator).target_tags.required or graphs.reads_labels:
        codes = class_codes(data.X.labels(data.y), data.n)[0]
        codes = codes.astype(np.min_scalar_type(-int(codes.max()) - 1))
        # A row of weight 0 counts as absent and has no class.
        codes = codes if data.weights is None else np.where(data.weights > 0, codes, -1)
    weighs = any(leaf.weighs_classes for leaf in graphs.leaves if leaf.reads_labels and not leaf.requests())
    return data.having(codes, graphs.requests, codes is not None and weighs)


def all_rows(estimator: Any, data: Any, array: Any = None) -> Data:
    """All rows, loaded, or as the array that a memory map is."""
    X = data.X.load() if array is None else array
    loaded = validated(estimator, X, data.X.labels(data.y), data.weights)
    loaded.given = data.given
    return loaded


def _require_blocks(estimator: Any, graph: Any, penalty: Any) -> None:
    """Raise where a graph needs all rows, and name the parameter that it belongs to."""
    for name, given in (("graph", graph), ("penalty", penalty)):
        why = given.why_all_rows() if isinstance(given, Graph) else None
        if why is not None:
            raise AllRowsError(f"{name}={given!r} of {type(estimator).__name__} cannot be built: {why}")
