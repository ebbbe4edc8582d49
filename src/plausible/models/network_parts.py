"""What a network is made of: CPDs, inputs and notes as given, rebuilt over other variables, and shown in notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np

from plausible.base.records import TextTable, html_page, num_shown, shown
from plausible.cpds import CPD, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidModel, UnknownVariable, shortened
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.graphs.base_graph import BaseGraph
from plausible.variables import State, Variable
from plausible.variables.variable import states_cell


@dataclass(frozen=True, slots=True)
class VariableNotes:
    """Notes on one variable: a longer label, a description, its position, and properties as text."""

    label: str = ""
    description: str = ""
    position: tuple[float, float] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "properties", MappingProxyType(dict(self.properties)))

    def __hash__(self) -> int:
        return hash((self.label, self.description, self.position, frozenset(self.properties.items())))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: a mapping proxy can't be pickled."""
        return VariableNotes, (self.label, self.description, self.position, dict(self.properties))


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes on a model. They never affect an answer or whether two models are equal.

    >>> notes = Notes(name="Asia").with_variable("smoke", VariableNotes(label="Smoker?"))
    >>> notes.of("smoke").label
    'Smoker?'
    """

    name: str = ""
    description: str = ""
    reference: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, VariableNotes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "properties", MappingProxyType(dict(self.properties)))
        object.__setattr__(self, "variables", MappingProxyType(dict(self.variables)))

    def of(self, name: str) -> VariableNotes:
        """The notes on a variable; empty ones where there are none."""
        return self.variables.get(name, VariableNotes())

    def with_variable(self, name: str, notes: VariableNotes) -> Notes:
        """These notes with those on one variable replaced."""
        return replace(self, variables={**self.variables, name: notes})

    def renamed(self, names: Mapping[str, str]) -> Notes:
        """These notes with some variables renamed."""
        return replace(self, variables={names.get(name, name): notes for name, notes in self.variables.items()})

    def __hash__(self) -> int:
        own = (self.name, self.description, self.reference)
        return hash((own, frozenset(self.properties.items()), frozenset(self.variables.items())))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: a mapping proxy can't be pickled."""
        return Notes, (self.name, self.description, self.reference, dict(self.properties), dict(self.variables))


#: The notes of models that have none.
NO_NOTES = Notes()

#: Lists in a cell that are longer are cut.
_MAX_LISTED = 12


