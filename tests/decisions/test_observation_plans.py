"""Sets of observations and plans of looking are the best of all sets and plans."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.information import subsets
from plausible.decisions.information.planning import count_plans, observation_plan
from plausible.decisions.information.samples import value_of_sample
from plausible.decisions.information.subsets import Limits, choose_observations
from plausible.decisions.solving.problem import SolvingOptions
from plausible.decisions.structure.edits import with_optional_observation
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge
from plausible.utilities import Utility
from solving_oracle import full_tables, random_diagram


def pointer(boxes: int = 2) -> InfluenceDiagram:
    """The sign says which box has the answer: alone neither sign nor boxes are of much use."""
    chance = [
        pb.TableCPD("sign", np.full(boxes, 1 / boxes)),
        *(pb.TableCPD(f"box{i}", [0.5, 0.5]) for i in range(boxes)),
    ]
    names = [cpd.variable.name for cpd in chance]
    right = Utility([*names, "guess"], lambda sign, *rest: 10.0 * (rest[sign] == rest[-1]), name="right")
    return InfluenceDiagram(chance, [Decision("guess", 2)], [right])


def _tables(diagram: InfluenceDiagram, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """P and P·U with axes (names..., decision)."""
    (decision,) = diagram.decisions
    probability, utility = full_tables(diagram)
    order = list(diagram.variables)
    kept = [*names, decision]
    gone = tuple(axis for axis, name in enumerate(order) if name not in kept)
    left = [name for name in order if name in kept]
    found = [
        np.transpose(table.sum(axis=gone), [left.index(name) for name in kept])
        for table in (probability, probability * utility)
    ]
    return found[0], found[1]


def plan_value(phi, psi, costs, seen=(), left=None, most=99):
    """max over acting now and looking at any one next, by recursion over states; unnormalised."""
    left = tuple(range(len(costs))) if left is None else left
    index = [slice(None)] * len(costs)
    for axis, state in seen:
        index[axis] = slice(state, state + 1)
    best = psi[(*index, slice(None))].sum(axis=tuple(range(len(costs)))).max()
    if most > 0:
        weight = phi[(*index, 0)].sum()
        for axis in left:
            rest = tuple(other for other in left if other != axis)
            value = sum(
                plan_value(phi, psi, costs, (*seen, (axis, state)), rest, most - 1) for state in range(phi.shape[axis])
            )
            best = max(best, value - costs[axis] * weight)
    return best


def set_value(psi, chosen, number):
    gone = tuple(axis for axis in range(number) if axis not in chosen)
    return psi.sum(axis=gone).max(axis=-1).sum()


# --- sets ---


@given(seed=st.integers(0, 10_000), number=st.sampled_from([None, 1, 2]), budget=st.sampled_from([np.inf, 0.5, 1.0]))
@settings(max_examples=16, deadline=None)
def test_the_set_chosen_is_the_best_of_all_sets_and_so_is_the_best_of_each_size(seed, number, budget):
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 4, 1, 3, max_seen=1)
    (decision,) = diagram.decisions
    seen = list(diagram.decisions[decision].sees)
    names = [n for n in diagram.chance if n not in diagram.graph.descendants(decision) and n not in seen]
    costs = dict(zip(names, rng.random(len(names)).round(2), strict=True))
    found = choose_observations(diagram, costs=costs, limits=Limits(number, budget))
    _, psi = _tables(diagram, [*seen, *names])
    fixed, total = tuple(range(len(seen))), len(seen) + len(names)
    base = set_value(psi, fixed, total)
    by_size = {}
    for size in range((len(names) if number is None else min(number, len(names))) + 1):
        for chosen in combinations(range(len(names)), size):
            cost = sum(costs[names[place]] for place in chosen)
            if cost <= budget + 1e-12:
                value = set_value(psi, (*fixed, *(len(seen) + place for place in chosen)), total) - base - cost
                by_size[size] = max(by_size.get(size, -np.inf), value)
    assert found.is_exact
    assert [value.net_value for value in found.by_size] == pytest.approx(list(by_size.values()), abs=1e-9)
    assert found.best.net_value == pytest.approx(max(by_size.values()), abs=1e-9)


def test_several_decisions_are_solved_for_each_set():
    """Seeing X at the first of two decisions that have to match it is worth as much as at both."""
    chance = [pb.TableCPD("X", [0.5, 0.5]), pb.TableCPD("Y", [0.5, 0.5])]
    decisions = [Decision("A", 2), Decision("B", 2, sees=["A"])]
    utilities = [Utility(["X", "A"], np.eye(2), "a"), Utility(["Y", "B"], np.eye(2), "b")]
    diagram = InfluenceDiagram(chance, decisions, utilities)
    found = choose_observations(diagram, "A", costs=0.2)
    assert found.best.variables == ("X", "Y")
    assert found.best.net_value == pytest.approx(0.6)
    assert choose_observations(diagram, "B", costs=0.2).best.variables == ("Y",)


def test_a_greedy_choice_says_so_and_passes_sets_that_do_not_pay(monkeypatch):
    exact = choose_observations(pointer(), costs=1.0)
    monkeypatch.setattr(subsets, "_MAX_SETS", 1)
    greedy = choose_observations(pointer(), costs=1.0)
    assert not greedy.is_exact
    assert "without a guarantee" in str(greedy)
    assert greedy.num_sets < 8
    assert greedy.best.net_value == pytest.approx(exact.best.net_value)
    assert [len(found.variables) for found in greedy.by_size] == [0, 1, 2, 3]


@pytest.mark.parametrize("number", [0, 1, np.int64(2)])
def test_a_number_limits_how_many_are_observed(number):
    assert choose_observations(pointer(), limits=number) == choose_observations(pointer(), limits=Limits(int(number)))


@pytest.mark.parametrize("limits", [1.5, True, "two", {"number": 1}])
def test_limits_that_are_none_are_refused_with_the_form(limits):
    with pytest.raises(InvalidArgument, match=r"Limits\(number=\.\.\., budget=\.\.\.\)"):
        choose_observations(pointer(), limits=limits)


def test_large_sets_are_solved_one_by_one(monkeypatch):
    expected = choose_observations(pointer(), costs=1.0)
    monkeypatch.setattr(subsets, "_MAX_TABLE", 1)
    found = choose_observations(pointer(), costs=1.0)
    assert found.best.variables == expected.best.variables
    assert found.best.value == pytest.approx(expected.best.value)


def test_a_budget_in_other_units_is_not_taken_off_the_value():
    hours = {"sign": 5.0, "box0": 20.0, "box1": 20.0}
    charged = choose_observations(pointer(), costs=hours)
    assert charged.best.variables == ()
    free = choose_observations(pointer(), costs=hours, limits=Limits(budget=25, is_charged=False))
    assert free.best.variables == ("box0",)
    assert free.best.net_value == free.best.value == pytest.approx(2.5)
    assert len(free.by_size) == 3  # the sign and a box, but not two boxes
    assert [found.cost for found in free.by_size] == [0, 20, 25]  # what is spent is told
    assert "not taken off" in str(free)
    assert "not taken off" not in str(charged)


def test_limits_that_are_none_are_refused():
    with pytest.raises(InvalidArgument, match="number"):
        Limits(-1)
    with pytest.raises(InvalidArgument, match="budget"):
        Limits(budget=-1.0)


# --- plans ---


@given(seed=st.integers(0, 10_000), most=st.sampled_from([None, 0, 1, 2]))
@settings(max_examples=16, deadline=None)
def test_the_plan_is_the_best_of_all_plans(seed, most):
    """Its worth by recursion over all states; and by following it in each state of the world."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, 4, 1, 3, max_seen=2)
    (decision,) = diagram.decisions
    diagram = diagram.with_information({decision: ()})
    names = [name for name in diagram.chance if name not in diagram.graph.descendants(decision)]
    costs = dict(zip(names, np.maximum(rng.random(len(names)) - 0.1, 0.0), strict=True))
    plan = observation_plan(diagram, costs=costs, max_number=most)
    phi, psi = _tables(diagram, names)
    expected = plan_value(phi, psi, list(costs.values()), most=99 if most is None else most)
    assert plan.expected_utility == pytest.approx(expected, abs=1e-9)
    assert plan.value >= -1e-9
    for found in (plan, observation_plan(diagram, costs=costs, max_number=most, is_myopic=True)):
        assert followed(diagram, found, names, costs) == pytest.approx(found.expected_utility, abs=1e-9)
        assert found.expected_utility <= expected + 1e-9


