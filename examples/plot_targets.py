"""
Targets that are numbers
========================

Ten measurements of 442 patients, and how far their diabetes had gone a year later: a number, not a class. ``Target(15)``
links the patients whose numbers are near, so that the projection keeps patients of like prospects together. With nine of ten
numbers hidden (NaN), neighbours among the measurements say what the others are like: ``KNN(15) + Target(15)``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from lapwing import LPP
from lapwing.graphs import KNN, Target

X, y = load_diabetes(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
few = np.where(np.random.RandomState(0).uniform(size=y.size) < 0.1, y, np.nan)  # NaN is unknown

models = {
    "neighbours": (LPP(2, graph=KNN(15)), y),
    f"neighbours and {np.sum(~np.isnan(few))} targets": (LPP(2, graph=KNN(15) + Target(15)), few),
    f"{y.size} targets": (LPP(2, graph=Target(15)), y),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", sharey=False)
for ax, (name, (model, target)) in zip(axes, models.items(), strict=True):
    Z, Z_test = model.fit(X, target).transform(X), model.transform(X_test)
    score = KNeighborsRegressor(15).fit(Z, y).score(Z_test, y_test)
    dots = ax.scatter(*Z_test.T, c=y_test, s=14, cmap="viridis")
    ax.set(title=f"{name}\nR² of new patients: {score:.2f}", xticks=[], yticks=[])
figure.colorbar(dots, ax=axes, label="progression")
plt.show()
