"""Pictures by matplotlib, in the style of scikit-learn's displays.

Each picture is a display: ``SomeDisplay.from_estimator(...)`` computes what is shown and draws it, the display keeps it, and
``plot`` draws it again elsewhere. :func:`scatter`, :func:`components`, :func:`loadings`, :func:`spectrum` and :func:`compare`
 are the short way.
"""

from .._public import public
from ._axes import COLORS, MARKERS
from ._embedding import EmbeddingDisplay, scatter
from ._features import ComponentsDisplay, LoadingsDisplay, components, loadings
from ._lines import ComparisonDisplay, SpectrumDisplay, compare, spectrum

__all__ = [
    "COLORS",
    "MARKERS",
    "ComparisonDisplay",
    "ComponentsDisplay",
    "EmbeddingDisplay",
    "LoadingsDisplay",
    "SpectrumDisplay",
    "compare",
    "components",
    "loadings",
    "scatter",
    "spectrum",
]
public(__name__, __all__, globals())
