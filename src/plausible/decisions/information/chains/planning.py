"""The best plan to observe a chain, each observation by what the earlier ones said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from plausible.base.display import format_number
from plausible.base.records import record
from plausible.decisions.information.chains.policy import ForwardPolicy, Policy, SplittingPolicy, Stretch
from plausible.decisions.information.chains.problem import read_chain_problem
from plausible.decisions.information.chains.rewards import Rewards
from plausible.decisions.information.chains.scope import ChainScope
from plausible.decisions.information.subsets import Limits
from plausible.errors import ImpossibleEvidence, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import State
from plausible.variables.evidence import EvidenceLike

__all__ = ["ChainPlan", "chain_observation_plan"]

#: Observations in a row that are printed.
_DEPTH = 3


@record(eq=False)
class ChainPlan:
    """Which variable of a chain to look at next, by what was seen.

    Attributes
    ----------
    expected_reward
        The sum of the rewards that is to be expected, costs taken off where they are charged.
    without
        And without any observation.
    is_exact
        Whether no plan is better. If not, none is that divides what is left to spend at every look; one that takes from
        one side what the other, after a look at it, turns out not to need, could be.
    """

    expected_reward: float
    without: float
    is_exact: bool
    _policy: Policy = field(repr=False)

    @property
    def value(self) -> float:
        """What looking is worth, net of its costs."""
        return self.expected_reward - self.without

    def next(self, seen: Mapping[str, State] | None = None) -> str | None:
        """The variable to look at where these, which the plan asked for, were seen; none where the plan is at its end.

        Parameters
        ----------
        seen
            What was seen so far; more may be given, of which the plan takes what it asks for.
        """
        return self._follow(seen or {})[1]

    def run(self, states: Mapping[str, State]) -> tuple[str, ...]:
        """The variables that the plan looks at, in order, where things are so."""
        looked, missing = self._follow(states)
        if missing is not None:
            raise UnknownVariable.named(missing, states, "these states, and the plan looks at it")
        return looked

    def _follow(self, states: Mapping[str, State]) -> tuple[tuple[str, ...], str | None]:
        """What the plan looks at, and the first variable of which the state is not given."""
        waiting, looked = [self._policy.whole], list[str]()
        while waiting:
            stretch = waiting.pop(0)
            place = self._policy.look(stretch)
            if place:
                variable = self._policy.tables.variables[place - 1]
                if variable.name not in states:
                    return tuple(looked), variable.name
                looked.append(variable.name)
                index = variable.index(states[variable.name])
                if not self._policy.probability(stretch, place)[index] > 0:
                    given = f" where {', '.join(looked[:-1])} are as given" if looked[1:] else ""
                    raise ImpossibleEvidence(f"{variable.name}={states[variable.name]} can't be{given}.")
                waiting[:0] = self._policy.rest(stretch, place, int(self._policy.tables.starts[place]) + index)
        return tuple(looked), None

    def __str__(self) -> str:
        how = "the best plan" if self.is_exact else "the best plan that divides its budget at every look"
        head = (
            f"Expected reward {format_number(self.expected_reward)} by {how}; without looking "
            f"{format_number(self.without)}."
        )
        return "\n".join([head, *self._lines((self._policy.whole,), "", 0)])

    def _lines(self, waiting: tuple[Stretch, ...], label: str, depth: int) -> Iterator[str]:
        indent = "  " * depth
        while waiting and not self._policy.look(waiting[0]):
            waiting = waiting[1:]
        if not waiting:
            yield f"{indent}{label}stop"
            return
        place = self._policy.look(waiting[0])
        variable = self._policy.tables.variables[place - 1]
        yield f"{indent}{label}look at {variable.name}{' ...' if depth == _DEPTH else ''}"
        chances = self._policy.probability(waiting[0], place)
        for index, state in enumerate(variable.states if depth < _DEPTH else ()):
            if chances[index] > 0:
                seen = int(self._policy.tables.starts[place]) + index
                rest = (*self._policy.rest(waiting[0], place, seen), *waiting[1:])
                yield from self._lines(rest, f"{variable.name}={state}: ", depth + 1)


def chain_observation_plan(
    network: BayesianNetwork,
    rewards: Rewards,
    costs: float | Mapping[str, float] | None = None,
    limits: Limits | int | None = None,
    scope: ChainScope | None = None,
    evidence: EvidenceLike | None = None,
) -> ChainPlan:
    """The best way to look at variables of a Markov chain one after the other, each by what the earlier ones said.

    A variable that is seen cuts the chain into stretches that have nothing to do with each other any more, but for a
    common budget. So the best plan for a stretch depends on the states at its ends, and is found from those for shorter
    ones. Without a limit no plan is better, nor with one where the past alone counts, so that the plan goes along the
    chain. Otherwise each look divides what is left to spend between its two sides, for good; no plan that does so is
    better, and up to two looks none at all.

    Parameters
    ----------
    network, rewards, costs, limits, scope, evidence
        As of `choose_chain_observations`.

    Notes
    -----
    The time is that of n³ k³ numbers for n variables with k states, times the square of the units of the budget.

    References
    ----------
    Krause & Guestrin (2009), Optimal value of information in graphical models, Journal of Artificial Intelligence
    Research 35.

    Examples
    --------
    Seven parts in a row, of which one that fails takes all behind it along: the plan looks in the middle first.

    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Limits, NegativeEntropy
    >>> from plausible.models import BayesianNetwork
    >>> first = TableCPD("P1", [0.1, 0.9], states=["out", "on"])
    >>> step = [[1, 0], [0.3, 0.7]]
    >>> others = [TableCPD(f"P{i}", step, [f"P{i - 1}"], states=["out", "on"]) for i in range(2, 8)]
    >>> plan = chain_observation_plan(BayesianNetwork(first, *others), NegativeEntropy(), limits=Limits(number=2))
    >>> print(plan)
    Expected reward -0.632648 by the best plan; without looking -3.57289.
    look at P4
      P4=out: look at P2
        P2=out: stop
        P2=on: stop
      P4=on: look at P6
        P6=out: stop
        P6=on: stop
    >>> plan.next(), plan.next({"P4": "on"}), plan.next({"P4": "on", "P6": "on"})
    ('P4', 'P6', None)
    """
    problem = read_chain_problem(network, rewards, costs, (limits, scope), evidence)
    policy = ForwardPolicy(problem) if problem.is_filtering else SplittingPolicy(problem)
    is_exact = problem.is_filtering or not problem.resource.is_limiting or problem.resource.most <= 2
    return ChainPlan(policy.expected, float(problem.tables.between[0, -1]), is_exact, policy)
