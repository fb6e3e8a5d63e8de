"""``partial_fit``: rows that come one batch after the other, where graphs read nothing but their sums."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from .._validation import check_in_memory, check_squares
from ..blocks import working_memory
from ..devices import is_foreign
from ..maps import ClassMoments
from ..neighbors import ClassRows
from ..problem import ORTHOGONAL
from ..rows import coded_labels
from ..solvers import RankError
from ._base import DTYPES, Reducer
from ._graphs import outside
from ._weights import checked_weights, labels_of


class StreamingReducer(Reducer):
    """Base of the maps that can learn from one batch of rows after the other: the linear map, and the scores."""

    @available_if(lambda estimator: estimator.why_unweighted() is None)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from more rows: the model is that of :meth:`fit` on all rows so far.

        It is exact. It is there only where all graphs are of classes alone (``SameClass()``, ``OtherClass()``,
        ``Complete()``). No row is kept, only the number, the mean and the scatter of the rows of each class, as ``moments_``.
        Batches may be of any size, classes may appear at any time, and a model that was saved goes on where it was.
        :meth:`fit` forgets all of it.

        Where the rows so far are not enough, for example because they are of one class or fewer than ``n_components``, a
        warning says so, and the model cannot transform until more rows come.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A batch of samples.
        y : array-like of shape (n_samples,), default=None
            Their class labels, -1 where unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            How many samples each row stands for.

        Returns
        -------
        self
        """
        before = dict(vars(self))
        try:
            self._add(X, y, sample_weight)
        except BaseException:
            self.__dict__ = before  # the estimator is as it was before the batch
            raise
        return self

    def _add(self, X: Any, y: Any, sample_weight: Any) -> None:
        if is_foreign(X):
            raise TypeError(
                "partial_fit takes NumPy and SciPy arrays, and X is another library's; use fit, or convert X"
            )
        check_in_memory(X, "a batch of partial_fit")
        so_far = getattr(self, "moments_", None)
        self._check_parameters()
        accept = "csr" if self._takes_sparse else False
        X = validate_data(self, X, accept_sparse=accept, dtype=DTYPES, reset=so_far is None)
        check_squares(X)
        kept = {name: value for name, value in vars(self).items() if name in ("n_features_in_", "feature_names_in_")}
        graphs = self._graphs(X.shape[0])
        labelled = self._is_labelled(graphs)
        kept["moments_"] = self._summed(so_far, X, y if labelled else None, labelled, sample_weight)
        moments, _ = _read(kept["moments_"])
        kept["n_samples_seen_"] = float(moments.counts.sum())
        self._forget()
        try:
            if labelled and np.count_nonzero(moments.counts[:-1]) < 2:
                raise RankError("y has one class only so far (-1 is none: it marks unknown labels)")
            rows = ClassRows(moments, labelled, np.dtype(kept["moments_"]["dtype"]), self._units(graphs))
            self.fit(rows)
        except RankError as error:
            self._forget()
            warnings.warn(
                f"{type(self).__name__} is not fitted yet: {error}. It will be when more rows come to partial_fit",
                UserWarning,
                stacklevel=outside(),
            )
        self.__dict__ |= kept

    def _summed(self, so_far: dict | None, X: Any, y: Any, labelled: bool, sample_weight: Any) -> dict[str, Any]:
        """What is kept of the rows so far and of this batch: arrays by name, which a model file holds."""
        n, d = X.shape
        weights = np.ones(n) if sample_weight is None else checked_weights(sample_weight, n)
        if not weights.all():
            there = np.flatnonzero(weights)
            X, y, weights = X[there], labels_of(y, there, n), weights[there]
        by_class = labelled and _weighs_classes(self)
        if so_far is None:
            moments, names = ClassMoments.none(d, by_class), np.empty(0, dtype=np.intp)
        else:
            moments, names = _read(so_far)
            if by_class and not so_far["by_class"]:
                raise ValueError(
                    "the graph was changed to one that weighs classes, and so far the scatter of all classes together was kept; "
                    "use clone(estimator), and partial_fit from the first batch on"
                )
            by_class = so_far["by_class"]
        codes, names = coded_labels(y, weights.size, names) if labelled else (np.full(weights.size, -1), names)
        _require_room(d, names.size + 1 if by_class else 2)
        moments = moments.grown(names.size, by_class)
        moments.add(X, codes, weights)
        dtype = X.dtype if so_far is None else np.result_type(X.dtype, so_far["dtype"])
        return {"labels": names, "by_class": by_class, "dtype": dtype.name} | vars(moments)


def _read(kept: dict[str, Any]) -> tuple[ClassMoments, np.ndarray]:
    """The moments and the labels that :meth:`StreamingReducer._summed` has kept."""
    parts = ("counts", "means", "scatters", "stored")
    return ClassMoments(*(kept[name] for name in parts)), kept["labels"]


def _weighs_classes(estimator: Any) -> bool:
    """Whether the problem weighs rows of different classes differently, tried on five rows of two classes."""
    few = clone(estimator).set_params(**_plain(estimator))
    with warnings.catch_warnings(action="ignore"):
        problem = few.problem(np.eye(5, 3), np.array([0, 0, 1, 1, 1]))
    constraint = [] if problem.subject_to is ORTHOGONAL else [problem.subject_to]
    matrices = [term.laplacian for term in problem.minimise] + constraint
    return any(M.diag is not None and np.ptp(M.diag) > 0 for M in matrices)


def _plain(estimator: Any) -> dict[str, Any]:
    """The parameters to change so that five rows are enough for a fit."""
    return {"standardize": False} if "standardize" in estimator.get_params(deep=False) else {}


def _require_room(n_features: int, n_matrices: int) -> None:
    size = 3 * n_matrices * n_features**2 * 8  # the sums so far, the next sums, and their form
    if size > max(working_memory(), 1 << 30):
        raise ValueError(
            f"partial_fit keeps {n_matrices} matrices of {n_features} x {n_features} products, which takes "
            f"{size / 2**20:,.0f} MiB with what is computed from them, more than scikit-learn's working_memory; reduce the "
            f"features first, or use sklearn.set_config(working_memory={int(1.1 * size / 2**20) + 1})"
        )
