"""Results show what they print, are values, and tell their fields in plain types."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import plausible as pb
from plausible.base.records import Result, record, to_plain


@record
class Reading(Result):
    """One line."""

    degrees: float

    def __str__(self) -> str:
        return f"{self.degrees} degrees"


@record
class Warm(Reading):
    """A record of a record, which prints as that does."""

    place: str


@record(eq=False)
class Series(Result):
    """Two lines, and an array."""

    degrees: np.ndarray

    def __str__(self) -> str:
        return "\n".join(map(str, self.degrees))


@record
class Week(Result):
    """Several records."""

    _rows = "readings"

    week: int
    readings: tuple[Reading, ...]

    def __str__(self) -> str:
        return f"week {self.week}"


def test_one_line_is_shown_with_its_kind_and_more_as_they_are():
    assert repr(Reading(20.0)) == "<Reading: 20.0 degrees>"
    assert repr(Warm(20.0, "here")) == "<Warm: 20.0 degrees>"
    assert repr(Series(np.array([1, 2]))) == "1\n2"


def test_a_notebook_shows_the_same():
    assert "20.0 degrees" in Reading(20.0)._repr_html_()


def test_records_are_values():
    """Equal by content, unless told otherwise; frozen; copied and pickled."""
    assert Reading(1.0) == Reading(1.0) != Reading(2.0)
    assert len({Reading(1.0), Reading(1.0)}) == 1
    assert Series(np.ones(2)) != Series(np.ones(2))
    for made in (copy.deepcopy(Warm(1.0, "x")), pickle.loads(pickle.dumps(Warm(1.0, "x")))):
        assert made == Warm(1.0, "x")
    with pytest.raises(FrozenInstanceError):
        Reading(1.0).degrees = 2.0


def test_what_does_not_print_is_no_record():
    """Its repr would ask for its text, which would ask for its repr."""
    with pytest.raises(TypeError, match="give Silent a __str__"):

        @record
        class Silent(Result):
            number: int


def test_fields_are_told_in_types_that_json_knows():
    """Nested records, arrays, sets, graphs, factors and keys that are no text."""
    week = Week(1, (Reading(1.5), Warm(2.5, "here")))
    assert week.to_dict() == {"week": 1, "readings": [{"degrees": 1.5}, {"degrees": 2.5, "place": "here"}]}
    assert Series(np.array([[1, 2]])).to_dict() == {"degrees": [[1, 2]]}
    told = {
        ("a", np.int64(1)): frozenset("ba"),
        2: pb.DAG("A -> B"),
        "factor": pb.Factor([pb.Variable("A", ["no", "yes"])], [0.25, 0.75]),
        "none": None,
    }
    plain = {"a, 1": ["a", "b"], "2": "A -> B", "factor": {"no": 0.25, "yes": 0.75}, "none": None}
    assert to_plain(told) == json.loads(json.dumps(to_plain(told))) == plain


def test_no_entry_is_lost_or_told_in_an_order_of_chance():
    """Keys that would be the same text stay apart; sets are sorted; infinite numbers are text, and NaN is None."""
    assert to_plain({("a", "b, c"): 1, ("a, b", "c"): 2}) == {"('a', 'b, c')": 1, "('a, b', 'c')": 2}
    assert to_plain({frozenset("cab"): math.nan, "b": [math.inf]}) == {"a, b, c": None, "b": ["inf"]}


def test_a_frame_has_a_row_for_each_record_that_is_listed_or_one():
    frame = Week(1, (Reading(1.5), Reading(2.5))).to_frame()
    assert frame.to_dict("list") == {"degrees": [1.5, 2.5]}
    empty = Week(1, ()).to_frame()
    assert (len(empty), list(empty.columns)) == (0, ["degrees"])
    assert Warm(1.0, "here").to_frame().to_dict("list") == {"degrees": [1.0], "place": ["here"]}


def test_verdicts_that_are_properties_are_told_with_the_fields():
    """Also in the columns of a frame without rows."""
    graph, rows = pb.CausalGraph("Z -> X -> Y; Z -> Y"), {"a": [0, 0, 1, None], "b": [0, 1, 1, 1]}
    check = pb.causal.check_adjustment(graph, "Y", "X", [])
    assert (check.to_dict()["is_valid"], check.is_valid) == (False, False)
    net = pb.BayesianNetwork(pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("B", [[0.8, 0.2], [0.2, 0.8]], parents=["A"]))
    impact = net.evidence_impact("A", {"B": 1})
    (told,) = impact.to_dict()["findings"]
    assert told["divergence"] == pytest.approx(0.8 * math.log(1.6) + 0.2 * math.log(0.4))
    assert told["change"] == pytest.approx({"0": -0.3, "1": 0.3})
    diagram = pb.InfluenceDiagram(
        [pb.TableCPD("M", [0.5, 0.5])], [pb.Decision("D", ["no", "yes"])], [pb.Utility(["M", "D"], [[0, -4], [0, 8]])]
    )
    worth = diagram.value_of_information("M", decision="D", cost=0.5).to_dict()
    assert (worth["value"], worth["net_value"], worth["is_worthwhile"]) == (2.0, 1.5, True)
    score = pb.learn.score_incomplete("a -> b", rows, "bic").to_dict()
    assert score["value"] == pytest.approx(sum(score["terms"].values()))
    compared = pb.learn.compare_scores("a -> b", rows, ["bic"]).to_dict()
    assert compared["scores"]["a -> b"]["bic"]["value"] == pytest.approx(score["value"])
    assert json.loads(json.dumps([worth, score, compared, told])) == [worth, score, compared, told]


def test_bounds_tell_their_ends_and_what_they_are():
    shares = np.array([[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]])
    effect = pb.causal.average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})
    trial = pb.Factor({"A": 2, "T": 2, "O": 2}, shares / 2)
    told = pb.causal.bounds("A -> T -> O; T <-> O", effect, trial).to_dict()
    assert [told[name] for name in ("lower", "upper", "width")] == pytest.approx([0.392, 0.78, 0.388])
    assert (told["is_identified"], told["latent"]) == (False, [])
    assert told == json.loads(json.dumps(told))


def test_infinite_numbers_are_told_by_name_and_stay_numbers_in_frames():
    """JSON has no infinity: "inf" is one that `float` reads; NaN, which says nothing, is null."""
    told = pb.inference.QueryInfo("x", exact=False, error=math.inf, residual=-math.inf, r_hat=math.nan)
    document = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert (document["error"], document["residual"], document["r_hat"]) == ("inf", "-inf", None)
    assert told.to_frame()["error"].tolist() == [math.inf]
    assert to_plain({"a": [np.float64(np.inf), (1.0, -math.inf)]}) == {"a": ["inf", [1.0, "-inf"]]}


def test_exact_answers_have_no_error():
    assert pb.inference.QueryInfo("x", error=0.0).error == 0.0
    with pytest.raises(pb.errors.InvalidArgument, match=r"error=0\.5"):
        pb.inference.QueryInfo("x", exact=True, error=0.5)
