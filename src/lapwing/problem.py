r"""The one problem behind every method.

.. math:: \min_V \operatorname{tr}(V^\top F^\top A F V)
          \quad\text{subject to}\quad V^\top F^\top B F V = I \ \text{ or }\ V^\top V = I

or, where B is given and directions are to be orthogonal nevertheless, the ratio of two traces:

.. math:: \min_V \frac{\operatorname{tr}(V^\top F^\top A F V)}{\operatorname{tr}(V^\top F^\top B F V)}
          \quad\text{subject to}\quad V^\top V = I
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from .operators import Structured


class Constraint(Enum):
    ORTHOGONAL = "orthogonal"


ORTHOGONAL: Literal[Constraint.ORTHOGONAL] = Constraint.ORTHOGONAL


class Term(NamedTuple):
    """A signed part of A: ``coefficient * laplacian``, with the degrees of its own graph.

    Attributes
    ----------
    coefficient : float
        How much the part counts: above 0 it attracts, below 0 it repels.
    laplacian : Structured
        The matrix of the part, n x n; ``toarray()`` makes it dense.
    degrees : Structured
        The diagonal matrix of the degrees of its graph.

    Examples
    --------
    >>> from lapwing.graphs import Chain
    >>> (term,) = (2 * Chain()).build([[0.0], [1.0], [2.0]])
    >>> term.coefficient, term.degrees.diagonal().tolist()
    (2.0, [1.0, 2.0, 1.0])
    """

    coefficient: float
    laplacian: Structured
    degrees: Structured

    def scaled(self, scale: float) -> Term:
        """The same part, whose coefficient is multiplied by a number."""
        return Term(scale * self.coefficient, self.laplacian, self.degrees)


@dataclass(frozen=True)
class Problem:
    """What a method minimises, and what the directions are subject to. ``_problem`` of a method returns it.

    Attributes
    ----------
    minimise : sequence of Term
        The terms that add up to A.
    subject_to : Structured or ORTHOGONAL
        The matrix B of the constraint, or ``lapwing.problem.ORTHOGONAL`` for orthogonal directions.
    ratio : bool
        Whether the quotient of the traces of A and B is minimised, by orthogonal directions.
    graph_terms : sequence of Term
        The terms of the graph, where ``minimise`` is made from them and is no sum of Laplacians.

    Examples
    --------
    >>> from lapwing import LPP
    >>> problem = LPP(1, graph=1).problem([[0.0, 1.0], [1.0, 0.0], [3.0, 2.0]])
    >>> len(problem.minimise), problem.subject_to.toarray().shape
    (1, (3, 3))
    """

    minimise: Sequence[Term]
    subject_to: Structured | Literal[Constraint.ORTHOGONAL]
    ratio: bool = field(default=False, kw_only=True)
    graph_terms: Sequence[Term] = field(default=(), kw_only=True)

    @cached_property
    def degrees(self) -> np.ndarray | None:
        """The weights of the mean that the constraint uses, where the constraint is a diagonal matrix."""
        B = self.subject_to
        plain = isinstance(B, Structured) and B.sparse is None and B.rest is None and not B.factors
        return B.diag if plain else None  # type: ignore[union-attr]


def laplacian_sum(terms: Sequence[Term]) -> Structured:
    """The sum of the Laplacians, each times its coefficient."""
    scaled = [t.laplacian if t.coefficient == 1 else t.coefficient * t.laplacian for t in terms]
    first, *rest = scaled
    return sum(rest, start=first)


def degree_sum(terms: Sequence[Term]) -> Structured:
    """D, the degrees of the terms that attract. Repulsion takes no part in the constraint."""
    pulling = [term for term in terms if term.coefficient > 0]
    if not pulling:
        raise ValueError(
            "graph has no attraction, so its degrees cannot serve as the constraint; add a graph with a positive "
            "coefficient, give penalty=, or use a method with orthogonal directions (OLPP, ONPP)"
        )
    each = [term.degrees.diagonal() if term.degrees.diag is None else term.degrees.diag for term in pulling]
    degrees = np.sum([term.coefficient * d for term, d in zip(pulling, each, strict=True)], axis=0)
    return Structured(degrees.size, diag=degrees)
