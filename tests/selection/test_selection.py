"""Choosing the number of dimensions from one fit a split, and error rates by the bootstrap."""

import numpy as np
import oracles as o
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import DNE, LPCA, LPDP, LPI, LPP, MFA, MMC, NPE, OLPP, ONPP, TSA, KernelLPP, TangentialMaps
from lapwing.graphs import KNN, Pairs, Precomputed, Reconstruction, Repulsion, SameClass, TangentAlignment
from lapwing.selection import BootstrapError, bootstrap_error, nested_scores

X, Y = (part[:300] for part in load_digits(return_X_y=True))
X = np.random.RandomState(0).standard_normal(X.shape) * 0.1 + X  # no constant pixel

REDUCERS = [
    LPP(pca=None),
    LPP(pca=0.95),
    LPP(pca=30, scaling="constraint", graph=SameClass()),
    LPP(pca=0.9, graph=KNN(3) - 0.1 * Repulsion(20)),
    LPP(pca=None, ridge=0.1),
    OLPP(pca=0.9),
    OLPP(pca=25, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"),
    NPE(pca=0.95),
    ONPP(pca=20, graph=Reconstruction(3, among="same_class")),
    MMC(pca=None),
    LPDP(pca=0.95),
    MFA(pca=0.95),
    DNE(pca=0.95),
    LPCA(pca=None),
    LPP(pca=20, graph=TangentAlignment(8, n_components=3)),
    PCA(svd_solver="full"),
    PCA(svd_solver="covariance_eigh", whiten=True),
    LinearDiscriminantAnalysis(),
]


def grid_scores(estimator, X, y, dimensions, classifier, **options):
    """GridSearchCV over n_components: (n_splits, n_dimensions)."""
    pipeline = make_pipeline(estimator, classifier)
    step = pipeline.steps[0][0] + (f"__{estimator.steps[-1][0]}" if hasattr(estimator, "steps") else "")
    grid = {f"{step}__n_components": list(dimensions)}
    search = GridSearchCV(pipeline, grid, error_score="raise", **options).fit(X, y)
    results = search.cv_results_
    scores = np.array([results[f"split{i}_test_score"] for i in range(search.n_splits_)])
    return scores, results["mean_test_score"], results["std_test_score"], search.best_params_


@pytest.mark.parametrize("reducer", REDUCERS, ids=str)
def test_equals_grid_search(reducer):
    D = 3
    before = repr(reducer)
    found = nested_scores(reducer, X, Y, dimensions=D, cv=2)
    scores, mean, std, best = grid_scores(reducer, X, Y, range(1, D + 1), KNeighborsClassifier(1), cv=2)
    np.testing.assert_array_equal(found.dimensions, range(1, D + 1))
    np.testing.assert_array_equal(found.scores, scores)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.std, std)
    assert [found.best_dimension] == list(best.values())
    assert found.best_score == found.mean.max()
    assert repr(reducer) == before
    assert not hasattr(reducer, "n_features_in_")


@pytest.mark.parametrize(
    ("classifier", "scoring", "cv"),
    [
        (KNeighborsClassifier(3), "f1_macro", 4),
        (GaussianNB(), None, KFold(3, shuffle=True, random_state=0)),
        (GaussianNB(), None, ShuffleSplit(2, random_state=1)),
        (make_pipeline(StandardScaler(), GaussianNB()), make_scorer(recall_score, average="macro"), 4),
        (LogisticRegression(max_iter=5000), "neg_log_loss", ShuffleSplit(2, random_state=1)),
    ],
    ids=str,
)
def test_classifiers_splits_and_scorings(classifier, scoring, cv):
    data, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LPP(pca=None))
    found = nested_scores(pipeline, data, y, dimensions=[4, 1, 2], classifier=classifier, cv=cv, scoring=scoring)
    scores, *_ = grid_scores(pipeline, data, y, [4, 1, 2], classifier, cv=cv, scoring=scoring)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-6)
    np.testing.assert_array_equal(found.dimensions, [4, 1, 2])


def test_one_fit_a_split():
    fits = []

    class Counted(LPP):
        def fit(self, X, y=None):
            fits.append(self.n_components)
            return super().fit(X, y)

    nested_scores(Counted(12, pca=None), X, Y, cv=4)
    assert fits == [12] * 4


def test_dimensions_and_inputs():
    few, classes = X[:150], Y[:150]
    default = nested_scores(LPP(3, pca=0.9), few, classes)
    assert default.scores.shape == (5, 3)
    for dimensions in (3, np.int64(3), range(1, 4), np.arange(1, 4), (1, 2, 3)):
        np.testing.assert_array_equal(
            nested_scores(LPP(pca=0.9), few, classes, dimensions=dimensions).scores, default.scores
        )
    sparse_scores = nested_scores(LPP(3, pca=0.9), sparse.csr_array(few), classes).scores
    np.testing.assert_array_equal(sparse_scores, default.scores)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(few, columns=[f"x{i}" for i in range(64)], index=np.arange(150)[::-1])
    reducer = LPP(3, pca=0.9).set_output(transform="pandas")
    words = pandas.Series(classes.astype(str), index=frame.index)
    np.testing.assert_array_equal(nested_scores(reducer, frame, words).scores, default.scores)
    np.testing.assert_array_equal(nested_scores(LPP(3, pca=0.9), few, classes, n_jobs=2).scores, default.scores)


