"""The methods as the papers use them, whatever the library's defaults become.

Defaults follow what is measured to serve users best (docs/defaults.md), and change with that. An experiment repeats a paper,
whose settings are fixed, so it names them: :func:`published` builds an estimator in which every parameter of
:data:`MAY_CHANGE` is given, here or by the experiment.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, TypeVar

from lapwing import L21PCA, LPI, RobustGLPCA

__all__ = ["MAY_CHANGE", "published"]

T = TypeVar("T")

#: Parameters whose default may change; "n_components", "graph" and "pca" are for each experiment to name.
MAY_CHANGE = (
    "n_components",
    "graph",
    "pca",
    "standardize",
    "center",
    "scaling",
    "ridge",
    "normalize",
    "gamma",
    "unit_rows",
)
BY_EXPERIMENT = ("n_components", "graph", "pca")
# Columns as they are, directions of unit length, no ridge, graphs added as they are written.
SETTINGS = {
    "standardize": False,
    "center": "auto",
    "scaling": "unit",
    "ridge": 0.0,
    "normalize": None,
    "gamma": "scale",
    "unit_rows": False,
}
OWN: dict[type, dict[str, Any]] = {LPI: {"ridge": 10.0}, L21PCA: {"center": "mean"}, RobustGLPCA: {"center": "mean"}}


def published(method: type[T], *args: Any, **params: Any) -> T:
    """An estimator with the given parameters, and with the papers' settings for those that are not given.

    Parameters
    ----------
    method : class
        Of :mod:`lapwing`.
    *args, **params
        Its parameters. Those of ``n_components``, ``graph`` and ``pca`` that it has are among them.

    Returns
    -------
    object of class ``method``

    Examples
    --------
    >>> from lapwing import LPP
    >>> from lapwing_papers.published import published
    >>> published(LPP, 10, graph=7, pca=0.98).ridge
    0.0
    """
    accepted = signature(method).parameters
    given = signature(method).bind_partial(*args, **params).arguments
    missing = [name for name in BY_EXPERIMENT if name in accepted and name not in given]
    if missing:
        raise TypeError(f"an experiment says what it does: give {method.__name__} {', '.join(missing)}")
    settings = SETTINGS | OWN.get(method, {})
    return method(**{name: value for name, value in settings.items() if name in accepted} | given)
