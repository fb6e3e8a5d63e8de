"""Every measure against loops over the folds that say in plain scikit-learn what it is."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_wine
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing.comparison import checked_judge, compare
from lapwing.metrics import clustering_accuracy, neighborhood_preservation, retrieval_scores
from lapwing.selection import SemiSupervised, labelled_scorer

OF_CLASSIFIERS = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "f1": "f1_macro"}
OF_RETRIEVAL = ("map", "recall@5")
OF_CLUSTERS = {"clustering": clustering_accuracy, "nmi": normalized_mutual_info_score}
OF_NEIGHBOURHOODS = ("trustworthiness", "continuity", "recall")


def score(found, measure, model, X, y, train, test):
    """What the measure says of one fold, with all that is learnt, learnt from its training rows."""
    known = y != -1
    if measure in OF_CLASSIFIERS:
        judge = SemiSupervised(model, checked_judge("auto", X[train], y[train])).fit(X[train], y[train])
        return labelled_scorer(OF_CLASSIFIERS[measure])(judge, X[test], y[test])
    reducer = SemiSupervised(model).fit(X[train], y[train]).reducer_
    if measure in OF_NEIGHBOURHOODS:
        some = test[np.linspace(0, len(test) - 1, min(len(test), 500)).astype(int)]
        kept = neighborhood_preservation(X[some], reducer.transform(X[some]), n_neighbors=found.n_neighbors)
        return kept[OF_NEIGHBOURHOODS.index(measure)]
    test, index = test[known[test]], train[known[train]]
    Z = reducer.transform(X)
    if measure in OF_RETRIEVAL:
        return retrieval_scores(Z[test], y[test], Z[index], y[index])[OF_RETRIEVAL.index(measure)]
    clusters = KMeans(len(set(y[index])), n_init=4, random_state=found.random_state).fit_predict(Z[test])
    return OF_CLUSTERS[measure](y[test], clusters)


@pytest.mark.parametrize(("partly", "prepared"), [(False, True), (True, False)])
def test_measures_are_what_they_say(partly, prepared):
    X, y = load_wine(return_X_y=True)
    y = np.where(np.arange(178) % 5 == 0, -1, y) if partly else y
    X = X if prepared else StandardScaler().fit_transform(X)
    prepare = StandardScaler() if prepared else None
    found = compare(X, y, methods=["LDA", "LPP"], dimensions=[2], cv=2, scoring="map", random_state=3, prepare=prepare)
    measures = [*OF_CLASSIFIERS, *OF_RETRIEVAL, *OF_CLUSTERS, *OF_NEIGHBOURHOODS]
    assert set(measures) == set(found.measures)
    for train, test in found.splitter.split(X, y):
        i = next(i for i, fold in enumerate(found.folds) if np.array_equal(fold, test))
        rows = StandardScaler().fit(X[train]).transform(X) if prepared else X
        for method in found.methods:
            for measure in measures:
                expected = score(found, measure, found.estimator(method), rows, y, train, test)
                assert found.scores(method, measure)[i, 0] == pytest.approx(expected, rel=1e-12), (method, measure)


def test_numbers_are_judged_by_the_judge_of_the_fold():
    X, y = load_diabetes(return_X_y=True)
    found = compare(X, y, methods=["PCA"], dimensions=[3], cv=3, scoring="r2")
    expected = []
    for train, test in found.splitter.split(X):
        model = make_pipeline(found.estimator("PCA"), checked_judge("auto", X[train], y[train].astype(float)))
        expected.append(model.fit(X[train], y[train]).score(X[test], y[test]))
    np.testing.assert_allclose(found.scores("PCA")[:, 0], expected, rtol=1e-9)
