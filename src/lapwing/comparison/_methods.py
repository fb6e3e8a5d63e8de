"""The methods that are compared, with which numbers of dimensions, and which of them are simpler than others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
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

from .._extras import require
from .._validation import Array, check_count, known_labels
from ..data import as_data
from ..graphs import KNN, Propagated, Repulsion, SameClass, TangentAlignment, Target
from ..methods import LPI, LPP, MMC, OLPP, KernelLDA, KernelLPP
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
    "LPP + targets": ("targets",),
    "OLPP": ("unlabelled", "targets"),
    "NPE": ("unlabelled", "sparse"),
    UMAP: ("dense",),
}
# Slow methods are tried by default up to these numbers of rows and of columns.
MOST_ROWS = {"NCA": 2_000, "kernel PCA + LDA": 2_500, UMAP: 5_000}
# It takes the eigenvectors of a matrix of all columns: 7 s there, 4 minutes at 10,000.
MOST_COLUMNS = {"shrinkage LDA": 3_000}
FEW_LABELS = 0.5  # where fewer labels are known than this share, methods are tried that spread them
LANDMARKS = 1_000  # on more than twice as many rows, a kernel method gets this many landmarks
GRID = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # what dimensions=None tries, up to the rank
SLOW_FITS = 3  # methods of others that need a fit per number of dimensions are tried with this many numbers


def default_methods(X: Any, y: Any = None) -> dict[str, Any]:
    """The methods that :func:`compare` takes where none are named: PCA, and what did well on twenty data sets.

    ``y`` are labels, -1 where unknown; or floats, which are numbers to predict.
    """
    slow = left_out(X, y)
    return {name: _known(name, X, y) for name in _suited(X, y) if name not in slow}


def left_out(X: Any, y: Any = None) -> dict[str, str]:
    """The methods that suit X but are not tried by default, and why: they are slow where there are many rows or columns."""
    limits = zip(X.shape, ("rows", "columns"), (MOST_ROWS, MOST_COLUMNS), strict=True)
    return {
        name: f"slow on {size:,} {what} (it is tried unasked up to {most[name]:,})"
        for size, what, most in limits
        for name in _suited(X, y)
        if size > most.get(name, size)
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
    known += ["LPP + targets"] * targets + [UMAP] * (find_spec("umap") is not None)
    return [name for name in dict.fromkeys(known) if kinds.intersection(TRIED_ON.get(name, ()))]


def _known(name: str, X: Array, y: Any) -> Any:
    if name == UMAP:
        return require("umap", "umap").UMAP(random_state=0, n_jobs=1)
    method = clone(METHODS[name])
    if name == "PCA" and X.shape[0] > X.shape[1]:
        # Its components are nested too, and it is many times faster than "full".
        method.set_params(svd_solver="covariance_eigh")
    if isinstance(method, KernelReducer) and X.shape[0] > 2 * LANDMARKS:
        method.set_params(landmarks=LANDMARKS, random_state=0)
    if getattr(method, "graph", None) == "supervised" and y is not None and not known_labels(y).all():
        method.set_params(graph="semi")  # rows without a label take part through their neighbours
    return method


def named_methods(names: Iterable[Any], X: Any, y: Any = None) -> dict[str, Any]:
    """The methods of these names of :data:`METHODS`, in upper or lower case, as they suit the data, by name."""
    known = {name.lower(): name for name in [*METHODS, UMAP]}
    if unknown := [name for name in names if str(name).lower() not in known]:
        raise ValueError(f"methods={unknown!r} are not known; choose from {', '.join(METHODS)}, or pass estimators")
    return {name: _known(name, X, y) for name in (known[str(name).lower()] for name in names)}


def checked_methods(methods: Any, X: Array, y: np.ndarray | None) -> dict[str, Any]:
    """``methods=``, as estimators by name, where y are codes of classes, or floats, which are numbers to predict."""
    if methods is None:
        return default_methods(X, y)
    if isinstance(methods, str) or not np.iterable(methods) or not list(methods):
        raise ValueError(f"methods={methods!r} must be a mapping of name to estimator, or a list of names")
    found = methods if isinstance(methods, Mapping) else named_methods(methods, X, y)
    for name, estimator in found.items():
        if not (hasattr(estimator, "transform") and hasattr(reducer_of(estimator), "n_components")):
            raise ValueError(
                f"methods[{name!r}]={estimator!r} must have n_components (in its last step) and transform, for held-out rows"
            )
        reads_targets = any(getattr(part, "reads_targets", False) for part in estimator.get_params().values())
        if reads_targets and y is not None and y.dtype.kind != "f":
            raise ValueError(
                f"methods[{name!r}]={estimator!r} reads y as numbers, and here y names classes; "
                'use scoring="r2" if y holds numbers, or leave Target out'
            )
    return {str(name): clone(estimator) for name, estimator in found.items()}


class Candidate(NamedTuple):
    """A method with its numbers of dimensions."""

    estimator: Any
    dimensions: tuple[int, ...]
    most: int  # the largest number of dimensions that it can have
    are_asked: bool  # for by the caller, who is told then if some cannot be had

    def at(self, dimension: int) -> Any:
        """The unfitted estimator with so many dimensions."""
        model = clone(self.estimator)
        reducer_of(model).set_params(n_components=dimension)
        return model

    def fitted(self, dimensions: Iterable[int], X: Array, y: np.ndarray | None) -> dict[int, Any]:
        """For each number of dimensions, a model whose first coordinates are those of that number; few fits serve many."""
        if y is not None and y.dtype.kind != "f" and takes_unknown_for_a_class(self.estimator):
            X, y = X[y >= 0], y[y >= 0]
        # These rows keep their neighbours for the next fit. A ``fit`` of one's own may do something to X before.
        keeps = isinstance(self.estimator, LinearReducer) and type(self.estimator).fit is Reducer.fit
        rows = (as_data(X, y),) if keeps else (X, y)
        dimensions, models = sorted(set(dimensions)), dict[int, Any]()

        def fitted(d: int) -> Any:
            if d not in models:
                models[d] = self.at(d).fit(*rows)
            return models[d]

        def share(low: int, high: int) -> None:
            """Where ``pca="auto"`` keeps as many principal directions for few components, a fit serves all between."""
            above, below = fitted(dimensions[high]), fitted(dimensions[low])
            if reducer_of(below).n_pca_ == reducer_of(above).n_pca_:
                models.update(dict.fromkeys(dimensions[low:high], above))
            elif high - low > 1:
                share((low + high) // 2, high)
                share(low, (low + high) // 2)

        reducer = reducer_of(self.estimator)
        if not is_nested_but_for_pca(reducer):
            return {d: fitted(dimensions[-1] if is_nested(reducer) else d) for d in dimensions}
        share(0, len(dimensions) - 1)
        return models


def is_nested(reducer: Any) -> bool:
    """Whether the first components of a fit do not depend on how many there are.

    They do where fits draw other landmarks, and where LPI regresses on graph eigenvectors of equal eigenvalues.
    """
    parameters = reducer.get_params(deep=True)
    tangents = [value.n_components for value in parameters.values() if isinstance(value, TangentAlignment)]
    if isinstance(parameters.get("pca"), str) or None in tangents:
        return False
    drawn = reducer if parameters.get("landmarks") is not None else parameters.get("features")
    known = isinstance(reducer, LinearDiscriminantAnalysis | LinearReducer | KernelReducer)
    known |= isinstance(reducer, PCA) and reducer.svd_solver in ("full", "covariance_eigh")
    is_drawn_anew = isinstance(reducer, LPI) or getattr(drawn, "random_state", 0) is None
    return getattr(reducer, "is_nested", known and not is_drawn_anew)


def is_nested_but_for_pca(reducer: Any) -> bool:
    """Whether the first components depend on how many there are only because of ``pca="auto"``."""
    return isinstance(getattr(reducer, "pca", None), str) and is_nested(clone(reducer).set_params(pca=None))


def candidate(estimator: Any, dimensions: Any, rank: int, n_classes: int | None) -> Candidate:
    """A method with the numbers of dimensions that it is tried with, where the training rows allow ``rank`` of them."""
    reducer, wanted = reducer_of(estimator), _checked_dimensions(dimensions, rank)
    most = min(rank, n_classes - 1) if n_classes and _counts_classes(reducer) else rank
    tried = [d for d in wanted if d <= most]
    if most < wanted[-1] and most not in wanted:
        tried.append(most)
    is_slow = not isinstance(reducer, Reducer) and not is_nested(reducer)
    if dimensions is None and len(tried) > SLOW_FITS and is_slow:
        tried = [tried[i] for i in np.linspace(1, len(tried) - 2, SLOW_FITS).round().astype(int)]
    return Candidate(estimator, tuple(tried), most, dimensions is not None)


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


def is_recommendable(estimator: Any) -> bool:
    """Whether a model of it can be kept in a file without pickle. That of UMAP cannot."""
    return not type(reducer_of(estimator)).__module__.startswith("umap")


def complexity(estimator: Any) -> tuple[bool, int]:
    """Whether the map is curved, so that it needs the training rows to place new ones; and a number that orders methods.

    The number is 0 for principal components, 1 for scatters of classes, and 2 for all that have a graph or iterate.
    """
    steps = list(dict(estimator.steps).values()) if isinstance(estimator, Pipeline) else [estimator]
    curved = any(isinstance(step, KernelReducer | FreeReducer | KernelPCA) for step in steps)
    kinds = (PCA | TruncatedSVD, LinearDiscriminantAnalysis | MMC, object)
    number = [isinstance(steps[-1], kind) for kind in kinds].index(True)
    return curved or not is_recommendable(estimator), number
