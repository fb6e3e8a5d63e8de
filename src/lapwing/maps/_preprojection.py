"""``pca=``: how many principal directions a problem is solved in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..solvers import RankError

Count = Callable[
    [np.ndarray, float], int
]  # sums of squares found (descending), their total over all -> how many to keep


@dataclass(frozen=True)
class Preprojection:
    """The principal directions that are kept before a problem is solved.

    Parameters
    ----------
    share : None, int or float
        None keeps all directions of the rank, a whole number keeps that many, and a fraction keeps that share of the
        variance.
    n_components : int, default=1
        How many directions the method asks for.
    least : int or None, default=None
        With ``pca="auto"``, keep at least this many directions, or all there are. None where the user chose ``share``: keeping
        fewer directions than components is then an error.
    principal : bool, default=False
        Whether coordinates are along principal directions even where all are kept. Orthogonal directions need this.
    """

    share: Any = None
    n_components: int = 1
    least: int | None = None
    principal: bool = False

    @property
    def is_whole(self) -> bool:
        return self.share is None

    @property
    def is_automatic(self) -> bool:
        return self.least is not None

    @property
    def at_most(self) -> int | None:
        """A bound on the number of directions, known before the variances are. It allows a truncated decomposition."""
        if isinstance(self.share, Integral):
            return int(self.share)
        return self.least if self.share == 0 else None

    def whole(self) -> Preprojection:
        """The same, but no directions are left out."""
        return replace(self, share=None)

    def count(self, values: np.ndarray, total: float) -> int:
        """How many directions to keep, given the variances of all directions of the rank, descending, and their ``total``."""
        rank = values.size
        if rank == 0:
            raise RankError(
                "X is constant: all samples are equal, or so nearly that rounding hides it, so there is no direction to find"
            )
        if self.share is None:
            return rank
        if isinstance(self.share, Integral):
            kept = int(self.share)
        else:  # the fewest leading directions that hold this share of the total
            kept = 1 + int(np.searchsorted(np.cumsum(values), self.share * total * (1 - 1e-12)))
        if self.least is not None:
            return min(max(kept, self.least), rank)
        if isinstance(self.share, Integral) and kept > rank:
            raise RankError(
                f"pca={self.share} is more than the rank of the centred data, {rank}; use pca={rank} or less"
            )
        if kept < min(self.n_components, rank):
            raise ValueError(
                f"pca={self.share} keeps {kept} directions, fewer than n_components={self.n_components}; raise pca, lower "
                'n_components, or use pca="auto"'
            )
        return min(kept, rank)
