"""Bounds of causal and counterfactual quantities: they contain the truth, and models of the graph attain them."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest

from bounds_oracle import random_units
from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.counterfactuals.query import counterfactual
from plausible.causal.functional.model import functional_model, trial_model
from plausible.causal.functional.responses import HIRING, ResponseVariable
from plausible.causal.partial.bounds import bounds
from plausible.causal.partial.checks import falsification
from plausible.causal.partial.linear_form import NotLinear
from plausible.causal.partial.linear_query import (
    Limit,
    LinearQuery,
    Monotone,
    NoDirectEffect,
    average_causal_effect,
    interventional_mean,
    probability_of,
    type_probability,
)
from plausible.causal.queries.observed import observed_model
from plausible.cpds import TableCPD
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    InvalidEvidence,
    ModelContradicted,
    NotSupported,
    TooLarge,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.graphs import CausalGraph
from plausible.models import BayesianNetwork
from plausible.variables import Variable, likelihood
from refusals import refuses

IV = "A -> T -> O; T <-> O"
GRAPHS = [
    IV,
    "X -> Y; X <-> Y",
    "X -> Z -> Y; X <-> Y",
    "Z -> X -> Y; Z -> Y; X <-> Y",
    "A -> T -> O; T <-> O; W <-> T; W <-> O",
    "X -> M -> Y; X <-> M; M <-> Y; X <-> Y",
    "X -> Z -> Y; X <-> Z",
    "X -> Y; Z -> Y; X <-> Z; Z <-> Y",
    "X -> Z1 -> Y; Z2 -> Y; X <-> Z2; Z1 <-> Z2",
    "A -> B -> C -> D; A <-> B; C <-> D; L",
]
CHOLESTYRAMINE = np.array([[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]])
TRIAL = Factor({"A": 2, "T": 2, "O": 2}, CHOLESTYRAMINE / 2)
BOW = Factor({"X": 2, "Y": 2}, [[0.3, 0.1], [0.2, 0.4]])


def _findings(states):
    return [(name, {}, {state}) for name, state in states.items()]


def _check_attained(found, joint, event, evidence):
    """Both models show the observed distribution and have the ends as their answers."""
    names = [variable.name for variable in joint.scope]
    for end in ("lower", "upper"):
        model = found.model(end)
        assert model.query(names).reorder(names).values == pytest.approx(joint.values, abs=1e-6)
        terms, states = zip(*event, strict=True)
        answer = counterfactual(model, list(terms), evidence=evidence)
        assert answer.values[states] == pytest.approx(getattr(found, end), abs=1e-5)


@pytest.mark.parametrize("graph", GRAPHS)
def test_bounds_contain_the_truth_and_are_attained(graph):
    """On random functional models with zeros and one-state variables: P(y | do(x)), with real-world evidence or not."""
    rng = np.random.default_rng(sum(map(ord, graph)))
    causes = CausalGraph(graph)
    outcome = "D" if "D" in causes else causes.topological_order[-1]
    num_asked = 0
    for _ in range(4):
        sizes = {name: int(rng.choice([1, 2, 2, 2])) for name in causes.nodes}
        units = random_units(rng, causes, sizes, num_types=int(rng.integers(1, 6)))
        cause = str(rng.choice([name for name in causes.nodes if name != outcome]))
        do, state = {cause: int(rng.integers(sizes[cause]))}, int(rng.integers(sizes[outcome]))
        evidence = {name: int(rng.integers(sizes[name])) for name in causes.nodes if rng.random() < 0.2}
        chance = units.probability(*_findings(evidence))
        query, joint = probability_of({outcome: state}, do=do, evidence=evidence), units.joint()
        if chance < 1e-12:
            with pytest.raises(ImpossibleEvidence):
                bounds(causes, query, joint)
            continue
        try:
            found = bounds(causes, query, joint)
        except NotLinear:
            continue
        truth = units.probability((outcome, do, {state}), *_findings(evidence)) / chance
        assert found.lower - 1e-7 <= truth <= found.upper + 1e-7
        assert found.lower >= -1e-7
        assert found.upper <= 1 + 1e-7
        _check_attained(found, joint, [(Potential(outcome, do), state)], evidence)
        num_asked += 1
    assert num_asked >= 1


@pytest.mark.parametrize("seed", range(6))
def test_variables_with_several_states_are_bounded(seed):
    """Three states of treatment, outcome and instrument: joint events of two worlds contain the truth, attained."""
    rng = np.random.default_rng(seed)
    sizes = {"A": 2, "T": 3, "O": 3} if seed % 2 else {"A": 3, "T": 2, "O": 3}
    units = random_units(rng, IV, sizes, num_types=8)
    joint = units.joint()
    event = {Potential("O", {"T": 1}): 2, Potential("O", {"T": 0}): 0}
    found = bounds(IV, probability_of(event), joint)
    truth = units.probability(("O", {"T": 1}, {2}), ("O", {"T": 0}, {0}))
    assert found.lower - 1e-7 <= truth <= found.upper + 1e-7
    _check_attained(found, joint, list(event.items()), None)
    several = bounds(IV, probability_of({"O": [0, 2]}, do={"T": 1}), joint)
    assert several.lower - 1e-7 <= units.probability(("O", {"T": 1}, {0, 2})) <= several.upper + 1e-7
    mean = bounds(IV, interventional_mean("O", {1: 1.0, 2: 2.0}, do={"T": 1}), joint)
    truth = units.probability(("O", {"T": 1}, {1})) + 2 * units.probability(("O", {"T": 1}, {2}))
    assert mean.lower - 1e-7 <= truth <= mean.upper + 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_nested_counterfactuals_are_bounded(seed):
    """Y with X = 1 and M as it would be without, in the presence of latent causes of all."""
    rng = np.random.default_rng(seed)
    graph = "X -> M -> Y; X -> Y; M <-> Y"
    units = random_units(rng, graph, dict.fromkeys("XMY", 2), num_types=4)
    do = {"X": 1, "M": Potential("M", {"X": 0})}
    found = bounds(graph, probability_of({"Y": 1}, do=do), units.joint())
    truth = units.probability(("Y", {"X": 1, "M": ("M", {"X": 0})}, {1}))
    assert found.lower - 1e-7 <= truth <= found.upper + 1e-7
    _check_attained(found, units.joint(), [(Potential("Y", do), 1)], None)


@pytest.mark.parametrize("seed", range(8))
def test_conditions_of_unknown_probability_are_bounded_as_ratios(seed):
    """P(Y_x | M_x) where P(M_x) is not identified: linear-fractional, and attained."""
    rng = np.random.default_rng(seed)
    graph = "X -> M -> Y; X <-> M; M <-> Y; X <-> Y"
    units = random_units(rng, graph, dict.fromkeys("XMY", 2), num_types=6)
    chance = units.probability(("M", {"X": 1}, {1}))
    if chance == 0:
        return
    found = bounds(graph, 1 - probability_of({"Y": 1}, do={"X": 1}, counterfactual_evidence={"M": 1}), units.joint())
    truth = 1 - units.probability(("M", {"X": 1}, {1}), ("Y", {"X": 1}, {1})) / chance
    assert found.lower - 1e-7 <= truth <= found.upper + 1e-7
    given = {Potential("M", {"X": 1}): 1}
    for end in ("lower", "upper"):
        answer = counterfactual(found.model(end), Potential("Y", {"X": 1}), evidence=given)
        assert answer.values[0] == pytest.approx(getattr(found, end), abs=1e-5)


def test_the_bow_has_the_bounds_that_are_known():
    """P(x, y) ≤ P(y | do(x)) ≤ 1 - P(x, not y)."""
    found = bounds("X -> Y; X <-> Y", probability_of({"Y": 1}, do={"X": 1}), BOW)
    assert (found.lower, found.upper) == pytest.approx((0.4, 0.8))
    assert not found.is_identified
    assert found.is_sharp


def test_an_identified_effect_has_bounds_of_no_width():
    """Front door: Σ_t P(t | s) Σ_s' P(c | t, s') P(s'), with the numbers of the smoking example."""
    smoke, tar = np.array([0.5, 0.5]), np.array([[0.95, 0.05], [0.05, 0.95]])
    cancer = np.array([[0.10, 0.05], [0.90, 0.85]])
    table = np.zeros((2, 2, 2))
    for s, t in np.ndindex(2, 2):
        table[s, t] = smoke[s] * tar[s, t] * np.array([1 - cancer[s, t], cancer[s, t]])
    joint = Factor({"S": 2, "T": 2, "C": 2}, table)
    for state, expected in ((1, 0.4525), (0, 0.4975)):
        found = bounds("S -> T -> C; S <-> C", probability_of({"C": 1}, do={"S": state}), joint)
        assert found.is_identified
        assert found.lower == pytest.approx(expected, abs=1e-9)


def test_cholestyramine():
    """0.392 ≤ ACE ≤ 0.780, 0.473 ≤ P(o¹ | do(t¹)) ≤ 0.861, P(o¹ | do(t⁰)) = 0.081; 8 constraints of rank 7."""
    effect = bounds(IV, average_causal_effect({"O": 1}, {"T": 1}, {"T": 0}), TRIAL)
    assert (effect.lower, effect.upper) == pytest.approx((0.392, 0.780), abs=1e-7)
    assert (effect.num_types, effect.num_constraints, effect.rank) == (16, 8, 7)
    treated = bounds(IV, probability_of({"O": 1}, do={"T": 1}), TRIAL)
    assert (treated.lower, treated.upper) == pytest.approx((0.473, 0.861), abs=1e-7)
    untreated = bounds(IV, probability_of({"O": 1}, do={"T": 0}), TRIAL)
    assert untreated.is_identified
    assert untreated.lower == pytest.approx(0.081, abs=1e-7)


def test_the_average_effect_is_helped_minus_hurt():
    """Equation 21.4, as bounds of two queries that are one."""
    fares = ResponseVariable(Variable("O", 2), [Variable("T", 2)])
    joint = trial_model(np.random.default_rng(4).dirichlet(np.ones(16)).reshape(4, 4)).query(["A", "T", "O"])
    effect = bounds(IV, average_causal_effect({"O": 1}, {"T": 1}, {"T": 0}), joint)
    types = bounds(IV, type_probability(fares, [(0, 1)]) - type_probability(fares, [(1, 0)]), joint)
    assert (types.lower, types.upper) == pytest.approx((effect.lower, effect.upper), abs=1e-7)


@pytest.mark.parametrize(("high", "low"), [(0.7, 0.2), (0.1, 0.5), (1.0, 0.0), (0.5, 0.5)])
def test_hiring_types_are_bounded_by_the_conditionals(high, low):
    """P(j | g) = always + rational and always + underdog: so max(0, high - low) ≤ rational ≤ min(high, 1 - low)."""
    joint = Factor({"G": 2, "J": 2}, [[0.5 * (1 - low), 0.5 * low], [0.5 * (1 - high), 0.5 * high]])
    hires = ResponseVariable(Variable("J", 2), [Variable("G", 2)], names=HIRING)
    found = bounds("G -> J", type_probability(hires, "rational"), joint)
    assert (found.lower, found.upper) == pytest.approx((max(0, high - low), min(high, 1 - low)), abs=1e-7)
    assert found.model("upper").query(["G", "J"]).is_close(joint, 1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_probabilities_of_causation_with_experiments_have_the_closed_form(seed):
    """Tian & Pearl (2000): PNS and PN from an observational study and an experiment, the latter as limits."""
    rng = np.random.default_rng(seed)
    units = random_units(rng, "X -> Y; X <-> Y", {"X": 2, "Y": 2}, num_types=5)
    joint, p = units.joint(), units.joint().values
    treated, control = (units.probability(("Y", {"X": x}, {1})) for x in (1, 0))
    trials = [
        Limit(probability_of({"Y": 1}, do={"X": x}), value - 1e-9, value + 1e-9)
        for x, value in ((1, treated), (0, control))
    ]
    y = p[:, 1].sum()
    sufficient = probability_of({Potential("Y", {"X": 1}): 1, Potential("Y", {"X": 0}): 0})
    found = bounds("X -> Y; X <-> Y", sufficient, joint, assumptions=trials)
    lower = max(0, treated - control, y - control, treated - y)
    upper = min(treated, 1 - control, p[1, 1] + p[0, 0], treated - control + p[1, 0] + p[0, 1])
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=1e-6)
    if p[1, 1] > 0.01:
        necessary = probability_of({"Y": 0}, do={"X": 0}, evidence={"X": 1, "Y": 1})
        found = bounds("X -> Y; X <-> Y", necessary, joint, assumptions=trials)
        lower, upper = max(0, (y - control) / p[1, 1]), min(1, (1 - control - p[0, 0]) / p[1, 1])
        assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=1e-5)


