r"""Which share of the energy should ``pca="auto"`` keep? Held-out 1-NN accuracy of every method over a grid of pca.

    python benchmarks/defaults.py --out out/defaults.jsonl
    python benchmarks/defaults.py --table out/defaults.jsonl

More data sets, beside PCA and LDA:

    python benchmarks/defaults.py --pca auto --datasets AR PIE UMIST YaleB Libras MNIST BinAlpha "PIE 5 poses" --splits 5 \
        --out out/others.jsonl
    python benchmarks/defaults.py --beside out/others.jsonl

The same for the scaling of the directions:

    python benchmarks/defaults.py --pca auto --scaling constraint --out out/constraint.jsonl
    python benchmarks/defaults.py --table out/defaults.jsonl --against out/constraint.jsonl

Each line of the output file is one (data set, split); a run that was stopped goes on where it left off. Data sets other
than the digits are read from the folder LAPWING_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from lapwing import DNE, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP
from lapwing.graphs import Reconstruction, Repulsion, SameClass

METHODS = {
    "LPP": LPP,
    "LPP, class graph": lambda k, pca: LPP(k, graph=SameClass(), pca=pca),
    "OLPP": OLPP,
    "OLPP, class graph": lambda k, pca: OLPP(k, graph=SameClass(), pca=pca),
    "OLPP-R": lambda k, pca: OLPP(k, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace", pca=pca),
    "NPE": NPE,
    "ONPP": ONPP,
    "ONPP, class graph": lambda k, pca: ONPP(k, graph=Reconstruction(among="same_class"), pca=pca),
    "MMC": MMC,
    "LPDP": LPDP,
    "MFA": MFA,
    "DNE": DNE,
}
BESIDE = {
    "PCA": lambda k, pca: PCA(k),
    "LDA": lambda k, pca: LinearDiscriminantAnalysis(n_components=k),
}
ASKED = (None, 0.9, 0.95, 0.98, 0.99, "n-c")  # what pca="auto" is held against
FILES = {
    "ORL": "ORL_32x32",
    "Yale": "Yale_32x32",
    "USPS": "USPS_11000",
    "COIL20": "COIL20",
    "ISOLET1": "ISOLET1",
    "MFeat": "MFeat",
}
DATASETS = ("digits", *FILES)
OTHERS = {  # the first five showed that 1.25 directions a component are needed; the last three had no part in any choice
    "AR": "AR_100people_32x32",
    "PIE": "PIE_pose27_32x32",
    "UMIST": "UMIST_28x23",
    "YaleB": "YaleB_32x32",
    "Libras": "Libras",
    "MNIST": "MNIST",
    "BinAlpha": "BinAlpha",
    "PIE 5 poses": "PIE_5pose_10people_32x32",
}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        return load_digits(return_X_y=True)
    data = np.load(Path(os.environ["LAPWING_DATA"]) / f"{(FILES | OTHERS)[name]}.npz")
    X, y = data["X"].astype(np.float64), data["y"]
    if name == "MNIST":
        X, y = X[:3000], y[:3000]
    if name == "USPS":  # the 1,000 images of Gui et al.: the first 100 of each digit
        rows = np.concatenate([np.flatnonzero(y == c)[:100] for c in range(10)])
        X, y = X[rows], y[rows]
    return (StandardScaler().fit_transform(X), y) if name == "MFeat" else (X, y)


def accuracies(name: str, split: int, shares: tuple, scaling: str) -> dict:
    """Held-out 1-NN accuracy at c - 1 and 2 (c - 1) components for every method and pca."""
    X, y = load(name)
    train, test = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=split).split(X, y))
    c = y.max() + 1
    dims = (int(c - 1), int(2 * (c - 1)))
    found: dict[str, dict] = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for method, build in (METHODS | BESIDE).items():
            found[method] = {}
            for pca in shares:
                value = train.size - c if pca == "n-c" else pca
                if pca == "n-c" and value >= X.shape[1]:
                    value = None
                scores = []
                for k in dims:
                    try:
                        model = build(k, pca=value)
                        if "scaling" in model.get_params(deep=False):
                            model.set_params(scaling=scaling)
                        model.fit(X[train], y[train])
                        Z, T = model.transform(X[train]), model.transform(X[test])
                        scores.append(_score(Z, y[train], T, y[test]))
                    except ValueError as error:  # an energy that keeps fewer directions than k, or a rank below k
                        if "n_components" not in str(error) or "Invalid parameter" in str(error):
                            raise
                        scores.append(None)
                found[method][str(pca)] = scores
    return {"dataset": name, "split": split, "accuracy": found}


def _score(Z: np.ndarray, y: np.ndarray, T: np.ndarray, y_true: np.ndarray) -> float:
    return float((y[pairwise_distances_argmin(T, Z)] == y_true).mean())


def run(names: list[str], splits: int, out: Path, *how: object) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {(r["dataset"], r["split"]) for r in read(out)} if out.exists() else set()
    todo = [(name, split) for split in range(splits) for name in names if (name, split) not in done]
    jobs = Parallel(n_jobs=2, return_as="generator_unordered")(delayed(accuracies)(*job, *how) for job in todo)
    with out.open("a") as file:
        for number, row in enumerate(jobs, 1):
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{number} of {len(todo)}: {row['dataset']}, split {row['split']}", flush=True)


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def means(rows: list[dict], name: str, method: str, at: int) -> dict[str, float]:
    """Mean accuracy in percent by pca, where every split has one."""
    cells: dict[str, list] = {}
    for row in rows:
        if row["dataset"] == name:
            for pca, scores in row["accuracy"][method].items():
                cells.setdefault(pca, []).append(scores[at])
    return {pca: 100 * float(np.mean(v)) for pca, v in cells.items() if None not in v}


def compare(path: Path, other: Path, at: int) -> None:
    """The default of the two runs side by side."""
    rows, others = read(path), read(other)
    names = [name for name in DATASETS if any(r["dataset"] == name for r in others)]
    print("| method | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for method in ("LPP", "LPP, class graph", "NPE", "LPDP", "MFA"):
        both = [(means(rows, name, method, at)["auto"], means(others, name, method, at)["auto"]) for name in names]
        print(f"| {method} | " + " | ".join(f"{a:.1f} / {b:.1f}" for a, b in both) + " |")


def beside(path: Path, at: int) -> None:
    """The defaults, with PCA and LDA."""
    rows = read(path)
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    print("| method | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for method in (*BESIDE, *METHODS):
        found = [means(rows, name, method, at).get("auto", np.nan) for name in names]
        print(f"| {method} | " + " | ".join("" if np.isnan(value) else f"{value:.1f}" for value in found) + " |")


def table(path: Path, at: int) -> None:
    rows = read(path)
    names = [name for name in DATASETS if any(r["dataset"] == name for r in rows)]
    print("| method | " + " | ".join(names) + " | worst gap |")
    print("|---|" + "---|" * (len(names) + 1))
    for method in METHODS:
        cells, gaps = [], []
        for name in names:
            found = means(rows, name, method, at)
            best = max((found[str(p)], str(p)) for p in ASKED if str(p) in found)
            gaps.append(best[0] - found["auto"])
            cells.append(f"{found['auto']:.1f} ({best[0]:.1f} at {best[1]})")
        print(f"| {method} | " + " | ".join(cells) + f" | {max(gaps):+.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--out", type=Path, default=Path("out/defaults.jsonl"))
    parser.add_argument("--table", type=Path, help="print the table of a finished run")
    parser.add_argument("--twice", action="store_true", help="at 2 (c - 1) components instead of c - 1")
    parser.add_argument("--beside", type=Path, help="print the defaults of a finished run beside PCA and LDA")
    parser.add_argument("--against", type=Path, help="a second run, to set the defaults of both side by side")
    parser.add_argument("--pca", choices=["all", "auto"], default="all")
    parser.add_argument("--scaling", choices=["unit", "constraint"], default="unit")
    args = parser.parse_args()
    if args.against:
        compare(args.table, args.against, int(args.twice))
    elif args.beside:
        beside(args.beside, int(args.twice))
    elif args.table:
        table(args.table, int(args.twice))
    else:
        shares = ("auto",) if args.pca == "auto" else (*ASKED, "auto")
        run(args.datasets, args.splits, args.out, shares, args.scaling)


if __name__ == "__main__":
    main()
