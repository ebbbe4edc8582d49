"""How emissions are learned, by their kind; tables of symbols, and several columns side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import NotSupported
from plausible.learn.sequences.cpd_learner import DistributionLearner
from plausible.learn.sequences.emission_learner import (
    EmissionLearner,
    EmissionRules,
    Statistics,
    pooled,
    sums_by_row,
)
from plausible.learn.sequences.number_learners import MixtureLearner, NumberLearner
from plausible.learn.sequences.priors import log_dirichlet, map_rows
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import (
    CategoricalEmission,
    Emission,
    ObservedRows,
    ProductEmission,
)
from plausible.models.sequences.gaussian_emissions import GaussianEmission, GaussianMixtureEmission


def learner_of(emission: Emission, rows: ObservedRows, rules: EmissionRules) -> EmissionLearner[Any]:
    """What learns emissions of a kind."""
    kinds: Mapping[type[Emission], Any] = {
        CategoricalEmission: SymbolLearner,
        GaussianEmission: NumberLearner,
        GaussianMixtureEmission: MixtureLearner,
        ProductEmission: PartsLearner,
        CPDEmission: DistributionLearner,
    }
    if type(emission) not in kinds:
        raise NotSupported(
            f"learn.hmm does not learn a {type(emission).__name__}. It learns tables, GaussianEmission, "
            "GaussianMixtureEmission, CPDEmission and several of these side by side."
        )
    return kinds[type(emission)](emission, rows, rules)  # type: ignore[no-any-return]


class SymbolLearner(EmissionLearner[CategoricalEmission]):
    def __init__(self, _emission: Emission, rows: ObservedRows, rules: EmissionRules) -> None:
        self.content, self.rules = rows.content, rules

    def statistics(self, emission: CategoricalEmission, sums: Floats) -> Statistics:
        """Of each state and symbol the expected number of steps; those where nothing is seen tell nothing."""
        size = emission.symbol.num_states
        counts = sums[:size].T.copy()
        for weights, own in zip(self.content[size + 1 :], sums[size + 1 :], strict=True):
            joint = emission.table * weights
            totals = joint.sum(axis=1, keepdims=True)
            counts += own[:, None] * np.divide(joint, totals, out=np.zeros_like(joint), where=totals > 0)
        return (counts,)

    def maximized(self, emission: CategoricalEmission, statistics: Statistics) -> CategoricalEmission:
        counts = pooled(self.rules.tied, statistics[0])
        return CategoricalEmission(map_rows(counts, emission.table, self.rules.prior.symbols), emission.symbol)

    def log_prior(self, emission: CategoricalEmission) -> float:
        return log_dirichlet(emission.table, self.rules.prior.symbols)


class PartsLearner(EmissionLearner[ProductEmission]):
    def __init__(self, emission: Emission, rows: ObservedRows, rules: EmissionRules) -> None:
        assert isinstance(emission, ProductEmission)
        self.combinations, self.rules = rows.content, rules
        pairs = zip(emission.parts, rows.content.parts, strict=True)
        self.learners = [learner_of(part, own, rules) for part, own in pairs]

    def statistics(self, emission: ProductEmission, sums: Floats) -> Statistics:
        rows = zip(emission.parts, self.learners, self.combinations.parts, self.combinations.places, strict=True)
        return tuple(
            learner.statistics(part, sums_by_row(sums, places, own.num_rows)) for part, learner, own, places in rows
        )

    def maximized(self, emission: ProductEmission, statistics: Statistics) -> ProductEmission:
        parts = zip(emission.parts, self.learners, statistics, strict=True)
        return ProductEmission(learner.maximized(part, own) for part, learner, own in parts)

    def log_prior(self, emission: ProductEmission) -> float:
        pairs = zip(emission.parts, self.learners, strict=True)
        return math.fsum(learner.log_prior(part) for part, learner in pairs)

    def floored(self, emission: ProductEmission) -> list[int]:
        pairs = zip(emission.parts, self.learners, strict=True)
        return sorted({state for part, learner in pairs for state in learner.floored(part)})
