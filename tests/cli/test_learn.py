"""`plausible learn`, `score` and `discretize`."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.data.discretization import Discretizer
from plausible.learn.evaluation.measures import score_graph
from plausible.learn.learned_structure import learn_structure


@pytest.fixture
def rows(tmp_path):
    """Rows of the network asia, in a file."""
    frame = pb.examples.load("asia").sample(800, seed=3)
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


def test_learn_writes_the_network_that_the_library_learns(plausible, rows, tmp_path):
    """The same graph, with the mean of the posterior under the prior named."""
    source, target = str(tmp_path / "data.csv"), tmp_path / "net.json"
    code, text, errors = plausible("learn", source, "-o", str(target), "--prior", "bdeu:10", "--json")
    assert (code, errors) == (0, "")
    found = learn_structure(rows)
    assert pb.load(target).graph == found.graph
    told = json.loads(text)
    assert told["score"] == pytest.approx(found.score)
    assert [(edge["parent"], edge["child"]) for edge in told["edges"]] == list(found.graph.edges)
    name = next(node for node in found.graph.nodes if not found.graph.parents(node))
    counts = rows[name].value_counts()
    table = pb.load(target).query(name)
    for state in counts.index:
        assert table[state] == pytest.approx((counts[state] + 5) / (len(rows) + 10))


def test_bootstrap_gives_shares_and_the_seed_decides(plausible, rows, tmp_path):
    """A strong edge is in all samples; the same seed gives the same shares."""
    arguments = ("learn", str(tmp_path / "data.csv"), "-o", str(tmp_path / "net.json"), "--bootstrap", "4", "--json")
    edges = json.loads(plausible(*arguments)[1])["edges"]
    strength = {frozenset((edge["parent"], edge["child"])): edge["strength"] for edge in edges}
    assert strength[frozenset(("lung", "either"))] == 1.0
    assert all(0 <= edge["as_directed"] <= edge["strength"] <= 1 for edge in edges)
    assert json.loads(plausible(*arguments)[1])["edges"] == edges


def test_what_is_known_and_what_is_given_holds(plausible, rows, tmp_path):
    """Required and forbidden edges, and tiers; a graph that is given is kept as it is."""
    target, source = tmp_path / "net.json", str(tmp_path / "data.csv")
    plausible("learn", source, "-o", str(target), "--required", "xray -> asia", "--forbidden", "lung -> either")
    edges = pb.load(target).graph.edges
    assert ("xray", "asia") in edges
    assert ("lung", "either") not in edges
    plausible("learn", source, "-o", str(target), "--method", "mmhc", "--tiers", "xray, dysp | asia smoke lung")
    early, late = {"xray", "dysp"}, {"asia", "smoke", "lung"}
    assert not [edge for edge in pb.load(target).graph.edges if edge[0] in late and edge[1] in early]
    plausible("learn", source, "-o", str(target), "--graph", "smoke -> lung", "--prior", "none")
    share = (rows["smoke"] == "yes").mean()
    assert pb.load(target).graph == pb.DAG("smoke -> lung")
    assert pb.load(target).query("smoke")["yes"] == pytest.approx(share)


def test_progress_tells_of_steps_and_scores(plausible, rows, tmp_path):
    """On standard error, without a time limit too."""
    target, source = tmp_path / "net.json", str(tmp_path / "data.csv")
    code, _, errors = plausible("learn", source, "-o", str(target), "--progress")
    assert code == 0
    assert "learning from data.csv: step " in errors


def test_score_is_the_sum_of_logarithms(plausible, rows, tmp_path):
    """Against the joint distribution, row by row, and the scores of the library."""
    code, text, errors = plausible("score", "asia", str(tmp_path / "data.csv"), "--score", "bic,k2", "--json")
    assert (code, errors) == (0, "")
    asia = pb.examples.load("asia")
    joint = asia.joint()
    logs = [math.log(joint[row]) for row in rows.to_dict("records")[:50]]
    rows[:50].to_csv(tmp_path / "few.csv", index=False)
    few = json.loads(plausible("score", "asia", str(tmp_path / "few.csv"), "--json")[1])
    assert few["log_likelihood"] == pytest.approx(math.fsum(logs))
    told = json.loads(text)
    assert told["scores"]["k2"] == pytest.approx(score_graph(asia.graph, rows, "k2"))


def test_score_sums_out_empty_cells_and_absent_columns(plausible, tmp_path):
    """P(x) of what is there."""
    (tmp_path / "data.csv").write_text("smoke,lung\nyes,yes\nno,\n")
    told = json.loads(plausible("score", "asia", str(tmp_path / "data.csv"), "--json")[1])
    asia = pb.examples.load("asia")
    expected = asia.log_probability({"smoke": "yes", "lung": "yes"}) + asia.log_probability({"smoke": "no"})
    assert told["log_likelihood"] == pytest.approx(expected)
    assert told["scores"] == {}


def test_states_that_are_numbers_or_booleans_come_back_from_text(plausible, tmp_path):
    """A CSV file has texts; the network's states are whole numbers."""
    (tmp_path / "data.csv").write_text("A,B\n0,1\n1,\n")
    code, _, errors = plausible("score", "chain", str(tmp_path / "data.csv"))
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_discretize_writes_labels_and_keeps_the_rest(plausible, tmp_path, ending):
    """Empty cells stay empty; cuts that were saved give the same intervals again."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "who": ["a", "b", "None"] * 20})
    frame.loc[3, "x"] = np.nan
    source, target = tmp_path / "data.csv", tmp_path / f"out.{ending}"
    frame.to_csv(source, index=False)
    cuts = tmp_path / "cuts.json"
    code, text, errors = plausible(
        "discretize", str(source), "-o", str(target), "--bins", "3", "--save-cuts", str(cuts), "--na", ""
    )
    assert (code, errors) == (0, "")
    assert "1 column cut" in text
    read = pd.read_csv(target, keep_default_na=False) if ending == "csv" else pd.read_parquet(target)
    expected = Discretizer.fit(frame, bins=3)
    assert Discretizer.from_json(cuts.read_text()) == expected
    assert read["who"].tolist() == frame["who"].tolist()
    labels = [label if isinstance(label, str) and label else None for label in read["x"]]
    assert labels[3] is None
    assert labels[:3] == expected.transform(frame)["x"].tolist()[:3]
    again = tmp_path / f"again.{ending}"
    plausible("discretize", str(source), "-o", str(again), "--cuts", str(cuts))
    assert again.read_bytes() == target.read_bytes()


def test_a_time_limit_bounds_the_bootstrap_too(plausible, rows, tmp_path):
    """It says how many of the samples were made; searches that were cut short do not count."""
    arguments = ("learn", str(tmp_path / "data.csv"), "-o", str(tmp_path / "net.json"), "--bootstrap", "5000")
    began = time.monotonic()
    code, text, errors = plausible(*arguments, "--time-limit", "0.2")
    assert (code, errors) == (0, "")
    assert time.monotonic() - began < 20
    made = int(text.split("bootstrap: ")[1].split()[0])
    assert made < 5000
    assert f"bootstrap: {made} samples of 5000; the time was up" in text


def test_methods_that_need_more_get_it(plausible, rows, tmp_path):
    """A class for TAN, an order for K2."""
    source, target = str(tmp_path / "data.csv"), tmp_path / "net.json"
    assert plausible("learn", source, "-o", str(target), "--method", "tan", "--class", "lung")[0] == 0
    assert len(pb.load(target).graph.children("lung")) == 7
    order = "asia smoke tub lung bronc either xray dysp"
    assert plausible("learn", source, "-o", str(target), "--method", "k2", "--order", order)[0] == 0
    places = order.split()
    assert all(places.index(u) < places.index(v) for u, v in pb.load(target).graph.edges)


def test_pc_writes_a_graph_of_its_class_and_names_edges_without_a_direction(plausible, rows, tmp_path):
    source, target = str(tmp_path / "data.csv"), tmp_path / "net.json"
    code, text, _ = plausible("learn", source, "-o", str(target), "--method", "pc", "--json")
    assert code == 0
    edges = json.loads(text)["edges"]
    found = pb.learn.pc(rows).graph
    assert {frozenset((e["parent"], e["child"])) for e in edges if not e["directed"]} == {
        frozenset(edge) for edge in found.undirected_edges
    }
    assert {(e["parent"], e["child"]) for e in edges if e["directed"]} == set(found.directed_edges)
    text = plausible("learn", source, "-o", str(target), "--method", "pc")[1]
    assert text.count("either direction") == len(found.undirected_edges)


def test_a_column_of_weights_counts_rows(plausible, tmp_path):
    (tmp_path / "data.csv").write_text("A,times\nx,3\ny,1\n")
    target = tmp_path / "net.json"
    arguments = ("-o", str(target), "--graph", "A", "--weights", "times", "--prior", "none")
    assert plausible("learn", str(tmp_path / "data.csv"), *arguments)[0] == 0
    assert pb.load(target).query("A")["x"] == pytest.approx(0.75)
    told = json.loads(plausible("score", str(target), str(tmp_path / "data.csv"), "--weights", "times", "--json")[1])
    assert told["log_likelihood"] == pytest.approx(3 * math.log(0.75) + math.log(0.25))


def test_score_leaves_out_columns_that_the_model_lacks_and_names_them(plausible, rows, tmp_path):
    """The same for a network in a file and for its graph as text."""
    source, target = str(tmp_path / "data.csv"), tmp_path / "pair.json"
    plausible("learn", source, "-o", str(target), "--graph", "smoke -> lung")
    told = [json.loads(plausible("score", model, source, "--json")[1]) for model in (str(target), "smoke -> lung")]
    others = [name for name in rows.columns if name not in ("smoke", "lung")]
    assert told[0]["columns_not_used"] == told[1]["columns_not_used"] == others
    expected = score_graph("smoke -> lung", rows[["smoke", "lung"]])
    assert told[0]["scores"]["bic"] == told[1]["scores"]["bic"] == pytest.approx(expected)
    assert "columns not used" in plausible("score", str(target), source)[1]


def test_help_names_all_methods_and_scores(plausible):
    """Lines are broken anywhere, so that blanks don't count."""
    text = "".join(plausible("learn", "--help")[1].split())
    assert [name for name in (*pb.learn.METHODS, *pb.learn.SCORES, "pc") if name not in text] == []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("learn", "data.csv", "-o", "net.json", "--method", "hill-climb"), "Did you mean 'hill-climbing'?"),
        (("learn", "data.csv", "-o", "net.json", "--score", "bci"), "is no score"),
        (("learn", "data.csv", "-o", "net.json", "--prior", "beau:3"), "Did you mean 'bdeu'?"),
        (("learn", "data.csv", "-o", "net.json", "--prior", "bdeu:0"), "equivalent_sample_size=0.0 must be"),
        (("learn", "data.csv", "-o", "net.json", "--graph", "A -> B", "--bootstrap", "3"), "--graph gives the graph"),
        (("learn", "data.csv", "-o", "net.json", "--graph", "A -> B", "--method", "tabu"), "--graph gives the graph"),
        (("learn", "data.csv", "-o", "net.json", "--method", "tan"), "--method tan needs --class"),
        (("learn", "data.csv", "-o", "net.json", "--order", "A B"), "--order is for --method k2"),
        (("learn", "data.csv", "-o", "net.json", "--method", "pc", "--score", "bic"), "--score has no effect"),
        (("learn", "data.csv", "-o", "net.json", "--alpha", "0.1"), "--alpha is for --method pc or mmhc"),
        (("learn", "data.csv", "-o", "net.json", "--method", "mmhc", "--variant", "stable"), "--variant is for"),
        (("learn", "data.csv", "-o", "net.json", "--method", "pc", "--variant", "stabel"), "Did you mean 'stable'?"),
        (("learn", "data.csv", "-o", "net.json", "--graph", "a -> B"), "--graph is one such as 'A -> B <- C; D'"),
        (("learn", "data.csv", "-o", "net.json", "--graph", "none.json"), "No such file"),
        (("learn", "wide.csv", "-o", "net.json", "--method", "exact"), "with a time limit instead"),
        (("learn", "data.csv", "-o", "net.json", "--weights", "B"), "has other cells than numbers"),
        (("learn", "semicolons.csv", "-o", "net.json"), "stand between semicolons"),
        (("discretize", "semicolons.csv", "-o", "out.csv"), "stand between semicolons"),
        (("score", "A -> B", "semicolons.csv"), "stand between semicolons"),
        (("learn", "data.csv", "-o", "net.json", "--required", "A -> Z"), "'Z' is not a variable"),
        (("learn", "none.csv", "-o", "net.json"), "No such file"),
        (("learn", "empty.csv", "-o", "net.json"), "can't be read as CSV"),
        (("learn", "gaps.csv", "-o", "net.json", "--missing", "availble"), "available"),
        (("score", "A -> Z", "data.csv", "--score", "bic"), "complete data"),
        (("score", "asia", "data.csv"), "None of the columns is a variable of 'asia'"),
        (("discretize", "data.csv", "-o", "data.csv"), "is the file to read"),
        (("discretize", "data.csv", "-o", "out.txt"), "neither a .csv nor a .parquet"),
        (("discretize", "data.csv", "-o", "out.csv", "--method", "quantiles"), "Did you mean 'quantile'?"),
        (("discretize", "data.csv", "-o", "out.csv", "--columns", "B"), "are no numbers"),
        (("discretize", "data.csv", "-o", "out.csv", "--columns", "A", "--method", "mdl"), "needs target="),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(plausible, tmp_path, monkeypatch, arguments, hint):
    """Exit code two, and no file made or changed."""
    monkeypatch.chdir(tmp_path)
    files = {
        "data.csv": "A,B\n1,x\n2,y\n1,x\n",
        "empty.csv": "",
        "gaps.csv": "A,B\n1,x\n2,\n1,x\n",
        "semicolons.csv": "A;B\n1;x\n",
        "wide.csv": "".join(",".join(f"{kind}{number}" for number in range(40)) + "\n" for kind in "xab"),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    code, text, errors = plausible(*arguments)
    assert (code, text) == (2, "")
    assert errors.count("\n") == 1
    assert hint in errors
    assert "time_limit=" not in errors
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize("missing", ["sem", "available", "pairwise", "complete-rows"])
def test_learn_takes_empty_cells_and_says_what_was_assumed(plausible, rows, tmp_path, missing):
    """The graph is the library's; without empty cells nothing is assumed."""
    rows = rows[["smoke", "lung", "either", "dysp"]]
    holes = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.03)
    holes.to_csv(tmp_path / "holes.csv", index=False)
    target = tmp_path / "net.json"
    code, text, _ = plausible("learn", str(tmp_path / "holes.csv"), "-o", str(target), "--missing", missing, "--json")
    assert code == 0
    assert "at random" in json.loads(text)["missing"]
    assert pb.load(target).graph == learn_structure(holes, missing=missing).graph
    told = plausible("learn", str(tmp_path / "data.csv"), "-o", str(target), "--json")[1]
    assert json.loads(told)["missing"] is None
    assert plausible("learn", str(tmp_path / "holes.csv"), "-o", str(target), "--missing", "sam")[0] != 0


