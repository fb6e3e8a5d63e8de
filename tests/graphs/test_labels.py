"""Labels, known and unknown, and what bad labels and bad parameters say."""

import re
import warnings

import numpy as np
import oracles as o
import pandas as pd
import pytest
from helpers import check_term, close, each, named
from oracles import toy
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer

from lapwing.graphs import (
    KNN,
    ClosestPairs,
    Complete,
    OtherClass,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
)

X, Y = toy(6)
N = len(X)
READERS = {
    "SameClass": (SameClass(), lambda y: o.same_class_weights(y)),
    "SameClass-heat": (SameClass("heat"), lambda y: o.same_class_heat_weights(X, y)),
    "OtherClass": (OtherClass(), lambda y: o.other_class_weights(y)),
    "Complete": (Complete(among="labelled"), lambda y: o.complete_weights(X, y, among="labelled")),
    "KNN-same": (KNN(6, among="same_class"), lambda y: o.knn_weights(X, y, 6, among="same_class")),
    "KNN-other": (KNN(6, among="other_class"), lambda y: o.knn_weights(X, y, 6, among="other_class")),
    "Repulsion": (Repulsion(6), lambda y: o.repulsion_weights(X, y, 6)),
    "ClosestPairs": (ClosestPairs(7), lambda y: o.closest_pairs_weights(X, y, 7)),
    "Reconstruction": (
        Reconstruction(6, among="same_class"),
        lambda y: o.reconstruction(X, y, 6, among="same_class"),
    ),
}
readers = pytest.mark.parametrize(("graph", "oracle"), READERS.values(), ids=READERS)
words = np.array(["ape", "bee", "cat"])[np.maximum(Y, 0)]
ALL_KNOWN = np.arange(N) % 3
UNEVEN = np.where(np.arange(N) < 3, [3, 3, 4] + [0] * (N - 3), Y)  # classes of two and of one


@each("y", [Y, ALL_KNOWN, UNEVEN])
@readers
def test_unknown_and_small_classes(graph, oracle, y):
    if isinstance(graph, Reconstruction) and y is UNEVEN:
        with pytest.raises(ValueError, match=r'among="same_class".*row 2'):
            graph.build(X, y)
    else:
        check_term(graph.build(X, y)[0], oracle(y))


@each(
    ("y", "plain"),
    [
        (Y.tolist(), Y),
        (Y[:, None], Y),
        (Y.astype(float), Y),
        (Y.astype(np.int8), Y),
        (np.where(Y < 0, -1, 70 - 10 * Y), Y),
        (ALL_KNOWN.astype(np.uint8), ALL_KNOWN),
        (ALL_KNOWN > 0, np.minimum(ALL_KNOWN, 1)),
        (words, np.maximum(Y, 0)),
        (words.astype(object), np.maximum(Y, 0)),
        (words.tolist(), np.maximum(Y, 0)),
        (np.where(Y < 0, -1, Y == 1), np.where(Y < 0, -1, Y == 1)),
    ],
)
@readers
def test_kinds_of_labels(graph, oracle, y, plain):
    """Only which labels are equal, and which are -1, matters."""
    check_term(graph.build(X, y)[0], oracle(plain))


@pytest.mark.parametrize("first", [np.argmax(Y >= 0), np.argmax(Y < 0)], ids=["known-first", "unknown-first"])
@pytest.mark.parametrize("make", [np.asarray, list], ids=["array", "list"])
def test_words_with_unknown(make, first):
    """-1 is unknown beside words, too; NumPy would make the list's -1 the word "-1"."""
    mixed = np.where(Y < 0, -1, words.astype(object))
    check_term(SameClass().build(X, make(np.roll(mixed, -first)))[0], o.same_class_weights(np.roll(Y, -first)))


@readers
def test_far_unknown_rows_change_nothing_among_the_known(graph, oracle):
    """Unknown rows that are nobody's neighbours leave the graph of the others as it was."""
    (small,) = graph.build(X, ALL_KNOWN)
    (large,) = graph.build(np.vstack([X, 100 + X]), np.append(ALL_KNOWN, np.full(N, -1)))
    for part, whole in zip(small[1:], large[1:], strict=True):
        padded = np.zeros((2 * N, 2 * N))
        padded[:N, :N] = part.toarray()
        close(whole, padded, 1e-8)


