"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

from typing import Any

from .discriminant import DNE, LFDA, LPDP, LSDA, MFA, MMC, RCA, FisherScore, KernelLDA, KernelLFDA
from .locality import LPCA, LPP, NPE, OLPP, ONPP, TSA, KernelLPP, KernelNPE, LaplacianScore, TangentialMaps
from .representation import GLPCA, L21PCA, MULTISPATI, ContrastivePCA, GraphPCA, RobustGLPCA
from .spectral import LPI, DiffusionMaps, LaplacianEigenmaps, SpectralRegression

# In the order of the tables, a family in a line or two.
__all__ = ["LPP", "OLPP", "LPI", "NPE", "ONPP", "KernelLPP", "KernelNPE", "TSA"]  # noqa: RUF022
__all__ += ["DiffusionMaps", "LaplacianEigenmaps", "SpectralRegression"]
__all__ += ["DNE", "LFDA", "LPDP", "LSDA", "MFA", "MMC", "RCA", "KernelLDA", "KernelLFDA"]
__all__ += ["LPCA", "TangentialMaps"]
__all__ += ["GLPCA", "L21PCA", "MULTISPATI", "ContrastivePCA", "GraphPCA", "RobustGLPCA"]
__all__ += ["FisherScore", "LaplacianScore"]
#: The classes by name, in the order of the tables.
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
