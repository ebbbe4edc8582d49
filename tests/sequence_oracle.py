"""What models of hidden states answer, by enumeration of all paths; shares no code with the library."""

from __future__ import annotations

import itertools
import math

import numpy as np


class PathOracle:
    """All paths of hidden states beside one sequence of likelihoods: arrays over steps and states."""

    def __init__(self, initial, transitions, likelihoods):
        """`transitions[t]` leads to step t; the first one is not looked at."""
        self.num_steps, self.num_states = np.shape(likelihoods)
        self.paths = list(itertools.product(range(self.num_states), repeat=self.num_steps))
        self.weights = []
        for path in self.paths:
            weight = 1.0
            for t, state in enumerate(path):
                weight *= initial[state] if t == 0 else transitions[t][path[t - 1]][state]
                weight *= likelihoods[t][state]
            self.weights.append(weight)
        self.total = math.fsum(self.weights)

    @property
    def log_likelihood(self):
        return math.log(self.total) if self.total > 0 else -math.inf

    def smoothed(self):
        beliefs = np.zeros((self.num_steps, self.num_states))
        for path, weight in zip(self.paths, self.weights, strict=True):
            for t, state in enumerate(path):
                beliefs[t, state] += weight
        return beliefs / self.total

    def pairs(self):
        found = np.zeros((self.num_steps, self.num_states, self.num_states))
        for path, weight in zip(self.paths, self.weights, strict=True):
            for t in range(1, self.num_steps):
                found[t, path[t - 1], path[t]] += weight
        return found / self.total

    def best(self, count):
        """The best paths and their logarithms; of ties those with the earlier state where they differ last."""
        order = sorted(range(len(self.paths)), key=lambda n: (-round(self.weights[n], 14), self.paths[n][::-1]))
        return [(self.paths[n], math.log(self.weights[n])) for n in order[:count] if self.weights[n] > 0]


def filtered(initial, transitions, likelihoods):
    """Beliefs given the steps so far, by an oracle for each of them."""
    rows = [PathOracle(initial, transitions, likelihoods[: t + 1]).smoothed()[t] for t in range(len(likelihoods))]
    return np.array(rows).reshape(-1, len(initial))


def normal_density(x, mean, covariance):
    """Of a vector, NaN components left out."""
    x, mean, covariance = np.atleast_1d(x), np.atleast_1d(mean), np.atleast_2d(covariance)
    known = ~np.isnan(x)
    if not known.any():
        return 1.0
    gap, part = x[known] - mean[known], covariance[np.ix_(known, known)]
    distance = float(gap @ np.linalg.inv(part) @ gap)
    return math.exp(-distance / 2) / math.sqrt((2 * math.pi) ** known.sum() * np.linalg.det(part))
