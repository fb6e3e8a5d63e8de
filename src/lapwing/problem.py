r"""The one problem behind every method.

.. math:: \min_V \operatorname{tr}(V^\top F^\top A F V)
          \quad\text{subject to}\quad V^\top F^\top B F V = I \ \text{ or }\ V^\top V = I

or, where B is given and directions are orthogonal nevertheless, of two traces:

.. math:: \min_V \frac{\operatorname{tr}(V^\top F^\top A F V)}{\operatorname{tr}(V^\top F^\top B F V)}
          \quad\text{subject to}\quad V^\top V = I
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

import numpy as np

from .operators import Structured, diagonal


class Constraint(Enum):
    ORTHOGONAL = "orthogonal"


ORTHOGONAL: Literal[Constraint.ORTHOGONAL] = Constraint.ORTHOGONAL


class Term(NamedTuple):
    """A signed part of A: ``coefficient * laplacian``, with the degrees of its own graph."""

    coefficient: float
    laplacian: Structured
    degrees: Structured

    def scaled(self, scale: float) -> Term:
        return Term(scale * self.coefficient, self.laplacian, self.degrees)


@dataclass(frozen=True)
class Problem:
    """Minimise the sum of ``minimise``'s terms subject to ``subject_to``; as a ``ratio`` over it, by orthogonal directions."""

    minimise: Sequence[Term]
    subject_to: Structured | Literal[Constraint.ORTHOGONAL]
    ratio: bool = field(default=False, kw_only=True)

    @property
    def degrees(self) -> np.ndarray | None:
        """The weights of the constraint's mean, where the constraint is a diagonal matrix."""
        B = self.subject_to
        return B.diag if isinstance(B, Structured) and B.is_diagonal else None


def attraction(terms: Sequence[Term]) -> list[Term]:
    """The terms that pull."""
    return [term for term in terms if term.coefficient > 0]


def laplacian_sum(terms: Sequence[Term]) -> Structured:
    """The sum of the Laplacians, signs and all."""
    scaled = [t.laplacian if t.coefficient == 1 else t.coefficient * t.laplacian for t in terms]
    first, *rest = scaled
    return sum(rest, start=first)


def degree_sum(terms: Sequence[Term]) -> Structured:
    """D: the degrees of the terms that pull. Repulsion takes no part in the constraint."""
    pulling = attraction(terms)
    if not pulling:
        raise ValueError(
            "graph has no attraction, so its degrees cannot serve as the constraint; add a graph with a positive "
            "coefficient, give penalty=, or use a method with orthogonal directions (OLPP, ONPP)"
        )
    return diagonal(np.sum([term.coefficient * term.degrees.diagonal() for term in pulling], axis=0))
