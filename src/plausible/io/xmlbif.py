"""XMLBIF, the XML form of the Bayesian network interchange format, version 0.3.

A table lists parents in the order of their <GIVEN>, the child's state changing fastest. <PROPERTY> elements hold
`key = value`; `position`, `label`, `description` and `reference` are read as notes, others as properties, those of a
<DEFINITION> under `definition.key`. What the format can't say literally is put into properties whose keys start with
`plausible_`, as JSON, which other programs pass over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from plausible.io.assembly import Assembly
from plausible.io.formats import Format, Model, discrete_network, table_of
from plausible.io.identifiers import restore_name, restore_states, stand_ins, state_stand_ins
from plausible.io.xml_source import WHITESPACE, Element, parse_xml, replace_illegal
from plausible.models import BayesianNetwork, Notes, VariableNotes

__all__ = ["FORMAT", "format_xmlbif", "parse_xmlbif"]

_NAME, _STATES, _NOTES = "plausible_name", "plausible_states", "plausible_notes"
_POSITION = re.compile(r"\(\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*\)")
_DEFINITION = "definition."
_RESERVED = frozenset({_NAME, _STATES, _NOTES, "position", "label", "description", "reference"})

_HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE BIF [
  <!ELEMENT BIF (NETWORK)*>
  <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK (NAME, (PROPERTY | VARIABLE | DEFINITION)*)>
  <!ELEMENT NAME (#PCDATA)>
  <!ELEMENT VARIABLE (NAME, (OUTCOME | PROPERTY)*)>
  <!ATTLIST VARIABLE TYPE (nature | decision | utility) "nature">
  <!ELEMENT OUTCOME (#PCDATA)>
  <!ELEMENT DEFINITION (FOR | GIVEN | TABLE | PROPERTY)*>
  <!ELEMENT FOR (#PCDATA)>
  <!ELEMENT GIVEN (#PCDATA)>
  <!ELEMENT TABLE (#PCDATA)>
  <!ELEMENT PROPERTY (#PCDATA)>
]>
<BIF VERSION="0.3">
<NETWORK>"""


# --- reading ---


def parse_xmlbif(text: str) -> BayesianNetwork:
    """The network in an XMLBIF text; tags in upper or lower case.

    >>> network = parse_xmlbif('''<BIF VERSION="0.3"><NETWORK><NAME>coin</NAME>
    ... <VARIABLE TYPE="nature"><NAME>toss</NAME><OUTCOME>heads</OUTCOME><OUTCOME>tails</OUTCOME></VARIABLE>
    ... <DEFINITION><FOR>toss</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>''')
    >>> network.variables["toss"]
    Variable('toss', ['heads', 'tails'])
    """
    root = parse_xml(text, "BIF", fold=str.upper)
    root.check_children(["NETWORK"])
    network = root.one("NETWORK")
    network.check_children(["NAME", "PROPERTY", "VARIABLE", "DEFINITION"])
    assembly = Assembly(notes=_network_notes(network))
    names: dict[str, str] = {}
    definition_properties = _definition_properties(network)
    for element in network.named("VARIABLE"):
        written, name = _add_variable(assembly, element, definition_properties)
        names[written] = name
    for element in network.named("DEFINITION"):
        _add_definition(assembly, element, names)
    return assembly.network()


def _network_notes(network: Element) -> Notes:
    name = network.at_most_one("NAME")
    texts, properties = _split(_properties(network), ("name", "description", "reference"))
    written = name.content() if name else ""
    return Notes(texts.get("name", written), texts.get("description", ""), texts.get("reference", ""), properties)


