"""The result of a comparison, and the choice that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from .._extras import require
from ..auto import UNITS_RATIO
from ..metrics import standard_error
from ..selection import reducer_of
from ._leaks import Leak
from ._methods import complexity, is_recommendable
from ._scores import MEASURES, are_unequal, level_with

KEYS = ("method", "dimension", "fold")  # of a record, beside its measures


@dataclass(frozen=True, eq=False)
class Comparison:
    """What :func:`~lapwing.comparison.compare` has found: the scores of every method, and a model of each on all data.

    Attributes
    ----------
    records : list of dict
        One per method, dimension and fold: ``method``, ``dimension``, ``fold`` and :attr:`measures`.
    baseline : list of dict
        The same for the data as given, without reduction.
    majority : list of dict
        Accuracy, balanced accuracy and F1 of always naming the largest class, one per fold; empty without labels.
    measures : tuple of str
        With labels ``accuracy``, ``balanced_accuracy`` (the mean over classes) and ``f1`` (the mean of the classes' F1) of
        the held-out 1-NN, ``clustering`` (k-means on the held-out rows, classes matched to clusters) and ``nmi`` (of the same
        clusters); if retrieval is the goal ``map`` and ``recall@5`` (:func:`lapwing.metrics.retrieval_scores` of held-out
        queries in the labelled training rows); always ``trustworthiness``, ``continuity`` and ``recall``
        (:func:`neighborhood_preservation` of the held-out rows).
    criterion : str
        The measure that chooses.
    models : dict of name to fitted estimator
        One model per method, fitted to all data, with the dimension that the one-standard-error rule chose.
    embeddings : dict of name to dict
        All rows in 2 and 3 dimensions (1 where there are no more), keyed by their number.
    spaces : dict of name to ndarray
        All rows in all dimensions of the model.
    spectra : dict of name to ndarray
        Eigenvalues (shares of the variance for PCA, LDA and TruncatedSVD) of the largest fit that shares the model's ``pca``.
    graphs : list of dict
        What is known of each graph of neighbours that attracts: the ``graph``, its ``methods``, ``n_edges``,
        ``n_connected_components`` and ``degrees``.
    failures, left_out : dict of name to message
        Methods that could not be fitted, and those that were not tried because they are slow on so many rows.
    leaks : list of Leak
        Columns that alone tell the labels, and copies of rows in several folds: see :func:`find_leaks`.
    warnings : dict of name to list of messages
        What the methods warned of, in any fold.
    classes, labels : ndarray or None
        The names of the classes, and the index into them of each row, -1 where unknown.
    splitter : cross-validator
        What split the rows into folds.
    keys, key_name : ndarray or None, "groups", "time" or None
        What the splitter was told of each row, and what that is.
    folds : list of ndarray
        The rows that each fold held out.
    predictions : dict of (name, dimension) to list of ndarray
        The class predicted for each held-out row whose label is known, one array per fold.
    judges : list of str
        What judged the spaces in each fold, such as ``"logistic regression"``.
    judge : classifier or None
        The unfitted classifier of most folds; None is the nearest neighbour.
    random_state : int
        The seed of the comparison.
    n_samples, n_features, n_neighbors : int
        How many rows and columns X has, and how many neighbours the measures look at.
    X : array or sparse matrix
        The data compared; where they were prepared, as the transformer gives them when it learns from all rows.
    prepare : transformer or None
        What each fold fitted to its training rows first.

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
    baseline: list[dict[str, Any]]
    majority: list[dict[str, Any]]
    criterion: str
    models: dict[str, Any]
    embeddings: dict[str, dict[int, np.ndarray]]
    spaces: dict[str, np.ndarray]
    spectra: dict[str, np.ndarray]
    graphs: list[dict[str, Any]]
    failures: dict[str, str]
    left_out: dict[str, str]
    leaks: list[Leak]
    warnings: dict[str, list[str]]
    classes: np.ndarray | None
    labels: np.ndarray | None
    splitter: Any
    keys: np.ndarray | None
    key_name: str | None
    folds: list[np.ndarray]
    predictions: dict[tuple[str, int], list[np.ndarray]]
    judges: list[str]
    judge: Any
    random_state: int
    n_samples: int
    n_features: int
    n_neighbors: int
    X: Any = field(repr=False)
    prepare: Any
    _candidates: dict[str, Any] = field(repr=False)

    @property
    def methods(self) -> list[str]:
        """Names of the methods that were scored."""
        return list(self._candidates)

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(
            name
            for name in dict.fromkeys((*MEASURES, *self.baseline[0]))
            if name in self.baseline[0] and name not in KEYS
        )

    @property
    def is_unequal(self) -> bool:
        """Whether the classes are so unequal that the accuracy says little."""
        return self.labels is not None and are_unequal(self.labels)

    def dimensions(self, method: str) -> list[int]:
        """The numbers of dimensions that were tried."""
        return list(self._candidate(method).dimensions)

    def estimator(self, method: str, dimension: int | None = None) -> Any:
        """The unfitted estimator behind a score; None is the chosen dimension."""
        return self._candidate(method).at(self._row(method)["dimension"] if dimension is None else dimension)

    def scores(self, method: str, measure: str | None = None) -> np.ndarray:
        """Scores of shape (n_folds, n_dimensions); None is the criterion."""
        values = [record[measure or self.criterion] for record in self.records if record["method"] == method]
        return np.reshape(values, (len(self.folds), len(self.dimensions(method))))

    @property
    def units(self) -> float | None:
        """How many times the median deviation of the columns the largest is, where methods divided columns for that reason."""
        scales = [getattr(reducer_of(model), "scale_", None) for model in self.models.values()]
        ratios = [float(scale.max() / np.median(scale)) for scale in scales if scale is not None]
        return max(ratios) if ratios and max(ratios) > UNITS_RATIO else None

    def summary(self) -> list[dict[str, Any]]:
        """One row per method, the best first.

        ``best_dimension`` has the best mean, ``best_mean``; ``dimension`` is the smallest whose mean is within one standard
        error of that (for measures of neighbourhoods, within ten points), and for the method of :attr:`choice` the one
        chosen. There: the ``mean`` and standard error ``se`` of the criterion, the mean of every measure, and ``behind``,
        ``behind_se``: how far the best method is ahead at its best dimension, fold by fold.
        """
        rows = sorted(map(self._row, self.methods), key=lambda row: -row["best_mean"])
        top = self._column(rows[0]["method"], rows[0]["best_dimension"])
        for row in rows:
            behind = top - self._column(row["method"], row["dimension"])
            row["behind"], row["behind_se"] = float(behind.mean()), standard_error(behind)
        return rows

    @property
    def best(self) -> dict[str, Any]:
        """The row of :meth:`summary` with the best mean."""
        return self.summary()[0]

    @cached_property
    def choice(self) -> tuple[str, int]:
        """The method and the number of dimensions to use.

        All settings within one standard error of the best are level. Of these, one with as many dimensions as there are
        features is taken only if no other is level. A matrix comes before a map that needs the training rows; then the fewest
        dimensions count, then the simplest method, then the mean. UMAP, whose models cannot be kept without pickle, is never
        chosen.
        """
        own = {name: candidate.estimator for name, candidate in self._candidates.items()}
        usable = [name for name in own if is_recommendable(own[name])] or list(own)
        scores = {name: self.scores(name) for name in usable}
        means = {name: scores[name].mean(axis=0) for name in usable}
        best = max(usable, key=lambda name: means[name].max())
        top = scores[best][:, np.argmax(means[best])]
        level = []
        for name in usable:
            curved, complex_by = complexity(own[name])
            reach = level_with(means[name], top, self.criterion)
            settings = zip(self.dimensions(name), means[name], reach, strict=True)
            level += [(curved, d, complex_by, -mean, name) for d, mean, is_level in settings if is_level]
        _, dimension, _, _, method = min([setting for setting in level if setting[1] < self.n_features] or level)
        return method, dimension

    def confusion(self, method: str, dimension: int | None = None) -> np.ndarray:
        """Counts of shape (n_classes, n_classes), true by predicted, of the held-out 1-NN over all folds."""
        if self.labels is None or self.classes is None:
            raise ValueError(
                "the comparison has no labels (y=None), so there is no confusion matrix; pass y to compare"
            )
        dimension = self._row(method)["dimension"] if dimension is None else dimension
        held_out = np.concatenate([self.labels[fold] for fold in self.folds])
        found = np.concatenate(self.predictions[method, dimension])
        return confusion_matrix(held_out[held_out >= 0], found, labels=np.arange(len(self.classes)))

    def _repr_html_(self) -> str | None:
        """The report, inline in a notebook; None, which shows the text, where what it needs is not installed."""
        from ..report import report_page

        try:
            page = report_page(self, max_points=1000)
        except ImportError:
            return None
        return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: 900px; border: 0" title="Comparison"></iframe>'

    def to_frame(self) -> Any:
        """The records as a pandas DataFrame."""
        return require("pandas", "tables").DataFrame(self.records)

    def _candidate(self, method: str) -> Any:
        if method not in self._candidates:
            raise ValueError(f"method={method!r} was not compared; there are {', '.join(self.methods)}")
        return self._candidates[method]

    def _column(self, method: str, dimension: int) -> np.ndarray:
        return self.scores(method)[:, self.dimensions(method).index(dimension)]

    def _row(self, method: str) -> dict[str, Any]:
        dimensions, scores = self.dimensions(method), self.scores(method)
        means = scores.mean(axis=0)
        best = int(np.argmax(means))
        chosen = int(np.argmax(level_with(means, scores[:, best], self.criterion)))
        chosen = dimensions.index(self.choice[1]) if method == self.choice[0] else chosen
        return {
            "method": method,
            "best_dimension": dimensions[best],
            "best_mean": float(means[best]),
            "best_se": standard_error(scores[:, best]),
            "dimension": dimensions[chosen],
            "mean": float(means[chosen]),
            "se": standard_error(scores[:, chosen]),
            **{measure: float(self.scores(method, measure)[:, chosen].mean()) for measure in self.measures},
        }


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
    ...     found = compare(X, y, methods=["PCA", "LPP"])
    ... except Interrupted as stopped:
    ...     found = stopped.comparison
    >>> found.methods
    ['PCA', 'LPP']
    """

    def __init__(self, comparison: Comparison, n_methods: int):
        self.comparison, self.n_methods = comparison, n_methods
        super().__init__(f"{len(comparison.methods)} of {n_methods} methods are scored")
