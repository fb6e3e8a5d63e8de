"""``python -m lapwing_papers``: the published experiments."""

import sys

from .command import reproduce
from .experiments import IMPOSSIBLE, experiments

if __name__ == "__main__":
    sys.exit(reproduce(experiments(), program="python -m lapwing_papers", impossible=IMPOSSIBLE))
