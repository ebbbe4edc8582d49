"""Counts equal those of a loop over rows, however they are got."""

import numpy as np
import pytest

from plausible.data.statistics import Request
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.kernels.counting import weigh_extensions
from plausible.variables import Variable


def _random_table(rng, num_rows, sizes, **options):
    variables = [Variable(f"v{place}", size) for place, size in enumerate(sizes)]
    columns = {variable.name: rng.integers(variable.num_states, size=num_rows) for variable in variables}
    return Table.read(columns, variables, **options)


def _loop(table, child, parents):
    """One row after the other."""
    names = [*parents, child]
    rows = [table.codes[table.discrete.index(name)] for name in names]
    counts = np.zeros([table.variables[name].num_states for name in names])
    for row in range(table.num_rows):
        if child not in table.interventions or not table.interventions[child][row]:
            counts[tuple(codes[row] for codes in rows)] += 1 if table.weights is None else table.weights[row]
    return counts


def _extensions(statistics, child, parents, candidates):
    """Candidate -> the counts of the family with it."""
    ((*stacks,),) = statistics.counts_of([Request(child, tuple(parents), tuple(candidates))])
    pairs = [pair for places, counts in stacks for pair in zip(places.tolist(), counts, strict=True)]
    assert len(pairs) == len(candidates)
    return {candidates[place]: counts for place, counts in pairs}


FAMILIES = [
    ("v0", []),
    ("v1", ["v0"]),
    ("v0", ["v1"]),
    ("v3", ["v0", "v2"]),
    ("v2", ["v3", "v1", "v0"]),
    ("v4", ["v2"]),
]


@pytest.mark.parametrize("num_rows", [0, 1, 63, 64, 65, 300])
@pytest.mark.parametrize("kind", ["plain", "weighted", "set"])
def test_counts_are_those_of_a_loop(num_rows, kind):
    rng = np.random.default_rng(num_rows)
    options = {
        "plain": {},
        "weighted": {"weights": rng.random(num_rows)},
        "set": {"interventions": {"v2": rng.random(num_rows) < 0.5}},
    }[kind]
    table = _random_table(rng, num_rows, (2, 3, 4, 1, 30), **options)
    statistics = TableStatistics(table)
    for child, parents in FAMILIES:
        expected = _loop(table, child, parents)
        np.testing.assert_allclose(statistics.counts(child, parents), expected, rtol=1e-12)
        candidates = [name for name in table.variables if name not in (child, *parents)]
        found = _extensions(statistics, child, parents, candidates)
        assert set(found) == set(candidates)
        for candidate, counts in found.items():
            np.testing.assert_allclose(counts, _loop(table, child, [candidate, *parents]), rtol=1e-12)


def test_counts_without_weights_are_whole_numbers_and_cannot_be_changed():
    counts = TableStatistics({"x": ["a", "b", "a"]}).counts("x")
    assert counts.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        counts[0] = 5


def test_large_tables_counted_row_by_row_equal_those_counted_by_sets(monkeypatch):
    rng = np.random.default_rng(1)
    table = _random_table(rng, 5000, (4, 5, 6, 7))
    by_rows = TableStatistics(table).counts("v0", ["v1", "v2", "v3"])
    monkeypatch.setattr("plausible.data.table_statistics.CELLS_PER_PASS", 10_000)
    np.testing.assert_array_equal(TableStatistics(table).counts("v0", ["v1", "v2", "v3"]), by_rows)
    assert by_rows.sum() == 5000


def test_threads_change_no_count():
    rng = np.random.default_rng(2)
    table = _random_table(rng, 20_000, [2] * 60)
    others = [f"v{place}" for place in range(5, 60)]
    one, three = (_extensions(TableStatistics(table, num_threads=num), "v0", ["v1", "v2"], others) for num in (1, 3))
    for name in others:
        np.testing.assert_array_equal(one[name], three[name])


def test_many_requests_are_answered_alike_in_one_thread_and_in_several():
    rng = np.random.default_rng(5)
    table = _random_table(rng, 40_000, [2, 3, 2, 4, 2, 3])
    requests = [Request(f"v{place}", (f"v{(place + 1) % 6}",)) for place in range(6)]
    requests += [request._replace(candidates=("v0", "v3")) for request in requests[1:2] * 5]
    one, three = (TableStatistics(table, num_threads=num).counts_of(requests) for num in (1, 3))
    for first, second in zip(one, three, strict=True):
        for left, right in zip(first, second, strict=True):
            np.testing.assert_array_equal(left.counts, right.counts)


def test_the_cost_is_that_of_columns_not_read_before():
    statistics = TableStatistics(_random_table(np.random.default_rng(6), 100, (2, 3, 4)))
    asked = [Request("v0", ("v1",)), Request("v2", (), ("v0", "v1"))]
    assert statistics.cost(asked) == (3, 6 + 8 + 12, 500, 0)
    statistics.counts_of(asked)
    assert statistics.cost(asked) == (3, 6 + 8 + 12, 300, 0)
    assert (statistics + statistics).cost(asked).num_reads == 600


