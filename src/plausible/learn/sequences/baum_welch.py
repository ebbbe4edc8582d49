"""Hidden Markov models from rows in time: Baum-Welch, with whatever is missing or known of the states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, check_number, generator_of
from plausible.base.records import Result, record
from plausible.base.tolerances import score_noise
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, PlausibleWarning, counted, warn_caller
from plausible.learn.sequences.emission_learners import (
    EmissionLearner,
    EmissionRules,
    Statistics,
    learner_of,
    pooled,
    sums_by_row,
)
from plausible.learn.sequences.hmm_starts import blank_emission, started
from plausible.learn.sequences.priors import HMMPrior, log_dirichlet, map_rows
from plausible.models.sequences import state_inference
from plausible.models.sequences.emissions import OBSERVATION, STATE, CategoricalEmission, Emission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.hidden_state_model import ObservedSteps, by_column
from plausible.models.sequences.sequence_model import refuse_impossible
from plausible.search.run import CONVERGED, Clock, HasRun, Run, Stops, best_run, iterate
from plausible.variables import State, Variable


class DegenerateStates(PlausibleWarning):
    """Covariances of some states stand at their floor: without it their likelihood would have no bound."""


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedStates:
    """Expected counts of a chain and its observations."""

    firsts: Floats
    pairs: Floats  # (matrices, K, K)
    emission: Statistics


@dataclass(frozen=True, slots=True, eq=False)
class HMMState:
    """A model on its way, and what is expected under it."""

    model: HiddenMarkovModel
    expected: ExpectedStates
    log_likelihood: float  # of the rows
    value: float  # the objective: with the logarithm of the prior's density


@dataclass(frozen=True, slots=True, eq=False)
class HMMProblem:
    """Baum-Welch on given rows (Baum et al. 1970): `init` and `step`."""

    sequences: Sequences
    rules: EmissionRules
    tied_transitions: tuple[tuple[int, ...], ...]
    learner: EmissionLearner[Any]
    observed: ObservedSteps

    @classmethod
    def of(
        cls,
        model: HiddenMarkovModel,
        sequences: Sequences,
        rules: EmissionRules,
        tied_transitions: tuple[tuple[int, ...], ...] = (),
    ) -> HMMProblem:
        """What does not change from step to step."""
        observed = model._observed(sequences)
        learner = learner_of(model.emission, observed.of_emission, rules)
        return cls(sequences, rules, tied_transitions, learner, observed)

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

    def step(self, state: HMMState) -> HMMState:
        """One M-step and one E-step; the objective never falls."""
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
    emission: str | Emission | None = None,
    covariance: str = "diagonal",
    num_components: int = 1,
    start: str | HiddenMarkovModel | HMMFit = "mixture",
    prior: HMMPrior | None = None,
    variance_floor: float = 1e-6,
    tied: Sequence[Sequence[State]] = (),
    tied_transitions: Sequence[Sequence[State]] = (),
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
    """Learn a hidden Markov model by EM (Baum-Welch): O(rows K²) a step.

    Cells may be missing or known in part. A column of the state's name says the state where it is known, wherever that
    is; where it is known everywhere, this is counting. Zeros of a model to start from stay.

    Parameters
    ----------
    rows
        One row a step, as for every question to the model.
    states
        The hidden states, or how many there are.
    emission
        "categorical", "gaussian" or "gaussian-mixture", or an emission to start from; by default what the columns say.
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
    model, sequences = _read(rows, states, emission, covariance, num_components, start, state, (sequence, time, gaps))
    rules = EmissionRules(prior or HMMPrior(), variance_floor, places_of(model, "tied", tied))
    problem = HMMProblem.of(model, sequences, rules, places_of(model, "tied_transitions", tied_transitions))
    if isinstance(start, HiddenMarkovModel):
        starts: Iterable[HMMState] = [problem.init(model)]
    else:
        keeps_emission = isinstance(emission, Emission)
        generators = generator_of(seed).spawn(1 + restarts)
        starts = (_started(problem, model, str(start), rng, keeps_emission) for rng in generators)
    runs = best_run(lambda begin, clock: problem.run(begin, stops, clock), starts, time_limit)
    return _told(problem, runs)


def _started(
    problem: HMMProblem, model: HiddenMarkovModel, method: str, rng: np.random.Generator, keeps_emission: bool
) -> HMMState:
    begun = started(model, problem.sequences, method, problem.rules, rng)
    if keeps_emission:
        begun = HiddenMarkovModel._of(
            model.state, begun.initial.copy(), begun.transition.copy(), model.emission, model.transition_inputs
        )
    try:
        return problem.init(begun)
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


def places_of(model: HiddenMarkovModel, option: str, groups: Sequence[Sequence[State]]) -> tuple[tuple[int, ...], ...]:
    """Groups of states by position."""
    if isinstance(groups, str):
        raise InvalidArgument(f"{option}= is a list of groups of states, not {groups!r}.")
    found = tuple(tuple(model.state.index(each) for each in group) for group in groups)
    flat = [place for group in found for place in group]
    if len(set(flat)) < len(flat):
        raise InvalidArgument(f"{option}= has a state in two groups.")
    return found


