"""The named methods: each a declaration of its problem."""

from ._discriminant import DNE, LPDP, MFA, MMC
from ._local import LPCA, TangentialMaps
from ._locality import LPP, OLPP
from ._neighborhood import NPE, ONPP

__all__ = ["DNE", "LPCA", "LPDP", "LPP", "MFA", "MMC", "NPE", "OLPP", "ONPP", "TangentialMaps"]
