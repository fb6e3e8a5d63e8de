"""The same fits in two checkouts, in alternating processes: how many times as long one takes as the other.

    git worktree add ../before <commit>
    python benchmarks/against.py ../before/src                     all cases, seven processes for each side
    python benchmarks/against.py ../before/src digits MMC --runs 3
    OMP_NUM_THREADS=1 python benchmarks/against.py ../before/src   where other programs run on the same machine

Every process makes its rows, fits once to a few of them, and then fits to all of them: again and again for half a second where a
fit is short, of which the median counts. It prints the median over the processes of the time of all cores together (cpu) and of
the time on the clock (wall), in seconds, and the ratio of this checkout to the other one. Results are kept in
out/against.json after every process, so that a run that was stopped goes on where it was;
``--again`` forgets the results of the cases that are named.
Rows on disk are compared by ``scale.py --against``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

HERE = Path(__file__).resolve().parent
SHORT_SECONDS = 0.5  # fits are repeated for this long
KINDS = ("cpu", "wall")


def curved(n: int, d: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Ten classes on curved patches of eight dimensions, with noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    inner = rng.normal(size=(n, 8)) + 4 * rng.normal(size=(10, 8))[y]
    X = np.sin(inner @ rng.normal(size=(8, d)) / 4) + 0.1 * rng.normal(size=(n, d))
    return X.astype(dtype), y


def copies() -> tuple[np.ndarray, np.ndarray]:
    """20,000 rows, five of each kind, in any order."""
    X, y = curved(4_000, 64)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(4_000), 5))
    return X[order], y[order]


def roll() -> tuple[np.ndarray, None]:
    """A surface in three dimensions."""
    rng = np.random.default_rng(0)
    angle, height = 3 * np.pi / 2 * (1 + 2 * rng.random(20_000)), 20 * rng.random(20_000)
    return np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]), None


def documents() -> tuple[Any, None]:
    """The documents of 20 Newsgroups from the folder LAPWING_DATA, or else random ones of the same shape."""
    from scipy import sparse

    path = Path(os.environ.get("LAPWING_DATA", "")) / "20news_bydate_X.npz"
    if path.exists():
        X = sparse.csr_array(sparse.load_npz(path).astype(np.float64))
        return X[np.asarray(X.sum(axis=1)).ravel() > 0], None
    rng = np.random.default_rng(0)
    lengths = rng.integers(10, 178, size=18_846)
    words = np.minimum(rng.zipf(1.3, size=lengths.sum()) - 1, 29_915)
    X = sparse.csr_array(
        (np.ones(words.size), words, np.concatenate([[0], np.cumsum(lengths)])), shape=(lengths.size, 29_916)
    )
    X.sum_duplicates()
    return X, None


def digits() -> tuple[np.ndarray, np.ndarray]:
    return load_digits(return_X_y=True)


def pictures() -> tuple[np.ndarray, np.ndarray]:
    return load_digits().images, load_digits().target


def fit(name: str, *given: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """A function that fits a method."""

    def work(X: Any, y: Any) -> Any:
        import lapwing

        return getattr(lapwing, name)(*given, **options).fit(X, y)

    return work


def search(X: Any, _: Any) -> Any:
    from lapwing.graphs import KNN

    return KNN(5).build(X)


CASES: dict[str, tuple[Callable[[], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {  # the rows, and what is done
    "digits": (digits, fit("LPP", 10)),
    "supervised": (digits, fit("LPP", 9, graph="supervised")),
    "KNN 20,000 x 64": (lambda: curved(20_000, 64), fit("LPP", 10)),
    "kernel 2,000": (lambda: curved(2_000, 64), fit("KernelLPP", 10)),
    "documents": (documents, fit("LPI", 20)),
    "LTSA 20,000": (roll, fit("TangentialMaps", 2)),
    "TSA": (pictures, fit("TSA", 3)),
    "MMC 100,000 x 64": (lambda: curved(100_000, 64), fit("MMC", 9)),
    "copies": (copies, fit("LPP", 10)),
    "search 20,000 x 64": (lambda: curved(20_000, 64), search),
    "search 50,000 x 128": (lambda: curved(50_000, 128, np.float32), search),
}


def measure(case: str) -> tuple[float, float]:
    """The time of all cores and on the clock that one piece of work takes in this process."""
    warnings.simplefilter("ignore")
    rows, work = CASES[case]
    X, y = rows()
    work(X[:500], None if y is None else y[:500])  # what is imported or measured once per process
    found, begun = [], time.perf_counter()
    while not found or time.perf_counter() - begun < SHORT_SECONDS:
        cpu, wall = time.process_time(), time.perf_counter()
        work(X, y)
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return tuple(np.median(found, axis=0).tolist())


def measured_apart(case: str, source: Path) -> list[float]:
    """:func:`measure` in a process of its own, which imports lapwing from a folder."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, str(HERE / "against.py"), "--measure", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{case} failed in {source}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def line(case: str, kept: dict[str, list[list[float]]]) -> str:
    """The medians of both sides, and their ratio."""
    this, other = (np.median(kept[side], axis=0) for side in ("this", "other"))
    times = "  ".join(f"{kind} {a:8.3f} {b:8.3f} {a / b:5.2f}" for kind, a, b in zip(KINDS, this, other, strict=True))
    return f"{case:20} {times}   ({len(kept['this'])} processes)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the src folder of the other checkout")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"some of {', '.join(CASES)}; the beginning is enough")
    parser.add_argument("--this", type=Path, default=HERE.parent / "src", help="the src folder of this checkout")
    parser.add_argument("--runs", type=int, default=7, help="processes for each side")
    parser.add_argument(
        "--results", type=Path, default=Path("out/against.json"), help="the file that results are kept in"
    )
    parser.add_argument("--again", action="store_true", help="forget the results of these cases")
    options = parser.parse_intermixed_args()
    cases = [case for case in CASES if not options.cases or any(case.startswith(name) for name in options.cases)]
    options.results.parent.mkdir(exist_ok=True)
    results = json.loads(options.results.read_text("utf-8")) if options.results.exists() else {}
    for case in cases:
        kept = results.setdefault(case, {"this": [], "other": []})
        if options.again:
            kept.update(this=[], other=[])
        while min(map(len, kept.values())) < options.runs:
            side = min(kept, key=lambda side: len(kept[side]))  # they take turns
            kept[side].append(measured_apart(case, (options.this if side == "this" else options.other).resolve()))
            options.results.write_text(json.dumps(results, indent=1), "utf-8")
        print(line(case, kept), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main()
