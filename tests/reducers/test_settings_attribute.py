"""What a fit decides by itself, and what it says while it works."""

import numpy as np
import pytest
from helpers import each
from sklearn.base import clone
from sklearn.datasets import load_digits

from lapwing import (
    LPDP,
    LPI,
    LPP,
    LSDA,
    MMC,
    NPE,
    OLPP,
    TSA,
    KernelLPP,
    LaplacianEigenmaps,
    LaplacianScore,
    SpectralRegression,
)
from lapwing.graphs import KNN, SameClass
from lapwing.methods import METHODS

DIGITS = load_digits()
X, Y = DIGITS.data[:200], DIGITS.target[:200]


def test_settings_are_named_as_the_parameters_are():
    found = LPP(4).fit(X).settings_
    assert list(found) == ["n_components", "scaling", "ridge", "pca", "center", "normalize", "standardize"]
    assert LaplacianEigenmaps(2).fit(X).settings_ == {"normalize": None}
    assert LaplacianScore(graph="semi").fit(X, Y).settings_ == {"n_features_to_select": 32, "normalize": "degree"}
    assert TSA().fit(DIGITS.images[:100]).settings_["n_components"] == TSA().fit(DIGITS.images[:100]).n_components_


@pytest.mark.parametrize(
    "model",
    [
        LPP(4),
        LPP("auto", graph="supervised"),
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


PRINTED = {"pca": None, "standardize": False, "normalize": None, "ridge": 0.0, "scaling": "constraint"}


@each("name", METHODS)
def test_the_paper_is_a_preset_of_every_method(name):
    """What is "auto" is as printed, whether written out or by the preset, and the estimator stays as it was given."""
    rows = DIGITS.images[:100] if name == "TSA" else X[:100, 20:26] + 1
    model = METHODS[name](preset="paper").fit(rows, Y[:100])
    assert model.get_params() == METHODS[name](preset="paper").get_params()
    left = {key for key, value in METHODS[name]().get_params(deep=False).items() if value == "auto"}
    assert left - {"n_components"} <= model.settings_.keys()
    assert {key: model.settings_[key] for key in left & PRINTED.keys()} == {
        key: PRINTED[key] for key in left & PRINTED.keys()
    }
    given = {key: model.settings_[key] for key in left}
    if name in ("LPCA", "TangentialMaps"):  # whose graph says from where patches are coded
        given["graph"] = model.graph_
    written = METHODS[name](**given).fit(rows, Y[:100])
    np.testing.assert_allclose(written.transform(rows), model.transform(rows), atol=1e-9)
    assert METHODS[name]().preset == "measured"


@pytest.mark.parametrize("method", [LPP, NPE, LPDP, LSDA])
def test_printed_constraints_are_those_of_the_rows_as_they_are(method):
    """Equation 2.15 of the thesis: VᵀXᵀDXV = I, without a mean."""
    model = method(3, preset="paper").fit(X[:, 20:26], Y)
    V, B = model.components_.T, method().problem(X[:, 20:26], Y).subject_to.toarray()
    np.testing.assert_allclose(V.T @ X[:, 20:26].T @ B @ X[:, 20:26] @ V, np.eye(3), atol=1e-9)
    assert not model.mean_.any()


def test_a_parameter_beside_the_preset_stays():
    given = {"ridge": 0.5, "scaling": "unit", "center": "mean", "pca": 4, "standardize": True}
    assert given.items() <= LPP(2, preset="paper", **given).fit(X[:, 20:26]).settings_.items()


def test_the_preset_holds_wherever_a_problem_is_posed():
    graph = KNN(4) + SameClass()
    printed, written = LPP(2, graph=graph, preset="paper"), LPP(2, graph=graph, normalize=None)
    np.testing.assert_allclose(printed.problem(X, Y).subject_to.toarray(), written.problem(X, Y).subject_to.toarray())
    assert LPP(2, graph="supervised", preset="paper").partial_fit(X[:, 20:26], Y).settings_["ridge"] == 0
    with pytest.raises(ValueError, match=r"n_components=99"):
        printed.set_params(n_components=99).fit(X, Y)
    assert printed.ridge == "auto"


def test_a_preset_that_there_is_not():
    with pytest.raises(ValueError, match=r"preset='textbook' must be one of 'measured', 'paper'"):
        LPP(2, preset="textbook").fit(X)


def test_pca_none_is_all_directions():
    assert LPP(2, pca=None).fit(X).settings_["pca"] is None
    assert LPP(2, pca=0.5).fit(X).settings_["pca"] == LPP(2, pca=0.5).fit(X).n_pca_


@each("name", METHODS)
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
