"""Graphs of all pairs of a class, or of all rows. They have too many edges to list, so they are kept as low-rank factors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from .._validation import check_choice, check_count, row_blocks
from ..data import Data, total
from ..neighbors import Edges
from ..operators import Structured, diagonal
from ..problem import Term
from .base import Graph
from .neighbors import KNN, require_positive_degrees

# Squared distances below this share of the squared lengths of both rows have lost digits where they come from products.
LOST_DIGITS = 1e-3


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


def pairs_of_classes(data: Data, k: int = 1) -> tuple[Edges, np.ndarray]:
    """All pairs of rows of the same class, in both directions, and each row's distance from the k-th, or last, of its class."""
    found, reach = [], np.zeros(data.n)
    for label in range(data.classes.max() + 1):
        own = np.flatnonzero(data.classes == label)
        squared, (i, j) = _squared_distances(data, own), np.nonzero(~np.eye(own.size, dtype=bool))
        reach[own] = np.sqrt(np.sort(squared, axis=1)[:, min(k, own.size - 1)])
        found.append((own[i], own[j], np.sqrt(squared[i, j])))
    rows, cols, d = map(np.concatenate, zip(*found, strict=True))
    return (rows, cols, d), reach


def indicators(values: np.ndarray, m: int | None = None) -> sparse.csr_array:
    """The matrix Z of rows by values, with 1 where a row has a value of 0 ... m - 1. Rows of -1 are 0."""
    known = np.flatnonzero(values >= 0)
    shape = (values.size, values.max() + 1 if m is None else m)
    return sparse.csr_array((np.ones(known.size), (known, values[known])), shape=shape)


