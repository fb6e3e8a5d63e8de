"""Do the tests notice a wrong library? Small errors are put into copies of it, one at a time, and the tests of that part are run.

    make mutate                                       # a seeded sample of 300 errors ("mutants"), two at a time
    python benchmarks/mutate.py --count 40 --seed 1   # another sample
    python benchmarks/mutate.py --again               # once more those that no test noticed, after new tests were written

A mutant is one changed expression or one statement less: a comparison, an operation, a number, a condition, a returned value,
or the order of arguments. Docstrings, messages, annotations and strings stay as they are. All places where something can be
changed are equally likely. Only the tests in ``MIRRORS`` are run. One run of all of them records which tests read
which lines. A mutant is then tried against the tests that read it, the quickest first, until one fails. A mutant that takes
longer than three times the usual counts as noticed too. Results are lines of JSON, and a run that was stopped goes on where
it was. A result is kept as long as the statements of the mutant's file stay as they were; docstrings and comments may change.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import copy
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
MIRRORS = {
    "operators.py": ["tests/test_operators.py"],
    "problem.py": ["tests/test_problem.py"],
    "data.py": ["tests/test_rows.py", "tests/test_kinds_of_rows.py", "tests/methods", "tests/neighbors"],
    "maps.py": ["tests/methods", "tests/reducers"],
    "auto.py": ["tests/reducers"],
    "neighbors.py": ["tests/neighbors"],
    "search.py": ["tests/neighbors"],
    "solvers.py": ["tests/methods", "tests/reducers"],
}
SYMMETRIC = {"min", "max", "np.minimum", "np.maximum", "np.vdot", "np.hypot"}  # whose arguments may stand in any order
SLOW = 20.0  # seconds as it is traced; slower tests are left out
HANGS = 1200  # seconds after which a run that uses no CPU is given up
PRELOADED = "numpy scipy.stats scipy.sparse.linalg sklearn.decomposition sklearn.metrics sklearn.manifold"
PRELOADED += " sklearn.discriminant_analysis"
PRELOADED += " sklearn.kernel_approximation sklearn.pipeline sklearn.model_selection joblib pytest torch"
PRELOADED += " dask.array pandas"
OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


class Mutant(NamedTuple):
    """Bytes ``start:end`` of a file, and what stands there instead."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    lines: tuple[int, ...]  # whose tests are run: its own, or, of a constant of a module, those that mention it
    names: tuple[str, ...] = ()

    @property
    def source(self) -> bytes:
        """The whole file, with the error in it."""
        before = (ROOT / self.file).read_bytes()
        return before[: self.start] + self.text.encode() + before[self.end :]

    @property
    def key(self) -> str:
        return f"{self.file} {computed(self.source)}"


