"""Checks that a graph, a map or a kind of rows of your own must pass, and that lapwing's pass as well.

Nothing is returned where all is well. An ``AssertionError`` says what was expected and where to look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from . import LPP, OLPP
from .data import Data, validated
from .graphs import Graph
from .neighbors import Request
from .operators import Structured, laplacian
from .problem import ORTHOGONAL, Problem, laplacian_sum

__all__ = ["check_data", "check_graph", "check_map"]

TOLERANCE = 1e-8  # differences up to this share of the largest entry count as rounding


def check_graph(graph: Graph, X: Any = None, y: Any = None) -> None:
    """Check that a graph does what estimators, and the graphs that it is combined with, rely on.

    The checks are:

    Parameters
    ----------
    graph : Graph
        The graph to check.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,), default=None
        Rows without ties, and labels of three classes or more, all known. None is 40 random rows of 5 features, and three
        classes, or numbers for graphs that only read y as numbers; pass others where the graph needs rows of a special kind.

    Examples
    --------
    >>> from lapwing.graphs import KNN, SameClass
    >>> from lapwing.testing import check_graph
    >>> check_graph(KNN(3) + SameClass())  # returns nothing where all is well
    """
    X, labels = _data(X, y, 40, 5)
    numbers = y is None and _reads_targets_alone(graph)
    _run(GRAPH_CHECKS, graph, X, np.random.RandomState(2).rand(len(labels)) if numbers else labels)


def check_map(estimator: BaseEstimator, X: Any = None, y: ArrayLike | None = None) -> None:
    """Check what scikit-learn's :func:`~sklearn.utils.estimator_checks.check_estimator` does not: run both.

    The checks are:

    Parameters
    ----------
    estimator : estimator
        The estimator to check, of a class that derives from one of lapwing's.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,), default=None
        The rows to fit, and their labels. None is 60 random rows of 6 features, none negative, in three classes.

    Examples
    --------
    >>> from lapwing import LPP
    >>> from lapwing.testing import check_map
    >>> check_map(LPP(2, graph=7))  # returns nothing where all is well
    """
    _run(MAP_CHECKS, estimator, *_data(X, y, 60, 6))


Check = Callable[[Any, Any, np.ndarray], None]


def _run(checks: Sequence[Check], subject: Any, X: Any, y: np.ndarray) -> None:
    """Run the checks: the docstring of each says what is expected, and its error what is not so, and where to look."""
    for check in checks:
        try:  # with copies, so that what one check changes is not hidden from another
            check(deepcopy(subject), deepcopy(X), deepcopy(y))
        except Exception as error:
            raise AssertionError(f"{type(subject).__name__}: {check.__doc__} Not so: {error}") from error


def _expect(holds: Any, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _data(X: Any, y: Any, n: int, d: int) -> tuple[Any, np.ndarray]:
    """Rows without ties, in three overlapping classes."""
    if X is None:
        rng = np.random.RandomState(0)
        X = rng.rand(n, d) + 0.3 * rng.rand(3, d)[np.arange(n) % 3]
    return X, np.arange(len(X)) % 3 if y is None else np.asarray(y)


def _reads_targets_alone(graph: Graph) -> bool:
    reading = [leaf for _, leaf in graph.signed() if leaf.reads_labels]
    return bool(reading) and all(leaf.reads_targets for leaf in reading)


def _close(a: Any, b: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two arrays are equal, up to a share of the largest entry."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.abs(a - b).max(initial=0) <= tolerance * np.abs([a, b]).max(initial=0))


def _equal(a: Any, b: Any) -> bool:
    """Whether two parameters are the same; numbers are compared by value."""
    if hasattr(a, "get_params") and type(a) is type(b):
        a, b = vars(a), vars(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    if sparse.issparse(a) and sparse.issparse(b):
        return a.shape == b.shape and (a != b).nnz == 0
    return a is b or bool(np.array_equal(a, b))


def _matrix(graph: Graph, X: Any, y: Any) -> np.ndarray:
    """The sum of a graph's terms."""
    return laplacian_sum(graph.build(X, y)).toarray()


