"""map, sample and expected_counts take engines too, and "auto" decides alike in all questions."""

import itertools
import math
import pickle
from importlib import import_module

import numpy as np
import pytest

import plausible as pb
from network_oracle import (
    joint_of_bayesian_network,
    measure_of_markov_network,
    random_markov_network,
    random_network,
)
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.inference import Estimate, ExpectedCounts, approximate_map
from plausible.inference.approximate_map import _FEW
from plausible.inference.approximate_samples import resampled_rows
from plausible.variables import Evidence

TINY = pb.Budget(bytes=1)
SAMPLERS = [
    pb.Gibbs(8000, blocks=[["tub", "lung", "either"]]),
    pb.Gibbs(8000, collapsed=["either", "lung"]),
    pb.inference.Metropolis("block", num_samples=40_000, blocks=[["tub", "lung", "either"]]),
    pb.LikelihoodWeighting(20_000),
    pb.ImportanceSampling(20_000),
    pb.inference.RejectionSampling(20_000),
    pb.JunctionTree(),
]


def models(seed, zeros=0.2):
    """A Bayesian and a Markov network, each with the table of its measure over all assignments."""
    rng = np.random.default_rng(seed)
    net, markov = random_network(rng, zeros=zeros), random_markov_network(rng, zeros=zeros)
    return (net, joint_of_bayesian_network(net)), (markov, measure_of_markov_network(markov))


def summed(listed, names, evidence):
    """States of the names -> measure, over the assignments that agree with the evidence."""
    totals = {}
    for assignment, weight in listed:
        if all(assignment[name] == state for name, state in evidence.items()):
            key = tuple(assignment[name] for name in names)
            totals[key] = totals.get(key, 0.0) + weight
    return totals


def some_evidence(rng, listed, names):
    """Two variables as in an assignment that can happen."""
    possible = [assignment for assignment, weight in listed if weight > 0]
    drawn = possible[rng.integers(len(possible))]
    return {name: drawn[name] for name in rng.permutation(names)[:2].tolist()}


# --- map ---


@pytest.mark.parametrize("engine", [pb.VariableElimination(), pb.JunctionTree(), pb.inference.Enumeration()], ids=repr)
@pytest.mark.parametrize("few", [_FEW, 1], ids=["all tried", "searched"])
def test_map_with_exact_sums_is_bounded_and_proofs_hold(engine, few, monkeypatch):
    """The value is that of its assignment; with the gap it reaches the maximum; where it is exact, it is that."""
    monkeypatch.setattr(import_module("plausible.inference.approximate_map"), "_FEW", few)
    num_exact = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        for model, listed in models(seed):
            names = list(model.variables)
            evidence, targets = some_evidence(rng, listed, names), rng.permutation(names)[:3].tolist()
            totals, whole = summed(listed, targets, evidence), sum(weight for _, weight in listed)
            found = model.map(targets, evidence, engine=engine)
            value = math.log(totals[tuple(found[name] for name in targets)] / whole)
            best = math.log(max(totals.values()) / whole)
            assert found.log_probability == pytest.approx(value, abs=1e-9)
            assert value + found.info.error >= best - 1e-8
            if found.info.exact:
                assert value == pytest.approx(best, abs=1e-8)
            num_exact += found.info.exact
    assert num_exact == 12 or few == 1
    assert num_exact > 6


@pytest.mark.parametrize(
    "engine",
    [pb.LoopyBP(), pb.inference.TreeReweightedBP(), pb.MeanField(), pb.Gibbs(200, burn_in=50)],
    ids=lambda e: type(e).__name__,
)
def test_map_claims_no_more_than_approximate_sums_can_prove(engine):
    """An answer that says it is exact is; a gap, where there is one, covers the maximum; states agree with evidence."""
    for seed in range(1 if isinstance(engine, pb.Gibbs) else 4):
        rng = np.random.default_rng(seed)
        for model, listed in models(seed, zeros=0.0):
            names = list(model.variables)
            evidence, targets = some_evidence(rng, listed, names), rng.permutation(names)[:3].tolist()
            totals = summed(listed, targets, evidence)
            found = model.map(targets, evidence, engine=engine)
            value, best = totals[tuple(found[name] for name in targets)], max(totals.values())
            if found.info.exact:
                assert value == pytest.approx(best)
            if found.info.error is not None:
                assert math.log(value) + found.info.error >= math.log(best) - 1e-8
            assert isinstance(found.log_probability, Estimate)


