"""
How do I begin with a table of numbers?
=======================================

This is the code of the page *Getting started*, with one picture per step. The table has 178 wines of three growers,
with 13 chemical measurements each, and comes with scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lapwing
from lapwing import LPP, plots

plt.rcParams.update({"font.size": 13})
X, y = load_wine(return_X_y=True, as_frame=True)
growers = np.array(["grower 0", "grower 1", "grower 2"])


def scatter(ax, Z, labels, title):
    """Wines in the plane, one colour and one marker per grower."""
    for number, (grower, marker) in enumerate(zip(growers, "os^", strict=True)):
        ax.scatter(*Z[labels == number].T, s=28, marker=marker, label=grower, alpha=0.8)
    ax.set(title=title, xticks=[], yticks=[])


# %%
# **Look at the columns first.** The standard deviation of proline is 315, that of hue is 0.2. Distances between rows
# as they are would look at proline and at nothing else.

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
deviations = X.std().sort_values()
ax.barh(deviations.index, deviations)
ax.set(xscale="log", xlabel="standard deviation, logarithmic")
plt.show()

# %%
# **A first projection, without labels.** On the left are the first two principal components of the table as it is:
# the horizontal axis is proline. In the middle and on the right each column is divided by its standard deviation
# first, and then reduced by PCA or by LPP. On this table scaling makes the difference: after it, PCA and LPP give
# nearly the same picture. LPP notices by itself that the units differ, scales the columns, and says so with a warning.
# We scale ourselves, which is good practice in any case.

reductions = {
    "PCA, not scaled": PCA(2),
    "scaled, then PCA": make_pipeline(StandardScaler(), PCA(2)),
    "scaled, then LPP": make_pipeline(StandardScaler(), LPP(2)),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
for ax, (title, reduction) in zip(axes, reductions.items(), strict=True):
    scatter(ax, reduction.fit_transform(X), y, title)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %%
# **With labels.** The model learns from one half of the wines, and the picture shows the other half, which it has not
# seen.

X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
model = make_pipeline(StandardScaler(), LPP("auto", graph="supervised")).fit(
    X_train, y_train
)

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
scatter(ax, model.transform(X_test), y_test, "Wines that the model has not seen")
ax.legend()
plt.show()

# %%
# **With few labels.** Three wines per grower have a label, and -1 stands for all others. ``graph="propagate"`` lets
# the labels spread to similar rows. Large markers are the nine labelled wines.

few = np.full(len(y_train), -1)
for grower in range(3):
    few[np.flatnonzero(y_train == grower)[:3]] = grower
spread = make_pipeline(StandardScaler(), LPP(2, graph="propagate")).fit(X_train, few)

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
scatter(ax, spread.transform(X_test), y_test, "Nine labels, wines not seen")
Z = spread.transform(X_train)
for number, marker in enumerate("os^"):
    ax.scatter(
        *Z[few == number].T,
        s=150,
        marker=marker,
        color=f"C{number}",
        edgecolor="black",
        linewidth=2,
    )
ax.legend()
plt.show()

# %%
# **Does it help?** The share of wines that the nearest neighbour assigns to the right grower, in five folds. The
# scaler matters most, and the labels come next: two supervised coordinates do better than all 13 columns.

nearest = KNeighborsClassifier(1)
candidates = {
    "13 columns": nearest,
    "13 columns, scaled": make_pipeline(StandardScaler(), nearest),
    "PCA, 2 of 13": make_pipeline(StandardScaler(), PCA(2), nearest),
    "LPP, 2 of 13": make_pipeline(StandardScaler(), LPP(2), nearest),
    "LPP with labels, 2 of 13": make_pipeline(
        StandardScaler(), LPP("auto", graph="supervised"), nearest
    ),
}
scores = {
    name: 100 * cross_val_score(candidate, X, y)
    for name, candidate in candidates.items()
}
for name, found in scores.items():
    print(f"{name:26}{found.mean():5.1f} %")

figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
means, errors = (
    [measure(found) for found in scores.values()] for measure in (np.mean, np.std)
)
ax.barh(list(scores), means, xerr=errors, color=["tab:gray"] * 3 + ["tab:orange"] * 2)
ax.invert_yaxis()
ax.set(xlabel="nearest neighbour right, %", xlim=(50, 100))
plt.show()

# %%
# **Which method, and how many dimensions?** :func:`lapwing.comparison.compare` tries several by cross-validation. The
# scaler is fitted anew in each fold. It recommends one: of all that are as good as the best, within one standard
# error, the simplest.

names = ["PCA", "LPP", "shrinkage LDA", "LPP + classes", "MMC"]
found = lapwing.comparison.compare(
    X, y, methods=names, dimensions=[1, 2, 4, 8, 12], prepare=StandardScaler()
)
print(found.choice)
plots.compare(found)
plt.show()

# %%
# **What are the new coordinates made of?** The loadings say how much each column counts. The lines are intervals,
# from fits to random halves of the rows.

plots.loadings(LPP("auto", graph="supervised", standardize=True).fit(X, y), X, y)
plt.show()
