"""Why the defaults are what they are: every choice beside its alternatives and rivals, on data as people have them.

    python benchmarks/defaults.py                      measure what is missing, then write docs/defaults.md
    python benchmarks/defaults.py supervised few       some studies only
    python benchmarks/defaults.py --only "*tuned"      some settings only
    python benchmarks/defaults.py --forget "LPP*"      measure these settings again
    python benchmarks/defaults.py --page               only write the page

Results are lines of JSON in out/defaults.jsonl. There is one line per data set, split, setting and version of the setting's
declaration, so that a run that was stopped goes on where it was. Data sets other than scikit-learn's are read from the folder
LAPWING_DATA, and those that it does not have are left out. All of it takes about 40 minutes of one core.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rivals import KernelCoordinates, KernelLDA, LabelledSVC, SelfTraining, ShrinkageLDA, Spreading, nearest, principal
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from lapwing import DNE, L21PCA, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP, KernelLPP, LaplacianEigenmaps
from lapwing.graphs import KNN, SameClass
from lapwing.problem import degree_sum, laplacian_sum

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out" / "defaults.jsonl"
Scores = dict[str, float]

# --- Data sets

OWN = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
FILES = {
    "ORL": "ORL_32x32",
    "Yale": "Yale_32x32",
    "Yale B": "YaleB_32x32",
    "PIE": "PIE_pose27_32x32",
    "PIE, 5 poses": "PIE_5pose_10people_32x32",
    "AR": "AR_100people_32x32",
    "UMIST": "UMIST_32x32",
    "COIL20": "COIL20",
    "USPS": "USPS_9298",
    "MNIST": "MNIST",
    "Fashion-MNIST": "FashionMNIST",
    "BinAlpha": "BinAlpha",
    "ISOLET1": "ISOLET1",
    "Libras": "Libras",
    "MFeat": "MFeat",
}
VIEWS = {
    "fou": (0, 76),
    "fac": (76, 292),
    "kar": (292, 356),
    "pix": (356, 596),
    "zer": (596, 643),
    "mor": (643, 649),
}  # of MFeat
PLANES: dict[str, Callable[[np.random.RandomState], tuple[np.ndarray, np.ndarray]]] = {
    "moons": lambda random: datasets.make_moons(800, noise=0.2, random_state=random),
    "xor": lambda random: (X := random.standard_normal((800, 2)), (X[:, 0] * X[:, 1] > 0).astype(int)),
    "spiral": lambda random: _spiral(random, np.arange(800) % 2),
}
TEXTS = {"Reuters": "Reuters21578", "TDT2": "TDT2", "20 Newsgroups": "20news_bydate"}
SETS = (*OWN, *FILES, *TEXTS)
LARGE = tuple(s for s in SETS if s not in ("iris", "wine", "breast cancer", "ORL", "Yale", "UMIST", "Libras"))
LIGHT = ("Yale B", "PIE", "PIE, 5 poses", "AR")  # faces under changing light
AT_MOST, TEST, LSI = 6000, 400, 200  # rows that are drawn from, rows that are tested, dimensions of texts


def _spiral(random: np.random.RandomState, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t = 3 * np.pi * np.sqrt(random.rand(y.size))
    X = t[:, None] * np.column_stack([np.cos(t + np.pi * y), np.sin(t + np.pi * y)])
    return X + 0.4 * random.standard_normal(X.shape), y


def folder() -> Path | None:
    return Path(os.environ["LAPWING_DATA"]) if os.environ.get("LAPWING_DATA") else None


def is_there(name: str) -> bool:
    name = name.split(" / ")[0]
    if name in OWN or name in PLANES:
        return True
    file = f"{FILES[name]}.npz" if name in FILES else f"{TEXTS[name]}_X.npz"
    return (folder() or Path("/nowhere")).joinpath(file).exists()


@cache
def whole(name: str) -> tuple[Any, np.ndarray]:
    """Rows and classes: of large sets 6,000 random rows; of texts the counts, of topics with at least 2 % of the documents."""
    if name in OWN:
        return OWN[name](return_X_y=True)
    path = folder()
    assert path is not None
    if name in TEXTS:
        X, y = sparse.load_npz(path / f"{TEXTS[name]}_X.npz").tocsr(), np.load(path / f"{TEXTS[name]}_y.npz")["y"]
        kept = np.flatnonzero((np.bincount(y)[y] >= 0.02 * y.size) & (np.diff(X.indptr) > 0))
        return X[kept].astype(np.float64), np.unique(y[kept], return_inverse=True)[1]
    data = np.load(path / f"{FILES[name]}.npz")
    rows = np.random.RandomState(0).permutation(data["y"].size)[:AT_MOST]
    return data["X"][rows].astype(np.float64), data["y"][rows]


def drawn(name: str, n_train: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and test rows with their classes, stratified; texts are tf-idf in 200 dimensions of LSI, both fitted to the
    training rows.
    """
    X, y = whole(name)
    split = StratifiedShuffleSplit(1, train_size=n_train, test_size=min(TEST, y.size - n_train), random_state=seed)
    train, test = next(split.split(y, y))
    A, B = X[train], X[test]
    if name in TEXTS:
        weights = TfidfTransformer(sublinear_tf=True).fit(A)
        A, B = weights.transform(A), weights.transform(B)
        lsi = TruncatedSVD(LSI, random_state=0).fit(A)
        A, B = lsi.transform(A), lsi.transform(B)
    return A, y[train], B, y[test]


