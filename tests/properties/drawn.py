"""Data, graphs and estimators by chance, and how long chance is tried.

Numbers come from a seed, so that an example is a few words, and what is hard about data is one of a list of kinds.
"""

import os
import warnings
from collections.abc import Callable
from functools import wraps
from math import ceil
from time import monotonic
from typing import NamedTuple

import numpy as np
import oracles as o
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import PCA

from lapwing import (
    DNE,
    GLPCA,
    L21PCA,
    LFDA,
    LPCA,
    LPDP,
    LPP,
    LSDA,
    MFA,
    MMC,
    MULTISPATI,
    NPE,
    OLPP,
    ONPP,
    ContrastivePCA,
    DiffusionMaps,
    GraphPCA,
    KernelLDA,
    KernelLFDA,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    RobustGLPCA,
    SpectralRegression,
    TangentialMaps,
)
from lapwing.graphs import (
    KNN,
    Chain,
    ClosestPairs,
    CodingLength,
    Complete,
    DensityCorrected,
    LocalClass,
    On,
    OtherClass,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Similarity,
    Target,
)

MINUTES = float(os.environ.get("LAPWING_FUZZ_MINUTES", "0"))  # of a fuzz; 0 in ``make test``
MOST, BATCH = 10_000, 50  # examples of a property in a fuzz, and after how many of them the clock is looked at
PROPERTIES = []  # those that were collected share the minutes


