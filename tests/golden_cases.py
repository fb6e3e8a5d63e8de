"""The cases of the golden suite.

Most cases are an estimator, written as a user would write it, a data set and labels, and this is their name: ``LPP(2, pca=None)
on tall, full``. Their tables are in ``golden_tables``, and their data in ``golden_data``. ``golden_tools`` has cases that are
programs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import golden_tables as tables
import numpy as np
from golden_compare import Record
from golden_data import FITTED, LABELS, NEW, OTHER_LABELS, Names, blobs, rows
from golden_record import Case, dense, described
from golden_tools import TOOLS
from sklearn import config_context


def _lines(table: str) -> list[str]:
    return [line.strip() for line in table.strip().splitlines()]


def _tolerance(expression: str, data: str) -> float:
    """1e-8; 1e-6 for what is iterated, Lanczos and conjugate gradients included; 1e-5 for float32."""
    if data == "float32":
        return 1e-5
    iterated = expression.startswith(tables.ITERATED) or "trace-ratio" in expression
    return 1e-6 if iterated or data in ("many digits", "roll", "large") else 1e-8


def labelled(name: str, y: np.ndarray) -> Any:
    """The labels of this name, made of classes."""
    return (LABELS | OTHER_LABELS)[name](y)


def _fit(family: str, expression: str, data: str, labels: str) -> Case:
    """The case of an estimator that is fitted to data with labels."""

    def run(names: Names) -> Record:
        X, new, y = rows(data)
        if expression.startswith("LPI") and data not in ("documents", "large") and family == "methods":
            X, new = abs(X), abs(new)  # documents have no negative entries
        model = names.made(expression)
        model.fit(X, labelled(labels, y))
        return described(model, X, new, 8 if data == "large" else 1)

    name = f"{expression} on {data}, {labels}"
    return Case(name, family, run, _tolerance(expression, data), ("pandas",) if data == "frame" else ())


# ------------------------------------------------------------------------------------------------- rows of other kinds


def _weighted(expression: str) -> Case:
    def run(names: Names) -> Record:
        X, new, y = rows("tall")
        weights = np.random.RandomState(0).randint(0, 4, len(X)) / 2
        return described(names.made(expression).fit(X, y, sample_weight=weights), X, new)

    return Case(f"{expression} with sample_weight", "rows", run)


BATCHES = {"in order": slice(None), "backwards": slice(None, None, -1), "by class": None}


def _streamed(expression: str, order: str) -> Case:
    def run(names: Names) -> Record:
        X, new, y = rows("tall")
        chosen = np.argsort(y, kind="stable") if order == "by class" else np.arange(len(X))[BATCHES[order]]
        model = names.made(expression)
        for start, stop in ((0, 7), (7, 8), (8, 33), (33, len(X))):
            part = chosen[start:stop]
            model.partial_fit(X[part], y[part], sample_weight=1 + part % 2)
        return described(model, X, new)

    return Case(f"{expression} by partial_fit, {order}", "rows", run)


def _memmap(X: np.ndarray, folder: Path) -> Any:
    X.tofile(folder / "X.bin")
    return np.memmap(folder / "X.bin", X.dtype, "r", shape=X.shape)


def _zarr(X: np.ndarray, folder: Path) -> Any:
    import zarr

    return zarr.array(X, chunks=(37, X.shape[1]))


def _dask(X: np.ndarray, folder: Path) -> Any:
    import dask.array as da

    return da.from_array(X, chunks=(61, X.shape[1]))


BLOCKS: dict[str, tuple[Callable[[np.ndarray, Path], Any], tuple[str, ...]]] = {
    "memmap": (_memmap, ()),
    "Zarr": (_zarr, ("zarr",)),
    "Dask": (_dask, ("dask",)),
}


def _in_blocks(expression: str, kind: str) -> Case:
    made, needs = BLOCKS[kind]

    def run(names: Names) -> Record:
        X, y = blobs(1000 + NEW, 6, 13)
        blocks = made(X[:-NEW], names.folder)
        with config_context(working_memory=0.9 * X.nbytes / 2**20), _at_once(kind):
            model = names.made(expression).fit(blocks, y[:-NEW])
            found = described(model, None, X[-NEW:])
            place = "0/fitted" if "0/new" in found.arrays else "fitted"
            found.arrays[place] = np.asarray(model.transform(blocks))[::97]
        return found

    return Case(f"{expression} on {kind}", "rows", run, needs=needs)


def _at_once(kind: str) -> Any:
    """Dask computes in this thread."""
    if kind != "Dask":
        return contextlib.nullcontext()
    import dask

    return dask.config.set(scheduler="synchronous")


def _many_blocks(names: Names) -> Record:
    """More rows than fit in one block of any size that is sensible."""
    X, y = blobs(200_000, 6, 14)
    with config_context(working_memory=4):
        model = names.made("LPP(2, graph=KNN(4, queries=30) + SameClass())").fit(_memmap(X, names.folder), y)
    return described(model, X)


def _on_tensors(expression: str, dtype: type = np.float64) -> Case:
    def run(names: Names) -> Record:
        import torch

        X, new, y = rows("digits")
        X, new = (torch.from_numpy((array + 0.01 * _noise(array)).astype(dtype)) for array in (X, new))
        if "torch" in expression:
            X, new = X.numpy(), new.numpy()
        model = names.made(expression).fit(X, y)
        found = described(names["to_numpy"](model), None, None)
        for name, given in (("fitted", X[:FITTED]), ("new", new)):
            Z = model.transform(given)
            found.facts["dtype"], found.facts["kind"] = str(Z.dtype), type(Z).__name__
            if expression.startswith("TSA"):  # the sign of a coordinate is that of several modes
                found.arrays[name] = np.abs(dense(Z))
            else:
                found.arrays[f"0/{name}" if "0/eigenvalues" in found.arrays else name] = dense(Z).astype(np.float64)
        return found

    single = dtype is np.float32
    tol = 1e-5 if single else 1e-6 if expression.startswith(tables.ITERATED) else 1e-8
    name = f"{expression} on tensors{' of float32' if single else ''}"
    return Case(name, "rows", run, tol, ("torch",))


def _noise(X: np.ndarray) -> np.ndarray:
    return np.random.RandomState(1).rand(*X.shape)


@cache
def cases() -> dict[str, Case]:
    """All cases by name."""
    found: list[Case] = []
    for method, data, labels, graph in tables.crossed():
        expression = tables.CROSSED_METHODS[method].format("" if graph is None else f", graph={graph}")
        found.append(_fit("methods", expression, data, labels))
    for family, table, made in (
        ("options", tables.OPTIONS, "{}"),
        ("graphs", tables.GRAPHS, "LPP(2, graph={}, pca=None)"),
        ("graphs", tables.FREE_GRAPHS, "LaplacianEigenmaps(2, graph={})"),
        ("options", tables.ERRORS, "{}"),
    ):
        for (data, labels), lines in table.items():
            found += [_fit(family, made.format(line), data, labels) for line in _lines(lines)]
    found += [_weighted(expression) for expression in _lines(tables.WEIGHTED)]
    found += [_streamed(expression, order) for expression in _lines(tables.STREAMED) for order in BATCHES]
    found += [_in_blocks(expression, kind) for expression in _lines(tables.IN_BLOCKS) for kind in BLOCKS]
    found.append(Case("200,000 rows of a memmap", "rows", _many_blocks))
    found += [_on_tensors(expression) for expression in _lines(tables.TENSORS)]
    found += [_on_tensors(expression, np.float32) for expression in ("LPP(3)", "MMC(3)", "LaplacianScore(5)")]
    return {case.name: case for case in [*found, *TOOLS]}
