"""`plausible troubleshoot`: advice, plans, and sessions from the terminal or a pipe."""

from __future__ import annotations

import io
import json

import pytest

import plausible as pb
from plausible.examples.printer import printer_costs, printer_network, printer_troubleshooter

COSTS = printer_costs()
ROWS = [
    "component,observe,repair,ok",
    *(f"{name},{COSTS.observe[name]},{COSTS.repair[name]},ok" for name in COSTS.repair),
    *(f"{name},{COSTS.observe[name]},," for name in COSTS.tests),
    f"service call,,{COSTS.service},",
]


@pytest.fixture
def printer(tmp_path):
    """The arguments for the printer, whose network and costs are in files."""
    pb.save(printer_network(), tmp_path / "printer.json")
    (tmp_path / "costs.csv").write_text("\n".join(ROWS))
    return ("troubleshoot", str(tmp_path / "printer.json"), "--costs", str(tmp_path / "costs.csv"))


GOAL = ("--works", "no page=prints")


def test_advice_is_that_of_the_library(plausible, printer):
    """As text and as JSON, with what was seen before."""
    advice = printer_troubleshooter().start({"panel": "clear"}).advice
    code, text, errors = plausible(*printer, *GOAL, "-e", "panel=clear")
    assert (code, errors) == (0, "")
    assert text.startswith(str(advice))
    assert "without tests: " + ", ".join(advice.sequence) in text
    _, text, _ = plausible(*printer, *GOAL, "-e", "panel=clear", "--json")
    found = json.loads(text)
    assert [one["expected_cost"] for one in found["alternatives"]] == pytest.approx(
        [one.expected_cost for one in advice.alternatives]
    )
    assert (found["alternatives"][0]["step"], found["reason"]) == (advice.best.step.kind, advice.reason)


def test_the_plan_is_printed_as_far_as_asked_for(plausible, printer):
    """Each outcome with its probability and what to do then."""
    _, text, _ = plausible(*printer, *GOAL, "--depth", "2")
    plan = text.split("\n\n")[1].splitlines()
    assert plan[0] == "test queue (1)"
    assert plan[1].startswith("  empty 0.5")
    assert all(line.endswith("...") or "test" in line or "done" in line for line in plan[2:])


def test_a_session_asks_until_the_device_works(plausible, printer, monkeypatch):
    """Mistakes are told and asked again; `why`, `undo` and another step are understood."""
    said = "jobs wait\nblue\nwhy\nundo\njobs wait\nclear\ndo observe paper\nok\ndo repair cable\nperhaps\nYes\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    code, text, errors = plausible(*printer, *GOAL, "--session")
    assert (code, errors) == (0, "")
    assert "'blue' is not a state of 'panel'" in text
    assert "Test panel: expected cost" in text
    assert "Please answer yes or no, not 'perhaps'" in text
    assert text.endswith(
        "1. test queue: jobs wait\n2. test panel: clear\n3. observe paper: ok\n4. repair cable: it works\n"
        "it works; paid 5.5\n"
    )


@pytest.mark.parametrize("said", ["jobs wait\n", "jobs wait\nquit\n", "undo\njobs wait\n"])
def test_the_end_of_the_input_ends_a_session(plausible, printer, monkeypatch, said):
    """With JSON, questions go to standard error and what happened to standard output."""
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    code, text, errors = plausible(*printer, *GOAL, "--session", "--json")
    assert code == 0
    assert json.loads(text) == {
        "history": [{"step": "test", "name": "queue", "cost": 1.0, "outcome": "jobs wait"}],
        "cost": 1.0,
        "is_fixed": False,
    }
    assert "What do you see? [empty/jobs wait]" in errors


def test_a_session_ends_with_a_call(plausible, tmp_path, printer, monkeypatch):
    """Where it is the best step, nothing is asked."""
    cheap = [row.replace("90.0", "0.1") if row.startswith("service") else row for row in ROWS]
    (tmp_path / "costs.csv").write_text("\n".join(cheap))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    _, text, _ = plausible(*printer, *GOAL, "--session")
    assert text.endswith("call service (0.1)\n1. call service\nit works; paid 0.1\n")


@pytest.mark.parametrize(
    ("change", "arguments", "told"),
    [
        (("paper,1.0,2.0,ok", "paper,1.0,2.0,"), GOAL, "'paper' has no state in the column ok"),
        (("paper,", "papper,"), GOAL, "'papper' is not a variable of this model. Did you mean 'paper'"),
        (("paper,1.0,2.0,ok", "paper,1.0,2.0,fine"), GOAL, "'fine' is not a state of 'paper'"),
        (("paper,1.0", "paper,much"), GOAL, "costs.csv:2: 'much'"),
        (("", ""), ("--works", "page=1"), "'page' is not a variable"),
        (("", ""), ("--works", "no page=prints,queue=empty"), "--works is one variable"),
        (("", ""), (*GOAL, "-e", "no page=prints"), "does not work"),
    ],
)
def test_mistakes_end_in_one_line(plausible, printer, tmp_path, change, arguments, told):
    file = tmp_path / "costs.csv"
    file.write_text(file.read_text().replace(*change, 1))
    code, text, errors = plausible(*printer, *arguments)
    assert (code, text, errors.count("\n")) == (2, "", 1)
    assert told in errors


def test_a_markov_network_is_refused(plausible, printer, tmp_path):
    pb.save(printer_network().to_markov_network(), tmp_path / "field.json")
    code, _, errors = plausible("troubleshoot", str(tmp_path / "field.json"), *printer[2:], *GOAL)
    assert code == 2
    assert "is no Bayesian network" in errors
