"""Experiments with incomplete data: how EM behaves, what scores choose, and their drawings."""

from __future__ import annotations

import sys
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, MissingDependency, NotSupported, UnknownVariable
from plausible.examples import em_behaviour as figures
from plausible.examples.cluster_scores import ScoreDesign, candidate_evidence, compare_scores, draw_mixture_rows
from plausible.examples.em_behaviour import EMDesign, EMSample, EMTrace, em_behaviour
from plausible.examples.planes import map_planes, simulate_room
from plausible.learn import MixtureClustering, MixturePrior
from plausible.models import BayesianNetwork

SMALL = EMDesign(sizes=[20, 60], num_starts=3, num_test_rows=100, max_steps=60, cases=0.01)
FEW = ScoreDesign(overlaps=[0.0, 1.0], num_trials=2, max_clusters=3, num_sweeps=100)


@pytest.fixture(scope="module")
def behaviour():
    return em_behaviour(design=SMALL, seed=1)


@pytest.fixture(scope="module")
def comparison():
    return compare_scores(FEW, seed=2)


# --- how EM behaves ---


def test_traces_of_the_rows_learned_from_rise_and_new_rows_fall_behind_the_true_network(behaviour):
    """The likelihood falls at most by what the prior of 0.01 cases gains; with few rows, new ones are overfitted."""
    for sample in behaviour.samples:
        for trace in sample.traces:
            assert len(trace.train) == len(trace.test)
            assert trace.train[-1] > trace.train[0]
            assert (np.diff(trace.train) > -0.01).all()
    few = behaviour.samples[0].best
    assert few.test[-1] < few.train[-1]
    assert few.overfitting > 0
    assert few.test[-1] < behaviour.test_limit < 0


def test_more_rows_bring_new_rows_closer_to_the_true_network():
    """With 400 rows for 20, the best run loses less on new rows."""
    design = EMDesign(sizes=[20, 400], num_starts=1, num_test_rows=300, max_steps=40)
    found = em_behaviour(design=design, seed=0)
    losses = [found.test_limit - sample.best.test[-1] for sample in found.samples]
    assert 0 < losses[1] < losses[0] / 2


def test_the_limit_is_the_likelihood_of_the_observed_cells_under_the_truth():
    """A network of one variable, half of whose cells are hidden: bits of the cells seen, row by row."""
    coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]))
    found = em_behaviour(coin, EMDesign(sizes=[10], num_starts=1, num_test_rows=2000, missing=0.25))
    assert found.test_limit == pytest.approx(-0.75, abs=0.03)


def test_optima_are_counted_by_gaps_of_the_objective():
    """Ends at -3, -3.0005, -2 and -1 bits are three optima, 2 bits apart at most."""
    ends = (-3.0, -1.0, -3.0005, -2.0)
    sample = EMSample(10, tuple(EMTrace((-9.0, end), (-9.0, -5.0, -6.0), end, "converged") for end in ends), 1e-3)
    assert sample.num_optima == 3
    assert sample.spread == pytest.approx(2.0005)
    assert sample.best.train[-1] == -1.0
    assert sample.best.overfitting == 1.0


def test_a_hidden_variable_has_several_optima_where_rows_are_few():
    """Two hidden states, four children, twelve rows: starts end at different optima (K&F box 19.B)."""
    leaves = [TableCPD(f"x{i}", [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], ["h"]) for i in range(4)]
    network = BayesianNetwork(TableCPD("h", [0.5, 0.5]), *leaves)
    design = EMDesign(sizes=[12], missing=0.0, hidden="h", num_starts=12, num_test_rows=50, max_steps=300)
    found = em_behaviour(network, design, seed=3).samples[0]
    assert found.num_optima > 1
    assert found.spread > found.same_optimum


def test_the_same_seed_gives_the_same_experiment_and_progress_stops_it(behaviour):
    """Randomness is that of the seed; a true answer, or the time limit, ends after a run."""
    assert em_behaviour(design=SMALL, seed=1).samples[1].traces == behaviour.samples[1].traces
    told = []
    stopped = em_behaviour(design=SMALL, seed=1, progress=lambda rows, trace: told.append((rows, trace)) or True)
    assert [sample.num_rows for sample in stopped.samples] == [20]
    assert told == [(20, behaviour.samples[0].traces[0])]
    assert len(em_behaviour(design=SMALL, time_limit=0.0).samples[0].traces) == 1
    lines = behaviour.table().splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["20", "60"]


def test_what_is_no_design_is_refused():
    """Errors name the variable or the number."""
    with pytest.raises(UnknownVariable, match="smoke"):
        em_behaviour(design=EMDesign(hidden="smokes"))
    with pytest.raises(InvalidArgument, match="sizes="):
        EMDesign(sizes=[])
    with pytest.raises(InvalidArgument, match="cases=0"):
        EMDesign(cases=0)
    with pytest.raises(InvalidArgument, match="zero to one"):
        ScoreDesign(overlaps=[1.5])
    with pytest.raises(InvalidArgument, match="num_rows=0"):
        ScoreDesign(num_rows=0)


# --- scores ---


