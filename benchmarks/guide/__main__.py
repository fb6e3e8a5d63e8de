"""``python benchmarks/guide``: measures what README's tables and docs/comparison.md show."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from guide import experiments
from lapwing_papers.command import reproduce

if __name__ == "__main__":
    sys.exit(reproduce(experiments(), program="python benchmarks/guide"))
