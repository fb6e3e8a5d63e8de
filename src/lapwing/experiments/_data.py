"""Data sets as the experiments name them, read once a process."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..datasets import load


@cache
def dataset(name: str) -> Bunch:
    """``"name"`` or ``"name:version"``; dense data in double precision, never to be written to."""
    name, _, version = name.partition(":")
    bunch: Any = load(name, version=version or None)
    if isinstance(bunch.data, np.ndarray):
        bunch.data = bunch.data.astype(float)
        bunch.data.flags.writeable = False
    return bunch
