"""Markov chains: prediction, classes, long-run behaviour, absorption, estimates and page rank, against plain NumPy."""

from __future__ import annotations

import math
import pickle
from functools import reduce
from itertools import pairwise
from itertools import product as cartesian

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from plausible.errors import ImmutableValue, InvalidArgument, InvalidModel, NotSupported, TooLarge, UnknownState
from plausible.graphs import DAG
from plausible.inference.markov_chains.markov_chain import MarkovChain
from plausible.inference.markov_chains.page_rank import SearchEngine, pagerank

SEEDS = st.integers(0, 2**16)


def random_matrix(seed, size, zeros=0.5):
    """Rows with sum one and many zeros; reducible and periodic chains among them."""
    rng = np.random.default_rng(seed)
    table = rng.random((size, size)) * (rng.random((size, size)) >= zeros)
    empty = table.sum(axis=1) == 0
    table[empty, rng.integers(0, size, empty.sum())] = 1.0
    return table / table.sum(axis=1, keepdims=True)


def ring(size):
    """From each state to the next, from the last to the first."""
    return sparse.csr_array((np.ones(size), (np.arange(size), (np.arange(size) + 1) % size)))


def reachable(table):
    """Whether j can be reached from i in zero or more steps: Warshall's algorithm."""
    reach = (table > 0) | np.eye(len(table), dtype=bool)
    for k in range(len(table)):
        reach |= np.outer(reach[:, k], reach[k])
    return reach


chains = st.builds(random_matrix, SEEDS, st.integers(1, 7), st.sampled_from([0.2, 0.6, 0.8]))


# --- worked numbers ---


def test_two_state_example_of_the_slides():
    """A=[[.4,.6],[.2,.8]], q=(.3,.7): P(0,0,1,1)=.0576, qA, qA³ and the equilibrium (networks-sequences 85-88)."""
    chain = MarkovChain([[0.4, 0.6], [0.2, 0.8]], start=[0.3, 0.7])
    assert chain.likelihood([0, 0, 1, 1]) == pytest.approx(0.0576)
    np.testing.assert_allclose(chain.predict(1).values, [0.26, 0.74])
    np.testing.assert_allclose(chain.predict(3).values, [0.2504, 0.7496])
    np.testing.assert_allclose(chain.equilibrium().values, [0.25, 0.75])


def test_coke_and_pepsi():
    """A², A³, the third purchase after (.6, .4), and the equilibrium (2/3, 1/3)."""
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], ["Coke", "Pepsi"], start={"Coke": 0.6, "Pepsi": 0.4})
    np.testing.assert_allclose(chain.n_step(2), [[0.83, 0.17], [0.34, 0.66]])
    np.testing.assert_allclose(chain.n_step(3), [[0.781, 0.219], [0.438, 0.562]])
    assert chain.predict(3).values[0] == pytest.approx(0.6438)
    np.testing.assert_allclose(chain.stationary().values, [2 / 3, 1 / 3])
    assert chain.predict(1, start="Pepsi").values.tolist() == pytest.approx([0.2, 0.8])


def test_chain_of_the_overview():
    """T=[[.9,.1],[.5,.5]] has the stationary distribution (5/6, 1/6) (overview 108)."""
    chain = MarkovChain([[0.9, 0.1], [0.5, 0.5]])
    np.testing.assert_allclose(chain.stationary().values, [5 / 6, 1 / 6])
    assert chain.spectral_gap() == pytest.approx(0.6)


def test_add_one_estimates():
    """(1 + #AB) / (N + #A), and count ratios without (networks-sequences 86)."""
    sequences = ["aabca", "abca"]  # aa 1, ab 2, bc 2, ca 2
    smooth = MarkovChain.fit(sequences, states="abcd", pseudocount=1)
    np.testing.assert_allclose(smooth.transition[0], np.array([2, 3, 1, 1]) / 7)
    np.testing.assert_allclose(smooth.transition[3], np.full(4, 0.25))
    np.testing.assert_allclose(smooth.start.values, np.array([3, 1, 1, 1]) / 6)
    plain = MarkovChain.fit(sequences)
    np.testing.assert_allclose(plain.transition, [[1 / 3, 2 / 3, 0], [0, 0, 1], [1, 0, 0]])
    with pytest.raises(InvalidArgument, match=r"'b' is never followed.*pseudocount"):
        MarkovChain.fit(["ab"])


