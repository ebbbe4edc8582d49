"""Influence diagrams go to pyAgrum and come from it with the same numbers, and are worth the same there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from random_diagrams import random_diagram

import plausible as pb
from diagram_oracle import best_value
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.io import load, save
from plausible.utilities import Utility

gum = pytest.importorskip("pyagrum", reason="pyAgrum, of the extra 'bench', is not installed")

with warnings.catch_warnings():
    # It loads this part at first use, and crashes if the warning about its types becomes an error.
    warnings.simplefilter("ignore", DeprecationWarning)
    gum.InfluenceDiagram()


def table(tensor, names) -> np.ndarray:
    """pyAgrum's numbers with axes in this order."""
    axes = list(reversed(tensor.names))
    return np.asarray(tensor.toarray()).transpose([axes.index(name) for name in names])


def assert_same(theirs: gum.InfluenceDiagram, ours: InfluenceDiagram, tolerance: float) -> None:
    assert {theirs.variable(node).name() for node in theirs.nodes()} == set(ours.graph.nodes)
    arcs = {(theirs.variable(tail).name(), theirs.variable(head).name()) for tail, head in theirs.arcs()}
    assert arcs == set(ours.graph.edges)
    for name, variable in ours.variables.items():
        assert theirs.variable(name).labels() == variable.states
        assert theirs.isDecisionNode(name) == (name in ours.decisions)
    for name, cpd in ours.chance.items():
        expected = table(theirs.cpt(name), [*cpd.parent_names, name])
        np.testing.assert_allclose(cpd.to_table().values, expected, atol=tolerance)
    for name, factor in ours.utility_factors.items():
        expected = table(theirs.utility(name), [*factor.names, name])[..., 0]
        np.testing.assert_allclose(factor.values, expected, rtol=tolerance, atol=tolerance)


def their_meu(path) -> float:
    theirs = gum.InfluenceDiagram()
    assert theirs.loadBIFXML(str(path))
    engine = gum.ShaferShenoyLIMIDInference(theirs)
    engine.makeInference()
    return float(engine.MEU()["mean"])


# pyAgrum knows no variables of one state.


@pytest.mark.filterwarnings("ignore::plausible.errors.RoundedProbabilities")
@pytest.mark.parametrize("seed", range(12))
def test_pyagrum_reads_what_we_write_and_we_read_what_it_writes(tmp_path, seed):
    ours = random_diagram(np.random.default_rng(seed), nasty=False, min_states=2)
    save(ours, tmp_path / "ours.bifxml")
    theirs = gum.InfluenceDiagram()
    assert theirs.loadBIFXML(str(tmp_path / "ours.bifxml"))
    assert_same(theirs, ours, 1e-6)
    theirs.saveBIFXML(str(tmp_path / "theirs.bifxml"))
    again = load(tmp_path / "theirs.bifxml")
    assert isinstance(again, InfluenceDiagram)
    assert_same(theirs, again, 1e-5)


@pytest.mark.parametrize("name", ["entrepreneur", "oil"])
def test_pyagrum_finds_the_value_of_the_examples(tmp_path, name):
    diagram = pb.examples.load(name)
    save(diagram, tmp_path / "diagram.bifxml")
    assert their_meu(tmp_path / "diagram.bifxml") == pytest.approx(best_value(diagram))


@pytest.mark.parametrize("seed", range(10))
def test_pyagrum_finds_the_value_of_a_random_decision(tmp_path, seed):
    """One decision that sees a signal of the state of things, which comes after a cause that it does not see."""
    rng = np.random.default_rng(seed)
    diagram = InfluenceDiagram(
        [
            TableCPD("A", rng.dirichlet(np.ones(3))),
            TableCPD("B", rng.dirichlet(np.ones(2), size=3), ["A"]),
            TableCPD("C", rng.dirichlet(np.ones(2), size=(3, 3)), ["D", "A"]),
        ],
        [Decision("D", 3, sees=["B"])],
        [
            Utility(["C", "A"], rng.normal(size=(2, 3)), name="U"),
            Utility(["D", "B"], rng.normal(size=(3, 2)), name="V"),
        ],
    )
    save(diagram, tmp_path / "diagram.bifxml")
    assert their_meu(tmp_path / "diagram.bifxml") == pytest.approx(best_value(diagram), abs=1e-6)
