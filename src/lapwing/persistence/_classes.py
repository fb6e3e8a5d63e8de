"""Classes by their names in files: a table for those of lapwing and scikit-learn, and ``module:Name`` for others.

Reading a file imports nothing. A class from outside lapwing is found among those that the program has defined or imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import isclass

from sklearn.kernel_approximation import Nystroem

from .. import graphs
from ..graphs import Graph
from ..methods import METHODS
from ..reducers import Reducer
from ._others import STORABLE

# Classes by their names in files. A name stays the same when its class moves.
OWN: dict[str, type] = {
    **METHODS,
    **{name: cls for name, cls in vars(graphs).items() if isclass(cls) and issubclass(cls, Graph)},
    "NoGraph": graphs.Empty,
    "Nystroem": Nystroem,
    **{cls.__name__: cls for cls in STORABLE},
}
NAMES = {cls: name for name, cls in OWN.items()}
OUTSIDE = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def is_known(cls: type) -> bool:
    """Whether objects of this class can be in a file."""
    return cls in NAMES or (issubclass(cls, Reducer | Graph) and not _is_ours(cls))


def name_of(cls: type) -> str:
    """The name that a class has in files."""
    name = NAMES.get(cls, _outside_name(cls))
    if "<locals>" in name:
        raise ValueError(
            f"{cls.__name__} is defined inside a function, where no other program can find it; define it at the top of a module"
        )
    return name


def _outside_name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def class_of(name: str) -> type:
    """The class that a file names."""
    if name in OWN:
        return OWN[name]
    if not OUTSIDE.fullmatch(name):
        raise ValueError(f"the class {name!r} is unknown; a newer lapwing may know it")
    found = [cls for cls in _outside() if _outside_name(cls) == name]
    if not found:
        raise ValueError(_where_to_look(*name.split(":")))
    return next((cls for cls in found if _is_current(cls)), found[-1])


def _where_to_look(module: str, name: str) -> str:
    if module == "__main__":
        return f"its class {name} was defined in the program that wrote it; define it in this one first"
    if module in sys.modules:
        return f"{module} has no estimator or graph {name}; it may have another name there today"
    return (
        f"its class {name} is not lapwing's; import the module that defines it first: import {module}, or --import {module} on "
        "the command line"
    )


def _outside() -> Iterator[type]:
    """The estimators and graphs of this program that are not lapwing's."""
    open_: list[type] = [Reducer, Graph]
    for cls in open_:
        open_ += cls.__subclasses__()
        if not _is_ours(cls):
            yield cls


def _is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "lapwing"


def _is_current(cls: type) -> bool:
    """Whether the module of a class still has this class under its name. A notebook may have defined it several times."""
    return vars(sys.modules.get(cls.__module__) or object).get(cls.__qualname__) is cls
