"""Interchangeable exact engines: one contract, checked for each of them against plain loops over assignments."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from itertools import pairwise
from itertools import product as cartesian

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    assert_factor_equals,
    burglary_network,
    joint_of_bayesian_network,
    measure_of_markov_network,
    random_markov_network,
    random_network,
    random_rows,
    sprinkler_network,
    total,
)
from network_oracle import posterior as posterior_by_hand
from plausible.base.query_info import QueryInfo
from plausible.cpds import TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import random_polytree
from plausible.inference import (
    AnnealedImportance,
    BranchAndBound,
    ClusterBP,
    ConvexBP,
    Gibbs,
    LikelihoodWeighting,
    LoopyBP,
    MaxProduct,
    MeanField,
    Metropolis,
    MiniBuckets,
    Optimizer,
    Problem,
    RegionBP,
    TreeReweightedBP,
)
from plausible.inference.approximate import ApproximateEngine, Beliefs
from plausible.inference.engines import (
    Engine,
    Enumeration,
    JunctionTree,
    Pearl,
    RecursiveConditioning,
    VariableElimination,
)
from plausible.models import BayesianNetwork, MarkovNetwork
from plausible.variables import Evidence, Variable, jeffrey, likelihood
from refusals import refuses

GENERAL = [
    Enumeration(),
    VariableElimination(),
    JunctionTree(),
    RecursiveConditioning(),
    RecursiveConditioning(max_table_entries=9, max_cache_entries=0),
    RecursiveConditioning(max_table_entries=9, max_cache_entries=20),
]
ALL = [*GENERAL, Pearl()]
NONE = Evidence.read({}, {})


def random_polytree_network(rng, num_variables=6, max_states=3, zeros=0.25):
    """Tables over a random polytree or, where edges are dropped, several of them; some variables have one state."""
    graph = random_polytree(num_variables, seed=rng)
    kept = [edge for edge in graph.edges if rng.random() < 0.85]
    variables = {name: Variable(name, int(rng.integers(1, max_states + 1))) for name in graph.nodes}
    cpds = []
    for name, variable in variables.items():
        parents = [variables[a] for a, b in kept if b == name]
        rng.shuffle(parents)
        shape = [v.num_states for v in (*parents, variable)]
        cpds.append(TableCPD(variable, random_rows(rng, shape, zeros), parents))
    rng.shuffle(cpds)
    return BayesianNetwork(cpds)


def families(net):
    """The CPDs of a network as factors, the child last."""
    return [cpd.to_factor() for cpd in net.cpds.values()]


def random_findings(rng, variables):
    """Findings of every kind, and for each state of each variable the weight that they give it."""
    findings, weights = {}, {name: np.ones(v.num_states) for name, v in variables.items()}
    for name, variable in variables.items():
        kind = rng.integers(7)
        if kind == 0:
            state = int(rng.integers(variable.num_states))
            findings[name], weights[name] = state, np.eye(variable.num_states)[state]
        elif kind == 1:
            some = [s for s in range(variable.num_states) if rng.random() < 0.6] or [0]
            findings[name], weights[name] = some, np.isin(np.arange(variable.num_states), some).astype(float)
        elif kind == 2:
            weights[name] = rng.random(variable.num_states) + 0.05
            findings[name] = likelihood(weights[name])
    return findings, weights


def weighted(joint, weights):
    """The measure times the weight of every state."""
    return [(a, p * math.prod(float(weights[n][s]) for n, s in a.items())) for a, p in joint]


def check(engine, factors, variables, joint, rng):
    """Posterior and total under random findings equal those of plain loops."""
    findings, weights = random_findings(rng, variables)
    measure = weighted(joint, weights)
    evidence = Evidence.read(findings, variables)
    targets = [list(variables.values())[i] for i in rng.permutation(len(variables))[: rng.integers(1, 3)]]
    whole = total(measure, {})
    assert math.exp(engine.log_total(factors, evidence)) == pytest.approx(whole, rel=1e-9)
    if whole == 0:
        with pytest.raises(ImpossibleEvidence):
            engine.query(factors, targets, evidence)
        return
    answer = engine.query(factors, targets, evidence)
    assert [v.name for v in answer.scope] == [v.name for v in targets]
    assert_factor_equals(answer, posterior_by_hand(measure, [v.name for v in targets], {}))
    assert isinstance(answer.info, QueryInfo)
    assert answer.info.exact


# --- the contract ---


@pytest.mark.parametrize("engine", GENERAL, ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_on_bayesian_networks_the_posterior_equals_enumeration(engine, seed):
    """Zeros, one-state variables, disconnected parts, impossible evidence; states, sets of states and likelihoods."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.3)
    check(engine, families(net), net.variables, joint_of_bayesian_network(net), rng)


