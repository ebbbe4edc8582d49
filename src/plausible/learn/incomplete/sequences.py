"""EM where rows come in time: sequences under a network of two slices, and batches that are seen once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats
from plausible.base.options import Seed
from plausible.cpds import TableCPD
from plausible.data.column_types import categories_of
from plausible.data.sources import open_columns
from plausible.data.table import Table, TableLike, state_columns
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import LIGHT_PRIOR, Estimate, PriorLike
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import EMFit, EMProgress, best_em
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations
from plausible.learn.incomplete.problem import EMProblem, hidden_variables, read_problem
from plausible.learn.incomplete.starts_and_stops import StartLike, warn_of_symmetry
from plausible.models import BayesianNetwork
from plausible.search.run import Clock, Stops
from plausible.variables import State, Variable


@dataclass(frozen=True, slots=True)
class SliceGraph:
    """Which variables depend on which: within a slice of time, and from one slice to the next.

    The variable X at time t is called "X@t". A variable with no parent in the slice before has one table at all times,
    others one at time 0 and one later.

    >>> markov = SliceGraph("hidden -> seen", [("hidden", "hidden")])
    >>> markov.parents("hidden", 3), markov.parents("seen", 3), markov.tied(2)
    (('hidden@2',), ('hidden@3',), [['seen@0', 'seen@1']])
    """

    within: DAG  # A DAG or arrow text over the names of one slice
    across: tuple[tuple[str, str], ...]  # Pairs (cause, effect): the effect one step later

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
        effects = {effect for _, effect in self.across}
        groups = [[f"{name}@{at}" for at in range(int(name in effects), length)] for name in self.names]
        return [group for group in groups if len(group) > 1]


def unroll(graph: SliceGraph, network: BayesianNetwork, length: int) -> BayesianNetwork:
    """The network of so many slices, from one of two slices whose second is that of all later ones.

    >>> pair = BayesianNetwork(TableCPD("X@0", [1.0, 0.0]), TableCPD("X@1", [[0.9, 0.1], [0.0, 1.0]], ["X@0"]))
    >>> unroll(SliceGraph(DAG([], nodes=["X"]), [("X", "X")]), pair, 3).query("X@2").values
    array([0.81, 0.19])
    """
    states = {f"{name}@{at}": network.variables[f"{name}@0"].states for at in range(length) for name in graph.names}
    variables = {name: Variable(name, own) for name, own in states.items()}
    cpds = []
    for at, name in product(range(length), graph.names):
        parents = tuple(variables[parent] for parent in graph.parents(name, at))
        cpds.append(TableCPD.from_rows(variables[f"{name}@{at}"], parents, _table_at(graph, network, name, at))[0])
    return BayesianNetwork(cpds)


def _table_at(graph: SliceGraph, network: BayesianNetwork, name: str, at: int) -> Floats:
    """The table of a variable at a time, by the order of `SliceGraph.parents`."""
    there = f"{name}@{min(at, 1)}"
    return network.cpd(there).to_factor().reorder([*graph.parents(name, min(at, 1)), there]).values


@dataclass(frozen=True, slots=True, eq=False)
class SequenceExpectations:
    """Exact expectations of sequences, under a network of two slices.

    Each sequence is completed as a whole (forwards and backwards, where the graph is a chain); the expected counts of
    a family are summed over all times from 1 on. Cost of a step: linear in the length of all sequences.
    """

    graph: SliceGraph  # The slices
    cases: Cases  # The pairs of neighbouring slices, where starts look for complete families
    groups: tuple[tuple[int, ExactExpectations], ...]  # The sequences, by their lengths
    _unrolled: dict[int, BayesianNetwork] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        lengths = [length for length, _ in self.groups]
        return f"<SequenceExpectations: {self.graph.names}, sequences of {len(lengths)} different lengths>"

    def at(self, network: BayesianNetwork) -> Expectations:
        """The expectations under a network of two slices; it is unrolled once for a length, then its tables change."""
        names = self.graph.names
        counts = {name: np.zeros([v.num_states for v in cpd.scope]) for name, cpd in network.cpds.items()}
        slices = [[_table_at(self.graph, network, name, at) for name in names] for at in range(2)]
        total, logs = 0.0, [np.zeros(0)]
        for length, step in self.groups:
            if length not in self._unrolled:
                self._unrolled[length] = unroll(self.graph, network, length)
            tables = [table for at in range(length) for table in slices[min(at, 1)]]
            found, expected = step.compiled(self._unrolled[length]).answers(tables, step.cases)
            if np.isneginf(found).any():
                step.at(unroll(self.graph, network, length))  # which says what is impossible
            total += float(step.cases.weights @ found)
            logs.append(found)
            for at in range(length):
                for name in names:
                    counts[f"{name}@{min(at, 1)}"] += expected[f"{name}@{at}"]
        return Expectations(total, np.concatenate(logs), counts)


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

    In the network "X@0" is the start of a sequence, "X@1" any later time; see `unroll`. The tables of time 0 are seen
    once in each sequence: from a single one they can hardly be told, though those of later times can;
    `EMFit.poorly_determined` says so.

    Parameters
    ----------
    sequences
        Tables whose rows are the times of a sequence.
    prior
        For tables: one for all, or name -> prior, where names are those of the two slices, such as "X@1".
    estimate, hidden, start
        As in `learn.em`; a network to start from has two slices.
    tolerance
        A run ends where the objective gains at most tolerance · |objective|.

    Examples
    --------
    >>> graph = SliceGraph(DAG([], nodes=["rain"]), [("rain", "rain")])
    >>> fit = learn_sequences(graph, [{"rain": [0, 0, 1, 1]}, {"rain": [0, 1]}])
    >>> fit.network.cpd("rain@1").values.round(3)
    array([[0.333, 0.667],
           [0.   , 1.   ]])
    """
    clock, stops = Clock.of(time_limit), Stops(tolerance, max_steps, time_limit, progress)
    if isinstance(sequences, (str, Mapping, Table)) or not len(sequences):
        raise InvalidArgument("sequences= is a list of tables, one for each sequence, and not empty.")
    first = start.variables if isinstance(start, BayesianNetwork) else {}
    named = {name: Variable(name, first[f"{name}@0"].states) for name in graph.names if f"{name}@0" in first}
    variables, codes = _codes(graph, sequences, hidden_variables(hidden, named), named)
    groups = []
    for length in sorted({len(rows) for rows in codes} - {0}):
        table = _table(variables, length, np.stack([rows.ravel() for rows in codes if len(rows) == length]))
        groups.append((length, ExactExpectations(Cases.of(table.variables, table))))
    # the slices of each sequence with the next one; a single slice with nothing known of the next
    single = [np.concatenate([rows, np.full_like(rows, -1)]) if len(rows) == 1 else rows for rows in codes]
    pairs = _table(variables, 2, np.concatenate([np.concatenate([r[:-1], r[1:]], axis=1) for r in single]))
    step = SequenceExpectations(graph, Cases.of(pairs.variables, pairs), tuple(groups))
    given = ParameterKnowledge(tied=graph.tied(2))
    read = read_problem(graph.unrolled(2), pairs, (), prior, estimate, None, given)
    return best_em(EMProblem(step, read.maximization), start, restarts, seed, stops, clock)


