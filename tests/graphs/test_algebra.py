"""Graphs combine: + - * &, nested parameters, and what a bad parameter says."""

import pickle
from operator import add, and_, mul, sub, truediv

import numpy as np
import oracles as o
import pytest
from helpers import check_sum, check_term, close, each, form, named
from oracles import toy
from scipy import sparse
from scipy.linalg import eigvalsh
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

from lapwing import LPP
from lapwing.data import as_data
from lapwing.graphs import (
    KNN,
    ClosestPairs,
    Combination,
    Complete,
    OtherClass,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Scaled,
)
from lapwing.problem import degree_sum, laplacian_sum

X, Y = toy(4)
N = len(X)
GIVEN = o.radius_weights(toy(5)[0], None, 0.5) + np.diag(np.arange(N, dtype=float))

# Weight matrices of graphs, by double loops; a graph may stand on either side of &.
PARTS = {
    "knn": (KNN(5), o.knn_weights(X, Y, 5)),
    "binary": (KNN(7, weights="binary"), o.knn_weights(X, Y, 7, weights="binary")),
    "radius": (Radius(0.5), o.radius_weights(X, Y, 0.5)),
    "same": (SameClass(), o.same_class_weights(Y)),
    "same_heat": (SameClass("heat"), o.same_class_heat_weights(X, Y)),
    "other": (OtherClass(), o.other_class_weights(Y)),
    "complete": (Complete(), o.complete_weights(X, Y)),
    "labelled": (Complete(among="labelled"), o.complete_weights(X, Y, among="labelled")),
    "repulsion": (Repulsion(7), o.repulsion_weights(X, Y, 7)),
    "closest": (ClosestPairs(9), o.closest_pairs_weights(X, Y, 9)),
    "given": (Precomputed(GIVEN), GIVEN),
}
DENSE = {"same", "other", "complete", "labelled"}
KNN5, W_KNN5 = PARTS["knn"]
SAME, OTHER, RADIUS, REPULSION, KNN7 = (PARTS[name][0] for name in ("same", "other", "radius", "repulsion", "binary"))
W_SAME, W_OTHER, W_RADIUS, W_REPULSION, W_KNN7 = (
    PARTS[name][1] for name in ("same", "other", "radius", "repulsion", "binary")
)


def at(W, edges):
    """W on the edges that another weight matrix has."""
    return o.by_pairs(N, lambda i, j: W[i, j] if edges[i, j] != 0 else 0.0)


@each("right", PARTS)
@each("left", PARTS)
def test_intersection(left, right):
    (G, W), (H, edges) = PARTS[left], PARTS[right]
    if left in DENSE and right in DENSE:
        with pytest.raises(ValueError, match=r"neither graph is sparse.*KNN"):
            (G & H).build(X, Y)
    else:
        (term,) = (G & H).build(X, Y)
        assert term.coefficient == 1
        check_term(term, at(W, edges))


@each(
    ("graph", "signed"),
    [
        (KNN5 + SAME, [(1, W_KNN5), (1, W_SAME)]),
        (KNN5 - SAME, [(1, W_KNN5), (-1, W_SAME)]),
        (KNN5 - 0.2 * REPULSION, [(1, W_KNN5), (-0.2, W_REPULSION)]),
        (KNN5 + REPULSION * -0.2, [(1, W_KNN5), (-0.2, W_REPULSION)]),
        (3 * KNN5, [(3, W_KNN5)]),
        (KNN5 * np.float64(3), [(3, W_KNN5)]),
        (np.float32(3) * KNN5, [(3, W_KNN5)]),
        (np.int64(3) * KNN5, [(3, W_KNN5)]),
        (2 * (3 * KNN5), [(6, W_KNN5)]),
        (2 * KNN5 + 3 * SAME, [(2, W_KNN5), (3, W_SAME)]),
        (-(KNN5 - SAME), [(-1, W_KNN5), (1, W_SAME)]),
        (KNN5 - (SAME - OTHER), [(1, W_KNN5), (-1, W_SAME), (1, W_OTHER)]),
        (KNN5 - 2 * (SAME - 3 * OTHER), [(1, W_KNN5), (-2, W_SAME), (6, W_OTHER)]),
        ((KNN7 & SAME) - (KNN7 & OTHER), [(1, at(W_KNN7, W_SAME)), (-1, at(W_KNN7, W_OTHER))]),
        ((KNN5 - 0.3 * SAME) & RADIUS, [(1, at(W_KNN5, W_RADIUS)), (-0.3, at(W_SAME, W_RADIUS))]),
        ((2 * KNN5) & OTHER, [(2, at(W_KNN5, W_OTHER))]),
        (-KNN5 & OTHER, [(-1, at(W_KNN5, W_OTHER))]),
        (KNN5 & (-2 * OTHER), [(1, at(W_KNN5, W_OTHER))]),
        (-2 * (KNN5 - SAME) & RADIUS, [(-2, at(W_KNN5, W_RADIUS)), (2, at(W_SAME, W_RADIUS))]),
        (KNN5 & SAME & RADIUS, [(1, at(at(W_KNN5, W_SAME), W_RADIUS))]),
        (SAME & (KNN5 & RADIUS), [(1, at(W_SAME, at(W_KNN5, W_RADIUS)))]),
        ((-KNN5 & SAME) & RADIUS, [(-1, at(at(W_KNN5, W_SAME), W_RADIUS))]),
        (
            ((KNN5 - SAME) & RADIUS) & KNN7,
            [(1, at(at(W_KNN5, W_RADIUS), W_KNN7)), (-1, at(at(W_SAME, W_RADIUS), W_KNN7))],
        ),
    ],
)
def test_combination(graph, signed):
    """Signed terms, each with a Laplacian of its own; D is the degrees of what attracts."""
    terms = pickle.loads(pickle.dumps(clone(graph))).build(X, Y)
    assert [term.coefficient for term in terms] == pytest.approx([c for c, _ in signed])
    for term, (_, W) in zip(terms, signed, strict=True):
        check_term(term, W)
    L = sum(c * o.laplacian(W)[0] for c, W in signed)
    pulls = [c * o.laplacian(W)[1] for c, W in signed if c > 0]
    check_sum(terms, L, sum(pulls) if pulls else None)
    assert graph.reads_labels == any(word in repr(graph) for word in ("Class", "Repulsion"))


