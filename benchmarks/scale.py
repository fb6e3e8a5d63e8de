"""Sampled graphs and rows on disk, as the number of rows grows.

    python benchmarks/scale.py                 10⁴ ... 10⁷ rows of 64 float32 features: time, memory, a plot; about 15 minutes
    python benchmarks/scale.py --most 1e6      less of it
    python benchmarks/scale.py --kinds         Zarr and memory maps at 10⁶ rows
    python benchmarks/scale.py --extrapolate   what 10⁹ rows of 768 features would take on 100 workers
    python benchmarks/scale.py --accuracy      only the comparison with the whole graph at 10⁵ rows, and on MNIST (LAPWING_DATA)
    python benchmarks/scale.py --against ../before/src   time and memory of 10⁶ and 10⁷ rows beside those of another checkout

Rows are written to a scratch folder (2.6 GB at 10⁷), one block at a time, and every fit runs in a process of its own. Memory
is the largest that was resident, with the interpreter and mapped pages included. Results go to out/scale.json and
out/scale.png.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
D, CLASSES, BLOCK, QUERIES = 64, 20, 100_000, 20_000
EXACT_UP_TO = 100_000


def rows(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes on curved patches of 8 dimensions, and noise; the same rows whatever the blocks."""
    fixed = np.random.default_rng(0)
    centres = 0.6 * fixed.standard_normal((CLASSES, 16))
    mixing = fixed.standard_normal((40, D)) / np.sqrt(D)
    scale = 0.3 / np.sqrt(D) * np.geomspace(3, 0.3, D)
    rng = np.random.default_rng([1, start])
    y = rng.integers(CLASSES, size=stop - start)
    latent = rng.standard_normal((stop - start, 8))
    inner = np.hstack([latent, latent**2, np.sin(2 * latent), centres[y]])
    return (inner @ mixing + rng.standard_normal((stop - start, D)) * scale).astype(np.float32), y


def written(folder: Path, n: int) -> Path:
    path = folder / f"{n}.npy"
    if not path.exists():
        out = np.lib.format.open_memmap(path, "w+", np.float32, (n, D))
        for start in range(0, n, BLOCK):
            out[start : start + BLOCK] = rows(start, min(start + BLOCK, n))[0]
        out.flush()
    return path


def opened(path: Path, kind: str):
    if kind == "zarr":
        import zarr

        return zarr.open(str(path), mode="r")
    return np.load(path, mmap_mode="r")


def graph_of(what: str):
    from lapwing.graphs import KNN

    return KNN(5) if what == "exact" else KNN(5, queries=QUERIES)


def fit(path: str, what: str, kind: str) -> None:
    """One fit, in this process; prints its time and the most memory that was resident."""
    from lapwing import LPP, MMC
    from lapwing.blocks import BlockData, Blocks

    X = opened(Path(path), kind)
    n, model, y = X.shape[0], LPP(16, graph=graph_of(what)), None
    if what == "MMC":
        model, y = MMC(16), np.concatenate([rows(s, min(s + BLOCK, n))[1] for s in range(0, n, BLOCK)]).astype(np.int8)
    if kind == "npy" and what != "exact":  # in blocks whatever the size
        X = BlockData(Blocks(X))
        X.y = y
    start, worked = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "cpu": worked, "bytes": peak}))


def measured(path: Path, what: str, kind: str = "npy", source: Path | None = None) -> dict:
    """A fit in a process of its own, which imports lapwing from the folder ``source`` where one is given."""
    command = [sys.executable, __file__, "--fit", str(path), what, kind]
    environment = os.environ | ({} if source is None else {"PYTHONPATH": str(source.resolve())})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def curve(folder: Path, most: float) -> list[dict]:
    found = []
    for n in [n for n in SIZES if n <= most]:
        path = written(folder, n)
        for what in ("exact", "queries", "MMC"):
            if what != "exact" or n <= EXACT_UP_TO:
                found.append({"n": n, "what": what, **measured(path, what)})
                last = found[-1]
                print(f"{n:>10,}  {what:<8} {last['seconds']:8.1f} s  {last['bytes'] / 2**20:8.0f} MiB", flush=True)
    return found


