"""Fitted models as files, and as layers of PyTorch.

A model file is an archive of skops with ``{"lapwing": version, "scikit-learn": version, "model": ...}`` and a checksum. skops
stores objects as a tree of JSON, with their arrays beside it, and builds what the tree names. So a file from a stranger is
checked three times. Before anything is built, :class:`Tree` walks through the tree and the headers of the arrays are looked at,
and skops compares every type with a list of exact classes (never a prefix: a function of ours could be called through
FunctionTransformer). After that, :func:`_check_built` looks at what compiled code would trust.
"""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import version
from inspect import getattr_static, isclass, isfunction
from math import prod
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import sklearn
from scipy import sparse
from sklearn import feature_selection, get_config
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import check_is_fitted

from . import clustering, graphs, selection, tables
from ._extras import require
from ._files import replacing
from ._validation import check_compressed
from .device import to_numpy
from .graphs import Graph, On
from .methods import LPI, METHODS
from .onnx import to_onnx
from .reducers import KernelReducer, LinearReducer, Reducer
from .solvers import Certificate

__all__ = ["load", "save", "to_onnx", "to_torch", "versions"]

OLDEST_PROTOCOL = 2  # of skops; older nodes are read by other classes
DEEPEST = 200  # objects inside one another; skops recurses
TIMES = 100  # Reading a file may take this many times its size in memory, or working_memory where that is more.
LONGEST = 400  # the most characters that a message may quote
DIGITS = 64  # of the checksum
TREE = "schema.json"
LARGEST_TREE = 2**24  # bytes of a tree that is compressed, which take 25 times as much when they are read
SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
SCORES = ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression", "r_regression")
LISTS = {"ListNode", "SetNode", "TupleNode"}
DICTS = {"DefaultDictNode", "DictNode", "MaskedArrayNode"}
REDUCED = {"LossNode", "TreeNode"}
OF_ONE = {"ConstructorFromReduceNode", "DTypeNode", "ObjectNode", "RandomStateNode", *REDUCED}
LEAVES = {"BytearrayNode", "BytesNode", "FunctionNode", "JsonNode", "SliceNode", "SparseMatrixNode", "TypeNode"}
# Methods, partial functions, operators and generators of other kinds than RandomState have no place in a model.
KINDS = LISTS | DICTS | OF_ONE | LEAVES | {"NdArrayNode"}
# Arrays with one column per feature.
LIBSVM = ("NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR")  # compiled code follows the sizes of their arrays unchecked
OF_FEATURES = ("X_fit_", "_fit_X", "cluster_centers_", "coef_", "components_", "feature_names_in_", "mean_", "scale_")


