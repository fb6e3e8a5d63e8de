"""Rows, labels and sample weights: the only form of X on the spine.

Every other kind of rows is a Data with the same verbs: sparse rows, kernel matrices and sums over rows (here), tensors
(device.py), rows in blocks (blocks). A row may stand for several samples (``weights``), and a group of samples counts through
its number, its mean and its scatter about that mean. These ideas carry sample weights, blocks, clusters and partial_fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, reduce
from importlib import import_module
from operator import iadd
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn import get_config
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d, validate_data

from ._validation import (
    BLOCK_BYTES,
    LONG_ROWS,
    WORD_SHARE,
    Array,
    check_in_memory,
    check_rows,
    class_codes,
    coded_labels,
    reword_error,
    row_blocks,
)
from .neighbors import Edges, Request, bound, find
from .operators import Structured
from .search import LONG_LIST, by_tiles, in_parts

EPS = float(np.finfo(np.float64).eps)
FLOATS = [np.float64, np.float32]
FAR = 100  # rows whose mean is so many deviations from 0 lose digits where they are rounded
LARGE_SIDE = 4000  # sparse rows of words with more rows and more columns than this are never multiplied out
WHOLE_SIDE = 8000  # and with more than this no sparse rows are, since that takes minutes and much memory
GRAM_ROWS = 5000  # up to this many rows, neighbours among wide rows are found by the Gram matrix that the map needs too
# From so many pairs of rows on, tiles are faster than the search of scikit-learn, of rows of so many columns; shorter rows need
# more pairs, in proportion. Up to a few columns its trees are faster, and it finds more candidates per query (measured).
TILED_PAIRS, LONG_ROW, TREE_COLUMNS, MOST_CANDIDATES = 2_500**2, 128, 15, 200
PAIR_ENTRIES = 1 << 16  # differences of entries that are computed at a time, which stay in the cache (measured)
LEAST_ROOM = 1024  # MiB that sums over rows may take, whatever working_memory is
ALL = slice(None)
OUT_OF_RANGE = "X has values so large or so small that powers of them leave the range of floating point; scale X first"
# The largest entry is between these, so that sums of fourth powers stay in the range of floating point.
LEAST_ENTRY, MOST_ENTRY = {"float64": 1e-60, "float32": 1e-31}, 1e60
# Modules that take rows in blocks, imported when such X comes.
KINDS = {"dask": "blocks", "zarr": "blocks"}


def validated(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    fitting: bool = True,
    least: int | None = None,
    in_blocks: bool = False,
) -> Data:
    """X as a Data. This is the one place that asks what X is. With ``in_blocks`` rows on disk or on a cluster stay there."""
    if isinstance(X, Data):  # what is known of these rows, such as their neighbours, serves several fits
        return X
    kind = "blocks" if isinstance(X, np.memmap) else KINDS.get(type(X).__module__.partition(".")[0])
    # A model that was fitted on a device takes no rows of NumPy, and says so.
    for array in [X] if fitting else [X, *vars(estimator).values()]:
        kind = "device" if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray | np.generic) else kind
    if kind == "blocks" and not in_blocks:
        check_in_memory(X, "a batch of partial_fit" if least else type(estimator).__name__)
    elif kind:
        data = import_module(f".{kind}", __package__).validated(estimator, X, y, sample_weight, fitting, least)
        if data is not None:
            return data
    if not hasattr(X, "shape"):
        check_rows(X)
    given, options = X, {"dtype": FLOATS, "ensure_min_samples": least or (2 if fitting else 1)}
    options["accept_sparse"] = "csr" if estimator._takes_sparse else False
    ranged = (fitting or least) and getattr(estimator, "reads_features", True)  # the range shows what is not finite
    try:
        if not fitting:
            X = validate_data(estimator, X, reset=False, **options)
        else:  # names and the number of features are stored when the fit is done
            X = check_array(X, input_name="X", estimator=estimator, ensure_all_finite=not ranged, **options)
        entries = X.data if sparse.issparse(X) else X
        largest = float(max(-entries.min(), entries.max())) if ranged and entries.size else 0.0
        if largest and not LEAST_ENTRY[X.dtype.name] < largest < MOST_ENTRY:
            check_array(X, input_name="X", estimator=estimator, **options)
            raise ValueError(OUT_OF_RANGE)
    except ValueError as error:
        reword_error(error)
        raise
    if sample_weight is not None:  # rows of weight 0 are left out
        sample_weight = checked_weights(sample_weight, X.shape[0])
        there = np.flatnonzero(sample_weight)
        if there.size < (least or 2):
            raise ValueError("sample_weight leaves one sample, and 2 is the least: all others have the weight zero")
        if y is not None and len(y := column_or_1d(y)) == X.shape[0]:
            y = y[there]
        X, sample_weight = X if there.size == X.shape[0] else X[there], sample_weight[there]
    data = SparseData(canonical(X), y, sample_weight) if sparse.issparse(X) else Data(X, y, sample_weight)
    data.given = given
    return data


def as_data(X: Array, y: Any = None, weights: np.ndarray | None = None) -> Data:
    """Rows in memory as graphs and maps take them, such as to try a graph of your own: ``graph.terms(as_data(X, y))``.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Whole numbers become float64.
    y : array-like of shape (n_samples,), default=None
        The labels, of which -1 is unknown.
    weights : ndarray of shape (n_samples,), default=None
        How many samples each row stands for.

    Returns
    -------
    Data
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.data import as_data
    >>> from lapwing.graphs import KNN
    >>> KNN(1, weights="binary").adjacency(as_data(np.array([[0.0], [1.0], [3.0]]))).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    X = X if X.dtype in FLOATS else X.astype(np.float64)
    return SparseData(canonical(X), y, weights) if sparse.issparse(X) else Data(X, y, weights)


