"""Mean field: a bound that only rises, never passes log Z, and is tight where the model falls apart into the blocks."""

from __future__ import annotations

import gc
import math
import pickle
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_problems import full_product, problems, random_tables
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.problem import Problem
from plausible.inference.variational.mean_field import MeanField
from plausible.variables import Evidence, Variable, likelihood

NONE = Evidence.read({}, {})
SEEDS = st.integers(0, 2**16)


def factors_of(scopes, sizes, tables):
    """Factors over variables X0, X1 ... with these numbers."""
    variables = [Variable(f"X{place}", size) for place, size in enumerate(sizes)]
    return [Factor([variables[v] for v in scope], table) for scope, table in zip(scopes, tables, strict=True)]


def random_problem(problem, seed, zeros):
    """Factors over random scopes, and their full product by one einsum."""
    scopes, sizes = problem
    scopes = (*scopes, *((v,) for v in range(len(sizes))))  # every variable is in some factor
    tables = [table + (zeros == 0) * 1e-3 for table in random_tables(scopes, sizes, seed, zeros)]
    return factors_of(scopes, sizes, tables), full_product(scopes, tables, sizes)


def random_blocks(seed, num_variables):
    """The variables shared out at random among a few blocks."""
    owners = np.random.default_rng(seed).integers(0, 3, num_variables)
    return [[f"X{place}" for place in np.flatnonzero(owners == block)] for block in range(3)]


def chain_of(length, rng, names="X{}", size=2):
    """Ties along a chain, and a weight for each state."""
    variables = [Variable(names.format(place), size) for place in range(length)]
    ties = [Factor(pair, rng.random((size, size)) + 0.1) for pair in pairwise(variables)]
    return variables, [*ties, *(Factor((v,), rng.random(size) + 0.1) for v in variables)]


def states_of(engine, problem):
    """The states of a run, the first left out."""
    trace = []
    engine.run(problem, progress=trace.append)
    return trace


# --- the bound ---


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@settings(max_examples=24, deadline=None)
@given(problem=problems(max_variables=6), seed=SEEDS, structured=st.booleans())
def test_energy_is_a_lower_bound_that_never_falls(zeros, problem, seed, structured):
    """F[q] <= log Z for naive and structured beliefs, with zeros and without, and F rises with every step."""
    factors, joint = random_problem(problem, seed, zeros)
    blocks = random_blocks(seed, len(problem[1])) if structured else None
    engine = MeanField(blocks=blocks, max_steps=60, seed=seed)
    total = joint.sum()
    found = engine.log_total(factors, NONE)
    if total == 0:
        assert found == -math.inf
        assert found.upper == -math.inf
        return
    assert -math.inf < found <= math.log(total) + 1e-9
    assert found - 1e-9 <= found.lower <= math.log(total)
    assert found.is_bound
    energies = [state.energy for state in states_of(engine, Problem.of(factors, NONE))]
    assert all(after >= before - 1e-9 for before, after in pairwise(energies))


@settings(max_examples=12, deadline=None)
@given(problem=problems(max_variables=6), seed=SEEDS)
def test_energy_equals_its_definition(problem, seed):
    """F[q] = Σ E_q[log φ] + H(q), added up over the full joint q of the reported beliefs."""
    factors, joint = random_problem(problem, seed, 0.2)
    if joint.sum() == 0:
        return
    engine = MeanField(blocks=random_blocks(seed, len(problem[1])), seed=seed)
    order = [Variable(f"X{place}", size) for place, size in enumerate(problem[1])]
    q = engine.query(factors, order, NONE).values
    assert q.sum() == pytest.approx(1)
    inside = q > 1e-300
    assert (joint[inside] > 0).all()
    energy = float((q[inside] * (np.log(joint[inside]) - np.log(q[inside]))).sum())
    assert engine.log_total(factors, NONE) == pytest.approx(energy, abs=1e-6)


