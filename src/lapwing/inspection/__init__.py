"""What a fitted model tells: which features make its components, and how certain its directions are."""

from ._directions import directions, steps
from ._loadings import Loadings, loadings

__all__ = ["Loadings", "directions", "loadings", "steps"]
