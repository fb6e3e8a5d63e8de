"""Leaks: are eight kinds named in every table that they are planted in, and is none named in tables without one?

    python benchmarks/leaks.py            about two minutes of one core
    python benchmarks/leaks.py FOLDER     and tables of your own, FOLDER/name@label.csv

Tables are those of tests/comparison/test_leaks.py and, where LAPWING_DATA is set, those of its folder ``few``, which chose no
rule. Leaks are planted where two classes are to be told apart, of which the first has 7.4 % of the rows, a third, or half.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "comparison"))

from test_leaks import PLANTED, clean_tables, clients

from lapwing.comparison import find_leaks

DENSE = ("authorship", "ecoli", "Japanese_vowels", "letter", "notMNIST", "PBMC_cells", "pendigits")
DENSE += ("satimage", "semeion", "splice", "vowel")
SHARES = (0.074, 0.33, 0.5)
COPIES = 0.1  # of the rows, where rows are planted that stand twice


def tables(folder: str | None) -> Iterator[tuple[str, Any, np.ndarray]]:
    for name, (X, y) in clean_tables():
        yield name, pd.DataFrame(X), np.unique(y, return_inverse=True)[1]
    few = Path(os.environ.get("LAPWING_DATA", "nowhere")) / "few"
    for name in DENSE:
        if (few / f"{name}.npz").exists():
            stored = np.load(few / f"{name}.npz")
            yield name, pd.DataFrame(stored["X"].astype(float)), stored["y"]
    for path in sorted(Path(folder).glob("*@*.csv")) if folder else ():
        table = pd.read_csv(path)
        y = table.pop(path.stem.split("@")[1])
        yield path.stem, table.drop(columns=["rownames"], errors="ignore"), np.unique(y, return_inverse=True)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    clean, wrong, hosts = 0, 0, []
    for name, X, y in tables(parser.parse_args().folder):
        found = find_leaks(X, y)
        clean, wrong = clean + 1, wrong + bool(found)
        for leak in found:
            print(f"{name}: {leak.message}", flush=True)
        two = (y == np.bincount(y).argmax()).astype(int)
        if not found and not find_leaks(X, two) and X.shape[1] < len(X) / 4:
            hosts.append((name, X.set_axis(list(map(str, X.columns)), axis=1), two))
    print(f"{clean - wrong} of {clean} tables without a leak are called clean")
    of_clients = [(f"clients, {share:.1%}", *clients(1000, seed, share)[:2]) for share in SHARES for seed in range(5)]
    for what, kind in (("tables of clients", of_clients), ("other tables", hosts)):
        named = [named_in(X, y, np.random.default_rng(100 + seed)) for seed, (_, X, y) in enumerate(kind)]
        for plant in named[0]:
            missed = [name for (name, *_), found in zip(kind, named, strict=True) if not found[plant]]
            where = f"; not in {', '.join(missed)}" if missed else ""
            print(f"{plant}: named in {len(kind) - len(missed)} of {len(kind)} {what}{where}")


def named_in(X: Any, y: np.ndarray, rng: np.random.Generator) -> dict[str, bool]:
    """Whether each kind is named, and no column beside it, where it is planted in a table."""
    found = {}
    for plant in PLANTED:
        leaks = find_leaks(plant(X, y, rng), y)
        found[plant.__name__.replace("_", " ")] = [leak.column for leak in leaks] == ["leak"]
    again = rng.integers(0, len(X), int(COPIES * len(X)))
    leaks = find_leaks(pd.concat([X, X.iloc[again]]), np.concatenate([y, y[again]]))
    return found | {"copies of rows": any(leak.column is None for leak in leaks)}


if __name__ == "__main__":
    main()
