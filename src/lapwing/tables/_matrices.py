"""Files of one matrix, dense or sparse: NumPy, Matrix Market, svmlight."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from ._table import Table, Wanted, batch_rows, float_type, roles_of


def read_npy(path: str, wanted: Wanted) -> Iterator[Table]:
    X = _loaded(path, mmap_mode="r")
    if X.ndim < 2:
        raise ValueError(f"{path}: an array of shape {X.shape}; rows and columns are needed")
    labels = _labels(path, wanted.label, X.shape, columns=X.ndim == 2)
    rows = batch_rows(int(np.prod(X.shape[1:])))
    for start in range(0, len(X), rows):
        # Mapped anew, so that the pages of earlier rows do not stay.
        yield from _matrix(path, _loaded(path, mmap_mode="r")[start : start + rows], wanted, labels, start)


def _loaded(path: str, **options: Any) -> Any:
    with open(path, "rb") as file:
        start = file.read(6)
    if not start.startswith((b"\x93NUMPY", b"PK")):  # which NumPy would take for a pickle
        raise ValueError(f"{path}: not a NumPy file, which numpy.save or numpy.savez writes")
    with _readable(path):
        return np.load(path, allow_pickle=False, **options)


@contextmanager
def _readable(path: str, kind: str = "NumPy file of numbers") -> Iterator[None]:
    """Errors that name the file."""
    try:
        yield
    except (ValueError, EOFError, OSError, BadZipFile, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the file, not of what is in it
            raise
        why = "it holds Python objects" if "allow_pickle" in str(error) else error
        raise ValueError(f"{path}: not a readable {kind} ({why})") from error


def read_npz(path: str, wanted: Wanted) -> Iterator[Table]:
    with _loaded(path) as file, _readable(path):
        if {"format", "shape", "data"} <= set(file.files):  # as scipy.sparse.save_npz writes
            X, keys = sparse.csr_array(sparse.load_npz(path)), {}
        else:
            used = {"X", "data", "y", "target", "image_shape", wanted.label, wanted.id}
            X, keys = None, {key: file[key] for key in file.files if key in used}
        names = ", ".join(file.files) or "nothing"
    if X is not None:
        yield from _sparse(path, X, wanted)
        return
    X = keys.get("X", keys.get("data"))
    if X is None or X.ndim < 2:
        raise ValueError(f"{path}: no two-dimensional array X or data in it; it has {names}")
    named = [key for key in (wanted.label, "y", "target") if key in keys]
    y = keys[named[0]] if named and (wanted.label is None or wanted.label in keys) else None
    labels = _labels(path, wanted.label, X.shape, columns=X.ndim == 2) if y is None else y
    ids = keys.get(wanted.id or "")
    wanted = replace(wanted, id=None) if ids is not None else wanted
    if X.ndim == 2 and "image_shape" in keys:
        X = X.reshape(len(X), *keys["image_shape"])
    for table in _matrix(path, X, wanted, labels, 0):
        yield table if ids is None else replace(table, ids=ids)


def _matrix(path: str, X: np.ndarray, wanted: Wanted, labels: np.ndarray | None, start: int) -> Iterator[Table]:
    """Rows of an array of images, or of one whose columns have numbers."""
    _check_numbers(path, X)
    y = None if labels is None else labels[start : start + len(X)]
    dtype = float_type([X.dtype])
    if X.ndim > 2:
        yield Table(np.array(X, dtype).reshape(len(X), -1), y, image_shape=X.shape[1:])
        return
    names = [str(j) for j in range(X.shape[1])]
    given = wanted if labels is None else replace(wanted, label=None)
    roles = roles_of(names, given, path, named=False)
    columns = [int(name) for name in roles.features]
    whole = X if len(columns) == X.shape[1] else X[:, columns]
    y = X[:, int(roles.label)].copy() if roles.label is not None else y
    yield Table(np.array(whole, dtype, order="C"), y, None if roles.id is None else X[:, int(roles.id)].copy())


def _check_numbers(path: str, X: Any) -> None:
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: an array of {X.dtype}; numbers are needed, not complex ones")


def _labels(path: str, label: str | None, shape: tuple[int, ...], columns: bool = False) -> np.ndarray | None:
    """Labels from a file of their own; None where there are none, or where they are a column."""
    if label is None or (columns and re.fullmatch(r"-?\d+", label)):
        return None
    if not os.path.exists(label):
        raise ValueError(f"{path}: label={label!r}: neither a number of a column nor a file of labels, one a row")
    if label.endswith(".npy"):
        y = _loaded(label)
    elif label.endswith(".npz"):
        with _loaded(label) as file:
            y = file["y" if "y" in file else file.files[0]]
    else:
        y = np.array(Path(label).read_text(encoding="utf-8").split("\n"))
        n = shape[0] if (y[shape[0] :] == "").all() else int(np.flatnonzero(y != "")[-1]) + 1
        y = y[:n]  # without the blank behind the last line
    if y.shape != shape[:1]:
        raise ValueError(
            f"{path}: {shape[0]} rows, but the labels in {label} have shape {y.shape}; one a row is needed"
        )
    return y


def _sparse(path: str, X: Any, wanted: Wanted, y: np.ndarray | None = None) -> Iterator[Table]:
    if wanted.id is not None or wanted.drop:
        raise ValueError(f"{path}: columns of a sparse matrix cannot serve as id, nor be dropped; convert the file")
    if wanted.label is not None:
        y = _labels(path, wanted.label, X.shape)
    _check_numbers(path, X)
    X = X.astype(float_type([X.dtype]))
    if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:  # half the memory, and scikit-learn asks for it
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    yield Table(X, y)


def read_matrix_market(path: str, wanted: Wanted) -> Iterator[Table]:
    from scipy.io import mmread

    with _readable(path, "Matrix Market file"):
        X = mmread(path)
    if sparse.issparse(X):
        yield from _sparse(path, sparse.csr_array(X), wanted)
    else:
        yield from _matrix(path, X, wanted, _labels(path, wanted.label, X.shape, columns=True), 0)


def read_svmlight(path: str, wanted: Wanted) -> Iterator[Table]:
    from sklearn.datasets import load_svmlight_file

    with open(path, "rb"):  # the system's own message where it cannot be read
        pass
    try:
        X, y = load_svmlight_file(path, n_features=wanted.n_features, zero_based=wanted.zero_based)
    except (ValueError, EOFError, OSError) as error:  # the last two where it is packed
        hint = "; features seem to be counted from 0: --zero-based" if "index 0" in str(error) else ""
        raise ValueError(f"{path}: not a readable svmlight file ({error}){hint}") from error
    yield from _sparse(path, sparse.csr_array(X), wanted, y)
