"""Rows on a GPU: exact neighbours compared with those of the CPU, times and memory. The results are in docs/measured-large.md.

    python benchmarks/gpu.py --out out/gpu [--data FOLDER] [--parts same,tiles,search,...]

It needs a CUDA device. Each part writes one JSON object per line to ``gpu.jsonl`` in the folder of ``--out``. Where one part
fails, the next one is run. ``--data`` is a folder of .npy files, one per data set of at most 20,000 rows (``python
benchmarks/gpu.py --collect FOLDER`` writes it from LAPWING_DATA).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
from scipy.linalg import subspace_angles

import lapwing
from lapwing import LPP, MMC, NPE, OLPP, KernelLPP, LaplacianScore, device_search
from lapwing.data import Data
from lapwing.device import TorchData, on_first_device
from lapwing.graphs import KNN, Repulsion
from lapwing.neighbors import Request, choose, search

try:
    import torch
except ImportError:
    torch = None

LINES = []
CONFIGURATIONS = {  # BM, BN, warps, stages, BK
    "resident": [
        (128, 128, 8, 2, 64),
        (128, 128, 4, 2, 64),
        (128, 64, 4, 2, 64),
        (128, 64, 4, 3, 64),
        (128, 64, 8, 3, 64),
        (64, 128, 4, 2, 64),
        (64, 64, 4, 3, 64),
        (64, 256, 8, 2, 64),
        (128, 256, 8, 2, 64),
    ],
    "looped": [
        (128, 128, 8, 3, 64),
        (128, 128, 8, 4, 64),
        (128, 128, 8, 3, 128),
        (128, 128, 4, 3, 64),
        (128, 64, 4, 4, 64),
        (128, 256, 8, 3, 64),
        (128, 256, 8, 4, 64),
        (64, 256, 8, 4, 64),
        (64, 128, 4, 4, 64),
    ],
}


def say(**fields):
    line = json.dumps(fields, default=float)
    LINES.append(line)
    print(line, flush=True)


def rows(n, d, kind="mixed", seed=0, device="cuda"):
    """Gaussian rows ("noise"), or 100 clusters in 32 directions with some noise ("mixed"), as embeddings are."""
    g = torch.Generator(device=device).manual_seed(seed)
    X = torch.randn((n, d), generator=g, device=device)
    if kind == "noise":
        return X
    X *= 0.1
    basis = torch.randn((32, d), generator=g, device=device) / 5
    centres = 2 * torch.randn((100, 32), generator=g, device=device)
    for start in range(0, n, 1 << 18):
        size = min(1 << 18, n - start)
        own = torch.randint(0, 100, (size,), generator=g, device=device)
        X[start : start + size] += (centres[own] + torch.randn((size, 32), generator=g, device=device)) @ basis
    return X


def seconds(run, repeat=3):
    """The best of some runs, after one that compiles."""
    run()
    best = np.inf
    for _ in range(repeat):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def edges(X, k, metric="euclidean"):
    _, cols, d = (TorchData if torch.is_tensor(X) else Data)(X).nearest(Request(k, metric))
    return cols.reshape(-1, k), d.reshape(-1, k)


def doubtful(X, k):
    """How many queries the screen leaves in doubt."""
    data, everyone = TorchData(X), np.arange(len(X))
    cols, beyond = data.candidates(everyone, everyone, k + 5)
    near = choose(cols, data.distances(everyone, cols), k)[1]
    return int((beyond <= near[:, -1] * (1 + 2e-9)).sum())


def agree(name, X, k, metric="euclidean", **fields):
    """Neighbours on the device beside those on the CPU: rows that differ, and why."""
    a, da = edges(X, k, metric)
    b, db = edges(torch.from_numpy(X).cuda(), k, metric)
    differ = np.flatnonzero((np.sort(a, axis=1) != np.sort(b, axis=1)).any(axis=1))
    say(part="same", data=name, n=len(X), d=X.shape[1], k=k, metric=metric, dtype=str(X.dtype), rows_that_differ=differ.size,
        largest_difference=np.abs(da - db).max(), **fields)  # fmt: skip
    for row in differ[:3]:
        print(f"  row {row}: CPU {a[row]} {da[row]}\n  device {b[row]} {db[row]}", flush=True)


def part_same(args):
    """Small data of every kind."""
    rs = np.random.RandomState(0)
    data = {
        "noise": rs.randn(5000, 40),
        "wide": rs.randn(4500, 300),
        "far": rs.randn(5000, 20) + 1e4,
        "whole numbers": rs.randint(0, 3, (5000, 20)).astype(float),
        "copies": np.repeat(rs.randn(500, 20), 10, axis=0),
        "outliers": np.r_[rs.randn(5000, 20), 1e5 * rs.randn(3, 20)],
        "odd sizes": rs.randn(12_345, 129),
        "long": rs.randn(6000, 1000),
    }
    for (name, X), dtype in product(data.items(), (np.float32, np.float64)):
        guarded(agree, name, X.astype(dtype), 10)
    for name in ("noise", "outliers"):
        guarded(agree, name, data[name].astype(np.float32), 10, "cosine")


def part_data(args):
    """20,000 rows of each data set, neighbours on the device beside the CPU's."""
    for path in sorted(Path(args.data).glob("*.npy")) if args.data else []:
        X = np.load(path).astype(np.float32)
        guarded(agree, path.stem, X, 10)
        T = torch.from_numpy(X).cuda()
        say(part="data", data=path.stem, n=len(X), d=X.shape[1], seconds=searching(T, 10, 3), doubtful=doubtful(T, 10))


