"""Data sets as the commands take them: columns are prepared, labels are classes, and a message says what was done."""

from __future__ import annotations

from typing import Any

from ._console import say, say_in_one_line
from ._options import Reading


def read_prepared(data: str, reading: Reading, targets: bool = False, **more: Any) -> Any:
    """Read the data, prepare its columns, and say what was done."""
    from ..tables import prepare, read

    table = read(data, mixed=True, targets=targets, **reading.read, **more)
    for note in table.notes:
        say(note)
    try:
        prepared = prepare(table, **reading.prepare)
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error
    for line in prepared.lines:
        say(line)
    return prepared


def leaks_of_ids(prepared: Any) -> list[Any]:
    """A column that was left out since it names the rows, where its order tells the labels all the same."""
    from ..comparison import find_leaks
    from ..tables.preparation import NAMES_ROWS

    table, preparation = prepared.table, prepared.steps[0][1] if prepared.steps else None
    names = [name for name, why in getattr(preparation, "left_out_", {}).items() if why == NAMES_ROWS]
    if table.ids is None or not names:
        return []
    return find_leaks(table.ids[:, None], table.y, feature_names=names[:1])


def tell_leaks(prepared: Any) -> None:
    """Warn of columns that alone tell the labels, and of copies of rows."""
    from scipy import sparse

    from ..comparison import find_leaks

    table = prepared.table
    if table.y is None or table.image_shape is not None or sparse.issparse(table.X):
        return
    X = table.X if prepared.given is None else prepared.given
    for leak in [*leaks_of_ids(prepared), *find_leaks(X, table.y, feature_names=source_columns(prepared))]:
        say_in_one_line(f"lapwing: warning: {leak.message}")


def source_columns(prepared: Any) -> list[str] | None:
    """The names of the columns as they were read, of those that are used."""
    columns = getattr(prepared.steps[0][1], "columns_", None) if prepared.steps else None
    return prepared.table.feature_names if columns is None else list(columns)


def check_classes(table: Any, data: str) -> None:
    """Raise where labels are used, and do not name classes or are all unknown."""
    if table.y is not None and unknown(table.y).all():
        raise ValueError(f"{data}: all labels are missing; label some rows, or leave them out (--no-label)")
    if are_quantities(table.y):
        row = int((table.y % 1 != 0).argmax())
        raise ValueError(
            f"{data}: the labels are quantities, such as {table.y[row]}, not classes; put them into a few bins, or leave them "
            "out (--no-label)"
        )


def unknown(y: Any) -> Any:
    """Which labels of a table are unknown."""
    return y == ("-1" if y.dtype.kind == "U" else -1)


def are_quantities(y: Any) -> bool:
    """Whether labels are numbers with fractions."""
    return y is not None and y.dtype.kind == "f"


def reads_targets(estimator: Any) -> bool:
    """Whether a graph of the estimator reads labels as numbers."""
    given = estimator.get_params(deep=False)
    return any(getattr(given.get(name), "reads_targets", False) for name in ("graph", "penalty"))


class Taken:
    """The columns that a model takes, and how the rows of a table become what it takes.

    A model of ``lapwing fit`` begins with a preparation, which takes a table as it is. Other pipelines get numbers and text, as
    their first steps need them.
    """

    def __init__(self, model: Any):
        from sklearn.impute import SimpleImputer

        from ..tables import preparation_of, text_columns

        self.preparation = preparation_of(model)
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        words = [] if self.preparation is not None else text_columns(model)
        self.categories = [str(j) if self.names is None else self.names[j] for j in words]
        self.fills_gaps = any(isinstance(part, SimpleImputer) for part in [model, *model.get_params().values()])
        self.is_mixed = self.preparation is not None or bool(self.categories) or self.fills_gaps

    def rows(self, table: Any) -> Any:
        """The rows of a table of columns: as the preparation gives them, or as pandas reads them."""
        from ..tables.preparation import plain_rows

        if self.preparation is None:
            return plain_rows(table.X, self.categories)
        names = self.preparation.columns_
        by_place = not set(names) <= set(table.feature_names) and len(names) == len(table.feature_names)
        return self.preparation.transform(table.X.rename_columns(list(names)) if by_place else table.X)
