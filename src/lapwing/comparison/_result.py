"""The result of a comparison, and the choice that follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from .._extras import require
from ..auto import UNITS_RATIO
from ..metrics import standard_error
from ..selection import reducer_of
from ._fits import Evaluation, Reference, Whole
from ._judges import MEASURES, are_unequal, in_words, level_with
from ._leaks import Leak
from ._methods import Candidate, complexity, is_recommendable

KEYS = ("method", "dimension", "fold")  # of a record, beside its measures


@dataclass(frozen=True, eq=False)
class Comparison:
    """What :func:`~lapwing.comparison.compare` has found: the scores of every method, and a model of each on all data.

    Attributes
    ----------
    records : list of dict
        One per method, dimension and fold: ``method``, ``dimension``, ``fold`` and :attr:`measures`.
    baseline, line_to_beat, majority : list of dict
        The same, one per fold, for all columns as given with the judge of the fold, for all columns with logistic or ridge
        regression, and for always naming the largest class or the mean. The second is empty where it is the first, or where
        the nearest neighbour judges, and the third without y.
    measures : tuple of str
        With labels ``accuracy``, ``balanced_accuracy`` (the mean over classes) and ``f1`` (the mean of the classes' F1) of
        the judge, ``roc_auc`` of two classes, ``clustering`` (k-means on the held-out rows, classes matched to clusters) and
        ``nmi`` (of the same clusters); ``r2`` of numbers; if retrieval is the goal ``map`` and ``recall@5``
        (:func:`lapwing.metrics.retrieval_scores` of held-out queries in the labelled training rows); always
        ``trustworthiness``, ``continuity`` and ``recall`` (:func:`lapwing.metrics.neighborhood_preservation` among at most
        500 of the held-out rows).
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
    classes, labels, targets : ndarray or None
        The names of the classes, and the index into them of each row, -1 where unknown; or the numbers to predict.
    splitter : cross-validator
        What split the rows into folds.
    keys, key_name : ndarray or None, "groups", "time" or None
        What the splitter was told of each row, and what that is.
    folds : list of ndarray
        The rows that each fold held out.
    predictions : dict of (name, dimension) to list of ndarray
        What is predicted for each held-out row whose label is known, one array per fold.
    judges : list of str
        What judged the spaces in each fold, such as ``"logistic regression"``.
    judge : classifier, regressor or None
        The unfitted judge of most folds.
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
    line_to_beat: list[dict[str, Any]]
    majority: list[dict[str, Any]]
    criterion: str
    failures: dict[str, str]
    left_out: dict[str, str]
    leaks: list[Leak]
    warnings: dict[str, list[str]]
    classes: np.ndarray | None
    labels: np.ndarray | None
    targets: np.ndarray | None
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
    _candidates: dict[str, Candidate] = field(repr=False)
    models: dict[str, Any] = field(default_factory=dict)
    embeddings: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)
    spaces: dict[str, np.ndarray] = field(default_factory=dict)
    spectra: dict[str, np.ndarray] = field(default_factory=dict)
    graphs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        """Names of the methods that were scored."""
        return list(self._candidates)

    @property
    def measures(self) -> tuple[str, ...]:
        own = self.baseline[0]
        return tuple(name for name in dict.fromkeys((*MEASURES, *own)) if name in own and name not in KEYS)

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
        ratios = [float(scale.max() / np.median(scale)) for scale in scales if scale is not None]
        return max(ratios) if ratios and max(ratios) > UNITS_RATIO else None

    def summary(self) -> list[dict[str, Any]]:
        """One row per method, the best first.

        ``best_dimension`` has the best mean, ``best_mean``; ``dimension`` is that of :attr:`chosen`. There: the ``mean`` and
        standard error ``se`` of the criterion, the mean of every measure, and ``behind``, ``behind_se``: how far the best
        method is ahead at its best dimension, fold by fold.
        """
        own = {name: self.scores(name) for name in self.methods}
        order = sorted(own, key=lambda name: -own[name].mean(axis=0).max())
        top, rows = own[order[0]][:, own[order[0]].mean(axis=0).argmax()], []
        for name in order:
            dimensions, means = self.dimensions(name), own[name].mean(axis=0)
            best, place = int(means.argmax()), dimensions.index(self.chosen[name])
            behind = top - own[name][:, place]
            rows.append(
                {
                    **{"method": name, "best_dimension": dimensions[best], "best_mean": float(means[best])},
                    **{"best_se": standard_error(own[name][:, best]), "dimension": dimensions[place]},
                    **{"mean": float(means[place]), "se": standard_error(own[name][:, place])},
                    **{key: float(self.scores(name, key)[:, place].mean()) for key in self.measures},
                    **{"behind": float(behind.mean()), "behind_se": standard_error(behind)},
                }
            )
        return rows

    @property
    def best(self) -> dict[str, Any]:
        """The row of :meth:`summary` with the best mean."""
        return self.summary()[0]

    @cached_property
    def chosen(self) -> dict[str, int]:
        """The number of dimensions of each method.

        It is the smallest whose mean is within one standard error of its best (for measures of neighbourhoods, within ten
        points), and for the method of :attr:`choice` the one chosen.
        """
        found = {}
        for name in self.methods:
            scores = self.scores(name)
            means = scores.mean(axis=0)
            level = level_with(means, scores[:, means.argmax()], self.criterion)
            found[name] = self.dimensions(name)[int(level.argmax())]
        return found | dict([self.choice])

    @cached_property
    def choice(self) -> tuple[str, int]:
        """The method and the number of dimensions to use.

        All settings within one standard error of the best are level. Of these, one with as many dimensions as there are
        features is taken only if no other is level. A matrix, which can be exported, comes before a map that needs the
        training rows; then the fewest dimensions count, then the simplest method, then the mean. UMAP, whose models cannot be
        kept without pickle, is never chosen.
        """
        own = {name: candidate.estimator for name, candidate in self._candidates.items()}
        usable = [name for name in own if is_recommendable(own[name])] or list(own)
        scores = {name: self.scores(name) for name in usable}
        best = max(usable, key=lambda name: scores[name].mean(axis=0).max())
        top = scores[best][:, scores[best].mean(axis=0).argmax()]
        level = []
        for name in usable:
            curved, complex_by = complexity(own[name])
            means = scores[name].mean(axis=0)
            settings = zip(self.dimensions(name), means, level_with(means, top, self.criterion), strict=True)
            level += [(curved, d, complex_by, -mean, name) for d, mean, is_level in settings if is_level]
        _, dimension, _, _, method = min([setting for setting in level if setting[1] < self.n_features] or level)
        return method, dimension

    @property
    def reason(self) -> str:
        """Why :attr:`choice` is recommended, in a sentence."""
        rows = {row["method"]: row for row in self.summary()}
        best, (name, dimension) = self.best, self.choice
        curved, _ = complexity(self._candidates[name].estimator)
        own = f"{name} with {dimension} dimension{'s' * (dimension > 1)} ({100 * rows[name]['mean']:.1f} %)"
        if (best["method"], best["best_dimension"]) == (name, dimension):
            return f"{own} has the best score" + (
                "" if curved else ", and its map is linear, so that it can be exported"
            )
        simple = "the fewest dimensions" if curved else "a linear map, which can be exported, and the fewest dimensions"
        top = f"{best['method']} with {best['best_dimension']} ({100 * best['best_mean']:.1f} %)"
        margin = "ten points" if self.criterion in MEASURES[-3:] else "one standard error"
        return f"{own} has {simple} of all that are within {margin} of the best, {top}"

    def confusion(self, method: str, dimension: int | None = None) -> np.ndarray:
        """Counts of shape (n_classes, n_classes), true by predicted, of the judge over all folds."""
        if self.labels is None or self.classes is None:
            raise ValueError("the comparison has no labels (classes in y), so there is no confusion matrix")
        dimension = self.chosen[method] if dimension is None else dimension
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


