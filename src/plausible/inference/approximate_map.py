"""Marginal MAP with any engine: a local search over the states of the targets, scored by the engine's sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product as cartesian
from typing import TypeAlias

import numpy as np

from plausible.base import QueryInfo
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor
from plausible.inference.engine_bases import PROVED, Optimizer
from plausible.inference.engines import Engine, check_known
from plausible.inference.estimates import Estimate
from plausible.inference.exact_map.marginal_map import MarginalMap
from plausible.inference.optimization.map_local_search import Flip, States
from plausible.search import Clock, PerturbationRestarts, SearchMethod, SearchProblem
from plausible.variables import Assignment, Evidence, Variable

MapEngine: TypeAlias = Engine | Optimizer

#: Up to so many assignments to the targets are all tried.
_FEW = 64
#: A search sees no smaller logarithm than this below that of the evidence: scores must be finite to be compared.
_DEPTH = 1e6
#: Climb from the start, and then from a few places near the best so far.
_SEARCH = PerturbationRestarts(num=4, length=2, growth=1.5)


def approximate_map(
    factors: Iterable[Factor],
    targets: Sequence[Variable],
    evidence: Evidence,
    engine: MapEngine,
    *,
    search: SearchMethod = _SEARCH,
    within: Engine | None = None,
    time_limit: float | None = None,
) -> MarginalMap:
    """A good assignment m to the targets: a large Σ_h Π φ(m, h, e), as an engine sums it.

    The targets are fixed one after the other, the one that the engine is surest of first, in the most probable state
    given those before; from there a search changes one target at a time, with restarts (Park & Darwiche 2001). A few
    assignments are all tried. The answer is proved best if all were tried with exact sums, or if its value, as far as
    that is certain, reaches a bound: min over targets of max over states x of the engine's certain upper bound of
    log Σ Π φ(x, h, e), or a smaller one that an engine such as `MiniBuckets` gives by a method of its own; the search
    then starts from the states that belong to it.

    Parameters
    ----------
    factors
        Factors without negative entries.
    targets
        The variables of the answer, in its order; they may be observed, and there may be none.
    engine
        Exact or approximate. One for best assignments, which can't sum, will do where no other variables are left.
    search
        How to go from one assignment to the next.
    within
        Another engine, which bounds sums for certain and is too slow for the search: it tells at the end what the
        answer is worth. Without one, the engine of the search does.
    time_limit
        Seconds after which the search ends with the best assignment so far; what an engine is in the midst of is
        waited for.

    Returns
    -------
    MarginalMap
        `log_value` is an `Estimate` where the engine gives one, `log_bound` infinite where it has no bounds, and
        `num_nodes` the assignments that were scored. `info.error` is how much larger the logarithm of a better
        assignment can be; `None` if unknown.

    Notes
    -----
    Costs a run of the engine for each target at the start, and one for each assignment that is scored.

    Examples
    --------
    >>> from plausible.inference.propagation.belief_propagation import LoopyBP
    >>> coin = Factor({"coin": ["fair", "false"]}, [0.4, 0.6])
    >>> toss = Factor({"coin": ["fair", "false"], "toss": ["heads", "tails"]}, [[0.0, 1.0], [0.5, 0.5]])
    >>> answer = approximate_map([coin, toss], coin.scope, Evidence.read({}, {}), LoopyBP())
    >>> answer.assignment, round(math.exp(answer.log_value), 6), answer.info.exact  # on a tree, messages are exact
    (Assignment(coin='false'), 0.6, True)
    """
    listed = list(factors)
    check_known(listed, targets, evidence)
    if isinstance(engine, Optimizer):
        return _maximized(listed, targets, evidence, engine)
    clock = Clock.of(time_limit)
    free = [variable for variable in targets if variable.name not in evidence.hard]
    scores = _Scores(tuple(listed), tuple(free), evidence, engine)
    if scores.log_evidence == -math.inf:
        raise ImpossibleEvidence.outright()
    is_certain = within is None or _limits(scores.log_evidence)[0] > -math.inf
    own = getattr(engine if is_certain else within, "bound_marginal_map", None)
    hint, limit = (None, math.inf) if own is None else own(listed, free, evidence)
    best: States | None = None
    if math.prod(variable.num_states for variable in free) <= _FEW:
        tried = []
        for state in scores.assignments():
            tried.append((scores.value(state), state))
            if clock.is_over:
                break
        else:
            best = max(tried, key=lambda scored: scored[0])[1]
    is_complete = best is not None
    if best is None:
        starts = [] if hint is None else [hint]
        if not (is_certain and starts):  # the engine itself would take long to find another one
            starts.append(_greedy(scores, clock))
        best = search.run(scores, max(starts, key=scores.value), progress=lambda state: clock.is_over).best
    value = scores.value(best)
    if value == -math.inf:
        raise ImpossibleEvidence(
            f"No assignment to the targets that was tried has a positive value, as {type(engine).__name__} sums it. "
            "Give it more samples, or take another engine."
        )
    bound = min(limit, _bound(scores, is_complete, clock))
    if within is None or is_certain:
        return _answer(scores, targets, best, value, is_complete, bound)
    judged = within.log_total(listed, scores.given(dict(enumerate(best))))
    return _answer(scores, targets, best, judged, is_complete, bound, unknown=math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class _Scores(SearchProblem[States, Flip]):
    """log Σ Π φ(m, h, e) over assignments m to the targets that are not observed, each asked for once."""

    factors: tuple[Factor, ...]
    free: tuple[Variable, ...]
    evidence: Evidence
    engine: Engine
    known: dict[tuple[tuple[int, int], ...], float] = field(default_factory=dict)

    def given(self, places: Mapping[int, int]) -> Evidence:
        """The evidence and the states of some of the targets, by their places."""
        chosen = {self.free[place].name: state for place, state in places.items()}
        return replace(self.evidence, hard={**self.evidence.hard, **chosen})

    def total(self, places: Mapping[int, int]) -> float:
        """The engine's sum, with what it knows about it."""
        key = tuple(sorted(places.items()))
        if key not in self.known:
            self.known[key] = self.engine.log_total(self.factors, self.given(places))
        return self.known[key]

    def value(self, state: States) -> float:
        """The sum for an assignment to all targets."""
        return self.total(dict(enumerate(state)))

    @property
    def log_evidence(self) -> float:
        """The sum over all assignments."""
        return self.total({})

    def assignments(self) -> Iterator[States]:
        """All of them."""
        return cartesian(*(range(variable.num_states) for variable in self.free))

    def score(self, state: States) -> float:
        """The sum, or a very small number."""
        return max(float(self.value(state)), float(self.log_evidence) - _DEPTH)

    def operators(self, state: States) -> list[Flip]:
        """Every target to every other state."""
        return [
            Flip(place, old, new)
            for place, old in enumerate(state)
            for new in range(self.free[place].num_states)
            if new != old
        ]

    def apply(self, state: States, operator: Flip) -> States:
        """The assignment with one target changed."""
        return (*state[: operator.variable], operator.new, *state[operator.variable + 1 :])

    def reverses(self, operator: Flip, other: Flip) -> bool:
        """Whether a target goes back to a state that the other flip took it out of."""
        return operator.variable == other.variable and operator.new == other.old

    def random_state(self, rng: np.random.Generator) -> States:
        """Each target in a random state."""
        return tuple(int(rng.integers(variable.num_states)) for variable in self.free)


