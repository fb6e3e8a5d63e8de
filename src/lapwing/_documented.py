"""Docstrings of classes, written out in full when the class is made.

Methods share most of their parameters and attributes. Each is described once, in the class where it matters most, and the
docstrings of the other classes refer to it::

    center, scaling
        As in :class:`LPP`.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions.

``MFA.__doc__`` then has, for each of these names, the type, the default and the description that ``LPP`` gives. Where further
sentences follow the reference, they take the place of all but the first paragraph of that description. So the first
paragraph of a description says what holds for every method, and the paragraphs after it what holds for the method itself.
"""

from __future__ import annotations

import re
from functools import partial
from importlib.metadata import PackageNotFoundError, metadata
from inspect import cleandoc
from textwrap import dedent, indent
from typing import Any

SECTION = re.compile(r"^(Parameters|Attributes)\n----------\n((?:(?!^\S.*\n---).*\n?)*)", re.M)
ENTRY = re.compile(r"^(\S.*)\n?((?:(?: .*)?\n?)*)", re.M)
REFERENCE = re.compile(r"As in :class:`(?:[\w.]*\.)?(\w+)`\.\s*")
CLASSES: dict[str, type] = {}  # those that a docstring may refer to, by name; the first of several
WAITING: dict[str, list[type]] = {}  # classes that refer to a class that is not made yet, as a map does to a method


class Documented:
    """Base of the classes whose docstrings may refer to the entries of other classes."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        CLASSES.setdefault(cls.__name__, cls)
        for waiting in (cls, *WAITING.pop(cls.__name__, ())):
            if text := vars(waiting).get("__doc__"):  # there is no text under ``python -OO``
                waiting.__doc__ = SECTION.sub(partial(_section, waiting), cleandoc(text))


def entries(text: str, section: str) -> dict[str, tuple[str, str]]:
    """The type (with the default) and the description of each name in a section, ``Parameters`` or ``Attributes``."""
    found: dict[str, tuple[str, str]] = {}
    for title, body in SECTION.findall(text):
        for head, description in ENTRY.findall(body) if title == section else ():
            names, _, kind = head.partition(" : ")
            found |= dict.fromkeys(names.split(", "), (kind, dedent(description).strip()))
    return found


def _section(owner: type, section: re.Match[str]) -> str:
    title, body = section.groups()
    return f"{title}\n----------\n" + "".join(_entry(owner, title, *entry) for entry in ENTRY.findall(body))


def _entry(owner: type, title: str, head: str, description: str) -> str:
    """An entry, or the several that it stands for where it names more than one parameter."""
    names, _, kind = head.partition(" : ")
    reference = REFERENCE.match(own := dedent(description).strip())
    other = reference and CLASSES.get(reference[1])
    if reference and other is None:
        WAITING.setdefault(reference[1], []).append(owner)
    theirs = entries((other and other.__doc__) or "", title)
    if reference is None or not theirs.keys() >= set(names.split(", ")):
        return f"{head}\n{description}"
    own, full = own[reference.end() :], ""
    for name in names.split(", "):
        their_kind, text = theirs[name]
        text = text.split("\n\n")[0] + "\n\n" + own if own else text
        full += f"{name} : {kind or their_kind}\n{indent(text, ' ' * 4)}\n"
    return full + "\n" if description.endswith("\n\n") else full


def page_of_a_class() -> str:
    """Where the reference of this version has the page of a class, with ``{estimator_name}`` in the place of its name.

    The address is that of the documentation in the package's metadata. The text is empty where the metadata have none.
    """
    try:
        urls = metadata(__package__).get_all("Project-URL") or []
    except PackageNotFoundError:
        urls = []
    found = [url.rstrip("/") for name, _, url in (line.partition(", ") for line in urls) if name == "Documentation"]
    return f"{found[0]}/generated/{__package__}.{{estimator_name}}.html" if found else ""
