"""The module that users import a class from, which pickles, model files and error messages name in the place of its file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import isclass
from typing import Any


def public(module: str, names: Iterable[str], found: Mapping[str, Any]) -> None:
    """Let classes carry their public module, so that moving a file breaks no model.

    ``found`` are the variables of a package that has these public names. Functions are passed over, since pytest finds their
    doctests by their module.
    """
    for name in names:
        if isclass(found[name]):
            found[name].__module__ = module
