"""Graphs that structural EM sets out from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from plausible.errors import InvalidArgument, PlausibleWarning, UnknownVariable, suggestion
from plausible.graphs import DAG
from plausible.learn.incomplete.cases import Cases
from plausible.learn.structures.knowledge import Knowledge

__all__ = ["DisconnectedHidden", "GraphStart", "start_graph"]

#: A graph, arrow text, or a policy.
GraphStart: TypeAlias = "DAG | Literal['naive-bayes', 'random', 'empty'] | str | None"

_POLICIES = ("naive-bayes", "random", "empty")
#: Of the observed variables that a hidden one is joined to, at random.
_SHARE = 0.5


class DisconnectedHidden(PlausibleWarning):
    """A hidden variable has no edge at the start: structural EM will never give it one."""


def start_graph(
    start: GraphStart, cases: Cases, knowledge: Knowledge, generator: np.random.Generator | None = None
) -> DAG:
    """The graph to begin with, required edges included.

    "naive-bayes" joins each hidden variable to all observed ones, "random" to a random share of them; without hidden
    variables both have the required edges alone, as "empty" has. By default "naive-bayes". Warns of hidden variables
    without an edge: they are independent of all that is observed, hence in the completed data too, and no edge gains
    (Koller & Friedman 2009, exercise 19.27).

    >>> from plausible.variables import Variable
    >>> cases = Cases.of([Variable("H", 2), Variable("a", 2), Variable("b", 2)], {"a": [0, 1], "b": [0, 1]})
    >>> start_graph(None, cases, Knowledge(), np.random.default_rng(0)).edges
    (('H', 'a'), ('H', 'b'))
    """
    names = list(cases.variables)
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
    for parent in hidden:
        drawn = np.ones(len(observed), dtype=np.bool_)
        if policy == "random" and observed:
            drawn = generator.random(len(observed)) < _SHARE
            drawn[generator.integers(len(observed))] = True
        for child in (name for name, is_drawn in zip(observed, drawn.tolist(), strict=True) if is_drawn):
            is_allowed = constraints.allowed[names.index(parent), names.index(child)]
            has_room = len(graph.parents(child)) < constraints.max_parents
            if is_allowed and has_room and not graph.has_edge(parent, child) and child not in graph.ancestors([parent]):
                graph = graph.with_edge(parent, child)
    return graph


def _warn_of_disconnected(graph: DAG, cases: Cases) -> None:
    for name in cases.hidden:
        if not graph.neighbors(name) and cases.variables[name].num_states > 1:
            warnings.warn(
                f"The hidden variable {name!r} has no edge at the start and will never gain one: it is independent of "
                "all that is observed. Start from a graph that joins it to others, such as start='naive-bayes'.",
                DisconnectedHidden,
                stacklevel=4,
            )
