"""The comparison: its sets, its rivals, what is chosen where, and the standings."""

import sys
from dataclasses import replace
from pathlib import Path

import guide
import numpy as np
import pytest
from guide import _rivals, _sets, _standing, _tasks
from guide._rivals import Rival
from guide._sets import SETS, Part
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from lapwing.metrics import mean_average_precision
from lapwing.solvers import RankError
from lapwing_papers.experiments import Kept, Summary, Task, group

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PUBLIC = [name for name in SETS if SETS[name].public]
TASKS = guide.experiments()


def digits(n=300):
    X, y = load_digits(return_X_y=True)
    X = X[:, X[:n].std(axis=0) > 0]
    return X[:n], y[:n]


# Sets


def test_sets_that_are_not_new_are_those_that_chose_the_defaults(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "defaults", raising=False)
    import defaults

    assert {name for name in SETS if not SETS[name].new} == set(defaults.SETS)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_sets_need_no_file(name, monkeypatch):
    monkeypatch.setenv("LAPWING_DATA", "nowhere")
    part = _sets.split(name, 60, 60, seed=0)
    assert len(part.raw[0]) <= 60
    assert set(part.y_new) <= set(part.y) == set(range(part.y.max() + 1))
    assert np.isfinite(part.prepared[0]).all()


def test_splits_are_not_those_of_the_defaults():
    y = load_digits().target
    first = _sets.split("digits", 300, 300, 0).raw[0]
    split = _sets.StratifiedShuffleSplit(1, train_size=300, test_size=300, random_state=1000)
    train, _ = next(split.split(y, y))
    np.testing.assert_array_equal(first, load_digits().data[train])
    assert not np.array_equal(first, _sets.split("digits", 300, 300, 1).raw[0])


def test_units_of_tables_and_of_pixels():
    A = np.random.RandomState(0).standard_normal((50, 3)) * [1.0, 10.0, 100.0]
    table, _ = _sets.in_units(A, A, "table")
    pixels, _ = _sets.in_units(A, A, "image")
    np.testing.assert_allclose(table.std(axis=0), 1)
    np.testing.assert_allclose((pixels**2).mean(), 1)
    np.testing.assert_allclose(pixels.std(axis=0) / A.std(axis=0), (1 / np.sqrt(A.var(axis=0).mean())))


def test_more_columns_than_rows_lose_nothing_between_training_rows():
    part = _sets.split("digits", 40, 40, seed=0)
    assert part.raw[0].shape[1] == 64 > part.prepared[0].shape[1]
    whole, kept = (_tasks.distances(Z[0]) for Z in (part.in_units, part.prepared))
    np.testing.assert_allclose(kept, whole, rtol=1e-8)


def test_classes_are_unseen():
    part = _sets.split_classes("made-up people", 300, seed=0)
    assert not set(part.y) & set(part.y_new)
    assert part.y.max() == 19


def test_the_display_shows_digits():
    X, y = _sets.led("")
    eight = X[y == 8, :7].mean(axis=0)
    one = X[y == 1, :7].mean(axis=0)
    np.testing.assert_allclose(eight, 0.9, atol=0.06)
    np.testing.assert_allclose(one, np.where([0, 0, 1, 0, 0, 1, 0], 0.9, 0.1), atol=0.06)


# Rivals


@pytest.mark.parametrize("task", TASKS)
def test_nobody_has_more_candidates_than_the_budget(task):
    rivals = _standing.RIVALS[task]
    assert all(len(rival.candidates) <= _rivals.BUDGET for rival in rivals.values())
    assert any(rival.own for rival in rivals.values())
    assert all(len(rival.candidates) == 1 for name, rival in rivals.items() if "as it comes" in name)
    assert all(len(rival.candidates) > 1 for name, rival in rivals.items() if name.endswith("tuned"))


def test_shrinkage_lda_is_scikit_learns():
    X, y = digits()
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(X, y).transform(X - X.mean(axis=0))
    np.testing.assert_allclose(np.abs(_rivals.ShrinkageLDA(0.1).fit(X, y).transform(X)), np.abs(theirs), atol=1e-6)


def test_labels_that_are_not_known_are_not_learnt_from():
    X, y = digits()
    z = np.where(np.arange(300) < 100, y, -1)
    some, alone = _rivals.ShrinkageLDA(0.1).fit(X, z), _rivals.ShrinkageLDA(0.1).fit(X[:100], y[:100])
    np.testing.assert_array_equal(some.transform(X), alone.transform(X))