def test_rows_without_data_are_told_of_and_counted(plausible, tmp_path):
    """No row has A=2 and C=v; a prior tells of it all the same."""
    (tmp_path / "data.csv").write_text("A,B,C\n1,x,u\n2,x,u\n1,y,v\n")
    arguments = ("learn", str(tmp_path / "data.csv"), "-o", str(tmp_path / "net.json"), "--graph", "A -> B; C -> B")
    code, text, errors = plausible(*arguments, "--json")
    assert (code, errors, json.loads(text)["unidentified_rows"]) == (0, "", 0)
    code, text, errors = plausible(*arguments, "--prior", "none", "--json")
    assert (code, json.loads(text)["unidentified_rows"]) == (0, 1)
    assert "warning: There is no data for 1 row of 'B'" in errors
    assert "--prior" in errors


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--method", "tan", "--class", "lung"), "log-likelihood"),
        (("--method", "chow-liu"), "log-likelihood"),
        (("--method", "chow-liu", "--score", "bdeu:10"), "bdeu:10"),
        ((), "bic"),
    ],
)
def test_a_score_has_its_name_in_text_and_document(plausible, rows, tmp_path, options, name):
    arguments = ("learn", str(tmp_path / "data.csv"), "-o", str(tmp_path / "net.json"), *options)
    told = json.loads(plausible(*arguments, "--json")[1])
    assert told["score_name"] == name
    assert told["score"] == pytest.approx(score_graph(pb.load(tmp_path / "net.json").graph, rows, name))
    assert f"edges, {name.partition(':')[0]} {told['score']:.6g} (" in plausible(*arguments)[1].lower()


