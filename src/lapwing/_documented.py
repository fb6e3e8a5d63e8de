"""Docstrings of classes and functions, written out in full when they are made, and the public module of classes.

Methods share most of their parameters and attributes. Each is described once, where it matters most, and other classes say
``name : As in :class:`LPP` ``: ``MFA.__doc__`` then has the type, the default and the description that ``LPP`` gives. Where
``As in :class:`LPP`.`` begins a description, the sentences after it take the place of all but the first paragraph.

Three dots in the place of a name stand for all parameters of the class that the section does not name, and for all attributes
of the other class; "without ``rank_``" after the reference leaves some out. Attributes come with the parameters, unless the
class lists its own up to ``n_features_in_``. Those that are "Set only with ``constraint=``" come to classes that have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from inspect import cleandoc, isclass, signature
from textwrap import dedent, indent
from typing import Any, TypeVar

SECTION = re.compile(r"^(Parameters|Attributes)\n----------\n((?:(?!^\S.*\n---).*\n?)*)", re.M)
ENTRY = re.compile(r"^(\S.*)\n?((?:(?: .*)?\n?)*)", re.M)
REFERENCE = re.compile(r"As in :\w+:`(?:[\w.]*\.)?(\w+)`(?:, without ([^.]*))?(?:\.\s*|$)")
ALL_OTHERS = re.compile(r"^(Parameters\n----------\n(?:.*\n)*?)(\.\.\. : .*\n)(\n|$)", re.M)
ATTRIBUTES = re.compile(r"^Attributes\n----------\n((?:.+\n|\n(?=    ))*)", re.M)
CONDITION = re.compile(r"Set only with ``(\w+)")
T = TypeVar("T", bound=Any)
KNOWN: dict[str, Any] = {}  # what has its docstring in full, by name; the first of several
WAITING: dict[str, list[Any]] = {}  # classes that refer to a class that is not known yet, as a map does to a method


class Documented:
    """Base of the classes whose docstrings may refer to the entries of other classes."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        documented(cls)


def documented(thing: T) -> T:
    """Write out the docstring of a class or a function, and of those that have waited for it."""
    written: list[Any] = [thing]
    for each in written:
        text = vars(each).get("__doc__") if isinstance(each, type) else each.__doc__
        if text:  # there is none under ``python -OO``
            each.__doc__ = SECTION.sub(partial(_section, each), _with_attributes(cleandoc(text)))
        if not any(each in waiting for waiting in WAITING.values()):
            KNOWN.setdefault(each.__name__, each)
            written += WAITING.pop(each.__name__, ())
    return thing


def entries(text: str, section: str) -> dict[str, tuple[str, str]]:
    """The type (with the default) and the description of each name in a section, ``Parameters`` or ``Attributes``."""
    found: dict[str, tuple[str, str]] = {}
    for title, body in SECTION.findall(text):
        for head, description in ENTRY.findall(body) if title == section else ():
            names, _, kind = head.partition(" : ")
            found |= dict.fromkeys(names.split(", "), (kind, dedent(description).strip()))
    return found


def _with_attributes(text: str) -> str:
    """The docstring with all other attributes of the class that has all other parameters."""
    others, own = ALL_OTHERS.search(text), ATTRIBUTES.search(text)
    if others is None or (own and re.search(r"^\.\.\.|n_features_in_", own[1], re.M)):
        return text
    place, header = (others.end(), "Attributes\n----------\n") if own is None else (own.end(), "")
    return text[:place] + header + others[2] + ("" if own else "\n") + text[place:]


def _section(owner: Any, section: re.Match[str]) -> str:
    title, body = section.groups()
    found: dict[str, str] = {}  # entries by their names
    parameters, are_own = signature(owner).parameters, title == "Parameters"
    order = list(parameters) if are_own else []
    for head, description in ENTRY.findall(body):
        names, _, kind = head.partition(" : ")
        own = dedent(description).strip()
        reference = REFERENCE.match(kind) or REFERENCE.match(own)
        other = reference and KNOWN.get(reference[1])
        if reference and other is None:
            WAITING.setdefault(reference[1], []).append(owner)
        theirs = entries((other and other.__doc__) or "", title)
        wanted = names.split(", ")
        if names == "..." and reference and other:
            taken = {*", ".join(found).split(", "), *re.findall(r"``(\w+)``", reference[2] or "")}
            needed = {name: [name] if are_own else CONDITION.findall(text) for name, (_, text) in theirs.items()}
            wanted = [name for name in theirs if name not in taken and parameters.keys() >= set(needed[name])]
            order = order or list(theirs)  # attributes of its own come first
        if reference is None or not theirs.keys() >= set(wanted):
            found[names] = f"{head}\n{description.rstrip()}\n"
            continue
        kind, own = ("", "") if reference.string == kind else (kind, own[reference.end() :])
        for name in wanted:
            their_kind, text = theirs[name]
            text = text.split("\n\n")[0] + "\n\n" + own if own else text
            found[name] = f"{name} : {kind or their_kind}\n{indent(text, ' ' * 4)}\n"
    ordered = sorted(found, key=lambda names: order.index(bare) if (bare := names.lstrip("*")) in order else -1)
    written = f"{title}\n----------\n" + "".join(found[names] for names in ordered) + "\n" * body.endswith("\n\n")
    return written if found else ""


def public(module: str, names: Iterable[str], found: Mapping[str, Any]) -> None:
    """Let classes carry their public module, so that moving a file breaks no model.

    ``found`` are the variables of a package that has these public names. Functions are passed over, since pytest finds their
    doctests by their module.
    """
    for name in names:
        if isclass(found[name]):
            found[name].__module__ = module