def test_map_finds_the_best_states_where_messages_are_nearly_right():
    """A weakly coupled grid, too many targets to try all: the search finds what branch and bound proves."""
    rng = np.random.default_rng(3)
    name = "{}{}".format
    pairs = [((i, j), (i + di, j + dj)) for i in range(4) for j in range(4) for di, dj in ((0, 1), (1, 0))]
    grid = pb.MarkovNetwork(
        pb.Factor({name(*a): 2, name(*b): 2}, np.exp(0.4 * rng.normal(size=(2, 2)))) for a, b in pairs if max(b) < 4
    )
    targets = ["00", "02", "11", "13", "20", "22", "31", "33"]
    assert dict(grid.map(targets, engine=pb.LoopyBP())) == dict(grid.map(targets))
    assert dict(grid.map(targets, engine="auto", budget=pb.Budget(bytes=64))) == dict(grid.map(targets))
    assert "search" in grid.map(targets, engine="auto", budget=pb.Budget(bytes=64)).info.engine
    assert "search" not in grid.map(targets, engine="auto").info.engine


def test_map_of_everything_is_left_to_engines_for_best_assignments():
    """Where nothing is summed out, also because the rest is barren; else they are refused."""
    net = pb.examples.load("asia")
    everything = [name for name in net.variables if name != "dysp"]
    found = net.map(everything, {"dysp": "yes"}, engine=pb.BranchAndBound())
    assert dict(found) == {name: net.mpe({"dysp": "yes"})[name] for name in everything}
    assert net.map(["smoke", "lung"], engine=pb.MaxProduct()).info.exact  # its descendants don't matter
    with pytest.raises(NotSupported, match=r"MaxProduct can't sum .* 'smoke'"):
        net.map("lung", engine=pb.MaxProduct())
    markov = net.to_markov_network()
    assert markov.map(list(net.variables), engine=pb.BranchAndBound())["lung"] == net.mpe()["lung"]


class _Bounding(pb.MeanField):
    """An engine that brings a bound of its own."""

    __slots__ = ()

    def bound_marginal_map(self, factors, targets, evidence):
        """States, and a number that no assignment exceeds."""
        return (0,) * len(targets), -0.25


def test_map_takes_the_bound_that_an_engine_brings():
    """Mean field bounds sums from below; with a bound from above there is a gap."""
    coins = [pb.Factor({name: 2}, [0.4, 0.6]) for name in "AB"]
    targets = [coin.scope[0] for coin in coins]
    coins.append(pb.Factor({"A": 2, "C": 2, "D": 2}, [[[0.4, 0.1], [0.2, 0.3]], [[0.3, 0.2], [0.1, 0.4]]]))
    nothing = Evidence.read({}, {})
    assert approximate_map(coins, targets, nothing, pb.MeanField()).info.error is None
    found = approximate_map(coins, targets, nothing, _Bounding())
    assert found.log_bound == -0.25
    assert found.info.error == pytest.approx(-0.25 - found.log_value)
    assert found.log_value < 2 * math.log(0.6)
    assert not found.info.exact
    assert "-0.25" in found.info.advice


def test_map_has_its_degenerate_cases():
    """No targets, observed targets, one state, impossible evidence, no time."""
    net = pb.examples.load("asia")
    assert dict(net.map([], {"xray": "yes"}, engine=pb.LoopyBP())) == {}
    assert dict(net.map(["xray", "lung"], {"xray": "yes", "lung": "no"}, engine=pb.LoopyBP())) == {
        "xray": "yes",
        "lung": "no",
    }
    single = pb.BayesianNetwork(pb.TableCPD("A", [1.0]), pb.TableCPD("B", [[0.3, 0.7]], parents=["A"]))
    assert dict(single.map(["A", "B"], engine=pb.LoopyBP())) == {"A": 0, "B": 1}
    for engine in (pb.LoopyBP(), pb.VariableElimination(), pb.LikelihoodWeighting(1000)):
        with pytest.raises(ImpossibleEvidence, match="either"):
            net.map("smoke", {"either": "no", "lung": "yes"}, engine=engine)
    assert len(net.map(list(net.variables), engine=pb.VariableElimination(), time_limit=0.0)) == 8


