"""
What if some of my samples are corrupted?
=========================================

One outlier can turn all principal components, because PCA counts squared errors.
Graph-Laplacian PCA (:class:`lapwing.GLPCA`) lets the neighbours of a sample have a say
in its coordinates. :class:`lapwing.RobustGLPCA` also counts errors as lengths instead
of squares. This example covers a fifth of the images by blocks of noise, and asks who
restores them.
"""

# %%
# Images, a fifth of them covered
# -------------------------------
# We take the Olivetti faces, 400 photographs of 40 people, from the folder
# ``LAPWING_DATA`` or from scikit-learn's cache. Calling ``fetch_olivetti_faces()`` once
# puts them in the cache. If they are in neither place, we take digits. The output says
# which it was.

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

rng = np.random.RandomState(0)
side = images.shape[1] // 2
corrupted = np.zeros(len(images), dtype=bool)
blocks = np.zeros(images.shape, dtype=bool)
for i in rng.permutation(len(images))[: len(images) // 5]:
    top, left = rng.randint(images.shape[1] - side + 1, size=2)
    corrupted[i], blocks[i, top : top + side, left : left + side] = True, True
given = np.where(blocks, rng.uniform(size=images.shape), images)
X = given.reshape(len(given), -1)
print(
    f"{which}: {len(images)} images, {corrupted.sum()} of them covered by a block of {side} x {side} pixels of noise"
)

# %%
# Restored from few components
# ----------------------------
# Every method represents the images, corrupted ones among them, by as many components
# as there are classes, and puts them together again from these. The graph is that of
# the five nearest images, with equal weights. Weights that fall with the distance would
# leave a corrupted image nearly alone, and it would keep its block.

from lapwing import GLPCA, L21PCA, RobustGLPCA
from lapwing.graphs import KNN

k, graph = len(np.unique(y)), KNN(5, weights="binary")
methods = {
    "PCA": GLPCA(k, beta=0, graph=graph),
    "L21PCA": L21PCA(k),
    "GLPCA": GLPCA(k, beta=0.5, graph=graph),
    "RobustGLPCA": RobustGLPCA(k, beta=0.5, graph=graph),
}
restored = {}
for name, model in methods.items():
    restored[name] = (
        model.fit(X).inverse_transform(model.embedding_).reshape(images.shape)
    )

print(f"\n{'root mean square error':24}{'in blocks':>12}{'elsewhere':>12}")
errors = {}
for name, found in {"as given": given, **restored}.items():
    errors[name] = [
        np.sqrt(np.mean((found - images)[part] ** 2)) for part in (blocks, ~blocks)
    ]
    print(f"{name:24}{errors[name][0]:12.3f}{errors[name][1]:12.3f}")

# %%
# The picture shows six of the corrupted images, and what each method makes of them.

shown = np.flatnonzero(corrupted)[:: corrupted.sum() // 6][:6]
rows = {"original": images, "as given": given, **restored}
figure, axes = plt.subplots(
    len(rows), len(shown), figsize=(6.4, 6.2), layout="constrained"
)
for line, (name, found) in zip(axes, rows.items(), strict=True):
    for ax, i in zip(line, shown, strict=True):
        ax.imshow(found[i], cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()

# %%
# Which samples are corrupted?
# ----------------------------
# ``errors_`` of the robust method holds what its representation leaves of each sample.
# The longest rows are the corrupted samples. The same can be asked of every method: how
# long is the difference between a sample and what is restored of it? The area under the
# curve is the chance that a corrupted image has a longer difference than a whole one.

from sklearn.metrics import roc_auc_score

figure, axes = plt.subplots(2, 2, figsize=(6.4, 4.8), layout="constrained")
for ax, (name, found) in zip(axes.flat, restored.items(), strict=True):
    lengths = np.linalg.norm((given - found).reshape(len(given), -1), axis=1)
    area = roc_auc_score(corrupted, lengths)
    ax.hist(
        [lengths[~corrupted], lengths[corrupted]],
        bins=25,
        stacked=True,
        color=["0.7", "tab:red"],
        label=["whole", "corrupted"],
    )
    ax.set(
        title=f"{name}: area {area:.3f}", yticks=[], xlabel="length of the difference"
    )
    print(f"{name:12} area under the curve {area:.3f}")
axes[0, 0].legend()
plt.show()

# %%
# What to take home
# -----------------
# - PCA spends components on the noise, and restores part of the blocks. With the graph,
#   the neighbours say what is under a block.
# - On faces RobustGLPCA is best inside the blocks and loses less than GLPCA elsewhere,
#   where L21PCA loses least. On digits GLPCA and RobustGLPCA are level.
# - Finding the corrupted samples is easy here for all methods, PCA included.
# - The graph must be right. Black blocks make the corrupted images neighbours of each
#   other, and then no method helps much:

black = np.where(blocks, 0, images).reshape(len(images), -1)
for beta, name in ((0, "PCA"), (0.5, "GLPCA")):
    model = GLPCA(k, beta=beta, graph=graph).fit(black)
    found = model.inverse_transform(model.embedding_).reshape(images.shape)
    print(
        f"black blocks, {name:6} error in blocks {np.sqrt(np.mean((found - images)[blocks] ** 2)):.3f}",
        end="",
    )
    print(f" (black itself: {np.sqrt(np.mean(images[blocks] ** 2)):.3f})")
