"""Budgets: every exact question is refused at once where it would cost more than it may, and answered where not."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from network_oracle import (
    agrees,
    assert_factor_equals,
    joint_of_bayesian_network,
    measure_of_markov_network,
    posterior,
    random_evidence,
    random_markov_network,
    total,
)
from plausible.cpds import NoisyOr, TableCPD
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    InvalidModel,
    PlausibleWarning,
    TooLarge,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.models import BayesianNetwork, MarkovNetwork, ising
from plausible.variables import Variable, likelihood
from seeds import few_of

TIGHT = Budget(bytes=2000)
SHORT = Budget(seconds=1e-9)


def wide_network(num_children=14):
    """One hidden parent of all: a star, cheap for single questions; its joint is large."""
    rng = np.random.default_rng(0)
    children = [TableCPD(f"X{i}", rng.dirichlet(np.ones(2), 2), parents=["H"]) for i in range(num_children)]
    return BayesianNetwork(TableCPD("H", [0.3, 0.7]), *children)


QUESTIONS = {
    "query": lambda net, budget: net.query("X0", {"X3": 1}, budget=budget),
    "marginals": lambda net, budget: net.marginals({"X3": 1}, budget=budget),
    "some marginals": lambda net, budget: net.marginals({"X3": 1}, targets=["X0"], budget=budget),
    "log_probability": lambda net, budget: net.log_probability({"X3": 1, "X12": 0}, budget=budget),
    "expectation": lambda net, budget: net.expectation(Factor([net.variables["X0"]], [0, 1]), budget=budget),
    "mpe": lambda net, budget: net.mpe({"X3": 1}, budget=budget),
    "k_best": lambda net, budget: net.k_best(2, {"X3": 1}, budget=budget),
    "sample": lambda net, budget: net.sample(2, 0, {"X3": 1}, budget=budget),
    "compile": lambda net, budget: net.compile(budget=budget),
}


def grid():
    """A grid with interactions between pairs: no part of it can be left out."""
    return ising((5, 5), coupling=-0.5)


GRID_QUESTIONS = {
    "query": lambda net, budget: net.query(next(iter(net.variables)), budget=budget),
    "marginals": lambda net, budget: net.marginals(budget=budget),
    "some marginals": lambda net, budget: net.marginals(targets=next(iter(net.variables)), budget=budget),
    "log_probability": lambda net, budget: net.log_probability({next(iter(net.variables)): 1}, budget=budget),
    "log_partition": lambda net, budget: net.log_partition(budget=budget),
    "expectation": lambda net, budget: net.expectation(
        Factor([next(iter(net.variables.values()))], [0, 1]), budget=budget
    ),
    "mpe": lambda net, budget: net.mpe(budget=budget),
    "k_best": lambda net, budget: net.k_best(2, budget=budget),
    "sample": lambda net, budget: net.sample(2, 0, budget=budget),
    "compile": lambda net, budget: net.compile(budget=budget),
}


@pytest.mark.parametrize("question", GRID_QUESTIONS)
def test_every_question_keeps_to_its_budget(question):
    """Too little memory is refused; the default is enough; what is no budget is an error."""
    net = grid()
    with pytest.raises(TooLarge):
        GRID_QUESTIONS[question](net, TIGHT)
    with pytest.raises(InvalidArgument, match="budget= takes a Budget"):
        GRID_QUESTIONS[question](net, 5)
    GRID_QUESTIONS[question](net, None)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_no_budget_is_an_error_for_small_networks_too(question):
    """Even where no budget would be asked."""
    net = wide_network(13)
    with pytest.raises(InvalidArgument, match="budget= takes a Budget"):
        QUESTIONS[question](net, 5)
    QUESTIONS[question](net, Budget(seconds=5))


@pytest.mark.parametrize("question", ["marginals", "mpe", "compile", "sample"])
def test_seconds_count(question):
    """An estimate above the seconds is refused before any work."""
    with pytest.raises(TooLarge, match="budget is"):
        QUESTIONS[question](wide_network(), SHORT)


def test_an_engine_keeps_its_budget_for_joints_across_cliques():
    """The tree is cheap, but a joint of leaves needs another one."""
    net = wide_network()
    leaves = [f"X{i}" for i in range(14)]
    budget = Budget(bytes=100_000)
    engine = net.compile(budget=budget)
    few = engine.query(leaves[:3])
    joint = dict.fromkeys(np.ndindex(2, 2, 2), 0.0)
    hidden = net.cpd("H").values
    for h in (0, 1):
        for key in joint:
            joint[key] += hidden[h] * math.prod(net.cpd(f"X{i}").values[h, state] for i, state in enumerate(key))
    assert_factor_equals(few, joint)
    with pytest.raises(TooLarge, match="largest clique"):
        engine.query(leaves)
    assert net.compile().query(leaves).values.sum() == pytest.approx(1.0)


def test_tables_held_at_once_count_against_the_memory_of_the_budget():
    """A run that fits, and samples and counts that don't, with one error and its remedies."""
    net = ising((12, 12), coupling=-0.5)
    need = 8 * net.compile().sums.program.num_entries
    program = net.compile().sums.program
    between = Budget(bytes=(need + program.num_bytes) // 2)
    engine = net.compile(budget=between)
    assert engine.log_probability({}) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(TooLarge, match=r"hold all clique tables at once.*raise budget="):
        engine.sample(1, seed=0)
    with pytest.raises(TooLarge, match=r"hold all clique tables at once"):
        net.sample(1, seed=0, budget=between)
    assert len(net.sample(1, seed=0, budget=Budget(bytes=2 * need))) == 1


# --- plans beyond all bounds ---


def test_explain_tells_what_it_can_of_a_tree_that_can_not_be_laid_out():
    """A clique of n variables with s states: its numbers are known, however large they are."""
    for num_variables, num_states in ((50, 2), (30, 3)):
        table = np.ones((num_states, num_states))
        pairs = [
            Factor({f"X{a}": num_states, f"X{b}": num_states}, table) for a, b in combinations(range(num_variables), 2)
        ]
        net = MarkovNetwork(pairs)
        for plan in (net.explain(), net.explain("X0")):
            assert not plan.fits
            assert plan.entries == plan.largest_entries == num_states**num_variables
            assert plan.width == num_variables - 1
            assert plan.num_cliques == 1
            assert set(plan.largest_clique) == set(net.variables) == set(plan.order)
            assert plan.largest_separator == ()
            assert plan.seconds > 1e3
            assert "over budget" in str(plan)
            assert len(str(plan)) < 1000


def test_explain_counts_the_cliques_of_two_bundles():
    """Two cliques of sixty share ten variables: two maximal cliques, and these ten between them."""
    names = [f"X{i}" for i in range(110)]
    bundles = (names[:60], names[50:])
    pairs = sorted({pair for bundle in bundles for pair in combinations(bundle, 2)})
    plan = MarkovNetwork(Factor({a: 2, b: 2}, np.ones((2, 2))) for a, b in pairs).explain()
    assert (plan.num_cliques, plan.entries, plan.width) == (2, 2**61, 59)
    assert set(plan.largest_separator) in (set(), set(names[50:60]))


def test_explain_of_thousands_of_states_is_finite():
    """Beyond the largest float: whole numbers, and a time that JSON can hold."""
    plan = ising((40, 40), coupling=-0.5).explain()
    assert not plan.fits
    assert math.isfinite(plan.seconds)
    dense = MarkovNetwork(Factor({f"X{a}": 40, f"X{b}": 40}, np.ones((40, 40))) for a, b in combinations(range(60), 2))
    plan = dense.explain()
    assert plan.entries == 40**60
    assert math.isfinite(plan.seconds)


# --- counts of some families ---


def test_families_that_fit_are_counted_and_others_refused_by_name():
    """Counts of causes equal sums of their posteriors; the noisy-or's own would need 2^31 numbers."""
    causes = [TableCPD(f"C{i}", [0.9, 0.1]) for i in range(30)]
    net = BayesianNetwork(
        *causes,
        NoisyOr("Y", [f"C{i}" for i in range(30)], [0.3] * 30, leak=0.05),
        TableCPD("Z", [[0.8, 0.2], [0.3, 0.7]], parents=["Y"]),
    )
    engine = net.compile()
    frame = {"Z": [1, 0, 1], "C1": [None, 1, None]}
    with pytest.warns(PlausibleWarning, match="'Y'"):
        counts = engine.expected_counts(frame)
    assert "Y" not in counts
    assert set(counts) == {*(f"C{i}" for i in range(30)), "Z"}
    rows = [{"Z": 1}, {"Z": 0, "C1": 1}, {"Z": 1}]
    np.testing.assert_allclose(counts["C0"], sum(net.query("C0", row).values for row in rows), rtol=1e-10)
    np.testing.assert_allclose(counts["Z"], sum(net.query(["Y", "Z"], row).values for row in rows), rtol=1e-10)
    some = engine.expected_counts(frame, families=["Z", "C0"])
    assert list(some) == ["Z", "C0"]
    np.testing.assert_array_equal(some["Z"], counts["Z"])
    with pytest.raises(TooLarge, match="family of 'Y' has 31 variables"):
        engine.expected_counts(frame, families=["C0", "Y"])
    with pytest.raises(UnknownVariable, match="'y'"):
        engine.expected_counts(frame, families="y")


# --- parts of a Markov network ---


@pytest.mark.parametrize("seed", few_of(12, 25))
def test_some_marginals_and_cut_down_engines_equal_enumeration(seed):
    """marginals(targets=) and compile(targets=) of random Markov networks, with zeros and variables in no factor."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables=6, num_factors=5)
    joint = measure_of_markov_network(net)
    targets = list(rng.permutation(list(net.variables))[:2])
    if total(joint, {}) == 0:
        for ask in (net.marginals, net.compile):
            with pytest.raises(InvalidModel, match="partition function"):
                ask(targets=targets)
        return
    evidence = random_evidence(rng, net.variables, 2)
    engine = net.compile(targets=targets)
    assert set(targets) <= set(engine.variables) <= set(net.variables)
    for name in engine.variables:
        assert_factor_equals(engine.marginals()[name], posterior(joint, [name], {}))
    some = {name: state for name, state in evidence.items() if name in targets}
    assert engine.log_probability(some) == pytest.approx(
        math.log(total(joint, some) / total(joint, {})) if total(joint, some) else -math.inf
    )
    if total(joint, evidence) == 0:
        with pytest.raises(ImpossibleEvidence):
            net.marginals(evidence, targets=targets)
        return
    answers = net.marginals(evidence, targets=targets)
    assert list(answers) == targets
    for name, factor in answers.items():
        assert_factor_equals(factor, posterior(joint, [name], evidence))
    assert_factor_equals(engine.query(targets, some), posterior(joint, targets, some))


def test_large_trees_are_made_for_the_evidence_at_hand(monkeypatch):
    """The same answers from a tree for any evidence and from one for this evidence, soft findings included."""
    net = random_markov_network(np.random.default_rng(4), zeros=0.0)
    name, other = list(net.variables)[:2]
    weights = likelihood(np.arange(1.0, 1.0 + net.variables[other].num_states))
    before = net.marginals({name: 0, other: weights})
    monkeypatch.setattr("plausible.models.ways._LARGE_TREE", 0)
    after = net.marginals({name: 0, other: weights})
    assert before.keys() == after.keys() == net.variables.keys()
    for key, factor in after.items():
        assert factor.is_close(before[key], 1e-12)


def test_engines_cut_down_refuse_what_is_gone():
    """By name, with the reason."""
    chain = MarkovNetwork(Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC"))
    with pytest.raises(UnknownVariable, match="has cut down"):
        chain.compile(targets="A").query("C")


def test_mpe_and_its_likelihood_of_a_network_given_evidence_equal_enumeration():
    """The tree of what is not observed has the same best assignment; one-state variables and findings are kept."""
    net = BayesianNetwork(
        TableCPD("A", [0.6, 0.4]),
        TableCPD("One", [[1.0], [1.0]], parents=["A"]),
        TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]),
        TableCPD("C", [[0.5, 0.5], [0.1, 0.9]], parents=["B"]),
    )
    for evidence in ({}, {"C": 0}, {"A": 1, "One": 0}, {"A": 0, "B": 1, "C": 1, "One": 0}):
        best = net.mpe(evidence)
        assignment, weight = max(
            (pair for pair in joint_of_bayesian_network(net) if agrees(pair[0], evidence)), key=lambda pair: pair[1]
        )
        assert dict(best) == assignment
        assert list(best) == list(net.variables)
        assert best.log_probability == pytest.approx(math.log(weight))


def test_soft_findings_on_variables_in_no_factor_choose_their_states():
    """Nothing but the finding speaks of them."""
    lonely = MarkovNetwork(Factor({"A": 2}, [0.3, 0.7]), variables=[Variable("L", 3)])
    for best in (lonely.mpe({"L": likelihood([1, 5, 2])}), lonely.k_best(1, {"L": likelihood([1, 5, 2])})[0]):
        assert dict(best) == {"L": 1, "A": 1}
        assert best.log_probability == pytest.approx(math.log(0.7 * 5 / 3))
