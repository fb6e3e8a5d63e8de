"""Data sets as the commands take them: columns are prepared, labels are classes, and a message says what was done."""

from __future__ import annotations

from typing import Any

from ._console import say


def read_prepared(
    data: str, options: dict[str, Any], sample: int | None = None, seed: int = 0, targets: bool = False
) -> Any:
    """Read the data, prepare its columns, and say what was done."""
    from ..tables import prepare, read

    preparing = options["prepare"]
    given = {name: value for name, value in options.items() if name != "prepare"}
    how = {"mixed": True, "categories": preparing["categories"], "targets": targets}
    table = read(data, sample=sample, random_state=seed, **how, **given)
    for note in table.notes:
        say(note)
    try:
        prepared = prepare(table, **preparing)
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error
    for line in prepared.lines:
        say(line)
    return prepared


def check_classes(table: Any, data: str) -> None:
    """Raise where labels are used, and do not name classes or are all unknown."""
    if table.y is not None and (table.y == ("-1" if table.y.dtype.kind == "U" else -1)).all():
        raise ValueError(f"{data}: all labels are missing; label some rows, or leave them out (--no-label)")
    if are_quantities(table.y):
        import numpy as np

        row = int(np.argmax(table.y != np.round(table.y)))
        raise ValueError(
            f"{data}: the labels are quantities, such as {table.y[row]}, not classes; put them into a few bins, or leave them "
            "out (--no-label)"
        )


def are_quantities(y: Any) -> bool:
    """Whether labels are numbers with fractions."""
    return y is not None and y.dtype.kind == "f"


def reads_targets(estimator: Any) -> bool:
    """Whether a graph of the estimator reads labels as numbers."""
    given = estimator.get_params(deep=False)
    return any(getattr(given.get(name), "reads_targets", False) for name in ("graph", "penalty"))
