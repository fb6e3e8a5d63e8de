"""How long a fit will take, and how much memory, before it is started.

Copies of the estimator are fitted to a few small samples that resemble X. Each part of the fit (``fit_times_``) and the peak
of its memory grow from one sample to the next. From this growth follow the time and the memory at the size of X.
"""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, prod
from numbers import Integral, Real
from time import get_clock_info, perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from ._clock import timed_by
from ._validation import check_choice, check_count
from .blocks import Blocks, block_rows
from .graphs import Graph, Radius
from .maps import as_map
from .reducers import FeatureSelector, KernelReducer, LinearReducer, Reducer

LONG = 0.5  # seconds: samples grow until a fit takes about this long
ENTRIES = 1 << 22  # a sample holds at most this many numbers
FINE = get_clock_info("process_time").resolution < 1e-4  # whether that clock can time short parts; not on Windows
BLOCKS = 4  # where X is read in blocks, a sample is read in this many blocks
CLASS = 20  # a sample has at least this many rows per class, where X has as many
# LAPACK, SuperLU and BLAS take memory that Python does not see. It is 0 to 140 % of what Python sees (benchmarks/cost.py).
UNSEEN = 1.4
# The highest power of n by which the time of a part, or the memory, grows; 3 for the parts that are not listed.
DEGREES = {"search": 2, "graph": 1, "map": 2, "other": 1, "bytes": 2}
ITERATED = ("forms", "solve")  # the parts that are repeated where a method iterates until it converges
SIZES = ("n_components", "n_neighbors", "graph", "penalty", "pca", "landmarks", "n_pairs", "n_features_to_select")
SECONDS_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
BYTES_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Cost:
    """The time and the memory that a fit will take, as :func:`estimate_cost` predicts them.

    Attributes
    ----------
    seconds : float
        The time of the fit.
    bytes : float
        The largest memory that the fit needs at any time, beyond X itself.
    parts : dict of str to float
        The seconds of each part of the fit, named as in ``fit_times_`` of the fitted estimator.

    Examples
    --------
    >>> from lapwing.cost import Cost
    >>> print(Cost(90.0, 2.5e9, {"search": 60.0, "solve": 30.0}))
    about 1.5 min and 2.5 GB beyond X: search 1.0 min, solve 30 s
    """

    seconds: float
    bytes: float
    parts: dict[str, float]

    def __str__(self) -> str:
        longest_first = sorted(self.parts.items(), key=lambda part: -part[1])
        parts = ", ".join(f"{name} {_readable(seconds, SECONDS_UNITS)}" for name, seconds in longest_first)
        return (
            f"about {_readable(self.seconds, SECONDS_UNITS)} and {_readable(self.bytes, BYTES_UNITS)} beyond X: {parts}"
        )


