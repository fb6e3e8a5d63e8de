"""
How do I fit many rows quickly?
===============================

The search for the neighbours of all rows takes nearly all the time of a fit, and its
time grows with the square of their number. A linear map needs only sums over the links
of the graph, and sums can be estimated from a sample. ``KNN(5, queries=2_000)``
searches for the neighbours of 2,000 random rows, each exactly and among all rows. This
example measures what that saves, and what it costs.
"""

# %%
# The rows
# --------
# We make 24,000 rows of 64 columns in 20 classes: few enough that all neighbours can be
# found for comparison. A thousand more rows are there to be recognised. Above 100,000
# rows sampling is the default, with 20,000 queries.

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.neighbors import KNeighborsClassifier

from lapwing import LPP, sampling_error
from lapwing.graphs import KNN

rng = np.random.RandomState(0)
n, d, n_new = 24_000, 64, 1000
labels = rng.randint(20, size=n + n_new)
latent = 1.2 * rng.standard_normal((20, 24))[labels] + rng.standard_normal(
    (n + n_new, 24)
)
rows = latent * np.linspace(1, 0.3, 24) @ rng.standard_normal(
    (24, d)
) + 1.5 * rng.standard_normal((n + n_new, d))
X, X_new, y, y_new = rows[:n], rows[n:], labels[:n], labels[n:]

# %%
# What we measure
# ---------------
# For every number of queries we look at
#
# - the seconds that the fit takes,
# - ``excess``: how much worse, as a share, the objective is estimated to be than with
#   all rows. :func:`lapwing.sampling_error` estimates it by two more fits, with other
#   samples of as many rows,
# - the largest and the mean angle between the subspace found and that of all rows,
# - the accuracy of the five nearest neighbours on new rows.


def tried(graph):
    start = time.perf_counter()
    model = LPP(10, graph=graph).fit(X)
    seconds = time.perf_counter() - start
    nearest = KNeighborsClassifier(5).fit(model.transform(X[:4000]), y[:4000])
    return model, seconds, nearest.score(model.transform(X_new), y_new)


whole, all_seconds, all_accuracy = tried(KNN(5))
numbers = (250, 500, 1000, 2000, 4000)
found = []
print(
    f"{'queries':>8}{'seconds':>9}{'excess':>9}{'largest angle':>15}{'mean angle':>14}{'accuracy':>10}"
)
for queries in numbers:
    model, seconds, accuracy = tried(KNN(5, queries=queries, random_state=0))
    angles = np.degrees(subspace_angles(model.components_.T, whole.components_.T))
    excess = sampling_error(model, X)["excess"]
    found.append((seconds, excess, angles.max(), np.mean(angles), accuracy))
    print(
        f"{queries:8}{seconds:9.2f}{found[-1][1]:9.4f}{angles.max():14.1f}°{np.mean(angles):13.1f}°{accuracy:10.3f}"
    )
print(f"{'all':>8}{all_seconds:9.2f}{0:9.4f}{0:14.1f}°{0:13.1f}°{all_accuracy:10.3f}")
seconds, excess, largest, mean, accuracy = np.array(found).T

# %%
# The upper picture shows the time, the middle one the angles, the lower one the
# accuracy. The dashed lines are those of all rows.

figure, axes = plt.subplots(3, 1, figsize=(6.4, 7.4), layout="constrained", sharex=True)
axes[0].plot(numbers, seconds, "o-")
axes[0].axhline(all_seconds, color="black", ls="--")
axes[0].set(ylabel="seconds", ylim=(0, None), title=f"LPP(10) of {n:,} x {d} rows")
axes[1].plot(numbers, largest, "s-", label="largest angle")
axes[1].plot(numbers, mean, "o-", label="mean angle")
axes[1].set(ylabel="degrees from all rows", ylim=(0, None))
axes[1].legend()
axes[2].plot(numbers, accuracy, "o-")
axes[2].axhline(all_accuracy, color="black", ls="--", label="all rows")
axes[2].set(
    ylabel="accuracy on new rows", xlabel="queries", xscale="log", ylim=(0.5, 1)
)
axes[2].set_xticks(numbers, labels=[f"{q:,}" for q in numbers])
axes[2].minorticks_off()
axes[2].legend()
for ax in axes:
    ax.grid(alpha=0.3)
plt.show()

# %%
# What to take home
# -----------------
# - A sample of queries takes a share of the time. The share falls as rows become many,
#   because the time of a sampled fit grows with the number of rows, and that of a full
#   one with its square.
# - Read ``excess`` first. Below one per cent, the directions are practically as good as
#   those of all rows.
# - The largest angle stays large for long. The last directions have nearly equal
#   eigenvalues, so that any of them will do, and the accuracy shows that nothing is
#   lost.
# - With a few thousand rows do not bother: the search for all neighbours is a matter of
#   a second.

at = numbers.index(2000)
print(
    f"2,000 queries: {all_seconds / seconds[at]:.1f} times as fast, excess {100 * excess[at]:.2f} %, ",
    end="",
)
print(f"accuracy {accuracy[at]:.3f} beside {all_accuracy:.3f}")
