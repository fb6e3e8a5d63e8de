"""What the page shows, as plain lists and numbers."""

from __future__ import annotations

import base64
import io
from math import ceil, isfinite, sqrt
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from .._arrays import spread_rows
from .._extras import require
from .._labels import class_codes
from ..inspection import directions, loadings, stability
from ..metrics import standard_error
from ..selection import reducer_of
from ._code import program

THUMBNAIL = 40  # the longer side of an image has at most this many pixels
TEXT = 280  # this many characters of a document are shown
COLUMNS = 12  # this many features of a row, and of a component, are shown
COMPONENTS = 12  # this many components are shown
NEAREST = 6  # this many neighbours of a point are shown
LOADINGS = 20  # this many features are in the table of loadings
LEADING = 5  # this many features per component are in the table of intervals
OVERVIEW = 40  # this many features are in the overview of the data
MEASURES = {
    "accuracy": "1-NN accuracy",
    "balanced_accuracy": "1-NN balanced accuracy",
    "f1": "1-NN F1 (mean of classes)",
    "roc_auc": "ROC AUC",
    "r2": "R²",
    "map": "Mean average precision",
    "recall@5": "Recall at 5",
    "clustering": "Clustering accuracy",
    "nmi": "Clustering NMI",
    "trustworthiness": "Trustworthiness",
    "continuity": "Continuity",
    "recall": "Recall of neighbours",
}
UNEQUAL = ("balanced_accuracy", "f1")  # measures in the table where classes are unequal
NEIGHBOURHOOD = ("trustworthiness", "continuity", "recall")


