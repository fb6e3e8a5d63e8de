"""Parameters as other libraries spell them are answered with ours, and ``dir`` lists what users call."""

import copy
import inspect
import pickle
import re
from typing import ClassVar

import pytest
from helpers import each
from sklearn.base import clone
from sklearn.datasets import load_iris

import lapwing
from lapwing import LPCA, LPP, LSDA, MFA, MMC, NPE, OLPP, graphs
from lapwing.graphs import KNN
from lapwing.methods import METHODS
from lapwing.reducers import LinearReducer

ANSWERS = [
    (LPP, {"n_neighbors": 10}, "LPP has no parameter n_neighbors=; write graph=10"),
    (LPP, {"metric": "cosine"}, "LPP has no parameter metric=; write graph=KNN(5, metric='cosine')"),
    (
        LPP,
        {"weights": "binary", "n_dims": 7},
        "LPP has no parameter n_dims=, weights=; write n_components=7, graph=KNN(5, weights='binary')",
    ),
    (LPP, {"shrinkage": 0.1}, "LPP has no parameter shrinkage=; write ridge=0.1"),
    (LPP, {"affinity": "precomputed"}, "LPP has no parameter affinity=; write graph=W, a matrix of weights"),
    (OLPP, {"eps": 0.5}, "OLPP has no parameter eps=; write graph=Radius(0.5)"),
    (NPE, {"metric": "cosine"}, "NPE has no parameter metric=; write graph=Reconstruction(5, metric='cosine')"),
    (LPCA, {"weights": "binary"}, "LPCA has no parameter weights=; write graph=KNN(5, weights='binary')"),
    (MMC, {"k": 3, "reg": 0.1, "dim": 2}, "MMC has no parameter dim=; write n_components=2"),
]


@pytest.mark.parametrize(("method", "given", "answer"), ANSWERS)
def test_other_spellings_are_answered(method, given, answer):
    with pytest.raises(TypeError, match=f"^{re.escape(answer)}$"):
        method(**given)


@each("name", METHODS)
def test_every_estimator_answers(name):
    method = METHODS[name]
    has_graph = "graph" in method().get_params()
    with pytest.raises(TypeError, match=r"write graph=10$" if has_graph else "argument 'n_neighbors'$"):
        method(n_neighbors=10)
    if has_graph:
        assert f"{method(graph=10)!r}" == f"{name}(graph=10)"


@each("given", [{"metric": "manhattan"}, {"weights": "binary"}, {"t": 0.5}, {"eps": 9.0}])
@each("method", [LPP, NPE, LPCA, LSDA])
def test_the_graph_that_is_answered_can_be_fitted(method, given):
    with pytest.raises(TypeError) as told:
        method(**given)
    graph = eval(str(told.value).partition("write graph=")[2], vars(graphs).copy())
    assert method(2, graph=graph).fit(*load_iris(return_X_y=True)).components_.shape == (2, 4)


def test_what_is_unknown_everywhere_is_left_to_python():
    for method, name in ((LPP, "no_such_parameter"), (OLPP, "shrinkage"), (MFA, "n_component")):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            method(**{name: 3})


class Own(LinearReducer):
    """A method with a parameter that other methods spell otherwise."""

    def __init__(self, n_components=2, *, metric="cosine"):
        self.n_components = n_components
        self.metric = metric


class Declared(OLPP, without=("pca",)):
    """A method with parameters that its class declares."""

    alpha: float = 1.0
    n_components: int = 3
    _private: int = 1
    CONSTANT: ClassVar[int] = 2


def test_constructors_are_written_from_what_classes_declare():
    parameters = inspect.signature(Declared).parameters
    assert list(parameters)[:3] == ["n_components", "graph", "alpha"]
    assert next(iter(inspect.signature(Declared.__init__).parameters)) == "self"
    assert parameters.keys() - inspect.signature(OLPP).parameters.keys() == {"alpha"}
    assert inspect.signature(OLPP).parameters.keys() - parameters.keys() == {"pca"}
    assert [p.kind.name for p in parameters.values()][:2] == ["POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY"]
    assert repr(clone(Declared(2, alpha=3.0))) == "Declared(alpha=3.0, n_components=2)"
    assert Declared().n_components == 3
    assert not hasattr(Declared, "alpha")  # parameters are of estimators, not of classes
    for wrong in ({"pca": 3}, {"_private": 2}, {"CONSTANT": 3}):
        with pytest.raises(TypeError, match=f"^Declared: got an unexpected keyword argument '{next(iter(wrong))}'$"):
            Declared(**wrong)
    with pytest.raises(TypeError, match="too many positional"):
        Declared(2, 7)


def test_a_method_of_ones_own_may_have_such_a_parameter():
    assert clone(Own(3, metric="euclidean")).metric == "euclidean"


def test_estimators_are_copied_as_before():
    model = LPP(3, graph=KNN(4))
    for other in (clone(model), copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert repr(other) == repr(model)
    assert "graph" in inspect.signature(OLPP).parameters


def shown(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_dir_of_the_package():
    assert shown(lapwing) == {*METHODS, *lapwing._ELSEWHERE, *lapwing._PARTS}
    assert len(dir(lapwing)) == len(set(dir(lapwing)))
    assert all(hasattr(lapwing, name) for name in dir(lapwing))


def test_dir_of_methods():
    of_sklearn = {"fit_transform", "get_feature_names_out", "get_metadata_routing", "get_params", "set_output"}
    of_sklearn |= {"set_params", "set_fit_request", "set_partial_fit_request"}
    own = {"fit", "transform", "inverse_transform", "problem"}
    # Later releases of scikit-learn than the oldest show no methods that are not available.
    assert shown(LPP()) - {"partial_fit"} == {*LPP().get_params(), *own, *of_sklearn}
    assert hasattr(LPP, "partial_fit")
    assert not hasattr(LPP(), "partial_fit")
    for method in METHODS.values():
        assert not shown(method()) & {"about", "default_graph", "default_penalty", "n_neighbors"}


def test_dir_of_graphs():
    assert shown(KNN()) == {*KNN().get_params(), "build", "get_params", "set_params"}
    assert "adjacency" in dir(graphs.Graph)
    both = KNN() + graphs.SameClass()
    assert shown(both) == {"left", "right", "scale", "build", "get_params", "set_params"}
