"""Standard input and output where a command takes a file: `-`."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import shlex
import signal
import subprocess
import sys

import pandas as pd
import pytest

import plausible as pb
from plausible.cli import main

RUN = (sys.executable, "-m", "plausible")
CSV = "smoke,xray\nyes,no\nno,\n,yes\n"


@pytest.fixture
def asia():
    """The network that all of it is about."""
    return pb.examples.load("asia")


@pytest.mark.parametrize("format", ["json", "bif", "xmlbif", "xdsl", "net"])
def test_models_go_through_pipes_in_every_format(plausible, asia, format):
    """What `convert asia - --to X` writes is recognised, and is the network that went in."""
    code, text, errors = plausible("convert", "asia", "-", "--to", format)
    assert (code, errors) == (0, "")
    assert pb.io.parse(text, format) == asia
    assert plausible("convert", "-", "-", "--to", "json", piped=text.encode())[1] == pb.io.to_text(asia, "json")
    packed = gzip.compress(text.encode())
    assert plausible("convert", "-", "-", "--to", "json", piped=packed)[1] == pb.io.to_text(asia, "json")


def test_a_file_of_counts_is_mended_by_convert_and_others_say_so(plausible):
    """The warning names standard input; a command without --lenient names the command that has it."""
    text = b"net { }\nnode A { states = (a b); }\npotential (A) { data = (3 1); }"
    code, written, errors = plausible("convert", "-", "-", "--to", "json", "--lenient", piped=text)
    assert code == 0
    assert pb.io.parse(written, "json").cpd("A").values.tolist() == [0.75, 0.25]
    assert errors.startswith(
        "plausible: warning: standard input: What was mended:\n  line 3: 1 row of the table of 'A'"
    )
    code, _, errors = plausible("convert", "-", "-", "--to", "json", piped=text)
    assert (code, errors.rpartition("Have it mended by ")[2]) == (2, "--lenient.\n")
    code, _, errors = plausible("info", "-", piped=text)
    advice = "plausible convert FILE mended.json --lenient.\n"
    assert (code, errors.rpartition("Have it mended by ")[2]) == (2, advice)


def test_a_uai_file_is_recognised_and_a_format_can_be_named(plausible, asia):
    """UAI keeps no names; --from decides where it is given."""
    text = pb.io.to_text(asia, "uai").encode()
    assert json.loads(plausible("info", "-", "--json", piped=text)[1])["variables"] == 8
    assert plausible("convert", "-", "-", "--from", "uai", "--to", "uai", piped=text)[1].encode() == text
    code, _, errors = plausible("convert", "-", "-", "--from", "bif", "--to", "uai", piped=text)
    assert (code, errors[:26]) == (2, "plausible: standard input:")


def test_files_that_can_only_be_read_are_recognised():
    """DSL begins as NET does, but for its name."""
    from plausible.cli.source import format_of

    assert format_of(b"net sprinkler\n{\n}") == "DSL"
    assert format_of(b"// ~->[DNET-1]->~\nbnet sprinkler {\n}") == "DNE"
    assert format_of(b"\xff\xfe" + "net\n{ }".encode("utf-16-le")) == "NET"
    assert format_of(b"<BIF VERSION='0.3'>") == "XMLBIF"
    assert format_of(b"<smile version='1.0'>") == "XDSL"
    assert format_of(b"smoke,xray\n") is None


def test_questions_take_a_model_from_standard_input(plausible, asia):
    """As if it were a file."""
    text = pb.io.to_text(asia, "bif").encode()
    for question in (("query", "lung"), ("marginals",), ("mpe",), ("show", "xray"), ("independencies",)):
        name, *rest = question
        assert plausible(name, "-", *rest, piped=text) == plausible(name, "asia", *rest)


def test_graphs_still_come_from_standard_input(plausible):
    """Text of arrows is no model."""
    graph = b"A -> B -> C\n"
    assert plausible("independencies", "-", piped=graph) == plausible("independencies", "A -> B -> C")
    assert plausible("show", "-", piped=graph) == plausible("show", "A -> B -> C")


@pytest.mark.parametrize("name", ["query", "marginals", "info"])
def test_what_is_no_model_is_refused(plausible, name):
    """One line that names standard input and the formats."""
    code, text, errors = plausible(name, "-", *(("lung",) if name == "query" else ()), piped=b"hello\n")
    assert (code, text) == (2, "")
    assert errors.startswith("plausible: standard input: This is no model: no file in one of the formats JSON, BIF")


def test_a_broken_model_names_its_place_on_standard_input(plausible):
    """Line and column, and no name of a file that nobody gave."""
    code, _, errors = plausible("info", "-", piped=b"network x {\n}\nvariable A {\n  type discrete [ 2 ] { a, b }\n}\n")
    assert code == 2
    assert errors.startswith("plausible: standard input:")


def test_predict_reads_and_writes_pipes(plausible, tmp_path):
    """The same rows as from file to file, and not a word beside them."""
    source, target = tmp_path / "rows.csv", tmp_path / "answers.csv"
    source.write_text(CSV)
    plausible("predict", "asia", str(source), "lung", str(target))
    assert plausible("predict", "asia", "-", "lung", "-", piped=CSV.encode()) == (0, target.read_text(), "")
    code, text, errors = plausible("predict", "asia", "-", "lung", "-", "--json", piped=CSV.encode())
    assert (code, text) == (0, target.read_text())
    assert json.loads(errors)["rows"] == 3


@pytest.mark.usefixtures("small_chunks")
def test_a_mistake_in_a_pipe_names_its_line(plausible):
    """Of the sixth row, in the second chunk; a bar pulses meanwhile, as nobody knows how long the pipe is."""
    rows = "smoke\n" + "yes\n" * 5 + "maybe\n"
    code, _, errors = plausible("predict", "asia", "-", "lung", "-", "--progress", piped=rows.encode())
    assert code == 2
    assert "standard input:7: Column 'smoke': 'maybe' is not a state of 'smoke'." in errors


def test_learning_reads_and_writes_pipes(plausible, asia, tmp_path):
    """The network is that of a file, and what is told goes to standard error."""
    rows = asia.sample(300, seed=1).to_csv(index=False).encode()
    data, target = tmp_path / "data.csv", tmp_path / "net.json"
    data.write_bytes(rows)
    plausible("learn", str(data), "-o", str(target))
    code, text, errors = plausible("learn", "-", "-o", "-", piped=rows)
    assert (code, text) == (0, target.read_text())
    assert errors.startswith("standard output: 8 variables written, learned from 300 rows\n")
    assert pb.io.parse(plausible("learn", "-", "-o", "-", "--format", "bif", piped=rows)[1], "bif")


@pytest.mark.parametrize("pack", [gzip.compress, bytes], ids=["gz", "plain"])
def test_other_commands_read_data_from_a_pipe(plausible, asia, tmp_path, pack):
    """As from a file, whether packed or not."""
    rows = asia.sample(100, seed=1).to_csv(index=False).encode()
    data = tmp_path / "data.csv"
    data.write_bytes(rows)
    for before, after in ((("score", "asia"), ()), (("discover",), ("--method", "ges"))):
        code, text, errors = plausible(*before, "-", *after, piped=pack(rows))
        assert (code, errors) == (0, "")
        assert text.replace("asia on standard input", f"asia on {data}") == plausible(*before, str(data), *after)[1]


def test_tables_are_written_to_standard_output(plausible):
    """Rows there, and what is told on standard error."""
    numbers = pb.examples.load("gaussian-chain").sample(40, seed=1).to_csv(index=False).encode()
    for arguments in (("discretize", "-", "-o", "-"), ("cluster", "-", "-k", "2", "-o", "-")):
        code, text, errors = plausible(*arguments, piped=numbers)
        assert code == 0
        assert errors
        assert len(pd.read_csv(io.StringIO(text))) == 40
    code, text, errors = plausible("impute", "-", "-o", "-", piped=b"a,b\n1,\n1,2\n")
    assert (code, text) == (0, "a,b\n1,2\n1,2\n")
    assert errors == "standard output: 2 rows written, 1 cell filled (most-frequent)\n"


def test_separators_and_ragged_rows_on_standard_input_are_named(plausible):
    """No name of a file that nobody gave."""
    for rows in (b"a;b\n1;2\n", b"a,b\n1,2\n3\n"):
        code, _, errors = plausible("learn", "-", "-o", "-", piped=rows)
        assert code == 2
        assert errors.startswith("plausible: standard input:")


def test_parquet_goes_through_pipes(plausible, asia):
    """Types are kept on the way; the numbers are those of the network."""
    sample = ("sample", "asia", "-n", "20", "--seed", "1")
    frame = pd.read_parquet(io.BytesIO(_through_a_pipe(*sample, "--format", "parquet")))
    assert frame.to_csv(index=False) == plausible(*sample, "-o", "-")[1]
    evidence = frame[["xray", "smoke"]].to_parquet()
    answers = pd.read_parquet(
        io.BytesIO(_through_a_pipe("predict", "asia", "-", "lung", "-", "--format", "parquet", stdin=evidence))
    )
    expected = [asia.query("lung", row)["yes"] for row in answers[["xray", "smoke"]].to_dict("records")]
    assert answers["P(lung=yes)"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("command", "both"),
    [
        ("predict - - lung answers.csv", "MODEL and DATA"),
        ("score - -", "MODEL and DATA"),
        ("compare - -", "REFERENCE and ESTIMATE"),
        ("learn - --graph - -o net.json", "DATA and --graph"),
        ("impute - --network - -o filled.csv", "DATA and --network"),
        ("effect - --graph - --effect 'smoke => xray'", "DATA and --graph"),
        ("bounds - --graph - --effect 'smoke=yes => xray=yes'", "SOURCE and --graph"),
        ("identify - --network - --effect 'smoke => xray'", "GRAPH and --network"),
    ],
)
def test_standard_input_is_refused_for_two_inputs(plausible, command, both):
    """It holds one file; the message names both arguments."""
    code, text, errors = plausible(*shlex.split(command), piped=CSV.encode())
    problem = "are both -, but standard input holds one file: name a file for one of them."
    assert (code, text, errors) == (2, "", f"plausible: {both} {problem}\n")


def test_a_session_and_its_model_do_not_share_standard_input(plausible):
    """The lines of the model would be taken for answers."""
    command = ("troubleshoot", "-", "--costs", "costs.csv", "--works", "dysp=no", "--session")
    code, _, errors = plausible(*command, piped=b"network x { }")
    assert (code, "so MODEL can't be -" in errors) == (2, True)


def test_the_graph_to_learn_from_may_be_piped(plausible, tmp_path):
    """As for other commands."""
    data, target = tmp_path / "data.csv", str(tmp_path / "net.json")
    data.write_text("smoke,xray\nyes,no\nno,no\nyes,yes\n")
    assert plausible("learn", str(data), "--graph", "-", "-o", target, piped=b"smoke -> xray\n")[0] == 0
    assert pb.load_network(target).graph == pb.DAG("smoke -> xray")


def test_messages_do_not_call_standard_input_and_output_a_dash(plausible):
    """What is written to standard output is told on standard error."""
    code, _, errors = plausible("learn", "-", "-o", "-", piped=b"coin\nh\nt\n")
    assert (code, errors.splitlines()[0]) == (0, "standard output: 1 variable written, learned from 2 rows")
    assert plausible("impute", "-", "-o", "-", piped=b"coin\nh\n")[2].startswith("standard output: 1 row written")
    assert plausible("score", "smoke -> xray", "-", piped=CSV.encode())[1].startswith("smoke -> xray on standard input")


def _through_a_pipe(*arguments: str, stdin: bytes = b"") -> bytes:
    """What a process writes that reads these bytes."""
    return subprocess.run([*RUN, *arguments], input=stdin, stdout=subprocess.PIPE, check=True).stdout


def test_a_terminal_gets_no_bytes_and_gives_no_file(capsys, monkeypatch):
    """Parquet is refused; so is a file that nobody pipes."""
    master, terminal = pty.openpty()
    with open(terminal, "r+b", buffering=0) as both, io.TextIOWrapper(both, write_through=True) as console:
        monkeypatch.setattr("sys.stdin", console)
        monkeypatch.setattr("sys.stdout", console)
        for arguments, problem in (
            (("sample", "asia", "--format", "parquet"), "a terminal can't show it"),
            (("query", "-", "lung"), "which is the terminal here"),
        ):
            with pytest.raises(SystemExit) as stop:
                main(arguments)
            assert stop.value.code == 2
            assert problem in capsys.readouterr().err
    os.close(master)


def test_head_ends_a_sample_without_a_word():
    """Endless rows, of which the first is wanted; the exit is that of `cat`."""
    command = [*RUN, "sample", "chain", "-n", "999999999"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            assert running.stdout.readline() == b"A,B,C\n"
            running.stdout.close()
            assert running.stderr.read() == b""
            assert running.wait(timeout=60) == -signal.SIGPIPE
        finally:
            running.kill()


def test_a_full_disk_is_one_line():
    """Also where what is left is written at the end."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*RUN, "sample", "asia"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (2, b"plausible: [Errno 28] No space left on device\n")
