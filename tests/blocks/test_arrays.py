"""Arrays on disk: little memory, and the file stays as it is."""

import os
import subprocess
import sys

import numpy as np
import pytest
import zarr
from rows_in_blocks import (
    METHODS,
    assert_alike,
    data,
    memmap,
    memory,
)
from sklearn.base import clone

import lapwing
from lapwing import (
    LPP,
    MMC,
)
from lapwing.graphs import (
    KNN,
)

RELEASED = """
import sys
import numpy as np
from sklearn import config_context
from lapwing import OLPP
from lapwing.graphs import KNN

def high():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

X = np.memmap(sys.argv[1], np.float32, "r", shape=(300_000, 128))
with config_context(working_memory=50):
    before = high()
    OLPP(2, graph=KNN(3, queries=20)).fit(X)
    print(high() - before, X.nbytes / 2**20)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads /proc")
def test_pages_that_were_read_are_released(tmp_path):
    rows = np.random.RandomState(0).rand(20_000, 128).astype(np.float32)
    with open(tmp_path / "X.bin", "wb") as file:
        for i in range(15):
            file.write((rows + np.float32(i)).tobytes())
    run = [sys.executable, "-c", RELEASED, str(tmp_path / "X.bin")]
    grown, size = map(float, subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())
    assert size > 140
    assert grown < size / 2


def test_changes_that_are_in_memory_alone_are_kept(tmp_path):
    X, y = data()
    changed = memmap(X, tmp_path, "c")
    changed[7] = 50.0
    expected = np.array(changed)
    with memory(X):
        model = MMC(2).fit(changed, y)
    np.testing.assert_array_equal(changed, expected)
    assert_alike(MMC(2).fit(expected, y), model)


def test_changes_to_a_file_are_kept(tmp_path):
    X, y = data()
    changed = memmap(X, tmp_path, "r+")
    changed[7] = 50.0
    with memory(X):
        MMC(2).fit(changed, y)
    assert (changed[7] == 50).all()
    changed.flush()
    assert (np.fromfile(tmp_path / "X.bin").reshape(X.shape)[7] == 50).all()


def test_small_memory_maps_are_read_whole(tmp_path):
    X, _ = data(200)
    assert_alike(LPP(2, graph=KNN(4)).fit(X), LPP(2, graph=KNN(4)).fit(memmap(X, tmp_path)))


def test_a_model_of_blocks_can_be_saved(tmp_path):
    X, y = data()
    rows = zarr.array(X, chunks=(90, 6))
    model = clone(METHODS["LPP"]).fit(rows, y)
    lapwing.save(model, tmp_path / "model.lapwing")
    loaded = lapwing.load(tmp_path / "model.lapwing")
    np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows))
