"""Diagrams with closed actions, or with observations that are a choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from plausible.base import Argument, Flags, check_number
from plausible.cpds import TableCPD
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.decisions.parts import Decision
from plausible.decisions.structure.relevance import temporal_order
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable
from plausible.factors.alignment import check_size
from plausible.utilities.local import Utility, check_arguments
from plausible.variables import State, Variable

#: The actions that are open, by what is seen: a mapping from it (a state, or a tuple of them) to actions, where all are
#: open for what is not listed; or a function of it.
AllowedActions: TypeAlias = Mapping[Any, Iterable[State]] | Callable[..., Iterable[State]]


def with_allowed_actions(diagram: DiagramT, allowed: Mapping[str, AllowedActions]) -> DiagramT:
    """The diagram where some actions are closed after some things were seen; solve it as any other.

    Each limited decision gets a utility of its own, zero for open actions and so low for closed ones that nothing can
    make up for it: lower than -(2 R + 1), where R is the sum over all utilities of their largest minus their smallest
    number. An optimal strategy therefore never takes a closed action after something that can be seen, and its expected
    utility is that of the limited problem. After what is never seen (probability zero) a rule may say anything.

    The new utility is as large as the rule of its decision; a function is called for each of its rows. Limit all
    decisions in one call: a second one takes the low numbers of the first for utilities, and goes lower still.

    Parameters
    ----------
    allowed
        For each limited decision the open actions: a mapping from what it sees (a state, or a tuple of several) to
        actions, where all are open for what is not listed; or a function of the states seen. A decision that this does
        not limit gets no utility.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram(
    ...     [pb.TableCPD("shop", [0.5, 0.5], states=["closed", "open"])],
    ...     [pb.Decision("buy", ["nothing", "bread"], sees=["shop"])],
    ...     [pb.Utility("buy", [0, 1])],
    ... )
    >>> limited = with_allowed_actions(diagram, {"buy": {"closed": ["nothing"]}})
    >>> print(limited.utility_factors["closed actions of buy"])
    shop   | buy=nothing | buy=bread
    -------+-------------+----------
    closed |           0 |        -3
    open   |           0 |         0
    """
    check_allowed(allowed)
    span = sum(float(factor.max() - factor.min()) for factor in diagram.utility_factors.values())
    for name, limits in allowed.items():
        scope = (*diagram.information(diagram.decision(name).name), diagram.variables[name])
        if isinstance(limits, Mapping) and not limits:
            continue
        mask = allowed_mask(diagram, name, limits)
        if not mask.all():
            values = np.where(mask, 0.0, -(2.0 * span + 1.0))
            diagram = diagram.with_utility(Utility(scope, values, name=f"closed actions of {name}"))
    return diagram


def check_allowed(allowed: object) -> None:
    if not isinstance(allowed, Mapping):
        raise InvalidArgument(
            f"allowed= maps decisions to their open actions, as {{'D': {{'seen': ['action']}}}}; not {allowed!r}."
        )


def allowed_mask(diagram: Diagram, decision: str, allowed: AllowedActions) -> Flags:
    """Which actions are open: an array over the states of what is seen, in order, and the actions."""
    variable, seen = diagram.decision(decision).variable, diagram.information(decision)
    _check_form(allowed, variable, seen)
    check_size((*seen, variable), f"The open actions of {decision!r}")
    shape = tuple(item.num_states for item in (*seen, variable))
    if callable(allowed):
        mask = np.zeros((math.prod(shape[:-1]), shape[-1]), dtype=bool)
        for row, states in enumerate(product(*(item.states for item in seen))):
            mask[row, _positions(variable, states, allowed(*states))] = True
        return mask.reshape(shape)
    mask = np.ones(shape, dtype=bool)
    for key, actions in allowed.items():
        states = (key,) if len(seen) == 1 else key
        row = mask[tuple(item.index(state) for item, state in zip(seen, states, strict=True))]
        row[:] = False
        row[_positions(variable, states, actions)] = True
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


def _positions(variable: Variable, states: tuple[State, ...], actions: Iterable[State]) -> list[int]:
    """The positions of the open actions after some states were seen; there is at least one."""
    if isinstance(actions, str) or not isinstance(actions, Iterable):
        raise InvalidArgument(f"The open actions of {variable.name!r} after {states!r} are a list, not {actions!r}.")
    positions = []
    for action in actions:
        if not variable.has_state(action):
            raise UnknownState(f"The open actions of {variable.name!r}: {variable.unknown_state(action)}")
        positions.append(variable.index(action))
    if not positions:
        raise InvalidArgument(f"No action of {variable.name!r} is open after {states!r}: leave at least one.")
    return positions


def with_optional_observation(
    diagram: DiagramT,
    variable: str,
    cost: float = 0.0,
    decision: str | None = None,
    sees: Iterable[str] = (),
    unseen: State = "not observed",
) -> DiagramT:
    """The diagram where seeing a variable is a choice with a price, so that solving it tells whether to look.

    Three nodes are added: the decision `observe X` with actions "no" and "yes"; the chance variable `X observed`, which
    is X after "yes" and `unseen` after "no"; and the utility `cost of X`, minus the cost after "yes". Decisions see the
    first two in the place of X.

    Koller & Friedman (2009), Probabilistic graphical models, example 23.6 and section 23.7.2.

    Parameters
    ----------
    variable
        The chance variable X that may be looked at.
    cost
        What it costs to look, in units of utility: zero or more.
    decision
        The first decision that may use the observation; it and all later ones get it. By default all that see X now, or
        the only decision that there is.
    sees
        What is known when one decides whether to look.
    unseen
        The state that stands for "did not look".

    Examples
    --------
    >>> from plausible.decisions import InfluenceDiagram
    >>> plain = InfluenceDiagram(
    ...     [TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2)], [Utility(["rain", "umbrella"], np.eye(2), "dry")]
    ... )
    >>> with_optional_observation(plain, "rain", cost=0.1).decisions["umbrella"].sees
    ('observe rain', 'rain observed')
    """
    UnknownVariable.check(variable, diagram.chance, "the chance variables of this diagram")
    if f"observe {variable}" in diagram.decisions:
        raise InvalidArgument(
            f"Observing {variable!r} is optional already: see the decision 'observe {variable}'. To change what it "
            f"costs, replace the utility 'cost of {variable}'."
        )
    check_number("cost", cost, least=0)
    users = _users(diagram, variable, decision)
    look = Decision(f"observe {variable}", ["no", "yes"], sees=sees)
    # What is seen: the variable itself after looking, else the state for not observed.
    hidden, size = diagram.variables[variable], diagram.variables[variable].num_states
    if hidden.has_state(unseen):
        raise InvalidArgument(f"{unseen!r} is a state of {variable!r} already: choose another with unseen=.")
    table = np.zeros((2, size, size + 1))
    table[0, :, size] = 1.0
    table[1, :, :size] = np.eye(size)
    copy = TableCPD(Variable(f"{variable} observed", (*hidden.states, unseen)), table, [look.variable, hidden])
    diagram = diagram.with_decision(look).with_chance(copy)
    diagram = diagram.with_utility(Utility(look.variable, [0.0, -cost], name=f"cost of {variable}"))
    seen = (look.name, copy.variable.name)
    return diagram.with_information(
        {user: (*(other for other in diagram.decisions[user].sees if other != variable), *seen) for user in users}
    )


def _users(diagram: Diagram, variable: str, decision: str | None) -> list[str]:
    """The decisions that get the observation."""
    users = [name for name, user in diagram.decisions.items() if variable in user.sees]
    if decision is None and users:
        return users
    if decision is None and len(diagram.decisions) != 1:
        known = f"one of {list(diagram.decisions)}" if diagram.decisions else "but this diagram has none"
        raise InvalidArgument(
            f"No decision sees {variable!r}: say with ", Argument("decision"), f" which one may use it, {known}."
        )
    first = diagram.decision(next(iter(diagram.decisions)) if decision is None else decision)
    informed = diagram.with_information({first.name: (*first.sees, *({variable} - set(first.sees)))})
    order = temporal_order(informed)  # what leads to the variable comes before whoever sees it
    return list(order[order.index(first.name) :])