def followed(diagram, plan, names, costs) -> float:
    """What a plan brings, state by state."""
    phi, psi = _tables(diagram, names)
    (decision,) = diagram.decisions
    actions = diagram.variables[decision].states
    total = 0.0
    for place in np.ndindex(*phi.shape[:-1]):
        weight = phi[(*place, 0)]
        if weight > 0:
            looked, action = plan.run(dict(zip(names, place, strict=True)))
            total += psi[(*place, actions.index(action))] - weight * sum(costs[name] for name in looked)
    return total


def test_the_myopic_plan_misses_an_observation_that_only_says_which_other_one_is_of_use():
    """With many boxes no single observation pays; the best plan looks at the sign, then at one box."""
    diagram = pointer(4)
    plan, myopic = observation_plan(diagram, costs=1.5), observation_plan(diagram, costs=1.5, is_myopic=True)
    assert myopic.expected_utility == pytest.approx(5.0)
    assert plan.expected_utility == pytest.approx(7.0)
    assert plan.run({"sign": 2, "box0": 0, "box1": 0, "box2": 1, "box3": 0}) == (("sign", "box2"), 1)
    assert plan.is_exact
    assert not myopic.is_exact
    best_set = choose_observations(diagram, costs=1.5)
    assert best_set.best.net_value == 0  # buying all at once is worth nothing, looking step by step is


