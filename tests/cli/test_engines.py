"""Engines on the command line."""

from __future__ import annotations

import json
import re

import pytest

import plausible as pb
from plausible.inference.engine_mistakes import engine_kinds


def test_an_engine_and_its_options_answer_a_query(plausible):
    code, text, errors = plausible(
        "query", "asia", "lung", "-e", "xray=yes", "--engine", "loopy-bp:damping=0.3", "--json"
    )
    assert (code, errors) == (0, "")
    found = json.loads(text)
    answer = pb.examples.load("asia").query("lung", {"xray": "yes"}, engine=pb.LoopyBP(damping=0.3))
    assert found["values"] == pytest.approx(answer.values.tolist())
    assert found["info"]["engine"] == "loopy belief propagation"


def test_the_quality_line_says_what_an_answer_is_worth(plausible):
    _, text, _ = plausible("query", "asia", "lung", "--engine", "auto")
    assert text.splitlines()[-1].endswith("; exact")
    _, text, _ = plausible("marginals", "asia", "--engine", "likelihood-weighting:num_samples=500,seed=3")
    assert "by likelihood weighting; approximate; converged; error up to 0." in text
    _, text, _ = plausible("mpe", "asia", "--engine", "max-product")
    assert "by max-product belief propagation" in text
    _, text, _ = plausible("map", "asia", "lung", "-e", "dysp=yes", "--engine", "likelihood-weighting:num_samples=500")
    assert "log-probability between" in text
    assert "(95 %)" in text
    _, plain, _ = plausible("query", "asia", "lung")
    assert "by " not in plain


def test_lists_are_options_too(plausible):
    option = "gibbs:num_samples=200,blocks=[['tub','lung'],['either','xray']],burn_in=10"
    code, text, _ = plausible("marginals", "asia", "--engine", option, "--json")
    assert (code, json.loads(text)["lung"]["info"]["engine"]) == (0, "Gibbs sampling")


def test_rows_of_an_engine_are_told_on_standard_error(plausible):
    code, text, errors = plausible(
        "sample", "asia", "-n", "3", "--seed", "1", "-e", "dysp=yes", "--engine", "gibbs:num_samples=200"
    )
    assert (code, len(text.splitlines())) == (0, 4)
    assert "by Gibbs sampling" in errors
    assert "independent ones" in errors


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("loopybp", "Did you mean 'loopy-bp'?"),
        ("nothing", "variable-elimination"),
        ("auto:damping=1", "no engine"),
        ("loopy-bp:dampin=0.3", "It has schedule, damping"),
        ("loopy-bp:damping", "a value"),
        ("loopy-bp:damping=2", "damping"),
        ("variable-elimination:order=tub", """Write --engine 'variable-elimination:order=["tub"]'."""),
        ("max-product", "MaxProduct looks for best assignments. Use plausible mpe --engine max-product"),
        ("collapsed-gibbs:sampled=smoke", 'collapsed-gibbs:sampled=["smoke"]'),
    ],
)
def test_mistakes_end_in_a_line_that_helps(plausible, engine, told):
    code, text, errors = plausible("query", "asia", "lung", "--engine", engine)
    assert (code, text, len(errors.splitlines())) == (2, "", 1)
    assert told in errors


@pytest.mark.parametrize("command", ["query", "marginals", "mpe", "map", "sample"])
def test_help_lists_every_engine(plausible, command):
    _, text, _ = plausible(command, "--help")
    told = "".join(text.split())  # lines may break after hyphens
    for name, kind in engine_kinds().items():
        assert re.sub("(?<=[a-z])(?=[A-Z])", "-", name).lower() in told, kind


def test_what_is_too_large_names_options_of_the_command(plausible, tmp_path):
    path = tmp_path / "grid.uai"
    pb.save(pb.models.ising(pb.models.grid(40, 40), coupling=-0.2), path)
    _, _, errors = plausible("query", str(path), "0")
    assert errors.endswith("raise --budget-seconds or --budget-memory, or approximate with --engine auto.\n")
    _, _, errors = plausible("sample", str(path))
    assert errors.endswith("draw by a chain: --engine auto.\n")
    assert "budget" not in errors
