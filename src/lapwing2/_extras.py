"""Progress of long work, and optional packages that are missing."""

from __future__ import annotations

import sys
import time

PATIENCE = 2.0  # seconds before anything is shown
BETWEEN = 0.2  # seconds between two updates


class Progress:
    """A line on a terminal or in a notebook that is shown once work takes longer than two seconds. Elsewhere nothing is shown."""

    def __init__(self, doing: str, total: int):
        self.doing, self.total = doing, total
        self._start = self._shown = time.monotonic()
        self._visible = False

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._start < PATIENCE or now - self._shown < BETWEEN or not _is_read():
            return
        self._shown, self._visible = now, True
        left = (now - self._start) * (self.total - done) / max(done, 1)
        line = f"{self.doing}: {done:,} of {self.total:,} rows, {left:.0f} s left"
        sys.stderr.write(f"\r{line:<78}")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._visible:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()


def _is_read() -> bool:
    """Whether somebody may read what is printed now. A program without a console has no stderr."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
