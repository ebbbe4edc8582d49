"""Distributions to draw from where evidence lies further down: a first guess by messages, and learning from samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.inference.approximate import ApproximateEngine
from plausible.inference.relevance import possible_states
from plausible.inference.sampling.directed_sampling import split_evidence
from plausible.inference.sampling.families import ancestors_of
from plausible.inference.sampling.sample_sums import SampleSums
from plausible.inference.sampling.sampling_plan import SamplingPlan
from plausible.variables import Evidence, Variable

__all__ = ["Proposal", "evidence_messages"]


#: Messages are kept above this part of their largest entry: they are guesses, and only zeros proved by
#: `possible_states` may keep a state from being drawn.
_FLOOR = 1e-6
#: A row is moved by samples as if what it says now had been seen so many times: where it rests on few, a proposal
#: that follows them closely would miss what they have missed.
_INERTIA = 500.0


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """For each variable that evidence bears on, a distribution given its parents to draw from.

    Attributes
    ----------
    families
        The families of the variables that are not observed, parents first, with the observed states put in.
    weights
        Those of the observed variables.
    targets
        Name -> P(x | u) λ(x), a row for each u: what the draws should follow, evidence below left out. States that
        can't occur given the evidence are zero. For variables that no finding depends on there is no entry.
    guides
        Name -> rows to draw from, each a distribution, or zero where that of the target is.
    prior_share
        This part of each draw follows the target itself, so that no weight has a factor above 1 / `prior_share`.
    """

    families: tuple[Factor, ...]
    weights: tuple[Factor, ...]
    targets: Mapping[str, Floats]
    guides: Mapping[str, Floats]
    prior_share: float

    @classmethod
    def of(
        cls, families: Sequence[Factor], evidence: Evidence, prior_share: float, likelihoods: Sequence[Factor] = ()
    ) -> Proposal:
        """Start from the network's own distributions."""
        possible = possible_states([*families, *likelihoods], evidence)
        free, observed = split_evidence(families, evidence, likelihoods)
        findings = [*evidence.soft, *(name for factor in observed for name in factor.names)]
        guided = ancestors_of(findings, free)
        targets = {}
        for family in free:
            variable = family.scope[-1]
            if variable.name in guided:
                finding = evidence.soft.get(variable.name, np.ones(variable.num_states))
                targets[variable.name] = family.flat.reshape(-1, len(finding)) * (finding * possible[variable.name])
        guides = {name: _distributions(rows) for name, rows in targets.items()}
        return cls(tuple(free), tuple(observed), targets, guides, prior_share)

    def with_messages(self) -> Proposal:
        """Guides that are the network's own distributions times λ messages out of the evidence."""
        messages = evidence_messages(self.families, self.weights, self.targets)
        return replace(
            self, guides={name: _distributions(rows * messages[name]) for name, rows in self.targets.items()}
        )

    def with_beliefs(self, engine: ApproximateEngine, evidence: Evidence) -> Proposal:
        """Guides b(x | u) from an engine's beliefs about each family; about x alone where it has no others.

        Where each variable has one parent at most and the beliefs are right, as those of belief propagation then are,
        all weights are equal.
        """
        soft = {name: finding for name, finding in evidence.soft.items() if name not in evidence.hard}
        asked = [*self.families, *self.weights], self.groups, replace(evidence, hard={}, soft=soft)
        try:
            joints = engine.joints(*asked)
        except NotSupported:
            joints = engine.joints(asked[0], [scope[-1:] for scope in asked[1]], asked[2])
        guides = {}
        for scope, joint in zip(self.groups, joints, strict=True):
            name = scope[-1].name
            rows = joint.flat.reshape(-1, scope[-1].num_states) * (self.targets[name] > 0)
            guides[name] = np.where(rows.sum(axis=1, keepdims=True) > 0, _distributions(rows), self.guides[name])
        return replace(self, guides=guides)

    @property
    def groups(self) -> list[tuple[Variable, ...]]:
        """The scopes of the families that can be learned."""
        return [family.scope for family in self.families if family.names[-1] in self.guides]

    def plan(self) -> SamplingPlan:
        """Draw from the guides, with the prior's share; weigh by target over guide, and by the observed families."""
        drawn, weights = [], list(self.weights)
        for family in self.families:
            if family.names[-1] not in self.guides:
                drawn.append(family)
                continue
            target, guide = self.targets[family.names[-1]], self.guides[family.names[-1]]
            rows = (1 - self.prior_share) * guide + self.prior_share * _distributions(target)
            ratios = np.divide(target, rows, out=np.zeros_like(rows), where=rows > 0)
            drawn.append(Factor.from_flat(family.scope, rows.ravel()))
            weights.append(Factor.from_flat(family.scope, ratios.ravel()))
        return SamplingPlan.of(drawn, weights)

    def learned(self, sums: SampleSums) -> Proposal:
        """Move each row towards the weighted frequencies, the more the more effective samples it has.

        `sums` are over `groups`. A row with effective size n becomes (n · frequencies + 500 · row) / (n + 500).
        """
        guides = dict(self.guides)
        for scope, cells, squares in zip(self.groups, sums.cells, sums.cell_squares, strict=True):
            row, states = guides[scope[-1].name], scope[-1].num_states
            counts, spread = cells.reshape(-1, states), squares.reshape(-1, states).sum(axis=1, keepdims=True)
            totals = counts.sum(axis=1, keepdims=True)
            size = np.divide(totals**2, spread, out=np.zeros_like(totals), where=spread > 0)
            seen = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
            guides[scope[-1].name] = _distributions((size * seen + _INERTIA * row) / (size + _INERTIA))
        return replace(self, guides=guides)


