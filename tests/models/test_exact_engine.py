"""Compiled models against plain enumeration of the joint."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import (
    joint_of_bayesian_network,
    measure_of_markov_network,
    random_markov_network,
    random_network,
)
from plausible.cpds import (
    ConditionalGaussianCPD,
    LinearGaussianCPD,
    LogisticCPD,
    Multiplexer,
    NoisyOr,
    Rule,
    RuleCPD,
    TableCPD,
)
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    InvalidModel,
    NotSupported,
    TooLarge,
    UnknownState,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.models import BayesianNetwork, MarkovNetwork, ising
from plausible.variables import Variable, jeffrey, likelihood

SEEDS = st.integers(0, 10**6)


def _random_evidence(rng, variables):
    """States, sets of states and likelihoods for some of the variables."""
    evidence = {}
    for name, variable in variables.items():
        kind = rng.integers(0, 6)
        if kind == 0:
            evidence[name] = variable.states[rng.integers(variable.num_states)]
        elif kind == 1:
            evidence[name] = set(rng.permutation(variable.num_states)[: rng.integers(1, 3)].tolist())
        elif kind == 2:
            evidence[name] = likelihood(rng.random(variable.num_states) + 0.01)
    return evidence


def _weight(assignment, evidence):
    weight = 1.0
    for name, finding in evidence.items():
        if hasattr(finding, "weights"):
            weight *= finding.weights[assignment[name]]
        elif isinstance(finding, set):
            weight *= assignment[name] in finding
        else:
            weight *= assignment[name] == finding
    return weight


def _weighted_joint(model, evidence):
    """[(assignment, probability with the evidence)] by looping over all assignments: no algebra of the library."""
    if isinstance(model, BayesianNetwork):
        rows = joint_of_bayesian_network(model)
    else:
        measures = measure_of_markov_network(model)
        total = math.fsum(measure for _, measure in measures)
        rows = [(row, measure / total) for row, measure in measures]
    return [(row, p * _weight(row, evidence)) for row, p in rows]


@pytest.mark.parametrize("make", [random_network, random_markov_network], ids=["bayesian", "markov"])
@settings(max_examples=24, deadline=None)
@given(seed=SEEDS)
def test_marginals_log_probability_and_mpe_equal_enumeration(make, seed):
    """All posteriors, P(e) and the best assignment of random models, with zeros and one-state variables."""
    rng = np.random.default_rng(seed)
    model = make(rng)
    evidence = _random_evidence(rng, model.variables)
    rows = _weighted_joint(model, evidence)
    total = math.fsum(p for _, p in rows)
    engine = model.compile()
    if total == 0:
        assert engine.log_probability(evidence) == -math.inf
        with pytest.raises(ImpossibleEvidence):
            engine.marginals(evidence)
        with pytest.raises(ImpossibleEvidence):
            engine.mpe(evidence)
        return
    assert engine.log_probability(evidence) == pytest.approx(math.log(total), abs=1e-9)
    for name, factor in engine.marginals(evidence).items():
        for state in model.variables[name].states:
            expected = math.fsum(p for row, p in rows if row[name] == state) / total
            assert factor[state] == pytest.approx(expected, abs=1e-10)
    best = engine.mpe(evidence)
    assert math.exp(best.log_probability) == pytest.approx(max(p for _, p in rows), rel=1e-9)
    assert next(p for row, p in rows if row == dict(best)) == pytest.approx(max(p for _, p in rows), rel=1e-9)


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS)
def test_joint_queries_equal_variable_elimination(seed):
    """Targets in one clique or across cliques, in the order asked for."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=7)
    targets = rng.permutation(list(net.variables))[: rng.integers(1, 4)].tolist()
    observed = [name for name in net.variables if name not in targets][:2]
    best = net.mpe()
    evidence = {name: best[name] for name in observed}
    assert net.compile().query(targets, evidence).is_close(net.query(targets, evidence), 1e-10)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_rows_are_answered_as_one_by_one(seed):
    """Posteriors, likelihoods and expected counts of a table with missing cells equal those of single queries."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5, zeros=0.0)
    names = list(net.variables)
    frame = pd.DataFrame({name: rng.integers(0, net.variables[name].num_states, 12) for name in names}).astype(object)
    frame = frame.mask(rng.random(frame.shape) < 0.4)
    engine = net.compile()
    evidence = [{n: v for n, v in row.items() if v == v} for row in frame.to_dict("records")]
    single = [engine.log_probability(found) for found in evidence]
    np.testing.assert_allclose(engine.log_likelihood(frame), single, atol=1e-10)
    target = names[0]
    without = [{n: v for n, v in found.items() if n != target} for found in evidence]
    expected = np.array([net.query(target, found).values for found in without])
    np.testing.assert_allclose(engine.predict_proba(frame, target).to_numpy(), expected, atol=1e-10)
    counts = engine.expected_counts(frame)
    for name, cpd in net.cpds.items():
        scope = [variable.name for variable in cpd.scope]
        summed = sum(net.query(scope, found).values for found in evidence)
        np.testing.assert_allclose(counts[name], summed, atol=1e-9)


def test_rows_come_out_the_same_for_any_number_of_threads():
    """Bit for bit: the parts that are summed do not depend on the threads."""
    net = random_network(np.random.default_rng(3), num_variables=8, zeros=0.0)
    engine = net.compile()
    rows = np.random.default_rng(4).integers(-1, 1, size=(2000, 8)).astype(np.int32)
    from plausible.engine.batch import answer_rows

    program, sources = engine.sums.program, engine.sums.sources
    weights = np.random.default_rng(5).random(2000)
    one, two = (answer_rows(program, sources, rows, weights=weights, threads=threads) for threads in (1, 2))
    assert one.totals.tobytes() == two.totals.tobytes()
    assert one.log_totals.tobytes() == two.log_totals.tobytes()
    one, two = (answer_rows(program, sources, rows, target=2, threads=threads) for threads in (1, 2))
    assert one.marginals.tobytes() == two.marginals.tobytes()


def test_weights_count_rows():
    """A row of weight three counts as three rows."""
    net = random_network(np.random.default_rng(0), num_variables=4, zeros=0.0)
    engine = net.compile()
    names = list(net.variables)
    once = {names[0]: [0, 0, 0, 0]}
    counts = engine.expected_counts(once)
    weighted = engine.expected_counts({names[0]: [0, 0]}, weights=[3, 1])
    for name in counts:
        np.testing.assert_allclose(counts[name], weighted[name], atol=1e-12)


def test_predict_gives_the_most_probable_state():
    """By name, with the index of the frame."""
    net = BayesianNetwork(
        TableCPD("A", [0.6, 0.4], states=["no", "yes"]),
        TableCPD("B", {"no": [0.7, 0.3], "yes": [0.2, 0.8]}, parents=["A"], states=["low", "high"]),
    )
    frame = pd.DataFrame({"B": ["low", "high", None]}, index=[10, 20, 30])
    predicted = net.compile().predict(frame, "A")
    assert predicted.to_dict() == {10: "no", 20: "yes", 30: "no"}
    assert list(net.compile().predict_proba(frame, "A").columns) == ["no", "yes"]


@pytest.mark.parametrize("others", [[], [LinearGaussianCPD("x", variance=1.0)]], ids=["tables", "numbers"])
def test_a_column_of_the_target_is_no_evidence_for_its_prediction(others):
    """Known answers, among them one that is no state, change nothing; a question takes them as evidence."""
    b = TableCPD("B", {"no": [0.7, 0.3], "yes": [0.2, 0.8]}, parents=["A"], states=["low", "high"])
    net = BayesianNetwork(TableCPD("A", [0.6, 0.4], states=["no", "yes"]), b, *others)
    engine, labels = net.compile(), ["yes", "no", "unknown"]
    expected = [[0.42 / 0.5, 0.08 / 0.5], [0.18 / 0.5, 0.32 / 0.5], [0.6, 0.4]]
    for frame in ({"A": labels, "B": ["low", "high", None]}, pd.DataFrame({"A": labels, "B": ["low", "high", None]})):
        np.testing.assert_allclose(engine.predict_proba(frame, "A").to_numpy(), expected, atol=1e-12)
        assert engine.predict(frame, "A").tolist() == ["no", "yes", "no"]
    assert engine.predict_proba({"A": labels}, "A").shape == (3, 2)
    assert net.query("A", {"A": "yes", "B": "low"})["yes"] == 1.0


def test_no_rows_give_no_answers():
    """An empty table is answered with empty arrays and zero counts."""
    engine = BayesianNetwork(TableCPD("A", [0.6, 0.4])).compile()
    empty = pd.DataFrame({"A": []})
    assert engine.log_likelihood(empty).shape == (0,)
    assert engine.predict_proba(empty, "A").shape == (0, 2)
    assert engine.expected_counts(empty)["A"].tolist() == [0.0, 0.0]


def test_impossible_rows_are_named():
    """Posteriors of a row that can't happen are refused with its number; its likelihood is zero."""
    net = BayesianNetwork(TableCPD("A", [1.0, 0.0]), TableCPD("B", [[0.5, 0.5], [0.5, 0.5]], parents=["A"]))
    engine = net.compile()
    with pytest.raises(ImpossibleEvidence, match="Row 1"):
        engine.predict_proba({"A": [0, 1]}, "B")
    assert engine.log_likelihood({"A": [0, 1]}).tolist() == [0.0, -math.inf]


