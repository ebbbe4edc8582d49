"""The value of information and control: what it is worth to see or set something, and which actions that changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plausible.base import Result, check_number, format_number, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import (
    observing,
    read_chance,
    read_decision,
    read_variables,
)
from plausible.decisions.parts import Decision
from plausible.decisions.solving.problem import SolvingOptions
from plausible.decisions.solving.solution import Policy, Solution
from plausible.decisions.solving.solve import Asked
from plausible.decisions.structure.relevance import temporal_order
from plausible.errors import InvalidArgument
from plausible.factors.alignment import Scope, align, assignment_at, check_size, table_shape
from plausible.utilities.local import place_text
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike


@record
class ActionChange(Result):
    """Something that may be seen, and after which another action is taken than before."""

    decision: str  # The decision
    seen: Assignment  # What is seen
    #: The action taken before and now.
    before: State
    after: State
    probability: float  # How likely this is seen now
    gain: float  # By how much the new action is better than the old one where this is seen and all else is as now

    def __str__(self) -> str:
        where = place_text(self.decision, self.seen, self.probability)
        return f"{where}: {self.after} instead of {self.before}, better by {format_number(self.gain)}"


def action_changes(
    diagram: Diagram, before: Solution, after: Solution, evidence: EvidenceLike | None = None
) -> tuple[ActionChange, ...]:
    """All that can be seen under the second solution and leads to another action than under the first.

    Where another action is better, only what is better is told; changes between actions that are as good are told where
    there are no others. Two solutions without a change have the same expected utility.
    """
    changes: list[ActionChange] = []
    for name in diagram.decisions:
        old, new = before.policies[name], after.policies[name]
        scope = tuple(dict.fromkeys((*old.uses, *new.uses)))
        check_size(scope, f"What {name!r} sees")
        actions = [_spread(policy, policy.actions, scope).astype(np.int64) for policy in (old, new)]
        if (actions[0] == actions[1]).all():
            continue
        probability, names = np.ones(1), [variable.name for variable in scope]
        if scope:
            posterior = diagram.network(after.strategy).query(names, evidence=evidence)
            probability = posterior.reorder(names).values.reshape(-1)
        worth = np.stack([_spread(new, column, scope) for column in new.expected_utility.T], axis=1)
        for row in np.flatnonzero((actions[0] != actions[1]) & (probability > 0)).tolist():
            first, then = actions[0][row], actions[1][row]
            states = new.decision.states[first], new.decision.states[then]
            better_by = float(worth[row, then] - worth[row, first])
            seen = assignment_at(scope, row)
            changes.append(ActionChange(name, seen, *states, float(probability[row]), better_by))
    better = tuple(change for change in changes if change.gain > after.rounding)
    return better or tuple(changes)


def _spread(policy: Policy, column: np.ndarray, scope: Scope) -> np.ndarray:
    """A number for each information state of a policy as one for each assignment to a larger scope."""
    table = np.asarray(column, dtype=np.float64).reshape(table_shape(policy.uses))
    return np.broadcast_to(align(table, policy.uses, scope), table_shape(scope)).reshape(-1)


#: What results say where a strategy behind them may not be the best one.
NOT_PROVED = "Not exact: a strategy was not proved to be the best one."


@dataclass(frozen=True, slots=True, eq=False)
class AlreadySeen:
    """What a decision sees anyway, and what that is worth to it."""

    variables: tuple[str, ...]  # What it sees
    value: float  # MEU less MEU where neither the decision nor any later one sees them; never negative
    without: Solution  # The solution where they do not see them


@record(eq=False)
class ValueOfInformation(Result):
    """What it is worth to see some variables at a decision, and why."""

    _also = ("net_value", "is_worthwhile")

    variables: tuple[str, ...]  # What is seen
    decision: str  # The first decision that sees it; later ones do, too
    #: MEU with them less MEU without: the cost at which it is all the same whether to look. Never negative, and zero
    #: exactly where no action changes.
    value: float
    cost: float  # What it costs to see them
    #: The solutions without and with them.
    before: Solution
    after: Solution
    changes: tuple[ActionChange, ...]  # What is done otherwise, and after seeing what
    #: Those of the variables that the decision sees anyway, and what that is worth; nothing where it sees none.
    already_seen: AlreadySeen | None = None

    @property
    def net_value(self) -> float:
        """The value less the cost."""
        return self.value - self.cost

    @property
    def is_worthwhile(self) -> bool:
        """Whether looking is better than not looking."""
        return self.net_value > 0

    @property
    def is_exact(self) -> bool:
        """Whether all solutions are proved best; otherwise values are those of the strategies found."""
        is_known = self.already_seen is None or self.already_seen.without.is_optimal
        return self.before.is_optimal and self.after.is_optimal and is_known

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        lines, already, value = list[str](), self.already_seen, self.value
        now, after = format_number(self.before.expected_utility), format_number(self.after.expected_utility)
        if already is not None:
            without = format_number(already.without.expected_utility)
            meu = f"{now} instead of {without}" if already.value else f"{now} also"
            lines.append(
                f"{self.decision} already sees {', '.join(already.variables)}, and that is worth "
                f"{format_number(already.value)}: expected utility {meu} without {_it(already.variables)}."
            )
        # Whether the decision sees all of it anyway, and later ones gain nothing.
        is_nothing_new = not value and already is not None and already.variables == self.variables
        if is_nothing_new and already is not None:
            value = already.value
        else:
            what = f"{', '.join(self.variables) or 'nothing more'} at {self.decision}"
            meu = f"{after} instead of {now}" if value else f"stays {now}"
            lines.append(f"Seeing {what} is worth {format_number(value)}: expected utility {meu}.")
        if self.cost:
            verdict = "it pays" if value > self.cost else "it does not pay"
            lines.append(f"At a cost of {format_number(self.cost)} {verdict}: net {format_number(value - self.cost)}.")
        if is_nothing_new:
            lines.append(f"Seeing {_it(self.variables)} once more is worth 0.")
        if not self.is_exact:
            lines.append(NOT_PROVED)
        nothing = [] if is_nothing_new else ["No action changes."]
        return "\n".join([*lines, *(map(str, self.changes) if self.changes else nothing)])


def _it(variables: tuple[str, ...]) -> str:
    return "it" if len(variables) == 1 else "them"


def value_of_information(
    diagram: Diagram,
    variables: str | Iterable[str],
    decision: str | None = None,
    cost: float = 0.0,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> ValueOfInformation:
    """Compute the value of perfect information: how much more D is worth if it and later decisions see X.

    It is the gain in maximum expected utility. Later means after D in time or, if the graph leaves that open, in
    the order of the diagram. The value is never negative, since a decision may ignore what it sees, and it is zero
    exactly if an optimal strategy stays optimal. The values of several variables do not add up: two may say the
    same, or be useful only together.

    Two diagrams are solved, and a third where D sees some of X anyway. Where it costs something to look, and what
    is seen first may decide what to look at next, see `observation_plan`, and `with_optional_observation` for
    several decisions.

    Koller & Friedman (2009), Probabilistic graphical models, definition 23.11 and proposition 23.6. Howard (1966),
    Information value theory.

    Parameters
    ----------
    variables
        X: one variable or several, which D must not influence; none are worth 0. Variables that D already sees are
        listed in `already_seen`, with what D and later decisions would lose without them.
    decision
        D; may be omitted if there is only one decision.
    cost
        What it costs to see them, in units of utility.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.examples.load("startup")
    >>> print(diagram.value_of_information("market", cost=1))
    Seeing market at found is worth 3.5: expected utility 5.5 instead of 2.
    At a cost of 1 it pays: net 2.5.
    found, market=poor (probability 0.5): no instead of yes, better by 7
    >>> print(diagram.with_information({"found": ["market"]}).value_of_information("market"))
    found already sees market, and that is worth 3.5: expected utility 5.5 instead of 2 without it.
    Seeing it once more is worth 0.
    """
    names = read_variables(diagram, variables)
    first = read_decision(diagram, decision)
    check_number("cost", cost, least=0)
    informed = observing(diagram, names, first)
    asked = Asked(diagram, evidence, options)
    before, after = asked.solved(), asked.solved(informed)
    value = gain(after.expected_utility, before.expected_utility, before.rounding)
    changes = action_changes(informed, before, after, evidence) if value > 0 else ()
    seen, already = tuple(name for name in names if name in diagram.decisions[first].sees), None
    if seen:
        order = temporal_order(diagram)
        sees = {name: diagram.decisions[name].sees for name in order[order.index(first) :]}
        hidden = {name: [other for other in others if other not in seen] for name, others in sees.items()}
        without = asked.solved(diagram.with_information(hidden))
        worth = gain(before.expected_utility, without.expected_utility, before.rounding)
        already = AlreadySeen(seen, worth, without)
    return ValueOfInformation(names, first, value, float(cost), before, after, changes, already)


def gain(after: float, before: float, rounding: float) -> float:
    """The difference of two maxima of which the first can't be smaller; 0 where it is within rounding."""
    difference = after - before
    return difference if difference > rounding else 0.0


