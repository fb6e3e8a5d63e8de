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
    rows = spread_rows(n, max_points)
    identities = _names("ids", ids, n, [str(i + 1) for i in range(n)])
    images = None if images is None else _images(images, n)
    labels, classes = _colours(comparison, y)
    method, dimension = comparison.choice
    unequal = comparison.is_unequal
    return {
        "facts": _facts(comparison),
        "summary": _rounded(comparison.summary()),
        "choice": {"method": method, "dimension": dimension, **_choice(comparison, method, dimension)},
        "measures": [
            {
                "key": key,
                "name": MEASURES[key],
                "shown": key != comparison.criterion and (key != "nmi" if unequal else key not in UNEQUAL),
            }
            for key in comparison.measures
        ],
        "scores": {name: _scores(comparison, name) for name in comparison.methods},
        "certificate": _certificate(comparison, method),
        "baseline": _mean(comparison, comparison.baseline),
        "majority": _mean(comparison, comparison.majority) if comparison.majority else None,
        "points": {
            "rows": rows.tolist(),
            "ids": [identities[i] for i in rows],
            "labels": None if labels is None else labels[rows].tolist(),
            "embeddings": {name: _embeddings(found, rows) for name, found in comparison.embeddings.items()},
            "map": _rounded([*chosen_map(comparison, rows).T.astype(float)], 4),
            "near": _nearest(X[rows]),
            "nearAfter": {name: _nearest(space[rows]) for name, space in comparison.spaces.items()},
            "predicted": _predicted(comparison, rows),
        },
        "overview": _overview(comparison, X, names),
        "loadings": {name: _loadings(X, space, names, images) for name, space in comparison.spaces.items()},
        "stability": _stability(comparison, X, names, draws) if draws else None,
        "classes": classes,
        "classNames": None if comparison.classes is None else [str(name) for name in comparison.classes],
        "samples": _samples(comparison, X, rows, names, images, texts),
        "spectra": {name: _spectrum(comparison, name) for name in comparison.methods},
        "components": {name: _components(comparison.models[name], names, images) for name in comparison.methods},
        "graphs": [_graph(facts) for facts in comparison.graphs],
        "confusion": {name: comparison.confusion(name).tolist() for name in comparison.methods}
        if comparison.labels is not None
        else None,
        "code": {name: program(comparison, name, loading) for name in comparison.methods},
        "failures": comparison.failures,
        "warnings": {name: found for name, found in comparison.warnings.items() if found},
    }


def _names(parameter: str, given: Any, n: int, default: list[str]) -> list[str]:
    if given is None:
        return default
    found = [str(name) for name in given]
    if len(found) != n:
        raise ValueError(f"{parameter} has {len(found)} entries, but there must be {n}")
    return found


def _images(images: Any, n: int) -> np.ndarray:
    images = np.asarray(images)
    colour = images.ndim == 4 and images.shape[3] == 3
    if len(images) != n or not (images.ndim == 3 or colour):
        raise ValueError(
            f"images has shape {images.shape}; it must be ({n}, height, width), or ({n}, height, width, 3) in colour"
        )
    return images


def _colours(comparison: Any, y: Any) -> tuple[np.ndarray | None, list[str] | None]:
    """The class of each row, -1 where unknown, and the names of the classes."""
    if y is None:
        names = comparison.classes
        return comparison.labels, None if names is None else [str(name) for name in names]
    labels, names = class_codes(y, comparison.n_samples)
    return labels, [str(name) for name in names]


def _facts(comparison: Any) -> dict[str, Any]:
    return {
        "n_samples": comparison.n_samples,
        "n_features": comparison.n_features,
        "n_classes": None if comparison.classes is None else len(comparison.classes),
        "n_unknown": 0 if comparison.labels is None else int((comparison.labels < 0).sum()),
        "n_folds": len(comparison.folds),
        "n_neighbors": comparison.n_neighbors,
        "n_settings": sum(len(comparison.dimensions(name)) for name in comparison.methods),
        "criterion": MEASURES[comparison.criterion],
        "key": comparison.criterion,
        "unequal": comparison.is_unequal,
        "kept": comparison.key_name,
        "within": "ten points" if comparison.criterion in NEIGHBOURHOOD else "one standard error",
        "units": comparison.units,
        "prepared": comparison.prepare is not None,
        "chance": comparison.n_neighbors / max(1, min(len(fold) for fold in comparison.folds) - 1),
    }


