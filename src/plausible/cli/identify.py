"""`plausible identify`: an effect in terms of what is observed, or the proof that there is no way."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plausible.causal.discovery.pag_effects import effect_in_pag
from plausible.causal.identification.algorithm import identify
from plausible.causal.identification.estimand import Estimand
from plausible.cli.causal_graphs import (
    ANY_CLASS,
    GRAPHS,
    ONE_GRAPH,
    GraphArgument,
    read_causal_source,
    tell_not_identifiable,
)
from plausible.cli.commands import command
from plausible.cli.effect_text import EFFECTS, EffectOption, EffectText, Term, named_states, read_effect
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.quoting import names_in
from plausible.cli.source import read_network
from plausible.cli.streams import check_one_reader
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported
from plausible.graphs import MAG, PAG, PDAG
from plausible.models import BayesianNetwork

__all__ = ["run_identify"]


@command(
    examples=(
        "plausible identify 'S -> T -> C; S <-> C' --effect 'S => C' --derivation",
        "plausible identify 'Z -> X -> Y; Z -> Y' --effect 'X => Y | Z' --latex",
        "plausible identify asia --effect 'smoke=yes => dysp' --observed smoke,bronc,either,dysp --network asia",
    ),
    notes=(EFFECTS, GRAPHS),
)
def run_identify(
    graph: GraphArgument,
    effect: EffectOption,
    observed: Annotated[
        str | None, typer.Option(help="What can be measured, separated by commas; all by default.", show_default=False)
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Evaluate the estimand in this network, a file or example.", show_default=False)
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print the estimand in LaTeX.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Print it as a Python function.")] = False,
    derivation: Annotated[bool, typer.Option("--derivation", help="Print how it was found, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write an effect in probabilities of what is observed.

    If there is no way, the reason (a hedge) is printed and the exit code is 1. With --network the estimand is also
    evaluated, asking the network for observed probabilities alone; states in --effect say for which treatments and
    conditions: 'X=1 => Y | W=0'.
    """
    check_one_reader({"GRAPH": graph, "--network": network})
    asked = read_effect(effect)
    source = read_causal_source(graph, ANY_CLASS)
    if not isinstance(source.graph, ONE_GRAPH):
        raise NotSupported(
            f"The graph {graph!r} is a {type(source.graph).__name__}, which stands for many graphs. "
            f"{_agreement(source.graph, asked)}What to adjust for in all of them: plausible adjust; an estimate from "
            "data: plausible effect."
        )
    seen = None if observed is None else names_in(observed)
    model = None if network is None else _network(network)
    settings = _settings(asked, model)
    try:
        found = identify(source.graph, observed=seen, **_without_states(asked).names())
    except NotIdentifiable as error:
        tell_not_identifiable(error, as_json=as_json)
        raise typer.Exit(1) from None
    answer = None if model is None else found.evaluate(model, **settings)
    if as_json:
        value = {} if answer is None else {"value": factor_document(answer)}
        print_json({**_document(found), **value})
        return
    if latex:
        print_line(found.latex)
    if python:
        print_line(found.python.rstrip())
    if not latex and not python:
        print_line(str(found))
    if derivation:
        print_line(str(found.derivation))
    if answer is not None:
        print_line(str(answer))


def _agreement(graph: PDAG | MAG | PAG, effect: EffectText) -> str:
    """What all graphs that a PAG stands for say of one variable's effect on another, and a blank; "" elsewhere."""
    if not isinstance(graph, PAG) or effect.given or len(effect.treatment) != 1 or len(effect.outcome) != 1:
        return ""
    return f"{effect_in_pag(graph, effect.outcome[0].name, effect.treatment[0].name)} "


def _network(source: str) -> BayesianNetwork:
    model = read_network(source)
    if not isinstance(model, BayesianNetwork):
        raise InvalidArgument(f"--network {source!r} is no Bayesian network.")
    return model


def _settings(effect: EffectText, model: BayesianNetwork | None) -> dict[str, dict[str, Any]]:
    """The arguments `do=` and `evidence=` for an evaluation: the treatments and conditions with states."""
    if effect.control:
        raise effect.refuse("the estimand is that of any treatment, so that there is nothing to compare by vs")
    sides = {"do": effect.treatment, "evidence": effect.given}
    stated = {argument: [term for term in terms if term.state is not None] for argument, terms in sides.items()}
    if model is None:
        if any(stated.values()):
            raise effect.refuse("states are for an evaluation: give --network, too, or write names alone")
        return {}
    return {name: named_states(terms, model.variables, "the network", effect) for name, terms in stated.items()}


def _without_states(effect: EffectText) -> EffectText:
    """The effect for all treatments and conditions; states of the outcome stay, to be refused."""
    treatment, given = (tuple(Term(term.name, None) for term in terms) for terms in (effect.treatment, effect.given))
    return EffectText(effect.text, treatment, (), effect.outcome, given)


def _document(found: Estimand) -> dict[str, Any]:
    return {
        "effect": str(found.query),
        "identifiable": True,
        "formula": found.formula,
        "latex": found.latex,
        "python": found.python,
        "variables": list(found.variables),
        "arbitrary": list(found.arbitrary),
        "adjustment": None if found.adjustment is None else list(found.adjustment),
        "derivation": [str(step) for step in found.derivation],
    }
