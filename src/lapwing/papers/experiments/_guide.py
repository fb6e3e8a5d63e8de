"""Beyond the papers: every method on every labelled data set, under one protocol. Which one should I take?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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

from ..._extras import require
from ...graphs import Reconstruction, Repulsion, SameClass
from ...methods import (
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
from ...solvers import RankError
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


class _UMAP(BaseEstimator):
    """UMAP without labels, which its ``fit`` would take for a target."""

    def __init__(self, n_components: int, n_neighbors: int):
        self.n_components = n_components
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> _UMAP:
        umap = require("umap", "reproduce").UMAP
        self.map_ = umap(self.n_neighbors, self.n_components, random_state=0, n_jobs=1).fit(X)
        return self

    def transform(self, X: Any) -> np.ndarray:
        return self.map_.transform(X)


def _repelled(graph: Any) -> Any:
    return graph - 0.2 * Repulsion(15)


RIVALS: dict[str, Rival] = {
    "PCA": Rival(lambda d, g: PCA(d, svd_solver="full")),
    "LDA": Rival(lambda d, g: make_pipeline(PCA(0.99, svd_solver="full"), LinearDiscriminantAnalysis(n_components=d))),
    "NCA": Rival(lambda d, g: _NCA(d), nested=False, dimensions=FEW),
    "UMAP": Rival(lambda d, k: _UMAP(d, k), NEIGHBORS, nested=False, dimensions=FEW),
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


class Part(NamedTuple):
    """Training and test samples, prepared by the training samples alone."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    documents: Any = None  # sparse training and test samples


def _common(name: str) -> tuple[Any, np.ndarray]:
    """All samples; of documents those that are not empty, in topics of at least 2 % of them."""
    bunch = dataset(name)
    if name not in TEXTS:
        return bunch.data, bunch.target
    often = np.bincount(bunch.target)[bunch.target] >= 0.02 * bunch.target.size
    kept = np.flatnonzero(often & (np.diff(bunch.data.indptr) > 0))
    return bunch.data[kept], bunch.target[kept]


def _part(name: str, seed: int) -> Part:
    """A stratified half for training, at most 400 samples, and at most 600 of the others for testing."""
    X, y = _common(name)
    n_train, n_test = min(N_TRAIN, y.size // 2), min(N_TEST, y.size - y.size // 2)
    split = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=seed)
    train, test = next(split.split(y, y))
    A, B = X[train], X[test]
    if name in TABLES:
        A, B = _fitted(StandardScaler(), A, B)
    if name not in TEXTS:
        return Part(A, y[train], B, y[test])
    A, B = _fitted(TfidfTransformer(sublinear_tf=True), A.astype(float), B.astype(float))
    dense, dense_test = _fitted(TruncatedSVD(LSI, random_state=0), A, B)
    return Part(dense, y[train], dense_test, y[test], (A, B))


def _fitted(transformer: Any, A: Any, B: Any) -> tuple[Any, Any]:
    return transformer.fit_transform(A), transformer.transform(B)


def _rivals(name: str) -> dict[str, Rival]:
    """Those for any data, and those for images or documents only."""
    if name in IMAGES:
        shape = tuple(int(side) for side in dataset(name).image_shape)
        graphs = (5, SameClass("heat"))
        own = Rival(lambda d, g: TSA((d, d), graph=g, image_shape=shape, flatten=True), graphs, False, (3, 6, 10))
        return RIVALS | {"TSA": own}
    return RIVALS | ({"LPI": Rival(lambda d, g: LPI(d, graph=g), NEIGHBORS)} if name in TEXTS else {})