class Unknown(TransformerMixin, BaseEstimator):
    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, : self.n_components]


class Known(Unknown):
    is_nested = True


class Alternating(LPP):
    is_nested = False


@pytest.mark.parametrize(
    ("reducer", "match"),
    [
        (TangentialMaps(), "TangentialMaps .* GridSearchCV"),
        (LPP(pca=None, graph=TangentAlignment(5)), "own n_components"),
        (OLPP(pca=None, graph=KNN(5) + 0.1 * TangentAlignment(5)), "own n_components"),
        (PCA(), 'svd_solver="full"'),
        (FastICA(), "FastICA .* GridSearchCV"),
        (Unknown(), "Unknown .* GridSearchCV"),
        (Alternating(pca=None), "Alternating .* GridSearchCV"),
    ],
    ids=str,
)
def test_refused(reducer, match):
    with pytest.raises(ValueError, match=f"first components of .*{match}"):
        nested_scores(reducer, X, Y, dimensions=3)


def test_a_reducer_may_say_that_it_is_nested():
    found = nested_scores(Known(4), X, Y).scores
    np.testing.assert_array_equal(found, grid_scores(Known(), X, Y, range(1, 5), KNeighborsClassifier(1), cv=5)[0])


@pytest.mark.parametrize(
    "reducer",
    [LPP(), OLPP(), MMC(), KernelLPP(), make_pipeline(StandardScaler(), LPP(graph=SameClass()))],
    ids=str,
)
def test_automatic_pca_equals_grid_search(reducer):
    dimensions = [1, 2, 3, 20, 40]
    found = nested_scores(reducer, X, Y, dimensions=dimensions, cv=2)
    scores, *_ = grid_scores(reducer, X, Y, dimensions, KNeighborsClassifier(1), cv=2)
    np.testing.assert_array_equal(found.scores, scores)


def test_automatic_pca_is_not_nested():
    """Why one fit does not serve all: the directions kept for 40 components are not those kept for one."""
    few, many = LPP(1).fit(X), LPP(40).fit(X)
    assert few.n_pca_ < many.n_pca_
    assert o.angle(few.components_, many.components_[:1]) > 1e-3


def test_automatic_pca_shares_fits():
    """As the guide writes it: most of the fifteen share their directions, which is found by halving."""
    fits = []

    class Counted(LPP):
        def fit(self, X, y=None):
            fits.append(self.n_components)
            return super().fit(X, y)

    assert nested_scores(Counted(15), X, Y, cv=2).scores.shape == (2, 15)
    assert fits[:2] == [15, 1]
    assert len(fits) <= 2 * 7


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"dimensions": 0}, "dimensions=0 must be a whole number"),
        ({"dimensions": 2.0}, r"dimensions=2.0 must be"),
        ({"dimensions": "all"}, "dimensions='all' must be"),
        ({"dimensions": []}, "empty"),
        ({"dimensions": [1, 0]}, "dimensions=0 must be"),
        ({"dimensions": [True]}, "dimensions=True must be"),
        ({"dimensions": 65}, "n_components=65"),
        ({"scoring": ["accuracy"]}, "scoring=.* one number"),
        ({"cv": 1}, "n_splits"),
    ],
)
def test_bad_input(options, match):
    with pytest.raises(ValueError, match=match):
        nested_scores(LPP(pca=None), X, Y, **options)


def test_no_dimensions():
    with pytest.raises(ValueError, match="give dimensions="):
        nested_scores(LPP(None, pca=None), X, Y)
    with pytest.raises(ValueError, match="n_components=0"):
        nested_scores(LPP(0, pca=None), X, Y)


BOOTSTRAPPED = [
    LPP(),
    LPP(graph=SameClass()),
    OLPP(graph=KNN(5) - 0.2 * Repulsion(15)),
    NPE(),
    MMC(),
    MFA(),
    DNE(),
    LPCA(),
    make_pipeline(StandardScaler(), LPP(2, pca=None)),
    "passthrough",
]