@cache
def computed(source: bytes) -> str:
    """The same for two files of the same statements, whatever their docstrings, comments and line breaks."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=body) | ast.ClassDef(body=body) | ast.FunctionDef(body=body):
                if ast.get_docstring(node) is not None:
                    body.pop(0)
    return sha256(ast.dump(tree).encode()).hexdigest()[:16]


def changed(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """The mutants of one node: what is changed, and the other node, None for a statement that is dropped."""
    other: Any = copy.deepcopy(node)
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in OTHER:
            other.ops[0] = OTHER[type(op)]()
            yield "comparison", other
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            other.op = OTHER[type(op)]()
            yield "operation", other
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield "operation", other.operand
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "constant", ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield "constant", ast.Constant(2 * value or 1.0)
        case ast.Call(args=[first, second, *_]) if ast.unparse(node.func) not in {*SYMMETRIC, "isinstance", "getattr"}:
            other.args[:2] = other.args[1::-1]
            if ast.dump(first) != ast.dump(second) and not isinstance(first, ast.Starred):
                yield "arguments", other
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "returned value", ast.Return()
        case ast.Raise() | ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield "statement", None
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "statement", None


def conditions(node: ast.AST) -> list[ast.expr]:
    """What decides."""
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            return [node.test]
        case ast.comprehension():
            return node.ifs
    return []


def is_text(node: ast.AST, parent: ast.AST | None) -> bool:
    """Whether nothing inside is computed with: messages, annotations, docstrings, decorators, and what types alone read."""
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return True
    if isinstance(parent, ast.Raise):
        return True
    if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
        return True
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "say", "cast", "TypeVar")


class Places(ast.NodeVisitor):
    """All mutants of a file."""

    def __init__(self, file: str, source: bytes):
        self.file, self.source, self.found = file, source, []
        self.starts = [0, *(at + 1 for at, byte in enumerate(source) if byte == 10)]
        self.function: ast.AST | None = None
        self.statement: ast.stmt | None = None
        self.walk(ast.parse(source), None)

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def add(self, node: Any, kind: str, text: str) -> None:
        lines, names = tuple(range(node.lineno, node.end_lineno + 1)), ()
        if self.function is None and isinstance(self.statement, ast.Assign | ast.AnnAssign):
            targets = self.statement.targets if isinstance(self.statement, ast.Assign) else [self.statement.target]
            names = tuple(n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
            lines = ()
        elif self.function is None and isinstance(self.statement, ast.FunctionDef):  # a default
            lines = tuple(range(self.statement.body[0].lineno, self.statement.end_lineno + 1))
        start, end = self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)
        self.found.append(Mutant(self.file, node.lineno, kind, start, end, text, lines, names))

    def walk(self, node: Any, parent: Any) -> None:
        if is_text(node, parent):
            return
        for kind, other in changed(node):
            text = "pass" if other is None else ast.unparse(other)
            self.add(node, kind, f"({text})" if isinstance(other, ast.expr) else text)
        for test in conditions(node):
            self.add(test, "condition", f"(not ({ast.unparse(test)}))")
        before = self.function, self.statement
        if isinstance(node, ast.stmt) and self.function is None:
            self.statement = node
        skipped = {"annotation", "returns", "decorator_list", "type_comment", "type_params"}
        for field, value in ast.iter_fields(node):
            if field in skipped:
                continue
            if isinstance(node, ast.FunctionDef | ast.Lambda) and field == "body":
                self.function = node
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.walk(child, node)
            if isinstance(node, ast.FunctionDef | ast.Lambda) and field == "body":
                self.function = before[0]
        self.function, self.statement = before


def package(file: str) -> str:
    return Path(file).parts[2]


def files() -> list[str]:
    base = ROOT / "src/lapwing"
    found = [
        path
        for name in MIRRORS
        for path in ([base / name] if name.endswith(".py") else sorted((base / name).glob("*.py")))
    ]
    return [str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"]


def mutants() -> list[Mutant]:
    return [mutant for file in files() for mutant in Places(file, (ROOT / file).read_bytes()).found]


class Read:
    """A plugin: which lines of the library each test reads, and how long it takes."""

    def __init__(self, folder: Path, wanted: set[str]):
        self.prefix, self.wanted = f"{folder}/", wanted
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.test = "collection"

    def trace(self, frame: Any, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(self.prefix) or name[len(self.prefix) :] not in self.wanted:
            return None
        file = name[len(self.prefix) :]

        def local(frame: Any, event: str, arg: Any) -> Any:
            self.lines[self.test].add((file, frame.f_lineno))
            return local

        return local(frame, event, arg)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.test, self.began = nodeid, time.perf_counter()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.test, self.seconds[nodeid] = "collection", time.perf_counter() - self.began

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


class Chosen:
    """A plugin: these tests only, in this order."""

    def __init__(self, order: list[str]):
        self.order = {name: place for place, name in enumerate(order)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )


def copied(folder: Path) -> Path:
    """The sources in a folder of their own, compiled."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    compileall.compile_dir(str(folder / "src"), quiet=2)
    return folder


