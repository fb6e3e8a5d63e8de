"""Data sets from the folder, or from where scikit-learn fetches them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from .._validation import check_choice
from ._fallbacks import Fields
from ._files import get_data_home, is_present, read_arrays
from ._table import ROWS, Row

RENAMED = {"X": "data", "y": "target", "class_names": "target_names", "vocabulary": "feature_names"}


def load(
    name: str,
    *,
    version: Any = None,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[Any, Any]:
    """A data set by its name.

    It is read from its file in the data folder, whose checksum is verified first. Where the file is missing and scikit-learn
    or OpenML has the data set, it is fetched from there, with a warning unless the result is the same bit for bit.

    Parameters
    ----------
    name : str
        One of the keys of :func:`available`.
    version : str, int or None, default=None
        Where there are several: see :func:`available`. None is the first.
    data_home : str, path-like or None, default=None
        The data folder. None is the environment variable ``LAPWING_DATA``, or ``~/lapwing_data`` where that is not set.
    download_if_missing : bool, default=True
        False: a missing file is an error, and nothing is fetched.
    return_X_y : bool, default=False
        Return ``(data, target)``.

    Returns
    -------
    Bunch
        ``data``, samples in rows, as stored: not centred, scaled or normalised; ``target``, the classes 0, 1, ..., or None;
        ``DESCR``; ``filenames``. Where they are known ``images`` and ``image_shape`` (pictures are upright),
        ``target_names``, ``feature_names`` (the terms of documents), and what else the file holds, such as ``n_train``.

    Examples
    --------
    >>> from lapwing_papers.datasets import load
    >>> digits = load("digits")
    >>> digits.data.shape, digits.images.shape
    ((1797, 64), (1797, 8, 8))
    """
    row = _row(name, version)
    folder = get_data_home(data_home)
    missing = _missing(row, folder)
    if row.fallback is not None and not row.files:
        fields = row.fallback.fetch()
    elif missing:
        fields = _fetched(row, folder, missing, download_if_missing)
    else:
        fields = _read(row, folder)
    bunch = _bunch(row, fields)
    return (bunch.data, bunch.target) if return_X_y else bunch


def available(data_home: str | os.PathLike[str] | None = None) -> dict[str, dict[str, str]]:
    """The data sets, their versions and where :func:`~lapwing_papers.datasets.load` would take each from.

    Parameters
    ----------
    data_home : str, path-like or None, default=None
        The data folder, as in :func:`~lapwing_papers.datasets.load`.

    Returns
    -------
    dict of dict
        By name and version, the default one first: ``"file"``, ``"fetch"`` (over the network, unless scikit-learn has it in
        its cache), ``"built-in"`` or ``"missing"``.

    Examples
    --------
    >>> from lapwing_papers.datasets import available
    >>> available()["iris"]
    {'default': 'built-in'}
    >>> list(available()["usps"])
    ['9298', '11000']
    """
    folder = get_data_home(data_home)
    found: dict[str, dict[str, str]] = {}
    for row in ROWS:
        found.setdefault(row.name, {})[row.version] = _place(row, folder)
    return found


def _place(row: Row, folder: Path) -> str:
    if not row.files:
        return "built-in"
    if not _missing(row, folder):
        return "file"
    return "fetch" if row.fallback else "missing"


def _row(name: Any, version: Any) -> Row:
    versions = {row.version: row for row in ROWS if row.name == name}
    if not versions:
        names = list(dict.fromkeys(row.name for row in ROWS))
        close = get_close_matches(str(name).lower().replace("-", "_"), names)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it must be one of {', '.join(names)}"
        raise ValueError(f"name={name!r} is no data set; {hint}")
    if version is None:
        return next(iter(versions.values()))
    return versions[check_choice("version", str(version), versions)]


def _missing(row: Row, folder: Path) -> list[str]:
    return [file for file in row.files if not is_present(folder / file)]


def _read(row: Row, folder: Path) -> Fields:
    arrays: Fields = {}
    for file, checksum in row.files.items():
        arrays |= read_arrays(folder / file, checksum)
    kept = {RENAMED.get(name, name): values for name, values in arrays.items() if not name.endswith("image_shape")}
    fields = {name: values.item() if values.ndim == 0 else values for name, values in kept.items()}
    if row.columns is not None:
        fields = {"data": np.ascontiguousarray(fields["data"][:, row.columns]), "target": fields["target"]}
    filenames = [str(folder / file) for file in row.files]
    return fields | {"filenames": filenames, "DESCR": _description(row, f"Origin: {row.origin}.")}


def _fetched(row: Row, folder: Path, missing: list[str], download: bool) -> Fields:
    fallback = row.fallback
    if fallback is None:
        raise _not_found(row, folder, missing, "It cannot be fetched.")
    if not download:
        raise _not_found(row, folder, missing, f"With download_if_missing=True, {fallback.source} takes its place.")
    try:
        fields = _as_in_file(row, fallback.fetch())
    except (OSError, HTTPException, ValueError) as error:  # OpenML's errors are ValueErrors
        failed = f"{fallback.source} could not take its place: {type(error).__name__}: {error}"
        raise _not_found(row, folder, missing, failed) from error
    if row.content and row.content == _content(fields):
        same = f"Taken from {fallback.source}, the same bit for bit as {_listed(row.files)}."
        return fields | ({} if row.n_train is None else {"n_train": row.n_train}) | {"DESCR": _description(row, same)}
    other = f"Taken from {fallback.source}, not the same as {_listed(row.files)}: {fallback.difference}."
    warn(f"{_listed(missing)} not found in {folder}. {other}", stacklevel=3)
    return fields | {"DESCR": _description(replace(row, shape=fields["data"].shape, oddities=""), other)}


def _not_found(row: Row, folder: Path, missing: list[str], instead: str) -> FileNotFoundError:
    where = f"in {folder}" if folder.is_dir() else f"in {folder}, a folder that does not exist"
    return FileNotFoundError(
        f"{_listed(missing)} not found {where}. Needed for {row.title}: {_size(row)} (origin: {row.origin}). Put it there, or "
        f"name the folder that has it by data_home or the environment variable LAPWING_DATA. {instead}"
    )


def _as_in_file(row: Row, fields: Fields) -> Fields:
    """The shape and type of the file; the number of terms of documents may differ."""
    data, target = fields["data"], fields["target"].astype(np.int64)
    shape = data.shape[:1] if sparse.issparse(data) else data.shape
    if shape != row.shape[: len(shape)] or len(np.unique(target)) != row.n_classes:
        raise ValueError(f"data of shape {data.shape} in {len(np.unique(target))} classes, expected {_size(row)}")
    with np.errstate(invalid="ignore"):  # told below
        converted = data.astype(row.dtype)
    if converted.dtype.kind == "u" and (converted != data).sum():
        raise ValueError(f"values are not whole numbers that fit {row.dtype}")
    return fields | {"data": converted, "target": target}


def _content(fields: Fields) -> str:
    return sha256(fields["data"].tobytes() + fields["target"].tobytes()).hexdigest()


def _bunch(row: Row, fields: Fields) -> Bunch:
    bunch = Bunch(**({"filenames": []} | fields))
    if row.n_classes == 0:
        bunch.target = None
    if row.image_shape is not None:
        bunch.image_shape = row.image_shape
        bunch.images = bunch.data.reshape(-1, *row.image_shape)
    return bunch


def _description(row: Row, origin: str) -> str:
    lines = [f"{row.title}. {_size(row)}.", origin, f"Terms: {row.terms}.", row.oddities]
    return "\n".join(line for line in lines if line)


def _size(row: Row) -> str:
    classes = f"{row.n_classes} classes" if row.n_classes else "no classes"
    images = "" if row.image_shape is None else ", images of {} x {}".format(*row.image_shape)
    return f"{row.shape[0]} samples x {row.shape[1]} features, {row.dtype}, {classes}{images}"


def _listed(files: Any) -> str:
    return " and ".join(files)


def _loader(name: str) -> Callable[..., Any]:
    def loader(
        *,
        version: Any = None,
        data_home: str | os.PathLike[str] | None = None,
        download_if_missing: bool = True,
        return_X_y: bool = False,
    ) -> Bunch | tuple[Any, Any]:
        return load(
            name,
            version=version,
            data_home=data_home,
            download_if_missing=download_if_missing,
            return_X_y=return_X_y,
        )

    rows = [row for row in ROWS if row.name == name]
    versions = "\n".join(f"- ``{row.version!r}``: {row.title}; {_size(row)}" for row in rows)
    loader.__name__ = loader.__qualname__ = f"load_{name}"
    loader.__doc__ = f"""{rows[0].title.partition(",")[0]}: :func:`~datasets.load` with the name {name!r}, and its parameters.

Versions, the first being the default:

{versions}

Terms: {rows[0].terms}.
"""
    return loader


load_orl = _loader("orl")
load_yale = _loader("yale")
load_yale_b = _loader("yale_b")
load_pie = _loader("pie")
load_ar = _loader("ar")
load_umist = _loader("umist")
load_frey = _loader("frey")
load_coil20 = _loader("coil20")
load_usps = _loader("usps")
load_mnist = _loader("mnist")
load_fashion_mnist = _loader("fashion_mnist")
load_binalpha = _loader("binalpha")
load_isolet = _loader("isolet")
load_libras = _loader("libras")
load_mfeat = _loader("mfeat")
load_reuters = _loader("reuters")
load_tdt2 = _loader("tdt2")
load_20newsgroups = _loader("20newsgroups")
load_glove = _loader("glove")
load_digits = _loader("digits")
load_iris = _loader("iris")
