"""A fit solves its equations: beside a dense solution of A and B, with the map written out."""

import numpy as np
from drawn import GRAPHS, KINDS, PROJECTIONS, Data, literal, of_two_clusters, quietly, tried
from hypothesis import strategies as st
from scipy.linalg import eigh
from written_out import pencil

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
    st.sampled_from(PROJECTIONS),
    st.one_of(st.none(), GRAPHS),
    exact,
    st.integers(1, 4),
    st.sampled_from([None, "degree", "trace"]),
    st.booleans(),
    st.sampled_from([0.0, 0.5]),
    examples=60,
)
def test_projections(method, graph, data, k, normalize, standardize, ridge):
    """FᵀAF V = FᵀBF V diag(lambda) and VᵀFᵀBF V = I, and no smaller lambda there is."""
    X, y = data.made()
    model = literal(method, k, graph=graph, normalize=normalize, standardize=standardize, ridge=ridge)
    fitted = quietly(lambda: model.fit(X, y))
    if isinstance(fitted, str):
        return
    Z, P = quietly(lambda: fitted.transform(X)), quietly(lambda: pencil(model, X, y))
    if P is None or P.blur > 1e-6 or P.noise > 1e-6:
        return
    assert fitted.rank_ == P.F.shape[1]
    V, outside = P.directions(Z)
    values, tol = P.solved()[0], 1e3 * P.noise
    np.testing.assert_allclose(fitted.eigenvalues_, values[:k], rtol=1e-9, atol=tol)
    T = eigh(P.B)[1] / np.sqrt(eigh(P.B)[0])  # makes B the identity
    W = np.linalg.solve(T, V)
    assert outside < 1e-6
    np.testing.assert_allclose(W.T @ W, np.eye(k), rtol=0, atol=1e-8 + 1e3 * P.blur)
    residual = T.T @ P.A @ V - W * (fitted.eigenvalues_ - P.shift)
    assert np.linalg.norm(residual) < 1e-8 * np.abs(values - P.shift).max() + tol * k
