"""Perfect recall: whether later decisions remember what earlier ones saw and chose."""

from __future__ import annotations

from itertools import pairwise

from plausible.base.records import record
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.errors import NotSupported


@record
class Recall:
    """What the decisions of a diagram remember."""

    order: tuple[str, ...]  # The decisions in time
    #: Pairs (name, decision): what an earlier decision saw or chose and a later one does not see.
    forgotten: tuple[tuple[str, str], ...]

    @property
    def is_perfect(self) -> bool:
        """Whether nothing is forgotten."""
        return not self.forgotten

    def forgotten_by(self, decision: str) -> tuple[str, ...]:
        """What a decision does not see, though an earlier one saw or chose it."""
        return tuple(name for name, forgetful in self.forgotten if forgetful == decision)

    def __str__(self) -> str:
        forgetful = [
            f"{decision} forgets {', '.join(names)}"
            for decision in self.order
            if (names := self.forgotten_by(decision))
        ]
        return "\n".join([f"order: {' < '.join(self.order)}", *(forgetful or ["perfect recall"])])


def temporal_order(diagram: Diagram) -> tuple[str, ...]:
    """The decisions in time: an order that agrees with the graph; among free choices the diagram's own.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> temporal_order(InfluenceDiagram(decisions=[Decision("late", 2, sees=["early"]), Decision("early", 2)]))
    ('early', 'late')
    """
    return tuple(str(name) for name in diagram.graph.topological_order if name in diagram.decisions)


def check_recall(diagram: Diagram) -> Recall:
    """Whether each decision sees all that earlier ones saw and chose, and what is missing.

    Decisions D_1, ..., D_k in time have perfect recall if D_j sees D_i and all that D_i sees, for all i < j
    (Koller & Friedman 2009, definition 23.5). There can be only one such order: the edges D_i -> D_j force it.
    """
    order = temporal_order(diagram)
    known: dict[str, None] = {}
    forgotten = []
    for name in order:
        sees = dict.fromkeys(diagram.decisions[name].sees)
        forgotten += [(other, name) for other in known if other not in sees]
        known |= {**sees, name: None}
    return Recall(order, tuple(forgotten))


def require_recall(diagram: Diagram, what: str) -> Recall:
    """The recall of a diagram, if it is perfect; else the error for `what`, which needs that."""
    recall = check_recall(diagram)
    if not recall.is_perfect:
        name, decision = recall.forgotten[0]
        raise NotSupported(
            f"{what} needs perfect recall, but the decision {decision!r} does not see {name!r}, which was known "
            f"before it. Add what is missing with with_recall(), or solve() the diagram as it is."
        )
    return recall


def with_recall(diagram: DiagramT) -> DiagramT:
    """The diagram with perfect recall: each decision also sees what earlier ones saw and chose.

    What is remembered comes after what the decision sees anyway, the oldest first.
    """
    sees = {name: list(decision.sees) for name, decision in diagram.decisions.items()}
    for forgotten, name in check_recall(diagram).forgotten:
        sees[name].append(forgotten)
    return diagram.with_information(sees)


def new_information(diagram: Diagram) -> dict[str, tuple[str, ...]]:
    """For each decision, in time, the chance variables that are first seen there.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> coins = [TableCPD("A", [0.5, 0.5]), TableCPD("B", [0.5, 0.5])]
    >>> new_information(InfluenceDiagram(coins, [Decision("D", 2, sees="A"), Decision("E", 2, sees=["A", "B", "D"])]))
    {'D': ('A',), 'E': ('B',)}
    """
    known: set[str] = set()
    found = {}
    for name in temporal_order(diagram):
        sees = diagram.decisions[name].sees
        found[name] = tuple(seen for seen in sees if seen in diagram.chance and seen not in known)
        known.update(sees)
    return found


def without_recall_edges(diagram: DiagramT) -> DiagramT:
    """The diagram with only what is new at each decision, for drawings: `with_recall` brings back the rest.

    The edge from a decision to the next stays where nothing else says which one comes first.

    Parameters
    ----------
    diagram
        An influence diagram with perfect recall.

    Examples
    --------
    >>> import plausible as pb
    >>> coin = pb.TableCPD("A", [0.5, 0.5])
    >>> full = pb.InfluenceDiagram([coin], [pb.Decision("D", 2, sees="A"), pb.Decision("E", 2, sees=["A", "D"])])
    >>> without_recall_edges(full).graph
    DAG('A -> D; D -> E')
    """
    order = require_recall(diagram, "Hiding what is remembered").order
    shown = {name: list(seen) for name, seen in new_information(diagram).items()}
    hidden = diagram.with_information(shown)
    for earlier, later in pairwise(order):
        if later not in hidden.graph.descendants(earlier):
            shown[later].append(earlier)
            hidden = diagram.with_information(shown)
    return hidden
