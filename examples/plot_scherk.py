"""
How do I lay a curved surface flat?
===================================

Scherk's surface is a saddle of soap film. It cannot be laid flat without stretching, as
a map of the earth cannot. Tangential maps (:class:`lapwing.TangentialMaps`) find the
coordinates in the plane that fit the tangent planes of all small patches best. This
example compares them with four other methods, first on the surface itself and then with
five points that lie off it.
"""

# %%
# The surface
# -----------
# We draw 1,200 points. Their colour is one of the two parameters of the surface, which
# a good map shows as an even change of colour from one side to the other.

import time

import matplotlib.pyplot as plt
import numpy as np

from lapwing_papers.datasets import make_scherk

n, k = 1200, 15
surfaces = {off: make_scherk(n, n_outliers=off, random_state=0) for off in (0, 5)}
figure = plt.figure(figsize=(6.6, 3.2), layout="constrained")
for place, (off, (X, parameters)) in enumerate(surfaces.items(), start=1):
    on = np.arange(n) < n - off
    ax = figure.add_subplot(1, 2, place, projection="3d")
    ax.scatter(*X[on].T, c=parameters[on, 0], s=3)
    ax.scatter(*X[~on].T, color="red", marker="x", s=50)
    ax.set(
        title=f"{off} points off the surface",
        xticklabels=[],
        yticklabels=[],
        zticklabels=[],
    )
plt.show()

# %%
# Five maps
# ---------
# LTSA, local tangent space alignment, is the same as tangential maps with uniform
# weights. By default tangential maps weigh the points of a patch by coding length, so
# that a point off the surface counts little. The error is that of the best fit of the
# map to the true parameters, after shift, turn and scale; it is 0 for a perfect map and
# 1 for a useless one. Points off the surface are not counted.

from sklearn.manifold import Isomap, LocallyLinearEmbedding

from lapwing import LaplacianEigenmaps, TangentialMaps
from lapwing.graphs import TangentAlignment
from lapwing.metrics import procrustes_error

methods = {
    "tangential maps": TangentialMaps(2, graph=k),
    "LTSA": TangentialMaps(2, graph=TangentAlignment(k, weights="uniform")),
    "Isomap": Isomap(n_neighbors=k, n_components=2),
    "LLE": LocallyLinearEmbedding(n_neighbors=k, n_components=2, random_state=0),
    "Laplacian eigenmaps": LaplacianEigenmaps(2, graph=k),
}
figure, axes = plt.subplots(len(methods), 2, figsize=(6.4, 12), layout="constrained")
errors, seconds = {}, {}
for line, (name, model) in zip(axes, methods.items(), strict=True):
    for ax, (off, (X, parameters)) in zip(line, surfaces.items(), strict=True):
        on = np.arange(n) < n - off
        start = time.perf_counter()
        Y = model.fit_transform(X)
        seconds[name] = time.perf_counter() - start
        errors[name, off] = procrustes_error(Y[on], parameters[on])
        ax.scatter(*Y[on].T, c=parameters[on, 0], s=3)
        ax.scatter(*Y[~on].T, color="red", marker="x", s=40)
        ax.set(
            title=f"{name}, {off} off\nerror {errors[name, off]:.2f}",
            xticks=[],
            yticks=[],
        )
plt.show()

# %%
# What to take home
# -----------------
# - With a few points off the surface, weights by coding length lose less than LTSA
#   does.
# - Isomap is the most faithful on this surface, with and without points off it. It is
#   also the slowest of the five, since it looks for the shortest paths between all
#   points: its time grows faster than the square of their number.
# - LLE does not unfold it with these neighbours. Laplacian eigenmaps show which points
#   are neighbours, and not distances.

for name in methods:
    print(
        f"{name:22} error on the surface {errors[name, 0]:.3f}, with 5 points off {errors[name, 5]:.3f}, {seconds[name]:.2f} s"
    )
