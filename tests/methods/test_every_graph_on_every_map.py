"""All graphs on all maps, with all labels and with some: against dense solves of the matrices that the graph builds.

The graphs are those of ``test_testing``, where each public one must be, so that a new word comes here by itself; their matrices
have oracles of their own. A map is right where its values are the smallest of the dense pencil and its coordinates attain them
under the constraint.
"""

from functools import partial

import numpy as np
import oracles as o
import pytest
from helpers import literal, named
from scipy import sparse
from sklearn.base import clone
from test_testing import GRAPHS

from lapwing import LPP, NPE, OLPP, TSA, KernelLPP, KernelNPE, LaplacianEigenmaps, LaplacianScore
from lapwing.problem import degree_sum, laplacian_sum

rng = np.random.RandomState(0)
N, K = 40, 2
X = rng.rand(N, 5) + 0.3 * rng.rand(3, 5)[np.arange(N) % 3]
LABELS = {"all": np.arange(N) % 3, "some": np.where(np.arange(N) % 4 == 3, -1, np.arange(N) % 3)}
PAIRS = [(i, j) for i in range(5) for j in range(i + 1)]
QUADRATIC = np.column_stack([np.sqrt(2) * X, *(X[:, i] * X[:, j] * (1 if i == j else np.sqrt(2)) for i, j in PAIRS)])


def rows(Z):
    return Z


def linear(A, B, y, model, made=rows, F=X, center="auto"):
    """The smallest values over directions of F, attained by what transform gives."""
    model = clone(model).fit(made(X), y)
    values = o.solve(F, [(1, A)], B, center=center)[0][:K]
    return values, model.eigenvalues_, model.transform(made(X)), B


def orthogonal(A, D, y, model):
    model = clone(model).fit(X, y)
    values = o.solve(X, [(1, A)])[0][:K]
    V = model.components_.T
    Z = (X - X.mean(axis=0)) @ V
    np.testing.assert_allclose(V.T @ V, np.eye(K), atol=1e-8)
    return values, np.sort(np.linalg.eigvalsh(Z.T @ A @ Z)), None, None


def free(A, D, y, model):
    """Rows without attraction stay at 0, and the constant is left out."""
    model = clone(model).fit(X, y)
    linked = np.diag(D) > 0
    B = np.diag(np.diag(D) if model.constraint == "degree" else linked.astype(float))
    ones = (np.sqrt(np.diag(B)) * 1.0)[linked]
    half = np.diag(1 / ones)
    apart = np.linalg.svd(ones[None])[2][1:].T  # in coordinates in which B is the identity
    values = np.linalg.eigvalsh(apart.T @ half @ A[np.ix_(linked, linked)] @ half @ apart)[:K]
    return values, model.eigenvalues_, model.embedding_, B


def image(A, D, y, model):
    """Images of one column are vectors, about the plain mean."""
    model = clone(model).fit(X, y)
    values = o.solve(X, [(1, A)], D, center="mean")[0][:K]
    return values, model.eigenvalues_[0], model.transform(X), D


def scores(A, D, y, model):
    model = clone(model).fit(X, y)
    C = o.centred(X, D)
    return np.diag(C.T @ A @ C) / np.diag(C.T @ D @ C), model.scores_, None, None


def identity(solved, A, D, y, model, **options):
    return solved(A, np.eye(N), y, model, **options)


SIZED = {"scaling": "constraint"}
POLYNOMIAL = {"kernel": "poly", "degree": 2, "gamma": 1.0, **SIZED}
MAPS = {
    "linear": (linear, LPP, SIZED, {}),
    "linear, sparse": (linear, LPP, SIZED, {"made": sparse.csr_array}),
    "linear, plain mean": (linear, LPP, {"center": "mean", **SIZED}, {"center": "mean"}),
    "linear, B = I": (partial(identity, linear), NPE, SIZED, {}),
    "linear, orthogonal": (orthogonal, OLPP, {}, {}),
    "kernel": (linear, KernelLPP, POLYNOMIAL, {"F": QUADRATIC}),
    "kernel, B = I": (partial(identity, linear), KernelNPE, POLYNOMIAL, {"F": QUADRATIC}),
    "free": (free, LaplacianEigenmaps, {}, {}),
    "free, B = I": (free, LaplacianEigenmaps, {"constraint": "identity"}, {}),
    "multilinear": (image, TSA, {"image_shape": (5, 1), "n_components": (K, 1), **SIZED}, {}),
    "features": (scores, LaplacianScore, {}, {}),
}


def is_sampled(graph):
    return any(request.queries is not None for request in graph.requests())


@pytest.mark.filterwarnings("ignore:samples without links", "ignore:n_components=", "ignore:eigenvalues")
@pytest.mark.parametrize(
    ("graph", "labels"),
    [(graph, labels) for graph in GRAPHS for labels in LABELS if labels == "some" or graph.reads_labels],
    ids=lambda part: part if isinstance(part, str) else named(part),
)
def test_table(graph, labels):
    y = LABELS[labels]
    terms = graph.build(X, y)
    A, attracts = laplacian_sum(terms).toarray(), any(term.coefficient > 0 for term in terms)
    D = degree_sum(terms).toarray() if attracts else None
    for name, (solved, method, options, expected) in MAPS.items():
        if D is None and "B = I" not in name and name != "linear, orthogonal":
            with pytest.raises(ValueError, match="no attraction"):
                literal(method, graph=graph, **options).fit(X, y)
            continue
        if solved is free and (is_sampled(graph) or D is None):
            continue  # which they say
        values, found, Z, B = solved(A, D, y, literal(method, graph=graph, **options), **expected)
        size = np.abs(values).max() + np.abs(A).max() * 1e-3
        np.testing.assert_allclose(found, values, atol=1e-6 * size, rtol=1e-6, err_msg=name)
        if Z is not None:
            np.testing.assert_allclose(Z.T @ B @ Z, np.eye(K), atol=1e-6, err_msg=name)
            np.testing.assert_allclose(Z.T @ A @ Z, np.diag(values), atol=1e-5 * size, err_msg=name)


def test_the_table_is_large():
    assert len(GRAPHS) >= 50
    assert len(MAPS) >= 10
