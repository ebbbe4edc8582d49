"""Response types from data: against enumeration of all types of all rows, and worked numbers."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest
from scipy import special

from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.interventional.response_posterior import learn_responses
from plausible.causal.interventional.response_score import ResponseScores, learn_functional_structure, response_evidence
from plausible.causal.interventional.response_space import ResponseSpace
from plausible.data.table import Table
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    InvalidEvidence,
    NotSupported,
    TooLarge,
    UnknownVariable,
)
from plausible.graphs import DAG
from plausible.learn.structures.knowledge import Knowledge
from plausible.variables import Variable, likelihood
from refusals import refuses

TRIAL = "A -> T -> O; T <-> O"


def trial_rows():
    """335 patients of the cholestyramine trial, in the shares of the eight cells."""
    cells = {(1, 1, 1): 0.473, (1, 1, 0): 0.139, (1, 0, 1): 0.073, (1, 0, 0): 0.315, (0, 0, 1): 0.081, (0, 0, 0): 0.919}
    rows = [cell for cell, share in cells.items() for _ in range(round(168 * share))]
    return {name: [row[place] for row in rows] for place, name in enumerate("ATO")}


def log_beta(counts):
    return sum(map(math.lgamma, counts)) - math.lgamma(sum(counts))


def enumerate_types(allowed, num_types, alpha=1.0):
    """For each assignment of types to rows that the rows allow: its weight B(α + n), and the posterior mean of ν."""
    chosen = np.array(list(product(*allowed)))
    counts = alpha + (chosen[:, :, None] == np.arange(num_types)).sum(axis=1)
    logs = special.gammaln(counts).sum(axis=1) - math.lgamma(counts[0].sum())
    weights = np.exp(logs - log_beta([alpha] * num_types))
    return weights.sum(), weights @ counts / counts[0].sum() / weights.sum()


def trial_types(rows):
    """The types (T at a0, T at a1, O at t0, O at t1) that each row (a, t, o) allows, numbered."""
    types = list(product((0, 1), repeat=4))
    return [[n for n, u in enumerate(types) if u[a] == t and u[2 + t] == o] for a, t, o in rows]


def test_functions_are_all_maps_and_cells_allow_those_that_explain_them():
    space = ResponseSpace.of("A -> C <- B", [Variable("A", 2), Variable("B", 3), Variable("C", 2)])
    functions = space.functions["C"]
    assert functions.shape == (2**6, 6)
    assert len({tuple(row) for row in functions.tolist()}) == 64
    table = Table.read({"A": [1, 0], "B": [2, 2], "C": [1, 0]}, space.variables)
    part = next(part for part in space.components if part.names == ("C",))
    cells = space.cells(table, part)
    assert cells.allowed.sum(axis=1).tolist() == [32, 32]
    contexts = {(a, b): 3 * a + b for a in range(2) for b in range(3)}
    explains = [functions[:, contexts[0, 2]] == 0, functions[:, contexts[1, 2]] == 1]
    assert sorted(map(tuple, cells.allowed.tolist())) == sorted(map(tuple, np.array(explains).tolist()))


def test_posterior_of_types_equals_enumeration_of_all_types_of_all_rows():
    rows = [(0, 0, 0)] * 3 + [(1, 1, 1)] * 3 + [(1, 0, 1)]
    total, means = enumerate_types(trial_types(rows), 16, alpha=0.25)
    table = Table.read({name: [row[place] for row in rows] for place, name in enumerate("ATO")})
    prior = {("T", "O"): np.full((4, 4), 0.25)}
    posterior = learn_responses(TRIAL, table, prior, num_draws=500, num_chains=20, seed=1)
    place = next(place for place, part in enumerate(posterior.space.components) if part.names == ("T", "O"))
    found = posterior.draws[place].mean(axis=(0, 1)).reshape(2, 2, 2, 2)
    assert found.ravel() == pytest.approx(means, abs=0.008)
    types = np.array(list(product((0, 1), repeat=4)))
    effect = posterior.effect({"O": 1}, {"T": 1}, {"T": 0})
    assert effect.mean == pytest.approx(means @ (types[:, 3] - types[:, 2]), abs=0.015)
    assert posterior.probability({"A": 1}).mean == pytest.approx(5 / 9, abs=0.02)
    evidence = response_evidence(TRIAL, table, prior, num_particles=3000)
    of_a = math.lgamma(4) + math.lgamma(5) - math.lgamma(9)
    assert evidence.log_evidence == pytest.approx(math.log(total) + of_a, abs=0.06)
    assert evidence.num_effective > 50


def test_counterfactuals_weigh_draws_by_the_evidence():
    """P(O would be 1 under t0 | T=1, O=1) = E[ν(T=1, O=1, O at t0 = 1)] / E[ν(T=1, O=1)] over rows and prior."""
    rows = [(0, 0, 0), (1, 1, 1), (1, 1, 0), (0, 1, 1)]
    table = Table.read({name: [row[place] for row in rows] for place, name in enumerate("ATO")})
    types = list(product((0, 1), repeat=4))
    allowed = trial_types(rows)
    numerator = denominator = 0.0
    for chosen in product(*allowed):
        counts = np.ones(16)
        np.add.at(counts, list(chosen), 1)
        weight, nu = math.exp(log_beta(counts)), counts / counts.sum()
        for share, (number, u) in product([(0, 0.5), (1, 0.5)], enumerate(types)):
            if u[share[0]] == 1 and u[3] == 1:
                denominator += weight * share[1] * nu[number]
                numerator += weight * share[1] * nu[number] * (u[2] == 1)
    posterior = learn_responses(TRIAL, table, num_draws=400, num_chains=20, seed=2)
    answer = posterior.probability({"O": 1}, do={"T": 0}, evidence={"T": 1, "O": 1})
    assert answer.mean == pytest.approx(numerator / denominator, abs=0.02)
    same = posterior.probability({"O": 1}, do={"T": 1}, evidence={"T": 1, "O": 1})
    np.testing.assert_allclose(same.draws, 1.0)  # what was done already changes nothing


def test_cholestyramine_effect_lies_within_its_bounds_and_near_the_worked_mean():
    posterior = learn_responses(TRIAL, trial_rows(), num_draws=700, burn_in=200, num_chains=2)
    effect = posterior.effect({"O": 1}, {"T": 1}, {"T": 0})
    assert 0.45 < effect.mean < 0.63
    low, high = effect.interval()
    assert 0.25 < low < 0.45 < 0.63 < high < 0.8
    assert effect.r_hat < 1.1
    assert effect.effective_sample_size > 30


def test_rows_in_which_a_variable_was_set_say_nothing_of_its_own_response():
    """Rows of do(T) tell how O responds, and the effect becomes that of a randomised trial, Beta posteriors apart."""
    rng = np.random.default_rng(0)
    t = np.arange(400) % 2
    o = np.where(rng.random(400) < np.where(t == 1, 0.7, 0.2), 1, 0)
    table = Table.read({"T": t, "O": o}, interventions={"T": [True] * 400})
    posterior = learn_responses("T -> O; T <-> O", table, num_draws=400, num_chains=2)
    effect = posterior.effect({"O": 1}, {"T": 1}, {"T": 0})
    assert effect.mean == pytest.approx(o[t == 1].mean() - o[t == 0].mean(), abs=0.03)
    assert posterior.probability({"T": 1}).mean == pytest.approx(0.5, abs=0.04)  # nothing was learned about T
    seen = learn_responses("T -> O; T <-> O", Table.read({"T": t, "O": o}), num_draws=400, num_chains=2)
    low, high = seen.effect({"O": 1}, {"T": 1}, {"T": 0}).interval()
    assert high - low > 0.3  # not identified from observation


def test_prior_of_zero_rules_types_out():
    """Without defiers and with the types of one variable alone, the prior of a monotone response."""
    prior = {("T", "O"): np.where(np.arange(4)[:, None] == 2, 0.0, np.ones((4, 4)))}
    rows = trial_rows()
    posterior = learn_responses(TRIAL, rows, prior, num_draws=300, num_chains=2)
    assert posterior.draws[1].reshape(2, -1, 4, 4)[:, :, 2].max() == 0
    with pytest.raises(ImpossibleEvidence, match="contradict the prior"):
        learn_responses("T -> O", {"T": [0, 1], "O": [0, 1]}, {("O",): [0, 0, 1, 0]})


def test_chains_go_on_from_where_they_were_and_are_the_same_for_the_same_seed():
    rows = trial_rows()
    posterior = learn_responses(TRIAL, rows, num_draws=20, burn_in=5, num_chains=2, seed=3)
    again = learn_responses(TRIAL, rows, num_draws=20, burn_in=5, num_chains=2, seed=3)
    np.testing.assert_array_equal(posterior.draws[1], again.draws[1])
    resumed = learn_responses(TRIAL, rows, num_draws=10, start=pickle.loads(pickle.dumps(posterior)))
    assert resumed.draws[1].shape == (2, 10, 16)
    stopped = learn_responses(TRIAL, rows, num_draws=50, burn_in=0, progress=lambda state: state.num_steps == 3)
    assert stopped.draws[0].shape[1] == 3
    assert stopped.stopped_by == "interrupted"
    weighted = Table.read({"T": [0, 1], "O": [1, 1]}, [Variable("T", 2), Variable("O", 2)], weights=[3, 2])
    counted = learn_responses("T -> O", weighted, num_draws=5).state.counts[1][0].sum()
    assert counted == 5


def test_without_rows_the_posterior_is_the_prior():
    table = Table.read({"T": [], "O": []}, [Variable("T", 2), Variable("O", 2)])
    posterior = learn_responses("T -> O", table, num_draws=500, num_chains=8, burn_in=0)
    assert posterior.effect({"O": 1}, {"T": 1}, {"T": 0}).mean == pytest.approx(0.0, abs=0.03)
    assert response_evidence("T -> O", table).log_evidence == pytest.approx(0.0, abs=1e-9)
    one = learn_responses("T -> O", Table.read({"T": ["x"] * 3, "O": ["y"] * 3}), num_draws=3)
    assert one.probability({"O": "y"}, do={"T": "x"}).mean == 1.0


# --- structures ---


def test_family_scores_equal_enumeration_and_add_up_to_the_evidence_of_a_graph():
    rows = [(0, 0), (0, 1), (1, 1), (1, 1), (0, 0), (1, 0)]
    table = Table.read({"x": [x for x, _ in rows], "y": [y for _, y in rows]})
    functions = list(product((0, 1), repeat=2))
    allowed = [[n for n, f in enumerate(functions) if f[x] == y] for x, y in rows]
    total, _ = enumerate_types(allowed, 4, alpha=0.5)
    scores = ResponseScores.on(table, num_particles=3000)
    assert scores.family("y", ["x"]) == pytest.approx(math.log(total), abs=0.03)
    assert scores.family("y", []) == pytest.approx(2 * math.lgamma(4) - math.lgamma(8), abs=1e-9)
    whole = response_evidence("x -> y", table, {("y",): [0.5] * 4}, num_particles=3000)
    assert whole.log_evidence == pytest.approx(scores.family("x", []) + scores.family("y", ["x"]), abs=0.05)
    assert scores.family("y", ["x"]) == scores.family("y", ["x"])
    tiny = ResponseScores.on(table, max_types=3)
    assert tiny.family("y", ["x"]) == -math.inf


@pytest.mark.parametrize("method", ["hill-climbing", "exact"])
def test_search_finds_a_graph_with_independent_responses_and_interventions_direct_it(method):
    rng = np.random.default_rng(4)
    num = 600
    is_set = np.arange(num) % 3 == 0
    a = rng.integers(0, 2, num)
    noise = rng.random(num)
    b = np.where(is_set, rng.integers(0, 2, num), np.where(noise < 0.8, a, 1 - a))
    c = np.where(rng.random(num) < 0.85, b, 1 - b)
    table = Table.read({"a": a, "b": b, "c": c}, interventions={"b": is_set})
    found = learn_functional_structure(table, method, Knowledge(max_parents=2))
    assert set(found.graph.edges) == {("a", "b"), ("b", "c")}


def test_parents_with_one_state_change_no_score():
    """Neither the estimate nor its random numbers, so that no search takes them for causes."""
    rng = np.random.default_rng(2)
    rows = {"k": ["only"] * 40, "x": rng.integers(0, 2, 40), "y": rng.integers(0, 3, 40)}
    scores = ResponseScores.on(rows, num_particles=50)
    assert scores.family("y", ["k", "x"]) == scores.family("y", ["x"])
    assert scores.family("y", ["k"]) == scores.family("y", [])
    assert not {"k"} & {node for edge in learn_functional_structure(rows).graph.edges for node in edge}


def test_states_that_never_occur_in_a_parent_change_a_score_by_no_more_than_noise():
    """The prior of a child is the same in each context, however many contexts there are: here one is never seen."""
    y = np.random.default_rng(3).integers(0, 2, 60)
    table = Table.read({"x": [0] * 60, "y": y}, [Variable("x", 2), Variable("y", 2)])
    exact, found = (
        response_evidence(graph, table, {("y",): counts}, num_particles=2000)
        for graph, counts in ((DAG("", nodes=["x", "y"]), [1, 1]), ("x -> y", [0.5] * 4))
    )
    assert exact.standard_error == 0
    assert abs(found.log_evidence - exact.log_evidence) < 4 * found.standard_error + 1e-9
    scores = ResponseScores.on(table)
    assert scores.family("y", ["x"]) <= scores.family("y", []) + 1e-9


def test_standard_error_of_the_evidence_is_that_of_repeated_estimates():
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 2, (2, 100))
    y = (x & w) ^ (rng.random(100) < 0.2)
    rows = {"x": x, "w": w, "y": y.astype(int)}
    found = [response_evidence("x -> y <- w", rows, num_particles=60, seed=seed) for seed in range(16)]
    spread = np.std([one.log_evidence for one in found], ddof=1)
    assert 0.5 < np.mean([one.standard_error for one in found]) / spread < 2


def test_a_posterior_of_other_rows_or_another_graph_is_no_start():
    rows = {"x": [0, 1, 1], "y": [0, 1, 0]}
    posterior = learn_responses("x -> y", rows, num_draws=2)
    for graph, other, match in (
        ("y -> x", rows, "posterior of 'x -> y' over .*, not of 'y -> x'"),
        ("x -> y", {"x": [0, 1, 1], "y": [0, 1, 1]}, "posterior of other rows"),
        ("x -> y", {name: [*column, 1] for name, column in rows.items()}, "posterior of other rows"),
        ("x -> y", {"x": ["a", "b", "b"], "y": [0, 1, 0]}, "posterior of 'x -> y' over"),
    ):
        with pytest.raises(InvalidArgument, match=match):
            learn_responses(graph, other, num_draws=2, start=posterior)


def test_evidence_tells_confounding_from_its_absence():
    """Instrument A: T and O depend beyond what T does, which a graph without a latent cause explains worse."""
    rng = np.random.default_rng(5)
    a, u = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    t = np.where(rng.random(500) < 0.15, 1 - u, np.where(a == 1, 1, u))
    o = np.where(rng.random(500) < 0.9, u, 1 - u)
    rows = Table.read({"A": a, "T": t, "O": o})
    confounded, plain = (response_evidence(g, rows) for g in ("A -> T; T <-> O", "A -> T -> O"))
    assert confounded.log_evidence > plain.log_evidence + 5


def test_wrong_arguments_are_refused_by_name():
    rows = trial_rows()
    refuses(UnknownVariable, "'Z'", learn_responses, "A -> Z", rows)
    refuses(TooLarge, "'T', 'O'", learn_responses, TRIAL, rows, max_types=8)
    refuses(NotSupported, "'x' is continuous", learn_responses, "x -> y", {"x": [0.5, 1.5], "y": [0, 1]})
    refuses(InvalidArgument, "'y' is missing in 1 of 2", learn_responses, "x -> y", {"x": [0, 1], "y": [0, None]})
    with pytest.raises(InvalidArgument, match="whole numbers"):
        learn_responses("x -> y", Table.read({"x": [0, 1], "y": [0, 1]}, weights=[0.5, 1]))
    refuses(InvalidArgument, "prior=", learn_responses, "x -> y", {"x": [0, 1], "y": [0, 1]}, prior=0)
    refuses(InvalidArgument, "shape", learn_responses, "x -> y", {"x": [0, 1], "y": [0, 1]}, prior={("y",): [1, 2]})
    posterior = learn_responses("x -> y", {"x": [0, 1], "y": [0, 1]}, num_draws=4)
    refuses(UnknownVariable, "'z'", posterior.probability, {"z": 1})
    refuses(InvalidArgument, "same variables", posterior.effect, {"y": 1}, {"x": 1}, {"y": 0})
    refuses(InvalidArgument, "level=", posterior.probability({"y": 1}).interval, 2.0)


def test_what_is_set_is_so_and_nothing_else():
    """P(X = x' | do(X = x)) is 0 where x' differs from x, and an effect on the treatment itself is 1."""
    posterior = learn_responses("X -> Y", {"X": [0, 1], "Y": [0, 1]}, num_draws=50)
    assert posterior.probability({"X": 1}, do={"X": 0}).mean == 0.0
    assert posterior.probability({"X": 1}, do={"X": 1}).mean == 1.0
    assert posterior.effect({"X": 1}, {"X": 1}, {"X": 0}).mean == 1.0
    with pytest.raises(InvalidArgument, match="outcome= is empty"):
        posterior.probability({})


def test_events_of_several_worlds_have_the_posterior_of_their_types():
    """Helped, nested and mixed events are sums over the draws of joint types (T at a0, T at a1, O at t0, O at t1)."""
    posterior = learn_responses(TRIAL, trial_rows(), num_draws=60, num_chains=2)
    place = next(place for place, part in enumerate(posterior.space.components) if part.names == ("T", "O"))
    types = np.array(list(product((0, 1), repeat=4)))
    assigned = posterior.draws[1 - place][..., 1]
    nu = posterior.draws[place]

    def share(holds):
        return (nu * holds).sum(axis=-1)

    helped = {Potential("O", {"T": 1}): 1, Potential("O", {"T": 0}): 0}
    is_helped = (types[:, 3] == 1) & (types[:, 2] == 0)
    np.testing.assert_allclose(posterior.probability(helped).draws, share(is_helped))
    treated = [types[:, a] == 1 for a in (0, 1)]
    weights = (1 - assigned) * share(treated[0]) + assigned * share(treated[1])
    both = (1 - assigned) * share(treated[0] & is_helped) + assigned * share(treated[1] & is_helped)
    answer = posterior.probability(helped, evidence={"T": [1]})
    np.testing.assert_allclose(answer.draws * answer.weights, both)
    np.testing.assert_allclose(answer.weights, weights)
    nested = posterior.probability({"O": 1}, do={"T": Potential("T", {"A": 1})})
    np.testing.assert_allclose(nested.draws, share(np.where(types[:, 1] == 1, types[:, 3], types[:, 2]) == 1))
    np.testing.assert_allclose(posterior.probability({"O": [0, 1]}, do={"T": 1}).draws, 1.0)
    with pytest.raises(InvalidEvidence, match="here events are states"):
        posterior.probability({"O": 1}, evidence={"T": likelihood([0.5, 0.5])})


def test_a_prior_may_name_a_component_in_any_order_but_must_name_one():
    """Pseudo-counts by (O, T) are those by (T, O) transposed; unknown or repeated components are refused."""
    counts = np.arange(16.0).reshape(4, 4) + 1
    given = learn_responses(TRIAL, trial_rows(), {("T", "O"): counts}, num_draws=20, num_chains=1)
    turned = learn_responses(TRIAL, trial_rows(), {("O", "T"): counts.T}, num_draws=20, num_chains=1)
    for one, other in zip(given.draws, turned.draws, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InvalidArgument, match=r"\('A',\), \('T', 'O'\)"):
        learn_responses(TRIAL, trial_rows(), {("A", "T"): np.ones((2, 4))})
    with pytest.raises(InvalidArgument, match="twice"):
        learn_responses(TRIAL, trial_rows(), {("T", "O"): counts, ("O", "T"): counts})


def test_sizes_beyond_all_digits_are_told_by_their_magnitude():
    """3^(3^9) joint types have more digits than Python writes."""
    causes = [Variable(f"C{place}", 3) for place in range(9)]
    with pytest.raises(TooLarge, match=r"about 10\^9391 joint types"):
        ResponseSpace.of("; ".join(f"{cause.name} -> Y" for cause in causes), [*causes, Variable("Y", 3)])


def test_what_is_set_where_no_key_is_a_name_is_refused():
    """A Potential names its whole world, so that do= would be dropped."""
    posterior = learn_responses("X -> Y", {"X": [0, 1, 1], "Y": [0, 1, 0]}, num_draws=10)
    key = Potential("Y", {"X": 0})
    with pytest.raises(InvalidArgument, match=r"do=\{'X': 1\} touches nothing"):
        posterior.probability({key: 1}, do={"X": 1})
    both = posterior.probability({key: 1, "Y": 1}, do={"X": 1})
    assert (both.draws <= posterior.probability({key: 1}).draws + 1e-12).all()