def checked_weights(weights: Any, n: int) -> np.ndarray:
    """The weights of n samples, which are 0 or more, and not all 0."""
    weights = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,) or (weights < 0).any() or not weights.any():
        what = f"shape {weights.shape}, {(weights < 0).sum()} negative weights and {(weights > 0).sum()} above 0"
        raise ValueError(f"sample_weight has {what}; X has {n} samples: pass one number each, 0 or more, not all zero")
    return weights


def canonical(X: Array) -> Array:
    """Sparse X as a CSR array with each entry stored once and, where they fit, indices of 32 bits; dense X as it is."""
    if not sparse.issparse(X):
        return X
    rows = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    if rows.indices.dtype != np.int32 and max(rows.nnz, rows.shape[1]) < 2**31:
        rows = sparse.csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), rows.shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


class Data:
    """Dense rows in memory.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows, in float64 or float32. Sums over them are in float64.
    y : array-like of shape (n,), default=None
        Their labels, -1 where unknown.
    weights : ndarray of shape (n,), default=None
        How many samples each row stands for; None is one.
    source : Data, default=None
        The same rows with the features that they were given with, which graphs may still read.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.data import Data
    >>> data = Data(np.array([[0.0, 2.0], [1.0, 4.0], [2.0, 9.0]]), ["a", "a", "b"])
    >>> data.mean(), data.classes
    (array([1., 5.]), array([0, 0, 1]))
    """

    own = host = staticmethod(lambda array: array)  # to where the rows are, and from there to the host
    exact_rows = 0  # up to this many rows, default graphs search for the neighbours of all, also where more are sampled
    is_sparse, is_on_device = False, False  # whether X is sparse, or a copy of a tensor that may be on a device
    class_sums: Any = None  # of tensors, how the sums over each class are found where these are
    knows_gram = False  # whether products of columns cost little, as those of tensors and of sums do
    has_features = True  # whether X has columns that can be searched, divided and projected
    is_large = False  # whether X is too large to be decomposed whole, so that forms are operators
    shares: Any = None  # the share of the samples that are not 0, of each column, once deviations were asked for
    is_divided = False  # whether columns were divided by their deviations
    is_ready = True  # whether sums over the rows can be asked for, which rows in blocks need to know their graphs for
    with_neighbors: Any = None  # of rows in blocks, what makes their passes, once it is known what graphs ask for
    in_blocks = False  # whether rows are not in memory, so that default graphs search for a sample of them
    given: Any = None  # X as the user passed it
    learnt: Any = None  # attributes of the model by which these rows were made of those that the user passed
    device: Any = None  # where results go: the library and the device that X came from; None is NumPy's
    found: Any = None  # neighbours that were searched for among samples that are not held: [(request, edges), ...]
    source: Any = None  # the rows before any of their columns were divided, where some were
    beside: Any = None  # the places of columns that graphs read and maps do not
    names: Any = None  # the names of the rows, where a column holds them; otherwise the index of a data frame does
    image_shape: tuple[int, ...] = ()  # the shape of a sample, where a row is an image or a tensor

    def __init__(self, X: Any, y: Any = None, weights: np.ndarray | None = None, source: Data | None = None):
        self.X, self.y, self.weights = X, y, weights
        self._rows = X  # where they are: of tensors, X is a copy on the host
        self.n, self.d = X.shape
        self.dtype, self.is_wide = X.dtype, X.shape[0] < X.shape[1]
        self._entries = 1 + X.nnz // max(1, self.n) if self.is_sparse else self.d  # how many a row holds
        self.n_columns = self.d  # of X as it was passed
        self.size = self.n if weights is None else float(weights.sum())  # how many samples the rows stand for
        most = BLOCK_BYTES // (8 * max(1, self.d))
        step = max(1, most // 4, min(most, LONG_ROWS))
        self.slices = [slice(start, start + step) for start in range(0, self.n, step)]  # of rows, for sums of products
        self._wide_step = max(1, 2 * BLOCK_BYTES // (8 * max(1, self.n)))  # columns of all rows that are read at a time
        self._mean: np.ndarray | None = None
        self._gram: np.ndarray | None = None
        self._found: dict[tuple, tuple[Any, Edges]] = {}
        self.views: dict[int, tuple[Any, Data]] = {}  # other rows that graphs are built on, by the id of their maker
        if source is not None:
            self.given, self.names, self.views, self.beside = source.given, source.names, source.views, source.beside
            self.source, self.device = source.source or source, source.device

    # ---- sums over the rows

    def _part(self, rows: slice, columns: slice, about: Any) -> Any:
        """Some rows and columns less ``about``, dense and in float64, which ``about`` is in, where the rows are."""
        return self._rows[rows, columns] - about[columns]

    def mean(self, degrees: np.ndarray | None = None) -> np.ndarray:
        """The mean of the samples, weighed by ``degrees`` where these are given.

        Rows are summed about the first one, since sums about 0 lose half the digits of rows that are far from it. So a
        constant column has exactly its constant as mean.
        """
        if degrees is None and self._mean is not None:
            return self._mean
        w = self.weights if degrees is None else degrees if self.weights is None else degrees * self.weights
        each, pilot = None if w is None else self.own(w), self._rows[0] - self.own(np.zeros(self.d))
        parts = ((rows, self._part(rows, ALL, pilot)) for rows in self.slices)
        # ``sum`` starts no BLAS threads. These would go on spinning, and slow down a search that follows.
        total: Any = sum(part.sum(0) if each is None else each[rows] @ part for rows, part in parts)
        mean = self.host(pilot + total / (self.n if w is None else w.sum()))
        if degrees is None:
            self._mean = mean
        return mean

    @cached_property
    def deviations(self) -> np.ndarray:
        """The standard deviations of the columns, exactly 0 for constant ones."""
        mean, w = self.mean(), self.weights
        shift, squares, filled = self.own(mean), 0.0, 0.0
        for rows in self.slices:
            part, there = self._part(rows, ALL, shift), self._rows[rows] != 0
            part *= part
            squares = squares + (part.sum(0) if w is None else w[rows] @ part)
            whole = w is None and bool(there.all())  # as most rows are, which need no sums
            filled = filled + (len(there) * there[0] if whole else there.sum(0) if w is None else w[rows] @ there)
        s, self.shares = np.sqrt(self.host(squares) / self.size), self.host(filled) / self.size
        return np.where(s <= 100 * EPS * np.abs(mean), 0.0, s)

    def divided(self, scale: np.ndarray) -> Data:
        """The rows, each column divided by its scale."""
        is_far = (np.abs(self.mean()) > FAR * scale).any()  # then float32 would round these rows once more
        dtype = np.float64 if is_far else self.X.dtype
        divided = type(self)(self.X / scale.astype(dtype), self.y, self.weights, source=self)
        divided.is_divided, divided.dtype = True, self.dtype
        if self._mean is not None and self.X.dtype == np.float64:  # in float32, rows are rounded as the mean is not
            divided._mean = self._mean / scale
        return divided

    def without(self, columns: list[int]) -> Data:
        """The rows with 0 in some columns, which only graphs read."""
        scale = np.ones(self.d)
        scale[columns] = np.inf
        if np.isinf(scale).all():
            raise ValueError("beside=True leaves no column of X to the map; pass the features as well, or beside=False")
        rest = self.divided(scale)
        rest.beside, rest.is_divided = columns, self.is_divided
        return rest

    def gram(self, about: np.ndarray) -> np.ndarray:
        """The smaller of the two matrices of products of the samples less ``about``: of the columns, or of the rows.

        The one about the mean is kept: the search among wide rows and the map share it.
        """
        if about is self._mean and self._gram is not None:
            return self._gram
        shift, roots = self.own(about), None if self.weights is None else np.sqrt(self.weights)[:, None]
        if self.is_wide:
            step = self._wide_step
            parts = (self._part(ALL, slice(start, start + step), shift) for start in range(0, self.d, step))
            total = self.host(reduce(iadd, (part @ part.T for part in parts)))
            total = total if roots is None else roots * total * roots.T
        else:
            some = ((rows, self._part(rows, ALL, shift)) for rows in self.slices)
            parts = (part if roots is None else roots[rows] * part for rows, part in some)
            total = self.host(reduce(iadd, (part.T @ part for part in parts)))
        if about is self._mean:
            self._gram = total
        return total

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> Data:
        """The rows in the coordinates N, as a Data."""
        found = np.empty((self.n, N.shape[1]), dtype=self.X.dtype)
        for rows in self.slices:
            found[rows] = self._part(rows, ALL, about) @ N
        return Data(found, self.y, self.weights)

    def form(self, M: Structured, about: np.ndarray) -> Any:
        """``(X - about)ᵀ M (X - about)`` over the samples. With :meth:`nearest` the only place where rows meet n x n matrices."""
        total, shift = np.zeros((self.d, self.d)), self.own(about)
        wide = any(2 * U.shape[1] > self.n or isinstance(U, LinearOperator) for U, _ in M.factors)
        thin = M.sparse is None and M.rest is None and not wide
        if thin and about is self._mean and self.n >= self.d and M.diag is not None and not np.ptp(M.diag):
            total, M = M.diag[0] * self.gram(about), replace(M, diag=None)
        M = M if self.weights is None else M.repeated(self.weights)
        if thin:  # one pass over blocks of rows
            sums = [np.zeros((U.shape[1], self.d)) for U, _ in M.factors]
            roots = None if M.diag is None or M.diag.min() < 0 else np.sqrt(M.diag)[:, None]
            for rows in self.slices if sums or M.diag is not None else ():
                block = self._part(rows, ALL, shift)
                for (U, _), UtF in zip(M.factors, sums, strict=True):
                    UtF += U[rows].T @ block
                if roots is not None:  # a matrix times itself costs half as much
                    block *= roots[rows]
                    total += block.T @ block
                elif M.diag is not None:
                    total += block.T @ (M.diag[rows, None] * block)
            for (_, c), UtF in zip(M.factors, sums, strict=True):
                total += UtF.T @ (c[:, None] * UtF)
            return (total + total.T) / 2
        S: Any = M.sparse
        if sparse.issparse(S) and not M.factors and M.rest is None:
            S = S.tocsr()
            there = np.flatnonzero(np.diff(S.indptr) + (0 if M.diag is None else M.diag != 0))
            if 2 * there.size < self.n:  # the links of a few pairs, or of a sample of the rows
                few = Structured(there.size, S[there][:, there], diag=None if M.diag is None else M.diag[there])
                return as_data(self.X[there]).form(few, about)
        # Edges join distant rows, so that some columns of all rows are read at a time.
        step = max(1, 4 * BLOCK_BYTES // (8 * self.n))
        for start in range(0, self.d, step):
            columns = slice(start, start + step)
            part = self.host(self._part(ALL, columns, shift))
            product = M @ part
            for rows in self.slices:
                block = part[rows] if step >= self.d else self.host(self._part(rows, ALL, shift))
                total[:, columns] += block.T @ product[rows]
        return (total + total.T) / 2

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        """The diagonal of :meth:`form`. Where M is diagonal, these are weighted sums of the squares of each column."""
        M, found = M if self.weights is None else M.repeated(self.weights), np.zeros(self.d)
        if M.is_diagonal:
            shift, w = self.own(about), self.own(np.zeros(self.n) if M.diag is None else M.diag)
            return self.host(sum(w[rows] @ self._part(rows, ALL, shift) ** 2 for rows in self.slices))
        for columns in row_blocks(self.d, self.n):
            part = self._part(ALL, columns, about)
            found[columns] = np.einsum("ij,ij->j", part, M @ part)
        return found

    def explained(self, directions: np.ndarray) -> Any:
        """The share of the variance of the samples that each direction, a row, adds to what those before it hold."""
        lengths, mean, Q = np.linalg.norm(directions, axis=1), self.mean(), np.zeros(directions.T.shape)
        own = np.abs(np.diagonal(np.linalg.qr(directions.T, mode="r"))) > 1e-10 * lengths  # the others add nothing
        Q[:, own] = np.linalg.qr(directions[own].T)[0]
        if not self.is_wide and (self._gram is not None or self.knows_gram):
            G = self.gram(mean)
            return np.einsum("ij,ij->j", Q, G @ Q) / np.trace(G)
        along, w = np.square(self.centred(mean) @ Q), np.ones(self.n) if self.weights is None else self.weights
        return w @ along / (self.size * np.square(self.deviations).sum())

    def centred(self, about: np.ndarray) -> LinearOperator:
        """``X - 1 aboutᵀ`` as an operator, which is never formed."""
        shift = self.own(about)

        def times(V: np.ndarray) -> np.ndarray:
            columns = self.own(np.asarray(V, dtype=np.float64))
            return np.concatenate([self.host(self._part(rows, ALL, shift) @ columns) for rows in self.slices])

        def transposed(U: np.ndarray) -> Any:
            columns = self.own(np.asarray(U, dtype=np.float64))
            return self.host(sum(self._part(rows, ALL, shift).T @ columns[rows] for rows in self.slices))

        products = {"matvec": times, "matmat": times, "rmatvec": transposed, "rmatmat": transposed}
        return LinearOperator((self.n, self.d), dtype=np.float64, **products)

    # ---- neighbours

    def nearest(self, request: Request, on_device: bool = False) -> Edges:
        """Directed edges (rows, cols, distances) to the nearest rows. Equal requests are searched for once.

        With ``on_device`` the edges of tensors stay tensors.
        """
        k, metric, params, *rest = request = request.checked(int(self.size))
        if self.found is not None:
            for own, edges in self.found:
                if own == request:
                    return edges
            raise ValueError("sums over rows have no neighbours; use graphs of classes, such as SameClass()")
        key = (k, metric if isinstance(metric, str) else id(metric), id(params), *rest)
        if key not in self._found:  # with the request, so that Python gives the ids of its parameters to no others
            data: Any = self
            if isinstance(request.search, str):  # "torch"
                data = import_module(".device", __package__).on_first_device(self, request)
            edges = find(data, request)
            self._found[key] = request, edges if data is self else tuple(map(data.host, edges))
        edges = self._found[key][1]
        return edges if on_device else tuple(map(self.host, edges))

    def candidates(
        self, queries: np.ndarray, members: np.ndarray, m: int, again: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """M members near each query, and a distance that all others exceed: the one seam for fast searches.

        ``again`` is for queries whose first candidates left a doubt: on a device, bounds are those of float64 then.
        """
        if self.is_wide and self.n <= GRAM_ROWS:
            return _by_gram(self.gram(self.mean()), queries, members, m, self.d)
        is_short = self.d <= TREE_COLUMNS and not self.is_sparse
        many = queries.size * members.size >= TILED_PAIRS * max(1.0, LONG_ROW / self.d)
        if many and m <= MOST_CANDIDATES and not is_short:
            return by_tiles(self.X, queries, members, m)
        Q = self._near_origin(queries)
        index = NearestNeighbors(n_neighbors=m).fit(Q if queries is members else self._near_origin(members))
        d, cols = index.kneighbors(Q)
        own = squared_lengths(Q) if sparse.issparse(Q) else np.einsum("ij,ij->i", Q, Q)
        return members[cols], bound(d[:, -1] ** 2 / 2, own / 2, self.d, EPS)

    def within_radius(self, queries: np.ndarray, members: np.ndarray, radius: np.ndarray) -> list[np.ndarray]:
        """All members within a distance of each query, and perhaps some more."""
        Q, index, found = self._near_origin(queries), NearestNeighbors().fit(self._near_origin(members)), []
        far = bound(radius**2 / 2, squared_lengths(Q) / 2, self.d, EPS, +1)
        for some in np.array_split(np.arange(queries.size), 1 + queries.size // 100):
            near = index.radius_neighbors(Q[some], far[some].max(), return_distance=False) if some.size else ()
            found += [members[places] for places in near]
        return found

    def _near_origin(self, rows: np.ndarray) -> Array:
        """Some rows about the mean, since products of far rows lose digits; in float64, for its range of squares."""
        return self.X[rows] - self.mean()

    def distances(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """From each row to some others, by differences, since products lose digits; infinite from a row to itself."""
        pairs, measured = (np.repeat(rows, cols.shape[1]), cols.ravel()), self._paired_distances
        found = (in_parts(measured, *pairs) if cols.size > LONG_LIST else measured(*pairs)).reshape(cols.shape)
        found[cols == rows[:, None]] = np.inf
        return found

    def _paired_distances(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The distances of pairs of rows, by differences in float64."""
        found, step = np.empty(i.size), max(1, PAIR_ENTRIES // max(1, self._entries))
        for start in range(0, i.size, step):
            some = slice(start, start + step)
            apart = self.X[i[some]].astype(np.float64, copy=False) - self.X[j[some]]
            found[some] = apart.power(2).sum(axis=1) if self.is_sparse else np.einsum("ij,ij->i", apart, apart)
        return np.sqrt(found)

    def symmetric_weights(
        self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray, symmetry: str = "or"
    ) -> sparse.csr_array:
        """The weights of directed edges as a symmetric matrix: the larger of two ("or"), the smaller ("and"), or their mean."""
        index = np.int32 if self.n < 2**31 else np.int64
        W = sparse.csr_array((weights, (rows.astype(index), cols.astype(index))), shape=(self.n, self.n))
        return W.maximum(W.T) if symmetry == "or" else W.minimum(W.T) if symmetry == "and" else (W + W.T) / 2

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        """The rows of these numbers, of whatever shape, as a dense array in float64."""
        return self.host(self._rows[self.own(index)]).astype(np.float64, copy=False)

    def inner_products(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The inner products of pairs of rows as given."""
        found = np.empty(i.size)
        for some in row_blocks(i.size, 2 * self._entries):
            a, b = self.X[i[some]].astype(np.float64, copy=False), self.X[j[some]]
            found[some] = a.multiply(b).sum(axis=1) if self.is_sparse else np.einsum("ij,ij->i", a, b)
        return found

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared lengths of the rows as given."""
        return squared_lengths(self.X)

    @cached_property
    def unit(self) -> Data:
        """The rows, scaled to unit length; zero rows stay zero."""
        return as_data(unit_rows(self.X, np.sqrt(self.squares)), self.y, self.weights)

    def stacked(self, X: Array) -> Data:
        """The rows, and then those of X."""
        X = X.astype(self.X.dtype, copy=False)
        return as_data(sparse.vstack([self.X, X], format="csr")) if self.is_sparse else Data(np.vstack([self.X, X]))

    def some(self, kept: np.ndarray) -> Data:
        """The rows of a mask."""
        labelled = self.y is not None and np.ndim(self.y) > 0 and len(self.y) == self.n
        rest = type(self)(self.X[np.flatnonzero(kept)], np.asarray(self.y)[kept] if labelled else self.y)
        rest.given = self.given
        return rest

    # ---- labels

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels as numbers 0 ... c - 1, and -1 where unknown. Fewer than two classes raise an error."""
        return class_codes(self.y, self.n)[0]

    @cached_property
    def class_sizes(self) -> np.ndarray:
        """How many samples each class has."""
        known, w = self.classes >= 0, np.ones(self.n) if self.weights is None else self.weights
        return np.bincount(self.classes[known], w[known])

    # ---- results

    def project(self, mean: np.ndarray, components: np.ndarray) -> Any:
        """What ``transform`` of a linear map gives. The mean comes off first: the products of far rows lose digits."""
        V, mean = (self.host(array).T.astype(self.X.dtype, copy=False) for array in (components, mean))
        found = np.empty((self.n, V.shape[1]), dtype=self.X.dtype)
        for rows in self.slices:
            found[rows] = (self.X[rows] - mean) @ V
        return found if self.device is None else self.device.to_caller(found)

    def apply(self, function: Callable[[Data], Any], n_out: int) -> Any:
        """What a function of rows, which gives ``n_out`` columns, gives for all of them. Rows in blocks come to it in parts."""
        return function(self)

    def to_caller(self, estimator: Any) -> Any:
        """The fitted estimator, its arrays in the library that X came from."""
        return estimator if self.device is None else self.device.to_caller(estimator)


class SparseData(Data):
    """Rows that stay sparse: the mean would fill their zeros, so it is taken off sums and never off entries.

    Columns that have no zeros may be far from the origin, and are computed with as dense ones.
    """

    is_sparse = True

    @cached_property
    def is_large(self) -> bool:  # type: ignore[override]
        _ = self.deviations  # finds the shares as well
        return min(self.n, self.d) > (LARGE_SIDE if np.mean(self.shares) < WORD_SHARE else WHOLE_SIDE)

    @cached_property
    def _moved(self) -> tuple[sparse.csr_array, np.ndarray]:
        """The rows with the columns that have no zeros about their mean, and what was subtracted. The others reach the origin."""
        full = np.bincount(self.X.indices, minlength=self.d) == self.n
        if not full.any():
            return self.X, np.zeros(self.d)
        origin = np.where(full, np.bincount(self.X.indices, self.X.data, self.d) / self.n, 0.0)
        entries = self.X.data - origin[self.X.indices]
        return sparse.csr_array((entries, self.X.indices, self.X.indptr), self.X.shape), origin

    def _part(self, rows: slice, columns: slice, about: np.ndarray) -> np.ndarray:
        return np.subtract(self.X[rows, columns].toarray(), about[columns], dtype=np.float64)

    def mean(self, degrees: np.ndarray | None = None) -> np.ndarray:
        if degrees is None and self._mean is not None:
            return self._mean
        w = np.ones(self.n) if degrees is None else degrees
        w = w if self.weights is None else w * self.weights
        X, origin = self._moved
        mean = origin + X.T.astype(np.float64) @ w / w.sum()
        if degrees is None:
            self._mean = mean
        return mean

    @cached_property
    def deviations(self) -> np.ndarray:
        mean, w = self.mean(), np.ones(self.n) if self.weights is None else self.weights
        each = (self.X.data != 0) * np.repeat(w, np.diff(self.X.indptr))
        self.shares = np.bincount(self.X.indices, each, minlength=self.d) / self.size
        s = np.sqrt(self._spread(mean, w) / self.size)
        return np.where(s <= 100 * EPS * np.abs(mean), 0.0, s)

    def divided(self, scale: np.ndarray) -> SparseData:
        entries = (self.X.data / scale[self.X.indices]).astype(self.X.dtype)
        X = sparse.csr_array((entries, self.X.indices, self.X.indptr), self.X.shape)
        divided = SparseData(X, self.y, self.weights, source=self)
        divided.is_divided = True
        return divided

    def gram(self, about: np.ndarray) -> np.ndarray:
        if not self.is_wide or (about is self._mean and self._gram is not None):
            return super().gram(about)
        X, shift = self._moved[0].astype(np.float64), about - self._moved[1]
        cross = X @ shift
        total = (X @ X.T).toarray() - cross[:, None] - cross + shift @ shift
        if self.weights is not None:
            roots = np.sqrt(self.weights)
            total = roots[:, None] * total * roots
        if about is self._mean:
            self._gram = total
        return total

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> Data:
        X, origin = self._moved
        return Data((X @ N - (about - origin) @ N).astype(self.X.dtype, copy=False), self.y, self.weights)

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        """xᵀMx - 2 m xᵀM1 + m² 1ᵀM1 for each column x of mean m."""
        M = M if self.weights is None else M.repeated(self.weights)
        if M.is_diagonal:
            return np.zeros(self.d) if M.diag is None else self._spread(about, M.diag)
        X, shift, M1 = self._moved[0].astype(np.float64), about - self._moved[1], M @ np.ones(self.n)
        found = shift**2 * M1.sum() - 2 * shift * (M1 @ X)
        if M.diag is not None:
            found += M.diag @ X.power(2)
        if M.sparse is not None:
            entries = 2 + 2 * M.sparse.nnz * X.nnz // self.n**2  # of a row of the product
            for rows in row_blocks(self.n, entries):
                found += np.asarray(X[rows].multiply(M.sparse[rows] @ X).sum(axis=0)).ravel()
        for U, c in M.factors:
            U = sparse.csc_array(U)
            for columns in row_blocks(c.size, self.d):
                found += c[columns] @ (U[:, columns].T @ X).power(2)
        return found

    def _spread(self, about: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The sum of squares of each column about a point, each row weighed."""
        X, origin = self._moved
        shift, each = about - origin, np.repeat(w, np.diff(X.indptr))
        stored = np.bincount(X.indices, each * (X.data - shift[X.indices]) ** 2, minlength=self.d)
        zeros = w.sum() - np.bincount(X.indices, each, minlength=self.d)
        return stored + np.maximum(zeros, 0.0) * shift**2

    def centred(self, about: np.ndarray) -> LinearOperator:
        X, shift = self._moved[0], about - self._moved[1]
        return LinearOperator(
            X.shape,
            matvec=lambda v: X @ np.ravel(v) - shift @ np.ravel(v),
            rmatvec=lambda u: X.T @ np.ravel(u) - shift * np.sum(u),
            matmat=lambda V: X @ V - shift @ V,
            rmatmat=lambda U: X.T @ U - np.outer(shift, U.sum(axis=0)),
            dtype=np.float64,
        )

    def _near_origin(self, rows: np.ndarray) -> Array:
        return self._moved[0][rows].astype(np.float64)

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        return self.X[index.ravel()].toarray().astype(np.float64, copy=False).reshape(*index.shape, self.d)

    def project(self, mean: np.ndarray, components: np.ndarray) -> np.ndarray:
        dtype = self.X.dtype
        return self.X @ components.T.astype(dtype, copy=False) - (mean @ components.T).astype(dtype)


class KernelData(Data):
    """Rows that are known by a kernel matrix alone: it says how far apart they are, and has no features."""

    has_features = False

    def __init__(self, X: Any, y: Any = None, weights: np.ndarray | None = None):
        super().__init__(X, y, weights)
        needed = 'kernel="precomputed" needs X to be a symmetric kernel matrix'
        if sparse.issparse(X) or self.n != self.d:
            raise ValueError(f"{needed}, a dense square one; it has shape {X.shape}")
        apart, eps = float(np.abs(X - X.T).max()), float(np.finfo(X.dtype).eps)
        if apart > max(1e-8, 100 * eps) * np.abs(X).max():
            raise ValueError(f"{needed}; it is not symmetric (largest difference {apart:.3g}): pass (K + K.T) / 2")

    @cached_property
    def squares(self) -> np.ndarray:
        return np.maximum(np.diagonal(self.X), 0).astype(np.float64)

    @cached_property
    def unit(self) -> KernelData:
        lengths = np.sqrt(np.where(self.squares > 0, self.squares, 1.0))
        return KernelData(self.X / np.outer(lengths, lengths), self.y, self.weights)

    def inner_products(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.X[i, j].astype(np.float64)

    def _paired_distances(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(self.squares[i] + self.squares[j] - 2.0 * self.X[i, j], 0))

    def candidates(
        self, queries: np.ndarray, members: np.ndarray, m: int, again: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        return _by_gram(self.X, queries, members, m, 1)

    def within_radius(self, queries: np.ndarray, members: np.ndarray, radius: np.ndarray) -> list[np.ndarray]:
        apart = (self._paired_distances(np.full(members.size, query), members) for query in queries)
        return [members[d <= far] for d, far in zip(apart, radius * (1 + 1e-6) + 1e-7, strict=True)]


class Summary(Data):
    """Rows, some of which are the means of groups of samples, with the label of the group, and its size as weight.

    ``scatter`` gives, for one weight per row, the sum of the scatters of samples about the rows that stand for them, each under
    its weight. ``dtype`` is the type of the samples, ``shares`` are as in Data, and ``found`` lists requests for neighbours,
    which were searched for among all samples, and their edges.
    """

    knows_gram = True

    def __init__(
        self, X: Any, y: Any, weights: Any, scatter: Callable, dtype: Any = float, shares: Any = None, found: Any = ()
    ):
        super().__init__(X, y, weights)
        self.scatter, self.dtype, self.shares, self.found = scatter, np.dtype(dtype), shares, found
        self.is_wide = False  # the scatter is known, and the samples are not

    def divided(self, scale: np.ndarray) -> Summary:
        scatter, scales, X = self.scatter, np.outer(scale, scale), self.X / scale
        divided = Summary(X, self.y, self.weights, lambda w: scatter(w) / scales, self.dtype, self.shares)
        divided.given, divided.device, divided.is_divided = self.given, self.device, True
        return divided

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> Summary:
        scatter = self.scatter
        coordinates = np.concatenate([self._part(rows, slice(None), about) @ N for rows in self.slices])
        return Summary(coordinates, self.y, self.weights, lambda w: N.T @ scatter(w) @ N, self.dtype)

    def form(self, M: Structured, about: np.ndarray) -> Any:
        # About a copy, since dense rows would take the kept Gram matrix, scatter and all.
        total = super().form(M, about.copy())
        return total if M.diag is None else total + self.scatter(np.asarray(M.diag))

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        return np.diagonal(self.form(M, about)).copy()

    def gram(self, about: np.ndarray) -> np.ndarray:
        if about is not self._mean or self._gram is None:
            total = self.form(Structured(self.n, diag=np.ones(self.n)), about)
            if about is not self._mean:
                return total
            self._gram = total
        return self._gram

    @cached_property
    def deviations(self) -> np.ndarray:
        mean = self.mean()
        variances = np.diagonal(self.gram(mean)) / self.size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))


class ClassSums:
    """The number of rows of each class, their mean and their scatter about it, for rows that come in batches.

    Means move as rows come [1]_, so that digits are kept wherever a stream of rows goes. Rows of unknown label are a class of
    their own, the last one. ``scatters`` has the scatter of all classes together and that of the rows of unknown label; or,
    ``by_class``, one per class, where their weights differ. ``stored`` says how many entries of each column are not 0.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician
       37, 1983. https://doi.org/10.1080/00031305.1983.10483115
    """

    def __init__(self, d: int, by_class: bool, dtype: Any, n_classes: int = 0):
        """The sums over no rows, of no classes, or of classes whose labels are 0 ... n_classes - 1."""
        n_scatters = n_classes + 1 if by_class else 2
        size = 3 * 8 * n_scatters * d**2 / 2**20  # MiB of the sums so far, the next sums, and their form
        if size > max(get_config()["working_memory"], LEAST_ROOM):
            raise ValueError(
                f"sums over rows of {d} features take {size:,.0f} MiB with what is computed from them, above the working_memory "
                f"of scikit-learn; reduce the features first, or use sklearn.set_config(working_memory={int(1.1 * size) + 1})"
            )
        self.labels, self.counts = np.arange(n_classes), np.zeros(n_classes + 1)
        self.means, self.scatters = np.zeros((n_classes + 1, d)), np.zeros((n_scatters, d, d))
        self.stored = np.zeros(d)
        self.by_class, self.dtype = by_class, np.dtype(dtype).name

    def add(self, X: Any, y: np.ndarray | None, weights: np.ndarray | None) -> ClassSums:
        """The sums over these rows as well, whose classes may be new. Labels of -1 are unknown."""
        places, labels = (None, self.labels) if y is None else coded_labels(y, self.labels)
        sums = ClassSums(X.shape[1], self.by_class, np.result_type(X.dtype, self.dtype), labels.size)
        before = np.append(np.arange(self.labels.size), -1)
        sums.labels, sums.stored = labels, self.stored
        sums.counts[before], sums.means[before] = self.counts, self.means
        sums.scatters[before if self.by_class else slice(None)] = self.scatters
        return sums.take(X, places, weights)

    def take(self, X: Any, places: np.ndarray | None, weights: np.ndarray | None) -> ClassSums:
        """The sums with rows of the classes at these places as well, or without them, where weights are negative."""
        (n, d), last, sums = X.shape, self.counts.size - 1, self
        places = np.full(n, last) if places is None else places % (last + 1)
        w = np.ones(n) if weights is None else weights
        for some in Data(X).slices:
            own, each, more = places[some], w[some], ClassSums(d, self.by_class, self.dtype, last)
            rows = np.asarray(X[some].toarray() if sparse.issparse(X) else X[some], dtype=np.float64)
            more.stored = np.full(d, each.sum()) if (rows != 0).all() else each @ (rows != 0)
            first = rows[0]  # sums are taken about it, so that the mean of a constant column is exactly that constant
            within, more.counts = rows - first, np.bincount(own, each, last + 1).astype(np.float64)
            members = sparse.csc_array((each, own, np.arange(own.size + 1)), (last + 1, own.size))
            centres = (members @ within) / np.where(more.counts != 0, more.counts, 1.0)[:, None]
            within -= centres[own]
            more.means = first + centres
            of = own if self.by_class else (own == last).astype(np.intp)
            for i in np.flatnonzero(np.bincount(of)):
                inside = slice(None) if (of == of[0]).all() else of == i
                part = within[inside]
                more.scatters[i] = part.T @ (part if weights is None else each[inside, None] * part)
            sums = sums + more
        return sums

    def __add__(self, other: ClassSums) -> ClassSums:
        """The sums over other rows of the same classes as well, or without them, where numbers are negative."""
        sums, last = copy(self), self.counts.size - 1
        sums.counts, sums.stored = self.counts + other.counts, self.stored + other.stored
        share = np.divide(other.counts, sums.counts, out=np.zeros(last + 1), where=sums.counts > 0)[:, None]
        moved = np.where(other.counts[:, None] != 0, other.means - self.means, 0.0)
        sums.means = np.where(self.counts[:, None] > 0, self.means + share * moved, other.means)
        sums.scatters, each = self.scatters + other.scatters, self.counts[:, None] * share
        groups = [(i, i + 1) for i in range(last + 1)] if self.by_class else [(0, last), (last, last + 1)]
        for scatter, (low, high) in zip(sums.scatters, groups, strict=True):
            scatter += moved[low:high].T @ (each[low:high] * moved[low:high])
        return sums

    def divided(self, scale: np.ndarray) -> ClassSums:
        """The sums over the rows with each column divided by its scale."""
        sums = copy(self)
        sums.means, sums.scatters = self.means / scale, self.scatters / np.outer(scale, scale)
        return sums

    def summary(self, labelled: bool, held: Sequence = (), codes: Any = None, found: Sequence = ()) -> Summary:
        """A row for the samples of each class. Before them come rows, of these classes, that are held for themselves."""
        rest, n_held = self, 0
        for part in held:
            own = None if codes is None else codes[n_held : n_held + len(part)]
            rest, n_held = rest.take(part, own, -np.ones(len(part))), n_held + len(part)
        there = np.flatnonzero(rest.counts > 0)
        # Held rows are many, and keep their type.
        X = np.concatenate([*held, rest.means[there].astype(held[0].dtype if held else np.float64)])
        y = np.where(there < self.counts.size - 1, there, -1) if labelled else None
        y = y if codes is None else np.concatenate([codes, y])
        weights, shares = np.concatenate([np.ones(n_held), rest.counts[there]]), self.stored / self.counts.sum()
        return Summary(X, y, weights, lambda each: rest._scatter(there, each[n_held:]), self.dtype, shares, found)

    def _scatter(self, there: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The sum of the scatters of these classes, each under its weight."""
        if self.by_class:
            return np.tensordot(weights, self.scatters[there], 1)
        known = there < self.counts.size - 1
        each = weights[known]
        if each.size and np.ptp(each) > 1e-12 * np.abs(each).max():
            raise ValueError("classes weigh differently, and only the scatter of all classes together was kept")
        return (each.mean() if each.size else 0.0) * self.scatters[0] + weights[~known].sum() * self.scatters[1]


def total(data: Data, values: np.ndarray) -> float:
    """The sum of values over the samples."""
    return float(values.sum() if data.weights is None else values @ data.weights)


def _by_gram(G: np.ndarray, queries: np.ndarray, members: np.ndarray, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidates by a matrix of products of all rows."""
    squares, cols, beyond = np.diagonal(G).astype(np.float64) / 2, [], []
    for some in row_blocks(queries.size, members.size):
        own = squares[queries[some]]
        half = squares[members] - G[np.ix_(queries[some], members)]
        near = np.argpartition(half, m - 1, axis=1)[:, :m]
        cols.append(members[near])
        beyond.append(bound(np.take_along_axis(half, near, axis=1).max(axis=1) + own, own, d, EPS))
    return np.concatenate(cols), np.concatenate(beyond)


def squared_lengths(X: Array) -> np.ndarray:
    """The squared lengths of the rows, in float64."""
    if sparse.issparse(X):
        return X.astype(np.float64).power(2).sum(axis=1)
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def unit_rows(X: Array, lengths: np.ndarray) -> Array:
    """Rows scaled to length 1, in the type of X. Zero rows stay zero."""
    if lengths.size and np.abs(lengths - 1).max() <= 4 * np.finfo(X.dtype).eps:
        return X
    lengths = np.where(lengths > 0, lengths, 1.0)
    if sparse.issparse(X):
        entries = (X.data / np.repeat(lengths, np.diff(X.indptr))).astype(X.dtype)
        return sparse.csr_array((entries, X.indices, X.indptr), X.shape)
    unit = np.empty(X.shape, X.dtype)
    for rows in row_blocks(*X.shape):
        np.divide(X[rows], lengths[rows, None], out=unit[rows], dtype=np.float64, casting="same_kind")
    return unit
