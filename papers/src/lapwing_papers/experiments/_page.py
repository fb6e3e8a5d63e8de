"""What a run leaves: tables, pictures, and one page for a sceptic."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.plots import COLORS, MARKERS

from .._extras import require
from .._files import write_whole
from ._evidence import PAPERS, paper_of, sentence, tallies
from ._experiment import VERDICTS, Cell, Summary
from ._investigations import INVESTIGATIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_table(summary: Summary, folder: Path) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    names = (
        "quantity",
        "condition",
        "method",
        "dimension",
        "published",
        "measured",
        "spread",
        "repetitions",
        "verdict",
    )
    table.writerow(names)
    for c in summary.cells:
        row = (c.quantity, c.condition, c.method, c.dimension, c.published, round(c.measured, 4), round(c.spread, 4))
        table.writerow((*row, c.n, c.verdict))
    for claim, found, share, verdict in summary.claims:
        table.writerow(("claim", "", claim.text, "", "", round(found, 4), f"holds in {share:.0%}", "", verdict))
    write_whole(folder / f"{summary.experiment.name}.csv", text.getvalue().encode())


def save_pictures(summary: Summary, folder: Path) -> None:
    """``NAME-1.png``, ..., and their captions in ``results/NAME.captions.json``."""
    name, captions = summary.experiment.name, []
    for number, (caption, figure) in enumerate(_figures(summary).items(), start=1):
        picture = io.BytesIO()
        figure.savefig(picture, dpi=110, bbox_inches="tight")
        write_whole(folder / f"{name}-{number}.png", picture.getvalue())
        captions.append(caption)
    write_whole(folder / "results" / f"{name}.captions.json", json.dumps(captions).encode())


def _figures(summary: Summary) -> Mapping[str, Figure]:
    drawn = dict(summary.experiment.pictures(summary)) if summary.experiment.pictures else {}
    curves = [key for key in summary.keys if summary.is_curve(*key)]
    if summary.experiment.curves and curves:
        for quantity in dict.fromkeys(key[0] for key in curves):
            drawn[
                f"{quantity} over {summary.experiment.axis}; the band is one standard deviation, large marks are published"
            ] = draw_curves(summary, quantity, [key for key in curves if key[0] == quantity])
    return drawn


def panels(rows: int, columns: int, *, width: float = 3.2, height: float = 3.0) -> tuple[Figure, np.ndarray]:
    """A figure with a grid of axes, of inches each."""
    figure = require("matplotlib.figure", "plots").Figure((width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def draw_curves(summary: Summary, quantity: str, keys: Sequence[tuple[str, str, str]]) -> Figure:
    """One panel a condition, one line a method."""
    conditions = list(dict.fromkeys(key[1] for key in keys))
    columns = min(3, len(conditions))
    rows = -(-len(conditions) // columns)
    figure, axes = panels(rows, columns, width=4.6, height=3.4)
    for place in axes.flat[len(conditions) :]:
        place.axis("off")
    for place, condition in zip(axes.flat, conditions, strict=False):
        _panel(place, summary, quantity, condition)
    axes.flat[0].set_ylabel(quantity)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _panel(axes: Any, summary: Summary, quantity: str, condition: str) -> None:
    published = summary.experiment.published.get(quantity, {}).get(condition, {})
    methods = [key[2] for key in summary.keys if key[:2] == (quantity, condition)]
    for i, method in enumerate(methods):
        color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
        runs = summary.runs(quantity, condition, method)
        if runs.ndim == 1:
            axes.axhline(runs.mean(), color=color, ls="--", lw=1, label=method)
            continue
        x, mean, spread = np.asarray(summary.experiment.dimensions), runs.mean(axis=0), runs.std(axis=0)
        axes.plot(x, mean, color=color, marker=marker, ms=3, lw=1.3, label=method)
        axes.fill_between(x, mean - spread, mean + spread, color=color, alpha=0.12, lw=0)
        points = published.get(method)
        points = points if isinstance(points, Mapping) else {}
        axes.plot(list(points), list(points.values()), marker, mfc="none", mec=color, ms=9, mew=1.5)
    axes.set(title=condition, xlabel=summary.experiment.axis)
    axes.grid(alpha=0.25)


def write_page(
    summaries: Iterable[Summary],
    folder: Path | str,
    *,
    notes: Mapping[str, str] | None = None,
    program: str = "python -m lapwing_papers",
) -> Path:
    """``evidence.html``: every experiment measured so far, whole in one file.

    Parameters
    ----------
    summaries : iterable of Summary
    folder : path
        Where the pictures are, and the page goes.
    notes : mapping of str to str, default=None
        Experiments that are not there, and why.
    program : str, default="python -m lapwing_papers"
        The command that repeats an experiment.

    Returns
    -------
    Path
    """
    folder, jinja2 = Path(folder), require("jinja2", "report")
    environment = jinja2.Environment(loader=jinja2.PackageLoader("lapwing_papers.experiments", "."), autoescape=True)
    summaries = list(summaries)
    sections = [_section(summary, folder) for summary in summaries]
    found = tallies(summaries)
    page = environment.get_template("page.html").render(
        sections=sections,
        papers=_by_paper(sections),
        names=PAPERS | {OWN: "lapwing's own"},
        tallies=found,
        claim=sentence(found),
        verdicts=VERDICTS,
        versions=sorted({v for s in sections for v in s["versions"]}),
        minutes=sum(s.seconds for s in summaries) / 60,
        notes=notes or {},
        program=program,
    )
    path = folder / "evidence.html"
    write_whole(path, page.encode())
    return path


OWN = "own"  # experiments of no paper


def _by_paper(sections: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for section in sections:
        found.setdefault(paper_of(section["experiment"].name) or OWN, []).append(section)
    return {paper: found[paper] for paper in (*PAPERS, OWN) if paper in found}


def _section(summary: Summary, folder: Path) -> dict[str, Any]:
    experiment = summary.experiment
    captions = folder / "results" / f"{experiment.name}.captions.json"
    pictures = json.loads(captions.read_text()) if captions.exists() else []
    return {
        "experiment": experiment,
        "seeds": f"{summary.n_repeats} of {experiment.n_repeats}",
        "versions": summary.versions,
        "tables": _tables(summary.cells),
        "claims": summary.claims,
        "verdicts": summary.verdicts,
        "baselines": [m for m in experiment.baselines if any(c.method == m and c.published for c in summary.cells)],
        "why": INVESTIGATIONS.get(experiment.name, ""),
        "pictures": [
            (caption, base64.b64encode((folder / f"{experiment.name}-{i}.png").read_bytes()).decode())
            for i, caption in enumerate(pictures, start=1)
        ],
    }


def _tables(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    return {q: [cell for cell in cells if cell.quantity == q] for q in dict.fromkeys(cell.quantity for cell in cells)}
