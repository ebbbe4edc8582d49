"""`plausible convert`: a model from one file format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_model
from plausible.decisions import InfluenceDiagram
from plausible.io import save

__all__ = ["EXAMPLES", "run"]

EXAMPLES = ("plausible convert asia asia.xdsl",)


def run(
    model: ModelSource,
    target: Annotated[
        str, typer.Argument(help="The file to write; its ending chooses the format.", show_default=False)
    ],
    format: Annotated[str | None, typer.Option(help="The format to write, where the ending does not tell.")] = None,
    as_json: AsJson = False,
) -> None:
    """Convert a model to another file format.

    The format is chosen by the ending of the target, also with .gz after it.
    """
    found = read_model(model)
    save(found, target, format=format)
    written = {"variables": len(found.variables)}
    written |= {"utilities": len(found.utilities)} if isinstance(found, InfluenceDiagram) else {}
    if as_json:
        print_json({"source": model, "target": target, **written})
    else:
        print_line(f"{target}: {', '.join(f'{count} {thing}' for thing, count in written.items())} written")
