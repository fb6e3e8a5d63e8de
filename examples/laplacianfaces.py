"""Eigenfaces, Fisherfaces and Laplacianfaces: error rates on the same splits, and what the directions look like.

Reads Yale_32x32.npz or ORL_32x32.npz (arrays X and y) from the folder LAPWING_DATA:

    LAPWING_DATA=folder python examples/laplacianfaces.py [Yale | ORL]

and takes scikit-learn's digits where that is not set.
"""

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lapwing import LPP
from lapwing.graphs import KNN, SameClass
from lapwing.plots import components

PICTURE = Path("out/laplacianfaces.png")
SPLITS, SHOWN = 10, 8


def load(name):
    """Images as rows, their labels, their shape, and what to call them."""
    folder = os.environ.get("LAPWING_DATA")
    if not folder:
        X, y = load_digits(return_X_y=True)
        return X[:600], y[:600], (8, 8), "digits (LAPWING_DATA is not set)"
    data = np.load(Path(folder) / f"{name}_32x32.npz")
    X, y = data["X"].reshape(len(data["y"]), -1).astype(float), data["y"]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, (32, 32), f"{name} faces"


def methods(X, y):
    """At c - 1 dimensions, for half of the samples.

    LPP with the class graph is linear discriminant analysis, here after n - c principal components, as Fisherfaces were
    published. scikit-learn's divides each direction by the deviation within classes, which at n - c is next to nothing.
    """
    c, n = len(np.unique(y)), len(y) // 2
    return {
        "Eigenfaces": PCA(c - 1),
        "Fisherfaces": LPP(c - 1, pca=n - c if n - c < X.shape[1] else None, graph=SameClass()),
        "Laplacianfaces": LPP(c - 1, pca=0.98),
        "Laplacianfaces, neighbours of the same class": LPP(c - 1, pca=0.98, graph=KNN(3, among="same_class")),
    }


def main():
    X, y, shape, name = load(sys.argv[1] if len(sys.argv) > 1 else "Yale")
    cv = StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0)
    print(f"{name}: error of 1-NN in percent, mean and deviation over {SPLITS} random halves\n")
    for method, model in methods(X, y).items():
        errors = 100 * (1 - cross_val_score(make_pipeline(model, KNeighborsClassifier(1)), X, y, cv=cv))
        print(f"{method:46}{errors.mean():6.1f} +- {errors.std():.1f}")
    picture(X, y, shape)


def picture(X, y, shape):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = methods(X, y)
    figure = plt.figure(figsize=(1.1 * SHOWN, 1.6 * len(found)), layout="constrained")
    for part, (method, model) in zip(figure.subfigures(len(found), 1), found.items(), strict=True):
        components(model.fit(X, y), image_shape=shape, n_components=SHOWN, n_columns=SHOWN, title=method, figure=part)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    print(f"\nThe first directions of each are in {PICTURE}")


if __name__ == "__main__":
    main()
