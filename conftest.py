"""What holds for the tests of ``tests`` and ``papers/tests``, and for the examples in the sources."""

import contextlib
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import limits
import pytest
from sparse_kinds import SPARSE

# Tests of pages and workflows, which the source distribution does not have.
OF_PAGES = ("documentation", "guide", "pages", "publication", "recipes", "site")
collect_ignore = [] if Path(__file__).with_name("docs").is_dir() else [f"tests/test_{name}.py" for name in OF_PAGES]


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
    limits.small_blocks(monkeypatch)


@pytest.fixture(params=[500, 20], ids=["few features", "many features"])
def limit(request, monkeypatch):
    """As if sparse X had more rows than are decomposed whole, and more features too, or not."""
    limits.large_from(monkeypatch, request.param)
    return request.param


@pytest.fixture
def there():
    """From a NumPy array to a tensor, laid out as the array: on the CPU, or on the device that LAPWING_DEVICE names."""
    torch = pytest.importorskip("torch")
    return lambda array: torch.from_numpy(array).to(os.environ.get("LAPWING_DEVICE", "cpu"))


@pytest.fixture
def screened(monkeypatch):
    """Few rows on a device are screened as many are."""
    limits.screened(monkeypatch)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium, in which pages are tried."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("no Chromium with chromedriver on this machine: the page is not tested in a browser")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    quiet = "no-first-run disable-background-networking disable-component-update disable-sync disable-quic"
    software = (
        "disable-gpu enable-unsafe-swiftshader use-gl=angle use-angle=swiftshader"  # WebGL without a graphics card
    )
    for flag in f"headless=new no-sandbox window-size=1366,768 {quiet} {software}".split():
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('browser')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with contextlib.closing(webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))) as driver:
        driver.close = driver.quit
        yield driver


def pytest_collection_modifyitems(items):
    """Examples of packages that are not installed are skipped. ``make integrations`` runs those of ``lapwing.vectors``."""
    for item in items:
        for package in ("torch", "faiss", "sentence_transformers") if isinstance(item, pytest.DoctestItem) else ():
            if f">>> import {package}" in item.dtest.docstring and not find_spec(package):
                item.add_marker(pytest.mark.skip(reason=f"{package} is not installed"))
