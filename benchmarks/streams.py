"""Classes that come one after the other: KernelLDA on random features, beside classifiers that forget or are fitted again.

    python benchmarks/streams.py [--features 1000]

It reads MNIST and Fashion-MNIST from LAPWING_DATA. The rows of class 0 come first, then those of class 1, and so on, each class
in one batch. After each batch every method names the classes of those test rows whose class has been seen. In the end the model
of all batches is compared with one fit to all rows.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import NearestCentroid

from lapwing import LPP, KernelLDA

SETS = ("MNIST", "FashionMNIST")
COMPARED = 2_000  # test rows whose coordinates are compared with those of one fit


def read(name):
    """Training rows and test rows with their labels; pixels between 0 and 1."""
    with np.load(Path(os.environ["LAPWING_DATA"]) / f"{name}.npz") as held:
        X, y, n = held["X"].astype(np.float32) / 255, held["y"], int(held["n_train"])
    return X[:n], y[:n], X[n:], y[n:]


def centroids(Z, y, new):
    return NearestCentroid().fit(Z, y).predict(new)


def seconds(work):
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def run(name, n_features):
    X, y, X_test, y_test = read(name)
    features = FrozenEstimator(RBFSampler(gamma="scale", n_components=n_features, random_state=0).fit(X[y == 0]))
    F, F_test = features.transform(X), features.transform(X_test)
    sgd, sgd_features = SGDClassifier(random_state=0), SGDClassifier(random_state=0)
    kernel, linear = KernelLDA(features=features, standardize=False), LPP("auto", graph="supervised", standardize=False)
    steps, rows = {"KernelLDA": 0.0, "LPP": 0.0}, {}
    for c in range(10):
        batch, seen, tested = y == c, y <= c, y_test <= c
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of one class nothing is learnt, and the models say so
            for title, model in (("KernelLDA", kernel), ("LPP", linear)):
                _, took = seconds(lambda model=model, batch=batch: model.partial_fit(X[batch], y[batch]))
                steps[title] += took
        sgd.partial_fit(X[batch], y[batch], classes=np.arange(10))
        sgd_features.partial_fit(F[batch], y[batch], classes=np.arange(10))
        if c:
            answers = {
                f"KernelLDA on {n_features} features, nearest class mean": centroids(
                    kernel.transform(X[seen]), y[seen], kernel.transform(X_test[tested])
                ),
                "LPP with labels, nearest class mean": centroids(
                    linear.transform(X[seen]), y[seen], linear.transform(X_test[tested])
                ),
                "SGDClassifier on the same features": sgd_features.predict(F_test[tested]),
                "SGDClassifier on pixels": sgd.predict(X_test[tested]),
            }
            for title, answer in answers.items():
                rows.setdefault(title, {})[c + 1] = 100 * np.mean(answer == y_test[tested])
    joint, took = seconds(lambda: KernelLDA(features=features, standardize=False).fit(X, y))
    Z, expected = (model.transform(X_test[:COMPARED]) for model in (kernel, joint))
    apart = np.abs(Z - expected).max() / np.abs(expected).max()
    shuffled = np.random.RandomState(0).permutation(len(y))
    whole = SGDClassifier(random_state=0).fit(F[shuffled], y[shuffled])
    print(f"\n{name}: {len(X):,} rows, class by class; right answers among the classes seen so far, in per cent")
    print("| after so many classes | 2 | 4 | 6 | 8 | 10 |\n|---|---|---|---|---|---|")
    for title, found in rows.items():
        print(f"| {title} | " + " | ".join(f"{found[c]:.1f}" for c in (2, 4, 6, 8, 10)) + " |")
    print(f"SGDClassifier on the same features, all classes at once, shuffled: {100 * whole.score(F_test, y_test):.1f}")
    print(
        f"one fit of KernelLDA to all rows, same features: coordinates differ by {apart:.1e} of the largest; {took:.0f} s"
    )
    print(f"ten calls of partial_fit: KernelLDA {steps['KernelLDA']:.0f} s, LPP {steps['LPP']:.0f} s")
    assert apart < 1e-6


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", type=int, default=1_000)
    for name in SETS:
        run(name, parser.parse_args().features)
