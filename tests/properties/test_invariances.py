"""What a fit does not depend on: the order of rows, the axes, the origin, the unit, the precision and the layout of X.

Two fits agree up to rounding, which turns a space of directions the more, the nearer the next eigenvalue is (``certainty``).
"""

import numpy as np
from drawn import GRAPHS, PROJECTIONS, gaussian, leaves_of, literal, quietly, repeated, tried
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from written_out import pencil

from lapwing import LPCA, KernelLPP, KernelNPE
from lapwing.graphs import KNN, CodingLength, Radius, Repulsion, SameClass

DIGITS = 1e5  # how many times the rounding of one sum the rounding of a fit may be, its graph included


def models(suits=lambda leaf: True, methods=PROJECTIONS):
    """Literal fits, with graphs all of whose parts suit."""
    graphs = st.one_of(st.none(), GRAPHS.filter(lambda graph: all(suits(leaf) for leaf in leaves_of(graph))))
    options = st.fixed_dictionaries(
        {"normalize": st.sampled_from([None, "degree"]), "ridge": st.sampled_from([0.0, 0.5])}
    )
    return st.builds(
        lambda method, k, graph, given: literal(method, k, graph=graph, **given),
        st.sampled_from(methods),
        st.integers(1, 3),
        graphs,
        options,
    )


data = st.tuples(st.integers(0, 10_000), st.integers(12, 40), st.integers(2, 30))


def made(drawn):
    rng = np.random.RandomState(drawn[0])
    return gaussian(rng, *drawn[1:]), rng.randint(0, 3, drawn[1]), rng


def coordinates(model, X, y, at):
    """Of rows ``at``, by a fit to X; or the message of an error."""
    return quietly(lambda: np.asarray(clone(model).fit(X, y).transform(at), dtype=np.float64))


def check(model, X, y, Z, noise=1.0):
    """Z spans what a fit to X and y gives."""
    expected = coordinates(model, X, y, X)
    if isinstance(expected, str) or isinstance(Z, str):
        assert isinstance(Z, str) == isinstance(expected, str), (expected, Z)
        return
    P = quietly(lambda: pencil(model, X, y))
    if P is None:
        return
    certain = DIGITS * noise * P.certainty(Z.shape[1])
    if certain < 1e-2:
        assert P.angle(expected, Z) < max(certain, 1e-7)


def is_placed(leaf):
    """Which rows are searched for goes by their place."""
    return bool(leaf.requests()) and leaf.requests()[0].queries is not None


def is_euclidean(leaf):
    return getattr(leaf, "metric", "euclidean") == "euclidean"


@tried(models(lambda leaf: not is_placed(leaf)), data)
def test_order_of_the_rows(model, drawn):
    X, y, rng = made(drawn)
    order = rng.permutation(len(X))
    check(model, X, y, coordinates(model, X[order], y[order], X))


@tried(models(is_euclidean), data)
def test_rotation(model, drawn):
    X, y, rng = made(drawn)
    Q = np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0]
    check(model, X, y, coordinates(model, X @ Q, y, X @ Q))


@tried(models(lambda leaf: not isinstance(leaf, Repulsion)), data, st.floats(-2, 6))
def test_origin(model, drawn, power):
    """Weights of repulsion are the only ones that depend on it."""
    X, y, rng = made(drawn)
    far = X + 10.0**power * rng.standard_normal(X.shape[1])
    check(model, X, y, coordinates(model, far, y, far), 1 + 10.0**power)


def has_no_unit(leaf):
    return not isinstance(leaf, Radius | Repulsion | CodingLength)


WITHOUT_UNIT = [method for method in PROJECTIONS if method not in (KernelLPP, KernelNPE, LPCA)]


@tried(models(has_no_unit, WITHOUT_UNIT), data, st.floats(-9, 9))
def test_unit(model, drawn, power):
    X, y, _ = made(drawn)
    larger = 10.0**power * X
    check(model, X, y, coordinates(model, larger, y, larger))


@tried(models(), data)
def test_precision(model, drawn):
    """Of rows that both precisions hold."""
    X, y, _ = made(drawn)
    X = X.astype(np.float32).astype(np.float64)
    single = X.astype(np.float32)
    check(model, X, y, coordinates(model, single, y, single), np.finfo(np.float32).eps / np.finfo(np.float64).eps / 10)


@tried(
    models(), data, st.sampled_from([np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2], sparse.csr_array])
)
def test_layout(model, drawn, kind):
    """By rows, by columns, every other column of a wider array, sparse."""
    X, y, _ = made(drawn)
    check(model, X, y, coordinates(model, kind(X), y, kind(X)))


@tried(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from(["trace", "degree"]))
def test_order_of_equal_rows(seed, d, normalize):
    """A graph that links equal rows only, beside others: its form is rounding, which no trace is taken of."""
    rng = np.random.RandomState(seed)
    X, y, order = repeated(rng, 30, d), np.arange(30) // 3, rng.permutation(30)
    for method in PROJECTIONS[:2]:
        model = literal(method, 1, graph=SameClass() + KNN(29), normalize=normalize)
        values = clone(model).set_params(n_components=2).fit(X, y).eigenvalues_
        Z, other = coordinates(model, X, y, X), coordinates(model, X[order], y[order], X)
        certain = 1e-10 / ((values[1] - values[0]) / np.abs(values).max())
        if certain < 1e-2:
            cosine = abs(Z[:, 0] @ other[:, 0]) / np.linalg.norm(Z) / np.linalg.norm(other)
            assert np.arccos(min(cosine, 1.0)) < max(certain, 1e-7)