def test_the_level_and_the_variant_of_tests_are_those_of_the_library(plausible, rows, tmp_path):
    source, target = str(tmp_path / "data.csv"), tmp_path / "net.json"
    plausible("learn", source, "-o", str(target), "--method", "pc", "--alpha", "1e-30", "--variant", "majority")
    found = pb.learn.pc(rows, alpha=1e-30, variant="majority")
    assert pb.load(target).graph == found.dag()
    assert found.dag().num_edges < pb.learn.pc(rows).dag().num_edges
    plausible("learn", source, "-o", str(target), "--method", "mmhc", "--alpha", "1e-30")
    assert pb.load(target).graph == learn_structure(rows, "mmhc", alpha=1e-30).graph


def test_a_state_of_a_file_is_a_finding_as_it_is_written(plausible, tmp_path):
    """Capitals count, as in Python, and what was meant is told; but truth values print with a capital in Python."""
    (tmp_path / "data.csv").write_text("d,e\ntrue,Yes\nfalse,yes\n")
    target = str(tmp_path / "net.json")
    plausible("learn", str(tmp_path / "data.csv"), "-o", target, "--graph", "d -> e")
    told = [plausible("query", target, "e", "--evidence", f"d={text}")[1] for text in ("true", "True", "false")]
    assert told[0] == told[1] != told[2]
    assert plausible("query", target, "d", "--evidence", "e=yes")[0] == 0
    code, _, error = plausible("query", target, "d", "--evidence", "e=YES")
    assert (code, "Did you mean" in error) == (2, True)
    code, _, error = plausible("query", "asia", "lung", "--evidence", "smoke=Yes")
    assert (code, "Did you mean 'yes'?" in error) == (2, True)


