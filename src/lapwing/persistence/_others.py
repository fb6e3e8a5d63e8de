"""Classes of scikit-learn that a model file may hold: their names, and what each has learnt.

The table is closed: a class or an attribute that is not in it is neither written nor read. What scikit-learn keeps for itself
beside its attributes, such as the trees of a neighbour search, is not stored: it comes from a fit of the reading version on a
few rows that have the same result (``rebuilt``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import feature_selection
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid, NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ..graphs import Gower
from ..selection import SemiSupervised
from ..tables import DatesAsNumbers

# Functions that are parameters, by their names.
FUNCTIONS: dict[str, Callable] = {
    name: getattr(feature_selection, name)
    for name in ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression", "r_regression")
}
ALWAYS = {"n_features_in_": "", "feature_names_in_": "d", "_sklearn_output_config": ""}


@dataclass(frozen=True)
class Storable:
    """How a class is stored.

    ``arrays`` are attributes by the letters of their sizes, d being the number of features; ``plain`` are those that are no
    arrays, or arrays of any shape. ``learnt`` says what to store of an estimator, ``rebuilt`` makes an unfitted one of the same
    parameters fitted, where setting the attributes is not all; ``without`` are parameters that cannot be used.
    """

    arrays: Mapping[str, str] = field(default_factory=dict)
    plain: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    learnt: Callable[[Any], dict[str, Any]] | None = None
    rebuilt: Callable[[Any, dict[str, Any]], None] | None = None
    without: tuple[str, ...] = ()  # parameters that must be None or False

    @property
    def names(self) -> set[str]:
        return {*self.arrays, *self.plain, *ALWAYS}


def _imputer(estimator: Any) -> dict[str, Any]:
    return {"statistics_": estimator.statistics_, "rows": _typed(estimator.statistics_, estimator._fit_dtype)}


def _typed(values: np.ndarray, dtype: Any) -> np.ndarray:
    return values.astype(dtype if np.dtype(dtype).kind == "f" or values.dtype == object else np.float64)


def _imputed(estimator: Any, learnt: dict[str, Any]) -> None:
    """A fit on the row of what is filled in learns that row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that had nothing but gaps
        estimator.fit(learnt.pop("rows").reshape(1, -1))


def _encoder(estimator: Any) -> dict[str, Any]:
    return {"categories_": list(estimator.categories_)}


def _encoded(estimator: Any, learnt: dict[str, Any]) -> None:
    """A fit on rows that have every category once or more learns those categories."""
    categories = learnt["categories_"]
    same = {array.dtype for array in categories}
    rows = np.empty((max(map(len, categories)), len(categories)), dtype=object if len(same) > 1 else same.pop())
    for j, array in enumerate(categories):
        rows[:, j] = np.resize(array, len(rows))
    estimator.fit(rows)


def _neighbors(estimator: Any) -> dict[str, Any]:
    rows, y = estimator._fit_X, estimator._y
    if getattr(estimator, "outputs_2d_", False) or y.ndim > 1:
        raise ValueError(
            f"{type(estimator).__name__} with several targets has no place in a model file; fit one for each"
        )
    return {"rows": rows, "y": estimator.classes_[y] if hasattr(estimator, "classes_") else y}


def _searched(estimator: Any, learnt: dict[str, Any]) -> None:
    rows, y = learnt.pop("rows"), learnt.pop("y")
    estimator.fit(rows, y)


