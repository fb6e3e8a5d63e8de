"""Neighbours in space: the triangulation by empty circles, the grid by steps."""

from itertools import combinations

import numpy as np
import oracles as o
import pandas as pd
import pytest
from helpers import check_term
from limits import listed_up_to
from scipy import sparse

from lapwing import LPP, LaplacianEigenmaps
from lapwing.graphs import Delaunay, Grid, On
from lapwing.testing import check_graph

rng = np.random.RandomState(0)
PLACES = rng.rand(25, 2)
SPACE = rng.rand(14, 3)


def simplices(P):
    """Those whose circumscribed circle (sphere) has no other place inside."""
    n, d = P.shape
    for corners in combinations(range(n), d + 1):
        Q = P[list(corners)]
        centre = np.linalg.solve(2 * (Q[1:] - Q[0]), (Q[1:] ** 2).sum(axis=1) - (Q[0] ** 2).sum())
        radius = np.linalg.norm(Q[0] - centre)
        if all(np.linalg.norm(P[i] - centre) > radius for i in range(n) if i not in corners):
            yield corners


def delaunay_weights(P, weight=lambda d: 1.0, longest=np.inf):
    linked = {pair for corners in simplices(P) for pair in combinations(corners, 2)}

    def weigh(i, j):
        d = np.linalg.norm(P[i] - P[j])
        return weight(d) if (min(i, j), max(i, j)) in linked and d <= longest else 0.0

    return o.by_pairs(len(P), weigh)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("P", [PLACES, SPACE], ids=["plane", "space"])
def test_triangulation(P, make):
    check_term(Delaunay().build(make(P))[0], delaunay_weights(P))
    check_term(Delaunay(longest=0.3).build(make(P))[0], delaunay_weights(P, longest=0.3))


def test_rows_at_one_place():
    """They are linked to each other and to what the place is linked to."""
    place = np.concatenate([np.arange(25), [3, 3, 7]])
    W = delaunay_weights(PLACES)
    expected = o.by_pairs(28, lambda i, j: i != j and (place[i] == place[j] or W[place[i], place[j]]))
    check_term(Delaunay().build(PLACES[place])[0], expected)


def test_many_rows_at_few_places(monkeypatch):
    place = rng.randint(25, size=60)
    (listed,) = Delaunay().build(PLACES[place])
    listed_up_to(monkeypatch, 0)
    (factored,) = Delaunay().build(PLACES[place])
    check_term(factored, (listed.laplacian.toarray(), listed.degrees.toarray()))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_grid(d, corners):
    P = rng.randint(4, size=(30, d))  # some cells twice, some empty

    def linked(i, j):
        apart = abs(P[i] - P[j])
        return i != j and (apart.max() <= 1 if corners else apart.sum() <= 1)

    check_term(Grid(corners=corners).build(P)[0], o.by_pairs(30, linked))
    check_term(Grid(0.1, corners=corners).build(7.3 + 0.1 * P)[0], o.by_pairs(30, linked))  # up to rounding


@pytest.mark.parametrize(
    ("graph", "P", "said"),
    [
        (
            Delaunay(),
            rng.rand(9, 4),
            r"places of 2 to 3 coordinates, and the rows have 4; .*On\(\[...\], Delaunay\(\), beside=True\)",
        ),
        (Delaunay(), np.column_stack([np.arange(9.0), np.arange(9.0)]), "no triangulation: .*on one line"),
        (Delaunay(longest=0), PLACES, "longest=0 must be a finite number above 0"),
        (Grid(), PLACES, "step=1.0 is not that of the places"),
        (Grid(0), PLACES, "step=0 must be a finite number above 0"),
    ],
)
def test_what_is_said(graph, P, said):
    with pytest.raises(ValueError, match=said):
        graph.build(P)


@pytest.mark.filterwarnings("ignore:eigenvalues . and . are equal")
def test_beside_the_features():
    X = pd.DataFrame(rng.rand(25, 4), columns=list("abcd")).assign(x=PLACES[:, 0], y=PLACES[:, 1])
    model = LPP(2, graph=On(["x", "y"], Delaunay(), beside=True)).fit(X)
    assert not model.components_[:, 4:].any()
    check_term(model.problem(X).minimise[0], delaunay_weights(PLACES))
    check_graph(On([4, 5], Delaunay(), beside=True), X.to_numpy())
    check_graph(Grid(), np.stack([np.arange(36) // 6, np.arange(36) % 6], axis=1).astype(float))


@pytest.mark.parametrize("graph", [Delaunay(), Grid(corners=True)])
def test_new_places_need_links(graph):
    cells = np.stack([np.arange(30) // 6 + np.arange(30) % 6 // 7, np.arange(30) % 6], axis=1).astype(float)
    with pytest.raises(ValueError, match=r"has no links for new rows.*give links= to transform"):
        LaplacianEigenmaps(2, graph=graph).fit(cells).transform(cells + 0.5)
