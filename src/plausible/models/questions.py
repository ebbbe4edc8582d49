"""What can be asked of a Bayesian network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.remedies import Argument, Remedy
from plausible.data import encode_columns
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.inference.approximate_counts import ExpectedCounts
from plausible.inference.budget import APPROXIMATE, RAISE_BUDGET, Budget, advising
from plausible.inference.choice import BELIEFS, EngineChoice, beliefs_about, chosen
from plausible.inference.compiled import compile_factors
from plausible.inference.engines import check_engine
from plausible.inference.plan import Plan, plan_factors
from plausible.inference.posterior import log_total, posterior, read_targets
from plausible.inference.relevance import prune
from plausible.models.counting import counts_by, exact_counts
from plausible.models.exact_engine import named_families
from plausible.models.hybrid_questions import (
    hybrid_log_probability,
    hybrid_table,
    read_any_targets,
)
from plausible.models.hybrid_states import hybrid_expectation, hybrid_plan
from plausible.models.interventions import has_hidden_numbers, settings_of
from plausible.models.lowering import lower, plain_factors
from plausible.models.tree_questions import SUM_REMEDIES, TreeQuestions, query_remedies, refuse_engine
from plausible.models.uncertainty import HasPosterior, ParameterUncertainty, with_error_bars
from plausible.variables import Evidence, EvidenceLike, State
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

__all__ = ["NetworkQuestions"]


class NetworkQuestions(TreeQuestions):
    """The questions that `BayesianNetwork` answers, over the parts that it has."""

    __slots__ = ()

    def joint(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """Compute the full joint distribution as one table; refused if it would have more than `max_entries`."""
        variables = tuple(self.variables.values())
        check_size(variables, "The joint distribution", max_entries)
        inputs = Factor.scalar(1.0).extend(self.variables[name] for name in self.inputs)
        return product((inputs, *self._tables())).reorder([variable.name for variable in variables])

    def _tables(self) -> list[Factor]:
        return [cpd.to_factor() for cpd in self.cpds.values()]

    def query(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: EngineChoice = None,
        budget: Budget | None = None,
        uncertainty: ParameterUncertainty | HasPosterior | None = None,
    ) -> Factor:
        """Compute P(targets | evidence, do), using only the part of the network that matters.

        Parameters
        ----------
        targets
            The name of one variable or of several; the axes of the answer are in the same order.
        evidence
            Name -> a state, a collection of states, `likelihood(...)` or `jeffrey(...)`.
        do
            Name -> the state to set by intervention; see `intervene`.
        engine
            How to compute the answer, such as `VariableElimination(order=[...])` or `LoopyBP()`; by default the
            cheapest exact way. "auto" is exact if that is within the budget, else `LoopyBP(damping=0.3)`, or `Gibbs()`
            for several targets that share no factor; `.info` says which.
        budget
            The most that the answer may cost; by default `Budget()`.
        uncertainty
            How uncertain the parameters are, such as a `ParameterPosterior` or a `ParameterFit`.
            `.info.standard_deviations` then has the standard deviation of each number in the answer, by the delta
            method, and `.info.error` the largest. This takes two calibrations for each number. It is refused if the
            answer depends on estimated distributions that are not tables.

        Returns
        -------
        Factor
            Normalised; its `.info` says how it was computed and what it cost.
        """
        if uncertainty is not None:
            answer = self.query(targets, evidence, do, engine=engine, budget=budget)
            return with_error_bars(self, answer, evidence, do, uncertainty)
        network, findings = self._given(evidence, do)
        wanted = read_targets(targets, network.variables, "this network")
        found = Evidence.read(findings, network.variables, "this network")
        relevant = network._relevant([*found.names, *(variable.name for variable in wanted)], found)
        certain, is_hybrid = replace(found, values={}), has_hidden_numbers(relevant, found)
        named = chosen(
            engine,
            budget,
            lambda: is_hybrid or network.explain([v.name for v in wanted], findings, budget=budget).fits,
            lambda: beliefs_about(
                (v.name for v in wanted if v.name not in found.hard), ([v.name for v in cpd.scope] for cpd in relevant)
            ),
        )
        check_engine(named, network.variables)
        refuse_engine(named, relevant, found)
        if is_hybrid:
            return hybrid_table(network.cpds, network.variables, wanted, findings, budget)
        try:
            if named is not None:
                return named.query(plain_factors(relevant, network.variables, found), wanted, certain)
            lowered = lower(relevant, network.variables, found.values, found.hard)
            with advising(query_remedies(wanted)):
                if found.jeffrey:
                    return posterior(lowered.factors, wanted, certain, order=lowered.order, budget=budget)
                pruned = prune(lowered.factors, wanted, certain)
                hard = replace(certain, soft={})
                return posterior(pruned.factors, wanted, hard, order=lowered.order, budget=budget)
        except ImpossibleEvidence as error:
            raise network._contradiction(findings_of(findings)) or error from None

    @advising(SUM_REMEDIES)
    def log_probability(
        self,
        evidence: EvidenceLike,
        do: Mapping[str, State] | None = None,
        *,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> float:
        """Compute log P(evidence), or -inf if it is impossible. An approximate `engine` returns an `Estimate`.

        The logarithm is natural. If all ancestors of the findings are observed too, as in a complete assignment, this
        is just a sum of table look-ups. If findings are numbers of continuous variables, it is a log-density.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("coin", [0.5, 0.5]))
        >>> round(math.exp(net.log_probability({"coin": 1})), 12)
        0.5
        """
        try:
            network, findings = self._given(evidence, do)
        except ImpossibleEvidence:
            return -math.inf
        found = Evidence.read(findings, network.variables, "this network")
        if found.jeffrey:
            raise NotSupported("jeffrey evidence has no probability: it replaces a belief. See likelihood(...).")
        relevant = network._relevant(found.names, found)
        is_hybrid = has_hidden_numbers(relevant, found)
        named = chosen(
            engine, budget, lambda: is_hybrid or network.explain((), findings, budget=budget).fits, lambda: BELIEFS
        )
        check_engine(named, network.variables)
        refuse_engine(named, relevant, found)
        if is_hybrid:
            return hybrid_log_probability(network.cpds, network.variables, findings_of(findings), budget)
        observed = {**found.hard, **found.values}
        certain = replace(found, values={})
        if named is not None:
            return named.log_total(plain_factors(relevant, network.variables, found), certain)
        if all(cpd.variable.name in observed for cpd in relevant):
            columns = {name: np.array([value]) for name, value in observed.items()}
            return float(sum(cpd.log_probability(columns)[0] for cpd in relevant))
        lowered = lower(relevant, network.variables, found.values, found.hard)
        return log_total(lowered.factors, certain, order=lowered.order, budget=budget) + lowered.log_scale

    @advising((RAISE_BUDGET, Remedy("ask for fewer terms at a time")))
    def expectation(
        self,
        terms: Factor | Iterable[Factor],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> float:
        """Compute E[Σ f(X) | evidence, do], where each f is a factor with any numbers: rewards, costs, indicators.

        One pass in the expectation semiring answers for all terms.

        >>> from plausible import BayesianNetwork, Factor, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> gains = [Factor([net.variables["A"]], [0, 10]), Factor([net.variables["B"]], [-1, 1])]
        >>> round(net.expectation(gains), 6)
        4.0
        """
        network, findings = self._given(evidence, do)
        listed = [terms] if isinstance(terms, Factor) else list(terms)
        if not all(isinstance(term, Factor) for term in listed):
            raise InvalidArgument(
                'The terms of an expectation are factors, such as Factor([net.variables["X"]], [0, 1]).'
            )
        found = Evidence.read(findings, network.variables, "this network")
        for variable in (variable for term in listed for variable in term.scope):
            if network.variables.get(variable.name) != variable:
                raise InvalidArgument(f"A term mentions {variable!r}, which is not a variable of this network.")
        names = [name for term in listed for name in term.names]
        relevant = network._relevant([*found.names, *names], found)
        if has_hidden_numbers(relevant, found):
            return hybrid_expectation(network.cpds, network.variables, listed, findings, budget)
        lowered = lower(relevant, network.variables, found.values)
        groups = [term.names for term in listed]
        compiled = compile_factors(lowered.factors, (), order=lowered.order, together=groups, budget=budget)
        try:
            return compiled.expectation(listed, replace(found, values={}))
        except ImpossibleEvidence as error:
            raise network._contradiction(findings_of(findings)) or error from None

    def explain(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> Plan:
        """Show how `query(targets, evidence, do)` would be answered and what it would cost, without answering it.

        Without targets, this is the plan of `compile()`: for all variables and any evidence. With targets, the plan
        also lists the distributions that the answer can depend on (`requisite`, by Bayes-ball; otherwise `None`).

        >>> from plausible import examples
        >>> plan = examples.load("alarm").explain("HYPOVOLEMIA", evidence={"CVP": "HIGH", "BP": "LOW"})
        >>> plan.num_variables < 37, plan.fits
        (True, True)
        """
        network, findings = self._given(evidence, do)
        found = Evidence.read(findings, network.variables, "this network")
        asked = network.variables if targets is None else [v.name for v in read_any_targets(targets, network.variables)]
        requisite = tuple(name for name in network._requisite(asked, found) if name not in settings_of(do))
        if has_hidden_numbers(network._relevant([*found.names, *asked], found), found):
            plan = hybrid_plan(network.cpds, network.variables, targets, findings, budget)
            return plan if targets is None else replace(plan, requisite=requisite)
        if targets is None:
            discrete = [name for name, variable in network.variables.items() if not variable.is_continuous]
            lowered = lower(network._relevant([*discrete, *found.names], found), network.variables, found.values)
            return plan_factors(lowered.factors, (), order=lowered.order, budget=budget)
        wanted = read_targets(targets, network.variables, "this network")
        relevant = network._relevant([*found.names, *(variable.name for variable in wanted)], found)
        lowered = lower(relevant, network.variables, found.values, found.hard)
        pruned = prune(lowered.factors, wanted, replace(found, values={}, jeffrey={}))
        free = [variable for variable in wanted if variable.name not in found.hard]
        together = [variable.name for variable in free]
        plan = plan_factors(pruned.factors, free, order=lowered.order, together=[together], budget=budget)
        return replace(plan, requisite=requisite)

    # --- rows and structure ---

    def log_likelihood(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> Floats:
        """Compute log P(row) for each complete row of a data frame.

        The data frame must have exactly one column for each variable. For rows with missing cells use
        `compile().log_likelihood`.
        """
        columns = encode_columns(frame, self.variables)
        rows = len(next(iter(columns.values()))) if columns else 0
        total = np.zeros(rows)
        for cpd in self.cpds.values():
            total += cpd.log_probability(columns)
        return total

    @advising((Remedy("count fewer families (", Argument("families"), ")"), RAISE_BUDGET, APPROXIMATE))
    def expected_counts(
        self,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        weights: npt.ArrayLike | None = None,
        *,
        families: str | Iterable[str] | None = None,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> ExpectedCounts:
        """Sum P(child, parents | row) over the rows: for each family, an array with axes (parents..., child).

        Parameters
        ----------
        frame
            Rows of evidence; missing cells are not observed.
        weights
            How often each row counts; by default once.
        families
            The children whose families to count; by default all.
        engine
            How to compute the joints, such as `LoopyBP()`, with one run for each distinct row; by default one clique
            tree for all rows. "auto" is exact if that is within the budget, else `LoopyBP(damping=0.3)`.
        budget
            The most that the clique tree, with all of its tables in memory, may cost; by default `Budget()`.

        Returns
        -------
        ExpectedCounts
            Name -> array, with the `.info` of the least accurate row. `.info.error` is for one row of weight one: the
            error of a count can be as large as that times the sum of the weights.

        Examples
        --------
        >>> from plausible import BayesianNetwork, LoopyBP, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> net.expected_counts({"B": [0, 1, 1]}, engine=LoopyBP())["A"].round(2)
        array([1.56, 1.44])
        """
        self._refuse_inputs("a joint distribution with expected counts")
        named = chosen(engine, budget, lambda: self._fits_tables({}, budget), lambda: BELIEFS)
        if named is None:
            return exact_counts(self.compile(budget=budget), frame, weights, families)
        check_engine(named, self.variables)
        refuse_engine(named, self.cpds.values(), Evidence.read(None, self.variables))
        countable = {name: cpd.scope for name, cpd in self.cpds.items()}
        if families is not None:
            countable = named_families(read_targets(families, self.variables, "this network"), countable)
        factors = plain_factors(self.cpds.values(), self.variables, Evidence.read(None, self.variables))
        return counts_by(named, factors, countable, self.variables, (frame, weights))

    def d_separated(self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether X ⟂ Y | Z follows from the graph, and from knowing which variables are functions of their parents.

        A deterministic variable whose parents are all known is known too (Geiger, Verma & Pearl 1990), so this finds
        independencies that `graph.d_separated` does not.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> copies = BayesianNetwork(
        ...     TableCPD("A", [0.5, 0.5]),
        ...     TableCPD("B", [[1, 0], [0, 1]], parents=["A"]),
        ...     TableCPD("C", [[0.9, 0.1], [0.2, 0.8]], parents=["B"]),
        ...     TableCPD("D", [[0.5, 0.5], [0.1, 0.9]], parents=["B"]),
        ... )
        >>> copies.graph.d_separated("C", "D", given="A"), copies.d_separated("C", "D", given="A")
        (False, True)
        """
        known: set[Any] = {given} if isinstance(given, str) else set(given)
        for name in self.graph.topological_order:
            cpd = self.cpds.get(str(name))
            if cpd is not None and cpd.is_deterministic and known.issuperset(cpd.parent_names):
                known.add(name)
        return self.graph.d_separated(x, y, given=known)