def tried(*drawn, examples=20):
    """A property of what is drawn: so many examples in ``make test``, and in ``make fuzz`` 10,000 or what its minutes allow."""

    def of(check):
        PROPERTIES.append(check)
        if not MINUTES:
            return settings(max_examples=examples)(given(*drawn)(check))

        def fuzzed():
            end = monotonic() + seconds_each()
            batch = settings(max_examples=BATCH)(given(*drawn)(until(end, check)))
            for _ in range(MOST // BATCH):
                if monotonic() < end:
                    batch()

        fuzzed.__doc__ = check.__doc__
        return fuzzed

    return of


def seconds_each():
    """Of the minutes of a fuzz, where processes share the properties."""
    return 60 * MINUTES / ceil(len(PROPERTIES) / int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def until(end, check):
    """Examples after the end pass unseen, unless one has failed, which hypothesis tries again."""
    failed = False

    @wraps(check)
    def checked(**drawn):
        nonlocal failed
        if failed or monotonic() < end:
            failed = True
            check(**drawn)
            failed = False

    return checked


def gaussian(rng, n, d):
    return rng.standard_normal((n, d)) * rng.uniform(0.5, 2, d)


def low_rank(rng, n, d):
    return gaussian(rng, n, 2) @ rng.standard_normal((2, d))


def repeated(rng, n, d):
    return np.repeat(gaussian(rng, -(-n // 3), d), 3, axis=0)[:n]


def binary(rng, n, d):
    return (rng.rand(n, d) < rng.choice([0.1, 0.5])).astype(float)


def grid(rng, n, d):
    return rng.randint(0, 4, (n, d)).astype(float)


def with_constants(rng, n, d):
    X = gaussian(rng, n, d)
    X[:, ::3] = rng.choice([0.0, 1e8 + 0.1])
    return X


def of_many_lengths(rng, n, d):
    """Directions of which one is up to 1e7 times as long as another."""
    m = min(n, d)
    U, V = (np.linalg.qr(rng.standard_normal((size, m)))[0] for size in (n, d))
    return U * np.geomspace(1, 10.0 ** -rng.randint(1, 8), m) @ V.T


def with_a_far_row(rng, n, d):
    X = gaussian(rng, n, d)
    X[rng.randint(n)] *= 10.0 ** rng.randint(1, 9)
    return X


def of_two_clusters(rng, n, d):
    """Far apart. Some properties pass them over: which rows of another cluster are nearest is a matter of rounding."""
    X = gaussian(rng, n, d)
    X[rng.randint(n, size=rng.randint(1, n))] += 10.0 ** rng.randint(1, 9)
    return X


def nothing(rng, n, d):
    return np.full((n, d), rng.choice([0.0, 3.0]))


KINDS = [gaussian, low_rank, repeated, binary, grid, with_constants, of_many_lengths, with_a_far_row, nothing]


class Data(NamedTuple):
    """What X and y are made of: of the examples that time leaves unseen nothing is made."""

    kind: Callable
    seed: int
    shape: tuple[int, int]
    scale: float
    dtype: type
    n_classes: int
    is_sparse: bool

    def made(self):
        rng = np.random.RandomState(self.seed)
        X = (self.kind(rng, *self.shape) * self.scale).astype(self.dtype)
        return sparse.csr_array(X) if self.is_sparse else X, rng.randint(0, self.n_classes, len(X))


def rows(most=40):
    """X and y: dense or sparse, in double or single precision, on any scale."""
    return st.builds(
        Data,
        st.sampled_from(KINDS),
        st.integers(0, 10_000),
        st.tuples(st.integers(2, most), st.integers(1, most)),
        st.sampled_from([1.0, 1.0, 1e-6, 1e9]),
        st.sampled_from([np.float64, np.float64, np.float32]),
        st.integers(1, 4),
        st.booleans(),
    )


LEAVES = [
    KNN(2),
    KNN(5),
    KNN(3, weights="binary", symmetry="and"),
    KNN(3, among="same_class"),
    KNN(4, metric="manhattan"),
    KNN(3, queries=5),
    Radius(2.0),
    SameClass(),
    OtherClass(),
    Complete(),
    Repulsion(6),
    ClosestPairs(4),
    Reconstruction(3),
    CodingLength(4),
]
GRAPHS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - 0.3 * b, inner, inner),
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda s, a: s * a, st.sampled_from([0.5, 2.0]), inner),
    ),
    max_leaves=4,
)


def leaves_of(graph):
    """The graphs that one is made of, those of a filter included."""
    parts = [part for name in ("left", "right", "graph") if (part := getattr(graph, name, None)) is not None]
    return [leaf for part in parts for leaf in leaves_of(part)] or [graph]


PROJECTIONS = [LPP, OLPP, NPE, ONPP, MMC, LPDP, MFA, DNE, LPCA, KernelLPP, KernelNPE]
FREE = [LaplacianEigenmaps, TangentialMaps, GLPCA, RobustGLPCA, L21PCA]
NAMED = [LFDA, LSDA, KernelLDA, KernelLFDA, GraphPCA, MULTISPATI, ContrastivePCA, SpectralRegression, DiffusionMaps]
WORDS = [
    Target(2),
    Chain(),
    Similarity(KNN(3)),
    KNN(2) | Chain(),
    DensityCorrected(KNN(4)),
    LocalClass(3),
    KNN(3, weights="self-tuning"),
    On([0], KNN(2)),
    On(PCA(1, random_state=0), KNN(2)),
]
FREE_PROBLEMS = [
    LaplacianEigenmaps(),
    LaplacianEigenmaps(constraint="identity"),
    TangentialMaps(),
    GLPCA(),
    GLPCA(beta=0.9),
]


def quietly(compute):
    """The outcome of a fit, whatever it warns of."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return o.outcome(compute)


def literal(method, k, **options):
    """The method as its equation has it, with those of the options that it has."""
    usual = {"pca": None, "scaling": "constraint", "ridge": 0.0, "standardize": False, "gamma": 0.1, **options}
    model = method(k)
    return model.set_params(**{name: usual[name] for name in usual.keys() & model.get_params(deep=False).keys()})


@st.composite
def estimators(draw, methods=(*PROJECTIONS, *FREE, *NAMED)):
    """A method with a graph and the parameters that it has."""
    estimator = draw(st.sampled_from(methods))(draw(st.integers(1, 4)))
    choices = {
        "graph": st.one_of(st.none(), st.integers(1, 8), GRAPHS, st.sampled_from(WORDS)),
        "pca": st.sampled_from(["auto", None, 2, 0.9]),
        "normalize": st.sampled_from(["auto", None, "degree", "trace"]),
        "ridge": st.sampled_from(["auto", 0.0, 0.5]),
        "scaling": st.sampled_from(["auto", "unit", "constraint"]),
        "standardize": st.sampled_from(["auto", True, False]),
        "penalty": st.one_of(st.none(), st.none(), st.sampled_from(LEAVES)),
    }
    known = estimator.get_params(deep=False).keys() & choices.keys()
    given = {name: draw(choices[name]) for name in sorted(known)}
    return estimator.set_params(**{"tol": 0.1} if "tol" in estimator.get_params(deep=False) else {}, **given)
