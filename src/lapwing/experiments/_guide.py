"""Beyond the papers: every method on every labelled data set, under one protocol. Which one should I take?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._extras import require
from ..graphs import Reconstruction, Repulsion, SameClass
from ..methods import (
    DNE,
    GLPCA,
    L21PCA,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    TSA,
    FisherScore,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    LaplacianScore,
    RobustGLPCA,
    TangentialMaps,
)
from ..solvers import RankError
from ._data import dataset
from ._experiment import Measured, Summary, Values
from ._page import COLORS, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_TRAIN, N_TEST, LSI = 400, 600, 200
DIMENSIONS = (2, 5, 10, 20, 40)
FEW = (5, 20)
NEIGHBORS = (5, 15)


class Rival(NamedTuple):
    """How a method is made for d dimensions, its graphs to choose from, and whether d of more dimensions are those of d."""

    make: Callable[[int, Any], Any]
    graphs: Sequence[Any] = (None,)
    nested: bool = True
    dimensions: Sequence[int] = DIMENSIONS


class Data(NamedTuple):
    X: Any
    y: np.ndarray
    image_shape: tuple[int, ...] | None = None
    documents: Any = None  # sparse, beside the dense X


class _NCA(BaseEstimator):
    """NCA after PCA (95 %), which makes it affordable; at most as many dimensions as PCA leaves."""

    def __init__(self, n_components: int):
        self.n_components = n_components

    def fit(self, X: Any, y: np.ndarray) -> _NCA:
        first = PCA(0.95, svd_solver="full").fit(X)
        nca = NeighborhoodComponentsAnalysis(min(self.n_components, first.n_components_), max_iter=50, random_state=0)
        self.both_ = make_pipeline(first, nca).fit(X, y)
        return self

    def transform(self, X: Any) -> np.ndarray:
        return self.both_.transform(X)


def _umap(d: int, k: int) -> Any:
    return require("umap", "reproduce").UMAP(n_neighbors=k, n_components=d, random_state=0, n_jobs=1)


def _repelled(graph: Any) -> Any:
    return graph - 0.2 * Repulsion(15)


RIVALS: dict[str, Rival] = {
    "PCA": Rival(lambda d, g: PCA(d, svd_solver="full")),
    "LDA": Rival(lambda d, g: make_pipeline(PCA(0.99, svd_solver="full"), LinearDiscriminantAnalysis(n_components=d))),
    "NCA": Rival(lambda d, g: _NCA(d), nested=False, dimensions=FEW),
    "UMAP": Rival(_umap, NEIGHBORS, nested=False, dimensions=FEW),
    "LPP": Rival(lambda d, g: LPP(d, graph=g), (*NEIGHBORS, SameClass())),
    "OLPP": Rival(lambda d, g: OLPP(d, graph=g), (*NEIGHBORS, SameClass()), nested=False),
    "OLPP-R": Rival(lambda d, g: OLPP(d, graph=g, normalize="trace"), (_repelled(SameClass()),), nested=False),
    "NPE": Rival(lambda d, g: NPE(d, graph=g), NEIGHBORS),
    "ONPP": Rival(lambda d, g: ONPP(d, graph=g), (*NEIGHBORS, Reconstruction(4, among="same_class")), nested=False),
    "ONPP-R": Rival(
        lambda d, g: ONPP(d, graph=g, normalize="trace"),
        (_repelled(Reconstruction(4, among="same_class")),),
        nested=False,
    ),
    "MMC": Rival(lambda d, g: MMC(d)),
    "LPDP": Rival(lambda d, g: LPDP(d, graph=g), NEIGHBORS),
    "MFA": Rival(lambda d, g: MFA(d, graph=g), (2, 5), nested=False),
    "DNE": Rival(lambda d, g: DNE(d, graph=g), NEIGHBORS),
    "LPCA": Rival(lambda d, g: LPCA(d, graph=g), NEIGHBORS),
    "KernelLPP": Rival(lambda d, g: KernelLPP(d, graph=g), (*NEIGHBORS, SameClass())),
    "KernelNPE": Rival(lambda d, g: KernelNPE(d, graph=g), NEIGHBORS),
    "LaplacianEigenmaps": Rival(lambda d, g: LaplacianEigenmaps(d, graph=g), NEIGHBORS),
    "TangentialMaps": Rival(lambda d, g: TangentialMaps(d, graph=g), (15, 30), nested=False, dimensions=(2, 5, 10)),
    "GLPCA": Rival(lambda d, g: GLPCA(d, graph=g), NEIGHBORS),
    "RobustGLPCA": Rival(lambda d, g: RobustGLPCA(d, graph=g), (5,), nested=False, dimensions=FEW),
    "L21PCA": Rival(lambda d, g: L21PCA(d), nested=False, dimensions=FEW),
    "LaplacianScore": Rival(lambda d, g: LaplacianScore(d, graph=g), NEIGHBORS, nested=False),
    "FisherScore": Rival(lambda d, g: FisherScore(d), nested=False),
}
TABLES = ("iris", "libras", "isolet", "mfeat", "digits")
IMAGES = (
    "orl:32x32",
    "yale:32x32",
    "yale_b:32x32",
    "pie:pose27",
    "pie:5poses",
    "ar:100people",
    "umist:32x32",
    "coil20",
    "usps:9298",
    "mnist",
    "fashion_mnist",
    "binalpha",
)
TEXTS = ("reuters", "tdt2", "20newsgroups")


@cache
def _prepared(name: str) -> Data:
    """Images as they are, tables standardised, documents by tf-idf; topics of under 2 % of the documents are left out."""
    bunch = dataset(name)
    if name in TEXTS:
        common = np.flatnonzero(np.bincount(bunch.target)[bunch.target] >= 0.02 * bunch.target.size)
        common = common[np.diff(bunch.data.indptr)[common] > 0]
        T = TfidfTransformer(sublinear_tf=True).fit_transform(bunch.data[common].astype(float))
        return Data(TruncatedSVD(LSI, random_state=0).fit_transform(T), bunch.target[common], None, T)
    if name in TABLES:
        return Data(StandardScaler().fit_transform(bunch.data), bunch.target)
    return Data(bunch.data, bunch.target, tuple(int(s) for s in bunch.image_shape))


def _rivals(data: Data) -> dict[str, Rival]:
    """Those for any data, and those for images or documents only."""
    own = {}
    if data.image_shape:
        shape = data.image_shape
        own["TSA"] = Rival(
            lambda d, g: TSA((d, d), graph=g, image_shape=shape, flatten=True),
            (5, SameClass("heat")),
            False,
            (3, 6, 10),
        )
    if data.documents is not None:
        own["LPI"] = Rival(lambda d, g: LPI(d, graph=g), NEIGHBORS)
    return RIVALS | own


def _contest(name: str, seed: int) -> Values:
    data = _prepared(name)
    train, test = _capped(data.y, seed)
    found = {"all features": _scores(data.X[train], data.X[test], data.y[train], data.y[test], seed)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # NCA stops early, which keeps it affordable
        warnings.simplefilter("ignore", UserWarning)  # graphs in pieces, and a map that says it is not parallel
        for method, rival in _rivals(data).items():
            X = data.documents if method == "LPI" else data.X
            found[method] = _judged(rival, X, data.y, train, test, seed)
    return found


def _capped(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A stratified half for training, at most 400 samples, and at most 600 of the others for testing."""
    n_train, n_test = min(N_TRAIN, y.size // 2), min(N_TEST, y.size - y.size // 2)
    return next(StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=seed).split(y, y))