def test_degrees_need_attraction():
    with pytest.raises(ValueError, match=r"no attraction.*penalty="):
        degree_sum((-KNN5 - REPULSION).build(X, Y))


@pytest.mark.parametrize(
    "graph", [KNN5 & Reconstruction(5), Reconstruction(5) & KNN5, KNN5 & (KNN7 + Reconstruction(5))]
)
def test_reconstruction_has_no_edges(graph):
    with pytest.raises(ValueError, match=r"Reconstruction .*& .*\+ and -"):
        graph.build(X, Y)


@pytest.mark.parametrize(
    ("graph", "W"),
    [
        (KNN7 & (SAME + OTHER), at(W_KNN7, W_SAME + W_OTHER)),
        (KNN7 & (KNN5 + RADIUS), at(W_KNN7, W_KNN5 + W_RADIUS)),
        (KNN7 & (KNN5 - 0.5 * RADIUS), at(W_KNN7, W_KNN5 + W_RADIUS)),
        (KNN7 & (KNN5 - KNN5), at(W_KNN7, W_KNN5)),  # edges of either, though the weights add up to nothing
        (KNN7 & (KNN5 + 0 * SAME), at(W_KNN7, W_KNN5)),
        (KNN7 & (0 * SAME), 0 * W_KNN7),
        (SAME & (KNN5 - RADIUS), at(W_SAME, W_KNN5 + W_RADIUS)),
        (SAME & (0 * RADIUS), 0 * W_SAME),
        (KNN7 & ((KNN5 - SAME) & RADIUS), at(W_KNN7, at(W_KNN5 + W_SAME, W_RADIUS))),
        (KNN7 & -(KNN5 + (SAME & RADIUS)), at(W_KNN7, W_KNN5 + at(W_SAME, W_RADIUS))),
    ],
    ids=named,
)
def test_a_sum_filters_by_the_edges_of_any_of_its_graphs(graph, W):
    (term,) = graph.build(X, Y)
    assert term.coefficient == 1
    check_term(term, W)


def test_pairs_of_either_kind_filter():
    i, j = np.argwhere(W_KNN5)[0]
    k, m = np.argwhere(W_KNN5)[-1]
    a, b = np.argwhere((W_KNN5 == 0) & ~np.eye(N, dtype=bool))[0]
    given = o.pairs_weights(N, [(i, j), (k, m), (a, b)])
    (term,) = (KNN5 & Pairs([[i, j], [a, b]], [[k, m], [i, j]])).build(X)
    check_term(term, at(W_KNN5, given))
    (term,) = (SAME & Pairs([[i, j], [a, b]], [[k, m]])).build(X, Y)
    check_term(term, at(W_SAME, given))


def test_a_stored_zero_is_no_edge():
    W = sparse.csr_array(np.ones((N, N)))
    W.data[:N] = 0.0
    W = W.minimum(W.T)
    stored = sparse.csr_array((np.where(W.toarray().ravel() > 0, 1.0, 0.0), np.indices((N, N)).reshape(2, -1)))
    (term,) = (SAME & Precomputed(stored)).build(X, Y)
    check_term(term, at(W_SAME, W.toarray()))