def _choice(comparison: Any, method: str, dimension: int) -> dict[str, float]:
    """The mean, the standard error, and the difference from the data as given, which is taken fold by fold."""
    column = comparison.scores(method)[:, comparison.dimensions(method).index(dimension)]
    gain = column - [record[comparison.criterion] for record in comparison.baseline]
    index = comparison.dimensions(method).index(dimension)
    accuracy = comparison.scores(method, "accuracy")[:, index].mean() if "accuracy" in comparison.measures else 0.0
    return {
        "accuracy": float(accuracy),
        "mean": float(column.mean()),
        "se": standard_error(column),
        "gain": float(gain.mean()),
        "gain_se": standard_error(gain),
    }


def _certificate(comparison: Any, method: str) -> str | None:
    """How well the recommended method, fitted to all rows, solves its problem; None for methods that do not say."""
    found = getattr(reducer_of(comparison.models[method]), "certificate_", None)
    certificates = [one for one in (found if isinstance(found, list) else [found]) if one is not None]
    if not certificates:
        return None
    worst = max(certificates, key=lambda one: max(one.residual, one.constraint_error))
    solved = "solves its eigenproblem" if worst.holds else "does NOT solve its eigenproblem to the digits it should"
    return f"{method}, fitted to all rows, {solved}: {worst}."


