"""What methods say about themselves. Every table of methods is made from it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sklearn.utils import get_tags

from ..reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer, MultilinearReducer

MAPS = {
    LinearReducer: "linear",
    KernelReducer: "kernel",
    FreeReducer: "free",
    MultilinearReducer: "multilinear",
    FeatureSelector: "one feature",
}
ASCII = str.maketrans(
    {"−": "-", "ᵀ": "'", "α": "alpha", "β": "beta", "λ": "lambda", "ξ": "xi", "⁻": "^-", "¹": "1", "`": None}
)
EXAMPLE = """
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import {name}
    >>> {name}(2).fit_transform(*load_iris(return_X_y=True)).shape
    (150, 2)
    """


class About(NamedTuple):
    """What the class of a method says about itself. Its map, and whether it needs labels, are known without it.

    Texts are Markdown, in the letters of the papers: L is the Laplacian of a graph, D its degrees, W weights that reconstruct
    samples, S_w and S_b the scatters within and between classes.
    """

    family: str
    minimises: str  # the matrix A
    constraint: str  # the matrix B, or "orthogonal"
    # The kinds of data on which ``compare`` tries it by default: "dense", "sparse", "counts" (sparse, none negative), and
    # "unlabelled" (and dense).
    compared_on: tuple[str, ...] = ()

    def __set_name__(self, method: type, name: str) -> None:
        """Let a method carry the module that users import it from, so that moving its file breaks no model, and an example."""
        if method.__doc__ and ">>>" not in method.__doc__:
            method.__doc__ = f"{method.__doc__.rstrip()}\n{EXAMPLE.format(name=method.__name__)}"
        if method.__module__.startswith(f"{__package__}."):
            method.__module__ = __package__.partition(".")[0]


def described(method: Any) -> dict[str, str]:
    """The row of a method in a table, as Markdown."""
    first_line = (method.__doc__ or "").strip().split("\n")[0]
    needed, has_graph = get_tags(method()).target_tags.required, "graph" in method().get_params(deep=False)
    return {
        "method": method.__name__,
        "family": method.about.family,
        "minimises": method.about.minimises,
        "map": next(name for base, name in MAPS.items() if issubclass(method, base)),
        "constraint": method.about.constraint,
        "labels": "needed" if needed else "optional" if has_graph else "unused",
        "description": re.sub(r":class:`(\w+)`", r"`\1`", first_line),
    }


def plain(text: str) -> str:
    """Markdown as ASCII, which every terminal can print."""
    return text.translate(ASCII)
