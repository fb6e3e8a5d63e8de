"""The pages that need packages of this environment: their code runs, and the values in its comments come out."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGES = {"cells": "scanpy"}

assert all(map(find_spec, PAGES.values()))  # nothing is skipped
tests = [f"tests/test_guide.py::test_the_code_of_a_page[{page}]" for page in PAGES]
quietly = ["-q", "-p", "no:cacheprovider", "-W", "ignore", f"--rootdir={Path(__file__).parents[2]}"]
sys.exit(pytest.main([*quietly, *tests]))
