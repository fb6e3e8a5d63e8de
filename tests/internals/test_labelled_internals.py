"""Unknown labels in validation: the trap, and the ways out of it."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lapwing import LPP
from lapwing.graphs import KNN, SameClass
from lapwing.rows import known_labels
from lapwing.selection import (
    SemiSupervised,
)

X, TRUE = (part[:600] for part in load_digits(return_X_y=True))
KNOWN = np.random.RandomState(0).random_sample(600) < 0.2  # one label of five
Y = np.where(KNOWN, TRUE, -1)
SEMI = LPP(8, graph=KNN(5) + SameClass())


@pytest.mark.parametrize("kind", ["text", "objects", "mixed"])
def test_labels_of_any_kind(kind):
    words = np.array([f"digit {k}" for k in range(10)])[TRUE]
    y = {
        "text": np.where(KNOWN, words, "-1"),
        "objects": np.where(KNOWN, words, "-1").astype(object),
        "mixed": np.where(KNOWN, words.astype(object), -1),
    }[kind]
    np.testing.assert_array_equal(known_labels(y), KNOWN)
    model = SemiSupervised(SEMI).fit(X, y)
    codes = SemiSupervised(SEMI).fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.predict(X), [f"digit {k}" for k in codes])
    assert model.score(X, y) == np.mean(codes[KNOWN] == TRUE[KNOWN])
