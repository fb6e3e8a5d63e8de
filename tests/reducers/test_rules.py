"""What the defaults stand for where labels, sums of graphs and many rows meet: ridge, normalize, n_components, graph."""

import warnings

import numpy as np
import pytest
from limits import sampled_from
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lapwing import (
    DNE,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    MULTISPATI,
    NPE,
    OLPP,
    TSA,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    LaplacianScore,
    SpectralRegression,
)
from lapwing.clustering import NormalizedCut
from lapwing.data import as_data
from lapwing.graphs import KNN, Repulsion, SameClass
from lapwing.problem import degree_sum, laplacian_sum

DIGITS, Y = load_digits(return_X_y=True)
X, y = DIGITS[:300], Y[:300]
SOME = np.where(np.arange(300) % 4 == 0, y, -1)


def same_space(a, b, atol=1e-7):
    return subspace_angles(a.components_.T, b.components_.T).max() < atol


# --- graph by name


@pytest.mark.parametrize(
    "estimator", [LPP(5), OLPP(5), NPE(5), KernelLPP(5), LaplacianEigenmaps(5), LaplacianScore(9), LPI(3)], ids=str
)
def test_named_graphs(estimator):
    near = estimator.default_graph(estimator.n_neighbors)
    for name, graph, labels in (("supervised", SameClass(), y), ("semi", near + SameClass(), SOME)):
        one, other = (clone(estimator).set_params(graph=given).fit(X, labels) for given in (name, graph))
        np.testing.assert_array_equal(one.transform(X), other.transform(X))
        if not isinstance(one, LaplacianEigenmaps):
            assert repr(one.graph_) == repr(graph)
        assert one.__sklearn_tags__().target_tags.required
        with pytest.raises(ValueError, match="requires y"):
            clone(estimator).set_params(graph=name).fit(X)


def test_named_graphs_of_methods_whose_own_graph_reads_labels():
    for method in (MFA, DNE):
        assert repr(method(2, graph="semi").fit(X, SOME).graph_) == "KNN(5) + SameClass()"
    assert repr(TSA(2, graph="semi", image_shape=(8, 8)).fit(X, SOME).graph_) == "KNN(5) + SameClass()"


def test_named_graphs_in_a_grid_search():
    pipeline = make_pipeline(LPP(5), KNeighborsClassifier(1))
    search = GridSearchCV(pipeline, {"lpp__graph": [None, 7, "supervised", "semi"]}, cv=3, error_score="raise").fit(
        X, y
    )
    assert len(set(search.cv_results_["mean_test_score"])) > 2


def test_other_names():
    with pytest.raises(ValueError, match=r"graph='labels' must be .*\"supervised\", \"semi\""):
        LPP(2, graph="labels").fit(X, y)
    with pytest.raises(ValueError, match="penalty='supervised'"):
        LPP(2, penalty="supervised").fit(X, y)


def test_a_ridge_stands_beside_a_given_pca():
    model = LPP(5, graph=SameClass(), pca=20, ridge=0.3).fit(X, y)
    assert model.n_pca_ == 20
    assert not same_space(model, LPP(5, graph=SameClass(), pca=20).fit(X, y), 1e-3)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize(
    "estimator", [LPP(5, graph="semi"), KernelLPP(5, graph="supervised"), NPE(5, ridge=0.3)], ids=str
)
def test_the_ridge_means_the_same_on_any_scale(estimator, scale):
    one, other = clone(estimator).fit(X, y), clone(estimator).fit(X * scale, y)
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-6)


def test_the_unit_of_the_ridge_is_the_mean_eigenvalue():
    """Columns that are sums of others add no eigenvalue, so they must not dilute the ridge."""
    rng = np.random.RandomState(0)
    A = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6))
    Q = np.linalg.qr(rng.standard_normal((15, 6)))[0]
    labels = np.arange(200) % 4
    few, many = (LPP(3, graph=SameClass(), ridge=0.3, standardize=False).fit(rows, labels) for rows in (A, A @ Q.T))
    np.testing.assert_allclose(few.eigenvalues_, many.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(many.components_), np.abs(few.components_ @ Q.T), atol=1e-9)


