"""Comparisons against scikit-learn's own cross-validation and measures."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from pickle import PicklingError
from typing import ClassVar

import numpy as np
import outside
import pytest
from joblib import Memory, Parallel
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.manifold import TSNE, Isomap, trustworthiness
from sklearn.metrics import confusion_matrix, normalized_mutual_info_score
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale

from lapwing import LPP, KernelLPP
from lapwing._extras import Progress
from lapwing.comparison import (
    METHODS,
    Comparison,
    Interrupted,
    default_methods,
    left_out,
)
from lapwing.comparison import compare as compared
from lapwing.graphs import KNN, Target
from lapwing.metrics import clustering_accuracy, neighborhood_preservation, retrieval_scores
from lapwing.report._content import program
from lapwing.selection import LabelledSplit, SemiSupervised, TimeSplit

TRIED = [
    *("PCA", "LDA", "LPP", "OLPP", "NPE", "MMC", "LPDP", "LPP + repulsion"),
    *("shrinkage LDA", "LPP + classes", "OLPP + repulsion", "KernelLPP + classes", "kernel PCA + LDA"),
]


def compare(*rows, **options):
    """A comparison by the nearest neighbour, whose scores scikit-learn's cross-validation gives as well."""
    return compared(*rows, **{"judge": "nearest", **options})


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


@pytest.fixture(scope="module")
def found(digits):
    return compare(*digits, methods=TRIED, cv=3, dimensions=[1, 2, 5, 9, 30])


@pytest.mark.parametrize("method", TRIED)
def test_accuracy_is_that_of_cross_validation_at_every_dimension(digits, found, method):
    X, y = digits
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    # At every other one, by turns, so that each is tried with half of the methods.
    for i, d in list(enumerate(found.dimensions(method)))[TRIED.index(method) % 2 :: 2]:
        model = make_pipeline(found.estimator(method, d), KNeighborsClassifier(1))
        np.testing.assert_array_equal(found.scores(method)[:, i], cross_val_score(model, X, y, cv=cv))


def test_clusters_and_confusion(digits, found):
    X, y = digits
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    Z = found.estimator("LPP", 5).fit(X[train], y[train]).transform(X[test])
    clusters = KMeans(10, n_init=4, random_state=0).fit_predict(Z)
    [record] = [r for r in found.records if (r["method"], r["dimension"], r["fold"]) == ("LPP", 5, 0)]
    assert record["clustering"] == pytest.approx(clustering_accuracy(y[test], clusters))
    assert record["nmi"] == pytest.approx(normalized_mutual_info_score(y[test], clusters))
    kept = neighborhood_preservation(X[test], Z)
    assert (record["trustworthiness"], record["continuity"], record["recall"]) == pytest.approx(kept)
    predicted = cross_val_predict(
        make_pipeline(found.estimator("LPP", 5), KNeighborsClassifier(1)), X, y, cv=found.splitter
    )
    np.testing.assert_array_equal(found.confusion("LPP", 5), confusion_matrix(y, predicted))


def test_baseline_is_the_data_as_given(digits, found):
    scores = cross_val_score(KNeighborsClassifier(1), *digits, cv=found.splitter)
    line = found.lines["baseline"]
    assert (line["accuracy"], line["mean"]) == pytest.approx((scores.mean(), scores.mean()))
    assert line["se"] == pytest.approx(scores.std(ddof=1) / np.sqrt(3))
    assert line["recall"] == line["trustworthiness"] == 1


@pytest.mark.parametrize(("n", "k"), [(60, 5), (31, 1), (40, 12)])
def test_neighborhoods_against_scikit_learn(n, k):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 6))
    Z = X[:, :2] + 0.3 * rng.standard_normal((n, 2))
    trust, continuity, recall = neighborhood_preservation(X, Z, n_neighbors=k)
    assert trust == pytest.approx(trustworthiness(X, Z, n_neighbors=k))
    assert continuity == pytest.approx(trustworthiness(Z, X, n_neighbors=k))
    near = [NearestNeighbors(n_neighbors=k).fit(A).kneighbors(return_distance=False) for A in (X, Z)]
    assert recall == pytest.approx(np.mean([np.isin(a, b).mean() for a, b in zip(*near, strict=True)]))


def test_neighborhoods_of_sparse_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    unit = np.abs(X[:50]) / np.linalg.norm(X[:50], axis=1, keepdims=True)
    scaled = sparse.csr_array(unit * rng.uniform(1, 9, (50, 1)))  # cosine does not see the length
    assert neighborhood_preservation(scaled, unit) == (1, 1, 1)


def test_neighborhoods_refuse():
    X = np.eye(6)
    with pytest.raises(ValueError, match="n_neighbors=3 must be less than half of the 6 samples"):
        neighborhood_preservation(X, X, n_neighbors=3)
    with pytest.raises(ValueError, match="Z has 5"):
        neighborhood_preservation(X, X[:5], n_neighbors=1)


def by_hand(scores: dict) -> Comparison:
    """A comparison of given scores: method to (folds, dimensions)."""
    X, y = load_wine(return_X_y=True)
    methods = dict.fromkeys(scores, PCA(svd_solver="full"))
    found = compare(X, y, methods=methods, cv=2, dimensions=[1, 2, 3])
    records = [{**r, "accuracy": scores[r["method"]][r["fold"]][r["dimension"] - 1]} for r in found.records]
    return dataclasses.replace(found, records=records)


