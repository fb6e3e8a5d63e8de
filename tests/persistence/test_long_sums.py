"""Sums of many graphs are lists, not graphs inside graphs."""

import numpy as np
import oracles as o
import pytest
from scipy import sparse

import lapwing
from lapwing import LPP, LaplacianEigenmaps
from lapwing.graphs import KNN, Precomputed, Repulsion, SameClass

X, Y = o.blobs(30, 4)


@pytest.mark.parametrize("count", [2, 40])
def test_a_sum_of_many_graphs_in_a_model_file(count, tmp_path):
    W = sparse.csr_array(np.ones((30, 30)) - np.eye(30))
    kinds = [KNN(3), 0.5 * SameClass(), -0.25 * Repulsion(9), Precomputed(W)]
    graph = sum(kinds[i % 4] for i in range(count))
    for estimator in (LPP(2, graph=graph), LaplacianEigenmaps(2, graph=graph)):
        fitted = estimator.fit(X, Y)
        lapwing.save(fitted, tmp_path / "model")
        read = lapwing.load(tmp_path / "model")
        assert repr(read.graph_) == repr(fitted.graph_)
        assert repr(read.graph) == repr(graph)
        np.testing.assert_array_equal(read.transform(X), fitted.transform(X))


def test_graphs_inside_one_another():
    graph = KNN(3)
    for _ in range(2000):
        graph = KNN(3) + graph
    with pytest.raises(
        ValueError, match=r"graph= or penalty= has too many graphs inside one another; .* sum\(\[\.\.\.\]\)"
    ):
        LPP(2, graph=graph).fit(X)
