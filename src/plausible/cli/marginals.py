"""`plausible marginals`: the posterior of every variable."""

from __future__ import annotations

from plausible.cli.evidence import Do, EvidenceText, read_findings
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.query import interventions
from plausible.cli.source import ModelSource, read_model

__all__ = ["NAME", "run"]

NAME = "marginals"


def run(model: ModelSource, evidence: EvidenceText = "", do: Do = "", as_json: AsJson = False) -> None:
    """Print P(X | evidence, do) of every variable X."""
    found = read_model(model)
    answers = found.marginals(evidence=read_findings(evidence, found), **interventions(do, found))
    if as_json:
        print_json({name: factor_document(factor) for name, factor in answers.items()})
        return
    width = max(map(len, answers), default=0)
    for name, factor in answers.items():
        numbers = "  ".join(f"{state}={number:.4f}" for state, number in factor.to_dict().items())
        print_line(f"{name.ljust(width)}  {numbers}")
