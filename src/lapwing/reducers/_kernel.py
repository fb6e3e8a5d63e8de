"""The kernel map: F = K, a linear map of the features that a kernel stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels

from .._validation import check_choice, check_count, check_positive
from ..blocks import Blocks, working_memory
from ..graphs import Sample
from ..operators import Array, Structured, quadratics, row_blocks, weighted_mean
from ..problem import Problem
from ..rows import KernelSample
from ..solvers import fix_signs
from ._linear import LinearReducer, Reduced
from ._principal import leading

LARGEST = 10_000  # samples whose kernel matrix is formed and decomposed: about 5 GB


class KernelReducer(LinearReducer):
    """Base of the kernel methods.

    The centred kernel matrix K = U S Uᵀ is the Gram matrix of features whose principal coordinates are U S^½: the linear
    problem is solved there, and a direction V is the function f(x) = k(x)ᵀ U S^-½ V.
    """

    _nystroem: Nystroem
    _landmarks_of: Any = None  # during a fit

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Any = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        landmarks: Any = None,
        random_state: Any = None,
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "unit",
        normalize: str | None = None,
        solver: str = "auto",
    ):
        super().__init__(n_components, graph=graph, pca=pca, center=center, normalize=normalize, solver=solver)
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.random_state = random_state
        self.scaling = scaling

    def _block_sample(self, blocks: Blocks, y: Any, k: int | None) -> Sample:
        n, d = blocks.shape
        if n * d * blocks.dtype.itemsize > working_memory():
            raise ValueError(
                f"{type(self).__name__} needs all rows in memory, and X, of shape {blocks.shape}, is larger than scikit-learn's "
                "working_memory; fit a part of the rows, or use a linear method"
            )
        return self._sample(blocks.load(), blocks.labels(y), k)

    def _sample(self, X: Array, y: Any, k: int | None) -> Sample:
        if self.landmarks is not None:
            check_count("landmarks", self.landmarks)
            if self._is_precomputed:
                raise ValueError(
                    f'landmarks={self.landmarks!r} are rows of X, and kernel="precomputed" has none; leave one out'
                )
        elif X.shape[0] > LARGEST:
            raise ValueError(
                f"the kernel matrix of {X.shape[0]} samples would take {8e-9 * X.shape[0] ** 2:.0f} GB; give landmarks=, such as "
                "landmarks=1000"
            )
        return KernelSample(X, y, k) if self._is_precomputed else Sample(X, y, k)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _options_at(self, X: Array) -> dict:
        """Parameters of the kernel; ``gamma="scale"`` is one over the number of features and their variance."""
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale",))
            if sparse.issparse(X):
                mean, n = float(X.mean(dtype=np.float64)), np.prod(X.shape)
                variance = (np.sum((X.data - mean) ** 2, dtype=np.float64) + (n - X.nnz) * mean**2) / n
            else:
                variance = float(X.var(dtype=np.float64))
            gamma = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        else:
            gamma = None if self.gamma is None else check_positive("gamma", self.gamma)
        return {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}

    def _kernel(self, X: Array, Y: Array | None = None) -> np.ndarray:
        if self._is_precomputed:
            return X
        X, Y = (A if A is None else A.astype(np.float64, copy=False) for A in (X, Y))  # a kernel has no digits to lose
        try:
            if callable(self.kernel):
                K = pairwise_kernels(X, Y, metric=self.kernel, **(self.kernel_params or {}))
            else:
                options = self._options_at(X if Y is None else Y)
                K = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **options)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"kernel={self.kernel!r} cannot be evaluated (a callable is given two rows): {error}"
            ) from error
        K = K.toarray() if sparse.issparse(K) else np.asarray(K)
        if not np.isfinite(K).all():
            raise ValueError(f"kernel={self.kernel!r} gives NaN or infinity; scale X or change its parameters")
        return K

    def _auto_energy(self, sample: Sample) -> float:
        """Features of a kernel hold neighbourhoods in a few directions, classes in many (measured)."""
        pulling = [graph for coefficient, graph in self._graph(sample).signed() if coefficient > 0]
        if not any(graph.reads_labels for graph in pulling):
            return 0.0 if self.n_components is not None else 0.9
        return super()._auto_energy(sample)

    @property
    def _nested(self) -> bool:
        """Whether fits with fewer components have the first of these: not with landmarks drawn anew each time."""
        return self.landmarks is None or self.random_state is not None

    def _is_large(self, sample: Sample) -> bool:
        return False

    def _reduced(self, sample: Sample, problem: Problem, pca: Any, matrices: list[Structured]) -> Reduced:
        if self.landmarks is not None:
            Z = self._landmark_features(sample)
            return super()._reduced(Sample(Z), problem, pca, matrices)
        K = self._kernel(sample.X).astype(np.float64, copy=False)
        # As in the linear map: where the constraint sees the origin, what reveals the rank must see it too.
        about_origin = self.center is False and pca is None and problem.degrees is not None
        means = np.zeros(len(K)) if about_origin else K.mean(axis=0, dtype=np.float64)
        gram = K - means
        gram -= means[:, None] - means.mean()
        trace = float(np.trace(gram))
        if trace <= 0 and np.abs(gram).max() > 1e-10 * np.abs(K).max():
            raise ValueError(
                f"kernel={self.kernel!r} is not positive semi-definite on X; use another kernel or parameters"
            )
        given = sample.X.dtype if self._is_precomputed else K.dtype
        values, U = leading(gram, self._keep(pca), len(K) * np.finfo(given).eps * trace if given == np.float32 else 0.0)
        F, dual = U * np.sqrt(values), U / np.sqrt(values)
        weights = self._center_weights(problem)
        if self.center is False:
            shift = (means.mean() - means) @ dual  # where the origin of the features is, seen from their mean
        else:
            shift = np.zeros(F.shape[1]) if weights is None else weighted_mean(F, weights)
        return Reduced(quadratics(matrices, F, shift), shift, lambda V: (dual @ V).T, F.shape[1], means)

    def _landmark_features(self, sample: Sample) -> np.ndarray:
        """Of all rows, by landmarks that are drawn once a fit."""
        if self._landmarks_of is not sample.X:
            self._landmark_rows = self._new_landmark_features(sample.X)
            self._landmarks_of = sample.X
        return self._landmark_rows

    def _new_landmark_features(self, X: Array) -> np.ndarray:
        options = {"kernel_params": self.kernel_params} if callable(self.kernel) else self._options_at(X)
        nystroem = Nystroem(self.kernel, n_components=self.landmarks, random_state=self.random_state, **options)
        if self.landmarks > X.shape[0]:
            raise ValueError(f"landmarks={self.landmarks} is more than the {X.shape[0]} samples; use fewer, or None")
        self._nystroem = nystroem.fit(X.astype(np.float64, copy=False))
        Z = nystroem.transform(X.astype(np.float64, copy=False))
        if not np.isfinite(Z).all():
            raise ValueError(f"kernel={self.kernel!r} gives NaN or infinity; scale X or change its parameters")
        return Z

    def _store_map(self, sample: Sample, reduced: Reduced, V: np.ndarray) -> None:
        if self.landmarks is not None:
            super()._store_map(sample, reduced, V)
            self.nystroem_ = self._nystroem
            del self._nystroem, self._landmarks_of, self._landmark_rows
            return
        dual = reduced.back(V)
        signs = np.sign(np.sum(dual * fix_signs(dual), axis=1))
        self.intercept_ = (signs * (dual @ reduced.kernel_means + reduced.mean @ V)).astype(sample.X.dtype)
        self.X_fit_ = None if self._is_precomputed else sample.X.copy()
        self.dual_coef_ = np.ascontiguousarray(fix_signs(dual), dtype=sample.X.dtype)

    def transform(self, X: Any) -> np.ndarray:
        """The functions at new samples, ``K(X, X_fit_) @ dual_coef_.T - intercept_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"``, the kernel between new and fitted samples, of shape (n_samples, n_fitted).

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return super().transform(X)

    def _projected(self, X: Array) -> np.ndarray:
        if self.landmarks is not None:
            return ((self.nystroem_.transform(X) - self.mean_) @ self.components_.T).astype(X.dtype)
        Z = np.empty((X.shape[0], len(self.dual_coef_)), dtype=X.dtype)
        for rows in row_blocks(X.shape[0], self.dual_coef_.shape[1]):
            Z[rows] = self._kernel(X[rows], self.X_fit_) @ self.dual_coef_.T - self.intercept_
        return Z

    @property
    def inverse_transform(self) -> Any:
        raise AttributeError("a kernel map has no inverse_transform")

    @property
    def _n_features_out(self) -> int:
        return len(self.components_ if self.landmarks is not None else self.dual_coef_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_") or hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags
