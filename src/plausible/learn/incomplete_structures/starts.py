"""Graphs that structural EM sets out from."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, PlausibleWarning, UnknownVariable, suggestion
from plausible.graphs import DAG
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.problem import hidden_variables
from plausible.learn.incomplete_structures.completion import GraphJudge
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: A graph, arrow text, or a policy.
GraphStart: TypeAlias = "DAG | Literal['naive-bayes', 'random', 'empty'] | str | None"

_POLICIES = ("naive-bayes", "random", "empty")
#: Of the observed variables that a hidden one is joined to, at random.
_SHARE = 0.5
#: Without hidden variables a random graph gives each variable up to so many parents, required ones aside.
_MOST_PARENTS = 2


class DisconnectedHidden(PlausibleWarning):
    """A hidden variable has no edge at the start: structural EM will never give it one."""


def start_graph(
    start: GraphStart, cases: Cases, knowledge: Knowledge, generator: np.random.Generator | None = None
) -> DAG:
    """The graph to begin with, required edges included.

    "naive-bayes" joins each hidden variable to all observed ones, "random" to a random share of them; without hidden
    variables "naive-bayes" has the required edges alone, as "empty" has, and "random" is a sparse graph along a random
    order. By default "naive-bayes". Warns of hidden variables without an edge: they are independent of all that is
    observed, hence in the completed data too, and no edge gains (Koller & Friedman 2009, exercise 19.27).

    >>> from plausible.variables import Variable
    >>> cases = Cases.of([Variable("H", 2), Variable("a", 2), Variable("b", 2)], {"a": [0, 1], "b": [0, 1]})
    >>> start_graph(None, cases, Knowledge(), np.random.default_rng(0)).edges
    (('H', 'a'), ('H', 'b'))
    """
    names = [*cases.variables, *cases.continuous]
    policy = start if start is not None else "naive-bayes"
    if isinstance(policy, str) and policy.strip().replace("-", "").isalpha():
        if policy not in _POLICIES:
            raise InvalidArgument(f"start={policy!r} is no graph and no policy.{suggestion(policy, _POLICIES)}")
        graph = _by_policy(policy, names, cases.hidden, knowledge, generator or np.random.default_rng(0))
    else:
        graph = DAG(policy)
        for node in graph.nodes:
            if node not in names:
                raise UnknownVariable.named(node, names, "the data. If it is hidden, say so: hidden={'H': 2}")
        graph = DAG(graph.edges, nodes=names)
    _warn_of_disconnected(graph, cases)
    return graph


def _by_policy(
    policy: str,
    names: Sequence[str],
    hidden: Sequence[str],
    knowledge: Knowledge,
    generator: np.random.Generator,
) -> DAG:
    graph = DAG(knowledge.required, nodes=names)
    if policy == "empty":
        return graph
    constraints = knowledge.on(names)
    observed = sorted(name for name in names if name not in hidden)
    if policy == "random" and not hidden:
        return _random_graph(graph, observed, constraints, generator)
    for parent in hidden:
        drawn = np.ones(len(observed), dtype=np.bool_)
        if policy == "random" and observed:
            drawn = generator.random(len(observed)) < _SHARE
            drawn[generator.integers(len(observed))] = True
        for child in (name for name, is_drawn in zip(observed, drawn.tolist(), strict=True) if is_drawn):
            graph = _joined(graph, parent, child, constraints)
    return graph


def _random_graph(graph: DAG, names: Sequence[str], constraints: Constraints, generator: np.random.Generator) -> DAG:
    """A graph with up to two more parents for each variable, all of which come before it in a random order."""
    order = [names[place] for place in generator.permutation(len(names)).tolist()]
    for place, child in enumerate(order):
        num = min(int(generator.integers(_MOST_PARENTS + 1)), place)
        for parent in generator.choice(place, num, replace=False).tolist():
            graph = _joined(graph, order[parent], child, constraints)
    return graph


def _joined(graph: DAG, parent: str, child: str, constraints: Constraints) -> DAG:
    """The graph with an edge, where what is known allows it and no cycle comes of it."""
    places = {str(name): place for place, name in enumerate(graph.nodes)}
    is_allowed = constraints.allowed[places[parent], places[child]]
    has_room = len(graph.parents(child)) < constraints.max_parents
    is_new = not graph.has_edge(parent, child) and child not in graph.ancestors([parent])
    return graph.with_edge(parent, child) if is_allowed and has_room and is_new else graph


def read_cases(
    data: TableLike | Cases, hidden: Mapping[str, int] | Iterable[Variable] = (), start: object = None
) -> Cases:
    """The data with hidden variables after the columns; read with the states of the network that a run starts from."""
    if isinstance(data, Cases):
        return data
    known = dict(start.variables) if isinstance(start, BayesianNetwork) else {}
    listed = hidden_variables(hidden, known)
    if not isinstance(data, Table):
        columns = dict(columns_of(data))
        for name in listed:
            _refuse_seen(name, any(cell is not None and cell == cell for cell in columns.get(name, ())))
        data = Table.read(columns, [variable for name, variable in (known | listed).items() if name in columns])
    for name in listed:
        _refuse_seen(name, name in data.variables and data.missing.get(name, 0) < data.num_rows)
    return Cases.of({**data.variables, **known, **listed}, data)


def _refuse_seen(name: str, is_seen: bool) -> None:
    if is_seen:
        raise InvalidArgument(
            f"{name!r} is to be hidden, but the data have a column {name!r} with observed cells. Leave it out of "
            "hidden=, or name the hidden variable otherwise."
        )


def first_network(
    judge: GraphJudge, start: GraphStart | BayesianNetwork, knowledge: Knowledge, generator: np.random.Generator
) -> BayesianNetwork:
    """The network that a run starts from: the one given, or tables on the graph that is asked for."""
    if not isinstance(start, BayesianNetwork):
        return judge.start(start_graph(start, judge.cases, knowledge, generator), generator)
    absent = next((name for name in judge.cases.variables if name not in start.variables), None)
    if absent is not None:
        raise InvalidArgument(
            f"The data have {absent!r}, but the network to start from has not. Add it there, leave the column out, or "
            "start from a graph."
        )
    return BayesianNetwork([start.cpd(name) for name in judge.cases.variables])


def _warn_of_disconnected(graph: DAG, cases: Cases) -> None:
    for name in cases.hidden:
        has_choice = name in cases.continuous or cases.variables[name].num_states > 1
        if not graph.neighbors(name) and has_choice:
            warnings.warn(
                f"The hidden variable {name!r} has no edge at the start and will never gain one: it is independent of "
                "all that is observed. Start from a graph that joins it to others, such as start='naive-bayes'.",
                DisconnectedHidden,
                stacklevel=4,
            )