def _rounded(values: Any, digits: int = 5) -> Any:
    """Numbers with few digits, for a short file. Those that are not finite become None, since JSON cannot write them."""
    if isinstance(values, dict):
        return {key: _rounded(value, digits) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [_rounded(value, digits) for value in values]
    if isinstance(values, np.ndarray):
        return _rounded(values.tolist(), digits)
    if isinstance(values, float):
        return float(f"{values:.{digits}g}") if isfinite(values) else None
    return values


def _scores(comparison: Any, method: str) -> dict[str, Any]:
    by_measure = {measure: comparison.scores(method, measure) for measure in comparison.measures}
    return {
        "dimensions": comparison.dimensions(method),
        "mean": {measure: _rounded(scores.mean(axis=0)) for measure, scores in by_measure.items()},
        "se": {
            measure: _rounded([standard_error(column) for column in scores.T]) for measure, scores in by_measure.items()
        },
    }


def _mean(comparison: Any, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records of all folds, such as those of the data as given."""
    measures = [key for key in comparison.measures if key in records[0]]
    columns = {key: np.array([record[key] for record in records]) for key in measures}
    return {
        "name": records[0]["method"],
        "mean": {key: _rounded(float(column.mean())) for key, column in columns.items()},
        "se": {key: _rounded(standard_error(column)) for key, column in columns.items()},
    }


def _embeddings(found: dict[int, np.ndarray], rows: np.ndarray) -> dict[str, Any]:
    """Coordinates by the number of dimensions, one list per axis.

    Where those in two dimensions are the first of those in three, they are not repeated.
    """
    same = {2, 3} <= found.keys() and np.allclose(found[2], found[3][:, :2], rtol=1e-6)
    return {str(d): _rounded([*Z[rows].T.astype(float)], 4) for d, Z in found.items() if not (d == 2 and same)}


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


def _predicted(comparison: Any, rows: np.ndarray) -> dict[str, list[int]] | None:
    """For each method, the class that its nearest neighbour gave each point while it was held out; -1 where it never was."""
    if comparison.labels is None:
        return None
    found = {}
    for row in comparison.summary():
        classes = np.full(comparison.n_samples, -1)
        for fold, predicted in zip(
            comparison.folds, comparison.predictions[row["method"], row["dimension"]], strict=True
        ):
            classes[fold[comparison.labels[fold] >= 0]] = predicted
        found[row["method"]] = classes[rows].tolist()
    return found


def _overview(comparison: Any, X: Any, names: list[str]) -> dict[str, Any]:
    """The sizes of the classes, and what the columns hold."""
    classes = None
    if comparison.labels is not None:
        counts = np.bincount(comparison.labels[comparison.labels >= 0], minlength=len(comparison.classes))
        classes = [[str(name), int(count)] for name, count in zip(comparison.classes, counts, strict=True)]
    if sparse.issparse(X):
        share = X.nnz / (X.shape[0] * X.shape[1])
        return {"classes": classes, "columns": [], "n_constant": 0, "ratio": None, "filled": _rounded(share)}
    deviation = X.std(axis=0, dtype=np.float64)
    varying = deviation[deviation > 0]
    columns = []
    for j, column in enumerate(X.T[:OVERVIEW]):
        five = column.mean(dtype=np.float64), deviation[j], column.min(), np.median(column), column.max()
        columns.append([names[j], *_rounded([float(value) for value in five], 4)])
    return {
        "classes": classes,
        "columns": columns,
        "n_constant": int((deviation == 0).sum()),
        "ratio": _rounded(float(varying.max() / varying.min()), 3) if varying.size else None,
        "filled": None,
    }


def _loadings(X: Any, space: np.ndarray, names: list[str], images: Any) -> dict[str, Any] | None:
    """The correlations of features with the dimensions of a space, for the features with the largest ones."""
    if sparse.issparse(X) or images is not None or X.shape[1] < 2:
        return None
    Z = np.asarray(space[:, :COMPONENTS], dtype=np.float64)
    Z = (Z - Z.mean(axis=0)) / np.where((scale := Z.std(axis=0)) > 0, scale, 1)
    mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    correlations = (X.T @ Z / len(Z) - np.outer(mean, Z.mean(axis=0))) / np.where(deviation > 0, deviation, 1)[:, None]
    largest = np.argsort(-np.abs(correlations).max(axis=1), kind="stable")[:LOADINGS]
    return {"names": [names[j] for j in largest], "values": _rounded(correlations[largest], 3)}


def _stability(comparison: Any, X: Any, names: list[str], draws: int) -> dict[str, Any]:
    """How certain the recommended directions are, and their leading features where the map is linear."""
    method, dimension = comparison.choice
    estimator, labels = comparison.estimator(method, dimension), comparison.labels
    if labels is not None and not hasattr(reducer_of(estimator), "problem"):  # other methods would take -1 for a class
        X, labels = X[labels >= 0], labels[labels >= 0]
    found = stability(estimator, X, labels, n_draws=draws)
    leading = None
    if _linear(comparison.models[method]) is not None:
        model = clone(estimator).fit(X, labels)
        leading = loadings(model, X, labels, n_draws=draws, feature_names=names).rows(LEADING)
    return {
        "method": method,
        "dimension": dimension,
        "draws": draws,
        "rows": _rounded(found.rows()[:COMPONENTS]),
        "measure": found.measure,
        "score": found.score,
        "pca": found.pca_score,
        "p": found.p_value,
        "loadings": None if leading is None else _rounded(leading[: LEADING * COMPONENTS]),
    }


def _samples(
    comparison: Any, X: Any, rows: np.ndarray, names: list[str], images: np.ndarray | None, texts: Any
) -> dict[str, Any]:
    """What is shown of a sample: its image, its text, or some of its features."""
    if images is not None:
        return {"kind": "image", "sprite": _thumbnails(images[rows])}
    if texts is not None:
        words = _names("texts", texts, comparison.n_samples, [])
        return {"kind": "text", "texts": [words[i] if len(words[i]) <= TEXT else words[i][:TEXT] + " …" for i in rows]}
    if sparse.issparse(X):
        return {"kind": "text", "texts": [_terms(X[[i]], names) for i in rows]}
    columns = _telling(comparison, X)
    return {
        "kind": "row",
        "names": [names[j] for j in columns],
        "of": len(names),
        "values": [_rounded(row.astype(float), 4) for row in X[np.ix_(rows, columns)]],
    }


def _terms(row: Any, names: list[str]) -> str:
    """The features of a sparse row with the largest values."""
    first = np.argsort(-np.abs(row.data), kind="stable")[:COLUMNS]
    return ", ".join(names[j] for j in row.indices[first])


def _telling(comparison: Any, X: np.ndarray) -> np.ndarray:
    """The features that weigh most in the recommended method, in the order of their columns."""
    if X.shape[1] <= COLUMNS:
        return np.arange(X.shape[1])
    model = comparison.models[comparison.choice[0]]
    weight = np.ones(X.shape[1]) if (V := _linear(model)) is None else np.abs(V).sum(axis=0)
    return np.sort(np.argsort(-weight * X.std(axis=0), kind="stable")[:COLUMNS])


def _linear(model: Any) -> np.ndarray | None:
    """The directions of a model; None where it is not a linear map."""
    try:
        return directions(model)
    except ValueError:
        return None


def _spectrum(comparison: Any, method: str) -> dict[str, Any]:
    own = hasattr(reducer_of(comparison.models[method]), "eigenvalues_")
    return {
        "values": _rounded(comparison.spectra[method]),
        "kind": "Eigenvalue" if own else "Share of the variance",
        "chosen": reducer_of(comparison.models[method]).n_components,
    }


def _components(model: Any, names: list[str], images: np.ndarray | None) -> dict[str, Any] | None:
    """The first directions: as images where samples are images, else by their largest entries."""
    V = _linear(model)
    if V is None or V.shape[1] != len(names):
        return None
    V = V[:COMPONENTS].astype(float)
    if images is not None and images[0].size == V.shape[1]:
        return {"kind": "image", "sprite": _pictures(V.reshape(len(V), *images.shape[1:])), "count": len(V)}
    largest = np.argsort(-np.abs(V), axis=1, kind="stable")[:, :COLUMNS]
    return {
        "kind": "bars",
        "names": [[names[j] for j in row] for row in largest],
        "weights": _rounded(np.take_along_axis(V, largest, axis=1), 4),
    }


def _thumbnails(images: np.ndarray) -> dict[str, Any]:
    """One picture that holds all images, each at most ``THUMBNAIL`` pixels long, on one common range."""
    images = images.astype(float)
    low, high = images.min(), images.max()
    return _sprite(np.round((images - low) * (255 / (high - low or 1))).astype(np.uint8))


def _pictures(V: np.ndarray) -> dict[str, Any]:
    """One picture per direction, on its own range: blue is negative, orange positive, white 0.

    Colour images are shown as grey.
    """
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
    for i, image in enumerate(images):
        small = (
            Image.fromarray(image) if scale == 1 else Image.fromarray(image).resize((w, h), Image.Resampling.LANCZOS)
        )
        sheet.paste(small, (i % columns * w, i // columns * h))
    file = io.BytesIO()
    small_images = max(h, w) <= 16  # so small that no pixel may be lost
    sheet.save(file, "WEBP", lossless=small_images, quality=75, method=6)
    url = "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    return {"url": url, "width": w, "height": h, "columns": columns}


def _graph(facts: dict[str, Any]) -> dict[str, Any]:
    degrees = facts["degrees"]
    counts = np.bincount(degrees)
    return {
        "graph": repr(facts["graph"]),
        **{key: facts[key] for key in ("methods", "n_edges", "n_connected_components")},
        "least": int(degrees.min()),
        "median": float(np.median(degrees)),
        "most": int(degrees.max()),
        "degrees": np.flatnonzero(counts).tolist(),
        "counts": counts[counts > 0].tolist(),
    }


def atlas(comparison: Any, y: Any, ids: Any, feature_names: Any, n_neighbors: int, max_points: int) -> dict[str, Any]:
    """The columns for Embedding Atlas."""
    n = comparison.n_samples
    rows = spread_rows(n, max_points)
    method, _ = comparison.choice
    space = np.asarray(comparison.spaces[method][rows], dtype=float)
    distances, places = NearestNeighbors(n_neighbors=min(n_neighbors, len(rows) - 1)).fit(space).kneighbors()
    x = chosen_map(comparison, rows)
    names = _names("ids", ids, n, [str(i + 1) for i in range(n)])
    columns: dict[str, Any] = {
        "id": [names[i] for i in rows],
        "x": x[:, 0].astype(float),
        "y": x[:, 1].astype(float),
        "neighbors": [
            {"ids": near.tolist(), "distances": far.tolist()} for near, far in zip(places, distances, strict=True)
        ],
    }
    labels, classes = _colours(comparison, y)
    if labels is not None and classes is not None:
        columns["label"] = [classes[code] if code >= 0 else None for code in labels[rows]]
    if (predicted := _predicted(comparison, rows)) is not None:
        columns["predicted"] = [str(comparison.classes[code]) if code >= 0 else None for code in predicted[method]]
    if not sparse.issparse(comparison.X):
        d = comparison.n_features
        features = _names("feature_names", feature_names, d, [f"feature {i}" for i in range(d)])
        taken = set(columns)
        for j, name in enumerate(features[:50]):
            columns[name if name not in taken else f"{name} (feature)"] = comparison.X[rows, j]
    return columns
