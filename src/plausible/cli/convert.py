"""`plausible convert`: a model from one file format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from plausible.cli.commands import command
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.piped_models import check_ending, save_model
from plausible.cli.source import ModelSource, read_model
from plausible.cli.streams import is_standard
from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument

_ONE = {"variables": "variable", "utilities": "utility"}


@command(
    examples=(
        "plausible convert asia asia.xdsl",
        "plausible convert asia.xdsl - --to bif",
    )
)
def run_convert(
    model: ModelSource,
    target: Annotated[
        str,
        typer.Argument(
            help="The file to write; its ending chooses the format. Or - for standard output.", show_default=False
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format", "--to", help="The format to write, where the ending does not tell.", show_default=False
        ),
    ] = None,
    read_format: Annotated[
        str | None,
        typer.Option("--from", help="The format to read, where the file does not tell.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Convert a model to another file format.

    The format is chosen by the ending of the target, also with .gz after it.
    """
    if is_standard(target) and format is None:
        raise InvalidArgument("- is standard output, which has no ending: name the format, as in --to bif.")
    if not is_standard(target) and format is None:
        check_ending(target, "--to bif")
    found = read_model(model, read_format)
    save_model(found, target, format)
    if is_standard(target):
        return
    written = {"variables": len(found.variables)}
    written |= {"utilities": len(found.utilities)} if isinstance(found, InfluenceDiagram) else {}
    if as_json:
        print_json({"source": model, "target": target, **written})
    else:
        things = [f"{count} {_ONE[thing] if count == 1 else thing}" for thing, count in written.items()]
        print_line(f"{target}: {', '.join(things)} written")
