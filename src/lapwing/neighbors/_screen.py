r"""The screen on a device: products of rows in half precision, with a bound on their rounding that says what stays open.

Rows are centred, scaled by a power of two and rounded to float16. Let y be the rounded rows and e their distances from the
rows before rounding. Products are summed in float32 with a relative error of at most ``g``. Then a row j is at least as far
from row i as

.. math:: \sqrt{2 r_{ij} + (1 - g)\|y_i\|^2} - e_i,\quad
          r_{ij} = \tfrac12 (1 - g)\|y_j\|^2 - t e_j - \tfrac12 e_j^2 - y_i^\top y_j

for every distance up to t. Columns of the matrix r are screened by groups. The groups of smallest r hold the candidates. The
smallest r of the other groups says whether any row in them could be a neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._extras import require
from .._validation import OUT_OF_RANGE

UNIT = 2.0**-22  # relative error of one addition in float32 on a device that truncates and does not round
GROUP = ((200_000, 32), (1 << 62, 64))  # pairs of (up to this many rows, columns per group)
ENTRIES = 1 << 24  # at most this many numbers in float64 are held at a time
SAMPLE = 1024  # the median of this many rows is subtracted before rows are screened
SUPER = 32  # where there are many groups, the minimum of this many is looked at first
# Rows are scaled so that a usual row has this as its largest entry; float16 holds numbers 128 times as large.
LARGEST = 512.0
LARGEST_POWER = 500  # the largest power of two that an entry may have, so that its square is finite


class Frame:
    """How rows are read for products: in float64, about their median, scaled by a power of two. For angles rows have length 1.

    Parameters
    ----------
    X : torch.Tensor of shape (n_rows, n_features)
    metric : {"euclidean", "cosine"}
    """

    def __init__(self, X: Any, metric: str):
        self.torch = require("torch", "gpu")
        self.X, (self.n, self.d), self.metric = X, X.shape, metric
        self.lengths = lengths_of(X) if metric == "cosine" else None
        some = slice(None, None, -(-self.n // SAMPLE))
        sample = self.double(X[some], self.part(some))
        self.centre = sample.median(dim=0).values  # the median, since outliers do not move it
        largest = float(self.largest())
        if not largest < 1e150:
            raise ValueError(OUT_OF_RANGE)
        usual = float((sample - self.centre).abs().amax(1).median()) or largest
        powers = np.log2([LARGEST, usual, largest]) if usual > 0 else np.zeros(3)
        self.scale = 2.0 ** np.floor(min(powers[0] - powers[1] + 0.5, LARGEST_POWER - powers[2], 2 * LARGEST_POWER))

    def largest(self) -> Any:
        """The largest absolute entry of all rows."""
        parts = [(self.double(self.X[r], self.part(r)) - self.centre).abs().max() for r in self.blocks(self.n)]
        return self.torch.stack(parts).max()

    def blocks(self, n: int, width: int | None = None, size: int = ENTRIES) -> Iterator[slice]:
        """Parts of n rows, each so small that at most ``size`` numbers are held."""
        return blocks(n, width or self.d, size)

    def part(self, rows: Any) -> Any:
        return None if self.lengths is None else self.lengths[rows]

    def of_queries(self, Q: Any) -> Any:
        return None if self.lengths is None else lengths_of(Q)

    def double(self, X: Any, lengths: Any) -> Any:
        """Rows in float64; where angles are measured, they have length 1."""
        X = X.double()
        return X if lengths is None else X / lengths[:, None]

    def read(self, X: Any, lengths: Any) -> Any:
        """Rows in the form that products take them."""
        return (self.double(X, lengths) - self.centre) * self.scale


def blocks(n: int, width: int, size: int = ENTRIES) -> Iterator[slice]:
    step = max(1, size // max(1, width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def lengths_of(X: Any) -> Any:
    """The lengths of the rows of a tensor, in float64."""
    return require("torch", "gpu").cat([X[rows].double().norm(dim=1) for rows in blocks(*X.shape)])


class Screen:
    """The rows in float16, and lower bounds of their distances by groups of columns.

    Rows far beyond the others may leave the range of float16. They are in no group, and ``outside`` is the distance from the
    centre at which they begin.
    """

    def __init__(self, frame: Frame, kernels: Any):
        self.frame, self.torch, self.kernels = frame, frame.torch, kernels
        torch, X, n = self.torch, frame.X, frame.n
        self.lanes = 128 if kernels is None else kernels.lanes(frame.d)
        self.steps = next(size for most, size in GROUP if n <= most)
        self.width = frame.d if kernels is None else kernels.padded(frame.d)
        size = -(-n // (self.lanes * self.steps)) * self.lanes * self.steps
        self.n_groups = size // self.steps
        self.error = (self.width + 32) * UNIT
        self.Y = torch.zeros((size, self.width), dtype=torch.float16, device=X.device)
        self.bounds = torch.full((size,), torch.inf, dtype=torch.float32, device=X.device)
        squares, e = (torch.empty(n, dtype=torch.float64, device=X.device) for _ in range(2))
        self.outside = torch.inf
        for rows in frame.blocks(n):
            exact = frame.read(X[rows], frame.part(rows))
            self.Y[rows, : frame.d], squares[rows], e[rows], fits = self._rounded(exact)
            if not bool(fits.all()):
                self.outside = min(self.outside, float(exact[~fits].norm(dim=1).min()))
        self._squares, self._e = squares, e
        self._products: Any = None
        self.widest = 2 * float(squares.median().sqrt())  # the median, since outliers do not move it
        self.narrow(self.widest)

    def narrow(self, reach: float) -> None:
        """Screen only distances up to ``reach``. The shorter it is, the closer are the bounds."""
        squares, e, self.reach = self._squares, self._e, min(reach, self.widest)
        bounds = squares * ((1 - self.error) / 2) - self.reach * e - e**2 / 2
        # A margin for the rounding of the bounds, and of what is computed from them, to float32.
        self.bounds[: len(e)] = bounds * (1 - 4 * UNIT * bounds.sign())

    def _rounded(self, exact: Any) -> tuple[Any, Any, Any, Any]:
        """Rows in float16, their squared lengths, how much was rounded away, and which rows float16 can hold.

        Rows that float16 cannot hold are set to 0 and taken to be infinitely far, so that they make no bound small.
        """
        Y = exact.half().contiguous()
        fits = Y.isfinite().all(1)
        Y[~fits] = 0
        rounded = Y.double()
        squares = rounded.square().sum(1)
        e = (exact - rounded).square_().sum(1).sqrt_() * (1 + 1e-6) + 1e-12 * squares.sqrt()
        squares[~fits], e[~fits] = self.torch.inf, 0
        return Y, squares, e, fits

    def rounded(self, Q: Any, lengths: Any) -> tuple[Any, Any, Any, Any]:
        """Queries in float16, what their own length adds to a bound, their rounding, and which of them are screened.

        A query that float16 cannot hold is not screened.
        """
        Y, squares, e, fits = self._rounded(self.frame.read(Q, lengths))
        if self.width > self.frame.d:
            Y = self.torch.nn.functional.pad(Y, (0, self.width - self.frame.d))
        return Y, squares.masked_fill_(~fits, 0) * (1 - self.error), e, fits

    def groups(self, Y: Any, m: int) -> tuple[Any, Any]:
        """The m groups of smallest bound of each query, and the smallest bound in the other groups."""
        torch = self.torch
        if self.kernels is not None:
            minima = torch.empty((len(Y), self.n_groups), dtype=torch.float32, device=Y.device)
            self.kernels.minima(Y, self.Y, self.bounds, minima, self.steps)
        else:
            self._products = self._multiplied(Y)
            minima = self._products.view(len(Y), -1, self.steps, self.lanes).amin(2).view(len(Y), -1)
        if self.n_groups <= m:
            all_groups = torch.arange(self.n_groups, device=Y.device).expand(len(Y), -1)
            return all_groups.contiguous(), torch.full_like(minima[:, 0], torch.inf)
        values, found = _smallest(minima, m + 1)
        return found[:, :m].contiguous(), values[:, m]

    def _multiplied(self, Y: Any) -> Any:
        """All bounds of some queries, for devices without a kernel that takes the minima on the way."""
        torch = self.torch
        with exact_products(torch):
            return torch.addmm(self.bounds, Y.float(), self.Y.float().T, alpha=-1)

    def members(self, Y: Any, groups: Any) -> tuple[Any, Any]:
        """The bounds of all columns of some groups, and the columns."""
        torch, m = self.torch, groups.shape[1]
        first = (groups // self.lanes) * (self.steps * self.lanes) + groups % self.lanes
        cols = (first[:, :, None] + torch.arange(self.steps, device=groups.device) * self.lanes).view(len(groups), -1)
        if self.kernels is None:
            return self._products.gather(1, cols), cols
        values = torch.empty((len(groups), m * self.steps), dtype=torch.float32, device=groups.device)
        self.kernels.members(Y, self.Y, self.bounds, groups, values, self.steps, self.lanes)
        return values, cols


def _smallest(minima: Any, m: int) -> tuple[Any, Any]:
    """The m smallest entries of each row, ascending, and their places. Of long rows only the parts with small minima are read."""
    rows, n = minima.shape
    if n <= 4 * SUPER * m or n % SUPER:
        return minima.topk(m, dim=1, largest=False)
    parts = minima.view(rows, -1, SUPER)
    best = parts.amin(2).topk(m, dim=1, largest=False).indices
    some = parts.gather(1, best[:, :, None].expand(-1, -1, SUPER)).view(rows, -1)
    values, order = some.topk(m, dim=1, largest=False)
    return values, best.gather(1, order // SUPER) * SUPER + order % SUPER


@contextmanager
def exact_products(torch: Any) -> Iterator[None]:
    """A context in which products of float32 are computed in full float32, whatever the settings of the process."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
