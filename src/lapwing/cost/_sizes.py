"""The sizes that costs are counted from: of X, of a part of a fit, and of a matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

SHARED = 22.0  # two documents share one in so many of their words, as they mostly do (benchmarks/cost.py)

Work = dict[str, float]  # operations by kind, as in _speeds.py


class Data(NamedTuple):
    """The size of X."""

    n: int
    d: int
    itemsize: int
    density: float | None
    n_classes: int

    @property
    def is_sparse(self) -> bool:
        return self.density is not None

    @property
    def entries(self) -> float:
        return self.n * self.d * (1.0 if self.density is None else self.density)

    @property
    def row(self) -> float:
        """Entries of a row."""
        return self.entries / self.n

    @property
    def shared(self) -> float:
        """Columns where two sparse rows both have an entry."""
        return max(self.row / SHARED, self.row**2 / self.d)

    @property
    def products(self) -> str:
        """The kind of its products where they are taken in its own precision."""
        return "products32" if self.itemsize == 4 else "products64"


class Part(NamedTuple):
    """A part of a fit: its operations, the bytes that it leaves, and those it takes beyond them while it runs."""

    name: str
    work: Work
    held: float = 0.0
    extra: float = 0.0


class Matrix(NamedTuple):
    """The size of a :class:`~lapwing.operators.Structured`."""

    entries: float = 0.0  # of the sparse part
    wide: float = 0.0  # entries of factors with about as many columns as rows
    thin: float = 0.0  # entries of factors with few columns
    columns: float = 0.0  # of those
    diagonal: str | None = None  # "constant" or "uneven"

    @property
    def is_wide(self) -> bool:
        return self.entries + self.wide > 0


def total(matrices: list[Matrix]) -> Matrix:
    """The size of their sum."""
    diagonals = {M.diagonal for M in matrices} - {None}
    return Matrix(
        entries=sum(M.entries for M in matrices),
        wide=sum(M.wide for M in matrices),
        thin=sum(M.thin for M in matrices),
        columns=sum(M.columns for M in matrices),
        diagonal="uneven" if len(diagonals) > 1 else next(iter(diagonals), None),
    )


def add(*works: Work) -> Work:
    """All operations of several."""
    return {kind: sum(work.get(kind, 0.0) for work in works) for work in works for kind in work}


def times(factor: float, work: Work) -> Work:
    return {kind: factor * count for kind, count in work.items()}


def entry_of(table: dict[type, Any], thing: Any, name: str) -> Any:
    """The entry of the nearest class that has one."""
    for cls in type(thing).__mro__:
        if cls in table:
            return table[cls]
    known = ", ".join(cls.__name__ for cls in table)
    raise ValueError(f"{name}={thing!r} has no estimate; there is one for {known}")
