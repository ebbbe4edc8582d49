"""Chains that look several states back, as hidden Markov models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidModel
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.reading_models import read_emission
from plausible.variables import State, Variable


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
