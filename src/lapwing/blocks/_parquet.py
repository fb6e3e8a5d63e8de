"""Parquet (and any other data set that pyarrow opens), a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._blocks import Block, Blocks, block_rows


class ParquetBlocks(Blocks):
    """A ``pyarrow.dataset.Dataset``. All columns of numbers are features, except for that of the labels."""

    feature_names: list[str]

    def __init__(self, dataset: Any, label: Any = None, columns: Any = None):
        import pyarrow as pa

        if not hasattr(dataset, "scanner"):
            raise TypeError(f"X is a {type(dataset).__name__}; pass a data set: pyarrow.dataset.dataset(path)")
        self._dataset = dataset
        self._label = self._checked_label(label) if isinstance(label, str) else None
        names = dataset.schema.names
        self.feature_names = [name for name in names if name != self._label] if columns is None else list(columns)
        if columns is not None and self._label in self.feature_names:
            raise ValueError(f"columns= has {self._label!r}, which y= names as the labels; leave it out of one of them")
        missing = [name for name in self.feature_names if name not in names]
        if missing:
            raise ValueError(
                f"X has no column {missing[0]!r}, which the model was fitted on or columns= names; there are "
                f"{', '.join(names[:20])}"
            )
        kinds = {name: dataset.schema.field(name).type for name in self.feature_names}
        words = [
            name
            for name, kind in kinds.items()
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
        ]
        if words:
            raise ValueError(
                f"column {words[0]!r} of X is {kinds[words[0]]}, not numbers; name it as y if it holds the labels, or "
                "choose columns of numbers: lapwing.blocks.as_blocks(X, columns=[...])"
            )
        small = all(pa.types.is_float32(kind) or pa.types.is_float16(kind) for kind in kinds.values())
        self.dtype = np.dtype(np.float32 if small else np.float64)
        self.shape = (dataset.count_rows(), len(self.feature_names))

    def _read(self) -> Iterator[Block]:
        start = 0
        for batch in self._batches(self.feature_names, block_rows(self.shape[1], self.dtype.itemsize)):
            block = np.empty((batch.num_rows, self.shape[1]), self.dtype)
            for j, column in enumerate(batch.columns):
                if column.null_count:
                    _refuse_nulls(batch.schema.names[j], start, column)
                block[:, j] = column.to_numpy(zero_copy_only=False)
            yield block
            start += batch.num_rows

    def labels(self, y: Any) -> Any:
        label = self._label
        if label is not None and y is not None and not (isinstance(y, str) and y == label):
            told = repr(y) if isinstance(y, str) else f"an array of {len(y)}"
            raise ValueError(
                f"y is {told}, but X was made with y={label!r}; pass y={label!r}, or make X without: as_blocks(X, columns=[...])"
            )
        if label is None and isinstance(y, str):
            label = self._checked_label(y)
            if label in self.feature_names:
                raise ValueError(f"y={y!r} is one of the features; leave it out of them: as_blocks(X, y={y!r})")
        if label is None:
            return y
        found = [batch.column(0).to_numpy(zero_copy_only=False) for batch in self._batches([label], 1 << 16)]
        return np.concatenate(found)

    def _checked_label(self, label: str) -> str:
        names = self._dataset.schema.names
        if label not in names:
            raise ValueError(f"y={label!r} is no column of X; there are {', '.join(names[:20])}")
        return label

    def _batches(self, columns: Any, rows: int) -> Iterator[Any]:
        from pyarrow import dataset

        options = {}
        # Read in pieces, and not ahead.
        if isinstance(getattr(self._dataset, "format", None), dataset.ParquetFileFormat):
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True
            )
        scanner = self._dataset.scanner(
            columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1, **options
        )
        return (batch for batch in scanner.to_batches() if batch.num_rows)


def _refuse_nulls(name: str, start: int, column: Any) -> None:
    row = start + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
    raise ValueError(
        f"column {name!r} of X has missing values (the first in row {row:,}); impute or drop such rows, or choose other "
        "columns: lapwing.blocks.as_blocks(X, columns=[...])"
    )
