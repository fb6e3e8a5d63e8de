"""The code that pynndescent compiles: it is kept on disk between processes, and a message says so while it is compiled.

Numba can keep compiled functions on disk. For functions that are given a distance function as an argument this is of no use,
and pynndescent does not ask for it: Numba knows a function by a number that is drawn anew in every process, so that such code
is never found again. Here the distance functions get the same number in every process, and all functions that NN-descent
calls are kept. The two outermost functions cannot be kept, since they hold the address of Numba's count of threads; they
compile in seconds. The compiled code depends on all source files of pynndescent, of which Numba looks at one only, so each
version of pynndescent has a folder of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from .._extras import require
from ..blocks import say


def folder() -> Path:
    """Where compiled functions are kept: below ``NUMBA_CACHE_DIR`` where that is set, else in the user's folder of caches."""
    numba, pynndescent = require("numba", "approximate"), require("pynndescent", "approximate")
    if numba.config.CACHE_DIR:
        base = Path(numba.config.CACHE_DIR)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "lapwing")
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches/lapwing")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "lapwing")
    return base.expanduser() / f"pynndescent-{pynndescent.__version__}-numba-{numba.__version__}"


@contextmanager
def compiling(metric: str, is_sparse: bool) -> Iterator[None]:
    """A context in which NN-descent may compile. It keeps the compiled code, and prints a message where compiling takes long."""
    require("numba", "approximate")
    event = require("numba.core.event", "approximate")

    class Said(event.Listener):  # type: ignore[name-defined]
        kept: tuple | None = None  # The functions whose compilation is announced; None is all functions.
        is_said = False

        def on_start(self, event: Any) -> None:
            if not self.is_said and (not self.kept or event.data["dispatcher"] in self.kept):
                self.is_said = True
                once = "in every process" if self.kept == () else "once for each version of pynndescent"
                say(f"compiling the approximate search, {once}: half a minute or more")

        def on_end(self, event: Any) -> None:
            """Do nothing: the message was given when the compilation began."""

    said = Said()
    with event.install_listener("numba:compile", said):
        said.kept = keep(metric, is_sparse)  # imports pynndescent, which compiles too, and keeps that itself
        yield


def keep(metric: str, is_sparse: bool) -> tuple:
    """Have NN-descent with this distance kept on disk. Returns the functions that are kept: none where nothing can be written."""
    descent, distance = _functions(metric, is_sparse)
    called = tuple(f for f in _called(descent) if "get_num_threads" not in f.py_func.__code__.co_names)
    if distance in _numbered:
        return called
    numba, where = require("numba", "approximate"), folder()
    if not _is_writable(where) or not _number(distance):
        return ()
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(where)
    try:
        for function in called:
            function.enable_caching()
    finally:
        numba.config.CACHE_DIR = before
    return called


_numbered: set[Any] = set()  # distances that have the same number in every process


def _functions(metric: str, is_sparse: bool) -> tuple[Any, Any]:
    """NN-descent itself, and the distance function that it is given."""
    if is_sparse:
        sparse = require("pynndescent.sparse", "approximate")
        descent = require("pynndescent.sparse_nndescent", "approximate").nn_descent
        named, faster = sparse.sparse_named_distances, sparse.sparse_fast_distance_alternatives
    else:
        distances = require("pynndescent.distances", "approximate")
        descent = require("pynndescent.pynndescent_", "approximate").nn_descent
        named, faster = distances.named_distances, distances.fast_distance_alternatives
    return descent, faster[metric]["dist"] if metric in faster else named[metric]


def _called(function: Any) -> list[Any]:
    """A compiled function, those that it calls, those that they call, and so on."""
    found = [function]
    for caller in found:
        code = caller.py_func.__code__
        called = (caller.py_func.__globals__.get(name) for name in code.co_names)
        found += [f for f in dict.fromkeys(called) if hasattr(f, "enable_caching") and f not in found]
    return found


def _number(function: Any) -> bool:
    """Give a compiled function a number that depends only on its name, unless it has one or Numba has no such numbers."""
    name = f"lapwing {function.__module__}.{function.__qualname__}"
    try:
        function._set_uuid(str(uuid5(NAMESPACE_URL, name)))
    except (AttributeError, AssertionError):
        return False
    _numbered.add(function)
    return True


def _is_writable(where: Path) -> bool:
    try:
        where.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=where).close()
    except OSError:
        return False
    return True