def save(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    :func:`lapwing.load` reads it back, with the same parameters and, bit by bit, the same map. The file holds no code. It is
    written beside ``path`` and then put in its place, so that a failure leaves nothing behind and an earlier file as it was.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        An estimator of lapwing or of scikit-learn, a pipeline of such, or an estimator of your own. Functions are stored by
        their name, so a ``lambda`` raises an error. A model that was fitted on a device is written as :func:`lapwing.to_numpy`
        has it: read back, it takes NumPy arrays.
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
    skops = _skops()
    if not any(name.endswith("_") for name in getattr(estimator, "__dict__", ())):  # partial_fit leaves sums_ at least
        check_is_fitted(estimator)
    parts = list(_inside(estimator))
    by_function = any(isinstance(value, On) and isfunction(value.what) for _, value, _ in parts)
    is_foreign = any(
        hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray | np.generic) for _, value, _ in parts
    )
    if by_function or is_foreign:
        originals, estimator = {id(value) for _, value, _ in parts}, to_numpy(estimator)
        for _, part, _ in _inside(estimator) if by_function else ():
            if isinstance(part, Reducer) and id(part) not in originals and hasattr(part, "graph_"):
                given = (value for _, value, _ in _inside(part.graph))
                if any(isinstance(graph, On) and isfunction(graph.what) for graph in given):
                    part.graph = clone(part.graph_)  # on the columns that the function has chosen
        parts = list(_inside(estimator))
    for place, value, held in parts:
        thing = value if isfunction(value) else type(value)
        is_checked = (isfunction(value) or held is not None) and name_of(thing) not in own()
        if is_checked and getattr(sys.modules.get(thing.__module__), thing.__name__, None) is not thing:
            raise ValueError(
                f"{place} is {value!r:.60}, and no other program finds {thing.__qualname__} in {thing.__module__}; define it at "
                "the top of a module"
            )
        if sparse.issparse(value) and value.format not in ("csr", "csc"):
            raise ValueError(
                f"{place} is a sparse {value.format} matrix, and a model file holds csr and csc: use W.tocsr()"
            )
    try:
        content, root = packed(
            skops.dumps({"lapwing": version("lapwing"), "scikit-learn": sklearn.__version__, "model": estimator})
        )
        Tree().visit(root, "", 0)  # what could not be read is not written
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{type(estimator).__name__} cannot be stored: {in_a_line(error)}") from error
    with replacing(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str], trusted: Iterable[Any] = ()) -> Any:
    """Read an estimator that :func:`save` wrote. Nothing in the file is run, so a file from anyone may be opened.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : list of classes, default=()
        Classes, or functions, that the file may hold beside lapwing's estimators and graphs and what skops trusts of NumPy,
        SciPy and scikit-learn: your own, and those whose arrays compiled code would follow without checking them, such as
        ``sklearn.neighbors.KDTree``. Name only what you would run, since it is built with what the file says.

    Returns
    -------
    estimator
        The fitted estimator.

    Raises
    ------
    ValueError
        Where the file is no model of lapwing, is damaged, or holds a class that is not trusted.

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
    skops = _skops()
    trusted = trusted if isinstance(trusted, Iterable) and not isinstance(trusted, str) else [trusted]
    names = [*own(), *map(name_of, trusted)]
    content = _read(path)
    try:
        tree, releases = _looked_at(content)
        compiled = [name for name in tree.places if name.rpartition(".")[2] in LIBSVM]
        _check_trusted([*skops.get_untrusted_types(data=content), *compiled], names, tree.places, releases["lapwing"])
        with warnings.catch_warnings(action="ignore", category=InconsistentVersionWarning):
            model = skops.loads(content, trusted=names)["model"]
        _check_built(model)
    except Exception as error:  # whatever a file may do to NumPy, SciPy and skops
        raise ValueError(f"{os.fspath(path)!r} is no model that lapwing can read: {in_a_line(error)}") from error
    written, here = releases["scikit-learn"], sklearn.__version__
    others = sorted({name.rpartition(".")[2] for name in tree.places if name.startswith("sklearn.")})
    if written.split(".")[:2] != here.split(".")[:2] and others:
        warnings.warn(
            f"{os.fspath(path)!r} was written with scikit-learn {written}, and this is {here}: {', '.join(others)} may give "
            "other results or none; lapwing's own steps are the same",
            stacklevel=2,
        )
    return model


def versions(path: str | os.PathLike[str]) -> dict[str, str]:
    """The releases of lapwing and scikit-learn that wrote a file which :func:`load` has read."""
    return _looked_at(_read(path))[1]


@cache
def _skops() -> Any:
    return require("skops.io", "model")


def _read(path: str | os.PathLike[str]) -> bytes:
    if os.path.exists(path) and not os.path.isfile(path):  # reading a pipe could wait without end
        what = "a folder" if os.path.isdir(path) else "no file on disk"
        raise ValueError(f"{os.fspath(path)!r} is {what}, not a model file")
    with open(path, "rb") as file:
        return file.read()


def packed(archive: bytes) -> tuple[bytes, Any]:
    """The archive as it is written, and its tree, which is compressed unless it is large: a twentieth of the bytes."""
    buffer = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as given, ZipFile(buffer, "w") as taken:
        root = json.loads(given.read(TREE))
        tree = json.dumps(root, separators=(",", ":"))
        taken.writestr(TREE, tree, ZIP_DEFLATED if len(tree) <= LARGEST_TREE else ZIP_STORED)
        for name in given.namelist():
            if name != TREE:
                taken.writestr(name, given.read(name))
        taken.comment = bytes(DIGITS)
    content = buffer.getvalue()[:-DIGITS]
    return content + sha256(content).hexdigest().encode(), root  # the checksum finds damage; it is no signature


def in_a_line(error: Exception) -> str:
    """The message of an error in one line of plain characters. It may quote what the file holds."""
    if isinstance(error, RecursionError):
        return f"it has more than {DEEPEST} objects inside one another"
    said = " ".join(f"it has no {error}".split() if isinstance(error, KeyError) else str(error).split())
    said = said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said) or type(error).__name__


def name_of(thing: Any) -> str:
    """The name of a class or a function in files."""
    if not (isclass(thing) or isfunction(thing)):
        raise TypeError(f"trusted=[{thing!r:.60}] must be a list of classes, such as trusted=[MyEstimator]")
    return f"{thing.__module__}.{thing.__name__}"


@cache
def own() -> dict[str, str]:
    """The types that lapwing trusts beside skops, and the only kind of node that each may be."""
    kinds = (BaseCrossValidator, BaseEstimator, Graph)
    public = [getattr(part, name) for part in (clustering, graphs, selection, tables) for name in part.__all__]
    objects = [*METHODS.values(), *(cls for cls in public if isclass(cls) and issubclass(cls, kinds))]
    return {
        **{name_of(cls): "ObjectNode" for cls in (*objects, Certificate, make_column_selector)},
        **{name_of(getattr(feature_selection, name)): "FunctionNode" for name in SCORES},
        **{name_of(getattr(sparse, name)): "SparseMatrixNode" for name in SPARSE},
        "numpy.dtype": "DTypeNode",
    }


@dataclass
class Tree:
    """What a walk through the tree of a file has found."""

    places: dict[str, str] = field(default_factory=dict)  # where each type is met first
    files: dict[str, tuple[int, str]] = field(default_factory=dict)  # the number and the kind of the node of each entry
    sizes: dict[int, int] = field(default_factory=dict)  # how many nodes there are in a node, by its number

    def visit(self, node: Any, place: str, depth: int) -> int:
        """Check a node and those in it, and count them.

        skops writes an object anew wherever it occurs, and reads it once. A file that refers to an object by its number alone
        could make a few nodes count as millions, so nodes of one number must have equally many nodes in them.
        """
        kind, number, name = node["__loader__"], node["__id__"], f"{node['__module__']}.{node['__class__']}"
        if depth > DEEPEST:
            raise RecursionError
        if kind not in KINDS or own().get(name, kind) != kind or name == "numpy.void" or "." in node["__class__"]:
            raise ValueError(f"{place} is {name} as {kind!r}, which no model has")
        self.places.setdefault(name, place)
        if "file" in node:
            stored = kind if node.get("type") != "json" else ""
            if self.files.setdefault(node["file"], (number, stored)) != (number, stored):
                raise ValueError(f"{place} is an array of another object")
        if kind == "JsonNode":
            json.loads(node["content"])
        size = 1 + sum(self.visit(part, f"{place}{step}".lstrip("."), depth + 1) for step, part in _parts(node))
        if type(number) is not int or number < 1 or self.sizes.setdefault(number, size) != size:
            raise ValueError(f"{place} has the number {number!r:.60} of another object")
        return size


def _parts(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The nodes in a node, each with its place there."""
    kind, content, is_list = node["__loader__"], node.get("content", ()), node.get("type") == "json"
    if kind in DICTS:
        yield from ((f".{key}", part) for key, part in content.items())
    elif kind in LISTS or is_list:
        yield from ((f"[{i}]", part) for i, part in enumerate(content))
    elif kind in OF_ONE and content:
        yield "", content
    if kind == "DictNode":
        yield ".keys", node["key_types"]
    if is_list:
        yield ".shape", node["shape"]
    if kind in REDUCED:
        yield "", node["__reduce__"]["args"]


