"""Classification with the first d dimensions, for many d and many splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from ._experiment import Experiment, Values

Data = tuple[Any, np.ndarray]
Maker = Callable[[Any, np.ndarray, int], Any]  # of training data and dimension


@dataclass(frozen=True)
class Method:
    """How a method is made for training data (X, y) and d dimensions.

    ``nested`` methods are fitted once, with the most dimensions, and cut; ``make`` may give a method that has fewer. None for
    ``make`` leaves the features as they are. ``dimensions`` are its own, where they differ from the experiment's.
    """

    make: Maker | None
    nested: bool = True
    dimensions: tuple[int, ...] | None = None


@dataclass(frozen=True)
class PerClass:
    """``n_train`` random samples of each class for training; of the rest all, or ``n_test`` a class, for testing."""

    n_train: int
    n_test: int | None = None

    def split(self, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.RandomState(seed)
        shuffled = [random.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
        last = None if self.n_test is None else self.n_train + self.n_test
        train = np.concatenate([rows[: self.n_train] for rows in shuffled])
        return train, np.concatenate([rows[self.n_train : last] for rows in shuffled])


@dataclass(frozen=True)
class Classification(Experiment):
    """Error or accuracy, in percent, of a classifier over the dimensions.

    Quantity ``what`` (``"error"`` or ``"accuracy"``) is the curve. Where ``honest`` is set, quantity ``what + ", honest"`` is
    the number with the dimension chosen by cross-validation within the training samples, which never sees the test samples.

    Parameters
    ----------
    load : callable
        Gives X and y.
    conditions : mapping of str to object with ``split(y, seed)``
    methods : mapping of str to Method
        Or a function of the condition's name that gives one.
    classifier : classifier
    """

    load: Callable[[], Data] = field(kw_only=True)
    methods: Mapping[str, Method] | Callable[[str], Mapping[str, Method]] = field(kw_only=True)
    classifier: BaseEstimator = field(kw_only=True, default_factory=lambda: KNeighborsClassifier(1))
    what: str = field(kw_only=True, default="error")
    honest: bool = field(kw_only=True, default=True)
    honest_folds: int = field(kw_only=True, default=3)

    def measure(self, condition: str, seed: int) -> Values:
        X, y = self.load()
        train, test = self.conditions[condition].split(y, seed)
        methods = self.methods(condition) if callable(self.methods) else self.methods
        return {
            name: self._of(method, (X[train], y[train]), (X[test], y[test]), seed) for name, method in methods.items()
        }

    def _of(self, method: Method, train: Data, test: Data, seed: int) -> dict[str, Any]:
        curve = self._curve(method, train, test)
        found: dict[str, Any] = {self.what: curve.tolist() if method.make else float(curve[0])}
        if self.honest and method.make:
            found[f"{self.what}, honest"] = float(curve[self._chosen(method, train, seed)])
        return found

    def _curve(self, method: Method, train: Data, test: Data) -> np.ndarray:
        wanted = method.dimensions or tuple(map(int, self.dimensions)) or (0,)
        spaces = embeddings(method, train, test[0], wanted)
        found = {d: self._score(Z, train[1], T, test[1]) for d, Z, T in spaces}
        return np.array([found.get(d, np.nan) for d in (self.dimensions or (0,))])

    def _score(self, Z: Any, y: np.ndarray, T: Any, t: np.ndarray) -> float:
        accuracy = 100 * clone(self.classifier).fit(Z, y).score(T, t)
        return float(accuracy if self.what == "accuracy" else 100 - accuracy)

    def _chosen(self, method: Method, train: Data, seed: int) -> int:
        """The place in ``dimensions`` that cross-validation within the training samples chooses."""
        X, y = train
        folds = StratifiedKFold(min(self.honest_folds, np.bincount(np.unique(y, return_inverse=True)[1]).min()))
        curves = [self._curve(method, (X[a], y[a]), (X[b], y[b])) for a, b in folds.split(y, y)]
        mean = np.mean(curves, axis=0)
        return int(np.nanargmin(mean) if self.what == "error" else np.nanargmax(mean))


def embeddings(method: Method, train: Data, X_test: Any, dimensions: Sequence[int]) -> Any:
    """Dimension, training and test samples in that many dimensions, for those that the method has."""
    X, y = train
    if method.make is None:
        yield from ((d, X, X_test) for d in dimensions[:1])
    elif method.nested:
        model = method.make(X, y, max(dimensions)).fit(X, y)
        Z, T = model.transform(X), model.transform(X_test)
        yield from ((d, Z[:, :d], T[:, :d]) for d in dimensions if d <= Z.shape[1])
    else:
        for d in dimensions:
            model = method.make(X, y, d).fit(X, y)
            yield d, model.transform(X), model.transform(X_test)
