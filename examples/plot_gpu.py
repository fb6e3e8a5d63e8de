"""
How do I fit on a GPU?
======================

Pass a tensor of torch instead of an array. There is no switch: the neighbours are
searched, the sums are made and the rows are projected on the device where the tensor
is, and the result is a tensor on the same device. This example fits the same rows as an
array and as a tensor and compares the two.
"""

# %%
# It runs everywhere. If there is a GPU, the tensor is on it. If there is torch without
# a GPU, the tensor is on the CPU, and the code is the same. If there is no torch, the
# example says so and shows only what was measured elsewhere. Torch comes with the extra
# ``gpu``.

import time
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits

from lapwing import LPP, to_numpy

X = load_digits().data
model = LPP(10).fit(X)

if find_spec("torch"):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__}; the tensor is on the device {device!r}")
else:
    device = None
    print("torch is not installed, so nothing is fitted as a tensor here")

# %%
# The model of a tensor has tensors as attributes. :func:`lapwing.to_numpy` makes a
# model of NumPy arrays of it, to be used where there is no torch. Both fits find the
# same subspace, to rounding.

if device:
    rows = torch.as_tensor(X, device=device)
    on_device = LPP(10).fit(rows)
    projected = on_device.transform(rows)
    print(
        f"transform gives a {type(projected).__name__} of shape {tuple(projected.shape)} on {projected.device}"
    )
    angle = subspace_angles(
        to_numpy(on_device).components_.T, model.components_.T
    ).max()
    print(f"largest angle between the subspaces of array and tensor: {angle:.1e} rad")

# %%
# How long does a fit take as the number of rows grows? The rows are 20 clusters in 64
# dimensions. Times are the best of two fits on this machine.


def clusters(n, d=64):
    rng = np.random.RandomState(0)
    return (
        rng.standard_normal((20, d))[rng.randint(20, size=n)]
        + 0.7 * rng.standard_normal((n, d))
    ).astype(np.float32)


def seconds(given):
    """The best of two fits."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        LPP(10).fit(given)
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


sizes = (1000, 4000, 16_000, 64_000) if device == "cuda" else (500, 1000, 2000, 4000)
measured = {"NumPy array": [seconds(clusters(n)) for n in sizes]}
if device:
    measured[f"tensor on {device}"] = [
        seconds(torch.as_tensor(clusters(n), device=device)) for n in sizes
    ]
for name, times in measured.items():
    print(
        f"{name:16}"
        + "".join(f"{n:8,} rows {t:.3f} s" for n, t in zip(sizes, times, strict=True))
    )

# %%
# The upper picture shows these times. The lower one does **not** come from this
# machine: it shows the times that the page :doc:`/measured-large` has, which were measured on one
# NVIDIA H200 with exact neighbours, and are copied here.

H200 = {
    "LPP(20)\n100,000 x 256": 0.043,
    "LPP(20)\n1,000,000 x 256": 1.40,
    "LPP(20)\n1,000,000 x 768": 3.77,
    "MMC(9)\n10,000,000 x 64": 0.036,
    "transform\n1,000,000 x 256": 0.00087,
}
figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 7), layout="constrained")
for (name, times), marker in zip(measured.items(), "os", strict=False):
    above.loglog(sizes, times, marker=marker, label=name)
above.set_xticks(sizes, labels=[f"{n:,}" for n in sizes])
above.minorticks_off()
above.set(
    title="Measured now, on this machine",
    xlabel="rows of 64 columns",
    ylabel="seconds for LPP(10).fit",
)
above.grid(alpha=0.3)
above.legend()
bars = below.barh(list(H200), list(H200.values()), color="tab:green")
below.bar_label(bars, labels=[f"{seconds:g} s" for seconds in H200.values()], padding=3)
below.invert_yaxis()
below.set(
    title="Measured before, on one H200",
    xlabel="seconds",
    xscale="log",
    xlim=(1e-4, 40),
)
plt.show()

# %%
# What to take home
# -----------------
# - The code for a GPU is the code for a CPU. Only X differs.
# - Neighbours are exact on every device, and the subspace is the same to rounding.
# - On a CPU a tensor brings nothing: it is slower than the array.
# - On a GPU it brings much. On a machine with one H200 and 16 cores, the fits of this
#   example took 6.9 s for 64,000 rows as an array and 0.028 s as a tensor, each the
#   better of two fits. The page :doc:`/measured-large` has more such times, and the command that
#   measures them.

ratio = (
    ""
    if not device
    else f"; as a tensor on {device}: {measured[f'tensor on {device}'][-1]:.2f} s"
)
print(
    f"{sizes[-1]:,} rows, measured now: as an array {measured['NumPy array'][-1]:.2f} s{ratio}"
)