def test_a_plan_depends_on_what_is_seen_anyway():
    diagram = pointer().with_information({"guess": ["sign"]})
    plan = observation_plan(diagram, costs=1.0)
    assert [dict(start.seen) for start in plan.starts] == [{"sign": 0}, {"sign": 1}]
    assert [start.node.variable for start in plan.starts] == ["box0", "box1"]
    assert plan.expected_utility == pytest.approx(9.0)
    assert observation_plan(pointer(), evidence={"sign": 1}, costs=1.0).expected_utility == pytest.approx(9.0)


def test_the_plan_is_what_explicit_observation_decisions_find():
    """Item 100: first whether to see the sign, then which box; solving the diagram gives the same plan."""
    diagram = pointer()
    cost = 1.0
    for name, sees in (("sign", ()), ("box0", ("observe sign", "sign observed"))):
        diagram = with_optional_observation(diagram, name, cost, "guess", sees)
    diagram = with_optional_observation(
        diagram, "box1", cost, "guess", ("observe sign", "sign observed", "observe box0", "box0 observed")
    )
    assert diagram.solve().expected_utility == pytest.approx(observation_plan(pointer(), costs=cost).expected_utility)


def test_plans_that_can_not_be_made_are_refused_with_what_to_do():
    many = InfluenceDiagram([pb.TableCPD(f"X{i}", [0.5, 0.5]) for i in range(20)], [Decision("D", 2)], [])
    with pytest.raises(TooLarge, match="rank_observations"):
        observation_plan(many)
    seen = InfluenceDiagram(
        [pb.TableCPD(f"X{i}", [0.5, 0.5]) for i in range(1100)],
        [Decision("D", 2, sees=[f"X{i}" for i in range(1100)])],
        [],
    )
    with pytest.raises(TooLarge, match=r"'D' sees anyway: 1100 variables.*with_information\(\{'D': ") as raised:
        observation_plan(seen)
    assert "candidates" not in str(raised.value)  # there are none
    two = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [])
    with pytest.raises(NotSupported, match="with_optional_observation"):
        observation_plan(two, "D")
    with pytest.raises(NotSupported, match="anyway"):
        observation_plan(pointer().with_information({"guess": ["sign"]}), candidates=["sign"])


