"""The classes of scikit-learn that a model file may hold: their names, and what each has learnt.

The table is closed: a class or an attribute that is not in it is neither written nor read. Some of what scikit-learn keeps
beside its attributes, such as the trees of a neighbour search, is not stored. It comes from a fit of the version that reads
the file, to a few rows that give the same result (``rebuilt``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn import feature_selection
from sklearn.base import BaseEstimator, clone
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
from ._held import Held, check_features, check_held, check_learnt, check_number, check_output, require_room

# Functions that may be parameters, by their names.
FUNCTIONS: dict[str, Callable] = {
    name: getattr(feature_selection, name)
    for name in ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression", "r_regression")
}
ALWAYS = ("n_features_in_", "feature_names_in_", "_sklearn_output_config")
NAMED = {"feature_names_in_": Held("d", "names", optional=True)}


@dataclass(frozen=True)
class Storable:
    """How a class is stored.

    ``arrays`` are attributes with a declaration, and ``plain`` are others, which ``check`` looks at. ``learnt`` says what to
    store of an estimator. Where setting the attributes is not enough, ``rebuilt`` turns an unfitted estimator of the same
    parameters into the fitted one. ``without`` are parameters that cannot be used.
    """

    arrays: Mapping[str, Held] = field(default_factory=dict)
    plain: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    learnt: Callable[[Any], dict[str, Any]] | None = None
    rebuilt: Callable[[Any, dict[str, Any]], None] | None = None
    check: Callable[[Any], Any] | None = None
    without: tuple[str, ...] = ()  # parameters that must be None or False

    @property
    def names(self) -> set[str]:
        return {*self.arrays, *self.plain, *ALWAYS}


def _imputer(estimator: Any) -> dict[str, Any]:
    return {"statistics_": estimator.statistics_, "rows": _typed(estimator.statistics_, estimator._fit_dtype)}


def _typed(values: np.ndarray, dtype: Any) -> np.ndarray:
    return values.astype(dtype if np.dtype(dtype).kind == "f" or values.dtype == object else np.float64)


def _imputed(estimator: Any, learnt: dict[str, Any]) -> None:
    """Fit to one row that holds what is filled in, which learns exactly that row."""
    with warnings.catch_warnings(action="ignore"):  # about columns that held nothing but gaps
        estimator.fit(learnt.pop("rows").reshape(1, -1))
    _require_same("statistics_", [estimator.statistics_], [learnt.pop("statistics_")])


def _require_same(name: str, found: Sequence[Any], stored: Sequence[Any]) -> None:
    """Raise unless a fit has found what is stored. Gaps count as equal."""
    for one, other in zip(found, stored, strict=True):
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        if not all(a == b or (a != a and b != b) for a, b in pairs):
            raise ValueError(f"{name} does not fit the rows that are stored with it")


def _encoded(estimator: Any, learnt: dict[str, Any]) -> None:
    """Fit to rows that hold every category at least once, which learns exactly these categories."""
    if not (isinstance(estimator.dtype, type) and issubclass(estimator.dtype, np.number)):
        raise ValueError(f"dtype={estimator.dtype!r:.60} of {type(estimator).__name__} is no type of numbers")
    categories = learnt["categories_"]
    same = {array.dtype for array in categories}
    most = max(map(len, categories))
    require_room(f"categories_ of {len(categories)} columns, up to {most} of one", 8 * most * len(categories))
    rows = np.empty((most, len(categories)), dtype=object if len(same) > 1 else same.pop())
    for j, array in enumerate(categories):
        rows[:, j] = np.resize(array, len(rows))
    estimator.fit(rows)
    _require_same("categories_", estimator.categories_, categories)


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
    """Fit to nothing but the centres, which takes one step whatever the parameters say."""
    quick = clone(estimator).set_params(init="random", n_init=1, max_iter=1, random_state=0, verbose=0)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # about centres that are equal
        quick.fit(learnt["cluster_centers_"])
    parameters = estimator.get_params(deep=False).keys()
    vars(estimator).update({name: value for name, value in vars(quick).items() if name not in parameters})


def _columns(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name in STORABLE[ColumnTransformer].names}


def _check_steps(estimator: Any) -> None:
    """Check that steps are names and estimators, each taking as many columns as the one before it gives."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else estimator.transformer_list
    if type(steps) is not list or not steps or not all(_is_step(step, 2) for step in steps):
        raise ValueError(f"the steps of {type(estimator).__name__} are no list of names and estimators")
    if isinstance(estimator, FeatureUnion):
        if len({_features(step) for _, step in steps} - {None}) > 1:
            raise ValueError("the steps of FeatureUnion take different numbers of features")
        if not isinstance(estimator.transformer_weights, dict | None):
            raise ValueError(f"transformer_weights={estimator.transformer_weights!r:.60} must be a dict")
        return
    given = None
    for i, (name, step) in enumerate(steps):
        if i < len(steps) - 1 and not (_passes(step) or hasattr(step, "transform")):
            raise ValueError(f"step {name!r} of Pipeline cannot transform")
        taken = _features(step)
        if None not in (given, taken) and given != taken:
            raise ValueError(f"step {name!r} takes {taken} features, and the one before it gives {given}")
        given = given if _passes(step) else _outputs(step)


