"""Local and kernel discriminant analysis: definitions in the letters of their papers, identities, and what is refused."""

import numpy as np
import oracles as o
import pytest
from helpers import literal
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import lapwing
from lapwing import LFDA, LSDA, KernelLDA, KernelLFDA
from lapwing.data import as_data
from lapwing.graphs import KNN, Complete, LocalClass, OtherClass, Reconstruction, SameClass

X, Y = o.blobs(60, 7)
Y = np.where((Y == 2) & (np.arange(60) % 3 > 0), 0, Y)  # classes of unequal size
NEW = o.blobs(15, 7, seed=3)[0]


def scatter(W, X):
    """Half the sum of W_ij (x_i - x_j)(x_i - x_j)ᵀ, as it is printed."""
    return 0.5 * sum(W[i, j] * np.outer(X[i] - X[j], X[i] - X[j]) for i in range(len(X)) for j in range(len(X)))


def local_scatters(X, y, k=7):
    """Sugiyama (2007), eq. 9 to 12."""
    n, A = len(X), o.affinity(X, y, k)
    sizes = {label: list(y).count(label) for label in set(y)}
    within = o.by_pairs(n, lambda i, j: A[i, j] / sizes[y[i]] if y[i] == y[j] else 0)
    between = o.by_pairs(n, lambda i, j: A[i, j] * (1 / n - 1 / sizes[y[i]]) if y[i] == y[j] else 1 / n)
    return scatter(within, X), scatter(between, X)


@pytest.mark.parametrize("k", [3, 7])
def test_local_fisher_is_the_ratio_of_its_paper(k):
    """Which it maximises: largest eigenvalues of S_lb v = lambda S_lw v, and not those of a constraint."""
    S_w, S_b = local_scatters(X, Y, k)
    values, V = eigh(S_b, S_w)
    model = literal(LFDA, 4, graph=k).fit(X, Y)
    assert o.angle(model.components_, V[:, ::-1][:, :4].T) < 1e-7
    assert_allclose(1 / model.eigenvalues_ - 1, values[::-1][:4], rtol=1e-9)


def test_local_fisher_of_whole_classes_is_discriminant_analysis():
    lda = LinearDiscriminantAnalysis(solver="svd").fit(X, Y)
    model = literal(LFDA, 2, graph=SameClass()).fit(X, Y)
    assert o.angle(model.components_, lda.scalings_.T) < 1e-7


def test_local_fisher_keeps_the_clusters_of_a_class():
    """Sugiyama's figure 1: two clusters of one class on both sides of another class, which discriminant analysis mixes up."""
    rng = np.random.RandomState(0)
    centres = np.repeat([[-5.0, 0.0], [5.0, 0.0], [0.0, 0.0]], 30, axis=0)
    data, classes = centres + rng.standard_normal((90, 2)) * [0.6, 3.0], np.repeat([0, 0, 1], 30)
    nearest = KNeighborsClassifier(1)
    scores = {
        name: cross_val_score(make_pipeline(literal(LFDA, 1, graph=graph), nearest), data, classes).mean()
        for name, graph in {"local": None, "whole": SameClass()}.items()
    }
    assert scores["local"] > 0.95
    assert scores["whole"] < scores["local"] - 0.08


def test_copies_of_rows_have_no_scale():
    """More copies of a row than k: they are linked to one another alone, as in the limit of rows that come together."""
    rows = np.repeat([[0.0, 1.0], [4.0, 0.0], [9.0, 9.0]], 3, axis=0)
    W = LocalClass(2).adjacency(as_data(rows, [0] * 6 + [1] * 3)).toarray()
    expected = np.kron(np.eye(3), np.ones((3, 3)) - np.eye(3)) / np.repeat([6, 6, 3], 3)[:, None]
    assert_allclose(W, expected, atol=1e-12)


@pytest.mark.parametrize("graph", [KNN(5), Complete()], ids=repr)
def test_local_fisher_refuses_links_across_classes(graph):
    with pytest.raises(ValueError, match="links samples of different classes"):
        LFDA(2, graph=graph).fit(X, Y)
    LFDA(2, graph=graph & LocalClass(7)).fit(X, Y)