def test_one_standard_error_and_the_choice():
    # B: means 0.5, 0.85, 0.9, and the standard error of the last is 0.1 / sqrt(2) / sqrt(2) = 0.05
    found = by_hand({"A": [[0.7, 0.8, 0.8], [0.7, 0.8, 0.84]], "B": [[0.5, 0.85, 0.85], [0.5, 0.86, 0.95]]})
    best, other = found.summary()
    assert (best["method"], best["best_dimension"], best["dimension"]) == ("B", 3, 2)
    assert best["best_mean"] == pytest.approx(0.9)
    assert best["best_se"] == pytest.approx(0.05)
    assert best["mean"] == pytest.approx(0.855)
    assert (other["best_dimension"], other["dimension"]) == (3, 2)
    assert other["behind"] == pytest.approx(0.1)  # 0.05 and 0.15, fold by fold, against B's best
    assert other["behind_se"] == pytest.approx(0.05)
    assert found.choice == ("B", 2)
    # a setting of another method, worse but within one standard error, and with fewer dimensions
    found = by_hand({"A": [[0.86, 0.8, 0.8], [0.86, 0.8, 0.8]], "B": [[0.5, 0.85, 0.85], [0.5, 0.86, 0.95]]})
    assert found.best["method"] == "B"
    assert found.choice == ("A", 1)


def test_models_and_embeddings_are_of_all_data(digits, found):
    X, y = digits
    for row in found.summary():
        method, d = row["method"], row["dimension"]
        Z = found.estimator(method).fit(X, y).transform(X)
        assert Z.shape[1] == d
        np.testing.assert_allclose(found.models[method].transform(X), Z, atol=1e-8)
        axes = Z if d >= 3 else found.estimator(method, min(3, found.dimensions(method)[-1])).fit(X, y).transform(X)
        np.testing.assert_allclose(found.embeddings[method], axes[:, :3], atol=1e-8)


def test_n_jobs_does_not_matter(digits, found):
    again = compare(*digits, methods=["PCA", "LPP"], cv=3, dimensions=[1, 2, 5, 9, 30], n_jobs=2)
    assert again.records == [record for record in found.records if record["method"] in ("PCA", "LPP")]
    np.testing.assert_array_equal(again.models["LPP"].components_, found.models["LPP"].components_)


def test_without_labels(digits):
    X, _ = digits
    found = compare(X, cv=3, methods=["PCA", "LPP"], dimensions=[2, 8])
    assert found.criterion == "recall"
    assert found.measures == ("trustworthiness", "continuity", "recall")
    assert set(found.records[0]) == {"method", "dimension", "fold", *found.measures}
    with pytest.raises(ValueError, match="no labels"):
        found.confusion("PCA")
    assert list(default_methods(X)) == ["PCA", "LPP", "OLPP", "NPE", "ONPP"]


def test_labels_of_any_kind_and_unknown_ones():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    words = np.array(["red", "white", "rosé"])[y]
    named = compare(X, words, methods=["LDA", "MMC"], dimensions=[1, 2], cv=3)
    assert list(named.classes) == ["red", "rosé", "white"]
    assert named.confusion("LDA").sum() == 178
    partly = np.where(np.arange(178) % 4 == 0, -1, y)
    found = compare(X, partly, methods=["LDA", "LPP"], dimensions=[1, 2], cv=3)
    cv, known = LabelledSplit(StratifiedKFold(3, shuffle=True, random_state=0)), partly >= 0
    train, test = next(cv.split(X, partly))
    assert known[test].all()
    lda = found.estimator("LDA", 2).fit(X[train][known[train]], y[train][known[train]])
    lpp = found.estimator("LPP", 2).fit(X[train])
    for method, model in (("LDA", lda), ("LPP", lpp)):
        nearest = KNeighborsClassifier(1).fit(model.transform(X[train][known[train]]), y[train][known[train]])
        score = nearest.score(model.transform(X[test][known[test]]), y[test][known[test]])
        assert found.scores(method)[0, 1] == score


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_labels_spread_where_more_than_half_are_missing(digits, kind):
    X, y = digits
    spreading = {"LPP + spread labels", "KernelLPP + spread labels"}
    few, many = (np.where(np.arange(400) % 10 < known, y, -1) for known in (4, 6))
    assert spreading <= set(default_methods(kind(X), few))
    assert not spreading & {*default_methods(kind(X), many), *default_methods(kind(X), y), *default_methods(kind(X))}
    found = compare(kind(X), few, methods=["LPP + spread labels"], cv=3)
    assert found.dimensions("LPP + spread labels") == [1, 2, 3, 5, 8, 9]  # classes alone have no tenth direction
    d = found.best["dimension"]
    model = SemiSupervised(found.estimator("LPP + spread labels", d))
    expected = cross_val_score(model, kind(X), few, cv=found.splitter)
    np.testing.assert_allclose(
        found.scores("LPP + spread labels")[:, found.dimensions("LPP + spread labels").index(d)], expected
    )


def test_sparse_rows_stay_sparse():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = sparse.random(120, 300, 0.05, random_state=0, format="lil")
    for k in range(3):
        X[y == k, 20 * k : 20 * (k + 1)] = rng.random((40, 20)) * (rng.random((40, 20)) < 0.4)
    found = compare(sparse.csr_array(X), y, cv=3, dimensions=[2, 5])
    assert found.methods == ["TruncatedSVD", "LPP", "LPI", "NPE", "MMC", "LPDP"]
    assert found.best["accuracy"] > 0.8
    signed = sparse.csr_array(X) * -1.0
    assert "LPI" not in default_methods(signed, y)  # terms have no negative weights


