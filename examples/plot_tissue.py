"""
How do I use where my samples lie in space?
===========================================

Cells lie in a tissue, stations in a country, pixels in an image. Neighbours in space
are often alike, and what they share is often what matters. This example has 2,000 cells
with 60 genes and a place each. Most genes follow the state of the single cell, and the
place tells lapwing to look for what follows the tissue instead.
"""

# %%
# The tissue
# ----------
# The cells lie in four layers. The first eight genes follow the depth in the tissue.
# The other 52 follow three states of the cell, such as its cycle, which have nothing to
# do with its place. We made these data, so that we can compare what is found with the
# truth.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.RandomState(0)
places = rng.uniform(size=(2000, 2))
depth = places[:, 1] + 0.08 * np.sin(6 * places[:, 0])
layer = np.digitize(depth, [0.25, 0.5, 0.75])
genes = rng.standard_normal((2000, 3)) @ rng.standard_normal(
    (3, 60)
) + 0.6 * rng.standard_normal((2000, 60))
genes[:, :8] = 0.8 * np.cos(
    np.pi * depth[:, None] * rng.uniform(1, 3, 8)
) + 0.6 * rng.standard_normal((2000, 8))
genes = pd.DataFrame(genes, columns=[f"gene {i}" for i in range(60)])
places = pd.DataFrame(places, columns=["x", "y"])

# %%
# A graph of the places, a projection of the genes
# ------------------------------------------------
# ``Delaunay`` links cells that share a triangle of the Delaunay triangulation, so that
# there is no number of neighbours to choose. ``On(places, ...)`` builds the graph on the
# places, and the projection is one of the genes, so that it can be applied to cells whose
# place is unknown. Both are data frames, whose rows go by their names: a fit to half of
# the cells takes their places with them.
#
# Three methods take that graph. :class:`lapwing.LPP` looks for what differs least
# between neighbours, compared with how much it varies. :class:`lapwing.MULTISPATI`,
# spatial PCA, looks for variance that neighbours share. :class:`lapwing.GraphPCA` can
# also smooth the coordinates over the tissue: ``smoothed`` lets a cell's neighbours
# correct its coordinates.

from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from lapwing import LPP, MULTISPATI, GraphPCA, loadings
from lapwing.graphs import Delaunay, On

tissue = {
    "graph": On(places, Delaunay(longest=0.1)),
    "standardize": True,
    "pca": None,
}
spatial, smooth = (
    LPP(2, **tissue).fit(genes),
    GraphPCA(2, alpha=10.0, **tissue).fit(genes),
)
projections = {
    "PCA": PCA(2).fit_transform(StandardScaler().fit_transform(genes)),
    "LPP": spatial.transform(genes),
    "spatial PCA": MULTISPATI(2, **tissue).fit_transform(genes),
    "GraphPCA": smooth.transform(genes),
    "GraphPCA, smoothed": smooth.smoothed(genes),
}

# %%
# The first picture shows the tissue. The others show the cells in the plane of each
# method, coloured by their layer. The number is the adjusted Rand index of four
# clusters: 1 where they are the layers, and 0 where they are chance.

figure, axes = plt.subplots(3, 2, figsize=(6.4, 8.6), layout="constrained")
axes[0, 0].scatter(places.x, places.y, c=layer, s=4, cmap="viridis")
axes[0, 0].set(title="layers in the tissue", xticks=[], yticks=[])
found = {}
for ax, (name, Z) in zip(axes.flat[1:], projections.items(), strict=True):
    found[name] = adjusted_rand_score(
        layer, KMeans(4, n_init=4, random_state=0).fit_predict(Z)
    )
    ax.scatter(*Z.T, c=layer, s=4, cmap="viridis")
    ax.set(title=f"{name}: {found[name]:z.2f}", xticks=[], yticks=[])
plt.show()

# %%
# Which genes matter?
# -------------------
# :func:`lapwing.loadings` ranks the genes by their weight in each direction, and gives
# intervals from fits to random halves.

table = loadings(spatial, genes, n_draws=20)
print(table)

# %%
# What to take home
# -----------------
# - Where samples have a place, let the graph be that of the places. PCA finds the
#   states of single cells, since most genes follow these, and all methods with the
#   graph find the layers.
# - Smoothing the coordinates over the tissue finds the layers best, because each cell
#   is corrected by its neighbours. It needs the place of a new cell, and the plain
#   projections do not.
# - The genes with the largest weights are among the first eight, which follow the
#   layers.
# - With columns scaled, PCA would find the layers too if the other genes were
#   independent noise. The graph is of use where something else varies more than what
#   you look for.

for name, value in found.items():
    print(f"{name:20} adjusted Rand index {value:z.3f}")
