"""What the page shows, as plain lists and numbers, and the program that computes its numbers again."""

from __future__ import annotations

import ast
import base64
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from math import ceil, isfinite, sqrt
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from .._extras import require
from .._validation import spread_rows
from ..inspection import directions, loadings
from ..metrics import standard_error
from ..selection import reducer_of, takes_unknown_for_a_class

PROGRAM = """\
again = compare(
    {arguments},{judge}
)
scores = again.scores({name})
print(f"{what} on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}
model = again.models[{name}]
Z = model.transform(again.X)
"""
# The names of measures, and what some of them say.
MEASURES = {
    "accuracy": ("accuracy", "the share of rows whose class is named rightly"),
    "balanced_accuracy": ("balanced accuracy", "the share of rows named rightly, as a mean over the classes"),
    "f1": ("F1 (mean of classes)", ""),
    "roc_auc": ("ROC AUC", "the share of pairs, one row of each class, that stand in the right order"),
    "r2": ("R²", "the share of the variance that is explained"),
    "map": ("mean average precision", "how far rows of one class come first in a search"),
    "recall@5": ("recall at 5", ""),
    "nmi": ("clustering NMI", ""),
    "recall": ("recall of neighbours", "the share of the nearest rows that stay the nearest"),
}
THUMBNAIL = 40  # the longer side of an image has at most this many pixels
TEXT = 280  # this many characters of a document are shown
COLUMNS = 12  # this many features of a row, and of a component, are shown
COMPONENTS = 12  # this many components are shown
NEAREST, ATLAS_NEAREST = 6, 15  # this many neighbours of a point are shown, and listed for an atlas
OVERVIEW = 40  # this many columns are in the overview of the data
MANY_WORDS, SHORT = 50, 30  # of more different words the first and the last are named, where all are as short as this
DRAWS = 40  # random halves of the rows that make the intervals of loadings
NEIGHBOURHOOD = ("trustworthiness", "continuity", "recall")
IN_TABLE = ("accuracy", "balanced_accuracy", "f1", "roc_auc", "r2", "map", "recall@5")


def content(
    comparison: Any,
    *,
    max_points: int,
    loading: str | None = None,
    columns: Any = None,
    feature_names: Any = None,
    ids: Any = None,
    images: Any = None,
    texts: Any = None,
) -> dict[str, Any]:
    """Everything on the page, checked against the comparison."""
    X, (n, d), labels = comparison.X, comparison.X.shape, comparison.labels
    names = _names("feature_names", feature_names, [f"feature {i}" for i in range(d)])
    identities = _names("ids", ids, [str(i + 1) for i in range(n)])
    images = None if images is None else np.asarray(images)
    if images is not None and (len(images) != n or images.ndim not in (3, 4) or images.shape[3:] not in ((), (3,))):
        raise ValueError(
            f"images has shape {images.shape}; it must be ({n}, height, width), or with 3 colours at the end"
        )
    texts = None if texts is None else _names("texts", texts, identities)
    certificate = getattr(reducer_of(comparison.models[comparison.choice[0]]), "certificate_", None)
    rows = spread_rows(n, max_points)
    classes = None if comparison.classes is None else [str(name) for name in comparison.classes]
    made_of = {name: _made_of(comparison, name, names, images) for name in comparison.models}
    given, summary = _columns(columns, X, names), comparison.summary()
    choice = next(row for row in summary if row["method"] == comparison.choice[0])
    counted = None if classes is None else np.bincount(labels[labels >= 0], minlength=len(classes))
    return _plain(
        {
            "nColumns": len(given) or d,
            "criterion": _name(comparison.criterion),
            "chance": _chance(comparison),
            "verdict": list(_verdict(comparison, choice, len(given) or d)),
            "summary": summary,
            "choice": choice,
            "measures": [
                {"key": key, "name": _name(key), "shown": key in IN_TABLE and key != comparison.criterion}
                for key in comparison.measures
            ],
            "scores": {name: _scores(comparison, name) for name in comparison.methods},
            "lines": list(comparison.lines.values()),
            "uncertain": None if certificate is None or certificate.holds else str(certificate),
            "points": {
                "rows": rows,
                "ids": [identities[i] for i in rows],
                "labels": None if labels is None else labels[rows],
                "embeddings": {name: _plain(Z[rows].T, 4) for name, Z in comparison.embeddings.items()},
                "map": _plain(chosen_map(comparison, rows).T, 4),
                "near": _nearest(X[rows]),
                "nearAfter": {name: _nearest(space[rows]) for name, space in comparison.spaces.items()},
                "predicted": _predicted(comparison, rows),
            },
            "classSizes": counted,
            "filled": X.nnz / (n * d) if sparse.issparse(X) else None,
            "columns": [_column(name, values) for name, values in list(given.items())[:OVERVIEW]],
            "madeOf": made_of,
            "classNames": classes,
            "samples": _samples(X, rows, names, given, images, texts, made_of[comparison.choice[0]]),
            "confusion": classes and {name: comparison.confusion(name) for name in comparison.methods},
            "code": {name: program(comparison, name, loading) for name in comparison.methods},
        }
    )


