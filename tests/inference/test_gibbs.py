"""Gibbs sampling: its chain leaves the model as it is, and its answers stay within their stated errors."""

from __future__ import annotations

import math
import pickle
from itertools import product as cartesian

import numpy as np
import pytest

from network_oracle import asia_network, random_markov_network, random_network
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.inference.engines import Enumeration
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_layout import ChainLayout, Collapse, blocking_factor, live_states, num_islands
from plausible.inference.sampling.chains import Gibbs
from plausible.kernels.gibbs import ChainArrays, gibbs_sweeps, uniform
from plausible.models import MarkovNetwork
from plausible.variables import Evidence, Variable, jeffrey

NONE = Evidence.read({}, {})
A, B, C = (Variable(name, 2) for name in "ABC")
BITS = [Factor((A, B), [[3, 1], [1, 2]]), Factor((B, C), [[1, 4], [2, 1]]), Factor((A, C), [[1, 2], [2, 1]])]
EQUAL = Factor((A, B), [[1, 0], [0, 1]])


def positive_factors(rng, num_variables=5, num_factors=6):
    """Factors without zeros over random scopes; one- to three-state variables."""
    variables = [Variable(f"X{i}", int(rng.integers(1, 4))) for i in range(num_variables)]
    factors = [Factor((v,), rng.random(v.num_states) + 0.1) for v in variables]
    for _ in range(num_factors):
        scope = [variables[i] for i in rng.permutation(num_variables)[: rng.integers(2, 4)]]
        factors.append(Factor(scope, rng.random([v.num_states for v in scope]) + 0.1))
    return factors, variables


def product_table(problem):
    """The product of a problem's factors over all its variables, by one einsum."""
    operands = [part for n, f in enumerate(problem.factors) for part in (np.asarray(f.values), list(problem.scope(n)))]
    everything = list(range(len(problem.variables)))
    return np.einsum(*operands, np.ones(problem.sizes), everything, everything)


def sweep_matrix(table, blocks):
    """The transition matrix of a sweep, as a product of those of the blocks, by the definition."""
    states = list(cartesian(*map(range, table.shape)))
    matrix = np.eye(len(states))
    for block in blocks:
        one = np.zeros((len(states), len(states)))
        for i, x in enumerate(states):
            reachable = [j for j, y in enumerate(states) if all(x[v] == y[v] for v in range(len(x)) if v not in block)]
            weights = np.array([table[states[j]] for j in reachable])
            one[i, reachable] = weights / weights.sum()
        matrix = matrix @ one
    return matrix


def empirical_matrix(problem, blocks, num_rows, seed):
    """How often one sweep of the kernel leads from each joint state to each other."""
    layout = ChainLayout.of(problem, blocks)
    states = np.array(list(cartesian(*map(range, problem.sizes))))
    codes = layout.codes(np.repeat(states, num_rows, axis=0))
    places = layout.places(codes)
    words = np.random.SeedSequence(seed).generate_state(len(codes), np.uint64)
    chains = ChainArrays.unwatched(codes, places, words)
    gibbs_sweeps(1, problem.tables, layout.links, chains, np.empty(layout.largest_block))
    np.testing.assert_array_equal(places, layout.places(codes))  # moved along with the codes
    ends = np.ravel_multi_index(layout.states(codes).T, problem.sizes).reshape(len(states), num_rows)
    return np.stack([np.bincount(row, minlength=len(states)) / num_rows for row in ends])


# --- the chain ---


@pytest.mark.parametrize("blocks", [[], [[0, 1]], [[2, 0]], [[0, 1, 2]]])
def test_the_kernel_makes_the_transitions_of_the_definition(blocks):
    """One sweep from every state, many times, against the product of exact conditionals."""
    problem = Problem.of(BITS, NONE)
    layout = ChainLayout.of(problem, blocks)
    expected = sweep_matrix(product_table(problem), layout.blocks)
    got = empirical_matrix(problem, blocks, 4000, seed=1)
    assert np.abs(got - expected).max() < 4.5 * 0.5 / math.sqrt(4000)


@pytest.mark.parametrize("blocks", [[], [[0, 1]], [[2, 0]], [[0, 1, 2]]])
def test_a_sweep_leaves_the_distribution_stationary_and_is_regular(blocks):
    """P T = P, all entries of T positive for positive factors; one kernel alone has 4 unit eigenvalues of 8."""
    problem = Problem.of(BITS, NONE)
    table = product_table(problem)
    matrix = sweep_matrix(table, ChainLayout.of(problem, blocks).blocks)
    stationary = table.ravel() / table.sum()
    np.testing.assert_allclose(stationary @ matrix, stationary, atol=1e-14)
    assert (matrix > 0).all()
    got = empirical_matrix(problem, blocks, 4000, seed=2)
    assert np.abs(stationary @ got - stationary).max() < 0.01
    alone = sweep_matrix(table, [[0]])
    assert np.isclose(np.linalg.eigvals(alone), 1).sum() == 4


