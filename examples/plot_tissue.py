"""
Cells in a tissue
=================

Two thousand cells lie in layers. Each cell has the counts of 60 genes, of which a few follow the layers and the others are
noise that varies more, and a place. What varies most is therefore not what the layers are: PCA finds noise. The place of a
cell tells who its neighbours are, and the directions along which neighbours agree are those of the layers. ``On`` builds the
graph on the two columns of the places, ``Delaunay`` links the cells that share a triangle, and ``beside=True`` keeps the
places out of the projection, so that it is one of genes alone and applies to cells of unknown place.

The same graph goes to spatial PCA (``MULTISPATI``: variance that neighbours share) and to ``GraphPCA``, whose coordinates can
be smoothed over the tissue: ``smoothed`` takes what the neighbours of a cell say into account, and finds the layers best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from lapwing import LPP, MULTISPATI, GraphPCA, loadings
from lapwing.graphs import Delaunay, On

rng = np.random.RandomState(0)
places = rng.uniform(size=(2000, 2))
depth = places[:, 1] + 0.08 * np.sin(6 * places[:, 0])
layer = np.digitize(depth, [0.25, 0.5, 0.75])
genes = rng.standard_normal((2000, 60)) * rng.uniform(1, 3, 60)
genes[:, :8] = 0.8 * np.cos(np.pi * depth[:, None] * rng.uniform(1, 3, 8)) + 0.6 * rng.standard_normal((2000, 8))
X = np.hstack([genes, places])

coordinates = [60, 61]
tissue = {"graph": On(coordinates, Delaunay(longest=0.1), beside=True), "standardize": True, "pca": None}
spatial, smooth = LPP(2, **tissue).fit(X), GraphPCA(2, alpha=10.0, **tissue).fit(X)
projections = {
    "PCA": PCA(2).fit_transform(genes),
    "LPP, neighbours in the tissue": spatial.transform(X),
    "spatial PCA": MULTISPATI(2, **tissue).fit_transform(X),
    "GraphPCA": smooth.transform(X),
    "GraphPCA, smoothed": smooth.smoothed(X),
}

figure, axes = plt.subplots(2, 3, figsize=(13, 8.4), layout="constrained")
axes[0, 0].scatter(*places.T, c=layer, s=5, cmap="viridis")
axes[0, 0].set(title="layers", xticks=[], yticks=[])
for ax, (name, Z) in zip(axes.ravel()[1:], projections.items(), strict=True):
    found = KMeans(4, n_init=4, random_state=0).fit_predict(Z)
    ax.scatter(*Z.T, c=layer, s=5, cmap="viridis")
    ax.set(title=f"{name}\nlayers found: {adjusted_rand_score(layer, found):.2f} (Rand index)", xticks=[], yticks=[])
plt.show()

# %%
# The projection reads genes only: its loadings at the places are 0. The genes of largest loading are the first eight, which
# follow the layers; nearly all intervals of the others hold 0.

names = [*(f"gene {i}" for i in range(60)), "place x", "place y"]
table = loadings(spatial, X, n_draws=20, feature_names=names)
print("loadings at the places:", abs(table.values[:, coordinates]).max())
print(table)
