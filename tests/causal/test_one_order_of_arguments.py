"""What the functions of `causal` have in common: arguments, graphs, printed results, a way for each learning task."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import plausible as pb
from plausible import causal
from plausible.causal.discovery.pag_readings import effect_in_pag, effect_is_conditional
from plausible.data.table import Table
from plausible.errors import NotIdentifiable, NotSupported
from plausible.graphs import PAG, CausalGraph, essential_graph, latent_projection, pag_of

HIDDEN = PAG("A o-> B; B <-> C; B -> E; D o-> C")


def _rows() -> dict[str, np.ndarray]:
    """Numbers whose PAG is `HIDDEN`."""
    rng = np.random.default_rng(0)
    a, d, unseen = rng.normal(size=(3, 2000))
    b, c = a + unseen + rng.normal(size=2000), d + unseen + rng.normal(size=2000)
    return {"A": a, "B": b, "C": c, "D": d, "E": b + rng.normal(size=2000)}


def test_the_outcome_comes_before_the_treatment_everywhere():
    """(graph, data, outcome, treatment, ...) in every public function that has both as variables' names."""
    functions = {name: getattr(causal, name) for name in dir(causal) if not name.startswith("_")}
    classes = {name: one for name, one in functions.items() if inspect.isclass(one)}
    functions |= {
        f"{name}.{key}": method
        for name, one in classes.items()
        for key, method in inspect.getmembers(one, inspect.isfunction)
        if not key.startswith("_")
    }
    orders = {}
    for name, function in functions.items():
        if inspect.isfunction(function):
            arguments = [one for one in inspect.signature(function).parameters if one in ("outcome", "treatment")]
            if len(arguments) == 2:
                orders[name] = arguments
    assert {
        "identify",
        "effect_in_pag",
        "check_instrument",
        "noncompliance_report",
        "LinearEquations.total_effect",
    } <= set(orders)
    assert all(order == ["outcome", "treatment"] for order in orders.values()), orders


def test_graphs_come_before_data_everywhere():
    """(graph, ..., data or source, ...); rows in the place of the graph are named."""
    rows = {"X": [0, 1], "Y": [0, 1]}
    for name in causal.__all__:
        function = getattr(causal, name)
        if inspect.isfunction(function):
            order = [one for one in inspect.signature(function).parameters if one in ("graph", "data", "source")]
            # `simpson` compares rows also without a graph, which comes by its name then.
            assert "graph" not in order[1:] or name == "simpson", name
    with pytest.raises(NotSupported, match=r"Expected a DAG.* not a dict"):
        causal.estimate_effect(rows, "X -> Y", "Y", "X")


def test_the_result_of_fci_is_a_graph_for_questions_about_effects():
    """As everywhere: something that has a PAG, or arrow text."""
    found = causal.fci(_rows(), alpha=0.001)
    assert found.graph == HIDDEN
    assert effect_in_pag(found, "E", "B").reading == "conditional"
    assert effect_is_conditional("A o-> B; B <-> C; B -> E; D o-> C", "E", "B")
    with pytest.raises(NotSupported, match="PAG"):
        effect_in_pag(pb.DAG("A -> B"), "B", "A")


def test_estimates_agree_with_what_a_pag_says_of_effects():
    """No possibly causal path: 0, with the reason; an open effect: not identifiable, with the edge to blame."""
    rows = _rows()
    assert effect_in_pag(HIDDEN, "C", "B").reading == "none"
    none = causal.estimate_effect(HIDDEN, rows, "C", "B", bootstrap=causal.Bootstrap(20))
    assert (none.difference, none.interval) == (0, (0, 0))
    assert none.means == pytest.approx((rows["C"].mean(),) * 2)
    assert "no causal path" in str(none)
    assert effect_in_pag(HIDDEN, "B", "A").reading == "open"
    with pytest.raises(NotIdentifiable, match="'A o-> B' leaves open"):
        causal.estimate_effect(HIDDEN, rows, "B", "A")


def test_a_cause_whose_direction_is_open_is_no_case_of_no_effect():
    """Only what no member has is ruled out."""
    rows = {"X": [0.5, 1.0, 2.0, 3.0] * 10, "Y": [0.0, 1.5, 2.0, 2.5] * 10}
    with pytest.raises(NotIdentifiable, match="X - Y"):
        causal.estimate_effect(pb.PDAG("X - Y"), rows, "Y", "X")


