"""Packages that are not installed with the core, and how far long work has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

PATIENCE = 2.0  # seconds before anything is shown
BETWEEN = 0.2  # seconds between two updates
#: ``verbose=`` of the estimator that is at work. It is set once per call, since progress is shown deep inside of it.
VERBOSE: ContextVar[bool | None] = ContextVar("verbose", default=None)


@contextmanager
def verbosity(verbose: bool | None) -> Iterator[None]:
    """Work that shows its progress as ``verbose=`` of an estimator says."""
    before = VERBOSE.set(verbose)
    try:
        yield
    finally:
        VERBOSE.reset(before)


def require(module: str, extra: str) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {module}: pip install 'lapwing[{extra}]'") from error


class Progress:
    """A line on a terminal or in a notebook that is shown once work takes longer than two seconds, with the time that is left.

    Elsewhere nothing is shown. With ``verbose=True`` the line is shown everywhere and from the start, and with False nowhere.
    """

    def __init__(self, doing: str, total: int | None, unit: str = "rows"):
        self.doing, self.total, self.unit = doing, total, unit
        self._start = self._shown = time.monotonic()
        self._visible = False

    def __call__(self, done: int, doing: str | None = None) -> None:
        now, verbose = time.monotonic(), VERBOSE.get()
        is_due = _is_read() and now - self._start >= PATIENCE and now - self._shown >= BETWEEN
        if not (is_due if verbose is None else verbose and sys.stderr is not None):
            return
        self._shown, self._visible = now, True
        line = f"{doing or self.doing}: {done:,} {self.unit}"
        if self.total is not None:
            left = (now - self._start) * (self.total - done) / max(done, 1)
            line = f"{doing or self.doing}: {done:,} of {self.total:,} {self.unit}, {_in_words(left)} left"
        sys.stderr.write(f"\r{line[:78]:<78}")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._visible:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _is_read() -> bool:
    """Whether somebody may read what is printed now. A program without a console has no stderr."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
