"""Identification of effects: worked graphs and numbers, forms of estimands, questions at the edge."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from latent_model_oracle import LatentModel
from plausible.causal.expressions.notation import Symbol
from plausible.causal.expressions.tree import probability, product_of
from plausible.causal.identification.algorithm import identify, is_identifiable
from plausible.causal.identification.districts import Chain, Link
from plausible.causal.identification.question import Effect
from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import DAG, PAG, PDAG, CausalGraph
from plausible.models import BayesianNetwork
from refusals import refuses
from seeds import few_of

IDENTIFIED = {
    "a": ("X -> Y; X -> Z; Z -> Y; Z <-> Y", "P(y | x)"),
    "b": ("Z -> X; Z -> Y; X -> Y; Z <-> Y", "Σ_z P(y | x, z) P(z)"),
    "c": ("Z -> X; Z -> Y; X -> Y; Z <-> X", "Σ_z P(y | x, z) P(z)"),
    "d": ("X -> Z; Z -> Y; X <-> Y", "Σ_z P(z | x) Σ_x' P(y | z, x') P(x')"),
    "e": (
        "X -> Y; X -> Z1; Z1 -> Y; Z1 -> Z2; Z2 -> Y; X <-> Z2; Z1 <-> Y",
        "Σ_{z1,z2} P(y | x, z1, z2) P(z1 | x) Σ_x' P(z2 | z1, x') P(x')",
    ),
    "f": (
        "Z2 -> X; Z2 -> Z1; Z2 -> Z3; X -> Z1; Z1 -> Y; Z3 -> Y; Z2 <-> X; Z2 <-> Y; X <-> Z3; X <-> Y",
        "Σ_{z2,z1} P(z1 | z2, x) P(z2) Σ_x' P(y | z2, z1, x') P(x' | z2)",
    ),
}


def nested(levels):
    """A graph in which the algorithm has to alternate between districts and ancestors, and its treatments."""
    edges = ["Q0 -> Y"]
    for i in range(1, levels + 2):
        edges += [f"R{i} -> Q{i - 1}", f"R{i} <-> Y"]
        edges += [f"Q{i} -> Y", f"Q{i} <-> R{i}"] if i <= levels else []
    return CausalGraph("; ".join(edges)), [f"R{i}" for i in range(1, levels + 2)]


@pytest.mark.parametrize("name", IDENTIFIED)
def test_the_six_identifiable_graphs_have_their_estimands(name):
    """Galles & Pearl's identifiable figures (spec 2.4), by text and by numbers."""
    graph, formula = IDENTIFIED[name]
    estimand = identify(graph, "Y", "X")
    assert estimand.formula == formula
    model = LatentModel(CausalGraph(graph), np.random.default_rng(3))
    assert np.abs(estimand.evaluate(model.joint()).values - model.effect("Y", "X")).max() < 1e-12
    conditioned = model.joint().marginal(["X", "Y"]).normalize("Y").values
    assert np.allclose(conditioned, model.effect("Y", "X"), atol=1e-9) is (name == "a")


def test_tobacco_numbers_come_out():
    """The front-door vector of the checklist: P(c | do(s)) is 0.4525 and 0.4975 where P(c | s) is 0.8525 and 0.0975."""
    network = BayesianNetwork(
        TableCPD("S", [0.5, 0.5]),
        TableCPD("T", [[0.95, 0.05], [0.05, 0.95]], parents=["S"]),
        TableCPD("C", [[[0.9, 0.1], [0.1, 0.9]], [[0.95, 0.05], [0.15, 0.85]]], parents=["T", "S"]),
    )
    estimand = identify("S -> T -> C; S <-> C", outcome="C", treatment="S")
    assert np.allclose(estimand.evaluate(network).values[:, 1], [0.4975, 0.4525])
    assert np.allclose(estimand.evaluate(network, do={"S": 1})[1], 0.4525)
    assert np.allclose(network.query("C", evidence={"S": 1}).values, [0.1475, 0.8525])


