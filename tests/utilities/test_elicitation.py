"""Sessions, methods, simulated respondents and diagnostics; options, files and results that make no sense."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from plausible.errors import FormatError, InvalidArgument
from plausible.utilities.elicitation.diagnostics import anchor_sensitivity, compare_elicitations, schedule_sensitivity
from plausible.utilities.elicitation.methods import (
    load_session,
    resume_session,
    save_session,
    standard_gamble,
    time_trade_off,
    visual_analog,
)
from plausible.utilities.elicitation.questions import (
    PrelecWeighting,
    SimulatedRespondent,
    TverskyKahnemanWeighting,
    gamble_question,
    rank_dependent_utility,
    scale_question,
)
from plausible.utilities.elicitation.session import run_session
from plausible.utilities.lotteries.curve_families import LogarithmicCurve
from plausible.utilities.lotteries.curves import TabulatedCurve
from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.outcome_utilities import rescaled_utility
from plausible.utilities.lotteries.regret import DecisionSituation
from plausible.utilities.lotteries.risk import certainty_equivalent
from refusals import refuses

TRUE = {"dead": 0.0, "blind": 1 / 3, "lame": 0.62, "deaf": 0.8123, "healthy": 1.0}
ITEMS = ["blind", "lame", "deaf"]
STARTS = {
    "gamble": lambda **options: standard_gamble(ITEMS, "dead", "healthy", **options),
    "time": lambda **options: time_trade_off(ITEMS, "healthy", "dead", **options),
}
SCHEDULES = ["bisection", "ascending", "descending", "ping-pong"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("method", STARTS)
def test_truthful_answers_give_the_utilities(method, schedule):
    """Every method and schedule brackets them to the tolerance."""
    done = run_session(STARTS[method](tolerance=0.005, schedule=schedule), SimulatedRespondent(TRUE))
    assert done.is_done
    for told in done.result.items_told:
        assert told.low - 1e-12 <= TRUE[told.item] <= told.high + 1e-12
        assert told.high - told.low <= 0.005 * (1 + 1e-6)
    assert done.result.num_questions == done.num_questions


def test_scales_read_the_utilities_at_once():
    """One question for each item; numbers are shares of the scale."""
    session = run_session(visual_analog(ITEMS, "dead", "healthy", limits=(-10, 40)), SimulatedRespondent(TRUE))
    assert session.num_questions == 3
    assert session.answers[0] == pytest.approx(-10 + 50 / 3)
    assert {item: session.result[item] for item in ITEMS} == pytest.approx({item: TRUE[item] for item in ITEMS})


@pytest.mark.parametrize("power", [3, 5, 8])
def test_bisection_takes_log_many_questions(power):
    """log₂(1/ε) for each item, foretold at the start."""
    session = STARTS["gamble"](tolerance=2.0**-power)
    assert session.num_left == 3 * power
    assert run_session(session, SimulatedRespondent(TRUE)).num_questions == 3 * power
    assert STARTS["gamble"](tolerance=0.01).num_left == 3 * math.ceil(math.log2(100))


def test_answers_move_the_chance():
    """The gamble preferred lowers it, the sure thing raises it, sameness ends the search."""
    session = STARTS["gamble"]()
    assert session.question.level == 0.5
    assert session.answer("gamble").question.level == 0.25
    assert session.answer("sure").question.level == 0.75
    assert session.answer("same").question.item == "lame"
    assert session.answer("same").result["blind"] == 0.5
    assert session.question.level == 0.5


def test_entrepreneur_by_gambles():
    """The gambles return (U + 7) / 27 (W2)."""
    utility = {"o0": 0, "o1": -7, "o2": 5, "o3": 20}
    session = standard_gamble(["o0", "o2"], "o1", "o3", tolerance=1e-6)
    found = run_session(session, SimulatedRespondent(utility)).result
    assert found["o0"] == pytest.approx(0.259259, abs=2e-6)
    assert found["o2"] == pytest.approx(0.444444, abs=2e-6)
    assert rescaled_utility(found, low=-7, high=20)["o2"] == pytest.approx(5, abs=1e-4)


@pytest.mark.parametrize("stop", [0, 1, 9, 15])
def test_saved_sessions_go_on_where_they_stopped(stop):
    """Through JSON; undo takes back one answer."""
    respondent = SimulatedRespondent(TRUE)
    for start in (*STARTS.values(), lambda: visual_analog(ITEMS, "dead", "healthy")):
        session = start()
        for _ in range(stop):
            if not session.is_done:
                session = session.answer(respondent(session.question))
        again = resume_session(json.loads(json.dumps(session.to_dict())))
        assert again.question == session.question
        assert again.answers == session.answers
        assert str(again.result) == str(session.result)
        assert run_session(again, respondent).result == run_session(session, respondent).result
        if session.answers:
            assert session.undo().answers == session.answers[:-1]


def test_a_terminal_drives_a_session_in_ten_lines():
    """Typing errors are told and asked again; the result prints."""
    typed, told = iter(["what", "1", "g", "SURE ", "", "="]), []
    session = standard_gamble(["blind"], "dead", "healthy", tolerance=0.01)
    while (question := session.question) is not None:
        told.append(str(question))
        try:
            session = session.answer(next(typed))
        except InvalidArgument as error:
            told.append(str(error))
    assert session.answers == ("sure", "gamble", "sure", "same")
    assert "say one of sure (1), gamble (2), same (=)" in told[1]
    assert "blind" in str(session.result)
    assert repr(session) == "ElicitationSession('standard-gamble', ['blind'], done)"


def test_what_can_not_be_read_is_refused():
    """Answers, options and records."""
    with pytest.raises(InvalidArgument, match="from 0 to 100"):
        visual_analog(["a"], "b", "c").answer(120)
    with pytest.raises(InvalidArgument, match="from 0 to 100"):
        visual_analog(["a"], "b", "c").answer("much")
    with pytest.raises(InvalidArgument, match="no answer"):
        gamble_question("a", "b", "c", 0.5).read("s")  # sure, or same?
    with pytest.raises(InvalidArgument, match="over"):
        visual_analog(["a"], "b", "c").answer(1).answer(1)
    with pytest.raises(InvalidArgument, match="take back"):
        visual_analog(["a"], "b", "c").undo()
    refuses(InvalidArgument, "nothing to ask", standard_gamble, [], "b", "c")
    refuses(InvalidArgument, "twice", standard_gamble, ["a", "a"], "b", "c")
    refuses(InvalidArgument, "differ", standard_gamble, ["a"], "b", "b")
    refuses(InvalidArgument, "schedule", standard_gamble, ["a"], "b", "c", schedule="random")
    refuses(FormatError, "method", resume_session, {})
    refuses(FormatError, "worst", resume_session, {"method": "visual-analog", "items": ["a"]})
    with pytest.raises(InvalidArgument, match="'d'"):
        visual_analog(["a"], "b", "c").result["d"]


@pytest.mark.parametrize(
    "change", [{"answers": ["maybe"]}, {"answers": ["sure"] * 99}, {"answers": 3}, {"tolerance": "fine"}, {"items": 3}]
)
def test_saved_sessions_that_were_spoiled_are_refused(change):
    record = standard_gamble(["blind"], "dead", "healthy").to_dict()
    refuses(FormatError, "saved session can't be gone on with", resume_session, {**record, **change})


def test_files_of_sessions_give_back_what_was_saved(tmp_path):
    """Answers, question and result; an unwritable place leaves nothing behind and names the file meant."""
    session = time_trade_off(["ill", "lame"], years=20, tolerance=0.1).replay(["longer", "shorter"])
    save_session(session, tmp_path / "answers.json")
    again = load_session(str(tmp_path / "answers.json"))
    assert (again.answers, again.question, again.result) == (session.answers, session.question, session.result)
    (tmp_path / "folder").mkdir()
    refuses(OSError, "folder'", save_session, session, tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.json", "folder"]


def test_a_curve_needs_amounts():
    """Texts may be amounts; words are not."""
    result = visual_analog(["250", "500"], "0", "1000").replay([40, 70]).result
    assert result.curve()(250) == pytest.approx(0.4)
    assert type(result.curve("exponential")).__name__ == "ExponentialCurve"
    with pytest.raises(InvalidArgument, match="'dead' is no amount"):
        visual_analog(["ill"], "dead", "healthy").answer(50).result.curve()


def test_a_text_is_one_item():
    """Not its letters."""
    assert standard_gamble("blind", "dead", "healthy").question.item == "blind"


def test_gambles_on_amounts_make_a_curve():
    """Elicited utilities of money are the points of a tabulated curve, whose certainty equivalents are as told."""
    truth = LogarithmicCurve(100.0)
    session = standard_gamble([100, 250, 500], 0, 1000, tolerance=1e-4)
    result = run_session(session, SimulatedRespondent(truth)).result
    curve = TabulatedCurve(list(result), list(result.values()))
    coin = Lottery({1000: 0.5, 100: 0.5})
    assert certainty_equivalent(curve, coin) == pytest.approx(certainty_equivalent(truth, coin), rel=0.03)


@pytest.mark.parametrize("as_outcome", [float, str], ids=["numbers", "texts"])
@pytest.mark.parametrize("start", [standard_gamble, visual_analog])
def test_amounts_beyond_the_anchors_are_refused_at_the_start(start, as_outcome):
    """Above the best, below the worst, or at one of them in other words; less may be better."""
    low, high = as_outcome(0), as_outcome(1000)
    for amount in (2000, -1):
        for worst, best in ((low, high), (high, low)):
            with pytest.raises(InvalidArgument, match=rf"{amount}.* does not lie between .* name anchors beyond it"):
                start([as_outcome(100), as_outcome(amount)], worst=worst, best=best)
    assert start([as_outcome(100)], worst=high, best=low).question.item == as_outcome(100)
    refuses(InvalidArgument, "does not lie between", start, ["1e3"], worst=low, best=high)
    assert start([as_outcome(100), "a car"], worst=low, best=high).question.item == as_outcome(100)
    assert start([2000], worst="poverty", best="riches").question.item == 2000
    assert start(["maybe"], worst=True, best=False).question.item == "maybe"


def test_items_beyond_an_anchor_are_marked():
    """Whoever always gambles may rate the item below the worst anchor."""
    done = run_session(standard_gamble(["torture"], "dead", "healthy"), lambda _: "gamble")
    assert done.result.items_told[0].is_at_limit
    assert not run_session(STARTS["gamble"](), SimulatedRespondent(TRUE)).result.items_told[0].is_at_limit


def test_progress_is_told_and_may_stop():
    """The session after each answer; true stops; no time asks nothing."""
    seen = []

    def watch(session):
        seen.append(session.num_questions)
        return len(seen) == 4

    stopped = run_session(STARTS["gamble"](), SimulatedRespondent(TRUE), progress=watch)
    assert seen == [1, 2, 3, 4]
    assert stopped.num_questions == 4
    assert run_session(STARTS["gamble"](), SimulatedRespondent(TRUE), time_limit=0.0).num_questions == 0


def test_results_are_utilities():
    """An elicited result ranks actions, anchors included."""
    result = run_session(STARTS["gamble"](), SimulatedRespondent(TRUE)).result
    situation = DecisionSituation({"operate": Lottery({"healthy": 0.5, "dead": 0.5}), "wait": "lame"}, result)
    assert situation.rank().action == "wait"


@pytest.mark.parametrize("weighting", [PrelecWeighting(0.5), TverskyKahnemanWeighting(0.6)])
def test_weighting_overweighs_rare_and_underweighs_likely_events(weighting):
    """w rises from 0 to 1, above the diagonal at first and below it later (item 47)."""
    chances = np.linspace(0, 1, 201)
    weights = np.array([weighting(p) for p in chances.tolist()])
    assert weights[0] == 0
    assert weights[-1] == pytest.approx(1)
    assert (np.diff(weights) > 0).all()
    assert weighting(0.01) > 0.03
    assert weighting(0.95) < 0.92
    assert PrelecWeighting(1.0)(0.3) == pytest.approx(0.3)
    assert TverskyKahnemanWeighting(1.0)(0.3) == pytest.approx(0.3)


def test_weighted_chances_distort_the_standard_gamble_only():
    """The gamble finds w⁻¹(U); time and scales stay right, so that methods disagree."""
    weigh = PrelecWeighting(0.6)
    biased = SimulatedRespondent(TRUE, weighting=weigh)
    gamble = run_session(STARTS["gamble"](tolerance=1e-4), biased).result
    for item in ITEMS:
        assert weigh(gamble[item]) == pytest.approx(TRUE[item], abs=1e-3)
    time = run_session(STARTS["time"](tolerance=1e-4), biased).result
    scale = run_session(visual_analog(ITEMS, "dead", "healthy"), biased).result
    report = compare_elicitations({"gamble": gamble, "time": time, "scale": scale})
    assert report.greatest_spread > 0.05
    assert report.spreads["dead"] == 0
    assert "spread" in str(report)
    assert compare_elicitations({"time": time, "scale": scale}).greatest_spread < 1e-3


def test_concave_time_distorts_the_trade_off():
    """Years worth √t: the trade-off finds U²."""
    found = run_session(STARTS["time"](tolerance=1e-4), SimulatedRespondent(TRUE, time_exponent=0.5)).result
    assert found["lame"] == pytest.approx(TRUE["lame"] ** 2, abs=1e-3)
    scaled = run_session(visual_analog(ITEMS, "dead", "healthy"), SimulatedRespondent(TRUE, scale_exponent=2.0)).result
    assert scaled["lame"] == pytest.approx(TRUE["lame"] ** 2)


def test_rank_dependence_with_the_identity_is_expected_utility():
    """And it never prefers a dominated lottery."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        lottery = Lottery(dict(zip(TRUE, rng.dirichlet(np.ones(5)).tolist(), strict=True)))
        assert rank_dependent_utility(lottery, TRUE, lambda p: p) == pytest.approx(lottery.expected_utility(TRUE))
        better = Lottery(
            {"healthy": lottery["healthy"] + lottery["dead"], **{i: lottery[i] for i in ITEMS}, "dead": 0.0}
        )
        assert rank_dependent_utility(better, TRUE, PrelecWeighting()) >= rank_dependent_utility(
            lottery, TRUE, PrelecWeighting()
        )


