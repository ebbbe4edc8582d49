"""`plausible counterfactual`: what would have been."""

from __future__ import annotations

from typing import Annotated, cast, get_args

from plausible.causal.counterfactuals.query import counterfactual
from plausible.causal.functional.conversion import Coupling, functional_model
from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, read_findings, read_interventions
from plausible.cli.options import AsJson, Do, EvidenceTexts, ModelSource, TargetNames, TargetOption, option
from plausible.cli.output import factor_document, print_answer
from plausible.cli.questions import read_targets
from plausible.cli.source import read_bayesian
from plausible.errors import InvalidArgument, TooLarge


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
        str, option("How the values for different parents hang together: independent or comonotone.")
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
    found = read_bayesian(model, "counterfactuals need one")
    names = read_targets(targets, target_option, found.variables)
    settings = read_interventions(do, found)
    if not settings:
        raise InvalidArgument("A counterfactual sets something: say what with --do, as in --do smoke=no.")
    findings = read_findings(evidence, found)
    if coupling not in get_args(Coupling):
        raise InvalidArgument(f"--coupling is independent or comonotone, not {coupling!r}.")
    try:
        functional = functional_model(found, cast("Coupling", coupling))
    except TooLarge as error:
        raise TooLarge(str(error).replace('coupling="comonotone"', "--coupling comonotone")) from None
    answer = counterfactual(functional, names, evidence=findings, do=settings)
    text = str(answer)
    # Unless both a target and evidence are effects of what is set, P(targets | do, evidence before it) tells.
    reached = found.graph.descendants(list(settings)) - set(settings)
    if not reached.isdisjoint(names) and not reached.isdisjoint(findings):
        other = "comonotone" if coupling == "independent" else "independent"
        text += f"\ncoupling: {coupling}, which the network leaves open; compare --coupling {other}"
    print_answer(text, {**factor_document(answer), "coupling": coupling}, as_json=as_json)
