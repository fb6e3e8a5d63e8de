"""Parquet files in blocks: columns by name, labels among them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from rows_in_blocks import METHODS, NEAR, D, X_named, assert_alike, data, in_memory, parquet, several_files, table
from sklearn.base import clone

from lapwing import (
    LPP,
    MMC,
    LaplacianEigenmaps,
)
from lapwing.blocks import as_blocks

pytestmark = pytest.mark.usefixtures("small_blocks")


# Parquet.


def test_labels_are_a_column(tmp_path):
    X, y = data()
    expected = in_memory("MMC")
    for labels in (y, y.astype(float), y.astype(str)):
        (folder := tmp_path / str(labels.dtype)).mkdir()
        blocks = several_files(X, folder, label=labels)
        model = clone(METHODS["MMC"]).fit(blocks, y="label")
        assert_alike(expected, model)
        assert list(model.feature_names_in_) == [f"column {j}" for j in range(D)]
        np.testing.assert_allclose(model.transform(blocks), expected.transform(X), atol=1e-8)  # by name: no label
        np.testing.assert_allclose(clone(model).fit_transform(blocks, "label"), expected.transform(X), atol=1e-8)
    dictionary = pa.array(y.astype(str)).dictionary_encode()
    assert_alike(expected, clone(METHODS["MMC"]).fit(parquet(X, tmp_path, label=dictionary), "label"))
    assert_alike(in_memory("LPP"), clone(METHODS["LPP"]).fit(blocks, "label"))  # a graph that does not read it


def test_columns_are_read_by_name(tmp_path):
    X, y = data()
    model = clone(METHODS["MMC"]).fit(parquet(X, tmp_path), y)
    shuffled = table(X, more=y).select(["more", *[f"column {j}" for j in reversed(range(D))]])
    pq.write_table(shuffled, tmp_path / "new.parquet")
    np.testing.assert_allclose(model.transform(ds.dataset(tmp_path / "new.parquet")), model.transform(X_named(X)))
    pq.write_table(table(X[:, :-1]), tmp_path / "fewer.parquet")
    with pytest.raises(ValueError, match=r"no column 'column 5', which the model was fitted on"):
        model.transform(ds.dataset(tmp_path / "fewer.parquet"))


def test_columns_can_be_chosen(tmp_path):
    X, y = data()
    names = [f"column {j}" for j in (4, 1, 2)]
    rows = parquet(X, tmp_path, label=y, word=y.astype(str))
    chosen = as_blocks(rows, columns=names)
    for method, label in (("LPP", None), ("MMC", "label"), ("MMC", "word")):
        model = clone(METHODS[method]).fit(chosen, label)
        assert_alike(clone(METHODS[method]).fit(X[:, [4, 1, 2]], None if label is None else y), model)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(model.transform(rows), model.transform(chosen))
    with pytest.raises(ValueError, match=r"X has no column 'columns', .*columns= names; there are column 0"):
        as_blocks(rows, columns=["columns"])
    with pytest.raises(ValueError, match="X has no column 'labels', which y= names; there are column 0"):
        MMC(1).fit(chosen, "labels")
    with pytest.raises(
        ValueError, match=r"y='label' is one of the features; leave it out of them: lapwing.blocks.as_blocks\(X, col"
    ):
        MMC(1).fit(as_blocks(rows, columns=["column 0", "label"]), "label")


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_no_data_set(kind, tmp_path):
    X, _ = data()
    path = kind(tmp_path / "X.parquet")
    for method in (LPP(1), LaplacianEigenmaps(1)):
        with pytest.raises(TypeError, match=r"X is a .*; pass .*pyarrow\.dataset\.dataset\("):
            method.fit(path)
    with pytest.raises(TypeError, match=r"; pass lapwing\.tables\.read"):
        LPP(1).fit(X).transform(path)


def test_a_scanner_can_be_read_only_once(tmp_path):
    X, y = data()
    scanner = parquet(X, tmp_path, label=y).scanner(columns=["column 0", "column 1"])
    with pytest.raises(TypeError, match=r"pyarrow Scanner; pass .*as_blocks\(dataset, columns="):
        LPP(1).fit(scanner)


def test_columns_of_several_kinds(tmp_path):
    X, y = data()
    X[:, 0], X[:, 1] = np.round(X[:, 0]), X[:, 1] > 0
    columns = {"a": X[:, 0].astype(int), "b": X[:, 1].astype(bool), "c": X[:, 2].astype(np.float32), "d": X[:, 3]}
    pq.write_table(pa.table(columns), tmp_path / "X.parquet")
    blocks = as_blocks(ds.dataset(tmp_path / "X.parquet"))
    assert blocks.dtype == np.float64
    expected = np.column_stack([column.astype(float) for column in columns.values()])
    np.testing.assert_array_equal(blocks.load(), expected)
    assert_alike(MMC(2).fit(expected, y), MMC(2).fit(ds.dataset(tmp_path / "X.parquet"), y))


@pytest.mark.parametrize("values", [[1.0, None, 3.0], [1, None, 3], [True, None, False]], ids=["float", "int", "bool"])
def test_missing_values_in_parquet(values, tmp_path):
    column = pa.array([values[0]] * 700 + values)
    pq.write_table(pa.table({"a": np.arange(703.0), "b": column}), tmp_path / "X.parquet")
    with pytest.raises(ValueError, match=r"column 'b' of X has missing values \(the first in row 701\).*impute"):
        LPP(1, graph=NEAR).fit(ds.dataset(tmp_path / "X.parquet"))


def test_a_column_that_a_file_has_not(tmp_path):
    X, _ = data(50)
    pq.write_table(table(X), tmp_path / "0.parquet")
    pq.write_table(table(X[:, :-1]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"column 'column 5' of X has missing values \(the first in row 50\)"):
        LPP(1).fit(ds.dataset(tmp_path))


def test_columns_of_a_model_without_names_are_taken_in_order(tmp_path):
    X, y = data()
    model = MMC(2).fit(X, y)
    with pytest.warns(UserWarning, match="X has feature names, but MMC was fitted without"):
        Z = model.transform(parquet(X, tmp_path))
    np.testing.assert_allclose(Z, model.transform(X))


def test_parquet_that_is_refused(tmp_path):
    X, y = data()
    blocks = parquet(X, tmp_path, word=y.astype(str))
    with pytest.raises(ValueError, match=r"column 'word' of X is string, not numbers; name it as y"):
        LPP(1, graph=NEAR).fit(blocks)
    with pytest.raises(ValueError, match=r"X has no column 'labels', which y= names; there are column 0"):
        MMC(1).fit(parquet(X, tmp_path), y="labels")
    missing = pa.array([None if label == -1 else str(label) for label in y])
    with pytest.raises(ValueError, match=r"y contains NaN.*mark unknown labels by -1"):
        MMC(1).fit(parquet(X, tmp_path, label=missing), y="label")
    pq.write_table(table(X[:0]), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=r"X has 0 samples, but 2"):
        LPP(1).fit(ds.dataset(tmp_path / "empty.parquet"))
    pq.write_table(pa.table({"label": y}), tmp_path / "label.parquet")
    with pytest.raises(ValueError, match=r"X has 0 features"):
        MMC(1).fit(ds.dataset(tmp_path / "label.parquet"), "label")