@pytest.mark.parametrize("cost", ["a", np.nan])
@pytest.mark.parametrize("ask", [observation_plan, choose_observations])
def test_costs_that_are_no_numbers_are_refused(ask, cost):
    for costs in (cost, {"sign": cost}):
        with pytest.raises(InvalidArgument, match="cost"):
            ask(pointer(), costs=costs)


@pytest.mark.parametrize("cost", [-1, "a", None, np.nan])
def test_a_study_costs_nothing_or_more(cost):
    with pytest.raises(InvalidArgument, match=r"cost=.* must be a number of at least 0"):
        value_of_sample(pointer(), "sign", 2, cost=cost)


def test_the_number_of_plans_grows_doubly_exponentially():
    def plans(left, num=3):
        return num + sum(plans(left[:i] + left[i + 1 :], num) ** size for i, size in enumerate(left))

    assert count_plans(3, [2, 3, 2]) == plans((2, 3, 2))
    assert count_plans(2, []) == 2
    assert count_plans(1, [2, 3]) == plans((2, 3), 1) == 13
    assert len(str(count_plans(2, [2] * 8))) > 100


def test_a_choice_tells_how_far_it_is_and_can_be_ended(monkeypatch):
    """The best of the first sets, and no claim that it is the best of all."""
    told = []
    found = choose_observations(pointer(), costs=1.0, progress=lambda state: told.append(state) or len(told) == 4)
    assert [(state.num_sets, state.most_sets) for state in told] == [(1, 8), (2, 8), (3, 8), (4, 8)]
    assert (found.num_sets, found.is_exact, found.stopped_by) == (4, False, "interrupted")
    assert found.best == told[-1].best
    assert "stopped early, the best of the first 4 sets" in str(found)
    whole = choose_observations(pointer(), costs=1.0, progress=lambda _: None)
    assert whole == choose_observations(pointer(), costs=1.0)
    monkeypatch.setattr(subsets, "_MAX_SETS", 1)
    told.clear()
    choose_observations(pointer(), costs=1.0, progress=told.append)
    assert [(state.num_sets, state.most_sets) for state in told] == [(number, 7) for number in range(1, 8)]


def test_a_plan_that_is_run_says_what_is_missing_or_never_seen():
    plan = observation_plan(pointer().with_information({"guess": ["sign"]}), costs=1.0)
    with pytest.raises(InvalidArgument, match="'sign'"):
        plan.run({"box0": 0})
    with pytest.raises(InvalidArgument, match="'box1'"):
        plan.run({"sign": 1})
    with pytest.raises(ImpossibleEvidence, match="never sees"):
        plan.run({"sign": 5})
    with pytest.raises(ImpossibleEvidence, match="box1=3"):
        plan.run({"sign": 1, "box1": 3})


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_looking_that_is_better_by_rounding_alone_is_no_part_of_a_plan(scale):
    """What counts as rounding is that of the diagram, a constant that is added included."""
    toss = [pb.TableCPD("X", [0.1, 0.9]), pb.TableCPD("Y", [0.3, 0.7])]
    table = scale * (np.array([0.1, 0.2]) + 1e3 * np.ones((2, 2, 2)))
    diagram = InfluenceDiagram(toss, [Decision("D", 2)], [Utility(["X", "Y", "D"], table)])
    (start,) = observation_plan(diagram).starts
    assert start.node.action == 1
    gains = scale * np.array([[1.0, 0.0], [0.0, 1.0]])
    useful = diagram.with_utility(Utility(["X", "D"], gains, "more"))
    assert observation_plan(useful, costs=0.001 * scale).starts[0].node.variable == "X"


def test_a_choice_among_values_that_are_not_proved_is_not_exact():
    """All sets were looked at, but the search for the best team was stopped in one of them."""
    diagram = pb.examples.load("exam")
    proved = choose_observations(diagram, "D4", candidates=["M"])
    assert (proved.is_exact, proved.is_greedy) == (True, False)
    found = choose_observations(diagram, "D4", candidates=["M"], options=SolvingOptions(progress=lambda _: True))
    assert (found.is_exact, found.is_greedy, found.converged) == (False, False, True)
    assert "2 sets, some of them not solved to the end" in str(found)
