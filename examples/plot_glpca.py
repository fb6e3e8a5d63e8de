"""
Faces rebuilt, with a graph
===========================

Graph-Laplacian PCA represents images by few components whose coordinates follow a graph of neighbours. With ``beta`` it goes
from PCA to Laplacian eigenmaps. Faces are AT&T's, 28 x 23 pixels, if they are at hand, else the pictures are digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import silhouette_score

from lapwing import GLPCA, RobustGLPCA
from lapwing.graphs import KNN
from lapwing.papers.datasets import available, load
from lapwing.plots import EmbeddingDisplay
from lapwing.rows import Rows


def first(images, y, n):
    """The first n images of each class."""
    rows = np.concatenate([np.flatnonzero(y == c)[:n] for c in np.unique(y)])
    return images[rows].astype(float), y[rows]


if available()["orl"]["112x92"] == "file":
    data = load("orl", version="112x92")
    images, y = data.images.reshape(-1, 28, 4, 23, 4).mean(axis=(2, 4)), data.target
else:
    data = load("digits")
    images, y = first(data.images, data.target, 40)
k = len(np.unique(y))
graph = KNN(5, weights="binary")  # with heat weights a corrupted image would be nearly alone, and keep its corruption


def rebuilt(model, given):
    model.fit(given.reshape(len(given), -1))
    return model.inverse_transform(model.embedding_).reshape(given.shape)


def show(rows, title):
    """Ten images of two classes, a row a method, all on one grey scale."""
    height, width = images.shape[1:]
    size = (12.4, len(rows) * 0.5 * height / width + 0.5)
    figure, axes = plt.subplots(1, 2, figsize=size, layout="constrained", sharey=True)
    for ax, c in zip(axes, np.unique(y), strict=False):
        members = np.flatnonzero(y == c)[:10]
        sheet = np.block([[np.pad(i, 1, constant_values=np.nan) for i in found[members]] for found in rows.values()])
        ax.imshow(sheet, cmap="gray", vmin=images.min(), vmax=images.max())
        ax.set(xticks=[], yticks=(height + 2) * (np.arange(len(rows)) + 0.5), yticklabels=list(rows))
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    figure.suptitle(title)
    plt.show()


betas = {0: "PCA: β = 0", 0.3: "GLPCA: β = 0.3", 0.5: "GLPCA: β = 0.5", 1: "Laplacian: β = 1"}
show(
    {"original": images} | {name: rebuilt(GLPCA(k, beta=beta, graph=graph), images) for beta, name in betas.items()},
    f"rebuilt from {k} components",
)

# %%
# Images of one class are more alike the more the graph counts. Now a fifth of them is covered by a block of noise.
# PCA rebuilds the blocks; the more neighbours have a say, the more they are suppressed, and the more is lost
# elsewhere. Where norms take the place of squares (:class:`lapwing.RobustGLPCA`) they are suppressed about as far
# at less cost elsewhere, and most where the graph itself comes from elsewhere, here from the images without blocks.

random = np.random.RandomState(0)
height, width = (size // 2 for size in images.shape[1:])
blocks = np.zeros(images.shape, dtype=bool)
for c in np.unique(y):
    members = np.flatnonzero(y == c)
    for i in random.permutation(members)[: members.size // 5]:
        top, left = random.randint(images.shape[1] - height + 1), random.randint(images.shape[2] - width + 1)
        blocks[i, top : top + height, left : left + width] = True
given = np.where(blocks, random.uniform(images.min(), images.max(), images.shape), images)

rows = {"occluded": given} | {name: rebuilt(GLPCA(k, beta=beta, graph=graph), given) for beta, name in betas.items()}
rows["RobustGLPCA: β = 0.5"] = rebuilt(RobustGLPCA(k, beta=0.5, graph=graph), given)
links = graph.adjacency(Rows.validated(images.reshape(len(images), -1)))
rows["GLPCA: β = 0.5,\ngraph of clean images"] = rebuilt(GLPCA(k, beta=0.5, graph=links), given)
show(rows, f"a fifth occluded, rebuilt from {k} components")

print("root mean square difference from the images without blocks\n")
for name, found in rows.items():
    inside, outside = (np.sqrt(np.mean((found - images)[part] ** 2)) for part in (blocks, ~blocks))
    print(f"{name.replace(chr(10), ' '):42}in blocks {inside:6.1f}   elsewhere {outside:6.1f}")

# %%
# What the representation leaves of X grows slowly with beta.

collections = {"these images": (images, y)}
for name, n in (("mnist", 50), ("usps", 100), ("binalpha", 39), ("coil20", 72)):
    if "file" in available()[name].values():
        other = load(name)
        letters = other.target >= 10 if name == "binalpha" else slice(None)
        collections[name] = first(other.images[letters], other.target[letters], n)

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (name, (found, classes)), marker in zip(collections.items(), "osD^v", strict=False):
    X, n_classes = found.reshape(len(found), -1), len(np.unique(classes))
    residuals = [GLPCA(n_classes, beta=b, graph=graph).fit(X).reconstruction_error_ for b in np.linspace(0, 1, 11)]
    ax.plot(np.linspace(0, 1, 11), residuals, marker=marker, label=f"{name}, {n_classes} components")
ax.set(xlabel="β", ylabel="residual ‖X − QUᵀ‖ / ‖X‖", ylim=(0, 1))
ax.grid(alpha=0.3)
ax.legend(fontsize="small")
plt.show()

# %%
# Three classes in two dimensions.

three = np.isin(y, np.unique(y)[:3])
X, labels = images[three].reshape(three.sum(), -1), y[three]
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained")
for ax, beta in zip(axes, (0, 0.5, 1), strict=True):
    Q = GLPCA(2, beta=beta, graph=graph).fit(X).embedding_
    EmbeddingDisplay.from_embedding(Q, labels, ax=ax, s=30)
    ax.set(title=f"{betas[beta]}\nsilhouette {silhouette_score(Q, labels):.2f}", xticks=[], yticks=[])
plt.show()
