"""The one fit: its parts, what it leaves behind, and what a method of the user's own needs."""

import numpy as np
import oracles as o
import pytest
from sklearn.base import clone

import lapwing
from lapwing import (
    TSA,
)

X, Y = o.blobs(60, 5)
POSITIVE = np.abs(X)
EVERY = [getattr(lapwing, name)() for name in lapwing.__all__]


def made(estimator):
    return clone(estimator).set_params(image_shape=(-1, 1)) if isinstance(estimator, TSA) else clone(estimator)


@pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)
def test_the_graph_is_resolved_once_and_is_the_one_that_was_built(estimator, monkeypatch):
    estimator, resolved, built = made(estimator), [], []
    graphs, problem = type(estimator)._graphs, type(estimator)._problem

    def counted(self, *args, **options):
        resolved.append(graphs(self, *args, **options))
        return resolved[-1]

    def stated(self, data, graphs):
        built.append(graphs.graph)
        return problem(self, data, graphs)

    monkeypatch.setattr(type(estimator), "_graphs", counted)
    monkeypatch.setattr(type(estimator), "_problem", stated)
    estimator.fit(POSITIVE, Y)
    assert len(resolved) == len(built) == 1
    assert built[0] is estimator.graph_
