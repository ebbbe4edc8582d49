"""Expected cost of repair: the formula, the best order, parts that can't be seen, and calls for service."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.decisions.troubleshooting.repair_order import (
    Component,
    Trials,
    best_repair_order,
    costs_without_each,
    expected_repair_cost,
)
from plausible.errors import InvalidArgument, UnknownVariable


def cost_by_cases(components, order, service):
    """The mean over which component is the fault (or none) of what is paid until it is found."""
    by_name = {component.name: component for component in components}
    total, nowhere = 0.0, 1.0 - sum(component.fault_probability for component in components)
    for fault, chance in [*((c.name, c.fault_probability) for c in components), (None, nowhere)]:
        paid = 0.0
        for name in order:
            part = by_name[name]
            paid += part.observation_cost if part.observable else part.repair_cost
            if name == fault:
                paid += part.repair_cost if part.observable else 0.0
                break
        else:
            paid += service or 0.0
        total += chance * paid
    return total


numbers = st.one_of(st.just(0.0), st.just(2.0), st.floats(0.01, 20))


@st.composite
def component_lists(draw, most=5):
    size = draw(st.integers(1, most))
    weights = [draw(numbers) for _ in range(size)]
    rest = draw(st.sampled_from([0.0, 1.0, 5.0]))
    total = sum(weights) + rest or 1.0
    return [
        Component(f"c{i}", w / total, draw(numbers), draw(numbers), draw(st.booleans())) for i, w in enumerate(weights)
    ]


@settings(max_examples=25, deadline=None)
@given(component_lists(), st.one_of(st.none(), numbers))
def test_expected_cost_of_repair_is_the_mean_over_faults(components, service):
    """ECR = Σ_i (1 - Σ_{j<i} p_j) C°_i + p_i C^r_i, with C° := C^r and C^r := 0 for parts that can't be seen."""
    order = [component.name for component in reversed(components)]
    found = expected_repair_cost(components, order, service)
    assert found == pytest.approx(cost_by_cases(components, order, service), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(component_lists())
def test_falling_chance_per_cost_is_the_best_order(components):
    """No permutation is cheaper than sorting by p / C°."""
    plan = best_repair_order(components)
    names = [component.name for component in components]
    least = min(cost_by_cases(components, order, None) for order in permutations(names))
    assert sorted(plan.order) == names
    assert plan.expected_cost == pytest.approx(least, abs=1e-9)
    assert cost_by_cases(components, plan.order, None) == pytest.approx(least, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(component_lists(most=4), st.floats(0, 40))
def test_with_a_service_call_the_best_parts_are_tried_in_the_best_order(components, service):
    """No ordered selection of parts, followed by a call, is cheaper."""
    plan = best_repair_order(components, service)
    names = [component.name for component in components]
    selections = chain.from_iterable(permutations(names, size) for size in range(len(names) + 1))
    least = min(cost_by_cases(components, order, service) for order in selections)
    assert plan.expected_cost == pytest.approx(least, abs=1e-9)
    assert cost_by_cases(components, plan.order, service) == pytest.approx(least, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(component_lists(most=4), st.one_of(st.none(), st.floats(0, 40)))
def test_what_is_left_to_try_after_each_part_costs_least(components, service):
    """For each part that is no fault: no order of the others, or of some of them before a call, is cheaper."""
    costs = np.array([component.trial_costs for component in components], dtype=float)
    chances = np.array([component.fault_probability for component in components])
    trials = Trials(chances, costs[:, 0], costs[:, 1], np.full(len(components), np.inf))
    for place, found in enumerate(costs_without_each(trials, service).tolist()):
        others = [component for component in components if component is not components[place]]
        sizes = range(0 if service is not None else len(others), len(others) + 1)
        orders = chain.from_iterable(permutations([c.name for c in others], size) for size in sizes)
        # A fault of the part itself, which was ruled out, would cost what a fault elsewhere does.
        paid = {order: cost_by_cases(others, order, service) for order in orders}
        ruled_out = {
            order: components[place].fault_probability
            * cost_by_cases([replace(c, fault_probability=0.0) for c in others], order, service)
            for order in paid
        }
        assert found == pytest.approx(min(paid[order] - ruled_out[order] for order in paid), abs=1e-9)


def test_parts_that_pay_only_together_are_found():
    """Each of two cheap-to-find parts is dearer than the call alone, but both together are cheaper: a minimum cut."""
    rng = np.random.default_rng(5)
    cuts = 0
    for _ in range(150):
        chances = rng.dirichlet(np.ones(4))
        components = [Component(f"c{i}", p, rng.uniform(0, 9), rng.uniform(0, 9)) for i, p in enumerate(chances)]
        service = rng.uniform(4, 16)
        plan = best_repair_order(components, service)
        selections = chain.from_iterable(permutations([c.name for c in components], k) for k in range(5))
        least = min(cost_by_cases(components, order, service) for order in selections)
        assert plan.expected_cost == pytest.approx(least, abs=1e-9)
        alone = min(cost_by_cases(components, (name,), service) for name in plan.order) if plan.order else 0.0
        cuts += bool(plan.order) and alone > service
    assert cuts > 1  # the case did occur


def test_a_price_that_is_a_rounding_error_buys_nothing():
    """A call that costs nothing is best, though two parts make each other all but free."""
    chances = [0.0049751243781094535, 0.0, 0.9950248756218907]
    parts = [
        Component(f"c{i}", p, 0.0, cost, False) for i, (p, cost) in enumerate(zip(chances, (0, 2, 2), strict=True))
    ]
    assert best_repair_order(parts, 0.0).expected_cost == 0


def test_repair_costs_don_t_matter_for_the_order():
    """The fault is repaired at some time in any order."""
    parts = [Component("a", 0.5, 3, 1), Component("b", 0.3, 1, 1), Component("c", 0.2, 2, 1)]
    dear = [Component(p.name, p.fault_probability, p.observation_cost, 100 * i) for i, p in enumerate(parts)]
    assert best_repair_order(parts).order == best_repair_order(dear).order == ("b", "a", "c")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Component("a", 1.5), "'a'"),
        (lambda: Component("a", 0.5, -1), "'a'"),
        (lambda: Component("a", 0.5, float("nan")), "'a'"),
        (lambda: best_repair_order([Component("a", 0.7), Component("b", 0.7)]), "sum to 1.4"),
        (lambda: best_repair_order([Component("a", 0.1), Component("a", 0.1)]), "'a'"),
        (lambda: expected_repair_cost([Component("a", 1)], ["a", "a"]), "twice"),
        (lambda: best_repair_order([Component("a", 1)], float("inf")), "service call"),
    ],
)
def test_what_is_no_component_is_refused_by_name(make, told):
    with pytest.raises(InvalidArgument, match=told):
        make()


def test_an_order_with_a_stranger_is_refused():
    with pytest.raises(UnknownVariable, match="'b'"):
        expected_repair_cost([Component("a", 1)], ["b"])


def test_nothing_to_repair_costs_a_call_or_nothing():
    assert best_repair_order([]).expected_cost == 0
    assert best_repair_order([], 7).expected_cost == 7
