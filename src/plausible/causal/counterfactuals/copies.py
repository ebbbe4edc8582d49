"""Copies: the variables of several worlds, those that can't differ between worlds being one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from plausible.causal.counterfactuals.potential import Potential, Setting
from plausible.errors import UnknownVariable
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node
from plausible.variables import Variable

__all__ = ["Copies", "Copy", "Value"]


class Value(NamedTuple):
    """What a variable of some world is: the state of a copy, or a constant (copy -1)."""

    copy: int
    code: int


class Copy(NamedTuple):
    """A variable with the parents that it has in some world. Copies with the same parents are one."""

    variable: str
    causes: tuple[Value, ...]


class Copies:
    """The copies that potential responses depend on, causes first; `value` adds those of one more.

    Parameters
    ----------
    graph
        What causes what.
    variable
        Node -> its variable.

    Examples
    --------
    >>> copies = Copies(CausalGraph("Z -> X -> Y; Z -> Y"), lambda name: Variable(str(name), 2))
    >>> [copies.value(Potential(name, {"X": 1})) for name in "ZXY"]
    [Value(copy=0, code=0), Value(copy=-1, code=1), Value(copy=1, code=0)]
    >>> copies.listed[1]
    Copy(variable='Y', causes=(Value(copy=-1, code=1), Value(copy=0, code=0)))
    """

    def __init__(self, graph: CausalGraph, variable: Callable[[Node], Variable]) -> None:
        self._graph, self._variable, self._order = graph, variable, graph.topological_order
        self._known: dict[Copy, Value] = {}

    @property
    def listed(self) -> tuple[Copy, ...]:
        """All copies so far; `Value.copy` is a position among them."""
        return tuple(self._known)

    def value(self, term: Potential) -> Value:
        """The value of a potential response; its ancestors' copies are made first."""
        for name in (*term.do, term.variable):
            if name not in self._graph:
                raise UnknownVariable.named(name, self._graph.nodes, "this graph")
        if term.variable in term.do:
            return self._setting(term.variable, term.do[term.variable])
        reached = self._reached(term.variable, term.do)
        values: dict[Node, Value] = {}
        for node in self._order:
            if node in reached:
                values[node] = self._setting(node, term.do[str(node)]) if node in term.do else self._copy(node, values)
        return values[term.variable]

    def _reached(self, variable: str, do: Mapping[str, Setting]) -> set[Node]:
        """The variables that this one depends on, through none that is set."""
        reached: set[Node] = {variable}
        waiting: list[Node] = [variable]
        while waiting:
            new = [p for p in self._graph.parents(waiting.pop()) if p not in reached]
            reached.update(new)
            waiting += [parent for parent in new if parent not in do]
        return reached

    def _setting(self, node: Node, setting: Setting) -> Value:
        if isinstance(setting, Potential):
            return self.value(setting)
        return Value(-1, self._variable(node).index(setting))

    def _copy(self, node: Node, values: Mapping[Node, Value]) -> Value:
        copy = Copy(str(node), tuple(values[parent] for parent in self._graph.parents(node)))
        return self._known.setdefault(copy, Value(len(self._known), 0))
