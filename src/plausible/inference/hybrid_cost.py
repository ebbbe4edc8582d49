"""What it costs to eliminate continuous variables, and the refusal where that is more than the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plausible.base.remedies import Argument, Remedy
from plausible.errors import TooLarge
from plausible.factors.alignment import MAX_ENTRIES, Scope, num_entries
from plausible.inference.budget import Budget

#: Memory for each number, with the copies on its way; seconds for each number, and for each step.
_BYTES, _SECONDS, _STEP = 16, 6e-8, 2e-4

_FEWER = (Remedy("observe some of these variables"), Remedy("ask about fewer"))
_CAN_BE_RAISED = Remedy("raise ", Argument("budget"), " of the question or of compile")
_IS_TOO_LARGE = Remedy("make some of them independent: no budget allows so many configurations")
_SAMPLE = Remedy(
    "where nothing is observed, average over the rows of `sample`, which draws forward along the edges at no such cost"
)


@dataclass(frozen=True, slots=True)
class NumbersCost:
    """The price of an elimination of continuous variables, known from scopes alone.

    Examples
    --------
    >>> cost = NumbersCost((("x", (), 4), ("y", (), 3)), 2)
    >>> cost.entries, cost.bytes, cost.is_within(Budget(bytes=100))
    (7, 112, False)
    """

    #: For each table of regressions or moments: the continuous variable, the discrete scope, and the numbers.
    tables: tuple[tuple[str, Scope, int], ...]
    num_steps: int  # How many regressions there are

    @property
    def entries(self) -> int:
        """The numbers of all tables together."""
        return sum(numbers for _, _, numbers in self.tables)

    @property
    def bytes(self) -> int:
        """Memory, copies included."""
        return _BYTES * self.entries

    @property
    def seconds(self) -> float:
        """Time, roughly."""
        return _STEP * self.num_steps + _SECONDS * min(self.entries, 10**300)

    @property
    def is_possible(self) -> bool:
        """Whether no table has more configurations than an array may have."""
        return all(num_entries(scope) <= MAX_ENTRIES for _, scope, _ in self.tables)

    def is_within(self, budget: Budget) -> bool:
        """Whether the elimination can be done at no more than a budget."""
        return self.is_possible and self.bytes <= budget.bytes and self.seconds <= budget.seconds

    def check(self, budget: Budget) -> None:
        """Refuse what `is_within` denies: with the discrete variables that meet, the price, and what can be done."""
        if self.is_within(budget):
            return
        name, scope, _ = max(self.tables, key=lambda table: table[2])
        price = (
            f"{_counted(self.entries)} numbers. It would take about {self.seconds:.2g} s and {_gibibytes(self.bytes)} "
            f"GiB; the budget is {budget.seconds:g} s and {_gibibytes(budget.bytes)} GiB."
        )
        remedies = (*_FEWER, _CAN_BE_RAISED if self.is_possible else _IS_TOO_LARGE, _SAMPLE)
        if not scope:
            raise TooLarge(
                f"The joint distribution of {name!r} and what it depends on needs {price}", remedies=remedies
            )
        raise TooLarge(
            f"{name!r} depends on {len(scope)} discrete variables at once, ({_shown(scope)}), which have "
            f"{_counted(num_entries(scope))} configurations: a Gaussian for each needs {price} Where continuous "
            "variables in a row each have a discrete parent of their own, exact inference grows exponentially with "
            "their number.",
            remedies=remedies,
        )

    def left_of(self, budget: Budget) -> Budget:
        """What an elimination within the budget leaves for what comes after it."""
        return Budget(max(budget.seconds - self.seconds, 1e-9), max(budget.bytes - self.bytes, 1))


def _shown(scope: Sequence[object]) -> str:
    return ", ".join(str(variable) for variable in scope[:8]) + (", ..." if len(scope) > 8 else "")


def _counted(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{float(min(number, 10**300)):.3g}"


def _gibibytes(number: int) -> str:
    return f"{float(min(number, 10**300)) / 2**30:.3g}"
