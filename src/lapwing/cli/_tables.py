"""Data sets as the commands take them: labels as classes, and a word on what was read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ._console import say

ROW_NAMES = frozenset(["id", "index", "row", "rowid", "row_id", "uid", "uuid"])


def read_table(data: str, options: dict[str, Any], sample: int | None = None, seed: int = 0) -> Any:
    """The data, with labels that are -1 and 1 as two classes."""
    from ..tables import read

    table = read(data, sample=sample, random_state=seed, **options)
    for name in table.feature_names or []:
        if name.casefold() in ROW_NAMES:
            say(f"column {name!r} is taken for a feature; if it names rows, use --id {name} or --drop {name}")
    if table.y is not None and set(table.y.tolist()) == {-1, 1}:
        say("labels -1 and 1 are read as two classes, 0 and 1")
        return replace(table, y=(table.y + 1) // 2)
    return table


def check_classes(table: Any, data: str) -> None:
    """Labels, where they are used, name classes."""
    if table.y is not None and table.y.dtype.kind == "f":
        import numpy as np

        row = int(np.argmax(table.y != np.round(table.y)))
        raise ValueError(
            f"{data}: the labels are quantities, such as {table.y[row]}, not classes; put them into a few bins, or leave them "
            "out (--no-label)"
        )
