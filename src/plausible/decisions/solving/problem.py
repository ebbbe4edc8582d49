"""What there is to solve, and how: a diagram on arrays, what is known beforehand, options, how far a search is."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from plausible.base import Floats, check_count, generator_of
from plausible.cpds import TableCPD
from plausible.decisions.diagram import Diagram
from plausible.decisions.structure.information_flow import reduced_information
from plausible.decisions.structure.relevance import ordered_components
from plausible.decisions.totals import rounding_of
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidEvidence, UnknownVariable, suggestion
from plausible.factors.alignment import check_size
from plausible.inference.findings import impossible_evidence
from plausible.models.lowering import lower
from plausible.search.run import CONVERGED, Clock, Stops
from plausible.variables import Evidence, Variable
from plausible.variables.evidence import EvidenceLike, findings_of

#: The ways to solve a diagram; see `plausible.decisions.solving.solve.solve`.
Method: TypeAlias = Literal["auto", "local", "elimination", "arc-reversal", "network", "enumeration"]
Seed: TypeAlias = int | np.random.Generator


@dataclass(frozen=True, slots=True)
class SolvingState:
    """How far solving is."""

    #: How many decisions have got their rules, and how many there are.
    num_settled: int
    num_decisions: int
    #: Of the rules as they are; where decisions come later that have no rules yet, these act at random.
    expected_utility: float
    upper_bound: float = math.inf  # What is known about the best strategy, where a search for it goes on
    num_steps: int = 0  # The partial strategies that this search has looked at


@dataclass(frozen=True, slots=True)
class SolvingOptions:
    """How long to search for a strategy, and from where: what `solve` takes, for functions that solve many diagrams.

    Iterated optimisation has so many random `restarts`, beside the strategy that takes every action with the same
    probability. A search for a proof stops after `time_limit` seconds; `None` for no limit.
    """

    restarts: int = 10
    seed: Seed = 0
    time_limit: float | None = 60.0
    progress: Callable[[SolvingState], object] | None = None

    def __post_init__(self) -> None:
        check_count("restarts", self.restarts)
        Stops(time_limit=self.time_limit, progress=self.progress)  # which checks both

    def generator(self) -> np.random.Generator:
        """The source of random strategies."""
        return generator_of(self.seed)


@dataclass(slots=True)
class Watch:
    """The clock of several searches for one answer, and whether somebody stopped them."""

    options: SolvingOptions
    clock: Clock = field(init=False)
    is_stopped: bool = field(default=False, init=False)  # whether an answer of `progress` was true
    stopped_by: str = field(default=CONVERGED, init=False)  # why the search that came to its end last did so

    def __post_init__(self) -> None:
        self.clock = Clock.of(self.options.time_limit)

    @property
    def seconds_left(self) -> float:
        """The time that is left; none once it was stopped."""
        return 0.0 if self.is_stopped else self.clock.seconds_left

    @property
    def is_over(self) -> bool:
        return self.is_stopped or self.clock.is_over

    @contextmanager
    def keeping(self, share: float) -> Iterator[None]:
        """Let a search come to an end before the time is over, so that a share of it is left for what comes then."""
        whole, self.clock = self.clock, self.clock.share(1.0 - share)
        try:
            yield
        finally:
            cut_by = "interrupted" if self.is_stopped else "time limit"
            self.stopped_by = cut_by if self.is_over else CONVERGED
            self.clock = whole

    def tell(self, state: SolvingState) -> bool:
        """Tell how far it is; whether to come to an end."""
        if self.options.progress is not None and not self.is_stopped:
            self.is_stopped = bool(self.options.progress(state))
        return self.is_over


def check_method(method: str) -> None:
    if method not in get_args(Method):
        raise InvalidArgument(f"method={method!r} is not known.{suggestion(str(method), get_args(Method))}")


#: The numbers of the variables of a table, and the table: axis i runs over the states of the i-th of them.
Tabled: TypeAlias = tuple[tuple[int, ...], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class DecisionProblem:
    """What there is to solve."""

    #: Chance variables and decisions in a topological order, then auxiliary variables of compact distributions.
    variables: tuple[Variable, ...]
    #: Tables whose product is the distribution (decisions given), evidence first, and those whose sum is the utility.
    probabilities: tuple[Tabled, ...]
    utilities: tuple[Tabled, ...]
    families: Mapping[str, tuple[int, ...]]  # decision -> the numbers of what its rule depends on, and last its own
    is_conditioned: bool  # whether there is evidence among the probabilities: they do not sum to one then
    num_auxiliary: int = 0  # how many auxiliary variables there are

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(variable.num_states for variable in self.variables)

    @property
    def rounding(self) -> float:
        """What floats lose of expected utilities: see `plausible.decisions.rounding`."""
        return rounding_of(table for _, table in self.utilities)

    def family_scope(self, decision: str) -> tuple[Variable, ...]:
        """What the rule of a decision depends on, and last the decision."""
        return tuple(self.variables[number] for number in self.families[decision])

    def family_shape(self, decision: str) -> tuple[int, ...]:
        return tuple(variable.num_states for variable in self.family_scope(decision))

    def log_num_rules(self, decision: str) -> float:
        """The logarithm of how many deterministic rules a decision has."""
        *seen, actions = self.family_shape(decision)
        return math.prod(map(float, seen)) * math.log(actions)

    def uniform_rules(self) -> dict[str, Floats]:
        """Every action as likely as any other."""
        for name in self.families:
            check_size(self.family_scope(name), f"The rule of {name!r}")
        shapes = {name: self.family_shape(name) for name in self.families}
        return {name: np.full(shape, 1.0 / shape[-1]) for name, shape in shapes.items()}


def read_problem(
    diagram: Diagram,
    findings: Mapping[str, Floats],
    information: Mapping[str, Iterable[str]] | None = None,
    relevant: Container[str] | None = None,
) -> DecisionProblem:
    cpds = {name: cpd for name, cpd in diagram.chance.items() if relevant is None or name in relevant}
    in_time = [str(node) for node in diagram.graph.topological_order if node in cpds or node in diagram.decisions]
    compact = [cpd for cpd in cpds.values() if not isinstance(cpd, TableCPD)]  # these are taken apart
    factors = lower(compact, (*diagram.variables, *diagram.utilities), {}).factors if compact else ()
    variables = {name: diagram.variables[name] for name in in_time}
    variables |= {v.name: v for factor in factors for v in factor.scope if v.name not in variables}
    number = {name: place for place, name in enumerate(variables)}

    def numbered(names: Iterable[str]) -> tuple[int, ...]:
        return tuple([number[name] for name in names])

    known = information or {name: decision.sees for name, decision in diagram.decisions.items()}
    tables = [cpd for cpd in cpds.values() if isinstance(cpd, TableCPD)]
    return DecisionProblem(
        variables=tuple(variables.values()),
        probabilities=(
            *((numbered((name,)), vector) for name, vector in findings.items()),
            *((numbered((*cpd.parent_names, cpd.variable.name)), cpd.values) for cpd in tables),
            *((numbered(factor.names), factor.values) for factor in factors),
        ),
        utilities=tuple((numbered(factor.names), factor.values) for factor in diagram.utility_factors.values()),
        families={name: numbered((*known[name], name)) for name in diagram.decisions},
        is_conditioned=bool(findings),
        num_auxiliary=len(variables) - len(in_time),
    )


def impossible(diagram: Diagram, evidence: EvidenceLike | None) -> ImpossibleEvidence:
    """The error for evidence that is impossible, which names findings that contradict each other."""
    network = diagram.network(diagram.uniform_strategy())
    named = impossible_evidence(findings_of(evidence), lambda some: network.log_probability(some) > -math.inf)
    return named or ImpossibleEvidence.outright()


def read_findings(diagram: Diagram, evidence: EvidenceLike | None) -> dict[str, Floats]:
    """Name -> weight of each state, for evidence that is there before any decision is made."""
    if evidence is None:
        return {}
    if utility := next((name for name in findings_of(evidence) if name in diagram.utilities), None):
        raise UnknownVariable(f"{utility!r} is a utility of this diagram, and nothing that can be observed.")
    given = Evidence.read(evidence, diagram.variables, "this diagram")
    for name in given.names:
        if name in diagram.decisions:
            raise InvalidEvidence(
                f"{name!r} is a decision: no evidence is possible before it is made. To set it, solve "
                f"diagram.with_rules({{{name!r}: action}})."
            )
        if causes := [decision for decision in diagram.decisions if name in diagram.graph.descendants(decision)]:
            raise InvalidEvidence(
                f"{name!r} depends on the decision {causes[0]!r}, so it can't be known before all decisions. If "
                f"{causes[0]!r} is made, set it: diagram.with_rules({{{causes[0]!r}: action}})."
            )
    vectors = dict(given.soft)
    for name, state in given.hard.items():
        vectors[name] = np.eye(diagram.variables[name].num_states)[state]
    return vectors


@dataclass(frozen=True, slots=True)
class Structure:
    """What can be said about a solution before a number is looked at."""

    information: Mapping[str, tuple[str, ...]]  # decision -> what it has to know, of what it sees
    relies_on: Mapping[str, tuple[str, ...]]  # decision -> the decisions whose rules matter to its own
    #: The decisions in an order in which they can be settled; those that rely on each other together.
    components: tuple[tuple[str, ...], ...]
    relevant: frozenset[str]  # the variables that matter to any utility or decision

    @property
    def is_acyclic(self) -> bool:
        return all(len(component) == 1 for component in self.components)


def read_structure(diagram: Diagram, evidence: Collection[str] = ()) -> Structure:
    """Drop what decisions need not know until nothing is left to drop, then see which of them rely on which.

    Lauritzen & Nilsson (2001), Representing and solving decision problems with limited information; Koller & Friedman
    (2009), 23.5 and 23.6; one Bayes ball for each decision answers both questions.
    """
    reduced = reduced_information(diagram, evidence)
    # All variables but the barren ones: decisions, and what utilities, evidence and decisions depend on.
    waiting = [*evidence, *diagram.decisions]
    for utility in diagram.utilities.values():
        waiting += utility.parent_names
    relevant = set(waiting)
    while waiting:
        name = waiting.pop()
        parents = reduced.sees[name] if name in reduced.sees else diagram.chance[name].parent_names
        fresh = [parent for parent in parents if parent not in relevant]
        relevant.update(fresh)
        waiting += fresh
    components = ordered_components(reduced.reliance)
    return Structure(reduced.sees, reduced.reliance, components, frozenset(relevant))


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A diagram to be solved."""

    diagram: Diagram  # the influence diagram
    findings: Mapping[str, Floats]  # what is known beforehand: see `read_findings`
    structure: Structure  # what decisions have to know, and the order in which they can be settled
    problem: DecisionProblem  # the tables, without what makes no difference


def read_task(diagram: Diagram, findings: Mapping[str, Floats]) -> Task:
    structure = read_structure(diagram, findings)
    problem = read_problem(diagram, findings, structure.information, structure.relevant)
    return Task(diagram, findings, structure, problem)
