"""Dense definitions, by double loops: what the linear methods must agree with, and the data they are tried on."""

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, subspace_angles, svd
from sklearn.base import clone


def squared_distances(X):
    n = len(X)
    squares = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            squares[i, j] = np.sum((X[i] - X[j]) ** 2)
    return squares


def nearest(squares, i, k, allowed):
    return sorted((j for j in allowed if j != i), key=lambda j: squares[i, j])[:k]


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W, np.diag(W.sum(axis=1))


def edge_weight(weights, X, i, j, square, t):
    if weights == "heat":
        return np.exp(-square / t)
    if weights == "cosine":
        return X[i] @ X[j] / np.sqrt((X[i] @ X[i]) * (X[j] @ X[j]))
    return {"binary": 1.0, "dot": X[i] @ X[j]}[weights]


def knn_weights(X, y, k, weights="heat", among="all", keep=lambda a, b: True):
    """Weight where i is among the k nearest of j, or j among those of i; t is the mean over directed edges."""
    n, squares = len(X), squared_distances(X)
    edges = []
    for i in range(n):
        allowed = range(n) if among == "all" else [j for j in range(n) if y[i] >= 0 and y[j] == y[i]]
        edges += [(i, j) for j in nearest(squares, i, k, allowed)]
    t = np.mean([squares[i, j] for i, j in edges]) or 1.0
    W = np.zeros((n, n))
    for i, j in edges:
        if keep(y[i], y[j]):
            W[i, j] = W[j, i] = edge_weight(weights, X, i, j, squares[i, j], t)
    return W


def knn(X, y, k, **options):
    return laplacian(knn_weights(X, y, k, **options))


def both_known(a, b):
    return a >= 0 and b >= 0


def repulsion(X, y, k, sigma=10.0, binary=False, normalized=False):
    """Kokiopoulou and Saad (2009), eq. 12, and 15 when normalized."""
    W = knn_weights(X, y, k, "binary", keep=lambda a, b: both_known(a, b) and a != b)
    n = len(X)
    for i in range(n):
        for j in range(n):
            if W[i, j] and not binary:
                W[i, j] = 1 / (sigma + np.sum((X[i] - X[j]) ** 2) / (X[i] @ X[i] + X[j] @ X[j]))
    L, D = laplacian(W)
    if normalized:
        scale = np.array([1 / np.sqrt(g) if g > 0 else 0.0 for g in np.diag(D)])
        linked = np.diag((scale > 0).astype(float))
        return linked - scale[:, None] * W * scale, linked
    return L, D


def same_class(X, y):
    """Thesis eq. 2.37: 1 / n_c, i = j included."""
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if y[i] >= 0 and y[i] == y[j]:
                W[i, j] = 1 / np.sum(y == y[i])
    return laplacian(W)


def complete(X, y, labelled=False):
    n = len(X)
    member = (y >= 0) if labelled else np.ones(n, dtype=bool)
    return laplacian(np.outer(member, member) / member.sum())


def dot_products(X, y):
    return laplacian(np.array([[a @ b for b in X] for a in X]))


def closest_pairs(X, y, n_pairs):
    n, squares = len(X), squared_distances(X)
    W = np.zeros((n, n))
    for label in set(y[y >= 0]):
        rows, others = np.flatnonzero(y == label), np.flatnonzero((y >= 0) & (y != label))
        for i, j in sorted(((i, j) for i in rows for j in others), key=lambda pair: squares[pair])[:n_pairs]:
            W[i, j] = W[j, i] = 1
    return laplacian(W)


def reconstruction(X, y, k, reg=1e-3, among="all"):
    """(I - W)^T (I - W), the rows of W the best affine combinations; its D is 1 for rows that take part."""
    n, squares = len(X), squared_distances(X)
    W, part = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        if among == "same_class" and y[i] < 0:
            continue
        allowed = range(n) if among == "all" else np.flatnonzero(y == y[i])
        near = nearest(squares, i, k, allowed)
        G = np.array([[(X[i] - X[a]) @ (X[i] - X[b]) for b in near] for a in near])
        w = np.linalg.solve(G + reg * np.trace(G) * np.eye(len(near)), np.ones(len(near)))
        W[i, near], part[i] = w / w.sum(), 1
    residual = np.diag(part) - W
    return residual.T @ residual, np.diag(part)


def patch(X, i, k, include_self=True):
    return [i] * include_self + nearest(squared_distances(X), i, k, range(len(X)))


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


def solve(X, terms, B=None, center="auto", normalize=None, ridge=0.0):
    """All eigenvalues (ascending) and directions (columns) of the pencil on the range of the data and of B.

    With a ridge, in units of tr(B) / min(n, d): (A - s B) v = (lambda - s) (B + ridge I) v, s = sum |diag A| / sum diag B of
    the graphs' own matrices.
    """
    Xc = centred(X, B, center)
    N = basis(Xc if B is not None else centred(X, B), 1e-9)
    parts = [(c, Xc.T @ L @ Xc) for c, L in terms]
    A = sum(c * (M / np.trace(M) if normalize else M) for c, M in parts)
    if B is None:
        values, vectors = eigh(N.T @ A @ N)
        return values, N @ vectors
    s = np.abs(np.diag(sum(c * L for c, L in terms))).sum() / np.trace(B)
    B = Xc.T @ B @ Xc
    N = N @ basis(N.T @ B @ N, 1e-10)
    if ridge:
        scaled = ridge * np.trace(B) / min(X.shape) * np.eye(len(B))
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


def gap_fit(estimator, X, y=None):
    """The estimator fitted with as many components as lead to a gap, and all else as given."""
    if estimator.pca != "auto":
        estimator = clone(estimator).set_params(n_components=1).fit(X, y)
        values = estimator.set_params(n_components=estimator.rank_).fit(X, y).eigenvalues_
        return estimator.set_params(n_components=gap(values)).fit(X, y)
    gaps = []
    for k in range(1, 7):  # pca="auto" keeps more directions for more components, so each has eigenvalues of its own
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
