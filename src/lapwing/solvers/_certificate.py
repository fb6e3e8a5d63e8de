"""The certificate of a fit: how well what was found solves the problem, and how far from the true solution it can be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import asin, inf, pi, sqrt
from typing import Any

import numpy as np
from scipy import sparse

from .._validation import caller_stacklevel

# The largest residual and error of the constraint with which a certificate holds, by the precision of X.
TOLERANCES = {"float64": 1e-6, "float32": 1e-3}
POWER_STEPS = 6  # steps of the power method, whose estimate of a norm is then right to a few per cent


class CertificateWarning(UserWarning):
    """Says that a solution solves its problem less exactly than it should; ``certificate_`` has the numbers.

    Examples
    --------
    To make it an error, so that no such model is used:

    >>> import warnings
    >>> from lapwing import CertificateWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", CertificateWarning)  # and then the fit
    """


@dataclass(frozen=True)
class Certificate:
    r"""How well eigenvectors V and eigenvalues :math:`\lambda` solve :math:`A v = \lambda B v` subject to :math:`V^\top B V = I`.

    It is measured in the directions that ``pca=`` keeps and the constraint sees. With a ridge, B includes it. None is not known.

    Attributes
    ----------
    residual : float
        The largest :math:`\|A v - \lambda B v\| / ((\|A\| + |\lambda| \|B\|) \|v\|)`: v is exact for A and B that differ by
        this share.
    constraint_error : float
        :math:`\|V^\top B V - I\|`, or the part of V along directions that it must not have, such as the constant.
    rank : int or None
        How many directions the data and the constraint leave.
    condition : float or None
        The largest eigenvalue of B over the smallest that counts: where it is large, digits are lost.
    gap : float or None
        The distance from the last eigenvalue to the next one, infinite where all were kept: at 0, which direction came last is
        arbitrary.
    angle : float or None
        The largest angle, in radians, that the space of the directions can have with the true one (Davis and Kahan), as the
        inner product of B measures it. It takes A and B as exact.
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
        parts = [f"residual {self.residual:.1e}, constraint error {self.constraint_error:.1e}"]
        parts += [] if self.condition is None else [f"condition {self.condition:.1e}"]
        parts += [] if self.gap is None else [f"gap {'all directions kept' if self.gap == inf else f'{self.gap:.2g}'}"]
        degrees = self.angle and self.angle * 180 / pi
        parts += [] if degrees is None else [f"at most this far from the true directions {degrees:.1e} degrees"]
        return ", ".join(parts)


def certify(solution: Any, dtype: Any = np.float64, who: str = "the solver") -> Certificate:
    """Check eigenpairs, whichever solver found them: a ``Solution`` says what was to be solved. Warn where they are not right.

    By the theorem of Davis and Kahan (https://doi.org/10.1137/0707001), where B is the identity, the sine of the angle is at
    most the norm of the residuals, over the distance to the eigenvalues that are left out (the next may be wrong by as much as
    the residual), over the smallest singular value of the directions.
    """
    s, T, mu, n = solution, solution.T, solution.values - solution.shift, len(solution.vectors)
    V, known = s.vectors.astype(np.float64, copy=False), s.B is None or T is not None
    BV = V if s.B is None else s.B @ V
    right, AV = BV + s.rho * V, s.A @ (V.astype(np.float32) if s.A.dtype == np.float32 else V)
    residuals = AV.astype(np.float64, copy=False) - s.shift * BV - right * mu
    white = T.T @ residuals if T is not None else residuals if known else residuals / sqrt(s.rho)
    errors, unseen = [V.T @ right - np.eye(mu.size)], 0.0
    if s.deflated is not None:
        white = white - s.deflated @ (s.deflated.T @ white)
        errors.append(s.deflated.T @ (right if T is None else T.T @ right))
    if T is not None and T.shape[1] < T.shape[0]:  # what the constraint does not see must not be there
        unseen = float(np.linalg.norm(V - T @ (T.T @ right)) / (np.linalg.norm(V) or 1.0))
    # The columns of T are orthogonal, and their lengths are 1 over the roots of the eigenvalues of B + rho.
    roots = np.ones(1) if T is None else 1 / np.sqrt(np.asarray((T * T).sum(axis=0)).ravel())
    largest = roots.max() ** 2 if known else estimate_norm(lambda U: s.B @ U + s.rho * U, n)
    if isinstance(s.A, np.ndarray):
        size = float(np.linalg.norm(s.A - s.shift * s.B if s.shift else s.A))
    elif sparse.issparse(s.A) and not s.shift:
        size = float(abs(s.A.copy()).sum(axis=1).max())  # of a copy, whose entries SciPy sorts
    else:
        size = s.scale or estimate_norm(lambda U: s.A @ U - s.shift * (U if s.B is None else s.B @ U), n)
    scale = (size + np.abs(mu) * largest) * np.linalg.norm(V, axis=0)
    shares = np.linalg.norm(white * (roots[:, None] if known else sqrt(s.rho)), axis=0) / np.where(scale > 0, scale, 1)
    error, residual = max(float(np.linalg.norm(np.vstack(errors))), unseen), float(np.linalg.norm(white))
    gap, angle = None if s.following is None else max(float(s.following - s.values[-1]), 0.0), None
    if gap is not None:
        apart = (gap - residual) * sqrt(max(1 - error, 0.0))
        angle = asin(min(1.0, residual / apart)) if apart > 0 else pi / 2
    condition = float((roots.max() / roots.min()) ** 2) if known else None
    tolerance = max(TOLERANCES[np.dtype(dtype).name], s.accuracy)
    found = Certificate(float(shares.max()), error, s.rank, condition, gap, angle, tolerance)
    if not max(found.residual, found.constraint_error) <= found.tolerance:  # also where one is NaN
        remedy = "ask for fewer components, or leave out what is near rounding, by pca= or ridge= where there is one"
        message = f"{who} solved its problem less well than to {found.tolerance:.1g} ({found}); {remedy}"
        warnings.warn(message, CertificateWarning, stacklevel=caller_stacklevel())
    return found


def estimate_norm(apply: Callable[[np.ndarray], np.ndarray], n: int) -> float:
    """The norm of a symmetric matrix of n rows, from a few steps of the power method: rarely much too small, never too large."""
    v, found = np.random.RandomState(0).standard_normal((n, 1)), 0.0
    for _ in range(POWER_STEPS):
        if before := float(np.linalg.norm(v)):
            v = apply(v / before)
            found = max(found, float(np.linalg.norm(v)))
    return found
