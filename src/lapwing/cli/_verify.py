"""``lapwing verify``: whether a model solves the problem that its data pose."""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any

import typer

from ._console import print_json, print_table, say
from ._inspect import certificate_lines
from ._model import Import, Model, in_blocks, last_step, loaded
from ._options import Data, Json, reads_data
from ._tables import are_quantities, check_classes, reads_targets

DOES_NOT_HOLD = 3  # exit status; 1 and 2 are errors of the data and of usage


@reads_data
def verify(
    model: Model,
    data: Data,
    *,
    options: dict[str, Any],
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            "-g",
            metavar="W.npz",
            help="The matrix of weights that the fit had, in the place of the model's graph: .npz, .npy or .mtx.",
        ),
    ] = None,
    json: Json = False,
    import_: Import = None,
) -> None:
    """Check a model against the data it was fitted to: pose the problem anew, and put the model into it.

    The exit code is 0 where it holds, 3 where it does not, and 1 where it could not be checked.
    """
    estimator, start = loaded(model, import_), time.perf_counter()
    from dataclasses import asdict

    from .. import tables
    from ..reducers import is_verifiable
    from ..reducers import verify as verified

    if not is_verifiable(estimator):
        raise ValueError(
            f"{model}: {type(last_step(estimator)).__name__} is none of lapwing's methods, and only these can be verified"
        )
    blocks = in_blocks(estimator, data, options)
    table = _read(estimator, data, options) if blocks is None else None
    X, y = (blocks, options["label"]) if table is None else (table.X, table.y)
    weights = None if graph is None else tables.read(graph, labels=False).X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # names were matched before
        found = verified(estimator, X, y, graph=weights)
    many = isinstance(found.certificate, list)
    certificates = found.certificate if many else [found.certificate]
    if json:
        facts = [certificate and asdict(certificate) for certificate in certificates]
        shown = {"certificate": facts if many else facts[0], "failures": found.failures, "unknown": found.unknown}
        print_json({"holds": found.holds, **shown})
    else:
        lines = [["verdict", "holds" if found.holds else "does NOT hold"]]
        lines += [["does not hold", why] for why in found.failures]
        lines += certificate_lines(certificates)
        print_table(["", ""], [*lines, *(["not found anew", what] for what in found.unknown)], header=False)
    verdict = "solves" if found.holds else "does NOT solve"
    said = f"{found.method} {verdict} the problem that {X.shape[0]:,} rows pose"
    say(f"{said} ({time.perf_counter() - start:.1f} s)")
    if not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def _read(estimator: Any, data: str, options: dict[str, Any]) -> Any:
    """The rows as the model takes them, and their labels as a fit takes them."""
    from dataclasses import replace

    from sklearn.utils import get_tags

    from ..tables import inputs_of, read

    given = {name: value for name, value in options.items() if name != "prepare"}
    names = getattr(estimator, "feature_names_in_", None)
    text = [
        str(j if names is None else names[j])
        for j, column in enumerate(inputs_of(estimator) or [])
        if column.kind == "text"
    ]
    columns = {"features": names, "n_features": estimator.n_features_in_}
    own = last_step(estimator)
    table = read(data, mixed=True, categories=text, targets=reads_targets(own), **given, **columns)
    if table.kinds is not None:
        import numpy as np

        table = replace(table, X=np.asarray(table.X, dtype=None if hasattr(estimator, "steps") else np.float64))
    needed = get_tags(own).target_tags.required
    if needed and table.y is None:
        raise ValueError(
            f"{data}: {type(own).__name__} requires y; name the column of labels that it was fitted to (--label)"
        )
    if reads_targets(own):
        return table
    if are_quantities(table.y) and not needed:
        return replace(table, y=None)  # as a fit does, which prints a message about it
    check_classes(table, data)
    return table
