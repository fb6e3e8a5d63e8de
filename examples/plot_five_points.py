"""
How does a graph decide which directions to keep?
=================================================

Five points in the plane are enough to see it, and to check every number by hand. The page *How it works* explains each
step, and this script draws its pictures.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from lapwing import OLPP
from lapwing.graphs import KNN, Repulsion, SameClass

plt.rcParams.update(
    {"font.size": 13, "axes.spines.top": False, "axes.spines.right": False}
)
X = np.array([[0, 0], [2, 0], [5, 0], [1, 3], [4, 3]], dtype=float)
y = np.array([0, 0, 1, 0, 1])
NAMES, COLOURS = "PQRST", np.array(["tab:blue", "tab:orange"])


def points(ax, labels=None, title=""):
    """The five points with their names."""
    colours = "black" if labels is None else COLOURS[labels]
    ax.scatter(*X.T, c=colours, s=90, zorder=3)
    for name, place in zip(NAMES, X, strict=True):
        ax.annotate(
            name, place, xytext=(7, 7), textcoords="offset points", weight="bold"
        )
    ax.set(
        xlim=(-1.2, 6.2),
        ylim=(-1.4, 4.4),
        aspect="equal",
        title=title,
        xticks=range(7),
        yticks=range(5),
    )
    ax.grid(alpha=0.3)


def edges(ax, graph, labels=None, numbers=True, **style):
    """Links between the points, with their weights."""
    W = -graph.build(X, labels)[0].laplacian.toarray()
    for i, j in zip(*np.nonzero(np.triu(W, 1)), strict=True):
        ax.plot(*X[[i, j]].T, **{"color": "tab:green", "lw": 3, "zorder": 2, **style})
        if numbers:
            middle = X[[i, j]].mean(axis=0)
            ax.annotate(
                f"{W[i, j]:.2g}",
                middle,
                xytext=(0, -16),
                textcoords="offset points",
                ha="center",
                color="tab:green",
            )


# %%
# The points, and the line that principal component analysis (PCA) keeps. It is the direction in which the points
# spread most.

figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
points(ax, title="Five points, and the line of PCA")
pca = PCA(1).fit(X)
ends = pca.mean_ + np.outer([-3.4, 3.6], pca.components_[0])
ax.plot(*ends.T, color="tab:red", lw=2, label="PCA")
ax.legend(loc="upper left")
plt.show()

# %%
# A graph links each point to its nearest neighbour: P and Q, Q and R, S and T. On the left all links have the weight
# 1. On the right they have heat weights, which give the short link more weight than the long ones.

figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained", sharey=True)
for ax, graph, title in zip(
    axes, (KNN(1, weights="binary"), KNN(1)), ("weights 1", "heat weights"), strict=True
):
    points(ax, title=title)
    edges(ax, graph)
plt.show()

# %%
# What does it cost to put the points on a line? For each link, take the squared distance between both ends on the
# line, and add them up. The picture shows this cost for every direction of the line. The vertical line costs nothing,
# because linked points fall together on it.

angles = np.radians(np.arange(-45, 136))
directions = np.c_[np.cos(angles), np.sin(angles)]


def cost(graph, labels=None):
    """The quadratic form of a graph for all directions of the line."""
    forms = (
        term.coefficient * X.T @ term.laplacian.toarray() @ X
        for term in graph.build(X, labels)
    )
    return np.einsum("ij,jk,ik->i", directions, sum(forms), directions)


def curve(ax, values, label, color, style="-"):
    ax.plot(np.degrees(angles), values, style, color=color, lw=2.5, label=label)
    least = values.argmin()
    ax.scatter(np.degrees(angles[least]), values[least], color=color, s=80, zorder=3)


neighbours = KNN(1, weights="binary")
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
curve(ax, cost(neighbours), "neighbours", "tab:green")
ax.set(
    xlabel="direction of the line, degrees",
    ylabel="cost",
    xticks=range(-45, 136, 45),
    title="The cost of a line",
)
plt.show()

# %%
# The same five points on two lines: the one of PCA, and the one of least cost. On the line of PCA both groups mix. On
# the line of the graph each group falls on one place.

figure, axes = plt.subplots(2, 1, figsize=(6.4, 3), layout="constrained")
lines = {
    "PCA": pca.transform(X).ravel(),
    "OLPP, neighbours": OLPP(1, graph=neighbours, pca=None).fit_transform(X).ravel(),
}
for ax, (title, places) in zip(axes, lines.items(), strict=True):
    ax.axhline(0, color="gray", lw=1)
    ax.scatter(places, np.zeros(5), s=80, color="black", zorder=3)
    for where in np.unique(places.round(6)):
        together = "".join(
            name
            for name, place in zip(NAMES, places, strict=True)
            if abs(place - where) < 1e-5
        )
        ax.annotate(
            together,
            (where, 0),
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            weight="bold",
        )
    ax.set(yticks=[], title=title, ylim=(-1, 1.6))
    ax.spines["left"].set_visible(False)
plt.show()

# %%
# Now the points have labels: P, Q and S are blue, R and T are orange. The graph of classes links points of the same
# class, and the least cost is in another direction, which is nearly horizontal. Repulsion takes near points of
# different classes, here Q and R, and S and T, and gives their distance a negative cost.

classes, repelled = SameClass(), SameClass() - 0.5 * Repulsion(2, weights="binary")
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained", sharey=True)
points(axes[0], y, "classes attract")
edges(axes[0], classes, y, numbers=False)
points(axes[1], y, "and near others repel")
edges(axes[1], classes, y, numbers=False)
edges(
    axes[1], Repulsion(2, weights="binary"), y, numbers=False, color="tab:red", ls=":"
)
plt.show()

# %%
# The cost of a line for the three graphs. Dots mark the best lines.

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
curve(ax, cost(neighbours), "neighbours", "tab:green")
curve(ax, cost(classes, y), "classes", "tab:blue", "--")
curve(ax, cost(repelled, y), "classes, with repulsion", "tab:red", ":")
ax.axhline(0, color="gray", lw=1)
ax.set(
    xlabel="direction of the line, degrees",
    ylabel="cost",
    xticks=range(-45, 136, 45),
    ylim=(-8, 24),
)
figure.legend(loc="outside upper center", ncols=2)
plt.show()
