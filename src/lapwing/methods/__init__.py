"""The named methods, each of which says what its problem is, and the list that every table of methods is read from."""

import re
from typing import Any

from sklearn.utils import get_tags

from ..reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer, MultilinearReducer
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
MAPS = {LinearReducer: "linear", KernelReducer: "kernel", FreeReducer: "free"}
MAPS |= {MultilinearReducer: "multilinear", FeatureSelector: "one feature"}
ASCII = str.maketrans(
    {"−": "-", "ᵀ": "'", "α": "alpha", "β": "beta", "λ": "lambda", "ξ": "xi", "⁻": "^-", "¹": "1", "`": None}
)


def described(method: Any) -> dict[str, str]:
    """The row of a method in a table, as Markdown."""
    first_line = (method.__doc__ or "").strip().split("\n")[0]
    needed, has_graph = get_tags(method()).target_tags.required, "graph" in method().get_params(deep=False)
    return {
        "method": method.__name__,
        "family": method.about.family,
        "minimises": method.about.minimises,
        "map": next(name for base, name in MAPS.items() if issubclass(method, base)),
        "constraint": method.about.constraint,
        "labels": "needed" if needed else "optional" if has_graph else "unused",
        "description": re.sub(r":class:`(\w+)`", r"`\1`", first_line),
    }


def plain(text: str) -> str:
    """Markdown as ASCII, which every terminal can print."""
    return text.translate(ASCII)
