"""What is compared: the methods, the numbers of dimensions, and the pre-projection of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from .._validation import check_count
from ..graphs import KNN, Repulsion, SameClass
from ..maps import as_map
from ..methods import LPP
from ..methods import METHODS as NAMED
from ..operators import Array
from ..reducers import LinearReducer
from ..rows import Rows
from ..selection import reducer_of, why_not_nested

GRID = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # dimensions=None, as far as the rank goes
SHOWN = (2, 3)  # dimensions of the pictures


def _needs_labels(estimator: Any) -> bool:
    return get_tags(estimator).target_tags.required


_LINEAR = {name: cls for name, cls in NAMED.items() if issubclass(cls, LinearReducer)}
_ESTIMATORS: dict[str, Any] = {
    "PCA": PCA(svd_solver="full"),
    "TruncatedSVD": TruncatedSVD(random_state=0),
    "LDA": LinearDiscriminantAnalysis(),
    **{name: cls() for name, cls in _LINEAR.items()},
    "LPP + repulsion": LPP(graph=KNN(5) + SameClass() - 0.5 * Repulsion(15)),
}
#: The methods that :func:`compare` knows by name: all linear ones, and some to hold them to. Those that need labels are last.
METHODS = dict(sorted(_ESTIMATORS.items(), key=lambda item: _needs_labels(item[1])))
TRIED_ON = {"PCA": ("dense",), "TruncatedSVD": ("sparse",), "LDA": ("dense",), "LPP + repulsion": ("dense",)} | {
    name: cls.about.compared_on for name, cls in _LINEAR.items()
}


def default_methods(X: Any, y: Any = None) -> dict[str, Any]:
    """The methods that :func:`compare` takes where none are named: eight with labels, five without, six for sparse X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None

    Returns
    -------
    dict of name to estimator
    """
    is_sparse = sparse.issparse(X)
    holds = {
        "dense": not is_sparse,
        "unlabelled": not is_sparse and y is None,
        "sparse": is_sparse,
        "counts": is_sparse and X.min() >= 0,
    }
    usable = [name for name, method in METHODS.items() if y is not None or not _needs_labels(method)]
    return {name: _known(name, X) for name in usable if any(holds[kind] for kind in TRIED_ON[name])}


def _known(name: str, X: Array) -> Any:
    method = clone(METHODS[name])
    if name == "PCA" and X.shape[0] > X.shape[1]:
        method.set_params(svd_solver="covariance_eigh")  # as nested as "full", and many times faster
    return method


def checked_methods(methods: Any, X: Array, labels: np.ndarray | None) -> dict[str, Any]:
    """``methods=``, as estimators by name."""
    if methods is None:
        return default_methods(X, labels)
    if isinstance(methods, str) or not np.iterable(methods):
        raise ValueError(f"methods={methods!r} must be a mapping of name to estimator, or a list of names")
    found = methods if isinstance(methods, Mapping) else _named(methods, X)
    if not found:
        raise ValueError("methods is empty; name at least one, or leave it out")
    for name, estimator in found.items():
        if not (hasattr(estimator, "transform") and hasattr(reducer_of(estimator), "n_components")):
            raise ValueError(
                f"methods[{name!r}]={estimator!r} must have n_components (in its last step) and transform, for held-out rows"
            )
    return {str(name): clone(estimator) for name, estimator in found.items()}


def _named(methods: Iterable[Any], X: Array) -> dict[str, Any]:
    names = {name.lower(): name for name in METHODS}
    keys = {name: str(name).lower() for name in methods}
    unknown = [name for name, key in keys.items() if key not in names]
    if unknown:
        raise ValueError(f"methods={unknown!r} are not known; choose from {', '.join(METHODS)}, or pass estimators")
    return {names[key]: _known(names[key], X) for key in keys.values()}


class Plan(NamedTuple):
    """A method with everything settled: which dimensions, and for each of them which pre-projection."""

    estimator: Any
    dimensions: tuple[int, ...]
    most: int  # dimensions it can have
    directions: dict[int, int | None]  # pca= for each dimension, where it is settled

    def at(self, dimension: int) -> Any:
        """The unfitted estimator of so many dimensions."""
        model = clone(self.estimator)
        reducer_of(model).set_params(n_components=dimension)
        return model.set_params(pca=self.directions[dimension]) if dimension in self.directions else model

    def groups(self, dimensions: Iterable[int]) -> list[list[int]]:
        """Dimensions that one fit serves, that of the last of them."""
        if why_not_nested(reducer_of(self.at(self.dimensions[0]))):
            return [[d] for d in dimensions]
        by_pca: dict[Any, list[int]] = {}
        for d in dimensions:
            by_pca.setdefault(self.directions.get(d), []).append(d)
        return list(by_pca.values())

    @property
    def shown(self) -> list[int]:
        """Dimensions of its pictures."""
        return [d for d in SHOWN if d <= self.most] or [1]


def planned(
    estimators: dict[str, Any], dimensions: Any, X: Array, labels: np.ndarray | None, splits: list
) -> dict[str, Plan]:
    with threadpool_limits(1):  # as the folds: small matrices, and the same bits whatever the machine
        room = _room(X, splits)
    wanted = _checked_dimensions(dimensions, room.most)
    data = Rows(X, labels)
    return {name: _plan(estimator, wanted, data, room) for name, estimator in estimators.items()}


class _Room(NamedTuple):
    """How many dimensions every training fold has, and what ``pca="auto"`` looks at."""

    most: int
    spectrum: tuple[np.ndarray, float] | None  # None where X is too large for it
    is_settled: bool  # whether all folds take the same way as X


def _plan(estimator: Any, wanted: list[int], data: Rows, room: _Room) -> Plan:
    most = room.most
    if isinstance(reducer_of(estimator), LinearDiscriminantAnalysis) and data.y is not None:
        most = min(most, int(data.y.max()))  # one less than classes
    dimensions = [d for d in wanted if d <= most]
    if most < wanted[-1] and most not in wanted:
        dimensions.append(most)
    directions = {}
    automatic = isinstance(estimator, LinearReducer) and isinstance(getattr(estimator, "pca", None), str)
    if automatic and room.is_settled:
        directions = _settled(estimator, [d for d in {*dimensions, *SHOWN} if d <= most], data, room)
    return Plan(estimator, tuple(dimensions), most, directions)


def _settled(estimator: Any, dimensions: list[int], data: Rows, room: _Room) -> dict[int, int | None]:
    try:
        return {d: _directions(estimator, d, data, room) for d in dimensions}
    except ValueError:  # such as a method that needs labels: the folds will say so, and go on with the others
        return {}


def _directions(estimator: Any, d: int, data: Rows, room: _Room) -> int | None:
    preprojection = clone(estimator).set_params(n_components=d).preprojection(data)
    return preprojection.share if room.spectrum is None else min(preprojection.count(*room.spectrum), room.most)


def _checked_dimensions(dimensions: Any, most: int) -> list[int]:
    if dimensions is None:
        return [d for d in GRID if d < most] + ([most] if most <= GRID[-1] else [])
    found = [check_count("dimensions", d) for d in np.atleast_1d(np.asarray(dimensions, dtype=object))]
    if not found or any(b <= a for a, b in pairwise(found)):
        raise ValueError(f"dimensions={dimensions!r} must be increasing whole numbers, one or more")
    if found[-1] > most:
        raise ValueError(
            f"dimensions={dimensions!r} go beyond {most}, the rank of the smallest training fold; use at most {most}"
        )
    return found


def _room(X: Array, splits: list) -> _Room:
    if as_map(X).is_large:
        least = min(len(train) for train, _ in splits)
        return _Room(min(least, X.shape[1]) - 2, None, as_map(X[:least]).is_large)
    ranks = [as_map(X[train]).spectrum[0].size for train, _ in splits]
    if 0 in ranks:
        raise ValueError(
            f"the training rows of fold {ranks.index(0) + 1} are all equal, or so nearly that rounding hides it, so there is no "
            "direction to find; use other folds (cv=), shuffled ones, or data that vary"
        )
    return _Room(min(ranks), as_map(X).spectrum, True)
