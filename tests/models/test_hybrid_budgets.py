"""What questions about continuous variables cost: told beforehand, kept within the budget, refused before any work."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import plausible as pb
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, LogisticCPD, TableCPD
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.hybrid import hybrid_model
from plausible.models import BayesianNetwork, HybridEngine
from plausible.models.compiled_engines import ExactEngine
from plausible.variables import Variable

SMALL = Budget(bytes=2**20)
SHORT = Budget(seconds=1e-3)


def switching(num_links):
    """Numbers in a row, the law of each chosen by a switch of its own: 2^n Gaussians for the last."""
    cpds = []
    for i in range(num_links):
        switch = TableCPD(f"s{i}", [0.5, 0.5])
        before = [Variable(f"x{i - 1}")] if i else []
        slopes = {variable.name: [0.9, 0.5] for variable in before}
        cpds += [
            switch,
            ConditionalGaussianCPD(f"x{i}", [0.0, 1.0], slopes, [1.0, 2.0], [switch.variable, *before]),
        ]
    return BayesianNetwork(*cpds)


@pytest.fixture(scope="module")
def net():
    """Its questions need 0.4 GiB or more."""
    return switching(22)


ENGINE_QUESTIONS = {
    "query": lambda engine: engine.query("s0", {"x21": 1.0}),
    "marginals": lambda engine: engine.marginals({"x21": 1.0}),
    "continuous_marginals": lambda engine: engine.continuous_marginals(),
    "moments": lambda engine: engine.moments("x21", {"x0": 1.0}),
    "mixture": lambda engine: engine.mixture("x21"),
    "log_probability": lambda engine: engine.log_probability({"x21": 1.0}),
    "mpe": lambda engine: engine.mpe({"x21": 1.0}),
    "sample": lambda engine: engine.sample(2, 0, {"x21": 1.0}),
    "predict_proba": lambda engine: engine.predict_proba({"x21": [1.0]}, "s0"),
    "predict": lambda engine: engine.predict({"x21": [1.0]}, "s0"),
    "predict_moments": lambda engine: engine.predict_moments({"x0": [1.0, 2.0]}, "x21"),
    "log_likelihood": lambda engine: engine.log_likelihood({"x21": [1.0]}),
    "expected_counts": lambda engine: engine.expected_counts({"x21": [1.0]}),
}

NETWORK_QUESTIONS = {
    "query": lambda net, budget: net.query("s0", {"x21": 1.0}, budget=budget),
    "marginals": lambda net, budget: net.marginals({"x21": 1.0}, budget=budget),
    "continuous_marginals": lambda net, budget: net.continuous_marginals(budget=budget),
    "moments": lambda net, budget: net.moments("x21", {"x0": 1.0}, budget=budget),
    "mixture": lambda net, budget: net.mixture("x21", budget=budget),
    "log_probability": lambda net, budget: net.log_probability({"x21": 1.0}, budget=budget),
    "expectation": lambda net, budget: net.expectation(
        Factor([net.variables["s0"]], [0, 1]), {"x21": 1.0}, budget=budget
    ),
    "mpe": lambda net, budget: net.mpe({"x21": 1.0}, budget=budget),
    "k_best": lambda net, budget: net.k_best(2, {"x21": 1.0}, budget=budget),
    "sample": lambda net, budget: net.sample(2, 0, {"x21": 1.0}, budget=budget),
}


@pytest.fixture
def no_work(monkeypatch):
    """An elimination that is begun is an error."""

    def begun(*_):
        raise AssertionError("numbers were computed")

    monkeypatch.setattr(hybrid_model, "eliminate", begun)
    monkeypatch.setattr("plausible.inference.gaussian.rows.eliminate", begun)


@pytest.mark.parametrize("budget", [SMALL, SHORT], ids=["memory", "time"])
@pytest.mark.parametrize("question", ENGINE_QUESTIONS)
def test_a_compiled_network_keeps_its_budget_for_all_questions(net, no_work, question, budget):
    """Refused before any number is computed, with the budget that was given and that it can be raised."""
    with pytest.raises(TooLarge, match=r"the budget is .* s and .* GiB.*raise budget= of the question or of comp"):
        ENGINE_QUESTIONS[question](net.compile(budget=budget))


@pytest.mark.parametrize("budget", [SMALL, SHORT], ids=["memory", "time"])
@pytest.mark.parametrize("question", NETWORK_QUESTIONS)
def test_every_question_about_numbers_takes_a_budget(net, no_work, question, budget):
    """Refused before any number is computed; what is no budget is an error."""
    with pytest.raises(TooLarge, match="the budget is") as refusal:
        NETWORK_QUESTIONS[question](net, budget)
    assert "approximate engine" not in str(refusal.value)
    with pytest.raises(InvalidArgument, match="budget= takes a Budget"):
        NETWORK_QUESTIONS[question](net, 3)


def test_what_is_refused_is_answered_within_a_larger_budget():
    """The same small chain under both; and a budget that is no budget is refused at once."""
    net = switching(8)
    tight = net.compile(budget=Budget(bytes=2**10))
    for ask in (lambda e: e.moments("x7"), lambda e: e.predict_moments({"x0": [1.0]}, "x7")):
        with pytest.raises(TooLarge):
            ask(tight)
        ask(net.compile())
    with pytest.raises(InvalidArgument, match="budget= takes a Budget"):
        net.compile(budget=3)


def test_sums_that_do_not_fit_are_refused_before_the_numbers_exist(no_work):
    """The regressions fit, the tables over switches that they leave do not."""
    rng = np.random.default_rng(0)
    switches = [TableCPD(f"s{i}", [0.5, 0.5]) for i in range(15)]
    others = [TableCPD(f"t{i}", [0.5, 0.5]) for i in range(15)]
    wide = [cpd.variable for cpd in switches]
    numbers = ConditionalGaussianCPD("x", rng.normal(size=[2] * 15), {}, 1.0, wide)
    tangle = [
        TableCPD(f"u{i}_{j}", rng.dirichlet(np.ones(2), (2, 2)), parents=[wide[i], others[j].variable])
        for i in range(15)
        for j in range(15)
    ]
    net = BayesianNetwork(*switches, *others, *tangle, numbers, LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1.0))
    seen = {"y": 1.0, **{cpd.variable.name: 1 for cpd in tangle}}
    with pytest.raises(TooLarge, match="largest clique"):
        net.query("s0", seen, budget=Budget(bytes=2**23))


# --- plans ---


@pytest.mark.parametrize("targets", ["x21", "s0", None])
def test_a_plan_fits_exactly_where_its_bytes_and_seconds_do(net, targets):
    """Compared with the budget given, and with the one that a compiled network has."""
    evidence = {"x21": 1.0} if targets == "s0" else {}
    plan = net.explain(targets, evidence)
    for budget in (SMALL, SHORT, Budget(), Budget(bytes=plan.bytes + 1, seconds=plan.seconds + 1)):
        expected = plan.bytes <= budget.bytes and plan.seconds <= budget.seconds
        told = net.explain(targets, evidence, budget=budget)
        assert told.fits is expected
        assert (told.bytes, told.entries) == (plan.bytes, plan.entries)
    assert not net.compile(budget=SMALL).explain().fits


@pytest.mark.parametrize("num_links", [1, 3, 40])
def test_the_width_of_a_plan_is_that_of_its_largest_clique(num_links):
    """Cliques of continuous variables count too, whether or not the tables could be laid out."""
    plan = switching(num_links).explain(f"x{num_links - 1}")
    assert plan.width >= len(plan.largest_clique) - 1
    assert plan.width >= num_links
    assert plan.num_cliques > 0
    assert set(plan.largest_separator) < set(plan.largest_clique)
    assert f"width {plan.width}," in str(plan)
    assert "largest clique: (x" in str(plan)


def test_a_number_and_its_class_are_a_clique_of_two():
    """A plan of a mixture; and of a chain of numbers, whose cliques are its edges."""
    kind = TableCPD("kind", [0.5, 0.5])
    plan = BayesianNetwork(kind, ConditionalGaussianCPD("x", [0.0, 1.0], {}, 1.0, [kind.variable])).explain("x")
    assert (plan.width, set(plan.largest_clique)) == (1, {"x", "kind"})
    chain = pb.examples.load("gaussian-chain").explain()
    assert (chain.width, chain.num_cliques, len(chain.largest_clique)) == (1, 2, 2)


def test_the_time_told_grows_with_the_numbers_and_with_the_regressions():
    """Two switches more are four times the Gaussians; twice as many numbers without switches are twice the steps."""
    less, more = (switching(num).explain(f"x{num - 1}") for num in (20, 22))
    assert less.seconds > 0
    assert 3 < more.seconds / less.seconds < 5
    assert 3 < more.bytes / less.bytes < 5
    chains = [
        BayesianNetwork(
            LinearGaussianCPD("x0", 0.0, {}, 1.0),
            *(LinearGaussianCPD(f"x{i}", 0.0, {f"x{i - 1}": 1.0}, 1.0) for i in range(1, num)),
        )
        for num in (20, 40)
    ]
    short, long = (chain.explain() for chain in chains)
    assert 1.9 < long.seconds / short.seconds < 2.1


# --- one engine like the other ---


def test_both_engines_have_the_same_questions_and_parameters():
    """Whatever a compiled network of states can be asked, one with numbers can be asked in the same words."""
    for name, method in inspect.getmembers(ExactEngine, inspect.isfunction):
        if not name.startswith("_"):
            own = inspect.signature(method)
            other = inspect.signature(getattr(HybridEngine, name))
            assert list(own.parameters.values()) == list(other.parameters.values()), name


def test_expected_counts_of_some_families():
    """As among all of them; a family with numbers has no counts, an unknown one is named."""
    net = switching(3)
    engine = net.compile()
    rows = {"x2": [0.5, None, 2.0], "s0": [0, 1, None]}
    everything = engine.expected_counts(rows)
    assert list(everything) == ["s0", "s1", "s2"]
    some = engine.expected_counts(rows, families=["s2", "s0"])
    assert list(some) == ["s2", "s0"]
    for name, counts in some.items():
        np.testing.assert_allclose(counts, everything[name], rtol=1e-12)
    assert list(engine.expected_counts(rows, families="s1")) == ["s1"]
    with pytest.raises(NotSupported, match="family of 'x1' has continuous variables"):
        engine.expected_counts(rows, families="x1")
    with pytest.raises(UnknownVariable):
        engine.expected_counts(rows, families="s9")


# --- a row by itself ---


@pytest.mark.parametrize("variance", [1.0, 0.0])
def test_a_row_by_itself_has_the_answers_that_it_has_among_others(variance):
    """A table of one row goes another way; both agree with the question for one evidence, deterministic or not."""
    kind, mode = TableCPD("kind", [0.3, 0.7]), TableCPD("mode", [[0.9, 0.1], [0.4, 0.6]], parents=["kind"])
    x = ConditionalGaussianCPD("x", [0.0, 2.0], {}, [1.0, 3.0], [kind.variable])
    y = ConditionalGaussianCPD("y", [0.0, 1.0], {"x": [1.0, 2.0]}, [variance, 1.0], [mode.variable, Variable("x")])
    seen = LogisticCPD("seen", ["y"], {"y": 1.0}, 0.5, states=[0, 1])
    net = BayesianNetwork(kind, mode, x, y, seen)
    engine = net.compile()
    rows = {"y": [1.0, 2.5, None, 4.0], "mode": [None, 1, 0, None], "seen": [1, None, None, 0], "x": [None, None, 1, 4]}
    together = engine.predict_proba(rows, "kind")
    density = engine.log_likelihood(rows)
    counts = sum(
        engine.expected_counts({name: column[i : i + 1] for name, column in rows.items()})["mode"] for i in range(4)
    )
    np.testing.assert_allclose(counts, engine.expected_counts(rows)["mode"], rtol=1e-10)
    for i in range(4):
        row = {name: column[i : i + 1] for name, column in rows.items()}
        evidence = {name: column[i] for name, column in rows.items() if column[i] is not None}
        np.testing.assert_allclose(engine.predict_proba(row, "kind"), together[i : i + 1], rtol=1e-10)
        np.testing.assert_allclose(together.loc[i], net.query("kind", evidence).values, rtol=1e-10)
        assert engine.log_likelihood(row)[0] == pytest.approx(density[i], rel=1e-10)
        hidden = {name: value for name, value in evidence.items() if name not in ("x", "seen")}
        moments = engine.predict_moments({name: [value] for name, value in hidden.items()} or {"x": [None]}, "x")
        truth = net.moments("x", hidden)
        assert moments.loc[0].to_list() == pytest.approx([truth.means["x"], truth.variances["x"]], rel=1e-9)


def test_rows_too_large_to_go_together_go_one_by_one():
    """Two rows of a chain with 2^17 Gaussians, against the question for one evidence."""
    net = switching(17)
    found = net.compile().predict_moments({"x0": [1.0, -2.0, 1.0], "s3": [0, 1, None]}, "x16")
    for row, evidence in enumerate(({"x0": 1.0, "s3": 0}, {"x0": -2.0, "s3": 1}, {"x0": 1.0})):
        truth = net.moments("x16", evidence)
        assert found.loc[row].to_list() == pytest.approx([truth.means["x16"], truth.variances["x16"]], rel=1e-9)


# --- networks of numbers alone ---


def test_questions_about_states_of_networks_without_any_say_what_to_ask():
    """Of the network and of its engine; a network of nothing has no marginals, silently."""
    chain = BayesianNetwork(LinearGaussianCPD("x", 0.0, variance=1.0), LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1.0))
    for ask in (chain.marginals, chain.compile().marginals):
        with pytest.raises(NotSupported, match="continuous_marginals"):
            ask()
    with pytest.raises(NotSupported, match="mpe gives the most probable numbers"):
        chain.k_best(2)
    assert BayesianNetwork().marginals() == {}
