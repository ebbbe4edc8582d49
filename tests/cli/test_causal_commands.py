"""`plausible identify`, `adjust`, `effect`, `counterfactual`, `bounds` and `discover`."""

from __future__ import annotations

import json
import shlex
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.cli.evidence import Term, read_effect

FRONT_DOOR = "S -> T -> C; S <-> C"
BOW = "X -> Y; X <-> Y"
TRIAL = "A -> T -> O; T <-> O"
COUPLINGS = ("independent", "comonotone")
#: P(T, O | A) of a trial in which 39 % of those who were assigned the drug didn't take it.
SHARES = np.array([[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]])


@pytest.fixture
def trial(tmp_path):
    """A file with 2000 cases that have these shares."""
    rows = [
        dict(zip("ATO", states, strict=True))
        for states in product(range(2), repeat=3)
        for _ in range(round(1000 * SHARES[states]))
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "trial.csv", index=False)
    return str(tmp_path / "trial.csv")


@pytest.fixture
def confounded(tmp_path):
    """A network Z -> X -> Y <- Z whose effect differs from the association, as a file."""
    network = pb.BayesianNetwork(
        pb.TableCPD("Z", [0.4, 0.6]),
        pb.TableCPD("X", [[0.8, 0.2], [0.3, 0.7]], parents=["Z"]),
        pb.TableCPD("Y", [[[0.9, 0.1], [0.5, 0.5]], [[0.6, 0.4], [0.2, 0.8]]], parents=["Z", "X"]),
    )
    pb.save(network, tmp_path / "net.json")
    return network, str(tmp_path / "net.json")


def test_an_effect_is_read_with_its_quotes_states_and_conditions():
    """Separators in quotes or after a backslash belong to names."""
    found = read_effect(r'"a => b", c="1, 2" vs c=3=>"x | y"="vs " | d\=e, f')
    assert found.treatment == (Term("a => b", None), Term("c", "1, 2"))
    assert found.control == (Term("c", "3"),)
    assert found.outcome == (Term("x | y", "vs "),)
    assert found.given == (Term("d=e", None), Term("f", None))


@pytest.mark.parametrize("text", ["", "X", "X =>", "=> Y", "X => Y => Z", "X => Y | Z | W", "X vs Z vs W => Y", " => "])
def test_what_is_no_effect_is_refused_by_one_line_that_names_the_option(plausible, text):
    """Nothing is guessed."""
    code, out, errors = plausible("identify", BOW, "--effect", text)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert f"--effect {text!r}" in errors


def test_the_front_door_estimand_is_printed_as_text_latex_python_and_with_its_derivation(plausible):
    """Each form is the one asked for."""
    formula = "P(c | do(s)) = Σ_t P(t | s) Σ_s' P(c | t, s') P(s')\n"
    arguments = ("identify", FRONT_DOOR, "--effect", "S => C")
    assert plausible(*arguments) == (0, formula, "")
    assert plausible(*arguments, "--latex")[1].startswith(r"\sum_{t} P(t \mid s)")
    code, text, _ = plausible(*arguments, "--derivation")
    assert code == 0
    assert text.startswith(formula + "1. ID line")
    namespace: dict[str, object] = {}
    exec(plausible(*arguments, "--python")[1], namespace)
    joint = np.random.default_rng(0).dirichlet(np.ones(8)).reshape(2, 2, 2)  # axes (C, S, T)
    given = joint.sum(axis=0) / joint.sum(axis=(0, 2))[:, None]  # P(t | s)
    inner = np.einsum("cst,s->ct", joint / joint.sum(axis=0), joint.sum(axis=(0, 2)))
    np.testing.assert_allclose(namespace["effect"](joint), np.einsum("st,ct->sc", given, inner))


def test_several_treatments_and_conditions_are_read(plausible):
    """P(Y | do(X, Z), W) with everything observed is P(Y | X, Z, W)."""
    graph = "W -> X -> Y; W -> Z -> Y; W -> Y"
    assert plausible("identify", graph, "--effect", "X, Z => Y | W")[1] == "P(y | do(x, z), w) = P(y | x, z, w)\n"


def test_what_is_not_identifiable_ends_with_code_1_and_the_hedge(plausible):
    """The answer "no" is no mistake of the user: it is printed, not an error."""
    code, text, errors = plausible("identify", BOW, "--effect", "X => Y")
    assert (code, errors) == (1, "")
    assert "not identifiable" in text
    assert "F  = {X, Y}" in text
    code, text, _ = plausible("identify", BOW, "--effect", "X => Y", "--json")
    document = json.loads(text)
    assert (code, document["identifiable"], document["hedge"]["roots"]) == (1, False, ["Y"])


def test_an_estimand_is_evaluated_in_a_network_as_the_truncated_product_says(plausible, confounded):
    """P(y | do(x)) = Σ_z P(y | x, z) P(z), for all states and for one."""
    _, file = confounded
    by_hand = np.array([[0.4 * 0.9 + 0.6 * 0.6, 0.4 * 0.1 + 0.6 * 0.4], [0.4 * 0.5 + 0.6 * 0.2, 0.4 * 0.5 + 0.6 * 0.8]])
    arguments = ("identify", file, "--network", file, "--json", "--effect")
    document = json.loads(plausible(*arguments, "X => Y")[1])
    np.testing.assert_allclose(document["value"]["values"], by_hand)
    assert document["adjustment"] == ["Z"]
    document = json.loads(plausible(*arguments, "X=1 => Y")[1])
    assert document["value"]["scope"] == {"Y": [0, 1]}
    np.testing.assert_allclose(document["value"]["values"], by_hand[1])
    assert "0.68" in plausible("identify", file, "--network", file, "--effect", "X=1 => Y")[1]


