"""A comparison as one HTML page that works offline."""

from __future__ import annotations

import base64
import gzip
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from .._extras import require
from .._replacing import write_whole
from .._validation import check_count
from ._content import content

__all__ = ["write_report"]


def write_report(
    path: str | os.PathLike[str],
    comparison: Any,
    X: Any,
    y: Any = None,
    *,
    feature_names: Any = None,
    ids: Any = None,
    images: Any = None,
    texts: Any = None,
    title: str = "Projections compared",
    max_points: int = 2000,
    command: str | None = None,
) -> Path:
    """Write a comparison as one HTML file, which needs nothing but a browser of 2023 or later.

    It shows the summary with a recommendation, embeddings in two and three dimensions where a sample appears as one points at
    it, scores by dimension, spectra, components, neighbourhoods, the graph, the confusion matrix, and the code.

    Parameters
    ----------
    path : path
        Of the file; an earlier one is replaced when the new one is complete.
    comparison : Comparison
        Of :func:`lapwing.comparison.compare`.
    X : array or sparse matrix of shape (n_samples, n_features)
        The data compared.
    y : array-like of shape (n_samples,), default=None
        Labels to colour the points by; None is those of the comparison.
    feature_names : array-like of str, default=None
    ids : array-like of shape (n_samples,), default=None
        Names of the rows; None is their numbers, from 1.
    images : array of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
        Shown as one points at a sample; where they have as many numbers as X has features, components are shown as images too.
    texts : sequence of str, default=None
        Shown as one points at a sample.
    title : str, default="Projections compared"
    max_points : int, default=2000
        Of more samples so many are shown, spread evenly over the rows.
    command : str or None, default=None
        The command that made the comparison, to be shown.

    Returns
    -------
    Path
    """
    shown = content(
        comparison,
        X,
        y,
        feature_names=feature_names,
        ids=ids,
        images=images,
        texts=texts,
        max_points=check_count("max_points", max_points),
    )
    jinja2 = require("jinja2", "report")
    folder = files(__package__)
    page = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    html = page.from_string((folder / "page.html.jinja").read_text("utf-8")).render(
        title=title,
        command=command,
        content=shown,
        style=(folder / "page.css").read_text("utf-8"),
        script=(folder / "page.js").read_text("utf-8"),
        plotly=_packed_plotly(),
    )
    write_whole(path, html.encode())
    return Path(path)


def _packed_plotly() -> str:
    """Plotly's script, compressed: five megabytes as one and a half."""
    source = require("plotly.offline", "report").get_plotlyjs()
    return base64.b64encode(gzip.compress(source.encode("utf-8"), 9, mtime=0)).decode("ascii")
