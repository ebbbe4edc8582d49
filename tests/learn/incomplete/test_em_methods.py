"""The variants of EM: what each of them never lowers, and that they end where EM does."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

from completion_oracle import assert_rises, incomplete_table, joint_table, oracle_counts, posteriors, random_start
from network_oracle import random_network
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import BDeu, Dirichlet
from plausible.learn.incomplete.accelerated_em import HybridEM, OverrelaxedEM, SquaredEM
from plausible.learn.incomplete.approximate_expectations import HardExpectations, most_probable_completions
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import EM_METHODS, em_run, learn_em, read_em_method
from plausible.learn.incomplete.expectations import ExactExpectations
from plausible.learn.incomplete.methods import FamilyEM, FrozenFamily, IncrementalEM
from plausible.learn.incomplete.online_em import OnlineEM
from plausible.learn.incomplete.problem import read_problem
from plausible.learn.incomplete.searching_em import AnnealedEM, BeamEM, PerturbedEM, ReweightedEM
from plausible.learn.incomplete.starts_and_stops import SymmetricStart, start_network
from plausible.models import BayesianNetwork
from plausible.search.run import Stops
from plausible.variables import Variable

#: Methods whose trace is the objective of EM, and never falls.
RISING = [
    SquaredEM(),
    OverrelaxedEM(),
    HybridEM(em_steps=3),
    FamilyEM(),
    IncrementalEM(num_blocks=4),
    BeamEM(population=3, every=2),
    PerturbedEM(population=3, kept=1, rounds=4),
]
#: Methods that end with plain EM, but may fall before.
SCHEDULED = [AnnealedEM(num_steps=5), ReweightedEM(num_steps=5)]


def problem_of(seed, num_rows=25, **options):
    """A random network, rows of it with gaps, and a start with nothing ruled out."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=0.0)
    table, rows, weights = incomplete_table(net, rng, num_rows, **options)
    return net, table, rows, weights, random_start(net, rng)


@pytest.mark.parametrize("method", [*RISING, *SCHEDULED], ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("prior", [None, BDeu(6)], ids=repr)
@pytest.mark.parametrize("seed", [4])
def test_every_method_ends_at_a_fixed_point_of_em_and_not_below_its_start(method, prior, seed):
    """θ = (M̄[x, u] + α) / Σ, with M̄ over listed completions: the stationarity condition."""
    net, table, rows, weights, start = problem_of(seed)
    rows, weights = rows[weights > 0], weights[weights > 0]
    fit = learn_em(net, table, prior, start=start, method=method, tolerance=1e-6, stopping="parameters", max_steps=300)
    if method in RISING:
        assert_rises(fit.trace)
    names = list(net.variables)
    total = oracle_counts(fit.network, rows, weights, names[:1])[1]
    assert fit.log_likelihood == pytest.approx(total, abs=1e-3)
    if prior is None:
        assert total >= oracle_counts(start, rows, weights, names[:1])[1] - 1e-9
    for cpd in fit.network.cpds.values():
        counts, _ = oracle_counts(fit.network, rows, weights, [v.name for v in cpd.scope])
        summed = counts + (0.0 if prior is None else prior.pseudo_counts(cpd.variable, cpd.parents))
        residual = summed - cpd.values * summed.sum(axis=-1, keepdims=True)
        assert np.abs(residual).max() < 2e-2


@pytest.mark.parametrize("name", list(EM_METHODS))
def test_every_method_takes_degenerate_data_and_resumes_from_a_pickled_state(name):
    rows = Table.read({"x": [0, 1, None, 1], "y": [1, 1, 0, None], "one": ["a", None, "a", "a"]})
    problem = read_problem("x -> y; one -> y", rows)
    method = read_em_method(name)
    problem = replace(problem, expectation=method.expectation_step(problem.cases))
    start = start_network(problem.maximization, problem.cases, "random", np.random.default_rng(0))
    state = method.init(problem, start)
    through = em_run(problem, state, Stops(tolerance=0, max_steps=4), method=method)
    trace = [state.objective]
    for _ in range(through.num_steps):
        state = method.step(problem, pickle.loads(pickle.dumps(state)))
        trace.append(state.objective)
    assert trace == list(through.trace)
    nothing = Table.read({"X0": []}, [problem_of(0)[0].variables["X0"]])
    empty = learn_em(problem_of(0)[0], nothing, BDeu(1), method=name)
    assert empty.log_likelihood == 0.0


def test_names_and_engines_that_do_not_fit_are_refused():
    rows = {"x": [0, 1, None]}
    with pytest.raises(InvalidArgument, match="squared"):
        learn_em("x -> x2", {"x": [0, 1], "x2": [0, 1]}, method="sqared")
    from plausible.inference import LoopyBP

    for method in ("hard", "incremental", "family", "annealed"):
        with pytest.raises(NotSupported):
            learn_em("x -> y", {**rows, "y": [0, 1, 1]}, method=method, engine=LoopyBP())
    with pytest.raises(InvalidArgument, match="below one"):
        learn_em("x -> y", {**rows, "y": [0, 1, 1]}, Dirichlet(0.5), estimate="map", method="hybrid")
    for wrong in (lambda: IncrementalEM(0), lambda: SquaredEM(0.5), lambda: OverrelaxedEM(1.0), lambda: AnnealedEM(0)):
        with pytest.raises(InvalidArgument):
            wrong()


@pytest.mark.parametrize("seed", range(6))
def test_the_most_probable_completion_of_each_case_is_that_of_the_listed_ones(seed):
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5)
    table, rows, _ = incomplete_table(net, rng, 25, missing=0.5, weighted=False)
    cases = Cases.of(net.variables, table)
    found = most_probable_completions(net, cases)
    joint = joint_table(net)
    for row, case in zip(rows, cases.case_of_row, strict=True):
        (total, completions) = posteriors(net, [row])[0]
        assert found.log_probabilities[case] == pytest.approx(total + np.log(max(completions.values())))
        assert np.log(joint[tuple(found.codes[case])]) == pytest.approx(found.log_probabilities[case])
        assert all(code in (-1, there) for code, there in zip(row, found.codes[case], strict=True))


