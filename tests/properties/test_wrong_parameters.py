"""Whatever is given as a parameter, as X or as y: a fit works, or raises an error that names what is wrong."""

import re

import numpy as np
import pytest
from drawn import FREE, LEAVES, NAMED, PROJECTIONS, quietly, tried
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import ArpackError
from sklearn.base import clone
from sklearn.decomposition import PCA

from lapwing import LPI, LPP, MFA, TSA, ContrastivePCA, DiffusionMaps, FisherScore, KernelLPP, LaplacianScore
from lapwing.graphs import KNN, On, Repulsion

ESTIMATORS = [method() for method in (*PROJECTIONS, *FREE, *NAMED, LPI, LaplacianScore, FisherScore)]
rng = np.random.RandomState(0)
X, Y = rng.exponential(size=(24, 5)), np.arange(24) % 3
VALUES = [
    None, True, False, -1, 0, 1, 3, 10**9, 10**30, -0.5, 0.0, 0.5, 1.5, float("nan"), float("inf"), -float("inf"), 1j,
    "", "auto", "no", b"x", (), [], {}, [1, 2], {"a": 1}, object(), np.float32(0.5), np.int8(2), np.array(3),
    np.array([1.0, 2.0]), np.eye(24), np.full((24, 24), np.nan), sparse.eye_array(24), sparse.eye_array(3), slice(2),
    range(3), np.datetime64("2020"),
]  # fmt: skip


def check_message(outcome, names):
    if isinstance(outcome, str):
        assert re.search("|".join(re.escape(name) for name in names), outcome), outcome


def parameters(objects):
    """One of these, one of its parameters, and what is given for it."""
    named = [(thing, name) for thing in objects for name in sorted(thing.get_params(deep=False))]
    return st.tuples(st.sampled_from(named), st.sampled_from(VALUES)).map(lambda drawn: (*drawn[0], drawn[1]))


@tried(parameters(ESTIMATORS), examples=60)
def test_parameters_of_estimators(drawn):
    estimator, name, value = drawn
    check_message(quietly(lambda: clone(estimator).set_params(**{name: value}).fit(X, Y).transform(X)), names_of(name))


def names_of(name):
    """What a message about a parameter may speak of: a graph is given as a matrix or a number of neighbours, too."""
    of_graphs = ("graph", "penalty", "W ", "n_neighbors", "array-like", "Precomputed", "samples", "labels")
    if name in ("graph", "penalty"):
        return name, *of_graphs
    return (
        (name, "n_components") if name in ("pca", "landmarks") else (name,)
    )  # few directions of either leave few components


@tried(parameters(LEAVES), examples=60)
def test_parameters_of_graphs(drawn):
    graph, name, value = drawn
    check_message(quietly(lambda: clone(graph).set_params(**{name: value}).build(X, Y)), (name,))


@pytest.mark.parametrize(
    ("thing", "name", "value"),
    [
        *((method(), "constraint", np.array([1.0, 2.0])) for method in (LPP, MFA, KernelLPP)),
        *((ContrastivePCA(), "background", value) for value in ([], np.array([1.0, 2.0]), sparse.eye_array(3))),
        (LPI(), "ridge", np.array([1.0, 2.0])),
        (DiffusionMaps(), "alpha", 10**9),
        (KNN(3, queries=5), "metric_params", np.array([1.0, 2.0])),
        (KNN(3, queries=5), "random_state", 10**30),
        (Repulsion(6), "normalized", np.array([1.0, 2.0])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_properties_have_found(thing, name, value):
    changed = clone(thing).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"^{name}="):
        changed.fit(X, Y) if hasattr(changed, "fit") else changed.build(X, Y)


class Failing(PCA):
    """What PCA raises on a sparse matrix of ones, with some versions of its dependencies."""

    def fit(self, X, y=None):
        raise ArpackError(-9)

    fit_transform = fit


def test_what_a_transformer_raises_is_said_of_it():
    with pytest.raises(ValueError, match=r"^what=Failing\(n_components=1\) cannot be fitted to X without y: ARPACK"):
        LPP(graph=On(Failing(n_components=1), KNN(2))).fit(sparse.csr_array(np.ones((17, 27))))


BAD_X = {
    "NaN": np.where(np.eye(24, 5) > 0, np.nan, X),
    "infinite": np.where(np.eye(24, 5) > 0, np.inf, X),
    "one dimension": X[0],
    "three dimensions": X[None],
    "no rows": X[:0],
    "one row": X[:1],
    "no columns": X[:, :0],
    "text": np.full((24, 5), "a"),
    "complex": X * 1j,
    "objects": X.astype(object),
    "not a number among objects": np.where(np.eye(24, 5) > 0, object(), X.astype(object)),
    "None": None,
    "a number": 3.0,
    "a string": "X",
    "a list": X.tolist(),
    "lists of unequal length": [[1.0, 2.0], [1.0]],
    "a dict": {"a": [1, 2]},
    "whole numbers": (9 * X).astype(np.int8),
    "booleans": X > 0,
    "dates": np.full((24, 5), np.datetime64("2020-01-01")),
    "float16": X.astype(np.float16),
    "huge": 1e200 * X,
    "tiny": 1e-300 * X,
    "constant": np.ones((24, 5)),
    "other byte order": X.astype(">f8"),
    "masked": np.ma.masked_array(X, X > 1),
    "matrix": sparse.csr_matrix(X),
    "sparse columns": sparse.csc_array(X),
    "sparse NaN": sparse.csr_array(np.where(np.eye(24, 5) > 0, np.nan, X)),
}
BAD_Y = {
    "none": None,
    "too short": Y[:-1],
    "too long": np.r_[Y, 0],
    "two columns": np.c_[Y, Y],
    "numbers": X[:, 0],
    "NaN": np.where(Y == 0, np.nan, Y),
    "infinite": np.where(Y == 0, np.inf, Y),
    "words": np.array(["a", "b", "c"])[Y],
    "objects": np.array([None, "b", 3], dtype=object)[Y],
    "one class": 0 * Y,
    "all unknown": 0 * Y - 1,
    "plus and minus one": np.where(Y == 0, -1, 1),
    "each its own": np.arange(24),
    "booleans": Y > 0,
    "a list": Y.tolist(),
    "a string": "y",
    "a number": 3,
    "sparse": sparse.csr_array(Y[:, None]),
    "complex": Y * 1j,
    "dates": np.array(["2020-01-01"] * 24, dtype="datetime64[D]"),
}
SPOKEN_OF = (
    "X", "y ", "y=", "labels", "class", "sample", "feature", "array", "NaN", "Input", "input", "sequence", "convert",
    "metric", "graph", "Complex", "Sparse", "sparse", "float()",
)  # fmt: skip


@tried(
    st.sampled_from([*ESTIMATORS, TSA((2, 2))]),
    st.sampled_from(sorted(BAD_X)),
    st.sampled_from(["good", *sorted(BAD_Y)]),
    examples=60,
)
def test_rows_and_labels(estimator, rows, labels):
    """scikit-learn's messages of arrays that are none are good enough."""
    given, y = BAD_X[rows], Y if labels == "good" else BAD_Y[labels]
    check_message(quietly(lambda: clone(estimator).fit(given, y).transform(given)), SPOKEN_OF)
    check_message(quietly(lambda: clone(estimator).fit(X, y).transform(given)), SPOKEN_OF)
