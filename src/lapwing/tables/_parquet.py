"""Parquet, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._arrow import arrow, feature_types, from_arrow, kind_of
from ._table import Table, Wanted, batch_rows, float_type, roles_of


def read_parquet(path: str, wanted: Wanted) -> Iterator[Table]:
    parquet = arrow(".parquet")
    try:
        # A row group may be the whole file: it is read in pieces, not ahead.
        with open(path, "rb") as stream, parquet.ParquetFile(stream, pre_buffer=False, buffer_size=2**20) as file:
            schema = file.schema_arrow
            roles = roles_of(schema.names, wanted, path)
            kinds = feature_types(schema, roles, path, wanted.mixed)
            dtype = float_type(_numpy_type(kind) for kind in kinds.values() if kind_of(kind) == "number")
            row = 0
            for batch in file.iter_batches(batch_rows(len(kinds)), columns=roles.used, use_threads=False):
                yield from_arrow(batch, roles, dtype, path, row, wanted=wanted.kinds)
                row += batch.num_rows
    except arrow().ArrowInvalid as error:
        raise ValueError(f"{path}: not a readable Parquet file ({error})") from error


def _numpy_type(kind: Any) -> Any:
    types = arrow(".types")
    return np.float64 if types.is_decimal(kind) or types.is_null(kind) else kind.to_pandas_dtype()