@pytest.mark.parametrize("graph", ["supervised", SameClass() + (KNN(5, queries=40) & SameClass())], ids=repr)
def test_local_fisher_of_rows_in_blocks(graph):
    """Rows of a class that is added up stand for all of its samples."""
    dask = pytest.importorskip("dask.array")
    blocks = dask.from_array(X, chunks=(17, 7))
    models = [LFDA(2, graph=graph, ridge=0.1, normalize=None).fit(rows, Y).components_ for rows in (X, blocks)]
    assert o.angle(*models) < 1e-8


@pytest.mark.parametrize("alpha", [1.0, -0.1, np.nan, "half", True])
def test_locality_sensitive_alpha(alpha):
    with pytest.raises(ValueError, match="alpha="):
        LSDA(2, alpha=alpha).fit(X, Y)


@pytest.mark.parametrize("graph", [Complete(), "supervised", KNN(4) + OtherClass(), Reconstruction(4)], ids=str)
def test_graphs_that_have_no_links_to_split_are_named(graph):
    with pytest.raises(ValueError, match=r"\w+\(.*\) & SameClass\(\): neither graph is sparse.*such as KNN"):
        LSDA(2, graph=graph).fit(X, Y)


def test_locality_sensitive_is_the_maximum_of_its_paper():
    """Cai et al. (2007), eq. 10 and 12: the largest of X (alpha L_b + (1 - alpha) W_w) Xᵀ a = lambda X D_w Xᵀ a."""
    W = o.knn_weights(X, Y, 5, "binary")
    same = Y[:, None] == Y
    W_w, (L_b, _) = np.where(same, W, 0), o.laplacian(np.where(same, 0, W))
    D = np.diag(W_w.sum(axis=1))
    Xc = X - np.diag(D) @ X / np.trace(D)
    values, V = eigh(Xc.T @ (0.3 * L_b + 0.7 * W_w) @ Xc, Xc.T @ D @ Xc)
    model = literal(LSDA, 3, alpha=0.3).fit(X, Y)
    assert o.angle(model.components_, V[:, ::-1][:, :3].T) < 1e-7
    assert_allclose(0.7 - model.eigenvalues_, values[::-1][:3], rtol=1e-9)


# Kernels


def test_kernel_discriminant_analysis_is_its_definition():
    """Baudat and Anouar (2000), eq. 2.10: K W K a = lambda K K a for the centred K."""
    K = polynomial_kernel(X, degree=2, gamma=0.1)
    H = np.eye(60) - 1 / 60
    Kc = H @ K @ H
    W = o.same_class_weights(Y)
    values, vectors = np.linalg.eigh(Kc)
    U = vectors[:, values > 1e-9 * values[-1]]
    expected, a = eigh(U.T @ Kc @ W @ Kc @ U, U.T @ Kc @ Kc @ U)
    model = literal(KernelLDA, 2, kernel="poly", degree=2, gamma=0.1).fit(X, Y)
    assert model.rank_ == U.shape[1] < 59
    assert_allclose(1 - model.eigenvalues_, expected[::-1][:2], rtol=1e-6)
    assert subspace_angles(model.transform(X), Kc @ U @ a[:, ::-1][:, :2]).max() < 1e-4


def test_kernel_discriminant_analysis_is_kernel_pca_and_discriminant_analysis():
    """By scikit-learn, on new rows as well."""
    options = {"kernel": "poly", "degree": 2, "gamma": 0.1}
    features = KernelPCA(None, **options, coef0=1, eigen_solver="dense", remove_zero_eig=True).fit(X)
    kept = features.eigenvalues_ > 1e-9 * features.eigenvalues_[0]
    lda = LinearDiscriminantAnalysis(solver="svd", tol=1e-9).fit(features.transform(X)[:, kept], Y)
    model = literal(KernelLDA, 2, **options).fit(X, Y)
    ours, theirs = (Z - Z.mean(axis=0) for Z in (model.transform(NEW), lda.transform(features.transform(NEW)[:, kept])))
    assert subspace_angles(ours, theirs).max() < 1e-4


