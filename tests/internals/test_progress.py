"""How far a pass is: shown in a terminal and in a notebook."""

import os
import pty
import sys
import time

import numpy as np
import pytest
from rows_in_blocks import data, in_memory

from lapwing import (
    MMC,
)
from lapwing.blocks import _progress
from lapwing.blocks._arrays import ArrayBlocks

pytestmark = pytest.mark.usefixtures("small_blocks")


# Progress.


class Slow(ArrayBlocks):
    def _read(self):
        for block in (self._array[:500], self._array[500:]):
            time.sleep(0.25)
            yield np.array(block)


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch, capfd):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    MMC(2).fit(Slow(data()[0]), data()[1])
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    MMC(2).fit(Slow(data()[0]), data()[1])


def test_a_notebook_sees_it_too(monkeypatch, capfd):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    MMC(2).fit(Slow(data()[0]), data()[1])
    assert "\radding up: 500 of 1,000 rows, " in capfd.readouterr().err


@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_a_terminal_sees_how_far_it_is(monkeypatch, patience):
    ours, theirs = pty.openpty()
    monkeypatch.setattr(_progress, "PATIENCE", patience)
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        MMC(2).fit(Slow(data()[0]), data()[1])
        in_memory("MMC").transform(Slow(data()[0]))
        os.write(theirs, b"end")
        shown = ""
        while not shown.endswith("end"):
            shown += os.read(ours, 10_000).decode()
    os.close(ours)
    if patience:
        assert shown == "end"
        return
    assert "\radding up: 500 of 1,000 rows, " in shown
    assert "s left" in shown
    assert "\rtransforming: 500 of 1,000 rows, " in shown
    assert shown.endswith("\r" + " " * 78 + "\rend")  # the line is cleared
