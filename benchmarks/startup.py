"""How long the command line takes to answer, beside Python itself and NumPy.

    python benchmarks/startup.py

Each command runs in turn in fresh processes, and the best of several runs counts. Ratios can be compared between machines,
and seconds cannot.
"""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = 10
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    'python -c "import numpy"': ["-c", "import numpy"],
    'python -c "import sklearn"': ["-c", "import sklearn"],
    "lapwing --help": ["-m", "lapwing", "--help"],
    "lapwing fit --help": ["-m", "lapwing", "fit", "--help"],
    "lapwing methods": ["-m", "lapwing", "methods"],
}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(RUNS):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], seconds(arguments))
    numpy = best['python -c "import numpy"']
    print("| command | s | ratio to importing NumPy |\n|---|---|---|")
    for name, time_ in best.items():
        print(f"| `{name}` | {time_:.2f} | {time_ / numpy:.2f} |")


if __name__ == "__main__":
    main()
