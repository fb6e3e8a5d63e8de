"""Where the tests of this folder run: on the CPU, or on the device that LAPWING_DEVICE names, such as ``cuda``."""

import os

import pytest

torch = pytest.importorskip("torch")
DEVICE = os.environ.get("LAPWING_DEVICE", "cpu")


@pytest.fixture
def there():
    """From a NumPy array to a tensor on the device, its memory laid out as the array's."""
    return lambda array: torch.from_numpy(array).to(DEVICE)


@pytest.fixture
def screened(monkeypatch):
    """Few rows are screened as many are."""
    from lapwing.neighbors import _device, _screen

    monkeypatch.setattr(_device, "FEW", 10)
    monkeypatch.setattr(_device, "TRIED", 16)
    monkeypatch.setattr(_screen, "GROUP", ((1 << 60, 2),))
