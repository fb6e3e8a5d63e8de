"""Files are never left half written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO


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
