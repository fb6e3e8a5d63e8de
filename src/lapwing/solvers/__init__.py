"""The eigenproblem: ``A v = lambda B v`` for the smallest lambda, symmetric throughout."""

from ._solve import SOLVERS, Solution, fix_signs, solve

__all__ = ["SOLVERS", "Solution", "fix_signs", "solve"]
