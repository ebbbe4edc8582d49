"""The likelihood of incomplete rows by the whole joint table, and derivatives by differences."""

import numpy as np


def joint_table(network, tables):
    """Π P(x | u) over all variables, an axis for each; tables need not be normalised."""
    names = list(network.variables)
    joint = np.ones([network.variables[name].num_states for name in names])
    for name, cpd in network.cpds.items():
        axes = [names.index(variable.name) for variable in cpd.scope]
        shape = [1] * len(names)
        for axis, size in zip(sorted(axes), np.array(tables[name].shape)[np.argsort(axes)], strict=True):
            shape[axis] = size
        joint = joint * np.transpose(tables[name], np.argsort(axes)).reshape(shape)
    return joint


def row_probabilities(network, tables, rows):
    """P(row), summed over the cells that are -1."""
    joint = joint_table(network, tables)
    return np.array([joint[tuple(slice(None) if c < 0 else int(c) for c in row)].sum() for row in rows])


def log_likelihood(network, tables, rows, weights):
    """Σ w log P(row)."""
    return float(weights @ np.log(row_probabilities(network, tables, rows)))


def slope(function, step=1e-5):
    """The derivative at zero, by a central difference of fourth order."""
    near, far = function(step) - function(-step), function(2 * step) - function(-2 * step)
    return (8 * near - far) / (12 * step)


def own_tables(network):
    """Name -> table."""
    return {name: np.array(cpd.to_table().values) for name, cpd in network.cpds.items()}


def changed(tables, name, index, by):
    """The tables with one entry changed."""
    table = tables[name].copy()
    table[index] += by
    return {**tables, name: table}


def random_rows_of(network, rng, num_rows, missing=0.4):
    """Rows that the network can produce, cells hidden at random."""
    joint = joint_table(network, own_tables(network))
    drawn = rng.choice(joint.size, size=num_rows, p=joint.ravel() / joint.sum())
    rows = np.array(np.unravel_index(drawn, joint.shape)).T.reshape(num_rows, joint.ndim)
    return np.where(rng.random(rows.shape) < missing, -1, rows)


def frame_of(network, rows):
    """The same rows by the names of states."""
    return {
        name: [None if code < 0 else variable.states[code] for code in rows[:, place]]
        for place, (name, variable) in enumerate(network.variables.items())
    }
