"""What an answer hangs on: `plausible sensitivity` (one parameter) and `tornado` (those that matter most)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from plausible.base.display import TextTable
from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, EvidenceTexts, read_findings, split_finding, state_of
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.quoting import Sign, parts, plain, read_signs
from plausible.cli.source import ModelSource, read_network
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, counted
from plausible.inference.sensitivity.functions import SensitivityFunction
from plausible.inference.sensitivity.tornado import Variation, tornado
from plausible.models import BayesianNetwork
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd


EventText = Annotated[
    str, typer.Argument(metavar="EVENT", help="Whose probability is asked for, such as lung=yes.", show_default=False)
]

_AS_PROBABILITY = re.compile(r"\s*[Pp]\s*\((.*)\)\s*", re.DOTALL)


class ShellParameter(NamedTuple):
    """One number of a table, as `parameter=` of a network's methods takes it."""

    child: str
    given: dict[str, State]
    state: State


def read_bayesian(source: str) -> BayesianNetwork:
    """The network, which must have conditional tables."""
    model = read_network(source)
    if not isinstance(model, BayesianNetwork):
        raise NotSupported(f"{source!r} is a Markov network: the parameters asked about are those of a Bayesian one.")
    return model


def read_event(text: str, network: BayesianNetwork) -> tuple[str, State]:
    """The variable and the state that a text such as lung=yes names."""
    if plain(read_signs(text)) in network.variables:
        states = " or ".join(f"{text}={state}" for state in network.variables[plain(read_signs(text))].states)
        raise InvalidArgument(f"Say which state of {text!r} is asked about: {states or 'one of a discrete variable'}.")
    terms = _states(read_signs(text), network)
    if len(terms) != 1:
        raise InvalidArgument(f"{text!r} is not one event: write one state of one variable, such as lung=yes.")
    return next(iter(terms.items()))


def read_parameter(text: str, network: BayesianNetwork) -> ShellParameter:
    """The number that a text such as P(xray=yes | either=no) names; P and its brackets may be left out."""
    whole = _AS_PROBABILITY.fullmatch(text)
    child, *given = parts(read_signs(whole[1] if whole else text), "|")
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
    return ShellParameter(name, states, state)


