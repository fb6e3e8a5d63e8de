"""What is documented is what is: parameters, their defaults, and the numbers that pages and docstrings give."""

import ast
import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import lapwing
from lapwing import LPI, LPP, KernelLPP, graphs

DOCS = Path(__file__).parents[1] / "docs"


def public():
    """What the reference lists, by its full name."""
    module = "lapwing"
    for line in (DOCS / "api.rst").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (.*)", line):
            module = found[1]
        elif found := re.fullmatch(r"   ([\w.]+)", line):
            yield f"{module}.{found[1]}"


def named(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def referred_to(thing):
    """The method that does the work of a function which says nothing else, or the function itself."""
    method = re.search(r":meth:`(\w+)\.(\w+)`\.$", inspect.getdoc(thing))
    return getattr(getattr(inspect.getmodule(thing), method[1]), method[2]) if method else thing


def entries(thing, section="Parameters"):
    """``{name: (type and default, description)}`` of a section of the docstring; names in one entry share it."""
    lines = re.search(rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n--+$|\Z)", inspect.getdoc(thing), re.S | re.M)
    found = {}
    for entry in re.split(r"\n(?=\S)", lines[1] if lines else ""):
        head, _, description = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        found |= {name.lstrip("*"): (kind, description) for name in names.split(", ") if name}
    return found


def is_record(thing):
    """Made by the library, or written once by the author of an experiment: fields, not parameters."""
    return dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")


def parameters(thing):
    return {name: p for name, p in inspect.signature(thing).parameters.items() if not name.startswith("_")}


def documented_default(kind):
    written = kind.rpartition("default=")[2]
    return {"float64": np.float64}.get(written) or ast.literal_eval(written)


# Experiments are declared by their authors and run by name.
CALLABLE = [
    name for name in public() if callable(named(name)) and not is_record(named(name)) and "experiments." not in name
]
WITH_DEFAULTS = [
    (name, parameter)
    for name in CALLABLE
    for parameter, p in parameters(named(name)).items()
    if p.default is not p.empty
]


def test_the_reference_lists_every_method_and_graph():
    made_by_operators = {"Combination", "Intersection", "Scaled", "Union"}
    bases = {"Graph"}
    assert {f"lapwing.{name}" for name in lapwing.__all__} <= set(public())
    leaves = {name for name in graphs.__all__ if inspect.isclass(getattr(graphs, name))} - made_by_operators - bases
    assert {f"lapwing.graphs.{name}" for name in leaves} <= set(public())


@pytest.mark.parametrize("name", CALLABLE)
def test_every_parameter_is_documented(name):
    thing = named(name)
    written = referred_to(thing)
    assert set(parameters(thing)) <= set(entries(written))
    assert set(entries(written)) == set(parameters(written))


@pytest.mark.parametrize(("name", "parameter"), WITH_DEFAULTS)
def test_the_documented_default_is_the_default(name, parameter):
    thing = named(name)
    kind, description = entries(referred_to(thing))[parameter]
    default = parameters(thing)[parameter].default
    if "default=" in kind:
        assert documented_default(kind) == default
    else:
        other = re.match(r"\s*As in :class:`(\w+)`", description)
        assert other, "no default, and no class that has it"
        assert parameters(getattr(lapwing, other[1], getattr(graphs, other[1], None)))[parameter].default == default


@pytest.mark.parametrize("name", lapwing.__all__)
def test_methods_document_their_problem(name):
    doc = inspect.getdoc(getattr(lapwing, name))
    for section in (".. math::", "Parameters", "Attributes", "References", ">>> "):
        assert section in doc, section


# Numbers in text


def test_the_documented_ridge_of_documents():
    """In docs/documents.md, three times, and in the docstring."""
    page = (DOCS / "documents.md").read_text()
    places = re.findall(r"(\d+), the default", page) + re.findall(r"is (\d+), chosen", inspect.getdoc(LPI))
    (ridge,) = {int(number) for number in places}
    X = sparse.random(60, 90, density=0.2, format="csr", random_state=0)
    given = [LPI(3, graph=4, ridge=value).fit(X).components_ for value in ("auto", ridge, 1.1 * ridge)]
    np.testing.assert_array_equal(given[0], given[1])
    assert np.abs(given[0] - given[2]).max() > 1e-4


def test_the_documented_queries_of_blocks():
    zarr = pytest.importorskip("zarr")
    page = (DOCS / "scaling.md").read_text()
    queries = int(re.search(r"([\d,]+) queries are the default", page)[1].replace(",", ""))
    X = zarr.array(np.random.RandomState(0).rand(queries + 1, 1))
    assert LPP(1).fit(X).sampling_["queries"] == queries


class Reached(Exception):  # noqa: N818
    """A kernel was asked for a value."""


def test_the_documented_number_of_samples_of_a_kernel():
    """As many as the docstring says are tried, one more is refused before any work."""
    n = int(re.search(r"None keeps all, up to ([\d,]+)", inspect.getdoc(KernelLPP))[1].replace(",", ""))

    def reached(a, b):
        raise Reached

    for rows, error in ((n, Reached), (n + 1, ValueError)):
        ring = sparse.diags_array([1.0, 1.0], offsets=[1, -1], shape=(rows, rows), format="csr")
        with pytest.raises(error):
            KernelLPP(1, graph=ring, kernel=reached).fit(np.arange(rows, dtype=float)[:, None])
