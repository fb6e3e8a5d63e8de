"""What pca="auto" and ridge="auto" stand for, and the tolerances and tie-breaks that nothing else would notice."""

import numpy as np
import pytest

from lapwing.solvers import fix_signs


@pytest.mark.parametrize("nearly", [1.0, 1 + 1e-9, 1 - 1e-9])
def test_first_of_equal_entries_is_positive(nearly):
    """Rounding must not decide a sign."""
    np.testing.assert_array_equal(fix_signs(np.array([[0.1, -1.0, nearly]])), [[-0.1, 1.0, -nearly]])
