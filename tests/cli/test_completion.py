"""What the Tab key offers, asked as shells ask."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import plausible as pb
from plausible.cli.commands import COMMANDS
from plausible.learn.scores.reading import SCORES
from plausible.learn.structure_methods import METHODS


@pytest.fixture
def offered(plausible, monkeypatch):
    """The words that bash is offered; `=` is a word of its own there."""

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", "\n".join(["plausible", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        monkeypatch.setenv("_PLAUSIBLE_COMPLETE", "complete_bash")
        code, text, errors = plausible()
        assert (code, errors) == (0, "")
        return text.split()

    return ask


def test_commands_are_offered(offered):
    """All, or those that begin so."""
    assert offered("") == list(COMMANDS)
    assert offered("ma") == ["marginals", "map"]


def test_examples_and_files_are_offered_for_a_model(offered, tmp_path, monkeypatch):
    """Files beside examples; alone they are left to the shell, which knows folders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asthma.bif").touch()
    (tmp_path / ".asleep.bif").touch()
    assert offered("query", "as") == ["asia", "asthma.bif"]
    assert offered("query", "ast") == []
    assert offered("learn", "as") == []
    assert offered("compare", "asia", "ala") == ["alarm"]
    assert offered("learn", "rows.csv", "--graph", "asi") == ["asia"]
    assert set(pb.examples.names()) < set(offered("info", ""))


def test_attributes_of_a_relational_model_are_offered_where_they_are_meant(offered, tmp_path):
    """As what to predict; the objects that `query` asks about have their names from tables."""
    coin = pb.Schema(coin={"id": ["dime"]})
    model = pb.RelationalModel(coin, [pb.TableCPD("coin.side", [0.5, 0.5], states=["heads", "tails"])])
    pb.save(model, tmp_path / "coin.json")
    assert offered("predict", str(tmp_path / "coin.json"), "--target", "co") == ["coin.side"]
    assert offered("query", str(tmp_path / "coin.json"), "co") == []
    assert "smoke" in offered("predict", "asia", "rows.csv", "--target", "")


def test_variables_of_the_model_are_offered(offered, tmp_path):
    """Of examples and of files; after a comma, the next."""
    names = list(pb.examples.load("asia").variables)
    file = tmp_path / "asia.bif"
    pb.save(pb.examples.load("asia"), file)
    for source in ("asia", str(file)):
        assert offered("query", source, "") == names
        assert offered("query", source, "--json", "-e", "xray", "=", "yes", "lung,") == [
            f"lung,{name}" for name in names
        ]
    assert offered("map", "asia", "-t", "lu") == ["lung"]
    assert offered("predict", "asia", "rows.csv", "lu") == ["lung"]
    assert offered("predict", "asia", "rows.csv", "lung", "lu") == []
    assert offered("query", "nowhere.bif", "") == []
    assert offered("sample", "asia", "--seed", "") == []


def test_states_are_offered_for_findings(offered):
    """Once one variable fits; bash takes what stands after = for a word."""
    assert offered("query", "asia", "-e", "xr") == ["xray=yes", "xray=no"]
    assert offered("query", "asia", "-e", "xray", "=") == ["yes", "no"]
    assert offered("query", "asia", "--evidence", "xray", "=", "y") == ["yes"]
    assert offered("query", "asia", "--do", "xray", "=", "yes,sm") == ["yes,smoke=yes", "yes,smoke=no"]
    assert offered("query", "asia", "--evidence", "=", "xray", "=", "n") == ["no"]
    assert offered("tornado", "asia", "lung", "=", "") == ["yes", "no"]


def test_other_shells_are_offered_whole_words(plausible, monkeypatch):
    """Zsh and fish have the line as it was typed."""
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "plausible query asia -e xray=y")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setenv("_PLAUSIBLE_COMPLETE", "complete_fish")
    assert plausible()[1] == "xray=yes\n"
    monkeypatch.setenv("_PLAUSIBLE_COMPLETE", "complete_zsh")
    assert '"xray=yes"' in plausible()[1]


def test_methods_and_scores_are_offered(offered):
    """All that there are, by the lists of the library."""
    assert offered("learn", "rows.csv", "--method", "hi") == ["hill-climbing"]
    assert offered("learn", "rows.csv", "--method", "") == [*METHODS, "pc"]
    assert offered("learn", "--score", "bd") == ["bdeu", "bds"]
    assert offered("score", "asia", "rows.csv", "--score", "bdeu,a") == ["bdeu,aic"]
    assert offered("score", "asia", "rows.csv", "--score", "") == list(SCORES)


def test_options_are_offered(offered):
    """Those of the command."""
    assert offered("query", "asia", "--ev") == ["--evidence"]
    assert offered("--ver") == ["--version"]


@pytest.mark.parametrize(
    "words", [(), ("",), ("query", "as"), ("query", "asia", "lu"), ("query", "asia", "-e", "xr")], ids=" ".join
)
def test_completion_loads_no_command_and_no_library_of_numbers(words):
    """NumPy alone takes longer than all of it; so does the help."""
    code = "import sys; from plausible.cli import main\ntry: main()\nfinally: print(*sys.modules)"
    environ = {"COMP_WORDS": " ".join(["plausible", *words]), "COMP_CWORD": str(len(words))}
    environ["_PLAUSIBLE_COMPLETE"] = "complete_bash"
    if not words:
        environ = {}
    done = subprocess.run(
        [sys.executable, "-c", code, *([] if words else ["--help"])],
        env={**os.environ, **environ},
        capture_output=True,
        check=True,
    )
    loaded = set(done.stdout.decode().splitlines()[-1].split())
    assert not loaded & {"numpy", "pandas", "numba", "plausible.io", "plausible.cli.questions", "rich.console"}


def test_a_script_for_the_shell_is_shown():
    """It asks `plausible` for what to offer."""
    command = [sys.executable, "-m", "plausible", "--show-completion"]
    text = subprocess.run(["bash", "-c", f"{' '.join(command)}; true"], capture_output=True, check=True).stdout.decode()
    assert re.search(r"complete -o default -F \w+ plausible\n", text)
    assert "_PLAUSIBLE_COMPLETE=complete_bash" in text
