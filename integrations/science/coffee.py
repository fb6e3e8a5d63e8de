"""Where does this coffee come from? Spectra with far more columns than rows: LPP as it comes, in the place of PLS-DA.

The 60 infrared spectra of 1,841 numbers are those in the wheel of chemotools. Each method learns from a few of them and names the
origin of all others, 30 times.
"""

import numpy as np
from chemotools.datasets import load_coffee
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer

from lapwing import LPP

KNOWN, REPETITIONS = (9, 15, 30), 30


class PLSDA(ClassifierMixin, BaseEstimator):
    """Partial least squares towards one column of 0 and 1 per class; the largest answer names the class."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y):
        names = LabelBinarizer().fit(y)
        self.classes_ = names.classes_
        self.model_ = PLSRegression(self.n_components, scale=False).fit(X, names.transform(y))
        return self

    def predict(self, X):
        return self.classes_[self.model_.predict(X).argmax(axis=1)]


spectra, labels = load_coffee()
X, y = spectra.to_numpy(), labels["labels"].to_numpy()
nearest = KNeighborsClassifier(1)
methods = {f"PLS-DA, {k} components": PLSDA(k) for k in (2, 3, 4, 5, 6)} | {
    "all columns, nearest neighbour": nearest,
    "PCA, 2 components, nearest neighbour": make_pipeline(PCA(2), nearest),
    "LDA with shrinkage": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "LPP as it comes, 2 components, nearest neighbour": make_pipeline(LPP("auto", graph="supervised"), nearest),
}
print(f"{len(X)} spectra of {X.shape[1]:,} numbers, {len(set(y))} origins; right answers in per cent")
print("| learnt from | " + " | ".join(f"{n} spectra" for n in KNOWN) + " |\n|---" + "|---" * len(KNOWN) + "|")
found = {}
for name, model in methods.items():
    for n in KNOWN:
        splits = StratifiedShuffleSplit(REPETITIONS, train_size=n, random_state=0)
        found[name, n] = 100 * np.mean(cross_val_score(model, X, y, cv=splits, error_score="raise"))
    print(f"| {name} | " + " | ".join(f"{found[name, n]:.1f}" for n in KNOWN) + " |")

assert found["LPP as it comes, 2 components, nearest neighbour", 15] == 100.0