def _judged(rival: Rival, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, seed: int) -> dict[str, float]:
    """Graph and dimensions are chosen within the training samples, by two random thirds of them."""
    inner = StratifiedShuffleSplit(2, test_size=1 / 3, random_state=seed)
    marks: dict[tuple[int, int], list[float]] = {}
    for a, b in inner.split(train, y[train]):
        for g in range(len(rival.graphs)):
            for d, Z, T in _spaces(rival, rival.graphs[g], X[train[a]], y[train[a]], X[train[b]], rival.dimensions):
                marks.setdefault((g, d), []).append(_accuracy(Z, T, y[train[a]], y[train[b]]))
    g, d = max(marks, key=lambda key: (len(marks[key]), np.mean(marks[key])))
    *_, (_, Z, T) = _spaces(rival, rival.graphs[g], X[train], y[train], X[test], (d,))
    return _scores(Z, T, y[train], y[test], seed) | {"dimensions": float(Z.shape[1])}


def _spaces(rival: Rival, graph: Any, X: Any, y: np.ndarray, X_new: Any, dimensions: Sequence[int]) -> Any:
    """For each number of dimensions that the method has: it, training and new samples."""
    most = _most(X, y, rival)
    wanted = [d for d in dimensions if d <= most] or [most]
    if not rival.nested:
        for d in wanted:
            with suppress(RankError):  # so many dimensions there are not
                model = rival.make(d, graph).fit(X, y)
                yield d, np.asarray(model.transform(X)), np.asarray(model.transform(X_new))
        return
    model = rival.make(max(wanted), graph).fit(X, y)
    Z, T = np.asarray(model.transform(X)), np.asarray(model.transform(X_new))
    yield from ((d, Z[:, :d], T[:, :d]) for d in wanted)


