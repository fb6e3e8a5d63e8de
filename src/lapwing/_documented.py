"""Docstrings of classes, written out in full when they are read.

Methods share most of their parameters and attributes. Each is described once, in the class where it matters most, and the
docstrings of the other classes refer to it::

    center, scaling
        As in :class:`LPP`.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions.

``help(MFA)``, ``MFA.__doc__`` and the reference then show, for each of these names, the entry of ``LPP``: its type, its
default and its description. Where further sentences follow the reference, they take the place of all but the first
paragraph of that description. So the first paragraph of a description says what holds for every method, and the
paragraphs after it what holds for the method itself.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from inspect import cleandoc
from textwrap import dedent, indent
from typing import Any

SECTION = re.compile(r"^(Parameters|Attributes)\n----------\n((?:(?!^\S.*\n---).*\n?)*)", re.M)
ENTRY = re.compile(r"^(\S.*)\n?((?:(?: .*)?\n?)*)", re.M)
REFERENCE = re.compile(r"As in :class:`~?(?:[\w.]*\.)?(\w+)`\.\s*")


class Documented:
    """Base of the classes whose docstrings may refer to the entries of other classes."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        text = vars(cls).get("__doc__")
        if isinstance(text, str) and "As in :class:`" in text:  # there is no text under ``python -OO``
            cls.__doc__ = WrittenOut(text)  # type: ignore[assignment]


class WrittenOut:
    """A class attribute ``__doc__`` that is put together when it is first read, so that an import does not wait for it."""

    def __init__(self, text: str):
        self.text = text
        self.full: str | None = None

    def __get__(self, instance: Any, owner: type) -> str:
        if self.full is None:
            self.full = written_out(cleandoc(self.text), owner)
        return self.full


def written_out(text: str, owner: type) -> str:
    """The text with the entries that other classes have in the place of references to them.

    Parameters
    ----------
    text : str
        A docstring without the indentation of its source.
    owner : type
        The class that it describes. Classes that the text names are looked up in its module, then among lapwing's graphs and
        methods. A reference to a class that is not found there stays as it is.
    """

    def full(section: re.Match[str]) -> str:
        title, body = section.groups()
        return f"{title}\n----------\n" + "".join(_full(head, text, title, owner) for head, text in ENTRY.findall(body))

    return SECTION.sub(full, text)


def entries(text: str, section: str) -> dict[str, tuple[str, str]]:
    """The type (with the default) and the description of each name in a section, ``Parameters`` or ``Attributes``."""
    found: dict[str, tuple[str, str]] = {}
    for title, body in SECTION.findall(text):
        for head, description in ENTRY.findall(body) if title == section else ():
            names, _, kind = head.partition(" : ")
            found |= dict.fromkeys(names.split(", "), (kind, dedent(description).strip()))
    return found


def _full(head: str, description: str, section: str, owner: type) -> str:
    """One entry, or the several that it stands for where it names more than one parameter."""
    names, _, kind = head.partition(" : ")
    own = dedent(description).strip()
    reference = REFERENCE.match(own)
    other = reference and _named(reference[1], owner)
    theirs = entries(cleandoc(other.__doc__ or ""), section) if other else {}
    if reference is None or not theirs.keys() >= set(names.split(", ")):
        return f"{head}\n{description}"
    own, full = own[reference.end() :], ""
    for name in names.split(", "):
        their_kind, text = theirs[name]
        if own:
            text = text.split("\n\n")[0] + "\n\n" + own
        full += f"{name} : {kind or their_kind}\n" + indent(text, " " * 4) + "\n"
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


def _named(name: str, owner: type) -> Any:
    package = sys.modules[__package__]
    places = (sys.modules.get(owner.__module__), package.graphs, package)
    found = (getattr(place, name) for place in places if hasattr(place, name))
    return next((cls for cls in found if cls is not owner), None)  # a subclass may have the name of its base
