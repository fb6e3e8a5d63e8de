"""Graphs of all pairs of a class, or of all rows, kept as low-rank factors; and labels that spread to rows without one."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import euclidean_distances

from .._validation import check_choice, check_count, class_codes, row_blocks
from ..data import Data, as_data, total
from ..neighbors import Edges, Request, search
from ..operators import Structured, diagonal
from ..problem import Term
from .base import Graph, total_weights
from .neighbors import KNN, reach_of, require_positive_degrees

# Squared distances below this share of the squared lengths of both rows have lost digits where they come from products.
LOST_DIGITS = 1e-3
SHARPNESS = 4.0  # the weight of a link to the k-th neighbour is exp(-4)
LEAK = 1e-4  # how much of its score a row loses per step, which makes the equations well posed
TOLERANCE, MOST_STEPS = 1e-6, 1000  # of the conjugate gradients
SHARE_STEPS = 60  # steps in which the shares of the classes are reached
LEAST_SHARE = 1e-3  # of a class that no row seems to belong to


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


@dataclass(eq=False, repr=False)
class Propagated(Graph):
    r"""Links rows of the same class, after the known labels have spread to the rows whose label is unknown.

    It is for few labels among many rows. First ``map`` learns from the labelled rows alone, and every row gets its place in that
    map beside its features, both scaled to the same mean length. Then labels spread along the links of nearest neighbours, by
    features and place together, by Poisson learning [1]_:

    .. math:: (\Delta - W)\, U = B, \qquad B_i = Y_i - \bar Y \text{ for labelled rows, and 0 for all others,}

    where row i of Y has a 1 at the class of row i, and :math:`\bar Y` is the mean of Y over the labelled rows of the same
    connected piece of the graph. A row gets the class of its largest score :math:`U_{ic}`, and a labelled row keeps its own.
    Rows in pieces that no label reaches stay unknown. Last, all rows of one class are linked as by :class:`SameClass`.

    Parameters
    ----------
    map : estimator or None
        What learns from the labelled rows first: a transformer that reads y. ``graph="propagate"`` of the estimators takes
        ``KernelLPP("auto", graph="supervised")``. With None, or one label per class, links come from the features alone.
    graph : int or Graph, default=10
        The links along which labels spread. An integer k links each row to the k nearest of the rows without a label, with
        weights :math:`\exp(-4 d_{ij}^2 / d_{ik}^2)`, where :math:`d_{ik}` is the distance of row i from the k-th of them. A
        graph such as ``KNN(10)`` links all rows, so that labels may be lost among other labels.
    shares : {"auto", "labels"}, None or mapping, default="auto"
        How large the classes are among all rows: a mapping gives the share of each class by its label, and ``"labels"`` are the
        shares among the labelled rows, right where these were drawn at random. With None the scores alone decide; ``"auto"``
        is the geometric mean of what the scores alone find and what the nearest labelled rows say.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The label of each row after the labels have spread, -1 where none reached it; ``graph_.labels_`` of an estimator.
    scores_ : ndarray of shape (n_samples, n_classes)
        How strongly each row belongs to each class, the classes in sorted order; minus infinity where no label reached it.

    References
    ----------
    .. [1] J. Calder, B. Cook, M. Thorpe and D. Slepčev, "Poisson learning: graph based semi-supervised learning at very low
       label rates", International Conference on Machine Learning, 2020. https://proceedings.mlr.press/v119/calder20a.html

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> X, true = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(true)) % 20, -1, true)  # one label of twenty is known
    >>> model = LPP("auto", graph="propagate").fit(X, y)
    >>> float(np.mean(model.graph_.labels_ == true).round(2))
    0.96
    """

    map: BaseEstimator | None
    graph: Graph | int = 10
    _: KW_ONLY
    shares: str | Mapping[Any, float] | None = "auto"

    reads_labels, weighs_classes = True, False
    _unnamed = 2
    # Once labels have spread, it is a graph of the classes of these very rows.
    reads_features = property(lambda self: not hasattr(self, "labels_"))
    indexes_rows = property(lambda self: hasattr(self, "labels_"))

    def fitted(self, data: Data) -> Propagated:
        """The same graph with ``labels_`` and ``scores_``."""
        codes, names = class_codes(data.y, data.n)
        beside = self._beside(data, codes)
        scores = poisson_scores(self._weights(beside, codes), codes, names.size)
        reached = np.isfinite(scores).any(axis=1)
        shares = self._shares(beside, codes, names, scores[reached])
        offsets = 0.0 if shares is None else class_offsets(scores[reached], shares)
        found = np.where(reached, (scores + offsets).argmax(axis=1), -1)
        found[codes >= 0] = codes[codes >= 0]
        result: Any = copy(self)
        result.labels_, result.scores_ = np.append(names, -1)[found], scores
        return result

    def _weights(self, beside: Data, codes: np.ndarray) -> sparse.csr_array:
        """The weights of the links."""
        graph: Any = self.graph
        if isinstance(graph, Integral):
            near = Request(check_count("graph", graph)).checked(beside.n)
            free, known = np.flatnonzero(codes < 0), np.flatnonzero(codes >= 0)
            parts = [search(beside, near, rows, free) for rows in (free, known)]
            rows, cols, d = map(np.concatenate, zip(*parts, strict=True))
            reach = reach_of((rows, cols, d), beside.n)
            return beside.symmetric_weights(rows, cols, np.exp(-SHARPNESS * (d / reach[rows]) ** 2), "mean")
        if not isinstance(graph, Graph) or graph.reads_labels:
            raise ValueError(f"graph={graph!r} must be a number of neighbours or a graph that reads no labels: KNN(10)")
        return total_weights(self, graph.fitted(beside), beside)

    def _shares(self, beside: Data, codes: np.ndarray, names: np.ndarray, scores: np.ndarray) -> np.ndarray | None:
        """The shares that the classes shall have; None where the scores alone decide."""
        if self.shares is None:
            return None
        if isinstance(self.shares, Mapping):
            given = np.array([self.shares.get(name, np.nan) for name in names.tolist()], dtype=float)
            if set(self.shares) - set(names.tolist()) or not (given > 0).all():
                wanted = f"a positive share for each of the classes {names.tolist()}"
                raise ValueError(f"shares={self.shares!r} must give {wanted}")
            return given / given.sum()
        known = np.flatnonzero(codes >= 0)
        if check_choice("shares", self.shares, ("auto", "labels")) == "labels":
            return np.bincount(codes[known]) / known.size
        _, nearest, _ = search(beside, Request(1), np.flatnonzero(codes < 0), known)
        guesses = np.concatenate([codes[known], codes[nearest]]), scores.argmax(axis=1)
        counts = [np.bincount(guess, minlength=names.size) / guess.size for guess in guesses]
        shares = np.sqrt(np.prod(np.maximum(counts, LEAST_SHARE), axis=0))
        return shares / shares.sum()

    def _beside(self, data: Data, codes: np.ndarray) -> Data:
        """The rows beside their places in the first map, both halves of mean squared length 1, in units of that map."""
        if not data.has_features:
            raise ValueError('Propagated reads features, and with kernel="precomputed" X has none; use graph="semi"')
        if self.map is not None and (isinstance(self.map, type) or not hasattr(self.map, "transform")):
            raise ValueError(f"map={self.map!r} must be an estimator that transforms, or None; a number is graph=")
        known = np.flatnonzero(codes >= 0)
        X, halves = data.host(data.X), []
        if self.map is not None and np.bincount(codes[known]).max() > 1:
            try:
                map_ = clone(self.map).fit(X[known], codes[known])
            except ValueError as error:
                raise ValueError(f"map={self.map!r} does not fit the {known.size} labelled rows: {error}") from error
            halves = [np.asarray(map_.transform(X))]
            if (scale := getattr(map_, "scale_", None)) is not None:
                X = X @ sparse.diags_array(1 / scale) if sparse.issparse(X) else X / scale
        halves = [half / (np.linalg.norm(as_data(half).deviations) or 1.0) for half in (X, *halves)]
        return as_data(sparse.hstack(halves) if sparse.issparse(X) else np.hstack(halves))

    def _relabelled(self, data: Data) -> Data:
        labels = getattr(self if hasattr(self, "labels_") else self.fitted(data), "labels_", np.empty(0))
        if labels.size != data.n:
            raise ValueError(f"labels have spread to {labels.size} rows, and X has {data.n}; use clone(graph)")
        return as_data(data.X, labels)

    def terms(self, data: Data) -> list[Term]:
        return SameClass().terms(self._relabelled(data))

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return SameClass().weights_at(self._relabelled(data), rows, cols)


def poisson_scores(W: sparse.csr_array, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """The scores of Poisson learning, about their mean in each piece of the graph, in units of their overall deviation.

    Classes without a label in the piece have minus infinity.
    """
    n, known = codes.size, np.flatnonzero(codes >= 0)
    Y = sparse.csr_array((np.ones(known.size), (known, codes[known])), shape=(n, n_classes)).toarray()
    n_pieces, piece = connected_components(W, directed=False)
    # Means over the labelled rows of each piece, and over all of its rows.
    pieces = sparse.csr_array((np.ones(n), (piece, np.arange(n))), shape=(n_pieces, n))
    counts = pieces @ Y
    labelled = counts.sum(axis=1)
    B = np.zeros_like(Y)
    B[known] = Y[known] - (counts / np.maximum(labelled, 1)[:, None])[piece[known]]
    degrees = W.sum(axis=1)
    A = sparse.csr_array(sparse.diags_array((1 + LEAK) * degrees + (degrees == 0)) - W)
    inverse = sparse.diags_array(1 / A.diagonal())
    U = np.column_stack([cg(A, b, rtol=TOLERANCE, maxiter=MOST_STEPS, M=inverse)[0] for b in B.T])
    U -= ((pieces @ U) / np.bincount(piece)[:, None])[piece]
    there = (counts > 0)[piece]
    spread = U[there].std()
    return np.where(there, U / (spread if spread > 0 else 1.0), -np.inf)


def class_offsets(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """What is added to the scores of each class, so that the largest scores give classes of these shares."""
    offsets = np.zeros(scores.shape[1])
    for step in range(SHARE_STEPS):
        found = np.bincount((scores + offsets).argmax(axis=1), minlength=offsets.size) / len(scores)
        offsets += 6 / (step + 10) * (shares - found)
    return offsets
