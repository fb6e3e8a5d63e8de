"""Dense definitions, by double loops: what graphs and methods must agree with, and the data they are tried on.

A graph is its weights W (``knn_weights``) or its Laplacian and degrees (``knn``), n x n arrays.
"""

from functools import cache

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, subspace_angles, svd
from sklearn.base import clone
from sklearn.preprocessing import normalize


def chessboard(a, b):
    """A metric given as a function."""
    return float(np.max(np.abs(a - b)))


VARIANCES = np.array([0.2, 1.0, 3.0, 0.5])
METRICS = {
    "euclidean": lambda a, b: np.sqrt(np.sum((a - b) ** 2)),
    "manhattan": lambda a, b: np.sum(abs(a - b)),
    "cosine": lambda a, b: 1 - np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b)),
    "seuclidean": lambda a, b: np.sqrt(np.sum((a - b) ** 2 / VARIANCES)),
    chessboard: chessboard,
}


def distances(X, metric="euclidean"):
    X = np.ascontiguousarray(X, dtype=np.float64)
    return _distances(X.tobytes(), X.shape, metric)


@cache
def _distances(data, shape, metric):
    X = np.frombuffer(data).reshape(shape)
    return np.array([[METRICS[metric](a, b) for b in X] for a in X])


def by_pairs(n, weight):
    """The matrix of ``weight(i, j)``."""
    return np.array([[float(weight(i, j)) for j in range(n)] for i in range(n)])


def laplacian(W):
    D = np.diag([sum(row) for row in W])
    return D - W, D


def both_known(a, b):
    return a != -1 and b != -1


def comparable(y, i, j, among):
    """Whether the search of row i may return row j."""
    if i == j or among == "all":
        return i != j
    return y is not None and both_known(y[i], y[j]) and (y[i] == y[j]) == (among == "same_class")


def nearest(d, y, i, k, among="all"):
    """The k nearest of row i, of equally distant ones the first."""
    return sorted((j for j in range(len(d)) if comparable(y, i, j, among)), key=lambda j: d[i, j])[:k]


def arcs(d, y, k, among="all"):
    """Directed edges: from each row to its k nearest."""
    return [(i, j) for i in range(len(d)) for j in nearest(d, y, i, k, among)]


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
        return X[i] @ X[j] / np.sqrt((X[i] @ X[i]) * (X[j] @ X[j]))
    return {"binary": 1.0, "dot": X[i] @ X[j]}[weights]


def knn_weights(
    X,
    y,
    k,
    weights="heat",
    *,
    t="auto",
    metric="euclidean",
    metric_params=None,
    among="all",
    symmetry="or",
    keep=lambda a, b: True,
):
    """Weight where i is among the k nearest of j, or j among those of i; t is the mean over directed edges."""
    d = distances(X, metric)
    edges = arcs(d, y, k, among)
    t, linked = width(t, d, edges), {(i, j) for i, j in edges if y is None or keep(y[i], y[j])}

    def weight(i, j):
        directions = ((i, j) in linked) + ((j, i) in linked)
        share = {"or": directions > 0, "and": directions == 2, "mean": directions / 2}[symmetry]
        return share * weight_of(weights, X, d, i, j, t) if share else 0.0

    return by_pairs(len(X), weight)


def radius_weights(X, y, r, *, weights="heat", t="auto", metric="euclidean"):
    n, d = len(X), distances(X, metric)
    edges = [(i, j) for i in range(n) for j in range(n) if i != j and d[i, j] <= r]
    t = width(t, d, edges)
    return by_pairs(n, lambda i, j: weight_of(weights, X, d, i, j, t) if i != j and d[i, j] <= r else 0.0)


def same_class_weights(y):
    """Thesis eq. 2.37: 1 / n_c, i = j included."""
    sizes = [list(y).count(label) for label in y]
    return by_pairs(len(y), lambda i, j: 1 / sizes[i] if y[i] != -1 and y[i] == y[j] else 0.0)


def same_class_heat_weights(X, y, t="auto"):
    """Thesis eq. 7.3, without i = j."""
    n, d = len(X), distances(X)
    edges = [(i, j) for i in range(n) for j in range(n) if comparable(y, i, j, "same_class")]
    t, linked = width(t, d, edges), set(edges)
    return by_pairs(n, lambda i, j: np.exp(-(d[i, j] ** 2) / t) if (i, j) in linked else 0.0)