def test_doing_what_was_done_changes_nothing():
    """P(O_t = 1 | T = t, O = 0) = 0."""
    found = bounds(IV, probability_of({"O": 1}, do={"T": 1}, evidence={"T": 1, "O": 0}), TRIAL)
    assert (found.lower, found.upper) == pytest.approx((0, 0), abs=1e-9)


def test_a_covariate_that_shares_the_latent_cause_narrows_the_bounds():
    """W is no cause of anything; that it is seen beside T and O splits the units."""
    rng = np.random.default_rng(1)
    graph = CausalGraph("A -> T -> O; T <-> O; W <-> T; W <-> O")
    units = random_units(rng, graph, dict.fromkeys("ATOW", 2), num_types=6)
    effect, joint = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0}), units.joint()
    seen, unseen = bounds(graph, effect, joint), bounds(IV, effect, joint)
    assert unseen.lower - 1e-7 <= seen.lower <= seen.upper <= unseen.upper + 1e-7
    assert seen.width < unseen.width - 0.01


def test_plain_ancestors_are_summed_out():
    """A chain of 40 variables above a confounded pair: the bounds are those of the last three variables' margin."""
    rng = np.random.default_rng(2)
    names = [f"V{i}" for i in range(40)]
    chain = [TableCPD(names[0], [0.4, 0.6])]
    chain += [TableCPD(b, rng.dirichlet([1, 1], size=2), [a]) for a, b in pairwise(names)]
    network = BayesianNetwork(*chain)
    graph = CausalGraph("; ".join(f"{a} -> {b}" for a, b in pairwise(names)) + "; V38 <-> V39")
    query = probability_of({"V39": 1}, do={"V38": 1}, evidence={"V38": 0, "V0": 1})
    found = bounds(graph, query, network)
    joint = network.query(["V0", "V37", "V38", "V39"])
    short = bounds("V0 -> V37 -> V38 -> V39; V38 <-> V39", query, joint)
    assert (found.lower, found.upper) == pytest.approx((short.lower, short.upper), abs=1e-7)
    assert found.width > 0.05


