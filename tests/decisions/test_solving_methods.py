"""Other ways to the same optimum: arc reversal, queries, one table, unlikely evidence; the axioms of joint factors."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import Factor, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.solving import elimination
from plausible.decisions.solving.elimination import eliminate_joint, joint_factors, reverse_arcs, utility_network
from plausible.decisions.solving.problem import read_findings
from plausible.decisions.solving.updating import first_best_rule
from plausible.errors import ImpossibleEvidence, InvalidFactor, NotSupported
from plausible.factors.joint_factor import JointFactor, combined
from plausible.utilities import Utility
from plausible.variables import Variable
from solving_oracle import all_strategy_values, num_strategies, placed, random_diagram, value_of

METHODS = ["auto", "elimination", "arc-reversal", "network", "enumeration"]


def drawn(seed: int, recall: bool) -> InfluenceDiagram:
    rng = np.random.default_rng(seed)
    while True:
        counts = (int(rng.integers(0, 6)), int(rng.integers(0, 4)), int(rng.integers(0, 4)))
        diagram = random_diagram(rng, *counts, recall=recall, zeros=float(rng.choice([0, 0.3, 0.6])))
        if num_strategies(diagram) <= 1000:
            return diagram


def drawn_evidence(diagram: InfluenceDiagram, seed: int) -> tuple[dict, np.ndarray | float]:
    """A likelihood of each of some variables that no decision influences, and their product over all variables."""
    rng = np.random.default_rng(seed)
    after = {name for decision in diagram.decisions for name in diagram.graph.descendants(decision)}
    vectors = {
        name: rng.random(diagram.variables[name].num_states) + 0.01
        for name in diagram.chance
        if name not in after and rng.random() < 0.5
    }
    weights: np.ndarray | float = 1.0
    for name, vector in vectors.items():
        weights = weights * placed(vector, (name,), list(diagram.variables))
    return {name: pb.likelihood(vector) for name, vector in vectors.items()}, weights


@pytest.mark.parametrize("method", ["arc-reversal", "network"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=16, deadline=None)
def test_with_recall_every_method_finds_the_best_of_all_strategies(method, seed):
    diagram = drawn(seed, recall=True)
    evidence, weights = drawn_evidence(diagram, seed)
    best = all_strategy_values(diagram, weights).max()
    solution = diagram.solve(method=method, evidence=evidence)
    assert solution.expected_utility == pytest.approx(best)
    assert solution.is_optimal
    rules = {name: rule.values for name, rule in solution.strategy.items()}
    assert value_of(diagram, rules, weights) == pytest.approx(best)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_queries_solve_limited_memory_where_no_decisions_rely_on_each_other(seed):
    diagram = drawn(seed, recall=False)
    if not diagram.explain().is_acyclic:
        with pytest.raises(NotSupported, match="rely on each other"):
            diagram.solve(method="network")
        return
    best = all_strategy_values(diagram).max()
    assert diagram.solve(method="network").expected_utility == pytest.approx(best)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_the_network_variable_is_the_utility_between_its_bounds(seed):
    """P(S = 1) = (E[U] - Σ min) / Σ (max - min) under any rules."""
    rng = np.random.default_rng(seed)
    diagram = drawn(seed, recall=bool(seed % 2))
    rules = {
        name: rng.dirichlet(np.ones(len(d.states)), [v.num_states for v in diagram.information(name)])
        for name, d in diagram.decisions.items()
    }
    scopes = {name: (*diagram.information(name), diagram.variables[name]) for name in rules}
    network, success = utility_network(diagram, {n: pb.Factor(scopes[n], rule) for n, rule in rules.items()})
    tables = [factor.values for factor in diagram.utility_factors.values()]
    low, span = sum(t.min() for t in tables), sum(np.ptp(t) for t in tables)
    expected = (value_of(diagram, rules) - low) / span if span else 0.0
    assert network.query(success).values[1] == pytest.approx(expected, abs=1e-9)


def test_arc_reversal_gives_rules_over_what_was_left_of_what_is_seen():
    """A decision that sees a coin without use gets a rule without it; one that sees rain takes the umbrella then."""
    diagram = InfluenceDiagram(
        [pb.TableCPD("rain", [0.7, 0.3]), pb.TableCPD("coin", [0.5, 0.5])],
        [Decision("umbrella", 2, sees=["coin", "rain"])],
        [Utility(["rain", "umbrella"], [[1, 0], [-5, 0]])],
    )
    rule = reverse_arcs(diagram, {})["umbrella"]
    assert rule.names == ("rain", "umbrella")
    assert rule.values.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_arcs_are_turned_the_nearest_child_first(seed):
    """A hidden cause of two signs, one of which depends on the other: what is left are distributions of these."""
    rng = np.random.default_rng(seed)
    chance = [
        pb.TableCPD("X", rng.dirichlet([1, 1])),
        pb.TableCPD("Y", rng.dirichlet([0.3, 0.3], (2, 2)), ["X", "Z"]),
        pb.TableCPD("Z", rng.dirichlet([0.3, 0.3], 2), ["X"]),
    ]
    decision = Decision("D", 2, sees=["Y", "Z"])
    diagram = InfluenceDiagram(chance, [decision], [Utility(["X", "D"], rng.normal(size=(2, 2)))])
    best = all_strategy_values(diagram).max()
    assert diagram.solve(method="arc-reversal").expected_utility == pytest.approx(best)
    nodes = elimination._Nodes(diagram)
    nodes.take_out_all_but({"Y", "Z", "D"})
    assert set(nodes.distributions) == {"Y", "Z"}
    for name, factor in nodes.distributions.items():
        assert factor.marginalize(name).flat == pytest.approx(1.0)


def test_arc_reversal_refuses_limited_memory():
    diagram = InfluenceDiagram(decisions=[Decision("early", 2), Decision("late", 2)])
    with pytest.raises(NotSupported, match="'late' does not see 'early'"):
        diagram.solve(method="arc-reversal")


@pytest.mark.parametrize("method", METHODS)
def test_names_that_the_network_would_use_may_be_taken(method):
    diagram = InfluenceDiagram(
        [pb.TableCPD("chosen", [0.25, 0.75])],
        [Decision("chosen+", 2, sees=["chosen"])],
        [Utility(["chosen", "chosen+"], [[2, 0], [0, 4]], name="chosen++")],
    )
    assert diagram.solve(method=method).expected_utility == pytest.approx(3.5)


@pytest.mark.parametrize("method", METHODS)
def test_diagrams_without_decisions_or_utilities_are_worth_what_they_are(method):
    assert InfluenceDiagram().solve(method=method).expected_utility == 0
    chance = [pb.TableCPD("X", [0.25, 0.75])]
    assert InfluenceDiagram(chance).solve(method=method).expected_utility == 0
    paid = InfluenceDiagram(chance, utilities=[Utility("X", [0, 4]), Utility([], 2.0, name="fee")])
    assert paid.solve(method=method).expected_utility == pytest.approx(5)
    idle = InfluenceDiagram(chance, [Decision("D", 3, sees=["X"])], [Utility([], 2.0)])
    assert idle.solve(method=method).strategy["D"].values.tolist() == [[1, 0, 0], [1, 0, 0]]


# --- evidence ---


def one_cause(num_tests: int, small: float) -> InfluenceDiagram:
    """A cause with many tests, each of which comes out positive once in a blue moon."""
    chance = [pb.TableCPD("cause", [0.5, 0.5])]
    rows = [[1 - small, small], [1 - 3 * small, 3 * small]]
    chance += [pb.TableCPD(f"T{i}", rows, ["cause"]) for i in range(num_tests)]
    return InfluenceDiagram(chance, [Decision("D", 2)], [Utility(["cause", "D"], [[10, 0], [0, 1]])])


@pytest.mark.parametrize("method", [*METHODS, "local"])
@pytest.mark.parametrize(("num_tests", "small"), [(4, 1e-100), (40, 1e-20)], ids=["one table", "clique tree"])
def test_evidence_far_below_the_smallest_float_is_weighed_right(method, num_tests, small):
    """P(evidence) is about 1e-400 and 1e-800, and the odds of the cause are 3 to the number of tests."""
    diagram = one_cause(num_tests, small)
    solution = diagram.solve(method=method, evidence={f"T{i}": 1 for i in range(num_tests)})
    odds = 3.0**num_tests
    assert solution.expected_utility == pytest.approx(max(10, odds) / (1 + odds))
    assert solution.strategy.action("D") == 1


@pytest.mark.parametrize("method", METHODS)
def test_impossible_evidence_is_refused_by_every_method(method):
    chance = [pb.TableCPD("X", [1.0, 0.0]), pb.TableCPD("Y", np.eye(2), ["X"])]
    diagram = InfluenceDiagram(chance, [Decision("D", 2)], [Utility(["X", "D"], np.eye(2))])
    with pytest.raises(ImpossibleEvidence):
        diagram.solve(method=method, evidence={"Y": 1})
    assert set(read_findings(diagram, {"Y": 1})) == {"Y"}


A, B, C = Variable("A", 2), Variable("B", 3), Variable("C", 2)


def random_pair(rng: np.random.Generator, phi: list[Variable], mu: list[Variable]) -> JointFactor:
    shape = [v.num_states for v in phi]
    probability = rng.random(shape) * (rng.random(shape) > 0.3)
    return JointFactor(Factor(phi, probability), Factor(mu, rng.normal(size=[v.num_states for v in mu])))


@pytest.fixture(params=range(10))
def pairs(request):
    rng = np.random.default_rng(request.param)
    return [random_pair(rng, [A, B], [B]), random_pair(rng, [B, C], [A, C]), random_pair(rng, [C], [])]


def test_combination_is_commutative_and_associative(pairs):
    one, two, three = pairs
    assert (one * two).is_close(two * one)
    assert ((one * two) * three).is_close(one * (two * three))


def test_marginalization_is_consonant(pairs):
    """Summing out A then B is summing out B then A is summing out both."""
    whole = combined(pairs)
    both = whole.marginalize(["A", "B"])
    assert whole.marginalize("A").marginalize("B").is_close(both)
    assert whole.marginalize("B").marginalize("A").is_close(both)


def test_marginalization_and_combination_interchange(pairs):
    """Σ_A (γ1 γ2) = γ2 Σ_A γ1 where γ2 does not depend on A."""
    one, _, three = pairs
    assert (one * three).marginalize("A").is_close(three * one.marginalize("A"))


def test_contraction_commutes_with_marginalization(pairs):
    whole = combined(pairs)
    assert whole.marginalize("B").contract().is_close(whole.contract().marginalize("B"))


def test_nothing_over_nothing_is_nothing():
    pair = JointFactor(Factor([A, C], [[0, 0], [0.5, 0.5]]), Factor([A, C], [[5, 7], [1, 3]]))
    assert pair.marginalize("C").utility.values.tolist() == [0.0, 2.0]


def test_summing_a_variable_that_only_the_utility_has_counts_its_states():
    """(1, μ(A)) summed over A is (|A|, mean of μ)."""
    left = JointFactor(utility=Factor([A], [1.0, 3.0])).marginalize("A")
    assert left.probability.sum() == 2.0
    assert left.utility.sum() == 2.0


def test_maximization_takes_the_best_action_where_it_is_possible():
    pair = JointFactor(Factor([B, A], [[0.5, 0.5], [0.5, 0.5], [0, 0]]), Factor([B, A], [[1, 2], [4, 3], [9, 9]]))
    left, rule = pair.maximize("A")
    assert rule.reorder(["B", "A"]).values.tolist() == [[0, 1], [1, 0], [1, 0]]
    assert left.contract().values.tolist() == [1.0, 2.0, 0.0]


def test_the_first_of_actions_that_differ_by_rounding_alone_is_taken():
    """0.1 + 0.2 is 0.3, though not in floats."""
    found = first_best_rule(np.array([[0.3, 0.1 + 0.2, 0.0], [0.3, 0.3001, 0.0]]))
    assert found.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_negative_probability_and_an_infinite_utility_are_refused():
    with pytest.raises(InvalidFactor, match=r"-0\.5 at \{'A': 1\}"):
        JointFactor(Factor([A], [1.0, -0.5]))
    with pytest.raises(InvalidFactor, match="infinite"):
        JointFactor(utility=Factor([A], [1.0, np.inf]))


def figure() -> tuple[InfluenceDiagram, dict[str, np.ndarray]]:
    """A -> B -> D -> E with V1(A, E) and V2(C, E)."""
    rng = np.random.default_rng(3)
    rows = {n: rng.dirichlet([1, 1], size=n) for n in (1, 2)}
    diagram = InfluenceDiagram(
        [
            TableCPD("A", rows[1][0], states=2),
            TableCPD("B", rows[2], ["A"], states=2),
            TableCPD("C", rng.dirichlet([1, 1]), states=2),
            TableCPD("E", rng.dirichlet([1, 1], size=2), ["D"], states=2),
        ],
        [Decision("D", 2, sees=["B"])],
        [
            Utility(["A", "E"], rng.normal(size=(2, 2)), name="V1"),
            Utility(["C", "E"], rng.normal(size=(2, 2)), name="V2"),
        ],
    )
    return diagram, {"D": rng.dirichlet([1, 1], size=2)}


def test_joint_elimination_gives_the_expected_utility_in_any_order():
    diagram, rules = figure()
    strategy = diagram.strategy({"D": Factor([diagram.variables["B"], diagram.variables["D"]], rules["D"])})
    factors = joint_factors(diagram, strategy)
    expected = value_of(diagram, rules)
    for order in permutations("ABCDE"):
        result = eliminate_joint(factors, order)
        assert result.probability.sum() == pytest.approx(1.0)
        assert result.utility.sum() == pytest.approx(expected)


def test_joint_factors_keep_the_meaning_of_conditional_expectations():
    """Without D: (P(B), E[V1 + V2 | B, D]); the maximum over D of the contraction is the best rule."""
    diagram, _ = figure()
    pair = eliminate_joint(joint_factors(diagram), ["C", "A", "E"])
    assert set(pair.names) == {"B", "D"}
    table = pair.contract().reorder(["B", "D"]).values
    best = max(value_of(diagram, {"D": np.eye(2)[[first, second]]}) for first in range(2) for second in range(2))
    assert table.max(axis=1).sum() == pytest.approx(best)
    assert diagram.solve().expected_utility == pytest.approx(best)


def test_sums_of_utilities_that_are_not_divided_by_their_probability_are_wrong():
    """(Σ φ, Σ φ μ) in the place of (Σ φ, Σ φ μ / Σ φ): utilities would be weighted several times."""
    diagram, rules = figure()
    strategy = diagram.strategy({"D": Factor([diagram.variables["B"], diagram.variables["D"]], rules["D"])})
    left = [(factor.probability, factor.utility) for factor in joint_factors(diagram, strategy)]
    for name in "CAEBD":
        touching = [pair for pair in left if name in {*pair[0].names, *pair[1].names}]
        left = [pair for pair in left if name not in {*pair[0].names, *pair[1].names}]
        phi = Factor.scalar(1.0)
        mu = Factor.scalar(0.0)
        for one, two in touching:
            phi, mu = phi * one, mu + two
        left.append((phi.marginalize(name), (phi * mu).marginalize(name)))
    assert sum(mu.sum() for _, mu in left) != pytest.approx(value_of(diagram, rules))


@pytest.mark.parametrize("seed", range(15))
def test_joint_elimination_equals_the_joint_on_random_diagrams(seed):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, num_chance=3, num_decisions=2, num_utilities=3)
    strategy = diagram.uniform_strategy()
    result = eliminate_joint(joint_factors(diagram, strategy), rng.permutation(list(diagram.variables)).tolist())
    assert result.utility.sum() == pytest.approx(value_of(diagram, {n: r.values for n, r in strategy.items()}))


def test_a_maximum_is_one_of_actions_that_are_possible():
    """Where φ is zero μ means nothing, however large; where no action is possible the rule has the first one."""
    probability = pb.Factor({"X": 3, "D": 2}, [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    utility = pb.Factor({"X": 3, "D": 2}, [[3.0, 5.0], [9.0, 2.0], [1.0, 7.0]])
    left, rule = JointFactor(probability, utility).maximize("D")
    assert rule.values.tolist() == [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    assert left.probability.values.tolist() == [1.0, 1.0, 0.0]
    assert left.utility.values.tolist()[:2] == [5.0, 2.0]
