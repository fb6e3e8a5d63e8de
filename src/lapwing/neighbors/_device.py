r"""Exact neighbours on a device: half-precision products screen, a bound on their rounding says what they leave open.

Rows are centred, scaled by a power of two and rounded to float16. With y the rounded rows, e their distance from what they
stand for, and products summed in float32 with a relative error of at most ``g``, a row j is at least as far from row i as

.. math:: \sqrt{2 r_{ij} + (1 - g)\|y_i\|^2} - e_i,\quad
          r_{ij} = \tfrac12 (1 - g)\|y_j\|^2 - t e_j - \tfrac12 e_j^2 - y_i^\top y_j

for every distance up to t. Columns are screened by groups: the groups of smallest r hold the candidates, candidates are measured
by differences in float64, and the smallest r of what was left out says whether anything there could matter. Where it could, the
row is compared with all rows in float64. So the result does not depend on the screening: it is that of the search on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from .._extras import require
from ..devices import host
from ..operators import OUT_OF_RANGE
from ._choice import TIE, choose
from ._spaces import PARALLEL, ROUNDING

UNIT = 2.0**-22  # of one addition in float32, where the device truncates and does not round
GROUP = ((200_000, 32), (1 << 62, 64))  # columns per group, up to so many rows
MORE_GROUPS = 3  # beside the k + 1 that hold the nearest rows and the query
MORE = 12  # candidates that are measured, beside k: ties, and what rounding puts in a wrong order
FEW = 4096  # rows up to which all are compared in float64
SAMPLE = 1024  # rows whose median the others are screened about
SUPER = 32  # groups that are looked at together, where there are many
LARGEST = 512.0  # entries of rows in float16, up to a factor of two
CHUNK_BYTES = 1 << 29  # of minima
MOST_QUERIES = 1 << 15  # at a time


SOME = 1 << 17  # rows that open queries are compared with at a time

Open = tuple[Any, Any]  # numbers of queries, and within which distance each has k rows, where that is known
Listed = tuple[np.ndarray, np.ndarray, np.ndarray]  # places of queries, numbers of rows, distances


class Finder:
    """The rows that are searched, prepared for it; :meth:`nearest` gives the k nearest of each query.

    Parameters
    ----------
    X : torch.Tensor of shape (n_rows, n_features)
        In float32 or float64.
    metric : {"euclidean", "cosine"}
    fused : bool, default=None
        Whether Triton kernels are used; None is where the device has them.
    """

    def __init__(self, X: Any, metric: str = "euclidean", fused: bool | None = None):
        self.torch = require("torch", "gpu")
        self.X, self.metric = X if X.stride(1) == 1 else X.contiguous(), metric
        self.n, self.d = X.shape
        self.kernels = _kernels(X.device) if fused is not False else None
        self.lengths = self._lengths(self.X) if metric == "cosine" else None
        self._centre()
        self.doubtful = 0  # rows that the screening left open, of all that were searched for
        self.screen: Screen | None = None

    def _centre(self) -> None:
        """The point that rows are screened about, and the power of two that brings them near ``LARGEST``."""
        torch, n = self.torch, self.n
        some = slice(None, None, -(-n // SAMPLE))
        self.centre = self._double(self.X[some], self._part(some)).median(dim=0).values  # outliers do not move it
        largest = torch.zeros((), dtype=torch.float64, device=self.X.device)
        for rows in self._blocks(n):
            largest = torch.maximum(largest, (self._double(self.X[rows], self._part(rows)) - self.centre).abs().max())
        largest = float(largest)
        if not np.isfinite(largest) or largest > 1e150 or 0 < largest < 1e-130:
            raise ValueError(OUT_OF_RANGE)
        self.scale = 2.0 ** round(np.log2(LARGEST / largest)) if largest > 0 else 1.0
        if not 2.0**-120 < self.scale < 2.0**120:
            self.kernels = None  # they take the scale in float32

    def _blocks(self, n: int, width: int | None = None, size: int = 1 << 25) -> Iterator[slice]:
        step = max(1, size // max(1, width or self.d))
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def _part(self, rows: Any) -> Any:
        return None if self.lengths is None else self.lengths[rows]

    def _lengths(self, X: Any) -> Any:
        return self.torch.cat([X[rows].double().norm(dim=1) for rows in self._blocks(len(X))])

    def _double(self, X: Any, lengths: Any) -> Any:
        """Rows in float64; of length 1 where angles are measured."""
        X = X.double()
        return X if lengths is None else X / lengths[:, None]

    def nearest(self, Q: Any, own: Any, k: int) -> tuple[Any, Any]:
        """Numbers and distances of the k nearest rows of each query, nearest first, by the rule of :func:`choose`.

        Parameters
        ----------
        Q : torch.Tensor of shape (n_queries, n_features)
        own : torch.Tensor of shape (n_queries,) or None
            The numbers of the queries among the rows, which are left out; None where they are none of them.
        k : int
        """
        torch, q = self.torch, len(Q)
        cols = torch.empty((q, k), dtype=torch.int64, device=Q.device)
        d = torch.empty((q, k), dtype=torch.float64, device=Q.device)
        open_: list[Open] = []
        for rows, found in self._screenings(Q, own, k, open_):
            cols[rows], d[rows] = chosen(torch, *found, k)
        for some, numbers, far in self._settled(Q, own, k, open_):
            places = choose(some, numbers, far, k)
            at = torch.from_numpy(np.unique(some)).to(Q.device)
            cols[at] = torch.from_numpy(numbers[places].reshape(-1, k)).to(Q.device)
            d[at] = torch.from_numpy(far[places].reshape(-1, k)).to(Q.device)
        return cols, d

    def near(self, Q: Any, own: Any, k: int) -> Iterator[Listed]:
        """All that may be among the k nearest when other rows are searched as well: places of queries, numbers, distances."""
        open_: list[Open] = []
        for rows, (cols, d) in self._screenings(Q, own, k, open_):
            i, j = self.torch.nonzero((d <= d[:, k - 1 : k] * (1 + 2 * TIE)) & d.isfinite(), as_tuple=True)
            yield host(i) + rows.start, host(cols[i, j]), host(d[i, j])
        yield from self._settled(Q, own, k, open_)

    def _screenings(self, Q: Any, own: Any, k: int, open_: list[Open]) -> Iterator[tuple[slice, tuple[Any, Any]]]:
        """Candidates and their distances, nearest first, for some queries at a time; what stays open is put into the list."""
        torch = self.torch
        if self.n <= max(FEW, 8 * k):
            open_.append((torch.arange(len(Q), device=Q.device), None))
            return
        if self.screen is None:
            self.screen = Screen(self)
        step = max(1, min(MOST_QUERIES, CHUNK_BYTES // (4 * self.screen.n_groups)))
        for start in range(0, len(Q), step):
            rows = slice(start, min(start + step, len(Q)))
            cols, d, doubtful = self._screened(Q[rows], None if own is None else own[rows], k)
            which = torch.nonzero(doubtful).ravel()
            if len(which):
                open_.append((which + start, d[which, k - 1]))
                d[which] = torch.inf
            yield rows, (cols, d)

    def _settled(self, Q: Any, own: Any, k: int, open_: list[Open]) -> Iterator[Listed]:
        """What may be among the k nearest of the queries that stayed open."""
        if not open_:
            return
        rows = self.torch.cat([rows for rows, _ in open_])
        limit = None if open_[0][1] is None else self.torch.cat([limit for _, limit in open_])
        self.doubtful += 0 if limit is None else len(rows)
        for part in self._blocks(len(rows), self.n if limit is None else SOME, 1 << 26):
            some, mine = rows[part], None if own is None else own[rows[part]]
            i, numbers, far = self._compared(Q[some], mine, k, None if limit is None else limit[part])
            yield host(some)[i], numbers, far

    def _screened(self, Q: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
        """Candidates, nearest first, and which queries may have other neighbours than these."""
        torch, screen = self.torch, self.screen
        assert screen is not None
        Y, squares, e, fits = screen.rounded(Q, None if own is None else self._of(own))
        m = min(k + 1 + MORE_GROUPS, screen.n_groups)
        groups, left = screen.groups(Y, m)
        values, cols = screen.members(groups)
        if own is not None:
            values.masked_fill_(cols == own[:, None], torch.inf)
        count = min(k + MORE, values.shape[1] - 1)
        values, order = values.topk(count + 1, dim=1, largest=False)
        left = torch.minimum(left, values[:, count])
        cols = cols.gather(1, order[:, :count]).clamp_(max=self.n - 1)
        d = self.distances(Q, cols)
        d.masked_fill_(values[:, :count].isinf(), torch.inf)
        d, order = d.sort(dim=1)
        cols = cols.gather(1, order)
        within = self._chord(d[:, k - 1]) * self.scale + e
        safe = (2 * left.double() + squares > within**2) & (within <= screen.reach) & fits
        return cols, d, ~(safe | (left == torch.inf))

    def _of(self, own: Any) -> Any:
        return None if self.lengths is None else self.lengths[own]

    def _chord(self, d: Any) -> Any:
        """Up to which Euclidean distance rows may be as near as d, or as near up to a tie."""
        if self.metric == "cosine":
            return (2 * (d * (1 + 2 * TIE) + PARALLEL)).sqrt()
        return d * (1 + 2 * TIE)

    def distances(self, Q: Any, cols: Any) -> Any:
        """Of each query from its listed rows, by differences in float64."""
        torch = self.torch
        squares = torch.empty(cols.shape, dtype=torch.float64, device=Q.device)
        lengths = None if self.lengths is None else self._lengths(Q)
        if self.kernels is not None:
            both = None if lengths is None else (lengths, self.lengths)
            self.kernels.differences(Q if Q.stride(1) == 1 else Q.contiguous(), self.X, cols, squares, both, self.scale)
        else:
            scale = 1.0 if lengths is not None else self.scale
            for rows in self._blocks(len(Q), cols.shape[1] * self.d, 1 << 24):
                queries = self._double(Q[rows], None if lengths is None else lengths[rows])
                others = self.X[cols[rows]].double()
                if self.lengths is not None:
                    others /= self.lengths[cols[rows]][:, :, None]
                squares[rows] = ((others - queries[:, None]) * scale).square_().sum(2)
        return self._measured(squares)

    def _measured(self, squares: Any) -> Any:
        if self.metric == "cosine":
            d = squares / 2
            return d.masked_fill_(d <= PARALLEL, 0.0)
        return squares.sqrt_() / self.scale

    def _compared(self, Q: Any, own: Any, k: int, limit: Any) -> Listed:
        """All rows that may be among the k nearest: by products in float64, then by differences.

        ``limit`` is a distance within which k rows are known to be; where there is none, all distances are found first.
        """
        torch, lengths = self.torch, None if self.lengths is None else self._lengths(Q)
        queries = (self._double(Q, lengths) - self.centre) * self.scale
        own_squares, found = queries.square().sum(1), []
        rounding = 4 * ROUNDING * torch.maximum(own_squares.max(), self.largest_square)
        within = None if limit is None else (self._chord(limit) * self.scale) ** 2 + rounding
        step = self.n if limit is None else SOME
        for start in range(0, self.n, step):
            D = self._products(queries, own_squares, start, min(start + step, self.n))
            if own is not None:
                here = torch.nonzero((own >= start) & (own < start + step)).ravel()
                D[here, own[here] - start] = torch.inf
            if within is None:
                near = D.topk(k, dim=1, largest=False).values[:, -1].clamp_(min=0)
                within = (
                    near * (1 + 4 * TIE) + 2 * rounding + (2 * PARALLEL * self.scale**2 if lengths is not None else 0)
                )
            i, j = torch.nonzero(within[:, None] >= D, as_tuple=True)
            found.append((i, j + start))
        i, j = (torch.cat(parts) for parts in zip(*found, strict=True))
        squares = torch.empty(len(i), dtype=torch.float64, device=Q.device)
        for part in self._blocks(len(i), self.d, 1 << 24):
            apart = self._double(self.X[j[part]], self._part(j[part]))
            apart -= self._double(Q[i[part]], None if lengths is None else lengths[i[part]])
            squares[part] = (apart if lengths is not None else apart.mul_(self.scale)).square_().sum(1)
        return host(i), host(j), host(self._measured(squares))

    def _products(self, queries: Any, squares: Any, start: int, stop: int) -> Any:
        """Squared distances from some rows, by products in float64."""
        D = self.torch.empty((len(queries), stop - start), dtype=self.torch.float64, device=queries.device)
        for rows in self._blocks(stop - start):
            part = slice(start + rows.start, start + rows.stop)
            others = (self._double(self.X[part], self._part(part)) - self.centre) * self.scale
            D[:, rows] = self.torch.addmm(others.square().sum(1), queries, others.T, alpha=-2)
        D += squares[:, None]
        return D

    @cached_property
    def largest_square(self) -> Any:
        """Of the rows as products take them."""
        parts = self._blocks(self.n)
        moved = (((self._double(self.X[rows], self._part(rows)) - self.centre) * self.scale) for rows in parts)
        return self.torch.stack([rows.square_().sum(1).max() for rows in moved]).max()


class Screen:
    """The rows in float16, and their lower bounds by groups of columns."""

    def __init__(self, finder: Finder):
        self.finder, self.torch, self.kernels = finder, finder.torch, finder.kernels
        torch, X = self.torch, finder.X
        lanes = 128 if self.kernels is None else self.kernels.lanes(finder.d)
        self.lanes, self.steps = lanes, next(size for most, size in GROUP if finder.n <= most)
        self.width = finder.d if self.kernels is None else self.kernels.padded(finder.d)
        n = -(-finder.n // (lanes * self.steps)) * lanes * self.steps
        self.n_groups = n // self.steps
        self.error = (self.width + 32) * UNIT
        self.Y = torch.zeros((n, self.width), dtype=torch.float16, device=X.device)
        self.bounds = torch.full((n,), torch.inf, dtype=torch.float32, device=X.device)
        squares, e = (torch.empty(finder.n, dtype=torch.float64, device=X.device) for _ in range(2))
        for rows in finder._blocks(finder.n):
            self.Y[rows, : finder.d], squares[rows], e[rows] = self._rounded(X[rows], finder._part(rows))
        self.reach = 2 * float(squares.median().sqrt())  # distances beyond are not screened; outliers do not move it
        self.bounds[: finder.n] = squares * ((1 - self.error) / 2) - self.reach * e - e**2 / 2
        self._products: Any = None

    def _rounded(self, X: Any, lengths: Any) -> tuple[Any, Any, Any]:
        finder = self.finder
        exact = (finder._double(X, lengths) - finder.centre) * finder.scale
        Y = exact.half()
        rounded = Y.double()
        squares = rounded.square().sum(1)
        exact -= rounded
        return Y, squares, exact.square_().sum(1).sqrt_() * (1 + 1e-6) + 1e-12 * squares.sqrt()

    def rounded(self, Q: Any, lengths: Any) -> tuple[Any, Any, Any, Any]:
        """Queries in float16, what their own length adds to a bound, their rounding, and whether they fit into float16."""
        if self.finder.lengths is not None and lengths is None:
            lengths = self.finder._lengths(Q)
        Y, squares, e = self._rounded(Q, lengths)
        fits = squares.isfinite() & e.isfinite()
        Y[~fits], e[~fits] = 0, 0
        if self.width > self.finder.d:
            Y = self.torch.nn.functional.pad(Y, (0, self.width - self.finder.d))
        return Y, squares.nan_to_num_(0, 0, 0) * (1 - self.error), e, fits

    def groups(self, Y: Any, m: int) -> tuple[Any, Any]:
        """The m groups of smallest bound of each query, and the smallest bound of all others."""
        torch, self._queries = self.torch, Y
        minima = torch.empty((len(Y), self.n_groups), dtype=torch.float32, device=Y.device)
        if self.kernels is not None:
            self.kernels.minima(Y, self.Y, self.bounds, minima, self.steps)
        else:
            self._products = self._multiplied(Y)
            shape = (len(Y), -1, self.steps, self.lanes)
            minima.copy_(self._products.view(shape).amin(2).view(len(Y), -1))
        if self.n_groups <= m:
            return torch.arange(self.n_groups, device=Y.device).expand(len(Y), -1).contiguous(), self._none_left(Y)
        if self.n_groups > 4 * SUPER * m and self.n_groups % SUPER == 0:
            parts = minima.view(len(Y), -1, SUPER)
            best = parts.amin(2).topk(m + 1, dim=1, largest=False).indices
            some = parts.gather(1, best[:, :, None].expand(-1, -1, SUPER)).view(len(Y), -1)
            values, order = some.topk(m + 1, dim=1, largest=False)
            found = best.gather(1, order // SUPER) * SUPER + order % SUPER
        else:
            values, found = minima.topk(m + 1, dim=1, largest=False)
        return found[:, :m].contiguous(), values[:, m]

    def _none_left(self, Y: Any) -> Any:
        return self.torch.full((len(Y),), self.torch.inf, dtype=self.torch.float32, device=Y.device)

    def _multiplied(self, Y: Any) -> Any:
        """All bounds of some queries, where no kernel takes their minima at once."""
        torch = self.torch
        wide = torch.float64 if Y.device.type == "cpu" else torch.float32
        with exact_products(torch):
            return (self.bounds.to(wide) - Y.to(wide) @ self.Y.to(wide).T).float()

    def members(self, groups: Any) -> tuple[Any, Any]:
        """The bounds of all columns of some groups, and the columns."""
        torch, m = self.torch, groups.shape[1]
        first = (groups // self.lanes) * (self.steps * self.lanes) + groups % self.lanes
        cols = (first[:, :, None] + torch.arange(self.steps, device=groups.device) * self.lanes).view(len(groups), -1)
        if self.kernels is None:
            return self._products.gather(1, cols), cols
        values = torch.empty((len(groups), m * self.steps), dtype=torch.float32, device=groups.device)
        self.kernels.members(self._queries, self.Y, self.bounds, groups, values, self.steps, self.lanes)
        return values, cols


def chosen(torch: Any, cols: Any, d: Any, k: int) -> tuple[Any, Any]:
    """The k of candidates, nearest first, that :func:`choose` takes; of rows without candidates any."""
    edge = d[:, k - 1 : k]
    equal = (d[:, 1:k] == d[:, : k - 1]).any(1)
    more = d[:, k] <= edge[:, 0] * (1 + TIE) if d.shape[1] > k else torch.zeros_like(equal)
    rows = torch.nonzero((equal | more) & edge[:, 0].isfinite()).ravel()
    first, near = cols[:, :k].clone(), d[:, :k].clone()
    if len(rows):
        numbers, far, edge = cols[rows], d[rows], edge[rows]
        rank = (far >= edge * (1 - TIE)).long() + 2 * (far > edge * (1 + TIE)).long()
        order = numbers.argsort(dim=1)
        order = order.gather(1, rank.gather(1, order).argsort(dim=1, stable=True))[:, :k]
        numbers, far = numbers.gather(1, order), far.gather(1, order)
        order = numbers.argsort(dim=1)
        order = order.gather(1, far.gather(1, order).argsort(dim=1, stable=True))
        first[rows], near[rows] = numbers.gather(1, order), far.gather(1, order)
    return first, near


@contextmanager
def exact_products(torch: Any) -> Iterator[None]:
    """Products of float32 in float32, whatever the process is set to."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _kernels(device: Any) -> Any:
    """The module of Triton kernels, where this device runs them."""
    if device.type != "cuda":
        return None
    from . import _triton

    return None if _triton.triton is None else _triton