def test_of_equally_probable_completions_first_states_are_taken_and_impossible_cases_named():
    net = BayesianNetwork(TableCPD("a", [0.5, 0.5]), TableCPD("b", [[0.0, 1.0], [0.0, 1.0]], ["a"]))
    assert most_probable_completions(net, Cases.of(net.variables, {"b": [1]})).codes.tolist() == [[0, 1]]
    with pytest.raises(ImpossibleEvidence, match="Row 1"):
        HardExpectations(Cases.of(net.variables, {"b": [1, 0]})).at(net)


@pytest.mark.parametrize("seed", range(4))
def test_hard_em_raises_the_likelihood_of_completed_rows_and_ends_at_a_local_optimum_of_completions(seed):
    """No other completion of a single row does better at the parameters found; the objective is max_θ,h."""
    net, table, rows, weights, start = problem_of(seed)
    rows, weights = rows[weights > 0], weights[weights > 0]
    fit = learn_em(net, table, start=start, method="hard", tolerance=0, max_steps=200)
    assert fit.converged
    assert not fit.is_exact
    assert_rises(fit.trace)
    best = sum(
        weight * (total + np.log(max(completions.values())))
        for weight, (total, completions) in zip(weights, posteriors(fit.network, rows), strict=True)
    )
    assert fit.objective == pytest.approx(best)
    assert best <= oracle_counts(fit.network, rows, weights, list(net.variables)[:1])[1] + 1e-9


def test_the_bound_of_incremental_em_rises_block_by_block_and_stays_below_the_likelihood():
    net, table, rows, weights, start = problem_of(3, num_rows=40)
    seen = []
    learn_em(
        net,
        table,
        start=start,
        method=IncrementalEM(num_blocks=40),
        max_steps=6,
        tolerance=0,
        progress=lambda state: seen.append(state) and None,
    )
    assert_rises([*itertools.chain(*(state.memory.bounds for state in seen))])
    for state in seen:
        assert state.objective <= oracle_counts(state.network, rows, weights, ["X0"])[1] + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_a_frozen_family_has_the_likelihood_and_counts_of_listed_completions_for_any_table(seed):
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=0.0)
    table, rows, weights = incomplete_table(net, rng, 20)
    for name, cpd in net.cpds.items():
        frozen = FrozenFamily.of(net, name, table)
        other = random_start(net, rng).cpd(name)
        total, counts = frozen.at(other.values)
        changed = net.with_cpd(other)
        wanted, wanted_total = oracle_counts(changed, rows, weights, [v.name for v in cpd.scope])
        assert total == pytest.approx(wanted_total)
        np.testing.assert_allclose(counts, wanted, atol=1e-9)
        fixed = [kept for other_name, kept in net.cpds.items() if other_name != name]
        slow = learn_em(net, table, start=net, knowledge=ParameterKnowledge(fixed=fixed), tolerance=0, max_steps=7)
        np.testing.assert_allclose(
            frozen.learned(cpd.values, num_steps=slow.num_steps, tolerance=-1.0),
            slow.network.cpd(name).values,
            atol=1e-9,
        )


