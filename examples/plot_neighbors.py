"""
Exact neighbours for other methods
==================================

Many methods begin with a search for nearest neighbours. ``ExactNeighbors`` gives the
search of lapwing to those that take a graph of neighbours. Here it takes the place of the
transformer of scikit-learn, and finds the same graph in less time.
"""

# %%
# The same graph
# --------------
# Both transformers give a sparse matrix with the distances of each row from itself and
# from ten others. Distances agree but for the rounding of scikit-learn's.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from lapwing import ExactNeighbors

X, _ = make_blobs(20_000, 64, centers=20, cluster_std=3, random_state=0)
graphs = {}
for transformer in (KNeighborsTransformer(n_neighbors=10), ExactNeighbors(10)):
    start = time.perf_counter()
    name = type(transformer).__name__
    graphs[name] = transformer.fit_transform(X)
    print(f"{name:22} {time.perf_counter() - start:.2f} s")
theirs, ours = graphs.values()
print(f"largest difference: {abs(theirs - ours).max():.1e}")

# %%
# In a pipeline
# -------------
# Isomap takes the graph with ``metric="precomputed"``. UMAP and openTSNE take lists of
# neighbours; the script ``integrations/neighbors`` shows how.

digits, y = load_digits(return_X_y=True)
pipeline = make_pipeline(
    ExactNeighbors(10), Isomap(n_neighbors=10, metric="precomputed")
)
Z = pipeline.fit_transform(digits)

fig, ax = plt.subplots(figsize=(5, 4))
ax.scatter(*Z.T, c=y, s=6, cmap="tab10")
ax.set(title="Isomap of the digits", xticks=[], yticks=[])
plt.show()

# %%
# Of rows that are equally far, as pixels that are whole numbers often are, those of the
# lowest numbers are neighbours. So the picture is the same on every machine.

distances, indices = ExactNeighbors(3).fit(digits).kneighbors()
print(indices[:3], np.round(distances[:3] ** 2))