def content(
    comparison: Any,
    X: Any,
    y: Any,
    *,
    feature_names: Any,
    ids: Any,
    images: Any,
    texts: Any,
    max_points: int,
    draws: int = 0,
    loading: str | None = None,
) -> dict[str, Any]:
    """Everything on the page, checked against the comparison."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n, d = comparison.n_samples, comparison.n_features
    if X.shape != (n, d):
        raise ValueError(f"X has shape {X.shape}, but the comparison was made on {(n, d)}; pass the same data")
    names = _names("feature_names", feature_names, d, [f"feature {i}" for i in range(d)])
    identities = _names("ids", ids, n, [str(i + 1) for i in range(n)])
    images = None if images is None else np.asarray(images)
    if images is not None and (
        len(images) != n or not (images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3))
    ):
        raise ValueError(
            f"images has shape {images.shape}; it must be ({n}, height, width), or ({n}, height, width, 3) in colour"
        )
    rows = spread_rows(n, max_points)
    labels, classes = _colours(comparison, y)
    models, spaces, unequal = comparison.models, comparison.spaces, comparison.is_unequal
    own_classes = None if comparison.classes is None else [str(name) for name in comparison.classes]
    return _plain(
        {
            "facts": _facts(comparison),
            "leaks": [leak.message for leak in comparison.leaks],
            "summary": comparison.summary(),
            "choice": _choice(comparison),
            "measures": [
                {
                    "key": key,
                    "name": _name_of(comparison, key),
                    "shown": key != comparison.criterion and (key != "nmi" if unequal else key not in UNEQUAL),
                }
                for key in comparison.measures
            ],
            "scores": {name: _scores(comparison, name) for name in comparison.methods},
            "certificate": _certificate(comparison),
            "baseline": _mean(comparison, comparison.baseline),
            "lineToBeat": _mean(comparison, comparison.line_to_beat) if comparison.line_to_beat else None,
            "reason": comparison.reason,
            "majority": _mean(comparison, comparison.majority) if comparison.majority else None,
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
            "overview": _overview(comparison, X, names, own_classes),
            "loadings": {name: _loadings(X, space, names, images) for name, space in spaces.items()},
            "stability": _stability(comparison, X, names, draws) if draws else None,
            "classes": classes,
            "classNames": own_classes,
            "samples": _samples(comparison, X, rows, names, images, texts),
            "spectra": {
                name: {
                    "values": comparison.spectra[name],
                    "kind": "Eigenvalue" if hasattr(reducer_of(model), "eigenvalues_") else "Share of the variance",
                    "chosen": reducer_of(model).n_components,
                }
                for name, model in models.items()
            },
            "components": {name: _components(model, names, images) for name, model in models.items()},
            "graphs": [_graph(facts) for facts in comparison.graphs],
            "confusion": own_classes and {name: comparison.confusion(name) for name in comparison.methods},
            "code": {name: program(comparison, name, loading) for name in comparison.methods},
            "failures": comparison.failures,
            "warnings": {name: found for name, found in comparison.warnings.items() if found},
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


def _colours(comparison: Any, y: Any) -> tuple[np.ndarray | None, list[str] | None]:
    """The class of each row, -1 where unknown, and the names of the classes."""
    own = y is None or comparison.targets is not None  # numbers to predict are no classes
    given = (comparison.labels, comparison.classes) if own else class_codes(y, comparison.n_samples)
    return given[0], None if given[1] is None else [str(name) for name in given[1]]


def _name_of(comparison: Any, measure: str) -> str:
    name = MEASURES.get(measure, measure)
    return (
        name
        if set(comparison.judges) == {"nearest neighbour"}
        else name.removeprefix("1-NN ").capitalize()
        if name.startswith("1-NN")
        else name
    )


def _facts(comparison: Any) -> dict[str, Any]:
    return {
        "n_samples": comparison.n_samples,
        "n_features": comparison.n_features,
        "n_classes": None if comparison.classes is None else len(comparison.classes),
        "n_unknown": 0 if comparison.labels is None else int((comparison.labels < 0).sum()),
        "n_folds": len(comparison.folds),
        "n_neighbors": comparison.n_neighbors,
        "n_settings": sum(len(comparison.dimensions(name)) for name in comparison.methods),
        "criterion": _name_of(comparison, comparison.criterion),
        "judges": sorted(set(comparison.judges)),
        "key": comparison.criterion,
        "unequal": comparison.is_unequal,
        "kept": comparison.key_name,
        "within": "ten points" if comparison.criterion in NEIGHBOURHOOD else "one standard error",
        "units": comparison.units,
        "prepared": comparison.prepare is not None,
        "chance": comparison.n_neighbors / max(1, min(len(fold) for fold in comparison.folds) - 1),
    }


def _choice(comparison: Any) -> dict[str, Any]:
    """The recommended setting: its scores, and the difference from the data as given, which is taken fold by fold."""
    method, dimension = comparison.choice
    place = comparison.dimensions(method).index(dimension)
    column = comparison.scores(method)[:, place]
    gain = column - [record[comparison.criterion] for record in comparison.baseline]
    return {
        "method": method,
        "dimension": dimension,
        "accuracy": comparison.scores(method, "accuracy")[:, place].mean()
        if "accuracy" in comparison.measures
        else 0.0,
        "mean": column.mean(),
        "se": standard_error(column),
        "gain": gain.mean(),
        "gain_se": standard_error(gain),
    }


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


def _mean(comparison: Any, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records of all folds, such as those of the data as given."""
    columns = {key: np.array([record[key] for record in records]) for key in comparison.measures if key in records[0]}
    return {
        "name": records[0]["method"],
        "mean": {key: column.mean() for key, column in columns.items()},
        "se": {key: standard_error(column) for key, column in columns.items()},
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
    """For each method, the class that its nearest neighbour gave each point while it was held out; -1 where it never was."""
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


def _overview(comparison: Any, X: Any, names: list[str], classes: list[str] | None) -> dict[str, Any]:
    """The sizes of the classes, and what the columns hold."""
    found: dict[str, Any] = {"classes": None, "columns": [], "n_constant": 0, "ratio": None, "filled": None}
    if classes is not None:
        counts = np.bincount(comparison.labels[comparison.labels >= 0], minlength=len(classes))
        found["classes"] = list(zip(classes, counts, strict=True))
    if sparse.issparse(X):
        return found | {"filled": X.nnz / (X.shape[0] * X.shape[1])}
    deviation = X.std(axis=0, dtype=np.float64)
    varying, A = deviation[deviation > 0], X[:, :OVERVIEW]
    facts = A.mean(axis=0, dtype=np.float64), deviation, A.min(axis=0), np.median(A, axis=0), A.max(axis=0)
    found["columns"] = list(zip(names, *facts, strict=False))
    found["n_constant"] = (deviation == 0).sum()
    found["ratio"] = varying.max() / varying.min() if varying.size else None
    return found


def _loadings(X: Any, space: np.ndarray, names: list[str], images: Any) -> dict[str, Any] | None:
    """The correlations of features with the dimensions of a space, for the features with the largest ones."""
    if sparse.issparse(X) or images is not None or X.shape[1] < 2:
        return None
    Z = np.asarray(space[:, :COMPONENTS], dtype=np.float64)
    Z = (Z - Z.mean(axis=0)) / np.where((scale := Z.std(axis=0)) > 0, scale, 1)
    mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    correlations = (X.T @ Z / len(Z) - np.outer(mean, Z.mean(axis=0))) / np.where(deviation > 0, deviation, 1)[:, None]
    largest = np.argsort(-np.abs(correlations).max(axis=1), kind="stable")[:LOADINGS]
    return {"names": [names[j] for j in largest], "values": correlations[largest]}


def _stability(comparison: Any, X: Any, names: list[str], draws: int) -> dict[str, Any]:
    """How certain the recommended directions are, and their leading features where the map is linear."""
    method, dimension = comparison.choice
    estimator = comparison.estimator(method, dimension)
    labels = comparison.labels if comparison.targets is None else comparison.targets
    if comparison.labels is not None and not hasattr(
        reducer_of(estimator), "problem"
    ):  # other methods would take -1 for a class
        X, labels = X[labels >= 0], labels[labels >= 0]
    found, leading = stability(estimator, X, labels, n_draws=draws), None
    if _linear(comparison.models[method]) is not None:
        model = clone(estimator).fit(X, labels)
        leading = loadings(model, X, labels, n_draws=draws, feature_names=names).rows(LEADING)[: LEADING * COMPONENTS]
    return {
        "method": method,
        "dimension": dimension,
        "draws": draws,
        "rows": found.rows()[:COMPONENTS],
        "measure": found.measure,
        "score": found.score,
        "pca": found.pca_score,
        "p": found.p_value,
        "loadings": leading,
    }


def _samples(comparison: Any, X: Any, rows: np.ndarray, names: list[str], images: Any, texts: Any) -> dict[str, Any]:
    """What is shown of a sample: its image, its text, or those of its features that weigh most in the recommended method."""
    if images is not None:
        return {"kind": "image", "sprite": _thumbnails(images[rows])}
    if texts is not None:
        words = _names("texts", texts, comparison.n_samples, [])
        return {"kind": "text", "texts": [words[i] if len(words[i]) <= TEXT else words[i][:TEXT] + " …" for i in rows]}
    if sparse.issparse(X):
        terms = [(row, np.argsort(-np.abs(row.data), kind="stable")[:COLUMNS]) for row in (X[[i]] for i in rows)]
        return {"kind": "text", "texts": [", ".join(names[j] for j in row.indices[first]) for row, first in terms]}
    columns = np.arange(X.shape[1])
    if len(columns) > COLUMNS:
        V = _linear(comparison.models[comparison.choice[0]])
        weight = X.std(axis=0) * (1 if V is None else np.abs(V).sum(axis=0))
        columns = np.sort(np.argsort(-weight, kind="stable")[:COLUMNS])
    shown = [names[j] for j in columns]
    return {"kind": "row", "names": shown, "of": len(names), "values": _plain(X[np.ix_(rows, columns)], 4)}


def _linear(model: Any) -> np.ndarray | None:
    """The directions of a model; None where it is not a linear map."""
    try:
        return directions(model)
    except ValueError:
        return None


def _components(model: Any, names: list[str], images: np.ndarray | None) -> dict[str, Any] | None:
    """The first directions: as images where samples are images, else by their largest entries."""
    V = _linear(model)
    if V is None or V.shape[1] != len(names):
        return None
    V = V[:COMPONENTS].astype(float)
    if images is not None and images[0].size == V.shape[1]:
        return {"kind": "image", "sprite": _pictures(V.reshape(len(V), *images.shape[1:])), "count": len(V)}
    largest = np.argsort(-np.abs(V), axis=1, kind="stable")[:, :COLUMNS]
    shown = [[names[j] for j in row] for row in largest]
    return {"kind": "bars", "names": shown, "weights": np.take_along_axis(V, largest, axis=1)}


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


def _graph(facts: dict[str, Any]) -> dict[str, Any]:
    degrees = facts["degrees"]
    counts = np.bincount(degrees)
    return {
        "graph": repr(facts["graph"]),
        **{key: facts[key] for key in ("methods", "n_edges", "n_connected_components")},
        "least": degrees.min(),
        "median": float(np.median(degrees)),
        "most": degrees.max(),
        "degrees": np.flatnonzero(counts),
        "counts": counts[counts > 0],
    }


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
