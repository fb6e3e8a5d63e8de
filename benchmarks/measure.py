"""Measures what the pages quote, part by part, and writes it into them.

    make measure                    all parts but the one that needs a GPU: most of a day on two cores
    make measure PART=speed         one part; stopped, the same command goes on where it was
    python benchmarks/measure.py    lists the parts, and what is kept of each

A part is a list of commands. What each of them gave is one line of ``benchmarks/results/PART.jsonl``, with the commit, the
machine, the versions and the date. A command runs again where the library has changed since. Then ``docs/tables.py`` writes
the pages.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("lapwing", "numpy", "scipy", "scikit-learn")
NEW_SETS = ("authorship", "ecoli", "Japanese_vowels", "movie_reviews", "notMNIST", "pendigits", "satimage")
SPEED = (
    *("search", "angles", "mid", "scores", "local", "copies", "twins", "families", "wide", "sampled", "sampled768"),
    *("20news_bydate", "large", "GloVe", "MNIST60k", "search100k"),  # the longest last
)


@dataclass(frozen=True)
class Part:
    """Commands of Python, in their order; ``{folder}`` stands for a folder of their own, in which they go on.

    Attributes
    ----------
    commands : tuple of str
    hours : float
        What they take on two cores, about.
    pages : str
        Where the numbers stand.
    prints : bool
        Whether the results are what the commands print; else they keep them in files of their own.
    threads : int
        Of the BLAS; 0 leaves it to the machine.
    by_hand : bool
        Whether the part runs by its name only.
    """

    commands: tuple[str, ...]
    hours: float
    pages: str
    prints: bool = True
    threads: int = 1
    by_hand: bool = False


PARTS = {
    "guide": Part(
        ("benchmarks/guide --all --output {folder}/guide", "benchmarks/guide --keep --output {folder}/guide"),
        1,
        "README, comparison",
        prints=False,
    ),
    "few": Part(
        (f"benchmarks/few.py {' '.join(NEW_SETS)} --output {{folder}} --json",), 0.5, "README, labels, measured-tasks"
    ),
    "defaults": Part(("benchmarks/defaults.py --output {folder}",), 1, "defaults", prints=False),
    "speed": Part(tuple(f"benchmarks/speed.py --json {case}" for case in SPEED), 0.5, "speed"),
    "cores": Part(("benchmarks/cores.py --threads 1 2 4 8 16", "benchmarks/cores.py --cases --fit"), 0.5, "speed"),
    "clock": Part(("benchmarks/startup.py", "benchmarks/compare.py"), 0.1, "speed", threads=0),
    "scale": Part(
        (
            "benchmarks/scale.py",
            "benchmarks/scale.py --kinds",
            "benchmarks/scale.py --accuracy",
            "benchmarks/sampling.py",
        ),
        1,
        "measured-large",
    ),
    "workers": Part(
        ("benchmarks/cluster.py", "benchmarks/cluster_on_disk.py --queries 2000", "benchmarks/cells.py"),
        0.7,
        "measured-large, cells",
    ),
    "tasks": Part(
        ("benchmarks/representation.py", "benchmarks/documents.py clustering --draws 20", "benchmarks/streams.py"),
        0.5,
        "measured-tasks, weights",
    ),
    "trust": Part(
        ("benchmarks/mutate.py", "benchmarks/same_answer.py", "benchmarks/certificate.py", "benchmarks/leaks.py"),
        3,
        "tested, pitfalls",
    ),
    "evidence": Part(
        (
            "-m lapwing_papers --all --output {folder}/evidence",
            "-m lapwing_papers --keep --output {folder}/evidence",
            "docs/evidence.py",
        ),
        3,
        "evidence",
        prints=False,
    ),
    "gpu": Part(("benchmarks/gpu.py --out {folder}/gpu",), 0.3, "measured-large", threads=0, by_hand=True),
}


def kept(part: str) -> dict[str, dict[str, Any]]:
    """What is kept of a part: its commands, and the record of each."""
    path = RESULTS / f"{part}.jsonl"
    records = map(json.loads, path.read_text("utf-8").splitlines()) if path.exists() else ()
    return {record["command"]: record for record in records}


def keep(part: str, record: Mapping[str, Any]) -> None:
    """Put a record among the kept ones, in the place of an earlier one of the same command; whole, or not at all."""
    records = kept(part) | {record["command"]: dict(record)}
    ordered = [records[command] for command in PARTS[part].commands if command in records]
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{part}.jsonl"
    path.with_suffix(".new").write_text("".join(json.dumps(each) + "\n" for each in ordered), "utf-8")
    os.replace(path.with_suffix(".new"), path)


def told(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def library() -> str:
    """The state of the library that is measured: the hash of its folder, or its commit "with changes"."""
    return told("rev-parse", "--short=12", "HEAD:src/lapwing") + (
        " with changes" if told("status", "--porcelain", "src/lapwing") else ""
    )


def machine() -> str:
    """The processor and the number of cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def provenance() -> dict[str, str]:
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)]
    return {
        "library": library(),
        "commit": told(
            "log", "-1", "--format=%h", "--abbrev=12", "--", "src/lapwing"
        ),  # the last that changed the library
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": ", ".join(versions),
    }


def run(part: str) -> int:
    """Run the commands of a part that have not been run with this library; the exit code of the first that fails."""
    done = kept(part)
    for number, command in enumerate(PARTS[part].commands, start=1):
        now = provenance()
        where = f"{part}, {number} of {len(PARTS[part].commands)}: {command}"
        if done.get(command, {}).get("library") == now["library"] and not now["library"].endswith("changes"):
            print(f"{where}: is done", flush=True)
            continue
        print(where, flush=True)
        start = perf_counter()
        code, output = called(command, PARTS[part], now["library"])
        if code or library() != now["library"]:
            why = "failed" if code else "saw the library change"
            print(f"make measure: this command {why}; `make measure PART={part}` goes on with it", file=sys.stderr)
            return code or 1
        record = {"command": command, **now, "seconds": round(perf_counter() - start, 1), "output": output}
        keep(part, record)
    return 0


def called(command: str, part: Part, library: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed where that is the result."""
    folder = ROOT / "out" / "measure" / library.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    threads = {name: str(part.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")} if part.threads else {}
    words = [word.format(folder=folder) for word in command.split()]
    output = subprocess.PIPE if part.prints else None
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=os.environ | threads, stdout=output, text=True)
    return done.returncode, done.stdout or ""


def table() -> str:
    """The parts, and what is kept of each."""
    lines = [f"{'part':10}{'hours':>6}  {'kept':44}pages"]
    for name, part in PARTS.items():
        found = kept(name).values()
        dates = sorted({record["date"] for record in found})
        state = f"{len(found)} of {len(part.commands)}, {' to '.join(dates[:: max(len(dates) - 1, 1)])}"
        lines.append(f"{name:10}{part.hours:6}  {state:44}{part.pages}{' (by its name only)' if part.by_hand else ''}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="all: every part but those that run by name only")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - {*PARTS, "all"}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if not given.parts:
        print(table())
        return 0
    names = [name for name in PARTS if name in given.parts or ("all" in given.parts and not PARTS[name].by_hand)]
    codes = [run(name) for name in names]
    subprocess.run([sys.executable, "docs/tables.py"], cwd=ROOT, check=True)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
