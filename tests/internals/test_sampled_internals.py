"""Graphs of sampled rows: what they are by definition, and what they estimate."""

import numpy as np
import pytest
from sklearn.utils.random import sample_without_replacement

from lapwing.graphs import KNN
from lapwing.neighbors import find
from lapwing.rows import Rows

N, K, Q = 60, 4, 17


def chosen(n, queries, seed):
    return np.sort(sample_without_replacement(n, queries, random_state=seed))


def lattice(d, n=150, step=1.0):
    return step * np.random.RandomState(1).randint(0, 3, size=(n, d)).astype(np.float64)


@pytest.mark.parametrize("d", [3, 20])
def test_the_whole_graph_breaks_ties_alike(d):
    """The same rule as that of the search for all rows: the links of sampled rows are among those of all."""
    X, queries = lattice(d), 40
    whole = find(Rows(X), KNN(K)._search)
    some = find(Rows(X), KNN(K, queries=queries)._search)
    ours = np.isin(whole.rows, chosen(len(X), queries, 0))
    pairs = set(zip(whole.rows[ours], whole.cols[ours], strict=True))
    assert pairs == set(zip(some.rows, some.cols, strict=True))
