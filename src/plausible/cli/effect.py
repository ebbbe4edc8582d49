"""Effects from a file of data: `plausible effect` (estimated) and `bounds` (where an undetermined one must lie)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from plausible.base import Call
from plausible.causal.adjustment.sets import instruments
from plausible.causal.estimation.adjusted import DoublyRobust, Model, Standardization, Weighting
from plausible.causal.estimation.effect import MethodName, estimate_effect, method_suggestion
from plausible.causal.estimation.estimate import Bootstrap, EffectEstimate, EffectMethod
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
from plausible.cli import options
from plausible.cli.causal_graphs import ANY_CLASS, GRAPHS, ONE_GRAPH, read_causal_source, tell_not_identifiable
from plausible.cli.commands import OwnWords, command, hyphenated, shell_words
from plausible.cli.data import read_columns, read_data, told_left_out, usable_rows, weighted_by
from plausible.cli.evidence import EFFECTS, EffectText, Term, named_states, names_in, read_effect
from plausible.cli.options import AsJson, EffectOption, MaybeGraph, MissingMarkers, MissingRows, argument, option
from plausible.cli.output import check_one_reader, is_standard, picked, piped_bytes, print_answer, print_line
from plausible.cli.source import format_of, read_bayesian
from plausible.data.column_types import are_targets
from plausible.data.table import Table
from plausible.errors import InvalidArgument, ModelContradicted, NotIdentifiable, counted, suggestion
from plausible.graphs import DAG, CausalGraph
from plausible.models import BayesianNetwork
from plausible.variables import Variable

_EFFECT_WORDS: OwnWords = {
    "method=Standardization(model='regression')": "--method standardization --model regression",
    "method=DoublyRobust(model='regression')": "--model regression",
    "method=InstrumentalVariable()": "--method instrument",
    "identify()": "--method identified",
    "leave these rows out": "leave these rows out with --missing complete-rows",
    "levels=": "--effect",
    "levels": lambda one: "{1!r} vs {0!r} in --effect, each after the name and =".format(*one.value),
    "event": lambda one: f"{one.value!r} after the outcome's name and = in --effect",
    "Bootstrap(resamples=0)": "--resamples 0",
}


@command(
    examples=(
        "plausible sample asia -n 2000 --seed 1 -o data.csv",
        "plausible effect data.csv --graph asia --effect 'smoke=yes vs smoke=no => dysp=yes'",
        "plausible effect data.csv --graph asia --effect 'bronc => dysp' --method weighting --confidence 0.9",
    ),
    notes=(EFFECTS, GRAPHS),
    words=_EFFECT_WORDS,
)
def run_effect(
    data: options.DataFile,
    graph: options.GraphOption,
    effect: options.EffectOption,
    method: Annotated[
        str | None, option(f"{', '.join(get_args(MethodName))}.", show_default="one that the graph allows")
    ] = None,
    model: Annotated[
        str | None,
        option(
            "saturated (numbers of its own for each stratum) or regression, for methods that adjust.",
            show_default="saturated, if all covariates have states",
        ),
    ] = None,
    confidence: Annotated[float, option("The chance that the interval covers the effect.")] = 0.95,
    resamples: Annotated[
        int, option("So often rows are drawn anew for the interval; 0 for a formula, if there is one.", min=0)
    ] = 200,
    seed: Annotated[int, option("A whole number: the same one gives the same interval.", min=0)] = 0,
    weights: options.WeightsColumn = None,
    interventions: options.Experiments = None,
    missing: options.MissingRows = None,
    na: options.MissingMarkers = None,
    continuous: options.ContinuousColumns = None,
    states: options.StateColumns = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the effect of a treatment, with an interval.

    The effect is by how much the treatment changes the mean of the outcome. The graph says which method is right, and
    what it adjusts for. 'X => Y' compares the two states of X, or of numbers their mean and one more; 'X=b vs X=a'
    names two, and 'Y=y' the state whose probability is the mean. Where no method can be right, the reason is printed
    and the exit code is 1. What is no cause by the graph has the effect 0.
    """
    if method is not None and method not in get_args(MethodName):
        raise InvalidArgument(f"--method {method!r} is no way to estimate.{method_suggestion(method)}")
    if not 0 < confidence < 1:
        raise InvalidArgument(f"--confidence lies between 0 and 1, not at {confidence!r}.")
    check_one_reader({"DATA": data, "--graph": graph})
    asked, source = read_effect(effect), read_causal_source(graph, ANY_CLASS, "--graph")
    outcome, treatment = _names(asked)
    columns = read_columns(data, source.variables.values(), missing_values=na, continuous=continuous, states=states)
    rows = weighted_by(columns.table(interventions=interventions), weights)
    _refuse_unsaid_targets(rows, source.graph.nodes)
    table = usable_rows(rows, source.graph.nodes, missing)
    stated, plan = _states(asked, table), Bootstrap(resamples, confidence, seed)
    try:
        found = estimate_effect(
            source.graph, table, outcome, treatment, method=_method(method, model), bootstrap=plan, **stated
        )
    except NotIdentifiable as error:
        tell_not_identifiable(error, as_json=as_json)
        if not as_json and isinstance(source.graph, ONE_GRAPH):
            _tell_instruments(source.graph, outcome, treatment, table)
        raise typer.Exit(1) from None
    left_out = told_left_out(rows, table)
    text = f"{found}\n  missing    {left_out}" if left_out else str(found)
    print_answer(text, {**_document(found), "missing": left_out or None}, as_json=as_json)


