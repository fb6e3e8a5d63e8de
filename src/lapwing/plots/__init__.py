"""Pictures by matplotlib, in the style of scikit-learn's displays.

Each picture is a display: ``SomeDisplay.from_estimator(...)`` computes what is shown and draws it, the display keeps it, and
``plot`` draws it again elsewhere. :func:`scatter`, :func:`components`, :func:`loadings`, :func:`spectrum` and :func:`compare`
 are the short way.
"""

from .._public import public
from ._axes import COLORS, MARKERS
from ._comparison import ComparisonDisplay, compare
from ._components import ComponentsDisplay, components
from ._embedding import EmbeddingDisplay, scatter
from ._loadings import LoadingsDisplay, loadings
from ._spectrum import SpectrumDisplay, spectrum

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