def test_gibbs_sweep_of_a_positive_factor():
    """Kernels P(x_i' | x_-i) in turn keep π; each has four unit eigenvalues, the sweep is regular (overview 110)."""
    rng = np.random.default_rng(0)
    pi = rng.random(8) + 0.1
    pi /= pi.sum()
    states = list(cartesian((0, 1), repeat=3))
    kernels = []
    for bit in range(3):
        same = [[a[:bit] + a[bit + 1 :] == b[:bit] + b[bit + 1 :] for b in states] for a in states]
        table = np.where(same, pi, 0.0)
        kernels.append(MarkovChain(table / table.sum(axis=1, keepdims=True), states))
    for kernel in kernels:
        assert len(kernel.stationary_distributions()) == 4
        assert np.isclose(np.abs(np.linalg.eigvals(kernel.transition)), 1).sum() == 4
        assert not kernel.is_regular
    sweep = reduce(MarkovChain.then, kernels)
    assert sweep.is_regular
    assert (sweep.transition > 0).all()
    np.testing.assert_allclose(sweep.stationary().values, pi)
    assert kernels[0].then(kernels[1]).stationary_distributions()[0].values.sum() == pytest.approx(1)


@pytest.mark.parametrize("win", [0.5, 0.45, 0.7])
def test_gamblers_ruin_has_its_closed_form(win):
    """P(reach the goal) = (1 - r^i) / (1 - r^n), r = lose/win; expected duration likewise (Feller 1968, XIV.2-3)."""
    goal, ratio = 10, (1 - win) / win
    result = MarkovChain.gamblers_ruin(goal, win).absorption()
    for coins in range(1, goal):
        if win == 0.5:
            reach, steps = coins / goal, coins * (goal - coins)
        else:
            reach = (1 - ratio**coins) / (1 - ratio**goal)
            steps = (coins - goal * reach) / (1 - 2 * win)
        assert result.probability(coins, goal) == pytest.approx(reach)
        assert result.probability(coins, 0) == pytest.approx(1 - reach)
        assert result.steps(coins) == pytest.approx(steps)


# --- laws ---


@settings(max_examples=32, deadline=None)
@given(table=chains)
def test_classes_are_those_of_mutual_reachability(table):
    """Communicating classes, closedness, absorbing states, irreducibility: by Warshall's algorithm."""
    chain, reach = MarkovChain(table), reachable(table)
    mutual = reach & reach.T
    expected = {tuple(np.flatnonzero(row).tolist()) for row in mutual}
    found = chain.communicating_classes()
    assert {one.states for one in found} == expected
    assert [one.states[0] for one in found] == sorted(one.states[0] for one in found)
    for one in found:
        outside = [j for j in range(len(table)) if j not in one.states]
        assert one.is_closed == (table[np.ix_(one.states, outside)] == 0).all()
    assert chain.is_irreducible == bool(reach.all())
    assert chain.absorbing_states == tuple(np.flatnonzero(np.diag(table) == 1).tolist())
    assert chain.is_left_to_right == bool((np.tril(table, -1) == 0).all())


@settings(max_examples=24, deadline=None)
@given(table=chains)
def test_period_divides_all_returns_and_regularity_means_a_positive_power(table):
    """The period of a class is the gcd of the lengths of returns; regular iff A^((s-1)²+1) > 0 (Wielandt 1950)."""
    chain, size = MarkovChain(table), len(table)
    powers = [table > 0]
    while len(powers) < 2 * size * size + 2:
        powers.append((powers[-1].astype(int) @ (table > 0).astype(int)) > 0)
    for one in chain.communicating_classes():
        lengths = [t + 1 for t, power in enumerate(powers) if power[one.states[0], one.states[0]]]
        assert one.period == (math.gcd(*lengths) if lengths else 0)
    assert chain.is_regular == bool(powers[(size - 1) ** 2].all())


