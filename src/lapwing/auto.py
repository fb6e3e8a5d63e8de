"""Everything that "auto" stands for. The numbers and the rules are measured (docs/defaults.md), and applied here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import ceil
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from ._documented import public
from ._validation import WORD_SHARE, caller_stacklevel, check_choice, check_count
from .maps import Centre, Keep, effective_rank

# Of rows of words a share of the variance takes nearly all directions. In its place, where no labels attract:
WORD_RIDGE = 3.0  # ridge="auto", in units of the constraint's mean eigenvalue
WORD_DIRECTIONS = 100  # directions that pca="auto" keeps at least, for methods without a ridge
# From so many rows and columns on, one direction in so many or fewer is found without a dense matrix where such a one costs more:
# its side, cubed, is so many times the number of entries that are not 0. Where neighbours attract, many directions are nearly as
# good as the best, and finding them takes longer.
PRODUCT_SIDE, NEIGHBOR_SIDE, PRODUCT_FEW = 500, 1800, 20
PRODUCT_COST, NEIGHBOR_COST = 4_000, 80_000
# scaling="auto" is "constraint" where two things hold: the DOMINANT leading directions hold more than DOMINANT_SHARE of the
# variance, and 98 % of the variance takes more than MANY_DIRECTIONS.
DOMINANT, DOMINANT_SHARE, MANY_DIRECTIONS = 3, 0.58, 40
SPREAD_DIRECTIONS = 50  # spread = effective rank / 50, at most 1
LITTLE_SPREAD = 0.25  # with class graphs, scaling="auto" is "objective" where the spread is below this
SMALL_CLASSES = 10  # where classes have fewer samples than this on average, all directions are kept
# gamma="auto" in units of "scale": where both labels and neighbours attract, and where no labels do.
LABEL_WIDTH, PLAIN_WIDTH = 0.25, 0.5
UNITS_RATIO = 10.0  # columns count as in one unit where the largest size is at most this many times the median one
# Deviations of at least 10 columns count as falling where their rank correlation with the place of the column is below -0.9.
FALLING_COLUMNS, FALLING_CORRELATION = 10, -0.9
LEAST_OBJECTIVE = 1e-6  # with scaling="objective", less counts as this, as that of classes that become points
KERNELS_WITH_UNITS = ("rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid")
CHOICES = {
    "constraint": ("matrix", "orthogonal", "trace-ratio"),
    "normalize": ("auto", None, "degree", "trace"),
    "scaling": ("auto", "constraint", "objective", "unit"),
    "center": ("auto", "mean", "degree", False),
    "standardize": ("auto", True, False),
    "preset": ("measured", "paper"),
}
# What "auto" stands for with preset="paper": the equation as it is printed. The rules of a method say what differs in its own.
PAPER: dict[str, Any] = {"pca": None, "standardize": False, "normalize": None, "ridge": 0.0}
PAPER |= {"scaling": "constraint", "gamma": "scale"}


class UnitsWarning(UserWarning):
    """Says that the columns of X seem to be in different units, and were divided by their standard deviations.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_wine
    >>> from lapwing import LPP, UnitsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UnitsWarning)
    ...     model = LPP(2, standardize=True).fit(load_wine().data)
    """


class Rules(NamedTuple):
    """The numbers in which methods differ."""

    energy: float = 0.9  # the share of the variance that pca="auto" keeps
    small_energy: float = 1.0  # the same for small classes, where labels alone say what attracts
    neighbor_energy: float | None = None  # the same where no labels attract; None uses ``energy`` there too
    directions: float = 1.25  # pca="auto" keeps at least this many directions per component
    by_form: bool = False  # whether what is maximised says itself which directions matter, as a margin or a variance
    ridge: float = 0.0  # ridge="auto" where X can be decomposed whole and no labels attract
    label_ridge: float | None = None  # the same where labels alone attract; None chooses by the spread of the variance
    sum_ridge: float = 0.3  # the same where labels and neighbours attract
    # Whether the features are those of a kernel. Without one, a graph of classes is treated as in discriminant analysis: units
    # of columns do not matter, and directions have the same variance within classes. With one neither holds, directions are
    # truncated beside the ridge where neighbours attract as well, and the ridge is in units of the trace per sample.
    of_kernel: bool = False
    unit_length: bool = False  # whether scaling="auto" is always "unit"
    paper: Mapping[str, Any] = {}  # what "auto" stands for with preset="paper", where that is not ``PAPER``


class GraphFacts(NamedTuple):
    """``graph=`` and ``penalty=``, resolved, and what the rules ask about them, found once."""

    graph: Any
    penalty: Any
    equal_say: bool  # whether the graphs that attract are scaled to the same total degree, as ``normalize=`` asks for
    labels_attract: bool  # whether one of the graphs that attract reads labels
    labels_alone: bool  # whether all graphs that attract read labels
    of_classes: bool  # whether they read only labels, so that all samples of a class are alike to them
    repels: bool  # whether a part of ``graph`` repels
    only_attracts: bool  # whether no part repels, and there is no penalty
    is_euclidean: bool  # whether all neighbours are searched by Euclidean distances
    is_sampled: bool  # whether ``graph`` searches for the neighbours of a sample of the rows
    requests: list  # all that the graphs ask of ``data.nearest``
    beside: list  # the places of columns of X that graphs read and maps do not
    leaves: list  # the graphs that both are sums of
    reads_labels: bool  # whether one of them reads labels


def facts(graph: Any, penalty: Any, n: int, normalize: str | None, is_written: bool) -> GraphFacts:
    """Look at the graphs of n samples. ``normalize="auto"`` changes sums that a user writes, and not a method's own sum."""
    signed = graph.signed()
    pull = [leaf for coefficient, leaf in signed if coefficient > 0]
    reading = [bool(leaf.reads_labels) for leaf in pull]
    own = [request for _, leaf in signed for request in leaf.requests()]
    requests = own if penalty is None else own + penalty.requests()
    leaves = [leaf for _, leaf in (signed if penalty is None else signed + penalty.signed())]
    alone, repels = bool(reading) and all(reading), any(coefficient < 0 for coefficient, _ in signed)
    is_sum = sum(not leaf.counts_pairs for leaf in pull) > 1
    return GraphFacts(
        graph,
        penalty,
        equal_say=isinstance(normalize, str)
        and (normalize == "degree" or (normalize == "auto" and is_written and is_sum)),
        labels_attract=any(reading),
        labels_alone=alone,
        of_classes=alone and not any(leaf.reads_features or leaf.reads_targets for leaf in pull),
        repels=repels,
        only_attracts=penalty is None and not repels,
        is_euclidean=all(r.metric in ("euclidean", "l2", "sqeuclidean") for r in requests),
        is_sampled=any(isinstance(r.queries, Integral) and r.queries < n for r in own),  # checked by the search
        requests=requests,
        beside=sorted({place for leaf in leaves for place in leaf.beside_columns}),
        leaves=leaves,
        reads_labels=any(leaf.reads_labels for leaf in leaves),
    )


