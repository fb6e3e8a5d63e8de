"""lapwing: graph-Laplacian dimensionality reduction in the style of scikit-learn."""

from importlib.metadata import version

from .methods import DNE, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP

__version__ = version("lapwing")
__all__ = ["DNE", "LPDP", "LPP", "MFA", "MMC", "NPE", "OLPP", "ONPP"]
