"""Unconstrained diagrams: the plan found is the best of all orders and actions, each depending on what was seen."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

import plausible as pb
from plausible.decisions import Decision, FreeDecision, UnconstrainedDiagram
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, TooLarge, UnknownState, UnknownVariable
from plausible.utilities import Utility
from plausible.variables import Variable
from seeds import few_of
from solving_oracle import full_tables


def random_problem(seed: int, num_chance: int = 3, num_decisions: int = 3, zeros: float = 0.2) -> UnconstrainedDiagram:
    """Chance variables below decisions and each other; some are released, some seen for nothing, some hidden."""
    rng = np.random.default_rng(seed)
    decisions = [Variable(f"D{i}", int(rng.choice([1, 2, 2, 3]))) for i in range(num_decisions)]
    pool, chance = list(decisions), []
    for number in range(num_chance):
        variable = Variable(f"C{number}", int(rng.choice([1, 2, 2, 3])))
        parents = [pool[i] for i in sorted(rng.choice(len(pool), int(rng.integers(0, 3)), replace=False))]
        table = rng.random([p.num_states for p in parents] + [variable.num_states])
        table *= rng.random(table.shape) > zeros
        table[..., 0] += table.sum(axis=-1) == 0
        chance.append(pb.TableCPD(variable, table / table.sum(axis=-1, keepdims=True), parents))
        pool.append(variable)
    names = [cpd.variable.name for cpd in chance]
    free = []
    for place, variable in enumerate(decisions):
        releases = [name for name in names if rng.random() < 0.3]
        after = [decisions[i].name for i in range(place) if rng.random() < 0.15]
        free.append(FreeDecision(variable, releases=releases, after=after))
    utilities = []
    for number in range(2):
        scope = [pool[i] for i in sorted(rng.choice(len(pool), int(rng.integers(1, 4)), replace=False))]
        utilities.append(Utility(scope, rng.integers(-5, 6, [v.num_states for v in scope]) * 1.0, name=f"U{number}"))
    observable = [name for name in names if rng.random() < 0.3]
    rng.shuffle(free)
    return UnconstrainedDiagram(chance, free, utilities, observable)


def random_diagnosis(seed: int, num_tests: int = 2, num_faults: int = 5) -> UnconstrainedDiagram:
    """A sign that is seen, tests that cost something and may be left out, and a treatment: order often matters."""
    rng = np.random.default_rng(seed)
    chance = [
        pb.TableCPD("fault", rng.dirichlet(np.full(num_faults, 3.0))),
        pb.TableCPD("sign", rng.dirichlet(np.full(2, 0.3), num_faults), ["fault"]),
    ]
    decisions, utilities = [], [Utility(["fault", "treat"], 10.0 * np.eye(num_faults), name="cure")]
    for number in range(num_tests):
        table = np.zeros((2, num_faults, 3))
        table[0, :, 2] = 1.0
        table[1, :, :2] = rng.dirichlet(np.full(2, 0.1), num_faults)
        chance.append(pb.TableCPD(f"R{number}", table, [Variable(f"T{number}", 2), "fault"]))
        decisions.append(FreeDecision(f"T{number}", 2, releases=f"R{number}"))
        utilities.append(Utility(f"T{number}", [0, -rng.uniform(0.2, 1.5)]))
    return UnconstrainedDiagram(chance, [*decisions, FreeDecision("treat", num_faults)], utilities, observable="sign")


class Oracle:
    """All histories, one by one, on the full joint table."""

    def __init__(self, diagram: UnconstrainedDiagram) -> None:
        self.diagram, self.names = diagram, list(diagram.variables)
        self.probability, utility = full_tables(diagram.parts)
        self.weighted = self.probability * utility
        self.waits = {}
        for name in diagram.observable:
            releasing = {d.name for d in diagram.decisions.values() if name in d.releases}
            upstream = {str(a) for a in diagram.parts.graph.ancestors(name)} & set(diagram.decisions)
            self.waits[name] = releasing | upstream

    def sum(self, table: np.ndarray, history: dict) -> float:
        """The sum over all that is not in a history; actions that are not in it are the first ones."""
        place = []
        for name, variable in self.diagram.variables.items():
            if name in history:
                place.append(slice(i := variable.index(history[name]), i + 1))
            else:
                place.append(slice(0, 1) if name in self.diagram.decisions else slice(None))
        return float(table[tuple(place)].sum())

    def new(self, history: dict) -> list[dict]:
        """All states of what has become visible, also the impossible ones."""
        made = set(history) & set(self.diagram.decisions)
        names = [name for name, waits in self.waits.items() if waits <= made and name not in history]
        states = [self.diagram.variables[name].states for name in names]
        return [dict(zip(names, found, strict=True)) for found in product(*states)]

    def value(self, history: dict) -> float:
        """P(history) times the best that can be had after it, over every order."""
        return sum(self._choose({**history, **seen}) for seen in self.new(history))

    def _choose(self, history: dict) -> float:
        possible = [
            name
            for name, decision in self.diagram.decisions.items()
            if name not in history and all(other in history for other in decision.after)
        ]
        if not possible:
            return self.sum(self.weighted, history)
        return max(
            self.value({**history, name: action}) for name in possible for action in self.diagram.variables[name].states
        )

    def followed(self, solution, history: dict) -> float:
        """P(history) times what the plan brings after it."""
        branches = {tuple(branch.seen.items()): branch.probability for branch in solution.branches(history)}
        total, here = 0.0, self.sum(self.probability, history)
        for seen in self.new(history):
            after = {**history, **seen}
            chance = self.sum(self.probability, after)
            assert branches.get(tuple(seen.items()), 0.0) == pytest.approx(chance / here, abs=1e-12)
            if chance > 0:
                step = solution.next_step(after)
                if step is None:
                    total += self.sum(self.weighted, after)
                else:
                    below = self.followed(solution, {**after, step.decision: step.action})
                    assert step.expected_utility == pytest.approx(below / chance, abs=1e-9)
                    total += below
        return total


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_the_plan_is_the_best_of_all_orders_and_actions_and_brings_what_it_says(seed):
    """V equals brute force over every order and history; so does the value of following the plan on the joint."""
    diagram = random_problem(seed, num_chance=3 + seed % 2)
    oracle, solution = Oracle(diagram), diagram.solve()
    assert solution.expected_utility == pytest.approx(oracle.value({}), abs=1e-9)
    assert oracle.followed(solution, {}) == pytest.approx(solution.expected_utility, abs=1e-9)
    assert str(solution)


@pytest.mark.parametrize(("seed", "num_tests"), [(7, 2), (10, 2), (13, 2), (38, 2), (11, 3)])
def test_plans_whose_order_depends_on_what_is_seen_equal_brute_force(seed, num_tests):
    """Costly tests after a sign, where every fixed order is worse than the plan."""
    diagram = random_diagnosis(seed, num_tests)
    oracle, solution = Oracle(diagram), diagram.solve()
    assert solution.expected_utility == pytest.approx(oracle.value({}), abs=1e-9)
    assert oracle.followed(solution, {}) == pytest.approx(solution.expected_utility, abs=1e-9)
    fixed = [order for order in diagram.orders() if order[-1] == "treat"]
    assert max(diagram.in_order(order).solve().expected_utility for order in fixed) < solution.expected_utility - 1e-6


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_no_fixed_order_is_better_than_the_plan(seed):
    """The influence diagram of each order has at most the value of the free problem."""
    diagram = random_problem(seed, num_decisions=2 + seed % 2)
    best = diagram.solve().expected_utility
    values = [diagram.in_order(order).solve().expected_utility for order in diagram.orders()]
    assert max(values) <= best + 1e-9
    if len(diagram.decisions) == 2 and not diagram.seen_after(()):
        assert max(values) == pytest.approx(best, abs=1e-9)  # nothing is known when the order is chosen


def test_orders_are_all_the_permutations_that_the_constraints_allow():
    """Six permutations of three, less those against a constraint, the listed one first."""
    coin = pb.TableCPD("coin", [0.5, 0.5])
    free = UnconstrainedDiagram(decisions=[FreeDecision(name, 2) for name in "ABC"])
    assert len(set(free.orders())) == 6
    assert next(free.orders()) == ("A", "B", "C")
    seen_first = UnconstrainedDiagram(
        [coin], [FreeDecision("A", 2, after="coin"), FreeDecision("B", 2), FreeDecision("C", 2, releases="coin")]
    )
    assert [*seen_first.orders()] == [("B", "C", "A"), ("C", "A", "B"), ("C", "B", "A")]
    with pytest.raises(InvalidArgument, match=r"'A' must come after \['C'\]"):
        seen_first.in_order(["A", "B", "C"])
    with pytest.raises(InvalidArgument, match="each of"):
        seen_first.in_order(["C", "A"])
    with pytest.raises(UnknownVariable, match="'Z'"):
        seen_first.in_order(["C", "A", "Z"])


def looks(cost: float = 1.0, locked: bool = False) -> UnconstrainedDiagram:
    """A sign says which of two coins decides whether the other one matters: 10 for the right guess of three."""
    coins = [pb.TableCPD(name, [0.5, 0.5]) for name in ("sign", "X", "Y")]
    seen = [
        pb.TableCPD(
            f"saw {name}",
            {("no", 0): [0, 0, 1], ("no", 1): [0, 0, 1], ("yes", 0): [1, 0, 0], ("yes", 1): [0, 1, 0]},
            parents=[f"look {name}", name],
            states=[0, 1, "nothing"],
        )
        for name in ("X", "Y")
    ]

    def right(sign, x, y, guess):
        first, second = (y, x) if sign else (x, y)
        return 10.0 * (guess == (1 + second if first else 0))

    return UnconstrainedDiagram(
        [*coins, *seen],
        [
            FreeDecision("look X", ["no", "yes"], releases="saw X", after="unlock" if locked else ()),
            FreeDecision("look Y", ["no", "yes"], releases="saw Y"),
            *([FreeDecision("unlock", ["now"])] if locked else []),
            FreeDecision("guess", 3),
        ],
        [Utility(f"look {name}", [0, -cost]) for name in ("X", "Y")] + [Utility(["sign", "X", "Y", "guess"], right)],
        observable="sign",
    )


def test_the_order_depends_on_what_was_seen_where_that_pays():
    """By hand: 10 - 1 - 1/2 in the order that the sign tells, 1/2 less in the other one: a fixed order has 8.25."""
    solution = looks().solve()
    assert solution.expected_utility == pytest.approx(8.5)
    assert [solution.next_step({"sign": sign}).decision for sign in (0, 1)] == ["look X", "look Y"]
    values = [looks().in_order(order).solve().expected_utility for order in looks().orders()]
    assert max(values) == pytest.approx(8.25)
    assert str(solution).splitlines() == [
        "Expected utility 8.5 by the best plan.",
        "if sign=0 (0.5): look X=yes, worth 8.5",
        "  if saw X=0 (0.5): look Y=no, guess=0, worth 9",
        "  if saw X=1 (0.5): look Y=yes, worth 8",
        "    if saw Y=0 (0.5): guess=1, worth 8",
        "    if saw Y=1 (0.5): guess=2, worth 8",
        "if sign=1 (0.5): look Y=yes, worth 8.5",
        "  if saw Y=0 (0.5): look X=no, guess=0, worth 9",
        "  if saw Y=1 (0.5): look X=yes, worth 8",
        "    if saw X=0 (0.5): guess=1, worth 8",
        "    if saw X=1 (0.5): guess=2, worth 8",
    ]


def test_what_must_come_before_a_telling_decision_does_not_wait():
    """To unlock shows nothing, but the first look may need it: it can't be left for the end."""
    solution = looks(locked=True).solve()
    assert solution.expected_utility == pytest.approx(8.5)
    assert solution.next_step({"sign": 0}).decision == "unlock"


def test_steps_tell_what_each_choice_brings():
    """With the sign at 0: the right coin first, the other one first, or no look at a coin at all."""
    steps = {(s.decision, s.action): s.expected_utility for s in looks().solve().steps({"sign": 0})}
    assert steps == pytest.approx(
        {("look X", "no"): 5.0, ("look X", "yes"): 8.5, ("look Y", "no"): 6.5, ("look Y", "yes"): 8.0}
    )


def test_what_is_dear_is_not_looked_at():
    """At a price of 6 the guess is made blindly, with one chance in two."""
    lines = str(looks(6.0).solve()).splitlines()
    assert lines[0] == "Expected utility 5 by the best plan."
    assert lines[1] == "if sign=0 (0.5): look X=no, look Y=no, guess=0, worth 5"


def test_degenerate_problems_are_solved():
    """Nothing at all, no decision, one action, nothing to see."""
    assert UnconstrainedDiagram().solve().expected_utility == 0.0
    assert str(UnconstrainedDiagram().solve()) == "Expected utility 0 by the best plan."
    coin = pb.TableCPD("coin", [0.25, 0.75])
    mere_chance = UnconstrainedDiagram([coin], utilities=[Utility("coin", [4, 8])], observable="coin")
    assert mere_chance.solve().expected_utility == pytest.approx(7.0)
    lone = UnconstrainedDiagram(
        decisions=[FreeDecision("A", ["go"]), FreeDecision("B", 2)], utilities=[Utility("B", [1, 3])]
    )
    assert str(lone.solve()) == "Expected utility 3 by the best plan.\nnext: A=go, B=1"
    assert lone.solve().next_step({"A": "go", "B": 0}) is None


def test_many_silent_decisions_cost_no_more_than_their_table():
    """Twelve decisions by which nothing becomes visible come last: 13 sets, not 4096."""
    names = [f"D{i}" for i in range(12)]
    diagram = UnconstrainedDiagram(
        [pb.TableCPD("coin", [0.5, 0.5])],
        [FreeDecision(name, 2) for name in names],
        [Utility([name, "coin"], [[0, 1], [1, 0]]) for name in names],
        observable="coin",
    )
    solution = diagram.solve(max_entries=2**14)
    assert solution.expected_utility == pytest.approx(12.0)
    assert len(solution.worth) == 13


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: UnconstrainedDiagram(decisions=[Decision("D", 2)]), InvalidModel, "FreeDecision"),
        (lambda: FreeDecision("D", 2, releases=[3]), InvalidModel, "What 'D' releases is a list of names, not of 3"),
        (lambda: UnconstrainedDiagram(decisions=[FreeDecision("D", 2, releases="X")]), UnknownVariable, "'X'"),
        (
            lambda: UnconstrainedDiagram(decisions=[FreeDecision("D", 2, after="E")]),
            UnknownVariable,
            "'D' can come after",
        ),
        (
            lambda: UnconstrainedDiagram(decisions=[FreeDecision("D", 2, after="E"), FreeDecision("E", 2, after="D")]),
            InvalidModel,
            "can't be ordered: .* -> .* -> ",
        ),
        (
            lambda: UnconstrainedDiagram([pb.TableCPD("X", [1.0])], [FreeDecision("D", 2, releases="X", after="X")]),
            InvalidModel,
            "D -> D",
        ),
    ],
)
def test_invalid_problems_are_refused(make, error, message):
    """Each with the name of what is wrong."""
    with pytest.raises(error, match=message):
        make()


