"""The command line, called as a user calls it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import plausible as pb
from plausible.cli.commands import COMMANDS as NAMES

#: What `plausible troubleshoot asia` reads.
COSTS = "component,observe,repair,ok\nbronc,4,10,no\nlung,20,90,no\ntub,,30,no\nxray,3,,\n"

COMMANDS = [
    ("info", "asia"),
    ("info", "misconception"),
    ("info", "gaussian-chain"),
    ("show", "asia", "dysp"),
    ("show", "misconception"),
    ("show", "gaussian-chain"),
    ("query", "asia", "lung,bronc", "--evidence", "xray=yes,smoke=no"),
    ("query", "misconception", "A", "--evidence", "B=b0"),
    ("query", "student", "L", "--do", "G=A"),
    ("marginals", "asia", "--evidence", "xray=yes"),
    ("marginals", "asia", "-t", "lung,bronc"),
    ("marginals", "misconception", "B", "--budget-seconds", "5"),
    ("marginals", "gaussian-chain", "-e", "X2=1"),
    ("moments", "gaussian-chain", "X1,X3", "-e", "X2=-0.5"),
    ("moments", "gaussian-chain", "-t", "X3", "--do", "X2=1"),
    ("mpe", "asia", "-e", "xray=yes"),
    ("mpe", "misconception"),
    ("map", "asia", "-t", "lung,bronc", "-e", "xray=yes"),
    ("map", "student", "I", "D", "--do", "G=A"),
    ("map", "misconception", "A"),
    ("sample", "asia", "-n", "2", "--seed", "1", "-e", "xray=yes"),
    ("sample", "misconception", "-n", "2"),
    ("explain", "alarm"),
    ("explain", "misconception"),
    ("explain", "asia", "-t", "lung", "-e", "xray=yes", "--do", "smoke=no"),
    ("tornado", "asia", "lung=yes", "-e", "xray=yes"),
    ("sensitivity", "asia", "lung=yes", "P(xray=yes | either=no)", "-e", "xray=yes", "--solve", "0.8"),
    ("dsep", "asia", "smoke", "tub", "--given", "xray"),
    ("dsep", "misconception", "A", "C", "--given", "B,D"),
    ("independencies", "asia"),
    ("independencies", "A -> B -> C", "--kind", "all"),
    ("independencies", "A - B - C", "--kind", "pairwise"),
    ("compare", "burglary", "earthquake"),
    ("compare", "A -> B -> C", "A -> B <- C"),
    ("demo",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_prints_text_and_json(plausible, command):
    """Each command succeeds, says something, and with --json says it as one JSON document."""
    code, text, errors = plausible(*command)
    assert (code, errors) == (0, "")
    assert text.strip()
    code, text, errors = plausible(*command, "--json")
    assert (code, errors) == (0, "")
    assert isinstance(json.loads(text), dict)


def test_info_tells_the_size_of_asia(plausible):
    """Eight variables, eight edges, eighteen parameters."""
    _, text, _ = plausible("info", "asia", "--json")
    facts = json.loads(text)
    assert (facts["variables"], facts["edges"], facts["parameters"]) == (8, 8, 18)
    assert facts["induced_width"] == 2
    assert facts["polytree"] is False


def test_info_of_a_model_without_a_name_shows_where_it_came_from(plausible, tmp_path):
    """Files in the wild have no name: the source stands in its place."""
    target = str(tmp_path / "nameless.uai")
    plausible("convert", "asia", target)
    code, text, _ = plausible("info", target)
    assert code == 0
    assert text.startswith(target)


def test_the_version_is_told(plausible):
    """As the package has it."""
    assert plausible("--version")[1] == f"plausible {pb.__version__}\n"


def test_the_format_can_be_named_where_the_ending_does_not_tell(plausible, tmp_path):
    """--format decides."""
    target = tmp_path / "asia.txt"
    assert plausible("convert", "asia", str(target), "--format", "bif")[0] == 0
    assert pb.load(target, format="bif") == pb.examples.load("asia")


def test_comparing_networks_compares_their_numbers_too(plausible):
    """Burglary and earthquake have the same graph and other priors."""
    _, text, _ = plausible("compare", "burglary", "earthquake", "--json")
    found = json.loads(text)
    assert found["shd"] == 0
    assert found["parameters"]["Burglary"] == pytest.approx(0.009)
    assert found["parameters"]["Alarm"] == 0


def test_show_prints_the_table(plausible):
    """The row of a parent assignment holds the numbers of the network."""
    _, text, _ = plausible("show", "asia", "xray")
    assert "yes    |     0.98 |    0.02" in text


def test_dsep_gives_the_verdict_and_the_reason(plausible):
    """A collider opened by its observed descendant."""
    _, text, _ = plausible("dsep", "asia", "smoke", "tub", "--given", "xray")
    assert "d-connected" in text
    assert "either is a collider and its descendant xray is observed" in text
    _, text, _ = plausible("dsep", "asia", "smoke", "tub", "--json")
    assert json.loads(text)["separated"] is True


@pytest.mark.parametrize("ending", ["bif", "xml", "xdsl", "net", "json", "bif.gz"])
def test_convert_writes_the_same_model(plausible, tmp_path, ending):
    """What was converted loads as the network that went in."""
    target = tmp_path / f"asia.{ending}"
    code, text, _ = plausible("convert", "asia", str(target))
    assert code == 0
    assert "8 variables" in text
    assert pb.load(target) == pb.examples.load("asia")


def test_compare_counts_what_differs(plausible):
    """One reversed edge: distance one, and not the same class."""
    _, text, _ = plausible("compare", "A -> B -> C", "A -> B <- C", "--json")
    found = json.loads(text)
    assert (found["shd"], found["reversed"], found["i_equivalent"]) == (1, ["B -> C"], False)


def test_demo_answers_as_enumeration_does(plausible):
    """The printed posteriors equal those summed from the joint."""
    _, text, _ = plausible("demo", "--json")
    answer = json.loads(text)["answers"][1]["answer"]
    joint = pb.examples.load("asia").joint().reduce({"dysp": "yes", "xray": "yes"}).marginal("lung").normalize()
    assert answer["yes"] == pytest.approx(joint["yes"], abs=1e-12)


def test_query_prints_the_posterior(plausible):
    """As the library computes it; several states of one variable are joined by a bar."""
    _, text, _ = plausible("query", "asia", "lung", "--evidence", "xray=yes,dysp=yes|no", "--json")
    found = json.loads(text)
    assert found["scope"] == {"lung": ["yes", "no"]}
    expected = pb.examples.load("asia").query("lung", evidence={"xray": "yes"})
    assert found["values"] == pytest.approx(expected.values.tolist(), abs=1e-12)


def test_states_that_are_numbers_are_named_by_their_text(plausible):
    """The chain has the states 0 and 1."""
    _, text, _ = plausible("query", "chain", "A", "--evidence", "C=1", "--json")
    assert json.loads(text)["values"] == pytest.approx([3 / 7, 4 / 7])


def test_marginals_and_mpe_agree_with_the_library(plausible):
    """Every variable has its line; the best assignment its log-probability."""
    asia = pb.examples.load("asia")
    _, text, _ = plausible("marginals", "asia", "-e", "xray=yes", "--json")
    assert json.loads(text)["lung"]["values"][0] == pytest.approx(asia.query("lung", {"xray": "yes"})["yes"])
    _, text, _ = plausible("mpe", "asia", "-e", "xray=yes", "--json")
    best = json.loads(text)
    assert best["states"] == dict(asia.mpe({"xray": "yes"}))
    assert best["log_probability"] == pytest.approx(asia.log_probability(best["states"]))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_maps_a_file_to_a_file(plausible, tmp_path, ending):
    """A row of probabilities and the best state for each row of evidence."""
    rows = pd.DataFrame({"xray": ["yes", None, "no"], "smoke": ["yes", "no", None]})
    source, target = tmp_path / f"rows.{ending}", tmp_path / f"answers.{ending}"
    _ = rows.to_csv(source, index=False) if ending == "csv" else rows.to_parquet(source)
    code, _, errors = plausible("predict", "asia", str(source), "lung", str(target))
    assert (code, errors) == (0, "")
    answers = pd.read_csv(target) if ending == "csv" else pd.read_parquet(target)
    asia = pb.examples.load("asia")
    expected = [
        asia.query("lung", evidence)["yes"]
        for evidence in ({"xray": "yes", "smoke": "yes"}, {"smoke": "no"}, {"xray": "no"})
    ]
    assert answers["P(lung=yes)"].tolist() == pytest.approx(expected)
    assert answers["predicted lung"].tolist() == ["yes" if p > 0.5 else "no" for p in expected]


def test_a_console_without_the_signs_gets_stand_ins(tmp_path):
    """An old console's encoding lacks ⟂: the text still comes out."""
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-c", "from plausible.cli import main; main(['independencies', 'asia'])"]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"asia ? " in done.stdout


