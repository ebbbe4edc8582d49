"""What a clique tree answers of a Bayesian network: many questions, all marginals, exact samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from plausible.base.remedies import Argument, Call, Remedy
from plausible.base.seeds import Seed, generator_of
from plausible.cpds import CPD, TableCPD
from plausible.data import decode
from plausible.errors import ImpossibleEvidence, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.factors.marginals import Marginals
from plausible.inference.budget import (
    ADD_EVIDENCE,
    APPROXIMATE,
    LESS_MEMORY,
    RAISE_BUDGET,
    Budget,
    advising,
    read_budget,
)
from plausible.inference.choice import BELIEFS, DRAWS, EngineChoice, chosen
from plausible.inference.compiled import compile_factors
from plausible.inference.engines import Engine, check_engine
from plausible.inference.plan import Plan, plan_factors
from plausible.inference.posterior import posteriors, read_targets
from plausible.inference.relevance import prune
from plausible.models.drawing import DrawChoice, draw_by, drawn_exactly
from plausible.models.exact_engine import ExactEngine, checked_count
from plausible.models.hybrid_engine import HybridEngine
from plausible.models.hybrid_questions import (
    hybrid_marginals,
    hybrid_sample,
    read_any_targets,
    refuse_numbers_alone,
)
from plausible.models.interventions import IntervenedParts, has_hidden_numbers, settings_of
from plausible.models.lowering import SMALL_TABLE, lower, plain_factors, point_mass
from plausible.models.maxima import best_of
from plausible.variables import Evidence, EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BEST_REMEDIES",
    "COMPILE_REMEDIES",
    "K_BEST_REMEDIES",
    "LARGE_TREE",
    "MAP_REMEDIES",
    "MARGINALS_REMEDIES",
    "SAMPLE_REMEDIES",
    "SUM_REMEDIES",
    "TreeQuestions",
    "query_remedies",
    "refuse_engine",
]

#: What can be done where a clique tree for any evidence, or for the evidence at hand, costs too much.
COMPILE_REMEDIES = (
    Remedy("keep to fewer variables (", Argument("targets"), ")"),
    RAISE_BUDGET,
    Remedy("ask query(...) with the evidence, which may cost less"),
    Remedy("approximate: ", Call("query", Argument("engine", "auto"))),
)
SUM_REMEDIES = (RAISE_BUDGET, LESS_MEMORY, APPROXIMATE)
MARGINALS_REMEDIES = (Remedy("ask for fewer variables (", Argument("targets"), ")"), ADD_EVIDENCE, *SUM_REMEDIES)
BEST_REMEDIES = (ADD_EVIDENCE, RAISE_BUDGET, APPROXIMATE)
K_BEST_REMEDIES = (
    *(ADD_EVIDENCE, RAISE_BUDGET),
    Remedy("ask for one good assignment: ", Call("mpe", Argument("engine", "auto"))),
)
MAP_REMEDIES = (Remedy("ask for more variables"), Remedy("give more evidence"), APPROXIMATE)
SAMPLE_REMEDIES = (
    RAISE_BUDGET,
    Remedy("keep to fewer variables: ", Call("compile(targets=...).sample", Argument("size", Ellipsis))),
    Remedy("draw by a chain: ", Argument("engine", "auto")),
)

#: From so many entries on, a clique tree for the evidence at hand may be much smaller.
LARGE_TREE = 2**20


class TreeQuestions(IntervenedParts):
    """The questions that `BayesianNetwork` answers by a clique tree for all of its variables."""

    __slots__ = ()

    @advising(COMPILE_REMEDIES)
    def compile(
        self, targets: str | Iterable[str] | None = None, *, budget: Budget | None = None
    ) -> ExactEngine | HybridEngine:
        """Build a clique tree once, to answer many questions or to predict for a table of evidence.

        If there are continuous variables, this is a `HybridEngine`, which has the same methods and some more for
        numbers.

        Parameters
        ----------
        targets
            The variables that questions and evidence will be about; by default all. Whatever does not affect them is
            left out.
        budget
            The most that one run, or one row if there are continuous variables, may cost; by default `Budget()`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> print(net.compile().explain())
        clique tree: 2 factors over 2 variables
        1 clique, width 1, 4 entries, 0.0 MiB, about 1e-06 s
        largest clique: (A, B), 4 entries, separator ()
        elimination order: A, B
        >>> list(net.compile(targets="A").variables)
        ['A']
        """
        self._refuse_inputs("a clique tree")
        relevant, place = list(self.cpds.values()), "this compiled model"
        if targets is not None:
            names = [variable.name for variable in read_any_targets(targets, self.variables)]
            relevant = self._relevant(names, Evidence({}, {}, {}, {}))
            place += ", which compile(targets=...) has cut down"
        if any(cpd.variable.is_continuous for cpd in relevant):
            cpds = {cpd.variable.name: cpd for cpd in relevant}
            variables = {name: cpd.variable for name, cpd in cpds.items()}
            return HybridEngine(cpds, variables, place, read_budget(budget))
        return self._engine(relevant, {}, budget, place)

    def _engine(
        self,
        cpds: Iterable[CPD],
        values: Mapping[str, float],
        budget: Budget | None = None,
        place: str = "this compiled model",
    ) -> ExactEngine:
        """The engine of some distributions, continuous variables at their observed values."""
        plain: list[Factor] = []
        compact: list[CPD] = []
        others: list[CPD] = []
        families: dict[str, tuple[Variable, ...]] = {}
        asked: set[str] = set()
        for cpd in cpds:
            scope = cpd.scope
            if not cpd.variable.is_continuous:
                asked.add(cpd.variable.name)
            if any(variable.is_continuous for variable in scope):
                others.append(cpd)
                continue
            families[cpd.variable.name] = scope
            if isinstance(cpd, TableCPD) or num_entries(scope) <= SMALL_TABLE:
                plain.append(cpd.to_factor())
            else:
                (compact if cpd.auxiliaries else others).append(cpd)
        rest = lower(others, self.variables, values)
        plain.extend(rest.factors)
        variables = {name: self.variables[name] for name in self.variables if name in asked}
        parts = lower(compact, self.variables, {})
        sums = compile_factors((*plain, *parts.factors), variables.values(), order=parts.order, budget=budget)
        maxima = partial(best_of, compact, plain, tuple(variables.values()), budget) if compact else None
        return ExactEngine(variables, sums, maxima, -rest.log_scale, families, place)

    def _engine_given(
        self, evidence: EvidenceLike | None, budget: Budget | None = None
    ) -> tuple[ExactEngine, dict[str, Any]]:
        """An engine for this evidence, with observed numbers and inputs built in, and the findings left for it."""
        found = Evidence.read(evidence, self.variables, "this network")
        discrete = [name for name, variable in self.variables.items() if not variable.is_continuous]
        relevant = self._relevant([*discrete, *found.names], found)
        inputs = [name for name in self.inputs if name in found.hard]
        fixed = [point_mass(v := self.variables[name], v.states[found.hard[name]]) for name in inputs]
        findings = {name: finding for name, finding in findings_of(evidence).items() if name not in found.values}
        return self._engine((*fixed, *relevant), found.values, budget), findings

    @advising(MARGINALS_REMEDIES)
    def marginals(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        targets: Iterable[str] | None = None,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> dict[str, Factor]:
        """Compute P(X | evidence, do) for every discrete variable X, or for some, in one calibration of a clique tree.

        For continuous variables see `continuous_marginals`.

        Parameters
        ----------
        evidence
            Name -> a state, a collection of states, `likelihood(...)` or `jeffrey(...)`.
        do
            Name -> the state to set by intervention; see `intervene`.
        targets
            The variables to report; by default all. Whatever does not affect them is left out, which may save a lot of
            work.
        engine
            How to compute the answers, such as `LoopyBP()`; by default the cheapest exact way. "auto" is exact if that
            is within the budget, else `LoopyBP(damping=0.3)`.
        budget
            The most that the answer may cost; by default `Budget()`.
        """
        refuse_numbers_alone(self.variables, "marginals", "continuous_marginals gives the mean and variance of each.")
        network, findings = self._given(evidence, do)
        wanted = None if targets is None else read_targets(targets, network.variables, "this network")
        named = chosen(engine, budget, lambda: network._fits(findings, wanted, budget), lambda: BELIEFS)
        if named is not None:
            return Marginals(network._marginals_by(named, wanted, findings))
        if network._needs_hidden_numbers(findings):
            answers = hybrid_marginals(network.cpds, network.variables, findings, budget)
            tables = {name: answer for name, answer in answers.items() if isinstance(answer, Factor)}
            return Marginals((name, tables[name]) for name in (tables if wanted is None else (v.name for v in wanted)))
        if wanted is not None:
            return Marginals(network._marginals_given(wanted, findings, budget))
        try:
            compiled, rest = network._engine_given(findings, budget)
        except TooLarge:
            compiled = None
        if compiled is None or compiled.sums.program.num_entries > LARGE_TREE:
            discrete = [variable for variable in network.variables.values() if not variable.is_continuous]
            return Marginals(network._marginals_given(discrete, findings, budget))
        return compiled.marginals(rest)

    def _marginals_by(
        self, engine: Engine, targets: Sequence[Variable] | None, evidence: EvidenceLike | None
    ) -> dict[str, Factor]:
        """The posteriors that a named engine finds."""
        check_engine(engine, self.variables)
        found = Evidence.read(evidence, self.variables, "this network")
        wanted = [v for v in self.variables.values() if not v.is_continuous] if targets is None else targets
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        refuse_engine(engine, relevant, found)
        try:
            return engine.marginals(plain_factors(relevant, self.variables, found), wanted, replace(found, values={}))
        except ImpossibleEvidence as error:
            raise self._contradiction(findings_of(evidence)) or error from None

    @abstractmethod
    def explain(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: EvidenceLike | None = None,
        *,
        budget: Budget | None = None,
    ) -> Plan:
        """The plan of a question and its cost."""

    def _fits(self, evidence: EvidenceLike | None, targets: Sequence[Variable] | None, budget: Budget | None) -> bool:
        """Whether a clique tree about all variables, or some, is within the budget: for any evidence, or for this.

        Numbers that are not observed leave no choice but the exact way, whatever it costs.
        """
        found = Evidence.read(evidence, self.variables, "this network")
        wanted = [v for v in self.variables.values() if not v.is_continuous] if targets is None else targets
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        if has_hidden_numbers(relevant, found) or (
            targets is None and self.explain(evidence=evidence, budget=budget).fits
        ):
            return True
        lowered = lower(relevant, self.variables, found.values, found.hard)
        free = [variable for variable in wanted if variable.name not in found.hard]
        pruned = prune(lowered.factors, free, replace(found, values={}, jeffrey={}))
        return plan_factors(pruned.factors, free, order=lowered.order, budget=budget).fits

    def _needs_hidden_numbers(self, evidence: EvidenceLike | None) -> bool:
        """Whether questions about the discrete variables involve continuous ones that are not observed."""
        found = Evidence.read(evidence, self.variables, "this network")
        discrete = [name for name, variable in self.variables.items() if not variable.is_continuous]
        return len(discrete) < len(self.variables) and has_hidden_numbers(
            self._relevant([*discrete, *found.names], found), found
        )

    def _marginals_given(
        self, wanted: Sequence[Variable], evidence: EvidenceLike | None, budget: Budget | None
    ) -> dict[str, Factor]:
        """By a clique tree for this evidence alone: with observed states built in and impossible ones struck out."""
        found = Evidence.read(evidence, self.variables, "this network")
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        lowered = lower(relevant, self.variables, found.values, found.hard)
        try:
            return posteriors(lowered.factors, wanted, replace(found, values={}), order=lowered.order, budget=budget)
        except ImpossibleEvidence as error:
            raise self._contradiction(findings_of(evidence)) or error from None

    @advising(SAMPLE_REMEDIES)
    def sample(
        self,
        num_rows: int,
        seed: Seed = None,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: DrawChoice = None,
        budget: Budget | None = None,
    ) -> pd.DataFrame:
        """Draw rows as a data frame: independent samples of the network or, given evidence, of the exact posterior.

        With an `engine` such as `Gibbs()` or `LikelihoodWeighting()` the rows have equal weight, but may be correlated
        or repeated. `.attrs["info"]` then says how they were drawn, and `.attrs["effective_size"]` how many independent
        rows they are worth.

        Parameters
        ----------
        num_rows
            How many rows to draw.
        seed
            An integer or a NumPy generator; the same seed gives the same rows. By default, an engine uses its own seed.
        evidence
            Name -> finding, true in every row; likelihoods weight the states.
        do
            Name -> the state to set by intervention; see `intervene`.
        engine
            How to draw, such as `Gibbs()`; by default exactly. "auto" is exact if the clique tree is within the budget,
            else `Gibbs()`.
        budget
            The most that the clique tree, with all of its tables in memory, may cost; by default `Budget()`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, Gibbs, TableCPD
        >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))
        >>> coin.sample(3, seed=1)["coin"].tolist()
        ['tails', 'tails', 'heads']
        >>> coin.sample(100, seed=1, engine=Gibbs()).attrs["info"].engine
        'Gibbs sampling'
        """
        if settings := settings_of(do):
            self._surgery(settings, evidence)  # refuses evidence against the intervention
            return self.intervene(settings).sample(num_rows, seed, evidence, engine=engine, budget=budget)
        given, number = findings_of(evidence), checked_count(num_rows)
        named = chosen(engine, budget, lambda: not given or self._fits_tables(given, budget), lambda: DRAWS)
        if named is not None:
            return self._sample_by(named, number, seed, given)
        rows = self._sample_given(number, seed, given, budget) if given else self._sample_forward(number, seed)
        return rows if engine is None else drawn_exactly(rows)

    def _sample_forward(self, num_rows: int, seed: Seed) -> pd.DataFrame:
        self._refuse_inputs("a joint distribution to sample from")
        generator = generator_of(seed)
        levels = {name: generator.random(num_rows) for name in self.variables}
        columns: dict[str, npt.NDArray[Any]] = {}
        for node in self.graph.topological_order:
            columns[str(node)] = self.cpds[str(node)].quantile(columns, levels[str(node)])
        return decode(columns, self.variables)

    def _sample_given(
        self, num_rows: int, seed: Seed, evidence: Mapping[str, Any], budget: Budget | None
    ) -> pd.DataFrame:
        if any(variable.is_continuous for variable in self.variables.values()):
            return hybrid_sample(self.cpds, self.variables, num_rows, seed, evidence, budget)
        engine, findings = self._engine_given(evidence, budget)
        return engine.sample(num_rows, seed, findings)

    def _fits_tables(self, evidence: Mapping[str, Any], budget: Budget | None) -> bool:
        """Whether a clique tree for any evidence is within the budget, all its tables held."""
        if any(variable.is_continuous for variable in self.variables.values()):
            return True
        plan = self.explain(evidence=evidence, budget=budget)
        return plan.fits and read_budget(budget).holds(plan.entries)

    def _sample_by(self, engine: object, num_rows: int, seed: Seed, evidence: Mapping[str, Any]) -> pd.DataFrame:
        """Rows that a named engine draws."""
        found = Evidence.read(evidence, self.variables, "this network")
        relevant = self._relevant(self.variables, found)
        refuse_engine(engine, relevant, found)
        try:
            factors = plain_factors(relevant, self.variables, found)
            return draw_by(engine, factors, num_rows, found, seed, self.variables)
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence) or error from None


def refuse_engine(engine: object, cpds: Iterable[CPD], found: Evidence) -> None:
    """Refuse a named engine where some distributions involve numbers that are not observed."""
    if engine is not None and has_hidden_numbers(cpds, found):
        raise NotSupported("Named engines work on tables, but this question involves numbers that are not observed.")


def query_remedies(targets: Sequence[Variable]) -> tuple[Remedy, ...]:
    """What can be done where a query about these targets costs too much."""
    fewer = (Remedy("ask for fewer variables at a time"),) if len(targets) > 1 else ()
    return (*fewer, ADD_EVIDENCE, *SUM_REMEDIES)
