"""Graphs of patches, each of a row and its neighbours: one matrix per patch, added up to one n x n matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from .._validation import check_choice, check_count, check_not_negative, check_positive, row_blocks
from ..data import ALL, Data, SparseData
from ..operators import Structured, diagonal
from ..problem import Term
from .neighbors import Searching, require_features

BLOCKS_AT_ONCE = 16  # blocks of local matrices that are added up at a time, so that the lists of entries stay short
LARGE = 1e7  # times the distortion: of larger patches of few columns, the fast formula loses digits
DENSE_SHARE = 0.02  # where more entries of sparse rows than this share are not 0, their patches are dense (measured)
WEIGHTS = ("coding_length", "distance", "uniform")


@dataclass(eq=False, repr=False)
class Reconstruction(Searching):
    r"""Asks each row to stay where its neighbours place it: the weights of locally linear embedding.

    The weights W minimise :math:`\sum_i \|x_i - \sum_j W_{ij} x_j\|^2`, where j are the neighbours of i and each row of W
    adds up to 1. The matrix of the graph is :math:`(I - W)^\top (I - W)`, kept as a factor, and its degrees are 1.

    Parameters
    ----------
    n_neighbors : int, default=5
        From how many nearest neighbours each row is reconstructed.
    reg : float, default=1e-3
        How strongly the weights are kept small and equal: ``reg * trace(G)`` is added to the diagonal of each local Gram
        matrix G, which is singular where there are more neighbours than dimensions.
    among : {"all", "same_class"}, default="all"
        Where neighbours are searched: among all rows, or inside the class. Rows of unknown label then take no part.
    metric
        As in :class:`KNN`. It is that of the search; the weights are always those of Euclidean space.
    queries, random_state : As in :class:`KNN`

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.data import Data
    >>> from lapwing.graphs import Reconstruction
    >>> Reconstruction(2).weights_matrix(Data(np.array([[0.0], [1.0], [3.0]]))).toarray()[1].round(2)
    array([0.67, 0.  , 0.33])
    """

    n_neighbors: int = 5
    _: KW_ONLY
    reg: float = 1e-3
    among: str = "all"
    metric: str | Callable[..., float] = "euclidean"
    queries: int | None = None
    random_state: int = 0

    def terms(self, data: Data) -> list[Term]:
        W, (request,) = self.weights_matrix(data), self.requests()
        taking_part = (np.diff(W.indptr) > 0).astype(np.float64)
        residual = sparse.csr_array(sparse.diags_array(taking_part) - W)[np.flatnonzero(taking_part)]
        scale = request.rows_per_query(data.size)
        factor = (sparse.csr_array(residual.T), np.full(residual.shape[0], scale))
        return [Term(1.0, Structured(data.n, factors=(factor,)), diagonal(scale * taking_part))]

    def weights_matrix(self, data: Data) -> sparse.csr_array:
        """W, one row of weights per sample."""
        check_choice("among", self.among, ("all", "same_class"))
        check_not_negative("reg", self.reg)
        require_features(self.metric, "Reconstruction")
        (request,) = self.requests()
        rows, cols, _ = data.nearest(request)
        counts = np.bincount(rows, minlength=data.n)
        sampled = request.is_sampled(data.size)
        if self.among == "same_class" and not sampled and (alone := (data.classes >= 0) & (counts == 0)).any():
            raise ValueError(
                f'Reconstruction(among="same_class") needs two samples or more in each class, and {alone.sum()} classes have one '
                f"(row {alone.argmax()}); add samples, or set those labels to -1 (unknown)"
            )
        ends, values = np.cumsum(counts), np.empty(rows.size)
        # Classes differ in size, so rows with the same number of neighbours are handled together.
        for k in np.unique(counts[counts > 0]):
            own = np.flatnonzero(counts == k)
            place = (ends - counts)[own, None] + np.arange(k)
            values[place] = barycentric_weights(data, own, cols[place], float(self.reg))
        return sparse.csr_array((values, cols, np.concatenate([[0], ends])), shape=(data.n, data.n))


def barycentric_weights(data: Data, rows: np.ndarray, neighbors: np.ndarray, reg: float) -> np.ndarray:
    """The weights (len(rows), k) of the best affine combination of the neighbours. Each row of weights sums to 1."""
    weights, k = np.empty(neighbors.shape), neighbors.shape[1]
    for block in row_blocks(rows.size, k * max(k, 2 * row_width(data))):
        G = local_grams(data, rows[block], neighbors[block])
        trace = np.trace(G, axis1=1, axis2=2)
        # Where all neighbours equal the row, any weights will do: 1/k.
        G[:, np.arange(k), np.arange(k)] += np.where(trace > 0, reg * trace, 1.0)[:, None]
        if reg == 0 and (np.linalg.matrix_rank(G, hermitian=True) < k).any():
            raise ValueError("reg=0 leaves local Gram matrices singular (too many neighbours?); use reg > 0")
        w = np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[..., 0]
        weights[block] = w / w.sum(axis=1, keepdims=True)
    return weights


def row_width(data: Data) -> int:
    """How many entries of a row are computed with: all of sparse rows, too, where so many are not 0 that this is faster."""
    entries = data.X.nnz // data.n if isinstance(data, SparseData) else data.d
    return data.d if entries > DENSE_SHARE * data.d else entries


def local_grams(data: Data, rows: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """The Gram matrices of the differences ``x_j - x_i``, over the neighbours j of i."""
    (b, k), points = neighbors.shape, np.concatenate([rows[:, None], neighbors], axis=1)
    if not data.has_features:
        i, j = np.broadcast_arrays(points[:, :, None], points[:, None, :])
        products = data.inner_products(i.ravel(), j.ravel()).reshape(b, k + 1, k + 1)
        own, cross = products[:, :1, :1], products[:, 1:, :1]
        return products[:, 1:, 1:] - cross - cross.transpose(0, 2, 1) + own
    if row_width(data) == data.d:
        apart = data.rows_at(neighbors) - data.rows_at(rows)[:, None, :]
        return apart @ apart.transpose(0, 2, 1)
    # All patches in one product: each has columns of its own, so that rows of two patches have none in common.
    apart = sparse.csr_array(
        data.X[neighbors.ravel()].astype(np.float64) - data.X[np.repeat(rows, k)].astype(np.float64)
    )
    patch = np.repeat(np.arange(b), np.diff(apart.indptr[::k]))
    columns, own = np.unique(patch * data.d + apart.indices, return_inverse=True)
    apart = sparse.csr_array((apart.data, own, apart.indptr), shape=(b * k, columns.size))
    products = sparse.coo_array(apart @ apart.T)
    i, j = products.coords
    grams = np.zeros((b, k, k))
    grams[i // k, i % k, j % k] = products.data
    return grams


class Patches(NamedTuple):
    """The rows of X in each patch, and their weights. Both arrays are (n_patches, n_points)."""

    rows: np.ndarray
    weights: np.ndarray


@dataclass(eq=False, repr=False)
class PatchGraph(Searching):
    """A graph on patches, each of a row and its nearest neighbours, with weights inside the patch."""

    n_neighbors: int = 5
    _: KW_ONLY
    weights: str = "coding_length"
    distortion: float | None = None
    dimension: float | None = None
    origin: str | int = "mean"
    metric: str | Callable[..., float] = "euclidean"
    metric_params: dict | None = None
    include_self: ClassVar[bool] = True

    def patches(self, data: Data) -> Patches:
        """The patches of all rows and their weights."""
        rows, weights, _, _ = zip(*self._blocks(data), strict=True)
        return Patches(np.concatenate(rows), np.concatenate(weights))

    def _blocks(self, data: Data) -> Iterator[tuple[np.ndarray, np.ndarray, Any, Any]]:
        """Some patches at a time: their rows, the weights of these, and either Gram matrices or points, whichever are smaller.

        A patch is a row that is searched for, and then its neighbours, nearest first. Points and products are taken about the
        mean of the patch, by way of its first row: about the mean of all rows, which a far row moves, they would lose digits.
        """
        require_features(self.metric, type(self).__name__)
        own, cols, _ = data.nearest(self.requests()[0])
        weigh, k = self._weighing(data), self.n_neighbors
        patches = np.column_stack([own[::k], cols.reshape(-1, k)])[:, 0 if self.include_self else 1 :]
        m = patches.shape[1]
        few_columns = data.has_features and not isinstance(data, SparseData) and data.d < m - 1
        for part in row_blocks(len(patches), m * max(m, 2 * row_width(data))):
            rows, G, points = patches[part], None, None
            if few_columns:
                points = data.rows_at(rows) - data.rows_at(rows[:, :1])
                points -= points.mean(axis=1, keepdims=True)
                squares = np.einsum("bij,bij->bi", points, points)
            else:
                G = centred_grams(np.pad(local_grams(data, rows[:, 0], rows[:, 1:]), ((0, 0), (1, 0), (1, 0))))
                squares = np.maximum(np.diagonal(G, axis1=1, axis2=2), 0)
            yield rows, weigh(rows, squares, G, points), G, points

    def _weighing(self, data: Data) -> Callable[[np.ndarray, np.ndarray, Any, Any], np.ndarray]:
        """The function from what :meth:`_blocks` knows of patches, squared distances from their means included, to weights."""
        if check_choice("weights", self.weights, WEIGHTS) == "uniform":
            return lambda rows, *_: np.ones(rows.shape)
        if self.weights == "distance":
            return lambda rows, own, *_: distance_weights(own)
        if not data.has_features and (self.dimension is None or self.distortion is None):
            raise ValueError('kernel="precomputed" has no dimension and no unit; give dimension= and distortion=')
        D = float(data.d) if self.dimension is None else check_positive("dimension", self.dimension)
        squared = 10 * D / self.n_neighbors
        squared = squared if self.distortion is None else check_positive("distortion", self.distortion) ** 2
        if self.origin not in ("mean", 0):
            check_choice("origin", self.origin, ("mean", 0))  # raises
        squares = squares_about_mean(data) if self.origin == "mean" else data.squares
        return lambda rows, own, G, points: coding_length_weights(own, G, points, squares[rows], D, squared)


def squares_about_mean(data: Data) -> np.ndarray:
    """The squared distances of the rows from their mean."""
    if not data.has_features:
        K = data.X.astype(np.float64, copy=False)
        return np.diagonal(K) - 2 * K.mean(axis=0) + K.mean()
    found, mean = np.empty(data.n), data.mean()
    for rows in row_blocks(data.n, data.d):
        apart = data.rows_at(np.arange(data.n)[rows]) - mean
        found[rows] = np.einsum("ij,ij->i", apart, apart)
    return found


def centred_grams(G: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Gram matrices about the (weighted) mean of the patch, :math:`H_w^\top G H_w`."""
    w = np.ones(G.shape[:2]) if weights is None else weights
    sizes = w.sum(axis=1, keepdims=True)
    means = np.einsum("bij,bj->bi", G, w) / sizes
    total = np.einsum("bi,bi->b", means, w / sizes)
    return G - means[:, :, None] - means[:, None, :] + total[:, None, None]


