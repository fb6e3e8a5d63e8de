"""The language of ``--graph``: public graphs, their algebra, and nothing that runs."""

import numpy as np
import pytest
from helpers import each

pytest.importorskip("typer")
import typer
from sklearn.decomposition import PCA
from typer.testing import CliRunner

from lapwing import LPP, load
from lapwing.cli._app import app
from lapwing.cli._model import parsed
from lapwing.graphs import (
    KNN,
    Chain,
    Delaunay,
    DensityCorrected,
    Grid,
    On,
    OtherClass,
    Pairs,
    Repulsion,
    SameClass,
    Similarity,
    Target,
)


@each(
    ("text", "expected"),
    [
        ("supervised", "supervised"),
        ("Semi", "semi"),
        ("none", None),
        ("7", 7),
        ("KNN", KNN()),
        ("KNN(5)", KNN(5)),
        ("KNN(5) + 0.5*SameClass()", KNN(5) + 0.5 * SameClass()),
        ("SameClass() - 0.2 * Repulsion(15)", SameClass() - 0.2 * Repulsion(15)),
        ("KNN(7, weights='binary') & OtherClass()", KNN(7, weights="binary") & OtherClass()),
        ("(KNN(3) + SameClass()) / 2", (KNN(3) + SameClass()) / 2),
        ("-1 * KNN(5) + SameClass()", -1 * KNN(5) + SameClass()),
        ("Pairs([[0, 1]], [[2, 3]])", Pairs([[0, 1]], [[2, 3]])),
        ("KNN(5) | Chain()", KNN(5) | Chain()),
        (
            "Similarity(KNN(5) + 2*Chain(series=3)) - Similarity(KNN)",
            Similarity(KNN(5) + 2 * Chain(series=3)) - Similarity(KNN()),
        ),
        ("KNN(5) + 2 * Target(15, weights='binary')", KNN(5) + 2 * Target(15, weights="binary")),
        ("On(PCA(0.98), KNN(5))", On(PCA(0.98), KNN(5))),
        ("On([0, 2], KNN(3) + Chain(time=1), beside=True)", On([0, 2], KNN(3) + Chain(time=1), beside=True)),
        ("DensityCorrected(KNN(5) | Chain(), 0.5)", DensityCorrected(KNN(5) | Chain(), 0.5)),
        (
            "On([0, 1], Delaunay(longest=2.0)) + On([0, 1], Grid(corners=True))",
            On([0, 1], Delaunay(longest=2.0)) + On([0, 1], Grid(corners=True)),
        ),
        ("KNN(7, weights='self-tuning')", KNN(7, weights="self-tuning")),
        ("Similarity(graph=KNN(3))", Similarity(KNN(3))),
        ("KNN(n_neighbors=4, metric='cosine', t=None)", KNN(4, metric="cosine", t=None)),
    ],
)
def test_what_is_written_is_what_is_meant(text, expected):
    assert repr(parsed(text)) == repr(expected)


@pytest.mark.parametrize(
    "graph",
    [KNN(5) + SameClass(), SameClass() - 0.2 * Repulsion(15), KNN(3) & SameClass(), 2 * KNN(5), KNN(3) | Chain()],
)
def test_what_a_graph_prints_is_read_back(graph):
    assert repr(parsed(repr(graph))) == repr(graph)


