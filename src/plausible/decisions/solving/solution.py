"""Solutions that explain themselves: the strategy, what it is worth, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plausible.base import (
    Floats,
    Ints,
    Result,
    TextTable,
    chart_by,
    format_number,
    num_shown,
    picture_by,
    record,
    widget_by,
)
from plausible.data.columns import EvidenceColumns, frame_columns
from plausible.decisions.diagram import Diagram
from plausible.decisions.parts import Decision
from plausible.decisions.solving.joint_tree import Weighing, weighing
from plausible.decisions.solving.problem import DecisionProblem, Task
from plausible.decisions.solving.updating import Rules, conditional_worth, decided, settle_off_path
from plausible.decisions.strategy import MAX_RULE, Strategy
from plausible.decisions.structure.relevance import temporal_order
from plausible.decisions.totals import proof_rounding, utility_rounding
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import align, assignment_at, num_entries, table_shape
from plausible.factors.joint_factor import first_best
from plausible.search.run import CONVERGED
from plausible.variables import Assignment, State, Variable

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

    from plausible.base.pictured import Axes, Chart, LiveWidget, Picture
    from plausible.inference.budget import Budget
    from plausible.variables.evidence import EvidenceLike

#: Where the strategy does not lead to more rows than this, the text of a policy counts them only.
_MAX_IDLE = 12


@record(eq=False)
class Policy(Result):
    """What to do at one decision, and what each action would bring where all else follows the solution."""

    decision: Variable  # The decision
    uses: tuple[Variable, ...]  # What the rule depends on: a part of what the decision sees
    ignores: tuple[str, ...]  # Names of what the decision sees and need not know
    #: The position of the action taken in each information state, the states of the last of `uses` changing fastest.
    actions: Ints
    probability: Floats  # The probability of each information state under the strategy
    #: The total expected utility in each information state (rows) for each action (columns). Where the strategy never
    #: leads, the decisions that are seen count as set, whatever they saw; NaN for what can't happen at all.
    expected_utility: Floats
    is_best: np.ndarray  # Whether an action is as good as the one taken, up to rounding; of the same shape

    @property
    def has_ties(self) -> bool:
        """Whether another action is as good, for something that is seen under the strategy."""
        return bool((self.is_best[self.probability > 0].sum(axis=1) > 1).any())

    @property
    def unreachable(self) -> tuple[Assignment, ...]:
        """The information states that never happen under the strategy."""
        return self._states(self.probability == 0)

    @property
    def impossible(self) -> tuple[Assignment, ...]:
        """The information states that can't happen, whatever is decided."""
        return self._states(self._is_impossible)

    @property
    def _is_impossible(self) -> np.ndarray:
        return np.isnan(self.expected_utility[:, 0])

    def _states(self, which: np.ndarray) -> tuple[Assignment, ...]:
        return tuple(assignment_at(self.uses, int(row)) for row in np.flatnonzero(which))

    def ties(self, seen: Mapping[str, State] | None = None) -> tuple[State, ...]:
        """The actions that are best where this is seen, the one taken among them; empty if it can't happen."""
        return tuple(self.decision.states[action] for action in np.flatnonzero(self.is_best[self.row(seen or {})]))

    def row(self, seen: Mapping[str, State]) -> int:
        """The number of the information state in which this is seen."""
        if missing := [variable.name for variable in self.uses if variable.name not in seen]:
            raise InvalidArgument(f"The rule of {self.decision.name!r} depends on {missing}: say what was seen there.")
        row = 0
        for variable in self.uses:
            row = row * variable.num_states + variable.index(seen[variable.name])
        return row

    def decide(self, rows: IntoDataFrame | Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """The best action in each row of a table and its expected utility, knowing what the row tells.

        Missing cells, and columns that are not there, are averaged over: the best action then is the best one knowing
        less. Columns of other things are passed over. A row that can't happen has no action.

        >>> import plausible as pb
        >>> policy = pb.examples.load("oil").solve().policies["drill"]
        >>> print(policy.decide({"seismic": ["open", None, "diffuse"], "test": ["yes", "yes", "yes"]}))
          drill  expected_utility
        0   yes          3.909091
        1   yes         -0.500000
        2    no        -12.000000
        """
        import pandas as pd

        columns = rows if isinstance(rows, Mapping) else frame_columns(rows)
        variables = {variable.name: variable for variable in self.uses}
        known = EvidenceColumns.read({name: columns[name] for name in variables if name in columns}, variables)
        num_rows = len(next(iter(columns.values()), ()))
        codes = np.full((num_rows, len(variables)), -1)
        for place, name in enumerate(variables):
            codes[:, place] = known.states.get(name, -1)
        actions, worth = np.full(num_rows, -1), np.full(num_rows, np.nan)
        patterns, which = np.unique(codes >= 0, axis=0, return_inverse=True)
        for number, seen in enumerate(patterns):
            inside = which.reshape(-1) == number
            places = tuple(codes[inside][:, seen].T)
            brought, best = (table[places] for table in self._averaged(tuple(np.flatnonzero(~seen))))
            actions[inside] = np.where(np.isnan(brought[..., 0]), -1, best)  # -1: it can't happen
            worth[inside] = np.take_along_axis(brought, best[..., None], axis=-1)[..., 0]
        states = np.array([*self.decision.states, None], dtype=object)
        index = rows.index if isinstance(rows, pd.DataFrame) else None
        return pd.DataFrame({self.decision.name: states[actions], "expected_utility": worth}, index=index)

    def _averaged(self, missing: tuple[int, ...]) -> tuple[Floats, Ints]:
        """E[U | what is seen but for some of it, action], NaN for what can't happen, and the best action's place."""
        shape = [variable.num_states for variable in self.uses]
        worth = self.expected_utility.reshape(*shape, -1)
        if not missing:
            return worth, self.actions.reshape(shape)
        probability = self.probability.reshape(*shape, 1)
        weighted = (probability * np.where(probability > 0, worth, 0.0)).sum(axis=missing)
        total = np.broadcast_to(probability.sum(axis=missing), weighted.shape)
        brought = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), np.nan)
        return brought, first_best(np.where(np.isnan(brought), -np.inf, brought))

    def to_frame(self) -> pd.DataFrame:
        """A row for each information state: what is seen, the action, its expected utility, the probability, a note.

        >>> import plausible as pb
        >>> solution = pb.examples.load("oil").solve()
        >>> print(solution.policies["test"].to_frame().to_string(index=False))
        test  expected_utility  probability note
         yes             16.75          1.0
        """
        import pandas as pd

        seen = [assignment_at(self.uses, row) for row in range(len(self.actions))]
        taken = np.take_along_axis(self.expected_utility, self.actions[:, None], axis=1)[:, 0]
        return pd.DataFrame(
            {
                **{variable.name: [states[variable.name] for states in seen] for variable in self.uses},
                self.decision.name: [self.decision.states[action] for action in self.actions],
                "expected_utility": taken,
                "probability": self.probability,
                "note": [self._note(row, int(action)) for row, action in enumerate(self.actions)],
            }
        )

    def to_table(self, max_rows: int | None = None) -> TextTable:
        """What is seen, the best action, its expected utility, and the probability of seeing this."""
        return self._table(range(len(self.actions)), max_rows)

    def _table(self, places: Sequence[int], max_rows: int | None = None) -> TextTable:
        """Some of the rows."""
        shown = num_shown(len(places), max_rows)
        header = (*(v.name for v in self.uses), self.decision.name, "expected utility", "probability", "note")
        rows = []
        for row in places[:shown]:
            action = int(self.actions[row])
            worth = float(self.expected_utility[row, action])
            told = "-" if np.isnan(worth) else format_number(worth), format_number(float(self.probability[row]))
            states = map(str, (*assignment_at(self.uses, row).values(), self.decision.states[action]))
            rows.append((*states, *told, self._note(row, action)))
        if not any(row[-1] for row in rows):
            header, rows = header[:-1], [row[:-1] for row in rows]
        return TextTable(header, tuple(rows), len(self.uses) + 1, len(places) - shown)

    def _note(self, row: int, action: int) -> str:
        if self._is_impossible[row]:
            return "can't happen"
        others = [str(self.decision.states[other]) for other in np.flatnonzero(self.is_best[row]) if other != action]
        never = [] if self.probability[row] else ["not under this strategy"]
        return "; ".join([*never, *([f"as good: {', '.join(others)}"] if others else [])])

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw what each action would bring where this or that is seen; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_policy", self, ax)

    def __str__(self) -> str:
        ignores = f" (need not know {', '.join(self.ignores)})" if self.ignores else ""
        idle = (self.probability == 0) & ~self._is_impossible
        shown = self.probability > 0 if idle.sum() > _MAX_IDLE else ~self._is_impossible
        lines = [f"{self.decision.name}{ignores}:", str(self._table(np.flatnonzero(shown).tolist()))]
        if idle.sum() > _MAX_IDLE:
            lines.append(f"({idle.sum()} more do not happen under this strategy: to_table() has them)")
        if self._is_impossible.any():
            lines.append(f"({self._is_impossible.sum()} more can't happen)")
        return "\n".join(lines)


