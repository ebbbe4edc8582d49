"""`plausible tornado`: the parameters that an answer depends on most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from plausible.base.display import TextTable
from plausible.cli.evidence import SYNTAX, EvidenceTexts, read_findings
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.parameters import EventText, read_bayesian, read_event
from plausible.cli.source import ModelSource
from plausible.errors import counted
from plausible.inference.sensitivity_tornado import Variation, tornado

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX,)
EXAMPLES = (
    "plausible tornado asia lung=yes --evidence xray=yes",
    "plausible tornado asia lung=yes --evidence xray=yes --vary odds --amount 1 --limit 5",
)

#: Signs of the longest bar on both sides together.
_WIDTH = 24


def run(
    model: ModelSource,
    event: EventText,
    evidence: EvidenceTexts = None,
    vary: Annotated[str, typer.Option(help="What --amount is a share of: relative, absolute or odds.")] = "relative",
    amount: Annotated[float, typer.Option(help="By how much each parameter is lowered and raised.")] = 0.1,
    limit: Annotated[int, typer.Option(min=1, help="How many parameters are listed.")] = 10,
    as_json: AsJson = False,
) -> None:
    """List the parameters that an answer depends on most.

    Each parameter of the network, a number of a conditional table, is lowered and raised by itself, the rest of its row
    kept in proportion; those that move P(event | evidence) most come first. In the bars, - is where the probability
    goes as the parameter is lowered, + as it is raised, and | is where it is now.
    """
    network = read_bayesian(model)
    found = network.sensitivities(*read_event(event, network), read_findings(evidence, network))
    bars = tornado(found, cast("Variation", vary), amount, limit)
    bars = bars[bars["swing"] > 0]
    title = f"P({found.event}{' | evidence' if evidence else ''}) = {found.probability:.6g}"
    total = sum(family.table.size for family in found.families.values())
    if as_json:
        rows = [{**row, "parameter": str(row["parameter"])} for row in bars.to_dict("records")]
        told: dict[str, Any] = {"event": str(found.event), "probability": found.probability, "parameters": total}
        print_json({**told, "tornado": rows})
    elif bars.empty:
        print_line(f"{title}, whatever the parameters are: the evidence decides it, or nothing else can change it")
    else:
        print_line(f"{title}; each of {counted(total, 'parameter')} varied by {_told(vary, amount)}")
        print_line("\n".join(_drawn(bars, found.probability)))


def _told(vary: str, amount: float) -> str:
    if vary == "absolute":
        return f"{amount:g}"
    return f"{amount:.4g} of itself" if vary == "relative" else f"a factor of {1 + amount:g} of its odds"


def _drawn(bars: pd.DataFrame, now: float) -> list[str]:
    """A table, with a bar at the end of each row."""
    numbers = ["value", "at_low", "at_high"]
    rows = [tuple(f"{number:.4g}" for number in row) for row in bars[numbers].to_numpy()]
    names = [str(parameter) for parameter in bars["parameter"]]
    header = ("parameter", *(name.replace("_", " ") for name in numbers))
    table = str(TextTable(header, tuple((name, *row) for name, row in zip(names, rows, strict=True)), 1)).splitlines()
    ends = bars[["at_low", "at_high"]].to_numpy()
    scale = _WIDTH / (max(now, ends.max()) - min(now, ends.min()))
    left = round((now - min(now, ends.min())) * scale)
    signs = ["", "", *(_bar((at_low - now) * scale, (at_high - now) * scale, left) for at_low, at_high in ends)]
    return [f"{line}  {sign}".rstrip() for line, sign in zip(table, signs, strict=False)] + table[len(signs) :]


def _bar(low: float, high: float, left: int) -> str:
    """How far a probability goes down and up, in signs, and with how much room at the left.

    >>> _bar(-2.0, 3.0, 4)
    '  --|+++'
    >>> _bar(1.2, -3.0, 4)
    ' +++|-'
    """
    down, up = ("-" * round(-low), "+" * round(high)) if low <= high else ("+" * round(-high), "-" * round(low))
    return f"{down.rjust(left)}|{up}"
