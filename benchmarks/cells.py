"""GraphPCA and MULTISPATI of many cells with few counts each: minutes and memory.

    python benchmarks/cells.py [--cells 600000] [--genes 2000]

The tissue is drawn: genes of a tenth of the columns follow the place of the cell, those of another tenth its state, and most
entries are 0. The graph links each cell to those beside it in a Delaunay triangulation of the places.
"""

import argparse
import resource
import time

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from lapwing import MULTISPATI, GraphPCA
from lapwing.data import as_data
from lapwing.graphs import Delaunay

COMPONENTS, BLOCK = 30, 10_000


def tissue(cells, genes):
    """Places, and the logarithms of 1 plus the counts."""
    random = np.random.RandomState(0)
    places, states, parts = random.uniform(size=(cells, 2)), random.randint(0, 8, cells), []
    waves, level = random.uniform(1, 4, (2, genes // 10)), random.gamma(0.3, 0.15, genes)
    of_state = random.gamma(0.5, 2, (8, genes // 10))
    for start in range(0, cells, BLOCK):
        some = slice(start, start + BLOCK)
        rate = np.tile(level, (len(places[some]), 1))
        rate[:, : genes // 10] += 0.3 * (1 + np.cos(np.pi * places[some] @ waves))
        rate[:, genes // 10 : genes // 5] *= of_state[states[some]]
        parts.append(sparse.csr_array(random.poisson(rate).astype(np.float32)))
    X = sparse.csr_array(sparse.vstack(parts))
    X.data = np.log1p(X.data)
    return X, places


def main(cells, genes):
    X, places = tissue(cells, genes)
    print(f"{cells:,} cells x {genes:,} genes, {X.nnz / cells / genes:.1%} of the entries are not 0", flush=True)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, time.perf_counter()
    W = Delaunay().adjacency(as_data(places))
    print(f"graph: {time.perf_counter() - start:.0f} s", flush=True)
    start = time.perf_counter()
    randomized_svd(X, COMPONENTS, random_state=0)
    print(f"truncated SVD of scikit-learn, which knows no places: {time.perf_counter() - start:.0f} s", flush=True)
    for model in (GraphPCA(COMPONENTS, alpha=5.0, graph=W), MULTISPATI(COMPONENTS, graph=W)):
        start = time.perf_counter()
        model.fit(X)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        said = f"{type(model).__name__}: {(time.perf_counter() - start) / 60:.1f} min, solver {model.solver_}"
        print(f"{said}; at most {peak:.1f} GB, of which {before:.1f} GB before the graph", flush=True)
        if isinstance(model, GraphPCA):
            start = time.perf_counter()
            model.smoothed(X)
            print(f"smoothed: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=600_000)
    parser.add_argument("--genes", type=int, default=2_000)
    given = parser.parse_args()
    main(given.cells, given.genes)