class Policies(Mapping[str, Policy]):
    """Decision -> what to do there, in time; each is worked out when it is first looked at, and then kept."""

    __slots__ = ("_diagram", "_known", "_problem", "_rounding", "_rules", "_strategy", "_tree")

    def __init__(self, task: Task, rules: Rules, rounding: float, tree: Weighing | None) -> None:
        self._diagram, self._problem, self._rules, self._tree = task.diagram, task.problem, rules, tree
        self._rounding = rounding
        self._known: dict[str, Policy] = {}
        self._strategy: Strategy | None = None

    def __getitem__(self, name: str) -> Policy:
        decision = self._diagram.decision(name)
        if name not in self._known:
            if self._tree is None:
                self._tree = weighing(self._problem, self._rules)
            tables = conditional_worth(self._diagram, self._problem, self._tree, self._rules, name)
            self._known[name] = _policy(self._problem, decision, self._rules[name], tables, self._rounding)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(temporal_order(self._diagram))

    def __len__(self) -> int:
        return len(self._diagram.decisions)

    def __repr__(self) -> str:
        return f"Policies({list(self)!r})"

    @property
    def diagram(self) -> Diagram:
        """The diagram that they are for."""
        return self._diagram

    @property
    def strategy(self) -> Strategy:
        """The rules as factors over what each decision sees."""
        if self._strategy is None:
            rules = {name: _full_rule(self._diagram, self._problem, name, self._rules[name]) for name in self}
            self._strategy = Strategy(rules)
        return self._strategy


