"""The proof that a fit carries: how well what was found solves the problem, and how far from the true solution it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import asin, inf, pi, sqrt
from typing import Any

import numpy as np
from scipy import sparse

# The largest residual and error of the constraint with which a certificate holds, by the precision of X.
TOLERANCES = {"float64": 1e-6, "float32": 1e-3}
POWER_STEPS = 6  # steps of the power method, whose estimate of a norm is then right to a few per cent


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
            "condition": "" if self.condition is None else f"{self.condition:.1e}",
            "gap": "" if self.gap is None else "all directions kept" if self.gap == inf else f"{self.gap:.2g}",
            "at most this far from the true directions": (
                "" if self.angle is None else f"{self.angle * 180 / pi:.1e} degrees"
            ),
        }
        return ", ".join(f"{name} {value}" for name, value in parts.items() if value)

    def _repr_html_(self) -> str:
        verdict = "solves its problem" if self.holds else f"exceeds the tolerance of {self.tolerance:g}"
        return f"<p><strong>{verdict}</strong>: {self}</p>"


def certify(solution: Any, dtype: Any = np.float64) -> Certificate:
    r"""Check eigenpairs, whichever solver found them: a :class:`~lapwing.solvers.Solution` says what was to be solved.

    The bound of the angle: let :math:`R = C Z - Z \Theta`, where C is the matrix A in coordinates in which B is the identity, and
    Z are the directions in these coordinates. Suppose that the eigenvalues that are left out exceed those of :math:`\Theta` by
    :math:`\delta` or more. Then the sine of the angle is at most :math:`\|R\| / (\delta \sigma)`, where :math:`\sigma` is the
    smallest singular value of Z [1]_. The next eigenvalue may itself be wrong by as much as the residual.

    References
    ----------
    .. [1] C. Davis and W. M. Kahan, "The rotation of eigenvectors by a perturbation. III", SIAM Journal on Numerical Analysis 7,
       1970. https://doi.org/10.1137/0707001
    """
    s, V = solution, solution.vectors.astype(np.float64, copy=False)
    mu, T, known = s.values - s.shift, s.T, s.B is None or s.T is not None
    BV = V if s.B is None else s.B @ V
    right = BV + s.rho * V
    AV = s.A @ V.astype(s.A.dtype if s.A.dtype == np.float32 else np.float64, copy=False)
    residuals = np.asarray(AV, dtype=np.float64) - s.shift * BV - right * mu
    white = T.T @ residuals if T is not None else residuals if known else residuals / sqrt(s.rho)
    errors, unseen = [V.T @ right - np.eye(mu.size)], 0.0
    if s.deflated is not None:
        white = white - s.deflated @ (s.deflated.T @ white)
        errors.append(s.deflated.T @ (right if T is None else T.T @ right))
    if T is not None and T.shape[1] < T.shape[0]:  # what the constraint does not see must not be there
        unseen = float(np.linalg.norm(V - T @ (T.T @ right)) / (np.linalg.norm(V) or 1.0))
    # The columns of T are orthogonal, and their lengths are 1 over the roots of the eigenvalues of B + rho.
    roots = np.ones(1) if T is None else 1 / np.sqrt(np.asarray((T * T).sum(axis=0)).ravel())
    largest = roots.max() ** 2 if known else estimate_norm(lambda U: s.B @ U + s.rho * U, len(V))
    if isinstance(s.A, np.ndarray):
        size = float(np.linalg.norm(s.A - s.shift * s.B if s.shift else s.A))
    elif sparse.issparse(s.A) and not s.shift:
        size = float(
            abs(s.A.copy()).sum(axis=1).max()
        )  # of a copy, since SciPy sorts the entries of what it takes abs of
    else:
        size = s.scale or estimate_norm(lambda U: s.A @ U - s.shift * (U if s.B is None else s.B @ U), len(V))
    scale = (size + np.abs(mu) * largest) * np.linalg.norm(V, axis=0)
    shares = np.linalg.norm(white * (roots[:, None] if known else sqrt(s.rho)), axis=0) / np.where(
        scale > 0, scale, 1.0
    )
    error, residual = max(float(np.linalg.norm(np.vstack(errors))), unseen), float(np.linalg.norm(white))
    gap, angle = None if s.following is None else max(float(s.following - s.values[-1]), 0.0), None
    if gap is not None:
        apart = (gap - residual) * sqrt(max(1 - error, 0.0))
        angle = asin(min(1.0, residual / apart)) if apart > 0 else pi / 2
    condition = float((roots.max() / roots.min()) ** 2) if known else None
    return Certificate(float(shares.max()), error, s.rank, condition, gap, angle, TOLERANCES[np.dtype(dtype).name])


def estimate_norm(apply: Callable[[np.ndarray], np.ndarray], n: int) -> float:
    """The norm of a symmetric matrix of n rows, from a few steps of the power method.

    It is never too large, and rarely much too small.
    """
    v, found = np.random.RandomState(0).standard_normal((n, 1)), 0.0
    for _ in range(POWER_STEPS):
        before = float(np.linalg.norm(v))
        if not before:
            break
        v = apply(v / before)
        found = max(found, float(np.linalg.norm(v)))
    return found
