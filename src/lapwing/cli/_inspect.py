"""What a model file holds, and whether it is what its data give."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from inspect import signature
from typing import Any

from .. import tables
from ..inspection import loadings
from ..persistence import versions
from ..reducers import Reducer
from ..tables import preparation_of
from ..verification import flattened, is_verifiable, verify
from ._console import print_facts, print_json, print_table, some
from ._model import Taken, before_classes, final_step, last_step, output_names, reads_targets, with_labels
from ._options import Reading

LEARNT = ("settings", "rank", "n_pca", "n_connected_components", "graph", "eigenvalues", "solver", "certificate")


def print_model(model: Any, path: str, json: bool) -> None:
    """Print what is in a model."""
    estimator, names = _reducer(model), output_names(model)
    steps = flattened(model)
    classifier = getattr(final_step(model), "classifier_", None)
    parts = [*steps, *([] if classifier is None else [classifier])]
    facts = {
        "method": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "steps": [type(part).__name__ for part in parts] if model is not estimator else None,
        "columns": _columns(model),
        # None where the first step is passed through and the next does not say.
        "features": next((part.n_features_in_ for part in [model, *steps] if hasattr(part, "n_features_in_")), None),
        "feature_names": getattr(model, "feature_names_in_", None),
        "image_shape": getattr(estimator, "image_shape_", None),
        "outputs": None if names is None else len(names),
        **{name: getattr(estimator, f"{name}_", None) for name in LEARNT},
        "arrays": {name: list(array.shape) for name, array in _arrays(estimator)},
        "file": {**versions(path), "bytes": os.path.getsize(path)},
    }
    if json:
        return print_json(facts | {"certificate": _plain(facts["certificate"])})
    known = signature(type(estimator)).parameters
    changed = {key: value for key, value in facts["parameters"].items() if repr(value) != repr(known[key].default)}
    about = re.sub(r":\w+:`(\w+)`", r"\1", (type(estimator).__doc__ or "").strip().splitlines()[0])
    facts |= {"method": f"{facts['method']}, {about}", "parameters": changed or "defaults"}
    lines = [[name.replace("_", " "), " ".join(_shown(value).split())] for name, value in facts.items()]
    return print_facts([line for line in lines if line[1]])


def print_loadings(model: Any, most: int, json: bool) -> None:
    """Print the features of largest loading."""
    rows = loadings(model if hasattr(model, "transform") else before_classes(model)).rows(most)
    if json:
        return print_json(rows)
    lines = [[f"{value:+.3f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    return print_table(list(rows[0]), lines)


def verified(model: Any, path: str, data: str, reading: Reading) -> tuple[Any, int]:
    """What fitting a model anew to its data has found, and how many rows these have."""
    if not is_verifiable(model):
        name = type(last_step(model)).__name__
        raise ValueError(f"{path}: {name} is none of lapwing's methods, and only these can be verified")
    taken = Taken(model)
    how = {"mixed": True, "targets": reads_targets(last_step(model)), "n_features": model.n_features_in_}
    table = tables.read(data, features=taken.names, **how, **reading.read)
    table = with_labels(model, replace(table, X=taken.given(table)), data)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # names were matched before
        return verify(model, table.X, table.y), len(table)


def print_verification(found: Any, json: bool) -> None:
    """Print whether a model holds, and why not."""
    if json:
        facts = {"holds": found.holds, "certificate": _plain(found.certificate)}
        return print_json({**facts, "failures": found.failures, "unknown": found.unknown})
    lines = [["verdict", "holds" if found.holds else "does NOT hold"]]
    lines += [["does not hold", why] for why in found.failures]
    lines += [["certificate", _shown(found.certificate)]] if found.certificate else []
    return print_facts([*lines, *(["not found anew", what] for what in found.unknown)])


def _plain(certificate: Any) -> Any:
    """A certificate, or those of several modes, for programs."""
    return (
        [asdict(one) for one in certificate] if isinstance(certificate, list) else certificate and asdict(certificate)
    )


def _shown(value: Any) -> str:
    """A fact in words: the first of many values, and how many there are."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_shown(part) or part}" for name, part in value.items())
    if isinstance(value, list | tuple):
        parts = list(map(_shown, value))
        return some(parts) if all(isinstance(part, str | int | float) for part in value) else "; ".join(parts)
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _reducer(model: Any) -> Any:
    """The last estimator of lapwing in a model, or the last step of the model where there is none."""
    ours = [step for step in flattened(model) if isinstance(step, Reducer)]
    return ours[-1] if ours else last_step(model)


def _arrays(estimator: Any) -> Iterator[tuple[str, Any]]:
    """The arrays that an estimator has learnt, by name; one per mode for images."""
    for name, value in vars(estimator).items():
        parts = {f"{name}[{i}]": part for i, part in enumerate(value)} if isinstance(value, list) else {name: value}
        yield from ((place, part) for place, part in parts.items() if isinstance(getattr(part, "shape", None), tuple))


def _columns(model: Any) -> dict[str, list[str]] | None:
    """The names of the columns that the preparation of a model takes, grouped by what they hold."""
    columns = getattr(preparation_of(model), "columns_", {})
    kinds = dict.fromkeys(column["kind"] for column in columns.values())
    return {kind: [name for name, own in columns.items() if own["kind"] == kind] for kind in kinds} or None
