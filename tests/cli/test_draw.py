"""`plausible draw`: what it writes, and what it refuses."""

from __future__ import annotations

import json


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
        (("oil", "-e", "oil=dry", "-o", "-"), "takes no findings"),
        (("asia", "--solve", "-o", "-"), "no influence diagram"),
        (("asia", "--all", "--focus", "lung", "-o", "-"), "opposite"),
        (("asia", "-o", "asia"), "says no format"),
    ]:
        code, _, errors = plausible("draw", *words)
        assert code != 0
        assert said in errors
