"""Experiments: those of a table, tests of a graph in each, and which variable to set next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from plausible.base import check_count
from plausible.causal.queries.observed import CausalLike
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, PDAG, CausalGraph, Orientation, essential_graph
from plausible.graphs.causal_graph import read_causes
from plausible.graphs.classes import (
    Targets,
    count_orientations,
    has_free_components,
    interventional_class_size,
    interventional_essential_graph,
)
from plausible.graphs.graph_input import GraphLike, read_class
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.learn import IndependenceResult, WeightedGraphs
from plausible.learn.independence.gaussian_tests import TestName, read_test


@dataclass(frozen=True, slots=True, eq=False)
class Regime:
    """An experiment; made by `regimes`."""

    targets: tuple[str, ...]  # The variables that were set from outside, in the order of the table; none in observation
    #: Its rows, without marks of what was set: their independencies are those of `graph.without_incoming(targets)`, and
    #: can be tested as any others, where there are enough rows.
    table: Table = field(repr=False)


def regimes(data: TableLike) -> tuple[Regime, ...]:
    """The experiments of which a table consists, observation first, then by fewer and earlier targets.

    >>> table = Table.read({"A": [0, 1, 1], "B": [0, 0, 1], "set": [None, "A", "A,B"]}, interventions="set")
    >>> for regime in regimes(table):
    ...     print(regime.targets, regime.table.num_rows)
    () 1
    ('A',) 1
    ('A', 'B') 1
    """
    table = Table.read(data)
    names = [name for name in table.variables if name in table.interventions]
    if not names:
        return (Regime((), table),)
    marks = np.array([table.interventions[name] for name in names])
    patterns, places = np.unique(marks, axis=1, return_inverse=True)
    plain = replace(table, interventions=MappingProxyType({}))
    found = [
        Regime(
            tuple(name for name, is_set in zip(names, pattern.tolist(), strict=True) if is_set),
            plain.take(np.flatnonzero(places.ravel() == place)),
        )
        for place, pattern in enumerate(patterns.T)
    ]
    return tuple(sorted(found, key=lambda regime: (len(regime.targets), [names.index(n) for n in regime.targets])))


@dataclass(frozen=True, slots=True)
class RegimeTest:
    """A test that two variables are independent in an experiment, as the graph without edges into its targets says."""

    targets: tuple[str, ...]  # What was set from outside
    #: x ⟂ y | given.
    x: str
    y: str
    given: tuple[str, ...]
    result: IndependenceResult  # Of the test on the rows of the experiment


@dataclass(frozen=True, slots=True)
class RegimeTests:
    """All tests of a graph; made by `check_regimes`."""

    tests: tuple[RegimeTest, ...]  # One for each pair that is not joined in an experiment's graph
    alpha: float  # The probability that a true graph is rejected, at most

    @property
    def violations(self) -> tuple[RegimeTest, ...]:
        """Those that reject the graph, at alpha divided by the number of tests (Bonferroni); few rows reject none."""
        level = self.alpha / max(len(self.tests), 1)
        return tuple(test for test in self.tests if test.result.is_reliable and test.result.p_value <= level)


def check_regimes(graph: CausalLike, data: TableLike, *, alpha: float = 0.05, test: TestName = "auto") -> RegimeTests:
    """Test the independencies of the mutilated graph of each experiment on its own rows.

    In an experiment on Z the graph without edges into Z holds: for each pair that is not joined in it, the later one is
    independent of the earlier one given its parents; with latent causes, `<->`, given a set that m-separates the two,
    and pairs without such a set are not tested. Each experiment is tested by itself, so that it takes many rows of
    each; scores, as those of `gies`, use all rows together.

    Parameters
    ----------
    data
        What `Table.read` takes, complete, with interventions.
    alpha
        The probability that a true graph is rejected, at most.
    test
        "auto" for the kind of variables, "g", "chi-square", "permutation", "fisher-z" or "conditional-gaussian".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, noise = rng.normal(size=(2, 400))
    >>> b = np.where(np.arange(400) < 200, a + noise, noise)
    >>> rows = {"a": a, "b": b, "set": [None] * 200 + ["b"] * 200}
    >>> from plausible.data.table import Table
    >>> table = Table.read(rows, interventions="set")
    >>> [len(check_regimes(graph, table).violations) for graph in ("a -> b", "b -> a")]
    [0, 0]
    >>> len(check_regimes(DAG(nodes=["a", "b"]), table).violations)
    1
    """
    if not 0 < alpha < 1:
        raise InvalidArgument(f"alpha={alpha!r} is a probability between 0 and 1.")
    causes = read_causes(graph)
    found = regimes(data)
    for node in causes.nodes:
        if node not in found[0].table.variables:
            raise UnknownVariable.named(str(node), found[0].table.variables, "the data, though the graph has it")
    return RegimeTests(tuple(each for regime in found for each in _tests(causes, regime, test)), alpha)


def _tests(causes: DAG | CausalGraph, regime: Regime, name: TestName) -> Iterator[RegimeTest]:
    cut = causes.without_incoming([target for target in regime.targets if target in causes])
    order = (cut if isinstance(cut, DAG) else cut.directed_part()).topological_order
    # What does not vary in an experiment depends on nothing there.
    varying = [str(node) for node in order if len(set(regime.table.column(str(node)).tolist())) > 1]
    if len(varying) < 2:
        return
    asked = read_test(regime.table.select(varying), name)
    for earlier, later in combinations(varying, 2):
        if cut.is_adjacent(earlier, later):
            continue
        separator = cut.parents(later) if isinstance(cut, DAG) else cut.minimal_separator(earlier, later)
        if separator is not None:
            given = tuple(name for name in varying if name in separator)
            yield RegimeTest(regime.targets, earlier, later, given, asked.test(earlier, later, given))


#: What makes an experiment good: much information, a small class at worst, or many edges directed on average.
Criterion: TypeAlias = Literal["entropy", "minimax", "edges"]


@dataclass(frozen=True, slots=True)
class ExperimentValue:
    """What setting one variable tells, where all graphs of a class are equally probable."""

    target: Node  # The variable that is set
    entropy: float  # Of what is seen, in nats: by so much the uncertainty about the graph falls on average
    largest_class: int  # How many graphs are left at worst
    expected_class_size: float  # How many are left on average
    #: How many edges get a direction at least, and on average.
    fewest_directed: int
    expected_directed: float
    num_outcomes: int  # In how many ways the edges at the target can turn out to be directed


class ExperimentPlan(NamedTuple):
    """The targets that were set one after the other, and the graph that is known then."""

    targets: tuple[Node, ...]
    graph: PDAG


def rank_experiments(
    graph: GraphLike[DAG | PDAG], candidates: Nodes | None = None, criterion: Criterion = "entropy"
) -> tuple[ExperimentValue, ...]:
    """Experiments on single variables by what they tell, the best first.

    To set X shows the direction of each edge at X, and with it all that follows. Among the undirected neighbours of X
    the causes can be any clique; a class is left for each, whose size is counted. Experiments on variables without an
    undirected edge tell nothing. The cliques among the neighbours of each candidate, times Meek's rules and clique
    picking on its component. See He & Geng (2008), Active learning of causal networks with intervention experiments and
    optimal designs, JMLR 9; Tong & Koller (2001), Active learning for structure in Bayesian networks, IJCAI.

    Parameters
    ----------
    graph
        The essential graph of a class, of observation or of experiments; or a DAG, for its class of observation.
    candidates
        The variables that can be set; usually all.
    criterion
        "entropy" for most information on average (He & Geng 2008), "minimax" for the smallest class at worst, "edges"
        for most edges directed on average. Equals are in the order of nodes.

    Examples
    --------
    >>> for value in rank_experiments(PDAG("A - B - C - D - E"), criterion="minimax")[:2]:
    ...     print(value.target, value.largest_class, round(value.entropy, 3))
    C 2 1.055
    B 3 0.95
    """
    keys: dict[str, Callable[[ExperimentValue], float]] = {
        "entropy": lambda value: -value.entropy,
        "minimax": lambda value: value.largest_class,
        "edges": lambda value: -value.expected_directed,
    }
    if criterion not in keys:
        raise InvalidArgument(f"criterion={criterion!r} is none of {', '.join(map(repr, get_args(Criterion)))}.")
    pdag = _read_essential(graph)
    index = NodeIndex(pdag.nodes)
    wanted = set(pdag.nodes if candidates is None else index.names(index.select(candidates)))
    lines = pdag.undirected_part()
    components = [PDAG(lines.subgraph(part)) for part in lines.components]
    sizes = [interventional_class_size(component) for component in components]
    values = [
        _value(component, node, math.prod(sizes) // size)
        for component, size in zip(components, sizes, strict=True)
        for node in component.nodes
        if node in wanted
    ]
    values.sort(key=lambda value: index.position(value.target))
    return tuple(sorted(values, key=keys[criterion]))


def choose_experiment(
    graph: GraphLike[DAG | PDAG], candidates: Nodes | None = None, criterion: Criterion = "entropy"
) -> ExperimentValue | None:
    """The best experiment of `rank_experiments`; `None` where none would tell anything.

    Parameters are those of `rank_experiments`.

    >>> choose_experiment(PDAG("A - B - C")).target, choose_experiment(PDAG("A -> B"))
    ('B', None)
    """
    ranked = rank_experiments(graph, candidates, criterion)
    return next((value for value in ranked if value.num_outcomes > 1), None)


def after_experiment(graph: GraphLike[DAG | PDAG], target: Node, causes: Nodes = ()) -> PDAG:
    """The essential graph once it was seen which undirected neighbours of the target are its causes.

    Parameters
    ----------
    graph
        See `rank_experiments`.
    causes
        Those of its neighbours that did not respond; causes that were known before may be among them.

    Examples
    --------
    >>> after_experiment(PDAG("A - B - C - D"), "C", causes="B")
    PDAG('B -> C; C -> D; A - B')
    """
    pdag = _read_essential(graph)
    index = NodeIndex(pdag.nodes)
    place, known = index.position(target), Orientation(pdag)
    found = set(index.select(causes))
    odd = found - known.neighbors[place] - known.parents[place]
    if odd:
        raise InvalidArgument(
            f"{pdag.nodes[min(odd)]!r} can't be a cause of {target!r} here: there is no edge that could lead from it."
        )
    before = found & known.neighbors[place]
    for a in before:
        if not before - {a} <= known.adjacent[a]:
            other = pdag.nodes[min(before - {a} - known.adjacent[a])]
            raise InvalidArgument(
                f"{pdag.nodes[a]!r} and {other!r} can't both be causes of {target!r}: they are not joined, so that "
                "observation would have shown it."
            )
    _direct_around(known, place, before)
    return known.to_pdag()


def plan_experiments(
    graph: GraphLike[DAG | PDAG],
    perform: Callable[[Node], Nodes],
    *,
    candidates: Nodes | None = None,
    criterion: Criterion = "entropy",
    max_experiments: int | None = None,
) -> ExperimentPlan:
    """Choose an experiment, perform it, direct what follows, and so on until nothing more can be told.

    Parameters
    ----------
    graph, candidates, criterion
        See `rank_experiments`.
    perform
        From a target to the variables that are its causes among its neighbours.

    Examples
    --------
    >>> truth = DAG("A -> B -> C -> D -> E")
    >>> plan_experiments(truth, truth.parents)
    ExperimentPlan(targets=('C', 'A'), graph=PDAG('A -> B; B -> C; C -> D; D -> E'))
    """
    if max_experiments is not None:
        check_count("max_experiments", max_experiments)
    pdag = _read_essential(graph)
    targets: list[Node] = []
    while max_experiments is None or len(targets) < max_experiments:
        best = choose_experiment(pdag, candidates, criterion)
        if best is None:
            break
        targets.append(best.target)
        pdag = after_experiment(pdag, best.target, perform(best.target))
    return ExperimentPlan(tuple(targets), pdag)


def experiment_information(graphs: WeightedGraphs, targets: Targets = ()) -> dict[str, float]:
    """How much an experiment on each variable would tell about graphs of which none is sure.

    With enough rows an experiment tells which interventional class the graph is in; what it adds to the experiments
    that are there is the entropy of these classes less that of the classes known from the others, in nats. Graphs may
    have different edges, as bootstrap graphs or draws from a posterior have.

    Parameters
    ----------
    targets
        The experiments that there are, besides observation.

    Examples
    --------
    >>> graphs = WeightedGraphs.of([DAG("A -> B; C"), DAG("B -> A; C"), DAG("A; B; C")])
    >>> {name: round(gain, 3) for name, gain in experiment_information(graphs).items()}
    {'A': 0.462, 'B': 0.462, 'C': 0.0}
    """
    listed = list(targets)
    distinct = graphs.distinct()
    graphs_of = map(distinct.graph, range(len(distinct)))
    members = [member for member in graphs_of if isinstance(member, DAG)]
    if len(members) < len(distinct):
        raise InvalidArgument("Information is told about DAGs, but some of these graphs have undirected edges.")

    def entropy(family: list[Nodes]) -> float:
        shares: dict[PDAG, float] = {}
        for member, weight in zip(members, distinct.weights.tolist(), strict=True):
            key = interventional_essential_graph(member, family)
            shares[key] = shares.get(key, 0.0) + weight
        return _entropy(shares.values())

    known = entropy(listed)
    return {name: max(entropy([*listed, [name]]) - known, 0.0) for name in graphs.names}


def _read_essential(graph: GraphLike[DAG | PDAG]) -> PDAG:
    read = read_class(graph)
    if isinstance(read, DAG):
        return essential_graph(read)
    if not has_free_components(read):
        raise InvalidArgument(
            "This PDAG is no essential graph: what one experiment shows would depend on edges elsewhere. Give a DAG, "
            "essential_graph(dag), interventional_essential_graph(dag, targets), or what after_experiment returned."
        )
    return read


def _value(component: PDAG, target: Node, elsewhere: int) -> ExperimentValue:
    """What an experiment tells: only about the component of its target, as components don't depend on each other."""
    known = Orientation(component)
    place, num_edges = NodeIndex(component.nodes).position(target), component.num_edges
    total = count_orientations(known.neighbors)
    sizes, directed = [], []
    for causes in _cliques(known.adjacent, known.neighbors[place]):
        changed = _direct_around(known, place, causes)
        sizes.append(count_orientations(known.neighbors))
        directed.append(num_edges - len(known.undirected_edges()))
        for edge in reversed(changed):
            known.undo(*edge)
    shares = [size / total for size in sizes]
    return ExperimentValue(
        target,
        _entropy(shares),
        max(sizes) * elsewhere,
        sum(share * size for share, size in zip(shares, sizes, strict=True)) * elsewhere,
        min(directed),
        sum(share * number for share, number in zip(shares, directed, strict=True)),
        len(sizes),
    )


def _direct_around(known: Orientation, place: int, causes: set[int]) -> list[tuple[int, int]]:
    """Direct the edges at a place and all that follows; the edges directed."""
    around = [(other, place) if other in causes else (place, other) for other in sorted(known.neighbors[place])]
    for edge in around:
        known.orient(*edge)
    return around + [each for edge in around for each in known.close(fresh=edge)]


def _cliques(adjacent: list[set[int]], candidates: set[int]) -> Iterator[set[int]]:
    """All sets of candidates that are joined with each other, the empty one first."""
    waiting: list[tuple[set[int], list[int]]] = [(set(), sorted(candidates))]
    while waiting:
        chosen, free = waiting.pop()
        yield chosen
        for number, node in enumerate(free):
            waiting.append((chosen | {node}, [other for other in free[number + 1 :] if other in adjacent[node]]))


def _entropy(shares: Iterable[float]) -> float:
    return -sum(share * math.log(share) for share in shares if share > 0) + 0.0