class NetworkLike(Protocol):
    """A Bayesian network, as far as its table shows it."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable."""

    @property
    def cpds(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution."""


def network_table(network: NetworkLike) -> TextTable:
    """A row for each variable: states, parents, kind of distribution and number of parameters."""
    shown = list(network.variables.items())[: num_shown(len(network.variables))]
    rows = tuple((name, states_cell(variable), *_distribution(network, name)) for name, variable in shown)
    header = ("variable", "states", "parents", "distribution", "parameters")
    return TextTable(header, rows, 1, len(network.variables) - len(rows))


def _distribution(network: NetworkLike, name: str) -> tuple[str, str, str]:
    if name not in network.cpds:
        return ("", "input", "")
    cpd = network.cpds[name]
    return (_listed(cpd.parent_names), cpd.kind, str(cpd.num_parameters))


def variables_table(variables: Collection[Variable]) -> TextTable:
    """A row for each variable: its states."""
    shown = list(variables)[: num_shown(len(variables))]
    rows = tuple((variable.name, states_cell(variable)) for variable in shown)
    return TextTable(("variable", "states"), rows, 2, len(variables) - len(rows))


def factors_table(factors: Sequence[Factor], names: Iterable[str] | None = None) -> TextTable:
    """A row for each factor: its name or number, its variables and number of entries."""
    shown = factors[: num_shown(len(factors))]
    labels = [f"factor {place + 1}" for place in range(len(shown))] if names is None else names
    rows = tuple((label, _listed(factor.names), str(factor.size)) for label, factor in zip(labels, shown, strict=False))
    return TextTable(("factor", "variables", "entries"), rows, 1, len(factors) - len(rows))


def learned_html(network: NetworkLike, title: str) -> str:
    """What was learned, in a sentence, and the network below."""
    return html_page(title, network_table(network))


def title_of(value: object) -> str:
    """What a value prints as, without the brackets that it has in a shell."""
    return repr(value).removeprefix("<").removesuffix(">")


def _listed(names: Sequence[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _MAX_LISTED else ""
    return f"{', '.join(names[:_MAX_LISTED])}{more}"


PartT = TypeVar("PartT")


class ByName(dict[str, PartT]):
    """A dictionary whose error for an unknown name offers close matches."""

    def __missing__(self, name: str) -> NoReturn:
        raise UnknownVariable.named(name, self, "this network")


def read_cpds(cpds: Sequence[CPD | Iterable[CPD]]) -> list[CPD]:
    """The CPDs given one by one or as one collection."""
    given: Any = cpds[0] if len(cpds) == 1 else cpds
    if isinstance(given, (str, Mapping)) or hasattr(given, "columns"):
        raise refuse_parts(given, given)
    listed = list(given) if isinstance(given, Iterable) else [given]
    for cpd in listed:
        if not isinstance(cpd, CPD):
            raise refuse_parts(given, cpd)
    return listed


def read_inputs(inputs: Any) -> tuple[Variable, ...]:
    """The variables without a distribution."""
    listed = tuple(inputs) if isinstance(inputs, Iterable) and not isinstance(inputs, str) else (inputs,)
    for variable in listed:
        if not isinstance(variable, Variable):
            raise InvalidModel(
                f"The inputs of a network are a list of Variable objects, not {variable!r}: "
                "no CPD says what states they have."
            )
    return listed


def collect_variables(variables: Iterable[Variable]) -> ByName[Variable]:
    """Name -> variable; none may stand twice."""
    found: ByName[Variable] = ByName()
    for variable in variables:
        if variable.name in found:
            raise InvalidModel(f"{variable.name!r} has two distributions in this network.")
        found[variable.name] = variable
    return found


_EXAMPLES = "TableCPD('A', [0.3, 0.7]) or TableCPD('B', rows, parents=['A'])"


def refuse_parts(given: Any, culprit: object) -> InvalidModel:
    """The error for `culprit`, which is no CPD; `given`, all that was handed in, tells what was meant."""
    advice = _advice(given, culprit)
    return InvalidModel(f"A BayesianNetwork is made of CPDs, not of {shortened(culprit)}.{advice}")


def _advice(given: Any, culprit: object) -> str:
    if isinstance(given, str) and "." in given and not any(character in given for character in "->;\n "):
        return f" A file is read by pb.load({given!r})."
    if hasattr(given, "columns"):
        return (
            " That is data: pb.learn.structure(frame) learns a graph from it, "
            "pb.learn.parameters('A -> B', frame) the probabilities of a graph."
        )
    if isinstance(given, Mapping) and any(isinstance(part, CPD) for part in given.values()):
        return " Give the values of the mapping: BayesianNetwork(cpds.values())."
    if isinstance(culprit, Factor):
        return " Factors make a MarkovNetwork; the distribution of a variable is TableCPD(name, values, parents=[...])."
    if hasattr(culprit, "graph") and hasattr(culprit, "variables"):
        return " That is a model already, and edits such as net.with_cpd(cpd) give a new one."
    if _is_graph(given):
        is_made = isinstance(given, BaseGraph)
        name = "graph" if is_made else shortened(given)
        alone = "" if is_made else f" The graph alone is pb.DAG({name})."
        return (
            f" A graph has no probabilities: learn them from data with pb.learn.parameters({name}, frame), "
            f"or give a CPD for each variable, such as {_EXAMPLES}.{alone}"
        )
    return f" A CPD is {_EXAMPLES}, for example."


def _is_graph(given: Any) -> bool:
    """Whether it is a graph or what one could be made of: arrow text, pairs, a networkx graph."""
    if isinstance(given, str) or hasattr(given, "edges"):
        return True
    parts = list(given) if isinstance(given, (list, tuple, set, frozenset)) else []
    return bool(parts) and all(isinstance(part, str) or (isinstance(part, tuple) and len(part) == 2) for part in parts)


def conditional_table(joint: Factor, child: str) -> TableCPD:
    """P(child | the other variables of the joint); uniform where the others' assignment has probability zero."""
    parents = [variable for variable in joint.scope if variable.name != child]
    family = joint.reorder([*(parent.name for parent in parents), child])
    rows = np.array(family.normalize(over=child).values)
    rows[family.marginalize(child).values == 0] = 1.0 / family.variable(child).num_states
    return TableCPD(family.variable(child), rows, parents)


def rebuilt(cpd: CPD, variables: Mapping[str, Variable]) -> CPD:
    """The same distribution over other variables with as many states each; `variables` is keyed by the old names."""
    return cpd.over(variables[cpd.variable.name], tuple(variables[name] for name in cpd.parent_names))


def renamed_variables(variables: Mapping[str, Variable], names: Mapping[str, str]) -> dict[str, Variable]:
    """Old name -> variable under its new name; two variables must not end up with the same one."""
    for name in names:
        if name not in variables:
            raise UnknownVariable.named(name, variables, "this model")
    renamed = {name: variable.renamed(names.get(name, name)) for name, variable in variables.items()}
    counts = Counter(variable.name for variable in renamed.values())
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise InvalidModel(f"Two variables would be called {repeated[0]!r}.")
    return renamed


def with_new_states(variable: Variable, states: Mapping[State, State]) -> Variable:
    """The variable with some of its states renamed, in the same order."""
    for state in states:
        variable.index(state)
    return Variable(variable.name, [states.get(state, state) for state in variable.states])


def family_text(cpd: CPD) -> str:
    """P(child | parents)."""
    given = f" | {', '.join(cpd.parent_names)}" if cpd.parent_names else ""
    return f"P({cpd.variable.name}{given})"


def contradicted(name: str, finding: object, value: object) -> ImpossibleEvidence:
    """The error for evidence against an intervention."""
    return ImpossibleEvidence(f"The evidence {name}={shown(finding)} contradicts do={{{name!r}: {shown(value)}}}.")


@dataclass(frozen=True, slots=True)
class Requisite:
    """What P(targets | evidence) can depend on, whatever the numbers of the network are."""

    distributions: frozenset[str]  # The variables whose conditional distributions matter
    findings: frozenset[str]  # The observed variables whose states matter


def requisite(
    graph: DAG, targets: Iterable[str], observed: Collection[str], weighed: Collection[str] = ()
) -> Requisite:
    """What a query needs, by bouncing a ball through the graph (Bayes-ball, Shachter 1998).

    The ball starts at each target as if it came from a child. An unobserved variable passes a ball from a child on to
    its parents and children, one from a parent to its children. An observed variable stops a ball from a child and
    sends one from a parent back to its parents. The distributions of all variables that send the ball to their parents
    are requisite: others are barren, or cut off from the targets by evidence.

    Variables that are `weighed` (by soft findings) let the ball through, and send one from a parent back as well, as
    one with an observed child would. Linear in the part of the graph that is visited.
    """
    known, soft = frozenset(observed), frozenset(weighed)
    to_parents: set[str] = set()
    to_children: set[str] = set()
    findings: set[str] = set()
    waiting = [(name, True) for name in targets if name not in known]  # (variable, whether from a child)
    while waiting:
        name, from_child = waiting.pop()
        if name in known:
            findings.add(name)
        if name not in to_parents and (name in soft or from_child == (name not in known)):
            to_parents.add(name)
            waiting += [(str(parent), True) for parent in graph.parents(name)]
        if name not in to_children and name not in known:
            to_children.add(name)
            waiting += [(str(child), False) for child in graph.children(name)]
    return Requisite(frozenset(to_parents), frozenset(findings))
