"""lapwing: graph-Laplacian dimensionality reduction in the style of scikit-learn."""

from importlib.metadata import version

from .methods import (
    DNE,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    TSA,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    TangentialMaps,
)

__version__ = version("lapwing")
__all__ = [
    "DNE",
    "LPCA",
    "LPDP",
    "LPI",
    "LPP",
    "MFA",
    "MMC",
    "NPE",
    "OLPP",
    "ONPP",
    "TSA",
    "KernelLPP",
    "KernelNPE",
    "LaplacianEigenmaps",
    "TangentialMaps",
]
