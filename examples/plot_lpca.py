"""
A few stray points
==================

One far point turns the principal direction of all. Laplacian PCA adds up the scatters of small patches, in which a stray point
weighs little.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from lapwing import LPCA
from lapwing.graphs import CodingLength
from lapwing.papers.datasets import make_patch, make_perturbed_line
from lapwing.rows import Rows


def draw_line(ax, centre, direction, length, **options):
    ax.plot(*np.array([centre - length * direction, centre + length * direction]).T, **options)


figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for n_perturbed, ax in enumerate(axes):
    X, _ = make_perturbed_line(n_perturbed=n_perturbed, random_state=0)
    ax.plot(*X[n_perturbed:].T, "o", color="0.4")
    ax.plot(*X[:n_perturbed].T, "X", color="tab:red", markersize=10)
    for model, color in ((PCA(1), "tab:orange"), (LPCA(1, graph=5), "tab:blue")):
        direction = model.fit(X).components_[0]
        draw_line(ax, np.median(X, axis=0), direction, 14, color=color, label=type(model).__name__)
    ax.legend(loc="lower right")
    ax.set(title=f"points moved: {n_perturbed}", xlim=(-15, 15), ylim=(-15, 15), aspect="equal")
plt.show()

# %%
# The weights come from coding length: how many bits fewer describe the patch without the point. In a patch of six,
# the stray point gets little, and the two ends, which say most about the direction, get much. Weights by distance
# take it from the ends too.

X, stray = make_patch()
weights = {"coding_length": "coding length", "distance": "distance from the centre", "uniform": "nothing (PCA)"}
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (kind, name) in zip(axes, weights.items(), strict=True):
    rows, w = CodingLength(5, weights=kind).patches(Rows.validated(X))
    w = w[0][np.argsort(rows[0])]
    mean = w @ X / w.sum()
    direction = np.linalg.eigh((X - mean).T @ (w[:, None] * (X - mean)))[1][:, -1]
    ax.scatter(*X.T, s=600 * w, color=["tab:red" if i == stray else "tab:blue" for i in range(len(X))], alpha=0.6)
    for x, value in zip(X, w, strict=True):
        ax.annotate(f"{value:.2f}", x, textcoords="offset points", xytext=(0, 18), ha="center")
    draw_line(ax, mean, direction, np.ptp(X[:, 0]) / 2, color="tab:blue")
    ax.set(title=f"weights by {name}", xlim=(-9, 9), ylim=(-8.5, 3.5), aspect="equal")
plt.show()
