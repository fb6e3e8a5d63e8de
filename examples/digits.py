"""Several projections of scikit-learn's digits: held-out 1-NN accuracy, and a picture of the 2-D embeddings."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lapwing import DNE, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP
from lapwing.graphs import KNN, Repulsion, SameClass

METHODS = {  # name: (labels used, estimator with n_components left to set)
    "PCA": ("", PCA()),
    "LPP": ("", LPP()),
    "NPE": ("", NPE()),
    "OLPP": ("", OLPP()),
    "ONPP": ("", ONPP()),
    "LDA": ("yes", LinearDiscriminantAnalysis()),
    "LPP, all graphs": ("yes", LPP(graph=KNN(5) + SameClass() - 0.5 * Repulsion(15), normalize="trace")),
    "OLPP-R": ("yes", OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace")),
    "MMC": ("yes", MMC()),
    "LPDP": ("yes", LPDP()),
    "MFA": ("yes", MFA()),
    "DNE": ("yes", DNE()),
}
SPLITS, DIMENSIONS = 5, (2, 9, 15)
PICTURE = Path("out/digits.png")


def accuracy(estimator, k, X, y):
    """Mean and spread of 1-NN accuracy on held-out halves, in percent."""
    scores = []
    for train, test in StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0).split(X, y):
        model = make_pipeline(estimator.set_params(n_components=k), KNeighborsClassifier(1))
        scores.append(100 * model.fit(X[train], y[train]).score(X[test], y[test]))
    return np.mean(scores), np.std(scores)


def table(X, y):
    print(f"Held-out 1-NN accuracy on the digits (1,797 x 64), {SPLITS} halves: mean and spread in percent\n")
    print(f"{'method':17}{'labels':8}" + "".join(f"{f'{k} components':>16}" for k in DIMENSIONS))
    for name, (labels, estimator) in METHODS.items():
        cells = [f"{mean:9.1f} ± {spread:.1f}" for mean, spread in cells_of(name, estimator, X, y)]
        print(f"{name:17}{labels:8}" + "".join(f"{cell:>16}" for cell in cells))


def cells_of(name, estimator, X, y):
    for k in DIMENSIONS:
        if name == "LDA" and k > 9:  # at most one component less than classes
            continue
        yield accuracy(estimator, k, X, y)


def picture(X, y):
    """Held-out halves in two dimensions."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    train, test = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=0).split(X, y))
    figure, axes = plt.subplots(3, 4, figsize=(13, 10), layout="constrained")
    for axis, (name, (labels, estimator)) in zip(axes.flat, METHODS.items(), strict=True):
        Z = estimator.set_params(n_components=2).fit(X[train], y[train]).transform(X[test])
        points = axis.scatter(*Z.T, c=y[test], cmap="tab10", s=7, vmin=-0.5, vmax=9.5, linewidths=0)
        axis.set_title(name + (" (labels)" if labels else ""), fontsize=11)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.colorbar(points, ax=axes, ticks=range(10), shrink=0.6, label="digit")
    figure.suptitle("Digits the projection was not fitted on, in two dimensions")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    print(f"\nThe 2-D embeddings are in {PICTURE}")


def main():
    X, y = load_digits(return_X_y=True)
    table(X, y)
    picture(X, y)


if __name__ == "__main__":
    main()