def _read(
    rows: SequencesLike,
    states: int | Iterable[State] | None,
    emission: str | Emission | None,
    covariance: str,
    num_components: int,
    start: str | HiddenMarkovModel,
    name: str,
    places: tuple[str | None, str | None, str],
) -> tuple[HiddenMarkovModel, Sequences]:
    """A model of the right form, and the rows as it reads them."""
    if isinstance(start, HiddenMarkovModel):
        return start, start._read(rows, *places)
    if states is None:
        raise InvalidArgument("states= is missing: how many hidden states there are, or their names.")
    state = Variable(name, states)
    count = state.num_states
    check_count("num_components", num_components, 1)
    uniform = np.full(count, 1 / count), np.full((count, count), 1 / count)
    if isinstance(emission, Emission):
        model = HiddenMarkovModel(*uniform, emission, state.states, state=name)
        return model, model._read(rows, *places)
    sequences = inferred_rows(rows, {name: state}, places, emission)
    columns = [variable for each, variable in sequences.variables.items() if each != name]
    blank = blank_emission(columns, count, emission, covariance, num_components)
    return HiddenMarkovModel(*uniform, blank, state.states, state=name), sequences


def inferred_rows(
    rows: SequencesLike,
    known: dict[str, Variable],
    places: tuple[str | None, str | None, str],
    emission: str | None,
) -> Sequences:
    """The rows with columns typed by what they hold; as numbers where emissions are to be Gaussian."""
    sequence, time, gaps = places
    options: dict[str, Any] = {"sequence": sequence, "time": time, "gaps": gaps, "infer": True, "lone": OBSERVATION}
    pieces = rows if isinstance(rows, list) else [rows]
    widths = {each.shape[1] for each in pieces if isinstance(each, np.ndarray) and each.ndim == 2}
    if widths:
        (width,) = widths if len(widths) == 1 else (0,)
        rows = by_column(rows, [OBSERVATION] if width == 1 else [f"{OBSERVATION}{place}" for place in range(width)])
    numbers = isinstance(emission, str) and emission.startswith("gaussian")
    return Sequences.read(rows, known, place="these rows", numbers=numbers, **options)


@record
class HMMScore(Result):
    """How well so many hidden states do."""

    num_states: int  # K
    score: float  # By the criterion; greater is better
    log_likelihood: float  # Of the rows that the model was learned from

    def __str__(self) -> str:
        return f"{self.num_states} states: {self.score:.6g}"


@record(eq=False)
class HMMChoice(Result):
    """The number of hidden states that does best, and how the others do."""

    fit: HMMFit  # Of the best number
    scores: tuple[HMMScore, ...]  # In the order given
    criterion: str  # What was compared

    _rows = "scores"

    @property
    def num_states(self) -> int:
        """The best number of states."""
        return self.fit.model.num_states

    def __str__(self) -> str:
        return f"{self.num_states} states by {self.criterion}: {'; '.join(map(str, self.scores))}"


@keyword_hints
def choose_hmm_states(
    rows: SequencesLike,
    numbers: Iterable[int] = range(1, 7),
    *,
    criterion: str = "bic",
    held_out: Any = None,
    **options: Any,
) -> HMMChoice:
    """Learn models with several numbers of hidden states and take the best.

    Parameters
    ----------
    numbers
        How many states to try.
    criterion
        "bic": log p(rows) - parameters · log(rows) / 2; or "held-out": log p of the rows `held_out`.
    options
        Those of `hmm`.

    Examples
    --------
    >>> import plausible as pb
    >>> model = pb.HiddenMarkovModel([.5, .5], [[.9, .1], [.1, .9]], pb.GaussianEmission([0, 5], [1.0, 1.0]))
    >>> rows = model.sample(400, seed=0)[["observation"]]
    >>> choose_hmm_states(rows, [1, 2, 3]).num_states
    2
    """
    if criterion not in ("bic", "held-out"):
        raise InvalidArgument(f"criterion={criterion!r}: expected 'bic' or 'held-out'.")
    if (criterion == "held-out") != (held_out is not None):
        raise InvalidArgument("criterion='held-out' and held_out= go together: rows that nothing is learned from.")
    places = {name: options[name] for name in ("sequence", "time", "gaps") if name in options}
    fits, scores = [], []
    if not isinstance(numbers, Iterable):
        raise InvalidArgument(f"numbers={numbers!r}: give the numbers of states to try, such as range(1, 5).")
    for number in numbers:
        fit = hmm(rows, number, **options)
        score = fit.bic if held_out is None else fit.model.log_likelihood(held_out, **places)
        fits.append(fit)
        scores.append(HMMScore(number, score, fit.log_likelihood))
    if not fits:
        raise InvalidArgument("numbers= is empty: give the numbers of states to try.")
    best = max(range(len(fits)), key=lambda place: scores[place].score)
    return HMMChoice(fits[best], tuple(scores), criterion)
