"""Effects by the graph alone: `plausible identify` (a formula) and `adjust` (what to adjust for)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Annotated, Any

import typer

from plausible.causal.adjustment.front_door import front_door_sets
from plausible.causal.adjustment.instruments import instruments
from plausible.causal.adjustment.problem import Criterion, may_cause, read_problem
from plausible.causal.adjustment.sets import adjustment_sets, check_adjustment, optimal_adjustment_set, unclear_reason
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
from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph
from plausible.graphs.text import quote
from plausible.models import BayesianNetwork


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


_CRITERIA = ("adjustment", "back-door")


@command(
    examples=(
        "plausible adjust 'X <- A -> B -> Y; X <- C -> Y; X -> Y' --effect 'X => Y'",
        "plausible adjust 'X <- A -> M <- B -> Y; X -> Y' --effect 'X => Y' --check A,M",
        "plausible adjust asia --effect 'smoke => dysp' --observed tub,lung,bronc --all",
    ),
    notes=(EFFECTS, GRAPHS),
)
def run_adjust(
    graph: GraphArgument,
    effect: EffectOption,
    check: Annotated[
        str | None,
        typer.Option(help="Is this set right? Names, separated by commas; '' for none.", show_default=False),
    ] = None,
    observed: Annotated[
        str | None,
        typer.Option(help="What can be adjusted for, separated by commas; all by default.", show_default=False),
    ] = None,
    criterion: Annotated[str, typer.Option(help="adjustment, which misses no set, or back-door.")] = "adjustment",
    limit: Annotated[int, typer.Option(min=1, help="List at most so many sets.")] = 10,
    list_all: Annotated[bool, typer.Option("--all", help="List all sets, however many.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what to adjust for to estimate an effect.

    All minimal sets are listed; of a set to --check it is said whether it is right, and which trail it leaves open. The
    graph may stand for a class, as CPDAGs and PAGs do: sets are right in all of it. Where there is no set, mediators
    for the front door and instruments are listed, and the exit code is 1; so it is if a set to --check is not right.
    What causes the outcome in no graph of the class has no effect, which is said with exit code 0.
    """
    sides, found = read_effect(effect).names(has_given=False), read_causal_source(graph, ANY_CLASS).graph
    rule = _criterion(criterion)
    if check is not None:
        if observed is not None or list_all:
            raise InvalidArgument("--check asks about one set, so that --observed and --all have no effect.")
        _tell_check(found, sides, names_in(check), rule, as_json=as_json)
        return
    allowed = None if observed is None else names_in(observed)
    most = None if list_all else limit
    sets = adjustment_sets(found, **sides, allowed=allowed, criterion=rule, limit=None)
    listed = list(sets if most is None else islice(sets, most + 1))
    document: dict[str, Any] = {
        **sides,
        "criterion": rule,
        "sets": [_sorted(members) for members in listed[:most]],
        "has_more": most is not None and len(listed) > most,
        "least_variance": _best(found, sides, allowed) if listed else None,
        "may_cause": any(may_cause(found, y, x) for y in sides["outcome"] for x in sides["treatment"]),
    }
    if not document["may_cause"]:
        document["reason"] = "no causal path leads to the outcome: the effect is 0"
    elif not listed:
        document["reason"] = _reason(found, sides, allowed, rule)
        document |= _other_ways(found, sides, allowed, most)
    if as_json:
        print_json(document)
    else:
        _tell(document)
    if not listed and document["may_cause"]:
        raise typer.Exit(1)


def _criterion(name: str) -> Criterion:
    if name == "adjustment":
        return "adjustment"
    if name == "back-door":
        return "back-door"
    raise InvalidArgument(f"--criterion is one of {', '.join(_CRITERIA)}, not {name!r}.")


