"""`plausible explain`: what exact inference will cost, before it is paid."""

from __future__ import annotations

from typing import Any

from plausible.cli.evidence import Do, EvidenceTexts, intervened, read_findings, read_interventions
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_model
from plausible.cli.targets import TargetNames, TargetOption, read_targets
from plausible.io import Model

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "explain"
EXAMPLES = (
    "plausible explain alarm",
    "plausible explain alarm HYPOVOLEMIA --evidence CVP=HIGH,BP=LOW",
)


def run(
    model: ModelSource,
    targets: TargetNames = None,
    target_option: TargetOption = None,
    evidence: EvidenceTexts = None,
    do: Do = None,
    as_json: AsJson = False,
) -> None:
    """Print the plan of exact inference: width, table entries, memory, a rough time, the largest clique.

    Without targets the plan is that of the posteriors of all variables.
    """
    given = read_model(model)
    found = intervened(given, read_interventions(do, given))
    document, text = _plan(found, read_targets(targets, target_option, needed=False), read_findings(evidence, found))
    if as_json:
        print_json(document)
    else:
        print_line(text)


def _plan(model: Model, targets: list[str], evidence: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The plan as a record and as text."""
    plan = model.explain(targets or None, evidence)
    return plan.to_record(), str(plan)
