"""Files that may come from anywhere: only ordinary ones are read, in bounded memory, and errors name the file."""

from __future__ import annotations

import bz2
import gzip
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn import get_config

TIMES = 100  # Reading a file may take this many times its size in memory, or working_memory where that is more.
TEXT_TIMES = 25  # the same factor for compressed text once it is unpacked, from which numbers are made
LONGEST = 300  # characters of what a library says of a file, which may quote all of it
UNPACKED = {".gz": gzip.open, ".bz2": bz2.open}


def check_file(path: str | os.PathLike) -> None:
    """Raise where a path is not an ordinary file. A pipe that nobody writes to would be waited for without end."""
    mode = os.stat(path).st_mode  # where there is no such file, this raises the system's own message
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError(f"{path}: a pipe or a device, not a file; write a file, or pass CSV on standard input (-)")


@contextmanager
def readable(path: str | os.PathLike, kind: str) -> Iterator[None]:
    """A context that turns what a library raises about the content of a file into one error that names the file.

    Damaged files make libraries raise almost any exception, so that this context is only for calls of libraries.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise  # the error is about the file, and not about its content
        if isinstance(error, ValueError) and str(error).startswith(f"{path}: "):
            raise
        why = "it holds Python objects" if "allow_pickle" in str(error) else " ".join(str(error).split())
        why = why if len(why) <= LONGEST else f"{why[:LONGEST]} ..."
        raise ValueError(f"{path}: not a readable {kind} ({why or type(error).__name__})") from error


def limit(size: int) -> int:
    """The bytes of memory that reading a file of this size may take: a multiple of the size, and at least ``working_memory``."""
    return max(TIMES * size, int(get_config()["working_memory"] * 2**20))


def check_memory(path: str | os.PathLike, needed: float, size: int, what: str = "reading it") -> None:
    """Raise before memory is taken, where reading a file of this size would need more than it allows."""
    if needed > limit(size):
        raise ValueError(
            f"{path}: {what} takes {needed / 2**20:,.0f} MiB of memory, and the limit for this file is "
            f"{limit(size) / 2**20:,.0f} MiB: {TIMES} times its size, or scikit-learn's working_memory where that is more; if "
            "the file is right, raise the latter (SKLEARN_WORKING_MEMORY=8192, in MiB)"
        )


def unpacked(path: str) -> bytes:
    """The content of a text file, uncompressed where its name says so, which may not take more memory than is allowed."""
    check_file(path)
    size = os.path.getsize(path)
    most = limit(size) * TEXT_TIMES // TIMES
    opener: Any = UNPACKED.get(os.path.splitext(path.lower())[1], open)
    with opener(path, "rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        check_memory(path, limit(size) + 1, size, "what it unpacks to")
    return content
