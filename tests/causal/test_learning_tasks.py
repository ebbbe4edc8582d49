"""Every kind of causal learning task has a way, and the ways agree where they answer the same question."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from plausible.graphs import CausalGraph, essential_graph

RNG = np.random.default_rng(7)
NUM_ROWS = 3000


def _observed() -> dict[str, np.ndarray]:
    """B causes E; a hidden U causes B and C; A causes B and D causes C."""
    uniform = RNG.uniform(size=(6, NUM_ROWS))
    hidden = (uniform[0] < 0.5).astype(int)
    a, d = (uniform[1] < 0.5).astype(int), (uniform[2] < 0.5).astype(int)
    b = (uniform[3] < 0.05 + 0.4 * a + 0.45 * hidden).astype(int)
    c = (uniform[4] < 0.05 + 0.4 * d + 0.45 * hidden).astype(int)
    e = (uniform[5] < 0.2 + 0.6 * b).astype(int)
    return {"A": a, "B": b, "C": c, "D": d, "E": e}


ROWS = _observed()
CHAIN = {name: ROWS[name] for name in "ABE"}
SET = np.arange(NUM_ROWS) % 3 == 0
SET_TO = np.where(SET, np.arange(NUM_ROWS) % 2, ROWS["B"])
RESPONSE = (RNG.uniform(size=NUM_ROWS) < 0.2 + 0.6 * SET_TO).astype(int)
EXPERIMENT = pb.Table.read({"B": SET_TO, "E": RESPONSE}, interventions={"B": SET})

TASKS = {
    "network, known graph": (lambda: pb.learn.parameters("A -> B -> E", CHAIN), "ABE"),
    "network, unknown graph": (lambda: pb.learn.structure(CHAIN).network(), "ABE"),
    "network, known graph, experiments": (lambda: pb.learn.parameters("B -> E", EXPERIMENT), "BE"),
    "network, unknown graph, experiments": (lambda: pb.learn.structure(EXPERIMENT).network(), "BE"),
    "responses, known graph": (lambda: pb.causal.learn_responses("B -> E", EXPERIMENT, num_draws=20), "BE"),
    "responses, confounders": (lambda: pb.causal.learn_responses("B -> E; B <-> E", EXPERIMENT, num_draws=20), "BE"),
    "responses, unknown graph": (lambda: pb.causal.learn_functional_structure(CHAIN), "ABE"),
    "structure alone": (lambda: pb.learn.pc(CHAIN), "ABE"),
    "structure alone, experiments": (lambda: pb.causal.gies(EXPERIMENT), "BE"),
    "structure alone, confounders": (lambda: pb.causal.fci(ROWS), "ABCDE"),
}


@pytest.mark.parametrize("task", TASKS)
def test_every_kind_of_learning_task_has_an_answer_over_all_variables(task: str) -> None:
    answer, names = TASKS[task]
    found = answer()
    graph = found.space.graph if isinstance(found, pb.causal.ResponsePosterior) else found.graph
    assert sorted(graph.nodes) == list(names)


def test_a_functional_model_of_a_member_of_the_learned_pag_has_the_effect_that_no_member_disputes() -> None:
    """B -> E is visible, so that every member has the effect that was simulated."""
    found = pb.causal.fci(ROWS)
    assert pb.causal.effect_in_pag(found.graph, outcome="E", treatment="B")
    member = CausalGraph(found.member())
    posterior = pb.causal.learn_responses(member, ROWS, num_draws=100, burn_in=50, num_chains=2, seed=0)
    effect = posterior.effect({"E": 1}, {"B": 1}, {"B": 0})
    assert effect.mean == pytest.approx(0.6, abs=0.05)
    seen = ROWS["C"].mean()
    assert posterior.probability({"C": 1}).mean == pytest.approx(seen, abs=0.03)


def test_a_search_by_score_claims_the_directions_that_all_equally_good_graphs_share() -> None:
    """The class is reported, and only its arrows are claims; an experiment on B makes one more."""
    observed = pb.learn.structure({name: ROWS[name] for name in "BE"})
    assert observed.equivalence_class == essential_graph(observed.graph)
    assert [str(edge) for edge in observed.equivalence_class.edges] in (["B - E"], ["E - B"])
    assert [str(edge) for edge in pb.causal.gies(EXPERIMENT).graph.edges] == ["B -> E"]
