"""EM that believes in one completion: hard assignments (Koller & Friedman 2009, section 19.2.2.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.errors import NotSupported
from plausible.inference.engines import Engine
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em_state import EMMethod, EMState, em_step, refuse_numbers
from plausible.learn.incomplete.expectations import Expectations, ExpectationStep, impossible_case
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.most_probable_cases import Completions, most_probable_completions
from plausible.models import BayesianNetwork

__all__ = ["HardEM", "HardExpectations"]


@dataclass(frozen=True, slots=True, eq=False)
class HardExpectations:
    """The counts of the most probable completion of each case, and log P of these: Q has all its weight in one place.

    Parameters
    ----------
    cases
        What is completed.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> HardExpectations(Cases.of(coin.variables, {"coin": [0, None], "call": [0, 1]})).at(coin).counts["coin"]
    array([1., 1.])
    """

    cases: Cases

    def completions(self, network: BayesianNetwork) -> Completions:
        """The most probable completion of each case."""
        found = most_probable_completions(network, self.cases)
        impossible = np.flatnonzero(np.isneginf(found.log_probabilities))
        if len(impossible):
            raise impossible_case(network, self.cases, int(impossible[0]))
        return found

    def at(self, network: BayesianNetwork) -> Expectations:
        """The counts under a network."""
        codes, logs = self.completions(network)
        names = list(self.cases.variables)
        counts = {}
        for name, cpd in network.cpds.items():
            is_free = np.array([name not in some for some in self.cases.setting_names])[self.cases.settings]
            columns = codes[is_free][:, [names.index(variable.name) for variable in cpd.scope]]
            counts[name] = np.zeros([variable.num_states for variable in cpd.scope])
            np.add.at(counts[name], tuple(columns.T), self.cases.weights[is_free])
        return Expectations(float(self.cases.weights @ logs), logs, counts, is_exact=False)


@dataclass(frozen=True, slots=True)
class HardEM(EMMethod):
    """Complete each case by its most probable states, then count: max over θ and h of log P(observed, h | θ).

    This objective never falls; completions are finitely many, so that it stops rising after finitely many steps. It is
    faster and makes sharper clusters than EM, whose answer it has where completions are certain. What the fit calls
    `log_likelihood` is that of the completed cases.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> fit = learn_em("H -> x; H -> y", {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1]}, hidden={"H": 2}, method="hard")
    >>> fit.stopped, round(fit.log_likelihood, 4)
    ('converged', -2.7726)
    """

    def expectation_step(
        self, cases: Cases, engine: Engine | None = None, learned_from: Cases | None = None
    ) -> ExpectationStep:
        """Most probable completions."""
        refuse_numbers(cases, "Hard EM")
        if engine is not None:
            raise NotSupported("Hard EM finds most probable completions by itself: leave engine= out.")
        return HardExpectations(cases)

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """See `em_step`."""
        return em_step(step, maximization, state)
