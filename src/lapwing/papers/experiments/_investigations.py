"""Why printed numbers are missed, where many are: which readings were tried, and which of them closes the gap.

The scripts are in benchmarks/investigations; each prints the numbers that stand here.
"""

from __future__ import annotations

INVESTIGATIONS: dict[str, str] = {}