def _add_variable(
    assembly: Assembly, element: Element, definition_properties: Mapping[str, Mapping[str, str]]
) -> tuple[str, str]:
    """Add a variable; its name as written and as meant."""
    element.check_children(["NAME", "OUTCOME", "VALUE", "PROPERTY"])
    written = element.one("NAME").content()
    kind = element.attributes.get("TYPE", "nature").strip().lower()
    if kind in ("decision", "utility"):
        raise element.error(f"{written!r} is a {kind} variable: this is an influence diagram, not a Bayesian network.")
    if kind not in ("nature", "discrete"):
        raise element.error(f"The TYPE of {written!r} is {kind!r}; only nature variables can be read.")
    properties = _properties(element)
    outcomes = [outcome.content() for outcome in element.named("OUTCOME", "VALUE")]
    name = restore_name(written, properties.pop(_NAME, None), _legal)
    states = restore_states(outcomes, properties.pop(_STATES, None), _legal_state)
    properties |= definition_properties.get(written, {})
    assembly.add_variable(name, states, element.place, _variable_notes(properties))
    return written, name


def _variable_notes(properties: dict[str, str]) -> VariableNotes:
    position = _position(properties.get("position", ""))
    if position is not None:
        del properties["position"]
    texts, others = _split(properties, ("label", "description"))
    return VariableNotes(texts.get("label", ""), texts.get("description", ""), position, others)


def _position(text: str) -> tuple[float, float] | None:
    match = _POSITION.fullmatch(text)
    try:
        return (float(match[1]), float(match[2])) if match else None
    except ValueError:
        return None


def _definition_properties(network: Element) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for definition in network.named("DEFINITION"):
        properties = {_DEFINITION + key: value for key, value in _properties(definition).items()}
        for element in definition.named("FOR"):
            found.setdefault(element.content(), {}).update(properties)
    return found


def _add_definition(assembly: Assembly, element: Element, names: Mapping[str, str]) -> None:
    element.check_children(["FOR", "GIVEN", "TABLE", "PROPERTY"])
    child = element.one("FOR")
    table = element.one("TABLE")
    parents = [given.content() for given in element.named("GIVEN")]
    meant = [names.get(written, written) for written in (child.content(), *parents)]
    assembly.variable(meant[0], child.place)
    for given, parent in zip(element.named("GIVEN"), meant[1:], strict=True):
        assembly.parents(meant[0], [parent], given.place)
    assembly.add_table(meant[0], meant[1:], table.numbers(), table.place)


def _properties(element: Element) -> dict[str, str]:
    """Key -> value; a key that is repeated has its values on lines of their own."""
    found: dict[str, str] = {}
    for child in element.named("PROPERTY"):
        key, _, value = child.content().partition("=")
        key, value = key.strip(WHITESPACE), value.strip(WHITESPACE)
        found[key] = f"{found[key]}\n{value}" if key in found else value
    return found