def _codes(
    graph: SliceGraph,
    sequences: Sequence[TableLike],
    unseen: Mapping[str, Variable],
    named: Mapping[str, Variable],
) -> tuple[dict[str, Variable], list[Codes]]:
    """The variables of a slice, and for each sequence the positions of their states, a row for each time."""
    columns: dict[str, list[Any]] = {name: [] for name in graph.names}
    declared: dict[str, Variable] = {}
    categories: dict[str, set[tuple[State, ...] | None]] = {}  # name -> those of its columns
    lengths = []
    for sequence in sequences:
        there: Mapping[Any, Any]
        if isinstance(sequence, Table):
            there = _table_columns(sequence, declared)
        else:
            there = open_columns(sequence, named).read(graph.names)
            for name, column in there.items():
                categories.setdefault(name, set()).add(categories_of(column))
        lengths.append(max((len(column) for column in there.values()), default=0))
        for name, column in columns.items():
            column += list(there.get(name, [None] * lengths[-1]))
    known = {name: column for name, column in columns.items() if name not in unseen}
    alike = {name: Variable(name, *own) for name, own in categories.items() if len(own) == 1 and None not in own}
    table = Table.read(known, [each for name, each in {**alike, **declared, **named}.items() if name in known])
    for name in table.continuous:
        raise NotSupported(f"{name!r} is continuous: sequences are learned where all variables have states.")
    variables = {name: unseen.get(name) or table.variables[name] for name in graph.names}
    stacked = np.full((sum(lengths), len(variables)), -1, dtype=np.int32)
    for place, name in enumerate(variables):
        if name in known:
            stacked[:, place] = table.codes[table.discrete.index(name)]
    return variables, np.split(stacked, np.cumsum(lengths)[:-1])