def test_histories_that_can_not_be_are_refused():
    """Unknown names and states, things seen too early or left out, decisions that come last, and impossible ones."""
    solution = looks().solve()
    with pytest.raises(UnknownVariable, match="'sgn'"):
        solution.next_step({"sgn": 0})
    with pytest.raises(UnknownState, match="'sign'"):
        solution.next_step({"sign": 7})
    with pytest.raises(InvalidArgument, match=r"\['sign'\]"):
        solution.next_step({})
    with pytest.raises(InvalidArgument, match=r"\['saw X'\] can't be seen"):
        solution.next_step({"sign": 0, "saw X": 1})
    with pytest.raises(InvalidArgument, match="come last"):
        solution.next_step({"sign": 0, "guess": 1})
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        solution.next_step({"sign": 0, "look X": "no", "saw X": 1})
    with pytest.raises(TooLarge, match="max_entries=10"):
        looks().solve(max_entries=10)


def test_unconstrained_diagrams_are_values():
    """Equal by content, pickled, and not changed."""
    diagram = random_problem(3)
    assert pickle.loads(pickle.dumps(diagram)) == diagram == random_problem(3)
    assert hash(diagram) == hash(random_problem(3))
    assert diagram != random_problem(4)
    assert (
        repr(UnconstrainedDiagram())
        == "<UnconstrainedDiagram: 0 chance, 0 of them observable, 0 decisions, 0 utilities>"
    )
