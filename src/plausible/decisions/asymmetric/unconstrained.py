"""Unconstrained diagrams: what to do next is a part of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod

import numpy as np

from plausible.base import Floats, Result, check_count, format_number, record
from plausible.decisions.asymmetric.plan import (
    History,
    NextStep,
    PlanBranch,
    best_step,
    missing_outcome,
    plan_text,
    read_history,
)
from plausible.decisions.asymmetric.problems import UnconstrainedProblem
from plausible.decisions.totals import utility_rounding
from plausible.decisions.trees.tree import path_tables
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.variables import Variable

#: The decisions that were made.
Made = frozenset[str]


class UnconstrainedDiagram(UnconstrainedProblem):
    """Decisions and observations that are only partly ordered: an immutable value.

    All decisions are made at last, in whatever order, each knowing all that was done and seen before; the order may
    depend on what was seen. A variable is seen, free of charge, as soon as all decisions that release it and all that
    it depends on are made: to see more never does harm. A test that need not be made has an action for that, and its
    result a state for "no result".

    Jensen & Vomlelova (2002), Unconstrained influence diagrams.

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

    Examples
    --------
    A cheap test and a better one that is dear: it depends on what the first one says whether the second one is made.

    >>> import plausible as pb
    >>> from plausible.decisions import FreeDecision
    >>> ill = pb.TableCPD("ill", [0.8, 0.2], states=["no", "yes"])
    >>> def result(test, right):
    ...     rows = {("no", ill): [0, 0, 1] for ill in ("no", "yes")}
    ...     rows |= {("yes", "no"): [right, 1 - right, 0], ("yes", "yes"): [1 - right, right, 0]}
    ...     return pb.TableCPD(f"{test} result", rows, parents=[test, "ill"], states=["negative", "positive", "none"])
    >>> diagram = UnconstrainedDiagram(
    ...     chance=[ill, result("blood", 0.8), result("scan", 0.95)],
    ...     decisions=[FreeDecision("blood", ["no", "yes"], releases=["blood result"]),
    ...                FreeDecision("scan", ["no", "yes"], releases=["scan result"]),
    ...                FreeDecision("treat", ["no", "yes"])],
    ...     utilities=[pb.Utility("blood", [0, -1]), pb.Utility("scan", [0, -8]),
    ...                pb.Utility(["ill", "treat"], [[0, -30], [-100, -10]])],
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

    __slots__ = ()

    def solve(self, max_entries: int = 2**22) -> UnconstrainedSolution:
        """The best plan, exactly.

        V(made, seen) = max_D max_d Σ_new P(new | seen, d) V(made + D, seen + new), over the sets of decisions that can
        be made next to each other (the S-DAG), with one table for each set, over what is seen then and the actions
        taken: exponential in the decisions that release something and in what they release. Decisions by which nothing
        becomes visible come last, since it never does harm to wait with them. `TooLarge` where all tables together
        would have more than `max_entries` entries (Jensen & Vomlelova 2002).

        >>> import plausible as pb
        >>> from plausible.decisions import FreeDecision
        >>> coin = pb.TableCPD("coin", [0.5, 0.5], states=["heads", "tails"])
        >>> look, bet = FreeDecision("look", ["yes"], releases=["coin"]), FreeDecision("bet", ["heads", "tails"])
        >>> print(UnconstrainedDiagram([coin], [bet, look], [pb.Utility(["coin", "bet"], [[1, 0], [0, 1]])]).solve())
        Expected utility 1 by the best plan.
        next: look=yes
          if coin=heads (0.5): bet=heads, worth 1
          if coin=tails (0.5): bet=tails, worth 1
        """
        check_count("max_entries", max_entries, 1)
        order = tuple(self.variables[name] for name in (*self.observable, *self.decisions))
        sets = _sets(self, order, max_entries)
        weights, means = path_tables(self.parts, order)
        everything = frozenset(self.decisions)
        scale = prod(self.variables[name].num_states for name in everything)  # actions are random in `weights`
        probability, worth = {everything: weights * scale}, {everything: weights * scale * means}
        for made in sets[1:]:
            candidates = _candidates(self, made)
            axes = [order.index(self.variables[name]) for name in candidates]
            totals = [_totals(self, order, worth, made, name) for name in candidates]
            options = [total.max(axis=axis, keepdims=True) for total, axis in zip(totals, axes, strict=True)]
            worth[made] = np.max(options, axis=0)
            probability[made] = _totals(self, order, probability, made, candidates[0]).take([0], axis=axes[0])
        for table in (*probability.values(), *worth.values()):
            table.setflags(write=False)
        return UnconstrainedSolution(float(worth[frozenset()].sum()), self, order, probability, worth)


@record(eq=False)
class UnconstrainedSolution(Result):
    """The best plan of an unconstrained diagram: what to do next after all that was done and seen."""

    expected_utility: float  # That of the best plan; no plan is better
    diagram: UnconstrainedDiagram  # The diagram
    order: tuple[Variable, ...] = field(repr=False)  # The axes of all tables: what is observable, then the decisions
    #: For each set of decisions made: P(seen; actions) over what is seen by then and the actions; other axes have
    #: length one.
    probability: Mapping[Made, Floats] = field(repr=False)
    #: The same times the total expected utility, where the best is done from then on.
    worth: Mapping[Made, Floats] = field(repr=False)

    def next_step(self, history: History) -> NextStep | None:
        """The best thing to do after all that was done and seen; `None` where every decision is made."""
        return best_step(self.steps(history), utility_rounding(self.diagram.parts))

    def steps(self, history: History) -> tuple[NextStep, ...]:
        """The actions of all decisions that can come next, with what each brings where the best is done after it.

        Decisions that can as well wait, since nothing becomes visible by them, are left for the end.
        """
        place, made, unknown = self._place(history)
        if unknown:
            raise missing_outcome(sorted(unknown))
        chance = float(self.probability[made][place])
        steps = []
        for name in _candidates(self.diagram, made):
            actions = self.diagram.variables[name].states
            new = {*self.diagram.seen_after(made | {name})} - {*self.diagram.seen_after(made)}
            table = self.worth[made | {name}][self._index(place, {*new, name})]  # decisions have the last axes
            values = table.reshape(-1, len(actions)).sum(axis=0) / chance
            steps += [NextStep(name, action, float(value)) for action, value in zip(actions, values, strict=True)]
        return tuple(steps)

    def branches(self, history: History) -> tuple[PlanBranch, ...]:
        """What may be seen before the next decision and is not in the history, with its probability."""
        place, made, unknown = self._place(history)
        new = [variable for variable in self.order if variable.name in unknown]
        table = self.probability[made][self._index(place, unknown)]
        return tuple(
            PlanBranch(
                {variable.name: variable.states[i] for variable, i in zip(new, states, strict=True)},
                float(table[tuple(states)] / table.sum()),
            )
            for states in np.argwhere(table > 0)
        )

    def _place(self, history: History) -> tuple[tuple[int, ...], Made, set[str]]:
        """Where a history stands in the tables, the decisions made, and what is seen by now but not in it."""
        positions = read_history(history, self.diagram.variables, "this diagram")
        made = frozenset(name for name in history if name in self.diagram.decisions)
        if made not in self.worth:
            why = "decisions by which nothing becomes visible come last."
            for name in made:
                if missing := self.diagram.before[name] - made:
                    why = f"{name!r} must come after {sorted(missing)}."
            raise InvalidArgument(f"No plan has made just {sorted(made)}: {why}")
        seen = self.diagram.seen_after(made)
        if early := [name for name in history if name not in made and name not in seen]:
            raise InvalidArgument(f"{early} can't be seen where just {sorted(made)} are made: take them out.")
        place = tuple(positions.get(variable.name, 0) for variable in self.order)
        unknown = {*seen} - {*history}
        if not np.any(self.probability[made][self._index(place, unknown)] > 0):
            raise ImpossibleEvidence(f"The history {dict(history)} has probability zero.")
        return place, made, unknown

    def _index(self, place: tuple[int, ...], free: set[str]) -> tuple[int | slice, ...]:
        """A place in a table with some of the axes free."""
        return tuple(slice(None) if v.name in free else i for v, i in zip(self.order, place, strict=True))

    def __str__(self) -> str:
        return f"Expected utility {format_number(self.expected_utility)} by the best plan.\n{plan_text(self)}".rstrip()


def _candidates(diagram: UnconstrainedDiagram, made: Made) -> list[str]:
    """The decisions to consider next; of those by which nothing becomes visible only one, where no other is left."""
    # Something observable waits for these, or they must come before those that it waits for.
    telling = set().union(*diagram.observable.values())
    while more := set().union(*(diagram.before[name] for name in telling)) - telling:
        telling |= more
    possible = [name for name in diagram.decisions if name not in made and diagram.before[name] <= made]
    return [name for name in possible if name in telling] or possible[:1]


def _sets(diagram: UnconstrainedDiagram, order: Sequence[Variable], max_entries: int) -> list[Made]:
    """The sets of decisions that may have been made, larger ones first; `TooLarge` if their tables are."""
    sets: dict[Made, None] = {frozenset(): None}
    entries, waiting = 0, [frozenset[str]()]
    while waiting:
        made = waiting.pop()
        past = {*made, *diagram.seen_after(made)}
        entries += prod(variable.num_states for variable in order if variable.name in past)
        if entries > max_entries:
            raise TooLarge(
                f"The tables over what may be seen and done need more than max_entries={max_entries} entries. Say more "
                "about the order with after=, leave out observable variables, or raise the limit."
            )
        larger = [made | {name} for name in _candidates(diagram, made)]
        waiting += [following for following in larger if following not in sets]
        sets.update(dict.fromkeys(larger))
    return sorted(sets, key=len, reverse=True)


def _totals(
    diagram: UnconstrainedDiagram, order: Sequence[Variable], tables: dict[Made, Floats], made: Made, decision: str
) -> Floats:
    """The table after one more decision, summed over what is new then; its axes run over the actions too."""
    after = made | {decision}
    new = set(diagram.seen_after(after)) - set(diagram.seen_after(made))
    axes = tuple(axis for axis, variable in enumerate(order) if variable.name in new)
    return np.asarray(tables[after].sum(axis=axes, keepdims=True))
