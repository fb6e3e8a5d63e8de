"""Prints the oldest releases that ``pyproject.toml`` allows, as constraints for pip: ``make test-oldest`` installs them."""

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
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    of_extras = [requirement for name in extras if name != "gpu" for requirement in extras[name]]  # torch once
    print(*oldest(project["dependencies"] + of_extras), sep="\n")
