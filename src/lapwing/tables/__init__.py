"""Data sets in files: whole, or CSV, Parquet and ``.npy`` in batches of rows that never fill the memory.

The name of a file tells its format: CSV and TSV (``.csv``, ``.tsv``, ``.txt``; compressed too, as ``.gz`` or ``.bz2``),
Parquet (``.parquet``, ``.pq``), NumPy (``.npy``, ``.npz``), Matrix Market (``.mtx``), svmlight (``.svm``, ``.svmlight``,
``.libsvm``), a folder of images with one sub-folder per class, and ``-`` for CSV on standard input. Rows are counted from 1,
without the header. :class:`Preparation` turns columns into numbers and categories.
"""

from .._documented import public
from .preparation import Preparation, UnseenCategories
from .reading import batches, files_of, read
from .steps import Prepared, column_numbers, preparation_of, prepare, text_columns
from .table import Table, write

__all__ = [
    "Preparation",
    "Prepared",
    "Table",
    "UnseenCategories",
    "batches",
    "column_numbers",
    "files_of",
    "preparation_of",
    "prepare",
    "read",
    "text_columns",
    "write",
]
public(__name__, __all__, globals())