def _is_word(step: Any, word: str) -> bool:
    return isinstance(step, str) and step == word


def _passes(step: Any) -> bool:
    return step is None or _is_word(step, "passthrough")


def _is_step(step: Any, size: int) -> bool:
    """Whether it is a tuple of a name and an estimator, or a word such as "passthrough" in the place of the estimator."""
    if type(step) is not tuple or len(step) != size or type(step[0]) is not str:
        return False
    return _passes(step[1]) or type(step[1]) is str or (isinstance(step[1], BaseEstimator) and hasattr(step[1], "fit"))


def _features(step: Any) -> int | None:
    """How many columns a fitted step takes."""
    return getattr(step, "n_features_in_", None)


def _outputs(step: Any) -> int | None:
    """How many columns a fitted step gives; None where it does not say."""
    if not hasattr(step, "transform"):
        return None
    try:
        return len(step.get_feature_names_out())
    except (AttributeError, ValueError):
        return None


def _check_columns(estimator: Any) -> None:
    """Check from where each part of a ColumnTransformer takes its columns, and where it puts its results."""
    parts, inputs, outputs = estimator.transformers_, estimator._transformer_to_input_indices, estimator.output_indices_
    if type(parts) is not list or not all(_is_step(part, 3) and part[1] is not None for part in parts):
        raise ValueError("transformers_ of ColumnTransformer are no list of names, estimators and columns")
    if not all(type(held) is dict for held in (inputs, outputs)) or type(estimator.sparse_output_) is not bool:
        raise ValueError("ColumnTransformer has no columns by name to take and to give")
    if not all(type(place) is slice for place in outputs.values()):
        raise ValueError("output_indices_ of ColumnTransformer are no slices")
    for name, step, columns in parts:
        if _is_word(step, "drop"):
            continue
        if isinstance(step, str) and not _passes(step):
            raise ValueError(f"step {name!r} of ColumnTransformer is {step!r:.60}")
        places, taken = _column_places(estimator, columns), _features(step)
        if places != inputs.get(name) or taken not in (None, len(places)):
            raise ValueError(f"step {name!r} of ColumnTransformer takes {taken} features, and others than its columns")


def _column_places(estimator: Any, columns: Any) -> list[int]:
    """The columns of a part of a ColumnTransformer, by number.

    A single column must be in a list, since else it is not a table.
    """
    kinds = {type(column) for column in columns} if isinstance(columns, list) else set()
    if not (
        isinstance(columns, slice | np.ndarray)
        or (isinstance(columns, list) and kinds in (set(), {int}, {str}, {bool}))
    ):
        raise ValueError(f"{columns!r:.60} of ColumnTransformer are no columns")
    if kinds == {str} or getattr(columns, "dtype", np.dtype(int)).kind in "OU":
        numbers = {name: i for i, name in enumerate(getattr(estimator, "feature_names_in_", ()))}
        return [numbers[name] for name in np.asarray(columns, dtype=object)]
    chosen = np.asarray(columns, dtype=None if len(columns) else int) if isinstance(columns, list) else columns
    return np.arange(estimator.n_features_in_)[chosen].tolist()


