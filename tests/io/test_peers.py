"""Files go to pyAgrum and come from it with the same numbers.

Tables are compared as both programs have them in memory: each side is built or read by its own code alone.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from random_networks import random_network, random_notes

from plausible.cpds import TableCPD
from plausible.errors import RoundedProbabilities
from plausible.io import load, save
from plausible.models import BayesianNetwork, Notes, VariableNotes

gum = pytest.importorskip("pyagrum", reason="pyAgrum, of the extra 'bench', is not installed")

#: Ending in pyAgrum -> how far its numbers may be off: it writes some formats with six digits.
WRITTEN_BY_AGRUM = {"bif": 1e-12, "net": 1e-12, "bifxml": 1e-5, "xdsl": 1e-5, "uai": 1e-5, "dsl": 1e-5}
WRITTEN_BY_US = ("bif", "net", "bifxml", "xdsl", "uai")
#: Where pyAgrum takes the first parent's state for the one that changes fastest; the formats say the last one.
FIRST_PARENT_FASTEST = ("xdsl", "uai")
SIZES = (2, 3, 4, 2, 5, 3, 2)


def agrum_network(rng: np.random.Generator) -> gum.BayesNet:
    """A network in pyAgrum's memory: unequal sizes, up to four parents in any order."""
    network = gum.BayesNet("peer")
    names = [f"X{number}" for number in range(len(SIZES))]
    for number in rng.permutation(len(SIZES)):
        network.add(gum.LabelizedVariable(names[number], "", [f"s{state}" for state in range(SIZES[number])]))
    for number, name in enumerate(names):
        for parent in rng.permutation(number)[: rng.integers(0, 5)]:
            network.addArc(names[parent], name)
        shape = [network.variable(other).domainSize() for other in reversed(network.cpt(name).names)]
        network.cpt(name)[:] = rng.dirichlet(np.ones(SIZES[number]), size=shape[:-1])
    return network


def agrum_table(network: gum.BayesNet, child: str, parents: list[str]) -> np.ndarray:
    """pyAgrum's table with the axes of ours: the parents in this order, then the child."""
    axes = list(reversed(network.cpt(child).names))
    return np.asarray(network.cpt(child).toarray()).transpose([axes.index(name) for name in (*parents, child)])


def as_first_parent_fastest(cpd: TableCPD) -> np.ndarray:
    """What a reader makes of the numbers who takes the first parent's state for the fastest one."""
    shape = [parent.num_states for parent in cpd.parents]
    table = cpd.values.reshape(*reversed(shape), -1)
    return table.transpose(*reversed(range(len(shape))), len(shape))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ending", WRITTEN_BY_AGRUM)
def test_what_pyagrum_writes_is_read_with_its_numbers(tmp_path, ending, seed):
    theirs = agrum_network(np.random.default_rng(seed))
    path = str(tmp_path / f"peer.{ending}")
    gum.saveBN(theirs, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundedProbabilities)
        ours = load(path)
    assert isinstance(ours, BayesianNetwork)
    names = {name: name for name in theirs.names()}
    if ending == "uai":
        names = {str(number): theirs.variable(number).name() for number in theirs.nodes()}
    assert {names[name] for name in ours.variables} == set(theirs.names())
    for name, cpd in ours.cpds.items():
        expected = agrum_table(theirs, names[name], [names[parent] for parent in cpd.parent_names])
        np.testing.assert_allclose(cpd.to_table().values, expected, atol=WRITTEN_BY_AGRUM[ending])
        if ending != "uai":
            assert cpd.variable.states == theirs.variable(name).labels()


# pyAgrum knows no variables of one state.


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ending", WRITTEN_BY_US)
def test_what_we_write_is_read_by_pyagrum(tmp_path, ending, seed):
    """In two formats pyAgrum turns the parents around, as docs/formats.md says; should it stop to, this fails."""
    ours = random_network(np.random.default_rng(seed), num_variables=7, nasty=False, min_states=2)
    path = str(tmp_path / f"peer.{ending}")
    save(ours, path)
    theirs = gum.loadBN(path)
    written = {name: name for name in ours.variables}
    if ending == "uai":
        written = {name: theirs.variable(number).name() for number, name in enumerate(ours.variables)}
    assert {written[name] for name in ours.variables} == set(theirs.names())
    for name, cpd in ours.cpds.items():
        table = cpd.to_table()
        expected = as_first_parent_fastest(table) if ending in FIRST_PARENT_FASTEST else table.values
        found = agrum_table(theirs, written[name], [written[parent] for parent in cpd.parent_names])
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ending", ["bif", "xdsl", "bifxml"])
def test_networks_with_any_names_and_notes_can_be_read_by_pyagrum(tmp_path, ending, seed):
    rng = np.random.default_rng(seed)
    ours = random_network(rng, num_variables=5, min_states=2)
    ours = ours.with_notes(random_notes(rng, ours))
    path = str(tmp_path / f"peer.{ending}")
    save(ours, path)
    theirs = gum.loadBN(path)
    assert theirs.size() == len(ours.variables)
    sizes = sorted(variable.num_states for variable in ours.variables.values())
    assert sorted(theirs.variable(name).domainSize() for name in theirs.names()) == sizes
    assert load(path) == ours


def test_positions_between_the_pixels_do_not_stop_pyagrum(tmp_path):
    notes = Notes().with_variable("A", VariableNotes(label="the first", position=(1.5, -2.25)))
    ours = BayesianNetwork(TableCPD("A", [0.5, 0.5]), notes=notes)
    for ending in WRITTEN_BY_US:
        path = str(tmp_path / f"peer.{ending}")
        save(ours, path)
        assert gum.loadBN(path).size() == 1
