"""Functional models say what listing all values of their noise says; those of networks have their distributions."""

from __future__ import annotations

from itertools import product as cartesian

import numpy as np
import pytest

from functional_oracle import random_mechanisms, random_settings
from network_oracle import random_network
from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.counterfactuals.query import counterfactual
from plausible.causal.functional.model import FunctionalModel, functional_model, observational_network, trial_model
from plausible.causal.functional.responses import COMPLIANCE, HIRING, OUTCOME, ResponseVariable, Vocabulary
from plausible.cpds import DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import (
    CyclicGraph,
    ImmutableValue,
    InvalidArgument,
    InvalidFactor,
    InvalidModel,
    InvalidVariable,
    TooLarge,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses
from seeds import few_of

GRADE, JOB = Variable("G", [0, 1]), Variable("J", [0, 1])


# --- response variables ---


@pytest.mark.parametrize(("states", "sizes"), [(2, [2]), (3, [2]), (2, [3, 2]), (1, [2, 2]), (3, [1]), (2, [])])
def test_types_are_all_functions_of_the_parents(states, sizes):
    """k^m functions, each once, the last value changing fastest."""
    parents = [Variable(f"P{i}", size) for i, size in enumerate(sizes)]
    response = ResponseVariable(Variable("X", states), parents)
    rows = int(np.prod(sizes, dtype=int))
    assert [tuple(row) for row in response.types.tolist()] == list(cartesian(range(states), repeat=rows))
    assert response.noise.num_states == states**rows
    assert response.counts == (states**rows - 1, rows * (states - 1))


def test_the_cpd_of_a_response_variable_applies_the_function():
    """X = U(pa) at every type and every assignment."""
    parents = [Variable("P", ["a", "b"]), Variable("Q", 2)]
    response = ResponseVariable(Variable("X", ["no", "yes"]), parents)
    table = response.cpd.to_table().values
    for response_type, p, q in cartesian(response.noise.states, range(2), range(2)):
        value = response.value(response_type, {"P": "ab"[p], "Q": q})
        assert value == response_type[2 * p + q]
        assert table[p, q, response.noise.index(response_type), ["no", "yes"].index(value)] == 1.0


def test_a_root_responds_with_its_own_states():
    """Without parents the domain of U^X is that of X."""
    response = ResponseVariable(Variable("X", ["low", "high"]))
    assert response.noise.states == ("low", "high")
    assert response.value("high") == "high"


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (COMPLIANCE, {"never taker": "00", "complier": "01", "defier": "10", "always taker": "11"}),
        (OUTCOME, {"never well": "00", "helped": "01", "hurt": "10", "always well": "11"}),
        (HIRING, {"never hire": "00", "rational": "01", "underdog": "10", "always hire": "11"}),
        (OUTCOME.with_outcome_reversed(), {"never well": "11", "helped": "10", "hurt": "01", "always well": "00"}),
        (COMPLIANCE.with_cause_reversed(), {"never taker": "00", "complier": "10", "defier": "01"}),
    ],
)
def test_named_types_are_the_functions_that_they_name(words, meaning):
    """A type's value without and with the cause; polarity can be turned."""
    response = ResponseVariable(JOB, [GRADE], names=words)
    for name, values in meaning.items():
        assert [str(response.value(name, {"G": grade})) for grade in (0, 1)] == list(values)


def test_response_types_give_the_conditional_distribution_and_back():
    """Hiring: P(j1|g1) = always + rational, P(j1|g0) = always + underdog, and their complements."""
    response = ResponseVariable(JOB, [GRADE], names=HIRING)
    chances = {"never hire": 0.1, "rational": 0.4, "underdog": 0.2, "always hire": 0.3}
    table = response.conditional(chances).values
    np.testing.assert_allclose(table, [[0.5, 0.5], [0.3, 0.7]], atol=1e-15)
    grade = ResponseVariable(GRADE)
    model = FunctionalModel([grade, response], [grade.distribution([0.5, 0.5]), response.distribution(chances)])
    np.testing.assert_allclose(observational_network(model).cpds["J"].values, table, atol=1e-15)
    assert response.counts == (3, 2)


def test_only_types_that_occur_are_kept():
    """Monotonicity: no defiers."""
    response = ResponseVariable(JOB, [GRADE], types=[(0, 0), (0, 1), (1, 1)])
    assert response.noise.states == ((0, 0), (0, 1), (1, 1))
    assert np.linalg.matrix_rank(response.constraint_matrix()) == 3