def test_anchoring_shows_in_schedules_and_its_absence_does_not():
    """Rising levels end lower than falling ones for whoever is drawn to what was shown before."""

    def start(schedule):
        return STARTS["gamble"](schedule=schedule, tolerance=0.01)

    steady = schedule_sensitivity(start, SimulatedRespondent(TRUE))
    assert steady.greatest_spread <= 0.01
    assert steady.ways == tuple(SCHEDULES)
    drawn = schedule_sensitivity(start, SimulatedRespondent(TRUE, anchoring=0.6))
    assert drawn.shifts["ascending"] < drawn.shifts["descending"] - 0.05
    assert drawn.greatest_spread > 0.05


def test_anchors_matter_to_the_biased_only():
    """Chained gambles agree for the rational and not for who weighs chances."""
    anchors = [("dead", "healthy"), ("blind", "healthy")]
    steady = anchor_sensitivity(["lame"], anchors, SimulatedRespondent(TRUE), tolerance=1e-3)
    assert steady.utilities == pytest.approx(np.full((1, 2), TRUE["lame"]), abs=3e-3)
    biased = anchor_sensitivity(
        ["lame"], anchors, SimulatedRespondent(TRUE, weighting=PrelecWeighting(0.5)), tolerance=1e-3
    )
    assert biased.greatest_spread > 0.02