def _check_discriminant(estimator: Any) -> None:
    """Check for directions, which only two of the three solvers find."""
    _check_decision(estimator)
    held = {name for name in ("scalings_", "xbar_") if vars(estimator).get(name) is not None}
    if held != {"svd": {"scalings_", "xbar_"}, "eigen": {"scalings_"}, "lsqr": set()}[estimator.solver]:
        raise ValueError(f"LinearDiscriminantAnalysis(solver={estimator.solver!r}) cannot have {sorted(held)} alone")
    if held:
        for name in ("_max_components", "_n_features_out"):
            check_number(estimator, name, 1, estimator.scalings_.shape[1], int)


def _check_decision(estimator: Any) -> None:
    """Check that there is one row of coefficients per class, or a single row for two classes."""
    declared = {"coef_": Held("ed"), "intercept_": Held("e")}
    sizes = check_held(estimator, vars(estimator), declared, {"d": estimator.n_features_in_})
    classes = len(estimator.classes_)
    if sizes["e"] != (classes if classes > 2 else 1):
        raise ValueError(f"coef_, of shape {estimator.coef_.shape}, does not fit {classes} classes")


def _check_kernel(estimator: Any) -> None:
    held = {"n": len(estimator.eigenvectors_)}
    check_held(estimator._centerer, vars(estimator._centerer), {"K_fit_rows_": Held("n")}, held)
    with warnings.catch_warnings(action="ignore"):  # about columns without names
        estimator.transform(estimator.X_fit_[:1])


def _check_centroids(estimator: Any) -> None:
    with warnings.catch_warnings(action="ignore"):  # about columns without names
        estimator.predict(estimator.centroids_[:1])


def _check_range(estimator: Any) -> None:
    ends = estimator.feature_range
    if len(ends) != 2 or not all(type(end) in (int, float) and isfinite(end) for end in ends):
        raise ValueError(f"feature_range={ends!r:.60} of MinMaxScaler must be two numbers")


def _check_formats(estimator: Any) -> None:
    formats, d = estimator.formats_, estimator.n_features_in_
    if type(formats) is not list or len(formats) != d or not all(isinstance(form, str | None) for form in formats):
        raise ValueError(f"formats_={formats!r:.60} of DatesAsNumbers must be {d} formats")


def _check_gower(estimator: Any) -> None:
    names, places = estimator.categories_, estimator.categorical_columns()
    if type(names) is not list or len(names) != places.size:
        raise ValueError(f"categories_={names!r:.60} of Gower must be {places.size} arrays")
    for own in names:
        check_held(estimator, {"categories_": own}, {"categories_": Held("c")})


def _check_parts(estimator: Any) -> None:
    for name in ("reducer_", "classifier_"):
        part = getattr(estimator, name, None)
        if not (part == "passthrough" if isinstance(part, str) else isinstance(part, BaseEstimator)):
            raise ValueError(f"{name}={part!r:.60} of SemiSupervised is no estimator")
    given, taken = _outputs(estimator.reducer_), _features(estimator.classifier_)
    if None not in (given, taken) and given != taken:
        raise ValueError(f"classifier_ takes {taken} features, and reducer_ gives {given}")


