"""`plausible query`: the distribution of some variables, given evidence and interventions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plausible.cli.evidence import Do, EvidenceText, read_findings
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.source import ModelSource, names_in, read_model
from plausible.errors import NotSupported
from plausible.io import Model
from plausible.models import BayesianNetwork

__all__ = ["NAME", "interventions", "run"]

NAME = "query"


def run(
    model: ModelSource,
    targets: Annotated[str, typer.Argument(help="Names, separated by commas.", show_default=False)],
    evidence: EvidenceText = "",
    do: Do = "",
    as_json: AsJson = False,
) -> None:
    """Print P(targets | evidence, do) as a table."""
    found = read_model(model)
    answer = found.query(names_in(targets), evidence=read_findings(evidence, found), **interventions(do, found))
    if as_json:
        print_json(factor_document(answer))
    else:
        print_line(str(answer))


def interventions(do: str, model: Model) -> dict[str, Any]:
    """The `do=` argument, which only Bayesian networks take."""
    if not do:
        return {}
    if not isinstance(model, BayesianNetwork):
        raise NotSupported("--do needs a Bayesian network: a Markov network has no causal direction.")
    return {"do": read_findings(do, model)}
