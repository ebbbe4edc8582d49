"""Which assignment is the most probable: to all variables, or to some with the others summed out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from plausible.cpds import CPD
from plausible.errors import ImpossibleEvidence
from plausible.inference.approximate_map import MapEngine, approximate_map, check_map_engine
from plausible.inference.budget import Budget, advising
from plausible.inference.choice import MapChoice, OptimizerChoice, chosen, chosen_for_map
from plausible.inference.engines import check_mentioned
from plausible.inference.map_search import SearchProgress
from plausible.inference.marginal_map import marginal_map
from plausible.inference.optimizer import check_optimizer
from plausible.inference.posterior import read_targets
from plausible.models.hybrid_questions import hybrid_mpe, hybrid_table, refuse_numbers_alone
from plausible.models.hybrid_states import hybrid_k_best
from plausible.models.interventions import has_hidden_numbers
from plausible.models.lowering import lower, plain_factors
from plausible.models.maxima import MapLimits, best_by, best_engine, best_of, k_best_of, map_fits, map_limits
from plausible.models.questions import NetworkQuestions
from plausible.models.tree_questions import BEST_REMEDIES, K_BEST_REMEDIES, MAP_REMEDIES, refuse_engine
from plausible.variables import Assignment, Evidence, EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of

__all__ = ["MostProbable"]


class MostProbable(NetworkQuestions):
    """The questions for best assignments that `BayesianNetwork` answers."""

    __slots__ = ()

    @advising(BEST_REMEDIES)
    def mpe(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: OptimizerChoice = None,
        budget: Budget | None = None,
    ) -> Assignment:
        """Find a most probable assignment of all variables given the evidence, with its `.log_probability`.

        This maximises over a clique tree. If a noisy-or or similar distribution has too many parents for a table, it
        searches instead, for as long as the budget allows, unless the child is observed in its lowest state.

        If some continuous variables are not observed, they are first integrated out to find the most probable states of
        the discrete variables; then come the most probable numbers given these states. `.log_probability` is then a
        log-density. (The point of highest density may be different, and depends on the units.)

        If a clique tree would be too large, use an `engine` such as `MaxProduct()` to find a good assignment;
        `.info.error` bounds how much better another one could be, as a difference of logarithms. "auto" is exact if the
        clique tree is within the budget, else `GraphCut()` if that is exact, else `MaxProduct()`.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> net.mpe(evidence={"B": 1})
        Assignment(A=1, B=1)
        """
        network, findings = self._given(evidence, do)
        found = Evidence.read(findings, network.variables, "this network")
        is_hybrid = any(v.is_continuous and name not in found.values for name, v in network.variables.items())
        wanted = [variable for variable in network.variables.values() if not variable.is_continuous]
        relevant = network._relevant([*found.names, *(variable.name for variable in wanted)], found)
        named = chosen(
            engine,
            budget,
            lambda: is_hybrid or network._fits(findings, None, budget),
            lambda: best_engine(relevant, wanted, found),
        )
        check_optimizer(named)
        if is_hybrid:
            refuse_engine(named, network.cpds.values(), found)
            return hybrid_mpe(network.cpds, network.variables, findings, budget)
        try:
            if named is None:
                best = best_of(relevant, (), wanted, budget, found)
            else:
                best = best_by(named, relevant, wanted, found)
        except ImpossibleEvidence as error:
            raise network._contradiction(findings_of(findings)) or error from None
        states = {name: found.values.get(name, best.get(name)) for name in self.variables}
        return Assignment(states, log_probability=best.log_probability, info=best.info)

    @advising(K_BEST_REMEDIES)
    def k_best(
        self,
        k: int,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> list[Assignment]:
        """Find the k most probable assignments of all discrete variables given the evidence, best first.

        There are fewer if fewer are possible; ties have a fixed order (Nilsson 1998). Unobserved continuous variables
        are integrated out.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> [dict(assignment) for assignment in net.k_best(2)]
        [{'A': 0, 'B': 0}, {'A': 1, 'B': 1}]
        """
        refuse_numbers_alone(self.variables, "k_best", "mpe gives the most probable numbers.")
        network, findings = self._given(evidence, do)
        found = Evidence.read(findings, network.variables, "this network")
        wanted = [variable for variable in network.variables.values() if not variable.is_continuous]
        relevant = network._relevant([*found.names, *(variable.name for variable in wanted)], found)
        if has_hidden_numbers(relevant, found):
            return hybrid_k_best(network.cpds, network.variables, k, findings, budget)
        try:
            return k_best_of(k, relevant, (), wanted, budget, found)
        except ImpossibleEvidence as error:
            raise network._contradiction(findings_of(findings)) or error from None

    @advising(MAP_REMEDIES)
    def map(
        self,
        names: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: MapChoice = None,
        budget: Budget | None = None,
        max_entries: int = 2**22,
        time_limit: float | None = None,
        progress: Callable[[SearchProgress], None] | None = None,
    ) -> Assignment:
        """Find the most probable states of some variables, with the others summed out (marginal MAP).

        This computes argmax_m P(m | evidence, do) exactly: by elimination, sums before maxima, if the tables fit, else
        by branch and bound (Park & Darwiche 2003). `.log_probability` is that of m and the evidence. `.info` names the
        method, and says if time ran out and a better answer may exist.

        With an `engine`, it searches over m and scores with the engine's sums: see `approximate_map`.
        `.log_probability` is then the engine's estimate, and `.info.error` bounds how much better another m can be, as
        a difference of logarithms, or is `None` if the engine has no bounds.

        Parameters
        ----------
        names
            The variables whose states to choose.
        evidence
            Name -> a state, a collection of states or `likelihood(...)`.
        do
            Name -> the state to set by intervention; see `intervene`.
        engine
            How to compute the sums, such as `LoopyBP()`; if there is nothing to sum out, an engine that maximises, such
            as `MaxProduct()`. By default, the answer is exact. "auto" is exact if elimination is within `budget` and
            `max_entries`, else a search with `LoopyBP(damping=0.3)`.
        budget
            The most that the answer may cost: its seconds limit the `time_limit`, its bytes `max_entries`.
        max_entries
            The most entries for all tables together in an elimination, and for each table in a search.
        time_limit
            Stop a search after this many seconds, with the best answer so far. If the other variables are too many to
            sum out in tables there is none, and the question is refused whatever the time limit.
        progress
            Called now and then with the progress of the search.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.4, 0.6]), TableCPD("B", [[1.0, 0.0], [0.5, 0.5]], parents=["A"]))
        >>> net.map("A"), net.mpe()
        (Assignment(A=1), Assignment(A=0, B=0))
        """
        network, findings = self._given(evidence, do)
        wanted = read_targets(names, network.variables, "this network")
        found = Evidence.read(findings, network.variables, "this network")
        relevant = network._relevant([*found.names, *(variable.name for variable in wanted)], found)
        if has_hidden_numbers(relevant, found):
            refuse_engine(None if engine == "auto" else engine, relevant, found)
            table = hybrid_table(network.cpds, network.variables, wanted, findings, budget)
            log_best = math.log(table.max()) + network.log_probability(findings_of(findings), budget=budget)
            return Assignment(table.argmax(), log_probability=log_best, info=table.info)
        certain, lowered = replace(found, values={}), lower(relevant, network.variables, found.values, found.hard)
        fits = partial(map_fits, lowered.factors, wanted, certain, budget, max_entries)
        named = chosen_for_map(engine, budget, fits)
        check_map_engine(named)
        try:
            if named is not None:
                return network._map_by(named, relevant, wanted, found, map_limits(budget, max_entries, time_limit))
            answer = marginal_map(
                lowered.factors,
                wanted,
                certain,
                **map_limits(budget, max_entries, time_limit),
                progress=progress,
            )
        except ImpossibleEvidence as error:
            raise network._contradiction(findings_of(findings)) or error from None
        return Assignment(answer.assignment, log_probability=answer.log_value + lowered.log_scale, info=answer.info)

    def _map_by(
        self,
        engine: MapEngine,
        cpds: Sequence[CPD],
        targets: Sequence[Variable],
        found: Evidence,
        limits: MapLimits,
    ) -> Assignment:
        """The states that a search with a named engine finds."""
        check_mentioned(engine, self.variables)
        factors = plain_factors(cpds, self.variables, found)
        certain = replace(found, values={})
        answer = approximate_map(factors, targets, certain, engine, time_limit=limits["time_limit"])
        return Assignment(answer.assignment, log_probability=answer.log_value, info=answer.info)
