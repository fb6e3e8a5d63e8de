"""
How do I fit rows that do not fit in memory?
============================================

Pass a dask array. Its rows are read in blocks, by the threads of this machine or by the
workers of a cluster, and no step of the fit holds all of them at once. This example
fits 200,000 rows in blocks and compares the result with a fit in memory.
"""

# %%
# Dask comes with the extra ``dask``. Without it, this example stops here with a
# sentence. Zarr arrays and memory maps of NumPy are read in blocks in
# the same way.

import time
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles

from lapwing import LPP, MMC
from lapwing.graphs import KNN

has_dask = find_spec("dask") is not None
print(
    "dask is installed"
    if has_dask
    else "dask is not installed: pip install 'lapwing[dask]'. Nothing is fitted below."
)

# %%
# Rows that are made block by block
# ---------------------------------
# Each block is made when it is asked for, as it would be read from a disk. The fits in
# blocks never hold all rows, only their labels. Ten classes lie in 32 dimensions, of
# which eight tell the classes apart.

N, BLOCK, D = 200_000, 25_000, 32
centres = np.zeros((10, D), dtype=np.float32)
centres[:, :8] = 1.5 * np.random.RandomState(0).standard_normal((10, 8))
y = np.random.RandomState(1).randint(10, size=N)


def block(start):
    """The rows from ``start`` on."""
    noise = np.random.RandomState(start).standard_normal((BLOCK, D)).astype(np.float32)
    return centres[y[start : start + BLOCK]] + noise * np.linspace(
        0.6, 1.8, D, dtype=np.float32
    )


if has_dask:
    import dask
    import dask.array as da

    parts = [
        da.from_delayed(dask.delayed(block)(i), (BLOCK, D), dtype=np.float32)
        for i in range(0, N, BLOCK)
    ]
    X = da.concatenate(parts)
    print(X)

# %%
# Two fits
# --------
# :class:`lapwing.MMC` uses classes alone. It needs one pass over the rows, which adds
# up their sums. :class:`lapwing.LPP` with ``queries=1_000`` looks for the neighbours of
# 1,000 random rows among all rows, and reads the rows three times: for sums, for the
# search, and for the neighbours found. The command ``Client("tcp://...")`` of
# ``dask.distributed``, given before the fit, would send the same work to a cluster.

models = {
    "MMC, classes": MMC(8),
    "LPP, neighbours of 1,000 rows": LPP(
        8, graph=KNN(5, queries=1_000, random_state=0)
    ),
}
if has_dask:
    blocks, times = {}, {}
    with dask.config.set(
        scheduler="synchronous"
    ):  # one thread, so that times can be compared
        for name, model in models.items():
            start = time.perf_counter()
            blocks[name] = model.fit(X, y)
            times[name] = time.perf_counter() - start
        Z = blocks["MMC, classes"].transform(X)
        print(
            f"transform gives a dask array that is not computed yet: {Z.shape}, blocks of {Z.chunks[0][0]:,} rows"
        )
        first = Z.blocks[0].compute()

# %%
# The same rows in memory
# -----------------------
# Here they do fit in memory, so that we can compare. The subspaces should agree to
# rounding.

if has_dask:
    from sklearn.base import clone

    whole = np.concatenate([block(i) for i in range(0, N, BLOCK)])
    for name, model in models.items():
        start = time.perf_counter()
        memory = clone(model).fit(whole, y)
        seconds = time.perf_counter() - start
        angle = subspace_angles(blocks[name].components_.T, memory.components_.T).max()
        print(
            f"{name:32} in blocks {times[name]:5.2f} s, in memory {seconds:5.2f} s, largest angle {angle:.1e} rad"
        )

# %%
# The first block of the projected rows, which is all that was computed of them:

if has_dask:
    figure, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    dots = ax.scatter(*first[:4000, :2].T, c=y[:4000], cmap="tab10", s=5)
    ax.set(title="4,000 of 200,000 rows, projected by MMC", xticks=[], yticks=[])
    ax.legend(
        *dots.legend_elements(),
        title="class",
        loc="center left",
        bbox_to_anchor=(1, 0.5),
    )
    plt.show()

# %%
# What to take home
# -----------------
# - A dask array goes where an array goes, and what comes out of ``transform`` is a dask
#   array again.
# - The result is that of a fit in memory, to the rounding of the single precision that
#   these rows have. Only the time differs.
# - Where rows fit in memory, an array is the better choice. Reading and making blocks
#   takes time of its own, as the times above show.
# - In blocks, graphs of classes and graphs of sampled neighbours are available. A graph
#   of the neighbours of every row is not.
