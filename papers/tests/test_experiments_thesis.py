"""The helpers of the thesis's experiments: toys, measures of what a figure shows, and the declarations themselves."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from lapwing_papers.experiments import _thesis as thesis
from lapwing_papers.experiments._experiment import Summary, Task


def test_angle_is_between_lines():
    assert thesis.angle(np.array([1.0, 0.0]), np.array([-1.0, 1.0])) == pytest.approx(45)
    assert thesis.angle(np.array([2.0, 1.0]), np.array([-4.0, -2.0])) == pytest.approx(0, abs=1e-6)


def test_threshold_accuracy():
    z = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    assert thesis.threshold_accuracy(z, np.array([0, 0, 0, 1, 1])) == 1
    assert thesis.threshold_accuracy(z, np.array([1, 1, 1, 0, 0])) == 1
    assert thesis.threshold_accuracy(np.arange(6.0), np.array([0, 1, 1, 0, 0, 1])) == pytest.approx(4 / 6)
    assert thesis.threshold_accuracy(np.arange(4.0), np.array([0, 1, 1, 0])) == 0.75


def test_threshold_accuracy_against_all_cuts():
    random = np.random.RandomState(0)
    z, y = random.randn(31), random.randint(0, 2, 31)
    best = max(max(np.mean((z > cut) == y), np.mean((z <= cut) == y)) for cut in [-np.inf, *z])
    assert thesis.threshold_accuracy(z, y) == pytest.approx(best)


def test_roundness_is_the_least_of_all_circles():
    t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle, flat = np.column_stack([np.cos(t), np.sin(t)]), np.column_stack([4 * np.cos(t), np.sin(t)])
    labels = np.repeat([0, 1], 40)
    assert thesis.roundness(np.vstack([circle, 3 * circle + 7]), labels) == pytest.approx(1)
    assert thesis.roundness(np.vstack([circle, flat - 2]), labels) == pytest.approx(0.25)


def test_slant_of_drawn_strokes():
    images = np.zeros((3, 9, 9))
    steps = np.arange(9)
    images[0, steps, 4] = 1  # upright
    images[1, steps, 8 - steps] = 5  # one to the right a row upwards, whatever the ink
    images[2, steps, steps] = 1
    assert thesis.slants(images) == pytest.approx([0, 1, -1])


def test_nearest_agrees_leaves_the_sample_out():
    Z = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert thesis.nearest_agrees(Z, np.array([0, 0, 1, 1])) == 1
    assert thesis.nearest_agrees(Z, np.array([0, 1, 0, 1])) == 0


def test_neighbour_mean():
    Z, values = np.arange(20.0)[:, None], np.arange(20.0) ** 2
    assert thesis.neighbour_mean(Z, values, np.array([[0.2]]), k=2) == pytest.approx([0.5])


def test_held_out_samples_are_ten_and_the_rest():
    rest, new = thesis.held_out(50, 3)
    assert new.size == 10
    assert np.array_equal(np.sort(np.concatenate([rest, new])), np.arange(50))
    assert not np.array_equal(new, thesis.held_out(50, 4)[1])


def test_spread_out_takes_the_centre_then_the_farthest():
    Z = np.array([[0.0, 0.0], [0.1, 0.1], [9.0, 1.0], [-8.0, -1.0]])
    assert set(thesis.spread_out(Z, 3)) == {0, 2, 3}


def test_ordering_is_read_from_the_left():
    assert thesis.ordering(np.array([0.3, 0.9, 0.1, 0.2])) == 3412
    variance = load_iris().data.var(axis=0)
    assert thesis.ordering(-variance) == 3142


def test_toys_are_what_they_say():
    X = thesis.line_and_outlier(1)
    assert X.shape == (61, 2)
    assert np.abs(X[:-1].sum(axis=1)).max() < 0.5
    X, y = thesis.two_ellipses(1)
    assert [round(np.ptp(X[y == c, 0]) / np.ptp(X[y == c, 1])) for c in (0, 1)] == [4, 4]
    X, y = thesis.three_circles(1)
    radii = [np.linalg.norm(X[y == c, :2], axis=1).mean() for c in range(3)]
    assert radii == pytest.approx([2, 3, 4], abs=0.05)
    assert not np.array_equal(X, thesis.three_circles(2)[0])


@pytest.mark.parametrize("toy", thesis.TOYS, ids=lambda toy: toy.name)
def test_the_toys_show_what_the_thesis_says(toy):
    summary = Summary(toy, {Task("", seed): toy.measure("", seed) for seed in range(8)})
    assert {claim[-1] for claim in summary.claims} == {"reproduced"}


def test_all_people_are_taken_once():
    tasks = thesis.LAPLACIAN_SCORE.tasks()
    assert sum(task.condition == "68 classes" for task in tasks) == 1
    assert sum(task.condition == "5 classes" for task in tasks) == thesis.LAPLACIAN_SCORE.n_repeats


def test_published_tables_name_what_is_declared():
    names = [experiment.name for experiment in thesis.EXPERIMENTS]
    assert len(set(names)) == len(names)
    for experiment in thesis.EXPERIMENTS:
        for conditions in experiment.published.values():
            assert set(conditions) <= set(experiment.conditions)
        assert all(claim.at_least > -np.inf or claim.at_most < np.inf for claim in experiment.claims)


def test_margin_is_the_least_over_shared_conditions():
    experiment = thesis.TENSOR_CLUSTERING
    results = {
        Task("5 classes", 0): {"TSA": {"accuracy": 90.0}, "LPP": {"accuracy": 80.0}},
        Task("10 classes", 0): {"TSA": {"accuracy": 70.0}, "LPP": {"accuracy": 75.0}},
        Task("30 classes", 0): {"TSA": {"accuracy": 10.0}},
    }
    assert thesis.margin("accuracy", "TSA", "LPP")(Summary(experiment, results)) == -5


def test_missing_dimensions_are_nan():
    Z = np.repeat(np.eye(2) * 9, 6, axis=0) + 0.01 * np.random.RandomState(0).randn(12, 2)
    curves = thesis.cluster_curves([(2, Z)], (1, 2), np.repeat([0, 1], 6), 2, 0)
    assert np.isnan(curves["accuracy"][0])
    assert curves["accuracy"][1] == 1
    assert curves["mutual information"][1] == pytest.approx(1)


def test_directions_are_never_fewer_than_asked_for():
    X = np.random.RandomState(0).randn(200, 4) * [100, 1, 1, 1]
    assert thesis.directions(X, 0.98, 1) == 1
    assert thesis.directions(X, 0.98, 3) == 3
    assert thesis.directions(X, 0.9999, 1) > 1


def test_classes_on_one_point_share_a_cluster():
    accuracy, _ = thesis.clusters(np.array([[0.0]] * 4 + [[1.0]] * 2), np.repeat([0, 1, 2], 2), 3, 0)
    assert accuracy == pytest.approx(4 / 6)
