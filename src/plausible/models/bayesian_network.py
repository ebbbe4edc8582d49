"""Bayesian networks: a directed acyclic graph and a conditional distribution for each variable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.cpds import CPD, TableCPD
from plausible.data import decode, encode_columns
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported, UnknownVariable
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size, num_entries
from plausible.graphs import DAG
from plausible.inference.compiled import compile_factors
from plausible.inference.contradiction import impossible_evidence
from plausible.inference.elimination import absorb, sum_product
from plausible.inference.posterior import posterior, read_targets
from plausible.models.exact_engine import ExactEngine, checked_count
from plausible.models.factor_graph import FactorGraph, unique_names
from plausible.models.lowering import lower, point_mass
from plausible.models.markov_network import MarkovNetwork
from plausible.models.notes import Notes
from plausible.models.rebuilding import conditional_table, rebuilt, renamed_variables, with_new_states
from plausible.variables import Assignment, Evidence, EvidenceLike, State, Variable
from plausible.variables.frozen import Frozen

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

__all__ = ["BayesianNetwork"]


class BayesianNetwork(Frozen):
    """P(X_1, ..., X_n) = Π P(X_i | parents of X_i): an immutable value; edits return new networks.

    Parameters
    ----------
    cpds
        A conditional distribution for each variable, of any mix of kinds; their order is the order of the variables.
    inputs
        Variables without a distribution: the network is then conditional, P(rest | inputs).
    notes
        Name, description, positions and the like.

    Examples
    --------
    >>> net = BayesianNetwork(
    ...     TableCPD("rain", [0.8, 0.2], states=["no", "yes"]),
    ...     TableCPD("grass", {"no": [0.9, 0.1], "yes": [0.1, 0.9]}, parents=["rain"], states=["dry", "wet"]),
    ... )
    >>> net.graph
    DAG('rain -> grass')
    >>> print(net.query("rain", evidence={"grass": "wet"}))
    rain | value
    -----+---------
    no   | 0.307692
    yes  | 0.692308
    """

    __slots__ = ("_cpds", "_graph", "_inputs", "_variables", "notes")

    def __init__(self, *cpds: CPD | Iterable[CPD], inputs: Iterable[Variable] = (), notes: Notes | None = None) -> None:
        listed = _flat(cpds)
        self._inputs = _read_inputs(inputs)
        self._variables = _collect((*self._inputs, *(cpd.variable for cpd in listed)))
        self._cpds = {cpd.variable.name: cpd.bind(self._variables) for cpd in listed}
        edges = [(parent, name) for name, cpd in self._cpds.items() for parent in cpd.parent_names]
        self._graph = DAG(edges, nodes=self._variables)
        self.notes = notes or Notes()

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order given; inputs come first."""
        return MappingProxyType(self._variables)

    @property
    def cpds(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution, for all variables but the inputs."""
        return MappingProxyType(self._cpds)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables that have no distribution."""
        return tuple(variable.name for variable in self._inputs)

    @property
    def graph(self) -> DAG:
        """The directed acyclic graph."""
        return self._graph

    @property
    def num_parameters(self) -> int:
        """The number of independent parameters of all distributions together."""
        return sum(cpd.num_parameters for cpd in self._cpds.values())

    @property
    def num_joint_parameters(self) -> int:
        """The number of independent parameters that a table of the whole joint would need."""
        given = num_entries(self._inputs)
        return num_entries(self._variables.values()) - given

    @property
    def is_discrete(self) -> bool:
        """Whether every variable has states."""
        return not any(variable.is_continuous for variable in self._variables.values())

    def __len__(self) -> int:
        return len(self._variables)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def cpd(self, name: str) -> CPD:
        """The conditional distribution of a variable."""
        self._check(name)
        if name not in self._cpds:
            raise InvalidModel(f"{name!r} is an input of this network: it has no CPD.")
        return self._cpds[name]

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The compact factors of all distributions; their product, auxiliaries summed out, is the joint."""
        return lower(self._cpds.values(), self._variables, {}).factors

    # --- questions ---

    def joint(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The whole joint distribution as one table; refused when it would have more than `max_entries`."""
        variables = tuple(self._variables.values())
        check_size(variables, "The joint distribution", max_entries)
        inputs = Factor.scalar(1.0).extend(self._inputs)
        return product((inputs, *self._tables())).reorder([variable.name for variable in variables])

    def _tables(self) -> list[Factor]:
        return [cpd.to_factor() for cpd in self._cpds.values()]

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
        wanted = read_targets(targets, self._variables, "this network")
        found = Evidence.read(evidence, self._variables, "this network")
        relevant = self._relevant([*found.names, *(variable.name for variable in wanted)], found)
        factors = lower(relevant, self._variables, found.values, found.hard).factors
        try:
            return posterior(factors, wanted, replace(found, values={}))
        except ImpossibleEvidence as error:
            raise self._contradiction(evidence or {}) or error from None

    def log_probability(self, evidence: EvidenceLike, do: Mapping[str, State] | None = None) -> float:
        """log P(evidence), natural; -inf for impossible evidence.

        Where all ancestors of the findings are observed too, as in a complete assignment, this is a sum of look-ups,
        and the findings may be numbers of continuous variables: then it is a log-density.

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
        found = Evidence.read(evidence, self._variables, "this network")
        if found.jeffrey:
            raise NotSupported("jeffrey evidence has no probability: it replaces a belief. See likelihood(...).")
        relevant = self._relevant(found.names, found)
        observed = {**found.hard, **found.values}
        if all(cpd.variable.name in observed for cpd in relevant):
            columns = {name: np.array([value]) for name, value in observed.items()}
            return float(sum(cpd.log_probability(columns)[0] for cpd in relevant))
        lowered = lower(relevant, self._variables, found.values, found.hard)
        return sum_product(absorb(lowered.factors, replace(found, values={})), ()).log_total + lowered.log_scale

    def _relevant(self, names: Iterable[str], evidence: Evidence) -> list[CPD]:
        """The CPDs of the named variables and their ancestors: all others are barren. Inputs must be observed."""
        asked = set(names)
        kept = asked | self._graph.ancestors(asked)
        for name in self.inputs:
            if name in kept and name not in evidence.hard and name not in evidence.values:
                raise InvalidModel(f"{name!r} is an input of this network: give it a state as evidence.")
        return [cpd for name, cpd in self._cpds.items() if name in kept]

    def _surgery(
        self, do: Mapping[str, State], evidence: EvidenceLike | None
    ) -> tuple[BayesianNetwork, Mapping[str, Any]]:
        """The mutilated network and the evidence; continuous variables that are set become inputs, without density."""
        Evidence.read(evidence, self._variables, "this network")
        network, findings = self.intervene(do), dict(evidence or {})
        for name, value in do.items():
            if self._variables[name].has_state(findings.get(name, value)) and findings.get(name, value) != value:
                raise _contradicted(name, findings[name], value)
        numbers = {name: value for name, value in do.items() if self._variables[name].is_continuous}
        for name, value in numbers.items():
            if findings.setdefault(name, value) != value:
                raise _contradicted(name, findings[name], value)
        cpds = {name: cpd for name, cpd in network._cpds.items() if name not in numbers}
        return self._with(cpds, [*network._inputs, *(self._variables[name] for name in numbers)]), findings

    def _contradiction(self, evidence: EvidenceLike) -> ImpossibleEvidence | None:
        inputs = {name: evidence[name] for name in self.inputs if name in evidence}
        findings = {name: finding for name, finding in evidence.items() if name not in inputs}
        return impossible_evidence(findings, lambda some: self.log_probability({**inputs, **some}) > -math.inf)

    def compile(self) -> ExactEngine:
        """A clique tree for this network, laid out once: for many questions, or for a table of evidence.

        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> print(net.compile().explain())
        clique tree: 1 cliques, width 1, 4 entries, 0.0 MiB, about 2e-07 s
        largest clique: (A, B), 4 entries
        """
        self._refuse_inputs("a clique tree")
        lowered = lower(self._cpds.values(), self._variables, {})
        sums = compile_factors(lowered.factors, self._variables.values())
        compact = any(cpd.auxiliaries for cpd in self._cpds.values())
        return ExactEngine(
            self.variables,
            sums,
            (lambda: compile_factors(self._tables(), self._variables.values())) if compact else (lambda: sums),
            log_normalizer=0.0,
            families={name: cpd.scope for name, cpd in self._cpds.items()},
        )

    def marginals(
        self, evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None
    ) -> dict[str, Factor]:
        """P(X | evidence, do) of every variable, from one calibration of a clique tree."""
        if do:
            network, findings = self._surgery(do, evidence)
            return network.marginals(findings)
        return self.compile().marginals(evidence)

    def mpe(self, evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None) -> Assignment:
        """A most probable assignment to all variables given the evidence, with its `.log_probability`.

        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> net.mpe(evidence={"B": 1})
        Assignment(A=1, B=1)
        """
        if do:
            network, findings = self._surgery(do, evidence)
            return network.mpe(findings)
        return self.compile().mpe(evidence)

    def map(
        self, names: str | Iterable[str], evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None
    ) -> Assignment:
        """Marginal MAP: the most probable states of some variables, the others summed out.

        argmax_m P(m | evidence, do); their joint table is built, so it must fit. `.log_probability` is of both.

        >>> net = BayesianNetwork(TableCPD("A", [0.4, 0.6]), TableCPD("B", [[1.0, 0.0], [0.5, 0.5]], parents=["A"]))
        >>> net.map("A"), net.mpe()
        (Assignment(A=1), Assignment(A=0, B=0))
        """
        best = self.query(names, evidence, do).argmax()
        findings = {name: finding for name, finding in (evidence or {}).items() if name not in best}
        return Assignment(best, log_probability=self.log_probability({**findings, **best}, do))

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
            What holds in every row; a network with continuous variables takes none.
        do
            Name -> state that an intervention sets; see `intervene`.

        Examples
        --------
        >>> BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"])).sample(3, seed=1)["coin"].tolist()
        ['tails', 'tails', 'heads']
        """
        if do:
            return self.intervene(do).sample(num_rows, seed, evidence)
        if evidence:
            return self.compile().sample(num_rows, seed, evidence)
        self._refuse_inputs("a joint distribution to sample from")
        generator = np.random.default_rng(seed)
        levels = {name: generator.random(checked_count(num_rows)) for name in self._variables}
        columns: dict[str, npt.NDArray[Any]] = {}
        for node in self._graph.topological_order:
            columns[str(node)] = self._cpds[str(node)].quantile(columns, levels[str(node)])
        return decode(columns, self._variables)

    def log_likelihood(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> npt.NDArray[np.float64]:
        """log P(row) of each complete row of a data frame, by one look-up in each distribution."""
        columns = encode_columns(frame, self._variables)
        rows = len(next(iter(columns.values()))) if columns else 0
        total = np.zeros(rows)
        for cpd in self._cpds.values():
            total += cpd.log_probability(columns)
        return total

    def d_separated(self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether X ⟂ Y | Z follows from the graph and from which variables are functions of their parents.

        A deterministic variable whose parents are all known is known too (Geiger, Verma & Pearl 1990), so this finds
        independencies that `graph.d_separated` does not.

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
        for name in self._graph.topological_order:
            cpd = self._cpds.get(str(name))
            if cpd is not None and cpd.is_deterministic and known.issuperset(cpd.parent_names):
                known.add(name)
        return self._graph.d_separated(x, y, given=known)

    # --- other models ---

    def to_markov_network(self) -> MarkovNetwork:
        """The same joint as a Markov network: a factor for each family, over the moral graph.

        >>> alarm = BayesianNetwork(
        ...     TableCPD("B", [0.99, 0.01]), TableCPD("E", [0.98, 0.02]),
        ...     TableCPD("A", [[[0.9, 0.1], [0.7, 0.3]], [[0.1, 0.9], [0.05, 0.95]]], parents=["B", "E"]),
        ... )
        >>> alarm.to_markov_network().graph == alarm.graph.moralize()
        True
        """
        self._refuse_inputs("a Markov network")
        return MarkovNetwork(self._tables(), variables=self._variables.values(), notes=self.notes)

    def to_factor_graph(self) -> FactorGraph:
        """The factor graph with a factor P(X | U) for each family."""
        self._refuse_inputs("a factor graph")
        names = unique_names(map(_written, self._cpds.values()), taken=self._variables)
        factors = dict(zip(names, (cpd.to_factor() for cpd in self._cpds.values()), strict=True))
        return FactorGraph(factors, variables=self._variables.values(), notes=self.notes)

    def _refuse_inputs(self, other: str) -> None:
        if self._inputs:
            raise InvalidModel(
                f"{self._inputs[0].name!r} is an input without a distribution: P(rest | inputs) is not {other}. "
                "Give the inputs CPDs first: with_cpd(...)."
            )

    # --- edits ---

    def with_cpd(self, cpd: CPD) -> BayesianNetwork:
        """This network with a distribution added, or put in the place of the one of the same variable."""
        if not isinstance(cpd, CPD):
            raise InvalidModel(f"A BayesianNetwork is made of CPDs, not of {cpd!r}.")
        cpds = {**self._cpds, cpd.variable.name: cpd}
        return self._with(cpds, [v for v in self._inputs if v.name != cpd.variable.name])

    def without_variable(self, name: str) -> BayesianNetwork:
        """This network without a variable that has no children."""
        self._check(name)
        if children := self._graph.children(name):
            raise InvalidModel(f"{name!r} has the children {list(children)}; remove or change their CPDs first.")
        cpds = {other: cpd for other, cpd in self._cpds.items() if other != name}
        return self._with(cpds, [v for v in self._inputs if v.name != name])

    def subnetwork(self, names: str | Iterable[str]) -> BayesianNetwork:
        """The network of some variables and their ancestors: exactly their marginal distribution.

        >>> chain = BayesianNetwork(
        ...     TableCPD("A", [0.5, 0.5]),
        ...     TableCPD("B", [[0.5, 0.5], [0.1, 0.9]], parents=["A"]),
        ...     TableCPD("C", [[0.5, 0.5], [0.1, 0.9]], parents=["B"]),
        ... )
        >>> chain.subnetwork("B").graph
        DAG('A -> B')
        """
        wanted = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
        for name in wanted:
            self._check(name)
        kept = {*wanted, *self._graph.ancestors(wanted)}
        cpds = {name: cpd for name, cpd in self._cpds.items() if name in kept}
        return self._with(cpds, [v for v in self._inputs if v.name in kept])

    def with_edge(self, source: str, target: str) -> BayesianNetwork:
        """This network with one more edge: the same distribution, the target's table now listing `source` too."""
        self._check(source)
        table = self.cpd(target).to_table()
        if source in table.parent_names:
            raise InvalidModel(f"{source!r} is already a parent of {target!r}.")
        parents = (*table.parents, self._variables[source])
        wider = np.broadcast_to(table.values[..., None, :], [v.num_states for v in (*parents, table.variable)])
        return self.with_cpd(TableCPD(table.variable, wider, parents))

    def without_edge(self, source: str, target: str) -> BayesianNetwork:
        """This network with an edge removed; the target keeps P(target | other parents): nearest in KL."""
        cpd = self.cpd(target)
        if source not in cpd.parent_names:
            raise InvalidModel(f"There is no edge {source!r} -> {target!r} to remove.")
        others = [parent for parent in cpd.parents if parent.name != source]
        family = self.query([*(parent.name for parent in others), target])
        return self.with_cpd(conditional_table(family, target))

    def intervene(self, do: Mapping[str, State]) -> BayesianNetwork:
        """The mutilated network of do(X = x): the named variables lose their parents and are fixed.

        A continuous variable becomes a point mass, which can be sampled but has no density.
        """
        if not isinstance(do, Mapping):
            raise InvalidArgument(f"An intervention is a mapping, such as do={{'rain': 'heavy'}}, not {do!r}.")
        for name in do:
            self._check(name)
        cpds = {**self._cpds, **{name: point_mass(self._variables[name], value) for name, value in do.items()}}
        return self._with(cpds, [v for v in self._inputs if v.name not in do])

    def renamed(self, names: Mapping[str, str]) -> BayesianNetwork:
        """This network with some variables renamed, its notes too; all at once, so that names can be swapped.

        >>> BayesianNetwork(TableCPD("X", [0.5, 0.5])).renamed({"X": "coin"}).graph
        DAG('coin')
        """
        return self._rebuilt(renamed_variables(self._variables, names), self.notes.renamed(names))

    def with_states_renamed(self, name: str, states: Mapping[State, State]) -> BayesianNetwork:
        """This network with some states of a variable renamed; their order and probabilities stay.

        >>> net = BayesianNetwork(TableCPD("coin", [0.5, 0.5])).with_states_renamed("coin", {0: "heads", 1: "tails"})
        >>> net.variables["coin"].states
        ('heads', 'tails')
        """
        self._check(name)
        variables = {**self._variables, name: with_new_states(self._variables[name], states)}
        return self._rebuilt(variables, self.notes)

    def with_notes(self, notes: Notes) -> BayesianNetwork:
        """This network with other notes."""
        return BayesianNetwork(*self._cpds.values(), inputs=self._inputs, notes=notes)

    def _with(self, cpds: Mapping[str, CPD], inputs: Iterable[Variable]) -> BayesianNetwork:
        return BayesianNetwork(*cpds.values(), inputs=inputs, notes=self.notes)

    def _rebuilt(self, variables: Mapping[str, Variable], notes: Notes) -> BayesianNetwork:
        """This network over other variables with as many states; `variables` is keyed by the old names."""
        cpds = [rebuilt(cpd, variables) for cpd in self._cpds.values()]
        return BayesianNetwork(cpds, inputs=[variables[name] for name in self.inputs], notes=notes)

    def _check(self, name: str) -> None:
        if not isinstance(name, str) or name not in self._variables:
            raise UnknownVariable.named(name, self._variables, "this network")

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return self._cpds == other._cpds and set(self._inputs) == set(other._inputs)

    def __hash__(self) -> int:
        return hash((frozenset(self._cpds.items()), frozenset(self._inputs)))

    def is_close(self, other: BayesianNetwork, tolerance: float = 1e-9) -> bool:
        """Whether both have the same variables and, up to `tolerance`, the same conditional distributions."""
        if not isinstance(other, BayesianNetwork):
            raise InvalidArgument(f"A BayesianNetwork is close to another one or not; {other!r} is none.")
        if self._variables.keys() != other._variables.keys() or set(self._inputs) != set(other._inputs):
            return False
        return all(cpd.is_close(other._cpds[name], tolerance) for name, cpd in self._cpds.items())

    def __repr__(self) -> str:
        title = f" {self.notes.name!r}" if self.notes.name else ""
        edges = "1 edge" if self._graph.num_edges == 1 else f"{self._graph.num_edges} edges"
        return f"<BayesianNetwork{title}: {len(self)} variables, {edges}, {self.num_parameters} parameters>"


def _contradicted(name: str, finding: object, value: object) -> ImpossibleEvidence:
    return ImpossibleEvidence(f"The evidence {name}={finding!r} contradicts do={{{name!r}: {value!r}}}.")


def _written(cpd: CPD) -> str:
    given = f" | {', '.join(cpd.parent_names)}" if cpd.parent_names else ""
    return f"P({cpd.variable.name}{given})"


def _flat(cpds: Sequence[CPD | Iterable[CPD]]) -> list[CPD]:
    listed = list(cpds[0]) if len(cpds) == 1 and isinstance(cpds[0], Iterable) else list(cpds)
    for cpd in listed:
        if not isinstance(cpd, CPD):
            raise InvalidModel(f"A BayesianNetwork is made of CPDs, not of {cpd!r}.")
    return [cpd for cpd in listed if isinstance(cpd, CPD)]


def _read_inputs(inputs: Any) -> tuple[Variable, ...]:
    listed = tuple(inputs) if isinstance(inputs, Iterable) and not isinstance(inputs, str) else (inputs,)
    for variable in listed:
        if not isinstance(variable, Variable):
            raise InvalidModel(
                f"The inputs of a network are a list of Variable objects, not {variable!r}: "
                "no CPD says what states they have."
            )
    return listed


def _collect(variables: Iterable[Variable]) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    for variable in variables:
        if variable.name in found:
            raise InvalidModel(f"{variable.name!r} has two distributions in this network.")
        found[variable.name] = variable
    return found
