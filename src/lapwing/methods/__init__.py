"""The named methods, each of which says what its problem is, and the list that every table of methods is read from.

A file is imported when one of its methods is first asked for. Those of LPP and of LaplacianEigenmaps come first: the other
docstrings refer to their parameters.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .locality import LPP, NPE, OLPP, ONPP, TSA
from .spectral import DiffusionMaps, LaplacianEigenmaps

if TYPE_CHECKING:
    from .discriminant import DNE, LFDA, LPDP, LSDA, MFA, MMC
    from .kernel import KernelLDA, KernelLFDA, KernelLPP, KernelNPE
    from .local import LPCA, TangentialMaps
    from .pairs import RCA
    from .regression import LPI, SpectralRegression
    from .representation import GLPCA, L21PCA, MULTISPATI, ContrastivePCA, GraphPCA, RobustGLPCA
    from .scores import FisherScore, LaplacianScore

    METHODS: dict[str, Any]  #: The classes by name, in the order of the tables.

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
_FILES = {
    "discriminant": ("DNE", "LFDA", "LPDP", "LSDA", "MFA", "MMC"),
    "kernel": ("KernelLDA", "KernelLFDA", "KernelLPP", "KernelNPE"),
    "local": ("LPCA", "TangentialMaps"),
    "pairs": ("RCA",),
    "regression": ("LPI", "SpectralRegression"),
    "representation": ("GLPCA", "L21PCA", "MULTISPATI", "ContrastivePCA", "GraphPCA", "RobustGLPCA"),
    "scores": ("FisherScore", "LaplacianScore"),
}


def __getattr__(name: str) -> Any:
    if name == "METHODS":
        globals()[name] = {method: getattr(import_module(__name__), method) for method in __all__}
        return globals()[name]
    for file, names in _FILES.items():
        if name in names:
            return getattr(import_module(f".{file}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "METHODS"]