NUMBERS, PER_COMPONENT = Held("d"), Held("k", "not negative")
CLASSES = {"classes_": Held("c", "labels")}
LINEAR = {
    "components_": Held("kd"),
    "explained_variance_": PER_COMPONENT,
    "explained_variance_ratio_": Held("k", "scores"),  # NaN where X has no variance
    "singular_values_": PER_COMPONENT,
}
NEIGHBORS = {"rows": Held("nd", "rows", may_be_sparse=True), "y": Held("n", "labels")}
UNIVARIATE = Storable({"scores_": Held("d", "scores"), "pvalues_": Held("d", "scores", optional=True)})
ENCODER = Storable(
    {},
    ("categories_",),
    learnt=lambda e: {"categories_": list(e.categories_)},
    rebuilt=_encoded,
    without=("max_categories", "min_frequency"),
)
CLUSTERS = Storable(
    {"cluster_centers_": Held("kd"), "labels_": Held("n", "labels")},
    ("inertia_", "n_iter_", "n_steps_"),
    rebuilt=_clustered,
    learnt=lambda e: {n: v for n, v in vars(e).items() if n in STORABLE[KMeans].names},
)
STORABLE: dict[type, Storable] = {
    # Estimators made of others.
    Pipeline: Storable(without=("memory",), check=_check_steps),  # memory is a folder whose pickles a fit would read
    FeatureUnion: Storable(check=_check_steps),
    ColumnTransformer: Storable(
        {},
        (
            *("transformers_", "output_indices_", "sparse_output_", "_columns", "_n_features"),
            *("_name_to_fitted_passthrough", "_remainder", "_transformer_to_input_indices"),
        ),
        learnt=_columns,
        check=_check_columns,
    ),
    FunctionTransformer: Storable(without=("func", "inverse_func")),  # "passthrough" becomes one
    SemiSupervised: Storable(CLASSES, ("reducer_", "classifier_"), check=_check_parts),
    # Scales.
    StandardScaler: Storable(
        {
            "mean_": Held("d", needed_by="with_mean"),
            "var_": Held("d", "not negative", optional=True),
            "scale_": Held("d", "divisors", needed_by="with_std"),
        },
        ("n_samples_seen_",),
    ),
    MinMaxScaler: Storable(
        {"min_": NUMBERS, "scale_": NUMBERS, "data_min_": NUMBERS, "data_max_": NUMBERS, "data_range_": NUMBERS},
        ("n_samples_seen_",),
        check=_check_range,
    ),
    MaxAbsScaler: Storable({"scale_": Held("d", "divisors"), "max_abs_": NUMBERS}, ("n_samples_seen_",)),
    RobustScaler: Storable(
        {"center_": Held("d", needed_by="with_centering"), "scale_": Held("d", "divisors", needed_by="with_scaling")}
    ),
    Normalizer: Storable(),
    KernelCenterer: Storable({"K_fit_rows_": NUMBERS}, ("K_fit_all_",), check=lambda e: check_number(e, "K_fit_all_")),
    # Gaps, categories, dates.
    SimpleImputer: Storable({}, ("statistics_", "rows"), learnt=_imputer, rebuilt=_imputed, without=("add_indicator",)),
    OneHotEncoder: ENCODER,
    OrdinalEncoder: ENCODER,
    DatesAsNumbers: Storable({}, ("formats_",), check=_check_formats),
    Gower: Storable({"ranges_": Held("d", "divisors")}, ("categories_",), check=_check_gower),
    # Selection and projection.
    VarianceThreshold: Storable({"variances_": Held("d", "scores")}),
    SelectKBest: UNIVARIATE,
    SelectPercentile: UNIVARIATE,
    PCA: Storable({**LINEAR, "mean_": NUMBERS}, ("n_components_", "n_samples_", "noise_variance_", "_fit_svd_solver")),
    TruncatedSVD: Storable(LINEAR),
    LinearDiscriminantAnalysis: Storable(
        {
            "scalings_": Held("dk", optional=True),  # solver="lsqr" has none
            "xbar_": Held("d", optional=True),
            "means_": Held("cd"),
            "priors_": Held("c"),
            **CLASSES,
            "covariance_": Held("dd", optional=True),
        },
        ("coef_", "intercept_", "explained_variance_ratio_", "_max_components", "_n_features_out"),
        check=_check_discriminant,
    ),
    NeighborhoodComponentsAnalysis: Storable({"components_": Held("kd")}, ("n_iter_",), ("random_state_",)),
    KernelPCA: Storable(
        {"X_fit_": Held("nd", may_be_sparse=True), "eigenvalues_": PER_COMPONENT, "eigenvectors_": Held("nk")},
        ("gamma_", "_centerer", "X_transformed_fit_", "dual_coef_"),
        check=_check_kernel,
    ),
    # Estimators that may come last.
    KNeighborsClassifier: Storable(NEIGHBORS, learnt=_neighbors, rebuilt=_searched),
    KNeighborsRegressor: Storable(NEIGHBORS, learnt=_neighbors, rebuilt=_searched),
    NearestCentroid: Storable(
        {
            "centroids_": Held("cd"),
            **CLASSES,
            "class_prior_": Held("c", "divisors", optional=True),
            "deviations_": Held("cd", optional=True),
            "within_class_std_dev_": Held("d", optional=True),
        },
        ("true_classes_",),
        check=_check_centroids,
    ),
    KMeans: CLUSTERS,
    MiniBatchKMeans: CLUSTERS,
    LogisticRegression: Storable(CLASSES, ("coef_", "intercept_", "n_iter_"), check=_check_decision),
}