def test_a_graph_is_arrow_text_or_a_file_that_holds_it_or_a_network(plausible, tmp_path, confounded):
    """The same graph, the same estimand."""
    (tmp_path / "graph.txt").write_text("Z -> X -> Y\nZ -> Y\n", encoding="utf-8")
    sources = ("Z -> X -> Y; Z -> Y", str(tmp_path / "graph.txt"), confounded[1])
    answers = {plausible("identify", source, "--effect", "X => Y") for source in sources}
    assert answers == {(0, "P(y | do(x)) = Σ_z P(y | x, z) P(z)\n", "")}
    latent = plausible("identify", sources[0], "--effect", "X => Y", "--observed", "X,Y")
    assert latent[0] == 1


def test_a_file_without_text_is_refused_as_a_graph(plausible, tmp_path):
    """Bytes are no arrow text."""
    (tmp_path / "graph.dat").write_bytes(b"\xff\xfe\x00\x81")
    code, _, errors = plausible("identify", str(tmp_path / "graph.dat"), "--effect", "X => Y")
    assert code == 2
    assert "holds no text" in errors


def test_minimal_sets_are_those_of_which_no_member_can_be_spared(plausible):
    """Every subset is judged by m-separation in the graph without the edges of causal paths."""
    text = "X <- A -> B -> Y; X <- C -> Y; X -> M -> Y"
    cut = pb.DAG("X <- A -> B -> Y; X <- C -> Y; M -> Y")
    right = [
        set(members)
        for number in range(4)
        for members in combinations("ABC", number)
        if cut.d_separated("X", "Y", given=list(members))
    ]
    minimal = [members for members in right if not any(other < members for other in right)]
    document = json.loads(plausible("adjust", text, "--effect", "X => Y", "--json")[1])
    assert sorted(document["sets"]) == sorted(map(sorted, minimal))
    assert document["least_variance"] == ["B", "C"]
    assert not document["has_more"]
    code, told, _ = plausible("adjust", text, "--effect", "X => Y", "--limit", "1")
    assert code == 0
    assert "and more" in told
    assert "and more" not in plausible("adjust", text, "--effect", "X => Y", "--limit", "1", "--all")[1]


def test_the_empty_set_is_a_set(plausible):
    """A cause without confounders needs no adjustment, which is not the same as there being no set."""
    code, text, _ = plausible("adjust", "X -> Y", "--effect", "X => Y")
    assert code == 0
    assert "  {}\n" in text


def test_a_checked_set_is_right_or_comes_with_the_trail_that_it_opens(plausible):
    """M-bias: the collider opens what was closed; '' is the empty set."""
    arguments = ("adjust", "X <- A -> M <- B -> Y; X -> Y", "--effect", "X => Y", "--check")
    code, text, _ = plausible(*arguments, "M")
    assert code == 1
    assert "X <- A -> M <- B -> Y is open and not causal" in text
    code, text, _ = plausible(*arguments, "M, A")
    assert code == 0
    assert "is right to adjust for" in text
    document = json.loads(plausible(*arguments, "", "--json")[1])
    assert (document["valid"], document["given"], document["expression"]) == (True, [], "P(y | x)")


def test_without_a_set_the_front_door_and_instruments_are_listed(plausible):
    """And the exit code says that there is no set."""
    code, text, errors = plausible("adjust", "Z -> " + FRONT_DOOR, "--effect", "S => C")
    assert (code, errors) == (1, "")
    assert "front door: {T}" in text
    assert "instrument: Z" in text
    code, text, _ = plausible("adjust", "X o-> Y", "--effect", "X => Y", "--json")
    assert (code, json.loads(text)["sets"]) == (1, [])


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ("X o-> Y; A o-> Y", "'X o-> Y' leaves open"),
        (BOW, "X <-> Y is open and not causal"),
        ("Z -> X -> Y; Z -> Y", "X <- Z -> Y is open and not causal, whatever of --observed is adjusted for"),
    ],
)
def test_where_no_set_is_right_the_reason_is_told(plausible, graph, reason):
    """What stays open given all that may be adjusted for, or an edge that may not be causal."""
    code, text, _ = plausible("adjust", graph, "--effect", "X => Y", "--observed", "")
    assert code == 1
    assert reason in text


def test_what_is_no_cause_needs_no_adjustment_in_one_graph_or_a_class(plausible):
    """The effect is 0, as `effect` says: an answer, and no failure to find a set."""
    for graph in ("Y -> X", "PAG: A o-> X; X <-> Y; D o-> Y"):
        code, text, _ = plausible("adjust", graph, "--effect", "X => Y")
        assert code == 0
        assert "no set is right" not in text
        assert "the effect is 0" in text
        assert json.loads(plausible("adjust", graph, "--effect", "X => Y", "--json")[1])["may_cause"] is False


def test_a_graph_comes_through_a_pipe(plausible):
    """What discover prints, as text or JSON, is a graph for the next command."""
    text = "# fci at alpha 0.01\n#   A o-> X  90%, as marked 80%\nPAG: A o-> X; C o-> X; X -> Y\n"
    document = json.dumps({"kind": "PAG", "graph": "A o-> X; C o-> X; X -> Y"})
    for piped in (text, document):
        code, told, errors = plausible("adjust", "-", "--effect", "X => Y", piped=piped.encode())
        assert (code, errors) == (0, "")
        assert "  {}\n" in told
    code, _, errors = plausible("adjust", "-", "--effect", "X => Y")
    assert code == 2
    assert "standard input, which is empty" in errors


