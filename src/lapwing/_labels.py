"""Class labels: 0 ... c - 1, and -1 where unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d


def label_array(y: Any, n: int) -> np.ndarray:
    """Labels of n samples in one dimension, -1 where unknown; NumPy and files turn that into "-1" among words."""
    if y is None:
        remedy = "pass class labels (-1 marks unknown ones), or use a method whose graph reads none, as LPP with KNN"
        raise ValueError(f"the method or its graph requires y to be passed, but the target y is None; {remedy}")
    try:
        y = column_or_1d(y)
    except TypeError as error:  # pandas's NA
        raise ValueError(f"y is no list of class labels: {error}; mark unknown labels by -1") from error
    if y.size != n:
        raise ValueError(f"y has {y.size} labels, but X has {n} samples; pass one label per sample")
    if y.dtype == object:  # NaN and pandas's NA do not equal themselves
        present = all(label is not None and isinstance(same := label == label, bool | np.bool_) and same for label in y)
    else:
        present = y.dtype.kind not in "fmM" or bool(np.isfinite(y).all())  # NaN, and NaT of dates
    if not present:
        raise ValueError("y contains NaN, infinity or missing values; mark unknown labels by -1")
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        remedy = "pass class labels, or a graph that reads numbers, such as graph=Target(5)"
        raise ValueError(f"y is continuous (unknown label type): it holds fractions; {remedy}")
    if y.dtype.kind in "OU":
        y = y.astype(object)
        y[y == "-1"] = -1
    return y


def known_labels(y: Any) -> np.ndarray:
    """Which labels are known: those that are not -1."""
    return np.asarray(label_array(y, np.shape(y)[0]) != -1)


def class_codes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of n samples as 0 ... c - 1, -1 where unknown, and the label of each class.

    Fewer than two classes raise an error.
    """
    y = label_array(y, n)
    known = y != -1
    if not known.any():
        raise ValueError("y has no known label: every entry is -1 (unknown); label samples of two classes or more")
    try:
        names, codes = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y[known]}))
        raise ValueError(f"y mixes labels of kinds that have no order ({kinds}); use one kind") from error
    if names.size == 1 and names[0] in (1, "1", "+1") and not known.all():
        raise ValueError("y holds exactly the labels -1 and +1, but -1 means unknown here; relabel them as 0 and 1")
    if names.size < 2:
        remedy = "pass at least two classes, or use a method whose graph reads none, such as LPP with KNN"
        raise ValueError(f"y has one class only ({names[0]}), so there is nothing to tell apart; {remedy}")
    classes = np.full(n, -1, dtype=np.intp)
    classes[known] = codes
    return classes, np.array(names.tolist()) if names.dtype == object else names


def coded_labels(y: np.ndarray, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels as places among ``names``, -1 where unknown, and the names. New labels are added at the end of the names."""
    known = y != -1
    try:
        found, inverse = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes labels of kinds that have no order; use one kind") from error
    if names.size and found.size and (names.dtype.kind in "OU") != (found.dtype.kind in "OU"):
        raise ValueError(f"y has labels like {found[0]!r}, and those before were like {names[0]!r}; use one kind")
    places = {name: place for place, name in enumerate(names.tolist())}
    new = [name for name in found.tolist() if name not in places]
    places |= {name: len(places) + i for i, name in enumerate(new)}
    codes = np.full(y.size, -1, dtype=np.intp)
    codes[known] = np.array([places[name] for name in found.tolist()], dtype=np.intp)[inverse]
    return codes, np.concatenate([names.astype(found.dtype) if not names.size else names, np.array(new, found.dtype)])
