"""Neighbours on a device are those of brute force, ties included, on every kind of rows."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lapwing.graphs import KNN

torch = pytest.importorskip("torch")
rs = np.random.RandomState(0)
GAUSS = rs.randn(420, 20)
KINDS = {
    "gauss": GAUSS,
    "columns first": np.asfortranarray(GAUSS),
    "every other column": rs.randn(420, 40)[:, ::2],
    "few whole numbers": rs.randint(0, 3, (420, 17)) * 1.0,
    "whole numbers": rs.randint(0, 256, (420, 30)) * 1.0,
    "far from the origin": GAUSS + 1e4,
    "outliers": np.r_[GAUSS, 1e5 * rs.randn(3, 20)],
    "far outliers": np.r_[GAUSS, 1e12 * rs.randn(3, 20)],
    "large": GAUSS * 1e15,
    "small": GAUSS * 1e-25,
    "copies": np.repeat(rs.randn(21, 20), 20, axis=0),
    "two rows": np.repeat(rs.randn(2, 20), 210, axis=0),
    "constant": np.ones((420, 20)),
    "nearly constant": np.ones((420, 20)) + 1e-6 * GAUSS,
    "wide": rs.randn(200, 300),
    "all lengths": GAUSS * 10.0 ** rs.uniform(-6, 6, (420, 1)),
    "one column varies": np.c_[GAUSS[:, :1], np.zeros((420, 19))],
    "mostly zero": GAUSS * (rs.rand(420, 20) < 0.1),
    "no more than float32 can": np.float32(1e-42) * GAUSS,
}
BEYOND_FLOAT32 = {"tiny": GAUSS * 1e-100, "huge": GAUSS * 1e100}
CASES = [(name, X, dtype) for name, X in KINDS.items() for dtype in (np.float32, np.float64)]
CASES += [(name, X, np.float64) for name, X in BEYOND_FLOAT32.items()]
each_kind = pytest.mark.parametrize(
    ("X", "dtype"), [case[1:] for case in CASES], ids=[f"{name}, {dtype.__name__}" for name, _, dtype in CASES]
)


KERNELS = """
import numpy as np, torch
from lapwing.neighbors import _device, _screen, _triton
_device.FEW, _screen.GROUP = 10, ((1 << 60, 2),)
for d, order in ((20, "C"), (16, "F"), (300, "C"), (320, "F")):
    X = torch.from_numpy(np.array(np.random.RandomState(0).randn(30, d), dtype=np.float32, order=order))
    plain, fused = (_device.Finder(X, fused=False) for _ in range(2))
    fused.kernels = _triton
    assert fused.nearest(X, torch.arange(30), 3)[0].equal(plain.nearest(X, torch.arange(30), 3)[0]), (d, order)
    assert fused.doubtful < 10, (d, order)
"""


def test_kernels_in_the_interpreter():
    """Triton kernels give what plain torch gives, for rows in any memory layout."""
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, "-c", KERNELS], check=True, env=environment)


def test_what_a_device_does_not_search():
    X = np.abs(GAUSS)
    with pytest.raises(ValueError, match="search=\"torch\" does not go with metric='manhattan'"):
        KNN(5, metric="manhattan", search="torch").build(X)
    from scipy import sparse

    with pytest.raises(ValueError, match="dense rows, and X is sparse"):
        KNN(5, search="torch").build(sparse.csr_array(X))