def test_simpson_numbers_come_out_by_adjustment():
    """P(cure | do(drug)) = 0.45 and P(cure | do(no drug)) = 0.60, though the drug's takers are cured more often."""
    network = BayesianNetwork(
        TableCPD("Gender", [0.5, 0.5], states=["male", "female"]),
        TableCPD("Drug", [[0.25, 0.75], [0.75, 0.25]], parents=["Gender"]),
        TableCPD("Cure", [[[0.2, 0.8], [0.3, 0.7]], [[0.6, 0.4], [0.8, 0.2]]], parents=["Gender", "Drug"]),
    )
    estimand = identify(network, outcome="Cure", treatment="Drug")
    assert str(estimand) == "P(cure | do(drug)) = Σ_gender P(cure | drug, gender) P(gender)"
    assert estimand.adjustment == ("Gender",)
    assert np.allclose(estimand.evaluate(network).values[:, 1], [0.60, 0.45])
    assert str(identify(network, "Cure", "Drug", given="Gender")).endswith("= P(cure | drug, gender)")


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_nested_districts_are_peeled_one_after_the_other(levels):
    """Quotients inside of quotients: the estimand is right, and stays short though written out it grows threefold."""
    graph, treatment = nested(levels)
    estimand = identify(graph, "Y", treatment)
    model = LatentModel(graph, np.random.default_rng(levels), max_states=2)
    assert np.abs(estimand.evaluate(model.joint()).values - model.effect("Y", treatment)).max() < 1e-10
    assert estimand.expression.size == 8 + 15 * levels


def test_values_that_do_not_matter_are_named_and_averaged():
    """The napkin: P(y | do(x)) is a ratio in which any value of W2 will do."""
    graph = CausalGraph("W1 -> W2 -> X -> Y; W1 <-> X; W1 <-> Y")
    estimand = identify(graph, "Y", "X")
    assert estimand.arbitrary == ("W2",)
    ratio = "[Σ_w1 P(x, y | w1, w2) P(w1)] / [Σ_w1 P(x | w1, w2) P(w1)]"
    assert str(estimand) == f"P(y | do(x)) = {ratio}, for any w2"
    model = LatentModel(graph, np.random.default_rng(0))
    assert np.abs(estimand.evaluate(model.joint()).values - model.effect("Y", "X")).max() < 1e-10
    code = {}
    exec(estimand.python, code)
    joint = model.joint().marginal(["W1", "W2", "X", "Y"]).values
    assert np.abs(code["effect"](joint) - model.effect("Y", "X")).max() < 1e-10


def test_latent_nodes_are_projected_out():
    """A DAG with unmeasured nodes is its latent projection; a network with them is only asked for what is observed."""
    dag = DAG("S -> T -> C; S <- G -> C")
    observed = ["S", "T", "C"]
    estimand = identify(dag, "C", "S", observed=observed)
    assert estimand.formula == identify("S -> T -> C; S <-> C", "C", "S").formula
    assert identify(dag, "C", "S").formula == "Σ_g P(c | s, g) P(g)"
    rng = np.random.default_rng(0)
    shapes = {"G": (3,), "S": (3, 3), "T": (3, 3), "C": (3, 3, 3)}
    cpds = [TableCPD(n, rng.dirichlet(np.ones(3), size=s[:-1]), parents=dag.parents(n)) for n, s in shapes.items()]
    network = BayesianNetwork(cpds)
    answer = estimand.evaluate(network)
    for state in range(3):
        assert np.allclose(answer.reduce({"S": state}).values, network.query("C", do={"S": state}).values)
    assert not is_identifiable(dag, "C", "S", observed=["S", "C"])
    with pytest.raises(InvalidArgument, match="'G'"):
        identify(dag, "C", "G", observed=observed)


def test_a_network_of_many_variables_is_never_multiplied_out():
    """A front door between the ends of two chains of 60 variables, whose joint has 2 ** 123 entries."""
    rng = np.random.default_rng(1)
    names = [*(f"A{i}" for i in range(60)), "X", "M", *(f"B{i}" for i in range(60))]
    edges = [(f"{a}{i}", f"{a}{i + 1}") for a in "AB" for i in range(59)]
    dag = DAG([*edges, ("A59", "X"), ("X", "M"), ("M", "B0"), ("U", "X"), ("U", "B0")])
    cpds = []
    for node in dag.topological_order:
        shape = [2] * len(dag.parents(node))
        cpds.append(TableCPD(node, rng.dirichlet(np.ones(2), size=shape), parents=dag.parents(node)))
    network = BayesianNetwork(cpds)
    estimand = identify(network, "B59", "X", observed=names)
    assert np.allclose(estimand.evaluate(network, do={"X": 1}).values, network.query("B59", do={"X": 1}).values)


