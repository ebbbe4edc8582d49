"""`plausible predict`: a file of evidence to a file of answers."""

from __future__ import annotations

import csv
import json
import math
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import plausible as pb
from plausible.cli import main
from plausible.variables import Variable


@pytest.fixture
def predict(capsys, tmp_path):
    """Run the command on the bytes of a CSV file; gives exit code, standard output, error, and the rows written."""

    def run(model, content, target, *options):
        source, output = tmp_path / "rows.csv", tmp_path / "answers.csv"
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
        if not isinstance(model, str):
            pb.save(model, tmp_path / "model.json")
            model = str(tmp_path / "model.json")
        with pytest.raises(SystemExit) as stop:
            main(["predict", model, str(source), target, str(output), *options])
        captured = capsys.readouterr()
        rows = list(csv.DictReader(output.read_text().splitlines())) if output.exists() else None
        return int(stop.value.code or 0), captured.out, captured.err, rows

    return run


def network(states_of_a, states_of_b):
    """A -> B with two states each; P(A | B) is (21, 4)/25 for the first state of B and (9, 16)/25 for the second."""
    a, b = Variable("A", states_of_a), Variable("B", states_of_b)
    return pb.BayesianNetwork(pb.TableCPD(a, [0.6, 0.4]), pb.TableCPD(b, [[0.7, 0.3], [0.2, 0.8]], parents=[a]))


@pytest.mark.parametrize("word", ["None", "NA", "nan", "null", "N/A"])
def test_only_empty_cells_are_missing(predict, word):
    """A state may be called as others call what is missing."""
    code, _, errors, rows = predict(network(["u", "v"], ["some", word]), f"B\n{word}\nsome\n\n", "A")
    assert (code, errors) == (0, "")
    assert [float(row["P(A=v)"]) for row in rows] == pytest.approx([0.64, 0.16, 0.4])
    assert [row["B"] for row in rows] == [word, "some", ""]


@pytest.mark.parametrize("word", ["NA", "?"])
def test_what_means_missing_is_not_observed(predict, word):
    """--na says so, as for learn; without it the error names the option, quoted for the shell."""
    model = network(["u", "v"], ["s", "t"])
    code, _, errors, rows = predict(model, f"B,note\n{word},{word}\nt,\n", "A", "--na", word)
    assert (code, errors) == (0, "")
    assert [float(row["P(A=v)"]) for row in rows] == pytest.approx([0.4, 0.64])
    assert [row["B"] for row in rows] == [word, "t"]
    code, _, errors, _ = predict(model, f"B\n{word}\n", "A")
    assert code == 2
    assert errors.endswith(f"If it means missing, say so: --na {word if word == 'NA' else repr(word)}.\n")


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"", "rows.csv:1: The file has no columns"),
        (b"\nyes\n", "rows.csv:1: The file has no columns"),
        (b"smoke\n\xff\xfe\n", "rows.csv: The file is not written in UTF-8"),
        (b"smoke\nyes\nyes,no\n", "rows.csv:3: The row has 2 cells, the first line names 1"),
        (b"smoke,xray\nyes,no\nyes\n", "rows.csv:3: The row has 1 cells, the first line names 2"),
        (b'smoke\nyes\n"no\n', "rows.csv:3: This can't be read as CSV"),
        (b"smoke,smoke\nyes,no\n", "rows.csv:1: The first line names two columns 'smoke'"),
        (b"Smoke,no\nno,no\n", "No column of"),
        (b"smoke,predicted lung\nyes,no\n", "two columns 'predicted lung'"),
        (b"smoke\nyse\n", "rows.csv:2: Column 'smoke': 'yse' is not a state of 'smoke'. Did you mean 'yes'?"),
        (b'smoke,id\nyes,"two\nlines"\n\nyse,\n', "rows.csv:5: Column 'smoke'"),
        (b"either,lung,tub\nyes,,\n,,\nno,,yes\n", "rows.csv:4: The evidence"),
    ],
)
def test_a_file_that_can_not_be_used_is_one_line_and_exit_code_two(predict, content, hint):
    """No traceback; the line says what is wrong, and nothing is written."""
    code, text, errors, rows = predict("asia", content, "lung")
    assert (code, text, rows) == (2, "", None)
    assert errors.startswith("plausible: ")
    assert errors.count("\n") == 1
    assert hint in errors


