"""Random influence diagrams, and what they say by plain enumeration: whole joint arrays, no algebra of the library."""

from __future__ import annotations

from itertools import product as cartesian

import numpy as np

from network_oracle import random_rows
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.utilities import Utility
from plausible.variables import Variable


def random_diagram(rng, num_chance=3, num_decisions=2, num_utilities=2, max_states=2, max_parents=2, zeros=0.2):
    """Chance and decisions in a random order, each with some of the earlier ones as parents; utilities of anything."""
    kinds = rng.permutation(["chance"] * num_chance + ["decision"] * num_decisions)
    variables, chance, decisions = [], [], []
    for place, kind in enumerate(kinds):
        chosen = rng.permutation(place)[: rng.integers(0, max_parents + 1)]
        parents = [variables[i] for i in chosen]
        if kind == "chance":
            variable = Variable(f"X{place}", int(rng.integers(1 + (rng.random() < 0.9), max_states + 1)))
            shape = [v.num_states for v in (*parents, variable)]
            chance.append(TableCPD(variable, random_rows(rng, shape, zeros), parents))
        else:
            variable = Variable(f"D{place}", int(rng.integers(1 + (rng.random() < 0.9), max_states + 1)))
            decisions.append(Decision(variable, sees=parents))
        variables.append(variable)
    utilities = []
    for number in range(num_utilities):
        chosen = rng.permutation(len(variables))[: rng.integers(0, max_parents + 1)]
        parents = [variables[i] for i in chosen]
        utilities.append(Utility(parents, rng.normal(size=[v.num_states for v in parents]), name=f"V{number}"))
    rng.shuffle(decisions)
    return InfluenceDiagram(chance, decisions, utilities)


def with_random_numbers(diagram, rng, zeros=0.0):
    """The same graph with other numbers."""
    chance = [
        TableCPD(cpd.variable, random_rows(rng, cpd.values.shape, zeros), cpd.parents)
        for cpd in diagram.chance.values()
    ]
    utilities = [
        Utility(factor.scope, rng.normal(size=factor.values.shape), name=name)
        for name, factor in diagram.utility_factors.items()
    ]
    return InfluenceDiagram(chance, diagram.decisions.values(), utilities)


def spread(array, names, everything):
    """An array over some names as one over all of them, of size one where it does not depend on a name."""
    order = sorted(range(len(names)), key=lambda axis: everything.index(names[axis]))
    shape = [1] * len(everything)
    for axis in order:
        shape[everything.index(names[axis])] = array.shape[axis]
    return np.transpose(array, order).reshape(shape)


def chance_array(diagram):
    """The product of the chance tables over all variables."""
    everything = list(diagram.variables)
    joint = np.ones([diagram.variables[name].num_states for name in everything])
    for name, cpd in diagram.chance.items():
        joint = joint * spread(cpd.values, [*cpd.parent_names, name], everything)
    return joint


def utility_array(diagram):
    """The total utility over all variables."""
    everything = list(diagram.variables)
    total = np.zeros([diagram.variables[name].num_states for name in everything])
    for factor in diagram.utility_factors.values():
        total = total + spread(factor.values, list(factor.names), everything)
    return total


def rule_array(diagram, name, rule):
    """A rule over (what is seen, decision) spread over all variables."""
    return spread(rule, [*diagram.decisions[name].sees, name], list(diagram.variables))


def rule_shape(diagram, name):
    """The shape of a rule."""
    return [diagram.variables[item].num_states for item in (*diagram.decisions[name].sees, name)]


def expected_utility(diagram, rules):
    """EU of arrays of rules, as one sum over the joint."""
    joint = chance_array(diagram)
    for name, rule in rules.items():
        joint = joint * rule_array(diagram, name, rule)
    return float((joint * utility_array(diagram)).sum())


def deterministic_rules(diagram, name):
    """All deterministic rules of a decision as arrays."""
    shape = rule_shape(diagram, name)
    num_states, num_actions = int(np.prod(shape[:-1])), shape[-1]
    for actions in cartesian(range(num_actions), repeat=num_states):
        yield np.eye(num_actions)[list(actions)].reshape(shape)


def all_strategies(diagram):
    """All deterministic strategies as dictionaries of arrays."""
    names = list(diagram.decisions)
    for rules in cartesian(*(list(deterministic_rules(diagram, name)) for name in names)):
        yield dict(zip(names, rules, strict=True))


def num_strategies(diagram):
    """How many `all_strategies` would give."""
    shapes = [rule_shape(diagram, name) for name in diagram.decisions]
    return int(np.prod([float(shape[-1]) ** np.prod(shape[:-1]) for shape in shapes]))


def best_value(diagram):
    """The maximum expected utility over all deterministic strategies."""
    joint, total = chance_array(diagram), utility_array(diagram)
    weighed = joint * total
    best = -np.inf
    for rules in all_strategies(diagram):
        product = weighed
        for name, rule in rules.items():
            product = product * rule_array(diagram, name, rule)
        best = max(best, float(product.sum()))
    return best


def random_mixed_rules(diagram, rng):
    """A fully mixed rule for each decision."""
    return {
        name: random_rows(rng, rule_shape(diagram, name), 0.0) * 0.98 + 0.02 / rule_shape(diagram, name)[-1]
        for name in diagram.decisions
    }


def action_values(diagram, decision, rules):
    """Σ over all else of probability x utility, an array over (what is seen, decision); its own rule is left out."""
    everything = list(diagram.variables)
    product = chance_array(diagram) * utility_array(diagram)
    for name, rule in rules.items():
        if name != decision:
            product = product * rule_array(diagram, name, rule)
    kept = [*diagram.decisions[decision].sees, decision]
    summed = product.sum(axis=tuple(i for i, name in enumerate(everything) if name not in kept))
    left = [name for name in everything if name in kept]
    return np.transpose(summed, [left.index(name) for name in kept])


def structure(edges, decisions, utilities):
    """A diagram of binary variables with given edges, all numbers random; edges into decisions are what they see."""
    rng = np.random.default_rng(7)
    pairs = [tuple(edge.split(" -> ")) for edge in edges.split("; ")]
    nodes = list(dict.fromkeys(name for pair in pairs for name in pair))
    above = {name: [a for a, b in pairs if b == name] for name in nodes}
    chance = [name for name in nodes if name not in decisions and name not in utilities]
    return InfluenceDiagram(
        [
            TableCPD(
                Variable(n, 2), random_rows(rng, [2] * (len(above[n]) + 1), 0.0), [Variable(a, 2) for a in above[n]]
            )
            for n in chance
        ],
        [Decision(name, 2, sees=above.get(name, [])) for name in decisions],
        [Utility(above.get(n, []), rng.normal(size=[2] * len(above.get(n, []))), name=n) for n in utilities],
    )
