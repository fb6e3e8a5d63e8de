"""What the cases of the golden suite are made of: data from seeds, labels, and the names that expressions may use."""

from __future__ import annotations

import builtins
import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import FunctionTransformer, StandardScaler

NEW = 5  # rows of each data set that are not fitted
FITTED = 7  # fitted rows whose coordinates are recorded

# ------------------------------------------------------------------------------------------------------------------- data


def blobs(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three clouds, and which row is of which. The streams of RandomState never change."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 3, n)
    return rng.randn(n, d) * np.linspace(2, 0.5, d) + 3 * np.eye(3, d)[y], y


def _holes(X: np.ndarray) -> np.ndarray:
    return np.abs(X) * (np.random.RandomState(9).rand(*X.shape) < 0.5)


def _long(X: Any) -> sparse.csr_array:
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def _with_constants(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X[:, :3], np.zeros(len(X)), X[:, 3:], np.full(len(X), 5.1)])


def _copied() -> tuple[np.ndarray, np.ndarray]:
    X, y = blobs(24, 6, 3)
    return np.round(np.concatenate([X, X, X[:NEW] + np.eye(NEW, 6)])), np.concatenate([y, y, y[:NEW]])


def _outlier() -> tuple[np.ndarray, np.ndarray]:
    """One row is far from all others, and so is a new one."""
    X, y = blobs(120 + NEW, 8, 15)
    X[[7, -1]] += 300.0
    return X, y


def _empty_document() -> tuple[sparse.csr_array, np.ndarray]:
    X, y = _counts()
    X = X.toarray()
    X[[5, -1]] = 0
    return sparse.csr_array(X), y


def _roll() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(4)
    t, height = 4.5 * (1 + 2 * rng.rand(450 + NEW)), 20 * rng.rand(450 + NEW)
    return np.column_stack([t * np.cos(t / 2), height, t * np.sin(t / 2)]), (t > 9).astype(int)


def _counts(n: int = 60, d: int = 30) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.RandomState(5)
    y = rng.randint(0, 3, n + NEW)
    rates = 0.15 + 0.8 * (np.arange(d) % 3 == y[:, None])
    counts = rng.poisson(rates).astype(float)
    counts[:, 0] += 1  # no document is empty
    return sparse.csr_array(counts), y


