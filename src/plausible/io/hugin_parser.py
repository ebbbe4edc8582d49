"""Reading Hugin's NET files: discrete nodes with tables, continuous ones with conditional Gaussians, and decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Final

import numpy as np

from plausible.base import Floats
from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD
from plausible.cpds.reading import Rounding
from plausible.decisions import InfluenceDiagram
from plausible.errors import PlausibleWarning, suggestion
from plausible.io.assembly import Assembly, Place, check_axes, count_text, warn_reader
from plausible.io.blocks import Block, Value, parse_blocks
from plausible.io.formats import restore_name, restore_states
from plausible.io.scanner import blank_comments, merged, numbers, shown
from plausible.models import BayesianNetwork, Notes, VariableNotes
from plausible.variables import Variable

#: Words that can't be the name of a node.
KEYWORDS: Final = frozenset(
    ("net", "class", "node", "discrete", "continuous", "decision", "utility", "function", "potential", "normal")
)

_COMMENTS: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|(?P<comment>%[^\n]*)', re.DOTALL)
_NODE: Final = re.compile(r"(?:(discrete|continuous) )?(node|decision|utility) (\S+)")
_FUNCTION: Final = re.compile(r"(?:(?:discrete|continuous) )?function (?:node )?(\S+)")
_OTHER: Final = re.compile(r"(?:(?:discrete|continuous) )?(function|class|instance|object)\b")
_CLASS: Final = re.compile(r"class (\S+)")
_POTENTIAL: Final = re.compile(r"potential ?\(([^|()]*)(?:\|([^|()]*))?\)")
_NAMES: Final = re.compile(r"[^\s,]+")
_NORMAL: Final = re.compile(r"normal\s*\(([^,()]*),([^,()]*)\)")
_NUMBER: Final = r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_NAME: Final = r"[^\W\d]\w*"
_TERM: Final = re.compile(
    rf"\s*([+-]?)\s*(?:({_NUMBER})\s*\*\s*({_NAME})|({_NAME})(?:\s*\*\s*({_NUMBER}))?|({_NUMBER}))\s*(?=[+-]|\Z)"
)


def legal(name: str) -> str:
    """A C identifier, as NET wants it, that looks like the name."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{text}" if not text or text[0].isdigit() or text in KEYWORDS else text


