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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._extras import require
from .._validation import check_compressed
from .table import (
    Table,
    Wanted,
    batch_rows,
    check_file,
    check_memory,
    float_type,
    known,
    limit,
    readable,
    roles_of,
    unpacked,
)

ZIP = b"PK"
SPARSE = {"format", "shape", "data"}  # keys that scipy.sparse.save_npz writes
IMAGES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"])
GREY = frozenset(["1", "L", "F", "I", "I;16", "I;16B", "I;16L", "I;16N"])  # Pillow's modes of one channel
DEEP = GREY - {"1", "L"}
FORMATS = (
    "BMP",
    "GIF",
    "JPEG",
    "PNG",
    "PPM",
    "TIFF",
    "WEBP",
)  # others are refused, since some, such as EPS, run programs
PIXEL = 24  # bytes per pixel while an image is read: it is decoded, rotated, converted, and stored as float32


# NumPy


def read_numpy(path: str, wanted: Wanted) -> Iterator[Table]:
    """One array, which is mapped and never in memory whole, or an archive of arrays, dense or sparse."""
    with _loaded(path) as found:
        if isinstance(found, np.ndarray):
            if found.ndim < 2:
                raise ValueError(f"{path}: an array of shape {found.shape}; rows and columns are needed")
            labels = _labels(path, wanted.label, found.shape, columns=found.ndim == 2)
            rows = batch_rows(int(np.prod(found.shape[1:])))
            for start in range(0, len(found), rows):
                # The file is mapped again for each part, so that the pages of earlier rows do not stay in memory.
                part = np.lib.format.open_memmap(path, mode="r")[start : start + rows]
                yield _matrix(path, part, wanted, labels, start)
        elif set(found.files) >= SPARSE:
            check_memory(path, sum(_size(found, name) for name in found.files), os.path.getsize(path))
            yield _sparse(path, _indexed(path, sparse.load_npz(path)), wanted)
        else:
            yield _of_archive(path, found, wanted)


@contextmanager
def _loaded(path: str) -> Iterator[Any]:
    """The mapped array of a NumPy file, or its archive. NumPy would take files that begin like neither for pickles."""
    check_file(path)
    with open(path, "rb") as stream, readable(path, "NumPy file of numbers"):
        start = stream.read(6)
        stream.seek(0)
        if not start.startswith((b"\x93NUMPY", ZIP)):
            raise ValueError(f"{path}: not a NumPy file, which numpy.save or numpy.savez writes")
        is_archive = start.startswith(ZIP)
        yield np.load(stream, allow_pickle=False) if is_archive else np.lib.format.open_memmap(path, mode="r")


def _size(archive: Any, name: str) -> int:
    """The bytes of an entry once it is unpacked, beyond which NumPy reads nothing, whatever its header says."""
    return archive.zip.getinfo(f"{name}.npy" if f"{name}.npy" in archive.zip.namelist() else name).file_size


def _entry(path: str, archive: Any, name: str) -> np.ndarray:
    check_memory(path, _size(archive, name), os.path.getsize(path))
    values = archive[name]
    if not isinstance(values, np.ndarray):
        raise ValueError(f"{path}: {name} is no array")
    return values


def _of_archive(path: str, archive: Any, wanted: Wanted) -> Table:
    def values(name: str | None) -> np.ndarray:
        return _check_values(_entry(path, archive, str(name)), len(X), f"{path}: {name}")

    name = next((name for name in ("X", "data") if name in archive.files), None)
    X = np.empty(0) if name is None else _entry(path, archive, name)
    if X.ndim < 2:
        held = ", ".join(archive.files) or "nothing"
        raise ValueError(f"{path}: no two-dimensional array X or data in it; it has {held}")
    key = next((key for key in (wanted.label, "y", "target") if key in archive.files), None)
    is_label = key is not None and wanted.label in (None, key)
    y = values(key) if is_label else _labels(path, wanted.label, X.shape, columns=X.ndim == 2)
    ids = values(wanted.id) if wanted.id in archive.files else None
    if X.ndim == 2 and "image_shape" in archive.files:
        X = X.reshape(len(X), *_entry(path, archive, "image_shape"))
    table = _matrix(path, X, wanted if ids is None else wanted._replace(id=None), y, 0)
    return table if ids is None else replace(table, ids=ids)


def _indexed(path: str, X: Any) -> Any:
    """The sparse matrix of a file as CSR. Its indices are checked first, since neither SciPy nor scikit-learn checks them."""
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


def _matrix(path: str, X: np.ndarray, wanted: Wanted, labels: np.ndarray | None, start: int) -> Table:
    """Rows of an array of images, or of an array whose columns are numbered."""
    _check_numbers(path, X)
    if 0 in X.shape[1:]:
        raise ValueError(f"{path}: an array of shape {X.shape}; columns are needed")
    y = None if labels is None else labels[start : start + len(X)]
    dtype = float_type([X.dtype])
    if X.ndim > 2:
        return Table(np.array(X, dtype).reshape(len(X), -1), y, image_shape=X.shape[1:])
    names = [str(j) for j in range(X.shape[1])]
    given = wanted if labels is None else wanted._replace(label=None)
    roles = roles_of(names, given, path, named=False)
    columns = [int(name) for name in roles.features]
    whole = X if len(columns) == X.shape[1] else X[:, columns]
    y = X[:, int(roles.label)].copy() if roles.label is not None else y
    return Table(np.array(whole, dtype, order="C"), y, None if roles.id is None else X[:, int(roles.id)].copy())


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
    if label.endswith((".npy", ".npz")):
        with _loaded(label) as found:
            if not isinstance(found, np.ndarray) and not found.files:
                raise ValueError(f"{label}: nothing in it; labels are needed")
            is_array = isinstance(found, np.ndarray)
            y = np.array(found) if is_array else _entry(label, found, "y" if "y" in found.files else found.files[0])
    else:
        with readable(label, "file of labels in UTF-8"):
            lines = Path(label).read_text(encoding="utf-8").split("\n")
        while len(lines) > shape[0] and lines[-1] == "":
            del lines[-1]  # the empty piece after the last line
        check_memory(label, 4 * len(lines) * max(map(len, lines), default=0), os.path.getsize(label))
        y = np.array(lines)
    return _check_values(y, shape[0], f"{path}: labels in {label}")


