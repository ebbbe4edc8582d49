"""Rows in time come in order of sequence and time, and answers go back to the rows as they were given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from plausible import likelihood
from plausible.data.sequences import Sequences
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable
from plausible.variables import Variable

RAIN = Variable("rain", ["no", "yes"])
KNOWN = {"rain": RAIN}
#: Six in the morning, and hours, around the change of clocks.
_BERLIN = pd.date_range("2024-03-29 06:00", periods=6, freq="D", tz="Europe/Berlin")
_HOURS = pd.date_range("2024-03-31 00:00", periods=5, freq="h", tz="Europe/Berlin")


def _shuffled(seed: int) -> tuple[pd.DataFrame, dict[str, list[int]]]:
    """Rows of three sequences in random order, and the cells of each sequence by its time."""
    rng = np.random.default_rng(seed)
    truth = {name: rng.integers(0, 2, size).tolist() for name, size in (("a", 5), ("b", 1), ("c", 7))}
    rows = [(name, 3 + 2 * t, RAIN.states[state]) for name, states in truth.items() for t, state in enumerate(states)]
    frame = pd.DataFrame(rows, columns=["id", "day", "rain"]).sample(frac=1, random_state=seed)
    return frame, truth


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_any_order_are_the_sequences_that_their_times_tell(seed: int) -> None:
    """However rows are shuffled, each sequence has its cells in the order of its times."""
    frame, truth = _shuffled(seed)
    read = Sequences.read(frame, KNOWN, sequence="id", time="day")
    spans = [read.columns["rain"][a:b].tolist() for a, b in zip(read.starts, read.starts[1:], strict=False)]
    assert dict(zip(read.labels, spans, strict=True)) == truth


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_stands_at_the_row_that_it_is_for(seed: int) -> None:
    """A value computed for each step comes back with the index of the rows, beside the cell it was computed from."""
    frame, _ = _shuffled(seed)
    read = Sequences.read(frame, KNOWN, sequence="id", time="day")
    answer = read.frame(read.weights("rain"), RAIN.states)
    assert answer.index.equals(frame.index)
    assert (answer["yes"] == (frame["rain"] == "yes")).all()
    assert read.series(read.columns["rain"]).tolist() == (frame["rain"] == "yes").astype(int).tolist()


def test_polars_tables_lists_and_frames_of_each_sequence_are_read_alike() -> None:
    """All ways to give the same steps are the same steps."""
    cells = [["no", "yes", None], ["yes"]]
    long = {"id": [1, 1, 1, 2], "rain": [*cells[0], *cells[1]]}
    given = [
        Sequences.read(long, KNOWN, sequence="id"),
        Sequences.read(pl.DataFrame(long), KNOWN, sequence="id"),
        Sequences.read(cells, KNOWN),
        Sequences.read([{"rain": each} for each in cells], KNOWN),
        Sequences.read([Table.read({"rain": each}, [RAIN]) for each in cells], KNOWN),
    ]
    for read in given:
        assert read.columns["rain"].tolist() == [0, 1, -1, 1]
        assert read.starts.tolist() == [0, 3, 4]


def test_a_cell_may_be_a_collection_or_a_likelihood() -> None:
    """Cells that leave states open weigh them; the position there is missing."""
    read = Sequences.read(["no", {"no", "yes"}, likelihood([0.2, 0.8]), None], KNOWN)
    assert read.columns["rain"].tolist() == [0, -1, -1, -1]
    assert read.weights("rain").tolist() == [[1, 0], [1, 1], [0.2, 0.8], [1, 1]]


def test_missing_steps_are_refused_filled_or_ignored() -> None:
    """`gaps` decides; filled steps are not observed, and answers have them."""
    rows = {"day": [1, 2, 5], "rain": ["no", "yes", "no"]}
    with pytest.raises(InvalidArgument, match=r"between row 1 \(time 2\) and row 2 \(time 5\).*gaps='fill'"):
        Sequences.read(rows, KNOWN, time="day")
    filled = Sequences.read(rows, KNOWN, time="day", gaps="fill")
    assert filled.columns["rain"].tolist() == [0, 1, -1, -1, 0]
    assert filled.frame(filled.weights("rain"), RAIN.states).index.tolist() == [1, 2, 3, 4, 5]
    assert Sequences.read(rows, KNOWN, time="day", gaps="ignore").num_steps == 3


@pytest.mark.parametrize(
    ("times", "later"),
    [
        ([2, 4, 6], [8, 10]),
        ([0.1, 0.2, 0.3], [0.4, 0.5]),
        (["2024-01-31", "2024-02-29", "2024-03-31"], ["2024-04-30", "2024-05-31"]),
        (["2024-01-15", "2024-02-15", "2024-04-15"], ["2024-05-15", "2024-06-15"]),
        (["2024-02-27", "2024-02-28", "2024-02-29"], ["2024-03-01", "2024-03-02"]),
        (pd.period_range("2024Q1", periods=3, freq="Q"), pd.period_range("2024Q4", periods=2, freq="Q")),
        (["2024-01-30", "2024-02-29", "2024-03-30"], ["2024-04-30", "2024-05-30"]),
        (["2023-01-30", "2023-02-28", "2023-04-30"], ["2023-05-30", "2023-06-30"]),
        (["8", "9", "10"], [11, 12]),
        (["20240130", "20240131", "20240201"], ["2024-02-02", "2024-02-03"]),
        (_BERLIN[:3], _BERLIN[3:5]),
        (_BERLIN[[0, 1, 3]], _BERLIN[4:6]),
        (_HOURS[:3], _HOURS[3:5]),
        (pd.to_timedelta([1, 2, 4], unit="h"), pd.to_timedelta([5, 6], unit="h")),
    ],
    ids=[
        *("numbers", "fractions", "month ends", "months", "days", "quarters"),
        *("the 30th", "the 30th, none in March", "texts of numbers", "digits of days"),
        *("clocks changed", "clocks changed in a gap", "hours in a night of 23", "durations"),
    ],
)
def test_times_after_the_last_step_go_on_as_before(times: list[object], later: list[object]) -> None:
    """The calendar and the unit of the times given are kept."""
    read = Sequences.read({"t": times, "rain": ["no"] * 3}, KNOWN, time="t", gaps="fill")
    ahead = read.ahead(np.zeros((1, 2, 1)), ["x"]).index
    expected = pd.Index(later)
    assert np.allclose(ahead, expected) if ahead.dtype.kind == "f" else (ahead == expected.astype(ahead.dtype)).all()


def test_texts_of_numbers_come_in_the_order_of_the_numbers() -> None:
    """ "10" comes after "9", and a text that is no time among them is named."""
    read = Sequences.read({"t": ["10", "8", "9"], "rain": ["no", "yes", None]}, KNOWN, time="t")
    assert read.columns["rain"].tolist() == [1, -1, 0]
    with pytest.raises(InvalidArgument, match="not such as 'soon'"):
        Sequences.read({"t": ["8", "soon", "9"], "rain": ["no"] * 3}, KNOWN, time="t")


def test_a_missing_day_is_told_by_the_clock() -> None:
    """A gap over the change of clocks is one day, filled at the same hour."""
    rows = {"t": _BERLIN[[0, 1, 3]], "rain": ["no"] * 3}
    with pytest.raises(InvalidArgument, match="times are 1 day apart elsewhere"):
        Sequences.read(rows, KNOWN, time="t")
    filled = Sequences.read(rows, KNOWN, time="t", gaps="fill")
    assert list(filled.steps.times.values) == list(_BERLIN[:4])


def test_errors_name_the_sequence_and_the_row() -> None:
    """What can't be read is named with its place."""
    with pytest.raises(InvalidArgument, match=r"Rows 0 and 2 have the same time, 1, in sequence 'a'"):
        Sequences.read({"id": list("aba"), "t": [1, 1, 1], "rain": ["no"] * 3}, KNOWN, sequence="id", time="t")
    with pytest.raises(InvalidArgument, match="Row 1 belongs to no sequence"):
        Sequences.read({"id": ["a", None], "rain": ["no"] * 2}, KNOWN, sequence="id")
    with pytest.raises(InvalidArgument, match="Row 1 has no time in column 't'"):
        Sequences.read({"t": [1.0, None], "rain": ["no"] * 2}, KNOWN, time="t")
    with pytest.raises(InvalidArgument, match="not regular"):
        Sequences.read({"t": [0.0, 1.0, 2.5], "rain": ["no"] * 3}, KNOWN, time="t")
    with pytest.raises(UnknownVariable, match="time= names it"):
        Sequences.read({"day": [0], "rain": ["no"]}, KNOWN, time="days")
    with pytest.raises(UnknownVariable, match="Did you mean 'rain'"):
        Sequences.read({"rian": ["no"]}, KNOWN)
    with pytest.raises(UnknownState, match="In row 1: 'maybe'"):
        Sequences.read(["no", ["maybe"]], KNOWN)
    with pytest.raises(InvalidArgument, match="each mapping is a row"):
        Sequences.read([{"rain": "no"}, {"rain": "yes"}], KNOWN)
    with pytest.raises(InvalidArgument, match="gaps="):
        Sequences.read(["no"], KNOWN, gaps="skip")


