"""Which line of the source a place such as ``graphs/neighbors.py::heat_weights np.exp`` is. It needs no Sphinx."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def file_of(path):
    return ROOT / path if path.startswith(("tests/", "papers/")) else ROOT / "src" / "lapwing" / path


def names(node):
    """What a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def find(place):
    """``(path, name, line)`` of a place; ValueError where there is no such thing."""
    where, _, fragment = place.partition(" ")
    path, _, name = where.partition("::")
    if not file_of(path).is_file():
        raise ValueError(f"there is no file {path}")
    text = file_of(path).read_text(encoding="utf-8")
    node = ast.parse(text)
    for part in name.split("."):
        node = next((child for child in node.body if part in names(child)), None)
        if node is None:
            raise ValueError(f"{path} has no {name}")
    if not fragment:
        return path, name, node.lineno
    for number, line in enumerate(text.splitlines()[node.lineno - 1 : node.end_lineno], node.lineno):
        if fragment in line:
            return path, name, number
    raise ValueError(f"{name} of {path} has no line with {fragment}")
