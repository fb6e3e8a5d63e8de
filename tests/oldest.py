"""Prints the oldest releases that both ``pyproject.toml`` allow, as constraints for pip: ``make test-oldest`` installs them."""

import re
import tomllib
from pathlib import Path


def oldest(requirements):
    """``numpy>=1.26`` becomes ``numpy==1.26.*``, and ``pillow>=10`` becomes ``pillow==10.0.*``."""
    for requirement in requirements:
        if found := re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement):
            name, version = found.groups()
            yield f"{name}=={version if '.' in version else version + '.0'}.*"


if __name__ == "__main__":
    root, found = Path(__file__).parents[1], set()
    for file in (root / "pyproject.toml", root / "papers" / "pyproject.toml"):
        project = tomllib.loads(file.read_text())["project"]
        extras = project["optional-dependencies"]
        of_extras = [requirement for name in extras if name != "gpu" for requirement in extras[name]]  # torch once
        found.update(oldest(project["dependencies"] + of_extras))
    print(*sorted(found), sep="\n")
