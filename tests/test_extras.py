"""Packages that are not installed with the core: an error or a warning names them, and how they are installed."""

import sys
from importlib import metadata

import pytest

from lapwing import _extras
from lapwing._extras import require


@pytest.fixture
def installed(monkeypatch):
    """A function that pretends that matplotlib has a version."""
    _extras.too_old.cache_clear()

    def pretend(there):
        monkeypatch.setattr(
            _extras, "requires", lambda name: ["numpy>=1.26", 'matplotlib[all]>=3.10.1; extra == "plots"']
        )
        monkeypatch.setattr(_extras, "version", lambda name: there)

    yield pretend
    _extras.too_old.cache_clear()


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"^this needs skops\.io: pip install 'lapwing\[model\]'$"):
        require("skops.io", "model")


@pytest.mark.parametrize("there", ["3.10.1", "3.10.1rc1", "3.11", "4.0.dev1", "10"])
def test_what_is_new_enough_is_taken(there, installed):
    pytest.importorskip("matplotlib")
    installed(there)
    assert require("matplotlib", "plots") is sys.modules["matplotlib"]


@pytest.mark.parametrize("there", ["3.9", "3.10", "3.10.0", "2.99.1"])
def test_what_is_too_old_is_named(there, installed):
    pytest.importorskip("matplotlib")
    installed(there)
    said = (
        rf"^this needs matplotlib 3\.10\.1 or later, and version {there} is installed: pip install 'lapwing\[plots\]'$"
    )
    with pytest.warns(UserWarning, match=said):
        require("matplotlib", "plots")
    with pytest.raises(ImportError, match=said):
        require("matplotlib.no_such_part", "plots")


def test_metadata_are_read_as_they_are_written():
    """All lines that ask for a least version are understood."""
    lines = [line for line in metadata.requires("lapwing") if "extra" in line and ">=" in line]
    assert lines
    assert all(map(_extras.ASKED.match, lines))
