"""Plans: what an exact answer would cost, told without paying for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plausible.factors import Factor
from plausible.inference.budget import Budget, cost_of
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.variables import Variable

__all__ = ["Plan", "plan_factors", "plan_of"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question would be answered, and at what cost; `print` shows it.

    Attributes
    ----------
    engine
        The method.
    num_factors, num_variables
        The size of the problem after what does not matter has been left out.
    order
        The elimination order, by name; auxiliary variables of compact distributions included.
    width
        The variables of the largest clique, less one.
    num_cliques, entries
        The cliques of the tree, and the entries of all their tables together.
    largest_clique, largest_entries, largest_separator
        The clique with the largest table, its entries, and what it shares with the clique above it.
    bytes, seconds
        Memory for factors, messages and the answer (clique tables are never held as a whole), and a rough estimate of
        the time.
    fits
        Whether that is within the budget.
    """

    engine: str
    num_factors: int
    num_variables: int
    order: tuple[str, ...]
    width: int
    num_cliques: int
    entries: int
    largest_clique: tuple[str, ...]
    largest_entries: int
    largest_separator: tuple[str, ...]
    bytes: int
    seconds: float
    fits: bool

    def to_record(self) -> dict[str, Any]:
        """The fields as a plain mapping."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.engine}: {self.num_factors} factors over {self.num_variables} variables",
            f"{self.num_cliques} cliques, width {self.width}, {self.entries:,} entries, "
            f"{self.bytes / 2**20:.1f} MiB, about {self.seconds:.1g} s",
        ]
        if self.num_cliques:
            lines.append(
                f"largest clique: ({_shortened(self.largest_clique)}), {self.largest_entries:,} entries, "
                f"separator ({_shortened(self.largest_separator)})"
            )
            lines.append(f"elimination order: {_shortened(self.order)}")
        if not self.fits:
            lines.append("over budget: ask for fewer variables, add evidence, or raise the budget")
        return "\n".join(lines)


def _shortened(names: Sequence[str], limit: int = 12) -> str:
    return ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")


def plan_factors(
    factors: Iterable[Factor],
    variables: Iterable[Variable],
    *,
    order: Sequence[str] | None = None,
    together: Iterable[Sequence[str]] = (),
    budget: Budget | None = None,
) -> Plan:
    """The plan for the product of some factors; see `compile_factors` for the parameters.

    >>> coin, call = Variable("coin", 2), Variable("call", 2)
    >>> print(plan_factors([Factor([coin], [0.5, 0.5]), Factor([coin, call], [[0.9, 0.1], [0.2, 0.8]])], []))
    clique tree: 2 factors over 2 variables
    1 cliques, width 1, 4 entries, 0.0 MiB, about 1e-06 s
    largest clique: (coin, call), 4 entries, separator ()
    elimination order: coin, call
    """
    unlimited = Budget(seconds=float("inf"), bytes=2**62)
    groups = list(together)
    compiled = compile_factors(factors, variables, order=order, together=groups, budget=unlimited)
    answers = [math.prod(compiled.variables[name].num_states for name in group) for group in groups]
    return plan_of(compiled, budget, max(answers, default=0))


def plan_of(compiled: CompiledFactors, budget: Budget | None = None, answer_entries: int = 0) -> Plan:
    """The plan of factors that are compiled, and of an answer with so many entries."""
    program, names = compiled.program, list(compiled.variables)
    largest = program.largest
    seconds, num_bytes = cost_of(program, answer_entries)
    return Plan(
        engine="clique tree",
        num_factors=len(compiled.factors),
        num_variables=len(names),
        order=tuple(names[number] for number in program.order),
        width=program.width,
        num_cliques=program.num_cliques,
        entries=program.num_entries,
        largest_clique=tuple(names[number] for number in program.clique(largest)),
        largest_entries=int(program.entries.max(initial=0)),
        largest_separator=tuple(names[number] for number in program.separator(largest)),
        bytes=num_bytes,
        seconds=seconds,
        fits=(budget or Budget()).allows(program, answer_entries),
    )
