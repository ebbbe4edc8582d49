"""Approximate beliefs over time by messages that forget what groups of variables have to do with each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plausible.base.options import read_blocks
from plausible.errors import UnknownVariable
from plausible.inference.budget import Budget
from plausible.models.sequences.observations import StepBeliefs, StepEvidence
from plausible.models.sequences.slice_passes import SlicePasses
from plausible.models.sequences.slice_program import Clusters
from plausible.models.sequences.template import Lagged, Template

if TYPE_CHECKING:
    from plausible.models.sequences.dynamic_answers import DynamicAnswers


@dataclass(frozen=True, slots=True)
class BoyenKoller:
    """Filter and smooth with a product of marginals of clusters as the message between slices (Boyen & Koller 1998).

    Within a slice all is exact. What is forgotten does not add up: where the model mixes, the error of the beliefs
    stays bounded over time.

    Attributes
    ----------
    clusters
        Groups of variables whose joint is passed on; the others are passed on alone. With all in one it is exact, in
        networks that look back one step; what lies further back is passed on in groups of its own.

    >>> BoyenKoller(clusters=[["A", "B"]])
    BoyenKoller(clusters=(('A', 'B'),))
    """

    clusters: tuple[tuple[str, ...], ...] = ()

    def __init__(self, clusters: Iterable[Iterable[str]] = ()) -> None:
        object.__setattr__(self, "clusters", read_blocks(clusters) or ())

    def _filter(
        self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None, level: float
    ) -> StepBeliefs:
        programs = model._programs(evidence, budget, clusters=self._groups(evidence.template))
        logs, beliefs = SlicePasses.run(programs, evidence, SlicePasses.filtered, is_exact=False)
        return StepBeliefs(logs, model._with_known(evidence, beliefs.marginals))

    def _smooth(
        self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None, level: float
    ) -> StepBeliefs:
        programs = model._programs(evidence, budget, clusters=self._groups(evidence.template))
        logs, beliefs = SlicePasses.run(programs, evidence, SlicePasses.smoothed, is_exact=False)
        return StepBeliefs(logs, model._with_known(evidence, beliefs.marginals))

    def _groups(self, template: Template) -> Clusters:
        """The clusters of what passes on, those of older slices by themselves."""
        passed = template.handed_on(template.num_first, template.continuous)
        for name in (name for cluster in self.clusters for name in cluster):
            if name not in template.variables:
                raise UnknownVariable.named(name, template.variables, "this dynamic network, though clusters= has it")
        listed = {name for cluster in self.clusters for name in cluster}
        alone = tuple((name,) for name in dict.fromkeys(one.name for one in passed) if name not in listed)
        lags = sorted({one.lag for one in passed})
        return tuple(tuple(Lagged(n, lag) for n in group) for lag in lags for group in (*self.clusters, *alone))