def test_mistakes_in_tables_are_named():
    """Unknown columns, states and targets."""
    engine = BayesianNetwork(TableCPD("rain", [0.5, 0.5], states=["no", "yes"])).compile()
    with pytest.raises(UnknownVariable, match="Did you mean 'rain'"):
        engine.log_likelihood({"rian": ["no"]})
    with pytest.raises(UnknownState, match="Row 1"):
        engine.log_likelihood({"rain": ["no", "maybe"]})
    with pytest.raises(UnknownVariable, match="Did you mean 'rain'"):
        engine.predict_proba({"rain": ["no"]}, "rian")


def test_a_long_chain_has_the_right_logarithm():
    """Ten thousand findings: P(e) is far below the smallest float."""
    length = 2000
    cpds = [TableCPD("X0", [0.5, 0.5]), TableCPD("Y0", [[0.9, 0.1], [0.2, 0.8]], parents=["X0"])]
    for i in range(1, length):
        cpds.append(TableCPD(f"X{i}", [[0.7, 0.3], [0.4, 0.6]], parents=[f"X{i - 1}"]))
        cpds.append(TableCPD(f"Y{i}", [[0.9, 0.1], [0.2, 0.8]], parents=[f"X{i}"]))
    rng = np.random.default_rng(0)
    observed = rng.integers(0, 2, length)
    belief, expected = np.array([0.5, 0.5]), 0.0
    transition, emission = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.2, 0.8]])
    for i, symbol in enumerate(observed):
        belief = (belief @ transition if i else belief) * emission[:, symbol]
        expected += math.log(belief.sum())
        belief = belief / belief.sum()
    engine = BayesianNetwork(cpds).compile()
    evidence = {f"Y{i}": int(symbol) for i, symbol in enumerate(observed)}
    assert expected < -1000
    assert engine.log_probability(evidence) == pytest.approx(expected, rel=1e-10)
    assert engine.log_likelihood({name: [state] for name, state in evidence.items()})[0] == pytest.approx(
        expected, rel=1e-10
    )