def _plain(values: Any, digits: int = 6) -> Any:
    """Lists, and numbers of few digits for a short file; None for what is not finite, since JSON cannot write it."""
    if isinstance(values, dict):
        return {key: _plain(value, digits) for key, value in values.items()}
    if isinstance(values, np.ndarray | np.generic):
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        return [_plain(value, digits) for value in values]
    if isinstance(values, float):
        return float(f"{values:.{digits}g}") if isfinite(values) else None
    return values


def _name(measure: str) -> str:
    return MEASURES.get(measure, [measure])[0]


def _names(parameter: str, given: Any, default: list[str]) -> list[str]:
    found = default if given is None else [str(name) for name in given]
    if len(found) != len(default):
        raise ValueError(f"{parameter} has {len(found)} entries, but there must be {len(default)}")
    return found


def _columns(columns: Any, X: Any, names: list[str]) -> dict[str, np.ndarray]:
    """The columns in the units of the file, with dates as text; those of X where none were given. None of sparse X."""
    if columns is None:
        return {} if sparse.issparse(X) else dict(zip(names, X.T, strict=True))
    found = {str(name): np.asarray(columns[name]) for name in getattr(columns, "columns", columns)}
    if bad := [f"{name!r} has {len(values)}" for name, values in found.items() if len(values) != X.shape[0]]:
        raise ValueError(f"columns must have {X.shape[0]} entries each, and {', '.join(bad)}")
    return {name: values.astype(str) if values.dtype.kind == "M" else values for name, values in found.items()}


def _chance(comparison: Any) -> float:
    """The recall of neighbours by chance."""
    return comparison.n_neighbors / max(1, min(len(fold) for fold in comparison.folds) - 1)


def _verdict(comparison: Any, chosen: dict, n_columns: int) -> Iterator[str]:
    """What was found, how good it is beside all columns (the better of two judges) and guessing, and what to watch."""
    (method, d), key = comparison.choice, comparison.criterion
    means = MEASURES.get(key, ("", ""))[1]
    numbers, of = f"{d} number{'s' * (d > 1)}", f"{n_columns:,} column{'s' * (n_columns > 1)}"
    yield f"{method} describes each row by {numbers} in the place of {of}."
    reached = f"On rows that it had not seen, {'this' if d == 1 else 'these'} reach{'es' * (d == 1)} "
    reached += f"{_percent(chosen['mean'])} ± {100 * chosen['se']:.1f} % ({_name(key)}{': ' * bool(means)}{means})"
    lines = {line: row for line, row in comparison.lines.items() if key in row}
    guess = lines.pop("majority", None)
    beat = max(lines.values(), key=lambda row: row[key])  # the stronger of the simple alternatives
    said = [f"{beat['method']} reach {_percent(beat[key])} %"]
    said += [f"guessing reaches {_percent(guess[key])} %"] if guess else []
    if key in NEIGHBOURHOOD:
        said = [f"chance {_percent(_chance(comparison) if key == 'recall' else 0.5)} %"]
    yield f"{reached}; {', and '.join(said)}." if said else f"{reached}."
    watch = list(_watched(comparison))
    yield f"To watch: {'; '.join(watch)}." if watch else ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _watched(comparison: Any) -> Iterator[str]:
    if comparison.leaks:
        yield "the warning above, before anything else"
    if comparison.labels is not None:
        confusion = comparison.confusion(comparison.choice[0])
        sizes, names = confusion.sum(axis=1), comparison.classes
        if comparison.is_unequal:
            i = int(sizes.argmin())
            right, others = int(confusion[i, i]), int(confusion[:, i].sum() - confusion[i, i])
            yield (
                f"{names[sizes.argmax()]!s} is {_percent(sizes.max() / sizes.sum())} % of the rows; of the {sizes[i]:,} rows of "
                f"{names[i]!s}, {right:,} {'is' if right == 1 else 'are'} recognised, and {others:,} "
                f"{'row' if others == 1 else 'rows'} of other classes {'is' if others == 1 else 'are'} taken for {names[i]!s}"
            )
        elif (wrong := confusion - np.diag(np.diag(confusion))).any():
            i, j = np.unravel_index(wrong.argmax(), wrong.shape)
            yield f"the most frequent mistake takes {names[i]!s} for {names[j]!s} ({wrong[i, j]:,} of {sizes[i]:,} rows)"
    level = [row["method"] for row in comparison.summary() if row["behind"] <= 2 * row["behind_se"]]
    if len(level) > 1:
        yield f"{len(level)} of {len(comparison.methods)} methods are as good within the error"