def _beside() -> tuple[np.ndarray, np.ndarray]:
    """Two places on a grid, a time and a category, and then six features."""
    X, y = blobs(60 + NEW, 6, 6)
    places = np.arange(len(X))
    return np.column_stack([places // 8, places % 8, np.random.RandomState(7).permutation(len(X)), places % 4, X]), y


def _large() -> tuple[sparse.csr_array, np.ndarray]:
    """More rows and more columns than are decomposed whole, and few entries."""
    rng = np.random.RandomState(8)
    n = 4001 + NEW
    y = rng.randint(0, 3, n)
    rows, columns = np.repeat(np.arange(n), 12), rng.randint(0, 1400, 12 * n)
    columns[::2] = columns[::2] % 40 + 1400 * y[rows[::2]]
    X = sparse.csr_array((rng.rand(12 * n), (rows, columns)), shape=(n, 4201))
    X.sum_duplicates()
    return X, y


def _frame(X: np.ndarray) -> Any:
    """A data frame with names of columns and of rows."""
    import pandas as pd

    names = ["length", "width", "height", "weight", "age", "price", "speed", "power"]
    return pd.DataFrame(X, columns=names[: X.shape[1]], index=[f"row {i}" for i in range(len(X))])


DATA: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "tall": lambda: blobs(60 + NEW, 8, 0),
    "wide": lambda: blobs(30 + NEW, 60, 1),
    "csr": lambda: (lambda X, y: (sparse.csr_array(_holes(X)), y))(*blobs(60 + NEW, 12, 2)),
    "deficient": lambda: (lambda X, y: (X @ np.random.RandomState(1).randn(4, 10), y))(*blobs(50 + NEW, 4, 4)),
    "copies": _copied,
    "constant": lambda: (lambda X, y: (_with_constants(X), y))(*blobs(50 + NEW, 8, 5)),
    "far": lambda: (lambda X, y: (X + 1e4, y))(*blobs(50 + NEW, 8, 6)),
    "float32": lambda: (lambda X, y: (X.astype(np.float32), y))(*blobs(60 + NEW, 8, 7)),
    # Those above are crossed with all methods, those below are for single cases.
    "three rows": lambda: (blobs(3 + NEW, 4, 8)[0], np.arange(3 + NEW) % 2),
    "csc": lambda: (lambda X, y: (sparse.csc_array(_holes(X)), y))(*blobs(60 + NEW, 12, 2)),
    "coo": lambda: (lambda X, y: (sparse.coo_array(_holes(X)), y))(*blobs(60 + NEW, 12, 2)),
    "long indices": lambda: (lambda X, y: (_long(_holes(X)), y))(*blobs(60 + NEW, 12, 2)),
    "csr matrix": lambda: (lambda X, y: (sparse.csr_matrix(_holes(X)), y))(*blobs(60 + NEW, 12, 2)),
    "units": lambda: (lambda X, y: (X * np.array([1, 500, 1, 0.1, 3, 2, 70, 1]), y))(*blobs(60 + NEW, 8, 9)),
    "iris": lambda: _every(load_iris, 2),
    "wine": lambda: _every(load_wine, 2),
    "digits": lambda: _every(load_digits, 17),
    "images": lambda: (lambda X, y: (X.reshape(-1, 8, 8), y))(*_every(load_digits, 17)),
    "many digits": lambda: (lambda X, y: (X[: 450 + NEW], y[: 450 + NEW]))(*load_digits(return_X_y=True)),
    "roll": _roll,
    "documents": _counts,
    "empty document": _empty_document,
    "outlier": _outlier,
    "beside": _beside,
    "large": _large,
    "frame": lambda: (lambda X, y: (_frame(X), y))(*blobs(40 + NEW, 8, 10)),
    "pieces": lambda: (lambda X, y: (X + 60 * np.eye(3, 8)[y], y))(*blobs(40 + NEW, 8, 11)),
    "kernel": lambda: blobs(40 + NEW, 6, 12),  # and then its kernel matrix
    "distances": lambda: blobs(40 + NEW, 6, 12),
    "nonnegative": lambda: (lambda X, y: (np.abs(X), y))(*blobs(60 + NEW, 8, 0)),
}
CROSSED_DATA = list(DATA)[:8]


def _every(load: Callable[..., Any], step: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    return X[::step], y[::step]


@cache
def rows(name: str) -> tuple[Any, Any, np.ndarray]:
    """The rows that are fitted, new rows, and the classes of those that are fitted."""
    X, y = DATA[name]()
    y = y[:-NEW]
    if name == "kernel":
        return rbf_kernel(X[:-NEW], gamma=0.05), rbf_kernel(X[-NEW:], X[:-NEW], gamma=0.05), y
    if name == "distances":
        apart = np.linalg.norm(X[:, None] - X, axis=2)
        return apart[:-NEW, :-NEW], apart[-NEW:, :-NEW], y
    if name == "coo":
        return X.tocsr()[:-NEW].tocoo(), X.tocsr()[-NEW:].tocoo(), y
    cut = getattr(X, "iloc", X)
    return cut[:-NEW], cut[-NEW:], y


def _one_alone(y: np.ndarray) -> np.ndarray:
    y = y.copy()
    y[0] = 9
    return y


LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "none": lambda y: None,
    "full": lambda y: y,
    "some": lambda y: np.where(np.arange(y.size) % 4 == 3, -1, y),
    "strings": lambda y: np.array(["ash", "birch", "cedar", "elm", "fir", "gum", "hazel", "ivy", "jujube", "kapok"])[y],
    "two": lambda y: (y > 0).astype(int),
    "one alone": _one_alone,
}
OTHER_LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "numbers": lambda y: y + np.random.RandomState(2).rand(y.size),
    "numbers, some unknown": lambda y: np.where(np.arange(y.size) % 3 == 0, np.nan, y + np.arange(y.size) % 2 / 4),
    "sets": lambda y: np.column_stack([y == 0, y > 0, np.arange(y.size) % 2]).astype(int),
    "rows of numbers": lambda y: np.column_stack([y, np.random.RandomState(2).rand(y.size)]),
    "none known": lambda y: np.full(y.size, -1),
    "one class": lambda y: np.zeros(y.size, dtype=int),
    "too few": lambda y: y[:-1],
}

