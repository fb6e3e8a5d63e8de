"""The data folder: where it is, and files that are read only if they are what they should be."""

from __future__ import annotations

import os
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the data sets.

    Parameters
    ----------
    data_home : str, path-like or None, default=None
        None is the environment variable ``LAPWING_DATA``, or ``~/lapwing_data`` where that is not set.

    Returns
    -------
    Path
        It need not exist: nothing is ever written to it.
    """
    if data_home is None:
        data_home = os.environ.get("LAPWING_DATA") or Path("~", "lapwing_data")
    return Path(data_home).expanduser()


def is_present(path: Path) -> bool:
    """Whether there is such a file; one that may not be looked at is an error, not absent."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unreadable(path, error) from error
    return True


def read_arrays(path: Path, checksum: str) -> dict[str, Any]:
    """The arrays of an ``.npz`` file, or the one sparse matrix, as X, of a ``*_X.npz`` file."""
    file = BytesIO(_verified(path, checksum))  # the very bytes that were checked are parsed
    if path.name.endswith("_X.npz"):
        return {"X": sparse.load_npz(file)}
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _verified(path: Path, checksum: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    found = sha256(content).hexdigest()
    if found != checksum:
        raise OSError(
            f"{path} is damaged, incomplete or another file: its SHA-256 checksum is {found} ({len(content)} bytes), "
            f"expected {checksum}; copy it again from where it came, or remove it"
        )
    return content


def _unreadable(path: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    return OSError(f"{path} cannot be read ({reason}); check that it is a file that you may read, or replace it")