def test_what_all_graphs_of_a_pag_agree_on_is_told_where_one_graph_is_asked_for(plausible):
    """As in Python: the effect, or the path that leaves it open."""
    pag = "PAG: D o-> G; I o-> G; G -> J"
    for effect, told in (("G => J", "P(J | do(G)) = P(J | G)"), ("I => J", "is open: I - G - J")):
        code, out, errors = plausible("identify", pag, "--effect", effect)
        assert (code, out) == (2, "")
        assert told in errors


def test_separation_is_asked_of_graphs_with_hidden_causes_too(plausible):
    """m-separation, with the trail that decides it."""
    graph = "S -> T -> C; S <-> C"
    code, text, errors = plausible("dsep", graph, "S", "C", "--given", "T")
    assert (code, errors) == (0, "")
    assert "S <-> C is active" in text
    assert json.loads(plausible("dsep", "A -> B <-> C", "A", "C", "--json")[1])["separated"]
    assert not json.loads(plausible("dsep", "MAG: A -> B; B <-> C", "A", "C", "--given", "B", "--json")[1])["separated"]


def test_a_graph_is_shown_with_its_kind_or_as_dot(plausible, tmp_path):
    """A graph file, arrow text, or the graph of a model."""
    (tmp_path / "pag.txt").write_text("# found\nPAG: A o-> B; C o-> B\n", encoding="utf-8")
    assert plausible("show", str(tmp_path / "pag.txt")) == (0, "PAG: A o-> B; C o-> B\n", "")
    assert "style=dashed" in plausible("show", BOW, "--dot")[1]
    assert '"smoke" -> "lung";' in plausible("show", "asia", "--dot")[1]
    assert json.loads(plausible("show", BOW, "--json")[1]) == {"kind": "CausalGraph", "graph": BOW}
    assert plausible("show", BOW, "X")[0] == 2


def test_a_column_that_is_missing_is_told_with_the_hedge(plausible, trial):
    """A misspelt node is latent, and may be what leaves the effect open."""
    arguments = ("effect", trial, "--graph", "sizee -> T -> O; sizee -> O", "--effect", "T => O")
    code, text, errors = plausible(*arguments)
    assert (code, errors) == (1, "")
    assert "no column for 'sizee'" in text
    assert "no column for 'sizee'" in json.loads(plausible(*arguments, "--json")[1])["reason"]


def test_an_estimate_of_adjusted_data_is_the_weighted_difference_of_strata(plausible, tmp_path):
    """Standardisation by hand, from the shares of the file; the sign follows the order around vs."""
    counts = {("m", 1): (105, 45), ("m", 0): (40, 10), ("f", 1): (10, 40), ("f", 0): (60, 90)}
    rows = [
        {"gender": gender, "drug": drug, "cured": cured}
        for (gender, drug), numbers in counts.items()
        for cured, number in zip(("yes", "no"), numbers, strict=True)
        for _ in range(number)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "data.csv", index=False)
    arguments = ("effect", str(tmp_path / "data.csv"), "--graph", "gender -> drug -> cured; gender -> cured")
    options = ("--json", "--confidence", "0.9", "--resamples", "50", "--seed", "3")
    expected = 0.5 * (105 / 150 - 40 / 50) + 0.5 * (10 / 50 - 60 / 150)
    first = json.loads(plausible(*arguments, "--effect", "drug => cured", *options)[1])
    assert first["difference"] == pytest.approx(expected)
    assert first["variables"] == ["gender"]
    assert first["confidence"] == 0.9
    assert first["interval"][0] < expected < first["interval"][1]
    assert first["positivity"]["is_satisfied"]
    turned = json.loads(plausible(*arguments, "--effect", "drug=0 vs drug=1 => cured=no", *options)[1])
    assert turned["difference"] == pytest.approx(expected)
    code, text, _ = plausible(*arguments, "--effect", "drug=1 vs drug=0 => cured=yes", "--method", "weighting")
    assert code == 0
    assert "-0.15" in text
    assert "weighting, using gender" in text
    assert first == json.loads(plausible(*arguments, "--effect", "drug => cured", *options)[1])


def test_an_instrument_tells_the_difference_and_json_has_no_nan(plausible, trial):
    """Wald's ratio, by hand; the means are unknown."""
    arguments = ("effect", trial, "--graph", TRIAL, "--effect", "T => O", "--method", "instrument", "--json")
    found = json.loads(plausible(*arguments)[1])
    wald = (SHARES[1, :, 1].sum() - SHARES[0, :, 1].sum()) / (SHARES[1, 1].sum() - SHARES[0, 1].sum())
    assert found["difference"] == pytest.approx(wald, abs=1e-6)
    assert found["means"] == [None, None]


def test_an_effect_that_data_cannot_tell_ends_with_code_1(plausible, trial):
    """The hedge is printed, and the instrument that would help."""
    code, text, errors = plausible("effect", trial, "--graph", TRIAL, "--effect", "T => O")
    assert (code, errors) == (1, "")
    assert "not identifiable" in text
    assert "by an instrument (A): --method instrument" in text


