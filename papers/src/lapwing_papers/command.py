"""Runs experiments from the command line: ``python -m lapwing_papers``, and the guide of the benchmarks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .experiments import Experiment, ExperimentError, Summary, collected, group, keep, run, write_page

__all__ = ["reproduce"]

VERDICTS = {
    "reproduced": "reproduced",
    "same ordering": "same ordering",
    "baselines differ too": "where baselines differ too",
    "not reproduced": "not",
}


def reproduce(
    declared: Mapping[str, Experiment],
    arguments: Sequence[str] | None = None,
    *,
    program: str,
    impossible: Mapping[str, str] | None = None,
) -> int:
    """Run experiments, list them, or look at what was measured.

    Parameters
    ----------
    declared : mapping of str to Experiment
        The experiments that there are.
    arguments : sequence of str, default=None
        Those of the command line; None are the program's own.
    program : str
        How the command is called.
    impossible : mapping of str to str, default=None
        What cannot be repeated, and why.

    Returns
    -------
    int
        The exit code: 1 where something failed, 130 after Ctrl-C. Wrong usage raises ``SystemExit(2)``.
    """
    parser = _parser(program)
    given = parser.parse_args(arguments)
    if problem := _misused(given):
        parser.error(problem)
    impossible = impossible or {}
    try:
        if given.keep:
            _keep(declared, given.output)
        elif given.page:
            given.output.mkdir(parents=True, exist_ok=True)
            _page(declared, given.output, impossible, program, kept=True)
        elif not (given.names or given.all or given.quick or given.public):
            _list(declared, given.output, program, impossible)
        else:
            chosen = [e for name in given.names for e in group(declared, name)] or list(declared.values())
            left_out = [e.name for e in chosen if not _tasks(e, given)]
            if given.names and left_out:
                tier = "quick" if given.quick else "public"
                parser.error(f"{', '.join(left_out)} has no {tier} tier; run it without --{tier}")
            return _run(declared, [e for e in chosen if e.name not in left_out], given, impossible, program)
    except (OSError, ValueError, RuntimeError) as error:
        _say(f"{program}: {error}")
        return 1
    except KeyboardInterrupt:
        _say(f"{program}: stopped; the same command goes on where it was")
        return 130
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Repeat published experiments beside their printed numbers. What is done is kept: a run that was stopped "
        "goes on where it was.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="experiments, or how their names begin; none lists them"
    )
    parser.add_argument("--all", action="store_true", help="run all of them")
    parser.add_argument("--quick", action="store_true", help="a few repetitions of the cheap ones")
    parser.add_argument("--public", action="store_true", help="only data that scikit-learn ships or makes")
    parser.add_argument(
        "--output", "-o", type=Path, default=Path("out/evidence"), help="folder of results, tables, pictures and page"
    )
    parser.add_argument("--jobs", "-j", type=int, help="processes; one per core if not given")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page of the kept results")
    parser.add_argument(
        "--keep", action="store_true", help="run nothing; put the results of the folder among the kept ones"
    )
    return parser


def _misused(given: argparse.Namespace) -> str:
    """What is wrong with the options, if anything is."""
    runs = bool(given.names or given.all or given.quick or given.public)
    if (given.page or given.keep) and (runs or (given.page and given.keep)):
        return "--page and --keep stand alone: they run nothing, so they take no experiments"
    if given.jobs is not None and given.jobs < 1:
        return f"--jobs={given.jobs}: so many processes cannot work; give 1 or more"
    if given.names and given.all:
        return "name experiments, or give --all"
    return "give --quick or --public" if given.quick and given.public else ""


def _tasks(experiment: Experiment, given: argparse.Namespace) -> Sequence[object]:
    return experiment.public_tasks() if given.public else experiment.tasks(given.quick)


def _list(declared: Mapping[str, Experiment], folder: Path, program: str, impossible: Mapping[str, str]) -> None:
    done = {s.experiment.name: s for s in collected(declared.values(), folder)}
    rows = [[e.name, e.source, str(len(e.tasks())), _short(done.get(e.name))] for e in declared.values()]
    _print_table(["experiment", "source", "repetitions", f"found so far in {folder}"], rows)
    if impossible:
        _say("\nNot possible:")
    for what, why in impossible.items():
        _say(f"  {what}: {why}")
    _say(f"\n{program} NAME runs one, --all all, --quick a few repetitions of the cheap ones.")


def _short(summary: Summary | None) -> str:
    if summary is None:
        return ""
    return ", ".join(f"{n} {VERDICTS[verdict]}" for verdict, n in summary.verdicts.items() if n) or "measured"


def _run(
    declared: Mapping[str, Experiment],
    chosen: Sequence[Experiment],
    given: argparse.Namespace,
    impossible: Mapping[str, str],
    program: str,
) -> int:
    """Run the experiments one after the other. Where none was named, one that fails is noted, and the others are run."""
    failed: dict[str, str] = {}
    try:
        for number, experiment in enumerate(chosen, start=1):
            try:
                _one(experiment, given, f"{number} of {len(chosen)}", whole=len(chosen) == 1)
            except (OSError, ExperimentError) as error:  # an error of its data, or of its repetitions
                if given.names:
                    raise
                failed[experiment.name] = str(error)
                _say(f"{experiment.name}: {error}")
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            _page(declared, given.output, {**impossible, **failed}, program)
        raise
    _page(declared, given.output, {**impossible, **failed}, program)
    if failed:
        _say(f"not run: {', '.join(failed)}")
    return 1 if failed else 0


def _one(experiment: Experiment, given: argparse.Namespace, place: str, whole: bool) -> None:
    def tell(name: str, done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{place}: {name} {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    summary = run(experiment, given.output, quick=given.quick, public=given.public, n_jobs=given.jobs, progress=tell)
    _show(summary, whole)


def _keep(declared: Mapping[str, Experiment], folder: Path) -> None:
    kept = keep(declared.values(), folder)
    for path in kept:
        _say(f"wrote {path}")
    if not kept:
        _say(f"{folder} has no results; run experiments with --output {folder} first")


def _page(
    declared: Mapping[str, Experiment], folder: Path, notes: Mapping[str, str], program: str, kept: bool = False
) -> None:
    if found := collected(declared.values(), folder, kept=kept):
        _say(f"{write_page(found, folder, notes=notes, program=program)} has it all")


def _show(summary: Summary, whole: bool) -> None:
    if summary.experiment.table is not None:
        print(f"{summary.experiment.name}: {summary.experiment.source}")
        _print_table(*summary.experiment.table(summary))
        return
    if not whole:
        print(f"{summary.experiment.name}: {_short(summary)}")
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
    _print_table(columns, rows)
    for claim, found, share, verdict in summary.claims:
        print(f"{verdict}: {claim.text} ({found:.4g}, holds in {share:.0%})")


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _say(message: str) -> None:
    """Print a message, which is not a result."""
    print(message, file=sys.stderr)