@settings(max_examples=16, deadline=None)
@given(problem=problems(max_variables=6), seed=SEEDS)
def test_one_block_with_everything_is_exact(problem, seed):
    """With all variables in one block, F = log Z and the belief is the normalised product."""
    factors, joint = random_problem(problem, seed, 0.2)
    everything = MeanField(blocks=[[f"X{place}" for place in range(len(problem[1]))]])
    order = [Variable(f"X{place}", size) for place, size in enumerate(problem[1])]
    if joint.sum() == 0:
        with pytest.raises(ImpossibleEvidence):
            everything.query(factors, order, NONE)
        return
    estimate = everything.log_total(factors, NONE)
    assert estimate == pytest.approx(math.log(joint.sum()), abs=1e-9)
    assert estimate.lower <= math.log(joint.sum()) <= estimate.upper <= estimate.lower + 1e-9
    answer = everything.query(factors, order, NONE)
    np.testing.assert_allclose(answer.values, joint / joint.sum(), atol=1e-12)
    assert answer.info.exact
    assert answer.info.error == 0


def test_blocks_that_no_factor_ties_are_exact():
    """A model that factorises over the blocks is answered exactly, and the answer says so."""
    rng = np.random.default_rng(1)
    first, ties = chain_of(4, rng, "A{}", 3)
    second, more = chain_of(3, rng, "B{}")
    scopes = [[0, 1], [1, 2], [2, 3], [0], [1], [2], [3], [4, 5], [5, 6], [4], [5], [6]]
    joint = full_product(scopes, [f.values for f in (*ties, *more)], (3, 3, 3, 3, 2, 2, 2))
    engine = MeanField(blocks=[[v.name for v in first], [v.name for v in second]])
    found = engine.query([*ties, *more], [second[2], first[3], first[0]], NONE)
    expected = joint.sum(axis=(1, 2, 4, 5)).transpose(2, 1, 0) / joint.sum()
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert found.info.exact
    assert engine.log_total([*ties, *more], NONE) == pytest.approx(math.log(joint.sum()))


def test_variables_that_stand_alone_in_the_model_are_exact():
    """Without ties naive mean field is exact after one step."""
    factors = [Factor({"A": 3}, [1, 2, 3]), Factor({"A": 3}, [1, 0, 1]), Factor({"B": 2}, [5, 5])]
    answer = MeanField().query(factors, factors[0].scope, NONE)
    np.testing.assert_allclose(answer.values, [0.25, 0, 0.75])
    assert answer.info.exact
    assert MeanField().log_total(factors, NONE) == pytest.approx(math.log(40))


@pytest.mark.parametrize("seed", range(3))
def test_larger_blocks_raise_the_best_bound(seed):
    """On a grid, rows kept whole bound log Z at least as well as single variables; the optimum of a larger family."""
    rng = np.random.default_rng(seed)
    cells = {(r, c): Variable(f"{r},{c}", 2) for r in range(3) for c in range(4)}
    edges = [(a, b) for a in cells for b in cells if (b[0] - a[0], b[1] - a[1]) in ((0, 1), (1, 0))]
    factors = [Factor((cells[a], cells[b]), np.exp(rng.normal(size=(2, 2)))) for a, b in edges]
    rows = [[cells[r, c].name for c in range(4)] for r in range(3)]
    numbers = {cell: place for place, cell in enumerate(cells)}
    log_z = math.log(
        full_product([(numbers[a], numbers[b]) for a, b in edges], [f.values for f in factors], (2,) * 12).sum()
    )
    naive = MeanField(restarts=4, seed=seed).log_total(factors, NONE)
    structured = MeanField(blocks=rows, restarts=4, seed=seed).log_total(factors, NONE)
    assert naive <= structured + 1e-7
    assert structured <= log_z + 1e-9
    assert "structured" in structured.info.engine


