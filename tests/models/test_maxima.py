"""Best assignments of networks with noisy-or and noisy-max distributions too large for tables."""

from __future__ import annotations

import math
import pickle
from itertools import combinations, product

import numpy as np
import pytest

from plausible.cpds import NoisyMax, NoisyOr, TableCPD
from plausible.errors import ImpossibleEvidence, NotSupported, TooLarge
from plausible.inference.budget import Budget
from plausible.models import BayesianNetwork, maxima
from plausible.variables import jeffrey, likelihood

PRIORS = np.linspace(0.02, 0.45, 40)


def noisy_or_network(priors, activation, leak):
    """Independent causes of one effect."""
    causes = [TableCPD(f"C{i}", [1 - p, p]) for i, p in enumerate(priors)]
    return BayesianNetwork(*causes, NoisyOr("Y", [f"C{i}" for i in range(len(priors))], activation, leak=leak))


def best_with_equal_strengths(priors, activation, leak, effect):
    """log P and the number of active causes: with equal strengths only that number matters, and the likeliest go first.

    P(Y=1 | j active) = 1 - (1 - leak)(1 - activation)^j; active causes cost log-odds of their priors.
    """
    none = sum(math.log(1 - p) for p in priors)
    odds = sorted((math.log(p / (1 - p)) for p in priors), reverse=True)
    values = []
    for j in range(len(priors) + 1):
        silent = (1 - leak) * (1 - activation) ** j
        chance = 1 - silent if effect else silent
        values.append(none + sum(odds[:j]) + (math.log(chance) if chance > 0 else -math.inf))
    return max(values), int(np.argmax(values))


@pytest.mark.parametrize(("activation", "leak"), [(0.3, 0.05), (0.9, 0.001), (0.05, 0.0), (1.0, 0.0)])
def test_forty_causes_have_the_best_assignment_of_the_closed_form(activation, leak):
    """From the model and from its compiled engine; with the effect seen, unseen, and absent."""
    net = noisy_or_network(PRIORS, [activation] * 40, leak)
    engine = net.compile()
    for effect in (0, 1):
        expected, num_active = best_with_equal_strengths(PRIORS, activation, leak, effect)
        for model in (net, engine):
            best = model.mpe({"Y": effect})
            assert best.log_probability == pytest.approx(expected, rel=1e-10)
            assert sum(best[f"C{i}"] for i in range(40)) == num_active
            assert best["Y"] == effect
            assert net.log_probability(dict(best)) == pytest.approx(best.log_probability, rel=1e-10)
    free = max(best_with_equal_strengths(PRIORS, activation, leak, effect)[0] for effect in (0, 1))
    assert net.mpe().log_probability == engine.mpe().log_probability == pytest.approx(free, rel=1e-10)


def test_the_k_best_of_forty_causes_are_those_of_the_closed_form():
    """With at most three of the likeliest causes active all candidates can be listed by hand."""
    activation, leak, k = 0.6, 0.02, 6
    priors = np.linspace(0.01, 0.2, 40)
    net = noisy_or_network(priors, [activation] * 40, leak)
    none = sum(math.log(1 - p) for p in priors)
    values = []
    for j in range(4):
        for active in combinations(range(40), j):
            chance = 1 - (1 - leak) * (1 - activation) ** j
            values.append(none + sum(math.log(priors[i] / (1 - priors[i])) for i in active) + math.log(chance))
    answers = net.k_best(k, {"Y": 1})
    assert [a.log_probability for a in answers] == pytest.approx(sorted(values, reverse=True)[:k], rel=1e-10)
    assert len({tuple(a.values()) for a in answers}) == k
    for answer in answers:
        assert net.log_probability(dict(answer)) == pytest.approx(answer.log_probability, rel=1e-10)


def test_hundreds_of_causes_in_the_lowest_state_are_a_product():
    """P(Y = 0 | x) factorises: no search, and each cause by itself."""
    priors = np.linspace(0.05, 0.9, 300)
    activation = np.linspace(0.9, 0.05, 300)
    net = noisy_or_network(priors, activation.tolist(), 0.1)
    expected = math.log(0.9) + sum(math.log(max(1 - p, p * (1 - a))) for p, a in zip(priors, activation, strict=True))
    for best in (net.mpe({"Y": 0}), net.compile().mpe({"Y": 0}), net.k_best(1, {"Y": 0})[0]):
        assert best.log_probability == pytest.approx(expected, rel=1e-10)
        assert best.info.engine in ("clique tree", "max-product elimination")


def enumerated(net, leaks, effects):
    """[(assignment, P)] of all assignments: noisy maxima by their definition, causes by their table.

    P(Y ≤ y | x) is the product over the leak and the causes of P(Y_i ≤ y | x_i).
    """
    every = []
    for states in product(*(v.states for v in net.variables.values())):
        row = dict(zip(net.variables, states, strict=True))
        total = 1.0
        for name, cpd in net.cpds.items():
            if name in leaks:
                below = [float(sum(leaks[name][: y + 1])) for y in range(-1, 3)]
                for parent, effect in effects[name].items():
                    below = [
                        b * float(sum(effect[row[parent]][: y + 1])) for y, b in zip(range(-1, 3), below, strict=True)
                    ]
                total *= below[row[name] + 1] - below[row[name]]
            else:
                total *= float(cpd.values[(*(row[parent.name] for parent in cpd.parents), row[name])])
        every.append((row, total))
    return every


