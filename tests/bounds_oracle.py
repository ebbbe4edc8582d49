"""Random causal models by response types, and what they say by listing every unit: loops over dictionaries only."""

from __future__ import annotations

from itertools import product as cartesian

import numpy as np

from plausible.factors import Factor
from plausible.graphs import CausalGraph
from plausible.variables import Variable


class Units:
    """A graph, the states of its variables, and (probability, {variable: {parents' states: state}}) for every unit."""

    def __init__(self, graph, sizes, units):
        self.graph, self.sizes, self.units = graph, sizes, units

    def value(self, name, do, functions):
        """The state of a variable under `do`, where a setting is a state or (name, do) of another world."""
        if name in do:
            return self.value(*do[name], functions) if isinstance(do[name], tuple) else do[name]
        return functions[name][tuple(self.value(parent, do, functions) for parent in self.graph.parents(name))]

    def probability(self, *findings):
        """P(all findings), each (name, do, allowed states)."""
        return sum(
            share
            for share, functions in self.units
            if all(self.value(name, do, functions) in allowed for name, do, allowed in findings)
        )

    def joint(self):
        """The observed distribution."""
        names = list(self.graph.nodes)
        table = np.zeros([self.sizes[name] for name in names])
        for share, functions in self.units:
            table[tuple(self.value(name, {}, functions) for name in names)] += share
        return Factor([Variable(name, self.sizes[name]) for name in names], table)


def all_functions(graph, sizes, name):
    """Every function of the parents' states, as a dictionary."""
    rows = list(cartesian(*(range(sizes[parent]) for parent in graph.parents(name))))
    return [dict(zip(rows, values, strict=True)) for values in cartesian(range(sizes[name]), repeat=len(rows))]


def random_units(rng, graph, sizes, num_types=4):
    """Each district has a few joint types with random shares; districts are independent."""
    graph = CausalGraph(graph)
    districts = []
    for district in graph.districts:
        members = sorted(district)
        choices = {name: all_functions(graph, sizes, name) for name in members}
        shares = rng.dirichlet(np.ones(num_types))
        types = [{name: choices[name][rng.integers(len(choices[name]))] for name in members} for _ in shares]
        districts.append(list(zip(shares, types, strict=True)))
    units = []
    for chosen in cartesian(*districts):
        functions = {name: function for _, some in chosen for name, function in some.items()}
        units.append((float(np.prod([share for share, _ in chosen])), functions))
    return Units(graph, sizes, units)
