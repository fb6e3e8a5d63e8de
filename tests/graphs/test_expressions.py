"""Graphs as expressions: they print as they are typed, and what a leaf is, the expression knows."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from helpers import each, inverse
from oracles import toy
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr
from sparse_kinds import random_csr

from lapwing import LPP, KernelLPP, LaplacianEigenmaps, graphs
from lapwing.data import as_data
from lapwing.graphs import (
    KNN,
    Chain,
    ClosestPairs,
    CodingLength,
    Combination,
    Complete,
    Delaunay,
    DensityCorrected,
    Graph,
    Grid,
    Intersection,
    OtherClass,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Scaled,
    Similarity,
    TangentAlignment,
    Target,
)

X, Y = toy(4)
N = len(X)
W = np.ones((N, N))
NAMES = {**vars(graphs), "inverse": inverse, "array": np.array, "KNeighborsTransformer": KNeighborsTransformer}


def equal(a, b):
    """Equal in kind and in parameters, numbers by value."""
    if isinstance(a, Graph):
        mine, other = a.get_params(deep=False), b.get_params(deep=False)
        return type(a) is type(b) and all(equal(mine[name], other[name]) for name in mine)
    if isinstance(a, np.ndarray) or hasattr(a, "get_params"):
        return repr(a) == repr(b)
    return a is b or a == b


PRINTED = {
    "KNN(5) + SameClass()": KNN(5) + SameClass(),
    "KNN(5) - 0.2 * Repulsion(15)": KNN() - 0.2 * Repulsion(),
    "(KNN(5) & SameClass()) - (KNN(5) & OtherClass())": (KNN(5) & SameClass()) - (KNN(5) & OtherClass()),
    "2 * KNN(7, weights='binary', metric='cosine')": 2.0 * KNN(7, metric="cosine", weights="binary"),
    "-KNN(3) + SameClass('heat', t=2.0)": -KNN(3) + SameClass("heat", t=2.0),
    "KNN(5) - (SameClass() - 2 * OtherClass())": KNN(5) - (SameClass() - 2 * OtherClass()),
    "KNN(5) + SameClass() - OtherClass()": KNN(5) + SameClass() - OtherClass(),
    "-(KNN(5) + SameClass())": -(KNN(5) + SameClass()),
    "0.5 * (KNN(5) & SameClass())": (KNN(5) & SameClass()) / 2,
    "(KNN(5) - SameClass()) & Radius(0.5)": (KNN(5) - SameClass()) & Radius(0.5),
    "(2 * KNN(5)) & Radius(1.0)": 2 * KNN(5) & Radius(),
    "KNN(5) & SameClass() & Radius(0.5)": KNN(5) & SameClass() & Radius(0.5),
    "KNN(5) & (SameClass() & Radius(0.5))": KNN(5) & (SameClass() & Radius(0.5)),
    "1e-05 * KNN(5) + 1e+20 * Complete()": 1e-5 * KNN(5) + 1e20 * Complete(),
    "KNN(5, weights=inverse)": KNN(weights=inverse),
    "KNN(5, search=KNeighborsTransformer(mode='connectivity'))": KNN(search=KNeighborsTransformer(mode="connectivity")),
    "KNN(3) - 0.25 * Repulsion(4)": KNN(np.int64(3)) - np.float32(0.25) * Repulsion(np.int32(4)),
    "Pairs([[0, 1]], cannot_link=[[2, 3]])": Pairs([[0, 1]], [[2, 3]]),
    "Pairs(cannot_link=[[2, 3]])": Pairs(cannot_link=[[2, 3]]),
    "Precomputed(array([[0, 1], [1, 0]]))": Precomputed(np.array([[0, 1], [1, 0]])),
    "ClosestPairs(20)": ClosestPairs(),
    "2 * DensityCorrected(KNN(5) | Chain(1), alpha=0.5)": 2 * DensityCorrected(KNN() | Chain(), 0.5),
    "Delaunay(longest=2.0) + Grid(1.0, corners=True)": Delaunay(longest=2.0) + Grid(corners=True),
    "Target(7, weights='binary')": Target(7, weights="binary"),
    "KNN(5) | Chain(1)": KNN(5) | Chain(),
    "KNN(5) | Radius(1.0) | Chain(2)": KNN() | Radius() | Chain(2),
    "KNN(5) | (Radius(1.0) | Chain(2))": KNN() | (Radius() | Chain(2)),
    "(KNN(5) & SameClass()) | (2 * Chain(1, time=0))": KNN() & SameClass() | 2 * Chain(time=0),
    "(KNN(5) | Chain(1)) & SameClass()": (KNN() | Chain()) & SameClass(),
    "(KNN(5) | Chain(1)) - 0.5 * (KNN(3) | Radius(1.0))": (KNN() | Chain()) - 0.5 * (KNN(3) | Radius()),
    "Similarity(KNN(5) + SameClass()) - Similarity(Precomputed(array([[0, 1], [1, 0]])))": (
        Similarity(KNN() + SameClass()) - Similarity(Precomputed(np.array([[0, 1], [1, 0]])))
    ),
    "TangentAlignment(12, n_components=2)": TangentAlignment(n_components=2),
}


@each("text", PRINTED)
def test_graphs_print_as_they_are_typed(text):
    assert repr(PRINTED[text]) == str(PRINTED[text]) == text
    assert equal(eval(text, NAMES), PRINTED[text])
    assert repr(LPP(graph=PRINTED[text])) == f"LPP(graph={text})"
    assert f"LPP(graph={text})" in repr(make_pipeline(LPP(graph=PRINTED[text])))


LEAVES = [
    lambda rng: KNN(int(rng.randint(1, 9)), weights=["heat", "binary", inverse][rng.randint(3)]),
    lambda rng: Radius(float(rng.rand())),
    lambda rng: SameClass(["uniform", "heat"][rng.randint(2)]),
    lambda rng: OtherClass(),
    lambda rng: Complete(among=["all", "labelled"][rng.randint(2)]),
    lambda rng: Repulsion(int(rng.randint(1, 20)), normalized=bool(rng.randint(2))),
    lambda rng: Pairs([[0, int(rng.randint(1, 9))]]),
    lambda rng: CodingLength(4, weights=["coding_length", "uniform"][rng.randint(2)]),
    lambda rng: Reconstruction(3, reg=float(10.0 ** -rng.randint(9))),
    lambda rng: Chain(int(rng.randint(1, 9)), series=[None, 0][rng.randint(2)]),
    lambda rng: Similarity(KNN(int(rng.randint(1, 9))) - 0.5 * SameClass()),
]


def expression(rng, depth):
    """A random one, from operators alone."""
    if depth == 0 or rng.rand() < 0.1:
        return LEAVES[rng.randint(len(LEAVES))](rng)
    left = expression(rng, depth - 1)
    scale = [2, -1, 0.1, np.float64(-3.5), 1 / 3, 1e-7, 12345678.0][rng.randint(7)]
    kind = rng.randint(8)
    if kind in (0, 1):
        return (scale * left, -left)[kind]
    right = expression(rng, depth - 1)
    return (left + right, left - right, left & right, left - scale * right, left / 4 + right, left | right)[kind - 2]


@each("seed", range(60))
def test_what_prints_evaluates_to_an_equal_graph(seed):
    graph = expression(np.random.RandomState(seed), 1 + seed % 5)
    assert "\n" not in repr(graph)
    for again in (eval(repr(graph), NAMES), clone(graph), pickle.loads(pickle.dumps(graph))):
        assert again is not graph
        assert equal(again, graph)
        assert repr(again) == repr(graph)


def test_printing_never_fails():
    """Also of what is no graph, before it says so."""
    assert repr(Combination(7, None, "a")) == "7 + 'a' * None"
    assert repr(Combination(KNN(), KNN(), np.nan)) == "KNN(5) + nan * KNN(5)"
    assert repr(Scaled(None, None)) == "None * None"
    assert repr(Intersection(1, 2)) == "1 & 2"
    big = random_csr((500, 500), 0.1)
    assert repr(Precomputed(big.toarray())) == "Precomputed(<ndarray of shape (500, 500)>)"
    assert "500" in repr(Precomputed(big))
    assert len(repr(Pairs(np.arange(2000).reshape(-1, 2).tolist()))) < 300


def test_notebooks():
    page = estimator_html_repr(LPP(graph=KNN(5) + 0.5 * SameClass()).fit(X, Y))
    assert "KNN(5) + 0.5 * SameClass()" in page


# What leaves are


OF_LEAVES = {  # attribute: two graphs, of which one has it
    "reads_labels": (KNN(3), KNN(3, among="same_class"), any),
    "reads_targets": (SameClass(), Target(3), any),
    "reads_features": (Precomputed(W), KNN(3), any),
    "indexes_rows": (KNN(3), Precomputed(W), any),
    "is_semidefinite": (KNN(3), Similarity(KNN(3)), all),
}
OPERATIONS = [
    (1, lambda a: 0.5 * a),
    (1, lambda a: 2 * (a + a)),
    (2, lambda a, b: a + b),
    (2, lambda a, b: a + 0.5 * b),
    (2, lambda a, b: a & b),
    (2, lambda a, b: 3 * (a & (2 * b))),
    (3, lambda a, b, c: a + (b & c)),
    (3, lambda a, b, c: (a + b) & c),
    (3, lambda a, b, c: a & (b + c)),
    (3, lambda a, b, c: a + 2 * (b + 3 * c)),
]


def test_every_attribute_is_tried():
    """Whatever a subclass may say of itself is in the table above."""
    said = {name for name in vars(Graph) if name.startswith(("reads_", "is_", "indexes_", "has_"))}
    assert said == {*OF_LEAVES, "is_laplacian"}


@each("name", OF_LEAVES)
@each("place", range(len(OPERATIONS)))
def test_no_attribute_of_a_leaf_is_forgotten(name, place):
    *leaves, of = OF_LEAVES[name]
    assert [bool(getattr(leaf, name)) for leaf in leaves] == ([False, True] if of is any else [True, False])
    n, operation = OPERATIONS[place]
    for code in range(2**n):
        chosen = [leaves[code >> i & 1] for i in range(n)]
        if name == "is_semidefinite" and leaves[1] in chosen and "&" in repr(operation(*chosen)):
            continue  # & keeps the weights of the left side alone
        assert getattr(operation(*chosen), name) == of(getattr(leaf, name) for leaf in chosen), chosen


@pytest.mark.parametrize("place", range(len(OPERATIONS)))
def test_searches_are_those_of_the_leaves(place):
    n, operation = OPERATIONS[place]
    leaves = [KNN(3 + i, queries=9) for i in range(n)]
    graph = operation(*leaves)
    assert {request.n_neighbors for request in graph.requests()} == {3 + i for i in range(n)}


def test_repulsion_is_not_semidefinite():
    assert not (KNN(3) - SameClass()).is_semidefinite
    assert not (-KNN(3)).is_semidefinite
    assert not Pairs([[0, 1]], [[2, 3]]).is_semidefinite
    assert Pairs([[0, 1]], []).is_semidefinite
    assert not ((KNN(3) - SameClass()) & Radius()).is_semidefinite
    assert (KNN(3) & -SameClass()).is_semidefinite
    assert (2 * KNN(3) - 0.0 * SameClass()).is_semidefinite


@pytest.mark.parametrize("place", range(len(OPERATIONS)))
def test_whether_it_is_a_laplacian(place):
    n, operation = OPERATIONS[place]
    for code in range(2**n):
        graph = operation(*(Repulsion(7, normalized=bool(code >> i & 1)) for i in range(n)))
        sums = [np.abs(term.laplacian @ np.ones(N)).max() for term in graph.build(X, Y)]
        assert graph.is_laplacian == (max(sums) < 1e-10), graph


@pytest.mark.filterwarnings("ignore:eigenvalues . and . are equal")
def test_free_maps_of_given_graphs_need_no_features():
    constant = np.ones((N, 2))
    for graph in (Precomputed(W) & Precomputed(W), 2 * Precomputed(W), Precomputed(W) + Pairs([[0, 1]])):
        assert LaplacianEigenmaps(graph=graph).fit(constant).embedding_.shape == (N, 2)
    with pytest.raises(ValueError, match="constant"):
        LaplacianEigenmaps(graph=Precomputed(W) & KNN(3)).fit(constant)


@pytest.mark.parametrize("nest", [KNN(5) + Radius(0.5), KNN(5) & SameClass(), SameClass() + 2 * (KNN(5) & Radius(0.5))])
def test_what_is_taken_from_the_data_is_written_out(nest):
    before = repr(nest)
    resolved = nest.resolved(as_data(X, Y))
    assert "t=" in repr(resolved)
    assert repr(nest) == before
    for a, b in zip(nest.build(X, Y), resolved.build(X, Y), strict=True):
        np.testing.assert_allclose(a.laplacian.toarray(), b.laplacian.toarray())


# Long sums


def test_long_sums():
    """Of a hundred graphs, built, printed, copied and fitted."""
    graph = sum(KNN(1 + i % 9, t=1.0 + i) for i in range(100))
    assert repr(graph).count("KNN(") == 100
    assert len(graph.build(X)) == len(graph.requests()) == 100
    assert repr(clone(graph)) == repr(graph)
    assert (graph.reads_labels, graph.is_semidefinite) == (False, True)
    assert LPP(1, graph=graph & SameClass()).fit(X, Y).graph_ is not graph


def test_sums_that_are_too_long():
    graph = sum(KNN(3, t=1.0 + i) for i in range(3000))
    with pytest.raises(RecursionError):
        LPP(1, graph=graph).fit(X)


def test_long_sums_are_copied_and_pickled():
    graph = sum(KNN(1 + i % 9, t=1.0 + i) for i in range(100)) - 0.5 * SameClass()
    for again in (pickle.loads(pickle.dumps(graph)), deepcopy(graph), copy(graph)):
        assert repr(again) == repr(graph)
        assert again is not graph
    model = pickle.loads(pickle.dumps(LPP(1, graph=graph)))
    assert repr(model) == repr(LPP(1, graph=graph))
    kept = deepcopy(KNN(5) - 0.2 * Repulsion(15))
    assert kept.set_params(left__n_neighbors=7).left.n_neighbors == 7


def test_nothing_is_added():
    """``sum`` begins with 0, and so may a loop."""
    graph = KNN(5)
    for same in (graph + 0, 0 + graph, graph - 0, graph + 0.0, sum([graph, 0])):
        assert same is graph
    for wrong in (lambda: graph + 1, lambda: 1 + graph, lambda: graph - 1, lambda: 0 - graph):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong()


# Parameters


def test_parameters_of_a_graph():
    graph = KNN(5) - 0.2 * Repulsion(15)
    assert graph.get_params(deep=False) == {"left": graph.left, "right": graph.right, "scale": -0.2}
    assert graph.set_params(left=Radius(), left__radius=3.0) is graph
    assert graph.left.radius == 3.0
    with pytest.raises(ValueError, match="Radius has no parameter 'n_neighbors'; it has radius, weights"):
        graph.set_params(left__n_neighbors=3)
    with pytest.raises(ValueError, match="OtherClass has no parameter 'k'; it has none"):
        OtherClass().set_params(k=3)


# A weight matrix that is symmetric up to its own rounding


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_single_precision_weights(make):
    weights = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)).astype(np.float32)
    weights[2, 1] *= 1 + 2e-6
    assert (weights != weights.T).any()
    (term,) = Precomputed(make(weights)).build(X)
    L = term.laplacian.toarray()
    np.testing.assert_array_equal(L, L.T)
    mean = (weights.astype(float) + weights.T) / 2
    np.testing.assert_allclose(L, np.diag(mean.sum(axis=1)) - mean, atol=1e-12)
    for dtype, wrong in ((np.float32, 1e-3), (np.float64, 2e-6)):
        off = (weights + weights.T).astype(dtype)
        off[2, 1] *= 1 + wrong
        with pytest.raises(ValueError, match="not symmetric"):
            Precomputed(make(off)).build(X)


def test_a_single_precision_kernel():
    K = (X @ X.T).astype(np.float32)
    K[1, 0] += np.float32(5e-6) * K.max()
    assert (K != K.T).any()
    KernelLPP(2, kernel="precomputed").fit(K)
    for dtype, wrong in ((np.float32, 1e-3), (np.float64, 1e-6)):
        off = (X @ X.T).astype(dtype)
        off[1, 0] += dtype(wrong) * off.max()
        with pytest.raises(ValueError, match=r"symmetric kernel matrix.*largest difference.*\(K \+ K\.T\) / 2"):
            KernelLPP(2, kernel="precomputed").fit(off)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_weights_of_any_dtype(dtype):
    near = KNN(4, weights="binary").adjacency(as_data(X)).toarray()
    (term,) = Precomputed(near.astype(dtype)).build(X)
    np.testing.assert_array_equal(term.laplacian.toarray(), np.diag(near.sum(axis=1)) - near)
    assert term.laplacian.sparse.dtype == np.float64


# What fits one data set


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Precomputed(W), "cross-validation"),
        (Pairs([[0, N - 1]]), "cross-validation"),
        (Pairs(cannot_link=[[0, N - 1]]), "cross-validation"),
        (KNN(3) & Precomputed(W), "cross-validation"),
        (Precomputed(W) & KNN(3), "cross-validation"),
        (KNN(3) + 2 * Pairs([[0, N - 1]]), "cross-validation"),
        (KNN(3) & Pairs([[0, N - 1]]), "cross-validation"),
    ],
    ids=repr,
)
def test_a_fold_of_another_size(graph, message):
    assert graph.indexes_rows
    graph.build(X)
    with pytest.raises(ValueError, match=message):
        graph.build(X[:-5])
    with pytest.raises(ValueError, match=message):
        LPP(1, graph=graph).fit(X[:-5])
