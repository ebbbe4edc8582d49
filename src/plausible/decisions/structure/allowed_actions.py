"""Asymmetric problems: actions that are open only after some things were seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.decisions.parts import Utility
from plausible.decisions.state_functions import check_arguments
from plausible.errors import InvalidArgument, UnknownState

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram
    from plausible.variables import State, Variable

__all__ = ["AllowedActions", "allowed_mask", "with_allowed_actions"]

#: The actions that are open, by what is seen: a mapping from it (a state, or a tuple of them) to actions, where all are
#: open for what is not listed; or a function of it.
AllowedActions: TypeAlias = Mapping[Any, Iterable["State"]] | Callable[..., Iterable["State"]]


def with_allowed_actions(diagram: InfluenceDiagram, allowed: Mapping[str, AllowedActions]) -> InfluenceDiagram:
    """The diagram where some actions are closed after some things were seen; solve it as any other.

    Each limited decision gets a utility of its own, zero for open actions and so low for closed ones that nothing can
    make up for it: lower than -(2 R + 1), where R is the sum over all utilities of their largest minus their smallest
    number. An optimal strategy therefore never takes a closed action after something that can be seen, and its expected
    utility is that of the limited problem. After what is never seen (probability zero) a rule may say anything.

    Parameters
    ----------
    diagram
        The influence diagram.
    allowed
        For each limited decision the open actions: a mapping from what it sees (a state, or a tuple of several) to
        actions, where all are open for what is not listed; or a function of the states seen.

    Notes
    -----
    The new utility is as large as the rule of its decision. Limit all decisions in one call: a second one takes the low
    numbers of the first for utilities, and goes lower still.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("shop", [0.5, 0.5], states=["closed", "open"])],
    ...     [Decision("buy", ["nothing", "bread"], sees=["shop"])],
    ...     [Utility("buy", [0, 1])],
    ... )
    >>> limited = with_allowed_actions(diagram, {"buy": {"closed": ["nothing"]}})
    >>> print(limited.utility_factors["closed actions of buy"])
    shop   | buy=nothing | buy=bread
    -------+-------------+----------
    closed |           0 |        -3
    open   |           0 |         0
    """
    span = sum(float(factor.max() - factor.min()) for factor in diagram.utility_factors.values())
    for name, limits in allowed.items():
        values = np.where(allowed_mask(diagram, name, limits), 0.0, -(2.0 * span + 1.0))
        scope = (*diagram.information(name), diagram.variables[name])
        diagram = diagram.with_utility(Utility(scope, values, name=f"closed actions of {name}"))
    return diagram


def allowed_mask(diagram: InfluenceDiagram, decision: str, allowed: AllowedActions) -> npt.NDArray[np.bool_]:
    """Which actions are open: an array over the states of what is seen, in order, and the actions."""
    variable, seen = diagram.decision(decision).variable, diagram.information(decision)
    _check_form(allowed, variable, seen)
    mask = np.zeros([item.num_states for item in (*seen, variable)], dtype=bool)
    for place in np.ndindex(*mask.shape[:-1]):
        states = tuple(item.states[position] for item, position in zip(seen, place, strict=True))
        actions = _actions(variable, states, allowed)
        if not actions:
            raise InvalidArgument(f"No action of {decision!r} is open after {states!r}: leave at least one.")
        mask[(*place, actions)] = True
    return mask


def _check_form(allowed: object, variable: Variable, seen: tuple[Variable, ...]) -> None:
    """Refuse what is no mapping and no function, and keys that nothing seen can be."""
    what = f"The open actions of {variable.name!r}"
    if callable(allowed):
        check_arguments(allowed, seen, what)
        return
    names = [item.name for item in seen]
    if not isinstance(allowed, Mapping):
        fix = "a mapping from what it sees" if seen else "a mapping from (), for it sees nothing,"
        raise InvalidArgument(f"{what} are {fix} to lists of actions, or a function, not {allowed!r}.")
    for key in allowed:
        states = (key,) if len(seen) == 1 else key
        if not isinstance(states, tuple) or len(states) != len(seen):
            raise InvalidArgument(f"{what} have the key {key!r}, where the states of {names} belong, in this order.")
        for item, state in zip(seen, states, strict=True):
            if not item.has_state(state):
                raise UnknownState(f"{what}, at the key {key!r}: {item.unknown_state(state)}")


def _actions(variable: Variable, states: tuple[State, ...], allowed: AllowedActions) -> list[int]:
    """The positions of the open actions after some states were seen."""
    if callable(allowed):
        actions = allowed(*states)
    else:
        actions = allowed.get(states[0] if len(states) == 1 else states, variable.states)
    if isinstance(actions, str):
        raise InvalidArgument(f"The open actions of {variable.name!r} after {states!r} are a list, not {actions!r}.")
    positions = []
    for action in actions:
        if not variable.has_state(action):
            raise UnknownState(f"The open actions of {variable.name!r}: {variable.unknown_state(action)}")
        positions.append(variable.index(action))
    return positions
