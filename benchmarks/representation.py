"""Graph-Laplacian PCA: the numbers of docs/measured-tasks.md.

    python benchmarks/representation.py                  all parts: about three minutes
    python benchmarks/representation.py table1 rho       some of them

    residual    what is left of X, by beta
    table1      residuals at beta = 1 beside those of Jiang et al. (CVPR 2013), and of random coordinates
    occlusion   what is left of blocks over a fifth of the faces
    clustering  accuracy of k-means and semi-NMF on representations (their table 3)
    heldout     new samples beside a fit that has them
    rho         growth of the penalty, and centres, of the robust form

Everything is seeded. Data sets are read from the folder LAPWING_DATA.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from lapwing import GLPCA, L21PCA, LPP, LaplacianEigenmaps, RobustGLPCA
from lapwing.data import as_data
from lapwing.graphs import KNN
from lapwing.metrics import clustering_accuracy
from lapwing_papers.datasets import load
from lapwing_papers.factorisation import SemiNMF

PUBLISHED = {  # table 1: gLPCA at beta = 1, random
    "AT&T": (0.5620, 0.9479),
    "MNIST": (0.8091, 0.9897),
    "BinAlpha": (0.7565, 0.9832),
    "USPS": (0.7075, 0.9898),
    "COIL20": (0.6539, 0.9854),
}
BETAS = (0, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 1)
CLUSTERED = (0.3, 0.5, 0.7, 0.9)  # beta
CLUSTERINGS: dict[str, tuple[Callable[[int, int], Any], int]] = {  # of k and a seed; runs
    "k-means, random starts": (lambda k, seed: KMeans(k, init="random", n_init=1, random_state=seed), 10),
    "k-means++": (lambda k, seed: KMeans(k, n_init=1, random_state=seed), 10),
    "semi-NMF": (lambda k, seed: SemiNMF(k, max_iter=100, tol=1e-4, random_state=seed), 3),
}


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes, as the paper counts them."""
    if name == "AT&T":
        X, y = load("orl", version="112x92", return_X_y=True)
        return X.reshape(-1, 28, 4, 23, 4).mean(axis=(2, 4)).reshape(len(X), -1), y
    key, n = {"MNIST": ("mnist", 50), "USPS": ("usps", 100), "BinAlpha": ("binalpha", 39), "COIL20": ("coil20", 72)}[
        name
    ]
    X, y = load(key, return_X_y=True)
    classes = np.unique(y)[10:] if name == "BinAlpha" else np.unique(y)  # the letters
    rows = np.concatenate([np.flatnonzero(y == c)[:n] for c in classes])
    return X[rows].astype(np.float64), y[rows]


def head(*cells: Any) -> None:
    print("\n| " + " | ".join(map(str, cells)) + " |\n|" + "---|" * len(cells), flush=True)


