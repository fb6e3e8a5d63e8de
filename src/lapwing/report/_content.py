"""What the page shows, as plain lists and numbers."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterator
from math import ceil, isfinite, sqrt
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from .._extras import require
from .._validation import class_codes, spread_rows
from ..inspection import directions, loadings, stability
from ..metrics import standard_error
from ..selection import reducer_of
from ._code import MEASURES, program

THUMBNAIL = 40  # the longer side of an image has at most this many pixels
TEXT = 280  # this many characters of a document are shown
COLUMNS = 12  # this many features of a row, and of a component, are shown
COMPONENTS = 12  # this many components are shown
NEAREST = 6  # this many neighbours of a point are shown
OVERVIEW = 40  # this many columns are in the overview of the data
MANY_WORDS, SHORT = 50, 30  # of more different words the first and the last are named, where all are as short as this
DRAWS = 40  # random halves of the rows that make the intervals of loadings
NEIGHBOURHOOD = ("trustworthiness", "continuity", "recall")
IN_WORDS = {
    "accuracy": "the share of rows whose class is named rightly",
    "balanced_accuracy": "the share of rows named rightly, as a mean over the classes",
    "roc_auc": "the share of pairs, one row of each class, that stand in the right order",
    "r2": "the share of the variance that is explained",
    "map": "how far rows of one class come first in a search",
    "recall": "the share of the nearest rows that stay the nearest",
}
IN_TABLE = ("accuracy", "balanced_accuracy", "f1", "roc_auc", "r2", "map", "recall@5")


def content(
    comparison: Any, X: Any, y: Any, *, max_points: int, draws: int = 0, loading: str | None = None, **given: Any
) -> dict[str, Any]:
    """Everything on the page, checked against the comparison; ``given`` are parameters of the page by the same names."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n, d = comparison.n_samples, comparison.n_features
    if X.shape != (n, d):
        raise ValueError(f"X has shape {X.shape}, but the comparison was made on {(n, d)}; pass the same data")
    names = _names("feature_names", given.get("feature_names"), d, [f"feature {i}" for i in range(d)])
    identities = _names("ids", given.get("ids"), n, [str(i + 1) for i in range(n)])
    images = None if given.get("images") is None else np.asarray(given["images"])
    if images is not None and (len(images) != n or images.ndim not in (3, 4) or images.shape[3:] not in ((), (3,))):
        raise ValueError(
            f"images has shape {images.shape}; it must be ({n}, height, width), or ({n}, height, width, 3) in colour"
        )
    rows = spread_rows(n, max_points)
    labels, classes = _colours(comparison, y)
    models, spaces = comparison.models, comparison.spaces
    own_classes = None if comparison.classes is None else [str(name) for name in comparison.classes]
    made_of = {name: _made_of(comparison, name, X, names, images, draws) for name in models}
    columns = _columns(given.get("columns"), X, names, n)
    return _plain(
        {
            "nColumns": len(columns) or d,
            "criterion": MEASURES.get(comparison.criterion, comparison.criterion),
            "within": "ten points" if comparison.criterion in NEIGHBOURHOOD else "one standard error",
            "chance": _chance(comparison),
            "verdict": list(_verdict(comparison, len(columns) or d)),
            "summary": comparison.summary(),
            "choice": _chosen(comparison),
            "measures": [
                {"key": key, "name": MEASURES.get(key, key), "shown": key in IN_TABLE and _is_shown(comparison, key)}
                for key in comparison.measures
            ],
            "scores": {name: _scores(comparison, name) for name in comparison.methods},
            "certificate": _certificate(comparison),
            "lines": list(comparison.lines.values()),
            "points": {
                "rows": rows,
                "ids": [identities[i] for i in rows],
                "labels": None if labels is None else labels[rows],
                "embeddings": {name: _embeddings(found, rows) for name, found in comparison.embeddings.items()},
                "map": _plain(chosen_map(comparison, rows).T, 4),
                "near": _nearest(X[rows]),
                "nearAfter": {name: _nearest(space[rows]) for name, space in spaces.items()},
                "predicted": _predicted(comparison, rows),
            },
            "overview": _overview(comparison, X, columns, own_classes),
            "madeOf": made_of,
            "stability": _stability(comparison, X, draws),
            "classes": classes,
            "classNames": own_classes,
            "samples": _samples(X, rows, names, columns, images, given.get("texts"), made_of[comparison.choice[0]]),
            "confusion": own_classes and {name: comparison.confusion(name) for name in comparison.methods},
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


def _names(parameter: str, given: Any, n: int, default: list[str]) -> list[str]:
    found = default if given is None else [str(name) for name in given]
    if len(found) != n:
        raise ValueError(f"{parameter} has {len(found)} entries, but there must be {n}")
    return found


def _columns(columns: Any, X: Any, names: list[str], n: int) -> dict[str, np.ndarray]:
    """The columns in the units of the file, with dates as text; those of X where none were given. None of sparse X."""
    if columns is None:
        return {} if sparse.issparse(X) else dict(zip(names, X.T, strict=False))
    found = {str(name): np.asarray(columns[name]) for name in getattr(columns, "columns", columns)}
    if bad := [f"{name!r} has {len(values)}" for name, values in found.items() if len(values) != n]:
        raise ValueError(f"columns must have {n} entries each, and {', '.join(bad)}")
    return {name: values.astype(str) if values.dtype.kind == "M" else values for name, values in found.items()}


def _colours(comparison: Any, y: Any) -> tuple[np.ndarray | None, list[str] | None]:
    """The class of each row, -1 where unknown, and the names of the classes."""
    own = y is None or comparison.targets is not None  # numbers to predict are no classes
    given = (comparison.labels, comparison.classes) if own else class_codes(y, comparison.n_samples)
    return given[0], None if given[1] is None else [str(name) for name in given[1]]


def _chance(comparison: Any) -> float:
    """The recall of neighbours by chance."""
    return comparison.n_neighbors / max(1, min(len(fold) for fold in comparison.folds) - 1)


def _is_shown(comparison: Any, key: str) -> bool:
    """Whether a measure has a column of its own in the table."""
    return key != comparison.criterion and (key not in ("balanced_accuracy", "f1") or comparison.is_unequal)


def _chosen(comparison: Any) -> dict[str, Any]:
    return next(row for row in comparison.summary() if row["method"] == comparison.choice[0])


def _verdict(comparison: Any, n_columns: int) -> Iterator[str]:
    """What was found, how good it is beside all columns (the better of two judges) and guessing, and what to watch."""
    (method, d), key, chosen = comparison.choice, comparison.criterion, _chosen(comparison)
    name, means = MEASURES.get(key, key), IN_WORDS.get(key)
    numbers, of = f"{d} number{'s' * (d > 1)}", f"{n_columns:,} column{'s' * (n_columns > 1)}"
    yield f"{method} describes each row by {numbers} in the place of {of}."
    reached = f"On rows that it had not seen, {'this' if d == 1 else 'these'} reach{'es' * (d == 1)} "
    reached += f"{_percent(chosen['mean'])} ± {100 * chosen['se']:.1f} % ({name}{': ' * bool(means)}{means or ''})"
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
                f"{names[i]!s}, {right:,} {'is' if right == 1 else 'are'} named so, and {others:,} others"
            )
        elif (wrong := confusion - np.diag(np.diag(confusion))).any():
            i, j = np.unravel_index(wrong.argmax(), wrong.shape)
            yield f"the most frequent mistake takes {names[i]!s} for {names[j]!s} ({wrong[i, j]:,} of {sizes[i]:,} rows)"
    level = [row["method"] for row in comparison.summary() if row["behind"] <= 2 * row["behind_se"]]
    if len(level) > 1:
        yield f"{len(level)} of {len(comparison.methods)} methods are as good within the error"


def _certificate(comparison: Any) -> str | None:
    """What is wrong with the solution of the recommended method, fitted to all rows; None where all is well or unknown."""
    method, _ = comparison.choice
    found = getattr(reducer_of(comparison.models[method]), "certificate_", None)
    certificates = found if isinstance(found, list) else [found]
    for wrong in (one for one in certificates if one is not None and not one.holds):
        return f"{method}, fitted to all rows, does NOT solve its eigenproblem to the digits it should: {wrong}."
    return None


def _scores(comparison: Any, method: str) -> dict[str, Any]:
    by_measure = {measure: comparison.scores(method, measure) for measure in comparison.measures}
    return {
        "dimensions": comparison.dimensions(method),
        "mean": {measure: scores.mean(axis=0) for measure, scores in by_measure.items()},
        "se": {measure: [standard_error(column) for column in scores.T] for measure, scores in by_measure.items()},
    }


def _embeddings(found: dict[int, np.ndarray], rows: np.ndarray) -> dict[str, Any]:
    """Coordinates by the number of dimensions, one list per axis.

    Where those in two dimensions are the first of those in three, they are not repeated.
    """
    same = {2, 3} <= found.keys() and np.allclose(found[2], found[3][:, :2], rtol=1e-6)
    return {str(d): _plain(Z[rows].T, 4) for d, Z in found.items() if not (d == 2 and same)}


def chosen_map(comparison: Any, rows: np.ndarray) -> np.ndarray:
    """Some rows in two dimensions: the t-SNE of the recommended space, or the space itself where it has at most two."""
    space = np.asarray(comparison.spaces[comparison.choice[0]][rows], dtype=float)
    if space.shape[1] == 1:
        return np.column_stack([space[:, 0], np.zeros(len(space))])
    if space.shape[1] == 2 or len(rows) < 5:
        return space[:, :2]
    perplexity = min(30.0, (len(rows) - 1) / 4)
    return TSNE(2, init="pca", perplexity=perplexity, max_iter=500, random_state=0).fit_transform(space)


def _nearest(Z: Any) -> dict[str, Any]:
    """The nearest of the points shown, point by point, as 16-bit numbers in base 64."""
    k = min(NEAREST, Z.shape[0] - 1)
    if k < 1:
        return {"count": 0, "places": ""}
    metric = "cosine" if sparse.issparse(Z) else "euclidean"
    places = NearestNeighbors(n_neighbors=k, metric=metric).fit(Z).kneighbors(return_distance=False)
    return {"count": k, "places": base64.b64encode(places.astype("<u2").tobytes()).decode("ascii")}


def _predicted(comparison: Any, rows: np.ndarray) -> dict[str, np.ndarray] | None:
    """For each method, the class that the judge gave each point while it was held out; -1 where it never was."""
    if comparison.labels is None:
        return None
    found = {}
    for row in comparison.summary():
        classes = np.full(comparison.n_samples, -1)
        by_fold = comparison.predictions[row["method"], row["dimension"]]
        for fold, predicted in zip(comparison.folds, by_fold, strict=True):
            classes[fold[comparison.labels[fold] >= 0]] = predicted
        found[row["method"]] = classes[rows]
    return found


def _overview(comparison: Any, X: Any, given: dict[str, np.ndarray], classes: list[str] | None) -> dict[str, Any]:
    """The sizes of the classes, and what the columns hold, in the units of the file."""
    found: dict[str, Any] = {"classes": None, "filled": None}
    if classes is not None:
        counts = np.bincount(comparison.labels[comparison.labels >= 0], minlength=len(classes))
        found["classes"] = list(zip(classes, counts, strict=True))
    if sparse.issparse(X):
        found["filled"] = X.nnz / (X.shape[0] * X.shape[1])
    found["columns"] = [_column(name, values) for name, values in list(given.items())[:OVERVIEW]]
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


def _made_of(comparison: Any, method: str, X: Any, names: list[str], images: Any, draws: int) -> dict[str, Any] | None:
    """What the dimensions of a method are made of: pictures of its directions, loadings, or correlations of a curved map.

    Those of the recommended method have intervals.
    """
    model = comparison.models[method]
    try:
        V = directions(model)
    except ValueError:
        V = None
    if images is not None and V is not None and images[0].size == V.shape[1]:
        shown = V[:COMPONENTS].astype(float).reshape(-1, *images.shape[1:])
        return {"kind": "image", "sprite": _pictures(shown), "count": len(shown)}
    if sparse.issparse(X) or X.shape[1] < 2:
        return None
    if V is None or V.shape[1] != len(names):
        Z = comparison.spaces[method]
        scaled = [normalize(part - part.mean(axis=0), axis=0) for part in (Z[:, :COMPONENTS], X)]
        values, low, high, kind = scaled[0].T @ scaled[1], None, None, "correlation"
    else:
        is_choice, kind = method == comparison.choice[0], "loading"
        model, X, y = _refitted(comparison, X) if is_choice else (model, X, None)
        found = loadings(model, X, y, n_draws=(draws or DRAWS) * is_choice, feature_names=names)
        values, low, high = found.values[:COMPONENTS], found.low, found.high
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :COLUMNS]

    def ranked(own: Any) -> Any:
        return None if own is None else np.take_along_axis(own[:COMPONENTS], order, axis=1)

    leading = {"names": [[names[j] for j in row] for row in order], "values": ranked(values)}
    return {"kind": kind, **leading, "low": ranked(low), "high": ranked(high)}