def against(other: Path, folder: Path, most: float, runs: int = 3) -> list[dict]:
    """Compare this checkout with another one, the best of a few runs of each: seconds, memory, and how both grow with n."""
    sources, found = {"this": Path(__file__).resolve().parent.parent / "src", "other": other}, []
    for n in [n for n in SIZES[-2:] if n <= most]:
        path = written(folder, n)
        for what in ("queries", "MMC"):
            each: dict[str, list[dict]] = {side: [] for side in sources}
            for side in [*sources] * (runs if n < SIZES[-1] else 1):
                each[side].append(measured(path, what, source=sources[side]))
            best = {side: min(each[side], key=lambda one: one["cpu"]) for side in sources}
            found.append({"n": n, "what": what, **best})
            ratios = [best["this"][key] / best["other"][key] for key in ("cpu", "bytes")]
            print(f"{n:>10,}  {what:<8}", end="")
            for side in sources:
                print(f"  {side} {best[side]['cpu']:8.2f} s {best[side]['bytes'] / 2**20:5.0f} MiB", end="")
            print(f"  time {ratios[0]:.2f}, memory {ratios[1]:.2f}", flush=True)
    for side in sources:
        slopes(
            [{"n": one["n"], "what": one["what"], "seconds": one[side]["cpu"]} for one in found], f"{side} checkout, "
        )
    return found


def slopes(found: list[dict], whose: str = "") -> None:
    for what in ("queries", "MMC"):
        points = [(r["n"], r["seconds"]) for r in found if r["what"] == what]
        for (n, s), (m, t) in pairwise(points):
            print(f"{whose}{what}: slope from {n:,} to {m:,} rows {np.log(t / s) / np.log(m / n):.2f}")


def plotted(found: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = {"exact": "LPP, all rows searched", "queries": f"LPP, {QUERIES:,} queries", "MMC": "MMC (one pass)"}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for what, marker, colour in zip(names, "sod", ("#c44e52", "#2a6f97", "#6a994e"), strict=True):
        points = [r for r in found if r["what"] == what]
        n = [r["n"] for r in points]
        axes[0].loglog(n, [r["seconds"] for r in points], marker=marker, color=colour, label=names[what])
        axes[1].loglog(n, [r["bytes"] / 2**20 for r in points], marker=marker, color=colour, label=names[what])
    largest = max(r["n"] for r in found)
    data = np.array([n for n in SIZES if n <= largest])
    axes[1].loglog(data, data * D * 4 / 2**20, color="0.6", linestyle=":", label="the rows themselves")
    axes[0].set(xlabel="rows", ylabel="seconds", title="time of a fit")
    axes[1].set(xlabel="rows", ylabel="MiB", title="most memory resident")
    for axis in axes:
        axis.grid(alpha=0.3, which="major")
    axes[0].legend(frameon=False, fontsize=8)
    axes[1].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=140)


def kinds(folder: Path) -> list[dict]:
    import zarr

    n = 1_000_000
    path = written(folder, n)
    X = np.load(path, mmap_mode="r")
    zarred = folder / "rows.zarr"
    if not zarred.exists():
        array = zarr.create_array(str(zarred), shape=X.shape, chunks=(BLOCK, D), dtype="float32")
        for start in range(0, n, BLOCK):
            array[start : start + BLOCK] = X[start : start + BLOCK]
    found = []
    for kind, place in (("npy", path), ("zarr", zarred)):
        found.append({"kind": kind, **measured(place, "queries", kind)})
        print(f"{kind:<8} {found[-1]['seconds']:8.1f} s  {found[-1]['bytes'] / 2**20:8.0f} MiB", flush=True)
    return found


def accuracy() -> list[dict]:
    """Sampled against whole graphs: the objective on the whole graph, and 1-NN on held-out rows."""
    from sklearn.model_selection import train_test_split

    sets = {"synthetic": rows(0, 120_000)}
    folder = os.environ.get("LAPWING_DATA")
    if folder:
        mnist = np.load(f"{folder}/MNIST.npz")
        sets["MNIST"] = mnist["X"].astype(np.float32), mnist["y"]
    return [
        row
        for name, (X, y) in sets.items()
        for row in against_exact(name, *train_test_split(X, y, test_size=1 / 6, random_state=0))
    ]


def against_exact(name: str, X: np.ndarray, X_new: np.ndarray, y: np.ndarray, y_new: np.ndarray) -> list[dict]:
    from sampling import objective
    from sklearn.neighbors import KNeighborsClassifier

    from lapwing import LPP, sampling_error
    from lapwing.data import as_data
    from lapwing.graphs import KNN

    sample = as_data(X)
    exact = LPP(16, graph=KNN(5, symmetry="mean")).fit(sample)
    W = KNN(5, symmetry="mean").adjacency(sample)  # searched once
    found = []
    for queries in (None, "default", 1_000, 2_000, 5_000, 10_000, 20_000, 40_000):
        start = time.perf_counter()
        graph = KNN(5) if queries == "default" else KNN(5, queries=queries)
        model = exact if queries is None else LPP(16, graph=graph).fit(X)
        seconds = time.perf_counter() - start
        nearest = KNeighborsClassifier(1).fit(model.transform(X), y)
        told = sampling_error(model, X) if isinstance(queries, int) else None
        found.append(
            {
                "data": name,
                "n": len(X),
                "queries": queries,
                "seconds": None if queries is None else seconds,
                "objective": objective(model.transform(X), W),
                "accuracy": float(nearest.score(model.transform(X_new), y_new)),
                "sampling": told,
            }
        )
        best, row = found[0]["objective"], found[-1]
        print(
            f"{name:<10} {len(X):,} rows  queries {queries!s:<7} objective {row['objective'] / best - 1:+.2%}  "
            f"1-NN {row['accuracy']:.4f}"
            + ("" if told is None else f"  told {told['excess']:.2%}, angle {told['angle']:.0f}°"),
            flush=True,
        )
    return found


