"""Metrics by name and by function: each distance is a number, and each error names the metric."""

import numpy as np
import oracles as o
import pytest
from helpers import each
from scipy import sparse
from sklearn.neighbors import VALID_METRICS, KNeighborsTransformer

from lapwing import LPP, LaplacianEigenmaps
from lapwing.data import as_data
from lapwing.graphs import KNN, ClosestPairs, CodingLength, Radius, Reconstruction, Repulsion, SameClass

X, Y = o.blobs(50, 4)
FLAT = X.copy()
FLAT[:3] = 3.0  # rows of which correlation knows nothing
EMPTY = np.abs(X)
EMPTY[[4, 9]] = 0.0


def undefined(a, b):
    """NaN where both rows are flat."""
    return np.nan if np.ptp(a) == np.ptp(b) == 0 else float(np.abs(a - b).sum())


GRAPHS = [
    KNN(5, metric="correlation"),
    KNN(5, metric="correlation") & SameClass(),
    SameClass() & KNN(5, metric="correlation"),
    KNN(5, metric="correlation", among="same_class"),
    KNN(5, metric="correlation", queries=20),
    KNN(5, metric=undefined),
    Radius(0.5, metric="correlation"),
    Radius(0.5, metric=undefined),
    Repulsion(9, metric="correlation"),
    ClosestPairs(9, metric="correlation"),
    Reconstruction(5, metric="correlation"),
    CodingLength(5, metric="correlation"),
    KNN(5, search=KNeighborsTransformer(metric="correlation")),
]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_distances_that_are_no_numbers(graph):
    with pytest.raises(ValueError, match="gives NaN as a distance"):
        graph.build(FLAT, Y)
    graph.build(X, Y)  # where all is well


@pytest.mark.parametrize("width", [1, 10])  # by a tree, and by all pairs
def test_two_empty_rows_are_equal(width):
    """SciPy divides 0 by 0 for their distance."""
    W = KNN(1, metric="braycurtis", weights="binary").adjacency(as_data(np.tile(EMPTY, width)))
    assert W[4, 9] == W[9, 4] == 1


def test_distances_are_of_all_pairs():
    for graph in (KNN(3, metric="precomputed"), Radius(1.0, metric="precomputed")):
        with pytest.raises(ValueError, match=r"metric='precomputed' needs X to be a square .* shape \(50, 4\)"):
            graph.build(X)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning", "ignore::FutureWarning")
@each("metric", [*sorted(VALID_METRICS["brute"]), "mahalanobis", "foo", "pyfunc"])
@each("make", [np.asarray, sparse.csr_array])
def test_errors_name_the_metric(metric, make):
    for estimator in (LPP(1, graph=KNN(3, metric=metric)), LaplacianEigenmaps(1, graph=Radius(2.0, metric=metric))):
        found = o.outcome(lambda estimator=estimator: estimator.fit(make(X)).transform(make(X)))
        assert "metric" in found if isinstance(found, str) else np.isfinite(found).all()


@pytest.mark.parametrize("metric", ["haversine", "mahalanobis", "seuclidean", "foo"])
def test_a_metric_that_does_not_fit(metric):
    params = {"V": np.zeros(4)} if metric == "seuclidean" else None
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=f"metric='{metric}'"):
        LPP(1, graph=KNN(3, metric=metric, metric_params=params)).fit(X)


def test_parameters_of_a_metric_may_be_missing():
    plain, euclidean = (
        as_data(X).nearest(KNN(5, metric=metric).requests()[0]) for metric in ("minkowski", "euclidean")
    )
    np.testing.assert_allclose(plain[2], euclidean[2], rtol=1e-12)  # of order 2
    with pytest.raises(ValueError, match="metric='mahalanobis', metric_params=None cannot be used on rows of shape"):
        KNN(3, metric="mahalanobis").build(X)
    VI = np.linalg.inv(np.cov(X.T))
    KNN(3, metric="mahalanobis", metric_params={"VI": VI}).build(X)


@pytest.mark.parametrize("entries", [[(0, 1, 0.5)], [(0, 1, 0.5), (1, 0, 0.5), (2, 3, 2.0)]])
def test_few_stored_distances(entries):
    """scikit-learn cannot sort fewer than two."""
    D = sparse.dok_array((5, 5))
    for i, j, d in entries:
        D[i, j] = d
    W = Radius(1.0, metric="precomputed", weights="binary").adjacency(as_data(D.tocsr()))
    expected = np.zeros((5, 5))
    expected[0, 1] = expected[1, 0] = 1
    np.testing.assert_array_equal(W.toarray(), expected)


@pytest.mark.parametrize(
    ("D", "said"), [(np.zeros((3, 3)), "radius=1.0 gives an empty graph"), (-np.ones((3, 3)), "Negative")]
)
def test_no_stored_distances(D, said):
    with pytest.raises(ValueError, match=said):
        Radius(1.0, metric="precomputed").build(sparse.csr_array(D))