def test_the_graph_of_a_file_is_a_given_graph(plausible, rows, tmp_path):
    pb.save(pb.examples.load("asia"), tmp_path / "asia.bif")
    source, target = str(tmp_path / "data.csv"), tmp_path / "net.json"
    assert plausible("learn", source, "-o", str(target), "--graph", str(tmp_path / "asia.bif"))[0] == 0
    assert pb.load(target).graph == pb.examples.load("asia").graph


def test_a_bootstrap_without_time_says_to_raise_the_limit(plausible, rows, tmp_path):
    arguments = ("learn", str(tmp_path / "data.csv"), "-o", str(tmp_path / "net.json"), "--bootstrap", "3")
    text = plausible(*arguments, "--time-limit", "0")[1]
    assert "bootstrap: 0 samples of 3; the time was up: raise --time-limit" in text


def test_strengths_in_documents_have_six_places(plausible, rows, tmp_path):
    arguments = ("learn", str(tmp_path / "data.csv"), "-o", str(tmp_path / "net.json"), "--bootstrap", "7", "--json")
    edges = json.loads(plausible(*arguments)[1])["edges"]
    assert all(round(edge[key], 6) == edge[key] for edge in edges for key in ("strength", "as_directed"))


def test_a_column_of_names_of_rows_is_warned_of(plausible, rows, tmp_path):
    """And left out, unless it is named."""
    rows[:50].assign(case=range(50)).to_csv(tmp_path / "named.csv", index=False)
    arguments = ("learn", str(tmp_path / "named.csv"), "-o", str(tmp_path / "net.json"))
    assert "left out: 'case' (50 different values in 50 rows)" in plausible(*arguments)[2]
    assert "case" not in pb.load(tmp_path / "net.json").variables
    assert plausible(*arguments, "--graph", "smoke -> lung")[2] == ""
    assert plausible(*arguments, "--forbidden", "case -> lung", "--prior", "k2")[2] == ""
    assert "case" in pb.load(tmp_path / "net.json").variables