MISTAKES = {
    "no finding": (("query", "asia", "lung", "-e", "xray"), "write name=state"),
    "unknown state": (("query", "asia", "lung", "-e", "xray=yse"), "Did you mean 'yes'?"),
    "unknown evidence": (("query", "asia", "lung", "-e", "xrya=yes"), "Did you mean 'xray'?"),
    "two findings": (("query", "asia", "lung", "-e", "xray=yes,xray=no"), "two findings"),
    "impossible evidence": (("marginals", "asia", "-e", "either=no,lung=yes"), "probability zero"),
    "an open quote": (("query", "asia", "lung", "-e", 'xray="yes'), "not closed"),
    "a backslash at the end": (("query", "asia", "lung", "-e", "xray=yes\\"), "nothing after it"),
    "no state": (("query", "asia", "lung", "-e", "xray="), "'' is not a state of 'xray'"),
    "no name": (("query", "asia", "lung", "-e", "=yes"), "'' is not a variable"),
    "one of nothing known": (("query", "asia", "lung", "-e", "xray=yes|mabye"), "'mabye' is not a state"),
    "a likelihood of words": (("query", "asia", "lung", "-e", "xray~yes"), "needs numbers separated by |"),
    "a likelihood too short": (("query", "asia", "lung", "-e", "xray~0.3"), "needs 2 numbers"),
    "a posterior of three halves": (("query", "asia", "lung", "-e", "xray:=1|0.5"), "sums to 1.5"),
    "a word for a number": (("query", "gaussian-chain", "X1", "-e", "X2=high"), "expected a number, not 'high'"),
    "do one of several": (("query", "asia", "lung", "--do", "smoke=yes|no"), "to one value"),
    "do a likelihood": (("query", "asia", "lung", "--do", "smoke~1|2"), "to one value"),
    "do an unknown variable": (("mpe", "asia", "--do", "smoek=yes"), "Did you mean 'smoke'?"),
    "do against evidence": (("marginals", "asia", "-e", "smoke=yes", "--do", "smoke=no"), "contradicts"),
    "do in another Markov network": (("explain", "misconception", "--do", "B=b0"), "no causal direction"),
    "query of nothing": (("query", "asia"), "Name the variables"),
    "query of an unknown variable": (("query", "asia", "lnug"), "Did you mean 'lung'?"),
    "map of nothing": (("map", "asia", "-t", ""), "Name the variables"),
    "map of an unknown variable": (("map", "asia", "-t", "lnug"), "Did you mean 'lung'?"),
    "map of impossible evidence": (("map", "asia", "-t", "tub", "-e", "either=no,lung=yes"), "probability zero"),
    "mpe of impossible evidence": (("mpe", "asia", "-e", "either=no,lung=yes"), "probability zero"),
    "fewer than no rows": (("sample", "asia", "-n", "-1"), "Invalid value for '--rows'"),
    "rows in words": (("sample", "asia", "-n", "many"), "Invalid value for '--rows'"),
    "a negative seed": (("sample", "asia", "--seed", "-1"), "Invalid value for '--seed'"),
    "sample given impossible evidence": (("sample", "asia", "-e", "either=no,lung=yes"), "probability zero"),
    "samples to no table": (("sample", "asia", "-o", "rows.txt"), "neither a .csv nor a .parquet"),
    "samples to no folder": (("sample", "asia", "-o", "nowhere/rows.csv"), "'nowhere/rows.csv'"),
    "do in a Markov network": (("query", "misconception", "A", "--do", "B=b0"), "no causal direction"),
    "no table": (("predict", "asia", "empty.bif", "lung", "out.csv"), "neither a .csv nor a .parquet"),
    "a folder for a model": (("info", "."), "'.' is a folder"),
    "no model": (("info", ""), "'' is neither a file nor an example"),
    "a folder to write samples to": (("sample", "asia", "-o", "folder.csv"), "'folder.csv': Is a directory."),
    "a folder to convert to": (("convert", "asia", "folder.bif"), "Is a directory"),
    "a folder to predict to": (("predict", "asia", "rows.csv", "lung", "folder.csv"), "'folder.csv': Is a directory."),
    "a folder of evidence": (("predict", "asia", "folder.csv", "lung", "out.csv"), "'folder.csv' has no file of data"),
    "no file of evidence": (
        ("predict", "asia", "none.csv", "lung", "out.csv"),
        "No such file: 'none.csv', looked for in",
    ),
    "an empty file of evidence": (("predict", "asia", "empty.csv", "lung", "out.csv"), "The file has no columns"),
    "an empty model": (("query", "empty.bif", "lung"), "empty.bif:1:1:"),
    "predict into its own input": (("predict", "asia", "rows.csv", "lung", "rows.csv"), "is the file to read"),
    "predict an unknown variable": (("predict", "asia", "rows.csv", "lnug", "out.csv"), "Did you mean 'lung'?"),
    "marginals of an unknown variable": (("marginals", "asia", "-t", "lnug"), "Did you mean 'lung'?"),
    "marginals of one twice": (("marginals", "asia", "lung,lung"), "stands twice"),
    "moments of nothing": (("moments", "gaussian-chain"), "Name the variables"),
    "moments of states": (("moments", "asia", "lung"), "Moments are those of continuous targets"),
    "moments in a Markov network": (("moments", "misconception", "A"), "a Markov network has none"),
    "moments of an unknown variable": (("moments", "gaussian-chain", "X9"), "'X9' is not a variable"),
    "states of a continuous variable": (("query", "gaussian-chain", "X1"), "'X1' is continuous"),
    "no budget": (("query", "asia", "lung", "--budget-memory", "0"), "A budget is positive"),
    "no number for a budget": (("explain", "asia", "--budget-seconds", "nan"), "A budget is positive"),
    "less than the budget": (("marginals", "alarm", "--budget-seconds", "1e-9"), "budget"),
    "less memory than needed": (("marginals", "alarm", "--budget-memory", "1e-9"), "budget"),
    "a budget for map": (("map", "asia", "lung", "--budget-seconds", "1"), "No such option"),
    "no side to separate": (("dsep", "asia", "", "tub"), "on both sides"),
    "fewer than none given": (("independencies", "asia", "--kind", "all", "--max-given", "-1"), "--max-given"),
    "unknown example": (("info", "asai"), "Did you mean 'asia'?"),
    "missing file": (("info", "nowhere.bif"), "nowhere.bif"),
    "unknown ending to write": (("convert", "asia", "asia.doc"), "Or name the format, as in --to bif.\n"),
    "unknown ending to read": (("info", "a.doc"), "as in plausible convert a.doc model.json --from bif.\n"),
    "unknown engine": (("query", "asia", "lung", "--engine", "nope"), "'nope' is no engine. There are auto, "),
    "misspelt engine": (("query", "asia", "lung", "--engine", "gibs"), "Did you mean 'gibbs'? There are auto, "),
    "unknown variable": (("dsep", "asia", "smoke", "tubb"), "Did you mean 'tub'?"),
    "unknown variable to show": (("show", "asia", "Dysp"), "Did you mean 'dysp'?"),
    "read-only format": (("convert", "asia", "asia.dne"), "can be read but not written"),
    "no such command": (("inform", "asia"), "No such command"),
    "misspelt command": (("qury", "asia"), "Did you mean 'query'? More:"),
    "no such option": (("info", "asia", "--jsn"), "No such option"),
    "missing argument": (("info",), "Missing argument 'model'. Usage: plausible info [OPTIONS]"),
    "an argument too many": (("sample", "asia", "10"), "; more: plausible sample --help\n"),
    "a finding for a target": (("query", "asia", "lung", "xray=yes"), "write --evidence xray=yes"),
    "no file to learn into": (("learn", "rows.csv", "-o", "net.doc"), "'net.doc' names no format to write"),
    "no folder to learn into": (
        ("learn", "rows.csv", "-o", "nowhere/net.bif"),
        "No such file: 'nowhere/net.bif'. There is no folder",
    ),
    "no file for a mixture": (("cluster", "rows.csv", "-k", "1", "--network", "net.dne"), "no format to write"),
    "graph text": (("dsep", "A -> ", "A", "B"), "expected a node after '->'"),
    "a cycle": (("independencies", "A -> B -> A"), "directed cycle"),
    "option without effect": (("independencies", "asia", "--max-given", "1"), "goes with --kind all"),
    "different nodes": (("compare", "A -> B", "A -> C"), "lacks 'B'"),
    "an event without its state": (("tornado", "asia", "lung"), "lung=yes or lung=no"),
    "two events": (("tornado", "asia", "lung=yes,xray=no"), "not one event"),
    "an event of an unknown variable": (("tornado", "asia", "lnug=yes"), "Did you mean 'lung'?"),
    "a tornado of a Markov network": (("tornado", "misconception", "A=a0"), "is no Bayesian network"),
    "a tornado of numbers": (("tornado", "gaussian-chain", "X1=1"), "not a state of a discrete variable"),
    "an unknown variation": (("tornado", "asia", "lung=yes", "--vary", "twice"), "'absolute' or by 'odds'"),
    "a parameter without its parent": (("sensitivity", "asia", "lung=yes", "P(xray=yes)"), "| either=...)"),
    "a parameter of no parent": (("sensitivity", "asia", "lung=yes", "P(xray=yes | lung=no)"), "parents of 'xray'"),
    "a parameter of two children": (("sensitivity", "asia", "lung=yes", "P(xray=yes, dysp=no)"), "'P(child=state |"),
    "a probability of two": (("sensitivity", "asia", "lung=yes", "P(asia=yes)", "--solve", "2"), "'--solve'"),
    "no model to read": (("query", "-", "lung"), "standard input, which is empty"),
    "no data to read": (("learn", "-", "-o", "net.json"), "standard input, which is empty"),
    "no rows to read": (("predict", "asia", "-", "lung", "-"), "standard input, which is empty"),
    "no format to write": (("convert", "asia", "-"), "name the format, as in --to bif"),
    "an unknown format of a table": (("sample", "asia", "--format", "xls"), "--format is csv or parquet"),
    "copies on standard output": (("impute", "rows.csv", "-o", "-", "--copies", "2"), "so - will not do"),
    "a mixture among its clusters": (
        ("cluster", "rows.csv", "-k", "1", "-o", "-", "--network", "-"),
        "both -, standard output",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_two(plausible, case, tmp_path, monkeypatch):
    """Nothing on standard output, one helpful line on standard error, and no file made or changed."""
    monkeypatch.chdir(tmp_path)
    for folder in ("folder.csv", "folder.bif"):
        Path(folder).mkdir()
    for file, content in {"empty.csv": "", "empty.bif": "", "rows.csv": "smoke\nyes\n"}.items():
        Path(file).write_text(content)
    arguments, hint = MISTAKES[case]
    code, text, errors = plausible(*arguments)
    assert (code, text) == (2, "")
    assert errors.count("\n") == 1
    assert hint in errors
    assert {path.name for path in Path().iterdir()} == {
        "folder.csv",
        "folder.bif",
        "empty.csv",
        "empty.bif",
        "rows.csv",
    }
    assert Path("rows.csv").read_text() == "smoke\nyes\n"


def test_a_broken_file_is_reported_with_its_place(plausible, tmp_path):
    """File, line and column."""
    broken = Path(tmp_path) / "broken.bif"
    broken.write_text("network x {\n}\nvariable A {\n  type discrete [ 2 ] { a, b }\n}\n")
    code, _, errors = plausible("info", str(broken))
    assert code == 2
    assert f"{broken}:5:1:" in errors or f"{broken}:4:" in errors


def test_a_rounded_file_gives_one_line_of_warning(plausible, tmp_path):
    """A renormalised row is said on standard error, and the command goes on."""
    rounded = Path(tmp_path) / "rounded.bif"
    rounded.write_text(
        "network x {\n}\nvariable A {\n  type discrete [ 3 ] { a, b, c };\n}\n"
        "probability ( A ) {\n  table 0.333, 0.333, 0.333;\n}\n"
    )
    code, text, errors = plausible("info", str(rounded))
    assert code == 0
    assert text
    assert errors.startswith("plausible: warning: ")
    assert errors.count("\n") == 1


def test_the_help_lists_all_commands_in_whole_lines(plausible):
    """Name and summary stand in one line of 80 columns; nothing is cut with dots."""
    lines = plausible("--help")[1].split("Commands:\n")[1].splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[name, known.summary] for name, known in NAMES.items()]
    assert all(len(line) <= 80 and line.endswith(".") and not line.endswith("...") for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_begins_with_its_summary(plausible, name):
    """One line, one sentence; and no line of the help is longer than 80 columns, but for examples."""
    text = plausible(name, "--help")[1]
    assert f"\n\n  {NAMES[name].summary}\n\n" in text
    told, _ = text.split("For example:")
    assert max(map(len, told.splitlines())) <= 80
    assert "...\n" not in told.split("\n\n", 1)[1]


def test_no_arguments_shows_help(plausible):
    """The commands are listed."""
    _, text, errors = plausible()
    for command in NAMES:
        assert command in text + errors


def _spare_the_compiler(monkeypatch):
    """Compiling takes minutes, and asking all questions seconds: other tests do that."""
    monkeypatch.setattr("plausible.cli.compile._compiled", lambda jobs, _: iter(jobs))
    monkeypatch.setattr("plausible.cli.compile.use_all_kernels", lambda: pb.examples.load("asia").marginals())


def _save_university() -> None:
    """Tables, the file that names them, and a relational model of them."""
    Path("students.csv").write_text("id,wits\nanna,high\nbob,low\ncleo,\n")
    Path("registrations.csv").write_text("id,student,grade\n1,anna,A\n2,anna,A\n3,bob,B\n4,bob,A\n5,cleo,\n")
    tables = "[tables]\nstudent = 'students.csv'\nregistration = 'registrations.csv'\n"
    parents = "[parents]\n'registration.grade' = ['registration.student.wits']\n"
    Path("schema.toml").write_text(f"{tables}[keys]\n'registration.student' = 'student'\n{parents}")
    told = pb.io.load_schema("schema.toml")
    pb.save(pb.learn.relational(told.schema, told.tables, told.parents, prior=pb.K2()).model, "university.json")


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_examples_that_run(plausible, tmp_path, monkeypatch, name):
    """What the help tells to type works as it stands."""
    monkeypatch.chdir(tmp_path)
    _spare_the_compiler(monkeypatch)
    Path("rows.csv").write_text("xray,dysp,X1\nyes,,1.5\n,no,\n")
    Path("costs.csv").write_text(COSTS)
    Path("tagged.txt").write_text("the D\ncat N\n\na D\ndog N\n")
    Path("text.txt").write_text("the\ndog\n")
    Path("days.csv").write_text("town,day,umbrella\n" + "".join(f"a,{day},{day % 3 > 0}\n" for day in range(9)))
    pb.save(pb.learn.hmm("days.csv", 2, sequence="town", time="day").model, "weather.json")
    pb.save(pb.examples.load("asia"), "learned.bif")
    _save_university()
    code, text, _ = plausible(name, "--help")
    assert plausible(name, "-h") == (0, text, "")
    assert code == 0
    lines = text[text.index("For example:") :].splitlines()[1:]
    assert lines
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "plausible"
        code, text, errors = plausible(*arguments)
        assert code == 0
        drawn = "".join(f"{file}: drawn\n" for file in arguments if file.endswith(".svg"))
        by_engine = name == "sample" and errors.startswith("by ") and "--engine" in arguments
        assert errors in ("", drawn) or by_engine
        assert text


@pytest.mark.parametrize("name", ["query", "marginals", "mpe", "map", "explain", "sample", "predict"])
def test_help_tells_how_to_write_findings(plausible, name):
    """Every command that takes evidence explains the four kinds, and quotes."""
    text = " ".join(plausible(name, "--help")[1].split())
    for part in ("--evidence", "--do", "--json", "A=a|b", "A~0.8|0.2", "A:=0.7|0.3", r"A=b\,c"):
        assert part in text


def test_a_reader_who_leaves_early_is_no_error():
    """As `plausible marginals asia | true`: nothing is said, and the program ends as `cat` does."""
    command = [sys.executable, "-c", "from plausible.cli import main; main(['marginals', 'asia'])"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_the_end_of_memory_is_one_line(plausible, monkeypatch):
    """No traceback where a table does not fit."""

    def too_much(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pb.BayesianNetwork, "query", too_much)
    assert plausible("query", "asia", "lung") == (2, "", "plausible: The memory is not enough for this.\n")


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "asia", "costs.cvs", "lung", "out.csv"),
        ("troubleshoot", "asia", "--costs", "costs.cvs", "--works", "dysp=no"),
        ("learn", "costs.cvs", "-o", "net.json"),
        ("discretize", "costs.csv", "-o", "out.csv", "--cuts", "costs.cvs"),
    ],
    ids=lambda command: command[0],
)
def test_a_missing_file_is_told_with_its_folder_and_the_nearest_name(plausible, tmp_path, monkeypatch, command):
    """Whatever the command wants of it."""
    monkeypatch.chdir(tmp_path)
    Path("costs.csv").write_text(COSTS)
    code, text, errors = plausible(*command)
    assert (code, text) == (2, "")
    assert errors == f"plausible: No such file: 'costs.cvs', looked for in '{tmp_path}'. Did you mean 'costs.csv'?\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("explain", "coin.json"), "clique tree: 1 factor over 1 variable\n1 clique, "),
        (("convert", "coin.json", "coin.bif"), "coin.bif: 1 variable written\n"),
        (("convert", "choice.json", "choice.xdsl"), "choice.xdsl: 2 variables, 1 utility written\n"),
        (("discover", "coin.csv"), "# fci at alpha 0.05: 1 variable, 0 edges with 0 open ends; 0 tests\n"),
        (("predict", "coin.json", "coin.csv", "coin", "out.csv"), "out.csv: 1 row written\n"),
        (
            ("elicit", "a", "--worst", "b", "--best", "c", "--tolerance", "0.5"),
            "Ended early, with up to 1 question left.",
        ),
        (("sample", "coin.json", "-n", "1", "--engine", "gibbs", "-o", "out.csv"), "worth about 1 independent row."),
    ],
    ids=" ".join,
)
def test_one_thing_is_told_in_the_singular(plausible, tmp_path, monkeypatch, command, told):
    """One variable, one row, one utility, one question."""
    monkeypatch.chdir(tmp_path)
    coin = pb.TableCPD("coin", [0.5, 0.5], states=["h", "t"])
    pb.save(pb.BayesianNetwork(coin), "coin.json")
    choice = pb.InfluenceDiagram(
        [coin], [pb.Decision("call", ["h", "t"])], [pb.Utility(["coin", "call"], [[1, 0], [0, 2]])]
    )
    pb.save(choice, "choice.json")
    Path("coin.csv").write_text("coin\nh\n")
    code, text, errors = plausible(*command)
    assert code == 0
    assert told in text + errors