@each(
    ("text", "said"),
    [
        ("KNM(5)", "no graph 'KNM' to be written here; did you mean KNN?"),
        ("Nonsense()", "known are "),
        ("Precomputed('W.npz')", "no graph 'Precomputed'"),
        ("Graph", "no graph 'Graph'"),
        ("KNN(5, neighbours=3)", "unexpected keyword argument 'neighbours'"),
        ("-KNN(5)", "and may not stand there"),
        ("KNN(5) +", "it is no formula"),
        ("KNN(5) + 3", "unsupported operand type(s) for +: 'KNN' and 'int'"),
        ("KNN(5) * KNN(5)", "unsupported operand type(s) for *"),
        ("0", "it is no graph, and no number of neighbours"),
        ("3.5", "it is no graph, and no number of neighbours"),
        ("KNN(5) ** 2", "and may not stand there"),
        ("KNN(5, metric='a' * 9999999999)", "and may not stand there"),
        ("KNN(5, metric=9999999999 * [1])", "and may not stand there"),
        ("KNN(5, metric=9999999999 * ('a' + 'b'))", "and may not stand there"),
        ("KNN(5, metric=f'{1:>9999999999}')", "and may not stand there"),
        ("KNN(5, metric='%9999999999d' % 1)", "and may not stand there"),
        ("KNN(5, metric=(5).bit_length)", "and may not stand there"),
        ("KNN(9**9**9)", "and may not stand there"),
        ("-" * 990 + "KNN(5)", "recursion"),
        ("KNN(open('x'))", "no graph 'open'"),
        ("__import__('os').system('true')", "and may not stand there"),
        ("KNN.__init__", "and may not stand there"),
        ("KNN(5).build(1)", "and may not stand there"),
        ("KNN(x := 5)", "and may not stand there"),
        ("[KNN(i) for i in [1]]", "and may not stand there"),
        ("[KNN(5)]", "and may not stand there"),
        ("lambda: KNN(5)", "and may not stand there"),
        ("KNN(5) if 1 else KNN(6)", "and may not stand there"),
        ("On(PCA(open('x')), KNN(5))", "no graph 'open'"),
        ("On(PCA(whitening=True), KNN(5))", "unexpected keyword argument 'whitening'"),
        ("On(LPP(2), KNN(5))", "no graph 'LPP'"),
        ("PCA(2)", "it is no graph"),
        ("KNN(5) | 3", "unsupported operand type(s) for |"),
        ("Similarity(open('x'))", "no graph 'open'"),
        ("KNN(*[5])", "and may not stand there"),
        ("KNN(**{'n_neighbors': 5})", "unexpected keyword argument"),
        ("KNN(5) / 0", "division by zero"),
        ("(" * 2000, "it is no formula"),
        ("KNN(5, 6)", "KNN.__init__() takes"),
        ("", "it is no formula"),
        ("os", "no graph 'os'"),
    ],
)
def test_errors_say_what_to_write(text, said):
    with pytest.raises(typer.BadParameter) as caught:
        parsed(text)
    assert said in caught.value.message
    assert "such as 'KNN(5) + 0.5 * SameClass()'" in caught.value.message


@pytest.fixture
def places(tmp_path):
    """A file of four features in other units than two places of a grid, and its numbers."""
    places = 100.0 * np.array([(i, j) for i in range(8) for j in range(6)])
    numbers = np.c_[np.random.default_rng(0).normal(size=(48, 4)), places]
    lines = [",".join(map(str, row)) for row in numbers.tolist()]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,d,x,y", *lines]))
    return tmp_path / "rows.csv", numbers


def test_graphs_on_columns_of_a_file(places):
    """By their places. The user is told where they are standardised."""
    path, numbers = places
    model, grid = path.parent / "m.lapwing", "On([4, 5], Grid(step={}), beside=True)"

    def fit(*more):
        return CliRunner().invoke(app, ["fit", str(path), "-d", "2", "-o", str(model), *more])

    assert fit("-g", grid.format(100), "--standardize", "no").exit_code == 0
    expected = LPP(2, graph=On([4, 5], Grid(step=100), beside=True), standardize=False).fit(numbers)
    np.testing.assert_allclose(load(model).components_, expected.components_, atol=1e-6)
    said = fit("-g", "On([4, 5], KNN(4), beside=True)")
    assert (said.exit_code, "the graph reads standardised columns; --standardize no" in said.stderr) == (0, True)
    assert "standardised columns" not in fit("-g", "On(PCA(2), KNN(4))").stderr
    assert "does not choose columns of X" in fit("-g", "On(['x', 'y'], KNN(4))").stderr
