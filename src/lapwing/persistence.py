"""Fitted models as files, and as layers of PyTorch.

A model file is an archive of skops with ``{"lapwing": version, "scikit-learn": version, "model": ...}``: a tree of JSON, with
arrays beside it. Before anything is built, :class:`Tree` walks through it, and skops compares every type with a list of exact
classes (never a prefix: a function of ours could be called through FunctionTransformer). What was built is then checked for
what compiled code would trust.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from inspect import isclass, isfunction
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import sklearn
from scipy import sparse
from sklearn import feature_selection, get_config
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import check_is_fitted

from . import clustering, graphs, selection, tables
from ._extras import replacing, require
from ._validation import check_compressed
from .device import to_numpy
from .graphs import Graph
from .methods import LPI, METHODS
from .onnx import to_onnx
from .reducers import LinearReducer
from .solvers import Certificate

__all__ = ["load", "save", "to_onnx", "to_torch", "versions"]

OLDEST_PROTOCOL = 2  # of skops; older nodes are read by other classes
DEEPEST = 300  # parts of a tree inside one another, about three per object; skops recurses
TIMES = 100  # A sparse matrix may take this many times its size in the file, or working_memory where that is more.
LONGEST_MESSAGE = 400  # the most characters that a message may quote
TREE = "schema.json"
LARGEST_TREE = 2**24  # bytes of a tree that is compressed, which take 25 times as much when they are read
SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
SCORES = ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression", "r_regression")
# Methods, partial functions, operators and generators of other kinds than RandomState have no place in a model.
KINDS = {"BytearrayNode", "BytesNode", "ConstructorFromReduceNode", "DTypeNode", "DefaultDictNode", "DictNode"}
KINDS |= {"FunctionNode", "JsonNode", "ListNode", "LossNode", "MaskedArrayNode", "NdArrayNode", "ObjectNode", "SetNode"}
KINDS |= {"RandomStateNode", "SliceNode", "SparseMatrixNode", "TreeNode", "TupleNode", "TypeNode"}
# Compiled code follows the sizes of arrays unchecked: those of these machines, and those with one column per feature.
LIBSVM = ("NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR")
OF_FEATURES = ("_fit_X", "cluster_centers_")


def save(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    :func:`lapwing.load` reads it back, with the same parameters and, bit by bit, the same map. The file holds no code. A failure
    leaves nothing behind, and an earlier file as it was.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        Of lapwing, of scikit-learn, or your own. Functions are stored by their name, so a ``lambda`` raises an error. A model
        that was fitted on a device is written as :func:`lapwing.to_numpy` has it.
    path : path-like
        Such as ``"model.lapwing"``.

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
    if not any(name.endswith("_") for name in getattr(estimator, "__dict__", ())):  # partial_fit leaves sums_ at least
        check_is_fitted(estimator)
    inside = list(_inside(estimator))
    if any(hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray | np.generic) for _, value, _ in inside):
        estimator = to_numpy(estimator)
    for place, value, held in inside:
        thing = value if isfunction(value) else type(value)
        is_checked = (isfunction(value) or held is not None) and name_of(thing) not in own()
        if is_checked and getattr(sys.modules.get(thing.__module__), thing.__name__, None) is not thing:
            why = f"no other program finds {thing.__qualname__} in {thing.__module__}"
            raise ValueError(f"{place} is {value!r:.60}, and {why}; define it at the top of a module")
    try:
        parts = {"lapwing": version("lapwing"), "scikit-learn": sklearn.__version__, "model": estimator}
        content, root = packed(skops.dumps(parts))
        Tree().visit(root)  # what could not be read is not written
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
        Classes, or functions, that the file may hold beside lapwing's estimators and graphs and what skops trusts: your own, and
        those whose arrays compiled code would follow without checking them, such as ``sklearn.neighbors.KDTree``. Name only what
        you would run, since it is built with what the file says.

    Examples
    --------
    >>> model = lapwing.load("mine.lapwing", trusted=[MyEstimator])  # doctest: +SKIP
    """
    skops, names = _skops(), [*own(), *map(name_of, trusted)]
    content = Path(path).read_bytes()
    try:
        tree, releases = _looked_at(content)
        found = {*skops.get_untrusted_types(data=content), *(n for n in tree.places if n.rpartition(".")[2] in LIBSVM)}
        _check_trusted(sorted(found.difference(names)), tree.places, releases["lapwing"])
        model = skops.loads(content, trusted=names)["model"]
        _check_built(model)
    except Exception as error:  # whatever a file may do to NumPy, SciPy and skops
        raise ValueError(f"{os.fspath(path)!r} is no model that lapwing can read: {in_a_line(error)}") from error
    return model


