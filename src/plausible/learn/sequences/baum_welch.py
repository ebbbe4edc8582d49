"""Baum-Welch: the expectation and the maximization of hidden Markov models, with whatever is known of the states."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from plausible.base.tolerances import score_noise
from plausible.data.sequences import Sequences
from plausible.learn.sequences.emission_learner import EmissionLearner, EmissionRules, pooled, sums_by_row
from plausible.learn.sequences.emission_learners import learner_of
from plausible.learn.sequences.hmm_gradient import HMMSpace, gradient_step
from plausible.learn.sequences.hmm_state import ExpectedStates, HMMState
from plausible.learn.sequences.priors import log_dirichlet, map_rows
from plausible.models.sequences import state_inference
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.hidden_state_model import ObservedSteps
from plausible.models.sequences.sequence_model import refuse_impossible
from plausible.search.ascent import Ascent
from plausible.search.run import CONVERGED, Clock, Run, Stops, iterate


@dataclass(frozen=True, slots=True, eq=False)
class HMMProblem:
    """Baum-Welch on given rows (Baum et al. 1970), or steps along the gradient: `init` and `step`."""

    sequences: Sequences
    rules: EmissionRules
    tied_transitions: tuple[tuple[int, ...], ...]
    learner: EmissionLearner[Any]
    observed: ObservedSteps
    ascent: Ascent | None  # how the gradient is climbed; none for EM

    @classmethod
    def of(
        cls,
        model: HiddenMarkovModel,
        sequences: Sequences,
        rules: EmissionRules,
        tied_transitions: tuple[tuple[int, ...], ...] = (),
        ascent: Ascent | None = None,
    ) -> HMMProblem:
        """What does not change from step to step."""
        observed = model._observed(sequences)
        learner = learner_of(model.emission, observed.of_emission, rules)
        return cls(sequences, rules, tied_transitions, learner, observed, ascent)

    def init(self, model: HiddenMarkovModel) -> HMMState:
        """The expectations under a model; O(rows K²)."""
        chains = model._chains(self.sequences, self.observed)
        found = state_inference.expected(chains, self.observed.rows.num_rows)
        refuse_impossible(self.sequences, found.step_logs)
        sums = found.rows
        if self.observed.of_state is not None:
            sums = sums_by_row(sums, self.observed.rows.content.places[0], self.observed.of_emission.num_rows)
        expected = ExpectedStates(found.firsts, found.pairs, self.learner.statistics(model.emission, sums))
        log_likelihood = float(found.step_logs.sum())
        return HMMState(model, expected, log_likelihood, log_likelihood + self.log_prior(model))

    def begun(self, model: HiddenMarkovModel) -> HMMState:
        """The state to begin with; where states are tied, an M-step makes their parameters one."""
        state = self.init(model)
        return self.init(self.maximized(model, state.expected)) if self.rules.tied or self.tied_transitions else state

    def step(self, state: HMMState) -> HMMState:
        """One M-step and one E-step, or one step along the gradient; the objective never falls."""
        if self.ascent is not None:
            space = HMMSpace(state.model, self.learner, self.rules, self.tied_transitions)
            return gradient_step(self.init, space, state, self.ascent)
        return self.init(self.maximized(state.model, state.expected))

    def maximized(self, model: HiddenMarkovModel, expected: ExpectedStates) -> HiddenMarkovModel:
        """The model of greatest posterior density for expected counts; zeros of tables stay."""
        prior = self.rules.prior
        initial = map_rows(expected.firsts, model.initial, prior.initial)
        pairs = np.stack([pooled(self.tied_transitions, counts) for counts in expected.pairs])
        transition = map_rows(pairs.reshape(model.transition.shape), model.transition, prior.transitions)
        emission = self.learner.maximized(model.emission, expected.emission)
        return HiddenMarkovModel._of(model.state, initial, transition, emission, model.transition_inputs)

    def log_prior(self, model: HiddenMarkovModel) -> float:
        """The logarithm of the prior's density, but for a constant."""
        prior = self.rules.prior
        chain = log_dirichlet(model.initial, prior.initial) + log_dirichlet(model.transition, prior.transitions)
        return chain + self.learner.log_prior(model.emission)

    def run(self, start: HMMState | Run[HMMState], stops: Stops, clock: Clock | None = None) -> Run[HMMState]:
        """Steps until one gains no more than the tolerance for each row."""
        enough = stops.tolerance * max(1, self.sequences.num_steps)

        def settled(run: Run[HMMState]) -> str:
            assert run.previous is not None
            gain = run.state.value - run.previous.value
            return CONVERGED if gain <= max(enough, score_noise(run.state.value)) else ""

        return iterate(self.step, start, stops, [settled], objective=attrgetter("value"), clock=clock)
