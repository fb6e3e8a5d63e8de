"""Scores: the map F takes one column of X at a time, so that a projection is a choice of columns."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from .. import auto
from .._arrays import is_foreign
from .._extras import verbosity
from .._validation import check_count
from ..data import KINDS, Data, validated
from ..problem import Problem
from ..solvers import RankError
from .base import Reducer, takes_tensors

DIGITS = 12  # scores are compared by this many digits, so that rounding does not decide between features


class FeatureSelector(SelectorMixin, Reducer):
    """Base of the scores: a score says what each feature is worth, and this class selects features by it.

    A method also writes ``_scores(data, problem)``, which returns the scores, and which features vary.

    Parameters
    ----------
    ... : As in :class:`lapwing.LaplacianScore`

    Examples
    --------
    A score by the range of the features:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import KNN
    >>> from lapwing.reducers import FeatureSelector
    >>> class Narrow(FeatureSelector):
    ...     default_graph = KNN
    ...     def _scores(self, data, problem):
    ...         ranges = np.ptp(data.X, axis=0)
    ...         return ranges, ranges > 0
    >>> Narrow(2).fit(load_iris().data).get_support(indices=True)
    array([1, 3])
    """

    n_features_to_select: int | None = None
    preset: str = "measured"
    verbose: bool | None = None

    _scores: ClassVar[Any]
    _largest: ClassVar[bool] = False  # whether large scores are the good ones
    _choices: ClassVar[dict[str, tuple]] = {"normalize": ("auto", None, "degree"), "constraint": ("degree", "identity")}
    _takes_tensors = _takes_weights = _takes_sums = _takes_blocks = True
    __metadata_request__fit: ClassVar[dict] = {"sample_weight": None}  # ``fit`` takes it where graphs are of classes

    def _map(self, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings) -> Data:
        return data

    def _solve(
        self, F: Data, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings
    ) -> tuple[np.ndarray, np.ndarray, int]:
        k = self.n_features_to_select
        k = k if k is None else check_count("n_features_to_select", k)
        scores, varying = self._scores(data, problem)
        most = int(varying.sum())
        if most == 0:
            raise RankError("X is constant: no feature varies, or so little that rounding hides it")
        if k is not None and k > most:
            raise RankError(
                f"n_features_to_select={k} is more than the {most} of {varying.size} features that vary; use "
                f"n_features_to_select={most} or less"
            )
        return scores, varying, min(max(1, varying.size // 2), most) if k is None else k

    def _store(self, data: Data, F: Data, problem: Problem, graphs: auto.GraphFacts, found: Any) -> None:
        scores, varying, k = found
        mantissa, exponent = np.frexp(-scores if self._largest else scores)
        best_first = np.lexsort((np.ldexp(np.round(mantissa, DIGITS), exponent), ~varying))
        self.n_features_to_select_ = self.settings_["n_features_to_select"] = k
        self.scores_ = scores
        self.support_ = np.isin(np.arange(scores.size), best_first[:k])
        del self.scale_  # columns are never divided

    @takes_tensors
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
        if type(X).__module__.partition(".")[0] not in KINDS:
            return super().transform(X)
        chosen = np.flatnonzero(self.support_)
        with verbosity(self.verbose):
            return validated(self, X, fitting=False, in_blocks=True).apply(lambda rows: rows.X[:, chosen], chosen.size)

    inverse_transform = takes_tensors(SelectorMixin.inverse_transform)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = self.support_
        return import_module("..device", __package__).host(mask) if is_foreign(mask) else mask
