"""A comparison as one HTML page that works offline."""

from __future__ import annotations

import base64
import gzip
import io
import os
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .._extras import require, write_whole
from .._validation import check_count
from ._content import atlas, content

__all__ = ["report_page", "write_atlas", "write_report"]

# Each control character but tab and line ends, as Unicode has a picture of it, or a question mark in a diamond.
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
CONTROLS |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


def write_report(path: str | os.PathLike[str], comparison: Any, **options: Any) -> Path:
    """Write a comparison as one HTML file, which needs nothing but a browser of 2023 or later.

    The page begins with what was found, in plain sentences, the classes and their confusion, and a map of the rows in the
    recommended space. Point at a row to see it, click to see its neighbours before and after. Below stand what the dimensions
    are made of, with intervals, scores by dimension, the table of all methods, the columns, and last the neighbourhoods
    that are kept, and the code that repeats the fit. In a notebook a comparison shows the same page by itself.

    Parameters
    ----------
    path : path
        The file to write; an earlier one is replaced when the new one is complete.
    comparison : Comparison
        What :func:`lapwing.comparison.compare` has found.
    **options
        Parameters of :func:`report_page`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import compare
    >>> from lapwing.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, methods=["PCA", "LPP"])
    >>> with TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", found).name
    'report.html'
    """
    write_whole(path, report_page(comparison, **options).encode())
    return Path(path)


def report_page(
    comparison: Any,
    *,
    columns: Any = None,
    feature_names: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    images: ArrayLike | None = None,
    texts: ArrayLike | None = None,
    max_points: int = 2000,
    loading: str | None = None,
    title: str = "Projections compared",
    command: str | None = None,
    fitting: str | None = None,
) -> str:
    """The page that :func:`write_report` writes, as text.

    Parameters
    ----------
    comparison : Comparison
        What :func:`lapwing.comparison.compare` has found.
    columns : data frame, or mapping of name to array, default=None
        The columns before they were prepared, such as ages in years and dates, which are shown of each row. None shows X.
    feature_names, ids : array-like of str, default=None
        The names of the columns of X, and of the rows; None is numbers.
    images : array of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
        A picture of each sample. Where pictures have as many numbers as X has features, components are pictures too.
    texts : array-like of str, default=None
        A text of each sample, such as the document behind a row of X, shown in the place of its columns.
    max_points : int, default=2000
        Where there are more samples than this, only so many are shown, spread evenly over the rows.
    loading : str or None, default=None
        Python that defines ``X``, ``y`` and, where rows were prepared, ``preparation``, to stand before the code. None is a
        comment that says what they are.
    title : str, default="Projections compared"
        The title of the page.
    command, fitting : str or None, default=None
        The commands that made the comparison, and that fit what is recommended, to be shown.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import compare
    >>> from lapwing.report import report_page
    >>> X, y = load_iris(return_X_y=True)
    >>> report_page(compare(X, y, methods=["PCA", "LPP"]), title="Iris").lstrip()[:15]
    '<!doctype html>'
    """
    rows = {"columns": columns, "feature_names": feature_names, "ids": ids, "images": images, "texts": texts}
    shown = content(comparison, max_points=check_count("max_points", max_points, 2), loading=loading, **rows)
    jinja2 = require("jinja2", "report")
    style, script, template = (
        (files(__package__) / name).read_text("utf-8") for name in ("page.css", "page.js", "page.html.jinja")
    )
    plotly = require("plotly.offline", "report").get_plotlyjs().encode("utf-8")
    page = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=_visible
    )
    return page.from_string(template).render(
        title=title,
        command=command,
        fitting=fitting,
        content=shown,
        comparison=comparison,
        style=style,
        script=script,
        plotly=_base64(gzip.compress(plotly, 9, mtime=0)),  # 1.5 MB in the place of 5
        # The content security policy of the page names the scripts that may run by their hashes.
        scripts=[f"sha256-{_base64(sha256(source).digest())}" for source in (script.encode("utf-8"), plotly)],
    )


def _visible(value: Any) -> Any:
    """Text whose control characters are pictures of them, since a terminal that shows the file would obey them."""
    return value.translate(CONTROLS) if isinstance(value, str) else value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def write_atlas(
    path: str | os.PathLike[str],
    comparison: Any,
    *,
    ids: ArrayLike | None = None,
    feature_names: ArrayLike | None = None,
    max_points: int = 10_000,
) -> Path:
    """Write the recommended space as a Parquet file for Embedding Atlas.

    The columns are ``id``, ``x`` and ``y`` (a two-dimensional map of all dimensions of the space), ``neighbors`` (for each
    row the numbers of its 15 nearest rows in the space, and their distances), ``label`` and ``predicted`` where there are
    labels, and the features, up to 50. ``embedding-atlas FILE --x x --y y --neighbors neighbors`` shows it.

    Parameters
    ----------
    path : path
        The file to write, ``.parquet``; an earlier one is replaced when the new one is complete.
    comparison : Comparison
        What :func:`lapwing.comparison.compare` has found.
    ids, feature_names : default=None
        What :func:`report_page` takes.
    max_points : int, default=10000
        Where there are more rows than this, only so many are written, spread evenly.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import compare
    >>> from lapwing.report import write_atlas
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, methods=["PCA", "LPP"])
    >>> with TemporaryDirectory() as folder:
    ...     write_atlas(f"{folder}/atlas.parquet", found).name
    'atlas.parquet'
    """
    table = atlas(comparison, ids, feature_names, check_count("max_points", max_points, 2))
    pyarrow, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(table), file)
    write_whole(path, file.getvalue())
    return Path(path)
