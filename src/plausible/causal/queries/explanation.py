"""Why variables are associated: sources that a graph tells, and simulations of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from plausible.base import Result, record
from plausible.causal.queries.association import EffectComparison, compare_effect
from plausible.causal.queries.observed import CausalLike, read_causal, read_node, read_nodes, refuse_overlap
from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote
from plausible.graphs.trails import SeparationExplanation, Trail, without_latent
from plausible.models import BayesianNetwork
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd


#: What kind of association a trail makes.
SourceKind: TypeAlias = Literal["causal", "reverse causal", "common cause", "selection"]


@record
class AssociationSource(Result):
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
class AssociationExplanation(Result):
    """The trails that associate two nodes."""

    _rows = "sources"

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
    trend in time are common causes: the population, and the time. See Koller & Friedman (2009), Probabilistic graphical
    models, section 21.1.2.

    Parameters
    ----------
    graph
        A DAG, a causal graph (whose `<->` are latent common causes), or a model that has one.
    given
        What is observed, or was selected on.
    latent
        Nodes that can't be observed, to mark common causes by.
    limit
        List at most this many trails, each found in O(length x edges).

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
    shortened = without_latent(found, causes)
    sources = []
    for trail in shortened.trails:
        colliders = [junction for junction in trail.junctions if junction.role == "collider"]
        # Without a collider the arrows turn once, at a fork or at an edge `<->`.
        pairs = zip(trail.nodes[1:], pairwise(trail.arrows), strict=False)
        turns = tuple(node for node, arrows in pairs if arrows == ("<-", "->"))
        if colliders:
            witnesses = dict.fromkeys(junction.witness for junction in colliders if junction.witness is not None)
            sources.append(AssociationSource(trail, "selection", tuple(witnesses), False))
        elif set(trail.arrows) in ({"->"}, {"<-"}):
            kind: SourceKind = "causal" if trail.arrows[0] == "->" else "reverse causal"
            sources.append(AssociationSource(trail, kind, (), False))
        else:
            sources.append(AssociationSource(trail, "common cause", turns, not turns or turns[0] in hidden))
    return AssociationExplanation(start, end, observed, tuple(sources), found.complete)


#: The four ways in which variables are associated without an effect.
SpuriousKind: TypeAlias = Literal["latent common cause", "selection bias", "mixture of populations", "time trend"]


@dataclass(frozen=True, slots=True, eq=False)
class SpuriousAssociation:
    """Two variables without an effect on each other that are associated in the data."""

    kind: SpuriousKind  # Why they are associated
    network: BayesianNetwork  # The truth
    #: The names of the two.
    x: str
    y: str
    hidden: tuple[str, ...]  # The variables that the data do not show
    #: What all rows of the data have in common: name -> state.
    selected: Mapping[str, State] = field(default_factory=lambda: MappingProxyType({}))

    def sample(self, size: int, seed: int | np.random.Generator | None = None) -> pd.DataFrame:
        """Rows of the data, as someone sees them who does not know of the hidden variables."""
        return self.network.sample(size, seed=seed, evidence=dict(self.selected))[[self.x, self.y]]

    def comparison(self) -> EffectComparison:
        """Association and effect of x on y in the selected data; nothing that x does changes y in anyone."""
        return compare_effect(self.network, self.y, self.x, evidence=dict(self.selected))

    def explanation(self) -> AssociationExplanation:
        """The trails that make the association."""
        return explain_association(self.network, self.x, self.y, given=list(self.selected), latent=self.hidden)


def spurious_association(kind: SpuriousKind) -> SpuriousAssociation:
    """A small network in which X and Y are associated in this way, and neither acts on the other.

    See Koller & Friedman (2009), Probabilistic graphical models, examples 21.2 to 21.5.

    Parameters
    ----------
    kind
        "latent common cause": a genotype makes people smoke, and ill. "selection bias": of two independent talents, one
        or the other is enough to be asked. "mixture of populations": two groups differ in both, and within each
        group the two are independent. "time trend": both become more common over the years.

    Examples
    --------
    >>> talents = spurious_association("selection bias")
    >>> print(talents.explanation())
    A and G are associated given S (1 selection):
      A -> S <- G  (selection: S observed)
    >>> len(talents.sample(100, seed=0))
    100
    """
    if kind == "selection bias":
        asked = TableCPD("S", [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.1, 0.9]]], ["A", "G"])
        network = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("G", [0.5, 0.5]), asked)
        return SpuriousAssociation(kind, network, "A", "G", (), MappingProxyType({"S": 1}))
    if kind not in _FORKS:
        raise InvalidArgument(
            f"{kind!r} is no kind of spurious association.{suggestion(kind, [*_FORKS, 'selection bias'])}"
        )
    (cause, causes, chances), *effects = _FORKS[kind]
    cpds = [TableCPD(name, rows, [cause], states=states) for name, states, rows in effects]
    network = BayesianNetwork(TableCPD(cause, chances, states=causes), *cpds)
    return SpuriousAssociation(kind, network, effects[0][0], effects[1][0], (cause,))


_YEARS = list(range(2000, 2020))
_RISING, _FALLING = (np.linspace(*ends, len(_YEARS)) for ends in ((0.1, 0.9), (0.8, 0.2)))
#: Kind -> a hidden cause and its two effects: name, states and distribution (given the cause).
_FORKS: Mapping[str, tuple[tuple[str, list[Any], Any], ...]] = MappingProxyType(
    {
        "latent common cause": (
            ("genotype", ["common", "rare"], [0.7, 0.3]),
            ("smoking", ["no", "yes"], [[0.8, 0.2], [0.3, 0.7]]),
            ("cancer", ["no", "yes"], [[0.95, 0.05], [0.7, 0.3]]),
        ),
        "mixture of populations": (
            ("population", ["children", "adults"], [0.5, 0.5]),
            ("height", ["short", "tall"], [[0.9, 0.1], [0.2, 0.8]]),
            ("vocabulary", ["small", "big"], [[0.8, 0.2], [0.1, 0.9]]),
        ),
        "time trend": (
            ("year", _YEARS, np.full(len(_YEARS), 1.0 / len(_YEARS))),
            ("height", ["short", "tall"], np.stack([1 - _RISING, _RISING], axis=-1)),
            ("ice", ["little", "much"], np.stack([1 - _FALLING, _FALLING], axis=-1)),
        ),
    }
)
