"""Files of one matrix, dense or sparse: NumPy, Matrix Market, svmlight."""

from __future__ import annotations

import io
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._validation import check_compressed
from .files import check_file, check_memory, limit, readable, unpacked
from .table import Table, Wanted, batch_rows, float_type, roles_of

NUMPY = "NumPy file of numbers"
ZIP = b"PK"
SPARSE = frozenset(["format", "shape", "data", "indices", "indptr", "row", "col", "offsets", "coords"])


def read_npy(path: str, wanted: Wanted) -> Iterator[Table]:
    X = _mapped(path)
    if X.ndim < 2:
        raise ValueError(f"{path}: an array of shape {X.shape}; rows and columns are needed")
    labels = _labels(path, wanted.label, X.shape, columns=X.ndim == 2)
    rows = batch_rows(int(np.prod(X.shape[1:])))
    for start in range(0, len(X), rows):
        # The file is mapped again for each part, so that the pages of earlier rows do not stay in memory.
        yield from _matrix(path, _mapped(path)[start : start + rows], wanted, labels, start)


def _mapped(path: str) -> np.ndarray:
    """The array of a ``.npy`` file. Nothing of it is in memory yet."""
    if _signature(path) == ZIP:
        raise ValueError(f"{path}: not a readable NumPy file of one array; it looks like several, which are named .npz")
    with readable(path, NUMPY):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _signature(path: str) -> bytes:
    """The first bytes of a file. NumPy would take a file that does not begin like one of its own for a pickle."""
    check_file(path)
    with open(path, "rb") as file:
        start = file.read(6)
    if not start.startswith((b"\x93NUMPY", ZIP)):
        raise ValueError(f"{path}: not a NumPy file, which numpy.save or numpy.savez writes")
    return start[:2]


@contextmanager
def _archive(path: str) -> Iterator[Any]:
    if _signature(path) != ZIP:
        raise ValueError(f"{path}: not a readable NumPy file of several arrays; it looks like one, which is named .npy")
    with open(path, "rb") as stream:  # opened here, since NumPy would leave it open where it is not an archive
        with readable(path, NUMPY):
            file = np.load(stream, allow_pickle=False)
        yield file


def _arrays(path: str, file: Any, names: Any) -> dict[str, np.ndarray]:
    """Those of the named arrays that an archive holds."""
    names = [name for name in file.files if name in names]
    _check_size(path, file, names)
    with readable(path, NUMPY):
        found = {name: file[name] for name in names}
        for name, values in found.items():
            if not isinstance(values, np.ndarray):
                raise ValueError(f"{name} is no array")
    return found


def _check_size(path: str, file: Any, names: Iterable[str]) -> None:
    """Raise before memory is taken for the arrays of an archive, where they are too large."""
    with readable(path, NUMPY):
        size = sum(_size(file, name) for name in names)
    check_memory(path, size, os.path.getsize(path))


def _size(file: Any, name: str) -> int:
    """The size of an array in bytes, as its header says. Raise where the archive holds more or less than that."""
    member = file.zip.getinfo(f"{name}.npy" if f"{name}.npy" in file.zip.namelist() else name)
    with file.zip.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size > member.file_size:
        raise ValueError(f"{name} has shape {shape}, more than there are values")
    return size


def read_npz(path: str, wanted: Wanted) -> Iterator[Table]:
    with _archive(path) as file:
        names = ", ".join(file.files) or "nothing"
        is_sparse = {"format", "shape", "data"} <= set(file.files)  # the keys that scipy.sparse.save_npz writes
        used = {"X", "data", "y", "target", "image_shape", wanted.label, wanted.id}
        keys = {} if is_sparse else _arrays(path, file, used)
        if is_sparse:
            _check_size(path, file, SPARSE & set(file.files))
    if is_sparse:
        yield from _sparse(path, _sparse_npz(path), wanted)
        return
    X = keys.get("X", keys.get("data"))
    if X is None or X.ndim < 2:
        raise ValueError(f"{path}: no two-dimensional array X or data in it; it has {names}")
    named = [key for key in (wanted.label, "y", "target") if key in keys]
    y = None
    if named and (wanted.label is None or wanted.label in keys):
        y = _check_values(keys[named[0]], len(X), f"{path}: {named[0]}")
    labels = _labels(path, wanted.label, X.shape, columns=X.ndim == 2) if y is None else y
    ids = keys.get(wanted.id or "")
    if ids is not None:
        ids, wanted = _check_values(ids, len(X), f"{path}: {wanted.id}"), replace(wanted, id=None)
    if X.ndim == 2 and "image_shape" in keys:
        with readable(path, NUMPY):
            X = X.reshape(len(X), *keys["image_shape"])
    for table in _matrix(path, X, wanted, labels, 0):
        yield table if ids is None else replace(table, ids=ids)


def _sparse_npz(path: str) -> Any:
    """The sparse matrix of a file. Its indices are checked first, since neither SciPy nor scikit-learn checks them."""
    with readable(path, "sparse matrix"):
        X = sparse.load_npz(path)
        if X.ndim != 2 or min(X.shape) < 0:
            raise ValueError(f"its shape is {X.shape}; rows and columns are needed")
        check_memory(path, 16 * X.shape[0], os.path.getsize(path))
        if X.format in ("csr", "csc", "bsr"):
            check_compressed(X)
        if X.format == "dia" and (np.abs(X.offsets) >= max(X.shape)).any():
            raise ValueError("a diagonal lies outside of it")
        return sparse.csr_array(X)


