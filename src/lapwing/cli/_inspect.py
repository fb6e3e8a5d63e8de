"""``lapwing inspect``, ``verify`` and ``export``: what a model file holds, whether it is right, and the same as ONNX."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from inspect import signature
from typing import Annotated, Any

import typer

from ._console import print_json, print_table, say, size, some
from ._model import Import, Model, in_blocks, in_this_folder, loaded, output_names
from ._options import Data, Json, Reading, Word, check_output, option, reads_data, writing
from ._tables import Taken, are_quantities, check_classes, is_ours, last_step, reads_targets

DOES_NOT_HOLD = 3  # exit status of verify; 1 and 2 are errors of the data and of usage


def export(
    model: Model,
    output: Annotated[str, option("--output -o ONNX")] = "model.onnx",
    import_: Import = None,
) -> None:
    """Write a model as ONNX, for programs without Python: linear and kernel methods, and what prepares their columns."""
    check_output(output, model, *in_this_folder(import_))
    from ..onnx import to_onnx

    try:
        with writing(output):
            written = to_onnx(loaded(model, import_), output)
    except TypeError as error:
        raise ValueError(f"{model}: {error}; lapwing transform uses it all the same") from error
    names = {"inputs": written.graph.input, "outputs": written.graph.output}
    said = "; ".join(f"{kind} {', '.join(part.name for part in parts)}" for kind, parts in names.items())
    say(f"wrote {output}: {said} ({size(output)})")
    for entry in written.metadata_props:
        say(f"columns of {entry.key}: {entry.value}" if entry.key in "XS" else f"what they must hold: {entry.value}")


Leading = Annotated[int | None, option("--loadings N", min=1)]


def inspect(model: Model, loadings: Leading = None, json: Json = False, import_: Import = None) -> None:
    """Say what is in a model file, or which features make its components."""
    from ..persistence import versions

    whole = loaded(model, import_)
    if loadings is not None:
        return _print_loadings(whole, loadings, json)
    estimator, names = _reducer(whole), output_names(whole)
    steps = [step for _, step in getattr(whole, "steps", [])]
    found = getattr(estimator, "certificate_", None)
    learnt = ("settings", "rank", "n_pca", "n_connected_components", "graph", "eigenvalues", "solver")
    facts = {
        "method": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "steps": _steps(whole) if whole is not estimator else None,
        "columns": _columns(whole),
        # None where the first step is passed through and the next does not say.
        "features": next((part.n_features_in_ for part in [whole, *steps] if hasattr(part, "n_features_in_")), None),
        "feature_names": getattr(whole, "feature_names_in_", None),
        "image_shape": getattr(estimator, "image_shape_", None),
        "outputs": None if names is None else len(names),
        **{name: getattr(estimator, f"{name}_", None) for name in learnt},
        "certificate": _certificate(found),
        "arrays": {name: list(array.shape) for name, array in _arrays(estimator)},
        "file": {**versions(model), "bytes": os.path.getsize(model)},
    }
    if json:
        return print_json(facts)
    *lines, arrays, file = _lines(facts, estimator, model)
    return print_table(["", ""], [*lines, *_certificate_lines(found), arrays, file], header=False)


def _certificate(found: Any) -> Any:
    """A certificate, or those of several modes, for programs."""
    return [asdict(one) for one in found] if isinstance(found, list) else found and asdict(found)


def _certificate_lines(found: Any) -> list[list[str]]:
    """One line per certificate, with its mode where there are several."""
    modes = {f", mode {i + 1}": one for i, one in enumerate(found)} if isinstance(found, list) else {"": found}
    return [[f"certificate{mode}", str(one)] for mode, one in modes.items() if one]


def _print_loadings(model: Any, most: int, json: bool) -> None:
    from ..inspection import loadings

    rows = loadings(getattr(model, "reducer_", model)).rows(most)
    if json:
        return print_json(rows)
    lines = [[f"{value:+.3f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    return print_table(list(rows[0]), lines)


def _reducer(model: Any) -> Any:
    """The last estimator of lapwing in a model, or the last step of the model where there is none."""
    if hasattr(model, "reducer_"):
        return _reducer(model.reducer_)
    ours = [own for _, step in getattr(model, "steps", []) if is_ours(own := _reducer(step))]
    return ours[-1] if ours else last_step(model)


def _arrays(estimator: Any) -> Iterator[tuple[str, Any]]:
    """The arrays that an estimator has learnt, by name; one per mode for images."""
    for name, value in vars(estimator).items():
        parts = {f"{name}[{i}]": part for i, part in enumerate(value)} if isinstance(value, list) else {name: value}
        yield from ((place, part) for place, part in parts.items() if isinstance(getattr(part, "shape", None), tuple))


def _steps(model: Any) -> list[str]:
    parts = [step for _, step in model.steps] if hasattr(model, "steps") else []
    if hasattr(model, "reducer_"):
        parts = [model.reducer_, model.classifier_]
    passed = model is None or isinstance(model, str)
    return [name for part in parts for name in _steps(part)] or ["passthrough" if passed else type(model).__name__]


def _columns(model: Any) -> dict[str, list[str]] | None:
    """The names of the columns that the preparation of a model takes, grouped by what they hold."""
    from ..tables import preparation_of

    columns = getattr(preparation_of(model), "columns_", {})
    kinds = dict.fromkeys(column["kind"] for column in columns.values())
    return {kind: [name for name, own in columns.items() if own["kind"] == kind] for kind in kinds} or None


def _lines(facts: dict[str, Any], estimator: Any, path: str) -> list[list[str]]:
    known = signature(type(estimator)).parameters
    changed = {key: value for key, value in facts["parameters"].items() if repr(value) != repr(known[key].default)}
    values, columns = facts["eigenvalues"], facts["columns"] or {}
    modes = values if isinstance(values, list) else [[] if values is None else values]
    words = {"number": "numbers", "date": "dates as numbers", "category": "text one-hot encoded", "text": "sentences"}
    names = some(facts["feature_names"])
    lines = {
        "method": f"{facts['method']}, {(type(estimator).__doc__ or '').strip().splitlines()[0]}",
        "parameters": ", ".join(f"{key}={value!r}" for key, value in changed.items()) or "defaults",
        "settings": ", ".join(f"{key}={value!r}" for key, value in (facts["settings"] or {}).items()),
        "steps": " -> ".join(facts["steps"] or []),
        "columns": "; ".join(f"{words[kind]}: {some(names)}" for kind, names in columns.items() if len(columns) > 1),
        "features": "any" if facts["features"] is None else f"{facts['features']:,}{': ' * bool(names)}{names}",
        "images": " x ".join(map(str, facts["image_shape"] or ())),
        "outputs": None if facts["outputs"] is None else f"{facts['outputs']:,}",
        "rank": facts["rank"],
        "PCA directions": facts["n_pca"],
        "graph": facts["graph"],
        "connected parts": facts["n_connected_components"],
        "eigenvalues": "; ".join(some([f"{value:.4g}" for value in mode]) for mode in modes),
        "solver": facts["solver"],
        "arrays": ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in facts["arrays"].items()),
        "file": f"lapwing {facts['file']['lapwing']}, scikit-learn {facts['file']['scikit-learn']}, {size(path)}",
    }
    return [[name, " ".join(str(value).split())] for name, value in lines.items() if value not in (None, "")]


@reads_data
def verify(
    model: Model,
    data: Data,
    *,
    reading: Reading,
    graph: Annotated[Word, option("--graph -g W.npz")] = None,
    json: Json = False,
    import_: Import = None,
) -> None:
    """Check a model against the data it was fitted to: fit it anew, and compare.

    The exit code is 0 where it holds, 3 where it does not, and 1 where it could not be checked.
    """
    estimator, start = loaded(model, import_), time.perf_counter()
    from .. import tables
    from ..verification import is_verifiable
    from ..verification import verify as verified

    if not is_verifiable(estimator):
        name = type(last_step(estimator)).__name__
        raise ValueError(f"{model}: {name} is none of lapwing's methods, and only these can be verified")
    blocks = in_blocks(estimator, data, reading)
    table = _read(estimator, data, reading) if blocks is None else None
    X, y = (blocks, reading.label) if table is None else (table.X, table.y)
    weights = None if graph is None else tables.read(graph, labels=False).X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # names were matched before
        found = verified(estimator, X, y, graph=weights)
    if json:
        shown = {"failures": found.failures, "unknown": found.unknown}
        print_json({"holds": found.holds, "certificate": _certificate(found.certificate), **shown})
    else:
        lines = [["verdict", "holds" if found.holds else "does NOT hold"]]
        lines += [["does not hold", why] for why in found.failures]
        lines += _certificate_lines(found.certificate)
        print_table(["", ""], [*lines, *(["not found anew", what] for what in found.unknown)], header=False)
    said = f"{found.method} {'solves' if found.holds else 'does NOT solve'} the problem that {X.shape[0]:,} rows pose"
    say(f"{said} ({time.perf_counter() - start:.1f} s)")
    if not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def _read(estimator: Any, data: str, reading: Reading) -> Any:
    """The rows as the model takes them, and their labels as a fit takes them."""
    from sklearn.utils import get_tags

    from ..tables import read

    taken, own = Taken(estimator), last_step(estimator)
    how = {"mixed": True, "targets": reads_targets(own), "n_features": estimator.n_features_in_}
    table = read(data, features=taken.names, **how, **reading.read)
    table, needed = replace(table, X=taken.rows(table)), get_tags(own).target_tags.required
    if needed and table.y is None:
        name = type(own).__name__
        raise ValueError(f"{data}: {name} requires y; name the column of labels that it was fitted to (--label)")
    if reads_targets(own):
        return table
    if are_quantities(table.y) and not needed:
        return replace(table, y=None)  # as a fit does, which prints a message about it
    check_classes(table, data)
    return table
