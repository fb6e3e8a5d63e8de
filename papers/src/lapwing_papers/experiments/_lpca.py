"""Zhao, Lin and Tang (2007), "Laplacian PCA and its applications": a line, a patch, public faces, Scherk's surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.metrics import pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lapwing import LPCA, LPP, MFA, TangentialMaps
from lapwing.data import as_data
from lapwing.graphs import CodingLength, TangentAlignment
from lapwing.metrics import procrustes_error

from ..datasets import make_patch, make_perturbed_line, make_scherk
from ..features import LBPHistogram
from ..histograms import chi2_distances, chi2_metric
from ..recognition import RandomSubspaceLDA
from ._data import dataset
from ._experiment import Claim, Measured, Reading, Summary, Values
from ._page import COLORS, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "Zhao, Lin and Tang 2007"


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    """Between two directions, in degrees."""
    return float(np.degrees(np.arccos(np.clip(abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b), 0, 1))))


# Figure 1: points moved off a line


def _line(n_perturbed: int, seed: int) -> Values:
    X, direction = make_perturbed_line(n_perturbed=n_perturbed, random_state=seed)
    models = {"PCA": PCA(1), "LPCA": LPCA(1, graph=5, pca="auto", preset="paper")}
    return {name: {"angle": _angle(m.fit(X).components_[0], direction)} for name, m in models.items()}


def _line_pictures(_: Summary) -> Mapping[str, Figure]:
    figure, axes = panels(1, 4, width=3.3)
    for n_perturbed, place in enumerate(axes.flat):
        X, _direction = make_perturbed_line(n_perturbed=n_perturbed, random_state=0)
        place.plot(*X[n_perturbed:].T, "o", color="0.4", ms=4)
        place.plot(*X[:n_perturbed].T, "X", color=COLORS[1], ms=9)
        for model, color in ((PCA(1), COLORS[5]), (LPCA(1, graph=5, pca="auto", preset="paper"), COLORS[0])):
            centre, along = np.median(X, axis=0), 14 * model.fit(X).components_[0]
            place.plot(*np.array([centre - along, centre + along]).T, color=color, label=type(model).__name__)
        place.set(title=f"{n_perturbed} moved", xlim=(-15, 15), ylim=(-15, 15), aspect="equal")
    axes[0, 0].legend(loc="lower right", fontsize=8)
    return {"First directions, seed 0; crosses are the points moved": figure}


def _moved(summary: Summary) -> float:
    """The smallest gain where one or two points are moved, as far as measured."""
    moved = [c for c in summary.conditions if c in ("1 moved", "2 moved")]
    return min(summary.mean("angle", c, "PCA") - summary.mean("angle", c, "LPCA") for c in moved)


# Figure 2: weights in one patch


def _patch(_: None, seed: int) -> Values:
    X, stray = make_patch()
    ends = np.argsort(X[:, 0])[[0, -1]]
    found = {}
    for name, weights in (("coding length", "coding_length"), ("distance", "distance")):
        rows, w = CodingLength(5, weights=weights, origin=0).patches(as_data(X))
        w = w[0][np.argsort(rows[0])]
        scatter = (X - w @ X / w.sum()).T @ (w[:, None] * (X - w @ X / w.sum()))
        direction = np.linalg.eigh(scatter)[1][:, -1]
        found[name] = {
            "weight of the stray point": float(w[stray]),
            "smaller weight of the two ends": float(w[ends].min()),
            "angle": _angle(direction, np.array([1.0, 0.0])),
        }
    return found


# Figures 4 and 5: faces


class Faces(NamedTuple):
    """A data set in the protocol of the paper's FRGC images."""

    data: str
    larger: str  # for local binary patterns
    n_train: int  # people
    n_gallery: int  # images of each other person; the rest are the probe
    drawn: bool  # the gallery's images at random, else the first
    sampling: tuple[int, int, int]  # components in all, base, sampled: the paper's 400, 50, 100 to scale


