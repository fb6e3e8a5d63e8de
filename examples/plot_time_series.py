"""
How do I use my own graph, for instance on time series?
=======================================================

In a time series the order of the rows says more than their distances do. A graph tells
lapwing which rows belong together, and the graph can be yours. This example finds the
slow state of a machine behind noisy sensors with the graph ``Chain``, and then the
daily rhythm with a graph that we write ourselves.
"""

# %%
# Twenty noisy sensors
# --------------------
# Every hour for 40 days, twenty sensors are read. Two things happen behind them: the
# machine wears slowly, and it is warm by day and cold by night. Both are small beside
# three sources of noise that change from hour to hour. We know what happened, because
# we made the data, so that we can see what is found.

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.RandomState(0)
hours = np.arange(40 * 24)
wear = np.cumsum(rng.standard_normal(hours.size))
wear = np.convolve(
    np.pad(wear, 24, mode="edge"), np.ones(49) / 49, mode="valid"
)  # over two days
wear = (wear - wear.mean()) / wear.std()
warmth = (
    np.sqrt(2) * np.cos(2 * np.pi * hours / 24) * rng.uniform(0.7, 1.3, 40).repeat(24)
)
noise = 3 * rng.standard_normal((hours.size, 3))
sources = np.column_stack([wear, warmth, noise])
sensors = sources @ rng.standard_normal((5, 20)) + 0.5 * rng.standard_normal(
    (hours.size, 20)
)


def agreement(Z, truth):
    """The absolute correlation of the first coordinate with what happened."""
    return abs(np.corrcoef(Z[:, 0], truth)[0, 1])


# %%
# Rows that follow each other
# ---------------------------
# ``Chain()`` links each hour to the next one. The direction along which linked rows
# differ least, compared with how much it varies, is the one that changes most slowly.
# This is known as slow feature analysis, and is :class:`lapwing.NPE` with that graph.
# PCA looks for what varies most, which is noise here.
#
# The column of the hours is for the graph only. ``On(..., beside=True)`` builds the
# graph on it and keeps it out of the projection. Because the hours are a column of X,
# the graph is right in every fold of a cross-validation too.
#
# ``pca=None`` matters here. By default lapwing leaves out the directions of least
# variance, which are noise in most data. The wear is such a direction of little
# variance, so that we keep all of them.

from sklearn.decomposition import PCA

from lapwing import NPE
from lapwing.graphs import Chain, On

X = np.column_stack([sensors, hours])
TIME = 20  # the column of the hours
slow = NPE(1, graph=On([TIME], Chain(time=0), beside=True), pca=None).fit_transform(X)
components = {"PCA": PCA(1).fit_transform(sensors), "NPE, rows in a chain": slow}
for name, Z in components.items():
    print(f"{name:24} correlation with the wear {agreement(Z, wear):.3f}")

# %%
# A graph of our own
# ------------------
# Now we want what repeats every day. A row should be linked to the row 24 hours later.
# No graph of lapwing does that, so we write one: a subclass of
# :class:`lapwing.graphs.Graph` with the method ``adjacency``, which returns a symmetric
# sparse matrix of weights. ``data.X`` holds the rows.

from scipy import sparse

from lapwing.graphs import Graph


class Season(Graph):
    """Each row linked to that one period later; the first column of X is the time."""

    def __init__(self, period=24):
        self.period = period

    def adjacency(self, data):
        time = (
            data.X[:, [0]].toarray().ravel()
            if sparse.issparse(data.X)
            else data.X[:, 0]
        )
        pairs = np.isclose(abs(time[:, None] - time), self.period)
        return sparse.csr_array(pairs.astype(float))


# %%
# :func:`lapwing.testing.check_graph` tries everything that estimators rely on:
# symmetry, signs, independence of the order of the rows, parameters, and more. It
# raises an error where something is wrong, and says what.

from lapwing.testing import check_graph

check_graph(Season(24), X=rng.permutation(np.arange(60.0))[:, None] * [1, 0.3])
print("Season holds what estimators rely on")

# %%
# The daily rhythm returns after 24 hours and has changed its sign after 12. So we
# attract what is 24 hours apart and repel what is 12 hours apart. Graphs add up with
# signs, ours like all others, and ours prints as it is typed.

daily = On([TIME], Season(24) - 0.5 * Season(12), beside=True)
rhythm = NPE(1, graph=daily, pca=None).fit_transform(X)
components["NPE, same hour of the day"] = rhythm
print(daily)
print(
    f"correlation with the warmth: own graph {agreement(rhythm, warmth):.3f}, PCA {agreement(components['PCA'], warmth):.3f}"
)

# %%
# The pictures show the first twenty days: the first component of each method in colour,
# and what really happened in black.


def like(z, truth):
    """In units of the truth, and with its sign."""
    z = (z - z.mean()) / z.std()
    return z * np.sign(z @ truth)


figure, axes = plt.subplots(3, 1, figsize=(6.4, 6.4), layout="constrained", sharex=True)
truths = {
    "PCA": ("wear", wear),
    "NPE, rows in a chain": ("wear", wear),
    "NPE, same hour of the day": ("warmth", warmth),
}
for ax, (name, (what, truth)) in zip(axes, truths.items(), strict=True):
    ax.plot(
        hours / 24,
        like(components[name][:, 0], truth),
        color="tab:orange",
        lw=0.8,
        label="found",
    )
    ax.plot(hours / 24, truth, color="black", lw=1.4, label=what)
    ax.set(
        title=f"{name}: correlation {agreement(components[name], truth):.2f}",
        xlim=(0, 20),
        ylim=(-3.5, 3.5),
    )
    ax.legend(loc="upper right", ncols=2)
axes[-1].set_xlabel("day")
plt.show()

# %%
# What to take home
# -----------------
# - Where time says who belongs together, give lapwing that graph. PCA finds the noise,
#   and the chain finds the wear.
# - A graph of your own is a class with one method. Check it by ``check_graph`` once,
#   then add it to other graphs and use it with every method.
# - This is a made-up machine whose two signals are exactly slow and exactly daily. On
#   real sensors expect less, and try ``pca=None`` and the default both.

without = NPE(1, graph=On([TIME], Chain(time=0), beside=True)).fit_transform(X)
print(
    f"correlation with the wear: PCA {agreement(components['PCA'], wear):.2f}, chain {agreement(slow, wear):.2f}, ",
    end="",
)
print(f"chain with the default pca='auto' {agreement(without, wear):.2f}")
