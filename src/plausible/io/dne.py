"""DNE, the text format of Netica: read only.

Nodes with states and tables (`probs`) or functions (`functable`) are read, and continuous ones that Netica has cut
into intervals (`levels`). With nodes of the kinds DECISION and UTILITY it is an influence diagram. What Netica keeps
about windows (`visual`) is passed over; other fields become properties.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
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


def parse_dne(text: str, *, lenient: bool = False) -> BayesianNetwork | InfluenceDiagram:
    """The network or influence diagram in a DNE text; `lenient` as for `load`.

    Tables list parents in order, the child's state changing fastest.

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
    assembly = Assembly(lenient, notes=_network_notes(tree))
    nodes: list[tuple[str, Block]] = []
    constants: set[str] = set()  # texts on the canvas, and numbers for equations
    for block in tree.blocks:
        match = _NODE.fullmatch(block.head)
        if match is None and block.head.startswith("node"):
            raise block.place.error(f"Expected 'node name', not {shown(block.head)}.")
        if match is None:
            continue
        kind = block.text("kind").upper() or "NATURE"
        if kind not in _KINDS:
            raise block.place.error(f"{match[1]!r} is of kind {kind!r}.{suggestion(kind, _KINDS)}")
        if kind == "CONSTANT":
            constants.add(match[1])
            continue
        nodes.append((match[1], block))
        if kind == "UTILITY":
            assembly.add_utility(match[1], block.place, _node_notes(block))
        else:
            notes = _node_notes(block)
            add = assembly.add_decision if kind == "DECISION" else assembly.add_variable
            add(match[1], _states(match[1], block), block.place, notes)
    for name, block in nodes:
        _add_definition(assembly, name, block, constants)
    return assembly.model()


def _network_notes(tree: Block) -> Notes:
    properties = {key: value.text() for key, value in tree.fields if value.block is None and key not in _KNOWN}
    for block in tree.blocks:
        if _NODE.fullmatch(block.head) and block.text("kind").upper() == "CONSTANT":
            properties[f"constant.{block.head.split()[-1]}"] = block.text("title")
    name = tree.text("title") or tree.head.removeprefix("bnet").strip()
    return Notes(name, tree.text("comment"), properties=MappingProxyType(properties))


def _node_notes(block: Block) -> VariableNotes:
    center = next((inner.get("center") for inner in block.blocks if inner.head.startswith("visual")), None)
    numbers = None if center is None else center.numbers()
    if center is not None and (numbers is None or numbers.size != 2):
        raise center.place.error("Expected 'center = (x, y)'.")
    position = None if numbers is None else (float(numbers[0]), float(numbers[1]))
    properties = {key: value.text() for key, value in block.fields if value.block is None and key not in _KNOWN}
    return VariableNotes(block.text("title"), block.text("comment"), position, MappingProxyType(properties))


def _states(name: str, block: Block) -> Sequence[str]:
    """The states by name, by title, by their levels, or by number."""
    listed, titles, levels, count = map(block.get, ("states", "statetitles", "levels", "numstates"))
    if listed is not None:
        states = listed.items()
        if "" in states:
            raise listed.place.error(f"A state of {name!r} has no name.")
        if count is not None and count.raw != str(len(states)):
            raise count.place.error(f"{name!r} has {len(states)} states, but numstates = {shown(count.raw)}.")
        return states
    if titles is not None and "" not in (states := titles.items()) and len(set(states)) == len(states):
        return states
    if levels is not None:  # of a discrete node a state each, of a continuous one a state for each interval between
        is_discrete = block.text("discrete").upper() != "FALSE"
        return levels.items() if is_discrete else [_interval(*ends) for ends in pairwise(levels.items())]
    if count is None:
        equation = " (it has an equation)" if block.get("equation") else ""
        raise block.place.error(f"{name!r} has neither states nor levels{equation}: it can't be read.")
    if not re.fullmatch(r"\d{1,9}", count.raw) or int(count.raw) > _MAX_UNNAMED:
        raise count.place.error(f"Expected a number of states up to {_MAX_UNNAMED}, not {shown(count.raw)}.")
    return [f"state{i}" for i in range(int(count.raw))]


def _interval(low: str, high: str) -> str:
    if low.upper() in ("-INFINITY", "-INF"):
        return f"< {high}"
    return f">= {low}" if high.upper() in ("INFINITY", "INF") else f"{low} to {high}"


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
    probabilities, function = block.get("probs"), block.get("functable")
    equation = "; its equation is not supported here" if block.get("equation") else ""
    if assembly.is_decision(name):
        assembly.add_information(name, parents, block.place)
    elif assembly.is_utility(name):
        if function is None:
            raise block.place.error(f"The utility {name!r} has no table ('functable'){equation}.")
        assembly.add_utility_values(name, parents, function.numbers(), function.place)
    elif function is not None and (probabilities is None or block.text("chance").upper() == "DETERMIN"):
        _add_function(assembly, name, parents, function)
    elif probabilities is None:
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


FORMAT = Format("DNE", (".dne", ".dnet"), parse_dne, None, re.compile(r"bnet\b"))
