"""`plausible mpe`: the most probable assignment to all variables."""

from __future__ import annotations

from plausible.cli.evidence import Do, EvidenceText, read_findings
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.query import interventions
from plausible.cli.source import ModelSource, read_model

__all__ = ["NAME", "run"]

NAME = "mpe"


def run(model: ModelSource, evidence: EvidenceText = "", do: Do = "", as_json: AsJson = False) -> None:
    """Print a most probable assignment given the evidence, and its log-probability."""
    found = read_model(model)
    best = found.mpe(evidence=read_findings(evidence, found), **interventions(do, found))
    if as_json:
        print_json({"states": dict(best), "log_probability": best.log_probability})
        return
    width = max(map(len, best), default=0)
    for name, state in best.items():
        print_line(f"{name.ljust(width)}  {state}")
    print_line(f"log-probability {best.log_probability:.6g}")
