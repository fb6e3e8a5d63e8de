"""A graph of classes that also uses the rows whose class is unknown: labels spread to them along neighbours."""

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

from .._validation import check_choice, check_count, class_codes
from ..data import Data, as_data
from ..neighbors import Request, search
from ..problem import Term
from .base import Graph, total_weights
from .classes import SameClass
from .neighbors import reach_of

SHARPNESS = 4.0  # the weight of a link to the k-th neighbour is exp(-4)
LEAK = 1e-4  # how much of its score a row loses per step, which makes the equations well posed
TOLERANCE, MOST_STEPS = 1e-6, 1000  # of the conjugate gradients
SHARE_STEPS = 60  # steps in which the shares of the classes are reached
LEAST_SHARE = 1e-3  # of a class that no row seems to belong to


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

    def why_all_rows(self) -> str | None:
        return "Propagated links all rows to their neighbours, and X is read in blocks; pass X as an array"

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