def rates(d: int, n_rows: int = 40_000, q: int = 4_000) -> dict[str, float]:
    """Operations per second of one core: for the sums of products in the first pass, and for the search in the second."""
    from threadpoolctl import threadpool_limits

    from lapwing.data import ClassSums, as_data
    from lapwing.neighbors import Request, search

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, d), dtype=np.float32) * np.geomspace(1, 0.1, d, dtype=np.float32)

    def best(work, times: int = 3) -> float:
        seconds = []
        for _ in range(times):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    with threadpool_limits(1):
        moments = best(lambda: ClassSums(d, False, X.dtype).add(X, None, None))
        found = best(lambda: search(as_data(X), Request(6), np.arange(q), np.arange(n_rows)))
    return {"moments": 2 * n_rows * d * d / moments, "search": 2 * q * n_rows * d / found}


def extrapolated(
    n: float = 1e9,
    d: int = 768,
    q: int = QUERIES,
    k: int = 5,
    workers: int = 100,
    cores: int = 8,
    rows_of_a_block: float = 1e5,
) -> dict[str, float]:
    """The seconds of the passes of a fit on a cluster whose cores are as fast as one here.

    It assumes 1 GB per second to and from each worker, also when it reads its rows, which it does three times where they do
    not fit in its memory. It also assumes a thousand tasks per second.
    """
    rate, blocks, network, tasks_a_second = rates(d), n / rows_of_a_block, 1e9, 1e3
    flops = {"moments": 2 * n * d * d, "search": 2 * q * n * d}
    sums, nearest, queries = 2 * d * d * 8, q * k * 24, q * d * 4
    moved = blocks * 4 / 3 * (sums + nearest) + workers * queries + q * d * 4 + q * k * d * 4
    tasks = 3 * blocks + 2 * blocks / 3
    seconds = {
        "moments": flops["moments"] / rate["moments"] / workers / cores,
        "search": flops["search"] / rate["search"] / workers / cores,
        "reading, three times": 3 * n * d * 4 / workers / network,
        "results and queries": moved / workers / network,
        "scheduling": tasks / tasks_a_second,
    }
    print(f"rates of a core: moments {rate['moments'] / 1e9:.0f}, search {rate['search'] / 1e9:.0f} GFLOP/s")
    print(f"{n:.0e} x {d}, {q:,} queries, {workers} workers of {cores} cores, {blocks:,.0f} blocks")
    print(f"rows {n * d * 4 / 1e12:.1f} TB, {n * d * 4 / workers / 1e9:.0f} GB a worker")
    print(f"operations: moments {flops['moments']:.1e}, search {flops['search']:.1e}")
    print(
        f"moved: {moved / 1e9:.0f} GB ({sums / 1e6:.1f} and {nearest / 1e6:.1f} MB a block, "
        f"queries {queries / 1e6:.0f} MB a worker)"
    )
    print(f"tasks: {tasks:,.0f}")
    for name, value in seconds.items():
        print(f"  {name:<22} {value:8.0f} s")
    print(f"  {'all, one after another':<22} {sum(seconds.values()):8.0f} s")
    return {**seconds, "moved": moved, "tasks": tasks, **{f"rate of {name}": value for name, value in rate.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=float, default=SIZES[-1])
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--extrapolate", action="store_true")
    parser.add_argument("--against", type=Path, metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--scratch", type=Path, help="folder for the rows; a temporary one when not given")
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        return fit(*options.fit)
    out = Path("out")
    out.mkdir(exist_ok=True)
    path = out / "scale.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        scratch = options.scratch or Path(temporary)
        scratch.mkdir(exist_ok=True)
        if options.kinds:
            results["kinds"] = kinds(scratch)
        elif options.extrapolate:
            results["billion"] = extrapolated()
        elif options.accuracy:
            results["accuracy"] = accuracy()
        elif options.against:
            results["against"] = against(options.against, scratch, options.most)
        else:
            results["curve"] = curve(scratch, options.most)
            slopes(results["curve"])
            plotted(results["curve"], out / "scale.png")
            results["accuracy"] = accuracy()
    path.write_text(json.dumps(results, indent=1))
    return None


if __name__ == "__main__":
    main()
