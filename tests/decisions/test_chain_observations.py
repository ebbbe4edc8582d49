"""Observations along chains, against enumeration of all sets and of all plans on the joint distribution."""

import itertools
from functools import cache

import numpy as np
import pytest

import plausible as pb
from plausible.decisions import (
    BestAction,
    ChainScope,
    Limits,
    Margin,
    NegativeEntropy,
    chain_observation_plan,
    choose_chain_observations,
)
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge, UnknownVariable


class Brute:
    """A chain as one table: what is known is a tuple of states, None for those that are not seen."""

    def __init__(self, joint, rewards):
        self.joint, self.rewards, self.size = joint, rewards, joint.ndim
        self.reward, self.probability = cache(self._reward), cache(self._probability)

    def table(self, seen):
        return self.joint[tuple(slice(None) if state is None else slice(state, state + 1) for state in seen)]

    def _probability(self, seen):
        return self.table(seen).sum()

    def marginal(self, place, seen):
        table = self.table(seen)
        summed = table.sum(axis=tuple(axis for axis in range(self.size) if axis != place)) / table.sum()
        full = np.zeros(self.joint.shape[place])
        full[slice(None) if seen[place] is None else slice(seen[place], seen[place] + 1)] = summed
        return full

    def _reward(self, place, seen):
        return float(self.rewards[place](self.marginal(place, seen)))

    def outcomes(self, seen, place):
        """Each state of a place with its probability, and what is known then."""
        for state in range(self.joint.shape[place]):
            further = (*seen[:place], state, *seen[place + 1 :])
            if self.probability(further) > 0:
                yield self.probability(further) / self.probability(seen), further

    def of_set(self, places, is_filtering):
        """The expected reward where these places are seen."""
        total = 0.0
        for states in itertools.product(*(range(self.joint.shape[place]) for place in places)):
            known = dict(zip(places, states, strict=True))
            seen = tuple(known.get(place) for place in range(self.size))
            for place in range(self.size):
                past = tuple(s if i <= place or not is_filtering else None for i, s in enumerate(seen))
                if self.probability(seen) > 0:
                    total += self.probability(seen) * self.reward(place, past)
        return total

    def of_plans(self, seen, left, costs, charged):
        """The most that any plan brings from here on; what one side does not need may go to the other."""
        stop = sum(self.reward(place, seen) for place in range(self.size))
        options = [stop]
        for place in range(self.size):
            if seen[place] is None and costs[place] <= left + 1e-9:
                ahead = sum(
                    chance * self.of_plans(further, left - costs[place], costs, charged)
                    for chance, further in self.outcomes(seen, place)
                )
                options.append(ahead - charged * costs[place])
        return max(options)

    def of_forward_plans(self, time, seen, left, costs, charged):
        """The same, where each place is looked at when its turn comes, or never."""
        if time == self.size:
            return 0.0
        pass_by = self.reward(time, seen) + self.of_forward_plans(time + 1, seen, left, costs, charged)
        if costs[time] > left + 1e-9:
            return pass_by
        look = 0.0
        for chance, further in self.outcomes(seen, time):
            ahead = self.of_forward_plans(time + 1, further, left - costs[time], costs, charged)
            look += chance * (self.reward(time, further) + ahead)
        return max(pass_by, look - charged * costs[time])