@settings(max_examples=24, deadline=None)
@given(table=chains)
def test_stationary_distributions_span_the_unit_eigenspace(table):
    """π A = π, as many as the dimension of the eigenspace; on disjoint supports."""
    chain = MarkovChain(table)
    found = chain.stationary_distributions()
    rank = np.linalg.matrix_rank(table.T - np.eye(len(table)), tol=1e-9)
    assert len(found) == len(table) - rank
    for pi in found:
        np.testing.assert_allclose(pi.values @ table, pi.values, atol=1e-13)
        assert pi.values.sum() == pytest.approx(1)
    assert (np.sum([pi.values > 0 for pi in found], axis=0) <= 1).all()
    if len(found) == 1:
        np.testing.assert_array_equal(chain.stationary().values, found[0].values)
    else:
        with pytest.raises(NotSupported, match="closed classes"):
            chain.stationary()


@settings(max_examples=24, deadline=None)
@given(table=chains)
def test_absorption_is_the_limit_of_many_steps(table):
    """Probabilities to end up in a class, expected steps and visits, from powers of A."""
    chain = MarkovChain(table)
    result = chain.absorption()
    rows = [chain.states.index(state) for state in result.transient]
    far = np.linalg.matrix_power(table, 2**20)
    assume(far[np.ix_(rows, rows)].max(initial=0.0) < 1e-9)
    for column, states in enumerate(result.classes):
        np.testing.assert_allclose(result.probabilities[:, column], far[rows][:, list(states)].sum(axis=1), atol=1e-6)
    within = table[np.ix_(rows, rows)]
    np.testing.assert_allclose((np.eye(len(rows)) - within) @ result.expected_steps, np.ones(len(rows)), atol=1e-7)
    np.testing.assert_allclose(chain.expected_visits().sum(axis=1), result.expected_steps, rtol=1e-7)
    assert chain.is_absorbing == all(len(states) == 1 for states in result.classes)


@settings(max_examples=16, deadline=None)
@given(table=chains, steps=st.integers(0, 12), seed=SEEDS)
def test_prediction_is_q_times_the_power_dense_and_sparse(table, steps, seed):
    """q A^n, one step after the other or by the power; the sparse chain says the same."""
    start = np.random.default_rng(seed).dirichlet(np.ones(len(table)))
    power = reduce(np.matmul, [table] * steps, np.eye(len(table)))
    dense, thin = MarkovChain(table, start=start), MarkovChain(sparse.csr_array(table), start=start)
    assert sparse.issparse(thin.transition)
    for chain in (dense, thin):
        np.testing.assert_allclose(chain.predict(steps).values, start @ power, atol=1e-12)
    np.testing.assert_allclose(dense.n_step(steps), power, atol=1e-12)
    np.testing.assert_allclose(thin.n_step(steps).toarray(), power, atol=1e-12)
    assert dense == thin
    assert len(dense.communicating_classes()) == len(thin.communicating_classes())


@settings(max_examples=24, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 6), tolerance=st.sampled_from([0.25, 0.1, 1e-3]))
def test_mixing_time_is_the_first_time_within_the_tolerance(seed, size, tolerance):
    """Step by step, the worst total variation distance first falls below the tolerance then."""
    table = random_matrix(seed, size, zeros=0.3)
    chain = MarkovChain(table)
    if not chain.is_regular:
        return
    values, vectors = np.linalg.eig(table.T)
    pi = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    pi = pi / pi.sum()
    power, steps = np.eye(size), 0
    while np.abs(power - pi).sum(axis=1).max() / 2 > tolerance:
        power, steps = power @ table, steps + 1
    assert chain.mixing_time(tolerance) == steps
    assert chain.spectral_gap() == pytest.approx(1 - (sorted(np.abs(values))[-2] if size > 1 else 0), abs=1e-9)


@settings(max_examples=16, deadline=None)
@given(table=chains, length=st.integers(0, 6), seed=SEEDS)
def test_likelihoods_of_all_sequences_sum_to_one(table, length, seed):
    """Σ over sequences of q Π A is one; single ones are plain products."""
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(len(table)))
    chain = MarkovChain(table)
    path = rng.integers(0, len(table), length).tolist()
    expected = math.prod([start[path[0]], *(table[a, b] for a, b in pairwise(path))]) if path else 1
    assert chain.likelihood(path, start) == pytest.approx(expected)
    if len(table) ** length <= 400:
        every = cartesian(range(len(table)), repeat=length)
        assert sum(chain.likelihood(one, start) for one in every) == pytest.approx(1)


# --- simulation ---


