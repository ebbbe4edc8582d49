"""Budgets, time limits and refusals keep their word in every question."""

from __future__ import annotations

import inspect
import itertools
import math
import subprocess
import sys
from random import Random
from time import monotonic

import numpy as np
import pytest

from plausible import BayesianNetwork, Budget, ConditionalGaussianCPD, NoisyOr, TableCPD, examples
from plausible.errors import ImpossibleEvidence, PlausibleWarning, TooLarge, UnknownVariable
from plausible.models import MarkovNetwork, grid, ising

TINY = Budget(bytes=10)
MODEST = Budget(seconds=10, bytes=2**30)


@pytest.fixture(scope="module")
def asia():
    return examples.load("asia")


@pytest.fixture(scope="module")
def lattice():
    return ising(grid(26, 26), coupling=-0.5)


def clinic(num_findings: int, num_causes: int) -> BayesianNetwork:
    diseases = [TableCPD(f"disease {i}", [0.98, 0.02], states=["no", "yes"]) for i in range(40)]
    findings = []
    for i in range(num_findings):
        causes = [cpd.variable for cpd in Random(i).sample(diseases, num_causes)]
        findings.append(NoisyOr(f"finding {i}", causes, [0.5] * num_causes, leak=0.01, states=["no", "yes"]))
    return BayesianNetwork(*diseases, *findings)


def noisy_or_of(num_parents: int, seed: int = 0) -> BayesianNetwork:
    rng = np.random.default_rng(seed)
    chances, strengths = rng.uniform(0.02, 0.4, num_parents), rng.uniform(0.1, 0.9, num_parents)
    causes = [TableCPD(f"c{i}", [1 - p, p], states=["no", "yes"]) for i, p in enumerate(chances)]
    return BayesianNetwork(*causes, NoisyOr("y", [cpd.variable for cpd in causes], strengths, states=["no", "yes"]))


# --- time ---


def test_a_search_for_the_best_assignment_stops_near_its_time():
    """40 large noisy-ors that are not observed: nothing is waited for, and the refusal says what ran out."""
    net = clinic(60, 20)
    patient = {f"finding {i}": "yes" if i < 10 else "no" for i in range(20)}
    start = monotonic()
    with pytest.raises(TooLarge, match=r"did not end within 0\.1 s.*finding.*raise the seconds of budget=") as caught:
        net.mpe(patient, budget=Budget(seconds=0.1))
    assert monotonic() - start < 15.0  # seconds for factors and orders, where it had been minutes
    assert "max_entries" not in str(caught.value)


def test_one_observed_noisy_or_with_many_parents_is_searched_in_seconds():
    """No cause is likelier than not, so a single one explains the child: the one with the best odds times strength."""
    net = noisy_or_of(40, seed=1)
    odds = [net.cpds[f"c{i}"].to_factor().values for i in range(40)]
    gains = [yes / no * strength for (no, yes), strength in zip(odds, net.cpds["y"].activation, strict=True)]
    best = net.mpe({"y": "yes"}, budget=Budget(seconds=30))
    assert [name for name, state in best.items() if state == "yes"] == [f"c{int(np.argmax(gains))}", "y"]
    assert best.log_probability == pytest.approx(sum(math.log(no) for no, _ in odds) + math.log(max(gains)))


def test_a_time_limit_brings_no_answer_where_sums_do_not_fit_and_the_error_says_so(lattice):
    with pytest.raises(TooLarge, match="no time_limit= brings a first one"):
        lattice.map(["0_0"], time_limit=5)
    with pytest.raises(TooLarge, match="too many for max_entries=32768"):
        ising(grid(20, 20), coupling=-0.5).map(["0_0"], budget=Budget(bytes=2**20))


# --- every question has a budget ---


@pytest.mark.parametrize("model", [BayesianNetwork, MarkovNetwork])
def test_every_exact_question_has_a_budget(model):
    asked = (
        "query marginals log_probability mpe k_best map sample expectation compile explain entropy mutual_information"
    )
    asked += " evidence_impact conflict conflict_explanations"
    if model is BayesianNetwork:
        asked += " derivatives hessian gradient sensitivity sensitivities tornado moments mixture continuous_marginals"
    for name in asked.split():
        assert "budget" in inspect.signature(getattr(model, name)).parameters, name


