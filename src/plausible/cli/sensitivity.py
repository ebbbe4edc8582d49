"""What an answer hangs on: `plausible sensitivity` (one parameter) and `tornado` (those that matter most)."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, cast

from plausible.base import TextTable
from plausible.cli.charts import check_plot, save_plot
from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, plain, read_findings, shielded, split_finding, state_of
from plausible.cli.options import AsJson, EventText, EvidenceTexts, ModelSource, PlotOutput, argument, option
from plausible.cli.output import picked, print_answer
from plausible.cli.source import read_bayesian
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.inference.sensitivity.functions import SensitivityFunction, Variation, tornado
from plausible.models import BayesianNetwork
from plausible.plotting import plot_tornado
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd


_WHY = "the parameters asked about are those of one"
_AS_PROBABILITY = re.compile(r"\s*[Pp]\s*\((.*)\)\s*", re.DOTALL)


def _event(text: str, network: BayesianNetwork) -> tuple[str, State]:
    """The variable and the state that a text such as lung=yes names."""
    name = plain(shielded(text))
    if name in network.variables:
        states = " or ".join(f"{text}={state}" for state in network.variables[name].states)
        raise InvalidArgument(f"Say which state of {text!r} is asked about: {states or 'one of a discrete variable'}.")
    terms = _states(shielded(text), network)
    if len(terms) != 1:
        raise InvalidArgument(f"{text!r} is not one event: write one state of one variable, such as lung=yes.")
    return next(iter(terms.items()))


def _parameter(text: str, network: BayesianNetwork) -> tuple[str, dict[str, State], State]:
    """Child, states of its parents and its own in a text such as P(xray=yes | either=no); P and brackets may lack."""
    whole = _AS_PROBABILITY.fullmatch(text)
    child, *given = shielded(whole[1] if whole else text).split("|")
    own = _states(child, network)
    if len(own) != 1 or len(given) > 1:
        raise InvalidArgument(f"{text!r} is no number of a table: write it as 'P(child=state | parent=state, ...)'.")
    (name, state), states = next(iter(own.items())), _states(given[0], network) if given else {}
    parents = network.cpd(name).parent_names
    for parent in states:
        if parent not in parents:
            raise UnknownVariable.named(parent, parents, f"the parents of {name!r}")
    if missing := [parent for parent in parents if parent not in states]:
        wanted = ", ".join(f"{parent}={states.get(parent, '...')}" for parent in parents)
        raise InvalidArgument(
            f"{text!r} has no state of {missing[0]!r}, a parent of {name!r}: write 'P({name}={state} | {wanted})'."
        )
    return name, states, state


def _states(text: str, network: BayesianNetwork) -> dict[str, State]:
    """Name -> state, of terms such as A=a that commas separate."""
    found: dict[str, State] = {}
    for piece in text.split(","):
        name, operator, value = split_finding(piece)
        UnknownVariable.check(name, network.variables, "this network")
        variable = network.variables[name]
        if operator != "=" or variable.is_continuous:
            raise InvalidArgument(f"{plain(piece)!r} is not a state of a discrete variable: write name=state.")
        found[name] = state_of(variable, plain(value))
    return found


@command(
    examples=(
        "plausible sensitivity asia lung=yes 'P(xray=yes | either=no)' --evidence xray=yes",
        "plausible sensitivity asia lung=yes 'P(xray=yes | either=no)' --evidence xray=yes --solve 0.8",
    ),
    notes=(SYNTAX,),
)
def run_sensitivity(
    model: ModelSource,
    event: EventText,
    parameter: Annotated[str, argument("A number of a table, such as 'P(xray=yes | either=no)'.")],
    evidence: EvidenceTexts = None,
    solve: Annotated[
        float | None, option("Find the parameter that makes P(event | evidence) so large.", min=0, max=1)
    ] = None,
    plot: PlotOutput = None,
    as_json: AsJson = False,
) -> int:
    """Show how an answer depends on one parameter of the model.

    P(event | evidence) is (a x + b) / (c x + d), where x is the parameter and the rest of its row is kept in
    proportion. The slope tells how many times as large an error in x comes out. If no x gives the probability of
    --solve, what can be had is printed and the exit code is 1.
    """
    check_plot(plot)
    network = read_bayesian(model, _WHY)
    target, state = _event(event, network)
    findings = read_findings(evidence, network)
    found = network.sensitivity(target, state, findings, parameter=_parameter(parameter, network))
    solution = None if solve is None else found.solve(solve)
    document = {
        **picked(found, "event probability=value parameter value=current"),
        **{"parameter": str(found.parameter), "slope": found.derivative(), "at_zero": found(0.0), "at_one": found(1.0)},
        **picked(found, "a b c d"),
        **({} if solve is None else {"solve": {"probability": solve, "value": solution}}),
    }
    lines = _lines(found, f"P({found.event}{' | evidence' if findings else ''})", solve, solution)
    save_plot(plot, found.plot)
    print_answer("\n".join(lines), document, as_json=as_json)
    return int(solve is not None and solution is None)


def _lines(found: SensitivityFunction, event: str, wanted: float | None, solution: float | None) -> list[str]:
    lines = [f"{event} = {found.value:.6g} at {found.parameter} = {found.current:.6g}"]
    if found.is_constant:
        lines.append(f"{found.parameter} does not matter: {event} is the same whatever it is")
    else:
        a, b, c, d = (f"{number:.6g}" for number in (found.a, found.b, found.c, found.d))
        lines += [
            f"slope       {found.derivative():.6g}",
            f"from 0 to 1 {event} goes from {found(0.0):.6g} to {found(1.0):.6g}",
            f"formula     ({a} x + {b}) / ({c} x + {d}), where x is {found.parameter}".replace("+ -", "- "),
        ]
    if wanted is None:
        return lines
    lowest, highest = found.range()
    where = f"no value: from 0 to 1 it can only be {lowest:.6g} to {highest:.6g}"
    if solution is not None:
        where = f"{found.parameter} = {solution:.6g}"
    elif found.is_constant:
        where = "no value: another parameter would have to change; see plausible tornado"
    return [*lines, f"{event} = {wanted:g} at {where}"]


#: Signs of the longest bar on both sides together.
_WIDTH = 24


@command(
    examples=(
        "plausible tornado asia lung=yes --evidence xray=yes",
        "plausible tornado asia lung=yes --evidence xray=yes --vary odds --amount 1 --limit 5",
        "plausible tornado asia lung=yes --evidence xray=yes -o tornado.svg",
    ),
    notes=(SYNTAX,),
)
def run_tornado(
    model: ModelSource,
    event: EventText,
    evidence: EvidenceTexts = None,
    vary: Annotated[str, option("What --amount is a share of: relative, absolute or odds.")] = "relative",
    amount: Annotated[float, option("By how much each parameter is lowered and raised.")] = 0.1,
    limit: Annotated[int, option("How many parameters are listed.", min=1)] = 10,
    plot: PlotOutput = None,
    as_json: AsJson = False,
) -> None:
    """List the parameters that an answer depends on most.

    Each parameter of the network, a number of a conditional table, is lowered and raised by itself, the rest of its row
    kept in proportion; those that move P(event | evidence) most come first. In the bars, - is where the probability
    goes as the parameter is lowered, + as it is raised, and | is where it is now.
    """
    check_plot(plot)
    network = read_bayesian(model, _WHY)
    found = network.sensitivities(*_event(event, network), read_findings(evidence, network))
    bars = tornado(found, cast("Variation", vary), amount, limit)
    bars = bars[bars["swing"] > 0]
    save_plot(plot, lambda: plot_tornado(bars))
    title = f"P({found.event}{' | evidence' if evidence else ''}) = {found.probability:.6g}"
    total = sum(family.table.size for family in found.families.values())
    rows = [{**row, "parameter": str(row["parameter"])} for row in bars.to_dict("records")]
    document = {"event": str(found.event), "probability": found.probability, "parameters": total, "tornado": rows}
    text = f"{title}, whatever the parameters are: the evidence decides it, or nothing else can change it"
    if rows:
        by = {"absolute": f"{amount:g}", "relative": f"{amount:.4g} of itself"}
        varied = by.get(vary, f"a factor of {1 + amount:g} of its odds")
        text = f"{title}; each of {counted(total, 'parameter')} varied by {varied}\n{_drawn(bars, found.probability)}"
    print_answer(text, document, as_json=as_json)


def _drawn(bars: pd.DataFrame, now: float) -> str:
    """A table, with a bar at the end of each row."""
    numbers = ["value", "at_low", "at_high"]
    rows = [tuple(f"{number:.4g}" for number in row) for row in bars[numbers].to_numpy()]
    names = [str(parameter) for parameter in bars["parameter"]]
    header = ("parameter", *(name.replace("_", " ") for name in numbers))
    table = str(TextTable(header, tuple((name, *row) for name, row in zip(names, rows, strict=True)), 1)).splitlines()
    ends = bars[["at_low", "at_high"]].to_numpy()
    scale = _WIDTH / (max(now, ends.max()) - min(now, ends.min()))
    left = round((now - min(now, ends.min())) * scale)
    signs = ["", "", *(_bar((at_low - now) * scale, (at_high - now) * scale, left) for at_low, at_high in ends)]
    return "\n".join(f"{line}  {sign}".rstrip() for line, sign in zip_longest(table, signs, fillvalue=""))


def _bar(low: float, high: float, left: int) -> str:
    """How far a probability goes down and up, in signs, and with how much room at the left."""
    down, up = ("-" * round(-low), "+" * round(high)) if low <= high else ("+" * round(-high), "-" * round(low))
    return f"{down.rjust(left)}|{up}"