def test_reversals_are_named():
    """Pairs that two ways order differently, and only those."""
    report = compare_elicitations({"x": {"a": 0.1, "b": 0.2, "c": 0.3}, "y": {"a": 0.2, "b": 0.1, "c": 0.3}})
    assert report.reversals == (("b", "a", "x", "y"),)
    refuses(InvalidArgument, "in common", compare_elicitations, {"x": {"a": 0.1}, "y": {"b": 0.1}})
    refuses(InvalidArgument, "nothing to compare", compare_elicitations, {})


def test_noise_is_seeded_and_shrinks_away():
    """The same seed gives the same answers; small noise gives a small error on average."""
    sessions = [run_session(STARTS["gamble"](), SimulatedRespondent(TRUE, noise=0.1, seed=3)) for _ in range(2)]
    assert sessions[0].answers == sessions[1].answers
    errors = [
        abs(run_session(STARTS["gamble"](), SimulatedRespondent(TRUE, noise=noise, seed=seed)).result["lame"] - 0.62)
        for noise in (0.02, 0.2)
        for seed in range(40)
    ]
    assert np.mean(errors[:40]) < 0.04 < np.mean(errors[40:])
    refuses(InvalidArgument, "noise", SimulatedRespondent, TRUE, noise=-1)
    with pytest.raises(InvalidArgument, match="no better"):
        SimulatedRespondent(TRUE)(scale_question("lame", "healthy", "dead", (0, 1)))


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
