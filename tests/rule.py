"""The search by its definition: every pair by a loop, in extended precision, and the rule for ties written out."""

from functools import cache

import numpy as np
from scipy import sparse

TIE = 1e-9


def distance(a, b, metric):
    a, b = np.asarray(a, np.longdouble), np.asarray(b, np.longdouble)
    if metric == "cosine":
        unit = a / np.sqrt(np.sum(a**2)) - b / np.sqrt(np.sum(b**2))
        angular = np.sum(unit**2) / 2
        return angular if angular > 1e-13 else 0.0
    if metric == "manhattan":
        return np.sum(np.abs(a - b))
    return np.sqrt(np.sum((a - b) ** 2))


def distances(X, metric):
    """Of all pairs."""
    return _distances(np.ascontiguousarray(X).tobytes(), X.shape, X.dtype, metric)


@cache
def _distances(content, shape, dtype, metric):
    X = np.frombuffer(content, dtype).reshape(shape).astype(np.longdouble)
    D = np.zeros((len(X), len(X)), np.longdouble)
    for i in range(len(X)):
        for j in range(i):
            D[i, j] = D[j, i] = distance(X[i], X[j], metric)
    return D


def nearest(found, k):
    """Of a dictionary from rows to distances: what is clearly nearer than the k-th, and of those as far the first."""
    if not found:
        return set()
    boundary = sorted(found.values())[min(k, len(found)) - 1]
    inside = {j for j, d in found.items() if d < boundary * (1 - TIE)}
    tied = sorted(j for j, d in found.items() if boundary * (1 - TIE) <= d <= boundary * (1 + TIE))
    return inside | set(tied[: k - len(inside)])


def allowed(i, n, among="all", y=None):
    others = [j for j in range(n) if j != i]
    if among == "all":
        return others
    known = [j for j in others if y[i] != -1 and y[j] != -1]
    return [j for j in known if (y[i] == y[j]) == (among == "same_class")]


def neighbors(X, k, metric="euclidean", rows=None, among="all", y=None):
    """The set of neighbours of each row that has any."""
    X = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)
    labels = None if y is None else tuple(np.asarray(y).tolist())
    found = _neighbors(X.tobytes(), X.shape, X.dtype, k, metric, among, labels)
    return {i: own for i, own in found.items() if rows is None or i in set(rows)}


@cache
def _neighbors(content, shape, dtype, k, metric, among, y):
    n, D = shape[0], _distances(content, shape, dtype, metric)
    found = {i: nearest({j: D[i, j] for j in allowed(i, n, among, y)}, k) for i in range(n)}
    return {i: own for i, own in found.items() if own}


def as_sets(edges):
    """The same of edges; no pair is there twice."""
    pairs = list(zip(edges.rows.tolist(), edges.cols.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    found = {i: set() for i, _ in pairs}
    for i, j in pairs:
        found[i].add(j)
    return found


def ladder(n, d, step=3e-10, seed=0):
    """Rows on the axes at distances that differ by multiples of ``step``: no two of them by 1e-9, up to rounding."""
    rng = np.random.RandomState(seed)
    X = np.zeros((n, d))
    X[np.arange(n), rng.randint(d, size=n)] = 1 + step * rng.randint(12, size=n)
    X[rng.randint(n)] = 0
    return X


def data(seed=0):
    """Rows whose distances are equal, nearly equal, or nothing of the kind."""
    rng = np.random.RandomState(seed)
    return {
        "near ties, few columns": ladder(50, 4),
        "near ties": ladder(60, 20),
        "near ties, few rows": ladder(40, 60),
        "near ties, very many": ladder(60, 20, 1e-11),
        "lattice": 0.1 * rng.randint(0, 3, (70, 20)),
        "lattice, few columns": 0.1 * rng.randint(0, 4, (90, 2)),
        "lattice, few rows": 0.1 * rng.randint(0, 2, (40, 50)),
        "repeated": np.repeat(rng.randn(7, 20), 9, axis=0),
        "repeated, few columns": np.repeat(rng.randn(7, 3), 9, axis=0),
        "repeated, few rows": np.repeat(rng.randn(5, 60), 8, axis=0),
        "equal": np.ones((40, 20)),
        "two clusters far apart": rng.randn(50, 20) + 1e6 * (np.arange(50) % 2)[:, None],
        "one far away": np.vstack([rng.randn(50, 20), np.full(20, 1e10)]),
        "random": rng.randn(60, 20),
    }
