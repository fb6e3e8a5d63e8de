"""Columns of X by their places, by the names that a data frame gives them, or by a function that chooses them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..rows import Rows


def places(data: Rows, what: str, chosen: Any) -> np.ndarray:
    """The places of the columns that ``what=chosen`` means."""
    names = None if data.frame is None else [str(name) for name in data.frame.columns]
    d = data.given.shape[1]
    if callable(chosen):
        chosen = chosen(data.given if data.frame is None else data.frame)
    if isinstance(chosen, slice):
        ends = [_place(what, end, names, d) if isinstance(end, str) else end for end in (chosen.start, chosen.stop)]
        chosen = range(d)[slice(ends[0], ends[1] + 1 if isinstance(chosen.stop, str) else ends[1], chosen.step)]
    chosen = [chosen] if isinstance(chosen, str) or np.ndim(chosen) == 0 else list(chosen)
    if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
        if len(chosen) != d:
            raise ValueError(f"{what} is a mask of {len(chosen)} columns, and X has {d}; give one value per column")
        chosen = np.flatnonzero(chosen)
    found = np.array([_place(what, one, names, d) for one in chosen], dtype=np.intp)
    if not found.size:
        raise ValueError(f"{what}={chosen!r} chooses no column of X; choose one or more")
    return found


def _place(what: str, one: Any, names: list[str] | None, d: int) -> int:
    if isinstance(one, str):
        if names is None:
            raise ValueError(
                f"{what}={one!r} is the name of a column, and X has no names; pass X as a pandas data frame, in pipelines with "
                'set_output(transform="pandas"), or give the place of the column'
            )
        if one not in names:
            raise ValueError(f"{what}={one!r} is no column of X; it has {', '.join(names[:10])}{' ...' * (d > 10)}")
        return names.index(one)
    if isinstance(one, bool | np.bool_) or not isinstance(one, int | np.integer) or not -d <= one < d:
        raise ValueError(
            f"{what}={one!r} is no column of X, which has the columns 0 to {d - 1}; give a place or a name"
        )
    return int(one) % d


def taken(data: Rows, columns: np.ndarray) -> Any:
    """The columns as they were passed, before an estimator divides them."""
    if not data.has_features:
        raise ValueError('columns are read from X, and with kernel="precomputed" X has none; use a kernel of features')
    X = data.given[:, columns]
    return sparse.csr_array(X) if sparse.issparse(X) else X


def column(data: Rows, what: str, chosen: Any) -> np.ndarray:
    """One column, as a dense array."""
    found = places(data, what, chosen)
    if found.size != 1:
        raise ValueError(f"{what}={chosen!r} must be one column of X, and is {found.size}")
    X = taken(data, found)
    return np.asarray(X.toarray() if sparse.issparse(X) else X).ravel()