def same_class_cosines(X, y):
    """Thesis, section 6.2.1: an edge between two samples of the same label, weighed by eq. 6.5."""
    lengths = np.sqrt(np.sum(X**2, axis=1))
    return by_pairs(
        len(X), lambda i, j: X[i] @ X[j] / (lengths[i] * lengths[j]) if comparable(y, i, j, "same_class") else 0.0
    )


def affinity(X, y, k=7):
    """Sugiyama (2007), section 3.2: local scaling by the k-th nearest of the class, the farthest where there are fewer."""
    d = distances(X)
    scales = [max((d[i, j] for j in nearest(d, y, i, k, "same_class")), default=0.0) for i in range(len(X))]
    return by_pairs(
        len(X),
        lambda i, j: np.exp(-(d[i, j] ** 2) / (scales[i] * scales[j])) if comparable(y, i, j, "same_class") else 0.0,
    )


def local_within(X, y, k=7):
    """Eq. 11: A / n_c within classes."""
    sizes = [list(y).count(label) for label in y]
    return laplacian(affinity(X, y, k) / np.array(sizes)[:, None])


def local_mixture(X, y, k=7):
    """Eq. 11 and 12 added up: A / n within classes, 1 / n across them."""
    n_known = sum(label != -1 for label in y)
    across = by_pairs(len(y), lambda i, j: comparable(y, i, j, "other_class"))
    return laplacian((affinity(X, y, k) + across) / n_known)


def other_class_weights(y):
    n_known = sum(label != -1 for label in y)
    return by_pairs(len(y), lambda i, j: 1 / n_known if comparable(y, i, j, "other_class") else 0.0)


def complete_weights(X, y, weights="uniform", among="all"):
    """All pairs, i = j included."""
    member = [among == "all" or y[i] != -1 for i in range(len(X))]
    share = 1 / sum(member)
    weight = {"uniform": lambda i, j: share, "dot": lambda i, j: X[i] @ X[j]}[weights]
    return by_pairs(len(X), lambda i, j: weight(i, j) if member[i] and member[j] else 0.0)


def repulsion_weights(X, y, k, *, weights="inverse", sigma=10.0, metric="euclidean"):
    """Kokiopoulou and Saad (2009): of the k nearest of all rows, those of another class; eq. 12."""
    linked = {(i, j) for i, j in arcs(distances(X, metric), y, k) if comparable(y, i, j, "other_class")}

    def weight(i, j):
        if (i, j) not in linked and (j, i) not in linked:
            return 0.0
        return 1.0 if weights == "binary" else 1 / (sigma + np.sum((X[i] - X[j]) ** 2) / (X[i] @ X[i] + X[j] @ X[j]))

    return by_pairs(len(X), weight)


def normalized(W):
    """Eq. 15, I - D^(-1/2) W D^(-1/2), and its degrees: 1 for the rows with links."""
    degrees = [sum(row) for row in W]
    n = len(W)
    linked = np.diag([float(g > 0) for g in degrees])
    return linked - by_pairs(n, lambda i, j: W[i, j] / np.sqrt(degrees[i] * degrees[j]) if W[i, j] else 0.0), linked


def closest_pairs_weights(X, y, n_pairs, metric="euclidean"):
    n, d, linked = len(X), distances(X, metric), set()
    for label in set(y) - {-1}:
        pairs = [(i, j) for i in range(n) for j in range(n) if y[i] == label and comparable(y, i, j, "other_class")]
        linked |= set(sorted(pairs, key=lambda pair: d[pair])[:n_pairs])
    return by_pairs(n, lambda i, j: float((i, j) in linked or (j, i) in linked))


def pairs_weights(n, pairs, weights=None):
    given = {(a, b) for a, b in pairs} | {(b, a) for a, b in pairs}
    if weights is None:
        return by_pairs(n, lambda i, j: float((i, j) in given))
    return by_pairs(n, lambda i, j: sum(w for pair, w in zip(pairs, weights, strict=True) if {i, j} == set(pair)))


def knn(X, y, k, **options):
    return laplacian(knn_weights(X, y, k, **options))


