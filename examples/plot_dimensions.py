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
# If there is a task, let it decide. :func:`lapwing.comparison.compare` scores many
# numbers of dimensions by few fits per fold, since the first d directions of a larger
# solution are the solution for d. Its scores are those of a grid search. The task here
# is to recognise a digit by its nearest neighbour.

from lapwing.comparison import compare

estimators = {
    "PCA": PCA(svd_solver="full"),
    "LPP, neighbours": LPP(),
    "LPP, semi": LPP(graph="semi"),
    "MMC": MMC(),
}
tried = [1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 20]
found = compare(X, y, methods=estimators, dimensions=tried, judge="nearest", cv=3)

figure, axes = plt.subplots(2, 1, figsize=(6.4, 7), layout="constrained", sharex=True)
for name, marker in zip(estimators, "osD^", strict=True):
    axes[0].plot(np.arange(most) + 1, kept[name], marker=marker, ms=4, label=name)
    accuracy = found.scores(name, "accuracy").mean(axis=0)
    axes[1].plot(tried, accuracy, marker=marker, ms=4, label=name)
axes[0].set(ylabel="share of the variance", title="What is kept", ylim=(0, 1))
axes[1].set(
    ylabel="accuracy, 3 folds",
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
# The best number is often one of many that are equally good. The recommendation is
# therefore the fewest dimensions that are within one standard error of the best, over
# all methods.

print(found.choice)

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

for row in found.summary():
    at = [found.scores(row["method"])[:, tried.index(d)].mean() for d in (2, 5, 9, 20)]
    print(
        f"{row['method']:18} accuracy with 2, 5, 9, 20 dimensions: {np.round(at, 3)}; "
        f"best with {row['best_dimension']}"
    )
