"""The page of the published experiments, in a real browser."""

import pytest
from sklearn.datasets import load_digits

from lapwing import LPP
from lapwing_papers.experiments import Classification, Method, PerClass, run, write_page

HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'


@pytest.fixture(scope="module")
def evidence_page(tmp_path_factory):
    """The page of the published experiments, of one that takes a moment, with a hostile name."""
    experiment = Classification(
        name="digits",
        source=HOSTILE,
        protocol=HOSTILE,
        load=lambda: load_digits(return_X_y=True),
        conditions={"5 a digit": PerClass(5)},
        methods={"LPP": Method(lambda X, y, d: LPP(d))},
        dimensions=(2, 4),
        n_repeats=1,
    )
    folder = tmp_path_factory.mktemp("evidence")
    return write_page([run(experiment, folder, n_jobs=1)], folder)


def errors(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_the_page_of_evidence_has_a_policy_that_it_keeps(browser, evidence_page):
    """No script at all, and pictures from the page itself."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("browser")
    browser.get(evidence_page.as_uri())
    loaded = "return [...document.images].every((i) => i.complete)"
    WebDriverWait(browser, 60).until(lambda browser: browser.execute_script(loaded))
    assert browser.execute_script("return [...document.images].map((i) => i.naturalWidth > 0)") == [True]
    styled = "return getComputedStyle(document.querySelector('main')).maxWidth"
    assert browser.execute_script(styled) == "992px"
    assert browser.execute_script("return window.hacked") is None
    assert errors(browser) == []
    browser.execute_script("""
        const made = document.createElement("script");
        made.textContent = "window.hacked = 1";
        document.head.append(made);""")
    assert browser.execute_script("return window.hacked") is None
    assert "Content Security Policy" in "".join(errors(browser))