def test_too_many_or_wrong_response_types_are_refused():
    """Before anything is allocated, and with the size."""
    parents = [Variable(f"P{i}", 4) for i in range(8)]
    refuses(TooLarge, r"3\^65536 response types.*types=", ResponseVariable, Variable("X", 3), parents)
    refuses(InvalidArgument, "needs 2 values", ResponseVariable, JOB, [GRADE], types=[(0, 1, 1)])
    refuses(InvalidVariable, "4 response types, but 2 names", ResponseVariable, JOB, [GRADE], names=["a", "b"])
    refuses(InvalidVariable, "binary", ResponseVariable, Variable("X", 4), names=Vocabulary(*"abcd"))
    refuses(InvalidArgument, "Variable objects", ResponseVariable, Variable("X"))
    refuses(InvalidArgument, "state of 'G'", ResponseVariable(JOB, [GRADE]).value, (0, 1))


# --- the trial with noncompliance ---


def _cholestyramine(would_be_well):
    """The published trial; never takers would be well under treatment in this share of cases."""
    table = np.zeros((4, 4))
    for (at_0, at_1), chance in {
        (0, 0): 0.315 * (1 - would_be_well),
        (0, 1): 0.315 * would_be_well,
        (1, 0): 0.073 * (1 - would_be_well),
        (1, 1): 0.073 * would_be_well,
    }.items():
        table[0, 2 * at_0 + at_1] = chance
    table[1] = [0.139, 0.465, 0.0, 0.008]
    return trial_model(table)


def test_functional_models_of_one_trial_agree_on_what_is_seen_and_not_on_the_effect():
    """Cholestyramine: the same P(t, o | a), but effects of 0.392 and 0.780: the ends of the bounds."""
    effects = []
    for share in (0.0, 1.0):
        model = _cholestyramine(share)
        seen = [model.query(["T", "O"], evidence={"A": a}).values for a in (0, 1)]
        np.testing.assert_allclose(seen[0], [[0.919, 0.081], [0, 0]], atol=1e-12)
        np.testing.assert_allclose(seen[1], [[0.315, 0.073], [0.139, 0.473]], atol=1e-12)
        helped, hurt = model.noise.query("U_O").values[1:3]
        effect = (model.query("O", do={"T": 1}) - model.query("O", do={"T": 0})).values[1]
        assert effect == pytest.approx(helped - hurt, abs=1e-12)
        effects.append(effect)
    np.testing.assert_allclose(effects, [0.392, 0.780], atol=1e-12)


def test_the_trial_has_fifteen_parameters_and_seven_constraints():
    """16 pairs of types; what is seen given the assignment is linear in them with rank 7."""
    rows = []
    for pair in range(16):
        model = trial_model(np.eye(16)[pair].reshape(4, 4))
        rows.append(np.concatenate([model.query(["T", "O"], do={"A": a}).values.ravel() for a in (0, 1)]))
    assert np.linalg.matrix_rank(np.array(rows)) == 7
    model = trial_model(np.full((4, 4), 1 / 16))
    assert model.num_parameters == 15 + 1
    assert model.graph.m_separated("A", "O", given="T") is False
    assert model.noise.graph.d_separated("U_A", ["U_T", "U_O"])


def test_a_table_of_types_that_does_not_sum_to_one_is_refused():
    """The printed table of the textbook's figure sums to 1.01."""
    with pytest.raises(InvalidFactor, match=r"sums to 1\.01"):
        trial_model(np.full((4, 4), 1.01 / 16))


# --- models ---


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_questions_and_interventions_equal_enumeration(seed):
    """P(targets | evidence, do) is the share of the noise that gives these values."""
    rng = np.random.default_rng(seed)
    plain = random_mechanisms(rng, num_noise=int(rng.integers(0, 4)))
    model, do = plain.model(), random_settings(rng, plain)
    targets = [str(name) for name in rng.permutation(list(plain.sizes))[:2]]
    unset = [name for name in plain.sizes if name not in do]
    known = {name: int(rng.integers(plain.sizes[name])) for name in unset if rng.random() < 0.2}
    expected = plain.probabilities([(name, do) for name in targets], [(n, do, [x]) for n, x in known.items()])
    if expected is not None:
        np.testing.assert_allclose(model.query(targets, known, do).values, expected, atol=1e-12)
        np.testing.assert_allclose(model.intervene(do).query(targets, known).values, expected, atol=1e-12)


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_the_observational_network_has_the_induced_distribution(seed):
    """Confounded or not, the product of its tables is the distribution of the endogenous variables."""
    rng = np.random.default_rng(seed)
    plain = random_mechanisms(rng, num_noise=int(rng.integers(0, 4)))
    network = observational_network(plain.model())
    expected = plain.probabilities([(name, {}) for name in plain.sizes], [])
    np.testing.assert_allclose(network.joint().values, expected, atol=1e-12)
    model = plain.model()
    for name in plain.sizes:
        if not any(model.graph.district(name) - {name}):
            assert network.graph.parents(name) == model.parents(name)