def _check_values(values: np.ndarray, n: int, where: str) -> np.ndarray:
    """Labels or identifiers, which must be one per row, and numbers or text."""
    if values.shape != (n,):
        raise ValueError(f"{where}: shape {values.shape}, but there are {n} rows; one value per row is needed")
    if values.dtype.kind not in "fiubUM":
        raise ValueError(f"{where}: an array of {values.dtype}; numbers or text are needed")
    return values


def _matrix(path: str, X: np.ndarray, wanted: Wanted, labels: np.ndarray | None, start: int) -> Iterator[Table]:
    """Rows of an array of images, or of an array whose columns are numbered."""
    _check_numbers(path, X)
    if 0 in X.shape[1:]:
        raise ValueError(f"{path}: an array of shape {X.shape}; columns are needed")
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
    """Labels from a file of their own; None where there are no labels, or where they are a column."""
    if label is None or (columns and re.fullmatch(r"-?\d+", label)):
        return None
    if not os.path.exists(label):
        raise ValueError(f"{path}: label={label!r}: neither a number of a column nor a file of labels, one per row")
    check_file(label)
    if label.endswith(".npy"):
        y = np.array(_mapped(label))
    elif label.endswith(".npz"):
        with _archive(label) as file:
            names = [*(name for name in file.files if name == "y"), *file.files]
            arrays = _arrays(label, file, names[:1])
        if not arrays:
            raise ValueError(f"{label}: nothing in it; labels are needed")
        y = arrays[names[0]]
    else:
        with readable(label, "file of labels in UTF-8"):
            lines = Path(label).read_text(encoding="utf-8").split("\n")
        while len(lines) > shape[0] and lines[-1] == "":
            del lines[-1]  # the empty piece after the last line
        check_memory(label, 4 * len(lines) * max(map(len, lines), default=0), os.path.getsize(label))
        y = np.array(lines)
    return _check_values(y, shape[0], f"{path}: labels in {label}")


def _sparse(path: str, X: Any, wanted: Wanted, y: np.ndarray | None = None) -> Iterator[Table]:
    if wanted.id is not None or wanted.drop:
        raise ValueError(f"{path}: columns of a sparse matrix cannot serve as id, nor be dropped; convert the file")
    if wanted.label is not None:
        y = _labels(path, wanted.label, X.shape)
    _check_numbers(path, X)
    if 0 in X.shape:
        raise ValueError(f"{path}: a matrix of shape {X.shape}; rows and columns are needed")
    columns = f"a row of {X.shape[1]:,} columns"
    check_memory(path, 16 * X.shape[1], os.path.getsize(path), columns)  # no fit needs less
    X = X.astype(float_type([X.dtype]))
    X.sum_duplicates()
    # Indices of 32 bits take half the memory, and scikit-learn asks for them.
    if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    yield Table(X, y)


def read_matrix_market(path: str, wanted: Wanted) -> Iterator[Table]:
    with readable(path, "Matrix Market file"):
        X = _market(path)
    if sparse.issparse(X):
        yield from _sparse(path, X, wanted)
    else:
        yield from _matrix(path, X, wanted, _labels(path, wanted.label, X.shape, columns=True), 0)


#: Reads a matrix from standard input, and writes it to standard output as .npz or .npy. The argument is the memory it may take.
MARKET = """
import io, sys
import numpy
from scipy import io as files, sparse

content = sys.stdin.buffer.read()
rows, columns, entries, form, field, symmetry = files.mminfo(io.BytesIO(content))
if field == "complex":
    raise ValueError("an array of complex numbers; real ones are needed")
if symmetry != "general" and rows != columns:
    raise ValueError(f"a {symmetry} matrix of {rows:,} rows and {columns:,} columns")
needed = 16 * rows + (8 * rows * columns if form == "array" else 24 * entries)
if needed > int(sys.argv[1]):
    sys.exit(f"MemoryError: {needed}")
if form == "array":
    lines = sum(bool(line.strip()) and not line.startswith(b"%") for line in content.splitlines()) - 1
    own = rows * columns if symmetry == "general" else rows * (rows + (1 if symmetry != "skew-symmetric" else -1)) // 2
    if lines != own:
        raise ValueError(f"{own:,} lines of numbers are announced, but there are {lines:,}")
X = files.mmread(io.BytesIO(content))
found = io.BytesIO()
sparse.save_npz(found, sparse.csr_array(X), compressed=False) if sparse.issparse(X) else numpy.save(found, X)
sys.stdout.buffer.write(found.getvalue())
"""


def _market(path: str) -> Any:
    """The matrix of a Matrix Market file.

    SciPy reads it in a process of its own, since damaged files can end the process, such as one that ends in a blank.
    """
    with unpacked(path) as stream:
        content = stream.read() + b"\n"
    size = os.path.getsize(path)
    command = [sys.executable, "-P", "-c", MARKET, str(limit(size))]
    done = subprocess.run(command, input=content, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it ends SciPy's reader"]
        kind, _, why = lines[-1].partition(": ")
        if kind == "MemoryError" and why.isdigit():
            check_memory(path, int(why), size)
        raise ValueError(why or kind)
    found = io.BytesIO(done.stdout)
    return sparse.load_npz(found) if done.stdout.startswith(ZIP) else np.load(found)


def read_svmlight(path: str, wanted: Wanted) -> Iterator[Table]:
    from sklearn.datasets import load_svmlight_file

    try:
        with readable(path, "svmlight file"), unpacked(path) as stream:
            X, y = load_svmlight_file(stream, n_features=wanted.n_features, zero_based=wanted.zero_based)
    except ValueError as error:
        hint = "; features seem to be counted from 0: --zero-based" if "index 0" in str(error) else ""
        raise ValueError(f"{error}{hint}") from error
    yield from _sparse(path, sparse.csr_array(X), wanted, y)
