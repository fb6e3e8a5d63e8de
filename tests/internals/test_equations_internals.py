"""A fit solves its equations: beside a dense solution of A and B, with the map written out."""

import numpy as np
import oracles as o
from drawn import FREE_PROBLEMS, GRAPHS, KINDS, Data, of_two_clusters, quietly, tried
from hypothesis import strategies as st
from scipy.linalg import null_space
from written_out import EPS

from lapwing.solvers import _solve

exact = st.builds(
    Data,
    st.sampled_from([*KINDS, of_two_clusters]),
    st.integers(0, 10_000),
    st.tuples(st.integers(4, 40), st.integers(1, 40)),
    st.just(1.0),
    st.just(np.float64),
    st.integers(1, 4),
    st.booleans(),
)


@tried(
    st.sampled_from(FREE_PROBLEMS), st.one_of(st.none(), GRAPHS), exact, st.integers(1, 4), st.booleans(), examples=40
)
def test_free_maps(model, graph, data, k, by_iteration):
    """A Y = B Y diag(lambda) and YᵀBY = I among what the constant is kept out of, and no smaller lambda there is."""
    X, y = data.made()
    few, _solve.FEW = _solve.FEW, 20 if by_iteration else _solve.FEW  # blocks need room
    try:
        fitted = quietly(lambda: o.clone(model).set_params(n_components=k, graph=graph).fit(X, y))
    finally:
        _solve.FEW = few
    if isinstance(fitted, str):
        return
    problem, Y = quietly(lambda: o.clone(fitted).problem(X, y)), fitted.embedding_
    A = sum(term.coefficient * term.laplacian.toarray() for term in problem.minimise)
    b = problem.subject_to.diagonal()
    assert not Y[b == 0].any()
    live = b > 0
    A, b, Y = A[np.ix_(live, live)], b[live], Y[live]
    T = null_space(np.sqrt(b)[None]) / np.sqrt(b)[:, None]
    M = T.T @ A @ T
    values = np.linalg.eigvalsh(M)
    tol = (1e-8 if by_iteration else 1e-9) * np.abs(values).max() + 1e3 * EPS * np.abs(np.diag(A)).max() / b.min()
    np.testing.assert_allclose(fitted.eigenvalues_, values[:k], rtol=0, atol=tol)
    W = (T * b[:, None]).T @ Y
    np.testing.assert_allclose(W.T @ W, np.eye(k), rtol=0, atol=1e-8)
    np.testing.assert_allclose(b @ Y, 0, atol=1e-8 * np.sqrt(b.sum()))
    assert (
        np.linalg.norm(M @ W - W * fitted.eigenvalues_) < 10 * tol
    )  # of an inverse, far eigenvalues have fewer digits
