"""Diagrams in which decisions see more, or less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from plausible.base.options import check_number
from plausible.decisions.structure.recall import temporal_order
from plausible.errors import InvalidArgument, UnknownVariable

if TYPE_CHECKING:
    from plausible.cpds import CPD
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = [
    "observable",
    "observing",
    "read_chance",
    "read_costs",
    "read_decision",
    "read_variables",
    "unobserving",
]


def observing(diagram: InfluenceDiagram, variables: Iterable[str], decision: str) -> InfluenceDiagram:
    """The diagram in which a decision and all later ones also see some variables.

    Parameters
    ----------
    diagram
        The influence diagram.
    variables
        What is seen; none of it may come after the decision.
    decision
        The first decision that sees it.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, definition 23.11.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> steps = [Decision("first", 2), Decision("second", 2, sees=["first"])]
    >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3]), TableCPD("mud", [[1, 0], [0, 1]], ["first"])], steps)
    >>> observing(diagram, ["rain"], "first").graph
    DAG('rain -> first; rain -> second; first -> mud; first -> second')
    >>> observing(diagram, ["mud"], "first")
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: 'mud' can't be seen at 'first': it comes after it, by first -> mud. ...
    """
    names = read_variables(diagram, variables)
    diagram.decision(decision)
    for name in names:
        if name == decision or name in diagram.graph.descendants(decision):
            path = " -> ".join(map(str, next(diagram.graph.paths(decision, name)))) if name != decision else ""
            why = f"it comes after it, by {path}" if path else "it is the decision itself"
            raise InvalidArgument(
                f"{name!r} can't be seen at {decision!r}: {why}. Name a later decision, or a variable that the "
                "decision does not influence."
            )
    informed = diagram.with_information({decision: _with(diagram.decisions[decision].sees, names)})
    order = temporal_order(informed)
    later = {name: _with(informed.decisions[name].sees, names) for name in order[order.index(decision) + 1 :]}
    return informed.with_information(later) if later else informed


def unobserving(diagram: InfluenceDiagram, variables: Iterable[str], decision: str) -> InfluenceDiagram:
    """The diagram in which a decision and all later ones do not see some variables.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> steps = [Decision("first", 2, sees=["rain"]), Decision("second", 2, sees=["first", "rain"])]
    >>> unobserving(InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], steps), ["rain"], "second").graph
    DAG('rain -> first; first -> second')
    """
    hidden, order = set(variables), temporal_order(diagram)
    later = order[order.index(decision) :]
    sees = {name: diagram.decisions[name].sees for name in later}
    return diagram.with_information({name: [n for n in seen if n not in hidden] for name, seen in sees.items()})


def observable(diagram: InfluenceDiagram, decision: str) -> tuple[str, ...]:
    """The chance variables that a decision could see and does not, in the order of the diagram."""
    hidden = diagram.graph.descendants(decision) | set(diagram.decisions[decision].sees)
    return tuple(name for name in diagram.chance if name not in hidden)


def read_decision(diagram: InfluenceDiagram, decision: str | None) -> str:
    """The decision meant; where there is but one, it need not be named."""
    if decision is not None:
        return diagram.decision(decision).name
    if len(diagram.decisions) != 1:
        known = f"one of {list(diagram.decisions)}" if diagram.decisions else "but this diagram has none"
        raise InvalidArgument(f"Say with decision= which decision is meant: {known}.")
    return next(iter(diagram.decisions))


def read_chance(diagram: InfluenceDiagram, variable: str) -> CPD:
    """The distribution of a chance variable of the diagram."""
    if variable in diagram.chance:
        return diagram.chance[variable]
    if variable in diagram.graph:
        kind = "a decision" if variable in diagram.decisions else "a utility"
        raise UnknownVariable(
            f"{variable!r} is {kind} of this diagram, no chance variable: {list(diagram.chance)} are."
        )
    raise UnknownVariable.named(variable, diagram.chance, "this diagram")


def read_variables(diagram: InfluenceDiagram, variables: str | Iterable[str]) -> tuple[str, ...]:
    """Names of variables of the diagram, each once."""
    if not isinstance(variables, Iterable):
        raise InvalidArgument(f"Name one variable or several, not {variables!r}.")
    names = (variables,) if isinstance(variables, str) else tuple(dict.fromkeys(variables))
    for name in names:
        if name in diagram.utilities:
            raise UnknownVariable(f"{name!r} is a utility of this diagram, and nothing that can be observed.")
        if name not in diagram.variables:
            raise UnknownVariable.named(name, diagram.variables, "this diagram")
    return names


def read_costs(costs: float | Mapping[str, float] | None, variables: Iterable[str]) -> dict[str, float]:
    """Variable -> what it costs to see it; one number stands for all, what is not named is free."""
    names = tuple(variables)
    if not isinstance(costs, Mapping):
        check_number("costs", 0.0 if costs is None else costs, least=0)
        return dict.fromkeys(names, float(costs or 0.0))
    for name, cost in costs.items():
        if name not in names:
            raise UnknownVariable.named(name, names, "what could be observed")
        check_number(f"costs[{name!r}]", cost, least=0)
    return {name: float(costs.get(name, 0.0)) for name in names}


def _with(sees: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return (*sees, *(name for name in more if name not in sees))
