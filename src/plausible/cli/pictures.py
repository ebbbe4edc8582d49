"""`plausible pictures`: denoising and segmentation by several engines, with pictures of before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.output import AsJson, print_json, print_line
from plausible.errors import UnknownExample, suggestion
from plausible.examples.image_comparisons import COMPARISONS, Comparison
from plausible.examples.png import write_png

__all__ = ["EXAMPLES", "run"]

EXAMPLES = ("plausible pictures out segment",)

Folder = Annotated[Path, typer.Argument(help="The folder for the pictures; made where it is missing.")]
Names = Annotated[
    list[str] | None, typer.Argument(help=f"Of {', '.join(COMPARISONS)}; all where left out.", show_default=False)
]


def run(folder: Folder, names: Names = None, as_json: AsJson = False) -> None:
    """Denoise and segment pictures by several engines.

    It writes PNGs of truth, noise and results, and tells what the results are worth.
    """
    for name in names or ():
        if name not in COMPARISONS:
            raise UnknownExample(f"{name!r} is no comparison of pictures.{suggestion(name, COMPARISONS)}")
    found: dict[str, Any] = {}
    for name in names or COMPARISONS:
        comparison = COMPARISONS[name]()
        path = write_png(folder / f"{name}.png", comparison.strip())
        found[name] = _document(comparison, path)
        if not as_json:
            print_line(f"{comparison.table()}\npicture: {path}\n")
    if as_json:
        print_json(found)


def _document(comparison: Comparison, path: Path) -> dict[str, Any]:
    return {
        "picture": str(path),
        "measure": comparison.measure,
        "before": comparison.before,
        "bound": comparison.bound,
        "engines": {
            attempt.engine: {"score": attempt.score, "energy": attempt.result.energy} for attempt in comparison.attempts
        },
    }