def check_parameters(estimator: Any) -> None:
    """Raise where a parameter of an estimator of a class in the table cannot be stored."""
    for name in STORABLE[type(estimator)].without:
        value = getattr(estimator, name)
        if value not in (None, False):
            instead = "apply it to X before the pipeline, in fit and in use, and " if callable(value) else ""
            raise ValueError(
                f"{type(estimator).__name__}({name}={value!r}) has no place in a model file"
                f"{', which holds no code' if instead else ''}; {instead}fit without {name}"
            )


def valid(cls: type, params: dict[str, Any], default: Collection[str]) -> dict[str, Any]:
    """The parameters, checked by scikit-learn's own constraints. A default of one version may not be allowed in another."""
    if not hasattr(cls, "_parameter_constraints"):  # a class of lapwing
        return params
    try:
        cls(**params)._validate_params()
    except ValueError:
        params = {name: value for name, value in params.items() if name not in default}
        cls(**params)._validate_params()
    return params


def learnt(estimator: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """What to store of a fitted estimator of a class in the table."""
    kind = STORABLE[type(estimator)]
    if not is_fitted(estimator):
        return {}  # unfitted, as in the parameters of a ColumnTransformer
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


def check_all_fitted(model: Any) -> None:
    """Raise unless the model and every estimator that it uses are fitted."""
    check_learnt(model)
    parts = {
        Pipeline: lambda: [step for _, step in model.steps],
        FeatureUnion: lambda: [step for _, step in model.transformer_list],
        ColumnTransformer: lambda: [step for _, step, _ in model.transformers_],
        SemiSupervised: lambda: [model.reducer_, model.classifier_],
    }.get(type(model), list)()
    estimators = [part for part in parts if part is not None and not isinstance(part, str)]
    if isinstance(model, Pipeline | FeatureUnion) and not estimators:
        raise ValueError(f"{type(model).__name__} holds no estimator, so there is nothing learnt to keep")
    for part in estimators:
        check_all_fitted(part)


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator of a class in the table has learnt something."""
    return "n_features_in_" in vars(estimator) or isinstance(estimator, Pipeline | FeatureUnion)


def restore(estimator: Any, learnt: dict[str, Any]) -> None:
    """Turn an estimator of a class in the table into what it was when it was stored."""
    kind = STORABLE[type(estimator)]
    unknown = sorted(learnt.keys() - kind.names)
    if unknown:
        raise ValueError(f"{type(estimator).__name__} cannot have {', '.join(unknown)}")
    check_parameters(estimator)
    jobs = getattr(estimator, "n_jobs", None)
    if not isinstance(jobs, int | None) or jobs == 0:
        raise ValueError(f"n_jobs={jobs!r:.60} of {type(estimator).__name__} is no number of processes")
    if jobs is not None and jobs > cpu_count():  # results do not depend on it, and more jobs than cores would only wait
        estimator.n_jobs = -1
    if learnt:
        _check_arrays(estimator, learnt)
        if kind.rebuilt is not None:
            kind.rebuilt(estimator, learnt)
            n = learnt.get("n_features_in_", estimator.n_features_in_)
            if estimator.n_features_in_ != n:
                raise ValueError(f"n_features_in_={n} of {type(estimator).__name__} does not fit its rows")
    for name, value in learnt.items():
        setattr(estimator, name, value)
    if kind.check is not None and is_fitted(estimator):
        kind.check(estimator)


def _check_arrays(estimator: Any, learnt: Mapping[str, Any]) -> None:
    """Raise unless the arrays fit each other and ``n_features_in_``."""
    made_of_others = isinstance(estimator, Pipeline | FeatureUnion)
    sizes = {} if made_of_others else check_features(estimator, learnt.get("n_features_in_"))
    check_held(estimator, learnt, {**STORABLE[type(estimator)].arrays, **NAMED}, sizes)
    config = learnt.get("_sklearn_output_config")
    if config is not None:
        check_output(estimator, config)