def random_chain(seed, size=5, most_states=3, has_zeros=False):
    """A chain with edges to and fro, rewards of all kinds, and its table."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1 if has_zeros else 2, most_states + 1, size).tolist()
    root = int(rng.integers(size))
    names = [f"X{i}" for i in range(size)]

    def rows(shape):
        table = rng.dirichlet(np.full(shape[-1], 0.6), shape[:-1])
        if has_zeros:
            table = np.where(table < 0.25, 0.0, table)
            table /= table.sum(axis=-1, keepdims=True)
        return table

    cpds = [pb.TableCPD(names[root], rows((counts[root],)), states=range(counts[root]))]
    for place in [*range(root - 1, -1, -1), *range(root + 1, size)]:
        near = place + 1 if place < root else place - 1
        table = rows((counts[near], counts[place]))
        cpds.append(pb.TableCPD(names[place], table, [names[near]], states=range(counts[place])))
    network = pb.BayesianNetwork(*cpds)
    kinds = [lambda k: NegativeEntropy(), lambda k: Margin(), lambda k: BestAction(rng.normal(size=(k, 3)))]
    rewards = [kinds[int(rng.integers(3))](count) for count in counts]
    joint = network.query(names).values if size > 1 else network.query(names[0]).values
    return network, dict(zip(names, rewards, strict=True)), Brute(joint, rewards), rng


def along(brute, is_filtering=False):
    """The chain in its order, which the network need not have."""
    return ChainScope(chain=[f"X{i}" for i in range(brute.size)], is_filtering=is_filtering)


def sets_within(costs, budget):
    places = range(len(costs))
    every = (chosen for size in range(len(costs) + 1) for chosen in itertools.combinations(places, size))
    return [chosen for chosen in every if sum(costs[place] for place in chosen) <= budget + 1e-9]


@pytest.mark.parametrize("is_filtering", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_set_is_that_of_all_sets(seed, is_filtering):
    """Costs and a budget: no set within it brings more, and the set told brings what it is said to."""
    network, rewards, brute, rng = random_chain(seed, has_zeros=seed % 2 == 1)
    costs = (rng.integers(0, 8, brute.size) / 4).tolist()
    budget = float(rng.integers(0, 9)) / 3
    scope, limits = along(brute, is_filtering), Limits(budget=budget, is_charged=seed % 4 < 2)
    charged = limits.is_charged
    answer = choose_chain_observations(network, rewards, dict(zip(rewards, costs, strict=True)), limits, scope)
    worth = {
        chosen: brute.of_set(chosen, is_filtering) - charged * sum(costs[place] for place in chosen)
        for chosen in sets_within(costs, budget)
    }
    best = tuple(int(name[1:]) for name in answer.best.variables)
    assert worth[best] == pytest.approx(max(worth.values()), abs=1e-9)
    assert answer.without == pytest.approx(worth[()])
    assert answer.without + answer.best.net_value == pytest.approx(worth[best])
    assert answer.expected_reward == pytest.approx(brute.of_set(best, is_filtering))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_set_of_each_size_is_that_of_all_sets(seed):
    network, rewards, brute, _ = random_chain(seed, size=6, most_states=2)
    answer = choose_chain_observations(network, rewards, limits=Limits(number=4))
    for number, found in answer.by_limit.items():
        assert len(found.variables) == number
        values = [brute.of_set(chosen, False) for chosen in itertools.combinations(range(6), int(number))]
        assert answer.without + found.value == pytest.approx(max(values), abs=1e-9)


@pytest.mark.parametrize("is_filtering", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_no_plan_is_better_where_costs_are_charged(seed, is_filtering):
    """Without a limit stretches have nothing in common: dynamic programming over their ends is exact."""
    network, rewards, brute, rng = random_chain(seed, size=4 + (seed == 1), most_states=2 + (seed % 2 == 0))
    costs = rng.uniform(0, 0.4, brute.size).tolist()
    scope = along(brute, is_filtering)
    plan = chain_observation_plan(network, rewards, dict(zip(rewards, costs, strict=True)), scope=scope)
    nothing = (None,) * brute.size
    of_all = brute.of_forward_plans(0, nothing, 1e9, costs, 1) if is_filtering else None
    assert plan.is_exact
    assert plan.expected_reward == pytest.approx(
        brute.of_plans(nothing, 1e9, costs, 1) if of_all is None else of_all, abs=1e-9
    )


@pytest.mark.parametrize("charged", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_no_plan_along_the_chain_is_better_within_a_budget(seed, charged):
    network, rewards, brute, rng = random_chain(seed, has_zeros=seed % 2 == 0)
    costs = (rng.integers(1, 5, brute.size) / 10).tolist()
    limits = Limits(budget=0.6, is_charged=charged)
    scope = along(brute, is_filtering=True)
    plan = chain_observation_plan(network, rewards, dict(zip(rewards, costs, strict=True)), limits, scope)
    best = brute.of_forward_plans(0, (None,) * brute.size, 0.6, costs, charged)
    assert plan.is_exact
    assert plan.expected_reward == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_no_plan_of_up_to_two_looks_is_better(seed, number):
    network, rewards, brute, _ = random_chain(seed, has_zeros=seed == 3)
    plan = chain_observation_plan(network, rewards, limits=Limits(number=number))
    best = brute.of_plans((None,) * brute.size, number, [1] * brute.size, 0)
    assert plan.is_exact
    assert plan.expected_reward == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_that_divides_its_budget_lies_between_the_best_set_and_the_best_plan(seed):
    network, rewards, brute, _ = random_chain(seed, size=5, most_states=2)
    limits = Limits(number=3)
    plan = chain_observation_plan(network, rewards, limits=limits)
    chosen = choose_chain_observations(network, rewards, limits=limits)
    best = brute.of_plans((None,) * brute.size, 3, [1] * brute.size, 0)
    assert not plan.is_exact
    assert chosen.expected_reward - 1e-9 <= plan.expected_reward <= best + 1e-9


def test_what_one_side_does_not_need_can_be_worth_more_on_the_other():
    """Three looks: a plan that need not divide its budget can be strictly better, so this one is not called exact."""
    gaps = []
    for seed in range(40):
        network, rewards, brute, _ = random_chain(seed, size=5, most_states=2)
        plan = chain_observation_plan(network, rewards, limits=Limits(number=3))
        gaps.append(brute.of_plans((None,) * 5, 3, [1] * 5, 0) - plan.expected_reward)
        if gaps[-1] > 1e-4:
            return
    pytest.fail(f"No difference in {len(gaps)} chains.")


@pytest.mark.parametrize("is_filtering", [False, True])
def test_following_a_plan_brings_what_it_promises(is_filtering):
    """The mean over all cases of the rewards given what the plan saw, less costs, and within the budget."""
    network, rewards, brute, rng = random_chain(11, size=5, most_states=3)
    costs = {name: float(cost) for name, cost in zip(rewards, rng.integers(1, 4, 5) / 20, strict=True)}
    scope, limits = along(brute, is_filtering), Limits(budget=0.35)
    plan = chain_observation_plan(network, rewards, costs, limits, scope)
    total = 0.0
    for states, chance in np.ndenumerate(brute.joint):
        looked = plan.run(dict(zip(rewards, states, strict=True)))
        assert sum(costs[name] for name in looked) <= 0.35 + 1e-9
        seen = tuple(state if name in looked else None for name, state in zip(rewards, states, strict=True))
        for place in range(brute.size):
            past = tuple(s if i <= place or not is_filtering else None for i, s in enumerate(seen))
            total += chance * brute.reward(place, past)
        total -= chance * sum(costs[name] for name in looked)
    assert total == pytest.approx(plan.expected_reward)


def test_readings_of_a_hidden_chain_are_evidence():
    """Given readings the hidden states are a chain: the same answer as with the posterior written out as one."""
    rng = np.random.default_rng(5)
    hidden = [pb.TableCPD("H0", [0.4, 0.6])]
    hidden += [pb.TableCPD(f"H{i}", rng.dirichlet([1, 1], 2), [f"H{i - 1}"]) for i in range(1, 5)]
    readings = [pb.TableCPD(f"Y{i}", [[0.8, 0.2], [0.3, 0.7]], [f"H{i}"]) for i in range(5)]
    network = pb.BayesianNetwork(*hidden, *readings)
    names = [f"H{i}" for i in range(5)]
    evidence = {"Y1": 1, "Y3": 0, "H4": pb.likelihood([1, 3])}
    brute = Brute(network.query(names, evidence).values, [NegativeEntropy()] * 5)
    scope = ChainScope(chain=names, candidates=["H4", "H1", "H2"])
    chosen = choose_chain_observations(
        network, NegativeEntropy(), limits=Limits(number=2), scope=scope, evidence=evidence
    )
    best = max(itertools.combinations((1, 2, 4), 2), key=lambda places: brute.of_set(places, False))
    assert chosen.best.variables == tuple(names[place] for place in best)
    assert chosen.expected_reward == pytest.approx(brute.of_set(best, False))


def test_a_known_variable_in_the_middle_leaves_two_chains_that_are_one():
    network, rewards, brute, _ = random_chain(2, size=5, most_states=2)
    rest = {name: reward for name, reward in rewards.items() if name != "X2"}
    chosen = choose_chain_observations(network, rest, limits=Limits(number=2), evidence={"X2": 0})
    known = Brute(brute.joint[:, :, 0] / brute.joint[:, :, 0].sum(), list(rest.values()))
    best = max(known.of_set(places, False) for places in itertools.combinations(range(4), 2))
    assert chosen.expected_reward == pytest.approx(best)


def test_a_plan_halves_the_stretch_in_which_a_failure_lies():
    """15 parts, each of which fails with those behind it: four looks find the failure, as in a binary search."""
    first, broken = 1 / 16, [[1.0, 0.0]]
    cpds = [pb.TableCPD("P1", [first, 1 - first])]
    for i in range(2, 16):
        fails = 1 / (18 - i)
        cpds.append(pb.TableCPD(f"P{i}", [*broken, [fails, 1 - fails]], [f"P{i - 1}"]))
    plan = chain_observation_plan(pb.BayesianNetwork(*cpds), NegativeEntropy(), limits=Limits(number=4))
    assert plan.next() == "P8"
    assert plan.next({"P8": 1}) == "P12"
    assert plan.expected_reward == pytest.approx(0, abs=1e-9)
    assert plan.run({f"P{i}": int(i < 7) for i in range(1, 16)}) == ("P8", "P4", "P6", "P7")


def test_a_long_chain():
    """A chain of equal steps: one observation of 51 is best in the middle, and a plan is no worse than a set."""
    step = [[0.8, 0.2], [0.2, 0.8]]
    cpds = [pb.TableCPD("X0", [0.5, 0.5]), *(pb.TableCPD(f"X{i}", step, [f"X{i - 1}"]) for i in range(1, 51))]
    network = pb.BayesianNetwork(*cpds)
    one = choose_chain_observations(network, Margin(), limits=Limits(number=1))
    assert one.best.variables == ("X25",)
    chosen = choose_chain_observations(network, Margin(), limits=Limits(number=3))
    plan = chain_observation_plan(network, Margin(), limits=Limits(number=3))
    assert plan.expected_reward >= chosen.expected_reward - 1e-9


def test_degenerate_chains():
    single = pb.BayesianNetwork(pb.TableCPD("A", [0.25, 0.75]))
    assert str(choose_chain_observations(single, Margin())) == (
        "Observe A: worth 0.5, net 0.5 (expected reward 1, without observations 0.5)."
    )
    assert chain_observation_plan(single, Margin(), costs=0.6).next() is None
    assert choose_chain_observations(single, {}).best.variables == ()
    fixed = pb.BayesianNetwork(pb.TableCPD("A", [1.0, 0.0]), pb.TableCPD("B", [[0.5, 0.5], [0.5, 0.5]], ["A"]))
    plan = chain_observation_plan(fixed, NegativeEntropy())
    assert plan.run({"A": 0, "B": 1}) == ("B",)
    nothing = choose_chain_observations(fixed, NegativeEntropy(), scope=ChainScope(candidates=[]))
    assert nothing.best.variables == ()


def test_a_number_limits_how_many_of_a_chain_are_observed():
    network, rewards = random_chain(3)[:2]
    for ask in (choose_chain_observations, chain_observation_plan):
        assert str(ask(network, rewards, limits=2)) == str(ask(network, rewards, limits=Limits(number=2)))
        with pytest.raises(InvalidArgument, match=r"limits=2\.5"):
            ask(network, rewards, limits=2.5)


def test_a_reward_can_be_any_function_of_distributions():
    network, _, brute, _ = random_chain(1, size=4)
    brute.rewards = [lambda p: p[0] ** 2] * 4
    answer = choose_chain_observations(network, lambda p: p[..., 0] ** 2, limits=Limits(number=2))
    best = max(brute.of_set(chosen, False) for chosen in itertools.combinations(range(4), 2))
    assert answer.expected_reward == pytest.approx(best)


def diamond():
    both = [[[0.5, 0.5], [0.1, 0.9]], [[0.9, 0.1], [0.4, 0.6]]]
    near = [[0.5, 0.5], [0.1, 0.9]]
    roots = [pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("B", near, ["A"]), pb.TableCPD("C", near, ["A"])]
    return pb.BayesianNetwork(*roots, pb.TableCPD("D", both, ["B", "C"]))


@pytest.mark.parametrize(
    ("options", "error", "part"),
    [
        ({}, InvalidArgument, "no single path: name the variables of the chain"),
        ({"scope": ChainScope(chain=["B", "A", "D"])}, InvalidArgument, "'A' does not separate"),
        ({"scope": ChainScope(chain=["A", "Z"])}, UnknownVariable, "'Z' is not a variable"),
        ({"scope": ChainScope(chain=["A", "A"])}, InvalidArgument, "must name each variable of the chain once"),
        ({"scope": ChainScope(chain=["A", "B"], candidates=["D"])}, UnknownVariable, "'D'"),
        ({"scope": ChainScope(chain=["A", "B"]), "evidence": {"B": 0}}, InvalidArgument, "known from the evidence"),
        ({"scope": ChainScope(chain=["B", "A"]), "limits": Limits(2, 3.0)}, InvalidArgument, "not both"),
        ({"scope": ChainScope(chain=["B", "A"]), "rewards": {"D": Margin()}}, UnknownVariable, "'D'"),
        ({"scope": ChainScope(chain=["B", "A"]), "rewards": {"A": 3}}, InvalidArgument, "must be a function"),
        ({"scope": ChainScope(chain=["B", "A"]), "rewards": lambda p: p}, InvalidArgument, "into finite numbers"),
        ({"scope": ChainScope(chain=["B", "A"]), "rewards": BestAction([[1.0]])}, InvalidArgument, "needs 2"),
        (
            {"scope": ChainScope(chain=["B", "A"]), "costs": {"A": -1}, "limits": Limits(budget=1.0)},
            InvalidArgument,
            "must be a number of at least 0",
        ),
        (
            {"scope": ChainScope(chain=["B", "A"]), "costs": {"A": 1e-7, "B": 1}, "limits": Limits(budget=1.0)},
            TooLarge,
            "Round the costs",
        ),
    ],
)
@pytest.mark.parametrize("ask", [choose_chain_observations, chain_observation_plan])
def test_errors_say_what_to_do(ask, options, error, part):
    with pytest.raises(error, match=part):
        ask(diamond(), **{"rewards": NegativeEntropy(), **options})


def test_a_collider_is_no_chain():
    near = [[[0.5, 0.5], [0.1, 0.9]], [[0.9, 0.1], [0.4, 0.6]]]
    network = pb.BayesianNetwork(
        pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("C", [0.5, 0.5]), pb.TableCPD("B", near, ["A", "C"])
    )
    with pytest.raises(InvalidArgument, match="'B' does not separate"):
        choose_chain_observations(network, NegativeEntropy())


def test_a_plan_says_what_it_misses_and_what_can_not_be():
    network, rewards, _, _ = random_chain(0, size=4, most_states=2)
    plan = chain_observation_plan(network, rewards)
    with pytest.raises(UnknownVariable, match="the plan looks at it"):
        plan.run({})
    certain = pb.BayesianNetwork(pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("B", [[1, 0], [0, 1]], ["A"]))
    plan = chain_observation_plan(certain, {"B": BestAction([[1, 0], [0, 1]])}, scope=ChainScope(candidates=["A"]))
    assert plan.next() == "A"
    biased = pb.BayesianNetwork(pb.TableCPD("A", [0.5, 0.0, 0.5]))
    with pytest.raises(ImpossibleEvidence, match="A=1 can't be"):
        chain_observation_plan(biased, NegativeEntropy()).run({"A": 1})
