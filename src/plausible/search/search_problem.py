"""What a local search asks of a problem (states, a score, operators), remembers, and counts as progress."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from operator import eq
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from plausible.base import Floats, score_noise
from plausible.errors import InvalidArgument, NotSupported

StateT = TypeVar("StateT", bound=Hashable)
OperatorT = TypeVar("OperatorT")


class SearchProblem(ABC, Generic[StateT, OperatorT]):
    """A space of states with a score to maximise, and the operators that lead from one state to its neighbours.

    States are immutable and hashable. Scores are numbers; -inf stands for states that are out of the question, from
    which a search finds its way as long as some neighbour is better. NaN is refused. Subclasses give `score`,
    `operators`, `apply` and `reverses`; the rest has defaults that are right and slow.
    """

    __slots__ = ()

    @abstractmethod
    def score(self, state: StateT) -> float:
        """What is maximised."""

    @abstractmethod
    def operators(self, state: StateT) -> Sequence[OperatorT]:
        """The operators that are legal in a state, always in the same order.

        A sequence that makes them when asked, such as a `range`, saves searches that look at a few the listing of all.
        """

    @abstractmethod
    def apply(self, state: StateT, operator: OperatorT) -> StateT:
        """The neighbour that a legal operator leads to."""

    @abstractmethod
    def reverses(self, operator: OperatorT, other: OperatorT) -> bool:
        """Whether an operator undoes another one that was applied before."""

    def deltas(self, state: StateT, operators: Sequence[OperatorT]) -> Sequence[float]:
        """By how much each operator changes the score; override it where that is cheaper than to score anew."""
        score = self.score(state)
        scores = (self.score(self.apply(state, operator)) for operator in operators)
        return [0.0 if other == score else other - score for other in scores]  # equal infinities have no difference

    def best_operator(self, state: StateT, recent: Sequence[OperatorT] = ()) -> tuple[OperatorT, float] | None:
        """The operator with the largest delta among those that reverse no recent one, and its delta; `None` for none.

        Of equal ones the first. Override it where all deltas are at hand as arrays. Costs one call of `deltas`, and of
        `reverses` for the best few operators only.
        """
        operators = self.operators(state)
        changes = gains(self, state, operators)
        allowed = (
            place
            for place in np.argsort(-changes, kind="stable").tolist()
            if not any(self.reverses(operators[place], other) for other in recent)
        )
        place = next(allowed, None)
        if place is None:
            return None
        if changes[place] == math.inf:  # from -inf every way out gains as much, so that the scores decide
            ways = [place, *takewhile(lambda other: bool(changes[other] == math.inf), allowed)]
            place = max(ways, key=lambda way: self.score(self.apply(state, operators[way])))
        return operators[place], float(changes[place])

    def propose(self, state: StateT, rng: np.random.Generator) -> OperatorT | None:
        """A random legal operator, by default each with the same probability; `None` where there is none."""
        operators = self.operators(state)
        return operators[int(rng.integers(len(operators)))] if operators else None

    def random_state(self, rng: np.random.Generator) -> StateT:
        """A state to start from, for `RandomRestarts`."""
        raise NotSupported(f"{type(self).__name__} has no random states. Give it random_state(rng).")


def score_of(problem: SearchProblem[StateT, OperatorT], state: StateT) -> float:
    """The score of a state; NaN, which no score can be compared with, is refused."""
    score = float(problem.score(state))
    if math.isnan(score):
        raise InvalidArgument(
            f"{type(problem).__name__}.score gave NaN for the state {state!r}. Give -inf for states to be avoided."
        )
    return score


def gains(problem: SearchProblem[StateT, OperatorT], state: StateT, operators: Sequence[OperatorT]) -> Floats:
    """The deltas of operators, one for each and none of them NaN."""
    deltas = np.asarray(problem.deltas(state, operators), dtype=np.float64)
    if deltas.shape != (len(operators),):
        raise InvalidArgument(
            f"{type(problem).__name__}.deltas gave an array of shape {deltas.shape} for {len(operators)} operators in "
            f"the state {state!r}. Give one number for each."
        )
    for place in np.flatnonzero(np.isnan(deltas))[:1].tolist():
        raise _not_a_number(problem, "deltas", state, operators[place])
    return deltas


def best_gain(
    problem: SearchProblem[StateT, OperatorT], state: StateT, recent: Sequence[OperatorT] = ()
) -> tuple[OperatorT, float] | None:
    """The best operator and its delta, which is not NaN."""
    best = problem.best_operator(state, recent)
    if best is not None and math.isnan(best[1]):
        raise _not_a_number(problem, "best_operator", state, best[0])
    return best


def score_after(problem: SearchProblem[StateT, OperatorT], score: float, neighbor: StateT, gain: float) -> float:
    """The score of a neighbour; the sum if that is a number, anew where a step leads out of -inf or into it."""
    return score + gain if math.isfinite(gain) else score_of(problem, neighbor)


def _not_a_number(
    problem: SearchProblem[StateT, OperatorT], method: str, state: StateT, operator: OperatorT
) -> InvalidArgument:
    return InvalidArgument(
        f"{type(problem).__name__}.{method} gave NaN for the operator {operator!r} in the state {state!r}. Give -inf "
        "where it leads to a state to be avoided."
    )


ItemT = TypeVar("ItemT", bound=Hashable)


class Grown(Generic[ItemT]):
    """Different items in the order in which they came; `with_items` gives a longer one and leaves this one as it is.

    A sequence and those grown out of it share one table of items, each knowing how many of them are its own. Only
    what grows out of a sequence that has been grown already is copied, so that n items cost O(n), not O(n²).
    """

    __slots__ = ("_num", "_places")

    def __init__(self, items: Iterable[ItemT] = ()) -> None:
        self._places: dict[ItemT, int] = {}
        for item in items:
            self._places.setdefault(item, len(self._places))
        self._num = len(self._places)

    def with_items(self, *items: ItemT) -> Grown[ItemT]:
        """These items and more of them, none of which is there yet."""
        longer = Grown[ItemT]()
        longer._places = self._places if len(self._places) == self._num else {item: n for n, item in enumerate(self)}
        for place, item in enumerate(items, start=self._num):
            longer._places[item] = place
        longer._num = self._num + len(items)
        return longer

    def __contains__(self, item: object) -> bool:
        return self._places.get(item, self._num) < self._num  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[ItemT]:
        return islice(self._places, self._num)

    def __len__(self) -> int:
        return self._num

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grown) and self._num == other._num and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Grown[ItemT]], tuple[list[ItemT]]]:
        return type(self), (list(self),)

    def __repr__(self) -> str:
        return f"Grown({list(self)!r})"


#: Why a search stopped; "" while it goes on.
StopReason: TypeAlias = Literal[
    "",
    "local maximum",
    "no operator",
    "no progress",
    "step limit",
    "time limit",
    "schedule over",
    "restarts over",
    "interrupted",
]

#: The reasons that are no facts about the problem: a search that is resumed looks at its limits anew.
LIMITS: frozenset[StopReason] = frozenset(
    ("no progress", "step limit", "time limit", "schedule over", "restarts over", "interrupted")
)


def improves(gain: float, score: float) -> bool:
    """Whether a gain on a score is more than rounding; any gain on an infinite score counts."""
    return gain > score_noise(score)


@dataclass(frozen=True, slots=True)
class SearchState(Generic[StateT]):
    """All that the next step needs, and the result once `stopped_by` says why there is none."""

    #: Where the search is.
    current: StateT
    score: float
    #: The best state seen, the start included.
    best: StateT
    best_score: float
    num_steps: int = 0  # The steps made
    idle: int = 0  # The steps since the best score improved
    #: What the last step applied, or of a step of many attempts the last one that was made; `None` for nothing.
    operator: Any = None
    #: (num_steps, best score) of the start and of each improvement; `trace` has them as a tuple.
    history: Grown[tuple[int, float]] = field(default_factory=Grown)
    stopped_by: StopReason = ""  # Why the search stopped; "" while it goes on
    seed: int = 0  # What random numbers are drawn from, together with `num_steps`
    memory: Any = None  # What the method remembers besides
    seconds: float = field(default=0.0, compare=False)  # The time that `run` and `resume` took

    @property
    def converged(self) -> bool:
        """Whether the search came to its own end, and no limit cut it short."""
        return self.stopped_by != "" and self.stopped_by not in LIMITS

    @property
    def trace(self) -> tuple[tuple[int, float], ...]:
        """(num_steps, best score) of the start and of each improvement."""
        return tuple(self.history)

    def moved(
        self, current: StateT, score: float, memory: Any = None, num_steps: int = 1, operator: Any = None
    ) -> SearchState[StateT]:
        """After steps to another state, or to the same one."""
        state = replace(
            self, current=current, score=score, memory=memory, num_steps=self.num_steps + num_steps, operator=operator
        )
        return state.seen(current, score, num_steps)

    def seen(self, candidate: StateT, score: float, num_steps: int) -> SearchState[StateT]:
        """The best of the best so far and of a state that the last steps came by."""
        # equal infinities have no difference
        if score == self.best_score or not improves(score - self.best_score, self.best_score):
            return replace(self, idle=self.idle + num_steps)
        history = self.history.with_items((self.num_steps, score))
        return replace(self, best=candidate, best_score=score, idle=0, history=history)

    def halted(self, reason: StopReason) -> SearchState[StateT]:
        """The same, stopped."""
        return replace(self, stopped_by=reason)

    def generator(self) -> np.random.Generator:
        """The random numbers of the next step."""
        return np.random.default_rng((self.seed, self.num_steps))
