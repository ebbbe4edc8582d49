"""`plausible troubleshoot`: advice, plans, and sessions from the terminal or a pipe."""

from __future__ import annotations

import io
import json
import shlex

import pytest

import plausible as pb
from plausible.decisions import exact_plan, optimal_plan, plan_text
from plausible.examples.library import printer_costs, printer_network, printer_troubleshooter

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


NOT_SAVED = "Ended early, and not saved: a session begun with --save FILE can be gone on with.\n"
GOAL = ("--works", "no page=prints")


def test_advice_is_that_of_the_library(plausible, printer):
    """As text and as JSON, with what was seen before."""
    advice = printer_troubleshooter().start({"panel": "clear", "driver": "ok"}).advice
    code, text, errors = plausible(*printer, *GOAL, "-e", "panel=clear,driver=ok")
    assert (code, errors) == (0, "")
    assert text.startswith(str(advice))
    assert "without tests: " + ", ".join(advice.sequence) in text
    _, text, _ = plausible(*printer, *GOAL, "-e", "panel=clear,driver=ok", "--json")
    found = json.loads(text)
    assert [one["estimated_cost"] for one in found["alternatives"]] == pytest.approx(
        [one.estimated_cost for one in advice.alternatives]
    )
    assert (found["alternatives"][0]["step"], found["reason"]) == (advice.best.step.kind, advice.reason)


def test_exact_figures_stand_beside_the_estimates(plausible, printer, monkeypatch):
    """Of following the advice, and of the best plan, which may begin with another step; both as text and as JSON."""
    monkeypatch.setattr("plausible.cli.troubleshoot._MOMENT", 60)
    known = {"panel": "clear", "driver": "ok"}
    session = printer_troubleshooter().start(known)
    advised, best = exact_plan(session), optimal_plan(session)
    given = ",".join(f"{name}={state}" for name, state in known.items())
    _, text, _ = plausible(*printer, *GOAL, "-e", given)
    assert f"following this advice: expected cost {advised.expected_cost:.6g}, exactly\n" in text
    assert f"the best plan: expected cost {best.expected_cost:.6g}, beginning with {best.step}\n" in text
    assert text.count("expected cost") == 2
    _, text, _ = plausible(*printer, *GOAL, "-e", given, "--json")
    found = json.loads(text)
    assert found["advised_plan"]["expected_cost"] == pytest.approx(advised.expected_cost)
    assert found["best_plan"]["expected_cost"] == pytest.approx(best.expected_cost)
    assert found["best_plan"]["first"]["name"] == best.step.name


def test_where_exact_figures_take_too_long_the_estimates_say_that_they_are(plausible, printer, monkeypatch):
    monkeypatch.setattr("plausible.cli.troubleshoot._MOMENT", 0)
    _, text, _ = plausible(*printer, *GOAL)
    assert text.endswith("too large for an exact figure in a moment.\n")
    assert "expected cost" not in text
    _, text, _ = plausible(*printer, *GOAL, "--json")
    assert (json.loads(text)["advised_plan"], json.loads(text)["best_plan"]) == (None, None)


def test_without_a_service_row_the_chance_to_stay_broken_is_told(plausible, tmp_path):
    """And the help says what the row is for."""
    net = pb.BayesianNetwork(
        pb.TableCPD("fuse", [0.7, 0.3], states=["ok", "blown"]), pb.NoisyOr("dark", ["fuse"], [1.0], leak=0.2)
    )
    pb.save(net, tmp_path / "lamp.json")
    (tmp_path / "costs.csv").write_text("component;observe;repair;ok\nfuse;;5;ok\n")
    lamp = (
        "troubleshoot",
        str(tmp_path / "lamp.json"),
        "--costs",
        str(tmp_path / "costs.csv"),
        "--works",
        "dark=false",
    )
    _, text, _ = plausible(*lamp, "--depth", "3")
    assert "still broken in the end with probability 0.455\n" in text
    assert "  it fails 0.455: still broken, nothing left to try\n" in text
    assert text.endswith("still broken in the end: probability 0.455\nexpected cost 5\n")
    _, text, _ = plausible("troubleshoot", "--help")
    assert 'The row "service call" is optional' in " ".join(text.split())


