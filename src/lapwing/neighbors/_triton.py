"""The search on a device as Triton kernels: one pass for products and minima of groups, one for distances of listed pairs.

The matrix of all products is never written. A group is ``STEPS`` columns that lie ``LANES`` apart, so that its minimum is
taken element by element while tiles of columns come, without any reduction inside a tile.
"""

# mypy: disallow-untyped-defs=False
from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # _device.py does the same in plain torch
    triton = tl = None

RESIDENT = 256  # up to this many columns, a tile of queries stays on the chip while tiles of rows pass


def jit(function: Any) -> Any:
    return function if triton is None else triton.jit(function)


@jit
def _resident(
    Q,
    B,
    H,
    OUT,
    n_queries,
    n_out,
    D: tl.constexpr,
    STEPS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
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


@jit
def _looped(
    Q,
    B,
    H,
    OUT,
    n_queries,
    n_out,
    D: tl.constexpr,
    STEPS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
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


@jit
def _members(
    Q,
    B,
    H,
    GROUPS,
    OUT,
    n_groups,
    D: tl.constexpr,
    STEPS: tl.constexpr,
    LANES: tl.constexpr,
    BK: tl.constexpr,
):
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


@jit
def _differences(
    Q,
    X,
    COLS,
    OUT,
    QN,
    XN,
    scale,
    n_cols,
    D: tl.constexpr,
    UNIT: tl.constexpr,
    BC: tl.constexpr,
    BK: tl.constexpr,
):
    """Sums of squared differences of each query and its listed rows, in float64. ``UNIT`` divides rows by their lengths first."""
    row = tl.program_id(0).to(tl.int64)
    which, ks = tl.arange(0, BC), tl.arange(0, BK)
    cols = tl.load(COLS + row * n_cols + which, mask=which < n_cols, other=0)
    total = tl.zeros([BC], tl.float64)
    for k in range(0, D, BK):
        inside = k + ks < D
        query = tl.load(Q + row * D + k + ks, mask=inside, other=0).to(tl.float64)
        others = tl.load(X + cols[:, None] * D + (k + ks)[None, :], mask=inside[None, :], other=0).to(tl.float64)
        if UNIT:
            query = query / tl.load(QN + row)
            others = others / tl.load(XN + cols)[:, None]
        else:
            query = query * scale
            others = others * scale
        apart = others - query[None, :]
        total += tl.sum(apart * apart, axis=1)
    tl.store(OUT + row * n_cols + which, total, mask=which < n_cols)


# Tiles of the two kernels of minima, chosen by timings on an H200 (benchmarks/gpu.py --tiles).
TILES: dict[str, Any] = {
    "resident": {"BM": 128, "BN": 64, "num_warps": 8, "num_stages": 3},
    "looped": {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 4},
}


def lanes(n_features: int) -> int:
    """How far apart the columns of a group lie: the number of columns of a tile."""
    return TILES[_kind(n_features)]["BN"]


def _kind(n_features: int) -> str:
    return "resident" if n_features <= RESIDENT else "looped"


def padded(n_features: int) -> int:
    """How many columns the kernels take: a power of two up to ``RESIDENT``, a multiple of 64 beyond."""
    if n_features <= RESIDENT:
        return max(16, 1 << (n_features - 1).bit_length())
    return -(-n_features // 64) * 64


def require_contiguous(*tensors: Any) -> None:
    """Raise unless the rows of each tensor lie one after the other in memory, as the kernels read them."""
    for tensor in tensors:
        if not tensor.is_contiguous():
            raise ValueError(
                f"a tensor of shape {tuple(tensor.shape)} has strides {tensor.stride()}; kernels take rows"
            )


def minima(Q: Any, B: Any, H: Any, out: Any, steps: int) -> None:
    """The minimum of ``H - Q Bᵀ`` over each group, for each query (float16)."""
    n, d = Q.shape
    require_contiguous(Q, B, H, out)
    kind = _kind(d)
    options = {"BK": 64, **TILES[kind]}
    strips = B.shape[0] // (steps * options["BN"])
    kernel = {"resident": _resident, "looped": _looped}[kind]
    grid = (triton.cdiv(n, options["BM"]) * strips,)
    kernel[grid](Q, B, H, out, n, out.shape[1], D=d, STEPS=steps, **options)


def members(Q: Any, B: Any, H: Any, groups: Any, out: Any, steps: int, lanes: int) -> None:
    """``H - Q Bᵀ`` at all columns of the listed groups of each query."""
    n, d = Q.shape
    require_contiguous(Q, B, H, groups, out)
    m, width = groups.shape[1], next(width for width in (128, 64, 32, 16) if d % width == 0)
    _members[(n * m,)](Q, B, H, groups, out, m, D=d, STEPS=steps, LANES=lanes, BK=width, num_warps=4)


def differences(Q: Any, X: Any, cols: Any, out: Any, lengths: tuple[Any, Any] | None, scale: float) -> None:
    """Sums of squared differences of queries and their listed rows."""
    n, m = cols.shape
    Q, X = Q.contiguous(), X.contiguous()
    of_queries, of_rows = lengths or (out, out)
    require_contiguous(cols, out, of_queries, of_rows)
    _differences[(n,)](
        Q,
        X,
        cols,
        out,
        of_queries,
        of_rows,
        scale,
        m,
        D=X.shape[1],
        UNIT=lengths is not None,
        BC=max(2, 1 << (m - 1).bit_length()),
        BK=64,
        num_warps=4,
    )
