"""Isomap, UMAP, t-SNE and HDBSCAN with exact neighbours: the time of the search, beside that of their own.

The rows are 20,000 digits of MNIST, of Isomap 4,000 and of HDBSCAN 20,000 in the 30 coordinates of PCA. Without LAPWING_DATA they
are the 1,797 digits of scikit-learn. "Right" is the share of a program's own neighbours that are among the exact ones.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
import openTSNE
import umap
from openTSNE.nearest_neighbors import PrecomputedNeighbors
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from umap.umap_ import nearest_neighbors

from lapwing import ExactNeighbors

FILE = Path(os.environ.get("LAPWING_DATA", "")) / "MNIST.npz"
TABLE = []


def seconds(function, *arguments, **options):
    start = time.perf_counter()
    found = function(*arguments, **options)
    return time.perf_counter() - start, found


def exact(X, k):
    """Indices and distances of k neighbours, the row itself first, as arrays with a row for each row of X."""
    graph = ExactNeighbors(k - 1).fit_transform(X)
    return graph.indices.reshape(len(X), k), graph.data.reshape(len(X), k)


def right(theirs, ours):
    """Distances count, so that of equally far neighbours each is right."""
    return float(np.mean(theirs <= ours[:, -1:] * (1 + 1e-4)))


def row(program, n, own, mine, share, note):
    TABLE.append(f"| {program} | {n:,} | {own:.1f} | {mine:.1f} | {share} | {note} |")


if FILE.is_file():
    with np.load(FILE) as held:
        X, y = held["X"][:20_000].astype(np.float32), held["y"][:20_000].ravel()
else:
    print("without LAPWING_DATA: the digits of scikit-learn")
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)

# Isomap: a pipeline takes the graph in the place of a search by trees or products.
few = X[:4_000].astype(np.float64)
few += np.random.RandomState(0).rand(*few.shape) / 100  # no two distances are equal
took, _ = seconds(KNeighborsTransformer(n_neighbors=10).fit_transform, few)
mine, _ = seconds(ExactNeighbors(10).fit_transform, few)
pipeline = make_pipeline(ExactNeighbors(10), Isomap(n_neighbors=10, metric="precomputed"))
theirs, ours = Isomap(n_neighbors=10).fit(few), pipeline.fit(few)[-1]
assert np.allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-6)
assert np.allclose(np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-4 * np.abs(theirs.embedding_).max())
row("Isomap", len(few), took, mine, "100 %", "the same picture")

# UMAP: exact neighbours in the place of those of NN-descent, after both have been compiled.
nearest_neighbors(X[:5_000], 15, "euclidean", {}, False, np.random.RandomState(0))
took, (_, own_d, _) = seconds(nearest_neighbors, X, 15, "euclidean", {}, False, np.random.RandomState(0))
mine, (cols, d) = seconds(exact, X, 15)
warnings.filterwarnings("ignore", "precomputed_knn.2.")  # UMAP then places no new rows
Z = umap.UMAP(random_state=0, n_jobs=1, precomputed_knn=(cols, d.astype(np.float32))).fit_transform(X)
assert Z.shape == (len(X), 2)
assert np.isfinite(Z).all()
row("UMAP", len(X), took, mine, f"{100 * right(own_d, d):.1f} %", "`precomputed_knn=(indices, distances)`")

# t-SNE: the neighbours of perplexity 30 in the place of those of Annoy.
k = 90
took, own = seconds(openTSNE.affinity.get_knn_index, X, "annoy", k, "euclidean", random_state=0)
built, (_, own_d) = seconds(own.build)
mine, (cols, d) = seconds(exact, X, k + 1)
index = PrecomputedNeighbors(cols[:, 1:], d[:, 1:])
affinities = openTSNE.affinity.PerplexityBasedNN(perplexity=30, knn_index=index)
start = openTSNE.initialization.pca(X, random_state=0)
Z = openTSNE.TSNE(n_iter=50, random_state=0, n_jobs=2).fit(affinities=affinities, initialization=start)
assert Z.shape == (len(X), 2)
took += built
row(
    "openTSNE",
    len(X),
    took,
    mine,
    f"{100 * right(own_d, d[:, 1:]):.1f} %",
    "`PrecomputedNeighbors(indices, distances)`",
)

# HDBSCAN of scikit-learn: its spanning tree from links to 30 neighbours, in the place of one among all pairs. A graph in which
# each row is its own neighbour counts one sample less.
P = PCA(30, random_state=0).fit_transform(X).astype(np.float64)
took, theirs = seconds(HDBSCAN(min_cluster_size=50, min_samples=11, copy=True).fit_predict, P)


def clustered(P):
    graph = ExactNeighbors(30).fit_transform(P)
    return HDBSCAN(min_cluster_size=50, min_samples=10, metric="precomputed", copy=True).fit_predict(
        graph.maximum(graph.T)
    )


mine, ours = seconds(clustered, P)
agreement = adjusted_rand_score(theirs, ours)
assert agreement > 0.99, agreement
row("HDBSCAN", len(P), took, mine, "", f"whole fits; clusters agree to {agreement:.3f} (adjusted Rand index)")

print("| program | rows | its own search, s | ExactNeighbors, s | of its own, right | |\n|---|---|---|---|---|---|")
print("\n".join(TABLE))