def test_fixed_point_meets_the_mean_field_equations():
    """At the end each q_i ∝ exp E_{q_-i}[log Π φ], worked out over the full joint (Koller & Friedman, theorem 11.9)."""
    rng = np.random.default_rng(3)
    scopes, sizes = ((0, 1), (1, 2), (0, 2), (2, 3, 0)), (2, 3, 2, 2)
    tables = [rng.random([sizes[v] for v in scope]) + 0.2 for scope in scopes]
    factors = factors_of(scopes, sizes, tables)
    order = [Variable(f"X{v}", size) for v, size in enumerate(sizes)]
    q = [belief.values for belief in MeanField(tolerance=1e-12).marginals(factors, order, NONE).values()]
    logs = np.log(full_product(scopes, tables, sizes))
    for place in range(4):
        others = [np.ones(size) if v == place else q[v] for v, size in enumerate(sizes)]
        logs_given = np.einsum("abcd,a,b,c,d->" + "abcd"[place], logs, *others)
        expected = np.exp(logs_given)
        np.testing.assert_allclose(q[place], expected / expected.sum(), atol=1e-9)


# --- zeros ---


def test_deterministic_ties_keep_the_belief_inside_the_support():
    """Exclusive or: any product belief in the support fixes two of the three variables."""
    table = np.fromfunction(lambda a, b, c: (a + b + c) % 2 == 0, (2, 2, 2)).astype(float)
    gate = Factor({"A": 2, "B": 2, "C": 2}, table)
    engine = MeanField(restarts=3)
    joint = engine.query([gate], gate.scope, NONE).values
    assert (joint[table == 0] == 0).all()
    assert engine.log_total([gate], NONE) <= math.log(4)
    whole = MeanField(blocks=[["A", "B"]]).query([gate], gate.scope, NONE).values
    assert (whole[table == 0] == 0).all()


def test_contradiction_between_factors_is_impossible_evidence():
    """Factors that rule each other out are found, between single variables and between blocks."""
    same, other = np.eye(2), 1 - np.eye(2)
    factors = [Factor({"A": 2, "B": 2}, same), Factor({"A": 2, "B": 2}, other), Factor({"B": 2, "C": 2}, same)]
    for blocks in (None, [["A", "B"]], [["B", "C"]]):
        engine = MeanField(blocks=blocks)
        assert engine.log_total(factors, NONE) == -math.inf
        with pytest.raises(ImpossibleEvidence):
            engine.query(factors, factors[0].scope[:1], NONE)
    alone = [Factor({"A": 2}, [1, 0]), Factor({"A": 2}, [0, 1])]
    assert MeanField().log_total(alone, NONE) == -math.inf


def test_dense_constraints_are_met_by_backtracking():
    """Hard constraints whose clique tree is beyond all bounds: no two of 40 variables may both be 1."""
    variables = [Variable(f"X{place}", 2) for place in range(40)]
    hard = np.array([[1.0, 1.0], [1.0, 0.0]])
    factors = [Factor((a, b), hard) for place, a in enumerate(variables) for b in variables[:place]]
    for seed in range(2):
        engine = MeanField(seed=seed)
        state = engine.run(Problem.of(factors, NONE)).state.beliefs.reshape(-1, 2)
        assert (state[:, 1] > 0).sum() <= 1  # two such variables could both be 1
        assert 0 <= engine.log_total(factors, NONE) <= math.log(41) + 1e-12


def test_too_many_zeros_to_search_are_said_to_be_so():
    """Twenty pigeons in 19 holes: neither a clique tree nor backtracking comes to an end; the error says what to do."""
    variables = [Variable(f"X{place}", 19) for place in range(20)]
    factors = [Factor((a, b), 1 - np.eye(19)) for place, a in enumerate(variables) for b in variables[:place]]
    with pytest.raises(NotSupported, match="blocks="):
        MeanField().query(factors, variables[:1], NONE)


def test_backtracking_proves_contradictions():
    """Too many pigeons, few enough to try all ways, beside a tree that is too large: the evidence is impossible."""
    pigeons = [Variable(f"P{place}", 3) for place in range(4)]
    factors = [Factor((a, b), 1 - np.eye(3)) for place, a in enumerate(pigeons) for b in pigeons[:place]]
    others = [Variable(f"X{place}", 2) for place in range(40)]
    loose = np.array([[1.0, 1.0], [1.0, 0.0]])
    factors += [Factor((a, b), loose) for place, a in enumerate(others) for b in others[:place]]
    assert MeanField().log_total(factors, NONE) == -math.inf


