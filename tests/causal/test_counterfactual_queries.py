"""Counterfactuals equal what listing all values of the noise says, in any number of worlds."""

import pickle
from itertools import product as cartesian

import numpy as np
import pytest

from functional_oracle import random_mechanisms, random_settings
from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.counterfactuals.query import abduct, counterfactual, parallel_worlds, twin_network
from plausible.causal.functional.model import FunctionalModel, trial_model
from plausible.causal.functional.responses import COMPLIANCE, HIRING, OUTCOME, ResponseVariable
from plausible.cpds import TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidEvidence, TooLarge, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import Variable, jeffrey, likelihood
from refusals import refuses
from seeds import few_of

SEEDS = range(8)
MODELS_A_SEED = 15


def _findings(rng, plain, rate=0.3):
    """A state or several for some variables."""
    found = {}
    for name, size in plain.sizes.items():
        if rng.random() < rate:
            count = int(rng.integers(1, size + 1))
            found[name] = [int(i) for i in rng.permutation(size)[:count]]
    return found


def _check(answer, expected):
    """The library's answer, got by calling, is the oracle's; an error where that has none."""
    if expected is None:
        with pytest.raises(ImpossibleEvidence):
            answer()
    else:
        np.testing.assert_allclose(answer().values, expected, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_evidence_and_interventions_in_both_worlds_equal_enumeration(seed):
    """P(Y_do | evidence under actual_do, evidence under do)."""
    rng = np.random.default_rng(seed)
    for _ in range(MODELS_A_SEED):
        plain = random_mechanisms(rng, num_noise=int(rng.integers(0, 4)))
        do, actual = random_settings(rng, plain), random_settings(rng, plain, 0.15)
        seen, imagined = _findings(rng, plain), _findings(rng, plain, 0.15)
        outcome = [str(name) for name in rng.permutation(list(plain.sizes))[:2]]
        known = [(n, actual, x) for n, x in seen.items()] + [(n, do, x) for n, x in imagined.items()]
        expected = plain.probabilities([(name, do) for name in outcome], known)
        given = {"evidence": seen, "do": do, "counterfactual_evidence": imagined, "actual_do": actual}
        model = plain.model()
        _check(lambda m=model, o=outcome, g=given: counterfactual(m, o, **g), expected)


def _random_term(rng, plain, depth=1):
    """A variable in a random world, as the library and as the oracle write it; settings may be nested."""
    name = str(rng.choice(list(plain.sizes)))
    ours, theirs = {}, {}
    for other, position in random_settings(rng, plain, 0.35).items():
        if depth and rng.random() < 0.4:
            nested = random_settings(rng, plain, 0.35)
            ours[other], theirs[other] = Potential(other, nested), (other, nested)
        else:
            ours[other] = theirs[other] = position
    return Potential(name, ours), (name, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_nested_counterfactuals_of_several_worlds_equal_enumeration(seed):
    """P(Y_a, Z_b | W_c): every term in a world of its own, settings taken from yet others."""
    rng = np.random.default_rng(100 + seed)
    for _ in range(MODELS_A_SEED):
        plain = random_mechanisms(rng, num_variables=int(rng.integers(1, 5)), num_noise=int(rng.integers(1, 4)))
        terms = [_random_term(rng, plain) for _ in range(3)]
        seen, targets = terms[0], list(dict(terms[1:]).items())
        allowed = int(rng.integers(plain.sizes[seen[1][0]]))
        expected = plain.probabilities([theirs for _, theirs in targets], [(*seen[1], [allowed])])
        model, outcome = plain.model(), [ours for ours, _ in targets]
        _check(lambda m=model, o=outcome, e={seen[0]: allowed}: counterfactual(m, o, evidence=e), expected)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_abduction_action_and_prediction_agree_with_the_twin_network(seed):
    """Conditioning the noise, then intervening, then asking."""
    rng = np.random.default_rng(seed)
    plain = random_mechanisms(rng)
    model, do, evidence = plain.model(), random_settings(rng, plain), _findings(rng, plain)
    expected = plain.probabilities([("X3", do)], [(name, {}, x) for name, x in evidence.items()])
    _check(lambda: abduct(model, evidence).query("X3", do=do), expected)
    _check(lambda: counterfactual(model, "X3", evidence=evidence, do=do), expected)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_doing_what_was_done_changes_nothing(seed):
    """Consistency: P(Y_x | X = x, e) = P(Y | X = x, e), for the whole joint."""
    rng = np.random.default_rng(seed)
    plain = random_mechanisms(rng)
    model, names = plain.model(), list(plain.sizes)
    actual = {name: plain.value(name, {}, next(plain.listed())[0]) for name in names[:2]}
    answer = counterfactual(model, names, evidence=actual, do=actual)
    np.testing.assert_allclose(answer.values, model.query(names, actual).values, atol=1e-12)


# --- worked numbers ---


@pytest.mark.parametrize(
    ("types", "answer"), [({"always hire": 0.5, "never hire": 0.5}, 0.0), ({"rational": 0.5, "underdog": 0.5}, 1.0)]
)
def test_equal_conditional_distributions_and_opposite_counterfactuals(types, answer):
    """Gump: P(j | g) = 0.5 in both models, but a good grade would not have helped, or surely would."""
    grade = ResponseVariable(Variable("G", 2))
    job = ResponseVariable(Variable("J", 2), [grade.variable], names=HIRING)
    model = FunctionalModel([grade, job], [grade.distribution([0.5, 0.5]), job.distribution(types)])
    for g in (0, 1):
        assert model.query("J", do={"G": g}).values[1] == 0.5
    assert counterfactual(model, "J", evidence={"G": 0, "J": 0}, do={"G": 1}).values[1] == answer


def _random_trial(seed=0):
    return trial_model(np.random.default_rng(seed).dirichlet(np.ones(16)).reshape(4, 4))


def test_a_failed_treatment_fails_again():
    """P(O' = 1 | T = 1, O = 0, do(T' = 1)) = 0."""
    assert counterfactual(_random_trial(), "O", evidence={"T": 1, "O": 0}, do={"T": 1}).values[1] == 0.0


def test_mixed_world_question_to_the_trial():
    """P(T' = 1 | A = 0, O = 0, do(A' = 1), O' = 0), by hand over the sixteen pairs of types."""
    model = _random_trial()
    types = model.noise.query(["U_T", "U_O"]).values
    functions = [(0, 0), (0, 1), (1, 0), (1, 1)]
    weights = np.zeros(2)
    for (i, takes), (j, fares) in cartesian(enumerate(functions), repeat=2):
        if fares[takes[0]] == 0 and fares[takes[1]] == 0:
            weights[takes[1]] += types[i, j]
    answer = counterfactual(model, "T", evidence={"A": 0, "O": 0}, do={"A": 1}, counterfactual_evidence={"O": 0})
    np.testing.assert_allclose(answer.values, weights / weights.sum(), atol=1e-12)


def test_types_of_units_can_be_asked_for_and_be_known():
    """P(U | evidence) and the effect among compliers."""
    model = _random_trial()
    types = model.noise.query(["U_T", "U_O"]).values
    for treatment, well in ((0, [2, 3]), (1, [1, 3])):
        answer = counterfactual(model, "O", evidence={"U_T": "complier"}, do={"T": treatment})
        assert answer.values[1] == pytest.approx(types[1, well].sum() / types[1].sum(), abs=1e-12)
    defied = counterfactual(model, "U_T", evidence={"A": 0, "T": 1})
    assert defied.scope[0].states == tuple(COMPLIANCE)
    assert defied.values[1] == defied.values[0] == 0.0
    assert model.noise.variables["U_O"].states == OUTCOME


# --- the network of the worlds ---


def _chain(length):
    functions = {"X0": eval("lambda U0: U0")}
    for place in range(1, length):
        functions[f"X{place}"] = eval(f"lambda X{place - 1}, U{place}: X{place - 1} != U{place}")
    noise = [TableCPD(f"U{place}", [0.9, 0.1], states=[False, True]) for place in range(length)]
    return FunctionalModel(functions, noise)


def test_only_what_an_intervention_changes_is_copied():
    """Upstream of it, and what it hides from another one, is shared."""
    model = _chain(6)
    names = list(twin_network(model, {"X3": True}).network.variables)
    assert names[6:] == [f"X{i}" for i in range(6)] + ["do(X3=True)", "X4[X3=True]", "X5[X3=True]"]
    terms = [Potential("X4", {"X3": True}), Potential("X4", {"X3": True, "X1": False}), Potential("X2", {"X3": True})]
    worlds = parallel_worlds(model, terms)
    assert [worlds.nodes[term] for term in terms] == ["X4[X3=True]", "X4[X3=True]", "X2"]


def test_a_nested_setting_that_changes_nothing_is_the_world_itself():
    """Y_{x, M_x} = Y_x, Y_{M} = Y; and names tell nested worlds apart."""
    model = FunctionalModel(
        {"X": lambda U: U, "M": lambda X, V: X != V, "Y": lambda X, M, W: (X and M) != W},
        [TableCPD(name, [0.5, 0.5], states=[False, True]) for name in "UVW"],
    )
    terms = [
        Potential("Y", {"X": True, "M": Potential("M", {"X": True})}),
        Potential("Y", {"X": True}),
        Potential("Y", {"M": Potential("M")}),
        Potential("Y", {"X": True, "M": Potential("M", {"X": False})}),
        Potential("Y", {"X": False, "M": Potential("M", {"X": True})}),
    ]
    nodes = parallel_worlds(model, terms).nodes
    assert nodes[terms[0]] == nodes[terms[1]]
    assert nodes[terms[2]] == "Y"
    assert nodes[terms[3]] == "Y[X=True, M=M[X=False]]"
    assert nodes[terms[4]] == "Y[X=False, M=M[X=True]]"
    answer = counterfactual(model, terms[:2])
    np.testing.assert_allclose(answer.values, [[0.5, 0], [0, 0.5]], atol=1e-12)


def test_long_chains_are_answered_at_once():
    """Two worlds of 400 variables: width two."""
    answer = counterfactual(_chain(400), "X399", evidence={"X0": False, "X399": True}, do={"X0": True})
    np.testing.assert_allclose(answer.values, [1.0, 0.0], atol=1e-12)


def test_rows_of_units_go_through_the_compiled_worlds():
    """The network of the worlds is an ordinary one: compile it for a whole table of units."""
    import pandas as pd

    model = _random_trial()
    worlds = twin_network(model, {"T": 1})
    units = pd.DataFrame({"A": [0, 1, 1], "T": [0, 1, 0], "O": [0, 1, 1]})
    answers = worlds.network.compile().predict_proba(units, "O[T=1]")
    for unit, answer in zip(units.to_dict("records"), np.asarray(answers), strict=True):
        np.testing.assert_allclose(answer, counterfactual(model, "O", evidence=unit, do={"T": 1}).values, atol=1e-12)


# --- evidence and errors ---


def test_findings_about_what_can_not_differ_are_taken_together():
    """A is upstream of do(T): its findings in both worlds are about one variable."""
    model = _random_trial()
    given = {"do": {"T": 1}, "counterfactual_evidence": {"A": likelihood([0.5, 0.25])}}
    answer = counterfactual(model, "A", evidence={"A": [0, 1]}, **given)
    np.testing.assert_allclose(answer.values, [2 / 3, 1 / 3], atol=1e-12)
    with pytest.raises(ImpossibleEvidence, match=r"A=0 contradicts A\[T=1\]=1: the interventions can't"):
        counterfactual(model, "O", evidence={"A": 0}, do={"T": 1}, counterfactual_evidence={"A": 1})
    with pytest.raises(InvalidEvidence, match="jeffrey"):
        counterfactual(model, "O", evidence={"A": 0}, do={"T": 1}, counterfactual_evidence={"A": jeffrey([0.5, 0.5])})


def test_impossible_evidence_is_named():
    """The worlds of the contradiction are in the message."""
    model = FunctionalModel(
        {"X": lambda U: U, "Y": lambda X, V: X or V}, [TableCPD("U", [0.5, 0.5]), TableCPD("V", [0.5, 0.5])]
    )
    with pytest.raises(ImpossibleEvidence, match=r"X=1.*Y=0|Y=0.*X=1"):
        counterfactual(model, "Y", evidence={"X": 1, "Y": 0}, do={"X": 0})
    with pytest.raises(ImpossibleEvidence, match=r"Y\[X=1\]=0"):
        counterfactual(model, "Y", do={"X": 1}, counterfactual_evidence={"Y": 0})
    with pytest.raises(ImpossibleEvidence, match=r"X=1"):
        counterfactual(model, "Y", do={"X": 1}, counterfactual_evidence={"X": 0})


def test_questions_that_make_no_sense_are_refused():
    """Wrong model, names, worlds and sizes."""
    model = _random_trial()
    refuses(InvalidArgument, "functional_model", counterfactual, BayesianNetwork(TableCPD("X", [1.0])), "X")
    refuses(UnknownVariable, "'o' is not a variable of this functional model", counterfactual, model, "o", do={"T": 1})
    refuses(UnknownVariable, "'t' is not", counterfactual, model, "O", do={"t": 1})
    refuses(InvalidArgument, "'U_T' is noise", counterfactual, model, "O", do={"U_T": "complier"})
    refuses(InvalidArgument, "two worlds", counterfactual, model, ["O", Potential("O")], do={"T": 1})
    refuses(InvalidArgument, "another world only", Potential, "O", {"T": Potential("A")})
    refuses(InvalidArgument, "Potential", Potential, 3)
    refuses(UnknownVariable, "no outcome", counterfactual, model, [3])
    refuses(TooLarge, "posterior of the noise", abduct, model, {"T": 1}, max_entries=10)


def test_potential_responses_are_values():
    """Equal whatever the order of settings, hashable, and pickled."""
    one, two = Potential("Y", {"X": 1, "M": 0}), Potential("Y", {"M": 0, "X": 1})
    assert one == two
    assert len({one, two}) == 1
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(Potential("Y")) == "Potential('Y')"
    assert repr(one) == "Potential('Y', {'M': 0, 'X': 1})"


def test_nothing_asked_is_one():
    """The empty question."""
    assert counterfactual(_random_trial(), [], evidence={"T": 1}, do={"T": 0}).values == 1.0


def test_parallel_worlds_survive_pickling():
    model = random_mechanisms(np.random.default_rng(1)).model()
    worlds = twin_network(model, {"X1": 0})
    again = pickle.loads(pickle.dumps(worlds))
    assert (again.network, dict(again.nodes), dict(again.constants)) == (
        worlds.network,
        dict(worlds.nodes),
        dict(worlds.constants),
    )


def test_interventions_that_nothing_is_asked_about_are_refused():
    """Where only potentials are asked for, do= would be dropped; actual_do= likewise, with evidence on potentials."""
    x = ResponseVariable(Variable("X", 2))
    y = ResponseVariable(Variable("Y", 2), [x.variable])
    model = FunctionalModel([x, y], [x.distribution([0.5, 0.5]), y.distribution([0.25] * 4)])
    key = Potential("Y", {"X": 0})
    with pytest.raises(InvalidArgument, match=r"^do=\{'X': 1\} touches nothing.*Potential\('Y', \{'X': 1\}\)"):
        counterfactual(model, key, do={"X": 1})
    with pytest.raises(InvalidArgument, match=r"^actual_do=\{'X': 1\} touches nothing"):
        counterfactual(model, "Y", do={"X": 0}, evidence={key: 1}, actual_do={"X": 1})
    assert counterfactual(model, (name for name in [key, "Y"]), do={"X": 1}).values.sum() == pytest.approx(1.0)