@pytest.mark.parametrize("engine", GENERAL, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_on_markov_networks_the_posterior_equals_enumeration(engine, seed):
    """Any factors, normalised or not; variables that no factor has are given one of ones."""
    rng = np.random.default_rng(100 + seed)
    net = random_markov_network(rng, num_factors=8)
    ones = [Factor((v,), np.ones(v.num_states)) for v in net.variables.values()]
    check(engine, [*net.factors, *ones], net.variables, measure_of_markov_network(net), rng)


@pytest.mark.parametrize("engine", ALL, ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_on_polytrees_all_engines_equal_enumeration(engine, seed):
    """Where there is no loop Pearl's propagation is one of them."""
    rng = np.random.default_rng(200 + seed)
    net = random_polytree_network(rng)
    check(engine, families(net), net.variables, joint_of_bayesian_network(net), rng)


@pytest.mark.parametrize("engine", ALL, ids=repr)
def test_deterministic_tables_are_followed_exactly(engine):
    """Exclusive or of two coins, copied twice: each posterior is 0, 1/2 or 1, and contradictions are found out."""
    coin = [Factor({name: 2}, [0.5, 0.5]) for name in "AB"]
    xor = Factor({"A": 2, "B": 2, "X": 2}, [[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    copies = [Factor({"X": 2, name: 2}, np.eye(2)) for name in "CD"]
    factors = [*coin, xor, *copies]
    variables = {v.name: v for factor in factors for v in factor.scope}
    found = Evidence.read({"A": 1, "C": 1}, variables)
    assert engine.query(factors, [variables["B"]], found).values.tolist() == [1, 0]
    assert engine.query(factors, [variables["D"]], NONE).values.tolist() == [0.5, 0.5]
    impossible = Evidence.read({"C": 0, "D": 1}, variables)
    assert engine.log_total(factors, impossible) == -math.inf
    with pytest.raises(ImpossibleEvidence):
        engine.query(factors, [variables["A"]], impossible)


@pytest.mark.parametrize("engine", ALL, ids=repr)
def test_degenerate_questions(engine):
    """No target, no factor, constants, observed targets, findings about variables that no factor has."""
    a, b = Variable("A", ["x", "y"]), Variable("B", 2)
    table = Factor((a,), [0.25, 0.75])
    assert engine.query([table], [], NONE).sum() == pytest.approx(1)
    assert engine.log_total([], NONE) == 0
    assert engine.log_total([Factor.scalar(3.0), table], NONE) == pytest.approx(math.log(3))
    assert engine.log_total([Factor.scalar(0.0), table], NONE) == -math.inf
    observed = Evidence.read({"A": "y", "B": 1}, {"A": a, "B": b})
    assert engine.query([table], [a], observed).to_dict() == {"x": 0, "y": 1}
    assert engine.log_total([table], observed) == pytest.approx(math.log(0.75))
    refuses(UnknownVariable, "'B' is not a variable of these factors", engine.query, [table], [b], NONE)
    with pytest.raises(ImpossibleEvidence):
        engine.query([Factor((a,), [0, 0])], [a], NONE)


@pytest.mark.parametrize("engine", ALL, ids=repr)
def test_jeffrey_evidence_fixes_the_posterior_marginal(engine):
    """P'(t) = Σ_x q(x) P(t | x, e), computed by hand on a chain; states that are ruled out are refused."""
    a, b = Variable("A", 2), Variable("B", 2)
    chain = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    net, found = MarkovNetwork(chain), {"B": jeffrey([0.25, 0.75])}
    by_hand = 0.25 * np.array([0.42, 0.08]) / 0.5 + 0.75 * np.array([0.18, 0.32]) / 0.5
    assert net.query("A", found, engine=engine).values == pytest.approx(by_hand)
    assert net.query("B", found, engine=engine).values == pytest.approx([0.25, 0.75])
    refuses(NotSupported, "jeffrey", net.log_partition, found, engine=engine)
    refuses(NotSupported, "jeffrey", Evidence.read, found, net.variables)
    with pytest.raises(ImpossibleEvidence, match="A=1"):
        MarkovNetwork(Factor((a,), [1, 0])).query("A", {"A": jeffrey([0.5, 0.5])}, engine=engine)


@pytest.mark.parametrize("engine", ALL, ids=repr)
def test_several_jeffrey_findings_hold_together_at_the_nearest_distribution(engine):
    """Both wanted marginals hold, and the odds ratio is that of the model: only rows and columns were scaled."""
    a, b = Variable("A", 2), Variable("B", 2)
    chain = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    found = {"A": jeffrey([0.5, 0.5]), "B": jeffrey([0.3, 0.7])}
    joint = MarkovNetwork(chain).query(["A", "B"], found, engine=engine).values
    assert joint.sum(axis=1) == pytest.approx([0.5, 0.5], abs=1e-9)
    assert joint.sum(axis=0) == pytest.approx([0.3, 0.7], abs=1e-9)
    odds = joint[0, 0] * joint[1, 1] / (joint[0, 1] * joint[1, 0])
    assert odds == pytest.approx(0.7 * 0.8 / (0.3 * 0.2), rel=1e-8)


@pytest.mark.parametrize("engine", ALL, ids=repr)
def test_engines_are_values_and_satisfy_the_protocol(engine):
    """Frozen, comparable, picklable, printable, named in their answers."""
    assert isinstance(engine, Engine)
    assert pickle.loads(pickle.dumps(engine)) == engine
    assert repr(engine).startswith(type(engine).__name__)
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        engine.cutset = ("A",)
    names = {
        Enumeration: "enumeration",
        VariableElimination: "variable elimination",
        JunctionTree: "clique tree",
        Pearl: "λ-π propagation",
        RecursiveConditioning: "recursive conditioning",
    }
    coin = Factor({"coin": 2}, [0.5, 0.5])
    assert engine.query([coin], coin.scope, NONE).info.engine == names[type(engine)]


# --- each engine's own options ---


@pytest.mark.parametrize("engine", [*ALL, LikelihoodWeighting(), LoopyBP(), MeanField()], ids=repr)
def test_numbers_as_evidence_are_refused_and_not_dropped(engine):
    """Engines get tables: whoever has observed a number has to put it into them, as models do."""
    coin = TableCPD("A", [0.5, 0.5])
    evidence = Evidence.read({"x": 2.0}, {"x": Variable("x")})
    for ask in (engine.query, engine.marginals):
        refuses(NotSupported, "'x'|states", ask, [coin.to_factor()], [coin.variable], evidence)
    refuses(NotSupported, "'x'|states", engine.log_total, [coin.to_factor()], evidence)


@dataclass(frozen=True)
class Uniform(ApproximateEngine):
    """Knows nothing, and nothing of groups without variables."""

    def beliefs(self, problem, groups):
        sizes = [[problem.variables[place].num_states for place in group] for group in groups]
        assert all(sizes)
        return Beliefs(tuple(np.full(size, 1 / math.prod(size)) for size in sizes), QueryInfo("uniform", exact=False))

    def estimate(self, problem):
        raise NotImplementedError


def test_an_engine_of_ones_own_is_asked_for_what_is_not_observed_and_claims_no_error():
    """What is observed needs no engine; an answer that is not exact and says nothing of its error tells so."""
    net = BayesianNetwork(TableCPD("a", [0.1, 0.9]), TableCPD("b", [[0.2, 0.8], [0.3, 0.7]], parents=["a"]))
    found = net.marginals({"a": 1}, engine=Uniform())
    assert [found[name].values.tolist() for name in "ab"] == [[0, 1], [0.5, 0.5]]
    assert found["b"].info.error is None
    assert "Nothing is known of the error" in found["b"].info.advice
    assert QueryInfo("elimination").error == 0


def test_budgets_are_checked_before_any_work():
    """40 binary variables in one product: too large for a joint, for a table and for the memory allowed."""
    factors = [Factor({f"X{i}": 2, f"X{j}": 2}, np.ones((2, 2))) for i in range(40) for j in range(i)]
    target = factors[0].scope[:1]
    for engine in (
        Enumeration(),
        VariableElimination(),
        RecursiveConditioning(max_cost=1e9),
        RecursiveConditioning(max_table_entries=1),
    ):
        with pytest.raises(TooLarge):
            engine.query(factors, target, NONE)
    few = [factor for factor in factors if set(factor.names) <= {f"X{i}" for i in range(12)}]
    with pytest.raises(TooLarge, match="limit given is 1e"):
        JunctionTree(max_entries=1000).query(few, target, NONE)


def test_an_elimination_order_is_used_and_may_name_targets_and_findings():
    """A star costs 2^5 from the centre and 2^2 from the leaves; names that are not to be eliminated do no harm."""
    star = [Factor({"C": 2, f"L{i}": 2}, np.ones((2, 2))) for i in range(4)]
    variables = {v.name: v for factor in star for v in factor.scope}
    leaves = ["L0", "L1", "L2", "L3"]
    target = [variables["L3"]]
    dear = VariableElimination(order=["C", *leaves]).query(star, target, NONE)
    cheap = VariableElimination(order=[*leaves, "C"]).query(star, target, NONE)
    assert (dear.info.largest_table, cheap.info.largest_table) == (32, 4)
    found = Evidence.read({"L0": 1}, variables)
    assert VariableElimination(order=[*leaves, "C"]).query(star, target, found).values.tolist() == [0.5, 0.5]
    with pytest.raises(InvalidArgument, match="lacks 'C'"):
        VariableElimination(order=leaves).query(star, target, NONE)
    refuses(InvalidArgument, "takes a sequence of names", VariableElimination, order="CL")


LOOP = [Factor(dict(scope), np.ones([size for _, size in scope])) for scope in (
    (("A", 2), ("B", 3)), (("B", 3), ("C", 4)), (("C", 4), ("A", 2)), (("D", 2),),
)]  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "name", "cost", "largest"),
    [
        (Enumeration(), "enumeration", 2 * 3 * 4 * 2, 48),
        (JunctionTree(), "clique tree", 24 + 2, 24),
        (RegionBP(), "region belief propagation", 24 + 2, 24),
        (ClusterBP(), "cluster belief propagation", 24 + 2, 24),
        *((engine, "", 6 + 12 + 8 + 2, 12) for engine in (LoopyBP(), TreeReweightedBP(), ConvexBP(), MaxProduct())),
        (MeanField(), "mean field", 28, 12),
        (MeanField(blocks=[["A", "B"]]), "structured mean field", 28 + 6, 12),
        (MeanField(blocks=[["A", "B", "C"]]), "structured mean field", 28 + 24, 24),
        (MiniBuckets(), "mini-buckets", 24 + 6 + 2 + 2, 24),
        (MiniBuckets(max_entries=12), "mini-buckets", 12 + 8 + 6 + 2, 12),
        (Gibbs(num_samples=300, burn_in=20, num_chains=3), "Gibbs sampling", (100 + 20) * 3 * 4, 4),
        (Metropolis(num_samples=300, burn_in=20, num_chains=3), "Metropolis-Hastings sampling", 1440, 4),
        (AnnealedImportance(5, 70), "annealed importance sampling", 5 * 70 * 4, 0),
        (BranchAndBound(), "branch and bound", None, 24),
    ],
    ids=repr,
)
def test_the_cost_told_is_that_of_the_tables_made(engine, name, cost, largest):
    """A loop of 2, 3 and 4 states beside a coin: a joint of 48, a clique of 24, factors of 6, 12, 8 and 2 entries."""
    if isinstance(engine, Optimizer):
        info = engine.optimize(Problem.of(LOOP, NONE)).info
    else:
        info = engine.query(LOOP, LOOP[0].scope[:1], NONE).info
    assert info.engine.endswith(name)
    assert info.largest_table == largest
    assert cost is None or info.cost == cost


def test_a_propagation_costs_its_families_for_each_state_of_all_targets_but_the_last():
    """Families of 2, 6 and 12 entries: once for one target, twice for two of which the first has two states."""
    a, b, c = Variable("A", 2), Variable("B", 3), Variable("C", 4)
    families = [Factor(scope, np.ones([v.num_states for v in scope])) for scope in ((a,), (a, b), (b, c))]
    for targets, times in ([c], 1), ([a, c], 2), ([b, c], 3):
        info = Pearl().query(families, targets, NONE).info
        assert (info.cost, info.largest_table) == (20 * times, 12)


def test_enumeration_does_not_take_underflow_for_zero():
    """1e-600 times the rest is all that is left."""
    a, b = Variable("A", 2), Variable("B", 2)
    factors = [Factor((a,), [1.0, 1e-200])] * 3 + [Factor((a, b), [[0.0, 0.0], [1.0, 3.0]])]
    assert Enumeration().query(factors, [b], NONE).values == pytest.approx([0.25, 0.75])
    assert Enumeration().log_total(factors, NONE) == pytest.approx(-600 * math.log(10) + math.log(4))


@pytest.mark.parametrize(
    "engine", [Enumeration(), VariableElimination(), JunctionTree(), RecursiveConditioning()], ids=repr
)
@pytest.mark.parametrize("exponent", [100, 150, 250, 307])
def test_large_potentials_do_not_overflow(engine, exponent):
    """Products up to 10^(4 · exponent), with zeros among them; the oracle counts in fractions, which have no limit."""
    a, b = Variable("A", 2), Variable("B", 2)
    large = 10.0**exponent
    tables = {(a,): [1.0, large], (a, b): [[large, 3.0], [0.0, 2 * large]], (b,): [large, 5.0]}
    factors = [Factor(scope, values) for scope, values in tables.items()] + [Factor((a,), [large, 1.0])]
    weights = {}
    for state_a, state_b in cartesian((0, 1), repeat=2):
        numbers = ([1.0, large][state_a], tables[a, b][state_a][state_b], [large, 5.0][state_b], [large, 1.0][state_a])
        weights[state_a, state_b] = math.prod(map(Fraction, numbers))
    total = sum(weights.values())
    expected = [float((weights[0, state] + weights[1, state]) / total) for state in (0, 1)]
    np.testing.assert_allclose(engine.query(factors, [b], NONE).values, expected, rtol=1e-9)
    log_total = math.log(total.numerator) - math.log(total.denominator)
    assert engine.log_total(factors, NONE) == pytest.approx(log_total, rel=1e-12)


def test_the_sum_of_entries_that_just_fit_does_not_overflow_in_enumeration():
    """Four times 1.5e308 is more than a float holds, though each entry is not."""
    a, b = Variable("A", 2), Variable("B", 2)
    factors = [Factor((a, b), [[1.5e308, 1.5e308], [1.5e308, 1.5e308]])]
    assert Enumeration().query(factors, [a], NONE).values.tolist() == [0.5, 0.5]
    assert Enumeration().log_total(factors, NONE) == pytest.approx(math.log(6) + 308 * math.log(10))


@pytest.mark.parametrize("engine", [VariableElimination(), JunctionTree(), RecursiveConditioning(), Pearl()], ids=repr)
def test_long_chains_have_the_right_log_probability(engine):
    """750 observed emissions of a hidden chain: the forward algorithm in logarithms, P(e) far below 1e-300."""
    rng = np.random.default_rng(0)
    length = 750
    transition, emission = random_rows(rng, (2, 2), 0), random_rows(rng, (2, 3), 0)
    hidden = [Variable(f"H{t}", 2) for t in range(length)]
    seen = [Variable(f"O{t}", 3) for t in range(length)]
    factors = [Factor((hidden[0],), [0.5, 0.5])]
    factors += [Factor(pair, transition) for pair in pairwise(hidden)]
    factors += [Factor(pair, emission) for pair in zip(hidden, seen, strict=True)]
    states = rng.integers(3, size=length).tolist()
    forward, expected = np.array([0.5, 0.5]), 0.0
    for step, state in enumerate(states):
        forward = (forward if step == 0 else forward @ transition) * emission[:, state]
        expected += math.log(forward.sum())
        forward = forward / forward.sum()
    evidence = Evidence.read({v.name: s for v, s in zip(seen, states, strict=True)}, {v.name: v for v in seen})
    assert expected < -750
    assert engine.log_total(factors, evidence) == pytest.approx(expected, rel=1e-11)
    assert engine.query(factors, [hidden[-1]], evidence).values == pytest.approx(forward, abs=1e-10)


# --- worked numbers ---


@pytest.mark.parametrize("engine", ALL, ids=repr)
def test_worked_numbers_of_the_burglary_network(engine):
    """P(B | j, m) = .2841718 and P(B | j, not m) = .0051299; the joint entry P(j, m, a, not b, not e) = .000628111."""
    net = burglary_network()
    target = [net.variables["B"]]
    both = Evidence.read({"J": True, "M": True}, net.variables)
    assert engine.query(families(net), target, both)[True] == pytest.approx(0.2841718, abs=5e-8)
    one = Evidence.read({"J": True, "M": False}, net.variables)
    assert engine.query(families(net), target, one)[True] == pytest.approx(0.0051299, abs=5e-8)
    entry = Evidence.read({"J": True, "M": True, "A": True, "B": False, "E": False}, net.variables)
    assert math.exp(engine.log_total(families(net), entry)) == pytest.approx(0.000628111, abs=5e-10)


@pytest.mark.parametrize("engine", [*GENERAL, Pearl(cutset=["S"])], ids=repr)
def test_worked_numbers_of_the_asia_network(engine):
    """P(d) = .4359706; P(L, V=1, S=0, D=1) = (.001645875, 3.8e-5), so P(L=1 | ...) = .0225670."""
    net = asia_network()
    assert engine.query(families(net), [net.variables["D"]], NONE)[True] == pytest.approx(0.4359706, abs=5e-8)
    found = {"V": True, "S": False, "D": True}
    answer = engine.query(families(net), [net.variables["L"]], Evidence.read(found, net.variables))
    assert answer[True] == pytest.approx(0.0225670, abs=5e-8)
    for state, expected in ((True, 3.8e-5), (False, 0.001645875)):
        both = Evidence.read({**found, "L": state}, net.variables)
        assert math.exp(engine.log_total(families(net), both)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("engine", [*GENERAL, Pearl(cutset=["Cloudy"])], ids=repr)
def test_worked_number_of_the_sprinkler_network(engine):
    """P(wet grass | cloudy) = .7452."""
    net = sprinkler_network()
    found = Evidence.read({"Cloudy": True}, net.variables)
    assert engine.query(families(net), [net.variables["WetGrass"]], found)[True] == pytest.approx(0.7452)


@pytest.mark.parametrize("engine", ALL, ids=repr)
def test_worked_numbers_of_a_chain(engine):
    """A -> B -> C: P(B) = (.5, .5), P(C) = (.65, .35), P(A | C=1) = (3/7, 4/7), P(A=1, B=1 | C=1) = .548571."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    chain = [
        Factor((a,), [0.6, 0.4]),
        Factor((a, b), [[0.7, 0.3], [0.2, 0.8]]),
        Factor((b, c), [[0.9, 0.1], [0.4, 0.6]]),
    ]
    assert engine.query(chain, [b], NONE).values == pytest.approx([0.5, 0.5])
    assert engine.query(chain, [c], NONE).values == pytest.approx([0.65, 0.35])
    found = Evidence.read({"C": 1}, {"C": c})
    assert engine.query(chain, [a], found).values == pytest.approx([3 / 7, 4 / 7])
    assert engine.query(chain, [a, b], found)[1, 1] == pytest.approx(0.548571, abs=5e-7)
