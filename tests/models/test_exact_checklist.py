"""What is asked of exact inference as a whole: one model, many questions, interchangeable engines, local changes."""

from __future__ import annotations

from itertools import product as cartesian
from math import exp, fsum, log, prod

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from network_oracle import random_network
from plausible.errors import ImpossibleEvidence
from plausible.models import naive_bayes

ENGINES = [
    pb.inference.Enumeration(),
    pb.VariableElimination(),
    pb.JunctionTree(),
    pb.RecursiveConditioning(max_table_entries=8, max_cache_entries=4),
]


def _joint(net):
    """Complete assignments, as dictionaries, and their probabilities by look-ups in the tables."""
    names = list(net.variables)
    for states in cartesian(*(net.variables[name].states for name in names)):
        row = dict(zip(names, states, strict=True))
        yield row, prod(_entry(cpd, row) for cpd in net.cpds.values())


def _entry(cpd, row):
    return cpd.values[tuple(variable.states.index(row[variable.name]) for variable in cpd.scope)]


def _mass(net, **known):
    return fsum(p for row, p in _joint(net) if all(row[name] == state for name, state in known.items()))


def _template(num_steps, hidden="H", seen="Y"):
    """A hidden chain unrolled to some steps: H0 -> H1 -> ..., each with an observed child."""
    start, move, look = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.3, 0.7]]
    cpds = [pb.TableCPD(f"{hidden}0", start), pb.TableCPD(f"{seen}0", look, [f"{hidden}0"])]
    for step in range(1, num_steps):
        cpds.append(pb.TableCPD(f"{hidden}{step}", move, [f"{hidden}{step - 1}"]))
        cpds.append(pb.TableCPD(f"{seen}{step}", look, [f"{hidden}{step}"]))
    return pb.BayesianNetwork(cpds), np.array(start), np.array(move), np.array(look)


# --- one model, many questions ---