def test_wide_data_and_a_rank_that_limits():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = rng.standard_normal((45, 70)) + 2 * rng.standard_normal((3, 70))[y]
    found = compare(X, y, cv=3)
    assert not found.failures
    assert found.dimensions("PCA") == [1, 2, 3, 5, 8, 13, 21, 25, 29]  # 30 training rows about their mean
    assert found.dimensions("LDA") == [1, 2]
    with pytest.raises(ValueError, match=r"up to 29, the rank of the smallest training fold"):
        compare(X, y, cv=3, dimensions=[2, 30])


def test_pipelines_kernels_and_splitters(digits):
    X, y = digits[0][:150], digits[1][:150]
    methods = {"scaled": make_pipeline(StandardScaler(), LPP(pca=0.9)), "kernel": KernelLPP()}
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=1)
    found = compare(X, y, methods=methods, dimensions=[1, 3], cv=cv)
    for method in methods:
        scores = cross_val_score(make_pipeline(found.estimator(method, 3), KNeighborsClassifier(1)), X, y, cv=cv)
        np.testing.assert_array_equal(found.scores(method)[:, 1], scores)
    assert found.confusion("kernel").sum() == 300


class Stubborn(BaseEstimator):
    """A reducer that refuses to fit."""

    def __init__(self, error=ValueError, n_components=2):
        self.error, self.n_components = error, n_components

    def fit(self, X, y=None):
        raise self.error("not today")

    def transform(self, X):
        return X


def test_a_method_that_fails_does_not_take_the_others_with_it(digits):
    found = compare(*digits, methods={"PCA": METHODS["PCA"], "stubborn": Stubborn()}, dimensions=[2], cv=2)
    assert found.methods == ["PCA"]
    assert found.failures == {"stubborn": "not today"}
    with pytest.raises(ValueError, match="no method could be fitted: stubborn: not today"):
        compare(*digits, methods={"stubborn": Stubborn()}, dimensions=[2], cv=2)


@pytest.mark.filterwarnings("ignore::lapwing.comparison.LeakWarning")  # these few rows are made so
def test_whatever_a_method_raises_it_alone_is_left_out():
    X, y = np.repeat(np.eye(6), 8, axis=0), np.repeat(np.arange(6), 8)  # no scatter within a class
    methods = {"PCA": METHODS["PCA"], "LDA": METHODS["LDA"], "stubborn": Stubborn(IndexError)}
    found = compare(X, y, methods=methods, dimensions=[1, 2], cv=2)
    assert found.methods == ["PCA"]
    assert found.failures["stubborn"] == "IndexError: not today"
    assert found.failures["LDA"]  # which error, depends on the SciPy
    words = sparse.random(60, 30, 0.3, random_state=0, format="csr")
    found = compare(words, np.arange(60) % 3, methods=["PCA", "LPP", "LDA"], dimensions=[2], cv=2)
    assert found.methods == ["PCA", "LPP"]
    assert found.failures["LDA"].startswith("TypeError: Sparse data was passed")


class Stopping(PCA):
    """PCA that has no room for more than two components."""

    def fit(self, X, y=None):
        if self.n_components > 2:
            raise MemoryError("no room")
        return super().fit(X)


def test_an_error_that_leaves_dimensions_without_scores_is_told(digits):
    found = compare(*digits, methods={"mine": Stopping()}, dimensions=[1, 2, 3], cv=2, judge="nearest")
    assert found.dimensions("mine") == [1, 2]
    assert found.warnings["mine"] == ["it has no scores with 3 dimensions: MemoryError: no room"]


class OnlyInFolds(PCA):
    """PCA that fails on all data."""

    def fit(self, X, y=None):
        if len(X) == 400:
            raise RuntimeError("too many rows")
        return super().fit(X)


def test_models_have_the_dimensions_that_are_chosen_where_the_first_choice_fails(digits):
    methods = {"partly": OnlyInFolds(), "PCA": PCA(svd_solver="full"), "LPP": LPP()}
    found = compare(*digits, methods=methods, dimensions=[5, 9, 20], cv=3)
    assert list(found.failures) == ["partly"]
    for row in found.summary():
        assert found.models[row["method"]].n_components == row["dimension"] == found.spaces[row["method"]].shape[1]


@pytest.mark.filterwarnings("ignore::lapwing.comparison.LeakWarning")
def test_a_method_with_fewer_directions_than_asked_for_is_clipped_without_a_word():
    X, y = load_digits(n_class=2, return_X_y=True)
    found = compare(X, y, methods=["PCA", "MFA"], dimensions=[2, 50], cv=3)
    assert (found.failures, found.warnings["MFA"], found.dimensions("MFA")) == ({}, [], [2])
    assert found.models["MFA"].components_.shape[0] == 2 < 50 == found.dimensions("PCA")[-1]
    found = compare(X, y, methods=["PCA", "MFA"], dimensions=[50], cv=3)
    assert (found.methods, list(found.failures)) == (["PCA"], ["MFA"])


def test_copies_in_two_classes_are_what_leaves_no_direction():
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[30:] = X[:30]
    y = np.repeat([0, 1], 30)
    with pytest.raises(ValueError, match=r"^no direction is left: penalty= links equal samples only"):
        clone(METHODS["MFA"]).fit(X, y)
    with pytest.raises(ValueError, match=r"^X is constant"):
        clone(METHODS["LPP + classes"]).fit(np.ones((60, 4)), y)


class Noisy(PCA):
    """PCA that warns in each fold, of another number each time."""

    def fit(self, X, y=None):
        warnings.warn(
            f"solved it less well than to 1e-06 (residual {X.sum():.3g}); use fewer", UserWarning, stacklevel=2
        )
        return super().fit(X)


def test_warnings_that_differ_in_their_numbers_are_one(digits):
    found = compare(*digits, methods={"noisy": Noisy()}, dimensions=[2, 3], cv=3)
    (text,) = found.warnings["noisy"]
    assert text.startswith("solved it less well than to 1e-06 (residual ")