def test_simulated_frequencies_are_those_of_the_chain():
    """Starts and transitions of many chains, within five standard errors; impossible ones never."""
    table = np.array([[0.1, 0.9, 0.0], [0.3, 0.3, 0.4], [0.0, 1.0, 0.0]])
    chain = MarkovChain(table, "abc", start=[0.5, 0.0, 0.5])
    paths = chain.simulate(200, seed=3, num_chains=500)
    assert paths.shape == (500, 201)
    assert set(paths[:, 0]) == {"a", "c"}
    places = np.searchsorted(["a", "b", "c"], paths)
    counts = np.zeros((3, 3))
    np.add.at(counts, (places[:, :-1].ravel(), places[:, 1:].ravel()), 1)
    rows = counts.sum(axis=1, keepdims=True)
    assert (counts[table == 0] == 0).all()
    assert (np.abs(counts / rows - table) <= 5 * np.sqrt(table * (1 - table) / rows) + 1e-12).all()
    np.testing.assert_array_equal(paths, chain.simulate(200, seed=3, num_chains=500))
    assert (paths != chain.simulate(200, seed=4, num_chains=500)).any()


def test_simulation_of_states_of_any_kind():
    """Tuples stay tuples; zero steps give the start alone."""
    chain = MarkovChain([[0, 1], [1, 0]], [(0, 0), (0, 1)], start=[1, 0])
    assert chain.simulate(2).tolist() == [[(0, 0), (0, 1), (0, 0)]]
    assert chain.simulate(0, num_chains=2).tolist() == [[(0, 0)], [(0, 0)]]
    assert MarkovChain([[1.0]], start=0).simulate(3).tolist() == [[0, 0, 0, 0]]


def test_estimates_from_simulations_come_back():
    """Maximum likelihood on a long trajectory is near the chain that made it."""
    chain = MarkovChain([[0.7, 0.3], [0.4, 0.6]], ["x", "y"], start="x")
    again = MarkovChain.fit(chain.simulate(20_000, seed=1), states=["x", "y"])
    np.testing.assert_allclose(again.transition, chain.transition, atol=0.02)


# --- large and stiff chains ---


def test_tens_of_thousands_of_states():
    """A sparse ring with jumps: stationary by steps; a birth-death chain, too slow for steps, by elimination."""
    size = 30_000
    places = np.arange(size)
    ring = sparse.csr_array((np.full(size, 0.5), (places, (places + 1) % size)), shape=(size, size))
    hub = sparse.csr_array((np.full(size, 0.5), (places, np.zeros(size, dtype=int))), shape=(size, size))
    chain = MarkovChain(ring + hub)
    assert chain.is_regular
    pi = chain.stationary().values
    np.testing.assert_allclose(pi[:30], 0.5 ** (np.arange(30) + 1), atol=1e-14)
    up = np.r_[np.full(size - 1, 0.4), 0.0]
    down = np.r_[0.0, np.full(size - 1, 0.4)]
    walk = sparse.diags_array([down[1:], 1 - up - down, up[:-1]], offsets=[-1, 0, 1], format="csr")
    np.testing.assert_allclose(MarkovChain(walk).stationary().values, 1 / size, rtol=1e-6)
    assert MarkovChain(walk).predict(3, start=np.full(size, 1 / size)).values.sum() == pytest.approx(1)
    with pytest.raises(TooLarge, match="spectral_gap"):
        chain.mixing_time()


def test_large_chains_agree_with_small_ones():
    """Absorption and the spectral gap of a sparse chain beyond the dense limit."""
    ruin = MarkovChain.gamblers_ruin(1500, 0.5)
    result = MarkovChain(sparse.csr_array(ruin.transition)).absorption()
    np.testing.assert_allclose(result.probabilities[:, 1], np.arange(1, 1500) / 1500, rtol=1e-8)
    size = 1200
    table = sparse.csr_array(np.full((size, size), 0.5 / size)) + 0.5 * sparse.eye_array(size, format="csr")
    assert MarkovChain(table).spectral_gap() == pytest.approx(0.5)


def test_nearly_separate_states_are_accurate():
    """Entries of π down to 1e-30 have all their digits."""
    rare = 1e-30
    chain = MarkovChain([[1 - rare, rare], [1.0, 0.0]])
    assert chain.stationary().values[1] == pytest.approx(rare, rel=1e-12)


