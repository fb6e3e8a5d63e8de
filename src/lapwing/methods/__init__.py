"""The named methods: each a declaration of its problem."""

from ._discriminant import DNE, LPDP, MFA, MMC
from ._documents import LPI, SVDNeighbors
from ._kernel import KernelLPP, KernelNPE
from ._local import LPCA, TangentialMaps
from ._locality import LPP, OLPP
from ._neighborhood import NPE, ONPP
from ._representation import GLPCA, L21PCA, RobustGLPCA
from ._scores import FisherScore, LaplacianScore
from ._spectral import LaplacianEigenmaps
from ._tensor import TSA

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