class Split(NamedTuple):
    train: np.ndarray
    gallery: np.ndarray
    probe: np.ndarray


FACES = {
    "ORL": Faces("orl:32x32", "orl:112x92", 15, 5, False, (100, 15, 30)),
    "AR": Faces("ar:99people", "ar:99people", 36, 7, False, (200, 25, 50)),
    "Yale B": Faces("yale_b:32x32", "yale_b:32x32", 14, 5, True, (300, 40, 80)),
    "PIE": Faces("pie:pose27", "pie:pose27", 25, 5, True, (350, 45, 90)),
}
HISTOGRAM_DIMENSIONS = (25, 50, 100, 145, 250, 400)
DIMENSIONS = (5, 8, 12, 13, 14, 16, 20, 24, 30, 35, 45, 60, 80, 120, 180, 260)


def _split(y: np.ndarray, faces: Faces, seed: int) -> Split:
    random = np.random.RandomState(seed)
    people = random.permutation(np.unique(y))
    gallery: list[int] = []
    for person in people[faces.n_train :]:
        images = np.flatnonzero(y == person)
        gallery.extend((random.permutation(images) if faces.drawn else images)[: faces.n_gallery])
    train = np.flatnonzero(np.isin(y, people[: faces.n_train]))
    return Split(train, np.array(gallery), np.setdiff1d(np.arange(len(y)), np.append(train, gallery)))


def _rate(Z: np.ndarray, y: np.ndarray, split: Split) -> float:
    """Percent of the probe whose nearest gallery image is of the same person."""
    nearest = pairwise_distances_argmin(Z[split.probe], Z[split.gallery])
    return float(100 * np.mean(y[split.gallery][nearest] == y[split.probe]))


def _lpca(k: int | None, K: int, **params: Any) -> LPCA:
    return LPCA(k, graph=CodingLength(K, origin=0, **params), preset="paper")


REDUCERS: dict[str, Callable[[int], Any]] = {
    "PCA": lambda k: PCA(k, svd_solver="full"),
    "LPCA": lambda k: _lpca(k, 2),
    "LPCA (K = 5)": lambda k: _lpca(k, 5),
}
DISCRIMINATORS: dict[str, Callable[[], Any]] = {
    "rate, LDA": lambda: LinearDiscriminantAnalysis(),
    "rate, LPP": lambda: LPP(None, graph=2, center="degree", preset="paper"),
    "rate, MFA": lambda: MFA(None, graph=2, penalty=20, preset="paper"),
}


def _expressive(name: str, seed: int) -> Values:
    faces = FACES[name]
    X, y = dataset(faces.data).data, dataset(faces.data).target
    split = _split(y, faces, seed)
    powers = -_lpca(None, 2).fit(X[split.train]).eigenvalues_
    p = 1 + int(np.searchsorted(np.cumsum(powers), 0.95 * powers.sum()))
    return {
        reducer: _discriminated(X, y, split, build, p) | {"rate, 20 LDA": _sampled(X, y, split, build, faces, seed)}
        for reducer, build in REDUCERS.items()
    }


def _discriminated(X: np.ndarray, y: np.ndarray, split: Split, build: Callable[[int], Any], p: int) -> dict[str, Any]:
    """Rates over the dimensions of discriminators after p dimensions of the reducer."""
    Z = build(p).fit(X[split.train]).transform(X)
    found = {}
    for name, make in DISCRIMINATORS.items():
        V = make().fit(Z[split.train], y[split.train]).transform(Z)
        found[name] = [_rate(V[:, :d], y, split) if d <= V.shape[1] else np.nan for d in DIMENSIONS]
    return found


def _sampled(X: np.ndarray, y: np.ndarray, split: Split, build: Any, faces: Faces, seed: int) -> float:
    total, base, sampled = faces.sampling
    model = RandomSubspaceLDA(build(total), n_base=base, n_sampled=sampled, random_state=seed)
    model.fit(X[split.train], y[split.train]).enroll(X[split.gallery], y[split.gallery])
    return float(100 * model.score(X[split.probe], y[split.probe]))