# --- sample ---


@pytest.mark.parametrize("engine", SAMPLERS, ids=lambda engine: type(engine).__name__)
def test_rows_of_engines_follow_the_posterior(engine):
    """Pair frequencies in asia, given a leaf, are within five standard errors by the effective size claimed."""
    net, evidence, rows = pb.examples.load("asia"), {"dysp": "yes"}, 4000
    frame = net.sample(rows, evidence=evidence, engine=engine)
    assert list(frame.columns) == list(net.variables)
    assert len(frame) == rows
    assert (frame["dysp"] == "yes").all()
    size = frame.attrs["effective_size"]
    assert 100 < size <= rows
    assert f"{size:.0f} independent" in frame.attrs["info"].advice
    totals = summed(joint_of_bayesian_network(net), ["smoke", "either"], evidence)
    for states, total in totals.items():
        p = total / sum(totals.values())
        share = ((frame[["smoke", "either"]] == list(states)).all(axis=1)).mean()
        assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / size)


def test_rows_of_a_markov_network_follow_its_distribution():
    for seed in range(3):
        markov, listed = models(seed, zeros=0.0)[1]
        frame = markov.sample(4000, seed=1, engine=pb.Gibbs(4000))
        totals = summed(listed, ["X0", "X1"], {})
        for states, total in totals.items():
            p = total / sum(totals.values())
            share = ((frame[["X0", "X1"]] == list(states)).all(axis=1)).mean()
            assert abs(share - p) < 6 * math.sqrt(p * (1 - p) / min(frame.attrs["effective_size"], 4000)) + 1e-9


def test_the_same_seed_draws_the_same_rows_and_others_differ():
    """The argument comes before the engine's own seed, which holds where there is none."""
    net = pb.examples.load("asia")
    for engine in SAMPLERS:
        first = net.sample(60, 5, {"xray": "yes"}, engine=engine)
        assert first.equals(net.sample(60, 5, {"xray": "yes"}, engine=engine))
        assert not first.equals(net.sample(60, 6, {"xray": "yes"}, engine=engine))
        own = net.sample(60, evidence={"xray": "yes"}, engine=engine)
        assert own.equals(net.sample(60, evidence={"xray": "yes"}, engine=engine))


def test_rows_can_be_none_or_more_than_the_engine_draws():
    net = pb.examples.load("asia")
    for engine in (pb.Gibbs(100), pb.LikelihoodWeighting(100), pb.inference.RejectionSampling(100), pb.JunctionTree()):
        assert len(net.sample(0, evidence={"xray": "yes"}, engine=engine)) == 0
        assert len(net.sample(250, evidence={"xray": "yes"}, engine=engine)) == 250
    assert net.sample(50, 1, engine=pb.LikelihoodWeighting(100)).attrs["effective_size"] == 50
    everything = net.sample(1, seed=0).iloc[0].to_dict()
    assert (net.sample(3, evidence=everything, engine=pb.Gibbs()) == list(everything.values())).all(axis=None)


def test_engines_that_do_not_draw_are_refused_by_name():
    net = pb.examples.load("asia")
    for engine in (pb.LoopyBP(), pb.MaxProduct(), "fast", pb.Gibbs):
        with pytest.raises(InvalidArgument, match=r"Gibbs\(\), Metropolis\(\), LikelihoodWeighting\(\)"):
            net.sample(5, engine=engine)
    with pytest.raises(NotSupported, match=r"Gibbs\(\)"):
        pb.models.ising("a - b; b - c; c - a", coupling=-1.0).sample(5, engine=pb.LikelihoodWeighting())
    with pytest.raises(UnknownVariable, match="lungs"):
        net.sample(5, engine=pb.Gibbs(blocks=[["lungs", "tub"]]))
    for engine in (pb.Gibbs(500), pb.LikelihoodWeighting(500), pb.inference.RejectionSampling(500)):
        with pytest.raises(ImpossibleEvidence, match="either"):
            net.sample(5, evidence={"either": "no", "lung": "yes"}, engine=engine)
    rare = pb.BayesianNetwork(pb.TableCPD("A", [0.99999, 0.00001]))
    with pytest.raises(ImpossibleEvidence, match="LikelihoodWeighting"):
        rare.sample(100, evidence={"A": 1}, engine=pb.inference.RejectionSampling(1000))


