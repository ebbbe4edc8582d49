"""`plausible studio`: the page in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from plausible.cli.commands import command
from plausible.cli.options import argument, option
from plausible.cli.output import print_line
from plausible.cli.source import read_any_model
from plausible.errors import InvalidArgument
from plausible.studio.start import serve


@command(
    examples=("plausible studio --demo", "plausible studio alarm", "plausible studio asia --port 8000 --no-browser"),
    notes=("The page is there for this machine only, and for those who know the whole address. Ctrl-C ends it.",),
)
def run_studio(
    model: Annotated[
        str | None, argument("A file, or the name of an example; without one the page offers some.")
    ] = None,
    port: Annotated[int, option("The port to listen to; 0 for any that is free.", "--port", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, option("Print the address only.", "--no-browser")] = False,
    demo: Annotated[bool, option("Begin with a tour of the page, on the example asia.", "--demo")] = False,
) -> None:
    """Open a page in the browser, in which to play with a model.

    See beliefs move, ask why, change the model, learn one from rows, find effects and decisions.
    """
    if demo and model is not None:
        raise InvalidArgument("The tour is of the example asia: leave out --demo, or the model.")
    source = "asia" if demo else model
    shown = None if source is None else read_any_model(source)
    name = "model" if source is None else Path(source).name
    serve(shown, name, port=port, announce=print_line, opens_browser=not no_browser, has_tour=demo)
    end_at_once()


def end_at_once() -> None:
    """End the program without waiting for a question that still runs, as Python would."""
    os._exit(0)
