"""The pages: their examples run as they stand, and there are not too many words, nor too long lines."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WITH_EXAMPLES = [page for page in PAGES if "```python\n>>> " in page.read_text("utf-8")]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WORDS = 42_000  # beside the reference and Measurements
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_line_of_prose_is_long(page):
    """Rows of tables and blocks of code are as long as they need to be; a paragraph is not one line."""
    prose = re.sub(r"^ *```.*?^ *```", "", text_of(page), flags=re.S | re.M)
    assert [line for line in prose.splitlines() if len(line) > 200 and not line.lstrip().startswith("|")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_nothing_of_a_page_is_lost(page):
    """Sphinx leaves out lines that begin with a per cent sign, and has pages of its own under some names."""
    assert [line for line in text_of(page).splitlines() if line.lstrip().startswith("%")] == []
    assert page.stem not in {"search", "genindex", "py-modindex"}


OTHERS = {  # the front page, lists of words and of pages, and pages that are about errors or measurements as a whole
    *("index", "glossary", "measurements", "comparison", "defaults", "evidence", "speed", "pitfalls"),
    MANUSCRIPT,
}


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in OTHERS], ids=lambda page: page.stem)
def test_a_page_ends_with_what_can_go_wrong(page):
    *_, last = re.findall(r"^## (.*)$", text_of(page), re.M)
    assert last.endswith("an go wrong")
