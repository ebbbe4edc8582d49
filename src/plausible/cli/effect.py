"""`plausible effect`: an effect, estimated from a file of data."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any, cast, get_args

import typer

from plausible.causal.adjustment.sets import instruments
from plausible.causal.estimation.adjusted import DoublyRobust, Model, Standardization, Weighting
from plausible.causal.estimation.effect import MethodName, estimate_effect, method_suggestion
from plausible.causal.estimation.estimate import Bootstrap, EffectEstimate, EffectMethod
from plausible.cli import options
from plausible.cli.causal_graphs import ANY_CLASS, GRAPHS, ONE_GRAPH, read_causal_source, tell_not_identifiable
from plausible.cli.commands import OwnWords, command
from plausible.cli.data import read_columns, told_left_out, usable_rows, weighted_by
from plausible.cli.effect_text import EFFECTS, EffectText, Term, named_states, read_effect
from plausible.cli.options import option
from plausible.cli.output import picked, print_answer, print_line
from plausible.cli.streams import check_one_reader
from plausible.data.intervention_marks import are_targets
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotIdentifiable, suggestion

_WORDS: OwnWords = {
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
    words=_WORDS,
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
        **picked(found, "outcome treatment levels event method variables"),
        "means": [None if math.isnan(mean) else mean for mean in found.means],
        **picked(found, "difference standard_error interval confidence cases=num_cases strength"),
        **{"assumption": found.assumption or None, "rows": found.rows or None, "positivity": report},
    }
