"""Assignments: which state each of some variables is in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plausible.base.display import TextTable, format_number, html_of
from plausible.base.frozen import Frozen
from plausible.errors import UnknownVariable
from plausible.variables.variable import State

if TYPE_CHECKING:
    import pandas as pd


class Assignment(Frozen, Mapping[str, State]):
    """A mapping from names to states; the answers of `mpe`, `map` and `k_best` also have a log-probability.

    Examples
    --------
    >>> best = Assignment({"I": "high", "G": "A"}, log_probability=-1.31)
    >>> best["G"]
    'A'
    >>> best.restrict(["G", "L"])
    Assignment(G='A')
    """

    __slots__ = ("_info", "_log_probability", "_log_product", "_states")

    def __init__(
        self,
        states: Mapping[str, State],
        *,
        log_probability: float | None = None,
        log_product: float | None = None,
        info: object | None = None,
    ) -> None:
        self._states = dict(states)
        self._log_probability = log_probability
        self._log_product = log_product
        self._info = info

    @property
    def log_probability(self) -> float | Any:
        """The natural logarithm of the probability of an assignment that answers a query; None where it is not known.

        For type checkers a number, which it is in almost every answer.
        """
        return self._log_probability

    @property
    def log_product(self) -> float | None:
        """The natural logarithm of the product of a Markov network's factors, where it answers a query about one.

        It is the log-probability but for log Z, which engines that look for best assignments don't find.
        """
        return self._log_product

    @property
    def info(self) -> Any:
        """How the assignment was found, where it answers a query; else None."""
        return self._info

    def __getitem__(self, name: str) -> State:
        if name in self._states:
            return self._states[name]
        raise UnknownVariable.named(name, self._states, "this assignment")

    def __contains__(self, name: object) -> bool:
        return name in self._states

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def restrict(self, names: Iterable[str]) -> Assignment:
        """The part that speaks of `names`; other names are no error, as in ξ⟨U⟩."""
        wanted = set(names)
        return Assignment({name: state for name, state in self._states.items() if name in wanted})

    def is_consistent(self, other: Mapping[str, State]) -> bool:
        """Whether the two agree on every variable that both assign."""
        return all(other[name] == state for name, state in self._states.items() if name in other)

    def to_dict(self) -> dict[str, State]:
        """Name -> state, a plain dictionary."""
        return dict(self._states)

    def to_frame(self) -> pd.DataFrame:
        """A row for each variable, with columns variable and state."""
        import pandas as pd

        return pd.DataFrame(list(self._states.items()), columns=["variable", "state"])

    def __hash__(self) -> int:
        return hash(frozenset(self._states.items()))

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{name}={state!r}" if name.isidentifier() else f"{name!r}: {state!r}"
            for name, state in self._states.items()
        )
        return f"Assignment({inside})"

    def _repr_html_(self) -> str:
        rows = tuple((name, str(state)) for name, state in self._states.items())
        known = {"log-probability": self._log_probability, "log-product": self._log_product}
        told = "\n".join(f"{what} {format_number(x)}" for what, x in known.items() if x is not None)
        return f"{TextTable(('variable', 'state'), rows, 1).to_html()}{html_of(told)}"
