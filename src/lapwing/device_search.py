r"""Candidates for nearest rows on a device: products in half precision, with a bound on their rounding.

Rows are centred, scaled by a power of two and rounded to float16. Let y be the rounded rows and e their distances from the
rows before rounding. Products are summed in float32 with a relative error of at most ``g``. Then a row j is at least as far
from row i as

.. math:: \sqrt{2 r_{ij} + (1 - g)\|y_i\|^2} - e_i,\quad
          r_{ij} = \tfrac12 (1 - g)\|y_j\|^2 - t e_j - \tfrac12 e_j^2 - y_i^\top y_j

for every distance up to t. Columns of the matrix r are screened by groups. The groups of smallest r hold the candidates, and
the smallest r of all other rows is a distance that these exceed. Triton kernels take the minima of groups on the way, so that
the matrix r is never written. A group is some columns that lie as far apart as a tile is wide, so that its minimum is taken
element by element while tiles of columns come. Where there is no Triton, plain torch does the same.
"""

# mypy: disallow-untyped-defs=False
from __future__ import annotations

from typing import Any

import numpy as np

from ._extras import require

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

MORE_CANDIDATES = 8  # candidates beyond those that are asked for, since half precision puts rows in the wrong order
TRIED_QUERIES = 512  # searched for first; the others are screened up to 1.5 times the k-th distance of these
MOST_QUERIES = 1 << 15  # at most this many queries are searched for at a time
CHUNK_BYTES = 1 << 29  # at most this many bytes of minima over groups are held at a time
BLOCK_ENTRIES = 1 << 24  # at most this many numbers in float64 are held at a time
GROUP_ROWS = ((200_000, 32), (1 << 62, 64))  # pairs of (up to this many rows, rows per group)
PLAIN_LANES = 128  # how far apart the rows of a group lie where there is no Triton
SUPER_GROUPS = 32  # where there are many groups, the minimum of this many is looked at first
UNIT = 2.0**-22  # relative error of one addition in float32 on a device that truncates and does not round
MEDIAN_ROWS = 1024  # the median of this many rows is subtracted
# Rows are scaled so that a usual row has this as its largest entry; float16 holds numbers 128 times as large.
LARGEST_ENTRY = 512.0
RESIDENT_COLUMNS = 256  # up to this many columns, a tile of queries stays on the chip while tiles of rows pass
# Tiles of the two kernels of minima, chosen by timings on an H200 (benchmarks/gpu.py --parts tiles).
TILES: dict[str, dict[str, int]] = {
    "resident": {"BM": 128, "BN": 64, "BK": 64, "num_warps": 8, "num_stages": 3},
    "looped": {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 4},
}