def test_rows_that_never_occur_are_what_the_mechanism_gives():
    """P(x | pa) of an unconfounded variable does not need P(pa) > 0."""
    model = FunctionalModel(
        {"X": lambda U: U, "Y": lambda X, V: X != V}, [TableCPD("U", [1.0, 0.0]), TableCPD("V", [0.75, 0.25])]
    )
    np.testing.assert_allclose(observational_network(model).cpds["Y"].values, [[0.75, 0.25], [0.25, 0.75]])


def test_groups_of_noise_are_independent_of_each_other_and_confound_within():
    """A joint table for a group, a CPD for the rest; or one network for all."""
    U, V = Variable("U", 2), Variable("V", 2)
    functions = {"A": lambda U: U, "B": lambda V: V, "C": lambda A, W: A and W}
    group = Factor([U, V], [[0.4, 0.1], [0.1, 0.4]])
    model = FunctionalModel(functions, [TableCPD("W", [0.5, 0.5]), group])
    assert str(model.graph) == "A -> C; A <-> B"
    chained = BayesianNetwork(
        TableCPD("U", [0.5, 0.5]), TableCPD("V", [[0.8, 0.2], [0.2, 0.8]], ["U"]), TableCPD("W", [0.5, 0.5])
    )
    same = FunctionalModel(functions, chained)
    assert same.query(["A", "B", "C"]).is_close(model.query(["A", "B", "C"]))
    assert model.num_parameters == same.num_parameters == 4


def test_a_model_is_a_value():
    """Equality by content, no attributes to set."""
    models = [trial_model(np.full((4, 4), 1 / 16)) for _ in range(2)]
    assert models[0] == models[1]
    assert hash(models[0]) == hash(models[1])
    assert models[0] != models[0].intervene({"T": 1})
    assert list(models[0].functions) == ["A", "T", "O"]
    with pytest.raises(ImmutableValue):
        models[0].noise = models[1].noise


def test_models_that_are_none_are_refused():
    """Cycles, chance in functions, unknown causes, noise with functions."""
    coin = TableCPD("U", [0.5, 0.5])
    with pytest.raises(CyclicGraph):
        FunctionalModel({"X": lambda Y: Y, "Y": lambda X: X})
    with pytest.raises(InvalidModel, match="no function of its causes"):
        FunctionalModel([TableCPD("X", [0.5, 0.5])])
    with pytest.raises(UnknownVariable, match="'Q' is not a variable of this model, where it is a cause of 'X'"):
        FunctionalModel({"X": lambda Q: Q}, [coin])
    with pytest.raises(InvalidModel, match="'U' is noise and has a function"):
        FunctionalModel([DeterministicCPD("U", lambda: 0, states=[0, 1])], [coin])
    refuses(InvalidModel, "needs a function of its causes", FunctionalModel, {"X": 3}, [coin])
    refuses(InvalidModel, "named after the causes", FunctionalModel, {"X": lambda *U: U}, [coin])
    refuses(InvalidModel, "Noise is given by", FunctionalModel, {"X": lambda U: U}, [0.5])
    refuses(InvalidModel, "deterministic CPDs and ResponseVariables", FunctionalModel, [3], [coin])
    model = FunctionalModel({"X": lambda U: U}, [coin])
    refuses(InvalidArgument, "'U' is noise", model.query, "X", do={"U": 1})
    refuses(UnknownVariable, "Did you mean 'X'", model.intervene, {"x": 1})
    refuses(InvalidArgument, "mapping", model.intervene, 3)
    assert FunctionalModel({}).query([]).values == 1.0


def test_a_list_of_probabilities_has_one_for_each_response_type():
    response = ResponseVariable(Variable("Y", 2), [Variable("X", 2)])
    for ask in (response.conditional, response.distribution):
        with pytest.raises(InvalidArgument, match="4 response types"):
            ask([1.0])


def test_noise_may_be_a_mapping_from_names_to_probabilities():
    """The same model as with a CPD for each; what is no noise is refused with what is expected."""
    functions = {"X": lambda u: u, "Y": lambda X, v: v != X}
    probabilities = {"u": [0.3, 0.7], "v": [0.9, 0.1]}
    assert FunctionalModel(functions, probabilities) == FunctionalModel(
        functions, [TableCPD(name, values) for name, values in probabilities.items()]
    )
    with pytest.raises(InvalidModel, match="a mapping such as"):
        FunctionalModel(functions, ["u", "v"])
    with pytest.raises(InvalidModel, match="'u' is mapped to"):
        FunctionalModel(functions, {"u": TableCPD("u", [0.5, 0.5]), "v": [0.5, 0.5]})


