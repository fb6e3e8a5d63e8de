"""Results that come with lapwing_papers, so that anyone can look without hours of computing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._files import write_whole
from ._experiment import Experiment
from ._store import Store

RESULTS = Path(__file__).parents[1] / "results"
DIGITS = 6  # significant ones of a kept number


class Kept(Store):
    """The results of one experiment in ``folder/NAME.jsonl.gz``: the lines of a run, rounded and compressed."""

    def __init__(self, experiment: Experiment, folder: Path | None = None):
        super().__init__(folder or experiment.results or RESULTS, experiment)
        self.path = self.path.with_name(f"{experiment.name}.jsonl.gz")

    @property
    def stale(self) -> bool:
        """Whether there are results, and of another declaration than today's."""
        return any(json.loads(line)["fingerprint"] != self.fingerprint for line in self._lines())

    def _lines(self) -> list[bytes]:
        return gzip.decompress(self.path.read_bytes()).splitlines() if self.path.exists() else []


def keep(experiments: Iterable[Experiment], folder: Path | str, results: Path | None = None) -> list[Path]:
    """Put what was measured in ``folder`` among the kept results.

    Repetitions that are kept already stay, where they are of the same declaration and ``folder`` does not have them.

    Parameters
    ----------
    experiments : iterable of Experiment
    folder : path
        Of a run, as given to :func:`run`.
    results : path, default=None
        Where results are kept; None is the folder of each experiment.

    Returns
    -------
    list of Path
        The files that were written.
    """
    written = []
    for experiment in experiments:
        kept, found = Kept(experiment, results), list(Store(Path(folder) / "results", experiment).records())
        if found:
            lines = {_place(record): _line(record) for record in [*kept.records(), *found]}
            kept.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(kept.path, gzip.compress(b"".join(lines[place] for place in sorted(lines)), mtime=0))
            written.append(kept.path)
    return written


def _place(record: dict[str, Any]) -> tuple[int, str]:
    return record["task"]["seed"], record["task"]["condition"]


def _line(record: dict[str, Any]) -> bytes:
    rounded = record | {"seconds": round(record["seconds"], 1), "values": _rounded(record["values"])}
    return json.dumps(rounded, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
