"""What the certificate adds to the time of a fit, in seconds of CPU on one thread.

    OPENBLAS_NUM_THREADS=1 python benchmarks/certificate.py

Rows are a mixture of ten normals, and documents are random. "Share" is the time inside the certificate, divided by the time
of the rest of the fit.
"""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from lapwing import GLPCA, LPI, LPP, NPE, OLPP, TSA, KernelLPP, LaplacianEigenmaps, RobustGLPCA, TangentialMaps
from lapwing.graphs import SameClass
from lapwing.reducers import others, projecting
from lapwing.solvers import Certificate, certify


def mixture(n: int, d: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(0)
    y = rng.randint(0, 10, n)
    return (rng.standard_normal((10, d))[y] + rng.standard_normal((n, d)) * np.geomspace(2, 0.2, d)).astype(dtype), y


def documents(n: int, d: int) -> tuple[Any, np.ndarray]:
    rng = np.random.RandomState(0)
    return sparse.random(n, d, density=0.01, format="csr", random_state=rng), rng.randint(0, 10, n)


CASES: list[tuple[str, Any, tuple[Any, np.ndarray]]] = [
    ("LPP(20), 20,000 x 100", LPP(20), mixture(20_000, 100)),
    ("LPP(20, pca=None), 5,000 x 1,000", LPP(20, pca=None), mixture(5_000, 1_000)),
    ('LPP(9, graph="supervised"), 200,000 x 200', LPP(9, graph=SameClass()), mixture(200_000, 200)),
    ("OLPP(20), 20,000 x 200", OLPP(20), mixture(20_000, 200)),
    ("NPE(20), 10,000 x 100", NPE(20), mixture(10_000, 100)),
    ("KernelLPP(20), 2,000 x 50", KernelLPP(20), mixture(2_000, 50)),
    ("KernelLPP(20, landmarks=500), 20,000 x 50", KernelLPP(20, landmarks=500, random_state=0), mixture(20_000, 50)),
    ("LPP(20), sparse 6,000 x 20,000", LPP(20), documents(6_000, 20_000)),
    ("LPI(20), sparse 6,000 x 20,000", LPI(20), documents(6_000, 20_000)),
    ("TSA(4), 5,000 x 20 x 20", TSA(4, image_shape=(20, 20)), mixture(5_000, 400)),
    ("LaplacianEigenmaps(10), 10,000 x 50", LaplacianEigenmaps(10), mixture(10_000, 50)),
    ("TangentialMaps(2), 5,000 x 3", TangentialMaps(2), mixture(5_000, 3)),
    ("GLPCA(10), 10,000 x 256 float32", GLPCA(10), mixture(10_000, 256, np.float32)),
    ("RobustGLPCA(5), 500 x 50", RobustGLPCA(5), mixture(500, 50)),
]


def main() -> None:
    spent = [0.0]

    def timed(*args: Any) -> Certificate:
        start = time.process_time()
        found = certify(*args)
        spent[0] += time.process_time() - start
        return found

    print(f"{'fit':44}{'fit, s':>9}{'certificate, s':>16}{'share, %':>10}")
    with ExitStack() as patches:
        for module in (others, projecting):
            patches.enter_context(mock.patch.object(module, "certify", timed))
        for name, model, (X, y) in CASES:
            spent[0], start = 0.0, time.process_time()
            model.fit(X, y)
            rest = time.process_time() - start - spent[0]
            print(f"{name:44}{rest:9.2f}{spent[0]:16.4f}{100 * spent[0] / rest:10.2f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