def tested(folder: Path, tests: list[str], plugin: Any, *options: str) -> int:
    """In a child process: pytest on the library in this folder."""
    import pytest

    os.chdir(ROOT)
    sys.path.insert(0, str(folder / "src"))
    os.environ |= {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    with (folder / f"output-{os.getpid()}.txt").open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    usual = ["-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return int(pytest.main([*usual, *options, *tests], plugins=[plugin]))


def forked(work: Any) -> int:
    """The number of a process, with a group of its own, that does this and ends."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    code = 70
    try:
        code = work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


def kept_at(test: Path, folder: Path) -> Path:
    """Where it is kept what a file of tests reads: by what the library's files and the tests hold."""
    held = b"".join(path.read_bytes() for path in [*(ROOT / file for file in files()), test])
    return folder / f"{test.stem}-{sha256(held).hexdigest()[:12]}.json"


def look(test: Path, folder: Path, output: Path) -> int:
    """In a child process: the lines and seconds of the tests of a file, on the library as it is."""
    plugin = Read(folder, set(files()))
    threading.settrace(plugin.trace)
    sys.settrace(plugin.trace)
    code = tested(folder, [str(test.relative_to(ROOT))], plugin)
    sys.settrace(None)
    lines = {name: sorted(read) for name, read in plugin.lines.items()}
    output.write_text(json.dumps({"seconds": plugin.seconds, "failed": sorted(plugin.failed), "lines": lines}))
    return code


def baseline(folder: Path, kept: Path, jobs: int) -> dict[str, Any]:
    """Which tests read a line, and how long each takes."""
    found: dict[str, Any] = {"seconds": {}, "lines": defaultdict(list)}
    names = {name for group in MIRRORS.values() for name in group}
    tests = sorted(path for name in names for path in sorted((ROOT / name).glob("test_*.py")) or [ROOT / name])
    running: set[int] = set()
    for test in tests:
        if not kept_at(test, kept).exists():
            running.add(forked(lambda test=test: look(test, folder, kept_at(test, kept))))
        if len(running) >= jobs:
            running.remove(os.wait()[0])
    while running:
        running.remove(os.wait()[0])
    for test in tests:
        part = json.loads(kept_at(test, kept).read_text())
        if part["failed"]:
            print("left out, since they fail on the library as it is:", *part["failed"], sep="\n  ")
        for name, seconds in part["seconds"].items():
            if seconds <= SLOW and name not in part["failed"]:
                found["seconds"][name] = seconds
        for name, lines in part["lines"].items():
            for file, line in lines if name in found["seconds"] or name == "collection" else []:
                found["lines"][f"{file}:{line}"].append(name)
    return found


def mentions(names: tuple[str, ...]) -> list[str]:
    """Lines inside functions that mention a name."""
    found = []
    for file in files():
        for node in ast.walk(ast.parse((ROOT / file).read_text())):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name in names:
                found.append(f"{file}:{node.lineno}")
    return found


def chosen(mutant: Mutant, known: dict[str, Any]) -> list[str]:
    """The tests that read a mutant, the quickest first."""
    lines = mentions(mutant.names) if mutant.names else [f"{mutant.file}:{line}" for line in mutant.lines]
    mirrored = tuple(MIRRORS[package(mutant.file)])
    reading = {test for line in lines for test in known["lines"].get(line, [])}
    if "collection" in reading and not any(test in known["seconds"] for test in reading):
        reading = set(known["seconds"])
    of_these = [test for test in reading if test in known["seconds"] and test.startswith(mirrored)]
    return sorted(of_these, key=known["seconds"].__getitem__)


def tried(mutant: Mutant, tests: list[str], seconds: float, slot: Path) -> int:
    """The process that runs the tests on a copy with this mutant; it ends after three times the usual seconds of CPU."""
    path = slot / mutant.file
    path.write_bytes(mutant.source)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()
    files = sorted({test.split("::")[0] for test in tests})

    def work() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (int(30 + 3 * seconds),) * 2)
        return tested(slot, files, Chosen(tests), "-x")

    return forked(work)


def restored(mutant: Mutant, slot: Path) -> None:
    (slot / mutant.file).write_bytes((ROOT / mutant.file).read_bytes())
    compileall.compile_file(str(slot / mutant.file), quiet=2, force=True)


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z, share = 1.96, hits / total
    centre, half = share + z**2 / (2 * total), z * sqrt(share * (1 - share) / total + z**2 / (4 * total**2))
    return (centre - half) / (1 + z**2 / total), (centre + half) / (1 + z**2 / total)


def run(
    waiting: list[Mutant], done: dict[str, Any], known: dict[str, Any], folder: Path, jobs: int, results: Path
) -> None:
    """These mutants, the last one first."""
    slots = [copied(folder / str(i)) for i in range(jobs)]
    running: dict[int, tuple[Mutant, Path, float, int]] = {}

    def finish(mutant: Mutant, verdict: str, seconds: float, count: int) -> None:
        source = (ROOT / mutant.file).read_bytes()
        entry = {
            "key": mutant.key, "verdict": verdict, "seconds": round(seconds, 1), "tests": count, "file": mutant.file,
            "line": mutant.line, "kind": mutant.kind, "was": source[mutant.start : mutant.end].decode(), "is": mutant.text,
        }  # fmt: skip
        done[mutant.key] = entry
        with results.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(
            f"{len(done):4} {verdict:9} {seconds:5.1f} s  {mutant.file}:{mutant.line}  {entry['was']!r} -> {mutant.text!r}",
            flush=True,
        )

    while waiting or running:
        while waiting and slots:
            mutant = waiting.pop()
            tests = chosen(mutant, known)
            if not tests:
                finish(mutant, "unread", 0.0, 0)
                continue
            slot, usual = slots.pop(), sum(known["seconds"][test] for test in tests)
            running[tried(mutant, tests, usual, slot)] = (mutant, slot, time.monotonic(), len(tests))
        for pid, (mutant, slot, began, count) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            seconds = time.monotonic() - began
            if not ended and seconds < HANGS:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            if not ended:
                os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status) if ended else -signal.SIGKILL
            verdict = "too slow" if code < 0 else "survived" if code == 0 else "noticed"
            del running[pid]
            restored(mutant, slot)
            slots.append(slot)
            finish(mutant, verdict, seconds, count)
        time.sleep(0.05)