QUESTIONS = {
    "query": lambda net: net.query("lung", {"xray": "yes"}, budget=TINY),
    "marginals": lambda net: net.marginals(budget=TINY),
    "log_probability": lambda net: net.log_probability({"xray": "yes"}, budget=TINY),
    "mpe": lambda net: net.mpe(budget=TINY),
    "entropy": lambda net: net.entropy("lung", {"xray": "yes"}, budget=TINY),
    "mutual_information": lambda net: net.mutual_information("lung", budget=TINY),
    "evidence_impact": lambda net: net.evidence_impact("lung", {"xray": "yes"}, budget=TINY),
    "conflict": lambda net: net.conflict({"xray": "yes", "dysp": "no"}, budget=TINY),
    "derivatives": lambda net: net.derivatives({"xray": "yes"}, budget=TINY),
    "hessian": lambda net: net.hessian([("asia", {}, "yes")], {"xray": "yes"}, budget=TINY),
    "gradient": lambda net: net.gradient({"xray": ["yes"]}, budget=TINY),
    "sensitivity": lambda net: net.sensitivity("lung", "yes", parameter=("smoke", {}, "yes"), budget=TINY),
    "tornado": lambda net: net.tornado("lung", "yes", budget=TINY),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_ten_bytes_are_enough_for_no_question(asia, name):
    with pytest.raises(TooLarge):
        QUESTIONS[name](asia)


def test_numbers_are_asked_for_within_the_budget_too():
    kind = TableCPD("kind", [0.5, 0.5])
    net = BayesianNetwork(kind, ConditionalGaussianCPD("height", [10.0, 12.0], {}, 1.0, [kind.variable]))
    for ask in (
        lambda: net.moments("height", budget=TINY),
        lambda: net.mixture("height", budget=TINY),
        lambda: net.continuous_marginals(budget=TINY),
        lambda: net.compile(budget=TINY).marginals(),
    ):
        with pytest.raises(TooLarge):
            ask()
    assert net.moments("height", budget=MODEST).mean[0] == pytest.approx(11.0)


@pytest.mark.parametrize("size", [10, 60, 300, 2**20])
def test_a_small_question_answers_exactly_where_its_plan_fits(asia, size):
    """The way of small problems asks the same budget as `explain`."""
    budget = Budget(bytes=size)
    fits = asia.explain("lung", {"xray": "yes"}, budget=budget).fits
    try:
        asia.query("lung", {"xray": "yes"}, budget=budget)
        answers = True
    except TooLarge:
        answers = False
    assert answers == fits


# --- what refusals advise ---


def test_each_question_is_told_what_it_can_do(lattice):
    told = {}
    for name, ask in {
        "one": lambda: lattice.query("0_0", budget=MODEST),
        "two": lambda: lattice.query(["0_0", "0_1"], budget=MODEST),
        "mpe": lambda: lattice.mpe(budget=Budget(seconds=0.001)),
        "sample": lambda: lattice.sample(1, budget=MODEST),
        "compile": lambda: lattice.compile(budget=MODEST),
        "k_best": lambda: lattice.k_best(2, budget=MODEST),
        "entropy": lambda: lattice.entropy("0_0", budget=MODEST),
    }.items():
        with pytest.raises(TooLarge) as caught:
            ask()
        told[name] = str(caught.value)
    assert "ewer variables" not in told["one"]
    assert "Ask for fewer variables at a time" in told["two"]
    assert [name for name, text in told.items() if "engine='auto'" not in text] == ["entropy"]
    assert "as only messages are held" in told["one"]
    assert "compile(targets=...)" in told["sample"]
    assert "mpe() may fit" in told["k_best"]
    assert told["entropy"].endswith("Add evidence, or raise budget=.")


# --- expected counts ---


def test_the_counts_of_a_family_asked_for_by_name_are_its_posterior():
    """A noisy-or with ten parents has no clique of its own; asked for, it gets one."""
    net = noisy_or_of(10)
    counts = net.compile().expected_counts({"y": ["yes"], "c3": ["no"]}, families="y")["y"]
    weights = np.zeros(counts.shape)
    for states in itertools.product((0, 1), repeat=10):
        if states[3] == 0:
            off = math.prod(1 - s for s, on in zip(net.cpds["y"].activation, states, strict=True) if on)
            prior = math.prod(net.cpds[f"c{i}"].to_factor().values[state] for i, state in enumerate(states))
            weights[(*states, 1)] = prior * (1 - off)
    np.testing.assert_allclose(counts, weights / weights.sum(), atol=1e-12)


def test_families_that_are_not_counted_are_named():
    engine = noisy_or_of(10).compile()
    with pytest.warns(PlausibleWarning, match="not counted: 'y'"):
        counts = engine.expected_counts({"y": ["yes"]})
    assert "y" not in counts
    with pytest.raises(TooLarge, match=r"family of 'y' has 21 variables.*2\.1e\+06 entries; up to 262144"):
        noisy_or_of(20).compile().expected_counts({"y": ["yes"]}, families="y")


# --- plans, information, rows ---


def test_a_compiled_model_explains_its_questions(asia):
    engine = asia.compile()
    assert engine.explain("lung").entries == engine.explain().entries
    assert engine.explain(["asia", "dysp"]).entries > engine.explain().entries
    with pytest.raises(UnknownVariable, match="this compiled model"):
        engine.explain("lungs")
    assert not asia.compile(budget=Budget(seconds=1.0)).explain("lung").requisite


def test_nothing_tells_anything_about_what_is_known(asia):
    for evidence in ({"lung": "yes"}, {"either": "no"}):  # the second implies that there is no lung cancer
        table = asia.mutual_information("lung", evidence)
        assert (table[["mutual_information", "share"]] == 0.0).all(axis=None)


def test_an_impossible_row_is_named_with_its_contradiction_and_the_remedy(asia):
    rows = {"either": ["yes", "no"], "tub": ["no", "yes"], "asia": ["no", "no"]}
    contradiction = "(tub='yes', either='no'|either='no', tub='yes') has probability zero together, whatever"
    message = rf"Row 1 of the data can't happen\. The evidence {contradiction}.*Drop the row"
    engine = asia.compile()
    for ask in (lambda: engine.predict_proba(rows, "lung"), lambda: engine.expected_counts(rows)):
        with pytest.raises(ImpossibleEvidence, match=message):
            ask()
    with pytest.raises(ImpossibleEvidence, match=message):
        asia.gradient(rows)


def test_a_column_that_compile_left_out_is_refused_with_that_reason(asia):
    with pytest.raises(UnknownVariable, match=r"'xray'.*which compile\(targets=\.\.\.\) has cut down"):
        asia.compile(targets=["lung"]).predict_proba({"xray": ["yes"]}, "lung")


def test_the_command_line_runs_as_a_module():
    run = subprocess.run([sys.executable, "-m", "plausible", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip()