@cache
def _histograms(name: str) -> tuple[np.ndarray, np.ndarray]:
    bunch = dataset(FACES[name].larger)
    H = LBPHistogram([int(side) for side in bunch.image_shape]).fit_transform(bunch.data)
    return H, chi2_distances(H)


def _kernel_pca(chi2: np.ndarray, split: Split, gamma: float, k: int) -> np.ndarray:
    K = np.exp(-gamma * chi2[:, split.train] / chi2[np.ix_(split.train, split.train)].mean())
    return KernelPCA(k, kernel="precomputed", eigen_solver="dense").fit(K[split.train]).transform(K)


def _binary_patterns(name: str, seed: int) -> Values:
    faces, (H, chi2) = FACES[name], _histograms(name)
    y = dataset(faces.larger).target
    split = _split(y, faces, seed)
    k = min(max(HISTOGRAM_DIMENSIONS), split.train.size - 1)
    nearest = chi2[np.ix_(split.probe, split.gallery)].argmin(axis=1)
    reducers = {
        "PCA": PCA(k, svd_solver="full"),
        "LPCA": _lpca(k, 2, metric=chi2_metric),
        "LPCA (Euclidean neighbours)": _lpca(k, 2),
        "PCA of the square roots": make_pipeline(FunctionTransformer(np.sqrt), PCA(k, svd_solver="full")),
    }
    spaces = {label: model.fit(H[split.train]).transform(H) for label, model in reducers.items()}
    spaces["kernel PCA"] = _kernel_pca(chi2, split, 1.0, k)
    spaces["kernel PCA (ten times as wide)"] = _kernel_pca(chi2, split, 0.1, k)
    found: dict[str, Any] = {"all bins, chi-square": float(100 * np.mean(y[split.gallery][nearest] == y[split.probe]))}
    for label, Z in spaces.items():
        found[label] = [_rate(Z[:, :d], y, split) if d <= Z.shape[1] else np.nan for d in HISTOGRAM_DIMENSIONS]
    return {label: {"rate": value} for label, value in found.items()}


def _least_gain(quantity: str, better: str, worse: str) -> Callable[[Summary], float]:
    """Over the data sets, each at its best dimension."""

    def measure(summary: Summary) -> float:
        return min(summary.mean(quantity, c, better) - summary.mean(quantity, c, worse) for c in summary.conditions)

    return measure


# Figures 6 to 8: Scherk's surface

N, K = 1200, 15
MAPS: dict[str, Callable[[], Any]] = {
    "tangential maps": lambda: TangentialMaps(2, graph=K, preset="paper"),
    "tangential maps (weights by distance)": lambda: TangentialMaps(
        2, graph=TangentAlignment(K, weights="distance"), preset="paper"
    ),
    "LTSA": lambda: TangentialMaps(2, graph=TangentAlignment(K, weights="uniform"), preset="paper"),
    "Isomap": lambda: Isomap(n_neighbors=K, n_components=2, eigen_solver="dense"),  # the other is not repeatable
    "LLE": lambda: LocallyLinearEmbedding(n_neighbors=K, n_components=2, random_state=0),
    "Laplacian eigenmaps": lambda: SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=K, random_state=0),
}
NOISE: dict[str, dict[str, Any]] = {
    "clean": {},
    "5 points off": {"n_outliers": 5},
    "10 points off": {"n_outliers": 10},
    "20 points off": {"n_outliers": 20},
    "Gaussian 0.02": {"noise": 0.02},
    "Gaussian 0.05": {"noise": 0.05},
}


def _scherk(noise: Mapping[str, Any], seed: int) -> Values:
    X, parameters = make_scherk(N, random_state=seed, **noise)
    on = slice(0, N - noise.get("n_outliers", 0))
    return {
        name: {"Procrustes error": float(procrustes_error(make().fit_transform(X)[on], parameters[on]))}
        for name, make in MAPS.items()
    }


