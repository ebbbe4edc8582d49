"""Associations without an effect, one of each kind, as networks to sample from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from plausible.causal.queries.association import EffectComparison, compare_effect
from plausible.causal.queries.explanation import AssociationExplanation, explain_association
from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument, suggestion
from plausible.models import BayesianNetwork
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd


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

    Parameters
    ----------
    kind
        "latent common cause": a genotype makes people smoke, and ill. "selection bias": of two independent talents, one
        or the other is enough to be asked. "mixture of populations": two groups differ in both, and within each
        group the two are independent. "time trend": both become more common over the years.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, examples 21.2 to 21.5.

    Examples
    --------
    >>> talents = spurious_association("selection bias")
    >>> print(talents.explanation())
    A and G are associated given S (1 selection):
      A -> S <- G  (selection: S observed)
    >>> len(talents.sample(100, seed=0))
    100
    """
    if kind not in _MAKERS:
        raise InvalidArgument(f"{kind!r} is no kind of spurious association.{suggestion(kind, _MAKERS)}")
    return _MAKERS[kind]()


def _common_cause() -> SpuriousAssociation:
    network = BayesianNetwork(
        TableCPD("genotype", [0.7, 0.3], states=["common", "rare"]),
        TableCPD("smoking", {"common": [0.8, 0.2], "rare": [0.3, 0.7]}, ["genotype"], states=["no", "yes"]),
        TableCPD("cancer", {"common": [0.95, 0.05], "rare": [0.7, 0.3]}, ["genotype"], states=["no", "yes"]),
    )
    return SpuriousAssociation("latent common cause", network, "smoking", "cancer", ("genotype",))


def _selection() -> SpuriousAssociation:
    network = BayesianNetwork(
        TableCPD("A", [0.5, 0.5]),
        TableCPD("G", [0.5, 0.5]),
        TableCPD("S", [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.1, 0.9]]], ["A", "G"]),
    )
    return SpuriousAssociation("selection bias", network, "A", "G", (), MappingProxyType({"S": 1}))


def _mixture() -> SpuriousAssociation:
    network = BayesianNetwork(
        TableCPD("population", [0.5, 0.5], states=["children", "adults"]),
        TableCPD("height", {"children": [0.9, 0.1], "adults": [0.2, 0.8]}, ["population"], states=["short", "tall"]),
        TableCPD("vocabulary", {"children": [0.8, 0.2], "adults": [0.1, 0.9]}, ["population"], states=["small", "big"]),
    )
    return SpuriousAssociation("mixture of populations", network, "height", "vocabulary", ("population",))


def _trend() -> SpuriousAssociation:
    years = np.arange(2000, 2020)
    rising, falling = np.linspace(0.1, 0.9, len(years)), np.linspace(0.8, 0.2, len(years))
    network = BayesianNetwork(
        TableCPD("year", np.full(len(years), 1.0 / len(years)), states=years.tolist()),
        TableCPD("height", np.stack([1 - rising, rising], axis=-1), ["year"], states=["short", "tall"]),
        TableCPD("ice", np.stack([1 - falling, falling], axis=-1), ["year"], states=["little", "much"]),
    )
    return SpuriousAssociation("time trend", network, "height", "ice", ("year",))


_MAKERS: Mapping[SpuriousKind, Callable[[], SpuriousAssociation]] = MappingProxyType(
    {
        "latent common cause": _common_cause,
        "selection bias": _selection,
        "mixture of populations": _mixture,
        "time trend": _trend,
    }
)
