"""The named methods: each a declaration of its problem."""

from ._discriminant import DNE, LPDP, MFA, MMC
from ._kernel import KernelLPP, KernelNPE
from ._local import LPCA, TangentialMaps
from ._locality import LPP, OLPP
from ._neighborhood import NPE, ONPP
from ._spectral import LaplacianEigenmaps

__all__ = [
    "DNE",
    "LPCA",
    "LPDP",
    "LPP",
    "MFA",
    "MMC",
    "NPE",
    "OLPP",
    "ONPP",
    "KernelLPP",
    "KernelNPE",
    "LaplacianEigenmaps",
    "TangentialMaps",
]
