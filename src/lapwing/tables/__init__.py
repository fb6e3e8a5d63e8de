"""Data sets in files: whole, or in batches of rows that never fill the memory.

The name of a file tells its format: CSV and TSV (``.csv``, ``.tsv``, ``.txt``; compressed too, as ``.gz``, ``.bz2`` or
``.zst``), Parquet (``.parquet``, ``.pq``), NumPy (``.npy``, ``.npz``), Matrix Market (``.mtx``), svmlight (``.svm``,
``.svmlight``, ``.libsvm``), a folder of images with one sub-folder per class, and ``-`` for CSV on standard input. Rows are
counted from 1, without the header.
"""

from .._public import public
from ._dates import DatesAsNumbers
from ._frame import Frame
from ._prepare import Input, Prepared, column_numbers, fills_gaps, inputs_of, prepare
from ._read import batches, files_of, has_columns, read
from ._table import Table
from ._write import check_suffix, write

__all__ = [
    "DatesAsNumbers",
    "Frame",
    "Input",
    "Prepared",
    "Table",
    "batches",
    "check_suffix",
    "column_numbers",
    "files_of",
    "fills_gaps",
    "has_columns",
    "inputs_of",
    "prepare",
    "read",
    "write",
]
public(__name__, __all__, globals())