def _better_seeds(condition: str) -> Callable[[Summary], float]:
    def measure(summary: Summary) -> float:
        a, b = (summary.runs("Procrustes error", condition, m) for m in ("tangential maps", "LTSA"))
        return float(100 * np.mean(a < b))

    return measure


def _scherk_pictures(_: Summary) -> Mapping[str, Figure]:
    shown = ("clean", "5 points off")
    figure, axes = panels(2, len(MAPS) + 1, width=2.3, height=2.5)
    for row, name in zip(axes, shown, strict=True):
        X, parameters = make_scherk(N, random_state=0, **NOISE[name])
        on = np.arange(N) < N - NOISE[name].get("n_outliers", 0)
        spaces = {f"x and y, {name}": X[:, :2]} | {label: make().fit_transform(X) for label, make in MAPS.items()}
        for place, (label, Y) in zip(row, spaces.items(), strict=True):
            place.scatter(*Y[on].T, c=parameters[on, 0], s=2)
            place.scatter(*Y[~on].T, color=COLORS[1], marker="x", s=30)
            place.set_title(label.replace(" (", "\n("), fontsize=8)
            place.set(xticks=[], yticks=[])
    return {"Scherk's surface unfolded, seed 0; crosses are the points off it": figure}


EXPERIMENTS = (
    Measured(
        name="lpca-figure-1",
        source=f"{PAPER}, figure 1",
        protocol=(
            "Points along a line in the plane, of which none to three are moved far off, 30 seeds: the angle in degrees "
            "between the first direction and the line. LPCA has 5 neighbours."
        ),
        conditions={f"{n} moved": n for n in range(4)},
        what=_line,
        n_repeats=30,
        n_quick=30,
        lower_is_better=True,
        readings=(Reading("How many points are moved", "The figure shows few; none to three are measured."),),
        claims=(
            Claim(
                "With one or two points moved LPCA keeps the direction, PCA does not (degrees gained).",
                _moved,
                at_least=5.0,
            ),
        ),
        pictures=_line_pictures,
    ),
    Measured(
        name="lpca-figure-2",
        source=f"{PAPER}, figure 2",
        protocol="One patch of six points, five along the horizontal axis and one below it: weights and first direction.",
        what=_patch,
        n_quick=1,
        claims=(
            Claim(
                "Coding length weights the stray point less than either end of the line.",
                lambda s: (
                    s.mean("smaller weight of the two ends", "", "coding length")
                    - s.mean("weight of the stray point", "", "coding length")
                ),
                at_least=0.2,
            ),
            Claim(
                "Distances weight the ends lightly too.",
                lambda s: s.mean("smaller weight of the two ends", "", "distance"),
                at_most=0.5,
            ),
            Claim(
                "The direction by coding length is closer to the line (degrees gained).",
                lambda s: s.mean("angle", "", "distance") - s.mean("angle", "", "coding length"),
                at_least=2.0,
            ),
        ),
    ),
    Measured(
        name="lpca-figure-4",
        source=f"{PAPER}, figure 4, on public faces (the paper's FRGC images are not public)",
        protocol=(
            "The projection is learnt from other people than those of gallery and probe, and the nearest gallery image "
            "recognises; 10 random assignments of people. PCA or LPCA (K = 2) to the p dimensions in which LPCA keeps "
            "95 % of its power, then LDA, LPP (K = 2), MFA (2 and 20 neighbours) over dimensions, and 20 LDA on random "
            "subspaces. Recognition rates in percent."
        ),
        data=("orl:32x32", "ar:99people", "yale_b:32x32", "pie:pose27"),
        conditions={name: name for name in FACES},
        what=_expressive,
        dimensions=DIMENSIONS,
        n_repeats=10,
        other_data="public faces in the place of FRGC's",
        readings=(
            Reading("Faces", "ORL, AR, Extended Yale B and PIE; numbers of people and images to the paper's scale."),
            Reading("K", "2, as in the paper.", "LPCA (K = 5)."),
        ),
        claims=tuple(
            Claim(
                f"{name} is better after LPCA than after PCA (smallest gain over the data sets, points).",
                _least_gain(f"rate, {name}", "LPCA", "PCA"),
                at_least=0.0,
            )
            for name in ("LDA", "LPP", "MFA", "20 LDA")
        ),
    ),
    Measured(
        name="lpca-figure-5",
        source=f"{PAPER}, figure 5, on public faces",
        protocol=(
            "Histograms of uniform local binary patterns, (8, 2), 7 x 7 regions, 2,891 bins, reduced to 25, ..., 400 dimensions "
            "(as far as there are training images): the recognition rate in percent as in lpca-figure-4. "
            "LPCA has chi-square neighbours."
        ),
        data=("orl:112x92", "ar:99people", "yale_b:32x32", "pie:pose27"),
        conditions={name: name for name in FACES},
        what=_binary_patterns,
        dimensions=HISTOGRAM_DIMENSIONS,
        n_repeats=10,
        other_data="public faces in the place of FRGC's",
        readings=(
            Reading("Width of kernel PCA's kernel", "The mean chi-square distance.", "kernel PCA (ten times as wide)."),
            Reading("Neighbours of LPCA", "By chi-square.", "LPCA (Euclidean neighbours)."),
        ),
        claims=(
            Claim("LPCA is better than PCA (smallest gain, points).", _least_gain("rate", "LPCA", "PCA"), at_least=0.0),
            Claim(
                "LPCA is better than kernel PCA (smallest gain, points).",
                _least_gain("rate", "LPCA", "kernel PCA"),
                at_least=0.0,
            ),
            Claim(
                "LPCA is better than the histograms themselves (smallest gain, points).",
                _least_gain("rate", "LPCA", "all bins, chi-square"),
                at_least=0.0,
            ),
        ),
    ),
    Measured(
        name="lpca-figures-6-8",
        source=f"{PAPER}, figures 6 to 8",
        protocol=(
            "1,200 points of Scherk's surface (b = 1), some of them off it, 15 neighbours, 20 seeds: the Procrustes error of the "
            "surface's parameters, of the points on the surface."
        ),
        conditions=NOISE,
        what=_scherk,
        n_repeats=20,
        n_quick=1,
        quick_conditions=("clean", "5 points off"),
        lower_is_better=True,
        readings=(
            Reading("The surface", "z = ln(cos x / cos y); the paper prints a sine."),
            Reading(
                "Noise", "Few points far off the surface, as drawn in the figures.", "Gaussian noise on every point."
            ),
        ),
        claims=(
            Claim(
                "Without noise both tangential maps are faithful (the larger error less Isomap's, which is).",
                lambda s: (
                    max(s.mean("Procrustes error", "clean", m) for m in ("tangential maps", "LTSA"))
                    - s.mean("Procrustes error", "clean", "Isomap")
                ),
                at_most=0.05,
            ),
            Claim(
                "With a few points off, coding length beats LTSA (percent of seeds, 5 off).",
                _better_seeds("5 points off"),
                at_least=90,
            ),
            Claim(
                "LLE is unsatisfactory, Isomap works (difference of errors, 5 off).",
                lambda s: (
                    s.mean("Procrustes error", "5 points off", "LLE")
                    - s.mean("Procrustes error", "5 points off", "Isomap")
                ),
                at_least=0.2,
            ),
            Claim(
                "Laplacian eigenmaps is unsatisfactory (its error less Isomap's, 5 off).",
                lambda s: (
                    s.mean("Procrustes error", "5 points off", "Laplacian eigenmaps")
                    - s.mean("Procrustes error", "5 points off", "Isomap")
                ),
                at_least=0.1,
            ),
        ),
        pictures=_scherk_pictures,
    ),
)