def versions(path: str | os.PathLike[str]) -> dict[str, str]:
    """The releases of lapwing and scikit-learn that wrote a file which :func:`load` has read."""
    return _looked_at(Path(path).read_bytes())[1]


@cache
def _skops() -> Any:
    """Importing skops imports all of scikit-learn to list its estimators, and with it torch and Dask, which takes seconds."""
    hidden = {"dask", "torch"} - sys.modules.keys()
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        return require("skops.io", "model")
    finally:
        for name in hidden:
            del sys.modules[name]


def packed(archive: bytes) -> tuple[bytes, Any]:
    """The archive as it is written, and its tree, which is compressed unless it is large: a twentieth of the bytes."""
    buffer = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as given, ZipFile(buffer, "w") as taken:
        root = json.loads(given.read(TREE))
        tree = json.dumps(root, separators=(",", ":"))
        taken.writestr(TREE, tree, ZIP_DEFLATED if len(tree) <= LARGEST_TREE else ZIP_STORED)
        for name in set(given.namelist()) - {TREE}:
            taken.writestr(name, given.read(name))
    return buffer.getvalue(), root


def in_a_line(error: Exception) -> str:
    """The message of an error in one line of plain characters. It may quote what the file holds."""
    said = " ".join((str(error) if isinstance(error, TypeError | ValueError) else repr(error)).split())
    said = said if len(said) <= LONGEST_MESSAGE else f"{said[:LONGEST_MESSAGE]} ..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said)


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

    def visit(self, part: Any, place: str = "", depth: int = 0) -> int:
        """Check the nodes in a part of the tree, and count them.

        An object stands in full wherever it occurs, with one number, and is read once. If a number could stand for it, a few
        nodes could count as millions; so nodes of one number must have equally many nodes in them.
        """
        if depth > DEEPEST:
            raise ValueError(f"it has more than {DEEPEST} parts inside one another")
        is_node, size = isinstance(part, dict) and not part.keys().isdisjoint(("__id__", "__loader__")), 0
        if isinstance(part, dict | list):
            for key, value in part.items() if isinstance(part, dict) else enumerate(part):
                step = "" if is_node else f"[{key}]" if isinstance(part, list) else f".{key}"
                size += self.visit(value, f"{place}{step}".lstrip("."), depth + 1)
        return size + self._check(part, place, size + 1) if is_node else size

    def _check(self, node: dict[str, Any], place: str, size: int) -> int:
        kind, number, name = node["__loader__"], node["__id__"], f"{node['__module__']}.{node['__class__']}"
        if kind not in KINDS or own().get(name, kind) != kind or name == "numpy.void" or "." in node["__class__"]:
            raise ValueError(f"{place} is {name} as {kind!r}, which no model has")
        if kind == "SparseMatrixNode" and name not in own():
            raise ValueError(f"{place} is {name}, and a model file holds csr and csc: use W.tocsr()")
        if type(number) is not int or number < 1 or self.sizes.setdefault(number, size) != size:
            raise ValueError(f"{place} has the number {number!r:.60} of another object")
        if "file" in node and self.files.setdefault(node["file"], (number, kind)) != (number, kind):
            raise ValueError(f"{place} is an array of another object")
        self.places.setdefault(name, place)
        return 1


