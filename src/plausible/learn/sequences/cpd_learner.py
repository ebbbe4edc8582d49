"""How emissions by conditional distributions are learned: each by what learns its kind, from weighted rows."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner
from plausible.learn.sequences.emission_learner import EmissionLearner, EmissionRules, Statistics, pooled
from plausible.learn.sequences.weighted_families import weighted_family
from plausible.models.sequences.cpd_emission_rows import CompletedRows
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import ObservedRows


class DistributionLearner(EmissionLearner[CPDEmission]):
    """Each distribution learns from the completed rows that it speaks of, each row with every state.

    What it learns is taken where the rows are as probable under it as under the one before, so that EM never goes down.
    """

    def __init__(self, emission: CPDEmission, rows: ObservedRows, rules: EmissionRules) -> None:
        self.rows: CompletedRows = rows.content
        self.rules = rules
        self.chosen, self.families = [], []
        numbers = GaussianMomentLearner(rules.variance_floor, rules.prior.variances)
        for cpd, chosen in emission.by_step(self.rows):
            num_states, state = emission.num_states, emission.state
            columns = {name: np.repeat(cells[chosen], num_states) for name, cells in self.rows.of(cpd, state).items()}
            columns[state.name] = np.tile(np.arange(num_states), len(chosen))
            self.chosen.append(chosen)
            scope = {variable.name: columns[variable.name] for variable in cpd.scope}
            self.families.append(weighted_family(cpd, scope, len(chosen), rules.prior.symbols, numbers))

    def statistics(self, emission: CPDEmission, sums: Floats) -> Statistics:
        """How often each state goes with each completed row."""
        if len(self.rows.owner) == self.rows.num_rows:
            return (sums,)
        logs = emission.log_completions(self.rows)
        totals = self.rows.summed(logs)[self.rows.owner]
        return (np.exp(logs - np.where(np.isneginf(totals), 0.0, totals)) * sums[self.rows.owner],)

    def maximized(self, emission: CPDEmission, statistics: Statistics) -> CPDEmission:
        shares = pooled(self.rules.tied, statistics[0].T).T
        cpds = [
            family.best(cpd, shares[chosen].reshape(-1))
            for family, cpd, chosen in zip(self.families, _cpds(emission), self.chosen, strict=True)
        ]
        number = len(emission.cpds)
        return emission.with_cpds(cpds[:number], cpds[number:])

    def log_prior(self, emission: CPDEmission) -> float:
        return math.fsum(family.log_prior(cpd) for family, cpd in zip(self.families, _cpds(emission), strict=True))

    def floored(self, emission: CPDEmission) -> list[int]:
        found: set[int] = set()
        for family, cpd in zip(self.families, _cpds(emission), strict=True):
            found |= family.floored(cpd, emission.state)
        return sorted(found)


def _cpds(emission: CPDEmission) -> tuple[CPD, ...]:
    return (*emission.cpds, *emission.first)
