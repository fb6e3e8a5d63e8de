"""The methods as the papers print them, and as the kept results were measured, whatever the library's defaults become.

Defaults follow what is measured to serve users best (docs/defaults.md), and change with that. An experiment repeats a paper,
whose settings are fixed. :func:`published` is the printed equation, ``preset="paper"``. Results that are kept were measured with
readings that differ from it in a few parameters, which :func:`as_kept` names one by one.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, TypeVar

from lapwing import L21PCA, LPI, RobustGLPCA

__all__ = ["MAY_CHANGE", "as_kept", "published"]

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
    "rho",
    "normalize",
    "gamma",
    "unit_rows",
)
BY_EXPERIMENT = ("n_components", "graph", "pca")
# Columns as they are, no ridge and graphs added as they are written, as printed. Unlike the printed equations, directions are of
# unit length, and X is centred, by the degrees where the constraint has some.
SETTINGS = {
    "standardize": False,
    "center": "auto",
    "scaling": "unit",
    "ridge": 0.0,
    "normalize": None,
    "gamma": "scale",
    "unit_rows": False,
}
OWN: dict[type, dict[str, Any]] = {
    LPI: {"ridge": 10.0},
    L21PCA: {"center": "mean", "rho": 1.02},
    RobustGLPCA: {"center": "mean", "rho": 1.02},
}


def published(method: type[T], *args: Any, **params: Any) -> T:
    """An estimator as its paper prints it: ``preset="paper"``, with the given parameters beside it.

    Parameters
    ----------
    method : class
        Of :mod:`lapwing`.
    *args, **params
        Its parameters. Those of ``n_components`` and ``graph`` that it has are among them.

    Returns
    -------
    object of class ``method``

    Examples
    --------
    >>> from lapwing import LPP
    >>> from lapwing_papers.published import published
    >>> published(LPP, 10, graph=7)
    LPP(graph=7, n_components=10, preset='paper')
    """
    return method(**{"preset": "paper"} | _named(method, BY_EXPERIMENT[:2], *args, **params))


def as_kept(method: type[T], *args: Any, **params: Any) -> T:
    """An estimator as the kept results were measured, in which every parameter of :data:`MAY_CHANGE` is given.

    It differs from :func:`published` in the length of directions (1) and in the centre, in LPI's ridge (10, where the thesis has
    none), and in the rho of the robust methods (1.02, where the paper has 1.1 to 1.5).

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
    >>> from lapwing_papers.published import as_kept
    >>> as_kept(LPP, 10, graph=7, pca=0.98).scaling
    'unit'
    """
    accepted, given = signature(method).parameters, _named(method, BY_EXPERIMENT, *args, **params)
    settings = SETTINGS | OWN.get(method, {})
    return method(**{name: value for name, value in settings.items() if name in accepted} | given)


def _named(method: type, needed: tuple[str, ...], *args: Any, **params: Any) -> dict[str, Any]:
    """The parameters by their names. Raise where one of those that an experiment has to name is missing."""
    accepted, given = signature(method).parameters, signature(method).bind_partial(*args, **params).arguments
    missing = [name for name in needed if name in accepted and name not in given]
    if missing:
        raise TypeError(f"an experiment says what it does: give {method.__name__} {', '.join(missing)}")
    return given
