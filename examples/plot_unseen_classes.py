"""
Classes that were never seen
============================

Metric learning asks for a space in which samples of one class are near each other, also samples of classes that nobody had
when the space was learnt: faces of new people, new products, new species. Here the space is learnt from one half of the classes,
and the other half is searched in it: each sample asks for those of its own class among a few that are known. Faces are those of
the ORL collection, if they are at hand, else the pictures are digits.

A classifier would be of no use, since it knows the old classes only. Of 20 people, a projection learns what tells people
apart, and finds new ones better than principal components do. Of five digits it learns what tells these five apart, which is
little help with the other five: there PCA does better than the methods that follow classes alone. Such spaces are learnt from
many classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from lapwing import LFDA, LPP, LSDA, MFA, KernelLDA
from lapwing.metrics import mean_average_precision, recall_at_k
from lapwing.papers.datasets import available, load

data = load("orl" if available()["orl"]["32x32"] == "file" else "digits")
X, y = data.data, data.target
classes = np.unique(y)
seen = np.isin(y, classes[: len(classes) // 2])
k = min(19, len(classes) // 2 - 1)

methods = {
    "PCA": PCA(k),
    "LPP, neighbours": LPP(k),
    "LPP, classes (LDA with a ridge)": LPP("auto", graph="supervised"),
    "MFA": MFA(k),
    "LSDA": LSDA(k),
    "LFDA": LFDA(k),
    "KernelLDA": KernelLDA(),
}

# %%
# Of each unseen class two samples are in the index, and the others ask. Recall at 1 is the share of queries whose nearest row of
# the index has their class; the mean average precision looks at the whole order.

new, labels = X[~seen], y[~seen]
turn = np.array([np.sum(labels[:i] == label) for i, label in enumerate(labels)])
index, asking = turn < 2, turn >= 2
scores = {}
for name, method in methods.items():
    Z = method.fit(X[seen], y[seen]).transform(new)
    given = Z[asking], labels[asking], Z[index], labels[index]
    scores[name] = mean_average_precision(*given), recall_at_k(*given, n_neighbors=1)
    print(f"{name:32} mean average precision {scores[name][0]:.3f}, recall at 1 {scores[name][1]:.3f}")

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
places = np.arange(len(scores))
for shift, place, what in ((-0.2, 0, "mean average precision"), (0.2, 1, "recall at 1")):
    ax.barh(places + shift, [found[place] for found in scores.values()], height=0.38, label=what)
ax.set_yticks(places, labels=scores)
ax.invert_yaxis()
ax.set(xlim=(0.3, 1), title="Classes that were not seen in training")
ax.legend()
plt.show()
