"""Generalised additive independence: projections, canonical parts, lotteries, best outcomes, fits."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import errors
from plausible.examples.library import prenatal_utility
from plausible.utilities.attributes.additive import (
    cai_map,
    canonical_decomposition,
    compare_lotteries,
    conditional_additive_independence,
    generalized_additive_independence,
)
from plausible.utilities.attributes.additive_utility import AdditiveUtility, utility_basis
from plausible.utilities.attributes.fitting import fit_additive_utility

SEEDS = st.integers(0, 10**6)
NAMES = "ABCD"


def _scopes(rng, num_scopes=3):
    return [tuple(map(str, rng.permutation(list(NAMES))[: rng.integers(0, 4)])) for _ in range(num_scopes)]


def _indicators(shape, scopes):
    """One column for each z_i of each scope: what U must be a combination of."""
    cells = np.indices(shape).reshape(len(shape), -1)
    columns = [np.ones((cells.shape[1], 1))]
    for scope in scopes:
        axes = [NAMES.index(name) for name in scope]
        if axes:
            key = np.ravel_multi_index(cells[axes], [shape[axis] for axis in axes])
            columns.append(np.equal.outer(key, np.unique(key)).astype(float))
    return np.hstack(columns)


def _utility(rng, shape, scopes=None):
    values = rng.normal(size=shape)
    if scopes is not None:
        design = _indicators(shape, scopes)
        values = (design @ rng.normal(size=design.shape[1])).reshape(shape)
    return pb.Factor(dict(zip(NAMES, shape, strict=True)), values)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, shape=st.lists(st.integers(1, 3), min_size=4, max_size=4), is_sum=st.booleans())
def test_gai_is_membership_in_the_span_of_indicators(seed, shape, is_sum):
    """Least squares on explicit indicator columns gives the same projection, rank and answer."""
    rng = np.random.default_rng(seed)
    scopes = _scopes(rng)
    utility = _utility(rng, shape, scopes if is_sum else None)
    answer = generalized_additive_independence(utility, scopes)
    design = _indicators(shape, scopes)
    nearest = design @ np.linalg.lstsq(design, utility.flat, rcond=None)[0]
    assert answer.num_free_parameters == np.linalg.matrix_rank(design)
    assert answer.utility.num_free_parameters == answer.num_free_parameters
    assert answer.utility.table().flat == pytest.approx(nearest, abs=1e-8)
    assert answer.deviation == pytest.approx(np.abs(utility.flat - nearest).max(), abs=1e-8)
    assert answer.holds == (answer.deviation < 1e-9 * max(np.ptp(utility.flat), 1e-5))
    if not answer.holds:
        lotteries = []
        for side in (answer.witness.first, answer.witness.second):
            table = np.zeros(shape)
            for outcome, weight in side:
                table[tuple(int(outcome[name]) for name in NAMES)] += weight
            lotteries.append(pb.Factor(utility.scope, table))
        assert compare_lotteries(*lotteries, [s for s in scopes if s] or [()], tolerance=1e-7).is_indifferent
        worth = [float((lottery.values * utility.values).sum()) for lottery in lotteries]
        assert worth[0] - worth[1] == pytest.approx(answer.witness.difference)
        assert answer.witness.difference > 0


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, shape=st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_the_canonical_decomposition_reproduces_a_sum_from_any_reference(seed, shape):
    """And it looks only at outcomes that differ from the reference within one scope."""
    rng = np.random.default_rng(seed)
    scopes = _scopes(rng)
    utility = _utility(rng, shape, scopes)
    reference = {name: int(rng.integers(size)) for name, size in zip(NAMES, shape, strict=True)}
    parts = canonical_decomposition(utility, scopes, reference)
    assert parts.table().values == pytest.approx(utility.values, abs=1e-9)
    cells = np.indices(shape)
    seen = np.zeros(shape, dtype=bool)
    for scope in scopes:
        others = [axis for axis, name in enumerate(NAMES) if name not in scope]
        seen |= np.all([cells[axis] == reference[NAMES[axis]] for axis in others], axis=0) if others else True
    blurred = pb.Factor(utility.scope, np.where(seen, utility.values, rng.normal(size=shape)))
    for one, two in zip(canonical_decomposition(blurred, scopes, reference).parts, parts.parts, strict=True):
        assert one.is_close(two)


def test_inclusion_and_exclusion_by_the_formula_of_fishburn():
    """U = Σ_j (-1)^{j+1} Σ_{i1 < ... < ij} U(x on the intersection, reference elsewhere)."""
    rng = np.random.default_rng(5)
    scopes = [("A", "B"), ("B", "C"), ("A", "C", "D")]
    utility = _utility(rng, (2, 3, 2, 2), scopes)
    total = np.zeros(utility.shape)
    cells = np.indices(utility.shape)
    for size in range(1, 4):
        for chosen in itertools.combinations(scopes, size):
            shared = set.intersection(*map(set, chosen))
            index = tuple(cells[axis] if name in shared else 0 * cells[axis] for axis, name in enumerate(NAMES))
            total += (-1) ** (size + 1) * utility.values[index]
    assert canonical_decomposition(utility, scopes).table().values == pytest.approx(total)


def test_the_triangle_is_gai_and_has_no_conditional_additive_independence():
    """U1(X, Y) + U2(Y, Z) + U3(X, Z): finer than its graph, which is complete."""
    rng = np.random.default_rng(2)
    parts = [pb.Factor({a: 2, b: 2}, rng.normal(size=(2, 2))) for a, b in ("XY", "YZ", "XZ")]
    utility = AdditiveUtility(parts).table()
    assert generalized_additive_independence(utility, [("X", "Y"), ("Y", "Z"), ("X", "Z")]).num_free_parameters == 7
    assert cai_map(utility).graph.num_edges == 3
    assert not any(conditional_additive_independence(utility, a, b).holds for a, b in ("XY", "YZ", "XZ"))


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, is_sum=st.booleans())
def test_ga_independence_of_two_overlapping_scopes_is_ca_independence(seed, is_sum):
    """Exercise 22.6: {X, Z}, {Y, Z} are GA-independent iff X, Y are CA-independent given Z."""
    rng = np.random.default_rng(seed)
    scopes = [("A", "C", "D"), ("B", "C", "D")]
    utility = _utility(rng, (2, 2, 2, 1), scopes if is_sum else None)
    ca = conditional_additive_independence(utility, "A", "B").holds
    assert generalized_additive_independence(utility, scopes).holds == ca == is_sum


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS)
def test_expected_utility_needs_marginals_only(seed):
    """A joint, the marginals on the scopes, and a Bayesian network with evidence: all as by the full sum."""
    rng = np.random.default_rng(seed)
    tables = [rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3), size=2), rng.dirichlet(np.ones(2), size=3)]
    net = pb.BayesianNetwork(
        pb.TableCPD("A", tables[0]),
        pb.TableCPD("B", tables[1], parents=["A"], states=3),
        pb.TableCPD("C", tables[2], parents=["B"]),
    )
    joint = np.einsum("a,ab,bc->abc", *tables)
    scope = [net.variables[name] for name in "ABC"]
    parts = [
        pb.Factor([scope[0], scope[2]], rng.normal(size=(2, 2))),
        pb.Factor([scope[1]], rng.normal(size=3)),
        pb.Factor.scalar(1.5),
    ]
    utility = AdditiveUtility(parts, variables=scope)
    worth = parts[0].values[:, None, :] + parts[1].values[None, :, None] + 1.5
    assert utility.expected_utility(net) == pytest.approx((joint * worth).sum())
    assert utility.expected_utility(pb.Factor(scope, joint)) == pytest.approx((joint * worth).sum())
    marginals = [pb.Factor([scope[2], scope[0]], joint.sum(axis=1).T), pb.Factor([scope[1]], joint.sum(axis=(0, 2)))]
    assert utility.expected_utility(marginals) == pytest.approx((joint * worth).sum())
    given_c = joint[:, :, 1] / joint[:, :, 1].sum()
    assert utility.expected_utility(net, evidence={"C": 1}) == pytest.approx((given_c * worth[:, :, 1]).sum())
    with pytest.raises(errors.InvalidArgument, match="No marginal"):
        utility.expected_utility(marginals[:1])
    with pytest.raises(errors.InvalidArgument, match="evidence="):
        utility.expected_utility(pb.Factor(scope, joint), evidence={"C": 1})


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, shape=st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_the_best_outcome_is_the_largest_entry_of_the_table(seed, shape):
    """With and without evidence; utilities of any size; ties give one of the best."""
    rng = np.random.default_rng(seed)
    variables = [pb.Variable(name, size) for name, size in zip(NAMES, shape, strict=True)]
    parts = []
    for scope in _scopes(rng):
        chosen = [variable for variable in variables if variable.name in scope]
        parts.append(pb.Factor(chosen, 1e5 * rng.integers(-3, 4, size=[v.num_states for v in chosen])))
    utility = AdditiveUtility(parts, variables=variables)
    best = utility.best()
    assert best.utility == utility.table().max() == utility[best.outcome]
    known = {"B": int(rng.integers(shape[1]))}
    assert utility.best(known).utility == utility.table().reduce(known).max()
    assert utility.best(known).outcome["B"] == known["B"]


def test_a_long_chain_is_maximised_without_its_table():
    """Sixty attributes: by the dynamic programme of the chain, and by the most probable state of exp(U)."""
    rng = np.random.default_rng(4)
    tables = rng.normal(size=(59, 3, 3))
    chain = AdditiveUtility(pb.Factor({f"V{i}": 3, f"V{i + 1}": 3}, table) for i, table in enumerate(tables))
    ahead = np.zeros(3)
    for table in tables[::-1]:
        ahead = (table + ahead).max(axis=1)
    best = chain.best()
    assert best.utility == pytest.approx(ahead.max())
    assert dict(chain.gibbs_network().mpe()) == dict(best.outcome)
    assert chain.num_outcomes == 3**60
    assert chain.num_free_parameters == 1 + 60 * 2 + 59 * 4
    with pytest.raises(errors.TooLarge):
        chain.table()


def test_the_value_of_parts_is_checked_and_compared():
    """Parts are finite factors; equality is by content, closeness by what they sum to."""
    with pytest.raises(errors.InvalidFactor, match="not finite"):
        AdditiveUtility([pb.Factor({"A": 2}, [0.0, -np.inf])])
    one = AdditiveUtility([pb.Factor({"A": 2}, [0.0, 1.0]), pb.Factor({"B": 2}, [0.0, 1.0])])
    other = AdditiveUtility([pb.Factor({"A": 2}, [5.0, 6.0]), pb.Factor({"B": 2}, [-5.0, -4.0])])
    assert one != other
    assert one.is_close(other)
    assert hash(one) == hash(AdditiveUtility(one.parts))
    with pytest.raises(errors.UnknownVariable, match="'Z'"):
        one.best({"Z": 1})
    with pytest.raises(errors.InvalidArgument, match="at least one scope"):
        generalized_additive_independence(one.table(), [])
    with pytest.raises(errors.InvalidArgument, match="sum to one"):
        compare_lotteries(pb.Factor({"A": 2}, [1, 1]), pb.Factor({"A": 2}, [0.5, 0.5]), ["A"])


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, num_answers=st.integers(1, 30))
def test_the_fit_is_weighted_least_squares_and_says_what_the_answers_leave_open(seed, num_answers):
    """Against least squares on indicator columns: fitted values, rank; free directions change no answer."""
    rng = np.random.default_rng(seed)
    shape, scopes = (2, 3, 2, 2), [("A", "B"), ("B", "C"), ("D",)]
    rows = np.array([rng.integers(size, size=num_answers) for size in shape])
    values, weights = rng.normal(size=num_answers), rng.uniform(0.5, 2.0, size=num_answers)
    frame = {name: rows[axis] for axis, name in enumerate(NAMES)}
    fit = fit_additive_utility(frame, values, scopes, dict(zip(NAMES, shape, strict=True)), weights)
    cells = np.ravel_multi_index(rows, shape)
    design = _indicators(shape, scopes)[cells]
    root = np.sqrt(weights)
    oracle = design @ np.linalg.lstsq(design * root[:, None], values * root, rcond=None)[0]
    assert values - fit.residuals == pytest.approx(oracle, abs=1e-8)
    assert fit.utility.table().flat[cells] == pytest.approx(oracle, abs=1e-8)
    assert fit.num_identified == np.linalg.matrix_rank(design)
    assert fit.num_free_parameters == np.linalg.matrix_rank(_indicators(shape, scopes))
    for direction in fit.unidentified:
        assert np.abs(direction.table().flat[cells]).max() < 1e-9
        assert np.abs(direction.table().flat).max() > 1e-6
    spans = np.linalg.matrix_rank(design)
    for cell in rng.integers(24, size=5):
        states = np.unravel_index(cell, shape)
        outcome = {name: int(state) for name, state in zip(NAMES, states, strict=True)}
        extended = np.vstack([design, _indicators(shape, scopes)[cell]])
        assert fit.is_determined(outcome) == (np.linalg.matrix_rank(extended) == spans)


@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_a_fit_that_misses_no_answer_says_that_it_misses_none(seed):
    """Exact sums in any unit: residuals are zero, and not what rounding leaves of them."""
    rng = np.random.default_rng(seed)
    worths = 10.0 ** rng.integers(-6, 7) * rng.integers(1, 100, (2, 3))
    asked = {"A": rng.integers(3, size=12), "B": rng.integers(3, size=12)}
    fit = fit_additive_utility(asked, worths[0][asked["A"]] + worths[1][asked["B"]], ["A", "B"], {"A": 3, "B": 3})
    assert fit.residuals.tolist() == [0.0] * 12
    assert str(fit).endswith("residuals 0")


def test_what_answers_leave_open_does_not_hang_on_the_singular_vectors(monkeypatch):
    """A factorisation may turn and mirror the open directions as it likes: those told are the same, and orthogonal."""
    states, asked = {"A": 2, "B": 3}, [{"A": 0, "B": 0}, {"A": 1, "B": 0}]
    exact, told = np.linalg.svd, []
    for seed in range(3):

        def turned(matrix, full_matrices, seed=seed):
            left, values, right = exact(matrix, full_matrices=full_matrices)
            rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(2, 2)))[0]
            return left, values, np.vstack([right[:2], rotation @ right[2:]])

        monkeypatch.setattr(np.linalg, "svd", turned)
        fit = fit_additive_utility(asked, [0.0, 1.0], ["A", "B"], states)
        told.append([direction.table().flat for direction in fit.unidentified])
    assert len(told[0]) == 2
    for others in told[1:]:
        assert np.array(others) == pytest.approx(np.array(told[0]), abs=1e-12)


def test_thirteen_answers_near_the_reference_determine_the_prenatal_utility():
    """The outcomes of the canonical decomposition are enough; all 108 are recovered."""
    utility = prenatal_utility()
    table = utility.table()
    cells = np.indices(table.shape).reshape(5, -1)
    near = np.zeros(108, dtype=bool)
    for scope in utility.scopes:
        near |= np.all([cells[axis] == 0 for axis, name in enumerate(table.names) if name not in scope], axis=0)
    assert near.sum() == 13
    asked = {v.name: [v.states[i] for i in cells[axis, near]] for axis, v in enumerate(table.scope)}
    fit = fit_additive_utility(asked, table.flat[near], utility.scopes, table.scope)
    assert not fit.unidentified
    assert fit.utility.table().is_close(table)
    assert "13 of 13" in str(fit)


def test_answers_and_weights_must_fit_the_outcomes():
    """One finite answer for each row, and no negative weight."""
    frame, states = {"A": [0, 1]}, {"A": 2}
    with pytest.raises(errors.InvalidArgument, match="one answer"):
        fit_additive_utility(frame, [1.0], ["A"], states)
    with pytest.raises(errors.InvalidArgument, match="weight"):
        fit_additive_utility(frame, [1.0, 2.0], ["A"], states, weights=[1.0, -1.0])
    with pytest.raises(errors.InvalidArgument, match="The answer of outcome 1 is nan"):
        fit_additive_utility(frame, [1.0, np.nan], ["A"], states)


def test_a_fit_to_no_answers_prints():
    """Nothing is identified, and no residual is off."""
    fit = fit_additive_utility({"A": [], "B": []}, [], ["A", "B"], {"A": 2, "B": 2})
    assert (fit.root_mean_square, fit.num_identified) == (0.0, 0)
    assert str(fit) == "U(A) + U(B): 0 of 3 free parameters from 0 answers, residuals 0"
    with pytest.raises(errors.InvalidArgument, match="The answers: expected a regular array of numbers"):
        fit_additive_utility({"A": [0], "B": [1]}, ["much"], ["A", "B"], {"A": 2, "B": 2})


def test_the_basis_is_orthogonal_over_all_outcomes():
    """What makes least squares on a full table a product with each direction."""
    basis = utility_basis(
        [pb.Variable(n, s) for n, s in zip(NAMES, (2, 3, 1, 2), strict=True)], [("A", "B"), ("B", "C", "D")]
    )
    cells = np.indices((2, 3, 1, 2)).reshape(4, -1)
    rows = basis.rows(dict(zip(NAMES, cells, strict=True)), cells.shape[1])
    gram = rows.T @ rows
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-12
    assert basis.size == np.linalg.matrix_rank(rows) == 6 + 6 - 3


def test_the_parts_are_utility_nodes_of_a_diagram():
    """The total utility of the diagram is the additive utility; repeated scopes get names of their own."""
    utility = prenatal_utility()
    chance = [pb.TableCPD(v, np.full(v.num_states, 1 / v.num_states)) for v in utility.scope if v.name != "testing"]
    decision = pb.decisions.Decision(utility.scope[0])
    diagram = pb.decisions.InfluenceDiagram(chance, [decision], utility.utilities())
    assert AdditiveUtility(diagram.utility_factors.values()).is_close(utility)
    net = diagram.network(diagram.strategy({"testing": "CVS"}))
    expected = utility.table().reduce({"testing": "CVS"}).values.mean()
    assert utility.expected_utility(net) == pytest.approx(expected)
    twice = AdditiveUtility([*utility.parts, *utility.parts]).utilities()
    assert len({node.name for node in twice}) == 8


def test_an_additive_utility_survives_copying():
    """Pickled, copied: equal by content."""
    utility = prenatal_utility()
    assert pickle.loads(pickle.dumps(utility)) == utility
    assert copy.deepcopy(utility) == utility


@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_what_rounding_leaves_of_a_sum_is_not_told_as_a_miss(seed):
    """Integers make an exact sum; in any unit the forms miss it by nothing, and say so."""
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.integers(-6, 7)
    parts = [pb.Factor({a: 3, b: 2}, unit * rng.integers(1, 100, (3, 2))) for a, b in ("AB", "CB")]
    whole = sum(parts, pb.Factor.scalar(0.0))
    found = generalized_additive_independence(whole, [["A", "B"], ["C", "B"]])
    assert found.deviation == 0.0
    assert str(found).endswith("within 0")
    assert conditional_additive_independence(whole, "A", "C").deviation == 0.0
    off = whole + pb.Factor(whole.scope, unit * 1e-8 * rng.random(whole.values.shape))
    assert generalized_additive_independence(off, [["A"], ["B"], ["C"]], tolerance=0.9).deviation > 0.0