@pytest.fixture
def gaps(rows, tmp_path):
    """Rows of asia of which a tenth of the cells are written as NA, and a column without any value."""
    is_gap = np.random.default_rng(0).random(rows.shape) < 0.1
    rows.mask(is_gap).assign(note=None).to_csv(tmp_path / "gaps.csv", index=False, na_rep="NA")
    return rows.mask(is_gap)


def test_commands_take_words_that_mean_missing(plausible, gaps, tmp_path):
    """With --na cells are missing for learn, score, impute, cluster and discretize alike; without, there is a word."""
    source, target = str(tmp_path / "gaps.csv"), str(tmp_path / "net.json")
    learn = ("learn", source, "-o", target, "--graph", "smoke -> lung", "--json")
    told = json.loads(plausible(*learn, "--na", "NA")[1])
    number = int(gaps[["smoke", "lung"]].isna().sum().sum())
    assert told["missing"] == f"{number} cells are missing: completed by EM, taken to be missing at random"
    code, text, errors = plausible(*learn)
    assert (code, json.loads(text)["missing"]) == (0, None)
    assert "warning:" in errors
    assert "--na NA" in errors
    gaps.to_csv(source, index=False, na_rep="NA")
    assert json.loads(plausible("score", "asia", source, "--na", "NA", "--json")[1])["log_likelihood"] < 0
    filled = tmp_path / "filled.csv"
    assert json.loads(plausible("impute", source, "-o", str(filled), "--na", "NA", "--json")[1])["filled"] == int(
        gaps.isna().sum().sum()
    )
    assert "NA" not in filled.read_text()
    for command in (("cluster", source, "-k", "2"), ("discretize", source, "-o", str(tmp_path / "out.csv"))):
        assert plausible(*command, "--na", "NA")[::2] == (0, "")


