"""The parts of the gLPCA experiments that are not the library's own: labels, votes, blocks, and the numbers copied."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from lapwing_papers.experiments import Summary, Task, _glpca


def test_a_share_of_each_class_is_labelled():
    y = np.repeat([0, 1, 2], (10, 39, 24))
    known = _glpca._labelled(y, 0.2, seed=3)
    assert [known[y == c].sum() for c in range(3)] == [2, 8, 5]
    np.testing.assert_array_equal(known, _glpca._labelled(y, 0.2, seed=3))
    assert (known != _glpca._labelled(y, 0.2, seed=4)).any()


@pytest.mark.parametrize(
    ("classes", "winner"),
    [
        ([2, 1, 1, 1, 2], 1),  # a majority, whoever is nearest
        ([2, 1, 1, 2, 0], 2),  # a tie of two and two: the nearest
        ([4, 3, 2, 1, 0], 4),  # all of their own
        ([0, 2, 1, 1, 2], 2),  # nearest of the tied ones, not of all
    ],
)
def test_the_nearest_decides_ties(classes, winner):
    X = np.arange(1.0, 6.0)[:, None]
    model = KNeighborsClassifier(5, weights=_glpca._nearest_decides).fit(X, classes)
    assert model.predict([[0.0]]) == [winner]


def test_a_vote_is_the_same_in_whatever_order_neighbours_come():
    distances = np.array([[3.0, 1.0, 2.0]])
    weights = _glpca._nearest_decides(distances)[0]
    assert weights[1] > weights[2] > weights[0] > 1
    assert weights.sum() < 4  # less than one more vote


def test_regression_is_least_squares_onto_indicators():
    random = np.random.RandomState(0)
    Z, y = random.standard_normal((60, 3)), random.choice(["a", "b", "c"], 60)
    known = np.arange(60) < 30
    A = np.column_stack([Z, np.ones(60)])
    B = np.linalg.lstsq(A[known], (y[known, None] == ["a", "b", "c"]).astype(float), rcond=None)[0]
    expected = 100 * np.mean(np.array(["a", "b", "c"])[(A[~known] @ B).argmax(axis=1)] == y[~known])
    assert _glpca._regression(Z, y, known) == pytest.approx(expected)


def test_blocks_cover_a_quarter_of_a_fifth_of_each_class():
    y = np.repeat([0, 1], (10, 25))
    where = _glpca._blocks((20, 16), y, seed=0).reshape(-1, 20, 16)
    covered = where.sum(axis=(1, 2))
    assert set(covered) == {0, 80}
    assert [(covered[y == c] > 0).sum() for c in (0, 1)] == [2, 5]
    for image in where[covered > 0]:
        rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
        assert (np.ptp(rows), np.ptp(columns)) == (9, 7)


def test_blocks_reach_every_pixel():
    where = _glpca._blocks((4, 6), np.repeat(np.arange(200), 5), seed=1)
    assert where.any(axis=0).all()


def test_random_residual_tells_the_number_of_components():
    X = np.random.RandomState(0).standard_normal((80, 30)) + 5
    squares = [_glpca._random_residual(X, 20, seed) ** 2 for seed in range(100)]
    assert np.mean(squares) == pytest.approx(1 - 20 / 80, abs=0.01)
    assert _glpca._random_residual(X, 79, 0) < 0.2


def test_scatter_within_persons():
    y = np.repeat([0, 1], 5)
    alike = np.where(y[:, None], 1.0, -1.0) * np.ones((10, 4))
    assert _glpca._spread_within(alike, y) == 0
    noise = np.random.RandomState(0).standard_normal((10, 4))
    between = noise - np.array([noise[y == c].mean(axis=0) for c in (0, 1)])[y]
    assert _glpca._spread_within(between, y) == pytest.approx(1)
    # both parts at once: the scatters add up
    assert _glpca._spread_within(between + alike, y) == pytest.approx(np.sum(between**2) / (np.sum(between**2) + 40))


def test_where_the_printed_purity_is_below_the_accuracy():
    """The only places, as the reading says; a slip in copying would very likely add one."""
    odd = {
        (first, name, method)
        for first in (0, 6)
        for table in [_glpca._table_3(first)]
        for name, row in table["purity"].items()
        for method, value in row.items()
        if value < table["accuracy"][name][method]
    }
    assert odd == {
        (0, "USPS", "PCA"),
        (0, "USPS", "LE"),
        (6, "USPS", "Original"),
        (6, "USPS", "PCA"),
        (6, "COIL20", "LE"),
    }


def test_published_numbers_have_their_places():
    for experiment in _glpca.EXPERIMENTS:
        for conditions in experiment.published.values():
            assert set(conditions) <= set(experiment.conditions)
    assert sum(len(row) for c in _glpca._table_4().values() for row in c.values()) == 8 * 2 * 18
    assert _glpca._table_4()["5-NN"]["MFeat, 30 %"]["gLPCA"] == 91.1
    assert _glpca._table_3(6)["mutual information"]["AT&T"]["Original"] == 0.7723


def test_another_reading_of_a_data_set_does_not_count_in_claims():
    def row(winner):
        return {m: {"accuracy": float(m == winner), "mutual information": 0.0, "purity": 0.0} for m in _glpca.COLUMNS}

    results = {Task("AT&T", 0): row("gLPCA"), Task("USPS (11,000)", 0): row("LPP")}
    summary = Summary(_glpca.TABLE_3_KMEANS, results)
    assert _glpca._ahead("accuracy", _glpca.COLUMNS[:-1])(summary) == 1.0


@pytest.mark.parametrize("experiment", _glpca.EXPERIMENTS, ids=lambda e: e.name)
def test_names_and_quick_conditions(experiment):
    assert experiment.name.startswith("glpca-")
    assert set(experiment.quick_conditions or ()) <= set(experiment.conditions)
