"""Recursive conditioning: exact within any memory, and never more memory than it was given."""

from __future__ import annotations

import math
import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from network_oracle import measure_of_markov_network, random_markov_network
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.inference.conditioning import recursive
from plausible.inference.conditioning.conditioning_plan import decomposition_tree
from plausible.inference.conditioning.recursive import condition_plan, conditioned_sum
from plausible.inference.engines import JunctionTree, RecursiveConditioning, VariableElimination
from plausible.variables import Evidence, Variable
from refusals import refuses
from seeds import few_of

NONE = Evidence.read({}, {})


def grid(rng, rows, columns, num_states=2):
    """Random pairwise factors on a grid, and their sum by a transfer matrix from row to row."""
    x = [[Variable(f"{r}.{c}", num_states) for c in range(columns)] for r in range(rows)]
    across = rng.random((rows, columns - 1, num_states, num_states)) + 0.1
    down = rng.random((rows - 1, columns, num_states, num_states)) + 0.1
    factors = [Factor((x[r][c], x[r][c + 1]), across[r, c]) for r in range(rows) for c in range(columns - 1)]
    factors += [Factor((x[r][c], x[r + 1][c]), down[r, c]) for r in range(rows - 1) for c in range(columns)]
    rng.shuffle(factors)
    return factors, _log_sum_of_grid(across, down)


def _log_sum_of_grid(across, down):
    """One axis a column; each column is moved to the next row by a matrix product, then a row's own pairs multiply."""
    rows, columns, num_states = across.shape[0], down.shape[1], across.shape[2]
    state, log_scale = np.ones((num_states,) * columns), 0.0
    for row in range(rows):
        if row:
            for column in range(columns):
                state = np.moveaxis(np.tensordot(state, down[row - 1, column], axes=(column, 0)), -1, column)
        for column in range(columns - 1):
            shape = [1] * columns
            shape[column] = shape[column + 1] = num_states
            state = state * across[row, column].reshape(shape)
        log_scale += math.log(state.max())
        state = state / state.max()
    return log_scale + math.log(state.sum())


# --- exactness ---


@pytest.mark.parametrize("seed", few_of(8, 25))
def test_sums_are_exact_within_any_memory(seed):
    """Random factors with zeros, and every mixture of limits on tables and on what is remembered."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables=6, num_factors=9)
    inside = sorted({name for factor in net.factors for name in factor.names})
    targets = inside[: seed % 3]
    lonely = math.prod(v.num_states for name, v in net.variables.items() if name not in inside)
    expected = {}
    for assignment, weight in measure_of_markov_network(net):
        key = tuple(assignment[name] for name in targets)
        expected[key] = expected.get(key, 0.0) + weight / lonely
    for max_table_entries in (9, 12, 30, 10**6):
        for max_cache_entries in (0, 3, 20, 10**6):
            result = conditioned_sum(net.factors, targets, None, max_table_entries, max_cache_entries)
            assert result.factor.names == tuple(targets)
            for states, weight in expected.items():
                value = result.factor[dict(zip(targets, states, strict=True))] * math.exp(result.log_scale)
                assert value == pytest.approx(weight)
            assert result.info.largest_table <= max(max_table_entries, 1)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_gives_the_same_sum(seed):
    """The tree changes, the sum does not; an order may leave variables out."""
    rng = np.random.default_rng(seed)
    factors, expected = grid(rng, 3, 4)
    names = sorted({name for factor in factors for name in factor.names})
    for order in (names, list(rng.permutation(names)), names[:5], []):
        result = conditioned_sum(factors, [], order, max_table_entries=8, max_cache_entries=100)
        assert result.log_total == pytest.approx(expected)


def test_degenerate_sums():
    """No factors, scalars, zeros, one-state variables, several components."""
    assert conditioned_sum([], []).log_total == 0
    assert conditioned_sum([Factor.scalar(3.0)], []).log_total == pytest.approx(math.log(3))
    assert conditioned_sum([Factor.scalar(0.0)], []).is_zero
    ones = [Factor({f"X{i}": 1, f"X{i + 1}": 1}, [[2.0]]) for i in range(5)]
    assert conditioned_sum(ones, ["X3"], max_table_entries=1).log_total == pytest.approx(5 * math.log(2))
    apart = [Factor({f"X{i}": 2}, [1.0, 2.0]) for i in range(5)]
    assert conditioned_sum(apart, [], max_table_entries=1).log_total == pytest.approx(5 * math.log(3))


def test_probabilities_far_below_the_smallest_float():
    """A loop of variables whose product is 1e-1500, conditioned on a state at a time."""
    names = [f"X{i}" for i in range(300)]
    tiny = [Factor({a: 2, b: 2}, np.full((2, 2), 1e-5)) for a, b in zip(names, names[1:] + names[:1], strict=True)]
    result = conditioned_sum(tiny, ["X7"], max_table_entries=4)
    assert result.log_total == pytest.approx(-1500 * math.log(10) + 300 * math.log(2), rel=1e-12)


def test_underflow_is_not_mistaken_for_zero():
    """The sum begins again on logarithms, also where the small numbers come from different states of a cutset."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    factors = [Factor((a,), [1.0, 1e-200])] * 3 + [Factor((a, b), [[0.0, 0.0], [1.0, 3.0]])]
    result = conditioned_sum(factors, ["B"])
    assert result.factor.normalize().values == pytest.approx([0.25, 0.75])
    assert result.log_total == pytest.approx(-600 * math.log(10) + math.log(4))
    loop = [Factor(scope, [[1.0, 1.0], [1e-200, 1e-200]]) for scope in ((a, b), (a, c))] * 2
    loop += [Factor((b, c), [[1.0, 2.0], [3.0, 4.0]]), Factor((a,), [0.0, 1.0])]
    result = conditioned_sum(loop, [], max_table_entries=4)
    assert result.log_total == pytest.approx(-800 * math.log(10) + math.log(10))
    hopeless = conditioned_sum([*factors, Factor((b,), [0.0, 0.0])], ["B"])
    assert hopeless.is_zero


