"""The pages: their examples run as they stand, and there are not too many words, nor too long lines."""

import doctest
import re
from pathlib import Path

import pytest
from helpers import each

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WITH_EXAMPLES = [page for page in PAGES if "```python\n>>> " in page.read_text("utf-8")]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WORDS = 35_000  # beside the reference and Measurements
MANUSCRIPT = "paper"  # which is no page


def text_of(page):
    return page.read_text("utf-8")


def test_there_are_pages_with_examples():
    assert {"getting-started", "how", "pitfalls", "trust"} <= {page.stem for page in WITH_EXAMPLES}


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_the_examples_of_a_page(page):
    """In one namespace, from top to bottom."""
    blocks = re.findall(r"^```python\n(>>> .*?)^```", text_of(page), re.S | re.M)
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, page.name, str(page), 0)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not said, "".join(said)


def measurements():
    """The pages of the section 'Measurements', and the one that lists them."""
    listed = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)```", text_of(DOCS / "measurements.md"), re.S)[1]
    return {"measurements", *listed.split()}


def test_the_pages_are_short_enough_to_be_read():
    """Everything counts that stands between blanks, as ``wc -w`` counts: prose, code, formulas and tables."""
    counted = {
        page.stem: len(text_of(page).split()) for page in PAGES if page.stem not in {*measurements(), MANUSCRIPT}
    }
    assert sum(counted.values()) <= WORDS, counted


def test_what_is_not_counted_is_measured():
    assert measurements() == {
        *("measurements", "comparison", "defaults", "evidence", "speed"),
        *("measured-large", "measured-tasks", "tested"),
    }


@each("page", PAGES)
def test_no_line_of_prose_is_long(page):
    """Rows of tables and blocks of code are as long as they need to be; a paragraph is not one line."""
    prose = re.sub(r"^ *```.*?^ *```", "", text_of(page), flags=re.S | re.M)
    assert [line for line in prose.splitlines() if len(line) > 200 and not line.lstrip().startswith("|")] == []


@each("page", PAGES)
def test_nothing_of_a_page_is_lost(page):
    """Sphinx leaves out lines that begin with a per cent sign, and has pages of its own under some names."""
    assert [line for line in text_of(page).splitlines() if line.lstrip().startswith("%")] == []
    assert page.stem not in {"search", "genindex", "py-modindex"}


OTHERS = {
    "index",
    "glossary",
    "measurements",
    "pitfalls",
    MANUSCRIPT,
}  # lists of pages and of words, and the page of errors


@each("page", [page for page in PAGES if page.stem not in OTHERS])
def test_a_page_ends_with_what_can_go_wrong(page):
    *_, last = re.findall(r"^## (.*)$", text_of(page), re.M)
    assert last.endswith("an go wrong")


@each("page", [page for page in PAGES if page.stem not in {MANUSCRIPT, "defaults", "tested", "trust"}])
def test_a_page_has_a_picture(page):
    assert re.search(r"!\[[^\]]+\]\((gallery/images|_static)/[\w-]+\.(png|svg)\)|```\{image\} _static/", text_of(page))


def test_pages_show_the_picture_of_the_front_page_with_the_same_numbers():
    places = [(DOCS.parent / "README.md").read_text("utf-8"), text_of(DOCS / "index.md")]
    said = [
        " ".join(re.search(r"alt[=:]\s*\"?(Recognising [^\">]*?)(\">|\n:width)", text)[1].split()) for text in places
    ]
    assert said[0] == said[1]


def test_the_picture_of_times_on_a_gpu_shows_those_of_the_table():
    example = (DOCS.parent / "examples" / "plot_gpu.py").read_text("utf-8")
    rows = re.findall(
        r"^\| `?(.*?)`?(?:,| of) ([\d,]+ x \d+).*?\| ([\d.]+) \|", text_of(DOCS / "measured-large.md"), re.M
    )
    shown = re.findall(r'"([\w()]+)\\n([\d,]+ x \d+)": ([\d.]+),', example)
    assert len(shown) == 5
    for name, shape, seconds in shown:
        assert float(seconds) in {float(s) for n, size, s in rows if n.split("`")[0] == name and size == shape}