def _refuse_unsaid_targets(table: Table, nodes: Collection[Any]) -> None:
    """Refuse a column beside the graph that names nodes of it, as if these had been set from outside in its rows."""
    known = {node: node for node in nodes if node in table.variables}
    for name, variable in table.variables.items():
        if name not in known and not variable.is_continuous and are_targets(variable.states, known):
            raise InvalidArgument(
                f"The column {name!r} names columns of the graph, such as {variable.states[0]!r}. If it tells what was "
                f"set from outside in each row: --interventions {name}; if not, leave it out of the file."
            )


def _tell_instruments(graph: Any, outcome: str, treatment: str, table: Table) -> None:
    """Print what an effect can be had by that the graph alone does not give."""
    columns = [node for node in graph.nodes if node in table.variables]
    found = "; ".join(map(str, instruments(graph, outcome, treatment, allowed=columns)))
    if found:
        print_line(f"If it is linear and the same for all cases, by an instrument ({found}): --method instrument.")


def _method(name: str | None, model: str | None) -> EffectMethod | MethodName | None:
    """The method of a name, with a model if one was asked for."""
    if model is None:
        return cast("MethodName | None", name)
    if model not in get_args(Model):
        raise InvalidArgument(f"--model {model!r} is no model.{suggestion(model, get_args(Model))}")
    if (name or "doubly-robust") not in _ADJUSTING:
        raise InvalidArgument(f"--model is for methods that adjust ({', '.join(_ADJUSTING)}), not --method {name}.")
    return _ADJUSTING[name or "doubly-robust"](model=cast("Model", model))


_ADJUSTING: Mapping[str, type[DoublyRobust | Standardization | Weighting]] = {
    "doubly-robust": DoublyRobust,
    "standardization": Standardization,
    "weighting": Weighting,
}


def _names(effect: EffectText) -> tuple[str, str]:
    """The one outcome and the one treatment."""
    if effect.given:
        raise effect.refuse("an estimate is for all cases, so leave the conditions after | out")
    for role, terms in (("treatment", effect.treatment), ("outcome", effect.outcome)):
        if len(terms) != 1:
            raise effect.refuse(f"an estimate has one {role}, not {len(terms)}")
    name = effect.treatment[0].name
    if any(term.name != name for term in effect.control):
        raise effect.refuse(f"both sides of vs are states of {name!r}, as in {name}=b vs {name}=a")
    return effect.outcome[0].name, name


def _states(effect: EffectText, table: Table) -> dict[str, Any]:
    """The arguments `levels=` and `event=`, where states were named."""

    def stated(terms: tuple[Term, ...]) -> Any:
        return named_states(terms, table.variables, "the data", effect)[terms[0].name]

    found: dict[str, Any] = {}
    if effect.control:
        found["levels"] = (stated(effect.control), stated(effect.treatment))
    elif effect.treatment[0].state is not None:
        name, state = effect.treatment[0]
        raise effect.refuse(f"{name}={state} is compared with another state: write that one, too, after vs")
    if effect.outcome[0].state is not None:
        found["event"] = stated(effect.outcome)
    return found


def _document(found: EffectEstimate) -> dict[str, Any]:
    report = found.positivity and {
        **picked(found.positivity, "is_satisfied"),
        **{
            kind: [picked(cell, "level covariates cases=num_cases share") for cell in getattr(found.positivity, kind)]
            for kind in ("empty", "sparse")
        },
        **{
            kind: {str(level): number for level, number in getattr(found.positivity, kind).items()}
            for kind in ("propensity", "effective", "unlikely")
        },
        **picked(found.positivity, "comparable"),
    }
    return {
        **picked(found, "outcome treatment levels event method variables means"),
        **picked(found, "difference standard_error interval confidence cases=num_cases strength"),
        **{"assumption": found.assumption or None, "rows": found.rows or None, "positivity": report},
    }


_TABLES = (".csv", ".parquet")
_ASSUMPTIONS = ("monotone", "decreasing", "no-direct-effect")


def _assumed_edge(call: Call) -> str:
    variable, cause = (one.value for one in call.arguments)
    return f"--assume '{hyphenated(call.name)}:{cause}->{variable}'"


_BOUNDS_WORDS: OwnWords = {
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
    words=_BOUNDS_WORDS,
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
