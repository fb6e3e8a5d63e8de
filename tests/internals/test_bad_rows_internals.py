"""Rows in blocks that are no rows: what is wrong is named, and no model is left."""

import numpy as np
import pytest
from rows_in_blocks import data, in_memory

from lapwing import (
    MMC,
)
from lapwing.blocks._arrays import ArrayBlocks


def test_numbers_so_large_that_their_sum_overflows_are_numbers(tmp_path):
    X = np.full((100, 3), 1e308)
    np.testing.assert_array_equal(ArrayBlocks(X).load(), X)


class Restless(ArrayBlocks):
    """Rows that come and go."""

    def __init__(self, array, more):
        super().__init__(array)
        self._more = more

    def _read(self):
        yield np.array(self._array[: self.shape[0] + min(self._more, 0)])
        if self._more > 0:
            yield np.array(self._array[: self._more])


@pytest.mark.parametrize("more", [-3, 3])
def test_rows_that_change_while_they_are_read(more):
    X, y = data()
    with pytest.raises(ValueError, match=r"not the 1,000 rows it had at first; was it changed"):
        MMC(2).fit(Restless(X, more), y)
    with pytest.raises(ValueError, match="was it changed"):
        in_memory("MMC").transform(Restless(X, more))


class Ragged(ArrayBlocks):
    def _read(self):
        yield np.array(self._array[:500])
        yield np.array(self._array[500:, :4])


def test_blocks_of_another_width_are_named():
    X, y = data()
    with pytest.raises(ValueError, match=r"block 1 of X \(from row 500\) has shape \(500, 4\), but X has 6 columns"):
        MMC(2).fit(Ragged(X), y)
