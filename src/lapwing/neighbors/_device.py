"""Exact neighbours on a device: a screen in low precision proposes candidates, and distances in float64 decide.

The distances of the candidates are found by differences in float64. Where a row that the screen left out could be a
neighbour, the query is compared with all rows in float64. So the result does not depend on the screen: it is that of the
search on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._extras import require
from ..devices import host
from ._choice import TIE, choose
from ._screen import Frame, Screen
from ._spaces import PARALLEL, ROUNDING

# The k + 1 groups of smallest bound can hold the k nearest rows and the query itself. This many more are looked at.
MORE_GROUPS = 5
# Distances are found for this many candidates beyond k, for ties and for rows that rounding puts in the wrong order.
MORE = 12
FEW = 4096  # up to this many rows, all pairs are compared in float64
CHUNK_BYTES = 1 << 29  # at most this many bytes of minima over groups are held at a time
MOST_QUERIES = 1 << 15  # at most this many queries are searched for at a time
# This many queries are searched for first. The others are then screened up to 1.5 times the k-th distance of these.
TRIED = 512
SOME = 1 << 17  # queries that the screen left open are compared with this many rows at a time
PAIRS = 1 << 26  # at most this many products in float64 are held at a time

Open = tuple[
    Any, Any
]  # numbers of queries, and within which distance each has k rows: infinite where that is not known
Listed = tuple[np.ndarray, np.ndarray, np.ndarray]  # places of queries, numbers of rows, distances


class Finder:
    """The rows that are searched, prepared for the search; :meth:`nearest` gives the k nearest rows of each query.

    Parameters
    ----------
    X : torch.Tensor of shape (n_rows, n_features)
        In float32 or float64.
    metric : {"euclidean", "cosine"}
    fused : bool, default=None
        Whether Triton kernels are used. None uses them where the device has them.
    """

    def __init__(self, X: Any, metric: str = "euclidean", fused: bool | None = None):
        self.torch = require("torch", "gpu")
        self.X, self.metric, (self.n, self.d) = X.contiguous(), metric, X.shape
        self.frame = Frame(self.X, metric)
        self.kernels = _kernels(X.device) if fused is not False else None
        if not 2.0**-120 < self.frame.scale < 2.0**120:
            self.kernels = None  # the kernels take the scale in float32
        self.doubtful = 0  # how many queries the screen left open
        self.screen: Screen | None = None

    def nearest(self, Q: Any, own: Any, k: int) -> tuple[Any, Any]:
        """Numbers and distances of the k nearest rows of each query, nearest first, by the rule of :func:`choose`.

        Parameters
        ----------
        Q : torch.Tensor of shape (n_queries, n_features)
        own : torch.Tensor of shape (n_queries,) or None
            The number of each query among the rows, -1 where it is not one of them. A row is not its own neighbour. None
            where no query is among the rows.
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
        """All rows that may be among the k nearest when other rows are searched as well.

        It yields places of queries, numbers and distances.
        """
        open_: list[Open] = []
        for rows, (cols, d) in self._screenings(Q, own, k, open_):
            i, j = self.torch.nonzero((d <= d[:, k - 1 : k] * (1 + 2 * TIE)) & d.isfinite(), as_tuple=True)
            yield host(i) + rows.start, host(cols[i, j]), host(d[i, j])
        yield from self._settled(Q, own, k, open_)

    def _screenings(self, Q: Any, own: Any, k: int, open_: list[Open]) -> Iterator[tuple[slice, tuple[Any, Any]]]:
        """Candidates and their distances, nearest first, for some queries at a time.

        Queries that stay open are put into the list.
        """
        torch = self.torch
        if self.n <= max(FEW, 8 * k):
            every = torch.arange(len(Q), device=Q.device)
            open_.append((every, torch.full_like(every, torch.inf, dtype=torch.float64)))
            return
        if self.screen is None:
            self.screen = Screen(self.frame, self.kernels)
        if len(Q) > 8 * TRIED:
            some = slice(None, None, len(Q) // TRIED)
            self.screen.narrow(self.screen.widest)
            _, d, _ = self._screened(self.screen, Q[some], None if own is None else own[some], k)
            self.screen.narrow(1.5 * float(self._chord(d[:, k - 1]).max()) * self.frame.scale)
        step = max(1, min(MOST_QUERIES, CHUNK_BYTES // (4 * self.screen.n_groups)))
        for start in range(0, len(Q), step):
            rows = slice(start, min(start + step, len(Q)))
            cols, d, doubtful = self._screened(self.screen, Q[rows], None if own is None else own[rows], k)
            which = torch.nonzero(doubtful).ravel()
            if len(which):
                self.doubtful += len(which)
                open_.append((which + start, d[which, k - 1]))
                d[which] = torch.inf
            yield rows, (cols, d)

    def _screened(self, screen: Screen, Q: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
        """Candidates, nearest first, and which queries may have neighbours that are not among their candidates."""
        torch, frame = self.torch, self.frame
        lengths = frame.of_queries(Q)
        Y, squares, e, fits = screen.rounded(Q, lengths)
        groups, left = screen.groups(Y, min(k + 1 + MORE_GROUPS, screen.n_groups))
        values, cols = screen.members(Y, groups)
        if own is not None:
            values.masked_fill_(cols == own[:, None], torch.inf)
        count = min(k + MORE, values.shape[1] - 1)
        values, order = values.topk(count + 1, dim=1, largest=False)
        left = torch.minimum(left, values[:, count]).double()
        cols = cols.gather(1, order[:, :count]).clamp_(max=self.n - 1)
        d = self.distances(Q, cols, lengths)
        d.masked_fill_(values[:, :count].isinf(), torch.inf)
        d, order = d.sort(dim=1)
        within = self._chord(d[:, k - 1]) * frame.scale
        safe = (2 * left + squares > (within + e) ** 2) & (within + e <= screen.reach) & fits
        safe &= (squares / (1 - screen.error)).sqrt() + within + 2 * e < screen.outside
        return cols.gather(1, order), d, ~safe

    def _settled(self, Q: Any, own: Any, k: int, open_: list[Open]) -> Iterator[Listed]:
        """The rows that may be among the k nearest of the queries that stayed open."""
        if not open_:
            return
        rows, limit = (self.torch.cat(parts) for parts in zip(*open_, strict=True))
        for known in (True, False):
            some = rows[limit.isfinite() == known]
            near = limit[limit.isfinite()] if known else None
            for part in self.frame.blocks(len(some), SOME if known else self.n, PAIRS):
                at, mine = some[part], None if own is None else own[some[part]]
                i, numbers, far = self._compared(Q[at], mine, k, None if near is None else near[part])
                yield host(at)[i], numbers, far

    def _compared(self, Q: Any, own: Any, k: int, limit: Any) -> Listed:
        """All rows that may be among the k nearest: products in float64 find them, and differences give the distances.

        ``limit`` is a distance within which each query has k rows. Where it is None, all distances are found first.
        """
        torch, frame, found = self.torch, self.frame, []
        lengths = frame.of_queries(Q)
        queries = frame.read(Q, lengths)
        # Rounding of a product, as a share of the squared lengths of both rows.
        rounding = 4 * ROUNDING + 2.0**-51 * self.d
        own_squares, step = queries.square().sum(1), self.n if limit is None else SOME
        within = None if limit is None else (self._chord(limit) * frame.scale) ** 2
        for start in range(0, self.n, step):
            stop = min(start + step, self.n)
            low, squares = self._products(queries, start, stop, rounding)
            low += (own_squares * (1 - rounding))[:, None]
            if own is not None:
                here = torch.nonzero((own >= start) & (own < stop)).ravel()
                low[here, own[here] - start] = torch.inf
            if within is None:
                nearest, places = low.topk(k, dim=1, largest=False)
                most = (nearest + 2 * rounding * (squares[places] + own_squares[:, None])).amax(1)
                within = most * (1 + 4 * TIE) + (0 if lengths is None else 2 * PARALLEL * frame.scale**2)
            i, j = torch.nonzero(within[:, None] >= low, as_tuple=True)
            found.append((i, j + start))
        i, j = (torch.cat(parts) for parts in zip(*found, strict=True))
        squares = torch.empty(len(i), dtype=torch.float64, device=Q.device)
        for part in frame.blocks(len(i), self.d):
            apart = frame.double(self.X[j[part]], frame.part(j[part]))
            apart -= frame.double(Q[i[part]], None if lengths is None else lengths[i[part]])
            squares[part] = (apart if lengths is not None else apart.mul_(frame.scale)).square_().sum(1)
        return host(i), host(j), host(self._measured(squares))

    def _products(self, queries: Any, start: int, stop: int, rounding: float) -> tuple[Any, Any]:
        """Lower bounds of the squared distances from some rows, and the squares of these rows.

        The squares of the queries are not yet in the bounds.
        """
        torch = self.torch
        low = torch.empty((len(queries), stop - start), dtype=torch.float64, device=queries.device)
        squares = torch.empty(stop - start, dtype=torch.float64, device=queries.device)
        for rows in self.frame.blocks(stop - start):
            part = slice(start + rows.start, start + rows.stop)
            others = self.frame.read(self.X[part], self.frame.part(part))
            squares[rows] = others.square().sum(1)
            low[:, rows] = torch.addmm(squares[rows] * (1 - rounding), queries, others.T, alpha=-2)
        return low, squares

    def _chord(self, d: Any) -> Any:
        """The largest Euclidean distance of rows that may be as near as d, ties included. For angles d is a cosine distance."""
        if self.metric == "cosine":
            return (2 * (d * (1 + 2 * TIE) + PARALLEL)).sqrt()
        return d * (1 + 2 * TIE)

    def distances(self, Q: Any, cols: Any, lengths: Any) -> Any:
        """The distance of each query from its listed rows, by differences in float64. Angles need the lengths of the queries."""
        torch, frame = self.torch, self.frame
        squares = torch.empty(cols.shape, dtype=torch.float64, device=Q.device)
        if self.kernels is not None:
            both = None if lengths is None else (lengths, frame.lengths)
            self.kernels.differences(Q, self.X, cols, squares, both, frame.scale)
        else:
            scale = 1.0 if lengths is not None else frame.scale
            for rows in frame.blocks(len(Q), cols.shape[1] * self.d):
                queries = frame.double(Q[rows], None if lengths is None else lengths[rows])
                others = self.X[cols[rows]].double()
                if frame.lengths is not None:
                    others /= frame.lengths[cols[rows]][:, :, None]
                squares[rows] = ((others - queries[:, None]) * scale).square_().sum(2)
        return self._measured(squares)

    def _measured(self, squares: Any) -> Any:
        if self.metric == "cosine":
            d = squares / 2
            return d.masked_fill_(d <= PARALLEL, 0.0)
        return squares.sqrt_() / self.frame.scale


def chosen(torch: Any, cols: Any, d: Any, k: int) -> tuple[Any, Any]:
    """The k candidates that :func:`choose` takes, nearest first. Rows without candidates get arbitrary ones."""
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


def _kernels(device: Any) -> Any:
    """The module of Triton kernels, where this device runs them."""
    if device.type != "cuda":
        return None
    from . import _triton

    return None if _triton.triton is None else _triton


def equal_rows(X: Any) -> np.ndarray | None:
    """One number per row, from 0, that equal rows share; None where no two rows are equal."""
    torch = require("torch", "gpu")
    factors = torch.from_numpy(np.random.RandomState(0).randint(1, 2**62, size=X.shape[1]) | 1).to(X.device)
    kind = torch.int32 if X.dtype == torch.float32 else torch.int64
    step, parts = max(1, (1 << 24) // X.shape[1]), []
    for start in range(0, len(X), step):
        bits = (X[start : start + step] + 0.0).contiguous().view(kind).to(torch.int64)  # adding 0.0 turns -0 into 0
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
        same[part[unequal]] = False  # rows may have the same digest without being equal, which is very rare
    numbers = torch.zeros(len(X), dtype=torch.int64, device=X.device)
    numbers[1:] = (~same).cumsum(0)
    found = torch.empty_like(numbers)
    found[order] = numbers
    return host(found) if bool(same.any()) else None
