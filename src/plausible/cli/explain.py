"""`plausible explain`: what exact inference will cost, before it is paid."""

from __future__ import annotations

from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_model

__all__ = ["NAME", "run"]

NAME = "explain"


def run(model: ModelSource, as_json: AsJson = False) -> None:
    """Print the plan of exact inference: cliques, width, table entries, memory, a rough time."""
    engine = read_model(model).compile()
    program = engine.sums.program
    if as_json:
        print_json(
            {
                "engine": engine.sums.info.engine,
                "cliques": program.num_cliques,
                "width": program.width,
                "entries": program.num_entries,
                "largest_table": engine.sums.info.largest_table,
                "bytes": program.num_bytes,
                "seconds": program.seconds,
            }
        )
    else:
        print_line(engine.explain())
