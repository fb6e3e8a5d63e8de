"""The proof that a fit carries: how well what was found solves the problem, and how far from the true solution it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import asin, inf, pi, sqrt
from typing import Any

import numpy as np

from ._ways import precision

TOLERANCES = {
    "float64": 1e-6,
    "float32": 1e-3,
}  # the largest residual and error of the constraint, by the precision of X
COLUMNS = 8  # this many columns are checked together
STEPS = 6  # steps of the power method, whose estimate of a norm is then right to a few per cent


class CertificateWarning(UserWarning):
    """Says that a solution solves its problem less exactly than it should; ``certificate_`` has the numbers.

    Examples
    --------
    To make it an error, so that no such model is used:

    >>> import warnings
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, CertificateWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", CertificateWarning)
    ...     model = LPP(2).fit(load_iris().data)
    """


@dataclass(frozen=True)
class Certificate:
    r"""How well eigenvectors V and eigenvalues :math:`\lambda` solve :math:`A v = \lambda B v` subject to :math:`V^\top B V = I`.

    Everything is measured in the coordinates that the problem was solved in: the directions that ``pca=`` keeps and that the
    constraint sees. With a ridge, B includes it. A value of None is not known.

    Attributes
    ----------
    residual : float
        The largest :math:`\|A v - \lambda B v\| / ((\|A\| + |\lambda| \|B\|) \|v\|)`: by what share of A and B these would
        have to change for v to be exact.
    constraint_error : float
        How far the constraint is from holding: :math:`\|V^\top B V - I\|`, together with the part of V along directions that it
        must not have, such as the constant.
    rank : int or None
        How many directions the data and the constraint leave.
    condition : float or None
        The largest eigenvalue of B over the smallest that counts, 1 for orthogonal directions. Digits are lost where it is
        large.
    gap : float or None
        The distance from the last eigenvalue that was kept to the next one. At 0 another direction would do as well as the last
        one, and which was found is arbitrary. Infinity says that all directions were kept.
    angle : float or None
        The largest angle, in radians, that the space of the found directions can have with the true one (Davis and Kahan), as
        the inner product of B measures it. It takes A and B as exact; rounding of the data is not included.
    tolerance : float
        The largest ``residual`` and ``constraint_error`` with which the certificate holds: 1e-6, and 1e-3 for X in float32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP
    >>> certificate = LPP(2).fit(load_iris().data).certificate_
    >>> certificate.holds
    True
    >>> print(certificate)
    residual ..., constraint error ..., condition ..., gap ...
    """

    residual: float
    constraint_error: float
    rank: int | None = None
    condition: float | None = None
    gap: float | None = None
    angle: float | None = None
    tolerance: float = TOLERANCES["float64"]

    @property
    def holds(self) -> bool:
        """Whether residual and constraint are within the tolerance."""
        return self.residual <= self.tolerance and self.constraint_error <= self.tolerance

    def __str__(self) -> str:
        parts = {
            "residual": f"{self.residual:.1e}",
            "constraint error": f"{self.constraint_error:.1e}",
            "condition": _number(self.condition, ".1e"),
            "gap": "all directions kept" if self.gap == inf else _number(self.gap, ".2g"),
            "at most this far from the true directions": _degrees(self.angle),
        }
        return ", ".join(f"{name} {value}" for name, value in parts.items() if value)

    def _repr_html_(self) -> str:
        verdict = "solves its problem" if self.holds else f"exceeds the tolerance of {self.tolerance:g}"
        return f"<p><strong>{verdict}</strong>: {self}</p>"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _degrees(angle: float | None) -> str:
    return "" if angle is None else f"{angle * 180 / pi:.1e} degrees"


@dataclass(frozen=True, eq=False)
class Pencil:
    """The problem as it was solved: ``(A - shift B) v = (lambda - shift) (B + rho I) v`` on the range of T, less ``deflated``.

    Parameters
    ----------
    A : ndarray, sparse array or operator
    B : None, ndarray, sparse array or LinearOperator
        None is the identity.
    T : None, ndarray or sparse array
        A matrix with orthogonal columns and ``Tᵀ (B + rho I) T = I``. None where B is the identity or an operator.
    deflated : ndarray or None
        An orthonormal basis of the directions that are kept out, in the coordinates of T.
    rho, shift : float
    rank : int or None
    following : float or None
        The eigenvalue after the last that was asked for. It is infinite where there is none.
    scale : float
        The norm of the terms that add up to A, which may cancel one another.
    """

    A: Any
    B: Any = None
    T: Any = None
    deflated: np.ndarray | None = None
    rho: float = 0.0
    shift: float = 0.0
    rank: int | None = None
    following: float | None = None
    scale: float = 0.0

    def left(self, V: np.ndarray) -> np.ndarray:
        """``(A - shift B) V``."""
        product = np.asarray(self.A @ V.astype(precision(self.A), copy=False), dtype=np.float64)
        return product - self.shift * (self.B @ V) if self.shift else product

    def right(self, V: np.ndarray) -> np.ndarray:
        """``(B + rho I) V``."""
        product = V if self.B is None else np.asarray(self.B @ V)
        return product + self.rho * V if self.rho else product

    def certificate(
        self, values: np.ndarray, vectors: np.ndarray, tolerance: float = TOLERANCES["float64"]
    ) -> Certificate:
        """Check eigenpairs, whichever solver found them.

        A few columns are checked at a time, to need less memory than the solvers.
        """
        slices = [slice(start, start + COLUMNS) for start in range(0, values.size, COLUMNS)]
        parts = [self._checked(values[columns], vectors, columns) for columns in slices]
        shares, residuals, errors, outside = (np.concatenate(found) for found in zip(*parts, strict=True))
        error = max(length(errors), length(outside) / (length(vectors) or 1.0))
        gap = None if self.following is None else max(float(self.following - values[-1]), 0.0)
        angle = None if gap is None else angle_bound(length(residuals), gap, error)
        return Certificate(float(shares.max()), error, self.rank, self._condition, gap, angle, tolerance=tolerance)

    def _checked(self, values: np.ndarray, vectors: np.ndarray, columns: slice) -> tuple[np.ndarray, ...]:
        """Check some columns.

        It returns residuals as shares and in the norm of B, errors of the constraint, and what B does not see.
        """
        V, mu = vectors[:, columns].astype(np.float64, copy=False), values - self.shift
        right = self.right(V)
        residuals = self._white(self.left(V) - right * mu)
        errors = [vectors.T @ right - np.eye(vectors.shape[1])[:, columns]]
        if self.deflated is not None:
            residuals -= self.deflated @ (self.deflated.T @ residuals)
            errors.append(self.deflated.T @ self._white(right))
        sizes = (self._norm + np.abs(mu) * self._norm_of_b) * column_lengths(V)
        shares = column_lengths(residuals * self._roots[:, None]) / np.where(sizes > 0, sizes, 1.0)
        whole = self.T is None or self.T.shape[1] == self.T.shape[0]
        outside = np.zeros(values.size) if whole else column_lengths(V - self.T @ (self.T.T @ right))
        return shares, column_lengths(residuals), column_lengths(np.vstack(errors)), outside

    @property
    def _is_known(self) -> bool:
        """Whether B is a matrix, so that T shows its eigenvalues."""
        return self.B is None or self.T is not None

    def _white(self, R: np.ndarray) -> np.ndarray:
        """R in the norm of the inverse of ``B + rho I``, on its range. For an operator it is an upper bound."""
        return self.T.T @ R if self.T is not None else R if self._is_known else R / sqrt(self.rho)

    @cached_property
    def _roots(self) -> np.ndarray:
        """The square roots of the eigenvalues of ``B + rho I``, which are 1 over the lengths of the columns of T."""
        if self.T is None:
            return np.full(1, 1.0 if self._is_known else sqrt(self.rho))
        if isinstance(self.T, np.ndarray):
            return 1 / column_lengths(self.T)
        # T comes from a diagonal here, so each column has one entry.
        return 1 / np.asarray(abs(self.T).sum(axis=0)).ravel()

    @property
    def _condition(self) -> float | None:
        return float((self._roots.max() / self._roots.min()) ** 2) if self._is_known else None

    @cached_property
    def _norm_of_b(self) -> float:
        return float(self._roots.max() ** 2) if self._is_known else size(self.right, self.B.shape[0])

    @cached_property
    def _norm(self) -> float:
        """The norm of ``A - shift B`` on the range of B."""
        if self.T is None:
            return max(size(self.left, self.A.shape[0]), self.scale)
        roots = self._roots[:, None]  # T times these roots has orthonormal columns
        return size(lambda V: roots * (self.T.T @ self.left(self.T @ (roots * V))), self.T.shape[1])

    @cached_property
    def spread(self) -> float:
        """About the largest absolute value of ``lambda - shift``. For operators it is an upper bound."""
        if self.T is None:
            return self._norm if self._is_known else self._norm / self.rho
        return size(lambda V: self.T.T @ self.left(self.T @ V), self.T.shape[1])


def column_lengths(M: np.ndarray) -> np.ndarray:
    """The lengths of columns, also where their squares leave the range of floating point."""
    largest = np.abs(M).max(initial=0.0) or 1.0
    return largest * np.linalg.norm(M / largest, axis=0)


def length(M: np.ndarray) -> float:
    """The Frobenius norm of a matrix, also where its squares leave the range of floating point."""
    return float(column_lengths(M.reshape(-1, 1))[0])


def size(apply: Callable[[np.ndarray], np.ndarray], n: int) -> float:
    """The norm of a symmetric matrix of n rows, from a few steps of the power method.

    It is never too large, and rarely much too small.
    """
    v, found = np.random.RandomState(0).standard_normal((n, 1)), 0.0
    for _ in range(STEPS):
        before = length(v)
        if not before:
            break
        v = apply(v / before)
        found = max(found, length(v))
    return found


def angle_bound(residual: float, gap: float, constraint_error: float) -> float:
    r"""The largest angle that directions with this residual can have with the true ones.

    Let :math:`R = C Z - Z \Theta`, where C is the matrix A in coordinates in which B is the identity, and Z are the
    directions in these coordinates. Suppose that the eigenvalues that are left out exceed those of :math:`\Theta` by
    :math:`\delta` or more. Then the sine of the angle is at most :math:`\|R\| / (\delta \sigma)`, where :math:`\sigma` is the
    smallest singular value of Z [1]_. The next eigenvalue may itself be wrong by as much as the residual.

    References
    ----------
    .. [1] C. Davis and W. M. Kahan, "The rotation of eigenvectors by a perturbation. III", SIAM Journal on Numerical Analysis 7,
       1970. https://doi.org/10.1137/0707001
    """
    apart, shortest = gap - residual, 1 - constraint_error
    if apart <= 0 or shortest <= 0:
        return pi / 2
    return asin(min(1.0, residual / (apart * sqrt(shortest))))
