"""Parquet, in batches of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ._arrow import arrow, feature_types, from_arrow, is_text, kind_of
from ._files import check_file, check_memory, readable
from ._table import Table, Wanted, batch_rows, float_type, roles_of

PARQUET = "Parquet file"


def read_parquet(path: str, wanted: Wanted) -> Iterator[Table]:
    check_file(path)
    # A row group may be the whole file, so it is read in pieces, and not ahead.
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
    """The file, with each text held once, as in the file, and not once per row.

    Otherwise a few bytes could say that a long text stands in every row, and fill the memory.
    """
    parquet = arrow(".parquet")
    with readable(path, PARQUET):
        metadata = parquet.read_metadata(stream)
        for number in range(metadata.num_row_groups):
            # The size of the group as a whole: pyarrow ends the program where the record of a column in it is damaged.
            size = metadata.row_group(number).total_byte_size
            check_memory(path, size, os.path.getsize(path), "a group of rows")
        text = [field.name for field in metadata.schema.to_arrow_schema() if is_text(field.type)]
        stream.seek(0)
        options = {"pre_buffer": False, "buffer_size": 2**20, "read_dictionary": text}
        return parquet.ParquetFile(stream, metadata=metadata, **options)


def _batches(file: Any, path: str, columns: list[str], rows: int) -> Iterator[Any]:
    with readable(path, PARQUET):
        yield from file.iter_batches(rows, columns=columns, use_threads=False)


def _numpy_type(kind: Any) -> Any:
    types = arrow(".types")
    return np.float64 if types.is_decimal(kind) or types.is_null(kind) else kind.to_pandas_dtype()
