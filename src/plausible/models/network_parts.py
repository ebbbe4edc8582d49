"""What a network is made of: CPDs and inputs as given, and rebuilt over other variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from plausible.base import plain, shown
from plausible.cpds import CPD, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidModel, UnknownVariable, shortened
from plausible.factors import Factor
from plausible.graphs.base_graph import BaseGraph
from plausible.variables import State, Variable

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
    UnknownVariable.check_all(names, variables, "this model")
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


def contradicted(name: str, finding: object, value: object, setting: str = "", where: str = "") -> ImpossibleEvidence:
    """The error for evidence against an intervention, which may set a variable of one slice: there `setting` is it."""
    seen = f"{name}={shown(finding)}{where and f' in {where}'}"
    return ImpossibleEvidence(f"The evidence {seen} contradicts do={{{setting or name!r}: {shown(value)}}}.")


def variable_record(variable: Variable) -> dict[str, Any]:
    """A variable as files have it: states that are tuples become lists."""
    if variable.is_continuous:
        return {"name": variable.name, "continuous": True}
    return {"name": variable.name, "states": [_listed(state) for state in variable.states]}


def variable_of(record: Mapping[str, Any]) -> Variable:
    """The inverse of `variable_record`."""
    if record.get("continuous", False):
        return Variable(record["name"])
    return Variable(record["name"], [_tupled(state) for state in record["states"]])


def _listed(state: State) -> Any:
    return [_listed(part) for part in state] if isinstance(state, tuple) else plain(state)


def _tupled(state: Any) -> State:
    return tuple(_tupled(part) for part in state) if isinstance(state, list) else state
