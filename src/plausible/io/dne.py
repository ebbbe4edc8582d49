"""DNE, the text format of Netica: read only.

Nodes with states and tables (`probs`) or functions (`functable`) are read, and continuous ones that Netica has cut
into intervals (`levels`). With nodes of the kinds DECISION and UTILITY it is an influence diagram. What Netica keeps
about windows (`visual`) is passed over; other fields become properties.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from plausible.decisions import InfluenceDiagram
from plausible.errors import suggestion
from plausible.io.assembly import Assembly, Place
from plausible.io.blocks import Block, Value, parse_blocks, sole_block
from plausible.io.formats import Format
from plausible.io.scanner import C_COMMENTS, blank_comments, shown
from plausible.models import BayesianNetwork, Notes, VariableNotes

_NODE: Final = re.compile(r"node (\S+)")
_KINDS: Final = ("NATURE", "DECISION", "UTILITY", "CONSTANT")
_KNOWN: Final = frozenset(("kind", "discrete", "chance", "states", "parents", "probs", "functable", "title", "comment"))
#: The largest number of states that `numstates` may declare without naming them.
_MAX_UNNAMED: Final = 10_000


def parse_dne(text: str) -> BayesianNetwork | InfluenceDiagram:
    """The network or influence diagram in a DNE text; tables list parents in order, the child's state changing fastest.

    >>> network = parse_dne('''
    ... // ~->[DNET-1]->~
    ... bnet lawn {
    ...   node rain { kind = NATURE; discrete = TRUE; states = (no, yes); probs = (0.8, 0.2); };
    ...   node grass { states = (dry, wet); parents = (rain); chance = DETERMIN; functable = (dry, wet); };
    ... };
    ... ''')
    >>> network.cpd("grass")
    DeterministicCPD(grass | rain)
    """
    tree = sole_block(parse_blocks(blank_comments(text, C_COMMENTS, ("//", "/*"))), "bnet")
    assembly = Assembly(notes=_network_notes(tree))
    nodes = list(_nodes(tree))
    for name, block in nodes:
        _add_node(assembly, name, block)
    constants = {block.head.split()[-1] for block in tree.blocks if _is_label(block)}
    for name, block in nodes:
        _add_definition(assembly, name, block, constants)
    return assembly.model()


def _network_notes(tree: Block) -> Notes:
    properties = {key: value.text() for key, value in tree.fields if value.block is None and key not in _KNOWN}
    for block in tree.blocks:
        if _is_label(block):
            properties[f"constant.{block.head.split()[-1]}"] = block.text("title")
    name = tree.text("title") or tree.head.removeprefix("bnet").strip()
    return Notes(name, tree.text("comment"), properties=MappingProxyType(properties))


def _is_label(block: Block) -> bool:
    """Whether a node is a text on the canvas, or a number for equations."""
    return _NODE.fullmatch(block.head) is not None and block.text("kind").upper() == "CONSTANT"


def _nodes(tree: Block) -> Iterator[tuple[str, Block]]:
    for block in tree.blocks:
        match = _NODE.fullmatch(block.head)
        if match is None and block.head.startswith("node"):
            raise block.place.error(f"Expected 'node name', not {shown(block.head)}.")
        if match is None or _is_label(block):
            continue
        kind = _kind(block)
        if kind not in _KINDS:
            raise block.place.error(f"{match[1]!r} is of kind {kind!r}.{suggestion(kind, _KINDS)}")
        yield match[1], block


def _kind(block: Block) -> str:
    return block.text("kind").upper() or "NATURE"


def _add_node(assembly: Assembly, name: str, block: Block) -> None:
    notes = _node_notes(block)
    if _kind(block) == "UTILITY":
        assembly.add_utility(name, block.place, notes)
    else:
        add = assembly.add_decision if _kind(block) == "DECISION" else assembly.add_variable
        add(name, _states(name, block), block.place, notes)


def _node_notes(block: Block) -> VariableNotes:
    center = next((inner.get("center") for inner in block.blocks if inner.head.startswith("visual")), None)
    numbers = None if center is None else center.numbers()
    if center is not None and (numbers is None or numbers.size != 2):
        raise center.place.error("Expected 'center = (x, y)'.")
    properties = {key: value.text() for key, value in block.fields if value.block is None and key not in _KNOWN}
    return VariableNotes(
        label=block.text("title"),
        description=block.text("comment"),
        position=None if numbers is None else (float(numbers[0]), float(numbers[1])),
        properties=MappingProxyType(properties),
    )


# --- states ---


def _states(name: str, block: Block) -> Sequence[str]:
    """The states by name, by title, by their levels, or by number."""
    listed = block.get("states")
    if listed is not None:
        states = listed.items()
        if "" in states:
            raise listed.place.error(f"A state of {name!r} has no name.")
        _check_count(name, block, states)
        return states
    titles = block.get("statetitles")
    if titles is not None and "" not in (states := titles.items()) and len(set(states)) == len(states):
        return states
    levels = block.get("levels")
    if levels is not None:
        return _level_states(levels, is_discrete=block.text("discrete").upper() != "FALSE")
    return [f"state{i}" for i in range(_num_states(name, block))]


def _num_states(name: str, block: Block) -> int:
    count = block.get("numstates")
    if count is None:
        equation = " (it has an equation)" if block.get("equation") else ""
        raise block.place.error(f"{name!r} has neither states nor levels{equation}: it can't be read.")
    if not re.fullmatch(r"\d{1,9}", count.raw) or int(count.raw) > _MAX_UNNAMED:
        raise count.place.error(f"Expected a number of states up to {_MAX_UNNAMED}, not {shown(count.raw)}.")
    return int(count.raw)


def _check_count(name: str, block: Block, states: Sequence[str]) -> None:
    count = block.get("numstates")
    if count is not None and count.raw != str(len(states)):
        raise count.place.error(f"{name!r} has {len(states)} states, but numstates = {shown(count.raw)}.")


def _level_states(levels: Value, is_discrete: bool) -> list[str]:
    """A state for each level of a discrete node, or for each interval between levels of a continuous one."""
    listed = levels.items()
    if is_discrete:
        return listed
    return [_interval(low, high) for low, high in pairwise(listed)]


def _interval(low: str, high: str) -> str:
    if low.upper() in ("-INFINITY", "-INF"):
        return f"< {high}"
    return f">= {low}" if high.upper() in ("INFINITY", "INF") else f"{low} to {high}"


# --- definitions ---


def _add_definition(assembly: Assembly, name: str, block: Block, constants: Collection[str]) -> None:
    """The distribution of a node, the numbers of a utility, or what a decision sees: not what it was found to do."""
    listed = block.get("parents")
    parents = [] if listed is None else listed.items()
    for parent in parents:
        place = block.place if listed is None else listed.place
        if not parent:
            raise place.error(f"A link of {name!r} has no parent.")
        if parent in constants:
            raise place.error(f"{parent!r}, a parent of {name!r}, is a constant, which has no states: take it out.")
        assembly.parents(name, [parent], place)
    if assembly.is_decision(name):
        assembly.add_information(name, parents, block.place)
    elif assembly.is_utility(name):
        numbers = block.get("functable")
        if numbers is None:
            equation = "; its equation is not supported here" if block.get("equation") else ""
            raise block.place.error(f"The utility {name!r} has no table ('functable'){equation}.")
        assembly.add_utility_values(name, parents, numbers.numbers(), numbers.place)
    else:
        _add_distribution(assembly, name, parents, block)


def _add_distribution(assembly: Assembly, name: str, parents: Sequence[str], block: Block) -> None:
    probabilities, function = block.get("probs"), block.get("functable")
    if function is not None and (probabilities is None or block.text("chance").upper() == "DETERMIN"):
        _add_function(assembly, name, parents, function)
    elif probabilities is None:
        equation = "; its equation is not supported here" if block.get("equation") else ""
        raise block.place.error(f"{name!r} has no table ('probs' or 'functable'){equation}.")
    elif re.match(r"[\s(]*#", probabilities.raw):
        _add_function(assembly, name, parents, probabilities)
    else:
        unspecified = probabilities.raw.find("@")
        if unspecified >= 0:
            place = Place.at(probabilities.source, probabilities.start + unspecified)
            raise place.error(f"The table of {name!r} has an entry '@...', which means that it is not specified.")
        values = probabilities.numbers(assembly.variables[name].num_states)
        assembly.add_table(name, parents, values, probabilities.place)


def _add_function(assembly: Assembly, name: str, parents: Sequence[str], table: Value) -> None:
    """A state, by name or as `#position`, for each assignment to the parents."""
    known: Mapping[str, int] = {str(state): i for i, state in enumerate(assembly.variables[name].states)}
    positions = []
    for word in table.words():
        text = word.group().strip('"')
        position = int(text[1:]) if re.fullmatch(r"#\d{1,9}", text) else known.get(text, -1)
        if not 0 <= position < len(known):
            place = Place.at(table.source, word.start())
            raise place.error(f"{shown(text)} is not a state of {name!r}.{suggestion(text, known)}")
        positions.append(position)
    assembly.add_function(name, parents, positions, table.place)


FORMAT = Format("DNE", (".dne", ".dnet"), parse_dne, None)
