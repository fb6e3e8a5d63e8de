"""Comparisons against scikit-learn's own cross-validation and measures."""

import dataclasses

import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA

from lapwing import LPP, KernelLPP
from lapwing.blocks import _progress
from lapwing.comparison import Comparison, compare
from lapwing.neighbors import _find

TRIED = [
    *("PCA", "LDA", "LPP", "OLPP", "NPE", "MMC", "LPDP", "LPP + repulsion"),
    *("shrinkage LDA", "LPP + classes", "OLPP + repulsion", "KernelLPP + classes", "kernel PCA + LDA"),
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


@pytest.fixture(scope="module")
def found(digits):
    return compare(*digits, methods=TRIED, cv=3, dimensions=[1, 2, 5, 9, 20, 30])


def by_hand(scores: dict) -> Comparison:
    """A comparison of given scores: method to (folds, dimensions)."""
    X, y = load_wine(return_X_y=True)
    methods = dict.fromkeys(scores, PCA(svd_solver="full"))
    found = compare(X, y, methods=methods, cv=2, dimensions=[1, 2, 3])
    records = [{**r, "accuracy": scores[r["method"]][r["fold"]][r["dimension"] - 1]} for r in found.records]
    return dataclasses.replace(found, records=records)


def test_one_fit_serves_all_dimensions_that_share_a_pre_projection(digits, monkeypatch):
    fits = []
    solve = LPP._solve
    monkeypatch.setattr(LPP, "_solve", lambda self, *a: fits.append(self.n_components) or solve(self, *a))
    compare(*digits, methods=["LPP"], dimensions=[1, 2, 4, 8], cv=2)
    assert fits[:2] == [8, 8]
    assert len(fits) < 6  # all data: at most the chosen number and the largest


def test_one_search_serves_all_fits_of_a_method_in_a_fold(digits, monkeypatch):
    searches, found = [], _find._found
    monkeypatch.setattr(
        _find, "_found", lambda sample, search: searches.append(search.n_neighbors) or found(sample, search)
    )
    compare(*digits, methods=["OLPP"], dimensions=[1, 2, 4, 8], cv=2)
    assert searches == [5, 5, 5]  # two folds and all data


def test_a_matrix_comes_before_a_kernel():
    found = by_hand({"A": [[0.8, 0.9, 0.9], [0.8, 0.9, 0.9]], "B": [[0.9, 0.9, 0.9], [0.9, 0.9, 0.9]]})
    assert found.choice == ("B", 1)
    others = {**found._candidates, "B": found._candidates["B"]._replace(estimator=KernelLPP())}
    assert dataclasses.replace(found, _candidates=others).choice == ("A", 2)


def test_a_terminal_sees_what_is_running_and_the_time_that_is_left(digits, monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_is_read", lambda: True)
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(_progress, "BETWEEN", 0.0)
    compare(*digits, methods=["PCA", "LPP"], dimensions=[2], cv=2)
    shown = capsys.readouterr().err
    assert "\rfold 2: LPP: 5 of 8 parts, " in shown
    assert " s left" in shown
    assert shown.endswith("\r" + " " * 78 + "\r")  # the line is cleared
