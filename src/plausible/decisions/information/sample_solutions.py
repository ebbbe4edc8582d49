"""What samples are worth to several decisions, which all that come after the first one to see them see, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD, TableCPD
from plausible.decisions.information.data_sets import (
    Estimate,
    SampleOptions,
    all_data_sets,
    data_set_probabilities,
    estimated,
    log_rows,
    num_data_sets,
)
from plausible.decisions.information.observing import observing
from plausible.decisions.information.value import gain
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import solve
from plausible.errors import TooLarge
from plausible.variables import Variable
from plausible.variables.evidence import EvidenceLike, findings_of

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["solved_samples"]

#: So many data sets at most are the states of one variable.
_MAX_STATES = 2**10
#: Data sets between two reports of progress.
_BLOCK = 50

#: A variable with its distribution, and how many copies of it are observed.
Study: TypeAlias = tuple[CPD, int]


def solved_samples(
    diagram: InfluenceDiagram, study: Study, decision: str, evidence: EvidenceLike | None, options: SampleOptions
) -> Estimate:
    """The value of copies of a variable at a decision and all later ones.

    Parameters
    ----------
    diagram
        The influence diagram.
    study
        The distribution of the variable, and how many copies there are.
    decision
        The first decision that sees them.
    evidence
        What is known before any decision is made.
    options
        How many data sets to draw, and how.
    """
    cpd, size = study
    number = num_data_sets(size, cpd.variable.num_states)
    before = solve(diagram, "auto", evidence)
    if number <= min(options.num_samples, _MAX_STATES):
        return _exact(diagram, study, decision, evidence, before)
    rows = cpd.to_factor().values
    first = observing(diagram.with_chance(_finding(diagram, cpd, np.ones(rows.shape[:-1]))), [_name(diagram)], decision)
    if earlier := [name for name, later in first.decisions.items() if _name(diagram) not in later.sees]:
        raise TooLarge(
            f"{earlier} come before {decision!r} and don't see the sample, so that all of its {number} data sets have "
            f"to be weighed at once, beyond the limit of {min(options.num_samples, _MAX_STATES)}: ask for fewer copies "
            "of a variable, or one with fewer states."
        )
    return estimated(_Gains(diagram, study, evidence, before).draw, _BLOCK, options)


def _exact(
    diagram: InfluenceDiagram, study: Study, decision: str, evidence: EvidenceLike | None, before: Solution
) -> Estimate:
    """The value of a variable whose states are the data sets."""
    cpd, size = study
    rows = cpd.to_factor().values
    counts = all_data_sets(size, rows.shape[-1])
    likely = data_set_probabilities(counts, rows.reshape(-1, rows.shape[-1])).reshape(*rows.shape[:-1], len(counts))
    whole = TableCPD(
        Variable(_name(diagram), len(counts)), likely / likely.sum(axis=-1, keepdims=True), cpd.parent_names
    )
    after = solve(observing(diagram.with_chance(whole), [whole.variable.name], decision), "auto", evidence)
    value = gain(after.expected_utility, before.expected_utility, before.rounding)
    return Estimate(value, 0.0, len(counts), before.is_optimal and after.is_optimal)


@dataclass(frozen=True, slots=True, eq=False)
class _Gains:
    """What data sets that are drawn bring, each solved for once."""

    diagram: InfluenceDiagram
    study: Study
    evidence: EvidenceLike | None
    before: Solution

    def draw(self, rng: np.random.Generator, block: int) -> Floats:
        """The gains of some data sets."""
        cpd, size = self.study
        rows = cpd.to_factor().values.reshape(-1, cpd.variable.num_states)
        counts = rng.multinomial(size, rows[rng.choice(len(rows), size=block, p=self._beliefs())])
        unique, place = np.unique(counts, axis=0, return_inverse=True)
        likely = unique @ log_rows(rows).T
        gains = [self._gain(weights) for weights in np.exp(likely - likely.max(axis=1, keepdims=True))]
        return np.array(gains)[place.reshape(-1)]

    def _beliefs(self) -> Floats:
        """P(u | evidence): no decision has an influence on it."""
        names = self.study[0].parent_names
        if not names:
            return np.ones(1)
        blind = self.diagram.with_information(dict.fromkeys(self.diagram.decisions, ()))
        network = blind.network(blind.uniform_strategy())
        return network.query(list(names), evidence=self.evidence).reorder(names).values.reshape(-1)

    def _gain(self, weights: Floats) -> float:
        """By how much the best strategy after a data set is better than the present one."""
        cpd = self.study[0]
        finding = _finding(self.diagram, cpd, weights.reshape([parent.num_states for parent in cpd.parents]))
        informed = self.diagram.with_chance(finding)
        known = {**findings_of(self.evidence), finding.variable.name: 1}
        after = solve(informed, "auto", known)
        now = expected_utility(informed, self.before.strategy, known)
        return gain(after.expected_utility, now, after.rounding)


def _finding(diagram: InfluenceDiagram, cpd: CPD, weights: Floats) -> TableCPD:
    """A variable whose state 1 says of the parents what a data set says."""
    return TableCPD(Variable(_name(diagram), 2), np.stack([1.0 - weights, weights], axis=-1), cpd.parent_names)


def _name(diagram: InfluenceDiagram) -> str:
    """A name that the diagram does not have."""
    name = "sample"
    while name in diagram.graph:
        name += "'"
    return name