# --- memory ---


@pytest.mark.parametrize(("table", "cache"), [(2**6, 2**14), (2**6, 2**11), (2**8, 2**16), (2**10, 2**9)])
def test_the_plan_says_what_happens(monkeypatch, table, cache):
    """Steps done, the largest table and the most that is remembered are those announced, within the limits."""
    factors, expected = grid(np.random.default_rng(0), 9, 9)
    plan = condition_plan(factors, [], max_table_entries=table, max_cache_entries=cache)
    largest, remembered, runs = [0], [0], []

    class Watched(recursive._Run):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            runs.append(self)

        def _finish(self, node, is_top, value):
            super()._finish(node, is_top, value)
            kept = [v for c in self.caches.values() for v in c.values.values()]
            remembered[0] = max(remembered[0], sum(factor.size for factor, _ in kept))
            if self.tree.children[node]:
                closed = self.tree.closed[node].difference(self.plan.conditioned[node])
                largest[0] = max(largest[0], value[0].size * 2 ** len(closed))

    monkeypatch.setattr(recursive, "_Run", Watched)
    result = conditioned_sum(factors, [], max_table_entries=table, max_cache_entries=cache)
    assert result.log_total == pytest.approx(expected)
    assert [run.num_done for run in runs] == [plan.num_steps]
    assert largest[0] == plan.largest_table <= table
    assert remembered[0] <= plan.cache_entries <= cache
    assert plan.cutset


def test_more_memory_never_costs_more_steps():
    """From nothing remembered to everything; with room for all, each table entry is worked off once."""
    factors, _ = grid(np.random.default_rng(1), 8, 8)
    plans = [condition_plan(factors, [], None, 2**5, cache) for cache in (0, 2**8, 2**10, 2**12, 2**30)]
    steps = [plan.num_steps for plan in plans]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 10 * steps[-1]
    free = condition_plan(factors, [])
    assert not free.cutset
    assert plans[-1].cost <= 1.1 * free.cost