def _most(X: Any, y: np.ndarray, rival: Rival) -> int:
    """Dimensions that can be asked for: fewer than features and samples, and of LDA than classes."""
    at_most = min(X.shape[1], X.shape[0] // 2)
    return min(at_most, np.unique(y).size - 1) if rival is RIVALS["LDA"] else at_most


def _accuracy(Z: np.ndarray, T: np.ndarray, y: np.ndarray, t: np.ndarray) -> float:
    return float(100 * KNeighborsClassifier(1).fit(Z, y).score(T, t))


def _scores(Z: np.ndarray, T: np.ndarray, y: np.ndarray, t: np.ndarray, seed: int) -> dict[str, float]:
    labels = KMeans(np.unique(t).size, n_init=3, random_state=seed).fit_predict(T)
    return {"1-NN accuracy": _accuracy(Z, T, y, t), "k-means NMI": float(100 * normalized_mutual_info_score(t, labels))}


def _ranks(summary: Summary) -> Mapping[tuple[str, str, str], Sequence[float]]:
    """The place of each method on each data set that it was tried on, 1 for the best, as a share of those tried there."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for quantity in ("1-NN accuracy", "k-means NMI"):
        for condition in list(dict.fromkeys(key[1] for key in summary.keys)):
            methods = [key[2] for key in summary.keys if key[:2] == (quantity, condition)]
            means = [summary.mean(quantity, condition, m) for m in methods]
            places = rankdata([-m for m in means])
            for method, place in zip(methods, places, strict=True):
                found.setdefault((f"mean rank, {quantity}", "all data sets", method), []).append(float(place))
    return found


def _rank_picture(summary: Summary) -> Mapping[str, Figure]:
    figure, axes = panels(1, 2, width=5.2, height=6.4)
    for place, quantity in zip(axes.flat, ("1-NN accuracy", "k-means NMI"), strict=True):
        keys = [key for key in summary.keys if key[0] == f"mean rank, {quantity}"]
        keys.sort(key=lambda key: -summary.mean(*key))
        means = [summary.mean(*key) for key in keys]
        colors = [COLORS[7] if key[2] in ("PCA", "LDA", "NCA", "UMAP", "all features") else COLORS[0] for key in keys]
        place.barh([key[2] for key in keys], means, color=colors)
        for i, mean in enumerate(means):
            place.text(mean + 0.2, i, f"{mean:.1f}", va="center", fontsize=8)
        place.set(title=quantity, xlabel="mean rank over data sets (1 is best)")
        place.spines[["top", "right"]].set_visible(False)
    return {"Mean ranks; grey are methods of other packages and the features themselves": figure}


EXPERIMENTS = (
    Measured(
        name="guide",
        source="Beyond the papers: every method on every labelled data set",
        protocol=(
            "Every labelled data set, two random stratified splits with at most 400 samples for training and 600 for "
            "testing. Tables are standardised, images are as stored, documents are tf-idf in 200 dimensions of LSI "
            "(LPI gets them sparse), of topics with at least 2 % of them. Number of dimensions (2, 5, 10, 20, 40; "
            "fewer for slow methods) and graph (5 or 15 neighbours, or the class graph where the method takes one) are "
            "chosen by the nearest neighbour's accuracy on two random thirds of the training samples. Then the nearest "
            "neighbour and k-means (normalised mutual information) on the test samples, in percent. NCA follows PCA "
            "(95 %), LDA PCA (99 %)."
        ),
        data=(*TABLES, *IMAGES, *TEXTS),
        conditions={name: name for name in (*TABLES, *IMAGES, *TEXTS)},
        what=_contest,
        n_repeats=2,
        derived=_ranks,
        pictures=_rank_picture,
    ),
)
