"""Clustering of random classes in the representations of several methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from lapwing.metrics import clustering_accuracy, purity

from ._experiment import Experiment, Values

Represent = Callable[[Any, int], Any]  # samples and number of clusters -> their coordinates


@dataclass(frozen=True)
class Clustering(Experiment):
    """Accuracy and normalised mutual information of k-means, and purity where asked for.

    Parameters
    ----------
    load : callable
        Gives X and y.
    conditions : mapping of str to int or None
        The number of classes drawn in each repetition; None are all.
    methods : mapping of str to callable
        From samples and number of clusters to coordinates.
    n_init : int
        Starts of k-means, of which the best by its own objective is kept; with ``average`` the mean of their scores is.
    cluster : callable
        ``(coordinates, k, random_state) -> labels``, in place of k-means.
    """

    load: Callable[[], tuple[Any, np.ndarray]] = field(kw_only=True)
    methods: Mapping[str, Represent] = field(kw_only=True)
    n_init: int = field(kw_only=True, default=10)
    average: bool = field(kw_only=True, default=False)
    with_purity: bool = field(kw_only=True, default=False)
    cluster: Callable[[Any, int, int], np.ndarray] | None = field(kw_only=True, default=None)
    scale: float = field(kw_only=True, default=1.0)

    def measure(self, condition: str, seed: int) -> Values:
        X, y = self.load()
        X, y = drawn(X, y, self.conditions[condition], seed)
        k = np.unique(y).size
        return {name: self._scores(represent(X, k), y, k, seed) for name, represent in self.methods.items()}

    def _scores(self, Z: Any, y: np.ndarray, k: int, seed: int) -> dict[str, float]:
        found = [self._measures(y, labels) for labels in self._partitions(Z, k, seed)]
        return {name: self.scale * float(np.mean([f[name] for f in found])) for name in found[0]}

    def _partitions(self, Z: Any, k: int, seed: int) -> list[np.ndarray]:
        cluster = self.cluster or (lambda Z, k, s: KMeans(k, n_init=1, init="random", random_state=s).fit_predict(Z))
        if self.average or self.cluster:
            return [cluster(Z, k, 1000 * seed + i) for i in range(self.n_init if self.average else 1)]
        return [KMeans(k, n_init=self.n_init, random_state=seed).fit_predict(Z)]

    def _measures(self, y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        found = {
            "accuracy": clustering_accuracy(y, labels),
            "mutual information": normalized_mutual_info_score(y, labels, average_method="max"),
        }
        return found | ({"purity": purity(y, labels)} if self.with_purity else {})


def drawn(X: Any, y: np.ndarray, n_classes: int | None, seed: int) -> tuple[Any, np.ndarray]:
    """The samples of ``n_classes`` random classes."""
    classes = np.unique(y)
    if n_classes is None or n_classes == classes.size:
        return X, y
    kept = np.isin(y, np.random.RandomState(seed).choice(classes, n_classes, replace=False))
    return X[kept], y[kept]
