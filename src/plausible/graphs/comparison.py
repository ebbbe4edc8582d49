"""How a graph that was found differs from the graph that was meant."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from plausible.base import html_of_print, picture_by
from plausible.errors import InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_pdag
from plausible.graphs.marks import Edge
from plausible.graphs.mixed import PDAG
from plausible.graphs.undirected import UndirectedGraph

if TYPE_CHECKING:
    from plausible.base.pictured import Picture


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many claims are right, made in vain, and missed.

    A ratio without cases is one: who claims nothing claims nothing wrong, and nothing can be missed where nothing is.

    >>> Agreement(num_true=3, num_false=1, num_missed=0).f1
    0.8571428571428571
    """

    num_true: int  # Claims of the estimate that hold in the reference
    num_false: int  # Claims of the estimate that do not
    num_missed: int  # What holds in the reference and the estimate does not claim

    @property
    def precision(self) -> float:
        """The share of the claims that hold; 1 if there are none."""
        return _ratio(self.num_true, self.num_true + self.num_false)

    @property
    def recall(self) -> float:
        """The share of what holds that is claimed; 1 if nothing holds."""
        return _ratio(self.num_true, self.num_true + self.num_missed)

    @property
    def f1(self) -> float:
        """2 true / (2 true + false + missed), the harmonic mean of precision and recall; 1 if all three are zero."""
        return _ratio(2 * self.num_true, 2 * self.num_true + self.num_false + self.num_missed)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


@dataclass(frozen=True, slots=True)
class StructureComparison:
    """The pairs of nodes on which two graphs agree and differ; every pair with an edge is in exactly one list."""

    same: tuple[Edge, ...]  # Edges that both have, with the same marks
    missing: tuple[Edge, ...]  # Edges of the reference between nodes that the estimate does not join
    extra: tuple[Edge, ...]  # Edges of the estimate between nodes that the reference does not join
    #: Directed edges of the reference that the estimate directs the other way, as the reference has them.
    reversed: tuple[Edge, ...]
    direction_lost: tuple[Edge, ...]  # Directed edges of the reference that the estimate leaves undirected
    direction_gained: tuple[Edge, ...]  # Undirected edges of the reference that the estimate directs, as it has them

    @property
    def shd(self) -> int:
        """The structural Hamming distance: the number of pairs of nodes that differ; a reversed edge counts one."""
        differing = (self.missing, self.extra, self.reversed, self.direction_lost, self.direction_gained)
        return sum(map(len, differing))

    @property
    def skeleton(self) -> Agreement:
        """How far the graphs agree on which nodes are adjacent."""
        num_shared = sum(map(len, (self.same, self.reversed, self.direction_lost, self.direction_gained)))
        return Agreement(num_shared, num_false=len(self.extra), num_missed=len(self.missing))

    @property
    def orientation(self) -> Agreement:
        """How far they agree on directed edges: one counts as found if it is there with the same direction."""
        num_true = _num_directed(self.same)
        claimed = num_true + _num_directed(self.extra) + len(self.reversed) + len(self.direction_gained)
        holding = num_true + _num_directed(self.missing) + len(self.reversed) + len(self.direction_lost)
        return Agreement(num_true, num_false=claimed - num_true, num_missed=holding - num_true)

    def __str__(self) -> str:
        lines = [f"structural Hamming distance {self.shd}"]
        for title, agreement in (("skeleton", self.skeleton), ("orientation", self.orientation)):
            scores = f"precision {agreement.precision:.3f}, recall {agreement.recall:.3f}, F1 {agreement.f1:.3f}"
            lines.append(f"{title:<12} {scores}")
        lists = {field.name.replace("_", " "): getattr(self, field.name) for field in fields(self)}
        lines += [f"{title} ({len(edges)}): {'; '.join(map(str, edges))}" for title, edges in lists.items() if edges]
        return "\n".join(lines)

    def picture(self, *, focus: Any = "auto") -> Picture:
        """Both graphs in one: common edges plain, added green, removed red and dashed, reversed violet."""
        return picture_by("picture_of_comparison", self, focus)

    __repr__ = __str__

    _repr_html_ = html_of_print


def _num_directed(edges: tuple[Edge, ...]) -> int:
    return sum(edge.is_directed for edge in edges)


def compare_structure(
    reference: GraphLike[DAG | PDAG | UndirectedGraph], estimate: GraphLike[DAG | PDAG | UndirectedGraph]
) -> StructureComparison:
    """Compare two graphs over the same nodes edge by edge: the one that is meant, and the one that was found.

    DAGs are compared direction by direction. Since data alone can't tell equivalent DAGs apart, a learned one is
    often better compared as `compare_structure(essential_graph(truth), essential_graph(learned))`.

    Tsamardinos, Brown & Aliferis (2006), The max-min hill-climbing Bayesian network structure learning algorithm,
    Machine Learning 65.

    >>> print(compare_structure(DAG("A -> B -> C; D"), DAG("A -> B <- C; B -> D")))
    structural Hamming distance 2
    skeleton     precision 0.667, recall 1.000, F1 0.800
    orientation  precision 0.333, recall 0.500, F1 0.400
    same (1): A -> B
    extra (1): B -> D
    reversed (1): B -> C
    """
    reference, estimate = read_pdag(reference), read_pdag(estimate)
    for side, graph, other in (("estimate", estimate, reference), ("reference", reference, estimate)):
        for node in other.nodes:
            if node not in graph:
                raise InvalidGraph(f"Only graphs over the same nodes can be compared, but the {side} lacks {node!r}.")
    meant, found = ({frozenset(edge.ends): edge for edge in graph.edges} for graph in (reference, estimate))
    shared = [(edge, found[pair]) for pair, edge in meant.items() if pair in found]
    return StructureComparison(
        same=tuple(old for old, new in shared if old == new),
        missing=tuple(edge for pair, edge in meant.items() if pair not in found),
        extra=tuple(edge for pair, edge in found.items() if pair not in meant),
        reversed=tuple(old for old, new in shared if old != new and old.is_directed and new.is_directed),
        direction_lost=tuple(old for old, new in shared if old.is_directed and new.is_undirected),
        direction_gained=tuple(new for old, new in shared if old.is_undirected and new.is_directed),
    )
