"""What can be asked of a Bayesian network."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from plausible.cpds import CPD, TableCPD
from plausible.data import decode, encode_columns
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported, TooLarge
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size, num_entries
from plausible.graphs import DAG
from plausible.inference.budget import Budget
from plausible.inference.compiled import compile_factors
from plausible.inference.contradiction import impossible_evidence
from plausible.inference.engines import Engine, check_engine
from plausible.inference.plan import Plan, plan_factors
from plausible.inference.posterior import log_total, posterior, read_targets
from plausible.inference.relevance import prune, reduce_states
from plausible.models.exact_engine import ExactEngine, checked_count, compile_tables
from plausible.models.hybrid_questions import (
    hybrid_log_probability,
    hybrid_marginals,
    hybrid_sample,
    hybrid_table,
)
from plausible.models.lowering import SMALL_TABLE, lower, point_mass
from plausible.variables import Evidence, EvidenceLike, State, Variable
from plausible.variables.frozen import Frozen

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

__all__ = ["NetworkQuestions", "has_hidden_numbers"]

#: From so many entries on, a clique tree for the evidence at hand may be much smaller.
_LARGE = 2**20


class NetworkQuestions(Frozen, ABC):
    """The questions that `BayesianNetwork` answers, over the parts that it has."""

    __slots__ = ()

    @abstractmethod
    def __init__(self, *cpds: CPD, inputs: Iterable[Variable] = ()) -> None:
        """From conditional distributions, and variables without one."""

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order given."""

    @property
    @abstractmethod
    def cpds(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables that have no distribution."""

    @property
    @abstractmethod
    def graph(self) -> DAG:
        """The directed acyclic graph."""

    @abstractmethod
    def intervene(self, do: Mapping[str, State]) -> Self:
        """The mutilated network of do(X = x)."""

    # --- by elimination ---

    def joint(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The whole joint distribution as one table; refused when it would have more than `max_entries`."""
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
        engine: Engine | None = None,
        budget: Budget | None = None,
    ) -> Factor:
        """P(targets | evidence, do), from the part of the network that matters.

        Parameters
        ----------
        targets
            The name of a variable or several; the answer's axes come in their order.
        evidence
            Name -> a state, a collection of states, `likelihood(...)` or `jeffrey(...)`.
        do
            Name -> state that an intervention sets; see `intervene`.
        engine
            A named way to get the answer, such as `VariableElimination(order=[...])`; the cheapest exact one where
            left out.
        budget
            What the answer may cost; the default budget where left out.

        Returns
        -------
        Factor
            Normalised; its `.info` says how it was got and what it cost.
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.query(targets, findings, engine=engine, budget=budget)
        check_engine(engine)
        wanted = read_targets(targets, self.variables, "this network")
        found = Evidence.read(evidence, self.variables, "this network")
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        certain = replace(found, values={})
        if has_hidden_numbers(relevant, found):
            if engine is not None:
                raise NotSupported(
                    "Named engines work on tables; this question involves numbers that are not observed."
                )
            return hybrid_table(self.cpds, self.variables, wanted, evidence)
        try:
            if engine is not None:
                return engine.query(self._plain_factors(relevant, found), wanted, certain)
            lowered = lower(relevant, self.variables, found.values, found.hard)
            if found.jeffrey:
                return posterior(lowered.factors, wanted, certain, order=lowered.order, budget=budget)
            pruned = prune(lowered.factors, wanted, certain)
            hard = replace(certain, soft={})
            return posterior(pruned.factors, wanted, hard, order=lowered.order, budget=budget)
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence or {}) or error from None

    def log_probability(
        self, evidence: EvidenceLike, do: Mapping[str, State] | None = None, *, engine: Engine | None = None
    ) -> float:
        """log P(evidence), natural; -inf for impossible evidence.

        Where all ancestors of the findings are observed too, as in a complete assignment, this is a sum of look-ups,
        and the findings may be numbers of continuous variables: then it is a log-density.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("coin", [0.5, 0.5]))
        >>> round(math.exp(net.log_probability({"coin": 1})), 12)
        0.5
        """
        if do:
            try:
                network, findings = self._surgery(do, evidence)
            except ImpossibleEvidence:
                return -math.inf
            return network.log_probability(findings, engine=engine)
        found = Evidence.read(evidence, self.variables, "this network")
        if found.jeffrey:
            raise NotSupported("jeffrey evidence has no probability: it replaces a belief. See likelihood(...).")
        relevant = self._relevant(found.names, found)
        if has_hidden_numbers(relevant, found):
            if engine is not None:
                raise NotSupported(
                    "Named engines work on tables; this question involves numbers that are not observed."
                )
            return hybrid_log_probability(self.cpds, self.variables, evidence)
        observed = {**found.hard, **found.values}
        certain = replace(found, values={})
        if engine is not None:
            return engine.log_total(self._plain_factors(relevant, found), certain)
        if all(cpd.variable.name in observed for cpd in relevant):
            columns = {name: np.array([value]) for name, value in observed.items()}
            return float(sum(cpd.log_probability(columns)[0] for cpd in relevant))
        lowered = lower(relevant, self.variables, found.values, found.hard)
        return log_total(lowered.factors, certain, order=lowered.order) + lowered.log_scale

    def expectation(
        self,
        terms: Factor | Iterable[Factor],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
    ) -> float:
        """E[Σ f(X) | evidence, do], the terms f being factors with any numbers: rewards, costs, indicators.

        One pass in the expectation semiring answers for all terms together.

        >>> from plausible import BayesianNetwork, Factor, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> gains = [Factor([net.variables["A"]], [0, 10]), Factor([net.variables["B"]], [-1, 1])]
        >>> round(net.expectation(gains), 6)
        4.0
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.expectation(terms, findings)
        listed = [terms] if isinstance(terms, Factor) else list(terms)
        if not all(isinstance(term, Factor) for term in listed):
            raise InvalidArgument(
                'The terms of an expectation are factors, such as Factor([net.variables["X"]], [0, 1]).'
            )
        found = Evidence.read(evidence, self.variables, "this network")
        for variable in (variable for term in listed for variable in term.scope):
            if self.variables.get(variable.name) != variable:
                raise InvalidArgument(f"A term mentions {variable!r}, which is not a variable of this network.")
        names = [name for term in listed for name in term.names]
        lowered = lower(self._relevant([*found.names, *names], found), self.variables, found.values)
        groups = [term.names for term in listed]
        compiled = compile_factors(lowered.factors, (), order=lowered.order, together=groups)
        try:
            return compiled.expectation(listed, replace(found, values={}))
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence or {}) or error from None

    def _plain_factors(self, cpds: Iterable[CPD], found: Evidence) -> Sequence[Factor]:
        """One factor for each distribution, its own variable last, as named engines want them.

        Where there are continuous variables, whose values must be known, factors of what is left.
        """
        listed = list(cpds)
        if any(variable.is_continuous for cpd in listed for variable in cpd.scope):
            return lower(listed, self.variables, found.values, found.hard).factors
        return [cpd.to_factor() for cpd in listed]

    def _relevant(self, names: Iterable[str], evidence: Evidence) -> list[CPD]:
        """The CPDs of the named variables and their ancestors: all others are barren. Inputs must be observed."""
        asked = set(names)
        kept = asked | self.graph.ancestors(asked)
        for name in self.inputs:
            if name in kept and name not in evidence.hard and name not in evidence.values:
                raise InvalidModel(f"{name!r} is an input of this network: give it a state as evidence.")
        return [cpd for name, cpd in self.cpds.items() if name in kept]

    def _surgery(self, do: Mapping[str, State], evidence: EvidenceLike | None) -> tuple[Self, Mapping[str, Any]]:
        """The mutilated network and the evidence; continuous variables that are set become inputs, without density."""
        Evidence.read(evidence, self.variables, "this network")
        network, findings = self.intervene(do), dict(evidence or {})
        for name, value in do.items():
            if self.variables[name].has_state(findings.get(name, value)) and findings.get(name, value) != value:
                raise _contradicted(name, findings[name], value)
        numbers = {name: value for name, value in do.items() if self.variables[name].is_continuous}
        for name, value in numbers.items():
            if findings.setdefault(name, value) != value:
                raise _contradicted(name, findings[name], value)
        inputs = [self.variables[name] for name in (*network.inputs, *numbers)]
        cpds = [cpd for name, cpd in network.cpds.items() if name not in numbers]
        return type(self)(*cpds, inputs=inputs), findings

    def _contradiction(self, evidence: EvidenceLike) -> ImpossibleEvidence | None:
        inputs = {name: evidence[name] for name in self.inputs if name in evidence}
        findings = {name: finding for name, finding in evidence.items() if name not in inputs}
        return impossible_evidence(findings, lambda some: self.log_probability({**inputs, **some}) > -math.inf)

    # --- by a clique tree ---

    def compile(self, targets: str | Iterable[str] | None = None, *, budget: Budget | None = None) -> ExactEngine:
        """A clique tree for this network, laid out once: for many questions, or for a table of evidence.

        Parameters
        ----------
        targets
            The variables that questions and evidence will be about, where these are not all: what has no effect on
            them is left out.
        budget
            What one run may cost; the default budget where left out.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> print(net.compile().explain())
        clique tree: 2 factors over 2 variables
        1 cliques, width 1, 4 entries, 0.0 MiB, about 1e-06 s
        largest clique: (A, B), 4 entries, separator ()
        elimination order: A, B
        >>> list(net.compile(targets="A").variables)
        ['A']
        """
        self._refuse_inputs("a clique tree")
        if targets is None:
            return self._engine(self.cpds.values(), {}, budget)
        names = [variable.name for variable in read_targets(targets, self.variables, "this network")]
        engine = self._engine(self._relevant(names, Evidence({}, {}, {}, {})), {}, budget)
        return replace(engine, place="this compiled model, which compile(targets=...) has cut down")

    def explain(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> Plan:
        """How `query(targets, evidence, do)` would be answered and what it would cost, without paying for it.

        Without targets, the plan of `compile()`: for all variables, whatever the evidence.

        >>> from plausible import examples
        >>> plan = examples.load("alarm").explain("HYPOVOLEMIA", evidence={"CVP": "HIGH", "BP": "LOW"})
        >>> plan.num_variables < 37, plan.fits
        (True, True)
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.explain(targets, findings, budget=budget)
        found = Evidence.read(evidence, self.variables, "this network")
        if targets is None:
            discrete = [name for name, variable in self.variables.items() if not variable.is_continuous]
            lowered = lower(self._relevant([*discrete, *found.names], found), self.variables, found.values)
            return plan_factors(lowered.factors, (), order=lowered.order, budget=budget)
        wanted = read_targets(targets, self.variables, "this network")
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        lowered = lower(relevant, self.variables, found.values, found.hard)
        pruned = prune(lowered.factors, wanted, replace(found, values={}, jeffrey={}))
        free = [variable for variable in wanted if variable.name not in found.hard]
        together = [variable.name for variable in free]
        return plan_factors(pruned.factors, free, order=lowered.order, together=[together], budget=budget)

    def _engine(self, cpds: Iterable[CPD], values: Mapping[str, float], budget: Budget | None = None) -> ExactEngine:
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
        tables = partial(compile_tables, tuple(plain), compact, tuple(variables.values())) if compact else None
        return ExactEngine(variables, sums, tables, -rest.log_scale, families)

    def _engine_given(
        self, evidence: EvidenceLike | None, budget: Budget | None = None
    ) -> tuple[ExactEngine, dict[str, Any]]:
        """An engine for this evidence, with observed numbers and inputs built in, and the findings left for it."""
        found = Evidence.read(evidence, self.variables, "this network")
        discrete = [name for name, variable in self.variables.items() if not variable.is_continuous]
        relevant = self._relevant([*discrete, *found.names], found)
        inputs = [name for name in self.inputs if name in found.hard]
        fixed = [point_mass(v := self.variables[name], v.states[found.hard[name]]) for name in inputs]
        findings = {name: finding for name, finding in (evidence or {}).items() if name not in found.values}
        return self._engine((*fixed, *relevant), found.values, budget), findings

    def marginals(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        targets: Iterable[str] | None = None,
        budget: Budget | None = None,
    ) -> dict[str, Factor]:
        """P(X | evidence, do) of every variable, or of some, from one calibration of a clique tree.

        Parameters
        ----------
        evidence
            Name -> a state, a collection of states, `likelihood(...)` or `jeffrey(...)`.
        do
            Name -> state that an intervention sets; see `intervene`.
        targets
            The variables that are wanted; then what has no effect on them is left out, which may save much.
        budget
            What the answer may cost; the default budget where left out.
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.marginals(findings, targets=targets, budget=budget)
        if self._needs_hidden_numbers(evidence):
            answers = hybrid_marginals(self.cpds, self.variables, evidence)
            names = self.variables if targets is None else [v.name for v in read_targets(targets, self.variables, "")]
            return {name: table for name in names if isinstance(table := answers[name], Factor)}
        if targets is not None:
            return self._marginals_given(read_targets(targets, self.variables, "this network"), evidence, budget)
        try:
            engine, findings = self._engine_given(evidence, budget)
        except TooLarge:
            engine = None
        if engine is None or engine.sums.program.num_entries > _LARGE:
            return self._marginals_given([v for v in self.variables.values() if not v.is_continuous], evidence, budget)
        return engine.marginals(findings)

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
        certain, nothing = replace(found, values={}), Evidence({}, {}, {}, {})
        try:
            if found.jeffrey:
                compiled = compile_factors(lowered.factors, wanted, order=lowered.order, budget=budget)
                answers = compiled.marginals(certain)
                return {variable.name: answers[variable.name] for variable in wanted}
            reduced = reduce_states(lowered.factors, certain, wanted)
            compiled = compile_factors(reduced.factors, reduced.variables.values(), order=lowered.order, budget=budget)
            answers = compiled.marginals(nothing)
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence or {}) or error from None
        certainty = Factor.scalar(1.0).with_info(compiled.info)
        return {v.name: reduced.expand(answers.get(v.name, certainty), [v.name]) for v in wanted}

    def sample(
        self,
        num_rows: int,
        seed: int | np.random.Generator | None = None,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
    ) -> pd.DataFrame:
        """Independent samples as a data frame: forward along the edges or, given evidence, from a clique tree.

        Parameters
        ----------
        num_rows
            How many.
        seed
            A number or a generator: the same one gives the same rows.
        evidence
            What holds in every row (likelihoods weigh the states).
        do
            Name -> state that an intervention sets; see `intervene`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"])).sample(3, seed=1)["coin"].tolist()
        ['tails', 'tails', 'heads']
        """
        if do:
            self._surgery(do, evidence)  # refuses evidence against the intervention
            return self.intervene(do).sample(num_rows, seed, evidence)
        if evidence and any(variable.is_continuous for variable in self.variables.values()):
            return hybrid_sample(self.cpds, self.variables, checked_count(num_rows), seed, evidence)
        if evidence:
            engine, findings = self._engine_given(evidence)
            return engine.sample(num_rows, seed, findings)
        self._refuse_inputs("a joint distribution to sample from")
        generator = np.random.default_rng(seed)
        levels = {name: generator.random(checked_count(num_rows)) for name in self.variables}
        columns: dict[str, npt.NDArray[Any]] = {}
        for node in self.graph.topological_order:
            columns[str(node)] = self.cpds[str(node)].quantile(columns, levels[str(node)])
        return decode(columns, self.variables)

    # --- rows and structure ---

    def log_likelihood(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> npt.NDArray[np.float64]:
        """log P(row) of each complete row of a data frame, by one look-up in each distribution."""
        columns = encode_columns(frame, self.variables)
        rows = len(next(iter(columns.values()))) if columns else 0
        total = np.zeros(rows)
        for cpd in self.cpds.values():
            total += cpd.log_probability(columns)
        return total

    def d_separated(self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether X ⟂ Y | Z follows from the graph and from which variables are functions of their parents.

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

    def _refuse_inputs(self, other: str) -> None:
        if self.inputs:
            raise InvalidModel(
                f"{self.inputs[0]!r} is an input without a distribution: P(rest | inputs) is not {other}. "
                "Give the inputs CPDs first: with_cpd(...)."
            )


def _contradicted(name: str, finding: object, value: object) -> ImpossibleEvidence:
    return ImpossibleEvidence(f"The evidence {name}={finding!r} contradicts do={{{name!r}: {value!r}}}.")


def has_hidden_numbers(cpds: Iterable[CPD], found: Evidence) -> bool:
    """Whether some distributions involve continuous variables that are not observed."""
    return any(v.is_continuous and v.name not in found.values for cpd in cpds for v in cpd.scope)


def _refuse_engine(engine: Engine | None) -> None:
    if engine is not None:
        raise NotSupported("Named engines work on tables, but this question involves numbers that are not observed.")
