"""Which of the measured readings a column of a printed table is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: PCA and LPP as projections on directions of unit length, in gLPCA's tables 3 and 4.
PROJECTIONS = {"PCA": "PCA (with lengths)", "LPP": "LPP (unit directions)"}

Published = Mapping[str, Mapping[str, Mapping[str, Any]]]


def read_as(published: Published, names: Mapping[str, str]) -> dict[str, dict[str, dict[str, Any]]]:
    """The printed numbers with methods under other names: those of the readings that were taken."""
    return {
        quantity: {
            condition: {names.get(method, method): number for method, number in row.items()}
            for condition, row in conditions.items()
        }
        for quantity, conditions in published.items()
    }
