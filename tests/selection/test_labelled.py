"""Unknown labels in validation: the trap, and the ways out of it."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapwing import LPP
from lapwing.graphs import KNN, SameClass
from lapwing.selection import (
    LabelledSplit,
    SemiSupervised,
    labelled_scorer,
    retrieval_scorer,
)

X, TRUE = (part[:600] for part in load_digits(return_X_y=True))
KNOWN = np.random.RandomState(0).random_sample(600) < 0.2  # one label of five
Y = np.where(KNOWN, TRUE, -1)
SEMI = LPP(8, graph=KNN(5) + SameClass())


class SelfTrainingClassifier(SemiSupervised):
    """Under this name scikit-learn's checks know that -1 is no class, and give classes of 0 and 1."""


@parametrize_with_checks(
    [
        SelfTrainingClassifier(LPP(1)),
        SelfTrainingClassifier(make_pipeline(StandardScaler(), LPP(1, graph=KNN(3) + SameClass()))),
        SelfTrainingClassifier(StandardScaler(), LinearSVC()),
        SelfTrainingClassifier("passthrough", LogisticRegression()),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_the_trap_and_the_way_out():
    """A pipeline that always answers -1 is rewarded for it; the truth is known here."""
    pipeline = make_pipeline(LPP(8), KNeighborsClassifier(5))
    trap = GridSearchCV(pipeline, {"lpp__n_components": [2, 8]}).fit(X, Y)
    truth = np.mean(trap.predict(X[~KNOWN]) == TRUE[~KNOWN])
    assert trap.best_score_ > 0.7
    assert truth < 0.3
    for options in ({}, {"cv": LabelledSplit(3)}, {"scoring": labelled_scorer(), "cv": 3}):
        search = GridSearchCV(SemiSupervised(SEMI), {"reducer__n_components": [2, 8]}, **options).fit(X, Y)
        truth = np.mean(search.predict(X[~KNOWN]) == TRUE[~KNOWN])
        assert truth > 0.8
        assert abs(search.best_score_ - truth) < 0.15  # it was trained with fewer labels


def test_semi_supervised_is_the_parts():
    model = SemiSupervised(SEMI).fit(X, Y)
    Z = clone(SEMI).fit(X, Y).transform(X)
    nearest = KNeighborsClassifier(1).fit(Z[KNOWN], TRUE[KNOWN])
    np.testing.assert_array_equal(model.predict(X), nearest.predict(Z))
    np.testing.assert_array_equal(model.predict_proba(X), nearest.predict_proba(Z))
    np.testing.assert_array_equal(model.classes_, np.arange(10))
    assert model.score(X, Y) == nearest.score(Z[KNOWN], TRUE[KNOWN])
    assert model.score(X, TRUE) == nearest.score(Z, TRUE)
    weights = np.arange(600.0)
    assert model.score(X, TRUE, weights) == nearest.score(Z, TRUE, weights)
    assert not hasattr(SemiSupervised(SEMI, LinearSVC()), "predict_proba")


def test_reducers_that_take_unknown_for_a_class_see_labelled_rows_only():
    model = SemiSupervised(make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(n_components=5))).fit(X, Y)
    expected = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(n_components=5), KNeighborsClassifier(1))
    np.testing.assert_array_equal(model.predict(X), expected.fit(X[KNOWN], Y[KNOWN]).predict(X))
    assert -1 not in model.reducer_[-1].classes_


def test_containers():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = SemiSupervised(SEMI).fit(X, Y).predict(X)
    names = [f"x{i}" for i in range(64)]
    for data in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)):
        model = SemiSupervised(SEMI).fit(data, Y)
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(model.predict(data), expected)
        lda = SemiSupervised(LinearDiscriminantAnalysis()).fit(data, Y)
        assert lda.score(data, Y) == 1.0
    rows = sparse.csr_array(X)
    np.testing.assert_array_equal(SemiSupervised(SEMI).fit(rows, Y).predict(rows), expected)