def _is_sampled(graph: Graph, n: int) -> bool:
    return any(request.is_sampled(n) for request in graph.requests())


def _check_parameters(graph: Graph, X: Any, y: np.ndarray) -> None:
    """__init__ stores each parameter under its own name and does nothing else, so that clone, get_params and set_params work."""
    copy = clone(graph)
    _expect(vars(graph).keys() == graph.get_params(deep=False).keys(), "it has other attributes than its parameters")
    _expect(_equal(copy, graph), "clone makes another graph")
    _expect(_equal(copy.set_params(**graph.get_params()), graph), "set_params(**get_params()) makes another graph")


def _check_terms(graph: Graph, X: Any, y: np.ndarray) -> None:
    """Each term has a symmetric Laplacian and degrees of 0 or more."""
    where = f"look at {type(graph).__name__}.adjacency or .terms"
    for term in graph.build(X, y):
        L, D = term.laplacian.toarray(), term.degrees.toarray()
        _expect(L.shape == D.shape == (len(y), len(y)), f"there is not one row and column per sample; {where}")
        _expect(np.isfinite(L).all() and np.isfinite(D).all(), f"there are NaN or infinity; {where}")
        _expect(_close(L, L.T, 1e-12), f"the Laplacian is not symmetric; {where}: W.maximum(W.T), or (W + W.T) / 2")
        _expect(_close(D, np.diag(np.diag(D))), f"the matrix of degrees is not diagonal; {where}")
        _expect(np.diag(D).min() >= 0, f"there are negative degrees; {where}, and subtract what repels: A - B")
    L = _matrix(graph, X, y)
    size, most, least = np.abs(L).sum(axis=1).max(), np.abs(L.sum(axis=1)).max(), np.linalg.eigvalsh(L)[0]
    sums_up, has_negative = most <= TOLERANCE * size, least < -TOLERANCE * size
    _expect(sums_up or not graph.is_laplacian, f"rows of L add up to {most:.3g}; set is_laplacian = False")
    _expect(not (has_negative and graph.is_semidefinite), f"{least:.3g} is an eigenvalue; set is_semidefinite = False")


def _check_untouched(graph: Graph, X: Any, y: np.ndarray) -> None:
    """Building it changes neither X, nor y, nor the graph, and a copy gives the same."""
    rows, labels, before = deepcopy(X), deepcopy(y), deepcopy(vars(graph))
    built = _matrix(graph, rows, labels)
    where = f"look at {type(graph).__name__}.adjacency or .terms, and copy what they change"
    _expect(_equal(rows, X), f"X is changed; {where}")
    _expect(_equal(labels, y), f"y is changed; {where}")
    _expect(_equal(vars(graph), before), f"the graph is changed, which holds parameters only; {where}")
    same = _close(built, _matrix(clone(graph), X, y), 1e-12)
    _expect(same, "a copy gives another; draw random numbers from a fixed seed, a parameter random_state")


def _check_permutation(graph: Graph, X: Any, y: np.ndarray) -> None:
    """Rows in another order have the same weights, unless it indexes_rows."""
    if graph.indexes_rows or _is_sampled(graph, len(y)):
        return
    order = np.random.RandomState(1).permutation(len(y))
    by_pairs = any(isinstance(value, str) and value == "precomputed" for value in graph.get_params().values())
    rows: Any = X if hasattr(X, "iloc") else np.asarray(X)  # a data frame keeps the names of its rows
    moved = rows.iloc[order] if hasattr(X, "iloc") else rows[order][:, order] if by_pairs else rows[order]
    same = _close(_matrix(graph, moved, y[order]), _matrix(graph, X, y)[np.ix_(order, order)])
    _expect(same, "they have others; where it knows rows by their place, set indexes_rows = True")


