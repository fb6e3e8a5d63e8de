"""How long the parts of a fit take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

_CURRENT: ContextVar[tuple[dict[str, float], list[float]] | None] = ContextVar("lapwing_times", default=None)


@contextmanager
def recording() -> Iterator[dict[str, float]]:
    """The seconds of each part that :func:`timed` names inside this block, as they come in."""
    times: dict[str, float] = {}
    token = _CURRENT.set((times, [0.0]))
    try:
        yield times
    finally:
        _CURRENT.reset(token)


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Add the time of this block to a part, less what parts inside it take."""
    current = _CURRENT.get()
    if current is None:
        yield
        return
    times, inner = current
    start = perf_counter()
    inner.append(0.0)
    try:
        yield
    finally:
        whole = perf_counter() - start
        times[part] = times.get(part, 0.0) + whole - inner.pop()
        inner[-1] += whole
