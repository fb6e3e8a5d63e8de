"""The registry: every method is in it, what its class says of itself is true, and every table is read from it."""

import inspect
import re
import subprocess
import sys
from itertools import groupby

import numpy as np
import oracles as o
import pytest
from helpers import each
from sklearn.decomposition import PCA

import lapwing
from lapwing import comparison
from lapwing.methods import METHODS, described, plain
from lapwing.problem import ORTHOGONAL
from lapwing.reducers import LinearReducer, Reducer

X, Y = o.blobs(40, 6)
X = np.abs(X)  # weights of terms, for LPI
ROWS = {name: described(method) for name, method in METHODS.items()}
# What methods are compared with, and those of another map or with another graph.
RIVALS = ["PCA", "TruncatedSVD", "LDA", "shrinkage LDA", "NCA", "kernel PCA + LDA"]
SPREAD = ["KernelLPP + spread labels", "LPP + spread labels"]
OTHERS = [
    *RIVALS,
    *SPREAD,
    *(f"LPP + {what}" for what in ("classes", "repulsion", "targets")),
    "KernelLPP + classes",
    "OLPP + repulsion",
]


def estimator(name):
    return METHODS[name](image_shape=(2, 3)) if name == "TSA" else METHODS[name]()


def below(cls):
    return {cls}.union(*map(below, cls.__subclasses__()))


def test_every_method_is_in_it():
    written = {c for c in below(Reducer) if c.__module__ == "lapwing" and c.__name__[0] != "_"}
    assert set(METHODS.values()) == written
    assert all(name == method.__name__ for name, method in METHODS.items())


@each("name", METHODS)
def test_every_method_speaks_for_itself(name):
    about = vars(METHODS[name])["about"]  # its own, and not that of a class it derives from
    assert type(about) is type(lapwing.LPP.about)
    assert all(about[:3])
    assert all(plain(text).isascii() for text in ROWS[name].values())


def test_families_stand_together():
    families = [family for family, _ in groupby(row["family"] for row in ROWS.values())]
    assert len(families) == len(set(families)) == 5


@each("name", METHODS)
def test_labels_are_needed_where_the_table_says_so(name):
    if ROWS[name]["labels"] != "needed":
        model = estimator(name).fit(X)
        if ROWS[name]["labels"] == "unused":
            np.testing.assert_array_equal(model.components_, estimator(name).fit(X, Y).components_)
    else:
        with pytest.raises(ValueError, match="y"):
            estimator(name).fit(X)


@each("name", METHODS)
def test_the_constraint_is_the_one_in_the_table(name):
    """Of those that have a letter: orthogonal directions, the identity, the degrees of the graph."""
    model, constraint = estimator(name), ROWS[name]["constraint"]
    B = model.problem(X, Y).subject_to
    assert (constraint == "orthogonal") == (B is ORTHOGONAL)
    if constraint == "I":
        np.testing.assert_array_equal(B.toarray(), np.eye(40))
    elif constraint == "D":
        rows = X / np.linalg.norm(X, axis=1, keepdims=True) if name == "LPI" else X
        terms = model.default_graph(model.n_neighbors).build(rows, Y)
        np.testing.assert_allclose(B.toarray(), sum(term.coefficient * term.degrees.toarray() for term in terms))


@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("OLPP", "linear"),
        ("KernelNPE", "kernel"),
        ("GLPCA", "free"),
        ("TSA", "multilinear"),
        ("FisherScore", "one feature"),
    ],
)
def test_the_map_is_that_of_the_base_class(name, over):
    assert ROWS[name]["map"] == over


# What is read from it


def test_the_names_of_the_package():
    names = {}
    exec("from lapwing import *", names)
    assert lapwing.__all__ == list(METHODS)
    assert names.keys() - {"__builtins__"} == METHODS.keys()
    for name, method in METHODS.items():
        assert names[name] is getattr(lapwing, name) is method
    assert METHODS.keys() <= set(dir(lapwing))
    for unknown in ("LPQ", "_methods_", "__wrapped__"):
        assert not hasattr(lapwing, unknown)


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, lapwing; lapwing.__version__, hasattr(lapwing, '__wrapped__'); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_type_checkers_see_the_names():
    """They run nothing, and so read the list that the registry is made of."""
    source = inspect.getsource(lapwing.methods)
    listed = source[source.index("__all__ = [") : source.index("\n#:")]
    assert re.findall(r'"(\w+)"', listed) == list(METHODS)
    source = inspect.getsource(lapwing)
    assert "    from .methods import *" in source[source.index("if TYPE_CHECKING:") :].split("\n\n")[0]


def test_what_is_compared():
    linear = [name for name, method in METHODS.items() if issubclass(method, LinearReducer)]
    named = METHODS.keys() - {"TSA", "LaplacianScore", "FisherScore"}  # of images, and choosing features
    assert set(comparison.METHODS) == {*named, *OTHERS}
    assert all(type(comparison.METHODS[name]) is METHODS[name] for name in named)
    assert isinstance(comparison.METHODS["PCA"], PCA)
    tried = {name: set(method.about.compared_on) for name, method in METHODS.items()}
    assert set.union(*tried.values()) == {"dense", "sparse", "counts", "unlabelled"}
    assert {name for name in tried if tried[name]} <= set(linear)  # others would wait in vain