def scored(
    tried: Mapping[str, Candidate],
    scores: Mapping[str, Sequence[Evaluation]],
    references: Sequence[Reference],
    about: Mapping[str, Any],
) -> Comparison:
    """The scores of methods, each with the dimensions that every fold could score, and why those without any failed."""
    settled, failures, said = {}, {}, {}
    for name, own in tried.items():
        reasons = [found.failures[0] for found in scores[name] if found.failures]
        done = tuple(d for d in own.dimensions if all(d in found.measures for found in scores[name]))
        if not done:
            failures[name] = reasons[-1]
            continue
        told = {text for found in scores[name] for text in found.warnings}
        if len(done) < len(own.dimensions):
            told.add(f"only {', '.join(map(str, done))} dimensions are scored: {reasons[-1]}")
        settled[name] = own._replace(dimensions=done, most=min(own.most, max(done)))
        said[name] = sorted(told)
    _check_some(settled, failures)
    settings = [(name, d) for name, own in settled.items() for d in own.dimensions]
    judges, predicts = [in_words(own.judge) for own in references], references[0].judge is not None
    usual = Counter(judges).most_common(1)[0][0]
    return Comparison(
        records=[
            _record(name, d, i, found.measures[d])
            for name, own in settled.items()
            for i, found in enumerate(scores[name])
            for d in own.dimensions
        ],
        predictions={(name, d): [found.predictions[d] for found in scores[name]] for name, d in settings if predicts},
        warnings=said,
        failures=failures,
        judges=judges,
        judge=references[judges.index(usual)].judge,
        _candidates=settled,
        **_held_to(references, judges, about),
        **about,
    )


