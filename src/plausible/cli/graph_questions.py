"""Questions to graphs: `plausible dsep`, `independencies`, `compare`, `identify` (a formula), `adjust` (for what)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any, cast

import typer

from plausible.causal import effect_in_pag, front_door_sets, identify
from plausible.causal.adjustment.problem import Criterion, may_cause, read_problem
from plausible.causal.adjustment.sets import (
    adjustment_sets,
    check_adjustment,
    instruments,
    optimal_adjustment_set,
    unclear_reason,
)
from plausible.cli.causal_graphs import ANY_CLASS, GRAPHS, ONE_GRAPH, read_causal_source, tell_not_identifiable
from plausible.cli.commands import command
from plausible.cli.evidence import EFFECTS, EffectText, Term, named_states, names_in, read_effect
from plausible.cli.options import AsJson, EffectOption, GraphArgument, GraphSource, argument, option
from plausible.cli.output import check_one_reader, factor_document, picked, print_answer, print_json, print_line
from plausible.cli.source import read_bayesian, read_graph, read_graph_or_network, read_model
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported
from plausible.graphs import (
    DAG,
    MAG,
    PAG,
    PDAG,
    CausalGraph,
    StructureComparison,
    UndirectedGraph,
    all_independencies,
    compare_structure,
    is_i_equivalent,
    local_independencies,
    pairwise_independencies,
)
from plausible.graphs.text import quote
from plausible.models import BayesianNetwork, compare

Side = Annotated[str, argument("Names, separated by commas.")]


@command(
    examples=(
        "plausible dsep asia smoke tub --given xray",
        "plausible dsep 'D -> G <- I; G -> L' D I --given L",
        "plausible dsep 'S -> T -> C; S <-> C' S C --given T",
    )
)
def run_dsep(
    graph: GraphSource,
    x: Side,
    y: Side,
    given: Annotated[str, option("What is observed: names, separated by commas.")] = "",
    as_json: AsJson = False,
) -> None:
    """Tell whether X and Y are d-separated, and by which trails.

    With <-> for hidden common causes it is m-separation.
    """
    found = read_causal_source(graph, (DAG, UndirectedGraph, CausalGraph, MAG), model=read_model).graph
    left, right, observed = names_in(x), names_in(y), names_in(given)
    if not left or not right:
        raise InvalidArgument("Name the variables on both sides, as in: plausible dsep asia smoke tub.")
    document: dict[str, Any] = {"x": left, "y": right, "given": observed}
    if isinstance(found, DAG | CausalGraph):
        explanation = found.explain_separation(left, right, given=observed)
        document["separated"] = explanation.separated
        document["trails"] = [
            {"trail": str(trail), "active": trail.is_active, "because": [str(junction) for junction in trail.junctions]}
            for trail in explanation.trails
        ]
        text = str(explanation)
    else:
        ask = found.separated if isinstance(found, UndirectedGraph) else found.m_separated
        document["separated"] = ask(left, right, given=observed)
        verdict = "separated" if document["separated"] else "connected"
        text = f"{', '.join(left)} and {', '.join(right)} are {verdict} given {', '.join(observed) or 'nothing'}"
    print_answer(text, document, as_json=as_json)


class Kind(StrEnum):
    """Which list of statements."""

    LOCAL = "local"
    PAIRWISE = "pairwise"
    ALL = "all"


_LISTS = {Kind.LOCAL: local_independencies, Kind.PAIRWISE: pairwise_independencies}


@command(examples=("plausible independencies asia", "plausible independencies 'A -> B -> C' --kind all --max-given 1"))
def run_independencies(
    graph: GraphSource,
    kind: Annotated[Kind, option("The local Markov property, one statement a pair, or all pairs.")] = Kind.LOCAL,
    max_given: Annotated[int | None, option("With --kind all: at most so many observed variables.", min=0)] = None,
    as_json: AsJson = False,
) -> None:
    """List the independencies that a graph implies."""
    if max_given is not None and kind is not Kind.ALL:
        raise InvalidArgument("--max-given goes with --kind all: the other lists observe what they must.")
    found = read_graph(graph)
    statements = all_independencies(found, max_given) if kind is Kind.ALL else _LISTS[kind](found)
    if as_json:
        listed = [{"x": list(s.x), "y": list(s.y), "given": list(s.given)} for s in statements]
        print_json({"kind": kind.value, "independencies": listed})
        return
    for statement in statements:
        print_line(str(statement))
    if not statements:
        print_line("The graph implies no independencies.")


@command(examples=("plausible compare asia learned.bif", "plausible compare 'A -> B -> C' 'A -> B <- C'"))
def run_compare(reference: GraphSource, estimate: GraphSource, as_json: AsJson = False) -> None:
    """Compare two networks, edge by edge and by their numbers.

    It lists missing, extra and reversed edges, their distance, precision and recall, and differences of parameters.
    """
    check_one_reader({"REFERENCE": reference, "ESTIMATE": estimate})
    meant, found = read_graph_or_network(reference), read_graph_or_network(estimate)
    first, second = (source.graph if isinstance(source, BayesianNetwork) else source for source in (meant, found))
    if not isinstance(first, DAG) or not isinstance(second, DAG):
        raise NotSupported("Only directed graphs can be compared edge by edge.")
    equivalent = is_i_equivalent(first, second)
    document: dict[str, Any] = {"i_equivalent": equivalent}
    if isinstance(meant, BayesianNetwork) and isinstance(found, BayesianNetwork):
        networks = compare(meant, found)
        document |= {**_document(networks.structure), "parameters": dict(networks.parameters)}
        text = str(networks)
    else:
        structure = compare_structure(first, second)
        document |= _document(structure)
        text = str(structure)
    print_answer(f"{text}\nI-equivalent: {'yes' if equivalent else 'no'}", document, as_json=as_json)


def _document(comparison: StructureComparison) -> dict[str, Any]:
    lists = ("same", "missing", "extra", "reversed", "direction_lost", "direction_gained")
    document: dict[str, Any] = {name: [str(edge) for edge in getattr(comparison, name)] for name in lists}
    for name in ("skeleton", "orientation"):
        agreement = getattr(comparison, name)
        document[name] = {**asdict(agreement), **picked(agreement, "precision recall f1")}
    return {**document, "shd": comparison.shd}


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
    observed: Annotated[str | None, option("What can be measured, separated by commas; all by default.")] = None,
    network: Annotated[str | None, option("Evaluate the estimand in this network, a file or example.")] = None,
    latex: Annotated[bool, option("Print the estimand in LaTeX.", "--latex")] = False,
    python: Annotated[bool, option("Print it as a Python function.", "--python")] = False,
    derivation: Annotated[bool, option("Print how it was found, too.", "--derivation")] = False,
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
    model = None if network is None else read_bayesian(network, "--network needs one")
    settings = _settings(asked, model)
    try:
        found = identify(source.graph, observed=seen, **_without_states(asked).names())
    except NotIdentifiable as error:
        tell_not_identifiable(error, as_json=as_json)
        raise typer.Exit(1) from None
    answer = None if model is None else found.evaluate(model, **settings)
    document = {
        **{"effect": str(found.query), "identifiable": True},
        **picked(found, "formula latex python variables arbitrary adjustment"),
        "derivation": [str(step) for step in found.derivation],
        **({} if answer is None else {"value": factor_document(answer)}),
    }
    lines = [*([found.latex] if latex else []), *([found.python.rstrip()] if python else [])] or [str(found)]
    lines += [str(found.derivation)] if derivation else []
    print_answer("\n".join([*lines, *([] if answer is None else [str(answer)])]), document, as_json=as_json)


def _agreement(graph: PDAG | MAG | PAG, effect: EffectText) -> str:
    """What all graphs that a PAG stands for say of one variable's effect on another, and a blank; "" elsewhere."""
    if not isinstance(graph, PAG) or effect.given or len(effect.treatment) != 1 or len(effect.outcome) != 1:
        return ""
    return f"{effect_in_pag(graph, effect.outcome[0].name, effect.treatment[0].name)} "


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
    check: Annotated[str | None, option("Is this set right? Names, separated by commas; '' for none.")] = None,
    observed: Annotated[str | None, option("What can be adjusted for, separated by commas; all by default.")] = None,
    criterion: Annotated[str, option("adjustment, which misses no set, or back-door.")] = "adjustment",
    limit: Annotated[int, option("List at most so many sets.", min=1)] = 10,
    list_all: Annotated[bool, option("List all sets, however many.", "--all")] = False,
    as_json: AsJson = False,
) -> None:
    """List what to adjust for to estimate an effect.

    All minimal sets are listed; of a set to --check it is said whether it is right, and which trail it leaves open. The
    graph may stand for a class, as CPDAGs and PAGs do: sets are right in all of it. Where there is no set, mediators
    for the front door and instruments are listed, and the exit code is 1; so it is if a set to --check is not right.
    What causes the outcome in no graph of the class has no effect, which is said with exit code 0.
    """
    sides, found = read_effect(effect).names(has_given=False), read_causal_source(graph, ANY_CLASS).graph
    if criterion not in _CRITERIA:
        raise InvalidArgument(f"--criterion is one of {', '.join(_CRITERIA)}, not {criterion!r}.")
    rule = cast("Criterion", criterion)
    if check is not None:
        if observed is not None or list_all:
            raise InvalidArgument("--check asks about one set, so that --observed and --all have no effect.")
        _tell_check(found, sides, names_in(check), rule, as_json=as_json)
        return
    allowed = None if observed is None else names_in(observed)
    most = None if list_all else limit
    sets = adjustment_sets(found, **sides, allowed=allowed, criterion=rule, limit=None)
    listed = list(sets if most is None else islice(sets, most + 1))
    is_class = isinstance(found, DAG | PDAG)  # only these have a set with the least variance
    best = optimal_adjustment_set(found, **sides, allowed=allowed) if listed and is_class else None
    document: dict[str, Any] = {
        **sides,
        "criterion": rule,
        "sets": [_sorted(members) for members in listed[:most]],
        "has_more": most is not None and len(listed) > most,
        "least_variance": None if best is None else _sorted(best),
        "may_cause": any(may_cause(found, y, x) for y in sides["outcome"] for x in sides["treatment"]),
    }
    if not document["may_cause"]:
        document["reason"] = "no causal path leads to the outcome: the effect is 0"
    elif not listed:
        document["reason"] = _reason(found, sides, allowed, rule)
        document |= _other_ways(found, sides, allowed, most)
    print_answer("\n".join(_lines(document)), document, as_json=as_json)
    if not listed and document["may_cause"]:
        raise typer.Exit(1)


