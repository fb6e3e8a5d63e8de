"""A supervised method reads its labels, however its graph is spelt."""

import numpy as np
import pytest
from helpers import each
from scipy.linalg import subspace_angles
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.utils import get_tags

from lapwing.graphs import KNN, On, Radius, SameClass
from lapwing.methods import METHODS

X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
SUPERVISED = [*(name for name, method in METHODS.items() if get_tags(method()).target_tags.required), "RCA"]
REFUSING = {
    "DNE": r"use \(KNN\(7",
    "MFA": r"use KNN\(7",
    "LFDA": "use LocalClass",
    "KernelLFDA": "use LocalClass",
}  # without labels
SPELLINGS = {"default": {}, "number": {"graph": 6}, "graph": {"graph": KNN(6, weights="binary")}}


def directions(name, spelling, y):
    """What a method finds, as columns; None where it has no such parameter."""
    if not SPELLINGS[spelling].keys() <= METHODS[name]().get_params().keys():
        return None
    model = METHODS[name](2, **SPELLINGS[spelling]).fit(X, y)
    found = getattr(model, "scores_", None)
    found = getattr(model, "components_", getattr(model, "dual_coef_", None)).T if found is None else found[:, None]
    return np.linalg.qr(found)[0]


@each("spelling", SPELLINGS)
@each("name", SUPERVISED)
def test_shuffled_labels_give_another_answer(name, spelling):
    if spelling == "graph" and name in REFUSING:
        return
    true = directions(name, spelling, Y)
    if true is not None:
        shuffled = directions(name, spelling, np.random.RandomState(0).permutation(Y))
        assert subspace_angles(true, shuffled).max() > 0.1


@pytest.mark.parametrize(("name", "remedy"), REFUSING.items())
def test_neighbours_without_classes_are_refused_with_the_spelling_that_works(name, remedy):
    with pytest.raises(ValueError, match=rf"graph=KNN\(7\).* {remedy}"):
        METHODS[name](2, graph=KNN(7)).fit(X, Y)
    METHODS[name](2, graph=7).fit(X, Y)
    METHODS[name](2, graph=KNN(7) & SameClass()).fit(X, Y)


@pytest.mark.parametrize("graph", [Radius(3.0), On(PCA(3), KNN(5)), KNN(5) + KNN(3), KNN(5) - 0.1 * KNN(9)], ids=str)
@pytest.mark.parametrize("name", ["DNE", "LFDA", "KernelLFDA"])
def test_no_graph_of_features_alone_takes_the_place_of_one_of_classes(name, graph):
    with pytest.raises(ValueError, match=r"reads no labels|links samples of different classes"):
        METHODS[name](2, graph=graph).fit(X, Y)


@pytest.mark.parametrize("name", ["LSDA", "LPDP"])
def test_a_number_is_the_graph_that_the_page_names(name):
    by_number, by_graph = (METHODS[name](2, graph=graph).fit(X, Y) for graph in (7, KNN(7, weights="binary")))
    np.testing.assert_array_equal(by_number.components_, by_graph.components_)