@pytest.mark.parametrize("coupling", [1e-12, 1e-200])
def test_large_halves_that_hardly_meet_have_the_weights_of_their_coupling(coupling):
    """Two halves of 300 states, c one way and 3 c back: 3/4 and 1/4, though a step changes next to nothing."""
    half = random_matrix(0, 300, zeros=0.98)
    half = 0.5 * half + 0.5 * np.roll(np.eye(300), 1, axis=1)
    pi = [left_vector(half), left_vector(half)]
    table = sparse.block_diag([half, half]).tolil()
    table[0, 300], table[300, 0] = coupling, 3 * coupling
    found = MarkovChain(table.tocsr()).stationary()
    np.testing.assert_allclose(found.values, np.concatenate([0.75 * pi[0], 0.25 * pi[1]]), rtol=1e-9)
    assert found.info.exact


def left_vector(table):
    """π of an irreducible chain, by least squares."""
    system = np.vstack([table.T - np.eye(len(table)), np.ones(len(table))])
    return np.linalg.lstsq(system, np.r_[np.zeros(len(table)), 1.0])[0]


def test_what_elimination_can_not_do_is_not_called_exact():
    """A random graph of 3000 states fills up: steps answer, and say that they are steps."""
    links = sparse.random(3000, 3000, density=6 / 3000, random_state=np.random.default_rng(0), format="csr")
    table = links + sparse.eye_array(3000) + ring(3000)
    rows = sparse.diags_array(1 / np.asarray(table.sum(axis=1)).ravel())
    found = MarkovChain(rows @ table).stationary()
    assert not found.info.exact
    assert found.info.error is None
    assert found.info.converged
    assert "spectral_gap" in found.info.advice
    np.testing.assert_allclose((rows @ table).T @ found.values, found.values, atol=1e-13)


@pytest.mark.parametrize("escape", [1e-12, 1e-17, 1e-300])
def test_rare_escapes_have_probabilities_that_sum_to_one(escape):
    """One state, and three in a circle, that are left with probability ε, twice as often one way: (2/3, 1/3), 1/ε."""
    alone = MarkovChain([[1, escape], [0, 1]]).absorption()
    assert alone.probabilities.tolist() == [[1.0]]
    assert alone.expected_steps == pytest.approx([1 / escape])
    table = np.zeros((5, 5))
    table[[0, 1, 2], [1, 2, 0]] = 1.0
    table[0, 3:] = 2 * escape, escape
    table[3, 3] = table[4, 4] = 1.0
    found = MarkovChain(table)
    np.testing.assert_allclose(found.absorption().probabilities, [[2 / 3, 1 / 3]] * 3, rtol=1e-14)
    np.testing.assert_allclose(found.expected_visits(), np.full((3, 3), 1 / (3 * escape)), rtol=1e-11)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_rows_of_high_powers_sum_to_one(kind):
    """A^n for n up to 1e30: a slow chain comes to its equilibrium, and q A^n stays a distribution."""
    rng = np.random.default_rng(1)
    table = 0.1 * rng.dirichlet(np.ones(6), size=6) + 0.9 * np.eye(6)
    chain = MarkovChain(kind(table), start=0)
    for steps in (10**6, 10**12, 10**15, 10**30):
        power = chain.n_step(steps)
        power = power if isinstance(power, np.ndarray) else power.toarray()
        np.testing.assert_allclose(power, np.tile(left_vector(table), (6, 1)), rtol=1e-10)
        np.testing.assert_allclose(power.sum(axis=1), 1, rtol=1e-15)
        np.testing.assert_allclose(chain.predict(steps).values, left_vector(table), rtol=1e-10)
    swap = MarkovChain([[0, 1], [1, 0]], start=[0.3, 0.7])
    assert swap.predict(10**30 + 1).values.tolist() == [0.7, 0.3]


