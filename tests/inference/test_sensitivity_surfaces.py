"""Posteriors as functions of two parameters, against enumeration with both parameters changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from network_oracle import random_network
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownState
from sensitivity_oracle import covaried, entries, random_findings, sizes_of, tables_of, total, with_event

ASIA = pb.examples.load("asia")
LUNG, XRAY = ("lung", {"smoke": "yes"}, "yes"), ("xray", {"either": "no"}, "yes")


def named(net, child, index):
    """An entry as users write it."""
    cpd = net.cpds[child]
    parents = [parent.states[place] for parent, place in zip(cpd.parents, index, strict=False)]
    return child, parents, cpd.variable.states[index[-1]]


@pytest.mark.parametrize("zeros", [0.0, 0.5], ids=["positive", "some zeros"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_surfaces_equal_enumeration_with_both_parameters_changed(zeros, seed):
    """Inside, on the edges and at the corners; findings of all kinds, on the target too."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=zeros)
    evidence, weights = random_findings(rng, net, share=0.4)
    tables, sizes = tables_of(net), sizes_of(net)
    target = net.variables[rng.choice(list(net.variables))]
    position = int(rng.integers(target.num_states))
    both = with_event(weights, sizes, target.name, position)
    every = entries(tables)
    first = every[rng.integers(len(every))]
    rows = [entry for entry in every if (entry[0], entry[1][:-1]) != (first[0], first[1][:-1])]
    second = rows[rng.integers(len(rows))]
    asked = {"parameters": (named(net, *first), named(net, *second))}
    values = (0.0, 0.3, 1.0)
    other = {
        (a, b): covaried(covaried(tables, *first, a) if sizes[first[0]] > 1 else tables, *second, b)
        for a in values
        for b in values
    }
    if not any(total(other[corner], sizes, weights) for corner in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))):
        with pytest.raises(ImpossibleEvidence):
            net.sensitivity_surface(target.name, target.states[position], evidence, **asked)
        return
    surface = net.sensitivity_surface(target.name, target.states[position], evidence, **asked)
    scale = max(total(table, sizes, weights) for table in other.values())
    for place, table in other.items():
        below = total(table, sizes, weights)
        if below > 1e-9 * scale:
            assert surface(*place) == pytest.approx(total(table, sizes, both) / below, abs=1e-8)
        elif not below:
            assert np.isnan(surface(*place))


def test_along_each_side_a_surface_is_the_function_of_one_parameter():
    """And arrays of values have arrays of answers."""
    surface = ASIA.sensitivity_surface("lung", "yes", {"xray": "yes"}, parameters=(LUNG, XRAY))
    grid = np.linspace(0, 1, 7)
    first, second = surface.current
    assert surface(grid, np.full(7, second)) == pytest.approx(
        ASIA.sensitivity("lung", "yes", {"xray": "yes"}, parameter=LUNG)(grid)
    )
    assert surface(np.full(7, first), grid) == pytest.approx(
        ASIA.sensitivity("lung", "yes", {"xray": "yes"}, parameter=XRAY)(grid)
    )
    assert surface.value == pytest.approx(ASIA.query("lung", {"xray": "yes"})["yes"])
    assert str(surface).startswith("P(lung=yes | e) = 0.488711 at P(lung=yes | smoke=yes) = 0.1 and ")


def test_what_is_no_pair_of_free_parameters_is_refused():
    """Two entries of one row move each other."""
    ask = ASIA.sensitivity_surface
    with pytest.raises(InvalidArgument, match="in one row"):
        ask("lung", "yes", parameters=(LUNG, ("lung", {"smoke": "yes"}, "no")))
    with pytest.raises(InvalidArgument, match="takes two entries"):
        ask("lung", "yes", parameters=(LUNG,))
    with pytest.raises(UnknownState):
        ask("lung", "perhaps", parameters=(LUNG, XRAY))
    with pytest.raises(InvalidArgument, match="from 0 to 1"):
        ask("lung", "yes", parameters=(LUNG, XRAY))(0.5, 1.5)