def test_what_is_never_seen_is_not_constrained():
    """Without any X = 1, P(y | do(x)) of the unconfounded X -> Y is anything; with it, P(y | x)."""
    joint = Factor({"X": 2, "Y": 2}, [[0.3, 0.7], [0.0, 0.0]])
    found = bounds("X -> Y", probability_of({"Y": 1}, do={"X": 1}), joint)
    assert (found.lower, found.upper) == pytest.approx((0, 1))
    assert bounds("X -> Y", probability_of({"Y": 1}, do={"X": 0}), joint).lower == pytest.approx(0.7)


def test_independent_parts_of_a_district_bind_where_they_are_never_seen_together():
    """E2 copies E1, so that X1 at E1 = 0 is never seen beside X2 at E2 = 1; without <-> between them they multiply."""
    graph = "E1 -> E2; E1 -> X1 -> Y; E2 -> X2 -> Y; X1 <-> Y; X2 <-> Y"
    first, second, last = np.array([0.3, 0.8]), np.array([0.6, 0.1]), np.array([[0.2, 0.5], [0.7, 0.9]])
    table = np.zeros([2] * 5)
    for e, a, b, y in np.ndindex(2, 2, 2, 2):
        shares = [abs(1 - x - p) for x, p in ((a, first[e]), (b, second[e]), (y, last[a, b]))]
        table[e, e, a, b, y] = 0.5 * math.prod(shares)
    joint = Factor(dict.fromkeys(["E1", "E2", "X1", "X2", "Y"], 2), table)
    found = bounds(graph, probability_of({Potential("X1", {"E1": 0}): 1, Potential("X2", {"E2": 1}): 1}), joint)
    assert (found.lower, found.upper) == pytest.approx((0.3 * 0.1, 0.3 * 0.1), abs=1e-7)