def _readable(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """The value with two digits, in the largest unit in which it is at least 1."""
    size, unit = next((unit for unit in units if value >= unit[0]), units[-1])
    return f"{value / size:.{0 if value >= 10 * size else 1}f} {unit}"


def estimate_cost(
    estimator: BaseEstimator,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = np.float64,
    density: float | None = None,
    n_classes: int = 10,
    blocks: bool = False,
) -> Cost:
    """Predict the time and the memory of ``estimator.fit`` on X of this shape.

    X is not needed: copies of the estimator are fitted to small synthetic samples. This takes about five seconds, more for
    sparse X and for methods that iterate. Most predictions are within a factor of 2 of what the fit takes on a machine that
    does nothing else (``benchmarks/cost.py`` compares them). What depends on the data beyond its shape is assumed: classes on
    curved patches of eight dimensions, a surface where X has three features or fewer, and words as frequent as in text where
    X is sparse. The number of steps of :class:`~lapwing.RobustGLPCA` and :class:`~lapwing.L21PCA` differs most from one data
    set to another.

    Parameters
    ----------
    estimator : estimator of lapwing
        The estimator to be fitted, of lapwing or of your own, if it extends one of :mod:`lapwing.reducers`. It need not be
        fitted, and stays as it is.
    shape : tuple of ints
        The numbers of samples and features; for :class:`~lapwing.TSA` those of samples and of the sides of an image.
    dtype : float64 or float32, default=float64
        The precision of X. ``fit`` converts all other types to float64.
    density : float, default=None
        The share of entries that are not zero, for sparse X. None stands for a dense array.
    n_classes : int, default=10
        How many classes y has, for methods and graphs that use labels.
    blocks : bool, default=False
        Whether X is read in blocks, from disk or from a cluster. The time of reading is not predicted.

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
    like = _checked(estimator, shape, dtype, density, n_classes, blocks)
    trials = _Trials(like.resolved(estimator), like)
    return trials.cost(trials.base())


class _Size(NamedTuple):
    """The numbers of samples and features, and of the rows that are searched for, which is 0 where all are."""

    n: float
    d: float
    q: float

    def on(self, way: tuple[int, int, int], factor: float) -> _Size:
        return _Size(*(size * factor**power for size, power in zip(self, way, strict=True)))


# A small sample is enlarged to X in three ways: by more samples, by more rows that are searched for, and by more samples
# together with more features, by the same factor.
SAMPLES, QUERIES, FEATURES = (1, 0, 0), (0, 0, 1), (1, 1, 0)
FIRST = _Size(1000, 256, 100)  # the size of the first sample, where X is larger
LEVERS = (4.0, 2.0, 1.4)  # a sample is compared with samples that are smaller by these factors, to see how times grow


@dataclass(frozen=True)
class _Like:
    """The properties of X that samples share."""

    n: int
    columns: tuple[int, ...]  # the number of features, or the sides of an image
    dtype: np.dtype
    density: float | None
    n_classes: int
    in_blocks: bool
    is_kernel: bool  # whether X is a kernel matrix
    is_fixed: bool  # whether samples have as many features as X

    def regime(self, size: _Size) -> tuple[bool, bool, bool]:
        """What decides how a fit proceeds: whether F is wide, whether it is large, and whether the graph is sampled."""
        shape = ceil(size.n), ceil(size.d)
        F = as_map(np.broadcast_to(np.float64(0), shape) if self.density is None else sparse.csr_array(shape))
        return F.is_wide, F.is_large, size.q < size.n

    def sample(self, size: _Size) -> tuple[Any, np.ndarray]:
        """Random rows and their labels."""
        n, rng = ceil(size.n), np.random.default_rng(0)
        y = np.arange(n) % min(self.n_classes, max(2, int(n / min(self.n / self.n_classes, CLASS))))
        if self.density is not None:
            return _documents(y, round(size.d), self.density, rng).astype(self.dtype), y
        smaller = (size.d / prod(self.columns)) ** (1 / len(self.columns))
        sides = [max(1, round(side * smaller)) for side in self.columns]
        X = _images(y, prod(sides), rng).astype(self.dtype).reshape(n, *sides)
        return _InBlocks(X.shape, X.dtype, X) if self.in_blocks else X @ X.T if self.is_kernel else X, y

    def resolved(self, estimator: Any) -> Any:
        """The estimator with its default graph written out where that is sampled, so that its queries can be reduced."""
        many = self.in_blocks or (self.density is None and estimator.samples_rows(self.n))
        if not many or isinstance(estimator.get_params().get("graph", Graph()), Graph):
            return estimator
        X, y = self.sample(_Size(min(self.n, FIRST.n), prod(self.columns), 0))
        X = X if self.in_blocks else _InBlocks(X.shape, X.dtype, X)
        return clone(estimator).set_params(graph=clone(estimator).fit(X, y).graph_)


def _images(y: np.ndarray, d: int, rng: np.random.Generator) -> np.ndarray:
    """Classes on curved patches, with noise, and no entry below 0. Of three features or fewer, a surface without noise."""
    latent = rng.uniform(-2, 2, (y.size, 8 if d > 3 else max(1, d - 1)))
    curved = np.hstack([latent, latent**2, np.sin(2 * latent)])
    X = curved @ rng.standard_normal((curved.shape[1], d))
    if d > 3:
        X += (2 * rng.standard_normal((y.max() + 1, 16)) @ rng.standard_normal((16, d)))[y]
        X += rng.standard_normal(X.shape) * np.geomspace(1, 0.1, d)
    return X - X.min(axis=0)


def _documents(y: np.ndarray, d: int, density: float, rng: np.random.Generator) -> sparse.csr_array:
    """Documents with words as frequent as in text, half of them from the topic of a class."""
    lengths = np.maximum(rng.lognormal(-0.1, 0.6, y.size) * density * d, 2).astype(int)
    frequencies = 1 / (20 + np.arange(d))
    words = rng.choice(d, size=lengths.sum(), p=frequencies / frequencies.sum())
    topics = np.repeat(y, lengths)
    words = np.where(rng.random(words.size) < 0.5, (words * (1 + 2 * topics) + 37 * topics) % d, words)
    X = sparse.csr_array((np.ones(words.size), (np.repeat(np.arange(y.size), lengths), words)), shape=(y.size, d))
    X.sum_duplicates()
    return X


class _Fitted(NamedTuple):
    """What a fit took: seconds by part (per step for iterated parts), peak bytes, all seconds, and the number of steps."""

    times: dict[str, float]
    peaks: dict[str, float]
    seconds: float
    steps: int


def _fitted(model: Any, X: Any, y: np.ndarray) -> _Fitted:
    """Fit several times, at first for the memory too. Of each part the shortest time counts, since any run may be held up.

    Every other run is timed by the clock of this process, which stands still while other programs have the processor. That
    is the shorter time on a busy machine, and the time on the wall is the shorter one where a part has several threads.
    """
    with warnings.catch_warnings(action="ignore"):
        peak, runs = _traced(model, X, y)
        while len(runs) < 2 or (len(runs) < 6 and len(runs) * min(sum(run.values()) for run in runs) < 2 * LONG):
            with timed_by(process_time if len(runs) % 2 and FINE else perf_counter):
                runs.append(model.fit(X, y).fit_times_)
    best = {name: min(run.get(name, 0.0) for run in runs) for name in runs[0]}
    steps = max(1, int(np.max(getattr(model, "n_iter_", 1))))
    times = {name: seconds / (steps if name in ITERATED else 1) for name, seconds in best.items()}
    return _Fitted(times, {"bytes": float(peak)}, sum(best.values()), steps)


def _traced(model: Any, X: Any, y: np.ndarray) -> tuple[int, list[dict[str, float]]]:
    """The most bytes that a fit holds at a time, and its times."""
    is_mine = not tracemalloc.is_tracing()
    tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        times = model.fit(X, y).fit_times_
        return tracemalloc.get_traced_memory()[1] - before, [times]
    finally:
        if is_mine:
            tracemalloc.stop()


class _Trials:
    """Fits of an estimator to samples that resemble X, one per size."""

    def __init__(self, estimator: Any, like: _Like):
        params = [(name.rpartition("__")[2], value) for name, value in estimator.get_params().items()]
        queries = [value for name, value in params if name == "queries" and value and value < like.n]
        sizes: list[Any] = [v for name, v in params if name in SIZES and isinstance(v, Integral | tuple | list)]
        self.estimator, self.like = estimator, like
        self.target = _Size(like.n, prod(like.columns), max(queries, default=0))
        counts = [count for value in sizes for count in np.ravel(value) if isinstance(count, Integral)]
        self.most = max(map(int, counts), default=0)
        self._fits: dict[_Size, _Fitted] = {}

    def __call__(self, size: _Size) -> _Fitted:
        if size not in self._fits:
            self._fits[size] = _fitted(_reduced(self.estimator, size, self.target), *self.like.sample(size))
        return self._fits[size]

    def first(self) -> _Size:
        """A small sample that is fitted in the same way as X, with as many rows and columns as the parameters ask for."""
        n, d, q = self.target
        least = min(n, max(FIRST.n, 4 * self.most))
        features = max(FIRST.d, (2 * self.most) ** len(self.like.columns), d * least / n)
        features = d if self.like.is_fixed else min(d, features)
        queries, top = min(q, max(FIRST.q, 2 * self.most)), n * features / d
        # Rows per query, such that most rows in blocks have no links.
        linked = 8 * (1 + self.most) if self.like.in_blocks else 4
        samples = min(top, max(least, 4 * features if d <= n else 0, linked * queries))
        regime = self.like.regime(self.target)
        while samples < top and self.like.regime(_Size(samples / LEVERS[-1], features, queries)) != regime:
            samples = min(1.1 * samples, top)
        return _Size(samples, features, queries)

    def base(self) -> _Size:
        """The largest sample that is quick to fit. Samples, features and queries grow alike until they are those of X."""
        (n, d, q), size, power = self.target, self.first(), 2.0
        while True:
            room = ENTRIES / (size.n * size.d * (self.like.density or 1.0))
            factor = min(2.0, (LONG / self(size).seconds) ** (1 / power), room ** (1.0 if size.d == d else 0.5))
            features = min(factor * size.d, d)
            larger = _Size(min(factor * size.n, n * features / d), features, min(factor * size.q, q))
            grown = max(larger.n / size.n, larger.q / size.q if q else 1.0)
            if factor < 1.1 or grown < 1.001:
                return size
            power = max(1.0, log(self(larger).seconds / self(size).seconds) / log(grown))
            size = larger

    def cost(self, base: _Size) -> Cost:
        """What the sample took, multiplied by the growth on each way to X."""
        found, held = self(base), self.target
        if self.like.in_blocks:  # one block is in memory at a time
            held = held._replace(n=min(held.n, BLOCKS * block_rows(int(held.d), self.like.dtype.itemsize)))
        growth = self._growths(base, self.target, "times", LEVERS)
        peaks = self._growths(base, held, "peaks", LEVERS[1:])
        steps = float(np.mean([fit.steps for fit in self._fits.values()]))
        parts = {
            name: seconds * growth[name] * (steps if name in ITERATED else 1.0) for name, seconds in found.times.items()
        }
        return Cost(sum(parts.values()), UNSEEN * found.peaks["bytes"] * peaks["bytes"], parts)

    def _growths(self, base: _Size, target: _Size, what: str, levers: tuple[float, ...]) -> dict[str, float]:
        """The factors by which the times or the peaks of each part grow on the ways from a sample to a size."""
        features, more = target.d / base.d, getattr(self(base), what)
        factors = {SAMPLES: target.n / base.n / features, QUERIES: target.q / (base.q or 1) or 1.0, FEATURES: features}
        product = dict.fromkeys(more, 1.0)
        for way, factor in factors.items():
            if abs(factor - 1) > 1e-3:
                lever = next((lever for lever in levers if self._is_alike(base, base.on(way, 1 / lever))), levers[-1])
                less = getattr(self(base.on(way, 1 / lever)), what)
                for name in more:
                    degree = _degree(name, way)
                    product[name] *= _growth(more[name], less.get(name, 0.0), lever, factor, degree)
        return product

    def _is_alike(self, base: _Size, small: _Size) -> bool:
        """Whether the smaller sample is fitted in the same way, and is not so small that it says little."""
        enough = all(2 * size >= min(first, all_) for size, first, all_ in zip(small, FIRST, base, strict=True))
        return enough and self.like.regime(small) == self.like.regime(base)


def _degree(name: str, way: tuple[int, int, int]) -> int:
    """The highest power by which a part grows on this way."""
    degree = DEGREES.get(name, 3)
    return 1 if way == QUERIES else degree if way == SAMPLES or name == "bytes" else min(degree + 1, 3)


def _growth(more: float, less: float, lever: float, factor: float, degree: int) -> float:
    """The factor by which something grows when the size grows by ``factor``.

    It grew from ``less`` to ``more`` when the size grew by ``lever``.

    Between two whole powers of the size, the growth may be a sum of both, as for a search that multiplies rows. It may also
    be one power whose exponent falls, as for a search by trees. The geometric mean of the two is near enough to either. Below
    the first power it is a constant and a linear part.
    """
    power = min(max(log(more / max(less, 1e-9)) / log(lever), 0.0), degree) if more > 1e-9 else 0.0
    low = min(int(power), degree - 1)
    share = (1 - lever ** (low - power)) / (1 - 1 / lever)  # the share of the higher power
    both = (1 - share) * factor**low + share * factor ** (low + 1)
    return both if power <= 1 else float(np.sqrt(both * factor**power))


def _reduced(estimator: Any, size: _Size, whole: _Size) -> Any:
    """A copy for a sample, with fewer queries and with a part of the links that the user gives."""
    model, n = clone(estimator), ceil(size.n)
    for name, value in estimator.get_params().items():
        kind = name.rpartition("__")[2]
        if kind == "queries" and value and size.q:
            model.set_params(**{name: ceil(value * size.q / whole.q)})
        elif np.shape(value) == (whole.n, whole.n) and n < whole.n:
            W = sparse.csr_array(value)[:n].tocoo()
            links = sparse.csr_array((W.data[::2], (W.coords[0][::2], W.coords[1][::2] % n)), shape=(n, n))
            model.set_params(**{name: links.maximum(links.T)})
        elif kind in ("must_link", "cannot_link") and value is not None:
            pairs = np.asarray(value)[: ceil(len(value) * n / whole.n)] % n
            model.set_params(**{name: pairs[pairs[:, 0] != pairs[:, 1]]})
    return model


def _checked(estimator: Any, shape: Any, dtype: Any, density: Any, n_classes: Any, blocks: Any) -> _Like:
    """What X is like. Raise where no fit is possible, with the error of ``fit`` where there is one."""
    if not isinstance(estimator, Reducer):
        raise ValueError(f"estimator={estimator!r} must be an estimator of lapwing, such as LPP(10)")
    tags = get_tags(estimator)
    n, *columns = _sides(shape, tags.input_tags)
    if check_count("n_classes", n_classes, 2) > n and tags.target_tags.required:
        raise ValueError(f"n_classes={n_classes} is more than the {n} samples of shape={shape!r}; use fewer")
    if density is not None:
        _check_density(density, estimator, tags.input_tags.sparse)
    precision = np.dtype(check_choice("dtype", np.dtype(dtype).name, ("float64", "float32")))
    is_kernel, is_fixed = tags.input_tags.pairwise, density is not None
    for name, value in estimator.get_params().items():
        _check_parameter(name, value, n)
        if prod(columns) in np.shape(value) or name.endswith(("image_shape", "kernel_params", "metric_params")):
            is_fixed = is_fixed or value is not None  # it belongs to X of this width
    columns = [50] if is_kernel else columns
    like = _Like(n, tuple(columns), precision, density, min(int(n_classes), n), False, is_kernel, is_fixed)
    if isinstance(estimator, KernelReducer) and not is_kernel:
        with config_context(assume_finite=True):
            estimator.rows(np.broadcast_to(precision.type(0), shape))  # raises where the kernel would be too large
    return _in_blocks(estimator, like) if check_choice("blocks", blocks, (False, True)) else like


def _sides(shape: Any, tags: Any) -> list[int]:
    lengths: Any = (2,)
    what = "features, such as (10_000, 64)"
    if not tags.two_d_array:
        lengths, what = range(3, 100), "the sides of an image, such as (1_000, 32, 32)"
    if not isinstance(shape, tuple | list) or len(shape) not in lengths:
        raise ValueError(f"shape={shape!r} must be whole numbers: samples and {what}")
    sides = [check_count(f"shape[{i}]", side, 1 if i else 2) for i, side in enumerate(shape)]
    if tags.pairwise and sides[0] != sides[1]:
        raise ValueError(f'shape={shape!r} must be square: with kernel="precomputed" X is a kernel matrix')
    return sides


def _check_density(density: Any, estimator: Any, is_taken: bool) -> None:
    if isinstance(density, bool) or not isinstance(density, Real) or not 0 < float(density) <= 1:
        raise ValueError(f"density={density!r} must be a share above 0 and at most 1, or None for a dense X")
    if not is_taken:
        name = type(estimator).__name__
        raise ValueError(f"density={density!r} is of a sparse X, which {name} does not take; use density=None")


def _check_parameter(name: str, value: Any, n: int) -> None:
    kind = name.rpartition("__")[2]
    if isinstance(value, Radius):
        raise ValueError(f"{name}={value!r} has no estimate: how many samples are within a radius depends on X")
    if kind == "search" and isinstance(value, str):
        raise ValueError(f"{name}={value!r} has no estimate: small samples are searched exactly; time a fit instead")
    if kind in ("graph", "penalty", "W") and np.ndim(value) == 2 and np.shape(value) != (n, n):
        raise ValueError(
            f"{name} is a matrix of shape {np.shape(value)}, but X has {n} samples; it needs a row for each"
        )


class _RowsWanted(Exception):  # noqa: N818
    """Raised when a fit has checked its parameters and asks for rows, either all at once or one block at a time."""


class _InBlocks(Blocks):
    """Rows in a few blocks, which take memory as those on disk do. Without rows, the blocks are never read."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype, X: np.ndarray | None = None):
        self.shape, self.dtype, self._X = shape, dtype, X

    def _read(self) -> Any:
        if self._X is None:
            raise _RowsWanted(False)
        yield from (block.copy() for block in np.array_split(self._X, BLOCKS))

    def labels(self, y: Any) -> Any:
        if self._X is None:
            raise _RowsWanted(False)
        return y

    def load(self) -> Any:
        if self._X is None:
            raise _RowsWanted(True)
        return super().load()


def _in_blocks(estimator: Any, like: _Like) -> _Like:
    """X in blocks, after ``fit`` itself has checked that it takes them. X is in memory where ``fit`` would load it."""
    if not isinstance(estimator, LinearReducer | FeatureSelector):
        name = type(estimator).__name__
        raise ValueError(f"blocks=True is for linear methods and scores, and {name} is neither; use blocks=False")
    if like.density is not None or isinstance(estimator.get_params().get("penalty"), Integral):
        raise ValueError("blocks=True has no estimate together with density= or a number as penalty=; leave one out")
    try:
        clone(estimator).fit(_InBlocks((like.n, prod(like.columns)), like.dtype), 0)
    except _RowsWanted as wanted:
        return replace(like, in_blocks=not wanted.args[0])
    raise AssertionError(f"{estimator!r} was fitted without rows")