def test_the_ridge_of_kernels_does_not_depend_on_landmarks():
    whole = KernelLPP(5, graph="supervised").fit(X, y)
    landmarks = KernelLPP(5, graph="supervised", landmarks=300, random_state=0).fit(X, y)
    np.testing.assert_allclose(whole.eigenvalues_, landmarks.eigenvalues_, rtol=1e-4)


@pytest.mark.parametrize("normalize", [None, "degree", "trace"])
def test_ridge_with_normalize(normalize):
    """(A - s B) v = (l - s)(B + rho I) v, s of the normalised A."""
    graph = KNN(5) + SameClass()
    model = LPP(5, graph=graph, ridge=0.3, normalize=normalize, scaling="constraint", standardize=False).fit(X, y)
    D = degree_sum(model.problem(X, y).minimise).diagonal()
    terms = model.problem(X, y).minimise
    Xc = X - (D @ X) / D.sum()
    forms = [Xc.T @ (term.laplacian @ Xc) for term in terms]
    scales = [
        term.coefficient / (np.trace(M) if normalize == "trace" else 1) for term, M in zip(terms, forms, strict=True)
    ]
    A = sum(c * M for c, M in zip(scales, forms, strict=True))
    B = Xc.T @ (D[:, None] * Xc)
    shift = sum(c * term.laplacian.diagonal() for c, term in zip(scales, terms, strict=True)).sum() / D.sum()
    rho = 0.3 * np.trace(B) / np.linalg.matrix_rank(B)
    V = model.components_.T
    left, right = (A - shift * B) @ V, (B + rho * np.eye(64)) @ V * (model.eigenvalues_ - shift)
    varying = Xc.std(axis=0) > 0
    np.testing.assert_allclose(left[varying], right[varying], atol=1e-7 * np.abs(right).max())
    np.testing.assert_allclose(V.T @ (B + rho * np.eye(64)) @ V, np.eye(5), atol=1e-8)


@pytest.mark.parametrize("bad", [-1, "much", np.inf, None, True])
def test_bad_ridges(bad):
    for method in (LPP, NPE, MFA, KernelLPP, KernelNPE):
        with pytest.raises(ValueError, match="ridge="):
            method(2, ridge=bad).fit(X, y)


# --- sums of graphs


def degrees(estimator, labels):
    return {
        repr(leaf): term
        for term, (_, leaf) in zip(estimator.problem(X, labels).minimise, estimator.graph.signed(), strict=True)
    }


@pytest.mark.parametrize(
    "estimator", [LPP(3), OLPP(3), KernelLPP(3), TSA(2, image_shape=(8, 8)), LaplacianScore(3)], ids=str
)
def test_all_that_attracts_has_an_equal_say(estimator):
    graph = KNN(5) + SameClass() - 0.5 * Repulsion(15)
    terms = degrees(clone(estimator).set_params(graph=graph), SOME)
    for name in ("KNN(5)", "SameClass()"):
        assert terms[name].coefficient * terms[name].degrees.diagonal().sum() == pytest.approx(300)
    assert terms["Repulsion(15)"].coefficient == -0.5


def test_coefficients_are_ratios():
    terms = degrees(LPP(3, graph=KNN(5) + 3 * SameClass()), SOME)
    totals = [term.coefficient * term.degrees.diagonal().sum() for term in terms.values()]
    np.testing.assert_allclose(totals, [300, 900])


def test_degree_forces_it():
    (term,) = LPP(3, graph=KNN(5), normalize="degree").problem(X).minimise
    assert term.coefficient * term.degrees.diagonal().sum() == pytest.approx(300)


def test_a_graph_of_degree_zero_is_left_alone():
    class Nothing(KNN):
        def adjacency(self, data):
            return 0 * super().adjacency(data)

    terms = LPP(3, graph=KNN(5) + Nothing(3)).problem(X).minimise
    assert terms[1].coefficient == 1