@pytest.mark.parametrize("coupling", ["independent", "comonotone"])
@pytest.mark.parametrize("seed", few_of(6, 25))
def test_observations_and_interventions_are_those_of_the_network(seed, coupling):
    """The noise is independent, so the model has the network's graph and tables."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, max_states=2 if coupling == "independent" else 3, edge_probability=0.5)
    model = functional_model(net, coupling)
    assert observational_network(model).is_close(net, 1e-12)
    assert set(model.graph.edges) == {edge for edge in model.graph.edges if edge.is_directed}
    name, target = rng.permutation(list(net.variables))[:2]
    do = {str(name): net.variables[name].states[-1]}
    assert model.query(str(target), do=do).is_close(net.query(str(target), do=do), 1e-12)


def test_independent_rows_multiply_and_comonotone_rows_move_together():
    """P(Y_0, Y_1) is the product of its marginals, or as near to the diagonal as these allow."""
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("Y", [[0.8, 0.2], [0.3, 0.7]], ["X"]))
    terms = [Potential("Y", {"X": 0}), Potential("Y", {"X": 1})]
    table = counterfactual(functional_model(net), terms).values
    np.testing.assert_allclose(table, np.outer([0.8, 0.2], [0.3, 0.7]), atol=1e-15)
    table = counterfactual(functional_model(net, "comonotone"), terms).values
    np.testing.assert_allclose(table, [[0.3, 0.5], [0.0, 0.2]], atol=1e-15)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_comonotone_types_are_few_and_ordered(seed):
    """At most m (k - 1) + 1 quantile functions, each at least as large as the one before."""
    rng = np.random.default_rng(seed)
    states, rows = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    table = rng.dirichlet(np.ones(states) * 0.5, size=rows)
    table[0] = table[-1]  # jumps at one level
    net = BayesianNetwork(TableCPD("P", np.full(rows, 1 / rows)), TableCPD("X", table, ["P"]))
    responses = np.array(functional_model(net, "comonotone").noise.variables["U_X"].states).reshape(-1, rows)
    assert len(responses) <= rows * (states - 1) + 1
    assert np.all(np.diff(responses, axis=0) >= 0)
    assert np.all(responses[:, 0] == responses[:, -1])


def test_a_noisy_or_brings_its_own_mechanism():
    """The effect is the or of the noisy copies: removing a cause that did not pass changes nothing."""
    causes = [Variable(f"C{i}", 2) for i in range(3)]
    net = BayesianNetwork(
        *(TableCPD(cause, [0.5, 0.5]) for cause in causes), NoisyOr("E", causes, [0.9, 0.5, 0.0], leak=0.2)
    )
    model = functional_model(net)
    names = [cause.name for cause in causes] + ["E"]
    np.testing.assert_allclose(model.query(names).values, net.joint().values, atol=1e-15)
    assert model.parents("E") == ("Z_E_C0", "Z_E_C1", "Z_E_C2")
    seen = {"C0": 1, "C1": 1, "C2": 1, "E": True, "Z_E_C0": False}
    assert counterfactual(model, "E", evidence=seen, do={"C0": 0}).values[1] == 1.0


def test_a_noisy_or_of_many_causes_stays_small():
    """No table over all the causes is ever written."""
    causes = [Variable(f"C{i}", 2) for i in range(30)]
    net = BayesianNetwork(*(TableCPD(c, [0.9, 0.1]) for c in causes), NoisyOr("E", causes, [0.5] * 30))
    answer = counterfactual(functional_model(net), "E", evidence={"E": True, "C0": 1}, do={"C0": 0})
    others = 1 - 0.95**29
    assert answer.values[1] == pytest.approx(others / (1 - 0.5 * (1 - others)), abs=1e-12)


def test_names_of_noise_keep_clear_of_the_networks_own():
    """U_X is taken."""
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("U_X", [0.1, 0.9]))
    assert list(functional_model(net).noise.variables) == ["U_X_", "U_U_X"]


def test_functions_that_can_not_be_listed_are_refused_with_a_way_out():
    """Size, coupling, kind of model."""
    big = [Variable(f"P{i}", 3) for i in range(4)]
    rows = np.full([3] * 4 + [3], 1 / 3)
    net = BayesianNetwork(*(TableCPD(p, [1 / 3] * 3) for p in big), TableCPD("X", rows, big))
    with pytest.raises(TooLarge, match="comonotone"):
        functional_model(net)
    assert len(functional_model(net, "comonotone").noise.variables["U_X"].states) == 3
    with pytest.raises(InvalidArgument, match="coupling="):
        functional_model(net, "other")
    with pytest.raises(InvalidArgument, match="without inputs"):
        functional_model(BayesianNetwork(TableCPD("X", [[0.5, 0.5]] * 2, ["P"]), inputs=[Variable("P", 2)]))
