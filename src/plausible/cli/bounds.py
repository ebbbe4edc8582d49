"""`plausible bounds`: where an effect must lie that what is observed does not determine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from plausible.base.remedies import Call
from plausible.causal.partial.bounds import bounds
from plausible.causal.partial.checks import bootstrap_bounds
from plausible.causal.partial.linear_query import (
    LinearQuery,
    Monotone,
    NoDirectEffect,
    TypeAssumption,
    average_causal_effect,
    probability_of,
)
from plausible.causal.queries.observed import ObservedModel, observed_model
from plausible.cli.causal_graphs import GRAPHS, read_causal_source
from plausible.cli.commands import OwnWords, command, hyphenated, shell_words
from plausible.cli.data import read_data, told_left_out, usable_rows
from plausible.cli.effect_text import EFFECTS, EffectText, named_states, read_effect
from plausible.cli.evidence import names_in
from plausible.cli.options import AsJson, EffectOption, MaybeGraph, MissingMarkers, MissingRows, argument, option
from plausible.cli.output import picked, print_answer
from plausible.cli.source import format_of, read_bayesian
from plausible.cli.streams import check_one_reader, is_standard, piped_bytes
from plausible.data.table import Table
from plausible.errors import InvalidArgument, ModelContradicted, counted, suggestion
from plausible.graphs import DAG, CausalGraph
from plausible.models import BayesianNetwork
from plausible.variables import Variable

_TABLES = (".csv", ".parquet")
_ASSUMPTIONS = ("monotone", "decreasing", "no-direct-effect")


def _assumed_edge(call: Call) -> str:
    variable, cause = (one.value for one in call.arguments)
    return f"--assume '{hyphenated(call.name)}:{cause}->{variable}'"


_WORDS: OwnWords = {
    "bootstrap_bounds()": "--bootstrap 200",
    "leave these rows out": "leave these rows out with --missing complete-rows, or complete them: plausible impute",
    "Monotone": _assumed_edge,
    "NoDirectEffect": _assumed_edge,
}


@command(
    examples=(
        "plausible sample asia -n 2000 --seed 1 -o data.csv",
        "plausible bounds data.csv --graph 'smoke -> dysp; smoke <-> dysp' "
        "--effect 'smoke=yes vs smoke=no => dysp=yes'",
        "plausible bounds data.csv --graph 'smoke -> dysp; smoke <-> dysp' --effect 'smoke=yes => dysp=yes' "
        "--confidence 0.95",
        "plausible bounds asia --graph 'tub -> xray; tub <-> xray' --effect 'tub=no => xray=no | tub=yes, xray=yes' "
        "--assume 'monotone:tub->xray'",
        "plausible bounds asia --observed smoke,xray,dysp --effect 'xray=yes => dysp=yes'",
    ),
    notes=(EFFECTS, GRAPHS),
    words=_WORDS,
)
def run_bounds(
    source: Annotated[
        str, argument("What is observed: a CSV or Parquet file, a network's file, an example's name, or -.")
    ],
    effect: EffectOption,
    graph: MaybeGraph = None,
    observed: Annotated[
        str | None,
        option("Instead of --graph: the variables of a network that are seen, as A,B; its others are latent."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        option("monotone:A->T (A never lowers T), decreasing:A->T or no-direct-effect:A->T; repeat it."),
    ] = None,
    confidence: Annotated[
        float | None, option("Allow for sampling noise of data: the chance that the bounds hold the effect.")
    ] = None,
    bootstrap: Annotated[
        int | None, option("Take --confidence from so many samples of the data: approximate, and narrower.", min=1)
    ] = None,
    missing: MissingRows = None,
    na: MissingMarkers = None,
    as_json: AsJson = False,
) -> None:
    """Print the least and the greatest value an effect can have.

    They follow from the graph and what is observed. 'T=1 => O=1' is the probability of O=1 had T been set to 1, 'T=1 vs
    T=0 => O=1' the difference. Conditions after a bar are about what really happened: 'T=0 => O=0 | T=1, O=1' asks of
    those with T=1 and O=1 how many would have had O=0 under T=0. States of a column are ordered as numbers, or else by
    name. Where what is observed contradicts the graph, by more than sampling noise explains, this is said and the exit
    code is 1.
    """
    check_one_reader({"SOURCE": source, "--graph": graph})
    asked = read_effect(effect)
    causes, whole = _read(source, graph, observed, na)
    seen = usable_rows(whole, causes.nodes, missing) if isinstance(whole, Table) else whole
    _check_sampling(seen, missing, confidence, bootstrap)
    query, assumptions = _query(asked, _variables(seen)), [_assumption(text) for text in assume or ()]
    left_out = told_left_out(whole, seen) if isinstance(whole, Table) and isinstance(seen, Table) else ""
    interval = None
    try:
        if bootstrap is not None and confidence is not None:
            samples = bootstrap_bounds(causes, query, seen, assumptions=assumptions, num_samples=bootstrap)
            found, interval = samples.bounds, samples.interval(confidence)
        else:
            found = bounds(causes, query, seen, assumptions=assumptions, confidence=confidence)
    except ModelContradicted as error:  # which is an answer
        reason = error.told(shell_words(run_bounds))
        document = {"query": str(query), "contradicted": True, "violation": error.violation, "reason": reason}
        print_answer(reason, document, as_json=as_json)
        raise typer.Exit(1) from None
    document = {
        "query": str(found.query),
        **picked(found, "lower upper identified=is_identified sharp=is_sharp violation confidence"),
        **{"assumed": assume or [], "types": found.num_types, "latent": found.latent, "missing": left_out or None},
    }
    lines = [str(found), f"assumed: {', '.join(assume)}" if assume else ""]
    lines.append("" if found.confidence is None else f"confidence: {found.confidence:.0%}")
    if interval is not None:
        document["bootstrap"] = {"level": confidence, "num_samples": bootstrap, "ends": interval}
        low, high = interval
        lines.append(f"{confidence:.0%} of {counted(bootstrap or 0, 'sample')}: {low:.4g} to {high:.4g}")
    lines.append(f"missing: {left_out}" if left_out else "")
    if not found.is_sharp:
        lines.append("Latent causes act on pairs of a larger district only: the bounds hold, but may be too wide.")
    print_answer("\n".join(filter(None, lines)), document, as_json=as_json)


def _check_sampling(
    seen: Table | BayesianNetwork | ObservedModel, missing: str | None, confidence: float | None, bootstrap: int | None
) -> None:
    """Refuse options about samples where there are none, and those that make no sense."""
    if not isinstance(seen, Table):
        if missing is not None:
            raise InvalidArgument("--missing is about cells of data, which a network does not have: leave it out.")
        if confidence is not None or bootstrap is not None:
            raise InvalidArgument(
                "--confidence allows for sampling noise, which a network does not have: leave it out."
            )
    if confidence is not None and not 0 < confidence < 1:
        raise InvalidArgument(f"--confidence lies between 0 and 1, not at {confidence!r}.")
    if bootstrap is not None and confidence is None:
        raise InvalidArgument("--bootstrap needs a --confidence, such as --confidence 0.95.")


def _read(
    source: str, graph: str | None, observed: str | None, na: list[str] | None
) -> tuple[DAG | CausalGraph, Table | BayesianNetwork | ObservedModel]:
    """The graph, and what is seen of it."""
    if graph is not None and observed is None:
        causes = read_causal_source(graph, place="--graph")
        return causes.graph, _observed(source, causes.variables.values(), na)
    if observed is None or graph is not None:
        raise InvalidArgument("Give the graph with --graph, or what is seen of a network with --observed; one of them.")
    network = _observed(source, (), na)
    if not isinstance(network, BayesianNetwork):
        raise InvalidArgument("--observed names what is seen of a network; data need a --graph.")
    model = observed_model(network, names_in(observed))
    return model.graph, model


def _variables(seen: Table | BayesianNetwork | ObservedModel) -> Mapping[str, Variable]:
    if isinstance(seen, ObservedModel):
        return {name: seen.network.variables[name] for name in seen.observed}
    return seen.variables


def _observed(source: str, variables: Iterable[Variable], na: list[str] | None) -> Table | BayesianNetwork:
    path = Path(source)
    if path.suffix.lower() in _TABLES or (is_standard(source) and format_of(piped_bytes()) is None):
        return read_data(path, variables, missing_values=na)
    return read_bayesian(source, "give one, or a table of data")


def _query(effect: EffectText, variables: Mapping[str, Variable]) -> LinearQuery:
    treatment, control, outcome, given = (
        named_states(terms, variables, "what is observed", effect)
        for terms in (effect.treatment, effect.control, effect.outcome, effect.given)
    )
    if not control:
        return probability_of(outcome, do=treatment, evidence=given)
    if set(control) != set(treatment):
        raise effect.refuse("both sides of vs set the same names, as in X=1 vs X=0")
    return average_causal_effect(outcome, treatment, control, evidence=given)


def _assumption(text: str) -> TypeAssumption:
    kind, _, edge = text.partition(":")
    cause, arrow, variable = (part.strip() for part in edge.partition("->"))
    if kind.strip() not in _ASSUMPTIONS:
        raise InvalidArgument(f"--assume {text!r} is no assumption.{suggestion(kind.strip(), _ASSUMPTIONS)}")
    if not (arrow and cause and variable):
        raise InvalidArgument(f"--assume {text!r}: name cause and effect, as in {kind.strip()}:A->T.")
    if kind.strip() == "no-direct-effect":
        return NoDirectEffect(variable, cause)
    return Monotone(variable, cause, is_decreasing=kind.strip() == "decreasing")
