"""A chain of a network, what observing it takes of a limit, and both on arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import UTILITY_NOISE, Floats, Ints, check_flag, read_names
from plausible.decisions.information.observing import read_costs
from plausible.decisions.information.subsets import Limits, read_limits
from plausible.errors import InvalidArgument, TooLarge, UnknownVariable
from plausible.graphs import DAG
from plausible.models import BayesianNetwork
from plausible.variables import Evidence, Variable
from plausible.variables.evidence import EvidenceLike

#: From distributions, with the states on the last axis, to what each is worth.
Reward: TypeAlias = Callable[[Floats], npt.ArrayLike]
#: One for all variables, or for each that has one.
Rewards: TypeAlias = Reward | Mapping[str, Reward]


@dataclass(frozen=True, slots=True)
class ChainScope:
    """The chain to observe."""

    #: The variables of the chain, from one end to the other; by default all that are not known from the evidence, if
    #: the graph is a single path, from the end that stands first in the network.
    chain: Iterable[str] | None = None
    candidates: Iterable[str] | None = None  # Those of them that can be observed; by default all
    #: Whether a variable is judged when its turn comes, by what was seen up to then, so that a plan has to go along the
    #: chain; if not, all are judged in the end, by all that was seen.
    is_filtering: bool = False

    def __post_init__(self) -> None:
        check_flag("is_filtering", self.is_filtering)
        for option in ("chain", "candidates"):
            names = getattr(self, option)
            if names is not None:
                object.__setattr__(self, option, read_names(option, names))


def read_chain(network: BayesianNetwork, scope: ChainScope, evidence: EvidenceLike | None) -> tuple[Variable, ...]:
    """The variables of the chain, in order; refused where they are no Markov chain given the evidence."""
    known = Evidence.read(evidence, network.variables, "this network")
    fixed = {*known.hard, *known.values}
    names = tuple(scope.chain) if scope.chain is not None else _path(network.graph, fixed)
    for name in names:
        UnknownVariable.check(name, network.variables, "this network")
        if name in fixed:
            raise InvalidArgument(f"{name!r} is known from the evidence: leave it out of the chain.")
        if network.variables[name].is_continuous:
            raise InvalidArgument(f"{name!r} is continuous; the variables of a chain must have states.")
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(f"chain={list(names)} must name each variable of the chain once.")
    _check_markov(network.graph, names, fixed, known.names - fixed)
    return tuple(network.variables[name] for name in names)


def _path(graph: DAG, fixed: set[str]) -> tuple[str, ...]:
    """The nodes of a graph that is a path, from the end that stands first; those that are known are left out."""
    skeleton = graph.skeleton()
    ends = [node for node in graph.nodes if graph.degree(node) < 2]
    order = [ends[0]] if ends else []
    while order and (ahead := [node for node in skeleton.neighbors(order[-1]) if node not in order[-2:-1]]):
        if len(ahead) > 1 or ahead[0] in order:
            break
        order.append(ahead[0])
    if len(order) != len(graph.nodes):
        raise InvalidArgument(
            "The graph of this network is no single path: name the variables of the chain, in order, with "
            "scope=ChainScope(chain=[...])."
        )
    return tuple(str(node) for node in order if node not in fixed)


def _check_markov(graph: DAG, names: tuple[str, ...], fixed: set[str], soft: frozenset[str]) -> None:
    """Refuse variables of which one does not separate those before it from those behind it."""
    findings = {name: f"finding on {name}" for name in soft}
    seen = DAG([*graph.edges, *findings.items()], nodes=graph.nodes)
    known = [*fixed, *findings.values()]
    for place in range(1, len(names) - 1):
        if not seen.d_separated(names[:place], names[place + 1 :], given=[names[place], *known]):
            raise InvalidArgument(
                f"{names[place]!r} does not separate what stands before it in the chain from what stands behind it, "
                "as a chain needs. Check the order; a variable that only reports on the chain can't be a part of it."
            )


#: The units that a budget may have.
_MAX_UNITS = 2**14


@dataclass(frozen=True, slots=True)
class Resource:
    """What there is to spend, and what observations take of it."""

    units: Mapping[str, int]  # what each observation takes; 0 where there is no limit
    available: int  # how much there is; no more than all observations together take
    size: float  # what a unit is in terms of costs; 1 where observations are counted

    @property
    def is_limiting(self) -> bool:
        return sum(self.units.values()) > self.available

    @property
    def most(self) -> int:
        return int((np.cumsum(sorted(self.units.values())) <= self.available).sum())


def read_resource(costs: Mapping[str, float], limits: Limits) -> Resource:
    """The limit in whole units: the largest amount that all costs are multiples of, as they are written in decimals."""
    if limits.number is not None and limits.budget != math.inf:
        raise InvalidArgument("For a chain, limits can have number= or budget=, not both.")
    if limits.number is not None:
        return Resource(dict.fromkeys(costs, 1), min(limits.number, len(costs)), 1.0)
    if limits.budget == math.inf:
        return Resource(dict.fromkeys(costs, 0), 0, 1.0)
    exact = {name: Fraction(repr(float(cost))) for name, cost in costs.items()}
    denominator = math.lcm(*(cost.denominator for cost in exact.values()))
    whole = {name: int(cost * denominator) for name, cost in exact.items()}
    divisor = math.gcd(*whole.values()) or 1
    units = {name: cost // divisor for name, cost in whole.items()}
    available = min(int(Fraction(repr(float(limits.budget))) * denominator / divisor), sum(units.values()))
    if available > _MAX_UNITS:
        raise TooLarge(
            f"The budget has {available} units of {divisor / denominator:g}, the largest amount that all costs are "
            f"multiples of; at most {_MAX_UNITS} can be dealt with. Round the costs."
        )
    return Resource(units, available, divisor / denominator)


@dataclass(frozen=True, slots=True)
class NegativeEntropy:
    """Certainty: Σ_x p(x) log p(x), at most 0, natural logarithms.

    >>> float(NegativeEntropy()(np.array([0.5, 0.5])).round(4))
    -0.6931
    """

    def __call__(self, distributions: Floats) -> Floats:
        """What each distribution is worth."""
        positive = np.where(distributions > 0, distributions, 1.0)
        total: Floats = np.sum(distributions * np.log(positive), axis=-1)
        return total


@dataclass(frozen=True, slots=True)
class Margin:
    """How much likelier the likeliest state is than the next one.

    >>> float(Margin()(np.array([0.25, 0.625, 0.125])))
    0.375
    """

    def __call__(self, distributions: Floats) -> Floats:
        """What each distribution is worth."""
        if distributions.shape[-1] == 1:
            return np.ones(distributions.shape[:-1])
        ordered = np.sort(distributions, axis=-1)
        difference: Floats = ordered[..., -1] - ordered[..., -2]
        return difference


@dataclass(frozen=True, slots=True)
class BestAction:
    """The expected utility of the best action about a variable: max_d Σ_x p(x) U(x, d).

    >>> repair = BestAction([[0, -2], [-10, -2]])  # states: sound, broken; actions: leave, repair
    >>> repair(np.array([[0.9, 0.1], [0.5, 0.5]])).tolist()
    [-1.0, -2.0]
    """

    values: npt.ArrayLike  # U, a row for each state and a column for each action

    def __post_init__(self) -> None:
        try:
            table = np.array(self.values, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.empty(0)
        if table.ndim != 2 or not table.size or not np.isfinite(table).all():
            raise InvalidArgument("values must be a table of numbers, a row for each state, a column for each action.")
        object.__setattr__(self, "values", tuple(map(tuple, table.tolist())))

    def __call__(self, distributions: Floats) -> Floats:
        """What each distribution is worth."""
        best: Floats = np.max(distributions @ np.array(self.values), axis=-1)
        return best


def read_rewards(rewards: Rewards, chain: tuple[Variable, ...]) -> list[Reward | None]:
    """The reward of each variable of a chain; none where none is given."""
    names = [variable.name for variable in chain]
    given = rewards if isinstance(rewards, Mapping) else dict.fromkeys(names, rewards)
    for name, reward in given.items():
        UnknownVariable.check(name, names, "this chain")
        if not callable(reward):
            raise InvalidArgument(
                f"The reward of {name!r} must be a function of its distribution, such as NegativeEntropy(), not "
                f"{reward!r}."
            )
    return [given.get(name) for name in names]


def rewarded(reward: Reward, variable: Variable, distributions: Floats) -> Floats:
    """What each distribution of a variable is worth, checked."""
    if isinstance(reward, BestAction) and len(np.array(reward.values)) != variable.num_states:
        rows = len(np.array(reward.values))
        raise InvalidArgument(
            f"The reward of {variable.name!r} has {rows} rows; it needs {variable.num_states}, one for each state."
        )
    worth = np.asarray(reward(distributions), dtype=np.float64)
    if worth.shape != distributions.shape[:-1] or not np.isfinite(worth).all():
        raise InvalidArgument(
            f"The reward of {variable.name!r} must turn an array of shape {distributions.shape}, with the states on "
            f"the last axis, into finite numbers of shape {distributions.shape[:-1]}, not {worth.shape}."
        )
    return worth


#: The entries of a table over all pairs of states, and of one over pairs and the states of a variable between them.
_MAX_ENTRIES = 2**27


@dataclass(frozen=True, slots=True, eq=False)
class ChainTables:
    """A Markov chain, its places numbered from 1 to n; 0 and n + 1 stand for nothing seen before and behind.

    All states of all places are numbered through; those of place i are `rows(i)`, the ends have one each.
    """

    variables: tuple[Variable, ...]  # the variables of the places 1 to n
    starts: Ints  # the first state of each place, and the number of all states
    probability: Floats  # of each state; 1 for the ends
    reach: Floats  # of a column, given the row: for states of a later place, and of the same, where it is the identity
    #: The rewards of all places between those of row and column, where these and nothing between them are seen.
    between: Floats
    at: Floats  # the reward of a state that is seen

    @property
    def end(self) -> int:
        return len(self.variables) + 1

    def rows(self, place: int) -> slice:
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def expected_between(self) -> Floats:
        """E[rewards between two places where these and nothing between them are seen], of shape (n + 2, n + 2)."""
        weighted = self.probability[:, None] * self.reach * self.between
        by_row = np.add.reduceat(weighted, self.starts[:-1], axis=0)
        expected: Floats = np.add.reduceat(by_row, self.starts[:-1], axis=1)
        return expected

    def expected_at(self) -> Floats:
        """E[reward of a place that is seen], of shape (n + 2,)."""
        expected: Floats = np.add.reduceat(self.probability * self.at, self.starts[:-1])
        return expected

    def rounding(self) -> float:
        """A difference of expected rewards up to which they count as equal: looking has to bring more."""
        sizes = np.maximum.reduceat(np.abs(self.at), self.starts[:-1]).sum() + np.abs(self.between[0, -1])
        return UTILITY_NOISE * float(sizes)


def chain_tables(
    network: BayesianNetwork, rewards: Rewards, scope: ChainScope, evidence: EvidenceLike | None
) -> ChainTables:
    """The chain of a network, given evidence."""
    chain = read_chain(network, scope, evidence)
    worth = read_rewards(rewards, chain)
    starts = np.cumsum([0, 1, *(variable.num_states for variable in chain), 1], dtype=np.int64)
    if int(starts[-1]) ** 2 * max(variable.num_states for variable in chain) > _MAX_ENTRIES:
        raise TooLarge(
            f"The chain has {starts[-1] - 2} states in all, more than fit into tables over pairs of them. Look at a "
            "part of it, or merge states."
        )
    engine, names = network.compile(), [variable.name for variable in chain]
    # P(first), as a row, and P(X_i, X_i+1) of the places of the chain.
    first: Floats = engine.query(names[0], evidence).values[None]
    pairs = [first, *(engine.query([a, b], evidence).values for a, b in pairwise(names))]
    probability, reach = _reach(pairs, starts)
    at = np.zeros(starts[-1])
    for place, (variable, reward) in enumerate(zip(chain, worth, strict=True), 1):
        if reward is not None:
            at[starts[place] : starts[place + 1]] = rewarded(reward, variable, np.eye(variable.num_states))
    between = _between(chain, worth, reach, starts, scope.is_filtering)
    return ChainTables(chain, starts, probability, reach, between, at)


def _reach(pairs: Sequence[Floats], starts: Ints) -> tuple[Floats, Floats]:
    """The probability of each state, and of each given an earlier one; 0/0 is 0."""
    size = int(starts[-1])
    probability, reach = np.ones(size), np.eye(size)
    for place, pair in enumerate(pairs, 1):
        before, here = slice(starts[place - 1], starts[place]), slice(starts[place], starts[place + 1])
        sums = pair.sum(axis=1, keepdims=True)
        step = np.divide(pair, sums, out=np.zeros_like(pair), where=sums > 0)
        probability[here] = pair.sum(axis=0)
        reach[: starts[place], here] = reach[: starts[place], before] @ step
    reach[:, -1] = 1.0
    return probability, reach


def _between(
    chain: tuple[Variable, ...], worth: Sequence[Reward | None], reach: Floats, starts: Ints, is_filtering: bool
) -> Floats:
    between = np.zeros_like(reach)
    for place, (variable, reward) in enumerate(zip(chain, worth, strict=True), 1):
        here = slice(starts[place], starts[place + 1])
        before, behind = slice(0, here.start), slice(here.stop, None)
        if reward is None:
            continue
        if is_filtering:
            weights = reach[before, here][:, None, :]
        else:
            weights = reach[before, None, here] * reach[here, behind].T[None]
        # The rewards of distributions that are not normalised; 0 where they are nothing.
        total = weights.sum(axis=-1, keepdims=True)
        uniform = np.full_like(weights, 1.0 / variable.num_states)
        distributions = np.divide(weights, total, out=uniform, where=total > 0)
        between[before, behind] += np.where(total[..., 0] > 0, rewarded(reward, variable, distributions), 0.0)
    between[reach == 0] = 0.0
    return between


@dataclass(frozen=True, slots=True, eq=False)
class ChainProblem:
    """A chain, what observing it takes, and how it is judged."""

    tables: ChainTables  # the chain
    costs: Mapping[str, float]  # each variable that can be observed -> what is taken off the reward for it
    resource: Resource  # what there is to spend
    is_filtering: bool  # whether a variable is judged by what was seen up to it


def read_chain_problem(
    network: BayesianNetwork,
    rewards: Rewards,
    costs: float | Mapping[str, float] | None,
    bounds: tuple[Limits | int | None, ChainScope | None],
    evidence: EvidenceLike | None,
) -> ChainProblem:
    """The chain of a network, and what it takes to observe it."""
    limits, scope = read_limits(bounds[0]), bounds[1] or ChainScope()
    tables = chain_tables(network, rewards, scope, evidence)
    names = [variable.name for variable in tables.variables]
    wanted = names if scope.candidates is None else tuple(scope.candidates)
    UnknownVariable.check_all(wanted, names, "this chain")
    prices = read_costs(costs, [name for name in names if name in wanted])
    charged = prices if limits.is_charged else dict.fromkeys(prices, 0.0)
    return ChainProblem(tables, charged, read_resource(prices, limits), scope.is_filtering)
