"""The constructors of estimators, written from the parameters that their classes declare."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature, get_annotations, signature
from typing import Any

from .spelling import own_spelling


def store_parameters(cls: type, without: Sequence[str] = ()) -> None:
    """Write ``__init__``, which stores the parameters of the base, except some, and those that the class declares.

    A class declares a parameter by a line such as ``alpha: float = 1.0``. New ones stand after ``graph``, or after the first
    parameter, which is the only one that may be given by its place.
    """
    own = {
        name: kind
        for name, kind in get_annotations(cls).items()
        if name in vars(cls) and not name.startswith("_") and "ClassVar" not in str(kind)
    }
    if "__init__" in vars(cls) or not (own or without):
        return
    found = {name: p for name, p in signature(cls.__init__).parameters.items() if name not in without}  # type: ignore[misc]
    names = list(found)
    place = names.index("graph") + 1 if "graph" in names else 2
    new = [name for name in own if name not in names]
    for name, kind in own.items():
        placed = found[name].kind if name in found else Parameter.KEYWORD_ONLY
        placed = Parameter.POSITIONAL_OR_KEYWORD if len(names) == 1 and name == new[0] else placed
        found[name] = Parameter(name, placed, default=vars(cls)[name], annotation=kind)
        delattr(cls, name)
    layout = Signature([found[name] for name in (*names[:place], *new, *names[place:])])

    def store(self: Any, *values: Any, **named: Any) -> None:
        try:
            given = layout.bind(self, *values, **named)
        except TypeError as error:
            raise TypeError(own_spelling(type(self), named) or f"{type(self).__name__}: {error}") from None
        given.apply_defaults()
        vars(self).update(list(given.arguments.items())[1:])

    store.__signature__ = layout  # type: ignore[attr-defined]
    store.__name__, store.__qualname__, store.__module__ = "__init__", f"{cls.__qualname__}.__init__", cls.__module__
    cls.__init__ = store  # type: ignore[misc]
