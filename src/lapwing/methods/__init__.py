"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

from typing import Any

from .discriminant import DNE, LFDA, LPDP, LSDA, MFA, MMC, RCA
from .kernel import KernelLDA, KernelLFDA, KernelLPP, KernelNPE
from .local import LPCA, TangentialMaps
from .locality import LPP, NPE, OLPP, ONPP, TSA
from .regression import LPI, SpectralRegression
from .representation import GLPCA, L21PCA, MULTISPATI, ContrastivePCA, GraphPCA, RobustGLPCA
from .scores import FisherScore, LaplacianScore
from .spectral import DiffusionMaps, LaplacianEigenmaps

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
    "SpectralRegression",
    "MMC",
    "LPDP",
    "MFA",
    "DNE",
    "LFDA",
    "LSDA",
    "RCA",
    "KernelLDA",
    "KernelLFDA",
    "LPCA",
    "TangentialMaps",
    "GLPCA",
    "RobustGLPCA",
    "L21PCA",
    "GraphPCA",
    "MULTISPATI",
    "ContrastivePCA",
    "LaplacianScore",
    "FisherScore",
]
#: The classes by name, in the order of the tables.
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
