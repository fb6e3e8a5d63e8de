"""
What does repulsion do?
=======================

A graph of classes pulls the samples of one class together. It says nothing of other
classes, so that two classes can end up on top of each other. ``Repulsion`` adds what is
missing: it links near samples of *different* classes and pushes them apart. This
example shows in the plane how the direction of a projection turns.
"""

# %%
# Two classes that attraction alone confuses
# ------------------------------------------
# Each class is a wide, flat cloud. The clouds lie side by side, with a narrow gap
# between them. We project the plane on one direction, and want to see the two classes
# apart.

import matplotlib.pyplot as plt
import numpy as np

from lapwing import OLPP
from lapwing.graphs import Repulsion, SameClass

TILT = np.radians(30)  # of the direction that leads from one cloud to the other


def clouds(seed, n=200):
    """Two clouds, beside each other along the direction of TILT."""
    rng = np.random.RandomState(seed)
    X = np.vstack(
        [
            rng.uniform([-2.15, -0.6], [-0.15, 0.6], (n, 2)),
            rng.uniform([0.15, -0.6], [2.15, 0.6], (n, 2)),
        ]
    )
    return X @ [[np.cos(TILT), np.sin(TILT)], [-np.sin(TILT), np.cos(TILT)]], np.repeat(
        [0, 1], n
    )


X, y = clouds(1)

# %%
# ``SameClass()`` asks for the direction along which each class is narrowest. That is
# the thin side of the clouds, and along it both classes cover each other.
#
# ``SameClass() - beta * Repulsion(15)`` subtracts the graph of repulsion. It links each
# sample to those among its 15 nearest that belong to the other class. These are the
# pairs at the gap. A projection that puts such pairs on top of each other now costs
# something, and from some ``beta`` on the direction turns across the gap.
# ``normalize="trace"`` gives both graphs the same size, so that ``beta`` means the same
# on other data.


def direction(X, y, beta):
    """The direction of the projection, as a unit vector towards the second class."""
    model = OLPP(1, graph=SameClass() - beta * Repulsion(15), normalize="trace").fit(
        X, y
    )
    v = model.components_[0]
    return v * np.sign((X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) @ v)


laplacian = Repulsion(15).build(X, y)[0].laplacian.toarray()
pairs = np.argwhere(np.triu(-laplacian, 1) > 0)
print(f"{len(y)} samples, {len(pairs)} pairs that repel each other")

# %%
# The upper pictures show the samples, the pairs that repel each other (black), and the
# direction that is found (arrow). The lower ones show the samples projected on that
# direction.

colors = np.array(["tab:blue", "tab:orange"])
figure, axes = plt.subplots(
    2, 3, figsize=(6.8, 4.6), layout="constrained", height_ratios=[1.6, 1]
)
for column, beta in enumerate((0, 0.5, 1)):
    v = direction(X, y, beta)
    above, below = axes[:, column]
    above.scatter(*X.T, c=colors[y], s=5)
    for i, j in pairs:
        above.plot(*X[[i, j]].T, color="black", lw=0.8)
    above.annotate(
        "",
        1.9 * v,
        -1.9 * v,
        arrowprops={"arrowstyle": "-|>", "lw": 2.2, "color": "tab:red"},
    )
    above.set(
        title=f"β = {beta}",
        xticks=[],
        yticks=[],
        xlim=(-2.4, 2.4),
        ylim=(-2.4, 2.4),
        aspect="equal",
    )
    below.hist(
        [X[y == c] @ v for c in (0, 1)],
        bins=30,
        color=colors,
        histtype="stepfilled",
        alpha=0.7,
    )
    below.set(yticks=[], xlabel="projected")
plt.show()

# %%
# How much repulsion is enough? We draw the clouds ten times and measure the angle
# between the direction found and the one that leads across the gap.

betas = np.array([0, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 4])
across = np.array([np.cos(TILT), np.sin(TILT)])
angles = np.degrees(
    [
        [np.arccos(min(1, abs(direction(*clouds(seed), b) @ across))) for b in betas]
        for seed in range(10)
    ]
)

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(betas, angles.T, color="0.75", lw=1)
ax.plot(betas, angles.mean(axis=0), "o-", color="tab:red", label="mean of ten draws")
ax.set(
    xlabel="β", ylabel="angle to the direction\nacross the gap, degrees", ylim=(0, 92)
)
ax.grid(alpha=0.3)
ax.legend()
plt.show()

# %%
# What to take home
# -----------------
# - Attraction alone looks at one class at a time. Repulsion looks at the places where
#   classes meet.
# - With too little repulsion nothing happens, and with enough of it more changes
#   little. In the plane that takes a ``beta`` near 1. On data with many features 0.2 is
#   a usual start, and cross-validation is better than a rule.
# - Discriminant analysis solves this toy as well, since it also looks at the means of
#   the classes. It has one direction fewer than classes, though, and repulsion goes
#   with any number of directions and with neighbours in the place of classes.

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

lda = LinearDiscriminantAnalysis().fit(X, y).coef_[0]
print(
    f"angle of LDA: {np.degrees(np.arccos(abs(lda @ across) / np.linalg.norm(lda))):.0f} degrees"
)
for beta, angle, deviation in zip(
    betas, angles.mean(axis=0), angles.std(axis=0), strict=True
):
    print(
        f"beta {beta:3}: angle {angle:3.0f} ± {deviation:.0f} degrees, mean and deviation of ten draws"
    )