def test_resampled_rows_have_shares_by_weight():
    """Each sample stands ⌊n w⌋ or ⌈n w⌉ times; those of weight zero never."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        weights = rng.gamma(0.5, size=20) * (rng.random(20) > 0.3)
        weights[0] += 0.01
        with np.errstate(divide="ignore"):
            rows, size = resampled_rows(np.log(weights) - 900, 37, rng)
        counts, wanted = np.bincount(rows, minlength=20), 37 * weights / weights.sum()
        assert (np.abs(counts - wanted) < 1 + 1e-9).all()
        assert (counts[weights == 0] == 0).all()
        assert 0 < size <= 37


# --- expected counts ---


def frame_with_gaps(rng, listed, names, rows=12):
    """Rows that can happen, with cells taken out; some of them twice, one empty, one whole."""
    weights = np.array([weight for _, weight in listed])
    drawn = rng.choice(len(listed), rows, p=weights / weights.sum())
    columns = {name: [listed[i][0][name] if rng.random() > 0.4 else None for i in drawn] for name in names}
    for name in names:
        columns[name] += [columns[name][0], None, listed[drawn[0]][0][name]]
    return columns


def counted(listed, scope, frame, weights):
    """Σ w P(scope | row) by enumeration."""
    table = np.zeros([variable.num_states for variable in scope])
    for row, weight in enumerate(weights):
        evidence = {name: column[row] for name, column in frame.items() if column[row] is not None}
        totals = summed(listed, [variable.name for variable in scope], evidence)
        for states, total in totals.items():
            place = tuple(variable.states.index(state) for variable, state in zip(scope, states, strict=True))
            table[place] += weight * total / sum(totals.values())
    return table


@pytest.mark.parametrize("engine", [None, "auto", pb.VariableElimination(), pb.JunctionTree()], ids=str)
def test_expected_counts_equal_enumeration(engine):
    """Families of Bayesian networks, scopes of the factors of Markov networks; rows weighed, some by zero."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        for model, listed in models(seed):
            frame = frame_with_gaps(rng, listed, list(model.variables))
            weights = rng.integers(0, 3, size=15).astype(float)
            found = model.expected_counts(frame, weights, engine=engine)
            assert isinstance(found, ExpectedCounts)
            assert found.info.exact
            is_directed = isinstance(model, pb.BayesianNetwork)
            scopes = (
                {name: cpd.scope for name, cpd in model.cpds.items()}
                if is_directed
                else {str(number): factor.scope for number, factor in enumerate(model.factors)}
            )
            assert list(found) == list(scopes)
            for name, scope in scopes.items():
                np.testing.assert_allclose(found[name], counted(listed, scope, frame, weights), atol=1e-9)


def test_expected_counts_of_messages_are_exact_on_trees_and_near_elsewhere():
    net = pb.examples.load("asia")
    rows = net.sample(60, seed=1)
    frame = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.3)
    exact = net.compile().expected_counts(frame)
    found = net.expected_counts(frame, engine="auto", budget=TINY)
    assert found.info.engine == "loopy belief propagation"
    for name, table in exact.items():
        np.testing.assert_allclose(found[name], table, atol=0.05)
        assert found[name].sum() == pytest.approx(60)
    chain = net.subnetwork(["asia", "tub"])
    some = {"tub": ["yes", "no", None]}
    sure = chain.expected_counts(some, engine=pb.LoopyBP(), families="asia")
    assert (list(sure), sure.info.exact) == (["asia"], True)
    np.testing.assert_allclose(sure["asia"], chain.compile().expected_counts(some)["asia"])
    with pytest.raises(TooLarge):
        net.expected_counts(frame, budget=TINY)


def test_expected_counts_of_the_families_named_alone():
    """Of networks of states, of numbers, and of factors, by the exact way and by an engine."""
    coin, toss = pb.TableCPD("A", [0.6, 0.4]), pb.TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"])
    number = pb.ConditionalGaussianCPD("x", [0.0, 3.0], {}, [1.0, 1.0], [pb.Variable("B", 2)])
    rows = {"B": [0, 1, 1]}
    expected = [0.42 / 0.5 + 2 * 0.18 / 0.5, 0.08 / 0.5 + 2 * 0.32 / 0.5]
    plain = pb.BayesianNetwork(coin, toss)
    for net in (plain, pb.BayesianNetwork(coin, toss, number)):
        counts = net.expected_counts(rows, families="A")
        assert list(counts) == ["A"]
        assert counts["A"] == pytest.approx(expected)
    fields = plain.to_markov_network()
    for engine in (None, pb.LoopyBP()):
        counts = fields.expected_counts(rows, families=["0"], engine=engine)
        assert list(counts) == ["0"]
        assert counts["0"].sum() == pytest.approx(3)


