"""Estimators on tensors: the map of the CPU, attributes where X is, and clear errors."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers import each
from limits import no_forms_of_tensors
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import lapwing
from lapwing import (
    DNE,
    GLPCA,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    TSA,
    FisherScore,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    LaplacianScore,
    RobustGLPCA,
    TangentialMaps,
)
from lapwing.graphs import KNN, OtherClass, Repulsion, SameClass

torch = pytest.importorskip("torch")
DIGITS, LABELS = (part[:700] for part in load_digits(return_X_y=True))
DIGITS = DIGITS + 0.1 * np.random.RandomState(0).rand(*DIGITS.shape)
LINEAR = [
    LPP(5),
    LPP(5, graph=KNN(7, metric="cosine")),
    LPP(5, graph=KNN(7, symmetry="and")),
    LPP(5, graph=KNN(5, symmetry="mean")),
    LPP(5, graph=KNN(5, weights="cosine")),
    LPP(5, graph=KNN(5, among="same_class")),
    LPP(5, graph="supervised"),
    LPP(5, graph="semi"),
    LPP(5, graph=KNN(7) - 0.2 * Repulsion(15)),
    LPP(5, standardize=True),
    LPP(4, graph=KNN(5, queries=300)),
    LPP(5, penalty=10),
    OLPP(5),
    NPE(5),
    ONPP(5),
    MMC(5),
    LPDP(5),
    MFA(5),
    DNE(5),
    LPCA(5),
]
OTHERS = [
    KernelLPP(5, landmarks=100, random_state=0),
    KernelLPP(5, landmarks=100, random_state=0, kernel="laplacian", graph="supervised"),
    KernelNPE(5, landmarks=100, random_state=0, kernel="poly", standardize=True),
    LaplacianScore(5),
    LaplacianScore(5, graph=SameClass()),
    FisherScore(5),
    TSA((2, 2), image_shape=(8, 8)),
    LaplacianEigenmaps(2),
    GLPCA(3),
]
NOT_THERE = [KernelLPP(3), TangentialMaps(2), LPI(3), RobustGLPCA(3)]


def name(model):
    return " ".join(repr(model).split())


@each("dtype", [np.float32, np.float64])
@each("model", LINEAR)
def test_linear_maps_are_those_of_the_cpu(model, dtype, there):
    X = DIGITS.astype(dtype)
    here = model.fit(X, LABELS)
    A, Z = here.components_, here.transform(X)
    T = there(X)
    on_device = model.fit(T, there(LABELS))
    assert on_device.components_.device == T.device
    assert on_device.components_.dtype == T.dtype
    W = on_device.transform(T)
    assert (W.device, W.dtype) == (T.device, T.dtype)
    B = lapwing.to_numpy(on_device).components_
    assert subspace_angles(A.T.astype(float), B.T.astype(float)).max() < 1e-5
    np.testing.assert_allclose(W.cpu().numpy(), Z, atol=(1e-4 if dtype is np.float32 else 1e-8) * np.abs(Z).max())
    back = on_device.inverse_transform(W)
    assert (back.device, back.shape) == (T.device, T.shape)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_far_rows_of_single_precision_are_divided_in_double(offset, there):
    """As those of NumPy are: float32 would round them once more."""
    X = (offset + np.random.RandomState(0).randn(600, 20) * np.geomspace(1, 0.01, 20)).astype(np.float32)
    here, on_device = LPP(3, standardize=True).fit(X), lapwing.to_numpy(LPP(3, standardize=True).fit(there(X)))
    assert here.components_.dtype == on_device.components_.dtype == np.float32
    assert subspace_angles(here.components_.T.astype(float), on_device.components_.T.astype(float)).max() < 1e-5


@pytest.mark.parametrize("model", OTHERS, ids=name)
def test_other_maps_are_those_of_the_cpu(model, there):
    here = model.fit(DIGITS, LABELS)
    attributes = {key: value for key, value in vars(here).items() if key.endswith("_") and hasattr(value, "dtype")}
    Z = here.transform(DIGITS)
    T = there(DIGITS)
    W = model.fit(T, there(LABELS)).transform(T)
    assert W.device == T.device
    np.testing.assert_allclose(W.cpu().numpy(), Z, atol=1e-6 * np.abs(Z).max())
    found = vars(lapwing.to_numpy(model))
    for key, value in attributes.items():
        assert torch.is_tensor(getattr(model, key)), key
        assert found[key].dtype == value.dtype, key


@pytest.mark.parametrize("kind", ["tensor", "whole numbers", "words"])
@pytest.mark.parametrize("graph", [SameClass(), SameClass(balance=True), SameClass() - 0.1 * OtherClass()])
def test_class_graphs_read_sums_over_classes_alone(graph, kind, there, monkeypatch):
    """Rows of a class are summed up where they are; unknown labels and rows far from the origin included."""
    X, y = 1e3 + DIGITS, np.where(np.arange(len(LABELS)) % 5, LABELS, -1)
    expected = LPP(4, graph=graph).fit(X, y)
    no_forms_of_tensors(monkeypatch)
    labels = {"tensor": there(y), "whole numbers": y, "words": y.astype(str)}[kind]
    found = lapwing.to_numpy(LPP(4, graph=graph).fit(there(X), labels))
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9 * np.abs(expected.components_).max())
    np.testing.assert_allclose(found.mean_, expected.mean_, rtol=1e-12)


@pytest.mark.parametrize("model", NOT_THERE, ids=name)
def test_others_say_why_not(model, there):
    assert not get_tags(model).array_api_support
    with pytest.raises(TypeError, match=r"takes NumPy arrays, and X is an array of torch"):
        model.fit(there(DIGITS))


def test_two_fits_are_equal_to_the_last_bit(there):
    X = there(np.random.RandomState(0).randn(4200, 20).astype(np.float32))
    first, second = (LPP(3).fit(X).components_ for _ in range(2))
    assert first.equal(second)


def test_kernels_of_rows_far_from_the_origin(there):
    X = 1e6 + DIGITS
    model = KernelLPP(3, landmarks=100, random_state=0, gamma=1e-3)
    Z = model.fit(X).transform(X)
    np.testing.assert_allclose(model.fit(there(X)).transform(there(X)).cpu().numpy(), Z, atol=1e-5 * np.abs(Z).max())


@pytest.mark.parametrize("shortest", [1.0, 1e-5])
def test_fewer_rows_than_columns(shortest, there):
    X = np.random.RandomState(0).randn(60, 200) * np.geomspace(1, shortest, 200)
    here, on_device = LPP(3, pca=None).fit(X), LPP(3, pca=None).fit(there(X))
    B = lapwing.to_numpy(on_device).components_
    assert subspace_angles(here.components_.T, B.T).max() < 1e-5


def test_a_model_takes_rows_of_its_own_device(there):
    model = LPP(2).fit(there(DIGITS))
    with pytest.raises(ValueError, match=r"was fitted on torch on .*, and X is not on a device"):
        model.transform(DIGITS)
    assert isinstance(lapwing.to_numpy(model).transform(DIGITS), np.ndarray)


def test_what_is_wrong_with_x(there):
    X = there(DIGITS)
    with pytest.raises(ValueError, match="NaN or infinity"):
        LPP(2).fit(torch.where(X > 5, torch.nan, X))
    for bad in (torch.nan, torch.inf):
        with pytest.raises(ValueError, match="NaN or infinity"):
            LPP(2).fit(X).transform(torch.where(X > 15, bad, X))
    with pytest.raises(ValueError, match="64 features"):
        LPP(2).fit(X).transform(X[:, :5])
    with pytest.raises(ValueError, match="Expected 2D array"):
        LPP(2).fit(X[0])
    with pytest.raises(TypeError, match="sparse tensor"):
        LPP(2).fit(X.to_sparse())


def test_what_tensors_do_not_do(there):
    X, y = there(DIGITS), there(LABELS)
    with pytest.raises(TypeError, match="partial_fit takes NumPy and SciPy arrays"):
        MMC(2).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight does not act on .*rows in NumPy arrays"):
        MMC(2).fit(X, y, sample_weight=np.ones(len(DIGITS)))


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
def test_projections_of_rows_far_from_the_origin(offset, there):
    """One product where that is precise; rows are moved first where the mean is far."""
    X = (offset + np.random.RandomState(0).randn(3000, 20)).astype(np.float32)
    model = LPP(3, pca=None).fit(X)
    exact = (X - model.mean_.astype(float)) @ model.components_.T.astype(float)
    found = LPP(3, pca=None).fit(there(X)).transform(there(X)).cpu().numpy()
    np.testing.assert_allclose(np.abs(found), np.abs(exact), atol=1e-3 if offset < 100 else 1e-1)


@pytest.mark.parametrize("factor", [1.0, 5.0, 1e3])
def test_a_row_far_from_all_others_keeps_faint_links(factor, there):
    X = np.random.RandomState(0).standard_normal((900, 40))
    X[5] = factor * (1 + X[5])
    (found,), (expected,) = KNN(5).build(there(X)), KNN(5).build(X)
    np.testing.assert_allclose(found.degrees.diagonal(), expected.degrees.diagonal(), rtol=1e-9)
    with pytest.raises(ValueError, match="gives weight 0 to all edges of 900 samples"):
        KNN(5, t=1e-9).build(there(X))


def test_connected_components_are_counted_there(there):
    X = np.random.RandomState(0).standard_normal((600, 20))
    X[200:] += 100
    X[500:] -= 1000
    assert LPP(2).fit(there(X)).n_connected_components_ == LPP(2).fit(X).n_connected_components_ == 3


def test_files_hold_arrays_of_numpy(there, tmp_path):
    """A model on a device, alone or in a pipeline, is read back with arrays of NumPy."""
    pytest.importorskip("skops")
    X = there(DIGITS)
    model = LPP(3).fit(X)
    Z = model.transform(X).cpu().numpy()
    for saved in (model, make_pipeline(model)):
        lapwing.save(saved, tmp_path / "model.lapwing")
        read = lapwing.load(tmp_path / "model.lapwing")
        np.testing.assert_allclose(read.transform(DIGITS), Z, atol=1e-9)


class Foreign:
    """An array of another library: nothing but the protocol, a shape, and what makes such arrays."""

    def __init__(self, array):
        self.array = np.array(array)

    shape, ndim = property(lambda self: self.array.shape), property(lambda self: self.array.ndim)

    def __getitem__(self, key):
        return Foreign(self.array[key])

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self):
        return sys.modules[__name__]


def from_dlpack(array):
    return Foreign(np.from_dlpack(array))


def test_arrays_of_other_libraries():
    model = LPP(3).fit(Foreign(DIGITS))
    assert isinstance(model.components_, Foreign)
    Z = model.transform(Foreign(DIGITS))
    assert isinstance(Z, Foreign)
    expected = LPP(3).fit(DIGITS)
    np.testing.assert_allclose(Z.array, expected.transform(DIGITS), atol=1e-9)
    assert isinstance(lapwing.to_numpy(model).components_, np.ndarray)
    with pytest.raises(ValueError, match="was fitted on"):
        expected.fit(torch.from_numpy(DIGITS)).transform(Foreign(DIGITS))


@pytest.mark.parametrize("kind", [np.asarray, Foreign, torch.from_numpy])
def test_blocks_of_a_dask_array_are_searched_on_a_device(kind):
    """By the same code as whole arrays; blocks may be arrays of other libraries."""
    da = pytest.importorskip("dask.array")
    X = da.from_array(DIGITS, chunks=(200, 64))
    there = X.map_blocks(kind, dtype=X.dtype, meta=np.empty((0, 0)))
    A = LPP(3, graph=KNN(7, queries=300, search="torch")).fit(there)
    B = LPP(3, graph=KNN(7, queries=300)).fit(X)
    np.testing.assert_allclose(A.components_, B.components_, atol=1e-9)


ARRAY_API = """
import sys
import warnings
import torch
from sklearn.utils import get_tags
from sklearn.utils import estimator_checks as checks
import lapwing.methods as methods
device = sys.argv[1]
declared = []
for name in sorted(methods.__all__):
    made = getattr(methods, name)
    if not (isinstance(made, type) and hasattr(made, "fit")):
        continue
    needed = {"landmarks": 20} if name.startswith("Kernel") else {"image_shape": (2, 5)} if name == "TSA" else {}
    model = made(**needed)
    if not get_tags(model).array_api_support:
        continue
    declared.append(name)
    for dtype in ("float32", "float64") if name == "LPP" else ("float64",):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checks.check_array_api_input(
                name, model, array_namespace="torch", device_name=device, dtype_name=dtype, check_values=dtype == "float64"
            )
print(*declared)
"""


def test_array_api_dispatch():
    """scikit-learn's own check, of each class that declares the tag; it asks for an environment of its own."""
    run = subprocess.run(
        [sys.executable, "-c", ARRAY_API, os.environ.get("LAPWING_DEVICE", "cpu")],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert {"LPP", "MMC", "NPE", "KernelLPP", "LaplacianScore", "FisherScore", "GLPCA"} <= set(run.stdout.split())
    assert not {"LPI", "TangentialMaps", "RobustGLPCA"} & set(run.stdout.split())
