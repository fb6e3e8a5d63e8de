"""What the pages are built with: formulas, links from names, lines of the source, and nothing from another host."""

import re
import sys
from pathlib import Path

import pytest

import lapwing
import lapwing.reducers

pytest.importorskip("latex2mathml")
pytest.importorskip("sphinx")
ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

import mathml  # noqa: E402
import offline  # noqa: E402
import places  # noqa: E402
import reference  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

CONF = """
extensions = ["sphinx.ext.autodoc", "mathml", "names", "offline", "places", "reference"]
autodoc_default_options = {"members": True, "inherited-members": True}
html_math_renderer = "mathml"
html_theme = "basic"
nitpicky = True
"""
PAGE = r"""
Heading with ``LPP``
====================

``LPP`` and ``graphs.KNN`` and ``KNN``, not ``load`` or ``LPP(2)``; :func:`load`. Inline :math:`x_i`,
:line:`operators.py::laplacian return`.

.. math:: \min_V \sum_i \|x_i\|^2 \tag{7}

.. py:class:: lapwing.LPP

   Beside ``lapwing.LPP`` itself.

.. toctree::

   other
"""
OTHER = """
Other
=====

``LPP``

.. py:class:: lapwing.graphs.KNN
.. py:function:: lapwing.load()
"""


WRONG = """
Title
=====

:math:`\\nosuchcommand x`, :math:`x^2^3`, :line:`operators.py::nothing`, :func:`nothing`

.. raw:: html

   <script src="https://example.org/a.js"></script>
"""


def build(folder, **pages):
    (folder / "conf.py").write_text(CONF)
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text)
    warnings = open(folder / "warnings", "w")  # noqa: SIM115
    with warnings:
        app = Sphinx(
            folder, folder, folder / "out", folder / "trees", "html", status=None, warning=warnings, freshenv=True
        )
        app.build()
    return {path.stem: path.read_text() for path in (folder / "out").glob("*.html")}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    html = build(folder, index=PAGE, other=OTHER)
    assert not (folder / "warnings").read_text()
    return html


def test_formulas_are_mathml(built):
    page = built["index"]
    assert page.count("<math ") == 2
    assert re.search(r'<munder><mo>min</mo><mi>V</mi></munder>.*<span class="eqno">\(7\)</span>', page, re.S)
    assert "\\" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_formulas_of_several_lines():
    made, tag = mathml.mathml(r"a &= b \\ c &= d \tag{2}", "block")
    assert made.count("<mtr>") == 2
    assert tag == "2"
    assert "n_steps" in mathml.mathml(r"\text{n\_steps}", "inline")[0]


def test_names_link_to_their_pages(built):
    page = built["index"]
    linked = re.findall(r'<a class="reference internal" href="([^"]*)" title="[^"]*"><code[^>]*>(.*?)</code>', page)
    linked = [(href, re.sub("<[^>]*>", "", shown)) for href, shown in linked]
    assert linked == [
        ("other.html#lapwing.graphs.KNN", "graphs.KNN"),
        ("other.html#lapwing.graphs.KNN", "KNN"),
        ("other.html#lapwing.load", "load()"),
    ]
    assert 'href="index.html#lapwing.LPP"' in built["other"]


def test_a_heading_stays_as_it_is(built):
    assert re.search(r"<h1>Heading with <code[^>]*><span class=\"pre\">LPP</span></code>", built["index"])


def test_what_is_wrong_is_told(built, tmp_path):
    with pytest.raises(ExtensionError, match=r"1 places fetch from other hosts.*\n.*https://example.org/a.js"):
        build(tmp_path, index=WRONG)
    warnings = (tmp_path / "warnings").read_text()
    for said in ("nosuchcommand of this formula", "formula cannot be shown: x^2^3", "operators.py has no nothing"):
        assert said in warnings
    assert "target not found: nothing" in warnings


def test_lines_are_found(built):
    number = next(
        i
        for i, line in enumerate((ROOT / "src/lapwing/operators.py").read_text().splitlines(), 1)
        if line.startswith("    return Structured(degrees.size, sparse=-W")
    )
    assert f'href="_source/operators.html#line-{number}"' in built["index"]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nowhere.py::laplacian", "no file"),
        ("operators.py::Structured.nothing", "no Structured.nothing"),
        ("operators.py::laplacian sparse=+W", "no line with"),
    ],
)
def test_places_that_are_not_there(place, said):
    with pytest.raises(ValueError, match=said):
        places.find(place)


def test_every_line_of_the_papers_equations_is_there():
    found = re.findall(r"\{line\}`([^`]*)`", (DOCS / "methods.md").read_text())
    assert len(found) > 100
    for place in found:
        places.find(place)


@pytest.mark.parametrize(
    "text",
    [
        '<script async="async" src="https://example.org/a.js"></script>',
        "<link rel='stylesheet' href='//example.org/a.css'>",
        '<link href="https://example.org/a.css" rel="stylesheet">',
        '<img alt="" src="http://example.org/a.png">',
        "<style>@import url(https://example.org/a.css)</style>",
    ],
)
def test_what_other_hosts_have_is_found(text, tmp_path):
    (tmp_path / "a.html").write_text(f"<p>{text}</p>")
    assert len(list(offline.fetched(tmp_path))) == 1


def test_links_to_other_hosts_are_links(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org">there</a> <link rel="canonical" href="https://a.b">'
    )
    assert not list(offline.fetched(tmp_path))


PAGES = {
    "lapwing.graphs.Graph": ".. autoclass:: lapwing.graphs.Graph",
    "lapwing.graphs.KNN": ".. autoclass:: lapwing.graphs.KNN",
}


def test_members_for_authors_are_on_the_page_of_the_base(tmp_path):
    names = "".join(f"   {name}\n" for name in PAGES)
    html = build(
        tmp_path,
        index=f"Index\n=====\n\n.. toctree::\n\n{names}",
        **{name: f"{name}\n{'=' * len(name)}\n\n{text}\n" for name, text in PAGES.items()},
    )
    graph, knn = html["lapwing.graphs.Graph"], html["lapwing.graphs.KNN"]
    for member in ("signed", "reads_labels", "new_links"):
        assert f'id="lapwing.graphs.Graph.{member}"' in graph
        assert f'id="lapwing.graphs.KNN.{member}"' not in knn
    assert 'id="lapwing.graphs.KNN.build"' in knn
    assert "Returns True when" not in graph + knn


def test_members_for_authors_are_members():
    members = {
        name for kind in (lapwing.graphs, lapwing, lapwing.reducers) for one in vars(kind).values() for name in dir(one)
    }
    assert members >= reference.FOR_AUTHORS


def test_an_initial_is_no_number():
    lines = [".. [1] X. He and others", "   .. [2] T. T. Ngo", ".. [3] Later"]
    reference.keep_initials(None, "class", "LPP", None, None, lines)
    assert lines == [r".. [1] \X. He and others", r"   .. [2] \T. T. Ngo", ".. [3] Later"]


def test_names_in_the_navigation_are_broken_at_dots():
    link = '<a href="a_b.html">metrics.recall_at_k</a> <p>No word. Here_</p>'
    assert reference.breakable(link) == link.replace("metrics.recall_at_k", "metrics.<wbr>recall_<wbr>at_<wbr>k")
