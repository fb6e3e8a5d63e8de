"""Graphs of all pairs of a class, or of all rows. They have too many edges to list, so they are kept as low-rank factors."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from .._arrays import Array, row_blocks
from .._validation import check_choice, check_count
from ..data import Data, total
from ..operators import Structured, diagonal
from ..problem import Term
from .base import Graph
from .neighbors import KNN, heat_weights, refuse_negative, require_positive_degrees

# Squared distances below this share of the squared lengths of both rows have lost digits where they come from products.
LOST_DIGITS = 1e-3


def _members(classes: np.ndarray) -> list[np.ndarray]:
    """The row numbers of each class."""
    return [np.flatnonzero(classes == label) for label in range(classes.max() + 1)]


def _squared_distances(data: Data, rows: np.ndarray) -> np.ndarray:
    """The squared distances of some rows from each other, from products where these keep their digits."""
    if not (isinstance(data.X, np.ndarray) and data.has_features):
        found = np.square(data.distances(rows, np.broadcast_to(rows, (rows.size, rows.size))))
        np.fill_diagonal(found, 0.0)
        return found
    X = data.rows_at(rows) - data.mean()
    found, squares = euclidean_distances(X, squared=True), np.einsum("ij,ij->i", X, X)
    i, j = np.nonzero(np.triu(found < LOST_DIGITS * (squares[:, None] + squares), 1))
    for some in row_blocks(i.size, data.d):
        a, b = i[some], j[some]
        found[a, b] = found[b, a] = np.square(data.distances(rows[a], rows[b, None])[:, 0])
    return found


def indicators(classes: np.ndarray) -> sparse.csr_array:
    """The n x c matrix Z of class membership; rows of unknown label are 0."""
    known = np.flatnonzero(classes >= 0)
    shape = (classes.size, classes.max() + 1)
    return sparse.csr_array((np.ones(known.size), (known, classes[known])), shape=shape)


class SameClass(Graph):
    r"""Links all pairs of rows of the same class. Rows of unknown class have no links.

    Parameters
    ----------
    weights : {"uniform", "heat"}, default="uniform"
        How much a link counts. ``"uniform"`` is :math:`1/n_c` in a class of :math:`n_c` samples, i = j included, so that
        :math:`D = I` and :math:`X^\top L X = S_w`, the within-class scatter (thesis eq. 2.37 to 2.39 of [1]_). It is kept as
        a factor of rank c, for c classes. ``"heat"`` is :math:`\exp(-\|x_i - x_j\|^2/t)` without i = j (eq. 7.3), and memory
        grows with the sum of the squared class sizes.
    t : float, "auto" or "half-median", default="auto"
        The width of heat weights: the larger t is, the more equal the weights are. ``"auto"`` is the mean squared distance over
        the pairs of a class, and ``"half-median"`` is half the square of the median distance among 1,000 rows.
    balance : bool, default=False
        Whether rare classes count as much as common ones. The weights of each class are multiplied by one number such that its
        degrees add up to n/c, for n labelled samples in c classes. With ``"uniform"`` weights that number is
        :math:`n / (c\, n_c)`, so that :math:`X^\top L X = \frac{n}{c} \sum_c S_c / n_c`, the mean of the classes' own
        covariances. The mean weighted by D is then the mean of the class means, as in a discriminant analysis of equal priors.

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005.

    Examples
    --------
    >>> from lapwing.graphs import SameClass
    >>> SameClass().build([[0.0], [1.0], [5.0]], ["a", "a", "b"])[0].laplacian.toarray()
    array([[ 0.5, -0.5,  0. ],
           [-0.5,  0.5,  0. ],
           [ 0. ,  0. ,  0. ]])
    """

    reads_labels = True

    def __init__(self, weights: str = "uniform", *, t: float | str = "auto", balance: bool = False):
        self.weights = weights
        self.t = t
        self.balance = balance

    @property
    def reads_features(self) -> bool:
        return not (isinstance(self.weights, str) and self.weights == "uniform")

    @property
    def weighs_classes(self) -> bool:
        return self.balance is not False

    def why_all_rows(self) -> str | None:
        if not self.reads_features:
            return None
        return (
            'SameClass(weights="heat") lists all pairs of a class, and X is read in blocks; use weights="uniform", or '
            'KNN(among="same_class", queries=20_000)'
        )

    def terms(self, data: Data) -> list[Term]:
        if not (isinstance(self.weights, str) and self.weights == "uniform"):
            return super().terms(data)
        Z, sizes = indicators(data.classes), data.class_sizes
        shares = self._shares(sizes) if self.balance is not False else np.ones(sizes.size)
        D = Structured(data.n, diag=Z @ shares)
        return [Term(1.0, Structured(data.n, factors=((Z, -shares / sizes),), diag=D.diag), D)]

    def _shares(self, totals: np.ndarray) -> np.ndarray:
        """The factors by which the weights of each class are multiplied, given the total degree of each class."""
        if not check_choice("balance", self.balance, (True, False)):
            return np.ones(totals.size)
        linked = totals > 0
        return np.divide(totals.sum() / linked.sum(), totals, out=np.zeros(totals.size), where=linked)

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        if self.reads_features:
            return super().weights_at(data, rows, cols)
        classes = data.classes
        same = (classes[rows] >= 0) & (classes[rows] == classes[cols])
        weights = self._shares(data.class_sizes) / data.class_sizes
        return np.where(same, weights[classes[rows]], 0.0)

    def adjacency(self, data: Data) -> sparse.csr_array | None:
        if check_choice("weights", self.weights, ("uniform", "heat")) == "uniform":
            return None
        members = [rows for rows in _members(data.classes) if rows.size > 1]
        if not members:
            raise ValueError('SameClass(weights="heat") needs a pair: every class has one sample; add samples')
        squared = [_squared_distances(data, rows) for rows in members]
        off_diagonal = [block[~np.eye(len(block), dtype=bool)] for block in squared]
        d = np.sqrt(np.concatenate(off_diagonal))
        t = KNN(t=self.t)._width(data, (np.arange(data.n), np.arange(data.n), d))
        rows = np.concatenate([np.repeat(c, c.size) for c in members])
        cols = np.concatenate([np.tile(c, c.size) for c in members])
        off = rows != cols
        rows, cols = rows[off], cols[off]
        values = heat_weights(np.concatenate([block.ravel() for block in squared])[off] / t, rows, data.n)
        own = data.classes[rows]
        values *= self._shares(np.bincount(own, values, data.class_sizes.size))[own]
        W = sparse.csr_array((values, (rows, cols)), shape=(data.n, data.n))
        require_positive_degrees("heat", rows, W)
        return W


class LocalClass(Graph):
    r"""Links all pairs of rows of the same class, near pairs with more weight than far ones.

    .. math:: W_{ij} = \frac{1}{n_c} \exp\left(-\frac{\|x_i - x_j\|^2}{\sigma_i \sigma_j}\right)

    for a class of :math:`n_c` samples, where :math:`\sigma_i` is the distance from sample i to its k-th nearest neighbour in
    the class. So what counts as near is measured by each sample's own surroundings (local scaling [1]_, as
    :class:`lapwing.LFDA` uses it [2]_). Memory grows with the sum of the squared class sizes.

    Parameters
    ----------
    n_neighbors : int, default=7
        Which neighbour says how wide a sample's surroundings are, k. In a class of k samples or fewer it is the farthest
        sample.

    References
    ----------
    .. [1] L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", Advances in Neural Information Processing Systems
       17, 2005.
    .. [2] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis", Journal of
       Machine Learning Research 8, 2007. https://jmlr.org/papers/v8/sugiyama07b.html

    Examples
    --------
    >>> from lapwing.graphs import LocalClass
    >>> LocalClass(1).build([[0.0], [1.0], [5.0]], ["a", "a", "b"])[0].laplacian.toarray().round(2)
    array([[ 0.18, -0.18,  0.  ],
           [-0.18,  0.18,  0.  ],
           [ 0.  ,  0.  ,  0.  ]])
    """

    reads_labels = True

    def __init__(self, n_neighbors: int = 7):
        self.n_neighbors = n_neighbors

    def adjacency(self, data: Data) -> sparse.csr_array:
        k = check_count("n_neighbors", self.n_neighbors)
        members = _members(data.classes)
        blocks = [_local_weights(_squared_distances(data, rows), k) / rows.size for rows in members]
        rows = np.concatenate([np.repeat(c, c.size) for c in members])
        cols = np.concatenate([np.tile(c, c.size) for c in members])
        W = sparse.csr_array((np.concatenate([W.ravel() for W in blocks]), (rows, cols)), shape=(data.n, data.n))
        W.eliminate_zeros()
        return W


def _local_weights(squared: np.ndarray, k: int) -> np.ndarray:
    """Weights from the squared distances within a class. The weight of i = j is 0, since a Laplacian does not depend on it."""
    scales = np.sqrt(np.sort(squared, axis=1)[:, min(k, len(squared) - 1)])
    products = np.outer(scales, scales)
    ratios = np.divide(squared, products, out=np.where(squared > 0, np.inf, 0.0), where=products > 0)
    weights = np.exp(-ratios)
    np.fill_diagonal(weights, 0)
    return weights


class OtherClass(Graph):
    r"""Links all pairs of rows of different known classes, with weight 1/n for n labelled samples.

    Use it to filter a search, as in ``KNN(15) & OtherClass()``, or to keep all classes apart, near or far.
    ``Complete(among="labelled")`` has these pairs and the pairs of the same class.

    Examples
    --------
    >>> from lapwing.graphs import OtherClass
    >>> OtherClass().build([[0.0], [1.0]], ["a", "b"])[0].laplacian.toarray()
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    reads_labels, reads_features = True, False

    def terms(self, data: Data) -> list[Term]:
        Z = indicators(data.classes)
        sizes = data.class_sizes
        known = (data.classes >= 0).astype(np.float64)
        n = sizes.sum()
        degrees = known * (1 - (Z @ sizes) / n)
        factors = ((Z, np.full(sizes.size, 1 / n)), (known[:, None], np.array([-1 / n])))
        return [Term(1.0, Structured(data.n, factors=factors, diag=degrees), diagonal(degrees))]

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        classes = data.classes
        differ = (classes[rows] >= 0) & (classes[cols] >= 0) & (classes[rows] != classes[cols])
        return differ / data.class_sizes.sum()