def _looked_at(content: bytes) -> tuple[Tree, dict[str, str]]:
    """The tree of a file that can be built, and the versions that wrote it: its entries, tree and arrays have been looked at."""
    archive, tree = _opened(content, len(content) + LARGEST_TREE), Tree()
    root = json.loads(archive.read(TREE))
    protocol, parts = root["protocol"], root["content"]
    if type(protocol) is not int or protocol < OLDEST_PROTOCOL:
        raise ValueError(f"protocol {protocol!r} of skops is unknown")
    if root["__loader__"] != "DictNode" or parts.keys() != {"lapwing", "scikit-learn", "model"}:
        raise ValueError("it holds something else than a model and its versions")
    tree.visit(root)
    for matrix in (archive.read(name) for name, (_, kind) in tree.files.items() if kind == "SparseMatrixNode"):
        _opened(matrix, max(TIMES * len(matrix), int(get_config()["working_memory"] * 2**20)))
    return tree, {name: str(json.loads(parts[name]["content"])) for name in ("lapwing", "scikit-learn")}


def _opened(content: bytes, room: int) -> ZipFile:
    """An archive of undamaged entries, which take so many bytes at most, however they are compressed."""
    archive = ZipFile(io.BytesIO(content))
    size = sum(entry.file_size for entry in archive.infolist())
    if size > room:
        raise ValueError(
            f"its entries take {size / 2**20:,.0f} MiB, above the limit of {room / 2**20:,.0f} MiB; if they are of a sparse "
            "matrix, and you trust the file, raise it by sklearn.set_config(working_memory=...)"
        )
    if damaged := archive.testzip():  # NumPy does not read an entry to its end, where the checksum is looked at
        raise ValueError(f"its entry {damaged!r} is damaged")
    return archive


def _check_trusted(found: list[str], places: dict[str, str], there: str) -> None:
    """Raise where types were found that nobody trusts."""
    if not found:
        return
    what = " and ".join(f"{places.get(name, 'model')} is {name}" for name in found[:2])
    packages = {name.partition(".")[0] for name in found}
    if packages & {"lapwing", *sys.stdlib_module_names}:
        raise ValueError(f"{what}, which lapwing {version('lapwing')} does not have; lapwing {there} wrote the file")
    names = ", ".join(name.rpartition(".")[2] for name in found)
    hint = f"lapwing.load(path, trusted=[{names}])"
    if not packages & {"numpy", "scipy", "sklearn"}:  # --import trusts estimators and graphs alone
        hint += f", or --import {found[-1].rpartition('.')[0]} on the command line"
    hint += ', or fit with algorithm="brute"' * names.endswith("Tree")
    raise ValueError(f"{what}, which is not read from any file; where you trust who wrote it, {hint}")


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
    """Raise where a model holds what compiled code would follow out of bounds; forget its folder of pickles."""
    if not hasattr(model, "fit"):
        raise ValueError(f"it holds {type(model).__name__}, which is no estimator")
    for place, value, held in _inside(model):
        if sparse.issparse(value):
            check_compressed(value)
        elif isinstance(value, np.random.RandomState):
            position = value.get_state(legacy=False)["state"]["pos"]
            if not 0 <= position <= 624:
                raise ValueError(f"{place} is a RandomState at the position {position}, outside of 0 to 624")
        elif held is not None:
            if "memory" in held and type(value).__module__.startswith("sklearn."):
                value.memory = None
            for name in OF_FEATURES:
                shape, features = getattr(held.get(name), "shape", ()), held.get("n_features_in_")
                if shape and shape[-1] != features:
                    raise ValueError(f"{place}.{name}, of shape {shape}, contradicts n_features_in_={features!r:.60}")


def to_torch(estimator: BaseEstimator) -> Any:
    """Turn a linear map into a layer of PyTorch, a ``torch.nn.Linear`` in the precision of ``components_``.

    The mean becomes a bias, so that in single precision features that are far from 0 lose digits.

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
    takes_rows = type(estimator).transform is LinearReducer.transform and not isinstance(estimator, LPI)
    if not (isinstance(estimator, LinearReducer) and takes_rows):
        raise TypeError(f"{type(estimator).__name__} is no linear method that takes rows as they are: not for to_torch")
    check_is_fitted(estimator)
    V = estimator.components_
    weight, bias = torch.from_numpy(V), torch.from_numpy(-(V.astype(np.float64) @ estimator.mean_))
    layer = torch.nn.utils.skip_init(torch.nn.Linear, *V.T.shape, dtype=weight.dtype)
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer
