"""Figures of the Laplacian PCA paper, by its toy data."""

import numpy as np
import oracles as o
import pytest
from helpers import literal
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.manifold import LocallyLinearEmbedding

from lapwing import LPCA, TangentialMaps
from lapwing.data import as_data
from lapwing.graphs import CodingLength, TangentAlignment
from lapwing.metrics import procrustes_error
from lapwing_papers.datasets import make_patch, make_perturbed_line, make_scherk


def test_figure_1():
    """One or two points moved far off turn PCA's first direction, and LPCA's by much less."""
    for n_perturbed in (1, 2):
        turned = np.empty((20, 2))
        for seed in range(20):
            S, direction = make_perturbed_line(n_perturbed=n_perturbed, random_state=seed)
            axes = PCA(1).fit(S).components_, literal(LPCA, 1, graph=5).fit(S).components_
            turned[seed] = [np.degrees(o.angle(axis, direction[None])) for axis in axes]
        pca, lpca = np.median(turned, axis=0)
        assert pca > 8
        assert lpca < 4
        assert (turned[:, 1] < turned[:, 0]).mean() >= 0.9


def test_figure_2():
    """Coding length keeps the ends of the line and drops the stray point; distances drop the ends."""
    S, stray = make_patch()
    weights = {
        name: CodingLength(5, weights=name).patches(as_data(S)).weights[2] for name in ("coding_length", "distance")
    }
    rows = CodingLength(5).patches(as_data(S)).rows[2]
    by_row = {name: w[np.argsort(rows)] for name, w in weights.items()}
    line = np.delete(np.arange(6), stray)
    coding, distance = by_row["coding_length"], by_row["distance"]
    assert coding[stray] < 0.3 < coding[line].min()
    assert np.argsort(-coding)[:2].tolist() in ([0, 4], [4, 0])
    assert distance[[0, 4]].max() < distance[line[1:4]].min()
    truth = PCA(1).fit(S[line]).components_

    def turn(w):
        centred = S - w @ S / w.sum()
        return np.degrees(subspace_angles(truth.T, np.linalg.eigh(centred.T @ (w[:, None] * centred))[1][:, -1:])[0])

    assert turn(coding) < 3 < 8 < turn(distance)


def test_figure_6():
    """Without noise all three weights unfold the surface about as well, and LLE does not."""
    S, truth = make_scherk(1200, random_state=0)
    errors = [
        procrustes_error(TangentialMaps(2, graph=TangentAlignment(15, weights=w)).fit_transform(S), truth)
        for w in ("uniform", "coding_length", "distance")
    ]
    assert max(errors) < 0.32
    lle = LocallyLinearEmbedding(n_neighbors=15, n_components=2, random_state=0).fit_transform(S)
    assert procrustes_error(lle, truth) > 0.6


@pytest.mark.parametrize(("n_outliers", "seeds"), [(5, 20), (10, 10)])
def test_figure_7(n_outliers, seeds):
    """A few points off the Scherk surface: coding-length weights recover the parameters better than LTSA."""
    errors = np.empty((seeds, 2))
    for seed in range(seeds):
        S, truth = make_scherk(1200, n_outliers=n_outliers, random_state=seed)
        on = slice(0, 1200 - n_outliers)
        for j, weights in enumerate(("uniform", "coding_length")):
            Y2 = TangentialMaps(2, graph=TangentAlignment(15, weights=weights)).fit(S).embedding_
            errors[seed, j] = procrustes_error(Y2[on], truth[on])
    assert (errors[:, 1] < errors[:, 0]).mean() >= 0.9
    assert np.median(errors[:, 1]) < 0.9 * np.median(errors[:, 0])
