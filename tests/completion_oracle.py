"""What EM should find, by listing every completion of every row in plain loops."""

from itertools import product

import numpy as np

from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.models import BayesianNetwork


def joint_table(net):
    """P of all assignments, an axis for each variable in the order of the network."""
    names = list(net.variables)
    joint = np.ones([v.num_states for v in net.variables.values()])
    for place in np.ndindex(*joint.shape):
        for cpd in net.cpds.values():
            joint[place] *= cpd.to_table().values[tuple(place[names.index(v.name)] for v in cpd.scope)]
    return joint


def posteriors(net, rows):
    """For each row of codes: log P(row), and {completion: probability}."""
    joint, sizes = joint_table(net), [v.num_states for v in net.variables.values()]
    found = []
    for row in rows:
        choices = [range(size) if code < 0 else [code] for code, size in zip(row, sizes, strict=True)]
        weights = {place: joint[place] for place in product(*choices)}
        total = sum(weights.values())
        found.append((np.log(total), {place: w / total for place, w in weights.items()}))
    return found


def oracle_counts(net, rows, weights, family):
    """Expected counts of any family, and the log-likelihood."""
    names = list(net.variables)
    counts, total = np.zeros([net.variables[name].num_states for name in family]), 0.0
    for weight, (log, completions) in zip(weights, posteriors(net, rows), strict=True):
        total += weight * log
        for place, chance in completions.items():
            counts[tuple(place[names.index(name)] for name in family)] += weight * chance
    return counts, total


def assert_rises(trace, noise=1e-8):
    """Never falls, but for rounding."""
    assert np.diff(trace).min(initial=0.0) >= -noise * (1 + abs(trace[-1]))


def random_start(net, rng):
    """The network with other tables, drawn at random."""
    sizes = {name: (cpd.variable.num_states, cpd.values.shape[:-1]) for name, cpd in net.cpds.items()}
    rows = {name: rng.dirichlet(np.ones(num), shape) for name, (num, shape) in sizes.items()}
    return BayesianNetwork([TableCPD(c.variable, rows[name], c.parents) for name, c in net.cpds.items()])


def incomplete_table(net, rng, num_rows, missing=0.3, weighted=True):
    """Rows that the network gives, cells missing at random, some rows empty or of weight zero; and their codes."""
    joint = joint_table(net)
    places = rng.choice(joint.size, size=num_rows, p=joint.ravel() / joint.sum())
    rows = np.array(np.unravel_index(places, joint.shape)).T.reshape(num_rows, joint.ndim)
    rows = np.where(rng.random(rows.shape) < missing, -1, rows)
    weights = rng.choice([0.0, 1.0, 2.0, 0.5], size=num_rows) if weighted else np.ones(num_rows)
    columns = {
        name: [None if code < 0 else v.states[code] for code in rows[:, place]]
        for place, (name, v) in enumerate(net.variables.items())
    }
    return Table.read(columns, net.variables, weights=weights), rows, weights