def row(*cells: Any) -> None:
    print("| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)


def residual() -> None:
    """As many components as classes."""
    head("residual, 5-NN, binary", *(f"beta = {beta}" for beta in BETAS))
    for name in PUBLISHED:
        X, y = data(name)
        k, graph = len(np.unique(y)), KNN(5, weights="binary")
        row(name, *(GLPCA(k, beta=beta, graph=graph).fit(X).reconstruction_error_ for beta in BETAS))


def residual_of_random(X: np.ndarray, k: int) -> tuple[float, float]:
    """Mean and deviation over random orthonormal Q, which are the eigenvectors of random symmetric matrices."""
    X = X - X.mean(axis=0)
    found = []
    for seed in range(20):
        Q = np.linalg.qr(np.random.RandomState(seed).standard_normal((len(X), k)))[0]
        found.append(np.sqrt(1 - np.sum((Q.T @ X) ** 2) / np.sum(X**2)))
    return float(np.mean(found)), float(np.std(found))


def table1() -> None:
    """The published random row tells k: the mean of the squared residual is 1 - k / n."""
    head("residual at beta = 1", "k", "published", "5-NN, binary", "5-NN, heat", "published, random", "random")
    for name, (published, random) in PUBLISHED.items():
        X, y = data(name)
        c = len(np.unique(y))
        told = round((1 - random**2) * len(X))
        for k in dict.fromkeys((c - 1, c, told)):
            found = [
                GLPCA(k, beta=1.0, graph=KNN(5, weights=w)).fit(X).reconstruction_error_ for w in ("binary", "heat")
            ]
            mean, deviation = residual_of_random(X, k)
            label = f"{k}, as random tells" if k == told else k
            row(name, label, f"{published:.4f}", *found, f"{random:.4f}", f"{mean:.4f} ± {deviation:.4f}")


def blocks(images: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where the blocks are: on two of ten images a person, half as high and as wide as the image."""
    random = np.random.RandomState(0)
    where = np.zeros(images.shape, dtype=bool)
    for person in np.unique(y):
        for i in random.permutation(np.flatnonzero(y == person))[:2]:
            top, left = random.randint(15), random.randint(12)
            where[i, top : top + 14, left : left + 12] = True
    return where


def occlusion() -> None:
    X, y = data("AT&T")
    where = blocks(X.reshape(-1, 28, 23), y).reshape(X.shape)
    noise = np.random.RandomState(1).uniform(0, 255, X.shape)
    for title, values in (("random grey", noise), ("black", np.zeros(X.shape))):
        given = np.where(where, values, X)
        links = KNN(5, weights="binary").adjacency(as_data(given)).toarray()
        hit = where.any(axis=1)
        print(
            f"\n{title} blocks: {links[hit][:, hit].sum() / links[hit].sum():.0%} of the links of occluded images go to others"
        )
        head(f"{title} blocks: RMS difference from clean", "in blocks", "elsewhere", "largest share of a component")
        for name, model in occlusion_models(X):
            model.fit(given)
            difference = model.inverse_transform(model.embedding_) - X
            inside, outside = (np.sqrt(np.mean(difference[part] ** 2)) for part in (where, ~where))
            leverage = np.sum(model.embedding_**2, axis=1).max()
            row(name, f"{inside:.1f}", f"{outside:.1f}", f"{leverage:.2f}")


def occlusion_models(clean: np.ndarray) -> Iterator[tuple[str, Any]]:
    yield "PCA", GLPCA(40, beta=0.0)
    yield "L21PCA", L21PCA(40, center="mean")
    for weights in ("heat", "binary"):
        graph = KNN(5, weights=weights)
        for beta in (0.3, 0.5, 1.0):
            yield f"GLPCA, beta = {beta}, {weights}", GLPCA(40, beta=beta, graph=graph)
        yield f"RobustGLPCA, beta = 0.5, {weights}", RobustGLPCA(40, beta=0.5, graph=graph, center="mean")
        own = graph.adjacency(as_data(clean))
        yield f"GLPCA, beta = 0.5, {weights}, graph of the clean images", GLPCA(40, beta=0.5, graph=own)


def clustering() -> None:
    """Mean accuracy of single runs, as many components and clusters as classes."""
    for title, (build, runs) in CLUSTERINGS.items():
        head(title, "original", "PCA", "LE", "Ncut", "LPP", *(f"GLPCA, beta = {beta}" for beta in CLUSTERED))
        for name in PUBLISHED:
            X, y = data(name)
            k = len(np.unique(y))
            cells = []
            for Z in representations(X, k):
                found = [clustering_accuracy(y, build(k, seed).fit_predict(Z)) for seed in range(runs)]
                cells.append(float(np.mean(found)))
            row(name, *cells)


def representations(X: np.ndarray, k: int) -> Iterator[np.ndarray]:
    graph = KNN(5, weights="binary")
    yield X
    yield PCA(k, svd_solver="full").fit_transform(X)
    yield LaplacianEigenmaps(k, graph=graph, constraint="identity").fit(X).embedding_
    yield LaplacianEigenmaps(k, graph=graph).fit(X).embedding_
    yield LPP(k, graph=graph, pca="auto", scaling="unit", ridge="auto", normalize=None).fit_transform(X)
    for beta in CLUSTERED:
        yield GLPCA(k, beta=beta, graph=graph).fit(X).embedding_


def heldout() -> None:
    """A tenth held out: beside a fit with all, after the best linear map; and 1-NN on the coordinates."""
    X, y = load("digits", return_X_y=True)
    train = np.arange(len(X)) % 10 != 0
    head("digits, 10 components, 10-NN", "error of new rows", "1-NN, new rows", "1-NN, fit with all")
    for beta in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
        part, whole = (GLPCA(10, beta=beta, graph=10).fit(rows) for rows in (X[train], X))
        turn = np.linalg.lstsq(part.embedding_, whole.embedding_[train], rcond=None)[0]
        new, truth = part.transform(X[~train]), whole.embedding_[~train]
        scores = [
            100 * KNeighborsClassifier(1).fit(known, y[train]).score(asked, y[~train])
            for known, asked in ((part.embedding_, new), (whole.embedding_[train], truth))
        ]
        error = float(np.linalg.norm(new @ turn - truth) / np.linalg.norm(truth))
        row(f"beta = {beta}", error, *(f"{score:.1f}" for score in scores))


def corrupted(one_sided: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rank 3 and a little noise in 40 dimensions, a fifth of 200 rows grossly corrupted; and the true directions."""
    random = np.random.RandomState(0)
    T = np.linalg.qr(random.standard_normal((40, 3)))[0]
    X = (10 if one_sided else 3) * random.standard_normal((200, 3)) @ T.T + 0.05 * random.standard_normal((200, 40))
    noise = random.standard_normal((40, 40))
    X[random.permutation(200)[:40]] += 8 * (np.abs(noise) if one_sided else noise)
    return X, T


def rho() -> None:
    X, T = corrupted(False)
    head("20 % of rows corrupted: L21PCA(3)", "radians from the truth", "objective", "steps", "seconds")
    row("PCA", _angle(PCA(3).fit(X), T), "", "", "")
    for rate in (1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5):
        start = perf_counter()
        model = L21PCA(3, center="mean", rho=rate, max_iter=5000).fit(X)
        row(
            f"rho = {rate}", _angle(model, T), f"{model.objective_:.1f}", model.n_iter_, f"{perf_counter() - start:.2f}"
        )
    X, T = corrupted(True)
    head("corrupted to one side: L21PCA(3)", "radians from the truth")
    row("PCA", _angle(PCA(3).fit(X), T))
    for center in ("mean", "median"):
        row(f'center="{center}"', _angle(L21PCA(3, center=center).fit(X), T))


def _angle(model: Any, T: np.ndarray) -> float:
    return float(subspace_angles(model.components_.T, T).max())


PARTS = {
    "residual": residual,
    "table1": table1,
    "occlusion": occlusion,
    "clustering": clustering,
    "heldout": heldout,
    "rho": rho,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="all where none is named")
    warnings.simplefilter("ignore", ConvergenceWarning)  # of semi-NMF, which has enough after 100 steps
    for part in parser.parse_args().parts or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
