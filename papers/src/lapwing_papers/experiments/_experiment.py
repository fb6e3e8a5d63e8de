"""What an experiment is: its declaration, what it measures, and the verdict on what was published."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = dict[str, dict[str, Any]]  # method -> quantity -> a number, or a curve over the dimensions
SURE, RESAMPLES = 0.95, 200  # of the repetitions, for claims
REPRODUCED, ORDERED, NOT_REPRODUCED, NOT_PUBLISHED = "reproduced", "same ordering", "not reproduced", "not published"
BASELINES_DIFFER = "baselines differ too"
VERDICTS = (REPRODUCED, ORDERED, BASELINES_DIFFER, NOT_REPRODUCED)  # of what was published, best first


@dataclass(frozen=True)
class Task:
    """One repetition under one condition: what is done in one go, and kept."""

    condition: str
    seed: int


@dataclass(frozen=True)
class Reading:
    """What a paper leaves open, what was taken, and under which names in the table the other readings are measured."""

    question: str
    taken: str
    others: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that is no number of a table: what it says, and the number that decides.

    ``measure`` takes the :class:`Summary`; the claim holds where its number is at least ``at_least`` and at most ``at_most``,
    and still does in 95 % of bootstrap samples of the repetitions.
    """

    text: str
    measure: Callable[[Summary], float]
    at_least: float = -np.inf
    at_most: float = np.inf

    def verdict(self, summary: Summary) -> tuple[float, float, str]:
        """The number, the share of resampled repetitions in which the claim holds, and the verdict: 95 % are enough."""
        found = float(self.measure(summary))
        share = float(np.mean([self._holds(resampled) for resampled in summary.resampled]))
        return found, share, REPRODUCED if self._holds(summary) and share >= SURE else NOT_REPRODUCED

    def _holds(self, summary: Summary) -> bool:
        return bool(self.at_least <= self.measure(summary) <= self.at_most)