def test_without_a_treatment_or_an_effect_the_answer_is_what_is_seen():
    """No treatment, one without a way to the outcome, nodes without any edge, one-state variables."""
    assert str(identify("X -> Y", "Y")) == "P(y) = P(y)"
    assert str(identify("X -> Y", "Y", given="X")) == "P(y | x) = P(y | x)"
    assert str(identify("X -> Y; X <-> Y", "X", "Y")) == "P(x | do(y)) = P(x)"
    lonely = CausalGraph("A -> B; C -> D")
    assert str(identify(lonely, "D", ["A", "B"])) == "P(d | do(a, b)) = P(d)"
    assert str(identify("X <-> Y", "Y", "X")) == "P(y | do(x)) = P(y)"
    answer = identify("X <-> Y", "Y", "X").evaluate(Factor({"X": 2, "Y": 2}, [[0.1, 0.2], [0.3, 0.4]]))
    assert np.allclose(answer.values, [[0.4, 0.6], [0.4, 0.6]])
    single = Factor({"X": 1, "Z": 1, "Y": 2}, [[[0.2, 0.8]]])
    assert np.allclose(identify("X -> Z -> Y; X <-> Y", "Y", "X").evaluate(single).values, [[0.2, 0.8]])


def test_several_treatments_can_be_identified_where_single_ones_are_not():
    """Spec 2.5 g and exercise 21.5: all component effects and both joint ones, but not the total one."""
    graph = CausalGraph("X -> Z1 -> Y; Z2 -> Y; X <-> Z2; Z1 <-> Z2")
    assert not is_identifiable(graph, "Y", "X")
    for outcome, treatment in (("Z1", "X"), ("Z2", "X"), ("Y", "Z1"), ("Y", "Z2"), ("Y", "X Z1"), ("Y", "X Z2")):
        estimand = identify(graph, outcome, treatment.split())
        model = LatentModel(graph, np.random.default_rng(0))
        difference = estimand.evaluate(model.joint()).values - model.effect([outcome], treatment.split())
        assert np.abs(difference).max() < 1e-10


def test_the_derivation_names_the_lines_of_the_algorithm():
    """The front door by lines 4, 6, 7 and 2; an adjustment by its set; a conditional effect by rule 2."""
    front_door = identify("S -> T -> C; S <-> C", "C", "S").derivation
    assert [step.rule for step in front_door] == ["ID line 4", "ID line 6", "ID line 7", "ID line 2"]
    assert "Q[S, C] = P(c | s, t) P(s)" in str(front_door)
    assert str(front_door).startswith("1. ID line 4: the effect is Σ over T of Q[T] Q[C]")
    assert len(front_door) == 4
    assert "{Z} blocks" in str(identify("Z -> X -> Y; Z -> Y", "Y", "X").derivation)
    given = identify("X -> Z -> Y; X <-> Y; W <-> Y; W -> Z", "Y", "X", given="W")
    assert given.derivation.steps[-1].rule == "IDC"
    assert given.formula == "Σ_z P(z | x, w) Σ_x' P(y | w, z, x') P(x')"
    exchanged = identify("X -> Z -> Y; X <-> Y; W -> Y", "Y", "X", given="W")
    assert next(iter(exchanged.derivation)).statement == "P(Y | do(X), W) = P(Y | do(X, W))"


def test_estimands_are_values():
    """Equal when asked the same again; pickled and back; the question prints."""
    first, second = (identify("S -> T -> C; S <-> C", "C", "S") for _ in range(2))
    assert first == second == pickle.loads(pickle.dumps(first))
    assert str(first.query) == "P(C | do(S))"
    assert str(Effect(("Y", "Z"), (), ("W",))) == "P(Y, Z | W)"
    assert first.latex == r"\sum_{t} P(t \mid s) \, \sum_{s'} P(c \mid t, s') \, P(s')"
    assert first.variables == ("C", "S", "T")
    assert first.adjustment is None


