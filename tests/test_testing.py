"""The checks of ``lapwing.testing``: all of lapwing passes them, and what is broken does not."""

import inspect

import numpy as np
import pytest
from helpers import each, inverse, named
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import KNeighborsTransformer
from sklearn.utils import check_array
from sparse_kinds import random_csr

import lapwing
from lapwing import (
    LPP,
    MFA,
    OLPP,
    TSA,
    KernelLPP,
    LaplacianEigenmaps,
    graphs,
    testing,
)
from lapwing.data import as_data
from lapwing.graphs import (
    KNN,
    Chain,
    ClosestPairs,
    CodingLength,
    Complete,
    Delaunay,
    DensityCorrected,
    Graph,
    Grid,
    LocalClass,
    On,
    OtherClass,
    Pairs,
    Precomputed,
    Propagated,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Similarity,
    TangentAlignment,
    Target,
)
from lapwing.operators import identity, laplacian
from lapwing.problem import Problem, Term
from lapwing.testing import check_graph, check_map


class GridPlaces(TransformerMixin, BaseEstimator):
    """Random rows, moved to a grid."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X = X.toarray() if sparse.issparse(X) else X
        return np.round(4 * X[:, :2]) / 4

    def __sklearn_is_fitted__(self):
        return True


N = 40
GIVEN = random_csr((N, N), 0.2)
GIVEN = sparse.csr_array(GIVEN + GIVEN.T)
GRAPHS = [
    KNN(5),
    KNN(4, weights="cosine", metric="cosine"),
    KNN(4, weights=inverse, symmetry="mean"),
    KNN(4, among="same_class"),
    KNN(3, among="other_class", symmetry="and"),
    KNN(5, search=KNeighborsTransformer()),
    KNN(5, queries=30),
    Radius(0.6),
    SameClass(),
    SameClass("heat"),
    LocalClass(4),
    Propagated(None, 4),
    OtherClass(),
    Complete(),
    Complete(among="labelled"),
    Repulsion(9),
    Repulsion(9, normalized=True),
    ClosestPairs(9),
    Reconstruction(5),
    Reconstruction(5, among="same_class", queries=30),
    CodingLength(5),
    CodingLength(5, weights="distance", queries=30),
    TangentAlignment(6, n_components=2),
    TangentAlignment(6, n_components=2, weights="uniform"),
    Precomputed(GIVEN),
    Pairs([[0, 1], [3, 9]], [[4, 5]]),
    KNN(5) + SameClass(),
    KNN(5) - 0.2 * Repulsion(15),
    (KNN(5) & SameClass()) - (KNN(5) & OtherClass()),
    KNN(6) & (SameClass() + Radius(0.5)),
    SameClass() & KNN(9),
    KNN(5) / 3 + 0.5 * Precomputed(GIVEN),
    -KNN(4),
    sum([KNN(3), Radius(0.5), Complete()]),
    Target(4),
    Target(3, weights="binary") + KNN(3),
    SameClass() + Target(1) - 0.1 * Repulsion(5),
    KNN(9) & Target(9),
    On([0, 2, 4], KNN(3)) - 0.1 * On([1], Repulsion(5)),
    DensityCorrected(KNN(5), alpha=0.5),
    DensityCorrected(KNN(3) + 2 * Radius(0.6)) - 0.1 * Repulsion(5),
    Similarity(DensityCorrected(Precomputed(GIVEN))),
    KNN(5, weights="self-tuning"),
    On([0, 1], Delaunay()),
    On([0, 1, 2], Delaunay(longest=0.8)) + KNN(3),
    On(GridPlaces(), Grid(0.25)) + KNN(3),
    Similarity(KNN(5)),
    Similarity(SameClass() - 0.3 * KNN(3)),
    KNN(4) + (Similarity(KNN(5)) & SameClass()),
    Chain(2),
    Chain(time=0),
    KNN(3) | Chain(),
    (2 * KNN(3) + KNN(4)) | Radius(0.4),
]
ON_A_GRID = [Grid(), On([0, 1], Grid(0.1, corners=True)) + SameClass()]  # of X itself, which then must be one


@pytest.mark.filterwarnings("ignore:eigenvalues . and . are equal")
@each("graph", GRAPHS)
def test_our_graphs(graph):
    check_graph(graph)


@pytest.mark.parametrize("graph", ON_A_GRID, ids=named)
def test_graphs_on_a_grid(graph):
    cells = np.indices((3,) * 5).reshape(5, -1).T[np.random.RandomState(0).permutation(243)[:40]]
    check_graph(graph, cells * getattr(graph.get_params().get("graph", graph), "step", 0.1))


def test_all_our_graphs_are_tried():
    tried = {type(part) for graph in GRAPHS for part in (graph, *graph.get_params().values())}
    kinds = {kind for kind in vars(graphs).values() if isinstance(kind, type) and issubclass(kind, Graph)}
    assert kinds - tried <= {Graph, graphs.Empty}  # which links nothing


def test_data_of_ones_own():
    X = np.random.RandomState(0).rand(30, 4)
    d = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    check_graph(KNN(4, weights="binary", metric="precomputed"), d)
    check_graph(KNN(4) + SameClass(), X.tolist(), np.array(["a", "b", "c"])[np.arange(30) % 3])
    with pytest.raises(AssertionError, match="W has shape"):
        check_graph(Precomputed(GIVEN), X)


# Graphs that are broken, and what is said of them: (where, what)


def edges(sample):
    return KNN(3, weights="binary").adjacency(as_data(sample.X, sample.y))


class Own(Graph):
    """Sound; the others break it."""

    def __init__(self, k=3):
        self.k = k

    def adjacency(self, sample):
        return self.k * edges(sample)


class Converts(Own):
    def __init__(self, k=3):
        self.k = [k]


class Keeps(Own):
    def __init__(self, k=3):
        self.k, self.twice = k, 2 * k


class Stores(Own):
    def __init__(self, size=3):
        self.k = size


class Directed(Own):
    def adjacency(self, sample):
        return sparse.triu(edges(sample))


class Infinite(Own):
    def adjacency(self, sample):
        return np.inf * edges(sample)


class Negative(Own):
    def adjacency(self, sample):
        return -edges(sample)


class Short(Own):
    def adjacency(self, sample):
        return edges(sample)[:-1, :-1]


class NotDiagonal(Own):
    def terms(self, sample):
        L, _ = laplacian(edges(sample))
        return [Term(1.0, L, L)]


class NoLaplacian(Own):
    def terms(self, sample):
        L, D = laplacian(edges(sample))
        return [Term(1.0, L + identity(sample.n), D)]


class Indefinite(Own):
    def terms(self, sample):
        L, D = laplacian(edges(sample))
        return [Term(1.0, -L, D)]


class WritesX(Own):
    def adjacency(self, sample):
        W = edges(sample)
        sample.X[0] = 7.0
        return W


class WritesY(Own):
    reads_labels = True

    def adjacency(self, sample):
        W = KNN(3, among="same_class").adjacency(as_data(sample.X, sample.y.copy()))
        sample.y[:] = sample.y[::-1]
        return W


class Learns(Own):
    def adjacency(self, sample):
        self.W_ = edges(sample)
        return self.W_


class Random(Own):
    def adjacency(self, sample):
        return np.random.rand() * edges(sample)


class Chain(Own):
    def adjacency(self, sample):
        return sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(sample.n, sample.n))


class Disagrees(Own):
    def terms(self, sample):
        return [Term(1.0, *laplacian(2 * edges(sample)))]


class LooksUp(Own):
    def weights_at(self, sample, rows, cols):
        return np.ones(rows.size)


class NoSparse(Own):
    def adjacency(self, sample):
        if sparse.issparse(sample.X):
            raise ValueError("something went wrong")
        return edges(sample)


class OtherSparse(Own):
    def adjacency(self, sample):
        return edges(as_data(sample.X[:, ::-1] ** 2)) if sparse.issparse(sample.X) else edges(as_data(sample.X[:, :2]))


class ReadsSecretly(Own):
    def adjacency(self, sample):
        return KNN(3, among="same_class").adjacency(sample)


class NeedsNoLabels(Own):
    reads_labels = True


class UnknownIsAClass(Own):
    reads_labels = True

    def adjacency(self, sample):
        if sample.y is None:
            raise ValueError("give y")
        y = np.asarray(sample.y)
        return sparse.csr_array((y[:, None] == y) * 1.0)


class ReadsNames(Own):
    reads_labels = True

    def adjacency(self, sample):
        W = KNN(3, among="same_class").adjacency(sample)
        return len(str(sample.y[0])) * W


class Unfit(Own):
    def adjacency(self, sample):
        if any(frame.function == "fit" for frame in inspect.stack()):
            raise TypeError("no estimators, please")
        return edges(sample)


BROKEN_GRAPHS = {
    Converts: (testing._check_parameters, "stores each parameter under its own name"),
    Keeps: (testing._check_parameters, "other attributes than its parameters"),
    Stores: (testing._check_parameters, "stores each parameter under its own name.*size"),
    Short: (testing._check_terms, "one row and column per sample; look at Short.adjacency"),
    Directed: (testing._check_terms, r"not symmetric; look at Directed.adjacency.*W.maximum\(W.T\)"),
    Infinite: (testing._check_terms, "NaN or infinity"),
    Negative: (testing._check_terms, "negative degrees.*A - B"),
    NotDiagonal: (testing._check_terms, "degrees is not diagonal"),
    NoLaplacian: (testing._check_terms, "rows of L add up to 1; set is_laplacian = False"),
    Indefinite: (testing._check_terms, "is an eigenvalue; set is_semidefinite = False"),
    WritesX: (testing._check_untouched, "X is changed"),
    WritesY: (testing._check_untouched, "y is changed"),
    Learns: (testing._check_untouched, "the graph is changed"),
    Random: (testing._check_untouched, "random_state"),
    Chain: (testing._check_permutation, "set indexes_rows = True"),
    Disagrees: (testing._check_weights, "Disagrees.weights_at, .adjacency and .terms"),
    LooksUp: (testing._check_weights, "the two differ"),
    NoSparse: (testing._check_sparse, "something went wrong"),
    OtherSparse: (testing._check_sparse, "gives another; look at what OtherSparse does with data.X"),
    ReadsSecretly: (testing._check_labels, "ignores it where not.*y is None"),
    NeedsNoLabels: (testing._check_labels, "without y it says nothing"),
    UnknownIsAClass: (testing._check_labels, "-1 is one more class"),
    ReadsNames: (testing._check_labels, "names of classes"),
    Unfit: (testing._check_fit, "no estimators, please"),
}


def test_a_sound_graph_of_ones_own():
    check_graph(Own())
    check_graph(Own(2) + 0.5 * (KNN(4) & Own()))
    mended = type("Chain", (Chain,), {"indexes_rows": True, "reads_features": False})
    check_graph(mended() + KNN(4))
    mended = type("Shifted", (NoLaplacian,), {"is_laplacian": False})
    check_graph(mended())


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # infinity less infinity
@each("broken", BROKEN_GRAPHS)
def test_broken_graphs_are_caught(broken):
    check, said = BROKEN_GRAPHS[broken]
    with pytest.raises(AssertionError, match=said) as caught:
        check_graph(broken())
    assert check.__doc__ in str(caught.value)


def test_every_check_of_graphs_catches_something():
    assert {check for check, _ in BROKEN_GRAPHS.values()} == set(testing.GRAPH_CHECKS)


# Maps


MAPS = [
    *(getattr(lapwing, name)() for name in lapwing.__all__ if name != "TSA"),
    TSA(image_shape=(2, 3)),
    LPP(3, graph=KNN(4) - 0.1 * Repulsion(9)),
    LPP(graph=SameClass(), penalty=Complete()),
    LPP(graph=KNN(4, queries=40)),
    LPP(graph=Precomputed(np.ones((60, 60)))),
    OLPP(graph=SameClass() - 0.1 * Complete(), normalize="trace"),
    MFA(graph=2, penalty=60, scaling="constraint"),
    KernelLPP(landmarks=30, random_state=0),
    LaplacianEigenmaps(constraint="identity"),
]


@pytest.mark.filterwarnings("ignore:eigenvalues . and . are equal")
@each("estimator", MAPS)
def test_our_maps(estimator):
    check_map(estimator)


def test_a_kernel_matrix():
    X, _ = testing._data(None, None, 60, 6)
    check_map(KernelLPP(kernel="precomputed"), X @ X.T)


class OtherConstraint(LPP):
    def problem(self, X, y=None):
        terms = KNN(5).build(X)
        return Problem(terms, identity(len(X)))


class OtherTerms(LPP):
    def problem(self, X, y=None):
        terms = KNN(7).build(X)
        return Problem(terms, KNN(5).build(X)[0].degrees)


class NoProblem(LPP):
    def problem(self, X, y=None):
        return KNN(5).build(X)


class NotOrthogonal(OLPP):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.components_ = 2 * self.components_
        return self


class Remembers(LPP):
    def fit(self, X, y=None):
        self._first = getattr(self, "_first", np.mean(X))
        return super().fit(X, y)

    def transform(self, X):
        return self._first + super().transform(X)


class Leaves(LPP):
    def fit(self, X, y=None):
        if hasattr(self, "components_"):
            self.seen = True
        return super().fit(X, y)


class ValidatesTooEarly(LPP):
    def fit(self, X, y=None):
        return super().fit(check_array(X), y)


class TakesNaN(LPP):
    def fit(self, X, y=None):
        return super().fit(np.nan_to_num(X) + 1e-3 * np.random.RandomState(0).rand(*np.shape(X)), y)


class FirstRowIsSpecial(LPP):
    def fit(self, X, y=None):
        return super().fit(np.asarray(X) - 0.0 * X[0], y) if X[0, 0] < 0 else super().fit(X[1:], y[1:])


BROKEN_MAPS = {
    OtherConstraint: (testing._check_problem, "the constraint is off by .* look at OtherConstraint._problem"),
    OtherTerms: (testing._check_problem, r"is not diag\(eigenvalues_\)"),
    NoProblem: (testing._check_problem, "problem returns a list"),
    NotOrthogonal: (testing._check_problem, "the constraint is off by 3"),
    Remembers: (testing._check_refit, "forgetting what an earlier one stored"),
    Leaves: (testing._check_refit, "forgetting what an earlier one stored"),
    ValidatesTooEarly: (testing._check_failed_fit, "transform still works"),
    TakesNaN: (testing._check_failed_fit, "it is fitted; validate X"),
    FirstRowIsSpecial: (testing._check_row_order, "a row treated in its own way"),
}


@pytest.mark.parametrize("broken", BROKEN_MAPS, ids=lambda broken: broken.__name__)
def test_broken_maps_are_caught(broken):
    check, said = BROKEN_MAPS[broken]
    with pytest.raises(AssertionError, match=said) as caught:
        check_map(broken())
    assert check.__doc__ in str(caught.value)


def test_every_check_of_maps_catches_something():
    assert {check for check, _ in BROKEN_MAPS.values()} == set(testing.MAP_CHECKS)