class Settings(NamedTuple):
    """What a fit uses: ``n_components=``, ``pca=`` and ``ridge=``, decided."""

    n_components: int | None  # None is all there are
    keep: Keep
    # In units of the constraint's mean eigenvalue; None is chosen by the spread of the constraint, once that is known.
    ridge: float | None
    equal_say: bool
    is_too_large: bool = False  # whether ``pca=`` asks for directions that cannot be found
    by_products: bool = False  # whether few directions of rows of words, where these are sparse, need no dense matrix
    of_words: bool = False  # whether nearly all entries of the rows are 0, or they are too large to be decomposed whole


@contextmanager
def as_printed(estimator: Any) -> Iterator[None]:
    """For this time, the parameters that are "auto" are those of the method's paper."""
    given, printed = vars(estimator), {**PAPER, **estimator._rules.paper}
    own = {name: printed[name] for name in printed if isinstance(given.get(name), str) and given[name] == "auto"}
    given.update(own)
    try:
        yield
    finally:
        vars(estimator).update(dict.fromkeys(own, "auto"))


def settings(estimator: Any, graphs: GraphFacts, data: Any) -> Settings:
    """``n_components=``, ``ridge=`` and ``pca=`` on these rows."""
    given, rules = check_options(estimator), estimator._rules
    k, pca, constraint = given.get("n_components"), given.get("pca"), given.get("constraint", "matrix")
    automatic = isinstance(pca, str) and pca == "auto"
    # Maps without pca= have other words for n_components=, and ask for them themselves.
    k = _told_apart(graphs, data) if isinstance(k, str) and "pca" in given else k
    count = int(k) if isinstance(k, Integral) else None
    principal, side, of_words, entries = constraint == "trace-ratio", min(data.size, data.d), False, np.inf
    if "pca" in given and data.has_features and not rules.of_kernel:
        _, shares = data.deviations, data.shares  # found together
        of_words, entries = data.is_large or bool(np.mean(shares) < WORD_SHARE), data.size * float(shares.sum())
    large, by_trace = of_words and data.is_large, given.get("normalize") == "trace"
    # Whether a ridge can take the place of truncation.
    instead = "ridge" in given and constraint == "matrix" and not by_trace and graphs.penalty is None
    if not (by_default := isinstance(given.get("ridge"), str)) or constraint != "matrix":
        ridge: float | None = 0.0 if by_default else float(given.get("ridge", 0.0))
    elif automatic and graphs.labels_attract and graphs.only_attracts and not (large and not instead):
        ridge = rules.label_ridge if graphs.labels_alone else rules.sum_ridge
    elif of_words and instead and (automatic or pca is None):
        ridge = rules.ridge or WORD_RIDGE
    else:
        ridge = rules.ridge
    if not automatic:
        keep = Keep(pca, count or 1, principal=principal)
        too_large = large and keep.at_most is None and pca != "lanczos" and not (pca is None and instead)
        return Settings(count, keep, ridge, graphs.equal_say, too_large, of_words=of_words)
    if (ridge is None or ridge > 0) and not (rules.of_kernel and by_default and not graphs.labels_alone):
        kept: Any = None
    else:
        # The fewer directions orthogonal ones are taken from, the better, until the method becomes PCA.
        kept, few = 0.0 if constraint == "orthogonal" else rules.energy, rules.small_energy
        if rules.neighbor_energy is not None and not graphs.labels_attract:
            kept = rules.neighbor_energy
        if k is None:  # where all components are asked for, most of the variance is kept
            kept, few = max(kept, 0.9), 1.0
        kept = few if graphs.labels_alone and _has_small_classes(data) else kept
        # There are fewer directions with a margin, of which not all are kept, than classes.
        by_form = rules.by_form and count is not None and (rules.energy == 1 or count < data.class_sizes.size)
        if kept and (of_words or (by_form and kept == 1 and side >= PRODUCT_SIDE)):
            kept = None if by_form else max(WORD_DIRECTIONS, 2 * (count or 1))
    by_labels = graphs.labels_alone or ridge == 0
    least_side, cost = (PRODUCT_SIDE, PRODUCT_COST) if by_labels else (NEIGHBOR_SIDE, NEIGHBOR_COST)
    few = count is not None and least_side <= side >= PRODUCT_FEW * count and not by_trace
    by_products = few and kept is None and side**3 >= cost * entries
    keep = Keep(kept, count or 1, ceil(rules.directions * (count or 1)), principal)
    return Settings(count, keep, ridge, graphs.equal_say, by_products=by_products, of_words=of_words)