def repulsion(X, y, k, normalize=False, **options):
    """``normalize`` is eq. 15."""
    return (normalized if normalize else laplacian)(repulsion_weights(X, y, k, **options))


def same_class(X, y):
    return laplacian(same_class_weights(y))


def complete(X, y, **options):
    return laplacian(complete_weights(X, y, **options))


def closest_pairs(X, y, n_pairs):
    return laplacian(closest_pairs_weights(X, y, n_pairs))


def reconstruction(X, y, k, *, reg=1e-3, among="all", metric="euclidean"):
    """(I - W)^T (I - W) and its degrees, W from the constrained least squares of each row (Lagrange conditions)."""
    n = len(X)
    edges = arcs(distances(X, metric), y, k, among)
    residual = np.zeros((n, n))
    for i in range(n):
        near = [j for a, j in edges if a == i]
        if near:
            G = np.array([[(X[a] - X[i]) @ (X[b] - X[i]) for b in near] for a in near])
            G += reg * np.trace(G) * np.eye(len(near))
            one = np.ones((len(near), 1))
            w = np.linalg.lstsq(np.block([[2 * G, one], [one.T, 0.0]]), np.append(0 * one, 1.0), rcond=None)[0][:-1]
            residual[i, i] = 1.0
            residual[i, near] = -w
    return residual.T @ residual, np.diag(np.diag(residual))


def patch(X, i, k, include_self=True):
    return [i] * include_self + nearest(distances(X), None, i, k)


def coding_length(S, D, eps2):
    """Zhao et al. (2007), eq. 24, with D for its n (NOTES 2): the D x D determinant."""
    m, mean = len(S), S.mean(axis=0)
    scatter = sum(np.outer(x - mean, x - mean) for x in S)
    log_det = np.linalg.slogdet(np.eye(S.shape[1]) + D / (eps2 * m) * scatter)[1]
    return (m + D) / 2 * log_det + D / 2 * np.log(1 + mean @ mean / eps2)


def patch_weights(S, weights, D, eps2):
    """Eq. 22 and 23; S about the mean of all data."""
    if weights == "uniform":
        return np.ones(len(S))
    if weights == "distance":
        squares = np.array([np.sum((x - S.mean(axis=0)) ** 2) for x in S])
        return np.exp(-squares / (squares.mean() or 1.0))
    whole = coding_length(S, D, eps2)
    change = np.array([abs(whole - coding_length(np.delete(S, r, axis=0), D, eps2)) for r in range(len(S))])
    sigma = change.std()
    return np.exp(-((change - change.mean()) ** 2) / (2 * sigma**2)) if sigma > 1e-9 * change.max() else np.ones(len(S))


def local_scatter(X, y, k, weights="coding_length"):
    """Eq. 6 and 14: sum of S_i L_i S_i^T, and the summed weights of each row."""
    n, D = X.shape
    L, degrees = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        rows = patch(X, i, k)
        w = patch_weights((X - X.mean(axis=0))[rows], weights, D, 10 * D / k)
        L[np.ix_(rows, rows)] += np.diag(w) - np.outer(w, w) / w.sum()
        degrees[rows] += w
    return L, np.diag(degrees)


def tangent_alignment(X, y, k, d, weights="coding_length", include_self=True):
    """Eq. 7 and 17 to 21, with the pseudo-inverse of the local coordinates as printed."""
    n, D = X.shape
    L, part = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        rows = patch(X, i, k, include_self)
        m = len(rows)
        w = patch_weights((X - X.mean(axis=0))[rows], weights, D, 10 * D / k)
        H = np.eye(m) - np.outer(w, np.ones(m)) / w.sum()
        columns = X[rows].T @ H
        P, sigma, _ = svd(columns * np.sqrt(w), full_matrices=False)
        Y = P[:, :d][:, sigma[:d] > 1e-6 * sigma[0]].T @ columns if sigma[0] > 1e-12 else np.zeros((1, m))
        residual = H @ (np.eye(m) - np.linalg.pinv(Y) @ Y)
        L[np.ix_(rows, rows)] += residual @ residual.T
        part[rows] = 1
    return L, np.diag(part)


