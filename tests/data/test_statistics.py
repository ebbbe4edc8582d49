"""Counts equal those of a loop over rows, however they are got."""

import numpy as np
import pytest

from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
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
        for candidate, found in zip(candidates, statistics.extensions(child, parents, candidates), strict=True):
            np.testing.assert_allclose(found, _loop(table, child, [candidate, *parents]), rtol=1e-12)


def test_counts_without_weights_are_whole_numbers_and_cannot_be_changed():
    counts = TableStatistics({"x": ["a", "b", "a"]}).counts("x")
    assert counts.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        counts[0] = 5


def test_large_tables_counted_row_by_row_equal_those_counted_by_sets(monkeypatch):
    rng = np.random.default_rng(1)
    table = _random_table(rng, 5000, (4, 5, 6, 7))
    by_rows = TableStatistics(table).counts("v0", ["v1", "v2", "v3"])
    monkeypatch.setattr("plausible.data.table_statistics._CELLS_PER_PASS", 10_000)
    np.testing.assert_array_equal(TableStatistics(table).counts("v0", ["v1", "v2", "v3"]), by_rows)
    assert by_rows.sum() == 5000


def test_threads_change_no_count():
    rng = np.random.default_rng(2)
    table = _random_table(rng, 20_000, [2] * 60)
    others = [f"v{place}" for place in range(5, 60)]
    one, three = (TableStatistics(table, num_threads=num).extensions("v0", ["v1", "v2"], others) for num in (1, 3))
    for first, second in zip(one, three, strict=True):
        np.testing.assert_array_equal(first, second)


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
    for ours, theirs in zip(
        (first + rest).extensions("v0", [], ["v1"]), whole.extensions("v0", [], ["v1"]), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(InvalidArgument, match="same variables"):
        first + TableStatistics({"x": [1, 2]})


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
