"""Random influence diagrams, and their best strategies by going through all of them on the full joint table."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.utilities import Utility
from plausible.variables import Variable


def random_diagram(
    rng: np.random.Generator,
    num_chance: int = 3,
    num_decisions: int = 2,
    num_utilities: int = 2,
    recall: bool = False,
    zeros: float = 0.2,
    max_seen: int = 2,
) -> InfluenceDiagram:
    """Chance variables and decisions in a random order, each with some of those before it as parents."""
    kinds = rng.permutation(["chance"] * num_chance + ["decision"] * num_decisions)
    variables: list[Variable] = []
    chance, decisions, known = [], [], []
    for number, kind in enumerate(kinds):
        variable = Variable(f"{kind[0].upper()}{number}", int(rng.choice([1, 2, 2, 2, 2, 3])))
        names = [other.name for other in variables]
        parents = sorted(rng.choice(names, min(len(names), int(rng.integers(0, max_seen + 1))), replace=False))
        if kind == "chance":
            scope = [v for v in variables if v.name in parents]
            chance.append(TableCPD(variable, _rows(rng, [v.num_states for v in scope], variable, zeros), scope))
        else:
            sees = [*known, *(name for name in parents if name not in known)] if recall else list(parents)
            decisions.append(Decision(variable, sees=[str(name) for name in sees]))
            known = [*sees, variable.name]
        variables.append(variable)
    utilities = []
    for number in range(num_utilities):
        places = sorted(rng.choice(len(variables), min(len(variables), int(rng.integers(0, 4))), replace=False))
        scope = [variables[place] for place in places]
        values = rng.integers(-5, 6, [v.num_states for v in scope]) * 1.0
        utilities.append(Utility(scope, values, name=f"U{number}"))
    return InfluenceDiagram(chance, decisions, utilities)


def _rows(rng: np.random.Generator, shape: list[int], variable: Variable, zeros: float) -> np.ndarray:
    table = rng.random((*shape, variable.num_states)) * (rng.random((*shape, variable.num_states)) > zeros)
    table[..., 0] += table.sum(axis=-1) == 0
    return table / table.sum(axis=-1, keepdims=True)


def num_strategies(diagram: InfluenceDiagram) -> int:
    """How many deterministic strategies there are."""
    return prod(
        len(decision.states) ** prod(v.num_states for v in diagram.information(name))
        for name, decision in diagram.decisions.items()
    )


def full_tables(diagram: InfluenceDiagram) -> tuple[np.ndarray, np.ndarray]:
    """Π P and Σ U over all variables of the diagram, in its order."""
    names = list(diagram.variables)
    shape = [variable.num_states for variable in diagram.variables.values()]
    probability, utility = np.ones(shape), np.zeros(shape)
    for cpd in diagram.chance.values():
        factor = cpd.to_factor()
        probability = probability * placed(factor.values, factor.names, names)
    for factor in diagram.utility_factors.values():
        utility = utility + placed(factor.values, factor.names, names)
    return probability, utility


def placed(table: np.ndarray, own: tuple[str, ...], names: list[str]) -> np.ndarray:
    """A table with axes `own` as one that broadcasts over `names`."""
    order = sorted(range(len(own)), key=lambda axis: names.index(own[axis]))
    shape = [1] * len(names)
    for axis, name in enumerate(own):
        shape[names.index(name)] = table.shape[axis]
    return np.transpose(table, order).reshape(shape)


def value_of(diagram: InfluenceDiagram, rules: dict[str, np.ndarray], weights: np.ndarray | float = 1.0) -> float:
    """E[U] by the full joint; `weights` is evidence, over all variables."""
    probability, utility = full_tables(diagram)
    probability = probability * weights
    for name, rule in rules.items():
        probability = probability * placed(rule, (*diagram.decisions[name].sees, name), list(diagram.variables))
    return float((probability * utility).sum() / probability.sum())


def all_strategy_values(diagram: InfluenceDiagram, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """The expected utility of every deterministic strategy."""
    names = list(diagram.variables)
    probability, utility = full_tables(diagram)
    probability = probability * weights
    weighted = probability * utility
    scale = probability
    for name in diagram.decisions:
        scale = scale / diagram.variables[name].num_states
    options = []
    for name, decision in diagram.decisions.items():
        shape = [variable.num_states for variable in diagram.information(name)]
        actions = np.eye(len(decision.states))
        choices = product(range(len(actions)), repeat=prod(shape))
        options.append(
            [placed(actions[list(choice)].reshape(*shape, -1), (*decision.sees, name), names) for choice in choices]
        )
    values = []
    for rules in product(*options):
        table = weighted
        for rule in rules:
            table = table * rule
        values.append(table.sum())
    return np.array(values) / scale.sum()
