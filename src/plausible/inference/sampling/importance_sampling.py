"""Importance sampling with a proposal that is learned from the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from plausible.base import Floats, QueryInfo, check_number, set_counts
from plausible.errors import InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.approximate import ApproximateEngine
from plausible.inference.relevance import possible_states
from plausible.inference.sampling.directed_sampling import (
    DirectedSampler,
    few_effective,
    sampling_info,
    split_evidence,
)
from plausible.inference.sampling.sample_sums import SampleSums
from plausible.inference.sampling.sampling_plan import SamplingPlan, ancestors_of, stream_key
from plausible.variables import Evidence, Variable

#: Messages are kept above this part of their largest entry: they are guesses, and only zeros proved by
#: `possible_states` may keep a state from being drawn.
_FLOOR = 1e-6
#: A row is moved by samples as if what it says now had been seen so many times: where it rests on few, a proposal
#: that follows them closely would miss what they have missed.
_INERTIA = 500.0


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """For each variable that evidence bears on, a distribution given its parents to draw from."""

    #: The families of the variables that are not observed, parents first, with the observed states put in.
    families: tuple[Factor, ...]
    weights: tuple[Factor, ...]  # Those of the observed variables
    #: Name -> P(x | u) λ(x), a row for each u: what the draws should follow, evidence below left out. States that can't
    #: occur given the evidence are zero. For variables that no finding depends on there is no entry.
    targets: Mapping[str, Floats]
    guides: Mapping[str, Floats]  # Name -> rows to draw from, each a distribution, or zero where that of the target is
    #: This part of each draw follows the target itself, so that no weight has a factor above 1 / `prior_share`.
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
        guides = {name: _distributions(rows * messages[name]) for name, rows in self.targets.items()}
        return replace(self, guides=guides)

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
    """
    beliefs: dict[str, Floats] = {}
    for family in families:
        rows = family.flat.reshape(-1, family.scope[-1].num_states)
        joint = np.ones(1)
        for name in family.names[:-1]:
            joint = np.multiply.outer(joint, beliefs[name]).ravel()
        beliefs[family.names[-1]] = joint @ rows
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


def _distributions(rows: Floats) -> Floats:
    """The rows divided by their sums; zero rows stay."""
    totals = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, totals, out=np.zeros_like(rows), where=totals > 0))


#: Each stage of learning draws this part of the samples.
_STAGE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class ImportanceSampling(DirectedSampler):
    """Importance sampling that learns its proposal q: P(x | e) ≈ Σ w 1{x} / Σ w, w = P(x, e) / q(x).

    The best q is P(x | e) itself. Each ancestor of evidence has its own proposal table given its parents. The table
    starts as P(x | u) λ(x) with messages λ from the evidence (as in EPIS-BN, Yuan & Druzdzel 2003), or as another
    engine's belief about x given u, and is learned in stages from weighted samples (as in AIS-BN, Cheng & Druzdzel
    2000). States that a single factor and the evidence rule out are never drawn. Mixing in the network's own
    distribution keeps the weights bounded (Hesterberg 1995). The answer uses samples from the last proposal only, so
    its weights are unbiased.

    Parameters
    ----------
    num_samples
        How many samples to use for the answer; each stage of learning draws a tenth of that.
    proposal
        Where to start: "evidence" uses messages from the evidence, "prior" the distributions of the network, and an
        engine such as `LoopyBP()` or `MeanField()` its beliefs.
    adapt
        How many stages of learning to run; zero keeps the first proposal.
    prior_share
        The share of the network's own distribution in each draw, above zero and at most one.

    Examples
    --------
    >>> from plausible.variables import Variable
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.999, 0.001]), Factor((a, b), [[0.999, 0.001], [0.2, 0.8]])]
    >>> seen = Evidence.read({"B": 1}, {"B": b})
    >>> answer = ImportanceSampling(10_000).query(factors, [a], seen)
    >>> bool(abs(answer.values[1] - 0.8 / 1.799) < answer.info.error)
    True
    """

    num_samples: int = 100_000
    proposal: Literal["evidence", "prior"] | ApproximateEngine = "evidence"
    adapt: int = 5
    prior_share: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        DirectedSampler.__post_init__(self)
        set_counts(self, adapt=0)
        check_number("prior_share", self.prior_share, above=0, most=1)
        if not isinstance(self.proposal, ApproximateEngine) and self.proposal not in ("evidence", "prior"):
            raise InvalidArgument(
                f"proposal= is 'evidence', 'prior' or an engine such as LoopyBP(), not {self.proposal!r}."
            )

    @property
    def stage_size(self) -> int:
        """The samples of each stage of learning."""
        return max(1, int(_STAGE_SHARE * self.num_samples))

    def plan(self, families: Sequence[Factor], evidence: Evidence, likelihoods: Sequence[Factor] = ()) -> SamplingPlan:
        """Draw from the proposal that is left after all stages."""
        return self.learn(families, evidence, likelihoods).plan()

    def learn(self, families: Sequence[Factor], evidence: Evidence, likelihoods: Sequence[Factor] = ()) -> Proposal:
        """The proposal for this evidence; raises `ImpossibleEvidence` where a single factor shows it to be that."""
        proposal = Proposal.of(families, evidence, self.prior_share, likelihoods)
        if not proposal.groups:
            return proposal
        if isinstance(self.proposal, ApproximateEngine):
            proposal = proposal.with_beliefs(self.proposal, evidence)
        elif self.proposal == "evidence":
            proposal = proposal.with_messages()
        for stage in range(1, self.adapt + 1):
            sums = proposal.plan().sums(proposal.groups, self.stage_size, stream_key(self.seed, stage))
            proposal = proposal.learned(sums)
        return proposal

    def info(self, sums: SampleSums) -> QueryInfo:
        """The effective sample size, and a remedy where it is too low."""
        few = f"{few_effective(sums)} Draw more, learn longer (adapt=), or use Gibbs() or an exact engine."
        return sampling_info("importance sampling", sums, few, sums.num_samples + self.adapt * self.stage_size)