def test_the_plan_is_printed_as_far_as_asked_for(plausible, printer, monkeypatch):
    """Each outcome with its probability and what to do then."""
    monkeypatch.setattr("plausible.cli.troubleshoot._MOMENT", 0.0)  # no exact figures, which take longer
    _, text, _ = plausible(*printer, *GOAL, "--depth", "2")
    plan = text.split("\n\n")[1].splitlines()
    assert plan[0] == "test queue (1)"
    assert plan[1].startswith("  empty 0.5")
    assert all(line.endswith("...") or "test" in line or "done" in line for line in plan[2:-1])
    assert plan[-1].startswith("cost, with estimates for what comes after the dots: 1")


def test_a_session_asks_until_the_device_works(plausible, printer, monkeypatch):
    """Mistakes are told and asked again; `why`, `undo` and another step are understood."""
    said = "jobs wait\nblue\nwhy\nundo\njobs wait\nclear\ndo observe paper\nok\ndo repair cable\nperhaps\nYes\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    code, text, errors = plausible(*printer, *GOAL, "--session")
    assert (code, errors) == (0, "")
    assert "'blue' is not a state of 'panel'" in text
    assert "Test panel: estimated cost" in text
    assert "Please answer yes or no, not 'perhaps'" in text
    assert text.endswith(
        "1. test queue: jobs wait\n2. test panel: clear\n3. observe paper: ok\n4. repair cable: it works\n"
        "it works; paid 5.5\n"
    )


def test_help_is_shown_on_request(plausible, printer, monkeypatch):
    """All words of a session, once they are asked for; every question tells the word."""
    monkeypatch.setattr("sys.stdin", io.StringIO("help\nstop\n"))
    _, text, _ = plausible(*printer, *GOAL, "--session")
    first, *rest = text.splitlines()
    assert first == "test queue (1). What do you see? [empty/jobs wait, or help]"
    assert rest[0].startswith("Answer with what you see")
    for word in ("why", "do STEP", "undo", "stop", "help"):
        assert f"\n  {word} " in text
    assert text.endswith("it does not work; paid 0\n" + NOT_SAVED)


def test_a_state_that_is_called_stop_is_an_answer(plausible, tmp_path, monkeypatch):
    net = pb.BayesianNetwork(
        pb.TableCPD("valve", [0.7, 0.3], states=["ok", "stuck"]),
        pb.TableCPD("sign", [[0.9, 0.1], [0.2, 0.8]], parents=["valve"], states=["go", "stop"]),
        pb.NoisyOr("dry", ["valve"], [1.0], leak=0.5),
    )
    pb.save(net, tmp_path / "pump.json")
    (tmp_path / "costs.csv").write_text("component,observe,repair,ok\nvalve,,10,ok\nsign,0.1,,\nservice call,,60,\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("stop\nyes\n"))
    pump = ("troubleshoot", str(tmp_path / "pump.json"), "--costs", str(tmp_path / "costs.csv"), "--works", "dry=false")
    _, text, _ = plausible(*pump, "--session")
    assert text.endswith("1. test sign: stop\n2. repair valve: it works\nit works; paid 10.1\n")


def test_a_session_is_saved_and_gone_on_with(plausible, printer, tmp_path, monkeypatch):
    """After each step; the end of the input tells the very command, which then does what one session does."""
    file = tmp_path / "my session.json"
    monkeypatch.setattr("sys.stdin", io.StringIO("jobs wait\n"))
    _, text, _ = plausible(*printer, *GOAL, "-e", "panel=clear", "--save", str(file))
    again = text.splitlines()[-1].removeprefix("Ended early. Go on with: ")
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    program, *arguments = shlex.split(again)
    assert program == "plausible"
    code, text, _ = plausible(*arguments)
    assert code == 0
    assert text.endswith("1. test queue: jobs wait\n2. repair cable: it works\nit works; paid 4\n")
    kept = printer_troubleshooter().resume(json.loads(file.read_text()))
    assert (kept.is_fixed, kept.cost, kept.findings[0].value) == (True, 4, "clear")


def test_an_interrupted_session_says_how_to_go_on(plausible, printer, tmp_path, monkeypatch):
    """Ctrl-C at a question: the step before it is in the file."""

    class Impatient(io.StringIO):
        def readline(self, *_):
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    file = tmp_path / "session.json"
    monkeypatch.setattr("sys.stdin", Impatient("jobs wait\n"))
    code, _, errors = plausible(*printer, *GOAL, "--save", str(file))
    assert code == 130
    assert f"--resume {file}\n" in errors
    assert len(json.loads(file.read_text())["history"]) == 1
    monkeypatch.setattr("sys.stdin", Impatient())
    _, _, errors = plausible(*printer, *GOAL, "--session")
    assert NOT_SAVED in errors


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        ("{}", ("--save", "{file}"), "is there already"),
        ("{}", ("--resume", "{file}"), "session.json: This is no saved session: it has no 'works'"),
        ("[1]", ("--resume", "{file}"), "but a JSON list"),
        ("so what", ("--resume", "{file}"), "This is no saved session: "),
        ("{}", ("--resume", "{file}", "-e", "panel=clear"), "leave out --evidence"),
        (None, ("--resume", "{file}"), "No such file"),
    ],
)
def test_files_that_are_no_session_are_refused_in_one_line(plausible, printer, tmp_path, content, arguments, told):
    file = tmp_path / "session.json"
    if content is not None:
        file.write_text(content)
    code, text, errors = plausible(*printer, *GOAL, *(one.format(file=file) for one in arguments))
    assert (code, text, errors.count("\n")) == (2, "", 1)
    assert told in errors