def test_one_row_per_class_is_enough_for_shrinkage():
    X, y = digits()
    first = np.unique(y, return_index=True)[1]
    assert np.isfinite(_rivals.ShrinkageLDA(0.1).fit(X[first], y[first]).transform(X)).all()


def test_within_class_whitening_whitens():
    X, y = digits()
    X = X[:, :20]
    within, _ = _rivals.scatters(_rivals.WithinClassWhitening(0.0).fit(X, y).transform(X), y)
    np.testing.assert_allclose(within, np.eye(20), atol=1e-8)


def test_logistic_regression_in_principal_coordinates_is_the_same():
    X, y = digits()
    ours = _rivals.Logistic(0.1).fit(X - X.mean(axis=0), y).predict(X - X.mean(axis=0))
    theirs = LogisticRegression(C=0.1, max_iter=3000).fit(X - X.mean(axis=0), y).predict(X - X.mean(axis=0))
    assert np.mean(ours == theirs) > 0.99


def test_nca_does_not_depend_on_units():
    X, y = digits(150)
    near, far = (_rivals.NCA(5, "pca").fit(s * X, y).transform(s * X) for s in (1, 1000))
    np.testing.assert_allclose(near, far, rtol=1e-3, atol=1e-3)


# Choices


class Times(BaseEstimator):
    """A space whose first column is noise but for one factor."""

    def __init__(self, good):
        self.good = good

    def fit(self, X, y):
        self.seen_ = y
        return self

    def transform(self, X):
        return X[:, :1] if self.good else np.zeros((len(X), 1))


def two_heaps():
    y = np.arange(40) % 2
    X = 10.0 * y[:, None] + np.random.RandomState(0).standard_normal((40, 1))
    return Part(y, y, (X, X), (X, X), (X, X))


def test_the_best_candidate_inside_the_training_rows_is_taken():
    part = two_heaps()
    rival = Rival(lambda X, c, good: Times(good), ({"good": False}, {"good": True}))
    model, *_ = _tasks.learnt(rival, part, part.y, list(_tasks.thirds(part.y, 0)), _tasks.by_accuracy)
    assert model.good
    assert model.seen_.size == 40


def test_where_rows_have_fewer_dimensions_the_next_best_is_taken():
    class Refuses(Times):
        def fit(self, X, y):
            if self.good and len(X) == 40:
                raise RankError("so many there are not")
            return super().fit(X, y)

    part = two_heaps()
    rival = Rival(lambda X, c, good: Refuses(good), ({"good": False}, {"good": True}))
    model, *_ = _tasks.learnt(rival, part, part.y, list(_tasks.thirds(part.y, 0)), _tasks.by_accuracy)
    assert not model.good


def test_labels_that_judge_are_hidden():
    part = two_heaps()
    z = np.where(_tasks.some_known(part.y, 20, 0), part.y, -1)
    assert (z >= 0).sum() == 8
    for fold in _tasks.halves(z, 0):
        models = []
        rival = Rival(lambda X, c, good, models=models: models.append(Times(good)) or models[-1])
        _tasks.mark(rival, {"good": True}, part.raw[0], z, fold, _tasks.by_known)
        assert (models[0].seen_ >= 0).sum() == 4
        assert (models[0].seen_[fold[1]] == -1).all()


def test_two_labels_per_class_at_least():
    y = np.repeat(np.arange(4), 10)
    assert np.bincount(y[_tasks.some_known(y, 5, 0)]).tolist() == [2] * 4


def test_precision_is_that_of_the_metrics():
    X, y = digits(120)
    X = X + np.random.RandomState(0).standard_normal(X.shape)  # no two distances are equal
    found = _tasks.precision(X[:40], y[:40], X[40:], y[40:])
    assert found == pytest.approx(100 * mean_average_precision(X[:40], y[:40], X[40:], y[40:]))


def test_verification_of_classes_far_apart_is_perfect():
    part = two_heaps()
    assert _tasks.verified(part.raw[0], part.y) == 100
    assert _tasks.verified(np.random.RandomState(0).standard_normal((40, 1)), part.y) < 65


