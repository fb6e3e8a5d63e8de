"""The base of graphs: what a graph must say, how graphs are combined, and how they print."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from .._documented import Documented
from .._validation import check_not_negative
from ..data import Data, validated
from ..neighbors import NoPlaceError, Request, is_named
from ..operators import laplacian
from ..problem import Term

OPERANDS = ("graph", "left", "right")  # the parameters of operations that are graphs
SIGNATURE: Any = cache(signature)  # of a class, looked at once
CALLED = {"build", "get_params", "set_params"}  # what users call of a graph
LONGEST_PARAMETER = 200  # a parameter is printed in full up to this many characters

Signed = list[tuple[float, Any]]  # coefficients and graphs, each with parameters of its own


class Graph(Documented):
    """Base of all graphs, which say which rows attract and repel each other. ``build(X, y)`` makes their Laplacians and degrees.

    Combine graphs by ``+``, ``-``, ``*`` and ``/`` with a number, ``&`` (the edges of both) and ``|`` (the edges of either),
    which bind weaker than ``-`` in Python, so bracket them: ``(KNN(5) & SameClass()) - (KNN(5) & OtherClass())``. A graph prints
    as typed.

    A graph of your own must write ``adjacency(data)``, the weights as a symmetric sparse matrix, n x n and not negative; or,
    where the edges are too many to list or the matrix is no Laplacian of weights, ``terms(data)``, a list of
    :class:`lapwing.problem.Term`. The rows are ``data.X`` (an array, or sparse), their number ``data.n``, and their labels
    ``data.classes``, -1 where unknown. ``__init__`` stores each parameter under its own name and does nothing else. Nothing may
    be written to X, y or the parameters: estimators share graphs, and build them again in every fold.

    It may write the properties below, where their values are not its own; ``weights_at``, where it has no ``adjacency`` and ``&``
    should know it; ``term``, where its L is not D - W; ``requests``, where it asks ``data.nearest`` for neighbours; ``fitted``,
    where it learns from the rows; ``resolved`` and ``new_links``, where a free map shall place new rows by it.
    :func:`lapwing.testing.check_graph` says whether all holds.

    Examples
    --------
    >>> from scipy import sparse
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, Graph
    >>> class Halves(Graph):  # each sample of the first half linked to one of the second
    ...     reads_features, indexes_rows = False, True
    ...     def adjacency(self, data):
    ...         return sparse.diags_array([1.0, 1.0], offsets=[-data.n // 2, data.n // 2], shape=(data.n, data.n))
    >>> LPP(1, graph=KNN(2) + 0.5 * Halves()).fit([[0.0, 1.0], [1.0, 1.5], [2.0, 0.0], [4.0, 1.0]])
    LPP(graph=KNN(2) + 0.5 * Halves(), n_components=1)
    """

    reads_labels: Any = False  #: Whether it looks at y.
    reads_targets: Any = False  #: Whether it reads y as numbers, and not as classes.
    reads_features: Any = True  #: Whether it looks at X.
    counts_pairs: Any = False  #: Whether its weights are a user's counts, which no estimator may scale.
    weighs_classes: Any = True  #: Whether samples of different classes may have different degrees.
    indexes_rows: Any = False  #: Whether it knows rows by their place, and so fits one data set and no fold of it.
    is_laplacian: Any = True  #: Whether the rows of its matrix add up to 0, so that moving all samples costs nothing.
    is_semidefinite: Any = True  #: Whether its matrix has no negative eigenvalue.
    beside_columns: Any = ()  #: The places of the columns of X that only the graph reads, and the map does not.
    __array_ufunc__ = None  # so that ``np.float64(0.2) * graph`` comes to __rmul__
    _takes_sparse = True
    _unnamed = 1  # parameters that print without their names

    def __dir__(self) -> list[str]:
        """What users call. What else is public here is for those who write graphs."""
        for_authors = {"view", *vars(Graph)} - CALLED
        return [name for name in super().__dir__() if name[0] == "_" or name not in for_authors]

    def build(self, X: Any, y: Any = None) -> list[Term]:
        """The graph on the rows of X, as signed terms ``(coefficient, laplacian, degrees)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown; only for graphs that read them.
        """
        data = validated(self, X, y)
        return self.fitted(data).terms(data)

    def terms(self, data: Data) -> list[Term]:
        """What :meth:`build` returns."""
        if (signed := self.signed()) != [(1.0, self)]:
            return [term.scaled(coefficient) for coefficient, part in signed for term in part.terms(data)]
        if (W := self.adjacency(data)) is None:
            raise NotImplementedError(f"{type(self).__name__} must write adjacency(data) or terms(data)")
        is_on_device = hasattr(W, "tocsr") and not sparse.issparse(W)
        return [self.term(W if is_on_device else sparse.csr_array(W, dtype=np.float64))]

    def adjacency(self, data: Data) -> Any:
        """The weights as a sparse matrix; None where the graph has too many edges to list."""
        return None

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """The weights of given pairs; 0 where the graph has no edge."""
        if (W := listed(self, data)) is None:
            raise ValueError(f"{type(self).__name__} has no edge weights that & could keep; combine it by + and -")
        return np.asarray(W[rows, cols]).ravel() if rows.size else np.zeros(0)  # SciPy refuses to look up nothing

    def term(self, W: sparse.csr_array) -> Term:
        """The term of this graph's weights W, or of those of them that ``&`` keeps."""
        return Term(1.0, *laplacian(W))

    def signed(self) -> Signed:
        """The graphs that this one adds up, each with its coefficient, below 0 where it repels."""
        return [(1.0, self)]

    def requests(self) -> list[Request]:
        """The neighbour searches that are needed to build the graph."""
        return []

    def why_all_rows(self) -> str | None:
        """Why the graph cannot be built on rows that are read in blocks, as a sentence; None where it can."""
        requests = self.requests()
        sampled = requests and all(r.queries is not None and not is_named(r.metric, "precomputed") for r in requests)
        if sampled or not (self.reads_features or self.reads_targets or self.indexes_rows):
            return None
        return (
            f"{self!r} needs all rows of X in memory, and X is read in blocks; use graphs of classes, such as SameClass(), or of "
            "sampled neighbours, such as graph=KNN(5, queries=20_000) or penalty=Repulsion(15, queries=20_000), or pass X as an "
            "array"
        )

    def resolved(self, data: Data) -> Graph:
        """The graph with the parameters that it takes from the data written out, as :meth:`links` needs them."""
        return self

    def fitted(self, data: Data) -> Graph:
        """The graph with what it has learnt from the rows, as :class:`On` has a transformer. Estimators keep it as ``graph_``."""
        return self

    def links(self, both: Data, n_fitted: int) -> sparse.csr_array:
        """The weights (n_new, n_fitted) of the links that place new rows in a free map. ``both`` are the fitted and the new rows.

        Only graphs that attract count, and neither labels nor pairs, which new rows do not have.
        """
        if (found := self.new_links(both, n_fitted)) is None:
            raise NoPlaceError(
                f"{self!r} has no links for new rows: nothing in it that attracts searches among features; give links= to "
                'transform, or use KNN or Radius, without search= and metric="precomputed"'
            )
        return found

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        """What :meth:`links` returns; None where the graph has no links for new rows."""
        return None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also those of parameters that have some, as ``left__n_neighbors``."""
        params = {name: getattr(self, name) for name in SIGNATURE(type(self)).parameters}
        for name, value in list(params.items()) if deep else ():
            if hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Graph:
        """Set parameters by the names of :meth:`get_params`."""
        names = SIGNATURE(type(self)).parameters
        for key in sorted(params, key=lambda key: "__" in key):  # a part, and then the parameters inside it
            name, _, inner = key.partition("__")
            if name not in names:
                has = ", ".join(names) or "none"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {has}")
            if inner:
                getattr(self, name).set_params(**{inner: params[key]})
            else:
                setattr(self, name, params[key])
        return self

    def __repr__(self) -> str:
        """The graph as it is typed: its size, and the parameters that are not the default."""
        words = []
        for i, parameter in enumerate(SIGNATURE(type(self)).parameters.values()):
            value = getattr(self, parameter.name)
            first = i < self._unnamed and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
            if (first and isinstance(value, Real)) or not _is_default(value, parameter.default):
                words.append(_printed(value) if first else f"{parameter.name}={_printed(value)}")
        return f"{type(self).__name__}({', '.join(words)})"

    def __add__(self, other: Any) -> Graph:
        """The sum with a graph, or with 0, which ``sum`` begins with."""
        if not isinstance(other, Graph):
            return self if isinstance(other, Real) and other == 0 else NotImplemented
        return Combination(self, other.graph, other.scale) if isinstance(other, Scaled) else Combination(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Graph:
        return self + -1.0 * other if isinstance(other, Graph | Real) else NotImplemented

    def __mul__(self, scale: float) -> Graph:
        if not isinstance(scale, Real):
            return NotImplemented
        return Scaled(self.graph, scale * self.scale) if isinstance(self, Scaled) else Scaled(self, float(scale))

    __rmul__ = __mul__

    def __truediv__(self, scale: float) -> Graph:
        return self * (1.0 / float(scale)) if isinstance(scale, Real) else NotImplemented

    def __neg__(self) -> Graph:
        return self * -1.0

    def __and__(self, other: Graph) -> Graph:
        return Intersection(self, other) if isinstance(other, Graph) else NotImplemented

    def __or__(self, other: Graph) -> Graph:
        return Union(self, other) if isinstance(other, Graph) else NotImplemented


def _of_any(name: str) -> Any:
    return property(lambda self: any(getattr(part, name) for part in self._operands()))


class Operation(Graph):
    """A graph made of others, its operands, from whose properties its own follow."""

    reads_labels = _of_any("reads_labels")
    reads_targets = _of_any("reads_targets")
    reads_features = _of_any("reads_features")
    indexes_rows = _of_any("indexes_rows")
    is_laplacian = property(lambda self: all(part.is_laplacian for part in self._operands()))
    is_semidefinite = property(lambda self: all(c >= 0 and leaf.is_semidefinite for c, leaf in self.signed()))
    beside_columns = property(
        lambda self: sorted({place for part in self._operands() for place in part.beside_columns})
    )

    def _operands(self) -> list[Graph]:
        found = [(name, part) for name, part in vars(self).items() if name in OPERANDS]
        for name, part in found:
            if not isinstance(part, Graph):
                raise ValueError(f"{name}={part!r} must be a graph, such as KNN(5)")
        return [part for _, part in found]

    def _changed(self, change: Callable[[Graph], Graph]) -> Graph:
        """The same operation on other operands."""
        changed = {name: change(part) for name, part in vars(self).items() if isinstance(part, Graph)}
        return copy(self).set_params(**changed)

    def view(self, data: Data) -> Data:
        """The rows that the operands are built on."""
        return data

    def requests(self) -> list[Request]:
        return [request for part in self._operands() for request in part.requests()]

    def why_all_rows(self) -> str | None:
        return next((why for part in self._operands() if (why := part.why_all_rows())), None)

    def resolved(self, data: Data) -> Graph:
        return self._changed(lambda part: part.resolved(self.view(data)))

    def fitted(self, data: Data) -> Graph:
        return self._changed(lambda part: part.fitted(data))

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        found = [c * W for c, leaf in self.signed() if c > 0 and (W := leaf.new_links(both, n_fitted)) is not None]
        return sum(found[1:], start=found[0]) if found else None


@dataclass(eq=False, repr=False)
class Scaled(Operation):
    """``scale * graph``."""

    graph: Graph
    scale: float = 1.0

    def signed(self) -> Signed:
        return _signed(self._operands()[0], self.scale)

    def __repr__(self) -> str:
        return f"-{_operand(self.graph)}" if self.scale == -1 else f"{_number(self.scale)} * {_operand(self.graph)}"


@dataclass(eq=False, repr=False)
class Combination(Operation):
    """``left + scale * right``; a negative scale repels.

    In a grid search: ``graph__left__...``, ``graph__right__...`` and ``graph__scale``.
    """

    left: Graph
    right: Graph
    scale: float = 1.0

    def signed(self) -> Signed:
        left, right = self._operands()
        return [*left.signed(), *_signed(right, self.scale)]

    def __repr__(self) -> str:
        negative = isinstance(self.scale, Real) and self.scale < 0
        times = "" if self.scale in (1, -1) else f"{_number(-self.scale if negative else self.scale)} * "
        first = _operand(self.left, (Combination, Scaled))
        return f"{first} {'-' if negative else '+'} {times}{_operand(self.right)}"


class OfOne(Operation):
    """An operation that changes one graph, its first operand: a sum of graphs becomes the sum of the operation on each."""

    counts_pairs = property(lambda self: self._operands()[0].counts_pairs)
    is_laplacian = property(lambda self: self._operands()[0].is_laplacian)
    is_semidefinite = property(lambda self: self._operands()[0].is_semidefinite)

    def signed(self) -> Signed:
        inner, name = self._operands()[0], next(name for name in vars(self) if name in OPERANDS)
        if (signed := inner.signed()) == [(1.0, inner)]:
            return [(1.0, self)]
        return [(c, copy(self).set_params(**{name: leaf})) for c, leaf in signed]

    def terms(self, data: Data) -> list[Term]:
        if self.signed() != [(1.0, self)]:
            return super().terms(data)
        return [self._turned(term) for term in self._operands()[0].terms(self.view(data))]

    def _turned(self, term: Term) -> Term:
        """What becomes of a term of the graph inside."""
        return term

    def adjacency(self, data: Data) -> Any:
        return self._operands()[0].adjacency(self.view(data))

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self._operands()[0].weights_at(self.view(data), rows, cols)

    def term(self, W: sparse.csr_array) -> Term:
        return self._turned(self._operands()[0].term(W))

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        return self._operands()[0].new_links(self.view(both), n_fitted)


@dataclass(eq=False, repr=False)
class Intersection(OfOne):
    """``left & right``: left's weights on the edges that right has too.

    In a sum on the left, each graph keeps its sign. A sum on the right, or ``Pairs``, has the edges of any of its graphs whose
    coefficient is not 0. New rows have the links of the left side.
    """

    left: Graph
    right: Graph

    counts_pairs = False
    terms, weights_at = Graph.terms, Graph.weights_at

    def adjacency(self, data: Data) -> sparse.csr_array:
        if any(request.is_sampled(data.size) for request in self.right.requests()):
            raise ValueError(f"{self.right!r} has links of a sample of the rows alone; put it on the left of &")
        filters = [leaf for coefficient, leaf in self.right.signed() if coefficient != 0]
        W = listed(self.left, data)
        edges = sparse.coo_array(self._edges(filters, data) if W is None else W)
        if W is None:
            kept = self.left.weights_at(data, edges.row, edges.col)
        else:
            has = [leaf.weights_at(data, edges.row, edges.col) != 0 for leaf in filters]
            kept = np.where(np.any(has, axis=0), edges.data, 0.0)
        common = sparse.csr_array((kept, (edges.row, edges.col)), shape=edges.shape)
        common.eliminate_zeros()
        return common

    def _edges(self, filters: list[Graph], data: Data) -> sparse.csr_array:
        """The edges of the right side, where the left side has too many to list."""
        edges = sparse.csr_array((data.n, data.n))
        for leaf in filters:
            if (W := listed(leaf, data)) is None:
                raise ValueError(f"{self!r}: neither graph is sparse; one side must be, such as KNN or Precomputed")
            edges = edges + abs(W)
        edges.eliminate_zeros()
        return edges

    def __repr__(self) -> str:
        return f"{_operand(self.left, Intersection)} & {_operand(self.right)}"


@dataclass(eq=False, repr=False)
class Union(Operation):
    r"""``left | right``: the edges of either graph, with the larger of their weights, :math:`\max(W_{ij}, V_{ij})`.

    A sum on one side has the sum of its weights; what repels is subtracted from the union instead: ``(A | B) - C``.
    """

    left: Graph
    right: Graph

    is_laplacian, is_semidefinite = True, True
    why_all_rows = Graph.why_all_rows  # the larger of two weights is unknown where only a sample of the links is known

    def adjacency(self, data: Data) -> sparse.csr_array:
        left, right = (total_weights(self, side, data) for side in self._operands())
        return sparse.csr_array(left.maximum(right))

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        """The larger of both links, or those of one side where the other has no rule for new rows."""
        found = [side.new_links(both, n_fitted) for side in self._operands()]
        known = [W for W in found if W is not None]
        return sparse.csr_array(known[0].maximum(known[-1])) if known else None

    def __repr__(self) -> str:
        return f"{_operand(self.left, Union)} | {_operand(self.right)}"


@dataclass(eq=False, repr=False)
class Similarity(OfOne):
    r"""Asks for large products of linked rows, and not for small distances between them: :math:`A = -W`.

    .. math:: \min_Z -\operatorname{tr}(Z^\top W Z) = -\sum_{ij} W_{ij}\, z_i^\top z_j .

    With orthogonal directions, ``OLPP(graph=Similarity(Chain()))`` maximises the spatial or temporal autocovariance. A Laplacian
    asks for small variances as well: under :math:`Z^\top D Z = I` both are one problem, whose eigenvalues differ by 1.

    Parameters
    ----------
    graph : Graph
        The graph whose weights are W. In a sum, each graph keeps its coefficient.

    Examples
    --------
    >>> from lapwing.graphs import Chain, Similarity
    >>> Similarity(Chain()).build([[0.0], [1.0], [5.0]])[0].laplacian.toarray()
    array([[ 0., -1.,  0.],
           [-1.,  0., -1.],
           [ 0., -1.,  0.]])
    """

    graph: Graph

    is_laplacian, is_semidefinite = False, False

    def _turned(self, term: Term) -> Term:
        return term._replace(laplacian=term.laplacian - term.degrees)


@dataclass(eq=False, repr=False)
class DensityCorrected(OfOne):
    r"""Divides the density of the rows out of the weights of a graph.

    .. math:: W'_{ij} = \frac{W_{ij}}{(d_i d_j)^\alpha}, \qquad d_i = \sum_j W_{ij},

    as :class:`lapwing.DiffusionMaps` do: the plain Laplacian of a graph of neighbours gives more weight to rows that lie densely.

    Parameters
    ----------
    graph : Graph
        The graph whose weights are W. The weights of the graphs of a sum are added up first.
    alpha : float, default=1.0
        How much of the density is divided out: nothing by 0, half by 1/2 (the Fokker-Planck operator), and all by 1, so that
        eigenvectors tend to those of the surface alone (the operator of Laplace and Beltrami).

    Examples
    --------
    >>> from lapwing import LaplacianEigenmaps
    >>> from lapwing.graphs import KNN, DensityCorrected
    >>> LaplacianEigenmaps(1, graph=DensityCorrected(KNN(2))).fit_transform([[0.0], [0.1], [0.2], [1.0]]).shape
    (4, 1)
    """

    graph: Graph
    alpha: float = 1.0

    is_laplacian, is_semidefinite = True, True
    signed, terms, weights_at, term = Graph.signed, Graph.terms, Graph.weights_at, Graph.term
    why_all_rows = Graph.why_all_rows  # a sample of the links does not give the degrees of all rows

    def adjacency(self, data: Data) -> sparse.csr_array:
        W = total_weights(self, self._operands()[0], data)
        share = self._share(W)
        return sparse.csr_array(share @ W @ share)

    def _share(self, W: sparse.csr_array) -> sparse.dia_array:
        """The factors by which rows are multiplied; 0 for rows without links."""
        degrees = np.asarray(W.sum(axis=1)).ravel()
        powers = np.where(degrees > 0, degrees, 1.0) ** -check_not_negative("alpha", self.alpha)
        return sparse.diags_array(np.where(degrees > 0, powers, 0.0))

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        graph: Graph = self._operands()[0]
        if graph.reads_labels or (links := graph.new_links(both, n_fitted)) is None:
            return None
        fitted = total_weights(self, graph, type(both)(both.X[:n_fitted]))
        return sparse.csr_array(self._share(links) @ links @ self._share(fitted))


def total_weights(whole: Graph, graph: Graph, data: Data) -> sparse.csr_array:
    """The weights of a graph, or the sum of the weights of its parts. Raise where ``whole`` cannot be made from them."""
    found = sparse.csr_array((data.n, data.n))
    for coefficient, leaf in graph.signed():
        if coefficient < 0:
            why = f"repels, by the coefficient {coefficient:g}; subtract it from the whole, as in (A | B) - C"
        elif not leaf.is_laplacian:
            why = "is no Laplacian of weights; write Similarity(A | B), or use +"
        elif any(request.is_sampled(data.size) for request in leaf.requests()):
            why = "has the weights of a sample; use +, or leave queries out"
        elif (W := listed(leaf, data)) is None:
            why = "is too dense to list its edges; use +, or a sparse graph such as KNN, Radius or Precomputed"
        else:
            found = found + coefficient * W
            continue
        raise ValueError(f"{whole!r}: {leaf!r} {why}")
    return found


def listed(graph: Graph, data: Data) -> Any:
    """The adjacency of a graph as a sparse array in float64; None where it has too many edges to list."""
    W = graph.adjacency(data)
    return None if W is None else sparse.csr_array(W.tocsr() if hasattr(W, "tocsr") else W, dtype=np.float64)


def _signed(graph: Graph, scale: Any = 1.0) -> Signed:
    """The graphs that a part of a sum adds up, with their coefficients."""
    if not (isinstance(scale, Real) and np.isfinite(float(scale))):
        raise ValueError(f"scale={scale!r} must be a finite number")
    return [(float(scale) * coefficient, leaf) for coefficient, leaf in graph.signed()]


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and np.ndim(value) == 0 and bool(value == default))


def _operand(graph: Any, plain: Any = ()) -> str:
    """In brackets where it is an operation, other than of the kind ``plain``."""
    bracketed = isinstance(graph, Combination | Intersection | Scaled | Union) and not isinstance(graph, plain)
    return f"({graph!r})" if bracketed else repr(graph)


def _number(scale: Any) -> str:
    scale = float(scale) if isinstance(scale, Real) else scale
    return repr(int(scale)) if isinstance(scale, float) and scale.is_integer() and abs(scale) < 1e15 else repr(scale)


def _printed(value: Any) -> str:
    """A parameter on one line: a function by its name, a number without its type, a large array by its shape."""
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    if len(text) > LONGEST_PARAMETER:
        has_shape = hasattr(value, "shape")
        text = f"<{type(value).__name__} of shape {value.shape}>" if has_shape else text[:LONGEST_PARAMETER] + "..."
    return text
