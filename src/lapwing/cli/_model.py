"""``lapwing fit``, ``transform`` and ``inspect``: models in files."""

from __future__ import annotations

import ast
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer

from ._console import Progress, counted, print_json, print_table, progress, say, size
from ._methods import find
from ._options import (
    Data,
    Drop,
    Grey,
    Header,
    Id,
    Json,
    Label,
    NoLabel,
    Resize,
    ZeroBased,
    check_output,
    check_writer,
    reading,
    writing,
)
from ._tables import check_classes, read_table

SHOWN = 8  # eigenvalues and names that are printed

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Written by lapwing fit.")]
Import = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="A module of yours that defines the model's estimator or graphs: installed, or in this folder. May be repeated.",
    ),
]


def fit(
    data: Data,
    method: Annotated[str, typer.Option("--method", "-m", help="As in lapwing methods.")] = "lpp",
    dimensions: Annotated[
        str | None,
        typer.Option("--dimensions", "-d", metavar="D", help='How many; "all"; for tsa one a side, as 8x6.'),
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write the model.")] = "model.lapwing",
    label: Label = None,
    no_label: NoLabel = False,
    id: Id = None,
    drop: Drop = None,
    neighbors: Annotated[int | None, typer.Option("--neighbors", "-k", min=1, help="Neighbours in the graph.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="KEY=VALUE", help="Any parameter of the method. May be repeated."),
    ] = None,
    header: Header = None,
    resize: Resize = None,
    grey: Grey = None,
    zero_based: ZeroBased = False,
) -> None:
    """Fit a method to DATA and write the model."""
    check_output(output, data)
    options = reading(label, no_label, id, drop, header, resize, grey, zero_based)
    parameters = [_parameter(text) for text in param or []]
    estimator = find(method)()
    _configure(estimator, dimensions, neighbors, dict(parameters))
    from ..persistence import save

    start = time.perf_counter()
    blocks = _in_blocks(estimator, data, options)
    if blocks is None:
        table = read_table(data, options)
        _fit(estimator, table, data)
        shape = table.X.shape
    else:
        estimator.fit(blocks, label)
        shape = blocks.shape
    with writing(output):
        save(estimator, output)
    rows, features = counted(shape[0], "row"), counted(shape[1], "feature")
    say(
        f"{type(estimator).__name__}: {rows}, {features} -> {_outputs(estimator):,} "
        f"in {time.perf_counter() - start:.1f} s; wrote {output} ({size(output)})"
    )


def _in_blocks(estimator: Any, data: str, options: dict[str, Any]) -> Any:
    """A Parquet file whose rows are more than the working memory, for methods that read them in blocks; else None."""
    if not data.lower().endswith((".parquet", ".pq")) or not os.path.isfile(data) or not _reads_blocks(estimator):
        return None
    from pyarrow import ArrowInvalid, dataset, parquet

    from ..blocks import as_blocks, working_memory

    try:
        metadata = parquet.read_metadata(data)
    except ArrowInvalid:
        return None  # reading it will say what is wrong
    if metadata.num_rows * metadata.num_columns * 8 <= working_memory():
        return None
    rows = dataset.dataset(data, format="parquet")
    left_out = [name for name in (options["label"], options["id"], *options["drop"]) if name is not None]
    for name in left_out:
        if name not in rows.schema.names:
            raise ValueError(f"{data} has no column {name!r}; it has {', '.join(rows.schema.names[:20])}")
    _require_label(estimator, options["label"])
    say(f"{data} has {counted(metadata.num_rows, 'row')}, and is read in blocks")
    return as_blocks(rows, options["label"], [name for name in rows.schema.names if name not in left_out])


def _require_label(estimator: Any, label: Any) -> None:
    from sklearn.utils import get_tags

    if get_tags(estimator).target_tags.required and label is None:
        raise typer.BadParameter(f"{type(estimator).__name__} needs labels", param_hint="--label")


def _reads_blocks(estimator: Any) -> bool:
    from ..reducers import FeatureSelector, LinearReducer

    return isinstance(estimator, LinearReducer | FeatureSelector)


def _fit(estimator: Any, table: Any, data: str) -> None:
    from scipy import sparse
    from sklearn.utils import get_tags

    _require_label(estimator, table.y)
    if get_tags(estimator).target_tags.required:
        check_classes(table, data)
    if sparse.issparse(table.X) and not get_tags(estimator).input_tags.sparse:
        raise ValueError(
            f"{data}: {type(estimator).__name__} takes no sparse data; write it as dense rows, or use lpp or lpi"
        )
    if "image_shape" in estimator.get_params() and table.image_shape is not None:
        estimator.set_params(image_shape=table.image_shape, flatten=True)
    estimator.fit(table.X, table.y)
    if table.feature_names is not None:
        import numpy as np

        # So that transform finds the columns by name; scikit-learn sets it only where X is a data frame.
        estimator.feature_names_in_ = np.array(table.feature_names, dtype=object)
    if table.image_shape is not None:
        estimator.image_shape_ = tuple(map(int, table.image_shape))  # so that transform takes no images of another


def _parameter(text: str) -> tuple[str, Any]:
    """KEY=VALUE, the value as Python or JSON writes it, else as text."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--param")
    constants = {"null": None, "true": True, "false": False}
    try:
        return key, constants[value] if value in constants else ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return key, value


def _configure(estimator: Any, dimensions: str | None, neighbors: int | None, parameters: dict[str, Any]) -> None:
    if neighbors is not None:
        if "graph" not in estimator.get_params():
            raise typer.BadParameter(f"{type(estimator).__name__} has no graph", param_hint="--neighbors")
        estimator.set_params(graph=neighbors)
    if any(key.startswith("graph__") for key in parameters):
        estimator.set_params(graph=estimator.default_graph(neighbors or estimator.n_neighbors))
    if dimensions is not None:
        name = "n_components" if "n_components" in estimator.get_params() else "n_features_to_select"
        if name in parameters:
            raise typer.BadParameter(f"give -d, or -p {name}=...", param_hint="--dimensions")
        estimator.set_params(**{name: _number(dimensions)})
    known = estimator.get_params()
    for key in parameters:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(known))}"
            raise typer.BadParameter(
                f"{type(estimator).__name__} has no parameter {key!r}; {hint}", param_hint="--param"
            )
    estimator.set_params(**parameters)


def _number(text: str) -> Any:
    if text == "all":
        return None
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", text):
        raise typer.BadParameter(f'{text!r} is neither a number, nor "all", nor like 8x6', param_hint="--dimensions")
    numbers = tuple(map(int, text.split("x")))
    return numbers[0] if len(numbers) == 1 else numbers


def _outputs(estimator: Any) -> int:
    return len(estimator.get_feature_names_out())


def transform(
    model: Model,
    data: Data,
    output: Annotated[
        str, typer.Option("--output", "-o", help=".parquet, .csv, .tsv, .npy, or - for CSV on standard output.")
    ] = "-",
    label: Label = None,
    no_label: NoLabel = False,
    id: Id = None,
    drop: Drop = None,
    header: Header = None,
    resize: Resize = None,
    grey: Grey = None,
    zero_based: ZeroBased = False,
    import_: Import = None,
) -> None:
    """Project DATA, in batches of rows: files of any size in little memory.

    Columns are found by name where the model knows names. Those of --label and --id are copied to the output.
    """
    check_output(output, model, data, stdout=True)
    check_writer(output)
    options = reading(label, no_label, id, drop, header, resize, grey, zero_based)
    from ..persistence import load
    from ..tables import batches, has_columns, write

    start = time.perf_counter()
    _import(import_)
    estimator = load(model)
    tables = batches(
        data, **options, features=getattr(estimator, "feature_names_in_", None), n_features=estimator.n_features_in_
    )
    plain = output.lower().endswith(".npy") and label is None and id is None
    names = {"label": _name(label, "label", has_columns(data)), "id": _name(id, "id", has_columns(data))}
    with progress("projecting") as update, writing(output):
        rows = write(output, _projected(estimator, _of_one_shape(estimator, tables, data), plain, update), **names)
    if output != "-":
        written = f"{counted(rows, 'row')}, {counted(_outputs(estimator), 'component')} ({size(output)})"
        say(f"wrote {output}: {written} in {time.perf_counter() - start:.1f} s")


def _of_one_shape(estimator: Any, tables: Iterator[Any], data: str) -> Iterator[Any]:
    """Tables whose images, if they are some, are as large as those that the model was fitted to."""
    fitted = getattr(estimator, "image_shape_", None)
    for table in tables:
        if fitted is not None and table.image_shape is not None and fitted != tuple(table.image_shape):
            found, wanted = (" x ".join(map(str, shape)) for shape in (table.image_shape, fitted))
            raise ValueError(
                f"{data}: images of {found}, but the model was fitted to {wanted} (height x width); --resize "
                f"{fitted[1]}x{fitted[0]} and --grey or --colour make them so"
            )
        yield table


def _projected(estimator: Any, tables: Iterator[Any], plain: bool, update: Progress) -> Iterator[Any]:
    from scipy import sparse

    names = [str(name) for name in estimator.get_feature_names_out()]
    done = 0
    for table in tables:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # they were matched
            Z = estimator.transform(table.X)
        done += len(table)
        update(done, None, "projecting, rows")
        Z = Z.toarray() if sparse.issparse(Z) else Z  # features chosen from sparse data
        projected = replace(table, X=Z, feature_names=names)
        yield replace(projected, y=None, ids=None) if plain else projected


def _name(column: str | None, default: str, columns: bool) -> str:
    """Of a column in the output: a number names nothing, nor does a file of labels where there are no columns."""
    if column is None or re.fullmatch(r"-?\d+", column):
        return default
    return column if columns or not os.path.exists(column) else default


def _import(modules: list[str] | None) -> None:
    """What the user asks for, and nothing that a file does."""
    if modules and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # at the end: a file of this folder takes the place of nothing that is installed
    for name in modules or []:
        if not re.fullmatch(r"\w+(\.\w+)*", name) or name.endswith(".py"):
            raise typer.BadParameter(f"{name!r} is no module; name it as in import mymethods", param_hint="--import")
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # of what the module itself imports
            said = f"there is no module {name!r}, neither installed nor in this folder"
            raise typer.BadParameter(said, param_hint="--import") from error
        except Exception as error:
            raise RuntimeError(f"--import {name}: {type(error).__name__}: {error}") from error


def inspect(model: Model, json: Json = False, import_: Import = None) -> None:
    """Say what is in a model file."""
    from ..persistence import load, read_header

    _import(import_)
    estimator = load(model)
    header = read_header(model)
    facts = {
        "method": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "features": estimator.n_features_in_,
        "feature_names": getattr(estimator, "feature_names_in_", None),
        "image_shape": getattr(estimator, "image_shape_", None),
        "outputs": _outputs(estimator),
        **{name: getattr(estimator, f"{name}_", None) for name in ("rank", "n_pca", "n_connected_components", "graph")},
        "eigenvalues": getattr(estimator, "eigenvalues_", None),
        "solver": getattr(estimator, "solver_", None),
        "arrays": {name: list(value.shape) for name, value in vars(estimator).items() if hasattr(value, "shape")},
        "file": {"format": header["format"], "lapwing": header["lapwing"], "bytes": os.path.getsize(model)},
    }
    if json:
        print_json(facts)
    else:
        print_table(["", ""], _lines(facts, estimator, model), header=False)


def _lines(facts: dict[str, Any], estimator: Any, path: str) -> list[list[str]]:
    defaults = type(estimator)().get_params(deep=False)
    changed = {key: value for key, value in facts["parameters"].items() if repr(value) != repr(defaults[key])}
    lines = {
        "method": f"{facts['method']}, {(type(estimator).__doc__ or '').strip().splitlines()[0]}",
        "parameters": ", ".join(f"{key}={value!r}" for key, value in changed.items()) or "defaults",
        "features": f"{facts['features']:,}" + _some(facts["feature_names"], ": {}"),
        "images": " x ".join(map(str, facts["image_shape"] or ())),
        "outputs": f"{facts['outputs']:,}",
        "rank": facts["rank"],
        "PCA directions": facts["n_pca"],
        "graph": facts["graph"],
        "connected parts": facts["n_connected_components"],
        "eigenvalues": _some([] if facts["eigenvalues"] is None else [f"{v:.4g}" for v in facts["eigenvalues"]]),
        "solver": facts["solver"],
        "arrays": ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in facts["arrays"].items()),
        "file": f"format {facts['file']['format']}, lapwing {facts['file']['lapwing']}, {size(path)}",
    }
    return [[name, " ".join(str(value).split())] for name, value in lines.items() if value not in (None, "")]


def _some(values: Any, form: str = "{}") -> str:
    if values is None or not len(values):
        return ""
    more = f", ... ({len(values):,} in all)" if len(values) > SHOWN else ""
    return form.format(", ".join(map(str, values[:SHOWN])) + more)
