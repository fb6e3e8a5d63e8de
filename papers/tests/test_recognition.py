"""Random-sampling subspace LDA beside a literal re-implementation, and as a scikit-learn classifier."""

import pickle
from collections import Counter

import numpy as np
import pytest
from helpers import named
from scipy import linalg
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from lapwing import LPP
from lapwing.graphs import SameClass
from lapwing_papers.recognition import RandomSubspaceLDA


def people(n_people=30, n_images=8, d=60, seed=0):
    """Images of people that differ less than the images of one do, in some directions."""
    random = np.random.RandomState(seed)
    spread = np.linspace(4, 0.5, d)
    faces = random.randn(n_people, 1, d) * 2
    X = (faces + random.randn(n_people, n_images, d) * spread).reshape(-1, d) @ linalg.orth(random.randn(d, d))
    return X, np.repeat(np.arange(n_people), n_images)


X, Y = people()
TRAIN = Y < 18
GALLERY, PROBE = ((Y >= 18) & (np.arange(len(Y)) % 8 % 2 == part) for part in (0, 1))


def fisher(Z, y):
    """Directions of largest between over within scatter, by the generalised eigenproblem, within-class variance 1."""
    means = {c: Z[y == c].mean(axis=0) for c in set(y)}
    S_w = sum(np.outer(z - means[c], z - means[c]) for z, c in zip(Z, y, strict=True)) / (len(y) - len(means))
    S_b = sum(np.outer(means[c] - Z.mean(axis=0), means[c] - Z.mean(axis=0)) for c in y)
    _, V = linalg.eigh(S_b, S_w)
    return V[:, ::-1][:, : len(means) - 1]


def recognised(model, Z_train, y_train, Z_gallery, y_gallery, Z_probe):
    """By the definition, with the components that the model drew: every probe, every space, every gallery sample."""
    spaces = [fisher(Z_train[:, columns], y_train) for columns in model.subspaces_]
    answers, shares = [], []
    for z in Z_probe:
        votes, distances = Counter(), Counter()
        for V, columns in zip(spaces, model.subspaces_, strict=True):
            d = [np.linalg.norm((z - g)[columns] @ V) for g in Z_gallery]
            label = y_gallery[int(np.argmin(d))]
            votes[label] += 1
            distances[label] += min(d)
        answers.append(min(votes, key=lambda c: (-votes[c], distances[c], c)))
        shares.append([votes[c] / len(spaces) for c in sorted(set(y_gallery))])
    return answers, shares


@pytest.mark.parametrize("enrolled", [False, True])
@pytest.mark.parametrize("reducer", [None, PCA(40), LPP(25, pca=None)], ids=["none", "pca", "lpp"])
def test_against_the_definition(reducer, enrolled):
    model = RandomSubspaceLDA(reducer, n_base=6, n_sampled=8, n_estimators=5, random_state=1).fit(X[TRAIN], Y[TRAIN])
    fitted = (PCA() if reducer is None else clone(reducer)).fit(X[TRAIN])
    if enrolled:
        assert model.enroll(X[GALLERY], Y[GALLERY]) is model
    gallery, probe = (GALLERY, PROBE) if enrolled else (TRAIN, PROBE)
    Z_train, Z_gallery, Z_probe = (fitted.transform(X[rows]) for rows in (TRAIN, gallery, probe))
    answers, shares = recognised(model, Z_train, Y[TRAIN], Z_gallery, Y[gallery], Z_probe)
    np.testing.assert_array_equal(model.classes_, np.unique(Y[gallery]))
    np.testing.assert_array_equal(model.predict(X[PROBE]), answers)
    np.testing.assert_allclose(model.predict_proba(X[PROBE]), shares)


