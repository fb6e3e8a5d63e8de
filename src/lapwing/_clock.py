"""The clock that the parts of a fit are timed with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=perf_counter)


def now() -> float:
    """Seconds since some moment, by the clock in use: that on the wall, if none was chosen."""
    return _clock.get()()


@contextmanager
def timed_by(clock: Callable[[], float]) -> Iterator[None]:
    """Time fits by another clock, such as ``time.process_time``, which stands still while other programs have the processor."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
