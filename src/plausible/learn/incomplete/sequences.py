"""EM from sequences: a network of two slices, unrolled over each sequence, whose tables are the same at all times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.base.seeds import Seed
from plausible.cpds import TableCPD
from plausible.data.sources import open_columns
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.family_posterior import Estimate
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import EMFit, EMProgress, best_em
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations
from plausible.learn.incomplete.problem import EMProblem, hidden_variables, read_problem
from plausible.learn.incomplete.starts import StartLike
from plausible.models import BayesianNetwork
from plausible.search.clock import Clock
from plausible.search.run import Stops
from plausible.variables import Variable


@dataclass(frozen=True, slots=True)
class SliceGraph:
    """Which variables depend on which: within a slice of time, and from one slice to the next.

    The variable X at time t is called "X@t". A variable with no parent in the slice before has one table at all times,
    others one at time 0 and one later.

    Parameters
    ----------
    within
        A DAG or arrow text over the names of one slice.
    across
        Pairs (cause, effect): the effect one step later.

    Examples
    --------
    >>> markov = SliceGraph("hidden -> seen", [("hidden", "hidden")])
    >>> markov.parents("hidden", 3), markov.parents("seen", 3), markov.tied(2)
    (('hidden@2',), ('hidden@3',), [['seen@0', 'seen@1']])
    """

    within: DAG
    across: tuple[tuple[str, str], ...]

    def __init__(self, within: object, across: Iterable[tuple[str, str]]) -> None:
        dag = read_dag(within)
        pairs = tuple((cause, effect) for cause, effect in across)
        for name in {name for pair in pairs for name in pair}:
            dag.parents(name)  # which names one that is not there
        object.__setattr__(self, "within", dag)
        object.__setattr__(self, "across", pairs)

    @property
    def names(self) -> list[str]:
        """The variables of a slice."""
        return [str(node) for node in self.within.nodes]

    def parents(self, name: str, at: int) -> tuple[str, ...]:
        """The parents of a variable at a time: those in the slice before, then those in its own."""
        before = [f"{cause}@{at - 1}" for cause, effect in self.across if effect == name and at > 0]
        return (*before, *(f"{parent}@{at}" for parent in self.within.parents(name)))

    def unrolled(self, length: int) -> DAG:
        """The graph of so many slices."""
        nodes = [(name, at) for at in range(length) for name in self.names]
        edges = [(parent, f"{name}@{at}") for name, at in nodes for parent in self.parents(name, at)]
        return DAG(edges, nodes=[f"{name}@{at}" for name, at in nodes])

    def tied(self, length: int) -> list[list[str]]:
        """The groups of variables with the same table, in so many slices: `ParameterKnowledge(tied=...)`."""
        groups = []
        for name in self.names:
            first = 1 if any(effect == name for _, effect in self.across) else 0
            group = [f"{name}@{at}" for at in range(first, length)]
            groups += [group] if len(group) > 1 else []
        return groups


def unroll(graph: SliceGraph, network: BayesianNetwork, length: int) -> BayesianNetwork:
    """The network of so many slices, from one of two slices whose second is that of all later ones.

    Examples
    --------
    >>> pair = BayesianNetwork(TableCPD("X@0", [1.0, 0.0]), TableCPD("X@1", [[0.9, 0.1], [0.0, 1.0]], ["X@0"]))
    >>> unroll(SliceGraph(DAG([], nodes=["X"]), [("X", "X")]), pair, 3).query("X@2").values
    array([0.81, 0.19])
    """
    variables = {
        f"{name}@{at}": Variable(f"{name}@{at}", network.variables[f"{name}@0"].states)
        for at in range(length)
        for name in graph.names
    }
    cpds = []
    for at in range(length):
        for name in graph.names:
            parents = tuple(variables[parent] for parent in graph.parents(name, at))
            cpds.append(TableCPD.from_rows(variables[f"{name}@{at}"], parents, _table_at(graph, network, name, at))[0])
    return BayesianNetwork(cpds)


def _table_at(graph: SliceGraph, network: BayesianNetwork, name: str, at: int) -> Floats:
    """The table of a variable at a time, by the order of `SliceGraph.parents`."""
    there = f"{name}@{min(at, 1)}"
    return network.cpd(there).to_factor().reorder([*graph.parents(name, min(at, 1)), there]).values


class _Group(NamedTuple):
    """The sequences of one length."""

    length: int
    step: ExactExpectations


@dataclass(frozen=True, slots=True, eq=False)
class SequenceExpectations:
    """Exact expectations of sequences, under a network of two slices.

    Each sequence is completed as a whole (forwards and backwards, where the graph is a chain); the expected counts of
    a family are summed over all times from 1 on. Cost of a step: linear in the length of all sequences.
    """

    graph: SliceGraph  # The slices
    cases: Cases  # The pairs of neighbouring slices, where starts look for complete families
    groups: tuple[_Group, ...]  # The sequences, by their lengths
    _unrolled: dict[int, BayesianNetwork] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        lengths = [length for length, _ in self.groups]
        return f"<SequenceExpectations: {self.graph.names}, sequences of {len(lengths)} different lengths>"

    def at(self, network: BayesianNetwork) -> Expectations:
        """The expectations under a network of two slices."""
        counts = {name: np.zeros([v.num_states for v in cpd.scope]) for name, cpd in network.cpds.items()}
        logs = []
        for length, step in self.groups:
            found = self._group(network, length, step)
            logs.append(found)
            for at in range(length):
                for name in self.graph.names:
                    counts[f"{name}@{min(at, 1)}"] += found.counts[f"{name}@{at}"]
        each = np.concatenate([np.zeros(0), *(found.case_log_likelihoods for found in logs)])
        return Expectations(sum((found.log_likelihood for found in logs), 0.0), each, counts)

    def _group(self, network: BayesianNetwork, length: int, step: ExactExpectations) -> Expectations:
        """The expectations of sequences of one length: the network is unrolled once, its tables change."""
        if length not in self._unrolled:
            self._unrolled[length] = unroll(self.graph, network, length)
        second = {name: _table_at(self.graph, network, name, 1) for name in self.graph.names}
        first = {name: _table_at(self.graph, network, name, 0) for name in self.graph.names}
        tables = [(first if at == 0 else second)[name] for at in range(length) for name in self.graph.names]
        found = step.at_tables(self._unrolled[length], tables)
        if np.isneginf(found.case_log_likelihoods).any():
            return step.at(unroll(self.graph, network, length))  # which says what is impossible
        return found


def learn_sequences(
    graph: SliceGraph,
    sequences: Sequence[TableLike],
    prior: PriorLike = None,
    *,
    estimate: Estimate | None = None,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    start: StartLike = None,
    restarts: int = 0,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    progress: EMProgress | None = None,
    time_limit: float | None = None,
) -> EMFit:
    """Learn a network of two slices from sequences of any lengths, cells missing anywhere (Baum et al. 1970).

    Parameters
    ----------
    graph
        What depends on what within a slice, and from one to the next.
    sequences
        Tables whose rows are the times of a sequence.
    prior
        For tables: one for all, or name -> prior, where names are those of the two slices, such as "X@1".
    estimate
        As in `learn.em`.
    hidden
        Variables that the sequences lack: name -> number of states, or variables.
    start
        A network of two slices, or a word; see `learn.em`.
    tolerance
        A run ends where the objective gains at most tolerance · |objective|.

    Returns
    -------
    EMFit
        Its network has two slices: "X@0" is the start of a sequence, "X@1" any later time; see `unroll`.

    Notes
    -----
    The tables of time 0 are seen once in each sequence: from a single one they can hardly be told, though those of
    later times can. `EMFit.poorly_determined` says so.

    Examples
    --------
    >>> graph = SliceGraph(DAG([], nodes=["rain"]), [("rain", "rain")])
    >>> fit = learn_sequences(graph, [{"rain": [0, 0, 1, 1]}, {"rain": [0, 1]}])
    >>> fit.network.cpd("rain@1").values.round(3)
    array([[0.333, 0.667],
           [0.   , 1.   ]])
    """
    clock, stops = Clock.of(time_limit), Stops(tolerance, max_steps, time_limit, progress)
    step, pairs = _read(graph, sequences, hidden)
    given = ParameterKnowledge(tied=graph.tied(2))
    read = read_problem(graph.unrolled(2), pairs, (), prior, estimate, None, given)
    return best_em(EMProblem(step, read.maximization), start, restarts, seed, stops, clock)


def _read(
    graph: SliceGraph, sequences: Sequence[TableLike], hidden: Mapping[str, int] | Iterable[Variable]
) -> tuple[SequenceExpectations, Table]:
    """The sequences by their lengths, and the pairs of neighbouring slices."""
    if isinstance(sequences, (str, Mapping, Table)) or not len(sequences):
        raise InvalidArgument("sequences= is a list of tables, one for each sequence, and not empty.")
    variables, codes = _codes(graph, sequences, hidden_variables(hidden))
    groups = []
    for length in sorted({len(rows) for rows in codes} - {0}):
        alike = np.stack([rows.ravel() for rows in codes if len(rows) == length])
        own = {f"{name}@{at}": v.states for at in range(length) for name, v in variables.items()}
        cases = Cases.of([Variable(name, states) for name, states in own.items()], _table(own, alike))
        groups.append(_Group(length, ExactExpectations(cases)))
    own = {f"{name}@{at}": v.states for at in range(2) for name, v in variables.items()}
    pairs = _table(own, np.concatenate([_pairs(rows) for rows in codes]))
    return SequenceExpectations(graph, Cases.of(pairs.variables, pairs), tuple(groups)), pairs


def _codes(
    graph: SliceGraph, sequences: Sequence[TableLike], unseen: Mapping[str, Variable]
) -> tuple[dict[str, Variable], list[Codes]]:
    """The variables of a slice, and for each sequence the positions of their states, a row for each time."""
    columns: dict[str, list[Any]] = {name: [] for name in graph.names}
    declared: dict[str, Variable] = {}
    lengths = []
    for sequence in sequences:
        there = (
            _table_columns(sequence, declared)
            if isinstance(sequence, Table)
            else open_columns(sequence).read(graph.names)
        )
        lengths.append(max((len(column) for column in there.values()), default=0))
        for name, column in columns.items():
            column += list(there.get(name, [None] * lengths[-1]))
    known = {name: column for name, column in columns.items() if name not in unseen}
    table = Table.read(known, [variable for name, variable in declared.items() if name in known])
    for name in table.continuous:
        raise NotSupported(f"{name!r} is continuous: sequences are learned where all variables have states.")
    variables = {name: unseen.get(name) or table.variables[name] for name in graph.names}
    stacked = np.full((sum(lengths), len(variables)), -1, dtype=np.int32)
    for place, name in enumerate(variables):
        if name in known:
            stacked[:, place] = table.codes[table.discrete.index(name)]
    return variables, np.split(stacked, np.cumsum(lengths)[:-1])


def _table_columns(table: Table, declared: dict[str, Variable]) -> dict[str, list[Any]]:
    """Name -> states of a table that was read before, `None` where missing; its variables are added to those known."""
    if table.weights is not None or table.interventions:
        raise NotSupported("The times of a sequence have no weights and no interventions: give a Table without.")
    for name, variable in table.variables.items():
        if declared.setdefault(name, variable) != variable:
            raise InvalidArgument(
                f"{name!r} has the states {list(variable.states)} in one sequence and {list(declared[name].states)} in "
                "another. Read all tables with the same variables=."
            )
    columns: dict[str, list[Any]] = {
        name: column.tolist() for name, column in zip(table.continuous, table.numbers, strict=True)
    }
    for name, codes in zip(table.discrete, table.codes, strict=True):
        states = (*table.variables[name].states, None)  # the last one for -1
        columns[name] = [states[code] for code in codes.tolist()]
    return columns


def _pairs(rows: Codes) -> Codes:
    """The slices of a sequence, each with the next one; a single slice with nothing known of the next."""
    if len(rows) == 1:
        return np.concatenate([rows, np.full_like(rows, -1)], axis=1)
    return np.concatenate([rows[:-1], rows[1:]], axis=1)


def _table(states: Mapping[str, tuple[Any, ...]], codes: Codes) -> Table:
    variables = {name: Variable(name, own) for name, own in states.items()}
    return Table(variables, np.ascontiguousarray(codes.T), np.zeros((0, len(codes))))
