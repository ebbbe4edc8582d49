"""Events and parameters as the command line writes them: `lung=yes`, and `P(xray=yes | either=no)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from plausible.cli.evidence import split_finding, state_of
from plausible.cli.quoting import Sign, parts, plain, read_signs
from plausible.cli.source import read_network
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import State

__all__ = ["EventText", "ShellParameter", "read_bayesian", "read_event", "read_parameter"]

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
