"""Random factor problems and their full product, by einsum: shares no code with the engine."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def problems(draw, max_variables=8, max_size=3):
    """Sizes of some variables and scopes of up to three of them; some variables are in none."""
    sizes = tuple(draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_variables)))
    scope = st.lists(st.sampled_from(range(len(sizes))), unique=True, max_size=3).map(tuple)
    return tuple(draw(st.lists(scope, max_size=9))), sizes


def random_tables(scopes, sizes, seed, zeros=0.1):
    """A table for each scope, some entries zero."""
    rng = np.random.default_rng(seed)
    shapes = [[sizes[v] for v in scope] for scope in scopes]
    return [rng.random(shape) * (rng.random(shape) >= zeros) for shape in shapes]


def full_product(scopes, tables, sizes):
    """The product of all tables over all variables."""
    everything = list(range(len(sizes)))
    product = np.ones(sizes)
    for table, scope in zip(tables, scopes, strict=True):  # one einsum of them all would be many times slower
        product = np.einsum(product, everything, table, list(scope), everything)
    return product


def flat(tables):
    """The numbers of the tables, one after the other."""
    return np.concatenate([np.ravel(table) for table in tables]) if tables else np.empty(0)