def test_random_numbers_are_those_of_splitmix():
    """The first words from seed 1234567, as published with the generator."""
    words = np.array([1234567], dtype=np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [uniform(words, 0) for _ in published] == [(word >> 11) * 2.0**-53 for word in published]


# --- answers ---


@pytest.mark.parametrize("seed", range(4))
def test_marginals_and_joints_agree_with_enumeration_within_their_error(seed):
    """Single variables, pairs across blocks and within, collapsed ones; twice the error is allowed for the worst."""
    rng = np.random.default_rng(seed)
    factors, variables = positive_factors(rng)
    names = [v.name for v in variables]
    options = [
        {},
        {"blocks": [names[:2]]},
        {"blocks": [[names[3], names[0]], names[1:3]]},
        {"collapsed": names[1:3]},
        {"collapsed": [names[4], "unknown"], "blocks": [names[2:4]]},
    ]
    groups = [[v] for v in variables] + [[variables[1], variables[0]], [variables[2], variables[1], variables[4]]]
    exact = [Enumeration().query(factors, group, NONE).values for group in groups]
    for some in options:
        answers = Gibbs(num_samples=10_000, burn_in=200, seed=seed, **some).joints(factors, groups, NONE)
        error = answers[0].info.error
        assert 0 <= error < 0.05
        for answer, truth in zip(answers, exact, strict=True):
            assert np.abs(answer.values - truth).max() < 1.5 * error + 1e-12
            assert answer.values.sum() == pytest.approx(1)
            assert not answer.info.exact


def test_intervals_cover_the_truth_at_their_nominal_rate():
    """95 % intervals hold the truth in 90-99 % of 100 runs, for a marginal and for a joint."""
    truth = [Enumeration().query(BITS, group, NONE).values.max() for group in ([A], [A, C])]
    inside = np.zeros(2)
    for seed in range(100):
        engine = Gibbs(num_samples=1_000, burn_in=20, seed=seed)
        for place, group in enumerate(([A], [A, C])):
            answer = engine.query(BITS, group, NONE)
            inside[place] += abs(answer.values.max() - truth[place]) <= answer.info.error
    assert (inside >= 90).all()
    assert (inside <= 99).all()


@pytest.mark.parametrize("options", [{"num_samples": 20, "num_chains": 1}, {"num_samples": 8}], ids=repr)
def test_small_runs_have_wide_intervals_and_do_not_call_themselves_converged(options):
    """So few draws can't tell whether chains have mixed; Student's t keeps the coverage from falling below 80 %."""
    truth = Enumeration().query(BITS, [A], NONE).values[0]
    answers = [Gibbs(burn_in=20, seed=seed, **options).query(BITS, [A], NONE) for seed in range(100)]
    assert sum(abs(answer.values[0] - truth) <= answer.info.error for answer in answers) >= 85
    assert not any(answer.info.converged for answer in answers)
    assert all("num_samples" in answer.info.advice for answer in answers)


def test_conditional_probabilities_vary_less_than_frequencies():
    """Rao-Blackwell: over runs, the variance of the estimate is smaller than that from the same chain's draws."""
    problem = Problem.of(BITS, NONE)
    smooth, counted = [], []
    for seed in range(40):
        engine = Gibbs(num_samples=400, burn_in=50, num_chains=2, seed=seed)
        smooth.append(engine.beliefs(problem, [(0,)]).tables[0][0])
        counted.append((engine.draws(problem)["A"] == 0).mean())
    assert np.var(smooth) < np.var(counted)
    assert np.mean(counted) == pytest.approx(np.mean(smooth), abs=0.02)


def test_collapsing_everything_is_exact():
    """With nothing left to sample the answer is that of elimination."""
    answer = Gibbs(num_samples=8, burn_in=0, collapsed=["A", "B", "C"]).query(BITS, [C, A], NONE)
    np.testing.assert_allclose(answer.values, Enumeration().query(BITS, [C, A], NONE).values, rtol=1e-12)
    assert answer.info.exact
    assert answer.info.error == 0


def test_a_collapsed_problem_has_the_same_total():
    """Summing variables out keeps Σ Π φ, scale and all."""
    rng = np.random.default_rng(3)
    factors, variables = positive_factors(rng)
    problem = Problem.of(factors, NONE)
    rest = Collapse.of(problem, [v.name for v in variables[:3]]).problem
    assert len(rest.variables) == 2
    total = math.log(product_table(rest).sum()) + rest.log_scale
    assert total == pytest.approx(Enumeration().log_total(factors, NONE))


def test_evidence_of_every_kind():
    """States, likelihoods and Jeffrey's rule reach the sampler."""
    for findings in ({"A": 1}, {"B": [0, 1]}, {"C": jeffrey([0.2, 0.8])}):
        net = MarkovNetwork(BITS)
        got = net.query(["A", "B"], findings, engine=Gibbs(num_samples=20_000))
        assert np.abs(got.values - net.query(["A", "B"], findings, engine=Enumeration()).values).max() < 0.02


def test_products_of_many_small_numbers_do_not_underflow():
    """A variable in 2000 factors keeps its distribution: log-odds add."""
    factors = [Factor((A,), [1.0, 1e-3]), *(Factor((A, Variable(f"Y{i}", 1)), [[1e-3], [1.0]]) for i in range(100))]
    factors += [Factor((A, Variable(f"Z{i}", 1)), [[1.0], [1e-3]]) for i in range(99)]
    np.testing.assert_allclose(Gibbs(num_samples=100).query(factors, [A], NONE).values, [0.5, 0.5], rtol=1e-9)


# --- zeros ---


@pytest.mark.parametrize("seed", range(6))
def test_zeros_either_leave_the_answer_right_or_are_spoken_of(seed):
    """On random networks with zeros: converged answers are right; wrong ones say why."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0.3) if seed % 2 else random_markov_network(rng, zeros=0.3)
    factors = [cpd.to_factor() for cpd in net.cpds.values()] if seed % 2 else list(net.factors)
    variables = list({v.name: v for f in factors for v in f.scope}.values())
    answers = Gibbs(num_samples=20_000, burn_in=500, seed=seed).marginals(factors, variables, NONE)
    for variable in variables:
        answer = answers[variable.name]
        truth = Enumeration().query(factors, [variable], NONE).values
        assert np.abs(answer.values - truth).max() < 1.5 * answer.info.error + 1e-9 or not answer.info.converged


def test_deterministic_factors_that_break_ergodicity_are_named_and_blocks_heal_them():
    """Two variables that must be equal never change one at a time."""
    factors = [EQUAL, Factor((A,), [0.9, 0.1]), Factor((B, C), [[1, 2], [3, 1]])]
    stuck = Gibbs(num_samples=400).query(factors, [A], NONE).info
    assert not stuck.converged
    assert "A, B" in stuck.advice
    assert "blocks=" in stuck.advice
    free = Gibbs(num_samples=20_000, blocks=[["A", "B"]]).query(factors, [A], NONE)
    assert free.info.converged
    assert np.abs(free.values - Enumeration().query(factors, [A], NONE).values).max() < 1.5 * free.info.error
    assert Gibbs(num_samples=8000, collapsed=["B"]).query(factors, [A], NONE).info.converged


def test_the_advice_on_asia_is_right():
    """Tuberculosis-or-cancer is deterministic: the block that is advised makes the answer right."""
    net = asia_network()
    factors = [cpd.to_factor() for cpd in net.cpds.values()]
    variables = list(net.variables.values())
    info = Gibbs(num_samples=400).query(factors, variables[:1], NONE).info
    assert not info.converged
    names = info.advice.removeprefix("Zeros in the factors over ").split(" keep ")[0].split(", ")
    assert len(names) == 3
    answers = Gibbs(num_samples=40_000, blocks=[names]).marginals(factors, variables, NONE)
    for variable in variables:
        truth = Enumeration().query(factors, [variable], NONE).values
        assert np.abs(answers[variable.name].values - truth).max() < 1.5 * answers[variable.name].info.error


def test_islands_of_the_whole_joint_are_found_where_no_factor_has_them():
    """Three-state rings: each factor's support hangs together, their product's does not."""
    variables = [Variable(name, 3) for name in "PQR"]
    allowed = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    factors = [Factor((variables[i], variables[(i + 1) % 3]), allowed) for i in range(3)]
    problem = Problem.of(factors, NONE)
    layout = ChainLayout.of(problem)
    table = product_table(problem)
    # by search: what single moves reach, again and again from what is left
    support = {tuple(x) for x in np.argwhere(table > 0).tolist()}
    count, left = 0, set(support)
    while left:
        count, waiting = count + 1, [left.pop()]
        while waiting:
            x = waiting.pop()
            near = {y for y in left if sum(a != b for a, b in zip(x, y, strict=True)) == 1}
            left, waiting = left - near, [*waiting, *near]
    assert num_islands(allowed > 0, [[0], [1]]) == 1
    assert num_islands(table > 0, layout.blocks) == count > 1
    assert blocking_factor(problem, layout.blocks) == "P, Q, R"
    assert not Gibbs(num_samples=400).query(factors, variables[:1], NONE).info.converged


def test_parity_of_three_bits_is_four_islands():
    """No two assignments of even parity differ in one bit."""
    even = np.indices((2, 2, 2)).sum(axis=0) % 2 == 0
    assert num_islands(even, [[0], [1], [2]]) == 4
    assert num_islands(even, [[0, 1], [2]]) == 2
    assert num_islands(even, [[0, 1], [1, 2]]) == 1
    assert num_islands(np.zeros((2, 2), dtype=bool), [[0], [1]]) == 0


def test_possible_states_are_what_arc_consistency_leaves():
    """A chain of implications fixes all its variables; a contradiction is impossible evidence."""
    implies = [[1, 1], [0, 1]]
    chain = [Factor((A,), [0, 1]), Factor((A, B), implies), Factor((B, C), implies)]
    assert [list(domain) for domain in live_states(Problem.of(chain, NONE))] == [[False, True]] * 3
    with pytest.raises(ImpossibleEvidence):
        Gibbs(num_samples=4).query([*chain, Factor((C,), [1, 0])], [A], NONE)


def test_starts_are_possible_even_where_few_assignments_are():
    """A proper 3-colouring of a ring of 21 is found by repair; an impossible one by elimination."""
    colours = [Variable(f"N{i}", 3) for i in range(21)]
    differ = 1 - np.eye(3)
    ring = [Factor((colours[i], colours[(i + 1) % 21]), differ) for i in range(21)]
    problem = Problem.of(ring, NONE)
    engine = Gibbs(num_samples=40, burn_in=10)
    state = engine.init(problem)
    assert np.isfinite(problem.log_product(ChainLayout.of(problem).states(state.codes))).all()
    two = [Variable(f"N{i}", 2) for i in range(21)]  # an odd ring has no 2-colouring, and arc consistency can't tell
    with pytest.raises(ImpossibleEvidence):
        engine.query([Factor((two[i], two[(i + 1) % 21]), 1 - np.eye(2)) for i in range(21)], [two[0]], NONE)


def test_chains_that_have_not_mixed_say_so():
    """Strong couplings without zeros: R-hat sees that chains differ."""
    names = [Variable(f"S{i}", 2) for i in range(12)]
    tight = [Factor((a, b), [[1, 1e-4], [1e-4, 1]]) for a in names for b in names if a.name < b.name]
    info = Gibbs(num_samples=400, burn_in=0, num_chains=8).query(tight, names[:1], NONE).info
    assert not info.converged
    assert "R-hat" in info.advice
    assert info.r_hat == info.residual + 1 > 1.01


def test_effective_samples_are_those_of_independent_draws_with_the_same_error():
    """About p (1 - p) / se² of the worst number, few for coupled variables; no more than there are draws."""
    info = Gibbs(num_samples=10_000).query(BITS, [A], NONE).info
    p = Enumeration().query(BITS, [A], NONE).values[0]
    assert info.effective_samples == 10_000 < p * (1 - p) / (info.error / 1.96) ** 2
    tight = Gibbs(num_samples=10_000).query([Factor((A, B), [[20, 1], [1, 20]])], [A], NONE).info
    assert tight.effective_samples == pytest.approx(0.25 / (tight.error / 1.96) ** 2, rel=0.02)
    assert tight.effective_samples < 5_000
    assert tight.acceptance is None


# --- the run ---


@pytest.mark.parametrize("options", [{}, {"blocks": [["A", "C"]]}, {"collapsed": ["B"]}])
def test_any_number_of_threads_gives_the_same_bits(options, monkeypatch):
    """Chains have random numbers of their own; threads are used however little there is to do."""
    monkeypatch.setattr("plausible.inference.sampling.chain_layout._FEWEST_UPDATES", 0)
    answers = [
        Gibbs(num_samples=999, burn_in=7, num_threads=n, **options).query(BITS, [A, C], NONE) for n in (1, 2, 3, None)
    ]
    assert len({answer.values.tobytes() for answer in answers}) == 1
    other = Gibbs(num_samples=999, burn_in=7, seed=1, **options).query(BITS, [A, C], NONE)
    assert other.values.tobytes() != answers[0].values.tobytes()


def test_draws_have_a_row_for_each_chain():
    """(chains, draws) of each variable that is not collapsed, as frequent as the model says."""
    draws = Gibbs(num_samples=8000, num_chains=2, blocks=[["C", "A"]]).draws(Problem.of(BITS, NONE))
    assert {name: array.shape for name, array in draws.items()} == dict.fromkeys("ABC", (2, 4000))
    joint = [((draws["A"] == a) & (draws["C"] == c)).mean() for a in range(2) for c in range(2)]
    np.testing.assert_allclose(joint, Enumeration().query(BITS, [A, C], NONE).values.ravel(), atol=0.03)
    assert list(Gibbs(num_samples=8, collapsed=["B"]).draws(Problem.of(BITS, NONE))) == ["A", "C"]


# --- degenerate questions ---


def test_observed_targets_one_state_variables_and_no_free_variables():
    """Nothing to sample is answered without sampling errors."""
    everything = Evidence.read({"A": 1, "B": 0, "C": 0}, {"A": A, "B": B, "C": C})
    answer = Gibbs(num_samples=4).query(BITS, [A, C], everything)
    assert answer.values[1, 0] == 1
    assert answer.info.exact
    one = Factor((Variable("only", 1), A), [[1.0, 3.0]])
    np.testing.assert_allclose(Gibbs(num_samples=4).query([one], one.scope, NONE).values, [[0.25, 0.75]])
    assert Gibbs(num_samples=1, burn_in=0, num_chains=1).query([one], one.scope[:1], NONE).info.error == 0


def test_disconnected_parts_are_independent():
    """Two separate factors."""
    parts = [Factor((A,), [1, 3]), Factor((B,), [1, 1])]
    answer = Gibbs(num_samples=20_000).query(parts, [A, B], NONE)
    np.testing.assert_allclose(answer.values, [[0.125, 0.125], [0.375, 0.375]], atol=1.5 * answer.info.error)


def test_impossible_evidence_is_refused():
    """Outright zero, and zero only in combination."""
    for factors in ([Factor((A,), [0, 0])], [EQUAL, Factor((A,), [1, 0]), Factor((B,), [0, 1])]):
        with pytest.raises(ImpossibleEvidence):
            Gibbs(num_samples=4).query(factors, [A], NONE)


def test_log_total_comes_from_annealing():
    """Draws alone don't tell log Z; the estimate names its method."""
    value = Gibbs().log_total(BITS, NONE)
    assert value.info.engine == "annealed importance sampling"
    assert value.lower < Enumeration().log_total(BITS, NONE) < value.upper


@pytest.mark.parametrize(
    "options",
    [
        {"num_samples": 0},
        {"burn_in": -1},
        {"num_chains": 1.5},
        {"seed": -1},
        {"num_threads": 0},
        {"blocks": "AB"},
        {"blocks": [["A"], ["B", "A"]]},
        {"blocks": [[1]]},
        {"blocks": ["AB"]},
        {"collapsed": ["A"], "blocks": [["A", "B"]]},
        {"seed": 1.5},
        {"collapsed": "A"},
        {"seed": True},
    ],
    ids=repr,
)
def test_options_out_of_range_are_refused(options):
    """By name."""
    with pytest.raises(InvalidArgument, match=r"blocks" if "blocks" in options else f"{next(iter(options))}="):
        Gibbs(**options)


def test_blocks_and_tables_that_are_too_large_are_refused():
    """Before any work; the message says what to change."""
    many = [Variable(f"V{i}", 2) for i in range(25)]
    factors = [Factor((many[0], other), [[1, 2], [2, 1]]) for other in many[1:]]
    with pytest.raises(TooLarge, match="collapsed="):
        Gibbs(blocks=[[v.name for v in many]]).query(factors, many[:1], NONE)
    with pytest.raises(TooLarge, match="V0"):
        Gibbs(collapsed=["V0"]).query(factors, many[1:2], NONE)
    with pytest.raises(TooLarge, match="joint"):
        Gibbs(num_samples=4).query(factors, many[:22], NONE)


def test_engines_are_values():
    """Equal by options, and they survive pickling."""
    assert pickle.loads(pickle.dumps(Gibbs(blocks=[["A", "B"]]))) == Gibbs(blocks=(("A", "B"),))
    assert Gibbs(blocks=[["A", "B"]], collapsed=["C"]).mentioned == ("A", "B", "C")
