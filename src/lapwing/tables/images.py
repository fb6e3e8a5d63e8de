"""A folder of images with one sub-folder per class."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import require
from .files import check_file, check_memory, readable
from .table import Table, Wanted, batch_rows, known

IMAGES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"])
GREY = frozenset(["1", "L", "F", "I", "I;16", "I;16B", "I;16L", "I;16N"])  # Pillow's modes of one channel
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
PIXEL = 24  # bytes per pixel while an image is read: it is decoded, rotated, converted, and stored as float32
DEEP = GREY - {"1", "L"}


def image_files(path: str) -> list[Path]:
    """The images of a folder, in the order of their rows."""
    root = Path(path)
    named = (file for file in root.rglob("*") if file.suffix.lower() in IMAGES and not _is_hidden(file, root))
    return sorted(file for file in named if not file.is_dir())


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
    modes, total = [_mode(file) for file in files], sum(file.stat().st_size for file in files)
    grey = all(mode in GREY for mode in modes) if wanted.grey is None else wanted.grey
    _check_depths(files, modes, grey)
    shape = _image(files[0], grey, wanted.resize, total).shape
    rows = batch_rows(int(np.prod(shape)))
    for start in range(0, len(files), rows):
        some = files[start : start + rows]
        check_memory(path, 4 * len(some) * int(np.prod(shape)), total)
        X = np.empty((len(some), *shape), np.float32)
        for row, file in zip(X, some, strict=True):
            image = _image(file, grey, wanted.resize, total)
            if image.shape != shape:
                raise ValueError(_differing(files[0], shape, file, image.shape))
            row[:] = image
        ids = np.array([file.relative_to(root).as_posix() for file in some])
        yield Table(
            X.reshape(len(X), -1), np.array(classes[start : start + rows]) if classes else None, ids, None, shape
        )


def _is_hidden(file: Path, root: Path) -> bool:
    """Whether a file belongs to the system or to a tool, such as .git, .ipynb_checkpoints and what macOS adds to archives."""
    return any(part.startswith(".") or part == "__MACOSX" for part in file.relative_to(root).parts)


def _check_depths(files: list[Path], modes: list[str], grey: bool) -> None:
    """Raise unless all values are on one scale: 8 bits, or one deeper format, which has no colours."""
    scales = [mode.partition(";")[0] if mode in DEEP else "8 bits" for mode in modes]
    if len(set(scales)) > 1:
        other = next(i for i, scale in enumerate(scales) if scale != scales[0])
        raise ValueError(
            f"{files[0]} has pixels of another depth ({modes[0]}) than {files[other]} ({modes[other]}); convert them to one"
        )
    if scales[0] != "8 bits" and not grey:
        raise ValueError(f"{files[0]} has grey pixels of more than 8 bits ({modes[0]}); read such images with --grey")


def _differing(first: Path, shape: tuple[int, ...], file: Path, other: tuple[int, ...]) -> str:
    (h, w), (g, v) = shape[:2], other[:2]
    return f"{first} is {w} x {h} and {file} is {v} x {g}; images must be of one size: --resize {w}x{h} makes them so"


@contextmanager
def _picture(file: Path) -> Iterator[Any]:
    """An image of one of the usual formats, whatever its name says.

    Other formats are refused, since some, such as EPS, run programs.
    """
    Image = require("PIL.Image", "cli")
    check_file(file)
    with readable(file, "image"), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit says what is too large
        with Image.open(file, formats=FORMATS) as image:
            yield image


def _mode(file: Path) -> str:
    with _picture(file) as image:
        return image.mode


def _image(file: Path, grey: bool, size: tuple[int, int] | None, total: int) -> np.ndarray:
    """The image as a person sees it: rotated as the camera says, with its palette resolved.

    ``total`` is the size of all files.
    """
    from PIL import ImageOps

    with _picture(file) as image:
        width, height = image.size
        check_memory(file, PIXEL * width * height, total, f"an image of {width} x {height}")
        image = ImageOps.exif_transpose(image)
        image = image if image.mode in DEEP else image.convert("L" if grey else "RGB")
        return np.asarray(image if size is None else image.resize(size), np.float32)
