"""Rows on a device, as graphs see them: searched and measured there, and copied to the CPU only where a graph asks for X."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._extras import require
from ..devices import host, is_tensor
from ..maps import DeviceMap, Moments, Rest, SummaryMap
from ..rows import Rows, Units, encode_labels
from ._blocks import BlockRows
from ._copies import Copies
from ._device import Finder
from ._requests import Edges, Search, groups, is_exact, is_named
from ._screen import lengths_of
from ._spaces import TREE_DIMENSIONS
from ._streamed import streamed

PAIRS = 1 << 25  # at most this many numbers, in the rows of pairs, are held at a time
NONE = np.empty(0, dtype=np.intp)


class DeviceRows(Rows):
    """Rows that are a tensor. ``X``, for graphs that compute with it, is a copy on the CPU, made when it is asked for.

    Parameters
    ----------
    tensor : torch.Tensor of shape (n_samples, n_features)
    y : array-like or tensor of shape (n_samples,), default=None
    """

    def __init__(self, tensor: Any, y: Any = None):
        super().__init__(tensor, y)
        self.tensor = self.__dict__.pop("X")
        self.torch = require("torch", "gpu")

    def __getattr__(self, name: str) -> Any:
        """Make ``X``, which is a copy on the CPU, when it is first asked for."""
        if name != "X":
            raise AttributeError(f"rows have no {name!r}")
        self.X = host(self.tensor)
        return self.X

    @property
    def given(self) -> np.ndarray:
        return host(self.F.X)

    def divided(self, scale: np.ndarray) -> Rows:
        divisor = self.torch.from_numpy(scale).to(self.tensor.device, self.tensor.dtype)
        rows = DeviceRows(self.tensor / divisor, self.y)
        rows.F, rows.scale = DeviceMap(self.tensor, scale), scale
        return rows

    @cached_property
    def classes(self) -> np.ndarray:
        return host(device_labels(self.y, self.n, self.tensor))

    @cached_property
    def finder(self) -> Finder:
        """The search for Euclidean distances."""
        return Finder(self.tensor)

    @cached_property
    def norms(self) -> np.ndarray:
        return host(lengths_of(self.tensor))

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """Squared lengths about the mean."""
        mean = self.torch.from_numpy(self.mean).to(self.tensor.device)
        steps = range(0, self.n, max(1, PAIRS // self.tensor.shape[1]))
        parts = [(self.tensor[start : start + steps.step].double() - mean).square_().sum(1) for start in steps]
        return host(self.torch.cat(parts))

    @cached_property
    def mean(self) -> np.ndarray:
        return self.F.plain_mean

    def squared_distances(self, rows: np.ndarray) -> np.ndarray:
        part = self.tensor[self.torch.from_numpy(rows).to(self.tensor.device)]
        return Rows(host(part)).squared_distances(np.arange(rows.size))

    def dots(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self._of_pairs(rows, cols, lambda a, b: (a * b).sum(1))

    def cosines(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        def cosine(a: Any, b: Any) -> Any:
            return ((a / a.norm(dim=1)[:, None]) * (b / b.norm(dim=1)[:, None])).sum(1)

        return self._of_pairs(rows, cols, cosine)

    def _of_pairs(self, rows: np.ndarray, cols: np.ndarray, measure: Any) -> np.ndarray:
        i, j = (self.torch.from_numpy(index.astype(np.int64)).to(self.tensor.device) for index in (rows, cols))
        step = max(1, PAIRS // (2 * self.tensor.shape[1]))
        parts = [
            measure(self.tensor[i[a : a + step]].double(), self.tensor[j[a : a + step]].double())
            for a in range(0, len(i), step)
        ]
        return host(self.torch.cat(parts)) if parts else np.empty(0)


class DeviceClassRows(BlockRows):
    """Rows on a device of which graphs see only the classes: the mean of each class, its number of rows and its scatter.

    Parameters
    ----------
    tensor : torch.Tensor of shape (n_samples, n_features)
    y : labels or None
    units : callable, default=None
        Given the standard deviations of the columns, it returns what the columns are divided by. None leaves them as they
        are.
    """

    def __init__(self, tensor: Any, y: Any, units: Units | None = None):
        n, d = tensor.shape
        torch = require("torch", "gpu")
        labels = None if y is None else device_labels(y, n, tensor)
        self._moments = moments_of(torch, tensor, labels)
        scale = None if units is None else units(lambda few: self._moments.deviations())
        rest = DeviceRest(self._moments, tensor, labels)
        if scale is not None:
            self._moments = self._moments.divided(scale)
            rest = DeviceRest(self._moments, tensor, labels, scale)
        dtype = DeviceMap(tensor[:1]).dtype
        Rows.__init__(
            self,
            SummaryMap(np.empty((0, d), dtype), self._moments.pilot + rest.offsets, rest.counts, rest.scatter),
            y,
        )
        self._numbers, self.classes = NONE, None if labels is None else rest.labels  # type: ignore[assignment]
        self.scale, self.counts = scale, self.X.counts
        self.n_samples = self.F.n_samples = n
        self.F.plain_mean = self._moments.mean


class DeviceRest(Rest):
    """The moments of each class, with no rows taken out; passes with other weights are made on the device."""

    def __init__(self, moments: Moments, tensor: Any, labels: Any, scale: np.ndarray | None = None):
        self.pilot, self.n_classes = moments.pilot, moments.counts.size - 1
        self.classes = np.flatnonzero(moments.counts > 0)
        self.counts, self.sums = moments.counts[self.classes], moments.sums[self.classes]
        self.products = moments.products
        self._of_weights: list[tuple[np.ndarray, np.ndarray]] = []
        self._tensor, self._labels, self._scale = tensor, labels, scale

    def _passed(self, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        of_class = np.zeros(self.n_classes + 1)
        of_class[classes] = weights
        F = DeviceMap(self._tensor, self._scale)
        torch = F.torch
        # The label -1 reads the last place, which is 0.
        of_rows = torch.from_numpy(of_class).to(self._labels.device)[self._labels]
        return F.weighted_scatter(self.pilot, of_rows)


def moments_of(torch: Any, X: Any, labels: Any) -> Moments:
    """The counts and sums of each class, and the products of rows with and without a label, about a point near the mean."""
    F, n_classes = DeviceMap(X), 0 if labels is None else int(labels.max()) + 1
    pilot = DeviceMap(X[:: max(1, len(X) // 1000)]).plain_mean
    moments = Moments(pilot, n_classes)
    size = n_classes + 1
    places = None if labels is None else torch.where(labels < 0, n_classes, labels)
    sums = torch.zeros((size, X.shape[1]), dtype=torch.float64, device=X.device)
    products = torch.zeros((2, X.shape[1], X.shape[1]), dtype=torch.float64, device=X.device)
    mixed = labels is not None and bool((labels < 0).any())
    for rows, block in F.tensors(pilot):
        if places is None:
            sums[-1] += block.sum(0)
        else:
            sums += class_sums(torch, block, places[rows], size)
        if not mixed:
            products[int(places is None)].addmm_(block.T, block)
            continue
        for i, some in enumerate((labels[rows] >= 0, labels[rows] < 0)):
            part = block[some]
            products[i].addmm_(part.T, part)
    counts = torch.full((1,), float(len(X))) if places is None else torch.bincount(places, minlength=size)
    moments.counts, moments.sums, moments.products = host(counts).astype(np.float64), host(sums), host(products)
    return moments


def class_sums(torch: Any, block: Any, places: Any, size: int) -> Any:
    """The sums of the rows of each class. Where there are few classes, one product gives them."""
    if size <= 64:
        member = torch.zeros((len(block), size), dtype=torch.float64, device=block.device)
        return member.scatter_(1, places[:, None], 1.0).T @ block
    return torch.zeros((size, block.shape[1]), dtype=torch.float64, device=block.device).index_add_(0, places, block)


def device_labels(y: Any, n: int, like: Any) -> Any:
    """Labels as 0 ... c - 1, and -1 where unknown, on the same device as ``like``."""
    torch = require("torch", "gpu")
    given: Any = y if is_tensor(y) else np.asarray(host(y)) if y is not None else None
    whole = given is not None and given.ndim == 1 and len(given) == n
    if whole and not is_tensor(given) and given.dtype.kind in "iu" and given.dtype.itemsize <= 8:
        given = torch.from_numpy(given.astype(np.int64)).to(like.device)
    if not (whole and is_tensor(given)) or given.is_floating_point():
        codes = encode_labels(host(given) if is_tensor(given) else y, n)
        return torch.from_numpy(codes).to(like.device)
    names, inverse = torch.unique(given.to(like.device), return_inverse=True)
    codes = encode_labels(host(names), len(names))  # raises where labels are not valid
    return torch.from_numpy(codes).to(like.device)[inverse]


def is_searched_there(data: Any, search: Search) -> bool:
    """Whether neighbours are found on the device: by products, in more dimensions than those in which a tree is faster."""
    there = isinstance(data, DeviceRows) or is_named(search.search, "torch")
    if not there or search.metric_params or not is_exact(search.search) or not data.has_features:
        return False
    columns = (data.tensor if isinstance(data, DeviceRows) else data.X).shape[1]
    return is_named(search.metric, "euclidean", "l2", "cosine") and columns > TREE_DIMENSIONS


def require_there(data: Rows) -> None:
    """Raise where the rows are not dense, since ``search="torch"`` takes dense rows only."""
    require("torch", "gpu")
    if not data.has_features or sparse.issparse(data.F.X):
        what = "is sparse" if data.has_features else "holds a kernel"
        raise ValueError(f'search="torch" compares dense rows, and X {what}; leave search out')


def nearest_there(data: DeviceRows, search: Search) -> tuple[Any, Any] | None:
    """The nearest rows of every row among all rows, as tensors; None where the search asks for something else."""
    search = search.checked(data.n)
    if not is_searched_there(data, search) or search.among != "all" or search.is_sampled(data.n):
        return None
    if is_named(search.metric, "cosine"):
        data.require_nonzero_rows('metric="cosine"')
    if Copies.among(data, np.arange(data.n), None, search.n_neighbors) is not None:
        return None
    return data.once(("device", search.key), lambda: _whole(data, search))


def _whole(data: DeviceRows, search: Search) -> tuple[Any, Any]:
    finder = _finder(data, search)
    return finder.nearest(data.tensor, data.torch.arange(data.n, device=data.tensor.device), search.n_neighbors)


def _finder(data: DeviceRows, search: Search) -> Finder:
    if is_named(search.metric, "cosine"):
        return data.once("angles", lambda: Finder(data.tensor, "cosine"))
    return data.finder


def candidates_there(
    data: Rows,
    search: Search,
    queries: np.ndarray,
    members: np.ndarray,
    classes: np.ndarray | None,
    whole: bool = False,
) -> tuple[Edges, np.ndarray, np.ndarray]:
    """The members nearest to each query, with nothing left open. With ``whole``, all that are as near as the k-th are given."""
    parts = [
        _among(data, search, queries[some], members if which is None else members[which], whole)
        for some, which in groups(
            search.among if classes is not None else "all",
            queries.size,
            None if classes is None else classes[queries],
            None if classes is None else classes[members],
        )
    ]
    return Edges.joined(parts).by_row(), queries[:0], np.empty(0)


def _among(data: Rows, search: Search, queries: np.ndarray, members: np.ndarray, whole: bool) -> Edges:
    at = np.searchsorted(members, queries)
    inside = (at < members.size) & (members[np.minimum(at, members.size - 1)] == queries)
    k = min(search.n_neighbors, members.size - int(inside.any()))
    if k <= 0 or not queries.size:
        return Edges.joined([])
    own = np.where(inside, at, -1)
    if isinstance(data, DeviceRows):
        found = _here(data, search, queries, members, own, k, whole)
    else:
        metric = "cosine" if is_named(search.metric, "cosine") else "euclidean"
        found = streamed(data.X, queries, members, own, k, metric, whole)
    return Edges(queries[found.rows], members[found.cols], found.distances)


def _here(
    data: DeviceRows, search: Search, queries: np.ndarray, members: np.ndarray, own: np.ndarray, k: int, whole: bool
) -> Edges:
    """The edges between places of queries and places of members, where the rows are all on the device."""
    torch, device = data.torch, data.tensor.device
    all_rows = members.size == data.n
    rows = data.tensor if all_rows else data.tensor[torch.from_numpy(members).to(device)]
    metric = "cosine" if is_named(search.metric, "cosine") else "euclidean"
    finder = _finder(data, search) if all_rows else Finder(rows, metric)
    Q = data.tensor if queries.size == data.n else data.tensor[torch.from_numpy(queries).to(device)]
    mine = torch.from_numpy(own).to(device)
    if whole:
        return Edges.joined(Edges(*found) for found in finder.near(Q, mine, k))
    cols, d = finder.nearest(Q, mine, k)
    return Edges(np.repeat(np.arange(queries.size), k), host(cols).ravel(), host(d).ravel())
