"""Parquet, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ._arrow import arrow, feature_types, from_arrow, kind_of
from ._files import check_file, readable
from ._table import Table, Wanted, batch_rows, float_type, roles_of

PARQUET = "Parquet file"


def read_parquet(path: str, wanted: Wanted) -> Iterator[Table]:
    check_file(path)
    # A row group may be the whole file: it is read in pieces, not ahead.
    with open(path, "rb") as stream, _opened(path, stream) as file:
        schema = file.schema_arrow
        roles = roles_of(schema.names, wanted, path)
        kinds = feature_types(schema, roles, path, wanted.mixed)
        dtype = float_type(_numpy_type(kind) for kind in kinds.values() if kind_of(kind) == "number")
        row = 0
        for batch in _batches(file, path, roles.used, batch_rows(len(kinds))):
            with readable(path, PARQUET):
                table = from_arrow(batch, roles, dtype, path, row, wanted=wanted.kinds)
            yield table
            row += batch.num_rows


def _opened(path: str, stream: IO[bytes]) -> Any:
    with readable(path, PARQUET):
        return arrow(".parquet").ParquetFile(stream, pre_buffer=False, buffer_size=2**20)


def _batches(file: Any, path: str, columns: list[str], rows: int) -> Iterator[Any]:
    with readable(path, PARQUET):
        yield from file.iter_batches(rows, columns=columns, use_threads=False)


def _numpy_type(kind: Any) -> Any:
    types = arrow(".types")
    return np.float64 if types.is_decimal(kind) or types.is_null(kind) else kind.to_pandas_dtype()
