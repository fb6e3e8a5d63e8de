"""What tests compare with, and how."""

import re
from functools import wraps
from inspect import signature

import numpy as np
import pytest
from oracles import laplacian
from scipy import sparse
from sklearn.base import BaseEstimator

from lapwing import LPCA, LPDP, LPP, LSDA, NPE, TSA, KernelLPP, KernelNPE
from lapwing.data import as_data
from lapwing.graphs import CodingLength, Graph
from lapwing.problem import degree_sum, laplacian_sum


def each(names, cases):
    """As ``pytest.mark.parametrize``, in one test: for many cases that take a moment each. All cases that fail are told."""
    names, cases = re.findall(r"\w+", names) if isinstance(names, str) else names, list(cases)

    def decorate(test):
        @wraps(test)
        def run(*self, **given):
            failures = []
            for case in cases:
                case = case.values if hasattr(case, "marks") else case if len(names) > 1 else (case,)
                try:
                    test(*self, **given, **dict(zip(names, case, strict=True)))
                except pytest.skip.Exception:
                    continue
                except Exception as error:
                    error.add_note(f"Where {', '.join(names)} = {case!r}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(cases)} cases fail", failures)

        parameters = signature(test).parameters.values()
        run.__signature__ = signature(test).replace(parameters=[one for one in parameters if one.name not in names])
        return run

    return decorate


def form(M, F, shift=None):
    """``(F - shift)ᵀ M (F - shift)``, in float64; F is (n, p), dense or sparse."""
    return as_data(F).form(M, np.zeros(F.shape[1]) if shift is None else shift)


def literal(method, *args, **params):
    """The method as its paper prints it, ``preset="paper"``, centred so that X may be moved, and what is given beside it.

    ``n_components`` is 2 where it is not given, and ``graph=None`` the paper's graph.
    """
    accepted = signature(method).parameters
    usual = {"n_components": 2, "graph": None}
    named = signature(method).bind_partial(*args, **params).arguments
    if method in (LPP, LPDP, LSDA, NPE, KernelLPP, KernelNPE):
        by_degrees = method not in (NPE, KernelNPE) and named.get("penalty") is None and "constraint" not in named
        usual["center"] = "degree" if by_degrees else "mean"
    if method is TSA:
        usual["center"] = "mean"
    if method is LPCA and not isinstance(named.get("graph"), Graph):
        named["graph"] = CodingLength(named.get("graph") or 5)  # coded about the mean
    if "rho" in accepted:
        usual["rho"] = 1.02  # that of the paper stops above the optimum
    return method(preset="paper", **{name: value for name, value in usual.items() if name in accepted} | named)


def inverse(distances):
    """Edge weights given as a function."""
    return 1 / (1 + distances)


def close(actual, expected, tol=1e-10):
    """No difference above ``tol`` times the largest entry (or times 1)."""
    actual, expected = (M.toarray() if hasattr(M, "toarray") else M for M in (actual, expected))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))


def check_term(term, expected, tol=1e-10):
    """Compare with ``(L, D)``, or with the L and D of a weight matrix."""
    L, D = expected if isinstance(expected, tuple) else laplacian(expected)
    close(term.laplacian, L, tol)
    close(term.degrees, D, tol)


def check_sum(terms, L, D=None, tol=1e-10):
    """Compare the signed sum with L, and the degrees of what attracts with D."""
    close(laplacian_sum(terms), L, tol)
    if D is not None:
        close(degree_sum(terms), D, tol)


def frozen(X):
    """X in memory that cannot be written."""
    X = X.copy()
    for array in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        array.flags.writeable = False
    return X


def named(value):
    """The id of a parametrised test: a graph or an estimator as it prints, options by their values, no addresses."""
    if isinstance(value, dict):
        return "-".join(getattr(v, "__name__", str(v)) for k, v in value.items() if k != "metric_params")
    if isinstance(value, Graph | BaseEstimator):
        return re.sub(r"<function (\w+).*?>", r"\1", " ".join(repr(value).split()))[:90]
    return None