def parse_hugin(text: str, *, lenient: bool = False) -> BayesianNetwork | InfluenceDiagram:
    """The network in a text of Hugin's NET language; with decisions or utilities, the influence diagram.

    Tables list parents in the order of the potential's head, the child's state changing fastest. The potential of a
    decision has no table: its head lists what the decision sees. A class that stands by itself, without inputs and
    instances of others, is a network, too. Rows of ones, as Hugin has them where nobody filled in anything, are
    uniform. Function nodes, which only report what follows from others, are left out with a warning, unless something
    depends on them. `lenient` is as for `load`.

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
    assembly = Assembly(lenient, notes=notes)
    names: dict[str, str] = {}
    functions = _functions(parts)
    for block in parts.blocks:
        if (node := _NODE.fullmatch(block.head)) is not None:
            _add_node(assembly, block, node, names)
        elif not block.head.startswith("potential") and block.head != "net" and not _FUNCTION.fullmatch(block.head):
            raise _not_known(block)
    unfilled = [
        name
        for block in parts.blocks
        if block.head.startswith("potential")
        and (name := _add_potential(assembly, block, names, functions)) is not None
    ]
    model = assembly.model()
    if unfilled:
        warn_reader(f"Rows of ones in the tables of {unfilled} were read as uniform.", PlausibleWarning)
    if functions:
        left_out = f"The function nodes {sorted(functions)}, on which nothing depends, were left out."
        warn_reader(left_out, PlausibleWarning)
    return model


def _whole(tree: Block) -> tuple[Block, Notes]:
    """The block with all nodes and potentials, which is the file or the only class in it, and what it says of itself.

    Of the fields of a class, its name is that of the network; that it has no inputs goes without saying.
    """
    if len(tree.blocks) != 1 or (head := _CLASS.fullmatch(tree.blocks[0].head)) is None:
        nets = [block for block in tree.blocks if block.head == "net"]
        if len(nets) > 1:
            raise nets[1].place.error("The file has two 'net' blocks.")
        return tree, _network_notes(nets[0]) if nets else Notes()
    block = tree.blocks[0]
    inputs = block.get("inputs")
    if inputs is not None and inputs.items():
        raise inputs.place.error("The class has inputs, which stand for nodes of other files: it is no whole network.")
    notes = _network_notes(block)
    properties = {key: text for key, text in notes.properties.items() if key not in ("inputs", "outputs")}
    return block, replace(notes, name=notes.name or head[1], properties=MappingProxyType(properties))


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
    if other is not None:
        return block.place.error(f"{shown(block.head)}: {other[1]} blocks are not supported here.")
    known = ("net", "node", "discrete node", "continuous node", "decision", "utility", "potential")
    hint = suggestion(block.head.split()[0], known)
    return block.place.error(f"Expected 'net', 'node' or 'potential', not {shown(block.head)}.{hint}")


def _add_node(assembly: Assembly, block: Block, head: re.Match[str], names: dict[str, str]) -> None:
    is_continuous, kind, written = head[1] == "continuous", head[2], head[3]
    if written in names:
        raise block.place.error(f"The node {written!r} is declared twice.")
    name = names[written] = restore_name(written, json.dumps(block.text("plausible_name")), legal)
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
    listed, exact = block.get("position"), block.get("plausible_position")
    position = None if listed is None else _pair(listed)
    if position is not None and exact is not None:
        # To the fraction, unless the node was moved by a program that does not know the exact field.
        precise = _pair(exact)
        position = precise if all(abs(a - b) <= 0.5 for a, b in zip(position, precise, strict=True)) else position
    own = ("plausible_name", "plausible_states", "plausible_position", "plausible_properties")
    properties = _properties(block, ("states", "label", "HR_Desc", "position", *own))
    return VariableNotes(block.text("label"), block.text("HR_Desc"), position, properties)


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


def _add_potential(
    assembly: Assembly, block: Block, names: Mapping[str, str], functions: Collection[str]
) -> str | None:
    """The distribution, the numbers or the parents in a potential; the node, if rows of its table are not filled in."""
    head = _POTENTIAL.fullmatch(block.head)
    if head is None:
        raise block.place.error(f"Expected 'potential ( child | parents )', not {shown(block.head)}.")
    children, parents = _NAMES.findall(head[1]), _NAMES.findall(head[2] or "")
    if len(children) == 1 and children[0] in functions:
        return None
    if function := next((parent for parent in parents if parent in functions), None):
        raise block.place.error(
            f"{', '.join(children)} depends on the function node {function!r}, which can't be read: make that a node "
            "with states and a table."
        )
    if len(children) != 1:
        raise block.place.error("Expected one node before the bar: a potential over several is no distribution.")
    for name in (*children, *parents):
        if name not in names:
            raise block.place.error(f"{name!r}, in this potential, is not declared.{suggestion(name, names)}")
    child, given = names[children[0]], [names[parent] for parent in parents]
    data, is_decision, is_filled = block.get("data"), assembly.is_decision(child), True
    if data is None and not is_decision:
        model = "; expressions ('model_data') are not supported here" if block.get("model_data") else ""
        raise block.place.error(f"The potential of {child!r} has no 'data'{model}.")
    if data is None or is_decision:
        assembly.add_information(child, given, block.place)
    elif assembly.is_utility(child):
        assembly.add_utility_values(child, given, data.numbers(), data.place)
    elif assembly.variables[child].is_continuous:

        def make(variable: Variable, scope: tuple[Variable, ...]) -> tuple[CPD, Rounding | None]:
            return _gaussian_cpd(variable, dict(zip(parents, scope, strict=True)), data), None

        assembly.add_distribution(child, given, make, data.place)
    else:
        size = assembly.variables[child].num_states
        values, is_filled = _filled(data.numbers(size), size)
        assembly.add_table(child, given, values, data.place)
    others = _properties(block, () if is_decision else ("data",))
    assembly.add_properties(child, {f"potential.{key}": text for key, text in others.items()})
    return None if is_filled else child


def _filled(values: Floats, size: int) -> tuple[Floats, bool]:
    """The numbers of a table with uniform rows in place of those of ones, and whether there were none of these."""
    if size < 2 or values.size % size:
        return values, True
    rows = values.reshape(-1, size)
    are_ones = (rows == 1).all(axis=1)
    return np.where(are_ones[:, None], 1 / size, rows).ravel(), not are_ones.any()


def _gaussian_cpd(variable: Variable, parents: Mapping[str, Variable], data: Value) -> CPD:
    """The distribution in the data of a potential; `parents` are keyed by their names in the file."""
    discrete = [parent for parent in parents.values() if not parent.is_continuous]
    continuous = {written: parent.name for written, parent in parents.items() if parent.is_continuous}
    shape = [parent.num_states for parent in discrete]
    matches = list(_NORMAL.finditer(data.source, data.start, data.end))
    if _NORMAL.sub("", data.raw).strip("() \t\r\n,") or not matches:
        raise data.place.error(f"Expected 'normal ( mean, variance )' for {variable.name!r}, not {shown(data.raw)}.")
    check_axes(variable.name, shape, data.place)
    if len(matches) != prod(shape):
        needed = count_text(prod(shape))
        raise data.place.error(f"{variable.name!r} needs {needed} normal distributions, not {len(matches)}.")
    means = [_mean(match, continuous) for match in matches]
    intercepts, variances = [mean.pop("") for mean in means], [_variance(match) for match in matches]
    if not discrete:
        return LinearGaussianCPD(variable, intercepts[0], means[0], variances[0], list(parents.values()))
    constants, spreads = (np.array(row, dtype=np.float64).reshape(shape) for row in (intercepts, variances))
    slopes = {name: np.array([mean[name] for mean in means]).reshape(shape) for name in continuous.values()}
    return ConditionalGaussianCPD(variable, constants, slopes, spreads, list(parents.values()))


def _variance(match: re.Match[str]) -> float:
    found = numbers(match[2])
    if found is None or found.size != 1:
        raise Place.at(match.string, match.start(2)).error(f"Expected a variance, not {shown(match[2])}.")
    return float(found[0])


def _mean(match: re.Match[str], continuous: Mapping[str, str]) -> dict[str, float]:
    """The coefficient of each continuous parent, and under the empty name the intercept."""
    total = dict.fromkeys(["", *continuous.values()], 0.0)
    position, end = match.span(1)
    while position < end:
        term = _TERM.match(match.string, position, end)
        if term is None:
            found = shown(match.string[position:end])
            raise Place.at(match.string, position).error(f"Expected a sum like '1.5 + 2 * X', not {found}.")
        name = term[3] or term[4]
        if name is not None and name not in continuous:
            raise Place.at(match.string, position).error(f"{name!r} is not a continuous parent of this node.")
        size = float(term[2] or term[5] or term[6] or 1.0)
        total[continuous[name] if name else ""] += -size if term[1] == "-" else size
        position = term.end()
    return total
