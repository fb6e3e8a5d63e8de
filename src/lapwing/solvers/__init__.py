"""The eigenproblem ``A v = lambda B v``, with symmetric A and B, for the smallest lambda."""

from .._public import public
from ._certificate import TOLERANCES, Certificate, CertificateWarning, certify, estimate_norm
from ._solve import (
    RankError,
    Solution,
    fix_signs,
    largest_value,
    numerical_rank,
    solve,
    solve_operators,
    too_few,
    trace_ratio,
)
from ._ways import LanczosError, inverse, seeded_eigsh, single_blas_thread

__all__ = [
    "TOLERANCES",
    "Certificate",
    "CertificateWarning",
    "LanczosError",
    "RankError",
    "Solution",
    "certify",
    "estimate_norm",
    "fix_signs",
    "inverse",
    "largest_value",
    "numerical_rank",
    "seeded_eigsh",
    "single_blas_thread",
    "solve",
    "solve_operators",
    "too_few",
    "trace_ratio",
]
public(__name__.partition(".")[0], ["Certificate", "CertificateWarning"], globals())