@pytest.mark.parametrize("seed", range(3))
def test_noisy_maxima_are_maximised_as_by_enumeration(seed, monkeypatch):
    """Several children with common causes of two or three states, some linked; all tables forbidden."""
    monkeypatch.setattr(maxima, "_LARGEST_TABLE", 0)
    monkeypatch.setattr(maxima, "_LARGEST_SUMS", 8)
    monkeypatch.setattr("plausible.models.lowering.SMALL_TABLE", 1)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, 4)
    causes = [
        TableCPD("X0", rng.dirichlet(np.ones(sizes[0]))),
        *(
            TableCPD(f"X{i}", rng.dirichlet(np.ones(sizes[i]), sizes[i - 1]), parents=[f"X{i - 1}"])
            for i in range(1, 4)
        ),
    ]
    leaks, effects, children = {}, {}, []
    for name in ("Y", "Z"):
        parents = sorted(rng.choice(4, 3, replace=False))
        leaks[name] = rng.dirichlet(np.ones(3))
        effects[name] = {f"X{i}": rng.dirichlet(np.ones(3), sizes[i]) for i in parents}
        if seed % 3 == 0:  # zeros: the lowest state of a cause has no effect
            for effect in effects[name].values():
                effect[0] = [1, 0, 0]
        children.append(NoisyMax(name, [f"X{i}" for i in parents], effects[name], leak=leaks[name], states=[0, 1, 2]))
    net = BayesianNetwork(*causes, *children)
    every = enumerated(net, leaks, effects)
    for evidence in ({}, {"Y": 2}, {"Y": 1, "Z": 2}, {"X1": 1, "Z": 0}):
        expected = sorted((p for row, p in every if evidence.items() <= row.items()), reverse=True)
        for best in (net.mpe(evidence), net.compile().mpe(evidence)):
            assert best.log_probability == pytest.approx(math.log(expected[0]), rel=1e-9)
        answers = [math.exp(a.log_probability) for a in net.k_best(9, evidence)]
        assert answers == pytest.approx(expected[:9], rel=1e-9)


def test_soft_evidence_weighs_and_jeffrey_is_refused():
    """A likelihood on a cause acts like one more table; Jeffrey's rule has no best assignment."""
    net = noisy_or_network(PRIORS, [0.5] * 40, 0.01)
    weights = [0.01, 3.0]
    odds = PRIORS[0] * weights[1] / (PRIORS[0] * weights[1] + (1 - PRIORS[0]) * weights[0])
    shift = math.log(PRIORS[0] * weights[1] + (1 - PRIORS[0]) * weights[0])
    expected, _ = best_with_equal_strengths([odds, *PRIORS[1:]], 0.5, 0.01, 1)
    best = net.mpe({"Y": 1, "C0": likelihood(weights)})
    assert best["C0"] == 1
    assert best.log_probability == pytest.approx(expected + shift, rel=1e-10)
    with pytest.raises(NotSupported):
        net.mpe({"C0": jeffrey([0.5, 0.5])})


def test_impossible_evidence_is_named():
    """No leak and no active cause: there is no effect."""
    net = noisy_or_network(PRIORS, [0.5] * 40, 0.0)
    nothing = {f"C{i}": 0 for i in range(40)}
    for ask in (net.mpe, net.compile().mpe, lambda evidence: net.k_best(2, evidence)):
        with pytest.raises(ImpossibleEvidence, match="Y"):
            ask({**nothing, "Y": 1})


def test_a_search_without_end_is_refused_with_remedies():
    """The message names the children, the evidence that would help, and map."""
    rng = np.random.default_rng(0)
    causes = [TableCPD(f"D{i}", [1 - p, p]) for i, p in enumerate(rng.uniform(0.01, 0.1, 40))]
    children = [
        NoisyOr(
            f"F{j}", [f"D{i}" for i in sorted(rng.choice(40, 20, replace=False))], rng.uniform(0.1, 0.9, 20).tolist()
        )
        for j in range(20)
    ]
    net = BayesianNetwork(*causes, *children)
    seen = {f"F{j}": 1 for j in range(6)}
    for ask in (lambda b: net.mpe(seen, budget=b), lambda b: net.k_best(2, seen, budget=b)):
        with pytest.raises(TooLarge, match=r"'F0'.*lowest state.*map\("):
            ask(Budget(seconds=0.05))


def test_engines_with_large_distributions_survive_pickling():
    """The way to the best assignment goes along."""
    net = noisy_or_network(PRIORS, [0.3] * 40, 0.05)
    again = pickle.loads(pickle.dumps(net.compile()))
    assert dict(again.mpe({"Y": 1})) == dict(net.mpe({"Y": 1}))
