"""The search by tiles, against its definition: any tiles, threads and memory, equal rows, and classes."""

import numpy as np
import rule

from lapwing.data import as_data
from lapwing.graphs import ClosestPairs


def test_closest_pairs_of_each_class():
    """By a loop over classes: the shortest pairs with any other class."""
    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 20), rng.randint(5, size=60)
    D = rule.distances(X, "euclidean").astype(np.float64)
    expected = set()
    for label in range(5):
        pairs = [(D[i, j], i, j) for i in np.flatnonzero(y == label) for j in np.flatnonzero(y != label)]
        expected |= {frozenset((i, j)) for _, i, j in sorted(pairs)[:4]}
    W = ClosestPairs(4).adjacency(as_data(X, y)).tocoo()
    assert {frozenset(pair) for pair in zip(W.row.tolist(), W.col.tolist(), strict=True)} == expected