def test_labels_do_not_drown():
    """Few labels, and neighbours that go by what has nothing to do with classes."""
    rng = np.random.RandomState(0)
    labels = rng.randint(20, size=1500)
    means = rng.standard_normal((20, 30))
    rows = np.hstack([4 * rng.standard_normal((1500, 10)), means[labels] + 0.6 * rng.standard_normal((1500, 30))])
    known = rng.rand(1500) < 0.06

    def accuracy(**options):
        reducer = LPP(19, graph=KNN(10) + SameClass(), **options)
        Z = reducer.fit(rows, np.where(known, labels, -1)).transform(rows)
        return KNeighborsClassifier(1).fit(Z[known], labels[known]).score(Z[~known], labels[~known])

    assert accuracy() > accuracy(normalize=None) + 0.15


def test_new_rows_of_a_free_map_are_linked_by_the_scaled_graph():
    maps = LaplacianEigenmaps(3, graph="semi", constraint="identity").fit(X, SOME)
    coefficients = [c for c, _ in maps.graph_.signed()]
    terms = (KNN(5) + SameClass()).terms(as_data(X, SOME))
    np.testing.assert_allclose(coefficients, [300 / term.degrees.diagonal().sum() for term in terms])
    W = maps.graph_.signed()[0][1].links(as_data(np.vstack([X, DIGITS[300:320]])), 300) * coefficients[0]
    np.testing.assert_allclose(maps.transform(DIGITS[300:320]), maps.transform(DIGITS[300:320], links=W), atol=1e-10)


@pytest.mark.parametrize(
    "estimator", [LPP(2), LaplacianEigenmaps(2), LaplacianScore(2), LPI(2), TSA(2, image_shape=(8, 8))], ids=str
)
def test_bad_normalize(estimator):
    with pytest.raises(ValueError, match="normalize='sum'"):
        clone(estimator).set_params(normalize="sum").fit(X, y)


# --- dimensions


@pytest.mark.parametrize(
    "estimator",
    [
        LPP("auto", graph="supervised"),
        OLPP("auto", graph=SameClass()),
        MMC("auto"),
        KernelLPP("auto", graph="supervised"),
        LPP("auto"),
        OLPP("auto", graph=7),
        LPDP("auto"),
        LPCA("auto"),
    ],
    ids=str,
)
def test_as_many_directions_as_classes_less_one(estimator):
    assert clone(estimator).fit(X, y).eigenvalues_.size == 9
    some = np.where(y < 4, y, -1)
    assert clone(estimator).fit(X, some).eigenvalues_.size == 3


@pytest.mark.parametrize("estimator", [LPP("auto"), LPCA("auto"), KernelLPP("auto")], ids=str)
@pytest.mark.parametrize("labels", [None, X[:, 2] / 3], ids=["none", "numbers"])
def test_without_classes_the_number_must_be_given(estimator, labels):
    with pytest.raises(ValueError, match=r'n_components="auto" .*give a number'):
        clone(estimator).fit(X, labels)


def test_the_number_of_classes_decides_nothing_else():
    counted, given = LPP("auto").fit(X, y), LPP(9).fit(X)
    np.testing.assert_array_equal(counted.components_, given.components_)


def test_more_classes_than_dimensions():
    """As many directions as there are."""
    rng = np.random.RandomState(0)
    assert LPP("auto", graph="supervised").fit(rng.standard_normal((60, 3)), np.arange(60) % 10).components_.shape == (
        3,
        3,
    )


def test_directions_beyond_the_classes_are_arbitrary():
    for estimator in (
        LPP(12, graph="supervised"),
        KernelLPP(12, graph="supervised"),
        SpectralRegression(12, graph="supervised"),
    ):
        with pytest.warns(UserWarning, match="n_components=12 is more than the 9 directions that tell 10 classes"):
            estimator.fit(X, y)
    with warnings.catch_warnings(action="error"):
        for estimator in (
            LPP(12),
            LPP(12, graph="semi"),
            OLPP(12, graph="supervised"),
            MMC(12),
            LPP(9, graph="supervised"),
        ):
            estimator.fit(X, y)