def _contest(name: str, seed: int) -> Values:
    part = _part(name, seed)
    found = {"no reduction": _scores(part.X, part.X_test, part.y, part.y_test, seed)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # NCA stops early, which keeps it affordable
        warnings.simplefilter("ignore", UserWarning)  # graphs in pieces, and a map that says it is not parallel
        for method, rival in _rivals(name).items():
            X, X_test = part.documents if method == "LPI" else (part.X, part.X_test)
            found[method] = _judged(rival, X, part.y, X_test, part.y_test, seed)
    return found


def _judged(rival: Rival, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray, seed: int) -> dict[str, float]:
    """Graph and dimensions are chosen within the training samples, by two random thirds of them."""
    inner = StratifiedShuffleSplit(2, test_size=1 / 3, random_state=seed)
    marks: dict[tuple[int, int], list[float]] = {}
    for a, b in inner.split(y, y):
        for g in range(len(rival.graphs)):
            for d, Z, T in _spaces(rival, rival.graphs[g], X[a], y[a], X[b], rival.dimensions):
                marks.setdefault((g, d), []).append(_accuracy(Z, T, y[a], y[b]))
    g, d = max(marks, key=lambda key: (len(marks[key]), np.mean(marks[key])))
    *_, (_, Z, T) = _spaces(rival, rival.graphs[g], X, y, X_test, (d,))
    return _scores(Z, T, y, y_test, seed) | {"dimensions": float(Z.shape[1])}


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


KINDS = {"tables": TABLES, "images": IMAGES, "documents": TEXTS, "all data sets": (*TABLES, *IMAGES, *TEXTS)}
QUANTITIES = ("1-NN accuracy", "k-means NMI")


def _ranks(summary: Summary) -> Mapping[tuple[str, str, str], Sequence[float]]:
    """The place of each method on each data set, 1 for the best, among the methods that all data sets of a kind have."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for quantity in QUANTITIES:
        scores: dict[str, dict[str, float]] = {}
        for _, name, method in [key for key in summary.keys if key[0] == quantity]:
            scores.setdefault(name, {})[method] = summary.mean(quantity, name, method)
        for kind, names in KINDS.items():
            tried = [scores[name] for name in names if name in scores]
            common = [m for m in (tried[0] if tried else ()) if all(m in found_there for found_there in tried)]
            for there in tried:
                for method, place in zip(common, rankdata([-there[m] for m in common]), strict=True):
                    found.setdefault((f"mean rank, {quantity}", kind, method), []).append(float(place))
    return found


def _rank_picture(summary: Summary) -> Mapping[str, Figure]:
    kinds = [kind for kind in KINDS if any(key[1] == kind for key in summary.keys)]
    figure, axes = panels(len(QUANTITIES), len(kinds), width=3.6, height=5.2)
    for row, quantity in zip(axes, QUANTITIES, strict=True):
        for place, kind in zip(row, kinds, strict=True):
            _bars(place, summary, [key for key in summary.keys if key[:2] == (f"mean rank, {quantity}", kind)])
            place.set_title(f"{quantity}, {kind}", fontsize=9)
    return {"Mean ranks (1 is best); grey are methods of other packages, and no reduction": figure}


def _bars(place: Any, summary: Summary, keys: list[tuple[str, str, str]]) -> None:
    keys = sorted(keys, key=lambda key: -summary.mean(*key))
    means = [summary.mean(*key) for key in keys]
    others = ("PCA", "LDA", "NCA", "UMAP", "no reduction")
    place.barh([key[2] for key in keys], means, color=[COLORS[7] if key[2] in others else COLORS[0] for key in keys])
    for i, mean in enumerate(means):
        place.text(mean + 0.2, i, f"{mean:.1f}", va="center", fontsize=7)
    place.tick_params(labelsize=7)
    place.spines[["top", "right"]].set_visible(False)


EXPERIMENTS = (
    Measured(
        name="guide",
        source="Beyond the papers: every method on every labelled data set",
        protocol=(
            "Every labelled data set, two random stratified splits with at most 400 samples for training and 600 for "
            "testing. Tables are standardised, images are as stored, documents are tf-idf in 200 dimensions of LSI "
            "(LPI gets them sparse), of topics with at least 2 % of them; all of that is fitted to the training "
            "samples. Number of dimensions (2, 5, 10, 20, 40; for slow methods 5 and 20, for tangential maps 2, 5, 10, "
            "for TSA sides of 3, 6, 10) and graph (5 or 15 neighbours, or the class graph where the method takes one) "
            "are chosen by the nearest neighbour's accuracy on two random thirds of the training samples. Then the "
            "nearest neighbour and k-means (normalised mutual information) on the test samples, in percent. NCA "
            "follows PCA (95 %) and takes at most 50 steps, LDA follows PCA (99 %), UMAP sees no labels. Ranks are "
            "among the methods that all data sets of a kind have."
        ),
        data=(*TABLES, *IMAGES, *TEXTS),
        conditions={name: name for name in (*TABLES, *IMAGES, *TEXTS)},
        what=_contest,
        n_repeats=2,
        derived=_ranks,
        pictures=_rank_picture,
    ),
)
