"""Tensors of torch, on the CPU or on a GPU: the same verbs, computed where the tensor is; small matrices come to the host.

Arrays of other libraries are exchanged through DLPack, without a copy. Those on the CPU become NumPy arrays, and those on a
device, such as CuPy's, become tensors of torch. Fitted attributes are arrays of the library and the device that X came from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator

from . import data as rows_of_numpy
from ._arrays import is_foreign
from ._extras import require
from .data import FEW_ROWS, LEAST_ENTRY, MOST_ENTRY, OUT_OF_RANGE, Data
from .device_search import Screen, candidates_on_device, first_device, room, squared_distances, tensor, within
from .neighbors import Edges, Request, is_named
from .operators import Structured

CPU = 1  # the number by which DLPack calls the CPU
EXACT_ROWS = 2_000_000  # up to this many rows on a GPU, default graphs search for the neighbours of all rows
TREE_COLUMNS = 15  # among up to this many columns, the trees of the CPU are faster than products on a device
BLOCK_ENTRIES = {"cpu": 1 << 20}  # float64 numbers per block on the CPU; other devices take MANY_ENTRIES
MANY_ENTRIES = 1 << 25
FAR_MEAN = 16.0  # a mean this many times as far from the origin as from the rows is subtracted from these first
FEW_LOOKED_AT = 256  # rows that show how far rows are from their mean
NEGLIGIBLE = 1e-13  # row sums of a Laplacian up to this share of its degrees count as 0


# ---- how arrays come in, and how results go back


class Device:
    """Where an array of another library lives: its library, and the device that it is on."""

    def __init__(self, X: Any):
        if getattr(X, "is_sparse", False) or "sparse" in str(getattr(X, "layout", "")):
            raise TypeError(
                "X is a sparse tensor, which is not supported; pass X.to_dense(), or a sparse matrix of SciPy on the CPU"
            )
        self.library = type(X).__module__.partition(".")[0]
        number = tuple(map(int, X.__dlpack_device__()))
        self.name = str(X.device) if self.library == "torch" else str(number)
        self.is_cpu, self._like = number[0] == CPU, X[:0] if X.ndim else X

    def __repr__(self) -> str:
        return f"{self.library} on {self.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.library, self.name) == (other.library, other.name)

    __hash__ = None  # type: ignore[assignment]

    def from_caller(self, X: Any) -> Any:
        """X in the form that computations take: a tensor, or a NumPy array."""
        if self.library == "torch":
            return X.detach()
        return host(X) if self.is_cpu else require("torch", "gpu").from_dlpack(X)

    def to_caller(self, array: Any) -> Any:
        """A result, which is a NumPy array or a tensor, as an array of this library and device."""
        torch = require("torch", "gpu") if self.library == "torch" or not self.is_cpu else None
        if torch is not None and isinstance(array, np.ndarray):
            array = torch.from_numpy(np.ascontiguousarray(array))
        if torch is not None:
            array = array.to(torch.from_dlpack(self._like).device)
        if self.library == "torch":
            return array
        named = hasattr(self._like, "__array_namespace__")
        return (self._like.__array_namespace__() if named else sys.modules[self.library]).from_dlpack(array)


def host(array: Any) -> Any:
    """An array of any library as a NumPy array on the CPU; what is no such array stays as it is."""
    if not is_foreign(array):
        return array
    if type(array).__module__.partition(".")[0] == "torch":
        return array.detach().cpu().numpy()
    if int(array.__dlpack_device__()[0]) == CPU:
        return np.array(np.from_dlpack(array))
    return require("torch", "gpu").from_dlpack(array).cpu().numpy()


def validated(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, fitting: bool = True, least: int | None = None
) -> Data:
    """Arrays of another library as a Data."""
    device = Device(X) if fitting else shared_device(estimator, X)
    if fitting and isinstance(estimator, BaseEstimator) and not estimator.__sklearn_tags__().array_api_support:
        raise TypeError(
            f"{estimator!r} takes NumPy arrays, and X is an array of {device}; {estimator._why_not_on_devices} Pass "
            "X.cpu().numpy() or the like"
        )
    rows = host(X) if device is None else device.from_caller(X)
    if isinstance(rows, np.ndarray):
        data = rows_of_numpy.validated(to_numpy(estimator), rows, host(y), host(sample_weight), fitting, least)
        if device is None:
            return data
        data = data if fitting else ForeignData(data.X)
    elif sample_weight is not None:
        raise ValueError(
            f"sample_weight does not act on {estimator!r}: it takes rows in NumPy arrays, sparse arrays or blocks, and X is "
            "something else"
        )
    else:
        data = TorchData(checked(estimator, rows, fitting, least or (2 if fitting else 1)), host(y))
    data.given = X
    return data


def checked(estimator: Any, X: Any, fitting: bool, least: int) -> Any:
    """A tensor in the form that is computed with: real, finite, in float32 or float64, with as many features as were fitted."""
    torch = sys.modules["torch"]
    if X.dtype not in (torch.float32, torch.float64):
        if X.dtype.is_complex or X.dtype == torch.bool:
            raise ValueError(f"X holds {X.dtype}, and numbers are needed; convert it to float32 or float64")
        X = X.to(torch.float32 if X.dtype in (torch.float16, torch.bfloat16) else torch.float64)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got an array of {X.ndim} dimensions: X has shape {tuple(X.shape)}; reshape it to "
            "(n_samples, n_features)"
        )
    if len(X) < least or 0 in X.shape:
        raise ValueError(
            f"Found array with {len(X)} sample(s) (shape={tuple(X.shape)}) while a minimum of {least} is required."
        )
    if not fitting and X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as "
            "input."
        )
    lowest, highest = X.aminmax()
    largest = float(torch.maximum(-lowest, highest))
    if not largest < np.inf:
        raise ValueError("X contains NaN or infinity, or a value too large; remove or replace it")
    least_entry = LEAST_ENTRY[str(X.dtype).removeprefix("torch.")]
    if fitting and largest and not least_entry < largest < MOST_ENTRY:
        raise ValueError(OUT_OF_RANGE)
    return X


def shared_device(estimator: Any, X: Any) -> Device | None:
    """Where a fitted model and its rows live. A model of NumPy arrays takes all arrays on the CPU; then this is None."""
    own = next((Device(value) for value in vars(estimator).values() if is_foreign(value)), None)
    device = Device(X) if is_foreign(X) else None
    if device == own or (own is None and device is not None and device.is_cpu):
        return own
    given = "not on a device" if device is None else f"an array of {device}"
    raise ValueError(
        f"{type(estimator).__name__} was fitted on {own or 'NumPy arrays'}, and X is {given}; move X there, or use "
        "lapwing.to_numpy(model), which transforms NumPy arrays"
    )


def computed_on_host(method: Callable, estimator: Any, X: Any, *more: Any, **named: Any) -> Any:
    """What a method of a model gives for an array of another library. It is computed with NumPy arrays."""
    device = shared_device(estimator, X)
    named = {name: host(value) for name, value in named.items()}
    found = method(to_numpy(estimator), host(X), *map(host, more), **named)
    return found if device is None else device.to_caller(found)


def to_caller(estimator: Any, X: Any) -> None:
    """Turn the fitted attributes into arrays of the library and device that X came from."""
    device = Device(X)
    for name, value in list(vars(estimator).items()):
        if is_learnt(name):
            setattr(estimator, name, mapped(value, device.to_caller))


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
    return moved(model, host)


def moved(model: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of an estimator, with ``change`` applied to the arrays among its attributes and among those of its parts."""
    other = copy(model)
    for name, value in vars(model).items():
        if is_learnt(name) or name in ("steps", "transformer_list"):
            setattr(other, name, mapped(value, change))
    return other