def _table_columns(table: Table, declared: dict[str, Variable]) -> dict[str, NDArray[Any]]:
    """Name -> states of a table that was read before, `None` where missing; its variables are added to those known."""
    if table.weights is not None or table.interventions:
        raise NotSupported("The times of a sequence have no weights and no interventions: give a Table without.")
    for name, variable in table.variables.items():
        if declared.setdefault(name, variable) != variable:
            raise InvalidArgument(
                f"{name!r} has the states {list(variable.states)} in one sequence and {list(declared[name].states)} in "
                "another. Read all tables with the same variables=."
            )
    return state_columns(table)


def _table(slice_variables: Mapping[str, Variable], length: int, codes: Codes) -> Table:
    """Rows over so many slices."""
    states = {f"{name}@{at}": v.states for at in range(length) for name, v in slice_variables.items()}
    variables = {name: Variable(name, own) for name, own in states.items()}
    return Table(variables, np.ascontiguousarray(codes.T), np.zeros((0, len(codes))))


@dataclass(frozen=True, slots=True, eq=False)
class OnlineEM:
    """A network that learns from batches of rows, each of which is seen once and forgotten.

    It is a value: `partial_fit` returns what has learned more, and leaves this one as it was:
    `online = online.partial_fit(rows)`.

    A batch that weighs w, the last of batches that weigh W together, moves the mean counts s of a row by

        s ← (1 - γ) s + γ M̄_batch / w,    γ = (w / W)^decay,

    and the tables are those of W s, with the prior. With decay 1 all rows count alike, so that complete rows give the
    estimates of all of them at once, `learn.parameters(network, all_rows, prior)`; smaller ones forget what the first
    networks made of missing cells. Any decay above 1/2 converges to a stationary point of the expected log-likelihood
    of a row, if batches come from one distribution.

    >>> from plausible.cpds import TableCPD
    >>> online = OnlineEM(BayesianNetwork(TableCPD("coin", [0.5, 0.5])), decay=1.0)
    >>> for rows in ({"coin": [0, 0]}, {"coin": [1, 0]}):
    ...     online = online.partial_fit(rows)
    >>> online
    <OnlineEM: 2 batches that weigh 4, decay 1.0, <BayesianNetwork: 1 variable, 0 edges, 1 parameter>>
    >>> online.network.cpd("coin").values  # (3 + 1/2) / (4 + 1)
    array([0.7, 0.3])
    """

    #: Where to start: the graph, the states and the first tables. Those of hidden variables must differ from state to
    #: state, else a `SymmetricStart` is warned of.
    network: BayesianNetwork
    #: For tables: one for all, or name -> prior. With `None`, a state that the first batches lack is ruled out.
    prior: PriorLike = LIGHT_PRIOR
    decay: float = 0.7  # Above 1/2, at most 1
    knowledge: ParameterKnowledge | None = None  # Fixed CPDs and tied tables
    mean_counts: Mapping[str, Floats] | None = None  # s so far
    weight: float = 0.0  # W so far
    #: Of each batch, the mean log-likelihood of a row before it was learned from: an honest test of each network.
    batch_log_likelihoods: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.network, BayesianNetwork):
            raise InvalidArgument(
                f"OnlineEM takes the BayesianNetwork to start from, not {self.network!r}: a graph alone has no tables. "
                "Make one from the first rows: learn.em(graph, rows).network."
            )
        if not 0.5 < self.decay <= 1:
            raise InvalidArgument(f"decay= is above 1/2 and at most 1, not {self.decay!r}.")

    def partial_fit(self, rows: TableLike) -> OnlineEM:
        """A new value, which has learned from one more batch of rows; variables without a column are hidden."""
        problem = read_problem(self.network, rows, (), self.prior, None, None, self.knowledge)
        cases, maximization = problem.cases, problem.maximization
        if not cases.total:
            return self
        if not self.batch_log_likelihoods:
            warn_of_symmetry(self.network, cases)
        found = ExactExpectations(cases).at(self.network)
        weight = self.weight + cases.total
        rate = (cases.total / weight) ** self.decay
        before = self.mean_counts or dict.fromkeys(found.counts, np.zeros(()))
        mean = {name: (1.0 - rate) * before[name] + rate / cases.total * table for name, table in found.counts.items()}
        network = maximization.network({name: weight * table for name, table in mean.items()}, self.network).network
        told = (*self.batch_log_likelihoods, found.log_likelihood / cases.total)
        return OnlineEM(network, self.prior, self.decay, self.knowledge, mean, weight, told)

    def learned(self, batches: Iterable[TableLike]) -> OnlineEM:
        """What has learned from several batches, one after the other."""
        return reduce(OnlineEM.partial_fit, batches, self)

    def __repr__(self) -> str:
        batches = f"{counted(len(self.batch_log_likelihoods), 'batch')} that weigh {self.weight:g}"
        return f"<OnlineEM: {batches}, decay {self.decay}, {self.network!r}>"
