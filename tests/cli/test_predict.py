"""`plausible predict`: a file of evidence to a file of answers."""

from __future__ import annotations

import csv
import json

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


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"", "rows.csv can't be read as CSV: No columns"),
        (b"smoke\n\xff\xfe\n", "rows.csv is not written in UTF-8"),
        (b"smoke\nyes\nyes,no\n", "rows.csv can't be read as CSV"),
        (b"smoke\nyes,no\nyes,yes\n", "more cells than its first line"),
        (b"yes,no\nno,no\n", "No column of"),
        (b"smoke,predicted lung\nyes,no\n", "two columns 'predicted lung'"),
        (b"smoke\nyse\n", "Did you mean 'yes'?"),
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
    assert "passed through: id, note" in text
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
