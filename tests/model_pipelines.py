"""Pipelines to write to model files, and rows for them."""

import numpy as np
import oracles as o
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from lapwing import LPP, MMC, FisherScore, KernelLPP
from lapwing.graphs import KNN, SameClass
from lapwing.selection import SemiSupervised

X, Y = o.blobs(60, 6)
NEW = o.blobs(15, 6, seed=1)[0]
GAPS, NEW_GAPS = X.copy(), NEW.copy()
GAPS[::7, 2] = GAPS[3::11, 0] = NEW_GAPS[::4, 5] = NEW_GAPS[1, :] = np.nan
WORDS = np.array(["a", "b", "c"], dtype=object)
MIXED = np.column_stack([X.astype(object), WORDS[Y], np.array(["x", "y"], dtype=object)[(X[:, 0] > 0).astype(int)]])
MIXED[4, 6] = np.nan
NEW_MIXED = np.column_stack([NEW.astype(object), [*"abcd" * 3, "a", np.nan, "b"], ["x"] * 15])
DATES = np.array([["2024-01-01"], ["2024-02-03"], [np.nan]] * 20, dtype=object)


def by_kind(**last):
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(handle_unknown="ignore")
    )
    return ColumnTransformer([("n", StandardScaler(), slice(0, 6)), ("w", words, [6, 7])], sparse_threshold=0, **last)


NUMERIC = [
    make_pipeline(StandardScaler(), LPP(3)),
    make_pipeline(StandardScaler(with_mean=False), LPP(3), MinMaxScaler(clip=True)),
    make_pipeline(SimpleImputer(strategy="median"), RobustScaler(), MMC(2)),
    make_pipeline(SimpleImputer(), MaxAbsScaler(), LPP(3, graph=KNN(4) + SameClass())),
    make_pipeline(Normalizer(), LPP(3)),
    make_pipeline(VarianceThreshold(), SelectKBest(k=4), LPP(2)),
    make_pipeline(SelectPercentile(percentile=60), FisherScore(2)),
    make_pipeline(MinMaxScaler(), SelectKBest(chi2, k=4), LPP(2)),
    make_pipeline(PCA(4, whiten=True), LPP(2)),
    make_pipeline(TruncatedSVD(4, random_state=0), LPP(2)),
    make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=20),
    make_pipeline(LPP(3), make_pipeline(StandardScaler(), make_pipeline(PCA(2)))),
    make_pipeline(make_union(LPP(2), PCA(2)), StandardScaler()),
    make_pipeline(ColumnTransformer([("a", StandardScaler(), [0, 3]), ("b", "passthrough", [1])]), LPP(2)),
    ColumnTransformer([("a", MMC(1), [0, 3, 4]), ("b", "drop", [1])], remainder=LPP(2)),
    make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), LPP(2)),
]
FINAL = [
    make_pipeline(StandardScaler(), LPP(3), KNeighborsClassifier(3, algorithm="brute")),
    make_pipeline(LPP(3), KMeans(3, random_state=0, n_init=1)),
    make_pipeline(LPP(3), MiniBatchKMeans(3, random_state=0, n_init=1)),
    make_pipeline(MMC(2), LogisticRegression()),
    make_pipeline(LPP(2), KNeighborsRegressor(4, algorithm="brute")),
    SemiSupervised(make_pipeline(StandardScaler(), LPP(2, graph="semi")), KNeighborsClassifier(3, algorithm="brute")),
    make_pipeline(StandardScaler(), SemiSupervised("passthrough")),
]
KEPT_ONLY = [
    make_pipeline(KernelLPP(3), NearestCentroid()),
    make_pipeline(KernelPCA(5, kernel="rbf"), LinearDiscriminantAnalysis()),
    make_pipeline(
        StandardScaler(), LPP(3), KNeighborsClassifier(3, algorithm="brute", weights="distance", metric="manhattan")
    ),
    make_pipeline(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), LPP(2)),
]


def named(value):
    return " ".join(repr(value).split())[:90]


def data_for(model):
    if any("imputer" in name for name in getattr(model, "named_steps", ())):
        return GAPS, NEW_GAPS
    return (np.round(X), np.round(NEW)) if "onehot" in repr(model).lower() or "Ordinal" in repr(model) else (X, NEW)


def outputs(model, rows):
    names = [name for name in ("transform", "predict", "predict_proba") if hasattr(model, name)]
    return {name: getattr(model, name)(rows) for name in names}
