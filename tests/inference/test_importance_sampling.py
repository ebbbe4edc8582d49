"""Importance sampling: proposals that fit the evidence, weights that make up for them, and what both gain."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmark_networks import benchmark_network
from network_oracle import asia_network, random_network
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.engines import VariableElimination
from plausible.inference.sampling.directed_sampling import LikelihoodWeighting, RejectionSampling
from plausible.inference.sampling.importance_sampling import ImportanceSampling, Proposal, evidence_messages
from plausible.inference.sampling.sampling_plan import ordered_families, stream_key
from plausible.variables import Evidence, Variable, likelihood

OPTIONS = [
    {},
    {"proposal": "prior"},
    {"adapt": 0},
    {"adapt": 0, "proposal": "prior"},
    {"adapt": 2, "prior_share": 1.0},
    {"adapt": 9, "prior_share": 0.01},
]


def families(net):
    return [cpd.to_factor() for cpd in net.cpds.values()]


def ordered(net, evidence):
    return list(ordered_families(families(net), evidence).families.values())


def random_case(seed, num_variables=7, **options):
    """A network and evidence that it allows: a state of the last variable, a likelihood for the one before."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=num_variables, **options)
    names = sorted(net.variables)
    last = VariableElimination().query(families(net), [net.variables[names[-1]]], Evidence.read({}, {}))
    findings = {
        names[-1]: net.variables[names[-1]].states[int(np.flatnonzero(last.values)[-1])],
        names[-2]: likelihood(rng.random(net.variables[names[-2]].num_states) + 0.05),
    }
    return net, Evidence.read(findings, net.variables)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_any_proposal_gives_the_truth_within_its_error(options, seed):
    """What is drawn from changes the error only: posteriors and P(e) agree with elimination."""
    net, evidence = random_case(seed)
    engine = ImportanceSampling(20_000, seed=seed, **options)
    free = [variable for name, variable in net.variables.items() if name not in evidence.hard]
    answers = engine.marginals(families(net), free, evidence)
    for variable in free:
        exact = VariableElimination().query(families(net), [variable], evidence).values
        assert np.abs(answers[variable.name].values - exact).max() <= 2 * answers[variable.name].info.error + 1e-12
    truth = VariableElimination().log_total(families(net), evidence)
    estimate = engine.log_total(families(net), evidence)
    assert abs(estimate - truth) <= 2 * (estimate - estimate.lower) + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_draws_cover_the_posterior_and_weights_equal_target_over_proposal(seed):
    """Each complete assignment with P(x, e) > 0 can be drawn, and its weight times q(x) is P(x, e)."""
    net, evidence = random_case(seed, num_variables=5)
    proposal = ImportanceSampling(2000, seed=seed).learn(ordered(net, evidence), evidence)
    plan = proposal.plan()
    states, log_weights = plan.draw(3000, stream_key(seed))
    columns = {variable.name: place for place, variable in enumerate(plan.variables)}
    tables = {}
    for family in proposal.families:
        name = family.names[-1]
        own = family.flat.reshape(-1, family.scope[-1].num_states)
        if name in proposal.guides:
            target = proposal.targets[name]
            sums = target.sum(axis=1, keepdims=True)
            own = 0.9 * proposal.guides[name] + 0.1 * np.divide(target, sums, out=np.zeros_like(target), where=sums > 0)
        tables[name] = own.reshape([v.num_states for v in family.scope])
    for row, log_weight in list(zip(states, log_weights, strict=True))[:200]:
        q = 1.0
        for family in proposal.families:
            q *= tables[family.names[-1]][tuple(row[columns[name]] for name in family.names)]
        state = {name: row[place] for name, place in columns.items()} | dict(evidence.hard)
        p = math.prod(
            float(factor.values[tuple(state[name] for name in factor.names)]) for factor in families(net)
        ) * math.prod(float(weights[state[name]]) for name, weights in evidence.soft.items())
        assert q * math.exp(log_weight) == pytest.approx(p, rel=1e-9, abs=1e-300)
    drawn = len(np.unique(states[np.isfinite(log_weights)], axis=0))
    possible = VariableElimination().query(families(net), plan.variables, evidence).values
    assert drawn <= np.count_nonzero(possible)
    assert drawn >= np.count_nonzero(possible > 0.02)


