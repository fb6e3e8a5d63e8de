"""Scores: the map F takes one column of X at a time, so that a projection is a choice of columns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choice, check_count
from ..blocks import as_blocks, projected
from ..devices import host, is_tensor
from ..problem import Problem
from ..rows import Rows
from ..solvers import RankError
from ._base import Graphs
from ._places import checked, inside, shared_place
from ._streams import StreamingReducer

DIGITS = 12  # scores are compared by this many digits, so that rounding does not decide between features


class FeatureSelector(SelectorMixin, StreamingReducer):
    """Base of the scores: a score says what each feature is worth, and this class selects features by it.

    Subclasses write ``_problem(data, graphs)`` and ``_solve(F, data, problem, graphs)``, which returns the scores, and which
    features vary.

    Parameters
    ----------
    n_features_to_select
        As in :class:`lapwing.LaplacianScore`.

    Examples
    --------
    A score by the range of the features:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import Empty
    >>> from lapwing.problem import ORTHOGONAL, Problem
    >>> from lapwing.reducers import FeatureSelector
    >>> class Narrow(FeatureSelector):
    ...     "Selects the features of the smallest range."
    ...     def default_graph(self, n_neighbors):
    ...         return Empty()
    ...     def _problem(self, data, graphs):
    ...         return Problem(graphs.graph.terms(data), ORTHOGONAL)
    ...     def _solve(self, F, data, problem, graphs):
    ...         ranges = np.ptp(data.X, axis=0)
    ...         return ranges, ranges > 0
    >>> Narrow(2).fit(load_iris().data).get_support(indices=True)
    array([1, 3])
    """

    _largest: ClassVar[bool] = False  # whether large scores are the good ones
    _takes_blocks: ClassVar[bool] = True
    may_weigh: ClassVar[bool] = True
    _takes_tensors: ClassVar[bool] = True
    _samples_rows: ClassVar[bool] = True

    def __init__(self, n_features_to_select: int | None = None):
        self.n_features_to_select = n_features_to_select

    def _check_parameters(self) -> None:
        if self.n_features_to_select is not None:
            check_count("n_features_to_select", self.n_features_to_select)
        check_choice("normalize", getattr(self, "normalize", None), ("auto", None, "degree"))

    def _store(self, F: Any, data: Rows, problem: Problem, graphs: Graphs, solution: Any) -> None:
        super()._store(F, data, problem, graphs, solution)
        scores, varying = solution
        k = self._count(varying)
        best_first = np.lexsort((_rounded(-scores if self._largest else scores), ~varying))
        self.n_features_to_select_ = k
        self.support_ = np.isin(np.arange(scores.size), best_first[:k])
        self.scores_ = scores

    def transform(self, X: Any) -> Any:
        """The selected features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or whatever :meth:`fit` takes.

        Returns
        -------
        array of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        place, X = shared_place(self, X)
        if place is not None:
            model, X = inside(self, place), place.enter(X)
            return place.leave(
                checked(self, X, fitting=False)[:, model.support_] if is_tensor(X) else model.transform(X)
            )
        blocks = as_blocks(X, columns=getattr(self, "feature_names_in_", None))
        if blocks is None:
            return super().transform(X)
        chosen = np.flatnonzero(self.support_)
        return projected(self, blocks, lambda block: block[:, chosen], chosen.size)

    def _count(self, varying: np.ndarray) -> int:
        """``n_features_to_select`` as a number."""
        most = int(varying.sum())
        if most == 0:
            raise RankError(
                "X is constant: no feature varies, or so little that rounding hides it, so there is none to select"
            )
        if self.n_features_to_select is None:
            return min(max(1, varying.size // 2), most)
        if self.n_features_to_select > most:
            raise RankError(
                f"n_features_to_select={self.n_features_to_select} is more than the {most} of {varying.size} features that vary; "
                f"constant ones are never selected: use n_features_to_select={most} or less"
            )
        return int(self.n_features_to_select)

    def inverse_transform(self, X: Any) -> Any:
        """The selected features where they were, and 0 for the others.

        Parameters
        ----------
        X : array of shape (n_samples, n_selected)
            The selected features.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        place, X = shared_place(self, X)
        if place is None:
            return super().inverse_transform(X)
        X, support = place.enter(X), host(self.support_)
        if not is_tensor(X):
            return place.leave(inside(self, place).inverse_transform(X))
        if X.ndim != 2 or X.shape[1] != support.sum():
            raise ValueError(
                f"X has shape {tuple(X.shape)}, and {support.sum()} features were selected, one per column"
            )
        found = X.new_zeros((len(X), support.size))
        found[:, support] = X
        return found

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return host(self.support_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scores_")


def _rounded(scores: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(scores)
    return np.ldexp(np.round(mantissa, DIGITS), exponent)
