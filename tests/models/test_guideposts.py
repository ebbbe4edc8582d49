"""Errors and advice lead on: to engines that answer, to names that were meant, to blocks that help."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import plausible as pb
from plausible.inference import Problem
from plausible.variables import Evidence
from seeds import few_of

GRID = pb.models.ising(pb.models.grid(30, 30), coupling=-0.2)
ASIA = pb.examples.load("asia")
NOTHING = Evidence.read({}, {})


@pytest.mark.parametrize(
    "ask",
    [
        lambda: GRID.query("20_20"),
        lambda: GRID.marginals(),
        lambda: GRID.log_partition(),
        lambda: GRID.log_probability({"0_0": 1}),
        lambda: GRID.expected_counts({"0_0": [1]}),
        lambda: GRID.compile(),
        lambda: GRID.mpe(budget=pb.Budget(seconds=0.001)),
        lambda: GRID.map(["0_0"]),
        lambda: GRID.k_best(2, budget=pb.Budget(seconds=1)),
    ],
)
def test_what_is_too_large_can_be_approximated(ask):
    with pytest.raises(pb.errors.TooLarge) as refused:
        ask()
    assert "engine='auto'" in str(refused.value)
    assert "RecursiveConditioning" not in str(refused.value)  # it has no chance where time is short too


def test_recursive_conditioning_is_advised_where_only_memory_is_short():
    small = pb.models.ising(pb.models.grid(8, 8), coupling=-0.2)
    with pytest.raises(pb.errors.TooLarge, match=r"RecursiveConditioning\(\), or approximate"):
        small.query("4_4", budget=pb.Budget(bytes=2000))
    assert small.query("4_4", engine=pb.RecursiveConditioning()).info.exact


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("LoopyBP", "write LoopyBP()"),
        ("loopy-bp", "write LoopyBP()"),
        ("Auto", 'write "auto"'),
        ("LoopiBP", "did you mean LoopyBP()"),
        (pb.LoopyBP, "you passed the class LoopyBP: write LoopyBP()"),
        (pb.inference.CollapsedGibbs, "write CollapsedGibbs(sampled=...)"),
        (pb.GraphCut(), "GraphCut looks for best assignments. Use mpe"),
    ],
)
def test_an_engine_that_sums_was_meant(engine, told):
    with pytest.raises(pb.errors.InvalidArgument) as refused:
        ASIA.query("lung", engine=engine)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("max-product", "write MaxProduct()"),
        (pb.LoopyBP(), "MaxProduct(), its counterpart"),
        (pb.inference.Pearl(), "Leave"),
    ],
)
def test_an_engine_for_best_assignments_was_meant(engine, told):
    with pytest.raises(pb.errors.InvalidArgument) as refused:
        ASIA.mpe(engine=engine)
    assert told in str(refused.value)


def test_auto_cuts_where_a_cut_is_exact_and_else_passes_messages():
    little = pb.Budget(bytes=1000)
    assert GRID.mpe(engine="auto", budget=little).info.engine == "graph cut"
    repelling = pb.models.ising(pb.models.grid(8, 8), coupling=0.5, field=0.1)
    assert "max-product" in repelling.mpe(engine="auto", budget=little).info.engine
    with_states = pb.MarkovNetwork(
        pb.Factor({a: 3, b: 3}, np.eye(3) + 1) for a, b in itertools.combinations("ABCDEF", 2)
    )
    assert "max-product" in with_states.mpe(engine="auto", budget=little).info.engine


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_expansions_of_two_submodular_labels_are_exact(seed):
    rng = np.random.default_rng(seed)
    names = "ABCDEF"
    factors = [pb.Factor({name: 2}, rng.uniform(0.1, 3, 2)) for name in names]
    for a, b in itertools.combinations(names, 2):
        table = rng.uniform(0.2, 3, (2, 2))
        table[0, 0] = 1.1 * table[0, 1] * table[1, 0] / table[1, 1]
        table[0, 1] *= rng.random() > 0.1
        factors.append(pb.Factor({a: 2, b: 2}, table))
    best = pb.inference.AlphaExpansion().best(factors, NOTHING)
    products = [
        np.prod([f.values[tuple(x[names.index(n)] for n in f.names)] for f in factors])
        for x in itertools.product(range(2), repeat=6)
    ]
    assert best.info.exact
    assert np.exp(best.log_probability) == pytest.approx(max(products))


def test_mean_field_names_the_block_that_zeros_tie_and_then_something_else():
    first = ASIA.query("dysp", {"smoke": "yes"}, engine=pb.MeanField()).info.advice
    assert "blocks=[['tub', 'lung', 'either']]" in first
    blocks = [["tub", "lung", "either"]]
    then = ASIA.query("dysp", {"smoke": "yes"}, engine=pb.MeanField(blocks=blocks)).info.advice
    assert "Zeros" not in then
    assert then != first


@pytest.mark.parametrize("engine", [pb.LoopyBP(max_steps=1), pb.inference.TreeReweightedBP(max_steps=1)])
def test_messages_that_do_not_settle_lead_on(engine):
    ring = pb.MarkovNetwork(pb.Factor({a: 2, b: 2}, [[3, 1], [1, 2]]) for a, b in ("AB", "BC", "CA"))
    advice = ring.query("A", engine=engine).info.advice
    assert all(name in advice for name in ("ClusterBP(bound=", "MiniBuckets()", "Gibbs()"))


@pytest.mark.parametrize(
    "engine", [pb.LoopyBP(), pb.MeanField(), pb.Gibbs(num_samples=400), pb.inference.TreeReweightedBP()]
)
def test_a_run_taken_up_again_answers_as_one_that_was_not_stopped(engine):
    ring = [pb.Factor({a: 2, b: 2}, [[3, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")]
    problem = Problem.of(ring, NOTHING)
    begun = engine.step(problem, engine.step(problem, engine.init(problem)))
    whole = engine.marginals_of(problem, engine.run(problem).state)
    assert engine.marginals_of(problem, engine.run(problem, begun).state) == whole
    assert whole["A"] == engine.query(ring, ring[0].scope[:1], NOTHING)


def test_a_chain_that_has_not_begun_to_count_has_no_answer():
    problem = Problem.of([pb.Factor({"A": 2, "B": 2}, [[3, 1], [1, 2]])], NOTHING)
    with pytest.raises(pb.errors.InvalidArgument, match="burn-in"):
        pb.Gibbs().marginals_of(problem, pb.Gibbs().init(problem))
    with pytest.raises(pb.errors.NotSupported, match="watched="):
        pb.Gibbs().beliefs_from(problem, pb.Gibbs().run(problem).state, [(0, 1)])


def test_marginal_maps_refuse_negative_times_and_keep_short_ones():
    with pytest.raises(pb.errors.InvalidArgument, match="time_limit=-1"):
        ASIA.map("lung", engine=pb.LoopyBP(), time_limit=-1)
    names = list(ASIA.variables)[:4]
    hurried = ASIA.map(names, engine=pb.LoopyBP(), time_limit=0)
    assert list(hurried) == names
    assert not hurried.info.exact