def test_expected_counts_name_the_row_that_can_not_happen():
    """With gaps or without."""
    net = pb.examples.load("asia")
    row = net.sample(1, seed=0).iloc[0].to_dict()
    for bad in ({"either": "no", "lung": "yes"}, {**row, "either": "no", "lung": "yes"}):
        frame = {name: [row[name], bad.get(name)] for name in net.variables}
        for engine in (pb.LoopyBP(), pb.LikelihoodWeighting(500), pb.VariableElimination()):
            with pytest.raises(ImpossibleEvidence, match="Row 1"):
                net.expected_counts(frame, engine=engine)
        assert net.expected_counts(frame, [1, 0], engine=pb.LoopyBP())["lung"].sum() == pytest.approx(1)


def test_expected_counts_of_nothing_are_zero():
    net = pb.examples.load("asia")
    found = net.expected_counts({name: [] for name in net.variables}, engine=pb.LoopyBP())
    assert all(not table.any() for table in found.values())
    with pytest.raises(InvalidArgument, match="engine="):
        net.expected_counts({}, engine=pb.MaxProduct())


# --- auto ---


def test_auto_takes_the_documented_choice_in_every_question_that_does_not_fit():
    net = pb.examples.load("asia")
    markov = net.to_markov_network()
    for model in (net, markov):
        options = {"engine": "auto", "budget": TINY}
        beliefs = model.marginals({"xray": "yes"}, **options)
        asked = [
            *beliefs.values(),
            model.query("lung", {"xray": "yes"}, **options),
            model.query(["asia", "dysp"], **options),
        ]
        assert all({"loopy", "Gibbs"} & set(belief.info.engine.split()) for belief in asked)
        assert all(belief.info.error is not None for belief in asked)
        assert model.mpe({"xray": "yes"}, **options).info.engine == "max-product belief propagation"
        assert "loopy" in model.map(["lung", "smoke"], {"xray": "yes"}, **options).info.engine
        assert model.sample(20, 1, {"xray": "yes"}, **options).attrs["info"].engine == "Gibbs sampling"
        estimate = model.log_probability({"xray": "yes"}, **options)
        assert isinstance(estimate, Estimate)
        assert estimate.is_bound
        assert estimate.lower <= net.log_probability({"xray": "yes"}) <= estimate.upper


def test_auto_is_exact_in_every_question_that_fits():
    net = pb.examples.load("asia")
    for model in (net, net.to_markov_network()):
        assert model.mpe({"xray": "yes"}, engine="auto").info.exact
        assert dict(model.map("lung", engine="auto")) == dict(model.map("lung"))
        rows = model.sample(20, 1, {"xray": "yes"}, engine="auto")
        assert rows.equals(model.sample(20, 1, {"xray": "yes"}))
        assert (rows.attrs["effective_size"], rows.attrs["info"].exact) == (20, True)
        assert all(belief.info.exact for belief in model.marginals({"xray": "yes"}, engine="auto").values())
    assert net.sample(5, 1, engine="auto", budget=TINY).attrs["info"].exact  # forward, at no cost


def test_evidence_may_make_marginals_fit():
    """Both models go by the plan for the evidence at hand where that for any evidence is too large."""
    grid = pb.models.ising(pb.models.grid(2, 12), coupling=-0.3)
    seen = {f"{i}_{j}": 1 for i, j in itertools.product(range(2), range(1, 12, 2))}
    budget = pb.Budget(bytes=grid.explain().bytes - 1)
    assert not grid.marginals(engine="auto", budget=budget)["0_0"].info.exact
    assert grid.marginals(seen, engine="auto", budget=budget)["0_0"].info.exact


# --- numbers ---


