"""Marginal likelihoods of incomplete rows by listing every completion of all of them, in plain loops."""

from itertools import product
from math import exp, log


def log_urns(rows, names, parents, sizes, alpha, is_set=lambda row, name: False):
    """log P(complete rows): each cell is drawn from an urn that the rows before it have filled; no gamma functions."""
    total, seen = 0.0, {}
    for place, row in enumerate(rows):
        for name in names:
            if is_set(place, name):
                continue
            context = (name, *(row[names.index(parent)] for parent in parents[name]))
            state = row[names.index(name)]
            mine, all_states = seen.get((context, state), 0), sum(seen.get((context, s), 0) for s in range(sizes[name]))
            total += log((alpha(name) + mine) / (alpha(name) * sizes[name] + all_states))
            seen[context, state] = mine + 1
    return total


def log_marginal(rows, names, parents, sizes, alpha, is_set=lambda row, name: False):
    """log Σ over completions of P(completed rows); rows have None or -1 where a cell is missing."""
    choices = [
        product(*(range(sizes[name]) if code in (None, -1) else [code] for name, code in zip(names, row, strict=True)))
        for row in rows
    ]
    logs = [log_urns(done, names, parents, sizes, alpha, is_set) for done in product(*map(list, choices))]
    peak = max(logs)
    return peak + log(sum(exp(value - peak) for value in logs))
