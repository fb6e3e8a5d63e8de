"""
Which features should I keep?
=============================

A projection mixes all features. Sometimes you want to keep a few as they are, because
measuring the others costs money or because the features must stay readable.
:class:`lapwing.LaplacianScore` ranks features without labels, and
:class:`lapwing.FisherScore` ranks them with labels. This example compares both with
what scikit-learn offers.
"""

# %%
# The scores
# ----------
# A good feature for the Laplacian score differs little between neighbours, compared
# with how much it varies overall. A good feature for the Fisher score has class means
# that lie far apart, compared with how much classes vary. The rivals are the plain
# variance, which needs no labels either, and the F statistic of an analysis of
# variance, ``f_classif``.
#
# The features are the 64 pixels of scikit-learn's digits, to which we add 36 columns of
# pure noise that vary as much as the strongest pixels. A good ranking puts the noise
# last.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_selection import f_classif
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from lapwing import FisherScore, LaplacianScore
from lapwing.graphs import KNN

pixels, y = load_digits(return_X_y=True)
noise = 6 * np.random.RandomState(0).standard_normal((len(y), 36))
X = np.hstack([pixels, noise])

F, varying = (
    np.zeros(X.shape[1]),
    X.std(axis=0) > 0,
)  # three pixels never change, which f_classif warns about
F[varying] = f_classif(X[:, varying], y)[0]
rankings = {
    "variance": np.argsort(-X.var(axis=0)),
    "Laplacian score": np.argsort(LaplacianScore(graph=KNN(5)).fit(X).scores_),
    "F statistic (labels)": np.argsort(-F),
    "Fisher score (labels)": np.argsort(-FisherScore().fit(X, y).scores_),
}
for name, order in rankings.items():
    print(
        f"{name:24} columns of noise among the best 30: {np.sum(order[:30] >= 64):2d}"
    )

# %%
# Which pixels are kept?
# ----------------------
# The upper pictures show the digit's 8 x 8 pixels. The 20 best features of each ranking
# are dark, as far as they are pixels. The lower picture shows how well the nearest
# neighbour tells digits apart with the best features alone, by cross-validation.

numbers = (2, 5, 10, 15, 20, 30, 40, 64)
curves = {
    name: [
        cross_val_score(KNeighborsClassifier(1), X[:, order[:n]], y, cv=3).mean()
        for n in numbers
    ]
    for name, order in rankings.items()
}

figure, axes = plt.subplot_mosaic(
    [list(rankings), ["curves"] * 4],
    figsize=(6.8, 6),
    height_ratios=[1, 2],
    layout="constrained",
)
for name, order in rankings.items():
    chosen = order[:20]
    picture = np.zeros(64)
    picture[chosen[chosen < 64]] = 1
    axes[name].imshow(picture.reshape(8, 8), cmap="Blues", vmin=0, vmax=1.3)
    axes[name].set(
        title=f"{name.replace(' (', chr(10) + '(')}\n{np.sum(chosen >= 64)} of noise",
        xticks=[],
        yticks=[],
    )
for (name, curve), style in zip(curves.items(), ("o:", "s-", "D--", "^-"), strict=True):
    axes["curves"].plot(numbers, curve, style, label=name)
axes["curves"].set(
    xlabel="features kept", ylabel="accuracy of the nearest neighbour", ylim=(0, 1.02)
)
axes["curves"].grid(alpha=0.3)
axes["curves"].legend(loc="lower right")
plt.show()

print("accuracy with", ", ".join(map(str, numbers)), "features")
for name, curve in curves.items():
    print(f"{name:24}" + "".join(f"{value:7.3f}" for value in curve))

# %%
# Both scores are selectors of scikit-learn, so that they go into a pipeline:
# ``make_pipeline(LaplacianScore(20), SVC())``.
#
# What to take home
# -----------------
# - Without labels the Laplacian score leaves out the noise, and the variance does not.
# - With labels the Fisher score and the F statistic give the same order, because one is
#   the other but for a factor. Take ``f_classif`` if it is all that you need.
#   ``FisherScore`` also reads rows in blocks, on a GPU, with weights and with unknown
#   labels.
# - Each feature is scored on its own. Two pixels that say the same are both kept, so
#   that a projection such as :class:`lapwing.LPP` with as many dimensions does better
#   where features may be mixed.

from sklearn.pipeline import make_pipeline

from lapwing import LPP

mixed = cross_val_score(
    make_pipeline(LPP(9, graph="supervised"), KNeighborsClassifier(1)), X, y, cv=3
).mean()
alone = cross_val_score(
    make_pipeline(FisherScore(9), KNeighborsClassifier(1)), X, y, cv=3
).mean()
equal = np.array_equal(
    rankings["F statistic (labels)"][:50], rankings["Fisher score (labels)"][:50]
)
print(f"9 features by the Fisher score {alone:.3f}, 9 mixtures by LPP {mixed:.3f}")
print(f"the best 50 by the F statistic and the Fisher score are the same: {equal}")
