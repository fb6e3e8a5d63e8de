"""LPCA beside PCA and kernel PCA on faces: figures 4 and 5 of Zhao, Lin and Tang (ICCV 2007) on public data.

    python benchmarks/lpca_faces.py                          all parts on all data sets: about a quarter of an hour
    python benchmarks/lpca_faces.py figure4 --datasets AR    some of them

    figure4     PCA or LPCA first, then discriminators
    figure5     histograms of local binary patterns, reduced
    sizes       figure 4's LDA after fewer and after more dimensions
    weights     figure 4's LDA after LPCA with other weights, neighbours and scales of the pixels

A projection is learnt from other people than those of gallery and probe, and the nearest gallery image recognises. Each split
draws the people anew. Tables have mean ± standard deviation over splits of the recognition rate in percent, and of its paired
difference from PCA with the splits above and below 0. Pixels are 0..255, as stored. Rows are printed as they are finished.
Data sets are read from the folder LAPWING_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lapwing import LPCA, LPP, MFA
from lapwing.features import LBPHistogram
from lapwing.graphs import CodingLength
from lapwing.metrics import chi2_distances
from lapwing.recognition import RandomSubspaceLDA


class Faces(NamedTuple):
    file: str
    larger: str  # for local binary patterns
    n_train: int  # people
    n_gallery: int  # images of each other person; the rest are the probe
    drawn: bool  # the gallery's images at random, else the first
    sampling: tuple[int, int, int]  # components in all, base, sampled: the paper's 400, 50, 100 to scale
    dims: tuple[int, ...]  # of figure 5


class Split(NamedTuple):
    train: np.ndarray
    gallery: np.ndarray
    probe: np.ndarray
    p: int = 0  # dimensions of the reducers in figure 4


FACES = {
    "ORL": Faces("ORL_32x32", "ORL_112x92", 15, 5, False, (100, 15, 30), (10, 20, 40, 80, 120)),
    "AR": Faces("AR_99people_60x43", "AR_99people_60x43", 36, 7, False, (200, 25, 50), (25, 50, 100, 250, 450)),
    "YaleB": Faces("YaleB_32x32", "YaleB_32x32", 14, 5, True, (300, 40, 80), (25, 50, 100, 250, 500)),
    "PIE": Faces("PIE_pose27_32x32", "PIE_pose27_32x32", 25, 5, True, (350, 45, 90), (25, 50, 100, 250, 500)),
}
pca = partial(PCA, svd_solver="full")


def lpca(k: int | None, K: int, **params: Any) -> LPCA:
    return LPCA(k, graph=CodingLength(K, **params), pca=None)


REDUCERS: dict[str, Callable[[int], Any]] = {
    "PCA": pca,
    "LPCA, K = 2": lambda k: lpca(k, 2),
    "LPCA, K = 5": lambda k: lpca(k, 5),
}
COLUMNS = ("dimensions", *REDUCERS, "K = 2 less PCA", "K = 5 less PCA")
DISCRIMINATORS: dict[str, Callable[[], Any]] = {
    "none": lambda: FunctionTransformer(),
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "LPP, K = 2": lambda: LPP(None, graph=2, pca=None),
    "MFA, k1 = 2, k2 = 20": lambda: MFA(None, graph=2, penalty=20, pca=None),
}
HISTOGRAMS: dict[str, Callable[[int], Any]] = {
    "PCA": pca,
    "LPCA, K = 2, chi-square": lambda k: lpca(k, 2, metric="chi2"),
    "LPCA, K = 5, chi-square": lambda k: lpca(k, 5, metric="chi2"),
    "LPCA, K = 2, Euclidean": lambda k: lpca(k, 2),
    "PCA of the square roots": lambda k: make_pipeline(FunctionTransformer(np.sqrt), pca(k)),
}
KERNELS = {"kernel PCA, exp(-chi2 / mean)": 1.0, "kernel PCA, exp(-chi2 / 10 mean)": 0.1}


def load(file: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    data = np.load(Path(os.environ["LAPWING_DATA"]) / f"{file}.npz")
    return data["X"].astype(np.float64), data["y"], data["image_shape"].tolist()


def splits(y: np.ndarray, faces: Faces, n_splits: int) -> Iterator[Split]:
    for seed in range(n_splits):
        random = np.random.RandomState(seed)
        people = random.permutation(np.unique(y))
        gallery = []
        for person in people[faces.n_train :]:
            images = np.flatnonzero(y == person)
            gallery.extend((random.permutation(images) if faces.drawn else images)[: faces.n_gallery])
        train = np.flatnonzero(np.isin(y, people[: faces.n_train]))
        yield Split(train, np.array(gallery), np.setdiff1d(np.arange(len(y)), np.append(train, gallery)))


@cache
def prepared(name: str, n_splits: int) -> tuple[np.ndarray, np.ndarray, list[Split]]:
    """Images, people, and splits with p, the dimensions in which LPCA with K = 2 keeps 95 % of its power, as in the paper."""
    X, y, _ = load(FACES[name].file)
    held = list(splits(y, FACES[name], n_splits))
    for i, split in enumerate(held):
        powers = -lpca(None, 2).fit(X[split.train]).eigenvalues_
        held[i] = split._replace(p=1 + int(np.searchsorted(np.cumsum(powers), 0.95 * powers.sum())))
    return X, y, held


def rates(Z: np.ndarray, y: np.ndarray, split: Split, dims: Any) -> np.ndarray:
    """Percent of the probe whose nearest gallery image is of the same person, by the first k columns for k in dims."""
    nearest = [pairwise_distances_argmin(Z[split.probe, :k], Z[split.gallery, :k]) for k in dims]
    return 100 * np.mean(y[split.gallery][nearest] == y[split.probe], axis=1)


def curve(X: np.ndarray, y: np.ndarray, held: list[Split], dims: Any, build: Callable, then: str) -> np.ndarray:
    """Rates, (splits, dims), of a reducer to p dimensions and a discriminator after it."""
    found = []
    for split in held:
        model = make_pipeline(build(split.p), DISCRIMINATORS[then]()).fit(X[split.train], y[split.train])
        found.append(rates(model.transform(X), y, split, dims))
    return np.array(found)


def cell(values: Any) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"


def gain(values: Any, base: Any) -> str:
    change = np.asarray(values) - np.asarray(base)
    return (
        f"{np.mean(change):+z.1f} ± {np.std(change, ddof=1):.1f} ({np.sum(change > 0)} up, {np.sum(change < 0)} down)"
    )


def row(*cells: Any) -> None:
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def head(*cells: Any) -> None:
    print("\n| " + " | ".join(cells) + " |\n|" + "---|" * len(cells), flush=True)


def compare(label: str, dims: Any, found: list[Any]) -> None:
    row(label, dims, *(cell(values) for values in found), *(gain(values, found[0]) for values in found[1:]))


def figure4(name: str, n_splits: int) -> None:
    X, y, held = prepared(name, n_splits)
    c, p = FACES[name].n_train, [split.p for split in held]
    train, gallery, probe, _ = (np.size(part) for part in held[0])
    print(f"\n{name}: training on {c} people, {train} images; {gallery} images in the gallery, {probe} in the probe.")
    head(f"Figure 4, {name}", *COLUMNS)
    power = []
    for build in REDUCERS.values():
        kept = "explained_variance_ratio_" if build is pca else "explained_ratio_"
        power.append([100 * np.sum(getattr(build(split.p).fit(X[split.train]), kept)) for split in held])
    row("power kept, %", f"p = {cell(p)}", *map(cell, power), "", "")
    for then in DISCRIMINATORS:
        dims = np.unique([*np.geomspace(5, c - 1 if then == "LDA" else min(p), 12).astype(int), c - 1])
        curves = [curve(X, y, held, dims, build, then) for build in REDUCERS.values()]
        compare(then, c - 1, [found[:, dims.tolist().index(c - 1)] for found in curves])
        best = [found.mean(axis=0).argmax() for found in curves]
        pairs = zip(curves, best, strict=True)
        compare(then, "best: " + ", ".join(str(dims[i]) for i in best), [found[:, i] for found, i in pairs])
    total, base, sampled = FACES[name].sampling
    votes: list[list[float]] = [[] for _ in REDUCERS]
    for seed, split in enumerate(held):
        for found, build in zip(votes, REDUCERS.values(), strict=True):
            model = RandomSubspaceLDA(build(total), n_base=base, n_sampled=sampled, random_state=seed)
            model.fit(X[split.train], y[split.train]).enroll(X[split.gallery], y[split.gallery])
            found.append(100 * model.score(X[split.probe], y[split.probe]))
    compare("20 LDA, random subspaces", f"{base} + {sampled} of {total}", votes)


def figure5(name: str, n_splits: int) -> None:
    X, y, shape = load(FACES[name].larger)
    held, dims = list(splits(y, FACES[name], n_splits)), FACES[name].dims
    H = LBPHistogram(shape).fit_transform(X)
    chi2 = chi2_distances(H)
    head(f"Figure 5, {name}, {shape[0]} x {shape[1]} pixels", *(f"{k} dimensions" for k in dims), f"all {H.shape[1]}")
    right = [y[s.gallery][chi2[np.ix_(s.probe, s.gallery)].argmin(axis=1)] == y[s.probe] for s in held]
    row("histograms, chi-square", *[""] * len(dims), cell([100 * np.mean(r) for r in right]))
    row("histograms, Euclidean", *[""] * len(dims), cell([rates(H, y, split, [None]) for split in held]))
    found = {}
    for label in (*HISTOGRAMS, *KERNELS):
        if label in KERNELS:
            spaces = (kernel_pca(chi2, split, KERNELS[label], max(dims)) for split in held)
        else:
            spaces = (HISTOGRAMS[label](max(dims)).fit(H[split.train]).transform(H) for split in held)
        found[label] = np.array([rates(Z, y, split, dims) for Z, split in zip(spaces, held, strict=True)])
        row(label, *(cell(values) for values in found[label].T), "")
    for other in ("PCA", *KERNELS):
        pairs = zip(found["LPCA, K = 2, chi-square"].T, found[other].T, strict=True)
        row(f"LPCA, K = 2, chi-square, less {other}", *(gain(values, base) for values, base in pairs), "")


def kernel_pca(chi2: np.ndarray, split: Split, gamma: float, k: int) -> np.ndarray:
    K = np.exp(-gamma * chi2[:, split.train] / chi2[np.ix_(split.train, split.train)].mean())
    return KernelPCA(k, kernel="precomputed", eigen_solver="dense").fit(K[split.train]).transform(K)


def sizes(name: str, n_splits: int) -> None:
    X, y, held = prepared(name, n_splits)
    head(f"LDA on {name} after", *COLUMNS)
    for share in (0.25, 0.5, 1, 1.25):
        scaled = [split._replace(p=round(share * split.p)) for split in held]
        compare("", f"{share:g} p", [curve(X, y, scaled, [None], build, "LDA") for build in REDUCERS.values()])


def weights(name: str, n_splits: int) -> None:
    """The distortion is in units of X: X / 255 is a distortion 255 times as large."""
    X, y, held = prepared(name, n_splits)
    head(f"LDA on {name} after p dimensions of", "", "less PCA")
    row("PCA", cell(base := curve(X, y, held, [None], pca, "LDA")), "")
    kinds = {"": (X, {}), ", X / 255": (X / 255, {}), ", uniform weights": (X, {"weights": "uniform"})}
    for K, (kind, (scaled, params)) in product((2, 5, 20, 100), kinds.items()):
        found = curve(scaled, y, held, [None], partial(lpca, K=K, **params), "LDA")
        row(f"LPCA, K = {K}{kind}", cell(found), gain(found, base))


PARTS = {"figure4": figure4, "figure5": figure5, "sizes": sizes, "weights": weights}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="all where none is named")
    parser.add_argument("--datasets", nargs="*", choices=list(FACES), default=list(FACES))
    parser.add_argument("--splits", type=int, default=10)
    args = parser.parse_args()
    for part, name in product(args.parts or PARTS, args.datasets):
        print(f"{part} {name}", file=sys.stderr, flush=True)
        PARTS[part](name, args.splits)


if __name__ == "__main__":
    main()