def test_queries_of_independent_districts_add_up_but_do_not_multiply():
    """Linear in each of two districts: the ends of a sum are the sums of ends; joint events are refused."""
    graph = "X -> Y; X <-> Y; V -> W; V <-> W"
    joint = BOW * BOW.rename({"X": "V", "Y": "W"})
    first, second = probability_of({"Y": 1}, do={"X": 1}), probability_of({"W": 1}, do={"V": 0})
    parts = [bounds(graph, query, joint) for query in (first, second)]
    both = bounds(graph, first - 2 * second, joint)
    assert both.lower == pytest.approx(parts[0].lower - 2 * parts[1].upper, abs=1e-7)
    assert both.upper == pytest.approx(parts[0].upper - 2 * parts[1].lower, abs=1e-7)
    with pytest.raises(NotLinear, match=r"multiplies unknown probabilities.*'X', 'Y'.*'V', 'W'"):
        bounds(graph, probability_of({Potential("Y", {"X": 1}): 1, Potential("W", {"V": 0}): 1}), joint)
    known = probability_of({Potential("Y", {"X": 1}): 1, Potential("W"): 1})
    assert bounds(graph, known, joint).upper == pytest.approx(0.8 * 0.5, abs=1e-7)


def test_products_that_cancel_are_linear():
    """P(Y_x, W_v = 0) + P(Y_x, W_v = 1) = P(Y_x), though each part is a product of unknowns."""
    graph = "X -> Y; X <-> Y; V -> W; V <-> W"
    joint = BOW * BOW.rename({"X": "V", "Y": "W"})
    parts = [probability_of({Potential("Y", {"X": 1}): 1, Potential("W", {"V": 0}): w}) for w in (0, 1)]
    found = bounds(graph, parts[0] + parts[1], joint)
    assert (found.lower, found.upper) == pytest.approx((0.4, 0.8), abs=1e-6)