def _check_weights(graph: Graph, X: Any, y: np.ndarray) -> None:
    """weights_at and adjacency, which & asks for, are the weights of its Laplacian."""
    data, (rows, cols) = validated(graph, X, y), np.nonzero(~np.eye(len(y), dtype=bool))
    for _, leaf in graph.fitted(data).signed():
        try:
            weights = leaf.weights_at(data, rows, cols)
        except ValueError:
            continue  # it has no weights to ask for, and & raises an error
        W, where = leaf.adjacency(data), f"look at {type(leaf).__name__}.weights_at, .adjacency and .terms"
        _expect(W is None or _close(weights, sparse.csr_array(W).toarray()[rows, cols]), f"the two differ; {where}")
        of_terms = -laplacian_sum(leaf.terms(data)).toarray()[rows, cols] if leaf.is_laplacian else weights
        _expect(_close(weights, of_terms), f"they are not; {where}")


def _check_sparse(graph: Graph, X: Any, y: np.ndarray) -> None:
    """Sparse X gives the graph of dense X, or an error that says that it does not."""
    X = np.asarray(X)
    stored = sparse.csr_array((X.ravel(), np.indices(X.shape).reshape(2, -1)))  # zeros too, which may be distances
    try:
        same = _close(_matrix(graph, stored, y), _matrix(graph, X, y), 1e-6)
    except (TypeError, ValueError) as error:
        if any(word in str(error) for word in ("sparse", "dense", "kernel")):
            return
        raise
    _expect(same, f"it gives another; look at what {type(graph).__name__} does with data.X")


def _check_labels(graph: Graph, X: Any, y: np.ndarray) -> None:
    """It needs y, of which -1 (NaN where reads_targets) is unknown, where reads_labels says so, and ignores it where not."""
    L, (names, codes) = _matrix(graph, X, y), np.unique(y, return_inverse=True)
    if not graph.reads_labels:
        same = _close(L, _matrix(graph, X, None)) and _close(L, _matrix(graph, X, y[::-1]))
        return _expect(same, "it reads them; set reads_labels = True")
    try:
        said = f"nothing, and builds {len(graph.build(X))} terms"
    except ValueError as error:
        said = str(error)
    _expect("y" in said, f"without y it says {said}; read labels from data.classes, or set reads_labels = False")
    if not graph.reads_targets:
        _expect(_close(L, _matrix(graph, X, np.char.add("class ", codes.astype(str)))), "it reads the names of classes")
        as_class = names.size > 2 and _close(L, _matrix(graph, X, np.where(codes == 0, -1, codes)))
        _expect(not as_class, "-1 is one more class; read labels from data.classes, and leave out the rows with -1")
    elif _reads_targets_alone(graph):
        unknown = np.where(np.arange(len(y)) < 3, np.nan, y)
        _expect(not _close(L, _matrix(graph, X, unknown)), "NaN changes nothing; leave out the rows that have it")


def _check_fit(graph: Graph, X: Any, y: np.ndarray) -> None:
    """An estimator can be fitted with it."""
    make: Any = LPP if any(coefficient > 0 for coefficient, _ in graph.signed()) else OLPP
    found = make(1, graph=graph).fit(X, y).transform(X)
    _expect(np.isfinite(found).all(), f"{make.__name__} finds no finite coordinates; look at its terms")


GRAPH_CHECKS: tuple[Check, ...]
GRAPH_CHECKS = (_check_parameters, _check_terms, _check_untouched, _check_permutation, _check_weights, _check_sparse)
GRAPH_CHECKS += (_check_labels, _check_fit)


