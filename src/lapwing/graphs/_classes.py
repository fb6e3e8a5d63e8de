"""Graphs of all pairs of a class, or of all rows. They have too many edges to list, so they are kept as low-rank factors."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._validation import check_choice, check_count
from ..maps import as_map
from ..operators import Array, Structured, diagonal, row_blocks
from ..problem import Term
from ..rows import Rows, class_members
from ._base import Graph
from ._weights import Heat, heat_weights, refuse_negative, require_positive_degrees


def _indicators(classes: np.ndarray) -> sparse.csr_array:
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
        return self._is_heat()

    def require_blocks(self, n: int) -> None:
        if self._is_heat():
            raise ValueError(
                'SameClass(weights="heat") lists all pairs of a class, and X is read in blocks; use weights="uniform", or '
                'KNN(among="same_class", queries=20_000)'
            )

    def terms(self, data: Rows) -> list[Term]:
        if self._is_heat():
            return super().terms(data)
        Z, shares = _indicators(data.classes), self._shares(data.class_sizes)
        degrees = Z @ shares
        factor = (Z, -shares / data.class_sizes)
        return [Term(1.0, Structured(data.n, factors=(factor,), diag=degrees), diagonal(degrees))]

    def _shares(self, totals: np.ndarray) -> np.ndarray:
        """The factors by which the weights of each class are multiplied, given the total degree of each class."""
        if not check_choice("balance", self.balance, (True, False)):
            return np.ones(totals.size)
        linked = totals > 0
        return np.divide(totals.sum() / linked.sum(), totals, out=np.zeros(totals.size), where=linked)

    def weights_at(self, data: Rows, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        if self._is_heat():
            return super().weights_at(data, rows, cols)
        classes = data.classes
        same = (classes[rows] >= 0) & (classes[rows] == classes[cols])
        weights = self._shares(data.class_sizes) / data.class_sizes
        return np.where(same, weights[classes[rows]], 0.0)

    def _is_heat(self) -> bool:
        return check_choice("weights", self.weights, ("uniform", "heat")) == "heat"

    def adjacency(self, data: Rows) -> sparse.csr_array | None:
        if not self._is_heat():
            return None
        members = [rows for rows in class_members(data.classes) if rows.size > 1]
        if not members:
            raise ValueError('SameClass(weights="heat") needs a pair: every class has one sample; add samples')
        squared = [data.squared_distances(rows) for rows in members]
        off_diagonal = [block[~np.eye(len(block), dtype=bool)] for block in squared]
        t = Heat(self.t).width(np.concatenate(off_diagonal), data)
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

    def adjacency(self, data: Rows) -> sparse.csr_array:
        k = check_count("n_neighbors", self.n_neighbors)
        members = class_members(data.classes)
        blocks = [_local_weights(data.squared_distances(rows), k) / rows.size for rows in members]
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

    def require_blocks(self, n: int) -> None:
        """Do nothing, since classes are enough for this graph."""

    def terms(self, data: Rows) -> list[Term]:
        Z = _indicators(data.classes)
        sizes = data.class_sizes
        known = (data.classes >= 0).astype(np.float64)
        n = sizes.sum()
        degrees = known * (1 - (Z @ sizes) / n)
        factors = ((Z, np.full(sizes.size, 1 / n)), (known[:, None], np.array([-1 / n])))
        return [Term(1.0, Structured(data.n, factors=factors, diag=degrees), diagonal(degrees))]

    def weights_at(self, data: Rows, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
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

    def __init__(self, weights: str = "uniform", *, among: str = "all"):
        self.weights = weights
        self.among = among

    @property
    def reads_labels(self) -> bool:
        return self.among == "labelled"

    @property
    def reads_features(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "dot"

    def require_blocks(self, n: int) -> None:
        if check_choice("weights", self.weights, ("uniform", "dot")) == "dot":
            raise ValueError('Complete("dot") needs all rows of X in memory, and X is read in blocks; use Complete()')

    def terms(self, data: Rows) -> list[Term]:
        check_choice("weights", self.weights, ("uniform", "dot"))
        members = self._members(data)
        if self.weights == "uniform":
            factor = (members[:, None], np.array([-1.0 / data.total(members)]))
            return [Term(1.0, Structured(data.n, factors=(factor,), diag=members), diagonal(members))]
        if not data.has_features:
            raise ValueError(
                'Complete("dot") needs features, and kernel="precomputed" gives none; use Complete() or KNN'
            )
        X = self._rows(data, members)
        degrees = np.asarray(X @ (as_map(X).mean() * X.shape[0])).ravel()
        _require_nonnegative_dots(X, degrees, members)
        factor = (X, -np.ones(X.shape[1]))
        return [Term(1.0, Structured(data.n, factors=(factor,), diag=degrees), diagonal(degrees))]

    def weights_at(self, data: Rows, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        check_choice("weights", self.weights, ("uniform", "dot"))
        members = self._members(data)
        both = members[rows] * members[cols]
        if self.weights == "uniform":
            return both / data.total(members)
        weights = both * data.dots(rows, cols)
        if weights.size:
            refuse_negative("dot", (weights < 0).mean(), 'weights="uniform"')
        return weights

    def _members(self, data: Rows) -> np.ndarray:
        if check_choice("among", self.among, ("all", "labelled")) == "all":
            return np.ones(data.n)
        return (data.classes >= 0).astype(np.float64)

    def _rows(self, data: Rows, members: np.ndarray) -> Array:
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
