"""`plausible studio`: the page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from plausible.cli.commands import command
from plausible.cli.options import argument, option
from plausible.cli.output import print_line
from plausible.cli.source import read_any_model
from plausible.studio.start import serve


@command(
    examples=("plausible studio alarm", "plausible studio asia --port 8000 --no-browser"),
    notes=("The page is there for this machine only, and for those who know the whole address. Ctrl-C ends it.",),
)
def run_studio(
    model: Annotated[
        str | None, argument("A file, or the name of an example; without one the page offers some.")
    ] = None,
    port: Annotated[int, option("The port to listen to; 0 for any that is free.", "--port", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, option("Print the address only.", "--no-browser")] = False,
) -> None:
    """Open a page in the browser, in which to play with a model: see beliefs move, ask why, edit, learn, decide."""
    shown = None if model is None else read_any_model(model)
    name = "model" if model is None else Path(model).name
    serve(shown, name, port=port, announce=print_line, opens_browser=not no_browser)
