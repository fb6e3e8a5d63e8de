"""What holds for the tests of ``tests`` and for the examples in ``src``."""

from importlib.util import find_spec

import pytest
from sparse_kinds import SPARSE


@pytest.fixture(params=SPARSE)
def sparse_kind(request):
    """Makes a sparse matrix of a dense one: every kind that a user may pass."""
    return SPARSE[request.param]


@pytest.fixture
def file(tmp_path):
    """A small model's file, in the tests of model files."""
    from model_files import X, Y

    from lapwing import LPP, save
    from lapwing.graphs import KNN, Repulsion

    save(LPP(2, graph=KNN(4) - 0.2 * Repulsion(30)).fit(X, Y), tmp_path / "model.lapwing")
    return tmp_path / "model.lapwing"


@pytest.fixture
def small_blocks(monkeypatch):
    """Rows in blocks are read in many, though they are few."""
    monkeypatch.setattr("lapwing.blocks._blocks.BLOCK_BYTES", 4096)


@pytest.fixture(params=[500, 20], ids=["few features", "many features"])
def limit(request, monkeypatch):
    """As if sparse X had more rows than are decomposed whole, and more features too, or not."""
    monkeypatch.setattr("lapwing.maps.SparseMap.limit", request.param)
    return request.param


def pytest_collection_modifyitems(items):
    """Examples of PyTorch are skipped where it is not installed. What compiles pynndescent comes first.

    One of several test processes then does it all, and none waits for it at the end.
    """
    for item in items:
        if isinstance(item, pytest.DoctestItem) and "import torch" in item.dtest.docstring and not find_spec("torch"):
            item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))
    items.sort(key=lambda item: item.path.name != "test_approximate.py")