def test_many_opposed_messages_to_one_table_do_not_underflow():
    """A class with thousands of features, half speaking for each class: the posterior is the prior."""
    strong, weak = [1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]
    features = [TableCPD(f"F{i}", [strong, weak] if i % 2 else [weak, strong], parents=["C"]) for i in range(400)]
    engine = BayesianNetwork(TableCPD("C", [0.3, 0.7]), *features).compile()
    posterior = engine.marginals({f"F{i}": 0 for i in range(400)})["C"]
    assert posterior.values == pytest.approx([0.3, 0.7], abs=1e-9)


def test_jeffrey_replaces_the_belief():
    """The marginal is as asked, and what follows from it is kept."""
    net = random_network(np.random.default_rng(11), num_variables=5, zeros=0.0)
    name = next(n for n, v in net.variables.items() if v.num_states == 2)
    evidence = {name: jeffrey([0.9, 0.1])}
    for other, factor in net.marginals(evidence).items():
        assert factor.is_close(net.query(other, evidence), 1e-10)


def test_large_noisy_or_is_summed_compactly():
    """Thirty causes: marginals from compact factors, counts of all other families."""
    causes = [TableCPD(f"C{i}", [0.9, 0.1]) for i in range(30)]
    effect = NoisyOr("Y", parents=[f"C{i}" for i in range(30)], activation=[0.3] * 30, leak=0.05)
    net = BayesianNetwork(*causes, effect)
    engine = net.compile()
    assert engine.sums.program.num_entries < 1000
    yes = net.variables["Y"].states[-1]
    assert engine.marginals()["Y"][yes] == pytest.approx(1 - 0.95 * (1 - 0.03) ** 30, abs=1e-12)
    assert engine.query("C0", {"Y": yes}).is_close(net.query("C0", {"Y": yes}), 1e-12)
    frame = {"Y": [yes, None], "C1": [None, 1]}
    predicted = engine.predict_proba(frame, "C0").to_numpy()
    np.testing.assert_allclose(predicted, [net.query("C0", {"Y": yes}).values, [0.9, 0.1]], rtol=1e-12)
    small = BayesianNetwork(
        *causes[:8], NoisyOr("Y", parents=[f"C{i}" for i in range(8)], activation=[0.3] * 8, leak=0.05)
    )
    assert small.mpe({"Y": yes}).log_probability == pytest.approx(math.log(small.joint().reduce({"Y": yes}).max()))


