"""DSL, the text format of early versions of GeNIe and SMILE: read only.

Nodes of the types CPT, TRUTHTABLE and NOISY_MAX are read; a noisy-max comes out as its table, because SMILE grades the
states of the child from the last (no effect) to the first, and so do its files. What GeNIe keeps for the screen and for
diagnosis is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Final

import numpy as np

from plausible.base import Floats
from plausible.cpds import CPD, NoisyMax, TableCPD
from plausible.cpds.reading import Rounding, checked_rows
from plausible.errors import suggestion
from plausible.io.assembly import Assembly, Place, check_axes, count_text
from plausible.io.blocks import Block, Value, parse_blocks, sole_block
from plausible.io.formats import Format
from plausible.io.scanner import C_COMMENTS, blank_comments, shown
from plausible.models import BayesianNetwork, Notes, VariableNotes
from plausible.variables import Variable

#: A noisy-max may have a table of up to this many numbers.
MAX_NOISY_ENTRIES: Final = 2**22

_NODE: Final = re.compile(r"node (\S+)")
_TYPES: Final = ("CPT", "TRUTHTABLE", "NOISY_MAX")
_DIAGRAM: Final = {"LIST": "decision", "TABLE": "utility", "MAU": "utility"}
_RESULTS: Final = ("RESULTINGSTATES", "RESULTING_STATES")


def parse_dsl(text: str, *, lenient: bool = False) -> BayesianNetwork:
    """The network in a DSL text; `lenient` as for `load`.

    Tables list parents in order, the child's state changing fastest.

    >>> network = parse_dsl('''
    ... net lawn {
    ...   node rain { TYPE = CPT; PARENTS = (); DEFINITION = { NAMESTATES = (no, yes); PROBABILITIES = (0.8, 0.2); }; };
    ...   node grass { TYPE = TRUTHTABLE; HEADER = { ID = grass; NAME = "the lawn"; }; PARENTS = (rain);
    ...                DEFINITION = { NAMESTATES = (dry, wet); RESULTINGSTATES = (dry, wet); }; };
    ... };
    ... ''')
    >>> network.cpd("grass"), network.notes.of("grass").label
    (DeterministicCPD(grass | rain), 'the lawn')
    """
    tree = sole_block(parse_blocks(blank_comments(text, C_COMMENTS, ("//", "/*"))), "net")
    header = tree.inner("HEADER")
    name = header.text("NAME") or tree.head.removeprefix("net").strip()
    assembly = Assembly(lenient, notes=Notes(name, header.text("COMMENT"), properties=_user_properties(tree)))
    nodes: list[tuple[str, Block]] = []
    for block in tree.blocks:
        match = _NODE.fullmatch(block.head)
        if match is None:
            raise block.place.error(f"Expected 'node name {{ ... }}', not {shown(block.head)}.")
        states = _states(match[1], block)
        assembly.add_variable(match[1], states, block.place, _node_notes(match[1], block))
        nodes.append((match[1], block))
    for name, block in nodes:
        _add_distribution(assembly, name, block)
    return assembly.network()


def _node_notes(name: str, block: Block) -> VariableNotes:
    header, drawn = block.inner("HEADER"), block.inner("SCREEN").inner("POSITION")
    label, x, y = header.text("NAME"), drawn.get("CENTER_X"), drawn.get("CENTER_Y")
    position = None if x is None or y is None else (_number(x), _number(y))
    return VariableNotes("" if label == name else label, header.text("COMMENT"), position, _user_properties(block))


def _number(value: Value) -> float:
    try:
        return float(value.raw)
    except ValueError:
        raise value.place.error(f"Expected a number, not {shown(value.raw)}.") from None


def _user_properties(block: Block) -> Mapping[str, str]:
    found = {key: value.text() for key, value in block.inner("USER_PROPERTIES").fields}
    pages = block.inner("DOCUMENTATION").fields
    return MappingProxyType(found | {f"documentation.{key}": value.text() for key, value in pages})


def _states(name: str, block: Block) -> list[str]:
    kind = block.text("TYPE")
    if kind in _DIAGRAM:
        raise block.place.error(
            f"{name!r} is a {_DIAGRAM[kind]} node: this is an influence diagram, which is read from XDSL files only. "
            "Save it as one in GeNIe."
        )
    if kind not in _TYPES:
        raise block.place.error(f"{name!r} is of type {kind!r}, which is not supported here.{suggestion(kind, _TYPES)}")
    states = block.inner("DEFINITION").get("NAMESTATES")
    if states is None:
        raise block.place.error(f"The definition of {name!r} has no NAMESTATES.")
    return states.items()


def _add_distribution(assembly: Assembly, name: str, block: Block) -> None:
    listed = block.get("PARENTS")
    parents = [] if listed is None else listed.items()
    if listed is not None:
        assembly.parents(name, parents, listed.place)
    definition = block.inner("DEFINITION")
    results = next((value for field in _RESULTS if (value := definition.get(field)) is not None), None)
    variable = assembly.variables[name]
    if results is not None and block.text("TYPE") == "TRUTHTABLE":
        listed_states = results.items()
        if unknown := [state for state in listed_states if not variable.has_state(state)]:
            raise results.place.error(str(variable.unknown_state(unknown[0])))
        assembly.add_function(name, parents, [variable.index(state) for state in listed_states], results.place)
        return
    numbers = definition.get("PROBABILITIES")
    if numbers is None:
        raise block.place.error(f"The definition of {name!r} has no PROBABILITIES.")
    values = numbers.numbers(variable.num_states)
    if block.text("TYPE") == "NOISY_MAX":
        _add_noisy_max(assembly, name, parents, definition.get("STRENGTHS"), values, numbers.place)
    else:
        assembly.add_table(name, parents, values, numbers.place)


def _add_noisy_max(
    assembly: Assembly, name: str, parents: Sequence[str], strengths: Value | None, values: Floats, place: Place
) -> None:
    def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
        check_axes(name, given, place)
        wanted = (1 + sum(parent.num_states for parent in given)) * variable.num_states
        if values.size != wanted:
            raise place.error(f"The noisy-max of {name!r} needs {wanted} numbers; the file has {values.size}.")
        num_entries = prod(parent.num_states for parent in given) * variable.num_states
        if num_entries > MAX_NOISY_ENTRIES:
            raise place.error(
                f"The noisy-max of {name!r} would be a table of {count_text(num_entries)} numbers; "
                f"the limit is {MAX_NOISY_ENTRIES}."
            )
        listed = values.reshape(-1, variable.num_states)
        rows, rounding = assembly.of_probabilities(checked_rows, listed, f"the noisy-max of {name!r}", place)
        return noisy_max_table(variable, given, _orders(name, given, strengths), rows), rounding

    assembly.add_distribution(name, parents, make, place)


def _orders(name: str, parents: Sequence[Variable], strengths: Value | None) -> list[list[int]]:
    """For each parent the positions of its states, from the strongest to the one without effect."""
    if strengths is None:
        return [list(range(parent.num_states)) for parent in parents]
    listed = strengths.items()
    if len(listed) != sum(parent.num_states for parent in parents):
        raise strengths.place.error(f"The strengths of {name!r} must list each state of each parent.")
    orders, start = [], 0
    for parent in parents:
        order = listed[start : start + parent.num_states]
        if sorted(order) != sorted(map(str, range(parent.num_states))):
            raise strengths.place.error(f"The strengths of {parent.name!r} must list 0 to {parent.num_states - 1}.")
        orders.append([int(position) for position in order])
        start += parent.num_states
    return orders


def noisy_max_table(
    variable: Variable, parents: tuple[Variable, ...], orders: Sequence[Sequence[int]], rows: Floats
) -> TableCPD:
    """The table of SMILE's noisy-max, whose last state is the one without effect."""
    graded = Variable(variable.name, variable.states[::-1])
    effects, start = [], 0
    for parent, order in zip(parents, orders, strict=True):
        effect = np.empty((parent.num_states, variable.num_states))
        effect[list(order)] = rows[start : start + parent.num_states, ::-1]
        effects.append(effect)
        start += parent.num_states
    table = NoisyMax(graded, parents, effects, rows[-1, ::-1]).to_table()
    return TableCPD.from_rows(variable, parents, np.ascontiguousarray(table.values[..., ::-1]))[0]


FORMAT = Format("DSL", (".dsl",), parse_dsl, None, re.compile(r"net\s+\w"))
