"""Fitted models as files: model files of lapwing's own, and ONNX.

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
from collections.abc import Callable, Iterable, Iterator
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
from sklearn.base import BaseEstimator, is_classifier, is_clusterer
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.model_selection import BaseCrossValidator
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from . import clustering, graphs, selection, tables
from ._extras import replacing, require, write_whole
from ._validation import check_choice, check_compressed
from .device import to_numpy
from .graphs import Graph
from .methods import LPI, METHODS
from .reducers import FeatureSelector, KernelReducer, LinearReducer, Reducer
from .solvers import Certificate

__all__ = ["load", "save", "to_onnx", "versions"]

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
        if kind == "JsonNode" and str(node.get("content")).lstrip()[:1] in (
            "[",
            "{",
        ):  # of which only later Pythons read many
            raise ValueError(f"{place} is a list or a dict in JSON, and a model file holds them as nodes")
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


# ---- ONNX: skl2onnx writes scikit-learn's steps, and converters that are registered with it write lapwing's

OPSETS = {"": 17, "ai.onnx.ml": 3}  # old enough for any runtime in use
FLOAT, BOOL, DOUBLE = 1, 9, 11  # types, by their numbers in the format
# The values of parameters that can be written; with others skl2onnx would write another function.
WRITTEN: tuple[tuple[Any, str, tuple[Any, ...]], ...] = (
    (KernelReducer, "kernel", ("rbf", "linear", "poly", "polynomial")),
    (KernelReducer, "features", (None,)),
    (LinearDiscriminantAnalysis, "solver", ("svd", "eigen")),
    (SimpleImputer, "add_indicator", (False,)),
    ((KNeighborsClassifier, KNeighborsRegressor), "weights", ("uniform",)),
)
Places = dict[int, tuple[str, int]]  # the input of each column, and its number there
Write = Callable[..., Any]  # makes an operator of skl2onnx, from its name, inputs and options


def to_onnx(estimator: BaseEstimator, path: str | os.PathLike[str] | None = None, *, dtype: str = "float32") -> Any:
    """The model as ONNX, with the input ``X`` of shape (n_samples, n_features) and the output ``Y``.

    A classifier at the end has the outputs ``label`` and ``probabilities``, k-means ``label`` and the distances ``Y``. LDA is
    written as a projection. onnxruntime loads the model once, so that what is returned can be used.

    Where a ``ColumnTransformer`` at the beginning encodes text, there are two inputs: ``X`` with the other columns and ``S`` with
    those of text, a blank standing for a missing one; the entries ``X`` and ``S`` of the model's metadata name or number them.
    A :class:`~lapwing.tables.Preparation` at the beginning is not written: the model takes ``preparation.to_frame(X)``,
    with dates as days since 1970 and missing numbers as NaN, and the entry ``columns`` says what each column must be.

    Parameters
    ----------
    estimator : linear method, kernel method or feature score of lapwing, fitted
        The kernel is ``"rbf"``, ``"linear"`` or ``"poly"``, with landmarks or without. Or a pipeline of such and of steps that
        skl2onnx knows, which are nearly all of scikit-learn's. The error for another names its step.
    path : path-like, default=None
        A file to write the model to.
    dtype : {"float32", "float64"}, default="float32"
        The precision of ``X``, of ``Y`` and between them. In float32, columns far from 0 beside their deviation lose digits.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from lapwing import OLPP, to_onnx
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> [node.op_type for node in to_onnx(OLPP(10).fit(X)).graph.node]
    ['Sub', 'MatMul', 'Identity']
    """
    skl2onnx, types = require("skl2onnx", "onnx"), require("skl2onnx.common.data_types", "onnx")
    runtime = require("onnxruntime", "onnx")
    check_choice("dtype", dtype, ("float32", "float64"))
    check_is_fitted(estimator)
    opened = bare(to_numpy(estimator))
    preparation = tables.preparation_of(opened)
    if preparation is not None:
        opened = bare(Pipeline(opened.steps[1:])) if isinstance(opened, Pipeline) else FunctionTransformer()
    width = getattr(estimator, "n_features_in_", getattr(opened, "n_features_in_", None))
    if width is None:
        raise TypeError(f"{type(estimator).__name__} does not say how many columns it takes, which ONNX has to know")
    text = tables.text_columns(opened)
    columns_of = {"X": [j for j in range(width) if j not in text], "S": text}
    inputs = {name: columns for name, columns in columns_of.items() if columns}
    model = _plain(opened, "", {j: (name, i) for name, columns in inputs.items() for i, j in enumerate(columns)})
    number = types.FloatTensorType if dtype == "float32" else types.DoubleTensorType
    kinds = {"X": number, "S": types.StringTensorType}
    outputs = ["label", "probabilities"] if is_classifier(model) else ["label", "Y"] if is_clusterer(model) else ["Y"]
    if dtype == "float64" and outputs == ["Y"]:  # what encoders give, and what is computed from it alone, is in float32
        model = Pipeline([("model", model), ("precision", skl2onnx.sklapi.CastTransformer(dtype=np.float64))])
    try:
        written = skl2onnx.convert_sklearn(
            model,
            type(estimator).__name__,
            [(name, kinds[name]([None, len(columns)])) for name, columns in inputs.items()],
            target_opset=OPSETS,
            custom_conversion_functions={SimpleImputer: _convert},
            custom_shape_calculators={SimpleImputer: _shape},
            custom_parsers={Columns: _parse_columns},
            options={id(model): {"zipmap": False}} if is_classifier(model) else None,
            final_types=[(name, None) for name in outputs],
        )
        runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])  # it can be used
    except Exception as error:  # skl2onnx and onnxruntime raise errors of many kinds
        said = " ".join(str(error).split()) + " (skl2onnx writes some steps in float32 alone)" * (dtype == "float64")
        raise TypeError(f"{type(estimator).__name__} cannot be written as ONNX: {said}") from error
    names = [str(name) for name in getattr(estimator, "feature_names_in_", range(width))]
    for name, columns in inputs.items() if text or preparation is not None else ():
        written.metadata_props.add(key=name, value=json.dumps([names[j] for j in columns]))
    if preparation is not None:
        written.metadata_props.add(key="columns", value=json.dumps(preparation.inputs(), ensure_ascii=False))
    if path is not None:
        write_whole(path, written.SerializeToString())
    return written


class Columns(BaseEstimator):
    """Stands for a choice of columns of an input. skl2onnx's own mixes up columns that are all taken, in another order."""

    def __init__(self, name: str, columns: list[int]):
        self.name = name
        self.columns = columns