def test_methods_that_need_labels_are_left_out_without_them(digits):
    found = compare(digits[0], methods=["PCA", "MMC", "LDA", "LPP + repulsion"], dimensions=[2], cv=2)
    assert found.methods == ["PCA"]
    assert "y is None" in found.failures["LPP + repulsion"]


def test_a_method_that_fails_on_all_data_is_left_out(digits):
    found = compare(*digits, methods={"partly": OnlyInFolds(), "PCA": METHODS["PCA"]}, dimensions=[2], cv=2)
    assert found.methods == list(found.models) == ["PCA"]
    assert found.failures == {"partly": "RuntimeError: too many rows"}
    assert {record["method"] for record in found.records} == {"PCA"}
    with pytest.raises(ValueError, match="no method could be fitted: partly: RuntimeError: too many rows"):
        compare(*digits, methods={"partly": OnlyInFolds()}, dimensions=[2], cv=2)


def test_indices_of_64_bits():
    X = sparse.csr_array(sparse.random(60, 30, 0.3, random_state=0, format="csr"))
    y, settings = np.arange(60) % 3, {"methods": ["TruncatedSVD", "LPP", "MMC"], "dimensions": [2, 3], "cv": 2}
    expected = compare(X, y, **settings)
    long = X.copy()
    long.indices, long.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert compare(long, y, **settings).records == expected.records
    assert long.indices.dtype == long.indptr.dtype == np.int64


def test_a_training_fold_that_does_not_vary():
    X = np.r_[np.random.default_rng(0).standard_normal((20, 3)), np.ones((20, 3))]
    with pytest.raises(ValueError, match="the training rows of fold 1 are all equal"):
        compare(X, methods=["PCA", "LPP"], cv=KFold(2))
    with pytest.raises(ValueError, match="are all equal"):
        compare(np.ones((20, 3)), methods=["PCA"], cv=2)


@pytest.mark.parametrize("y", ["array", "objects", "series"])
def test_unknown_text_labels_of_any_container(y):
    X, codes = load_wine(return_X_y=True)
    codes = np.where(np.arange(178) % 4 == 0, -1, codes)
    words = np.where(codes < 0, "-1", np.array(["a", "b", "c"])[codes])
    if y == "objects":
        words = words.astype(object)
    elif y == "series":
        words = pytest.importorskip("pandas").Series(words, dtype=object)
    found = compare(X, words, methods=["PCA"], dimensions=[2], cv=2)
    np.testing.assert_array_equal(found.labels, codes)
    assert list(found.classes) == ["a", "b", "c"]
    assert words[0] == "-1"  # what was given is not written to


@pytest.mark.parametrize(
    ("n_jobs", "small", "expected"), [(-1, 1e9, 1), (-1, 0, -1), (2, 1e9, 2), (None, 1e9, None), (-2, 1e9, 1)]
)
def test_small_data_are_compared_in_one_process_unless_told(digits, monkeypatch, n_jobs, small, expected):
    asked = []

    class Watched(Parallel):
        def __init__(self, n_jobs=None, **options):
            asked.append(n_jobs)
            super().__init__(n_jobs=1, **options)

    monkeypatch.setattr("lapwing.comparison._run.Parallel", Watched)
    monkeypatch.setattr("lapwing.comparison._run.SMALL", small)
    compare(*digits, methods=["PCA"], dimensions=[2], cv=2, n_jobs=n_jobs)
    assert asked == [expected]


def test_warnings_are_kept_not_shown():
    y = np.arange(200) % 3
    X = np.random.default_rng(0).standard_normal((200, 5)) + 100 * np.eye(5)[y]
    found = compare(X, y, methods=["LPP + repulsion"], dimensions=[2], cv=2)  # no stranger is near
    assert "the repulsion graph is empty" in found.warnings["LPP + repulsion"][0]


def test_progress(digits, monkeypatch):
    seen = []

    class Line(Progress):
        def __call__(self, *step):
            seen.append(step)

    monkeypatch.setattr("lapwing.comparison._run.Progress", Line)
    compare(*digits, methods=["PCA"], dimensions=[2, 3], cv=2)
    parts = ["all columns: fold 1", "all columns: fold 2", "PCA: fold 1", "PCA: fold 2", "PCA: all data"]
    assert seen == list(enumerate(parts))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv=1 must be a whole number, 2 or more"),
        ({"cv": 60}, "^cv=60 folds need 60 rows or more of each class: .* has .*; use fewer folds"),
        ({"y": np.arange(400.0)}, r"of each class: .* has 1, \.\.\.; use .* if y holds quantities, say scoring=\"r2\""),
        ({"dimensions": []}, "must be increasing"),
        ({"dimensions": [3, 2]}, "must be increasing"),
        ({"dimensions": [0]}, "dimensions=0 must be a whole number"),
        ({"dimensions": [200]}, "increasing .* rank"),
        ({"methods": []}, r"methods=\[\] must be a mapping"),
        ({"methods": ["LPQ"]}, r"methods=\['LPQ'\] are not known; choose from PCA"),
        ({"methods": "LPP"}, "must be a mapping"),
        ({"methods": {"t-SNE": TSNE()}}, "transform, for held-out rows"),
        ({"random_state": None}, "random_state=None"),
        ({"y": np.zeros(400)}, "one class only"),
    ],
)
def test_bad_input(digits, change, message):
    X, y = digits
    with pytest.raises(ValueError, match=message):
        compare(X, change.pop("y", y), **change)