def test_lda():
    """graph="supervised" without ridge and truncation is linear discriminant analysis."""
    rows = X[:, X.std(axis=0) > 0]
    model = LPP("auto", graph="supervised", pca=None, ridge=0, scaling="objective").fit(rows, y)
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=1e-9).fit(rows, y)
    assert subspace_angles(model.components_.T, lda.scalings_[:, :9]).max() < 1e-4
    ours, theirs = pdist(model.transform(rows)), pdist(lda.transform(rows)[:, :9])  # of the same lengths, too
    np.testing.assert_allclose(ours / ours.mean(), theirs / theirs.mean(), rtol=1e-4)


@pytest.mark.parametrize(
    "estimator", [LPP("auto", graph="supervised", scaling="objective"), LPP(4, scaling="objective", pca=20)], ids=str
)
def test_lengths_by_the_objective(estimator):
    """The objective of every direction is 1, the part of the ridge included."""
    model = clone(estimator).fit(X, y)
    problem = clone(estimator).problem(X, y)
    A, B = laplacian_sum(problem.minimise).toarray(), problem.subject_to.toarray()
    other = clone(estimator).set_params(scaling="constraint").fit(X, y)
    Z = other.transform(X)
    expected = np.sqrt(np.diagonal(Z.T @ A @ Z) + 1 - np.diagonal(Z.T @ B @ Z))
    np.testing.assert_allclose(model.components_ * expected[:, None], other.components_, rtol=1e-6, atol=1e-9)


def test_classes_that_become_points():
    """Without a ridge more features than samples make the objective zero: lengths are those of the constraint then."""
    rows, labels = np.random.RandomState(0).standard_normal((20, 50)), np.arange(20) % 3
    one, other = (
        LPP("auto", graph="supervised", pca=None, ridge=0, scaling=s).fit(rows, labels)
        for s in ("objective", "constraint")
    )
    ratio = np.linalg.norm(one.components_, axis=1) / np.linalg.norm(other.components_, axis=1)
    np.testing.assert_allclose(ratio, 1e3, rtol=1e-6)


@pytest.mark.parametrize(("n_columns", "scaling"), [(12, "objective"), (13, "unit")])
def test_class_graphs_of_little_spread(n_columns, scaling):
    """So many independent columns of the same variance are a spread of so many directions."""
    rng = np.random.RandomState(0)
    rows = rng.standard_normal((4000, n_columns))
    rows = np.linalg.qr(rows - rows.mean(axis=0))[0]
    labels = rng.randint(0, 3, 4000)
    one, other = (LPP("auto", graph="supervised", scaling=s).fit(rows, labels) for s in ("auto", scaling))
    np.testing.assert_array_equal(one.components_, other.components_)


def test_the_objective_of_what_repels_is_no_length():
    with pytest.raises(ValueError, match=r'scaling="objective".*repels'):
        LPP(3, graph=KNN(5) - 0.1 * Repulsion(15), scaling="objective").fit(X, y)


# --- many rows


def test_default_graphs_of_many_rows_are_sampled(monkeypatch):
    sampled_from(monkeypatch, 250, 100)
    for estimator in (LPP(3), LPP(3, graph=7), OLPP(3), LaplacianScore(3)):
        model = clone(estimator).fit(X)
        assert model.graph_.queries == 100
        assert clone(estimator).fit(X[:250]).graph_.queries is None
    semi = LPP(3, graph="semi").fit(X, SOME)
    assert [request.queries for request in semi.graph_.requests()] == [100]
    for exact in (LPP(3, graph=KNN(5)), KernelLPP(3), LaplacianEigenmaps(3)):
        assert exact.fit(X).graph_.queries is None