def evidence_messages(
    families: Sequence[Factor], observed: Sequence[Factor], targets: Mapping[str, Floats]
) -> dict[str, Floats]:
    """For each variable λ(x), roughly P(evidence below | x), by one sweep down and one up.

    The sweep down takes parents for independent; the sweep up is Pearl's, with these beliefs for the other parents. On
    a tree in which each variable has one parent at most, λ is right (Pearl 1988, §4.2); elsewhere it is a guess, as
    that from loopy propagation is (Yuan & Druzdzel 2003).

    Parameters
    ----------
    families
        Those of free variables, parents first.
    observed
        Factors over free variables: what observed children say.
    targets
        Name -> P(x | u) times the finding about x itself, a row for each u, of each variable to have a message.
    """
    beliefs: dict[str, Floats] = {}
    for family in families:
        rows = family.flat.reshape(-1, family.scope[-1].num_states)
        parents = [beliefs[name] for name in family.names[:-1]]
        beliefs[family.names[-1]] = reduce(_outer, parents, np.ones(1)) @ rows
    messages = {name: np.ones(rows.shape[1]) for name, rows in targets.items()}
    for factor in observed:
        _send(factor.names, factor.flat, beliefs, messages)
    for family in reversed(families):
        name = family.names[-1]
        if name in targets:
            _send(family.names[:-1], targets[name] @ messages[name], beliefs, messages)
    return messages


def _send(names: Sequence[str], table: Floats, beliefs: Mapping[str, Floats], messages: dict[str, Floats]) -> None:
    """Multiply into the message of each variable of a table the sum over the others, weighed by their beliefs."""
    for place, name in enumerate(names):
        sums = table
        for other in reversed(names[place + 1 :]):
            sums = sums.reshape(-1, len(beliefs[other])) @ beliefs[other]
        for other in names[:place]:
            sums = beliefs[other] @ sums.reshape(len(beliefs[other]), -1)
        if sums.max() > 0:
            message = messages[name] * np.maximum(sums / sums.max(), _FLOOR)
            messages[name] = np.maximum(message / message.max(), _FLOOR)


def _outer(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.multiply.outer(left, right).ravel())


def _distributions(rows: Floats) -> Floats:
    """The rows divided by their sums; zero rows stay."""
    totals = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, totals, out=np.zeros_like(rows), where=totals > 0))
