"""Local geometry: one patch per sample, one matrix per patch, and the sum of these as one n x n matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._validation import check_choice, check_count, check_positive, equal_within
from ..neighbors import Search, find, require_features
from ..operators import Array, Structured, diagonal, row_blocks
from ..problem import Term
from ..rows import Rows, gathered, lengths, row_width
from ._base import Graph
from ._reconstruction import local_grams

ENTRIES = 1 << 22  # at most this many entries of local matrices are added up at a time
# Where patches are larger than this many times the distortion, the fast formulas lose digits, and slower ones are used.
LARGE = 1e9
WEIGHTS = ("coding_length", "distance", "uniform")


class Patches(NamedTuple):
    """The rows of X in each patch, and their weights. Both arrays are (n_patches, n_points)."""

    rows: np.ndarray
    weights: np.ndarray


def align(patches: Any, matrices: Any, n_samples: int) -> sparse.csr_array:
    r"""Add up local matrices where their rows belong, :math:`L(I_i, I_i) \leftarrow L(I_i, I_i) + L_i` for each patch i.

    Parameters
    ----------
    patches : array-like of shape (n_patches, n_points), or list of arrays
        The rows of X in each patch, :math:`I_i`.
    matrices : array-like of shape (n_patches, n_points, n_points), or list of arrays
        The local matrix of each patch, :math:`L_i`.
    n_samples : int
        How many rows and columns the result has.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> from lapwing.graphs import align
    >>> align([[0, 1], [1, 2]], [[[1, -1], [-1, 1]]] * 2, 3).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    total = sparse.csr_array((n_samples, n_samples))
    for rows, local, rounding in _stacks(patches, matrices):
        _check_patches(rows, local, rounding, n_samples)
        total = total + assembled(rows, (local + local.transpose(0, 2, 1)) / 2, n_samples)
    return total