def _sparse(path: str, X: Any, wanted: Wanted, y: np.ndarray | None = None) -> Table:
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
    return Table(X, y)


# Matrix Market and svmlight


def read_matrix_market(path: str, wanted: Wanted) -> Iterator[Table]:
    with readable(path, "Matrix Market file"):
        X = _market(path)
    if sparse.issparse(X):
        yield _sparse(path, X, wanted)
    else:
        yield _matrix(path, X, wanted, _labels(path, wanted.label, X.shape, columns=True), 0)


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
    content, size = unpacked(path) + b"\n", os.path.getsize(path)
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
        with readable(path, "svmlight file"):
            X, y = load_svmlight_file(
                io.BytesIO(unpacked(path)), n_features=wanted.n_features, zero_based=wanted.zero_based
            )
    except ValueError as error:
        hint = "; features seem to be counted from 0: --zero-based" if "index 0" in str(error) else ""
        raise ValueError(f"{error}{hint}") from error
    yield _sparse(path, sparse.csr_array(X), wanted, y)


# Images


def image_files(path: str) -> list[Path]:
    """The images of a folder, in the order of their rows, without what belongs to tools, such as .git and __MACOSX."""
    root = Path(path)
    found = []
    for file in root.rglob("*"):
        parts = file.relative_to(root).parts
        is_hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
        if file.suffix.lower() in IMAGES and not is_hidden and not file.is_dir():
            found.append(file)
    return sorted(found)


def read_images(path: str, wanted: Wanted) -> Iterator[Table]:
    root, files = Path(path), image_files(path)
    if not files:
        raise ValueError(f"{path}: no images in this folder, which should have one sub-folder a class; {known(IMAGES)}")
    if wanted.label or wanted.id or wanted.drop:
        raise ValueError(f"{path}: images have no columns; sub-folders are the labels and paths the identifiers")
    classes = [file.relative_to(root).parts[0] for file in files if file.parent != root]
    if classes and len(classes) < len(files):
        loose = next(file for file in files if file.parent == root)
        raise ValueError(f"{path}: {loose.name} is in no sub-folder, others are; sub-folders are the classes")
    total = sum(file.stat().st_size for file in files)
    grey = _is_grey(files, wanted.grey)
    shape = _image(files[0], grey, wanted.resize, total).shape
    rows = batch_rows(int(np.prod(shape)))
    for start in range(0, len(files), rows):
        some = files[start : start + rows]
        check_memory(path, 4 * len(some) * int(np.prod(shape)), total)
        X = np.empty((len(some), *shape), np.float32)
        for row, file in zip(X, some, strict=True):
            image = _image(file, grey, wanted.resize, total)
            if image.shape != shape:
                first, other = (f"{width} x {height}" for height, width, *_ in (shape, image.shape))
                how = f"--resize {first.replace(' ', '')} makes them so"
                raise ValueError(f"{files[0]} is {first} and {file} is {other}; images must be of one size: {how}")
            row[:] = image
        ids = np.array([file.relative_to(root).as_posix() for file in some])
        y = np.array(classes[start : start + rows]) if classes else None
        yield Table(X.reshape(len(X), -1), y, ids, image_shape=shape)


def _is_grey(files: list[Path], wanted: bool | None) -> bool:
    """Whether to read in grey. Raise unless all values are on one scale: 8 bits, or one deeper format, without colours."""
    modes = []
    for file in files:
        with _picture(file) as image:
            modes.append(image.mode)
    grey = all(mode in GREY for mode in modes) if wanted is None else wanted
    scales = [mode.partition(";")[0] if mode in DEEP else "8 bits" for mode in modes]
    if len(set(scales)) > 1:
        j = next(j for j, scale in enumerate(scales) if scale != scales[0])
        said = f"{files[0]} has pixels of another depth ({modes[0]}) than {files[j]} ({modes[j]})"
        raise ValueError(f"{said}; convert them to one")
    if scales[0] != "8 bits" and not grey:
        raise ValueError(f"{files[0]} has grey pixels of more than 8 bits ({modes[0]}); read such images with --grey")
    return grey


@contextmanager
def _picture(file: Path) -> Iterator[Any]:
    Image = require("PIL.Image", "cli")
    check_file(file)
    with readable(file, "image"), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit says what is too large
        with Image.open(file, formats=FORMATS) as image:
            yield image


def _image(file: Path, grey: bool, size: tuple[int, int] | None, total: int) -> np.ndarray:
    """The image as a person sees it: rotated as the camera says, with its palette resolved. ``total`` bytes have all files."""
    from PIL import ImageOps

    with _picture(file) as image:
        width, height = image.size
        check_memory(file, PIXEL * width * height, total, f"an image of {width} x {height}")
        image = ImageOps.exif_transpose(image)
        image = image if image.mode in DEEP else image.convert("L" if grey else "RGB")
        return np.asarray(image if size is None else image.resize(size), np.float32)
