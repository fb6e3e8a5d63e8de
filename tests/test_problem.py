"""The problem: what attracts, what is added up, and which degrees are the constraint."""

import numpy as np
import pytest
from scipy import sparse

from lapwing.operators import Structured, diagonal, identity, laplacian
from lapwing.problem import ORTHOGONAL, Constraint, Problem, Term, degree_sum, laplacian_sum


def term(coefficient, seed=0):
    """A term of five rows, and its L and D."""
    W = np.triu(np.random.RandomState(seed).rand(5, 5), 1)
    L, D = laplacian(sparse.csr_array(W + W.T))
    return Term(coefficient, L, D), L.toarray(), D.toarray()


def test_scaled_terms_keep_their_matrices():
    one = term(2.0)[0]
    three = one.scaled(1.5)
    assert (one.coefficient, three.coefficient) == (2.0, 3.0)
    assert three.laplacian is one.laplacian
    assert three.degrees is one.degrees


@pytest.mark.parametrize("coefficients", [(1.0,), (0.5,), (1.0, -0.3), (2.0, 1.0, -1.0)])
def test_sums(coefficients):
    """L adds up signs and all, D what attracts alone."""
    made = [term(c, seed) for seed, c in enumerate(coefficients)]
    L = sum(c * L for c, (_, L, _) in zip(coefficients, made, strict=True))
    D = sum(c * D for c, (_, _, D) in zip(coefficients, made, strict=True) if c > 0)
    np.testing.assert_allclose(laplacian_sum([t for t, _, _ in made]).toarray(), L, atol=1e-14)
    found = degree_sum([t for t, _, _ in made])
    np.testing.assert_allclose(found.toarray(), D, atol=1e-14)
    assert found.is_diagonal


def test_degrees_of_repulsion_alone_are_no_constraint():
    with pytest.raises(ValueError, match="graph has no attraction"):
        degree_sum([term(-1.0)[0], term(0.0)[0]])


def test_degrees_are_weights_where_the_constraint_is_a_diagonal():
    b = np.arange(5.0)
    assert Problem([], ORTHOGONAL).degrees is None
    assert ORTHOGONAL is Constraint.ORTHOGONAL
    np.testing.assert_array_equal(Problem([], diagonal(b)).degrees, b)
    np.testing.assert_array_equal(Problem([], identity(3)).degrees, np.ones(3))
    assert Problem([], Structured(5, sparse=sparse.csr_array(np.eye(5)), diag=b)).degrees is None
    assert Problem([], Structured(5, factors=((np.ones((5, 1)), np.ones(1)),), diag=b)).degrees is None
    assert Problem([], Structured(5)).degrees is None
