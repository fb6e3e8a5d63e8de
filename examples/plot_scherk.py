"""
A surface unfolded
==================

Scherk's surface cannot be laid flat without stretching. Tangential maps do it as well as least squares allow; with weights by
coding length a few points off the surface do not tear the map.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from lapwing import LaplacianEigenmaps, TangentialMaps
from lapwing.graphs import TangentAlignment
from lapwing.metrics import procrustes_error
from lapwing.papers.datasets import make_scherk

n, k = 1200, 15
methods = {
    "tangential maps": TangentialMaps(2, graph=k),
    "LTSA": TangentialMaps(2, graph=TangentAlignment(k, weights="uniform")),
    "Isomap": Isomap(n_neighbors=k, n_components=2),
    "LLE": LocallyLinearEmbedding(n_neighbors=k, n_components=2, random_state=0),
    "Laplacian eigenmaps": LaplacianEigenmaps(2, graph=k),
}

figure = plt.figure(figsize=(14, 5.4), layout="constrained")
for row, n_outliers in enumerate((0, 5)):
    X, parameters = make_scherk(n, n_outliers=n_outliers, random_state=0)
    on = np.arange(n) < n - n_outliers
    ax = figure.add_subplot(2, 6, 6 * row + 1, projection="3d")
    ax.scatter(*X[on].T, c=parameters[on, 0], s=3)
    ax.scatter(*X[~on].T, color="red", marker="x", s=40)
    ax.set_title(f"{n_outliers} points off", fontsize=10)
    for column, (name, model) in enumerate(methods.items(), start=2):
        Y = model.fit_transform(X)
        ax = figure.add_subplot(2, 6, 6 * row + column)
        ax.scatter(*Y[on].T, c=parameters[on, 0], s=3)
        ax.scatter(*Y[~on].T, color="red", marker="x", s=40)
        ax.set_title(f"{name}\nerror {procrustes_error(Y[on], parameters[on]):.2f}", fontsize=10)
        ax.set(xticks=[], yticks=[])
plt.show()
