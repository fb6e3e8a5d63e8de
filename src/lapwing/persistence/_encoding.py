"""Values as JSON with their arrays beside it, and back.

The types are a closed list, and classes are only those that the program has already. So reading a file neither runs nor
imports anything that the file names.

=================================  ==============================================================================
JSON                               value
=================================  ==============================================================================
null, true, 1, 1.5, "text", [...]  the same
{"float": "inf"}                   a float that JSON has no number for
{"tuple": [...]}, {"dict": {...}}  tuple, dict with text as keys
{"array": NAME, "order": "F"}      array, and whether it lay in memory by rows (C) or by columns (F)
{"scalar": NAME}                   NumPy scalar, stored as an array of one entry
{"strings": [...]}                 array of text, such as ``feature_names_in_``; with "width" of text of that many characters
{"objects": [...]}                 array of text, numbers and None by turns, such as categories
{"slice": [...]}, {"dtype": NAME}  slice, type of numbers
{"function": NAME}                 one of the functions in ``_others.FUNCTIONS``
{"sparse": "csr_array", ...}       SciPy sparse array or matrix, in row or column format
{"sum": [G, [H, 0.5], ...]}        G + 0.5 * H + ..., of many graphs
{"class": NAME, ...}               an estimator or a graph, by its parameters and its fitted attributes; of scikit-learn's,
                                   "default" names the parameters that have their defaults
=================================  ==============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from inspect import signature
from math import isfinite
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._validation import check_compressed
from ..devices import host, is_foreign
from ..graphs import Combination, Graph, On
from ..maps import SparseMap
from ..reducers import KernelReducer, ProjectingReducer, Reducer
from ..solvers import Certificate
from ._classes import class_of, is_known, name_of
from ._fitted import check_fitted
from ._held import require_room
from ._others import FUNCTIONS, STORABLE, check_parameters, learnt, restore, valid

SPARSE = {cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)}
PARTS = ("data", "indices", "indptr")
FORGOTTEN = {"fit_times_"}  # left out, so that equal fits give equal files
# What a model did before it had these parameters: columns stayed as they were, directions were truncated where X could be
# decomposed whole, and graphs were added as they were written.
WITHOUT = {"standardize": False, "ridge": 0.0, "normalize": None}
DTYPES = {
    np.dtype(name).name: np.dtype(name).type
    for name in (
        "bool",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
        "float16",
        "float32",
        "float64",
    )
}
NEWER = ("a newer lapwing", "another version of scikit-learn")
LONG_SUM = 50  # a sum of more graphs than this is stored as a list, since JSON limits how deep objects may be nested
ARRAY_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*", re.ASCII)


def _summands(graph: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """The first graph of a sum, and a list of what is added to it."""
    others = []
    while type(graph) is Combination:
        others.append((graph.right, graph.scale))
        graph = graph.left
    return graph, others[::-1]


class Encoder:
    """Turns values into JSON. ``arrays`` collects the arrays in them, by the place where each was found."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        # The array is kept too, so that Python does not give its id to another object.
        self._nodes: dict[int, tuple[np.ndarray, dict]] = {}
        self._steps: list[str] = []  # the steps of pipelines around the value that is being encoded

    def encode(self, value: Any, place: str) -> Any:
        """The JSON of a value; ``place`` is its name in arrays and in errors."""
        value = host(value) if is_foreign(value) else value
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._items(value, place)
        if kind is tuple:
            return {"tuple": self._step(value, place)}
        if kind is slice:
            return {"slice": self._items((value.start, value.stop, value.step), place)}
        if kind is type and issubclass(value, np.generic) and np.dtype(value).kind in "biuf":
            return {"dtype": np.dtype(value).name}
        if callable(value) and value in FUNCTIONS.values():
            return {"function": value.__name__}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": dict(zip(value, self._items(value.values(), place), strict=True))}
        if kind is np.str_:
            return str(value)
        if isinstance(value, np.generic) or (kind is np.ndarray and value.ndim == 0):
            return {"scalar": self._stored(np.reshape(value, 1), place)}
        if kind is np.ndarray:
            return self._array(value, place)
        if sparse.issparse(value):
            return self._sparse(value, place)
        if kind is Certificate:  # as a dictionary, which earlier versions can read
            return self.encode(asdict(value), place)
        if is_known(kind):
            return self.encode_object(value, place)
        raise refusal(self._where(place), value)

    def encode_object(self, value: Any, place: str = "") -> dict:
        """An estimator or a graph: its class, its parameters, and what it has learnt."""
        first, others = _summands(value)
        if len(others) > LONG_SUM:
            parts = zip(self._items([right for right, _ in others], place), (scale for _, scale in others), strict=True)
            return {"sum": [self.encode(first, f"{place}.first"), *([right, float(scale)] for right, scale in parts)]}
        params = _chosen(value, value.get_params(deep=False))
        prefix = f"{place}." if place else ""
        if type(value) in STORABLE:
            params, fitted = self._of_others(value, params)
        else:
            fitted = {name: part for name, part in vars(value).items() if name not in params.keys() | FORGOTTEN}
            for name in fitted:
                check_attribute(type(value), name)
        node = {
            "class": name_of(type(value)),
            "params": {name: self.encode(part, prefix + name) for name, part in params.items()},
            "fitted": {name: self.encode(part, prefix + name) for name, part in fitted.items()},
        }
        return node | {"default": _defaults(value)} if type(value) in STORABLE else node

    def _of_others(self, value: Any, params: dict) -> tuple[dict, dict]:
        try:
            check_parameters(value)
            fitted = learnt(value, params)
        except ValueError as error:
            raise ValueError(self._where(str(error))) from error
        if "_columns" in fitted:  # columns that a function chose are stored as a list
            chosen = zip(params["transformers"], fitted["_columns"], strict=True)
            params = {**params, "transformers": [(name, part, columns) for (name, part, _), columns in chosen]}
        return params, fitted

    def _step(self, value: tuple, place: str) -> list:
        """A tuple as JSON. A pair of a name and an estimator is a step of a pipeline."""
        if not (len(value) > 1 and type(value[0]) is str and hasattr(value[1], "get_params")):
            return self._items(value, place)
        self._steps.append(f"step {value[0]!r} ({type(value[1]).__name__})")
        if not is_known(type(value[1])):
            raise ValueError(
                f"{', '.join(self._steps)} is no estimator of lapwing, nor one of those of scikit-learn that a model "
                "file holds; use skops.io.dump or joblib.dump"
            )
        items = self._items(value, place)
        self._steps.pop()
        return items

    def _where(self, place: str) -> str:
        return ": ".join([*self._steps, place]) if self._steps else place

    def _items(self, values: Any, place: str) -> list:
        return [self.encode(value, f"{place}.{i}") for i, value in enumerate(values)]

    def _array(self, value: np.ndarray, place: str) -> dict:
        if value.dtype == object:
            if value.ndim != 1 or not all(item is None or isinstance(item, str | int | float) for item in value):
                raise refusal(self._where(place), value)
            if all(isinstance(item, str) for item in value):
                return {"strings": [str(item) for item in value]}
            return {"objects": self._items(value.tolist(), place)}
        if value.dtype.kind == "U" and value.ndim == 1:
            return {"strings": value.tolist(), "width": value.dtype.itemsize // 4}
        if id(value) not in self._nodes:
            # The order in memory decides how products are summed. It is kept, so that a model that is read back gives the
            # same bits.
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            node = {"array": self._stored(value, place), "order": order}
            self._nodes[id(value)] = value, node
        return self._nodes[id(value)][1]

    def _sparse(self, value: Any, place: str) -> dict:
        value = value if value.format in ("csr", "csc") else value.tocsr()
        parts = {part: self._stored(getattr(value, part), f"{place}.{part}") for part in PARTS}
        return {"sparse": type(value).__name__, "shape": list(value.shape), **parts}

    def _stored(self, value: np.ndarray, place: str) -> str:
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise refusal(self._where(place), value)
        # By rows, since the container takes the memory as it lies.
        self.arrays[place] = np.asarray(value, dtype=value.dtype.newbyteorder("="), order="C")
        return place


class Decoder:
    """Turns JSON and arrays back into values. A file may hold anything, so what does not fit raises an error."""

    def __init__(self, arrays: Mapping[str, np.ndarray], format: int):
        self._arrays, self._format = arrays, format
        self._by_columns: dict[str, np.ndarray] = {}
        self._tags: dict[str, Callable[[dict], Any]] = {
            "float": lambda node: float(node["float"]),
            "tuple": lambda node: tuple(self.decode(item) for item in node["tuple"]),
            "dict": lambda node: self._values(node["dict"]),
            "array": self._array,
            "scalar": lambda node: arrays[node["scalar"]][0],
            "strings": _strings,
            "objects": self._objects,
            "slice": lambda node: slice(*map(_index, node["slice"])),
            "dtype": lambda node: DTYPES[node["dtype"]],
            "function": lambda node: FUNCTIONS[node["function"]],  # _object decides whether it may stand here
            "sparse": self._sparse,
            "sum": self._sum,
            "class": self._object,
        }

    def decode(self, node: Any) -> Any:
        """The value of a JSON node. Keys that are not known are ignored."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        tags = node.keys() & self._tags.keys()
        if len(tags) != 1:
            raise ValueError(f"a value with the keys {sorted(node)} is of no known kind")
        return self._tags[tags.pop()](node)

    def _values(self, nodes: dict) -> dict:
        return {name: self.decode(node) for name, node in nodes.items()}

    def _array(self, node: dict) -> np.ndarray:
        name = node["array"]
        if node.get("order") != "F":
            return self._arrays[name]
        if name not in self._by_columns:  # one copy, however often a file asks for it
            self._by_columns[name] = np.asfortranarray(self._arrays[name])
        return self._by_columns[name]

    def _objects(self, node: dict) -> np.ndarray:
        items = self.decode(node["objects"])
        if not all(item is None or isinstance(item, str | int | float) for item in items):
            raise ValueError('"objects" hold something else')
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array

    def _sum(self, node: dict) -> Any:
        first, *others = node["sum"]
        graph = self.decode(first)
        for right, scale in others:
            graph = Combination(graph, self.decode(right), float(scale))
        return graph

    def _sparse(self, node: dict) -> Any:
        parts = tuple(self._arrays[node[part]] for part in PARTS)
        matrix = SPARSE[node["sparse"]](parts, shape=tuple(node["shape"]))
        check_compressed(matrix)
        return matrix

    def _object(self, node: dict) -> Any:
        cls = class_of(node["class"])
        fewer_columns = node["fitted"].get("n_features_in_", 0) <= SparseMap.limit
        params = migrated(cls, node["params"], self._format, fewer_columns)
        unknown = params.keys() - signature(cls).parameters.keys()
        # Another version of scikit-learn may have other parameters; those that have their default are not missed.
        if cls in STORABLE:
            params = {name: part for name, part in params.items() if name not in unknown & set(node["default"])}
            unknown -= set(node["default"])
        if unknown:
            raise ValueError(
                f"{node['class']} has no parameters {sorted(unknown)}; {NEWER[cls in STORABLE]} may have them"
            )
        given = self._values(params)
        value = cls(**(valid(cls, given, node["default"]) if cls in STORABLE else given))
        for name, part in value.get_params(deep=False).items():
            if callable(part) and name != "score_func" and not isinstance(part, type):
                raise ValueError(f"{name} of {node['class']} is a function")
        if cls in STORABLE:
            restore(value, self._values(node["fitted"]))
            return value
        for name, part in self._values(node["fitted"]).items():
            check_attribute(cls, name)
            setattr(value, name, _certificates(part) if name == "certificate_" else part)
        if self._format < 3:
            complete(value)
        if node["fitted"] and isinstance(value, Reducer):
            check_fitted(value)
        return value


def _certificates(value: Any) -> Any:
    """The value of ``certificate_`` in a file: one certificate, one per mode, or none."""
    if isinstance(value, list):
        return [_certificates(item) for item in value]
    if value is None:
        return None
    needed = {"residual", "constraint_error", "tolerance"}
    if not isinstance(value, dict) or not value.keys() >= needed:
        raise ValueError(f"certificate_ is no certificate: it must have {', '.join(sorted(needed))}")
    known = {field.name: value[field.name] for field in fields(Certificate) if field.name in value}
    for name, part in known.items():
        if type(part) is not (int if name == "rank" else float) and (part is not None or name in needed):
            raise ValueError(f"certificate_ has {part!r} for its {name}")
    return Certificate(**known)


def complete(model: Any) -> None:
    """Add what a fit stores today, and what earlier versions did not store."""
    if isinstance(model, ProjectingReducer) and not hasattr(model, "scale_"):
        model.scale_ = None
    if isinstance(model, KernelReducer) and not hasattr(model, "gamma_"):
        model.gamma_ = model.fitted_width(model.X_fit_) if model.landmarks is None else model.nystroem_.gamma


def _chosen(model: Any, params: dict) -> dict:
    """The parameters. Columns that a function chose for a graph are stored as a list."""
    graph = params.get("graph")
    parts = _parts(graph) if isinstance(graph, Graph) and hasattr(model, "graph_") else []
    by_function = any(isinstance(part, On) and callable(part.what) and not hasattr(part.what, "fit") for part in parts)
    return {**params, "graph": clone(model.graph_)} if by_function else params


def _parts(graph: Graph) -> list[Graph]:
    """A graph and all graphs inside it. Deep parameters are not used, since their names get long in long sums."""
    found = [graph]
    for part in found:
        found += [value for value in part.get_params(deep=False).values() if isinstance(value, Graph)]
    return found


def _defaults(estimator: Any) -> list[str]:
    """The parameters that have their defaults."""
    defaults = {name: parameter.default for name, parameter in signature(type(estimator)).parameters.items()}
    return sorted(
        name for name, value in estimator.get_params(deep=False).items() if repr(value) == repr(defaults[name])
    )


def check_attribute(cls: type, name: str) -> None:
    """Raise where a fitted attribute would hide something that its class has."""
    if not name.isidentifier() or name.startswith("__") or hasattr(cls, name):
        raise ValueError(
            f"{cls.__name__} cannot have the fitted attribute {name!r}: the class has one, or it is no plain name"
        )


def migrated(cls: type, params: dict, format: int, fewer_columns: bool = True) -> dict:
    """The parameters that a file of an earlier format means.

    Removed parameters are dropped, and new ones get the value that does what was done without them.

    ``fewer_columns`` says whether the model has so few features that its rows could always be decomposed whole.
    """
    if not issubclass(cls, Reducer):
        return params
    if format < 2:
        params = {name: node for name, node in params.items() if name != "solver"}
    if format < 3:
        params = {name: node for name, node in WITHOUT.items() if name in signature(cls).parameters} | params
        if params.get("ridge") == "auto" and "pca" in params and fewer_columns:
            # The meaning of "auto" then. With more columns X may be sparse and large, where "auto" still means what it did.
            params["ridge"] = 0.0
    return params


def _strings(node: dict) -> np.ndarray:
    if not all(isinstance(item, str) for item in node["strings"]):
        raise ValueError('"strings" hold something else')
    width = _index(node.get("width"))
    if width is None:
        return np.array(node["strings"], dtype=object)
    width = max([width, 1, *map(len, node["strings"])])
    require_room(f"{len(node['strings'])} texts of {width} characters", 4 * width * len(node["strings"]))
    return np.array(node["strings"], dtype=f"<U{width}")


def _index(value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    return value


def refusal(place: str, value: Any) -> ValueError:
    """The error for a value that a file cannot hold."""
    what = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"{value!r:.100}"
    return ValueError(
        f"{place} is {what}, and a model file holds only numbers, text, arrays and graphs; fit with a choice "
        "that has a name, or use skops.io.dump or joblib.dump"
    )
