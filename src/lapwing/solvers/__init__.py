"""The eigenproblem: ``A v = lambda B v`` for the smallest lambda, symmetric throughout."""

from ._free import largest_value, solve_free, solve_operator
from ._lanczos import single_blas_thread
from ._solve import SOLVERS, RankError, Solution, fix_signs, numerical_rank, solve

__all__ = [
    "SOLVERS",
    "RankError",
    "Solution",
    "fix_signs",
    "largest_value",
    "numerical_rank",
    "single_blas_thread",
    "solve",
    "solve_free",
    "solve_operator",
]
