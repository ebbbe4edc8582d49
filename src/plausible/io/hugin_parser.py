"""Reading Hugin's NET files: discrete nodes with tables, continuous ones with conditional Gaussians, and decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.cpds.rows import Rounding
from plausible.decisions import InfluenceDiagram
from plausible.errors import PlausibleWarning, suggestion
from plausible.io.assembly import Assembly, Place, warn_reader
from plausible.io.blocks import Block, Value, parse_blocks
from plausible.io.hugin_gaussians import gaussian_cpd
from plausible.io.identifiers import restore_name, restore_states
from plausible.io.scanner import blank_comments, merged, shown
from plausible.models import BayesianNetwork, Notes, VariableNotes
from plausible.variables import Variable

#: Words that can't be the name of a node.
KEYWORDS: Final = frozenset(
    ("net", "class", "node", "discrete", "continuous", "decision", "utility", "function", "potential", "normal")
)

_COMMENTS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|(?P<comment>%[^\n]*)', re.DOTALL)
_NODE: Final = re.compile(r"(?:(discrete|continuous) )?(node|decision|utility) (\S+)")
_FUNCTION: Final = re.compile(r"(?:(?:discrete|continuous) )?function (?:node )?(\S+)")
_OTHER: Final = re.compile(r"(?:(?:discrete|continuous) )?(function|class|instance|object)\b")
_CLASS: Final = re.compile(r"class (\S+)")
_POTENTIAL: Final = re.compile(r"potential ?\(([^|()]*)(?:\|([^|()]*))?\)")
_NAMES: Final = re.compile(r"[^\s,]+")


def legal(name: str) -> str:
    """A C identifier, as NET wants it, that looks like the name.

    >>> legal("5-year survival"), legal("rain")
    ('_5_year_survival', 'rain')
    """
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{text}" if not text or text[0].isdigit() or text in KEYWORDS else text


def parse_hugin(text: str) -> BayesianNetwork | InfluenceDiagram:
    """The network in a text of Hugin's NET language; with decisions or utilities, the influence diagram.

    Tables list parents in the order of the potential's head, the child's state changing fastest. The potential of a
    decision has no table: its head lists what the decision sees. A class that stands by itself, without inputs and
    instances of others, is a network, too. Rows of ones, as Hugin has them where nobody filled in anything, are
    uniform. Function nodes, which only report what follows from others, are left out with a warning, unless something
    depends on them.

    >>> network = parse_hugin('''
    ... net { }
    ... node rain { states = ("no" "yes"); }
    ... node grass { states = ("dry" "wet"); label = "the lawn"; }
    ... potential ( rain ) { data = ( 0.8 0.2 ); }
    ... potential ( grass | rain ) { data = ((0.9 0.1)   % rain = no
    ...                                      (0.1 0.9)); }
    ... ''')
    >>> network.cpd("grass").values.tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    tree = parse_blocks(blank_comments(text, _COMMENTS, "%"))
    if tree.fields:
        raise tree.fields[0][1].place.error(f"The field {tree.fields[0][0]!r} stands outside of any block.")
    if not tree.blocks:
        raise Place(1, 1).error("Expected 'net', 'node' or 'potential'; the file has no block.")
    parts, notes = _whole(tree)
    assembly = Assembly(notes=notes)
    names: dict[str, str] = {}
    functions = _functions(parts)
    for block in parts.blocks:
        if (node := _NODE.fullmatch(block.head)) is not None:
            _add_node(assembly, block, node, names)
        elif not block.head.startswith("potential") and block.head != "net" and not _FUNCTION.fullmatch(block.head):
            raise _not_known(block)
    potentials = [block for block in _of_kind(parts, "potential") if not _is_of_function(block, functions)]
    unfilled = [name for block in potentials if (name := _add_potential(assembly, block, names)) is not None]
    model = assembly.model()
    if unfilled:
        warn_reader(f"Rows of ones in the tables of {unfilled} were read as uniform.", PlausibleWarning)
    if functions:
        warn_reader(
            f"The function nodes {sorted(functions)}, on which nothing depends, were left out.", PlausibleWarning
        )
    return model


