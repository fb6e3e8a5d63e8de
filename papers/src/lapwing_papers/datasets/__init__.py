"""Data sets of the papers: real ones from a folder, and toys that are made.

A file holds the arrays ``X``, samples in rows, and ``y``, classes from 0; for documents ``*_X.npz`` is a sparse matrix of
SciPy and ``*_y.npz`` holds the rest. None of them comes with lapwing; face collections and TDT2 are for research only.
"""

from ._files import get_data_home
from ._loaders import (
    available,
    load,
    load_20newsgroups,
    load_ar,
    load_binalpha,
    load_coil20,
    load_digits,
    load_fashion_mnist,
    load_frey,
    load_glove,
    load_iris,
    load_isolet,
    load_libras,
    load_mfeat,
    load_mnist,
    load_orl,
    load_pie,
    load_reuters,
    load_tdt2,
    load_umist,
    load_usps,
    load_yale,
    load_yale_b,
)
from ._synthetic import make_patch, make_perturbed_line, make_scherk

__all__ = [
    "available",
    "get_data_home",
    "load",
    "load_20newsgroups",
    "load_ar",
    "load_binalpha",
    "load_coil20",
    "load_digits",
    "load_fashion_mnist",
    "load_frey",
    "load_glove",
    "load_iris",
    "load_isolet",
    "load_libras",
    "load_mfeat",
    "load_mnist",
    "load_orl",
    "load_pie",
    "load_reuters",
    "load_tdt2",
    "load_umist",
    "load_usps",
    "load_yale",
    "load_yale_b",
    "make_patch",
    "make_perturbed_line",
    "make_scherk",
]