@pytest.fixture
def experiment(tmp_path):
    """A file with X -> Y -> Z, slopes 1, and Y set in the second half, as the column `set` says."""
    x, e1, e2 = np.random.default_rng(0).normal(size=(3, 2000))
    y = np.where(np.arange(2000) < 1000, x + e1, 2 * e1)
    frame = pd.DataFrame({"X": x, "Y": y, "Z": y + e2, "set": [""] * 1000 + ["Y"] * 1000})
    frame.to_csv(tmp_path / "experiment.csv", index=False)
    return str(tmp_path / "experiment.csv")


def test_an_effect_from_rows_of_experiments_says_which_rows_it_used(plausible, experiment):
    """The rows with Y set tell another effect of X on Z."""
    arguments = ("effect", experiment, "--graph", "X -> Y -> Z", "--effect", "X => Z", "--resamples", "20")
    code, text, errors = plausible(*arguments, "--interventions", "set")
    assert (code, errors) == (0, "")
    assert "1000 of 2000 rows left out, in which 'Y' was set from outside" in text
    found = json.loads(plausible(*arguments, "--interventions", "set", "--json")[1])
    assert found["difference"] == pytest.approx(1.0, abs=0.15)
    assert "1000 of 2000 rows" in found["rows"]


def test_a_column_that_names_what_was_set_is_not_passed_over(plausible, experiment):
    """Without --interventions the answer would be wrong."""
    code, out, errors = plausible("effect", experiment, "--graph", "X -> Y -> Z", "--effect", "X => Z")
    assert (code, out) == (2, "")
    assert "--interventions set" in errors


def test_plug_in_takes_a_graph_file_whose_class_has_one_graph(plausible, experiment, tmp_path):
    """As discover writes it."""
    (tmp_path / "graph.txt").write_text("# found\nPDAG: X -> Y; Y -> Z\n", encoding="utf-8")
    options = ("--interventions", "set", "--method", "plug-in", "--resamples", "0", "--json")
    code, text, errors = plausible(
        "effect", experiment, "--graph", str(tmp_path / "graph.txt"), "--effect", "X => Z", *options
    )
    assert (code, errors) == (0, "")
    assert json.loads(text)["difference"] == pytest.approx(1.0, abs=0.15)


