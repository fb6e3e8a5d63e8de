"""The records of the golden suite: how they are kept in files, and when two of them say the same.

A record is what one case gave. ``facts`` are words and whole numbers, ``arrays`` are numbers. An array called ``0/components``
belongs to the space 0 of the record: its last axis runs over the components, like that of all arrays of this space. There

- the sign of each component is free, but it is the same in all arrays of the space;
- components whose eigenvalues are equal, up to ``GAP``, are compared by the space that they span together, since any other basis
  of it would be as right: graphs in pieces and copies of rows have such eigenvalues;
- the last of these groups is not compared where ``n_components`` cuts it, since which part was found is then arbitrary;
- an array of one axis holds shares, which are added up over each group.

All other arrays are compared number by number.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parent / "golden"
GAP = 1e-7  # eigenvalues that differ by less than this share of the largest are equal
LEAST = 1e-4  # eigenvalues that are all smaller than this are compared with it: those of a graph in pieces are 0, up to rounding
FAINT = 1e-3  # columns shorter than this share of the longest are compared with that share of it
COUNTS = ("rank", "n_pca", "n_connected_components")  # facts that are numbers; all others are words
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


@dataclass
class Record:
    """What one case gave."""

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts = json.loads(json.dumps(self.facts))  # as it will be read from the file
        self.arrays = {name: np.asarray(values, dtype=np.float64) for name, values in self.arrays.items()}

    def digest(self) -> str:
        """A hash of all that it holds."""
        found = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode())
        for name in sorted(self.arrays):
            found.update(f"{name} {self.arrays[name].shape}".encode() + self.arrays[name].tobytes())
        return found.hexdigest()[:16]


def groups(eigenvalues: np.ndarray) -> list[list[int]]:
    """The places of components, those of equal eigenvalues together."""
    found: list[list[int]] = []
    near = GAP * max(np.abs(eigenvalues).max(initial=0), LEAST)
    for place, value in enumerate(eigenvalues):
        if place and abs(value - eigenvalues[place - 1]) <= near:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def differences(expected: Record, actual: Record, tol: float, words: bool = True) -> list[str]:
    """What differs, one line each; nothing where both say the same. Without ``words``, only numbers are compared."""
    found = [
        f"{name} was {expected.facts.get(name)!r} and is {actual.facts.get(name)!r}"
        for name in sorted(expected.facts.keys() | actual.facts.keys())
        if name != "cut"
        and (words or name in COUNTS)
        and not _same_fact(expected.facts.get(name), actual.facts.get(name), tol)
    ]
    shapes, others = ({name: a.shape for name, a in one.arrays.items()} for one in (expected, actual))
    if shapes != others:
        names = sorted(name for name in shapes.keys() | others.keys() if shapes.get(name) != others.get(name))
        return found + [f"{name} had the shape {shapes.get(name)} and has {others.get(name)}" for name in names]
    for name in sorted(expected.arrays):
        if "/" not in name:
            found += _apart(name, expected.arrays[name], actual.arrays[name], tol)
    for space in sorted({name.split("/")[0] for name in expected.arrays if "/" in name}):
        found += _spaces_apart(expected, actual, space, tol)
    return found


def _same_fact(expected: Any, actual: Any, tol: float) -> bool:
    """Whether facts are equal; numbers with decimals inside words, as in ``KNN(t=0.25)``, may differ in rounding."""
    if not (isinstance(expected, str) and isinstance(actual, str)):
        return expected == actual
    if NUMBER.sub("#", expected) != NUMBER.sub("#", actual):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(actual), strict=True)
    return all(abs(float(a) - float(b)) <= 10 * tol * max(abs(float(a)), abs(float(b))) for a, b in pairs)


def _apart(name: str, expected: np.ndarray, actual: np.ndarray, tol: float, scale: float | None = None) -> list[str]:
    """A line where two arrays differ by more than ``tol``, as a share of the largest entry or of ``scale``."""
    if not np.array_equal(np.isfinite(expected), np.isfinite(actual)):
        return [f"{name} has entries that are not finite in other places"]
    there = np.isfinite(expected)
    scale = np.abs(expected[there]).max(initial=0) if scale is None else scale
    apart = np.abs(actual[there] - expected[there]).max(initial=0) / (scale or 1.0)
    return [f"{name} differs by {apart:.1e}, and {tol:.0e} is allowed"] if apart > tol else []


def _spaces_apart(expected: Record, actual: Record, space: str, tol: float) -> list[str]:
    """What differs between two spaces."""
    names = [name for name in sorted(expected.arrays) if name.startswith(f"{space}/")]
    columns = [name for name in names if expected.arrays[name].ndim > 1]
    shares = [name for name in names if expected.arrays[name].ndim == 1 and not name.endswith("/eigenvalues")]
    values = expected.arrays.get(f"{space}/eigenvalues")
    found = []
    if values is None:  # nothing is known of the gaps
        together = [[place] for place in range(expected.arrays[columns[0]].shape[-1])]
    else:
        together = groups(values)
        scale = max(np.abs(values).max(initial=0), LEAST)
        found += _apart(f"{space}/eigenvalues", values, actual.arrays[f"{space}/eigenvalues"], tol, scale)
    if int(space) in expected.facts.get("cut", []):
        together = together[:-1]
    before = [_tall(expected.arrays[name]) for name in columns]
    after = [_tall(actual.arrays[name]) for name in columns]
    for group in together:
        for name in shares:
            one, two = (record.arrays[name][group].sum(keepdims=True) for record in (expected, actual))
            found += _apart(f"{name} of {group}", one, two, tol, max(1.0, float(np.abs(one[0]))))
        if not columns:
            continue
        one, two = _stacked(before, before, group), _stacked(after, before, group)
        if not (np.isfinite(one).all() and np.isfinite(two).all()):
            found.append(f"the space {space} has entries that are not finite")
        elif len(group) == 1:
            sign = -1.0 if np.vdot(one, two) < 0 else 1.0
            found += _apart(f"the component {group[0]} of {', '.join(columns)}", one, sign * two, tol, 1.0)
        else:
            outside = max(_outside(one, two), _outside(two, one))
            if outside > tol:
                found.append(f"the span of the components {group} of {', '.join(columns)} differs by {outside:.1e}")
    return found


def _tall(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, array.shape[-1])


def _stacked(arrays: list[np.ndarray], like: list[np.ndarray], group: list[int]) -> np.ndarray:
    """Some columns of all arrays, one array below the other. Each is divided by the largest entries of ``like``."""
    found = []
    for array, other in zip(arrays, like, strict=True):
        sizes = np.abs(other).max(axis=0, initial=0)
        sizes = np.maximum(sizes, FAINT * sizes.max())[group].max()
        found.append(array[:, group] / (sizes or 1.0))
    return np.concatenate(found)


def _outside(space: np.ndarray, other: np.ndarray) -> float:
    """The largest share of a column of ``other`` that is outside the space."""
    U, sizes, _ = np.linalg.svd(space, full_matrices=False)
    U = U[:, sizes > 1e-10 * sizes.max()]
    lengths = np.linalg.norm(other, axis=0)
    return float((np.linalg.norm(other - U @ (U.T @ other), axis=0) / np.where(lengths > 0, lengths, 1.0)).max())


def load(family: str) -> dict[str, Record]:
    """The records of a family, by the names of the cases; none where there is no file."""
    path = GOLDEN / f"{family}.npz"
    if not path.exists():
        return {}
    with np.load(path) as file:
        index, numbers = json.loads(file["index"].tobytes()), file["numbers"]
    found, start = {}, 0
    for name, (facts, shapes) in index.items():
        arrays = {}
        for array, shape in shapes.items():
            size = int(np.prod(shape))
            arrays[array] = numbers[start : start + size].reshape(shape)
            start += size
        found[name] = Record(facts, arrays)
    return found


def save(family: str, records: dict[str, Record]) -> None:
    """Write the records of a family: all numbers in one array, and an index of names, facts and shapes."""
    index = {
        name: (records[name].facts, {array: values.shape for array, values in records[name].arrays.items()})
        for name in sorted(records)
    }
    numbers = [values.ravel() for name in sorted(records) for values in records[name].arrays.values()]
    text = np.frombuffer(json.dumps(index, sort_keys=False).encode(), dtype=np.uint8)
    GOLDEN.mkdir(exist_ok=True)
    np.savez_compressed(GOLDEN / f"{family}.npz", index=text, numbers=np.concatenate([np.empty(0), *numbers]))


def first() -> dict[str, str]:
    """The hash of the first recording of each case, signature and command."""
    path = GOLDEN / "first.json"
    return json.loads(path.read_text()) if path.exists() else {}


def with_new(recorded: dict[str, str], before: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """The first recordings, and with them those of what had no recording before."""
    return dict(sorted(({name: now[name] for name in now.keys() - before.keys()} | recorded).items()))


def listed(text: str | None = None) -> dict[str, str]:
    """The cases that ``changes.md`` lists, and the reasons: each is a heading, and what stands below it."""
    text = (GOLDEN / "changes.md").read_text() if text is None else text
    parts = re.split(r"^## (.+)$", text, flags=re.M)[1:]
    return {name.strip(): reason.strip() for name, reason in zip(parts[::2], parts[1::2], strict=True)}


def matching(pattern: str, names: Any) -> set[str]:
    """The names that a heading of ``changes.md`` stands for: ``*`` is any text."""
    rule = re.compile(".*".join(re.escape(part) for part in pattern.split("*")))
    return {name for name in names if rule.fullmatch(name)}


def unexplained(hashes: dict[str, str], recorded: dict[str, str], reasons: dict[str, str]) -> list[str]:
    """Where ``changes.md`` and the recordings disagree: nothing where exactly those cases are listed that changed."""
    changed = {name for name in hashes.keys() | recorded.keys() if hashes.get(name) != recorded.get(name)}
    found, explained = [], set()
    for pattern, reason in reasons.items():
        named = matching(pattern, hashes.keys() | recorded.keys())
        explained |= named
        if not reason:
            found.append(f"changes.md gives no reason for {pattern!r}")
        if not named:
            found.append(f"changes.md lists {pattern!r}, and there is no such case")
        found += [f"changes.md lists {name!r}, which is as it was first recorded" for name in sorted(named - changed)]
    return found + [
        f"{name!r} is not as it was first recorded; say why in changes.md" for name in sorted(changed - explained)
    ]