def test_types_that_show_what_is_never_seen_do_not_count():
    """V is always 1, which makes P(W_1) known; so its product with another district's unknown is linear."""
    graph = "X -> Y; X <-> Y; V -> W; V <-> W"
    joint = BOW * Factor({"V": 2, "W": 2}, [[0.0, 0.0], [0.25, 0.75]])
    found = bounds(graph, probability_of({Potential("Y", {"X": 1}): 1, Potential("W", {"V": 1}): 1}), joint)
    assert (found.lower, found.upper) == pytest.approx((0.4 * 0.75, 0.8 * 0.75), abs=1e-7)


def test_sums_of_unknown_conditions_are_refused():
    """P(Y | M_1) + P(Y | M_0) has two unknown denominators."""
    graph = "X -> M -> Y; X <-> M; M <-> Y; X <-> Y"
    joint = random_units(np.random.default_rng(3), graph, dict.fromkeys("XMY", 2), 8).joint()
    parts = [probability_of({"Y": 1}, do={"X": 1}, counterfactual_evidence={"M": m}) for m in (0, 1)]
    with pytest.raises(NotLinear, match="one at a time"):
        bounds(graph, parts[0] + parts[1], joint)


def test_sharpness_is_claimed_where_every_pair_is_confounded_only():
    """A <-> B <-> C leaves the types of A and C independent, which is no linear constraint."""
    joint = Factor({"A": 2, "B": 2, "C": 2}, np.full((2, 2, 2), 0.125))
    query = probability_of({"C": 1}, do={"B": 1})
    assert not bounds("A -> B -> C; A <-> B; B <-> C", query, joint).is_sharp
    assert bounds("A -> B -> C; A <-> B; B <-> C; A <-> C", query, joint).is_sharp


def test_large_districts_are_refused_with_their_sizes():
    """Four binary causes that share a latent cause with their effect: 2^16 types of the effect times 2^4."""
    graph = "A -> E; B -> E; C -> E; D -> E; A <-> E; B <-> E; C <-> E; D <-> E; A <-> B; A <-> C; A <-> D"
    joint = Factor(dict.fromkeys("ABCDE", 2), np.full([2] * 5, 1 / 32))
    with pytest.raises(TooLarge, match=r"1048576 joint response types .*65536 of E"):
        bounds(graph, probability_of({"E": 1}, do={"A": 1}), joint)
    several = Factor({"A": 6, "B": 6, "E": 2}, np.full((6, 6, 2), 1 / 72))
    with pytest.raises(TooLarge, match=r"2\^36 response types"):
        bounds("A -> E; B -> E; A <-> E", probability_of({"E": 1}, do={"A": 1}), several)


def test_what_contradicts_the_graph_is_refused_or_projected():
    """The outcome follows the assignment while the treatment never changes: no instrument does that."""
    joint = Factor({"A": 2, "T": 2, "O": 2}, [[[0.5, 0.0], [0.0, 0.0]], [[0.0, 0.5], [0.0, 0.0]]])
    query = probability_of({"O": 1}, do={"T": 0})
    with pytest.raises(ModelContradicted, match="misses it by 2 in total") as caught:
        bounds(IV, query, joint)
    assert caught.value.violation == pytest.approx(2.0)
    found = bounds(IV, query, joint, contradictions="project")
    assert found.violation == pytest.approx(2.0)
    # The nearest in squares is half-way between the two rows of the table.
    assert (found.lower, found.upper) == pytest.approx((0.5, 0.5), abs=1e-6)
    rows = {"A": [0, 0, 1, 1], "T": [0, 0, 0, 0], "O": [0, 0, 1, 1]}
    noisy = bounds("A -> O", probability_of({"O": 1}, do={"A": 1}), rows)
    assert noisy.violation == 0.0


# --- assumptions ---


@pytest.mark.parametrize("seed", range(6))
def test_no_defiers_as_types_or_as_a_limit_are_one(seed):
    """Monotone("T", "A") removes the types whose share a limit sets to zero."""
    rng = np.random.default_rng(seed)
    types = rng.dirichlet(np.full(16, 0.5)).reshape(4, 4)
    types[2] = 0.0
    joint = trial_model(types / types.sum(), 0.4).query(["A", "T", "O"])
    takes = ResponseVariable(Variable("T", 2), [Variable("A", 2)])
    query = probability_of({"O": 1}, do={"T": 0}, evidence={"T": 1, "A": 1})
    by_type = bounds(IV, query, joint, assumptions=[Monotone("T", "A")])
    none = Limit(type_probability(takes, [(1, 0)]), upper=0.0)
    by_limit = bounds(IV, query, joint, assumptions=(one for one in [none]))
    assert (by_type.lower, by_type.upper) == pytest.approx((by_limit.lower, by_limit.upper), abs=1e-6)
    free = bounds(IV, query, joint)
    assert free.lower - 1e-7 <= by_type.lower <= by_type.upper <= free.upper + 1e-7