def test_no_rows_one_step_and_empty_sequences_are_sequences() -> None:
    """Nothing observed is not an error."""
    assert Sequences.read([], KNOWN).starts.tolist() == [0, 0]
    assert Sequences.read([["no"], []], KNOWN).starts.tolist() == [0, 1, 1]
    assert Sequences.read({"t": [7], "rain": ["no"]}, KNOWN, time="t").num_steps == 1


def test_some_sequences_can_be_taken() -> None:
    """The chosen sequences, in the order asked for, with their cells."""
    read = Sequences.read([["no", "yes"], ["yes", {"no", "yes"}, "no"], ["no"]], KNOWN).take([2, 1])
    assert read.starts.tolist() == [0, 1, 4]
    assert read.weights("rain").tolist() == [[1, 0], [0, 1], [1, 1], [1, 0]]
    assert read.labels == (2, 1)


def test_columns_are_numbers_where_that_is_said() -> None:
    """Whole numbers, which look like states or ids, are read as they are meant."""
    read = Sequences.read({"count": list(range(100)), "size": [1.0, 2.0] * 50}, {}, infer=True, numbers=True)
    assert all(variable.is_continuous for variable in read.variables.values())
    assert read.columns["count"].tolist() == list(range(100))


def test_a_time_in_the_index_is_told_of() -> None:
    """The index of a frame is no column; the error says how to make it one."""
    frame = pd.DataFrame({"rain": ["no", "yes"]}, index=pd.Index([1, 2], name="day"))
    with pytest.raises(UnknownVariable, match="reset_index"):
        Sequences.read(frame, KNOWN, time="day")