def _check_problem(estimator: Any, X: Any, y: np.ndarray) -> None:
    """problem(X, y) is solved: the constraint holds for transform(X), and the terms add up to ``eigenvalues_``."""
    model = clone(estimator)  # without what regularises it or scales its directions
    plain = {"pca": None, "ridge": 0.0, "scaling": "constraint", "normalize": None, "standardize": False, "n_steps": 0}
    model.set_params(**{name: plain[name] for name in plain.keys() & model.get_params(deep=False).keys()})
    try:
        problem, Z = model.problem(X, y), np.asarray(model.fit(X, y).transform(X), dtype=np.float64)
    except (NotImplementedError, ValueError):
        return  # a score without a problem, or a method that needs a ridge
    where = f"look at {type(model).__name__}._problem and at what fit stores"
    _expect(isinstance(problem, Problem), f"problem returns a {type(problem).__name__}; {where}")
    if not hasattr(model, "eigenvalues_") or isinstance(getattr(model, "components_", None), list):
        return  # a score, or a map of several modes, whose problems follow one another
    A = laplacian_sum(problem.minimise)
    if problem.ratio and problem.subject_to is not ORTHOGONAL:
        A = A - model.trace_ratio_ * problem.subject_to
    orthogonal = problem.ratio or problem.subject_to is ORTHOGONAL
    if not orthogonal or hasattr(model, "components_"):  # directions in the features of a kernel are not known
        B = model.components_ @ model.components_.T if orthogonal else Z.T @ (problem.subject_to @ Z)
        off = np.abs(B - np.eye(len(B))).max()
        _expect(_close(B, np.eye(len(B)), 1e-5), f"the constraint is off by {off:.3g}; {where}")
    if not hasattr(model, "n_iter_"):  # an iteration ends at another problem than the one it begins with
        # An eigenvalue of 0 is rounding of the terms before they cancel.
        uncancelled = np.abs(Z.T @ (np.abs(A.diagonal())[:, None] * Z)).max()
        A = Z.T @ (A @ Z)
        off = np.abs(A - np.diag(model.eigenvalues_)).max() / max(np.abs(A).max(), 1e-8 * uncancelled)
        _expect(off <= 1e-5, f"ZᵀAZ of Z = transform(X) is not diag(eigenvalues_), by {off:.3g} of it; {where}")


def _check_refit(estimator: Any, X: Any, y: np.ndarray) -> None:
    """A second fit knows nothing of the first."""
    fresh, again = clone(estimator).fit(X, y), clone(estimator).fit(np.asarray(X)[::-1, ::-1] ** 2, y[::-1]).fit(X, y)
    same = vars(fresh).keys() == vars(again).keys() and _close(fresh.transform(X), again.transform(X))
    _expect(same, "it does; begin fit by forgetting what an earlier one stored")


def _check_failed_fit(estimator: Any, X: Any, y: np.ndarray) -> None:
    """X of NaN raises a ValueError, and leaves the estimator unfitted."""
    model = clone(estimator).fit(X, y)
    with suppress(ValueError):
        model.fit(np.full(np.shape(X), np.nan), y)
        _expect(False, "it is fitted; validate X in fit")
    with suppress(NotFittedError):
        model.transform(X)
        _expect(False, "transform still works; forget the earlier fit before X is validated")


def _check_row_order(estimator: Any, X: Any, y: np.ndarray) -> None:
    """Rows in another order give the same map up to signs, unless its graph indexes rows or draws some of them."""
    model = clone(estimator).fit(X, y)
    graph = getattr(model, "graph_", None)
    draws = getattr(model, "landmarks", None) is not None or get_tags(model).input_tags.pairwise
    if draws or (isinstance(graph, Graph) and (graph.indexes_rows or _is_sampled(graph, len(y)))):
        return
    order = np.random.RandomState(1).permutation(len(y))
    Z, moved = (one.transform(X) for one in (model, clone(estimator).fit(np.asarray(X)[order], y[order])))
    same = _close(Z, np.where(np.sum(Z * moved, axis=0) < 0, -1, 1) * moved, 1e-5)
    _expect(same, "they give another; is a random number drawn, or a row treated in its own way?")


MAP_CHECKS: tuple[Check, ...] = (_check_refit, _check_failed_fit, _check_row_order, _check_problem)
for _function, _checks in ((check_graph, GRAPH_CHECKS), (check_map, MAP_CHECKS)):  # there is no text under python -OO
    _listed = "".join(f"    - {check.__doc__}\n" for check in _checks)
    _function.__doc__ = (_function.__doc__ or "").replace("are:\n\n", f"are:\n\n{_listed}\n")