def test_statistics_of_parts_add_up_and_can_be_taken_away():
    rng = np.random.default_rng(3)
    table = _random_table(rng, 200, (2, 3, 2))
    first, rest = TableStatistics(table.take(np.arange(80))), TableStatistics(table.take(np.arange(80, 200)))
    whole = TableStatistics(table)
    for child, parents in [("v0", []), ("v1", ["v2", "v0"])]:
        np.testing.assert_array_equal((first + rest).counts(child, parents), whole.counts(child, parents))
        np.testing.assert_array_equal((whole - first).counts(child, parents), rest.counts(child, parents))
        np.testing.assert_allclose((0.5 * whole).counts(child, parents), whole.counts(child, parents) / 2)
        doubled = (whole + 2 * first - first).counts(child, parents)
        np.testing.assert_array_equal(doubled, whole.counts(child, parents) + first.counts(child, parents))
    assert (whole - first).total == 120
    gaps = TableStatistics(Table.read({"v0": [0, None], "v1": [None, None], "v2": [0, 1]}, table.variables.values()))
    assert (first + gaps).missing == {"v0": 1, "v1": 2}
    with pytest.raises(InvalidArgument, match="same variables"):
        first + TableStatistics({"x": [1, 2]})


def test_moments_are_those_of_the_rows_with_each_joint_state_of_the_parents():
    rng = np.random.default_rng(4)
    rows = {name: rng.integers(size, size=200) for name, size in (("a", 3), ("b", 2), ("c", 3))}
    numbers = {"x": rng.normal(size=200), "y": rng.normal(size=200)}
    (found,) = TableStatistics({**rows, **numbers}).moments_of([Request("x", ("a", "b", "c", "y"))])
    assert len(found.states) == len(np.unique(np.stack([*rows.values()]), axis=1).T) == 18
    for states, weight, mean, scatter in zip(found.states, found.weight, found.mean, found.scatter, strict=True):
        here = np.all([column == state for column, state in zip(rows.values(), states, strict=True)], axis=0)
        part = np.stack([numbers["x"][here], numbers["y"][here]])
        assert weight == here.sum()
        np.testing.assert_allclose(mean, part.mean(axis=1))
        np.testing.assert_allclose(scatter, weight * np.cov(part, ddof=0), atol=1e-12)


def test_wrong_families_are_refused_with_their_names():
    statistics = TableStatistics({"x": ["a", "b"], "y": ["a", None], "z": [0.5, 1.5]})
    with pytest.raises(UnknownVariable, match="'w'"):
        statistics.counts("w")
    with pytest.raises(NotSupported, match="'z' is continuous"):
        statistics.counts("z")
    with pytest.raises(InvalidArgument, match="'y' is missing in 1 of 2 rows"):
        statistics.counts("x", ["y"])
    with pytest.raises(InvalidArgument, match="twice"):
        statistics.counts("x", ["x"])
    many = TableStatistics({f"v{place}": list(range(300)) for place in range(4)})
    with pytest.raises(TooLarge, match="fewer parents"):
        many.counts("v0", ["v1", "v2", "v3"])


OPTIONS = [{}, {"weights": np.linspace(0, 2, 50)}, {"interventions": {"a": np.arange(50) % 3 == 0}}]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "weights", "interventions"])
@pytest.mark.parametrize("parents", [[], ["b"], ["b", "large", "e"]], ids=len)
@pytest.mark.parametrize("combined", [False, True])
def test_each_candidate_is_in_one_stack_with_the_counts_of_its_family(options, parents, combined):
    rng = np.random.default_rng(0)
    sizes = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 3, "f": 2, "large": 30, "huge": 400}
    columns = {name: rng.permuted(np.arange(50) % size) for name, size in sizes.items()}
    table = Table.read(columns, [Variable("huge", 400)], **options)
    statistics = TableStatistics(table)
    asked = statistics + statistics if combined else statistics
    candidates = [name for name in ("f", "huge", "d", "c", "e", "b") if name not in parents]
    for name, counts in _extensions(asked, "a", parents, candidates).items():
        expected = statistics.counts("a", [name, *parents]) * (2 if combined else 1)
        np.testing.assert_allclose(counts, expected)
    assert asked.counts_of([Request("a", tuple(parents), ())]) == [[]]


def test_no_sets_are_made_for_candidates_with_many_states(monkeypatch):
    """A set of rows for each of 5,000 states would take much longer than one pass over the rows."""
    rng = np.random.default_rng(1)
    statistics = TableStatistics({"a": rng.integers(2, size=6000), "b": rng.permutation(6000) % 5000})
    packed = []
    monkeypatch.setattr("plausible.data.table_statistics.packed", lambda *arguments: packed.append(arguments))
    (((_, counts),),) = statistics.counts_of([Request("a", (), ("b",))])
    assert packed == []
    assert counts.dtype == np.int64
    assert counts.shape == (1, 5000, 2)
    assert counts.sum() == 6000


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_the_kernel_weighs_each_family_as_a_sum_over_its_rows(dtype):
    """Against NumPy's own histogram, over more rows than one block has."""
    rng = np.random.default_rng(2)
    sizes = [2, 3, 4, 5]
    codes = np.array([rng.integers(size, size=2500) for size in sizes]).astype(dtype)
    codes.setflags(write=False)
    weights = rng.random(2500)
    counts = np.zeros(6 * (4 + 5))
    weigh_extensions(codes, np.array([1, 0]), np.array([6, 2, 1]), weights, np.array([2, 3]), np.array([0, 24]), counts)
    family = codes[1].astype(int) * 2 + codes[0]
    for candidate, part in [(2, counts[:24]), (3, counts[24:])]:
        expected = np.bincount(codes[candidate] * 6 + family, weights, part.size)
        np.testing.assert_allclose(part, expected, rtol=1e-12)
