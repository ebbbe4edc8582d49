"""Sequential diagrams: rollback with shared sub-problems equals the explicit tree, written without shared code."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import plausible as pb
from plausible.decisions import Chance, Choice, Decision, InfluenceDiagram, SequentialDiagram
from plausible.decisions.asymmetric.problems import NotedHistory
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, UnknownState, UnknownVariable
from plausible.utilities import Utility
from plausible.variables import Variable
from seeds import few_of
from solving_oracle import full_tables


def reactor(test_cost: float = 1.0) -> SequentialDiagram:
    """A reactor problem after Covaliu & Oliver (1995); what is expected of it is derived from these numbers alone."""
    chance = [
        pb.TableCPD("usual", [0.98, 0.02], states=["works", "fails"]),
        pb.TableCPD("advanced", [0.66, 0.244, 0.096], states=["works", "limited", "major"]),
        pb.TableCPD(
            "result",
            [[0, 0.182, 0.818], [0.288, 0.565, 0.147], [0.313, 0.437, 0.25]],
            ["advanced"],
            states=["bad", "good", "excellent"],
        ),
    ]
    kinds = ["none", "usual", "advanced"]
    return SequentialDiagram(
        pb.BayesianNetwork(chance),
        [Decision("test", ["no", "yes"]), Decision("build", kinds)],
        [Utility("test", [0, -test_cost]), Utility("usual", [8, -4]), Utility("advanced", [12, -6, -10])],
        first="test",
        next={
            "test": {"no": "build", "yes": "result"},
            "result": "build",
            "build": {"none": None, "usual": "usual", "advanced": "advanced"},
            "usual": None,
            "advanced": None,
        },
        allowed={"build": lambda met: kinds[:2] if met.get("result") == "bad" else kinds},
    )


def test_reactor_is_tested_and_the_advanced_one_built_after_an_excellent_result():
    """By hand: usual 7.76, advanced 5.496 untested; P(excellent) = 0.599748, where the advanced one is worth more."""
    solution = reactor().solve()
    usual = 0.98 * 8 - 0.02 * 4
    excellent = 0.66 * 0.818 * 12 - 0.244 * 0.147 * 6 - 0.096 * 0.25 * 10
    chance = 0.66 * 0.818 + 0.244 * 0.147 + 0.096 * 0.25
    assert solution.expected_utility == pytest.approx(excellent + (1 - chance) * usual - 1)
    assert solution.expected_utility == pytest.approx(8.1293, abs=5e-5)
    values = {step.action: step.expected_utility for step in solution.steps({"test": "no"})}
    assert values == pytest.approx({"none": 0.0, "usual": 7.76, "advanced": 5.496})
    assert [step.action for step in solution.steps({"test": "yes", "result": "bad"})] == ["none", "usual"]
    good = (0.66 * 0.182 * 12 - 0.244 * 0.565 * 6 - 0.096 * 0.437 * 10) / (0.66 * 0.182 + 0.244 * 0.565 + 0.096 * 0.437)
    steps = {step.action: step.expected_utility for step in solution.steps({"test": "yes", "result": "good"})}
    assert steps["advanced"] == pytest.approx(good - 1)
    assert [solution.next_step({"test": "yes", "result": r}).action for r in ("bad", "good", "excellent")] == [
        "usual",
        "usual",
        "advanced",
    ]
    assert reactor(1.5).solve().next_step({}).action == "no"


def test_reactor_unrolls_into_its_tree():
    """Fewer nodes than a symmetric tree; after a bad result the advanced kind is no branch; the same value."""
    tree = reactor().decision_tree()
    assert tree.solve().expected_utility == pytest.approx(reactor().solve().expected_utility)
    nodes = dict(tree.nodes())
    assert nodes[(("test", "yes"), ("result", "bad"))].actions == ("none", "usual")
    assert tree.num_outcomes == 3 * 6 + 3
    np.testing.assert_allclose(nodes[(("test", "yes"),)].probabilities, [0.10032, 0.299932, 0.599748])
    assert reactor().solve().num_subproblems == 10
    assert sum(isinstance(node, Choice | Chance) for node in nodes.values()) == 13
    with pytest.raises(TooLarge, match="max_outcomes=20"):
        reactor().decision_tree(max_outcomes=20)


# --- random diagrams against an explicit tree ---


def random_sequential(seed: int, size: int = 6) -> SequentialDiagram:
    """A random network below decisions; guards skip nodes, end the path and close actions by what was met."""
    rng = np.random.default_rng(seed)
    kinds = ["decision", *rng.choice(["chance", "decision"], size - 1, p=[0.6, 0.4])]
    variables, chance, decisions = [], [], []
    for number, kind in enumerate(rng.permutation(kinds)):
        variable = Variable(f"{kind[0].upper()}{number}", int(rng.choice([1, 2, 2, 3])))
        if kind == "decision":
            decisions.append(Decision(variable))
        else:
            parents = [variables[i] for i in sorted(rng.choice(number, min(number, int(rng.integers(0, 3))), False))]
            table = rng.random([p.num_states for p in parents] + [variable.num_states])
            table *= rng.random(table.shape) > 0.2
            table[..., 0] += table.sum(axis=-1) == 0
            chance.append(pb.TableCPD(variable, table / table.sum(axis=-1, keepdims=True), parents))
        variables.append(variable)
    parts = InfluenceDiagram(chance, decisions)
    order = _order(rng, parts)
    hidden = [name for name in order if name in parts.chance and rng.random() < 0.2]
    order = [name for name in order if name not in hidden]
    needed = {str(d) for name in order for d in parts.graph.ancestors(name)} & set(parts.decisions)
    following = {}
    for place, name in enumerate(order):
        following[name] = _guard(rng, parts, order, place, needed)
    utilities = []
    for number in range(3):
        scope = [parts.variables[n] for n in rng.choice(order, min(len(order), int(rng.integers(0, 3))), False)]
        utilities.append(Utility(scope, rng.integers(-5, 6, [v.num_states for v in scope]) * 1.0, name=f"U{number}"))
    allowed = {name: _limit(rng, order, parts.variables[name]) for name in parts.decisions if rng.random() < 0.5}
    return SequentialDiagram(chance, decisions, utilities, first=order[0], next=following, allowed=allowed)


def _order(rng, parts: InfluenceDiagram) -> list[str]:
    """A random order in which decisions come before what depends on them; else effects may come before causes."""
    left, order = list(parts.variables), []
    while left:
        ready = [name for name in left if all(d in order for d in parts.graph.ancestors(name) if d in parts.decisions)]
        name = str(rng.choice(ready))
        order.append(name)
        left.remove(name)
    return order


def _guard(rng, parts, order, place, needed):
    """The next node or, by the state of some node, the one after it or the end; nothing that is needed is skipped."""
    rest = order[place + 1 :]
    skippable = next((i for i, name in enumerate(rest) if name in needed), len(rest))
    targets = [*rest[: skippable + 1]][:3] + ([None] if skippable == len(rest) else [])
    kind = rng.integers(3)
    if kind == 0 or len(targets) == 1:
        return targets[0]
    if kind == 1:
        states = parts.variables[order[place]].states
        return {state: targets[int(rng.integers(len(targets)))] for state in states}
    read = str(rng.choice(order[: place + 1]))
    return lambda met: targets[hash((met.get(read, 7), 3)) % len(targets)]


def _limit(rng, order, variable):
    read = str(rng.choice(order))
    return lambda met: variable.states[: 1 + hash((met.get(read, 5), 2)) % variable.num_states]


class Explicit:
    """Every path one by one, with chances from the full joint table."""

    def __init__(self, diagram: SequentialDiagram) -> None:
        self.diagram = diagram
        self.probability, _ = full_tables(diagram.parts)
        self.num_nodes = 0

    def weight(self, met: dict) -> float:
        place = []
        for name, variable in self.diagram.variables.items():
            if name in met:
                place.append(slice(i := variable.index(met[name]), i + 1))
            else:
                place.append(slice(0, 1) if name in self.diagram.decisions else slice(None))
        return float(self.probability[tuple(place)].sum())

    def total(self, met: dict) -> float:
        value = 0.0
        for utility in self.diagram.utilities.values():
            if set(utility.parent_names) <= set(met):
                factor = utility.factor(self.diagram.variables)
                value += factor.values[tuple(self.diagram.variables[n].index(met[n]) for n in factor.names)]
        return float(value)

    def follow(self, name: str, met: dict) -> str | None:
        found = self.diagram.next[name]
        found = found[met[name]] if isinstance(found, dict) else found
        return found(met) if callable(found) else found

    def value(self, name: str | None, met: dict, choose) -> float:
        """The expected total; `choose` picks among (action, value) at choices."""
        if name is None:
            return self.total(met)
        self.num_nodes += 1
        if name in self.diagram.decisions:
            actions = self.diagram.open_actions(name, met)
            return choose(met, {a: self.value(self.follow(name, m := {**met, name: a}), m, choose) for a in actions})
        total, here = 0.0, self.weight(met)
        for state in self.diagram.variables[name].states:
            after = {**met, name: state}
            if self.weight(after) > 0:
                total += self.weight(after) / here * self.value(self.follow(name, after), after, choose)
        return total


@pytest.mark.parametrize("seed", few_of(14, 120))
def test_shared_sub_problems_give_the_value_of_the_explicit_tree(seed):
    """Guards, closed actions, hidden variables, zeros, effects seen before causes: value, plan and tree agree."""
    diagram = random_sequential(seed, size=4 + seed % 4)
    explicit, solution = Explicit(diagram), diagram.solve()
    best = explicit.value(diagram.first, {}, lambda met, values: max(values.values()))
    assert solution.expected_utility == pytest.approx(best, abs=1e-9)
    assert solution.num_subproblems <= explicit.num_nodes
    assert diagram.decision_tree().solve().expected_utility == pytest.approx(best, abs=1e-9)

    def planned(met, values):
        step = solution.next_step(met)
        told = {s.action: s.expected_utility for s in solution.steps(met)}
        assert told == pytest.approx(values, abs=1e-9)
        return values[step.action]

    assert explicit.value(diagram.first, {}, planned) == pytest.approx(best, abs=1e-9)
    branches = solution.branches({})
    assert sum(branch.probability for branch in branches) == pytest.approx(1.0)
    for branch in branches:
        assert branch.probability == pytest.approx(explicit.weight(dict(branch.seen)) / explicit.weight({}))
    assert str(solution)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_symmetric_walk_has_the_maximum_of_the_influence_diagram(seed):
    """One fixed path through chance and decisions, each seeing all before it, is an ordinary diagram with recall."""
    rng = np.random.default_rng(seed)
    table = rng.random((2, 2, 2))
    chance = [
        pb.TableCPD("cause", [0.3, 0.7]),
        pb.TableCPD("sign", [[0.9, 0.1], [0.4, 0.6]], ["cause"]),
        pb.TableCPD("effect", table / table.sum(axis=-1, keepdims=True), ["cause", "first"]),
    ]
    utility = Utility(["cause", "effect", "second"], rng.integers(-5, 6, (2, 2, 2)) * 1.0)
    diagram = InfluenceDiagram(
        chance,
        [Decision("first", 2, sees=["sign"]), Decision("second", 2, sees=["sign", "first", "effect"])],
        [utility, Utility("first", [0.5, 0])],
    )
    path = ["sign", "first", "effect", "second", "cause"]
    walk = SequentialDiagram(
        chance,
        [Decision("first", 2), Decision("second", 2)],
        [utility, Utility("first", [0.5, 0])],
        first="sign",
        next=dict(zip(path, [*path[1:], None], strict=True)),
    )
    assert walk.solve().expected_utility == pytest.approx(diagram.solve().expected_utility, abs=1e-9)


def machine(stages: int) -> SequentialDiagram:
    """A Markov chain that is seen at each stage, where one may stop: only what was seen last matters."""
    chance = [pb.TableCPD("S0", [0.5, 0.5])]
    chance += [pb.TableCPD(f"S{i}", [[0.8, 0.2], [0.3, 0.7]], [f"S{i - 1}"]) for i in range(1, stages)]
    path: dict = {}
    for i in range(stages):
        path[f"S{i}"] = f"stop{i}"
        path[f"stop{i}"] = {"yes": None, "no": f"S{i + 1}" if i + 1 < stages else None}
    return SequentialDiagram(
        chance,
        [Decision(f"stop{i}", ["yes", "no"]) for i in range(stages)],
        [Utility(f"S{i}", [2, -3], name=f"gain{i}") for i in range(stages)],
        first="S0",
        next=path,
    )


def test_equal_sub_problems_are_solved_once():
    """The work grows by 4 sub-problems a stage where the tree doubles; both give the same value."""
    counts = [machine(stages).solve().num_subproblems for stages in (4, 5, 6, 40)]
    assert np.diff(counts).tolist() == [4, 4, 4 * 34]
    assert machine(6).solve().expected_utility == pytest.approx(machine(6).decision_tree().solve().expected_utility)
    with pytest.raises(TooLarge, match="max_subproblems=10"):
        machine(6).solve(max_subproblems=10)


def test_only_what_guards_read_keeps_histories_apart():
    """Three fair coins are seen: a guard that reads one of them meets two cases, one that counts them all eight."""
    coins = [pb.TableCPD(f"coin{i}", [0.5, 0.5]) for i in range(3)]

    def solved(open_actions):
        path = {"coin0": "coin1", "coin1": "coin2", "coin2": "act", "act": None}
        diagram = SequentialDiagram(
            coins,
            [Decision("act", 2)],
            [Utility("act", [0, 1])],
            first="coin0",
            next=path,
            allowed={"act": open_actions},
        )
        return diagram.solve()

    assert solved(lambda met: [0, 1]).num_subproblems == 4
    assert solved(lambda met: [met["coin1"]]).num_subproblems == 1 + 1 + 2 + 2
    assert solved(lambda met: [0, 1] if sum(met.values()) > 1 else [0]).num_subproblems == 1 + 2 + 4 + 8
    assert solved(lambda met: [0, 1] if sum(met.values()) > 1 else [0]).expected_utility == pytest.approx(0.5)


def test_utilities_count_where_all_their_variables_are_met():
    """The prize for guessing counts only with a guess; a utility of nothing always counts."""
    diagram = SequentialDiagram(
        [pb.TableCPD("coin", [0.5, 0.5])],
        [Decision("play", ["no", "yes"]), Decision("guess", 2)],
        [Utility(["guess", "coin"], [[-3, 1], [1, -4]]), Utility([], 7.0, name="gift"), Utility("play", [1.0, 1.0])],
        first="play",
        next={"play": {"no": None, "yes": "guess"}, "guess": "coin", "coin": None},
    )
    solution = diagram.solve()
    assert solution.expected_utility == pytest.approx(8.0)
    assert str(solution) == "Expected utility 8 by the best plan (4 sub-problems).\nnext: play=no"
    assert {s.action: s.expected_utility for s in solution.steps({"play": "yes"})} == pytest.approx({0: 7.0, 1: 6.5})
    assert solution.next_step({"play": "no"}) is None
    assert solution.next_step({"play": "yes", "guess": 0}) is None  # the coin is still to come, but no decision


def base(**changes):
    """A small problem with some of its parts changed."""
    given = {
        "chance": [pb.TableCPD("coin", [0.5, 0.5])],
        "decisions": [Decision("play", ["no", "yes"])],
        "utilities": [Utility("coin", [2, -1])],
        "first": "play",
        "next": {"play": {"no": None, "yes": "coin"}, "coin": None},
    }
    return SequentialDiagram(**{**given, **changes})


BENT = pb.TableCPD("coin", [[0.5, 0.5], [0.1, 0.9]], ["play"])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"first": "plya"}, UnknownVariable, "'plya', what comes first, is no key of next=.*Did you mean 'play'"),
        ({"next": {"play": "coin"}}, UnknownVariable, "'coin', what follows 'play'"),
        ({"next": {"play": {"no": None}, "coin": None}}, InvalidModel, r"after 'play' in \['yes'\]"),
        ({"next": {"play": {"on": None}, "coin": None}}, UnknownState, "'on'"),
        ({"next": {"play": None, "coin": None, "dice": None}}, UnknownVariable, "'dice'"),
        ({"next": {"play": None}}, InvalidModel, r"\['coin'\] never are"),
        ({"decisions": [Decision("play", ["no", "yes"], sees="coin")]}, InvalidModel, "leave out sees="),
        ({"allowed": {"coin": lambda met: []}}, UnknownVariable, "'coin'"),
    ],
)
def test_invalid_diagrams_are_refused(changes, error, message):
    """When they are made, with the name of what is wrong."""
    with pytest.raises(error, match=message):
        base(**changes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"next": {"play": "coin", "coin": "play"}}, InvalidModel, "'play' is met twice"),
        (
            {"chance": [BENT], "first": "coin", "next": {"coin": "play", "play": None}},
            InvalidModel,
            r"depend on \['play'\]",
        ),
        ({"next": {"play": lambda met: "dice", "coin": None}}, UnknownVariable, "'dice', what follows 'play'"),
        (
            {"next": {"play": lambda met: met["coin"], "coin": None}},
            UnknownVariable,
            r"'coin' was not met.*get\('coin'\)",
        ),
        ({"next": {"play": lambda met: met.get("cion"), "coin": None}}, UnknownVariable, "Did you mean 'coin'"),
        ({"allowed": {"play": lambda met: []}}, InvalidModel, "No action of 'play'"),
        ({"allowed": {"play": lambda met: ["maybe"]}}, UnknownState, "'maybe'"),
    ],
)
@pytest.mark.parametrize("ask", [SequentialDiagram.solve, SequentialDiagram.decision_tree])
def test_walks_that_go_wrong_are_refused(ask, changes, error, message):
    """What functions say is checked when they are asked."""
    with pytest.raises(error, match=message):
        ask(base(**changes))


def test_plans_tell_where_nothing_is_left_to_do():
    """Rain ends it, sun leaves a choice; what comes after the last choice is not told."""
    diagram = SequentialDiagram(
        [pb.TableCPD("sky", [0.4, 0.6], states=["rain", "sun"]), pb.TableCPD("luck", [0.5, 0.5])],
        [Decision("go", ["home", "out"])],
        [Utility("luck", [2, 4])],
        first="sky",
        next={"sky": {"rain": None, "sun": "go"}, "go": {"home": None, "out": "luck"}, "luck": None},
    )
    assert str(diagram.solve()).splitlines() == [
        "Expected utility 1.8 by the best plan (3 sub-problems).",
        "if sky=rain (0.4): nothing more to do",
        "if sky=sun (0.6): go=out, worth 3",
    ]


def test_sequential_diagrams_are_values():
    """Equal by content where guards are written out, and pickled."""
    diagram = machine(3)
    assert pickle.loads(pickle.dumps(diagram)) == diagram == machine(3)
    assert hash(diagram) == hash(machine(3))
    assert diagram != machine(4)
    assert repr(diagram) == "<SequentialDiagram: 6 nodes from 'S0' on, 3 of them decisions, 3 utilities>"


def test_histories_that_can_not_be_are_refused():
    """Unknown names, closed actions, nodes that are not met there, and outcomes that are left out."""
    solution = reactor().solve()
    with pytest.raises(UnknownVariable, match="'tset'"):
        solution.next_step({"tset": "no"})
    with pytest.raises(InvalidArgument, match="build=advanced is not open"):
        solution.next_step({"test": "yes", "result": "bad", "build": "advanced"})
    with pytest.raises(InvalidArgument, match=r"\['result'\] can't be met"):
        solution.next_step({"test": "no", "result": "bad"})
    with pytest.raises(InvalidArgument, match=r"\['result'\]: add it"):
        solution.next_step({"test": "yes"})


def test_a_noted_history_tells_what_was_read():
    """Looking at one name notes it; going through all notes all."""
    reads: set[str] = set()
    met = NotedHistory({"A": 1}, {"A": None, "B": None}, reads)
    assert met["A"] == 1
    assert reads == {"A"}
    assert (dict(met), len(met), reads) == ({"A": 1}, 1, {"A", "B"})


def test_long_walks_do_not_overflow():
    """Three hundred stages at each of which one may stop, solved and as a tree."""
    stages = 300
    path = {f"D{i}": {"stop": None, "go": f"D{i + 1}" if i + 1 < stages else None} for i in range(stages)}
    decisions = [Decision(f"D{i}", ["stop", "go"]) for i in range(stages)]
    diagram = SequentialDiagram([], decisions, [Utility(f"D{stages - 1}", [0, 1])], first="D0", next=path)
    assert diagram.solve().expected_utility == 1.0
    assert diagram.solve().num_subproblems == stages
    assert diagram.decision_tree().solve().expected_utility == 1.0