def test_ties_go_to_the_nearer_voters():
    """With two spaces most disagreements are ties; the literal rule, and not always the first class."""
    model = RandomSubspaceLDA(n_base=2, n_sampled=3, n_estimators=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    model.enroll(X[GALLERY], Y[GALLERY])
    fitted = PCA().fit(X[TRAIN])
    Z = [fitted.transform(X[rows]) for rows in (TRAIN, GALLERY, PROBE)]
    answers, _ = recognised(model, Z[0], Y[TRAIN], Z[1], Y[GALLERY], Z[2])
    np.testing.assert_array_equal(model.predict(X[PROBE]), answers)
    shares = model.predict_proba(X[PROBE])
    tied = shares.max(axis=1) == 0.5
    first = model.classes_[shares.argmax(axis=1)]
    assert 0 < np.sum(first[tied] != np.array(answers)[tied]) < tied.sum()


def test_subspaces():
    model = RandomSubspaceLDA(PCA(30), n_base=5, n_sampled=7, n_estimators=40, random_state=0).fit(X, Y)
    drawn = np.array(model.subspaces_)
    assert drawn.shape == (40, 12)
    assert (model.n_base_, model.n_sampled_) == (5, 7)
    np.testing.assert_array_equal(drawn[:, :5], np.tile(np.arange(5), (40, 1)))
    assert (np.diff(drawn, axis=1) > 0).all()
    assert set(drawn[:, 5:].ravel()) == set(range(5, 30))
    again = RandomSubspaceLDA(PCA(30), n_base=5, n_sampled=7, n_estimators=40, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(again.subspaces_, drawn)
    np.testing.assert_array_equal(again.predict_proba(X[:9]), model.predict_proba(X[:9]))


@pytest.mark.parametrize(
    ("n_components", "parameters", "expected"),
    [
        (60, {}, (20, 20)),
        (7, {}, (3, 2)),
        (2, {}, (1, 1)),
        (1, {}, (1, 0)),
        (10, {"n_base": 4}, (4, 3)),
        (10, {"n_base": 10}, (10, 0)),
        (10, {"n_sampled": 8}, (2, 8)),
        (10, {"n_sampled": 10}, (0, 10)),
        (10, {"n_base": 0, "n_sampled": 3}, (0, 3)),
    ],
)
def test_sizes(n_components, parameters, expected):
    model = RandomSubspaceLDA(PCA(n_components), n_estimators=2, random_state=0, **parameters).fit(X, Y)
    assert (model.n_base_, model.n_sampled_) == expected


def test_sizes_of_the_paper():
    random = np.random.RandomState(0)
    model = RandomSubspaceLDA(n_estimators=1, random_state=0).fit(random.randn(450, 420), np.arange(450) % 10)
    assert (model.reducer_.n_components_, model.n_base_, model.n_sampled_) == (400, 50, 100)
    assert RandomSubspaceLDA().n_estimators == 20


def test_components_without_variance_are_left_out():
    """Copies and constants add components of rounding error, which would drown the rest."""
    wide = np.hstack([X, X, np.ones((len(X), 5))])
    model = RandomSubspaceLDA(n_estimators=8, random_state=0).fit(wide, Y)
    assert max(columns.max() for columns in model.subspaces_) < X.shape[1]
    plain = RandomSubspaceLDA(n_estimators=8, random_state=0).fit(X, Y)
    new = people(seed=0, n_images=8)[0] + 0.5
    np.testing.assert_array_equal(model.predict(np.hstack([new, new, np.ones((len(X), 5))])), plain.predict(new))


def test_few_samples():
    """More components than samples: the within-class scatter is singular."""
    model = RandomSubspaceLDA(n_base=10, n_sampled=8, random_state=0).fit(X[:20], Y[:20])
    assert model.score(X[:20], Y[:20]) == 1.0


def test_strangers_are_recognised_better_than_by_pca():
    random = np.random.RandomState(1)
    hidden = random.randn(60, 12) * 1.5  # what tells people apart, behind strong nuisance
    mixing = linalg.orth(random.randn(60, 60))
    faces = np.repeat(np.hstack([hidden, np.zeros((60, 48))]), 8, axis=0)
    images = (faces + random.randn(480, 60) * np.r_[np.full(12, 0.6), np.full(48, 3.0)]) @ mixing
    names = np.repeat(np.arange(60), 8)
    train, gallery = names < 40, np.arange(480) % 8 < 4
    model = RandomSubspaceLDA(random_state=0).fit(images[train], names[train])
    gallery, probe = gallery & ~train, ~gallery & ~train
    score = model.enroll(images[gallery], names[gallery]).score(images[probe], names[probe])
    distances = np.linalg.norm(images[probe][:, None] - images[gallery][None], axis=2)
    raw = np.mean(names[gallery][distances.argmin(axis=1)] == names[probe])
    assert score > raw + 0.2


def test_digits():
    assert cross_val_score(RandomSubspaceLDA(random_state=0), *load_digits(return_X_y=True), cv=3).min() > 0.93


def test_enroll_other_labels_and_one_person():
    model = RandomSubspaceLDA(random_state=0).fit(X[TRAIN], Y[TRAIN])
    before = model.predict(X[PROBE])
    names = np.array([f"person {label}" for label in Y])
    model.enroll(X[GALLERY], names[GALLERY])
    assert set(model.predict(X[PROBE])) <= set(names[GALLERY])
    assert list(model.enroll(X[:1], ["only"]).predict(X[PROBE])) == ["only"] * PROBE.sum()
    np.testing.assert_array_equal(model.enroll(X[TRAIN], Y[TRAIN]).predict(X[PROBE]), before)


def test_labels_are_only_names():
    """-1 is a class like others, also for a reducer that reads labels."""
    reducer = LPP(20, graph=SameClass(), pca=None)
    model = RandomSubspaceLDA(reducer, random_state=0)
    shifted = model.fit(X, Y - 1).predict(X + 0.1)
    np.testing.assert_array_equal(shifted, model.fit(X, Y).predict(X + 0.1) - 1)


CHECKED = [
    RandomSubspaceLDA(),
    RandomSubspaceLDA(LPP(1), n_estimators=3),
    RandomSubspaceLDA(PCA(1), n_base=1, n_sampled=0, n_estimators=1),
]


@pytest.mark.parametrize("estimator", CHECKED, ids=named)
def test_scikit_learn(estimator):
    check_estimator(estimator, on_skip=None)  # the first check that fails is in the traceback


def test_clone_pickle_and_frames():
    model = RandomSubspaceLDA(PCA(20), n_base=5, random_state=0)
    fitted = clone(model).fit(X, Y)
    assert repr(clone(fitted)) == repr(model)
    assert fitted.reducer is not fitted.reducer_
    assert not hasattr(fitted.reducer, "components_")
    assert clone(model).set_params(reducer__n_components=9).fit(X, Y).reducer_.n_components_ == 9
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    pytest.importorskip("pandas")
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(clone(model).fit(X, Y).predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_base": -1}, "n_base=-1"),
        ({"n_base": None}, "n_base=None"),
        ({"n_base": "all"}, "n_base='all'"),
        ({"n_sampled": 2.5}, "n_sampled=2.5"),
        ({"n_sampled": True}, "n_sampled=True"),
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"reducer": TSNE()}, r"reducer=TSNE\(\) must have fit and transform"),
        ({"reducer": 50}, "reducer=50 must have"),
        ({"n_base": 50, "n_sampled": 100}, "n_base=50 and n_sampled=100 need 150 components, but the reducer gives 60"),
        ({"n_base": 61}, "n_base=61 and n_sampled='auto' need 61"),
        ({"n_sampled": 61}, "n_base='auto' and n_sampled=61 need 61"),
        ({"n_base": 0, "n_sampled": 0}, "need 1 components"),
        ({"reducer": PCA(9), "n_base": 10}, "reducer gives 9"),
    ],
)
def test_bad_parameters(parameters, match):
    fitted = RandomSubspaceLDA(n_estimators=1).fit(X, Y).set_params(**parameters)
    for model in (RandomSubspaceLDA(**parameters), fitted):
        with pytest.raises(ValueError, match=match):
            model.fit(X, Y)
        for method in (model.predict, model.predict_proba):
            with pytest.raises(NotFittedError):
                method(X)
        with pytest.raises(NotFittedError):
            model.enroll(X, Y)


@pytest.mark.parametrize(
    ("X_bad", "y_bad", "match"),
    [
        (X, np.zeros(len(X)), "only one class"),
        (np.ones_like(X), Y, "X is constant"),
        (X, Y + 0.5, "[Uu]nknown label type|continuous"),
        (np.repeat(X[:3], 4, axis=0), np.repeat([0, 1, 2], 4), "no class varies"),
        (np.array([[0.0, 1], [1, 0], [0, 1], [1, 0]]), [0, 0, 1, 1], "same mean"),
        (X[:4], [0, 1, 2, 3], "no class varies"),
    ],
)
def test_bad_data(X_bad, y_bad, match):
    with pytest.raises(ValueError, match=match):
        RandomSubspaceLDA().fit(X_bad, y_bad)


def test_bad_gallery():
    model = RandomSubspaceLDA(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="expecting 60"):
        model.enroll(X[:, :5], Y)
    with pytest.raises(ValueError, match="inconsistent"):
        model.enroll(X, Y[:-1])
    assert model.score(X, Y) == 1.0
