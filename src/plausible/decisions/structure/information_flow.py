"""What reaches what in an influence diagram: the Bayes balls of all decisions at once, on bit sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Flow", "Reliance", "information_flow"]


class Reliance(Mapping[str, tuple[str, ...]]):
    """Decision -> the decisions that it relies on, in time; one bit for each pair.

    Parameters
    ----------
    in_time
        All decisions, in an order in which they can be made.
    relied_by
        For each of them the set of those that rely on it: bit i stands for the i-th decision.
    """

    __slots__ = ("_place", "in_time", "relied_by")

    def __init__(self, in_time: Sequence[str], relied_by: Sequence[int]) -> None:
        self.in_time, self.relied_by = tuple(in_time), tuple(relied_by)
        self._place = {name: number for number, name in enumerate(self.in_time)}

    def __getitem__(self, name: str) -> tuple[str, ...]:
        bit = 1 << self._place[name]
        return tuple(other for other, users in zip(self.in_time, self.relied_by, strict=True) if users & bit)

    def __iter__(self) -> Iterator[str]:
        return iter(self.in_time)

    def __len__(self) -> int:
        return len(self.in_time)

    def __repr__(self) -> str:
        return f"Reliance({dict(self)!r})"

    @property
    def is_on_later_ones(self) -> bool:
        """Whether each decision relies on later ones only, as with perfect recall."""
        return all(users >> number == 0 for number, users in enumerate(self.relied_by))


class Flow(NamedTuple):
    """What the balls of all decisions found.

    Attributes
    ----------
    reliance
        Which decisions rely on which.
    useless
        Decision -> what it sees and need not know; only decisions with such information.
    """

    reliance: Reliance
    useless: Mapping[str, tuple[str, ...]]


def information_flow(diagram: InfluenceDiagram, evidence: Iterable[str] = ()) -> Flow:
    """What decisions need not know, and which others they rely on, as the diagram stands.

    The ball of a decision starts from the utilities that it influences, with the decision and all that it sees
    observed. What it sees and the ball never comes to makes no difference; decisions that send the ball to their
    parents are those whose rules matter. All balls roll at once: each node holds the set of decisions whose balls came
    from below, and from above, and sweeps against and along the edges pass these on until nothing changes.

    Parameters
    ----------
    diagram
        The influence diagram.
    evidence
        Names of what something is known about beforehand: they send balls from above back as well.

    Notes
    -----
    A sweep costs O(n) operations on sets for n nodes and edges; there are as many as balls change their direction.

    References
    ----------
    Shachter (1998), Bayes-ball. Koller & Friedman (2009), Probabilistic graphical models, definitions 23.8 and 23.10.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram([TableCPD("coin", [0.5, 0.5])], [Decision("D", 2, sees=["coin"])],
    ...                            [Utility("D", [0, 1], name="V")])
    >>> information_flow(diagram).useless
    {'D': ('coin',)}
    """
    graph, decisions = diagram.graph, diagram.decisions
    place = {node: number for number, node in enumerate(graph.nodes)}
    order = [place[node] for node in graph.topological_order]
    in_time = [str(node) for node in graph.topological_order if node in decisions]
    observed = [0] * len(place)
    for number, name in enumerate(in_time):
        for seen in (name, *decisions[name].sees):
            observed[place[seen]] |= 1 << number
    bouncing = list(observed)
    for name in evidence:
        bouncing[place[name]] = (1 << len(in_time)) - 1
    influences = _descended_from(graph.parent_rows, order, [place[name] for name in in_time])
    utilities = {place[name] for name in diagram.utilities}
    starts = [mask if node in utilities else 0 for node, mask in enumerate(influences)]
    met, lifted = _sweeps((graph.parent_rows, graph.child_rows, order), starts, observed, bouncing)
    useless = {}
    for number, name in enumerate(in_time):
        if gone := tuple(seen for seen in decisions[name].sees if not met[place[seen]] >> number & 1):
            useless[name] = gone
    relied_by = [lifted[place[name]] & ~(1 << number) for number, name in enumerate(in_time)]
    return Flow(Reliance(in_time, relied_by), useless)


def _descended_from(parents: Sequence[tuple[int, ...]], order: Sequence[int], sources: Sequence[int]) -> list[int]:
    """For each node the set of those sources that directed paths come from."""
    found = [0] * len(order)
    for number, node in enumerate(sources):
        found[node] = 1 << number
    for node in order:
        for parent in parents[node]:
            found[node] |= found[parent]
    return found


#: The parents and the children of each node, and all nodes in a topological order.
_Rows = tuple[Sequence[tuple[int, ...]], Sequence[tuple[int, ...]], Sequence[int]]


def _sweeps(rows: _Rows, starts: list[int], observed: list[int], bouncing: list[int]) -> tuple[list[int], list[int]]:
    """For each node the balls that came to it, and those that it sent on to its parents."""
    parents, children, order = rows
    rising, falling = starts, [0] * len(starts)
    lifted, lowered = [0] * len(starts), [0] * len(starts)
    is_done = False
    while not is_done:
        is_done = True
        for node in reversed(order):
            up = ((rising[node] & ~observed[node]) | (falling[node] & bouncing[node])) & ~lifted[node]
            if up:
                is_done = False
                lifted[node] |= up
                for parent in parents[node]:
                    rising[parent] |= up
        for node in order:
            down = (rising[node] | falling[node]) & ~(observed[node] | lowered[node])
            if down:
                is_done = False
                lowered[node] |= down
                for child in children[node]:
                    falling[child] |= down
    return [a | b for a, b in zip(rising, falling, strict=True)], lifted
