"""XMLBIF, the XML form of the Bayesian network interchange format, version 0.3.

A table lists parents in the order of their <GIVEN>, the child's state changing fastest. <PROPERTY> elements hold
`key = value`; `position`, `label`, `description` and `reference` are read as notes, others as properties, those of a
<DEFINITION> under `definition.key`. What the format can't say literally is put into properties whose keys start with
`plausible_`, as JSON, which other programs pass over.

Variables of the types `decision` and `utility` make an influence diagram, as pyAgrum writes it: the <DEFINITION> of a
decision has no <TABLE>, only what it sees; that of a utility lists its numbers, the last parent's state changing
fastest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from xml.sax.saxutils import escape

from plausible.decisions import InfluenceDiagram
from plausible.errors import suggestion
from plausible.io.assembly import Assembly
from plausible.io.formats import (
    Contents,
    Format,
    Model,
    contents,
    restore_name,
    restore_states,
    stand_ins,
    state_stand_ins,
    table_of,
)
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

_NAME, _STATES = "plausible_name", "plausible_states"
_DEFINITION = "definition."
_TYPES = ("nature", "discrete", "decision", "utility")

# No document type: some programs can't read past one, and none needs it.
_HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<BIF VERSION="0.3">
<NETWORK>"""


def parse_xmlbif(text: str, *, lenient: bool = False) -> BayesianNetwork | InfluenceDiagram:
    """The network or influence diagram in an XMLBIF text, tags in upper or lower case; `lenient` as for `load`.

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
    assembly = Assembly(lenient, notes=network_notes(title.content() if title else "", _properties(network)))
    about: dict[str, dict[str, str]] = {}  # name as written -> the properties of its definition
    for definition in network.named("DEFINITION"):
        properties = {_DEFINITION + key: value for key, value in _properties(definition).items()}
        for element in definition.named("FOR"):
            about.setdefault(element.content(), {}).update(properties)
    names = dict(_add_variable(assembly, element, about) for element in network.named("VARIABLE"))
    for element in network.named("DEFINITION"):
        _add_definition(assembly, element, names)
    return assembly.model()


def _add_variable(
    assembly: Assembly, element: Element, definition_properties: Mapping[str, Mapping[str, str]]
) -> tuple[str, str]:
    """Add a variable or a utility; its name as written and as meant."""
    element.check_children(["NAME", "OUTCOME", "VALUE", "PROPERTY"])
    written = element.one("NAME").content()
    kind = element.attributes.get("TYPE", "nature").strip().lower()
    if kind not in _TYPES:
        raise element.error(f"The TYPE of {written!r} is {kind!r}, which can't be read.{suggestion(kind, _TYPES)}")
    properties = _properties(element)
    outcomes = [outcome.content() for outcome in element.named("OUTCOME", "VALUE")]
    name = restore_name(written, properties.pop(_NAME, None), _legal)
    states = restore_states(outcomes, properties.pop(_STATES, None), _legal_state)
    if properties.get("fast") == f"{written}{{{'|'.join(outcomes)}}}":
        # aGrUM repeats name and outcomes here and reads only this: kept, it would undo a later renaming.
        del properties["fast"]
    properties |= definition_properties.get(written, {})
    notes = variable_notes(properties)
    if kind == "utility":
        # One outcome stands there for programs to which everything is a variable.
        if len(outcomes) > 1:
            raise element.error(f"The utility {written!r} has {len(outcomes)} outcomes; it can't have states.")
        assembly.add_utility(name, element.place, notes)
    else:
        add = assembly.add_decision if kind == "decision" else assembly.add_variable
        add(name, states, element.place, notes)
    return written, name


def _add_definition(assembly: Assembly, element: Element, names: Mapping[str, str]) -> None:
    element.check_children(["FOR", "GIVEN", "TABLE", "PROPERTY"])
    written = element.one("FOR")
    givens = list(element.named("GIVEN"))
    child, *parents = (names.get(part.content(), part.content()) for part in (written, *givens))
    if not assembly.is_utility(child):
        assembly.variable(child, written.place)
    for given, parent in zip(givens, parents, strict=True):
        assembly.parents(child, [parent], given.place)
    if assembly.is_decision(child):
        element.check_children(["FOR", "GIVEN", "PROPERTY"])
        assembly.add_information(child, parents, element.place)
        return
    table = element.one("TABLE")
    add = assembly.add_utility_values if assembly.is_utility(child) else assembly.add_table
    add(child, parents, table.numbers(), table.place)


def _properties(element: Element) -> dict[str, str]:
    return properties_of(child.content() for child in element.named("PROPERTY"))


def format_xmlbif(model: Model) -> str:
    """A Bayesian network or an influence diagram as XMLBIF 0.3: tables with numbers exact to the last bit.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.models import BayesianNetwork
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
    parts = contents(model, "XMLBIF", discrete=True)
    written = dict(zip(parts.nodes, stand_ins(parts.nodes, _legal), strict=True))
    title = _legal_state(parts.notes.name)
    lines = [_HEADER, f"<NAME>{_text(title)}</NAME>"]
    lines += [f"<PROPERTY>{_text(text)}</PROPERTY>" for text in network_texts(parts.notes, title, _PROPERTIES)]
    for name in parts.nodes:
        lines += _variable_lines(parts, name, written[name])
    for name in parts.nodes:
        lines += _definition_lines(parts, name, written)
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _variable_lines(parts: Contents, name: str, written: str) -> Iterator[str]:
    notes = parts.notes.of(name)
    is_utility = name in parts.utilities
    outcomes, states = (["0"], None) if is_utility else state_stand_ins(parts.variables[name], _legal_state)
    yield f'<VARIABLE TYPE="{"utility" if is_utility else "decision" if name in parts.decisions else "nature"}">'
    yield f"  <NAME>{_text(written)}</NAME>"
    for outcome in outcomes:
        yield f"  <OUTCOME>{_text(outcome)}</OUTCOME>"
    properties = [f"{_NAME} = {json.dumps(name)}"] if written != name else []
    properties += [f"{_STATES} = {states}"] if states is not None else []
    others = {key: text for key, text in notes.properties.items() if not _is_of_definition(key, text)}
    properties += variable_texts(replace(notes, properties=others), _PROPERTIES)
    for text in properties:
        yield f"  <PROPERTY>{_text(text)}</PROPERTY>"
    yield "</VARIABLE>"


def _definition_lines(parts: Contents, name: str, written: Mapping[str, str]) -> Iterator[str]:
    yield "<DEFINITION>"
    yield f"  <FOR>{_text(written[name])}</FOR>"
    for parent in parts.parents(name):
        yield f"  <GIVEN>{_text(written[parent])}</GIVEN>"
    if name not in parts.decisions:
        values = (
            parts.utilities[name].values if name in parts.utilities else table_of(parts.cpds[name], "XMLBIF").values
        )
        yield "  <TABLE>"
        for row in values.reshape(-1, *values.shape[-1:]).tolist() if values.ndim else [[values.item()]]:
            yield "    " + " ".join(map(repr, row))
        yield "  </TABLE>"
    for key, text in parts.notes.of(name).properties.items():
        if _is_of_definition(key, text):
            yield f"  <PROPERTY>{_text(f'{key.removeprefix(_DEFINITION)} = {text}')}</PROPERTY>"
    yield "</DEFINITION>"


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

FORMAT = Format(
    "XMLBIF",
    (".xmlbif", ".bifxml", ".xml"),
    parse_xmlbif,
    format_xmlbif,
    re.compile(r"(?=<).*?<bif\b", re.DOTALL | re.IGNORECASE),
)
