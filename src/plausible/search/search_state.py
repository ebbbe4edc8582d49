"""What a local search remembers from one step to the next, and what counts as progress."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import eq
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from plausible.base.tolerances import score_noise

ItemT = TypeVar("ItemT", bound=Hashable)


class Grown(Generic[ItemT]):
    """Different items in the order in which they came; `with_items` gives a longer one and leaves this one as it is.

    A sequence and those grown out of it share one table of items, each knowing how many of them are its own. Only
    what grows out of a sequence that has been grown already is copied, so that n items cost O(n), not O(n²).

    >>> few = Grown(["a", "b"])
    >>> more = few.with_items("c")
    >>> list(few), list(more), "c" in few, "c" in more
    (['a', 'b'], ['a', 'b', 'c'], False, True)
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


StateT = TypeVar("StateT", bound=Hashable)

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
    """Whether a gain on a score is more than rounding; any gain on an infinite score counts.

    >>> improves(0.1, -5.0), improves(0.0, -5.0), improves(1e-9, -1e6), improves(np.inf, -np.inf)
    (True, False, False, True)
    """
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
