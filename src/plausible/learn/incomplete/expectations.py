"""The E-step: what is expected of the families of a network, given cases with missing cells.

Exactly, by a clique tree, or by any inference engine: belief propagation, mean field, sampling.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from plausible.base import Floats, Positions
from plausible.cpds import TableCPD
from plausible.data.statistics import Counts, Request, Stack, Statistics, counted_each
from plausible.engine.batch import PreparedRows
from plausible.errors import ImpossibleEvidence, NotSupported, UnknownVariable, counted
from plausible.factors import Factor
from plausible.inference import CompiledFactors, ImpossibleRow, Problem, compile_factors, expected_counts
from plausible.inference.budget import refuse_large_families
from plausible.inference.engines import Engine, check_engine
from plausible.inference.findings import impossible_evidence
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.gaussian_rows import NumberUnits
from plausible.models import BayesianNetwork
from plausible.models.compiled_model import impossible_row
from plausible.variables import Evidence, Variable


@dataclass(frozen=True, slots=True, eq=False)
class Expectations:
    """What a network expects of its families, given all cases."""

    log_likelihood: float  # Σ weight · log P(case); a bound of it, or an estimate, where `is_exact` is false
    case_log_likelihoods: Floats | None  # log P(case) of each; `None` where cases are not held in memory
    #: Name -> Σ weight · P(child, parents | case), with axes (parents..., child); cases in which the child was set from
    #: outside are left out.
    counts: Mapping[str, Floats]
    num_impossible: int = 0  # How many cases the network rules out; they count for nothing
    is_exact: bool = True  # Whether all of this is exact
    #: Those of the second moments that stand for the counts of continuous children; see `HybridExpectations`.
    units: NumberUnits | None = None

    def __repr__(self) -> str:
        exact, families = "exact" if self.is_exact else "approximate", counted(len(self.counts), "family")
        return f"<Expectations: {exact}, log-likelihood {self.log_likelihood:.6g}, {families}>"


@runtime_checkable
class ExpectationStep(Protocol):
    """Anything that completes cases under a network: exactly, or by an approximate engine."""

    @property
    def cases(self) -> IncompleteRows:
        """What is completed."""

    def at(self, network: BayesianNetwork) -> Expectations:
        """The expectations under a network with these variables."""


class FamilyCounts(Statistics):
    """Statistics of the families of one graph, and of no others: name -> counts with axes (parents..., child).

    The parents come by name in the order of the axes; `total` is how much all cases weigh.
    """

    __slots__ = ("_counts", "_parents", "_total", "_variables")

    def __init__(
        self,
        variables: Mapping[str, Variable],
        parents: Mapping[str, tuple[str, ...]],
        family_counts: Mapping[str, Floats],
        total: float,
    ) -> None:
        self._variables, self._parents, self._counts, self._total = variables, parents, family_counts, total

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._variables

    @property
    def total(self) -> float:
        return self._total

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        return counted_each(self._family, requests)

    def _family(self, child: str, parents: Sequence[str]) -> Counts:
        UnknownVariable.check(child, self._counts, "these statistics")
        known = self._parents[child]
        if set(parents) != set(known):
            raise NotSupported(
                f"These are the counts of {child!r} with the parents {list(known)}, not {list(parents)}. See "
                "ExpectedStatistics for those of any family."
            )
        return self._counts[child].transpose([*(known.index(parent) for parent in parents), len(known)])


class _Reading(NamedTuple):
    """Where the counts of a family are among the summed beliefs of all cliques."""

    name: str
    part: slice
    shape: tuple[int, ...]
    summed: tuple[int, ...]
    order: tuple[int, ...]
    sizes: tuple[int, ...]  # of the family

    def counts(self, totals: Floats) -> Floats:
        return np.asarray(totals[self.part].reshape(self.shape).sum(axis=self.summed).transpose(self.order))


class CompiledCases(NamedTuple):
    """A clique tree for one graph, the rows of each setting made ready for it, and how to read it."""

    tree: CompiledFactors
    rows: tuple[tuple[Positions, PreparedRows], ...]
    readings: tuple[_Reading, ...]
    scopes: tuple[tuple[Variable, ...], ...]

    def sources(self, tables: Sequence[Floats], set_names: Sequence[str] = ()) -> Floats:
        """The numbers of all tables, in the order of the scopes; the table of a variable that was set is all ones."""
        pairs = zip(self.scopes, tables, strict=True)
        flat = [np.ones(table.size) if scope[-1].name in set_names else np.ravel(table) for scope, table in pairs]
        return np.concatenate(flat) if flat else np.empty(0)

    def answers(self, tables: Sequence[Floats], cases: Cases) -> tuple[Floats, dict[str, Floats]]:
        """log P of each case, and the counts of all that the tree was laid out for."""
        logs = np.zeros(cases.num_cases)
        counts = {reading.name: np.zeros(reading.sizes) for reading in self.readings}
        for set_names, (places, rows) in zip(cases.setting_names, self.rows, strict=True):
            answers = rows.answer(self.sources(tables, set_names), cases.weights[places])
            logs[places] = answers.log_totals
            assert answers.totals is not None
            for reading in self.readings:
                if reading.name not in set_names:
                    counts[reading.name] = counts[reading.name] + reading.counts(answers.totals)
        return logs, counts


def compile_cases(network: BayesianNetwork, cases: Cases, together: Sequence[Sequence[Variable]] = ()) -> CompiledCases:
    """Lay out a clique tree that has all families, and more groups of variables, and make the cases ready for it."""
    scopes = {name: cpd.scope for name, cpd in network.cpds.items()}
    refuse_large_families(scopes)
    groups = [[variable.name for variable in group] for group in together]
    factors = [cpd.to_factor() for cpd in network.cpds.values()]
    tree = compile_factors(factors, cases.variables.values(), together=groups)
    rows = tuple((places, tree.prepared_rows(cases.codes_of(places))) for _, places in cases.groups())
    families = scopes | {str(place): tuple(group) for place, group in enumerate(together)}
    variables, readings = list(tree.variables.values()), []
    for name, clique in tree.family_cliques(families).items():
        start = int(tree.program.layout.cliques["table"][clique])
        scope = [variables[number] for number in tree.program.clique(clique)]
        shape = tuple(variable.num_states for variable in scope)
        family = [variable.name for variable in families[name]]
        kept = [variable.name for variable in scope if variable.name in family]
        summed = tuple(axis for axis, variable in enumerate(scope) if variable.name not in family)
        order = tuple(kept.index(other) for other in family)
        sizes = tuple(variable.num_states for variable in families[name])
        readings.append(_Reading(name, slice(start, start + math.prod(shape)), shape, summed, order, sizes))
    return CompiledCases(tree, rows, tuple(readings), tuple(scopes.values()))


@dataclass(frozen=True, eq=False)
class ExactExpectations:
    """Exact expectations by a clique tree that is laid out once; other parameters only change its numbers.

    Every distribution is a table here, as the counts of its family are one. Cost of a step: one pass up and down the
    tree for each group of cases that agree in what a clique can tell; families whose variables are all observed cost a
    look-up.

    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> step = ExactExpectations(Cases.of(coin.variables, {"coin": [0, None], "call": [0, 1]}))
    >>> step.at(coin).counts["coin"].round(4)
    array([1.1111, 0.8889])
    """

    cases: Cases  # what is completed
    #: The clique tree of the last graph, with the cases made ready, until another graph comes.
    _kept: dict[str, CompiledCases] = field(default_factory=dict, repr=False)

    def at(self, network: BayesianNetwork, power: float = 1.0, weights: Floats | None = None) -> Expectations:
        """The expectations under a network; a case that it rules out is an error that names a row.

        They may be distorted: a completion h weighs P(h, observed)^power, and cases weigh otherwise. What stands for
        log P(case) is then log Σ_h P(h, observed)^power / power: the maximum over Q of the expected log-likelihood and
        1/power times the entropy of Q.
        """
        tables = [cpd.values if isinstance(cpd, TableCPD) else cpd.to_factor().values for cpd in network.cpds.values()]
        tables = tables if power == 1.0 else [table**power for table in tables]
        cases = self.cases if weights is None else replace(self.cases, weights=weights)
        scopes, known = tuple(cpd.scope for cpd in network.cpds.values()), self._kept.get("last")
        if known is None or known.scopes != scopes:
            known = self._kept["last"] = compile_cases(network, self.cases)
        logs, counts = known.answers(tables, cases)
        impossible = np.flatnonzero(np.isneginf(logs))
        if len(impossible):
            raise impossible_case(network, self.cases, min(impossible.tolist(), key=self.cases.first_row))
        is_exact = power == 1.0 and weights is None
        return Expectations(float(cases.weights @ logs) / power, logs / power, counts, is_exact=is_exact)

    def __reduce__(self) -> tuple[object, ...]:
        return ExactExpectations, (self.cases,)


def impossible_case(network: BayesianNetwork, cases: Cases, case: int) -> ImpossibleEvidence:
    """The error that names the first row with a case, and the cells of it that contradict each other."""
    mutilated = network
    for name in cases.setting_names[int(cases.settings[case])]:
        mutilated = mutilated.with_cpd(TableCPD.uniform(network.variables[name]))
    engine = mutilated.compile()
    found = impossible_evidence(cases.findings(case), lambda some: engine.log_probability(some) > -math.inf)
    return impossible_row(cases.first_row(case), found)


@dataclass(frozen=True, slots=True, eq=False)
class EngineExpectations:
    """Expectations by an engine, for networks whose clique trees are too large; `is_exact` says if it is exact.

    What the engine makes of log P(case) is monitored in place of the log-likelihood: the energy functional of belief
    propagation or of mean field, the estimate of a sampler (Koller & Friedman 2009, section 19.2.4). Only an exact
    engine promises that it never falls; see `VariationalEM` for mean field that does, and that takes cases with the
    same cells missing together. Samplers use the same seed at each step, so that steps are comparable and come to rest.

    Cost of a step: two runs of the engine for each different case with missing cells.

    >>> from plausible.inference import LoopyBP
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> step = EngineExpectations(Cases.of(coin.variables, {"coin": [0, None], "call": [0, 1]}), LoopyBP())
    >>> step.at(coin).counts["coin"].round(4)
    array([1.1111, 0.8889])
    """

    cases: Cases  # What is completed
    engine: Engine  # Any engine of `inference`; it must have joints of families, which all have that take factors
    #: The engine whose log P(case) is monitored; the same where left out. Chains such as `Gibbs` estimate it by
    #: annealed importance sampling, which takes longer than the chain: give them another.
    monitor: Engine | None = None

    def __post_init__(self) -> None:
        for engine in (self.engine, self.monitor):
            check_engine(engine, self.cases.variables)

    def at(self, network: BayesianNetwork) -> Expectations:
        cases = self.cases
        counts = {name: np.zeros([v.num_states for v in cpd.scope]) for name, cpd in network.cpds.items()}
        logs, is_exact = np.zeros(cases.num_cases), True
        for names, chosen in cases.groups():
            if not len(chosen):
                continue
            factors, shift = mutilated(network, names)
            logs[chosen] = shift + self._log_totals(network, factors, chosen)
            families = {name: cpd.scope for name, cpd in network.cpds.items() if name not in names}
            columns, codes, weights = list(cases.variables.values()), cases.codes[chosen], cases.weights[chosen]
            try:
                found = expected_counts(factors, families, columns, codes, weights, self.engine)
            except ImpossibleRow as error:
                raise impossible_case(network, cases, int(chosen[error.row])) from None
            is_exact &= found.info.exact
            for name, table in found.items():
                counts[name] = counts[name] + table
        return Expectations(float(cases.weights @ logs), logs, counts, is_exact=is_exact)

    def _log_totals(self, network: BayesianNetwork, factors: list[Factor], chosen: Positions) -> Floats:
        monitor, codes = self.monitor or self.engine, self.cases.codes[chosen]
        problem = Problem.of(factors, Evidence({}, {}, {}))
        names = list(self.cases.variables)
        order = [names.index(variable.name) for variable in problem.variables]
        is_whole = (codes >= 0).all(axis=1)
        logs = np.empty(len(chosen))
        logs[is_whole] = problem.log_product(codes[is_whole][:, order].astype(np.int64)) + problem.log_scale
        for place in np.flatnonzero(~is_whole).tolist():
            logs[place] = float(monitor.log_total(factors, self.cases.evidence(int(chosen[place]))))
        if np.isneginf(logs).any():
            raise impossible_case(network, self.cases, int(chosen[np.argmin(logs)]))
        return logs


def mutilated(network: BayesianNetwork, set_names: tuple[str, ...]) -> tuple[list[Factor], float]:
    """The factors of a network in which some variables were set, and what to add to the logarithm of their product.

    The distribution of such a variable counts for nothing; a uniform one in its place keeps the variable known.
    """
    factors = [
        TableCPD.uniform(cpd.variable).to_factor() if name in set_names else cpd.to_factor()
        for name, cpd in network.cpds.items()
    ]
    return factors, sum(math.log(network.variables[name].num_states) for name in set_names)
