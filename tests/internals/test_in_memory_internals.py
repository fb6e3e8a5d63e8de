"""Rows on disk, given to what needs all rows in memory, and things that hold no rows: each is refused in words."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lapwing.blocks import as_blocks
from lapwing.methods import METHODS

pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

X, y = make_blobs(120, 6, centers=3, random_state=0)
X = np.abs(X)
HELD = [name for name, method in METHODS.items() if not method._takes_blocks]


@pytest.fixture
def path(tmp_path):
    parquet.write_table(pa.table({f"x{i}": X[:, i] for i in range(6)}), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def rows(path):
    return dataset.dataset(path)


def test_some_methods_need_all_rows():
    assert {"LaplacianEigenmaps", "GLPCA", "TangentialMaps", "SpectralRegression", "TSA"} <= set(HELD)


@pytest.mark.parametrize("name", HELD)
def test_methods_that_need_all_rows_name_themselves_and_the_remedy(name, rows):
    for given, remedy in ((rows, r"X\.to_table\(\)\.to_pandas\(\)"), (as_blocks(rows), r"X\.load\(\)")):
        with pytest.raises(TypeError, match=f"^{name} needs all rows in memory.*pass {remedy}"):
            METHODS[name]().fit(given, y)