def bare(step: Any) -> Any:
    """A search as what it found, and a pipeline without the steps that do nothing."""
    step = getattr(step, "best_estimator_", step)
    if isinstance(step, selection.SemiSupervised):
        step = Pipeline([("reducer", step.reducer_), ("classifier", step.classifier_)])
    if isinstance(step, Pipeline):
        kept = [(name, part) for name, part in step.steps if part is not None and part != "passthrough"]
        return Pipeline(kept) if kept else FunctionTransformer()
    return step


def _plain(step: Any, where: str, places: Places | None = None) -> Any:
    """The fitted step by steps that skl2onnx writes. Converters of ours are registered. ``places`` are those of raw columns."""
    step = bare(step)
    if isinstance(step, Pipeline):
        steps = enumerate(step.steps)
        return Pipeline([(n, _plain(part, f"{where}step {n!r}: ", None if i else places)) for i, (n, part) in steps])
    if isinstance(step, FeatureUnion):
        kept = [(n, part) for n, part in step.transformer_list if part != "drop"]
        parts = [(n, _plain(part, f"{where}step {n!r}: ", places)) for n, part in kept]
        return FeatureUnion(parts, transformer_weights=step.transformer_weights)
    if isinstance(step, ColumnTransformer):
        return _union(step, where, places or {j: ("", j) for j in range(step.n_features_in_)})
    _input_of((places or {}).values(), where + type(step).__name__)
    if isinstance(step, str):
        return FunctionTransformer()  # passthrough
    if isinstance(step, LinearDiscriminantAnalysis) and hasattr(step, "scalings_"):
        step = _projection(step)
    kind = next((kind for kind in WRITERS if isinstance(step, kind)), None)
    if why := _why_not(step, kind):
        raise TypeError(f"{where}{type(step).__name__} {why}")
    if kind not in (None, SimpleImputer):  # skl2onnx has a converter of imputers, and others shall find it
        name = f"Lapwing {type(step).__module__}.{type(step).__qualname__}"
        require("skl2onnx", "onnx").update_registered_converter(type(step), name, _shape, _convert)
    return step


