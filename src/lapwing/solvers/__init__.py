"""The eigenproblem: ``A v = lambda B v`` for the smallest lambda, symmetric throughout."""

from ._free import largest_value, solve_free, solve_operator
from ._solve import SOLVERS, RankError, Solution, fix_signs, solve

__all__ = ["SOLVERS", "RankError", "Solution", "fix_signs", "largest_value", "solve", "solve_free", "solve_operator"]
