"""NET, the language in which Hugin and programs like it keep networks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.io.formats import Contents, Format, Model, contents, table_of
from plausible.io.hugin_gaussians import normal_texts
from plausible.io.hugin_parser import legal, parse_hugin
from plausible.io.identifiers import stand_ins, state_stand_ins
from plausible.models import Notes, VariableNotes
from plausible.variables import Variable

#: Fields of the language whose values are no strings; other properties are written as strings.
_UNQUOTED: Final = frozenset(("node_size", "subtype", "state_values"))
_UNQUOTED_VALUE: Final = re.compile(r"\w+|\([-+.\w\s]*\)")
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN: Final = frozenset(("name", "reference", "label", "position", "states", "HR_Desc", "data"))


def format_hugin(model: Model) -> str:
    """The NET text of a Bayesian network or an influence diagram.

    Discrete and conditional Gaussian distributions can be written; those of other kinds as their tables.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.models import BayesianNetwork
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
    parts = contents(model, "NET")
    names = dict(zip(parts.nodes, stand_ins(parts.nodes, legal), strict=True))
    lines = list(_block("net", _network_fields(parts.notes)))
    for name, written in names.items():
        notes = parts.notes.of(name)
        fields = [*_state_fields(parts.variables.get(name)), *_node_fields(name, written, notes)]
        lines += _block(f"{_kind(parts, name)} {written}", fields)
    for name, written in names.items():
        parents = parts.parents(name)
        given = f" | {' '.join(names[parent] for parent in parents)}" if parents else ""
        lines += _block(f"potential ( {written}{given} )", _potential_fields(parts, name, names))
    return "\n".join((*lines, ""))


def _kind(parts: Contents, name: str) -> str:
    if name in parts.utilities or name in parts.decisions:
        return "utility" if name in parts.utilities else "decision"
    return "continuous node" if parts.variables[name].is_continuous else "node"


def _block(head: str, fields: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield head
    yield "{"
    for field in fields:
        yield f"  {field};"
    yield "}"


def _network_fields(notes: Notes) -> Iterator[str]:
    for key, text in (("name", notes.name), ("HR_Desc", notes.description), ("reference", notes.reference)):
        if text:
            yield f"{key} = {_string(text)}"
    yield from _property_fields(notes.properties)


def _state_fields(variable: Variable | None) -> Iterator[str]:
    """The states of a node, if it has any."""
    if variable is None or variable.is_continuous:
        return
    texts, listed = state_stand_ins(variable, str)
    yield f"states = ({' '.join(map(_string, texts))})"
    if listed is not None:
        yield f"plausible_states = {_string(listed)}"


def _node_fields(name: str, written: str, notes: VariableNotes) -> Iterator[str]:
    for key, text in (("label", notes.label), ("HR_Desc", notes.description)):
        if text:
            yield f"{key} = {_string(text)}"
    if notes.position is not None:
        # The language has whole numbers here, and programs that insist on them.
        yield "position = ({} {})".format(*map(round, notes.position))
        if not all(float(coordinate).is_integer() for coordinate in notes.position):
            yield "plausible_position = ({!r} {!r})".format(*map(float, notes.position))
    if written != name:
        yield f"plausible_name = {_string(name)}"
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


def _potential_fields(parts: Contents, name: str, names: Mapping[str, str]) -> list[str]:
    """The table of a distribution or a utility; a decision has none."""
    if name in parts.decisions:
        return []
    if name not in parts.utilities:
        return [f"data = {_data(parts.cpds[name], names)}"]
    return [f"data = {_table(parts.utilities[name].values)}"]


def _data(cpd: CPD, names: Mapping[str, str]) -> str:
    """The numbers in nested lists, a list for each parent's states."""
    if cpd.variable.is_continuous:
        texts, sizes = normal_texts(cpd, names)
        return _nested(texts, sizes) if sizes else f"({texts[0]})"
    return _table(table_of(cpd, "NET").values)


def _table(values: Floats) -> str:
    """The numbers in nested lists; a single one in a list of its own."""
    shape = values.shape or (1,)
    rows = values.reshape(-1, shape[-1]).tolist()
    return _nested([f"({' '.join(map(repr, row))})" for row in rows], shape[:-1])


def _nested(texts: list[str], sizes: Sequence[int]) -> str:
    for size in reversed(sizes):
        groups = (texts[i : i + size] for i in range(0, len(texts), size))
        texts = ["(" + "\n    ".join(group) + ")" for group in groups]
    return texts[0]


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


FORMAT = Format("NET", (".net", ".hugin", ".oobn"), parse_hugin, format_hugin)
