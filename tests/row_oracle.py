"""Rows at random, and counts by a loop over them."""

import numpy as np

from plausible.data.table import Table


def rows_of(net, rng, num_rows):
    """Random rows over the variables of a network, whatever it says: each state equally likely."""
    columns = {name: rng.integers(v.num_states, size=num_rows) for name, v in net.variables.items()}
    return Table.read(columns, net.variables)


def loop_counts(table, cpd):
    """How often, or how heavily, each joint state of a distribution occurs, one row after the other."""
    counts = np.zeros([v.num_states for v in cpd.scope])
    rows = [table.codes[table.discrete.index(v.name)] for v in cpd.scope]
    for row in range(table.num_rows):
        counts[tuple(codes[row] for codes in rows)] += 1.0 if table.weights is None else table.weights[row]
    return counts