@pytest.mark.parametrize(
    ("graph", "signed"),
    [
        (sum([KNN5, SAME, RADIUS]), [(1, W_KNN5), (1, W_SAME), (1, W_RADIUS)]),
        (sum([KNN5]), [(1, W_KNN5)]),
        (sum((KNN5 for _ in range(2)), start=np.float64(0)), [(1, W_KNN5), (1, W_KNN5)]),
        (np.sum([KNN5, SAME]), [(1, W_KNN5), (1, W_SAME)]),
        (KNN5 / 2, [(0.5, W_KNN5)]),
        (KNN5 / np.float32(4), [(0.25, W_KNN5)]),
        (6 * KNN5 / np.int64(3), [(2, W_KNN5)]),
        ((KNN5 - SAME) / 2, [(0.5, W_KNN5), (-0.5, W_SAME)]),
    ],
    ids=named,
)
def test_arithmetic(graph, signed):
    terms = graph.build(X, Y)
    assert [term.coefficient for term in terms] == [c for c, _ in signed]
    for term, (_, W) in zip(terms, signed, strict=True):
        check_term(term, W)


def test_division_by_zero():
    for zero in (0, 0.0, np.float64(0)):
        with pytest.raises(ZeroDivisionError):
            KNN5 / zero


def test_pairs_are_filtered_on_either_side_of_their_sign():
    near = o.knn_weights(X, Y, 5, weights="binary") > 0
    i, j = np.argwhere(near)[0]
    a, b = np.argwhere(~near & ~np.eye(len(X), dtype=bool))[0]
    must, cannot = (Pairs([[i, j], [a, b]], [[i, j], [a, b]]) & KNN5).build(X, Y)
    assert (must.coefficient, cannot.coefficient) == (1.0, -1.0)
    for term in (must, cannot):
        check_term(term, o.pairs_weights(len(X), [(i, j)]))


def test_a_normalised_graph_is_normalised_after_the_filter():
    kept = Repulsion(9, weights="binary", normalized=True) & KNN(4, weights="binary")
    W = o.repulsion_weights(X, Y, 9, weights="binary") * (o.knn_weights(X, Y, 4, weights="binary") > 0)
    (term,) = kept.build(X, Y)
    check_term(term, o.normalized(W))


@pytest.mark.parametrize("name", ["left", "right"])
@pytest.mark.parametrize("graph", [KNN5 + KNN7, KNN5 & KNN7], ids=named)
def test_a_part_that_is_no_graph(graph, name):
    with pytest.raises(ValueError, match=f"{name}=7 must be a graph"):
        clone(graph).set_params(**{name: 7}).build(X, Y)


@each(
    ("operation", "other"),
    [(add, 1.0), (sub, "a"), (mul, "a"), (mul, KNN()), (truediv, KNN()), (truediv, "a"), (and_, SameClass)],
)
@each("graph", [KNN(), 2 * KNN(), KNN() - SameClass(), KNN() & SameClass()])
def test_operand_of_another_kind(graph, operation, other):
    with pytest.raises(TypeError):
        operation(graph, other)


@pytest.mark.parametrize(("other", "operation"), [(1, add), ("a", add), (0, sub), (2, truediv), (1, and_)])
def test_operand_of_another_kind_on_the_left(other, operation):
    with pytest.raises(TypeError):
        operation(other, KNN())


@pytest.mark.parametrize("scale", [np.nan, np.inf, "a", None])
@pytest.mark.parametrize("make", [Scaled, lambda graph, scale: Combination(KNN(), graph, scale)])
def test_scale_is_a_finite_number(make, scale):
    with pytest.raises(ValueError, match=f"scale={scale!r} must be a finite number"):
        make(KNN(), scale).build(X)


def test_parameters_nest():
    graph = (KNN(5) & SameClass()) - 0.2 * Repulsion(7)
    parameters = graph.get_params()
    assert parameters["scale"] == -0.2
    assert parameters["left__left__n_neighbors"] == 5
    assert parameters["right__sigma"] == 10.0
    new = clone(graph).set_params(
        left__left__n_neighbors=3, left__right__weights="heat", right__n_neighbors=4, scale=-2.0
    )
    same, apart = new.build(X, Y)
    check_term(same, at(o.knn_weights(X, Y, 3), o.same_class_heat_weights(X, Y)))
    check_term(apart, o.repulsion_weights(X, Y, 4))
    assert (same.coefficient, apart.coefficient) == (1, -2)
    assert graph.get_params()["left__left__n_neighbors"] == 5
    assert new.set_params(right=2 * KNN(2)).get_params()["right__graph__n_neighbors"] == 2
    scaled = (3 * KNN(5)).set_params(graph__t=0.5, scale=2.0)
    check_sum(scaled.build(X), 2 * o.laplacian(o.knn_weights(X, Y, 5, t=0.5))[0])


