"""The program `plausible`: its commands, and how errors end it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from plausible import __version__
from plausible.cli import (
    compare,
    convert,
    demo,
    dsep,
    explain,
    independencies,
    info,
    marginals,
    mpe,
    predict,
    query,
    show,
)
from plausible.cli.output import print_line
from plausible.errors import PlausibleError

__all__ = ["main"]

# ClickException, of the click that typer uses: its own copy or the package, by version.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="plausible",
    help="Probabilistic graphical models: inspect, convert and compare them, and ask them questions.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

for command in (info, show, query, marginals, mpe, predict, explain, dsep, independencies, compare, convert, demo):
    app.command(name=command.NAME)(command.run)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Probabilistic graphical models: inspect, convert and compare them, and ask them questions."""
    if version:
        print_line(f"plausible {__version__}")
    elif context.invoked_subcommand is None:
        print_line(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake of the user ends in one line on standard error and exit code 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _one_line
        try:
            code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
        except _USAGE_ERROR as error:
            _fail(error.format_message())
        except (PlausibleError, OSError) as error:
            _fail(str(error))
        except (typer.Abort, KeyboardInterrupt):
            _fail("interrupted", code=130)
        else:
            sys.exit(code if isinstance(code, int) else 0)


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    print_line(f"plausible: warning: {message}", error=True)


def _fail(problem: str, code: int = 2) -> None:
    print_line("plausible: " + " ".join(problem.split()), error=True)
    sys.exit(code)
