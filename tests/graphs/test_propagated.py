"""Propagated: labels that spread to unlabelled rows, compared with a dense solve of the definition."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelSpreading

from lapwing import LFDA, LPP, MMC, OLPP, KernelLFDA, KernelLPP, LaplacianScore, load, save
from lapwing.data import as_data
from lapwing.graphs import KNN, Propagated
from lapwing.selection import LabelledSplit, SemiSupervised
from lapwing.testing import check_graph

FIRST = KernelLPP("auto", graph="supervised")
X, TRUE = (part[:500] for part in load_digits(return_X_y=True))
Y = np.full(500, -1)
for c in range(10):
    Y[np.flatnonzero(c == TRUE)[: 3 + c % 3]] = c


def spread(graph, X=X, y=Y):
    return graph.fitted(as_data(X, y))


def dense_scores(W, y):
    """Poisson learning by its definition, in each piece of the graph by itself."""
    classes = np.unique(y[y >= 0])
    scores = np.full((len(y), classes.size), -np.inf)
    near = np.linalg.matrix_power(np.eye(len(W)) + (W > 0), len(W)) > 0
    for piece in {tuple(np.flatnonzero(row)) for row in near}:
        rows = np.array(piece)
        known = y[rows] >= 0
        if known.any():
            B = np.where(known[:, None], y[rows, None] == classes, 0.0)
            there = B.any(axis=0)
            B[known] -= B[known].mean(axis=0)
            own = W[np.ix_(rows, rows)]
            U = np.linalg.solve(1.0001 * np.diag(own.sum(axis=1)) - own, B)
            scores[np.ix_(rows, np.flatnonzero(there))] = (U - U.mean(axis=0))[:, there]
    return scores / scores[np.isfinite(scores)].std()


@pytest.mark.parametrize("pieces", [1, 3])
def test_scores_are_those_of_the_definition(pieces):
    A, _ = make_blobs([20] * pieces, 3, random_state=0, cluster_std=1 if pieces == 1 else 0.1)
    y = np.full(len(A), -1)
    y[[0, 1, 2, 7, 11]] = [0, 1, 0, 1, 2]
    found = spread(Propagated(None, KNN(4), shares=None), A, y)
    W = KNN(4).adjacency(as_data(A)).toarray()
    expected = dense_scores(W, y)
    assert (np.isfinite(found.scores_) == np.isfinite(expected)).all()
    known = np.isfinite(expected)
    np.testing.assert_allclose(found.scores_[known], expected[known], atol=1e-4)
    free = (y < 0) & known.any(axis=1)
    assert (found.labels_[free] == expected[free].argmax(axis=1)).all()


def test_links_are_those_to_the_nearest_rows_without_a_label():
    A, _ = make_blobs(30, 2, centers=3, random_state=1)
    y = np.full(30, -1)
    y[[0, 1, 2, 7, 11]] = [0, 1, 0, 1, 2]
    W = np.zeros((30, 30))
    for i in range(30):
        d = np.where((y >= 0) | (np.arange(30) == i), np.inf, np.linalg.norm(A - A[i], axis=1))
        near = np.argsort(d)[:4]
        W[i, near] = np.exp(-4 * (d[near] / d[near[-1]]) ** 2)
    np.testing.assert_allclose(
        spread(Propagated(None, 4, shares=None), A, y).scores_, dense_scores((W + W.T) / 2, y), atol=1e-4
    )


def test_labels_that_the_first_map_draws_together_spread_as_well():
    y = np.arange(300) % 3
    A = np.random.default_rng(0).normal(size=(300, 200)) + 2.5 * (y[:, None] == np.arange(200))
    known = np.where(np.arange(300) < 90, y, -1)  # 30 labels per class, more than there are neighbours
    found, alone = (spread(Propagated(FIRST, graph), A, known) for graph in (10, KNN(10)))
    assert (found.labels_ == y)[90:].mean() > 0.8
    assert (alone.labels_ == y)[90:].mean() < 0.5  # among all neighbours, labels are pieces of their own


def test_rows_that_no_label_reaches_stay_unknown():
    A = np.concatenate([np.linspace(0, 1, 10), np.linspace(50, 51, 10), np.linspace(90, 91, 10)])[:, None]
    y = np.full(30, -1)
    y[[0, 3, 10]] = [4, 4, 7]
    labels = spread(Propagated(None, KNN(2)), A, y).labels_
    assert labels.tolist() == [4] * 10 + [7] * 10 + [-1] * 10


@pytest.mark.parametrize("method", [LPP(5), OLPP(5), KernelLPP(5), LaplacianScore(5), LFDA(5), KernelLFDA(5)])
def test_the_map_is_that_of_all_rows_with_the_labels_that_spread(method):
    model = method.set_params(graph=Propagated(FIRST)).fit(X, Y)
    labels = model.graph_.labels_
    assert (labels[Y >= 0] == Y[Y >= 0]).all()
    assert (labels == TRUE).mean() > 0.9
    expected = method.set_params(graph="supervised").fit(X, labels)
    np.testing.assert_allclose(model.transform(X), expected.transform(X), atol=1e-10)


def test_the_first_map_leads_labels_past_columns_that_say_nothing():
    random = np.random.default_rng(0)
    A, y = make_blobs(300, 4, centers=3, cluster_std=2, random_state=4)
    A = np.hstack([A, 12 * random.normal(size=(300, 6))])
    known = np.where(random.random(300) < 0.2, y, -1)
    first, alone = (spread(Propagated(map_), A, known).labels_ for map_ in (LPP(2, graph="supervised"), None))
    rival = LabelSpreading(kernel="knn", n_neighbors=7).fit(A, known).transduction_
    right = [(labels == y)[known < 0].mean() for labels in (first, alone, rival)]
    assert right[0] > 0.9 > 0.8 > max(right[1:])


def test_shares():
    shares = {0: 0.3, **dict.fromkeys(range(1, 10), 0.7 / 9)}
    labels = spread(Propagated(FIRST, shares=shares)).labels_
    assert abs((labels == 0).mean() - 0.3) < 0.05
    asked = np.bincount(spread(Propagated(FIRST, shares="labels")).labels_) / 500
    assert abs(asked - np.bincount(Y[Y >= 0]) / (Y >= 0).sum()).max() < 0.05


def test_automatic_shares_are_between_those_of_scores_and_of_nearest_labels():
    A, y = make_blobs([200, 60, 40], 2, centers=[[0, 0], [4, 0], [2, 3]], random_state=0)
    known = np.full(300, -1)
    for c in range(3):
        known[np.flatnonzero(y == c)[:3]] = c
    nearest = np.linalg.norm(A[:, None] - A[known >= 0], axis=2).argmin(axis=1)
    free = spread(Propagated(None, shares=None), A, known).scores_.argmax(axis=1)
    counts = np.bincount(known[known >= 0][nearest]) * np.bincount(free)
    expected = np.sqrt(counts) / np.sqrt(counts).sum()
    found = np.bincount(spread(Propagated(None), A, known).labels_) / 300
    assert abs(found - expected).max() < 0.02
    assert abs(found - np.bincount(free) / 300).max() > 0.05


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"shares": {0: 1.0}}, "a positive share for each of the classes"),
        ({"shares": "equal"}, "shares=.equal"),
        ({"graph": 0}, "graph=0"),
        ({"graph": KNN(5, among="same_class")}, "reads no labels"),
        ({"graph": "knn"}, "must be a number of neighbours"),
        ({"map": 10}, "map=10 must be an estimator that transforms"),
        ({"map": LPP}, "must be an estimator that transforms"),
        ({"map": LPP(99, graph="supervised")}, r"map=LPP\(.*\) does not fit the 39 labelled rows: n_components=99"),
    ],
)
def test_parameters_that_are_wrong_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        spread(Propagated(**{"map": FIRST, **parameters}))


def test_sparse_rows_words_for_labels_and_the_order_of_rows():
    expected = spread(Propagated(FIRST)).labels_
    assert (spread(Propagated(FIRST), sparse.csr_array(X)).labels_ == expected).mean() > 0.99
    words = np.array([*"abcdefghij", "-1"])
    assert (spread(Propagated(FIRST), y=words[Y]).labels_ == words[expected]).all()
    order = np.random.default_rng(0).permutation(500)
    assert (spread(Propagated(FIRST), X[order], Y[order]).labels_ == expected[order]).mean() > 0.99
    assert (spread(Propagated(FIRST), 3 * X + 7).labels_ == expected).mean() > 0.99


def test_one_label_per_class_needs_no_first_map():
    one = np.full(500, -1)
    for c in range(10):
        one[np.flatnonzero(c == TRUE)[0]] = c
    assert (spread(Propagated(FIRST), y=one).labels_ == spread(Propagated(None), y=one).labels_).all()


def test_a_grid_search_spreads_labels_in_each_fold():
    model = SemiSupervised(LPP("auto", graph=Propagated(FIRST)))
    search = GridSearchCV(model, {"reducer__graph__graph": [5, 10]}, cv=LabelledSplit(2)).fit(
        X, np.where(TRUE % 3, Y, TRUE)
    )
    assert search.best_score_ > 0.8


def test_a_fitted_graph_belongs_to_its_rows():
    graph = spread(Propagated(FIRST))
    with pytest.raises(ValueError, match="labels have spread to 500 rows, and X has 400"):
        graph.terms(as_data(X[:400], Y[:400]))


def test_check_graph():
    check_graph(Propagated(FIRST))


@pytest.mark.parametrize("graph", ["propagate", Propagated(FIRST)])
def test_sample_weight_is_refused(graph):
    with pytest.raises(ValueError, match=r"sample_weight does not act on .*: Propagated counts rows"):
        LPP(graph=graph).fit(X, Y, sample_weight=np.ones(500))
    assert not hasattr(LPP(graph=graph), "partial_fit")
    assert MMC(2).fit(X, spread(Propagated(FIRST)).labels_).components_.shape == (2, 64)


def test_the_word_is_the_graph_with_a_kernel_map_first():
    found, expected = (LPP("auto", graph=graph).fit(X, Y) for graph in ("propagate", Propagated(FIRST)))
    np.testing.assert_array_equal(found.components_, expected.components_)
    assert repr(found.graph_) == repr(expected.graph_)


def test_tensors():
    torch = pytest.importorskip("torch")
    model = LPP("auto", graph="propagate").fit(torch.from_numpy(X), Y)
    assert (model.graph_.labels_ == spread(Propagated(FIRST)).labels_).all()


def test_a_model_file_keeps_the_labels(tmp_path):
    model = LPP("auto", graph="propagate").fit(X, Y)
    save(model, tmp_path / "model.lapwing")
    assert (load(tmp_path / "model.lapwing").graph_.labels_ == model.graph_.labels_).all()
