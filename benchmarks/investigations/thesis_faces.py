"""Thesis, tables 4.5, 6.1 and 6.2: which images, starts and graph bring k-means, PCA and variance to the printed numbers.

    LAPWING_DATA=... python benchmarks/investigations/thesis_faces.py [4.5] [6.1]

All three tables cluster the same faces of PIE, and the thesis says that their data and measures are the same. The columns
of k-means on all 1,024 pixels differ in print all the same, by 5 points. k-means, PCA and variance have nothing to do
with LPP or the Laplacian Score, so they are tried first. One line is one reading: the mean distance from the printed
numbers in points, then each difference, for 5, 10, 30 and 68 classes (accuracy, then mutual information). Six draws of
people are taken. It takes about eight minutes of one core.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler, normalize

from lapwing.graphs import KNN
from lapwing.methods import LPP, LaplacianScore
from lapwing.metrics import clustering_accuracy
from lapwing_papers.experiments import _thesis as thesis
from lapwing_papers.experiments._clustering import drawn

Data = tuple[np.ndarray, np.ndarray]
CLASSES, DRAWS, STARTS = (5, 10, 30, 68), 6, 10
SHOWN = (20, 100, 300)  # of the numbers of pixels in tables 6.1 and 6.2
UNIT = "lights on, unit length"
COLUMNS = {"k-means": 0, "PCA": 1, "LPP": 2}


def some_of_all(seed: int = 0) -> Data:
    """24 of the 42 images of each person, at random."""
    X, y = thesis.faces("pie:pose27")
    random = np.random.RandomState(seed)
    rows = np.concatenate([random.permutation(np.flatnonzero(y == c))[:24] for c in np.unique(y)])
    return X[rows], y[rows]


def three_more(seed: int = 0) -> Data:
    """The 21 images with lights on, and three with lights off, as there are 24 in the thesis."""
    X, y = thesis.faces("pie:pose27")
    random = np.random.RandomState(seed)
    people = [np.flatnonzero(y == c) for c in np.unique(y)]
    rows = np.concatenate([np.r_[person[21:42], random.permutation(person[:21])[:3]] for person in people])
    return X[rows], y[rows]


def changed(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[], Data]:
    def load() -> Data:
        X, y = thesis.lit_faces("on")
        return change(X), y

    return load


def halved(X: np.ndarray) -> np.ndarray:
    """Every image in 16 x 16."""
    return X.reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(len(X), -1)


def inner(X: np.ndarray) -> np.ndarray:
    """Without a margin of two pixels: 28 x 28."""
    return X.reshape(-1, 32, 32)[:, 2:30, 2:30].reshape(len(X), -1)


IMAGES: dict[str, Callable[[], Data]] = {
    "21 with lights on": lambda: thesis.lit_faces("on"),
    "21 with lights off": lambda: thesis.lit_faces("off"),
    "all 42": lambda: thesis.lit_faces("on and off"),
    "24 of the 42": some_of_all,
    "21 on and 3 off": three_more,
    UNIT: changed(normalize),
    "lights on, standardised": changed(lambda X: StandardScaler().fit_transform(X)),
    "lights on, each image standardised": changed(lambda X: StandardScaler().fit_transform(X.T).T),
    "lights on, 16 x 16": changed(halved),
    "lights on, 28 x 28": changed(inner),
}


def measured(y: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    return clustering_accuracy(y, labels), normalized_mutual_info_score(y, labels, average_method="max")


def chosen(Z: np.ndarray, y: np.ndarray, k: int, seed: int, init: str) -> dict[str, tuple[float, float]]:
    """What ten starts give, by which of them is kept."""
    runs = [KMeans(k, n_init=1, init=init, random_state=STARTS * seed + i).fit(Z) for i in range(STARTS)]
    found = np.array([measured(y, run.labels_) for run in runs])
    return {
        "best by objective": tuple(found[int(np.argmin([run.inertia_ for run in runs]))]),
        "best by accuracy": tuple(found.max(axis=0)),
        "mean of ten": tuple(found.mean(axis=0)),
    }


def draws(k: int) -> range:
    return range(1 if k == 68 else DRAWS)


def say(what: str, reading: str, found: np.ndarray, printed: np.ndarray) -> None:
    miss = 100 * (found - printed).ravel()
    within = f"{np.sum(np.abs(miss) <= 5):2} of {miss.size}"
    numbers = " ".join(f"{m:+6.1f}" for m in miss)
    print(f"{what:15} {reading:70} {np.abs(miss).mean():5.1f} {miss.mean():+6.1f}  {within} | {numbers}", flush=True)


def printed_4_5(column: str) -> np.ndarray:
    """Accuracies, then mutual informations."""
    return np.array([[thesis.CLUSTER_TABLE[k][m][COLUMNS[column]] for k in CLASSES] for m in (0, 1)])


def printed_6_1(column: str) -> np.ndarray:
    """Measure x classes x numbers of features."""
    row = {"Laplacian Score": 0, "variance": 1}[column]
    return np.array([[thesis.SCORE_TABLE[k][m][row] for k in CLASSES] for m in (0, 1)])


def over_classes(
    load: Callable[[], Data], represent: Callable[[np.ndarray, int], np.ndarray], init: str
) -> dict[str, np.ndarray]:
    """By which start is kept: measure x classes, means over the draws of people."""
    runs: dict[str, list[np.ndarray]] = {}
    for k in CLASSES:
        several = []
        for seed in draws(k):
            X, y = drawn(*load(), k, seed)
            several.append(chosen(represent(X, k), y, k, seed, init))
        for kept in several[0]:
            runs.setdefault(kept, []).append(np.mean([one[kept] for one in several], axis=0))
    return {kept: np.array(found).T for kept, found in runs.items()}


def raw(X: np.ndarray, k: int) -> np.ndarray:
    return X


def pca(X: np.ndarray, k: int) -> np.ndarray:
    return PCA(k, svd_solver="full").fit_transform(X)


PROJECTIONS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "k dimensions": pca,
    "k - 1 dimensions": lambda X, k: pca(X, k - 1),
    "without the mean taken off": lambda X, k: TruncatedSVD(k, random_state=0).fit_transform(X),
    "each column of length 1": lambda X, k: pca(X, k) / np.linalg.norm(pca(X, k), axis=0),
    "rows of length 1 before": lambda X, k: pca(normalize(X), k),
    "98 % of the variance": lambda X, k: PCA(0.98, svd_solver="full").fit_transform(X),
}


def lpp(graph: KNN, scaling: str = "constraint", less: int = 0) -> Callable[[np.ndarray, int], np.ndarray]:
    def represent(X: np.ndarray, k: int) -> np.ndarray:
        return LPP(
            min(k - less, len(X) - 1), graph=graph, scaling=scaling, center="degree", preset="paper"
        ).fit_transform(X)

    return represent


LPPS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "5 neighbours, heat": lpp(KNN(5)),
    "5 neighbours, weights 1": lpp(KNN(5, weights="binary")),
    "4 neighbours, heat": lpp(KNN(4)),
    "7 neighbours, heat": lpp(KNN(7)),
    "5 neighbours, heat, k - 1 dimensions": lpp(KNN(5), less=1),
    "5 neighbours, heat, unit directions": lpp(KNN(5), "unit"),
}


def table_4_5() -> None:
    print("Table 4.5, k-means, PCA and LPP: 5, 10, 30, 68 classes, accuracy and mutual information")
    for name, load in IMAGES.items():
        for init in ("k-means++", "random") if name == "21 with lights on" else ("k-means++",):
            for kept, found in over_classes(load, raw, init).items():
                say("4.5 k-means", f"{name}, {init}, {kept}", found, printed_4_5("k-means"))
                say("6.1 all pixels", f"{name}, {init}, {kept}", found, printed_6_1("variance")[:, :, -1])
    for name, represent in PROJECTIONS.items():
        for kept, found in over_classes(IMAGES["21 with lights on"], represent, "k-means++").items():
            say("4.5 PCA", f"{name}, {kept}", found, printed_4_5("PCA"))
    for images in ("21 with lights on", UNIT):
        for name, represent in LPPS.items():
            for kept, found in over_classes(IMAGES[images], represent, "k-means++").items():
                say("4.5 LPP", f"{images}, {name}, {kept}", found, printed_4_5("LPP"))


Order = Callable[[np.ndarray], np.ndarray]  # the lower, the sooner a pixel is taken
SELECTORS: dict[str, tuple[str, Order]] = {
    "variance": ("variance", lambda X: -X.var(axis=0)),
    "variance of images of unit length": ("variance", lambda X: -normalize(X).var(axis=0)),
    "score, cosine": ("Laplacian Score", thesis.SELECTORS["Laplacian Score"]),
    "score, heat": ("Laplacian Score", thesis.SELECTORS["Laplacian Score (Euclidean)"]),
    "score, weights 1": (
        "Laplacian Score",
        lambda X: LaplacianScore(graph=KNN(5, weights="binary"), preset="paper").fit(X).scores_,
    ),
    "score, heat, images of unit length": (
        "Laplacian Score",
        lambda X: LaplacianScore(graph=KNN(5), preset="paper").fit(normalize(X)).scores_,
    ),
    "score of all 68 people": ("Laplacian Score", lambda X: all_scores()),
}
_SCORES: dict[str, np.ndarray] = {}


def all_scores() -> np.ndarray:
    """Of the pixels over all people, whoever is drawn."""
    if not _SCORES:
        _SCORES["all"] = thesis.SELECTORS["Laplacian Score"](thesis.lit_faces("on")[0])
    return _SCORES["all"]


def selected(load: Callable[[], Data], order: Order, init: str, unit: bool) -> dict[str, np.ndarray]:
    """By which start is kept: measure x classes x numbers of pixels."""
    found: dict[str, list[np.ndarray]] = {}
    for n in SHOWN:

        def represent(X: np.ndarray, k: int, n: int = n) -> np.ndarray:
            pixels = X[:, np.argsort(order(X), kind="stable")[:n]]
            return normalize(pixels) if unit else pixels

        for kept, values in over_classes(load, represent, init).items():
            found.setdefault(kept, []).append(values)
    return {kept: np.stack(values, axis=-1) for kept, values in found.items()}


def table_6_1() -> None:
    print("Tables 6.1 and 6.2: 5, 10, 30, 68 classes with 20, 100 and 300 pixels each, accuracy and mutual information")
    at = [thesis.N_FEATURES.index(n) for n in SHOWN]
    for images in ("21 with lights on", UNIT, "21 with lights off", "all 42", "21 on and 3 off"):
        for name, (column, order) in SELECTORS.items():
            if images in ("21 with lights on", UNIT) or name in ("variance", "score, cosine"):
                for kept, found in selected(IMAGES[images], order, "k-means++", False).items():
                    if kept != "mean of ten":
                        say("6.1 and 6.2", f"{name}: {images}, {kept}", found, printed_6_1(column)[:, :, at])
    for name in ("variance", "score, cosine"):
        column, order = SELECTORS[name]
        for init, unit in (("random", False), ("k-means++", True)):
            found = selected(IMAGES["21 with lights on"], order, init, unit)["best by objective"]
            reading = f"{name}: {init}{', chosen pixels scaled to length 1' if unit else ''}"
            say("6.1 and 6.2", reading, found, printed_6_1(column)[:, :, at])


def main() -> None:
    wanted = sys.argv[1:] or ["4.5", "6.1"]
    if "4.5" in wanted:
        table_4_5()
    if "6.1" in wanted:
        table_6_1()


if __name__ == "__main__":
    main()