def test_tuples_as_states_have_readable_headers(predict):
    """A state that is a tuple is one column."""
    code, _, errors, rows = predict(network([(0, 1), (1, 0)], ["s", "t"]), "B\ns\nt\n", "A")
    assert (code, errors) == (0, "")
    assert list(rows[0]) == ["B", "P(A=(0, 1))", "P(A=(1, 0))", "predicted A"]
    assert [row["predicted A"] for row in rows] == ["(0, 1)", "(1, 0)"]
    _, _, errors, rows = predict(network([(0, 1), (1, 0)], ["s", "t"]), 'A\n"(1, 0)"\n', "B")
    assert errors == ""
    assert float(rows[0]["P(B=t)"]) == pytest.approx(0.8)


def test_columns_of_the_input_are_passed_through(predict):
    """Those of no variable, those of evidence, and that of the target, which is no evidence."""
    content = "id,B,A,note\n007,t,u,\n008,s,no state at all,NA\n"
    code, text, errors, rows = predict(network(["u", "v"], ["s", "t"]), content, "A")
    assert (code, errors) == (0, "")
    assert "copied unchanged: id, note" in text
    assert list(rows[0]) == ["id", "B", "A", "note", "P(A=u)", "P(A=v)", "predicted A"]
    assert [tuple(row.values())[:4] for row in rows] == [("007", "t", "u", ""), ("008", "s", "no state at all", "NA")]
    assert [float(row["P(A=v)"]) for row in rows] == pytest.approx([0.64, 0.16])
    assert [row["predicted A"] for row in rows] == ["v", "u"]
    _, text, _, _ = predict(network(["u", "v"], ["s", "t"]), content, "A", "--json")
    assert json.loads(text)["not_variables"] == ["id", "note"]


def test_a_file_of_the_target_alone_gives_the_prior(predict):
    """No evidence in any row."""
    _, _, errors, rows = predict(network(["u", "v"], ["s", "t"]), "A\nu\nv\n", "A")
    assert errors == ""
    assert [float(row["P(A=u)"]) for row in rows] == pytest.approx([0.6, 0.6])


def test_a_header_without_rows_gives_a_header_without_rows(predict, tmp_path):
    """Nothing to predict is no mistake."""
    code, _, errors, rows = predict(network(["u", "v"], ["s", "t"]), "B\n", "A")
    assert (code, errors, rows) == (0, "", [])
    assert (tmp_path / "answers.csv").read_text() == "B,P(A=u),P(A=v),predicted A\n"


@pytest.mark.parametrize("content", ["B\ns\n\nt\n", "id,B\n1,s\n\n3,t\n"])
def test_a_blank_line_is_a_row_without_evidence(predict, content):
    """The rows of the output stand at the same lines as those of the input."""
    code, _, errors, rows = predict(network([0, 1], ["s", "t"]), content, "A")
    assert (code, errors) == (0, "")
    assert [float(row["P(A=1)"]) for row in rows] == pytest.approx([0.16, 0.4, 0.64])