class Screen:
    """Rows of a tensor that are searched, in float16, with Triton kernels (``fused``) where the device has them.

    Rows far beyond the others may leave the range of float16. They are in no group, and ``outside`` is the distance from the
    centre at which they begin.
    """

    def __init__(self, X: Any, fused: bool | None = None):
        self.torch = require("torch", "gpu")
        self.X, (self.n, self.d) = X.contiguous(), X.shape
        self.fused = triton is not None and X.device.type == "cuda" if fused is None else fused
        sample = self.X[:: -(-self.n // MEDIAN_ROWS)].double()
        self.centre = sample.median(dim=0).values  # the median, since outliers do not move it
        usual = float((sample - self.centre).abs().amax(1).median()) or float((self.X - self.centre).abs().max())
        powers = np.log2([LARGEST_ENTRY, usual]) if usual > 0 else np.zeros(2)
        self.scale = 2.0 ** np.floor(powers[0] - powers[1] + 0.5)
        self._products: Any = None
        self._round_rows()

    def _round_rows(self) -> None:
        torch, n = self.torch, self.n
        self.lanes = TILES[_kernel_of(self.d)]["BN"] if self.fused else PLAIN_LANES
        self.steps = next(size for most, size in GROUP_ROWS if n <= most)
        self.width = padded(self.d) if self.fused else self.d
        size = -(-n // (self.lanes * self.steps)) * self.lanes * self.steps
        self.n_groups = size // self.steps
        self.error = (self.width + 32) * UNIT
        self.Y = torch.zeros((size, self.width), dtype=torch.float16, device=self.X.device)
        self.bounds = torch.full((size,), torch.inf, dtype=torch.float32, device=self.X.device)
        self._squares, self._e = (torch.empty(n, dtype=torch.float64, device=self.X.device) for _ in range(2))
        self.outside = torch.inf
        step = max(1, BLOCK_ENTRIES // max(1, self.d))
        for rows in (slice(start, min(start + step, n)) for start in range(0, n, step)):
            exact = self._read(self.X[rows])
            self.Y[rows, : self.d], self._squares[rows], self._e[rows], fits = self._rounded(exact)
            if not bool(fits.all()):
                self.outside = min(self.outside, float(exact[~fits].norm(dim=1).min()))
        self.widest = 2 * float(self._squares.median().sqrt())  # the median, since outliers do not move it

    def _read(self, rows: Any) -> Any:
        return (rows.double() - self.centre) * self.scale

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

    def candidates(self, Q: Any, m: int, k: int) -> tuple[Any, Any]:
        """Places of m rows near each query, -1 for none, of which k will be chosen; and a distance that all others exceed."""
        torch = self.torch
        self.narrow(self.widest)
        if len(Q) > 8 * TRIED_QUERIES:
            some = Q[:: len(Q) // TRIED_QUERIES]
            places, _ = self._screened(some, m)
            apart = (self.X[places.clamp(min=0)].double() - some[:, None].double()).square_().sum(2)
            squares = apart.masked_fill_(places < 0, torch.inf)
            self.narrow(1.5 * float(squares.kthvalue(k + 1, dim=1).values.max()) ** 0.5 * self.scale)
        width = self.n_groups if self.fused else len(self.Y)
        step = max(1, min(MOST_QUERIES, CHUNK_BYTES // (4 * width)))
        found = [self._screened(Q[start : start + step], m) for start in range(0, len(Q), step)]
        self._products = None
        return tuple(map(torch.cat, zip(*found, strict=True)))

    def narrow(self, reach: float) -> None:
        """Screen only distances up to ``reach``. The shorter it is, the closer are the bounds."""
        squares, e, self.reach = self._squares, self._e, min(reach, self.widest)
        bounds = squares * ((1 - self.error) / 2) - self.reach * e - e**2 / 2
        # A margin for the rounding of the bounds, and of what is computed from them, to float32.
        self.bounds[: self.n] = bounds * (1 - 4 * UNIT * bounds.sign())

    def _screened(self, Q: Any, m: int) -> tuple[Any, Any]:
        torch = self.torch
        Y, squares, e, fits = self._rounded(self._read(Q))
        Y = torch.nn.functional.pad(Y, (0, self.width - self.d)) if self.width > self.d else Y
        squares.masked_fill_(~fits, 0)
        groups, left = self._nearest_groups(Y, min(m + 1, self.n_groups))
        values, cols = self._members(Y, groups)
        count = min(m + MORE_CANDIDATES, values.shape[1] - 1)
        values, order = values.topk(count + 1, dim=1, largest=False)
        left = torch.minimum(left, values[:, count]).double()
        places = cols.gather(1, order[:, :count]).masked_fill_(values[:, :count].isinf(), -1)
        apart = (2 * left + squares * (1 - self.error)).clamp_(min=0).sqrt_().clamp_(max=self.reach) - e
        apart = torch.minimum(apart, self.outside - squares.sqrt() - 2 * e)
        return places, apart.clamp_(min=0).masked_fill_(~fits, 0) / self.scale  # queries that do not fit stay in doubt

    def _nearest_groups(self, Y: Any, m: int) -> tuple[Any, Any]:
        """The m groups of smallest bound of each query, and the smallest bound in the other groups."""
        torch = self.torch
        if self.fused:
            minima = torch.empty((len(Y), self.n_groups), dtype=torch.float32, device=Y.device)
            group_minima(Y, self.Y, self.bounds, minima, self.steps)
        else:
            # In float64, since settings of the process may make products of float32 less exact.
            self._products = torch.addmm(self.bounds.double(), Y.double(), self.Y.double().T, alpha=-1).float()
            minima = self._products.view(len(Y), -1, self.steps, self.lanes).amin(2).view(len(Y), -1)
        if self.n_groups <= m:
            all_groups = torch.arange(self.n_groups, device=Y.device).expand(len(Y), -1)
            return all_groups.contiguous(), torch.full_like(minima[:, 0], torch.inf)
        values, found = _smallest(minima, m + 1)
        return found[:, :m].contiguous(), values[:, m]

    def _members(self, Y: Any, groups: Any) -> tuple[Any, Any]:
        """The bounds of all rows of some groups, and the places of these rows."""
        torch, m = self.torch, groups.shape[1]
        first = (groups // self.lanes) * (self.steps * self.lanes) + groups % self.lanes
        cols = (first[:, :, None] + torch.arange(self.steps, device=groups.device) * self.lanes).view(len(groups), -1)
        if not self.fused:
            return self._products.gather(1, cols), cols
        values = torch.empty((len(groups), m * self.steps), dtype=torch.float32, device=groups.device)
        member_bounds(Y, self.Y, self.bounds, groups, values, self.steps, self.lanes)
        return values, cols


def _smallest(minima: Any, m: int) -> tuple[Any, Any]:
    """The m smallest entries of each row, ascending, and their places. Of long rows only the parts with small minima are read."""
    rows, n = minima.shape
    if n <= 4 * SUPER_GROUPS * m or n % SUPER_GROUPS:
        return minima.topk(m, dim=1, largest=False)
    parts = minima.view(rows, -1, SUPER_GROUPS)
    best = parts.amin(2).topk(m, dim=1, largest=False).indices
    some = parts.gather(1, best[:, :, None].expand(-1, -1, SUPER_GROUPS)).view(rows, -1)
    values, order = some.topk(m, dim=1, largest=False)
    return values, best.gather(1, order // SUPER_GROUPS) * SUPER_GROUPS + order % SUPER_GROUPS


def _jit(function: Any) -> Any:
    return function if triton is None else triton.jit(function)


@_jit
def _resident(
    Q, B, H, OUT, n_queries, n_out,
    D: tl.constexpr, STEPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The minima over groups of ``H - Q Bᵀ``, with all columns of the queries loaded at once."""
    tiles = tl.cdiv(n_queries, BM)
    strip, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    rows = tile * BM + tl.arange(0, BM)
    lanes, ks = tl.arange(0, BN), tl.arange(0, D)
    queries = tl.load(Q + tl.minimum(rows, n_queries - 1)[:, None].to(tl.int64) * D + ks[None, :])
    first = strip.to(tl.int64) * STEPS * BN
    columns = B + (first + lanes)[None, :] * D + ks[:, None]
    half_squares = H + first + lanes
    best = tl.full([BM, BN], float("inf"), tl.float32)
    for _ in range(STEPS):
        products = tl.dot(queries, tl.load(columns))
        best = tl.minimum(best, tl.load(half_squares)[None, :] - products)
        columns += BN * D
        half_squares += BN
    out = OUT + rows[:, None].to(tl.int64) * n_out + (strip * BN + lanes)[None, :]
    tl.store(out, best, mask=(rows < n_queries)[:, None])


@_jit
def _looped(
    Q, B, H, OUT, n_queries, n_out,
    D: tl.constexpr, STEPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The same, with ``BK`` columns of the queries loaded at a time, in one loop that loads ahead across tiles."""
    tiles = tl.cdiv(n_queries, BM)
    strip, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    rows = tile * BM + tl.arange(0, BM)
    lanes, ks = tl.arange(0, BN), tl.arange(0, BK)
    parts: tl.constexpr = D // BK
    queries = Q + tl.minimum(rows, n_queries - 1)[:, None].to(tl.int64) * D + ks[None, :]
    first = strip.to(tl.int64) * STEPS * BN
    columns = B + (first + lanes)[None, :] * D + ks[:, None]
    half_squares = H + first + lanes
    best = tl.full([BM, BN], float("inf"), tl.float32)
    products = tl.zeros([BM, BN], tl.float32)
    for i in range(STEPS * parts):
        step, part = i // parts, i % parts
        products = tl.dot(tl.load(queries + part * BK), tl.load(columns + step * BN * D + part * BK), products)
        if part == parts - 1:
            best = tl.minimum(best, tl.load(half_squares + step * BN)[None, :] - products)
            products = tl.zeros([BM, BN], tl.float32)
    out = OUT + rows[:, None].to(tl.int64) * n_out + (strip * BN + lanes)[None, :]
    tl.store(out, best, mask=(rows < n_queries)[:, None])


@_jit
def _listed_bounds(
    Q, B, H, GROUPS, OUT, n_groups,
    D: tl.constexpr, STEPS: tl.constexpr, LANES: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """``H - Q Bᵀ`` for the members of the listed groups."""
    place = tl.program_id(0).to(tl.int64)
    row, group = place // n_groups, tl.load(GROUPS + place)
    members, ks = tl.arange(0, STEPS), tl.arange(0, BK)
    cols = (group // LANES) * (STEPS * LANES) + group % LANES + members * LANES
    total = tl.zeros([STEPS], tl.float32)
    for k in range(0, D, BK):
        query = tl.load(Q + row * D + k + ks).to(tl.float32)
        total += tl.sum(tl.load(B + cols[:, None] * D + (k + ks)[None, :]).to(tl.float32) * query[None, :], axis=1)
    tl.store(OUT + place * STEPS + members, tl.load(H + cols) - total)


@_jit
def _listed_differences(X, ROWS, COLS, OUT, n_cols, D: tl.constexpr, BC: tl.constexpr, BK: tl.constexpr):
    """Sums of squared differences of some rows and the rows that are listed for each, in float64."""
    row = tl.program_id(0).to(tl.int64)
    first = X + tl.load(ROWS + row) * D
    which, ks = tl.arange(0, BC), tl.arange(0, BK)
    cols = tl.load(COLS + row * n_cols + which, mask=which < n_cols, other=0)
    total = tl.zeros([BC], tl.float64)
    for k in range(0, D, BK):
        inside = k + ks < D
        query = tl.load(first + k + ks, mask=inside, other=0).to(tl.float64)
        others = tl.load(X + cols[:, None] * D + (k + ks)[None, :], mask=inside[None, :], other=0).to(tl.float64)
        apart = others - query[None, :]
        total += tl.sum(apart * apart, axis=1)
    tl.store(OUT + row * n_cols + which, total, mask=which < n_cols)


def _kernel_of(n_features: int) -> str:
    return "resident" if n_features <= RESIDENT_COLUMNS else "looped"


def padded(n_features: int) -> int:
    """How many columns the kernels take: a power of two up to ``RESIDENT_COLUMNS``, a multiple of 64 beyond."""
    return max(16, 1 << (n_features - 1).bit_length()) if n_features <= RESIDENT_COLUMNS else -(-n_features // 64) * 64


def group_minima(Q: Any, B: Any, H: Any, out: Any, steps: int) -> None:
    """The minimum of ``H - Q Bᵀ`` over each group, for each query (float16)."""
    n, d = Q.shape
    kind = _kernel_of(d)
    options = TILES[kind]
    grid = (triton.cdiv(n, options["BM"]) * (B.shape[0] // (steps * options["BN"])),)
    (_resident if kind == "resident" else _looped)[grid](Q, B, H, out, n, out.shape[1], D=d, STEPS=steps, **options)


def member_bounds(Q: Any, B: Any, H: Any, groups: Any, out: Any, steps: int, lanes: int) -> None:
    """``H - Q Bᵀ`` at all columns of the listed groups of each query."""
    (n, d), m = Q.shape, groups.shape[1]
    width = next(width for width in (128, 64, 32, 16) if d % width == 0)
    _listed_bounds[(n * m,)](Q, B, H, groups, out, m, D=d, STEPS=steps, LANES=lanes, BK=width, num_warps=4)


def differences(X: Any, rows: Any, cols: Any, out: Any) -> None:
    """The squared distances of some rows from the rows that are listed for each, in float64."""
    n, m = cols.shape
    options = {"BC": max(2, 1 << (m - 1).bit_length()), "BK": 64, "num_warps": 4}
    _listed_differences[(n,)](X.contiguous(), rows, cols.contiguous(), out, m, D=X.shape[1], **options)
