"""The estimate."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags

from .._validation import check_choice, check_count
from ..graphs import Sample
from ..methods import LPI, TSA, RobustGLPCA
from ..reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer
from ..reducers._base import Reducer
from ._maps import fit_parts
from ._problem import Fit
from ._sizes import Data, Part, entry_of
from ._speeds import speeds

TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Cost:
    """What a fit will take.

    Attributes
    ----------
    seconds : float
    bytes : float
        Peak memory beyond X.
    parts : dict of str to (float, float)
        Seconds of each part of the fit, and bytes at most while it runs, what earlier parts keep included.
    """

    seconds: float
    bytes: float
    parts: dict[str, tuple[float, float]]

    def __str__(self) -> str:
        by_time = sorted(self.parts.items(), key=lambda part: -part[1][0])
        parts = ", ".join(f"{name} {_readable(seconds, TIMES)}" for name, (seconds, _) in by_time)
        return f"about {_readable(self.seconds, TIMES)} and {_readable(self.bytes, SIZES)} beyond X: {parts}"


def _readable(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """With two digits, in the largest unit of which there is one or more."""
    size, unit = next((unit for unit in units if value >= unit[0]), units[-1])
    return f"{value / size:.{0 if value >= 10 * size else 1}f} {unit}"


def estimate_cost(
    estimator: Any,
    shape: Any,
    *,
    dtype: Any = np.float64,
    density: float | None = None,
    n_classes: int = 10,
    blocks: bool = False,
) -> Cost:
    """The time and memory of ``estimator.fit`` on X of this shape, without X and without the fit.

    Most estimates are within a factor of 2 of what a fit takes on a machine that does nothing else; benchmarks/cost.py
    compares them. The speed of the machine is measured by the first call, in about a quarter of a second. What depends on
    the data beyond its shape is assumed: as many principal directions as images have, words as frequent as in text, classes
    of equal sizes, iterations that converge as fast as usual, and features that vary independently where there are 15 or
    fewer (a search among fewer dimensions is faster).

    Parameters
    ----------
    estimator : estimator of lapwing
        With its parameters; it need not be fitted. :class:`~lapwing.TSA`, :class:`~lapwing.RobustGLPCA` and
        :class:`~lapwing.L21PCA` iterate until they converge, and have no estimate.
    shape : tuple of two ints
        Samples and features.
    dtype : float64 or float32, default=float64
        Of X. Other types are converted by fit, to float64.
    density : float, default=None
        The share of entries that are not zero, for sparse X; None is a dense array.
    n_classes : int, default=10
        Classes of y; for methods and graphs that read labels.
    blocks : bool, default=False
        Whether X is read in blocks, from disk or a cluster. What reading takes is not estimated.

    Returns
    -------
    Cost

    Examples
    --------
    >>> from lapwing import LPP
    >>> from lapwing.cost import estimate_cost
    >>> print(estimate_cost(LPP(20), (100_000, 256), dtype="float32"))
    about ... and ... beyond X: search ..., forms ..., ...
    """
    data = _checked(estimator, shape, dtype, density, n_classes)
    k = _components(estimator, data)
    sample = Sample(_empty(data), None, k)
    sample.class_sizes = np.full(data.n_classes, data.n / data.n_classes)
    sample.in_blocks = check_choice("blocks", blocks, (False, True))
    return _cost(fit_parts(Fit(estimator, data, sample, k)))


def _cost(parts: list[Part]) -> Cost:
    """Bytes that a part leaves count in all that follow."""
    speed, held = speeds(), 0.0
    found: dict[str, tuple[float, float]] = {}
    for part in parts:
        seconds, most = found.get(part.name, (0.0, 0.0))
        seconds += sum(count / speed[kind] for kind, count in part.work.items())
        held += part.held
        found[part.name] = seconds, max(most, held + part.extra)
    return Cost(sum(seconds for seconds, _ in found.values()), max(most for _, most in found.values()), found)


def _empty(data: Data) -> Any:
    """The shape of X, and one number or none."""
    shape, dtype = (data.n, data.d), np.dtype(f"f{data.itemsize}")
    return sparse.csr_array(shape, dtype=dtype) if data.is_sparse else np.broadcast_to(np.zeros((), dtype), shape)


def _checked(estimator: Any, shape: Any, dtype: Any, density: Any, n_classes: Any) -> Data:
    if not isinstance(estimator, Reducer):
        raise ValueError(f"estimator={estimator!r} must be an estimator of lapwing, such as LPP(10)")
    if isinstance(estimator, (TSA, RobustGLPCA)):
        raise ValueError(
            f"estimator={type(estimator).__name__} has no estimate: it iterates until it converges, and how often depends on the "
            "data; time a few iterations by a small max_iter instead"
        )
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise ValueError(f"shape={shape!r} must be two whole numbers: samples and features, such as (10_000, 64)")
    n, d = check_count("shape[0]", shape[0], 2), check_count("shape[1]", shape[1])
    density = _density(estimator, density)
    if check_count("n_classes", n_classes, 2) > n and get_tags(estimator).target_tags.required:
        raise ValueError(f"n_classes={n_classes} is more than the {n} samples of shape={shape!r}; use fewer")
    return Data(n, d, _itemsize(dtype), density, min(int(n_classes), n))


def _density(estimator: Any, density: Any) -> float | None:
    if density is None:
        return None
    if isinstance(density, bool) or not isinstance(density, Real) or not 0 < float(density) <= 1:
        raise ValueError(f"density={density!r} must be a share above 0 and at most 1, or None for a dense X")
    if not get_tags(estimator).input_tags.sparse:
        raise ValueError(
            f"density={density!r} is of a sparse X, which {type(estimator).__name__} does not take; use density=None"
        )
    return float(density)


def _itemsize(dtype: Any) -> int:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.name not in ("float32", "float64"):
        raise ValueError(f'dtype={dtype!r} must be "float32" or "float64", to which fit converts all others')
    return found.itemsize


def _components(estimator: Any, data: Data) -> int | None:
    """``n_components``, or for scores the number of features, not more than there can be; None for all of them."""
    n, d = data.n, data.d
    name = "n_components" if hasattr(estimator, "n_components") else "n_features_to_select"
    k = getattr(estimator, name)
    if k is None and isinstance(estimator, (LinearReducer, FeatureSelector)) and not isinstance(estimator, LPI):
        return None
    k = check_count(name, k)
    most = {FreeReducer: n - 1, LPI: n - 1, KernelReducer: n - 1, LinearReducer: min(n, d), FeatureSelector: d}
    bound = entry_of(most, estimator, "estimator")
    if k > bound:
        raise ValueError(f"{name}={k} is more than X of shape ({n}, {d}) allows, {bound}; use {name}={bound} or less")
    return k
