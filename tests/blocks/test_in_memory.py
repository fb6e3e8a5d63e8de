"""Rows on disk, given to what needs all rows in memory, and things that hold no rows: each is refused in words."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier

import lapwing
from lapwing.clustering import NormalizedCut
from lapwing.comparison import compare
from lapwing.graphs import KNN, Repulsion
from lapwing.methods import METHODS
from lapwing.metrics import neighborhood_preservation
from lapwing.selection import SemiSupervised

pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

X, y = make_blobs(120, 6, centers=3, random_state=0)
X = np.abs(X)


@pytest.fixture
def path(tmp_path):
    parquet.write_table(pa.table({f"x{i}": X[:, i] for i in range(6)}), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


MODEL = lapwing.MMC(2).fit(X, y)
CALLS = {
    "compare": lambda R: compare(R, y, methods=["PCA"], dimensions=[1]),
    "stability": lambda R: lapwing.stability(MODEL, R, y),
    "loadings": lambda R: lapwing.loadings(MODEL, R, y),
    "NormalizedCut": lambda R: NormalizedCut(3).fit(R),
    "KNN": lambda R: KNN(5).build(R),
    "a comparison of neighbourhoods": lambda R: neighborhood_preservation(R, X),
    "a batch of partial_fit": lambda R: lapwing.MMC(2).partial_fit(R, y),
    "GLPCA": lambda R: lapwing.GLPCA(2).fit(X).transform(R),
    "taking some of the rows": lambda R: SemiSupervised(lapwing.LPP(2), KNeighborsClassifier(1)).fit(X, y).score(R, y),
}


@pytest.mark.parametrize("who", CALLS)
def test_functions_that_need_all_rows_name_themselves_and_the_remedy(who):
    array = pytest.importorskip("dask.array").from_array(X, chunks=(40, -1))
    remedy = r"dask array.*working_memory.*pass numpy\.asarray\(X\)"
    with (
        sklearn.config_context(working_memory=0.001),
        pytest.raises(TypeError, match=f"^{who} needs all rows in memory.*{remedy}"),
    ):
        CALLS[who](array)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, which dask uses
def test_dask_reads_parquet_in_blocks(path):
    """As the errors say."""
    frame = pytest.importorskip("dask.dataframe").read_parquet(str(path))
    rows = frame[[f"x{i}" for i in (3, 1, 2)]].to_dask_array(lengths=True)
    expected = lapwing.MMC(2).fit(X[:, [3, 1, 2]], y)
    np.testing.assert_allclose(lapwing.MMC(2).fit(rows, y).components_, expected.components_, atol=1e-9)


@pytest.mark.parametrize("who", [*CALLS, "LPP", "FisherScore", "TSA", "KernelLPP", "SemiSupervised"])
def test_what_holds_no_rows_is_refused_in_words(who, path):
    call = CALLS.get(who, lambda R: METHODS[who]().fit(R, y))
    if who == "SemiSupervised":
        call = SemiSupervised(lapwing.LPP(2), KNeighborsClassifier(1)).fit
        call = lambda R, fit=call: fit(R, y)  # noqa: E731
    for given, words in (
        (path, rf"pass lapwing\.tables\.read\('{path}'\)\.X, or, in blocks, dask\.dataframe\.read_parquet\('{path}'\)"),
        ("rows.csv", r"pass lapwing\.tables\.read\('rows\.csv'\)\.X$"),
        (parquet.ParquetFile(path), r"ParquetFile; pass pandas\.read_parquet.*dask\.dataframe\.read_parquet\(path\)"),
        (dataset.dataset(path), r"FileSystemDataset; pass pandas\.read_parquet.*dask\.dataframe\.read_parquet\(path\)"),
        ((row for row in X), "generator; pass an array"),
    ):
        with pytest.raises(TypeError, match=words):
            call(given)


def test_lazy_frames_and_groups(tmp_path):
    polars = pytest.importorskip("polars")
    zarr = pytest.importorskip("zarr")
    lazy, group = polars.DataFrame(X).lazy(), zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    for call in (lapwing.LPP(2).fit, lapwing.GLPCA(2).fit, lambda R: compare(R, y)):
        with pytest.raises(TypeError, match=r"LazyFrame.*pass X\.collect\(\)"):
            call(lazy)
        with pytest.raises(TypeError, match="zarr Group; pass an array of two dimensions"):
            call(group)


def test_arrays_below_the_working_memory_are_loaded():
    array = pytest.importorskip("dask.array").from_array(X, chunks=(40, -1))
    expected = lapwing.GLPCA(2).fit(X).embedding_
    np.testing.assert_allclose(lapwing.GLPCA(2).fit(array).embedding_, expected)


def test_zarr_arrays_are_loaded_where_rows_are_chosen(tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=X.shape, chunks=(40, 6), dtype="f8")
    stored[:] = X
    expected = lapwing.stability(MODEL, X, y, n_draws=3).angles
    np.testing.assert_array_equal(lapwing.stability(MODEL, stored, y, n_draws=3).angles, expected)


def test_tables_of_pyarrow_are_taken_where_rows_are_chosen():
    table = pa.table({f"x{i}": X[:, i] for i in range(6)})
    expected = lapwing.stability(MODEL, X, y, n_draws=3).angles
    np.testing.assert_allclose(lapwing.stability(MODEL, table, y, n_draws=3).angles, expected)
    assert lapwing.loadings(lapwing.MMC(2).fit(table, y), table, y).features[0] == "x0"


def test_semi_supervised_reads_blocks():
    rows = pytest.importorskip("dask.array").from_array(X, chunks=(40, -1))
    some = np.where(np.arange(120) % 3, y, -1)
    models = [SemiSupervised(lapwing.LPP(2, graph="semi"), KNeighborsClassifier(1)).fit(R, some) for R in (rows, X)]
    np.testing.assert_array_equal(models[0].predict(rows), models[1].predict(X))


def test_memory_maps_are_arrays_to_kernels(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = lapwing.KernelLDA().fit(X, y).transform(X)
    with sklearn.config_context(working_memory=0.001):
        np.testing.assert_allclose(lapwing.KernelLDA().fit(mapped, y).transform(X), expected, atol=1e-10)


def test_graphs_that_need_all_rows_name_their_parameter():
    rows = pytest.importorskip("dask.array").from_array(X, chunks=(40, -1))
    with sklearn.config_context(working_memory=0.001):
        with pytest.raises(
            ValueError, match=r"^penalty=ClosestPairs\(20\) of MFA cannot be built: .*penalty=Repulsion"
        ):
            lapwing.MFA(2).fit(rows, y)
        with pytest.raises(ValueError, match=r"^graph=LocalClass\(7\) of LFDA cannot be built: .*pass X as an array"):
            lapwing.LFDA(2).fit(rows, y)
    lapwing.MFA(2, penalty=Repulsion(60, queries=20_000)).fit(rows, y)
