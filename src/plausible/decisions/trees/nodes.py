"""The nodes of a decision tree: choices, chances and outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

from plausible.base import PROBABILITY_NOISE
from plausible.cpds.reading import MAX_ROUNDING
from plausible.errors import InvalidModel, RoundedProbabilities, warn_caller
from plausible.variables import State


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a branch, and what it is worth; a plain number does as well."""

    utility: float

    def __post_init__(self) -> None:
        if not _is_number(self.utility) or not math.isfinite(self.utility):
            raise InvalidModel(f"The utility of an outcome is a finite number, not {self.utility!r}.")


@dataclass(frozen=True, slots=True, init=False)
class Choice:
    """A node where somebody chooses.

    Branches map actions to what follows: a node, or a number for the utility of an outcome.

    >>> Choice("found", {"no": 0, "yes": Chance("market", {"poor": (0.5, -7), "good": (0.5, 11)})}).actions
    ('no', 'yes')
    """

    name: str
    actions: tuple[State, ...]
    children: tuple[TreeNode, ...]

    def __init__(self, name: str, branches: Mapping[State, TreeNode | float]) -> None:
        if not branches:
            raise InvalidModel(f"The choice {name!r} needs at least one action.")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "actions", tuple(branches))
        object.__setattr__(self, "children", tuple(_read_node(node, name) for node in branches.values()))

    @property
    def labels(self) -> tuple[State, ...]:
        """The names of the branches: the actions."""
        return self.actions


@dataclass(frozen=True, slots=True, init=False)
class Chance:
    """A node where nature chooses.

    Branches map states to (probability, what follows): a node, or a number for the utility of an outcome. Probabilities
    that miss one by rounding (at most 1e-3) are renormalised, with a warning.
    """

    name: str
    states: tuple[State, ...]
    probabilities: tuple[float, ...]
    children: tuple[TreeNode, ...]

    def __init__(self, name: str, branches: Mapping[State, tuple[float, TreeNode | float]]) -> None:
        for label, branch in branches.items():
            if not isinstance(branch, (tuple, list)) or len(branch) != 2:
                raise InvalidModel(f"The branch {label!r} of {name!r} is a pair (probability, node), not {branch!r}.")
        probabilities = read_distribution(name, [branch[0] for branch in branches.values()])
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "states", tuple(branches))
        object.__setattr__(self, "probabilities", probabilities)
        object.__setattr__(self, "children", tuple(_read_node(node, name) for _, node in branches.values()))

    @property
    def labels(self) -> tuple[State, ...]:
        """The names of the branches: the states."""
        return self.states


TreeNode: TypeAlias = Choice | Chance | Outcome


def _read_node(node: object, parent: str) -> TreeNode:
    if isinstance(node, (Choice, Chance, Outcome)):
        return node
    if _is_number(node):
        return Outcome(float(node))  # type: ignore[arg-type]  # a number, as was just checked
    raise InvalidModel(f"A branch of {parent!r} leads to a Choice, a Chance, an Outcome or a number, not {node!r}.")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def read_distribution(name: str, probabilities: Iterable[Any]) -> tuple[float, ...]:
    """Probabilities as floats that sum to one.

    A sum that misses one by rounding is made up for in proportion, with a warning that says where and by how much, as
    for the rows of a table (`plausible.cpds.reading`); one that misses it by more than 1e-3 is an error.
    """
    listed = tuple(probabilities)
    if not listed:
        raise InvalidModel(f"The chance {name!r} needs at least one branch.")
    if not all(_is_number(p) and 0 <= p <= 1 + MAX_ROUNDING for p in listed):
        raise InvalidModel(f"The probabilities of {name!r} are numbers from 0 to 1, not {list(listed)}.")
    total = math.fsum(listed)
    missed = abs(total - 1.0)
    if missed > MAX_ROUNDING:
        raise InvalidModel(f"The probabilities of {name!r} sum to {total:.6g}, not to one.")
    if missed <= PROBABILITY_NOISE:
        return tuple(float(p) for p in listed)
    warn_caller(f"The probabilities of {name!r} missed one by {missed:.3g}; renormalised.", RoundedProbabilities)
    return tuple(float(p / total) for p in listed)
