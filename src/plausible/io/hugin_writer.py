"""Writing Hugin's NET files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from plausible.cpds import CPD
from plausible.io.formats import Model, bayesian_network, table_of
from plausible.io.hugin_gaussians import normal_texts
from plausible.io.hugin_parser import legal
from plausible.io.identifiers import stand_ins, state_stand_ins
from plausible.models import BayesianNetwork, VariableNotes
from plausible.variables import Variable

__all__ = ["format_hugin"]

#: Fields of the language whose values are no strings; other properties are written as strings.
_UNQUOTED: Final = frozenset(("node_size", "subtype", "state_values"))
_UNQUOTED_VALUE: Final = re.compile(r"\w+|\([-+.\w\s]*\)")
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN: Final = frozenset(("name", "reference", "label", "position", "states", "HR_Desc", "data"))


def format_hugin(model: Model) -> str:
    """The NET text of a Bayesian network, discrete or conditional Gaussian; other CPDs are written as their tables.

    >>> from plausible.cpds import TableCPD
    >>> print(format_hugin(BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))))
    net
    {
    }
    node coin
    {
      states = ("heads" "tails");
    }
    potential ( coin )
    {
      data = (0.5 0.5);
    }
    <BLANKLINE>
    """
    network = bayesian_network(model, "NET")
    names = dict(zip(network.variables, stand_ins(list(network.variables), legal), strict=True))
    lines = list(_block("net", _network_fields(network)))
    for name, variable in network.variables.items():
        head = f"{'continuous ' if variable.is_continuous else ''}node {names[name]}"
        lines += _block(head, _node_fields(variable, names[name], network.notes.of(name)))
    for cpd in network.cpds.values():
        given = f" | {' '.join(names[parent] for parent in cpd.parent_names)}" if cpd.parent_names else ""
        lines += _block(f"potential ( {names[cpd.variable.name]}{given} )", [f"data = {_data(cpd, names)}"])
    return "\n".join((*lines, ""))


def _block(head: str, fields: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield head
    yield "{"
    for field in fields:
        yield f"  {field};"
    yield "}"


def _network_fields(network: BayesianNetwork) -> Iterator[str]:
    notes = network.notes
    for key, text in (("name", notes.name), ("HR_Desc", notes.description), ("reference", notes.reference)):
        if text:
            yield f"{key} = {_string(text)}"
    yield from _property_fields(notes.properties)


def _node_fields(variable: Variable, written: str, notes: VariableNotes) -> Iterator[str]:
    texts, listed = ([], None) if variable.is_continuous else state_stand_ins(variable, str)
    if texts:
        yield f"states = ({' '.join(map(_string, texts))})"
    for key, text in (("label", notes.label), ("HR_Desc", notes.description)):
        if text:
            yield f"{key} = {_string(text)}"
    if notes.position is not None:
        # The language has whole numbers here, and programs that insist on them.
        yield "position = ({} {})".format(*map(round, notes.position))
        if not all(float(coordinate).is_integer() for coordinate in notes.position):
            yield "plausible_position = ({!r} {!r})".format(*map(float, notes.position))
    if written != variable.name:
        yield f"plausible_name = {_string(variable.name)}"
    if listed is not None:
        yield f"plausible_states = {_string(listed)}"
    yield from _property_fields(notes.properties)


def _property_fields(properties: Mapping[str, str]) -> Iterator[str]:
    exact = {}
    for key, value in properties.items():
        if key in _UNQUOTED and _UNQUOTED_VALUE.fullmatch(value):
            yield f"{key} = {value}"
        elif _FIELD.fullmatch(key) and key not in _TAKEN and not key.startswith("plausible_"):
            yield f"{key} = {_string(value)}"
        else:
            exact[key] = value
    if exact:
        yield f"plausible_properties = {_string(json.dumps(exact))}"


def _data(cpd: CPD, names: Mapping[str, str]) -> str:
    """The numbers in nested lists, a list for each parent's states."""
    if cpd.variable.is_continuous:
        texts, sizes = normal_texts(cpd, names)
        return _nested(texts, sizes) if sizes else f"({texts[0]})"
    table = table_of(cpd, "NET")
    rows = table.values.reshape(-1, cpd.variable.num_states).tolist()
    return _nested([f"({' '.join(map(repr, row))})" for row in rows], table.values.shape[:-1])


def _nested(texts: list[str], sizes: Sequence[int]) -> str:
    for size in reversed(sizes):
        groups = (texts[i : i + size] for i in range(0, len(texts), size))
        texts = ["(" + "\n    ".join(group) + ")" for group in groups]
    return texts[0]


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