def test_a_tree_that_would_not_fit_is_refused_by_its_largest_clique():
    """Before a table is allocated; the message says what to do."""
    with pytest.raises(TooLarge, match="largest clique"):
        ising((40, 40), coupling=-0.5).compile().marginals()


def test_to_do_is_to_cut_for_all_marginals():
    """marginals(do=) and mpe(do=) are those of the mutilated network."""
    net = random_network(np.random.default_rng(2), num_variables=5, zeros=0.0)
    name = list(net.variables)[-1]
    cut = net.intervene({name: 0})
    for other, factor in net.marginals(do={name: 0}).items():
        assert factor.is_close(cut.query(other), 1e-12)
    assert net.mpe(do={name: 0}).log_probability == pytest.approx(math.log(cut.joint().max()))


def test_the_plan_names_the_largest_clique():
    """`explain` is for people."""
    engine = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5]] * 2, parents=["A"])).compile()
    assert "largest clique: (A, B), 4 entries" in str(engine.explain())
    assert engine.query("A").info.engine == "clique tree"


def test_programs_survive_pickling():
    """A compiled set of factors can go to another process."""
    engine = random_network(np.random.default_rng(1)).compile()
    program = pickle.loads(pickle.dumps(engine.sums.program))
    assert str(program) == str(engine.sums.program)
    np.testing.assert_array_equal(program.layout.cliques, engine.sums.program.layout.cliques)


def test_a_thousand_tiny_factors_keep_their_ratios():
    """Products far below the smallest float, inside one clique: elimination on logarithms answers."""
    coin = Variable("coin", 2)
    net = MarkovNetwork([Factor([coin], [1e-30, 1.01e-30])] * 1000)
    assert net.marginals()["coin"][0] == pytest.approx(1 / (1 + 1.01**1000), rel=1e-9)
    assert net.compile().log_probability({"coin": 1}) == pytest.approx(0.0, abs=1e-4)


def test_conditional_networks_answer_given_their_inputs():
    """All marginals, the best assignment and samples, once the inputs are observed."""
    light = Variable("light", ["off", "on"])
    net = BayesianNetwork(
        TableCPD("lamp", [0.1, 0.9], states=["broken", "fine"]),
        TableCPD("seen", [[[1, 0], [1, 0]], [[1, 0], [0.2, 0.8]]], parents=[light, "lamp"], states=["no", "yes"]),
        inputs=[light],
    )
    answers = net.marginals({"light": "on"})
    assert answers["seen"]["yes"] == pytest.approx(0.72)
    assert answers["light"]["on"] == 1.0
    assert dict(net.mpe({"light": "on"})) == {"light": "on", "lamp": "fine", "seen": "yes"}
    assert set(net.sample(10, seed=0, evidence={"light": "off"})["seen"]) == {"no"}
    with pytest.raises(InvalidModel, match="'light' is an input"):
        net.marginals({"seen": "yes"})


