"""Runs experiments: in parallel, resumable, with progress."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ._data import dataset
from ._experiment import Experiment, Summary, Task, Values
from ._kept import Kept
from ._page import save_pictures, save_table
from ._store import ResultsError, Store

Progress = Callable[[str, int, int], None]  # experiment, repetitions done, of how many


class ExperimentError(RuntimeError):
    """A repetition failed; those before it are kept."""


def run(
    experiment: Experiment,
    folder: Path | str,
    *,
    quick: bool = False,
    public: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Measure what is not yet in ``folder``, and summarise.

    Repetitions are independent and seeded, so the numbers do not depend on ``n_jobs``, nor on how often the run was
    interrupted. Each is kept as soon as it is done.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        Holds ``results/NAME.jsonl``, ``NAME.csv`` and pictures.
    quick : bool, default=False
        A few repetitions only.
    public : bool, default=False
        Only the conditions that need no file.
    n_jobs : int or None, default=None
        Processes; None is one for each core.
    progress : callable, default=None
        Called with name, done, total.

    Returns
    -------
    Summary
    """
    for name in () if public else experiment.data:
        dataset(name)  # says what is missing or damaged before anything is measured
    folder = Path(folder)
    (folder / "results").mkdir(parents=True, exist_ok=True)
    store = Store(folder / "results", experiment)
    tasks = experiment.public_tasks() if public else experiment.tasks(quick)
    results = store.read()
    missing = [task for task in tasks if task not in results]
    done = len(tasks) - len(missing)
    report = progress or (lambda *_: None)
    report(experiment.name, done, len(tasks))
    for task, values, seconds in _measured(experiment, missing, n_jobs):
        store.append(task, values, seconds)
        done += 1
        report(experiment.name, done, len(tasks))
    summary = _summary(experiment, [Store(folder / "results", experiment)])
    save_table(summary, folder)
    save_pictures(summary, folder)
    return summary


def collected(
    experiments: Iterable[Experiment], folder: Path | str | None = None, *, kept: bool = False
) -> list[Summary]:
    """What was measured of those experiments of which anything was.

    Results that cannot be read are left out, with a warning.

    Parameters
    ----------
    experiments : iterable of Experiment
    folder : path, default=None
        Of earlier runs.
    kept : bool, default=False
        Whether kept results stand in for experiments of which the folder has none.

    Returns
    -------
    list of Summary
    """
    found = []
    for experiment in experiments:
        stores = [] if folder is None else [Store(Path(folder) / "results", experiment)]
        if kept:
            stores.append(Kept(experiment))
        try:
            summary = _summary(experiment, stores)
        except ResultsError as error:
            warnings.warn(str(error), stacklevel=2)
            continue
        if summary.keys:
            found.append(summary)
    return found


def _summary(experiment: Experiment, stores: Iterable[Store]) -> Summary:
    """Of all that the first store has that has any, whether a quick run or a full one left it."""
    wanted = dict.fromkeys([*experiment.tasks(), *experiment.tasks(quick=True)])
    for store in stores:
        results = store.read()
        if found := {task: results[task] for task in wanted if task in results}:
            return Summary(experiment, found, store.versions, store.seconds)
    return Summary(experiment, {})


def _measured(experiment: Experiment, tasks: Sequence[Task], n_jobs: int | None) -> Any:
    n_jobs = min(n_jobs or os.cpu_count() or 1, max(len(tasks), 1))
    if n_jobs == 1:
        yield from (_one(experiment, task) for task in tasks)
        return
    with Parallel(n_jobs, return_as="generator_unordered") as parallel:
        yield from parallel(delayed(_one)(experiment, task) for task in tasks)


def _one(experiment: Experiment, task: Task) -> tuple[Task, Values, float]:
    start = time.process_time()  # of this process: what else runs does not lengthen it
    with threadpool_limits(1):  # processes share the cores; more threads would wait for each other, and change rounding
        try:
            values = experiment.measure(task.condition, task.seed)
        except Exception as error:
            where = f"{experiment.name}, {task.condition or 'no condition'}, seed {task.seed}"
            raise ExperimentError(f"{where}: {type(error).__name__}: {error}") from error
    return task, json.loads(json.dumps(values)), time.process_time() - start
