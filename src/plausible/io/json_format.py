"""The library's own format: JSON that keeps everything.

    {"format": "plausible", "version": 1, "kind": "bayesian-network",
     "name": "...", "description": "...", "reference": "...", "properties": {"key": "text"},
     "variables": [{"name": "rain", "states": ["no", "yes"], "label": "...", "position": [10, 20]},
                   {"name": "height", "continuous": true}],
     "inputs": [],
     "distributions": [{"variable": "rain", "parents": [], "kind": "table", "values": [0.8, 0.2]}]}

A distribution has the fields of its kind, see `CPD.to_record`; tables are numbers in a row, the child's state changing
fastest. A `"markov-network"` has `"factors": [{"scope": ["A", "B"], "values": [...]}]` instead, the last variable's
state changing fastest. Models in time and relational models have the fields of their records, see
`SequenceModel.to_record`, in the place of variables. An `"influence-diagram"` has no inputs, but `"decisions":
[{"variable": "umbrella", "sees": ["forecast"]}]` and `"utilities": [{"name": "comfort", "parents": ["rain",
"umbrella"], "values": [...]}]`. States are text, numbers, truth values, null, or lists of these, which stand for
tuples. Fields that are not known are errors, so that nothing is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.cpds import CPD, KINDS, LinearGaussianCPD, TableCPD
from plausible.cpds.reading import Rounding
from plausible.decisions import InfluenceDiagram
from plausible.errors import NotRepresentable, PlausibleError, suggestion
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.io.assembly import Assembly
from plausible.io.formats import AnyModel, Format, check_model, from_plain, to_plain
from plausible.io.json_values import JSONValue, parse_values
from plausible.models import (
    BayesianNetwork,
    MarkovNetwork,
    Notes,
    PlateModel,
    RelationalMarkovNetwork,
    RelationalModel,
    VariableNotes,
)
from plausible.models.sequences.kinds import SEQUENCE_KINDS
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.variables import State, Variable

#: A factor may be over this many variables.
MAX_SCOPE = 256
#: The version that is written, and the only one that is read.
VERSION = 1

_BAYESIAN, _MARKOV, _DIAGRAM = "bayesian-network", "markov-network", "influence-diagram"
#: Kind of model -> the fields that it must have beside variables, and those that it may have.
_PARTS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    _BAYESIAN: (("distributions",), ("inputs",)),
    _MARKOV: (("factors",), ()),
    _DIAGRAM: (("distributions", "decisions", "utilities"), ()),
}
#: Models whose fields are those of their records.
Recorded: TypeAlias = SequenceModel | RelationalModel | PlateModel | RelationalMarkovNetwork
_RECORDED: Final[Mapping[str, type[Recorded]]] = {
    **SEQUENCE_KINDS,
    RelationalModel.kind: RelationalModel,
    PlateModel.kind: PlateModel,
    RelationalMarkovNetwork.kind: RelationalMarkovNetwork,
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOTES = ("name", "description", "reference", "properties")
_NODE_NOTES = ("label", "description", "position", "properties")


def parse_json(text: str, *, lenient: bool = False) -> AnyModel:
    """The model in a text of the library's own format; `lenient` as for `load`.

    >>> parse_json('''{"format": "plausible", "version": 1, "kind": "bayesian-network",
    ...   "variables": [{"name": "coin", "states": [false, true]}],
    ...   "distributions": [{"variable": "coin", "kind": "table", "values": [0.5, 0.5]}]}''')
    <BayesianNetwork: 1 variable, 0 edges, 1 parameter>
    """
    root = parse_values(text)
    kind = _kind(root)
    if kind in _RECORDED:
        return _recorded_model(root, _RECORDED[kind])
    required, optional = _PARTS[kind]
    fields = root.fields(("format", "version", "kind", "variables", *required), (*_NOTES, *optional))
    if kind == _MARKOV:
        return _markov_network(fields)
    assembly = Assembly(lenient, notes=_network_notes(fields))
    for value in fields["variables"].items():
        name, states, notes = _read_variable(value)
        assembly.add_variable(name, states, value.place, notes)
    return _bayesian_network(fields, assembly) if kind == _BAYESIAN else _influence_diagram(fields, assembly)


def _kind(root: JSONValue) -> str:
    """The kind of model, once it is sure that the file is of this format."""
    head = root.fields((), None)
    if "format" not in head or head["format"].value != "plausible":
        raise root.error('This is another kind of JSON: expected "format": "plausible".')
    version = head.get("version", root)
    if type(version.value) is not int or version.value != VERSION:
        found = f"This file has version {version.value}" if type(version.value) is int else "This file has no version"
        raise version.error(f"{found}; version {VERSION} can be read.")
    kind = head.get("kind", root)
    known = (*_PARTS, *_RECORDED)
    if not isinstance(kind.value, str) or kind.value not in known:
        hint = suggestion(kind.value, known) if isinstance(kind.value, str) else ""
        raise kind.error(f'Expected "kind": {", ".join(map(json.dumps, known))}.{hint}')
    return str(kind.value)


def _recorded_model(root: JSONValue, kind: type[Recorded]) -> Recorded:
    fields = {key: part for key, part in root.fields((), None).items() if key not in ("format", "version", "kind")}
    try:
        model = kind.from_record({key: part.value for key, part in fields.items()})
    except (PlausibleError, TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise root.error(f"The fields don't make a model of the kind {kind.kind!r}: {error}") from None
    known = model.to_record()
    for key, part in fields.items():
        if key not in known:
            raise part.error(f"{key!r} is not a field of the kind {kind.kind!r}.{suggestion(key, known)}")
    return model


def _read_variable(value: JSONValue) -> tuple[str, list[State] | None, VariableNotes]:
    """Name, states (None where it is continuous) and notes of a variable."""
    fields = value.fields(("name",), ("states", "continuous", *_NODE_NOTES))
    name = fields["name"].text()
    is_continuous = "continuous" in fields and fields["continuous"].value is True
    if is_continuous == ("states" in fields):
        raise value.error(f'{name!r} needs either "states": [...] or "continuous": true.')
    states = None if is_continuous else [_state(item) for item in fields["states"].items()]
    return name, states, _read_notes(fields)


def _state(item: JSONValue) -> State:
    try:
        return from_plain(item.value)
    except (TypeError, RecursionError):
        raise item.error("A state is text, a number, true, false, null, or a list of these.") from None


def _read_notes(fields: Mapping[str, JSONValue]) -> VariableNotes:
    """The notes among the fields of a variable or a utility."""
    texts = {key: fields[key].text() for key in ("label", "description") if key in fields}
    position = None
    if "position" in fields:
        coordinates = _numbers(fields["position"])
        if coordinates.size != 2 or not np.isfinite(coordinates).all():
            raise fields["position"].error("A position is a list of two numbers.")
        position = float(coordinates[0]), float(coordinates[1])
    properties = fields["properties"].texts() if "properties" in fields else {}
    return VariableNotes(**texts, position=position, properties=properties)


def _numbers(value: JSONValue) -> Floats:
    """A list of numbers, without lists inside."""
    if not isinstance(value.value, list) or not set(map(type, value.value)) <= {int, float}:
        for item in value.items():
            item.check_number()
    try:
        return np.array(value.value, dtype=np.float64)
    except OverflowError:
        raise value.error("A number is too large.") from None


def _listed(fields: Mapping[str, JSONValue], key: str) -> list[JSONValue]:
    """The items of a list that may be left out."""
    return fields[key].items() if key in fields else []


def _influence_diagram(fields: Mapping[str, JSONValue], assembly: Assembly) -> InfluenceDiagram:
    for value in fields["decisions"].items():
        parts = value.fields(("variable",), ("sees",))
        name = parts["variable"].text()
        assembly.make_decision(name, parts["variable"].place)
        assembly.add_information(name, [item.text() for item in _listed(parts, "sees")], value.place)
    for value in fields["utilities"].items():
        parts = value.fields(("name", "values"), ("parents", *_NODE_NOTES))
        name = parts["name"].text()
        assembly.add_utility(name, value.place, _read_notes(parts))
        parents = [item.text() for item in _listed(parts, "parents")]
        assembly.add_utility_values(name, parents, _numbers(parts["values"]), parts["values"].place)
    for value in fields["distributions"].items():
        _add_distribution(assembly, value)
    return assembly.diagram()


def _bayesian_network(fields: Mapping[str, JSONValue], assembly: Assembly) -> BayesianNetwork:
    inputs: dict[str, JSONValue] = {}
    for value in _listed(fields, "inputs"):
        name = assembly.variable(value.text(), value.place).name
        if name in inputs:
            raise value.error(f"{name!r} is listed twice.")
        inputs[name] = value
    for value in fields["distributions"].items():
        child = _add_distribution(assembly, value)
        if child in inputs:
            raise value.error(f"{child!r} is an input, and has a distribution.")
    for name, value in inputs.items():
        assembly.add_distribution(name, (), _any_distribution, value.place)
    network = assembly.network()
    if not inputs:
        return network
    cpds = [cpd for name, cpd in network.cpds.items() if name not in inputs]
    return BayesianNetwork(*cpds, inputs=[network.variables[name] for name in inputs], notes=network.notes)


def _any_distribution(variable: Variable, parents: tuple[Variable, ...]) -> tuple[CPD, None]:
    """Stands in for that of an input until the network is put together."""
    if variable.is_continuous:
        return LinearGaussianCPD(variable, 0.0, [], 1.0, ()), None
    return TableCPD.uniform(variable), None


def _add_distribution(assembly: Assembly, value: JSONValue) -> str:
    fields = value.fields(("variable", "kind"), None)
    kind = fields["kind"].text()
    if kind not in KINDS:
        raise fields["kind"].error(f"{kind!r} is not a kind of distribution.{suggestion(kind, KINDS)}")
    child = assembly.variable(fields["variable"].text(), fields["variable"].place).name
    names = [assembly.parents(child, [parent.text()], parent.place)[0].name for parent in _listed(fields, "parents")]
    record = {key: part for key, part in fields.items() if key not in ("variable", "kind", "parents")}
    for key, part in record.items():
        if key in KINDS[kind].text_fields:
            part.text()
        else:
            part.check_record()

    def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
        try:
            cpd = KINDS[kind].from_record(variable, given, {key: part.value for key, part in record.items()})
        except PlausibleError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise value.error(f"The fields don't make a distribution of the kind {kind!r} ({error}).") from None
        known = cpd.to_record()
        for key, part in record.items():
            if key not in known:
                raise part.error(f"{key!r} is not a field of the kind {kind!r}.{suggestion(key, known)}")
        return cpd, None

    if kind == TableCPD.kind and record.keys() == {"values"}:
        assembly.add_table(child, names, _numbers(record["values"]), record["values"].place)
    else:
        assembly.add_distribution(child, names, make, value.place)
    return child


def _markov_network(fields: Mapping[str, JSONValue]) -> MarkovNetwork:
    variables: dict[str, Variable] = {}
    notes: dict[str, VariableNotes] = {}
    for value in fields["variables"].items():
        name, states, on_variable = _read_variable(value)
        if name in variables or states is None:
            raise value.error(f"{name!r} {'is declared twice' if name in variables else 'needs states'}.")
        try:
            variables[name] = Variable(name, states)
        except PlausibleError as error:
            raise value.error(str(error)) from None
        notes |= {} if on_variable == VariableNotes() else {name: on_variable}
    factors = [_factor(value, variables) for value in fields["factors"].items()]
    return MarkovNetwork(*factors, variables=variables.values(), notes=replace(_network_notes(fields), variables=notes))


def _factor(value: JSONValue, variables: Mapping[str, Variable]) -> Factor:
    fields = value.fields(("scope", "values"), ())
    scope: dict[str, Variable] = {}
    for item in fields["scope"].items():
        name = item.text()
        if name not in variables or name in scope:
            undeclared = f"is not declared.{suggestion(name, variables)}"
            raise item.error(f"{name!r} {'stands twice in this scope.' if name in scope else undeclared}")
        scope[name] = variables[name]
    if len(scope) > MAX_SCOPE:
        raise fields["scope"].error(f"A factor over {len(scope)} variables is not read: the limit is {MAX_SCOPE}.")
    values = _numbers(fields["values"])
    if values.size != num_entries(scope.values()):
        raise fields["values"].error(f"Expected {num_entries(scope.values())} numbers, found {values.size}.")
    if not (values.min() >= 0 and values.max() < np.inf):
        number = int(np.argmin((values >= 0) & (values < np.inf)))
        raise fields["values"].items()[number].error(f"{values[number]:g} is negative or not finite.")
    return Factor.from_flat(scope.values(), values)


def _network_notes(fields: Mapping[str, JSONValue]) -> Notes:
    texts = {key: fields[key].text() for key in ("name", "description", "reference") if key in fields}
    properties = fields["properties"].texts() if "properties" in fields else {}
    return Notes(texts.get("name", ""), texts.get("description", ""), texts.get("reference", ""), properties)


def format_json(model: AnyModel) -> str:
    """A model in the library's own format, which keeps every kind of distribution, states, inputs and notes.

    >>> print(format_json(BayesianNetwork(TableCPD("coin", [0.5, 0.5]))))
    {"format": "plausible", "version": 1, "kind": "bayesian-network",
    "variables": [
    {"name": "coin", "states": [0, 1]}
    ],
    "distributions": [
    {"variable": "coin", "parents": [], "kind": "table", "values": [0.5, 0.5]}
    ]}
    <BLANKLINE>
    """
    check_model(model)
    if isinstance(model, SequenceModel | RelationalModel | PlateModel | RelationalMarkovNetwork):
        return _text({"format": "plausible", "version": VERSION, "kind": model.kind, **model.to_record()}, {})
    kind = _BAYESIAN if isinstance(model, BayesianNetwork) else _MARKOV
    kind = _DIAGRAM if isinstance(model, InfluenceDiagram) else kind
    notes, blocks = model.notes, dict[str, list[Any]]()
    head: dict[str, Any] = {"format": "plausible", "version": VERSION, "kind": kind}
    texts = {key: getattr(notes, key) for key in ("name", "description", "reference")}
    head |= _said(**texts, properties=dict(notes.properties))
    blocks["variables"] = [
        {
            "name": name,
            **({} if one.is_continuous else {"states": [to_plain(state, name) for state in one.states]}),
            **_said(continuous=one.is_continuous, **_note_fields(notes.of(name))),
        }
        for name, one in model.variables.items()
    ]
    if isinstance(model, BayesianNetwork):
        head |= _said(inputs=list(model.inputs))
        blocks["distributions"] = [_distribution_record(cpd) for cpd in model.cpds.values()]
    elif isinstance(model, InfluenceDiagram):
        blocks["distributions"] = [_distribution_record(cpd) for cpd in model.chance.values()]
        blocks["decisions"] = [{"variable": name, "sees": list(one.sees)} for name, one in model.decisions.items()]
        blocks["utilities"] = [
            {"name": name, "parents": list(f.names), "values": f.flat.tolist(), **_said(**_note_fields(notes.of(name)))}
            for name, f in model.utility_factors.items()
        ]
    else:
        blocks["factors"] = [{"scope": list(f.names), "values": f.flat.tolist()} for f in model.factors]
    return _text(head, blocks)


def _text(head: Mapping[str, Any], blocks: Mapping[str, Iterable[Any]]) -> str:
    """The head and the blocks as text."""
    text = _layout(head, blocks, ensure_ascii=False)
    # Half a surrogate pair can't be encoded, but it can be escaped.
    return _layout(head, blocks, ensure_ascii=True) if _SURROGATE.search(text) else text


def _said(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {key: value for key, value in fields.items() if value}


def _note_fields(notes: VariableNotes) -> dict[str, Any]:
    position = None if notes.position is None else [float(coordinate) for coordinate in notes.position]
    texts = {"label": notes.label, "description": notes.description, "position": position}
    return {**texts, "properties": dict(notes.properties)}


def _distribution_record(cpd: CPD) -> dict[str, Any]:
    if KINDS.get(getattr(cpd, "kind", "")) is not type(cpd):
        what = f"The distribution of {cpd.variable.name!r}, a {type(cpd).__name__},"
        raise NotRepresentable(f"{what} is of no kind that JSON files know: save its table, cpd.to_table().")
    return {"variable": cpd.variable.name, "parents": list(cpd.parent_names), "kind": cpd.kind, **cpd.to_record()}


def _layout(head: Mapping[str, Any], blocks: Mapping[str, Iterable[Any]], ensure_ascii: bool) -> str:
    """The head on one line, then each item of each block on a line of its own."""

    def dumps(value: Any) -> str:
        try:
            return json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)
        except ValueError:
            raise NotRepresentable(f"JSON has no infinite numbers, and this has some: {str(value)[:200]}") from None

    parts = [dumps(head)[:-1]]
    for name, items in blocks.items():
        lines = ",\n".join(map(dumps, items))
        parts.append(f'"{name}": [\n{lines}\n]' if lines else f'"{name}": []')
    return ",\n".join(parts) + "}\n"


FORMAT = Format("JSON", (".json",), parse_json, format_json, re.compile(r"\{"))