@dataclass(frozen=True)
class Cell:
    """One number of a table: what was published, what was measured, and the verdict."""

    quantity: str
    condition: str
    method: str
    dimension: float | None
    published: float | None
    measured: float
    spread: float
    n: int
    verdict: str

    @property
    def difference(self) -> float | None:
        return None if self.published is None else self.measured - self.published


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published experiment, declared: what is repeated under which conditions, and what the paper printed.

    Parameters
    ----------
    name : str
        As on the command line.
    source : str
        Paper and place in it.
    protocol : str
        What is done, in full.
    other_data : str
        How the data differ from the paper's, where they do: then verdicts are shown, and not counted among those of the
        papers.
    data : tuple of str
        Data sets of :mod:`lapwing_papers.datasets`, as ``"name"`` or ``"name:version"``.
    conditions : mapping
        From the rows of the table to whatever :meth:`measure` needs.
    n_repeats : int
        Seeds 0, 1, ... of each condition; ``n_quick`` in the quick tier (0 leaves the experiment out there).
    quick_conditions : tuple of str or None
        The conditions of the quick tier; None are all.
    public : tuple of str
        The conditions of the public tier, which needs no file: what scikit-learn ships or makes.
    dimensions : sequence of numbers
        Over which curves run; ``axis`` says what they are, if not numbers of dimensions.
    published : mapping
        Quantity -> condition -> method -> a number, or dimension -> number.
    tolerance : float, or mapping of quantity to float
        How far a mean may lie from what was published and still count as reproduced.
    tie : float
        Published differences up to this do not count in the ordering.
    baselines : tuple of str
        Methods that have nothing to do with the paper's own: the raw data, PCA, and the like. Where at least half of the
        baselines of a condition miss their printed numbers too, a miss tells of other data or another protocol, not of the
        method, and the verdict is "baselines differ too".
    lower_is_better : bool
    single_run : bool
        Whether a curve's best is sought in each repetition, not in the mean over them.
    readings : tuple of Reading
    claims : tuple of Claim
    derived : callable
        From the :class:`Summary` to further numbers: (quantity, condition, method) -> values, such as ranks.
    pictures : callable
        From the :class:`Summary` to captions and figures.
    curves : bool
        Whether the curves are drawn.
    table : callable
        From the :class:`Summary` to the head and the rows of a short table, for the console.
    results : Path or None
        The folder of its kept results; None is that of lapwing_papers.
    """

    name: str
    source: str
    protocol: str
    other_data: str = ""
    data: tuple[str, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=lambda: {"": None})
    n_repeats: int = 1
    n_quick: int = 0
    quick_conditions: tuple[str, ...] | None = None
    public: tuple[str, ...] = ()
    dimensions: Sequence[float] = ()
    axis: str = "dimensions"
    published: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    tolerance: float | Mapping[str, float] = 0.0
    tie: float = 0.0
    baselines: tuple[str, ...] = ()
    lower_is_better: bool = False
    single_run: bool = False
    readings: tuple[Reading, ...] = ()
    claims: tuple[Claim, ...] = ()
    derived: Callable[[Summary], Mapping[tuple[str, str, str], Sequence[float]]] | None = None
    pictures: Callable[[Summary], Mapping[str, Figure]] | None = None
    curves: bool = True
    table: Callable[[Summary], tuple[list[str], list[list[str]]]] | None = None
    results: Path | None = None

    def measure(self, condition: str, seed: int) -> Values:
        """Numbers, or curves over the dimensions, of one repetition."""
        raise NotImplementedError

    def public_tasks(self) -> list[Task]:
        """The tasks of the public tier."""
        return [task for task in self.tasks() if task.condition in self.public]

    def tasks(self, quick: bool = False) -> list[Task]:
        conditions = tuple(self.conditions)
        if quick and self.quick_conditions is not None:
            conditions = self.quick_conditions
        return [Task(c, seed) for seed in range(self.n_quick if quick else self.n_repeats) for c in conditions]

    @property
    def fingerprint(self) -> str:
        """Of what decides the numbers: results of an older declaration are not mixed with those of a newer one."""
        described = [(f.name, self._described(getattr(self, f.name))) for f in fields(self) if f.name not in _WORDS]
        engine = [c.__module__ for c in type(self).__mro__ if c.__module__ not in (__name__, "builtins")]
        parts = [_working_parts(sys.modules[name]) for name in dict.fromkeys(engine)]
        return hashlib.sha256(repr((type(self).__name__, parts, described)).encode()).hexdigest()[:16]

    @classmethod
    def _described(cls, value: Any) -> str:
        if isinstance(value, Mapping):
            return repr([(k, cls._described(v)) for k, v in value.items()])
        if isinstance(value, tuple | list):
            return repr([cls._described(v) for v in value])
        if is_dataclass(value):
            return repr([(f.name, cls._described(getattr(value, f.name))) for f in fields(value)])
        if callable(value) and inspect.isfunction(inspect.unwrap(value)):
            function = inspect.unwrap(value)
            bound = [cell.cell_contents for cell in function.__closure__ or ()]
            own = [_written(function), _working_parts(sys.modules[function.__module__])]
            return cls._described([*own, *(function.__defaults__ or ()), *bound])
        return " ".join(repr(value).split())


@cache
def _source(module: ModuleType) -> str:
    """A module's source without comments, which tell nothing of numbers."""
    lines = inspect.getsource(module).splitlines(keepends=True)
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column] + "\n"
    return "".join(lines)


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(_source(module))


@cache
def _lines(module: ModuleType) -> list[bytes]:
    return _source(module).encode().splitlines()


def _text(module: ModuleType, node: Any) -> str:
    """What is written there, however its lines are broken: the same on every version of Python."""
    lines = _lines(module)[node.lineno - 1 : node.end_lineno]
    lines[-1] = lines[-1][: node.end_col_offset]  # first, since the first line may be the last
    lines[0] = lines[0][node.col_offset :]
    return re.sub(r",(?=[)\]}])", "", "".join(b"\n".join(lines).decode().split()))


