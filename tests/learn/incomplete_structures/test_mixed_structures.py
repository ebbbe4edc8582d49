"""Structural EM for tables of numbers and states, against graphs of the complete data and the engine's likelihood."""

import math

import numpy as np
import pandas as pd
import pytest

from plausible.cli import main
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_structures.missing import MixedJudge, drawn_completions
from plausible.learn.incomplete_structures.structural_em import SEMRules
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.gaussian import ConditionalGaussian
from plausible.learn.structure_methods import METHODS
from plausible.learn.structures.knowledge import Knowledge
from plausible.search.run import Clock, Stops

TRUE = DAG("a -> b -> x -> y -> z; c -> y; c -> z")
OPTIONS = {"tan": {"class_variable": "a"}, "k2": {"order": list("abcxyz")}, "annealing": {"max_steps": 200}}


def mixed_rows(seed, num_rows, missing=0.15):
    """Three states and three numbers of a known network, whole and with gaps."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 2, num_rows), rng.integers(0, 3, num_rows)
    b = np.where(rng.random(num_rows) < 0.8, a, 1 - a)
    x = 2.0 * b + rng.normal(size=num_rows)
    y = 1.2 * x + 1.5 * (c == 2) + rng.normal(size=num_rows)
    z = np.where(c == 0, -1.0, 1.0) + 0.8 * y + rng.normal(size=num_rows)
    states = {"a": np.array(["n", "y"])[a], "b": np.array(["l", "h"])[b], "c": np.array(["r", "g", "b"])[c]}
    whole = pd.DataFrame({**states, "x": x, "y": y, "z": z})
    return whole, whole.mask(pd.DataFrame(rng.random(whole.shape) < missing, columns=whole.columns))


def distance(one, other):
    """How many edges only one graph has."""
    return len(set(one.edges) ^ set(other.edges))


def test_gaps_cost_no_edge_of_the_graph_of_complete_data():
    """A sample of 1,000 rows with 15 % missing."""
    whole, holes = mixed_rows(0, 1000)
    found, complete = learn_structure(holes), learn_structure(whole)
    assert (complete.missing, found.missing) == ("", "sem")
    assert distance(found.graph, complete.graph) == 0
    assert np.diff([score for _, score in found.trace]).min() >= 0.0
    assert "missing at random" in found.assumption
    assert list(found.graph.nodes) == list("abcxyz")


@pytest.mark.slow
def test_completed_rows_find_a_graph_nearer_to_that_of_complete_data_than_complete_rows_alone():
    """Six samples of 300 rows of which some 30 are complete: at most two thirds as many edges are wrong."""
    apart = np.zeros(2)
    for seed in range(6):
        whole, holes = mixed_rows(seed, 300, missing=0.32)
        graphs = [learn_structure(holes, missing=missing).graph for missing in ("sem", "complete-rows")]
        apart += [distance(graph, learn_structure(whole).graph) for graph in graphs]
    assert apart[0] < 2 / 3 * apart[1]


def test_the_score_is_the_likelihood_of_observed_cells_less_the_price_of_parameters():
    """By the engine's likelihood of each row, and parameters counted by hand: 1 + 2 + 2 + 2·2 + 3·3 + 3·3."""
    _, holes = mixed_rows(1, 200)
    judge = MixedJudge.of(Table.read(holes), ConditionalGaussian(), Stops(max_steps=20), Clock.of(None))
    fit = judge.fit(TRUE, judge.start(TRUE, np.random.default_rng(0)))
    rows = holes.astype(dict.fromkeys("abc", object)).where(holes.notna(), np.nan)
    observed = float(fit.network.compile().log_likelihood(rows).sum())
    assert fit.score == pytest.approx(observed - 0.5 * math.log(200) * 27, abs=1e-6)
    assert observed == pytest.approx(learn_em(TRUE, holes).log_likelihood, abs=0.5)


def test_draws_have_the_posterior_of_their_cells_and_the_weight_of_their_rows():
    """P(b | x) of the rows that lack b, and x given b of those that lack x, by the engine."""
    _, holes = mixed_rows(2, 120)
    table = Table.read(holes)
    network = learn_em(TRUE, table).network
    drawn = drawn_completions(table, network, 400, np.random.default_rng(0))
    assert drawn.missing == {}
    assert drawn.total == pytest.approx(120.0)
    marginals = network.compile().expected_counts(holes)["b"].sum(axis=0)
    counts = np.bincount(drawn.column("b"), drawn.weights)
    np.testing.assert_allclose(counts, marginals, atol=0.5)


def test_what_was_set_from_outside_says_nothing_about_its_causes():
    """a is drawn evenly where b was set, though b tells a where it was not."""
    table = Table.read({"a": [0, 1] * 50 + [None], "b": [0, 1] * 50 + [1], "x": [0.5, 1.5] * 50 + [0.7]})
    network = learn_em("a -> b; x", table).network
    is_set = Table.read(table, interventions={"b": [False] * 100 + [True]})
    seen, acted = (drawn_completions(t, network, 1000, np.random.default_rng(0)) for t in (table, is_set))
    assert seen.column("a")[100:].mean() == pytest.approx(1.0)
    assert acted.column("a")[100:].mean() == pytest.approx(0.5, abs=0.05)


