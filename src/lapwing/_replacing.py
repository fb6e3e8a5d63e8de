"""Never half a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` at the end, and leaves nothing behind where something fails."""
    target = Path(os.path.realpath(path))  # through a link, which stays
    if target.exists() and not target.is_file():  # a device or a pipe
        with open(target, "wb") as file:
            yield file
        return
    beside = target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        with open(beside, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """All of it, or nothing."""
    with replacing(path) as file:
        file.write(content)
