"""`plausible counterfactual`: what would have been."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from plausible.causal.counterfactuals.query import counterfactual
from plausible.causal.functional.conversion import Coupling, functional_model
from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, Do, EvidenceTexts, read_findings, read_interventions
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.questions import TargetNames, TargetOption, read_targets
from plausible.cli.source import ModelSource, read_network
from plausible.errors import InvalidArgument, TooLarge
from plausible.models import BayesianNetwork


@command(
    examples=(
        "plausible counterfactual asia lung --evidence smoke=yes,lung=yes --do smoke=no",
        "plausible counterfactual asia lung --evidence smoke=yes,lung=yes --do smoke=no --coupling comonotone",
    ),
    notes=(SYNTAX,),
)
def run_counterfactual(
    model: ModelSource,
    targets: TargetNames = None,
    target_option: TargetOption = None,
    evidence: EvidenceTexts = None,
    do: Do = None,
    coupling: Annotated[
        str, typer.Option(help="How the values for different parents hang together: independent or comonotone.")
    ] = "independent",
    as_json: AsJson = False,
) -> None:
    """Print what would have been, had --do been done.

    That is P(targets, had --do been done | evidence): evidence is about what happened, targets about what would have. A
    network tells how often a variable has a state given its parents, not who would have it under other parents: many
    functional models fit, and --coupling chooses one. Independent: a new draw for each state of the parents.
    Comonotone: one draw, the same quantile whatever the parents, so that a case changes as little as it can. Noisy-or
    variables have a mechanism of their own. Where the couplings differ, the network does not determine the answer.
    """
    found = read_network(model)
    if not isinstance(found, BayesianNetwork):
        raise InvalidArgument(f"{model!r} is no Bayesian network; counterfactuals need one.")
    names = read_targets(targets, target_option, found.variables)
    settings = read_interventions(do, found)
    if not settings:
        raise InvalidArgument("A counterfactual sets something: say what with --do, as in --do smoke=no.")
    findings = read_findings(evidence, found)
    chosen = _coupling(coupling)
    try:
        functional = functional_model(found, chosen)
    except TooLarge as error:
        raise TooLarge(str(error).replace('coupling="comonotone"', "--coupling comonotone")) from None
    answer = counterfactual(functional, names, evidence=findings, do=settings)
    if as_json:
        print_json({**factor_document(answer), "coupling": chosen})
        return
    print_line(str(answer))
    if _hangs_on_coupling(found, names, findings, settings):
        other = "comonotone" if chosen == "independent" else "independent"
        print_line(f"coupling: {chosen}, which the network leaves open; compare --coupling {other}")


def _hangs_on_coupling(
    network: BayesianNetwork, targets: Iterable[str], evidence: Iterable[str], do: Iterable[str]
) -> bool:
    """Whether both a target and evidence are effects of what is set; else P(targets | do, evidence before it) tells."""
    reached = network.graph.descendants(list(do)) - set(do)
    return not reached.isdisjoint(targets) and not reached.isdisjoint(evidence)


def _coupling(text: str) -> Coupling:
    if text == "independent":
        return "independent"
    if text == "comonotone":
        return "comonotone"
    raise InvalidArgument(f"--coupling is independent or comonotone, not {text!r}.")
