"""The rows that a graph is built on: X and y, and what several graphs need to know of them, found once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from ._validation import check_in_memory, equal_within, of_numbers
from .maps import Deviations, DividedMap, SparseMap, as_map, is_far, weighted
from .operators import Array, canonical, row_blocks

LOST = 1e-3  # squared distances below this share of the rows' squared lengths have lost digits where products gave them

# A function from the deviations of columns (of all rows, or of a few) to what the columns are divided by; None for no division.
Units = Callable[[Callable[[bool], Deviations]], np.ndarray | None]


class Rows:
    """Validated X and y, as graphs look at them. Graphs that are combined share them, so what they all need is found once.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), default=None
        The class labels, -1 where unknown.
    n_fitted : int, default=None
        How many rows come first that were fitted. The rows after them are new: they are placed among the others, and nothing is
        learnt from them. None says that there are no new rows.
    """

    has_features = True  # whether X holds features, and not a kernel matrix
    in_blocks = False  # whether a row stands for several samples, such as those of a class
    counts: np.ndarray | None = None  # for how many samples each row stands, where it stands for several
    weights: np.ndarray | None = None  # the weights of the samples, where some were given
    kept: np.ndarray | None = None  # the numbers of the given rows whose weight is not 0, where some have the weight 0
    scale: np.ndarray | None = None  # what the columns were divided by; None where they were not
    sample_shape: tuple[int, ...] | None = None  # the shape of a sample, where a row is an image or a tensor
    frame: Any = None  # X as it was passed, where it was a data frame
    ids: Any = None  # the names of the rows, the index of that data frame
    beside: np.ndarray | None = None  # the places of columns that graphs read and maps do not
    is_learnt = False  # whether graphs have learnt from these rows already

    def __init__(self, X: Array, y: Any = None, *, n_fitted: int | None = None):
        self.X, self.y = canonical(X), y
        self.F = as_map(self.X)  # the same rows, as quadratic forms are computed from them
        self.n: int = X.shape[0]
        self.n_samples = self.n  # how many samples the rows stand for
        self.n_fitted = self.n if n_fitted is None else n_fitted  # the rows after these are new
        self._kept: dict[Hashable, Any] = {}

    @classmethod
    def validated(cls, X: Any, y: Any = None) -> Rows:
        check_in_memory(X, "a graph that is built on its own")
        with of_numbers():
            rows = cls(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2), y)
        return rows.named(X)

    def named(self, X: Any) -> Rows:
        """These rows, with the names that a data frame has for rows and columns."""
        if hasattr(X, "iloc") and hasattr(X, "columns") and len(X) == self.n:
            self.frame, self.ids = X, X.index
        return self

    def _take_over(self, rows: Rows) -> None:
        """Store what is known of the rows that these were made of."""
        self._rows_given = rows.given
        self.frame, self.ids, self.beside = rows.frame, rows.ids, rows.beside

    def fitted(self) -> Rows:
        """The fitted rows alone. Graphs do not learn from them again."""
        rows = Rows(self.X[: self.n_fitted])
        rows.is_learnt = True
        return rows

    @property
    def given(self) -> Array:
        """X as it was passed, before its columns were divided."""
        return self.X

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make`` gives, computed once and kept under ``key``."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def divided(self, scale: np.ndarray) -> Rows:
        """The same rows, each column divided by its scale."""
        rows = DividedRows(self, scale)
        return rows if self.weights is None else rows.weighted(self.weights, self.kept)

    def weighted(self, weights: np.ndarray, kept: np.ndarray | None = None) -> Rows:
        """The same rows, each of which stands for so many samples; for graphs that see samples by their class alone.

        ``kept`` are the numbers of the rows with a weight above 0, where rows of weight 0 were left out.
        """
        rows = copy(self)
        rows._kept, rows.F = {}, weighted(self.F, weights)
        rows.weights, rows.kept, rows.n_samples = weights, kept, weights.sum()
        rows.counts = np.ceil(weights)  # when linked samples are counted, a part of a sample counts as one
        return rows

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels as numbers 0 ... c - 1, and -1 where unknown."""
        return encode_labels(self.y, self.n)

    @property
    def has_classes(self) -> bool:
        """Whether y holds labels of two classes or more, and not numbers for a graph that the user wrote."""
        try:
            return self.classes is not None
        except ValueError:
            return False

    @cached_property
    def class_sizes(self) -> np.ndarray:
        known = self.classes >= 0
        weights = None if self.weights is None else self.weights[known]
        return np.bincount(self.classes[known], weights).astype(np.float64)

    def total(self, values: np.ndarray) -> float:
        """The sum of values over the samples. A row counts once for each sample that it stands for."""
        return self.F.total(values)

    @cached_property
    def norms(self) -> np.ndarray:
        return lengths(self.X)

    @cached_property
    def unit(self) -> Array:
        """The rows, scaled to length 1."""
        return unit_rows(self.X, self.norms)

    @cached_property
    def mean(self) -> np.ndarray:
        return self.F.plain_mean if self.n_fitted == self.n else as_map(self.X[: self.n_fitted]).mean()

    @cached_property
    def centred(self) -> Array:
        """X, less its mean where it lies so far from the origin that distances from products would lose their digits."""
        if not is_far(self.X if self.n_fitted == self.n else self.X[: self.n_fitted]):
            return self.X
        if not isinstance(self.F, SparseMap):
            return (self.X - self.mean).astype(self.X.dtype)
        # Columns with zeros stay sparse; they are near the origin, since they reach it.
        full = np.isin(self.X.indices, self.F.full_columns)
        moved = self.X.copy()
        moved.data[full] = (moved.data - self.mean[moved.indices])[full]
        return moved

    @cached_property
    def centred_mean(self) -> np.ndarray:
        """The mean of the rows of :attr:`centred`."""
        return self.mean if self.centred is self.X else as_map(self.centred[: self.n_fitted]).mean()

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """The squared lengths of the rows of :attr:`centred`."""
        return (self.norms if self.centred is self.X else lengths(self.centred)) ** 2

    def squared_distances(self, rows: np.ndarray) -> np.ndarray:
        """The squared Euclidean distances of some rows from each other."""
        centred = self.centred[rows]
        squared, squares = euclidean_distances(centred, squared=True).astype(np.float64), lengths(centred) ** 2
        i, j = np.nonzero(np.triu(squared < LOST * (squares[:, None] + squares), 1))
        squared[i, j] = squared[j, i] = _of_pairs(self.X, rows[i], rows[j], lambda a, b: row_sums(d := a - b, d))
        return squared

    def require_nonzero_rows(self, why: str) -> None:
        zero = np.flatnonzero(self.norms == 0)
        if zero.size:
            raise ValueError(
                f"{why} is undefined for zero vectors, and X has {zero.size} (the first is row {zero[0]}); "
                "remove those rows or use another metric and weights"
            )

    def dots(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """The inner products of pairs of rows of X, without an (edges, features) array."""
        return _of_pairs(self.X, rows, cols, row_sums)

    def cosines(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Cosines of the angles between pairs of rows of X."""
        return _of_pairs(self.X, rows, cols, lambda a, b: row_sums(unit_rows(a), unit_rows(b)))


def _of_pairs(
    X: Array, rows: np.ndarray, cols: np.ndarray, product: Callable[[Array, Array], np.ndarray]
) -> np.ndarray:
    """A number for each pair of rows of X, which are read in float64, some pairs at a time."""
    found = np.empty(rows.size)
    for part in row_blocks(rows.size, 2 * row_width(X)):
        found[part] = product(X[rows[part]].astype(np.float64), X[cols[part]].astype(np.float64))
    return found


class DividedRows(Rows):
    """Rows whose columns are divided by their scale.

    Forms divide them as they are read. Graphs read a divided copy, which is made once.
    """

    def __init__(self, rows: Rows, scale: np.ndarray):
        super().__init__(rows.X, rows.y, n_fitted=rows.n_fitted)
        self._given, self.scale = self.__dict__.pop("X"), scale
        self._take_over(rows)
        self.F = as_map(self.X) if sparse.issparse(self._given) else DividedMap(self._given, scale)

    @property
    def given(self) -> Array:
        return self._rows_given

    def __getattr__(self, name: str) -> Any:
        """Make X, which is a copy, when it is first asked for."""
        if name != "X":
            raise AttributeError(f"rows have no {name!r}")
        assert self.scale is not None
        self.X = divided(self._given, self.scale)
        return self.X


class RowsWithout(Rows):
    """The same rows for maps, with 0 in some columns. Graphs still read these columns."""

    def __init__(self, rows: Rows, columns: np.ndarray):
        kept = np.ones(rows.X.shape[1], dtype=bool)
        kept[columns] = False
        if not kept.any():
            raise ValueError("beside=True leaves no column of X to the map; pass the features as well, or beside=False")
        X = rows.X @ sparse.diags_array(kept.astype(rows.X.dtype)) if sparse.issparse(rows.X) else rows.X * kept
        super().__init__(X, rows.y)
        self._take_over(rows)
        self.beside = columns

    @property
    def given(self) -> Array:
        return self._rows_given


class KernelRows(Rows):
    """Rows of which only the kernel matrix is known."""

    has_features = False

    def __init__(self, K: np.ndarray, y: Any = None):
        super().__init__(K, y)
        _require_kernel(self.X)

    @cached_property
    def norms(self) -> np.ndarray:
        return np.sqrt(np.maximum(np.diagonal(self.X), 0).astype(np.float64))

    @cached_property
    def squared_norms(self) -> np.ndarray:
        return self.norms**2

    def dots(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self.X[rows, cols].astype(np.float64)

    def cosines(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self.dots(rows, cols) / (self.norms[rows] * self.norms[cols])

    def squared_distances(self, rows: np.ndarray) -> np.ndarray:
        return kernel_distances(self.X[np.ix_(rows, rows)]) ** 2


def _require_kernel(X: Array) -> None:
    if sparse.issparse(X) or X.shape[0] != X.shape[1]:
        raise ValueError(
            f'kernel="precomputed" needs X to be a symmetric kernel matrix, a dense square one; it has shape {X.shape}'
        )
    largest = np.abs(X - X.T).max()
    if largest > max(1e-8, equal_within(X.dtype)) * np.abs(X).max():
        raise ValueError(
            f'kernel="precomputed" needs X to be a symmetric kernel matrix; it is not symmetric (largest difference '
            f"{largest:.3g}): pass (K + K.T) / 2"
        )


def kernel_distances(K: np.ndarray) -> np.ndarray:
    """The distances of all pairs in the feature space of a kernel: exactly 0 on the diagonal, and never below 0."""
    squares = np.diagonal(K).astype(np.float64)
    squared = np.maximum(squares[:, None] + squares - 2.0 * K, 0)
    np.fill_diagonal(squared, 0)
    return np.sqrt(squared, out=squared)


def divided(X: Array, scale: np.ndarray) -> Array:
    """X with each column divided by its scale, in the precision of X."""
    if sparse.issparse(X):
        return sparse.csr_array(((X.data / scale[X.indices]).astype(X.dtype), X.indices, X.indptr), X.shape)
    return X / scale.astype(X.dtype)


def lengths(X: Array) -> np.ndarray:
    """The Euclidean lengths of the rows in float64."""
    return np.sqrt(row_sums(X, X))


def unit_rows(X: Array, norms: np.ndarray | None = None) -> Array:
    """Rows scaled to length 1, in the type of X. Zero rows stay zero."""
    norms = lengths(X) if norms is None else norms
    if norms.size and np.abs(norms - 1).max() <= 4 * np.finfo(X.dtype).eps:
        return X
    norms = np.where(norms > 0, norms, 1.0)
    if sparse.issparse(X):
        data = (X.data / np.repeat(norms, np.diff(X.indptr))).astype(X.dtype)
        return sparse.csr_array((data, X.indices, X.indptr), X.shape)
    unit = np.empty(X.shape, X.dtype)
    for rows in row_blocks(*X.shape):
        np.divide(X[rows], norms[rows, None], out=unit[rows], dtype=np.float64, casting="same_kind")
    return unit


def row_sums(a: Array, b: Array) -> np.ndarray:
    """The inner product of each row of a with the row of b in the same place, in float64."""
    if sparse.issparse(a) and a is b:
        return sparse.csr_array((np.square(a.data, dtype=np.float64), a.indices, a.indptr), a.shape) @ np.ones(
            a.shape[1]
        )
    if sparse.issparse(a):
        return np.asarray(a.astype(np.float64).multiply(b).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", a, b, dtype=np.float64)


def row_bytes(X: Array) -> list[bytes]:
    """The rows as keys of a dictionary, which are equal for equal rows."""
    if not sparse.issparse(X):
        return [row.tobytes() for row in X + 0.0]  # adding 0.0 turns -0 into 0
    X = canonical(X).copy()
    X.eliminate_zeros()
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes() for a, b in ends]


def gathered(X: Array, places: np.ndarray) -> np.ndarray:
    """The rows at some places, given as an array of any shape, as dense float64 along a last axis."""
    found = X[places.ravel()]
    found = found.toarray() if sparse.issparse(found) else found
    return found.astype(np.float64).reshape(*places.shape, X.shape[1])


def row_width(X: Array) -> int:
    """About how many numbers a row holds."""
    return max(1, X.nnz // max(1, X.shape[0])) if sparse.issparse(X) else X.shape[1]


def class_members(classes: np.ndarray) -> list[np.ndarray]:
    """The row numbers of each class."""
    return [np.flatnonzero(classes == label) for label in range(classes.max() + 1)]


def encode_labels(y: Any, n: int) -> np.ndarray:
    """Labels as integers 0 ... c - 1, with -1 for unknown. Fewer than two classes raise an error."""
    if y is None:
        raise ValueError(
            "the method or its graph requires y to be passed, but the target y is None; pass class labels (-1 marks an unknown "
            "one), or use a method whose graph reads none, such as LPP with KNN"
        )
    y = _as_array(y)
    if y.size != n:
        raise ValueError(f"y has {y.size} labels, but X has {n} samples; pass one label per sample")
    known = y != -1
    if not known.any():
        raise ValueError(
            "y has no known label: every entry is -1 (unknown); label some samples of at least two classes"
        )
    try:
        names, codes = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y[known]}))
        raise ValueError(f"y mixes labels of kinds that have no order ({kinds}); use one kind") from error
    if names.size == 1 and names[0] in (1, "1", "+1") and not known.all():
        raise ValueError(
            "y holds exactly the labels -1 and +1, but -1 means unknown here; relabel the classes as 0 and 1"
        )
    if names.size < 2:
        raise ValueError(
            f"y has one class only ({names[0]}), so there is nothing to tell apart; pass at least two classes, or use "
            "a method whose graph reads none, such as LPP with KNN"
        )
    classes = np.full(n, -1, dtype=np.intp)
    classes[known] = codes
    return classes


def coded_labels(y: Any, n: int, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels as places among ``names``, -1 where unknown, and the names. New labels are added at the end of the names."""
    if y is None:
        encode_labels(None, n)  # raises, and says what is missing
    y = _as_array(y)
    if y.size != n:
        raise ValueError(f"y has {y.size} labels, but X has {n} samples; pass one label per sample")
    known = y != -1
    try:
        found, inverse = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes labels of kinds that have no order; use one kind") from error
    if names.size and found.size and (names.dtype.kind in "OU") != (found.dtype.kind in "OU"):
        raise ValueError(f"y has labels like {found[0]!r}, and those before were like {names[0]!r}; use one kind")
    places = {name: place for place, name in enumerate(names.tolist())}
    new = [name for name in found.tolist() if name not in places]
    places |= {name: len(places) + i for i, name in enumerate(new)}
    codes = np.full(n, -1, dtype=np.intp)
    codes[known] = np.array([places[name] for name in found.tolist()], dtype=np.intp)[inverse]
    return codes, np.concatenate([names.astype(found.dtype) if not names.size else names, np.array(new, found.dtype)])


def class_codes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of n samples as 0, 1, ..., -1 where unknown, and the label of each class."""
    codes, y = encode_labels(y, n), np.asarray(y).ravel()
    return codes, np.array([y[np.argmax(codes == code)] for code in range(codes.max() + 1)])


def spread_rows(n: int, most: int) -> np.ndarray:
    """At most so many row numbers, evenly spaced."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(int)


def known_labels(y: Any) -> np.ndarray:
    """Which labels are known: those that are not -1."""
    return np.asarray(_as_array(y) != -1)


def _as_array(y: Any) -> np.ndarray:
    """Labels in one dimension. NumPy and files turn -1 among words into the word "-1", which is turned back."""
    try:
        y = column_or_1d(y)
    except TypeError as error:  # pandas's NA
        raise ValueError(f"y is no list of class labels: {error}; mark unknown labels by -1") from error
    if y.dtype == object:
        missing = np.array([not _equals_itself(label) for label in y], dtype=bool)
    else:
        missing = ~np.isfinite(y) if y.dtype.kind == "f" else np.zeros(y.size, dtype=bool)
    if missing.any():
        raise ValueError("y contains NaN, infinity or missing values; mark unknown labels by -1")
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        raise ValueError(
            "y is continuous (unknown label type): it holds fractions; pass class labels, or a graph that reads "
            "numbers, such as graph=Target(5)"
        )
    if y.dtype.kind in "OU":
        y = y.astype(object)
        y[y == "-1"] = -1
    return y


def _equals_itself(label: Any) -> bool:
    """Whether a label equals itself, which NaN, None and pandas's NA do not."""
    equal = label == label
    return label is not None and isinstance(equal, (bool, np.bool_)) and bool(equal)