def test_means_of_a_continuous_treatment_are_those_at_its_own_values():
    """Weighted mean and one more; missing numbers don't count."""
    rng = np.random.default_rng(0)
    age = np.append(rng.normal(60, 5, size=200), np.nan)
    rows = Table.read({"age": age, "y": np.append(age[:-1] / 2, 3.0)}, weights=np.r_[np.ones(100), np.full(101, 3.0)])
    mean = np.average(age[:-1], weights=np.r_[np.ones(100), np.full(100, 3.0)])
    plain = causal.estimate_effect("age -> y", rows.take(np.arange(200)), "y", "age", bootstrap=causal.Bootstrap(10))
    assert plain.levels == pytest.approx((mean, mean + 1))
    assert plain.means == pytest.approx((mean / 2, mean / 2 + 0.5))


def test_names_stand_for_facts_in_counterfactual_events():
    """`{"X": 1}` is what happened, as in `counterfactual(evidence=)`."""
    event = {causal.Potential("Y", {"X": 0}): 1}
    short, long = (
        causal.identify_counterfactual("X -> M -> Y; X <-> Y", event, given)
        for given in ({"X": 1}, {causal.Potential("X"): 1})
    )
    assert str(short) == str(long)


def test_nodes_to_keep_and_nodes_to_drop_are_named():
    """latent_projection keeps, pag_of drops: neither takes them without saying so."""
    for function in (latent_projection, pag_of):
        with pytest.raises(TypeError, match="positional"):
            function("A <- U -> B", "U")


def test_a_column_of_targets_that_gies_was_not_told_of_is_recognised():
    """The cells name other columns, and are empty where nothing was set."""
    with pytest.raises(NotSupported, match=r"Table\.read\(data, interventions='set'\)"):
        causal.gies({"A": [0.5, 1.5, 2.5], "B": [1.5, 0.5, 0.1], "set": ["A", None, "A+B"]})
    with pytest.raises(NotSupported, match=r"needs all cells\.$"):
        causal.gies({"A": ["x", "y", "x"], "B": ["A", None, "z"]})


def test_ges_points_to_gies_where_rows_were_set():
    """The search over classes that experiments leave."""
    table = Table.read({"A": [0, 1] * 4, "B": [0, 1] * 4}, interventions={0: "A"})
    with pytest.raises(NotSupported, match=r"causal\.gies"):
        pb.learn.structure(table, "ges", "bic")


def test_results_print_what_they_say():
    """One or a few lines for people, not a dump of fields."""
    model = causal.trial_model([[0.1, 0.1, 0, 0.1], [0.1, 0.4, 0, 0.2], [0] * 4, [0] * 4])
    effects = causal.natural_effects(model, "O", {"A": 1}, {"A": 0}, "T")
    assert str(effects.total) == "P(O=0)  0.7 -> 0.3  (-0.4)\nP(O=1)  0.3 -> 0.7  (+0.4)"
    assert "natural indirect\n  P(O=0)" in str(effects)
    rows = {"X": [0] * 60 + [1] * 40, "Y": [0] * 40 + [1] * 50 + [0] * 10}
    query = causal.probability_of({"Y": 1}, do={"X": 1})
    bounds = causal.bootstrap_bounds("X -> Y; X <-> Y", query, rows, num_samples=20)
    assert "95% interval of 20 samples" in str(bounds)
    assert str(causal.falsification("X -> Y; X <-> Y", rows)).startswith("Not contradicted")
    marks = causal.bootstrap_marks(_rows(), lambda data: causal.fci(data, alpha=0.001), num_samples=2)
    assert "B, E  100%: tail at B 100%, arrowhead at E 100%" in str(marks)
    assert str(causal.causal_certainty(HIDDEN)).endswith("hidden variables: B ~> E")
    assert str(causal.edge_sensitivity("X -> Y", "Y", "X")).splitlines()[0] == "P(Y | do(X)) is identifiable"
    table = Table.read({"A": [0, 1] * 20, "B": [0, 1] * 20}, interventions={0: "A"})
    assert "1 graph" in str(causal.gies(table, "bic"))


def test_instruments_are_listed_at_once():
    """A tuple: its length is known, and it can be looked at twice."""
    found = causal.instruments("Z -> X -> Y; X <-> Y; V -> X", "Y", "X")
    assert [one.node for one in found] == ["Z", "V"]
    assert len(found) == 2


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
