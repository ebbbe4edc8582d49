"""Which variables of a network form a chain, which can be observed, and what that takes of a limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from plausible.base.options import check_flag, read_names
from plausible.decisions.information.subsets import Limits
from plausible.errors import InvalidArgument, TooLarge, UnknownVariable
from plausible.graphs import DAG
from plausible.models import BayesianNetwork
from plausible.variables import Evidence, Variable
from plausible.variables.evidence import EvidenceLike


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
    found = Evidence.read(evidence, network.variables, "this network")
    fixed = {*found.hard, *found.values}
    names = tuple(scope.chain) if scope.chain is not None else _path(network.graph, fixed)
    for name in names:
        if name not in network.variables:
            raise UnknownVariable.named(name, network.variables, "this network")
        if name in fixed:
            raise InvalidArgument(f"{name!r} is known from the evidence: leave it out of the chain.")
        if network.variables[name].is_continuous:
            raise InvalidArgument(f"{name!r} is continuous; the variables of a chain must have states.")
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(f"chain={list(names)} must name each variable of the chain once.")
    _check_markov(network.graph, names, fixed, found.names - fixed)
    return tuple(network.variables[name] for name in names)


def read_candidates(chain: tuple[Variable, ...], scope: ChainScope) -> tuple[str, ...]:
    """The variables that can be observed, in the order of the chain."""
    names = tuple(variable.name for variable in chain)
    wanted = names if scope.candidates is None else tuple(scope.candidates)
    for name in wanted:
        if name not in names:
            raise UnknownVariable.named(name, names, "this chain")
    return tuple(name for name in names if name in wanted)


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
    """Refuse variables of which one does not separate those before it from those behind it.

    Findings that do not fix a variable are like a known child of it.
    """
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
        """Whether not all observations can be made."""
        return sum(self.units.values()) > self.available

    @property
    def most(self) -> int:
        """How many observations can be made at most."""
        total, number = 0, 0
        for number, taken in enumerate(sorted(self.units.values()), 1):
            total += taken
            if total > self.available:
                return number - 1
        return number


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
