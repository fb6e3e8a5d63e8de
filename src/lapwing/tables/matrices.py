"""Files of one matrix, dense or sparse (NumPy, Matrix Market, svmlight), and folders of images with one sub-folder per class."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import mminfo
from sklearn.datasets import load_svmlight_file

from .._extras import require
from .._validation import check_compressed
from .table import Table, batch_rows, check_file, check_memory, known, readable, roles_of, unpacked

SPARSE = {"format", "shape", "data"}  # keys that scipy.sparse.save_npz writes
IMAGES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"])
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # others, such as EPS, may run programs
GREY = frozenset(["1", "L", "F", "I", "I;16", "I;16B", "I;16L", "I;16N"])  # Pillow's modes of one channel
DEEP = GREY - {"1", "L"}
PIXEL = 24  # bytes per pixel while an image is read: it is decoded, rotated, converted, and stored as float32


# NumPy


def read_numpy(path: str, wanted: Any) -> Iterator[Table]:
    """One array, which is mapped and never in memory whole, or an archive of arrays, dense or sparse."""
    with _loaded(path) as found:
        if not isinstance(found, np.ndarray):
            is_sparse = set(found.files) >= SPARSE
            yield _sparse(path, sparse.load_npz(path), wanted) if is_sparse else _of_archive(path, found, wanted)
            return
        y = _labels(path, wanted.label, found.shape)
        rows = batch_rows(int(np.prod(found.shape[1:])))
        for start in range(0, len(np.atleast_1d(found)), rows):
            yield _dense(path, found[start : start + rows], wanted, None if y is None else y[start : start + rows])


@contextmanager
def _loaded(path: str) -> Iterator[Any]:
    """The mapped array of a NumPy file, or its archive, whose entries may together not take more memory than is allowed."""
    check_file(path)
    with open(path, "rb") as stream, readable(path, "NumPy file of numbers"):
        if not stream.peek().startswith(b"PK"):
            yield np.lib.format.open_memmap(path, mode="r")
            return
        archive = np.load(stream, allow_pickle=False)
        check_memory(path, sum(entry.file_size for entry in archive.zip.infolist()), os.path.getsize(path))
        yield archive


def _of_archive(path: str, archive: Any, wanted: Any) -> Table:
    X = next((archive[name] for name in ("X", "data") if name in archive.files), np.empty(0))
    if np.ndim(X) < 2:
        raise ValueError(f"{path}: no two-dimensional array X or data in it; it has {', '.join(archive.files)}")
    X = X.reshape(len(X), *archive["image_shape"]) if "image_shape" in archive.files else X
    keys = [wanted.label] if wanted.label else ["y", "target"]
    label = next((key for key in keys if key in archive.files), None)
    y = _labels(path, wanted.label, X.shape) if label is None else _one_per_row(path, label, archive[label], len(X))
    ids = _one_per_row(path, wanted.id, archive[wanted.id], len(X)) if wanted.id in archive.files else None
    return _dense(path, X, wanted, y, ids)


def _one_per_row(path: str, where: str, values: np.ndarray, n: int) -> np.ndarray:
    """Labels or identifiers, which must be one per row, and numbers or text."""
    where = f"{path}: {where}"
    if values.shape != (n,):
        raise ValueError(f"{where}: shape {values.shape}, but there are {n} rows; one value per row is needed")
    if values.dtype.kind not in "fiubUM":
        raise ValueError(f"{where}: an array of {values.dtype}; numbers or text are needed")
    return values


def _dense(path: str, X: np.ndarray, wanted: Any, y: Any, ids: Any = None) -> Table:
    """Rows of an array of images, or of an array whose columns are numbered."""
    dtype = _float_type(path, X)
    if X.ndim > 2:
        return Table(np.array(X, dtype).reshape(len(X), -1), y, ids, image_shape=X.shape[1:])
    wanted = SimpleNamespace(**vars(wanted))
    wanted.label, wanted.id = wanted.label if y is None else None, wanted.id if ids is None else None
    names = [str(j) for j in range(X.shape[1])]
    roles = roles_of(names, wanted, path, named=False)
    y = y if roles.label is None else X[:, int(roles.label)].copy()
    ids = ids if roles.id is None else X[:, int(roles.id)].copy()
    whole = X if roles.features == names else X[:, [int(name) for name in roles.features]]
    return Table(np.array(whole, dtype, order="C"), y, ids)


def _float_type(path: str, X: Any) -> np.dtype:
    """The narrowest of float32 and float64 that holds the values of a matrix exactly. Raise where it has none."""
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: an array of {X.dtype}; numbers are needed, not complex ones")
    if X.ndim < 2 or 0 in X.shape:
        raise ValueError(f"{path}: an array of shape {X.shape}; rows and columns are needed")
    return np.dtype(np.float32 if np.result_type(np.float32, X.dtype) == np.float32 else np.float64)


def _labels(path: str, label: str | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """Labels from a file of their own; None where there are no labels, or where they are a column."""
    if label is None or (len(shape) == 2 and re.fullmatch(r"-?\d+", label)):
        return None
    if not os.path.exists(label):
        raise ValueError(f"{path}: label={label!r}: neither a number of a column nor a file of labels, one per row")
    check_file(label)
    if label.endswith(".npy"):
        with _loaded(label) as found:
            return _one_per_row(path, f"labels in {label}", np.array(found), shape[0])
    with readable(label, "file of labels in UTF-8"):
        lines = Path(label).read_text(encoding="utf-8").split("\n")
    while len(lines) > shape[0] and lines[-1] == "":
        del lines[-1]  # the empty piece after the last line
    return _one_per_row(path, f"labels in {label}", np.array(lines), shape[0])


# Sparse matrices


def _sparse(path: str, X: Any, wanted: Any, y: np.ndarray | None = None) -> Table:
    """A sparse matrix as CSR. Its indices are checked first, since neither SciPy nor scikit-learn checks them."""
    if wanted.id is not None or wanted.drop:
        raise ValueError(f"{path}: columns of a sparse matrix cannot serve as id, nor be dropped; convert the file")
    dtype, size = _float_type(path, X), os.path.getsize(path)
    check_memory(path, 16 * X.shape[0], size)
    check_memory(path, 16 * X.shape[1], size, f"a row of {X.shape[1]:,} columns")  # no fit needs less
    if X.format in ("csr", "csc", "bsr"):
        check_compressed(X)
    X = sparse.csr_array(X).astype(dtype)
    X.sum_duplicates()
    # Indices of 32 bits take half the memory, and scikit-learn asks for them.
    if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Table(X, y if wanted.label is None else _labels(path, wanted.label, (len(X.indptr) - 1,)))


#: Reads a matrix from standard input, and writes it to standard output as .npz or .npy.
MARKET = """
import io, sys
import numpy
from scipy import io as files, sparse