def _has_small_classes(data: Any) -> bool:
    try:
        return data.class_sizes.mean() < SMALL_CLASSES
    except ValueError:  # y holds numbers, for a graph that the user wrote
        return False


def check_options(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator by name. Raise where one is wrong for any X."""
    given = estimator.get_params(deep=False)
    for name, choices in {**CHOICES, **estimator._choices}.items():
        value = given.get(name, choices[0])
        if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
            check_choice(name, value, choices)  # raises
    k, pca, ridge = given.get("n_components"), given.get("pca"), given.get("ridge", "auto")
    if "pca" in given and not (k is None or (isinstance(k, str) and k == "auto") or (isinstance(k, int) and k > 1)):
        check_count("n_components", k)
    fits = isinstance(pca, str) and (pca == "auto" or (pca == "lanczos" and not estimator._rules.of_kernel))
    if isinstance(pca, Real) and not isinstance(pca, bool):
        fits = int(pca) >= 1 if isinstance(pca, Integral) else 0 < float(pca) <= 1
    if isinstance(pca, str) and fits and pca != "auto" and k is None:
        raise ValueError('pca="lanczos" takes steps per component, and n_components=None is no whole number; give one')
    if not (pca is None or fits):
        raise ValueError(
            f'pca={pca!r} must be "auto", None (the whole rank), a number, an energy in (0, 1], or "lanczos", of linear maps'
        )
    number = isinstance(ridge, Real) and not isinstance(ridge, bool) and 0 <= float(ridge) < np.inf
    if not number and not (isinstance(ridge, str) and ridge == "auto"):
        raise ValueError(f'ridge={ridge!r} must be "auto" or a finite number, 0 or more')
    if number and ridge and given.get("constraint") in ("orthogonal", "trace-ratio"):
        raise ValueError(
            f'ridge={ridge!r} is added to the matrix of the constraint, and constraint="{given["constraint"]}" has none; use 0, '
            "and pca= to leave directions out"
        )
    return given


def _told_apart(graphs: GraphFacts, data: Any) -> int:
    """``n_components="auto"``: the number of classes minus one, whatever the graph (thesis, section 2.7)."""
    try:
        return max(1, data.class_sizes.size - 1)
    except ValueError as error:
        if graphs.reads_labels:
            raise
        raise ValueError(f'n_components="auto" is a number of classes minus one; give a number: {error}') from error


def units(estimator: Any, graphs: GraphFacts, chosen: Settings | None, data: Any) -> np.ndarray | None:
    """``standardize=``: what columns are divided by, 1 for constant ones; None where columns stay as they are.

    ``"auto"`` leaves columns as they are where distances have no units, and where deviations fall from first to last, as those
    of a PCA. It divides them where a mostly filled column is much larger than the median one, its size being its deviation over
    the root of the share that is not 0: rare words are as large as frequent ones. And it divides them where a graph of classes
    with a ridge makes the problem invariant to units except for that ridge, unless half of the columns are mostly zeros.
    """
    standardize, kernel = getattr(estimator, "standardize", False), getattr(estimator, "kernel", "linear")
    if standardize is False or not data.has_features:
        return None
    has_units = graphs.is_euclidean and isinstance(kernel, str) and kernel in KERNELS_WITH_UNITS
    if standardize == "auto" and not has_units:
        return None
    regular = chosen is not None and (chosen.ridge is None or chosen.ridge > 0)  # of kernels it does not matter
    if isinstance(getattr(estimator, "ridge", 0.0), str) and getattr(estimator, "constraint", "matrix") == "matrix":
        regular = getattr(estimator, "pca", None) == "auto" and graphs.labels_attract and graphs.only_attracts
    invariant = not estimator._rules.of_kernel and graphs.of_classes and regular
    s = data.deviations  # finds the shares as well
    varying, scale = s[s > 0], np.where(s > 0, s, 1.0)
    if standardize is True or not varying.size:
        return scale if varying.size else None
    if varying.size >= FALLING_COLUMNS:
        (of_ranks, common), (_, of_places) = np.cov(rankdata(varying), np.arange(varying.size))
        if common < FALLING_CORRELATION * np.sqrt(of_ranks * of_places):
            return None
    shares = data.shares[s > 0]
    filled = shares > 0.5
    if not (invariant and filled.mean() > 0.5):
        sizes = varying / np.sqrt(shares)
        ratio = float(sizes[filled].max(initial=0.0) / np.median(sizes))
        if ratio <= UNITS_RATIO:
            return None
        warnings.warn(
            f"the columns of X seem to be in different units: the largest standard deviation is {ratio:.3g} times the median "
            "one. Columns are divided by their deviations (scale_); standardize=False takes X as it is, and True does not warn",
            UnitsWarning,
            stacklevel=caller_stacklevel(),
        )
    return scale


def centre(center: Any, problem: Any, weights: Any = None) -> Centre:
    """``center=``: what is subtracted. Where the constraint is a diagonal matrix, it is the mean weighted by the degrees."""
    degrees = problem.degrees
    if center == "degree" and degrees is None:
        raise ValueError(
            'center="degree" needs a constraint of degrees; orthogonal directions and penalty= take "mean"'
        )
    weighted = center in ("auto", "degree") and degrees is not None and np.ptp(degrees) > 0
    moves = seen = degrees is not None
    if center is False and not seen:  # Laplacians do not change with it, and other matrices do
        terms = [(term.coefficient, term.laplacian) for term in problem.minimise]
        parts = terms if weights is None else [(c, L.repeated(weights)) for c, L in terms]
        sums = sum(c * (L @ np.ones(L.n)) for c, L in parts)
        moves = bool(np.abs(sums).max() > 1e-8 * max(np.abs(c * L.diagonal()).max() for c, L in parts))
    return Centre(degrees if weighted else None, center is False, seen, moves)


def lengths(estimator: Any, graphs: GraphFacts, found: Any, forms: tuple[Any, Any], spectrum: Any) -> tuple[str, Any]:
    """``scaling=``, decided, and what directions of unit constraint are divided by.

    Where classes alone attract and few directions hold the variance, these are the lengths of discriminant analysis. Where a
    few directions hold most of the variance and many the rest, as light in pictures of faces, they would outweigh all others
    if every direction had unit length.
    """
    V, (A, B), scaling = found.vectors, forms, getattr(estimator, "scaling", "constraint")
    if B is None or getattr(estimator, "constraint", "matrix") != "matrix":
        return "unit" if scaling == "auto" else scaling, 1.0  # directions have their length already
    scaling = "unit" if scaling == "auto" and estimator._rules.unit_length else scaling
    if scaling == "auto":
        by_classes = graphs.of_classes and graphs.only_attracts and not estimator._rules.of_kernel
        scaling = "objective" if by_classes and isinstance(B, np.ndarray) and spread(B) < LITTLE_SPREAD else "unit"
        if spectrum is not None and not graphs.labels_attract:
            values, total = spectrum
            many = 1 + int(np.searchsorted(np.cumsum(values), 0.98 * total)) > MANY_DIRECTIONS
            scaling = "constraint" if many and values[:DOMINANT].sum() / total > DOMINANT_SHARE else scaling
    if scaling == "constraint":
        return scaling, 1.0
    if scaling == "unit":
        return scaling, np.linalg.norm(V, axis=0)
    if graphs.repels:
        raise ValueError(
            f'scaling="objective" takes the length of a direction from what attracts, and graph={graphs.graph!r} repels as '
            'well; use scaling="unit" or "constraint"'
        )
    # Vᵀ(B + ridge)V = I, so that 1 - VᵀBV is the part of the ridge.
    a, b = (np.sum(V * (M @ V), axis=0) for M in (A, B))
    return scaling, np.sqrt(np.maximum(a + 1 - b, LEAST_OBJECTIVE))


def spread(B: np.ndarray) -> float:
    """How spread the variance of a form is: near 0 where few directions hold it all, 1 where 50 hold it equally.

    (tr B)² / ‖B‖² is how many directions of equal variance would have this trace and norm.
    """
    return float(min(1.0, np.trace(B) ** 2 / np.vdot(B, B) / SPREAD_DIRECTIONS)) if B.any() else 1.0


def spread_of_rows(data: Any, mean: np.ndarray, weights: np.ndarray) -> float:
    """The same of the form of sparse rows under these weights, which is never formed."""
    return min(1.0, effective_rank(data, mean, weights, SPREAD_DIRECTIONS) / SPREAD_DIRECTIONS)


def width_share(graphs: GraphFacts, data: Any) -> float:
    """``gamma="auto"`` as a share of "scale". Where labels alone attract, it is the spread of the variance of X.

    It is at least 1/√p for p columns that vary, since the variance of few columns cannot be spread.
    """
    if not graphs.labels_alone or not data.has_features:
        return LABEL_WIDTH if graphs.labels_attract else PLAIN_WIDTH
    variances = data.deviations**2
    varying = np.count_nonzero(variances > np.finfo(np.float64).eps * variances.max())
    if not varying:
        return 1.0
    mean, weights = data.mean(), np.ones(data.n) if data.weights is None else data.weights
    found = spread_of_rows(data, mean, weights) if data.is_large else spread(data.gram(mean))
    return max(found, 1 / np.sqrt(varying))


public(__name__.partition(".")[0], ["UnitsWarning"], globals())
