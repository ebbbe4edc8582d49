"""Greedy search over classes of graphs that experiments can't tell apart: insertions, deletions and turns of edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, get_args

from plausible.base import Result, record
from plausible.causal.interventional.experiments import regimes
from plausible.data.column_types import are_targets
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.graphs import DAG, PDAG, consistent_extension
from plausible.graphs.classes import (
    Targets,
    interventional_class_size,
    interventional_essential_graph,
    target_masks,
)
from plausible.graphs.graph_input import GraphLike, read_dag
from plausible.graphs.mark_masks import bits
from plausible.learn.learned_structure import usual_score
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.exact.class_graph import ClassGraph, dag_of, direct, masks_of
from plausible.learn.structures.exact.equivalence import ClassSearch, class_constraints
from plausible.learn.structures.exact.family_gains import TimeIsUp
from plausible.learn.structures.knowledge import Knowledge, check_progress
from plausible.search.run import Clock
from plausible.search.search_problem import improves


class ClassTurn(NamedTuple):
    """In a graph of the class in which `before` are the neighbours of y that are its parents, y -> x becomes x -> y.

    The score changes by score(y, y_base + x) - score(y, y_base) and score(x, x_base) - score(x, x_base + y).
    """

    x: int
    y: int
    before: int
    x_base: int
    y_base: int


def class_turns(graph: ClassGraph, y: int) -> Iterator[ClassTurn]:
    """The turns of edges out of y, up to cycles (Hauser & Bühlmann 2012, propositions 31 and 34).

    An undirected edge x - y is turned in a graph where y has the parents C among its other neighbours and then precedes
    x. Outside the class this leads only if some of C are not joined with x. Where y -> x is directed, all neighbours of
    y that are joined with x are among C, and x precedes its own neighbours: anything else would close a cycle.
    """
    for x in bits(graph.neighbors[y]):
        shared = graph.neighbors[y] & graph.adjacent[x]
        for before in graph.cliques(0, graph.neighbors[y] & ~(1 << x)):
            # Among the neighbours of y, the shared ones of C must part its others from the other shared ones.
            closed = ~graph.neighbors[y] | before & shared
            if (apart := before & ~shared) and not _reached(apart, graph.neighbors, closed) & shared & ~before:
                yield ClassTurn(x, y, before, graph.parents[x] | before & shared, graph.parents[y] | before)
    for x in (place for place, parents in enumerate(graph.parents) if parents >> y & 1):
        shared = graph.neighbors[y] & graph.adjacent[x]
        if graph.is_clique(shared):
            for more in graph.cliques(shared, graph.neighbors[y] & ~graph.adjacent[x]):
                yield ClassTurn(x, y, shared | more, graph.parents[x] & ~(1 << y), graph.parents[y] | shared | more)


def is_valid_turn(graph: ClassGraph, turn: ClassTurn) -> bool:
    """Whether no cycle comes about: a path from y to x other than y -> x meets C or the neighbours of x."""
    if graph.neighbors[turn.y] >> turn.x & 1:
        return True
    steps = [adjacent & ~parents for adjacent, parents in zip(graph.adjacent, graph.parents, strict=True)]
    steps[turn.y] &= ~(1 << turn.x)
    return not _reached(1 << turn.y, steps, turn.before | graph.neighbors[turn.x]) >> turn.x & 1


def _reached(start: int, steps: Sequence[int], closed: int) -> int:
    """What steps from one node to the next lead to without entering what is closed."""
    reached = frontier = start
    while frontier:
        after = 0
        for v in bits(frontier):
            after |= steps[v]
        frontier = after & ~reached & ~closed
        reached |= frontier
    return reached


def after_turn(graph: ClassGraph, turn: ClassTurn) -> DAG:
    """A graph of the class that a valid turn leads to."""
    x, y, before = turn.x, turn.y, turn.before
    parents, neighbors = list(graph.parents), list(graph.neighbors)
    if neighbors[y] >> x & 1:
        direct(parents, neighbors, 1 << x, y)
        direct(parents, neighbors, before & neighbors[x], x)
    else:
        parents[x] &= ~(1 << y)
        parents[y] |= 1 << x
        for later in bits(neighbors[x]):
            direct(parents, neighbors, 1 << x, later)
    direct(parents, neighbors, before, y)
    for later in bits(neighbors[y]):
        direct(parents, neighbors, 1 << y, later)
    return consistent_extension(graph.pdag(parents, neighbors))


#: What a step does to an edge.
Phase: TypeAlias = Literal["insert", "delete", "turn"]


@dataclass(frozen=True, slots=True)
class InterventionalStep:
    """What `progress=` is told after each step."""

    phase: Phase  # "insert", "delete" or "turn": by what the step was made
    num_steps: int  # How many were made
    graph: DAG  # A graph of the class, from which a search can go on: `start=`
    score: float  # Its score, and that of all others of the class


@record(eq=False)
class InterventionalClass(Result):
    """A class of graphs learned from experiments; made by `gies`."""

    graph: PDAG  # The essential graph: directed are the edges that all graphs of the class share
    member: DAG  # One graph of the class
    score: float  # Of each graph of the class
    targets: tuple[tuple[str, ...], ...]  # The experiments: what was set together
    trace: tuple[float, ...]  # The score at the start and after each step
    #: Why the search ended: "local maximum" where no insertion, deletion or turn of an edge in any graph of the class
    #: is better; "time limit", "interrupted".
    stopped_by: str
    seconds: float  # How long it took

    @property
    def num_steps(self) -> int:
        """How many steps were made."""
        return len(self.trace) - 1

    @property
    def size(self) -> int:
        """How many graphs the class has."""
        return interventional_class_size(self.graph)

    def __str__(self) -> str:
        experiments = counted(sum(map(bool, self.targets)), "experiment")
        members = counted(self.size, "graph")
        return f"{self.graph}\n{members}, score {self.score:.6g}, from {experiments}; stopped: {self.stopped_by}"


Progress: TypeAlias = Callable[[InterventionalStep], object]


def gies(
    data: TableLike,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    start: GraphLike[DAG] | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> InterventionalClass:
    """Greedy interventional equivalence search (GIES): learn a class of graphs from observation and experiments.

    Steepest ascent over classes: edges are inserted as long as the score improves, then deleted, then turned, and again
    until none of these helps. Rows in which a variable was set say nothing about its parents and are left out of its
    family alone; so graphs of a class have the same score if it is score equivalent. Without interventions this is
    greedy equivalence search with a turning phase. In the limit of many rows the true class has the highest score, but
    no greedy search is sure to reach it: with experiments, this one may end in another class (Wang et al. 2017). See
    Hauser & Bühlmann (2012), Characterization and greedy learning of interventional Markov equivalence classes of
    directed acyclic graphs, JMLR 13; Wang, Solus, Yang & Uhler (2017), Permutation-based causal inference algorithms
    with interventions, NeurIPS.

    Parameters
    ----------
    data
        What `Table.read` takes, complete; `Table.read(..., interventions=)` says what was set in which rows.
    score
        A name, such as "bic", "bdeu", "gaussian-bic" or "bge", or a score-equivalent `Score`. Usually BIC.
    knowledge
        How many parents there may be, and pairs with both directions forbidden.
    start
        The search starts at its class: usually that of the graph without edges.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> is_set = np.arange(400) % 2 == 1
    >>> cause = np.where(is_set, rng.normal(size=400), 1.0 + rng.normal(size=400))
    >>> table = Table.read({"cause": cause, "effect": cause + rng.normal(size=400)}, interventions={"cause": is_set})
    >>> gies(table).graph, gies(table.take(~is_set)).graph
    (PDAG('cause -> effect'), PDAG('cause - effect'))
    """
    table = Table.for_learning(data)
    if table.missing:
        name = next(iter(table.missing))
        hint = ""
        if are_targets(table.variables[name].states, table.variables):
            hint = f" If the column names what was set in each row: Table.read(data, interventions={name!r})."
        raise NotSupported(
            f"{name!r} is missing in {counted(table.missing[name], 'row')}: "
            f"a search over classes needs all cells.{hint}"
        )
    wanted = read_score(score or usual_score(table))
    if not wanted.is_score_equivalent:
        raise NotSupported(
            f"{type(wanted).__name__} scores graphs of one class differently. Take 'bic', 'bdeu', 'gaussian-bic' or "
            "'bge'; or search single graphs: learn.structure(data, 'hill-climbing')."
        )
    targets = [regime.targets for regime in regimes(table)]
    always = set.intersection(*map(set, targets)) if targets else set()
    if always and table.num_rows:
        raise InvalidArgument(
            f"{min(always)!r} was set from outside in all rows, so that nothing tells what causes it. Add rows in "
            "which it was not set, or leave it out."
        )
    return search_interventional_classes(
        wanted.on(TableStatistics(table)), targets, knowledge, start=start, progress=progress, time_limit=time_limit
    )


def search_interventional_classes(
    scores: FamilyScores,
    targets: Targets,
    knowledge: Knowledge | None = None,
    *,
    start: GraphLike[DAG] | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> InterventionalClass:
    """The search of `gies` by scores of families, wherever they come from.

    Parameters
    ----------
    scores
        The same for all graphs of a class.
    targets
        For each experiment what was set together.
    knowledge, start, progress, time_limit
        See `gies`.

    Examples
    --------
    The effect follows its cause in 100 rows, and does not where it is set itself:

    >>> columns = {"cause": [0, 1] * 100, "effect": [0, 1] * 50 + [0, 0, 1, 1] * 25}
    >>> table = Table.read(columns, interventions={row: "effect" for row in range(100, 200)})
    >>> scores = read_score("bic").on(TableStatistics(table))
    >>> print(search_interventional_classes(scores, [(), ("effect",)]))
    cause -> effect
    1 graph, score -145.884, from 1 experiment; stopped: local maximum
    """
    clock = Clock.of(time_limit)
    check_progress(progress)
    names = sorted(scores.names)
    family = tuple(tuple(names[place] for place in bits(mask)) for mask in target_masks(names, targets))
    constraints = class_constraints(Knowledge.read(knowledge), names)
    class_of = partial(interventional_essential_graph, targets=family)
    search = ClassSearch(
        scores, names, constraints, clock, lambda graph, on: ClassGraph.of(class_of(dag_of(graph, on)), on)
    )
    graph = DAG(nodes=names) if start is None else read_dag(start)
    if strange := [node for node in graph.nodes if node not in names]:
        raise InvalidArgument(f"start= has the node {strange[0]!r}, which is no variable of the data.")
    search.start(DAG(graph.edges, nodes=names))
    trace, stopped_by = [search.score], "local maximum"
    try:
        for step in _steps(search, scores):
            trace.append(step.score)
            if progress is not None and progress(step):
                stopped_by = "interrupted"
                break
    except TimeIsUp:
        stopped_by = "time limit"
    member = DAG(search.graph.edges, nodes=scores.names)
    return InterventionalClass(class_of(member), member, search.score, family, tuple(trace), stopped_by, clock.seconds)


def _steps(search: ClassSearch, scores: FamilyScores) -> Iterator[InterventionalStep]:
    """Steps of each phase as long as they improve the score, the phases in turn until none does."""
    is_better = True
    while is_better:
        is_better = False
        for phase in get_args(Phase):
            while _turn(search, scores) if phase == "turn" else search.improve(phase):
                is_better = True
                yield InterventionalStep(phase, search.num_steps, search.graph, search.score)


def _turn(search: ClassSearch, scores: FamilyScores) -> bool:
    """Make the best turn that improves the score; whether there was one."""
    better = []
    names, family = search.essential.names, scores.family
    for place, y in enumerate(names):
        search.look_at_clock()
        for turn in class_turns(search.essential, place):
            x = names[turn.x]
            x_base, y_base = ([names[parent] for parent in bits(mask)] for mask in (turn.x_base, turn.y_base))
            gain = family(y, [*y_base, x]) - family(y, y_base) + family(x, x_base) - family(x, [*x_base, y])
            if improves(gain, search.score):
                better.append((gain, turn))
    return any(
        is_valid_turn(search.essential, turn) and search.go(masks_of(after_turn(search.essential, turn), names))
        for _, turn in sorted(better, key=lambda entry: (-entry[0], entry[1]))
    )
