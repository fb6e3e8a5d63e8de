"""Data sets as the experiments name them, read once a process."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..datasets import load


@cache
def dataset(name: str) -> Bunch:
    """``"name"`` or ``"name:version"``; dense data in double precision, never to be written to.

    What takes the place of a missing file and is not the same is refused: numbers on it would not be comparable.
    """
    name, _, version = name.partition(":")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".* not the same as ", category=UserWarning)
        try:
            bunch: Any = load(name, version=version or None)
        except UserWarning as other:
            raise FileNotFoundError(f"{other} An experiment needs the file itself.") from None
    if isinstance(bunch.data, np.ndarray):
        bunch.data = bunch.data.astype(float)
        bunch.data.flags.writeable = False
    return bunch
