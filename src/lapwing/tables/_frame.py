"""Columns of several kinds, each an array of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Frame:
    """Rows whose columns hold numbers, dates or text. There is one array per column, and all have one length.

    ``frame[rows]`` are some of the rows. ``numpy.asarray(frame)`` is an array of objects, as scikit-learn's transformers take it,
    and ``frame[rows, columns]`` is a part of that array, as its ``ColumnTransformer`` asks for it.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n_rows,)
    """

    def __init__(self, columns: Sequence[np.ndarray]):
        self.columns = list(columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns[0]), len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, tuple):
            return np.asarray(self)[rows]
        return Frame([column[rows] for column in self.columns])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        X = np.empty(self.shape, dtype=object)
        for j, column in enumerate(self.columns):
            X[:, j] = column
        return X if dtype is None else X.astype(dtype)


def columns_of(X: Any) -> list[np.ndarray]:
    """The columns of a frame or of an array."""
    return X.columns if isinstance(X, Frame) else list(X.T)


def matrix(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Columns of numbers as one array, in row order, of the narrowest type that holds them."""
    X = np.empty((len(columns[0]), len(columns)), dtype=np.result_type(*{column.dtype for column in columns}))
    for j, column in enumerate(columns):
        X[:, j] = column
    return X


def stacked(frames: Sequence[Frame]) -> Frame:
    """The rows of all frames, one after the other."""
    return Frame([np.concatenate(parts) for parts in zip(*(frame.columns for frame in frames), strict=True)])
