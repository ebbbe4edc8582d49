"""Why two variables are associated: the active trails, and what kind of association each makes."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import Literal, TypeAlias

from plausible.base.records import record
from plausible.causal.queries.arguments import CausalLike, read_causal, read_node, read_nodes, refuse_overlap
from plausible.errors import InvalidArgument
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote
from plausible.graphs.trails import SeparationExplanation, Trail, without_latent

#: What kind of association a trail makes.
SourceKind: TypeAlias = Literal["causal", "reverse causal", "common cause", "selection"]


@record
class AssociationSource:
    """An active trail, and what makes it carry association."""

    trail: Trail  # The trail from x to y
    #: "causal" where it leads from x to y along the arrows, "reverse causal" where it leads from y to x, "selection"
    #: where it passes a collider that observations have opened, else "common cause".
    kind: SourceKind
    #: The common cause, or the observed nodes that open the colliders; empty for causes and for `<->`.
    through: tuple[Node, ...]
    is_latent: bool  # Whether the common cause is not observable

    def __str__(self) -> str:
        names = ", ".join(map(quote, self.through))
        note = {
            "causal": "causal",
            "reverse causal": "causal, the other way round",
            "selection": f"selection: {names} observed",
            "common cause": f"{'latent ' if self.is_latent else ''}common cause{f' {names}' if names else ''}",
        }[self.kind]
        return f"{self.trail}  ({note})"


@record
class AssociationExplanation:
    """The trails that associate two nodes."""

    #: The nodes, and what is observed.
    x: Node
    y: Node
    given: tuple[Node, ...]
    sources: tuple[AssociationSource, ...]  # The active trails, shortest first
    is_complete: bool  # Whether these are all

    @property
    def is_associated(self) -> bool:
        """Whether x and y are associated at all."""
        return bool(self.sources)

    @property
    def is_causal(self) -> bool:
        """Whether x acts on y along an active trail."""
        return any(source.kind == "causal" for source in self.sources)

    @property
    def spurious(self) -> tuple[AssociationSource, ...]:
        """The sources that are no effect of x on y."""
        return tuple(source for source in self.sources if source.kind != "causal")

    def __str__(self) -> str:
        given = f" given {', '.join(map(quote, self.given))}" if self.given else ""
        pair = f"{quote(self.x)} and {quote(self.y)}"
        if not self.sources:
            return f"{pair} are not associated{given}: no trail is active."
        counts = Counter(source.kind for source in self.sources)
        parts = ", ".join(f"{number} {kind}" for kind, number in counts.items())
        lines = [f"{pair} are associated{given} ({parts}):", *(f"  {source}" for source in self.sources)]
        return "\n".join(lines if self.is_complete else [*lines, "  ... and more trails"])


def explain_association(
    graph: CausalLike, x: Node, y: Node, given: Nodes = (), *, latent: Nodes = (), limit: int = 100
) -> AssociationExplanation:
    """Which active trails associate x and y: effects, common causes (latent or not), or selection.

    Selection is conditioning on a common effect, or on something that it causes. A mixture of populations and a common
    trend in time are common causes: the population, and the time.

    Parameters
    ----------
    graph
        A DAG, a causal graph (whose `<->` are latent common causes), or a model that has one.
    x, y
        The two nodes.
    given
        What is observed, or was selected on.
    latent
        Nodes that can't be observed, to mark common causes by.
    limit
        List at most this many trails, each found in O(length x edges).

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, section 21.1.2.

    Examples
    --------
    >>> print(explain_association("S -> T -> C; S <-> C; S -> H <- C", "S", "C", given="H"))
    S and C are associated given H (1 common cause, 1 causal, 1 selection):
      S <-> C  (latent common cause)
      S -> T -> C  (causal)
      S -> H <- C  (selection: H observed)
    """
    causes = read_causal(graph)
    (start,), (end,) = read_node(causes, x, "x"), read_node(causes, y, "y")
    observed, hidden = read_nodes(causes, given), frozenset(read_nodes(causes, latent))
    refuse_overlap({"x": [start], "y": [end], "given": observed, "latent": hidden})
    if limit < 1:
        raise InvalidArgument(f"limit={limit} leaves nothing to explain with; give one or more trails to list.")
    trails = tuple(islice(causes.to_dag().active_trails(start, end, observed, limit=None), limit + 1))
    found = SeparationExplanation((start,), (end,), observed, not trails, trails[:limit], len(trails) <= limit)
    shortened = without_latent(found, frozenset(causes.nodes))
    sources = tuple(_source(trail, hidden) for trail in shortened.trails)
    return AssociationExplanation(start, end, observed, sources, found.complete)


def _source(trail: Trail, latent: frozenset[Node]) -> AssociationSource:
    colliders = [junction for junction in trail.junctions if junction.role == "collider"]
    if colliders:
        witnesses = dict.fromkeys(junction.witness for junction in colliders if junction.witness is not None)
        return AssociationSource(trail, "selection", tuple(witnesses), False)
    if all(arrow == "->" for arrow in trail.arrows):
        return AssociationSource(trail, "causal", (), False)
    if all(arrow == "<-" for arrow in trail.arrows):
        return AssociationSource(trail, "reverse causal", (), False)
    # Without a collider the arrows turn once, at a fork or at an edge `<->`.
    turns = [
        node for node, arrows in zip(trail.nodes[1:], pairwise(trail.arrows), strict=False) if arrows == ("<-", "->")
    ]
    return AssociationSource(trail, "common cause", tuple(turns), not turns or turns[0] in latent)