X, found = files.mmread(io.BytesIO(sys.stdin.buffer.read())), io.BytesIO()
sparse.save_npz(found, sparse.csr_array(X), compressed=False) if sparse.issparse(X) else numpy.save(found, X)
sys.stdout.buffer.write(found.getvalue())
"""


def read_matrix_market(path: str, wanted: Any) -> Iterator[Table]:
    """The matrix, which SciPy reads in a process of its own, since damaged files can end the process."""
    with readable(path, "Matrix Market file"):
        content = unpacked(path) + b"\n"
        rows, columns, entries, form, _, _ = mminfo(io.BytesIO(content))
        check_memory(path, 16 * rows + (8 * rows * columns if form == "array" else 24 * entries), os.path.getsize(path))
        done = subprocess.run([sys.executable, "-P", "-c", MARKET], input=content, capture_output=True, check=False)
        if done.returncode:
            raise ValueError((done.stderr.decode(errors="replace").splitlines() or ["it ends SciPy's reader"])[-1])
        found = io.BytesIO(done.stdout)
        X = np.load(found) if form == "array" else sparse.load_npz(found)
    yield _dense(path, X, wanted, _labels(path, wanted.label, X.shape)) if form == "array" else _sparse(path, X, wanted)


def read_svmlight(path: str, wanted: Any) -> Iterator[Table]:
    with readable(path, "svmlight file, or one that counts features from 0, which read(..., zero_based=True) takes"):
        content = io.BytesIO(unpacked(path))
        X, y = load_svmlight_file(content, n_features=wanted.n_features, zero_based=wanted.zero_based)
    yield _sparse(path, X, wanted, y)


# Images


def image_files(path: str) -> list[Path]:
    """The images of a folder, in the order of their rows, without what belongs to tools, such as .git and __MACOSX."""
    found = [file for file in Path(path).rglob("*") if file.suffix.lower() in IMAGES and not file.is_dir()]
    hidden = (".", "__MACOSX")
    return sorted(file for file in found if not any(part.startswith(hidden) for part in file.relative_to(path).parts))


def read_images(path: str, wanted: Any) -> Iterator[Table]:
    files = image_files(path)
    names = [file.relative_to(path) for file in files]
    if not files:
        raise ValueError(f"{path}: no images in this folder, which should have one sub-folder a class; {known(IMAGES)}")
    if wanted.label or wanted.id or wanted.drop:
        raise ValueError(f"{path}: images have no columns; sub-folders are the labels and paths the identifiers")
    loose = [name for name in names if len(name.parts) == 1]
    if 0 < len(loose) < len(files):
        raise ValueError(f"{path}: {loose[0]} is in no sub-folder, others are; sub-folders are the classes")
    total = sum(file.stat().st_size for file in files)
    grey = _is_grey(files, wanted.grey)
    shape = _pixels(files[0], grey, wanted.resize, total).shape
    rows = batch_rows(int(np.prod(shape)))
    for start in range(0, len(files), rows):
        some = slice(start, start + rows)
        check_memory(path, 4 * len(files[some]) * int(np.prod(shape)), total)
        X = np.empty((len(files[some]), *shape), np.float32)
        for row, file in zip(X, files[some], strict=True):
            pixels = _pixels(file, grey, wanted.resize, total)
            if pixels.shape != shape:
                first, other = (f"{width} x {height}" for height, width, *_ in (shape, pixels.shape))
                how = f"--resize {first.replace(' ', '')} makes them so"
                raise ValueError(f"{files[0]} is {first} and {file} is {other}; images must be of one size: {how}")
            row[:] = pixels
        y = None if loose else np.array([name.parts[0] for name in names[some]])
        yield Table(X.reshape(len(X), -1), y, np.array([name.as_posix() for name in names[some]]), image_shape=shape)


def _is_grey(files: list[Path], wanted: bool | None) -> bool:
    """Whether to read in grey. Raise unless all values are on one scale: 8 bits, or one deeper format, without colours."""
    modes = []
    for file in files:
        with _picture(file) as image:
            modes.append(image.mode)
    scales = [mode.partition(";")[0] if mode in DEEP else "8 bits" for mode in modes]
    if other := next((j for j, scale in enumerate(scales) if scale != scales[0]), 0):
        said = f"{files[0]} has pixels of another depth ({modes[0]}) than {files[other]} ({modes[other]})"
        raise ValueError(f"{said}; convert them to one")
    if scales[0] != "8 bits" and wanted is False:
        raise ValueError(
            f"{files[0]} has grey pixels of more than 8 bits ({modes[0]}); read(..., grey=True) makes them alike"
        )
    return set(modes) <= GREY if wanted is None else wanted


@contextmanager
def _picture(file: Path) -> Iterator[Any]:
    Image = require("PIL.Image", "cli")
    check_file(file)
    with readable(file, "image"), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit says what is too large
        with Image.open(file, formats=FORMATS) as image:
            yield image


def _pixels(file: Path, grey: bool, size: tuple[int, int] | None, total: int) -> np.ndarray:
    """The image as a person sees it: rotated as the camera says, with its palette resolved. ``total`` bytes have all files."""
    from PIL import ImageOps

    with _picture(file) as image:
        width, height = image.size
        check_memory(file, PIXEL * width * height, total, f"an image of {width} x {height}")
        image = ImageOps.exif_transpose(image)
        image = image if image.mode in DEEP else image.convert("L" if grey else "RGB")
        return np.asarray(image if size is None else image.resize(size), np.float32)
