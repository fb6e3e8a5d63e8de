"""Figures 1 and 2 of the Laplacian PCA paper: what a few stray points do to principal directions, and why."""

from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from lapwing import LPCA
from lapwing.datasets import make_patch, make_perturbed_line
from lapwing.graphs import CodingLength, Sample

PICTURE = Path("out/lpca.png")
SEEDS, K = 30, 5
WEIGHTS = {"coding_length": "coding length", "distance": "distance from the centre", "uniform": "nothing (PCA)"}


def angle(a, b):
    """Between two directions, in degrees."""
    return np.degrees(np.arccos(np.clip(abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b), 0, 1)))


def table():
    print(
        f"Angle between the first direction and the line's, in degrees: median and range over {SEEDS} seeds (K = {K})\n"
    )
    print(f"{'points moved':14}{'PCA':>24}{'LPCA':>24}")
    for n_perturbed in range(4):
        found = np.empty((SEEDS, 2))
        for seed in range(SEEDS):
            X, direction = make_perturbed_line(n_perturbed=n_perturbed, random_state=seed)
            found[seed] = [angle(model.fit(X).components_[0], direction) for model in (PCA(1), LPCA(1, graph=K))]
        cells = [f"{np.median(a):8.1f} ({a.min():.1f} to {a.max():.1f})" for a in found.T]
        print(f"{n_perturbed:<14}{cells[0]:>24}{cells[1]:>24}")


def picture():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 7.4), layout="constrained")
    for axis, n_perturbed in zip(axes[0], (0, 1, 2), strict=True):
        X, _ = make_perturbed_line(n_perturbed=n_perturbed, random_state=0)
        axis.plot(*X[n_perturbed:].T, "o", color="0.4")
        axis.plot(*X[:n_perturbed].T, "X", color="tab:red", markersize=10)
        for model, colour in ((PCA(1), "tab:orange"), (LPCA(1, graph=K), "tab:blue")):
            line(axis, np.median(X, axis=0), model.fit(X).components_[0], 14, colour, type(model).__name__)
        axis.set_title(f"points moved: {n_perturbed}")
        axis.legend(loc="lower right")
        axis.set(xlim=(-15, 15), ylim=(-15, 15), aspect="equal")
    X, stray = make_patch()
    for axis, (weights, name) in zip(axes[1], WEIGHTS.items(), strict=True):
        rows, w = CodingLength(5, weights=weights).patches(Sample.validated(X))
        w = w[0][np.argsort(rows[0])]
        mean = w @ X / w.sum()
        direction = np.linalg.eigh((X - mean).T @ (w[:, None] * (X - mean)))[1][:, -1]
        axis.scatter(*X.T, s=600 * w, color=["tab:red" if i == stray else "tab:blue" for i in range(len(X))], alpha=0.6)
        for x, value in zip(X, w, strict=True):
            axis.annotate(f"{value:.2f}", x, textcoords="offset points", xytext=(0, 18), ha="center")
        line(axis, mean, direction, np.ptp(X[:, 0]) / 2, "tab:blue", "first direction")
        axis.set_title(f"weights by {name}")
        axis.set(xlim=(-9, 9), ylim=(-8.5, 3.5), aspect="equal")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    print(f"\nThe pictures are in {PICTURE}")


def line(axis, centre, direction, length, colour, label):
    ends = np.array([centre - length * direction, centre + length * direction])
    axis.plot(*ends.T, color=colour, label=label)


if __name__ == "__main__":
    table()
    picture()
