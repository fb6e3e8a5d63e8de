"""Graphs: what building one takes beside its search, and the matrix that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..graphs import (
    KNN,
    ClosestPairs,
    CodingLength,
    Complete,
    Graph,
    Intersection,
    OtherClass,
    Precomputed,
    Reconstruction,
    Repulsion,
    SameClass,
    TangentAlignment,
)
from ..graphs._patches import ENTRIES
from ..operators import BLOCK_BYTES
from ._searches import n_queries
from ._sizes import Data, Matrix, Part, Work, entry_of

# What depends on the data, as it mostly is (benchmarks/cost.py):
SYMMETRIC = 1.6  # entries of a symmetric neighbour graph for each directed edge
PATCH_LINKS = 3.0  # entries a row of aligned patches for each of their points

Built = tuple[list[Part], Matrix]


def graph_parts(graph: Graph, data: Data) -> tuple[list[Part], list[tuple[float, Matrix]]]:
    """The parts of building a graph, and its terms."""
    parts, terms = [], []
    for coefficient, leaf in graph.signed():
        found, matrix = _leaf(leaf, data)
        parts += found
        terms.append((coefficient, matrix))
    return parts, terms


def _leaf(graph: Graph, data: Data) -> Built:
    return entry_of(LEAVES, graph, "graph")(graph, data)


def _edges(graph: Any, data: Data) -> tuple[int, int]:
    """Rows whose neighbours are searched, and directed edges from them."""
    (search,) = graph.searches()
    rows = n_queries(search, data.n)
    return rows, rows * min(search.n_neighbors, data.n - 1)


def _linked(edges: float, more: Work | None = None) -> Built:
    """Edges made symmetric: about 100 bytes an edge on the way, and the weights twice in the end."""
    entries = SYMMETRIC * edges
    work = {"links": 1.5 * edges, "calls": 25.0, **(more or {})}
    return [Part("graph", work, 24 * entries, 60 * edges)], Matrix(entries=entries, diagonal="uneven")


def _knn(graph: KNN, data: Data) -> Built:
    _, edges = _edges(graph, data)
    dots = isinstance(graph.weights, str) and graph.weights in ("dot", "cosine")
    return _linked(edges, {"links" if data.is_sparse else "elements": 2 * edges * data.row} if dots else None)


def _repulsion(graph: Repulsion, data: Data) -> Built:
    """Half of the edges, say, join other classes."""
    _, edges = _edges(graph, data)
    return _linked(edges / 2, {"elements": edges * data.row})


def _closest_pairs(graph: ClosestPairs, data: Data) -> Built:
    """All candidates are sorted; few are left."""
    parts, _ = _linked(_edges(graph, data)[1])
    return parts, Matrix(entries=2.0 * graph.n_pairs * data.n_classes, diagonal="uneven")


def _factor(rows: float, points: float, data: Data, diagonal: str | None = None) -> Matrix:
    """A factor of a column for each of so many rows."""
    if 2 * rows <= data.n:
        return Matrix(thin=rows * points, columns=rows, diagonal=diagonal)
    return Matrix(wide=rows * points, diagonal=diagonal)


def _reconstruction(graph: Reconstruction, data: Data) -> Built:
    """Local Gram matrices, and a small system each."""
    rows, edges = _edges(graph, data)
    k = graph.n_neighbors
    work = {"links": 2.0 * edges, "cubes": 1.0 * rows * k**3}
    if data.is_sparse:
        work["links"] += 0.5 * edges * k * data.row
    else:
        work |= {"elements": 8.0 * edges * data.d, "products64": 12.0 * edges * k * data.d}
    return [Part("graph", work, 60 * edges, 40 * edges + 3 * BLOCK_BYTES)], _factor(rows, k + 1, data)


def _coding_length(graph: CodingLength, data: Data) -> Built:
    parts, rows, points = _patches(graph, data)
    return parts, _factor(rows, points, data, "uneven")


def _tangents(graph: TangentAlignment, data: Data) -> Built:
    parts, rows, points = _patches(graph, data)
    entries, local = PATCH_LINKS * rows * points, rows * points**2
    aligned = Part("graph", {"cubes": 24.0 * local, "links": 1.2 * local}, 12 * entries, 56 * min(local, ENTRIES))
    return [*parts, aligned], Matrix(entries=entries, diagonal="constant")


def _patches(graph: Any, data: Data) -> tuple[list[Part], float, int]:
    """The patches and their weights, determinants of the smaller of two matrices each; how many, and of how many points."""
    _, edges = _edges(graph, data)
    rows, points = edges / graph.n_neighbors, graph.n_neighbors + 1
    work = {"elements": 4 * rows * points * data.row, "links": 1.0 * rows * points}
    if data.is_sparse:
        work["links"] += 0.5 * rows * points**2 * data.row
    else:
        work["products64"] = 8.0 * rows * points**2 * data.d
    if graph.weights == "coding_length":
        work["cubes"] = 3.0 * rows * min(points, data.d) ** 3
    return [Part("graph", work, 40 * rows * points, 4 * BLOCK_BYTES)], rows, points


def _labels(n: int, held: float) -> list[Part]:
    """Rows put in the order of their classes."""
    return [Part("graph", {"calls": 25.0, "links": 1.0 * n}, held)]


def _same_class(graph: SameClass, data: Data) -> Built:
    if graph.weights != "heat":
        return _labels(data.n, 32.0 * data.n), Matrix(thin=data.n, columns=data.n_classes, diagonal="constant")
    pairs = data.n**2 / data.n_classes
    work = {"links": pairs / 2, "products64": 2 * pairs * data.row}
    return [Part("graph", work, 24 * pairs, 60 * pairs)], Matrix(entries=pairs, diagonal="uneven")


def _other_class(graph: OtherClass, data: Data) -> Built:
    return _labels(data.n, 48.0 * data.n), Matrix(thin=2 * data.n, columns=data.n_classes + 1, diagonal="uneven")


def _complete(graph: Complete, data: Data) -> Built:
    if graph.weights != "uniform":
        raise ValueError(f'graph={graph!r} has no estimate; there is one for weights="uniform"')
    return [Part("graph", {"calls": 20.0}, 24.0 * data.n)], Matrix(thin=data.n, columns=1, diagonal="constant")


def _precomputed(graph: Precomputed, data: Data) -> Built:
    if np.shape(graph.W) != (data.n, data.n):
        raise ValueError(
            f"graph= holds a matrix of shape {np.shape(graph.W)}, but shape=({data.n}, {data.d}) has {data.n} samples; give "
            f"one of shape {(data.n, data.n)}"
        )
    entries = float(graph.W.nnz if sparse.issparse(graph.W) else np.count_nonzero(graph.W))
    parts = [Part("graph", {"links": entries, "calls": 20.0}, 24 * entries, 24 * entries)]
    return parts, Matrix(entries=entries, diagonal="uneven")


def _intersection(graph: Intersection, data: Data) -> Built:
    """The left side's edges, each looked up on the right; half of them, say, are kept."""
    parts, matrix = _leaf(graph.left, data)
    looked_up = Part("graph", {"links": 0.5 * matrix.entries}, 12 * matrix.entries, 24 * matrix.entries)
    return [*parts, looked_up], matrix._replace(entries=matrix.entries / 2)


LEAVES: dict[type, Callable[[Any, Data], Built]] = {
    KNN: _knn,
    Repulsion: _repulsion,
    ClosestPairs: _closest_pairs,
    Reconstruction: _reconstruction,
    CodingLength: _coding_length,
    TangentAlignment: _tangents,
    SameClass: _same_class,
    OtherClass: _other_class,
    Complete: _complete,
    Precomputed: _precomputed,
    Intersection: _intersection,
}
