"""Hidden Markov models that learn from batches of sequences, each of which is seen once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from plausible.data.sequences import SequencesLike
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.learn.sequences.baum_welch import HMMProblem
from plausible.learn.sequences.emission_learner import EmissionRules, Statistics, weighted_sum
from plausible.learn.sequences.hmm_state import ExpectedStates
from plausible.learn.sequences.number_learners import number_units
from plausible.learn.sequences.priors import HMMPrior
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import Emission, ObservedRows, ProductEmission
from plausible.models.sequences.gaussian_emissions import GaussianEmission, GaussianMixtureEmission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel

#: Half a case for each number of a table.
_LIGHT_PRIOR = HMMPrior(initial=0.5, transitions=0.5, symbols=0.5, weights=0.5)


@dataclass(frozen=True, slots=True, eq=False)
class OnlineHMM:
    """A hidden Markov model that learns from batches of sequences, each of which is seen once and forgotten.

    It is a value: `partial_fit` returns what has learned more: `online = online.partial_fit(rows)`.

    Stepwise EM (Cappé & Moulines 2009): a batch of w steps, the last of W steps together, moves the mean statistics s
    of a step by s ← (1 - γ) s + γ S_batch / w with γ = (w / W)^decay, and the model is that of W s, with the prior.
    With decay 1 all steps count alike, so that batches in which all states are known give the estimates of all of them
    at once; smaller ones forget what the first models made of hidden states. Numbers are measured in the units of the
    first batch. Each batch has whole sequences.

    >>> import plausible as pb
    >>> coin = pb.HiddenMarkovModel([1.0], [[1.0]], [[0.5, 0.5]], symbols=["H", "T"])
    >>> online = OnlineHMM(coin, decay=1.0)
    >>> for rolls in (["H", "H"], ["T", "H", "H", "H"]):
    ...     online = online.partial_fit(rolls)
    >>> online.model.emission.table.round(3)
    array([[0.786, 0.214]])
    """

    #: Where to start: the states, the kind of emission and the first numbers. States that start alike stay so.
    model: HiddenMarkovModel
    prior: HMMPrior = _LIGHT_PRIOR  # With none, what the first batches lack is ruled out
    decay: float = 0.7  # Above 1/2, at most 1
    variance_floor: float = 1e-6  # The least variance, in shares of those of the first batch
    units: Mapping[str, tuple[float, float]] | None = None  # Mean and deviation of each column in the first batch
    mean: Statistics | None = None  # s so far
    weight: float = 0.0  # W so far
    #: Of each batch, the mean log-likelihood of a step before it was learned from: an honest test of each model.
    batch_log_likelihoods: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.model, HiddenMarkovModel):
            raise InvalidArgument(
                f"OnlineHMM takes the HiddenMarkovModel to start from, not {self.model!r}. Make one from the first "
                "rows: learn.hmm(rows, states).model."
            )
        if not 0.5 < self.decay <= 1:
            raise InvalidArgument(f"decay= is above 1/2 and at most 1, not {self.decay!r}.")
        if any(isinstance(part, CPDEmission) for part in _parts(self.model.emission)):
            raise NotSupported("Distributions of any kind learn from all rows at once: learn.hmm(rows, start=model).")

    def partial_fit(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> OnlineHMM:
        """A new value, which has learned from one more batch of sequences."""
        sequences = self.model._read(rows, sequence, time, gaps)
        size = sequences.num_steps
        if not size:
            return self
        units = self.units
        if units is None:
            units = dict(_units(self.model.emission, self.model.emission.observed(sequences)))
        problem = HMMProblem.of(self.model, sequences, EmissionRules(self.prior, self.variance_floor, (), units))
        state = problem.init(self.model)
        found: Statistics = (state.expected.firsts, state.expected.pairs, state.expected.emission)
        weight = self.weight + size
        rate = (size / weight) ** self.decay
        mean = weighted_sum(self.mean or found, 1.0 - rate if self.mean else 0.0, found, rate / size)
        model = problem.maximized(self.model, ExpectedStates(*weighted_sum(mean, weight, mean, 0.0)))
        told = (*self.batch_log_likelihoods, state.log_likelihood / size)
        return replace(self, model=model, units=units, mean=mean, weight=weight, batch_log_likelihoods=told)

    def __repr__(self) -> str:
        batches = f"{counted(len(self.batch_log_likelihoods), 'batch')} of {counted(int(self.weight), 'step')}"
        return f"<OnlineHMM: {batches}, decay {self.decay}, {self.model!r}>"


def _parts(emission: Emission) -> tuple[Emission, ...]:
    return emission.parts if isinstance(emission, ProductEmission) else (emission,)


def _units(emission: Emission, rows: ObservedRows) -> list[tuple[str, tuple[float, float]]]:
    """Name -> mean and deviation of each column of numbers."""
    own: Any = rows.content.parts if isinstance(emission, ProductEmission) else (rows,)
    found = []
    for part, content in zip(_parts(emission), own, strict=True):
        if isinstance(part, (GaussianEmission, GaussianMixtureEmission)):
            pairs = zip(*number_units(part, content, EmissionRules(HMMPrior(), 1.0)), strict=True)
            found += [(v.name, (float(a), float(b))) for v, (a, b) in zip(part.variables, pairs, strict=True)]
    return found