def test_no_direct_effect_takes_an_edge_out():
    """With A -> O in the graph but nothing along it, the instrument is back."""
    effect = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})
    graph = "A -> T -> O; A -> O; T <-> O"
    excluded = bounds(graph, effect, TRIAL, assumptions=[NoDirectEffect("O", "A")])
    assert (excluded.lower, excluded.upper) == pytest.approx((0.392, 0.780), abs=1e-7)
    assert bounds(graph, effect, TRIAL).width > excluded.width + 0.1


def test_assumptions_that_contradict_the_data_are_refused():
    """Half of the assigned take it, nobody else; so most can't be always takers."""
    takes = ResponseVariable(Variable("T", 2), [Variable("A", 2)])
    query = probability_of({"O": 1}, do={"T": 1})
    with pytest.raises(ModelContradicted, match=r"contradicts the assumptions 0\.5 <= P"):
        bounds(IV, query, TRIAL, assumptions=[Limit(type_probability(takes, [(1, 1)]), lower=0.5)])
    with pytest.raises(ModelContradicted, match="Drop an assumption"):
        bounds(IV, query, TRIAL, assumptions=[Monotone("T", "A", is_decreasing=True)])
    refuses(InvalidArgument, "no direct cause", bounds, IV, query, TRIAL, assumptions=[Monotone("O", "A")])
    refuses(InvalidArgument, "swap lower", Limit, query, 0.5, 0.2)


# --- the boundary ---


def test_wrong_questions_are_named():
    """Unknown names and states, tables that are no distribution, queries that are none."""
    query = probability_of({"O": 1}, do={"T": 1})
    refuses(UnknownVariable, "'Q' is not a variable of this graph", bounds, IV, probability_of({"Q": 1}), TRIAL)
    refuses(InvalidArgument, "sums to 2", bounds, IV, query, 2 * TRIAL)
    refuses(InvalidArgument, "made by probability_of", bounds, IV, {"O": 1}, TRIAL)
    with pytest.raises(InvalidArgument, match="is not linear"):
        query * query
    refuses(InvalidArgument, "'raise', 'project' or 'test'", bounds, IV, query, TRIAL, contradictions="ignore")
    refuses(InvalidArgument, "outcome= is empty", probability_of, {})
    with pytest.raises(NotSupported, match="continuous"):
        bounds("X -> Y", probability_of({"Y": 1.5}), {"X": [0.5, 1.25], "Y": [1.5, 2.5]})


def test_models_and_data_are_sources_too():
    """A functional model, rows with these shares and the distribution itself have the same bounds."""
    shares = np.array([[[3, 1], [0, 1]], [[1, 1], [1, 2]]])
    cells = np.repeat(np.indices(shares.shape).reshape(3, -1).T, shares.ravel(), axis=0)
    rows = dict(zip("ATO", cells.T, strict=True))
    query = probability_of({"O": 1}, do={"T": 1})
    joint = Factor({"A": 2, "T": 2, "O": 2}, shares / shares.sum())
    expected = bounds(IV, query, joint)
    found = [bounds(IV, query, source) for source in (rows, expected.model("lower"))]
    for one in found:
        assert (one.lower, one.upper) == pytest.approx((expected.lower, expected.upper), abs=1e-7)


def test_bounds_survive_pickling():
    """With the models that attain them."""
    found = bounds(IV, probability_of({"O": 1}, do={"T": 1}), TRIAL)
    again = pickle.loads(pickle.dumps(found))
    assert (again.lower, again.upper, str(again)) == (found.lower, found.upper, str(found))
    assert again.model("lower") == found.model("lower")


def test_events_that_cannot_be_have_probability_zero():
    """A variable is what it is set to; evidence against that is impossible."""
    assert bounds(IV, probability_of({"T": 0}, do={"T": 1}), TRIAL).upper == 0.0
    with pytest.raises(ImpossibleEvidence, match=r"T\[T=1\]=0"):
        bounds(IV, probability_of({"O": 1}, evidence={Potential("T", {"T": 1}): 0}), TRIAL)