def _states(signs: Sequence[Sign], network: BayesianNetwork) -> dict[str, State]:
    """Name -> state, of terms such as A=a that commas separate."""
    found: dict[str, State] = {}
    for piece in parts(signs, ","):
        name, operator, value = split_finding(piece)
        if name not in network.variables:
            raise UnknownVariable.named(name, network.variables, "this network")
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
    parameter: Annotated[
        str,
        typer.Argument(help="A number of a table, such as 'P(xray=yes | either=no)'.", show_default=False),
    ],
    evidence: EvidenceTexts = None,
    solve: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Find the parameter that makes P(event | evidence) so large.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show how an answer depends on one parameter of the model.

    P(event | evidence) is (a x + b) / (c x + d), where x is the parameter and the rest of its row is kept in
    proportion. The slope tells how many times as large an error in x comes out. If no x gives the probability of
    --solve, what can be had is printed and the exit code is 1.
    """
    network = read_bayesian(model)
    target, state = read_event(event, network)
    findings = read_findings(evidence, network)
    found = network.sensitivity(target, state, findings, parameter=read_parameter(parameter, network))
    solution = None if solve is None else found.solve(solve)
    if as_json:
        solved = {} if solve is None else {"solve": {"probability": solve, "value": solution}}
        print_json({**_document(found), **solved})
    else:
        event_text = f"P({found.event}{' | evidence' if findings else ''})"
        print_line("\n".join(_lines(found, event_text)))
        if solve is not None:
            print_line(_solved(found, event_text, solve, solution))
    return int(solve is not None and solution is None)


def _document(found: SensitivityFunction) -> dict[str, Any]:
    return {
        "event": found.event,
        "probability": found.value,
        "parameter": str(found.parameter),
        "value": found.current,
        "slope": found.derivative(),
        "at_zero": found(0.0),
        "at_one": found(1.0),
        **{name: getattr(found, name) for name in ("a", "b", "c", "d")},
    }


def _lines(found: SensitivityFunction, event: str) -> list[str]:
    now = f"{event} = {found.value:.6g} at {found.parameter} = {found.current:.6g}"
    if found.is_constant:
        return [now, f"{found.parameter} does not matter: {event} is the same whatever it is"]
    a, b, c, d = (f"{number:.6g}" for number in (found.a, found.b, found.c, found.d))
    return [
        now,
        f"slope       {found.derivative():.6g}",
        f"from 0 to 1 {event} goes from {found(0.0):.6g} to {found(1.0):.6g}",
        f"formula     ({a} x + {b}) / ({c} x + {d}), where x is {found.parameter}".replace("+ -", "- "),
    ]


def _solved(found: SensitivityFunction, event: str, wanted: float, solution: float | None) -> str:
    if solution is not None:
        return f"{event} = {wanted:g} at {found.parameter} = {solution:.6g}"
    lowest, highest = found.range()
    if found.is_constant:
        return f"{event} = {wanted:g} at no value: another parameter would have to change; see plausible tornado"
    return f"{event} = {wanted:g} at no value: from 0 to 1 it can only be {lowest:.6g} to {highest:.6g}"


#: Signs of the longest bar on both sides together.
_WIDTH = 24


@command(
    examples=(
        "plausible tornado asia lung=yes --evidence xray=yes",
        "plausible tornado asia lung=yes --evidence xray=yes --vary odds --amount 1 --limit 5",
    ),
    notes=(SYNTAX,),
)
def run_tornado(
    model: ModelSource,
    event: EventText,
    evidence: EvidenceTexts = None,
    vary: Annotated[str, typer.Option(help="What --amount is a share of: relative, absolute or odds.")] = "relative",
    amount: Annotated[float, typer.Option(help="By how much each parameter is lowered and raised.")] = 0.1,
    limit: Annotated[int, typer.Option(min=1, help="How many parameters are listed.")] = 10,
    as_json: AsJson = False,
) -> None:
    """List the parameters that an answer depends on most.

    Each parameter of the network, a number of a conditional table, is lowered and raised by itself, the rest of its row
    kept in proportion; those that move P(event | evidence) most come first. In the bars, - is where the probability
    goes as the parameter is lowered, + as it is raised, and | is where it is now.
    """
    network = read_bayesian(model)
    found = network.sensitivities(*read_event(event, network), read_findings(evidence, network))
    bars = tornado(found, cast("Variation", vary), amount, limit)
    bars = bars[bars["swing"] > 0]
    title = f"P({found.event}{' | evidence' if evidence else ''}) = {found.probability:.6g}"
    total = sum(family.table.size for family in found.families.values())
    if as_json:
        rows = [{**row, "parameter": str(row["parameter"])} for row in bars.to_dict("records")]
        told: dict[str, Any] = {"event": str(found.event), "probability": found.probability, "parameters": total}
        print_json({**told, "tornado": rows})
    elif bars.empty:
        print_line(f"{title}, whatever the parameters are: the evidence decides it, or nothing else can change it")
    else:
        print_line(f"{title}; each of {counted(total, 'parameter')} varied by {_told(vary, amount)}")
        print_line("\n".join(_drawn(bars, found.probability)))


def _told(vary: str, amount: float) -> str:
    if vary == "absolute":
        return f"{amount:g}"
    return f"{amount:.4g} of itself" if vary == "relative" else f"a factor of {1 + amount:g} of its odds"


def _drawn(bars: pd.DataFrame, now: float) -> list[str]:
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
    return [f"{line}  {sign}".rstrip() for line, sign in zip(table, signs, strict=False)] + table[len(signs) :]


def _bar(low: float, high: float, left: int) -> str:
    """How far a probability goes down and up, in signs, and with how much room at the left.

    >>> _bar(-2.0, 3.0, 4)
    '  --|+++'
    >>> _bar(1.2, -3.0, 4)
    ' +++|-'
    """
    down, up = ("-" * round(-low), "+" * round(high)) if low <= high else ("+" * round(-high), "-" * round(low))
    return f"{down.rjust(left)}|{up}"
