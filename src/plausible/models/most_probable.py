"""Which assignment is the most probable: to all variables, or to some with the others summed out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from plausible.errors import ImpossibleEvidence
from plausible.inference.k_best import best_assignments
from plausible.inference.map_search import SearchProgress
from plausible.inference.marginal_map import marginal_map
from plausible.inference.posterior import read_targets
from plausible.models.hybrid_questions import hybrid_mpe, hybrid_table
from plausible.models.lowering import lower
from plausible.models.questions import NetworkQuestions, has_hidden_numbers
from plausible.variables import Assignment, Evidence, EvidenceLike, State

__all__ = ["MostProbable"]


class MostProbable(NetworkQuestions):
    """The questions for best assignments that `BayesianNetwork` answers."""

    __slots__ = ()

    def mpe(self, evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None) -> Assignment:
        """A most probable assignment to all variables given the evidence, with its `.log_probability`.

        Continuous variables that are not observed, and have nothing observed below them, are left out.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> net.mpe(evidence={"B": 1})
        Assignment(A=1, B=1)
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.mpe(findings)
        has_numbers = all(variable.is_continuous for variable in self.variables.values()) and bool(self.variables)
        if has_numbers or self._needs_hidden_numbers(evidence):
            return hybrid_mpe(self.cpds, self.variables, evidence)
        engine, findings = self._engine_given(evidence)
        best = engine.mpe(findings)
        values = Evidence.read(evidence, self.variables, "this network").values
        states = {name: values.get(name, best.get(name)) for name in self.variables if name in values or name in best}
        return Assignment(states, log_probability=best.log_probability, info=best.info)

    def k_best(
        self, k: int, evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None
    ) -> list[Assignment]:
        """The k most probable assignments to all discrete variables given the evidence, best first, with probabilities.

        Fewer where fewer are possible; ties in a fixed order (Nilsson 1998).

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> [dict(assignment) for assignment in net.k_best(2)]
        [{'A': 0, 'B': 0}, {'A': 1, 'B': 1}]
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.k_best(k, findings)
        found = Evidence.read(evidence, self.variables, "this network")
        wanted = [variable for variable in self.variables.values() if not variable.is_continuous]
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        lowered = lower(relevant, self.variables, found.values, found.hard)
        try:
            best = best_assignments(lowered.factors, k, replace(found, values={}), wanted)
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence or {}) or error from None
        return [
            Assignment(one, log_probability=(one.log_probability or 0.0) + lowered.log_scale, info=one.info)
            for one in best
        ]

    def map(
        self,
        names: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        max_entries: int = 2**22,
        time_limit: float | None = None,
        progress: Callable[[SearchProgress], None] | None = None,
    ) -> Assignment:
        """Marginal MAP: the most probable states of some variables, the others summed out.

        argmax_m P(m | evidence, do), exactly: by elimination, sums before maxima, where the tables fit, else by branch
        and bound (Park & Darwiche 2003). `.log_probability` is that of m and the evidence; `.info` tells the method
        and, where time ran out, that the answer may not be the best.

        Parameters
        ----------
        names
            The variables to choose states of.
        evidence
            Name -> a state, a collection of states or `likelihood(...)`.
        do
            Name -> state that an intervention sets; see `intervene`.
        max_entries
            The entries that tables may have.
        time_limit
            Seconds after which a search gives its best answer so far.
        progress
            Called now and then with how far a search is.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.4, 0.6]), TableCPD("B", [[1.0, 0.0], [0.5, 0.5]], parents=["A"]))
        >>> net.map("A"), net.mpe()
        (Assignment(A=1), Assignment(A=0, B=0))
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.map(names, findings, max_entries=max_entries, time_limit=time_limit, progress=progress)
        wanted = read_targets(names, self.variables, "this network")
        found = Evidence.read(evidence, self.variables, "this network")
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        if has_hidden_numbers(relevant, found):
            table = hybrid_table(self.cpds, self.variables, wanted, evidence)
            log_best = math.log(table.max()) + self.log_probability(evidence or {})
            return Assignment(table.argmax(), log_probability=log_best, info=table.info)
        lowered = lower(relevant, self.variables, found.values, found.hard)
        try:
            answer = marginal_map(
                lowered.factors,
                wanted,
                replace(found, values={}),
                max_entries=max_entries,
                time_limit=time_limit,
                progress=progress,
            )
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence or {}) or error from None
        return Assignment(answer.assignment, log_probability=answer.log_value + lowered.log_scale, info=answer.info)
