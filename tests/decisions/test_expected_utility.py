"""What a strategy is worth: joint factors, utility by utility, and the full joint agree; its distribution; curves."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.decisions import Decision, InfluenceDiagram, total_utility
from plausible.decisions.solving import joint_tree
from plausible.decisions.solving.evaluating import expected_utility, local_optimality_test, utility_parts
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidEvidence, NotSupported, UnknownVariable
from plausible.utilities import ExponentialCurve, LogarithmicCurve, Utility, certainty_equivalent
from seeds import few_of
from solving_oracle import full_tables, num_strategies, placed, random_diagram, value_of


def random_rules(diagram: InfluenceDiagram, rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {n: [v.num_states for v in diagram.information(n)] for n in diagram.decisions}
    return {n: rng.dirichlet(np.ones(len(diagram.decisions[n].states)), shape) for n, shape in shapes.items()}


def as_strategy(diagram: InfluenceDiagram, rules: dict[str, np.ndarray]):
    scopes = {n: (*diagram.information(n), diagram.variables[n]) for n in rules}
    return diagram.strategy({n: pb.Factor(scopes[n], rule) for n, rule in rules.items()})


@pytest.mark.parametrize("small", [0, 2**12], ids=["clique tree", "one table"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_expected_utility_equals_the_full_joint(small, seed):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, *(int(n) for n in rng.integers(0, 5, 3)), zeros=0.3)
    rules = random_rules(diagram, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_tree, "SMALL", small)
        assert diagram.expected_utility(as_strategy(diagram, rules)) == pytest.approx(value_of(diagram, rules))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_the_parts_of_the_utility_are_expectations_and_add_up(seed):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 3, 2, 3)
    rules = random_rules(diagram, rng)
    strategy = as_strategy(diagram, rules)
    probability, _ = full_tables(diagram)
    for name, rule in rules.items():
        probability = probability * placed(rule, (*diagram.decisions[name].sees, name), list(diagram.variables))
    parts = diagram.utility_parts(strategy)
    for name, factor in diagram.utility_factors.items():
        expected = (probability * placed(factor.values, factor.names, list(diagram.variables))).sum()
        assert parts[name] == pytest.approx(expected)
    assert sum(parts.values()) == pytest.approx(diagram.expected_utility(strategy))


def test_several_utilities_are_worth_their_collapsed_sum():
    rng = np.random.default_rng(1)
    diagram = random_diagram(rng, 3, 2, 3)
    _, utility = full_tables(diagram)
    collapsed = InfluenceDiagram(
        diagram.chance.values(),
        diagram.decisions.values(),
        [Utility(list(diagram.variables.values()), utility, name="sum")],
    )
    for _ in range(5):
        strategy = as_strategy(diagram, random_rules(diagram, rng))
        assert expected_utility(diagram, strategy) == pytest.approx(expected_utility(collapsed, strategy))


def forecast() -> InfluenceDiagram:
    return InfluenceDiagram(
        [
            pb.TableCPD("rain", [0.7, 0.3], states=["no", "yes"]),
            pb.TableCPD("forecast", [[0.8, 0.2], [0.1, 0.9]], ["rain"], states=["dry", "wet"]),
            pb.TableCPD(
                "mood", [[[0.9, 0.1]] * 2, [[0.2, 0.8], [0.7, 0.3]]], ["rain", "umbrella"], states=["up", "down"]
            ),
        ],
        [Decision("umbrella", ["leave", "take"], sees=["forecast"])],
        [Utility("mood", [1.0, 0.0], name="joy"), Utility("umbrella", [0.0, -0.1], name="load")],
    )


@pytest.mark.parametrize(
    ("evidence", "vector"),
    [({"rain": "yes"}, [0, 1]), ({"rain": pb.likelihood([0.2, 0.9])}, [0.2, 0.9]), ({"rain": ["yes", "no"]}, [1, 1])],
)
def test_evidence_from_before_all_decisions_conditions_the_joint(evidence, vector):
    diagram = forecast()
    rules = {"umbrella": np.array([[0.6, 0.4], [0.1, 0.9]])}
    weights = placed(np.array(vector, dtype=float), ("rain",), list(diagram.variables))
    assert diagram.expected_utility(as_strategy(diagram, rules), evidence) == pytest.approx(
        value_of(diagram, rules, weights)
    )
    parts = diagram.utility_parts(as_strategy(diagram, rules), evidence)
    assert sum(parts.values()) == pytest.approx(value_of(diagram, rules, weights))


def test_evidence_that_depends_on_a_decision_is_refused_with_the_reason():
    diagram, strategy = forecast(), {"umbrella": "take"}
    with pytest.raises(InvalidEvidence, match="'mood' depends on the decision 'umbrella'"):
        diagram.expected_utility(strategy, {"mood": "up"})
    with pytest.raises(InvalidEvidence, match="'umbrella' is a decision"):
        diagram.solve(evidence={"umbrella": "take"})
    with pytest.raises(NotSupported, match="jeffrey"):
        diagram.solve(evidence={"rain": pb.jeffrey([0.5, 0.5])})
    with pytest.raises(UnknownVariable, match="Did you mean 'rain'"):
        diagram.solve(evidence={"rian": "yes"})


def test_impossible_evidence_is_refused():
    diagram = InfluenceDiagram(
        [pb.TableCPD("X", [1.0, 0.0], states=2)], [Decision("D", 2, sees="X")], [Utility(["X", "D"], np.eye(2))]
    )
    for ask in (
        lambda: diagram.solve(evidence={"X": 1}),
        lambda: diagram.solve(method="elimination", evidence={"X": 1}),
        lambda: diagram.solve(method="enumeration", evidence={"X": 1}),
        lambda: diagram.expected_utility({"D": 0}, {"X": 1}),
        lambda: diagram.utility_parts({"D": 0}, {"X": 1}),
        lambda: diagram.local_optimality_test({"D": 0}, {"X": 1}),
    ):
        with pytest.raises(ImpossibleEvidence):
            ask()


def test_evidence_far_below_the_smallest_float_is_no_impossible_evidence():
    """800 signs that each have a chance of about 0.1, so P(e) is near 1e-800; odds of the cause stay right."""
    chance = [pb.TableCPD("cause", [0.5, 0.5], states=2)]
    chance += [pb.TableCPD(f"S{i}", [[0.9, 0.1], [0.9 - 1e-4, 0.1 + 1e-4]], ["cause"], states=2) for i in range(800)]
    diagram = InfluenceDiagram(chance, [Decision("act", 2)], [Utility(["cause", "act"], [[0.0, 0.0], [0.0, 1.0]])])
    odds = (0.1001 / 0.1) ** 800
    found = diagram.solve(evidence={f"S{i}": 1 for i in range(800)})
    assert found.expected_utility == pytest.approx(odds / (1 + odds))


def test_compact_distributions_need_no_full_table():
    """A noisy-or of 40 causes: 2**41 entries as a table."""
    causes = [pb.TableCPD(f"C{i}", [0.9, 0.1], states=2) for i in range(40)]
    alarm = pb.NoisyOr("alarm", [f"C{i}" for i in range(40)], [0.3] * 40)
    diagram = InfluenceDiagram(
        [*causes, alarm], [Decision("act", 2, sees=["alarm"])], [Utility(["C0", "act"], [[0, -1], [-10, -1]])]
    )
    silent = (1 - 0.1 * 0.3) ** 40
    joint = 0.1 * (1 - 0.7 * (1 - 0.03) ** 39)
    worth = max(-1 * (1 - silent), -10 * joint) + max(-1 * silent, -10 * (0.1 - joint))
    assert diagram.solve().expected_utility == pytest.approx(worth)
    assert diagram.solve(method="elimination").expected_utility == pytest.approx(worth)


def test_a_strategy_that_does_not_fit_is_refused_by_name():
    diagram = forecast()
    with pytest.raises(InvalidArgument, match="no rule for 'umbrella'"):
        expected_utility(diagram, pb.decisions.Strategy({}))
    wrong = pb.Factor([diagram.variables["rain"], diagram.variables["umbrella"]], np.eye(2))
    with pytest.raises(InvalidArgument, match="'umbrella' is over"):
        expected_utility(diagram, {"umbrella": wrong})


def test_what_never_happens_is_no_reason_against_local_optimality():
    """W16: D1 -> D2, to agree on 1 is worth 2 and on 0 is worth 1; with D1 at 0, what D2 does at 1 is free."""
    diagram = InfluenceDiagram(
        [], [Decision("D1", 2), Decision("D2", 2, sees=["D1"])], [Utility(["D1", "D2"], [[1, 0], [0, 2]])]
    )
    test = diagram.local_optimality_test({"D1": 0, "D2": 0})
    assert test
    assert test.expected_utility == 1.0
    better = diagram.local_optimality_test({"D1": 0, "D2": {0: 0, 1: 1}}).better
    assert [(found.decision, found.action, found.gain) for found in better] == [("D1", 1, 1.0)]
    solution = diagram.solve()
    assert solution.strategy["D2"].values.tolist() == [[1, 0], [0, 1]]
    assert solution.expected_utility == 2.0


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_local_optimality_is_that_no_single_row_can_be_improved(seed):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 3, 2, 2, zeros=0.4)
    rules = {n: np.eye(r.shape[-1])[r.argmax(axis=-1)] for n, r in random_rules(diagram, rng).items()}
    present = value_of(diagram, rules)
    gains = []
    for name, rule in rules.items():
        for row in np.ndindex(*rule.shape[:-1]):
            for action in range(rule.shape[-1]):
                changed = rule.copy()
                changed[row] = np.eye(rule.shape[-1])[action]
                gains.append(value_of(diagram, {**rules, name: changed}) - present)
    test = local_optimality_test(diagram, as_strategy(diagram, rules))
    assert bool(test) == (max(gains) <= 1e-9)
    if not test:
        assert max(found.gain * found.probability for found in test.better) == pytest.approx(max(gains))
        assert str(test).startswith("Not locally optimal")


def test_utility_parts_of_a_diagram_without_variables():
    diagram = InfluenceDiagram([], [], [Utility([], 3.0, name="gift")])
    assert utility_parts(diagram, {}) == {"gift": 3.0}
    assert diagram.solve().expected_utility == 3.0
    assert InfluenceDiagram().solve().expected_utility == 0.0


def _joint(diagram, strategy):
    """P(all variables) under a strategy, and the total utility, both over all variables."""
    probability, utility = full_tables(diagram)
    for rule in strategy.values():
        probability = probability * placed(rule.values, rule.names, list(diagram.variables))
    return np.broadcast_to(probability, utility.shape), utility


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_the_risk_profile_is_the_distribution_of_the_sum_of_all_utilities(seed):
    diagram = random_diagram(np.random.default_rng(seed), 3, 2, 3, zeros=0.3)
    strategy = diagram.solve().strategy
    profile = diagram.risk_profile(strategy)
    probability, utility = _joint(diagram, strategy)
    expected = {float(amount): probability[utility == amount].sum() for amount in np.unique(utility)}
    expected = {amount: chance for amount, chance in expected.items() if chance > 0}
    assert list(profile) == sorted(expected)
    assert dict(profile) == pytest.approx(expected)
    assert profile.expectation() == pytest.approx(diagram.solve().expected_utility)


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_with_a_curve_the_best_strategy_is_that_of_the_curve_of_the_total(seed):
    """No strategy has a larger certainty equivalent; that of the best one is the inverse of its expected utility."""
    rng = np.random.default_rng(100 + seed)
    diagram = random_diagram(rng, 2, 2, 2)
    while num_strategies(diagram) > 100:  # the oracle goes through all of them
        diagram = random_diagram(rng, 2, 2, 2)
    curve = ExponentialCurve(0.3)
    averse = diagram.with_curve(curve)
    found = averse.solve()
    values = [certainty_equivalent(curve, diagram.risk_profile(strategy)) for strategy in _all_strategies(diagram)]
    assert curve.inverse(found.expected_utility) == pytest.approx(max(values))


def _all_strategies(diagram):
    options = []
    for name, decision in diagram.decisions.items():
        shape = [variable.num_states for variable in diagram.information(name)]
        rows = product(range(len(decision.states)), repeat=math.prod(shape))
        eye = np.eye(len(decision.states))
        scope = (*diagram.information(name), diagram.variables[name])
        options.append([(name, pb.Factor(scope, eye[list(row)].reshape(*shape, -1))) for row in rows])
    for rules in product(*options):
        yield diagram.strategy(dict(rules))


def test_a_curve_of_each_utility_by_itself_would_be_another_problem():
    """Two bets on one coin: each alone is taken, both together are too much."""
    chance = [pb.TableCPD("coin", [0.5, 0.5])]
    gains = [Utility(["coin", "go"], [[0, 20], [0, -10]], name=name) for name in ("one", "two")]
    diagram = InfluenceDiagram(chance, [Decision("go", 2)], gains)
    assert total_utility(diagram).reduce({"coin": 0, "go": 1}).values == 40
    log = LogarithmicCurve(wealth=25)
    parts = [Utility(f.names, log.values(f.values), name) for name, f in diagram.utility_factors.items()]
    apart = InfluenceDiagram(chance, [Decision("go", 2)], parts)
    assert apart.solve().strategy.action("go") == 1
    assert diagram.with_curve(log).solve().strategy.action("go") == 0


def test_what_a_curve_does_not_reach_is_named():
    diagram = InfluenceDiagram([], [Decision("go", ["no", "yes"])], [Utility("go", [0, -5])])
    with pytest.raises(InvalidArgument, match="for -5, the total where go=yes"):
        diagram.with_curve(LogarithmicCurve(wealth=1.0))


def test_profiles_of_nothing_and_given_what_is_impossible():
    alone = InfluenceDiagram([pb.TableCPD("x", [1.0, 0.0])], [Decision("go", 2)], [Utility([], 3.0, name="sure")])
    assert dict(alone.risk_profile({"go": 0})) == {3.0: 1.0}
    assert dict(alone.without("sure").risk_profile({"go": 0})) == {0.0: 1.0}
    seen = alone.with_utility(Utility("x", [1, 2]))
    with pytest.raises(ImpossibleEvidence):
        seen.risk_profile({"go": 0}, evidence={"x": 1})