def test_queries_print_as_they_are_meant():
    """Signs, factors and constants."""
    query = -1 * probability_of({"Y": 1}, do={"X": 1}) + 2 * probability_of({"Y": 0}) - 0.5
    assert str(query) == "-P(Y[X=1]=1) + 2 P(Y=0) - 0.5"
    assert str(LinearQuery(())) == "0"
    assert str(1 - probability_of({"Y": 1})) == "-P(Y=1) + 1"
    constant = bounds("X -> Y", LinearQuery((), 0.25), Factor({"X": 2, "Y": 2}, np.full((2, 2), 0.25)))
    assert math.isclose(constant.lower, 0.25)
    assert str(constant) == "0.25 = 0.25"


def test_assumptions_come_alone_or_in_lists_and_are_about_edges_of_the_graph():
    """One `Monotone` is what a list of it is; one about no edge is refused though the query never touches it."""
    joint = Factor({"X": 2, "Y": 2}, [[0.4, 0.1], [0.2, 0.3]])
    alone, listed = (
        bounds("X -> Y; X <-> Y", probability_of({"Y": 1}, do={"X": 1}), joint, assumptions=given)
        for given in (Monotone("Y", "X"), [Monotone("Y", "X")])
    )
    assert (alone.lower, alone.upper) == (listed.lower, listed.upper) == pytest.approx((0.4, 0.8))
    three = Factor({"X": 2, "Y": 2, "Q": 2}, np.full((2, 2, 2), 1 / 8))
    for wrong in (Monotone("Q", "X"), NoDirectEffect("Q", "X")):
        with pytest.raises(InvalidArgument, match="'X' is no direct cause of 'Q'"):
            bounds("X -> Y; Y -> Q", probability_of({"Y": 1}, do={"X": 1}), three, assumptions=wrong)


def test_limits_are_tested_by_falsification():
    """P(Y_1 = 1) is 0.3 at least: a limit of 0.2 is missed by 0.1, and one of 0.5 is not."""
    joint = Factor({"X": 2, "Y": 2}, [[0.4, 0.1], [0.2, 0.3]])
    asked = probability_of({"Y": 1}, do={"X": 1})
    found = falsification("X -> Y; X <-> Y", joint, assumptions=[Limit(asked, upper=0.2)])
    assert found.is_contradicted
    assert found.missed_limits == pytest.approx(0.1)
    assert found.violations == {("X", "Y"): 0.0}
    text = "the graph can show what is observed, but the limit -inf <= P(Y[X=1]=1) <= 0.2 is missed by at least 0.1."
    assert str(found) == f"Contradicted: {text}"
    data = {"X": [0] * 500 + [1] * 500, "Y": [0] * 400 + [1] * 100 + [0] * 200 + [1] * 300}
    noisy = falsification("X -> Y; X <-> Y", data, assumptions=Limit(asked, upper=0.2), confidence=0.95)
    assert "can show what is observed within the 95% confidence region of the data, but the limit" in str(noisy)
    assert not falsification("X -> Y; X <-> Y", joint, assumptions=Limit(asked, upper=0.5)).is_contradicted
    assert falsification("X -> Y", joint, assumptions=Limit(asked, upper=0.5)).missed_limits == pytest.approx(0.1)


@pytest.mark.parametrize("kind", ["network", "observed", "functional"])
def test_families_are_asked_for_together(kind, monkeypatch):
    """A chain's bounds need no query for each family, and are those of its joint table."""
    rng = np.random.default_rng(3)
    cpds = [TableCPD("V0", rng.dirichlet([1, 1]))]
    cpds += [TableCPD(f"V{i}", rng.dirichlet([1, 1], 2), parents=[f"V{i - 1}"]) for i in range(1, 6)]
    net = BayesianNetwork(cpds)
    query = probability_of({"V5": 1}, do={"V1": 0}, evidence={"V0": 1})
    expected = bounds(net.graph, query, net.joint())
    source = {"network": net, "observed": observed_model(net, list(net.variables)), "functional": functional_model(net)}
    calls = []
    plain = BayesianNetwork.query
    monkeypatch.setattr(BayesianNetwork, "query", lambda *given, **named: calls.append(given) or plain(*given, **named))
    found = bounds(net.graph, query, source[kind])
    assert not calls
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), abs=1e-9)
    assert found.is_identified


def test_rows_that_never_occur_are_not_taken_from_the_cpds():
    """Where X = 1 is never seen, a network says no more about P(Y | do(X = 1)) than its joint table does."""
    net = BayesianNetwork(
        TableCPD("W", [0.5, 0.5]),
        TableCPD("X", [[1.0, 0.0], [1.0, 0.0]], parents=["W"]),
        TableCPD("Y", [[0.5, 0.5], [0.1, 0.9]], parents=["X"]),
    )
    found = bounds(net.graph, probability_of({"Y": 1}, do={"X": 1}), net)
    assert (found.lower, found.upper) == pytest.approx((0.0, 1.0))


