"""lapwing beside what a competent user writes by hand with scikit-learn's neighbour graph and SciPy's eigh, and beside others.

    python benchmarks/speed.py            all cases; the largest takes minutes
    python benchmarks/speed.py mid wide   some of them
    python benchmarks/speed.py --json mid what was measured as JSON: for benchmarks/measure.py
    python benchmarks/speed.py glpca10k   and one that only runs by name: its dense solution takes minutes and 3 GB. Stand-ins
                                          of 2,000 and 4,000 rows are among all, and the ratio falls as n grows

Each case runs both sides in turn in fresh processes, and the best of several runs counts. It prints times, their ratio, and
the peak memory beyond the interpreter and the data. Ratios can be compared between machines, and seconds cannot. Beside the
time on the clock is the time of all cores together, which other programs that run at the same time hardly change.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import joblib
import numpy as np

SHAPES = {  # n, d, classes, dtype, runs
    "faces": (400, 10_304, 40, np.float64, 5),
    "mid": (10_000, 256, 10, np.float32, 3),
    "wide": (2_000, 20_000, 20, np.float64, 2),
    "large": (100_000, 256, 10, np.float32, 1),
    "local": (20_000, 256, 10, np.float32, 3),
    "images": (2_000, 1_024, 10, np.float64, 5),
    "glpca2k": (2_000, 256, 10, np.float32, 3),
    "glpca4k": (4_000, 256, 10, np.float32, 1),
    "sampled768": (100_000, 768, 10, np.float32, 1),
}
SURFACES = {"roll": (20_000, 2), "scherk": (20_000, 2), "roll100k": (100_000, 1), "scherk100k": (100_000, 1)}  # n, runs
TEXTS = {"TDT2": 1, "20news_bydate": 1}  # runs; read from the folder LAPWING_DATA, left out where it is not set
PICTURES = {"MNIST": 3, "COIL20": 3, "MNIST60k": 1, "GloVe": 1}  # as TEXTS
REPEATED = {"copies": 1, "twins": 3, "families": 3}  # 27 distinct rows of 100,000; 10,000 classes of two; 2,000 of five
BY_NAME = {"glpca10k"}
SHARED = {  # cases that are on the data of another
    "search": "mid",
    "angles": "mid",
    "scores": "mid",
    "eigenmaps": "mid",
    "glpca10k": "mid",
    "search100k": "large",
    "sampled": "large",
    "classes": "large",
    "surface": "roll",
}
N_COMPONENTS, N_NEIGHBORS, PATCH = 20, 10, 15
QUERIES, FEW_QUERIES = 20_000, 5_000


def data(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Classes on curved patches of 8 dimensions, a decaying spectrum, and noise; or a surface."""
    if case in SURFACES:
        n = SURFACES[case][0]
        if case.startswith("roll"):
            from sklearn.datasets import make_swiss_roll

            return make_swiss_roll(n, random_state=0)[0], np.zeros(n)
        from lapwing_papers.datasets import make_scherk

        return make_scherk(n, random_state=0)[0], np.zeros(n)
    if case in TEXTS:
        from scipy import sparse
        from sklearn.feature_extraction.text import TfidfTransformer

        folder = os.environ["LAPWING_DATA"]
        X = sparse.load_npz(f"{folder}/{case}_X.npz").astype(np.float64)
        X = X[np.asarray(X.sum(axis=1)).ravel() > 0]
        return TfidfTransformer(sublinear_tf=True).fit_transform(X), np.zeros(X.shape[0])
    if case in REPEATED:
        return repeated(case)
    if case == "GloVe":
        X = np.load(f"{os.environ['LAPWING_DATA']}/GloVe6B_100d_top120k.npz")["X"].astype(np.float32)
        return X, np.zeros(len(X))
    if case == "MNIST60k":
        X = np.load(f"{os.environ['LAPWING_DATA']}/MNIST.npz")["X"][:60_000].astype(np.float32)
        return X, np.zeros(len(X))
    if case in PICTURES:
        X = np.load(f"{os.environ['LAPWING_DATA']}/{case}.npz")["X"].astype(np.float32)
        return X, np.zeros(len(X))
    n, d, c, dtype, _ = SHAPES[case]
    rng = np.random.default_rng(0)
    y = rng.integers(c, size=n)
    latent = rng.standard_normal((n, 8))
    inner = np.hstack([latent, latent**2, np.sin(2 * latent), 2 * rng.standard_normal((c, 16))[y]])
    X = inner @ (rng.standard_normal((inner.shape[1], d)) / np.sqrt(d))
    X += 0.3 / np.sqrt(d) * rng.standard_normal((n, d)) * np.geomspace(3, 0.3, d)
    return X.astype(dtype), y


