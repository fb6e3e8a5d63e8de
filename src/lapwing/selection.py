"""Validation by scikit-learn's tools: where some labels are unknown, in the order of time, and of searches.

For lapwing's methods a label of -1 means that the class is unknown. For scikit-learn it is one more class, which a classifier
learns and a score rewards: with few labels a model that always answers -1 seems to be nearly always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import get_scorer, ndcg_score
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, normalize
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._validation import check_count, check_rows, class_codes, count_rows, known_labels, row_blocks, some_rows
from .graphs import Pairs
from .metrics import mean_average_precision
from .reducers import Reducer

__all__ = [
    "LabelledSplit",
    "QuerySplit",
    "SemiSupervised",
    "TimeSplit",
    "labelled_scorer",
    "reducer_of",
    "retrieval_scorer",
    "search_scorer",
    "takes_unknown_for_a_class",
]


def reducer_of(estimator: Any) -> Any:
    """The estimator itself, or the last step of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def takes_unknown_for_a_class(model: Any) -> bool:
    """Whether an estimator, or a step of a pipeline, reads labels and takes -1 for a class, which lapwing's methods do not."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    return any(not isinstance(step, Reducer | str) and get_tags(step).target_tags.required for step in steps)


def _splitter(cv: Any, folds: Any) -> Any:
    """What divides rows: ``cv`` itself, or so many folds of a class."""
    return cv if hasattr(cv, "split") else folds(check_count("cv", cv, 2))


class LabelledSplit(BaseCrossValidator):
    """Folds of the labelled rows; rows of unknown label (-1) take part in every training set and are never scored.

    With ``groups`` they stay out of the training set where a row of their group is scored, and with a
    :class:`~sklearn.model_selection.TimeSeriesSplit` where they come after the first row that is scored.

    Parameters
    ----------
    cv : int or splitter, default=5
        How many stratified folds, not shuffled, or a splitter that divides the labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.selection import LabelledSplit
    >>> y = np.array([0, -1, 1, 0, -1, 1])
    >>> for train, test in LabelledSplit(2).split(np.zeros((6, 2)), y):
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 1 2 4] [3 5]
    """

    def __init__(self, cv: int | BaseCrossValidator = 5):
        self.cv = cv

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to train with and rows to score, fold by fold. Of X only the number of rows matters."""
        if y is None:
            raise ValueError("y=None: LabelledSplit divides the rows whose labels are known; pass y")
        codes = class_codes(y, count_rows(X))[0]
        labelled, unknown = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        groups, splitter = None if groups is None else np.asarray(groups), _splitter(self.cv, StratifiedKFold)
        zeros, of_labelled = np.zeros((len(labelled), 1)), None if groups is None else groups[labelled]
        for train, test in splitter.split(zeros, codes[labelled], of_labelled):
            train, test, others = labelled[train], labelled[test], unknown
            if groups is not None:
                others = unknown[~np.isin(groups[unknown], groups[test])]
            if isinstance(splitter, TimeSeriesSplit):
                others = unknown[unknown < test.min()]
            yield np.sort(np.concatenate([train, others])), test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds of what :meth:`split` takes."""
        if y is None:
            return _splitter(self.cv, StratifiedKFold).get_n_splits()
        return sum(1 for _ in self.split(y, y, groups))


class TimeSplit(BaseCrossValidator):
    """Folds in the order of time: what is scored comes after all that the model was trained with.

    The rows are cut into ``n_splits + 1`` parts of about equal size, by the times of the labelled ones. Each part but the first
    is scored by a model of everything before it, with labels or without. Rows of one time stay together, and rows of unknown
    label (-1) are never scored.

    Parameters
    ----------
    n_splits : int, default=5
        How many folds there are.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.selection import TimeSplit
    >>> year = np.array([2024, 2021, 2023, 2022])
    >>> for train, test in TimeSplit(3).split(np.zeros((4, 2)), groups=year):
    ...     print(year[train], year[test])
    [2021] [2022]
    [2021 2022] [2023]
    [2021 2023 2022] [2024]
    """

    def __init__(self, n_splits: int = 5):
        self.n_splits = n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to train with and rows to score, where ``groups`` are numbers, dates, or texts that sort by time."""
        n_splits = check_count("n_splits", self.n_splits, 2)
        if groups is None:
            raise ValueError("groups=None: TimeSplit needs the time of each row; pass it as groups=")
        times = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        scored = np.ones(len(times), dtype=bool) if y is None else known_labels(y)
        ordered = np.sort(times[scored])
        cuts = [ordered[len(ordered) * part // (n_splits + 1)] for part in range(1, n_splits + 1)]
        if len(set(cuts)) < n_splits or cuts[0] == ordered[0]:
            raise ValueError(
                f"n_splits={n_splits} parts of the time cannot be told apart: there are {len(set(ordered))} different times; "
                "use fewer folds, or times that differ more"
            )
        for start, end in zip(cuts, [*cuts[1:], times.max() + 1], strict=True):
            yield np.flatnonzero(times < start), np.flatnonzero((times >= start) & (times < end) & scored)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits


def labelled_scorer(scoring: str | Callable = "accuracy") -> Callable[..., float]:
    """A scorer that looks at the rows whose labels are known (not -1), for ``scoring=`` of scikit-learn's searches.

    Parameters
    ----------
    scoring : str or callable, default="accuracy"
        The score of those rows, as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from lapwing.selection import labelled_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(1).fit(X, y)
    >>> y[10:] = -1
    >>> model.score(X, y), labelled_scorer()(model, X, y)
    (0.066..., 1.0)
    """
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    if not callable(scorer):
        raise ValueError(f"scoring={scorer!r} must be a name that scikit-learn knows, or a callable")
    return partial(_score_labelled, scorer)  # other processes can be sent it, and not a local function


def _score_labelled(scorer: Callable, estimator: Any, X: Any, y: Any, **options: Any) -> Any:
    known = known_labels(y)
    if not known.any():
        raise ValueError(
            "no label is known (not -1) among the rows to score; split with lapwing.selection.LabelledSplit"
        )
    return scorer(estimator, some_rows(X, known), some_rows(y, known), **options)


def retrieval_scorer(estimator: Any, X: Any, y: Any) -> float:
    """How well rows held out find others of their class among themselves, for ``scoring=`` of scikit-learn.

    The score is the mean average precision (:func:`lapwing.metrics.mean_average_precision`), 1 at best. With the classes as
    groups it tells how well a search works among classes that the estimator has not seen, which no classifier can be asked.

    Parameters
    ----------
    estimator : estimator
        Fitted, with ``transform``.
    X, y : array-like or sparse matrix of shape (n_samples, n_features), and array-like of shape (n_samples,)
        The rows held out and their classes, two or more; rows whose class is unknown (-1) are left out.

    Notes
    -----
    The more classes are searched, the harder it is: compare scores of the same number of folds only, such as 2 or 3, which
    leave many classes to search. ``sklearn.preprocessing.FunctionTransformer()`` as the estimator scores the features as given.

    Examples
    --------
    Learn from five digits and search among the five others, and the other way round.

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> from lapwing import LPP
    >>> from lapwing.selection import retrieval_scorer
    >>> X, y = load_digits(return_X_y=True)
    >>> unseen = {"cv": GroupKFold(2), "groups": y, "scoring": retrieval_scorer}
    >>> cross_val_score(LPP(8), X, y, **unseen).round(2)
    array([0.74, 0.55])
    """
    known = known_labels(y)
    labels = np.asarray(some_rows(y, known))
    if len(np.unique(labels)) < 2:
        raise ValueError(
            "y has fewer than two classes among the rows to score, so that every answer is right; use fewer folds, which hold "
            "out more classes each"
        )
    return mean_average_precision(estimator.transform(some_rows(X, known)), labels)


def _has_probabilities(model: Any) -> bool:
    return hasattr(getattr(model, "classifier_", model.classifier or KNeighborsClassifier), "predict_proba")


class SemiSupervised(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Fits a reducer to all rows, and a classifier to the labelled ones alone.

    In scikit-learn's own :class:`~sklearn.pipeline.Pipeline` -1 is a class, and a grid search rewards a classifier for predicting
    it. Here -1 means that the label is unknown: ``score`` counts labelled rows only, and a reducer that would take -1 for a
    class, such as scikit-learn's LDA, is fitted to these.

    Parameters
    ----------
    reducer : transformer, Pipeline of transformers, or "passthrough"
        What reduces the rows before they are classified. ``"passthrough"`` leaves X as it is.
    classifier : None or classifier, default=None
        What classifies the reduced rows. None is ``KNeighborsClassifier(1, algorithm="brute")``.

    Attributes
    ----------
    reducer_, classifier_ : transformer and classifier
        Both, fitted.
    classes_ : ndarray of shape (n_classes,)
        The known labels.
    n_features_in_, feature_names_in_ : int, ndarray of str
        The number and the names of the features, where the reducer has them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, SameClass
    >>> from lapwing.selection import LabelledSplit, SemiSupervised
    >>> X, y = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(y)) % 10, -1, y)  # nine labels of ten are unknown
    >>> model = SemiSupervised(LPP(graph=KNN(5) + SameClass()))
    >>> search = GridSearchCV(model, {"reducer__n_components": [2, 9]}, cv=LabelledSplit(3)).fit(X, y)
    >>> search.best_params_, bool(search.best_score_ > 0.8)
    ({'reducer__n_components': 9}, True)
    """

    def __init__(self, reducer: BaseEstimator | str, classifier: ClassifierMixin | None = None):
        self.reducer = reducer
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> SemiSupervised:
        """Fit the reducer to all rows, and the classifier to those whose label in y is not -1."""
        check_rows(X)
        y = column_or_1d(y, warn=True)
        codes, names = class_codes(y, count_rows(X))
        known = codes >= 0
        passing = isinstance(self.reducer, str) and self.reducer == "passthrough"
        self.reducer_ = FunctionTransformer(accept_sparse=True) if passing else clone(self.reducer)
        labels = names[codes[known]]
        if not known.all() and takes_unknown_for_a_class(self.reducer_):
            rows = some_rows(X, known)
            Z = self.reducer_.fit(rows, labels).transform(rows)
        else:
            Z = some_rows(self.reducer_.fit(X, y).transform(X), known)
        nearest = KNeighborsClassifier(1, algorithm="brute")  # a model file holds no trees
        self.classifier_ = clone(self.classifier or nearest).fit(Z, labels)
        self.classes_ = self.classifier_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.reducer_, name):
                setattr(self, name, getattr(self.reducer_, name))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The classes of rows, never -1."""
        check_is_fitted(self)
        return self.classifier_.predict(self.reducer_.transform(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, where the classifier has them."""
        check_is_fitted(self)
        return self.classifier_.predict_proba(self.reducer_.transform(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy on the rows whose labels in y are known (not -1)."""
        weight = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[known_labels(y)]}
        return _score_labelled(ClassifierMixin.score, self, X, y, **weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if isinstance(self.reducer, str) else get_tags(self.reducer)
        tags.input_tags.pairwise = inner is not None and inner.input_tags.pairwise
        tags.input_tags.sparse = inner is None or inner.input_tags.sparse
        return tags


class QuerySplit(BaseCrossValidator):
    """Folds of the queries; documents take part in every training set, and are what every fold searches.

    The rows are those of one data frame with queries and documents, whose index names them. With ``groups``, such as the topic
    of each row, the queries of a group are scored together, so that none of them is learnt from.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2), or Pairs
        The names of queries, each with the name of a document that belongs to it. A row that is in the first column is a query,
        and every other row is a document.
    cv : int or splitter, default=5
        How many folds, not shuffled, or a splitter that divides the queries.

    Examples
    --------
    >>> import pandas as pd
    >>> from lapwing.selection import QuerySplit
    >>> X = pd.DataFrame({"x": [0.0, 1, 2, 3]}, index=["question 1", "question 2", "page 1", "page 2"])
    >>> pairs = [("question 1", "page 2"), ("question 2", "page 1")]
    >>> for train, test in QuerySplit(pairs, 2).split(X):
    ...     print(train, test)
    [1 2 3] [0 2 3]
    [0 2 3] [1 2 3]
    """

    def __init__(self, pairs: ArrayLike | Pairs, cv: int | BaseCrossValidator = 5):
        self.pairs = pairs
        self.cv = cv

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to train with and rows to score, fold by fold."""
        asks = _names_of(X, self.pairs)[1]
        queries, documents = np.flatnonzero(asks), np.flatnonzero(~asks)
        splitter = _splitter(self.cv, KFold if groups is None else GroupKFold)
        own = None if groups is None else np.asarray(groups)[queries]
        for train, test in splitter.split(np.zeros((queries.size, 1)), None, own):
            yield np.sort(np.r_[queries[train], documents]), np.sort(np.r_[queries[test], documents])

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return _splitter(self.cv, KFold).get_n_splits(X, y, groups)


def search_scorer(pairs: ArrayLike | Pairs, *, k: int = 10) -> Callable[..., float]:
    """A scorer of how well queries find their documents, for ``scoring=`` of scikit-learn: nDCG at k, 1 at best.

    Each query among the rows to score searches the documents among them, nearest by angle first. A document counts 1, or the
    weight of its pair (:func:`sklearn.metrics.ndcg_score`). Queries whose documents are not among the rows are left out.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2), or Pairs
        The names of queries, each with the name of a document that belongs to it. The rows to score come as a data frame, whose
        index names them.
    k : int, default=10
        How many documents are looked at.

    Examples
    --------
    Pages are to be found by questions, which differ from them in half of the columns. Each fold of the questions is searched for
    among all pages, by directions that pairs of the other questions taught.

    >>> import numpy as np, pandas as pd
    >>> from sklearn.model_selection import GridSearchCV
    >>> from lapwing import RCA
    >>> from lapwing.graphs import Pairs
    >>> from lapwing.selection import QuerySplit, search_scorer
    >>> rng = np.random.RandomState(0)
    >>> pages = rng.randn(200, 8)
    >>> questions = pages + rng.randn(200, 8) * [0.1, 0.1, 0.1, 0.1, 3, 3, 3, 3]
    >>> names = np.array([f"{kind} {i}" for kind in ("question", "page") for i in range(200)])
    >>> X = pd.DataFrame(np.vstack([questions, pages]), index=names)
    >>> pairs = Pairs(names.reshape(2, 200).T, by_id=True)
    >>> judged = {"cv": QuerySplit(pairs), "scoring": search_scorer(pairs)}
    >>> search = GridSearchCV(RCA(4, pairs=pairs), {"ridge": [0.01, 1.0]}, **judged).fit(X)
    >>> search.best_params_, bool(search.best_score_ > 0.9)
    ({'ridge': 0.01}, True)
    """
    return partial(_score_search, pairs, check_count("k", k))  # as labelled_scorer does


def _score_search(pairs: Any, k: int, estimator: Any, X: Any, y: Any = None) -> float:
    names, asks = _names_of(X, pairs)
    Z = normalize(np.asarray(estimator.transform(X), dtype=np.float64))
    query, document = ({name: i for i, name in enumerate(names[part])} for part in (asks, ~asks))
    weights = getattr(pairs, "weights", None)
    listed = getattr(pairs, "must_link", pairs)
    weighed = zip(listed, np.ones(len(listed)) if weights is None else weights, strict=True)
    belongs = [(query[a], document[b], weight) for (a, b), weight in weighed if a in query and b in document]
    if not belongs:
        raise ValueError("no query among the rows to score has a document among them; split with QuerySplit(pairs)")
    rows, columns, values = map(np.array, zip(*belongs, strict=True))
    relevance = sparse.csr_array((values, (rows, columns)), shape=(len(query), len(document)))  # weights add up
    asked, total = np.unique(rows), 0.0
    for part in (asked[some] for some in row_blocks(asked.size, len(document))):
        total += len(part) * ndcg_score(relevance[part].toarray(), Z[asks][part] @ Z[~asks].T, k=k)
    return total / asked.size


def _names_of(X: Any, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The names of the rows, and which of them are queries."""
    if not hasattr(X, "iloc"):
        raise ValueError(
            f"pairs know queries and documents by their names, and X of type {type(X).__name__} has none; pass X as a pandas "
            "data frame whose index holds them"
        )
    names = np.asarray(X.index, dtype=object)
    first = {pair[0] for pair in getattr(pairs, "must_link", pairs)}
    asks = np.array([name in first for name in names], dtype=bool)
    if asks.all() or not asks.any():
        raise ValueError(
            f"X has {asks.sum()} queries of pairs and {(~asks).sum()} documents; both must be among its rows"
        )
    return names, asks