def _union(step: ColumnTransformer, where: str, places: Places) -> FeatureUnion:
    parts = []
    for name, part, chosen in step.transformers_:
        taken, here = [places[j] for j in tables.column_numbers(step, chosen)], f"{where}step {name!r}"
        if taken and part != "drop":
            columns = Columns(_input_of(taken, here), [j for _, j in taken])
            parts.append((name, Pipeline([("columns", columns), ("part", _plain(part, f"{here}: "))])))
    return FeatureUnion(parts, transformer_weights=step.transformer_weights)


def _input_of(places: Any, who: str) -> str:
    names = {name for name, _ in places}
    if len(names) > 1:
        raise TypeError(f"{who} takes numbers and text at once, which to_onnx cannot write; use a step for each")
    return next(iter(names), "")


def _projection(lda: LinearDiscriminantAnalysis) -> LinearReducer:
    """What LDA does to rows. skl2onnx takes it for a classifier."""
    linear = LinearReducer()
    linear.components_ = lda.scalings_[:, : len(lda.get_feature_names_out())].T
    linear.mean_ = lda.xbar_ if lda.solver == "svd" else np.zeros(lda.n_features_in_)
    return linear


def _why_not(step: Any, kind: Any) -> str | None:
    """Why a step cannot be written; None where it can be."""
    if kind is None and isinstance(step, Reducer):
        return "is no linear method, kernel method or feature score, so to_onnx has no formula to write"
    if kind is None:
        try:
            require("skl2onnx", "onnx").get_model_alias(type(step))
        except RuntimeError:
            return "is no step that skl2onnx knows; skl2onnx.update_registered_converter adds it"
    elif type(step).transform is not kind.transform:
        return "has a transform of its own, which to_onnx does not know"
    if isinstance(step, tables.Preparation) and step.left_out_:
        return f"leaves columns out ({', '.join(map(repr, step.left_out_))}); drop them before"
    for classes, name, known in WRITTEN:
        if isinstance(step, classes) and (value := getattr(step, name, known[0])) not in known:
            return f"has {name}={value!r}, which to_onnx cannot write; use {' or '.join(map(repr, known))}"
    return None


