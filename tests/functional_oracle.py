"""Random functional models, and what they say by listing all values of the noise: loops over dictionaries only."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product as cartesian

import numpy as np

from plausible.causal.functional.model import FunctionalModel
from plausible.cpds import DeterministicCPD
from plausible.factors import Factor
from plausible.variables import Variable


@dataclass
class Mechanism:
    """X = table[causes]: positions of states."""

    causes: list[str]
    table: np.ndarray


@dataclass
class Mechanisms:
    """Noise with a joint table, and a mechanism for each variable, causes first."""

    noise: dict[str, int]
    joint: np.ndarray
    sizes: dict[str, int] = field(default_factory=dict)
    mechanisms: dict[str, Mechanism] = field(default_factory=dict)

    def value(self, name, do, units):
        """The position of a variable under `do`, where a setting is a position, or (name, do) in another world."""
        if name in units:
            return units[name]
        if name in do:
            setting = do[name]
            return self.value(*setting, units) if isinstance(setting, tuple) else setting
        mechanism = self.mechanisms[name]
        return int(mechanism.table[tuple(self.value(cause, do, units) for cause in mechanism.causes)])

    def listed(self):
        """[(values of the noise, probability)]."""
        for place in cartesian(*(range(size) for size in self.noise.values())):
            yield dict(zip(self.noise, place, strict=True)), float(self.joint[place])

    def probabilities(self, targets, known):
        """The joint table of targets [(name, do)] given findings [(name, do, positions)]; None where impossible."""
        table = np.zeros([self.noise.get(name) or self.sizes[name] for name, _ in targets])
        for units, chance in self.listed():
            if all(self.value(name, do, units) in allowed for name, do, allowed in known):
                table[tuple(self.value(name, do, units) for name, do in targets)] += chance
        return table / table.sum() if table.sum() > 0 else None

    def model(self):
        """The same as a model of the library."""
        variables = {name: Variable(name, size) for name, size in {**self.noise, **self.sizes}.items()}
        groups = Factor([variables[name] for name in self.noise], self.joint) if self.noise else ()
        functions = [
            DeterministicCPD(variables[name], _look_up(m.table), [variables[cause] for cause in m.causes])
            for name, m in self.mechanisms.items()
        ]
        return FunctionalModel(functions, [groups] if self.noise else [])


def _look_up(table):
    return lambda *causes: int(table[causes])


def random_mechanisms(rng, num_variables=4, num_noise=3, max_states=3, edges=0.5, zeros=0.3):
    """Noise is shared and dependent; one-state variables, zeros, constants and disconnected parts occur."""
    noise = {f"U{i}": int(rng.integers(1, max_states + 1)) for i in range(num_noise)}
    shape = tuple(noise.values())
    weights = np.array(rng.gamma(1.0, size=shape) * (rng.random(shape) >= zeros))
    weights.flat[0] += 0.1
    found = Mechanisms(noise, weights / weights.sum())
    for place in range(num_variables):
        size = int(rng.integers(1, max_states + 1))
        causes = [name for name in found.sizes if rng.random() < edges]
        causes += [name for name in noise if rng.random() < edges]
        rng.shuffle(causes)
        table = rng.integers(0, size, size=[found.sizes.get(c) or noise[c] for c in causes])
        found.sizes[f"X{place}"] = size
        found.mechanisms[f"X{place}"] = Mechanism(causes, np.asarray(table))
    return found


def random_settings(rng, mechanisms, rate=0.3):
    """Some variables, set to positions."""
    sizes = mechanisms.sizes.items()
    return {name: int(rng.integers(size)) for name, size in sizes if rng.random() < rate}
