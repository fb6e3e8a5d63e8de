"""The published experiments, and what only they need. The rest of lapwing works without this package.

lapwing implements methods of five papers, and repeats the papers' tables and figures to show that it computes what they
describe. Here are the :mod:`~lapwing.papers.experiments`, which ``lapwing reproduce`` runs, the :mod:`~lapwing.papers.datasets`
they are measured on, the settings of the papers, :mod:`~lapwing.papers.published`, which stay as they are when defaults change,
and what the papers use beside their methods or compare with:

- :mod:`~lapwing.papers.features`: histograms of local binary patterns, by which the Laplacian PCA paper describes faces;
- :mod:`~lapwing.papers.recognition`: random-sampling subspace LDA, by which that paper recognises them;
- :mod:`~lapwing.papers.factorisation`: semi-NMF, a clustering that graph-Laplacian PCA is compared with;
- :mod:`~lapwing.papers.retrieval`: the measures by which He's thesis judges spaces of documents.

>>> from lapwing.papers.datasets import make_scherk
>>> X, coordinates = make_scherk(500, random_state=0)
>>> X.shape, coordinates.shape
((500, 3), (500, 2))
"""

from importlib import import_module
from typing import Any

_PARTS = ("datasets", "experiments", "factorisation", "features", "published", "recognition", "retrieval")


def __getattr__(name: str) -> Any:
    # Looked up when asked for: a data set can be loaded without waiting for the experiments.
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_PARTS]