@record(eq=False)
class ValueOfControl(Result):
    """What it is worth to decide on a chance variable."""

    _also = ("net_value", "settings")

    variable: str  # The variable that becomes a decision
    sees: tuple[str, ...]  # What is known when it is set
    #: MEU with control less MEU without; negative only where less is known than what the variable depends on.
    value: float
    cost: float  # What control costs
    #: The solutions without and with control.
    before: Solution
    after: Solution

    @property
    def net_value(self) -> float:
        """The value less the cost."""
        return self.value - self.cost

    @property
    def settings(self) -> Policy:
        """How the variable is best set."""
        return self.after.policies[self.variable]

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        seeing = f", seeing {', '.join(self.sees)}," if self.sees else ""
        lines = [
            f"Control of {self.variable}{seeing} is worth {format_number(self.value)}: expected utility "
            f"{format_number(self.after.expected_utility)} instead of {format_number(self.before.expected_utility)}."
        ]
        if self.cost:
            lines.append(f"At a cost of {format_number(self.cost)}: net {format_number(self.net_value)}.")
        if not (self.before.is_optimal and self.after.is_optimal):
            lines.append(NOT_PROVED)
        return "\n".join([*lines, "", str(self.settings)])


def value_of_control(
    diagram: Diagram,
    variable: str,
    sees: Iterable[str] | None = None,
    cost: float = 0.0,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> ValueOfControl:
    """MEU of the diagram in which a chance variable X is a decision, less MEU.

    By default X is set knowing its parents, which is what chance "knows": then the value is never negative, since a
    rule may do what chance does. With `sees=()` X is set blindly, which can be worse than chance. Other decisions
    see what they saw before, X itself among it.

    Koller & Friedman (2009), Probabilistic graphical models, exercise 23.16. Matheson (1990), Using influence
    diagrams to value information and control.

    The cost of control is in units of utility. The evidence is nothing that X influences.

    >>> import plausible as pb
    >>> diagram = pb.examples.load("startup")
    >>> control = diagram.value_of_control("market")
    >>> control.value, control.after.strategy.action("market")
    (18.0, 'good')
    """
    cpd = read_chance(diagram, variable)
    check_number("cost", cost, least=0)
    seen = cpd.parent_names if sees is None else read_variables(diagram, sees)
    for name in seen:
        if name == variable or name in diagram.graph.descendants(variable):
            raise InvalidArgument(f"{name!r} depends on {variable!r}, so it can't be known when {variable!r} is set.")
    controlled = diagram.with_decision(Decision(diagram.variables[variable], sees=seen))
    asked = Asked(diagram, evidence, options)
    before, after = asked.solved(), asked.solved(controlled)
    value = after.expected_utility - before.expected_utility
    return ValueOfControl(variable, tuple(seen), value, float(cost), before, after)
