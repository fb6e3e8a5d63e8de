"""Linear models for vector search: the matrix, its expression in SQL, and what has none. ``integrations`` has the programs."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from lapwing import LPI, LPP, RCA, KernelLPP, LaplacianEigenmaps
from lapwing.vectors import matrix_and_bias, to_pgvector

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("model", [LPP(2), LPP("auto", graph="supervised", standardize=True), RCA(3)], ids=str)
def test_the_matrix_is_the_map(model):
    A, b = matrix_and_bias(model.fit(X, Y))
    np.testing.assert_allclose(X @ A.T + b, model.transform(X), atol=1e-12)


def computed(expression, vector):
    """What PostgreSQL would answer, by its own words: inner_product is the sum of products, ARRAY[...] a list."""
    each = re.findall(r"inner_product\(place, '\[([^\]]*)\]'\) \+ (\S+?)[,\]]", expression)
    return [np.dot(np.array(row.split(","), dtype=float), vector) + float(bias) for row, bias in each]


def test_the_expression_is_the_map():
    model = LPP(3).fit(X)
    expression = to_pgvector(model, "place")
    assert re.fullmatch(r"ARRAY\[.*\]::vector\(3\)", expression)
    for row, expected in zip(X[:5], model.transform(X[:5]), strict=True):
        np.testing.assert_allclose(computed(expression, row), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (PCA(2), "PCA is no linear method of lapwing"),
        (KernelLPP(2), "KernelLPP is no linear method of lapwing"),
        (LaplacianEigenmaps(2), "LaplacianEigenmaps is no linear method"),
        (LPI(2), "LPI is no linear method of lapwing that takes rows as they are"),
    ],
)
def test_what_is_no_matrix_is_refused(model, said):
    with pytest.raises(TypeError, match=said):
        matrix_and_bias(model.fit(X))