@pytest.mark.parametrize(("stay", "ahead"), [(0.0, 1.0), (0.2, 0.4), (0.2, 0.6)])
def test_spectral_gap_of_a_large_ring_has_its_closed_form(stay, ahead):
    """λ_k = s + p w^k + q w^-k, w = exp(2πi/n); zero for a cycle, refused for a ring that drifts."""
    size, back = 2000, 1 - stay - ahead
    places = np.arange(size)
    rows = [np.full(size, stay), np.full(size, ahead), np.full(size, back)]
    columns = [places, (places + 1) % size, (places - 1) % size]
    chain = MarkovChain(sparse.csr_array((np.concatenate(rows), (np.tile(places, 3), np.concatenate(columns)))))
    turns = np.exp(2j * np.pi * places / size)
    moduli = np.sort(np.abs(stay + ahead * turns + back / turns))
    if ahead == back or stay == 0:
        assert chain.spectral_gap() == pytest.approx(1 - moduli[-2], rel=1e-6, abs=1e-14)
    else:
        with pytest.raises(NotSupported, match=r"2000 states.*Arnoldi"):
            chain.spectral_gap()


def test_a_rare_one_way_cycle_is_not_reversible():
    """State 0 is nearly never left, for a cycle 1 -> 2 -> 3 -> 1 that is never run backwards."""
    rare = 1e-13
    table = [[1 - rare, rare, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    assert not MarkovChain(table).is_reversible
    assert MarkovChain([[1 - rare, rare, 0], [0.5, 0, 0.5], [0, 1, 0]]).is_reversible


# --- periodic and reducible chains ---


def test_periodic_chain_has_a_stationary_distribution_but_no_equilibrium():
    """A cycle of three."""
    cycle = MarkovChain(np.roll(np.eye(3), 1, axis=1), "abc")
    assert cycle.period == 3
    assert cycle.is_irreducible
    assert not cycle.is_regular
    np.testing.assert_allclose(cycle.stationary().values, np.full(3, 1 / 3))
    with pytest.raises(NotSupported, match="periodic"):
        cycle.equilibrium()
    with pytest.raises(NotSupported, match="periodic"):
        cycle.mixing_time()
    assert cycle.spectral_gap() == pytest.approx(0)


def test_closed_classes_are_named():
    """The error of a stationary distribution that is not unique says which states are never left."""
    chain = MarkovChain([[1, 0, 0], [0.3, 0.3, 0.4], [0, 0, 1]], ["lost", "playing", "won"])
    with pytest.raises(NotSupported, match=r"2 closed classes, \{'lost'\}; \{'won'\}"):
        chain.stationary()
    assert chain.is_absorbing
    assert chain.absorbing_states == ("lost", "won")
    result = chain.absorption()
    assert result.probability("playing", "won") == pytest.approx(4 / 7)
    assert result.steps("playing") == pytest.approx(1 / 0.7)
    with pytest.raises(UnknownState, match="not a transient state"):
        result.steps("won")
    with pytest.raises(UnknownState, match="in no closed class"):
        result.probability("playing", "playing")


def test_left_to_right_and_reversible_chains():
    """Index never falls; birth-death chains satisfy detailed balance, rotations do not."""
    assert MarkovChain([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]]).is_left_to_right
    assert not MarkovChain([[0.5, 0.5], [0.5, 0.5]]).is_left_to_right
    assert MarkovChain([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [0, 0.6, 0.4]]).is_reversible
    assert not MarkovChain([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]).is_reversible


# --- what is refused ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0.5, 0.4], [0.5, 0.5]], ["up", "down"]), r"from 'up' sum to 0\.9"),
        (([[0.9, 0.2], [0.1, 0.8]],), "transpose"),
        (([[1.5, -0.5], [0, 1]],), "no negative numbers"),
        (([[math.nan, 1], [0, 1]],), "NaN"),
        (([[0.5, 0.5]],), r"square.*\(1, 2\)"),
        (([],), "square"),
        (([["a", "b"], ["c", "d"]],), "rows of numbers"),
        (([[1.0]], ["a", "b"]), "2 states are named"),
        (([[1.0]], None, [0.5]), "sum one"),
        (([[1.0]], None, [0.5, 0.5]), "1 states"),
    ],
)
def test_what_makes_no_chain_is_refused(arguments, words):
    """The error names the row or the number."""
    with pytest.raises(InvalidModel, match=words):
        MarkovChain(*arguments)