def units(X: np.ndarray) -> float:
    """The largest standard deviation of a column over the median of those that are not constant."""
    spread = X.std(axis=0)
    return float(spread.max() / np.median(spread[spread > 0]))


THRESHOLD = 10.0


@dataclass
class Part:
    """Training rows A with classes y, test rows B with classes t; ``z`` is y with -1 where it is not known."""

    name: str
    A: np.ndarray
    y: np.ndarray
    B: np.ndarray
    t: np.ndarray
    seed: int
    z: np.ndarray = field(default_factory=lambda: np.empty(0))
    made: dict[Any, Any] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """The dimensions of a class graph."""
        return min(np.unique(self.y).size - 1, self.A.shape[1])

    @cached_property
    def divided(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns over their deviation."""
        spread = self.A.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        return self.A / spread, self.B / spread

    @property
    def ruled(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns over their deviation where the largest is more than ten times the median."""
        return self.divided if units(self.A) > THRESHOLD else (self.A, self.B)

    def spread(self, per: float = 50.0, form: str = "rule") -> float:
        """In how many directions the variance lies, (tr C)^2 / tr C^2 of the covariance C, over ``per``; at most 1."""
        values = self.coordinates(form)[0]
        return min(1.0, float(values.sum() ** 2 / (values**2).sum()) / per)

    def once(self, name: Any, make: Callable[[], Any]) -> Any:
        """What several settings share."""
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    def coordinates(self, form: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of squares along the principal directions, and the rows on them."""

        def make() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            A, B = self.ruled if form == "rule" else self.divided
            mean, N, values = principal(A)
            return values, (A - mean) @ N, (B - mean) @ N

        return self.once(form, make)

    def kernel(self, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same of an RBF kernel of that many times "scale"."""

        def make() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            found = KernelCoordinates(self.ruled[0], factor)
            return found.values, found.rows, found(self.ruled[1])

        return self.once(factor, make)

    def leaves(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """L and D of the neighbours and of the known classes, each of total degree n."""

        def make(graph: Any) -> tuple[np.ndarray, np.ndarray]:
            terms = graph.build(self.ruled[0], self.z if self.z.size else self.y)
            L, d = laplacian_sum(terms).toarray(), degree_sum(terms).diagonal()
            return L * d.size / d.sum(), d * d.size / d.sum()

        return self.once("leaves", lambda: [make(graph) for graph in (KNN(5), SameClass())])


def supervised_part(name: str, rows: int, seed: int) -> Part:
    """400 rows, or half of them; 1,500 rows, or three quarters."""
    n = whole(name)[1].size
    return Part(name, *drawn(name, min(rows, n // 2 if rows <= 400 else 3 * n // 4), seed), seed)


def narrow_part(name: str, rows: int, seed: int) -> Part:
    """Few columns: of a plane, a view of MFeat, 12 random columns, or principal components, fitted to the training rows."""
    base, _, what = name.partition(" / ")
    if base in PLANES:
        X, y = PLANES[base](np.random.RandomState(seed))
        return Part(name, X[:rows], y[:rows], X[rows:], y[rows:], seed)
    part = supervised_part(base, rows, seed)
    if what.startswith("PCA"):
        model = PCA(int(what.split()[1]), random_state=0).fit(part.A)
        A, B = model.transform(part.A), model.transform(part.B)
    else:
        varying = np.flatnonzero(part.A.std(axis=0) > 0)
        columns = slice(*VIEWS[what]) if what in VIEWS else np.random.RandomState(seed).permutation(varying)[:12]
        A, B = part.A[:, columns], part.B[:, columns]
    return Part(name, A, part.y, B, part.t, seed)


def few_part(name: str, percent: int, seed: int) -> Part:
    """800 training rows, of each class that share labelled, and at least one row."""
    part = supervised_part(name, 800, seed)
    random, known = np.random.RandomState(seed), []
    for c in np.unique(part.y):
        rows = random.permutation(np.flatnonzero(part.y == c))
        known.extend(rows[: max(1, round(percent / 100 * rows.size))])
    part.z = np.full(part.y.size, -1)
    part.z[known] = part.y[known]
    return part


# --- Scores


def retrieved(Z: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> Scores:
    """1-NN accuracy, and mean average precision of the training rows retrieved for each test row, in percent."""
    Z, T = Z.astype(np.float32), T.astype(np.float32)
    distances = (Z**2).sum(axis=1) - 2 * T @ Z.T
    relevant = y[np.argsort(distances, axis=1)] == t[:, None]
    hits = np.cumsum(relevant, axis=1)
    precision = (relevant * hits / np.arange(1, y.size + 1)).sum(axis=1) / np.maximum(hits[:, -1], 1)
    return {"1-NN": 100 * float(relevant[:, 0].mean()), "mAP": 100 * float(precision.mean())}


def labelled_neighbours(part: Part, Z: np.ndarray, T: np.ndarray) -> Scores:
    known = part.z >= 0
    return {"1-NN": 100 * nearest(Z[known], part.z[known], T, part.t)}


Setting = Callable[[Part], Scores]


def of(make: Callable[[Part], Any], ruled: bool = False, few: bool = False) -> Setting:
    """A setting: an estimator that is fitted to the training rows, and judged by the neighbours in its space."""

    def measured(part: Part) -> Scores:
        A, B = part.ruled if ruled else (part.A, part.B)
        model = make(part).fit(A, part.z if few else part.y)
        Z, T = np.asarray(model.transform(A)), np.asarray(model.transform(B))
        return labelled_neighbours(part, Z, T) if few else retrieved(Z, part.y, T, part.t)

    measured.declared = make  # type: ignore[attr-defined]
    return measured


def classifier(make: Callable[[], Any]) -> Setting:
    """One that predicts, and sees the labels that are known; columns are ruled."""

    def measured(part: Part) -> Scores:
        A, B = part.ruled
        return {"1-NN": 100 * make().fit(A, part.z if part.z.size else part.y).score(B, part.t)}

    measured.declared = make  # type: ignore[attr-defined]
    return measured


# --- Trials of what the library does not do by default, on decompositions that they share

LENGTHS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "unit": lambda V, values: 1 / np.linalg.norm(V, axis=0),
    "constraint": lambda V, values: np.ones(values.size),
    "constraint / sqrt(eigenvalue)": lambda V, values: 1 / np.sqrt(np.maximum(values, 1e-9)),
    "constraint x (1 - eigenvalue)": lambda V, values: np.maximum(1 - values, 1e-3),
    "unit x sqrt(1 - eigenvalue)": lambda V, values: np.sqrt(np.maximum(1 - values, 1e-6)) / np.linalg.norm(V, axis=0),
}


def class_directions(values: np.ndarray, Z: np.ndarray, y: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """LPP with the class graph and a ridge, in principal coordinates: the smallest eigenvalues and their directions.

    The constraint is the total scatter and A the scatter within classes, so that only the class means are left of the pencil.
    """
    codes = np.unique(y, return_inverse=True)[1]
    means = np.array([np.sqrt((codes == c).sum()) * Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    roots = 1 / np.sqrt(values + ridge)
    _, s, R = np.linalg.svd(means * roots, full_matrices=False)
    k = min(codes.max(), values.size)
    return 1 - np.minimum(s[:k] ** 2, 1 - 1e-9), roots[:, None] * R[:k].T


def by_classes(ridge: float, form: str = "rule", factor: float | None = None, length: str = "unit") -> Setting:
    """The class graph with that ridge, in units of the mean eigenvalue; with a kernel of ``factor`` times "scale"."""

    def measured(part: Part) -> Scores:
        values, Z, T = part.coordinates(form) if factor is None else part.kernel(factor)
        unit = values.sum() / (values.size if factor is None else len(Z))
        eigenvalues, V = class_directions(values, Z, part.y, ridge * unit)
        V = V * LENGTHS[length](V, eigenvalues)
        return retrieved(Z @ V, part.y, T @ V, part.t)

    return measured


def by_spread(per: float, form: str) -> Setting:
    """The class graph with a ridge of as many mean eigenvalues as the constraint has effective directions, over ``per``."""
    return lambda part: by_classes(part.spread(per, form), form)(part)


def kernel_by_spread(per: float) -> Setting:
    """The class graph with a kernel that is the wider, the fewer directions hold the variance."""
    return lambda part: by_classes(0.03, factor=part.spread(per))(part)


def pencil(
    Z: np.ndarray, L: np.ndarray, d: np.ndarray, ridge: float, k: int, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues, directions and mean of (A - s B) v = (l - s) (B + r I) v in coordinates Z."""
    mean = d @ Z / d.sum()
    F = Z - mean
    A, B = F.T @ (L @ F), (F.T * d) @ F
    shift = np.diagonal(L).sum() / d.sum() if ridge else 0.0
    added = ridge * np.trace(B) / size + 1e-12 * np.trace(B) / len(B)
    k = min(k, len(B))
    values, V = eigh(A - shift * B, B + added * np.eye(len(B)), subset_by_index=[0, k - 1])
    return values + shift, V, mean


def kept(values: np.ndarray, k: int, energy: float | None) -> int:
    """Principal directions of that share of the variance, at least 1.25 per component; None is all."""
    if energy is None:
        return values.size
    share = 1 + int(np.searchsorted(np.cumsum(values), energy * values.sum() * (1 - 1e-12)))
    return min(max(share, int(np.ceil(1.25 * k))), values.size)


def by_graph(
    k: int,
    weights: tuple[float, float] = (1.0, 0.0),
    energy: float | None = 0.9,
    ridge: float = 0.0,
    factor: float | None = None,
    length: str = "unit",
) -> Setting:
    """Neighbours and known classes, each of total degree n and then weighted; truncation and ridge as given."""

    def measured(part: Part) -> Scores:
        values, Z, T = part.coordinates("rule") if factor is None else part.kernel(factor)
        p = kept(values, k, energy)
        (L, d), (M, e) = part.leaves()
        a, b = weights
        eigenvalues, V, mean = pencil(Z[:, :p], a * L + b * M, a * d + b * e, ridge, k, p if factor is None else len(Z))
        V = V * LENGTHS[length](V, eigenvalues)
        Z, T = (Z[:, :p] - mean) @ V, (T[:, :p] - mean) @ V
        return labelled_neighbours(part, Z, T) if part.z.size else retrieved(Z, part.y, T, part.t)

    return measured


# --- The studies

RIDGES = (0.03, 0.1, 0.3, 1.0)
KERNEL_RIDGES = (0.003, 0.01, 0.03, 0.1)
FACTORS = (0.25, 0.5, 1.0)
SPREADS = (30, 50, 100)
HAS = LPP().get_params(deep=False).keys()  # of the library as it is
PLAIN = {"standardize": False} if "standardize" in HAS else {}


def before(part: Part, kernel: bool = False) -> Any:
    """The class graph as it was before there was a ridge: truncation to 90 %, all of it with fewer than 10 rows per class."""
    values = part.kernel(1.0)[0] if kernel else part.coordinates("rule")[0]
    energy = None if np.bincount(part.y)[np.unique(part.y)].mean() < 10 else 0.9
    given = {"graph": SameClass(), "pca": kept(values, part.k, energy), "scaling": "unit", **PLAIN}
    return KernelLPP(part.k, gamma="scale", **given) if kernel else LPP(part.k, ridge=0, **given)


SUPERVISED: dict[str, Setting] = {
    "features as they are": lambda part: retrieved(part.A, part.y, part.B, part.t),
    "shrinkage LDA, tuned": of(lambda part: ShrinkageLDA(), ruled=True),
    "kernel PCA + shrinkage LDA, tuned": of(lambda part: KernelLDA(), ruled=True),
    "LPP": of(lambda part: LPP(part.k, graph=SameClass()), ruled="standardize" not in HAS),
    "KernelLPP": of(lambda part: KernelLPP(part.k, graph=SameClass()), ruled="standardize" not in HAS),
    "MMC": of(lambda part: MMC(part.k), ruled="standardize" not in HAS),
    "LPP, truncation": of(lambda part: before(part), ruled=True),
    "KernelLPP, truncation": of(lambda part: before(part, kernel=True), ruled=True),
    **{
        f"class graph, {form}, ridge {ridge}": by_classes(ridge, form)
        for form in ("rule", "diagonal")
        for ridge in RIDGES
    },
    **{
        f"class graph, {form}, ridge by spread / {per}": by_spread(per, form)
        for form in ("rule", "diagonal")
        for per in SPREADS
    },
    **{f"kernel class graph, gamma by spread / {per}, ridge 0.03": kernel_by_spread(per) for per in SPREADS},
    **{f"class graph, rule, ridge 0.3, {length}": by_classes(0.3, length=length) for length in [*LENGTHS][1:]},
    **{
        f"kernel class graph, gamma {factor}, ridge {ridge}": by_classes(ridge, factor=factor)
        for factor in FACTORS
        for ridge in KERNEL_RIDGES
    },
    **{
        f"kernel class graph, gamma 0.25, ridge 0.03, {length}": by_classes(0.03, factor=0.25, length=length)
        for length in [*LENGTHS][1:]
    },
}
# What was chosen on 400 rows is measured there alone, but for what comes close to the choice.
ONCE = ("kernel class graph", "class graph, rule, ridge 0.3,")
AGAIN = tuple(f"kernel class graph, gamma {gamma}, ridge 0.03" for gamma in (0.25, 0.5, "by spread / 50"))

DIMENSIONS = 40
NEIGHBOURS: dict[str, Setting] = {
    "spectrum": lambda part: _spectrum(part),
    "PCA": lambda part: _pca(part, DIMENSIONS),
    "LPP": of(lambda part: LPP(_at_most(part), graph=5), ruled="standardize" not in HAS),
    "truncation, unit": by_graph(DIMENSIONS),
    "truncation, constraint": by_graph(DIMENSIONS, length="constraint"),
    "truncation, constraint / sqrt(eigenvalue)": by_graph(DIMENSIONS, length="constraint / sqrt(eigenvalue)"),
    "truncation, constraint x (1 - eigenvalue)": by_graph(DIMENSIONS, length="constraint x (1 - eigenvalue)"),
    "truncation and ridge 0.1": by_graph(DIMENSIONS, ridge=0.1),
    "ridge 0.3": by_graph(DIMENSIONS, energy=None, ridge=0.3),
    "ridge 1": by_graph(DIMENSIONS, energy=None, ridge=1.0),
    "kernel, gamma 1": by_graph(DIMENSIONS, factor=1.0),
    "kernel, gamma 0.5": by_graph(DIMENSIONS, factor=0.5),
    "kernel, gamma 0.25": by_graph(DIMENSIONS, factor=0.25),
    "kernel, gamma by spread / 50": lambda part: by_graph(DIMENSIONS, factor=part.spread())(part),
    "kernel, gamma 0.5, ridge 0.03": by_graph(DIMENSIONS, factor=0.5, energy=None, ridge=0.03),
    "kernel, gamma 0.5, constraint": by_graph(DIMENSIONS, factor=0.5, length="constraint"),
    "all labels, classes alone": by_classes(0.3),
    "all labels, weights 1:1, ridge 0.3": by_graph(DIMENSIONS, (1, 1), energy=None, ridge=0.3),
    "all labels, weights 1:1, ridge 1": by_graph(DIMENSIONS, (1, 1), energy=None, ridge=1.0),
    "all labels, weights as they are": lambda part: _as_they_are(part, None),
    "all labels, kernel, classes alone": by_classes(0.03, factor=0.25),
    "all labels, kernel, weights 1:1, truncation and ridge 0.3": by_graph(DIMENSIONS, (1, 1), factor=0.25, ridge=0.3),
}


def _at_most(part: Part) -> int:
    return min(DIMENSIONS, part.coordinates("rule")[0].size)


def _spectrum(part: Part) -> Scores:
    """What three principal components hold, and how many hold 98 % of the variance."""
    shares = np.cumsum(part.coordinates("rule")[0])
    shares /= shares[-1]
    return {"three": float(shares[:3][-1]), "98 %": 1.0 + float(np.searchsorted(shares, 0.98))}


def _pca(part: Part, k: int) -> Scores:
    _, Z, T = part.coordinates("rule")
    return retrieved(Z[:, :k], part.y, T[:, :k], part.t)


FEW_SETS = ("digits", "COIL20", "USPS", "MNIST", "Fashion-MNIST", "ISOLET1", "MFeat", "PIE, 5 poses", *TEXTS)
SEMI = KNN(5) + SameClass()
FEW: dict[str, Setting] = {
    "features as they are": lambda part: labelled_neighbours(part, *part.ruled),
    "SVC, tuned": classifier(lambda: LabelledSVC()),
    "self-training, above 0.5": classifier(lambda: SelfTraining(0.5)),
    "self-training, above 0.75": classifier(lambda: SelfTraining(0.75)),
    "label spreading, 5 neighbours": classifier(lambda: Spreading(5)),
    "label spreading, 10 neighbours": classifier(lambda: Spreading(10)),
    "label spreading, RBF": classifier(lambda: Spreading(None)),
    "LPP": of(lambda part: LPP(_at_most(part), graph=SEMI), ruled="standardize" not in HAS, few=True),
    "KernelLPP": of(lambda part: KernelLPP(DIMENSIONS, graph=SEMI), ruled="standardize" not in HAS, few=True),
    "LPP, class graph alone": lambda part: _known_alone(part),
    "weights as they are": lambda part: _as_they_are(part, None),
    "kernel, weights as they are": lambda part: _as_they_are(part, 0.5),
    **{
        f"weights {a}:{b}, {how}": by_graph(DIMENSIONS, (a, b), **options)
        for a, b in ((1, 1), (3, 1))
        for how, options in {
            "truncation": {},
            "ridge 0.3": {"energy": None, "ridge": 0.3},
            "ridge 1": {"energy": None, "ridge": 1.0},
        }.items()
    },
    **{
        f"kernel, weights {a}:{b}, {how}": by_graph(DIMENSIONS, (a, b), factor=0.25, **options)
        for a, b in ((1, 1), (3, 1))
        for how, options in {
            "truncation": {},
            "ridge 0.03": {"energy": None, "ridge": 0.03},
            "ridge 1": {"energy": None, "ridge": 1.0},
        }.items()
    },
    "kernel, weights 1:1, truncation and ridge 0.3": by_graph(DIMENSIONS, (1, 1), factor=0.25, ridge=0.3),
    "kernel by spread, weights 1:1, truncation and ridge 0.3": lambda part: by_graph(
        DIMENSIONS, (1, 1), factor=part.spread(), ridge=0.3
    )(part),
    "kernel by spread, weights 1:1, ridge 0.03": lambda part: by_graph(
        DIMENSIONS, (1, 1), factor=part.spread(), energy=None, ridge=0.03
    )(part),
    "kernel by spread, weights 1:1, ridge 1": lambda part: by_graph(
        DIMENSIONS, (1, 1), factor=part.spread(), energy=None, ridge=1.0
    )(part),
    "weights 1:1, ridge by spread": lambda part: by_graph(DIMENSIONS, (1, 1), energy=None, ridge=part.spread())(part),
}


def _known_alone(part: Part) -> Scores:
    k = part.z >= 0
    _, Z, T = part.coordinates("rule")
    model = LPP(min(np.unique(part.z[k]).size - 1, Z.shape[1]), graph=SameClass(), pca=None, ridge=0.3, **PLAIN)
    model.fit(Z[k], part.z[k])
    return labelled_neighbours(part, model.transform(Z), model.transform(T))


def _as_they_are(part: Part, factor: float | None) -> Scores:
    """KNN + SameClass without scaling, truncated: as it was before."""
    (_, _), (_, e) = part.leaves()
    terms = KNN(5).build(part.ruled[0])
    total = degree_sum(terms).diagonal().sum()
    known = (part.z >= 0).mean() if part.z.size else 1.0
    return by_graph(DIMENSIONS, (total / e.size, known), factor=factor)(part)


CLUSTERED = (
    "digits",
    "ORL",
    "Yale",
    "UMIST",
    "COIL20",
    "USPS",
    "MNIST",
    "Fashion-MNIST",
    "ISOLET1",
    "Libras",
    "MFeat",
    *TEXTS,
)


def _clusters(unit_rows: bool, skipped: int = 1) -> Setting:
    """k-means of Laplacian eigenmaps in as many dimensions as classes, less one; rows of unit length or not."""

    def measured(part: Part) -> Scores:
        k = np.unique(part.y).size
        Q = LaplacianEigenmaps(k - skipped, graph=10).fit(part.ruled[0]).embedding_
        labels = KMeans(k, n_init=10, random_state=part.seed).fit_predict(normalize(Q) if unit_rows else Q)
        return {"NMI": 100 * float(normalized_mutual_info_score(part.y, labels))}

    return measured


CLUSTERS: dict[str, Setting] = {
    "k-means": lambda part: {
        "NMI": 100
        * float(
            normalized_mutual_info_score(
                part.y,
                KMeans(np.unique(part.y).size, n_init=10, random_state=part.seed).fit_predict(part.ruled[0]),
            )
        )
    },
    "rows as they are": _clusters(False),
    "rows of unit length": _clusters(True),
    "rows of unit length, as many dimensions as classes": _clusters(True, 0),
}

TABLES = ("iris", "wine", "breast cancer", "digits", "MFeat", "Libras", "ISOLET1", *TEXTS)


def _columns(how: str, make: Callable[[Part], Any]) -> Setting:
    """Columns as they are, by the rule, or always over their deviation."""

    def measured(part: Part) -> Scores:
        A, B = {"as they are": (part.A, part.B), "by the rule": part.ruled, "always divided": part.divided}[how]
        model = make(part).fit(A, part.y)
        return retrieved(model.transform(A), part.y, model.transform(B), part.t)

    measured.declared = make  # type: ignore[attr-defined]
    return measured


UNIT_METHODS: dict[str, Callable[[Part], Any]] = {
    "LPP, classes": lambda part: LPP(part.k, graph=SameClass(), pca=None, ridge=0.3, **PLAIN),
    "LPP, neighbours": lambda part: LPP(_at_most(part), graph=5, **PLAIN),
    "MMC": lambda part: MMC(part.k, **PLAIN),
    "KernelLPP, neighbours": lambda part: KernelLPP(DIMENSIONS, graph=5, **PLAIN),
}
UNITS: dict[str, Setting] = {
    "ratio": lambda part: {"ratio": units(part.A)},
    **{
        f"{method}, {how}": _columns(how, make)
        for method, make in UNIT_METHODS.items()
        for how in ("as they are", "by the rule", "always divided")
    },
}


NARROW_SETS = (
    *("iris", "wine", "breast cancer", *PLANES),
    *(f"MFeat / {view}" for view in VIEWS),
    *(f"{name} / 12 columns" for name in ("breast cancer", "digits", "USPS", "ISOLET1", "Libras", "Fashion-MNIST")),
    *(
        f"{name} / PCA {p}"
        for name in ("digits", "ORL", "Yale B", "PIE", "USPS", "ISOLET1", "MFeat", "20 Newsgroups")
        for p in (10, 50)
    ),
)


def _of_scale(share: float) -> Callable[[Part], Any]:
    return lambda part: KernelLPP("auto", graph="supervised", gamma=share / (part.A.shape[1] * part.ruled[0].var()))


NARROW: dict[str, Setting] = {
    "shrinkage LDA, tuned": of(lambda part: ShrinkageLDA(), ruled=True),
    "LPP": of(lambda part: LPP("auto", graph="supervised")),
    "LPP, unit length": of(lambda part: LPP("auto", graph="supervised", scaling="unit")),
    "LPP, always divided": of(lambda part: LPP("auto", graph="supervised", standardize=True)),
    "LPP, always divided, unit length": of(
        lambda part: LPP("auto", graph="supervised", standardize=True, scaling="unit")
    ),
    "LPP, never divided": of(lambda part: LPP("auto", graph="supervised", standardize=False)),
    "KernelLPP": of(lambda part: KernelLPP("auto", graph="supervised")),
    **{f"KernelLPP, gamma {share} of scale": of(_of_scale(share), ruled=True) for share in (0.25, 1.0)},
    "KernelLPP, gamma by spread / 50 alone": of(lambda part: _of_scale(part.spread())(part), ruled=True),
}


def _corrupted(center: str | None, one_sided: bool, n: int, rank: int) -> Setting:
    """A plane of that rank in 40 dimensions, a fifth of the rows grossly corrupted: how far the directions are from the truth."""

    def measured(part: Part) -> Scores:
        random = np.random.RandomState(part.seed)
        truth = np.linalg.qr(random.standard_normal((40, rank)))[0]
        X = 10 * random.standard_normal((n, rank)) @ truth.T + 0.05 * random.standard_normal((n, 40)) + 5
        noise = 8 * random.standard_normal((n // 5, 40))
        X[random.permutation(n)[: n // 5]] += np.abs(noise) if one_sided else noise
        model = PCA(rank) if center is None else L21PCA(rank, center=center)
        return {"radians": float(subspace_angles(model.fit(X).components_.T, truth).max())}

    return measured


ROBUST: dict[str, Setting] = {
    f"{name}, {'one side' if side else 'all sides'}, {n} rows, rank {rank}": _corrupted(center, side, n, rank)
    for side, n, rank in (
        (True, 200, 3),
        (True, 400, 5),
        (True, 200, 1),
        (False, 200, 3),
        (False, 400, 5),
        (False, 200, 1),
    )
    for name, center in {"PCA": None, "mean": "mean", "median": "median"}.items()
}

TRUNCATED = ("digits", "ORL", "Yale", "USPS", "COIL20", "ISOLET1", "MFeat")
OTHERS: dict[str, Callable[[int], Any]] = {
    "LPP": lambda k: LPP(k, **PLAIN),
    "OLPP": lambda k: OLPP(k, **PLAIN),
    "OLPP, class graph": lambda k: OLPP(k, graph=SameClass(), **PLAIN),
    "NPE": lambda k: NPE(k, **PLAIN),
    "ONPP": lambda k: ONPP(k, **PLAIN),
    "MMC": lambda k: MMC(k, **PLAIN),
    "LPDP": lambda k: LPDP(k, **PLAIN),
    "MFA": lambda k: MFA(k, **PLAIN),
    "DNE": lambda k: DNE(k, **PLAIN),
}
ENERGIES = ("auto", None, 0.9, 0.95, 0.98, 0.99)


def _truncated(make: Callable[[int], Any], energy: Any) -> Setting:
    """In as many components as classes, less one; None where the energy keeps fewer directions than that."""

    def measured(part: Part) -> Scores:
        A, B = part.ruled
        model = make(part.k).set_params(pca=energy)
        try:
            model.fit(A, part.y)
        except ValueError as error:
            if "n_components" not in str(error):
                raise
            return {}
        return retrieved(model.transform(A), part.y, model.transform(B), part.t)

    measured.declared = make  # type: ignore[attr-defined]
    return measured


TRUNCATION: dict[str, Setting] = {
    f"{method}, {energy}": _truncated(make, energy) for method, make in OTHERS.items() for energy in ENERGIES
}


@dataclass(frozen=True)
class Study:
    """Settings, each measured on the parts of data sets: of so many rows (or percent of labels), so often."""

    settings: Mapping[str, Setting]
    sets: Sequence[str]
    sizes: Mapping[int, int]  # rows (or percent) and the number of splits
    part: Callable[[str, int, int], Part] = supervised_part

    def tasks(self) -> Iterator[tuple[str, int, int]]:
        """Name, size and seed of every part: of each size all data sets with the first seed, then with the second."""
        for size, splits in self.sizes.items():
            names = [name for name in self.sets if (size <= 800 or name in LARGE) and is_there(name)]
            yield from ((name, size, seed) for seed in range(splits) for name in names)

    def wanted(self, size: int) -> list[str]:
        if size < 1500:
            return [*self.settings]
        return [s for s in self.settings if s in AGAIN or not s.startswith(ONCE)]


STUDIES = {
    "supervised": Study(SUPERVISED, SETS, {400: 10, 1500: 3}),
    "neighbours": Study(NEIGHBOURS, SETS, {400: 3}),
    "few": Study(FEW, FEW_SETS, {5: 3, 10: 3}, few_part),
    "clusters": Study(CLUSTERS, CLUSTERED, {800: 3}),
    "units": Study(UNITS, TABLES, {400: 3}),
    "narrow": Study(NARROW, NARROW_SETS, {400: 5}, narrow_part),
    "robust": Study(ROBUST, ("iris",), {400: 5}),
    "truncation": Study(TRUNCATION, TRUNCATED, {400: 3}),
}


# --- Results, kept


def version(setting: Setting) -> str:
    """Of the declaration: what is measured again when it changes."""
    declared = getattr(setting, "declared", setting)
    bound = [cell.cell_contents for cell in declared.__closure__ or () if not callable(cell.cell_contents)]
    text = inspect.getsource(declared) + repr(bound)
    if "LPP" in text or "MMC" in text:  # which change with the library
        text += repr([method().get_params() for method in (LPP, KernelLPP, MMC)])
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:8]


def read(results: Path = OUT) -> list[dict[str, Any]]:
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("study", "set", "size", "split", "setting", "version"))


def forget(pattern: str, results: Path = OUT) -> None:
    kept_rows = [row for row in read(results) if not fnmatch.fnmatch(row["setting"], pattern)]
    results.write_text("".join(json.dumps(row) + "\n" for row in kept_rows))


def measure(names: Sequence[str], only: str = "*", results: Path = OUT) -> None:
    """What is missing, one part at a time."""
    results.parent.mkdir(exist_ok=True)
    done = {key(row) for row in read(results)}
    for study_name in names:
        study = STUDIES[study_name]
        versions = {name: version(setting) for name, setting in study.settings.items()}
        tasks = list(study.tasks())
        for number, (name, size, split) in enumerate(tasks, 1):
            where = {"study": study_name, "set": name, "size": size, "split": split}
            missing = [
                s
                for s in fnmatch.filter(study.wanted(size), only)
                if key(where | {"setting": s, "version": versions[s]}) not in done
            ]
            if missing:
                for row in _measured(study, study.part(name, size, split), where, versions, missing):
                    with results.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                print(f"{study_name}: {number} of {len(tasks)}, {name}, {size}, split {split}", file=sys.stderr)


def _measured(
    study: Study, part: Part, where: Mapping[str, Any], versions: Mapping[str, str], missing: Sequence[str]
) -> Iterator[dict[str, Any]]:
    for setting in missing:
        start = perf_counter()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # graphs in pieces, units, ties: what is measured here
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # label spreading of rows that no label reaches
            values = {name: round(value, 4) for name, value in study.settings[setting](part).items()}
        row = {**where, "setting": setting, "version": versions[setting]}
        yield row | {"values": values, "seconds": round(perf_counter() - start, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", choices=[*STUDIES, []], help="all, if none is named")
    parser.add_argument("--page", action="store_true", help="only write docs/defaults.md from what was measured")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="measure the settings of that name")
    parser.add_argument("--forget", metavar="PATTERN", help="measure the settings of that name again")
    parser.add_argument("--output", metavar="FOLDER", type=Path, default=OUT.parent, help="of the results")
    args = parser.parse_args()
    results = args.output / OUT.name
    if args.forget:
        forget(args.forget, results)
    if not args.page:
        measure(args.studies or [*STUDIES], args.only, results)
    from defaults_page import page

    (ROOT / "docs" / "defaults.md").write_text(page(read(results)))


if __name__ == "__main__":
    main()
