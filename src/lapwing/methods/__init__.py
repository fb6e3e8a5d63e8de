"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

from typing import Any

from .._public import public
from .discriminant import DNE, LFDA, LPDP, LSDA, MFA, MMC
from .documents import LPI
from .kernel import KernelLDA, KernelLFDA, KernelLPP, KernelNPE
from .local import LPCA, TangentialMaps
from .locality import LPP, OLPP
from .neighborhood import NPE, ONPP
from .regression import SpectralRegression
from .representation import GLPCA, L21PCA, RobustGLPCA
from .scores import FisherScore, LaplacianScore
from .spectral import DiffusionMaps, LaplacianEigenmaps
from .tensor import TSA
from .variance import MULTISPATI, ContrastivePCA, GraphPCA

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
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}  #: The classes by name.
public(__name__.partition(".")[0], __all__, globals())
