"""The model file: arrays and a JSON header, and nothing that runs.

The container is safetensors: a length, a JSON header and the bytes of the arrays. The library checks these against the size
of the file before it reads any, and other programs can open it. A ZIP of ``.npy`` files would need no dependency. But
archives have traps (paths, compression bombs, pickled arrays), and each would need its own defence.

The ``__metadata__`` of the header has one entry, ``lapwing``, whose text is JSON. Its ``format`` is a number that grows when
older versions could not read the file. ``lapwing`` is the version that wrote the file, and ``model`` is as in ``_encoding``.
``sha256`` is the checksum of all these and of the arrays, which finds damage. It is not a signature: a file may still be
forged, so everything in it is checked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from .._extras import require
from .._replacing import write_whole
from ..reducers import Reducer
from ._classes import is_known
from ._encoding import ARRAY_NAME, Decoder, Encoder
from ._held import check_learnt
from ._others import STORABLE, check_all_fitted

FORMAT = 3
OTHER = "lapwing fit and lapwing.save write such files, and this is another kind"
DTYPES = {"BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F16", "F32", "F64"}
# Bytes in memory per byte of JSON. A header of nothing but {},{},{} takes 28 times its size, and its values as much again.
EXPANSION = 64
LONGEST = 400  # the most characters that a message may have
# The errors that reading and decoding raise where a file is not as it should be.
MALFORMED = (ArithmeticError, AttributeError, LookupError, NotImplementedError, RecursionError, TypeError, ValueError)


class ModelFileError(ValueError):
    """Raised by :func:`lapwing.load` where a file is no model, is damaged, or was written by a later version.

    Examples
    --------
    >>> import tempfile
    >>> import lapwing
    >>> from lapwing.persistence import ModelFileError
    >>> try:
    ...     lapwing.load(tempfile.gettempdir())
    ... except ModelFileError as error:
    ...     print(error)
    '...' is a folder, not a model file
    """


def save(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    :func:`lapwing.load` reads it back, with the same parameters and, bit by bit, the same map. The file holds no code. It is
    written beside ``path`` and then put in its place, so that a failure leaves nothing behind and an earlier file as it was.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        An estimator of lapwing, or of a class of your own that derives from one of lapwing's. Or a pipeline of such and of
        the common scalers, encoders, selectors and projections of scikit-learn, with ``SimpleImputer`` and
        ``ColumnTransformer`` among them. The last step of a pipeline may be a classifier or regressor by nearest neighbours, a
        nearest centroid, a logistic regression, or k-means. Or a :class:`~lapwing.selection.SemiSupervised` of these. The page
        "In production" of the documentation lists all classes. Others, such as ``TfidfVectorizer`` and ``SVC``, raise an error
        that names the step.

        Parameters must be numbers, text, arrays or graphs; a function or another library's object is refused, with the name of
        its step. A model that was fitted on a device is written as :func:`lapwing.to_numpy` has it: read back, it takes NumPy
        arrays.
    path : path-like
        Such as ``"model.lapwing"``.

    Examples
    --------
    >>> import os, tempfile
    >>> import lapwing
    >>> from lapwing import LPP
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> model = LPP(10).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.lapwing")
    ...     lapwing.save(model, path)
    ...     same = lapwing.load(path)
    >>> bool((same.transform(X) == model.transform(X)).all())
    True
    """
    container = require("safetensors.numpy", "model")
    if not _is_model(estimator):
        raise TypeError(
            f"{type(estimator).__name__} is no estimator of lapwing, nor one of those of scikit-learn that a model file "
            "holds; use skops.io.dump or joblib.dump"
        )
    check_learnt(estimator)
    encoder = Encoder()
    header = {"format": FORMAT, "lapwing": version("lapwing"), "model": encoder.encode_object(estimator)}
    header["sha256"] = checksum(header, encoder.arrays)
    text = json.dumps(header, allow_nan=False)
    require_room(path, len(text))
    _model(strict_json(text), encoder.arrays)  # raises where the file could not be read back, before it is written
    write_whole(path, container.save(encoder.arrays, metadata={"lapwing": text}))


def can_save(estimator: Any) -> bool:
    """Whether :func:`save` takes an estimator of this kind, once it is fitted.

    Parameters
    ----------
    estimator : estimator
        Fitted or not; of a pipeline every step is looked at.

    Examples
    --------
    >>> from lapwing import LPP
    >>> from lapwing.persistence import can_save
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PowerTransformer, StandardScaler
    >>> can_save(make_pipeline(StandardScaler(), LPP())), can_save(make_pipeline(PowerTransformer(), LPP()))
    (True, False)
    """
    if not _is_model(estimator):
        return False
    try:
        Encoder().encode_object(estimator)
    except ValueError:
        return False
    return True


