"""Plans: what an exact answer would cost, told without paying for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from plausible.base import Result, format_roughly, picture_by, record
from plausible.engine.program import SECONDS_PER_ENTRY
from plausible.errors import NotSupported, TooLarge, counted
from plausible.factors import Factor
from plausible.factors.alignment import union_scope
from plausible.graphs import CliqueTree, UndirectedGraph, eliminate, elimination_order
from plausible.graphs.nodes import Node
from plausible.inference.budget import Budget, cost_of, read_budget
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.base.pictured import Picture

#: Numbers of entries beyond this are given as so many seconds and no more, so that plans stay finite.
_ENDLESS = 10**300


@record
class Plan(Result):
    """How a question would be answered, and at what cost; `print` shows it."""

    engine: str  # The method
    #: The size of the problem after what does not matter has been left out.
    num_factors: int
    num_variables: int
    order: tuple[str, ...]  # The elimination order, by name; auxiliary variables of compact distributions included
    width: int  # The variables of the largest clique, less one
    #: The cliques of the tree, and the entries of all their tables together.
    num_cliques: int
    entries: int
    #: The clique with the largest table, its entries, and what it shares with the clique above it.
    largest_clique: tuple[str, ...]
    largest_entries: int
    largest_separator: tuple[str, ...]
    #: Memory for factors, messages and the answer (clique tables are never held as a whole), and a rough estimate of
    #: the time.
    bytes: int
    seconds: float
    fits: bool  # Whether that is within the budget
    #: For a question to a Bayesian network, the variables whose distributions the answer can depend on, whatever their
    #: numbers are: the others are barren, or cut off by the evidence. `None` where there is no one question.
    requisite: tuple[str, ...] | None = None
    #: The cliques of the tree and where each one's parent stands, -1 for none; empty where no tree was laid out.
    cliques: tuple[tuple[str, ...], ...] = field(default=(), compare=False)
    parents: tuple[int, ...] = field(default=(), compare=False)

    _told: ClassVar[tuple[str, ...]] = (
        *("engine", "num_factors", "num_variables", "order", "width", "num_cliques", "entries", "largest_clique"),
        *("largest_entries", "largest_separator", "bytes", "seconds", "fits", "requisite"),
    )

    def to_record(self) -> dict[str, Any]:
        """The fields as a plain mapping, without the cliques."""
        return {name: getattr(self, name) for name in self._told}

    @property
    def tree(self) -> CliqueTree:
        """The clique tree that would be used."""
        if not self.cliques:
            raise NotSupported("No clique tree was laid out for this plan: it is too large, or has no tables.")
        return CliqueTree(self.cliques, [pair for pair in enumerate(self.parents) if pair[1] >= 0])

    def picture(self, *, focus: Any = "auto") -> Picture:
        """The clique tree, its largest clique brought out; of a large tree what is around that clique.

        Parameters
        ----------
        focus
            The number of a clique, or several; `None` for the whole tree.
        """
        return picture_by("picture_of_plan", self, focus)

    def __str__(self) -> str:
        lines = [
            f"{self.engine}: {counted(self.num_factors, 'factor')} over {counted(self.num_variables, 'variable')}",
            f"{counted(self.num_cliques, 'clique')}, width {self.width}, "
            f"{_counted(self.entries)} {'entry' if self.entries == 1 else 'entries'}, "
            f"{_mebibytes(self.bytes)} MiB, about {format_roughly(self.seconds, 1)} s",
        ]
        if self.num_cliques:
            lines.append(
                f"largest clique: ({_shortened(self.largest_clique)}), {_counted(self.largest_entries)} entries, "
                f"separator ({_shortened(self.largest_separator)})"
            )
            lines.append(f"elimination order: {_shortened(self.order)}")
        if self.requisite:
            lines.append(f"distributions that matter: {_shortened(self.requisite)}")
        if not self.fits:
            lines.append("over budget: add evidence, or raise the budget; fewer targets at a time may cost less")
        return "\n".join(lines)


def _shortened(names: Sequence[str], limit: int = 12) -> str:
    return ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")


def _counted(number: int) -> str:
    """A whole number in full, or by its size where nobody would count the digits.

    >>> _counted(1234567), _counted(2**70), _counted(2**2000)
    ('1,234,567', '1.18e+21', '1.14e+602')
    """
    if number < 10**15:
        return f"{number:,}"
    digits = str(number)
    return f"{digits[0]}.{digits[1:3]}e+{len(digits) - 1}"


def _mebibytes(number: int) -> str:
    return f"{number / 2**20:.1f}" if number < 10**15 else _counted(number // 2**20)


def plan_factors(
    factors: Iterable[Factor],
    variables: Iterable[Variable],
    *,
    order: Sequence[str] | None = None,
    together: Iterable[Sequence[str]] = (),
    budget: Budget | None = None,
) -> Plan:
    """The plan for the product of some factors; see `compile_factors` for the parameters."""
    unlimited = Budget(seconds=float("inf"), bytes=2**62)
    listed, named, groups = list(factors), list(variables), list(together)
    limit = read_budget(budget)
    try:
        compiled = compile_factors(listed, named, order=order, together=groups, budget=unlimited)
    except TooLarge:  # a tree that could not even be laid out
        return _plan_beyond_bounds(listed, named, groups)
    answers = [math.prod(compiled.variables[name].num_states for name in group) for group in groups]
    return plan_of(compiled, limit, max(answers, default=0))


def plan_of(compiled: CompiledFactors, budget: Budget | None = None, answer_entries: int = 0) -> Plan:
    """The plan of factors that are compiled, and of an answer with so many entries; for their budget or another."""
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
        fits=(budget or compiled.budget).allows(program, answer_entries),
        cliques=tuple(tuple(names[number] for number in program.clique(place)) for place in range(program.num_cliques)),
        parents=tuple(program.layout.cliques["parent"].tolist()),
    )


def _plan_beyond_bounds(
    factors: Sequence[Factor], variables: Sequence[Variable], together: Sequence[Sequence[str]]
) -> Plan:
    """The plan of what can't be laid out: one greedy order, and the cliques that it makes. It fits no budget."""
    scope = union_scope([tuple(variables), *(factor.scope for factor in factors)])
    sizes: dict[Node, int] = {variable.name: variable.num_states for variable in scope}
    groups = [*(factor.names for factor in factors), *together]
    graph = UndirectedGraph((pair for group in groups for pair in combinations(group, 2)), nodes=sizes)
    run = eliminate(graph, elimination_order(graph, "weighted-min-fill", cardinalities=sizes))
    rank = {node: place for place, node in enumerate(run.order)}
    swallowed = {  # the clique of a node is no larger than the one that an earlier node left there
        above
        for node, *around in run.cliques
        if around and len(run.cliques[rank[above := min(around, key=rank.__getitem__)]]) == len(around)
    }
    maximal = [clique for clique in run.cliques if clique[0] not in swallowed]
    entries = [math.prod(sizes[node] for node in clique) for clique in maximal]
    messages = sum(math.prod(sizes[node] for node in clique[1:]) for clique in maximal)
    largest = set(maximal[entries.index(max(entries))])
    separator = [node for node in largest if not largest.issuperset(run.cliques[rank[node]])]
    return Plan(
        engine="clique tree",
        num_factors=len(factors),
        num_variables=len(sizes),
        order=tuple(map(str, run.order)),
        width=run.width,
        num_cliques=len(maximal),
        entries=sum(entries),
        largest_clique=tuple(str(node) for node in sizes if node in largest),
        largest_entries=max(entries),
        largest_separator=tuple(str(node) for node in sizes if node in separator),
        bytes=8 * (sum(factor.flat.size for factor in factors) + messages),
        seconds=min(sum(entries), _ENDLESS) * SECONDS_PER_ENTRY,
        fits=False,
    )
