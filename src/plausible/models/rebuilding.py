"""CPDs over other variables: renamed, with renamed states, or read off a joint table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from plausible.cpds import CPD, TableCPD
from plausible.errors import InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.variables import State, Variable

__all__ = ["conditional_table", "rebuilt", "renamed_variables", "with_new_states"]


def conditional_table(joint: Factor, child: str) -> TableCPD:
    """P(child | the other variables of the joint); uniform where the others' assignment has probability zero.

    >>> conditional_table(Factor({"A": 2, "B": 2}, [[0.1, 0.3], [0.0, 0.0]]), "B").values
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    parents = [variable for variable in joint.scope if variable.name != child]
    family = joint.reorder([*(parent.name for parent in parents), child])
    rows = np.array(family.normalize(over=child).values)
    rows[family.marginalize(child).values == 0] = 1.0 / family.variable(child).num_states
    return TableCPD(family.variable(child), rows, parents)


def rebuilt(cpd: CPD, variables: Mapping[str, Variable]) -> CPD:
    """The same distribution over other variables with as many states each; `variables` is keyed by the old names."""
    parents = tuple(variables[name] for name in cpd.parent_names)
    if (*parents, variables[cpd.variable.name]) == cpd.scope:
        return cpd
    return type(cpd).from_record(variables[cpd.variable.name], parents, cpd.to_record())


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
