"""
Which method should I try first?
================================

The first picture is a decision tree: answer the questions from top to bottom, and take the first yes. The second
picture measures what matters most in it, which is whether labels are used.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import LPP, KernelLPP

questions = [
    (
        "Do you only want a picture\nin two dimensions, no labels?",
        "t-SNE or UMAP",
        "tab:gray",
    ),
    (
        "Do you have a target, and\nis it a number or a grade?",
        "LPP with\ngraph=Target(15)",
        "tab:blue",
    ),
    (
        "Are most rows labelled, and will\nyou search among new classes?",
        'LPP("auto",\ngraph="supervised")',
        "tab:blue",
    ),
    (
        "Are most rows labelled, and must\nthe projection be linear?",
        'LPP with\ngraph="supervised"',
        "tab:blue",
    ),
    (
        "Are most rows labelled, and\nmay the projection be curved?",
        'KernelLPP with\ngraph="supervised"',
        "tab:blue",
    ),
    ("Are a few rows labelled?", 'LPP with\ngraph="propagate"', "tab:blue"),
    (
        "Do you know pairs that belong\ntogether: places, times, a network?",
        "LPP or GraphPCA\nwith your graph",
        "tab:blue",
    ),
    (
        "Do you want to cluster\nthe documents you have?",
        "LPI or\nTruncatedSVD",
        "tab:blue",
    ),
]


def box(ax, x, y, width, text, color, ink="black"):
    """A rounded box with a text in its middle."""
    shape = FancyBboxPatch(
        (x, y - 0.36),
        width,
        0.72,
        boxstyle="round,pad=0.04",
        facecolor=color,
        edgecolor="black",
    )
    ax.add_patch(shape)
    ax.text(x + width / 2, y, text, ha="center", va="center", color=ink, fontsize=13)


figure, ax = plt.subplots(figsize=(6.8, 9.4), layout="constrained")
for place, (question, answer, color) in enumerate(questions):
    y = -1.15 * place
    box(ax, 0, y, 3.8, question, "#eef3f8")
    box(ax, 4.7, y, 2.4, answer, color, "white")
    ax.annotate("", (4.66, y), (3.84, y), arrowprops={"arrowstyle": "-|>", "lw": 1.8})
    ax.text(4.22, y + 0.07, "yes", ha="center", va="bottom", fontsize=13)
    ax.annotate(
        "",
        (1.9, y - 0.77),
        (1.9, y - 0.4),
        arrowprops={"arrowstyle": "-|>", "lw": 1.8},
    )
    ax.text(2.0, y - 0.58, "no", va="center", fontsize=13)
box(ax, 0, -1.15 * len(questions), 3.8, "PCA", "tab:gray", "white")
ax.set(xlim=(-0.1, 7.2), ylim=(-1.15 * len(questions) - 0.5, 0.5))
ax.axis("off")
plt.show()

# %%
# Blue answers are methods of lapwing, and gray ones are not. TruncatedSVD is scikit-learn's.
#
# How much does it matter? Here are four data sets of scikit-learn, with 100 rows for training. All methods keep one
# dimension less than there are classes, and the nearest neighbour names the class. The dashed line is the nearest
# neighbour with all columns, methods of lapwing are blue, and the black lines are standard deviations over five splits.

sets = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
halves = StratifiedShuffleSplit(5, train_size=100, test_size=None, random_state=0)
scores = {}
for name, loader in sets.items():
    X, y = loader(return_X_y=True)
    k = len(np.unique(y)) - 1
    methods = {
        "all columns": [],
        "PCA": [PCA(k)],
        "LPP, no labels": [LPP(k)],
        "LDA, shrinkage": [
            LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
        ],
        "LPP, labels": [LPP("auto", graph="supervised")],
        "KernelLPP, labels": [KernelLPP("auto", graph="supervised")],
    }
    for method, steps in methods.items():
        model = make_pipeline(StandardScaler(), *steps, KNeighborsClassifier(1))
        scores[name, method] = 100 * cross_val_score(model, X, y, cv=halves)

figure, axes = plt.subplots(2, 2, figsize=(7, 5.6), layout="constrained", sharey=True)
shown = list(methods)[1:]
for ax, name in zip(axes.flat, sets, strict=True):
    means = [scores[name, method].mean() for method in shown]
    errors = [scores[name, method].std() for method in shown]
    ax.barh(
        shown,
        means,
        xerr=errors,
        color=["tab:gray", "tab:blue", "tab:gray", "tab:blue", "tab:blue"],
    )
    ax.axvline(scores[name, "all columns"].mean(), color="black", ls="--")
    ax.set(title=name, xlim=(50, 100))
    ax.tick_params(labelsize=12)
axes[0, 0].invert_yaxis()
figure.supxlabel("nearest neighbour right, %")
plt.show()

for (name, method), found in scores.items():
    print(f"{name:15}{method:20}{found.mean():5.1f} ± {found.std():.1f} %")
