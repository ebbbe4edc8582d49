"""The program `plausible`: its commands, and how errors end it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, NoReturn

import typer

from plausible import __version__
from plausible.cli.output import print_line
from plausible.errors import PlausibleError

__all__ = ["COMMANDS", "main"]

# ClickException, of the click that typer uses: its own copy or the package, by version.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[2]

#: What shells say of a program that Ctrl-C ended; typer may give it as the result.
_INTERRUPTED = 130

#: The commands, in the order of the help; each is the module of its name.
COMMANDS = (
    *("info", "show"),
    *("query", "marginals", "moments", "mpe", "map", "explain", "sample", "predict", "counterfactual", "troubleshoot"),
    *("learn", "score", "discretize", "impute", "cluster"),
    *("identify", "adjust", "effect", "bounds", "discover"),
    *("decide", "voi", "elicit"),
    *("dsep", "independencies"),
    *("compare", "convert", "demo", "pictures"),
)


def _app(names: Iterable[str]) -> typer.Typer:
    """The program with the commands that are named, whose modules are loaded."""
    app = typer.Typer(
        name="plausible",
        callback=_root,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    for name in names:
        command = import_module(f"plausible.cli.{name}")
        app.command(name=name, epilog=_epilog(command))(command.run)
    return app


def _epilog(command: ModuleType) -> str:
    """What stands at the end of a command's help; the sign `\\b` keeps the lines of the next paragraph as they are."""
    notes = [note.strip() for note in getattr(command, "NOTES", ())]
    return "\n\n".join([*notes, "\n  ".join(["\b\nFor example:", *command.EXAMPLES])])


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
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _one_line
        try:
            code = _app(_needed(given))(args=given, standalone_mode=False)
            sys.stdout.flush()
        except _USAGE_ERROR as error:
            _fail(error.format_message())
        except BrokenPipeError:
            _stop_writing()
        except PlausibleError as error:
            _fail(str(error))
        except OSError as error:
            _fail(f"{error.filename!r}: {error.strerror}." if error.filename and error.strerror else str(error))
        except MemoryError:
            _fail("The memory is not enough for this.")
        except (typer.Abort, KeyboardInterrupt):
            code = _INTERRUPTED
        if code == _INTERRUPTED:
            _fail("interrupted", code)
        sys.exit(code if isinstance(code, int) else 0)


def _needed(arguments: Sequence[str]) -> Iterable[str]:
    """The commands to load: the one that is called, else all, for the help or to say which there are."""
    if arguments and arguments[0] in COMMANDS:
        return arguments[:1]
    return () if list(arguments) == ["--version"] else COMMANDS


def _stop_writing() -> NoReturn:
    """End without a word: whoever read the output, such as `head`, has enough of it."""
    # Python writes out what is left at its end, which would fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    print_line(f"plausible: warning: {message}", error=True)


def _fail(problem: str, code: int = 2) -> NoReturn:
    print_line("plausible: " + " ".join(problem.split()), error=True)
    sys.exit(code)
