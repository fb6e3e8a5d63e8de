"""The commands, and what they share: messages in the place of tracebacks, and exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ._commands import compare, demo, export, fit, inspect, methods, transform, verify
from ._console import say, say_in_one_line, visible

BROKEN_PIPE, TERMINATED = 128 + 13, 128 + signal.SIGTERM
ABOUT = (
    "Dimensionality reduction that keeps neighbourhoods and classes: from a file to a projection, a report and a model.\n\n"
    "DATA is a CSV, TSV, Parquet, NumPy (.npy, .npz), Matrix Market or svmlight file, a folder of images with one sub-folder "
    "per class, or - for CSV on standard input."
)


class Plain:
    """Commands whose help shows flags as flags, and not as options that take a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        for option in params:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return params


class Command(Plain, TyperCommand):
    """One command."""


class Commands(Plain, TyperGroup):
    """Commands whose errors are one line on standard error, with exit code 1 for data and fits, 2 for usage, 130 for Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *where: say_in_one_line(f"lapwing: warning: {message}")
            try:
                value = super().invoke(ctx)
                sys.stdout.flush()
                return value
            except BrokenPipeError:
                # Nobody reads what is still to be written, and Python flushes once again when it ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(BROKEN_PIPE) from None
            except Exception as error:
                if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):  # an exception of Typer itself
                    _reword(error)
                    raise
                if ctx.params.get("debug"):
                    say("".join(traceback.format_exception(error)).rstrip())
                say_in_one_line(f"lapwing: {_message(error)}")
                raise typer.Exit(1) from error


def _reword(error: Any) -> None:
    """Let a message of Typer steer no terminal, and name the option that a value was taken for: --report is --output REPORT."""
    if hasattr(error, "message"):
        error.message = visible(error.message)
    if hasattr(error, "possibilities"):
        asked = [option for option in error.ctx.command.params if f"--{option.metavar}".lower() == error.option_name]
        error.possibilities = [option.opts[0] for option in asked] or error.possibilities


def _message(error: Exception) -> str:
    if isinstance(error, io.UnsupportedOperation):  # run has put this object in the place of standard output
        return "standard output is closed"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"not enough memory ({error})" if str(error) else "not enough memory"
    if isinstance(error, OSError | ValueError | ImportError | RuntimeError):
        return str(error)
    return f"internal error, {type(error).__name__}: {error} (lapwing --debug shows where)"


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"lapwing {version('lapwing')}")
        raise typer.Exit


@app.callback(help=ABOUT)
def _main(
    debug: Annotated[bool, typer.Option("--debug", envvar="LAPWING_DEBUG", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before the command."""


# The order is that of the help.
for command in (compare, fit, transform, inspect, verify, export, methods, demo):
    app.command(cls=Command)(command)


def run() -> None:
    """Run the command line as a program."""
    # Streams that the caller closed are replaced by empty ones, so that no file of ours takes their place.
    for name, mode in (("stdin", "r"), ("stdout", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (until the end)
    # An exception, so that half-written files are removed.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    app(prog_name="lapwing")
