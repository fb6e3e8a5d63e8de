"""The methods that are compared, and which of them are simpler than others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from .._arrays import Array
from .._extras import require
from .._labels import known_labels
from ..graphs import KNN, Repulsion, SameClass
from ..methods import LPP, MMC, OLPP, KernelLPP
from ..methods import METHODS as NAMED
from ..reducers import FreeReducer, KernelReducer, LinearReducer
from ..selection import reducer_of


def _shrinkage_lda() -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")


_LINEAR = {name: cls for name, cls in NAMED.items() if issubclass(cls, LinearReducer)}
_CURVED = {name: cls for name, cls in NAMED.items() if issubclass(cls, KernelReducer | FreeReducer)}
_ESTIMATORS: dict[str, Any] = {
    "PCA": PCA(svd_solver="full"),
    "TruncatedSVD": TruncatedSVD(random_state=0),
    "LDA": LinearDiscriminantAnalysis(),
    "shrinkage LDA": _shrinkage_lda(),
    **{name: cls() for name, cls in _LINEAR.items()},
    **{name: cls() for name, cls in _CURVED.items()},
    "LPP + classes": LPP(graph="supervised"),
    "LPP + spread labels": LPP(graph="propagate"),
    "LPP + repulsion": LPP(graph=KNN(5) + SameClass() - 0.5 * Repulsion(15)),
    "OLPP + repulsion": OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"),
    "NCA": NeighborhoodComponentsAnalysis(random_state=0, max_iter=30),
    "KernelLPP + classes": KernelLPP(graph="supervised"),
    "KernelLPP + spread labels": KernelLPP(graph="propagate"),
    "kernel PCA + LDA": make_pipeline(StandardScaler(), KernelPCA(100, kernel="rbf", random_state=0), _shrinkage_lda()),
}
#: The methods that :func:`compare` knows by name: all that have components and take rows of features, and some to hold them to.
#: Those that need labels are last. ``"UMAP"`` is known as well where umap-learn is installed.
METHODS = dict(sorted(_ESTIMATORS.items(), key=lambda item: get_tags(item[1]).target_tags.required))
UMAP = "UMAP"
TRIED_ON: dict[str, tuple[str, ...]] = {
    **{name: cls.about.compared_on for name, cls in _LINEAR.items()},
    "PCA": ("dense",),
    "TruncatedSVD": ("sparse",),
    **dict.fromkeys(["LDA", "shrinkage LDA", "LPP + classes", "MFA", "OLPP + repulsion", "NCA"], ("labelled",)),
    **dict.fromkeys(["KernelLPP + classes", "kernel PCA + LDA"], ("labelled",)),
    **dict.fromkeys(["LPP + spread labels", "KernelLPP + spread labels"], ("few labels",)),
    "OLPP": ("unlabelled",),
    "NPE": ("unlabelled", "sparse"),
    UMAP: ("dense",),
}
# Slow methods are tried by default up to these numbers of rows.
MOST_ROWS = {"NCA": 2_000, "kernel PCA + LDA": 2_500, UMAP: 5_000}
FEW_LABELS = 0.5  # where fewer labels are known than this share, methods are tried that spread them
LANDMARKS = 1_000  # on more than twice as many rows, a kernel method gets this many landmarks


def default_methods(X: Any, y: Any = None) -> dict[str, Any]:
    """The methods that :func:`compare` takes where none are named.

    With labels these are PCA and what did well on twenty data sets: LDA with and without shrinkage, LPP with and without
    classes, MMC, LPDP, MFA, OLPP with repulsion, NCA, and the kernel methods. Without labels, or for sparse X, they are those
    that apply. Slow ones are left out where there are many rows (:func:`left_out`).

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None
        Labels, -1 where unknown.

    Returns
    -------
    dict of name to estimator
    """
    slow = left_out(X, y)
    return {name: _known(name, X, y) for name in _suited(X, y) if name not in slow}


def left_out(X: Any, y: Any = None) -> dict[str, str]:
    """The methods that suit X but are not tried by default, and why: they are slow where there are many rows."""
    n = X.shape[0]
    return {
        name: f"slow on {n:,} rows (it is tried unasked up to {most:,})"
        for name, most in MOST_ROWS.items()
        if n > most and name in _suited(X, y)
    }


def _suited(X: Any, y: Any) -> list[str]:
    is_sparse = sparse.issparse(X)
    holds = {
        "dense": not is_sparse,
        "labelled": not is_sparse and y is not None,
        "few labels": not is_sparse and y is not None and known_labels(y).mean() < FEW_LABELS,
        "unlabelled": not is_sparse and y is None,
        "sparse": is_sparse,
        "counts": is_sparse and X.min() >= 0,
    }
    known = [name for name, own in METHODS.items() if y is not None or not get_tags(own).target_tags.required]
    known += [] if find_spec("umap") is None else [UMAP]
    return [name for name in known if any(holds[kind] for kind in TRIED_ON.get(name, ()))]


def _known(name: str, X: Array, y: Any) -> Any:
    if name == UMAP:
        return require("umap", "umap").UMAP(random_state=0, n_jobs=1)
    method = clone(METHODS[name])
    if name == "PCA" and X.shape[0] > X.shape[1]:
        # Its components are nested too, and it is many times faster than "full".
        method.set_params(svd_solver="covariance_eigh")
    if isinstance(method, KernelReducer) and X.shape[0] > 2 * LANDMARKS:
        method.set_params(landmarks=LANDMARKS, random_state=0)
    if y is not None and getattr(method, "graph", None) == "supervised" and not known_labels(y).all():
        method.set_params(graph="semi")  # rows without a label take part through their neighbours
    return method


def named_methods(names: Iterable[Any], X: Any, y: Any = None) -> dict[str, Any]:
    """The methods of these names of :data:`METHODS`, in upper or lower case, as they suit the data, by name."""
    known = {name.lower(): name for name in [*METHODS, UMAP]}
    keys = {name: str(name).lower() for name in names}
    unknown = [name for name, key in keys.items() if key not in known]
    if unknown:
        raise ValueError(f"methods={unknown!r} are not known; choose from {', '.join(METHODS)}, or pass estimators")
    return {known[key]: _known(known[key], X, y) for key in keys.values()}


def checked_methods(methods: Any, X: Array, labels: np.ndarray | None) -> dict[str, Any]:
    """``methods=``, as estimators by name."""
    if methods is None:
        return default_methods(X, labels)
    if isinstance(methods, str) or not np.iterable(methods):
        raise ValueError(f"methods={methods!r} must be a mapping of name to estimator, or a list of names")
    found = methods if isinstance(methods, Mapping) else named_methods(methods, X, labels)
    if not found:
        raise ValueError("methods is empty; name at least one, or leave it out")
    for name, estimator in found.items():
        if not (hasattr(estimator, "transform") and hasattr(reducer_of(estimator), "n_components")):
            raise ValueError(
                f"methods[{name!r}]={estimator!r} must have n_components (in its last step) and transform, for held-out rows"
            )
        if any(getattr(part, "reads_targets", False) for part in estimator.get_params().values()):
            raise ValueError(
                f"methods[{name!r}]={estimator!r} has a graph that reads y as numbers, and compare passes it as classes, whose "
                "numbers mean nothing; use GridSearchCV with a pipeline that ends in a regressor, or leave Target out"
            )
    return {str(name): clone(estimator) for name, estimator in found.items()}


def is_recommendable(estimator: Any) -> bool:
    """Whether a model of it can be kept in a file without pickle. That of UMAP cannot."""
    return not type(reducer_of(estimator)).__module__.startswith("umap")


def complexity(estimator: Any) -> tuple[bool, int]:
    """How complex a method is: whether its map is curved, so that it needs the training rows to place new ones; and a number.

    The number is 0 for principal components, 1 for scatters of classes, and 2 for all that have a graph or iterate.
    """
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    curved = any(isinstance(step, KernelReducer | FreeReducer | KernelPCA) for step in steps)
    reducer = reducer_of(estimator)
    scatters = isinstance(reducer, LinearDiscriminantAnalysis | MMC)
    number = 0 if isinstance(reducer, PCA | TruncatedSVD) else 1 if scatters else 2
    return curved or not is_recommendable(estimator), number
