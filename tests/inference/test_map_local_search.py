"""Most probable explanations by local search and by branch and bound, against enumeration."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import agrees, measure_of_markov_network, random_evidence, random_markov_network
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.exact_map.bounds import plan_bound
from plausible.inference.optimization.map_branch_and_bound import BranchAndBound, mini_bucket_heuristic
from plausible.inference.optimization.map_local_search import Flip, FlipProblem, LocalSearch
from plausible.inference.problem import Problem
from plausible.search.local_search import BasinFlooding, BeamSearch, FirstAscent, GreedyAscent, TabuSearch
from plausible.search.metaheuristics import ExponentialCooling, PerturbationRestarts, RandomRestarts, SimulatedAnnealing
from plausible.variables import Evidence, Variable

NOTHING = Evidence.read({}, {})

SEARCHES = [
    None,
    GreedyAscent(),
    FirstAscent(),
    TabuSearch(length=3, patience=30),
    SimulatedAnnealing(ExponentialCooling(start=2, stop=0.05, factor=0.8, every=30)),
    BasinFlooding(patience=10),
    BeamSearch(width=3),
    RandomRestarts(TabuSearch(length=2, patience=10), num=3),
    PerturbationRestarts(FirstAscent(), num=3, length=2),
]


def random_problem(seed, num_variables=5, zeros=0.2):
    """Factors over one to three variables with one to three states, and their problem."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables, num_factors=int(rng.integers(1, 8)), zeros=zeros)
    return net, Problem.of(net.factors, NOTHING)


def largest(net, evidence=None):
    """The largest Π φ among assignments that agree with the evidence, by enumeration."""
    return max(weight for assignment, weight in measure_of_markov_network(net) if agrees(assignment, evidence or {}))


def grid(side, seed, num_states=2):
    """Random factors on the cells and edges of a square grid."""
    rng = np.random.default_rng(seed)
    cells = {(r, c): Variable(f"X{r},{c}", num_states) for r in range(side) for c in range(side)}
    pairs = [((r, c), other) for r, c in cells for other in ((r + 1, c), (r, c + 1)) if other in cells]
    factors = [Factor((cell,), np.exp(rng.normal(size=num_states))) for cell in cells.values()]
    shape = (num_states, num_states)
    return [*factors, *(Factor((cells[a], cells[b]), np.exp(rng.normal(size=shape))) for a, b in pairs)]


def spin_glass(side, seed):
    """Couplings of random size and sign on a square grid, whose cycles can't all be satisfied, and weak fields."""
    rng, cells = np.random.default_rng(seed), [factor.scope for factor in grid(side, seed)]
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return [Factor(scope, np.exp(rng.normal() * (signs if len(scope) == 2 else 0.1 * signs[0]))) for scope in cells]


def states_of(problem):
    """All assignments."""
    return [tuple(states) for states in product(*map(range, problem.sizes.tolist()))]


# --- flips ---


