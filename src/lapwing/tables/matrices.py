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
from .table import FileError, Table, batch_rows, check_memory, known, readable, roles_of, unpacked

SPARSE = {"format", "shape", "data"}  # keys that scipy.sparse.save_npz writes
IMAGES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"])
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # others, such as EPS, may run programs
PIXEL = 24  # bytes per pixel while an image is read: it is decoded, rotated, converted, and stored as float32


# NumPy


def read_numpy(path: str, wanted: Any) -> Iterator[Table]:
    """One array, which is mapped and never in memory whole, or an archive of arrays, dense or sparse."""
    with open(path, "rb") as stream:
        if not stream.peek().startswith(b"PK"):
            X = np.lib.format.open_memmap(path, mode="r")
            y, rows = _labels(wanted.label, X.shape), batch_rows(int(np.prod(X.shape[1:])))
            _float_type(X)
            for start in range(0, len(X), rows):
                yield _dense(X[start : start + rows], wanted, None if y is None else y[start : start + rows])
            return
        archive = np.load(stream, allow_pickle=False)
        check_memory(sum(entry.file_size for entry in archive.zip.infolist()), os.path.getsize(path))
        if set(archive.files) >= SPARSE:
            yield _sparse(sparse.load_npz(path), wanted, os.path.getsize(path))
            return
        found = [archive[name] for name in ("X", "data") if name in archive.files]
        if not found:
            raise FileError(f"no array X or data in it; it has {', '.join(archive.files)}")
        keys = [wanted.label] if wanted.label else ["y", "target"]
        key = next((key for key in keys if key in archive.files), None)
        y = _labels(wanted.label, found[0].shape) if key is None else _one_per_row(key, archive[key], len(found[0]))
        yield _dense(found[0], wanted, y)


def _one_per_row(where: str, values: np.ndarray, n: int) -> np.ndarray:
    """Labels, which must be one per row, and numbers or text."""
    if values.shape != (n,):
        raise FileError(f"{where}: shape {values.shape}, but there are {n} rows; one value per row is needed")
    if values.dtype.kind not in "fiubUMO":
        raise FileError(f"{where}: an array of {values.dtype}; numbers or text are needed")
    return values


def _dense(X: np.ndarray, wanted: Any, y: np.ndarray | None) -> Table:
    """Rows of an array of images, or of an array whose columns are numbered."""
    dtype = _float_type(X)
    if X.ndim > 2:
        return Table(np.array(X, dtype).reshape(len(X), -1), y, image_shape=X.shape[1:])
    names = [str(j) for j in range(X.shape[1])]
    roles = roles_of(
        names, SimpleNamespace(**{**vars(wanted), "label": wanted.label if y is None else None}), named=False
    )
    y = y if roles.label is None else X[:, int(roles.label)].copy()
    ids = None if roles.id is None else X[:, int(roles.id)].copy()
    whole = X if roles.features == names else X[:, [int(name) for name in roles.features]]
    return Table(np.array(whole, dtype, order="C"), y, ids)


def _float_type(X: Any) -> np.dtype:
    """The narrowest of float32 and float64 that holds the values of a matrix exactly. Raise where it has none."""
    if X.dtype.kind not in "fiub":
        raise FileError(f"an array of {X.dtype}; numbers are needed, not complex ones")
    if X.ndim < 2 or 0 in X.shape:
        raise FileError(f"an array of shape {X.shape}; rows and columns are needed")
    return np.dtype(np.float32 if np.result_type(np.float32, X.dtype) == np.float32 else np.float64)


