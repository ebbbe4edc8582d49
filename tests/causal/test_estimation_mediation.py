"""Direct and indirect effects against the enumeration of all background conditions of functional models."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import adjustment_oracle as oracle
from marked_graph_oracles import ancestors, subsets
from plausible import BayesianNetwork, LinearGaussianCPD, TableCPD
from plausible.causal.adjustment.mediators import check_mediation, mediation_set
from plausible.causal.estimation.mediated_effects import controlled_direct_effect, mediated_effects
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import CausalGraph

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
    with pytest.raises(UnknownVariable, match="'Q'"):
        mediated_effects(net, "Y", "X", "Q")
    with pytest.raises(InvalidArgument, match="mediators= is empty"):
        mediated_effects(net, "Y", "X", [])
    with pytest.raises(InvalidArgument, match="levels="):
        mediated_effects(net, "Y", "X", "M")
    with pytest.raises(InvalidArgument, match="two values"):
        mediated_effects(net, "Y", "X", "M", levels=(0, 1, 2))
    check = check_mediation("X -> M -> Y; M <-> Y; X -> L; L -> Y", "Y", "X", "M", given="L")
    assert check.forbidden == ("L",)
    assert "M <-> Y is open" in str(check)
    assert mediation_set("X -> M -> Y; M <-> Y", "Y", "X", "M") is None