def _scores(comparison: Any, method: str) -> dict[str, Any]:
    by_measure = {measure: comparison.scores(method, measure) for measure in comparison.measures}
    return {
        "dimensions": comparison.dimensions(method),
        "mean": {measure: scores.mean(axis=0) for measure, scores in by_measure.items()},
        "se": {measure: [standard_error(column) for column in scores.T] for measure, scores in by_measure.items()},
    }


def chosen_map(comparison: Any, rows: np.ndarray) -> np.ndarray:
    """Some rows in two dimensions: the t-SNE of the recommended space, or the space itself where it has at most two."""
    space = np.asarray(comparison.spaces[comparison.choice[0]][rows], dtype=float)
    if space.shape[1] == 1:
        return np.column_stack([space[:, 0], np.zeros(len(space))])
    if space.shape[1] == 2 or len(rows) < 5:
        return space[:, :2]
    perplexity = min(30.0, (len(rows) - 1) / 4)
    return TSNE(2, init="pca", perplexity=perplexity, max_iter=500, random_state=0).fit_transform(space)


def _nearest(Z: Any) -> np.ndarray:
    """The nearest of the points shown, point by point."""
    k, metric = min(NEAREST, Z.shape[0] - 1), "cosine" if sparse.issparse(Z) else "euclidean"
    return NearestNeighbors(n_neighbors=k, metric=metric).fit(Z).kneighbors(return_distance=False)


def _predicted(comparison: Any, rows: np.ndarray) -> dict[str, np.ndarray] | None:
    """For each method, the class that the judge gave each point while it was held out; -1 where it never was."""
    if comparison.labels is None:
        return None
    found = {}
    for row in comparison.summary():
        classes = np.full(comparison.X.shape[0], -1)
        by_fold = comparison.predictions[row["method"], row["dimension"]]
        for fold, predicted in zip(comparison.folds, by_fold, strict=True):
            classes[fold[comparison.labels[fold] >= 0]] = predicted
        found[row["method"]] = classes[rows]
    return found


def _column(name: str, values: np.ndarray) -> dict[str, Any]:
    """What a column holds: the quartiles and the mean of numbers, the most frequent values of others; and its gaps."""
    if values.dtype.kind in "biuf":
        present = values[np.isfinite(values)]
        cells = [present.min(), *np.quantile(present, (0.25, 0.5, 0.75)), present.max()] if present.size else []
        shown = [_number(value) for value in [*cells, present.mean()]] if cells else []
        return {"name": name, "gaps": len(values) - len(present), "cells": shown}
    words = Counter(str(value) for value in values.tolist() if value not in (None, "", "NaT") and value == value)
    said = ", ".join(f"{word} {_percent(count / words.total())} %" for word, count in words.most_common(3))
    if len(words) > MANY_WORDS:
        ends = f", from {min(words)} to {max(words)}" if max(map(len, words)) <= SHORT else ""
        said = f"{len(words):,} different ones{ends}"
    return {"name": name, "gaps": len(values) - words.total(), "said": said}


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _made_of(comparison: Any, method: str, names: list[str], images: Any) -> dict[str, Any] | None:
    """What the dimensions of a method are made of: pictures of its directions, loadings, or correlations of a curved map.

    Those of the recommended method have intervals.
    """
    model, X = comparison.models[method], comparison.X
    try:
        V = directions(model)
    except ValueError:
        V = np.empty((0, 0))
    if images is not None and images[0].size == V.shape[1]:
        shown = V[:COMPONENTS].astype(float).reshape(-1, *images.shape[1:])
        return {"kind": "image", "sprite": _pictures(shown), "count": len(shown)}
    if sparse.issparse(X) or X.shape[1] < 2:
        return None
    kind, low, high = "loading", None, None
    if V.shape[1] == len(names):
        y = comparison.labels if comparison.targets is None else comparison.targets
        if comparison.labels is not None and takes_unknown_for_a_class(model):
            X, y = X[y >= 0], y[y >= 0]
        n_draws = DRAWS if method == comparison.choice[0] else 0
        found = loadings(model, X, y, n_draws=n_draws, feature_names=names)
        values, low, high = found.values[:COMPONENTS], found.low, found.high
    else:
        Z = comparison.spaces[method][:, :COMPONENTS]
        kind, (Z, X) = "correlation", (normalize(part - part.mean(axis=0), axis=0) for part in (Z, X))
        values = Z.T @ X
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :COLUMNS]
    parts = {"values": values, "low": low, "high": high}
    ranked = {
        key: None if own is None else np.take_along_axis(own[:COMPONENTS], order, axis=1) for key, own in parts.items()
    }
    return {"kind": kind, "names": [[names[j] for j in row] for row in order], **ranked}


