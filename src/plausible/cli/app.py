"""The program `plausible`: its commands, and how errors end it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Annotated, Any, NoReturn

import typer

from plausible import __version__
from plausible.cli import (
    adjust,
    bounds,
    cluster,
    compare,
    convert,
    counterfactual,
    decide,
    demo,
    discover,
    discretize,
    dsep,
    effect,
    elicit,
    explain,
    identify,
    impute,
    independencies,
    info,
    learn,
    marginals,
    moments,
    mpe,
    pictures,
    predict,
    query,
    sample,
    score,
    show,
    troubleshoot,
    voi,
)
from plausible.cli import map as best_states
from plausible.cli.causal_graphs import GRAPHS
from plausible.cli.effect_text import EFFECTS
from plausible.cli.engines import ENGINES
from plausible.cli.evidence import SYNTAX
from plausible.cli.output import print_line
from plausible.errors import PlausibleError

__all__ = ["main"]

# ClickException, of the click that typer uses: its own copy or the package, by version.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[2]

#: What shells say of a program that Ctrl-C ended; typer may give it as the result.
_INTERRUPTED = 130

app = typer.Typer(
    name="plausible",
    help="Probabilistic graphical models: inspect, convert and compare them, and ask them questions.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_WITH_ENGINES = (query, marginals, mpe, best_states, sample)
_INFERENCE = (query, marginals, moments, mpe, best_states, explain, sample, predict, counterfactual, troubleshoot)
_WITH_EFFECTS = (identify, adjust, effect, bounds)


def _epilog(command: ModuleType) -> str:
    """What stands at the end of a command's help; the sign `\\b` keeps the lines of the next paragraph as they are."""
    examples = "\n  ".join(["\b\nFor example:", *command.EXAMPLES])
    engines = f"{ENGINES.strip()}\n\n" if command in _WITH_ENGINES else ""
    findings = f"{SYNTAX.strip()}\n\n" if command in (*_INFERENCE, decide, voi) else ""
    effects = f"{EFFECTS.strip()}\n\n{GRAPHS.strip()}\n\n" if command in _WITH_EFFECTS else ""
    return f"{findings}{engines}{effects}{examples}"


_LEARNING = (learn, score, discretize, impute, cluster)

_CAUSAL = (*_WITH_EFFECTS, discover)
_DECISIONS = (decide, voi, elicit)
_GRAPHS = (dsep, independencies)

for command in (info, show, *_INFERENCE, *_LEARNING, *_CAUSAL, *_DECISIONS, *_GRAPHS, compare, convert, demo, pictures):
    app.command(name=command.NAME, epilog=_epilog(command))(command.run)


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
