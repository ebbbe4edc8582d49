"""Notes on a network in XDSL: user properties, and what GeNIe keeps in its extensions.

GeNIe's name of a node is read as its label, its comment as description, its upper left corner as position. Other things
become properties: `genie_` stands before those of the extensions (`genie_interior_color`), `smile_` before those of the
node itself (`smile_diagtype`). They are written back where they came from, or else as user properties. What these can't
say literally goes into the user property `plausible_notes`, as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from plausible.io.scanner import merged
from plausible.io.xml_source import WHITESPACE, Element, is_legal, replace_illegal
from plausible.models import Notes, VariableNotes

#: The property with the attributes of the states, a JSON list of objects.
STATES: Final = "smile_states"
#: The property that says that nodes on the grid have no position of their own.
AUTOMATIC: Final = "plausible_automatic_layout"
#: The property that says that decisions see what is listed for them and nothing else, where that is not all they could.
LIMITED: Final = "plausible_limited_memory"

_EXACT: Final = "plausible_notes"
_SIZE: Final = "genie_size"
_DEFAULT_SIZE: Final = (80, 40)

# Properties with a place of their own in the file, and what is there where a network does not have them.
_NODE: Final[dict[str, str | None]] = {"smile_diagtype": None, "smile_ranked": None, "smile_mandatory": None}
_DRAWING: Final[dict[str, str | None]] = {
    "genie_interior_color": "e5f6f7",
    "genie_outline_color": "000080",
    "genie_font_color": "000000",
    "genie_font_name": "Arial",
    "genie_font_size": "8",
    "genie_barchart_active": None,
    "genie_barchart_width": None,
    "genie_barchart_height": None,
}
_ROOT: Final[dict[str, str | None]] = {"smile_numsamples": "10000", "smile_discsamples": "10000"}
_GENIE: Final[dict[str, str | None]] = {"genie_faultnameformat": "nodestate"}
_DEFAULTS: Final = {**_NODE, **_DRAWING, **_ROOT, **_GENIE}


def identifier(name: str) -> str:
    """The name as SMILE's identifiers have to be: letters, digits and underscores, a letter first."""
    legal = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return legal if re.match("[A-Za-z]", legal) else f"x{legal}"


