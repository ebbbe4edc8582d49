"""The variables that a question is about, as an argument or an option."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Annotated

import typer

from plausible.cli.quoting import names_in
from plausible.errors import InvalidArgument

__all__ = ["TargetNames", "TargetOption", "read_targets"]

TargetNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="TARGETS", help="The variables asked about, separated by commas.", show_default=False),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--targets", "-t", metavar="NAMES", help="The same as an option.", show_default=False),
]


def read_targets(
    argument: Sequence[str] | None, option: Sequence[str] | None, known: Container[str], *, needed: bool = True
) -> list[str]:
    """The names of both, of which at least one must be given unless none is needed; findings are refused."""
    names = names_in([*(argument or ()), *(option or ())])
    for name in names:
        if "=" in name and name not in known:
            raise InvalidArgument(f"{name!r} is a finding, not a variable to ask about: write --evidence {name}.")
    if needed and not names:
        raise InvalidArgument("Name the variables to ask about, as in: lung,bronc.")
    return names
