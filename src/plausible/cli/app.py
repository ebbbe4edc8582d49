"""The program `plausible`: its commands, and how errors end it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from plausible import __version__
from plausible.base import Words
from plausible.cli.commands import COMMANDS, load_command, shell_words
from plausible.cli.completion import COMPLETING, PASS_ALL, option_command, words_of
from plausible.cli.options import option
from plausible.cli.output import print_line
from plausible.errors import MissingFile, PlausibleError, PlausibleWarning

# ClickException, of the click that typer uses: its own copy or the package, by version.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[2]

#: What shells say of a program that Ctrl-C ended; typer may give it as the result.
_INTERRUPTED = 130


def _app(named: str | None, others: bool = True) -> typer.Typer:
    """The program; only the command that is named is loaded, the others are known by their summaries or not at all."""
    app = typer.Typer(
        name="plausible",
        callback=_root,
        invoke_without_command=True,
        context_settings={"help_option_names": ["--help", "-h"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    for name, known in COMMANDS.items():
        if name == named:
            run = load_command(name)
            app.command(name=name, short_help=known.summary, epilog=run.epilog)(run)
        elif others:
            app.command(name=name, short_help=known.summary, **PASS_ALL)(words_of(known))
    return app


def _root(context: typer.Context, version: Annotated[bool, option("Print the version.", "--version")] = False) -> None:
    """Probabilistic graphical models: inspect, convert and compare them, and ask them questions."""
    if version:
        print_line(f"plausible {__version__}")
    elif context.invoked_subcommand is None:
        print_line(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake of the user ends in one line on standard error and exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(), _log_on_standard_error():
        warnings.simplefilter("default")
        try:
            sys.exit(_exit_code(given))
        except BrokenPipeError:
            _stop_writing()
        except SystemExit as stop:
            if isinstance(stop.__context__, BrokenPipeError):  # typer has seen it first
                _stop_writing()
            raise


@contextmanager
def _log_on_standard_error() -> Iterator[None]:
    """What the library logs, such as that it compiles something, as lines on standard error."""
    log, handler = logging.getLogger("plausible"), logging.StreamHandler()
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _exit_code(given: list[str]) -> int:
    """Run a command and print what went wrong, if anything did."""
    # The command to load: the one that is called, or whose options are to be completed; `None` for the help.
    named = next((word for word in given if not word.startswith("-")), None)
    if COMPLETING in os.environ:
        named = option_command(os.environ)
    warnings.showwarning = partial(_one_line, named)
    try:
        is_called = given[:1] == [named] and named in COMMANDS and COMPLETING not in os.environ
        code = _app(named, others=not is_called)(args=given, standalone_mode=False, prog_name="plausible")
        sys.stdout.flush()
    except _USAGE_ERROR as error:
        text, context = error.format_message(), getattr(error, "ctx", None)
        text = text if text.endswith("?") else f"{text.rstrip('.')}."
        if context is not None:  # how the command is called that was called wrongly, and what tells more
            usage = f"{context.get_usage()}; more:" if context.parent else "More:"
            text = f"{text} {usage} {context.command_path} --help"
        return _told(text)
    except BrokenPipeError:
        raise
    except PlausibleError as error:
        return _told(error.told(_words(named)))
    except FileNotFoundError as error:
        return _told(str(MissingFile.at(Path(error.filename), ()) if error.filename else error))
    except OSError as error:
        return _told(f"{error.filename!r}: {error.strerror}." if error.filename and error.strerror else str(error))
    except MemoryError:
        return _told("The memory is not enough for this.")
    except (typer.Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        return _told("interrupted", code)
    return code if isinstance(code, int) else 0


def _stop_writing() -> NoReturn:
    """End without a word, as `cat` does: whoever read the output, such as `head`, has enough of it."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    # Python writes out what is left at its end, which would fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _words(named: str | None) -> Words:
    """The words of the command that was called, if there is one."""
    return shell_words(load_command(named) if named is not None and named in COMMANDS else None)


def _one_line(named: str | None, message: Warning | str, *_: object, **__: object) -> None:
    text = message.told(_words(named)) if isinstance(message, PlausibleWarning) else str(message)
    print_line(f"plausible: warning: {text}", error=True)


def _told(problem: str, code: int = 2) -> int:
    """Print what went wrong, in one line; gives the exit code."""
    print_line("plausible: " + " ".join(problem.split()), error=True)
    return code
