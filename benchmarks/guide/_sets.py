"""The labelled sets of the comparison, which of them are new to the defaults, and how they are split and prepared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from lapwing_papers.experiments._data import dataset

from ._rivals import principal

AT_MOST, LSI = 6000, 200  # rows of large sets that are drawn from, dimensions of texts
FIRST_SEED = 1000  # benchmarks/defaults.py, which chose the defaults, has seeds from 0 on


@dataclass(frozen=True)
class LabelledSet:
    """A set and how it is read.

    Attributes
    ----------
    name : str
    kind : str
        "table", "image" or "text".
    read : callable
        Takes ``source``, gives rows and classes.
    source : str
    new : bool
        Whether it took no part when the defaults were chosen.
    public : bool
        Whether scikit-learn ships or makes it.
    """

    name: str
    kind: str
    read: Callable[[str], tuple[Any, np.ndarray]]
    source: str = ""
    new: bool = False
    public: bool = False


def shipped(name: str) -> tuple[np.ndarray, np.ndarray]:
    """One that scikit-learn has built in."""
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def diabetes_in_thirds(name: str) -> tuple[np.ndarray, np.ndarray]:
    """442 patients, 10 measurements; the classes are thirds of the progression of the disease."""
    X, y = datasets.load_diabetes(return_X_y=True)
    return X, np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)


def waveform(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's waveforms: two of three triangles mixed at random and blurred in 21 columns, and 19 columns of noise."""
    random, n = np.random.RandomState(0), 2000
    i = np.arange(1, 22)
    triangles = np.array([np.maximum(6 - np.abs(i - center), 0) for center in (7, 15, 11)])
    y, share = random.randint(3, size=n), random.rand(n, 1)
    first, second = np.array([0, 0, 1])[y], np.array([1, 2, 2])[y]
    X = share * triangles[first] + (1 - share) * triangles[second]
    return np.hstack([X, np.zeros((n, 19))]) + random.standard_normal((n, 40)), y


SEGMENTS = (
    "1110111",
    "0010010",
    "1011101",
    "1011011",
    "0111010",
    "1101011",
    "1101111",
    "1010010",
    "1111111",
    "1111011",
)


