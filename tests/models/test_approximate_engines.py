"""Models hand their factors to approximate engines, with the same calls as to exact ones."""

import math

import numpy as np
import pytest

import plausible as pb
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownVariable
from plausible.inference import Estimate

SAMPLERS = [
    pb.inference.RejectionSampling(200_000),
    pb.LikelihoodWeighting(200_000),
    pb.ImportanceSampling(200_000),
    pb.Gibbs(40_000, blocks=[["tub", "lung", "either"]]),
]


def small_grid(seed):
    """A 4 x 4 grid of three-state variables with random pair factors."""
    generator = np.random.default_rng(seed)
    name = "{}{}".format
    pairs = [((i, j), (i + di, j + dj)) for i in range(4) for j in range(4) for di, dj in ((0, 1), (1, 0))]
    return pb.MarkovNetwork(
        pb.Factor({name(*a): 3, name(*b): 3}, np.exp(generator.normal(size=(3, 3)))) for a, b in pairs if max(b) < 4
    )


@pytest.mark.parametrize("engine", SAMPLERS, ids=lambda engine: type(engine).__name__)
def test_samplers_agree_with_the_exact_answers_within_their_error(engine):
    """Asia, where one CPD is deterministic: a joint, all marginals, and the probability of the evidence."""
    net, evidence = pb.examples.load("asia"), {"dysp": "yes"}
    joint = net.query(["lung", "bronc"], evidence, engine=engine)
    np.testing.assert_allclose(joint.values, net.query(["lung", "bronc"], evidence).values, atol=3 * joint.info.error)
    assert not joint.info.exact
    exact = net.marginals(evidence)
    for name, belief in net.marginals(evidence, engine=engine).items():
        np.testing.assert_allclose(belief.values, exact[name].values, atol=3 * belief.info.error + 1e-12)


@pytest.mark.parametrize(
    "engine", [pb.LoopyBP(), pb.LikelihoodWeighting(100_000), pb.ImportanceSampling(100_000), pb.MeanField()]
)
def test_the_probability_of_the_evidence_comes_with_limits(engine):
    """An estimate is a float; sampled ones have an interval, mean field a lower bound."""
    net, evidence = pb.examples.load("asia"), {"xray": "yes", "smoke": "no"}
    found, exact = net.log_probability(evidence, engine=engine), net.log_probability(evidence)
    assert isinstance(found, Estimate)
    width = 0.0 if found.is_bound else (found.upper - found.lower) / 2
    assert found.lower - width <= exact + 1e-9
    assert exact <= found.upper + width + 1e-9


def test_bounds_of_a_grid_bracket_its_partition_function():
    """Mean field from below, tree-reweighted messages from above."""
    for seed in range(5):
        grid = small_grid(seed)
        exact = grid.log_partition()
        assert grid.log_partition(engine=pb.MeanField()).lower <= exact + 1e-9
        assert grid.log_partition(engine=pb.inference.TreeReweightedBP()).upper >= exact - 1e-9
        probability = grid.log_probability({"00": 1}, engine=pb.LoopyBP(damping=0.3))
        assert probability == pytest.approx(grid.log_probability({"00": 1}), abs=0.3)


@pytest.mark.parametrize(
    "engine", [pb.MaxProduct(), pb.inference.DualDecomposition(), pb.inference.LinearRelaxation(integer=True)]
)
def test_best_assignments_are_proved_or_bounded(engine):
    """The value found plus the gap is never below the maximum; a proof means that it is the maximum."""
    for seed in range(5):
        grid = small_grid(seed)
        exact, found = grid.mpe(evidence={"00": 2}), grid.mpe(evidence={"00": 2}, engine=engine)
        best = exact.log_probability + grid.log_partition()
        assert (found["00"], found.log_probability) == (2, None)
        assert exact.log_product == pytest.approx(best)
        assert found.log_product <= best + 1e-9
        if found.info.error is not None:
            assert found.log_product + found.info.error >= best - 1e-9
        if found.info.exact:
            assert found.log_product == pytest.approx(best)


def test_best_assignments_of_a_bayesian_network_have_its_probability():
    """A polytree, where max-product is exact."""
    net = pb.BayesianNetwork(
        pb.TableCPD("A", [0.6, 0.4]),
        pb.TableCPD("B", [0.3, 0.7]),
        pb.TableCPD("C", [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.05, 0.95]]], parents=["A", "B"]),
    )
    found, exact = net.mpe({"C": 0}, engine=pb.MaxProduct()), net.mpe({"C": 0})
    assert (dict(found), found.info.exact) == (dict(exact), True)
    assert found.log_probability == pytest.approx(exact.log_probability)


def test_auto_is_exact_where_that_fits_the_budget_and_messages_elsewhere():
    """The same calls on a small and on a large grid."""
    small, large = small_grid(0), pb.models.ising(pb.models.grid(25, 25), coupling=-0.2)
    assert small.query("00", engine="auto").info.exact
    assert all(belief.info.exact for belief in small.marginals(engine="auto").values())
    assert small.log_partition(engine="auto") == small.log_partition()
    little = pb.Budget(bytes=2**20)
    assert "loopy belief propagation" in large.query("3_3", {"0_0": 1}, engine="auto", budget=little).info.engine
    assert not large.marginals(engine="auto", budget=little)["3_3"].info.exact
    assert isinstance(large.log_partition(engine="auto", budget=little), Estimate)
    net = pb.examples.load("asia")
    assert net.query("lung", engine="auto").info.exact
    assert net.query("lung", {"xray": "yes"}, engine="auto", budget=pb.Budget(bytes=10)).info.converged
    assert net.marginals({"xray": "yes"}, engine="auto").keys() == net.variables.keys()


def test_wrong_engines_are_refused_with_the_kind_that_is_wanted():
    """Engines for beliefs and for best assignments, names in options, contradictions."""
    net = pb.examples.load("asia")
    with pytest.raises(InvalidArgument, match="best assignments"):
        net.mpe(engine=pb.LoopyBP())
    with pytest.raises(InvalidArgument, match="engine="):
        net.query("lung", engine=pb.MaxProduct())
    with pytest.raises(InvalidArgument, match="engine="):
        net.marginals(engine="fast")
    with pytest.raises(UnknownVariable, match="lungs"):
        net.query("lung", engine=pb.Gibbs(blocks=[["lungs", "tub"]]))
    for engine in (pb.LoopyBP(), pb.LikelihoodWeighting(1000), pb.MeanField(), pb.Gibbs(1000)):
        with pytest.raises(ImpossibleEvidence, match="either"):
            net.query("smoke", {"either": "no", "lung": "yes"}, engine=engine)


def test_impossible_evidence_has_probability_zero():
    net = pb.examples.load("asia")
    for engine in (pb.LoopyBP(), pb.LikelihoodWeighting(1000), pb.MeanField()):
        assert net.log_probability({"either": "no", "lung": "yes"}, engine=engine) == -math.inf


def test_auto_also_chooses_for_the_probability_of_evidence():
    net, evidence = pb.examples.load("asia"), {"xray": "yes"}
    assert net.log_probability(evidence, engine="auto") == net.log_probability(evidence)
    assert isinstance(net.log_probability(evidence, engine="auto", budget=pb.Budget(bytes=1)), Estimate)