def test_sizes_in_refusals_are_readable():
    """A query about 20 000 confounded states, and a district with 2^200 types, are refused with their magnitude."""
    names = [f"V{place}" for place in range(200)]
    text = "; ".join(f"{a} <-> {b}" for a, b in pairwise(names))
    net = BayesianNetwork([TableCPD(name, [0.5, 0.5]) for name in names])
    with pytest.raises(TooLarge, match=r"about 10\^60 joint states"):
        bounds(f"{text}; {'; '.join(f'{a} -> {b}' for a, b in pairwise(names))}", probability_of({"V199": 1}), net)
    with pytest.raises(TooLarge, match=r"about 10\^60 joint response types"):
        bounds(text, probability_of({"V0": 1}), net)


def test_uncertain_evidence_is_no_event_to_bound():
    joint = Factor({"X": 2, "Y": 2}, [[0.4, 0.1], [0.2, 0.3]])
    query = probability_of({"Y": 1}, do={"X": 1}, evidence={"X": likelihood([0.2, 0.8])})
    with pytest.raises(InvalidEvidence, match=r"likelihood\(\[0.2, 0.8\]\); here events are states"):
        bounds("X -> Y; X <-> Y", query, joint)


def test_terms_that_count_nothing_are_not_printed():
    assert str(interventional_mean("Y", {0: 0.0, 1: 2.0}, do={"X": 1})) == "2 P(Y[X=1]=1)"
    assert str(interventional_mean("Y", {0: 0.0})) == "0"


def test_a_query_with_a_negative_first_term_is_written_with_its_sign():
    """The sign of the first part stands before it, those of others between."""
    first, second = probability_of({"Y": 1}, do={"X": 1}), probability_of({"Y": 1})
    assert str(-first) == "-P(Y[X=1]=1)"
    assert str(-2 * first - second - 1) == "-2 P(Y[X=1]=1) - P(Y=1) - 1"
    assert str(LinearQuery((), -2.0)) == "-2"
    assert str(0 * first) == "0"


def test_what_is_set_where_no_key_is_a_name_is_refused():
    """A Potential names its whole world; a name beside it, or in counterfactual evidence, takes do=."""
    key = Potential("Y", {"X": 0})
    with pytest.raises(InvalidArgument, match=r"do=\{'X': 1\} touches nothing: Y\[X=0\] is a Potential"):
        probability_of({key: 1}, do={"X": 1})
    assert str(probability_of({key: 1, "Y": 1}, do={"X": 1})) == "P(Y[X=0]=1, Y[X=1]=1)"
    evident = probability_of({key: 1}, do={"X": 1}, counterfactual_evidence={"Y": 1})
    assert str(evident) == "P(Y[X=0]=1 | Y[X=1]=1)"


def test_nodes_that_are_not_observed_are_latent():
    """`T <- U -> O` and `T <-> O` have the same bounds, of all that `bounds` may be asked."""
    shares = np.random.default_rng(0).dirichlet(np.ones(4)).reshape(2, 2)
    seen = Factor({"T": 2, "O": 2}, shares)
    query = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})
    found, same = bounds("T -> O; U -> T; U -> O", query, seen), bounds("T -> O; T <-> O", query, seen)
    assert (found.lower, found.upper) == (same.lower, same.upper)
    assert (found.latent, same.latent) == (("U",), ())
    assert not falsification("T -> O; U -> T; U -> O", seen).is_contradicted
    with pytest.raises(InvalidArgument, match="'U' is not observed"):
        bounds("T -> O; U -> T; U -> O", query, seen, assumptions=Monotone("T", "U"))
    with pytest.raises(UnknownVariable, match="Of 'U', which the graph has, nothing is observed"):
        bounds("T -> O; U -> T; U -> O", probability_of({"O": 1}, do={"U": 1}), seen)


def test_arguments_in_another_order_are_named():
    """Query and source, or graph and query, swapped; an assumption that names the cause first."""
    seen, query = Factor({"Z": 2, "X": 2}, [[0.3, 0.2], [0.1, 0.4]]), probability_of({"X": 1}, do={"Z": 1})
    for order in (("Z -> X", seen, query), (query, "Z -> X", seen)):
        with pytest.raises(InvalidArgument, match=r"write bounds\(graph, query, source\)"):
            bounds(*order)
    with pytest.raises(InvalidArgument, match=r"the other way: Monotone\(variable='X', cause='Z'\)"):
        bounds("Z -> X", query, seen, assumptions=Monotone("Z", "X"))
