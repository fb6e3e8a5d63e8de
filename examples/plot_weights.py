"""
What do I do about rare classes and rows that count more?
=========================================================

In most methods a class counts by its number of samples, so that a rare class hardly
counts. And a row counts once, even if it stands for a hundred people of a survey.
``SameClass(balance=True)`` gives every class the same weight, and ``sample_weight``
gives every row its own. This example shows what each of them changes.
"""

# %%
# A rare class in the plane
# -------------------------
# There are three classes, of 300, 300 and 12 samples. The two common classes are
# stretched in one direction, and the rare one in another. Discriminant analysis looks
# for directions along which classes are narrow. Which class is to be narrow, if they
# differ? Without balance, the common ones decide.

import matplotlib.pyplot as plt
import numpy as np

from lapwing import LPP
from lapwing.graphs import SameClass

rng = np.random.RandomState(0)
wide, tall = np.array([2.0, 0.5]), np.array([0.5, 2.0])
parts = [
    [0.0, 0.0] + wide * rng.standard_normal((300, 2)),
    [0.0, 3.0] + wide * rng.standard_normal((300, 2)),
    [6.0, 1.5] + tall * rng.standard_normal((12, 2)),
]
X, y = np.vstack(parts), np.repeat([0, 1, 2], [300, 300, 12])

models = {
    "SameClass()": LPP(1, graph=SameClass()).fit(X, y),
    "SameClass(balance=True)": LPP(1, graph=SameClass(balance=True)).fit(X, y),
}
for name, model in models.items():
    v = model.components_[0] / np.linalg.norm(model.components_[0])
    print(f"{name:26} first direction ({v[0]:+.2f}, {v[1]:+.2f})")

# %%
# The picture shows the first direction of each as an arrow, and the samples projected
# on it. Without balance the rare class is stretched over both common ones. With balance
# it stands apart, and the two common classes overlap instead: one direction cannot have
# everything, and balance says who decides.

colors = np.array(["tab:blue", "tab:orange", "tab:red"])
figure, axes = plt.subplots(
    2, 2, figsize=(6.4, 4.6), layout="constrained", height_ratios=[1.3, 1]
)
for column, (name, model) in enumerate(models.items()):
    v = model.components_[0] / np.linalg.norm(model.components_[0])
    above, below = axes[:, column]
    above.scatter(*X.T, c=colors[y], s=np.where(y == 2, 24, 6))
    start, end = [1.5, 1.5] - 2.4 * v, [1.5, 1.5] + 2.4 * v
    above.annotate(
        "", end, start, arrowprops={"arrowstyle": "-|>", "lw": 2.5, "color": "black"}
    )
    above.set(title=name, xticks=[], yticks=[], aspect="equal")
    below.scatter(
        X @ v,
        y + 0.25 * rng.uniform(-1, 1, len(y)),
        c=colors[y],
        s=np.where(y == 2, 24, 6),
    )
    below.set(yticks=[], xlabel="projected, one line per class")
    below.invert_yaxis()
plt.show()

# %%
# Rare classes in real data
# -------------------------
# Now we take digits, of which 5 to 9 have only six training samples each, and wine, of
# which one class of three is as rare. The score is the balanced accuracy of the five
# nearest neighbours on new samples, over eight random halves.

from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def half(X, y, rare, seed):
    """One half to train with, in which rare classes have six samples, and the other half."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    kept = np.concatenate(
        [np.flatnonzero(y_train == c)[: 6 if c in rare else None] for c in np.unique(y)]
    )
    return X_train[kept], X_test, y_train[kept], y_test


for name, (data, rare) in {
    "digits": (load_digits, range(5, 10)),
    "wine": (load_wine, [2]),
}.items():
    samples, classes = data(return_X_y=True)
    for graph in (SameClass(), SameClass(balance=True)):
        scores = []
        for seed in range(8):
            train, test, y_train, y_test = half(samples, classes, rare, seed)
            model = make_pipeline(
                StandardScaler(), LPP("auto", graph=graph), KNeighborsClassifier(5)
            ).fit(train, y_train)
            scores.append(balanced_accuracy_score(y_test, model.predict(test)))
        print(
            f"{name:8}{graph!s:26} balanced accuracy {np.mean(scores):.3f} ± {np.std(scores):.3f}"
        )

# %%
# Rows that stand for many
# ------------------------
# ``sample_weight`` says how many samples a row stands for. A weight of 3 is the same as
# the row three times, and a weight of 0 as if it was not there. It exists where the
# graph is of classes alone. With neighbours there is no such weight, because a row that
# comes three times would be its own neighbour.

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
weights = np.random.RandomState(0).randint(0, 5, len(y))
weighted = LPP(2, graph="supervised").fit(X, y, sample_weight=weights)
repeated = LPP(2, graph="supervised").fit(
    np.repeat(X, weights, axis=0), np.repeat(y, weights)
)
difference = abs(weighted.components_ - repeated.components_).max()
print(
    f"{len(y)} rows with weights from 0 to 4, or {weights.sum()} repeated rows: largest difference {difference:.1e}"
)

# %%
# What to take home
# -----------------
# - ``SameClass(balance=True)`` lets rare classes decide as much as common ones. On the
#   digits with rare classes it gains, and on wine, where classes are easy to tell, it
#   gains nothing.
# - ``sample_weight`` is exact repetition, for survey weights, counts, and rows that
#   were merged.
# - Both change the projection only. A classifier behind it has its own view of rare
#   classes, such as ``class_weight="balanced"`` or ``weights="distance"``.
