"""From the kept results: how far each reading that an experiment measures lies from the printed column.

    python benchmarks/investigations/readings.py glpca-table-3-kmeans thesis-table-5.8

A reading of the column "PCA" is "PCA" itself and every method "PCA (...)"; a reading of the quantity "accuracy" is every
quantity "accuracy, ...". One line per quantity, column and reading: the mean miss, its sign, and how many numbers lie within the
tolerance.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from lapwing_papers.experiments import Summary, collected, get


def readings(name: str, known: list[str]) -> list[str]:
    plain = name.split(" (")[0]
    return [
        other for other in known if other == plain or other.startswith((f"{plain} (", f"{plain}, ", f"{plain} over "))
    ]


def lines(summary: Summary) -> Iterator[str]:
    experiment, keys = summary.experiment, summary.keys
    for quantity, rows in experiment.published.items():
        tolerance = experiment.tolerance
        within = tolerance[quantity] if isinstance(tolerance, dict) else tolerance
        for column in dict.fromkeys(method for row in rows.values() for method in row):
            for q in readings(quantity, list(dict.fromkeys(key[0] for key in keys))):
                for method in readings(column, list(dict.fromkeys(key[2] for key in keys))):
                    where = [c for c in rows if column in rows[c] and (q, c, method) in keys]
                    numbers = [rows[c][column] for c in where]
                    if where and not any(isinstance(number, dict) for number in numbers):
                        miss = np.array([summary.mean(q, c, method) for c in where]) - numbers
                        hits = int(np.sum(np.abs(miss) <= within))
                        told = f"{np.abs(miss).mean():8.3g} {miss.mean():+8.3g}   {hits:2} of {len(miss)}"
                        yield f"{column:22} as {method:28} {q:34} {told}"


def main() -> None:
    for name in sys.argv[1:]:
        for summary in collected([get(name)], kept=True):
            print(f"{name}, {summary.n_repeats} repetitions: mean miss, its sign, within the tolerance")
            print("\n".join(lines(summary)))


if __name__ == "__main__":
    main()
