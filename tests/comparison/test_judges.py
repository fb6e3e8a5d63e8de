"""Classifiers other than the nearest neighbour judge spaces, and rank what they predict."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from lapwing import LPP
from lapwing.comparison import checked_judge, compare, in_words
from lapwing.report import report_page


@pytest.fixture(scope="module")
def found():
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, compare(X, y, methods={"LPP": LPP(graph="supervised")}, dimensions=[1], cv=3, judge="logistic")


def test_the_auc_of_two_classes_is_that_of_scikit_learn(found):
    X, y, found = found
    assert found.criterion == "roc_auc"
    model = make_pipeline(found.estimator("LPP"), checked_judge("logistic", X, y))
    expected = cross_val_score(model, X, y, cv=found.splitter, scoring="roc_auc")
    np.testing.assert_allclose(found.scores("LPP")[:, 0], expected, atol=1e-9)


def test_the_line_to_beat(found):
    assert found[2].lines["baseline"]["method"] == "all columns + logistic regression"
    assert found[2].judges == ["logistic regression"] * 3


def test_the_report_shows_the_judge(found):
    pytest.importorskip("jinja2")
    pytest.importorskip("plotly")
    page = report_page(found[2])
    assert "LogisticRegression(" in page
    assert "ROC AUC" in page


def test_auto_looks_at_the_rows(found):
    X, y, _ = found
    assert in_words(checked_judge("auto", X, y)) == "logistic regression"
    assert "nearest neighbours" in in_words(checked_judge("auto", *make_moons(300, noise=0.1, random_state=0)))


def test_a_score_of_scikit_learn(found):
    X, y, _ = found
    scores = {"scoring": "average_precision", "judge": "knn", "dimensions": [1], "cv": 2}
    assert compare(X[:, :5], y, methods=["PCA"], **scores).best["mean"] > 0.5
    with pytest.raises(ValueError, match="judge='tree'"):
        compare(X, y, judge="tree")