@record(eq=False)
class Solution(Result):
    """A strategy, what it is worth, and how that is known."""

    expected_utility: float  # Under the strategy, given the evidence
    policies: Policies  # Decision -> what to do and what else could be done, in numbers
    #: No strategy has a larger expected utility: this one's own where it is proved best, inf if nothing is known.
    upper_bound: float
    method: str  # How it was found
    #: The decisions in the order in which they were settled, those that rely on each other together.
    components: tuple[tuple[str, ...], ...]
    relies_on: Mapping[str, tuple[str, ...]]  # Decision -> the decisions whose rules matter to its own
    rounding: float  # Expected utilities that differ by no more count as equal
    #: "converged" where the method came to its own end, else "time limit" or "interrupted" (`progress` said so).
    stopped_by: str = CONVERGED
    seconds: float = 0.0  # The time that it took

    @property
    def converged(self) -> bool:
        """Whether the method came to its own end, and no limit cut it short."""
        return self.stopped_by == CONVERGED

    @property
    def strategy(self) -> Strategy:
        """A deterministic rule for each decision, over all that it sees.

        Where that table would have more than 4096 entries it is over what the decision uses. In information states that
        cannot occur its action means nothing.
        """
        return self.policies.strategy

    @property
    def gap(self) -> float:
        """How much better another strategy could be; 0 if this one is proved best."""
        return max(0.0, self.upper_bound - self.expected_utility)

    @property
    def is_optimal(self) -> bool:
        """Whether no strategy is better: proved, up to 1e-10 of the range of what decisions can change."""
        return self.gap == 0

    def picture(self, *, focus: Any = "auto") -> Picture:
        """The diagram with what to do in each decision: a notebook shows it, `save("solution.svg")` writes it."""
        return picture_by("picture_of_solution", self, focus)

    def widget(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        focus: Any = "auto",
        budget: Budget | None = None,
    ) -> LiveWidget:
        """The live picture for a notebook: what happens under the strategy, given what is seen and what is done.

        A click on a state sees it; on an action, takes it, whatever the strategy says. Beliefs move, and what is
        expected of each utility. Other rules stay those of the solution. See `BayesianNetwork.widget`.
        """
        return widget_by("widget_of_solution", self, evidence, do, focus, budget)

    @property
    def has_ties(self) -> bool:
        """Whether some other strategy, different where it matters, is known to be as good."""
        return any(policy.has_ties for policy in self.policies.values())

    def __str__(self) -> str:
        proof = f"at most {format_number(self.gap)} below the maximum"
        if self.is_optimal:
            proof = "the maximum"
        elif np.isinf(self.upper_bound):
            proof = "not proved to be the maximum"
        lines = [f"Expected utility {format_number(self.expected_utility)}, {proof} ({self.method})."]
        for component in self.components:
            if len(component) > 1:
                lines.append(f"{', '.join(component)} rely on each other and were settled together.")
            lines += [
                f"{name} relies on {', '.join(self.relies_on[name])}." for name in component if self.relies_on.get(name)
            ]
        return "\n\n".join(["\n".join(lines), *(str(policy) for policy in self.policies.values())])


