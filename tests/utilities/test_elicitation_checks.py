"""Elicitation: options and files that make no sense, results that contradict themselves, and results in lists."""

from __future__ import annotations

import math

import pytest

from plausible.errors import FormatError, InvalidArgument
from plausible.utilities import compare_elicitations, resume_session, standard_gamble, time_trade_off, visual_analog
from refusals import refuses

JUNK = [None, "q", "", -5, 0, 1.5, math.inf, math.nan, True, [], [5], [5, 5], [9, 1], ["a"], [[1]], {"a": 1}, [{}]]


def started(method):
    return {
        "standard-gamble": lambda: standard_gamble(["blind", "deaf"], "dead", "healthy").answer("sure"),
        "time-trade-off": lambda: time_trade_off(["blind", "deaf"], years=20).answer("longer"),
        "visual-analog": lambda: visual_analog(["blind", "deaf"], "dead", "healthy").answer(40),
    }[method]()


@pytest.mark.parametrize("method", ["standard-gamble", "time-trade-off", "visual-analog"])
def test_spoiled_records_are_refused_or_make_sense(method):
    """Each part of a record replaced by all kinds of things: no error but a FormatError, and no senseless session."""
    record = started(method).to_dict()
    for part in record:
        for junk in JUNK:
            try:
                session = resume_session({**record, part: junk})
            except FormatError:
                continue
            assert all(0 <= value <= 1 for value in session.result.values()), (part, junk)
            assert session.question is None or session.question.text


@pytest.mark.parametrize(
    ("method", "change", "told"),
    [
        ("visual-analog", {"limits": [5]}, r"limits=\(5,\) must be two finite numbers that rise"),
        ("visual-analog", {"limits": [5, 5], "answers": [5]}, r"limits=\(5, 5\)"),
        ("visual-analog", {"limits": [0, math.inf]}, "finite"),
        ("time-trade-off", {"years": "q"}, "years='q' must be a positive, finite number"),
        ("time-trade-off", {"years": -5}, "years=-5 must be"),
        ("time-trade-off", {"years": math.inf}, "years=inf must be"),
        ("standard-gamble", {"items": "ab"}, "its items are a list, not 'ab'"),
    ],
)
def test_options_in_records_are_checked_as_those_in_calls(method, change, told):
    """The text names the option, what it was, and what it must be."""
    refuses(FormatError, told, resume_session, {**started(method).to_dict(), **change})


def test_ranges_are_finite():
    """In calls too."""
    for limits in ((0, math.inf), (-math.inf, 0), (0, math.nan), (1, 1), (5,), "ab"):
        refuses(InvalidArgument, "two finite numbers that rise", visual_analog, ["x"], "w", "b", limits=limits)
    for years in (math.inf, math.nan, 0, -1):
        refuses(InvalidArgument, "positive, finite", time_trade_off, ["x"], years=years)


@pytest.mark.parametrize("as_outcome", [int, str])
def test_amounts_that_came_out_in_the_wrong_order_are_told_with_the_result(as_outcome):
    """More should be better where the best is more, less where it is less; neighbours are named."""
    items, ends = [as_outcome(100), as_outcome(500)], (as_outcome(0), as_outcome(1000))
    wrong = visual_analog(items, *ends).replay([60, 40]).result
    assert "100 came out better than 500 (0.6 and 0.4), though it lies nearer to the worst, 0" in str(wrong)
    debts = visual_analog(items, *reversed(ends)).replay([30, 40]).result
    assert "500 came out better than 100 (0.4 and 0.3), though it lies nearer to the worst, 1000" in str(debts)
    for right in (visual_analog(items, *ends).replay([40, 60]), visual_analog(items, *reversed(ends)).replay([60, 40])):
        assert right.result.reversals == ()
        assert "came out better" not in str(right.result)


def test_only_answers_that_settle_it_are_called_reversed():
    """Nothing is said of amounts that were not asked about, of brackets that overlap, or of what is no amount."""
    first = standard_gamble([100, 500], 0, 1000, tolerance=0.2).replay(["sure", "gamble", "sure"])
    assert first.result.reversals == ()  # 500 was not asked about
    assert first.replay(["sure", "gamble"]).result.reversals == ()  # 0.625 to 0.75, and 0.5 to 0.75
    (told,) = first.answer("gamble").result.reversals  # 500 is below 0.5, whatever is answered next
    assert [one.item for one in told] == [100, 500]
    assert visual_analog(["x", "y"], "dead", "healthy").replay([60, 40]).result.reversals == ()


def test_results_in_a_list_are_named_by_their_methods():
    """And numbered where these are the same; what has no method is a way."""
    scale = visual_analog(["x"], "w", "b").answer(40).result
    other = visual_analog(["x"], "w", "b").answer(60).result
    gamble = standard_gamble(["x"], "w", "b", tolerance=0.5).answer("sure").result
    report = compare_elicitations([scale, gamble, other, {"x": 0.5}])
    assert report.ways == ("visual-analog 1", "standard-gamble", "visual-analog 2", "way")
    assert report.utilities[report.items.index("x")].tolist() == [0.4, 0.75, 0.6, 0.5]
    for refused in ([], {}):
        refuses(InvalidArgument, "nothing to compare", compare_elicitations, refused)
    for refused in (scale, [0.4, 0.6], "ab"):
        refuses(InvalidArgument, r"compare \{name: result, ...\}, or \[result, ...\]", compare_elicitations, refused)
