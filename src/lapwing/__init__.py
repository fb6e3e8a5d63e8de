"""lapwing: graph-Laplacian dimensionality reduction in the style of scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auto import UnitsWarning as UnitsWarning
    from .device import to_numpy as to_numpy
    from .exact import ExactNeighbors as ExactNeighbors
    from .inspection import loadings as loadings
    from .inspection import sampling_error as sampling_error
    from .inspection import stability as stability
    from .methods import *  # noqa: F403
    from .persistence import load as load
    from .persistence import save as save
    from .persistence import to_onnx as to_onnx
    from .solvers import Certificate as Certificate
    from .solvers import CertificateWarning as CertificateWarning
    from .vectors import to_torch as to_torch
    from .verification import Verification as Verification
    from .verification import verify as verify

_NAMES = {
    "auto": ["UnitsWarning"],
    "device": ["to_numpy"],
    "exact": ["ExactNeighbors"],
    "inspection": ["loadings", "sampling_error", "stability"],
    "persistence": ["load", "save", "to_onnx"],
    "solvers": ["Certificate", "CertificateWarning"],
    "vectors": ["to_torch"],
    "verification": ["Verification", "verify"],
}
_ELSEWHERE = {name: part for part, names in _NAMES.items() for name in names}
_PARTS = ["blocks", "clustering", "comparison", "data", "graphs", "inspection", "metrics", "plots", "problem"]
_PARTS += ["reducers", "report", "selection", "tables", "testing", "vectors"]
_INTERNAL_PARTS = ("device", "methods", "persistence")  # users import what is in them from lapwing


def __getattr__(name: str) -> Any:
    # Names are looked up when they are asked for: the command line answers without waiting for NumPy and scikit-learn.
    if name in _ELSEWHERE:
        return getattr(import_module(f".{_ELSEWHERE[name]}", __name__), name)
    if name in _PARTS or name in _INTERNAL_PARTS:
        return import_module(f".{name}", __name__)
    if name == "__version__":
        return import_module("importlib.metadata").version("lapwing")
    if name == "__all__" or not name.startswith("_"):
        methods = import_module(".methods", __name__)
        if name == "__all__" or name in methods.__all__:
            return getattr(methods, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), *_PARTS, *_ELSEWHERE, "__all__", "__doc__", "__file__", "__path__", "__version__"]