def test_samples_follow_jeffrey_evidence():
    """The rows have the marginal that was asked for."""
    net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
    rows = net.sample(4000, seed=1, evidence={"A": jeffrey([0.1, 0.9])})
    assert rows["A"].mean() == pytest.approx(0.9, abs=0.02)
    assert rows["B"].mean() == pytest.approx(0.1 * 0.3 + 0.9 * 0.8, abs=0.03)


def test_rows_that_underflow_are_not_called_impossible():
    """Two findings of probability 1e-200: the posterior and the counts are those of single questions."""
    net = BayesianNetwork(
        TableCPD("A", [1 - 1e-200, 1e-200]),
        TableCPD("B", [[0.5, 0.5], [1 - 1e-200, 1e-200]], parents=["A"]),
        TableCPD("C", [[0.5, 0.5], [0.3, 0.7]], parents=["B"]),
    )
    engine = net.compile()
    frame = {"A": [1, 0], "B": [1, 1]}
    np.testing.assert_allclose(engine.predict_proba(frame, "C").to_numpy(), [[0.3, 0.7], [0.3, 0.7]])
    np.testing.assert_allclose(engine.expected_counts(frame)["C"], [[0.0, 0.0], [0.6, 1.4]])
    assert engine.log_likelihood(frame)[0] == pytest.approx(2 * math.log(1e-200))


def test_a_distribution_that_never_mentions_its_variable_is_uniform():
    """One rule for all states; and a variable with one state."""
    net = BayesianNetwork(
        TableCPD("A", [0.6, 0.4]),
        RuleCPD("R", parents=["A"], states=["x", "y"], rules=[Rule({}, 0.5)]),
        RuleCPD("S", parents=["A"], states=["only"], rules=[Rule({"S": "only"}, 1.0)]),
    )
    assert net.query("R").values.tolist() == [0.5, 0.5]
    assert net.query(["A", "S"]).values.tolist() == [[0.6], [0.4]]
    assert net.compile().query(["A", "S"]).values.tolist() == [[0.6], [0.4]]
    assert net.query("A", {"R": jeffrey([0.1, 0.9])}).values.tolist() == pytest.approx([0.6, 0.4])
    assert net.log_probability({"A": 0, "R": "x"}) == pytest.approx(math.log(0.3))


def test_structured_families_are_counted():
    """A multiplexer's compact factors are over parts of its family; its counts are over all of it."""
    net = BayesianNetwork(
        TableCPD("S", [0.5, 0.5], states=["A", "B"]),
        TableCPD("A", [0.6, 0.4]),
        TableCPD("B", [0.5, 0.5]),
        Multiplexer("Y", "S", ["A", "B"], states=[0, 1]),
    )
    counts = net.compile().expected_counts({"Y": [1]})
    np.testing.assert_allclose(counts["Y"], net.query(["S", "A", "B", "Y"], {"Y": 1}).values, atol=1e-12)


def test_sizes_beyond_machine_integers_are_refused():
    """A complete graph over seventy variables: 2^70 entries, told as such."""
    names = [f"v{i}" for i in range(70)]
    factors = [Factor({a: 2, b: 2}, [[1, 2], [3, 4]]) for i, a in enumerate(names) for b in names[:i]]
    with pytest.raises(TooLarge, match=r"1\.18e\+21 entries"):
        MarkovNetwork(factors).marginals()


def test_observed_numbers_and_set_numbers_are_conditions():
    """Discrete posteriors of a network with continuous variables, by marginals as by query."""
    net = BayesianNetwork(
        LinearGaussianCPD("x", intercept=0.0, variance=1.0),
        TableCPD("S", [0.5, 0.5], states=["f", "m"]),
        ConditionalGaussianCPD(
            "h", parents=[Variable("S", ["f", "m"])], intercept=[165.0, 178.0], coefficients={}, variance=[40.0, 50.0]
        ),
        LogisticCPD("Y", parents=["x"], weights=[1.0]),
    )
    answers = net.marginals({"h": 180.0, "x": 0.3})
    assert set(answers) == {"S", "Y"}
    assert answers["S"].is_close(net.query("S", {"h": 180.0}), 1e-12)
    assert answers["Y"].is_close(net.query("Y", {"x": 0.3}), 1e-12)
    assert net.marginals({"h": 180.0}, do={"x": 1.0})["Y"].is_close(net.query("Y", do={"x": 1.0}), 1e-12)
    assert net.mpe({"h": 180.0, "x": 2.0})["S"] == "m"
    assert set(net.sample(10, seed=0, evidence={"h": 150.0, "x": 0.0})["S"]) == {"f"}


