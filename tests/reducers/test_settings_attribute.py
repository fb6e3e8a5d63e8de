"""What a fit decides by itself, and what it says while it works."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from lapwing import LPI, LPP, MMC, OLPP, TSA, KernelLPP, LaplacianEigenmaps, LaplacianScore, SpectralRegression
from lapwing.graphs import KNN, SameClass
from lapwing.methods import METHODS

DIGITS = load_digits()
X, Y = DIGITS.data[:200], DIGITS.target[:200]


def test_settings_are_named_as_the_parameters_are():
    found = LPP(4).fit(X).settings_
    assert list(found) == ["n_components", "pca", "center", "scaling", "ridge", "normalize", "standardize"]
    assert LaplacianEigenmaps(2).fit(X).settings_ == {"normalize": None}
    assert LaplacianScore(graph="semi").fit(X, Y).settings_ == {"n_features_to_select": 32, "normalize": "degree"}
    assert TSA().fit(DIGITS.images[:100]).settings_["n_components"] == TSA().fit(DIGITS.images[:100]).n_components_


@pytest.mark.parametrize(
    "model",
    [
        LPP(4),
        LPP("auto", graph="supervised"),
        LPP(0.6),
        LPP(3, graph=KNN(4) + SameClass()),
        OLPP(4),
        MMC(3),
        KernelLPP(3),
        KernelLPP(3, graph="semi"),
        LPI(3),
        SpectralRegression(2),
    ],
    ids=repr,
)
def test_a_fit_with_the_settings_is_the_same_fit(model):
    first = clone(model).fit(X, Y)
    again = clone(model).set_params(**first.settings_).fit(X, Y)
    np.testing.assert_allclose(again.transform(X), first.transform(X), atol=1e-8 * np.abs(first.transform(X)).max())
    assert again.settings_ == first.settings_


def test_pca_none_is_all_directions():
    assert LPP(2, pca=None).fit(X).settings_["pca"] is None
    assert LPP(2, pca=0.5).fit(X).settings_["pca"] == LPP(2, pca=0.5).fit(X).n_pca_


@pytest.mark.parametrize("name", METHODS)
def test_verbose_is_a_parameter_of_every_method(name):
    assert METHODS[name]().verbose is None
    assert METHODS[name](verbose=False).get_params()["verbose"] is False


@pytest.fixture
def rows(small_blocks):
    """Rows that are read in blocks."""
    return pytest.importorskip("zarr").array(X)


@pytest.mark.parametrize(("verbose", "is_shown"), [(None, False), (False, False), (True, True)])
def test_the_line_that_says_how_far_work_has_come(verbose, is_shown, rows, capsys):
    """Nothing here is a terminal, and nothing takes two seconds."""
    model = LPP(2, graph=KNN(5, queries=80), verbose=verbose).fit(rows)
    assert ("of 200 rows" in capsys.readouterr().err) == is_shown
    model.transform(rows)
    assert ("transforming: 200 of 200 rows" in capsys.readouterr().err) == is_shown


def test_what_one_fit_shows_does_not_last(rows, capsys):
    LPP(2, graph=KNN(5, queries=80), verbose=True).fit(rows)
    capsys.readouterr()
    LPP(2, graph=KNN(5, queries=80)).fit(rows)
    assert not capsys.readouterr().err
