"""Every fit carries its proof; ``verify`` fits again, and finds out what was changed."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import lapwing
from lapwing import (
    LPP,
    OLPP,
    LaplacianEigenmaps,
)
from lapwing.reducers import _free, _projecting
from lapwing.solvers import Certificate, CertificateWarning

DIGITS = load_digits()
X, Y = DIGITS.data[:120, ::2], DIGITS.target[:120] % 3


# A poor answer


def spoilt(solve, amount):
    def poor(*args, **options):
        found = solve(*args, **options)
        noise = np.random.RandomState(0).standard_normal(found.vectors.shape)
        return found._replace(vectors=found.vectors + amount * np.linalg.norm(found.vectors) * noise)

    return poor


@pytest.mark.parametrize(("dtype", "quiet", "loud"), [(np.float64, 1e-9, 1e-4), (np.float32, 1e-6, 1e-2)])
@pytest.mark.parametrize(("method", "room"), [(LPP, _projecting), (OLPP, _projecting), (LaplacianEigenmaps, _free)])
def test_a_poor_answer_warns_and_a_good_one_does_not(method, room, dtype, quiet, loud, monkeypatch):
    solve = room.solve
    monkeypatch.setattr(room, "solve", spoilt(solve, quiet))
    assert method(2).fit(X.astype(dtype)).certificate_.holds
    monkeypatch.setattr(room, "solve", spoilt(solve, loud))
    with pytest.warns(
        CertificateWarning, match=rf"{method.__name__} solved its problem less well than to .*residual"
    ) as said:
        model = method(2).fit(X.astype(dtype))
    assert not model.certificate_.holds
    assert said[0].filename == __file__
    assert lapwing.CertificateWarning is CertificateWarning
    assert lapwing.Certificate is Certificate
