"""The kernel map: a linear map of the features that a kernel stands for."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_array, check_random_state

from .. import auto, maps
from .._arrays import row_blocks
from .._validation import check_choice, check_count, check_positive
from ..data import FLOATS, Data, KernelData, validated
from ..maps import Coordinates, Kernel
from ..problem import Problem
from ..solvers import fix_signs
from .base import takes_tensors
from .projecting import ProjectingReducer

LARGEST_KERNEL = 10_000  # the kernel matrix of up to this many samples is formed and decomposed, which takes about 5 GB


class KernelReducer(ProjectingReducer):
    """Base of the kernel methods; see :class:`Reducer` for what a method writes.

    Parameters
    ----------
    ... : As in :class:`lapwing.KernelLPP`

    Examples
    --------
    >>> from lapwing import KernelLPP
    >>> from lapwing.reducers import KernelReducer
    >>> issubclass(KernelLPP, KernelReducer)
    True
    """

    kernel: str | Callable[..., float] = "rbf"
    gamma: float | str | None = "auto"
    degree: float = 3
    coef0: float = 1
    kernel_params: dict | None = None
    landmarks: int | None = None
    random_state: int | RandomState | None = None
    scaling: str = "auto"
    ridge: float | str = "auto"

    _takes_weights: ClassVar[bool] = True
    _why_not_on_devices: ClassVar[str] = "with landmarks= it takes others, too."
    _takes_blocks: ClassVar[bool] = True
    # In the features of a kernel, few directions hold neighbourhoods and many hold classes (docs/defaults.md).
    _rules: ClassVar[auto.Rules] = auto.Rules(neighbor_energy=0.0, label_ridge=0.03, of_kernel=True)

    def _data(self, X: Any, y: Any = None, **weights: Any) -> Data:  # type: ignore[override]
        """The rows, or what a kernel matrix says of them. Raise where their kernel matrix would be too large."""
        if not (isinstance(self.kernel, str) or callable(self.kernel)):
            raise ValueError(f"kernel={self.kernel!r} must be a name, or a function of two rows")
        data: Any = validated(self, X, y, **weights | {"in_blocks": False})
        if getattr(self, "features", None) is not None:
            return self._in_features(data)
        if self.landmarks is not None:
            check_count("landmarks", self.landmarks)
            drawn = f"landmarks={self.landmarks} are drawn among the rows of X"
            if self.kernel == "precomputed":
                raise ValueError(f'{drawn}, and kernel="precomputed" has none; leave one out')
            if data.weights is not None:
                raise ValueError(f"sample_weight does not act on {self!r}: {drawn}, whatever they weigh; leave one out")
            if self.landmarks > data.n:
                raise ValueError(f"landmarks={self.landmarks} is more than the {data.n} samples; use fewer, or None")
        elif data.n > LARGEST_KERNEL:
            size = f"{8e-9 * data.n**2:.0f} GB"
            raise ValueError(f"the kernel matrix of {data.n} samples would take {size}; give landmarks=, such as 1000")
        if self.kernel != "precomputed":
            return data
        if data.weights is not None and data.n < data.d:
            raise ValueError('sample_weight has zeros; with kernel="precomputed" leave those rows and columns out of X')
        rows = KernelData(data.X, data.y, data.weights)
        rows.given = data.given
        return rows

    def _in_features(self, data: Data) -> Data:
        """The rows as ``features=`` maps them, which is fitted to all of them, or to the first of several batches."""
        names = ("kernel", "gamma", "degree", "coef0", "kernel_params", "landmarks")
        given = [name for name in names if getattr(self, name) != signature(type(self)).parameters[name].default]
        if given and not (given == ["gamma"] and isinstance(self.gamma, str)):
            what = ", ".join(f"{name}={getattr(self, name)!r}" for name in given)
            raise ValueError(f"{what} does not act beside features={self.features!r}: its own parameters do")
        seen = hasattr(self, "moments_")
        scale = self.scale_ if seen else auto.units(self, self._graphs(data), None, data)
        rows = data if scale is None else data.divided(scale)
        features = self.features_ if seen else clone(self.features).fit(rows.X, None)
        made = Data(_apply_features(features, rows.X), data.y, data.weights)
        made.given, made.n_columns, made.has_features = data.given, data.d, False
        made.learnt = {"scale_": scale, "features_": features}
        return made

    def _map(self, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings) -> Coordinates:
        """The kernel matrix of all rows, or the features of all rows from landmarks that are drawn once per fit."""
        centre = auto.centre(getattr(self, "center", "auto"), problem, data.weights)
        if data.learnt:
            return maps.linear(data, chosen.keep, centre)._replace(features=(Kernel(), data.learnt))
        gamma = self._width(data, graphs)
        kernel = Kernel(self.kernel, gamma, self.degree, self.coef0, self.kernel_params)
        if self.landmarks is None:
            return maps.kernel(data, chosen.keep, centre, kernel(data.X), kernel)
        # The landmarks that scikit-learn would draw, and its features, by its formula: its own kernels lose digits of far rows.
        drawn = check_random_state(self.random_state).permutation(data.n)[: self.landmarks]
        basis = data.X[drawn].astype(np.float64)
        named = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        options = {"kernel_params": self.kernel_params} if callable(self.kernel) else named
        nystroem = Nystroem(self.kernel, n_components=self.landmarks, random_state=self.random_state, **options)
        U, values, Vt = np.linalg.svd(kernel(basis))
        nystroem.components_, nystroem.component_indices_, nystroem.n_features_in_ = basis, drawn, basis.shape[1]
        nystroem.normalization_ = U / np.sqrt(np.maximum(values, 1e-12)) @ Vt
        features = Data(kernel(data.X, basis) @ nystroem.normalization_.T)
        return maps.linear(features, chosen.keep, centre)._replace(features=(kernel, {"nystroem_": nystroem}))

    def _width(self, data: Data, graphs: auto.GraphFacts) -> float | None:
        """``gamma`` as a number. "scale" is 1 / (number of features times their variance), and "auto" is a share of that."""
        if not isinstance(self.gamma, str):
            return None if self.gamma is None else check_positive("gamma", self.gamma)
        check_choice("gamma", self.gamma, ("auto", "scale"))
        if self.kernel == "precomputed" or callable(self.kernel):
            return None
        # Divided columns have a variance of 1 each; of others, what their means differ by counts as well.
        variance = 1.0 if data.is_divided else float(np.mean(data.deviations**2) + np.var(data.mean()))
        scale = 1 / (data.d * variance) if variance > 0 else 1.0
        return scale * (auto.width_share(graphs, data) if self.gamma == "auto" else 1.0)

    def _store_map(self, data: Data, F: Coordinates, V: np.ndarray) -> None:
        if data.beside is not None:  # columns that the kernel does not read become 0 when they are divided by infinity
            self.scale_ = np.ones(data.d) if self.scale_ is None else self.scale_.copy()
            self.scale_[data.beside] = np.inf
        if self._is_linear:
            kernel, given = F.features
            self.__dict__ |= given
            self.settings_["standardize"] = self.scale_ is not None
            self.mean_, self.components_ = F.origin, fix_signs(F.back(V))
        else:
            kernel, dual = F.features, F.back(V)
            each = dual if data.weights is None else dual / data.weights  # a row may stand for several samples
            signs = np.sign(np.sum(each * fix_signs(each), axis=1))
            self.intercept_ = (signs * (dual @ F.origin + F.mean @ V)).astype(data.X.dtype)
            self.X_fit_ = None if self.kernel == "precomputed" else data.X.copy()
            self.dual_coef_ = np.ascontiguousarray(signs[:, None] * dual, dtype=data.X.dtype)
        self.gamma_ = self.settings_["gamma"] = kernel.gamma

    transform = takes_tensors(ProjectingReducer.transform)

    def _coordinates(self, data: Data) -> Any:
        return data.apply(self._placed, self._n_features_out)

    def _placed(self, data: Data) -> np.ndarray:
        X = data.X if self.scale_ is None else data.divided(self.scale_).X
        kernel = Kernel(self.kernel, self.gamma_, self.degree, self.coef0, self.kernel_params)
        V = self.components_ if self._is_linear else self.dual_coef_
        Z = np.empty((X.shape[0], len(V)), dtype=X.dtype)
        for rows in row_blocks(X.shape[0], V.shape[1]):
            if not self._is_linear:
                Z[rows] = kernel(X[rows], self.X_fit_) @ V.T - self.intercept_
                continue
            if self.landmarks is None:
                features = _apply_features(self.features_, X[rows])
            else:
                features = kernel(X[rows], self.nystroem_.components_) @ self.nystroem_.normalization_.T
            Z[rows] = (features - self.mean_) @ V.T
        return Z

    @property
    def _n_features_out(self) -> int:
        return len(self.components_ if self._is_linear else self.dual_coef_)

    @property
    def _is_linear(self) -> bool:
        """Whether the map is a linear one of features that are computed."""
        return self.landmarks is not None or getattr(self, "features", None) is not None

    _takes_tensors = property(lambda self: self.landmarks is not None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _apply_features(features: Any, X: Any) -> np.ndarray:
    """What a fitted transformer makes of rows."""
    return check_array(features.transform(X), dtype=FLOATS, input_name=f"what {features!r} makes of X")