def _full_rule(diagram: Diagram, problem: DecisionProblem, name: str, rule: Floats) -> Factor:
    """The rule over all that the decision sees, where that is not too much."""
    used = problem.family_scope(name)
    table = rule.reshape(table_shape(used))
    scope = (*diagram.information(name), diagram.variables[name])
    if used == scope or num_entries(scope) > MAX_RULE:
        return Factor.trusted(used, table)
    return Factor.trusted(scope, np.array(np.broadcast_to(align(table, used, scope), table_shape(scope))))


def _policy(
    problem: DecisionProblem, decision: Decision, rule: Floats, tables: tuple[Floats, Floats], rounding: float
) -> Policy:
    """What each action would bring, where all else follows the rules."""
    worth = tables[1].reshape(-1, rule.shape[-1])
    actions = rule.reshape(worth.shape).argmax(axis=1)
    taken = np.take_along_axis(worth, actions[:, None], axis=1)
    uses = problem.family_scope(decision.name)[:-1]
    inside = {variable.name for variable in uses}
    return Policy(
        decision=decision.variable,
        uses=uses,
        ignores=tuple(seen for seen in decision.sees if seen not in inside),
        actions=actions,
        probability=tables[0].reshape(-1),
        expected_utility=worth,
        is_best=np.asarray(worth >= taken - rounding),
    )


class FoundRules(NamedTuple):
    """Rules, what is known about the best ones, and how both were found."""

    rules: Rules
    upper_bound: float | None  # None where the rules are proved best
    method: str
    expected_utility: float | None = None  # where it is known; the rules are deterministic then
    is_open_off_path: bool = False  # whether rules were left as they are where others never lead to


def finish(task: Task, settled: FoundRules, tree: Weighing | None = None) -> Solution:
    """Make the rules deterministic, and say what they are worth."""
    rules, value, upper = settled.rules, settled.expected_utility, settled.upper_bound
    if value is None:
        rules = decided(settled.rules)
        if tree is None:
            tree = weighing(task.problem, rules)
        else:
            for name, rule in rules.items():
                if not np.array_equal(rule, settled.rules[name]):
                    tree.replace(name, rule)
        if settled.is_open_off_path:
            settle_off_path(task.diagram, task.problem, tree, rules)
        value = tree.total().expected_utility
    rounding = utility_rounding(task.diagram)
    if upper is None or upper - value <= proof_rounding(task.diagram):
        upper = value
    return Solution(
        expected_utility=value,
        policies=Policies(task, rules, rounding, tree),
        upper_bound=upper,
        method=settled.method,
        components=task.structure.components,
        relies_on=task.structure.relies_on,
        rounding=rounding,
    )
