"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

from typing import Any

from .discriminant import DNE, LFDA, LPDP, LSDA, MFA, MMC, RCA, FisherScore, KernelLDA, KernelLFDA
from .locality import LPCA, LPP, NPE, OLPP, ONPP, TSA, KernelLPP, KernelNPE, LaplacianScore, TangentialMaps
from .representation import GLPCA, L21PCA, MULTISPATI, ContrastivePCA, GraphPCA, RobustGLPCA
from .spectral import LPI, DiffusionMaps, LaplacianEigenmaps, SpectralRegression

# In the order of the tables, a family per line.
__all__ = ["LPP", "OLPP", "LPI", "NPE", "ONPP", "KernelLPP", "KernelNPE", "TSA"]
__all__ += ["LaplacianEigenmaps", "DiffusionMaps", "SpectralRegression"]
__all__ += ["MMC", "LPDP", "MFA", "DNE", "LFDA", "LSDA", "RCA", "KernelLDA", "KernelLFDA"]
__all__ += ["LPCA", "TangentialMaps"]
__all__ += ["GLPCA", "RobustGLPCA", "L21PCA", "GraphPCA", "MULTISPATI", "ContrastivePCA"]
__all__ += ["LaplacianScore", "FisherScore"]
#: The classes by name, in the order of the tables.
METHODS: dict[str, Any] = {name: globals()[name] for name in __all__}