def _split(properties: dict[str, str], keys: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """The notes with these keys, and the properties that are left."""
    exact, exact_properties = _exact(properties.get(_NOTES), keys)
    if exact or exact_properties:
        del properties[_NOTES]
    texts = {key: properties.pop(key) for key in keys if key in properties and key != "name"}
    return texts | exact, properties | exact_properties


def _exact(written: str | None, keys: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Notes and properties that could not be written literally; none where the note on them is unsound."""
    try:
        texts = json.loads(written or "null")
        properties = texts.pop("properties", {})
        sound = all(isinstance(value, str) for value in (*texts.values(), *properties.values()))
    except (ValueError, RecursionError, TypeError, AttributeError):
        return {}, {}
    return (texts, properties) if sound and texts.keys() <= set(keys) else ({}, {})


# --- writing ---


def format_xmlbif(model: Model) -> str:
    """A Bayesian network as XMLBIF 0.3; every CPD as its table, numbers exact to the last bit.

    >>> from plausible.cpds import TableCPD
    >>> print(format_xmlbif(BayesianNetwork(TableCPD("toss", [0.5, 0.5], states=["heads", "tails"]))))
    <?xml version="1.0" encoding="UTF-8"?>
    ...
    <DEFINITION>
      <FOR>toss</FOR>
      <TABLE>
        0.5 0.5
      </TABLE>
    </DEFINITION>
    </NETWORK>
    </BIF>
    """
    network = discrete_network(model, "XMLBIF")
    written = dict(zip(network.variables, stand_ins(list(network.variables), _legal), strict=True))
    lines = [_HEADER, f"<NAME>{_text(_legal_state(network.notes.name))}</NAME>"]
    notes = {"description": network.notes.description, "reference": network.notes.reference}
    if _legal_state(network.notes.name) != network.notes.name:
        notes["name"] = network.notes.name
    lines += [_property_line(text, "") for text in _property_texts(notes, network.notes.properties)]
    for name in network.variables:
        lines += _variable_lines(network, name, written[name])
    for name in network.variables:
        lines += _definition_lines(network, name, written)
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _variable_lines(network: BayesianNetwork, name: str, written: str) -> Iterator[str]:
    notes = network.notes.of(name)
    outcomes, states = state_stand_ins(network.variables[name], _legal_state)
    yield '<VARIABLE TYPE="nature">'
    yield f"  <NAME>{_text(written)}</NAME>"
    for outcome in outcomes:
        yield f"  <OUTCOME>{_text(outcome)}</OUTCOME>"
    properties = [f"{_NAME} = {json.dumps(name)}"] if written != name else []
    properties += [f"{_STATES} = {states}"] if states is not None else []
    if notes.position is not None:
        properties.append("position = ({}, {})".format(*(_number(coordinate) for coordinate in notes.position)))
    others = {key: text for key, text in notes.properties.items() if not _is_of_definition(key, text)}
    properties += _property_texts({"label": notes.label, "description": notes.description}, others)
    for text in properties:
        yield _property_line(text, "  ")
    yield "</VARIABLE>"


def _definition_lines(network: BayesianNetwork, name: str, written: Mapping[str, str]) -> Iterator[str]:
    table = table_of(network.cpd(name), "XMLBIF")
    yield "<DEFINITION>"
    yield f"  <FOR>{_text(written[name])}</FOR>"
    for parent in table.parent_names:
        yield f"  <GIVEN>{_text(written[parent])}</GIVEN>"
    yield "  <TABLE>"
    for row in table.values.reshape(-1, table.variable.num_states).tolist():
        yield "    " + " ".join(map(repr, row))
    yield "  </TABLE>"
    for key, text in network.notes.of(name).properties.items():
        if _is_of_definition(key, text):
            yield _property_line(_property_text(key.removeprefix(_DEFINITION), text), "  ")
    yield "</DEFINITION>"


def _property_texts(notes: Mapping[str, str], properties: Mapping[str, str]) -> Iterator[str]:
    """`key = value` for notes and properties; what would not come back as it is, in one JSON object."""
    exact: dict[str, Any] = {key: text for key, text in notes.items() if not _is_literal(key, text)}
    odd = {key: text for key, text in properties.items() if key in _RESERVED or not _is_literal(key, text)}
    yield from (_property_text(key, text) for key, text in notes.items() if text and key not in exact)
    yield from (_property_text(key, text) for key, text in properties.items() if key not in odd)
    if odd:
        exact["properties"] = odd
    if exact:
        yield f"{_NOTES} = {json.dumps(exact)}"


def _property_text(key: str, text: str) -> str:
    return f"{key} = {text}" if text else key


def _property_line(text: str, indent: str) -> str:
    return f"{indent}<PROPERTY>{_text(text)}</PROPERTY>"


def _is_literal(key: str, text: str) -> bool:
    """Whether the reader takes `key = text` apart into just these."""
    return bool(key) and "=" not in key and _legal(key) == key and _legal_state(text) == text


def _is_of_definition(key: str, text: str) -> bool:
    return key.startswith(_DEFINITION) and _is_literal(key.removeprefix(_DEFINITION), text)


def _number(coordinate: float) -> str:
    return str(int(coordinate)) if float(coordinate).is_integer() else repr(float(coordinate))


def _text(text: str) -> str:
    return escape(text, {"\r": "&#13;"})


def _legal(name: str) -> str:
    return _legal_state(name) or "_"


def _legal_state(text: str) -> str:
    return replace_illegal(text).strip(WHITESPACE)


FORMAT = Format("XMLBIF", (".xmlbif", ".bifxml", ".xml"), parse_xmlbif, format_xmlbif)
