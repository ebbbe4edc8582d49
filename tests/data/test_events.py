"""Events are counted as a loop over rows does."""

import math

import numpy as np
import pytest

from plausible.data.events import event_count, event_probability, where
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable


def test_probability_of_an_event_is_the_share_of_rows_that_a_loop_finds():
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(3, size=200), "b": rng.choice(["x", "y"], 200), "c": rng.normal(size=200)}
    weights = rng.random(200)
    table = Table.read(columns, weights=weights)
    rows = list(zip(*columns.values(), weights, strict=True))
    base = [row for row in rows if row[1] == "x"]
    hits = [row for row in base if row[0] in (0, 2)]
    expected = math.fsum(row[-1] for row in hits) / math.fsum(row[-1] for row in base)
    assert event_probability(table, where(a=[0, 2]), given={"b": "x"}) == pytest.approx(expected)
    both = where(a=1) & ~where(b="x")
    assert event_count(table, both) == pytest.approx(math.fsum(r[-1] for r in rows if r[0] == 1 and r[1] != "x"))
    assert event_count(table, lambda row: row["c"] > 0) == pytest.approx(math.fsum(r[-1] for r in rows if r[2] > 0))
    assert math.isnan(event_probability(table, where(), given=where() & ~where()))


def test_events_that_can_not_be_read_are_refused():
    with pytest.raises(InvalidArgument, match="brackets"):
        bool(where(H=True) and where(E=True))
    with pytest.raises(UnknownVariable, match="Did you mean"):
        event_count({"rain": [0, 1]}, {"rian": 1})
    with pytest.raises(InvalidArgument, match="missing"):
        event_count({"rain": ["a", None]}, where(rain="a"))
    with pytest.raises(InvalidArgument, match="True or False"):
        event_count({"rain": [0, 1]}, lambda row: row["rain"])


def test_events_of_continuous_variables_take_one_number_or_several():
    rows = {"a": [1.0, 2.0, 2.5]}
    assert event_count(rows, where(a={1.0, 2.0})) == 2
    assert event_count(rows, where(a=np.array([1, 2.5]))) == 2
    assert event_count(rows, where(a=2)) == 1
    for value in ("x", ["x"], None):
        with pytest.raises(InvalidArgument, match=r"'a' is continuous, and .* is no number"):
            event_count(rows, where(a=value))