# Shapes of rows that a kind must know: tall, wide, square, of deficient rank with a constant column, and far from the origin.
SHAPES: dict[str, Callable[[np.random.RandomState], np.ndarray]] = {
    "tall": lambda rng: rng.standard_normal((40, 6)) + 2,
    "wide": lambda rng: rng.standard_normal((12, 30)),
    "square": lambda rng: rng.standard_normal((15, 15)),
    "deficient": lambda rng: np.pad(rng.standard_normal((30, 3)) @ rng.standard_normal((3, 7)), ((0, 0), (0, 1))) + 5,
    "far": lambda rng: rng.standard_normal((25, 5)) + 1e6,
}


def check_data(make: Callable[[np.ndarray, np.ndarray], Any], *, rtol: float = 1e-9, neighbors: bool = True) -> None:
    """Compare every verb of a kind of rows with those of :class:`~lapwing.data.Data`, on five shapes.

    Parameters
    ----------
    make : callable
        From X, an array of shape (n, d), and labels y to the kind of rows.
    rtol : float, default=1e-9
        How far numbers may differ, as a share of the largest.
    neighbors : bool, default=True
        Whether the kind holds rows, so that neighbours can be searched for.

    Examples
    --------
    >>> from scipy import sparse
    >>> from lapwing.data import SparseData
    >>> from lapwing.testing import check_data
    >>> check_data(lambda X, y: SparseData(sparse.csr_array(X), y))
    """
    for name, shape in SHAPES.items():
        rng = np.random.RandomState(0)
        X = shape(rng)
        y = np.where(np.arange(len(X)) % 5 == 4, -1, np.arange(len(X)) % 3)
        expected, found = Data(X, y), make(X, y)
        for verb, apply in _verbs(rng, expected).items():
            same = _close(found.host(apply(found)), apply(expected), rtol)
            _expect(same, f"{verb} of {name} rows is not that of Data")
        for request in (Request(3), Request(3, "cosine"), Request(2, among="same_class")) if neighbors else ():
            for one, other in zip(found.nearest(request), expected.nearest(request), strict=True):
                _expect(_close(one, other, rtol), f"nearest of {name} rows, {request}, are not those of Data")


def _verbs(rng: np.random.RandomState, data: Data) -> dict[str, Callable[[Any], Any]]:
    """What is asked of rows, by name."""
    n, d = data.X.shape
    degrees, N, C, scale = rng.rand(n), rng.standard_normal((d, 2)), rng.standard_normal((n, 2)), 1 + rng.rand(d)
    W = sparse.csr_array(np.triu(rng.rand(n, n) > 0.7, 1).astype(float))
    L, D = laplacian(W + W.T)
    thin = Structured(n, factors=((rng.rand(n, 2), np.array([1.0, -2.0])),), diag=degrees)
    about, one, other, half = data.mean() + 0.1, np.arange(n), np.arange(n)[::-1].copy(), n // 2
    calls: dict[str, list[tuple]] = {
        "mean": [(), (degrees,)],
        "gram": [(about,)],
        "form": [(L, about), (D, about), (thin, about)],
        "form_diagonal": [(L + thin, about), (D, about)],
        "project": [(about, N.T)],
        "explained": [(N.T,)],
        "inner_products": [(one, other)],
        "distances": [(one[:half], other[:half, None])],
        "rows_at": [(np.array([[0, 2], [1, 1]]),)],
    }
    properties = ("deviations", "shares", "classes", "class_sizes", "squares", "unit.squares")
    return {
        **{name: attrgetter(name) for name in properties},
        **{f"{verb} {i}": methodcaller(verb, *given) for verb in calls for i, given in enumerate(calls[verb])},
        "divided": lambda data: data.divided(scale).mean(),
        "centred": lambda data: data.centred(about).T @ C,
        "in_coordinates": lambda data: data.in_coordinates(N, about).gram(np.zeros(2)),
        "stacked": lambda data: data.stacked(data.X[:3]).squares,
    }
