"""Graphs by literal double loops over their definitions: independent oracles, slow and plain."""

import re
from functools import cache

import numpy as np
from scipy import sparse

from lapwing.graphs import Graph
from lapwing.problem import degree_sum, laplacian_sum


def chessboard(a, b):
    """A metric given as a function."""
    return float(np.max(np.abs(a - b)))


def inverse(distances):
    """Edge weights given as a function."""
    return 1 / (1 + distances)


VARIANCES = np.array([0.2, 1.0, 3.0, 0.5])
METRICS = {
    "euclidean": lambda a, b: np.sqrt(sum((a - b) ** 2)),
    "manhattan": lambda a, b: sum(abs(a - b)),
    "cosine": lambda a, b: 1 - sum(a * b) / np.sqrt(sum(a * a) * sum(b * b)),
    "seuclidean": lambda a, b: np.sqrt(sum((a - b) ** 2 / VARIANCES)),
    chessboard: chessboard,
}


def toy(seed=0, n=28, twins=False):
    """Positive rows, so that dot and cosine weights exist, three classes and unknown. ``twins``: every row twice."""
    rng = np.random.RandomState(seed)
    m = n // 2 if twins else n
    X, y = rng.rand(m, 4) + 0.1, np.arange(m) % 3
    y[rng.permutation(m)[: m // 4]] = -1
    return (np.repeat(X, 2, axis=0), np.repeat(y, 2)) if twins else (X, y)


def distances(X, metric="euclidean"):
    return _distances(X.tobytes(), X.shape, metric)


@cache
def _distances(data, shape, metric):
    X = np.frombuffer(data).reshape(shape)
    return np.array([[METRICS[metric](a, b) for b in X] for a in X])


def by_pairs(n, weight):
    """The matrix of ``weight(i, j)``."""
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            W[i, j] = weight(i, j)
    return W


def laplacian(W):
    D = np.diag([sum(row) for row in W])
    return D - W, D


def comparable(y, i, j, among):
    """Whether the search of row i may return row j."""
    both = y is not None and y[i] != -1 and y[j] != -1
    return (
        i != j
        and {
            "all": True,
            "same_class": both and y[i] == y[j],
            "other_class": both and y[i] != y[j],
        }[among]
    )


def arcs(d, y, k, among="all"):
    """Directed edges: from each row to its k nearest."""
    n = len(d)
    return [
        (i, j)
        for i in range(n)
        for j in sorted((j for j in range(n) if comparable(y, i, j, among)), key=lambda j: d[i, j])[:k]
    ]


def width(t, d, edges):
    """The t of exp(-d^2 / t); 1 where the edges have no length."""
    if t == "auto":
        return np.mean([d[i, j] ** 2 for i, j in edges]) or 1.0
    if t == "half-median":
        return 2 * (np.median([d[i, j] for i in range(len(d)) for j in range(i)]) / 2) ** 2
    return t


def weight_of(weights, X, d, i, j, t):
    if callable(weights):
        return weights(d[i, j])
    if weights == "heat":
        return np.exp(-(d[i, j] ** 2) / t)
    if weights == "cosine":
        return sum(X[i] * X[j]) / np.sqrt(sum(X[i] ** 2) * sum(X[j] ** 2))
    return {"binary": 1.0, "dot": sum(X[i] * X[j])}[weights]


def knn(X, y, k, *, weights="heat", t="auto", metric="euclidean", metric_params=None, among="all", symmetry="or"):
    d = distances(X, metric)
    edges = arcs(d, y, k, among)
    t, linked = width(t, d, edges), set(edges)

    def weight(i, j):
        directions = ((i, j) in linked) + ((j, i) in linked)
        share = {"or": directions > 0, "and": directions == 2, "mean": directions / 2}[symmetry]
        return share * weight_of(weights, X, d, i, j, t) if share else 0.0

    return by_pairs(len(X), weight)


def radius(X, y, r, *, weights="heat", t="auto", metric="euclidean"):
    n, d = len(X), distances(X, metric)
    edges = [(i, j) for i in range(n) for j in range(n) if i != j and d[i, j] <= r]
    t = width(t, d, edges)
    return by_pairs(n, lambda i, j: weight_of(weights, X, d, i, j, t) if i != j and d[i, j] <= r else 0.0)


def same_class(y):
    """Thesis eq. 2.37: 1 / n_c, i = j included."""
    return by_pairs(len(y), lambda i, j: 1 / list(y).count(y[i]) if y[i] != -1 and y[i] == y[j] else 0.0)


def same_class_heat(X, y, t="auto"):
    """Thesis eq. 7.3, without i = j."""
    n, d = len(X), distances(X)
    edges = [(i, j) for i in range(n) for j in range(n) if comparable(y, i, j, "same_class")]
    t, linked = width(t, d, edges), set(edges)
    return by_pairs(n, lambda i, j: np.exp(-(d[i, j] ** 2) / t) if (i, j) in linked else 0.0)


def other_class(y):
    n_known = sum(label != -1 for label in y)
    return by_pairs(len(y), lambda i, j: 1 / n_known if comparable(y, i, j, "other_class") else 0.0)


def complete(X, y, weights="uniform", among="all"):
    """All pairs, i = j included."""
    member = [among == "all" or y[i] != -1 for i in range(len(X))]
    weight = {"uniform": lambda i, j: 1 / sum(member), "dot": lambda i, j: sum(X[i] * X[j])}[weights]
    return by_pairs(len(X), lambda i, j: weight(i, j) if member[i] and member[j] else 0.0)


def repulsion(X, y, k, *, weights="inverse", sigma=10.0, metric="euclidean"):
    """Kokiopoulou and Saad (2009): of the k nearest of all rows, those of another class; eq. 12."""
    linked = {(i, j) for i, j in arcs(distances(X, metric), y, k) if comparable(y, i, j, "other_class")}

    def weight(i, j):
        if (i, j) not in linked and (j, i) not in linked:
            return 0.0
        return 1.0 if weights == "binary" else 1 / (sigma + sum((X[i] - X[j]) ** 2) / (sum(X[i] ** 2) + sum(X[j] ** 2)))

    return by_pairs(len(X), weight)


def normalized(W):
    """Eq. 15, I - D^(-1/2) W D^(-1/2), and its degrees: 1 for the rows with links."""
    degrees = [sum(row) for row in W]
    n = len(W)
    linked = np.diag([float(g > 0) for g in degrees])
    return linked - by_pairs(n, lambda i, j: W[i, j] / np.sqrt(degrees[i] * degrees[j]) if W[i, j] else 0.0), linked


def closest_pairs(X, y, n_pairs, metric="euclidean"):
    n, d, linked = len(X), distances(X, metric), set()
    for label in set(y) - {-1}:
        pairs = [(i, j) for i in range(n) for j in range(n) if y[i] == label and comparable(y, i, j, "other_class")]
        linked |= set(sorted(pairs, key=lambda pair: d[pair])[:n_pairs])
    return by_pairs(n, lambda i, j: float((i, j) in linked or (j, i) in linked))


def reconstruction(X, y, k, *, reg=1e-3, among="all", metric="euclidean"):
    """(I - W)^T (I - W) and its degrees, W from the constrained least squares of each row (Lagrange conditions)."""
    n = len(X)
    edges = arcs(distances(X, metric), y, k, among)
    residual = np.zeros((n, n))
    for i in range(n):
        near = [j for a, j in edges if a == i]
        if near:
            G = np.array([[sum((X[a] - X[i]) * (X[b] - X[i])) for b in near] for a in near])
            G += reg * np.trace(G) * np.eye(len(near))
            one = np.ones((len(near), 1))
            w = np.linalg.lstsq(np.block([[2 * G, one], [one.T, 0.0]]), np.append(0 * one, 1.0), rcond=None)[0][:-1]
            residual[i, i] = 1.0
            residual[i, near] = -w
    return residual.T @ residual, np.diag(np.diag(residual))


def pairs_matrix(n, pairs):
    given = {(a, b) for a, b in pairs} | {(b, a) for a, b in pairs}
    return by_pairs(n, lambda i, j: float((i, j) in given))


def close(actual, expected, tol=1e-10):
    """No difference above ``tol`` times the largest entry (or times 1)."""
    actual, expected = (M.toarray() if hasattr(M, "toarray") else M for M in (actual, expected))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))


def check_term(term, expected, tol=1e-10):
    """Compare with ``(L, D)``, or with the L and D of a weight matrix."""
    L, D = expected if isinstance(expected, tuple) else laplacian(expected)
    close(term.laplacian, L, tol)
    close(term.degrees, D, tol)


def check_sum(terms, L, D=None, tol=1e-10):
    """Compare the signed sum with L, and the degrees of what attracts with D."""
    close(laplacian_sum(terms), L, tol)
    if D is not None:
        close(degree_sum(terms), D, tol)


def frozen(X):
    """X in memory that cannot be written."""
    X = X.copy()
    for array in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        array.flags.writeable = False
    return X


def named(value):
    """The id of a parametrised test: a graph as it prints, options by their values, no addresses."""
    if isinstance(value, dict):
        return "-".join(getattr(v, "__name__", str(v)) for k, v in value.items() if k != "metric_params")
    if isinstance(value, Graph):
        return re.sub(r"<function (\w+).*?>", r"\1", " ".join(repr(value).split()))[:90]
    return None