def test_messages_are_exact_on_a_tree():
    """With one parent each, one sweep up gives λ(x) ∝ P(evidence below | x), so all weights are equal."""
    a, b, c, d = (Variable(name, 3) for name in "ABCD")
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(3), size=3) for _ in range(3)]
    factors = [
        Factor((a,), [0.98, 0.015, 0.005]),
        *(Factor(scope, table) for scope, table in zip(((a, b), (b, c), (b, d)), tables, strict=True)),
    ]
    evidence = Evidence.read({"C": 2, "D": 1}, {"C": c, "D": d})
    free = [factors[0], factors[1]]
    below = [factor.reduce({"C": 2, "D": 1}) for factor in factors[2:]]
    targets = {"A": factors[0].values[None, :], "B": factors[1].values}
    messages = evidence_messages(free, below, targets)
    expected_b = tables[1][:, 2] * tables[2][:, 1]
    assert np.allclose(messages["B"] / messages["B"].sum(), expected_b / expected_b.sum())
    expected_a = tables[0] @ expected_b
    assert np.allclose(messages["A"] / messages["A"].sum(), expected_a / expected_a.sum())
    sums = ImportanceSampling(1000, adapt=0, prior_share=1e-12).run(factors, [], evidence)
    assert sums.effective_size == pytest.approx(1000, rel=1e-6)
    assert math.exp(sums.log_unit) * sums.total / 1000 == pytest.approx(float(factors[0].values @ expected_a), rel=1e-6)


def test_only_ancestors_of_evidence_get_a_proposal_of_their_own():
    net = asia_network()
    leaf = next(name for name in net.variables if not net.graph.children(name))
    evidence = Evidence.read({leaf: net.variables[leaf].states[0]}, net.variables)
    proposal = Proposal.of(ordered(net, evidence), evidence, 0.1).with_messages()
    assert set(proposal.guides) == set(net.graph.ancestors(leaf)) - {leaf}
    nothing = Evidence.read({}, {})
    assert Proposal.of(ordered(net, nothing), nothing, 0.1).with_messages().guides == {}


def test_states_ruled_out_by_evidence_are_never_drawn():
    """A deterministic child observed: only parents that produce it are drawn, so no sample is lost."""
    a, b = Variable("A", 8), Variable("B", 8)
    shift = np.roll(np.eye(8), 1, axis=1)
    factors = [Factor((a,), [0.93, *[0.01] * 7]), Factor((a, b), shift)]
    evidence = Evidence.read({"B": 5}, {"B": b})
    sums = ImportanceSampling(500, adapt=0, proposal="prior").run(factors, [[a]], evidence)
    assert sums.effective_size == pytest.approx(500)
    assert sums.frequencies[0].tolist() == np.eye(8)[4].tolist()
    assert LikelihoodWeighting(500).run(factors, [[a]], evidence).effective_size < 50


def test_learning_raises_the_effective_sample_size():
    """Unlikely evidence on a loopy network: stages of learning beat the proposal they start from, severalfold."""
    net = benchmark_network("alarm")
    rng = np.random.default_rng(1)
    leaves = [name for name in net.variables if not net.graph.children(name)]
    cases = [
        {
            v: net.variables[v].states[int(rng.integers(net.variables[v].num_states))]
            for v in rng.permutation(leaves)[:8]
        }
        for _ in range(2)
    ]
    for case in cases:
        evidence = Evidence.read(case, net.variables)
        truth = net.log_probability(case)
        plain = LikelihoodWeighting(20_000).run(families(net), [], evidence).effective_size
        engine = ImportanceSampling(20_000)
        sums = engine.run(families(net), [], evidence)
        assert sums.effective_size > 10 * plain
        estimate = engine.log_total(families(net), evidence)
        assert truth < -13
        assert abs(estimate - truth) < 2 * (estimate.upper - estimate)
    started = ImportanceSampling(20_000, adapt=0).run(families(net), [], evidence).effective_size
    assert sums.effective_size > 5 * started


def test_the_three_samplers_agree():
    """On moderately probable evidence their intervals for each marginal of asia overlap."""
    net = asia_network()
    leaves = [name for name in net.variables if not net.graph.children(name)]
    evidence = Evidence.read({leaves[0]: net.variables[leaves[0]].states[1]}, net.variables)
    engines = [RejectionSampling(200_000), LikelihoodWeighting(200_000), ImportanceSampling(200_000)]
    answers = [engine.marginals(families(net), net.variables.values(), evidence) for engine in engines]
    for name in net.variables:
        for other in answers[1:]:
            gap = np.abs(answers[0][name].values - other[name].values).max()
            assert gap <= 1.5 * (answers[0][name].info.error + other[name].info.error)


def test_without_evidence_all_samples_weigh_the_same():
    net, _ = random_case(0)
    answer = ImportanceSampling(5000).query(families(net), [net.variables["X0"]], Evidence.read({}, {}))
    assert answer.info.effective_samples == pytest.approx(5000)
    assert answer.info.advice == ""
    assert ImportanceSampling(5000).log_total(families(net), Evidence.read({}, {})) == 0


def test_wrong_options_are_refused():
    for wrong in ({"proposal": "posterior"}, {"adapt": -1}, {"prior_share": 0.0}, {"prior_share": 1.5}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            ImportanceSampling(**wrong)


def test_learning_samples_are_counted():
    net, evidence = random_case(1)
    answer = ImportanceSampling(10_000, adapt=3).query(families(net), [net.variables["X0"]], evidence)
    assert answer.info.num_steps == 13_000