def equal_rows(X: Any) -> np.ndarray | None:
    """For each row a number that equal rows share, from 0; None where no two rows are equal."""
    torch = require("torch", "gpu")
    factors = torch.from_numpy(np.random.RandomState(0).randint(1, 2**62, size=X.shape[1]) | 1).to(X.device)
    kind = torch.int32 if X.dtype == torch.float32 else torch.int64
    step, parts = max(1, (1 << 24) // X.shape[1]), []
    for start in range(0, len(X), step):
        bits = (X[start : start + step] + 0.0).contiguous().view(kind).to(torch.int64)  # + 0.0: -0 is 0
        if kind is torch.int64:
            bits ^= bits >> 32
        parts.append((bits * factors).sum(1))
    digests, order = torch.cat(parts).sort(stable=True)
    same = digests[1:] == digests[:-1]
    if not bool(same.any()):
        return None
    again = torch.nonzero(same).ravel()
    for start in range(0, len(again), step):
        part = again[start : start + step]
        unequal = (X[order[part]] != X[order[part + 1]]).any(1)
        same[part[unequal]] = False  # rows of equal digests that are not equal: one in very many
    numbers = torch.zeros(len(X), dtype=torch.int64, device=X.device)
    numbers[1:] = (~same).cumsum(0)
    found = torch.empty_like(numbers)
    found[order] = numbers
    return host(found) if bool(same.any()) else None