def scatters(X, y):
    """S_b and S_w of the labelled rows: sums, not averages (thesis eq. 2.3 and 2.4)."""
    known = y >= 0
    mean = X[known].mean(axis=0)
    S_b, S_w = np.zeros((2, X.shape[1], X.shape[1]))
    for label in set(y[known]):
        rows = X[y == label]
        S_b += len(rows) * np.outer(rows.mean(axis=0) - mean, rows.mean(axis=0) - mean)
        for x in rows:
            S_w += np.outer(x - rows.mean(axis=0), x - rows.mean(axis=0))
    return S_b, S_w


def centred(X, B, center="auto"):
    """By the weights of a diagonal B, by the plain mean otherwise."""
    diagonal = B is not None and not np.any(B - np.diag(np.diag(B)))
    weights = np.diag(B) if diagonal and center in ("auto", "degree") else np.ones(len(X))
    mean = np.zeros(X.shape[1]) if center is False else weights @ X / weights.sum()
    return X - mean


def basis(M, tol):
    """Orthonormal columns that span the rows of M."""
    _, s, Vt = svd(M, full_matrices=False)
    return Vt[s > tol * s[0]].T


def solve(X, terms, B=None, center="auto", normalize=None, ridge=0.0, per=None):
    """All eigenvalues (ascending) and directions (columns) of the pencil on the range of the data and of B.

    With a ridge, in units of tr(B) / per, which is the rank: (A - s B) v = (lambda - s) (B + ridge I) v, s = sum |diag A| /
    sum diag B of the graphs' own matrices.
    """
    Xc = centred(X, B, center)
    N = basis(Xc if B is not None else centred(X, B), 1e-9)
    parts = [(c, Xc.T @ L @ Xc) for c, L in terms]
    if normalize:
        terms = [(c / np.trace(M), L) for (_, M), (c, L) in zip(parts, terms, strict=True)]
        parts = [(c / np.trace(M), M) for c, M in parts]
    A = sum(c * M for c, M in parts)
    if B is None:
        values, vectors = eigh(N.T @ A @ N)
        return values, N @ vectors
    s = np.abs(np.diag(sum(c * L for c, L in terms))).sum() / np.trace(B)
    B = Xc.T @ B @ Xc
    N = N @ basis(N.T @ B @ N, 1e-10)
    if ridge:
        scaled = ridge * np.trace(B) / (per or N.shape[1]) * np.eye(len(B))
        values, vectors = eigh(N.T @ (A - s * B) @ N, N.T @ (B + scaled) @ N)
        return values + s, N @ vectors
    values, vectors = eigh(N.T @ A @ N, N.T @ B @ N)
    return values, N @ vectors


def gap(values, at_most=5):
    """The k with the widest gap behind it, so that the leading k directions are one well-defined space.

    k <= at_most, or more where the first values are all equal.
    """
    while at_most < len(values):
        gaps = np.diff(values[: at_most + 1])
        if gaps.max() > 1e-6 * np.abs(values).max():
            return 1 + int(np.argmax(gaps))
        at_most += 1
    return len(values)


def angle(P, Q):
    """Largest principal angle between the spans of the rows of P and Q, which have equal dimension."""
    assert P.shape == Q.shape
    return np.max(subspace_angles(np.asarray(P, dtype=float).T, np.asarray(Q, dtype=float).T))


def outcome(compute):
    """What a function returns, or the message of the error, which must be a ValueError or TypeError, that it raises."""
    try:
        return compute()
    except (ValueError, TypeError) as error:
        return str(error)


def gap_fit(estimator, X, y=None, at_most=6):
    """The estimator fitted with as many components as lead to a gap, and all else as given."""
    if estimator.pca != "auto":
        estimator = clone(estimator).set_params(n_components=1).fit(X, y)
        values = estimator.set_params(n_components=estimator.rank_).fit(X, y).eigenvalues_
        return estimator.set_params(n_components=gap(values)).fit(X, y)
    gaps = []
    for k in range(
        1, at_most + 1
    ):  # pca="auto" keeps more directions for more components, so each has eigenvalues of its own
        fitted = clone(estimator).set_params(n_components=k).fit(X, y)
        if fitted.rank_ == k:
            gaps.append(np.inf)
            continue
        values = clone(fitted).set_params(pca=fitted.n_pca_, n_components=fitted.rank_).fit(X, y).eigenvalues_
        gaps.append((values[k] - values[k - 1]) / np.abs(values).max())
    return clone(estimator).set_params(n_components=1 + int(np.argmax(gaps))).fit(X, y)