def test_a_number_that_was_set_and_not_noted_is_drawn_like_those_that_were():
    """Around the mean of the column with its spread, whatever its causes are."""
    rows = {"a": [0, 1] * 50 + [1], "x": [30.5, 50.5] * 50 + [None], "y": [0.5, 1.5] * 50 + [0.7]}
    network = learn_em("a -> x; y", Table.read(rows)).network
    acted = Table.read(rows, interventions={"x": [False] * 100 + [True]})
    drawn = drawn_completions(acted, network, 1000, np.random.default_rng(0)).column("x")[100:]
    assert (drawn.mean(), drawn.std()) == (pytest.approx(40.5, abs=1.5), pytest.approx(10.0, abs=1.0))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "ges"])
def test_every_method_that_takes_numbers_and_states_takes_them_with_gaps(method):
    _, holes = mixed_rows(3, 150)
    found = learn_structure(holes, method, missing=SEMRules(max_steps=1), **OPTIONS.get(method, {}))
    assert found.missing == "sem"
    assert np.isfinite(found.score)
    assert found.graph.is_adjacent("y", "z")


def test_neither_the_order_of_rows_nor_that_of_columns_matters():
    _, holes = mixed_rows(4, 200)
    found = learn_structure(holes, seed=1)
    turned = learn_structure(holes.iloc[::-1][list("zbxacy")].reset_index(drop=True), seed=1)
    assert turned.graph == found.graph
    assert turned.score == pytest.approx(found.score)


def test_what_is_known_a_start_and_limits_are_heeded():
    _, holes = mixed_rows(5, 200)
    found = learn_structure(holes, knowledge=Knowledge(required="a -> z", forbidden=[("b", "x")]))
    assert found.graph.has_edge("a", "z")
    assert not found.graph.has_edge("b", "x")
    told = []
    start = learn_structure(holes, start=TRUE, missing=SEMRules(max_steps=0), progress=told.append)
    assert set(start.graph.edges) == set(TRUE.edges)
    assert learn_structure(holes, progress=lambda state: True).stopped_by == "interrupted"
    assert learn_structure(holes, time_limit=0.0).stopped_by == "time limit"
    with pytest.raises(InvalidArgument, match="x -> a goes from a number to states"):
        learn_structure(holes, knowledge=Knowledge(required="x -> a"))
    with pytest.raises(InvalidArgument, match="num_draws=0"):
        learn_structure(holes, missing=SEMRules(num_draws=0))


@pytest.mark.parametrize(
    "columns",
    [["a", "x"], ["a", "b", "x"], ["a", "x", "y", "z"]],
    ids=["one of each", "one number", "one state"],
)
@pytest.mark.parametrize("num_rows", [4, 25, 200])
def test_small_tables_have_a_graph_and_a_score(columns, num_rows):
    """No fewer rows make Gaussians without variance look good: no more edges than a tree of their own would have."""
    whole, holes = mixed_rows(6, num_rows, missing=0.3)
    holes["a"] = whole["a"]
    holes.loc[0, "x"] = np.nan
    found = learn_structure(holes[columns])
    assert np.isfinite(found.score)
    assert found.graph.num_edges <= len(columns) + 1


def test_available_rows_score_numbers_and_states_too_and_pairs_do_not():
    """Without gaps these are the scores themselves."""
    whole, holes = mixed_rows(7, 600)
    found = learn_structure(holes, missing="available")
    assert {frozenset(edge) for edge in TRUE.edges} <= {frozenset(edge) for edge in found.graph.edges}
    same = learn_structure(whole.assign(spare=[None, *["u", "v", "u", "v", "u"] * 119, *"uvuv"]), missing="available")
    complete = ConditionalGaussian().on_data(whole)
    for child, parents in (("z", ["c", "y"]), ("b", ["a"]), ("x", [])):
        assert same.scores.family(child, parents) == pytest.approx(complete.family(child, parents))
    assert same.scores.family("b", ["x"]) == -math.inf
    with pytest.raises(NotSupported, match=r"missing='sem'.*missing='complete-rows'"):
        learn_structure(holes, missing="pairwise")


def test_a_score_of_states_is_refused_with_the_names_of_those_that_fit():
    _, holes = mixed_rows(8, 100)
    with pytest.raises(NotSupported, match="conditional-gaussian-bic"):
        learn_structure(holes, score="bic")


def test_numbers_alone_are_taken_with_the_score_of_both_kinds():
    _, holes = mixed_rows(9, 300)
    found = learn_structure(holes[["x", "y", "z"]], score="conditional-gaussian-bic")
    assert found.graph.is_adjacent("x", "y")
    assert found.graph.is_adjacent("y", "z")


def test_the_command_line_learns_from_a_file_of_numbers_and_states_with_gaps(tmp_path, capsys):
    _, holes = mixed_rows(10, 200)
    holes.to_csv(tmp_path / "mixed.csv", index=False)
    with pytest.raises(SystemExit) as stop:
        main(["learn", str(tmp_path / "mixed.csv"), "-o", str(tmp_path / "net.json")])
    assert not stop.value.code
    assert "structural EM" in capsys.readouterr().out
