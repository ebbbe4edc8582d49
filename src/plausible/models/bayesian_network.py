"""Bayesian networks: a directed acyclic graph and a conditional distribution for each variable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base import NETWORK_HINTS, Floats, Frozen, Hinted, Seed, TextTable, generator_of, own_methods
from plausible.cpds import CPD, TableCPD
from plausible.data import encode_columns
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable, counted
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size, num_entries
from plausible.graphs import DAG
from plausible.models.analyses import ParameterAnalyses
from plausible.models.answers import Answers
from plausible.models.drawn import Drawn
from plausible.models.evidence_analyses import EvidenceAnalyses
from plausible.models.factor_graph import FactorGraph, unique_names
from plausible.models.lowering import lower, point_mass
from plausible.models.markov_network import MarkovNetwork
from plausible.models.network_parts import (
    ByName,
    collect_variables,
    conditional_table,
    contradicted,
    read_cpds,
    read_inputs,
    rebuilt,
    refuse_parts,
    renamed_variables,
    with_new_states,
)
from plausible.models.notes import NO_NOTES, Notes
from plausible.models.number_answers import NumberAnswers
from plausible.models.question import Parts, Question
from plausible.models.samples import Columns, Samples
from plausible.models.shown_parts import family_text, network_table
from plausible.variables import Evidence, EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of, read_findings, settings_of

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

#: Rows that are drawn together: few enough for a column to stay in the processor's cache.
_ROWS_AT_A_TIME = 32_768


@own_methods
class BayesianNetwork(ParameterAnalyses, NumberAnswers, EvidenceAnalyses, Drawn, Answers, Frozen, Hinted):
    """A Bayesian network: P(X_1, ..., X_n) = Π P(X_i | parents of X_i). It is immutable; edits return new networks.

    Parameters
    ----------
    cpds
        A conditional distribution for each variable, of any kind; their order is the order of the variables.
    inputs
        Variables without a distribution, which you always observe: the network is then P(the rest | inputs).

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

    _hints = NETWORK_HINTS
    _is_normalized = True

    def __init__(self, *cpds: CPD | Iterable[CPD], inputs: Iterable[Variable] = (), notes: Notes | None = None) -> None:
        listed = read_cpds(cpds)
        self._inputs = read_inputs(inputs)
        self._variables = collect_variables((*self._inputs, *(cpd.variable for cpd in listed)))
        self._cpds = ByName({cpd.variable.name: cpd.bind(self._variables) for cpd in listed})
        edges = [(parent, name) for name, cpd in self._cpds.items() for parent in cpd.parent_names]
        self._graph = DAG(edges, nodes=self._variables)
        self.notes = notes or NO_NOTES

    @classmethod
    def _over(cls, graph: DAG, cpds: Mapping[str, CPD], notes: Notes | None = None) -> BayesianNetwork:
        """From distributions that are known to be bound, and to have the parents that a graph says, in its order."""
        network = object.__new__(cls)
        network._inputs, network._graph, network._cpds = (), graph, ByName(cpds)
        network._variables = ByName({name: cpd.variable for name, cpd in cpds.items()})
        network.notes = notes or NO_NOTES
        return network

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order given; inputs come first."""
        return MappingProxyType(self._variables)

    @property
    def cpds(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution, for all variables except the inputs."""
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
        """The number of independent parameters that a table of the full joint would have."""
        return num_entries(self._variables.values()) - num_entries(self._inputs)

    @property
    def is_discrete(self) -> bool:
        """Whether every variable is discrete."""
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
        """The compact factors of all distributions; multiply them and sum out auxiliary variables to get the joint."""
        return lower(self._cpds.values(), self._variables, {}).factors

    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        """The CPDs of the named variables and their ancestors: all others are barren. Inputs must be observed."""
        asked = set(names)
        kept = asked | self._graph.ancestors(asked)
        for variable in self._inputs:
            name = variable.name
            if name in kept and name not in evidence.hard and name not in evidence.values:
                raise InvalidModel(f"{name!r} is an input of this network: give it a state as evidence.")
        return Parts([cpd for name, cpd in self._cpds.items() if name in kept])

    def _given(
        self, evidence: EvidenceLike | None, do: Mapping[str, State]
    ) -> tuple[BayesianNetwork, EvidenceLike | None]:
        """The mutilated network and the evidence; continuous variables that are set become inputs, without density."""
        if not (settings := settings_of(do)):
            return self, evidence
        read_findings(evidence, self._variables, "this network")
        network, findings = self.intervene(settings), dict(findings_of(evidence))
        for name, value in settings.items():
            variable, seen = self._variables[name], findings.get(name, value)
            if seen != value and (variable.is_continuous or variable.has_state(seen)):
                raise contradicted(name, seen, value)
        numbers = {name: value for name, value in settings.items() if self._variables[name].is_continuous}
        findings |= numbers
        inputs = [self._variables[name] for name in (*network.inputs, *numbers)]
        cpds = [cpd for name, cpd in network._cpds.items() if name not in numbers]
        return BayesianNetwork(*cpds, inputs=inputs), findings

    def _requisite(self, question: Question) -> tuple[str, ...]:
        """The variables whose distributions the answer can depend on, in the network's order."""
        names, evidence = [variable.name for variable in question.targets], question.evidence
        observed, weighed = (*evidence.hard, *evidence.values), (*evidence.soft, *question.beliefs)
        needed = self._graph.requisite(names, observed, weighed)
        return tuple(name for name in self._cpds if name in needed)

    def _families(self) -> dict[str, tuple[Variable, ...]]:
        return {name: cpd.scope for name, cpd in self._cpds.items()}

    def _draw(self, num_rows: int, seed: Seed, do: Mapping[str, State] | None) -> Samples:
        """Rows forward along the edges."""
        if settings := settings_of(do):
            return self.intervene(settings)._draw(num_rows, seed, None)
        self._refuse_inputs("a joint distribution to sample from")
        generator = generator_of(seed)

        def block(size: int) -> Columns:
            levels = {name: generator.random(size) for name in self._variables}
            parts: list[dict[str, npt.NDArray[Any]]] = []
            for start in range(0, max(size, 1), _ROWS_AT_A_TIME):
                columns: dict[str, npt.NDArray[Any]] = {}
                for node in self._graph.topological_order:
                    level = levels[str(node)][start : start + _ROWS_AT_A_TIME]
                    columns[str(node)] = self._cpds[str(node)].quantile(columns, level)
                parts.append(columns)
            return {name: np.concatenate([part[name] for part in parts]) for name in levels}

        return Samples(self._variables, num_rows, block)

    def joint(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """Compute the full joint distribution as one table; refused if it would have more than `max_entries`."""
        check_size(tuple(self._variables.values()), "The joint distribution", max_entries)
        inputs = Factor.scalar(1.0).extend(self._inputs)
        return product((inputs, *(cpd.to_factor() for cpd in self._cpds.values()))).reorder(list(self._variables))

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

    def to_markov_network(self) -> MarkovNetwork:
        """Convert to a Markov network with the same joint: one factor per family, over the moral graph.

        >>> alarm = BayesianNetwork(
        ...     TableCPD("B", [0.99, 0.01]), TableCPD("E", [0.98, 0.02]),
        ...     TableCPD("A", [[[0.9, 0.1], [0.7, 0.3]], [[0.1, 0.9], [0.05, 0.95]]], parents=["B", "E"]),
        ... )
        >>> alarm.to_markov_network().graph == alarm.graph.moralize()
        True
        """
        self._refuse_inputs("a Markov network")
        return MarkovNetwork(
            [cpd.to_factor() for cpd in self._cpds.values()], variables=self._variables.values(), notes=self.notes
        )

    def to_factor_graph(self) -> FactorGraph:
        """Convert to a factor graph, with a factor P(X | U) for each family."""
        self._refuse_inputs("a factor graph")
        names = unique_names(map(family_text, self._cpds.values()), taken=self._variables)
        factors = dict(zip(names, (cpd.to_factor() for cpd in self._cpds.values()), strict=True))
        return FactorGraph(factors, variables=self._variables.values(), notes=self.notes)

    def with_cpd(self, cpd: CPD) -> BayesianNetwork:
        """Return a network with this distribution added; it replaces the one of the same variable, if any."""
        if not isinstance(cpd, CPD):
            raise refuse_parts(cpd, cpd)
        cpds = {**self._cpds, cpd.variable.name: cpd}
        return self._with(cpds, [v for v in self._inputs if v.name != cpd.variable.name])

    def without_variable(self, name: str) -> BayesianNetwork:
        """Return a network without this variable, which must have no children."""
        self._check(name)
        if children := self._graph.children(name):
            raise InvalidModel(f"{name!r} has the children {list(children)}; remove or change their CPDs first.")
        cpds = {other: cpd for other, cpd in self._cpds.items() if other != name}
        return self._with(cpds, [v for v in self._inputs if v.name != name])

    def subnetwork(self, names: str | Iterable[str]) -> BayesianNetwork:
        """Return the network of some variables and their ancestors, which has the same distribution of them.

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
        """Return a network with one more edge and the same distribution; the target's table gets an axis."""
        self._check(source)
        table = self.cpd(target).to_table()
        if source in table.parent_names:
            raise InvalidModel(f"{source!r} is already a parent of {target!r}.")
        parents = (*table.parents, self._variables[source])
        wider = np.broadcast_to(table.values[..., None, :], [v.num_states for v in (*parents, table.variable)])
        return self.with_cpd(TableCPD(table.variable, wider, parents))

    def without_edge(self, source: str, target: str) -> BayesianNetwork:
        """Return a network without this edge; the target keeps P(target | other parents), the closest in KL."""
        cpd = self.cpd(target)
        if source not in cpd.parent_names:
            raise InvalidModel(f"There is no edge {source!r} -> {target!r} to remove.")
        others = [parent for parent in cpd.parents if parent.name != source]
        family = self.query([*(parent.name for parent in others), target])
        return self.with_cpd(conditional_table(family, target))

    def intervene(self, do: Mapping[str, State]) -> BayesianNetwork:
        """Return the network after do(X = x): the named variables lose their parents and have fixed values.

        A continuous variable becomes a point mass, which you can sample but which has no density.
        """
        if not isinstance(do, Mapping):
            raise InvalidArgument(f"An intervention is a mapping, such as do={{'rain': 'heavy'}}, not {do!r}.")
        for name in do:
            self._check(name)
        cpds = {**self._cpds, **{name: point_mass(self._variables[name], value) for name, value in do.items()}}
        return self._with(cpds, [v for v in self._inputs if v.name not in do])

    def renamed(self, names: Mapping[str, str]) -> BayesianNetwork:
        """Return a network with some variables renamed, also in its notes. You can swap names.

        >>> BayesianNetwork(TableCPD("X", [0.5, 0.5])).renamed({"X": "coin"}).graph
        DAG('coin')
        """
        return self._rebuilt(renamed_variables(self._variables, names), self.notes.renamed(names))

    def with_states_renamed(self, name: str, states: Mapping[State, State]) -> BayesianNetwork:
        """Return a network with some states of a variable renamed; order and probabilities stay the same.

        >>> net = BayesianNetwork(TableCPD("coin", [0.5, 0.5])).with_states_renamed("coin", {0: "heads", 1: "tails"})
        >>> net.variables["coin"].states
        ('heads', 'tails')
        """
        self._check(name)
        variables = {**self._variables, name: with_new_states(self._variables[name], states)}
        return self._rebuilt(variables, self.notes)

    def with_notes(self, notes: Notes) -> BayesianNetwork:
        """Return this network with other notes."""
        return BayesianNetwork(*self._cpds.values(), inputs=self._inputs, notes=notes)

    def _with(self, cpds: Mapping[str, CPD], inputs: Iterable[Variable]) -> BayesianNetwork:
        return BayesianNetwork(*cpds.values(), inputs=inputs, notes=self.notes)

    def _rebuilt(self, variables: Mapping[str, Variable], notes: Notes) -> BayesianNetwork:
        """This network over other variables with as many states; `variables` is keyed by the old names."""
        inputs = [variables[name] for name in self.inputs]
        return BayesianNetwork([rebuilt(cpd, variables) for cpd in self._cpds.values()], inputs=inputs, notes=notes)

    def _check(self, name: str) -> None:
        if not isinstance(name, str) or name not in self._variables:
            raise UnknownVariable.named(name, self._variables, "this network")

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
        sizes = {"variable": len(self), "edge": self._graph.num_edges, "parameter": self.num_parameters}
        return f"<BayesianNetwork{title}: {', '.join(counted(size, thing) for thing, size in sizes.items())}>"

    def _details(self) -> TextTable:
        return network_table(self)