def test_unknown_states_and_missing_starts():
    """Names get suggestions; questions that need a start say so."""
    chain = MarkovChain({"sun": {"sun": 0.8, "rain": 0.2}, "rain": {"sun": 1.0}})
    assert chain.states == ("sun", "rain")
    assert chain.probability("sun", "rain") == 0.2
    with pytest.raises(InvalidArgument, match="no start"):
        chain.predict(1)
    with pytest.raises(UnknownState):
        chain.predict(1, start="snow")
    with pytest.raises(UnknownState):
        chain.log_likelihood(["sun", "snow"], start="sun")
    with pytest.raises(UnknownState, match="Did you mean"):
        MarkovChain.fit([["sun", "rian"]], states=["sun", "rain"])
    with pytest.raises(InvalidArgument, match="different states"):
        chain.then(MarkovChain(np.eye(2)))
    with pytest.raises(InvalidArgument, match="whole number"):
        chain.n_step(-1)
    for seed in (-1, "x", 0.5, True):
        with pytest.raises(InvalidArgument, match="seed="):
            chain.simulate(1, seed=seed, start="sun")
    with pytest.raises(InvalidArgument, match="no sequence"):
        MarkovChain.fit([])
    with pytest.raises(InvalidArgument, match="one sequence"):
        MarkovChain.fit("abc")
    with pytest.raises(InvalidArgument, match="pseudocount"):
        MarkovChain.fit(["aa"], pseudocount=-1)


def test_chains_are_values():
    """Equal by content, picklable, and closed to writing."""
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], start=[1, 0])
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert hash(pickle.loads(pickle.dumps(chain))) == hash(chain)
    assert chain != MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    assert chain != MarkovChain([[0.8, 0.2], [0.2, 0.8]], start=[1, 0])
    assert repr(chain) == "MarkovChain(2 states)"
    with pytest.raises(ImmutableValue):
        chain.states = ()
    chain.transition[0, 0] = 0.0
    assert chain.probability(0, 0) == 0.9


# --- page rank ---


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 7), damping=st.sampled_from([0.0, 0.5, 0.85, 0.99]))
def test_page_rank_is_the_stationary_distribution_of_the_surfer(seed, size, damping):
    """The dense column-stochastic matrix, dangling pages replaced by jumps, has this eigenvector (item 90)."""
    rng = np.random.default_rng(seed)
    links = rng.random((size, size)) < 0.3  # links[j, i]: j links to i
    adjacency = links.T.astype(float)
    columns = adjacency.sum(axis=0)
    stochastic = np.where(columns > 0, adjacency / np.where(columns > 0, columns, 1), 1 / size)
    google = damping * stochastic + (1 - damping) / size
    values, vectors = np.linalg.eig(google)
    expected = np.real(vectors[:, np.argmax(np.real(values))])
    found = pagerank({j: np.flatnonzero(links[j]).tolist() for j in range(size)}, damping)
    np.testing.assert_allclose(found.values, expected / expected.sum(), atol=1e-9)


def test_page_rank_without_damping():
    """With damping one the links alone decide: unique where strongly connected, else the closed classes are named."""
    found = pagerank({"a": ["b"], "b": ["a", "c"], "c": ["a"]}, damping=1)
    np.testing.assert_allclose(found.values, [0.4, 0.4, 0.2])
    assert found.scope[0].states == ("a", "b", "c")
    assert pagerank({"a": ["b"], "b": []}, damping=1).values == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(NotSupported, match="closed classes"):
        pagerank({"a": ["a"], "b": ["b"]}, damping=1)
    with pytest.raises(InvalidArgument, match="damping"):
        pagerank({"a": []}, damping=1.5)
    with pytest.raises(InvalidArgument, match="no pages"):
        pagerank({})
    with pytest.raises(InvalidArgument, match="damping='x'"):
        pagerank({"a": []}, damping="x")
    with pytest.raises(InvalidArgument, match=r"links of 'home' .*\['news'\]"):
        pagerank({"home": "news"})
    with pytest.raises(InvalidArgument, match="list of pages, not 1"):
        pagerank({"a": 1})


@pytest.mark.parametrize("short", [1e-3, 1e-7, 1e-12])
def test_page_rank_near_one_is_solved(short):
    """c links to a, a and b to each other: c = (1 - d)/3, a = (c + d (b + c)), b likewise, in closed form."""
    damping = 1 - short
    found = pagerank({"a": ["b"], "b": ["a"], "c": ["a"]}, damping)
    c = (1 - damping) / 3
    a = (c * (1 + damping) + damping * c) / ((1 - damping) * (1 + damping))
    np.testing.assert_allclose(found.values, [a, c + damping * a, c], rtol=1e-12)
    assert found.info.exact


