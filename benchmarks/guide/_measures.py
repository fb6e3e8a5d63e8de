"""Measures that lapwing has as one of several numbers of a function."""

from typing import Any

from lapwing.metrics import neighborhood_preservation


def trustworthiness(X: Any, Z: Any, n_neighbors: int) -> float:
    """How few of the neighbours in Z are new."""
    return neighborhood_preservation(X, Z, n_neighbors=n_neighbors)[0]
