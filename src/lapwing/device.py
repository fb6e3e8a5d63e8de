"""Tensors of torch, on the CPU or on a GPU: the same verbs, computed where the tensor is; small matrices come to the host.

Arrays of other libraries are exchanged through DLPack, without a copy. Those on the CPU become NumPy arrays, and those on a
device, such as CuPy's, become tensors of torch. Fitted attributes are arrays of the library and the device that X came from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator

from . import data as rows_of_numpy
from ._extras import require
from ._validation import is_foreign
from .data import EPS, FAR, LEAST_ENTRY, MOST_ENTRY, OUT_OF_RANGE, Data, Summary
from .neighbors import SPARE, Request, bound, is_named
from .operators import Structured

CPU = 1  # the number by which DLPack calls the CPU
EXACT_ROWS = 2_000_000  # up to this many rows on a GPU, default graphs search for the neighbours of all rows
TREE_COLUMNS = 15  # among up to this many columns, the trees of the CPU are faster than products on a device
FEW_ROWS = 4096  # and among up to this many rows, the CPU searches as well
BLOCK_ENTRIES = {"cpu": 1 << 20}  # float64 numbers per block on the CPU; other devices take MANY_ENTRIES
MANY_ENTRIES = 1 << 25
FEW_CLASSES = 64  # the sums of up to this many classes come from one product
# The names of attributes that hold what was learnt, by an estimator or by the steps of a pipeline.
LEARNT = re.compile(r"^_|(?<!feature_names_in)_$|^(steps|transformer_list)$")
NEGLIGIBLE = 1e-13  # row sums of a Laplacian up to this share of its degrees count as 0


# ---- how arrays come in, and how results go back


class Device:
    """Where an array of another library lives: its library, and the device that it is on."""

    def __init__(self, X: Any):
        if getattr(X, "is_sparse", False) or "sparse" in str(getattr(X, "layout", "")):
            raise TypeError("X is a sparse tensor, which is not taken; pass X.to_dense(), or a sparse array of SciPy")
        self.library = type(X).__module__.partition(".")[0]
        number = tuple(map(int, X.__dlpack_device__()))
        self.name = str(X.device) if self.library == "torch" else str(number)
        self.is_cpu, self._like = number[0] == CPU, X[:0] if X.ndim else X

    def __repr__(self) -> str:
        return f"{self.library} on {self.name}"

    def to_caller(self, found: Any) -> Any:
        """A result, which is a NumPy array or a tensor, as an array of this library and device; a fitted estimator with such."""
        if isinstance(found, BaseEstimator):
            learnt = {name: value for name, value in vars(found).items() if LEARNT.search(name)}
            vars(found).update({name: change_arrays(value, self.to_caller) for name, value in learnt.items()})
            return found
        if self.library == "torch" or not self.is_cpu:
            torch = sys.modules["torch"]
            where = self._like.device if self.library == "torch" else torch.from_dlpack(self._like).device
            found = np.ascontiguousarray(found) if isinstance(found, np.ndarray) else found
            found = torch.as_tensor(found, device=where)
        if self.library == "torch":
            return found
        named = hasattr(self._like, "__array_namespace__")
        return (self._like.__array_namespace__() if named else sys.modules[self.library]).from_dlpack(found)


def host(array: Any) -> Any:
    """An array of any library as a NumPy array on the CPU; what is no such array stays as it is."""
    if type(array).__module__.partition(".")[0] == "torch":
        return array.detach().cpu().numpy()
    if isinstance(array, np.ndarray | np.generic) or not hasattr(array, "__dlpack__"):
        return array
    if int(array.__dlpack_device__()[0]) == CPU:
        return np.array(np.from_dlpack(array))
    return require("torch", "gpu").from_dlpack(array).cpu().numpy()


def validated(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, fitting: bool = True, least: int | None = None
) -> Data:
    """Arrays of another library as a Data: a tensor, or NumPy rows whose ``device`` says where results go.

    A tensor is real and finite, in float32 or float64, with as many features as were fitted.
    """
    device, given = Device(X) if fitting else shared_device(estimator, X), X
    if device is None or (device.is_cpu and device.library != "torch"):
        weights = host(sample_weight)
        data = rows_of_numpy.validated(to_numpy(estimator), host(X), host(y), weights, fitting, least)
        data.host = data.host if device is None else host
        data.given, data.device = X, device
        return data
    if sample_weight is not None:
        raise ValueError(f"sample_weight does not act on {estimator!r}: it takes rows in NumPy arrays, but X is none")
    torch, least = require("torch", "gpu"), least or (2 if fitting else 1)
    X = X.detach() if device.library == "torch" else torch.from_dlpack(X)
    if X.dtype not in (torch.float32, torch.float64):
        if X.dtype.is_complex or X.dtype == torch.bool:
            raise ValueError(f"X holds {X.dtype}, and numbers are needed; convert it to float32 or float64")
        X = X.to(torch.float32 if X.dtype in (torch.float16, torch.bfloat16) else torch.float64)
    if X.ndim != 2 or len(X) < least or 0 in X.shape:
        raise ValueError(
            f"Expected 2D array of at least {least} sample(s) and 1 feature, and X has shape {tuple(X.shape)}"
        )
    if not fitting and X.shape[1] != (expected := estimator.n_features_in_):
        name = type(estimator).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {expected} features as input.")
    data = TorchData(X, y)
    data.given, data.device = given, device
    lowest, highest = map(float, X.aminmax())
    largest = max(-lowest, highest)
    if not largest < np.inf:
        raise ValueError("X contains NaN or infinity, or a value too large; remove or replace it")
    if fitting and largest and not LEAST_ENTRY[data.dtype.name] < largest < MOST_ENTRY:
        raise ValueError(OUT_OF_RANGE)
    return data


def shared_device(estimator: Any, X: Any) -> Device | None:
    """Where a fitted model and its rows live. A model of NumPy arrays takes all arrays on the CPU; then this is None."""
    own = next((Device(value) for value in vars(estimator).values() if is_foreign(value)), None)
    device = Device(X) if is_foreign(X) else None
    if repr(device) == repr(own) or (own is None and device is not None and device.is_cpu):
        return own
    given = "not on a device" if device is None else f"an array of {device}"
    raise ValueError(
        f"{type(estimator).__name__} was fitted on {own or 'NumPy arrays'}, and X is {given}; move X there, or use "
        "lapwing.to_numpy(model), which transforms NumPy arrays"
    )


def computed_on_host(method: Callable, estimator: Any, X: Any, *more: Any, **named: Any) -> Any:
    """What a method of a model gives for an array of another library. It is computed with NumPy arrays."""
    device = shared_device(estimator, X)
    found = method(to_numpy(estimator), host(X), *map(host, more), **{key: host(value) for key, value in named.items()})
    return found if device is None else device.to_caller(found)


def to_numpy(model: Any) -> Any:
    """A copy of a fitted model with NumPy arrays for attributes, whatever library and device it was fitted on.

    Parameters
    ----------
    model : estimator
        Or a pipeline, whose steps are copied too. The model itself stays where it is.

    Returns
    -------
    estimator
        One that transforms NumPy arrays. Arrays that are NumPy's already are shared, not copied.

    Examples
    --------
    >>> import lapwing
    >>> from sklearn.datasets import load_iris
    >>> model = lapwing.LPP(2).fit(load_iris().data)
    >>> type(lapwing.to_numpy(model).components_).__name__
    'ndarray'
    """
    return change_arrays(model, host)


def change_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """An array with ``change`` applied, or a copy of a list of arrays, or of an estimator, with that of all it has learnt."""
    if type(value) in (list, tuple):
        return type(value)(change_arrays(v, change) for v in value)
    if isinstance(value, BaseEstimator):
        other, learnt = copy(value), [name for name in vars(value) if LEARNT.search(name)]
        vars(other).update({name: change_arrays(vars(value)[name], change) for name in learnt})
        return other
    is_array = value.dtype.kind in "fiub" if isinstance(value, np.ndarray) else hasattr(value, "__dlpack__")
    return change(value) if is_array else value


# ---- the rows


class TorchData(Data):
    """Rows that are a tensor of float32 or float64, and their labels, an array of any library. They take no sample weights.

    ``X`` is a copy on the host, made where something asks for it that computes with NumPy. ``source`` is as that of Data.
    """

    host, is_on_device, knows_gram = staticmethod(host), True, True

    def __init__(self, tensor: Any, y: Any = None, weights: None = None, source: TorchData | None = None):
        super().__init__(tensor, y, source=source)
        self.tensor, self.labels = self.__dict__.pop("X"), self.__dict__.pop("y")
        self.torch = sys.modules["torch"]
        self.dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
        self.exact_rows = 0 if tensor.device.type == "cpu" else EXACT_ROWS
        self.entries = BLOCK_ENTRIES.get(tensor.device.type, MANY_ENTRIES)  # numbers in float64 that are held at a time
        self.step = max(1, self.entries // max(1, self.d))
        self.slices = [slice(start, start + self.step) for start in range(0, self.n, self.step)]
        self._wide_step = max(1, self.entries // max(1, self.n))
        self.blocks = tensor.split(self.step)

    @cached_property
    def X(self) -> np.ndarray:  # noqa: N802
        return host(self.tensor)

    @cached_property
    def y(self) -> Any:
        return host(self.labels)

    def own(self, array: Any) -> Any:
        """An array of NumPy on the device; tensors as they are."""
        if not isinstance(array, np.ndarray):
            return array
        return self.torch.from_numpy(np.ascontiguousarray(array)).to(self.tensor.device)

    def divided(self, scale: np.ndarray) -> TorchData:
        is_far = (np.abs(self.mean()) > FAR * scale).any()  # as for rows of NumPy
        exact = self.own(scale.astype(np.float64 if is_far else self.dtype))
        divided = TorchData(self.tensor / exact, self.labels, source=self)
        divided.is_divided, divided.dtype = True, self.dtype
        return divided

    def without(self, columns: list[int]) -> Data:
        raise ValueError("graph= has columns beside the features, which takes X as a NumPy array")

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> TorchData:
        shift, directions, dtype = self.own(about), self.own(N), self.tensor.dtype
        parts = [((block.double() - shift) @ directions).to(dtype) for block in self.blocks]
        return TorchData(self.torch.cat(parts), self.labels)

    def form(self, M: Structured, about: np.ndarray) -> Any:
        """The form of the row sums, which for a Laplacian are 0, and that of edges by differences, which lose no digits."""
        if M.rest is not None or any(isinstance(U, LinearOperator) for U, _ in M.factors):
            return super().form(M, about)
        S, sums, total, shift = M.sparse, M.diag, np.zeros((self.d, self.d)), self.own(about)
        if S is not None:
            across = np.asarray(S.sum(axis=1)).ravel()
            sums = across if sums is None else across + sums
            sums = None if M.diag is not None and (np.abs(sums) <= NEGLIGIBLE * np.abs(M.diag)).all() else sums
            if isinstance(S, DeviceMatrix):
                edges = S.first, S.second, S.weights
            else:
                above = sparse.triu(S, k=1, format="coo")
                edges = tuple(map(self.own, (above.row.astype(np.int64), above.col.astype(np.int64), above.data)))
            products = self.torch.zeros((self.d, self.d), dtype=self.torch.float64, device=self.tensor.device)
            for i, j, weights in zip(*(part.split(self.step) for part in edges), strict=True):
                apart = self.tensor[i].double()
                apart -= self.tensor[j]
                products.addmm_(apart.T, weights[:, None] * apart)
            total -= host(products)
        if sums is not None and not np.ptp(sums) and not self.is_wide:
            total += sums[0] * self.gram(about)
        elif sums is not None:
            weighted = zip(self.blocks, self.own(sums).split(self.step), strict=True)
            parts = ((block.double() - shift, w) for block, w in weighted)
            total += host(sum(part.T @ (w[:, None] * part) for part, w in parts))
        for U, c in M.factors:
            rows = (U[start : start + self.step] for start in range(0, self.n, self.step))
            members = (self.own(part.toarray() if sparse.issparse(part) else part).double() for part in rows)
            UtF = host(sum(own.T @ (block.double() - shift) for block, own in zip(self.blocks, members, strict=True)))
            total += UtF.T @ (c[:, None] * UtF)
        return (total + total.T) / 2

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        return super().form_diagonal(M, about) if M.is_diagonal else np.diagonal(self.form(M, about)).copy()

    def class_sums(self, labelled: bool) -> Summary:
        """The mean of each class as a row, of unknown labels as well; without labels one mean of all rows."""
        codes = self.own(self.classes if labelled else np.full(self.n, -1))
        size, first = int(codes.max()) + 2, self.tensor[0].double()
        places = codes % size
        parts = list(zip(self.blocks, places.split(self.step), strict=True))
        counts = self.torch.bincount(places, minlength=size)
        sums = sum(class_totals(block.double() - first, own, size) for block, own in parts)
        means, there = first + sums / counts.clamp(min=1)[:, None], np.flatnonzero(host(counts))

        def scatter(weights: np.ndarray) -> np.ndarray:
            each = np.zeros(size)
            each[there] = weights
            w = self.own(each)
            within = ((block.double() - means[own], w[own, None]) for block, own in parts)
            total = host(sum(rows.T @ (w * rows) for rows, w in within))
            return (total + total.T) / 2

        y = np.where(there < size - 1, there, -1) if labelled else None
        shares = host(sum((block != 0).sum(0) for block in self.blocks)) / self.n
        sizes = host(counts)[there].astype(np.float64)
        summary = Summary(host(means)[there], y, sizes, scatter, self.dtype, shares)
        summary.given, summary.device = self.given, self.device
        return summary

    # ---- neighbours

    @cached_property
    def screen(self) -> Any:
        from .device_search import Screen

        return Screen(self.tensor)

    def candidates(self, queries: np.ndarray, members: np.ndarray, m: int, again: bool = False) -> tuple[Any, Any]:
        if not again and (self.d <= TREE_COLUMNS or members.size <= max(FEW_ROWS, 8 * m)):
            cols, beyond = super().candidates(queries, members, m)
            return self.own(cols), self.own(beyond)
        numbers, others, everyone = self.own(queries), self.own(members), members.size == self.n
        X = self.tensor if everyone else self.tensor[others]
        Q = X if np.array_equal(queries, members) else self.tensor[numbers]
        if again:
            return self._by_products(Q, X, others, m)
        screen = self.screen if everyone else TorchData(X).screen
        places, beyond = screen.candidates(Q, m, max(1, m - 1 - SPARE))
        # Where there is no candidate stands the query, which is not its own neighbour.
        return self.torch.where(places < 0, numbers[:, None], others[places]), beyond

    def _by_products(self, Q: Any, X: Any, members: Any, m: int) -> tuple[Any, Any]:
        """As :meth:`candidates`, by products in float64 about the median, since those of far rows lose digits."""
        centre = X.double().median(dim=0).values
        X, found = X.double() - centre, []
        half = X.square().sum(1) / 2
        for part in Q.split(max(1, self.entries // len(X))):
            rows = part.double() - centre
            own = rows.square().sum(1) / 2
            near, places = self.torch.addmm(half, rows, X.T, alpha=-1).topk(m, dim=1, largest=False)
            found.append((members[places], bound(near[:, -1] + own, own, self.d, EPS)))
        cols, beyond = map(self.torch.cat, zip(*found, strict=True))
        return cols, beyond

    def within_radius(self, queries: np.ndarray, members: np.ndarray, radius: np.ndarray) -> list[np.ndarray]:
        Q, X = self.tensor[self.own(queries)].double(), self.tensor[self.own(members)]
        centre, found = X[:: max(1, len(X) // 1000)].double().median(dim=0).values, []
        Q = Q - centre
        own = Q.square().sum(1) / 2
        far = bound(self.own(radius) ** 2 / 2, own, self.d, EPS, +1) ** 2 / 2
        step = max(1, self.entries // max(len(Q), self.d))
        for number, part in enumerate(X.split(step)):
            rows = part.double() - centre
            half = self.torch.addmm(rows.square().sum(1) / 2, Q, rows.T, alpha=-1).add_(own[:, None])
            i, j = self.torch.nonzero(half <= far[:, None], as_tuple=True)
            found.append((host(i), host(j) + number * step))
        i, j = (np.concatenate(parts) for parts in zip(*found, strict=True))
        near = members[j[np.argsort(i, kind="stable")]]
        return np.split(near, np.cumsum(np.bincount(i, minlength=queries.size))[:-1])

    def distances(self, rows: np.ndarray, cols: Any) -> Any:
        """As those of :class:`Data`; a tensor where ``cols`` is one."""
        numbers, others = self.own(rows), self.own(cols)
        found = self.torch.empty(cols.shape, dtype=self.torch.float64, device=others.device)
        kernels = import_module(".device_search", __package__) if self.tensor.device.type == "cuda" else None
        if kernels is not None and kernels.triton is not None:
            kernels.differences(self.tensor, numbers, others, found)
        else:
            step = max(1, self.entries // (cols.shape[1] * self.d))
            for own, near, out in zip(numbers.split(step), others.split(step), found.split(step), strict=True):
                out[:] = (self.tensor[near].double() - self.tensor[own, None].double()).square_().sum(2)
        found.sqrt_().masked_fill_(others == numbers[:, None], self.torch.inf)
        return host(found) if others is not cols else found

    def inner_products(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        pairs = zip(*(self.own(index).split(self.step) for index in (i, j)), strict=True)
        return host(self.torch.cat([(self.tensor[a].double() * self.tensor[b].double()).sum(1) for a, b in pairs]))

    def symmetric_weights(self, rows: Any, cols: Any, weights: Any, symmetry: str = "or") -> Any:
        if isinstance(rows, np.ndarray):
            return super().symmetric_weights(rows, cols, weights, symmetry)
        torch, n = self.torch, self.n
        keys, order = (torch.minimum(rows, cols) * n + torch.maximum(rows, cols)).sort()
        weights = weights[order]
        twice = torch.zeros(len(keys), dtype=torch.bool, device=keys.device)
        twice[:-1] = keys[1:] == keys[:-1]
        kept = ~torch.roll(twice, 1)  # of two equal pairs the first; the first entry is never a second
        other = torch.where(twice, torch.roll(weights, -1), 0.0)
        if symmetry == "mean":
            weights = (weights + other) / 2
        else:
            weights = torch.maximum(weights, other) if symmetry == "or" else torch.minimum(weights, other)
        kept = kept & (weights > 0) if symmetry == "and" else kept
        keys = keys[kept]
        return DeviceMatrix(n, keys // n, keys % n, weights[kept])

    @cached_property
    def squares(self) -> np.ndarray:
        return host(self.torch.cat([block.double().square().sum(1) for block in self.blocks]))

    @cached_property
    def unit(self) -> TorchData:
        lengths = self.own(np.sqrt(np.where(self.squares > 0, self.squares, 1.0)))[:, None].split(self.step)
        parts = [(block.double() / own).to(block.dtype) for block, own in zip(self.blocks, lengths, strict=True)]
        return TorchData(self.torch.cat(parts), self.labels)

    def stacked(self, X: Any) -> TorchData:
        return TorchData(self.torch.cat([self.tensor, self.own(X).to(self.tensor.dtype)]))

    def project(self, mean: Any, components: Any) -> Any:
        """As that of rows of NumPy, some rows at a time."""
        given = (a if self.torch.is_tensor(a) else self.own(host(a)) for a in (components, mean))
        V, about = (array.to(self.tensor.dtype) for array in given)
        found = self.torch.cat([(block - about) @ V.T for block in self.blocks])
        return found if self.device is None else self.device.to_caller(found)


def class_totals(block: Any, places: Any, size: int) -> Any:
    """The sums of the rows of each class. Of few classes one product gives them, whatever the order of threads."""
    if size <= FEW_CLASSES:
        return block.new_zeros((len(block), size)).scatter_(1, places[:, None], 1.0).T @ block
    return block.new_zeros((size, block.shape[1])).index_add_(0, places, block)


def on_first_device(data: Any, request: Request) -> Data:
    """NumPy rows as ``search="torch"`` searches them: on the first GPU, or on the CPU where there is none."""
    torch = require("torch", "gpu")
    plain = is_named(request.metric, "euclidean", "l2", "cosine") and not request.metric_params
    if not plain or not data.has_features or data.is_sparse:
        what = "sparse or a kernel" if plain else f"compared by metric={request.metric!r}"
        raise ValueError(
            f'search="torch" compares dense rows by metric="euclidean" or "cosine", and X is {what}; leave it out'
        )
    if isinstance(data, TorchData):
        return data
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return TorchData(torch.from_numpy(np.ascontiguousarray(data.X)).to(device), data.y)


class DeviceMatrix:
    """A symmetric sparse matrix of n rows without a diagonal, on a device.

    Each pair of rows is listed once, by their numbers, ``first < second``, and its entry, in float64.
    """

    def __init__(self, n: int, first: Any, second: Any, weights: Any):
        self.n, self.first, self.second, self.weights = n, first, second, weights
        self.shape, self.nnz = (n, n), 2 * len(weights)
        self.diagonal, self.count_nonzero = partial(np.zeros, n), weights.count_nonzero  # of pairs

    def __neg__(self) -> DeviceMatrix:
        return DeviceMatrix(self.n, self.first, self.second, -self.weights)

    def __mul__(self, scale: float) -> DeviceMatrix:
        return DeviceMatrix(self.n, self.first, self.second, self.weights * float(scale))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> sparse.csr_array:
        return self.tocsr() + other.tocsr()

    __radd__ = __add__

    def __matmul__(self, columns: np.ndarray) -> np.ndarray:
        return self.tocsr() @ columns

    def sum(self, axis: int) -> np.ndarray:
        """The sums of the rows. They are sums of sorted segments, which do not depend on the order of threads."""
        torch = sys.modules["torch"]
        rows, order = torch.cat([self.first, self.second]).sort(stable=True)
        weights = torch.cat([self.weights, self.weights])[order]
        counts = torch.bincount(rows, minlength=self.n)
        return host(torch.segment_reduce(weights, "sum", lengths=counts, unsafe=True, initial=0.0))

    def tocsr(self, copy: bool = False) -> sparse.csr_array:
        """The same matrix on the host, which is always a copy."""
        i, j, w = map(host, (self.first, self.second, self.weights))
        index = np.int32 if self.n < 2**31 else np.int64
        rows, cols = (np.concatenate(pair).astype(index) for pair in ((i, j), (j, i)))
        return sparse.csr_array((np.concatenate([w, w]), (rows, cols)), shape=self.shape)

    def n_connected_components(self) -> int:
        """How many connected components there are. Labels spread along edges, and jump to the label of their label."""
        torch, linked = sys.modules["torch"], self.weights != 0
        i, j = self.first[linked], self.second[linked]
        everyone = labels = torch.arange(self.n, device=i.device)
        while True:
            a, b = labels[i], labels[j]
            new = labels.scatter_reduce(0, torch.maximum(a, b), torch.minimum(a, b), "amin")
            for _ in range(4):
                new = new[new]
            if bool((new == labels).all()):
                return int((labels == everyone).sum())
            labels = new