LABEL_ERRORS = {
    "None": (None, "requires y to be passed.*y is None.*-1 marks"),
    "plus-minus": (np.where(Y > 0, 1, -1), r"labels -1 and \+1.*relabel"),
    "plus-minus-float": (np.where(Y > 0, 1.0, -1.0), r"labels -1 and \+1.*relabel"),
    "plus-minus-list": (np.where(Y > 0, 1, -1).tolist(), r"labels -1 and \+1.*relabel"),
    "one-class": (np.full(N, 4), r"y has one class only \(.*4\)"),
    "one-class-and-unknown": (np.where(Y > 0, 4, -1), r"y has one class only \(.*4\)"),
    "one-word": (["ape"] * N, r"y has one class only \(.*ape.*\)"),
    "all-ones": (np.ones(N, dtype=int), r"y has one class only \(.*1\)"),
    "all-unknown": (np.full(N, -1), "y has no known label: every entry is -1"),
    "short": (Y[:-1], f"y has {N - 1} labels, but X has {N} samples"),
    "nan": (np.where(Y < 0, np.nan, Y), "y contains NaN"),
    "inf": (np.where(Y < 0, np.inf, Y), "y contains NaN, infinity"),
    "missing": (np.array(["ape", None] * (N // 2), dtype=object), "y contains NaN.*missing.*mark unknown labels by -1"),
    "pandas NA": (pd.Series(["ape", pd.NA] * (N // 2), dtype="string"), "y contains NaN.*missing"),
    "no date": (np.where(Y < 0, "NaT", "2020-01-01").astype("datetime64[D]"), "y contains NaN.*missing"),
    "plus-minus-object": (np.where(Y > 0, 1, -1).astype(object), r"labels -1 and \+1.*relabel"),
    "mixed": (np.array(["ape", 3] * (N // 2), dtype=object), "y mixes labels of kinds that have no order"),
    "continuous": (np.linspace(0, 1, N), "[Uu]nknown label type: continuous|y .*continuous"),
    "two-columns": (np.column_stack([Y, Y]), "y should be a 1d array"),
}


@each(("y", "message"), LABEL_ERRORS.values())
@readers
def test_bad_labels(graph, oracle, y, message):
    with pytest.raises(ValueError, match=message):
        graph.build(X, y)
    with pytest.raises(ValueError, match=message):
        (KNN(5) & graph if isinstance(graph, SameClass) else KNN(5) - graph).build(X, y)


NEGATIVE, ZERO_ROW = X - X.mean(axis=0), np.vstack([X[:3], np.zeros((1, 4)), X[3:-1]])
LOPSIDED = np.triu(np.ones((N, N)))


def minus(distances):
    return -1 - distances


def short(distances):
    return distances[1:]


def not_a_number(distances):
    return distances * np.nan


def bad_counts():
    for value in (0, -1, 5.0, True, "5", None, np.nan):
        yield KNN(value), f"n_neighbors={value!r} must be a whole number"
        yield Repulsion(value), f"n_neighbors={value!r} must be a whole number"
        yield Reconstruction(value), f"n_neighbors={value!r} must be a whole number"
        yield ClosestPairs(value), f"n_pairs={value!r} must be a whole number"
    for value in (N, N + 5, np.int64(N)):
        for graph in (KNN, Repulsion, Reconstruction):
            yield (
                graph(value),
                f"n_neighbors={value} must be smaller than the number of samples, {N}.*n_neighbors={N - 1}",
            )
    yield KNN(N, among="same_class"), f"n_neighbors={N} must be smaller"
    yield KNN(N, search=KNeighborsTransformer()), f"n_neighbors={N} must be smaller"


def bad_numbers():
    for value in (0, -1.0, np.nan, np.inf, True, "a"):
        if value != "a":
            yield KNN(t=value), f"t={value!r} must be a finite number above 0"
            yield SameClass("heat", t=value), f"t={value!r} must be a finite number above 0"
        yield Radius(value), f"radius={value!r} must be a finite number above 0"
        yield Repulsion(5, sigma=value), f"sigma={value!r} must be a finite number above 0"
    for value in (-1e-3, np.nan, np.inf, "a", None, True):
        yield Reconstruction(reg=value), f"reg={value!r} must be"
    yield Reconstruction(X.shape[1] + 1, reg=0), "reg=0"


def bad_choices():
    for value in ("bogus", None, 3):
        yield KNN(weights=value), f"weights={value!r} must be one of 'heat', 'binary', 'cosine', 'dot'"
        yield Radius(weights=value), f"weights={value!r} must be one of 'heat'"
        yield KNN(among=value), f"among={value!r} must be one of 'all', 'same_class', 'other_class'"
        yield KNN(symmetry=value), f"symmetry={value!r} must be one of 'auto', 'or', 'and', 'mean'"
        yield SameClass(value), f"weights={value!r} must be one of 'uniform', 'heat'"
        yield KNN() & SameClass(value), f"weights={value!r} must be one of 'uniform', 'heat'"
        yield Complete(among=value), f"among={value!r} must be one of 'all', 'labelled'"
        yield Repulsion(weights=value), f"weights={value!r} must be one of 'inverse', 'binary'"
        yield Reconstruction(among=value), f"among={value!r} must be one of 'all', 'same_class'"
    for graph in (KNN(t="bogus"), Radius(t="bogus"), SameClass("heat", t="bogus")):
        yield graph, "t='bogus' must be one of 'auto', 'half-median'"
    yield Reconstruction(among="other_class"), "among='other_class' must be one of 'all', 'same_class'"
    yield KNN(metric="bogus"), "metric.*bogus"
    yield KNN(search=KNeighborsTransformer(), among="same_class"), 'search=.*among="same_class"'


def bad_data():
    """Rows of (graph, X, message)."""
    for graph in (KNN, Repulsion, Reconstruction, ClosestPairs, Radius):
        yield (
            graph(metric="cosine"),
            ZERO_ROW,
            r'metric="cosine" is undefined for zero vectors.*1 \(the first is row 3\)',
        )
    for graph in (KNN, Radius):
        yield graph(weights="cosine"), ZERO_ROW, r'weights="cosine" is undefined for zero vectors.*the first is row 3'
        for weights in ("dot", "cosine"):
            yield (
                graph(20, weights=weights),
                NEGATIVE,
                rf"weights='{weights}' gives negative weights on \d+\.\d% of the edges",
            )
        yield graph(weights=minus), X, r"weights=<function minus.*negative weights on 100\.0% of the edges.*heat"
        yield graph(weights=short), X, r"weights=<function short.*one finite weight per distance"
        yield graph(weights=not_a_number), X, r"weights=<function not_a_number.*one finite weight per distance"
        yield graph(t=1e-300), X, rf"weights='heat' gives weight 0 to all edges of {N} samples.*larger t"
    yield KNN(weights="dot"), ZERO_ROW, "weights='dot' gives weight 0 to all edges of 1 samples.*row 3"
    yield Radius(1e-9), X, "radius=1e-09 gives an empty graph"
    for bad in (np.nan, np.inf):
        yield KNN(), np.where(np.arange(4) == 1, bad, X), "X contains|contains NaN|contains infinity"
    yield Reconstruction(2, reg=0), np.repeat(X[:9], 2, axis=0), "reg=0"
    yield KNN(1), X[:1], "[Ff]ound array with 1 sample"
    yield KNN(1), X[0], "Expected 2D array"
    yield KNN(1), X * 1j, "[Cc]omplex"


def bad_given():
    for W in (np.ones((N - 1, N - 1)), np.ones((N, N - 1)), sparse.eye_array(N + 1, format="csr")):
        yield Precomputed(W), re.escape(f"W has shape {W.shape}, but X has {N} samples") + ".*cross-validation"
    yield Precomputed(LOPSIDED), r"W is not symmetric \(largest difference 1\).*\(W \+ W\.T\) / 2"
    yield Precomputed(sparse.csc_array(LOPSIDED)), "W is not symmetric"
    yield Precomputed(0.1 - np.eye(N)), r"W has negative weights \(\d\.\d% of its entries\).*subtract them"
    yield Precomputed(np.where(np.eye(N), np.nan, 1)), "W contains NaN"
    yield Precomputed(sparse.csr_array(np.where(np.eye(N), np.inf, 1))), "W contains infinity"
    for name in ("must_link", "cannot_link"):
        yield Pairs(**{name: [[0, N]]}), f"Pairs holds row {N}, but X has the rows 0 to {N - 1}.*cross-validation"
        yield Pairs(**{name: [[0, 1], [-1, 2]]}), "Pairs holds row -1"
        yield Pairs(**{name: [[0, 1], [4, 4]]}), "Pairs has row 4 with itself"
        yield Pairs(**{name: [[0, 1, 2]]}), r"must_link and cannot_link must be integer arrays.*not .*\(1, 3\)"
        yield Pairs(**{name: [0, 1]}), r"must_link and cannot_link must be integer arrays.*not .*\(2,\)"
        yield Pairs(**{name: [[0.0, 1.0]]}), r"must_link and cannot_link must be integer arrays.*not .*float"
    for weights in ([1.0], [1.0, -1.0], [1.0, 0.0], [[1.0, 2.0]]):
        yield Pairs([[0, 1], [1, 2]], weights=weights), "weights of Pairs must be a number above 0"
        yield Pairs([[0, 1]], [[1, 2]], weights=weights), "weights of Pairs must be a number above 0"
    yield Pairs(), "Pairs is empty: give must_link or cannot_link"
    yield Pairs([], []), "Pairs is empty"


ERRORS = [
    (graph, X, message) for rows in (bad_counts, bad_numbers, bad_choices, bad_given) for graph, message in rows()
]


@each(("graph", "data", "message"), [pytest.param(*row, id=named(row[0])) for row in [*ERRORS, *bad_data()]])
def test_bad_input(graph, data, message):
    with pytest.raises(ValueError, match=message):
        graph.build(data, ALL_KNOWN[: np.shape(data)[0]])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, int])
def test_numbers_of_any_kind(kind):
    """Grids of parameters are NumPy arrays."""
    graphs = [KNN(5, t=kind(1)), Radius(kind(1)), Repulsion(5, sigma=kind(1)), Reconstruction(3, reg=kind(1))]
    if np.issubdtype(kind, np.integer):
        graphs += [KNN(kind(5), t=1.0), ClosestPairs(kind(5)), Reconstruction(kind(5))]
    for graph in graphs:
        graph.build(X, Y)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.filterwarnings("default:n_neighbors=")
@pytest.mark.parametrize("graph", [KNN(7, among="same_class"), Reconstruction(7, among="same_class")], ids=repr)
def test_fewer_neighbours_than_asked_for_are_said(graph):
    y = np.r_[np.zeros(5), np.ones(N - 5)]
    with pytest.warns(UserWarning, match=r"n_neighbors=7 is more than the 4 other samples of the smallest class"):
        graph.build(X, y)
    with warnings.catch_warnings(action="error"):
        graph.build(X, np.arange(N) % 2)


def test_classes_of_one():
    with pytest.raises(ValueError, match=r'SameClass\("heat"\) needs a pair'):
        SameClass("heat").build(X, np.arange(N))
    few, pair = X[:4], np.array([0, 1, -1, -1])
    check_term(KNN(2, among="same_class").build(few, pair)[0], np.zeros((4, 4)))
    check_term(SameClass().build(few, pair)[0], np.diag([1.0, 1, 0, 0]))


def test_empty_repulsion():
    """Classes that are far apart repel nothing; that is no error of the graph."""
    far = X + 100 * ALL_KNOWN[:, None]
    for graph in (Repulsion(3), Repulsion(3, normalized=True), KNN(3) & OtherClass()):
        (term,) = graph.build(far, ALL_KNOWN)
        assert not term.laplacian.toarray().any()
        check_term(term, np.zeros((N, N)))
