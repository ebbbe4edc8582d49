"""What reaches what in an influence diagram, and what decisions can do without: Bayes balls on bit sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from plausible.decisions.diagram import Diagram


class Reliance(Mapping[str, tuple[str, ...]]):
    """Decision -> the decisions that it relies on, in time; one bit for each pair."""

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
    """What the balls of all decisions found."""

    reliance: Reliance  # which decisions rely on which
    #: Decision -> what it sees and need not know; only decisions with such information.
    useless: Mapping[str, tuple[str, ...]]


def information_flow(diagram: Diagram, evidence: Iterable[str] = ()) -> Flow:
    """What decisions need not know, and which others they rely on, as the diagram stands.

    The ball of a decision starts from the utilities that it influences, with the decision and all that it sees
    observed. What it sees and the ball never comes to makes no difference; decisions that send the ball to their
    parents are those whose rules matter. All balls roll at once: each node holds the set of decisions whose balls came
    from below, and from above, and sweeps against and along the edges pass these on until nothing changes.

    Shachter (1998), Bayes-ball. Koller & Friedman (2009), Probabilistic graphical models, definitions 23.8 and
    23.10.
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
    sets = [0] * len(order)
    for number, node in enumerate(sources):
        sets[node] = 1 << number
    for node in order:
        for parent in parents[node]:
            sets[node] |= sets[parent]
    return sets


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


class Drop(NamedTuple):
    """What a decision no longer looks at, what it saw until then, and the utilities that it influences."""

    decision: str
    gone: tuple[str, ...]
    sees: tuple[str, ...]
    utilities: tuple[str, ...]


class Reduced(NamedTuple):
    """What is left of the information, who relies on whom with it, and what was dropped, in that order."""

    sees: Mapping[str, tuple[str, ...]]
    reliance: Reliance
    drops: Sequence[Drop]


def reduced_information(diagram: Diagram, evidence: Iterable[str] = ()) -> Reduced:
    """Drop what decisions need not know until nothing is left to drop.

    Decisions are gone through the latest first, as edges of later ones set those of earlier ones free. A ball is
    rolled again only if an edge was dropped that it may have taken, or if its start has changed.

    Koller & Friedman (2009), Probabilistic graphical models, theorems 23.6 and 23.7.
    """
    known = tuple(evidence)
    flow = information_flow(diagram, known)
    if not flow.useless:
        return Reduced({name: decision.sees for name, decision in diagram.decisions.items()}, flow.reliance, ())
    return _Shrinking(diagram, known).reduced(flow.reliance.in_time)


class _Ball(NamedTuple):
    """Where the ball of one decision started and came, and what sent it on to its parents: sets of nodes."""

    starts: int
    met: int
    lifted: int


class _Shrinking:
    """The graph of a diagram as sets of nodes, while information edges are dropped from it."""

    def __init__(self, diagram: Diagram, evidence: Iterable[str]) -> None:
        graph = diagram.graph
        self._nodes = tuple(map(str, graph.nodes))
        self._place = place = {name: number for number, name in enumerate(self._nodes)}
        self._order = [place[str(node)] for node in graph.topological_order]
        self._parents, self._children = list(map(_bits, graph.parent_rows)), list(map(_bits, graph.child_rows))
        self._above = [0] * len(place)  # each node and its ancestors, edges that are dropped later among them
        for node in self._order:
            self._above[node] = _union(self._above, self._parents[node]) | 1 << node
        self._utilities = _bits(place[name] for name in diagram.utilities)
        self._weighed = _bits(place[name] for name in evidence)
        self.sees = {name: decision.sees for name, decision in diagram.decisions.items()}
        self._observed = {name: self._parents[place[name]] | 1 << place[name] for name in self.sees}

    def reduced(self, in_time: Sequence[str]) -> Reduced:
        """Drop edges until every one that is left matters."""
        balls: dict[str, _Ball] = {}
        drops: list[Drop] = []
        pending: set[str] = set(in_time)
        while pending:
            pending = self._sweep(pending, balls, drops)
        number = {self._place[name]: i for i, name in enumerate(in_time)}
        decisions, relied_by = _bits(number), [0] * len(in_time)
        for node, i in number.items():
            for other in _numbers(balls[in_time[i]].lifted & decisions & ~(1 << node)):
                relied_by[number[other]] |= 1 << i
        return Reduced(self.sees, Reliance(in_time, relied_by), drops)

    def _sweep(self, pending: set[str], balls: dict[str, _Ball], drops: list[Drop]) -> set[str]:
        """Roll some balls, the latest first, and drop what they never come to; those that have to be rolled again.

        What a node influences is known once all after it are done, without the edges dropped there.
        """
        stale: set[str] = set()
        influenced = [0] * len(self._nodes)
        for node in reversed(self._order):
            name = self._nodes[node]
            influenced[node] = _union(influenced, self._children[node]) | (self._utilities & 1 << node)
            if name in pending:
                balls[name] = ball = self._ball(name, influenced[node])
                if gone := tuple(seen for seen in self.sees[name] if not ball.met >> self._place[seen] & 1):
                    below = tuple(self._nodes[number] for number in _numbers(influenced[node]))
                    drops.append(Drop(name, gone, self.sees[name], below))
                    ends = self._drop(name, gone)
                    stale.update(other for other, known in balls.items() if other != name and known.met & ends)
            elif name in balls and influenced[node] != balls[name].starts:
                stale.add(name)
        return stale

    def _ball(self, decision: str, starts: int) -> _Ball:
        """Roll a ball from some utilities; it falls only where something below may send it back."""
        parents, children, observed = self._parents, self._children, self._observed[decision]
        bouncing = observed | self._weighed
        above = self._above[self._place[decision]] | _union(self._above, self._weighed)
        rising, met, lifted, lowered, falling = starts, 0, 0, 0, 0
        while rising or falling:
            met |= rising | falling
            up = ((rising & ~observed) | (falling & bouncing)) & ~lifted
            down = (rising | falling) & ~(observed | lowered)
            lifted |= up
            lowered |= down
            rising, falling = _union(parents, up), _union(children, down & above) & above
        return _Ball(starts, met, lifted)

    def _drop(self, decision: str, gone: tuple[str, ...]) -> int:
        """Remove edges into a decision; the nodes that they came from."""
        number = self._place[decision]
        ends = _bits(self._place[name] for name in gone)
        for end in _numbers(ends):
            self._children[end] &= ~(1 << number)
        self._parents[number] &= ~ends
        self._observed[decision] &= ~ends
        self.sees[decision] = tuple(name for name in self.sees[decision] if name not in gone)
        return ends


def _bits(numbers: Iterable[int]) -> int:
    """The set of some numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _numbers(mask: int) -> Iterator[int]:
    """The members of a set, in order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _union(rows: Sequence[int], members: int) -> int:
    """The union of the rows of some members."""
    union = 0
    while members:
        lowest = members & -members
        union |= rows[lowest.bit_length() - 1]
        members ^= lowest
    return union
