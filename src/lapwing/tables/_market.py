"""Matrix Market: a header, sizes, and one entry per line.

It is read here because SciPy's own reader ends the whole process on some damaged files, such as one that ends in a blank.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from ._files import check_memory, unpacked

FIELDS = {"real": 1, "double": 1, "integer": 1, "unsigned-integer": 1, "pattern": 0, "complex": 2}
SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": -1, "hermitian": 1}


def read_market(path: str) -> Any:
    """The matrix, as a CSR array where the file lists coordinates, and else as a dense array."""
    with unpacked(path) as stream:
        form, field, symmetry = _header(stream.readline())
        lines = (line for line in stream if line.strip() and not line.startswith(b"%"))
        sizes = _sizes(next(lines, b""), 2 if form == "array" else 3)
        check_memory(path, 16 * sizes[0], os.path.getsize(path))
        read = _dense if form == "array" else _coordinates
        return read(lines, sizes, FIELDS[field], SYMMETRIES[symmetry])


def _header(line: bytes) -> tuple[str, str, str]:
    words = line.decode("ascii", errors="replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"] or words[2] not in ("array", "coordinate"):
        raise ValueError("it does not begin with %%MatrixMarket matrix")
    if words[3] not in FIELDS or words[4] not in SYMMETRIES or (words[2] == "array" and words[3] == "pattern"):
        raise ValueError(f"unknown kinds in its first line: {' '.join(words[2:])}")
    if words[3] == "complex":
        raise ValueError("an array of complex numbers; real ones are needed")
    return words[2], words[3], words[4]


def _sizes(line: bytes, count: int) -> list[int]:
    words = line.split()
    if len(words) != count or not all(word.isdigit() for word in words):
        raise ValueError(f"{count} sizes are needed after its first line")
    return [int(word) for word in words]


def _numbers(lines: Iterator[bytes], columns: int, rows: int) -> np.ndarray:
    """A table of numbers, which must have exactly so many rows."""
    first = next(lines, None)  # checked here, since NumPy warns where there are no lines
    found = np.empty((0, columns)) if first is None else np.loadtxt(chain([first], lines), comments=None, ndmin=2)
    if found.shape != (rows, columns):
        was = f"{found.shape[0]:,} of {found.shape[1]}"
        raise ValueError(f"{rows:,} lines of {columns} numbers are announced, but there are {was}")
    return found


def _coordinates(lines: Iterator[bytes], sizes: list[int], values: int, symmetry: int) -> Any:
    found = _numbers(lines, 2 + values, sizes[2])
    places, data = found[:, :2], found[:, 2] if values else np.ones(len(found))
    if ((places < 1) | (places > sizes[:2]) | (places != np.round(places))).any():
        raise ValueError(f"an entry lies outside of its {sizes[0]:,} rows and {sizes[1]:,} columns")
    i, j = places.T.astype(np.int64) - 1
    if symmetry:
        _check_square(sizes)
        beside = i != j
        i, j = np.concatenate([i, j[beside]]), np.concatenate([j, i[beside]])
        data = np.concatenate([data, symmetry * data[beside]])
    return sparse.csr_array(sparse.coo_array((data, (i, j)), shape=(sizes[0], sizes[1])))


def _dense(lines: Iterator[bytes], sizes: list[int], values: int, symmetry: int) -> np.ndarray:
    """The entries of a dense matrix, which the file lists by columns.

    A symmetric matrix lists only those at and below the diagonal, and a skew-symmetric one those below it.
    """
    n, d = sizes
    if not symmetry:
        return _numbers(lines, values, n * d).reshape(d, n).T
    _check_square(sizes)
    found = _numbers(lines, values, n * (n + symmetry) // 2)
    X = np.zeros((n, n))
    X[np.triu_indices(n, k=int(symmetry < 0))] = found.ravel()  # the indices are those of the transpose
    return X.T + symmetry * np.triu(X, k=1)


def _check_square(sizes: list[int]) -> None:
    if sizes[0] != sizes[1]:
        raise ValueError(f"a symmetric matrix of {sizes[0]:,} rows and {sizes[1]:,} columns")