def test_tied_tables_stay_tied_and_set_variables_say_nothing_of_their_tables():
    rng = np.random.default_rng(6)
    rows = {n: [None if rng.random() < 0.3 else int(rng.random() < 0.3) for _ in range(50)] for n in "abc"}
    tied = ParameterKnowledge(tied=[["b", "c"]])
    wanted = learn_em("a -> b; a -> c", rows, knowledge=tied, tolerance=1e-12, max_steps=5000)
    for method in RISING:
        fit = learn_em("a -> b; a -> c", rows, knowledge=tied, method=method, tolerance=1e-12, max_steps=5000)
        np.testing.assert_array_equal(fit.network.cpd("b").values, fit.network.cpd("c").values)
        assert fit.log_likelihood >= wanted.log_likelihood - 1e-3
    table = Table.read({"a": [0, 1, None], "b": [1, 0, 1]}, interventions={"b": [True, False, False]})
    plain = learn_em("a -> b", table, tolerance=1e-12, stopping="extrapolated")
    for method in ("squared", "family", "incremental", "hybrid"):
        fit = learn_em("a -> b", table, tolerance=1e-12, method=method)
        assert fit.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-3)
    net = plain.network
    assert FrozenFamily.of(net, "b", table).at(net.cpd("b").values)[0] == pytest.approx(
        ExactExpectations(Cases.of(net.variables, table)).at(net).log_likelihood
    )


def test_tempered_expectations_are_those_of_powered_completions():
    net, table, rows, weights, _ = problem_of(5)
    found = ExactExpectations(Cases.of(net.variables, table)).at(net, 0.4)
    names, total, counts = list(net.variables), 0.0, np.zeros(net.variables["X0"].num_states)
    for weight, (log, completions) in zip(weights, posteriors(net, rows), strict=True):
        powered = {place: np.exp(0.4 * (log + np.log(p))) for place, p in completions.items()}
        total += weight * np.log(sum(powered.values())) / 0.4
        for place, value in powered.items():
            counts[place[names.index("X0")]] += weight * value / sum(powered.values())
    cpd = net.cpd("X0")
    assert found.log_likelihood == pytest.approx(total)
    np.testing.assert_allclose(found.counts["X0"].sum(axis=tuple(range(len(cpd.parents)))), counts, atol=1e-9)
    assert not found.is_exact


def test_longer_steps_need_fewer_expectations_than_em():
    """A hidden cause of weak signs converges slowly; steps are counted, and squared ones cost at most three."""
    rng = np.random.default_rng(1)
    hidden = rng.random(400) < 0.5
    rows = {f"x{i}": (rng.random(400) < np.where(hidden, 0.7, 0.3)).astype(int) for i in range(4)}
    ask = {"hidden": {"H": 2}, "tolerance": 1e-10, "max_steps": 20000, "seed": 2}
    graph = "H -> x0; H -> x1; H -> x2; H -> x3"
    plain = learn_em(graph, rows, **ask)
    for method, cost in (("squared", 3), ("overrelaxed", 2), ("hybrid", 3)):
        fast = learn_em(graph, rows, method=method, **ask)
        assert fast.num_steps * cost < plain.num_steps
        assert fast.log_likelihood >= plain.log_likelihood - 1e-4