@pytest.mark.parametrize("reducer", BOOTSTRAPPED, ids=str)
def test_bootstrap_by_hand(reducer):
    """Draws hold rows several times, and every graph copes."""
    data, y = load_iris(return_X_y=True)
    found = bootstrap_error(reducer, data, y, n_bootstraps=3, random_state=0)
    random = np.random.RandomState(0)
    model = make_pipeline(reducer, KNeighborsClassifier(1))
    for error in found.errors:
        rows = random.randint(150, size=150)
        out = [i for i in range(150) if i not in rows]
        assert np.unique(rows).size < 150
        assert error == pytest.approx(np.mean(clone(model).fit(data[rows], y[rows]).predict(data[out]) != y[out]))
    assert found.mean == pytest.approx(found.errors.mean())
    assert found.std == pytest.approx(found.errors.std())
    assert 0 <= found.mean < 0.2
    whole = clone(model).fit(data, y)
    assert found.training_error == pytest.approx(1 - whole.score(data, y))
    assert found.training_error <= found.error_632 <= found.error_632_plus <= found.mean


def test_632():
    found = BootstrapError(np.array([0.3, 0.5]), training_error=0.1, no_information_error=0.5)
    assert found.mean == pytest.approx(0.4)
    assert found.error_632 == pytest.approx(0.368 * 0.1 + 0.632 * 0.4)
    weight = 0.632 / (1 - 0.368 * 0.75)  # (0.4 - 0.1) / (0.5 - 0.1)
    assert found.error_632_plus == pytest.approx((1 - weight) * 0.1 + weight * 0.4)
    assert BootstrapError(np.array([0.1]), 0.2, 0.5).error_632_plus == pytest.approx(0.368 * 0.2 + 0.632 * 0.1)
    assert BootstrapError(np.array([0.9]), 0.0, 0.5).error_632_plus == pytest.approx(0.5)
    assert BootstrapError(np.zeros(3), 0.0, 0.0).error_632_plus == 0.0


def test_labels_without_meaning_are_at_chance():
    """Where labels are drawn at random 1-NN errs by half, knows its training set, and .632+ says so."""
    random = np.random.RandomState(0)
    found = bootstrap_error(LPP(2), random.standard_normal((80, 5)), np.arange(80) % 2, n_bootstraps=20, random_state=1)
    assert found.training_error == 0
    assert found.no_information_error == 0.5
    assert abs(found.mean - 0.5) < 0.06
    assert found.error_632 < 0.36
    assert abs(found.error_632_plus - 0.5) < 0.08


def test_bootstrap_inputs():
    options = {"n_bootstraps": 3, "random_state": 0}
    errors = bootstrap_error(LPP(3), X, Y, **options).errors
    np.testing.assert_array_equal(bootstrap_error(LPP(3), X, Y, n_jobs=2, **options).errors, errors)
    np.testing.assert_array_equal(bootstrap_error(LPP(3), X, Y.astype(str), **options).errors, errors)
    np.testing.assert_array_equal(bootstrap_error(LPP(3), sparse.csr_array(X), Y, **options).errors, errors)
    bayes = bootstrap_error(LPP(3), X, Y, classifier=GaussianNB(), **options)
    assert bayes.training_error > 0
    tiny = bootstrap_error("passthrough", X[:3], [0, 1, 1], n_bootstraps=20, random_state=0)
    assert tiny.errors.shape == (20,)


@pytest.mark.parametrize(
    ("y", "options", "match"),
    [
        (None, {}, "requires y"),
        (np.zeros(300), {}, "1 classes"),
        (Y[:-1], {}, "inconsistent"),
        (Y, {"n_bootstraps": 0}, "n_bootstraps=0"),
        (Y, {"n_bootstraps": 2.5}, "n_bootstraps=2.5"),
        (Y, {"random_state": "a"}, "seed"),
    ],
)
def test_bad_bootstrap(y, options, match):
    with pytest.raises(ValueError, match=match):
        bootstrap_error(LPP(), X, y, **options)


def test_kernels_equal_grid_search():
    X, y = load_iris(return_X_y=True)
    for estimator, data in ((KernelLPP(4, pca=0.95), X), (KernelLPP(3, kernel="precomputed", pca=4), X @ X.T)):
        found = nested_scores(estimator, data, y, dimensions=3, cv=3)
        pipeline = make_pipeline(clone(estimator), KNeighborsClassifier(1))
        name = f"{type(estimator).__name__.lower()}__n_components"
        search = GridSearchCV(pipeline, {name: [1, 2, 3]}, cv=3, error_score="raise").fit(data, y)
        np.testing.assert_allclose(found.mean, search.cv_results_["mean_test_score"])


@pytest.mark.parametrize("estimator", [LPI(2), TSA(2, image_shape=(2, 2)), KernelLPP(2, pca=2, landmarks=5)], ids=repr)
def test_more_that_are_not_nested(estimator):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="may depend on n_components"):
        nested_scores(estimator, X, y)


@pytest.mark.parametrize(
    "graph", [np.ones((150, 150)), Precomputed(np.ones((150, 150))), KNN(5) + Pairs([[0, 1]])], ids=str
)
def test_bootstrap_refuses_rows_by_number(graph):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="the bootstrap draws others"):
        bootstrap_error(LPP(2, graph=graph), X, y, n_bootstraps=2)
