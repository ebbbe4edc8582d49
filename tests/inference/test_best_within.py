"""The search that models try before they refuse: proofs against exact trees and enumeration, and what it promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import plausible as pb
from plausible.errors import ImpossibleEvidence, TooLarge
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.propagation.belief_propagation import MaxProduct
from plausible.inference.within_budget import BestWithin
from plausible.variables import Evidence, Variable

NOTHING = Evidence({}, {}, {})


def clinic(seed, num_diseases, num_findings, num_causes, num_present, num_absent):
    """A two-level network of noisy-or findings, and findings present and absent."""
    rng = np.random.default_rng(seed)
    priors = np.exp(rng.uniform(np.log(1e-3), np.log(0.05), num_diseases))
    diseases = [pb.TableCPD(f"D{i}", [1 - p, p]) for i, p in enumerate(priors)]
    findings = []
    for i in range(num_findings):
        causes = rng.choice(num_diseases, size=int(rng.integers(1, num_causes + 1)), replace=False)
        strengths = rng.uniform(0.05, 0.9, len(causes)).tolist()
        findings.append(pb.NoisyOr(f"F{i}", [f"D{c}" for c in causes], strengths, leak=float(rng.uniform(0.001, 0.01))))
    seen = rng.permutation(num_findings)[: num_present + num_absent]
    evidence = {f"F{i}": bool(place < num_present) for place, i in enumerate(seen.tolist())}
    return pb.BayesianNetwork(*diseases, *findings), evidence


def spins(side, seed, field=0.3):
    """A grid whose couplings have random signs."""
    rng = np.random.default_rng(seed)
    names = [[f"{r}_{c}" for c in range(side)] for r in range(side)]
    factors = [Factor({name: 2}, np.exp(field * rng.normal(size=2))) for row in names for name in row]
    for r, c in itertools.product(range(side), repeat=2):
        for other in ((r + 1, c), (r, c + 1)):
            if max(other) < side:
                coupling = rng.normal()
                table = np.exp([[coupling, -coupling], [-coupling, coupling]])
                factors.append(Factor({names[r][c]: 2, names[other[0]][other[1]]: 2}, table))
    return pb.MarkovNetwork(*factors)


def random_factors(rng, *, has_zeros):
    """A few factors over six variables, some with one state; zeros may rule everything out."""
    variables = [Variable(f"x{i}", int(rng.integers(1, 4))) for i in range(6)]
    factors = []
    for _ in range(8):
        scope = tuple(variables[i] for i in rng.choice(6, size=int(rng.integers(1, 4)), replace=False))
        table = rng.random([variable.num_states for variable in scope])
        factors.append(Factor(scope, table * (rng.random(table.shape) < 0.7) if has_zeros else table))
    return factors


@pytest.mark.parametrize("seed", range(40))
def test_what_is_proved_is_the_maximum_by_enumeration(seed):
    """Random factors, with zeros and one-state variables: the value is the largest product, or all are zero."""
    factors = random_factors(np.random.default_rng(seed), has_zeros=seed % 2 == 1)
    variables = {variable.name: variable for factor in factors for variable in factor.scope}
    products = [
        math.prod(float(factor.values[tuple(states[name] for name in factor.names)]) for factor in factors)
        for numbers in itertools.product(*(range(variable.num_states) for variable in variables.values()))
        for states in [dict(zip(variables, numbers, strict=True))]
    ]
    if max(products) == 0:
        with pytest.raises(ImpossibleEvidence):
            BestWithin().best(factors, NOTHING)
        return
    best = BestWithin().best(factors, NOTHING)
    assert best.info.exact
    assert best.log_probability == pytest.approx(math.log(max(products)), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_medical_network_without_a_clique_tree_is_proved(seed):
    """150 diseases, 500 findings, most of them unknown: `mpe`, "auto" and the engine agree on a proved optimum."""
    net, evidence = clinic(seed, 150, 500, 4, 15, 150)
    alone, auto = net.mpe(evidence), net.mpe(evidence, engine="auto")
    assert alone.info.exact
    assert alone.info.engine == "branch and bound"
    assert auto.info.exact
    assert dict(alone) == dict(net.mpe(evidence))  # work is counted, and no clock is looked at
    assert auto.log_probability == pytest.approx(alone.log_probability, abs=1e-9)
    assert alone.log_probability == pytest.approx(net.log_probability(dict(alone)), abs=1e-9)
    messages = net.mpe(evidence, engine=MaxProduct())
    assert messages.log_probability <= alone.log_probability + 1e-9
    assert alone.log_probability <= messages.log_probability + messages.info.error + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_grid_is_proved_in_less_memory_than_its_tree_needs(seed):
    """A 12x12 spin glass: the exact tree is the oracle, the budget has no room for it."""
    net = spins(12, seed)
    small = Budget(seconds=20.0, bytes=2**23)
    exact, searched = net.mpe(), net.mpe(budget=small, engine="auto")
    assert exact.info.engine == "clique tree"
    assert searched.log_product == pytest.approx(exact.log_product, abs=1e-9)


def test_what_is_not_proved_is_refused_and_auto_tells_a_gap_no_wider_than_messages_do():
    """A 30x30 spin glass: nothing proves it in a second; "auto" is as good as max-product, and its bound as low."""
    net = spins(30, 0)
    with pytest.raises(TooLarge) as refused:
        net.mpe(budget=Budget(seconds=2))
    assert "engine='auto'" in [str(change) for remedy in refused.value.remedies for change in remedy.changes]
    found, messages = net.mpe(engine="auto", budget=Budget(seconds=2)), net.mpe(engine=MaxProduct())
    assert not found.info.exact
    assert found.log_product >= messages.log_product
    assert found.info.error > 0
    assert found.log_product + found.info.error <= messages.log_product + messages.info.error + 1e-9
    assert "budget=" in found.info.advice
    assert dict(found) == dict(net.mpe(engine="auto", budget=Budget(seconds=2)))


@pytest.mark.parametrize("budget", [Budget(seconds=1e-3), Budget(bytes=10**5)])
def test_a_budget_too_small_for_a_search_refuses_at_once(budget):
    net = spins(30, 0)
    with pytest.raises(TooLarge):
        net.mpe(budget=budget)
    assert net.mpe(engine="auto", budget=budget).info.engine == "max-product belief propagation"


@pytest.mark.parametrize("seed", range(4))
def test_a_marginal_map_whose_sums_are_small_is_proved(seed):
    """Leaves of a grid are summed out, its cells maximised: elimination with room is the oracle of the search."""
    net, rng = spins(7, seed), np.random.default_rng(seed)
    leaves = [Factor({name: 2, f"{name}'": 3}, rng.random((2, 3))) for name in net.variables]
    grown = pb.MarkovNetwork(*net.factors, *leaves)
    exact = grown.map(list(net.variables))
    for engine in (None, "auto"):
        found = grown.map(list(net.variables), max_entries=2**9, engine=engine)
        assert found.info.exact
        assert found.info.engine == "branch and bound"
        assert found.log_product == pytest.approx(exact.log_product, abs=1e-9)
        assert dict(found) == dict(exact)


def test_auto_answers_where_tables_are_too_large_even_for_messages():
    """A finding with 24 causes has no table; "auto" gives the best answer of a search that sums, and its gap."""
    rng = np.random.default_rng(0)
    causes = [pb.TableCPD(f"c{i}", [0.9, 0.1]) for i in range(24)]
    names = [cpd.variable.name for cpd in causes]
    findings = [pb.NoisyOr(f"y{i}", names, rng.uniform(0.1, 0.9, 24).tolist(), leak=0.01) for i in range(3)]
    net = pb.BayesianNetwork(*causes, *findings)
    evidence = {f"y{i}": True for i in range(3)}
    found = net.mpe(evidence, engine="auto", budget=Budget(seconds=5, bytes=2**24))
    assert found.log_probability == pytest.approx(net.log_probability(dict(found)), abs=1e-9)
    assert found.info.exact or found.info.error > 0
