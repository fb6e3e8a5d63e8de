"""One case of the golden suite: how it is run, and what of it is recorded.

A case is a name, and a function from the public names of the library to a record.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from golden_compare import GAP, LEAST, Record
from golden_data import FITTED, MissingName, Names
from scipy import sparse

NUMBERS = ("gamma_", "trace_ratio_", "alpha_", "reconstruction_error_", "objective_", "n_samples_seen_")
PLAIN = ("mean_", "scale_", "scores_", "support_", "density_")
KEPT = (
    "components_",
    "dual_coef_",
    "embedding_",
    "mean_",
    "scale_",
    "eigenvalues_",
    "scores_",
)  # whose type is recorded
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
ONCE = "UnitsWarning"  # it is given once per process, and so has a case of its own
PASSING = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


def dense(X: Any) -> np.ndarray:
    """An array of NumPy, whatever it was before."""
    if hasattr(X, "toarray"):
        return X.toarray()
    if hasattr(X, "detach"):
        return X.detach().cpu().numpy()
    return np.asarray(X)


def _dtype(found: Any) -> str:
    """The type of the numbers of an array, or of the arrays of a list."""
    return _dtype(found[0]) if isinstance(found, list) else str(getattr(found, "dtype", found))


def cut_off(values: np.ndarray, certificate: Any) -> bool:
    """Whether the eigenvalue after the last is equal to it, so that other components would do as well."""
    gap = getattr(certificate, "gap", None)
    return gap is not None and gap <= GAP * max(np.abs(values).max(initial=0), LEAST)


def described(model: Any, X: Any = None, new: Any = None, every: int = 1) -> Record:
    """What a fitted estimator holds, and where it places the rows X and ``new``. Of columns of X, each ``every``-th is kept."""
    facts: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name in ("rank", "n_pca", "n_connected_components"):
        if hasattr(model, f"{name}_"):
            found = getattr(model, f"{name}_")
            facts[name] = None if found is None else np.asarray(found).tolist()
    if hasattr(model, "graph_"):
        facts["graph"] = shown(model.graph_)
    facts["dtypes"] = {name: _dtype(getattr(model, name)) for name in KEPT if hasattr(model, name)}
    for name in NUMBERS + PLAIN:
        found = getattr(model, name, None)
        if found is not None:
            arrays[name] = dense(found)[..., ::every] if name in PLAIN else float(found)
    if isinstance(getattr(model, "components_", None), list):
        return _described_modes(model, X, new, facts, arrays)
    values = getattr(model, "eigenvalues_", None)
    if values is not None:
        arrays["0/eigenvalues"] = dense(values)
        facts["cut"] = [0] if cut_off(arrays["0/eigenvalues"], getattr(model, "certificate_", None)) else []
    for name in ("components_", "dual_coef_"):
        if hasattr(model, name):
            arrays[f"0/{name}"] = dense(getattr(model, name)).T[::every]
    if hasattr(model, "embedding_"):
        arrays["0/embedding_"] = dense(model.embedding_)
    if getattr(model, "explained_ratio_", None) is not None:
        arrays["0/explained_ratio_"] = dense(model.explained_ratio_)
    for name, given in (("fitted", None if X is None else _head(X)), ("new", new)):
        if given is None:
            continue
        try:
            Z = model.transform(given)
        except Exception as error:
            facts[f"{name}: error"] = _words(error)
            continue
        facts["dtype"] = str(Z.dtype)
        arrays[f"0/{name}" if values is not None else name] = dense(Z)
    if (
        hasattr(model, "intercept_") and "0/fitted" in arrays
    ):  # it may be 0 up to rounding: its size is that of coordinates
        arrays["0/fitted"] = np.concatenate([arrays["0/fitted"], dense(model.intercept_)[None]])
    facts["names"] = [str(name) for name in model.get_feature_names_out()]
    return Record(facts, arrays)


def _described_modes(model: Any, X: Any, new: Any, facts: dict[str, Any], arrays: dict[str, Any]) -> Record:
    """As above, for images: one space per mode. Images that are restored do not depend on the signs in any of them."""
    certificates, facts["cut"] = model.certificate_, []
    for mode, (components, values) in enumerate(zip(model.components_, model.eigenvalues_, strict=True)):
        arrays[f"{mode}/components_"], arrays[f"{mode}/eigenvalues"] = dense(components).T, dense(values)
        if cut_off(dense(values), certificates[mode]):
            facts["cut"].append(mode)
    for name, given in (("fitted", X if X is None else _head(X)), ("new", new)):
        if given is not None and not facts["cut"]:
            Z = model.transform(given)
            facts["dtype"], facts["shape"] = str(Z.dtype), list(Z.shape[1:])
            arrays[name], arrays[f"{name}, restored"] = np.abs(dense(Z)), dense(model.inverse_transform(Z))
    facts["names"] = [str(name) for name in model.get_feature_names_out()]
    return Record(facts, arrays)


def _head(X: Any) -> Any:
    """The first fitted rows, also of a matrix that cannot be sliced."""
    if sparse.issparse(X):
        return X.tocsr()[:FITTED].asformat(X.format)
    return getattr(X, "iloc", X)[:FITTED]


def shown(graph: Any) -> str:
    """How a graph prints, in one line and without addresses."""
    return ADDRESS.sub("", " ".join(repr(graph).split()))


def _words(error: BaseException, count: int = 6) -> str:
    """The type and the first words of an error."""
    return f"{type(error).__name__}: {' '.join(ADDRESS.sub('', str(error)).split()[:count])}"


@dataclass(frozen=True)
class Case:
    """One case: a name, the file it is kept in, what runs it, how far results may be apart, and the modules it needs."""

    name: str
    family: str
    function: Callable[[Names], Record]
    tol: float = 1e-8
    needs: tuple[str, ...] = ()

    def run(self) -> Record:
        """What the case gives: a record, also where it raises. Only a name that the library lacks is raised."""
        with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("always")
            try:
                found = self.function(Names(Path(folder)))
            except MissingName:
                raise
            except Exception as error:
                found = Record({"error": _words(error)})
        seen = {w.category.__name__ for w in caught if not issubclass(w.category, PASSING)} - {ONCE}
        return Record({**found.facts, "warnings": sorted(seen)}, found.arrays)

    @property
    def lacks(self) -> list[str]:
        """The modules that it needs and that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]