class Counted(KNeighborsTransformer):
    calls = 0

    def fit_transform(self, X, y=None):
        Counted.calls += 1
        return super().fit_transform(X)


def test_equal_searches_run_once():
    search = Counted()
    Counted.calls = 0
    (KNN(5, search=search) + (KNN(5, search=search, weights="binary") & SameClass()) - KNN(4, search=search)).build(
        X, Y
    )
    assert Counted.calls == 2


@pytest.mark.parametrize(
    "other", [{"n_neighbors": 4}, {"metric": "manhattan"}, {"among": "same_class"}, {"among": "other_class"}]
)
def test_different_searches_are_not_confused(other):
    options = {"n_neighbors": 5} | other
    terms = (KNN(5) + KNN(**options)).build(X, Y)
    check_term(terms[0], o.knn_weights(X, Y, 5))
    check_term(terms[1], o.knn_weights(X, Y, options.pop("n_neighbors"), **options))


def test_metric_parameters_are_not_confused():
    """Two long arrays that print alike."""
    wide = np.random.RandomState(0).rand(20, 2000)
    one, two = np.ones(2000), np.ones(2000)
    two[500:1500] = 1e-4
    graphs = [KNN(3, weights="binary", metric="seuclidean", metric_params={"V": V}) for V in (one, two)]
    assert repr(one) == repr(two)
    for term, graph in zip((graphs[0] + graphs[1]).build(wide), graphs, strict=True):
        check_term(term, graph.build(wide)[0][1:])


def labelled_cloud(seed):
    rng = np.random.RandomState(seed)
    n, c = rng.randint(20, 45), rng.randint(2, 6)
    y = np.append(np.arange(c), rng.randint(0 if seed % 2 else -1, c, n - c))
    return rng.randn(n, 3) + rng.rand() * y[:, None], y, c


def negative_eigenvalues(seed, beta):
    cloud, y, c = labelled_cloud(seed)
    repulsion = Repulsion(1 + seed % 9, weights=("inverse", "binary")[seed % 2], normalized=seed % 3 == 0)
    largest = eigvalsh(repulsion.build(cloud, y)[0].laplacian.toarray())[-1]
    A = laplacian_sum((SameClass() - beta / largest * repulsion).build(cloud, y)).toarray()
    return (eigvalsh(A) < -1e-10).sum(), c


@each("seed", range(60))
def test_repulsion_theorem(seed):
    """Kokiopoulou and Saad (2009), theorem 4.1: at beta = 1 / lambda_max(L_r), at most c negative eigenvalues."""
    negative, c = negative_eigenvalues(seed, 1.0)
    assert negative <= c
    assert negative > 0  # repulsion acts


def test_repulsion_theorem_needs_its_beta():
    assert any(negative > c for negative, c in (negative_eigenvalues(seed, 3.0) for seed in range(10)))


def test_identities_of_the_class_graphs():
    """S_w + S_b = S_t, as graphs: Complete = SameClass + what is between the means (thesis eq. 2.37 to 2.42)."""
    y = np.where(Y < 0, 2, Y)
    within, total = SameClass().build(X, y)[0].laplacian, Complete().build(X, y)[0].laplacian
    centred = X - X.mean(axis=0)
    close(form(total, X), centred.T @ centred)
    S_w = sum(np.cov(X[y == c].T, bias=True) * (y == c).sum() for c in range(3))
    close(form(within, X), S_w)
    other = OtherClass().build(X, y)[0].laplacian
    equal = sum((y == c).sum() / N * (np.cov(X[y == c].T, bias=True) * (y == c).sum()) for c in range(3))
    close(form(total, X), form(other, X) + equal)
    assert sparse.issparse(within.factors[0][0])


@pytest.mark.parametrize("of", [KNN(3), Precomputed(np.ones((N, N))), KNN(3) + SameClass("heat")], ids=repr)
def test_edges_of_a_graph_without_any(of):
    """Nothing is left of it, and an estimator says that its graph is empty."""
    empty = Precomputed(np.zeros((N, N)))
    assert not (empty & of).adjacency(as_data(X, Y)).nnz
    with pytest.raises(ValueError, match="graph is empty"):
        LPP(1, graph=empty & of).fit(X, Y)
