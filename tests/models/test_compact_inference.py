"""Compact distributions inside inference: decomposed, weighed, pruned, and always the answer of the full tables."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from network_oracle import (
    assert_factor_equals,
    joint_of_bayesian_network,
    posterior,
    random_evidence,
    random_network,
    random_rows,
    total,
)
from plausible.cpds import DeterministicCPD, NoisyMax, NoisyOr, TableCPD
from plausible.factors import Factor
from plausible.graphs import DAG, UndirectedGraph
from plausible.graphs.elimination import elimination_cost, elimination_order
from plausible.inference.compiled import compile_factors
from plausible.inference.elimination import absorb, sum_product
from plausible.inference.relevance import reduce_states
from plausible.models import BayesianNetwork
from plausible.models.causes import _joined, _Step, decompose, read_causes
from plausible.models.lowering import lower
from plausible.variables import Evidence, Variable, likelihood
from seeds import few_of


@pytest.fixture
def no_tables(monkeypatch):
    """Every child of independent causes is taken apart, however small its table."""
    monkeypatch.setattr("plausible.models.lowering.SMALL_TABLE", 0)
    monkeypatch.setattr("plausible.models.lowering._TINY_TABLE", 0)


def random_causes_network(rng, num_causes=4, num_children=3, third_layer=True):
    """Noisy-ors and noisy-maxes over common causes, which depend on each other, and a table below two of them."""
    causes = [Variable(f"C{i}", int(rng.integers(1, 4))) for i in range(num_causes)]
    cpds = [TableCPD(causes[0], random_rows(rng, (causes[0].num_states,)))]
    for before, cause in pairwise(causes):
        parents = [before] if rng.random() < 0.5 else []
        cpds.append(TableCPD(cause, random_rows(rng, [v.num_states for v in (*parents, cause)]), parents))
    for i in range(num_children):
        parents = [causes[j] for j in rng.permutation(num_causes)[: rng.integers(0, num_causes + 1)]]
        leak = float(rng.choice([0.0, 0.1, 1.0], p=[0.4, 0.5, 0.1]))
        if rng.random() < 0.5:
            active = {p.name: p.states[rng.integers(p.num_states)] for p in parents}
            chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=len(parents))
            cpds.append(NoisyOr(f"Y{i}", parents, chances, leak, active_states=active))
        else:
            effects = [random_rows(rng, (p.num_states, 3)) for p in parents]
            cpds.append(NoisyMax(f"Y{i}", parents, effects, random_rows(rng, (3,)), states=3))
    if third_layer:
        above = [cpd.variable for cpd in cpds[-2:]]
        cpds.append(TableCPD("Z", random_rows(rng, [*(v.num_states for v in above), 2]), above))
    return BayesianNetwork(cpds)


def joint_of(net):
    """The joint by enumeration of the full tables."""
    return joint_of_bayesian_network(BayesianNetwork([cpd.to_table() for cpd in net.cpds.values()]))


# --- children of independent causes ---


@pytest.mark.parametrize("seed", few_of(15, 80))
@pytest.mark.usefixtures("no_tables")
def test_decomposed_children_answer_as_their_tables(seed):
    """P(e) and P(X | e), whether causes, children or things below are observed."""
    rng = np.random.default_rng(seed)
    net = random_causes_network(rng, num_causes=int(rng.integers(1, 6)))
    joint, evidence = joint_of(net), random_evidence(rng, net.variables, int(rng.integers(0, 4)))
    found = Evidence.read(evidence, net.variables)
    lowered = lower(net.cpds.values(), net.variables, {}, found.hard)
    factors = absorb(lowered.factors, found)
    result = sum_product(factors, (), order=lowered.order)
    if total(joint, evidence) == 0:
        assert result.is_zero
        return
    assert result.log_total + lowered.log_scale == pytest.approx(math.log(total(joint, evidence)))
    for name in net.variables.keys() - evidence.keys():
        answer = sum_product(factors, [name]).factor.normalize()
        assert_factor_equals(answer, posterior(joint, [name], evidence))


@pytest.mark.parametrize("seed", few_of(12, 20))
@pytest.mark.usefixtures("no_tables")
def test_the_order_has_every_variable_that_is_not_observed_once(seed):
    """Auxiliary ones too."""
    rng = np.random.default_rng(seed)
    net = random_causes_network(rng, num_causes=6, num_children=4)
    found = Evidence.read(random_evidence(rng, net.variables, 2), net.variables)
    lowered = lower(net.cpds.values(), net.variables, {}, found.hard)
    if lowered.order is not None:
        mentioned = {name for factor in lowered.factors for name in factor.names} - found.hard.keys()
        assert len(set(lowered.order)) == len(lowered.order)
        assert mentioned == set(lowered.order)


def two_layers(rng, num_causes, num_findings, num_parents):
    """Priors, and for each finding its causes, strengths and leak, all as exact fractions of 1024."""
    priors = [Fraction(int(rng.integers(1, 300)), 1024) for _ in range(num_causes)]
    findings = []
    for _ in range(num_findings):
        causes = rng.choice(num_causes, int(rng.integers(1, num_parents + 1)), replace=False).tolist()
        findings.append((causes, [Fraction(int(rng.integers(1, 1024)), 1024) for _ in causes], Fraction(1, 128)))
    return priors, findings


def quick_score(priors, findings, positive, negative, given=None):
    """P(findings), or P(findings and cause `given`), by inclusion and exclusion over the positive ones; exactly."""
    whole = Fraction(0)
    for size in range(len(positive) + 1):
        for chosen in combinations(positive, size):
            off = [*negative, *chosen]
            term = Fraction((-1) ** size) * math.prod((1 - findings[f][2] for f in off), start=Fraction(1))
            present = list(priors)
            for f in off:
                for cause, strength in zip(*findings[f][:2], strict=True):
                    present[cause] *= 1 - strength
            for cause, prior in enumerate(priors):
                term *= present[cause] if cause == given else present[cause] + 1 - prior
            whole += term
    return whole


@pytest.mark.parametrize("seed", range(2))
def test_a_diagnosis_equals_exact_inclusion_and_exclusion(seed):
    """Thirty causes, forty findings with up to fourteen of them, five positive: QuickScore (Heckerman 1989)."""
    rng = np.random.default_rng(seed)
    priors, findings = two_layers(rng, 30, 40, 14)
    positive, negative = list(range(5)), list(range(5, 25))
    net = BayesianNetwork(
        *(TableCPD(f"C{i}", [float(1 - p), float(p)]) for i, p in enumerate(priors)),
        *(
            NoisyOr(f"F{i}", [f"C{c}" for c in causes], [float(s) for s in strengths], float(leak))
            for i, (causes, strengths, leak) in enumerate(findings)
        ),
    )
    evidence = {f"F{i}": i in positive for i in (*positive, *negative)}
    exact = quick_score(priors, findings, positive, negative)
    assert net.log_probability(evidence) == pytest.approx(math.log(exact), abs=1e-11)
    found = Evidence.read(evidence, net.variables)
    lowered = lower(net.subnetwork(evidence).cpds.values(), net.variables, {}, found.hard)
    reduced = reduce_states(lowered.factors, found)
    marginals = compile_factors(reduced.factors, reduced.variables.values()).marginals(Evidence.read({}, {}))
    for cause in (0, 19):
        if f"C{cause}" in net.subnetwork(evidence).variables:
            wanted = float(quick_score(priors, findings, positive, negative, given=cause) / exact)
            assert marginals[f"C{cause}"].values[1] == pytest.approx(wanted, rel=1e-10)
            assert net.query(f"C{cause}", evidence).values[1] == pytest.approx(wanted, rel=1e-10)


def test_thousands_of_negative_findings_do_not_underflow():
    """P(cause on, 1500 findings off) = 0.5^1500, far below the smallest float."""
    findings = [NoisyOr(f"F{i}", ["C"], [0.5], leak=0.25) for i in range(1500)]
    net = BayesianNetwork(TableCPD("C", [0.0, 1.0]), findings[0], *findings[1:])
    evidence = dict.fromkeys([f"F{i}" for i in range(1500)], False)
    assert net.log_probability(evidence) == pytest.approx(1500 * (math.log(0.5) + math.log(0.75)))
    assert net.query("C", evidence).values.tolist() == [0.0, 1.0]
    sure = net.with_cpd(TableCPD("C", [0.5, 0.5]))
    assert sure.query("C", evidence).values.tolist() == [1.0, 0.0]


def test_a_sure_leak_makes_a_negative_finding_impossible():
    """P(off) = 0 whatever the causes."""
    net = BayesianNetwork(TableCPD("C", [0.5, 0.5]), NoisyOr("F", ["C"], [0.5], leak=1.0))
    assert net.log_probability({"F": False}) == -math.inf


def test_overlapping_findings_stay_narrow_where_chains_do_not():
    """Fifteen positive findings with common causes: the order given costs a small part of what chains cost."""
    rng = np.random.default_rng(3)
    causes = [Variable(f"C{i:03}", 2) for i in range(150)]
    chosen = [[causes[j] for j in rng.choice(150, 12, replace=False)] for _ in range(15)]
    cpds = [NoisyOr(f"F{i}", parents, [0.5] * 12, 0.01) for i, parents in enumerate(chosen)]
    observed = {f"F{i}": 1 for i in range(15)}
    found = decompose([read_causes(cpd, observed) for cpd in cpds], [], [])
    sizes = {v.name: v.num_states for factor in found.factors for v in factor.scope}
    ours = elimination_cost(interactions(found.factors), found.order, sizes)
    chains = [factor.reduce({cpd.variable.name: True}) for cpd in cpds for factor in cpd.to_factors()]
    by_fill = [sum_product_cost(chains, heuristic) for heuristic in ("min-fill", "weighted-min-fill")]
    assert ours < min(by_fill) / 50


def interactions(factors):
    """The graph in which variables of a factor are neighbours."""
    names = dict.fromkeys(name for factor in factors for name in factor.names)
    return UndirectedGraph([pair for factor in factors for pair in combinations(factor.names, 2)], nodes=names)


def sum_product_cost(factors, heuristic):
    """The entries of a greedy elimination."""
    graph, sizes = interactions(factors), {v.name: v.num_states for factor in factors for v in factor.scope}
    return elimination_cost(graph, elimination_order(graph, heuristic, cardinalities=sizes), sizes)


@pytest.mark.usefixtures("no_tables")
def test_auxiliary_variables_take_no_name_of_the_network():
    """A cause that is named as an auxiliary variable would be."""
    names = ["Y≤1", "Y≤2", "Y≤1?", "Y≤1'"]
    cpds = [TableCPD(name, [0.6, 0.4]) for name in names]
    net = BayesianNetwork(*cpds, NoisyOr("Y", names, [0.5, 0.6, 0.7, 0.8]), NoisyOr("Y≤", names, [0.1] * 4))
    evidence = {"Y": True, "Y≤": True}
    joint = joint_of(net)
    assert net.log_probability(evidence) == pytest.approx(math.log(total(joint, evidence)))
    for name in names:
        assert_factor_equals(net.query(name, evidence), posterior(joint, [name], evidence))


# --- zeros ---


def test_typed_members_of_a_pedigree_shrink_it_and_change_no_answer():
    """Grandparents, parents and two children at one locus with three alleles; types as worked out by hand."""
    alleles = ["a", "b", "c"]
    kinds = sorted({"".join(sorted(pair)) for pair in product(alleles, repeat=2)})
    cpds = []
    for member, parents in {"f": None, "m": None, "x": ("f", "m"), "o": None, "y": ("x", "o"), "z": ("x", "o")}.items():
        for side in range(2):
            name = f"{member}{side}"
            if parents is None:
                cpds.append(TableCPD(name, [0.5, 0.3, 0.2], states=alleles))
            else:
                cpds.append(TableCPD(f"s{name}", [0.5, 0.5]))
                given = [f"s{name}", f"{parents[side]}0", f"{parents[side]}1"]
                cpds.append(DeterministicCPD(name, lambda s, one, two: two if s else one, given, alleles))
        cpds.append(
            DeterministicCPD(f"T{member}", lambda p, q: "".join(sorted(p + q)), [f"{member}0", f"{member}1"], kinds)
        )
    net = BayesianNetwork(cpds)
    evidence = {"Tf": "aa", "Tm": "bc", "Ty": "ac", "To": "aa"}
    found = Evidence.read(evidence, net.variables)
    factors = [cpd.to_factor() for cpd in net.cpds.values()]
    reduced = reduce_states(factors, found)
    assert reduced.originals["x0"].states[reduced.states["x0"][0]] == "a"
    assert len(reduced.states["x0"]) == 1  # the father has only a
    assert [reduced.originals["x1"].states[i] for i in reduced.states["x1"]] == ["c"]  # the child's c comes through x
    full = compile_factors(factors, net.variables.values())
    small = compile_factors(reduced.factors, reduced.variables.values())
    assert small.program.num_entries * 10 < full.program.num_entries
    wanted, answers = full.marginals(found), small.marginals(Evidence.read({}, {}))
    for name in net.variables:
        answer = reduced.expand(answers.get(name, Factor.scalar(1.0)), [name])
        assert answer.values == pytest.approx(wanted[name].values, abs=1e-12)
    assert small.log_total(Evidence.read({}, {})) == pytest.approx(full.log_total(found))


# --- requisite distributions ---


@pytest.mark.parametrize("seed", few_of(16, 40))
def test_a_distribution_is_requisite_where_a_parent_of_its_own_would_be_connected(seed):
    """θ_X matters for P(T | E) if and only if X's parameter node is not d-separated from T (Geiger et al. 1990)."""
    rng = np.random.default_rng(seed)
    names = [f"X{i}" for i in range(8)]
    edges = [(a, b) for a, b in combinations(names, 2) if rng.random() < 0.3]
    observed = [name for name in names if rng.random() < 0.3]
    weighed = [name for name in names if name not in observed and rng.random() < 0.15]
    targets = [name for name in rng.permutation(names)[:2].tolist() if name not in observed]
    found = DAG(edges, nodes=names).requisite(targets, observed, weighed)
    wider = DAG([*edges, *((f"θ{n}", n) for n in names), *((n, f"λ{n}") for n in weighed)], nodes=names)
    given = [*observed, *(f"λ{n}" for n in weighed)]
    needed = {n for n in names if targets and not wider.d_separated(f"θ{n}", targets, given=given)}
    assert found == needed


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_requisite_distributions_are_enough(seed):
    """The posterior from their tables alone."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=7, zeros=0.0)
    evidence, target = random_evidence(rng, net.variables, 2), "X3"
    if target in evidence:
        return
    found = net.graph.requisite(target, evidence)
    tables = absorb([net.cpds[n].to_factor() for n in found], Evidence.read(evidence, net.variables))
    expected = posterior(joint_of_bayesian_network(net), [target], evidence)
    assert_factor_equals(sum_product(tables, [target]).factor.normalize(), expected)


@pytest.mark.parametrize("seed", range(12))
def test_explain_names_the_distributions_that_move_the_answer(seed):
    """By enumeration: new random numbers in a table move the posterior if and only if the plan lists its variable."""
    rng = np.random.default_rng(seed)
    names = [f"X{i}" for i in range(6)]
    parents = {name: [a for a in names[:i] if rng.random() < 0.4] for i, name in enumerate(names)}
    net = BayesianNetwork(
        [TableCPD(name, random_rows(rng, [2] * (len(above) + 1), 0.0), above) for name, above in parents.items()]
    )
    target, *observed = rng.permutation(names)[:3].tolist()
    chances = [0.2, 0.7]

    def answer(network):
        weighed = (
            (states, weight * chances[states[observed[1]]]) for states, weight in joint_of_bayesian_network(network)
        )
        return posterior(weighed, [target], {observed[0]: 1})

    moved, before = [], answer(net)
    for name in names:
        above = net.cpds[name].parents
        other = net.with_cpd(TableCPD(net.variables[name], random_rows(rng, [2] * (len(above) + 1), 0.0), above))
        after = answer(other)
        if not all(after[key] == pytest.approx(before[key], abs=1e-12) for key in before):
            moved.append(name)
    evidence = {observed[0]: 1, observed[1]: likelihood(chances)}
    assert list(net.explain(target, evidence).requisite) == moved


def test_a_silent_child_ties_no_causes_in_a_plan_for_it_and_all_in_one_for_any_evidence():
    """Y = 0 weighs each of 14 causes by itself, in tables of two entries; one without targets is for any Y."""
    causes = [TableCPD(f"C{place}", [0.9, 0.1]) for place in range(14)]
    net = BayesianNetwork([*causes, NoisyOr("Y", [cpd.variable for cpd in causes], [0.5] * 14)])
    silent, loud = (net.explain("C0", {"Y": state}) for state in (0, 1))
    assert (silent.entries, silent.width) == (14 * 2, 0)
    assert loud.entries > silent.entries
    assert net.explain(evidence={"Y": 0}).entries == net.explain().entries > 14 * 2
    both = net.expectation(Factor({"C0": 2, "Y": 2}, [[0, 0], [5, 7]]), {"Y": 0})
    assert both == pytest.approx(5 * 0.05 / 0.95)


def test_a_plan_tells_what_matters_in_its_text_and_only_for_a_question():
    """D is cut off by G, S is barren; a plan for all variables singles nothing out."""
    net = BayesianNetwork(
        TableCPD("D", [0.6, 0.4]),
        TableCPD("I", [0.7, 0.3]),
        TableCPD("G", [[[0.3, 0.7], [0.1, 0.9]], [[0.9, 0.1], [0.5, 0.5]]], parents=["I", "D"]),
        TableCPD("L", [[0.1, 0.9], [0.4, 0.6]], parents=["G"]),
        TableCPD("S", [[0.9, 0.1], [0.2, 0.8]], parents=["I"]),
    )
    assert str(net.explain("L", {"G": 0})).endswith("distributions that matter: L")
    assert net.explain("I", {"G": 0}).requisite == ("D", "I", "G")
    assert net.explain("L", {"I": 0}, do={"G": 1}).requisite == ("L",)
    assert net.explain().requisite is None
    assert "matter" not in str(net.explain())


@pytest.mark.parametrize("num_levels", [2, 4])
@pytest.mark.parametrize("is_known", [False, True])
def test_the_way_in_which_two_maxima_are_joined_sums_out_to_the_larger_one(num_levels, is_known):
    """Σ over which of both attains it is 1 where m = max(l, r), else 0; of the top level alone where m is known."""
    maxima = {name: Variable(name, num_levels) for name in "lrm"}
    joint = math.prod(_joined(_Step("m", "l", right="r"), maxima, is_known=is_known), start=Factor.scalar(1.0))
    found = joint.marginalize([name for name in joint.names if name not in maxima])
    left, right, level = np.indices((num_levels,) * 3)
    expected = np.maximum(left, right) == level
    names = ["l", "r"] if is_known else ["l", "r", "m"]
    np.testing.assert_array_equal(found.reorder(names).values, expected[..., -1] if is_known else expected)
