"""`plausible draw`: what it writes, and what it refuses."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest


def test_a_model_is_drawn_with_and_without_beliefs(plausible, tmp_path):
    """Without evidence the graph alone; with it, beliefs."""
    file = tmp_path / "asia.svg"
    code, told, _ = plausible("draw", "asia", "-o", str(file))
    assert (code, "8 nodes and 8 edges drawn" in told) == (0, True)
    assert "%" not in file.read_text(encoding="utf-8").partition("</style>")[2]
    code, told, _ = plausible("draw", "asia", "-e", "xray=yes", "--do", "smoke=yes", "-o", str(file), "--json")
    assert (code, json.loads(told)["nodes"]) == (0, 8)
    text = file.read_text(encoding="utf-8")
    assert "seen" in text
    assert "set" in text


def test_graphs_diagrams_and_standard_output(plausible, tmp_path):
    """Arrow text, a solved diagram, and SVG on standard output, of a part of the graph."""
    code, told, _ = plausible("draw", "X -> Y; X <-> Y", "-o", "-")
    assert (code, told.startswith("<svg"), "X &lt;-&gt; Y" in told) == (0, True, True)
    code, told, _ = plausible("draw", "oil", "--solve", "-o", "-")
    assert (code, "Expected utility 16.75" in told) == (0, True)
    code, told, _ = plausible("draw", "asia", "--focus", "asia", "-o", "-")
    assert (code, ">tub<" in told, ">bronc<" in told) == (0, True, False)
    code, told, _ = plausible("draw", "asia", "--beliefs", "-o", str(tmp_path / "asia.png"), "--dark")
    assert (code, (tmp_path / "asia.png").read_bytes()[:4]) == (0, b"\x89PNG")


def test_what_makes_no_sense_is_refused(plausible):
    """Findings of a graph or a diagram, a solution of a network, all and a part, no ending."""
    for words, said in [
        (("A -> B", "-e", "A=1", "-o", "-"), "has no beliefs"),
        (("A -> B", "--solve", "-o", "-"), "has no beliefs"),
        (("A -> B", "--beliefs", "-o", "-"), "has no beliefs"),
        (("oil", "-e", "oil=dry", "-o", "-"), "takes no findings"),
        (("asia", "--solve", "-o", "-"), "no influence diagram"),
        (("asia", "--all", "--focus", "lung", "-o", "-"), "opposite"),
        (("asia", "-o", "asia"), "says no format"),
    ]:
        code, _, errors = plausible("draw", *words)
        assert code != 0
        assert said in errors


@pytest.mark.parametrize(
    ("words", "drawn"),
    [
        (("tornado", "asia", "lung=yes", "-e", "xray=yes", "-o"), "P(xray=no | either=no)"),
        (("sensitivity", "asia", "lung=yes", "P(xray=yes | either=no)", "--plot"), "P(lung=yes | e) = 0.055 now"),
        (("decide", "oil", "--plot"), "always yes"),
        (("decide", "oil", "--why", "drill", "--seen", "seismic=open,test=yes", "--plot"), "Decision drill seeing"),
        (("decide", "oil", "--stability", "--plot"), "can change the strategy"),
        (("decide", "oil", "--stability", "--tornado", "0.2", "--plot"), "lowered"),
        (("voi", "oil", "--decision", "drill", "--cost", "5", "--plot"), "net of cost"),
        (("voi", "oil", "--decision", "drill", "--choose", "set", "--plot"), "Sets of observations"),
    ],
    ids=lambda words: " ".join(words[:3]) if isinstance(words, tuple) else "",
)
def test_answers_are_drawn_into_a_file_too(plausible, tmp_path, words, drawn):
    """What is printed is the same as without; JSON as well. That there is a file is said on standard error."""
    file = tmp_path / "chart.svg"
    code, told, said = plausible(*words, str(file))
    assert (code, said.splitlines()[-1]) == (0, f"{file}: drawn")
    assert drawn in html.unescape(file.read_text(encoding="utf-8"))
    assert told == plausible(*words[:-1])[1]


def test_what_was_learned_is_drawn(plausible, tmp_path):
    """The search, strengths of edges, EM, else the graph; networks without directions, and in time."""
    rows, file, net = (str(tmp_path / name) for name in ("rows.csv", "chart.svg", "net.json"))
    assert plausible("sample", "asia", "-n", "150", "--seed", "1", "-o", rows)[0] == 0
    for options, drawn in [
        (("--method", "first-ascent"), "Search: score"),
        (("--method", "first-ascent", "--bootstrap", "2"), "the other way"),
        (("--method", "pc"), ">either<"),
        (("--graph", "smoke -> lung"), ">lung<"),
        (("--graph", "H -> lung; H -> bronc", "--hidden", "H=2"), "EM fit"),
        (("--markov", "--method", "chow-liu"), "Markov structure"),
        (("--hidden-states", "2"), "HMM fit"),
    ]:
        code, _, said = plausible("learn", rows, "-o", net, "--plot", file, *options)
        assert (code, said) == (0, f"{file}: drawn\n"), options
        assert drawn in Path(file).read_text(encoding="utf-8"), options
    code, told, _ = plausible("draw", net, "-o", "-")
    assert (code, "At first:" in told) == (0, True)
    for words in (("-e", "asia=yes"), ("--beliefs",), ("--solve",)):
        assert "takes no findings" in plausible("draw", net, *words, "-o", "-")[2]


def test_files_of_charts_are_checked_before_the_work(plausible, tmp_path):
    """An ending that is no format, a folder that is not there; what has nothing to compare."""
    for words, said in [
        (("decide", "oil", "--plot", str(tmp_path / "a.xyz")), "No pictures are written as '.xyz'"),
        (("learn", "nothing.csv", "-o", "net.json", "--plot", str(tmp_path / "no" / "a.svg")), "There is no folder"),
        (("voi", "oil", "oil", "--decision", "drill", "--plot", str(tmp_path / "a.svg")), "--choose rank or set"),
    ]:
        code, _, problem = plausible(*words)
        assert code != 0
        assert said in problem
    assert list(tmp_path.iterdir()) == []
