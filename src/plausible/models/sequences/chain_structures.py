"""Hidden Markov models in other forms: of higher order, and as dynamic networks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.cpds import TableCPD
from plausible.errors import InvalidModel
from plausible.models.sequences.cpd_emissions import LAG
from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.reading_models import read_emission
from plausible.models.sequences.unrolling import emission_cpds
from plausible.variables import State, Variable


def to_dynamic_network(model: HiddenMarkovModel) -> DynamicBayesianNetwork:
    """The same model as a dynamic Bayesian network over the state and what is observed.

    >>> hmm = HiddenMarkovModel([.5, .5], [[.7, .3], [.3, .7]], [[.9, .1], [.2, .8]], states=["rain", "dry"])
    >>> to_dynamic_network(hmm).graph
    DAG('state[-1] -> state; state -> observation')
    """
    state, before = model.state, model.state.renamed(f"{model.state.name}{LAG}")
    first = [TableCPD(state, model.initial), *emission_cpds(model.emission, state, is_first=True)]
    chain = TableCPD(state, model.transition, [*model.transition_inputs, before])
    later = [chain, *emission_cpds(model.emission, state, is_first=False)]
    return DynamicBayesianNetwork(first, later, inputs=model.transition_inputs)


def hmm_from_dynamic_network(network: DynamicBayesianNetwork, state: str) -> HiddenMarkovModel:
    """A network of one hidden chain, whose other variables depend on its state alone, as a hidden Markov model.

    >>> hmm = HiddenMarkovModel([.5, .5], [[.7, .3], [.3, .7]], [[.9, .1], [.2, .8]], states=["rain", "dry"])
    >>> hmm_from_dynamic_network(to_dynamic_network(hmm), "state") == hmm
    True
    """
    slices = network.unroll(2)
    first, second = f"{state}[0]", f"{state}[1]"
    for name in (first, second):
        if name not in slices.variables:
            raise InvalidModel(f"{state!r} is not a variable of this network: {list(network.variables)}.")
    if slices.cpd(first).parent_names or slices.cpd(second).parent_names != (first,):
        raise InvalidModel(f"{state!r} is no chain of its own: its parents are {slices.cpd(second).parent_names}.")
    variable = Variable(state, slices.variables[first].states)
    parts: dict[str, Any] = {}
    for name, own in network.variables.items():
        if name == state:
            continue
        cpd = slices.cpd(f"{name}[1]")
        if cpd.parent_names != (second,):
            raise InvalidModel(f"{name!r} depends on {cpd.parent_names}, not on {state!r} alone.")
        parts[name] = type(cpd).from_record(own, (variable,), cpd.to_record())
    tables = slices.cpd(first).to_table().values, slices.cpd(second).to_table().values
    return HiddenMarkovModel(*tables, parts, variable.states, state=state)


def higher_order_hmm(
    initial: npt.ArrayLike,
    transition: npt.ArrayLike,
    emission: Any,
    states: Sequence[State] | int | None = None,
    symbols: Any = None,
) -> HiddenMarkovModel:
    """A chain that looks back k states, as a hidden Markov model whose states are the last k of them, as tuples.

    Parameters
    ----------
    initial
        P(x_1, ..., x_k): an axis for each of the first k states.
    transition
        P(x_t | x_t-k, ..., x_t-1): axes from the earliest state to x_t.
    emission, states, symbols
        Of the states themselves, as in `HiddenMarkovModel`; tables and Gaussians.

    Examples
    --------
    >>> second = higher_order_hmm(np.full((2, 2), 1/4), np.full((2, 2, 2), 1/2), [[1, 0], [0, 1]], states=["a", "b"])
    >>> second.states
    (('a',), ('b',), ('a', 'a'), ('a', 'b'), ('b', 'a'), ('b', 'b'))
    """
    joint, table = np.array(initial, dtype=np.float64), np.array(transition, dtype=np.float64)
    order, size = joint.ndim, len(joint)
    if order < 1 or joint.shape != (size,) * order or table.shape != (size,) * (order + 1):
        raise InvalidModel(
            f"initial= has the shape {joint.shape} and transition= {table.shape}: a chain that looks back k states "
            "needs k and k + 1 axes, each with as many entries as there are states."
        )
    state = Variable("state", size if states is None else states)
    histories = [codes for length in range(1, order + 1) for codes in product(range(size), repeat=length)]
    places = {codes: place for place, codes in enumerate(histories)}
    first, matrix = np.zeros(len(histories)), np.zeros((len(histories), len(histories)))
    marginals = [joint.sum(axis=tuple(range(length, order))) for length in range(1, order + 1)]
    for codes, place in places.items():
        if len(codes) == 1:
            first[place] = marginals[0][codes]
        for after in range(size):
            longer = (*codes, after)[-order:]
            matrix[place, places[longer]] = (
                table[(*codes, after)]
                if len(codes) == order
                else _ratio(marginals[len(codes)][(*codes, after)], marginals[len(codes) - 1][codes], size)
            )
    names = [tuple(state.states[code] for code in codes) for codes in histories]
    last = np.array([codes[-1] for codes in histories])
    return HiddenMarkovModel(
        first, matrix, read_emission(emission, state, symbols, "observation").reordered(last), names
    )


def _ratio(joint: float, given: float, size: int) -> float:
    """joint / given; uniform after what is impossible."""
    return joint / given if given > 0 else 1 / size
