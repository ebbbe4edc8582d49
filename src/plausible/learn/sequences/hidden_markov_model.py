"""Hidden Markov models from rows in time, with whatever is missing or known of the states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, check_number, generator_of
from plausible.base.records import record
from plausible.data.sequences import SequencesLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, PlausibleWarning, counted, warn_caller
from plausible.learn.sequences.baum_welch import HMMProblem
from plausible.learn.sequences.emission_learner import EmissionRules
from plausible.learn.sequences.hmm_form import EmissionForm, EmissionLike, HMMForm, places_of, read_form
from plausible.learn.sequences.hmm_starts import started
from plausible.learn.sequences.hmm_state import HMMState
from plausible.learn.sequences.priors import HMMPrior, map_rows
from plausible.models.sequences.emissions import STATE, CategoricalEmission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.search.ascent import AscentLike, read_ascent
from plausible.search.run import HasRun, Run, Stops, best_run
from plausible.variables import State


class DegenerateStates(PlausibleWarning):
    """Covariances of some states stand at their floor: without it their likelihood would have no bound."""


@record(eq=False)
class HMMFit(HasRun):
    """A hidden Markov model that was learned, and how the run went; `log_likelihood` is that of the model."""

    model: HiddenMarkovModel  # The best one found
    log_likelihood: float  # Of the rows, under the model
    num_rows: int  # All steps of all sequences
    run: Run[HMMState]  # The best run
    runs: tuple[Run[HMMState], ...]  # All of them, the best first
    problem: HMMProblem  # With which the run can be gone on with
    degenerate: tuple[State, ...] = ()  # States whose variances stand at their floor

    _told = ("log_likelihood", "num_rows", "num_steps", "converged", "stopped_by", "seconds", "degenerate")
    _also = ("bic",)

    @property
    def bic(self) -> float:
        """log p(rows | model) - parameters · log(rows) / 2: greater is better."""
        return self.log_likelihood - self.model.num_parameters * math.log(max(1, self.num_rows)) / 2

    def shrunk(self, groups: Sequence[Sequence[State]], strength: float = 10.0) -> HiddenMarkovModel:
        """The model with symbols of the states of each group drawn to what they share, as by `strength` rows of that.

        Shrinkage of sparse states to others of their type (Freitag & McCallum 1999, with a fixed weight): rows are
        (counts + strength · pooled row), divided by their sums.
        """
        check_number("strength", strength, least=0)
        model, emission = self.model, self.model.emission
        if not isinstance(emission, CategoricalEmission):
            raise NotSupported(f"Tables of symbols can be shrunk; this model has a {type(emission).__name__}.")
        counts = self.run.state.expected.emission[0].copy()
        for group in places_of(model, "groups", groups):
            shared = counts[list(group)].sum(axis=0)
            counts[list(group)] += strength * shared / max(shared.sum(), np.finfo(float).tiny)
        table = map_rows(counts, np.where(counts > 0, 1.0, emission.table), 0.0)
        parts = model.initial.copy(), model.transition.copy(), CategoricalEmission(table, emission.symbol)
        return HiddenMarkovModel._of(model.state, *parts, model.transition_inputs)

    def __str__(self) -> str:
        ended = f"{self.stopped_by} after {counted(self.num_steps, 'step')}"
        return f"{self.model!r}: log-likelihood {self.log_likelihood:.6g} of {counted(self.num_rows, 'row')}, {ended}"


@keyword_hints
def hmm(
    rows: SequencesLike,
    states: int | Iterable[State] | None = None,
    *,
    emission: EmissionLike | None = None,
    covariance: str = "diagonal",
    num_components: int = 1,
    start: str | HiddenMarkovModel | HMMFit = "mixture",
    prior: HMMPrior | None = None,
    variance_floor: float = 1e-6,
    tied: Sequence[Sequence[State]] = (),
    tied_transitions: Sequence[Sequence[State]] = (),
    optimizer: AscentLike | None = None,
    restarts: int = 0,
    seed: Seed = 0,
    max_steps: int | None = 500,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Callable[[HMMState], object] | None = None,
    state: str = STATE,
    sequence: str | None = None,
    time: str | None = None,
    gaps: str = "refuse",
) -> HMMFit:
    """Learn a hidden Markov model by EM (Baum-Welch), or by its gradient: O(rows K²) a step.

    Cells may be missing or known in part. A column of the state's name says the state where it is known, wherever that
    is; where it is known everywhere, this is counting. Zeros of a model to start from stay.

    Parameters
    ----------
    rows
        One row a step, as for every question to the model.
    states
        The hidden states, or how many there are.
    emission
        "categorical", "gaussian" or "gaussian-mixture", by default what the columns say; or an emission or a CPD to
        start from. Of several columns a mapping from a column, or a group of columns, to these.
    covariance, num_components
        Of numbers: "full", "diagonal", "spherical" or "tied", and how many Gaussians each state mixes.
    start
        "mixture" takes emissions from a mixture of the rows that knows no time; "random" draws them. A model, whose
        kind is kept; or a fit, which is gone on with.
    prior
        Pseudo-counts; without it the likelihood is climbed. See `HMMPrior`.
    variance_floor
        The least eigenvalue of a covariance, in shares of the variances of the columns.
    tied, tied_transitions
        Groups of states that share their emission, or their row of transitions.
    optimizer
        "l-bfgs", "conjugate-gradient" or "steepest" climb the gradient of the likelihood instead: M - θ Σ M of a row of
        probabilities θ, from the expected counts M of EM. Of tables and Gaussian emissions.
    restarts
        Further starts, with other draws; the best run is taken.
    tolerance
        The gain for each row that counts as none.
    state
        What the hidden variable is called.

    Examples
    --------
    >>> import plausible as pb
    >>> casino = pb.HiddenMarkovModel([.5, .5], [[.95, .05], [.1, .9]], [[1/6] * 6, [.1] * 5 + [.5]],
    ...                               states=["fair", "loaded"], symbols=[1, 2, 3, 4, 5, 6])
    >>> rolls = casino.sample(2000, seed=1)
    >>> fit = hmm(rolls["observation"], states=2, restarts=2, seed=0)
    >>> fit.log_likelihood > casino.log_likelihood(rolls["observation"].tolist())
    True
    >>> told = hmm(rolls, states=["fair", "loaded"])  # all states are known
    >>> told.model.transition.round(1).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    check_count("restarts", restarts)
    check_number("variance_floor", variance_floor, above=0)
    stops = Stops(tolerance, max_steps, time_limit, progress)
    if isinstance(start, HMMFit):
        return _told(start.problem, (start.problem.run(start.run, stops),))
    ascent = None if optimizer is None else read_ascent(optimizer)
    columns = {"sequence": sequence, "time": time, "gaps": gaps}
    form = read_form(rows, states, EmissionForm(emission, covariance, num_components), start, state, columns)
    model = form.model
    rules = EmissionRules(prior or HMMPrior(), variance_floor, places_of(model, "tied", tied))
    tied_rows = places_of(model, "tied_transitions", tied_transitions)
    problem = HMMProblem.of(model, form.sequences, rules, tied_rows, ascent)
    if isinstance(start, HiddenMarkovModel):
        starts: Iterable[HMMState] = [problem.begun(model)]
    else:
        starts = (_started(problem, form, str(start), rng) for rng in generator_of(seed).spawn(1 + restarts))
    runs = best_run(lambda begin, clock: problem.run(begin, stops, clock), starts, time_limit)
    return _told(problem, runs)


def _started(problem: HMMProblem, form: HMMForm, method: str, rng: np.random.Generator) -> HMMState:
    begun = started(form, method, problem.rules, rng)
    try:
        return problem.begun(begun)
    except ImpossibleEvidence:
        raise InvalidArgument("The emission to start from makes the rows impossible: leave no zeros in it.") from None


def _told(problem: HMMProblem, runs: tuple[Run[HMMState], ...]) -> HMMFit:
    """The fit, with a warning where variances stand at their floor."""
    best = runs[0].state
    low = problem.learner.floored(best.model.emission)
    degenerate = tuple(best.model.states[place] for place in low)
    if degenerate:
        warn_caller(
            f"The variances of {', '.join(map(repr, degenerate))} stand at their floor, variance_floor="
            f"{problem.rules.variance_floor:g} of the columns' own: such a state has hardly more than a point. "
            "Take fewer states, a prior such as HMMPrior(variances=1.0), or another start.",
            DegenerateStates,
        )
    num_rows = problem.sequences.num_steps
    return HMMFit(best.model, best.log_likelihood, num_rows, runs[0], runs, problem, degenerate)
