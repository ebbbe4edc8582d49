"""Random influence diagrams with every name, state and number that a file format could trip over."""

from __future__ import annotations

import numpy as np
from random_networks import random_network

from plausible.decisions import Decision, InfluenceDiagram
from plausible.models import Notes, VariableNotes
from plausible.utilities import Utility


def random_diagram(rng: np.random.Generator, nasty: bool = True, min_states: int = 1) -> InfluenceDiagram:
    """A random network some of whose variables became decisions, which see their parents in shuffled order."""
    network = random_network(rng, int(rng.integers(1, 7)), nasty=nasty, min_states=min_states)
    chosen = {name for name in network.variables if rng.random() < 0.4}
    decisions = [
        Decision(network.variables[name], sees=rng.permutation(network.cpd(name).parent_names).tolist())
        for name in network.variables
        if name in chosen
    ]
    chance = [cpd for name, cpd in network.cpds.items() if name not in chosen]
    utilities = [_utility(rng, network.variables, f"{'U/' if nasty else 'U'}{i}") for i in range(rng.integers(0, 4))]
    if not decisions and not utilities:
        utilities = [Utility([], np.array(rng.normal()), name="U")]
    diagram = InfluenceDiagram(chance, decisions, utilities)
    return InfluenceDiagram(chance, decisions, utilities, _notes(rng, diagram) if nasty else None)


def _utility(rng, variables, name) -> Utility:
    parents = [variables[str(parent)] for parent in rng.permutation(list(variables))[: rng.integers(0, 4)]]
    values = rng.normal(scale=10.0 ** rng.integers(-8, 9), size=[parent.num_states for parent in parents])
    return Utility(parents, np.where(rng.random(values.shape) < 0.2, 0.0, values), name=name)


def _notes(rng, diagram) -> Notes:
    positions = rng.integers(-300, 300, size=(len(diagram.graph.nodes), 2)) / 4
    noted = {
        str(node): VariableNotes(f"the {node}", 'say "so"\nthen', (float(x), float(y)), {"unit": "a < b", "k.e y": "="})
        for node, (x, y) in zip(diagram.graph.nodes, positions, strict=True)
        if rng.random() < 0.6
    }
    return Notes("some diagram", "of no use", "nobody", {"source": "random"}, noted)
