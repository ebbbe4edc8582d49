"""Answers of models with hidden states: paths, and filters that are fed one row after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, overload

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.base.options import check_number
from plausible.base.records import Result, record
from plausible.models.sequences.emissions import Emission
from plausible.models.sequences.steps_ahead import filters_ahead, steps_index
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd


class FilteredModel(Protocol):
    """What an online filter needs of its model."""

    @property
    def state(self) -> Variable:
        """The hidden variable."""

    @property
    def emission(self) -> Emission:
        """What states let us see."""

    def _advanced(
        self, belief: Floats, row: Any, num_steps: int, last: Mapping[str, Any] | None
    ) -> tuple[Floats, float, dict[str, Any] | None]:
        """The belief after one more row, the logarithm of its probability, and its cells where they matter later."""


@record(eq=False)
class StatePath(Result, Sequence[State]):
    """A state for each row.

    It equals a list with the same states. `log_probability` is log P(states, rows), of all sequences together.
    """

    _told: ClassVar[tuple[str, ...]] = ("states", "log_probability")

    places: Codes  # The position of each state among those known, in the order of the rows
    known: tuple[State, ...]
    log_probability: float  # Of states and rows together
    index: Any = None  # Of the rows

    @property
    def states(self) -> tuple[State, ...]:
        """The states, in the order of the rows."""
        table = np.empty(len(self.known), dtype=object)
        table[:] = self.known
        return tuple(table[self.places].tolist())

    @overload
    def __getitem__(self, place: int) -> State: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[State]: ...
    def __getitem__(self, place: int | slice) -> State | Sequence[State]:
        return self.states[place] if isinstance(place, slice) else self.known[self.places[place]]

    def __iter__(self) -> Iterator[State]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.places)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StatePath):
            return self.states == other.states
        return self.states == tuple(other) if isinstance(other, (list, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.states)

    def __str__(self) -> str:
        told = ", ".join(repr(self.known[place]) for place in self.places[:10]) + (", ..." if len(self) > 10 else "")
        return f"[{told}], log-probability {self.log_probability:.6g}"

    def to_frame(self) -> pd.DataFrame:
        """A row for each row that was given, with the column "state"."""
        import pandas as pd

        return pd.DataFrame({"state": list(self.states)}, index=self.index)


@dataclass(frozen=True, slots=True, eq=False)
class OnlineFilter:
    """What is known of the present state, as rows come in one by one. A value: `update` gives the next one.

    >>> import plausible as pb
    >>> hmm = pb.HiddenMarkovModel([.5, .5], [[.7, .3], [.3, .7]], [[.9, .1], [.2, .8]],
    ...                            states=["rain", "dry"], symbols=["umbrella", "none"])
    >>> after = hmm.online().update("umbrella").update("none")
    >>> round(after.probability("rain"), 4), after.num_steps
    (0.1738, 2)
    """

    model: FilteredModel
    belief: Floats  # of the last row's state, given all rows so far; of the first state, where there was none
    log_likelihood: float = 0.0  # of all rows so far
    num_steps: int = 0  # rows so far
    last: Mapping[str, Any] | None = None  # the last row, where the model looks at the one before

    def update(self, row: Any = None) -> OnlineFilter:
        """The filter after one more row: a mapping, or the value of the only observed column; `None`: not observed."""
        belief, log_size, cells = self.model._advanced(self.belief, row, self.num_steps, self.last)
        return replace(
            self,
            belief=belief,
            log_likelihood=self.log_likelihood + log_size,
            num_steps=self.num_steps + 1,
            last=cells,
        )

    def probability(self, state: State) -> float:
        """The belief of a state."""
        return float(self.belief[self.model.state.index(state)])

    def predict(self, steps: int = 1, *, inputs: Any = None) -> pd.DataFrame:
        """The states of so many steps to come; `inputs` are their rows of the columns that the model depends on."""
        import pandas as pd

        ahead = [now.belief for now in filters_ahead(self, steps, inputs)]
        return pd.DataFrame(ahead, steps_index(steps), pd.Index(list(self.model.state.states)))

    def forecast(self, steps: int = 1, *, level: float = 0.9, inputs: Any = None) -> dict[str, pd.DataFrame]:
        """Column -> what will be observed in so many steps to come, as the model's `forecast` tells it."""
        import pandas as pd

        check_number("level", level, above=0, below=1)
        beliefs = np.array([now.belief for now in filters_ahead(self, steps, inputs)])
        told = self.model.emission.forecast(beliefs, level)
        return {
            name: pd.DataFrame(part.values, steps_index(steps), pd.Index(list(part.columns)))
            for name, part in told.items()
        }

    def to_series(self) -> pd.Series[float]:
        """State -> belief."""
        import pandas as pd

        return pd.Series(self.belief, index=pd.Index(list(self.model.state.states), name=self.model.state.name))

    def to_dict(self) -> dict[str, Any]:
        """All but the model, in plain types."""
        return {
            "belief": self.belief.tolist(),
            "log_likelihood": self.log_likelihood,
            "num_steps": self.num_steps,
            "last": None if self.last is None else dict(self.last),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], model: FilteredModel) -> OnlineFilter:
        """The inverse of `to_dict`."""
        belief = np.array(record["belief"], dtype=np.float64)
        return cls(model, belief, record["log_likelihood"], record["num_steps"], record.get("last"))

    def __repr__(self) -> str:
        return f"<OnlineFilter: {self.num_steps} rows, {self.to_series().round(4).to_dict()}>"