def coding_length_weights(
    own: np.ndarray, G: Any, points: Any, squares: np.ndarray, D: float, squared_distortion: float
) -> np.ndarray:
    r"""Weights by reductive coding length (eq. 22 to 25), from the Gram matrices of patches or from their points, either about
    the mean of each patch, and the squared distances of the points from there, ``own``, and from the origin of the code.

    :math:`L(S) = \frac{m + D}{2} \log\det(I + a_m G_c) + \frac{D}{2} \log(1 + \|\bar x\|^2 / \epsilon^2)` with :math:`a_m = D /
    (\epsilon^2 m)`. Without point r the scatter loses a rank-one part, so with :math:`B = I + a_{m-1} G_c` the determinant is
    :math:`\det B \, (1 - u_r)`, where :math:`u_r = \frac{m}{m-1} [a_{m-1} G_c B^{-1}]_{rr}` and :math:`1 - u_r = \frac{m}{m-1}
    [B^{-1} - e e^\top / m]_{rr}`. All are sums over the eigenvectors of :math:`G_c`, or over those of :math:`X_c^\top X_c`, from
    points, which have the same values.
    """
    m, trace = own.shape[1], own.sum(axis=1, keepdims=True)
    trace = np.where(trace > 0, trace, 1.0)
    a, a_less = D / (squared_distortion * m), D / (squared_distortion * (m - 1))
    total = (squares - own).mean(axis=1)
    total_less = total[:, None] - (squares - own - total[:, None]) / (m - 1) + own / (m - 1) ** 2
    if points is not None and a_less * trace.max(initial=0) <= LARGE:
        values, axes = np.linalg.eigh(points.transpose(0, 2, 1) @ points)
        values = np.maximum(values, 0)
        u = np.einsum("bij,bj->bi", (points @ axes) ** 2, a_less * m / (m - 1) / (1 + a_less * values))
        rest = 1 - u
    else:
        G = points @ points.transpose(0, 2, 1) if G is None else G
        # The added term makes e, whose value is 0, the last eigenvector.
        values, Q = np.linalg.eigh(G + 10 * trace[:, :, None] / m)
        values, shares = values[:, :-1], m / (m - 1) * Q[:, :, :-1] ** 2
        values = np.where(values > 10 * m * np.finfo(np.float64).eps * trace, values, 0.0)
        inverse = 1 / (1 + a_less * values)
        u, rest = (np.einsum("bij,bj->bi", shares, part) for part in (a_less * values * inverse, inverse))
    whole, before = (np.log1p(scale * values).sum(axis=1) for scale in (a, a_less))
    # log(1 - u), from whichever of u and 1 - u has kept its digits.
    log_rest = np.where(u < 0.5, np.log1p(-np.minimum(u, 0.5)), np.log(np.maximum(rest, 1e-300)))
    length = (m + D) / 2 * whole + D / 2 * np.log1p(np.maximum(total, 0) / squared_distortion)
    bits_of_mean = D / 2 * np.log1p(np.maximum(total_less, 0) / squared_distortion)
    length_less = (m - 1 + D) / 2 * (before[:, None] + log_rest) + bits_of_mean
    change = np.abs(length[:, None] - length_less)
    # Divided by the largest, so that squares do not underflow.
    change /= np.maximum(change.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    apart = change - change.mean(axis=1, keepdims=True)
    variance = np.mean(apart**2, axis=1, keepdims=True)
    return np.exp(-(apart**2) / (2 * np.where(variance <= 1e-20, np.inf, variance)))


def distance_weights(squared: np.ndarray) -> np.ndarray:
    r"""Weights by distance from the centre of the patch, :math:`\exp(-d^2 / t)` with t the patch's mean squared distance."""
    mean = squared.mean(axis=1, keepdims=True)
    return np.exp(-squared / np.where(mean > 0, mean, 1.0))


@dataclass(eq=False, repr=False)
class CodingLength(PatchGraph):
    r"""The scatter of patches, each of a sample and its neighbours, in which samples that do not fit weigh little.

    .. math:: L = \sum_i S_i L_i S_i^\top, \qquad L_i = W_i - \frac{W_i e e^\top W_i}{e^\top W_i e}

    where :math:`S_i` selects sample i and its nearest neighbours, and the diagonal matrix :math:`W_i` holds their weights. The
    coding length is the number of bits that a patch takes up to a given distortion; a sample that changes it by more than
    others do gets little weight [1]_. :class:`lapwing.LPCA` maximises this scatter.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours a patch has, K, beside the sample it belongs to.
    weights : {"coding_length", "distance", "uniform"}, default="coding_length"
        How much a sample counts in a patch, the diagonal of :math:`W_i`: by eq. 23 of the paper; by
        :math:`\exp(-d^2/t)` of the distance d from the centre of the patch, with t the mean square of d; or 1.
    distortion : float, default=None
        :math:`\epsilon` of the coding length, in units of X; None is :math:`\sqrt{10 D / K}`. With ``kernel="precomputed"``,
        which has no units, it must be given, as must ``dimension``.
    dimension : float, default=None
        The dimension D of the space in the coding length; None is the number of features.
    origin : {"mean", 0}, default="mean"
        From where the mean of a patch is coded: from the mean of all samples, so that moving X changes nothing, or from the
        origin of X, as eq. 24 of the paper is printed.
    metric, metric_params, queries, random_state : As in :class:`KNN`

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, sections 2 and 4.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.data import Data
    >>> from lapwing.graphs import CodingLength
    >>> X = np.array([[-6, 0], [-2, 0.4], [0, -0.3], [2, 0.4], [6, 0], [2, -6]])  # the last is far from the line of the others
    >>> rows, weights = CodingLength(5).patches(Data(X))
    >>> dict(zip(rows[0].tolist(), weights[0].round(2).tolist()))
    {0: 0.93, 1: 0.73, 2: 0.62, 3: 0.74, 5: 0.17, 4: 0.96}
    """

    _: KW_ONLY
    queries: int | None = None
    random_state: int = 0

    def terms(self, data: Data) -> list[Term]:
        """L = D - UUᵀ. Both are scaled up where only a sample of rows has a patch."""
        rows, weights = self.patches(data)
        weights = self.requests()[0].rows_per_query(data.size) * weights
        degrees = np.bincount(rows.ravel(), weights.ravel(), minlength=data.n)
        values, indptr = weights / np.sqrt(weights.sum(axis=1, keepdims=True)), np.arange(len(rows) + 1) * rows.shape[1]
        M = sparse.csr_array((values.ravel(), rows.ravel(), indptr), shape=(len(rows), data.n))
        factor = (sparse.csr_array(M.T), -np.ones(M.shape[0]))
        return [Term(1.0, Structured(data.n, factors=(factor,), diag=degrees), Structured(data.n, diag=degrees))]

    def adjacency(self, data: Data) -> sparse.csr_array:
        ((U, _),) = self.terms(data)[0].laplacian.factors
        W = sparse.csr_array(U @ U.T)
        W.setdiag(0)
        return W


class Local(NamedTuple):
    """The local subspaces by Theorem 1, one per patch. ``components`` have orthonormal rows."""

    rows: np.ndarray  # (n, m)
    weights: np.ndarray  # (n, m)
    means: np.ndarray  # (n, D)
    components: np.ndarray  # (n, d, D)
    coordinates: np.ndarray  # (n, m, d)


def local_subspaces(data: Data, patches: Patches, n_components: int) -> Local:
    """The leading weighted principal directions of each patch, and the coordinates of its points (Theorem 1)."""
    rows, weights = patches
    (n, m), D = rows.shape, data.d
    if n_components > min(m - 1, D):
        most = f"a patch of {m} samples in {D} dimensions has {min(m - 1, D)}"
        raise ValueError(f"n_components={n_components}, and {most}; use fewer components or more neighbours")
    local = Local(rows, weights, np.empty((n, D)), np.empty((n, n_components, D)), np.empty((n, m, n_components)))
    for part in row_blocks(n, 4 * m * D):
        w, points = weights[part], data.rows_at(rows[part])
        local.means[part] = means = np.einsum("bi,bid->bd", w, points) / w.sum(axis=1, keepdims=True)
        points -= means[:, None, :]
        _, _, Vt = np.linalg.svd(np.sqrt(w)[:, :, None] * points, full_matrices=False)
        local.components[part] = Vt[:, :n_components]
        local.coordinates[part] = points @ Vt[:, :n_components].transpose(0, 2, 1)
    return local


@dataclass(eq=False, repr=False)
class TangentAlignment(PatchGraph):
    r"""Asks coordinates to fit the tangent space of each patch, so that a curved surface unfolds.

    .. math::
        L = \sum_i S_i Z_i S_i^\top, \qquad
        Z_i = H_w (I - \tilde Q_i (\tilde Q_i^\top \tilde Q_i)^{-1} \tilde Q_i^\top) H_w^\top

    with :math:`\tilde Q_i = W_i^{-1/2} Q_i` from the leading right singular vectors of the weighted, centred patch (Theorem 2
    of "Laplacian PCA and its applications", see :class:`CodingLength`). A map Y with small :math:`\operatorname{tr}(Y^\top L Y)`
    is close to an affine function of the tangent coordinates on every patch. With uniform weights it is local tangent space
    alignment (LTSA) [1]_.

    Parameters
    ----------
    n_neighbors : int, default=12
        How many neighbours a patch has, K.
    n_components : int, default=None
        The dimension of the tangent spaces, less than K, or K - 1 without ``include_self``; None is that of the estimator.
    weights : As in :class:`CodingLength`
    include_self : bool, default=True
        Whether a patch has the sample it belongs to, as in the papers. scikit-learn's LTSA leaves it out.
    distortion, dimension, origin, metric, metric_params : As in :class:`CodingLength`

    References
    ----------
    .. [1] Z. Zhang and H. Zha, "Principal manifolds and nonlinear dimensionality reduction via tangent space alignment", SIAM
       J. Scientific Computing 26, 2004. https://doi.org/10.1137/S1064827502419154

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LaplacianEigenmaps
    >>> from lapwing.graphs import TangentAlignment
    >>> along = np.linspace(0, 3, 40)  # an arc, and the places along it
    >>> model = LaplacianEigenmaps(1, graph=TangentAlignment(5), constraint="identity", extension="affine")
    >>> Z = model.fit_transform(np.c_[np.cos(along), np.sin(along)])
    >>> bool(abs(np.corrcoef(Z[:, 0], along)[0, 1]) > 0.999)
    True
    """

    n_neighbors: int = 12
    _: KW_ONLY
    n_components: int | None = None
    include_self: bool = True  # type: ignore[misc]

    def terms(self, data: Data) -> list[Term]:
        k, d = check_count("n_neighbors", self.n_neighbors), self.n_components
        check_choice("include_self", self.include_self, (True, False))
        if d is None:
            where = "give its n_components, or use it in an estimator that has n_components"
            raise ValueError(f"TangentAlignment needs the dimension of the tangent spaces: {where}")
        if check_count("n_components", d) >= k - (not self.include_self):
            less = "" if self.include_self else " - 1, since patches lack a sample (include_self=False)"
            raise ValueError(f"n_components={d} must be smaller than n_neighbors={k}{less}; use more neighbours")
        blocks = ((rows, tangent_matrices(weights, d, G, points)) for rows, weights, G, points in self._blocks(data))
        return [assembled(blocks, data.n)]


def tangent_matrices(weights: np.ndarray, d: int, G: Any, points: Any) -> np.ndarray:
    """Z of Theorem 2: what is left of a map on each patch after its best affine fit by d tangent coordinates.

    The coordinates C come from the principal directions of the weighted points, or of their Gram matrices (Theorem 1).
    """
    u, roots = weights / weights.sum(axis=1, keepdims=True), np.sqrt(weights)[:, :, None]
    if points is not None:
        points = points - np.einsum("bi,bid->bd", u, points)[:, None, :]
        weighted = roots * points
        C = points @ np.linalg.eigh(weighted.transpose(0, 2, 1) @ weighted)[1][:, :, ::-1][:, :, :d]
    else:
        values, Q = np.linalg.eigh(roots * centred_grams(G, weights) * roots.transpose(0, 2, 1))
        values, Q = values[:, ::-1][:, :d], Q[:, :, ::-1][:, :, :d]
        values = np.where(values > 1e-12 * values[:, :1], values, 0.0)
        C = Q * np.sqrt(values)[:, None, :] / roots
    # Pinv, since a patch may have fewer dimensions.
    inverse = np.linalg.pinv(C.transpose(0, 2, 1) @ C, hermitian=True, rcond=1e-12)
    R = np.eye(weights.shape[1]) - C @ inverse @ C.transpose(0, 2, 1)
    sums = R.sum(axis=2)
    cross = u[:, :, None] * sums[:, None, :]
    return R - cross - cross.transpose(0, 2, 1) + sums.sum(axis=1)[:, None, None] * u[:, :, None] * u[:, None, :]


def assembled(blocks: Iterable[tuple[np.ndarray, np.ndarray]], n: int) -> Term:
    """Add up local matrices, which come in blocks with the rows they belong to. Rows that take part have degree 1."""
    blocks, total = iter(blocks), sparse.csr_array((n, n))
    while some := list(islice(blocks, BLOCKS_AT_ONCE)):
        values = np.concatenate([local.ravel() for _, local in some])
        i, j = (
            np.concatenate([np.broadcast_to(rows[index], local.shape).ravel() for rows, local in some]).astype(np.int32)
            for index in ((ALL, ALL, None), (ALL, None, ALL))
        )
        total = total + sparse.csr_array((values, (i, j)), shape=(n, n))
    taking_part = (np.diff(total.indptr) > 0).astype(np.float64)
    return Term(1.0, Structured(n, sparse=total), Structured(n, diag=taking_part))


def affine_extension(data: Data, Y: np.ndarray, new: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """The places of new rows, by the affine map from tangent coordinates to Y on the patch of their neighbours."""
    placed, d = np.empty((new.size, Y.shape[1])), Y.shape[1]
    for part in row_blocks(new.size, 4 * neighbors.shape[1] * data.d):
        patches, targets = data.rows_at(neighbors[part]), Y[neighbors[part]]
        means, centres = patches.mean(axis=1, keepdims=True), targets.mean(axis=1, keepdims=True)
        _, _, Vt = np.linalg.svd(patches - means, full_matrices=False)
        axes = Vt[:, :d].transpose(0, 2, 1)
        slope = np.linalg.pinv((patches - means) @ axes, rcond=1e-6) @ (targets - centres)
        placed[part] = (((data.rows_at(new[part, None]) - means) @ axes) @ slope + centres)[:, 0]
    return placed
