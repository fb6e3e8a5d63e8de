"""The command ``lapwing``. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError:
        print("the command line needs more packages: pip install 'lapwing[cli]'", file=sys.stderr)
        sys.exit(2)
    from ._app import run

    run()
