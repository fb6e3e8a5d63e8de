"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

from typing import Any

from .documents import LPI
from .kernel import KernelLPP
from .locality import LPP, OLPP
from .scores import LaplacianScore
from .spectral import LaplacianEigenmaps
from .tensor import TSA

__all__ = ["LPP", "OLPP", "LPI", "KernelLPP", "TSA", "LaplacianEigenmaps", "LaplacianScore"]  # noqa: RUF022 (in the order of the tables)
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}  #: The classes by name.
