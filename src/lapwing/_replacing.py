"""Files are never left half written, and nothing stays of a run that was killed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

try:
    import fcntl
except ImportError:  # on Windows, nobody can say whether a file is still being written
    fcntl = None  # type: ignore[assignment]

# The name has a fixed length, so that the name of the target may be as long as the system allows.
BESIDE = re.compile(r"\.lapwing-[0-9a-f]{16}\.part")


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` at the end, and leaves nothing behind where something fails.

    It keeps the mode of the file that it replaces. What killed runs left in the folder is removed.
    """
    target = Path(os.path.realpath(path))  # a link is followed, and stays a link
    if target.exists() and not target.is_file():  # a device or a pipe
        with open(target, "wb") as device:
            yield device
        return
    remove_stale(target.parent)
    beside, file = _begun(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                # While it is locked, since afterwards another run might take it for a stale one.
                os.replace(beside, target)
        if fcntl is None:
            os.replace(beside, target)  # Windows cannot move an open file
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write all of the content, or nothing."""
    with replacing(path) as file:
        file.write(content)


def _begun(target: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside the target, with its mode. It is locked for as long as this process lives and writes it."""
    while True:
        beside = target.with_name(f".lapwing-{token_hex(8)}.part")
        file = open(beside, "x+b")  # noqa: SIM115 (its reader closes it)
        try:
            if target.exists():
                os.chmod(beside, stat.S_IMODE(target.stat().st_mode))  # before the file holds what others may not read
            _lock(file.fileno(), wait=True)
            if beside.exists():
                return beside, file
        except BaseException:
            file.close()
            beside.unlink(missing_ok=True)
            raise
        file.close()  # another run took it for a stale file before it was locked


def _lock(file: int, *, wait: bool) -> bool:
    """Whether the file is locked now. It is not where another process holds the lock, or the file system has no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def remove_stale(folder: Path) -> None:
    """Remove what killed runs of this user left: lapwing's own files that no process has locked."""
    if fcntl is None:
        return
    # Where the folder is gone or closed to us, writing will say so.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if BESIDE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_if_stale(entry.path)


def _remove_if_stale(path: str) -> None:
    with suppress(OSError):  # its writer has moved it meanwhile, or it is not ours to remove
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if os.fstat(file).st_uid == os.geteuid() and _lock(file, wait=False):
                os.unlink(path)
        finally:
            os.close(file)
