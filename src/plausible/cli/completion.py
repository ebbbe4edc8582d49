"""What the Tab key offers after the name of a command: models, variables and states, without loading the command.

Typer speaks with the shells; a command that is not loaded takes any words, and here it is told which word may be next.
Only options are asked of the command itself.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

import plausible
from plausible.cli.commands import ArgumentKind, Command
from plausible.errors import PlausibleError

#: The variable of the environment by which a shell asks for completions.
COMPLETING = "_PLAUSIBLE_COMPLETE"

#: The settings of a command that is not loaded: any words are arguments.
PASS_ALL: Mapping[str, Any] = MappingProxyType(
    {"context_settings": {"ignore_unknown_options": True}, "add_help_option": False}
)

#: What the value of an option names, where that can be offered.
_OPTIONS: Mapping[str, ArgumentKind] = MappingProxyType(
    {
        **dict.fromkeys(("--evidence", "-e", "--do", "--works"), "findings"),
        **dict.fromkeys(("--targets", "-t", "--given", "--sees", "--decision"), "variables"),
        **dict.fromkeys(("--graph", "--network"), "model"),
        "--target": "attributes",
    }
)
_FLAGS = re.compile(r"--(json|no-.*|progress|proba|recall|lenient|control|dot|derivation|best)")

#: Names that need no quotes, neither for the shell nor for findings.
_PLAIN = re.compile(r"[\w.+-]+")


def words_of(command: Command) -> Callable[..., None]:
    """A stand-in for a command that is not loaded: it is never called, and completes its words."""

    def complete(incomplete: str) -> list[str]:
        before, word = _typed(os.environ)
        found = offers(command, before[1:], word)
        if "bash" in os.environ[COMPLETING]:  # which takes what stands after the last = for a word of its own
            return [offer[len(word) - len(incomplete) :] for offer in found]
        return found

    def run(words: list[str] | None = None) -> None:
        raise RuntimeError(f"The command is not loaded: {words}.")

    # An annotation that is written above would be a text, in which a function within a function has no name.
    run.__annotations__ = {"words": Annotated[list[str] | None, typer.Argument(autocompletion=complete)]}
    return run


def option_command(environ: Mapping[str, str]) -> str | None:
    """The command whose options are to be completed, which must be loaded for that; else `None`."""
    before, word = _typed(environ)
    return before[0] if before and word.startswith("-") and "=" not in word else None


def offers(command: Command, before: Sequence[str], word: str) -> list[str]:
    """What a word may become; nothing where only the shell knows, as of files."""
    if word.startswith("-") and "=" in word:
        option, _, word = word.partition("=")
        return [f"{option}={offer}" for offer in _values(command, option, _arguments(before), word)]
    arguments = _arguments(before)
    kinds = command.arguments
    last = before[-1] if before else ""
    if last.startswith("-") and not _FLAGS.fullmatch(last):
        return _values(command, last, arguments, word)
    return _of_kind(kinds[min(len(arguments), len(kinds) - 1)] if kinds else None, arguments, word)


def _values(command: Command, option: str, arguments: Sequence[str], word: str) -> list[str]:
    """What the value of an option may become."""
    if (names := command.choices.get(option)) is None:
        return _of_kind(_OPTIONS.get(option), arguments, word)
    start, comma, rest = word.rpartition(",")
    return [start + comma + name for name in _starting(names.split(), rest)]


def _of_kind(kind: ArgumentKind | None, arguments: Sequence[str], word: str) -> list[str]:
    if kind == "model":
        return _models(word)
    if kind not in ("variables", "findings", "attributes") or not arguments:
        return []
    start, comma, rest = word.rpartition(",")
    variables = _variables(arguments[0], kind)
    found = _findings(variables, rest) if kind == "findings" else _starting(variables, rest)
    return [start + comma + offer for offer in found]


def _models(word: str) -> list[str]:
    """Examples and files that begin so; nothing, which has the shell look for files, where no example does."""
    folder = resources.files("plausible.examples").joinpath("networks")
    examples = sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json"))
    named = _starting(examples, word)
    here = sorted(path.name for path in Path().iterdir() if not path.name.startswith(".")) if named else []
    return named + _starting(here, word)


def _findings(variables: Mapping[str, Sequence[str]], word: str) -> list[str]:
    """Names; and once only one fits, it with each of its states."""
    name, is_set, state = word.partition("=")
    names = [name] if is_set else _starting(variables, word)
    if len(names) != 1:
        return names
    return [f"{names[0]}={each}" for each in _starting(variables.get(names[0], ()), state)] or names


def _starting(names: Iterable[str], word: str) -> list[str]:
    return [name for name in names if name.startswith(word) and _PLAIN.fullmatch(name)]


def _variables(source: str, kind: ArgumentKind) -> dict[str, list[str]]:
    """Name -> states of the variables of a model; nothing if it can't be read, or if tables have the names."""
    example = resources.files("plausible.examples").joinpath("networks", f"{source}.json")
    try:
        if _PLAIN.fullmatch(source) and example.is_file() and not Path(source).exists():
            named = json.loads(example.read_text(encoding="utf-8"))["variables"]
            return {one["name"]: [str(state) for state in one.get("states", ())] for one in named}
        loaded = plausible.load(source)  # a second of work, for files alone
        if isinstance(loaded, plausible.RelationalModel) and kind != "attributes":
            return {}
        return {name: [str(state) for state in one.states] for name, one in loaded.variables.items()}
    except (OSError, PlausibleError):
        return {}


def _arguments(words: Sequence[str]) -> list[str]:
    """The words that are neither options nor their values, as far as that can be told without the command."""
    found = []
    is_value = False
    for word in words:
        if not word.startswith("-"):
            found += [] if is_value else [word]
            is_value = False
        else:
            is_value = "=" not in word and not _FLAGS.fullmatch(word)
    return found


def _typed(environ: Mapping[str, str]) -> tuple[list[str], str]:
    """The words after the program's name that are whole, and the one that is being typed."""
    if "COMP_WORDS" in environ:
        words = _split(environ["COMP_WORDS"])[1 : int(environ["COMP_CWORD"]) + 1]
        words = _joined(words + [""] * (int(environ["COMP_CWORD"]) - len(words)))
    else:
        line = environ.get("_TYPER_COMPLETE_ARGS", "")
        words = _split(line)[1:] + ([""] if line.endswith(" ") else [])
    return words[:-1], words[-1] if words else ""


def _split(line: str) -> list[str]:
    """The words of a line, the last of which may have an open quote."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def _joined(words: Iterable[str]) -> list[str]:
    """Words as they were typed: bash takes them apart at each =."""
    found: list[str] = []
    is_open = False
    for word in words:
        if word == "=" or is_open:
            found[-1:] = ["".join([*found[-1:], word])]
        else:
            found.append(word)
        is_open = word == "="
    return found