@pytest.mark.parametrize("said", ["jobs wait\n", "jobs wait\nstop\n", "undo\njobs wait\n"])
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
    assert "What do you see? [empty/jobs wait, or help]" in errors


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
        (
            ("paper,1.0,2.0,ok", "paper,1.0,2.0,"),
            GOAL,
            "costs.csv:2: The component 'paper' has no state in the column ok",
        ),
        (("paper,", "papper,"), GOAL, "costs.csv:2: 'papper' is not a variable of this model. Did you mean 'paper'"),
        (("paper,1.0,2.0,ok", "paper,1.0,2.0,fine"), GOAL, "costs.csv:2: 'fine' is not a state of 'paper'"),
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


def test_the_best_plan_is_printed_and_followed(plausible, printer, monkeypatch):
    """It begins with another step than the advice, and its cost stands below it; no depth goes with it."""
    session = printer_troubleshooter().start({"panel": "clear", "driver": "ok"})
    best = optimal_plan(session)
    assert best.step != session.next_step()
    given = (*GOAL, "-e", "panel=clear,driver=ok", "--best")
    _, text, _ = plausible(*printer, *given)
    assert text == f"{plan_text(best)}\nexpected cost {best.expected_cost:.6g}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    _, text, _ = plausible(*printer, *given, "--session")
    second = optimal_plan(session.after(best.step, False)).step
    assert [line.split(" (")[0] for line in text.splitlines()[:2]] == [str(best.step), str(second)]
    code, _, errors = plausible(*printer, *given, "--depth", "2")
    assert (code, errors.startswith("plausible: --depth")) == (2, True)


def _tree(plan):
    """What the JSON of a plan must be, written down independently."""
    step = plan.step and {"step": plan.step.kind, "name": plan.step.name, "cost": plan.step.cost}
    outcomes = [{"outcome": told, "chance": chance, "then": _tree(after)} for told, chance, after in plan.outcomes]
    return {
        "step": step,
        "expected_cost": plan.expected_cost,
        "is_exact": plan.is_exact,
        "is_fixed": plan.is_fixed,
        "chance_unfixed": plan.chance_unfixed,
        "outcomes": outcomes,
    }


def test_plans_are_trees_in_json(plausible, printer):
    """The best plan in place of the advice, the advised one beside it as far as asked for."""
    session = printer_troubleshooter().start({"panel": "clear", "driver": "ok"})
    given = (*GOAL, "-e", "panel=clear,driver=ok", "--json")
    _, text, _ = plausible(*printer, *given, "--best")
    assert json.loads(text) == _tree(optimal_plan(session))
    _, text, _ = plausible(*printer, *given, "--depth", "2")
    assert json.loads(text)["plan"] == _tree(exact_plan(session, depth=2))
    assert "plan" not in json.loads(plausible(*printer, *given)[1])


def test_a_session_gone_on_with_at_other_costs_keeps_what_was_paid(plausible, printer, tmp_path, monkeypatch):
    file, costs = tmp_path / "session.json", tmp_path / "costs.csv"
    monkeypatch.setattr("sys.stdin", io.StringIO("jobs wait\n"))
    plausible(*printer, *GOAL, "--save", str(file))
    costs.write_text(costs.read_text().replace("queue,1.0", "queue,77"))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    _, text, _ = plausible(*printer, *GOAL, "--resume", str(file))
    assert "1. test queue: jobs wait\nit does not work; paid 1\n" in text
