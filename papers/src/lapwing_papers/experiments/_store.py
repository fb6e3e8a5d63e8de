"""Results on disk: one line a repetition, appended whole or not at all, never rewritten."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ._experiment import Experiment, Task, Values

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


class ResultsError(RuntimeError):
    """Results could not be kept, or not be read."""


class Store:
    """The results of one experiment, in ``folder/NAME.jsonl``.

    A line that was cut off by a full disk or a killed process is dropped; every other line stays. Lines of an older
    declaration (another fingerprint) stay too, and are not counted.
    """

    def __init__(self, folder: Path, experiment: Experiment):
        self.path = folder / f"{experiment.name}.jsonl"
        self.fingerprint = experiment.fingerprint
        self.versions: set[str] = set()  # with which the lines were measured that have been read
        self.seconds = 0.0  # that these took

    def read(self) -> dict[Task, Values]:
        return {Task(**record["task"]): record["values"] for record in self.records()}

    def records(self) -> Iterator[dict[str, Any]]:
        """The whole lines of this declaration: what was measured, in how many seconds, with which versions."""
        for number, line in enumerate(self._lines(), start=1):
            if record := self._parsed(line, number):
                yield record

    def append(self, task: Task, values: Values, seconds: float) -> None:
        record = {
            "fingerprint": self.fingerprint,
            "versions": _versions(),
            "task": asdict(task),
            "seconds": round(seconds, 3),
            "values": values,
        }
        line = json.dumps(record, allow_nan=True).encode() + b"\n"
        try:
            self._write(line)
        except OSError as error:
            raise ResultsError(
                f"{self.path}: {error.strerror}; the result of {task.condition or 'the experiment'}, seed {task.seed} was "
                "not kept, all before it were; make room (or choose another folder with --output) and run the same command "
                "again, it goes on from there"
            ) from error

    def _write(self, line: bytes) -> None:
        with open(self.path, "ab+", buffering=0) as file, _locked(file):
            whole = _whole_length(file)
            try:
                file.truncate(whole)
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(whole)
                raise

    def _lines(self) -> list[bytes]:
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        return content[: content.rfind(b"\n") + 1].splitlines()

    def _parsed(self, line: bytes, number: int) -> dict[str, Any] | None:
        try:
            record = json.loads(line)
            if record["fingerprint"] != self.fingerprint:
                return None
            self.versions.add(record["versions"])
            self.seconds += record["seconds"]
            return record
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(
                f"{self.path}, line {number} is damaged ({error}); delete that line to measure it again"
            ) from error


@contextmanager
def _locked(file: Any) -> Iterator[None]:
    """Only this process, where the system has such locks: several may run the same experiment into one folder."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)  # given up when the file is closed
    yield


@cache
def _versions() -> str:
    """What a number may depend on, beside the declaration."""
    return ", ".join(f"{name} {version(name)}" for name in ("lapwing", "numpy", "scipy", "scikit-learn"))


def _whole_length(file: Any) -> int:
    """Where the last whole line ends."""
    file.seek(0)
    return file.read().rfind(b"\n") + 1