def blobs(n, d, seed=0, n_classes=3):
    """Positive rows (so cosine and dot weights work) of overlapping classes, and their labels."""
    rng = np.random.RandomState(seed)
    y = np.sort(np.arange(n) % n_classes)
    y = y[rng.permutation(n)]
    return 3 + np.abs(rng.standard_normal((n, d))) * rng.uniform(0.5, 2, d) + 0.8 * rng.rand(n_classes, d)[y], y


def unlabelled(y):
    """Every fourth pair of rows without a label; rows 2i and 2i + 1 alike, since ``deficient`` repeats rows."""
    return np.where(np.arange(len(y)) // 2 % 4 == 3, -1, y)


def tall():
    return blobs(60, 7)


def wide():
    return blobs(26, 40)


def square():
    return blobs(30, 30)


def scaled():
    """Small columns beside large ones are no rounding: the rank is still 7."""
    X, y = tall()
    return X * np.geomspace(0.01, 100, X.shape[1]), y


def sparsified():
    X, y = blobs(54, 18)
    X *= np.random.RandomState(1).rand(*X.shape) < 0.3
    X[:, 0] += 1.0  # no zero rows
    return sparse.csr_array(X), y


def sparse_wide():
    X, y = blobs(26, 45)
    return sparse.csr_array(X * (np.random.RandomState(2).rand(*X.shape) < 0.2)), y


def deficient(n=27, d=6):
    """Every row twice, constant columns, collinear columns."""
    X, y = blobs(n, d)
    X = np.hstack([X, np.full((n, 2), [5.0, 0.0]), X[:, :2] @ [[1.0, 2.0], [1.0, -0.5]], X[:, 2:3] + 7])
    return np.repeat(X, 2, axis=0), np.repeat(y, 2)


def deficient_wide():
    return deficient(13, 40)


def deficient_sparse():
    X, y = deficient()
    X = X * np.repeat(np.random.RandomState(3).rand(len(X) // 2, X.shape[1]) < 0.7, 2, axis=0)
    X[:, 7], X[:, 8] = 4.0, X[:, 0] + X[:, 1]
    return sparse.csr_array(X), y


def deficient_sparse_wide():
    """A constant column larger than what varies, as counts and years have it: centring must not cancel digits."""
    X, y = sparse_wide()
    X, y = np.repeat(X.toarray()[:13], 2, axis=0), np.repeat(y[:13], 2)
    X[:, 3], X[:, 4] = 100.0, X[:, 5] - X[:, 6]
    return sparse.csr_array(X), y


SHAPES = (tall, wide, square, scaled, sparsified, sparse_wide)
DEFICIENT = (deficient, deficient_wide, deficient_sparse, deficient_sparse_wide)
REGIMES = {make.__name__: make for make in (*SHAPES, *DEFICIENT)}


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def texts(n=900, d=820, words=40):
    """Frequent and rare words under weights as those of tf-idf, in rows of length 1, of 5 classes; each has so many words."""
    rng = np.random.RandomState(0)
    y = rng.randint(5, size=n)
    often = np.exp(rng.standard_normal((5, d)) * (rng.rand(5, d) < 0.1)) / (1 + np.arange(d)) ** 0.9
    X = sparse.csr_array(np.vstack([rng.multinomial(words, often[c] / often[c].sum()) for c in y]).astype(float))
    X.data = 1 + np.log(X.data)
    X = X @ sparse.diags_array(1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d))))
    return sparse.csr_array(normalize(X)), y


def toy(seed=0, n=28, twins=False):
    """Positive rows, so that dot and cosine weights exist, three classes and unknown. ``twins``: every row twice."""
    rng = np.random.RandomState(seed)
    m = n // 2 if twins else n
    X, y = rng.rand(m, 4) + 0.1, np.arange(m) % 3
    y[rng.permutation(m)[: m // 4]] = -1
    return (np.repeat(X, 2, axis=0), np.repeat(y, 2)) if twins else (X, y)
