"""Information that makes no difference: edges into decisions that can go without a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plausible.base.records import record
from plausible.decisions.strategy import Strategy
from plausible.decisions.structure.information_flow import information_flow
from plausible.decisions.structure.reduced_information import Drop, reduced_information
from plausible.decisions.structure.relevance import influenced_utilities
from plausible.errors import InvalidArgument

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["DroppedInformation", "Reduction", "irrelevant_information", "is_irrelevant", "minimal_reduction"]


@record
class DroppedInformation:
    """Something that a decision no longer looks at, and why.

    Attributes
    ----------
    seen, decision
        The ends of the information edge.
    utilities
        What the decision can still change; `seen` says nothing about it, given the rest.
    given
        The rest: what else the decision saw, and the decision itself.
    """

    seen: str
    decision: str
    utilities: tuple[str, ...]
    given: tuple[str, ...]

    def __str__(self) -> str:
        edge = f"{self.seen} -> {self.decision}"
        if not self.utilities:
            return f"{edge}: {self.decision} changes no utility"
        return f"{edge}: {self.seen} says nothing about {', '.join(self.utilities)} given {', '.join(self.given)}"


@record
class Reduction:
    """A diagram whose decisions see less, without a loss of expected utility.

    Attributes
    ----------
    original, diagram
        The diagram before and after.
    dropped
        The information edges that went, in that order; the reason of each holds once those before it are gone.
    """

    original: InfluenceDiagram
    diagram: InfluenceDiagram
    dropped: tuple[DroppedInformation, ...]

    def lift(self, strategy: Strategy) -> Strategy:
        """A strategy of the reduced diagram as one of the original: its rules ignore what was dropped.

        If it is optimal there, it is here.
        """
        rules = {}
        for name, rule in strategy.items():
            scope = (*self.original.information(name), self.original.variables[name])
            rules[name] = rule.extend(scope).reorder([variable.name for variable in scope])
        return Strategy(rules)

    def __str__(self) -> str:
        return "\n".join(map(str, self.dropped)) or "All information is relevant."


def is_irrelevant(diagram: InfluenceDiagram, seen: str, decision: str) -> bool:
    """Whether an information edge can go: `seen` says nothing about what the decision can still change.

    The edge W -> D is irrelevant if no active trail leads from W to a utility that D influences, given D and all else
    that D sees. D is given too: else the trail W -> D -> V would keep every edge.

    Parameters
    ----------
    diagram
        The influence diagram.
    seen, decision
        The ends of an information edge.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, definition 23.10 with the condition of the proof of
    proposition 23.5; Shachter (1999), Efficient value of information computation.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("rain", [0.7, 0.3]), TableCPD("coin", [0.5, 0.5])],
    ...     [Decision("umbrella", 2, sees=["rain", "coin"])],
    ...     [Utility(["rain", "umbrella"], [[1, 0], [-5, 0]])],
    ... )
    >>> is_irrelevant(diagram, "coin", "umbrella"), is_irrelevant(diagram, "rain", "umbrella")
    (True, False)
    """
    sees = diagram.decision(decision).sees
    if seen not in sees:
        raise InvalidArgument(f"The decision {decision!r} does not see {seen!r}; it sees {list(sees)}.")
    given = (decision, *(other for other in sees if other != seen))
    return diagram.graph.d_separated(seen, influenced_utilities(diagram, decision), given)


def irrelevant_information(diagram: InfluenceDiagram) -> tuple[DroppedInformation, ...]:
    """The information edges that are irrelevant as the diagram stands; they can go all at once.

    Others may become irrelevant when these are gone: see `minimal_reduction`. Linear in the graph for each decision.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram([TableCPD("coin", [0.5, 0.5])], [Decision("D", 2, sees=["coin"])],
    ...                            [Utility("D", [0, 1], name="V")])
    >>> print(irrelevant_information(diagram)[0])
    coin -> D: coin says nothing about V given D
    """
    useless = information_flow(diagram).useless
    drops = [
        Drop(name, useless[name], decision.sees, influenced_utilities(diagram, name))
        for name, decision in diagram.decisions.items()
        if name in useless
    ]
    return tuple(edge for drop in drops for edge in _edges(drop))


def minimal_reduction(diagram: InfluenceDiagram) -> Reduction:
    """The diagram with irrelevant information removed until none is left; its best strategy is as good.

    An edge may turn irrelevant only after others are gone, when a decision no longer influences some utility: hence
    passes over the decisions, the last first, until nothing more goes. The result does not depend on the order. Rules
    get smaller, and the relevance graph loses edges.

    Parameters
    ----------
    diagram
        The influence diagram.

    Notes
    -----
    A pass is linear in the graph for each decision, and there are at most as many passes as edges; two mostly.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, theorems 23.6 and 23.7.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("coin", [0.5, 0.5])],
    ...     [Decision("call", 2, sees=["coin"]), Decision("echo", 2, sees=["call"])],
    ...     [Utility("echo", [0, 1], name="V")],
    ... )
    >>> print(minimal_reduction(diagram))
    call -> echo: call says nothing about V given echo
    coin -> call: call changes no utility
    """
    found = reduced_information(diagram)
    dropped = tuple(edge for drop in found.drops for edge in _edges(drop))
    return Reduction(diagram, diagram.with_information(found.sees), dropped)


def _edges(drop: Drop) -> list[DroppedInformation]:
    """The edges of a decision that go, each with its reason."""
    name, gone, sees, utilities = drop
    return [
        DroppedInformation(seen, name, utilities, (name, *(other for other in sees if other != seen))) for seen in gone
    ]