def report(sample: list[Mutant], done: dict[str, Any]) -> None:
    entries = [done[mutant.key] | {"line": mutant.line} for mutant in sample if mutant.key in done]
    if not entries:
        return
    by_package: dict[str, list[bool]] = defaultdict(list)
    for entry in entries:
        by_package[package(entry["file"])].append(entry["verdict"] in ("noticed", "too slow"))
    print("\n| part | mutants | noticed | share | 95 % interval |\n|---|---|---|---|---|")
    for name, hits in [*by_package.items(), ("all", [hit for part in by_package.values() for hit in part])]:
        low, high = wilson(sum(hits), len(hits))
        print(f"| `{name}` | {len(hits)} | {sum(hits)} | {sum(hits) / len(hits):.1%} | {low:.0%} to {high:.0%} |")
    print("\n| not noticed | was | became |\n|---|---|---|")
    for entry in sorted(entries, key=lambda entry: (entry["file"], entry["line"])):
        if entry["verdict"] in ("survived", "unread"):
            print(f"| `{entry['file'][12:]}:{entry['line']}` {entry['verdict']} | `{entry['was']}` | `{entry['is']}` |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="try those once more that were not noticed")
    parser.add_argument("--results", type=Path, default=ROOT / "out/mutants.jsonl")
    parser.add_argument("--report", action="store_true", help="print the tables of what was done, and no more")
    given = parser.parse_args()
    everything = mutants()
    sample = random.Random(given.seed).sample(everything, min(given.count, len(everything)))
    given.results.parent.mkdir(parents=True, exist_ok=True)
    done = {}
    if given.results.exists():
        done = {entry["key"]: entry for entry in map(json.loads, given.results.read_text().splitlines())}
    unnoticed = {key for key, entry in done.items() if entry["verdict"] in ("survived", "unread")}
    waiting = [mutant for mutant in sample if (mutant.key in unnoticed if given.again else mutant.key not in done)]
    print(f"{len(sample)} of {len(everything)} mutants, of which {len(waiting)} are to be tried", flush=True)
    if not given.report:
        for name in PRELOADED.split():
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        with tempfile.TemporaryDirectory() as scratch:
            began = time.monotonic()
            known = baseline(copied(Path(scratch, "as it is")), given.results.parent, given.jobs)
            print(f"{len(known['seconds'])} tests, {time.monotonic() - began:.0f} s", flush=True)
            run(waiting[::-1], done, known, Path(scratch), given.jobs, given.results)
    report(sample, done)


if __name__ == "__main__":
    main()
