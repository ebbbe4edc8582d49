"""The total utility, its distribution under a strategy, and curves of it."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import plausible as pb
from plausible.decisions import Decision, InfluenceDiagram, total_utility
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.utilities import ExponentialCurve, LogarithmicCurve, Utility, certainty_equivalent
from seeds import few_of
from solving_oracle import full_tables, num_strategies, placed, random_diagram


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