def test_help_tells_the_columns_of_the_output(capsys):
    """The names that scripts rely on."""
    with pytest.raises(SystemExit):
        main(["predict", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "`P(target=state)`" in text
    assert "`predicted target`" in text


def write_rows(path, frame):
    """A table as CSV or Parquet."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)


def read_rows(path):
    """A table as CSV or Parquet, cells of a CSV as text."""
    return pd.read_csv(path, keep_default_na=False, dtype=str) if path.suffix == ".csv" else pd.read_parquet(path)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("source", ["csv", "parquet"])
@pytest.mark.parametrize("target", ["csv", "parquet"])
def test_pieces_answer_as_the_library_does_at_once(plausible, tmp_path, source, target):
    """Ten rows with gaps, three at a time, from either kind of file to either kind."""
    asia = pb.examples.load("asia")
    rows = asia.sample(10, seed=4)[["smoke", "xray", "dysp", "bronc"]].astype(object)
    rows = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.4, None)
    write_rows(tmp_path / f"rows.{source}", rows)
    answers = tmp_path / f"answers.{target}"
    code, text, errors = plausible("predict", "asia", str(tmp_path / f"rows.{source}"), "bronc", str(answers))
    assert (code, text, errors) == (0, f"{answers}: 10 rows written\n", "")
    found = read_rows(answers)
    expected = [
        asia.query("bronc", {name: state for name, state in row.items() if name != "bronc" and not pd.isna(state)})
        for row in rows.to_dict("records")
    ]
    assert found["P(bronc=yes)"].astype(float).tolist() == pytest.approx([factor["yes"] for factor in expected])
    assert found["predicted bronc"].tolist() == [factor.argmax()["bronc"] for factor in expected]
    missing = found[list(rows)].astype(object).replace("", None)
    assert missing.where(missing.notna(), None).to_dict("records") == rows.to_dict("records")


@pytest.mark.usefixtures("small_chunks")
def test_columns_of_a_parquet_file_keep_their_types(plausible, tmp_path):
    """Also those that CSV has no words for; numbers with gaps name the states that they equal."""
    pb.save(network([0, 1], [0, 1]), tmp_path / "model.json")
    given = pa.table(
        {
            "B": pa.array([1.0, None, 0.0, 1.0], pa.float64()),
            "A": pa.array([[1], [], None, [0]], pa.list_(pa.int8())),
            "when": pa.array([1, 2, 3, None], pa.timestamp("ms")),
            "kind": pa.array(["x", "y", "x", None]).dictionary_encode(),
            "data": pa.array([b"\x00", b"", None, b"\xff"], pa.binary()),
        }
    )
    pq.write_table(given, tmp_path / "rows.parquet")
    arguments = ("predict", str(tmp_path / "model.json"), str(tmp_path / "rows.parquet"), "A")
    code, _, errors = plausible(*arguments, str(tmp_path / "answers.parquet"))
    assert (code, errors) == (0, "")
    found = pq.read_table(tmp_path / "answers.parquet")
    assert found.column_names == [*given.column_names, "P(A=0)", "P(A=1)", "predicted A"]
    assert found.select(given.column_names).to_pylist() == given.to_pylist()
    assert [found.schema.field(name).type for name in given.column_names] == given.schema.types
    assert found["P(A=1)"].to_pylist() == pytest.approx([0.64, 0.4, 0.16, 0.64])
    assert found["predicted A"].to_pylist() == [1, 0, 0, 1]
    assert plausible(*arguments, str(tmp_path / "answers.csv"))[0] == 0
    assert read_rows(tmp_path / "answers.csv")["when"][3] == ""


def test_whole_numbers_that_another_program_wrote_with_a_point_are_states(predict):
    """As pandas writes a column of integers that has gaps."""
    _, _, errors, rows = predict(network([0, 1], [0, 1]), "B\n1.0\n\n0.0\n", "A")
    assert errors == ""
    assert [float(row["P(A=1)"]) for row in rows] == pytest.approx([0.64, 0.4, 0.16])


def test_a_byte_order_mark_is_no_part_of_the_first_name(predict):
    """As spreadsheets write CSV files."""
    _, _, errors, rows = predict(network(["u", "v"], ["s", "t"]), b"\xef\xbb\xbfB\r\nt\r\n", "A")
    assert errors == ""
    assert float(rows[0]["P(A=v)"]) == pytest.approx(0.64)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("row", [0, 2, 3, 6])
def test_an_unknown_state_is_reported_with_its_row(plausible, tmp_path, row):
    """By line in a CSV file, by number, from one, in a Parquet file; also in later pieces."""
    rows = pd.DataFrame({"smoke": ["yes"] * 7, "xray": ["no"] * 7})
    rows.loc[row, "xray"] = "nno"
    for ending, place in (("csv", f"rows.csv:{row + 2}: "), ("parquet", f"rows.parquet, row {row + 1}: ")):
        write_rows(tmp_path / f"rows.{ending}", rows)
        arguments = ("predict", "asia", str(tmp_path / f"rows.{ending}"), "lung", str(tmp_path / "answers.csv"))
        code, text, errors = plausible(*arguments)
        assert (code, text) == (2, "")
        assert f"{place}Column 'xray': 'nno' is not a state of 'xray'. Did you mean 'no'?\n" in errors
        assert not (tmp_path / "answers.csv").exists()


@pytest.mark.usefixtures("small_chunks")
def test_a_row_that_can_not_be_is_reported_with_the_findings_that_contradict_each_other(predict):
    """And with its line."""
    content = "asia,either,tub\n" + "no,yes,no\n" * 4 + "no,no,yes\n"
    code, _, errors, rows = predict("asia", content, "lung")
    assert (code, rows) == (2, None)
    assert "rows.csv:6: " in errors
    assert "either='no'" in errors
    assert "tub='yes'" in errors
    assert "asia=" not in errors


def test_states_alone(predict):
    """Without probabilities the answer is one column."""
    _, _, errors, rows = predict(network(["u", "v"], ["s", "t"]), "B\ns\nt\n", "A", "--no-proba")
    assert errors == ""
    assert rows == [{"B": "s", "predicted A": "u"}, {"B": "t", "predicted A": "v"}]


def test_evidence_and_interventions_hold_in_every_row(predict):
    """As if they were columns, but that an intervention tells nothing of causes."""
    asia = pb.examples.load("asia")
    _, _, errors, rows = predict("asia", "xray\nyes\n\n", "lung", "-e", "dysp=yes", "--do", "smoke=yes")
    assert errors == ""
    for row, evidence in zip(rows, ({"xray": "yes"}, {}), strict=True):
        expected = asia.query("lung", {"dysp": "yes", **evidence}, do={"smoke": "yes"})["yes"]
        assert float(row["P(lung=yes)"]) == pytest.approx(expected)
    _, _, errors, rows = predict("asia", "xray\n\n", "smoke", "--do", "lung=yes")
    assert errors == ""
    assert float(rows[0]["P(smoke=yes)"]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("target", "options", "hint"),
    [
        ("lnug", (), "Did you mean 'lung'?"),
        ("lung", ("-e", "lung=yes"), "is the target"),
        ("lung", ("--do", "lung=yes"), "is the target"),
        ("lung", ("-e", "xray=yes"), "'xray' is a column of"),
        ("lung", ("--do", "xray=yes"), "'xray' is a column of"),
        ("lung", ("-e", "dysp=yes", "--do", "dysp=no"), "'dysp' is in --evidence and in --do"),
        ("lung", ("-e", "dysp=yes|no"), "has to be one state"),
        ("lung", ("-e", "dysp~1|2"), "has to be one state"),
    ],
)
def test_options_that_do_not_fit_are_refused(predict, target, options, hint):
    """Nothing is written."""
    code, text, errors, rows = predict("asia", "xray\nyes\n", target, *options)
    assert (code, text, rows) == (2, "", None)
    assert errors.count("\n") == 1
    assert hint in errors


def people():
    """A class and a number that depends on it: N(10, 1) or N(12, 1), and one that depends on that number."""
    kind = pb.TableCPD("kind", [0.5, 0.5], states=["small", "large"])
    height = pb.ConditionalGaussianCPD("height", [10.0, 12.0], {}, 1.0, [kind.variable])
    return pb.BayesianNetwork(kind, height, pb.LinearGaussianCPD("scale", 0.0, {"height": 2.0}, 4.0))


def test_numbers_are_evidence_about_states(predict):
    """P(large | height) is logistic in 2 height - 22; empty cells are not observed."""
    code, _, errors, rows = predict(people(), 'height\n12\n11.0\n""\n', "kind")
    assert (code, errors) == (0, "")
    found = [float(row["P(kind=large)"]) for row in rows]
    assert found == pytest.approx([1 / (1 + math.exp(-2.0)), 0.5, 0.5])
    assert rows[0]["predicted kind"] == "large"


def test_a_continuous_target_has_a_mean_and_a_variance(predict):
    """Given the class by the usual formulas; the mixture of both classes without it."""
    code, _, errors, rows = predict(people(), "kind,scale\nsmall,24\nlarge,\n,\n", "height")
    assert (code, errors) == (0, "")
    # N(10, 1) with scale = 2 height + N(0, 4) at 24: precision 1 + 4/4, and the pull of half the distance to 12.
    assert [float(row["mean(height)"]) for row in rows] == pytest.approx([11.0, 12.0, 11.0])
    assert [float(row["variance(height)"]) for row in rows] == pytest.approx([0.5, 1.0, 2.0])
    assert not any("predicted" in name for name in rows[0])
    rows = predict(people(), "kind\nsmall\n", "height", "--no-proba")[3]
    assert rows == [{"kind": "small", "mean(height)": "10.0"}]


def test_numbers_hold_in_every_row_as_evidence_or_by_intervention(predict):
    """An observed scale speaks for tall people; one that was set says nothing."""
    seen = predict(people(), "kind\nsmall\n", "height", "-e", "scale=24")[3]
    assert float(seen[0]["mean(height)"]) == pytest.approx(11.0)
    done = predict(people(), "kind\nsmall\n", "height", "--do", "scale=24")[3]
    assert float(done[0]["mean(height)"]) == pytest.approx(10.0)


def test_a_cell_that_is_no_number_is_refused_with_its_line(predict):
    """In one line; and a fixed finding must be a single one."""
    code, _, errors, rows = predict(people(), "height\n12\ntall\n", "kind")
    assert (code, rows) == (2, None)
    assert "rows.csv:3: Column 'height' is continuous: expected a number, not 'tall'." in errors
    assert "has to be one state" in predict(people(), "height\n12\n", "scale", "-e", "kind=small|large")[2]


def test_a_file_that_is_not_parquet_is_refused(plausible, tmp_path):
    """With the name of the file, in one line."""
    (tmp_path / "rows.parquet").write_text("smoke\nyes\n")
    code, text, errors = plausible("predict", "asia", str(tmp_path / "rows.parquet"), "lung", str(tmp_path / "a.csv"))
    assert (code, text) == (2, "")
    assert "rows.parquet can't be read as Parquet" in errors
    assert errors.count("\n") == 1


def test_parquet_without_pyarrow_tells_what_to_install(plausible, tmp_path, monkeypatch):
    """To read as to write."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "rows.csv").write_text("smoke\nyes\n")
    (tmp_path / "rows.parquet").write_text("")
    for source, target in (("rows.csv", "answers.parquet"), ("rows.parquet", "answers.csv")):
        code, _, errors = plausible("predict", "asia", str(tmp_path / source), "lung", str(tmp_path / target))
        assert code == 2
        assert 'pip install "plausible[scale]"' in errors
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", "rows.parquet"}


@pytest.mark.parametrize("spelled", ["rows.csv", "./rows.csv", "there/../rows.csv", "link.csv", "same.csv"])
def test_the_input_is_not_overwritten_by_any_of_its_names(plausible, tmp_path, monkeypatch, spelled):
    """A path to it, a symbolic link, another name of the same file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    rows = tmp_path / "rows.csv"
    rows.write_text("smoke\nyes\n")
    (tmp_path / "link.csv").symlink_to(rows)
    (tmp_path / "same.csv").hardlink_to(rows)
    code, text, errors = plausible("predict", "asia", "rows.csv", "lung", spelled)
    assert (code, text) == (2, "")
    assert "is the file to read: name another one" in errors
    assert rows.read_text() == "smoke\nyes\n"


def test_another_file_is_overwritten(plausible, tmp_path, monkeypatch):
    """Also one with the content of the input."""
    monkeypatch.chdir(tmp_path)
    for name in ("rows.csv", "answers.csv"):
        (tmp_path / name).write_text("smoke\nyes\n")
    code, _, errors = plausible("predict", "asia", "rows.csv", "lung", "answers.csv")
    assert (code, errors) == (0, "")
    assert (tmp_path / "answers.csv").read_text().startswith("smoke,P(lung=yes)")


def test_a_column_that_may_be_a_misspelt_variable_is_warned_of(predict):
    """It is copied, as any other that is no variable, but not in silence."""
    code, _, errors, rows = predict("asia", "xray,smok\nyes,no\n", "lung")
    assert code == 0
    assert "'smok' is not a variable. Did you mean 'smoke'?" in errors
    assert float(rows[0]["P(lung=yes)"]) == pytest.approx(0.488711, abs=1e-6)


def test_files_of_a_folder_or_a_pattern_are_predicted_as_one(plausible, tmp_path, small_chunks):
    """In the order of their names, whatever the order of their columns; files that differ are told by name."""
    rows = pb.examples.load("asia").sample(20, seed=1).astype(str)
    folder = tmp_path / "rows"
    folder.mkdir()
    rows.to_csv(tmp_path / "all.csv", index=False)
    assert plausible("predict", "asia", str(tmp_path / "all.csv"), "lung", str(tmp_path / "expected.csv"))[0] == 0
    for ending in (".csv", ".parquet"):
        for number, part in enumerate((rows[:7], rows[7:][list(rows.columns[::-1])])):
            path = folder / f"{number}{ending}"
            part.to_csv(path, index=False) if ending == ".csv" else part.to_parquet(path, index=False)
        for source in (folder / f"*{ending}", folder) if ending == ".csv" else (folder / f"*{ending}",):
            target = tmp_path / "answers.csv"
            assert plausible("predict", "asia", str(source), "lung", str(target))[2] == ""
            assert target.read_text() == (tmp_path / "expected.csv").read_text()
    for wrong, message in (
        (rows.drop(columns="lung"), "1.parquet: There is no column 'lung', which is in"),
        (rows.assign(more=1), "0.parquet: There is no column 'more', which is in"),
        (rows.assign(lung=1), "1.parquet: The column 'lung' holds int64 here"),
    ):
        wrong.to_parquet(folder / "1.parquet", index=False)
        errors = plausible("predict", "asia", str(folder / "*.parquet"), "bronc", str(tmp_path / "no.csv"))[2]
        assert message in errors
    own = plausible("predict", "asia", str(folder / "*.csv"), "bronc", str(folder / "1.csv"))[2]
    assert "is the file to read" in own