@cache
def _working_parts(module: ModuleType) -> str:
    """The functions, classes and constants of a module: what its functions may call, without what it declares."""
    parts = [_text(module, node) for node in _tree(module).body if _works(node)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _functions(module: ModuleType) -> dict[int, list[ast.AST]]:
    """The functions that begin on a line, lambdas too; a decorated one begins with its first decorator."""
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            found.setdefault(first, []).append(node)
    return found


def _written(function: Any) -> list[str]:
    """The text of a function; of all that begin on its line, which is more rather than less."""
    module = sys.modules[function.__module__]
    return [_text(module, node) for node in _functions(module)[function.__code__.co_firstlineno]]


def _works(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(isinstance(part, ast.Call) for part in ast.walk(node))
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


# What an experiment says of itself and of its paper; the numbers do not depend on it.
_WORDS = {"source", "protocol", "published", "tolerance", "tie", "lower_is_better", "single_run", "readings"}
_WORDS |= {
    "axis",
    "baselines",
    "claims",
    "other_data",
    "derived",
    "pictures",
    "curves",
    "n_repeats",
    "n_quick",
    "quick_conditions",
    "public",
    "data",
    "table",
    "results",
}


@dataclass(frozen=True)
class Measured(Experiment):
    """An experiment whose repetition is a function ``what(condition's value, seed) -> method -> quantity -> number``."""

    what: Callable[[Any, int], Values] = field(kw_only=True)

    def measure(self, condition: str, seed: int) -> Values:
        return self.what(self.conditions[condition], seed)


class Summary:
    """What all repetitions of an experiment give."""

    def __init__(
        self,
        experiment: Experiment,
        results: Mapping[Task, Values],
        versions: Iterable[str] = (),
        seconds: float = 0.0,
    ):
        self.experiment, self.seconds = experiment, seconds  # of processor time, all repetitions together
        self.versions = sorted(versions)  # with which it was measured
        self.n_repeats = len({task.seed for task in results})
        self._found: dict[tuple[str, str, str], Any] = {}
        for task in sorted(results, key=lambda t: (t.seed, t.condition)):
            for method, quantities in results[task].items():
                for quantity, value in quantities.items():
                    self._found.setdefault((quantity, task.condition, method), []).append(value)
        self._measured = dict(self._found)
        self._derive()

    def _derive(self) -> None:
        if self.experiment.derived is not None and self._measured:
            self._found = self._measured | {key: list(v) for key, v in self.experiment.derived(self).items()}
            for name in ("keys", "conditions"):
                self.__dict__.pop(name, None)  # of what was measured alone

    @cached_property
    def resampled(self) -> list[Summary]:
        """Bootstrap samples of the repetitions, the same ones for all methods of a condition; itself where there is one."""
        lengths = sorted({len(values) for values in self._measured.values()})
        if not lengths or lengths[-1] < 2:
            return [self]
        random = np.random.RandomState(0)
        measured = {key: np.asarray(values, dtype=float) for key, values in self._measured.items()}
        return [self._drawn(measured, {n: random.randint(n, size=n) for n in lengths}) for _ in range(RESAMPLES)]

    def _drawn(self, measured: Mapping[Any, np.ndarray], draws: Mapping[int, np.ndarray]) -> Summary:
        other = Summary(self.experiment, {})
        other._measured = {key: values[draws[len(values)]] for key, values in measured.items()}
        other._found = dict(other._measured)
        other._derive()
        return other

    @cached_property
    def keys(self) -> list[tuple[str, str, str]]:
        """Quantity, condition and method of everything measured, in the order of the declaration."""
        conditions = list(dict.fromkeys([*self.experiment.conditions, *(key[1] for key in self._found)]))
        quantities = list(dict.fromkeys([*self.experiment.published, *(key[0] for key in self._found)]))
        return sorted(self._found, key=lambda key: (quantities.index(key[0]), conditions.index(key[1])))

    @cached_property
    def conditions(self) -> list[str]:
        """Those that were measured: the quick tier may leave some out."""
        return list(dict.fromkeys(key[1] for key in self.keys))

    def runs(self, quantity: str, condition: str, method: str) -> np.ndarray:
        """One row, or one number, per repetition; what a dimension cannot have is NaN."""
        return np.asarray(self._found[quantity, condition, method], dtype=float)

    def is_curve(self, quantity: str, condition: str, method: str) -> bool:
        return self.runs(quantity, condition, method).ndim == 2

    def best(self, quantity: str, condition: str, method: str) -> tuple[float, float, float | None]:
        """Mean, standard deviation over repetitions, and for a curve the dimension of the best mean."""
        runs, dimension = self._best_runs(quantity, condition, method)
        return float(runs.mean()), float(runs.std()), dimension

    def _best_runs(self, quantity: str, condition: str, method: str) -> tuple[np.ndarray, float | None]:
        """One number per repetition, of a curve that of the dimension with the best mean, and this dimension."""
        runs = self.runs(quantity, condition, method)
        if runs.ndim == 1:
            return runs, None
        sign = -1 if self.experiment.lower_is_better else 1
        if self.experiment.single_run:
            return sign * np.nanmax(sign * runs, axis=1), None
        means = sign * runs.mean(axis=0)
        if np.isnan(means).all():
            return np.array([np.nan]), None
        at = int(np.nanargmax(means))
        return runs[:, at], self.experiment.dimensions[at]

    def at(self, quantity: str, condition: str, method: str, dimension: float) -> tuple[float, float]:
        column = self.runs(quantity, condition, method)[:, list(self.experiment.dimensions).index(dimension)]
        return float(column.mean()), float(column.std())

    def mean(self, quantity: str, condition: str, method: str) -> float:
        return float(self._best_runs(quantity, condition, method)[0].mean())

    @cached_property
    def cells(self) -> list[Cell]:
        """Every number measured beside what was published of it, with its verdict."""
        groups = [self._group(quantity, condition) for quantity, condition in dict.fromkeys(k[:2] for k in self.keys)]
        return [cell for group in groups for cell in group]

    def _group(self, quantity: str, condition: str) -> list[Cell]:
        printed = self.experiment.published.get(quantity, {}).get(condition, {})
        cells = []
        for method in [key[2] for key in self.keys if key[:2] == (quantity, condition)]:
            n, values = len(self.runs(quantity, condition, method)), printed.get(method)
            if isinstance(values, Mapping):
                for d, number in values.items():
                    cells.append((method, d, number, *self.at(quantity, condition, method, d), n))
            else:
                mean, spread, d = self.best(quantity, condition, method)
                cells.append((method, d, values, mean, spread, n))
        measured = {cell[0] for cell in cells}
        cells += [(m, None, np.nan, np.nan, np.nan, 0) for m in printed if m not in measured]
        tolerance = self.experiment.tolerance
        within = tolerance.get(quantity, 0.0) if isinstance(tolerance, Mapping) else tolerance
        return [Cell(quantity, condition, *cell, self._verdict(cell, cells, within)) for cell in cells]

    def _verdict(self, cell: tuple[Any, ...], group: list[tuple[Any, ...]], within: float) -> str:
        """Within the tolerance; else whether those compared with each other come in the published order; else whose miss."""
        _, dimension, published, measured, *_ = cell
        if published is None:
            return NOT_PUBLISHED
        if abs(measured - published) <= within:
            return REPRODUCED
        by_dimension = dimension is not None and any(c[0] == cell[0] and c[1] != dimension for c in group)
        rivals = [c for c in group if c[2] is not None and (not by_dimension or c[1] == dimension)]
        pairs = [(a, b) for a in rivals for b in rivals if a[2] - b[2] > self.experiment.tie]
        takes_part = any(cell is a or cell is b for a, b in pairs)
        if takes_part and all(a[3] > b[3] for a, b in pairs):
            return ORDERED
        return BASELINES_DIFFER if self._baselines_miss(cell, rivals, within) else NOT_REPRODUCED

    def _baselines_miss(self, cell: tuple[Any, ...], rivals: list[tuple[Any, ...]], within: float) -> bool:
        """Whether at least half of the baselines that were measured lie outside the tolerance."""
        misses = [abs(c[3] - c[2]) > within for c in rivals if c[0] in self.experiment.baselines and c[3] == c[3]]
        return bool(cell[3] == cell[3] and misses and 2 * sum(misses) >= len(misses))

    @cached_property
    def claims(self) -> list[tuple[Claim, float, float, str]]:
        """Each with its number, the share of resampled repetitions in which it holds, and its verdict."""
        found = []
        for claim in self.experiment.claims:
            try:
                found.append((claim, *claim.verdict(self)))
            except (KeyError, ValueError):
                if set(self.experiment.conditions) <= set(self.conditions):
                    raise
                # else it is about a condition that was not measured yet
        return found

    @property
    def verdicts(self) -> dict[str, int]:
        """How many numbers and claims of the paper got which verdict."""
        all_ = [cell.verdict for cell in self.cells] + [claim[-1] for claim in self.claims]
        return {name: all_.count(name) for name in VERDICTS}
