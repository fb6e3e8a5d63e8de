"""A graph and an estimator for each map, as a user writes them: outside lapwing, and by its public names alone."""

import numpy as np
from scipy import sparse

from lapwing.graphs import KNN, Graph
from lapwing.operators import laplacian
from lapwing.problem import ORTHOGONAL, Problem, Term, degree_sum
from lapwing.reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer


class Chain(Graph):
    """Links each sample to the next ones in the order of the rows, as in a recording."""

    reads_features = False

    def __init__(self, n_steps=1, *, decay=0.5):
        self.n_steps = n_steps
        self.decay = decay

    def terms(self, sample):
        steps = [(step, self.decay**step * np.ones(sample.n - step)) for step in range(1, self.n_steps + 1)]
        W = sparse.diags_array([w for _, w in steps], offsets=[s for s, _ in steps], shape=(sample.n, sample.n))
        return [Term(1.0, *laplacian(sparse.csr_array(W + W.T)))]


class TimeLPP(LinearReducer):
    """LPP that keeps what follows in time together, too."""

    def __init__(self, n_components=2, *, graph=None, rate=1.0, pca="auto"):
        self.n_components = n_components
        self.graph = graph
        self.rate = rate
        self.pca = pca

    def default_graph(self, n_neighbors):
        return KNN(n_neighbors)

    def _problem(self, data, graphs):
        terms = self._terms(data, graphs) + (Chain() * float(self.rate)).terms(data)
        return Problem(terms, degree_sum(terms))


class TimeKernel(KernelReducer):
    """Orthogonal directions of a kernel along which what follows in time differs least."""

    def default_graph(self, n_neighbors):
        return Chain(n_neighbors)

    def _problem(self, data, graphs):
        return Problem(self._terms(data, graphs), ORTHOGONAL)


class TimeMaps(FreeReducer):
    """Coordinates that vary least in time and between neighbours."""

    n_neighbors = 5

    def default_graph(self, n_neighbors):
        return KNN(n_neighbors) + Chain()

    def _problem(self, data, graphs):
        terms = self._terms(data, graphs)
        return Problem(terms, degree_sum(terms))


class Steady(FeatureSelector):
    """The features that change least from one sample to the next, beside how much they vary."""

    def default_graph(self, n_neighbors):
        return Chain()

    def _problem(self, data, graphs):
        terms = self._terms(data, graphs)
        return Problem(terms, degree_sum(terms))

    def _scores(self, data, problem):
        (term,), mean = problem.minimise, data.mean()
        return data.form_diagonal(term.laplacian, mean) / np.var(data.X, axis=0), np.ptp(data.X, axis=0) > 0


class Stubborn(TimeLPP):
    """A transform of its own, and learnt attributes that the class has already."""

    speed = 0.0

    def fit(self, X, y=None):
        super().fit(X, y)
        self.speed = float(np.linalg.norm(self.mean_))
        return self

    def transform(self, X):
        return 2 * super().transform(X)


class Recording:
    """What a class inside another is called."""

    class LPP(TimeLPP):
        """The name of one of lapwing's."""
