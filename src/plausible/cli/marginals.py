"""`plausible marginals`: the posterior of every variable."""

from __future__ import annotations

from plausible.cli.evidence import Do, EvidenceTexts, asked
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.source import ModelSource, read_model

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "marginals"
EXAMPLES = ("plausible marginals asia --evidence xray=yes",)


def run(model: ModelSource, evidence: EvidenceTexts = None, do: Do = None, as_json: AsJson = False) -> None:
    """Print P(X | evidence, do) of every variable X."""
    found = read_model(model)
    answers = found.marginals(**asked(evidence, do, found))
    if as_json:
        print_json({name: factor_document(factor) for name, factor in answers.items()})
        return
    width = max(map(len, answers), default=0)
    for name, factor in answers.items():
        numbers = "  ".join(f"{state}={number:.4f}" for state, number in factor.to_dict().items())
        print_line(f"{name.ljust(width)}  {numbers}")
