"""`plausible learn`, `query` and `predict` with `--schema`: relational models from the shell."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.learn.estimation.priors import LIGHT_PRIOR

PARENTS = {"registration.grade": ["registration.student.wits", "registration.course.difficulty"]}
SCHEMA = """
[tables]
student = "students.csv"
course = "courses.csv"
registration = "registrations.csv"
[keys]
"registration.student" = "student"
"registration.course" = "course"
[parents]
"registration.grade" = ["registration.student.wits", "registration.course.difficulty"]
"""
OTHER = "[tables]\nstudent = 'students.csv'\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with tables, in which a third of the students' wits are missing, their schema, and a model."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    wits, difficulty = rng.choice(["high", "low"], 30), rng.choice(["easy", "hard"], 4)
    student, course = rng.integers(30, size=120), rng.integers(4, size=120)
    is_good = rng.random(120) < 0.1 + 0.6 * (wits[student] == "high") + 0.2 * (difficulty[course] == "easy")
    wits = np.where(np.arange(30) % 3, wits, "")
    pd.DataFrame({"id": np.arange(30), "wits": wits}).to_csv("students.csv", index=False)
    pd.DataFrame({"id": np.arange(4), "difficulty": difficulty}).to_csv("courses.csv", index=False)
    grade = np.where(is_good, "A", "B")
    pd.DataFrame({"student": student, "course": course, "grade": grade}).to_csv("registrations.csv", index_label="id")
    Path("schema.toml").write_text(SCHEMA)
    pb.save(expected().model, "model.json")
    return tmp_path


def tables():
    return {name: pd.read_csv(f"{name}s.csv") for name in ("student", "course", "registration")}


def expected(parents=PARENTS, **options):
    """What the library learns from the tables in memory."""
    keys = {"registration.student": "student", "registration.course": "course"}
    return pb.learn.relational(pb.Schema(tables(), keys=keys), tables(), parents, prior=LIGHT_PRIOR, **options)


def test_a_model_is_learned_as_the_library_learns_it(plausible, folder):
    """With dependencies that are given, hidden attributes too, and with those that a search finds; told as JSON too."""
    code, text, errors = plausible("learn", "--schema", "schema.toml", "-o", "learned.json")
    assert (code, errors) == (0, "")
    assert text.startswith("learned.json: <RelationalModel: 3 classes, 3 attributes, 6 parameters>")
    assert pb.load("learned.json") == pb.load("model.json")
    Path("schema.toml").write_text(SCHEMA + "[hidden]\n'course.kind' = 2\n")
    options = ("--prior", "bdeu:1", "--restarts", "2", "--seed", "3", "--json")
    told = json.loads(plausible("learn", "--schema", "schema.toml", "-o", "learned.json", *options)[1])
    fit = expected(hidden={"course.kind": 2}, restarts=2, seed=3)
    assert pb.load("learned.json") == fit.model
    assert told["log_likelihood"] == pytest.approx(fit.log_likelihood)
    Path("schema.toml").write_text(SCHEMA.partition("[parents]")[0])
    pd.read_csv("students.csv").fillna("low").to_csv("students.csv", index=False)
    told = json.loads(plausible("learn", "--schema", "schema.toml", "-o", "-", "--max-parents", "1", "--json")[2])
    fit = expected(None, max_parents=1)
    assert told["parents"] == {name: [list(own) for own in lists] for name, lists in fit.parents.items()}


def test_questions_about_objects_are_answered_as_by_the_library(plausible, folder):
    """Given the tables, findings besides them, and what is set from outside."""
    model = pb.load("model.json")
    asked = ("query", "model.json", "student[3].wits", "--schema", "schema.toml", "--json")
    found = json.loads(plausible(*asked)[1])
    assert found["scope"] == {"student[3].wits": ["high", "low"]}
    np.testing.assert_allclose(found["values"], model.query("student[3].wits", tables=tables()).values)
    evidence, do = {"student[0].wits": ["high", "low"]}, {"registration[7].grade": "B"}
    found = json.loads(plausible(*asked, "-e", "student[0].wits=high|low", "--do", "registration[7].grade=B")[1])
    answer = model.query("student[3].wits", evidence, do, tables=tables())
    np.testing.assert_allclose(found["values"], answer.values)


def test_an_attribute_of_all_objects_is_predicted(plausible, folder):
    """As CSV on the terminal, or in a file; the best state alone; as JSON."""
    beliefs = pb.load("model.json").predict_proba(tables(), "student.wits")
    asked = ("predict", "model.json", "--schema", "schema.toml", "--target", "student.wits")
    code, text, errors = plausible(*asked, "-o", "answers.csv")
    assert (code, text, errors) == (0, "answers.csv: 30 rows written\n", "")
    written = pd.read_csv("answers.csv")
    assert list(written) == ["id", "P(student.wits=high)", "P(student.wits=low)", "predicted student.wits"]
    np.testing.assert_allclose(written.iloc[:, 1:3], beliefs)
    assert written["predicted student.wits"].tolist() == beliefs.idxmax(axis=1).tolist()
    alone = plausible(*asked, "--no-proba")[1].splitlines()
    assert alone[:2] == ["id,predicted student.wits", f"0,{beliefs.idxmax(axis=1)[0]}"]
    rows = json.loads(plausible(*asked, "--json")[1])["rows"]
    assert rows[4]["P(student.wits=low)"] == pytest.approx(beliefs.loc[4, "low"])


def test_info_shows_a_relational_model_and_other_commands_say_who_asks_it(plausible, folder):
    """Those that need no tables, and those for which there are none; and the page in the browser."""
    assert "registration.student.wits, registration.course.difficulty" in plausible("info", "model.json")[1]
    for line in (
        "query model.json x",
        "mpe model.json",
        "draw model.json -o x.svg",
        "predict model.json students.csv x -",
    ):
        code, _, errors = plausible(*line.split())
        assert code == 2
        assert "--schema schema.toml" in errors
    code, _, errors = plausible("studio", "model.json")
    assert code == 2
    assert "'model.json' is a relational model" in errors


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("learn x.csv --schema schema.toml -o m.json", "DATA means nothing beside --schema: the file has [tables]"),
        (
            "learn --schema schema.toml -o m.json --graph 'A -> B'",
            "--graph means nothing beside --schema: the file has",
        ),
        ("learn --schema schema.toml -o m.json --na NA", "the file has missing_values"),
        ("learn --schema schema.toml -o m.json --class x", "--class means nothing beside --schema: leave it out"),
        ("learn --schema schema.toml -o m.json --score bic", "schema.toml has [parents]"),
        ("learn --schema schema.toml", "--output net.json"),
        ("learn students.csv -o m.json --restarts 3", "--restarts is for the tables of a --schema"),
        ("learn -o m.json", "Name the file of data"),
        ("learn --schema schem.toml -o m.json", "Did you mean 'schema.toml'"),
        ("predict asia --schema schema.toml -t lung", "'asia' is no relational model"),
        ("predict model.json --schema schema.toml", "--target student.wits"),
        ("predict model.json --schema schema.toml -t student.wit", "Did you mean 'student.wits'"),
        ("predict model.json --schema schema.toml -t student.wits -e x=1", "--evidence means nothing beside --schema"),
        ("predict model.json --schema schema.toml -t student.wits -o m.txt", "neither a .csv nor a .parquet"),
        ("predict model.json --schema other.toml -t student.wits", "lacks the table of 'course'"),
        ("predict asia students.csv -o answers.csv", "DATA TARGET OUTPUT"),
        ("predict asia students.csv lung x.csv -t bronc", "say two things"),
        ("query asia lung --schema schema.toml", "leave --schema out"),
        ("query model.json student[99].wits --schema schema.toml", "No 'student' has the id '99'"),
        ("query model.json studnt[9].wits --schema schema.toml", "Did you mean 'student'"),
        ("query model.json student.wits --schema schema.toml", "names no attribute of an object"),
        ("query model.json student[0].wits --schema schema.toml -e student[1].wit=low", "Did you mean 'student.wits'"),
        ("query model.json student[0].wits --schema schema.toml -e student[3].wits=hig", "Did you mean 'high'"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(plausible, folder, line, told):
    """In one line, with what to do."""
    Path("other.toml").write_text(OTHER)
    code, _, errors = plausible(*shlex.split(line))
    assert (code, errors.count("\n")) == (2, 1)
    assert told in errors


def test_options_do_for_the_arguments_of_predict(plausible, folder):
    """Target and output of rows may be options, too."""
    Path("rows.csv").write_text("smoke\nyes\n")
    assert plausible("predict", "asia", "rows.csv", "-t", "lung", "-o", "a.csv")[0] == 0
    assert plausible("predict", "asia", "rows.csv", "lung", "b.csv")[0] == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_a_column_that_is_hardly_an_attribute_is_kept_by_the_file(plausible, folder):
    """The warning says how, in words of the file."""
    pd.read_csv("students.csv").assign(born="2000-01-01").to_csv("students.csv", index=False)
    errors = plausible("learn", "--schema", "schema.toml", "-o", "learned.json")[2]
    assert "'student.born' = \"numbers\" in [variables] of the schema file" in errors


def test_models_of_classes_are_converted(plausible, folder):
    """To their own format alone; what was written is counted."""
    assert "3 variables written" in plausible("convert", "model.json", "copy.json")[1]
    assert pb.load("copy.json") == pb.load("model.json")
    assert plausible("convert", "model.json", "copy.bif")[0] == 2