def grid_position(number: int) -> tuple[float, float]:
    """Where the node with this number is drawn if it has no position."""
    return 20.0 + 110 * (number % 8), 20.0 + 80 * (number // 8)


def user_properties(element: Element) -> dict[str, str]:
    """Key -> value of the <property> elements; a key that is repeated has its values on lines of their own."""
    for child in element.named("property"):
        child.check_children(())
    return merged((child.attribute("id"), child.text) for child in element.named("property"))


def variable_notes(
    node: Element,
    properties: dict[str, str],
    names: tuple[str, str],
    drawn: tuple[Element, str] | None,
    no_position: tuple[float, float] | None,
) -> VariableNotes:
    """The notes on a node."""
    exact, exact_properties = _exact(properties, {"label", "description", "position"})
    notes: dict[str, Any] = {}
    for key, value in node.attributes.items():
        if key != "id":
            _add(properties, f"smile_{key}", value)
    element, submodel = drawn or (None, "")
    if submodel:
        _add(properties, "genie_submodel", submodel)
    for child in element.children if element else ():
        corners = _corners(child) if child.tag == "position" else None
        if child.tag == "name":
            notes["label"] = "" if child.text in names else child.text
        elif child.tag == "comment":
            notes["description"] = child.text
        elif corners is not None:
            notes["position"] = None if corners[:2] == no_position else corners[:2]
            size = corners[2] - corners[0], corners[3] - corners[1]
            if size != _DEFAULT_SIZE:
                _add(properties, _SIZE, f"{size[0]:g} {size[1]:g}")
        else:
            _add_element(properties, "genie", child)
    return VariableNotes(**{**notes, **exact, "properties": {**properties, **exact_properties}})


def network_notes(root: Element) -> Notes:
    """The notes on the whole network."""
    properties = user_properties(root)
    for block in root.named("properties"):
        block.check_children(["property"])
        for key, value in user_properties(block).items():
            _add(properties, key, value)
    for own in (AUTOMATIC, LIMITED):
        properties.pop(own, None)
    exact, exact_properties = _exact(properties, {"name", "description", "reference"})
    notes: dict[str, Any] = {"name": root.attributes.get("id", ""), "reference": properties.pop("reference", "")}
    _add_attributes(properties, "smile", root, ("version", "id"))
    for child in root.children:
        if child.tag not in ("nodes", "extensions", "properties", "property"):
            _add_element(properties, "smile", child)
    for extension in (part for block in root.named("extensions") for part in block.children):
        if extension.tag != "genie":
            _add_element(properties, "smile", extension)
            continue
        notes["name"] = extension.attributes.get("name", notes["name"])
        _add_attributes(properties, "genie", extension, ("version", "app", "name"))
        for child in extension.children:
            if child.tag == "comment":
                notes["description"] = child.text
            elif child.tag == "submodel":
                _add(properties, "genie_submodel", _as_xml(child, without=("node",)))
            elif child.tag != "node":
                _add_element(properties, "genie", child)
    return Notes(**{**notes, **exact, "properties": {**properties, **exact_properties}})


def genie_nodes(root: Element) -> dict[str, tuple[Element, str]]:
    """Identifier -> the element that says how a node is drawn, and the submodels around it."""
    found: dict[str, tuple[Element, str]] = {}
    waiting = [(genie, "") for block in root.named("extensions") for genie in block.named("genie")]
    while waiting:
        block, path = waiting.pop()
        for node in block.named("node"):
            found.setdefault(node.attribute("id"), (node, path))
        waiting += [(part, f"{path}/{part.attribute('id')}".lstrip("/")) for part in block.named("submodel")]
    return found


def _exact(properties: dict[str, str], allowed: set[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Notes and properties that could not be written literally; taken out of `properties`, where they are sound."""
    try:
        notes = json.loads(properties[_EXACT])
        exact_properties = notes.get("properties", {})
        texts = {key: value for key, value in notes.items() if key not in ("properties", "position")}
        sound = all(isinstance(value, str) for value in (*texts.values(), *exact_properties.values()))
        if "position" in notes:
            left, top = notes["position"]
            notes["position"] = float(left), float(top)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return {}, {}
    if not sound or not notes.keys() <= {*allowed, "properties"}:
        return {}, {}
    del properties[_EXACT]
    return {key: value for key, value in notes.items() if key != "properties"}, exact_properties


def _corners(position: Element) -> tuple[float, ...] | None:
    """Left, top, right and bottom."""
    try:
        corners = tuple(float(word) for word in position.words())
    except ValueError:
        return None
    return corners if len(corners) == 4 and all(abs(corner) < 1e9 for corner in corners) else None


def _add_element(properties: dict[str, str], prefix: str, element: Element) -> None:
    """An element as properties: one for each attribute and one for the text, or all of it as XML."""
    if element.children:
        _add(properties, f"{prefix}_{element.tag}", _as_xml(element))
        return
    _add_attributes(properties, f"{prefix}_{element.tag}", element, ())
    if element.text.strip(WHITESPACE) or not element.attributes:
        _add(properties, f"{prefix}_{element.tag}", element.text)


def _add_attributes(properties: dict[str, str], prefix: str, element: Element, without: Iterable[str]) -> None:
    for name, value in element.attributes.items():
        if name not in without and _DEFAULTS.get(f"{prefix}_{name}") != value:
            _add(properties, f"{prefix}_{name}", value)


def _add(properties: dict[str, str], key: str, value: str) -> None:
    properties[key] = f"{properties[key]}\n{value}" if key in properties else value


def _as_xml(element: Element, without: tuple[str, ...] = ()) -> str:
    """An element as XML again, without the children that have some tags."""
    attributes = "".join(f" {key}={quoteattr(value)}" for key, value in element.attributes.items())
    children = "".join(_as_xml(child, without) for child in element.children if child.tag not in without)
    return f"<{element.tag}{attributes}>{text(element.text.strip(WHITESPACE))}{children}</{element.tag}>"


def text(content: str) -> str:
    """Text as the content of an element; an underscore stands for what XML can't hold."""
    return escape(replace_illegal(content), {"\r": "&#13;"})


def head_lines(notes: Notes, said: Iterable[str]) -> tuple[list[str], list[str]]:
    """What opens the file, with the properties of our own that are said there, and what opens the extensions."""
    exact: dict[str, Any] = {
        key: value for key in ("name", "description") if not is_legal(value := getattr(notes, key))
    }
    own = dict.fromkeys(said, "true")
    if is_legal(notes.reference):
        own |= {"reference": notes.reference} if notes.reference else {}
    else:
        exact["reference"] = notes.reference
    native = _native(notes.properties, {**_ROOT, **_GENIE})
    others = {key: value for key, value in notes.properties.items() if key not in native}
    lines = _property_lines(others, exact, own, reserved=("reference",))
    samples = _attributes({**_ROOT, **_native(notes.properties, _ROOT)}, "smile_")
    head = [f'<smile version="1.0" id="{identifier(notes.name or "Network1")}"{samples}>']
    head += ["  <properties>", *(f"  {line}" for line in lines), "  </properties>"] if lines else []
    settings = _attributes({**_GENIE, **_native(notes.properties, _GENIE)}, "genie_")
    name = quoteattr(replace_illegal(notes.name))
    genie = [f'    <genie version="1.0" app="plausible" name={name}{settings}>']
    genie += [f"      <comment>{text(notes.description)}</comment>"] if notes.description else []
    return head, genie


def node_attributes(notes: VariableNotes) -> str:
    """The attributes of a node, other than `id`."""
    return _attributes(_native(notes.properties, _NODE), "smile_")


def state_attributes(notes: VariableNotes, num_states: int) -> list[str]:
    """For each state its attributes, other than `id`."""
    try:
        listed = json.loads(notes.properties.get(STATES, ""))
        pairs = [pair for state in listed for pair in state.items()]
    except (ValueError, RecursionError, TypeError, AttributeError):
        return [""] * num_states
    sound = all(identifier(key) == key != "id" and isinstance(value, str) and is_legal(value) for key, value in pairs)
    if len(listed) != num_states or not sound:
        return [""] * num_states
    return [_attributes(state, "") for state in listed]


def property_lines(
    notes: VariableNotes,
    names: tuple[str, str],
    no_position: tuple[float, float],
    num_states: int,
    own: Mapping[str, str],
) -> list[str]:
    """The user properties of a node; `names` and `no_position` as for `variable_notes`, `own` are to be added."""
    exact: dict[str, Any] = {}
    if notes.label in names or not is_legal(notes.label):
        exact["label"] = notes.label
    if not is_legal(notes.description):
        exact["description"] = notes.description
    if notes.position is not None:
        is_whole = all(abs(coordinate) < 1e8 and float(coordinate).is_integer() for coordinate in notes.position)
        exact |= {"position": list(notes.position)} if notes.position == no_position or not is_whole else {}
    native = set(_native(notes.properties, {**_NODE, **_DRAWING}))
    native |= {STATES} if any(state_attributes(notes, num_states)) else set()
    native |= {_SIZE} if _size(notes) != _DEFAULT_SIZE else set()
    others = {key: value for key, value in notes.properties.items() if key not in native}
    return _property_lines(others, exact, own)


def genie_lines(notes: VariableNotes, names: tuple[str, str], no_position: tuple[float, float]) -> Iterator[str]:
    """How a node is drawn."""
    yield f'      <node id="{names[0]}">'
    yield f"        <name>{text(notes.label or names[1])}</name>"
    drawing = {**_DRAWING, **_native(notes.properties, _DRAWING)}
    for tag in ("interior", "outline", "font", "barchart"):
        attributes = _attributes({key: drawing[key] for key in drawing if f"_{tag}_" in key}, f"genie_{tag}_")
        if attributes:
            yield f"        <{tag}{attributes} />"
    corner = notes.position or no_position
    is_far = not all(abs(coordinate) < 1e8 for coordinate in corner)  # outside of all windows, or NaN
    left, top = map(round, no_position if is_far else corner)
    width, height = _size(notes)
    yield f"        <position>{left} {top} {left + width} {top + height}</position>"
    if notes.description:
        yield f"        <comment>{text(notes.description)}</comment>"
    yield "      </node>"


def _property_lines(
    properties: Mapping[str, str], exact: dict[str, Any], own: Mapping[str, str], reserved: Iterable[str] = ()
) -> list[str]:
    """<property> elements for properties that can be said so, and one of JSON for the rest."""
    plain = {
        key: value
        for key, value in properties.items()
        if identifier(key) == key not in reserved and not key.startswith("plausible_") and is_legal(value)
    }
    odd = {key: value for key, value in properties.items() if key not in plain}
    if odd:
        exact = {**exact, "properties": odd}
    said = {**own, **plain, **({_EXACT: json.dumps(exact)} if exact else {})}
    return [f"    <property id={quoteattr(key)}>{text(value)}</property>" for key, value in said.items()]


def _native(properties: Mapping[str, str], defaults: Mapping[str, str | None]) -> dict[str, str]:
    """The properties that have a place of their own and that the reader finds there."""
    found = {key: properties[key] for key in defaults if key in properties}
    return {key: value for key, value in found.items() if is_legal(value) and value != defaults[key]}


def _attributes(values: Mapping[str, str | None], prefix: str) -> str:
    given = {key.removeprefix(prefix): value for key, value in values.items() if value is not None}
    return "".join(f" {key}={quoteattr(value)}" for key, value in given.items())


def _size(notes: VariableNotes) -> tuple[int, int]:
    """Width and height, where they are known and the node has a place."""
    match = re.fullmatch(r"([1-9]\d{0,5}) ([1-9]\d{0,5})", notes.properties.get(_SIZE, ""))
    return (int(match[1]), int(match[2])) if match and notes.position is not None else _DEFAULT_SIZE
