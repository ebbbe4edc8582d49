"""Edits of Bayesian networks return new ones."""

from __future__ import annotations

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    binary,
    random_network,
)
from plausible.models import Notes, VariableNotes

# --- edits ---


def test_edits_leave_the_network_as_it_was():
    """Every edit returns another network."""
    net = asia_network()
    before = hash(net), list(net.variables)
    net.with_edge("V", "S").without_edge("V", "S").renamed({"S": "smoke"}).intervene({"T": True})
    assert (hash(net), list(net.variables)) == before


def test_with_edge_changes_no_probability_and_without_edge_takes_it_back():
    """An edge without effect can be added and removed."""
    net = asia_network()
    wider = net.with_edge("V", "S")
    assert wider.graph == net.graph.with_edge("V", "S")
    assert wider.joint().is_close(net.joint())
    assert wider.without_edge("V", "S").is_close(net)


def test_without_edge_keeps_the_marginal_of_the_remaining_family():
    """P(target | other parents) under the network before."""
    net = asia_network()
    fewer = net.without_edge("S", "B")
    assert fewer.query("B").is_close(net.query("B"))
    assert fewer.graph == net.graph.without_edge("S", "B")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda net: net.without_edge("V", "D"), "no edge 'V' -> 'D'"),
        (lambda net: net.with_edge("V", "T"), "already a parent"),
        (lambda net: net.with_edge("D", "V"), "directed cycle"),
        (lambda net: net.without_variable("S"), r"'S' has the children \['L', 'B'\]"),
        (lambda net: net.renamed({"S": "V"}), "Two variables would be called 'V'"),
        (lambda net: net.renamed({"Smoke": "V"}), "'Smoke' is not a variable"),
        (lambda net: net.with_states_renamed("S", {False: True}), "stands twice"),
        (lambda net: net.with_states_renamed("S", {"no": True}), "'no' is not a state"),
        (lambda net: net.subnetwork(["Q"]), "'Q' is not a variable"),
    ],
)
def test_edits_that_make_no_sense_are_refused(edit, message):
    """The error says why."""
    with pytest.raises(Exception, match=message):
        edit(asia_network())


def test_with_cpd_replaces_or_adds():
    """One CPD changes, and the answers follow."""
    net = asia_network().with_cpd(binary("S", 1.0)).with_cpd(binary("N", [0.5, 0.6], ["D"]))
    assert net.query("S")[True] == 1.0
    assert list(net.variables)[-1] == "N"
    assert net.query("L")[True] == pytest.approx(0.1)
    assert list(net.without_variable("N").variables) == list(asia_network().variables)


@pytest.mark.parametrize("seed", range(10))
def test_subnetwork_is_the_marginal(seed):
    """Variables and their ancestors keep their joint distribution."""
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    name = list(net.variables)[int(rng.integers(len(net)))]
    part = net.subnetwork(name)
    assert set(part.variables) == {name} | net.graph.ancestors(name)
    assert part.joint().is_close(net.joint().marginal(list(part.variables)))


def test_renaming_swaps_names_and_carries_notes():
    """All at once, so that two names can change places."""
    net = asia_network().with_notes(Notes(variables={"V": VariableNotes(label="visit")}))
    swapped = net.renamed({"V": "S", "S": "V"})
    assert swapped.query("V").values == pytest.approx([0.5, 0.5])
    assert swapped.query("S").values == pytest.approx([0.99, 0.01])
    assert swapped.notes.of("S").label == "visit"
    assert swapped.joint().rename({"V": "S", "S": "V"}).is_close(net.joint())