def _tell_check(
    graph: Any,
    sides: dict[str, list[str]],
    members: list[str],
    criterion: Criterion,
    *,
    as_json: bool,
) -> None:
    checked = check_adjustment(graph, **sides, given=members, criterion=criterion)
    if as_json:
        found: dict[str, Any] = {
            **sides,
            "given": members,
            "criterion": criterion,
            "valid": checked.is_valid,
            "forbidden": list(checked.forbidden),
            "trail": None if checked.trail is None else str(checked.trail),
            "unclear": None if checked.unclear is None else str(checked.unclear),
            "expression": str(checked.expression) if checked.is_valid else None,
        }
        print_json(found)
    else:
        print_line(str(checked))
        if checked.is_valid:
            print_line(f"  {checked.expression}")
    if not checked.is_valid:
        raise typer.Exit(1)


def _best(graph: Any, sides: dict[str, list[str]], allowed: list[str] | None) -> list[str] | None:
    """The set with the least variance, of graphs that have one."""
    if not isinstance(graph, DAG | PDAG):
        return None
    best = optimal_adjustment_set(graph, **sides, allowed=allowed)
    return None if best is None else _sorted(best)


def _reason(graph: Any, sides: dict[str, list[str]], allowed: list[str] | None, criterion: Criterion) -> str:
    """Why no set is right: what the set of all ancestors leaves open, which closes all that any set can close."""
    problem = read_problem(graph, **sides, criterion=criterion)
    ends = {*problem.outcome, *problem.treatment}
    free = problem.causes.ancestors(ends) - problem.forbidden - ends
    given = [node for node in free if allowed is None or node in allowed]
    checked = check_adjustment(graph, **sides, given=given, criterion=criterion)
    if checked.unclear is not None:
        return unclear_reason(checked.unclear)
    what = "whatever" if allowed is None else "whatever of --observed"
    return f"{checked.trail} is open and not causal, {what} is adjusted for"


def _other_ways(
    graph: Any, sides: dict[str, list[str]], allowed: list[str] | None, most: int | None
) -> dict[str, list[Any]]:
    """Mediators for the front door, and instruments; a class of graphs has none that it is sure of."""
    if not isinstance(graph, DAG | CausalGraph):
        return {}
    doors = islice(front_door_sets(graph, **sides, allowed=allowed, limit=None), most)
    found: list[Any] = []
    if len(sides["outcome"]) == len(sides["treatment"]) == 1:
        outcome, treatment = sides["outcome"][0], sides["treatment"][0]
        found = [
            {"instrument": str(one.node), "given": _sorted(one.given)}
            for one in instruments(graph, outcome, treatment, allowed=allowed)
        ]
    return {"front_door": [_sorted(members) for members in doors], "instruments": found}


def _tell(document: dict[str, Any]) -> None:
    effect = f"the effect of {', '.join(document['treatment'])} on {', '.join(document['outcome'])}"
    if document["sets"]:
        print_line(f"minimal sets to adjust for, for {effect} ({document['criterion']} criterion):")
        for members in document["sets"]:
            print_line(f"  {_braced(members)}")
        if document["has_more"]:
            print_line("  ... and more: raise --limit, or list them with --all")
        if document["least_variance"] is not None:
            print_line(f"least variance of an estimate: {_braced(document['least_variance'])}")
        return
    if not document["may_cause"]:
        print_line(f"nothing to adjust for, for {effect}:")
        print_line(f"  {document['reason']}")
        return
    print_line(f"no set is right to adjust for, for {effect} ({document['criterion']} criterion):")
    print_line(f"  {document['reason']}")
    if "front_door" not in document:
        return
    for members in document["front_door"]:
        print_line(f"  front door: {_braced(members)}")
    for one in document["instruments"]:
        given = f" given {', '.join(map(quote, one['given']))}" if one["given"] else ""
        print_line(f"  instrument: {quote(one['instrument'])}{given}")
    print_line("Whether there is any other way: plausible identify.")


def _braced(members: Collection[str]) -> str:
    return f"{{{', '.join(map(quote, members))}}}"


def _sorted(members: Iterable[Any]) -> list[str]:
    return sorted(map(str, members))
