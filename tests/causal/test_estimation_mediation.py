"""Direct and indirect effects, and effects from rows in which variables were set, against models that are known."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

import adjustment_oracle as oracle
import plausible as pb
from marked_graph_oracles import ancestors, subsets
from plausible import BayesianNetwork, LinearGaussianCPD, TableCPD, causal
from plausible.causal.adjustment.mediators import check_mediation, mediation_set
from plausible.causal.estimation.effect import estimate_effect
from plausible.causal.estimation.estimate import Bootstrap
from plausible.causal.estimation.mediated_effects import controlled_direct_effect, mediated_effects
from plausible.causal.estimation.simpson import simpson
from plausible.causal.partial.district import read_source
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import PAG, PDAG, CausalGraph
from refusals import refuses

NUM_BACKGROUND = 3


class FunctionalModel:
    """Binary variables that are functions of their parents, own background and shared latent causes."""

    def __init__(self, rng, nodes, edges):
        self.nodes, self.order = list(nodes), sorted(nodes, key=lambda node: len(ancestors(edges, node)))
        latent = [edge for edge in edges if edge[1] == "<->"]
        self.inputs = {
            node: [
                *(("variable", a) for a, symbol, b in edges if symbol == "->" and b == node),
                ("background", node),
                *(("background", edge) for edge in latent if node in (edge[0], edge[2])),
            ]
            for node in nodes
        }
        sources = [*nodes, *latent]
        self.chances = dict(zip(sources, rng.dirichlet(np.ones(NUM_BACKGROUND), size=len(sources)), strict=True))
        self.background = [
            (
                dict(zip(sources, values, strict=True)),
                float(np.prod([self.chances[source][value] for source, value in zip(sources, values, strict=True)])),
            )
            for values in product(range(NUM_BACKGROUND), repeat=len(sources))
        ]
        self.functions = {
            node: rng.integers(0, 2, size=[2 if kind == "variable" else NUM_BACKGROUND for kind, _ in inputs])
            for node, inputs in self.inputs.items()
        }

    def world(self, background, do):
        """The values of all variables under an intervention."""
        values = {}
        for node in self.order:
            places = tuple(values[key] if kind == "variable" else background[key] for kind, key in self.inputs[node])
            values[node] = do[node] if node in do else int(self.functions[node][places])
        return values

    def nested(self, y, x, mediators, direct, indirect):
        """E[Y_{direct, M_indirect}]."""
        total = 0.0
        for background, weight in self.background:
            mediated = self.world(background, {x: indirect})
            do = {x: direct, **{node: mediated[node] for node in mediators}}
            total += weight * self.world(background, do)[y]
        return total

    def joint(self):
        """P of all variables, an axis for each node."""
        table = np.zeros([2] * len(self.nodes))
        for background, weight in self.background:
            values = self.world(background, {})
            table[tuple(values[node] for node in self.nodes)] += weight
        return table


def _network(model):
    """The network that the functional model without latent causes makes: the last input is the own background."""
    cpds = []
    for node in model.nodes:
        is_one = np.clip(model.functions[node] @ model.chances[node], 0.0, 1.0)
        parents = [key for kind, key in model.inputs[node] if kind == "variable"]
        cpds.append(TableCPD(node, np.stack([1 - is_one, is_one], axis=-1), parents))
    return BayesianNetwork(*cpds)


def _is_positive(joint):
    return bool((joint > 1e-12).all())


def test_natural_effects_equal_nested_counterfactuals():
    """In models without latent causes; where an effect of X acts both through M and past it, they are refused."""
    rng = np.random.default_rng(0)
    num_refused = num_compared = 0
    while num_compared < 25:
        nodes = "XYABC"[: int(rng.integers(3, 6))]
        order = rng.permutation(list(nodes)) if rng.random() < 0.5 else ["X", *rng.permutation(list(nodes[2:])), "Y"]
        edges = [(str(a), "->", str(b)) for a, b in combinations(order, 2) if rng.random() < 0.7]
        mediators = [node for node in nodes[2:] if rng.random() < 0.6]
        if not mediators or "X" not in ancestors(edges, "Y"):
            continue
        model = FunctionalModel(rng, nodes, edges)
        try:
            effects = mediated_effects(_network(model), "Y", "X", mediators)
        except NotSupported:
            num_refused += 1
            continue
        expected = [model.nested("Y", "X", mediators, a, b) for a in (0, 1) for b in (0, 1)]
        np.testing.assert_allclose(effects.means, expected, atol=1e-10)
        num_compared += 1
    assert num_refused > 0


@pytest.mark.parametrize(
    ("confounded", "treatment", "mediator"),
    [("", "", ""), ("; X <-> M", "X <-> M", ""), ("; M <-> Y", "", "M <-> Y"), ("; X <-> Y", "X <-> Y", "X <-> Y")],
)
def test_a_check_of_mediation_names_the_trail_that_confounds(confounded, treatment, mediator):
    """One of the treatment with what follows it, and one of treatment and mediator with the outcome."""
    check = check_mediation(f"X -> M -> Y; X -> Y{confounded}", "Y", "X", ["M"])
    assert check.is_valid is (not confounded)
    told = [str(trail).partition(" is ")[0] if trail else "" for trail in (check.treatment_trail, check.mediator_trail)]
    assert told == [treatment, mediator]


def test_mediation_formula_holds_wherever_the_graph_says_so():
    """With latent causes: Σ P(y | x, m, w) P(m | x', w) P(w) equals E[Y_{x, M_x'}]."""
    rng = np.random.default_rng(1)
    num_compared = num_refused = 0
    while num_compared < 5:
        nodes = "XYAB"[: int(rng.integers(3, 5))]
        edges = oracle.random_edges(rng, nodes, 0.6, 0.15)
        graph = CausalGraph(edges, nodes=list(nodes))
        mediators = ["A"]
        right = [given for given in subsets(nodes[3:]) if check_mediation(graph, "Y", "X", mediators, given).is_valid]
        found = mediation_set(graph, "Y", "X", mediators)
        assert (found is None) == (not right)
        if found is None:
            num_refused += 1
            continue
        assert tuple(found) in right
        model = FunctionalModel(rng, nodes, edges)
        joint = model.joint()
        if "A" not in ancestors(edges, "Y") or not _is_positive(joint):
            continue
        source = Factor(dict.fromkeys(nodes, 2), joint)
        for given in right:
            written = check_mediation(graph, "Y", "X", mediators, given).expression.evaluate(source)
            free = [variable.name for variable in written.scope]
            assert sorted(free) == ["X", "X'", "Y"]
            expected = model.nested("Y", "X", mediators, 1, 0)
            assert written.reorder(["X", "X'", "Y"]).values[1, 0, 1] == pytest.approx(expected, abs=1e-10)
            value = _mediation_formula(joint, nodes, given)
            np.testing.assert_allclose(value, model.nested("Y", "X", mediators, 1, 0), atol=1e-10)
        num_compared += 1
    assert num_refused > 2


def _mediation_formula(joint, nodes, given):
    """Σ_{m, w} E[Y | X=1, m, w] P(m | X=0, w) P(w) with the mediator A."""
    hidden = tuple(i for i, node in enumerate(nodes) if node not in ("X", "Y", "A", *given))
    table = joint.sum(axis=hidden)  # axes X, Y, A, then W
    table = table.reshape(2, 2, 2, -1)
    outcome = table[1, 1] / table[1].sum(axis=0)
    mediator = table[0].sum(axis=0) / table[0].sum(axis=(0, 1))
    return float((outcome * mediator * table.sum(axis=(0, 1, 2))).sum())


def test_linear_effects_are_products_of_slopes():
    """Direct: the slope of Y on X; indirect: along each path through the mediators, the product of its slopes."""
    net = BayesianNetwork(
        LinearGaussianCPD("C"),
        LinearGaussianCPD("X", 0, {"C": 1.0}),
        LinearGaussianCPD("M", 0, {"X": 0.5, "C": 2.0}),
        LinearGaussianCPD("N", 0, {"M": 2.0, "X": 1.0}),
        LinearGaussianCPD("Y", 0, {"X": 3.0, "M": -1.0, "N": 0.25}),
    )
    effects = mediated_effects(net, "Y", "X", ["M", "N"], levels=(1.0, 3.0))
    assert effects.direct == pytest.approx(6.0)
    assert effects.indirect == pytest.approx(2 * (-0.5 + 0.25 + 0.25))
    assert effects.total == pytest.approx(effects.direct + effects.total_indirect)
    assert controlled_direct_effect(net, "Y", "X", {"M": 5.0, "N": 1.0}) == pytest.approx(3.0)
    with pytest.raises(NotSupported, match="'M' is an effect of 'X'"):
        mediated_effects(net, "Y", "X", "N")


def test_no_mediation_no_indirect_effect():
    """A node that the outcome acts on mediates nothing."""
    net = BayesianNetwork(
        LinearGaussianCPD("X"), LinearGaussianCPD("Y", 0, {"X": 2.0}), LinearGaussianCPD("D", 0, {"Y": 1.0, "X": 1.0})
    )
    effects = mediated_effects(net, "Y", "X", "D")
    assert (effects.direct, effects.indirect) == pytest.approx((2.0, 0.0))


def test_a_total_that_is_not_the_sum_of_its_ways_says_why():
    """Y = X and M is 1 only by both together: nothing direct, nothing indirect, but a total."""
    both = [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]
    net = BayesianNetwork(
        TableCPD("X", [0.5, 0.5]), TableCPD("M", [[1.0, 0.0], [0.0, 1.0]], ["X"]), TableCPD("Y", both, ["X", "M"])
    )
    effects = mediated_effects(net, "Y", "X", "M")
    assert (effects.total, effects.direct, effects.indirect) == pytest.approx((1.0, 0.0, 0.0))
    assert "interaction        1: what M does depends on X" in str(effects)


@pytest.mark.parametrize("ask", [mediated_effects, controlled_direct_effect])
def test_data_in_the_place_of_a_network_are_answered_with_the_fit_to_make(ask):
    """No AttributeError."""
    with pytest.raises(NotSupported, match=r"not of a dict. Fit one first, as in learn.parameters"):
        ask({"X": [0, 1], "M": [0, 1], "Y": [0, 1]}, "Y", "X", {"M": 1})


def test_mistakes_in_mediation_are_told():
    """Unknown names, no mediator, more than two levels, and open trails."""
    net = BayesianNetwork(
        TableCPD("X", [0.2, 0.3, 0.5]), TableCPD("Y", [[0.5, 0.5]] * 3, ["X"]), TableCPD("M", [1.0, 0])
    )
    refuses(UnknownVariable, "'Q'", mediated_effects, net, "Y", "X", "Q")
    refuses(InvalidArgument, "mediators= is empty", mediated_effects, net, "Y", "X", [])
    refuses(InvalidArgument, "levels=", mediated_effects, net, "Y", "X", "M")
    refuses(InvalidArgument, "two values", mediated_effects, net, "Y", "X", "M", levels=(0, 1, 2))
    check = check_mediation("X -> M -> Y; M <-> Y; X -> L; L -> Y", "Y", "X", "M", given="L")
    assert check.forbidden == ("L",)
    assert "M <-> Y is open" in str(check)
    assert mediation_set("X -> M -> Y; M <-> Y", "Y", "X", "M") is None


NO_RESAMPLES = Bootstrap(resamples=0)
CHAIN = "X -> Y -> Z"
BOW = "X -> Y; X <-> Y"


def _chain(*, is_discrete: bool = False) -> pb.Table:
    """X -> Y -> Z with coefficients 1, or copies with errors; in the second half Y was set."""
    rng = np.random.default_rng(0)
    if is_discrete:
        x = rng.random(4000) < 0.5
        y = np.where(rng.random(4000) < 0.9, x, ~x)
        y[2000:] = rng.random(2000) < 0.5
        z = np.where(rng.random(4000) < 0.9, y, ~y)
        x, y, z = (column.astype(int) for column in (x, y, z))
    else:
        x, e1, e2 = rng.normal(size=(3, 4000))
        y = x + e1
        y[2000:] = 2 * rng.normal(size=2000)
        z = y + e2
    frame = pd.DataFrame({"X": x, "Y": y, "Z": z, "set": [""] * 2000 + ["Y"] * 2000})
    return pb.Table.read(frame, interventions="set")


def _bow(set_rows: np.ndarray, seed: int = 1) -> pb.Table:
    """X -> Y with a hidden common cause and the slope 1; X is set in some rows."""
    hidden, own, noise, chosen = np.random.default_rng(seed).normal(size=(4, len(set_rows)))
    x = np.where(set_rows, chosen, hidden + own)
    return pb.Table.read({"X": x, "Y": x + 2 * hidden + noise}, interventions={"X": set_rows})


def test_rows_in_which_a_mediator_was_set_are_left_out_of_the_effect():
    """Setting Y breaks the way from X to Z: 2000 rows tell the slope 1, and the result says so."""
    found = estimate_effect(CHAIN, _chain(), "Z", "X", bootstrap=20)
    assert found.difference == pytest.approx(1.0, abs=0.1)
    assert found.num_cases == 2000
    assert "2000 of 4000 rows left out, in which 'Y' was set from outside" in str(found)


@pytest.mark.parametrize("method", ["doubly-robust", "weighting", "standardization", "identified", "plug-in"])
def test_every_method_finds_the_effect_along_a_chain_whose_middle_was_set(method):
    """0.9 * 0.9 + 0.1 * 0.1 - 2 * 0.9 * 0.1 = 0.64."""
    found = estimate_effect(CHAIN, _chain(is_discrete=True), "Z", "X", method=method, bootstrap=20)
    assert found.difference == pytest.approx(0.64, abs=0.05)
    assert found.method == method


def test_rows_in_which_a_mediator_was_set_are_left_out_of_simpsons_comparisons():
    """The effect is that of the rows as they come about."""
    report = simpson(_chain(is_discrete=True), "Z", "X", [], graph=CHAIN)
    assert report.effect is not None
    assert report.effect[1] - report.effect[0] == pytest.approx(0.64, abs=0.05)
    assert "2000 of 4000 rows left out" in str(report)


@pytest.mark.parametrize("graph", [PDAG("X - Y; Y - Z"), PAG("X o-o Y; Y o-o Z")])
def test_rows_are_left_out_for_what_may_act_on_the_outcome_in_a_class_of_graphs(graph):
    """In some member Y leads to Z: no rows tell another effect of X on Y, where Y was set."""
    with pytest.raises(NotIdentifiable):
        estimate_effect(graph, _chain(), "Z", "X")
    table = _chain().take(np.arange(2000, 4000))
    with pytest.raises(NotSupported, match="In all 2000 rows 'Y' was set from outside"):
        estimate_effect(graph, table, "Z", "X")


def test_taking_rows_forgets_what_was_set_in_none_of_them():
    """The rows that were only observed are observations."""
    observed = _chain(is_discrete=True).take(np.arange(2000))
    assert not observed.interventions
    assert not estimate_effect(CHAIN, observed, "Z", "X", bootstrap=NO_RESAMPLES).rows
    assert read_source(observed).total == 2000


def test_a_randomised_experiment_tells_an_effect_with_hidden_common_causes():
    """Where X was set in all rows its causes do not matter."""
    found = estimate_effect(BOW, _bow(np.ones(4000, dtype=bool)), "Y", "X", bootstrap=20)
    assert found.difference == pytest.approx(1.0, abs=0.15)
    assert "'X' was set from outside in all rows" in str(found)


def test_the_rows_of_an_experiment_alone_tell_what_the_others_leave_open():
    """With rows of both kinds and a hidden cause, only those with X set are used; without any, nothing is."""
    is_set = np.arange(8000) % 2 == 0
    found = estimate_effect(BOW, _bow(is_set), "Y", "X", bootstrap=20)
    assert found.difference == pytest.approx(1.0, abs=0.15)
    assert found.num_cases == 4000
    assert "of 8000 rows the 4000 in which 'X' was set from outside" in str(found)
    open_ended = estimate_effect(PDAG("X - Y"), _bow(is_set), "Y", "X", bootstrap=20)
    assert open_ended.difference == pytest.approx(found.difference)
    with pytest.raises(NotIdentifiable):
        estimate_effect(BOW, _bow(is_set).take(~is_set), "Y", "X")


def test_what_is_no_cause_in_a_class_of_graphs_has_no_effect_where_it_was_set():
    """B <-> C in all members: 0 and not a slope of chance."""
    a, b, c, d = np.random.default_rng(6).normal(size=(4, 100))
    table = pb.Table.read({"A": a, "B": b, "C": c, "D": d}, interventions={"B": [True] * 100})
    assert estimate_effect(PAG("A o-> B; B <-> C; D o-> C"), table, "C", "B", bootstrap=20).difference == 0


def test_rows_with_the_treatment_set_count_with_the_others_where_the_effect_is_identified():
    """By a set to adjust for, in all rows together; where all have X set, there is nothing to adjust for."""
    rng = np.random.default_rng(3)
    w, own, noise, chosen = rng.normal(size=(4, 4000))
    is_set = np.arange(4000) < 2000
    x = np.where(is_set, chosen, w + own)
    table = pb.Table.read({"W": w, "X": x, "Y": x + 2 * w + noise}, interventions={"X": is_set})
    graph = "W -> X -> Y; W -> Y"
    both = estimate_effect(graph, table, "Y", "X", bootstrap=20)
    assert (both.variables, both.num_cases) == (("W",), 4000)
    assert both.difference == pytest.approx(1.0, abs=0.1)
    alone = estimate_effect(graph, table.take(is_set), "Y", "X", bootstrap=20)
    assert (alone.variables, alone.num_cases) == ((), 2000)
    assert alone.difference == pytest.approx(1.0, abs=0.2)


def test_a_randomised_instrument_is_an_instrument_whatever_causes_it_otherwise():
    """Setting Z in all rows changes no effect of X, and cuts Z <-> Y."""
    rng = np.random.default_rng(4)
    z, hidden, own, noise = rng.normal(size=(4, 4000))
    x = z + hidden + own
    table = pb.Table.read({"Z": z, "X": x, "Y": x + 2 * hidden + noise}, interventions={"Z": [True] * 4000})
    graph = CausalGraph("Z -> X -> Y; X <-> Y; Z <-> Y")
    found = estimate_effect(graph, table, "Y", "X", method="instrument", bootstrap=NO_RESAMPLES)
    assert found.method == "instrument"
    assert found.difference == pytest.approx(1.0, abs=0.15)


def test_plug_in_takes_a_class_of_one_graph():
    """What gies finds where experiments leave no edge open."""
    rng = np.random.default_rng(5)
    x, e1, e2 = rng.normal(size=(3, 600))
    marks = {"X": np.arange(600) < 200, "Y": (np.arange(600) >= 200) & (np.arange(600) < 400)}
    y = np.where(marks["Y"], 2 * e1, x + e1)
    table = pb.Table.read({"X": x, "Y": y, "Z": y + e2}, interventions=marks)
    found = causal.gies(table)
    assert found.size == 1
    estimate = estimate_effect(found, table, "Z", "X", method="plug-in", bootstrap=NO_RESAMPLES)
    assert estimate.difference == pytest.approx(1.0, abs=0.2)


def test_a_method_is_printed_as_it_is_written():
    """What .method says can be given as method=; other names lead to it."""
    rows = {"X": [0, 0, 1, 1] * 20, "Y": [0, 1, 0, 1, 1, 1, 0, 0] * 10}
    for name in ("doubly-robust", "standardization", "weighting", "plug-in", "identified"):
        assert estimate_effect("X -> Y", rows, "Y", "X", method=name, bootstrap=NO_RESAMPLES).method == name
    for written, meant in (("ipw", "weighting"), ("AIPW", "doubly-robust"), ("g-formula", "standardization")):
        with pytest.raises(InvalidArgument, match=f"Did you mean '{meant}'"):
            estimate_effect("X -> Y", rows, "Y", "X", method=written)