# --- clustering


def test_rows_of_unit_length():
    cut = NormalizedCut(10, random_state=0).fit(X)
    np.testing.assert_allclose(np.linalg.norm(cut.kmeans_.cluster_centers_, axis=1) <= 1 + 1e-9, True)
    np.testing.assert_array_equal(cut.predict(X), cut.labels_)
    plain = NormalizedCut(10, unit_rows=False, random_state=0).fit(X)
    np.testing.assert_allclose(plain.embedding_, cut.embedding_)
    assert not np.array_equal(plain.labels_, cut.labels_)
    two = [NormalizedCut(2, unit_rows=unit, random_state=0).fit(X).labels_ for unit in (True, False)]
    np.testing.assert_array_equal(*two)


def test_the_problem_is_the_sum():
    """problem() shows the scaled terms."""
    problem = LPP(3, graph="semi").problem(X, SOME)
    A = laplacian_sum(problem.minimise)
    np.testing.assert_allclose(A @ np.ones(300), 0, atol=1e-9)
    assert problem.degrees.sum() == pytest.approx(600)


# --- lengths and sums with kernels


def test_a_sum_with_a_kernel_truncates_and_has_a_ridge():
    model = KernelLPP(5, graph="semi").fit(X, SOME)
    given = KernelLPP(5, graph="semi", pca=model.n_pca_, ridge=0.3).fit(X, SOME)
    assert model.n_pca_ < 299
    np.testing.assert_allclose(model.transform(X), given.transform(X), atol=1e-12)


def dominated(rng, share):
    """Three directions that hold a share of the variance, and 150 others."""
    rows = rng.standard_normal((400, 153))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rows[:, :3] *= np.sqrt(share / (1 - share) * 150 / 3)
    return rows @ np.linalg.qr(rng.standard_normal((153, 153)))[0]


@pytest.mark.parametrize(("share", "scaling"), [(0.5, "unit"), (0.7, "constraint")])
def test_where_a_few_directions_hold_most_of_the_variance(share, scaling):
    rows = dominated(np.random.RandomState(0), share)
    one, other = LPP(5).fit(rows), LPP(5, scaling=scaling).fit(rows)
    np.testing.assert_array_equal(one.components_, other.components_)
    few = rows[:, :30] * np.geomspace(1, 0.01, 30)  # and no others
    np.testing.assert_allclose(np.linalg.norm(LPP(5).fit(few).components_, axis=1), 1)
    by_labels = LPP(5, graph="semi").fit(rows, np.arange(400) % 5)
    np.testing.assert_allclose(np.linalg.norm(by_labels.components_, axis=1), 1)


@pytest.mark.parametrize(
    ("model", "first"),
    [(MULTISPATI(2), 2), (LaplacianEigenmaps(1), 1), (OLPP(2, pca=None), 2), (OLPP(1, pca=None), None)],
    ids=repr,
)
def test_equal_eigenvalues_at_the_cut_are_told(model, first):
    """On a ring, waves come in pairs, and those of four rows have no product with their neighbours on average."""
    n = 40
    angles = 2 * np.pi * np.arange(n) / n
    rows = np.column_stack([np.cos(angles), np.cos(n / 4 * angles), np.sin(n / 4 * angles)])
    ring = sparse.diags_array([1.0] * 4, offsets=[1, -1, n - 1, 1 - n], shape=(n, n), format="csr")
    message = f"eigenvalues {first} and {(first or 0) + 1} are equal"
    with pytest.warns(UserWarning, match=message) if first else warnings.catch_warnings(action="error"):
        clone(model).set_params(graph=ring).fit(rows)


def test_a_space_beyond_the_rank_of_a_variance_is_told():
    with pytest.warns(UserWarning, match="eigenvalues 11 and 12 are equal"):
        MULTISPATI(11, graph="supervised").fit(X, y)
    with warnings.catch_warnings(action="error"):
        MULTISPATI(9, graph="supervised").fit(X, y)
