"""`plausible query`: the distribution of some variables, given evidence and interventions."""

from __future__ import annotations

from plausible.cli.evidence import Do, EvidenceTexts, asked
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.source import ModelSource, read_model
from plausible.cli.targets import TargetNames, TargetOption, read_targets

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "query"
EXAMPLES = (
    "plausible query asia lung,bronc --evidence xray=yes,smoke=no",
    "plausible query asia lung -e 'xray=yes,dysp~0.8|0.3' --do smoke=no --json",
)


def run(
    model: ModelSource,
    targets: TargetNames = None,
    target_option: TargetOption = None,
    evidence: EvidenceTexts = None,
    do: Do = None,
    as_json: AsJson = False,
) -> None:
    """Print P(targets | evidence, do) as a table."""
    found = read_model(model)
    names = read_targets(targets, target_option)
    answer = found.query(names, **asked(evidence, do, found))
    if as_json:
        print_json(factor_document(answer))
    else:
        print_line(str(answer))