def test_kernel_discriminant_analysis_by_default():
    """It has as many components as classes tell apart, and holds on new rows of a ring around a disc."""
    assert KernelLDA().fit(X, Y).transform(NEW).shape == (15, 2)
    rng = np.random.RandomState(0)
    radius, angle, classes = np.repeat([1.0, 3.0], 100), rng.uniform(0, 6.28, 200), np.repeat([0, 1], 100)
    rings = (radius + 0.3 * rng.standard_normal(200))[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    assert cross_val_score(make_pipeline(KernelLDA(), KNeighborsClassifier(1)), rings, classes).min() > 0.97


@pytest.mark.parametrize("ridge", [0.03, 1.0])
def test_features_of_a_linear_kernel_are_the_columns(ridge):
    """The columns as features are the kernel of their inner products, also where a transformer makes them of sparse rows."""
    for columns in (FunctionTransformer(), FunctionTransformer(sparse.csr_array.toarray)):
        rows = X if columns.func is None else sparse.csr_array(X)
        ours = KernelLDA(features=columns, ridge=ridge, standardize=False).fit(rows, Y)
        theirs = KernelLDA(kernel="linear", ridge=ridge, standardize=False).fit(X, Y)
        assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
        new = NEW if columns.func is None else sparse.csr_array(NEW)
        assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(NEW)), atol=1e-8)


def test_features_of_nystroem_are_landmarks():
    options = {"random_state": 0, "standardize": False, "center": "mean"}
    theirs = KernelLDA(landmarks=20, gamma=0.02, **options).fit(X, Y)
    ours = KernelLDA(features=Nystroem(gamma=0.02, n_components=20, random_state=0), **options).fit(X, Y)
    assert_allclose(np.abs(ours.transform(NEW)), np.abs(theirs.transform(NEW)), atol=1e-8)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gamma": 0.1}, r"features=RBFSampler\(random_state=0\) takes their place"),
        ({"kernel": "precomputed"}, "leave kernel=, gamma= and landmarks= out"),
        ({"landmarks": 5}, "and landmarks= out"),
    ],
)
def test_parameters_of_a_kernel_stand_in_its_features(given, said):
    with pytest.raises(ValueError, match=said):
        KernelLDA(features=RBFSampler(random_state=0), **given).fit(X, Y)


def test_features_of_a_kernel_elsewhere():
    model = KernelLDA(features=RBFSampler(gamma=0.02, n_components=50, random_state=0)).fit(X, Y)
    assert lapwing.verify(model, X, Y).holds
    with pytest.raises(TypeError, match=r"KernelLDA has features=RBFSampler.*cannot write"):
        lapwing.to_onnx(model)
    with pytest.raises(ValueError, match="no matrix of directions"):
        lapwing.loadings(model)


def test_kernel_local_fisher_is_its_definition():
    """Sugiyama (2007), section 3.4: K L_lb K a = lambda K L_lw K a, here with the sum of both on the right."""
    K = rbf_kernel(X, gamma=0.02)
    H = np.eye(60) - 1 / 60
    values, vectors = np.linalg.eigh(H @ K @ H)
    F = vectors[:, -5:] * np.sqrt(values[-5:])  # features of the kernel, truncated
    (L_w, _), (L_m, _) = o.local_within(X, Y), o.local_mixture(X, Y)
    expected, V = eigh(F.T @ (L_m - L_w) @ F, F.T @ L_w @ F)
    model = literal(KernelLFDA, 3, gamma=0.02, pca=5).fit(X, Y)
    assert_allclose(1 / model.eigenvalues_ - 1, expected[::-1][:3], rtol=1e-7)
    assert subspace_angles(model.transform(X), F @ V[:, ::-1][:, :3]).max() < 1e-7


def test_kernel_local_fisher_of_a_linear_kernel():
    linear = literal(LFDA, 3, scaling="unit").fit(X, Y)
    kernel = literal(KernelLFDA, 3, kernel="linear", scaling="unit").fit(X, Y)
    given = literal(KernelLFDA, 3, kernel="precomputed", scaling="unit").fit(X @ X.T, Y)
    for ours in (kernel.transform(NEW), given.transform(NEW @ X.T)):
        assert_allclose(np.abs(ours), np.abs(linear.transform(NEW)), atol=1e-6)


def test_they_hold_on_new_rows():
    data, classes = load_iris(return_X_y=True)
    for model in (LFDA(2), LSDA(2), KernelLDA(), KernelLFDA(2)):
        assert cross_val_score(make_pipeline(model, KNeighborsClassifier(1)), data, classes).mean() > 0.93
