"""Optional observations: a decision to look, and a variable that says "not observed" otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.options import check_number
from plausible.cpds import TableCPD
from plausible.decisions.parts import Decision
from plausible.decisions.structure.recall import temporal_order
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.utilities.local import Utility
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram
    from plausible.variables import State

__all__ = ["with_optional_observation"]


def with_optional_observation(
    diagram: InfluenceDiagram,
    variable: str,
    cost: float = 0.0,
    decision: str | None = None,
    sees: Iterable[str] = (),
    unseen: State = "not observed",
) -> InfluenceDiagram:
    """The diagram where seeing a variable is a choice with a price, so that solving it tells whether to look.

    Three nodes are added: the decision `observe X` with actions "no" and "yes"; the chance variable `X observed`, which
    is X after "yes" and `unseen` after "no"; and the utility `cost of X`, minus the cost after "yes". Decisions see the
    first two in the place of X.

    Parameters
    ----------
    diagram
        The influence diagram.
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

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, example 23.6 and section 23.7.2.

    Examples
    --------
    >>> from plausible.decisions import InfluenceDiagram
    >>> plain = InfluenceDiagram(
    ...     [TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2)], [Utility(["rain", "umbrella"], np.eye(2), "dry")]
    ... )
    >>> with_optional_observation(plain, "rain", cost=0.1).decisions["umbrella"].sees
    ('observe rain', 'rain observed')
    """
    if variable not in diagram.chance:
        raise UnknownVariable.named(variable, diagram.chance, "the chance variables of this diagram")
    if f"observe {variable}" in diagram.decisions:
        raise InvalidArgument(
            f"Observing {variable!r} is optional already: see the decision 'observe {variable}'. To change what it "
            f"costs, replace the utility 'cost of {variable}'."
        )
    check_number("cost", cost, least=0)
    users = _users(diagram, variable, decision)
    look = Decision(f"observe {variable}", ["no", "yes"], sees=sees)
    copy = _copy(diagram.variables[variable], look.variable, unseen)
    diagram = diagram.with_decision(look).with_chance(copy)
    diagram = diagram.with_utility(Utility(look.variable, [0.0, -cost], name=f"cost of {variable}"))
    seen = (look.name, copy.variable.name)
    return diagram.with_information(
        {user: (*(other for other in diagram.decisions[user].sees if other != variable), *seen) for user in users}
    )


def _users(diagram: InfluenceDiagram, variable: str, decision: str | None) -> list[str]:
    """The decisions that get the observation."""
    users = [name for name, user in diagram.decisions.items() if variable in user.sees]
    if decision is None and users:
        return users
    if decision is None and len(diagram.decisions) != 1:
        known = f"one of {list(diagram.decisions)}" if diagram.decisions else "but this diagram has none"
        raise InvalidArgument(f"No decision sees {variable!r}: say with decision= which one may use it, {known}.")
    first = diagram.decision(next(iter(diagram.decisions)) if decision is None else decision)
    informed = diagram.with_information({first.name: (*first.sees, *({variable} - set(first.sees)))})
    order = temporal_order(informed)  # what leads to the variable comes before whoever sees it
    return list(order[order.index(first.name) :])


def _copy(variable: Variable, look: Variable, unseen: State) -> TableCPD:
    """What is seen: the variable itself after looking, else the state for not observed."""
    if variable.has_state(unseen):
        raise InvalidArgument(f"{unseen!r} is a state of {variable.name!r} already: choose another with unseen=.")
    size = variable.num_states
    table = np.zeros((2, size, size + 1))
    table[0, :, size] = 1.0
    table[1, :, :size] = np.eye(size)
    seen = Variable(f"{variable.name} observed", (*variable.states, unseen))
    return TableCPD(seen, table, [look, variable])