def repeated(case: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if case == "copies":
        return rng.integers(0, 3, (100_000, 3)).astype(np.float64), np.zeros(100_000)
    classes, size = (10_000, 2) if case == "twins" else (2_000, 5)
    y = np.repeat(np.arange(classes), size)
    return rng.standard_normal((classes, 64))[y] + 0.3 * rng.standard_normal((y.size, 64)), y


def search(X: np.ndarray, y: np.ndarray) -> None:
    """The neighbour search alone."""
    from sklearn.neighbors import kneighbors_graph

    kneighbors_graph(X, N_NEIGHBORS)


def by_hand(X: np.ndarray, y: np.ndarray) -> None:
    from scipy.linalg import eigh
    from scipy.sparse import diags
    from sklearn.neighbors import kneighbors_graph

    W = kneighbors_graph(X, N_NEIGHBORS)
    W = W.maximum(W.T)
    D = diags(np.asarray(W.sum(axis=1)).ravel())
    A, B = X.T @ ((D - W) @ X), X.T @ (D @ X)
    eigh(A, B + 1e-9 * np.trace(B) * np.eye(len(B)), subset_by_index=[0, N_COMPONENTS - 1])


def by_hand_after_svd(X: np.ndarray, y: np.ndarray) -> None:
    X = X - X.mean(axis=0)
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    kept = 1 + np.searchsorted(np.cumsum(s**2) / (s**2).sum(), 0.98)
    by_hand(X @ Vt[:kept].T, y)


def by_hand_after_pca(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.decomposition import PCA

    by_hand(PCA(0.98).fit_transform(X), y)


def pca(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.decomposition import PCA

    PCA(N_COMPONENTS).fit(X)


def lapwing_search(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing.data import as_data
    from lapwing.neighbors import Request, find

    find(as_data(X), Request(N_NEIGHBORS))


def cosine_by_hand(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.neighbors import NearestNeighbors

    NearestNeighbors(metric="cosine").fit(X).kneighbors(n_neighbors=N_NEIGHBORS)


def lapwing_cosine(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing.data import as_data
    from lapwing.neighbors import Request, find

    find(as_data(X), Request(N_NEIGHBORS, "cosine"))


def bare_products(X: np.ndarray, y: np.ndarray) -> None:
    """The floor of a search for 20,000 of the rows: their products with all, and nothing else."""
    queries = X[:: len(X) // QUERIES]
    room = np.empty((1024, 4096), X.dtype)
    for i in range(0, len(queries), 1024):
        for j in range(0, len(X), 4096):
            Q, R = queries[i : i + 1024], X[j : j + 4096]
            np.matmul(Q, R.T, out=room[: len(Q), : len(R)])


def lapwing_sampled_search(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing.data import as_data
    from lapwing.neighbors import Request, find

    find(as_data(X), Request(N_NEIGHBORS, queries=QUERIES if X.shape[1] == 256 else FEW_QUERIES))


def search_and_moments(X: np.ndarray, y: np.ndarray) -> None:
    """The floor of a sampled fit: the search for 5,000 rows, and one pass that adds up products of columns in float64."""
    lapwing_sampled_search(X, y)
    mean, scatter = X.mean(axis=0, dtype=np.float64), np.zeros((X.shape[1],) * 2)
    for start in range(0, len(X), 1024):
        block = X[start : start + 1024] - mean
        scatter += block.T @ block


def lapwing_sampled_fit(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LPP
    from lapwing.graphs import KNN

    LPP(N_COMPONENTS, graph=KNN(N_NEIGHBORS, weights="binary", queries=FEW_QUERIES)).fit(X)


def lapwing_same_class(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing.data import as_data
    from lapwing.graphs import KNN

    KNN(5, among="same_class").adjacency(as_data(X, y))


def lapwing_mfa(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import MFA

    MFA(N_COMPONENTS).fit(X, y)


def by_hand_lpi(X: np.ndarray, y: np.ndarray) -> None:
    """Cosine neighbours, the eigenvectors of their graph, and a ridge regression, by scikit-learn and SciPy."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import kneighbors_graph

    W = kneighbors_graph(X, PATCH, metric="cosine", mode="distance")
    W.data = 1 - W.data
    W = W.maximum(W.T)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    scale = diags(1 / np.sqrt(degrees))
    _, Y = eigsh(scale @ W @ scale, N_COMPONENTS + 1, which="LA")
    Ridge(10 * degrees.mean() / X.shape[0], solver="sparse_cg").fit(X, scale @ Y[:, :-1], sample_weight=degrees)


def lapwing_lpp(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LPP
    from lapwing.graphs import KNN

    LPP(N_COMPONENTS, graph=KNN(N_NEIGHBORS, weights="binary")).fit(X)


def lapwing_lpp_whole(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LPP
    from lapwing.graphs import KNN

    LPP(N_COMPONENTS, graph=KNN(N_NEIGHBORS, weights="binary"), pca=None).fit(X)


def lapwing_given_graph(X: np.ndarray, y: np.ndarray) -> None:
    """All but the search: a random graph is the worst case for memory access. The graph is made outside the clock."""
    from lapwing import LPP

    LPP(N_COMPONENTS, graph=_random_graph(X.shape[0])).fit(X)


def _random_graph(n: int) -> object:
    from scipy.sparse import csr_array

    if n not in _GRAPHS:
        rng = np.random.default_rng(1)
        rows, cols = np.repeat(np.arange(n), N_NEIGHBORS), rng.integers(n, size=n * N_NEIGHBORS)
        off = rows != cols
        W = csr_array((np.ones(off.sum()), (rows[off], cols[off])), shape=(n, n))
        W.data[:] = 1.0
        _GRAPHS[n] = W.maximum(W.T)
    return _GRAPHS[n]


_GRAPHS: dict = {}


def lapwing_mmc(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import MMC

    MMC(N_COMPONENTS).fit(X, y)


def lapwing_class_lpp(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LPP
    from lapwing.graphs import SameClass

    LPP(9, graph=SameClass()).fit(X, y)


def lapwing_tsa(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import TSA
    from lapwing.graphs import KNN

    TSA(10, graph=KNN(N_NEIGHBORS, weights="binary")).fit(X.reshape(-1, 32, 32))


def lapwing_scores(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LaplacianScore
    from lapwing.graphs import KNN

    LaplacianScore(graph=KNN(N_NEIGHBORS, weights="binary")).fit(X)


def _neighbour_graph(X: np.ndarray) -> object:
    from lapwing.data import as_data
    from lapwing.graphs import KNN

    if id(X) not in _GRAPHS:
        _GRAPHS[id(X)] = KNN(N_NEIGHBORS, weights="binary").adjacency(as_data(X))
    return _GRAPHS[id(X)]


def spectral_amg(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.manifold import SpectralEmbedding  # pip install pyamg

    model = SpectralEmbedding(N_COMPONENTS, affinity="precomputed", eigen_solver="amg", random_state=0)
    model.fit(_neighbour_graph(X))


def spectral_arpack(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.manifold import SpectralEmbedding

    model = SpectralEmbedding(2, affinity="precomputed", eigen_solver="arpack", random_state=0)
    model.fit(_neighbour_graph(X))


def lapwing_eigenmaps(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LaplacianEigenmaps

    LaplacianEigenmaps(N_COMPONENTS if X.shape[1] > 3 else 2, graph=_neighbour_graph(X)).fit(X)


def truncated_svd(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.decomposition import TruncatedSVD

    TruncatedSVD(100, random_state=0).fit(X)


def cosine_search(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.neighbors import NearestNeighbors

    NearestNeighbors(metric="cosine").fit(X).kneighbors(n_neighbors=PATCH)


def lapwing_lpi(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LPI

    LPI(N_COMPONENTS).fit(X)


def search_15(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.neighbors import kneighbors_graph

    kneighbors_graph(X, PATCH)


def lapwing_lpca(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import LPCA

    LPCA(N_COMPONENTS, graph=PATCH).fit(X)


def scikit_learn_ltsa(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.manifold import LocallyLinearEmbedding

    LocallyLinearEmbedding(n_neighbors=PATCH, n_components=2, method="ltsa", random_state=0).fit(X)


def tapkee_ltsa(X: np.ndarray, y: np.ndarray) -> None:
    import tapkee  # pip install tapkee

    tapkee.embed(np.asfortranarray(X.T), method="ltsa", num_neighbors=PATCH, target_dimension=2)


def lapwing_maps(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import TangentialMaps

    TangentialMaps(2, graph=PATCH).fit(X)


def _five_nearest(X: np.ndarray) -> object:
    from lapwing.data import as_data
    from lapwing.graphs import KNN

    if id(X) not in _GRAPHS:
        _GRAPHS[id(X)] = KNN(5).adjacency(as_data(X))
    return _GRAPHS[id(X)]


def _represented(X: np.ndarray) -> int:
    return 50 if len(X) == 70_000 else N_COMPONENTS


def randomized_pca(X: np.ndarray, y: np.ndarray) -> None:
    from sklearn.decomposition import PCA

    PCA(_represented(X), svd_solver="randomized", random_state=0).fit(X)


def dense_glpca(X: np.ndarray, y: np.ndarray) -> None:
    """The n x n matrix, formed and decomposed by NumPy; the graph is made outside the clock."""
    W = _five_nearest(X).toarray()
    X = X - X.mean(axis=0)
    lam = np.linalg.eigvalsh(X.T @ X)[-1]
    L = np.diag(W.sum(axis=1)) - W
    xi = 2 * W.sum(axis=1).max()  # a bound: the largest eigenvalue would take another decomposition
    np.linalg.eigh(0.5 * (np.eye(len(X)) - X @ X.T / lam) + 0.5 * L / xi)


def lapwing_glpca(X: np.ndarray, y: np.ndarray) -> None:
    from lapwing import GLPCA

    GLPCA(_represented(X), graph=_five_nearest(X)).fit(X)


def lapwing_robust(X: np.ndarray, y: np.ndarray) -> int:
    """What it returns is the number of steps, and the bound is for one of them."""
    from lapwing import RobustGLPCA

    return RobustGLPCA(N_COMPONENTS, graph=_five_nearest(X)).fit(X).n_iter_


CASES = {  # case: (bar, [(what, against the bar at most)])
    "search": (search, [(lapwing_search, 0.65)]),
    "angles": (cosine_by_hand, [(lapwing_cosine, 0.65)]),
    "search100k": (search, [(lapwing_search, 0.55)]),
    "MNIST60k": (search, [(lapwing_search, 0.65)]),
    "GloVe": (search, [(lapwing_search, 0.65)]),
    "sampled": (bare_products, [(lapwing_sampled_search, 1.5)]),
    "sampled768": (search_and_moments, [(lapwing_sampled_fit, 1.5)]),
    "copies": (lapwing_search, []),
    "twins": (lapwing_same_class, []),
    "families": (lapwing_mfa, []),
    "faces": (by_hand_after_pca, [(lapwing_lpp, 1.0)]),
    "mid": (by_hand, [(search, None), (lapwing_lpp, 0.75), (lapwing_lpp_whole, 0.85)]),
    "wide": (by_hand_after_svd, [(lapwing_lpp, 1 / 6)]),
    "classes": (pca, [(lapwing_mmc, 3.0), (lapwing_class_lpp, 3.0), (lapwing_given_graph, None)]),
    "images": (by_hand, [(lapwing_tsa, 0.7)]),
    "scores": (search, [(lapwing_scores, 1.0)]),
    "eigenmaps": (spectral_amg, [(lapwing_eigenmaps, 0.2)]),
    "surface": (spectral_arpack, [(lapwing_eigenmaps, 1.0)]),
    "TDT2": (by_hand_lpi, [(truncated_svd, None), (cosine_search, None), (lapwing_lpi, 0.25)]),
    "20news_bydate": (by_hand_lpi, [(truncated_svd, None), (cosine_search, None), (lapwing_lpi, 0.25)]),
    "local": (search_15, [(lapwing_lpca, 1.25)]),
    "roll": (scikit_learn_ltsa, [(tapkee_ltsa, None), (lapwing_maps, 0.1)]),
    "scherk": (scikit_learn_ltsa, [(tapkee_ltsa, None), (lapwing_maps, 0.1)]),
    "roll100k": (lapwing_maps, []),
    "scherk100k": (lapwing_maps, []),
    "glpca2k": (dense_glpca, [(randomized_pca, None), (lapwing_glpca, None)]),
    "glpca4k": (dense_glpca, [(randomized_pca, None), (lapwing_glpca, 1 / 20)]),
    "glpca10k": (dense_glpca, [(randomized_pca, None), (lapwing_glpca, 1 / 20)]),
    "MNIST": (randomized_pca, [(lapwing_glpca, 10.0)]),
    "COIL20": (lapwing_glpca, [(randomized_pca, None), (lapwing_robust, 0.3)]),
    "large": (by_hand, [(lapwing_lpp, 0.6)]),
}


def measure(case: str, function: str, folder: str) -> dict:
    """In a process of its own: best time, and the peak memory beyond what was there before."""
    shape = _shape(case)
    X = joblib.load(f"{folder}/{shape}-X")
    y = np.zeros(X.shape[0]) if shape in TEXTS else joblib.load(f"{folder}/{shape}-y")
    if function in ("spectral_amg", "spectral_arpack", "lapwing_eigenmaps"):
        _neighbour_graph(X)
    if function == "lapwing_given_graph":
        _random_graph(X.shape[0])
    if function in ("dense_glpca", "lapwing_glpca", "lapwing_robust"):
        _five_nearest(X)
    import sklearn.neighbors  # noqa: F401  imports are not on the clock

    import lapwing  # noqa: F401

    before = memory("VmRSS")
    runs = {"classes": 5, "glpca10k": 1}.get(case, _runs(shape))
    times, works = [], []
    for _ in range(runs):
        start, worked = time.perf_counter(), time.process_time()
        given = globals()[function](X, y)
        times.append(time.perf_counter() - start)
        works.append(time.process_time() - worked)
    found = {"seconds": min(times), "work": min(works)}
    return found | {"megabytes": memory("VmHWM") - before, "steps": given if isinstance(given, int) else None}


def _runs(shape: str) -> int:
    files = TEXTS | PICTURES | REPEATED
    return files[shape] if shape in files else (SHAPES | SURFACES)[shape][-1]


def memory(field: str) -> float:
    """Megabytes of this process: in use (VmRSS), or at the most so far (VmHWM). Linux only."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) / 1024


def _shape(case: str) -> str:
    return SHARED.get(case, case)


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(*sys.argv[2:])))
        return
    asked = [case for case in sys.argv[1:] if case != "--json"]
    with tempfile.TemporaryDirectory() as folder:
        left_out = BY_NAME if "LAPWING_DATA" in os.environ else BY_NAME | set(TEXTS) | set(PICTURES)
        cases = asked or [case for case in CASES if case not in left_out]
        if "--json" in sys.argv:
            print(json.dumps({case: {name: found for name, _, found in sides(case, folder)} for case in cases}))
        else:
            run(cases, folder)


def sides(case: str, folder: str) -> Iterator[tuple[str, float | None, dict]]:
    """Of each side of a case: its name, the ratio that it should not exceed, and what was measured. What fails is told."""
    X, y = data(_shape(case))
    joblib.dump(X, f"{folder}/{_shape(case)}-X")
    joblib.dump(y, f"{folder}/{_shape(case)}-y")
    del X
    bar, others = CASES[case]
    for function, most in [(bar, None), *others]:
        command = [sys.executable, os.path.abspath(__file__), "--measure", case, function.__name__, folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1]
            print(f"{case:14}{function.__name__:22}  failed: {reason}", file=sys.stderr, flush=True)
        else:
            yield function.__name__, most, json.loads(done.stdout)


def run(cases: list[str], folder: str) -> None:
    print(f"{'case':14}{'':24}{'seconds':>9}{'ratio':>8}{'at most':>9}{'of all cores':>14}{'ratio':>8}{'MB more':>9}")
    for case in cases:
        base = None
        for name, most, found in sides(case, folder):
            base = base or found
            steps = found["steps"]
            _line(case, name, found, base, None if steps else most)
            if steps:
                one = {key: found[key] / steps for key in ("seconds", "work", "megabytes")}
                _line(case, f"  one of {steps} steps", one, base, most)


def _line(case: str, what: str, found: dict, base: dict, most: float | None) -> None:
    bound = "" if most is None else f"{most:.2f}"
    seconds, work = found["seconds"], found["work"]
    print(
        f"{case:14}{what:24}{seconds:9.3f}{seconds / base['seconds']:8.2f}{bound:>9}{work:14.3f}{work / base['work']:8.2f}"
        f"{found['megabytes']:9.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