def part_exact(args):
    """1,000,000 rows: the neighbours of some of them by float64 differences with all, beside what the search finds."""
    for d, k in ((256, 10), (768, 5)):
        X = rows(1_000_000, d)
        found = TorchData(X).nearest(Request(k), on_device=True)[1].reshape(-1, k)
        some = torch.randint(0, len(X), (200,), generator=torch.Generator().manual_seed(0))
        differ = 0
        for row in some.tolist():
            squares = torch.cat([(part.double() - X[row].double()).square_().sum(1) for part in X.split(1 << 17)])
            squares[row] = torch.inf
            differ += int(not found[row].sort().values.equal(squares.topk(k, largest=False).indices.sort().values))
        say(part="exact", n=len(X), d=d, k=k, rows_looked_at=len(some), rows_that_differ=differ)


def part_numpy(args):
    """NumPy rows: KNN(10, search="torch") beside the search on the CPU's cores."""
    X = rows(100_000, 128).cpu().numpy()
    found, times = {}, {}
    for by in ("torch", "torch", None):  # the first compiles
        start = time.perf_counter()
        found[by] = Data(X).nearest(Request(10, search=by))[1]
        times[by] = time.perf_counter() - start
    say(part="numpy", n=len(X), d=X.shape[1], device=times["torch"], cpu=times[None], cores=os.cpu_count(),
        same=bool((found["torch"] == found[None]).all()))  # fmt: skip