class Complete(Graph):
    r"""Links all pairs of rows.

    Parameters
    ----------
    weights : {"uniform", "dot"}, default="uniform"
        How much a link counts. ``"uniform"`` is 1/n, i = j included, so that :math:`D = I` and :math:`X^\top L X` is the total
        scatter; to maximise it over orthogonal directions is PCA. ``"dot"`` is :math:`x_i^\top x_j` on X as given, kept as a
        factor of the rank of X (sections 4.3.4 and 5.3.3 of X. He's thesis).
    among : {"all", "labelled"}, default="all"
        Which rows are linked. ``"labelled"`` leaves out the rows of unknown label.

    Examples
    --------
    >>> from lapwing.graphs import Complete
    >>> Complete().build([[0.0], [1.0]])[0].laplacian.toarray()
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    weighs_classes = False

    def __init__(self, weights: str = "uniform", *, among: str = "all"):
        self.weights = weights
        self.among = among

    @property
    def reads_labels(self) -> bool:
        return self.among == "labelled"

    @property
    def reads_features(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "dot"

    def why_all_rows(self) -> str | None:
        if not self.reads_features:
            return None
        return 'Complete("dot") needs all rows of X in memory, and X is read in blocks; use Complete()'

    def terms(self, data: Data) -> list[Term]:
        check_choice("weights", self.weights, ("uniform", "dot"))
        members = self._members(data)
        if self.weights == "uniform":
            factor = (members[:, None], np.array([-1.0 / total(data, members)]))
            return [Term(1.0, Structured(data.n, factors=(factor,), diag=members), Structured(data.n, diag=members))]
        if not data.has_features:
            raise ValueError(
                'Complete("dot") needs features, and kernel="precomputed" gives none; use Complete() or KNN'
            )
        X = self._rows(data, members)
        sums = np.ones(data.n) @ X if sparse.issparse(X) else X.sum(axis=0, dtype=np.float64)  # both in float64
        degrees = np.asarray(X @ sums).ravel()
        _require_nonnegative_dots(X, degrees, members)
        factor = (X, -np.ones(X.shape[1]))
        return [Term(1.0, Structured(data.n, factors=(factor,), diag=degrees), diagonal(degrees))]

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        check_choice("weights", self.weights, ("uniform", "dot"))
        members = self._members(data)
        both = members[rows] * members[cols]
        if self.weights == "uniform":
            return both / total(data, members)
        weights = both * data.inner_products(rows, cols)
        if weights.size:
            refuse_negative("dot", (weights < 0).mean(), 'weights="uniform"')
        return weights

    def _members(self, data: Data) -> np.ndarray:
        if check_choice("among", self.among, ("all", "labelled")) == "all":
            return np.ones(data.n)
        return (data.classes >= 0).astype(np.float64)

    def _rows(self, data: Data, members: np.ndarray) -> Array:
        if members.all():
            return data.X
        return (
            sparse.csr_array(sparse.diags_array(members) @ sparse.csr_array(data.X))
            if sparse.issparse(data.X)
            else members[:, None] * data.X
        )


def _require_nonnegative_dots(X: Array, degrees: np.ndarray, members: np.ndarray) -> None:
    """Raise where products are negative. They are counted in blocks of rows, and only where X has negative entries."""
    if (X.min() if X.shape[1] else 0) < 0:
        negative = 0
        for rows in row_blocks(X.shape[0], X.shape[0]):
            products = X[rows] @ X.T
            negative += int((products < 0).sum())
        refuse_negative("dot", negative / members.sum() ** 2, 'weights="uniform"')
    if (degrees[members > 0] <= 0).any():
        raise ValueError(
            f'weights="dot" gives degree 0 to {int((degrees[members > 0] <= 0).sum())} samples (zero vectors, or orthogonal '
            'to all others); remove them or use weights="uniform"'
        )
