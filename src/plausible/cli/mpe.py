"""`plausible mpe`: the most probable assignment to all variables."""

from __future__ import annotations

from plausible.cli.engines import ENGINES, EngineOption, engine_argument, print_best
from plausible.cli.evidence import SYNTAX, Do, EvidenceTexts, asked
from plausible.cli.output import AsJson
from plausible.cli.source import ModelSource, read_network

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX, ENGINES)
EXAMPLES = ("plausible mpe asia --evidence xray=yes,dysp=yes",)


def run(
    model: ModelSource,
    evidence: EvidenceTexts = None,
    do: Do = None,
    engine: EngineOption = None,
    as_json: AsJson = False,
) -> None:
    """Print a most probable assignment to all variables.

    The (natural) log-probability printed with it is that of the assignment and the evidence together.
    """
    found = read_network(model)
    best = found.mpe(**asked(evidence, do, found), **engine_argument(engine))
    print_best(best, as_json=as_json, has_engine=engine is not None)
