"""Folds of queries, and the score of a search for the documents that belong to them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.preprocessing import FunctionTransformer

from lapwing import RCA
from lapwing.graphs import Pairs
from lapwing.selection import QuerySplit, search_scorer

pd = pytest.importorskip("pandas")
RANDOM = np.random.RandomState(0)
NAMES = np.array([f"q{i}" for i in range(12)] + [f"d{i}" for i in range(30)])
ORDER = RANDOM.permutation(len(NAMES))
X = pd.DataFrame(RANDOM.randn(42, 5), index=NAMES).iloc[ORDER]
PAIRS = [(f"q{i}", f"d{j}") for i in range(12) for j in {i, (7 * i) % 30}] + [("q0", "d99"), ("q99", "d1")]
COUNTS = RANDOM.randint(1, 5, len(PAIRS)).astype(float)
ITSELF = FunctionTransformer().fit(X)


def gain(Z, names, pairs, weights, k):
    """By double loop: each query's documents by the angle, discounted by log2 of their place, beside the best order."""
    unit = {name: row / np.linalg.norm(row) for name, row in zip(names, Z, strict=True)}
    documents = [name for name in names if name.startswith("d")]
    found = []
    for query in (name for name in names if name.startswith("q")):
        worth = dict.fromkeys(documents, 0.0)
        for (a, b), weight in zip(pairs, weights, strict=True):
            if a == query and b in worth:
                worth[b] += weight
        ranked = sorted(documents, key=lambda name: -unit[query] @ unit[name])
        best = sum(w / np.log2(2 + i) for i, w in enumerate(sorted(worth.values(), reverse=True)[:k]))
        if best:
            found.append(sum(worth[name] / np.log2(2 + i) for i, name in enumerate(ranked[:k])) / best)
    return np.mean(found)


@pytest.mark.parametrize("k", [1, 5, 100])
@pytest.mark.parametrize("rows", [slice(None), slice(0, 25)])
def test_the_score_is_its_definition(k, rows):
    some = X.iloc[rows]
    for pairs, weights in ((PAIRS, np.ones(len(PAIRS))), (Pairs(PAIRS, weights=COUNTS, by_id=True), COUNTS)):
        expected = gain(some.to_numpy(), list(some.index), PAIRS, weights, k)
        assert k < 100 or 0 < expected < 1
        np.testing.assert_allclose(search_scorer(pairs, k=k)(ITSELF, some), expected, rtol=1e-12)


def test_folds_share_the_documents_and_part_the_queries():
    folds = list(QuerySplit(PAIRS, 4).split(X))
    assert len(folds) == QuerySplit(PAIRS, 4).get_n_splits() == 4
    documents = {f"d{i}" for i in range(30)}
    for train, test in folds:
        learnt, scored = (set(X.index[rows]) for rows in (train, test))
        assert learnt & scored == documents
        assert learnt | scored == set(X.index)
    assert sorted(name for _, test in folds for name in X.index[test] if name[0] == "q") == sorted(NAMES[:12])
    shuffled = QuerySplit(PAIRS, ShuffleSplit(3, test_size=2, random_state=0))
    assert [len(test) for _, test in shuffled.split(X)] == [32, 32, 32]
    assert shuffled.get_n_splits() == 3


def test_queries_of_a_group_are_scored_together():
    topic = np.array([int(name[1:]) % 3 if name[0] == "q" else -1 for name in X.index])
    for _, test in QuerySplit(PAIRS, 3).split(X, groups=topic):
        asked = [name for name in X.index[test] if name[0] == "q"]
        assert len(asked) == 4
        assert len({int(name[1:]) % 3 for name in asked}) == 1


def test_sides_and_pairs_go_along_into_folds():
    """Each fold is a fit to its rows by hand, whose sides and pairs are told by place."""
    sides = pd.Series(np.where([name[0] == "q" for name in NAMES], "query", "document"), index=NAMES)
    judged = {"cv": QuerySplit(PAIRS, 3), "scoring": search_scorer(PAIRS)}
    model = RCA(2, pairs=Pairs(PAIRS, by_id=True), sides=sides)
    expected = []
    for train, test in judged["cv"].split(X):
        names = list(X.index[train])
        own = [(names.index(a), names.index(b)) for a, b in PAIRS if a in names and b in names]
        by_hand = RCA(2, pairs=np.array(own), sides=[name[0] for name in names]).fit(X.iloc[train])
        np.testing.assert_allclose(clone(model).fit(X.iloc[train]).components_, by_hand.components_, atol=1e-12)
        expected.append(judged["scoring"](by_hand, X.iloc[test]))
    np.testing.assert_allclose(cross_val_score(model, X, error_score="raise", **judged), expected)
    with pytest.raises(ValueError, match="sides does not know the row 'd3'"):
        model.set_params(sides=sides.drop("d3")).fit(X)


def test_what_cannot_be_is_named():
    with pytest.raises(ValueError, match="X of type ndarray has none; pass X as a pandas data frame"):
        search_scorer(PAIRS)(ITSELF, X.to_numpy())
    with pytest.raises(ValueError, match="0 queries of pairs and 30 documents"):
        list(QuerySplit(PAIRS).split(X.loc[[name for name in X.index if name[0] == "d"]]))
    with pytest.raises(ValueError, match="no query among the rows to score has a document"):
        search_scorer(PAIRS)(ITSELF, X.loc[["q1", "d20"]])
    with pytest.raises(ValueError, match="k=0 must be"):
        search_scorer(PAIRS, k=0)
    with pytest.raises(ValueError, match="cv=1 must be"):
        list(QuerySplit(PAIRS, 1).split(X))
