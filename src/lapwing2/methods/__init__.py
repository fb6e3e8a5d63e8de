"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

from typing import Any

from .documents import LPI
from .kernel import KernelLPP, KernelNPE
from .local import LPCA, TangentialMaps
from .locality import LPP, OLPP
from .neighborhood import NPE, ONPP
from .scores import LaplacianScore
from .spectral import DiffusionMaps, LaplacianEigenmaps
from .tensor import TSA

__all__ = [  # noqa: RUF022 (in the order of the tables)
    "LPP",
    "OLPP",
    "LPI",
    "NPE",
    "ONPP",
    "KernelLPP",
    "KernelNPE",
    "TSA",
    "LaplacianEigenmaps",
    "DiffusionMaps",
    "LPCA",
    "TangentialMaps",
    "LaplacianScore",
]
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}  #: The classes by name.
