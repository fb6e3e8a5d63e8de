"""
Which projection shows my classes best?
=======================================

A picture in two dimensions is often the first thing that one wants to see of data. This
example draws scikit-learn's digits by twelve linear projections, learnt from one half
of the digits and applied to the other half. Then it asks how many dimensions it takes
to tell digits apart, because two are few.
"""

# %%
# Twelve pictures of new digits
# -----------------------------
# All methods are linear, so that each picture is a product of the pixels with two
# directions. Those that are marked by a star have seen the labels of the first half.
# None has seen the second half, which is shown. The colour of a dot is its digit.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from lapwing import DNE, LPDP, LPP, MFA, MMC, OLPP, ONPP
from lapwing.graphs import KNN, Repulsion, SameClass

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)

methods = {
    "PCA": PCA(2),
    "LPP": LPP(2),
    "OLPP": OLPP(2),
    "ONPP": ONPP(2),
    "LDA*": LinearDiscriminantAnalysis(n_components=2),
    "LPP, classes*": LPP(2, graph="supervised"),
    "LPP, 3 graphs*": LPP(
        2, graph=KNN(5) + SameClass() - 0.5 * Repulsion(15), normalize="trace"
    ),
    "OLPP, repulsion*": OLPP(
        2, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"
    ),
    "MMC*": MMC(2),
    "LPDP*": LPDP(2),
    "MFA*": MFA(2),
    "DNE*": DNE(2),
}

figure, axes = plt.subplots(4, 3, figsize=(6.8, 8.6), layout="constrained")
scores = {}
for ax, (name, model) in zip(axes.flat, methods.items(), strict=True):
    Z_train, Z = model.fit(X_train, y_train).transform(X_train), model.transform(X_test)
    scores[name] = KNeighborsClassifier(15).fit(Z_train, y_train).score(Z, y_test)
    dots = ax.scatter(*Z.T, c=y_test, cmap="tab10", s=4)
    ax.set(title=f"{name}: {scores[name]:.2f}", xticks=[], yticks=[])
figure.legend(
    *dots.legend_elements(),
    loc="outside lower center",
    ncols=10,
    handletextpad=0,
    columnspacing=1,
)
plt.show()

# %%
# The number in each title is the share of new digits that the 15 nearest digits of the
# first half recognise in the plane.

for name in sorted(scores, key=scores.get, reverse=True):
    print(f"{name:18} {scores[name]:.3f}")

# %%
# How many dimensions are enough?
# -------------------------------
# :func:`lapwing.comparison.compare` tries methods and numbers of dimensions by
# cross-validation, with one fit for many numbers. The picture shows the accuracy of the
# nearest neighbour.

from lapwing import plots
from lapwing.comparison import compare

found = compare(
    X,
    y,
    methods=["PCA", "LDA", "LPP", "MMC", "LPDP"],
    dimensions=[2, 4, 8, 16, 32],
    cv=3,
)
plots.compare(found).set_title("Digits, 3 folds")
plt.show()

# %%
# What to take home
# -----------------
# - In two dimensions the four best methods have seen labels, and they are only a little
#   ahead of LPP without labels: ten digits need more than two directions. Labels are no
#   guarantee either. DNE has seen them too, and is last.
# - Two dimensions are for looking. With 16 of them, nearly every method recognises the
#   digits, PCA among them.
# - Several methods and numbers of dimensions do equally well. ``found.choice``, which is
#   printed below, recommends the one with the fewest dimensions among all that are
#   within one standard error of the best.

print(found.choice)
