"""How certain the result of a sampled graph is."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._validation import count_rows, rows_by_number
from ..device import host, to_numpy
from ..problem import ORTHOGONAL, Problem
from ..reducers import FeatureSelector, ProjectingReducer
from ._directions import steps

SEEDS = (1, 2)  # what is added to the seeds of the model's graph


def sampling_error(model: Any, X: Any, y: Any = None) -> dict[str, float]:
    r"""How far a model is from that of all rows, where its graph searches for the neighbours of a sample of them.

    The model is fitted twice more, with graphs of as many queries that draw other rows. Directions seem better on their own
    links than they are, by as much as they are worse on those of another sample. So ``excess`` is half of the gap between
    both objectives :math:`\operatorname{tr}((V^\top B V)^{-1} V^\top A V)`, without the ridge, as a share of them. It is about
    inversely proportional to the number of queries.

    Parameters
    ----------
    model : estimator, or Pipeline that ends in one
        A fitted linear or kernel map or :class:`LaplacianScore`, whose ``graph_`` (or ``penalty``) has fewer ``queries`` than
        there are rows.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows that the model was fitted to, in memory. Of rows on disk pass a part, many more than the queries.
    y : array-like of shape (n_samples,), default=None
        The labels, where the graph reads them.

    Returns
    -------
    dict
        ``queries``, the fewest of a search. For maps ``excess``, infinite where a sample does not see all directions of the
        other, and ``angle``, the largest angle in degrees between the coordinates of the two fits, which is large where the
        last eigenvalues are nearly equal. For scores ``error``, their root mean squared error as a share of them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import lapwing
    >>> from lapwing.graphs import KNN
    >>> X, _ = load_digits(return_X_y=True)
    >>> few, many = (lapwing.LPP(5, graph=KNN(5, queries=q)).fit(X) for q in (200, 800))
    >>> lapwing.sampling_error(few, X)["excess"] > 2 * lapwing.sampling_error(many, X)["excess"]
    True
    """
    *before, own = steps(model)
    check_is_fitted(own)
    for step in before:
        X = step.transform(X)
    X = rows_by_number(X, "sampling_error")
    X = np.asarray(X) if isinstance(X, np.memmap) else X
    n, fresh, queries = count_rows(X), clone(own), {}
    if isinstance(own, ProjectingReducer | FeatureSelector) and hasattr(own, "graph"):
        params = fresh.set_params(graph=clone(own.graph_)).get_params()
        queries = {name: q for name, q in params.items() if name.endswith("__queries") and q is not None and q < n}
    if not queries:
        raise ValueError(
            "sampling_error takes a linear or kernel map or LaplacianScore whose graph searches for a sample of the rows, such "
            f"as KNN(5, queries=2_000), and {own!r} of {n} rows is none"
        )
    if params.get("normalize") == "trace":
        raise ValueError(
            'sampling_error does not go with normalize="trace", which weighs graphs by their samples; use "degree"'
        )
    if "n_components" in params:
        fresh.set_params(n_components=len(own.get_feature_names_out()))
    if params.get("random_state", 0) is None:
        fresh.set_params(random_state=0)  # both fits take the same landmarks
    seeds = [name.removesuffix("queries") + "random_state" for name in queries]
    fits = [clone(fresh).set_params(**{s: (params[s] + more) % 2**32 for s in seeds}).fit(X, y) for more in SEEDS]
    found = {"queries": min(queries.values())}
    if isinstance(own, FeatureSelector):
        scores = np.array([fit.scores_ for fit in map(to_numpy, fits)])
        scores = scores[:, np.isfinite(scores).all(axis=0)]
        return found | {"error": float(np.sqrt(np.mean(np.diff(scores, axis=0) ** 2) / 2 / np.mean(scores**2)))}
    problems, center = [fit.problem(X, y) for fit in fits], params.get("center", "auto")
    Z = [np.asarray(to_numpy(fit).transform(host(X)), dtype=np.float64) for fit in fits]
    if problems[0].minimise[0].laplacian.n < n:  # documents without a term have no part in a problem
        known = np.flatnonzero(np.asarray(check_array(X, accept_sparse="csr").sum(axis=1)).ravel())
        Z = [z[known] for z in Z]
    objectives = [[_objective(z, problem, center) for z in Z] for problem in problems]
    total, on_own = np.sum(objectives), np.trace(objectives)
    excess = max(total - 2 * on_own, 0.0) / (abs(total) or 1.0) if np.isfinite(total) else np.inf
    angles = subspace_angles(*(z - z.mean(axis=0) for z in Z))
    return found | {"excess": float(excess), "angle": float(np.degrees(angles.max()))}


def _objective(Z: np.ndarray, problem: Problem, center: Any) -> float:
    """The objective of directions that give these coordinates; infinite where the constraint does not see them all."""
    d, B = problem.degrees, problem.subject_to
    if d is not None and center in ("auto", "degree"):
        Z = Z - d @ Z / d.sum()
    A = np.sum([term.coefficient * (Z.T @ (term.laplacian @ Z)) for term in problem.minimise], axis=0)
    if B is ORTHOGONAL:
        return float(np.trace(A))
    C = Z.T @ (B @ Z)
    if problem.ratio:
        return float(np.trace(A) / np.trace(C))
    return float(np.trace(np.linalg.solve(C, A))) if np.linalg.matrix_rank(C, hermitian=True) == len(C) else np.inf
