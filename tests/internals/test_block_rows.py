"""Rows in blocks, as graphs see them: those with links as they are, the others by the moments of their class."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context

from lapwing.blocks import Blocks
from lapwing.maps import ClassMoments, SummaryMap
from lapwing.neighbors import BlockRows, ClassRows, Search, _blocks, _spaces, find, require_room
from lapwing.operators import identity

rng = np.random.RandomState(0)
N, D = 200, 4
X = rng.standard_normal((N, D)) + 2
Y = np.where(np.arange(N) % 9 == 0, -1, np.arange(N) % 3)
SCALE = np.array([1.0, 2.0, 0.5, 3.0])


class Parts(Blocks):
    """Rows in parts of 23; as on a cluster, or not."""

    def __init__(self, X, is_distributed=False):
        self.X, self.shape, self.dtype, self.is_sparse = X, X.shape, X.dtype, sparse.issparse(X)
        self.is_distributed = is_distributed

    def _read(self):
        for start in range(0, self.shape[0], 23):
            yield self.X[start : start + 23]

    def take(self, rows):
        return self.X[rows]


def nearest(A, queries, k, metric="euclidean", allowed=None):
    """Row by row, by brute force."""
    distances = cdist(A[queries], A, "cityblock" if metric == "manhattan" else metric)
    distances[np.arange(queries.size), queries] = np.inf
    if allowed is not None:
        distances[~allowed[queries]] = np.inf
    return np.argsort(distances, axis=1, kind="stable")[:, :k], np.sort(distances, axis=1)[:, :k]


@pytest.mark.parametrize("is_distributed", [False, True], ids=["one machine", "a cluster"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scaled", [False, True], ids=["as given", "divided"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_neighbors_are_those_of_all_rows(kind, metric, scaled, is_distributed):
    search, other = Search(4, metric, queries=20), Search(3, metric, queries=7, random_state=3)
    units = (lambda deviations: SCALE) if scaled else None
    data, A = BlockRows(Parts(kind(X), is_distributed), None, [search, other], units), X / SCALE if scaled else X
    for asked in (search, other):
        edges, queries = find(data, asked), asked.queried(N)
        cols, distances = nearest(A, queries, asked.n_neighbors, metric)
        np.testing.assert_array_equal(data._numbers[edges.rows], np.repeat(queries, asked.n_neighbors))
        np.testing.assert_array_equal(data._numbers[edges.cols].reshape(cols.shape), cols)
        np.testing.assert_allclose(edges.distances.reshape(cols.shape), distances, rtol=1e-9, atol=1e-12)
    touched = np.unique(np.concatenate([search.queried(N), other.queried(N), data._numbers]))
    np.testing.assert_array_equal(data._numbers, touched)
    held = data.linked.X
    np.testing.assert_allclose(held.toarray() if sparse.issparse(held) else held, A[data._numbers], rtol=1e-15)
    assert data.n_samples == data.F.n_samples == N
    np.testing.assert_allclose(data.mean, A.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(data.F.plain_mean, A.mean(axis=0), rtol=1e-12)
    assert (data.scale is None) == (not scaled)


@pytest.mark.parametrize("among", ["same_class", "other_class"])
def test_neighbors_among_classes(among):
    same, known = Y[:, None] == Y, (Y >= 0)[:, None] & (Y >= 0)
    search = Search(3, among=among, queries=25)
    data = BlockRows(Parts(X), Y, [search])
    edges = find(data, search).by_row()
    allowed = known & (same if among == "same_class" else ~same)
    queries = np.array([row for row in search.queried(N) if Y[row] >= 0])
    cols, _ = nearest(X, queries, 3, allowed=allowed)
    np.testing.assert_array_equal(data._numbers[edges.rows], np.repeat(queries, 3))
    np.testing.assert_array_equal(data._numbers[edges.cols].reshape(-1, 3), cols)


def test_the_others_are_summed_up_by_class():
    data = BlockRows(Parts(X), Y, [Search(3, queries=5)])
    kept = data._numbers.size
    assert isinstance(data.X, SummaryMap)
    np.testing.assert_array_equal(data.class_sizes, [np.sum(c == Y) for c in range(3)])
    np.testing.assert_allclose(data.class_means, [X[c == Y].mean(axis=0) for c in range(3)], rtol=1e-12)
    np.testing.assert_array_equal(data.classes[:kept], Y[data._numbers])
    assert data.classes[kept:].tolist() == [0, 1, 2, -1]
    left = np.setdiff1d(np.arange(N), data._numbers)
    means = [X[left][Y[left] == c].mean(axis=0) for c in (0, 1, 2, -1)]
    np.testing.assert_allclose(data.F.block(slice(kept, kept + 4)), means, rtol=1e-12)
    np.testing.assert_array_equal(data.counts[:kept], np.ones(kept))
    np.testing.assert_array_equal(data.counts[kept:], [np.sum(Y[left] == c) for c in (0, 1, 2, -1)])
    np.testing.assert_allclose(data.F.forms([identity(kept + 4)])[0], X.T @ X, rtol=1e-12)
    rows = np.r_[X[data._numbers], means]
    np.testing.assert_allclose(data.norms, np.linalg.norm(rows, axis=1), rtol=1e-12)
    np.testing.assert_allclose(data.squared_norms, ((rows - X.mean(axis=0)) ** 2).sum(axis=1), rtol=1e-11)


def test_without_searches_or_labels():
    data = BlockRows(Parts(X), None, [])
    assert data._numbers.size == 0
    np.testing.assert_allclose(data.F.block(slice(None)), [X.mean(axis=0)], rtol=1e-12)
    assert data.counts.tolist() == [N]
    classes = BlockRows(Parts(X), Y, [])
    assert classes.classes.tolist() == [0, 1, 2, -1]


def test_distances_are_those_between_rows_with_links():
    data = BlockRows(Parts(X), None, [Search(3, "manhattan", queries=9)])
    rows = np.arange(data._numbers.size)
    found, _ = _spaces.space(data, "manhattan").indexed(rows).kneighbors(n_neighbors=2)
    expected = np.sort(cdist(X[data._numbers], X[data._numbers], "cityblock"), axis=1)[:, 1:3]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_rows_that_came_and_went(labelled, scaled):
    """Each class that has rows is its mean; class 1 has none, and the last are those of unknown label."""
    classes = np.where(Y == 1, 2, Y)
    moments = ClassMoments.none(D, False).grown(3, False)
    moments.add(X, classes, np.full(N, 0.75))
    data = ClassRows(moments, labelled, X.dtype, (lambda deviations: SCALE) if scaled else None)
    A = X / SCALE if scaled else X
    means = [A[classes == label].mean(axis=0) for label in (0, 2, -1)]
    np.testing.assert_allclose(data.F.block(slice(None)), means, rtol=1e-12)
    assert (data.classes.tolist() if labelled else data.classes) == ([0, 2, -1] if labelled else None)
    np.testing.assert_allclose(data.class_sizes, [0.75 * (classes == label).sum() for label in (0, 1, 2)])
    np.testing.assert_allclose(data.class_means[[0, 2]], means[:2], rtol=1e-12)
    np.testing.assert_allclose(data.mean, A.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(data.counts, [np.ceil(0.75 * (classes == label).sum()) for label in (0, 2, -1)])
    assert data.n_samples == pytest.approx(0.75 * N)
    assert data._numbers.size == 0
    assert (data.scale is None) is not scaled


def test_lengths_of_sparse_rows_are_about_the_origin():
    data = BlockRows(Parts(sparse.csr_array(X)), None, [Search(3, queries=9)])
    lengths = np.linalg.norm(X[data._numbers], axis=1)
    np.testing.assert_allclose(data.norms, lengths, rtol=1e-12)
    np.testing.assert_allclose(data.squared_norms, lengths**2, rtol=1e-12)
    assert data.counts is None


def test_equal_searches_are_one():
    """A search that is asked for twice is kept once."""
    data = BlockRows(Parts(X), None, [Search(3, queries=9), Search(3, queries=9)])
    assert len([key for key in data._kept if key[0] == "neighbors"]) == 1


def test_zero_rows_are_named():
    A = X.copy()
    A[57] = 0
    with pytest.raises(ValueError, match="row 57 of X"):
        BlockRows(Parts(A), None, [Search(3, "cosine", queries=9)])
    data = BlockRows(Parts(A), None, [Search(3, queries=N - 1)])
    with pytest.raises(ValueError, match=r"weights.* row 57 of X"):
        data.require_nonzero_rows("weights")
    BlockRows(Parts(X), None, [Search(3, queries=9)]).require_nonzero_rows("weights")
    _blocks._require_nonzero(X, 0)


def test_room():
    """Rows with links and sums of products take at most half of the working memory."""
    searches = [Search(4, queries=20), Search(2, queries=10), Search(4, queries=20)]
    size = (20 * 5 + 10 * 3) * D * 8 + 4 * D * D * 8
    with config_context(working_memory=2 * size / 2**20):
        require_room(Parts(X), searches)
        require_room(Parts(X), [])
    with config_context(working_memory=1.99 * size / 2**20):
        with pytest.raises(ValueError, match="queries=20 and their neighbours are up to 130 rows of 4 features"):
            require_room(Parts(X), searches)
        require_room(Parts(sparse.csr_array(X)), searches)
        require_room(Parts(X.astype(np.float32)), searches)
    with config_context(working_memory=N * 5 * D * 8 / 2**20), pytest.raises(ValueError, match=f"queries={N} "):
        require_room(Parts(X), [Search(4)])


@pytest.mark.parametrize("most", [2, 127, 128, 40_000])
def test_small_numbers_hold_all_classes(most):
    given = np.r_[-1, np.arange(most + 1)]
    np.testing.assert_array_equal(_blocks._small(given), given)
    assert _blocks._small(given).dtype == (np.int8 if most < 128 else np.int16 if most < 2**15 else np.int32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_links_take_at_most_half_of_the_working_memory(dtype):
    """20 queries and 5 neighbours of each are 120 rows; sums of products take four matrices of features in float64."""
    blocks = Parts(rng.standard_normal((N, 50)).astype(dtype))
    size = 120 * 50 * np.dtype(dtype).itemsize + 4 * 8 * 50**2
    with config_context(working_memory=2.01 * size / 2**20):
        require_room(blocks, [Search(5, queries=20)])
    with config_context(working_memory=1.99 * size / 2**20), pytest.raises(ValueError, match="up to 120 rows"):
        require_room(blocks, [Search(5, queries=20)])
