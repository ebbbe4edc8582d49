"""Sums over all assignments of products of table entries, as one big array: what derivatives are judged by."""

from __future__ import annotations

from math import fsum

import numpy as np

from plausible.variables import likelihood


def tables_of(net):
    """{child: (names of parents and child, array)}: tables that may be changed."""
    return {
        name: ([v.name for v in (*cpd.parents, cpd.variable)], np.array(cpd.values)) for name, cpd in net.cpds.items()
    }


def changed(tables, changes):
    """The tables with some entries replaced; `changes` is {(child, index): number}."""
    copies = {child: (names, array.copy()) for child, (names, array) in tables.items()}
    for (child, index), number in changes.items():
        copies[child][1][index] = number
    return copies


def covaried(tables, child, index, number):
    """The tables with one entry set and the other entries of its row sharing the rest in proportion."""
    copies = changed(tables, {})
    row = copies[child][1][index[:-1]]
    others = [k for k in range(len(row)) if k != index[-1]]
    left = fsum(row[k] for k in others)
    for k in others:
        row[k] = (1 - number) * (row[k] / left if left > 0 else 1 / len(others))
    if others:
        row[index[-1]] = number
    return copies


def total(tables, sizes, weights):
    """Σ over assignments of Π of entries and of the weights of the evidence: {name: weight of each position}."""
    terms = np.ones(list(sizes.values()))
    for scope, array in (*tables.values(), *(([name], np.asarray(vector)) for name, vector in weights.items())):
        missing = [name for name in sizes if name not in scope]
        spread = array.reshape(array.shape + (1,) * len(missing))
        terms = terms * spread.transpose([(*scope, *missing).index(name) for name in sizes])
    return fsum(terms.ravel().tolist())


def sizes_of(net):
    """{name: number of states}."""
    return {name: variable.num_states for name, variable in net.variables.items()}


def with_event(weights, sizes, name, position):
    """The weights with one variable held at a position."""
    vector = np.asarray(weights.get(name, np.ones(sizes[name])), dtype=float)
    return {**weights, name: vector * (np.arange(sizes[name]) == position)}


def random_findings(rng, net, share=0.4):
    """Evidence of all kinds but jeffrey, and the same as weights of positions."""
    evidence, weights = {}, {}
    for name, variable in net.variables.items():
        if rng.random() >= share:
            continue
        kind, size = rng.integers(0, 3), variable.num_states
        vector = np.zeros(size)
        if kind == 0:
            vector[rng.integers(size)] = 1.0
            evidence[name] = variable.states[int(vector.argmax())]
        elif kind == 1:
            vector[rng.permutation(size)[: rng.integers(1, size + 1)]] = 1.0
            evidence[name] = [variable.states[i] for i in np.flatnonzero(vector)]
        else:
            vector = rng.random(size) * 7 + 0.01
            evidence[name] = likelihood(vector)
        weights[name] = vector
    return evidence, weights


def entries(tables):
    """(child, index) of every entry."""
    return [(child, index) for child, (_, array) in tables.items() for index in np.ndindex(array.shape)]
