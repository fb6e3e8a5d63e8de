"""Packages that are not installed with the core."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {module}: pip install './papers[{extra}]', in a checkout of lapwing") from error
