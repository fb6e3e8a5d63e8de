"""Figures 6 to 8 of the Laplacian PCA paper: Scherk's surface unfolded, without and with a few points off it."""

from pathlib import Path

import numpy as np
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding

from lapwing import TangentialMaps
from lapwing.datasets import make_scherk
from lapwing.graphs import TangentAlignment
from lapwing.metrics import procrustes_error

PICTURE = Path("out/scherk.png")
N, K, SEEDS = 1200, 15, 20
METHODS = {
    "tangential maps, coding length": lambda: TangentialMaps(2, graph=K),
    "tangential maps, distance": lambda: TangentialMaps(2, graph=TangentAlignment(K, weights="distance")),
    "tangential maps, uniform (LTSA)": lambda: TangentialMaps(2, graph=TangentAlignment(K, weights="uniform")),
    "Isomap": lambda: Isomap(n_neighbors=K, n_components=2),
    "LLE": lambda: LocallyLinearEmbedding(n_neighbors=K, n_components=2, random_state=0),
    "Laplacian eigenmaps": lambda: SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=K, random_state=0),
}
NOISE = {
    "clean": {},
    "5 points off": {"n_outliers": 5},
    "10 points off": {"n_outliers": 10},
    "20 points off": {"n_outliers": 20},
    "Gaussian 0.02": {"noise": 0.02},
    "Gaussian 0.05": {"noise": 0.05},
}


def error(make, noise, seed):
    X, params = make_scherk(N, random_state=seed, **noise)
    on = slice(0, N - noise.get("n_outliers", 0))
    return procrustes_error(make().fit_transform(X)[on], params[on])


def table():
    print(f"Procrustes error of the parameters, median over {SEEDS} seeds; in brackets: seeds better than LTSA\n")
    print(f"{'':34}" + "".join(f"{name:>18}" for name in NOISE), flush=True)
    plain = {
        name: [error(METHODS["tangential maps, uniform (LTSA)"], noise, s) for s in range(SEEDS)]
        for name, noise in NOISE.items()
    }
    for method, make in METHODS.items():
        cells = []
        for name, noise in NOISE.items():
            found = np.array([error(make, noise, seed) for seed in range(SEEDS)])
            better = "" if "LTSA" in method else f" ({(found < plain[name]).sum()})"
            cells.append(f"{np.median(found):.3f}{better}")
        print(f"{method:34}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def picture():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [(name, NOISE[name]) for name in ("clean", "5 points off")]
    figure = plt.figure(figsize=(3 * (1 + len(METHODS)), 6.4), layout="constrained")
    for row, (name, noise) in enumerate(shown):
        X, params = make_scherk(N, random_state=0, **noise)
        on = np.arange(N) < N - noise.get("n_outliers", 0)
        colours = params[on, 0]
        axis = figure.add_subplot(2, 1 + len(METHODS), row * (1 + len(METHODS)) + 1, projection="3d")
        axis.scatter(*X[on].T, c=colours, s=3)
        axis.scatter(*X[~on].T, color="red", marker="x", s=40)
        axis.set_title(f"Scherk's surface, {name}", fontsize=9)
        for column, (method, make) in enumerate(METHODS.items(), start=2):
            Y = make().fit_transform(X)
            axis = figure.add_subplot(2, 1 + len(METHODS), row * (1 + len(METHODS)) + column)
            axis.scatter(*Y[on].T, c=colours, s=3)
            axis.scatter(*Y[~on].T, color="red", marker="x", s=40)
            axis.set_title(f"{method}\nerror {procrustes_error(Y[on], params[on]):.2f}", fontsize=9)
            axis.set_xticks([])
            axis.set_yticks([])
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=100)
    print(f"\nThe pictures are in {PICTURE}")


if __name__ == "__main__":
    picture()
    table()