def test_batches_of_complete_rows_give_the_exact_estimates_with_decay_one():
    _, table, rows, weights, start = problem_of(7, missing=0.0, weighted=False)
    parts = [table.take(np.arange(first, min(first + 6, 25))) for first in range(0, 25, 6)]
    online = OnlineEM(start, BDeu(4), decay=1.0).learned(parts)
    for cpd in online.network.cpds.values():
        counts, _ = oracle_counts(start, rows, weights, [v.name for v in cpd.scope])
        summed = counts + BDeu(4).pseudo_counts(cpd.variable, cpd.parents)
        np.testing.assert_allclose(cpd.values, summed / summed.sum(axis=-1, keepdims=True), atol=1e-9)
    assert online.weight == 25
    assert len(online.batch_log_likelihoods) == 5
    assert online.partial_fit(table.take(np.arange(0))) is online
    with pytest.raises(InvalidArgument, match="decay"):
        OnlineEM(start, decay=0.5)
    with pytest.raises(InvalidArgument, match=r"OnlineEM takes the BayesianNetwork.*learn\.em"):
        OnlineEM(start.graph)
    assert len(repr(online)) < 160


def test_online_em_warns_of_hidden_states_that_are_alike_before_the_first_batch():
    variables = Variable("H", 2), Variable("x", 2)
    start = BayesianNetwork(TableCPD.uniform(variables[0]), TableCPD.uniform(variables[1], [variables[0]]))
    with pytest.warns(SymmetricStart, match="'H'"):
        after = OnlineEM(start).partial_fit({"x": [0, 1]})
    assert after.partial_fit({"x": [0, 1]}).weight == 4


def test_one_look_at_many_batches_comes_near_the_fixed_point_of_em():
    rng = np.random.default_rng(8)
    hidden = rng.random(3000) < 0.4
    rows = {f"x{i}": (rng.random(3000) < np.where(hidden, 0.9, 0.2)).astype(int) for i in range(4)}
    graph = "H -> x0; H -> x1; H -> x2; H -> x3"
    short = learn_em(graph, rows, hidden={"H": 2}, max_steps=1, tolerance=0, seed=1)
    full = learn_em(graph, rows, hidden={"H": 2}, seed=1, tolerance=1e-9)
    batches = [{name: column[first : first + 100] for name, column in rows.items()} for first in range(0, 3000, 100)]
    online = OnlineEM(short.network, decay=0.7).learned(batches)
    step = ExactExpectations(full.cases)
    gained = step.at(online.network).log_likelihood - short.log_likelihood
    assert gained > 0.95 * (full.log_likelihood - short.log_likelihood) > 0


def test_annealed_em_leaves_the_saddle_where_hidden_states_are_alike():
    """At its first temperature all states of H become alike, from where plain EM can't come away."""
    rng = np.random.default_rng(3)
    cluster = rng.random(400) < 0.5
    rows = {f"x{i}": (rng.random(400) < np.where(cluster, 0.8, 0.3)).astype(int).tolist() for i in range(3)}
    graph = "H -> x0; H -> x1; H -> x2"
    alone = sum(400 * np.sum([p * np.log(p) for p in (np.mean(c), 1 - np.mean(c))]) for c in rows.values())
    for seed in range(3):
        plain = learn_em(graph, rows, hidden={"H": 2}, seed=seed)
        annealed = learn_em(graph, rows, hidden={"H": 2}, seed=seed, method="annealed")
        assert annealed.log_likelihood > alone + 10
        assert annealed.log_likelihood > plain.log_likelihood - 0.5


@pytest.mark.parametrize("method", ["incremental", "family", "annealed", "reweighted"])
def test_methods_for_states_say_that_it_is_the_numbers_that_they_refuse(method):
    with pytest.raises(NotSupported, match="'y' is continuous: take method='em'"):
        learn_em("x -> y", {"x": [0, 1, 0], "y": [0.5, 1.5, None]}, method=method)


@pytest.mark.parametrize("first", ["em", "variational"])
@pytest.mark.parametrize("method", ["em", "squared", "overrelaxed", "hybrid", "variational"])
def test_methods_go_on_from_a_state_of_another(method, first):
    """What the other remembers is not taken for their own."""
    net, table, _, _, start = problem_of(4)
    problem = read_problem(net, table)
    state = read_em_method(first).init(problem, start)
    run = em_run(problem, state, Stops(max_steps=2), method=method)
    assert run.num_steps
    assert np.isfinite(run.state.objective)
