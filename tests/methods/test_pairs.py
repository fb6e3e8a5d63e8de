"""RCA: the printed problem, solved by other code, and what it is said to be elsewhere."""

import numpy as np
import oracles as o
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lapwing import RCA
from lapwing.graphs import Pairs

RANDOM = np.random.RandomState(0)
DOCUMENTS = RANDOM.randn(200, 8) @ RANDOM.randn(8, 8)
QUERIES = DOCUMENTS[:70] + RANDOM.randn(70, 8) * np.linspace(0.1, 3, 8) + 5
X = np.vstack([QUERIES, DOCUMENTS])
PAIRS = np.column_stack([np.arange(70), np.arange(70, 140)])
SIDES = np.repeat(["query", "document"], [70, 200])


def solved(total, within, ridge):
    """The eigenvalues and directions of (1), by SciPy."""
    drawn = within + ridge * np.trace(within) / len(within) * np.eye(len(within))
    values, V = eigh(-total, drawn)
    return values, V, drawn


def outer_mean(differences):
    return sum(np.outer(d, d) for d in differences) / len(differences)


@pytest.mark.parametrize("ridge", [0.0, 0.3, 4.0])
@pytest.mark.parametrize("sides", [None, SIDES])
def test_it_is_the_printed_problem(ridge, sides):
    parts = [X] if sides is None else [QUERIES, DOCUMENTS]
    total = sum(np.cov(part.T, bias=True) for part in parts) / len(parts)
    values, V, drawn = solved(total, outer_mean(X[PAIRS[:, 0]] - X[PAIRS[:, 1]]) / 2, ridge)
    model = RCA(3, pairs=PAIRS, sides=sides, ridge=ridge).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.components_ @ drawn @ V[:, :3]), np.eye(3), atol=1e-8)


def test_without_pairs_it_is_discriminant_analysis():
    Z, y = o.blobs(90, 6)
    model = RCA(2, ridge=0).fit(Z, y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(Z, y)
    assert np.max(subspace_angles(model.components_.T, lda.scalings_[:, :2])) < 1e-8


def test_few_pairs_leave_what_they_say_nothing_of_to_the_ridge():
    """One pair: all directions but its own vary as the identity says."""
    model = RCA(3, pairs=PAIRS[:1], ridge=1.0).fit(X)
    assert np.isfinite(model.transform(X)).all()
    values, _, _ = solved(np.cov(X.T, bias=True), outer_mean(X[:1] - X[70:71]) / 2, 1.0)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-8)


def test_pairs_by_id_go_along_with_the_rows():
    pd = pytest.importorskip("pandas")
    names = [f"r{i}" for i in range(len(X))]
    frame = pd.DataFrame(X, index=names)
    by_id = Pairs([(names[i], names[j]) for i, j in PAIRS], by_id=True)
    whole = RCA(2, pairs=by_id).fit(frame)
    np.testing.assert_allclose(whole.components_, RCA(2, pairs=PAIRS).fit(X).components_)
    half = clone(whole).fit(frame.iloc[140::-1])  # pairs of rows that are not there do not count
    assert half.components_.shape == (2, 8)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"pairs": PAIRS, "sides": SIDES[:-1]}, "sides has 269 entries, and X has 270 rows"),
        ({"pairs": PAIRS + 250}, "Pairs holds row 389, but X has the rows 0 to 269"),
        ({"pairs": PAIRS, "ridge": -1.0}, "ridge=-1.0 must be"),
        ({"pairs": PAIRS, "n_components": "auto"}, "n_components='auto' must be a whole number"),
        ({"pairs": np.zeros((0, 2), dtype=int)}, "empty"),
    ],
)
def test_what_cannot_be_is_named(parameters, said):
    with pytest.raises(ValueError, match=said):
        RCA(**{"n_components": 2} | parameters).fit(X)


def test_pairs_count_by_their_weights():
    """A weight is so many repetitions of the pair."""
    counts = np.arange(70) % 4 + 1
    within = outer_mean(np.repeat(X[PAIRS[:, 0]] - X[PAIRS[:, 1]], counts, axis=0)) / 2
    values, _, _ = solved(np.cov(X.T, bias=True), within, 0.3)
    np.testing.assert_allclose(RCA(3, pairs=Pairs(PAIRS, weights=counts), ridge=0.3).fit(X).eigenvalues_, values[:3])


def test_pairs_count_rows():
    with pytest.raises(ValueError, match="sample_weight does not act"):
        RCA(2, pairs=PAIRS).fit(X, sample_weight=np.ones(len(X)))


@pytest.mark.parametrize("sides", [None, SIDES])
def test_columns_that_say_nothing_new_count_for_nothing(sides):
    """With constant columns and sums of others it is the problem without them, up to the unit of the ridge."""
    more = np.hstack([X, np.full((270, 2), 7.0), X[:, :3] @ np.ones((3, 2))])
    basis = np.linalg.svd(more - more.mean(axis=0), full_matrices=False)[2][:8]
    model = RCA(None, pairs=PAIRS, sides=sides, ridge=0.5).fit(more)
    within = RCA(None, pairs=PAIRS, sides=sides, ridge=0.5 * 8 / 12).fit((more - more.mean(axis=0)) @ basis.T)
    assert (model.rank_, model.components_.shape) == (8, (8, 12))
    np.testing.assert_allclose(model.eigenvalues_, within.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(model.components_[:, 8:10], 0, atol=1e-12)
    with pytest.raises(ValueError, match="n_components=9 is more than the 8 directions"):
        RCA(9, pairs=PAIRS, sides=sides).fit(more)
