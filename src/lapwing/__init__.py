"""lapwing: graph-Laplacian dimensionality reduction in the style of scikit-learn."""

from importlib.metadata import version

from .methods import (
    DNE,
    GLPCA,
    L21PCA,
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
    FisherScore,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    LaplacianScore,
    RobustGLPCA,
    TangentialMaps,
)

__version__ = version("lapwing")
__all__ = [
    "DNE",
    "GLPCA",
    "L21PCA",
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
    "FisherScore",
    "KernelLPP",
    "KernelNPE",
    "LaplacianEigenmaps",
    "LaplacianScore",
    "RobustGLPCA",
    "TangentialMaps",
]