def test_a_method_that_was_not_compared(digits):
    with pytest.raises(ValueError, match="method='LDA' was not compared; there are PCA"):
        compare(*digits, methods=["PCA"], dimensions=[2], cv=2).scores("LDA")


def test_estimators_from_outside(digits):
    X, y = digits[0][:150], digits[1][:150]
    methods = {
        "mine": outside.TimeLPP(graph=KNN(4) + outside.Chain(2)),
        "kernel": outside.TimeKernel(),
        "free": outside.TimeMaps(),
        "stubborn": outside.Stubborn(),
        "PCA": PCA(svd_solver="full"),
    }
    found = compare(X, y, methods=methods, dimensions=[2, 3], cv=2)
    assert not found.failures
    for method in methods:
        model = make_pipeline(found.estimator(method, 3), KNeighborsClassifier(1))
        np.testing.assert_array_equal(found.scores(method)[:, 1], cross_val_score(model, X, y, cv=found.splitter))


class Doubled(LPP):
    """A linear method with a fit of its own."""

    def fit(self, X, y=None):
        return super().fit(np.hstack([X, X**2]), y)

    def transform(self, X):
        return super().transform(np.hstack([X, X**2]))


def test_a_fit_of_its_own_is_called(digits):
    X, y = digits
    found = compare(X, y, methods={"LPP": LPP(), "doubled": Doubled()}, dimensions=[2, 5], cv=2)
    model = make_pipeline(found.estimator("doubled", 5), KNeighborsClassifier(1))
    np.testing.assert_array_equal(found.scores("doubled")[:, 1], cross_val_score(model, X, y, cv=found.splitter))


def test_bad_parameters_of_a_method_are_its_failure(digits):
    found = compare(*digits, methods={"PCA": METHODS["PCA"], "LPP": LPP(center="magic")}, dimensions=[2], cv=2)
    assert "center='magic' must be one of" in found.failures["LPP"]


def test_both_runs_are_in_one_context(digits, monkeypatch):
    """Two runs of one Parallel outside ``with`` release X's file twice, and joblib's tracker prints a KeyError."""
    events = []

    class Watched(Parallel):
        def __enter__(self):
            events.append("enter")
            return super().__enter__()

        def __call__(self, tasks):
            events.append("run")
            return super().__call__(tasks)

        def __exit__(self, *error):
            events.append("exit")
            return super().__exit__(*error)

    monkeypatch.setattr("lapwing.comparison._run.Parallel", Watched)
    compare(*digits, methods=["PCA"], dimensions=[2], cv=2)
    assert events == ["enter", "run", "run", "run", "exit"]


# What is honest, and what is recommended


@pytest.fixture(scope="module")
def unequal():
    """Two classes, of which the second has 15 % and is hard to tell."""
    rng = np.random.RandomState(0)
    y = (rng.random_sample(300) < 0.15).astype(int)
    return rng.standard_normal((300, 6)) + 0.6 * y[:, None], np.array(["no", "yes"])[y]


def test_unequal_classes_are_judged_by_the_mean_over_classes(unequal):
    X, y = unequal
    found = compare(X, y, methods=["PCA", "LDA"], dimensions=[1, 2], cv=3)
    assert found.criterion == "balanced_accuracy"
    assert found.is_unequal
    for measure, scoring in [("accuracy", "accuracy"), ("balanced_accuracy",) * 2, ("f1", "f1_macro")]:
        model = make_pipeline(found.estimator("PCA", 2), KNeighborsClassifier(1))
        expected = cross_val_score(model, X, y, cv=found.splitter, scoring=scoring)
        np.testing.assert_allclose(found.scores("PCA", measure)[:, 1], expected)
    share = np.mean([np.mean(y[fold] == "no") for fold in found.folds])
    majority = found.lines["majority"]
    assert (majority["accuracy"], majority["balanced_accuracy"]) == pytest.approx((share, 0.5))
    assert found.best["accuracy"] < share  # which is why the accuracy does not lead
    assert compare(X, y, methods=["PCA"], dimensions=[1], cv=3, scoring="accuracy").criterion == "accuracy"


def test_retrieval_and_clustering_as_goals(digits):
    X, y = digits
    found = compare(X, y, methods=["PCA", "LDA"], dimensions=[2, 5], cv=2, scoring="retrieval")
    assert found.criterion == "map"
    train, test = next(found.splitter.split(X, y))
    model = found.estimator("LDA", 5).fit(X[train], y[train])
    expected = retrieval_scores(model.transform(X[test]), y[test], model.transform(X[train]), y[train])
    [record] = [r for r in found.records if (r["method"], r["dimension"], r["fold"]) == ("LDA", 5, 0)]
    assert (record["map"], record["recall@5"]) == pytest.approx(expected)
    clusters = compare(X, y, methods=["PCA"], dimensions=[2], cv=2, scoring="clustering")
    assert (clusters.criterion, "map" in clusters.measures) == ("nmi", False)
    with pytest.raises(ValueError, match=r"scoring='mse' must be a goal \(classification, retrieval"):
        compare(X, y, scoring="mse")
    with pytest.raises(ValueError, match=r"folds need 2 groups .*never seen, see lapwing\.selection\.retrieval_scorer"):
        compare(X, y, methods=["PCA"], scoring="retrieval", groups=y)
    with pytest.raises(ValueError, match="scoring='retrieval': it needs labels"):
        compare(X, scoring="retrieval")


