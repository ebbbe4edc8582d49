"""What the command line calls the arguments and calls that errors of the library mention."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from plausible.base.remedies import Argument, Piece, Words
from plausible.cli.commands import COMMANDS, OwnWords

_BUDGET = "--budget-seconds or --budget-memory"


def shell_words(run: Any) -> Words:
    """The words of a command: options for arguments that it has under the same name, commands for functions.

    >>> from plausible.base.remedies import Call
    >>> from plausible.cli.questions import run_mpe
    >>> words = shell_words(run_mpe)
    >>> words(Argument("engine", Call("MaxProduct"))), words(Call("query", Argument("engine", "auto")))
    ('--engine max-product', 'plausible query --engine auto')
    >>> words(Argument("time_limit"))
    """
    own: OwnWords = {} if run is None else run.words
    options = {} if run is None else _options(run)

    def words(piece: Piece) -> str | None:
        if (known := own.get(str(piece))) is not None:
            return str(known)
        if isinstance(piece, str):
            return piece
        named = own.get(piece.name, options.get(piece.name))
        if callable(named):
            return str(named(piece))
        if isinstance(piece, Argument):
            return named if named is None or not piece.has_value else f"{named} {_value(piece.value)}"
        if (name := piece.name.rpartition(".")[2]) in COMMANDS:
            return " ".join([f"plausible {name}", *(f"--{a.name} {_value(a.value)}" for a in piece.arguments)])
        return hyphenated(name) if "engine" in options and name[:1].isupper() else None

    return words


def hyphenated(name: str) -> str:
    """LoopyBP -> loopy-bp."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _value(value: object) -> str:
    """A value as it is written after an option: engines and methods by their names in small letters."""
    return hyphenated(str(value).partition("(")[0]) if hasattr(value, "arguments") else str(value)


def _options(run: Callable[..., None]) -> dict[str, str]:
    """Name of the argument -> what stands for it on the command line."""
    options: dict[str, str] = {}
    for name, hint in get_type_hints(run, include_extras=True).items():
        for told in getattr(hint, "__metadata__", ()):
            if isinstance(told, OptionInfo):
                declared = [text for text in told.param_decls or () if text.startswith("--")]
                options[name] = declared[0].partition("/")[0] if declared else f"--{name.replace('_', '-')}"
            elif isinstance(told, ArgumentInfo):
                options[name] = told.metavar or name.upper()
    if "budget_seconds" in options:
        options["budget"] = _BUDGET
    return options