# ---------------------------------------------------------------------------------------------------------- names in cases


def inverse(distances: np.ndarray) -> np.ndarray:
    """Weights of links by their length."""
    return 1 / (1 + distances)


def far_apart(x: np.ndarray, z: np.ndarray) -> float:
    """A distance that scikit-learn does not have."""
    return float(np.abs(x - z).sum() + np.abs(x - z).max())


def halved(X: np.ndarray) -> np.ndarray:
    """The first two columns, halved."""
    return np.asarray(X)[:, :2] / 2


def squared_kernel(x: np.ndarray, z: np.ndarray, scale: float = 0.1) -> float:
    """A kernel of a user's own."""
    return float((1 + scale * (x @ z)) ** 2)


def _weights(n: int = 60, seed: int = 3) -> sparse.csr_array:
    rng = np.random.RandomState(seed)
    W = np.triu(rng.rand(n, n) * (rng.rand(n, n) < 0.1), 1)
    W[np.arange(n - 1), np.arange(1, n)] += 0.5
    return sparse.csr_array(W + W.T)


MUST, CANNOT = np.array([[0, 9], [4, 30], [17, 22], [8, 51]]), np.array([[1, 2], [40, 13], [33, 5]])
EXTRAS: dict[str, Any] = {
    "PCA": PCA,
    "RBFSampler": RBFSampler,
    "StandardScaler": StandardScaler,
    "KNeighborsTransformer": KNeighborsTransformer,
    "inverse": inverse,
    "far_apart": far_apart,
    "squared_kernel": squared_kernel,
    "W": _weights(),
    "W_dense": _weights().toarray(),
    "W_apart": _weights(seed=4),
    "W_named": _weights(45, 5),
    "IDS": [f"row {i}" for i in range(44, -1, -1)],
    "MUST": MUST,
    "CANNOT": CANNOT,
    "NAMED": [["row 3", "row 8"], ["row 1", "row 30"], ["row 2", "row 99"]],
    "HALVED": FunctionTransformer(halved),
}


class MissingName(Exception):  # noqa: N818
    """The library does not have a name that a case uses."""


class Names(Mapping[str, Any]):
    """The public names of the library and of its graphs, and what the cases themselves define; and a folder to write to."""

    def __init__(self, folder: Path = Path()):
        self.folder = folder

    def __getitem__(self, name: str) -> Any:
        if name in EXTRAS:
            return EXTRAS[name]
        for module in ("lapwing", "lapwing.graphs"):
            with contextlib.suppress(ImportError, AttributeError):
                return getattr(importlib.import_module(module), name)
        if hasattr(builtins, name):
            raise KeyError(name)
        raise MissingName(f"lapwing has no {name}")

    def of(self, module: str, name: str) -> Any:
        """A name of one of its modules."""
        try:
            return getattr(importlib.import_module(f"lapwing.{module}"), name)
        except (ImportError, AttributeError) as error:
            raise MissingName(f"lapwing.{module} has no {name}") from error

    def made(self, expression: str) -> Any:
        """What an expression of these names stands for."""
        return eval(expression, {}, self)

    def __iter__(self) -> Iterator[str]:
        return iter(EXTRAS)

    def __len__(self) -> int:
        return len(EXTRAS)
