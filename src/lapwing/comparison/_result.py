"""The result of a comparison, and the choice that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ..auto import UNITS_RATIO
from ..metrics import standard_error
from ..selection import reducer_of
from ._judges import MEASURES, NEIGHBORHOOD, are_unequal, best_of, level_with
from ._leaks import Leak
from ._methods import Candidate, complexity, is_recommendable


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What :func:`~lapwing.comparison.compare` has found: the scores of every method, and a model of each on all data.

    Attributes
    ----------
    records : list of dict
        One per method, dimension and fold: ``method``, ``dimension``, ``fold`` and :attr:`measures`.
    lines : dict of name to dict
        What methods are held to, as rows like those of :meth:`summary`: ``baseline`` is all columns with the judge of each fold,
        ``line_to_beat`` all columns with logistic or ridge regression (left out where it is the first, or the nearest neighbour
        judges), and ``majority`` always the largest class, or the mean.
    criterion : str
        The measure that chooses.
    measures : tuple of str
        With labels ``accuracy``, ``balanced_accuracy`` and ``f1`` (means over classes) of the judge, ``roc_auc`` of two classes,
        ``clustering`` (k-means on the held-out rows, classes matched to clusters) and ``nmi`` of these clusters; ``r2`` of
        numbers; for retrieval ``map`` and ``recall@5`` of held-out queries in the labelled training rows
        (:func:`lapwing.metrics.retrieval_scores`); always those of :func:`lapwing.metrics.neighborhood_preservation` among at
        most 500 of the held-out rows.
    models : dict of name to fitted estimator
        One model per method, fitted to all data, with the dimension in :attr:`chosen`.
    embeddings, spaces : dict of name to dict of number to ndarray, and dict of name to ndarray
        All rows in 2 and 3 dimensions (1 where there are no more), and in all dimensions of the model.
    failures, warnings : dict of name to message, and to list of messages
        Methods that could not be fitted, and what the others warned of, in any fold.
    leaks : list of Leak
        Columns that alone tell the labels, and copies of rows in several folds: see :func:`find_leaks`.
    classes, labels, targets : ndarray or None
        The names of the classes, and the index into them of each row, -1 where unknown; or the numbers to predict.
    splitter, key_name : cross-validator, "groups", "time" or None
        What split the rows, and what it was told of each.
    folds, predictions : list of ndarray, dict of (name, dimension) to list of ndarray
        The rows that each fold held out, and what is predicted for those of known label.
    judges, judge : list of str, classifier, regressor or None
        What judged the spaces in each fold, such as ``"logistic regression"``, and the unfitted judge of most folds.
    random_state, n_samples, n_features, n_neighbors : int
        The seed, how many rows and columns X has, and how many neighbours the measures look at.
    X, prepare : array or sparse matrix, transformer or None
        The data compared, as ``prepare`` gives them when it learns from all rows; each fold fits it to its training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, methods=["PCA", "LPP"])
    >>> found.methods, found.criterion, found.models["LPP"].transform(X).shape
    (['PCA', 'LPP'], 'accuracy', (150, ...))
    """

    records: list[dict[str, Any]]
    lines: dict[str, dict[str, Any]]
    criterion: str
    failures: dict[str, str]
    leaks: list[Leak]
    warnings: dict[str, list[str]]
    classes: np.ndarray | None
    labels: np.ndarray | None
    targets: np.ndarray | None
    splitter: Any
    key_name: str | None
    folds: list[np.ndarray]
    predictions: dict[tuple[str, int], list[np.ndarray]]
    judges: list[str]
    judge: Any
    random_state: int
    n_samples: int
    n_features: int
    n_neighbors: int
    X: Any
    prepare: Any
    models: dict[str, Any]
    embeddings: dict[str, dict[int, np.ndarray]]
    spaces: dict[str, np.ndarray]
    _candidates: dict[str, Candidate]

    @property
    def methods(self) -> list[str]:
        """Names of the methods that were scored."""
        return list(self._candidates)

    @property
    def measures(self) -> tuple[str, ...]:
        own = [name for name in self.records[0] if name not in ("method", "dimension", "fold")]
        return tuple(sorted(own, key=lambda name: MEASURES.index(name) if name in MEASURES else len(MEASURES)))

    @property
    def is_unequal(self) -> bool:
        """Whether the classes are so unequal that the accuracy says little."""
        return self.labels is not None and are_unequal(self.labels)

    def dimensions(self, method: str) -> list[int]:
        """The numbers of dimensions that were tried."""
        if method not in self._candidates:
            raise ValueError(f"method={method!r} was not compared; there are {', '.join(self.methods)}")
        return list(self._candidates[method].dimensions)

    def estimator(self, method: str, dimension: int | None = None) -> Any:
        """The unfitted estimator behind a score; None is the chosen dimension."""
        return self._candidates[method].at(self.chosen[method] if dimension is None else dimension)

    def scores(self, method: str, measure: str | None = None) -> np.ndarray:
        """Scores of shape (n_folds, n_dimensions); None is the criterion."""
        values = [record[measure or self.criterion] for record in self.records if record["method"] == method]
        return np.reshape(values, (len(self.folds), len(self.dimensions(method))))

    @property
    def units(self) -> float | None:
        """How many times the median deviation of the columns the largest is, where methods divided columns for that reason."""
        scales = [getattr(reducer_of(model), "scale_", None) for model in self.models.values()]
        most = max((float(scale.max() / np.median(scale)) for scale in scales if scale is not None), default=0.0)
        return most if most > UNITS_RATIO else None

    def summary(self) -> list[dict[str, Any]]:
        """One row per method, the one with the highest ``mean`` first.

        ``best_dimension`` has the best mean, ``best_mean``; ``dimension`` is that of :attr:`chosen`. There: the ``mean`` and
        standard error ``se`` of the criterion, the mean of every measure, and ``behind``, ``behind_se``: how far the best
        method is ahead at its best dimension, fold by fold.
        """
        own = {name: self.scores(name) for name in self.methods}
        top, rows = max(map(best_of, own.values()), key=np.mean), []
        for name, scores in own.items():
            dimensions, best = self.dimensions(name), int(scores.mean(axis=0).argmax())
            place = dimensions.index(self.chosen[name])
            row = {"method": name, "best_dimension": dimensions[best], "dimension": dimensions[place]}
            row |= mean_and_error("best_mean", "best_se", scores[:, best])
            row |= mean_and_error("mean", "se", scores[:, place])
            row |= {key: float(self.scores(name, key)[:, place].mean()) for key in self.measures}
            rows.append(row | mean_and_error("behind", "behind_se", top - scores[:, place]))
        return sorted(rows, key=lambda row: -row["mean"])

    @property
    def best(self) -> dict[str, Any]:
        """The row of :meth:`summary` with the best mean, at its ``best_dimension``."""
        return max(self.summary(), key=lambda row: row["best_mean"])

    @cached_property
    def chosen(self) -> dict[str, int]:
        """The dimension of each method: that of :attr:`choice`, or the smallest level with its best in the sense of that."""
        scores = {name: self.scores(name) for name in self.methods}
        level = {name: level_with(own, best_of(own), self.criterion) for name, own in scores.items()}
        return {name: self.dimensions(name)[int(level[name].argmax())] for name in level} | dict([self.choice])

    @cached_property
    def choice(self) -> tuple[str, int]:
        """The method and the number of dimensions to use.

        Settings within one standard error of the best are level (for measures of neighbourhoods, within ten points). Of these,
        one with as many dimensions as there are features is taken only if no other is level. A matrix, which can be exported,
        comes before a map that needs the training rows; then the fewest dimensions count, then the simplest method, then the
        mean. UMAP, whose models cannot be kept without pickle, is never chosen.
        """
        own = {name: candidate.estimator for name, candidate in self._candidates.items()}
        scores = {name: self.scores(name) for name in [name for name in own if is_recommendable(own[name])] or own}
        top = max(map(best_of, scores.values()), key=np.mean)
        level = []
        for name, found in scores.items():
            curved, complex_by = complexity(own[name])
            is_level = level_with(found, top, self.criterion)
            settings = zip(self.dimensions(name), -found.mean(axis=0), is_level, strict=True)
            level += [(curved, d, complex_by, behind, name) for d, behind, counts in settings if counts]
        _, dimension, _, _, method = min([setting for setting in level if setting[1] < self.n_features] or level)
        return method, dimension

    @property
    def reason(self) -> str:
        """Why :attr:`choice` is recommended, in a sentence."""
        best, (name, dimension) = self.best, self.choice
        mean = self.scores(name).mean(axis=0)[self.dimensions(name).index(dimension)]
        curved, _ = complexity(self._candidates[name].estimator)
        own = f"{name} with {dimension} dimension{'s' * (dimension > 1)} ({100 * mean:.1f} %)"
        if (best["method"], best["best_dimension"]) == (name, dimension):
            linear = "" if curved else ", and its map is linear, so that it can be exported"
            return f"{own} has the best score{linear}"
        simple = "the fewest dimensions" if curved else "a linear map, which can be exported, and the fewest dimensions"
        top = f"{best['method']} with {best['best_dimension']} ({100 * best['best_mean']:.1f} %)"
        margin = "ten points" if self.criterion in NEIGHBORHOOD else "one standard error"
        return f"{own} has {simple} of all that are within {margin} of the best, {top}"

    def confusion(self, method: str, dimension: int | None = None) -> np.ndarray:
        """Counts of shape (n_classes, n_classes), true by predicted, of the judge over all folds."""
        if self.labels is None or self.classes is None:
            raise ValueError("the comparison has no labels (classes in y), so there is no confusion matrix")
        dimension = self.chosen[method] if dimension is None else dimension
        held_out = np.concatenate([self.labels[fold] for fold in self.folds])
        found = np.concatenate(self.predictions[method, dimension])
        return confusion_matrix(held_out[held_out >= 0], found, labels=np.arange(len(self.classes)))

    def __repr__(self) -> str:
        rows = [row for row in [*self.summary(), *self.lines.values()] if "mean" in row]
        scores = [
            f"{row['method']}, {row['dimension']}: {100 * row['mean']:.1f} ± {100 * row['se']:.1f}" for row in rows
        ]
        return "\n".join([f"{self.reason}\nmethod, dimensions: {self.criterion} %", *scores])

    def _repr_html_(self) -> str | None:
        """The report, inline in a notebook; None, which shows the text, where what it needs is not installed."""
        from ..report import report_page

        try:
            page = report_page(self, max_points=1000)
        except ImportError:
            return None
        return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: 900px; border: 0" title="Comparison"></iframe>'


def mean_and_error(mean: str, error: str, scores: np.ndarray) -> dict[str, float]:
    return {mean: float(scores.mean()), error: standard_error(scores)}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while methods were compared, with the scores of the methods that were done by then.

    Parameters
    ----------
    comparison : Comparison
        The scores of these methods. It has no models, since methods are fitted to all rows once every one is scored.
    n_methods : int
        How many methods there were to compare.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import Interrupted, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> try:
    ...     found = compare(X, y, methods=["PCA"])
    ... except Interrupted as stopped:
    ...     found = stopped.comparison
    """

    def __init__(self, comparison: Comparison, n_methods: int):
        self.comparison, self.n_methods = comparison, n_methods
        super().__init__(f"{len(comparison.methods)} of {n_methods} methods are scored")