def test_page_rank_of_many_pages_by_steps_and_by_elimination():
    """A ring of 3000 pages with a shortcut: steps for a low damping, elimination for a high one, agree with a solve."""
    size = 3000
    links = {page: [(page + 1) % size] for page in range(size)} | {7: [8, 1500], 11: []}
    follow = ring(size).tolil()
    follow[7, 1500] = follow[7, 8] = 0.5
    follow[11, 12] = 0.0
    for damping in (0.9, 0.9999):
        found = pagerank(links, damping)
        system = (sparse.eye_array(size) - damping * follow.T).tocsc()
        expected = sparse.linalg.spsolve(system, np.ones(size))
        np.testing.assert_allclose(found.values, expected / expected.sum(), rtol=1e-8)
        assert found.info.exact
        assert (found.info.num_steps > 0) == (damping == 0.9)


@pytest.mark.parametrize(
    "links",
    [
        DAG("a -> b, b -> c", nodes=["d"]),
        nx.DiGraph({"a": ["b"], "b": ["c"], "c": [], "d": []}),
        [[0, 1, 0, 0], [0, 0, 2, 0], [0] * 4, [0] * 4],
        sparse.csr_array(np.eye(4, k=1) * [1, 1, 1, 0]),
    ],
    ids=lambda links: type(links).__name__,
)
def test_page_rank_takes_graphs_and_arrays(links):
    """A chain of three pages and one alone: the same as of the mapping, on the same pages."""
    expected = pagerank({"a": ["b"], "b": ["c"], "c": [], "d": []})
    found = pagerank(links)
    places = [found.scope[0].index(page) for page in ("abcd" if found.scope[0].has_state("a") else range(4))]
    np.testing.assert_allclose(found.flat[places], expected.flat, rtol=1e-13)


@pytest.mark.parametrize(
    ("links", "words"),
    [("a -> b", "is a str"), (7, "is a int"), ([[0, 1]], r"\(1, 2\)"), ([["a"]], "rows of numbers"), ([], "array")],
)
def test_what_has_no_links_is_refused_by_name(links, words):
    """The error says what was given and what is taken."""
    with pytest.raises(InvalidArgument, match=words):
        pagerank(links)


def test_search_orders_pages_by_rank():
    """The inverted index finds pages with all words; the rank orders them."""
    texts = {"one": "Bayes nets", "two": "Bayes, again", "three": "nothing"}
    engine = SearchEngine.of(texts, {"one": ["two"], "three": ["two"]})
    assert engine.index["bayes"] == {"one", "two"}
    assert engine.search("BAYES") == ("two", "one")
    assert engine.search("bayes nets") == ("one",)
    assert engine.search("markov") == ()
    assert engine.search("") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a -> b", "No arrow leads away from 'b', to which 'a' goes"),
        ("a -> b: 2; b -> b", "2 is no probability"),
        ("a -> b: many; b -> b", "many is no probability"),
        ("a -> b: 0.5; a -> b; b -> b", "a -> b twice"),
        ("a - b", "'a - b' is no transition"),
        ("a -> b -> a", "is no transition"),
        ("a -> a: 0.7; a -> b: 0.7; b -> b", "'a' sum to 1.4"),
        ("a -> a: 0.7; a -> b: 0.1; b -> b", "'a' sum to 0.8"),
    ],
)
def test_diagrams_that_are_no_chain_are_refused(text, message):
    """Each state goes somewhere, once to each other state, by numbers that are probabilities with sum one."""
    with pytest.raises(InvalidModel, match=message):
        MarkovChain(text)


def test_arrows_without_a_number_share_what_is_left():
    """Of one state its other arrows leave 0.7, which two share; what is written is read again, to the last bit."""
    chain = MarkovChain("a -> a: 0.3; a -> b; a -> c\nb -> b\nc -> a: 1e-3; c -> c")
    np.testing.assert_allclose(chain.transition, [[0.3, 0.35, 0.35], [0, 1, 0], [0.001, 0, 0.999]], atol=1e-15)
    rng = np.random.default_rng(0)
    drawn = MarkovChain(rng.dirichlet(np.ones(4), size=4), list("abcd"))
    assert MarkovChain(drawn.to_text()) == drawn