def test_groups_are_held_out_together(digits):
    X, y = digits
    groups = np.arange(400) // 10
    found = compare(X, y, methods=["PCA", "LPP"], dimensions=[2, 5], cv=3, groups=groups)
    for fold in found.folds:
        assert not set(groups[fold]) & set(groups[np.setdiff1d(np.arange(400), fold)])
    model = make_pipeline(found.estimator("LPP", 5), KNeighborsClassifier(1))
    expected = cross_val_score(model, X, y, groups=groups, cv=found.splitter)
    np.testing.assert_array_equal(found.scores("LPP")[:, 1], expected)
    assert compare(X, methods=["PCA"], dimensions=[2], cv=3, groups=groups).key_name == "groups"
    partly = np.where(np.arange(400) % 2, y, -1)
    semi = compare(X, partly, methods=["LPP + classes"], dimensions=[5], cv=3, groups=groups)
    expected = cross_val_score(
        SemiSupervised(semi.estimator("LPP + classes", 5)), X, partly, groups=groups, cv=semi.splitter
    )
    np.testing.assert_array_equal(semi.scores("LPP + classes", "accuracy")[:, 0], expected)
    assert semi.estimator("LPP + classes").graph == "semi"  # rows without labels take part


def test_the_future_is_not_known(digits):
    X, y = digits
    times = np.random.RandomState(0).permutation(400)
    found = compare(X, y, methods=["PCA"], dimensions=[2, 5], cv=3, time=times)
    assert isinstance(found.splitter, TimeSplit)
    parts = list(found.splitter.split(X, y, times))
    assert all(times[train].max() < times[test].min() for train, test in parts)
    assert [len(test) for _, test in parts] == [100] * 3
    model = make_pipeline(found.estimator("PCA", 5), KNeighborsClassifier(1))
    np.testing.assert_array_equal(
        found.scores("PCA")[:, 1], cross_val_score(model, X, y, groups=times, cv=TimeSplit(3))
    )
    with pytest.raises(ValueError, match="give one of them"):
        compare(X, y, time=times, groups=times)
    with pytest.raises(ValueError, match="parts of the time cannot be told apart"):
        compare(X, y, time=np.zeros(400))
    with pytest.raises(ValueError, match="time must have one value for each of the 400 rows"):
        compare(X, y, time=[1, 2, 3])
    with pytest.raises(ValueError, match=r"groups must have .* and none that is missing"):
        compare(X, y, groups=np.where(np.arange(400) == 7, np.nan, 1.0))


def test_of_level_methods_the_simplest_is_chosen():
    """Where all are right PCA is: it needs neither labels nor a graph."""
    rng = np.random.RandomState(0)
    y = np.arange(120) % 3
    X = rng.standard_normal((120, 20)) + 9 * np.eye(20)[y]
    found = compare(X, y, methods=["LPDP", "KernelLPP + classes", "LDA", "MMC", "PCA"], dimensions=[2, 5], cv=3)
    assert {row["best_mean"] for row in found.summary()} == {1.0}
    assert found.choice == ("PCA", 2)


def test_all_features_are_recommended_only_if_nothing_less_is_as_good():
    wine = StandardScaler().fit_transform(load_wine().data)
    found = compare(wine, methods=["PCA", "LPP"], cv=3)
    assert found.scores("PCA").mean(axis=0)[-1] == 1.0  # as many dimensions as features keep every neighbour
    method, d = found.choice
    assert d < 13
    assert found.scores(method).mean(axis=0)[found.dimensions(method).index(d)] >= 0.9
    rng = np.random.RandomState(0)
    y = np.arange(200) % 4
    X = rng.standard_normal((200, 2)) + 4 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[y]
    assert compare(X, y, methods=["PCA"], cv=3).choice == ("PCA", 2)  # one of two axes is not enough here


def test_what_readme_recommends_is_known(digits):
    X, y = digits
    known = default_methods(X, y)
    assert {"KernelLPP + classes", "LPP + classes", "OLPP + repulsion", "MFA", "NCA"} <= set(known)
    assert {"kernel PCA + LDA", "shrinkage LDA", "MMC", "PCA", "LDA"} <= set(known)
    many = np.zeros((6000, 3))
    assert set(left_out(many, np.arange(6000) % 2)) >= {"NCA", "kernel PCA + LDA"}
    assert not {"NCA", "kernel PCA + LDA"} & set(default_methods(many, np.arange(6000) % 2))
    assert default_methods(many, np.arange(6000) % 2)["KernelLPP + classes"].landmarks == 1000
    found = compare(X[:150], y[:150], methods=["NCA"], cv=2)
    assert len(found.dimensions("NCA")) == 3  # it is fitted anew for each


def test_a_method_that_would_take_an_hour_on_so_many_columns_is_left_out():
    photographs, people = np.zeros((60, 10_304)), np.arange(60) % 3
    assert left_out(photographs, people) == {
        "shrinkage LDA": "slow on 10,304 columns (it is tried unasked up to 3,000)"
    }
    assert "shrinkage LDA" not in default_methods(photographs, people)


def test_a_comparison_is_printed_as_a_few_lines(digits):
    X, y = digits
    found = compare(X[:150], y[:150], methods=["PCA", "LDA"], cv=2)
    first, titles, *rows = repr(found).splitlines()
    assert (first, titles) == (found.reason, "method, dimensions: accuracy %")
    assert [row.split(",")[0] for row in rows[:2]] == [row["method"] for row in found.summary()]
    assert rows[0].endswith(f"{100 * found.summary()[0]['mean']:.1f} ± {100 * found.summary()[0]['se']:.1f}")


def test_columns_in_different_units_are_said_once():
    X, y = load_wine(return_X_y=True)
    found = compare(X, y, methods=["PCA", "LPP", "OLPP", "LPP + classes"], dimensions=[2], cv=3)
    assert found.units == pytest.approx(388, abs=1)
    assert not any(found.warnings.values())
    best = {row["method"]: row["best_mean"] for row in found.summary()}
    assert best["PCA"] < 0.8 < 0.9 < min(best["LPP"], best["OLPP"], best["LPP + classes"])
    assert compare(X / X.std(axis=0), y, methods=["LPP", "LPP + classes"], dimensions=[2], cv=3).units is None