def assembled(rows: np.ndarray, local: np.ndarray, n: int) -> sparse.csr_array:
    """Add up one stack of local matrices, some at a time, so that the list of entries stays short."""
    m = rows.shape[1]
    total = sparse.csr_array((n, n))
    for start in range(0, len(rows), max(1, ENTRIES // (m * m))):
        part = slice(start, start + max(1, ENTRIES // (m * m)))
        r = rows[part].astype(np.int32)
        shape = (len(r), m, m)
        i, j = (np.broadcast_to(index, shape).ravel() for index in (r[:, :, None], r[:, None, :]))
        total = total + sparse.coo_array((local[part].ravel(), (i, j)), shape=(n, n)).tocsr()
    return total


def _stacks(patches: Any, matrices: Any) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Patches of the same size, with their matrices in float64 and a bound on the rounding of these."""
    if not hasattr(patches, "__len__") or not hasattr(matrices, "__len__"):
        raise ValueError("patches and matrices must be arrays or lists: the rows of each patch, and a matrix for each")
    if len(patches) != len(matrices):
        raise ValueError(
            f"patches has {len(patches)} entries, but matrices has {len(matrices)}; give one matrix per patch"
        )
    sizes = np.array([len(patch) for patch in patches])
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        shapes = {np.shape(matrices[i]) for i in which}
        if shapes != {(size, size)}:
            raise ValueError(f"matrices must be {size} x {size} for patches of {size} rows; got {sorted(shapes)}")
        given = np.array([matrices[i] for i in which])
        local = given.astype(np.float64)
        yield np.array([patches[i] for i in which]), local, equal_within(given.dtype) * np.abs(local).max(initial=0)


def _check_patches(rows: np.ndarray, local: np.ndarray, rounding: float, n: int) -> None:
    if rows.ndim != 2 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n:
        raise ValueError(
            f"patches must hold rows of X, whole numbers from 0 to {n - 1} (they cannot be used where X is split, as in "
            f"cross-validation); got {rows.dtype} {rows.ravel()[:5]}"
        )
    if not np.isfinite(local).all():
        raise ValueError("matrices contain NaN or infinity")
    if np.abs(local - local.transpose(0, 2, 1)).max(initial=0) > rounding:
        raise ValueError("matrices must be symmetric; pass (M + M.T) / 2")


class Alignment(Graph):
    """Adds up local matrices that you give, one per patch of rows, by :func:`align`.

    Parameters
    ----------
    patches : array-like of shape (n_patches, n_points), or list of arrays
        The rows of X in each patch. They fit one data set and no cross-validation fold of it.
    matrices : array-like of shape (n_patches, n_points, n_points), or list of arrays
        One symmetric matrix per patch.

    Examples
    --------
    >>> from lapwing.graphs import Alignment
    >>> graph = Alignment([[0, 1], [1, 2]], [[[1, -1], [-1, 1]]] * 2)
    >>> graph.build([[0.0], [1.0], [5.0]])[0].laplacian.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """

    reads_features = False
    indexes_rows = True

    def __init__(self, patches: ArrayLike, matrices: ArrayLike):
        self.patches = patches
        self.matrices = matrices

    @property
    def is_laplacian(self) -> bool:
        return all(
            np.abs(local.sum(axis=2)).max() <= rounding for _, local, rounding in _stacks(self.patches, self.matrices)
        )

    @property
    def is_semidefinite(self) -> bool:
        return all(
            np.linalg.eigvalsh(local).min() >= -rounding for _, local, rounding in _stacks(self.patches, self.matrices)
        )

    def terms(self, data: Rows) -> list[Term]:
        return [aligned_term(align(self.patches, self.matrices, data.n))]


def aligned_term(L: sparse.csr_array) -> Term:
    """The term of L, with a degree of 1 for each row that takes part."""
    n = L.shape[0]
    taking_part = (np.diff(L.indptr) > 0).astype(np.float64)
    return Term(1.0, Structured(n, sparse=L), diagonal(taking_part))


class _Patched(Graph):
    """A graph on patches, each of a row and its nearest neighbours, with weights inside the patch."""

    n_neighbors: int
    weights: str
    distortion: Any
    dimension: Any
    metric: Any
    metric_params: dict | None
    queries: int | None = None
    random_state: int = 0

    @property
    def _search(self) -> Search:
        return Search(
            self.n_neighbors, self.metric, self.metric_params, queries=self.queries, random_state=self.random_state
        )

    def searches(self) -> list[Search]:
        return [self._search]

    def patches(self, data: Rows) -> Patches:
        """The patches of all rows and their weights."""
        check_choice("weights", self.weights, WEIGHTS)
        rows = self.rows(data)
        weights = np.ones(rows.shape)
        if self.weights == "distance":
            for part, G in patch_grams(data, rows):
                weights[part] = distance_weights(G)
        elif self.weights == "coding_length":
            size = self._dimension(data), self._squared_distortion(data)
            if self._has_few_dimensions(data, rows):
                for part in row_blocks(len(rows), 2 * rows.shape[1] * data.X.shape[1]):
                    points = data.X[rows[part]].astype(np.float64)
                    weights[part] = coding_length_weights_of_points(points, data.mean, *size)
            else:
                squares = _squares(data, np.unique(rows))
                for part, G in patch_grams(data, rows):
                    weights[part] = coding_length_weights(G, squares[rows[part]], *size)
        return Patches(rows, weights)

    def rows(self, data: Rows) -> np.ndarray:
        """One patch per line: the row that is searched for, and then its neighbours, nearest first."""
        k = check_count("n_neighbors", self.n_neighbors)
        require_features(self.metric, type(self).__name__)
        edges = find(data, self._search)
        return np.column_stack([edges.rows[::k], edges.cols.reshape(-1, k)])

    def _has_few_dimensions(self, data: Rows, rows: np.ndarray) -> bool:
        """Whether the scatter matrix of a patch is smaller than its Gram matrix, because there are few columns."""
        plain = data.has_features and not sparse.issparse(data.X)
        return plain and data.X.shape[1] < rows.shape[1] - 1

    def _dimension(self, data: Rows) -> float:
        if self.dimension is not None:
            return check_positive("dimension", self.dimension)
        if not data.has_features:
            raise ValueError(
                'kernel="precomputed" has no dimension of its own; give dimension= and distortion= for weights="coding_length", '
                'or use weights="uniform"'
            )
        return float(data.X.shape[1])

    def _squared_distortion(self, data: Rows) -> float:
        if self.distortion is not None:
            return check_positive("distortion", self.distortion) ** 2
        if not data.has_features:
            raise ValueError(
                'kernel="precomputed" needs distortion= for weights="coding_length": its values have no unit'
            )
        return 10 * self._dimension(data) / self.n_neighbors


def patch_grams(data: Rows, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """The Gram matrices of the patches, in blocks of patches.

    They are about the first row of each patch. A far row moves the mean of all rows, and patches far from it would lose their
    digits.
    """
    m = rows.shape[1]
    for part in row_blocks(len(rows), m * max(m, 2 * row_width(data.X))):
        G = np.zeros((len(rows[part]), m, m))
        G[:, 1:, 1:] = local_grams(data, rows[part][:, 0], rows[part][:, 1:])
        yield part, G


def _squares(data: Rows, some: np.ndarray) -> np.ndarray:
    """The squared distances of rows from the mean of all, for ``some`` of them at least."""
    if not data.has_features:
        K = data.X.astype(np.float64, copy=False)
        return np.diagonal(K) - 2 * K.mean(axis=0) + K.mean()
    if sparse.issparse(data.X):
        mean = data.centred_mean
        return lengths(data.centred) ** 2 - 2 * (data.centred @ mean) + mean @ mean
    squares = np.zeros(data.X.shape[0])
    for part in row_blocks(some.size, data.X.shape[1]):
        squares[some[part]] = lengths(data.X[some[part]] - data.mean) ** 2
    return squares


def centred_grams(G: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Gram matrices about the (weighted) mean of the patch, :math:`H_w^\top G H_w`."""
    means = (
        G.mean(axis=2) if weights is None else np.einsum("bij,bj->bi", G, weights) / weights.sum(axis=1, keepdims=True)
    )
    shares = np.full(G.shape[:2], 1 / G.shape[1]) if weights is None else weights / weights.sum(axis=1, keepdims=True)
    total = np.einsum("bi,bi->b", means, shares)
    return G - means[:, :, None] - means[:, None, :] + total[:, None, None]


def coding_length_weights(
    G: np.ndarray, squares: np.ndarray, dimension: float, squared_distortion: float
) -> np.ndarray:
    r"""Weights by reductive coding length (eq. 22 to 25), from nothing but the Gram matrices of the patches, about any point
    of each, and the squared distances of their points from the mean of all rows.

    :math:`L(S) = \frac{m + D}{2} \log\det(I + a_m G_c) + \frac{D}{2} \log(1 + \|\bar x\|^2 / \epsilon^2)` with
    :math:`a_m = D / (\epsilon^2 m)`. Without point r the scatter loses a rank-one part, so with
    :math:`B = I + a_{m-1} G_c` the determinant is :math:`\det B \, (1 - u_r)`, where
    :math:`u_r = \frac{m}{m-1} [a_{m-1} G_c B^{-1}]_{rr}` and :math:`1 - u_r = \frac{m}{m-1} [B^{-1} - e e^\top / m]_{rr}`.
    """
    m = G.shape[1]
    Gc = centred_grams(G)
    a, a_less = dimension / (squared_distortion * m), dimension / (squared_distortion * (m - 1))
    own = np.diagonal(Gc, axis1=1, axis2=2)
    total = (squares - own).mean(axis=1)
    total_less = total[:, None] - (squares - own - total[:, None]) / (m - 1) + own / (m - 1) ** 2
    is_large = a_less * np.trace(Gc, axis1=1, axis2=2).max(initial=0) > LARGE
    determinants = (_determinants_by_modes if is_large else _determinants)(Gc, a, a_less)
    return _from_determinants(*determinants, total, total_less, dimension, squared_distortion)


def _log_determinants(M: np.ndarray) -> np.ndarray:
    """``log det(I + M)`` of positive semidefinite matrices. Small M are not rounded off when I is added.

    Off its diagonal, the Cholesky factor C of I + M is as accurate as M. Its pivots are 1 + (M_kk - sum of C_kj^2, j < k), of
    which the part in brackets is kept.
    """
    below = np.tril(np.linalg.cholesky(np.eye(M.shape[1]) + M), -1)
    pivots = np.diagonal(M, axis1=1, axis2=2) - np.einsum("bij,bij->bi", below, below)
    return np.log1p(pivots).sum(axis=1)


def _log_rest(u: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """``log(1 - u)``, from whichever of u and 1 - u has kept its digits."""
    return np.where(u < 0.5, np.log1p(-np.minimum(u, 0.5)), np.log(np.maximum(rest, 1e-300)))


def _determinants(Gc: np.ndarray, a: float, a_less: float) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of the determinants with all points, and without each point."""
    m = Gc.shape[1]
    # e is an eigenvector of B with the value 1. Adding a multiple of e e^T moves this value among the others, so that B^-1 -
    # e e^T / m is computed without loss of digits.
    tau = a_less * np.trace(Gc, axis1=1, axis2=2) / m
    inverse = np.linalg.inv(np.eye(m) + a_less * Gc + tau[:, None, None] / m)
    u = a_less * np.einsum("bij,bij->bi", Gc, inverse)
    rest = np.diagonal(inverse, axis1=1, axis2=2) - (1 / (m * (1 + tau)))[:, None]
    less = _log_determinants(a_less * Gc)[:, None] + _log_rest(m / (m - 1) * u, m / (m - 1) * rest)
    return _log_determinants(a * Gc), less


def _determinants_by_modes(Gc: np.ndarray, a: float, a_less: float) -> tuple[np.ndarray, np.ndarray]:
    """The same by eigenvectors. This is slower, but no digits are lost however large the patches are."""
    m = Gc.shape[1]
    trace = np.trace(Gc, axis1=1, axis2=2)
    # The added term makes e the last eigenvector.
    values, Q = np.linalg.eigh(Gc + 10 * np.where(trace > 0, trace, 1.0)[:, None, None] / m)
    values, shares = values[:, :-1], m / (m - 1) * Q[:, :, :-1] ** 2
    values = np.where(values > 10 * m * np.finfo(np.float64).eps * trace[:, None], values, 0.0)
    inverse = 1 / (1 + a_less * values)
    u, rest = (np.einsum("bij,bj->bi", shares, part) for part in (a_less * values * inverse, inverse))
    return np.log1p(a * values).sum(axis=1), np.log1p(a_less * values).sum(axis=1)[:, None] + _log_rest(u, rest)


def coding_length_weights_of_points(
    points: np.ndarray, origin: np.ndarray, dimension: float, squared_distortion: float
) -> np.ndarray:
    r"""The same from the D x D scatter S, which is the smaller matrix for patches with more points than dimensions.

    ``origin`` is the mean of all rows. Here :math:`u_r = a_{m-1} \frac{m}{m-1} x_r^\top B^{-1} x_r`.
    """
    m, d = points.shape[1:]
    first = points[:, :1]
    points = points - first
    mean = points.mean(axis=1, keepdims=True)
    centred = points - mean
    shift = first - origin
    S = centred.transpose(0, 2, 1) @ centred
    a, a_less = dimension / (squared_distortion * m), dimension / (squared_distortion * (m - 1))
    if a_less * np.trace(S, axis1=1, axis2=2).max(initial=0) > LARGE:
        squares = np.sum((points + shift) ** 2, axis=2)
        return coding_length_weights(points @ points.transpose(0, 2, 1), squares, dimension, squared_distortion)
    inverse = np.linalg.inv(np.eye(d) + a_less * S)
    u = a_less * m / (m - 1) * np.sum((centred @ inverse) * centred, axis=2)
    less = _log_determinants(a_less * S)[:, None] + _log_rest(u, 1 - u)
    total = np.sum((mean + shift)[:, 0] ** 2, axis=1)
    total_less = np.sum((mean + shift - centred / (m - 1)) ** 2, axis=2)
    return _from_determinants(_log_determinants(a * S), less, total, total_less, dimension, squared_distortion)


def _from_determinants(
    whole: np.ndarray, less: np.ndarray, total: np.ndarray, total_less: np.ndarray, D: float, squared_distortion: float
) -> np.ndarray:
    """Eq. 22 and 23, from log-determinants and squared means, each with all points and without each point."""
    m = less.shape[1]
    length = (m + D) / 2 * whole + D / 2 * np.log1p(np.maximum(total, 0) / squared_distortion)
    length_less = (m - 1 + D) / 2 * less + D / 2 * np.log1p(np.maximum(total_less, 0) / squared_distortion)
    change = np.abs(length[:, None] - length_less)
    # Divided by the largest, so that squares do not underflow.
    change /= np.maximum(change.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    apart = change - change.mean(axis=1, keepdims=True)
    variance = np.mean(apart**2, axis=1, keepdims=True)
    equal = variance <= 1e-20
    return np.where(equal, 1.0, np.exp(-(apart**2) / (2 * np.where(equal, 1.0, variance))))


def distance_weights(G: np.ndarray) -> np.ndarray:
    r"""Weights by distance from the centre of the patch, :math:`\exp(-d^2 / t)` with t the patch's mean squared distance."""
    squared = np.maximum(np.diagonal(centred_grams(G), axis1=1, axis2=2), 0)
    mean = squared.mean(axis=1, keepdims=True)
    return np.exp(-squared / np.where(mean > 0, mean, 1.0))


class CodingLength(_Patched):
    r"""The scatter of patches, each of a sample and its neighbours, in which samples that do not fit weigh little.

    .. math:: L = \sum_i S_i L_i S_i^\top, \qquad L_i = W_i - \frac{W_i e e^\top W_i}{e^\top W_i e}

    where :math:`S_i` selects sample i and its nearest neighbours, and the diagonal matrix :math:`W_i` holds their weights. The
    coding length is the number of bits that a patch takes up to a given distortion. A sample that does not fit the shape of a
    patch changes it by more than others do, and gets little weight there [1]_. Code lengths are taken about the mean of all
    samples, so that they do not depend on the origin. :class:`lapwing.LPCA` maximises this scatter. Like any other graph it may
    also attract, and be combined with others.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours a patch has, K, beside the sample it belongs to.
    weights : {"coding_length", "distance", "uniform"}, default="coding_length"
        How much a sample counts in a patch, the diagonal of :math:`W_i`. ``"coding_length"`` is eq. 23 of the paper.
        ``"distance"`` is :math:`\exp(-d^2/t)` of the distance d from the centre of the patch, with t the mean square of d, for
        comparison. ``"uniform"`` is 1.
    distortion : float, default=None
        :math:`\epsilon` of the coding length, in units of X; None is :math:`\sqrt{10 D / K}`.
    dimension : float, default=None
        The dimension D of the space in the coding length; None is the number of features. A kernel map with
        ``kernel="precomputed"`` has none, so that ``dimension`` and ``distortion`` must be given.
    metric : str or callable, default="euclidean"
        As in :class:`KNN`.
    metric_params
        As in :class:`KNN`.
    queries
        As in :class:`KNN`. It is the number of rows that have a patch, and their sum is multiplied by n / queries.
    random_state
        As in :class:`KNN`.

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, sections 2 and 4.

    Examples
    --------
    The last of these points is far from the line of the others, and gets little weight in their patch:

    >>> from lapwing.graphs import CodingLength
    >>> from lapwing.rows import Rows
    >>> X = [[-6, 0], [-2, 0.4], [0, -0.3], [2, 0.4], [6, 0], [2, -6]]
    >>> rows, weights = CodingLength(5).patches(Rows.validated(X))
    >>> dict(zip(rows[0].tolist(), weights[0].round(2).tolist()))
    {0: 0.93, 1: 0.73, 2: 0.62, 3: 0.74, 5: 0.17, 4: 0.96}
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str = "coding_length",
        distortion: float | None = None,
        dimension: float | None = None,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict | None = None,
        queries: int | None = None,
        random_state: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.distortion = distortion
        self.dimension = dimension
        self.metric = metric
        self.metric_params = metric_params
        self.queries = queries
        self.random_state = random_state

    def _factored(self, data: Rows) -> tuple[np.ndarray, np.ndarray, sparse.csr_array]:
        """The rows of the patches, their weights, scaled up where only a sample of rows has a patch, and the factor of W."""
        rows, weights = self.patches(data)
        weights = self._search.scale(data) * weights
        return rows, weights, _selection(rows, weights / np.sqrt(weights.sum(axis=1, keepdims=True)), data.n)

    def terms(self, data: Rows) -> list[Term]:
        rows, weights, M = self._factored(data)
        degrees = np.bincount(rows.ravel(), weights.ravel(), minlength=data.n)
        factor = (sparse.csr_array(M.T), -np.ones(len(rows)))
        return [Term(1.0, Structured(data.n, factors=(factor,), diag=degrees), diagonal(degrees))]

    def adjacency(self, data: Rows) -> sparse.csr_array:
        _, _, M = self._factored(data)
        W = sparse.csr_array(M.T @ M)
        W.setdiag(0)
        W.eliminate_zeros()
        return W


def _selection(rows: np.ndarray, values: np.ndarray, n: int) -> sparse.csr_array:
    """A matrix whose row i holds the values of patch i at the samples of the patch."""
    indptr = np.arange(len(rows) + 1) * rows.shape[1]
    return sparse.csr_array((values.ravel(), rows.ravel(), indptr), shape=(len(rows), n))


class Local(NamedTuple):
    """The local subspaces by Theorem 1, one per patch."""

    rows: np.ndarray  # (n, m)
    weights: np.ndarray  # (n, m)
    means: np.ndarray  # (n, D)
    components: np.ndarray  # (n, d, D), orthonormal rows
    coordinates: np.ndarray  # (n, m, d)


def local_subspaces(X: Array, patches: Patches, n_components: int) -> Local:
    """The leading weighted principal directions of each patch, and the coordinates of its points (Theorem 1)."""
    rows, weights = patches
    (n, m), D = rows.shape, X.shape[1]
    if n_components > min(m - 1, D):
        raise ValueError(
            f"n_components={n_components} is more than a patch of {m} samples in {D} dimensions has, {min(m - 1, D)}; use fewer "
            "components or more neighbours"
        )
    local = Local(rows, weights, np.empty((n, D)), np.empty((n, n_components, D)), np.empty((n, m, n_components)))
    for part in row_blocks(n, 4 * m * D):
        w, points = weights[part], X[rows[part]].astype(np.float64)
        local.means[part] = means = np.einsum("bi,bid->bd", w, points) / w.sum(axis=1, keepdims=True)
        points -= means[:, None, :]
        _, _, Vt = np.linalg.svd(np.sqrt(w)[:, :, None] * points, full_matrices=False)
        local.components[part] = Vt[:, :n_components]
        local.coordinates[part] = points @ Vt[:, :n_components].transpose(0, 2, 1)
    return local


class TangentAlignment(_Patched):
    r"""Asks coordinates to fit the tangent space of each patch, so that a curved surface unfolds.

    .. math::
        L = \sum_i S_i Z_i S_i^\top, \qquad
        Z_i = H_w (I - \tilde Q_i (\tilde Q_i^\top \tilde Q_i)^{-1} \tilde Q_i^\top) H_w^\top

    with :math:`\tilde Q_i = W_i^{-1/2} Q_i` from the leading right singular vectors of the weighted, centred patch: Theorem 2
    of [1]_. A map Y with small :math:`\operatorname{tr}(Y^\top L Y)` is close to an affine function of the tangent
    coordinates on every patch. With uniform weights it is local tangent space alignment (LTSA) [2]_.

    Parameters
    ----------
    n_neighbors : int, default=12
        How many neighbours a patch has, K.
    n_components : int, default=None
        The dimension of the tangent spaces, less than K (and less than K - 1 without ``include_self``). None is the
        ``n_components`` of the estimator.
    weights
        As in :class:`CodingLength`.
    include_self : bool, default=True
        Whether a patch has the sample it belongs to, as in the papers. scikit-learn's LTSA leaves it out.
    distortion, dimension, metric, metric_params
        As in :class:`CodingLength`.

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, section 3.
    .. [2] Z. Zhang and H. Zha, "Principal manifolds and nonlinear dimensionality reduction via tangent space alignment", SIAM
       J. Scientific Computing 26, 2004. https://doi.org/10.1137/S1064827502419154

    Examples
    --------
    Rows on an arc are unfolded: their coordinates are their places along it.

    >>> import numpy as np
    >>> from lapwing import LaplacianEigenmaps
    >>> from lapwing.graphs import TangentAlignment
    >>> along = np.linspace(0, 3, 40)
    >>> model = LaplacianEigenmaps(1, graph=TangentAlignment(5), constraint="identity", extension="affine")
    >>> Z = model.fit_transform(np.c_[np.cos(along), np.sin(along)])
    >>> bool(abs(np.corrcoef(Z[:, 0], along)[0, 1]) > 0.999)
    True
    """

    def __init__(
        self,
        n_neighbors: int = 12,
        *,
        n_components: int | None = None,
        weights: str = "coding_length",
        include_self: bool = True,
        distortion: float | None = None,
        dimension: float | None = None,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.weights = weights
        self.include_self = include_self
        self.distortion = distortion
        self.dimension = dimension
        self.metric = metric
        self.metric_params = metric_params

    def rows(self, data: Rows) -> np.ndarray:
        rows = super().rows(data)
        return rows if self.include_self else rows[:, 1:]

    def terms(self, data: Rows) -> list[Term]:
        d = self._n_components(data)
        rows, weights = self.patches(data)
        L = sparse.csr_array((data.n, data.n))
        step = max(1, ENTRIES // rows.shape[1] ** 2)
        for part in (slice(start, start + step) for start in range(0, data.n, step)):
            Z = np.concatenate(list(self._local_matrices(data, rows[part], weights[part], d)))
            L = L + assembled(rows[part], Z, data.n)
        return [aligned_term(L)]

    def _n_components(self, data: Rows) -> int:
        check_count("n_neighbors", self.n_neighbors)
        check_choice("include_self", self.include_self, (True, False))
        if self.n_components is None:
            raise ValueError(
                "TangentAlignment needs the dimension of the tangent spaces: give its n_components, or use it in an estimator "
                "that has n_components"
            )
        d = check_count("n_components", self.n_components)
        if d >= self.n_neighbors - (not self.include_self):
            less = (
                "" if self.include_self else " - 1, since a patch lacks the sample it belongs to (include_self=False)"
            )
            raise ValueError(
                f"n_components={d} must be smaller than n_neighbors={self.n_neighbors}{less}, or every map fits the patches; use "
                "more neighbours"
            )
        return d

    def _local_matrices(self, data: Rows, rows: np.ndarray, weights: np.ndarray, d: int) -> Iterator[np.ndarray]:
        """Z of Theorem 2, from the smaller of the two scatter matrices of a patch."""
        if self._has_few_dimensions(data, rows):
            for part in row_blocks(len(rows), 2 * rows.shape[1] ** 2):
                yield tangent_matrices(_coordinates_of_points(data.X[rows[part]], weights[part], d), weights[part])
        else:
            for part, G in patch_grams(data, rows):
                yield tangent_matrices(_coordinates_of_grams(G, weights[part], d), weights[part])


def _coordinates_of_points(points: np.ndarray, weights: np.ndarray, d: int) -> np.ndarray:
    """Tangent coordinates (patches, points, d), from the principal directions of the weighted patch."""
    points = points.astype(np.float64)
    points -= (np.einsum("bi,bid->bd", weights, points) / weights.sum(axis=1, keepdims=True))[:, None, :]
    scatter = np.einsum("bi,bid,bie->bde", weights, points, points, optimize=True)
    return points @ np.linalg.eigh(scatter)[1][:, :, ::-1][:, :, :d]


def _coordinates_of_grams(G: np.ndarray, weights: np.ndarray, d: int) -> np.ndarray:
    """The same from Gram matrices (Theorem 1): ``W^-1/2 Q D``."""
    roots = np.sqrt(weights)
    values, Q = np.linalg.eigh(roots[:, :, None] * centred_grams(G, weights) * roots[:, None, :])
    values, Q = values[:, ::-1][:, :d], Q[:, :, ::-1][:, :, :d]
    values = np.where(values > 1e-12 * values[:, :1], values, 0.0)
    return Q * np.sqrt(values)[:, None, :] / roots[:, :, None]


def tangent_matrices(coordinates: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Matrices that measure what is left of a map on each patch after its best affine fit by the coordinates."""
    C, m = coordinates, weights.shape[1]
    # Pinv, since a patch may have fewer dimensions.
    inverse = np.linalg.pinv(C.transpose(0, 2, 1) @ C, hermitian=True, rcond=1e-12)
    R = np.eye(m) - C @ inverse @ C.transpose(0, 2, 1)
    u = weights / weights.sum(axis=1, keepdims=True)
    sums = R.sum(axis=2)
    cross = u[:, :, None] * sums[:, None, :]
    return R - cross - cross.transpose(0, 2, 1) + sums.sum(axis=1)[:, None, None] * u[:, :, None] * u[:, None, :]


def affine_extension(X: Array, Y: np.ndarray, X_new: Array, neighbors: np.ndarray) -> np.ndarray:
    """The places of new rows, by the affine map from tangent coordinates to Y on the patch of their neighbours."""
    placed, d = np.empty((X_new.shape[0], Y.shape[1])), Y.shape[1]
    for part in row_blocks(X_new.shape[0], 4 * neighbors.shape[1] * X.shape[1]):
        patches, targets = gathered(X, neighbors[part]), Y[neighbors[part]]
        means, centres = patches.mean(axis=1, keepdims=True), targets.mean(axis=1, keepdims=True)
        _, _, Vt = np.linalg.svd(patches - means, full_matrices=False)
        axes = Vt[:, :d].transpose(0, 2, 1)
        C = (patches - means) @ axes
        slope = np.linalg.pinv(C, rcond=1e-6) @ (targets - centres)
        new = gathered(X_new, np.arange(X_new.shape[0])[part, None])
        placed[part] = (((new - means) @ axes) @ slope + centres)[:, 0]
    return placed