def _parse_columns(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    given = next((given for given in inputs if given.raw_name == model.name), inputs[0])
    choice = scope.declare_local_operator("SklearnArrayFeatureExtractor")
    choice.inputs, choice.column_indices = [given], model.columns
    choice.outputs.append(scope.declare_local_variable("columns", type(given.type)([None, len(model.columns)])))
    return choice.outputs


def _shape(operator: Any) -> None:
    kind, names = type(operator.inputs[0].type), operator.raw_operator.get_feature_names_out()
    operator.outputs[0].type = kind([None, len(names)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    operators = require("skl2onnx.algebra.onnx_ops", "onnx")

    def write(name: str, *inputs: Any, **options: Any) -> Any:
        return getattr(operators, f"Onnx{name}")(*inputs, **{"op_version": container.target_opset} | options)

    model = operator.raw_operator
    converter = next(converter for kind, converter in WRITERS.items() if isinstance(model, kind))
    written = converter(write, model, operator.inputs[0])
    write("Identity", written, output_names=operator.outputs[:1]).add_to(scope, container)


def _numbers(values: Any, X: Any = None) -> np.ndarray:
    """A constant in the precision of X, or else in double precision."""
    dtype = np.float64 if X is None else require("skl2onnx.common.data_types", "onnx").guess_numpy_type(X.type)
    return np.atleast_1d(np.asarray(values, dtype=dtype))


def _linear(write: Write, model: Any, X: Any, rows: Any = None) -> Any:
    """``(X - mean_) @ components_.T``. A bias in the place of the subtraction would lose digits in float32."""
    about_mean = write("Sub", X if rows is None else rows, _numbers(model.mean_, X))
    return write("MatMul", about_mean, _numbers(model.components_.T, X))


def _documents(write: Write, model: Any, X: Any) -> Any:
    projected = _linear(write, model, X, write("LpNormalization", X, axis=1, p=2))
    total = write("ReduceSum", write("Abs", X), np.array([1]), keepdims=1)
    return write("Mul", projected, write("Sign", total))  # the sign is 0 for empty documents


def _kernel(write: Write, model: Any, X: Any) -> Any:
    """In double precision, as ``transform`` computes kernels."""
    rows = write("Cast", X, to=DOUBLE)
    rows = rows if model.scale_ is None else write("Div", rows, _numbers(model.scale_))
    if model.landmarks is None:
        K = _kernel_matrix(write, model, rows, model.X_fit_)
        Z = write("Sub", write("MatMul", K, _numbers(model.dual_coef_.T)), _numbers(model.intercept_))
    else:
        K = _kernel_matrix(write, model, rows, model.nystroem_.components_)
        features = write("MatMul", K, _numbers(model.nystroem_.normalization_.T))
        Z = write("MatMul", write("Sub", features, _numbers(model.mean_)), _numbers(model.components_.T))
    return write("Cast", Z, to=FLOAT if _numbers(0, X).dtype == np.float32 else DOUBLE)


def _kernel_matrix(write: Write, model: Any, rows: Any, fitted: Any) -> Any:
    B = _numbers(fitted.toarray() if sparse.issparse(fitted) else fitted)
    gamma = 1 / B.shape[1] if model.gamma_ is None else model.gamma_
    if model.kernel == "rbf":
        middle = np.median(B, axis=0)  # products of rows that are far from 0 lose digits
        A, B = write("Sub", rows, middle), B - middle
        lengths = write("ReduceSum", write("Mul", A, A), np.array([1]), keepdims=1)
        squared = write("Sub", write("Add", lengths, (B * B).sum(axis=1)), write("MatMul", A, 2 * B.T))
        return write("Exp", write("Mul", write("Max", squared, np.zeros(1)), _numbers(-gamma)))
    if model.kernel == "linear":
        return write("MatMul", rows, B.T)
    products = write("MatMul", rows, gamma * B.T)  # onnxruntime would fuse a factor of the product, in float32
    return write("Pow", write("Add", products, _numbers(model.coef0)), _numbers(model.degree))


def _filled(write: Write, model: Any, X: Any) -> Any:
    """An imputer. skl2onnx's own has float32 alone, keeps columns that were empty, and knows no gaps in text."""
    missing, values = model.missing_values, model.statistics_
    if any(isinstance(value, str) for value in values):
        blank = [missing if isinstance(missing, str) else ""]
        gaps = write("LabelEncoder_2", X, keys_strings=blank, values_int64s=[1], default_int64=0, op_version=2)
        return write("Where", write("Cast", gaps, to=BOOL), values.astype(str), X)
    kept, missing = np.flatnonzero(~np.isnan(values.astype(np.float64))), _numbers(missing, X)
    rows, values = write("Gather", X, kept, axis=1), _numbers(values[kept], X)
    return write("Where", write("IsNaN", rows) if np.isnan(missing) else write("Equal", rows, missing), values, rows)


WRITERS: dict[type, Callable[[Write, Any, Any], Any]] = {
    LPI: _documents,
    LinearReducer: _linear,
    KernelReducer: _kernel,
    FeatureSelector: lambda write, model, X: write("Gather", X, model.get_support(indices=True), axis=1),
    SimpleImputer: _filled,
    tables.Preparation: lambda write, model, X: X,  # its columns come as it gives them
}
