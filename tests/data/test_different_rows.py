"""Equal rows that are put together tell the same as all rows."""

import numpy as np
import pandas as pd
import pytest

from plausible import examples
from plausible.data import TableStatistics, compressed
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.errors import TooLarge
from plausible.learn import parameters, structure

ASIA = examples.load("asia")


def _rows(num_rows=500, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.choice(["x", "y", None], num_rows),
            "n": rng.choice([0.5, -1.5, np.nan], num_rows),
            "m": rng.choice([2.25, 1e300, -0.5], num_rows),
            "b": rng.choice([True, False], num_rows),
            "w": rng.integers(0, 3, num_rows),
            "set": rng.choice(["b", None], num_rows),
        }
    )


OPTIONS = {"weights": "w", "interventions": "set"}


def _counted(table):
    """Row -> how much it weighs, by a plain dictionary."""
    counts = {}
    cells = [table.values(name).tolist() for name in table.variables]
    marks = [table.interventions[name].tolist() for name in table.interventions]
    for *row, weight in zip(*cells, *marks, table.row_weights.tolist(), strict=True):
        key = tuple(None if cell is None or cell != cell else cell for cell in row)
        counts[key] = counts.get(key, 0) + weight
    return counts


@pytest.mark.parametrize("options", [{}, OPTIONS], ids=["rows", "weights"])
def test_each_different_row_weighs_as_much_as_its_equals(options):
    table = Table.read(_rows(), **options)
    small = compressed(table)
    counts = _counted(table)
    assert _counted(small) == counts
    assert small.num_rows == len(counts) < table.num_rows
    assert list(_counted(small)) == list(counts)


@pytest.mark.parametrize("few", [1, 2**20])
def test_rows_in_pieces_are_compressed_as_one_table(tmp_path, monkeypatch, few):
    monkeypatch.setattr("plausible.data.different_rows._FEW_ROWS", few)
    for number in range(5):
        _rows()[100 * number : 100 * (number + 1)].to_parquet(tmp_path / f"{number}.parquet", index=False)
    small = compressed(Stream(tmp_path, **OPTIONS))
    expected = compressed(Table.read(_rows(), **OPTIONS))
    np.testing.assert_array_equal(small.codes, expected.codes)
    np.testing.assert_array_equal(small.numbers, expected.numbers)
    np.testing.assert_array_equal(small.weights, expected.weights)
    assert {n: m.tolist() for n, m in small.interventions.items()} == {
        n: m.tolist() for n, m in expected.interventions.items()
    }


def test_many_columns_need_more_than_one_key():
    rows = Table.read(np.random.default_rng(0).integers(0, 2, (300, 90)).astype(str).repeat(2, axis=0))
    small = compressed(rows)
    assert (small.num_rows, set(small.weights.tolist())) == (300, {2.0})
    np.testing.assert_array_equal(small.codes, rows.codes[:, ::2])


def test_what_is_learned_is_the_same():
    rows = ASIA.sample(3000, seed=1)
    small = compressed(rows)
    assert small.num_rows < 100
    assert TableStatistics(small).total == 3000
    assert parameters(ASIA.graph, small, prior="bdeu:1") == parameters(ASIA.graph, rows, prior="bdeu:1")
    found, expected = structure(small, "first-ascent"), structure(rows, "first-ascent")
    assert found.graph == expected.graph
    assert found.score == pytest.approx(expected.score, rel=1e-12)


def test_no_rows_are_no_rows(tmp_path):
    pd.DataFrame({"x": pd.Series([], dtype=str)}).to_parquet(tmp_path / "a.parquet")
    stream = Stream(tmp_path / "a.parquet", variables=[ASIA.variables["asia"].renamed("x")])
    assert compressed(stream).num_rows == compressed(Table.read(stream)).num_rows == 0


def test_rows_that_are_mostly_different_are_refused_where_they_do_not_fit(tmp_path, monkeypatch):
    for name, value in (("_FEW_ROWS", 1), ("table_limit", lambda: 100.0)):
        monkeypatch.setattr(f"plausible.data.different_rows.{name}", value)
    for number in range(3):
        pd.DataFrame({"x": np.arange(500.0) / 4 + number / 10}).to_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(TooLarge, match=r"too many different rows for memory.*StreamStatistics"):
        compressed(tmp_path)
