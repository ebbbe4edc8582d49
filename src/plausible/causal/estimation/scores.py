"""What the states of an outcome count for, so that it has a mean."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, NotSupported
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

__all__ = ["expected_outcome", "scored_state", "state_scores"]


def state_scores(variable: Variable, event: State | None = None) -> Floats:
    """A number for each state of a discrete outcome: the mean of the outcome is that of these numbers.

    One for the event and zero for all others; where no event is named, the states themselves if they are numbers or
    truth values, else one for the second of two states.

    Parameters
    ----------
    variable
        The outcome.
    event
        The state whose probability is asked for.

    Examples
    --------
    >>> state_scores(Variable("cured", ["no", "yes"]))
    array([0., 1.])
    >>> state_scores(Variable("grade", [1, 2, 3]))
    array([1., 2., 3.])
    >>> state_scores(Variable("grade", [1, 2, 3]), event=3)
    array([0., 0., 1.])
    """
    if variable.is_continuous:
        raise NotSupported(f"{variable.name!r} is continuous: it has no states, and no event= to ask about.")
    if event is not None:
        return np.asarray(np.arange(variable.num_states) == variable.index(event), dtype=np.float64)
    if all(isinstance(state, (bool, int, float)) for state in variable.states):
        return np.array(variable.states, dtype=np.float64)
    if variable.num_states == 2:
        return np.array([0.0, 1.0])
    raise InvalidArgument(
        f"The outcome {variable.name!r} has {variable.num_states} states that are no numbers. Name the one whose "
        f"probability is asked for: event={variable.states[-1]!r}."
    )


def scored_state(variable: Variable, event: State | None = None) -> State | None:
    """The state whose probability the mean of these numbers is; `None` where the states are numbers themselves.

    >>> scored_state(Variable("cured", ["no", "yes"])), scored_state(Variable("grade", [1, 2, 3]))
    ('yes', None)
    """
    if event is not None or variable.is_continuous:
        return event
    is_number = all(isinstance(state, (bool, int, float)) for state in variable.states)
    return None if is_number else variable.states[-1]


def expected_outcome(
    network: BayesianNetwork, outcome: Variable, scores: Floats | None, do: Mapping[str, State]
) -> float:
    """E[Y | do(...)] in a network: of the scores of a discrete outcome, or of a continuous one itself."""
    if scores is None:
        return float(network.moments(outcome.name, do=do).mean[0])
    return float(network.query(outcome.name, do=do).values @ scores)
