"""Belief propagation against full products by einsum: exact on forests, consistent with itself, bounds that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine_problems import full_product, random_tables
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP, MaxProduct, TreeReweightedBP
from plausible.variables import Evidence, Variable

NONE = Evidence.read({}, {})
SCHEDULES = ("sequential", "synchronous", "residual")


def factors_of(scopes, tables, sizes):
    variables = [Variable(f"v{number}", size) for number, size in enumerate(sizes)]
    return [
        Factor([variables[v] for v in scope], table) for scope, table in zip(scopes, tables, strict=True)
    ], variables


def random_forest(rng, num_factors=6):
    """Factors that each meet those before in at most one variable, and unary ones; all variables are in some."""
    sizes, scopes = [], []
    for _ in range(num_factors):
        fresh = list(range(len(sizes), len(sizes) + int(rng.integers(1, 3))))
        shared = [int(rng.integers(len(sizes)))] if sizes and rng.random() < 0.8 else []
        sizes += rng.integers(1, 4, len(fresh)).tolist()
        scopes.append(tuple(rng.permutation(fresh + shared).tolist()))
    scopes += [(v,) for v in range(len(sizes)) if rng.random() < 0.4]
    return [scopes[i] for i in rng.permutation(len(scopes))], tuple(sizes)


def random_loopy(rng, num_variables=5, num_factors=8, min_size=1):
    """Factors of up to three variables over all variables."""
    sizes = tuple(rng.integers(min_size, 4, num_variables).tolist())
    scopes = [(v,) for v in range(num_variables)]
    arities = rng.integers(2, 4, num_factors).tolist()
    scopes += [tuple(rng.choice(num_variables, arity, replace=False).tolist()) for arity in arities]
    return scopes, sizes


def grid(n, coupling, field, rng):
    """A binary grid whose pairs multiply by e^±coupling, the coupling as drawn."""
    variables = {(i, j): Variable(f"{i},{j}", 2) for i in range(n) for j in range(n)}
    factors = [Factor((v,), np.exp(field * rng.normal(size=2))) for v in variables.values()]
    pairs = [((i, j), (i + 1, j)) for i in range(n - 1) for j in range(n)]
    pairs += [((i, j), (i, j + 1)) for i in range(n) for j in range(n - 1)]
    for a, b in pairs:
        strength = coupling()
        factors.append(Factor((variables[a], variables[b]), np.exp([[strength, -strength], [-strength, strength]])))
    return factors, list(variables.values())


# --- forests ---


@pytest.mark.parametrize("engine", [*(LoopyBP(schedule=s) for s in SCHEDULES), TreeReweightedBP()], ids=repr)
def test_beliefs_and_totals_on_forests_are_exact(engine):
    """On a factor graph without cycles BP gives all marginals and log Z, and says that it is exact."""
    rng = np.random.default_rng(1)
    num_possible = 0
    for _ in range(20):
        scopes, sizes = random_forest(rng)
        tables = random_tables(scopes, sizes, rng, zeros=0.2)
        joint = full_product(scopes, tables, sizes)
        factors, variables = factors_of(scopes, tables, sizes)
        total = engine.log_total(factors, NONE)
        if joint.sum() == 0:
            assert total == total.upper == -math.inf
            with pytest.raises(ImpossibleEvidence):
                engine.marginals(factors, variables, NONE)
            continue
        num_possible += 1
        assert total == pytest.approx(math.log(joint.sum()), abs=1e-10)
        assert total.info.exact
        assert total.lower <= math.log(joint.sum()) <= total.upper <= total.lower + 1e-9
        groups = [(v,) for v in range(len(sizes))] + scopes
        beliefs = engine.joints(factors, [[variables[v] for v in group] for group in groups], NONE)
        for group, belief in zip(groups, beliefs, strict=True):
            expected = np.einsum(joint, list(range(len(sizes))), list(group)) / joint.sum()
            np.testing.assert_allclose(belief.values, expected, atol=1e-12)
            assert belief.info.exact
            assert belief.info.converged
    assert 7 < num_possible < 20


def test_a_sequential_round_makes_all_messages_of_a_forest_final():
    """The second round of a chain of a thousand variables changes nothing."""
    rng = np.random.default_rng(2)
    scopes = [(i, i + 1) for i in range(1000)]
    factors, _ = factors_of(scopes, rng.random((1000, 2, 2)) ** 3, [2] * 1001)
    info = LoopyBP().log_total(factors, NONE).info
    assert (info.num_steps, info.exact) == (2, True)
    assert info.residual < 1e-12


def test_numbers_too_small_for_floats_do_not_get_lost():
    """Messages of e^-2000 meet a factor that leaves no other state."""
    hub = Variable("hub", 2)
    factors = [Factor((hub,), [1.0, math.exp(-2)]) for _ in range(1000)]
    leaf = Variable("leaf", 2)
    factors += [Factor((hub, leaf), [[0.0, 1e-300], [0.25, 0.75]]), Factor((leaf,), [1.0, 0.0])]
    assert LoopyBP().log_total(factors, NONE) == pytest.approx(-2000 + math.log(0.25), abs=1e-9)
    np.testing.assert_allclose(LoopyBP().query(factors, [hub], NONE).values, [0, 1])


def test_variables_of_one_state_close_no_cycle():
    """Two factors over the same pair are a tree where one of the pair has a single state."""
    rng = np.random.default_rng(3)
    tables = [rng.random((3, 1)), rng.random((1, 3))]
    factors, _ = factors_of([(0, 1), (1, 0)], tables, [3, 1])
    total = LoopyBP().log_total(factors, NONE)
    assert total.info.exact
    assert total == pytest.approx(math.log((tables[0][:, 0] * tables[1][0]).sum()), abs=1e-12)


def test_factors_within_others_close_no_cycle():
    """A tree of pairs stays exact with further factors over the same pairs, in both orders, and with zeros."""
    rng = np.random.default_rng(13)
    for _ in range(20):
        sizes = tuple(rng.integers(1, 4, 6).tolist())
        tree = [(int(rng.integers(v)), v) for v in range(1, 6)] + [(0,), (5,)]
        scopes = [*tree, *(scope[::-1] for scope in tree if rng.random() < 0.7), (3,), tree[2]]
        tables = random_tables(scopes, sizes, rng, zeros=0.1)
        joint = full_product(scopes, tables, sizes)
        factors, variables = factors_of(scopes, tables, sizes)
        for engine in (LoopyBP(), LoopyBP(schedule="residual", damping=0.2), TreeReweightedBP()):
            total = engine.log_total(factors, NONE)
            assert total.info.exact
            if joint.sum() == 0:
                assert total == -math.inf
                continue
            assert total == pytest.approx(math.log(joint.sum()), abs=1e-9)
            belief = engine.query(factors, [variables[v] for v in scopes[1]], NONE).values
            expected = np.einsum(joint, range(6), scopes[1]) / joint.sum()
            np.testing.assert_allclose(belief, expected, atol=1e-9)


def test_pairs_within_triples_are_merged_into_them():
    """Two overlapping triples and all their pairs: without a cycle once merged, so exact."""
    rng = np.random.default_rng(14)
    scopes, sizes = [(2, 0, 1), (0, 1), (2, 1), (3, 2, 4), (4, 3), (2,)], (2, 3, 2, 2, 3)
    tables = [rng.random([sizes[v] for v in scope]) for scope in scopes]
    joint = full_product(scopes, tables, sizes)
    factors, _ = factors_of(scopes, tables, sizes)
    total = LoopyBP().log_total(factors, NONE)
    assert total.info.exact
    assert total == pytest.approx(math.log(joint.sum()), abs=1e-12)


def test_faint_messages_travel_a_forest_before_it_is_called_exact():
    """A synchronous run waits for a change far below its tolerance that the other end of a chain turns on."""
    end = np.array([1.0, 1e-40])
    scopes = [(i, i + 1) for i in range(6)]
    leak = np.array([[1.0, 1e-30], [1e-30, 1.0]])
    factors, variables = factors_of([*scopes, (0,), (6,)], [leak] * 6 + [end, end[::-1] * [1e-20, 1]], [2] * 7)
    expected = np.linalg.matrix_power(leak, 6)
    joint = end[:, None] * expected * (end[::-1] * [1e-20, 1])
    for schedule in SCHEDULES:
        belief = LoopyBP(schedule=schedule).query(factors, variables[:1], NONE)
        assert belief.info.exact
        np.testing.assert_allclose(belief.values, joint.sum(axis=1) / joint.sum(), rtol=1e-9)


# --- cycles ---


def test_settled_beliefs_agree_and_the_total_is_the_bethe_energy_of_the_beliefs():
    """At a fixed point factor beliefs have the variable beliefs as marginals, and log Z is energy plus entropy."""
    rng = np.random.default_rng(4)
    for _ in range(8):
        scopes, sizes = random_loopy(rng, min_size=2)
        scopes = list({tuple(sorted(scope)): scope for scope in scopes}.values())
        scopes = [a for a in scopes if len(a) == 1 or not any(set(a) < set(b) for b in scopes)]
        tables = [np.exp(0.5 * rng.normal(size=[sizes[v] for v in scope])) for scope in scopes]
        factors, variables = factors_of(scopes, tables, sizes)
        engine = LoopyBP(tolerance=1e-12)
        singles = engine.marginals(factors, variables, NONE)
        state = engine.run(Problem.of(factors, NONE)).state
        assert state.converged
        energy, entropy = 0.0, 0.0
        degrees = np.zeros(len(sizes))
        for scope, table in zip(scopes, tables, strict=True):
            belief = _belief_of(engine, factors, scope, variables)
            for axis, v in enumerate(scope):
                other = tuple(i for i in range(len(scope)) if i != axis)
                np.testing.assert_allclose(belief.sum(axis=other), singles[variables[v].name].values, atol=1e-9)
                degrees[v] += 1
            energy += (belief * np.log(table)).sum()
            entropy -= (belief * np.log(belief)).sum()
        for v, degree in enumerate(degrees):
            belief = singles[variables[v].name].values
            entropy += (degree - 1) * (belief * np.log(belief)).sum()
        assert engine.log_total(factors, NONE) == pytest.approx(energy + entropy, abs=1e-8)


def _belief_of(engine, factors, scope, variables):
    return engine.query(factors, [variables[v] for v in scope], NONE).values


def test_schedules_and_damping_reach_the_same_fixed_point_of_a_weakly_attractive_model():
    """Where the fixed point is unique, how it is reached does not matter."""
    factors, variables = grid(5, lambda: 0.2, 0.5, np.random.default_rng(5))
    reference = LoopyBP(tolerance=1e-12).marginals(factors, variables, NONE)
    for schedule in SCHEDULES:
        for damping in (0.0, 0.4):
            engine = LoopyBP(schedule=schedule, damping=damping, tolerance=1e-12)
            for name, belief in engine.marginals(factors, variables, NONE).items():
                assert belief.info.converged
                assert not belief.info.exact
                assert "damping=" not in belief.info.advice  # which is for those that do not settle
                np.testing.assert_allclose(belief.values, reference[name].values, atol=1e-10)


def test_a_frustrated_model_is_said_not_to_settle():
    """Strong couplings of random signs keep synchronous messages moving; the answer says so and what to try."""
    rng = np.random.default_rng(6)
    factors, variables = grid(5, lambda: 4.0 * rng.choice([-1, 1]), 0.3, rng)
    belief = LoopyBP(schedule="synchronous", max_steps=100).query(factors, variables[:1], NONE)
    assert not belief.info.converged
    assert not belief.info.exact
    assert belief.info.error is None
    assert belief.info.num_steps == 100
    assert belief.info.residual > 1e-8
    assert "damping=0.5" in belief.info.advice


# --- bounds ---


@pytest.mark.parametrize("max_steps", [1, 3, 300])
def test_reweighted_upper_bounds_hold_settled_or_not(max_steps):
    """log Z is never above the bound, for factors of up to three variables, zeros, and any number of rounds."""
    rng = np.random.default_rng(8)
    num_tight = 0
    for trial in range(40):
        scopes, sizes = random_loopy(rng)
        strength = rng.choice([0.3, 1.5, 4.0])
        tables = [np.exp(strength * rng.normal(size=[sizes[v] for v in scope])) for scope in scopes]
        tables = [table * (rng.random(table.shape) >= (0.1 if trial % 2 else 0.0)) for table in tables]
        joint = full_product(scopes, tables, sizes)
        factors, _ = factors_of(scopes, tables, sizes)
        engine = TreeReweightedBP(max_steps=max_steps, damping=0.3, seed=trial)
        found = engine.log_total(factors, NONE)
        truth = math.log(joint.sum()) if joint.sum() > 0 else -math.inf
        assert found.is_bound
        assert found.upper >= truth - 1e-12
        num_tight += found.upper - truth < 1.0
    assert num_tight > 20 or max_steps < 300


def test_the_reweighted_bound_of_a_settled_run_is_its_value():
    """What disagreement adds to the bound vanishes with the residual."""
    factors, _ = grid(4, lambda: 0.5, 0.5, np.random.default_rng(9))
    found = TreeReweightedBP(tolerance=1e-12).log_total(factors, NONE)
    assert found.info.converged
    assert found.upper == pytest.approx(float(found), abs=1e-8)
    assert found > LoopyBP().log_total(factors, NONE)


def test_max_product_on_forests_finds_a_best_assignment_despite_ties():
    """The value equals the largest entry of the joint, with tables of few different numbers and zeros."""
    rng = np.random.default_rng(10)
    for schedule in SCHEDULES:
        for _ in range(40):
            scopes, sizes = random_forest(rng)
            tables = [rng.integers(0, 3, [sizes[v] for v in scope]).astype(float) for scope in scopes]
            joint = full_product(scopes, tables, sizes)
            factors, _ = factors_of(scopes, tables, sizes)
            engine = MaxProduct(schedule=schedule)
            if joint.max() == 0:
                with pytest.raises(ImpossibleEvidence):
                    engine.best(factors, NONE)
                continue
            best = engine.best(factors, NONE)
            assert best.log_probability == pytest.approx(math.log(joint.max()), abs=1e-10)
            assert best.info.exact


@pytest.mark.parametrize("engine", [MaxProduct(damping=0.3), MaxProduct(max_steps=2), MaxProduct(reweighted=False)])
def test_max_product_never_claims_more_than_enumeration_proves(engine):
    """Value + gap is at least the best value of all; where the gap is closed the assignment is a best one."""
    rng = np.random.default_rng(11)
    num_proved = 0
    for trial in range(40):
        scopes, sizes = random_loopy(rng, num_factors=6)
        tables = [np.exp(rng.normal(size=[sizes[v] for v in scope])) for scope in scopes]
        tables = [table * (rng.random(table.shape) >= (0.1 if trial % 2 else 0.0)) for table in tables]
        joint = full_product(scopes, tables, sizes)
        factors, _ = factors_of(scopes, tables, sizes)
        if joint.max() == 0:
            continue
        best = engine.best(factors, NONE)
        truth = math.log(joint.max())
        assert best.log_probability <= truth + 1e-10
        if best.info.error is not None:
            assert best.log_probability + best.info.error >= truth - 1e-10
        if best.info.exact:
            num_proved += 1
            assert best.log_probability == pytest.approx(truth, abs=1e-8)
    assert num_proved > 5 or engine != MaxProduct(damping=0.3)


def test_max_product_keeps_its_best_assignment_and_its_lowest_bound():
    """Over the rounds of a frustrated grid value only rises and bound only falls; at the end no single change helps."""
    rng = np.random.default_rng(12)
    factors, _ = grid(8, lambda: 1.5 * rng.choice([-1, 1]), 0.6, rng)
    problem = Problem.of(factors, NONE)
    seen = []
    last = MaxProduct(damping=0.2).run(problem, progress=seen.append).state
    values, uppers = [state.value for state in seen], [state.upper for state in seen]
    assert values == sorted(values)
    assert uppers == sorted(uppers, reverse=True)
    assert last.value == pytest.approx(problem.log_product(last.states[None, :])[0], abs=1e-10)
    assert last.value <= last.upper + 1e-9
    flipped = np.where(np.eye(64, dtype=bool), 1 - last.states, last.states)
    assert problem.log_product(flipped).max() <= last.value + 1e-9


def test_max_product_stops_once_the_bound_is_met_or_nothing_improves():
    """An attractive grid is proved long before the messages settle; a frustrated one ends with a gap that is told."""
    rng = np.random.default_rng(15)
    easy, _ = grid(12, lambda: 0.3, 1.0, rng)
    proved = MaxProduct(tolerance=0.0).best(easy, NONE)
    assert proved.info.exact
    assert proved.info.num_steps < 300
    hard, _ = grid(12, lambda: 2.0 * rng.choice([-1, 1]), 0.2, rng)
    left = MaxProduct(tolerance=0.0).best(hard, NONE)
    assert left.info.num_steps < 300
    assert left.info.error > 0.1
    assert not left.info.exact
    assert "DualDecomposition" in left.info.advice


# --- questions at the edge ---


@pytest.mark.parametrize("engine", [LoopyBP(), LoopyBP(schedule="residual"), TreeReweightedBP()], ids=repr)
def test_nothing_to_infer_is_answered_exactly(engine):
    """With every variable observed, or without factors, the answers need no messages."""
    a, b = Variable("A", 2), Variable("B", 2)
    factors = [Factor((a, b), [[0.1, 0.2], [0.3, 0.4]])]
    evidence = Evidence.read({"A": 1, "B": 0}, {"A": a, "B": b})
    assert engine.log_total(factors, evidence) == pytest.approx(math.log(0.3))
    np.testing.assert_array_equal(engine.query(factors, [a], evidence).values, [0, 1])
    assert engine.log_total([], NONE) == 0.0
    assert dict(MaxProduct().best(factors, evidence)) == {"A": 1, "B": 0}


def test_groups_outside_every_factor_are_refused_with_a_remedy():
    a, b, c = (Variable(name, 2) for name in "ABC")
    factors = [Factor((a, b), [[1, 2], [3, 4]]), Factor((b, c), [[1, 2], [3, 4]])]
    with pytest.raises(NotSupported, match=r"'A', 'C'.*JunctionTree"):
        LoopyBP().query(factors, [a, c], NONE)
    joint = LoopyBP().query(factors, [c, b], NONE)
    np.testing.assert_allclose(joint.values, (np.array([[1, 2], [3, 4]]) * [[4], [6]]).T / 54, atol=1e-12)


def test_contradictions_that_messages_find_are_impossible_evidence():
    """A = B, B = C, A ≠ C with A known: no state is left."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    same, other = np.eye(2), 1 - np.eye(2)
    factors = [Factor((a, b), same), Factor((b, c), same), Factor((a, c), other), Factor((a,), [1, 0])]
    for engine in (LoopyBP(), TreeReweightedBP()):
        assert engine.log_total(factors, NONE).upper == -math.inf
        with pytest.raises(ImpossibleEvidence):
            engine.query(factors, [b], NONE)
    with pytest.raises(ImpossibleEvidence):
        MaxProduct().best(factors, NONE)


@pytest.mark.parametrize(
    ("options", "word"),
    [({"schedule": "random"}, "schedule"), ({"damping": 1.0}, "damping"), ({"tolerance": -1}, "tolerance")],
)
def test_options_out_of_range_are_refused(options, word):
    for engine in (LoopyBP, TreeReweightedBP, MaxProduct):
        with pytest.raises(InvalidArgument, match=word):
            engine(**options)