def _whole(tree: Block) -> tuple[Block, Notes]:
    """The block with all nodes and potentials, which is the file or the only class in it, and what it says of itself.

    Of the fields of a class, its name is that of the network; that it has no inputs goes without saying.
    """
    if len(tree.blocks) != 1 or (head := _CLASS.fullmatch(tree.blocks[0].head)) is None:
        return tree, next((_network_notes(block) for block in _of_kind(tree, "net")), Notes())
    block = tree.blocks[0]
    inputs = block.get("inputs")
    if inputs is not None and inputs.items():
        raise inputs.place.error("The class has inputs, which stand for nodes of other files: it is no whole network.")
    notes = _network_notes(block)
    properties = {key: text for key, text in notes.properties.items() if key not in ("inputs", "outputs")}
    return block, replace(notes, name=notes.name or head[1], properties=MappingProxyType(properties))


def _of_kind(tree: Block, kind: str) -> list[Block]:
    found = [block for block in tree.blocks if block.head == kind or (kind != "net" and block.head.startswith(kind))]
    if kind == "net" and len(found) > 1:
        raise found[1].place.error("The file has two 'net' blocks.")
    return found


def _functions(tree: Block) -> set[str]:
    """The names of function nodes, none of which is declared a second time."""
    declared: dict[str, bool] = {}
    for block in tree.blocks:
        function, node = _FUNCTION.fullmatch(block.head), _NODE.fullmatch(block.head)
        name = function[1] if function else node[3] if node else None
        if name is None:
            continue
        if name in declared and (function or declared[name]):
            raise block.place.error(f"The node {name!r} is declared twice.")
        declared[name] = function is not None
    return {name for name, is_function in declared.items() if is_function}


def _not_known(block: Block) -> Exception:
    other = _OTHER.match(block.head)
    if other is None:
        word = block.head.split()[0]
        known = ("net", "node", "discrete node", "continuous node", "decision", "utility", "potential")
        hint = suggestion(word, known)
        return block.place.error(f"Expected 'net', 'node' or 'potential', not {shown(block.head)}.{hint}")
    return block.place.error(f"{shown(block.head)}: {other[1]} blocks are not supported here.")


# --- nodes ---


def _add_node(assembly: Assembly, block: Block, head: re.Match[str], names: dict[str, str]) -> None:
    is_continuous, kind, written = head[1] == "continuous", head[2], head[3]
    if written in names:
        raise block.place.error(f"The node {written!r} is declared twice.")
    name = restore_name(written, json.dumps(block.text("plausible_name")), legal)
    names[written] = name
    states = block.get("states")
    if kind == "decision" and is_continuous:
        raise block.place.error(f"The decision {written!r} is continuous; only decisions with states can be read.")
    if kind == "utility" or is_continuous:
        if states is not None:
            raise states.place.error(f"The {block.head.rpartition(' ')[0]} {written!r} can't have states.")
        if kind == "utility":
            assembly.add_utility(name, block.place, _node_notes(block))
        else:
            assembly.add_variable(name, None, block.place, _node_notes(block))
        return
    if states is None:
        raise block.place.error(f"The {kind} {written!r} has no states.")
    meant = restore_states(states.items(), block.text("plausible_states") or None, str)
    add = assembly.add_decision if kind == "decision" else assembly.add_variable
    add(name, meant, block.place, _node_notes(block))


def _node_notes(block: Block) -> VariableNotes:
    exact = ("plausible_name", "plausible_states", "plausible_position", "plausible_properties")
    known = ("states", "label", "HR_Desc", "position", *exact)
    return VariableNotes(
        label=block.text("label"),
        description=block.text("HR_Desc"),
        position=_position(block),
        properties=_properties(block, known),
    )


def _position(block: Block) -> tuple[float, float] | None:
    """Where a node is drawn; to the fraction, unless it was moved by a program that does not know the exact field."""
    listed, exact = block.get("position"), block.get("plausible_position")
    if listed is None:
        return None
    position = _pair(listed)
    precise = position if exact is None else _pair(exact)
    return precise if all(abs(a - b) <= 0.5 for a, b in zip(position, precise, strict=True)) else position