@settings(max_examples=24, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_scores_count_zeros_first_and_add_logarithms_then(seed):
    """Possible assignments score log Π φ; fewer zeros always score more."""
    _, problem = random_problem(seed)
    flips = FlipProblem.of(problem)
    ranked = []
    for states in states_of(problem):
        entries = [float(f.values[tuple(states[v] for v in problem.scope(n))]) for n, f in enumerate(problem.factors)]
        num_zeros = sum(entry == 0 for entry in entries)
        finite = sum(math.log(entry) for entry in entries if entry > 0)
        assert flips.num_zeros(states) == num_zeros
        assert flips.score(states) == pytest.approx(finite - flips.penalty * num_zeros)
        ranked.append(((-num_zeros, round(finite, 9)), flips.score(states)))
    scores = [score for _, score in sorted(ranked)]
    assert scores == pytest.approx(sorted(scores), abs=1e-8)


@settings(max_examples=24, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_deltas_are_differences_of_scores(seed):
    """Every flip of a random assignment, all from one pass, against scoring both ends."""
    _, problem = random_problem(seed)
    flips = FlipProblem.of(problem)
    state = flips.random_state(np.random.default_rng(seed))
    operators = flips.operators(state)
    assert len(operators) == sum(problem.sizes - 1)
    expected = [flips.score(flips.apply(state, operator)) - flips.score(state) for operator in operators]
    assert flips.deltas(state, operators) == pytest.approx(expected, abs=1e-8)


def test_a_flip_reverses_one_that_left_its_state():
    """Back to a state that was left, not on to a third one, and not of another variable."""
    flips = FlipProblem.of(random_problem(0)[1])
    assert flips.reverses(Flip(0, 1, 0), Flip(0, 0, 1))
    assert flips.reverses(Flip(0, 2, 0), Flip(0, 0, 1))
    assert not flips.reverses(Flip(0, 1, 2), Flip(0, 0, 1))
    assert not flips.reverses(Flip(1, 1, 0), Flip(0, 0, 1))


@settings(max_examples=24, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    steps=st.integers(0, 30),
    method=st.sampled_from([GreedyAscent, lambda **k: TabuSearch(3, 9, **k), lambda **k: TabuSearch(0, 4, **k)]),
)
def test_compiled_searches_take_the_same_steps_as_the_searches_they_stand_for(seed, steps, method):
    """After any number of steps both are in the same state with the same best one; without zeros there are no ties."""
    _, problem = random_problem(seed, num_variables=7, zeros=0.0)
    flips = FlipProblem.of(problem)
    start = flips.random_state(np.random.default_rng(seed))
    plain = method(max_steps=steps).run(flips, start)
    engine = LocalSearch(method(max_steps=steps))
    found = engine.run(problem, engine.init(problem, np.array(start)))
    assert (found.current, found.best, found.num_steps) == (plain.current, plain.best, plain.num_steps)
    assert (found.idle, found.stopped_by) == (plain.idle, plain.stopped_by)
    assert found.best_score == pytest.approx(plain.best_score, abs=1e-8)


def test_tabu_search_remembers_across_chunks(monkeypatch):
    """Chunks of three flips, with tabu lists longer than that, take the same steps as one chunk."""
    _, problem = random_problem(5, num_variables=9, zeros=0.0)
    engine = LocalSearch(TabuSearch(length=7, patience=40))
    whole = engine.run(problem)
    monkeypatch.setattr("plausible.inference.optimization.map_local_search._CHUNK", 3)
    pieces = engine.run(problem)
    assert (pieces.current, pieces.best, pieces.num_steps) == (whole.current, whole.best, whole.num_steps)


# --- local search ---


@pytest.mark.parametrize("method", SEARCHES, ids=lambda method: type(method).__name__)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_local_search_returns_a_local_maximum_with_an_honest_value(method, seed):
    """The value is that of the assignment, never above the maximum; after an ascent no single flip is better."""
    net, problem = random_problem(seed)
    found = LocalSearch(method, seed=seed).best(net.factors, NOTHING)
    weights = {tuple(sorted(a.items())): weight for a, weight in measure_of_markov_network(net)}
    used = {name for factor in net.factors for name in factor.names}
    states = {**{name: v.states[0] for name, v in net.variables.items() if name not in used}, **found}
    weight = weights[tuple(sorted(states.items()))]
    assert found.log_probability == pytest.approx(math.log(weight) if weight > 0 else -math.inf)
    assert not found.info.exact or weight == pytest.approx(largest(net))
    assert found.info.error is None or math.log(largest(net)) <= found.log_probability + found.info.error + 1e-9
    if isinstance(method, GreedyAscent | FirstAscent | BeamSearch) and weight > 0:
        for name in used:
            for state in net.variables[name].states:
                assert weights[tuple(sorted({**states, name: state}.items()))] <= weight * (1 + 1e-9)
    start = problem.log_scale + LocalSearch(method, seed).init(problem).score
    assert weight == 0 or found.log_probability >= start - 1e-9


def test_the_default_search_finds_the_maximum_of_small_models():
    """With restarts and evidence, zeros included: equal to enumeration on 99 of 100 models, never above."""
    found = []
    for seed in range(100):
        net, _ = random_problem(seed)
        evidence = random_evidence(np.random.default_rng(seed), net.variables, seed % 4)
        maximum = largest(net, evidence)
        if maximum > 0:
            best = LocalSearch().best(net.factors, Evidence.read(evidence, net.variables))
            assert best.log_probability <= math.log(maximum) + 1e-9
            found.append(best.log_probability >= math.log(maximum) - 1e-9)
    assert len(found) > 66
    assert np.mean(found) >= 0.99


def test_zeros_are_repaired_before_anything_else():
    """A chain of equalities with one pinned end: every other assignment has zeros, and the weights pull elsewhere."""
    names = [Variable(f"X{i}", 3) for i in range(30)]
    equal = [Factor((a, b), np.eye(3)) for a, b in pairwise(names)]
    pinned = Factor((names[0],), [0.0, 0.0, 1.0])
    pull = [Factor((name,), [1.0, 0.9, 1e-6]) for name in names]
    found = LocalSearch(TabuSearch(length=10, patience=3000)).best([*equal, pinned, *pull], NOTHING)
    assert set(found.values()) == {2}
    assert found.log_probability == pytest.approx(30 * math.log(1e-6))


def test_a_product_that_is_zero_everywhere_is_told():
    """Local search says that it found nothing, branch and bound that there is nothing."""
    a, b = Variable("A", 2), Variable("B", 2)
    factors = [Factor((a, b), np.eye(2)), Factor((a, b), 1 - np.eye(2))]
    found = LocalSearch().best(factors, NOTHING)
    assert found.log_probability == -math.inf
    assert not found.info.exact
    assert not found.info.converged
    assert "BranchAndBound" in found.info.advice
    with pytest.raises(ImpossibleEvidence):
        BranchAndBound().best(factors, NOTHING)
    for engine in (LocalSearch(), BranchAndBound()):
        with pytest.raises(ImpossibleEvidence):
            engine.best([Factor((a,), [0.0, 0.0])], NOTHING)


@pytest.mark.parametrize("method", SEARCHES, ids=lambda method: type(method).__name__)
def test_the_same_seed_gives_the_same_answer_and_interruptions_change_nothing(method, monkeypatch):
    """Whole runs agree; so does one that is stopped after each chunk, pickled, and resumed."""
    monkeypatch.setattr("plausible.inference.optimization.map_local_search._CHUNK", 50)
    problem = Problem.of(grid(5, 1), NOTHING)
    engine = LocalSearch(method, seed=4)
    whole = engine.run(problem)
    assert engine.run(problem).best == whole.best
    state = engine.run(problem, progress=lambda _: True)
    while state.stopped_by == "interrupted":
        state = engine.run(problem, pickle.loads(pickle.dumps(state)), progress=lambda _: True)
    assert (state.best, state.best_score, state.num_steps) == (whole.best, whole.best_score, whole.num_steps)
    stepped = engine.init(problem)
    while not stepped.stopped_by:
        stepped = engine.step(problem, stepped)
    assert stepped.best == whole.best


def test_annealing_beats_greedy_ascent_on_a_grid():
    """Slowly cooled, 200000 attempts on a 20x20 grid end higher than the nearest local maximum."""
    problem = Problem.of(grid(20, 3, num_states=3), NOTHING)
    slow = SimulatedAnnealing(ExponentialCooling(start=2, stop=0.05, factor=0.9, every=5000))
    assert LocalSearch(slow).run(problem).best_score > LocalSearch(GreedyAscent()).run(problem).best_score


@pytest.mark.parametrize("engine", [*map(LocalSearch, SEARCHES), BranchAndBound()], ids=repr)
def test_empty_observed_and_one_state_models(engine):
    """No variables at all; all observed; variables with one state only; parts that do not touch."""
    assert dict(engine.best([], NOTHING)) == {}
    coin, one, other = Variable("coin", 2), Variable("one", 1), Variable("other", 3)
    toss = Factor((coin,), [0.3, 0.7])
    seen = engine.best([toss], Evidence.read({"coin": 0}, {"coin": coin}))
    assert (dict(seen), seen.log_probability) == ({"coin": 0}, pytest.approx(math.log(0.3)))
    found = engine.best([toss, Factor((one,), [5.0]), Factor((one, other), [[1.0, 4.0, 2.0]])], NOTHING)
    assert dict(found) == {"coin": 1, "one": 0, "other": 1}
    assert found.log_probability == pytest.approx(math.log(0.7 * 5 * 4))
    assert found.info.exact


# --- branch and bound ---


@settings(max_examples=48, deadline=None)
@given(seed=st.integers(0, 10**6), max_entries=st.sampled_from([1, 4, 9, 30, 2**16]))
def test_branch_and_bound_equals_brute_force(seed, max_entries):
    """Value and proof, with tables of any size, zeros, one-state variables and separate parts."""
    net, _ = random_problem(seed, num_variables=6)
    found = BranchAndBound(max_entries=max_entries).best(net.factors, NOTHING)
    assert found.log_probability == pytest.approx(math.log(largest(net)))
    assert found.info.exact
    assert found.info.converged
    assert found.info.error == pytest.approx(0, abs=1e-9)


@settings(max_examples=24, deadline=None)
@given(seed=st.integers(0, 10**6), max_entries=st.sampled_from([1, 4, 9]))
def test_an_open_search_brackets_the_maximum(seed, max_entries):
    """Node by node: value <= maximum <= bound, and the bound never rises."""
    net, problem = random_problem(seed, num_variables=6)
    maximum = math.log(largest(net)) - problem.log_scale
    engine = BranchAndBound(max_entries=max_entries)
    state = engine.init(problem)
    upper = math.inf
    while not state.converged:
        state = pickle.loads(pickle.dumps(engine.step(problem, state, num_nodes=1)))
        assert state.value <= maximum + 1e-9
        assert maximum <= state.upper + 1e-9
        assert state.upper <= upper + 1e-9
        upper = state.upper
    assert state.value == pytest.approx(maximum, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_larger_tables_bound_more_tightly_until_the_bound_is_the_maximum(seed):
    """A 6x6 spin glass: every bound holds, the last is exact, and then the search walks straight to the maximum."""
    problem = Problem.of(spin_glass(6, seed), NOTHING)
    states = [BranchAndBound(max_entries=2**i).init(problem) for i in (2, 4, 6, 12)]
    maximum = BranchAndBound().run(problem).state.value
    assert all(state.upper >= maximum - 1e-9 for state in states)
    assert states[-1].upper == pytest.approx(maximum)
    assert states[0].upper > maximum + 1e-6
    straight = BranchAndBound(max_entries=2**12).step(problem, states[-1], num_nodes=37)
    assert straight.converged
    assert straight.num_nodes <= 36
    assert BranchAndBound(max_entries=2**4).run(problem).state.value == pytest.approx(maximum)


def test_without_time_the_answer_has_a_gap_that_holds():
    """A 12x12 grid with tiny tables: at once an assignment, a bound above it, and advice."""
    factors = grid(12, 2, num_states=3)
    hurried = BranchAndBound(max_entries=27, time_limit=0).best(factors, NOTHING)
    assert not hurried.info.exact
    assert not hurried.info.converged
    assert "max_entries" in hurried.info.advice
    exact = BranchAndBound(max_entries=3**12, time_limit=0).best(factors, NOTHING)
    assert hurried.log_probability <= exact.log_probability + exact.info.error
    assert exact.log_probability <= hurried.log_probability + hurried.info.error


def test_the_heuristic_bounds_every_completion():
    """Along random assignments: the bound of each prefix is at least the best completion, by enumeration."""
    rng = np.random.default_rng(0)
    scopes, sizes = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)], [2, 3, 2, 2]
    tables = [np.log(rng.random([sizes[v] for v in scope])) for scope in scopes]
    full = sum(
        table.transpose(np.argsort(scope)).reshape([sizes[v] if v in scope else 1 for v in range(4)])
        for scope, table in zip(scopes, tables, strict=True)
    )
    heuristic = mini_bucket_heuristic(scopes, tables, sizes, plan_bound(scopes, sizes, range(4), 6))
    for states in product(*map(range, sizes)):
        chosen, bound = [slice(None)] * 4, heuristic.upper
        for place, variable in enumerate(heuristic.order):
            chosen[variable] = states[variable]
            for sign, starts, members in (
                (1, heuristic.tables.added_starts, heuristic.tables.added),
                (-1, heuristic.tables.taken_starts, heuristic.tables.taken),
            ):
                for table in members[starts[place] : starts[place + 1]]:
                    span = slice(heuristic.tables.scope_starts[table], heuristic.tables.scope_starts[table + 1])
                    own = heuristic.order[heuristic.tables.scopes[span]]
                    cell = sum(s * states[v] for s, v in zip(heuristic.tables.strides[span], own, strict=True))
                    bound += sign * heuristic.entries(table)[int(cell)]
            assert bound >= full[tuple(chosen)].max() - 1e-9
        assert bound == pytest.approx(full[states])


# --- errors ---


@pytest.mark.parametrize(
    "make",
    [
        lambda: LocalSearch("tabu"),
        lambda: LocalSearch(TabuSearch),
        lambda: LocalSearch(seed=-1),
        lambda: BranchAndBound(max_entries=0),
        lambda: BranchAndBound(time_limit=-1),
        lambda: BranchAndBound(time_limit=math.nan),
    ],
)
def test_options_out_of_range_are_refused(make):
    """Each with an error that names the option."""
    with pytest.raises(InvalidArgument, match="must be"):
        make()


def test_numbers_are_refused_as_evidence():
    """Tables have states; what is continuous is a model's to integrate."""
    coin = Variable("coin", 2)
    evidence = Evidence({}, {}, {"x": 0.5})
    for engine in (LocalSearch(), BranchAndBound()):
        with pytest.raises(NotSupported):
            engine.best([Factor((coin,), [0.3, 0.7])], evidence)