@dataclass(eq=False, repr=False)
class SameClass(Graph):
    r"""Links all pairs of rows of the same class. Rows of unknown class have no links.

    Parameters
    ----------
    weights : {"uniform", "heat", "cosine"}, default="uniform"
        How much a link counts. ``"uniform"`` is :math:`1/n_c` in a class of :math:`n_c` samples, i = j included, so that
        :math:`D = I` and :math:`X^\top L X = S_w`, the within-class scatter (thesis eq. 2.37 to 2.39 of [1]_).

        ``"heat"`` is :math:`\exp(-\|x_i - x_j\|^2/t)` (eq. 7.3) and ``"cosine"`` the cosine of both rows (section 6.2.1), which
        must not be negative; both without i = j, and memory grows with the sum of the squared class sizes.
    t : As in :class:`KNN`
    balance : bool, default=False
        Whether rare classes count as much as common ones, as in a discriminant analysis of equal priors: the weights of each
        class are multiplied such that its degrees add up to n/c, for n labelled samples in c classes.

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

    weights: str = "uniform"
    _: KW_ONLY
    t: float | str = "auto"
    balance: bool = False

    reads_labels = True
    reads_features = property(lambda self: not (isinstance(self.weights, str) and self.weights == "uniform"))
    weighs_classes = property(lambda self: self.balance is not False)

    def terms(self, data: Data) -> list[Term]:
        if self.reads_features:
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
        if check_choice("weights", self.weights, ("uniform", "heat", "cosine")) == "uniform":
            return None
        edges, _ = pairs_of_classes(data)
        if not edges[0].size:
            raise ValueError(f'SameClass("{self.weights}") needs a pair: every class has one sample; add samples')
        values, own = KNN(weights=self.weights, t=self.t)._weights(data, edges), data.classes[edges[0]]
        values *= self._shares(np.bincount(own, values, data.class_sizes.size))[own]
        W = sparse.csr_array((values, edges[:2]), shape=(data.n, data.n))
        require_positive_degrees(self.weights, edges[0], W)
        return W


@dataclass(eq=False, repr=False)
class LocalClass(Graph):
    r"""Links all pairs of rows of the same class, near pairs with more weight than far ones.

    .. math:: W_{ij} = \frac{1}{n_c} \exp\left(-\frac{\|x_i - x_j\|^2}{\sigma_i \sigma_j}\right)

    for a class of :math:`n_c` samples, where :math:`\sigma_i` is the distance from sample i to its k-th nearest neighbour in
    the class, as :class:`lapwing.LFDA` uses it. Memory grows with the sum of the squared class sizes.

    Parameters
    ----------
    n_neighbors : int, default=7
        Which neighbour says what is near, k. In a class of k samples or fewer it is the farthest sample.

    Examples
    --------
    >>> from lapwing.graphs import LocalClass
    >>> LocalClass(1).build([[0.0], [1.0], [5.0]], ["a", "a", "b"])[0].laplacian.toarray().round(2)
    array([[ 0.18, -0.18,  0.  ],
           [-0.18,  0.18,  0.  ],
           [ 0.  ,  0.  ,  0.  ]])
    """

    n_neighbors: int = 7

    reads_labels = True

    def adjacency(self, data: Data) -> sparse.csr_array:
        (rows, cols, d), reach = pairs_of_classes(data, check_count("n_neighbors", self.n_neighbors))
        products, own = reach[rows] * reach[cols], data.classes[rows]
        ratios = np.divide(d**2, products, out=np.where(d > 0, np.inf, 0.0), where=products > 0)
        sizes = np.bincount(data.classes[data.classes >= 0])
        W = sparse.csr_array((np.exp(-ratios) / sizes[own], (rows, cols)), shape=(data.n, data.n))
        W.eliminate_zeros()
        return W


class OtherClass(Graph):
    r"""Links all pairs of rows of different known classes, with weight 1/n for n labelled samples.

    Use it to filter a search, as in ``KNN(15) & OtherClass()``, or to keep all classes apart, near or far.

    Examples
    --------
    >>> from lapwing.graphs import OtherClass
    >>> OtherClass().build([[0.0], [1.0]], ["a", "b"])[0].laplacian.toarray()
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    reads_labels, reads_features = True, False

    def terms(self, data: Data) -> list[Term]:
        Z, sizes = indicators(data.classes), data.class_sizes
        known, n = (data.classes >= 0).astype(np.float64), sizes.sum()
        degrees = known * (1 - (Z @ sizes) / n)
        factors = ((Z, np.full(sizes.size, 1 / n)), (known[:, None], np.array([-1 / n])))
        return [Term(1.0, Structured(data.n, factors=factors, diag=degrees), diagonal(degrees))]

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        classes = data.classes
        differ = (classes[rows] >= 0) & (classes[cols] >= 0) & (classes[rows] != classes[cols])
        return differ / data.class_sizes.sum()


@dataclass(eq=False, repr=False)
class Complete(Graph):
    r"""Links all pairs of rows with weight 1/n, i = j included: :math:`D = I`, and :math:`X^\top L X` is the total scatter.

    PCA maximises it. With weights of :math:`x_i^\top x_j` (sections 4.3.4 and 5.3.3 of X. He's thesis), use ``graph=X @ X.T``.

    Parameters
    ----------
    among : {"all", "labelled"}, default="all"
        Which rows are linked. ``"labelled"`` leaves out the rows of unknown label.

    Examples
    --------
    >>> from lapwing.graphs import Complete
    >>> Complete().build([[0.0], [1.0]])[0].laplacian.toarray()
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    _: KW_ONLY
    among: str = "all"

    reads_features, weighs_classes = False, False
    reads_labels = property(lambda self: self.among == "labelled")

    def terms(self, data: Data) -> list[Term]:
        members = self._members(data)
        factor = (members[:, None], np.array([-1.0 / total(data, members)]))
        return [Term(1.0, Structured(data.n, factors=(factor,), diag=members), diagonal(members))]

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        members = self._members(data)
        return members[rows] * members[cols] / total(data, members)

    def _members(self, data: Data) -> np.ndarray:
        everyone = check_choice("among", self.among, ("all", "labelled")) == "all"
        return np.ones(data.n) if everyone else (data.classes >= 0).astype(np.float64)
