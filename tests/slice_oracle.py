"""Networks over time as plain tables, and every answer by listing all assignments to all slices."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from plausible.cpds import TableCPD
from plausible.models import DynamicBayesianNetwork


@dataclass
class Tables:
    """The raw tables of a network over time: (slice or None for later ones, name) -> parents as (name, lag), array."""

    sizes: dict
    lags: int
    tables: dict

    def at(self, step, name):
        return self.tables[(step if step < self.lags else None, name)]

    def model(self):
        def cpd(step, name):
            parents, values = self.tables[(step, name)]
            child = f"{name}[{step}]" if step else name
            return TableCPD(child, values, parents=[f"{p}[-{lag}]" if lag else p for p, lag in parents])

        initial = [cpd(step, name) for step in range(self.lags) for name in self.sizes]
        return DynamicBayesianNetwork(initial, [cpd(None, name) for name in self.sizes])

    def joint(self, weights):
        """All assignments with positive weight: {states[step][name] as a tuple of tuples: weight}.

        `weights[step][name]` are the likelihoods of the states; all ones where missing.
        """
        names, found = list(self.sizes), {}
        slices = list(itertools.product(*(range(self.sizes[name]) for name in names)))
        for path in itertools.product(slices, repeat=len(weights)):
            weight = 1.0
            for step, states in enumerate(path):
                for place, name in enumerate(names):
                    parents, values = self.at(step, name)
                    key = tuple(path[step - lag][names.index(parent)] for parent, lag in parents)
                    weight *= values[(*key, states[place])]
                    weight *= weights[step].get(name, np.ones(self.sizes[name]))[states[place]]
                if not weight:
                    break
            if weight:
                found[path] = weight
        return found

    def marginal(self, joint, step, name):
        place, belief = list(self.sizes).index(name), np.zeros(self.sizes[name])
        for path, weight in joint.items():
            belief[path[step][place]] += weight
        return belief / belief.sum()


def random_tables(rng, lags=1, num_variables=None, zeros=0.2, max_states=3):
    """Tables of random numbers, some of them zero, over a random template."""
    names = [f"X{number}" for number in range(num_variables or int(rng.integers(1, 4)))]
    sizes = {name: int(rng.integers(1, max_states + 1)) for name in names}
    tables = {}
    for step in (*range(lags), None):
        for place, name in enumerate(names):
            parents = [(other, 0) for other in names[:place] if rng.random() < 0.5]
            furthest = lags if step is None else step
            parents += [(other, lag) for other in names for lag in range(1, furthest + 1) if rng.random() < 0.4]
            values = rng.random([*(sizes[parent] for parent, _ in parents), sizes[name]])
            values[rng.random(values.shape) < zeros] = 0.0
            values[..., 0] += 1e-3
            tables[(step, name)] = parents, values / values.sum(axis=-1, keepdims=True)
    return Tables(sizes, lags, tables)


def random_weights(rng, tables, length, model):
    """What is observed of a possible run: rows for a model, and the likelihoods that they stand for."""
    drawn = model.sample(length, seed=int(rng.integers(2**31)))
    rows, weights = {name: [] for name in tables.sizes}, [{} for _ in range(length)]
    for name, size in tables.sizes.items():
        for step in range(length):
            state = int(drawn[name].iloc[step])
            kind = rng.random()
            if kind < 0.45:
                rows[name].append(None)
            elif kind < 0.9:
                rows[name].append(state)
                weights[step][name] = np.eye(size)[state]
            else:
                allowed = {state, int(rng.integers(size))}
                rows[name].append(allowed)
                weights[step][name] = np.array([float(other in allowed) for other in range(size)])
    return rows, weights


def log(number):
    return math.log(number) if number else -math.inf
