"""
Digits in two dimensions
========================

Twelve projections of scikit-learn's digits, learnt from one half and applied to the other.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from lapwing import DNE, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP
from lapwing.graphs import KNN, Repulsion, SameClass
from lapwing.plots import EmbeddingDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

methods = {
    "PCA": PCA(2),
    "LPP": LPP(2),
    "NPE": NPE(2),
    "OLPP": OLPP(2),
    "ONPP": ONPP(2),
    "LDA (labels)": LinearDiscriminantAnalysis(n_components=2),
    "LPP, three graphs (labels)": LPP(2, graph=KNN(5) + SameClass() - 0.5 * Repulsion(15), normalize="trace"),
    "OLPP-R (labels)": OLPP(2, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"),
    "MMC (labels)": MMC(2),
    "LPDP (labels)": LPDP(2),
    "MFA (labels)": MFA(2),
    "DNE (labels)": DNE(2),
}

figure, axes = plt.subplots(3, 4, figsize=(13, 9.5), layout="constrained")
for ax, (name, model) in zip(axes.flat, methods.items(), strict=True):
    model.fit(X_train, y_train)
    EmbeddingDisplay.from_estimator(model, X_test, y_test, ax=ax, s=7)
    ax.get_legend().remove()
    ax.set(title=name, xticks=[], yticks=[], xlabel="", ylabel="")
figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", title="digit", markerscale=2.5)
plt.show()

# %%
# Two dimensions are few. How many are enough, and with which method? :func:`lapwing.comparison.compare` tries them
# by cross-validation, with one fit for all numbers of dimensions.

from lapwing.comparison import compare
from lapwing.plots import ComparisonDisplay

found = compare(X, y, methods=["PCA", "LDA", "LPP", "OLPP", "MMC", "LPDP"], dimensions=[2, 4, 8, 16, 32])
ComparisonDisplay.from_comparison(found)
plt.show()

# %%
# The choice: of all within one standard error of the best, the fewest dimensions.

print(found.choice)
