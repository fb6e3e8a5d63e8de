"""``lapwing reproduce``: the published experiments."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from ._console import print_table, progress, say

if TYPE_CHECKING:
    from ..papers.experiments import Experiment, Summary

VERDICTS = {
    "reproduced": "reproduced",
    "same ordering": "same ordering",
    "baselines differ too": "where baselines differ too",
    "not reproduced": "not",
}


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments, or how their names begin; none lists them.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run all of them.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A few repetitions of the cheap ones.")] = False,
    public: Annotated[bool, typer.Option("--public", help="Only data that scikit-learn ships or makes.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of results, tables, pictures and page.")
    ] = Path("out/evidence"),
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes; one per core if not given.")] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Run nothing; write the page of the results that come with lapwing.")
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Run nothing; put the results of the folder among those that come with lapwing."),
    ] = False,
) -> None:
    """Repeat published experiments beside their printed numbers.

    What is done is kept: a run that was stopped goes on where it was.
    """
    papers = _experiments()
    if page or keep:
        if names or everything or quick or public or (page and keep):
            raise typer.BadParameter(
                "each stands alone: it runs nothing, so it takes no experiments", param_hint="--page, --keep"
            )
        _look(output, keep)
        return
    if jobs is not None and jobs < 1:
        raise typer.BadParameter(f"{jobs} processes cannot work; give 1 or more", param_hint="--jobs")
    if names and everything:
        raise typer.BadParameter("name experiments, or give --all", param_hint="--all")
    if not names and not everything and not quick and not public:
        _list(output)
        return
    if quick and public:
        raise typer.BadParameter("give --quick or --public", param_hint="--public")
    chosen = [e for name in names for e in papers.group(name)] if names else list(papers.experiments().values())
    left_out = [e.name for e in chosen if not (e.public_tasks() if public else e.tasks(quick))]
    if names and left_out:
        tier = "quick" if quick else "public"
        raise typer.BadParameter(f"{', '.join(left_out)} has no {tier} tier; run it without", param_hint=f"--{tier}")
    _run([e for e in chosen if e.name not in left_out], output, {"quick": quick, "public": public}, jobs, not names)


def _experiments() -> ModuleType:
    try:
        from ..papers import experiments
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("lapwing.papers"):
            raise
        raise ImportError(
            "the published experiments, lapwing.papers, are not installed; install lapwing again, from its source"
        ) from error
    return experiments


def _list(folder: Path) -> None:
    from ..papers.experiments import IMPOSSIBLE, collected, experiments

    done = {s.experiment.name: s for s in collected(experiments().values(), folder)}
    rows = [[e.name, e.source, str(len(e.tasks())), _short(done.get(e.name))] for e in experiments().values()]
    print_table(["experiment", "source", "repetitions", f"found so far in {folder}"], rows, right="  r ")
    say("\nNot possible:")
    for what, why in IMPOSSIBLE.items():
        say(f"  {what}: {why}")
    say("\nlapwing reproduce NAME runs one, --all all, --quick a few repetitions of the cheap ones.")
    say("lapwing reproduce guide --public compares methods on data that scikit-learn ships or makes.")


def _short(summary: Summary | None) -> str:
    if summary is None:
        return ""
    return ", ".join(f"{n} {VERDICTS[verdict]}" for verdict, n in summary.verdicts.items() if n) or "measured"


def _run(chosen: list[Experiment], folder: Path, tier: dict[str, bool], jobs: int | None, go_on: bool) -> None:
    """Run the experiments one after the other. With ``go_on``, one that fails is noted, and the others are run."""
    from ..papers.experiments import ExperimentError

    failed: dict[str, str] = {}
    try:
        for number, experiment in enumerate(chosen, start=1):
            try:
                _one(experiment, folder, tier, jobs, f"{number} of {len(chosen)}: ", whole=len(chosen) == 1)
            except (OSError, ExperimentError) as error:  # an error of its data, or of its repetitions
                if not go_on:
                    raise
                failed[experiment.name] = str(error)
                say(f"{experiment.name}: {error}")
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            _page(folder, failed)
        raise
    _page(folder, failed)
    if failed:
        say(f"not run: {', '.join(failed)}")
        raise typer.Exit(1)


def _one(
    experiment: Experiment, folder: Path, tier: dict[str, bool], jobs: int | None, place: str, whole: bool
) -> None:
    from ..papers.experiments import run

    with progress(experiment.name) as show:

        def tell(name: str, done: int, total: int) -> None:
            show(done, total, place + name)

        summary = run(experiment, folder, **tier, n_jobs=jobs, progress=tell)
    _show(summary, whole)


def _look(folder: Path, keep_first: bool) -> None:
    from ..papers.experiments import experiments, keep

    if keep_first:
        kept = keep(experiments().values(), folder)
        for path in kept:
            say(f"wrote {path}")
        if not kept:
            say(f"{folder} has no results; run experiments with --output {folder} first")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        _page(folder, {}, kept=True)


def _page(folder: Path, failed: dict[str, str], kept: bool = False) -> None:
    from ..papers.experiments import IMPOSSIBLE, collected, experiments, write_page

    if found := collected(experiments().values(), folder, kept=kept):
        say(f"{write_page(found, folder, notes=IMPOSSIBLE | failed)} has it all")


def _show(summary: Summary, whole: bool) -> None:
    if summary.experiment.table is not None:
        typer.echo(f"{summary.experiment.name}: {summary.experiment.source}")
        head, rows = summary.experiment.table(summary)
        print_table(head, rows)
        return
    if not whole:
        typer.echo(f"{summary.experiment.name}: {_short(summary)}")
        return
    rows = [
        [
            c.quantity,
            c.condition,
            c.method,
            "" if c.dimension is None else f"{c.dimension:g}",
            "" if c.published is None else f"{c.published:g}",
            f"{c.measured:.4g}",
            f"{c.spread:.2g}",
            c.verdict if c.published is not None else "",
        ]
        for c in summary.cells
    ]
    columns = ["quantity", "condition", "method", summary.experiment.axis, "published", "measured", "spread", "verdict"]
    print_table(columns, rows, right="   rrrr ")
    for claim, found, share, verdict in summary.claims:
        typer.echo(f"{verdict}: {claim.text} ({found:.4g}, holds in {share:.0%})")
