"""Writing BIF: a row for each assignment to the parents, the first parent's state changing fastest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product

from plausible.cpds import TableCPD
from plausible.io.bif_words import PLACEHOLDER, PROPERTIES, legal, legal_state, quotable, safe_json
from plausible.io.formats import Model, discrete_network, table_of
from plausible.io.identifiers import stand_ins, state_stand_ins
from plausible.io.property_texts import network_texts, variable_texts
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["format_bif"]


def format_bif(model: Model) -> str:
    """The BIF text of a discrete Bayesian network; CPDs of other kinds are written as their tables.

    >>> from plausible.cpds import TableCPD
    >>> print(format_bif(BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails up"]))))
    network unknown {
    }
    variable coin {
      type discrete [ 2 ] { heads, tails_up };
      property plausible_states = ["heads", "tails up"];
    }
    probability ( coin ) {
      table 0.5, 0.5;
    }
    <BLANKLINE>
    """
    network = discrete_network(model, "BIF")
    written = dict(zip(network.variables, stand_ins(list(network.variables), legal), strict=True))
    states: dict[str, list[str]] = {}
    lines = list(_network_lines(network))
    for name, variable in network.variables.items():
        lines += _variable_lines(network, variable, written[name], states)
    for cpd in network.cpds.values():
        lines += _probability_lines(table_of(cpd, "BIF"), written, states)
    return "\n".join((*lines, ""))


def _network_lines(network: BayesianNetwork) -> Iterator[str]:
    name = quotable(network.notes.name)
    written = name if legal(name) == name != PLACEHOLDER else f'"{name}"'
    yield f"network {written if name else PLACEHOLDER} {{"
    for line in network_texts(network.notes, name, PROPERTIES):
        yield f"  property {line};"
    yield "}"


def _variable_lines(
    network: BayesianNetwork, variable: Variable, written: str, states: dict[str, list[str]]
) -> Iterator[str]:
    """The block of a variable; its states as written are put into `states`."""
    states[variable.name], listed = state_stand_ins(variable, legal_state)
    yield f"variable {written} {{"
    yield f"  type discrete [ {variable.num_states} ] {{ {', '.join(states[variable.name])} }};"
    if written != variable.name:
        yield f"  property plausible_name = {safe_json(json.dumps(variable.name))};"
    if listed is not None:
        yield f"  property plausible_states = {safe_json(listed)};"
    for line in variable_texts(network.notes.of(variable.name), PROPERTIES):
        yield f"  property {line};"
    yield "}"


def _probability_lines(cpd: TableCPD, written: Mapping[str, str], states: Mapping[str, list[str]]) -> Iterator[str]:
    child = written[cpd.variable.name]
    parents = [written[name] for name in cpd.parent_names]
    yield f"probability ( {child}{' | ' if parents else ''}{', '.join(parents)} ) {{"
    last = len(parents)
    rows = cpd.values.transpose(*range(last - 1, -1, -1), last).reshape(-1, cpd.variable.num_states)
    if not parents:
        yield f"  table {_numbers(rows[0].tolist())};"
    else:
        configurations = product(*(states[name] for name in reversed(cpd.parent_names)))
        for configuration, row in zip(configurations, rows.tolist(), strict=True):
            yield f"  ({', '.join(configuration[::-1])}) {_numbers(row)};"
    yield "}"


def _numbers(row: list[float]) -> str:
    return ", ".join(map(repr, row))
