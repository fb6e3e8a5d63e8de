"""
Eigenfaces, Fisherfaces, Laplacianfaces
=======================================

The directions of a linear map of images are images themselves. Faces are those of the Yale collection, if they are at
hand, else the pictures are digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lapwing import LPP
from lapwing.graphs import KNN, SameClass
from lapwing.papers.datasets import available, load
from lapwing.plots import components

data = load("yale" if available()["yale"]["32x32"] == "file" else "digits")
y, shape = data.target, data.image_shape
X = data.data / np.linalg.norm(data.data, axis=1, keepdims=True)

# %%
# All have one dimension less than there are people. LPP with the class graph is linear discriminant analysis, here
# after n - c principal components, as Fisherfaces were published; Laplacianfaces are LPP after 98 % of the energy.

c, n = len(np.unique(y)), len(y) // 2
methods = {
    "Eigenfaces": PCA(c - 1),
    "Fisherfaces": LPP(c - 1, pca=n - c if n - c < X.shape[1] else None, graph=SameClass()),
    "Laplacianfaces": LPP(c - 1, pca=0.98),
    "Laplacianfaces, neighbours of the same class": LPP(c - 1, pca=0.98, graph=KNN(3, among="same_class")),
}

figure = plt.figure(figsize=(9, 6.8), layout="constrained")
for part, (name, model) in zip(figure.subfigures(len(methods), 1), methods.items(), strict=True):
    components(model.fit(X, y), image_shape=shape, n_components=8, title=name, figure=part)
plt.show()

# %%
# How well does the nearest neighbour recognise in these spaces? Errors in percent over ten random halves:

halves = StratifiedShuffleSplit(10, test_size=0.5, random_state=0)
for name, model in methods.items():
    errors = 100 * (1 - cross_val_score(make_pipeline(model, KNeighborsClassifier(1)), X, y, cv=halves))
    print(f"{name:46}{errors.mean():6.1f} ± {errors.std():.1f}")