def _greedy(scores: _Scores, clock: Clock) -> States:
    """The targets one by one, the surest first, each in its most probable state given those before.

    Once time is up the rest of them are settled at once, from the beliefs at hand.
    """
    chosen: dict[int, int] = {}
    waiting = list(range(len(scores.free)))
    while waiting:
        variables = [scores.free[place] for place in waiting]
        try:
            beliefs = scores.engine.marginals(scores.factors, variables, scores.given(chosen))
        except ImpossibleEvidence:  # as far as a sampler sees; the search goes on from anywhere
            return tuple(chosen.get(place, 0) for place in range(len(scores.free)))
        place = max(waiting, key=lambda place: float(beliefs[scores.free[place].name].max()))
        chosen[place] = int(beliefs[scores.free[place].name].values.argmax())
        waiting.remove(place)
        if clock.is_over:
            chosen |= {place: int(beliefs[scores.free[place].name].values.argmax()) for place in waiting}
            break
    return tuple(chosen[place] for place in range(len(scores.free)))


def _answer(
    scores: _Scores,
    targets: Sequence[Variable],
    best: States,
    value: float,
    is_complete: bool,
    bound: float,
    unknown: float | None = None,
) -> MarginalMap:
    """The answer; its error is `unknown` where there is no bound."""
    gap = max(0.0, bound - _limits(value)[0])
    is_exact = gap <= PROVED
    totals = [value, *scores.known.values()]
    info = QueryInfo(
        f"search with {_info(value).engine}" if isinstance(value, Estimate) else "search with exact sums",
        exact=is_exact,
        converged=is_exact or all(_info(total).converged for total in totals),
        error=0.0 if is_exact else gap if gap < math.inf else unknown,
        num_steps=len(scores.known),
        advice="" if is_exact else _advice(scores, bound, is_complete),
    )
    positions = {**scores.evidence.hard, **{v.name: state for v, state in zip(scores.free, best, strict=True)}}
    states = {variable.name: variable.states[positions[variable.name]] for variable in targets}
    return MarginalMap(Assignment(states, log_product=value), value, max(bound, float(value)), len(scores.known), info)


