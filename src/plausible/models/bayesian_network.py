"""Bayesian networks: a directed acyclic graph and a conditional distribution for each variable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.cpds import CPD, TableCPD
from plausible.data import encode_columns
from plausible.errors import ImpossibleEvidence, InvalidModel, NotSupported, UnknownVariable
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.graphs import DAG
from plausible.inference.elimination import absorb, sum_product
from plausible.models.notes import Notes
from plausible.variables import Evidence, EvidenceLike, State, Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

__all__ = ["BayesianNetwork"]


class BayesianNetwork:
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
        self._inputs = tuple(inputs)
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

    def factors(self) -> tuple[Factor, ...]:
        """The compact factors of all distributions; their product, auxiliaries summed out, is the joint."""
        factors: list[Factor] = []
        for name, cpd in self._cpds.items():
            for factor in cpd.to_factors():
                if not isinstance(factor, Factor):
                    raise NotSupported(f"{name!r} is continuous: this question needs a discrete network.")
                factors.append(factor)
        return tuple(factors)

    # --- questions ---

    def joint(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The whole joint distribution as one table; refused when it would have more than `max_entries`."""
        variables = tuple(self._variables.values())
        check_size(variables, "The joint distribution", max_entries)
        return product(cpd.to_factor() for cpd in self._cpds.values()).reorder([v.name for v in variables])

    def query(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
    ) -> Factor:
        """P(targets | evidence, do), by variable elimination on the relevant part of the network."""
        answer, _ = self._sum_product(targets, evidence, do)
        return answer.normalize()

    def log_probability(self, evidence: EvidenceLike, do: Mapping[str, State] | None = None) -> float:
        """log P(evidence), natural; -inf for impossible evidence.

        >>> net = BayesianNetwork(TableCPD("coin", [0.5, 0.5]))
        >>> round(math.exp(net.log_probability({"coin": 1})), 12)
        0.5
        """
        try:
            _, log_scale = self._sum_product((), evidence, do)
        except ImpossibleEvidence:
            return -math.inf
        return log_scale

    def _sum_product(
        self, targets: str | Iterable[str], evidence: EvidenceLike | None, do: Mapping[str, State] | None
    ) -> tuple[Factor, float]:
        if do:
            return self.intervene(do)._sum_product(targets, evidence, None)
        wanted = [targets] if isinstance(targets, str) else list(dict.fromkeys(targets))
        for name in wanted:
            self._check(name)
        found = Evidence.read(evidence, self._variables, "this network")
        for name in (*wanted, *found.names):
            if name in self.inputs and name not in found.hard:
                raise InvalidModel(f"{name!r} is an input: give it a state as evidence.")
        relevant: set[Any] = {*wanted, *found.names}
        relevant |= self._graph.ancestors(relevant)
        factors = [factor for name in self._cpds if name in relevant for factor in self._relevant_factors(name)]
        kept = [name for name in wanted if name not in found.hard]
        answer, log_scale = sum_product(absorb(factors, found), kept)
        observed = [
            Factor.indicator(v := self._variables[n], (v.states or ())[found.hard[n]])
            for n in wanted
            if n in found.hard
        ]
        return product((answer, *observed)).reorder(wanted), log_scale + 0.0

    def _relevant_factors(self, name: str) -> Iterable[Factor]:
        for factor in self._cpds[name].to_factors():
            if not isinstance(factor, Factor):
                raise NotSupported(f"{name!r} is continuous: this question needs a discrete network.")
            yield factor

    def log_likelihood(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> npt.NDArray[np.float64]:
        """log P(row) of each complete row of a data frame, by one look-up in each distribution."""
        columns = encode_columns(frame, self._variables)
        rows = len(next(iter(columns.values()))) if columns else 0
        total = np.zeros(rows)
        for cpd in self._cpds.values():
            total += cpd.log_probability(columns)
        return total

    # --- edits ---

    def with_cpd(self, cpd: CPD) -> BayesianNetwork:
        """This network with a distribution added, or put in the place of the one of the same variable."""
        cpds = {**self._cpds, cpd.variable.name: cpd}
        return self._with(cpds, [v for v in self._inputs if v.name != cpd.variable.name])

    def without_variable(self, name: str) -> BayesianNetwork:
        """This network without a variable that has no children."""
        self._check(name)
        if children := self._graph.children(name):
            raise InvalidModel(f"{name!r} has the children {list(children)}; remove or change their CPDs first.")
        cpds = {other: cpd for other, cpd in self._cpds.items() if other != name}
        return self._with(cpds, [v for v in self._inputs if v.name != name])

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
        rows = family.normalize(over=target).values.copy()
        rows[family.marginalize(target).values == 0] = 1.0 / cpd.variable.num_states
        return self.with_cpd(TableCPD(cpd.variable, rows, others))

    def intervene(self, do: Mapping[str, State]) -> BayesianNetwork:
        """The mutilated network of do(X = x): the named variables lose their parents and are fixed."""
        cpds = dict(self._cpds)
        for name, state in do.items():
            self._check(name)
            cpds[name] = TableCPD(self._variables[name], Factor.indicator(self._variables[name], state).values)
        return self._with(cpds, [v for v in self._inputs if v.name not in do])

    def with_notes(self, notes: Notes) -> BayesianNetwork:
        """This network with other notes."""
        return BayesianNetwork(*self._cpds.values(), inputs=self._inputs, notes=notes)

    def _with(self, cpds: Mapping[str, CPD], inputs: Iterable[Variable]) -> BayesianNetwork:
        return BayesianNetwork(*cpds.values(), inputs=inputs, notes=self.notes)

    def _check(self, name: str) -> None:
        if name not in self._variables:
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
        if self._variables.keys() != other._variables.keys() or set(self._inputs) != set(other._inputs):
            return False
        return all(cpd.is_close(other._cpds[name], tolerance) for name, cpd in self._cpds.items())

    def __repr__(self) -> str:
        title = f" {self.notes.name!r}" if self.notes.name else ""
        edges = "1 edge" if self._graph.num_edges == 1 else f"{self._graph.num_edges} edges"
        return f"<BayesianNetwork{title}: {len(self)} variables, {edges}, {self.num_parameters} parameters>"


def _flat(cpds: Sequence[CPD | Iterable[CPD]]) -> list[CPD]:
    listed = list(cpds[0]) if len(cpds) == 1 and not isinstance(cpds[0], CPD) else list(cpds)
    for cpd in listed:
        if not isinstance(cpd, CPD):
            raise InvalidModel(f"A BayesianNetwork is made of CPDs, not of {cpd!r}.")
    return [cpd for cpd in listed if isinstance(cpd, CPD)]


def _collect(variables: Iterable[Variable]) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    for variable in variables:
        if variable.name in found:
            raise InvalidModel(f"{variable.name!r} has two distributions in this network.")
        found[variable.name] = variable
    return found
