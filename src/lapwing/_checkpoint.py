"""What long work has done so far, kept in a folder, so that the same work goes on from there after an interruption."""

from __future__ import annotations

import inspect
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import blake2b
from importlib.metadata import version
from numbers import Number
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ._replacing import remove_stale, replacing
from ._validation import check_not_negative, outside

EVERY = 10.0  # at least this many seconds pass between two states that are kept
# Writing takes at most 1 part in 20 of the time, so that a state that takes a second is written every 20 seconds.
SHARE = 20
# Other versions may round differently.
RELEASES = {"lapwing": "lapwing", "numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}
UNREADABLE = (
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)

State = Mapping[str, Any]  # arrays and numbers by name


class _Active(NamedTuple):
    folder: Path
    every: float
    entries: set[Path]  # the files that were written or read


_ACTIVE: ContextVar[_Active | None] = ContextVar("checkpoint", default=None)


@contextmanager
def checkpoint(folder: str | os.PathLike, *, every: float = EVERY) -> Iterator[Path]:
    """Long work inside this block can be interrupted: the same program, started again, goes on where it was.

    Neighbour searches over rows in blocks and over pairs of rows in memory, the iterations of :class:`RobustGLPCA` and
    :class:`L21PCA`, and the folds of :func:`comparison.compare` write what they have done to the folder. When the block is
    entered again, after Ctrl-C, a full disk or a power cut, work on the same data with the same parameters is taken up from
    there, and on the same machine the result is the same to the last bit. When the block ends without an exception, its
    entries are removed.

    Parameters
    ----------
    folder : path
        It is made if it does not exist. Several programs may share one.
    every : float, default=10
        Seconds between two writes. Work that takes less time leaves no entry; each finished fold of a comparison always does.

    Notes
    -----
    An entry is named after a hash of the data, the parameters and the releases of lapwing, NumPy, SciPy and scikit-learn; if
    any of them changes, the work starts anew. Entries hold arrays and no code, and one that is damaged is ignored. A search
    takes about 32 bytes per neighbour of a row that is searched for, a robust fit twice as much as X in float64.

    What is not kept, and is done again: passes over the blocks of a dask array; searches by trees, by another program or on a
    GPU; the fits of a comparison to all rows, after its folds; and whatever depends on code that is not lapwing's or
    scikit-learn's, such as a method of your own, since a change of that code would go unnoticed.

    Examples
    --------
    >>> import tempfile
    >>> import lapwing
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> with tempfile.TemporaryDirectory() as folder, lapwing.checkpoint(folder):
    ...     model = lapwing.L21PCA(5).fit(X)
    """
    every = check_not_negative("every", every)
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    active = _Active(path, every, set())
    token = _ACTIVE.set(active)
    try:
        yield path
    finally:
        _ACTIVE.reset(token)
    for entry in active.entries:
        entry.unlink(missing_ok=True)
    remove_stale(path)


class Work:
    """A piece of work that can be resumed. Without a checkpoint nothing is kept, and the work starts at its beginning."""

    def __init__(self, active: _Active | None = None, kind: str = "", key: str = ""):
        self._active, self._key, self._path = active, key, Path()
        self._written, self._cost, self._is_kept = monotonic(), 0.0, False
        if active is not None:
            self._path = active.folder / f"{kind}-{key}.npz"

    def last(self) -> dict[str, np.ndarray] | None:
        """The state that was kept last; None where there is none, or none that is complete and belongs to this work."""
        if self._active is None or not self._path.exists():
            return None
        self._active.entries.add(self._path)
        try:
            with open(self._path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                state = {name: file[name] for name in file.files}
            if str(state.pop("seal")) != digest(self._key, state):
                raise ValueError("the seal does not fit")
        except UNREADABLE:
            return None
        self._is_kept = True
        return state

    def keep(self, state: Callable[[], State], *, done: bool = False, always: bool = False) -> None:
        """Write the state where the last one is old enough. At the end, write it if one was kept before, or ``always``."""
        if self._active is None:
            return
        waited = monotonic() - self._written
        if not (always or (done and self._is_kept) or waited >= max(self._active.every, SHARE * self._cost)):
            return
        start = monotonic()
        self._active.entries.add(self._path)
        arrays = {name: np.asarray(value) for name, value in state().items()}
        try:
            with replacing(self._path) as file:
                np.savez(file, seal=np.array(digest(self._key, arrays)), **arrays)  # type: ignore[arg-type]
        except OSError as error:
            warnings.warn(f"what was done so far is not kept: {error}", RuntimeWarning, stacklevel=outside())
        self._is_kept, self._written = True, monotonic()
        self._cost = self._written - start


def work(kind: str, *given: Any) -> Work:
    """The work that these data and parameters define. It is not kept outside a checkpoint, or where they have no digest."""
    return works(kind, given, [()])[0]


def works(kind: str, shared: tuple, given: Sequence[tuple]) -> list[Work]:
    """Several pieces of work that share some of their data."""
    active, of_shared = _ACTIVE.get(), ""
    found = [Work() for _ in given]
    if active is None:
        return found
    with suppress(TypeError):
        of_shared = digest(*map(version, RELEASES.values()), kind, *shared)
    for i, own in enumerate(given if of_shared else ()):
        with suppress(TypeError):
            found[i] = Work(active, kind, digest(of_shared, *own))
    return found


def digest(*parts: Any) -> str:
    """A hash of arrays, tables, numbers, texts and estimators, and of lists and iterators of such.

    It raises ``TypeError`` for things that may differ the next time although they look the same.
    """
    found = blake2b(digest_size=20)
    for part in parts:
        _add(found.update, part)
    return found.hexdigest()


def _add(update: Callable[[Any], None], part: Any) -> None:
    update(f"<{type(part).__name__}>".encode())
    if sparse.issparse(part):
        part = part.tocsr()
        for array in (part.shape, part.indptr, part.indices, part.data):
            _add(update, array)
    elif isinstance(part, np.ndarray) and not part.dtype.hasobject:
        update(f"{part.dtype.str}{part.shape}".encode())
        update(np.ascontiguousarray(part).view(np.uint8).data if part.size and part.ndim else part.tobytes())
    elif part is None or isinstance(part, str | bytes | Number | np.generic):
        update(repr(part).encode())
    elif isinstance(part, Mapping):
        for item in part.items():
            _add(update, item)
    elif hasattr(part, "get_params") and not isinstance(part, type):
        _add(update, type(part))
        _add(update, part.get_params(deep=False))
    elif inspect.isclass(part) or inspect.isfunction(part):
        update(_named(part).encode())
    elif hasattr(part, "columns") and hasattr(part, "to_numpy"):  # a table
        for name in part.columns:
            _add(update, (name, part[name].to_numpy()))
    elif isinstance(part, list | tuple | Iterator) or (isinstance(part, np.ndarray) and part.ndim):
        for item in part:
            _add(update, item)
    else:
        raise TypeError(f"{type(part).__name__} has no digest")
    update(b"</>")


def _named(thing: Any) -> str:
    """The name of a class or a function from a package whose release is part of each key.

    Changes of other code cannot be seen, so other code raises an error.
    """
    if thing.__module__.partition(".")[0] not in RELEASES:
        raise TypeError(f"{thing.__module__}.{thing.__qualname__} has no digest")
    return f"{thing.__module__}.{thing.__qualname__}"


def text(value: Any) -> str:
    """A value as JSON. NumPy's numbers are written as Python's, which read back equal."""
    return json.dumps(value, default=lambda number: number.item())
