"""What is documented is what is: parameters, their defaults, and the numbers that pages and docstrings give."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers import each
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.kernel_approximation import RBFSampler

import lapwing
from lapwing import LPI, LPP, MFA, KernelLPP, graphs
from lapwing._documented import entries
from lapwing.methods import METHODS
from lapwing.tables.preparation import MISSING
from lapwing.tables.table import UNKNOWN

DOCS = Path(__file__).parents[1] / "docs"


def public():
    """What the reference lists of lapwing, by its full name."""
    module = "lapwing"
    for line in (DOCS / "api.rst").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (.*)", line):
            module = found[1]
        elif (found := re.fullmatch(r"   ([\w.]+)", line)) and module.split(".")[0] == "lapwing":
            yield f"{module}.{found[1]}"


def named(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def described(thing, section="Parameters"):
    """``{name: (type and default, description)}`` of a section of the docstring."""
    return entries(inspect.getdoc(thing) or "", section)


def is_record(thing):
    """Made by the library: fields or messages, and no parameters."""
    return (
        dataclasses.is_dataclass(thing)
        or hasattr(thing, "_fields")
        or (inspect.isclass(thing) and issubclass(thing, Exception))
    )


def parameters(thing):
    return {name: p for name, p in inspect.signature(thing).parameters.items() if not name.startswith("_")}


def documented_default(kind):
    written = kind.rpartition("default=")[2]
    return {"float64": np.float64}.get(written) or ast.literal_eval(written)


CALLABLE = [name for name in public() if callable(named(name)) and not is_record(named(name))]
CLASSES = [name for name in public() if inspect.isclass(named(name))]
WITH_DEFAULTS = [
    (name, parameter)
    for name in CALLABLE
    for parameter, p in parameters(named(name)).items()
    if p.default is not p.empty
]


def test_the_reference_lists_every_method_and_graph():
    made_by_operators = {"Combination", "Intersection", "Scaled", "Union"}
    assert {f"lapwing.{name}" for name in lapwing.__all__} <= set(public())
    assert {f"lapwing.graphs.{name}" for name in set(graphs.__all__) - made_by_operators} <= set(public())


def test_the_reference_lists_all_that_is_imported_from_lapwing():
    listed = {name.rpartition(".")[2] for name in public()}
    assert lapwing._ELSEWHERE.keys() <= set(listed)
    assert set(lapwing.metrics.__all__) <= listed


def test_the_reference_lists_nothing_twice():
    assert len(list(public())) == len(set(public()))


@each("name", CALLABLE)
def test_every_parameter_is_documented(name):
    thing = named(name)
    assert {name.lstrip("*") for name in described(thing)} == set(parameters(thing))


@each(("name", "parameter"), WITH_DEFAULTS)
def test_the_documented_default_is_the_default(name, parameter):
    thing = named(name)
    kind, _ = described(thing)[parameter]
    assert "default=" in kind
    assert documented_default(kind) == parameters(thing)[parameter].default


@each("name", lapwing.__all__)
def test_methods_document_their_problem(name):
    doc = inspect.getdoc(getattr(lapwing, name))
    for section in (".. math::", "Parameters", "Attributes", "References", ">>> "):
        assert section in doc, section


@each("name", CALLABLE)
def test_every_parameter_is_described_in_full(name):
    """By a sentence of its own, and not by the name of a class where it can be read."""
    thing = named(name)
    for parameter, (_, description) in described(thing).items():
        assert description.endswith("."), parameter
    assert not re.search(r"As in :\w+:", inspect.getdoc(thing))


def own_methods():
    """The public methods of public classes that lapwing writes itself, by their full names."""
    found = {}
    for name in CLASSES:
        for attribute, method in inspect.getmembers(named(name), callable):
            method = getattr(inspect.unwrap(method), "__func__", inspect.unwrap(method))
            if not attribute.startswith("_") and getattr(method, "__module__", "").startswith("lapwing."):
                found[f"{method.__module__}.{method.__qualname__}"] = method
    return found


@each("name", sorted(own_methods()))
def test_every_parameter_of_a_public_method_is_described(name):
    for parameter, (_, description) in described(own_methods()[name]).items():
        assert description.endswith("."), parameter
        assert not re.search(r"As in :\w+:", description), parameter


def fitted(name):
    """A method, fitted so that it sets all that it sets by default."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = getattr(lapwing, name)()
    if name == "TSA":
        model.set_params(image_shape=(2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iris is in one unit, and LPI expects documents
        return model.fit(X, y)


@each("name", lapwing.__all__)
def test_every_fitted_attribute_is_documented(name):
    attributes = {found for found in vars(fitted(name)) if found.endswith("_")}
    assert attributes <= described(getattr(lapwing, name), "Attributes").keys()


@each("name", lapwing.__all__)
def test_every_attribute_of_partial_fit_is_documented(name):
    model = getattr(lapwing, name)()
    if "graph" in model.get_params():
        model.set_params(graph="supervised")
    if "features" in model.get_params():
        model.set_params(features=RBFSampler())
    documented = described(getattr(lapwing, name), "Attributes").keys()
    can = hasattr(model, "partial_fit") and name != "LSDA"  # whose graph must be one of neighbours
    assert can == ("n_samples_seen_" in documented) == ("moments_" in documented)


@each("name", [name for name in CLASSES if dataclasses.is_dataclass(named(name))])
def test_every_field_is_documented(name):
    fields = {field.name for field in dataclasses.fields(named(name)) if not field.name.startswith("_")}
    section = "Parameters" if issubclass(named(name), graphs.Graph) else "Attributes"
    assert fields <= described(named(name), section).keys()


@each("name", CLASSES)
def test_every_attribute_is_described_in_full(name):
    for attribute, (kind, description) in described(named(name), "Attributes").items():
        assert kind, attribute
        assert description.endswith("."), attribute


@each("name", CLASSES)
def test_citations_of_a_docstring_are_in_its_references(name):
    """Also in descriptions that come from another class."""
    doc = inspect.getdoc(named(name))
    assert set(re.findall(r"\[(\d)\]_", doc)) <= set(re.findall(r"^\.\. \[(\d)\]", doc, re.M))


# ``--doctest-modules`` executes examples.
@each("name", [*public()])
def test_all_that_is_public_has_an_example(name):
    assert re.search(r"^Examples\n--------\n.*^>>> ", inspect.getdoc(named(name)), re.S | re.M)


@each("name", [name for name in CLASSES if name.startswith(("lapwing.graphs.", "lapwing.clustering."))])
def test_types_of_the_parameters_of_graphs_say_something(name):
    assert not [p for p in parameters(named(name)).values() if p.annotation in ("Any", p.empty)]


@each("name", lapwing.__all__)
def test_types_of_the_parameters_of_methods_say_something(name):
    assert not [p for p in parameters(getattr(lapwing, name)).values() if p.annotation in ("Any", p.empty)]


# Descriptions that come from another class


class Described(LPP):
    """A method of a user.

    Parameters
    ----------
    n_components, center
        As in :class:`LPP`.
    pca : int, default=7
        As in :class:`LPP`. Seven directions are
        enough.
    graph
        As in :class:`NoSuchClass`.

    Attributes
    ----------
    mean_
        As in :class:`lapwing.LPP`.

    Notes
    -----
    As in :class:`LPP`.
    """


def test_a_reference_is_replaced_by_the_entry():
    assert described(Described)["center"] == described(LPP)["center"]
    assert described(Described, "Attributes")["mean_"] == described(LPP, "Attributes")["mean_"]


def test_sentences_after_a_reference_replace_all_but_the_first_paragraph():
    kind, description = described(Described)["pca"]
    assert kind == "int, default=7"
    first = described(LPP)["pca"][1].split("\n\n")[0]
    assert description == first + "\n\nSeven directions are\nenough."


class DescribedInPart(LPP, without=("verbose",)):
    """A method of a user with a parameter of its own.

    Parameters
    ----------
    alpha : float, default=1.0
        How much.
    pca
        As in :class:`LPP`. Seven directions are enough.
    ...
        As in :class:`LPP`.

    Attributes
    ----------
    own_ : float
        Something else.
    ...
        As in :class:`LPP`, without ``trace_ratio_`` and ``mean_``.
    """

    alpha: float = 1.0


def test_three_dots_are_all_others_in_the_order_of_the_signature():
    known, own = described(LPP), described(DescribedInPart)
    assert list(own) == list(inspect.signature(DescribedInPart).parameters)
    assert own["ridge"] == known["ridge"]
    assert own["pca"][1].endswith("Seven directions are enough.")
    assert own.keys() - known.keys() == {"alpha"}
    theirs = [name for name in described(LPP, "Attributes") if name not in ("trace_ratio_", "mean_")]
    assert list(described(DescribedInPart, "Attributes")) == ["own_", *theirs]


def test_other_text_stays_as_it_is():
    assert described(Described)["graph"][1] == "As in :class:`NoSuchClass`."
    assert inspect.getdoc(Described).endswith("Notes\n-----\nAs in :class:`LPP`.")
    assert inspect.getdoc(Described()) == inspect.getdoc(Described)
    assert type("Undescribed", (LPP,), {}).__doc__ is None


def test_without_docstrings_methods_work():
    """Under ``python -OO`` there are none."""
    code = "from lapwing import MFA; assert MFA.__doc__ is None; print(MFA())"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "MFA()\n"


def test_notebooks_link_to_no_documentation_while_there_is_none():
    assert "href" not in MFA()._repr_html_()


# Examples of classes, which pytest passes over where their public module is not the file that has them


@cache
def class_examples():
    """The examples of public classes and of their methods, by their names; and the names of those that pytest finds itself."""
    classes = {named(name) for name in CLASSES}
    modules = {sys.modules[cls.__module__] for cls in classes}
    classes |= {
        thing
        for module in modules
        for thing in vars(module).values()
        if getattr(thing, "__module__", 0) == module.__name__
    }
    tests = [
        test
        for cls in filter(inspect.isclass, classes)
        for test in doctest.DocTestFinder().find(cls, f"{cls.__module__}.{cls.__qualname__}", module=False, globs={})
        if not inspect.isclass(getattr(cls, test.name.rpartition(".")[2], None))  # a class that an attribute names
    ]
    found = {test.name for module in modules for test in doctest.DocTestFinder().find(module) if test.examples}
    return {test.name: test for test in tests if test.examples}, found


def test_no_example_of_a_class_is_lost():
    examples, found = class_examples()
    assert len(examples) > 60
    assert len(examples.keys() - found) > 20


@each("name", sorted(class_examples()[0].keys() - class_examples()[1]))
def test_examples_of_classes(name):
    test = class_examples()[0][name]
    if "import torch" in test.docstring:
        pytest.importorskip("torch")
    said = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(test, out=said.append, clear_globs=True)
    assert not said, "".join(said)


# Numbers in text


def test_the_documented_ridge_of_documents():
    """In docs/documents.md, in the tables of docs/measured-tasks.md, and in the docstring."""
    places = re.findall(r"is (\d+), chosen", inspect.getdoc(LPI))
    places += re.findall(r"(\d+) is the default", (DOCS / "documents.md").read_text("utf-8"))
    tables = (DOCS / "measured-tasks.md").read_text("utf-8")
    places += re.findall(r"ridge (\d+), the default", tables) + re.findall(r"\| (\d+), the default", tables)
    assert len(places) == 5
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
    assert LPP(1).fit(X).graph_.queries == queries


def test_the_documented_ridge_of_words():
    """tests/reducers/test_defaults.py checks that the page is right."""
    page = (DOCS / "defaults.md").read_text()
    assert "LPP(ridge=3), the default" in page
    assert "- 3 on rows of words elsewhere (1 for `LSDA`)" in page
    assert "fewer than one entry in 20 is not 0" in page


SENTENCES = {"n_components": 6, "graph": 6, "constraint": 5, "scaling": 5}  # where 4 words or 3 cases are explained


@pytest.mark.parametrize("parameter", inspect.signature(LPP).parameters)
def test_a_parameter_is_explained_in_few_sentences(parameter):
    """The cases of ``"auto"`` are on the page of defaults."""
    _, description = described(LPP)[parameter]
    assert len(re.findall(r"\.(?=\s+[A-Z`]|$)", description)) <= SENTENCES.get(parameter, 4)
    assert len(description.split()) <= 100
    page = (DOCS / "defaults.md").read_text()
    if '"auto"' in described(LPP)[parameter][0]:
        assert f'**`{parameter}="auto"`**' in page


def test_the_guides_method_of_ones_own():
    page = (DOCS / "methods.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page.split("of your own")[1], re.S)
    names = dict(zip("Xy", load_iris(return_X_y=True), strict=True))
    exec(code.replace("ClassLPP(10, graph=7)", "model = ClassLPP(2, graph=7)"), names)
    graph = graphs.KNN(7) + 2 * graphs.SameClass()
    expected = LPP(2, graph=graph, normalize=None, ridge=0).fit(names["X"], names["y"])
    np.testing.assert_allclose(names["model"].eigenvalues_, expected.eigenvalues_)


class Reached(Exception):  # noqa: N818
    """A kernel was asked for a value."""


def test_the_documented_number_of_samples_of_a_kernel():
    """As many as the docstring says are tried, one more is refused before any work."""
    n = int(re.search(r"None\s+keeps all, up to ([\d,]+)", inspect.getdoc(KernelLPP))[1].replace(",", ""))

    def reached(a, b):
        raise Reached

    for rows, error in ((n, Reached), (n + 1, ValueError)):
        ring = sparse.diags_array([1.0, 1.0], offsets=[1, -1], shape=(rows, rows), format="csr")
        with pytest.raises(error):
            KernelLPP(1, graph=ring, kernel=reached).fit(np.arange(rows, dtype=float)[:, None])


def test_a_subclass_may_have_the_name_of_its_base(monkeypatch):
    """It refers to its base, and not to itself; and a class that is made again, as dataclasses with slots are, keeps its text."""
    text = "Mine.\n\nParameters\n----------\nn_components\n    As in :class:`LPP`.\n"
    mine = type("LPP", (lapwing.LPP,), {"__doc__": text, "__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "LPP", mine)
    assert "How many directions to keep" in mine.__doc__
    again = type("Again", (lapwing.graphs.Graph,), {"__doc__": vars(mine)["__doc__"]})
    assert "How many directions to keep" in again.__doc__


def test_lines_of_the_source_that_pages_point_to_are_there():
    """Sphinx finds these lines as well, where it is installed. This needs no Sphinx."""
    source = (DOCS / "_extensions" / "source_lines.py").read_text("utf-8")
    names = {"__file__": str(DOCS / "_extensions" / "source_lines.py")}
    exec(compile(source, "source_lines.py", "exec"), names)
    places = [
        place for page in DOCS.glob("*.md") for place in re.findall(r"\{line\}`([^`]+)`", page.read_text("utf-8"))
    ]
    assert len(places) > 100
    for place in places:
        assert names["find"](place)[2] > 0


def test_getting_started_installs_what_its_code_needs():
    page = (DOCS / "getting-started.md").read_text("utf-8")
    assert "as_frame=True" in page  # scikit-learn's data frames need pandas
    assert re.search(r"^pip install '\.\[cli,tables\]'$", page, re.M)


@each("name", METHODS)
def test_a_page_speaks_of_parameters_that_its_method_has(name):
    """What a method takes over from the page of another must not be about a parameter that only the other has."""
    known = {parameter for method in METHODS.values() for parameter in inspect.signature(method).parameters}
    own, text = set(inspect.signature(METHODS[name]).parameters), METHODS[name].__doc__
    tags = set(re.findall(r"\\tag\{(\d)\}", text))
    for section in ("Parameters", "Attributes"):
        for entry, (_, description) in entries(text, section).items():
            named = set(re.findall(r"``(\w+)(?:=[^`]*)?``", description)) & known
            assert named <= own, (entry, named - own)
            assert set(re.findall(r"(?<!\w)\((\d)\)", description)) <= tags, entry


@each("name", [name for name in METHODS if name not in ("RobustGLPCA", "L21PCA", "TSA")])
def test_the_centres_of_a_page_can_be_used(name):
    kind = entries(METHODS[name].__doc__, "Parameters").get("center", ("",))[0]
    if kind:
        model, (X, y) = METHODS[name](2, center="degree"), load_iris(return_X_y=True)
        if '"degree"' in kind:
            model.fit(X, y)
        else:
            with pytest.raises(ValueError, match="constraint of degrees"):
                model.fit(X, y)


def test_the_marks_of_unknown_labels_are_those_that_files_use():
    page = (DOCS / "labels.md").read_text("utf-8")
    rows = re.findall(r"^\| (.*) as text \|.*\| (.*) \|$", page, re.M)
    (unknown, said), (classes, otherwise) = rows
    assert said == "unknown"
    assert otherwise.startswith("**a class")
    assert set(re.findall(r"`([^`]+)`", unknown)) <= UNKNOWN
    assert set(re.findall(r"`([^`]+)`", classes)) <= MISSING - UNKNOWN