def _is_model(estimator: Any) -> bool:
    return type(estimator) in STORABLE or (isinstance(estimator, Reducer) and is_known(type(estimator)))


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that :func:`save` wrote. Nothing in the file is run, so a file from anyone may be opened.

    Import the modules that define your own estimators and graphs first: what a file names is not imported.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator
        The fitted estimator.

    Raises
    ------
    ModelFileError
        Where the file is no model of lapwing, is damaged, was written in a format of a later version, or has a class that this
        program does not have.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> model = lapwing.LPP(2, graph=7).fit(load_iris().data)
    >>> with TemporaryDirectory() as folder:
    ...     lapwing.save(model, f"{folder}/model.lapwing")
    ...     lapwing.load(f"{folder}/model.lapwing")
    LPP(graph=7)
    """
    safetensors = require("safetensors", "model")
    if os.path.isdir(path):
        raise ModelFileError(f"{os.fspath(path)!r} is a folder, not a model file")
    if os.path.exists(path) and not os.path.isfile(path):  # reading a pipe could wait without end
        raise ModelFileError(f"{os.fspath(path)!r} is no file on disk, which a model file must be")
    with open(path, "rb") as file:
        start = file.read(9)
    if start[8:] != b"{":  # the file begins with a length, and then JSON
        raise ModelFileError(f"{os.fspath(path)!r} is no model that lapwing can read: {OTHER}")
    require_room(path, min(int.from_bytes(start[:8], "little"), os.path.getsize(path)))
    try:
        with safetensors.safe_open(os.fspath(path), framework="numpy") as file:
            header = read_header(path)
            arrays = {name: _array(file, name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        if header.get("sha256") != checksum(header, arrays):
            raise ValueError("its content does not match its checksum")
        return _model(header, arrays)
    except (safetensors.SafetensorError, *MALFORMED) as error:
        raise ModelFileError(f"{os.fspath(path)!r} is no model that lapwing can read: {in_a_line(error)}") from error


def _model(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """The fitted estimator that a header and arrays describe."""
    with np.errstate(all="ignore"):  # the numbers come from a file, and are not results of computations here
        model = Decoder(arrays, header["format"]).decode(header["model"])
        if not _is_model(model):
            raise ValueError(f"it holds {type(model).__name__}, which is no estimator")
        check_all_fitted(model)
    return model


def require_room(path: str | os.PathLike[str], size: int) -> None:
    """Raise before a header is read, where it would take more than scikit-learn's ``working_memory``."""
    limit = int(get_config()["working_memory"] * 2**20) // EXPANSION
    if size > limit:
        raise ModelFileError(
            f"{os.fspath(path)!r} has a header of {size:,} bytes, above the limit of {limit:,} (working_memory / {EXPANSION}); "
            "where you trust the file, raise it by sklearn.set_config(working_memory=...)"
        )


def in_a_line(error: Exception) -> str:
    """The message of an error in one line of plain characters. It may quote what the file holds."""
    said = " ".join(str(error).split())
    said = said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said) or type(error).__name__


def read_header(path: str | os.PathLike[str]) -> dict:
    """The JSON of lapwing in the header of the container, whose size the library has checked.

    It is parsed here once more. Of two equal names the library takes the last, and other readers might take the first.
    """
    with open(path, "rb") as file:
        container = strict_json(file.read(int.from_bytes(file.read(8), "little")))
    if "lapwing" not in container.get("__metadata__", {}):
        raise ValueError("it is a safetensors file of another program")
    header = strict_json(container["__metadata__"]["lapwing"])
    if type(header["format"]) is not int or header["format"] < 1 or type(header["lapwing"]) is not str:
        raise ValueError(f"format {header['format']!r} of lapwing {header['lapwing']!r} is no version")
    if header["format"] > FORMAT:
        raise ValueError(
            f"written by a newer lapwing (format {header['format']}, and this version reads up to {FORMAT}); upgrade: "
            "pip install --upgrade lapwing"
        )
    return header


def _array(file: Any, name: str) -> np.ndarray:
    if not ARRAY_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an array")
    dtype = file.get_slice(name).get_dtype()
    if dtype not in DTYPES:
        raise ValueError(f"{name} is of type {dtype}, which no model has")
    array = file.get_tensor(name)
    if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:  # NumPy relies on the bytes being 0 or 1
        raise ValueError(f"{name} has entries that are neither true nor false")
    return array


def strict_json(text: str | bytes) -> Any:
    """JSON whose names are unique and whose numbers are finite."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError(f"its header has a name twice, among {sorted(names)}")
    return names


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"its header has {text} for a number")
    return value


def checksum(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of the header without its own entry, and of the arrays with their names."""
    rest = {key: value for key, value in header.items() if key != "sha256"}
    digest = sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.name} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
