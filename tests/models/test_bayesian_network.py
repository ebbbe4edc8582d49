"""Bayesian networks against plain enumeration of the joint."""

from __future__ import annotations

import math
import pickle
from itertools import combinations

import numpy as np
import pytest
from network_oracle import (
    asia_network,
    assert_factor_equals,
    assignments,
    binary,
    burglary_network,
    joint_of_bayesian_network,
    posterior,
    random_evidence,
    random_network,
    total,
)

from plausible.cpds import (
    KINDS,
    ConditionalGaussianCPD,
    DeterministicCPD,
    LinearGaussianCPD,
    LogisticCPD,
    NoisyMax,
    NoisyOr,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.errors import ImpossibleEvidence, InvalidModel, NotSupported, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.models import BayesianNetwork, Notes, VariableNotes
from plausible.variables import Variable, jeffrey, likelihood

SEEDS = range(40)


# --- building ---


def test_variables_keep_the_order_in_which_cpds_come():
    """Nothing is reordered, and a child may come before its parents."""
    net = BayesianNetwork(TableCPD("B", [[0.5, 0.5], [0.1, 0.9]], parents=["A"]), TableCPD("A", [0.5, 0.5]))
    assert list(net.variables) == ["B", "A"]
    assert net.graph == DAG("A -> B")
    assert len(net) == 2
    assert "A" in net
    assert "C" not in net


def test_cpds_can_come_in_one_list():
    """A list of CPDs will do."""
    assert BayesianNetwork([TableCPD("A", [1.0])]) == BayesianNetwork(TableCPD("A", [1.0]))


def test_a_network_without_variables_is_the_constant_one():
    """The empty product."""
    net = BayesianNetwork()
    assert net.joint().sum() == 1
    assert net.num_parameters == net.num_joint_parameters == 0
    assert net.log_probability({}) == 0


@pytest.mark.parametrize(
    ("cpds", "message"),
    [
        ([TableCPD("A", [0.5, 0.5]), TableCPD("A", [0.5, 0.5])], "'A' has two distributions"),
        ([TableCPD("A", [[1.0]], parents=["B"]), TableCPD("B", [[1.0]], parents=["A"])], "directed cycle: "),
        ([TableCPD("A", [[1.0]], parents=["Bee"]), TableCPD("Bea", [1.0])], "'Bee' is not a variable.*Did you mean 'Bea'"),
        (["A"], "made of CPDs, not of 'A'"),
    ],
)
def test_parts_that_make_no_network_are_refused(cpds, message):
    """The error names the variable."""
    with pytest.raises(Exception, match=message):
        BayesianNetwork(cpds)


def test_unknown_names_get_suggestions():
    """As a target, in evidence, in do, and as a state."""
    net = burglary_network().renamed({"A": "Alarm"})
    for ask in (
        lambda: net.query("Alrm"),
        lambda: net.query("J", evidence={"Alrm": True}),
        lambda: net.query("J", do={"Alrm": True}),
        lambda: net.cpd("Alrm"),
    ):
        with pytest.raises(UnknownVariable, match="Did you mean 'Alarm'"):
            ask()
    with pytest.raises(UnknownState, match="'maybe' is not a state of 'J'"):
        net.query("Alarm", evidence={"J": "maybe"})


def test_networks_survive_pickling():
    """Notes and all."""
    notes = Notes("n", properties={"a": "b"}, variables={"B": VariableNotes("label", properties={"c": "d"})})
    net = burglary_network().with_notes(notes)
    again = pickle.loads(pickle.dumps(net))
    assert again == net
    assert again.notes == notes
    assert again.query("B").is_close(net.query("B"))


# --- the joint ---


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_is_the_product_of_the_tables_and_sums_to_one(seed):
    """P(x) = Π P(x_i | u_i)."""
    net = random_network(np.random.default_rng(seed))
    joint = net.joint()
    assert joint.names == tuple(net.variables)
    assert joint.sum() == pytest.approx(1.0)
    for assignment, probability in joint_of_bayesian_network(net):
        assert joint[assignment] == pytest.approx(probability, abs=1e-14)


def test_joint_too_large_is_refused_before_it_is_built():
    """A hundred binary variables are too many for a table."""
    net = BayesianNetwork(binary(f"X{i}", 0.5) for i in range(100))
    with pytest.raises(Exception, match="The joint distribution over 100 variables"):
        net.joint()
    assert net.num_joint_parameters == 2**100 - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_log_probability_of_complete_rows_is_a_sum_of_look_ups(seed):
    """One by one and as a table of rows."""
    net = random_network(np.random.default_rng(seed), num_variables=4)
    joint = joint_of_bayesian_network(net)
    columns = {name: [row[name] for row, _ in joint] for name in net.variables}
    with np.errstate(divide="ignore"):
        expected = np.log([probability for _, probability in joint])
    np.testing.assert_allclose(net.log_likelihood(columns), expected, atol=1e-12)
    for (row, _), value in zip(joint, expected, strict=True):
        assert net.log_probability(row) == pytest.approx(value)


# --- queries ---


@pytest.mark.parametrize("seed", SEEDS)
def test_query_equals_enumeration(seed):
    """P(T | e) for random targets and evidence; impossible evidence is refused."""
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    joint = joint_of_bayesian_network(net)
    for _ in range(8):
        evidence = random_evidence(rng, net.variables, int(rng.integers(0, 4)))
        targets = [list(net.variables)[i] for i in rng.permutation(len(net))[: rng.integers(1, 4)]]
        probability = total(joint, evidence)
        log_probability = net.log_probability(evidence)
        if probability == 0:
            assert log_probability == -math.inf
            with pytest.raises(ImpossibleEvidence):
                net.query(targets, evidence)
        else:
            assert log_probability == pytest.approx(math.log(probability), abs=1e-10)
            answer = net.query(targets, evidence)
            assert answer.names == tuple(targets)
            assert_factor_equals(answer, posterior(joint, targets, evidence))


def test_query_says_how_it_was_got():
    """The record that comes with the answer."""
    info = asia_network().query("D", evidence={"X": True}).info
    assert info.engine == "variable elimination"
    assert info.exact
    assert info.converged
    assert 0 < info.largest_table <= info.cost


def test_barren_variables_cost_nothing():
    """A root's prior is asked for without a look at its descendants."""
    net = BayesianNetwork(binary("A", 0.5), *(binary(f"X{i}", [0.1, 0.9], ["A"]) for i in range(50)))
    assert net.query("A").info.cost == 2


def test_separated_parts_cost_nothing():
    """A given B is asked for without a look at what lies beyond B."""
    net = BayesianNetwork(
        binary("A", 0.5), binary("B", [0.1, 0.9], ["A"]), binary("C", [0.2, 0.8], ["B"]), binary("D", [0.3, 0.7], ["C"])
    )
    assert net.query("A", evidence={"B": True, "D": True}).info.cost == 2


def test_separated_parts_still_can_make_the_evidence_impossible():
    """Evidence of probability zero is refused even if it says nothing about the target."""
    net = BayesianNetwork(binary("A", 0.5), binary("B", 0.5), binary("C", [0.0, 1.0], ["B"]))
    with pytest.raises(ImpossibleEvidence, match=r"B=False, C=True"):
        net.query("A", evidence={"B": False, "C": True})
    with pytest.raises(ImpossibleEvidence):
        net.query("A", evidence={"B": likelihood([1.0, 0.0]), "C": True})


def test_impossible_evidence_names_a_smallest_contradiction():
    """Findings that have nothing to do with it are not named."""
    net = asia_network()
    evidence = {"S": True, "T": True, "A": False, "X": True, "V": False}
    with pytest.raises(ImpossibleEvidence) as caught:
        net.query("D", evidence)
    assert "T=True, A=False" in str(caught.value)
    assert "S=" not in str(caught.value)
    assert "X=" not in str(caught.value)


@pytest.mark.parametrize("seed", SEEDS)
def test_d_separation_implies_independence(seed):
    """Every separation that the graph claims holds in the numbers."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5, zeros=0.1)
    joint = net.joint()
    for x, y in combinations(net.variables, 2):
        rest = [name for name in net.variables if name not in (x, y)]
        given = [name for name in rest if rng.random() < 0.5]
        if net.graph.d_separated(x, y, given=given):
            assert joint.is_independent(x, y, given)


# --- kinds of evidence ---


@pytest.mark.parametrize("seed", range(15))
def test_one_of_several_states_is_the_sum_over_them(seed):
    """P(T, X in S) = Σ over S."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, max_states=4, zeros=0)
    joint = joint_of_bayesian_network(net)
    name = next((n for n, v in net.variables.items() if v.num_states > 2), None)
    if name is None:
        return
    allowed = {0, 2}
    kept = [(assignment, p) for assignment, p in joint if assignment[name] in allowed]
    target = next(n for n in net.variables if n != name)
    assert_factor_equals(net.query([target, name], {name: allowed}), posterior(kept, [target, name], {}))
    assert net.log_probability({name: allowed}) == pytest.approx(math.log(math.fsum(p for _, p in kept)))


@pytest.mark.parametrize("seed", range(15))
def test_likelihood_multiplies_the_belief(seed):
    """P(T | virtual evidence on X) ∝ Σ λ(x) P(T, x), and its scale does not matter."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0)
    joint = joint_of_bayesian_network(net)
    name, target = list(net.variables)[:2]
    weights = rng.random(net.variables[name].num_states) + 0.1
    weighted = [(a, p * weights[a[name]]) for a, p in joint]
    for scale in (1.0, 1e-3):
        assert_factor_equals(net.query(target, {name: likelihood(weights * scale)}), posterior(weighted, [target], {}))


@pytest.mark.parametrize("seed", range(15))
def test_jeffrey_replaces_the_belief_and_keeps_what_follows(seed):
    """P'(T) = Σ q(x) P(T | x, e); the marginal of X is exactly q."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0, max_states=3)
    joint = joint_of_bayesian_network(net)
    names = list(net.variables)
    name, observed, target = (names[i] for i in rng.permutation(len(names))[:3])
    wanted = rng.dirichlet(np.ones(net.variables[name].num_states))
    evidence = {observed: 0}
    findings = {**evidence, name: jeffrey(wanted)}
    expected = {}
    for state, weight in zip(net.variables[name].states, wanted, strict=True):
        for key, p in posterior(joint, [target], {**evidence, name: state}).items():
            expected[key] = expected.get(key, 0.0) + weight * p
    assert_factor_equals(net.query(target, findings), expected)
    assert net.query(name, findings).values == pytest.approx(wanted)
    both = net.query([target, name], findings)
    assert both.marginal(target).is_close(net.query(target, findings))


def test_jeffrey_and_likelihood_are_not_the_same():
    """The prior enters one of them only."""
    net = burglary_network()
    assert net.query("B", {"B": jeffrey([0.5, 0.5])})[True] == pytest.approx(0.5)
    assert net.query("B", {"B": likelihood([0.5, 0.5])})[True] == pytest.approx(0.001)


def test_jeffrey_is_refused_where_it_means_nothing():
    """On several variables, as an event, and on a state that is ruled out."""
    net = asia_network()
    two = {"S": jeffrey([0.5, 0.5]), "V": jeffrey([0.5, 0.5])}
    with pytest.raises(NotSupported, match="several variables"):
        net.query("L", two)
    with pytest.raises(NotSupported, match="has no probability"):
        net.log_probability({"S": jeffrey([0.5, 0.5])})
    with pytest.raises(ImpossibleEvidence, match="A=False"):
        net.query("L", {"T": True, "A": jeffrey([0.5, 0.5])})


# --- interventions ---


@pytest.mark.parametrize("seed", range(15))
def test_intervention_is_the_truncated_product(seed):
    """P(x | do(z)) = Π over variables that are not set, where z agrees."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0)
    names = list(net.variables)
    target, acted, seen = (names[i] for i in rng.permutation(len(names))[:3])
    do = {acted: net.variables[acted].states[-1]}
    truncated = []
    for assignment in assignments(net.variables):
        p = float(assignment[acted] == do[acted])
        for name, cpd in net.cpds.items():
            if name != acted:
                p *= float(cpd.values[tuple(assignment[v.name] for v in cpd.scope)])
        truncated.append((assignment, p))
    evidence = {seen: 0}
    assert_factor_equals(net.query(target, evidence, do=do), posterior(truncated, [target], evidence))
    assert net.log_probability(evidence, do=do) == pytest.approx(math.log(total(truncated, evidence)))
    assert net.intervene(do).graph == net.graph.without_incoming(acted)


def test_to_do_is_to_see_for_a_parentless_variable():
    """P(Y | do(x)) = P(Y | x)."""
    net = asia_network()
    assert net.query("D", do={"S": True}).is_close(net.query("D", evidence={"S": True}))


# --- conditional networks ---


def _conditional():
    rain = Variable("rain", ["no", "yes"])
    return BayesianNetwork(
        TableCPD("wet", {"no": [0.9, 0.1], "yes": [0.2, 0.8]}, parents=["rain"]),
        TableCPD("slip", [[0.99, 0.01], [0.7, 0.3]], parents=["wet"]),
        inputs=[rain],
    )


def test_inputs_are_conditions():
    """P(rest | inputs): the inputs are given as evidence and have no probability themselves."""
    net = _conditional()
    assert net.inputs == ("rain",)
    assert list(net.variables) == ["rain", "wet", "slip"]
    assert net.query("slip", {"rain": "yes"})[1] == pytest.approx(0.2 * 0.01 + 0.8 * 0.3)
    assert net.query(["rain", "wet"], {"rain": "yes"}).values == pytest.approx(np.array([[0, 0], [0.2, 0.8]]))
    assert math.exp(net.log_probability({"rain": "yes", "wet": 1})) == pytest.approx(0.8)
    assert net.log_probability({"rain": "yes"}) == 0
    assert net.num_joint_parameters == 8 - 2
    np.testing.assert_allclose(net.joint().marginalize(["wet", "slip"]).values, [1, 1])
    rows = {"rain": ["yes", "no"], "wet": [1, 0], "slip": [1, 0]}
    assert np.exp(net.log_likelihood(rows)) == pytest.approx([0.8 * 0.3, 0.9 * 0.99])


def test_an_input_that_matters_must_be_observed():
    """It is never summed out in silence."""
    net = _conditional()
    for ask in (lambda: net.query("slip"), lambda: net.query("rain"), lambda: net.log_probability({"slip": 1})):
        with pytest.raises(InvalidModel, match="'rain' is an input"):
            ask()
    with pytest.raises(InvalidModel, match="'rain' is an input"):
        net.query("slip", {"rain": likelihood([0.5, 0.5])})
    with pytest.raises(InvalidModel, match="it has no CPD"):
        net.cpd("rain")
    assert net.query("slip", {"wet": 1, "rain": "no"})[1] == pytest.approx(0.3)


def test_impossible_evidence_keeps_the_inputs():
    """The contradiction is looked for among the findings, for these inputs."""
    net = BayesianNetwork(TableCPD("X", [[1.0, 0.0], [0.0, 1.0]], parents=["U"]), inputs=[Variable("U", 2)])
    with pytest.raises(ImpossibleEvidence, match=r"^The evidence X=1 has probability zero\.$"):
        net.query("X", {"U": 0, "X": 1})


# --- continuous variables ---


def _mixed():
    sex = Variable("sex", ["f", "m"])
    return BayesianNetwork(
        TableCPD(sex, [0.5, 0.5]),
        LinearGaussianCPD("age", intercept=30.0, variance=100.0),
        ConditionalGaussianCPD("height", [160.0, 175.0], {"age": [0.1, 0.0]}, [36.0, 49.0], parents=["sex", "age"]),
        LogisticCPD("tall", intercept=-170.0, weights={"height": 1.0}, parents=["height"]),
    )


def _normal(x, mean, variance):
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def test_log_density_of_complete_rows():
    """Densities multiply where variables are continuous."""
    net = _mixed()
    row = {"sex": "f", "age": 40.0, "height": 170.0, "tall": 1}
    density = 0.5 * _normal(40, 30, 100) * _normal(170, 164, 36) * 0.5
    assert net.log_probability(row) == pytest.approx(math.log(density))
    assert net.log_likelihood({name: [value] for name, value in row.items()})[0] == pytest.approx(math.log(density))
    assert net.log_probability({"age": 40.0}) == pytest.approx(math.log(_normal(40, 30, 100)))


def test_discrete_targets_given_observed_numbers():
    """Where every continuous variable that matters is observed, its density is a likelihood."""
    net = _mixed()
    evidence = {"age": 40.0, "height": 170.0}
    weights = [0.5 * _normal(170, 164, 36), 0.5 * _normal(170, 175, 49)]
    assert net.query("sex", evidence).values == pytest.approx(np.array(weights) / sum(weights))
    assert net.log_probability(evidence) == pytest.approx(math.log(sum(weights) * _normal(40, 30, 100)))
    assert net.query("tall", {**evidence, "height": 171.0})[1] == pytest.approx(1 / (1 + math.exp(-1)))


def test_density_ratios_beyond_the_range_of_floats():
    """A height of 10^4 has a density of exp(-10^6); the posterior is still right."""
    net = _mixed()
    evidence = {"age": 30.0, "height": 1e4}
    logs = [-0.5 * math.log(36) - (1e4 - 163) ** 2 / 72, -0.5 * math.log(49) - (1e4 - 175) ** 2 / 98]
    assert net.query("sex", evidence)["m"] == pytest.approx(1 / (1 + math.exp(logs[0] - logs[1])))
    assert net.log_probability(evidence) < -1e5


def test_unobserved_numbers_are_not_supported_yet():
    """The error names the variable."""
    with pytest.raises(NotSupported, match="'age' is continuous and not observed"):
        _mixed().query("sex", {"height": 170.0})
    with pytest.raises(NotSupported, match="'age' is continuous"):
        _mixed().query("age")
    with pytest.raises(NotSupported, match="continuous"):
        _mixed().joint()


def test_intervention_on_a_number():
    """do(height) tells nothing about the sex, and fixes what follows."""
    net = _mixed()
    assert net.query("sex", do={"height": 170.0}).values == pytest.approx([0.5, 0.5])
    assert net.query("tall", do={"height": 171.0})[1] == pytest.approx(1 / (1 + math.exp(-1)))
    assert net.log_probability({"tall": 1}, do={"height": 170.0}) == pytest.approx(math.log(0.5))
    assert net.log_probability({"tall": 1, "height": 170.0}, do={"height": 170.0}) == pytest.approx(math.log(0.5))
    assert net.log_probability({"height": 171.0}, do={"height": 170.0}) == -math.inf
    assert net.intervene({"height": 170.0}).graph.parents("height") == ()


# --- structured CPDs ---


def _structured(num_parents):
    """A noisy-or, a noisy-max and a tree over some coins, and the same network of tables."""
    coins = [binary(f"C{i}", 0.1 + 0.1 * i) for i in range(num_parents)]
    names = [f"C{i}" for i in range(num_parents)]
    cause = NoisyOr("or", names, activation=[0.3 + 0.05 * i for i in range(num_parents)], leak=0.02)
    effects = [[[1, 0, 0], [0.2, 0.5, 0.3]]] * num_parents
    level = NoisyMax("max", names, effects, leak=[0.9, 0.1, 0.0])
    tree = TreeCPD("tree", Split("C0", {True: [0.1, 0.9], False: Split("or", {True: [0.5, 0.5], False: [1.0, 0.0]})}),
                   parents=["C0", "or"])
    net = BayesianNetwork(*coins, cause, level, tree)
    return net, BayesianNetwork(cpd.to_table() for cpd in net.cpds.values())


@pytest.mark.parametrize("num_parents", [2, 7])
def test_structured_cpds_answer_like_their_tables(num_parents):
    """Small ones as tables, large ones by their compact factors."""
    net, tables = _structured(num_parents)
    for evidence in ({}, {"or": True}, {"max": 2}, {"or": False, "max": 1}, {"tree": 1, "C1": True}):
        for target in ("C0", "C1", "or", "max", "tree"):
            assert net.query(target, evidence).is_close(tables.query(target, evidence), 1e-12)
        assert net.log_probability(evidence) == pytest.approx(tables.log_probability(evidence), abs=1e-12)


def test_a_large_noisy_or_is_never_a_table():
    """Forty causes: 2^40 rows, and an answer at once."""
    names = [f"C{i}" for i in range(40)]
    net = BayesianNetwork(*(binary(name, 0.1) for name in names), NoisyOr("Y", names, activation=[0.5] * 40, leak=0.0))
    assert net.query("Y")[True] == pytest.approx(1 - 0.95**40)
    assert net.query("C0", {"Y": False})[True] == pytest.approx(0.1 * 0.5 / 0.95)


def test_auxiliary_variables_do_not_meet_variables_of_the_same_name():
    """A network may have a variable with the name that a CPD gives to its own auxiliary one."""
    names = [f"C{i}" for i in range(7)]
    coins = [binary(name, 0.1) for name in names]
    cause = NoisyOr("Y", names, activation=[0.5] * 7, leak=0.0)
    (auxiliary,) = BayesianNetwork(*coins, cause).cpd("Y").auxiliaries
    net = BayesianNetwork(*coins, cause, binary(auxiliary.name, 0.25), binary("Z", [0.1, 0.9], [auxiliary.name]))
    assert net.query("Y", {"Z": True})[True] == pytest.approx(1 - 0.95**7)
    assert net.query(auxiliary.name, {"Y": True})[True] == pytest.approx(0.25)


# --- edits ---


def test_edits_leave_the_network_as_it_was():
    """Every edit returns another network."""
    net = asia_network()
    before = hash(net), list(net.variables)
    net.with_edge("V", "S").without_edge("V", "S").renamed({"S": "smoke"}).intervene({"T": True})
    assert (hash(net), list(net.variables)) == before


def test_with_edge_changes_no_probability_and_without_edge_takes_it_back():
    """An edge without effect can be added and removed."""
    net = asia_network()
    wider = net.with_edge("V", "S")
    assert wider.graph == net.graph.with_edge("V", "S")
    assert wider.joint().is_close(net.joint())
    assert wider.without_edge("V", "S").is_close(net)


def test_without_edge_keeps_the_marginal_of_the_remaining_family():
    """P(target | other parents) under the network before."""
    net = asia_network()
    fewer = net.without_edge("S", "B")
    assert fewer.query("B").is_close(net.query("B"))
    assert fewer.graph == net.graph.without_edge("S", "B")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda net: net.without_edge("V", "D"), "no edge 'V' -> 'D'"),
        (lambda net: net.with_edge("V", "T"), "already a parent"),
        (lambda net: net.with_edge("D", "V"), "directed cycle"),
        (lambda net: net.without_variable("S"), r"'S' has the children \['L', 'B'\]"),
        (lambda net: net.renamed({"S": "V"}), "Two variables would be called 'V'"),
        (lambda net: net.renamed({"Smoke": "V"}), "'Smoke' is not a variable"),
        (lambda net: net.with_states_renamed("S", {False: True}), "stands twice"),
        (lambda net: net.with_states_renamed("S", {"no": True}), "'no' is not a state"),
        (lambda net: net.subnetwork(["Q"]), "'Q' is not a variable"),
    ],
)
def test_edits_that_make_no_sense_are_refused(edit, message):
    """The error says why."""
    with pytest.raises(Exception, match=message):
        edit(asia_network())


def test_with_cpd_replaces_or_adds():
    """One CPD changes, and the answers follow."""
    net = asia_network().with_cpd(binary("S", 1.0)).with_cpd(binary("N", [0.5, 0.6], ["D"]))
    assert net.query("S")[True] == 1.0
    assert list(net.variables)[-1] == "N"
    assert net.query("L")[True] == pytest.approx(0.1)
    assert list(net.without_variable("N").variables) == list(asia_network().variables)


@pytest.mark.parametrize("seed", range(10))
def test_subnetwork_is_the_marginal(seed):
    """Variables and their ancestors keep their joint distribution."""
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    name = list(net.variables)[int(rng.integers(len(net)))]
    part = net.subnetwork(name)
    assert set(part.variables) == {name} | net.graph.ancestors(name)
    assert part.joint().is_close(net.joint().marginal(list(part.variables)))


def test_renaming_swaps_names_and_carries_notes():
    """All at once, so that two names can change places."""
    net = asia_network().with_notes(Notes(variables={"V": VariableNotes(label="visit")}))
    swapped = net.renamed({"V": "S", "S": "V"})
    assert swapped.query("V").values == pytest.approx([0.5, 0.5])
    assert swapped.query("S").values == pytest.approx([0.99, 0.01])
    assert swapped.notes.of("S").label == "visit"
    assert swapped.joint().rename({"V": "S", "S": "V"}).is_close(net.joint())


def test_every_kind_of_cpd_can_be_renamed():
    """Records are by position, so names and states can change under them."""
    net, _ = _structured(3)
    deterministic = DeterministicCPD("all", lambda *coins: all(coins), parents=["C0", "C1"], states=[False, True])
    net = net.with_cpd(deterministic)
    assert {cpd.kind for cpd in net.cpds.values()} <= set(KINDS)
    other = net.renamed({"C0": "first", "or": "either"}).with_states_renamed("first", {False: "off", True: "on"})
    assert other.query("tree", {"first": "on"}).is_close(net.query("tree", {"C0": True}))
    assert other.query("max", {"either": True}).is_close(net.query("max", {"or": True}))
    mixed = _mixed().renamed({"height": "cm", "sex": "s"})
    row = {"s": "f", "age": 40.0, "cm": 170.0, "tall": 1}
    assert mixed.log_probability(row) == pytest.approx(
        _mixed().log_probability({"sex": "f", "age": 40.0, "height": 170.0, "tall": 1})
    )


# --- equality ---


def test_networks_are_equal_by_content():
    """Whatever the order of the CPDs and the notes."""
    net = asia_network()
    again = BayesianNetwork(reversed(list(net.cpds.values())), notes=Notes("other"))
    assert net == again
    assert hash(net) == hash(again)
    assert net != net.with_cpd(binary("S", 0.4))
    assert net.is_close(net.with_cpd(binary("S", 0.5 + 1e-12)))
    assert not net.is_close(net.with_cpd(binary("S", 0.4)))
    assert not net.is_close(net.subnetwork("D"))
    assert net != "asia"


def test_repr_says_how_large_it_is():
    """Name, variables, edges, parameters."""
    assert repr(asia_network().with_notes(Notes("Asia"))) == "<BayesianNetwork 'Asia': 8 variables, 8 edges, 18 parameters>"


def test_factors_multiply_to_the_joint():
    """The compact factors, their auxiliary variables summed out."""
    net, tables = _structured(3)
    result = Factor.scalar(1.0)
    for factor in net.factors():
        result = result * factor
    assert result.marginal(list(net.variables)).is_close(tables.joint())