def _tell_check(
    graph: Any, sides: dict[str, list[str]], members: list[str], criterion: Criterion, *, as_json: bool
) -> None:
    checked = check_adjustment(graph, **sides, given=members, criterion=criterion)
    document: dict[str, Any] = {
        **{**sides, "given": members, "criterion": criterion},
        **picked(checked, "valid=is_valid forbidden"),
        "trail": None if checked.trail is None else str(checked.trail),
        "unclear": None if checked.unclear is None else str(checked.unclear),
        "expression": str(checked.expression) if checked.is_valid else None,
    }
    text = f"{checked}\n  {checked.expression}" if checked.is_valid else str(checked)
    print_answer(text, document, as_json=as_json)
    if not checked.is_valid:
        raise typer.Exit(1)


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


def _lines(document: dict[str, Any]) -> list[str]:
    effect = f"the effect of {', '.join(document['treatment'])} on {', '.join(document['outcome'])}"
    if document["sets"]:
        lines = [f"minimal sets to adjust for, for {effect} ({document['criterion']} criterion):"]
        lines += [f"  {_braced(members)}" for members in document["sets"]]
        lines += ["  ... and more: raise --limit, or list them with --all"] if document["has_more"] else []
        if document["least_variance"] is not None:
            lines.append(f"least variance of an estimate: {_braced(document['least_variance'])}")
        return lines
    if not document["may_cause"]:
        return [f"nothing to adjust for, for {effect}:", f"  {document['reason']}"]
    lines = [f"no set is right to adjust for, for {effect} ({document['criterion']} criterion):"]
    lines.append(f"  {document['reason']}")
    if "front_door" not in document:
        return lines
    lines += [f"  front door: {_braced(members)}" for members in document["front_door"]]
    for one in document["instruments"]:
        given = f" given {', '.join(map(quote, one['given']))}" if one["given"] else ""
        lines.append(f"  instrument: {quote(one['instrument'])}{given}")
    return [*lines, "Whether there is any other way: plausible identify."]


def _braced(members: Collection[str]) -> str:
    return f"{{{', '.join(map(quote, members))}}}"


def _sorted(members: Iterable[Any]) -> list[str]:
    return sorted(map(str, members))