def _looked_at(content: bytes) -> tuple[Tree, dict[str, str]]:
    """The tree of a file that can be built, and the versions that wrote it: its entries, tree and arrays have been looked at."""
    if sha256(memoryview(content)[:-DIGITS]).hexdigest().encode() != content[-DIGITS:]:
        raise ValueError("it is another kind of file, or damaged: it does not match its checksum")
    archive = ZipFile(io.BytesIO(content))
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("it has two entries of one name")
    for entry in entries:
        most = LARGEST_TREE if entry.filename == TREE else 0  # bytes that may be compressed
        if entry.file_size > most and entry.file_size != entry.compress_size:
            raise ValueError(f"{entry.filename} is compressed, and would take {entry.file_size:,} bytes")
    if sum(entry.compress_size for entry in entries) > len(content):
        raise ValueError("its entries overlap")
    root = json.loads(archive.read(TREE))
    protocol, parts = root["protocol"], root["content"]
    if type(protocol) is not int or protocol < OLDEST_PROTOCOL:
        raise ValueError(f"protocol {protocol!r} of skops is unknown")
    if root["__loader__"] != "DictNode" or parts.keys() != {"lapwing", "scikit-learn", "model"}:
        raise ValueError("it holds something else than a model and its versions")
    tree = Tree()
    tree.visit(root, "", 0)
    room = max(TIMES * len(content), int(get_config()["working_memory"] * 2**20))
    for name, (_, kind) in tree.files.items():
        if kind == "NdArrayNode":
            _check_npy(archive, name)
        elif kind == "SparseMatrixNode":
            _check_npz(archive.read(name), room)
    releases = {name: json.loads(parts[name]["content"]) for name in ("lapwing", "scikit-learn")}
    if not all(isinstance(release, str) for release in releases.values()):
        raise ValueError("it does not say which versions wrote it")
    return tree, releases