@pytest.mark.parametrize("kind", ["uint8", "uint32", "int8", "int64", "float32"])
def test_times_of_every_kind_of_number_are_put_in_order(kind: str) -> None:
    """Numbers without a sign, and small ones whose differences would overflow, are ordered as any others."""
    times = np.array([120, 100, 110], dtype=kind)
    read = Sequences.read({"t": times, "rain": ["no", "yes", None]}, KNOWN, time="t")
    assert read.columns["rain"].tolist() == [1, -1, 0]
    assert read.ahead(np.zeros((1, 1, 1)), ["x"]).index.tolist() == [130]


def test_fractional_times_far_from_zero_are_regular() -> None:
    """Tenths of seconds since 1970 are as even as their digits can tell."""
    times = 1.6e9 + 0.1 * np.arange(4)
    assert Sequences.read({"t": times, "rain": ["no"] * 4}, KNOWN, time="t").num_steps == 4


def test_texts_that_are_no_times_are_refused_without_a_word_of_another_library() -> None:
    """Only the error speaks, with the column and a cell; warnings are errors in tests."""
    with pytest.raises(InvalidArgument, match="numbers, dates or periods, not such as 'soon'"):
        Sequences.read({"t": ["soon", "later"], "rain": ["no", "yes"]}, KNOWN, time="t")


def test_steps_to_come_have_places_of_their_own() -> None:
    """Errors count them from the last row of their sequence."""
    read = Sequences.read({"id": ["a", "a", "b"], "rain": ["no", "yes", None]}, KNOWN, sequence="id").lengthened(2)
    assert [read.where(step) for step in (2, 3, 6)] == [
        "step 1 after the last row of sequence 'a'",
        "step 2 after the last row of sequence 'a'",
        "step 2 after the last row of sequence 'b'",
    ]