def _log_evidence(codes, num_states, num_clusters, prior):
    """log Σ over all clusterings of P(rows, clustering): Dirichlet-multinomial terms, one by one."""

    @cache
    def marginal(counts, cases):
        size = len(counts)
        return (
            gammaln(size * cases)
            - gammaln(size * cases + sum(counts))
            + sum(gammaln(count + cases) - gammaln(cases) for count in counts)
        )

    def counted(seen, size):
        return tuple(seen.count(state) for state in range(size))

    terms = []
    for clusters in product(range(num_clusters), repeat=len(codes)):
        total = marginal(counted(clusters, num_clusters), 1 + prior.weights)
        for cluster, column in product(range(num_clusters), codes.T.tolist()):
            seen = [code for code, k in zip(column, clusters, strict=True) if k == cluster]
            total += marginal(counted(seen, num_states), 1 + prior.cells)
        terms.append(total)
    return logsumexp(terms)


@pytest.mark.parametrize("num_clusters", [1, 2, 3])
@pytest.mark.parametrize("has_missing", [False, True])
def test_the_candidate_method_equals_the_sum_over_all_clusterings(num_clusters, has_missing):
    """log P(D) of seven rows by 3⁷ clusterings, with missing cells and without."""
    rng, prior = np.random.default_rng(4), MixturePrior(0.1, 0.5)
    codes = rng.integers(3, size=(7, 3))
    if has_missing:
        codes[rng.random(codes.shape) < 0.3] = -1
    names = ["a", "b", "c"]
    columns = {name: [None if x < 0 else int(x) for x in codes[:, i]] + [0, 1, 2] for i, name in enumerate(names)}
    table = Table.read(columns).take(np.arange(7))
    fit = MixtureClustering(num_clusters, prior=prior).fit(table)
    found = candidate_evidence(fit, table, num_sweeps=1000)
    assert found.log_evidence == pytest.approx(_log_evidence(codes, 3, num_clusters, prior), abs=0.1)
    assert 20 < found.num_effective <= 1000.5


@pytest.mark.slow
def test_the_candidate_method_counts_separate_clusters_and_bic_finds_one_where_all_are_equal(comparison):
    """Three, by all estimates and by the trusted ones alone, where clusters do not overlap; BIC never has more."""
    apart, equal = comparison.trials[:2], comparison.trials[2:]
    assert [trial.reference for trial in apart] == [3, 3]
    assert [1 + int(np.argmax([each.log_evidence for each in trial.candidates])) for trial in apart] == [3, 3]
    assert comparison.errors("bic", 0.0).tolist() == [trial.chosen["bic"] - 3 for trial in apart]
    assert (comparison.errors("bic", 0.0) <= 0).all()
    assert [trial.chosen["bic"] for trial in equal] == [1, 1]
    assert comparison.table().splitlines()[-2].split()[:2] == ["(candidate)", "3.0"]


def test_rows_are_drawn_from_tables_that_overlap_as_wanted():
    """With overlap one no feature depends on another: pairs of columns have the product of their frequencies."""
    design = ScoreDesign(num_rows=20_000, num_features=2)
    apart, same = (draw_mixture_rows(design, overlap, seed=6).codes for overlap in (0.0, 1.0))
    for codes, is_independent in ((apart, False), (same, True)):
        gap = abs(np.mean(codes[0] * codes[1]) - codes[0].mean() * codes[1].mean())
        assert (gap < 0.01) == is_independent


def test_trials_are_told_and_can_be_stopped():
    """A true answer, or the time limit, ends after a trial."""
    design = ScoreDesign(num_rows=30, max_clusters=2, criteria=["bic"], num_sweeps=10)
    told = []
    assert len(compare_scores(design, progress=lambda trial: told.append(trial) or True).trials) == len(told) == 1
    assert len(compare_scores(design, time_limit=0.0).trials) == 1


def test_the_candidate_method_refuses_what_it_has_no_densities_for():
    """Numbers, parameters that are zero, and too many clusters."""
    numbers = Table.read({"x": np.random.default_rng(0).normal(size=20)})
    with pytest.raises(NotSupported, match="discrete"):
        candidate_evidence(MixtureClustering(2).fit(numbers), numbers)
    states = Table.read({"x": [0, 1] * 10, "y": [1, 0] * 10})
    with pytest.raises(InvalidArgument, match="zero"):
        candidate_evidence(MixtureClustering(2, prior=None).fit(states), states)
    with pytest.raises(NotSupported, match="relabellings"):
        candidate_evidence(MixtureClustering(9, prior=MixturePrior(0.1, 0.1)).fit(states), states)


# --- drawings ---


def test_drawings_show_all_that_was_found(behaviour, tmp_path):
    """A line for each trace and criterion, a cloud for each plane, and files that are PNGs."""
    pytest.importorskip("matplotlib", reason="the extra plausible[plot] is not installed")
    drawing = figures.draw_em_behaviour(behaviour)
    assert [len(axes.lines) for axes in drawing.axes] == [2 * 3 + 1] * 2
    design = ScoreDesign(overlaps=[0.0, 1.0], num_trials=1, num_rows=30, max_clusters=2, num_sweeps=10)
    scores = figures.draw_scores(compare_scores(design))
    assert len(scores.axes[0].lines) == len(design.criteria) + 1
    scene = simulate_room(num_points=300)
    mapped = map_planes(scene.points, scene.noise, scene.box)
    planes = figures.draw_planes(mapped)
    assert len(planes.axes[0].collections) == len(mapped.planes) + 1
    for figure in (drawing, scores, planes):
        assert figures.save_figure(tmp_path / "new" / "figure.png", figure).read_bytes()[:4] == b"\x89PNG"


def test_without_matplotlib_the_error_says_what_to_install(behaviour, monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependency, match=r"plausible\[plot\]"):
        figures.draw_em_behaviour(behaviour)
