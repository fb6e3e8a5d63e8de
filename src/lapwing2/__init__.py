"""lapwing: graph-Laplacian dimensionality reduction in the style of scikit-learn."""

from importlib import import_module
from typing import Any

_PARTS = (
    "auto",
    "clustering",
    "data",
    "graphs",
    "maps",
    "methods",
    "neighbors",
    "operators",
    "problem",
    "reducers",
    "solvers",
)
_ELSEWHERE = {"Certificate": "solvers", "CertificateWarning": "solvers", "UnitsWarning": "auto"}


def __getattr__(name: str) -> Any:
    # Names are looked up when they are asked for: the command line answers without waiting for NumPy and scikit-learn.
    if name in _ELSEWHERE:
        return getattr(import_module(f".{_ELSEWHERE[name]}", __name__), name)
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    methods = import_module(".methods", __name__).METHODS
    if name in methods:
        return methods[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*import_module(".methods", __name__).METHODS, *_PARTS, *_ELSEWHERE]