def led(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's display: seven segments of a digit, each wrong one time in ten, and 17 columns of noise."""
    random, n = np.random.RandomState(0), 2000
    y = random.randint(10, size=n)
    segments = np.array([[int(s) for s in digit] for digit in SEGMENTS])[y] ^ (random.rand(n, 7) < 0.1)
    return np.hstack([segments, random.randint(2, size=(n, 17))]).astype(float), y


def ringnorm(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's rings: a normal class of unit variance inside one of variance 4, in 20 columns."""
    random, n = np.random.RandomState(0), 2000
    y = random.randint(2, size=n)
    X = random.standard_normal((n, 20))
    return np.where(y[:, None] == 0, 2 * X, X + 2 / np.sqrt(20)), y


def nuisance(name: str) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's ``make_classification``: 12 of 60 columns tell, and columns have unlike units."""
    X, y = datasets.make_classification(
        2000,
        n_features=60,
        n_informative=8,
        n_redundant=4,
        n_classes=5,
        n_clusters_per_class=2,
        class_sep=1.5,
        random_state=0,
    )
    return X * np.exp(2 * np.random.RandomState(0).standard_normal(60)), y


def made_people(name: str) -> tuple[np.ndarray, np.ndarray]:
    """40 classes of 20 rows: 15 numbers of a class, 10 larger ones of the circumstances, mixed into 100 columns with noise."""
    random, n_classes, rows = np.random.RandomState(0), 40, 20
    y = np.repeat(np.arange(n_classes), rows)
    identity = random.standard_normal((n_classes, 15))[y]
    circumstances = 3 * random.standard_normal((y.size, 10))
    mixing = random.standard_normal((25, 100))
    return np.hstack([identity, circumstances]) @ mixing + 2 * random.standard_normal((y.size, 100)), y


def from_file(name: str) -> tuple[Any, np.ndarray]:
    """A set of :mod:`lapwing_papers.datasets`; of documents those that are not empty, in topics of at least 2 % of them."""
    bunch = dataset(name)
    X, y = bunch.data, bunch.target
    if not isinstance(X, np.ndarray):
        kept = np.flatnonzero((np.bincount(y)[y] >= 0.02 * y.size) & (np.diff(X.indptr) > 0))
        return X[kept].astype(float), np.unique(y[kept], return_inverse=True)[1]
    rows = np.random.RandomState(0).permutation(y.size)[:AT_MOST]
    return X[rows], y[rows]


SETS = {
    each.name: each
    for each in (
        LabelledSet("iris", "table", shipped, "iris", public=True),
        LabelledSet("wine", "table", shipped, "wine", public=True),
        LabelledSet("breast cancer", "table", shipped, "breast_cancer", public=True),
        LabelledSet("digits", "image", shipped, "digits", public=True),
        LabelledSet("diabetes in thirds", "table", diabetes_in_thirds, new=True, public=True),
        LabelledSet("waveform", "table", waveform, new=True, public=True),
        LabelledSet("LED display", "table", led, new=True, public=True),
        LabelledSet("ringnorm", "table", ringnorm, new=True, public=True),
        LabelledSet("nuisance columns", "table", nuisance, new=True, public=True),
        LabelledSet("made-up people", "table", made_people, new=True, public=True),
        LabelledSet("Libras", "table", from_file, "libras"),
        LabelledSet("ISOLET1", "table", from_file, "isolet"),
        LabelledSet("MFeat", "table", from_file, "mfeat"),
        LabelledSet("ORL", "image", from_file, "orl:32x32"),
        LabelledSet("Yale", "image", from_file, "yale:32x32"),
        LabelledSet("Yale B", "image", from_file, "yale_b:32x32"),
        LabelledSet("PIE", "image", from_file, "pie:pose27"),
        LabelledSet("PIE, 5 poses", "image", from_file, "pie:5poses"),
        LabelledSet("AR", "image", from_file, "ar:100people"),
        LabelledSet("AR, 99 people", "image", from_file, "ar:99people", new=True),
        LabelledSet("UMIST", "image", from_file, "umist:32x32"),
        LabelledSet("COIL20", "image", from_file, "coil20"),
        LabelledSet("USPS", "image", from_file, "usps:9298"),
        LabelledSet("MNIST", "image", from_file, "mnist"),
        LabelledSet("Fashion-MNIST", "image", from_file, "fashion_mnist"),
        LabelledSet("BinAlpha", "image", from_file, "binalpha"),
        LabelledSet("Reuters", "text", from_file, "reuters"),
        LabelledSet("TDT2", "text", from_file, "tdt2"),
        LabelledSet("20 Newsgroups", "text", from_file, "20newsgroups"),
    )
}


class Part(NamedTuple):
    """Training rows with classes, and new rows with theirs.

    Both are there as they come, in comparable units, and in these units in all principal directions of the training rows where
    they have more columns than that: the distances to training rows are in the same order, and all methods are faster.
    """

    y: np.ndarray
    y_new: np.ndarray
    raw: tuple[np.ndarray, np.ndarray]
    in_units: tuple[np.ndarray, np.ndarray]
    prepared: tuple[np.ndarray, np.ndarray]


@cache
def rows_of(name: str) -> tuple[Any, np.ndarray]:
    each = SETS[name]
    return each.read(each.source)


def split(name: str, n_train: int, n_new: int, seed: int) -> Part:
    """A random stratified half for training, at most ``n_train`` rows, and at most ``n_new`` of the others."""
    y = rows_of(name)[1]
    sizes = {"train_size": min(n_train, y.size // 2), "test_size": min(n_new, y.size - y.size // 2)}
    train, new = next(StratifiedShuffleSplit(1, **sizes, random_state=FIRST_SEED + seed).split(y, y))
    return part(name, train, new)


def split_classes(name: str, most: int, seed: int) -> Part:
    """Half of the classes for training and the other half as new ones, at most ``most`` rows of each half."""
    y = rows_of(name)[1]
    random = np.random.RandomState(FIRST_SEED + seed)
    classes = random.permutation(np.unique(y))
    known = np.isin(y, classes[: classes.size // 2])
    train, new = (random.permutation(np.flatnonzero(mask))[:most] for mask in (known, ~known))
    return part(name, train, new)


def part(name: str, train: np.ndarray, new: np.ndarray) -> Part:
    """Texts become tf-idf in 200 dimensions of LSI. The training rows decide this, the units, and the principal directions."""
    X, y = rows_of(name)
    A, B = X[train], X[new]
    if SETS[name].kind == "text":
        A, B = fitted(TfidfTransformer(sublinear_tf=True), A, B)
        A, B = fitted(TruncatedSVD(LSI, random_state=0), A, B)
    units = prepared = in_units(A, B, SETS[name].kind)
    if A.shape[1] > len(A):
        mean, N, _ = principal(units[0])
        prepared = (units[0] - mean) @ N, (units[1] - mean) @ N
    classes = np.union1d(y[train], y[new])
    known = np.isin(classes, y[train])
    code = np.empty(classes.size, dtype=int)  # classes of training rows first
    code[known], code[~known] = np.arange(known.sum()), known.sum() + np.arange((~known).sum())
    y_train, y_new = (code[np.searchsorted(classes, y[rows])] for rows in (train, new))
    return Part(y_train, y_new, (A, B), units, prepared)


def in_units(A: np.ndarray, B: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns of a table are standardised, each by itself; pixels and dimensions of texts have one unit for all."""
    scaler = StandardScaler().fit(A)
    if kind != "table":
        scaler.scale_ = np.full(A.shape[1], np.sqrt(A.var(axis=0).mean()))
    return scaler.transform(A), scaler.transform(B)


def fitted(transformer: Any, A: Any, B: Any) -> tuple[Any, Any]:
    return transformer.fit_transform(A), transformer.transform(B)
