"""The eigenproblem: ``A v = lambda B v`` for the smallest lambda, symmetric throughout."""

from ._free import solve_free, solve_operator
from ._solve import SOLVERS, RankError, Solution, fix_signs, solve

__all__ = ["SOLVERS", "RankError", "Solution", "fix_signs", "solve", "solve_free", "solve_operator"]
