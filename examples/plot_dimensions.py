"""
How many dimensions do I need?
==============================

Too few dimensions lose what tells rows apart, and too many bring back the noise. There
are two ways to choose: by the variance that is kept, and by cross-validation of what
you want to do in the end. They answer different questions, and this example shows both.
"""

# %%
# By the variance
# ---------------
# ``explained_ratio_`` says what share of the variance of X each direction adds,
# whatever the method. It tells what ``inverse_transform`` can restore. It does not tell
# what is of use: LPP does not look for variance, and nine of its directions that tell
# digits apart well hold less of it than nine of PCA.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from lapwing import LPP, MMC

X, y = load_digits(return_X_y=True)
most = 20
models = {
    "PCA": PCA(most).fit(X),
    "LPP, neighbours": LPP(most).fit(X),
    "LPP, semi": LPP(most, graph="semi").fit(X, y),
    "MMC": MMC(most).fit(X, y),
}
kept = {
    name: np.cumsum(
        model.explained_variance_ratio_ if name == "PCA" else model.explained_ratio_
    )
    for name, model in models.items()
}
for name, share in kept.items():
    print(
        f"{name:18} variance in 9 directions {share[8]:.2f}, in {most} directions {share[-1]:.2f}"
    )

# %%
# By cross-validation
# -------------------
# If there is a task, let it decide. :func:`lapwing.selection.nested_scores` scores all
# numbers of dimensions by few fits per fold, since the first d directions of a larger
# solution are the solution for d. Its scores are those of a grid search. The task here
# is to recognise a digit by its nearest neighbour.

from lapwing.selection import nested_scores

estimators = {
    "PCA": PCA(most, svd_solver="full"),
    "LPP, neighbours": LPP(most),
    "LPP, semi": LPP(most, graph="semi"),
    "MMC": MMC(most),
}
found = {name: nested_scores(estimator, X, y) for name, estimator in estimators.items()}

figure, axes = plt.subplots(2, 1, figsize=(6.4, 7), layout="constrained", sharex=True)
dimensions = np.arange(1, most + 1)
for name, marker in zip(estimators, "osD^", strict=True):
    axes[0].plot(dimensions, kept[name], marker=marker, ms=4, label=name)
    axes[1].plot(dimensions, found[name].mean, marker=marker, ms=4, label=name)
axes[0].set(ylabel="share of the variance", title="What is kept", ylim=(0, 1))
axes[1].set(
    ylabel="accuracy, 5 folds",
    title="What it is good for",
    xlabel="dimensions",
    ylim=(0.5, 1),
    xticks=range(2, most + 1, 2),
)
for ax in axes:
    ax.grid(alpha=0.3)
axes[1].legend(loc="lower right")
plt.show()

# %%
# The best number is often one of many that are equally good.
# :func:`lapwing.comparison.compare` therefore takes the fewest dimensions that are
# within one standard error of the best, over all methods that it is given.

from lapwing.comparison import compare

comparison = compare(
    X, y, methods=["PCA", "LPP", "MMC"], dimensions=[2, 5, 9, 13, 17, 20], cv=3
)
print(comparison.choice)

# %%
# What to take home
# -----------------
# - With a task, cross-validate. It costs little, because one fit serves many numbers of
#   dimensions.
# - Without a task, take the dimensions after which ``explained_ratio_`` adds little.
# - The curves are flat at the end. Take the fewest dimensions that are level with the
#   best.
# - On the digits PCA comes close to the best from 15 dimensions on. Neighbours and
#   labels help where dimensions are few, and MMC stops gaining early: it has few
#   directions that hold a margin.

for name, scores in found.items():
    at = np.array([scores.mean[d - 1] for d in (2, 5, 9, 20)])
    print(
        f"{name:18} accuracy with 2, 5, 9, 20 dimensions: {at.round(3)}; best with {scores.best_dimension}"
    )
