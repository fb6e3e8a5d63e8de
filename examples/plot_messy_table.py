"""
How do I use lapwing on a messy table?
======================================

Real tables have text, dates, gaps and columns in different units, and the class that
matters is often rare. lapwing's methods take numbers without gaps, as most of
scikit-learn does. This example puts scikit-learn's own preparation in front of a
lapwing method, so that one pipeline takes the table as it is, and cross-validation
treats every step fairly.
"""

# %%
# A table as people have it
# -------------------------
# We make one from scikit-learn's breast cancer data, so that everybody has it. Ten
# measurements of each tumour stay. One clinic writes the radius in inches. A tenth of
# all values is missing. We add a clinic, a device and a date, which say nothing about
# the tumour, and we keep only 50 of the 212 malignant cases.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

rng = np.random.RandomState(0)
cancer = load_breast_cancer(as_frame=True)
table = cancer.data.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
malignant = np.flatnonzero(cancer.target == 0)
kept = np.sort(
    np.concatenate(
        [np.flatnonzero(cancer.target == 1), rng.choice(malignant, 50, replace=False)]
    )
)
table, y = (
    table.iloc[kept].reset_index(drop=True),
    np.where(cancer.target.iloc[kept] == 0, "malignant", "benign"),
)

n = len(table)
table["clinic"] = rng.choice(["North", "South", "Harbour"], n)
table["device"] = rng.choice(["Axio 3", "Axio 4", "hand lens"], n, p=[0.5, 0.4, 0.1])
table["visit"] = (
    pd.Timestamp("2021-01-04") + pd.to_timedelta(rng.randint(0, 700, n), unit="D")
).strftime("%d.%m.%Y")
inches = table["clinic"] == "Harbour"
radius = table["radius"].where(~inches, table["radius"] / 25.4)
table["radius"] = [
    f"{value:.3f} in" if i else f"{value:.2f} mm"
    for value, i in zip(radius, inches, strict=True)
]
table = table.mask(rng.uniform(size=table.shape) < 0.1)
table[["radius", "area", "smoothness", "clinic", "device", "visit"]].head()

# %%
# The pipeline
# ------------
# Each kind of column has its own preparation. The radius becomes millimetres by a small
# function of our own. :class:`lapwing.tables.Preparation` turns dates into days. Gaps
# are filled by the median, text becomes one column per value, and all columns get the same
# scale, because distances would otherwise be those of the area alone.
#
# The reducer is :class:`lapwing.LPP` with two graphs. ``KNN(7)`` links each patient to
# the seven most similar ones. ``SameClass(balance=True)`` links patients of one class,
# and gives the rare class as much weight as the common one.
#
# Without units such as those of the radius, :func:`lapwing.tables.prepare` makes all
# steps in one call: :doc:`/command-line` has the code, and prints what was done.

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from lapwing import LPP
from lapwing.graphs import KNN, SameClass
from lapwing.tables import Preparation


def in_millimetres(columns):
    """Text such as "17.99 mm" or "0.708 in" as numbers of millimetres."""
    parts = columns["radius"].str.split(" ", expand=True)
    return (
        parts[0].astype(float) * parts[1].map({"mm": 1.0, "in": 25.4}).astype(float)
    ).to_frame()


filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
prepared = make_column_transformer(
    (make_pipeline(FunctionTransformer(in_millimetres), filled), ["radius"]),
    (make_pipeline(Preparation(), filled), ["visit"]),
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["clinic", "device"]),
    (filled, make_column_selector(dtype_include="number")),
)
reducer = LPP(2, graph=KNN(7) + SameClass(balance=True))
model = make_pipeline(prepared, reducer, KNeighborsClassifier(5))
n_columns = model.fit(table, y)[0].transform(table).shape[1]
print(
    f"{table.shape[1]} columns of the table become {n_columns} columns of numbers, and these become 2"
)

# %%
# Is it worth it?
# ---------------
# We compare with other second steps, by cross-validation on the same folds. The score
# is the balanced accuracy: the mean of the share of malignant cases that are found and
# the share of benign ones. Plain accuracy would be 88 % for a model that calls every
# case benign.

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
nearest = KNeighborsClassifier(5)
rivals = {
    "all columns, neighbours": make_pipeline(prepared, nearest),
    "PCA(2), neighbours": make_pipeline(prepared, PCA(2), nearest),
    "LDA, neighbours": make_pipeline(prepared, LinearDiscriminantAnalysis(), nearest),
    "LPP(2), neighbours": model,
    "logistic regression,\nbalanced classes": make_pipeline(
        prepared, LogisticRegression(class_weight="balanced")
    ),
}
scores = {
    name: cross_val_score(rival, table, y, cv=folds, scoring="balanced_accuracy")
    for name, rival in rivals.items()
}
for name, found in scores.items():
    print(
        f"{name.replace(chr(10), ' '):44} balanced accuracy {found.mean():.3f} ± {found.std():.3f}"
    )

# %%
# The upper picture shows all patients in the plane that the pipeline found. The lower
# one shows the scores, with the deviation over the folds.

Z = model[:-1].transform(table)
figure, (above, below) = plt.subplots(
    2, 1, figsize=(6.4, 7.6), layout="constrained", height_ratios=[1.3, 1]
)
for label, color in (("benign", "tab:blue"), ("malignant", "tab:red")):
    above.scatter(
        *Z[y == label].T,
        s=16,
        color=color,
        label=f"{label} ({np.sum(y == label)})",
        alpha=0.8,
    )
above.set(title="Patients in two dimensions", xticks=[], yticks=[])
above.legend()
below.barh(list(scores), [found.mean() for found in scores.values()], color="0.6")
below.errorbar(
    [found.mean() for found in scores.values()],
    list(scores),
    xerr=[found.std() for found in scores.values()],
    fmt="none",
    color="black",
)
below.invert_yaxis()
below.set(xlim=(0.5, 1), xlabel="balanced accuracy (10 folds)")
plt.show()

# %%
# What to take home
# -----------------
# - One pipeline takes the table with its text, dates, units and gaps. All that it
#   learns, it learns inside each fold.
# - For the nearest neighbours, two directions found by LPP do better than all columns
#   do, and about as well as LDA's one direction or slightly better. The differences are
#   smaller than the deviation over the folds.
# - If all that you need is a yes or a no, a balanced logistic regression is better on
#   this table. The reason to take LPP here is the plane itself: it shows who is similar
#   to whom, and it serves a search for similar patients.

best = max(scores, key=lambda name: scores[name].mean())
gain = scores["LPP(2), neighbours"] - scores["all columns, neighbours"]
print(f"best: {best.replace(chr(10), ' ')} ({scores[best].mean():.3f})")
print(
    f"LPP(2) less all columns, both with neighbours: {gain.mean():+.3f}, better or level in {np.sum(gain >= 0)} of 10 folds"
)
