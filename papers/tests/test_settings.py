"""Kept results name every parameter whose default may change, so that the library's defaults can."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import lapwing
from lapwing import L21PCA, LPI, LPP, MMC, OLPP, LaplacianScore, RobustGLPCA
from lapwing_papers import experiments
from lapwing_papers.published import BY_EXPERIMENT, MAY_CHANGE, as_kept, published

METHODS = {name: getattr(lapwing, name) for name in lapwing.__all__ if inspect.isclass(getattr(lapwing, name))}
FOLDER = Path(experiments.__file__).parent
OF_PAPERS = {path.name: ast.parse(path.read_text()) for path in sorted(FOLDER.glob("*.py"))}


def names_of_methods(tree):
    """The names under which a file knows the library's methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names if alias.name in METHODS)


def built(tree):
    """Every call that makes an estimator: the method, and what the call leaves to the defaults."""
    known = set(names_of_methods(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "published":
                method = ast.unparse(node.args[0])
                yield method, missing(METHODS[method], node)
            elif called in known or called.split(".")[-1] in METHODS:
                yield called, [*MAY_CHANGE]


def missing(method, call):
    """What the experiment has to name in ``published`` and does not; the number of components may be the first argument."""
    accepted = inspect.signature(method).parameters
    named = {keyword.arg for keyword in call.keywords} | ({"n_components"} if len(call.args) > 1 else set())
    return [name for name in BY_EXPERIMENT if name in accepted and name not in named]


@pytest.mark.parametrize("file", OF_PAPERS)
def test_no_estimator_of_a_paper_relies_on_a_default(file):
    assert not [(method, left) for method, left in built(OF_PAPERS[file]) if left]


def test_the_guard_sees_the_experiments():
    found = [method for tree in OF_PAPERS.values() for method, _ in built(tree)]
    assert len(found) > 50
    assert {"LPP", "OLPP", "ONPP", "LPDP", "MFA", "DNE", "LPCA", "LPI", "KernelLPP", "TSA", "GLPCA", "L21PCA"} <= set(
        found
    )


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("from lapwing import LPP\nLPP(2, graph=5, pca=None)", [*MAY_CHANGE]),
        ("from lapwing import LPP as L\nL(2, graph=5, pca=None)", [*MAY_CHANGE]),
        ("import lapwing\nlapwing.LPP(2, graph=5, pca=None)", [*MAY_CHANGE]),
        ("from lapwing import LPP\npublished(LPP, 2, graph=5)", ["pca"]),
        ("from lapwing import LPP\npublished(LPP, graph=5, pca=None)", ["n_components"]),
        ("from lapwing import MMC\npublished(MMC, 2, pca=0.9)", []),
    ],
)
def test_the_guard_sees_what_is_not_named(code, left):
    ((_, found),) = built(ast.parse(code))
    assert found == left


def given(method):
    """The least that an experiment has to say."""
    return {name: 3 for name in BY_EXPERIMENT if name in inspect.signature(method).parameters}


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_that_may_change_is_named(name, monkeypatch):
    """Other defaults, whatever they were, would reach no published estimator."""
    method = METHODS[name]
    defaults = method.__init__.__kwdefaults__ or {}
    changed = dict.fromkeys(defaults.keys() & set(MAY_CHANGE), "another default")
    monkeypatch.setattr(method.__init__, "__kwdefaults__", defaults | changed)
    assert "another default" not in as_kept(method, **given(method)).get_params(deep=False).values()


def test_settings_of_the_kept_results():
    lpp = as_kept(LPP, 10, graph=7, pca=0.98)
    assert (lpp.n_components, lpp.graph, lpp.pca, lpp.preset) == (10, 7, 0.98, "measured")
    assert (lpp.scaling, lpp.ridge, lpp.normalize, lpp.center) == ("unit", 0.0, None, "auto")
    assert as_kept(LPP, 2, graph=5, pca="auto").ridge == 0.0
    assert as_kept(LPI, 2, graph=5).ridge == 10
    assert (as_kept(L21PCA, 2).center, as_kept(L21PCA, 2).rho) == ("mean", 1.02)
    assert as_kept(MMC, 2, pca=None).get_params().keys() == MMC().get_params().keys()
    assert as_kept(LaplacianScore, graph=5).graph == 5
    assert as_kept(LPP, 2, graph=5, pca=None, scaling="constraint", ridge=0.1).ridge == 0.1


def test_the_printed_equation_is_the_preset():
    X = np.abs(np.random.RandomState(0).standard_normal((40, 6)))
    lpp = published(LPP, 2, graph=5).fit(X).settings_
    assert (lpp["scaling"], lpp["ridge"], lpp["pca"], lpp["center"]) == ("constraint", 0, None, False)
    assert published(LPI, 2, graph=5).fit(X).settings_["ridge"] == 0
    assert published(RobustGLPCA, 2, graph=5).fit(X).settings_ == {"center": "mean", "rho": 1.2}
    assert published(LPP, 2, graph=5, ridge=0.1).ridge == 0.1


def test_what_an_experiment_must_name():
    with pytest.raises(TypeError, match="give OLPP graph, pca"):
        as_kept(OLPP, 2)
    with pytest.raises(TypeError, match="give OLPP graph"):
        published(OLPP, 2)