def test_what_the_clique_tree_refuses_is_answered_in_less_memory():
    """A 14 x 14 grid: a table of a million entries is over the limit, tables of 4,096 entries do it."""
    factors, expected = grid(np.random.default_rng(2), 14, 14)
    limit = 2**16
    target = [factors[0].scope[0]]
    for engine in (JunctionTree(max_entries=limit), VariableElimination(max_entries=limit)):
        with pytest.raises(TooLarge):
            engine.query(factors, target, NONE)
    little = RecursiveConditioning(max_table_entries=2**12, max_cache_entries=2**15)
    tracemalloc.start()
    try:
        log_total = little.log_total(factors, NONE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert log_total == pytest.approx(expected)
    assert peak < 4 * 2**20  # bytes, all bookkeeping included; the largest clique alone takes twice as many
    answer = little.query(factors, target, NONE)
    assert answer.is_close(VariableElimination().query(factors, target, NONE), 1e-12)
    assert answer.info.largest_table <= 2**12


def test_large_domains_are_conditioned_state_by_state():
    """A triangle of variables with 200 states: 8 million entries as one clique, 40,000 when one variable is set."""
    rng = np.random.default_rng(3)
    a, b, c = (Variable(name, 200) for name in "ABC")
    tables = rng.random((3, 200, 200))
    triangle = [Factor(scope, table) for scope, table in zip(((a, b), (b, c), (a, c)), tables, strict=True)]
    with pytest.raises(TooLarge):
        JunctionTree(max_entries=10**6).log_total(triangle, NONE)
    result = conditioned_sum(triangle, ["A"], max_table_entries=40_000)
    expected = ((tables[0] @ tables[1]) * tables[2]).sum(axis=1)
    assert result.factor.values * math.exp(result.log_scale) == pytest.approx(expected)
    assert result.info.largest_table == 40_000


# --- limits ---


def test_refusals_come_before_any_work():
    """An answer larger than a table, a cost beyond the limit, limits that make no sense."""
    complete = [Factor({a: 2, b: 2}, np.ones((2, 2))) for a, b in combinations([f"X{i}" for i in range(45)], 2)]
    refuses(TooLarge, "too long: recursive conditioning on", conditioned_sum, complete, [])
    with pytest.raises(TooLarge, match="The answer over X0, X1, X2 has 8 entries"):
        conditioned_sum(complete, ["X0", "X1", "X2"], max_table_entries=4)
    for limits in ({"max_table_entries": 0}, {"max_cache_entries": -1}):
        with pytest.raises(InvalidArgument, match="must be positive"):
            conditioned_sum(complete, [], **limits)


def test_progress_is_told_and_work_can_be_broken_off():
    """Parts of the whole that never go back; an interrupt passes through."""
    factors, expected = grid(np.random.default_rng(4), 8, 8)
    heard = []
    result = conditioned_sum(factors, [], None, 2**4, 2**8, progress=heard.append)
    assert result.log_total == pytest.approx(expected)
    assert heard == sorted(heard)
    assert len(heard) > 3
    assert 0 < heard[0] < heard[-1] <= 1

    def interrupt(part):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conditioned_sum(factors, [], None, 2**4, 2**8, progress=interrupt)


# --- the tree ---


@pytest.mark.parametrize("seed", range(10))
def test_variables_are_summed_out_where_their_last_factors_meet(seed):
    """Closed at the lowest node above all leaves that have it; the context is what is shared with the rest."""
    rng = np.random.default_rng(seed)
    scopes = [[f"X{i}" for i in rng.permutation(7)[: rng.integers(0, 4)]] for _ in range(8)]
    names = sorted({name for scope in scopes for name in scope})
    tree = decomposition_tree(scopes, list(rng.permutation(names)), names[:1])
    assert tree.root == 2 * len(scopes) - 2
    leaves = {node: {leaf for leaf in tree.below(node) if leaf < len(scopes)} for node in range(tree.root + 1)}
    assert leaves[tree.root] == set(range(len(scopes)))
    for node, inside in leaves.items():
        here = {name for leaf in inside for name in scopes[leaf]}
        elsewhere = {name for leaf in leaves[tree.root] - inside for name in scopes[leaf]} | set(names[:1])
        below = tree.children[node]
        assert tree.context[node] == here & elsewhere
        done = here - elsewhere
        lower = {n for child in below for n in done if all(n not in scopes[x] for x in inside - leaves[child])}
        assert tree.closed[node] == (done - lower if below else done)


def test_the_plan_prints_itself():
    """What is conditioned on, and the price."""
    factors, _ = grid(np.random.default_rng(0), 3, 3)
    assert str(condition_plan(factors, [])).startswith("recursive conditioning on no variable: 23 steps, ")
    assert "on 1 variable (" in str(condition_plan(factors, [], max_table_entries=8))
