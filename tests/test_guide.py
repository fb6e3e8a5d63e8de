"""The pages of the user guide: their code runs as it stands, and the values in its comments come out."""

import ast
import re
from pathlib import Path

import pytest
from helpers import each

import lapwing

DOCS = Path(__file__).parents[1] / "docs"
NAMES = [
    "guide",
    "questions",
    "labels",
    "vector-search",
    "documents",
    "images",
    "features",
    "graphs",
    "time-and-space",
    "cells",
    "embeddings",
    "weights",
    "recipes",
    "methods",
    "running",
    "scaling",
    "gpu",
    "command-line",
]
PAGES = {name: (DOCS / f"{name}.md").read_text("utf-8") for name in NAMES}
# The recipes and the page of methods take data that tests of their own make (test_recipes.py, test_documentation.py).
EXECUTED = [name for name, text in PAGES.items() if "```python\n" in text and name not in ("recipes", "methods")]
NEEDED = {"gpu": ["torch"], "cells": ["scanpy"]}  # `make integrations` has them all


def statements(page):
    """Each statement of the page's code, and the comment behind it."""
    for code in re.findall(r"^```python\n(.*?)^```", PAGES[page], re.S | re.M):
        lines = code.splitlines()
        for statement in ast.parse(code).body:
            yield statement, lines[statement.end_lineno - 1].partition("  # ")[2]


def printed(comment):
    """The value that a comment gives: what stands before a colon, if that is a number, a tuple or a list; else None."""
    try:
        return ast.literal_eval(comment.partition(":")[0].strip())
    except (SyntaxError, ValueError):
        return None


def unit(number):
    """That of the last decimal that is printed."""
    return 10.0 ** -len(str(number).partition(".")[2]) if isinstance(number, float) else 1


@pytest.mark.parametrize("page", EXECUTED)
def test_the_code_of_a_page(page, tmp_path, monkeypatch):
    for package in NEEDED.get(page, []):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {"__name__": "__main__"}
    checked = 0
    for statement, comment in statements(page):
        expected = printed(comment)
        if not isinstance(statement, ast.Expr) or expected is None:
            exec(compile(ast.Module([statement], []), f"{page}.md", "exec"), names)
            continue
        found = eval(compile(ast.Expression(statement.value), f"{page}.md", "eval"), names)
        checked += 1
        pairs = list(zip(found, expected, strict=True)) if isinstance(expected, tuple) else [(found, expected)]
        if all(isinstance(value, float) for _, value in pairs):  # another processor may decide for a sample or two
            assert all(abs(a - b) <= 2 * unit(b) for a, b in pairs), ast.unparse(statement)
        else:
            assert found == expected, ast.unparse(statement)
    assert checked, "no value of this page is compared"


@each("page", PAGES)
def test_roles_name_what_there_is(page):
    for role in re.findall(r"\{(?:class|func)\}`~?lapwing\.([\w.]+)`", PAGES[page]):
        thing = lapwing
        for part in role.split("."):
            thing = getattr(thing, part)


@each("page", PAGES)
def test_a_page_has_a_picture(page):
    assert re.search(r"!\[[^\]]+\]\(gallery/images/sphx_glr_plot_\w+\.png\)", PAGES[page])


def test_pages_are_listed_by_the_front_pages():
    listed = "".join(
        (DOCS / f"{name}.md").read_text("utf-8") for name in ("index", "guide", "running", "how", "measurements")
    )
    assert all(re.search(rf"^{name}$", listed, re.M) for name in NAMES)