def _labels(label: str | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """Labels from a file of their own; None where there are no labels, or where they are a column."""
    if label is None or (len(shape) == 2 and re.fullmatch(r"-?\d+", label)):
        return None
    if not os.path.exists(label):
        raise FileError(f"label={label!r}: neither a number of a column nor a file of labels, one per row")
    with readable(label, "file of labels, which are .npy or lines of UTF-8"):
        if label.endswith(".npy"):
            found = np.array(np.lib.format.open_memmap(label, mode="r"))
        else:
            lines = Path(label).read_text("utf-8").split("\n")
            is_ended = len(lines) == shape[0] + 1 and lines[-1] == ""  # the last label may be blank, too
            found = np.array(lines[:-1] if is_ended else lines, dtype=object)
        return _one_per_row("labels", found, shape[0])


# Sparse matrices


def _sparse(X: Any, wanted: Any, size: int, y: np.ndarray | None = None) -> Table:
    """A sparse matrix as CSR. Its indices are checked first, since neither SciPy nor scikit-learn checks them."""
    if wanted.id is not None or wanted.drop:
        raise FileError("columns of a sparse matrix cannot serve as id, nor be dropped; convert the file")
    dtype = _float_type(X)
    check_memory(16 * X.shape[0], size)
    check_memory(16 * X.shape[1], size, f"a row of {X.shape[1]:,} columns")  # no fit needs less
    if X.format in ("csr", "csc", "bsr"):
        check_compressed(X)
    X = sparse.csr_array(X).astype(dtype)
    X.sum_duplicates()
    # Indices of 32 bits take half the memory, and scikit-learn asks for them.
    if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Table(X, y if wanted.label is None else _labels(wanted.label, (len(X.indptr) - 1,)))


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
    content, size = unpacked(path) + b"\n", os.path.getsize(path)
    rows, columns, entries, form, _, _ = mminfo(io.BytesIO(content))
    check_memory(16 * rows + (8 * rows * columns if form == "array" else 24 * entries), size)
    done = subprocess.run([sys.executable, "-P", "-c", MARKET], input=content, capture_output=True, check=False)
    if done.returncode:
        raise ValueError((done.stderr.decode(errors="replace").splitlines() or ["it ends SciPy's reader"])[-1])
    found = io.BytesIO(done.stdout)
    if form == "array":
        X = np.load(found)
        yield _dense(X, wanted, _labels(wanted.label, X.shape))
    else:
        yield _sparse(sparse.load_npz(found), wanted, size)


def read_svmlight(path: str, wanted: Any) -> Iterator[Table]:
    content = io.BytesIO(unpacked(path))
    X, y = load_svmlight_file(content, n_features=wanted.n_features, zero_based=wanted.zero_based)
    yield _sparse(X, wanted, os.path.getsize(path), y)


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
        raise FileError(f"no images in this folder, which should have one sub-folder a class; {known(IMAGES)}")
    if wanted.label or wanted.id or wanted.drop:
        raise FileError("images have no columns; sub-folders are the labels and paths the identifiers")
    loose = [name for name in names if len(name.parts) == 1]
    if 0 < len(loose) < len(files):
        raise FileError(f"{loose[0]} is in no sub-folder, others are; sub-folders are the classes")
    total = sum(file.stat().st_size for file in files)
    form = "L" if all(map(_is_grey, files)) else "RGB"
    shape = _pixels(files[0], form, wanted.resize, total).shape
    rows = batch_rows(int(np.prod(shape)))
    for start in range(0, len(files), rows):
        some = slice(start, start + rows)
        check_memory(4 * len(files[some]) * int(np.prod(shape)), total)
        X = np.empty((len(files[some]), *shape), np.float32)
        for row, file in zip(X, files[some], strict=True):
            pixels = _pixels(file, form, wanted.resize, total)
            if pixels.shape != shape:
                first, other = (f"{width}x{height}" for height, width, *_ in (shape, pixels.shape))
                how = f"--resize {first} makes them so"
                raise FileError(f"{files[0]} is {first} and {file} is {other}; images must be of one size: {how}")
            row[:] = pixels
        y = None if loose else np.array([name.parts[0] for name in names[some]])
        yield Table(X.reshape(len(X), -1), y, np.array([name.as_posix() for name in names[some]]), image_shape=shape)


@contextmanager
def _picture(file: Path) -> Iterator[Any]:
    """An image of 8 bits per colour: those of more have a scale of their own, which the file does not tell."""
    Image = require("PIL.Image", "cli")
    with readable(file, "image"), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit says what is too large
        with Image.open(file, formats=FORMATS) as image:
            if image.mode[0] in "IF":
                raise FileError(
                    f"pixels of more than 8 bits ({image.mode}); convert it, or save all as one array (.npy)"
                )
            yield image


def _is_grey(file: Path) -> bool:
    with _picture(file) as image:
        return image.mode in ("1", "L")


def _pixels(file: Path, form: str, size: tuple[int, int] | None, total: int) -> np.ndarray:
    """The image as a person sees it: rotated as the camera says, with its palette resolved. ``total`` bytes have all files."""
    from PIL import ImageOps

    with _picture(file) as image:
        width, height = image.size
        check_memory(PIXEL * width * height, total, f"an image of {width} x {height}")
        image = ImageOps.exif_transpose(image).convert(form)
        return np.asarray(image if size is None else image.resize(size), np.float32)