def _bound(scores: _Scores, is_complete: bool, clock: Clock) -> float:
    """No assignment has a larger value, for certain; infinite where nothing is known."""
    bounds = [_limits(scores.log_evidence)[1]]
    if is_complete:
        bounds.append(max(_limits(scores.value(state))[1] for state in scores.assignments()))
    elif bounds[0] < math.inf:
        for place, variable in enumerate(scores.free):
            if clock.is_over:
                break
            bounds.append(max(_limits(scores.total({place: state}))[1] for state in range(variable.num_states)))
    return min(bounds)


def _limits(total: float) -> tuple[float, float]:
    """Where a sum lies, for certain."""
    if not isinstance(total, Estimate):
        return total, total
    return (total.lower, total.upper) if total.is_bound else (-math.inf, math.inf)


def _info(total: float) -> QueryInfo:
    return total.info if isinstance(total, Estimate) else QueryInfo("exact sums")


def _advice(scores: _Scores, bound: float, is_complete: bool) -> str:
    known = f"No assignment has a logarithm above {bound:.6g}. " if bound < math.inf else ""
    if unsettled := next((i.advice for i in map(_info, scores.known.values()) if not i.converged and i.advice), ""):
        return known + unsettled
    tried = "All assignments were scored, but" if is_complete else "The search is local, and"
    return f"{known}{tried} nothing proves that none is better: leave engine= out where an exact answer fits."


def _maximized(
    factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence, engine: Optimizer
) -> MarginalMap:
    """By an engine that can't sum, where there is nothing to sum out."""
    asked = {variable.name for variable in targets} | evidence.hard.keys()
    if hidden := [name for factor in factors for name in factor.names if name not in asked]:
        names = ", ".join(map(repr, list(dict.fromkeys(hidden))[:3]))
        raise NotSupported(
            f"{type(engine).__name__} can't sum before it maximises, and {names} would be summed out. Ask for them "
            "too, observe them, use mpe, or take an engine that sums, such as LoopyBP()."
        )
    best = engine.best(factors, evidence)
    value = best.log_probability or 0.0
    states = {v.name: v.states[evidence.hard[v.name]] if v.name in evidence.hard else best[v.name] for v in targets}
    gap = math.inf if best.info.error is None else best.info.error
    return MarginalMap(Assignment(states, log_product=value), value, value + gap, 1, best.info)