def test_missing_cells_and_many_states_are_answered_with_options(plausible, tmp_path):
    """No word of Python in the advice."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"X": rng.integers(3, size=60), "Y": rng.integers(2, size=60).astype(object)})
    frame.loc[3, "Y"] = "?"
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = ("effect", str(tmp_path / "data.csv"), "--graph", "X -> Y", "--na", "?", "--effect")
    code, _, errors = plausible(*arguments, "X => Y")
    assert code == 2
    assert "2 vs 0 in --effect" in errors
    code, _, errors = plausible(*arguments, "X=2 vs X=0 => Y")
    assert code == 2
    assert "'Y' is missing in 1 of 60 rows" in errors
    assert "--method plug-in" in errors
    assert plausible(*arguments, "X=2 vs X=0 => Y", "--method", "plug-in", "--resamples", "0")[0] == 0


def test_rows_with_empty_cells_are_left_out_where_asked_for_and_told(plausible, tmp_path):
    """Cells outside of the graph don't matter; effect and bounds have the same word for it as discover."""
    frame = pd.DataFrame({"X": [0, 1] * 30, "Y": [0, 1, 1, None] * 15, "note": [None] * 59 + ["a"]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    complete = ("--missing", "complete-rows")
    for command, effect in (("effect", "X => Y"), ("bounds", "X=1 => Y=1")):
        arguments = (command, str(tmp_path / "data.csv"), "--graph", "X -> Y", "--effect", effect)
        code, _, errors = plausible(*arguments)
        assert code == 2
        assert "--missing complete-rows" in errors
        assert "learn." not in errors
        code, text, errors = plausible(*arguments, *complete)
        assert (code, errors) == (0, "")
        assert "15 of 60 rows left out" in text
        assert "15 of 60 rows left out" in json.loads(plausible(*arguments, *complete, "--json")[1])["missing"]
        assert "not 'sem'" in plausible(*arguments, "--missing", "sem")[2]


def test_rows_none_of_which_is_complete_are_refused_in_words_of_the_shell(plausible, tmp_path):
    """Nothing is left to estimate from, and no Python is advised."""
    frame = pd.DataFrame({"X": [0, None] * 20, "Y": [None, 1] * 20})
    frame.to_csv(tmp_path / "data.csv", index=False)
    file, complete = str(tmp_path / "data.csv"), ("--missing", "complete-rows")
    effect = plausible("effect", file, "--graph", "X -> Y", "--effect", "X => Y", *complete)
    for code, out, errors in (effect, plausible("discover", file, *complete)):
        assert (code, out) == (2, "")
        assert "plausible impute" in errors
        assert "missing=" not in errors


def test_an_effect_says_whose_probability_it_is_and_at_which_numbers(plausible, tmp_path):
    """Without states: P(the second state); a number goes from its mean to one more, not from 0 to 1."""
    rng = np.random.default_rng(0)
    age = rng.normal(60, 5, size=400)
    frame = pd.DataFrame({"age": age, "y": age / 2 + rng.normal(size=400), "cured": np.where(age > 60, "yes", "no")})
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = ("effect", str(tmp_path / "data.csv"), "--resamples", "20")
    text = plausible(*arguments, "--graph", "age -> cured", "--effect", "age => cured")[1]
    assert "on P(cured=yes)" in text
    document = json.loads(plausible(*arguments, "--graph", "age -> y", "--effect", "age => y", "--json")[1])
    assert document["levels"] == pytest.approx([age.mean(), age.mean() + 1])
    assert document["difference"] == pytest.approx(0.5, abs=0.05)


def test_what_is_no_cause_has_no_effect_and_the_graph_is_the_reason(plausible, trial):
    """O follows T: setting O changes nothing."""
    code, text, errors = plausible("effect", trial, "--graph", "T -> O", "--effect", "O => T")
    assert (code, errors) == (0, "")
    assert "no causal path" in text
    assert "difference 0, 95% interval 0 to 0" in text


def test_empty_strata_are_filled_in_by_a_regression_where_asked_for(plausible, tmp_path):
    """The refusal names --model, which does it; it is for methods that adjust."""
    rng = np.random.default_rng(0)
    man, smokes = rng.integers(2, size=300), rng.integers(3, size=300)
    treated = np.where((man == 1) & (smokes == 2), 1, rng.integers(2, size=300))
    frame = pd.DataFrame({"man": man, "smokes": smokes, "X": treated, "Y": treated + man + rng.normal(size=300)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    graph = "man -> X; smokes -> X; man -> Y; smokes -> Y; X -> Y"
    arguments = ("effect", str(tmp_path / "data.csv"), "--graph", graph, "--effect", "X => Y", "--resamples", "0")
    code, _, errors = plausible(*arguments)
    assert code == 2
    assert errors.endswith("let a model fill in: --model regression.\n")
    code, text, errors = plausible(*arguments, "--model", "regression")
    assert (code, errors) == (0, "")
    assert "no cases of 0 where man=1, smokes=2" in text
    document = json.loads(plausible(*arguments, "--model", "regression", "--method", "standardization", "--json")[1])
    assert document["method"] == "standardization"
    assert [cell["covariates"] for cell in document["positivity"]["empty"]] == [{"man": 1, "smokes": 2}]
    assert "Did you mean 'regression'?" in plausible(*arguments, "--model", "regresion")[2]
    assert "not --method plug-in" in plausible(*arguments, "--model", "regression", "--method", "plug-in")[2]


def test_what_the_tour_of_causality_shows_in_the_shell_runs(plausible, tmp_path, monkeypatch):
    """Line after line, in one folder; pipes, too."""
    page = (Path(__file__).parents[2] / "docs" / "causality.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("plausible ")]
    assert len(lines) >= 5
    rng = np.random.default_rng(0)
    a, d, unseen = rng.normal(size=(3, 2000))
    b = a + unseen + rng.normal(size=2000)
    columns = {"A": a, "B": b, "C": d + unseen + rng.normal(size=2000), "D": d, "E": b + rng.normal(size=2000)}
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(columns).to_csv("data.csv", index=False)
    rows = [states for states in product(range(2), repeat=3) for _ in range(round(1000 * SHARES[states]))]
    pd.DataFrame(rows, columns=list("ATO")).to_csv("trial.csv", index=False)
    for line in lines:
        text = ""
        for command in line.split(" | plausible "):
            code, text, errors = plausible(*shlex.split(command.removeprefix("plausible ")), piped=text.encode())
            assert (code, errors) == (0, ""), line
            assert text


@pytest.mark.parametrize(("coupling", "expected"), [("independent", 0.01), ("comonotone", 0.1)])
def test_a_counterfactual_states_its_coupling(plausible, coupling, expected):
    """P(lung under smoke=no | smoke=yes, lung=yes): the marginal 0.01, or 0.01 / 0.1 of those ill anyway."""
    arguments = ("counterfactual", "asia", "lung", "-e", "smoke=yes,lung=yes", "--do", "smoke=no")
    code, text, errors = plausible(*arguments, "--coupling", coupling)
    assert (code, errors) == (0, "")
    assert f"coupling: {coupling}" in text
    document = json.loads(plausible(*arguments, "--coupling", coupling, "--json")[1])
    assert document["coupling"] == coupling
    np.testing.assert_allclose(document["values"], [expected, 1 - expected])


def test_too_many_responses_name_the_coupling_that_has_few_as_the_shell_writes_it(plausible, tmp_path):
    """Three states under 81 assignments to parents have 3^81 functions."""
    parents = [pb.Variable(f"P{number}", 3) for number in range(4)]
    effect = pb.TableCPD("X", np.full([3] * 5, 1 / 3), parents)
    pb.save(pb.BayesianNetwork(*(pb.TableCPD(parent, [1 / 3] * 3) for parent in parents), effect), tmp_path / "net.bif")
    code, _, errors = plausible("counterfactual", str(tmp_path / "net.bif"), "X", "--do", "P0=0")
    assert code != 0
    assert "Use --coupling comonotone, or write it as" in " ".join(errors.split())


@pytest.mark.parametrize("options", [("--do", "lung=no"), ("-e", "asia=yes", "--do", "smoke=no")])
def test_the_coupling_is_not_told_where_it_cannot_matter(plausible, options):
    """What is set is known; and what was known before the intervention leaves an ordinary query."""
    answers = {plausible("counterfactual", "asia", "lung", *options, "--coupling", one)[:2] for one in COUPLINGS}
    assert len(answers) == 1
    code, text = answers.pop()
    assert code == 0
    assert "coupling" not in text


def test_bounds_of_a_trial_are_those_of_the_instrument(plausible, trial):
    """Balke and Pearl's 0.392 to 0.78, which the binary instrument's closed form gives."""
    arguments = ("bounds", trial, "--graph", TRIAL, "--effect", "T=1 vs T=0 => O=1")
    code, text, errors = plausible(*arguments)
    assert (code, text, errors) == (0, "0.392 <= P(O[T=1]=1) - P(O[T=0]=1) <= 0.78\n", "")
    document = json.loads(plausible(*arguments, "--assume", "monotone: A -> T", "--json")[1])
    assert document["assumed"] == ["monotone: A -> T"]
    assert (document["lower"], document["upper"]) == pytest.approx((0.392, 0.78))
    wider = json.loads(plausible(*arguments, "--confidence", "0.95", "--json")[1])
    assert wider["lower"] < 0.392 < 0.78 < wider["upper"]


def test_bounds_of_a_bow_are_the_natural_ones(plausible, confounded):
    """P(x, y) <= P(y | do(x)) <= P(x, y) + 1 - P(x), from a network as the observed distribution."""
    joint = np.einsum(
        "z,zx,zxy->xy", [0.4, 0.6], [[0.8, 0.2], [0.3, 0.7]], [[[0.9, 0.1], [0.5, 0.5]], [[0.6, 0.4], [0.2, 0.8]]]
    )
    document = json.loads(plausible("bounds", confounded[1], "--graph", BOW, "--effect", "X=1 => Y=1", "--json")[1])
    ends = (joint[1, 1], joint[1, 1] + joint[0].sum())
    assert (document["lower"], document["upper"]) == pytest.approx(ends)


def test_a_graph_that_is_contradicted_ends_with_code_1(plausible, confounded):
    """Z moves Y besides X; that only X does is refused by what is observed, and no Python is advised."""
    arguments = ("bounds", confounded[1], "--graph", "Z -> X -> Y; X <-> Y", "--effect", "X=1 => Y=1")
    code, out, errors = plausible(*arguments, "--assume", "decreasing:Z->X")
    assert (code, errors, out.count("\n")) == (1, "", 1)
    assert "contradicts the graph" in out
    assert "contradictions=" not in out


def test_data_that_refute_the_graph_end_with_code_1(plausible, tmp_path):
    """The outcome follows the assignment of those who don't take the drug: no instrument does that."""
    rng = np.random.default_rng(0)
    assigned, taken = rng.integers(2, size=1000), (rng.random(1000) < 0.2).astype(int)
    frame = pd.DataFrame({"A": assigned, "T": taken, "O": np.where(taken == 0, assigned, rng.integers(2, size=1000))})
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = ("bounds", str(tmp_path / "data.csv"), "--graph", TRIAL, "--effect", "T=1 vs T=0 => O=1")
    code, out, errors = plausible(*arguments)
    assert (code, errors) == (1, "")
    assert "nor anything within sampling noise" in out
    code, out, errors = plausible(*arguments, "--json")
    assert (code, errors) == (1, "")
    document = json.loads(out)
    assert document["contradicted"]
    assert document["violation"] > 0.1


def test_bounds_of_a_network_with_latent_variables_are_those_of_its_latent_projection(plausible, confounded):
    """--observed X,Y leaves the bow X -> Y, X <-> Y; either it or --graph is given."""
    effect = ("--effect", "X=1 => Y=1", "--json")
    seen = plausible("bounds", confounded[1], "--observed", "X,Y", *effect)
    assert seen == plausible("bounds", confounded[1], "--graph", BOW, *effect)
    assert seen[0] == 0
    for wrong in ((), ("--graph", BOW, "--observed", "X,Y")):
        code, _, errors = plausible("bounds", confounded[1], *wrong, *effect)
        assert code == 2
        assert "one of them" in errors


def test_the_bootstrap_widens_bounds_less_than_the_region_does(plausible, trial):
    arguments = ("bounds", trial, "--graph", TRIAL, "--effect", "T=1 vs T=0 => O=1", "--confidence", "0.9")
    region = json.loads(plausible(*arguments, "--json")[1])
    document = json.loads(plausible(*arguments, "--bootstrap", "15", "--json")[1])
    low, high = document["bootstrap"]["ends"]
    assert region["lower"] < low < document["lower"] < document["upper"] < high < region["upper"]
    assert "90% of 2 samples" in plausible(*arguments, "--bootstrap", "2")[1]
    code, _, errors = plausible(*arguments[:-2], "--bootstrap", "30")
    assert code == 2
    assert "--confidence" in errors


def test_conditions_of_bounds_are_about_what_happened(plausible, trial):
    """The probability of necessity has the closed bounds of the one who took the drug only if assigned."""
    arguments = ("bounds", trial, "--graph", TRIAL, "--effect", "T=0 => O=0 | T=1, O=1")
    assert plausible(*arguments)[1] == "0.983087 <= P(O[T=0]=0 | T=1, O=1) <= 1\n"
    code, _, errors = plausible(*arguments, "--confidence", "0.95")
    assert code == 2
    assert "use --bootstrap 200" in errors


def test_a_hidden_cause_that_is_a_node_is_as_good_as_a_bidirected_edge(plausible, trial):
    """Nodes without a column are latent, which is told."""
    asked = ("--effect", "T=1 vs T=0 => O=1")
    code, text, errors = plausible("bounds", trial, "--graph", "A -> T -> O; U -> T; U -> O", *asked)
    assert (code, errors) == (0, "")
    same, latent = text.splitlines()
    assert f"{same}\n" == plausible("bounds", trial, "--graph", TRIAL, *asked)[1]
    assert latent.endswith("latent: U.")
    code, _, errors = plausible("bounds", trial, "--graph", TRIAL, *asked, "--assume", "monotone:T->A")
    assert code == 2
    assert "Turn it round, as the edge goes the other way: --assume 'monotone:A->T'" in errors


@pytest.fixture(scope="module")
def collider(tmp_path_factory):
    """A file of numbers: A and B cause C, which causes D."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 2000))
    c = a + b + rng.normal(size=2000)
    frame = pd.DataFrame({"A": a, "B": b, "C": c, "D": c + rng.normal(size=2000)})
    path = tmp_path_factory.mktemp("collider") / "data.csv"
    frame.to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    ("method", "kind", "edges"),
    [
        ("fci", "PAG", {"A o-> C", "B o-> C", "C -> D"}),
        ("pc", "PDAG", {"A -> C", "B -> C", "C -> D"}),
        ("ges", "PDAG", {"A -> C", "B -> C", "C -> D"}),
        ("hill-climbing", "PDAG", {"A -> C", "B -> C", "C -> D"}),
        ("gies", "PDAG", {"A -> C", "B -> C", "C -> D"}),
    ],
)
def test_a_collider_is_found_by_every_method(plausible, collider, method, kind, edges):
    """The class that the independencies of the generating graph determine; its text is a graph again."""
    alpha = ("--alpha", "0.001") if method in ("fci", "pc") else ()
    code, text, errors = plausible("discover", collider, "--method", method, *alpha, "--json")
    assert (code, errors) == (0, "")
    document = json.loads(text)
    assert document["kind"] == kind
    assert {edge["edge"] for edge in document["edges"]} == edges
    told = plausible("discover", collider, "--method", method, *alpha)[1].splitlines()
    assert told[0].startswith(f"# {method}")
    assert told[1].startswith(f"{kind}: ")
    assert set(told[1].removeprefix(f"{kind}: ").split("; ")) == edges


def test_the_bootstrap_says_how_often_edges_come_back(plausible, collider):
    """Strong edges are in all samples; the share with the same marks is no larger."""
    arguments = ("discover", collider, "--alpha", "0.001", "--bootstrap", "4", "--seed", "1")
    document = json.loads(plausible(*arguments, "--json")[1])
    assert document["bootstrap_samples"] == 4
    assert all(edge["strength"] == 1 >= edge["as_marked"] for edge in document["edges"])
    text = plausible(*arguments)[1]
    assert "bootstrap: 4 samples" in text
    assert "A o-> C  100%" in text
    stopped = plausible(*arguments, "--time-limit", "0")
    assert stopped[0] == 0
    assert "bootstrap: 0 samples of 4; the time was up" in stopped[1]


@pytest.fixture(scope="module")
def hidden(tmp_path_factory):
    """A file of numbers whose PAG is A o-> B; B <-> C; B -> E; D o-> C: B and C have a hidden common cause."""
    rng = np.random.default_rng(0)
    a, d, unseen = rng.normal(size=(3, 4000))
    b = a + unseen + rng.normal(size=4000)
    frame = pd.DataFrame({"A": a, "B": b, "C": d + unseen + rng.normal(size=4000), "D": d})
    path = tmp_path_factory.mktemp("hidden") / "data.csv"
    frame.assign(E=b + rng.normal(size=4000)).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize("ending", ["printed", ".txt", ".json"])
def test_what_discover_finds_is_a_graph_for_the_other_commands(plausible, hidden, tmp_path, ending):
    """Printed, or written as text or JSON; the kind is kept, so that an invisible edge of a PAG stays in doubt."""
    arguments, file = ("discover", hidden, "--alpha", "0.001"), str(tmp_path / f"graph{ending}")
    if ending == "printed":
        (tmp_path / "graphprinted").write_text(plausible(*arguments, "--bootstrap", "2")[1], encoding="utf-8")
    else:
        plausible(*arguments, "-o", file)
    effect = ("effect", hidden, "--resamples", "20", "--graph", file, "--effect")
    code, text, errors = plausible(*effect, "B => E")
    assert (code, errors) == (0, "")
    assert "difference 1.0" in text
    assert "no causal path, by the graph" in plausible(*effect, "B => C")[1]
    code, text, errors = plausible(*effect, "A => B")
    assert (code, errors) == (1, "")
    assert "'A o-> B' leaves open" in text
    assert plausible("adjust", file, "--effect", "B => E")[0] == 0
    code, _, errors = plausible("identify", file, "--effect", "B => E")
    assert code == 2
    assert "plausible adjust" in errors


def test_the_kind_of_a_graph_can_be_written_before_it(plausible):
    """`X -> Y` hides nothing in a DAG; in a PAG it may hide a common cause."""
    assert plausible("adjust", "X -> Y", "--effect", "X => Y")[0] == 0
    assert plausible("adjust", "PAG: X -> Y", "--effect", "X => Y")[0] == 1


def test_experiments_are_read_from_a_column_that_names_what_was_set(plausible, tmp_path):
    """Observation leaves the direction of one edge open; rows in which the effect was set tell it."""
    rng = np.random.default_rng(0)
    cause = rng.normal(size=1000)
    is_set = np.arange(1000) % 2 == 1
    effect = np.where(is_set, rng.normal(size=1000), cause + rng.normal(size=1000))
    marks = np.where(is_set, "effect", "")
    pd.DataFrame({"cause": cause, "effect": effect, "set": marks}).to_csv(tmp_path / "data.csv", index=False)
    arguments = ("discover", str(tmp_path / "data.csv"))
    for method in ("gies", "hill-climbing"):
        code, text, errors = plausible(*arguments, "--method", method, "--interventions", "set")
        assert (code, errors) == (0, "")
        assert text.endswith("PDAG: cause -> effect\n")
    code, _, errors = plausible(*arguments, "--method", "gies")
    assert code == 2
    assert "--interventions set" in errors


def test_forbidden_edges_are_kept_out(plausible, collider):
    """C does not cause D: then D has to cause C, or both have a hidden cause."""
    text = plausible("discover", collider, "--forbidden", "C -> D", "--alpha", "0.001")[1]
    assert "C -> D" not in text


def test_searches_by_tests_ask_for_complete_rows(plausible, tmp_path, collider):
    """Empty cells are refused with the option that leaves them out, and with it all is well."""
    frame = pd.read_csv(collider)
    frame.loc[:9, "A"] = np.nan
    frame.to_csv(tmp_path / "holes.csv", index=False)
    arguments = ("discover", str(tmp_path / "holes.csv"), "--alpha", "0.001")
    code, _, errors = plausible(*arguments)
    assert code == 2
    assert "--missing complete-rows" in errors
    code, text, _ = plausible(*arguments, "--missing", "complete-rows")
    assert code == 0
    assert "A o-> C" in text


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("identify", ("no.txt", "--effect", "X => Y"), "is no file"),
        ("identify", ("asiaa", "--effect", "X => Y"), "Did you mean 'asia'?"),
        ("identify", ("A -> B -> A", "--effect", "A => B"), "The graph 'A -> B -> A'"),
        ("identify", ("A o-> B", "--effect", "A => B"), "The graph 'A o-> B'"),
        ("identify", ("asia", "--effect", "smok => dysp"), "Did you mean 'smoke'?"),
        ("identify", ("asia", "--effect", "smoke=yes => dysp"), "--network"),
        ("identify", ("asia", "--effect", "smoke=maybe => dysp", "--network", "asia"), "'maybe' is not a state"),
        ("identify", ("asia", "--effect", "smoke => dysp=yes", "--network", "asia"), "'dysp=yes'"),
        ("identify", ("asia", "--effect", "smoke=yes vs smoke=no => dysp", "--network", "asia"), "vs"),
        ("identify", ("asia", "--effect", "smoke => smoke"), "'smoke'"),
        ("effect", ("--effect", "T=1 => O"), "after vs"),
        ("effect", ("--effect", "T=1 vs T=1 => O"), "--effect names 1 twice"),
        ("effect", ("--effect", "T => O | A"), "conditions after |"),
        ("effect", ("--effect", "T, A => O"), "one treatment, not 2"),
        ("effect", ("--effect", "T=1 vs A=0 => O"), "states of 'T'"),
        ("effect", ("--effect", "T=1 vs T=5 => O"), "is not a state of 'T'"),
        ("effect", ("--effect", "T => O", "--method", "weighing"), "Did you mean 'weighting'?"),
        ("effect", ("--effect", "T => O", "--method", "ipw"), "Did you mean 'weighting'?"),
        ("effect", ("--effect", "T => O", "--method", "weighting"), "--method front-door"),
        ("effect", ("--effect", "T => O", "--confidence", "95"), "--confidence"),
        ("effect", ("--effect", "T => P"), "'P'"),
        ("counterfactual", ("asia", "lung"), "--do"),
        ("counterfactual", ("asia", "lung", "--do", "smoke=no", "--coupling", "both"), "--coupling"),
        ("counterfactual", ("asia", "lung", "--do", "smoke=never"), "'never'"),
        ("counterfactual", ("asia", "--do", "smoke=no"), "Name the variables"),
        ("bounds", ("--effect", "T => O=1"), "'T' needs a state"),
        ("bounds", ("--effect", "T=1, T=0 => O=1"), "vs"),
        ("bounds", ("--effect", "T=1 vs A=0 => O=1"), "the same names"),
        ("bounds", ("--effect", "T=1 => O=1", "--assume", "monoton:A->T"), "Did you mean 'monotone'?"),
        ("bounds", ("--effect", "T=1 => O=1", "--assume", "monotone:A"), "--assume"),
        ("bounds", ("--effect", "T=1 => O=1", "--assume", "monotone:O->T"), "'O' is no direct cause"),
        ("bounds", ("--effect", "T=1 => O=1", "--confidence", "2"), "--confidence"),
        ("bounds", ("--effect", "T=1 => P=1"), "'P'"),
        ("discover", ("--method", "gess"), "Did you mean 'ges' or"),
        ("discover", ("--method", "ges", "--alpha", "0.1"), "--alpha"),
        ("discover", ("--method", "fci", "--score", "bic"), "--score"),
        ("discover", ("--method", "fci", "--interventions", "A"), "--method gies"),
        ("discover", ("--method", "gies", "--interventions", "B1"), "'B1'"),
        ("discover", ("-o", "graph.bif"), "--output"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_option(plausible, trial, collider, command, arguments, expected):
    """Exit code 2, and nothing on standard output."""
    data = {"effect": (trial, "--graph", TRIAL), "bounds": (trial, "--graph", TRIAL), "discover": (collider,)}
    code, out, errors = plausible(command, *data.get(command, ()), *arguments)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert expected in errors