@pytest.mark.parametrize("cv", [3, KFold(4, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)])
def test_split(cv):
    splitter = LabelledSplit(cv)
    parts = list(splitter.split(X, Y))
    assert len(parts) == splitter.get_n_splits(X, Y) == splitter.get_n_splits(None, Y) == splitter.get_n_splits()
    for train, test in parts:
        assert KNOWN[test].all()
        assert set(np.flatnonzero(~KNOWN)) <= set(train)
        assert not set(train) & set(test)
    if cv == 3:
        assert sorted(np.concatenate([test for _, test in parts])) == np.flatnonzero(KNOWN).tolist()
        assert all(set(TRUE[test]) == set(range(10)) for _, test in parts)  # stratified
    assert repr(LabelledSplit(3)) == "LabelledSplit(cv=3)"


def test_split_keeps_groups_and_the_future_out():
    groups = np.arange(600) // 20
    for train, test in LabelledSplit(GroupKFold(4)).split(X, Y, groups):
        assert not set(groups[train]) & set(groups[test])
        unknown = set(np.flatnonzero(~KNOWN & ~np.isin(groups, groups[test])))
        assert unknown <= set(train)
    for train, test in LabelledSplit(TimeSeriesSplit(4)).split(X, Y):
        assert train.max() < test.min()
        assert set(np.flatnonzero(~KNOWN[: test.min()])) <= set(train)


def test_all_labels_known_is_ordinary_validation():
    model, y = SemiSupervised(SEMI), TRUE
    expected = cross_val_score(make_pipeline(SEMI, KNeighborsClassifier(1)), X, y, cv=3)
    np.testing.assert_array_equal(cross_val_score(model, X, y, cv=LabelledSplit(3)), expected)


def test_scorer():
    model = SemiSupervised(SEMI).fit(X, Y)
    scorer = pickle.loads(pickle.dumps(labelled_scorer("balanced_accuracy")))
    assert scorer(model, X, Y) == balanced_accuracy_score(TRUE[KNOWN], model.predict(X[KNOWN]))
    assert labelled_scorer(lambda model, X, y: len(y))(model, X, Y) == KNOWN.sum()
    with pytest.raises(ValueError, match="no label is known"):
        scorer(model, X[~KNOWN], Y[~KNOWN])
    with pytest.raises(ValueError, match="scoring=3 must be"):
        labelled_scorer(3)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "y should be a 1d array"),
        (np.full(600, -1), "no known label"),
        (np.where(KNOWN, 1, -1), "relabel them as 0 and 1"),
        (np.where(KNOWN, 3, -1), "one class only"),
        (Y[:-1], "y has 599 labels, but X has 600"),
    ],
)
def test_bad_labels(y, match):
    with pytest.raises(ValueError, match=match):
        SemiSupervised(SEMI).fit(X, y)
    with pytest.raises(ValueError, match=r"LabelledSplit.*pass y$" if y is None else match):
        list(LabelledSplit().split(X, y))


def test_bad_folds():
    with pytest.raises(ValueError, match="cv=1 must be a whole number, 2 or more"):
        list(LabelledSplit(1).split(X, Y))


def test_a_search_among_classes_that_were_not_seen():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    model, folds = LPP("auto", graph="supervised"), GroupKFold(3)
    found = cross_val_score(model, X, y, groups=y, cv=folds, scoring=retrieval_scorer)
    for score, (seen, new) in zip(found, folds.split(X, y, y), strict=True):
        assert not set(y[seen]) & set(y[new])
        Z, precisions = clone(model).fit(X[seen], y[seen]).transform(X[new]), []
        for i, label in enumerate(y[new]):
            order = np.argsort(np.linalg.norm(Z - Z[i], axis=1))
            relevant = y[new][order[order != i]] == label
            precisions.append(np.mean([relevant[: j + 1].mean() for j in np.flatnonzero(relevant)]))
        assert score == pytest.approx(np.mean(precisions))
    search = GridSearchCV(LPP(), {"n_components": [1, 8]}, cv=folds, scoring=retrieval_scorer).fit(X, y, groups=y)
    assert search.best_params_ == {"n_components": 8}


def test_a_search_leaves_out_rows_of_unknown_class():
    X, y = load_digits(return_X_y=True)
    X, y = X[:100], y[:100]
    model = LPP(5).fit(X)
    partly = np.where(np.arange(100) % 3, y, -1)
    known = partly >= 0
    assert retrieval_scorer(model, X, partly) == retrieval_scorer(model, X[known], y[known])
    with pytest.raises(ValueError, match="y has fewer than two classes among the rows to score"):
        retrieval_scorer(model, X, np.where(y == 3, 3, -1))
