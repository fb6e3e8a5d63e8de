"""Where scikit-learn and OpenML have a data set: fetched, and put in the form of the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.feature_extraction.text import CountVectorizer

Fields = dict[str, Any]
VIEWS = {
    "fou": 14,
    "fac": 12,
    "kar": 16,
    "pix": 20,
    "zer": 22,
    "mor": 18,
}  # of MFeat, in their order: numbers at OpenML


@dataclass(frozen=True)
class Fallback:
    """Another source of a data set.

    Attributes
    ----------
    source : str
        Its name in messages.
    fetch : callable
        Gives ``data``, ``target`` and what else is known.
    difference : str
        What to expect where the result is not that of the file.
    """

    source: str
    fetch: Callable[[], Fields]
    difference: str = "values, order or both differ"


def openml(number: int) -> Fields:
    """A data set of OpenML whose classes are numbers, which become 0, 1, ... in their order."""
    parser = "pandas" if find_spec("pandas") else "liac-arff"  # the second is slow and needs nothing
    found = datasets.fetch_openml(data_id=number, as_frame=False, parser=parser)
    labels = np.char.strip(np.asarray(found.target).astype(str), "'\"").astype(float)
    return {"data": np.asarray(found.data), "target": np.unique(labels, return_inverse=True)[1]}


def usps() -> Fields:
    """OpenML has -1..1, the file 0..1, computed in single precision."""
    found = openml(41082)
    return found | {"data": (found["data"].astype(np.float32) + 1) / 2}


def isolet1() -> Fields:
    """OpenML has all five parts, the file the first, in the order of its classes."""
    found = openml(300)
    first = np.argsort(found["target"][:1560], kind="stable")
    return {name: values[first] for name, values in found.items()}


def mfeat() -> Fields:
    """OpenML has a data set a view."""
    found = [openml(number) for number in VIEWS.values()]
    target = found[0]["target"]
    if any(not np.array_equal(part["target"], target) for part in found):
        raise ValueError("the views of MFeat at OpenML are not in the same order")
    views = [part["data"] for part in found]
    starts = np.cumsum([0, *(view.shape[1] for view in views)])
    return {"data": np.hstack(views), "target": target, "view_names": np.array([*VIEWS]), "view_starts": starts}


def olivetti(side: int) -> Fields:
    """The faces as grey levels 0..242, which scikit-learn maps to 0..1; smaller by the means of blocks."""
    found = datasets.fetch_olivetti_faces()
    block = 64 // side
    images = np.asarray(found.images, dtype=float).reshape(-1, side, block, side, block).mean(axis=(2, 4))
    return {"data": np.rint(242 * images).reshape(len(images), -1), "target": np.asarray(found.target)}


def newsgroups() -> Fields:
    """Counts of the words in subject and body; training messages first."""
    train, test = (datasets.fetch_20newsgroups(subset=part, shuffle=False) for part in ("train", "test"))
    words = CountVectorizer(token_pattern=r"\b[a-z]{2,20}\b", stop_words="english", min_df=5)
    return {
        "data": words.fit_transform([_subject_and_body(text) for text in [*train.data, *test.data]]),
        "target": np.concatenate([train.target, test.target]),
        "target_names": np.array(train.target_names),
        "feature_names": words.get_feature_names_out().astype(str),
        "is_test": np.arange(len(train.data) + len(test.data)) >= len(train.data),
    }


def _subject_and_body(text: str) -> str:
    head, _, body = text.partition("\n\n")
    subjects = [line.partition(":")[2] for line in head.splitlines() if line.lower().startswith("subject:")]
    return "\n".join([*subjects, body])


def digits() -> Fields:
    return _of(datasets.load_digits())


def iris() -> Fields:
    return _of(datasets.load_iris())


def _of(found: Any) -> Fields:
    return {name: found[name] for name in ("data", "target", "target_names", "feature_names", "DESCR")}