def test_preparation_is_learnt_inside_the_folds(digits):
    """Scores are those of a pipeline in scikit-learn's cross-validation, which scaling all rows first does not give."""
    X, y = digits
    X, y = X[:120] ** 3, y[:120]
    found = compare(X, y, methods=["PCA"], dimensions=[3, 9], cv=3, prepare=Watched())
    for d, scores in zip([3, 9], found.scores("PCA").T, strict=True):
        model = make_pipeline(StandardScaler(), PCA(d, svd_solver="full"), KNeighborsClassifier(1))
        np.testing.assert_allclose(scores, cross_val_score(model, X, y, cv=found.splitter))
    assert set(Watched.seen) == {120, 80}
    np.testing.assert_allclose(found.X, StandardScaler().fit_transform(X))


class Watched(StandardScaler):
    seen: ClassVar[list] = []

    def fit(self, X, y=None):
        assert y is None
        self.seen.append(len(X))
        return super().fit(X)


@pytest.mark.filterwarnings("ignore::lapwing.comparison.LeakWarning")  # these few rows are made so
def test_categories_and_gaps_that_a_fold_does_not_have():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], 30)
    X = np.empty((60, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = 3 * y + rng.randn(60), [f"c{i % 3}" for i in range(60)], np.nan
    X[7, 1], X[5, 2] = "once", 1.0  # of one fold alone
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    found = compare(
        X, y, methods=["PCA", "LDA"], cv=3, prepare=ColumnTransformer([("n", numbers, [0, 2]), ("t", encoder, [1])])
    )
    assert found.X.shape == (60, 6)
    assert not found.failures
    assert found.best["best_mean"] > 0.8
    names = {"X": X, "y": y}
    names["preparation"] = found.prepare
    exec(program(found, "LDA"), names)
    assert names["scores"].mean() == pytest.approx(next(r["mean"] for r in found.summary() if r["method"] == "LDA"))


def test_a_class_graph_has_one_dimension_less_than_classes():
    X, y = load_wine(return_X_y=True)
    found = compare(X, y, methods=["LPP + classes", "KernelLPP + classes", "LPP"], dimensions=[1, 2, 5], cv=3)
    assert found.dimensions("LPP + classes") == found.dimensions("KernelLPP + classes") == [1, 2]
    assert found.dimensions("LPP") == [1, 2, 5]
    assert not any(found.warnings.values())


def test_methods_that_need_the_training_rows_are_not_called_linear():
    found = compare(*load_iris(return_X_y=True), methods={"near": Isomap(n_neighbors=60)}, dimensions=[2], cv=2)
    assert found.reason.startswith("near with 2 dimensions (")
    assert found.reason.endswith("has the best score")


def test_slow_methods_of_others_try_each_number_once():
    """Of four numbers, three places spread between the ends are two."""
    found = compare(*load_iris(return_X_y=True), methods=["NCA"], judge="nearest", cv=2)
    assert found.dimensions("NCA") == [2, 3]
    assert found.scores("NCA").shape == (2, 2)


def test_numbers_to_predict():
    X, y = load_diabetes(return_X_y=True)
    found = compared(X, y, methods=["PCA", "LPP + targets"], dimensions=[1, 3], cv=3, scoring="r2", judge="logistic")
    assert (found.criterion, found.classes, found.labels) == ("r2", None, None)
    assert set(found.judges) == {"ridge regression"}
    for name in found.methods:
        model = make_pipeline(found.estimator(name, 3), found.judge)
        expected = cross_val_score(model, X, y, cv=found.splitter, scoring="r2")
        np.testing.assert_allclose(found.scores(name)[:, 1], expected, rtol=1e-6)
    assert found.lines["baseline"]["method"] == "all columns + ridge regression"
    assert "line_to_beat" not in found.lines
    assert found.lines["majority"]["r2"] <= 0
    fractions = compared(X, np.log(y), methods=["LPP"], dimensions=[2], cv=2)
    assert (fractions.criterion, "accuracy" in fractions.measures) == ("r2", False)
    assert "LPP + targets" in default_methods(X, y)
    with pytest.raises(ValueError, match="scoring='f1': y holds numbers to predict"):
        compared(X, np.log(y), scoring="f1")
    with pytest.raises(ValueError, match="Input y contains NaN"):
        compared(X, np.where(y > 300, np.nan, np.log(y)))


def test_classes_are_no_targets():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=r"methods\['t'\]=.* reads y as numbers, and here y names classes"):
        compare(X, y, methods={"t": LPP(2, graph=KNN(5) + Target(5))})


def test_kernel_methods_and_free_maps_are_known_by_name():
    X, y = load_wine(return_X_y=True)
    names = ["KernelLDA", "KernelLFDA", "KernelNPE", "DiffusionMaps", "LaplacianEigenmaps", "GLPCA"]
    found = compare(scale(X), y, methods=names, dimensions=[1, 2, 5], cv=3)
    assert not found.failures
    assert not any(found.warnings.values())
    assert found.dimensions("KernelLDA") == [1, 2]
    assert {row["method"] for row in found.summary() if row["mean"] > 0.9} >= {"KernelLDA", "DiffusionMaps"}


# Going on where a comparison was stopped


class Counted(PCA):
    """PCA whose fits are counted, and which is interrupted in one of them."""

    fits: ClassVar[int] = 0
    last: ClassVar[float] = np.inf

    def fit(self, X, y=None):
        Counted.fits += 1
        if Counted.fits > Counted.last:
            raise KeyboardInterrupt
        return super().fit(X)


def entries(folder):
    return list(Path(folder).rglob("output.pkl"))


def same(one, other):
    assert one.records == other.records
    assert one.warnings == other.warnings
    assert one.choice == other.choice
    for setting, folds in one.predictions.items():
        np.testing.assert_array_equal(np.concatenate(folds), np.concatenate(other.predictions[setting]))


def test_a_comparison_goes_on_where_it_was_stopped(digits, tmp_path, monkeypatch):
    settings = {"methods": {"PCA": PCA(), "mine": Counted(svd_solver="full"), "LPP": LPP()}, "cv": 3}
    expected = compare(*digits, dimensions=[2, 5], **settings)
    monkeypatch.setattr(Counted, "fits", 0)
    monkeypatch.setattr(Counted, "last", 4)
    with pytest.raises(Interrupted, match="1 of 3 methods are scored") as stopped:
        compare(*digits, dimensions=[2, 5], memory=tmp_path, **settings)
    assert len(entries(tmp_path)) == 5  # three folds of the first method, and two of the second
    done = stopped.value.comparison
    assert done.methods == ["PCA"]
    assert done.records == [record for record in expected.records if record["method"] == "PCA"]
    assert [row["mean"] for row in done.summary()] == [
        row["mean"] for row in compare(*digits, dimensions=[2, 5], methods={"PCA": PCA()}, cv=3).summary()
    ]
    monkeypatch.setattr(Counted, "fits", 0)
    monkeypatch.setattr(Counted, "last", np.inf)
    same(compare(*digits, dimensions=[2, 5], memory=tmp_path, **settings), expected)
    assert len(entries(tmp_path)) == 9
    assert Counted.fits <= 4  # one fold, and all data, in two numbers of dimensions each
    same(compare(*digits, dimensions=[2, 5], memory=Memory(str(tmp_path), verbose=0), n_jobs=2, **settings), expected)
    assert len(entries(tmp_path)) == 9


PROGRAM = """
from sklearn.datasets import load_digits
from lapwing.comparison import compare
X, y = load_digits(return_X_y=True)
methods = ["PCA", "LDA", "LPP", "MFA", "OLPP + repulsion"]
compare(X[:300], y[:300], methods=methods, dimensions=[2, 9], memory="kept", judge="nearest")
"""


def test_a_killed_comparison_goes_on(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=os.environ, start_new_session=True)
    end = time.monotonic() + 120
    while len(entries(tmp_path)) < 4 and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    kept = {path: path.stat().st_mtime_ns for path in entries(tmp_path)}
    assert 4 <= len(kept) < 25
    X, y = (part[:300] for part in load_digits(return_X_y=True))
    settings = {"methods": ["PCA", "LDA", "LPP", "MFA", "OLPP + repulsion"], "dimensions": [2, 9]}
    same(compare(X, y, **settings, memory=tmp_path / "kept"), compare(X, y, **settings))
    assert len(entries(tmp_path)) == 25
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # they were read, and not written again


def test_scores_are_of_these_rows_labels_settings_and_releases(digits, tmp_path, monkeypatch):
    X, y = digits[0][:120], digits[1][:120]
    settings = {"methods": {"LPP": LPP(graph=4)}, "dimensions": [2], "cv": 2, "memory": tmp_path}
    compare(X, y, **settings)
    changes = [
        {"X": X + np.eye(*X.shape)},
        {"y": np.roll(y, 1)},
        {"y": None},
        {"dimensions": [3]},
        {"random_state": 1},
        {"scoring": "retrieval"},
        {"methods": {"LPP": LPP(graph=5)}},
        {"prepare": StandardScaler()},
    ]
    for n, change in enumerate(changes, start=2):
        compare(**{"X": X, "y": y, **settings, **change})
        assert len(entries(tmp_path)) == 2 * n
    monkeypatch.setattr("lapwing.comparison._run.version", lambda name: "0")
    compare(X, y, **settings)
    assert len(entries(tmp_path)) == 2 * len(changes) + 4


@pytest.mark.filterwarnings("ignore::lapwing.comparison.LeakWarning")  # these few rows are made so
def test_tables_are_found_again(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng, y = np.random.RandomState(0), np.repeat([0, 1], 30)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    prepare = ColumnTransformer([("n", StandardScaler(), ["a"]), ("t", encoder, ["b"])])
    values = 3 * y + rng.randn(60)
    for _ in range(2):
        X = pandas.DataFrame({"a": values.copy(), "b": [f"c{i % 3}" for i in range(60)]})
        compare(X, y, methods=["PCA"], dimensions=[1], cv=2, prepare=prepare, memory=tmp_path)
    assert len(entries(tmp_path)) == 2


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_entries_are_made_anew(digits, tmp_path):
    settings = {"methods": ["PCA", "LDA"], "dimensions": [2], "cv": 2, "memory": tmp_path}
    expected = compare(*digits, **settings)
    for path, damage in zip(entries(tmp_path), [b"", b"text", None, None], strict=True):
        path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    same(compare(*digits, **settings), expected)


def test_what_memory_refuses(digits, tmp_path):
    with pytest.raises(
        ValueError, match=r"'memory' should be None, a string or have the same interface as joblib\.Memory"
    ):
        compare(*digits, methods=["PCA"], memory=3)
    unnamed = {"LPP": LPP(graph=KNN(4, weights=lambda distances: distances))}
    with pytest.raises(PicklingError, match="lambda"):
        compare(*digits, methods=unnamed, dimensions=[2], cv=2, memory=tmp_path)
