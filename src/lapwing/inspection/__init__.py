"""What a fitted model tells: which features make its components, and how certain its directions are."""

from .._documented import public
from ._directions import directions, steps
from ._loadings import Loadings, loadings
from ._sampling import sampling_error
from ._stability import Stability, stability

__all__ = ["Loadings", "Stability", "directions", "loadings", "sampling_error", "stability", "steps"]
public(__name__, __all__, globals())
