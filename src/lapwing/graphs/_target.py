"""The graph of neighbours in y, for targets that are numbers, grades or sets of labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._validation import check_choice, check_count
from ..devices import host, is_foreign
from ..neighbors import Search, find
from ..rows import Rows
from ._repeated import OfValues, Repeated
from ._weights import SYMMETRY, Heat, edge_weights, symmetric


class Target(OfValues):
    r"""Links rows of similar targets: for regression, for grades that have an order, and for several labels per row.

    Rows are linked where their targets are equal, or where one target is among the k values of y nearest to the other, with
    weight

    .. math:: W_{ij} = \exp(-\|y_i - y_j\|^2 / t) .

    The target may be one column of numbers, or a matrix of several numbers per row, which should be scaled first, since
    distances are Euclidean. It may also be a matrix of 0 and 1 that marks the labels of each row; its weights are the cosines
    of label sets, :math:`|A \cap B| / \sqrt{|A| |B|}`. A target of NaN, or a row without labels, is unknown, and takes no
    part; -1 is a number like others.

    Neighbours are counted among the distinct values, so that grades from 1 to 5 are linked to the next grades however many
    rows have each grade. Where no two targets are equal, they are the k nearest rows. Links among many rows of equal target
    are kept as factors, so that memory grows with the number of rows, and not with its square.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many of the nearest other values of y each value is linked to, k; all of them where there are fewer.
    weights : {"auto", "heat", "binary", "cosine"} or callable, default="auto"
        How much a link counts. ``"binary"`` is 1, ``"heat"`` is the formula above, and ``"cosine"`` is the cosine of the
        targets. ``"auto"`` is ``"heat"``, and ``"cosine"`` for label sets. A callable maps an array of distances to weights.
    t : float, "auto" or "half-median", default="auto"
        The width of heat weights: the larger t is, the more equal the weights are. ``"auto"`` is the mean squared distance from
        values to their k nearest, and ``"half-median"`` is half the square of the median distance among 1,000 rows.
    metric : str or callable, default="auto"
        As in :class:`KNN`. The distances are those between targets. ``"auto"`` is ``"euclidean"``, and ``"cosine"`` for label
        sets.
    symmetry : {"or", "and", "mean"}, default="or"
        What becomes of a link that only one of its two values has. ``"or"`` keeps it, ``"and"`` drops it, and ``"mean"`` halves
        its weight.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, Target
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LPP(2, graph=Target(15)).fit_transform(X, y).shape
    (442, 2)
    >>> y[::2] = float("nan")  # half of them unknown: the features say who is near as well
    >>> LPP(2, graph=KNN(7) + Target(15)).fit_transform(X, y).shape
    (442, 2)
    """

    reads_labels, reads_targets, reads_features = True, True, False

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[..., ArrayLike] = "auto",
        t: float | str = "auto",
        metric: str | Callable[..., float] = "auto",
        symmetry: str = "or",
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.t = t
        self.metric = metric
        self.symmetry = symmetry

    def _repeated(self, data: Rows) -> Repeated:
        check_choice("symmetry", self.symmetry, SYMMETRY)
        Y, known, are_sets = targets(data.y, data.n)
        distinct, values = np.unique(Y[known], axis=0, return_inverse=True)
        m = len(distinct)
        if m < 2:
            raise ValueError(
                f"y has {'no known target' if m == 0 else 'one target only'}, so there is nothing to tell apart; Target needs "
                "two different ones or more"
            )
        if not callable(self.weights):
            check_choice("weights", self.weights, ("auto", "heat", "binary", "cosine"))
        weights, metric = (
            usual[are_sets] if isinstance(given, str) and given == "auto" else given
            for given, usual in ((self.weights, ("heat", "cosine")), (self.metric, ("euclidean", "cosine")))
        )
        rows = Rows(distinct)
        edges = find(rows, Search(min(check_count("n_neighbors", self.n_neighbors), m - 1), metric))
        M = symmetric(edges, edge_weights(weights, rows, edges, Heat(self.t, metric, exact=True)), m, self.symmetry)
        equal = float(np.asarray(weights(np.zeros(1)))[0]) if callable(weights) else 1.0
        M = sparse.csr_array(M + sparse.diags_array(np.full(m, equal)))
        M.eliminate_zeros()
        place = np.full(data.n, -1)
        place[known] = values.ravel()
        return Repeated(M, place)


def targets(y: Any, n: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Targets as a matrix of numbers, which of its rows are known, and whether the rows are sets of labels."""
    if y is None:
        raise ValueError(
            "the graph Target requires y to be passed, but the target y is None; pass one number per sample, or a row of them, "
            "NaN where unknown"
        )
    y = host(y) if is_foreign(y) else y
    if getattr(getattr(y, "dtype", None), "ordered", False):  # ordered categories of pandas
        codes = np.asarray(getattr(y, "cat", y).codes)
        y = np.where(codes < 0, np.nan, codes)
    try:
        Y = np.asarray(y.toarray() if sparse.issparse(y) else y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Target reads y as numbers, and it holds something else ({error}); encode grades in their order, as OrdinalEncoder "
            "does, or use SameClass for classes without one"
        ) from error
    if Y.ndim not in (1, 2) or len(Y) != n:
        raise ValueError(
            f"y has shape {Y.shape}, but X has {n} samples; pass one target, or one row of targets, per sample"
        )
    if np.isinf(Y).any():
        raise ValueError("y contains infinity; mark unknown targets by NaN")
    Y = Y.reshape(n, -1)
    known = np.asarray(~np.isnan(Y).any(axis=1))
    are_sets = Y.shape[1] > 1 and bool(np.isin(Y[known], (0, 1)).all())
    if are_sets:
        known &= Y.any(axis=1)
    return Y, known, are_sets
