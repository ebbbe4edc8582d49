"""`plausible tornado` and `plausible sensitivity`: the parameters that an answer hangs on."""

from __future__ import annotations

import json

import numpy as np
import pytest

import plausible as pb


def posterior(rate: float) -> float:
    """P(lung=yes | xray=yes) by enumeration, where an X-ray raises a false alarm at this rate."""
    asia = pb.examples.load("asia")
    xray = pb.TableCPD("xray", [[0.98, 0.02], [rate, 1 - rate]], parents=["either"], states=["yes", "no"])
    joint = asia.with_cpd(xray).joint().reduce({"xray": "yes"}).marginal("lung")
    return float(joint.normalize()["yes"])


def test_sensitivity_solves_for_the_parameter(plausible):
    """With the number that it names, enumeration gives the probability that was asked for."""
    arguments = ("sensitivity", "asia", "lung=yes", "P(xray=yes | either=no)", "-e", "xray=yes", "--solve", "0.8")
    code, text, _ = plausible(*arguments, "--json")
    found = json.loads(text)
    assert code == 0
    assert posterior(found["solve"]["value"]) == pytest.approx(0.8)
    assert found["probability"] == pytest.approx(posterior(0.05))
    assert (found["at_zero"], found["at_one"]) == pytest.approx((posterior(0.0), posterior(1.0)))
    assert found["slope"] == pytest.approx((posterior(0.0501) - posterior(0.0499)) / 2e-4, rel=1e-4)
    formula = (found["a"] * 0.3 + found["b"]) / (found["c"] * 0.3 + found["d"])
    assert formula == pytest.approx(posterior(0.3))
    _, text, _ = plausible(*arguments)
    assert text.endswith("P(lung=yes | evidence) = 0.8 at P(xray=yes | either=no) = 0.00411\n")


@pytest.mark.parametrize("written", ["xray=yes|either=no", "P( xray=yes | either=no )", 'P("xray"=yes | either=no)'])
def test_parameters_may_be_written_in_several_ways(plausible, written):
    """With or without P and brackets, blanks and quotes."""
    plain = plausible("sensitivity", "asia", "lung=yes", "P(xray=yes | either=no)")
    assert plausible("sensitivity", "asia", "lung=yes", written) == plain


def test_what_no_parameter_gives_is_told_with_exit_code_one(plausible):
    """The range that can be had; and that a parameter does not matter."""
    arguments = ("sensitivity", "asia", "lung=yes", "P(xray=yes | either=no)", "-e", "xray=yes", "--solve", "0.999")
    code, text, errors = plausible(*arguments)
    assert (code, errors) == (1, "")
    assert text.endswith(f"can only be {posterior(1.0):.6g} to {posterior(0.0):.6g}\n")
    assert json.loads(plausible(*arguments, "--json")[1])["solve"]["value"] is None
    code, text, _ = plausible(*arguments[:3], "P(dysp=yes | bronc=yes, either=no)", *arguments[4:])
    assert code == 1
    assert "does not matter" in text


def test_the_tornado_lists_what_moves_most(plausible):
    """At both ends enumeration agrees; the bars fall and rise from where the probability is now."""
    arguments = ("tornado", "asia", "lung=yes", "-e", "xray=yes", "--vary", "absolute", "--amount", "0.04")
    found = json.loads(plausible(*arguments, "--limit", "24", "--json")[1])
    rows = {row["parameter"]: row for row in found["tornado"]}
    alarms = rows["P(xray=yes | either=no)"]
    assert (alarms["at_low"], alarms["at_high"]) == pytest.approx((posterior(0.01), posterior(0.09)))
    swings = [row["swing"] for row in rows.values()]
    assert np.all(np.diff(swings) <= 1e-6)
    assert found["parameters"] == 24
    first, *_, last = plausible(*arguments, "--limit", "3")[1].splitlines()
    assert first == "P(lung=yes | evidence) = 0.488711; each of 24 parameters varied by 0.04"
    assert set(last.split()[-1]) == set("-|+")


def test_a_tornado_of_what_is_known_has_no_rows(plausible):
    """Evidence about the target itself."""
    code, text, _ = plausible("tornado", "asia", "lung=yes", "-e", "lung=yes")
    assert code == 0
    assert text.startswith("P(lung=yes | evidence) = 1, whatever the parameters are")