def test_learn_takes_hidden_variables_of_a_graph(plausible, rows, tmp_path):
    source, target = str(tmp_path / "data.csv"), tmp_path / "net.json"
    learn = ("learn", source, "-o", str(target), "--graph", "H -> lung; H -> bronc; H -> dysp")
    code, text, errors = plausible(*learn, "--hidden", "H=2")
    assert (code, errors) == (0, "")
    assert "H hidden: the best of 6 runs of EM, converged" in text
    assert pb.load(target).variables["H"].num_states == 2
    for options, problem in [
        ((), "if 'H' is hidden, say so: --hidden H=2"),
        (("--hidden", "H"), "such as H=2"),
        (("--hidden", "H=2", "--hidden", "lung=2"), "'lung' has values in the data"),
        (("--hidden", "H=2", "--hidden", "Q=2"), "'Q' is not a variable of the graph, though --hidden has it"),
    ]:
        code, _, errors = plausible(*learn, *options)
        assert code == 2
        assert problem in errors
    assert "with --graph" in plausible("learn", source, "-o", str(target), "--hidden", "H=2")[2]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--method", "pc"), "with --missing complete-rows"),
        (("--graph", "smoke -> lung", "--missing", "pairwise"), "take --missing sem"),
        (("--missing", "foo"), "Known: 'sem', 'available', 'pairwise', 'complete-rows'."),
    ],
)
def test_what_can_not_be_done_about_empty_cells_comes_with_the_option_that_can(
    plausible, gaps, tmp_path, options, problem
):
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    code, _, errors = plausible("learn", str(tmp_path / "gaps.csv"), "-o", str(tmp_path / "net.json"), *options)
    assert code == 2
    assert errors.count(problem) == 1


def test_advice_of_the_library_names_options_in_the_shell(plausible, tmp_path):
    frame = pd.DataFrame({"x": [0.5, 1.5, np.nan, 2.5], "y": ["a", "b", "a", "b"]})
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    errors = plausible("learn", str(tmp_path / "mixed.csv"), "-o", str(tmp_path / "net.json"), "--missing", "pairwise")[
        2
    ]
    assert "--missing" in errors
    assert "missing=" not in errors


def test_columns_that_the_graph_lacks_are_not_read(plausible, tmp_path):
    """Nor must they be such as could be: 'NA' among measurements."""
    source, target = tmp_path / "u.csv", tmp_path / "n.json"
    source.write_text("rain,grass,height\nno,dry,1.5\nyes,wet,NA\nno,dry,1.7\nyes,wet,1.2\n")
    code, _, errors = plausible("learn", str(source), "-o", str(target), "--graph", "rain -> grass")
    assert (code, errors) == (0, "")
    assert set(pb.load(target).variables) == {"rain", "grass"}


