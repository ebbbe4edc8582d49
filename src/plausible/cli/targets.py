"""The variables that a question is about, as an argument or an option."""

from __future__ import annotations

from collections.abc import Sequence
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


def read_targets(argument: Sequence[str] | None, option: Sequence[str] | None, *, needed: bool = True) -> list[str]:
    """The names of both, of which at least one must be given unless none is needed."""
    names = names_in([*(argument or ()), *(option or ())])
    if needed and not names:
        raise InvalidArgument("Name the variables to ask about, as in: lung,bronc.")
    return names