def is_learnt(name: str) -> bool:
    """Whether an attribute of an estimator holds what was learnt, public or private, and is not a parameter."""
    return (name.endswith("_") or name.startswith("_")) and name != "feature_names_in_"


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value of an attribute with ``change`` applied: an array, a list of arrays, or an estimator that holds some."""
    if type(value) in (list, tuple):
        return type(value)(mapped(v, change) for v in value)
    if isinstance(value, BaseEstimator):
        return moved(value, change)
    is_array = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    return change(value) if is_array or is_foreign(value) else value


# ---- the rows


class TorchData(Data):
    """Rows that are a tensor. ``X`` is a copy on the host, made where something asks for it that computes with NumPy.

    Parameters
    ----------
    tensor : torch.Tensor of shape (n, d)
        The rows, in float32 or float64.
    y : array-like of shape (n,), default=None
        Their labels, on the host.
    weights : None
        Tensors take no sample weights.
    source : TorchData, default=None
        The same rows with the features that they were given with.
    """

    host = staticmethod(host)

    def __init__(self, tensor: Any, y: Any = None, weights: None = None, source: TorchData | None = None):
        super().__init__(tensor, y)
        self.tensor, self.torch, self.source = self.__dict__.pop("X"), sys.modules["torch"], source
        self.dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
        self.exact_rows = 0 if tensor.device.type == "cpu" else EXACT_ROWS
        if source is not None:
            self.given, self.names, self.views = source.given, source.names, source.views

    @cached_property
    def X(self) -> np.ndarray:  # type: ignore[override]  # noqa: N802
        return host(self.tensor)

    @cached_property
    def undivided(self) -> Any:  # type: ignore[override]
        return self.source and (self.source.X if self.source.undivided is None else self.source.undivided)

    def own(self, array: Any) -> Any:  # type: ignore[override]
        """An array of NumPy on the device; tensors as they are."""
        return tensor(array, self.tensor.device) if isinstance(array, np.ndarray) else array

    def _slices(self, n: int, width: int) -> list[slice]:
        step = max(1, BLOCK_ENTRIES.get(self.tensor.device.type, MANY_ENTRIES) // max(1, width))
        return [slice(start, min(start + step, n)) for start in range(0, n, step)]

    def _blocks(self, about: np.ndarray) -> Iterator[tuple[slice, Any]]:
        """All rows less ``about``, some at a time, in float64 on the device."""
        shift = self.own(np.asarray(about, dtype=np.float64))
        for rows in self._slices(self.n, self.d):
            yield rows, self.tensor[rows].double() - shift

    def _part(self, rows: slice, columns: slice, about: np.ndarray) -> np.ndarray:
        return np.subtract(host(self.tensor[rows, columns]), about[columns], dtype=np.float64)

    def _zeros(self, *shape: int) -> Any:
        return self.tensor.new_zeros(shape, dtype=self.torch.float64)

    def mean(self, degrees: np.ndarray | None = None) -> np.ndarray:
        if degrees is None and self._mean is not None:
            return self._mean
        first, total = host(self.tensor[0].double()), self._zeros(self.d)
        w = None if degrees is None else self.own(degrees)
        for rows, block in self._blocks(first):
            total += block.sum(0) if w is None else w[rows] @ block
        mean = first + host(total) / (self.n if degrees is None else degrees.sum())
        if degrees is None:
            self._mean = mean
        return mean

    def spread(self, about: np.ndarray, degrees: np.ndarray) -> np.ndarray:
        w, total = self.own(degrees), self._zeros(self.d)
        for rows, block in self._blocks(about):
            total += w[rows] @ block.square_()
        return host(total)

    def deviations(self, few: bool = False) -> np.ndarray:
        if few and self.n > FEW_ROWS:
            return TorchData(self.tensor[:: ceil(self.n / FEW_ROWS)]).deviations()
        if self._deviations is None:
            mean = self.mean()
            s = np.sqrt(self.spread(mean, np.ones(self.n)) / self.n)
            self._deviations = np.where(s <= 100 * rows_of_numpy.EPS * np.abs(mean), 0.0, s)
        return self._deviations

    def divided(self, scale: np.ndarray) -> TorchData:
        divided = TorchData(self.tensor / self.own(scale.astype(self.dtype)), self.y, source=self)
        divided.is_divided = True
        return divided

    def without(self, columns: list[int]) -> Data:
        raise ValueError("graph= has columns beside the features, which takes X as a NumPy array")

    def gram(self, about: np.ndarray) -> np.ndarray:
        if about is self._mean and self._gram is not None:
            return self._gram
        total = self._zeros(*(min(self.n, self.d),) * 2)
        if self.is_wide:
            for columns in self._slices(self.d, self.n):
                block = self.tensor[:, columns].double() - self.own(about[columns])
                total.addmm_(block, block.T)
        else:
            for _, block in self._blocks(about):
                total.addmm_(block.T, block)
        gram = host(total)
        if about is self._mean:
            self._gram = gram
        return gram

    def weighted_sums(self, C: np.ndarray, about: np.ndarray) -> np.ndarray:
        combinations, total = self.own(C), self._zeros(self.d, C.shape[1])
        for rows, block in self._blocks(about):
            total.addmm_(block.T, combinations[rows])
        return host(total)

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> TorchData:
        found, directions = self.tensor.new_empty((self.n, N.shape[1])), self.own(N)
        for rows, block in self._blocks(about):
            found[rows] = (block @ directions).to(found.dtype)
        return TorchData(found, self.y)

    def form(self, M: Structured, about: np.ndarray) -> Any:
        """The form of row sums, which for a Laplacian are 0, and that of edges by differences, which lose no digits."""
        if M.rest is not None or any(isinstance(U, LinearOperator) for U, _ in M.factors):
            return super().form(M, about)
        total, sums = self._zeros(self.d, self.d), row_sums(M)
        if sums is not None and not np.ptp(sums) and self.n >= self.d:
            total += sums[0] * self.own(self.gram(about))
        elif sums is not None:
            w = self.own(sums)
            for rows, block in self._blocks(about):
                total.addmm_(block.T, w[rows, None] * block)
        if M.sparse is not None:
            self._add_edges(total, M.sparse)
        for U, c in M.factors:
            UtF = self._zeros(U.shape[1], self.d)
            for rows, block in self._blocks(about):
                part = U[rows]
                UtF.addmm_(self.own(part.toarray() if sparse.issparse(part) else part).T.double(), block)
            total.addmm_(UtF.T, self.own(c)[:, None] * UtF)
        form = host(total)
        return (form + form.T) / 2

    def _add_edges(self, total: Any, S: Any) -> None:
        """Add ``-Σ S_ij (f_i - f_j)(f_i - f_j)ᵀ`` over pairs."""
        if not isinstance(S, DeviceMatrix):
            above = sparse.triu(S, k=1, format="coo")
            i, j = (self.own(index.astype(np.int64)) for index in (above.row, above.col))
            S = DeviceMatrix(self.n, i, j, self.own(above.data))
        for part in self._slices(len(S.weights), self.d):
            apart = self.tensor[S.first[part]].double()
            apart -= self.tensor[S.second[part]]
            total.addmm_(apart.T, S.weights[part, None] * apart, alpha=-1)

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        return np.diagonal(self.form(M, about)).copy()

    def centred(self, about: np.ndarray) -> LinearOperator:
        def times(V: np.ndarray) -> np.ndarray:
            columns = self.own(np.asarray(V.reshape(self.d, -1), dtype=np.float64))
            found = self.torch.cat([block @ columns for _, block in self._blocks(about)])
            return host(found).reshape(self.n, *V.shape[1:])

        def transposed(U: np.ndarray) -> np.ndarray:
            return self.weighted_sums(U.reshape(self.n, -1), about).reshape(self.d, *U.shape[1:])

        return LinearOperator(
            (self.n, self.d), matvec=times, matmat=times, rmatvec=transposed, rmatmat=transposed, dtype=np.float64
        )

    def explained(self, directions: np.ndarray) -> np.ndarray:
        if not self.is_wide:
            self.gram(self.mean())  # of which the answer is made
        return super().explained(directions)

    @property
    def is_constant(self) -> bool:
        return bool((self.tensor[:1] == self.tensor).all())

    # ---- neighbours

    def nearest(self, request: Request, on_device: bool = False) -> Edges:
        edges = super().nearest(request)
        return edges if on_device else tuple(map(host, edges))  # type: ignore[return-value]

    @cached_property
    def screen(self) -> Screen:
        return Screen(self.tensor)

    def candidates(self, queries: np.ndarray, members: np.ndarray, m: int) -> tuple[Any, Any]:
        if self.d <= TREE_COLUMNS:
            cols, beyond = super().candidates(queries, members, m)
            return self.own(cols), self.own(beyond)
        numbers, everyone = self.own(queries), members.size == self.n
        screen = self.screen if everyone else Screen(self.tensor[self.own(members)])
        places, beyond = screen.candidates(self.tensor[numbers], m)
        cols = places if everyone else self.own(members)[places]
        return self.torch.where(places < 0, numbers[:, None], cols), beyond  # no row is its own neighbour

    def within_radius(self, queries: np.ndarray, members: np.ndarray, radius: np.ndarray) -> list[np.ndarray]:
        i, j = within(self.tensor[self.own(queries)], self.tensor[self.own(members)], self.own(radius))
        counts = np.bincount(host(i), minlength=queries.size)
        return np.split(members[host(j)], np.cumsum(counts)[:-1])

    def distances(self, rows: np.ndarray, cols: Any) -> Any:
        numbers = self.own(rows)
        found = squared_distances(self.tensor[numbers], self.tensor.contiguous(), cols).sqrt_()
        return found.masked_fill_(cols == numbers[:, None], self.torch.inf)

    def _of_pairs(self, i: np.ndarray, j: np.ndarray, measure: Callable) -> np.ndarray:
        first, second = self.own(i), self.own(j)
        parts = [
            measure(self.tensor[first[some]].double(), self.tensor[second[some]].double())
            for some in self._slices(len(i), 2 * self.d)
        ]
        return host(self.torch.cat(parts)) if parts else np.empty(0)

    def paired_distances(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._of_pairs(i, j, lambda a, b: (a - b).norm(dim=1))

    def inner_products(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._of_pairs(i, j, lambda a, b: (a * b).sum(1))

    def symmetric_weights(self, rows: Any, cols: Any, weights: Any, symmetry: str = "or") -> Any:
        if isinstance(rows, np.ndarray):
            return super().symmetric_weights(rows, cols, weights, symmetry)
        return DeviceMatrix.joined(self.n, rows, cols, weights, symmetry)

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        return host(self.tensor[self.own(index)].double())

    @cached_property
    def squares(self) -> np.ndarray:
        return self._of_rows(np.zeros(self.d))

    @cached_property
    def squares_about_mean(self) -> np.ndarray:
        return self._of_rows(self.mean())

    def _of_rows(self, about: np.ndarray) -> np.ndarray:
        return host(self.torch.cat([block.square_().sum(1) for _, block in self._blocks(about)]))

    @cached_property
    def unit(self) -> TorchData:
        lengths, unit = self.own(np.sqrt(self.squares)), self.torch.empty_like(self.tensor)
        for rows, block in self._blocks(np.zeros(self.d)):
            unit[rows] = (block / lengths[rows, None].where(lengths[rows, None] > 0, 1.0)).to(unit.dtype)
        return TorchData(unit, self.y)

    def stacked(self, X: Any) -> TorchData:
        return TorchData(self.torch.cat([self.tensor, self.own(X).to(self.tensor.dtype)]))

    def project(self, mean: Any, components: Any) -> Any:
        """One product, from which that of the mean is subtracted. A far mean comes off the rows first, some at a time."""
        rows = self.tensor
        V, about = (a.double() if self.torch.is_tensor(a) else self.own(host(a)).double() for a in (components, mean))
        V, offset = V.T.to(rows.dtype), -(V @ about)
        # The product comes first, so that the device is busy while the mean is looked at.
        found = self.torch.addmm(offset.to(rows.dtype), rows, V)
        apart = rows[:: max(1, self.n // FEW_LOOKED_AT)].double() - about
        if bool(about.square().sum() > FAR_MEAN**2 * apart.square_().sum(1).mean()):
            about = about.to(rows.dtype)
            for some in self._slices(self.n, self.d):
                self.torch.mm(rows[some] - about, V, out=found[some])
        return found if self.given is None else Device(self.given).to_caller(found)


class ForeignData(Data):
    """NumPy rows that came as arrays of another library, to a model with such arrays."""

    def project(self, mean: Any, components: Any) -> Any:
        return Device(self.given).to_caller(super().project(host(mean), host(components)))


class SearchedInParts(Data):
    """NumPy rows that are too many for the device: candidates are found there, and the rest is done here."""

    def candidates(self, queries: np.ndarray, members: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        places, beyond = candidates_on_device(self.X[members], self.X[queries], m)
        return np.where(places < 0, queries[:, None], members[places]), beyond


def on_first_device(data: Any, request: Request) -> Data:
    """NumPy rows as ``search="torch"`` searches them: on the first GPU, or on the CPU where there is none."""
    require("torch", "gpu")
    if request.metric_params or not is_named(request.metric, "euclidean", "l2", "cosine"):
        raise ValueError(
            f'search="torch" does not go with metric={request.metric!r}; use "euclidean" or "cosine", or leave search out'
        )
    if not data.has_features or data.is_sparse:
        what = "is sparse" if data.has_features else "holds a kernel"
        raise ValueError(f'search="torch" compares dense rows, and X {what}; leave search out')
    if isinstance(data, TorchData):
        return data
    device = first_device()
    if data.X.nbytes > room(device):
        return SearchedInParts(data.X, data.y)
    return TorchData(tensor(data.X, device), data.y)


def row_sums(M: Structured) -> np.ndarray | None:
    """The row sums of the sparse part and the diagonal of a matrix; None where there are none, or all are 0."""
    if M.sparse is None:
        return M.diag
    sums = np.asarray(M.sparse.sum(axis=1)).ravel()
    total = sums if M.diag is None else sums + M.diag
    return None if M.diag is not None and (np.abs(total) <= NEGLIGIBLE * np.abs(M.diag)).all() else total


class DeviceMatrix:
    """A symmetric sparse matrix without a diagonal, on a device. Each pair of rows is listed once.

    Parameters
    ----------
    n : int
        The number of rows.
    first, second : torch.Tensor of shape (n_pairs,)
        The numbers of the two rows of each pair, with ``first < second``.
    weights : torch.Tensor of shape (n_pairs,)
        The entries, in float64.
    """

    def __init__(self, n: int, first: Any, second: Any, weights: Any):
        self.n, self.first, self.second, self.weights = n, first, second, weights
        self.shape, self.nnz = (n, n), 2 * len(weights)

    @classmethod
    def joined(cls, n: int, rows: Any, cols: Any, weights: Any, symmetry: str) -> DeviceMatrix:
        """The matrix from directed edges, as :meth:`Data.symmetric_weights` makes it."""
        torch = sys.modules["torch"]
        keys, order = (torch.minimum(rows, cols) * n + torch.maximum(rows, cols)).sort()
        weights = weights[order]
        twice = torch.zeros(len(keys), dtype=torch.bool, device=keys.device)
        twice[:-1] = keys[1:] == keys[:-1]
        again = torch.roll(twice, 1)  # marks the second of two equal pairs; the first entry is never a second
        other = torch.where(twice, torch.roll(weights, -1), 0.0)
        if symmetry == "mean":
            weights = (weights + other) / 2
        elif symmetry == "or":
            weights = torch.maximum(weights, other)
        else:
            weights = torch.where(twice, torch.minimum(weights, other), 0.0)
        kept = ~again & (weights > 0) if symmetry == "and" else ~again
        keys = keys[kept]
        return cls(n, keys // n, keys % n, weights[kept])

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

    @cached_property
    def degrees(self) -> np.ndarray:
        """The sums of the rows. They are sums of sorted segments, which do not depend on the order of threads."""
        torch = sys.modules["torch"]
        rows, order = torch.cat([self.first, self.second]).sort(stable=True)
        weights = torch.cat([self.weights, self.weights])[order]
        counts = torch.bincount(rows, minlength=self.n)
        return host(torch.segment_reduce(weights, "sum", lengths=counts, unsafe=True, initial=0.0))

    def sum(self, axis: int) -> np.ndarray:
        """The sums of the rows, which equal those of the columns."""
        return self.degrees

    def diagonal(self) -> np.ndarray:
        return np.zeros(self.n)

    def count_nonzero(self) -> int:
        return 2 * int(self.weights.count_nonzero())

    def tocsr(self, copy: bool = False) -> sparse.csr_array:
        """The same matrix on the host, which is always a copy."""
        i, j, w = map(host, (self.first, self.second, self.weights))
        index = np.int32 if self.n < 2**31 else np.int64
        rows, cols = (np.concatenate(pair).astype(index) for pair in ((i, j), (j, i)))
        return sparse.csr_array((np.concatenate([w, w]), (rows, cols)), shape=self.shape)

    def n_connected_components(self) -> int:
        """How many connected components there are.

        On the CPU SciPy counts them. On a device, labels spread along edges and jump to the label of their label.
        """
        torch = sys.modules["torch"]
        linked = self.weights != 0
        i, j = self.first[linked], self.second[linked]
        if i.device.type == "cpu":
            return int(connected_components(abs(self.tocsr()), directed=False)[0])
        everyone = labels = torch.arange(self.n, device=i.device)
        while True:
            a, b = labels[i], labels[j]
            new = labels.scatter_reduce(0, torch.maximum(a, b), torch.minimum(a, b), "amin")
            for _ in range(4):
                new = new[new]
            if bool((new == labels).all()):
                return int((labels == everyone).sum())
            labels = new