def _pair(value: Value) -> tuple[float, float]:
    numbers = value.numbers()
    if numbers.size != 2:
        raise value.place.error("Expected 'position = (x y)'.")
    return float(numbers[0]), float(numbers[1])


def _network_notes(block: Block) -> Notes:
    known = ("name", "HR_Desc", "reference", "plausible_properties")
    return Notes(block.text("name"), block.text("HR_Desc"), block.text("reference"), _properties(block, known))


def _properties(block: Block, known: Sequence[str]) -> Mapping[str, str]:
    """All other fields."""
    found = merged((key, value.text()) for key, value in block.fields if key not in known)
    try:
        exact = json.loads(block.text("plausible_properties") or "{}")
    except (ValueError, RecursionError):
        exact = None
    if isinstance(exact, dict) and all(isinstance(text, str) for text in exact.values()):
        found |= exact
    return MappingProxyType(found)


# --- potentials ---


def _is_of_function(block: Block, functions: Collection[str]) -> bool:
    """Whether this is the potential of a function node; that of another node must not depend on one."""
    head = _POTENTIAL.fullmatch(block.head)
    if head is None:
        return False
    children = _NAMES.findall(head[1])
    if len(children) == 1 and children[0] in functions:
        return True
    for parent in _NAMES.findall(head[2] or ""):
        if parent in functions:
            raise block.place.error(
                f"{', '.join(children)} depends on the function node {parent!r}, which can't be read: make that a node "
                "with states and a table."
            )
    return False


def _add_potential(assembly: Assembly, block: Block, names: Mapping[str, str]) -> str | None:
    """The distribution, the numbers or the parents in a potential; the node, if rows of its table are not filled in."""
    head = _POTENTIAL.fullmatch(block.head)
    if head is None:
        raise block.place.error(f"Expected 'potential ( child | parents )', not {shown(block.head)}.")
    children, parents = _NAMES.findall(head[1]), _NAMES.findall(head[2] or "")
    if len(children) != 1:
        raise block.place.error("Expected one node before the bar: a potential over several is no distribution.")
    for name in (*children, *parents):
        if name not in names:
            raise block.place.error(f"{name!r}, in this potential, is not declared.{suggestion(name, names)}")
    child, given = names[children[0]], [names[parent] for parent in parents]
    if assembly.is_decision(child):
        assembly.add_information(child, given, block.place)
        assembly.add_properties(child, {f"potential.{key}": text for key, text in _properties(block, ()).items()})
        return None
    unfilled = None
    data = block.get("data")
    if data is None:
        model = "; expressions ('model_data') are not supported here" if block.get("model_data") else ""
        raise block.place.error(f"The potential of {child!r} has no 'data'{model}.")
    if assembly.is_utility(child):
        assembly.add_utility_values(child, given, data.numbers(), data.place)
    elif assembly.variables[child].is_continuous:
        _add_gaussian(assembly, child, parents, data, names)
    else:
        values, is_filled = _filled(data.numbers(assembly.variables[child].num_states), assembly.variables[child])
        assembly.add_table(child, given, values, data.place)
        unfilled = None if is_filled else child
    others = _properties(block, ("data",))
    assembly.add_properties(child, {f"potential.{key}": text for key, text in others.items()})
    return unfilled


def _filled(values: Floats, variable: Variable) -> tuple[Floats, bool]:
    """The numbers of a table with uniform rows in place of those of ones, and whether there were none of these."""
    size = variable.num_states
    if size < 2 or values.size % size:
        return values, True
    rows = values.reshape(-1, size)
    are_ones = (rows == 1).all(axis=1)
    return np.where(are_ones[:, None], 1 / size, rows).ravel(), not are_ones.any()


def _add_gaussian(
    assembly: Assembly, child: str, parents: Sequence[str], data: Value, names: Mapping[str, str]
) -> None:
    def make(variable: Variable, given: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
        return gaussian_cpd(variable, dict(zip(parents, given, strict=True)), data), None

    assembly.add_distribution(child, [names[parent] for parent in parents], make, data.place)