def _clustered(estimator: Any, learnt: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of centres that are equal
        estimator.fit(learnt["cluster_centers_"])


def _columns(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name in STORABLE[ColumnTransformer].names}


LINEAR = {"components_": "kd", "explained_variance_": "k", "explained_variance_ratio_": "k", "singular_values_": "k"}
ENCODER = Storable({}, ("categories_",), learnt=_encoder, rebuilt=_encoded, without=("max_categories", "min_frequency"))
CLUSTERS = Storable(
    {"cluster_centers_": "kd", "labels_": "n"},
    ("inertia_", "n_iter_", "n_steps_"),
    rebuilt=_clustered,
    learnt=lambda e: {n: v for n, v in vars(e).items() if n in STORABLE[KMeans].names},
)
STORABLE: dict[type, Storable] = {
    # What is made of others.
    Pipeline: Storable(without=("memory",)),  # a folder whose pickles a fit would read
    FeatureUnion: Storable(),
    ColumnTransformer: Storable(
        {},
        (
            "transformers_",
            "output_indices_",
            "sparse_output_",
            "_columns",
            "_n_features",
            "_name_to_fitted_passthrough",
            "_remainder",
            "_transformer_to_input_indices",
        ),
        learnt=_columns,
    ),
    FunctionTransformer: Storable(without=("func", "inverse_func")),  # what "passthrough" becomes
    SemiSupervised: Storable({"classes_": "c"}, ("reducer_", "classifier_")),
    # Scales.
    StandardScaler: Storable({"mean_": "d", "var_": "d", "scale_": "d"}, ("n_samples_seen_",)),
    MinMaxScaler: Storable(
        {"min_": "d", "scale_": "d", "data_min_": "d", "data_max_": "d", "data_range_": "d"}, ("n_samples_seen_",)
    ),
    MaxAbsScaler: Storable({"scale_": "d", "max_abs_": "d"}, ("n_samples_seen_",)),
    RobustScaler: Storable({"center_": "d", "scale_": "d"}),
    Normalizer: Storable(),
    KernelCenterer: Storable({"K_fit_rows_": "d"}, ("K_fit_all_",)),
    # Gaps, categories, dates.
    SimpleImputer: Storable(
        {"statistics_": "d"}, ("rows",), learnt=_imputer, rebuilt=_imputed, without=("add_indicator",)
    ),
    OneHotEncoder: ENCODER,
    OrdinalEncoder: ENCODER,
    DatesAsNumbers: Storable({}, ("formats_",)),
    Gower: Storable({"ranges_": "d"}, ("categories_",)),
    # Selection and projection.
    VarianceThreshold: Storable({"variances_": "d"}),
    SelectKBest: Storable({"scores_": "d", "pvalues_": "d"}),
    SelectPercentile: Storable({"scores_": "d", "pvalues_": "d"}),
    PCA: Storable({**LINEAR, "mean_": "d"}, ("n_components_", "n_samples_", "noise_variance_", "_fit_svd_solver")),
    TruncatedSVD: Storable(LINEAR),
    LinearDiscriminantAnalysis: Storable(
        {"scalings_": "dk", "xbar_": "d", "means_": "cd", "priors_": "c", "classes_": "c", "covariance_": "dd"},
        ("coef_", "intercept_", "explained_variance_ratio_", "_max_components", "_n_features_out"),
    ),
    NeighborhoodComponentsAnalysis: Storable({"components_": "kd"}, ("n_iter_",), ("random_state_",)),
    KernelPCA: Storable(
        {"X_fit_": "nd", "eigenvalues_": "k", "eigenvectors_": "nk"},
        ("gamma_", "_centerer", "X_transformed_fit_", "dual_coef_"),
    ),
    # What may come last.
    KNeighborsClassifier: Storable({}, ("rows", "y"), learnt=_neighbors, rebuilt=_searched),
    KNeighborsRegressor: Storable({}, ("rows", "y"), learnt=_neighbors, rebuilt=_searched),
    NearestCentroid: Storable(
        {"centroids_": "cd", "classes_": "c", "class_prior_": "c", "deviations_": "cd", "within_class_std_dev_": "d"},
        ("true_classes_",),
    ),
    KMeans: CLUSTERS,
    MiniBatchKMeans: CLUSTERS,
    LogisticRegression: Storable({"classes_": "c"}, ("coef_", "intercept_", "n_iter_")),
}


def check_parameters(estimator: Any) -> None:
    """Raise where a parameter of an estimator of a class in the table cannot be stored."""
    for name in STORABLE[type(estimator)].without:
        value = getattr(estimator, name)
        if value not in (None, False):
            raise ValueError(
                f"{type(estimator).__name__}({name}={value!r}) has no place in a model file; fit without {name}"
            )


def learnt(estimator: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """What to store of a fitted estimator of a class in the table."""
    kind = STORABLE[type(estimator)]
    if not is_fitted(estimator):
        return {}  # as in the parameters of a ColumnTransformer
    every = {name: value for name, value in vars(estimator).items() if name in ALWAYS}
    if kind.learnt is not None:
        return {**kind.learnt(estimator), **every}
    found = {name: value for name, value in vars(estimator).items() if name not in {*params, *kind.forgotten}}
    unknown = sorted(found.keys() - kind.names)
    if unknown:
        raise ValueError(
            f"{type(estimator).__name__} has {', '.join(unknown)}, which this version of lapwing cannot store"
        )
    return found


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator of a class in the table has learnt something."""
    return "n_features_in_" in vars(estimator) or isinstance(estimator, Pipeline | FeatureUnion)


def restore(estimator: Any, learnt: dict[str, Any]) -> None:
    """Make an estimator of a class in the table what it was when it was stored."""
    kind = STORABLE[type(estimator)]
    unknown = sorted(learnt.keys() - kind.names)
    if unknown:
        raise ValueError(f"{type(estimator).__name__} cannot have {', '.join(unknown)}")
    check_parameters(estimator)
    if kind.rebuilt is not None and learnt:
        kind.rebuilt(estimator, learnt)
    for name, value in learnt.items():
        setattr(estimator, name, value)
    check_sizes(estimator, learnt)


def check_sizes(estimator: Any, learnt: Mapping[str, Any]) -> None:
    """Raise unless the arrays fit each other and ``n_features_in_``."""
    sizes = {} if "n_features_in_" not in learnt else {"d": _count(learnt["n_features_in_"])}
    for name, letters in {**STORABLE[type(estimator)].arrays, **ALWAYS}.items():
        value = learnt.get(name)
        if value is None or not letters:
            continue
        shape = getattr(value, "shape", None)
        if shape is None or len(shape) != len(letters) or (sparse.issparse(value) and name != "X_fit_"):
            raise ValueError(f"{name} of {type(estimator).__name__} is no array of {len(letters)} dimensions")
        if any(sizes.setdefault(letter, size) != size for letter, size in zip(letters, shape, strict=True)):
            raise ValueError(f"{name} of {type(estimator).__name__}, of shape {shape}, does not fit its other arrays")


def _count(number: Any) -> int:
    if type(number) is not int or number < 1:
        raise ValueError(f"n_features_in_={number!r} must be a whole number, 1 or more")
    return number
