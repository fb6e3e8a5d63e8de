"""Thesis, tables 5.7 and 5.8: which term weights, which k-means and which draws bring k-means and LSI to print.

    LAPWING_DATA=... python benchmarks/investigations/thesis_documents.py [tdt2] [reuters]

k-means on the documents and LSI have nothing to do with LPI, so they are tried alone. One line is one reading: the mean
distance from the printed numbers in points, the mean difference, and each difference, for 2, 5 and 10 classes (accuracy,
then mutual information). The draws of classes are the first of those that the table itself takes. It takes about a minute
of one core per corpus.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize

from lapwing.metrics import clustering_accuracy
from lapwing_papers.experiments import _thesis_text as thesis
from lapwing_papers.experiments import get

STARTS = 10
#: By corpus, numbers of classes and how many draws of so many classes are taken: draws of few differ much.
DRAWS = {"tdt2": {2: 12, 5: 6, 10: 3}, "reuters": {2: 20, 5: 10, 10: 5}}
TABLES = {"tdt2": "thesis-table-5.7", "reuters": "thesis-table-5.8"}


def tf_idf(C: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(TfidfTransformer().fit_transform(C))


TAKEN = "term frequencies, unit length"
WEIGHTS: dict[str, Callable[[sparse.csr_array], sparse.csr_array]] = {
    TAKEN: normalize,
    "term frequencies as they are": lambda C: C,
    "tf-idf, unit length": tf_idf,
}


def even(name: str, k: int, seed: int, most: int) -> thesis.Data:
    """Documents of random classes, at most so many of each: classes of equal size, nearly."""
    C, y = thesis._drawn(name, k, seed)
    random = np.random.RandomState(seed)
    rows = np.sort(np.concatenate([random.permutation(np.flatnonzero(y == c))[:most] for c in np.unique(y)]))
    return thesis._used_terms(C[rows]), y[rows]


def measured(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Accuracy, and mutual information over the larger and over the mean entropy."""
    information = [normalized_mutual_info_score(y, labels, average_method=m) for m in ("max", "arithmetic")]
    return np.array([clustering_accuracy(y, labels), *information])


def euclidean(A: sparse.csr_array, y: np.ndarray, k: int, seed: int, init: str) -> dict[str, np.ndarray]:
    """What ten starts give, by which of them is kept."""
    runs = [KMeans(k, n_init=1, init=init, random_state=STARTS * seed + i).fit(A) for i in range(STARTS)]
    found = np.array([measured(y, run.labels_) for run in runs])
    return {
        "best by objective": found[int(np.argmin([run.inertia_ for run in runs]))],
        "best by accuracy": found[int(np.argmax(found[:, 0]))],
        "mean of ten": found.mean(axis=0),
    }


def spherical(A: sparse.csr_array, y: np.ndarray, k: int, seed: int) -> np.ndarray:
    """k-means by angles: centres are scaled to length 1 in each step."""
    random, runs = np.random.RandomState(seed), []
    for _ in range(STARTS):
        centres, labels = A[random.choice(A.shape[0], k, replace=False)].toarray(), np.full(A.shape[0], -1)
        for _ in range(50):
            cosines = A @ centres.T
            new = cosines.argmax(axis=1)
            if np.array_equal(new, labels):
                break
            labels = new
            members = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), (k, len(labels)))
            sums = (members @ A).toarray()
            empty = ~sums.any(axis=1)
            sums[empty] = centres[empty]
            centres = normalize(sums)
        runs.append((cosines.max(axis=1).sum(), measured(y, labels)))
    return max(runs, key=lambda run: run[0])[1]


def of_one_draw(C: sparse.csr_array, y: np.ndarray, k: int, seed: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """Column of the table, reading, and what it gives."""
    for weights, weigh in WEIGHTS.items():
        A, taken = weigh(C), weights == TAKEN
        for init in ("k-means++", "random") if taken else ("k-means++",):
            for kept, found in euclidean(A, y, k, seed, init).items():
                if taken or kept == "best by objective":
                    yield "k-means", f"{weights}, {init}, {kept}", found
        if "unit" in weights:
            yield "k-means", f"{weights}, by angle, random, best by objective", spherical(A, y, k, seed)
        Z = TruncatedSVD(k, random_state=0).fit_transform(A)
        for label, coordinates in {"k dimensions": Z, "k dimensions, rows scaled": normalize(Z)}.items():
            labels = KMeans(k, n_init=STARTS, random_state=seed).fit_predict(coordinates)
            yield "LSI", f"{weights}, {label}", measured(y, labels)


def say(column: str, reading: str, found: np.ndarray, printed: np.ndarray) -> None:
    """``found`` is classes x (accuracy, two mutual informations); ``printed`` accuracies, then mutual informations."""
    for label, information in (("", 1), (", information over the mean entropy", 2)):
        miss = 100 * (found[:, [0, information]].T - printed).ravel()
        numbers = " ".join(f"{m:+6.1f}" for m in miss)
        print(
            f"{column:8} {reading + label:105} {np.abs(miss).mean():5.1f} {miss.mean():+6.1f} | {numbers}", flush=True
        )


def tried(name: str) -> None:
    table = get(TABLES[name]).published
    print(f"{TABLES[name]}: 2, 5, 10 classes, accuracy and mutual information")
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for k, n_draws in DRAWS[name].items():
        runs: dict[tuple[str, str], list[np.ndarray]] = {}
        for seed in range(n_draws):
            for column, reading, values in of_one_draw(*thesis._drawn(name, k, seed), k, seed):
                runs.setdefault((column, reading), []).append(values)
            for most in (100, 400):
                A, y = even(name, k, seed, most)
                found_even = euclidean(normalize(A), y, k, seed, "k-means++")["best by objective"]
                runs.setdefault(("k-means", f"at most {most} documents per class"), []).append(found_even)
        for key, values in runs.items():
            found.setdefault(key, []).append(np.mean(values, axis=0))
    for (column, reading), values in sorted(found.items()):
        printed = np.array(
            [[table[m][f"{k} classes"][column] for k in DRAWS[name]] for m in ("accuracy", "mutual information")]
        )
        say(column, reading, np.array(values), printed)


def main() -> None:
    for name in sys.argv[1:] or list(TABLES):
        tried(name)


if __name__ == "__main__":
    main()
