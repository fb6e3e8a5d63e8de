"""How far the same fit differs between threads, precisions, memory layouts and versions of dependencies: the largest angle.

    python benchmarks/same_answer.py
    python benchmarks/same_answer.py --others .venv-oldest/bin/python .venv-newest/bin/python

Each estimator is fitted to the 1,797 digits of scikit-learn. It has at most 10 components, namely as many as have the widest
gap after them, since directions are arbitrary where eigenvalues are equal. The angle is the largest one between the spaces
that the coordinates of the rows span, in radians. ``--others`` are interpreters that have lapwing's dependencies. Each fits
the same data, and is compared with this one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import lapwing

MOST = 10
NAMES = (
    "LPP OLPP NPE ONPP LPI MMC LPDP MFA DNE LFDA LSDA LPCA KernelLPP KernelNPE KernelLDA KernelLFDA LaplacianEigenmaps"
)
NAMES += " TangentialMaps DiffusionMaps SpectralRegression GLPCA GraphPCA MULTISPATI ContrastivePCA"
BRIEF = {"max_iter": 50, "tol": 1e-3}
ESTIMATORS = [getattr(lapwing, name)() for name in NAMES.split()]
ESTIMATORS += [lapwing.RobustGLPCA(**BRIEF), lapwing.L21PCA(**BRIEF)]
OTHERS = [lapwing.TSA((3, 3)), lapwing.LaplacianScore(10), lapwing.FisherScore(10)]


def name_of(estimator: Any) -> str:
    return type(estimator).__name__


def data() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def apart(estimator: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """The estimator with as many components, two at least, as lead to the widest gap."""
    values = clone(estimator).set_params(n_components=MOST + 1).fit(X, y).eigenvalues_
    return clone(estimator).set_params(n_components=2 + int(np.argmax(np.diff(values)[1:])))


def coordinates(estimator: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the rows; the scores of features."""
    X = X.reshape(-1, 8, 8) if isinstance(estimator, lapwing.TSA) else X
    fitted = clone(estimator).fit(X, y)
    if hasattr(fitted, "scores_"):
        return np.nan_to_num(fitted.scores_, posinf=0.0)[:, None]
    return np.asarray(fitted.transform(X), dtype=np.float64).reshape(len(X), -1)


def angle(Z: np.ndarray, other: np.ndarray) -> float:
    return float(subspace_angles(Z, other).max())


def resolved(estimators: list[Any], X: np.ndarray, y: np.ndarray) -> list[Any]:
    return [apart(estimator, X, y) if estimator in ESTIMATORS else estimator for estimator in estimators]


def stored(path: Path, sizes: list[int]) -> None:
    """In another interpreter: the coordinates of all estimators, with these numbers of components, in a file."""
    X, y = data()
    estimators = [e.set_params(n_components=k) if k else e for e, k in zip(ESTIMATORS + OTHERS, sizes, strict=True)]
    np.savez(path, *(coordinates(estimator, X, y) for estimator in estimators))


def of_another(python: str, sizes: list[int]) -> tuple[str, list[np.ndarray]]:
    """Which versions an interpreter has, and its coordinates."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, __file__, "--store", f"{folder}/Z.npz", *map(str, sizes)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
        versions = "import numpy, scipy, sklearn, sys; print(*sys.version_info[:2], sep='.', end=' '); "
        versions += "print(numpy.__version__, scipy.__version__, sklearn.__version__)"
        python_, numpy_, scipy_, sklearn_ = subprocess.check_output([python, "-c", versions], text=True).split()
        with np.load(f"{folder}/Z.npz") as file:
            found = [file[f"arr_{i}"] for i in range(len(sizes))]
        return f"Python {python_}, NumPy {numpy_}, SciPy {scipy_}, scikit-learn {sklearn_}", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", nargs="*", default=[], help="interpreters to compare with")
    parser.add_argument("--store", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.store:
        stored(Path(given.store[0]), [int(size) for size in given.store[1:]])
        return
    X, y = data()
    estimators = resolved(ESTIMATORS + OTHERS, X, y)
    with threadpool_limits(1):
        usual = [coordinates(estimator, X, y) for estimator in estimators]
    columns: dict[str, list[np.ndarray]] = {}
    with threadpool_limits(max(2, os.cpu_count() or 2)):
        columns[f"{max(2, os.cpu_count() or 2)} threads of BLAS"] = [
            coordinates(estimator, X, y) for estimator in estimators
        ]
    with threadpool_limits(1):
        columns["columns first"] = [coordinates(estimator, np.asfortranarray(X), y) for estimator in estimators]
        columns["float32"] = [coordinates(estimator, X.astype(np.float32), y) for estimator in estimators]
    sizes = [estimator.n_components if i < len(ESTIMATORS) else 0 for i, estimator in enumerate(estimators)]
    for python in given.others:
        versions, found = of_another(python, sizes)
        columns[versions] = found
    print(f"compared with one thread, rows first, float64; {sys.version.split()[0]}, NumPy {np.__version__}\n")
    print("| | components |", " | ".join(columns), "|\n|---|---|" + "---|" * len(columns))
    for i, estimator in enumerate(estimators):
        size = sizes[i] or ("(3, 3)" if name_of(estimator) == "TSA" else "scores")
        angles = (angle(usual[i], column[i]) for column in columns.values())
        print(
            f"| {name_of(estimator)} | {size} |", " | ".join(f"{value:.0e}" if value else "0" for value in angles), "|"
        )


if __name__ == "__main__":
    main()