def _samples(
    X: Any, rows: np.ndarray, names: list[str], given: dict, images: Any, texts: Any, made_of: Any
) -> dict[str, Any]:
    """What is shown of a sample: its image, its text or terms, or its columns that weigh most in the recommended method."""
    if images is not None:
        shown = images[rows].astype(float) - images.min()
        return {"kind": "image", "sprite": _sprite(np.round(shown * (255 / (shown.max() or 1))).astype(np.uint8))}
    if texts is not None:
        return {"kind": "text", "texts": [_cut(texts[i]) for i in rows]}
    if not given:
        terms = [(row, np.argsort(-np.abs(row.data), kind="stable")[:COLUMNS]) for row in (X[[i]] for i in rows)]
        return {"kind": "text", "texts": [", ".join(names[j] for j in row.indices[first]) for row, first in terms]}
    leading = [name for part in zip(*(made_of or {}).get("names", []), strict=True) for name in part]

    def rank(name: str) -> int:
        own = (i for i, feature in enumerate(leading) if feature == name or feature.startswith(f"{name}_"))
        return next(own, len(leading))

    shown = sorted(sorted(given, key=rank)[:COLUMNS], key=list(given).index)
    values = [list(map(_cut, row)) for row in zip(*(given[name][rows].tolist() for name in shown), strict=True)]
    return {"kind": "row", "names": shown, "of": len(given), "values": _plain(values, 4)}


def _cut(text: Any) -> Any:
    return f"{text[:TEXT]} …" if isinstance(text, str) and len(text) > TEXT else text


def _pictures(V: np.ndarray) -> dict[str, Any]:
    """One picture per direction, on its own range: blue is negative, orange positive, white 0; the mean of colours."""
    V = V.mean(axis=3) if V.ndim == 4 else V
    scaled = V / np.abs(V).max(axis=(1, 2), keepdims=True)
    ends = np.array([[0, 84, 148], [213, 94, 0]])
    share = np.abs(scaled)[..., None]
    return _sprite(np.round(255 * (1 - share) + share * ends[(scaled > 0).astype(int)]).astype(np.uint8))


