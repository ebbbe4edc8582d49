"""The E-step by any inference engine: belief propagation, mean field, sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.cpds import TableCPD
from plausible.factors import Factor
from plausible.inference.approximate_counts import ImpossibleRow, expected_counts
from plausible.inference.engines import Engine, check_engine
from plausible.inference.problem import Problem
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import Expectations, impossible_case
from plausible.models import BayesianNetwork
from plausible.variables import Evidence


@dataclass(frozen=True, slots=True, eq=False)
class EngineExpectations:
    """Expectations by an engine, for networks whose clique trees are too large; `is_exact` says if it is exact.

    What the engine makes of log P(case) is monitored in place of the log-likelihood: the energy functional of belief
    propagation or of mean field, the estimate of a sampler (Koller & Friedman 2009, section 19.2.4). Only an exact
    engine promises that it never falls; see `VariationalEM` for mean field that does. Samplers use the same seed at
    each step, so that steps are comparable and come to rest.

    Cost of a step: two runs of the engine for each different case with missing cells. See `VariationalEM` for mean
    field that takes cases with the same cells missing together.

    Parameters
    ----------
    cases
        What is completed.
    engine
        Any engine of `inference`; it must have joints of families, which all have that take factors.
    monitor
        The engine whose log P(case) is monitored; the same where left out. Chains such as `Gibbs` estimate it by
        annealed importance sampling, which takes longer than the chain: give them another.

    Examples
    --------
    >>> from plausible.inference import LoopyBP
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> step = EngineExpectations(Cases.of(coin.variables, {"coin": [0, None], "call": [0, 1]}), LoopyBP())
    >>> step.at(coin).counts["coin"].round(4)
    array([1.1111, 0.8889])
    """

    cases: Cases
    engine: Engine
    monitor: Engine | None = None

    def __post_init__(self) -> None:
        for engine in (self.engine, self.monitor):
            check_engine(engine, self.cases.variables)

    def at(self, network: BayesianNetwork) -> Expectations:
        """The expectations under a network."""
        cases = self.cases
        counts = {name: np.zeros([v.num_states for v in cpd.scope]) for name, cpd in network.cpds.items()}
        logs, is_exact = np.zeros(cases.num_cases), True
        for names, chosen in cases.groups():
            if len(chosen):
                factors, shift = mutilated(network, names)
                logs[chosen] = shift + self._log_totals(network, factors, chosen)
                found, exact = self._counts(network, factors, chosen, names)
                is_exact &= exact
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

    def _counts(
        self, network: BayesianNetwork, factors: list[Factor], chosen: Positions, set_names: tuple[str, ...]
    ) -> tuple[Mapping[str, Floats], bool]:
        families = {name: cpd.scope for name, cpd in network.cpds.items() if name not in set_names}
        columns = list(self.cases.variables.values())
        codes, weights = self.cases.codes[chosen], self.cases.weights[chosen]
        try:
            found = expected_counts(factors, families, columns, codes, weights, self.engine)
        except ImpossibleRow as error:
            raise impossible_case(network, self.cases, int(chosen[error.row])) from None
        return found, found.info.exact


def mutilated(network: BayesianNetwork, set_names: tuple[str, ...]) -> tuple[list[Factor], float]:
    """The factors of a network in which some variables were set, and what to add to the logarithm of their product.

    The distribution of such a variable counts for nothing; a uniform one in its place keeps the variable known.
    """
    factors = [
        TableCPD.uniform(cpd.variable).to_factor() if name in set_names else cpd.to_factor()
        for name, cpd in network.cpds.items()
    ]
    return factors, sum(math.log(network.variables[name].num_states) for name in set_names)
