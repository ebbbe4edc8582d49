"""Classes of DAGs that observation, or a family of experiments, can't tell apart: their graphs, sizes and members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from math import factorial, prod
from typing import TypeAlias

from plausible.errors import InvalidArgument, InvalidGraph
from plausible.graphs.chordal import cardinality_order, is_chordal
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import consistent_extension, essential_graph, is_essential_graph, is_i_equivalent
from plausible.graphs.graph_input import GraphLike, read_class, read_dag
from plausible.graphs.listing import Listing
from plausible.graphs.meek import Orientation
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex, Nodes

#: A family of targets: for each experiment the node or the nodes that were set from outside in it.
Targets: TypeAlias = Iterable[Nodes]


def class_size(graph: GraphLike[DAG | PDAG]) -> int:
    """The number of DAGs that `class_members` would list.

    For a DAG or an essential graph this is the product over the undirected components of their numbers of acyclic
    orientations without immorality, each found by clique picking in polynomial time. A PDAG with further directions
    is counted by listing its members, as no polynomial way can be expected there.

    Wienöbst, Bannach & Liśkiewicz (2021), Polynomial-time algorithms for counting and sampling Markov equivalent
    DAGs, AAAI.

    >>> class_size(DAG("A -> B -> C -> D"))
    4
    >>> complete = DAG([(i, j) for j in range(20) for i in range(j)])
    >>> class_size(complete)  # every order of the nodes
    2432902008176640000
    """
    graph = read_class(graph)
    if isinstance(graph, PDAG) and not is_essential_graph(graph):
        return sum(1 for _ in class_members(graph))
    pdag = essential_graph(graph) if isinstance(graph, DAG) else graph
    return count_orientations(Orientation(pdag).neighbors)


def count_orientations(neighbors: Sequence[set[int]]) -> int:
    """The number of acyclic orientations without immorality of a chordal graph; for each place its neighbours."""
    counts: dict[frozenset[int], int] = {}
    return prod(_count(neighbors, part, counts) for part in _components(neighbors, range(len(neighbors))))


def _count(neighbors: Sequence[set[int]], part: frozenset[int], counts: dict[frozenset[int], int]) -> int:
    """The orientations of a connected chordal graph, by the clique that comes first.

    Cliques that come first for one and the same orientation are told apart by a clique tree: it counts for the one
    nearest to the root. So orders of a clique that begin with its separator towards the root are left out.
    """
    if sum(len(neighbors[node] & part) for node in part) == 2 * len(part) - 2:
        return len(part)  # in a tree, any node can be the root and decides the rest
    if part not in counts:
        counts[part] = sum(
            _num_orders(len(clique), prefixes)
            * prod(_count(neighbors, rest, counts) for rest in _parts_after(neighbors, part, clique))
            for clique, prefixes in _rooted_cliques(neighbors, part)
        )
    return counts[part]


def _num_orders(size: int, prefixes: Sequence[int]) -> int:
    """The orders of `size` things whose first few are never exactly one of the nested sets of these sizes."""
    sizes = [0, *prefixes]
    orders = [0] * len(sizes)
    for i in reversed(range(len(sizes))):
        # Take away the orders whose last forbidden beginning is the j-th set.
        spoilt = sum(factorial(sizes[j] - sizes[i]) * orders[j] for j in range(i + 1, len(sizes)))
        orders[i] = factorial(size - sizes[i]) - spoilt
    return orders[0]


def _rooted_cliques(neighbors: Sequence[set[int]], part: frozenset[int]) -> list[tuple[frozenset[int], list[int]]]:
    """The maximal cliques, each with the sizes of the separators that it contains on its way to the root of a tree."""
    cliques, parents = _clique_tree(neighbors, part)
    separators: list[list[frozenset[int]]] = []
    for clique, parent in zip(cliques, parents, strict=True):
        if parent is None:
            separators.append([])
        else:
            # A separator in this clique is in all cliques between, so the parent's list has it.
            inherited = [separator for separator in separators[parent] if separator <= clique]
            separators.append([*inherited, clique & cliques[parent]])
    return [(clique, sorted(set(map(len, row)))) for clique, row in zip(cliques, separators, strict=True)]


def _clique_tree(neighbors: Sequence[set[int]], part: frozenset[int]) -> tuple[list[frozenset[int]], list[int | None]]:
    """The maximal cliques of a connected chordal graph and the parent of each (Blair & Peyton 1993)."""
    cliques: list[set[int]] = []
    parents: list[int | None] = []
    home: dict[int, int] = {}
    times: dict[int, int] = {}
    num_previous = 0
    for node in cardinality_order(neighbors, part):
        earlier = neighbors[node] & times.keys()
        if len(earlier) <= num_previous or not cliques:
            parents.append(home[max(earlier, key=times.__getitem__)] if earlier else None)
            cliques.append(earlier)
        cliques[-1].add(node)
        home[node] = len(cliques) - 1
        times[node] = len(times)
        num_previous = len(earlier)
    return list(map(frozenset, cliques)), parents


def _parts_after(
    neighbors: Sequence[set[int]], part: frozenset[int], clique: frozenset[int]
) -> Iterator[frozenset[int]]:
    """The undirected components that remain when the clique comes first and all that follows is directed.

    A lexicographic breadth-first search from the clique: whenever it enters a group of nodes that have seen the same
    nodes before them, the edges inside the group are those still open. Single nodes, which have one orientation, are
    left out.
    """
    search = _LexicographicSearch(neighbors, [clique, part - clique])
    reported = set(clique)
    while group := search.first_group():
        if len(group) > 1 and group.isdisjoint(reported):
            reported |= group
            yield from (component for component in _components(neighbors, group) if len(component) > 1)
        search.visit(min(group))


class _LexicographicSearch:
    """An ordered partition of the nodes not visited yet; visiting one moves its neighbours ahead within each group."""

    def __init__(self, neighbors: Sequence[set[int]], groups: Sequence[Set[int]]) -> None:
        self._neighbors = neighbors
        self._groups = [set(group) for group in groups]
        self._group_of = {node: number for number, group in enumerate(groups) for node in group}
        # A doubly linked list of group numbers; -1 ends it on both sides.
        self._next = [*range(1, len(groups)), -1]
        self._previous = list(range(-1, len(groups) - 1))
        self._head = 0

    def first_group(self) -> set[int]:
        """The first group that still has nodes; empty at the end."""
        while not self._groups[self._head] and self._next[self._head] != -1:
            self._head = self._next[self._head]
            self._previous[self._head] = -1
        return self._groups[self._head]

    def visit(self, node: int) -> None:
        """Take out a node and split every group into its neighbours and, after them, the others."""
        self._groups[self._group_of.pop(node)].remove(node)
        split: dict[int, int] = {}
        for other in self._neighbors[node] & self._group_of.keys():
            old = self._group_of[other]
            if old not in split:
                split[old] = self._insert_before(old)
            self._groups[old].remove(other)
            self._groups[split[old]].add(other)
            self._group_of[other] = split[old]

    def _insert_before(self, old: int) -> int:
        new, before = len(self._groups), self._previous[old]
        self._groups.append(set())
        self._next.append(old)
        self._previous.append(before)
        self._previous[old] = new
        if before == -1:
            self._head = new
        else:
            self._next[before] = new
        return new


def _components(neighbors: Sequence[set[int]], nodes: Iterable[int]) -> list[frozenset[int]]:
    """The connected components of the subgraph on these nodes."""
    left = set(nodes)
    parts: list[frozenset[int]] = []
    while left:
        frontier = [left.pop()]
        found = set(frontier)
        while frontier:
            fresh = neighbors[frontier.pop()] & left
            left -= fresh
            found |= fresh
            frontier.extend(fresh)
        parts.append(frozenset(found))
    return parts


def class_members(graph: GraphLike[DAG | PDAG]) -> Listing[DAG]:
    """All DAGs that are equivalent to a DAG, or that a PDAG stands for, each once.

    A PDAG stands for the DAGs with its skeleton, its directions and exactly its immoralities; there may be none. An
    undirected edge is tried in both directions, each followed by Meek's rules. As these are complete, every try leads
    to a member, so the time between two members is at most one closure for every edge. There can be exponentially
    many: `class_size` counts them first.

    >>> for member in class_members(DAG("A -> B -> C")):
    ...     print(member)
    A -> B; B -> C
    B -> A; B -> C
    B -> A; C -> B
    """
    graph = read_class(graph)
    pdag = essential_graph(graph) if isinstance(graph, DAG) else graph
    return Listing(lambda: _members(pdag))


def _members(pdag: PDAG) -> Iterator[DAG]:
    try:
        consistent_extension(pdag)
    except InvalidGraph:
        return
    state = Orientation(pdag)
    state.close()
    nodes = pdag.nodes
    for children in _completions(state):
        pairs = [(nodes[a], nodes[b]) for a, row in enumerate(children) for b in sorted(row)]
        yield DAG(pairs, nodes=nodes)


def _completions(state: Orientation) -> Iterator[Sequence[Set[int]]]:
    """The children of every node in each completion of a closed state, which is changed on the way."""
    directed: list[tuple[int, int]] = []
    # For each edge that was tried one way only: how much was directed before it, and the way that is still to try.
    open_choices: list[tuple[int, tuple[int, int]]] = []
    while True:
        while edge := next(((a, min(row)) for a, row in enumerate(state.neighbors) if row), None):
            open_choices.append((len(directed), edge[::-1]))
            directed += _direct(state, edge)
        yield state.children
        if not open_choices:
            return
        num_before, other_way = open_choices.pop()
        while len(directed) > num_before:
            state.undo(*directed.pop())
        directed += _direct(state, other_way)


def _direct(state: Orientation, edge: tuple[int, int]) -> list[tuple[int, int]]:
    """Direct an edge and what follows from it; all edges directed."""
    state.orient(*edge)
    return [edge, *state.close(fresh=edge)]


def interventional_essential_graph(dag: GraphLike[DAG], targets: Targets = ()) -> PDAG:
    """The graph of all DAGs that experiments can't tell from this one: directed are the edges that all of them share.

    Two DAGs are equivalent under a family of targets if they have the same skeleton and immoralities, and the same
    direction of every edge of which some target contains exactly one end. So the class is that of observation with
    these directions as further knowledge, closed under Meek's rules, which are complete. What is set from outside in
    one experiment is observed in others, if only in those without a target: the empty target always counts as given,
    and adds nothing where every node is left alone in some experiment. The DAG is a member of the class; targets are,
    for each experiment, the nodes that were set together: a node or several.

    Notes
    -----
    O(edges x targets), and Meek's rules.

    Hauser & Bühlmann (2012), Characterization and greedy learning of interventional Markov equivalence classes of
    directed acyclic graphs, JMLR 13.

    >>> interventional_essential_graph(DAG("A -> B -> C -> D"), targets=["B"])
    PDAG('A -> B; B -> C; C -> D')
    >>> interventional_essential_graph(DAG("A -> B -> C -> D"), targets=[["A", "B"], "D"])
    PDAG('B -> C; C -> D; A - B')
    """
    dag = read_dag(dag)
    masks = target_masks(dag.nodes, targets)
    work = Orientation(essential_graph(dag))
    for parent, children in enumerate(dag.child_rows):
        for child in children:
            if child in work.neighbors[parent] and separates(masks, parent, child):
                work.orient(parent, child)
    work.close()
    return work.to_pdag()


def is_interventionally_equivalent(first: GraphLike[DAG], second: GraphLike[DAG], targets: Targets = ()) -> bool:
    """Whether no experiment of a family tells two DAGs apart, however many rows it has.

    Targets are those of `interventional_essential_graph`.

    >>> is_interventionally_equivalent(DAG("A -> B"), DAG("B -> A"), targets=[["A", "B"]])
    True
    >>> is_interventionally_equivalent(DAG("A -> B"), DAG("B -> A"), targets=["A"])
    False
    """
    first, second = read_dag(first), read_dag(second)
    masks = target_masks(first.nodes, targets)
    if not is_i_equivalent(first, second):
        return False
    place = NodeIndex(first.nodes).positions
    turned = set(first.edges).difference(second.edges)
    return not any(separates(masks, place[a], place[b]) for a, b in turned)


def interventional_class_size(graph: GraphLike[DAG | PDAG], targets: Targets = ()) -> int:
    """The number of DAGs that a family of experiments can't tell apart, without listing them.

    The undirected components of the graph of such a class are chordal and get their directions independently of each
    other and of the directed edges (Hauser & Bühlmann 2012, proposition 16): so they are counted by themselves, in
    polynomial time. A PDAG of another kind is counted by listing its members. Targets come with a member of the class;
    the essential graph of a class has them in it.

    >>> chain = DAG("A -> B -> C -> D")
    >>> [interventional_class_size(chain, targets) for targets in ([], ["D"], ["A"])]
    [4, 3, 1]
    """
    pdag = _class_graph(graph, targets)
    return count_orientations(Orientation(pdag).neighbors) if has_free_components(pdag) else class_size(pdag)


def has_free_components(pdag: PDAG) -> bool:
    """Whether each undirected component can be directed by itself: it is chordal, and its nodes have the same parents.

    So it is with the essential graph of every class, of observation or of experiments.
    """
    parents = {node: set(pdag.parents(node)) for node in pdag.nodes}
    return all(parents[a] == parents[b] for a, b in pdag.undirected_edges) and is_chordal(pdag.undirected_part())


def interventional_class_members(graph: GraphLike[DAG | PDAG], targets: Targets = ()) -> Listing[DAG]:
    """The DAGs that a family of experiments can't tell apart, each once; see `interventional_class_size`.

    >>> for member in interventional_class_members(DAG("A -> B -> C"), targets=["C"]):
    ...     print(member)
    A -> B; B -> C
    B -> A; B -> C
    """
    return class_members(_class_graph(graph, targets))


def target_masks(nodes: Sequence[Node], targets: Targets) -> tuple[int, ...]:
    """Each different target that is not empty as a set of bits, in the order given."""
    if isinstance(targets, str):
        raise InvalidArgument(f"targets={targets!r} is one name, not a family of targets. Write targets=[{targets!r}].")
    index = NodeIndex(nodes)
    masks = (sum(1 << place for place in index.select(target)) for target in targets)
    return tuple(dict.fromkeys(mask for mask in masks if mask))


def separates(masks: Iterable[int], first: int, second: int) -> bool:
    """Whether some target, a set of bits, contains exactly one of two places."""
    return any((mask >> first ^ mask >> second) & 1 for mask in masks)


def _class_graph(graph: GraphLike[DAG | PDAG], targets: Targets) -> PDAG:
    read = read_class(graph)
    if isinstance(read, DAG):
        return interventional_essential_graph(read, targets)
    if list(targets):
        raise InvalidArgument("The graph of a class has its targets in it: give targets= with a DAG only.")
    return read
