"""The examples of the pages, run as they stand: what follows a prompt must give what the page prints below it."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if "```python\n>>> " in page.read_text("utf-8")]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def test_there_are_pages_with_examples():
    assert {"getting-started.md", "how.md", "pitfalls.md", "faq.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page(page):
    """In one namespace, from top to bottom."""
    blocks = re.findall(r"^```python\n(>>> .*?)^```", page.read_text("utf-8"), re.S | re.M)
    test = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, page.name, str(page), 0)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not said, "".join(said)
