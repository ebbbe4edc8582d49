"""`plausible map`: the most probable states of some variables, the others summed out."""

from __future__ import annotations

from plausible.cli.evidence import Do, EvidenceTexts, asked
from plausible.cli.output import AsJson, print_assignment
from plausible.cli.source import ModelSource, read_model
from plausible.cli.targets import TargetNames, TargetOption, read_targets

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "map"
EXAMPLES = ("plausible map asia --targets lung,bronc --evidence dysp=yes",)


def run(
    model: ModelSource,
    targets: TargetNames = None,
    target_option: TargetOption = None,
    evidence: EvidenceTexts = None,
    do: Do = None,
    as_json: AsJson = False,
) -> None:
    """Print the most probable states of some variables together, all others summed out (marginal MAP).

    The (natural) log-probability printed is that of these states and the evidence together.
    """
    found = read_model(model)
    names = read_targets(targets, target_option)
    best = found.map(names, **asked(evidence, do, found))
    print_assignment(best, as_json=as_json)