@pytest.mark.parametrize("name", TASKS)
def test_a_repetition(name):
    """One per task, with one candidate per method and without what takes long."""
    experiment = TASKS[name]
    value = experiment.conditions[experiment.public[0]]
    sets = [
        {k: replace(r, candidates=r.candidates[:1]) for k, r in d.items() if "UMAP" not in k and k != "t-SNE"}
        for d in experiment.what.__defaults__
    ]
    found = experiment.what(value, 7, *sets)
    assert {method for each in sets for method in each} == set(found)
    assert all(0 <= number <= 100 + 1e-9 for scores in found.values() for number in scores.values())


def test_what_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr(_tasks, "find_spec", lambda name: None)
    left = {name for name, _ in _tasks.present(_rivals.LABELLED)}
    assert set(_rivals.LABELLED) - left == {"supervised UMAP, tuned"}


# Standings


def standings():
    values = {
        "digits": {"LPP, as it comes": 90.0, "SVC, tuned": 88.0, "PCA, tuned": 80.0},
        "waveform": {"LPP, as it comes": 70.0, "SVC, tuned": 74.0, "PCA, tuned": 76.0},
        "wine": {"LPP, as it comes": 95.3, "SVC, tuned": 95.0, "PCA, tuned": 70.0},
    }
    results = {
        Task(name, seed): {method: {"accuracy": value + seed} for method, value in each.items()}
        for name, each in values.items()
        for seed in (0, 1)
    }
    return Summary(TASKS["guide-labelled"], results)


def test_wins_ties_and_losses_against_the_strongest_rival():
    found = {row.method: row for row in _standing.rows(standings(), "accuracy")}
    assert [*found] == ["SVC, tuned", "LPP, as it comes", "PCA, tuned"]
    assert not found["SVC, tuned"].differences
    ours = found["LPP, as it comes"]
    assert ours.record == (1, 1, 1)
    assert ours.mean == pytest.approx(255.3 / 3 + 0.5)
    gaps = np.array([2.0, -4.0, 0.3])
    assert ours.difference() == pytest.approx((gaps.mean(), gaps.std(ddof=1) / np.sqrt(3)))
    assert ours.difference(["waveform"])[0] == pytest.approx(-4)
    assert _standing.cells(ours)[-1] == "-4.0"  # on the one new set, which has no standard error
    assert ours.own
    assert not found["PCA, tuned"].own


def test_derived_numbers_are_means_over_sets():
    found = _standing.differences(standings())
    assert found["mean of accuracy", "all sets", "SVC, tuned"] == pytest.approx([257 / 3, 257 / 3 + 1])


def test_which_conditions_are_new():
    assert _standing.is_new("waveform, 5 %")
    assert _standing.is_new("AR, 99 people")
    assert not _standing.is_new("PIE, 5 poses, 10 %")
    assert not _standing.is_new("PIE, 5 poses")


def test_the_picture_has_a_row_per_method():
    pytest.importorskip("matplotlib")
    [figure] = _standing.dots(standings()).values()
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["PCA, tuned", "LPP, as it comes"]


def test_a_group_of_experiments():
    assert group(TASKS, "guide") == list(TASKS.values())
    assert [e.name for e in group(TASKS, "guide-maps")] == ["guide-maps"]
    with pytest.raises(ValueError, match="did you mean"):
        group(TASKS, "giude")


# Declarations


@pytest.mark.parametrize("name", TASKS)
def test_public_conditions_are_of_sets_without_a_file(name):
    experiment = TASKS[name]
    assert experiment.name == name
    assert set(experiment.public) <= set(experiment.conditions)
    sets = {c: v[0] if isinstance(v, tuple) else v for c, v in experiment.conditions.items()}
    assert experiment.public
    assert all(sets[condition].public for condition in experiment.public)
    assert len(experiment.data) == len({each.source for each in sets.values() if not each.public})


@pytest.mark.parametrize("name", TASKS)
def test_kept_results_are_of_todays_declaration(name):
    again = f"run `python benchmarks/guide {name}`, `python benchmarks/guide --keep` and `python docs/tables.py`"
    kept = Kept(TASKS[name])
    assert kept.path.parent == BENCHMARKS / "guide" / "results"
    assert kept.read(), f"nothing is kept of {name}; {again}"
    assert not kept.stale, f"what {name} measures has changed since its results were kept; {again}"
