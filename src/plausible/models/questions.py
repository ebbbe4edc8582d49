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
from plausible.errors import ImpossibleEvidence, InvalidModel, NotSupported
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size, num_entries
from plausible.graphs import DAG
from plausible.inference.compiled import compile_factors
from plausible.inference.contradiction import impossible_evidence
from plausible.inference.elimination import absorb, sum_product
from plausible.inference.posterior import posterior, read_targets
from plausible.models.exact_engine import ExactEngine, checked_count, compile_tables
from plausible.models.lowering import SMALL_TABLE, lower, point_mass
from plausible.variables import Assignment, Evidence, EvidenceLike, State, Variable
from plausible.variables.frozen import Frozen

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

__all__ = ["NetworkQuestions"]


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
    ) -> Factor:
        """P(targets | evidence, do), by variable elimination on the relevant part of the network.

        Parameters
        ----------
        targets
            The name of a variable or several; the answer's axes come in their order.
        evidence
            Name -> a state, a collection of states, `likelihood(...)` or, for one variable, `jeffrey(...)`.
        do
            Name -> state that an intervention sets; see `intervene`.

        Returns
        -------
        Factor
            Normalised; its `.info` says how it was got and what it cost.
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.query(targets, findings)
        wanted = read_targets(targets, self.variables, "this network")
        found = Evidence.read(evidence, self.variables, "this network")
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        factors = lower(relevant, self.variables, found.values, found.hard).factors
        try:
            return posterior(factors, wanted, replace(found, values={}))
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence or {}) or error from None

    def log_probability(self, evidence: EvidenceLike, do: Mapping[str, State] | None = None) -> float:
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
            return network.log_probability(findings)
        found = Evidence.read(evidence, self.variables, "this network")
        if found.jeffrey:
            raise NotSupported("jeffrey evidence has no probability: it replaces a belief. See likelihood(...).")
        relevant = self._relevant(found.names, found)
        observed = {**found.hard, **found.values}
        if all(cpd.variable.name in observed for cpd in relevant):
            columns = {name: np.array([value]) for name, value in observed.items()}
            return float(sum(cpd.log_probability(columns)[0] for cpd in relevant))
        lowered = lower(relevant, self.variables, found.values, found.hard)
        return sum_product(absorb(lowered.factors, replace(found, values={})), ()).log_total + lowered.log_scale

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

    def compile(self) -> ExactEngine:
        """A clique tree for this network, laid out once: for many questions, or for a table of evidence.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> print(net.compile().explain())
        clique tree: 1 cliques, width 1, 4 entries, 0.0 MiB, about 2e-07 s
        largest clique: (A, B), 4 entries
        """
        self._refuse_inputs("a clique tree")
        return self._engine(self.cpds.values(), {})

    def _engine(self, cpds: Iterable[CPD], values: Mapping[str, float]) -> ExactEngine:
        """The engine of some distributions, continuous variables at their observed values."""
        plain: list[Factor] = []
        compact: list[CPD] = []
        others: list[CPD] = []
        families: dict[str, tuple[Variable, ...]] = {}
        for cpd in cpds:
            scope = cpd.scope
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
        variables = {name: variable for name, variable in self.variables.items() if not variable.is_continuous}
        sums = compile_factors((*plain, *lower(compact, self.variables, {}).factors), variables.values())
        tables = partial(compile_tables, tuple(plain), compact, tuple(variables.values())) if compact else None
        return ExactEngine(variables, sums, tables, -rest.log_scale, families)

    def _engine_given(self, evidence: EvidenceLike | None) -> tuple[ExactEngine, dict[str, Any]]:
        """An engine for this evidence, with observed numbers and inputs built in, and the findings left for it."""
        found = Evidence.read(evidence, self.variables, "this network")
        discrete = [name for name, variable in self.variables.items() if not variable.is_continuous]
        relevant = self._relevant([*discrete, *found.names], found)
        inputs = [name for name in self.inputs if name in found.hard]
        fixed = [point_mass(v := self.variables[name], v.states[found.hard[name]]) for name in inputs]
        findings = {name: finding for name, finding in (evidence or {}).items() if name not in found.values}
        return self._engine((*fixed, *relevant), found.values), findings

    def marginals(
        self, evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None
    ) -> dict[str, Factor]:
        """P(X | evidence, do) of every discrete variable, from one calibration of a clique tree.

        Continuous variables must be observed, or have nothing observed below them.
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.marginals(findings)
        engine, findings = self._engine_given(evidence)
        return engine.marginals(findings)

    def mpe(self, evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None) -> Assignment:
        """A most probable assignment to all variables given the evidence, with its `.log_probability`.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> net.mpe(evidence={"B": 1})
        Assignment(A=1, B=1)
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.mpe(findings)
        engine, findings = self._engine_given(evidence)
        return engine.mpe(findings)

    def map(
        self, names: str | Iterable[str], evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None
    ) -> Assignment:
        """Marginal MAP: the most probable states of some variables, the others summed out.

        argmax_m P(m | evidence, do); their joint table is built, so it must fit. `.log_probability` is of both.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.4, 0.6]), TableCPD("B", [[1.0, 0.0], [0.5, 0.5]], parents=["A"]))
        >>> net.map("A"), net.mpe()
        (Assignment(A=1), Assignment(A=0, B=0))
        """
        posterior = self.query(names, evidence, do)
        log_best = math.log(posterior.max()) + self.log_probability(evidence or {}, do)
        return Assignment(posterior.argmax(), log_probability=log_best)

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
            What holds in every row; given any, only the discrete variables are sampled.
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