def _refitted(comparison: Any, X: Any) -> tuple[Any, Any, Any]:
    """The recommended model with the rows and labels that it is fitted to. Methods of others would take -1 for a class."""
    method, dimension = comparison.choice
    estimator = clone(comparison.estimator(method, dimension))
    y = comparison.labels if comparison.targets is None else comparison.targets
    if comparison.labels is not None and not hasattr(reducer_of(estimator), "problem"):
        X, y = X[y >= 0], y[y >= 0]
    return estimator.fit(X, y), X, y


def _stability(comparison: Any, X: Any, draws: int) -> dict[str, Any] | None:
    """How certain the recommended directions are, where that is asked."""
    if not draws:
        return None
    rows = stability(*_refitted(comparison, X), n_draws=draws).rows()[:COMPONENTS]
    return {"method": comparison.choice[0], "draws": draws, "rows": rows}


def _samples(
    X: Any, rows: np.ndarray, names: list[str], given: dict, images: Any, texts: Any, made_of: Any
) -> dict[str, Any]:
    """What is shown of a sample: its image, its text, or those of its columns that weigh most in the recommended method."""
    if images is not None:
        return {"kind": "image", "sprite": _thumbnails(images[rows])}
    if texts is not None:
        words = _names("texts", texts, X.shape[0], [])
        return {"kind": "text", "texts": [_cut(words[i]) for i in rows]}
    if not given:
        terms = [(row, np.argsort(-np.abs(row.data), kind="stable")[:COLUMNS]) for row in (X[[i]] for i in rows)]
        return {"kind": "text", "texts": [", ".join(names[j] for j in row.indices[first]) for row, first in terms]}
    leading = [name for part in zip(*(made_of or {}).get("names", []), strict=True) for name in part]

    def rank(name: str) -> int:
        own = (i for i, feature in enumerate(leading) if feature == name or feature.startswith(f"{name}_"))
        return next(own, len(leading))

    shown = sorted(sorted(given, key=rank)[:COLUMNS], key=list(given).index)
    cells = [given[name][rows].tolist() for name in shown]
    values = [[_cut(value) for value in row] for row in zip(*cells, strict=True)]
    return {"kind": "row", "names": shown, "of": len(given), "values": _plain(values, 4)}


