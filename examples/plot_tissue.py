"""
Cells in a tissue
=================

Two thousand cells lie in layers. Each cell has the counts of 60 genes, of which a few follow the layers and the others are
noise that varies more, and a place. What varies most is therefore not what the layers are: PCA finds noise. The place of a
cell tells who its neighbours are, and the directions along which neighbours agree are those of the layers. ``On`` builds the
graph on the two columns of the places, ``Delaunay`` links the cells that share a triangle, and ``beside=True`` keeps the
places out of the projection, so that it is one of genes alone and applies to cells of unknown place.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from lapwing import LPP
from lapwing.graphs import Delaunay, On

rng = np.random.RandomState(0)
places = rng.uniform(size=(2000, 2))
depth = places[:, 1] + 0.08 * np.sin(6 * places[:, 0])
layer = np.digitize(depth, [0.25, 0.5, 0.75])
genes = rng.standard_normal((2000, 60)) * rng.uniform(1, 3, 60)
genes[:, :8] = 0.8 * np.cos(np.pi * depth[:, None] * rng.uniform(1, 3, 8)) + 0.6 * rng.standard_normal((2000, 8))
X = np.hstack([genes, places])

coordinates = [60, 61]
spatial = LPP(2, graph=On(coordinates, Delaunay(longest=0.1), beside=True), standardize=True, pca=None)
projections = {"PCA": PCA(2).fit_transform(genes), "LPP, neighbours in the tissue": spatial.fit_transform(X)}

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
axes[0].scatter(*places.T, c=layer, s=5, cmap="viridis")
axes[0].set(title="layers", xticks=[], yticks=[])
for ax, (name, Z) in zip(axes[1:], projections.items(), strict=True):
    found = KMeans(4, n_init=4, random_state=0).fit_predict(Z)
    ax.scatter(*Z.T, c=layer, s=5, cmap="viridis")
    ax.set(title=f"{name}\nlayers found: {adjusted_rand_score(layer, found):.2f} (Rand index)", xticks=[], yticks=[])
plt.show()

# %%
# The projection reads genes only: its loadings at the places are 0.

print("loadings at the places:", abs(spatial.components_[:, coordinates]).ravel())
largest = np.argsort(-abs(spatial.components_[0, :60]))[:8]
print("the genes with the largest loadings:", np.sort(largest))