def _check_npz(content: bytes, room: int) -> None:
    """Check a sparse matrix, which is an archive of arrays that may be compressed."""
    with ZipFile(io.BytesIO(content)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > room:
            raise ValueError(
                f"a sparse matrix of {size / 2**20:,.0f} MiB, above the limit of {room / 2**20:,.0f} MiB; where you trust the "
                "file, raise it by sklearn.set_config(working_memory=...)"
            )
        if len(set(archive.namelist())) < len(archive.namelist()) or archive.testzip() is not None:
            raise ValueError("a sparse matrix that is damaged")
        for name in archive.namelist():
            _check_npy(archive, name)


def _check_npy(archive: ZipFile, name: str) -> None:
    """Raise unless an array is as large as its header says, and holds no Python objects."""
    entry = archive.getinfo(name)
    with archive.open(entry) as stream:
        is_first = np.lib.format.read_magic(stream) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        count, rest = prod(map(int, shape)), entry.file_size - stream.tell()
    if dtype.hasobject:
        raise ValueError(f"{name} is an array of Python objects")
    if count * dtype.itemsize != rest or min(shape, default=0) < 0 or (count and not dtype.itemsize):
        raise ValueError(f"{name} is an array of shape {shape} and {dtype}, and has {rest:,} bytes")


def _check_trusted(found: list[str], names: list[str], places: dict[str, str], there: str) -> None:
    """Raise where a type that skops does not trust is not among the names."""
    found = [name for name in found if name not in names]
    if not found:
        return
    what = " and ".join(f"{places.get(name, 'model')} is {name}" for name in found[:2])
    module, _, last = found[-1].rpartition(".")
    package = module.partition(".")[0]
    if package == "lapwing":
        here = version("lapwing")
        raise ValueError(f"{what}, which is no class of lapwing {here} that a file may hold; lapwing {there} wrote it")
    if sys.stdlib_module_names.intersection(name.partition(".")[0] for name in found):
        raise ValueError(f"{what}, which no model has")
    hint = "" if package in ("__main__", "numpy", "scipy", "sklearn") else f", or --import {module} on the command line"
    hint = ', or fit with algorithm="brute"' if last in ("BallTree", "KDTree") else hint
    trusted = ", ".join(name.rpartition(".")[2] for name in found)
    raise ValueError(
        f"{what}, which is not read from any file; where you trust who wrote it, lapwing.load(path, trusted=[{trusted}]){hint}"
    )


def _inside(model: Any) -> Iterator[tuple[str, Any, dict[str, Any] | None]]:
    """Everything that a model holds, once, with the place where it was found and, of an object, its attributes."""
    seen: dict[int, Any] = {}  # values by their ids, so that Python gives no id to another object meanwhile
    found: list[tuple[str, Any]] = [(type(model).__name__, model)]
    while found:
        place, value = found.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        is_function = isclass(value) or (callable(value) and not isinstance(value, BaseEstimator | Graph))
        held = vars(value) if hasattr(value, "__dict__") and not is_function else None
        yield place, value, held
        if isinstance(value, dict):
            found += [(f"{place}.{key}", part) for key, part in value.items()]
        elif isinstance(value, list | tuple | set) or (isinstance(value, np.ndarray) and value.dtype == object):
            found += [(f"{place}[{i}]", part) for i, part in enumerate(value)]
        else:
            found += [(f"{place}.{name}", part) for name, part in (held or {}).items()]


def _check_built(model: Any) -> None:
    """Raise where a model holds what compiled code would follow out of bounds, or what hides a method."""
    if not hasattr(model, "fit"):
        raise ValueError(f"it holds {type(model).__name__}, which is no estimator")
    for place, value, held in _inside(model):
        if sparse.issparse(value):
            check_compressed(value)  # other formats have no check_format
        elif isinstance(value, np.random.RandomState):
            position = value.get_state(legacy=False)["state"]["pos"]
            if not 0 <= position <= 624:
                raise ValueError(f"{place} is a RandomState at the position {position}, outside of 0 to 624")
        elif held is not None:
            _check_attributes(place, value, held)


def _check_attributes(place: str, value: Any, held: dict[str, Any]) -> None:
    features = held.get("n_features_in_")
    for name in held:
        hidden = getattr_static(type(value), name, None)
        if name.startswith("__") or (hasattr(hidden, "__get__") and not isinstance(hidden, cached_property)):
            raise ValueError(f"{place}.{name} would hide what its class has under this name")
    if "memory" in held and type(value).__module__.startswith("sklearn."):
        value.memory = None  # a folder of pickles
    for name in () if features is None else OF_FEATURES:
        of_landmarks = name in ("components_", "mean_") and isinstance(value, KernelReducer)
        shape = () if of_landmarks else getattr(held.get(name), "shape", ())
        if shape and features not in (shape[-1], prod(shape) if name == "mean_" else shape[-1]):  # of images
            raise ValueError(f"{place}.{name}, of shape {shape}, contradicts n_features_in_={features!r:.60}")


def to_torch(estimator: BaseEstimator) -> Any:
    """Turn a linear map into a layer of PyTorch, a ``torch.nn.Linear`` in the precision of ``components_``.

    The mean becomes a bias, ``-components_ @ mean_``. So in single precision, as of ``layer.float()``, features that are far
    from 0 lose digits.

    Parameters
    ----------
    estimator : linear method of lapwing, fitted
        Any linear method except LPI, which scales rows.

    Returns
    -------
    torch.nn.Linear

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X = load_iris().data
    >>> layer = lapwing.to_torch(lapwing.LPP(2).fit(X))
    >>> layer(torch.from_numpy(X)).shape
    torch.Size([150, 2])
    """
    torch = require("torch", "torch")
    name = type(estimator).__name__
    if not isinstance(estimator, LinearReducer):
        raise TypeError(
            f"{name} is no linear method of lapwing, so to_torch has no matrix to write; LPP, OLPP, NPE and their kin have"
        )
    if isinstance(estimator, LPI):
        raise TypeError("LPI scales rows to unit length before it projects, which no linear layer does; use to_onnx")
    if type(estimator).transform is not LinearReducer.transform:
        raise TypeError(f"{name} has a transform of its own, which to_torch does not know")
    check_is_fitted(estimator)
    V = estimator.components_
    bias = -(V.astype(np.float64) @ estimator.mean_)
    k, d = V.shape
    layer = torch.nn.utils.skip_init(torch.nn.Linear, d, k, dtype=torch.from_numpy(V).dtype)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(V))
        layer.bias.copy_(torch.from_numpy(bias))
    return layer
