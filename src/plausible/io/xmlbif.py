"""XMLBIF, the XML form of the Bayesian network interchange format, version 0.3.

A table lists parents in the order of their <GIVEN>, the child's state changing fastest. <PROPERTY> elements hold
`key = value`; `position`, `label`, `description` and `reference` are read as notes, others as properties, those of a
<DEFINITION> under `definition.key`. What the format can't say literally is put into properties whose keys start with
`plausible_`, as JSON, which other programs pass over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from xml.sax.saxutils import escape

from plausible.io.assembly import Assembly
from plausible.io.formats import Format, Model, discrete_network, table_of
from plausible.io.identifiers import restore_name, restore_states, stand_ins, state_stand_ins
from plausible.io.property_texts import (
    Dialect,
    network_notes,
    network_texts,
    properties_of,
    variable_notes,
    variable_texts,
)
from plausible.io.xml_source import WHITESPACE, Element, parse_xml, replace_illegal
from plausible.models import BayesianNetwork

__all__ = ["FORMAT", "format_xmlbif", "parse_xmlbif"]

_NAME, _STATES = "plausible_name", "plausible_states"
_DEFINITION = "definition."

# No document type: some programs can't read past one, and none needs it.
_HEADER = """<?xml version="1.0" encoding="UTF-8"?>
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
    title = network.at_most_one("NAME")
    assembly = Assembly(notes=network_notes(title.content() if title else "", _properties(network)))
    names: dict[str, str] = {}
    definition_properties = _definition_properties(network)
    for element in network.named("VARIABLE"):
        written, name = _add_variable(assembly, element, definition_properties)
        names[written] = name
    for element in network.named("DEFINITION"):
        _add_definition(assembly, element, names)
    return assembly.network()


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
    if properties.get("fast") == f"{written}{{{'|'.join(outcomes)}}}":
        # aGrUM repeats name and outcomes here and reads only this: kept, it would undo a later renaming.
        del properties["fast"]
    properties |= definition_properties.get(written, {})
    assembly.add_variable(name, states, element.place, variable_notes(properties))
    return written, name


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
    return properties_of(child.content() for child in element.named("PROPERTY"))


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
    title = _legal_state(network.notes.name)
    lines = [_HEADER, f"<NAME>{_text(title)}</NAME>"]
    lines += [_property_line(text, "") for text in network_texts(network.notes, title, _PROPERTIES)]
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
    others = {key: text for key, text in notes.properties.items() if not _is_of_definition(key, text)}
    properties += variable_texts(replace(notes, properties=others), _PROPERTIES)
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
            yield _property_line(f"{key.removeprefix(_DEFINITION)} = {text}", "  ")
    yield "</DEFINITION>"


def _property_line(text: str, indent: str) -> str:
    return f"{indent}<PROPERTY>{_text(text)}</PROPERTY>"


def _is_of_definition(key: str, text: str) -> bool:
    inner = key.removeprefix(_DEFINITION)
    return inner != key and _PROPERTIES.says_key(inner) and _PROPERTIES.says(text)


def _text(text: str) -> str:
    return escape(text, {"\r": "&#13;"})


def _legal(name: str) -> str:
    return _legal_state(name) or "_"


def _legal_state(text: str) -> str:
    return replace_illegal(text).strip(WHITESPACE)


_PROPERTIES = Dialect(lambda text: _legal_state(text) == text, json.dumps)

FORMAT = Format("XMLBIF", (".xmlbif", ".bifxml", ".xml"), parse_xmlbif, format_xmlbif)
