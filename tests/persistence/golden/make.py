"""Writes golden model files: ``python tests/persistence/golden/make.py``.

One that exists is never written again, since it stands for the files that users have; a later version gets files of its own.
"""

import json
from pathlib import Path

import numpy as np

from lapwing import LPI, LPP, TSA, KernelLPP, LaplacianEigenmaps, LaplacianScore, __version__, save
from lapwing.graphs import KNN, Repulsion, SameClass

FOLDER = Path(__file__).parent
MODELS = {
    "lpp": LPP(2, graph=KNN(3) - 0.2 * Repulsion(9)),
    "supervised": LPP(1, graph=KNN(3) & SameClass(), standardize=True),
    "kernel_landmarks": KernelLPP(2, graph=3, landmarks=8, random_state=0, gamma=0.1),
    "laplacian_eigenmaps": LaplacianEigenmaps(2, graph=4),
    "tsa": TSA((2, 1), graph=3, image_shape=(2, 2), flatten=True),
    "laplacian_score": LaplacianScore(2, graph=3),
    "lpi": LPI(2, graph=3),
}


def make(name):
    """The model, and what it makes of new rows, in text that no version of anything will fail to read."""
    rng = np.random.RandomState(0)
    X, y, new = rng.standard_normal((16, 4)) + 5, np.arange(16) % 2, rng.standard_normal((5, 4)) + 5
    model = MODELS[name].fit(X, y)
    save(model, FOLDER / f"{name}.{__version__}.lapwing")
    expected = {"X": new.tolist(), "Y": model.transform(new).tolist(), "repr": repr(model)}
    (FOLDER / f"{name}.{__version__}.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    for name in MODELS:
        if not (FOLDER / f"{name}.{__version__}.lapwing").exists():
            make(name)
