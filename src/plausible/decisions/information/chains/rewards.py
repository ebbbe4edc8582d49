"""What it is worth to know a variable as well as one does: functions of its distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.variables import Variable

__all__ = ["BestAction", "Margin", "NegativeEntropy", "Reward", "Rewards", "point_rewards", "read_rewards", "rewarded"]

#: From distributions, with the states on the last axis, to what each is worth.
Reward: TypeAlias = Callable[[Floats], npt.ArrayLike]
#: One for all variables, or for each that has one.
Rewards: TypeAlias = Reward | Mapping[str, Reward]


@dataclass(frozen=True, slots=True)
class NegativeEntropy:
    """Certainty: Σ_x p(x) log p(x), at most 0, natural logarithms.

    >>> float(NegativeEntropy()(np.array([0.5, 0.5])).round(4))
    -0.6931
    """

    def __call__(self, distributions: Floats) -> Floats:
        """What each distribution is worth."""
        positive = np.where(distributions > 0, distributions, 1.0)
        total: Floats = np.sum(distributions * np.log(positive), axis=-1)
        return total


@dataclass(frozen=True, slots=True)
class Margin:
    """How much likelier the likeliest state is than the next one.

    >>> float(Margin()(np.array([0.25, 0.625, 0.125])))
    0.375
    """

    def __call__(self, distributions: Floats) -> Floats:
        """What each distribution is worth."""
        if distributions.shape[-1] == 1:
            return np.ones(distributions.shape[:-1])
        ordered = np.sort(distributions, axis=-1)
        difference: Floats = ordered[..., -1] - ordered[..., -2]
        return difference


@dataclass(frozen=True, slots=True)
class BestAction:
    """The expected utility of the best action about a variable: max_d Σ_x p(x) U(x, d).

    Attributes
    ----------
    values
        U, a row for each state and a column for each action.

    Examples
    --------
    >>> repair = BestAction([[0, -2], [-10, -2]])  # states: sound, broken; actions: leave, repair
    >>> repair(np.array([[0.9, 0.1], [0.5, 0.5]])).tolist()
    [-1.0, -2.0]
    """

    values: npt.ArrayLike

    def __post_init__(self) -> None:
        try:
            table = np.array(self.values, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.empty(0)
        if table.ndim != 2 or not table.size or not np.isfinite(table).all():
            raise InvalidArgument("values must be a table of numbers, a row for each state, a column for each action.")
        object.__setattr__(self, "values", tuple(map(tuple, table.tolist())))

    def __call__(self, distributions: Floats) -> Floats:
        """What each distribution is worth."""
        best: Floats = np.max(distributions @ np.array(self.values), axis=-1)
        return best


def read_rewards(rewards: Rewards, chain: tuple[Variable, ...]) -> list[Reward | None]:
    """The reward of each variable of a chain; none where none is given."""
    names = [variable.name for variable in chain]
    given = rewards if isinstance(rewards, Mapping) else dict.fromkeys(names, rewards)
    for name, reward in given.items():
        if name not in names:
            raise UnknownVariable.named(name, names, "this chain")
        if not callable(reward):
            raise InvalidArgument(
                f"The reward of {name!r} must be a function of its distribution, such as NegativeEntropy(), not "
                f"{reward!r}."
            )
    return [given.get(name) for name in names]


def rewarded(reward: Reward, variable: Variable, distributions: Floats) -> Floats:
    """What each distribution of a variable is worth, checked."""
    if isinstance(reward, BestAction) and len(np.array(reward.values)) != variable.num_states:
        rows = len(np.array(reward.values))
        raise InvalidArgument(
            f"The reward of {variable.name!r} has {rows} rows; it needs {variable.num_states}, one for each state."
        )
    worth = np.asarray(reward(distributions), dtype=np.float64)
    if worth.shape != distributions.shape[:-1] or not np.isfinite(worth).all():
        raise InvalidArgument(
            f"The reward of {variable.name!r} must turn an array of shape {distributions.shape}, with the states on "
            f"the last axis, into finite numbers of shape {distributions.shape[:-1]}, not {worth.shape}."
        )
    return worth


def point_rewards(reward: Reward, variable: Variable) -> Floats:
    """What it is worth to know a variable for certain, for each state."""
    return rewarded(reward, variable, np.eye(variable.num_states))
