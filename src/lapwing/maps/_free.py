"""The free map: every sample has coordinates of its own, which no formula gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators import Structured


class FreeMap:
    """F = I, so that forms are the matrices themselves."""

    def forms(self, matrices: Sequence[Structured]) -> list[Any]:
        """The matrices, in sparse form."""
        return [M.tosparse() for M in matrices]