def test_engines_work_beside_observed_numbers_and_are_refused_beside_hidden_ones():
    """A density is part of the log-probability, whoever sums."""
    kind = pb.TableCPD("kind", [0.3, 0.7], states=["small", "large"])
    height = pb.ConditionalGaussianCPD("height", [10.0, 12.0], {}, 1.0, [kind.variable])
    net = pb.BayesianNetwork(kind, height, pb.TableCPD("seen", [[0.9, 0.1], [0.4, 0.6]], parents=[kind.variable]))
    evidence = {"height": 31.0}
    exact = net.log_probability(evidence)
    assert net.log_probability(evidence, engine=pb.LoopyBP()) == pytest.approx(exact)
    best, found = net.map("kind", evidence), net.map("kind", evidence, engine=pb.LoopyBP())
    assert dict(found) == dict(best)
    assert found.log_probability == pytest.approx(best.log_probability)
    frame = net.sample(10, 1, evidence, engine=pb.Gibbs(100))
    assert (frame["height"] == 31.0).all()
    assert dict(net.mpe(engine="auto")) == dict(net.mpe())
    with pytest.raises(NotSupported, match="numbers"):
        net.mpe(engine=pb.MaxProduct())
    with pytest.raises(NotSupported, match="numbers"):
        net.sample(3, engine=pb.Gibbs())


def test_interventions_reach_the_engines():
    net = pb.examples.load("asia")
    found = net.map("lung", do={"smoke": "no"}, engine=pb.VariableElimination())
    assert found.log_probability == pytest.approx(net.map("lung", do={"smoke": "no"}).log_probability)
    assert (net.sample(20, 1, {"xray": "yes"}, do={"smoke": "no"}, engine=pb.Gibbs(500))["smoke"] == "no").all()


def test_answers_can_be_stored():
    net = pb.examples.load("asia")
    found = pickle.loads(pickle.dumps(net.map("lung", engine=pb.LoopyBP())))
    assert (found["lung"], found.info.exact) == ("no", True)


def test_a_budget_beside_a_named_engine_is_refused():
    """It would be dropped: engines have limits of their own."""
    net = pb.examples.load("asia")
    asked = [
        lambda **options: net.query("lung", **options),
        lambda **options: net.marginals(**options),
        lambda **options: net.log_probability({"xray": "yes"}, **options),
        lambda **options: net.to_markov_network().log_partition(**options),
    ]
    for ask in asked:
        with pytest.raises(InvalidArgument, match=r"budget= limits exact answers, but LoopyBP"):
            ask(engine=pb.LoopyBP(), budget=pb.Budget())
    for ask in (net.mpe, net.to_markov_network().mpe, lambda **options: net.map("lung", **options)):
        with pytest.raises(InvalidArgument, match=r"budget= limits exact answers, but MaxProduct"):
            ask(engine=pb.MaxProduct(), budget=pb.Budget())


@pytest.mark.parametrize(
    "engine",
    [
        "auto",
        pb.LoopyBP(),
        pb.VariableElimination(),
        pb.inference.MiniBuckets(8),
        pb.Gibbs(2000),
        pb.LikelihoodWeighting(5000),
    ],
    ids=lambda engine: engine if isinstance(engine, str) else type(engine).__name__,
)
@pytest.mark.parametrize(("finding", "best", "value"), [([1, 2], 1, 0.3), (pb.likelihood([0.1, 0.1, 0.8]), 2, 0.08)])
def test_map_counts_what_is_said_of_its_targets(engine, finding, best, value):
    """P(a) times the weight of a: the sum over b is one."""
    net = pb.BayesianNetwork(
        pb.TableCPD("a", [0.6, 0.3, 0.1]), pb.TableCPD("b", [[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]], parents=["a"])
    )
    budget = pb.Budget(bytes=8) if engine == "auto" else None
    found = net.map("a", {"a": finding}, engine=engine, budget=budget)
    assert found["a"] == best
    assert found.log_probability == pytest.approx(math.log(value), abs=0.1)


def test_with_an_engine_a_log_probability_always_tells_its_bounds():
    """Also where "auto" is exact, so that what is written for a large model runs on a small one."""
    asia = pb.examples.load("asia")
    found = asia.log_probability({"xray": "yes"}, engine="auto")
    assert found.lower == found.upper == found == asia.log_probability({"xray": "yes"})
    assert asia.to_markov_network().log_partition(engine="auto").info.exact
