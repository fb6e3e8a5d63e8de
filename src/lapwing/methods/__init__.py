"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

from typing import Any

from .._public import public
from ._discriminant import DNE, LFDA, LPDP, LSDA, MFA, MMC
from ._documents import LPI
from ._kernel import KernelLDA, KernelLFDA, KernelLPP, KernelNPE
from ._local import LPCA, TangentialMaps
from ._locality import LPP, OLPP
from ._neighborhood import NPE, ONPP
from ._regression import SpectralRegression
from ._representation import GLPCA, L21PCA, RobustGLPCA
from ._scores import FisherScore, LaplacianScore
from ._spectral import DiffusionMaps, LaplacianEigenmaps
from ._tensor import TSA
from ._variance import MULTISPATI, ContrastivePCA, GraphPCA

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