def test_huge_ratios_neither_overflow_nor_vanish():
    """Potentials of e^±2000 are kept as logarithms."""
    low = np.exp(-700.0)
    ties = [Factor({"A": 2, "B": 2}, [[1, low], [low, 1]])] * 3
    ties += [Factor({"B": 2, "C": 2}, [[1, low], [low, 1]])] * 3 + [Factor({"A": 2}, [0.0, 1.0])]
    found = MeanField(blocks=[["A", "B"]]).log_total(ties, NONE)
    assert found == pytest.approx(0, abs=1e-9)
    answer = MeanField(blocks=[["A", "B"]]).query(ties, ties[3].scope, NONE)
    np.testing.assert_allclose(answer.values, [[0, 0], [0, 1]], atol=1e-12)


# --- degenerate problems ---


@pytest.mark.parametrize("blocks", [None, [["A", "B"]], [["A"], ["B"]], [[]]])
def test_nothing_to_believe(blocks):
    """With everything observed log Z is the product itself."""
    tie = Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]])
    evidence = Evidence.read({"A": 1, "B": 1}, {v.name: v for v in tie.scope})
    estimate = MeanField(blocks=blocks).log_total([tie], evidence)
    assert estimate == pytest.approx(math.log(4))
    answer = MeanField(blocks=blocks).query([tie], tie.scope, evidence)
    np.testing.assert_array_equal(answer.values, [[0, 0], [0, 1]])
    assert MeanField(blocks=blocks).log_total([], NONE) == 0


def test_one_state_and_observed_variables_in_blocks():
    """Blocks may name what is observed or has one state only."""
    ties = [
        Factor({"A": 2, "B": 1}, [[1], [3]]),
        Factor({"B": 1, "C": 2}, [[1, 4]]),
        Factor({"C": 2, "A": 2}, [[1, 2]] * 2),
    ]
    variables = {v.name: v for tie in ties for v in tie.scope}
    evidence = Evidence.read({"C": 1}, variables)
    for blocks in (None, [["A", "C"]], [["A", "B", "C", "unknown"]]):
        answer = MeanField(blocks=blocks).query(ties, [variables["A"], variables["B"]], evidence)
        np.testing.assert_allclose(answer.values, [[1 / 7], [6 / 7]], atol=1e-9)


def test_likelihoods_enter_the_blocks():
    """Virtual evidence multiplies the product, inside a block and outside."""
    tie = Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]])
    variables = {v.name: v for v in tie.scope}
    evidence = Evidence.read({"B": likelihood([0.5, 0.25])}, variables)
    found = MeanField(blocks=[["A", "B"]]).query([tie], [variables["A"]], evidence)
    np.testing.assert_allclose(found.values, [1 / 3.5, 2.5 / 3.5])


def test_factors_whose_axes_are_not_in_order_meet_the_right_pieces():
    """A factor that shares two variables, in any order, with a block: the belief of the pair is used, not a product."""
    rng = np.random.default_rng(7)
    scopes, sizes = ((2, 0, 1), (1, 3, 0), (3, 2)), (2, 3, 2, 2)
    tables = [rng.random([sizes[v] for v in scope]) + 0.05 for scope in scopes]
    factors = factors_of(scopes, sizes, tables)
    order = [Variable(f"X{v}", size) for v, size in enumerate(sizes)]
    engine = MeanField(blocks=[["X1", "X0"], ["X2", "X3"]], tolerance=1e-12)
    q = engine.query(factors, order, NONE).values
    left, right = q.sum(axis=(2, 3)), q.sum(axis=(0, 1))
    np.testing.assert_allclose(q, np.multiply.outer(left, right), atol=1e-12)
    logs = np.log(full_product(scopes, tables, sizes))
    best = np.exp(np.einsum("abcd,cd->ab", logs, right))
    np.testing.assert_allclose(left, best / best.sum(), atol=1e-9)