def test_doubtful_columns_are_told_in_the_words_of_the_shell(plausible, tmp_path):
    """With quotes where the shell needs them, and no Python; in Python, no options."""
    rows, source = pb.examples.load("asia").sample(50, seed=1), tmp_path / "rows.csv"
    rows.to_csv(source)  # with its index
    frame = pd.read_csv(source)
    source.write_text(frame.to_csv(index=False))
    code, _, errors = plausible("learn", str(source), "-o", str(tmp_path / "net.json"))
    assert code == 0
    assert "--states NAME, or as a number: --continuous 'Unnamed: 0'." in errors
    assert "Table.read" not in errors
    with pytest.warns(pb.data.DoubtfulColumns, match=r"variables=\[Variable\('Unnamed: 0'\)\]\)\.$") as caught:
        pb.learn.structure(frame)
    assert "--" not in str(caught[0].message)
    keep = ("--continuous", "Unnamed: 0", "--states", "asia")
    assert "hardly variables" not in plausible("learn", str(source), "-o", str(tmp_path / "net.json"), *keep)[2]


def test_learn_writes_undirected_networks(plausible, rows, tmp_path):
    """--markov fits tables on a given graph, or finds the graph; the file answers questions."""
    source, target = str(tmp_path / "data.csv"), tmp_path / "net.json"
    options = ("--markov", "--graph", "smoke - lung - dysp - bronc - smoke", "--prior", "gaussian:1")
    code, text, errors = plausible("learn", source, "-o", str(target), *options, "--json")
    assert (code, errors) == (0, "")
    fit = pb.learn.markov("smoke - lung - dysp - bronc - smoke", rows, prior=pb.GaussianPrior(1.0))
    assert json.loads(text)["log_likelihood"] == pytest.approx(fit.log_likelihood)
    asked = [net.query("lung", evidence={"dysp": "yes"})[{"lung": "yes"}] for net in (pb.load(target), fit.network)]
    assert asked[0] == pytest.approx(asked[1], abs=1e-6)
    code, text, _ = plausible("learn", source, "-o", str(target), "--markov", "--method", "chow-liu")
    assert code == 0
    assert "method chow-liu" in text
    assert pb.load(target).graph == pb.learn.markov_structure(rows, "chow-liu").graph


def test_learn_refuses_what_an_undirected_network_has_not(plausible, rows, tmp_path):
    """Priors of directed tables, and limits of directed searches."""
    source, target = str(tmp_path / "data.csv"), str(tmp_path / "net.json")
    assert "gaussian:1" in plausible("learn", source, "-o", target, "--markov", "--prior", "bdeu:1")[2]
    assert "no other limits" in plausible("learn", source, "-o", target, "--markov", "--tiers", "smoke | lung")[2]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--method", "pc"),
        ("--graph", "smoke -> lung; H -> lung", "--hidden", "H=2"),
        ("--bootstrap", "2", "--method", "first-ascent"),
        ("--missing", "complete-rows", "--method", "chow-liu"),
    ],
    ids=" ".join,
)
def test_learn_explains_what_it_would_cost(plausible, rows, tmp_path, options):
    """Nothing is written, and no file to write is named."""
    code, text, errors = plausible("learn", str(tmp_path / "data.csv"), "--explain", "--json", *options)
    assert (code, errors) == (0, "")
    told = json.loads(text)
    assert told["num_rows"] == pytest.approx(800, rel=0.1)
    assert (told["num_passes"] is None) == ("--bootstrap" in options)
    assert told["bytes_read"] == 2 * (tmp_path / "data.csv").stat().st_size
    assert "passes, " in plausible("learn", str(tmp_path / "data.csv"), "--explain")[1]
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_learn_refuses_to_explain_what_it_can_not_try(plausible, rows, tmp_path):
    """Standard input, rows in time, undirected networks; and to learn without a file to write."""
    source = str(tmp_path / "data.csv")
    for options in (("-", "--explain"), (source, "--explain", "--markov"), (source, "--explain", "--latent", "2")):
        assert "--explain tells what directed networks" in plausible("learn", *options)[2]
    assert "--output net.json" in plausible("learn", source)[2]
    assert "'nope' is no method" in plausible("learn", source, "--explain", "--method", "nope")[2]
