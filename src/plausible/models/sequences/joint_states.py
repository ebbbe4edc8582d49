"""A dynamic network as a hidden Markov model, whose states are the joint states of what is hidden."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.cpds import CPD, ConditionalGaussianCPD, TableCPD
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.models.sequences.cpd_emission_rows import LAG
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import Emission, ProductEmission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.reading_models import read_emission
from plausible.models.sequences.template import Template
from plausible.variables import Variable

#: The largest matrix of transitions between joint states.
_MOST_ENTRIES = 2**24


def hidden_markov_model_of(template: Template, observed: Collection[str], state: str) -> HiddenMarkovModel:
    """The hidden Markov model whose states are the joint states of all variables that are not observed.

    Parameters
    ----------
    template
        Of the dynamic network.
    observed
        The variables that rows have columns of.
    state
        What the joint state is called, where several variables are hidden.
    """
    hidden = _hidden(template, observed)
    _check_parents(template, [variable.name for variable in hidden])
    size = math.prod(variable.num_states for variable in hidden)
    if size**2 > _MOST_ENTRIES:
        raise TooLarge(
            f"The hidden variables have {size} joint states, and a hidden Markov model has a transition from each to "
            f"each, {float(size**2):.3g} numbers. The dynamic network answers without them: ask it, or observe more."
        )
    joint = hidden[0]
    if len(hidden) > 1:
        joint = Variable(state, list(product(*(variable.states for variable in hidden))))
    first, later = template.slices
    emissions = [
        _emission(first[name], later[name], hidden, joint)
        for name in template.variables
        if name in observed and name not in template.inputs
    ]
    return HiddenMarkovModel(
        _joint_table(first, hidden, ()).reshape(size),
        _joint_table(later, hidden, [variable.renamed(f"{variable.name}{LAG}") for variable in hidden]).reshape(
            size, size
        ),
        emissions[0] if len(emissions) == 1 else ProductEmission(emissions),
        joint.states,
        state=joint.name,
    )


def _hidden(template: Template, observed: Collection[str]) -> list[Variable]:
    """The variables that are neither observed nor inputs; there are some, and they have states."""
    for name in observed:
        if name not in template.variables:
            raise UnknownVariable.named(name, template.variables, "this dynamic network, though observed= has it")
    hidden = [
        variable
        for name, variable in template.variables.items()
        if name not in observed and name not in template.inputs
    ]
    if not hidden or len(hidden) + len(template.inputs) == len(template.variables):
        raise InvalidArgument("A hidden Markov model has something that is hidden and something that is observed=.")
    for variable in hidden:
        if variable.is_continuous:
            raise InvalidArgument(
                f"{variable.name!r} is continuous, and hidden states are joint states: name it in observed=."
            )
    return hidden


def _check_parents(template: Template, hidden: Sequence[str]) -> None:
    """Refuse what a chain of hidden states with observations of each can't express."""
    if template.num_first > 1:
        raise NotSupported(
            "The network looks back more than one step, or has several first slices of its own; the states of a hidden "
            "Markov model depend on the step before alone, and all steps but the first are alike."
        )
    for number in (0, 1):
        for name, parents in template.parents_at(number).items():
            for parent in parents:
                if name in hidden and parent.name not in hidden:
                    raise NotSupported(
                        f"{name!r} is hidden and depends on {str(parent)!r}, which is not: a hidden Markov model has "
                        "no such influence. Leave it out of observed=; rows may tell the state all the same."
                    )
                if name not in hidden and parent.name in hidden and parent.lag:
                    raise NotSupported(
                        f"{name!r} is observed and depends on {str(parent)!r}, which is hidden: in a hidden Markov "
                        "model, what is observed depends on the present state."
                    )


def _joint_table(cpds: Mapping[str, CPD], hidden: Sequence[Variable], before: Sequence[Variable]) -> Floats:
    """P(hidden | before): an axis for each variable before, then for each hidden one."""
    axes = [*before, *hidden]
    numbers = {axis.name: number for number, axis in enumerate(axes)}
    operands: list[Any] = [np.ones([axis.num_states for axis in axes]), list(range(len(axes)))]
    for variable in hidden:
        table = cpds[variable.name].to_table()
        operands += [table.values, [numbers[one.name] for one in table.scope]]
    return np.asarray(np.einsum(*operands, list(range(len(axes)))))


def _emission(first: CPD, later: CPD, hidden: Sequence[Variable], joint: Variable) -> Emission:
    """What the joint state lets us see in one column."""
    begin, present = (_given_joint(cpd, hidden, joint) for cpd in (first, later))
    if begin == present:
        return read_emission(present, joint, None, present.variable.name)
    return CPDEmission(present, joint, (), begin)


def _given_joint(cpd: CPD, hidden: Sequence[Variable], joint: Variable) -> CPD:
    """The distribution with the joint state in place of the hidden parents."""
    if len(hidden) == 1 and joint.name in cpd.parent_names:
        return cpd
    sizes = [variable.num_states for variable in hidden]
    positions = np.unravel_index(np.arange(joint.num_states), sizes)
    codes: dict[str, NDArray[Any]] = dict(zip((variable.name for variable in hidden), positions, strict=True))
    others = [parent for parent in cpd.parents if parent.name not in codes]
    if isinstance(cpd, ConditionalGaussianCPD) and all(parent.is_continuous for parent in others):
        place = tuple(codes[name] for name in cpd.discrete_names)
        slopes = {name: cpd.coefficients[name][place] for name in cpd.continuous_names}
        return ConditionalGaussianCPD(cpd.variable, cpd.intercept[place], slopes, cpd.variance[place], [joint, *others])
    if others or cpd.variable.is_continuous:
        raise NotSupported(
            f"{cpd.variable.name!r} depends on {list(cpd.parent_names)} by a {type(cpd).__name__}, which can't be told "
            "for joint states: observed variables with states depend on hidden ones alone, numbers on others by a "
            "ConditionalGaussianCPD."
        )
    rows = cpd.to_table().values[tuple(codes[parent.name] for parent in cpd.parents)]
    return TableCPD(cpd.variable, np.broadcast_to(rows, (joint.num_states, cpd.variable.num_states)), [joint])
