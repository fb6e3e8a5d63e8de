"""
How much should the graph count in graph-Laplacian PCA?
=======================================================

PCA represents images by few components as exactly as possible. Graph-Laplacian PCA
(:class:`lapwing.GLPCA`) asks in addition that the coordinates of neighbours are alike.
Its parameter ``beta`` goes from 0, which is PCA, to 1, which is Laplacian eigenmaps.
This example shows what happens in between: what is lost, and what is gained.
"""

# %%
# The images
# ----------
# We take the Olivetti faces, 400 photographs of 40 people, from the folder
# ``LAPWING_DATA`` or from scikit-learn's cache. Calling ``fetch_olivetti_faces()`` once
# puts them in the cache. If they are in neither place, we take 400 digits. The output
# says which it was.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import fetch_olivetti_faces, load_digits

from lapwing_papers.datasets import available, load


def pictures():
    """Images from 0 to 1, their classes, and what they are."""
    if available()["orl"]["64x64"] == "file":
        data = load("orl", version="64x64")
        return data.images / 255, data.target, "Olivetti faces"
    try:
        data = fetch_olivetti_faces(download_if_missing=False)
    except OSError:  # it is not in the cache
        data = load_digits()
        rows = np.concatenate(
            [np.flatnonzero(data.target == c)[:40] for c in range(10)]
        )
        return data.images[rows] / 16, data.target[rows], "digits"
    return data.images, data.target, "Olivetti faces"


images, y, which = pictures()
if images.shape[1] == 64:
    images = images.reshape(-1, 32, 2, 32, 2).mean(axis=(2, 4))
X, k = images.reshape(len(images), -1), len(np.unique(y))
print(f"{which}: {len(images)} images, {k} classes")

# %%
# Images put together again
# -------------------------
# Every image is represented by as many numbers as there are classes, and put together
# again from these. The graph links each image to its five nearest, with equal weights.

from lapwing import GLPCA
from lapwing.graphs import KNN

graph = KNN(5, weights="binary")
names = {0: "PCA (β = 0)", 0.3: "β = 0.3", 0.6: "β = 0.6", 1: "Laplacian (β = 1)"}
models = {beta: GLPCA(k, beta=beta, graph=graph).fit(X) for beta in names}
rows = {"original": images}
rows |= {
    names[b]: m.inverse_transform(m.embedding_).reshape(images.shape)
    for b, m in models.items()
}

shown = np.concatenate([np.flatnonzero(y == c)[:3] for c in np.unique(y)[:2]])
figure, axes = plt.subplots(
    len(rows), len(shown), figsize=(6.6, 5.3), layout="constrained"
)
for line, (name, found) in zip(axes, rows.items(), strict=True):
    for ax, i in zip(line, shown, strict=True):
        ax.imshow(found[i], cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()

# %%
# The first three columns are of one class, and the last three of another. The larger
# ``beta`` is, the more images of one class are alike.
#
# What is lost, and what is gained
# --------------------------------
# We measure two things. The residual is the share of the images that is lost. The
# clustering accuracy says how well k-means finds the classes among the coordinates,
# which no method has seen.

from sklearn.cluster import KMeans

from lapwing.metrics import clustering_accuracy

betas = np.linspace(0, 1, 9)
residuals, accuracies = [], []
for beta in betas:
    model = GLPCA(k, beta=beta, graph=graph).fit(X)
    clusters = [
        KMeans(k, n_init=2, random_state=seed).fit_predict(model.embedding_)
        for seed in range(3)
    ]
    residuals.append(model.reconstruction_error_)
    accuracies.append(np.mean([clustering_accuracy(y, found) for found in clusters]))
    print(
        f"beta {beta:.3f}   residual {residuals[-1]:.3f}   clustering accuracy {accuracies[-1]:.3f}"
    )

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(betas, residuals, "o-", label="residual (less is better)")
ax.plot(betas, accuracies, "s-", label="clustering accuracy (more is better)")
ax.set(xlabel="β", ylim=(0, 1), title=f"{which}, {k} components")
ax.grid(alpha=0.3)
ax.legend()
plt.show()

# %%
# Three classes in the plane
# --------------------------
# The silhouette is near 1 where classes are compact and far apart, and near 0 where
# they touch.

from sklearn.metrics import silhouette_score

three = np.isin(y, np.unique(y)[:3])
figure, axes = plt.subplots(1, 3, figsize=(6.8, 2.7), layout="constrained")
for ax, beta in zip(axes, (0, 0.6, 1), strict=True):
    Q = GLPCA(2, beta=beta, graph=graph).fit(X[three]).embedding_
    ax.scatter(*Q.T, c=y[three], cmap="viridis", s=14)
    ax.set(
        title=f"{names[beta]}\nsilhouette {silhouette_score(Q, y[three]):.2f}",
        xticks=[],
        yticks=[],
    )
plt.show()

# %%
# What to take home
# -----------------
# - A ``beta`` near 0.5 is a fair start. On digits it loses little of the images and
#   helps k-means to find the classes. On faces it loses more, and the gain for k-means
#   is small.
# - At ``beta=1`` the images no longer count. Classes that the graph does not link
#   shrink to a point, which gives a large silhouette in the plane, and k-means finds
#   the classes no better than at smaller values.
# - If you want to approximate images, take PCA: it is best at that by definition. What
#   the graph does about corrupted images is shown by
#   :ref:`sphx_glr_gallery_plot_outliers.py`.

best = int(np.argmax(accuracies))
print(
    f"{which}: clusters are best at beta {betas[best]:.3f} ({accuracies[best]:.3f}; PCA {accuracies[0]:.3f}), ",
    end="",
)
print(f"where the residual is {residuals[best]:.3f} (PCA {residuals[0]:.3f})")