def _held_to(references: Sequence[Reference], judges: list[str], about: Mapping[str, Any]) -> dict[str, Any]:
    """What methods are held to, as records."""
    d, numeric = about["n_features"], about["targets"] is not None
    judge = f" + {judges[0]}" if len(set(judges)) == 1 else " + the same judges"
    judge = "" if references[0].judge is None else judge
    linear = [own.linear or {key: own.columns[key] for key in own.always} for own in references]
    parts = {
        "baseline": (f"all columns{judge}", d, [own.columns for own in references]),
        "line_to_beat": (
            f"all columns + {'ridge' if numeric else 'logistic'} regression",
            d,
            linear if any(own.linear for own in references) else [],
        ),
        "majority": (
            f"always the {'mean' if numeric else 'largest class'}",
            0,
            [o.always for o in references if o.always],
        ),
    }
    return {
        key: [_record(name, size, i, found) for i, found in enumerate(scores)]
        for key, (name, size, scores) in parts.items()
    }


def _record(method: str, dimension: int, fold: int, measures: dict[str, float]) -> dict[str, Any]:
    return {"method": method, "dimension": dimension, "fold": fold, **measures}


def _check_some(settled: Mapping[str, Any], failures: Mapping[str, str]) -> None:
    if not settled:
        raise ValueError(f"no method could be fitted: {'; '.join(f'{name}: {why}' for name, why in failures.items())}")


def without(found: Comparison, name: str, why: str) -> Comparison:
    """The comparison without a method that failed on all rows."""
    failures, settled = {**found.failures, name: why}, {**found._candidates}
    del settled[name]
    _check_some(settled, failures)
    records = [record for record in found.records if record["method"] != name]
    return replace(found, records=records, failures=failures, _candidates=settled)


def with_fits(found: Comparison, fits: Mapping[str, Whole]) -> Comparison:
    """The comparison with what each method gives on all rows, and each graph once, with the methods that use its edges."""
    fits, graphs = {name: fits[name] for name in found.methods}, list[dict[str, Any]]()
    for name, fit in fits.items():
        if fit.graph is not None:
            same = [other for other in graphs if np.array_equal(other["degrees"], fit.graph["degrees"])]
            if not same:
                graphs += (same := [{**fit.graph, "methods": []}])
            same[0]["methods"].append(name)
    return replace(
        found,
        models={name: fit.model for name, fit in fits.items()},
        embeddings={name: fit.embeddings for name, fit in fits.items()},
        spaces={name: fit.space for name, fit in fits.items()},
        spectra={name: fit.spectrum for name, fit in fits.items()},
        graphs=graphs,
    )


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