def part_tiles(args):
    """Which tiles the kernels run fastest with; the fastest are used by the parts behind."""
    kernels = device_search
    n, q, steps = 1 << 19, 1 << 13, 64
    best = {}
    for d in (256, 768):
        Y = rows(n, d, "noise").half()
        H = torch.zeros(n, device="cuda")
        for kind in ("resident", "looped") if d <= 256 else ("looped",):
            kernels.RESIDENT_COLUMNS = 256 if kind == "resident" else 0
            for BM, BN, warps, stages, BK in CONFIGURATIONS[kind]:
                kernels.TILES[kind] = {"BM": BM, "BN": BN, "num_warps": warps, "num_stages": stages, "BK": BK}
                try:
                    out = torch.empty((q, n // steps), device="cuda")
                    took = seconds(lambda Y=Y, H=H, out=out: kernels.group_minima(Y[:q], Y, H, out, steps), 2)
                except Exception as error:
                    print(kind, d, kernels.TILES[kind], type(error).__name__, str(error)[:80], flush=True)
                    continue
                speed = 2 * n * q * d / took / 1e12
                say(part="tiles", kind=kind, d=d, tflops=speed, **kernels.TILES[kind])
                if speed > best.get((kind, d), (0,))[0]:
                    best[kind, d] = speed, dict(kernels.TILES[kind])
    for (kind, d), (speed, tiles) in best.items():
        say(part="best tiles", kind=kind, d=d, tflops=speed, **tiles)
    kernels.TILES["resident"] = best["resident", 256][1]
    kernels.TILES["looped"] = best["looped", 768][1]
    kernels.RESIDENT_COLUMNS = 256
    if best["looped", 256][0] > 1.05 * best["resident", 256][0]:
        kernels.RESIDENT_COLUMNS, kernels.TILES["looped"] = 128, best["looped", 256][1]


def part_groups(args):
    """How large the groups of columns should be."""
    before = device_search.GROUP_ROWS
    for n, d in ((100_000, 256), (1_000_000, 256), (1_000_000, 768)):
        X = rows(n, d)
        for steps in (16, 32, 64, 128):
            device_search.GROUP_ROWS = ((1 << 62, steps),)
            say(part="groups", n=n, d=d, group=steps, seconds=searching(X, 10, 1), doubtful=doubtful(X, 10))
    device_search.GROUP_ROWS = before


def fitted(n, d, kind="mixed", k=None, repeat=2):
    X = rows(n, d, kind)
    model = LPP(20) if k is None else LPP(20, graph=KNN(k))
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    took = seconds(lambda: model.fit(X), repeat)
    peak = torch.cuda.max_memory_allocated() - held
    say(part="search", n=n, d=d, data=kind, model=repr(model), fit=took, search=searching(X, k or 5, repeat),
        memory_gb=peak / 1e9, doubtful=doubtful(X, k or 5))  # fmt: skip
    return model, X


def searching(X, k, repeat):
    """The seconds of the search alone."""
    return seconds(lambda: TorchData(X).nearest(Request(k), on_device=True), repeat)


def part_search(args):
    """Exact search and LPP, tensors on the device."""
    for n, d, kind, k in (
        (100_000, 256, "mixed", None),
        (100_000, 256, "noise", 10),
        (1_000_000, 256, "mixed", None),
        (1_000_000, 256, "mixed", 10),
        (1_000_000, 256, "noise", None),
        (1_000_000, 768, "mixed", None),
    ):
        guarded(fitted, n, d, kind, k, 3 if n < 500_000 else 1)


def part_largest(args):
    """The most rows of which default graphs search for all neighbours: a linear map and a score of features."""
    X = rows(2_000_000, 256)
    for model in (LPP(20), LaplacianScore(20)):
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        took = seconds(lambda model=model: model.fit(X), 2)
        peak = torch.cuda.max_memory_allocated() - held
        say(part="largest", n=len(X), d=256, model=repr(model), fit=took, search=searching(X, 5, 2),
            memory_gb=peak / 1e9)  # fmt: skip


def part_ten_million(args):
    """The exact neighbours of 10,000,000 rows, once."""
    model = LPP(20, graph=KNN(5)).fit(rows(300_000, 128))  # compiles
    X = rows(10_000_000, 128)
    torch.cuda.reset_peak_memory_stats()
    held, start = torch.cuda.memory_allocated(), time.perf_counter()
    model.fit(X)
    torch.cuda.synchronize()
    took, peak = time.perf_counter() - start, torch.cuda.max_memory_allocated() - held
    say(part="ten_million", n=len(X), d=128, model=repr(model), fit=took, memory_gb=peak / 1e9)


def part_profile(args):
    """Where the time goes."""
    from torch.profiler import ProfilerActivity, profile

    for n, d in ((100_000, 256), (1_000_000, 256), (1_000_000, 768)):
        X = rows(n, d)
        LPP(20).fit(X)
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as found:
            LPP(20).fit(X)
        table = found.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=60)
        (Path(args.out) / f"profile_{n}_{d}.txt").write_text(table)
        print("\n".join(line[:62] + line[-110:] for line in table.splitlines()[:32]), flush=True)


def part_classes(args):
    """MMC on 10,000,000 x 64."""
    X = rows(10_000_000, 64)
    y = torch.randint(0, 10, (len(X),), device="cuda")
    X[torch.arange(len(X), device="cuda"), y] += 1
    took = seconds(lambda: MMC(9).fit(X, y))
    say(part="classes", model="MMC(9)", n=len(X), d=64, fit=took)
    took = seconds(lambda: LPP(9, graph="supervised").fit(X, y))
    say(part="classes", model="LPP supervised", n=len(X), d=64, fit=took)


def part_transform(args):
    """Transform beside one product, and beside one product of rows that are moved."""
    X = rows(1_000_000, 256)
    model = LPP(20).fit(X[:100_000])
    V = model.components_.T.contiguous()
    say(part="transform", n=len(X), d=256, transform=seconds(lambda: model.transform(X), 10), product=seconds(lambda: X @ V, 10),
        centred=seconds(lambda: (X - model.mean_) @ V, 10))  # fmt: skip


def part_blocks(args):
    """A block of a dask array, as a worker searches it: NumPy rows, 20,000 queries."""
    block = rows(1_000_000, 256).cpu().numpy()
    own, everyone, request = np.arange(0, len(block), 50), np.arange(len(block)), Request(5, search="torch")

    def searched():
        return search(on_first_device(Data(block), request), request, own, everyone)

    say(part="blocks", n=len(block), d=256, queries=len(own), seconds=seconds(searched, 2))


def part_baseline(args):
    """The same search by torch alone, in float32, as libraries of brute force do it: products and topk."""
    for n in (100_000,):
        X = rows(n, 256)
        squares = (X * X).sum(1) / 2

        def brute(X=X, squares=squares, n=n):
            for start in range(0, n, 8192):
                (squares - X[start : start + 8192] @ X.T).topk(11, dim=1, largest=False)

        say(part="baseline", what="torch float32 products and topk", n=n, d=256, seconds=seconds(brute, 2))
        with suppress(ImportError):
            from torchdr import __version__, pairwise_distances

            took = seconds(lambda X=X: pairwise_distances(X, k=10, exclude_diag=True, return_indices=True), 2)
            say(part="baseline", what=f"TorchDR {__version__}", n=n, d=256, seconds=took)


def angle(model, X, y):
    A = model.fit(X, y).components_
    B = lapwing.to_numpy(model.fit(torch.from_numpy(X).cuda(), y)).components_
    largest = subspace_angles(A.T.astype(float), B.T.astype(float)).max()
    say(part="others", model=" ".join(repr(model).split()), angle=largest)


def part_others(args):
    """Other methods run, and agree with the CPU."""
    X = rows(20_000, 64).cpu().numpy()
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    for model in (
        LPP(5),
        OLPP(5),
        NPE(5),
        MMC(5),
        LPP(5, graph="semi"),
        LPP(5, graph=KNN(7) - 0.2 * Repulsion(15)),
        KernelLPP(5, landmarks=300, random_state=0),
    ):
        guarded(angle, model, X, y)
    scores = LaplacianScore(5).fit(X).scores_
    there = lapwing.to_numpy(LaplacianScore(5).fit(torch.from_numpy(X).cuda())).scores_
    say(part="others", model="LaplacianScore", largest_difference=np.abs(scores - there).max())


def guarded(run, *args):
    try:
        return run(*args)
    except Exception:
        say(part="failed", what=run.__name__, args=repr([a for a in args if not isinstance(a, np.ndarray)])[:200])
        traceback.print_exc(file=sys.stdout)
        torch.cuda.empty_cache()


def collect(folder):
    """At most 20,000 rows of each data set that has more than 10,000."""
    source, folder = Path(os.environ["LAPWING_DATA"]), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("MNIST", "FashionMNIST", "GloVe6B_100d_top120k", "USPS_11000"):
        with np.load(source / f"{name}.npz", allow_pickle=False) as found:
            X = max((found[key] for key in found.files if found[key].ndim >= 2), key=lambda a: a.size)
        X = X.reshape(len(X), -1)[:20_000]
        np.save(folder / f"{name}.npy", X)
        print(name, X.shape, X.dtype)


PARTS = {name.removeprefix("part_"): run for name, run in list(globals().items()) if name.startswith("part_")}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="out/gpu")
    parser.add_argument("--data")
    parser.add_argument(
        "--parts", default="same,data,exact,search,largest,classes,transform,numpy,blocks,baseline,others"
    )
    parser.add_argument("--collect")
    args = parser.parse_args()
    if args.collect:
        collect(args.collect)
        sys.exit()
    Path(args.out).mkdir(parents=True, exist_ok=True)
    say(part="machine", device=torch.cuda.get_device_name(), torch=torch.__version__, lapwing_rows="float32")
    for name in args.parts.split(","):
        start = time.perf_counter()
        guarded(PARTS[name], args)
        torch.cuda.empty_cache()
        say(part="took", what=name, seconds=time.perf_counter() - start)
        (Path(args.out) / "gpu.jsonl").write_text("\n".join(LINES) + "\n")