def _cut(text: Any) -> Any:
    return f"{text[:TEXT]} …" if isinstance(text, str) and len(text) > TEXT else text


def _thumbnails(images: np.ndarray) -> dict[str, Any]:
    """One picture that holds all images, each at most ``THUMBNAIL`` pixels long, on one common range."""
    images = images.astype(float)
    low, high = images.min(), images.max()
    return _sprite(np.round((images - low) * (255 / (high - low or 1))).astype(np.uint8))


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
    h, w = max(1, round(scale * height)), max(1, round(scale * width))
    columns = ceil(sqrt(n * h / w))
    sheet = Image.new("RGB" if images.ndim == 4 else "L", (columns * w, ceil(n / columns) * h))
    for i, image in enumerate(map(Image.fromarray, images)):
        small = image if scale == 1 else image.resize((w, h), Image.Resampling.LANCZOS)
        sheet.paste(small, (i % columns * w, i // columns * h))
    file = io.BytesIO()
    is_small = max(h, w) <= 16  # so small that no pixel may be lost
    sheet.save(file, "WEBP", lossless=is_small, quality=75, method=6)
    url = "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    return {"url": url, "width": w, "height": h, "columns": columns}


def atlas(comparison: Any, y: Any, ids: Any, feature_names: Any, n_neighbors: int, max_points: int) -> dict[str, Any]:
    """The columns for Embedding Atlas."""
    n, d = comparison.n_samples, comparison.n_features
    rows = spread_rows(n, max_points)
    method, _ = comparison.choice
    space = np.asarray(comparison.spaces[method][rows], dtype=float)
    distances, places = NearestNeighbors(n_neighbors=min(n_neighbors, len(rows) - 1)).fit(space).kneighbors()
    x, y_map = chosen_map(comparison, rows).T.astype(float)
    names = _names("ids", ids, n, [str(i + 1) for i in range(n)])
    near = zip(places.tolist(), distances.tolist(), strict=True)
    columns: dict[str, Any] = {
        "id": [names[i] for i in rows],
        "x": x,
        "y": y_map,
        "neighbors": [{"ids": ids, "distances": far} for ids, far in near],
    }
    labels, classes = _colours(comparison, y)
    if labels is not None and classes is not None:
        columns["label"] = [classes[code] if code >= 0 else None for code in labels[rows]]
    if (predicted := _predicted(comparison, rows)) is not None:
        columns["predicted"] = [str(comparison.classes[code]) if code >= 0 else None for code in predicted[method]]
    if not sparse.issparse(comparison.X):
        features = _names("feature_names", feature_names, d, [f"feature {i}" for i in range(d)])
        for j, name in enumerate(features[:50]):
            columns[name if name not in columns else f"{name} (feature)"] = comparison.X[rows, j]
    return columns
