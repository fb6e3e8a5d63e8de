"""
What goes wrong most often, and how do I see it?
================================================

This example draws seven pitfalls, with one picture each. The page *Pitfalls* explains them and says what lapwing does
about each.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lapwing import LPP
from lapwing.graphs import SameClass
from lapwing.selection import LabelledSplit, SemiSupervised

plt.rcParams.update(
    {"font.size": 13, "axes.spines.top": False, "axes.spines.right": False}
)
nearest = KNeighborsClassifier(1)


def bars(scores, title, wrong=1):
    """Bars; the first ones, in red, show the pitfall."""
    _, ax = plt.subplots(figsize=(6.4, 0.9 + 0.6 * len(scores)), layout="constrained")
    found = ax.barh(
        list(scores),
        list(scores.values()),
        color=["tab:red"] * wrong + ["tab:blue"] * (len(scores) - wrong),
    )
    ax.bar_label(found, fmt="%.0f", padding=4)
    ax.invert_yaxis()
    ax.set(title=title, xlabel="nearest neighbour right, %", xlim=(0, 109))
    plt.show()


# %%
# **Units.** LPP of the wines, with columns as they are and with columns divided by their standard deviations.

X, y = load_wine(return_X_y=True)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for ax, standardize, title in zip(
    axes, (False, True), ("columns as they are", "columns standardised"), strict=True
):
    Z = LPP(2, standardize=standardize).fit_transform(X)
    for grower, marker in enumerate("os^"):
        ax.scatter(*Z[y == grower].T, s=24, marker=marker, alpha=0.8)
    right = (
        100
        * cross_val_score(
            make_pipeline(LPP(2, standardize=standardize), nearest), X, y
        ).mean()
    )
    ax.set(
        title=f"{title}\nnearest neighbour right: {right:.0f} %", xticks=[], yticks=[]
    )
plt.show()

# %%
# **Rare classes.** Two classes have 300 rows and the third has 12. With one dimension the projection serves the two
# common classes, and the rare one disappears between them. With ``balance=True`` all classes have an equal say.

rng = np.random.default_rng(0)
sizes = [300, 300, 12]
X = np.repeat([[-1.5, 0], [1.5, 0], [0, 3]], sizes, axis=0) + 0.7 * rng.normal(
    size=(sum(sizes), 2)
)
y = np.repeat([0, 1, 2], sizes)
figure, axes = plt.subplots(
    1, 3, figsize=(7, 3), layout="constrained", width_ratios=[1.2, 1, 1]
)
for number, marker in enumerate("os^"):
    axes[0].scatter(*X[y == number].T, s=16, marker=marker, alpha=0.7)
axes[0].set(title="the rows", xticks=[], yticks=[])
for ax, balance in zip(axes[1:], (False, True), strict=True):
    z = LPP(1, graph=SameClass(balance=balance)).fit_transform(X, y).ravel()
    for number in range(3):
        ax.hist(
            z[y == number],
            bins=np.linspace(z.min(), z.max(), 30),
            density=True,
            alpha=0.6,
        )
    ax.set(title=f"balance={balance}", xticks=[], yticks=[])
plt.show()

# %%
# **Leakage.** The labels are random, so no model can be right much more often than half of the time. A supervised
# projection that is fitted to all rows before the cross-validation seems to be always right.

rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 200)), rng.integers(0, 2, 100)
supervised = LPP("auto", graph="supervised")
bars(
    {
        "fitted before the folds": 100
        * cross_val_score(nearest, supervised.fit_transform(X, y), y).mean(),
        "fitted inside the folds": 100
        * cross_val_score(make_pipeline(supervised, nearest), X, y).mean(),
    },
    "Random labels",
)

# %%
# **Unknown labels.** One label of four is known, and -1 stands for the others. To scikit-learn -1 is a class. A
# pipeline learns to answer -1, its score counts that as right, and it is useless on new rows.

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = X[:900], X[900:], y[:900], y[900:]
some = np.where(np.random.default_rng(1).random(900) < 0.25, y, -1)
pipeline, model = (
    make_pipeline(LPP(10), KNeighborsClassifier(5)),
    SemiSupervised(LPP(10, graph="semi"), nearest),
)
bars(
    {
        "pipeline, its score": 100 * cross_val_score(pipeline, X, some).mean(),
        "pipeline, new rows": 100 * pipeline.fit(X, some).score(X_new, y_new),
        "SemiSupervised, its score": 100
        * cross_val_score(model, X, some, cv=LabelledSplit(5)).mean(),
        "SemiSupervised, new rows": 100 * model.fit(X, some).score(X_new, y_new),
    },
    "A quarter of the labels is known",
    wrong=2,
)

# %%
# **Noise directions.** A hundred digits of 64 pixels, ten dimensions. With ``pca=None`` directions of hardly any
# variance win by chance. The default leaves them out first.

splits = StratifiedShuffleSplit(20, train_size=100, test_size=500, random_state=0)
X, y = load_digits(return_X_y=True)
shares = {
    "None (keep all)": None,
    "0.99": 0.99,
    "0.95": 0.95,
    "0.8": 0.8,
    '"auto" (default)': "auto",
}
bars(
    {
        f"pca={name}": 100
        * cross_val_score(
            make_pipeline(LPP(10, pca=share), nearest), X, y, cv=splits
        ).mean()
        for name, share in shares.items()
    },
    "100 digits for training",
)

# %%
# **More components than classes.** Three growers of wine are told apart by two directions. All directions after the
# second have the same eigenvalue, 1: which they are is arbitrary. lapwing warns about it.

X, y = load_wine(return_X_y=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = LPP(8, graph="supervised", ridge=0, standardize=True).fit(X, y)
print(caught[-1].message)
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.bar(range(1, 9), model.eigenvalues_, color=["tab:blue"] * 2 + ["tab:red"] * 6)
ax.set(xlabel="direction", ylabel="eigenvalue", title="Three classes, eight directions")
plt.show()

# %%
# **One row far away.** The colour of one wine is written as 1000000000. In the map of all wines this one lies alone. Its
# column is lost, because the deviation that it is divided by is that of the wrong value. Without this wine, the other
# wines are told apart as they should be.

X, y = load_wine(return_X_y=True)
X[7, 9] = 1e9
kept = np.arange(len(X)) != 7
figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for ax, rows, title in zip(
    axes,
    (kept | True, kept),
    ("with the wrong value", "without that wine"),
    strict=True,
):
    Z = LPP(2, standardize=True).fit_transform(X[rows])
    for grower, marker in enumerate("os^"):
        ax.scatter(*Z[y[rows] == grower].T, s=24, marker=marker, alpha=0.8)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
