"""Measures of clusters and of embeddings, against their definitions."""

import numpy as np
import pytest

from lapwing.metrics import (
    neighborhood_preservation,
    retrieval_scores,
)


def test_many_queries_are_asked_some_at_a_time(monkeypatch):
    rng = np.random.RandomState(1)
    given = rng.standard_normal((20, 3)), rng.randint(0, 4, 20), rng.standard_normal((50, 3)), rng.randint(0, 4, 50)
    expected = retrieval_scores(*given), neighborhood_preservation(given[2], given[2][:, :1])
    monkeypatch.setattr("lapwing.operators.BLOCK_BYTES", 8 * 4 * 50 * 7)  # seven queries
    assert (retrieval_scores(*given), neighborhood_preservation(given[2], given[2][:, :1])) == (
        pytest.approx(expected[0]),
        pytest.approx(expected[1]),
    )
