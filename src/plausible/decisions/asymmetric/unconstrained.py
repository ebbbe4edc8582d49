"""Unconstrained problems: what to do next is a part of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TYPE_CHECKING

from plausible.base.frozen import Frozen
from plausible.cpds import CPD
from plausible.cpds.reading import VariableLike
from plausible.decisions.asymmetric.free_decision import FreeDecision, read_names
from plausible.decisions.diagram import InfluenceDiagram
from plausible.decisions.parts import Decision
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable, counted
from plausible.graphs.listing import Listing
from plausible.utilities.local import Utility
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.decisions.asymmetric.order_tables import UnconstrainedSolution

__all__ = ["UnconstrainedDiagram"]


class UnconstrainedDiagram(Frozen):
    """Decisions and observations that are only partly ordered: an immutable value.

    All decisions are made at last, in whatever order, each knowing all that was done and seen before; the order may
    depend on what was seen. A variable is seen, free of charge, as soon as all decisions that release it and all that
    it depends on are made: to see more never does harm. A test that need not be made has an action for that, and its
    result a state for "no result".

    Parameters
    ----------
    chance
        A conditional distribution of each chance variable; decisions may be parents.
    decisions
        The decisions. Of several orders that are as good, the plan takes the one that comes first in this list.
    utilities
        The parts of the total utility, which add.
    observable
        Names of chance variables that are seen though no decision releases them, from the beginning if they depend on
        none.

    References
    ----------
    Jensen & Vomlelova (2002), Unconstrained influence diagrams.

    Examples
    --------
    A cheap test and a better one that is dear: it depends on what the first one says whether the second one is made.

    >>> from plausible.cpds import TableCPD
    >>> ill = TableCPD("ill", [0.8, 0.2], states=["no", "yes"])
    >>> def result(test, right):
    ...     rows = {("no", ill): [0, 0, 1] for ill in ("no", "yes")}
    ...     rows |= {("yes", "no"): [right, 1 - right, 0], ("yes", "yes"): [1 - right, right, 0]}
    ...     return TableCPD(f"{test} result", rows, parents=[test, "ill"], states=["negative", "positive", "none"])
    >>> diagram = UnconstrainedDiagram(
    ...     chance=[ill, result("blood", 0.8), result("scan", 0.95)],
    ...     decisions=[FreeDecision("blood", ["no", "yes"], releases=["blood result"]),
    ...                FreeDecision("scan", ["no", "yes"], releases=["scan result"]),
    ...                FreeDecision("treat", ["no", "yes"])],
    ...     utilities=[Utility("blood", [0, -1]), Utility("scan", [0, -8]),
    ...                Utility(["ill", "treat"], [[0, -30], [-100, -10]])],
    ... )
    >>> print(diagram.solve())
    Expected utility -10.12 by the best plan.
    next: blood=yes
      if blood result=negative (0.68): scan=no, treat=no, worth -6.88235
      if blood result=positive (0.32): scan=yes, worth -17
        if scan result=negative (0.5): treat=no, worth -14
        if scan result=positive (0.5): treat=yes, worth -20
    >>> print(diagram.solve().next_step({"blood": "yes", "blood result": "positive"}))
    scan=yes, worth -17
    >>> round(diagram.in_order(["scan", "blood", "treat"]).solve().expected_utility, 6)
    -11.4
    """

    __slots__ = ("_before", "_decisions", "_diagram", "_observable")

    def __init__(
        self,
        chance: Iterable[CPD] = (),
        decisions: Iterable[FreeDecision] = (),
        utilities: Iterable[Utility] = (),
        observable: VariableLike | Iterable[VariableLike] = (),
    ) -> None:
        listed = list(decisions)
        for decision in listed:
            if not isinstance(decision, FreeDecision):
                raise InvalidModel(f"Expected a list of FreeDecision objects, not {decision!r} in it.")
        self._diagram = InfluenceDiagram(chance, [Decision(decision.variable) for decision in listed], utilities)
        self._decisions = {decision.name: decision for decision in listed}
        self._observable = self._read_observable(read_names(observable, "what is observable"))
        self._before = {name: self._waits_for(decision) for name, decision in self._decisions.items()}
        self._check_order()

    def _read_observable(self, listed: tuple[str, ...]) -> dict[str, frozenset[str]]:
        """Observable variable -> the decisions after which it is seen, in the order of the chance variables."""
        waits: dict[str, set[str]] = {name: set() for name in listed}
        for decision in self._decisions.values():
            for name in decision.releases:
                waits.setdefault(name, set()).add(decision.name)
        for name, decisions in waits.items():
            if name not in self.chance:
                raise UnknownVariable.named(name, self.chance, "the chance variables of this diagram")
            decisions.update(map(str, self._diagram.graph.ancestors(name) & set(self._decisions)))
        return {name: frozenset(waits[name]) for name in self.chance if name in waits}

    def _waits_for(self, decision: FreeDecision) -> frozenset[str]:
        """The decisions that must be made before one, also to see what must be seen before it."""
        found: set[str] = set()
        for name in decision.after:
            if name in self._decisions:
                found.add(name)
            elif name in self._observable:
                found |= self._observable[name]
            else:
                known = (*self._decisions, *self._observable)
                raise UnknownVariable.named(name, known, f"what {decision.name!r} can come after")
        return frozenset(found)

    def _check_order(self) -> None:
        try:
            tuple(TopologicalSorter(self._before).static_order())
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise InvalidModel(
                f"The decisions can't be ordered: {circle}, each before the next one. Drop an after= or releases=."
            ) from None

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: chance in the order given, then decisions."""
        return self._diagram.variables

    @property
    def chance(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution of each chance variable."""
        return self._diagram.chance

    @property
    def decisions(self) -> Mapping[str, FreeDecision]:
        """Name -> decision, in the order given."""
        return MappingProxyType(self._decisions)

    @property
    def utilities(self) -> Mapping[str, Utility]:
        """Name -> utility, in the order given."""
        return self._diagram.utilities

    @property
    def observable(self) -> Mapping[str, frozenset[str]]:
        """Name of each variable that will be seen -> the decisions that must be made before."""
        return MappingProxyType(self._observable)

    @property
    def before(self) -> Mapping[str, frozenset[str]]:
        """Name of each decision -> the decisions that must be made before."""
        return MappingProxyType(self._before)

    @property
    def parts(self) -> InfluenceDiagram:
        """The chance variables, decisions and utilities as a diagram in which decisions see nothing."""
        return self._diagram

    def seen_after(self, made: Iterable[str]) -> tuple[str, ...]:
        """The variables that are seen where some decisions are made, in the order of the diagram."""
        done = frozenset(made)
        return tuple(name for name, needed in self._observable.items() if needed <= done)

    # --- questions ---

    def solve(self, max_entries: int = 2**22) -> UnconstrainedSolution:
        """The best plan: see `plausible.decisions.asymmetric.order_tables`."""
        from plausible.decisions.asymmetric.order_tables import solve_unconstrained

        return solve_unconstrained(self, max_entries)

    def orders(self) -> Listing[tuple[str, ...]]:
        """All orders in which the decisions can be made, the one nearest to that of the list first.

        >>> decisions = [FreeDecision("A", 2, after="C"), FreeDecision("B", 2), FreeDecision("C", 2)]
        >>> UnconstrainedDiagram(decisions=decisions).orders()
        [('B', 'C', 'A'), ('C', 'A', 'B'), ('C', 'B', 'A')]
        """
        return Listing(self._orders)

    def _orders(self) -> Iterator[tuple[str, ...]]:
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            order = waiting.pop()
            following = [name for name in self._decisions if name not in order and self._before[name] <= set(order)]
            if not following:
                yield order
            waiting += [(*order, name) for name in reversed(following)]

    def in_order(self, order: Sequence[str]) -> InfluenceDiagram:
        """The influence diagram, with perfect recall, of those who keep to one order whatever they see.

        Its maximum is at most that of the free problem.
        """
        for place, name in enumerate(order):
            if name not in self._decisions:
                raise UnknownVariable.named(name, self._decisions, "the decisions of this diagram")
            if missing := self._before[name] - set(order[:place]):
                raise InvalidArgument(f"In {list(order)}, {name!r} must come after {sorted(missing)}.")
        if sorted(order) != sorted(self._decisions):
            raise InvalidArgument(f"An order names each of {list(self._decisions)} once, unlike {list(order)}.")
        decisions = [
            Decision(self.variables[name], sees=(*self.seen_after(order[:place]), *order[:place]))
            for place, name in enumerate(order)
        ]
        return InfluenceDiagram(self.chance.values(), decisions, self.utilities.values())

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnconstrainedDiagram):
            return NotImplemented
        return (self._diagram, self._decisions, self._observable) == (
            other._diagram,
            other._decisions,
            other._observable,
        )

    def __hash__(self) -> int:
        return hash((self._diagram, frozenset(self._decisions.values()), frozenset(self._observable)))

    def __repr__(self) -> str:
        counts = f"{len(self.chance)} chance, {len(self._observable)} of them observable, "
        return (
            f"<UnconstrainedDiagram: {counts}{counted(len(self._decisions), 'decision')}, "
            f"{counted(len(self.utilities), 'utility')}>"
        )
