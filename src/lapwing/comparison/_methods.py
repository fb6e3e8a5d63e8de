"""The methods that are compared, with which numbers of dimensions, and which of them are simpler than others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from .._validation import Array, check_count, known_labels
from ..data import as_data
from ..graphs import KNN, Propagated, Repulsion, SameClass, Target
from ..methods import LPP, MMC, OLPP, KernelLDA, KernelLPP
from ..methods import METHODS as NAMED
from ..reducers import FreeReducer, KernelReducer, LinearReducer, Reducer
from ..selection import reducer_of, takes_unknown_for_a_class

_SHRINKAGE_LDA = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
_LINEAR = {name: cls for name, cls in NAMED.items() if issubclass(cls, LinearReducer)}
_CURVED = {name: cls for name, cls in NAMED.items() if issubclass(cls, KernelReducer | FreeReducer)}
_ESTIMATORS: dict[str, Any] = {
    "PCA": PCA(svd_solver="full"),
    "TruncatedSVD": TruncatedSVD(random_state=0),
    "LDA": LinearDiscriminantAnalysis(),
    "shrinkage LDA": _SHRINKAGE_LDA,
    **{name: cls() for name, cls in _LINEAR.items()},
    **{name: cls() for name, cls in _CURVED.items()},
    "LPP + classes": LPP(graph="supervised"),
    "LPP + spread labels": LPP(graph="propagate"),
    "LPP + repulsion": LPP(graph=KNN(5) + SameClass() - 0.5 * Repulsion(15)),
    "LPP + targets": LPP(graph=Target(15)),
    "OLPP + repulsion": OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"),
    "NCA": NeighborhoodComponentsAnalysis(random_state=0, max_iter=30),
    "KernelLPP + classes": KernelLPP(graph="supervised"),
    "KernelLPP + spread labels": KernelLPP(graph="propagate"),
    "kernel PCA + LDA": make_pipeline(StandardScaler(), KernelPCA(100, kernel="rbf", random_state=0), _SHRINKAGE_LDA),
}
#: The methods that :func:`compare` knows by name: all that have components and take rows of features, and some to hold them to.
#: Those that need labels are last.
METHODS = dict(sorted(_ESTIMATORS.items(), key=lambda item: get_tags(item[1]).target_tags.required))
TRIED_ON: dict[str, tuple[str, ...]] = {
    **{name: cls.about.compared_on for name, cls in _LINEAR.items()},
    "PCA": ("dense",),
    "TruncatedSVD": ("sparse",),
    **dict.fromkeys(["LDA", "shrinkage LDA", "LPP + classes", "MFA", "OLPP + repulsion", "NCA"], ("labelled",)),
    **dict.fromkeys(["KernelLPP + classes", "kernel PCA + LDA"], ("labelled",)),
    **dict.fromkeys(["LPP + spread labels", "KernelLPP + spread labels"], ("few labels",)),
    "LPP + targets": ("targets",),
    "OLPP": ("unlabelled", "targets"),
    "NPE": ("unlabelled", "sparse"),
}
# Slow methods are tried by default up to these numbers of rows or columns.
# Shrinkage takes the eigenvectors of a matrix of all columns: 7 s there, 4 minutes at 10,000.
SLOW = {"NCA": (2_000, "rows"), "kernel PCA + LDA": (2_500, "rows"), "shrinkage LDA": (3_000, "columns")}
FEW_LABELS = 0.5  # where fewer labels are known than this share, methods are tried that spread them
LANDMARKS = 1_000  # on more than twice as many rows, a kernel method gets this many landmarks
GRID = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # what dimensions=None tries, up to the rank
CURVED = ("sklearn.manifold", "umap")  # modules of methods of others that need the training rows
SLOW_FITS = 3  # methods of others that need a fit per number of dimensions are tried with this many numbers


def default_methods(X: Any, y: Any = None) -> dict[str, Any]:
    """The methods that :func:`compare` takes where none are named: PCA, and what did well on twenty data sets.

    ``y`` are labels, -1 where unknown; or floats, which are numbers to predict.
    """
    slow = left_out(X, y)
    return named_methods([name for name in _suited(X, y) if name not in slow], X, y)


def left_out(X: Any, y: Any = None) -> dict[str, str]:
    """The methods that suit X but are not tried by default, and why: they are slow where there are many rows or columns."""
    sizes = dict(zip(("rows", "columns"), X.shape, strict=True))
    slow = {name: SLOW[name] for name in _suited(X, y) if name in SLOW}
    return {
        name: f"slow on {sizes[what]:,} {what} (it is tried unasked up to {most:,})"
        for name, (most, what) in slow.items()
        if sizes[what] > most
    }


def _suited(X: Any, y: Any) -> list[str]:
    targets = y is not None and np.asarray(y).dtype.kind == "f"
    labelled = y is not None and not targets
    if sparse.issparse(X):
        kinds = {"sparse"} | ({"counts"} if X.min() >= 0 else set())
    else:
        kinds = {"dense", "targets" if targets else "labelled" if labelled else "unlabelled"}
    kinds |= {"few labels"} if labelled and known_labels(y).mean() < FEW_LABELS else set()
    known = [name for name, own in METHODS.items() if labelled or not get_tags(own).target_tags.required]
    known += ["LPP + targets"] * targets
    return [name for name in dict.fromkeys(known) if kinds.intersection(TRIED_ON.get(name, ()))]


def named_methods(names: Iterable[str], X: Any, y: Any = None) -> dict[str, Any]:
    """The methods of these names of :data:`METHODS`, as they suit the data, by name."""
    if unknown := [name for name in names if name not in METHODS]:
        raise ValueError(f"methods={unknown!r} are not known; choose from {', '.join(METHODS)}, or pass estimators")
    found = {name: clone(METHODS[name]) for name in names}
    for method in found.values():
        if isinstance(method, PCA) and X.shape[0] > X.shape[1]:
            method.set_params(svd_solver="covariance_eigh")  # many times faster than "full" there
        if isinstance(method, KernelReducer) and X.shape[0] > 2 * LANDMARKS:
            method.set_params(landmarks=LANDMARKS, random_state=0)
        if getattr(method, "graph", None) == "supervised" and y is not None and not known_labels(y).all():
            method.set_params(graph="semi")  # rows without a label take part through their neighbours
    return found


def checked_methods(methods: Any, X: Array, y: np.ndarray | None) -> dict[str, Any]:
    """``methods=``, as estimators by name, where y are codes of classes, or floats, which are numbers to predict."""
    if methods is None:
        return default_methods(X, y)
    if isinstance(methods, str) or not np.iterable(methods) or not list(methods):
        raise ValueError(f"methods={methods!r} must be a mapping of name to estimator, or a list of names")
    found = methods if isinstance(methods, Mapping) else named_methods(methods, X, y)
    for name, estimator in found.items():
        wrong = None
        if not (hasattr(estimator, "transform") and hasattr(reducer_of(estimator), "n_components")):
            wrong = "must have n_components (in its last step) and transform, for held-out rows"
        elif (
            y is not None
            and y.dtype.kind != "f"
            and any(getattr(part, "reads_targets", False) for part in estimator.get_params().values())
        ):
            wrong = 'reads y as numbers, and here y names classes; use scoring="r2" for numbers, or leave Target out'
        if wrong:
            raise ValueError(f"methods[{name!r}]={estimator!r} {wrong}")
    return {str(name): clone(estimator) for name, estimator in found.items()}


class Candidate(NamedTuple):
    """A method with its numbers of dimensions."""

    estimator: Any
    dimensions: tuple[int, ...]

    def at(self, dimension: int) -> Any:
        """The unfitted estimator with so many dimensions."""
        model = clone(self.estimator)
        reducer_of(model).set_params(n_components=dimension)
        return model

    def fitted(self, dimensions: Sequence[int], X: Array, y: np.ndarray | None) -> dict[int, Any]:
        """For each number of dimensions, in increasing order, a model whose first coordinates are those of that number.

        Where those of the last model begin as the coordinates of the first and of the next to last do, it serves all between.
        """
        if y is not None and y.dtype.kind != "f" and takes_unknown_for_a_class(self.estimator):
            X, y = X[y >= 0], y[y >= 0]
        # These rows keep their neighbours for the next fit. A ``fit`` of one's own may do something to X before.
        keeps = isinstance(self.estimator, LinearReducer) and type(self.estimator).fit is Reducer.fit
        rows = (as_data(X, y),) if keeps else (X, y)
        models = {d: self.at(d).fit(*rows) for d in dict.fromkeys([*dimensions[:-3:-1], dimensions[0]])}
        most, between = models[dimensions[-1]], [d for d in dimensions if d not in models]
        if between and all(_begins_as(own, most, X) for own in models.values()):
            return models | dict.fromkeys(between, most)
        return models | {d: self.at(d).fit(*rows) for d in between}


def _begins_as(few: Any, many: Any, X: Array) -> bool:
    """Whether the coordinates of rows by one model are the first ones by another."""
    first, all_ = np.asarray(few.transform(X)), np.asarray(many.transform(X))[:, : reducer_of(few).n_components]
    return first.shape == all_.shape and np.allclose(first, all_, rtol=0, atol=1e-6 * np.abs(all_).max())


def candidate(estimator: Any, dimensions: Any, rank: int, n_classes: int | None) -> Candidate:
    """A method with the numbers of dimensions that it is tried with, where the training rows allow ``rank`` of them."""
    reducer, wanted = reducer_of(estimator), _checked_dimensions(dimensions, rank)
    most = min(rank, n_classes - 1) if n_classes and _counts_classes(reducer) else rank
    tried = [d for d in wanted if d <= most]
    if most < wanted[-1] and most not in wanted:
        tried.append(most)
    is_slow = not isinstance(reducer, Reducer | PCA | LinearDiscriminantAnalysis)
    if dimensions is None and len(tried) > SLOW_FITS and is_slow:
        tried = [tried[i] for i in np.unique(np.linspace(1, len(tried) - 2, SLOW_FITS).round().astype(int))]
    return Candidate(estimator, tuple(tried))


def _counts_classes(reducer: Any) -> bool:
    """Whether classes alone determine what it finds, so that there are no more directions than classes minus one."""
    graph = getattr(reducer, "graph", None)
    by_classes = isinstance(graph, SameClass | Propagated | str) and graph != "semi"
    constrained = hasattr(reducer, "ridge") and getattr(reducer, "penalty", None) is None
    return isinstance(reducer, LinearDiscriminantAnalysis | KernelLDA) or (by_classes and constrained)


def _checked_dimensions(dimensions: Any, most: int) -> list[int]:
    if dimensions is None:
        below = [d for d in GRID if d < most]
        # Nearly all dimensions may be enough.
        between = [(below[-1] + most + 1) // 2] if below and most - below[-1] > 2 else []
        return below + ([*between, most] if most <= GRID[-1] else [])
    found = [check_count("dimensions", d) for d in np.atleast_1d(np.asarray(dimensions, dtype=object))]
    if not found or found != sorted(set(found)) or found[-1] > most:
        rank = f"{most}, the rank of the smallest training fold"
        raise ValueError(f"dimensions={dimensions!r} must be increasing whole numbers, one or more, up to {rank}")
    return found


def complexity(estimator: Any) -> tuple[bool, int]:
    """Whether the map is curved, so that it needs the training rows to place new ones; and a number that orders methods.

    The number is 0 for principal components, 1 for scatters of classes, and 2 for all that have a graph or iterate.
    """
    steps = list(dict(estimator.steps).values()) if isinstance(estimator, Pipeline) else [estimator]
    curved = any(isinstance(step, KernelReducer | FreeReducer | KernelPCA) for step in steps)
    curved |= any(type(step).__module__.startswith(CURVED) for step in steps)
    kinds = (PCA | TruncatedSVD, LinearDiscriminantAnalysis | MMC, object)
    number = [isinstance(steps[-1], kind) for kind in kinds].index(True)
    return curved, number
