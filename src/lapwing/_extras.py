"""Packages that are not installed with the core, how far long work has come, and files that are never left half written."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from ._validation import caller_stacklevel

PATIENCE = 2.0  # seconds before anything is shown
BETWEEN = 0.2  # seconds between two updates
ASKED = re.compile(r"([\w-]+)(?:\[\w+\])?>=([\d.]+); extra == ")  # as metadata write what an extra asks for
DISTRIBUTIONS = {  # of modules with another name
    "PIL": "pillow",
    "faiss": "faiss-cpu",
    "sentence_transformers": "sentence-transformers",
}
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
    """The module, or an error that says how to install it. A version that is older than extras ask for is named."""
    name, _, _ = module.partition(".")
    old = too_old(DISTRIBUTIONS.get(name, name))
    try:
        found = import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {old or module}: pip install 'lapwing[{extra}]'") from error
    if old:
        warnings.warn(f"this needs {old}: pip install 'lapwing[{extra}]'", UserWarning, stacklevel=caller_stacklevel())
    return found


@cache
def too_old(name: str) -> str | None:
    """What extras ask of a distribution and which version there is, where that is older; None where all is well."""
    try:
        asked = [found for line in requires(__package__) or () if (found := ASKED.match(line))]
        least = min((found[2] for found in asked if found[1] == name), key=_numbers, default="0")
        there = version(name)
    except PackageNotFoundError:  # it is not installed, or lapwing itself is not
        return None
    return f"{name} {least} or later, and version {there} is installed" if _numbers(there) < _numbers(least) else None


def _numbers(text: str) -> list[int]:
    """The numbers that a version begins with, by which versions are ordered: 2.10 is later than 2.9.1."""
    return [int(part) for part in re.match(r"[\d.]*", text)[0].split(".") if part]  # type: ignore[index]


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
        if sys.stderr is None:  # a program without a console
            return
        is_due = now - self._start >= PATIENCE and now - self._shown >= BETWEEN
        if not (is_due and (sys.stderr.isatty() or "ipykernel" in sys.modules) if verbose is None else verbose):
            return
        self._shown, self._visible = now, True
        line = f"{doing or self.doing}: {done:,} {self.unit}"
        if self.total is not None:
            left = (now - self._start) * (self.total - done) / max(done, 1)
            left_in_words = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
            line = f"{doing or self.doing}: {done:,} of {self.total:,} {self.unit}, {left_in_words} left"
        sys.stderr.write(f"\r{line[:78]:<78}")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._visible:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` at the end, and leaves nothing behind where something fails.

    It keeps the mode of the file that it replaces. A process that is killed leaves the earlier file as it was, and beside it
    the new one as far as it was written, under a name of its own: ``.lapwing-*.part``.
    """
    target = Path(os.path.realpath(path))  # a link is followed, and stays a link
    # The name has a fixed length, so that the name of the target may be as long as the system allows.
    beside = target.with_name(f".lapwing-{token_hex(8)}.part")
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            with open(target, "wb") as device:
                yield device
            return
        with open(beside, "x+b") as file:
            if target.exists():
                os.chmod(beside, stat.S_IMODE(target.stat().st_mode))  # before the file holds what others may not read
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        if error.errno and error.filename in (None, str(beside)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # what the user has named
        raise
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write all of the content, or nothing."""
    with replacing(path) as file:
        file.write(content)
