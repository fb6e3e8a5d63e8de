"""
Graphs add up
=============

Four projections of wine to two dimensions, one class of three hard to tell: from neighbours alone, from a few labels, from all of
them, and with the near samples of other classes pushed away.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from lapwing import OLPP
from lapwing.graphs import KNN, Repulsion, SameClass
from lapwing.plots import EmbeddingDisplay

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
few = np.where(np.random.RandomState(0).uniform(size=y.size) < 0.1, y, -1)  # -1 is unknown

graphs = {
    "neighbours": (KNN(7), None),
    f"neighbours and {np.sum(few >= 0)} labels": (KNN(7) + SameClass(), few),
    "neighbours and all labels": (KNN(7) + SameClass(), y),
    "classes, repelled": (SameClass() - 0.2 * Repulsion(15), y),
}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.6), layout="constrained")
for ax, (name, (graph, labels)) in zip(axes, graphs.items(), strict=True):
    model = OLPP(2, graph=graph, normalize="trace").fit(X, labels)
    EmbeddingDisplay.from_estimator(model, X, y, ax=ax)
    ax.set(title=name, xticks=[], yticks=[])
plt.show()
