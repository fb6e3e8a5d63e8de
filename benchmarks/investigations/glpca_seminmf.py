"""gLPCA's table 3, semi-NMF: which start, which weights and which PCA bring raw data and PCA to the printed numbers.

    LAPWING_DATA=... python benchmarks/investigations/glpca_seminmf.py [DATA SET ...]

Semi-NMF writes X as G Fᵀ with G not negative, and a sample belongs to the cluster of its largest weight in G. The scale
of the columns of G is open, and so are the start, and whether data are centred first: k-means does not see a shift of all
samples, semi-NMF does. Raw data and PCA have nothing to do with gLPCA, so they are tried alone. One line is one reading:
the mean distance from the printed numbers in points, the mean difference, how many lie within the tolerance of 3 points,
then each difference (accuracy, mutual information, purity). The last lines are over all data sets. Three starts are
taken. It takes about two minutes of one core.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lapwing_papers.experiments import _glpca as paper
from lapwing_papers.experiments import get
from lapwing_papers.factorisation import SemiNMF

STARTS = 3
PRINTED = get("glpca-table-3-seminmf").published


def singular(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates on the first k singular directions, orthonormal and with their lengths."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return U[:, :k], U[:, :k] * s[:k]


def spaces(X: np.ndarray, k: int) -> dict[str, tuple[str, np.ndarray]]:
    """Name, the column of the paper that it may be, and the rows."""
    orthonormal, lengths = singular(X - X.mean(axis=0), k)
    plain_orthonormal, plain_lengths = singular(X, k)
    return {
        "as they are": ("Original", X),
        "centred": ("Original", X - X.mean(axis=0)),
        "centred, with lengths": ("PCA (with lengths)", lengths),
        "centred, orthonormal": ("PCA (with lengths)", orthonormal),
        "not centred, with lengths": ("PCA (with lengths)", plain_lengths),
        "not centred, orthonormal": ("PCA (with lengths)", plain_orthonormal),
    }


def labelled(Z: np.ndarray, k: int, seed: int, init: str) -> dict[str, np.ndarray]:
    """The clusters, by how the columns of G are scaled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SemiNMF(k, max_iter=100, tol=1e-4, init=init, random_state=seed).fit(Z)
    scaled = model.weights_ * np.linalg.norm(model.components_, axis=1)
    return {"columns of G of length 1": model.labels_, "columns of F of length 1": scaled.argmax(axis=1)}


def main() -> None:
    misses: dict[tuple[str, str], list[np.ndarray]] = {}
    for name in sys.argv[1:] or [name for name in paper.SETS if "(" not in name]:
        X, y = paper._data(name)
        k = np.unique(y).size
        for space, (column, Z) in spaces(X, k).items():
            printed = 100 * np.array([PRINTED[m][name][column] for m in paper.MEASURES])
            for init in ("kmeans", "random"):
                runs = [labelled(Z, k, seed, init) for seed in range(STARTS)]
                for scale in runs[0]:
                    found = [paper._measures(y, run[scale]) for run in runs]
                    miss = 100 * np.array([np.mean([f[m] for f in found]) for m in paper.MEASURES]) - printed
                    reading = f"{space}, start {init}, {scale}"
                    misses.setdefault((column, reading), []).append(miss)
                    say(name, column, reading, miss)
    for (column, reading), several in misses.items():
        say("all", column, reading, np.concatenate(several), each=False)


def say(name: str, column: str, reading: str, miss: np.ndarray, each: bool = True) -> None:
    within = f"{np.sum(np.abs(miss) <= 3):2} of {miss.size}"
    numbers = " | " + " ".join(f"{m:+6.1f}" for m in miss) if each else ""
    told = f"{np.abs(miss).mean():5.1f} {miss.mean():+6.1f}  {within}{numbers}"
    print(f"{name:9} {column.split()[0]:9} {reading:72} {told}", flush=True)


if __name__ == "__main__":
    main()