def _sprite(images: np.ndarray) -> dict[str, Any]:
    """Many small images as one, row by row."""
    Image = require("PIL.Image", "report")
    n, height, width = images.shape[:3]
    scale = min(1.0, THUMBNAIL / max(height, width))
    h, w = (max(1, round(scale * side)) for side in (height, width))
    columns = ceil(sqrt(n * h / w))
    sheet = Image.new("RGB" if images.ndim == 4 else "L", (columns * w, ceil(n / columns) * h))
    for i, image in enumerate(images):
        small = Image.fromarray(image).resize((w, h), Image.Resampling.LANCZOS)
        sheet.paste(small, (i % columns * w, i // columns * h))
    file = io.BytesIO()
    sheet.save(file, "WEBP", lossless=max(h, w) <= 16, quality=75, method=6)  # where no pixel may be lost
    url = "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    return {"url": url, "width": w, "height": h, "columns": columns}


def atlas(comparison: Any, ids: Any, feature_names: Any, max_points: int) -> dict[str, Any]:
    """The columns for Embedding Atlas."""
    n, d = comparison.X.shape
    rows, (method, _) = spread_rows(n, max_points), comparison.choice
    space = np.asarray(comparison.spaces[method][rows], dtype=float)
    distances, places = NearestNeighbors(n_neighbors=min(ATLAS_NEAREST, len(rows) - 1)).fit(space).kneighbors()
    x, y = chosen_map(comparison, rows).T.astype(float)
    names = _names("ids", ids, [str(i + 1) for i in range(n)])
    near = zip(places.tolist(), distances.tolist(), strict=True)
    columns: dict[str, Any] = {
        "id": [names[i] for i in rows],
        "x": x,
        "y": y,
        "neighbors": [{"ids": ids, "distances": far} for ids, far in near],
    }
    if (predicted := _predicted(comparison, rows)) is not None:
        for name, codes in {"label": comparison.labels[rows], "predicted": predicted[method]}.items():
            columns[name] = [str(comparison.classes[code]) if code >= 0 else None for code in codes]
    if not sparse.issparse(comparison.X):
        features = _names("feature_names", feature_names, [f"feature {i}" for i in range(d)])
        for j, name in enumerate(features[:50]):
            columns[name if name not in columns else f"{name} (feature)"] = comparison.X[rows, j]
    return columns


def program(comparison: Any, method: str, loading: str | None = None) -> str:
    """Python that scores the method at its chosen dimension again, and fits it to all rows.

    ``loading`` is Python that defines ``X`` and ``y``, ``preparation`` where rows were prepared, and ``groups`` or ``time``
    where rows were kept together or in order. Without it a comment says what these are.
    """
    [row] = [row for row in comparison.summary() if row["method"] == method]
    estimator, cv, key = comparison.estimator(method), comparison.cv, comparison.key_name
    text, modules = expression(estimator)
    missing = [] if text else [f"# define first: estimator, {in_one_line(estimator)}"]
    missing += [f"# define first: cv, {in_one_line(cv)}"] if hasattr(cv, "split") else []
    labelled = comparison.labels is not None or comparison.targets is not None
    given = ["X", *["y"] * labelled]
    more = [*[("prepare", "preparation")] * (comparison.prepare is not None), *[(key, key)] * bool(key)]
    arguments = [
        ", ".join(given),
        f"methods={{{method!r}: {text or 'estimator'}}}",
        f"dimensions=[{row['dimension']}]",
        f"scoring={comparison.criterion!r}",
        f"random_state={comparison.random_state}",
        *[f"{name}={value}" for name, value in more],
        f"cv={'cv' if hasattr(cv, 'split') else cv}",
        f"judge={comparison.judge_name!r}",
    ]
    judge = f"  # {in_one_line(comparison.judge)}{', in most folds' * (len(set(comparison.judges)) > 1)}"
    code = PROGRAM.format(
        arguments=",\n    ".join(arguments),
        judge=judge * labelled,
        name=repr(method),
        what=_name(comparison.criterion),
        mean=row["mean"],
    )
    imports = [f"from {module} import {name}" for name, module in modules.items() if name != "np"]
    imports += ["import numpy as np"] * ("np" in modules) + ["from lapwing.comparison import compare"]
    loading = loading or f"# {', '.join(given + [value for _, value in more])}: what compare was given"
    return "\n".join([*sorted(imports), *missing, "", loading.strip(), "", code])


def in_one_line(value: Any) -> str:
    return re.sub(r"\n\s*", " ", repr(value))


def expression(value: Any) -> tuple[str | None, dict[str, str]]:
    """Python that makes an estimator, and the modules of the names in it.

    It is how the estimator is printed. None where that is no such Python: with functions, arrays, very many parameters, or
    classes that no module has, as in a notebook.
    """
    text, homes = in_one_line(value), {"np": "numpy"}
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except SyntaxError:
        return None, {}
    for cls in map(type, [value, *value.get_params().values()]):
        module = re.sub(r"\._.*", "", cls.__module__)  # scikit-learn keeps its classes in private ones
        if hasattr(sys.modules.get(module), cls.__qualname__) and module != "__main__":
            homes[cls.__name__] = module
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    is_cut = any(isinstance(node, ast.Constant) and node.value is Ellipsis for node in nodes)
    return (None, {}) if is_cut or not names <= homes.keys() else (text, {name: homes[name] for name in names})
