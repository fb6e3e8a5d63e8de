"""Pictures by matplotlib: each function draws one, and gives the axes, or the figure where there are several axes."""

from ._axes import COLORS, MARKERS
from ._embedding import scatter
from ._features import components, loadings
from ._lines import compare, spectrum

__all__ = ["COLORS", "MARKERS", "compare", "components", "loadings", "scatter", "spectrum"]
