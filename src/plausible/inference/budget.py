"""Budgets: how much time and memory an answer may take, checked before any of it is spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from plausible.base import Argument, Call, Piece, Remedy, format_roughly
from plausible.engine.program import Program
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors.alignment import MAX_ENTRIES, Scope, num_entries

#: What an entry of an answer costs beyond its clique's: it is added up by strides, normalised and brought into order.
_SECONDS_PER_ANSWER = 1e-7
_BYTES_PER_ANSWER = 24
#: Budgets from here on allow everything that is small.
_AMPLE_SECONDS = 0.1
_AMPLE_BYTES = 2**24

#: What often helps where a question costs too much.
ADD_EVIDENCE = Remedy("add evidence")
RAISE_BUDGET = Remedy("raise ", Argument("budget"))
LESS_MEMORY = Remedy("trade time for memory with ", Argument("engine", Call("RecursiveConditioning")), costs_time=True)
APPROXIMATE = Remedy("approximate with ", Argument("engine", "auto"))


@contextmanager
def advising(remedies: Iterable[Remedy]) -> Iterator[None]:
    """Let refusals in here tell what can be done about them in the question at hand; also a decorator.

    Remedies that cost time are left out where time is short too.

    >>> with advising([Remedy("ask less")]):
    ...     raise refusal("It is too much.")
    Traceback (most recent call last):
        ...
    plausible.errors.TooLarge: It is too much. Ask less.
    """
    try:
        yield
    except TooLarge as error:
        raise advised(error, remedies) from None


def advised(error: TooLarge, remedies: Iterable[Remedy]) -> TooLarge:
    """The error with other remedies, where those that it has are general."""
    if not error.is_general:
        return error
    fitting = [remedy for remedy in remedies if error.lacks_memory_only or not remedy.costs_time]
    if not fitting:
        return error
    advised = refusal(*error.args, remedies=fitting, lacks_memory_only=error.lacks_memory_only)
    advised.seconds = error.seconds
    return advised


def refusal(*reason: Piece, remedies: Iterable[Remedy] = (RAISE_BUDGET,), lacks_memory_only: bool = False) -> TooLarge:
    """An error whose remedies `advising` can replace."""
    error = TooLarge(*reason, remedies=remedies)
    error.is_general, error.lacks_memory_only = True, lacks_memory_only
    return error


#: Families with more entries are not counted: they have no table in any question.
LARGEST_FAMILY = 2**18


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on the time and memory of one run of exact inference.

    Attributes
    ----------
    seconds
        The time limit, compared with a rough estimate for one core: all factors, on all entries of their cliques.
    bytes
        The memory limit: for factors, messages and the answer, and for tables if they must all be in memory (samples,
        expected counts, lists of best assignments).

    >>> Budget(seconds=0.5)
    Budget(seconds=0.5, bytes=8589934592)
    """

    seconds: float = 300.0
    bytes: int = 2**33

    def __post_init__(self) -> None:
        if not (self.seconds > 0 and self.bytes > 0):
            raise InvalidArgument(f"A budget is positive, in seconds and in bytes; not {self}.")

    def allows(self, program: Program, answer_entries: int = 0) -> bool:
        """Whether a run of a program, and an answer with so many entries read off it, cost no more."""
        seconds, num_bytes = cost_of(program, answer_entries)
        return seconds <= self.seconds and num_bytes <= self.bytes

    def check(self, program: Program, names: Sequence[str], answer_entries: int = 0) -> None:
        """Refuse what `allows` denies, with the largest clique and what can be done."""
        seconds, num_bytes = cost_of(program, answer_entries)
        if seconds > self.seconds or num_bytes > self.bytes:
            entries = program.entries
            error = too_large(
                float(entries.sum()),
                program.clique(program.largest),
                float(entries.max()),
                names,
                f" It would take about {format_roughly(seconds)} s and, as only messages are held, "
                f"{num_bytes / 2**30:.2g} GiB; the budget is {self.seconds:g} s and {self.bytes / 2**30:.3g} GiB.",
            )
            error.lacks_memory_only = seconds <= self.seconds
            error.seconds = seconds if num_bytes <= self.bytes else None
            raise error

    @property
    def is_ample(self) -> bool:
        """Whether it is so large that problems with a few thousand numbers need not be priced."""
        return self.seconds >= _AMPLE_SECONDS and self.bytes >= _AMPLE_BYTES

    def holds(self, num_entries: int) -> bool:
        """Whether all tables of a clique tree can be held at once."""
        return 8 * num_entries <= self.bytes

    def check_tables(self, num_entries: int) -> None:
        """Refuse to hold all tables of a clique tree at once where they need more memory."""
        if not self.holds(num_entries):
            raise TooLarge(
                f"Samples and expected counts hold all clique tables at once, {num_entries:.3g} entries "
                f"({num_entries / 2**27:.3g} GiB); the budget is {self.bytes / 2**30:.3g} GiB.",
                remedies=(
                    ADD_EVIDENCE,
                    Remedy("keep to fewer variables (compile with ", Argument("targets"), ")"),
                    Remedy("raise ", Argument("budget"), " of sample or compile"),
                ),
            )

    @property
    def table_entries(self) -> int:
        """The entries that the tables of an elimination that keeps them may have: numbers are copied on their way."""
        return int(min(self.bytes // 32, MAX_ENTRIES))


def read_budget(budget: Budget | None) -> Budget:
    """The budget given, checked to be one, or the default one."""
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidArgument(f"budget= takes a Budget, such as Budget(seconds=10), not {budget!r}.")
    return budget or Budget()


def refuse_large_families(families: Mapping[str, Scope]) -> None:
    """Refuse families whose tables of counts would be too large."""
    for name, family in families.items():
        if num_entries(family) > LARGEST_FAMILY:
            raise TooLarge(
                f"The family of {name!r} has {len(family)} variables, so that its expected counts have "
                f"{num_entries(family):.3g} entries; up to {LARGEST_FAMILY} are counted. Leave it out."
            )


def cost_of(program: Program, answer_entries: int = 0) -> tuple[float, int]:
    """Seconds, roughly, and bytes of a run and of an answer with so many entries, which is copied on its way out."""
    return (
        program.seconds + answer_entries * _SECONDS_PER_ANSWER,
        program.num_bytes + answer_entries * _BYTES_PER_ANSWER,
    )


def too_large(
    entries: float, clique: Sequence[int], clique_entries: float, names: Sequence[str], cost: str = ""
) -> TooLarge:
    """The error that names the largest clique, its size and the remedies."""
    shown = ", ".join(names[number] for number in clique[:8]) + (", ..." if len(clique) > 8 else "")
    return refusal(
        f"The clique tree would have {_short(entries)} entries.{cost} Its largest clique, ({shown}), has "
        f"{len(clique)} variables and {_short(clique_entries)} entries."
    )


def _short(number: float) -> str:
    return f"{number:.3g}" if number < float("inf") else "more than 1e308"