def test_wrong_questions_are_refused_by_name():
    """Unknown names, roles that overlap, no outcome, text without an edge, states and names in evaluate."""
    refuses(UnknownVariable, "'Tar'", identify, "Smoking -> Tar -> Cancer", "Cancer", "Tr")
    refuses(InvalidArgument, "'X' can't be both in outcome= and in treatment=", identify, "X -> Y", "X", "X")
    refuses(InvalidArgument, "'X' can't be both in treatment= and in given=", is_identifiable, "X -> Y", "Y", "X", "X")
    refuses(InvalidArgument, "outcome", identify, "X -> Y", [], "X")
    refuses(InvalidGraph, "without an edge", identify, "X", "X")
    estimand = identify("X -> Y", "Y", "X")
    joint = Factor({"X": 2, "Y": 2}, [[0.1, 0.2], [0.3, 0.4]])
    refuses(InvalidArgument, "do= fixes 'Y'", estimand.evaluate, joint, do={"Y": 0})
    refuses(ValueError, "7", estimand.evaluate, joint, do={"X": 7})
    refuses(UnknownVariable, "'Y'", estimand.evaluate, Factor({"X": 2}, [0.5, 0.5]))


def test_what_lies_below_a_causal_path_is_no_adjustment():
    """N is caused by the mediator and causes the second treatment: the effect is a sum over mediators instead."""
    graph = CausalGraph("X1 -> M -> Y; M -> N -> X2 -> Y")
    estimand = identify(graph, "Y", ["X1", "X2"])
    assert estimand.adjustment is None
    model = LatentModel(graph, np.random.default_rng(0))
    assert np.abs(estimand.evaluate(model.joint()).values - model.effect(["Y"], ["X1", "X2"])).max() < 1e-12


def test_a_treatment_without_effect_is_deleted_by_rule_3():
    """Though it is confounded with the outcome."""
    assert [step.rule for step in identify("X <-> Y", "Y", "X").derivation] == ["rule 3", "observation"]


@pytest.mark.parametrize("seed", few_of(6, 25))
def test_sums_over_a_chain_are_marginals(seed):
    """The links and the joint of the marginal chain both multiply to the marginal of the joint distribution."""
    rng = np.random.default_rng(seed)
    names = list("ABCDEFG")
    parents = {b: [a for a in names[:i] if rng.random() < 0.35] for i, b in enumerate(names)}
    parents |= {"A": [], "B": [], "C": ["A"], "D": ["B"], "E": ["A", "B"]}  # E ties together what was apart before
    shapes = {name: [2] * len(parents[name]) for name in names}
    joint = BayesianNetwork(
        [TableCPD(n, rng.dirichlet([1, 1], size=shapes[n]), parents=parents[n]) for n in names]
    ).joint()
    links = [Link(Symbol(name), probability(name, parents[name])) for name in names]
    kept = [name for name in names[2 * (seed % 2) :] if rng.random() < 0.7] or ["G"]
    marginal = Chain.product(links).marginal(frozenset(map(Symbol, kept)))
    assert [link.symbol.variable for link in marginal.links] == kept
    for expression in (marginal.joint, product_of(link.factor for link in marginal.links)):
        assert expression.evaluate(joint).is_close(joint.marginal(kept))
    for place, link in enumerate(marginal.links):
        before = joint.marginal(kept[: place + 1]).normalize(kept[place])
        found = link.factor.evaluate(joint).extend(before.scope)
        assert found.is_close(before)


@pytest.mark.parametrize("graph", [PAG("X o-> Y"), PDAG("X - Y")])
def test_classes_of_graphs_are_sent_to_what_answers_for_them(graph):
    """Identification is about one graph; adjustment and effect_in_pag are about classes."""
    with pytest.raises(NotSupported, match="adjustment_sets"):
        identify(graph, "Y", "X")


def test_what_has_a_class_is_refused_as_the_class_is():
    """The result of a search, as `pc` returns, gets the same text as its graph."""

    class Found:
        graph = PDAG("X - Y; Y - Z")

    for source in (Found(), Found.graph):
        with pytest.raises(NotSupported, match=r"a PDAG stands for a class of them.*adjustment_sets"):
            identify(source, outcome="Y", treatment="X")
