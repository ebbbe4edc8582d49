"""Commands on influence diagrams: told, shown and converted; questions to networks are refused with the reason."""

from __future__ import annotations

import json

import pytest

import plausible as pb


def test_info_tells_who_decides_what_and_what_it_is_worth(plausible):
    code, out, _ = plausible("info", "entrepreneur")
    told = " ".join(out.split())
    assert code == 0
    assert "kind influence diagram" in told
    assert "decisions C(), F(S, C)" in told
    assert "utilities V_E(M, F), V_S(C)" in told


def test_info_as_json_lists_the_parts(plausible):
    found = json.loads(plausible("info", "oil", "--json")[1])
    assert found["kind"] == "influence diagram"
    assert found["chance"] == ["oil", "seismic"]
    assert found["decisions"] == {"test": [], "drill": ["seismic", "test"]}
    assert found["utilities"] == {"payoff": ["oil", "drill"], "cost": ["test"]}


def test_show_draws_the_graph_and_every_part(plausible):
    code, out, _ = plausible("show", "entrepreneur")
    assert code == 0
    assert out.splitlines()[0] == str(pb.examples.load("entrepreneur").graph)
    assert "decides among skip, found, seeing S, C" in out
    assert "decides among skip, conduct, seeing nothing" in out
    assert str(pb.examples.load("entrepreneur").utility_factors["V_E"]) in out


def test_show_takes_utilities_by_name(plausible):
    code, out, _ = plausible("show", "oil", "cost")
    assert code == 0
    assert "-12" in out
    assert "payoff'" not in out
    assert "Did you mean 'cost'" in plausible("show", "oil", "costs")[2]


def test_show_as_json_has_the_numbers(plausible):
    found = json.loads(plausible("show", "oil", "--json")[1])
    assert found["utilities"]["cost"] == {"parents": ["test"], "values": [0.0, -12.0]}
    assert found["decisions"]["drill"] == ["seismic", "test"]
    assert list(found["distributions"]) == ["oil", "seismic"]
    assert list(found["variables"]) == ["oil", "seismic", "test", "drill"]


def test_convert_goes_from_format_to_format(plausible, tmp_path):
    first, second = str(tmp_path / "oil.net"), str(tmp_path / "oil.xdsl")
    code, out, _ = plausible("convert", "oil", first)
    assert code == 0
    assert "4 variables, 2 utilities written" in out
    assert json.loads(plausible("convert", first, second, "--json")[1])["utilities"] == 2
    assert pb.load(second) == pb.examples.load("oil")


def test_convert_to_a_format_without_decisions_says_which_have_them(plausible, tmp_path):
    code, _, error = plausible("convert", "oil", str(tmp_path / "oil.bif"))
    assert code != 0
    assert ".json, .xdsl, .net or .xmlbif" in error


@pytest.mark.parametrize(
    "arguments", [("query", "oil", "oil"), ("mpe", "oil"), ("sample", "oil"), ("marginals", "oil")]
)
def test_a_question_to_a_network_is_refused_with_the_reason(plausible, arguments):
    code, _, error = plausible(*arguments)
    assert code != 0
    assert "'oil' is an influence diagram" in error


def test_separation_is_read_off_the_graph_of_a_diagram(plausible):
    code, out, _ = plausible("dsep", "oil", "oil", "test")
    assert code == 0
    assert "oil and test are d-separated" in out