@pytest.mark.parametrize("seed", range(4))
def test_one_model_answers_every_kind_of_question(seed):
    """Posteriors, joints, P(e), best assignments of all and of some, interventions, decisions: as the joint says."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5, zeros=0.0)
    first, second, third, *_ = net.variables
    seen = {third: net.variables[third].states[-1]}
    rows = [(row, p) for row, p in _joint(net) if row[third] == seen[third]]
    total = fsum(p for _, p in rows)
    assert exp(net.log_probability(seen)) == pytest.approx(total)
    joint = net.query([first, second], evidence=seen)
    sums = {
        (a, b): fsum(p for row, p in rows if (row[first], row[second]) == (a, b)) / total
        for a, b in cartesian(net.variables[first].states, net.variables[second].states)
    }
    for (a, b), expected in sums.items():
        assert joint[a, b] == pytest.approx(expected)
    assert exp(net.mpe(evidence=seen).log_probability) == pytest.approx(max(p for _, p in rows))
    best = net.map([first, second], evidence=seen)
    assert sums[best[first], best[second]] == pytest.approx(max(sums.values()))
    cut = [(row, p / _entry(net.cpds[third], row)) for row, p in rows]  # the factor of what is set leaves the product
    state = net.variables[first].states[0]
    expected = fsum(p for row, p in cut if row[first] == state) / fsum(p for _, p in cut)
    assert net.query(first, do=seen)[state] == pytest.approx(expected)
    worth = rng.normal(size=(net.variables[first].num_states, 2))
    decision, utility = pb.Decision("act", 2, sees=[third]), pb.Utility([first, "act"], worth)
    diagram = pb.InfluenceDiagram(net.cpds.values(), [decision], [utility])
    gains = {(row, act): 0.0 for row in net.variables[third].states for act in (0, 1)}
    for row, p in _joint(net):
        for act in (0, 1):
            gains[row[third], act] += p * worth[net.variables[first].states.index(row[first]), act]
    best_gain = fsum(max(gains[seen_state, 0], gains[seen_state, 1]) for seen_state in net.variables[third].states)
    assert diagram.solve().expected_utility == pytest.approx(best_gain)


@pytest.mark.parametrize("seed", range(4))
def test_exact_engines_are_interchangeable_on_one_model(seed):
    """The same model object, the same question, another engine: the same answer, that of the listed joint."""
    net = random_network(np.random.default_rng(100 + seed), num_variables=6)
    first, *_, last = net.variables
    rows = [(row, p) for row, p in _joint(net) if p > 0]
    seen = {last: rows[0][0][last]}
    total = fsum(p for row, p in rows if row[last] == seen[last])
    for engine in ENGINES:
        posterior = net.query(first, evidence=seen, engine=engine)
        for state in net.variables[first].states:
            expected = fsum(p for row, p in rows if row[last] == seen[last] and row[first] == state) / total
            assert posterior[state] == pytest.approx(expected, abs=1e-12)
        assert net.log_probability(seen, engine=engine) == pytest.approx(log(total))
    assert net.compile().query(first, evidence=seen).is_close(net.query(first, evidence=seen))


# --- errors of the model and of the algorithm ---


def test_an_error_of_the_model_is_told_from_one_of_the_algorithm():
    """Engines that agree clear the algorithm; sensitivity then finds the number of the model that is wrong."""
    right = pb.examples.load("burglary")
    table = np.array(right.cpds["Alarm"].values)
    table[1, 1] = table[1, 1, ::-1]  # P(Alarm | no burglary, no earthquake) upside down
    wrong = right.with_cpd(pb.TableCPD(right.variables["Alarm"], table, right.cpds["Alarm"].parents))
    seen = {"JohnCalls": "True"}
    answers = [wrong.query("Burglary", evidence=seen, engine=engine)["True"] for engine in ENGINES]
    assert answers == pytest.approx([_mass(wrong, Burglary="True", **seen) / _mass(wrong, **seen)] * len(ENGINES))
    assert answers[0] < right.query("Burglary", evidence=seen)["True"] / 10
    # The expert expects the posterior of the right model: solving for it finds the number that was meant.
    entry = ("Alarm", {"Burglary": "False", "Earthquake": "False"}, "True")
    function = wrong.sensitivity("Burglary", "True", seen, parameter=entry)
    meant = right.cpds["Alarm"].values[1, 1, 0]
    assert function.value == pytest.approx(answers[0])
    assert function.solve(right.query("Burglary", evidence=seen)["True"]) == pytest.approx(meant)
    # The answer that was expected can be compared with the one given by what the model itself thinks of both.
    best = wrong.mpe(evidence=seen)
    expected = {**best, "Alarm": "False"}
    assert wrong.log_probability(expected) < best.log_probability


# --- local changes ---


def test_one_changed_distribution_changes_the_answers_and_nothing_else():
    """A new CPD in place of an old one: other distributions are the same objects, and answers follow the new joint."""
    asia = pb.examples.load("asia")
    engine = asia.compile()
    before = engine.query("lung", evidence={"xray": "yes"})["yes"]
    better = asia.with_cpd(
        pb.TableCPD("xray", {"yes": [0.98, 0.02], "no": [0.01, 0.99]}, parents=["either"], states=["yes", "no"])
    )
    expected = _mass(better, lung="yes", xray="yes") / _mass(better, xray="yes")
    assert better.query("lung", evidence={"xray": "yes"})["yes"] == pytest.approx(expected)
    assert expected > before + 0.2
    assert all(better.cpds[name] == asia.cpds[name] for name in asia.variables if name != "xray")
    assert engine.query("lung", evidence={"xray": "yes"})["yes"] == before


# --- structure ---


def test_structure_makes_large_models_small():
    """Fifty binary variables of a chain: 99 parameters for 2^50 - 1, and cliques of two for one table of 2^50."""
    net, *_ = _template(25)
    assert (net.num_parameters, net.num_joint_parameters) == (99, 2**50 - 1)
    plan = net.explain()
    assert (plan.width, plan.largest_entries) == (1, 4)


# --- templates, classifiers ---


@pytest.mark.parametrize("num_steps", [1, 2, 60])
def test_an_unrolled_template_is_answered_as_forward_and_backward_sums_do(num_steps):
    """P(H_t | y) by all engines that fit equals the product of forward and backward sums, written as matrices."""
    net, start, move, look = _template(num_steps)
    states = np.random.default_rng(num_steps).integers(0, 2, num_steps)
    forward, backward = [start * look[:, states[0]]], [np.ones(2)]
    for state in states[1:]:
        forward.append(forward[-1] @ move * look[:, state])
    for state in states[:0:-1]:
        backward.insert(0, move @ (look[:, state] * backward[0]))
    seen = {f"Y{step}": int(state) for step, state in enumerate(states)}
    posteriors = net.marginals(evidence=seen)
    for step in range(num_steps):
        weights = forward[step] * backward[step]
        np.testing.assert_allclose(posteriors[f"H{step}"].values, weights / weights.sum())
    assert net.log_probability(seen) == pytest.approx(log(forward[-1].sum()))
    middle = f"H{num_steps // 2}"
    for engine in (pb.VariableElimination(), pb.JunctionTree(), pb.inference.Pearl(), pb.RecursiveConditioning()):
        assert net.query(middle, evidence=seen, engine=engine).is_close(posteriors[middle])
    future = net.explain("H0", evidence={"Y0": 0})  # what lies after it is barren
    assert future.num_variables <= 2


def test_a_network_is_a_classifier_of_rows_with_missing_cells():
    """The predicted class is the one with the largest P(class, cells that are there), from the tables by hand."""
    features = {"wings": [[0.9, 0.1], [0.2, 0.8]], "eggs": [[0.8, 0.2], [0.1, 0.9]], "fur": [[0.1, 0.9], [0.95, 0.05]]}
    net = naive_bayes(
        pb.TableCPD("kind", [0.6, 0.4], states=["mammal", "bird"]),
        [pb.TableCPD(name, table, ["kind"], states=["no", "yes"]) for name, table in features.items()],
    )
    cells = [*cartesian(["no", "yes", None], repeat=3)]
    frame = pd.DataFrame(cells, columns=[*features], dtype=object)
    engine = net.compile()
    predicted, probabilities = engine.predict(frame, "kind"), engine.predict_proba(frame, "kind")
    for number, row in enumerate(cells):
        known = {name: state for name, state in zip(features, row, strict=True) if state is not None}
        masses = [_mass(net, kind=kind, **known) for kind in ("mammal", "bird")]
        assert probabilities.iloc[number]["bird"] == pytest.approx(masses[1] / sum(masses))
        assert predicted.iloc[number] == ("mammal" if masses[0] >= masses[1] else "bird")


def test_converging_causes_are_summed_over_both():
    """P(x) = Σ P(x | a, b) P(a) P(b), and evidence of probability zero is refused by every engine."""
    table = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.3, 0.7], [0.0, 1.0]]])
    net = pb.BayesianNetwork(
        pb.TableCPD("A", [0.25, 0.75]), pb.TableCPD("B", [1.0, 0.0]), pb.TableCPD("X", table, ["A", "B"])
    )
    expected = fsum(table[a, 0, 1] * p for a, p in enumerate([0.25, 0.75]))
    for engine in (*ENGINES, pb.inference.Pearl()):
        assert net.query("X", engine=engine)[1] == pytest.approx(expected)
        with pytest.raises(ImpossibleEvidence, match="B=1"):
            net.query("X", evidence={"B": 1}, engine=engine)


# --- costs ---


def test_the_cost_of_elimination_is_the_size_of_its_products():
    """A star of n leaves: 4 entries a leaf if the leaves go first, 2^n and more if the centre does."""
    leaves = [f"L{i}" for i in range(10)]
    table = [[0.9, 0.1], [0.2, 0.8]]
    star = pb.BayesianNetwork(pb.TableCPD("C", [0.5, 0.5]), *(pb.TableCPD(leaf, table, ["C"]) for leaf in leaves))
    seen = {leaf: pb.likelihood([0.5, 1.0]) for leaf in leaves}
    narrow = star.query("L0", evidence=seen, engine=pb.VariableElimination([*leaves[1:], "C"])).info
    wide = star.query("L0", evidence=seen, engine=pb.VariableElimination(["C", *leaves[1:]])).info
    assert narrow.largest_table <= 4 < 2**10 <= wide.largest_table
    assert narrow.cost < 50 < 2**10 <= wide.cost