# --- runs ---


def test_stopping_early_is_said_and_restarts_never_lower_the_bound():
    """One step does not converge here, and says what to do; more restarts contain the fewer."""
    rng = np.random.default_rng(5)
    variables = [Variable(f"X{place}", 2) for place in range(8)]
    ties = [Factor((a, b), np.exp(2 * rng.normal(size=(2, 2)))) for n, a in enumerate(variables) for b in variables[:n]]
    short = MeanField(max_steps=1).query(ties, variables[:1], NONE).info
    assert not short.converged
    assert not short.exact
    assert short.error is None
    assert "max_steps" in short.advice
    bounds = [MeanField(restarts=count).log_total(ties, NONE) for count in (0, 2, 8)]
    assert bounds == sorted(bounds)
    assert MeanField(seed=4).log_total(ties, NONE) == MeanField(seed=4).log_total(ties, NONE)


def test_strong_symmetric_ties_break_the_symmetry():
    """Naive mean field does not stay at the uniform saddle point of an attractive model."""
    strong = [Factor({a: 2, b: 2}, [[20, 1], [1, 20]]) for a, b in ("AB", "BC", "CD", "DA")]
    found = MeanField().log_total(strong, NONE)
    uniform = 4 * math.log(2) + 4 * math.log(20) / 2
    assert found > uniform + 0.5


def test_long_chains_stay_whole():
    """Two chains of 300 variables, tied at one place: blocks cost what their cliques cost, not a joint table."""
    rng = np.random.default_rng(2)
    first, ties = chain_of(300, rng, "A{}")
    second, more = chain_of(300, rng, "B{}")
    tie = Factor((first[0], second[0]), [[1.0, 0.9], [0.9, 1.0]])
    engine = MeanField(blocks=[[v.name for v in first], [v.name for v in second]])
    bound = engine.log_total([*ties, *more, tie], NONE)
    log_z = _chain_log_z([*ties, *more, tie], first, second)
    assert log_z - 0.01 < bound <= log_z + 1e-9


def _chain_log_z(factors, first, second):
    """log Z of two chains tied at their heads, by products of transfer matrices."""
    by_scope = {tuple(f.names): f.values for f in factors}
    log_scale, heads = 0.0, []
    for chain in (first, second):
        message = by_scope[chain[-1].name,]
        for a, b in reversed(list(pairwise(chain))):
            message = by_scope[a.name,] * (by_scope[a.name, b.name] @ message)
            log_scale += math.log(message.max())
            message = message / message.max()
        heads.append(message)
    return log_scale + math.log(heads[0] @ by_scope[first[0].name, second[0].name] @ heads[1])


def test_an_answer_holds_no_problem_alive():
    """Once the answers are dropped, so are the tables of the problem."""
    _, factors = chain_of(5, np.random.default_rng(4))
    problem = Problem.of(factors, NONE)
    tables = weakref.ref(problem.tables)
    assert np.isfinite(MeanField().estimate(problem))
    del problem
    gc.collect()
    assert tables() is None


# --- options ---


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blocks": ["A", "B"]}, "groups of names"),
        ({"blocks": "AB"}, "groups of names"),
        ({"blocks": [["A"], ["A", "B"]]}, "'A' stands twice"),
        ({"blocks": [[1, 2]]}, "names of variables"),
        ({"restarts": -1}, "restarts=-1"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"tolerance": -1.0}, "tolerance=-1.0"),
        ({"tolerance": math.nan}, "tolerance=nan"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    """The error names the option."""
    with pytest.raises(InvalidArgument, match=words):
        MeanField(**options)


def test_engine_is_a_value():
    """Equal options make equal engines, which can be pickled and used as keys."""
    engine = MeanField(blocks=[["A", "B"], ["C"]], seed=3)
    assert engine == MeanField(blocks=(("A", "B"), ("C",)), seed=3)
    assert hash(engine) == hash(pickle.loads(pickle.dumps(engine)))
    assert engine.mentioned == ("A", "B", "C")