def test_engines_can_be_pickled():
    """They go to other processes with everything they need, the tables for maxima included."""
    net = random_network(np.random.default_rng(1), zeros=0.0)
    copy = pickle.loads(pickle.dumps(net.compile()))
    for name, factor in copy.marginals().items():
        assert factor.is_close(net.query(name), 1e-12)
    causes = [TableCPD(f"C{i}", [0.9, 0.1]) for i in range(12)]
    effect = NoisyOr("Y", parents=[f"C{i}" for i in range(12)], activation=[0.3] * 12, leak=0.05)
    engine = BayesianNetwork(*causes, effect).compile()
    assert pickle.loads(pickle.dumps(engine)).mpe() == engine.mpe()


def test_bad_weights_and_targets_are_refused():
    """Too few, negative, not numbers; a list where a name is meant."""
    engine = BayesianNetwork(TableCPD("A", [0.6, 0.4])).compile()
    for weights in ([1], [-1, 1], ["a", "b"], [[1, 2]], [math.nan, 1.0]):
        with pytest.raises(InvalidArgument, match="weight"):
            engine.expected_counts({"A": [0, 1]}, weights=weights)
    with pytest.raises(InvalidArgument, match="one target at a time"):
        engine.predict_proba({"A": [0]}, ["A"])


def test_markov_networks_have_samples_maps_and_no_families():
    """The same questions, but for counts of families, which they have not."""
    net = random_markov_network(np.random.default_rng(3))
    name = next(iter(net.variables))
    assert net.map(name)[name] == net.query(name).argmax()[name]
    assert len(net.sample(5, seed=0)) == 5
    with pytest.raises(NotSupported, match="no families"):
        net.compile().expected_counts({name: [0]})


def test_states_that_are_tuples_label_columns():
    """Not a hierarchy of labels."""
    net = BayesianNetwork(TableCPD("A", [0.6, 0.4], states=[(0, 1), (1, 2)]))
    assert list(net.compile().predict_proba({"A": [(0, 1)]}, "A").columns) == [(0, 1), (1, 2)]


def test_the_best_explanation_heeds_numbers_beside_compact_distributions():
    """A noisy-or too large for a small table, and a measurement of one of its causes: against all 2,048 assignments."""
    names = [f"C{i}" for i in range(10)]
    causes = [TableCPD(name, [0.7, 0.3], states=[False, True]) for name in names]
    effect = NoisyOr("Y", parents=names, activation=np.linspace(0.1, 0.9, 10), leak=0.05)
    measured = ConditionalGaussianCPD(
        "m", parents=[Variable("C0", [False, True])], intercept=[0.0, 5.0], coefficients={}, variance=[1.0, 1.0]
    )
    net = BayesianNetwork(*causes, effect, measured)
    best = net.mpe({"Y": True, "m": 4.5})
    rows = {name: [bool(i >> place & 1) for i in range(1024)] for place, name in enumerate(names)}
    logs = net.log_likelihood({**rows, "Y": [True] * 1024, "m": [4.5] * 1024})
    assert best["C0"] is True
    assert best.log_probability == pytest.approx(logs.max())


def test_rows_without_columns_are_rows_without_evidence():
    """A frame with three rows and no column has three answers: the prior."""
    engine = BayesianNetwork(TableCPD("A", [0.6, 0.4])).compile()
    np.testing.assert_allclose(engine.predict_proba(pd.DataFrame(index=range(3)), "A").to_numpy(), [[0.6, 0.4]] * 3)
    assert engine.log_likelihood(pd.DataFrame(index=range(3))).tolist() == [0.0, 0.0, 0.0]
