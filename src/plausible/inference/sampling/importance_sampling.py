"""Importance sampling whose proposal is made for the evidence and learned in stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from plausible.base.options import check_number, read_count
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.approximate import ApproximateEngine
from plausible.inference.info import QueryInfo
from plausible.inference.sampling.directed_sampling import (
    DirectedSampler,
    few_effective,
    sampling_info,
)
from plausible.inference.sampling.importance_proposal import Proposal
from plausible.inference.sampling.sample_sums import SampleSums
from plausible.inference.sampling.sampling_plan import SamplingPlan, stream_key
from plausible.variables import Evidence

__all__ = ["ImportanceSampling"]

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
    seed
        A non-negative integer; the same seed gives the same answer.

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
        object.__setattr__(self, "adapt", read_count("adapt", self.adapt))
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
